"""Inference of a sensitive variable (sex, race) from public ones (agency, occupation, pay).

The attack: the intruder knows the public variables of all persons, but not the sensitive one. For
a person, the intruder takes the synthetic records with the same public values and guesses the
sensitive value from theirs. No copied record is needed.

Sources: the disclosure reports on the synthetic federal workforce (Office of Personnel Management
data, 1988 to 2011); Barrientos et al. (2018), Providing access to confidential research data
through synthesis and verification, section 3.2.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from synthesizer.data.codes import Codes, Groups, JointCoder
from synthesizer.data.errors import DataError, Problems
from synthesizer.data.pairs import (
    Data,
    as_tables,
    check_comparable,
    check_keys,
    check_lists,
    unknown_or_twice,
)
from synthesizer.data.table import Column, Table
from synthesizer.measures.figure import Figure, FigureKind, Limit, Measured, Row, column, plain
from synthesizer.measures.measure import Case, Collecting, Measure
from synthesizer.measures.risk.comparable import GroupsOf, Synthetic
from synthesizer.measures.risk.curves import (
    InferenceScores,
    RocCurve,
    ThresholdRisk,
    ThresholdRow,
    roc,
    scores,
    threshold_risk,
)
from synthesizer.measures.risk.public_cells import (
    MAX_LEVELS,
    CellUniqueness,
    Classification,
    Differences,
    PublicCells,
    classification,
    count_cells,
    differences,
    label_of,
    level_codes,
    number_of_levels,
    uniqueness,
)
from synthesizer.measures.scenario import THRESHOLDS, Counted, Question


class InferenceRate(Row):
    """A rate from the synthetic data, chance, published margins and the original."""

    name: str = column("Rate", "text")
    synthetic: float | None = column("Synthetic", "share")
    chance: float | None = column("Chance", "share", default=None)
    margins: float | None = column("Margins", "share", default=None)
    original: float | None = column("Original", "share", default=None)


UNIQUE_CELLS = FigureKind(
    "unique_cells_shown_right",
    "unique persons guessed right",
    "share guessed right of persons whose public values are unique in the original and occur in "
    "the synthetic data; the guess is their most frequent sensitive value there",
)
REVEALED_SHARE = FigureKind(
    "revealed_share",
    "revealed share",
    "share of the synthetic {records} that reveal a true sensitive value, if each person is given "
    "the majority value of the synthetic {records} with the same public values",
    limit=Limit(),
    is_axis=True,
)
REVEALED_FROM_MARGINS = FigureKind(
    "revealed_share_from_margins",
    "revealed share from published margins",
    "revealed share if each person is given the most frequent value of the published margins: the "
    "revealed share should not be much higher",
)
AUC = FigureKind(
    "auc",
    "AUC",
    "area under the ROC curve of synthetic proportions as a predictor of the sensitive value; 0.5: "
    "chance",
    title="AUC of the sensitive variable",
    ideal=0.5,
    limit=Limit(),
    is_axis=True,
)
GUESSED_RIGHT = FigureKind(
    "guessed_right",
    "guessed right",
    "share guessed right of persons whose public values occur in the synthetic data; the guess is "
    "their most frequent sensitive value there",
    on_screen=True,
)
GUESSED_FROM_MARGINS = FigureKind(
    "guessed_right_from_margins",
    "guessed right from published margins",
    "share of the same persons guessed right from published margins alone: the share guessed right "
    "should not be much higher",
)
PROBABILITY_ABOVE = FigureKind(
    "probability_above",
    "probability above {}",
    "share of persons whose true sensitive value has a higher share than this among synthetic "
    "{records} with the same public values; shares near 1 arise by chance in small cells",
    title="probability above the lowest threshold",
    limit=Limit(),
)
PROBABILITY_ABOVE_HIGHER = replace(
    PROBABILITY_ABOVE, key="probability_above_{}", title="", limit=None, on_screen=False
)
PROBABILITY_FROM_MARGINS = FigureKind(
    "probability_above_{}_from_margins",
    "probability above {} from published margins",
    "share of persons whose true sensitive value has a higher share than this in published margins",
)


class InferenceResult(Measured):
    """Inference of a sensitive variable from public ones: five analyses."""

    sensitive: str
    """Sensitive variable."""
    public: tuple[str, ...]
    """Public variables."""
    baseline: tuple[str, ...]
    """Public variables whose tables with the sensitive one are published."""
    levels: tuple[str, ...]
    """Levels of the sensitive variable that occur; groups of numbers as ``[0, 500)``."""
    positive: str | None
    """Level whose proportion is compared."""
    units: Counted = "persons"
    """What a record of a panel is: a person, or a person in a period."""
    n: int
    """Original records."""
    m: int
    """Synthetic datasets."""
    n_synthetic: int
    """Records of all datasets."""
    uniqueness: CellUniqueness
    """Analysis 1."""
    classification: Classification
    """Analysis 2."""
    differences: Differences
    """Analysis 3."""
    roc: tuple[RocCurve, ...]
    """Analysis 4: one curve for two levels, else one for each level."""
    thresholds: ThresholdRisk
    """Analysis 5."""

    @property
    def subject(self) -> str:
        """Public and sensitive variables in one line."""
        counted = " (person-periods)" if self.units == "periods" else ""
        return f"{', '.join(self.public)} -> {self.sensitive}{counted}"

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures, with those of published margins for comparison."""
        if self.units == "persons":
            return self._figures
        return tuple(_of_periods(figure) for figure in self._figures)

    @property
    def _figures(self) -> tuple[Figure, ...]:
        shares, cells, guesses = self.classification, self.uniqueness, self.thresholds
        present = guesses.n - guesses.absent
        margins = f"margins by {', '.join(self.baseline)}" if self.baseline else "margins of all"
        return (
            UNIQUE_CELLS.of(
                cells.right,
                cells.present,
                chance=cells.chance,
                original=1.0 if cells.uniques else None,
            ),
            REVEALED_SHARE.of(
                shares.revealed, shares.n, chance=shares.chance, original=shares.original
            ),
            REVEALED_FROM_MARGINS.of(shares.baseline, shares.n),
            self._auc_figure(),
            GUESSED_RIGHT.of(
                guesses.right_of_present,
                present,
                chance=guesses.chance_right_of_present,
                original=guesses.original_right_of_present,
            ),
            GUESSED_FROM_MARGINS.of(guesses.baseline_right_of_present, present, margins),
            *(figure for row in guesses.rows for figure in self._threshold_figures(row, margins)),
        )

    @property
    def rates(self) -> tuple[InferenceRate, ...]:
        """Rates of the synthetic data, with their comparisons."""
        shares, cells, guesses = self.classification, self.uniqueness, self.thresholds
        return (
            InferenceRate(
                name="revealed share",
                synthetic=shares.revealed,
                chance=shares.chance,
                margins=shares.baseline,
                original=shares.original,
            ),
            InferenceRate(
                name="guessed right, of persons whose public values occur",
                synthetic=guesses.right_of_present,
                chance=guesses.chance_right_of_present,
                margins=guesses.baseline_right_of_present,
                original=guesses.original_right_of_present,
            ),
            InferenceRate(
                name="guessed right, of all persons",
                synthetic=guesses.right,
                margins=guesses.baseline_right,
                original=guesses.original_right,
            ),
            InferenceRate(
                name="guessed right, of persons with unique public values",
                synthetic=cells.right,
                chance=cells.chance,
            ),
            *(
                InferenceRate(
                    name=f"probability above {row.threshold:g}",
                    synthetic=row.share,
                    chance=row.kept_chance_share,
                    margins=row.baseline_share,
                    original=row.original_share,
                )
                for row in guesses.rows
            ),
        )

    def _auc_figure(self) -> Figure:
        curves = [c for c in self.roc if self.positive in (None, c.level)]
        one = f"{self.sensitive} = {self.positive}" if self.positive is not None else "one level"
        averaged = ", mean over the levels by number of persons" if len(curves) > 1 else ""
        return AUC.of(
            _average(curves, "auc"),
            curves[0].positives + curves[0].negatives,
            f"{one}{averaged}",
            chance=0.5,
            original=_average(curves, "auc_original_of_present"),
        )

    def _threshold_figures(self, row: ThresholdRow, margins: str) -> tuple[Figure, Figure]:
        lowest = row is self.thresholds.rows[0]
        kind = PROBABILITY_ABOVE if lowest else PROBABILITY_ABOVE_HIGHER
        item, n = f"{row.threshold:g}", self.thresholds.n
        return (
            kind.of(
                row.share, n, item=item, chance=row.kept_chance_share, original=row.original_share
            ),
            PROBABILITY_FROM_MARGINS.of(row.baseline_share, n, margins, item=item),
        )


