"""Every measure, said once: its switch, what it needs, how it is computed, what its figures mean.

From the entries follow the switches under ``checks:``, the keys under ``limits:``, the refusal of a
limit whose check is off, the summary and the screen of a run, and the axes by which runs are
compared. Whoever adds a measure writes its file and one entry.

A figure of risk belongs to a question: the same keys, target and groups. Two runs that asked
different questions, or of different data, are never put on one axis (`FigureKind.scope`). Nor are
two runs whose datasets differ in size, where the figure depends on it (`FigureKind.same_rows`):
S_pMSE is a distance times a number of records, and the fewer synthetic records there are the fewer
originals find a match, so that the smallest file would seem the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from synthesizer.data.panel.frame import Frame
from synthesizer.data.panel.view import PersonView
from synthesizer.data.progress import counted
from synthesizer.data.table import Table
from synthesizer.measures.figure import Attempts
from synthesizer.measures.measure import (
    Axis,
    Case,
    FigureKind,
    Limit,
    Measure,
    Need,
    is_on,
)
from synthesizer.measures.measure_options import (
    AttackOptions,
    DifferentialOptions,
    FitRequest,
    PropensityOptions,
    Question,
    SudaOptions,
)
from synthesizer.measures.risk.attacks import attacks
from synthesizer.measures.risk.attribute import attribute
from synthesizer.measures.risk.cap import cap, cap_regression
from synthesizer.measures.risk.determined import determined
from synthesizer.measures.risk.differential import Grouping, compare_halves, gather, with_cut_points
from synthesizer.measures.risk.identity import identity
from synthesizer.measures.risk.inference import inference
from synthesizer.measures.risk.nearest import nearer_share
from synthesizer.measures.risk.replicated import CareerReplicates, Replicates
from synthesizer.measures.risk.scenario_risk import unfamiliar
from synthesizer.measures.risk.suda import affordable_size, suda
from synthesizer.measures.risk.tcap import tcap
from synthesizer.measures.utility.compare_fit import compare_fit
from synthesizer.measures.utility.longitudinal import PanelCollector
from synthesizer.measures.utility.sequences import career_matrix
from synthesizer.measures.utility.suite import (
    Collecting,
    distances,
    pair_tables,
    propensity,
    tables,
    variables,
)

if TYPE_CHECKING:
    from synthesizer.measures.settings import CheckSettings

SCENARIO: frozenset[Need] = frozenset({"scenario"})
HALVES: frozenset[Need] = frozenset({"halves"})
PANEL: frozenset[Need] = frozenset({"panel"})


def _suda(case: Case) -> Any:
    options, keys = case.settings.suda, case.asked.keys
    size = options.max_size or affordable_size(len(keys), case.original.n_rows)
    return suda(
        case.original,
        **case.key_groups,
        max_size=min(size, len(keys)),
        sampling_fraction=options.sampling_fraction,
        progress=counted(case.listener, f"special uniques ({case.asked.label})"),
    )


def _cap(case: Case) -> Any:
    special = case.done.get("suda")
    masks = {} if special is None else {"special_uniques": special.special}
    return cap(*case.pair, **case.asked.settings, special_uniques=False, subsets=masks)


def _split(case: Case) -> Any:
    by = case.settings.differential_confidentiality.by
    grouping = None if by is None else Grouping.of(case.original, by)
    return compare_halves(case.halves, with_cut_points(case.asked, case.original), grouping)


def _splits(case: Case, parts: Sequence[Any]) -> Any:
    fixed = with_cut_points(case.asked, case.original)
    return gather(fixed, parts, case.settings.differential_confidentiality.by)


def _nearest(case: Case) -> Any:
    run = case.halves
    rng = case.seed.generator("nearest")
    return nearer_share(run.fitted, run.unseen, run.synthetic, rng=rng)


def _attacks(case: Case) -> Any:
    run = case.halves
    return attacks(
        *(run.fitted, run.unseen, run.synthetic),
        **case.by_class,
        n_attacks=case.settings.attacks.attempts,
        rng=case.seed.generator("attacks"),
    )


def _replicated(case: Case) -> Collecting | None:
    if not case.names:
        return None
    counter = Replicates(case.original, case.names)
    return Collecting(counter.add, lambda: counter.result)


def _states(view: Table, frame: Frame | None) -> Any:
    if not isinstance(view, PersonView):
        raise TypeError("a panel is seen as persons")
    return career_matrix(view.panel, None if frame is None else frame.career)


def _careers(case: Case) -> Collecting:
    counter = CareerReplicates(_states(case.original, case.frame))
    return Collecting(lambda view: counter.add(_states(view, case.frame)), lambda: counter.result)


def _sequences(case: Case) -> Collecting | None:
    if case.frame is None or not isinstance(case.original, PersonView):
        return None
    rng = case.seed.generator("sequences")
    collector = PanelCollector(case.original.panel, case.frame, rng, attempts=Attempts())

    def add(view: Table) -> None:
        if isinstance(view, PersonView):
            collector.add(view.panel)

    return Collecting(add, collector.result)


def _fit(case: Case) -> Any:
    return compare_fit(*case.pair, case.item.formula, **case.item.settings)


_MEASURES: tuple[Measure, ...] = (
    Measure(
        key="suda",
        family="scenario",
        words="special uniques",
        options=SudaOptions,
        needs=SCENARIO,
        compute=_suda,
        kept=attrgetter("result"),
    ),
    Measure(
        key="cap",
        family="scenario",
        words="correct attribution probability, TCAP and CAP_u",
        needs=SCENARIO,
        compute=_cap,
        figures=(
            FigureKind(
                key="cap",
                name="CAP",
                title="CAP, all datasets pooled",
                meaning="how often an intruder who has all datasets and knows the keys reads off "
                "the right target; {records} without a match count as 0",
                limit=Limit(description="mean CAP, non-matches zero"),
                summary={"cap": "value", "cap_original": "original", "cap_baseline": "baseline"},
                is_axis=True,
                scope="pooled",
            ),
            FigureKind(
                key="cap_single",
                name="CAP of one dataset",
                title="CAP of one dataset",
                meaning="how often an intruder who has one dataset and knows the keys reads off "
                "the right target (mean over the datasets); {records} without a match count as 0",
                is_axis=True,
            ),
            FigureKind(
                key="cap_undefined",
                name="CAP of matches",
                title="CAP of matches, all datasets pooled",
                meaning="how often the intruder is right about the {records} whose keys are found",
                limit=Limit(description="mean CAP of matches"),
                summary={"cap_undefined": "value"},
                is_axis=True,
                scope="pooled",
            ),
            FigureKind(
                key="cap_u",
                name="CAP-U",
                title="CAP of uniques, all datasets pooled",
                meaning="how often the intruder is right about {records} whose keys nobody shares",
                limit=Limit(
                    description="mean CAP of statistical uniques, non-matches zero", some=True
                ),
                summary={"cap_u": "value"},
                is_axis=True,
                scope="pooled",
            ),
            FigureKind(
                key="cap_special_uniques",
                name="CAP of special uniques",
                title="CAP of special uniques, all datasets pooled",
                meaning="how often the intruder is right about the {records} that stand out most",
                limit=Limit(description="mean CAP of special uniques, non-matches zero", some=True),
                checks=("suda",),
                summary={"cap_special_uniques": "value"},
                is_axis=True,
                scope="pooled",
            ),
        ),
    ),
    Measure(
        key="regression on m",
        result_field="regression",
        family="scenario",
        switch="cap",
        needs=SCENARIO,
        compute=lambda case: cap_regression(case.done["cap"]) if "cap" in case.done else None,
    ),
    Measure(
        key="tcap",
        family="scenario",
        switch="cap",
        needs=SCENARIO,
        # a class agrees on a value, never on an interval around each of its values
        compute=lambda case: (
            None
            if case.asked.tolerance
            else tcap(*case.pair, **case.by_class, tau=case.settings.tau)
        ),
        figures=(
            FigureKind(
                key="tcap",
                name="TCAP",
                title="TCAP, all datasets pooled",
                meaning="how often a guess is right where the synthetic {records} with the same "
                "keys agree on one target",
                limit=Limit(
                    description="TCAP: right among attributed records (not of all matched ones)",
                    some=True,
                    exact=True,
                ),
                summary={"tcap": "value"},
                is_axis=True,
                scope="pooled",
            ),
        ),
    ),
    Measure(
        key="differential_confidentiality",
        result_field="differential",
        family="splits",
        words="half split, CAP in and out of the fit",
        options=DifferentialOptions,
        needs=SCENARIO | HALVES,
        compute=_split,
        gather=_splits,
        figures=(
            FigureKind(
                key="differential_confidentiality",
                name="differential confidentiality",
                title="differential confidentiality",
                meaning="mean CAP of persons who were in the data minus that of persons who were "
                "not: the risk that the release adds; about 0 is safe, below 0 is as good as 0",
                limit=Limit(description="difference of mean CAP, fitted minus unseen", low=-1),
                summary={
                    "differential_confidentiality": "value",
                    "differential_low": "low",
                    "differential_high": "high",
                },
                is_axis=True,
                scope="pooled",
                ideal=0.0,
            ),
            FigureKind(
                key="differential_single",
                name="differential confidentiality of one dataset",
                title="differential confidentiality of one dataset",
                meaning="mean CAP, from one dataset, of persons who were in the data minus that "
                "of persons who were not; about 0 is safe, below 0 is as good as 0",
                is_axis=True,
                ideal=0.0,
            ),
            FigureKind(
                key="worst_group",
                name="worst group",
                limit=Limit(
                    description="lower end of the interval of that difference in the worst group",
                    low=-1,
                    judged="low",
                    option="differential_confidentiality.by",
                ),
                summary={"worst_group": "value"},
            ),
        ),
    ),
    Measure(
        key="identity",
        family="scenario",
        words="UiO, UiS, UiOiS and repU",
        needs=SCENARIO,
        compute=lambda case: identity(*case.pair, **case.key_groups),
        figures=(
            FigureKind(
                key="repu",
                name="repU",
                title="repU",
                meaning="share of the original uniques on the keys that are unique in the "
                "synthetic data too",
                limit=Limit(description="repU, uniques that are unique in the synthetic data too"),
                summary={"repu": "value"},
                is_axis=True,
            ),
        ),
    ),
    Measure(
        key="attribute",
        family="scenario",
        words="Dorig, Dsyn, iS, DiS, DiSCO and DiSDiO",
        needs=SCENARIO,
        compute=lambda case: (
            None
            if case.asked.tolerance
            else attribute(*case.pair, **case.by_class, exclude=case.asked.exclude)
        ),
        figures=(
            FigureKind(
                key="disco",
                name="DiSCO",
                title="DiSCO",
                meaning="share of the {records} whose target the synthetic data disclose, rightly",
                limit=Limit(description="DiSCO, disclosive and correct", exact=True),
                summary={"disco": "value"},
                is_axis=True,
            ),
        ),
    ),
    Measure(
        key="determined",
        family="scenario",
        switch=None,
        needs=SCENARIO,
        compute=lambda case: determined(case.original, **case.by_class),
    ),
    Measure(
        key="unfamiliar",
        family="scenario",
        switch=None,
        needs=SCENARIO,
        compute=lambda case: (
            None
            if case.asked.tolerance
            else unfamiliar(*case.pair, case.asked.names, case.asked.groups)
        ),
    ),
    Measure(
        key="replicated_uniques",
        result_field="replicated",
        family="datasets",
        words="unique records that are there again, all variables alike",
        compute=_replicated,
        figures=(
            FigureKind(
                key="replicated_uniques",
                name="replicated uniques",
                title="replicated uniques",
                meaning="share of the synthetic {records} that are unique and equal to a unique "
                "original {record} in every variable",
                limit=Limit(description="share of replicated unique records"),
                summary={"replicated_uniques": "value"},
                is_axis=True,
                scope="data",
            ),
        ),
    ),
    Measure(
        key="replicated_careers",
        result_field="careers",
        family="datasets",
        words="panels: careers of the data that are there again, period by period",
        needs=PANEL,
        compute=_careers,
        figures=(
            FigureKind(
                key="replicated_careers",
                name="careers of one person",
                title="careers of one person",
                meaning="panels: share of the synthetic careers that equal, in every period, a "
                "career which exactly one person of the original has",
                limit=Limit(
                    description="panels: share of synthetic careers that equal one which only one "
                    "person has"
                ),
                summary={"replicated_careers": "value"},
                is_axis=True,
                scope="data",
            ),
            FigureKind(key="careers_in_the_data", name="careers in the data"),
        ),
    ),
    Measure(
        key="nearest",
        family="halves",
        words="share of records nearer to the fitted half",
        needs=HALVES,
        compute=_nearest,
        figures=(
            FigureKind(
                key="nearer_share",
                name="share nearer to the fitted half",
                title="share nearer to the fitted half",
                meaning="share of the synthetic {records} that are nearer to a person who was in "
                "the data than to one who was not; 0.5 is none",
                limit=Limit(description="share of records nearer to the fitted half"),
                summary={"nearer_share": "value"},
                is_axis=True,
                scope="data",
                ideal=0.5,
                same_rows=False,
            ),
        ),
    ),
    Measure(
        key="inference ({})",
        result_field="inference",
        family="end",
        switch="inference",
        words="inference about a sensitive variable from public ones",
        options=Question,
        several=True,
        items=lambda settings: [(item.sensitive, item) for item in settings.inference],
        compute=lambda case: inference(*case.pair, **case.item.settings),
        figures=(
            FigureKind(
                key="revealed_share",
                name="revealed share",
                title="revealed share",
                meaning="share of a sensitive variable that public ones and the synthetic data "
                "reveal",
                limit=Limit(description="share of a sensitive variable revealed"),
                summary={"revealed_share": "value"},
                is_axis=True,
                scope="inference",
            ),
            FigureKind(
                key="auc",
                name="AUC",
                title="AUC of the sensitive variable",
                meaning="how well public variables and the synthetic data rank who has the "
                "sensitive value; 0.5 is chance",
                limit=Limit(description="area under the ROC curve of a sensitive variable"),
                summary={"auc": "value"},
                is_axis=True,
                scope="inference",
                ideal=0.5,
            ),
            FigureKind(key="guessed_right", name="guessed right"),
        ),
    ),
    Measure(
        key="attacks",
        family="halves",
        words="singling out, linkability, inference",
        options=AttackOptions,
        is_on=False,
        needs=SCENARIO | HALVES,
        compute=_attacks,
        figures=(
            FigureKind(
                key="attack_risk",
                name="risk",
                title="largest risk of an attack",
                meaning="the most successful of the attacks, above its success on persons who "
                "were not in the data",
                limit=Limit(description="largest risk of an attack"),
                summary={"attack_risk": "value"},
                is_axis=True,
                scope="pooled",
            ),
        ),
    ),
    Measure(
        key="tables",
        axis="utility",
        family="datasets",
        switch=None,
        compute=lambda case: (
            tables(case.original, case.names, case.settings, case.synthesis)
            if case.names and case.settings.ways
            else None
        ),
        figures=(
            FigureKind(
                key="mean_two_way",
                name="mean two-way S_pMSE",
                title="mean two-way S_pMSE",
                meaning="how far the tables of all pairs of variables are from the original's, on "
                "average; a right synthesis has about 1, a proper one and a fresh sample of the "
                "population 1 + k/n (k synthetic, n original {records})",
                limit=Limit(description="mean two-way S_pMSE", high=None),
                checks=("two_way",),
                summary={"mean_two_way": "value"},
                is_axis=True,
                scope="data",
            ),
            FigureKind(
                key="worst_two_way",
                name="largest two-way S_pMSE",
                title="largest two-way S_pMSE",
                meaning="the same for the pair of variables that is farthest off",
                limit=Limit(description="largest two-way S_pMSE", high=None),
                checks=("two_way",),
                summary={"worst_two_way": "value"},
                is_axis=True,
                scope="datasets",
            ),
            FigureKind(
                key="worst_one_way",
                name="largest one-way S_pMSE",
                title="largest one-way S_pMSE",
                meaning="the same for the variable whose distribution is farthest off",
                limit=Limit(description="largest one-way S_pMSE", high=None),
                checks=("one_way",),
                summary={"worst_one_way": "value"},
                is_axis=True,
                scope="datasets",
            ),
            FigureKind(
                key="roe_two_way",
                name="ROE (two-way)",
                summary={"roe_two_way": "value"},
            ),
            FigureKind(
                key="roe_loss",
                name="1 - ROE (two-way)",
                title="1 - ratio of estimates of pairs",
                meaning="how much the counts of the tables of all pairs of variables differ, as a "
                "share; 0 is equal",
                is_axis=True,
                scope="data",
            ),
            FigureKind(key="roe_one_way", name="ROE (one-way)", screen="files"),
        ),
    ),
    Measure(
        key="distributions",
        axis="utility",
        family="datasets",
        switch="one_way",
        words="distribution of every variable",
        compute=lambda case: variables(case.original, case.names) if case.names else None,
    ),
    Measure(
        key="pairs",
        axis="utility",
        family="datasets",
        switch="two_way",
        words="S_pMSE of every pair of variables",
        compute=lambda case: (
            pair_tables(case.original, case.names, case.settings, case.done.get("tables"))
            if case.names
            else None
        ),
    ),
    Measure(
        key="propensity score by {}",
        result_field="propensity",
        axis="utility",
        family="datasets",
        switch="propensity",
        words="propensity scores",
        options=PropensityOptions,
        items=lambda settings: [(model, model) for model in settings.propensity.models],
        compute=lambda case: (
            propensity(
                case.original,
                case.names,
                case.settings.propensity,
                case.item,
                copied=case.synthesis.kept,
                generator=partial(case.seed.generator, "propensity"),
                workers=case.workers,
            )
            if case.names
            else None
        ),
        figures=(
            FigureKind(
                key="pmse_ratio",
                name="pMSE ratio",
                limit=Limit(
                    description="pMSE over its expectation, of the model where it is largest",
                    high=None,
                ),
                summary={"pmse_ratio": "value"},
            ),
            FigureKind(
                key="pmse_ratio_cart",
                name="pMSE ratio by a tree",
                title="pMSE ratio by a tree",
                meaning="how well a classification tree tells synthetic from original {records}, "
                "over what is expected by chance; 1 is the level of a fresh sample, below 1 is as "
                "good as 1",
                is_axis=True,
                scope="propensity",
                ideal=1.0,
            ),
            FigureKind(
                key="pmse_ratio_logit",
                name="pMSE ratio by a logit",
                title="pMSE ratio by a logit",
                meaning="how well a logit tells synthetic from original {records}, over what is "
                "expected of a right synthesis; about 1 is good, below 1 is as good as 1",
                is_axis=True,
                scope="propensity",
                ideal=1.0,
            ),
            FigureKind(key="pmse", name="pMSE", screen="files"),
            FigureKind(key="standardised_pmse", name="standardised pMSE", screen="files"),
        ),
    ),
    Measure(
        key="full table",
        result_field="distance",
        axis="utility",
        family="datasets",
        switch="full_table",
        words="Jensen-Shannon distance of the table of all variables",
        compute=lambda case: (
            distances(case.original, case.names, case.settings) if case.names else None
        ),
        figures=(
            FigureKind(
                key="jensen_shannon_distance", name="Jensen-Shannon distance", screen="files"
            ),
        ),
    ),
    Measure(
        key="sequences",
        result_field="panel",
        axis="utility",
        family="datasets",
        words="panels: careers, and the histories of all variables",
        needs=PANEL,
        compute=_sequences,
        figures=(
            FigureKind(
                key="sequence_ratio",
                name="careers: largest ratio to the noise floor",
                title="careers: largest distance over noise",
                meaning="panels: how far the careers are from the original's, over what bootstraps "
                "of its persons give, where it is most; 1 is the level of a fresh sample, below 1 "
                "is as good as 1",
                limit=Limit(
                    description="panels: largest distance of careers over its noise floor",
                    high=None,
                ),
                summary={"sequence_ratio": "value"},
                is_axis=True,
                scope="datasets",
                ideal=1.0,
            ),
        ),
    ),
    Measure(
        key="fit {}",
        result_field="fits",
        axis="utility",
        family="end",
        switch="fits",
        words="models that are fitted to original and synthetic data",
        options=FitRequest,
        several=True,
        items=lambda settings: [(item.formula, item) for item in settings.fits],
        compute=_fit,
        figures=(
            FigureKind(key="mean_ci_overlap", name="mean CI overlap"),
            FigureKind(
                key="overlap_loss",
                name="1 - mean CI overlap",
                title="1 - overlap of confidence intervals",
                meaning="the part of the coefficients' confidence intervals that original and "
                "synthetic data do not share, mean over the fits; falls with the number of "
                "datasets; 0 is equal",
                is_axis=True,
                scope="fits",
            ),
        ),
    ),
)

MEASURES: Mapping[str, Measure] = {
    measure.key: replace(
        measure, figures=tuple(replace(kind, axis=measure.axis) for kind in measure.figures)
    )
    for measure in _MEASURES
}
"""Every measure, in the order of computation."""

CHECKS: Mapping[str, Measure] = {
    measure.check: measure for measure in MEASURES.values() if measure.check and measure.words
}
"""The measure that says what a switch under ``checks:`` is about."""

FIGURES: Mapping[str, FigureKind] = {
    kind.key: kind for measure in MEASURES.values() for kind in measure.figures
}
LIMITS: Mapping[str, tuple[Measure, FigureKind, Limit]] = {
    kind.key: (measure, kind, kind.limit)
    for measure in MEASURES.values()
    for kind in measure.figures
    if kind.limit is not None
}
"""Every limit: its measure, its figure, and what it is."""

AXES: Mapping[str, FigureKind] = {key: kind for key, kind in FIGURES.items() if kind.is_axis}
"""Figures by which runs are compared; the first one of risk and of utility at the front."""

CAREERS = tuple(
    kind.key
    for axis in ("utility", "risk")
    for measure in MEASURES.values()
    for kind in measure.figures
    if "panel" in measure.needs and kind.is_axis and kind.axis == axis
)
"""Axes that only panels have: of utility and of risk."""

SUMMARY: Mapping[str, tuple[FigureKind, str]] = {
    key: (kind, of) for kind in FIGURES.values() for key, of in kind.summary.items()
}
"""Keys of the summary: the figure, and the field of it."""


def figure_kind(key: str) -> FigureKind | None:
    """Return what the catalogue says of a figure; None of one without a part to play.

    Examples
    --------
    >>> figure_kind("repu").title, figure_kind("uio")
    ('repU', None)
    """
    return FIGURES.get(key)


def axes(axis: Axis) -> tuple[FigureKind, ...]:
    """Return the figures of risk or of utility by which runs are compared.

    Examples
    --------
    >>> axes("risk")[0].key, axes("utility")[0].key
    ('cap', 'mean_two_way')
    """
    return tuple(kind for kind in AXES.values() if kind.axis == axis)


def axis_problems(risk: str | None, utility: str | None) -> list[str]:
    """Say which names of axes are no measures, and which there are.

    Examples
    --------
    >>> axis_problems("cap", None)
    []
    >>> axis_problems(None, "mean_two_ways")[0][:60]
    '--utility mean_two_ways: is no figure of utility; choose one'
    """
    wanted: tuple[tuple[Axis, str | None], ...] = (("risk", risk), ("utility", utility))
    return [
        f"--{axis} {key}: is no figure of {axis}; choose one of "
        f"{', '.join(kind.key for kind in axes(axis))}"
        for axis, key in wanted
        if key is not None and key not in {kind.key for kind in axes(axis)}
    ]


def limit_problems(
    settings: CheckSettings, limits: Mapping[str, float], *, panel: bool
) -> Iterator[str]:
    """Yield why limits could not be held against anything: their checks are off, or have no data.

    Parameters
    ----------
    settings : CheckSettings
        Which checks are on.
    limits : mapping of str to float
        Those that are set.
    panel : bool
        Whether the data are a panel.
    """
    for key in limits:
        measure, kind, limit = LIMITS[key]
        for check in dict.fromkeys(filter(None, (measure.check, *kind.checks))):
            if not is_on(settings, check):
                yield (
                    f"limits.{key}: the check {check!r} is switched off; switch it on or drop the "
                    "limit"
                )
        if "panel" in measure.needs and not panel:
            yield f"limits.{key}: only a panel has it; describe it under panel or drop the limit"
        parts = (settings, *settings.scenarios)
        if limit.exact and all(part.tolerance for part in parts):
            yield f"limits.{key}: every target has a tolerance; give one groups in its place"
        check, _, option = limit.option.partition(".")
        if option and getattr(getattr(settings, check), option) is None:
            yield f"limits.{key}: needs checks.{limit.option}; name a variable"
