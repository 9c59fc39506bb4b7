"""Inference about a sensitive variable (sex, race) from public ones (agency, occupation, pay).

The attack: the public variables of everybody are known by name, the sensitive one is not. An
intruder looks up the synthetic records with a person's public values and concludes from their
sensitive values to the person's. No record needs to be found again for that.

Sources: the disclosure reports on the synthetic federal workforce (Office of Personnel Management
data, 1988 to 2011); Barrientos et al. (2018), Providing access to confidential research data
through synthesis and verification, section 3.2.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthesizer.data.codes import Codes, Groups, JointCoder
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data, as_tables, check_comparable, check_keys, check_lists
from synthesizer.data.table import Column, Table
from synthesizer.measures.figure import Figure, Measured, Row, column, plain
from synthesizer.measures.risk.comparable import GroupsOf, Synthetic, problems_of, risk_figure
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
    Cells,
    CellUniqueness,
    Classification,
    Differences,
    classification,
    count_cells,
    differences,
    label_of,
    level_codes,
    number_of_levels,
    uniqueness,
)
from synthesizer.measures.risk.scenario import THRESHOLDS, Counted


class InferenceRate(Row):
    """A rate from the synthetic data, by chance, from published margins and from the original."""

    name: str = column("Rate", "text")
    synthetic: float | None = column("Synthetic", "share")
    chance: float | None = column("Chance", "share", default=None)
    margins: float | None = column("Margins", "share", default=None)
    original: float | None = column("Original", "share", default=None)


class InferenceResult(Measured):
    """Inference about a sensitive variable from public ones: five analyses."""

    sensitive: str
    """What is sought."""
    public: tuple[str, ...]
    """What is known."""
    baseline: tuple[str, ...]
    """Public variables within which the distribution of the sensitive one is published."""
    levels: tuple[str, ...]
    """Levels of the sensitive variable that occur; groups of numbers are written ``[0, 500)``."""
    positive: str | None
    """The class whose proportion is looked at."""
    units: Counted = "persons"
    """What is counted of a panel: a record is a person, or a person in a period."""
    n: int
    """Original records."""
    m: int
    """Synthetic datasets."""
    n_synthetic: int
    """All their records."""
    uniqueness: CellUniqueness
    """Analysis 1."""
    classification: Classification
    """Analysis 2."""
    differences: Differences
    """Analysis 3."""
    roc: tuple[RocCurve, ...]
    """Analysis 4: one curve for two levels, one for each of more levels."""
    thresholds: ThresholdRisk
    """Analysis 5."""

    @property
    def place(self) -> str:
        """What it is about in one line."""
        counted = " (person-periods)" if self.units == "periods" else ""
        return f"{', '.join(self.public)} -> {self.sensitive}{counted}"

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures to report; those from margins say what is known without the synthesis."""
        if self.units == "persons":
            return self._figures
        return tuple(_of_periods(figure) for figure in self._figures)

    @property
    def _figures(self) -> tuple[Figure, ...]:
        shares, cells, guesses = self.classification, self.uniqueness, self.thresholds
        present = guesses.n - guesses.absent
        margins = f"by {', '.join(self.baseline)}" if self.baseline else "of everybody"
        return (
            risk_figure(
                "unique cells shown right",
                cells.right,
                "persons with public values of their own that the synthetic data repeat: share "
                f"whose {self.sensitive} is the most frequent one shown with them",
                cells.present,
                chance=cells.chance,
                original=1.0 if cells.uniques else None,
            ),
            risk_figure(
                "revealed share",
                shares.revealed,
                f"share of the synthetic {{records}} that give away a true {self.sensitive} when "
                "everybody is taken for the majority of those with the same public values",
                shares.n,
                chance=shares.chance,
                original=shares.original,
            ),
            risk_figure(
                "revealed share from published margins",
                shares.baseline,
                f"the same when everybody is taken for the most frequent {self.sensitive} of all, "
                "without the synthetic data: the revealed share should not be much above it",
                shares.n,
                key="revealed_share_from_margins",
            ),
            self._auc_figure(),
            risk_figure(
                "guessed right",
                guesses.right_of_present,
                "persons whose public values the synthetic data have: share whose "
                f"{self.sensitive} is the most frequent one shown with them",
                present,
                chance=guesses.chance_right_of_present,
                original=guesses.original_right_of_present,
            ),
            risk_figure(
                "guessed right from published margins",
                guesses.baseline_right_of_present,
                f"the same persons: share whose {self.sensitive} is the most frequent one in "
                f"published margins ({margins}), without the synthetic data: the share "
                "guessed right should not be much above it",
                present,
                key="guessed_right_from_margins",
            ),
            *(figure for row in guesses.rows for figure in self._threshold_figures(row, margins)),
        )

    @property
    def rates(self) -> tuple[InferenceRate, ...]:
        """What is revealed and guessed right, beside what is known without the synthesis."""
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
                name="guessed right, of those found",
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
                name="shown right, of persons with public values of their own",
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
        return risk_figure(
            "AUC",
            _average(curves, "auc"),
            f"chance that a person with {one} has a larger share of it among the synthetic "
            "{records} with the same public values than a person without (area under the "
            f"ROC curve{averaged})",
            curves[0].positives + curves[0].negatives,
            chance=0.5,
            original=_average(curves, "auc_original_of_present"),
        )

    def _threshold_figures(self, row: ThresholdRow, margins: str) -> tuple[Figure, Figure]:
        name = f"probability above {row.threshold:g}"
        whose = f"share of all persons whose true {self.sensitive} has more than this share"
        lowest = row is self.thresholds.rows[0]
        return (
            risk_figure(
                name,
                row.share,
                f"{whose} among synthetic {{records}} with the same public values; shares near 1 "
                "come mostly from combinations with one or two synthetic {records}, where chance "
                "makes them too",
                self.thresholds.n,
                key="probability_above" if lowest else "",
                chance=row.kept_chance_share,
                original=row.original_share,
            ),
            risk_figure(
                f"{name} from published margins",
                row.baseline_share,
                f"{whose} in published margins ({margins}), without the synthetic data",
                self.thresholds.n,
                key=f"probability_above_{row.threshold:g}_from_margins",
            ),
        )