def _of_periods(figure: Figure) -> Figure:
    """Return a figure that counts periods of persons."""
    meaning = re.sub(r"\b(?:person|record)(s?)\b", r"person-period\1", figure.meaning)
    return Figure(**plain(figure) | {"meaning": meaning})


def _average(curves: Sequence[RocCurve], area: str) -> float | None:
    """Return the mean area of the curves, weighted by the number of persons with each level.

    Source: Provost and Domingos (2003), Tree induction for probability-based ranking.
    """
    defined = [(getattr(c, area), c.positives) for c in curves if getattr(c, area) is not None]
    members = sum(weight for _, weight in defined)
    return sum(area * weight for area, weight in defined) / members if members else None


def inference(
    original: Data,
    synthetic: Synthetic,
    *,
    sensitive: str,
    public: Sequence[str],
    positive: str | float | None = None,
    groups: GroupsOf = None,
    baseline: Sequence[str] = (),
    thresholds: Sequence[float] = THRESHOLDS,
    units: Counted = "persons",
) -> InferenceResult:
    """Return five analyses of how far synthetic data reveal a sensitive variable.

    A cell is a combination of public values. Synthetic datasets are pooled; counts that are
    compared with original records are means over the datasets.

    Parameters
    ----------
    original, synthetic
        As in `synthesizer.measures.risk.cap.cap`.
    sensitive : str
        Variable that the intruder wants to learn, with at most 100 levels; missing codes are
        levels.
    public : sequence of str
        Variables that the intruder knows.
    positive : str or float, optional
        Level whose proportion is compared, and which gets the ties of two levels. By default the
        more frequent of two levels; of more levels each.
    groups : mapping of str to int or sequence of float, optional
        As in `synthesizer.measures.risk.cap.cap`.
    baseline : sequence of str
        Public variables whose tables with the sensitive one are published (computed from the
        original); by default only the overall distribution is published.
    thresholds : sequence of float
        Records whose true level has a higher probability are at risk, in [0, 1).
    units : {"persons", "periods"}
        What a record of a panel is, for the texts.

    Returns
    -------
    InferenceResult
        One part for each analysis; higher shares are riskier. Ties within a cell go to the level
        that is more frequent in the original, of two levels to the positive one. The chance of a
        figure is its value if synthetic levels are independent of true ones; published margins
        (``baseline``) have separate figures.

    Raises
    ------
    DataError
        With all problems, such as unknown variables, or a sensitive variable with one level or too
        many.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"agency": list("AAABBB"), "sex": list("FFMMMF")})
    >>> made = pd.DataFrame({"agency": list("AAABBC"), "sex": list("FFFMFF")})
    >>> found = inference(people, made, sensitive="sex", public=["agency"], positive="F")
    >>> round(found.classification.revealed, 3), found.thresholds.right
    (0.5, 0.5)
    >>> [(figure.name, figure.n) for figure in found.figures if "margins" not in figure.name][1:4]
    [('revealed share', 6), ('AUC', 6), ('guessed right', 6)]
    """
    cells, margin = _counted(
        original,
        synthetic,
        sensitive=sensitive,
        public=public,
        positive=positive,
        groups=groups or {},
        baseline=baseline,
        thresholds=thresholds,
    )
    return InferenceResult(
        sensitive=sensitive,
        public=tuple(public),
        baseline=tuple(baseline),
        levels=cells.levels,
        positive=None if cells.positive is None else cells.levels[cells.positive],
        units=units,
        n=cells.n,
        m=cells.m,
        n_synthetic=cells.n_synthetic,
        uniqueness=uniqueness(cells),
        classification=classification(cells),
        differences=differences(cells),
        roc=roc(cells),
        thresholds=threshold_risk(cells, scores(cells, margin), thresholds),
    )


def inference_scores(
    original: Data,
    synthetic: Synthetic,
    *,
    sensitive: str,
    public: Sequence[str],
    positive: str | float | None = None,
    groups: GroupsOf = None,
    baseline: Sequence[str] = (),
) -> InferenceScores:
    """Return the predictions of the true level of each original record; see `inference`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"agency": list("AAABBB"), "sex": list("FFMMMF")})
    >>> made = pd.DataFrame({"agency": list("AAAACC"), "sex": list("FFFMFF")})
    >>> found = inference_scores(people, made, sensitive="sex", public=["agency"])
    >>> found.synthetic.tolist()
    [0.75, 0.75, 0.25, nan, nan, nan]
    """
    cells, margin = _counted(
        original,
        synthetic,
        sensitive=sensitive,
        public=public,
        positive=positive,
        groups=groups or {},
        baseline=baseline,
        thresholds=(),
    )
    return scores(cells, margin)


def _counted(original: Data, synthetic: Synthetic, **question: Any) -> tuple[PublicCells, Codes]:
    """Return the counts, and the cell of each original record in the published table."""
    check_lists(public=question["public"], baseline=question["baseline"])
    original, tables = as_tables(original, synthetic, [*question["public"], question["sensitive"]])
    check_inference(original, tables, **question)
    margin = JointCoder(original, question.pop("baseline"), question["groups"]).codes
    del question["thresholds"]
    return count_cells(original, tables, **question), margin