def _of_periods(figure: Figure) -> Figure:
    """Return a figure whose words count periods of persons."""
    meaning = re.sub(r"\b(?:person|record)(s?)\b", r"person-period\1", figure.meaning)
    return Figure(**plain(figure) | {"meaning": meaning})


def _average(curves: Sequence[RocCurve], area: str) -> float | None:
    """Return the mean area, weighted by the members of each class, of the curves that have one.

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
    """Analyse how far synthetic data give away a sensitive variable of people in the original.

    A cell is a combination of the public variables. Synthetic datasets are pooled; where records
    are counted against original ones, the count is the mean over the datasets.

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
        The class whose proportion is looked at: gets the ties where there are two levels. Default
        the more frequent of two levels; of more levels each is looked at.
    groups : mapping of str to int or sequence of float, optional
        As in `synthesizer.measures.risk.cap.cap`.
    baseline : sequence of str
        Public variables within which the distribution of the sensitive variable is published
        (computed from the original); default none: only its overall distribution is known.
    thresholds : sequence of float
        Probabilities of the true level above which a record counts as at risk, in [0, 1).
    units : {"persons", "periods"}
        What a record of a panel is, for the words.

    Returns
    -------
    InferenceResult
        One part for each analysis; higher shares are riskier. Where a cell shows several levels
        equally often, the more frequent one of the original is taken, of two levels the positive
        one. The chance of a figure is what it comes to when synthetic levels have nothing to do
        with true ones; what published margins (``baseline``) tell are figures of their own.

    Raises
    ------
    DataError
        For unknown variables, a sensitive variable with one level or too many and the like, all
        at once.

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
    """Return what is said of the true level of every original record; see `inference`.

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


def _counted(original: Data, synthetic: Synthetic, **asked: Any) -> tuple[Cells, Codes]:
    """Return the checked counts, and the cell of each original record in the published table."""
    check_lists(public=asked["public"], baseline=asked["baseline"])
    original, tables = as_tables(original, synthetic, [*asked["public"], asked["sensitive"]])
    check_inference(original, tables, **asked)
    margin = JointCoder(original, asked.pop("baseline"), asked["groups"]).codes
    del asked["thresholds"]
    return count_cells(original, tables, **asked), margin


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
    """Raise one DataError that lists every problem."""
    existing = [name for name in dict.fromkeys([*public, sensitive]) if name in original]
    problems = list(_name_problems(original, sensitive, public, baseline))
    problems += [
        f"threshold ({value}) must be at least 0 and below 1: a probability has to exceed it"
        for value in thresholds
        if not 0 <= value < 1
    ]
    if existing:
        problems += problems_of(check_keys, original, keys=existing, groups=groups)
    if sensitive in original and original.n_rows and not problems:
        problems += _level_problems(original[sensitive], positive, groups.get(sensitive))
    problems += problems_of(check_comparable, original, synthetic, existing)
    if problems:
        raise DataError(dict.fromkeys(problems))


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
    for name in dict.fromkeys(public):
        if name not in original:
            yield f"public variable {name!r} is not in the data: name one of its columns"
        if list(public).count(name) > 1:
            yield f"public variable {name!r} is named twice: name it once"
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
            else f"{variable} falls into one group: give more groups"
        )
    if number > MAX_LEVELS:
        remedy = "merge its categories" if column.is_coded else "name it in groups"
        yield f"{variable} has {number} levels, more than {MAX_LEVELS}: {remedy}"
    elif positive is not None and label_of(positive) not in level_codes(column, groups)[0]:
        yield f"positive is none of the {number} levels of {variable}: name one of them"