def check_inference(
    original: Table,
    synthetic: Sequence[Table],
    *,
    sensitive: str,
    public: Sequence[str],
    positive: str | float | None,
    groups: Mapping[str, Groups],
    baseline: Sequence[str],
    thresholds: Sequence[float] = THRESHOLDS,
    units: Counted = "persons",  # noqa: ARG001
) -> None:
    """Raise DataError with all problems."""
    existing = [name for name in dict.fromkeys([*public, sensitive]) if name in original]
    problems = Problems(_name_problems(original, sensitive, public, baseline))
    problems += [
        f"threshold ({value}) must be at least 0 and below 1"
        for value in thresholds
        if not 0 <= value < 1
    ]
    if existing:
        with problems.gathered():
            check_keys(original, keys=existing, groups=groups)
    if sensitive in original and original.n_rows and not problems:
        problems += _level_problems(original[sensitive], positive, groups.get(sensitive))
    with problems.gathered():
        check_comparable(original, synthetic, existing)
    problems.settle(DataError)


def _name_problems(
    original: Table, sensitive: str, public: Sequence[str], baseline: Sequence[str]
) -> Iterator[str]:
    if sensitive not in original:
        yield f"sensitive variable {sensitive!r} is not in the data: name one of its columns"
    if sensitive in public:
        yield (
            f"sensitive variable {sensitive!r} is also public: remove it from the public "
            "variables or choose another"
        )
    if not public:
        yield "there are no public variables: name at least one that an intruder may know"
    yield from unknown_or_twice("public variable", public, original)
    for name in dict.fromkeys(baseline):
        if name not in public:
            yield (
                f"baseline variable {name!r} is not public: add it to the public variables or "
                "remove it from the baseline"
            )


def _level_problems(
    column: Column, positive: str | float | None, groups: Groups | None
) -> Iterator[str]:
    variable = f"sensitive variable {column.name!r}"
    number = number_of_levels(column, groups)
    if number < 2:
        yield (
            f"{variable} has only one level: choose one with at least two"
            if groups is None
            else f"{variable} has only one group: give more groups"
        )
    if number > MAX_LEVELS:
        remedy = "merge its categories" if column.is_coded else "name it in groups"
        yield f"{variable} has {number} levels, more than {MAX_LEVELS}: {remedy}"
    elif positive is not None and label_of(positive) not in level_codes(column, groups)[0]:
        yield f"positive is not one of the {number} levels of {variable}: name one of them"


def _inferred(case: Case) -> Collecting:
    question, datasets = case.item, list[Table]()
    original = question.rows(case.original)
    return Collecting(
        lambda view: datasets.append(question.rows(view)),
        lambda: inference(original, datasets, **question.settings),
    )


MEASURES = (
    Measure(
        "inference ({})",
        "datasets",
        after="memory",
        result_field="inference",
        switch="inference",
        words="inference of a sensitive variable from public ones",
        options=Question,
        several=True,
        items=lambda case: [(item.sensitive, item) for item in case.settings.inference],
        compute=_inferred,
        figures=(
            REVEALED_SHARE,
            AUC,
            GUESSED_RIGHT,
            PROBABILITY_ABOVE,
            UNIQUE_CELLS,
            REVEALED_FROM_MARGINS,
            GUESSED_FROM_MARGINS,
            PROBABILITY_ABOVE_HIGHER,
            PROBABILITY_FROM_MARGINS,
        ),
    ),
)
