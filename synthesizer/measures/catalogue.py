"""Every measure, said once: its switch, what it needs, how it is computed, what its figures mean.

From the entries follow the switches under ``checks:``, the keys under ``limits:``, the refusal of a
limit whose check is off, the summary and the screen of a run, and the axes by which runs are
compared. Whoever adds a measure writes its file and one entry.

A figure belongs to a question: the data, the keys, target and groups. Runs of different questions
are never put on one axis (`jobs.compare`). Nor are runs whose datasets differ in size: S_pMSE is a
distance times a number of records, and the fewer synthetic records there are the fewer originals
find a match, so that the smallest file would seem the best.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.households import MemberView
from synthesizer.data.panel.view import panel_of
from synthesizer.data.randomness import Seed
from synthesizer.data.table import IntArray, Kind, Table
from synthesizer.data.workers import counted
from synthesizer.measures.figure import Attempts, Collector, collected
from synthesizer.measures.measure import (
    Axis,
    Case,
    Family,
    FigureKind,
    Limit,
    Measure,
    Need,
    is_on,
)
from synthesizer.measures.risk.attacks import AttackOptions, attacks
from synthesizer.measures.risk.attribute import attribute
from synthesizer.measures.risk.cap import cap, cap_regression
from synthesizer.measures.risk.copied import Copied, CopiedKeys, CopiedUniques, K
from synthesizer.measures.risk.determined import determined
from synthesizer.measures.risk.differential import (
    DifferentialOptions,
    Grouping,
    compare_halves,
    gather,
    with_cut_points,
)
from synthesizer.measures.risk.guesses import Guesses, guesses
from synthesizer.measures.risk.identity import identity
from synthesizer.measures.risk.memorisation import Memory, memory
from synthesizer.measures.risk.near_verbatim import NearVerbatim, near_verbatim
from synthesizer.measures.risk.nearest import nearer_share
from synthesizer.measures.risk.rare_values import RareValues, RareValuesSeen
from synthesizer.measures.risk.replicated import (
    CareerReplicates,
    HouseholdsSeen,
    RepeatedHouseholds,
    Replicates,
)
from synthesizer.measures.risk.scenario import Question
from synthesizer.measures.risk.scenario_risk import unfamiliar
from synthesizer.measures.risk.suda import SudaOptions, affordable_size, suda
from synthesizer.measures.risk.tcap import tcap
from synthesizer.measures.risk.trajectories import (
    Trajectories,
    TrajectoryHalves,
    TrajectoryIntruder,
    TrajectoryOptions,
    trajectories_of_halves,
)
from synthesizer.measures.risk.weight_disclosure import (
    WeightAsKey,
    WeightsSeen,
    WeightsShown,
    weight_as_key,
)
from synthesizer.measures.utility.compare_fit import FitRequest, design_of
from synthesizer.measures.utility.conditional_tables import ConditionalTables
from synthesizer.measures.utility.distributions import DistributionCounter
from synthesizer.measures.utility.equivalent_sample import EquivalentSample, SampleScale
from synthesizer.measures.utility.household_pairs import HouseholdPairCounter, HouseholdPairs
from synthesizer.measures.utility.longitudinal import NewPeriods, NewPeriodsCounter, PanelCollector
from synthesizer.measures.utility.propensity import PropensityOptions
from synthesizer.measures.utility.regressions import RegressionCounter, Regressions
from synthesizer.measures.utility.sequences import career_matrix
from synthesizer.measures.utility.suite import (
    Collecting,
    conditional_tables,
    distances,
    fit,
    pair_tables,
    propensity,
    requested_fits,
    tables,
)
from synthesizer.measures.utility.unseen import LOOK_TITLES, Unseen, unseen
from synthesizer.measures.utility.weighted import Models, WeightedCounter, WeightedEstimates

SCENARIO: frozenset[Need] = frozenset({"scenario"})
HALVES: frozenset[Need] = frozenset({"halves"})
PANEL: frozenset[Need] = frozenset({"panel"})
NAMES: frozenset[Need] = frozenset({"names"})
WEIGHT: frozenset[Need] = frozenset({"weight"})
_NEEDS: Mapping[Family, frozenset[Need]] = {
    "scenario": SCENARIO,
    "splits": SCENARIO | HALVES,
    "halves": HALVES,
}
"""What every measure of a family needs."""


def _suda(case: Case) -> Any:
    options, keys = case.settings.suda, case.asked.keys
    size = options.max_size or affordable_size(len(keys), case.original.n_rows)
    return suda(
        case.original,
        **case.key_groups,
        options=options,
        max_size=min(size, len(keys)),
        progress=counted(case.listener, "special uniques"),
    )


def _cap(case: Case) -> Any:
    special = case.done.get("suda")
    masks = {} if special is None else {"special_uniques": special.special}
    asked = {**case.asked.settings, "control": case.control}
    return cap(*case.pair, **asked, special_uniques=False, subsets=masks)


def _split(case: Case) -> Any:
    by = case.settings.differential_confidentiality.by
    grouping = None if by is None else Grouping.of(case.original, by)
    return compare_halves(case.halves, with_cut_points(case.asked, case.original), grouping)


def _splits(case: Case, parts: Sequence[Any]) -> Any:
    fixed = with_cut_points(case.asked, case.original)
    return gather(fixed, parts, case.settings.differential_confidentiality.by)


def _nearest(case: Case) -> Any:
    run = case.halves
    return nearer_share(run.fitted, run.unseen, run.synthetic, seed=case.seed)


def _guesses(case: Case) -> Guesses | None:
    keys = () if case.scenario is None else case.scenario.keys
    return guesses(case.halves, case.drawn, keys, seed=case.seed)


def _memory(case: Case) -> Memory | None:
    run = case.halves
    if run.log_likelihoods is None:
        return None
    return memory(run.fitted, run.unseen, run.log_likelihoods)


def _attacks(case: Case) -> Any:
    run = case.halves
    return attacks(
        *(run.fitted, run.unseen, run.synthetic),
        **case.by_class,
        options=case.settings.attacks,
        seed=case.seed,
    )


def _copied(case: Case, kind: type[K]) -> Copied[K] | None:
    """Return what counts copies of the variables that are not kept on purpose, without data."""
    asked = case.scenario
    every = case.names if asked is None else asked.names
    names = [name for name in every if name not in case.synthesis.kept]
    if not names:
        return None
    control = case.control
    return Copied(
        case.original,
        names,
        None if asked is None else {k: v for k, v in asked.groups.items() if k in names},
        control=control if control is not None and {*names} <= {*control.names} else None,
        kept=[name for name in every if name not in names],
        may_keep=case.synthesis.may_keep,
        kind=kind,
    )


def _copied_keys(case: Case) -> CopiedKeys | None:
    copied = _copied(case, CopiedKeys)
    return None if copied is None else collected(copied, case.synthetic)


def _seeing(view: Callable[[Table], Any], collector: Collector[Any]) -> Collecting:
    """Return a collector that looks at a view of each dataset."""
    return Collecting(lambda dataset: collector.add(view(dataset)), collector.result)


def _rare(case: Case) -> Collector[RareValues]:
    public = case.synthesis.public
    if case.frame is None:
        every = (*case.names, *case.identifiers)
        return RareValuesSeen(case.original, every, public=public, control=case.control)
    panel = panel_of(case.original)
    names = [name for name in panel.names if panel[name].variable.kind is not Kind.ID]
    return _seeing(panel_of, RareValuesSeen(panel, names, public=public))


def _members(case: Case) -> MemberView:
    if not isinstance(case.original, MemberView):
        raise TypeError("needs persons of households")
    return case.original


def _weight(case: Case) -> str:
    if case.weight is None:
        raise ValueError("needs a survey weight")
    return case.weight


def _frame(case: Case) -> Frame:
    if case.frame is None:
        raise ValueError("a panel has periods")
    return case.frame


def _inference(case: Case) -> Collecting:
    from synthesizer.measures.risk.public_inference import inference  # few runs ask for it

    asked, datasets = case.item, list[Table]()
    original = asked.rows(case.original)
    return Collecting(
        lambda view: datasets.append(asked.rows(view)),
        lambda: inference(original, datasets, **asked.settings),
    )


def _career_of(case: Case) -> Callable[[Table], IntArray]:
    """Return what reads the states of persons, by period, from a view of a panel."""
    career = _frame(case).career
    return lambda view: career_matrix(panel_of(view), career)


def _careers(case: Case) -> Collecting:
    career_of = _career_of(case)
    return _seeing(career_of, CareerReplicates(career_of(case.original)))


def _trajectories(case: Case) -> Collecting | None:
    if len(_frame(case).times) < 2:
        return None
    career_of = _career_of(case)
    original, options = career_of(case.original), case.settings.trajectories
    return _seeing(career_of, TrajectoryIntruder(original, options, seed=_OF_PERIODS))


def _trajectories_of_halves(case: Case) -> TrajectoryHalves | None:
    run, options = case.halves, case.settings.trajectories
    if len(_frame(case).times) < 2 or not options.enabled:
        return None
    careers = map(_career_of(case), (run.fitted, run.unseen, *run.synthetic))
    return trajectories_of_halves(*careers, options=options, seed=_OF_PERIODS)


_OF_PERIODS = Seed(0)
"""Periods that an intruder knows are the same whatever the seed, so that runs can be compared."""


def _weighted(case: Case) -> WeightedCounter:
    weight, settings, synthesis = _weight(case), case.settings, case.synthesis
    strata, psu = (n if n in case.original else None for n in (settings.strata, settings.psu))
    by = " and ".join(name for name in (strata, psu) if name is not None)
    models = Models(
        *(case.original, case.names, weight),
        proper=synthesis.proper,
        seed=case.seed,
        regressions=is_on(settings, "regressions"),
        propensity=is_on(settings, "propensity"),
        workers=case.workers,
    )
    has_replicates = settings.replicates is not None
    return WeightedCounter(
        *(case.original, case.names, weight),
        groups=settings.table_groups,
        proper=synthesis.proper,
        redrawn=synthesis.redrawn,
        design=design_of(case.with_replicates, weight, strata, psu, settings.replicates),
        design_in_words="by replicate weights" if has_replicates else f"by {by}",
        models=models,
    )


def _sequences(case: Case) -> Collecting:
    original, frame = panel_of(case.original), _frame(case)
    return _seeing(panel_of, PanelCollector(original, frame, case.seed, attempts=Attempts()))


def _new_periods(case: Case) -> Collecting | None:
    if case.since is None:
        return None
    original, frame = panel_of(case.original), _frame(case)
    return _seeing(panel_of, NewPeriodsCounter(original, frame, case.since, case.seed))


_RISK: tuple[Measure, ...] = (
    Measure(
        "suda",
        "scenario",
        words="special uniques",
        options=SudaOptions,
        compute=_suda,
        kept=attrgetter("result"),
    ),
    Measure(
        "cap",
        "scenario",
        words="correct attribution probability, TCAP and CAP_u",
        compute=_cap,
        figures=(
            FigureKind(
                "cap",
                "CAP",
                "how often an intruder who has all datasets and knows the keys reads off the right "
                "target; {records} without a match count as 0",
                title="CAP, all datasets together",
                limit=Limit("mean CAP, non-matches zero"),
                summary={
                    "cap_original": "original",
                    "cap_baseline": "baseline",
                    "cap_chance": "chance",
                },
            ),
            FigureKind(
                "cap_undefined",
                "CAP of matches",
                "how often the intruder is right about the {records} whose keys are found",
                title="CAP of matches, all datasets together",
                limit=Limit("mean CAP of matches"),
            ),
            FigureKind(
                "cap_u",
                "CAP-U",
                "how often the intruder is right about {records} whose keys nobody shares",
                title="CAP of uniques, all datasets together",
                limit=Limit("mean CAP of statistical uniques, non-matches zero", some=True),
            ),
            FigureKind(
                "cap_special_uniques",
                "CAP of special uniques",
                "how often the intruder is right about the {records} that stand out most",
                title="CAP of special uniques, all datasets together",
                limit=Limit("mean CAP of special uniques, non-matches zero", some=True),
                checks=("suda",),
            ),
            FigureKind(
                "identity_disclosure",
                "identity disclosure",
                limit=Limit("mean CAP over the number of records with the same keys"),
            ),
            FigureKind(
                "cap_beyond",
                "CAP beyond a fresh sample",
                limit=Limit(
                    "mean CAP of one dataset minus that of a fresh sample of the population", low=-1
                ),
            ),
            FigureKind(
                "disco_beyond",
                "DiSCO beyond a fresh sample",
                limit=Limit("DiSCO minus that of a fresh sample of the population", low=-1),
            ),
        ),
    ),
    Measure(
        "regression on m",
        "scenario",
        result_field="regression",
        switch="cap",
        compute=lambda case: cap_regression(case.done["cap"]) if "cap" in case.done else None,
    ),
    Measure(
        "tcap",
        "scenario",
        switch="cap",
        # a class agrees on a value, never on an interval around each of its values
        compute=lambda case: (
            None
            if case.asked.tolerance
            else tcap(*case.pair, **case.by_class, tau=case.settings.tau)
        ),
        figures=(
            FigureKind(
                "tcap",
                "TCAP",
                "how often a guess is right where the synthetic {records} with the same keys agree "
                "on one target",
                title="TCAP, all datasets together",
                limit=Limit(
                    "TCAP: right among attributed records (not of all matched ones)",
                    some=True,
                    exact=True,
                ),
            ),
        ),
    ),
    Measure(
        "differential_confidentiality",
        "splits",
        result_field="differential",
        words="half split, CAP in and out of the fit",
        options=DifferentialOptions,
        compute=_split,
        gather=_splits,
        figures=(
            FigureKind(
                "differential_confidentiality",
                "differential confidentiality",
                "mean CAP of persons who were in the data minus that of persons who were not: the "
                "risk that the release adds; about 0 adds nothing, below 0 is as good as 0",
                ideal=0.0,
                limit=Limit("difference of mean CAP, fitted minus unseen", low=-1),
                summary={"differential_low": "low", "differential_high": "high"},
            ),
            FigureKind(
                "worst_group",
                "worst group",
                limit=Limit(
                    "lower end of the interval of that difference in the worst group",
                    low=-1,
                    judged="low",
                    option="differential_confidentiality.by",
                ),
            ),
        ),
    ),
    Measure(
        "identity",
        "scenario",
        words="UiO, UiS, UiOiS and repU",
        compute=lambda case: identity(*case.pair, **case.key_groups),
        figures=(
            FigureKind(
                "repu",
                "repU",
                "share of the original uniques on the keys that are unique in the synthetic data "
                "too",
                limit=Limit("repU, uniques that are unique in the synthetic data too"),
            ),
        ),
    ),
    Measure(
        "attribute",
        "scenario",
        words="Dorig, Dsyn, iS, DiS, DiSCO and DiSDiO",
        compute=lambda case: (
            None
            if case.asked.tolerance
            else attribute(*case.pair, **case.by_class, exclude=case.asked.exclude)
        ),
        figures=(
            FigureKind(
                "disco",
                "DiSCO",
                "share of the {records} whose target the synthetic data disclose, rightly",
                limit=Limit("DiSCO, disclosive and correct", exact=True),
            ),
        ),
    ),
    Measure(
        "determined",
        "scenario",
        switch=None,
        compute=lambda case: determined(case.original, **case.by_class),
    ),
    Measure(
        "unfamiliar",
        "scenario",
        switch=None,
        compute=lambda case: (
            None
            if case.asked.tolerance
            else unfamiliar(*case.pair, case.asked.names, case.asked.groups)
        ),
    ),
    Measure(
        "copied_uniques",
        "datasets",
        result_field="copied",
        words="unique records that are there again, against what a fresh sample could have",
        needs=NAMES,
        compute=lambda case: _copied(case, CopiedUniques),
        figures=(
            FigureKind(
                "copied_uniques",
                "copied uniques",
                limit=Limit(
                    "unique records that are there again, over the most that a fresh sample could "
                    "have: above 1 is a copy",
                    high=None,
                    some=True,
                ),
            ),
        ),
    ),
    Measure(
        "copied_uniques of keys and target",
        "scenario",
        result_field="copied",
        switch="copied_uniques",
        compute=_copied_keys,
        figures=(
            FigureKind(
                "copied_keys",
                "copied keys",
                limit=Limit(
                    "the same of keys and target",
                    high=None,
                    some=True,
                ),
            ),
        ),
    ),
    Measure(
        "replicated_uniques",
        "datasets",
        result_field="replicated",
        words="unique records that are there again, all variables alike",
        needs=NAMES,
        compute=lambda case: Replicates(case.original, case.names),
        figures=(
            FigureKind(
                "replicated_uniques",
                "replicated uniques",
                "share of the synthetic {records} that are unique and equal to a unique original "
                "{record} in every variable",
                limit=Limit("share of replicated unique records"),
            ),
        ),
    ),
    Measure(
        "rare_values",
        "datasets",
        words="levels and extremes of few persons that the synthetic data show",
        needs=NAMES,
        compute=_rare,
        result=RareValues,
        figures=(
            FigureKind("rare_levels", "rare levels"),
            FigureKind("rare_extremes", "rare extremes"),
        ),
    ),
    Measure(
        "replicated_careers",
        "datasets",
        result_field="careers",
        words="panels: careers of the data that are there again, period by period",
        needs=PANEL,
        compute=_careers,
        figures=(
            FigureKind(
                "replicated_careers",
                "careers of one person",
                "panels: share of the synthetic careers that equal, in every period, a career "
                "which exactly one person of the original has",
                limit=Limit(
                    "panels: share of synthetic careers that equal one which only one person has"
                ),
            ),
            FigureKind("careers_in_the_data", "careers in the data"),
        ),
    ),
    Measure(
        "repeated_households",
        "datasets",
        words="households: those of the data that are there again, with all members",
        needs=frozenset({"households", "names"}),
        compute=lambda case: HouseholdsSeen(_members(case), case.names),
        result=RepeatedHouseholds,
        figures=(
            FigureKind(
                "repeated_households",
                "repeated households",
                limit=Limit(
                    "households: share of synthetic ones that equal one which the data have once"
                ),
            ),
        ),
    ),
    Measure(
        "weight_disclosure",
        "datasets",
        words="what the survey weight gives away: rare weights, totals of few, a further key",
        needs=WEIGHT | NAMES,
        compute=lambda case: WeightsSeen(case.original, case.names, _weight(case), seed=case.seed),
        result=WeightsShown,
        figures=(
            FigureKind(
                "rare_weights",
                "rare weights",
                limit=Limit("share of synthetic records with a weight that few persons have"),
            ),
            FigureKind("totals_of_few", "totals of few"),
        ),
    ),
    Measure(
        "weight as a key",
        "scenario",
        switch="weight_disclosure",
        needs=WEIGHT,
        compute=lambda case: weight_as_key(*case.pair, case.asked, _weight(case)),
        result=WeightAsKey,
        figures=(
            FigureKind("weight_gain", "gain by the weight"),
            FigureKind("weight_matches", "matches by keys and weight", screen="files"),
        ),
    ),
    Measure(
        "trajectories",
        "datasets",
        words="panels: persons found by parts of their careers, and what is told of the rest",
        options=TrajectoryOptions,
        needs=PANEL,
        compute=_trajectories,
        result=Trajectories,
        figures=(
            FigureKind("unicity", "unicity of careers"),
            FigureKind("careers_told", "told by periods"),
            FigureKind("moves_told", "told by moves"),
        ),
    ),
    Measure(
        "trajectories of halves",
        "halves",
        switch=None,
        needs=PANEL,
        compute=_trajectories_of_halves,
        result=TrajectoryHalves,
        figures=(
            FigureKind(
                "careers_beyond",
                "told by periods of the fitted",
                "panels: how much more of a career an intruder who knows a few periods of it reads "
                "off of persons who were in the data than of others; about 0 adds nothing, below 0 "
                "is as good as 0",
                title="careers told by a few periods, fitted minus unseen",
                ideal=0.0,
                checks=("trajectories", "differential_confidentiality"),
                limit=Limit(
                    "panels: lower end of the interval of what a few periods tell of careers, "
                    "fitted minus unseen",
                    low=-1,
                    judged="low",
                ),
            ),
            FigureKind(
                "moves_beyond",
                "told by moves of the fitted",
                "panels: the same of an intruder who knows in which periods somebody moves",
                title="careers told by moves, fitted minus unseen",
                ideal=0.0,
                checks=("trajectories", "differential_confidentiality"),
                limit=Limit(
                    "panels: lower end of the interval of what the periods of moves tell of "
                    "careers, fitted minus unseen",
                    low=-1,
                    judged="low",
                ),
            ),
        ),
    ),
    Measure(
        "near_verbatim",
        "halves",
        words="persons in the data to whom synthetic records point, beside persons held out",
        needs=NAMES,
        stacks=True,
        compute=lambda case: near_verbatim(case.halves, case.drawn, seed=case.seed),
        result=NearVerbatim,
        figures=(
            FigureKind(
                "near_verbatim",
                "near-verbatim persons",
                "share of the persons in the data to whom a synthetic {record} points, above the "
                "same share of persons held out; 0 is a new sample",
                ideal=0.0,
                limit=Limit("share of near-verbatim persons above the holdout's", low=-1),
            ),
            FigureKind(
                "membership",
                "membership, relative F1",
                limit=Limit("F1 score of guessed membership, relative to a guess", low=-2),
            ),
        ),
    ),
    Measure(
        "guesses",
        "halves",
        words="values of persons in the data that are guessed right, beside persons held out",
        needs=NAMES,
        stacks=True,
        compute=_guesses,
        result=Guesses,
        figures=(
            FigureKind(
                "guesses",
                "guessed attributes",
                limit=Limit(
                    "share of persons with a guessed value above the holdout's",
                    low=-1,
                    judged="low",
                ),
            ),
        ),
    ),
    Measure(
        "nearest",
        "halves",
        words="share of records nearer to the fitted half",
        compute=_nearest,
        figures=(
            FigureKind(
                "nearer_share",
                "share nearer to the fitted half",
                "share of the synthetic {records} that are nearer to a person who was in the data "
                "than to one who was not; 0.5 is none",
                ideal=0.5,
                limit=Limit("share of records nearer to the fitted half"),
            ),
        ),
    ),
    Measure(
        "memory",
        "halves",
        switch=None,
        needs=frozenset({"models"}),
        compute=_memory,
        result=Memory,
        figures=(
            FigureKind("memory", "memory"),
            FigureKind("largest_memory", "largest memory", screen=""),
        ),
    ),
    Measure(
        "inference ({})",
        "datasets",
        result_field="inference",
        switch="inference",
        words="inference about a sensitive variable from public ones",
        options=Question,
        several=True,
        items=lambda case: [(item.sensitive, item) for item in case.settings.inference],
        compute=_inference,
        figures=(
            FigureKind(
                "revealed_share",
                "revealed share",
                "share of a sensitive variable that public ones and the synthetic data reveal",
                limit=Limit("share of a sensitive variable revealed"),
            ),
            FigureKind(
                "auc",
                "AUC",
                "how well public variables and the synthetic data rank who has the sensitive "
                "value; 0.5 is chance",
                title="AUC of the sensitive variable",
                ideal=0.5,
                limit=Limit("area under the ROC curve of a sensitive variable"),
            ),
            FigureKind("guessed_right", "guessed right"),
            FigureKind(
                "probability_above",
                "probability above the lowest threshold",
                limit=Limit(
                    "share of all whose true sensitive value has a probability above the lowest "
                    "of the thresholds"
                ),
            ),
        ),
    ),
    Measure(
        "attacks",
        "halves",
        words="singling out, linkability, inference",
        options=AttackOptions,
        needs=SCENARIO,
        compute=_attacks,
        figures=(
            FigureKind(
                "attack_risk",
                "risk",
                "the most successful of the attacks, above its success on persons who were not in "
                "the data",
                title="largest risk of an attack",
                limit=Limit("largest risk of an attack"),
            ),
        ),
    ),
)

_UTILITY: tuple[Measure, ...] = (
    Measure(
        "tables",
        "datasets",
        switch=None,
        needs=NAMES,
        compute=tables,
        figures=(
            FigureKind(
                "mean_two_way",
                "mean two-way S_pMSE",
                "how far the tables of all pairs of variables are from the original's, on average; "
                "a right synthesis has about 1, a proper one and a fresh sample of the population "
                "1 + k/n (k synthetic, n original {records})",
                limit=Limit("mean two-way S_pMSE", high=None),
                checks=("two_way",),
            ),
            FigureKind(
                "worst_two_way",
                "largest two-way S_pMSE",
                "the same for the pair of variables that is farthest off",
                limit=Limit("largest two-way S_pMSE", high=None),
                checks=("two_way",),
            ),
            FigureKind(
                "worst_one_way",
                "largest one-way S_pMSE",
                "the same for the variable whose distribution is farthest off",
                limit=Limit("largest one-way S_pMSE", high=None),
                checks=("one_way",),
            ),
            FigureKind("roe_two_way", "ROE (two-way)", summary={"roe_two_way": "value"}),
            FigureKind("roe_one_way", "ROE (one-way)", screen="files"),
        ),
    ),
    Measure(
        "distributions",
        "datasets",
        switch="one_way",
        words="distribution of every variable",
        needs=NAMES,
        compute=lambda case: DistributionCounter(case.original, case.names),
    ),
    Measure(
        "pairs",
        "datasets",
        switch="two_way",
        words="S_pMSE of every pair of variables",
        needs=NAMES,
        compute=pair_tables,
    ),
    Measure(
        "conditional_tables",
        "datasets",
        words="S_pMSE of the worst pairs within the groups of a third variable",
        needs=NAMES,
        compute=conditional_tables,
        result=ConditionalTables,
        figures=(
            FigureKind("conditional_mean", "mean conditional S_pMSE"),
            FigureKind("conditional_worst", "largest conditional S_pMSE", screen="files"),
        ),
    ),
    Measure(
        "household_pairs",
        "datasets",
        words="households: tables of what two members have, and who lives together",
        needs=frozenset({"households", "names"}),
        compute=lambda case: HouseholdPairCounter(
            _members(case), case.names, groups=case.settings.table_groups, seed=case.seed
        ),
        result=HouseholdPairs,
        figures=(
            FigureKind(
                "household_pairs",
                "pairs in households",
                limit=Limit(
                    "households: mean S_pMSE of tables of two members over a bootstrap's",
                    high=None,
                ),
            ),
            FigureKind(
                "household_pairs_worst",
                "worst pair in households",
                limit=Limit(
                    "households: largest S_pMSE of a table of two members over a bootstrap's",
                    high=None,
                ),
            ),
            FigureKind("household_composition", "composition of households"),
        ),
    ),
    Measure(
        "equivalent_sample",
        "datasets",
        words="share of the original's records that tell as much of all pairs",
        needs=NAMES,
        compute=lambda case: SampleScale(
            case.original,
            case.names,
            groups=case.settings.table_groups,
            proper=case.synthesis.proper,
            seed=case.seed,
        ),
        result=EquivalentSample,
        figures=(
            FigureKind("equivalent_sample", "as good as a sample of"),
            FigureKind("k_marginal", "k-marginal", screen="files"),
        ),
    ),
    Measure(
        "unseen",
        "halves",
        words="pairs, impossible records, tails and spread beside records held out",
        needs=NAMES,
        compute=lambda case: unseen(
            case.halves, case.drawn, groups=case.settings.table_groups, seed=case.seed
        ),
        result=Unseen,
        figures=tuple(FigureKind(*names) for names in LOOK_TITLES.items()),
    ),
    Measure(
        "weighted_estimates",
        "datasets",
        words="shares, tables of pairs, means and totals by the survey weight and without it",
        needs=NAMES | WEIGHT,
        compute=_weighted,
        result=WeightedEstimates,
        figures=(
            FigureKind("weighted_two_way", "weighted two-way distance"),
            FigureKind("weighted_s_pmse", "weighted two-way S_pMSE"),
            FigureKind("weighted_means", "weighted means off"),
            FigureKind("weighted_beyond", "weighted coefficients off"),
            FigureKind("weighted_pmse_ratio", "weighted pMSE ratio", screen="files"),
            FigureKind("weight_total", "sum of weights", screen="files"),
        ),
    ),
    Measure(
        "regressions",
        "datasets",
        words="each number and each variable of two levels regressed on the others",
        needs=NAMES,
        compute=lambda case: RegressionCounter(
            case.original, case.names, proper=case.synthesis.proper, seed=case.seed
        ),
        result=Regressions,
        figures=(
            FigureKind(
                "regressions_beyond",
                "coefficients off",
                "share of the coefficients of regressions of one variable on the others that lie "
                "more than 1.96 of the original's standard errors off; a right synthesis of the "
                "original's size has 0.05, a proper one and a fresh sample 0.166",
                limit=Limit("share of regression coefficients off by more than 1.96 errors"),
            ),
            FigureKind(
                "regressions_error",
                "mean error of coefficients",
                "how far these coefficients are off on average, in the original's standard errors; "
                "a right synthesis of the original's size has 0.8, a proper one and a fresh sample "
                "1.13",
                limit=Limit("mean error of regression coefficients in standard errors", high=None),
            ),
            FigureKind("regressions_overlap", "CI overlap of regressions"),
            FigureKind("regressions_worst", "largest error of a coefficient", screen="files"),
        ),
    ),
    Measure(
        "propensity score by {}",
        "datasets",
        result_field="propensity",
        switch="propensity",
        words="propensity scores",
        options=PropensityOptions,
        items=lambda case: [(model, model) for model in case.settings.propensity.models],
        needs=NAMES,
        compute=propensity,
        figures=(
            FigureKind(
                "pmse_ratio",
                "pMSE ratio",
                "how well a model tells synthetic from original {records}, over what is expected "
                "by chance, of the model where it is largest; below 1 is as good as 1",
                ideal=1.0,
                limit=Limit(
                    "pMSE over its expectation, of the model where it is largest", high=None
                ),
            ),
            FigureKind("pmse", "pMSE", screen="files"),
            FigureKind("standardised_pmse", "standardised pMSE", screen="files"),
        ),
    ),
    Measure(
        "full table",
        "datasets",
        result_field="distance",
        switch="full_table",
        words="Jensen-Shannon distance of the table of all variables",
        needs=NAMES,
        compute=distances,
        figures=(FigureKind("jensen_shannon_distance", "Jensen-Shannon distance", screen="files"),),
    ),
    Measure(
        "sequences",
        "datasets",
        result_field="panel",
        words="panels: careers, and the histories of all variables",
        needs=PANEL,
        compute=_sequences,
        figures=(
            FigureKind(
                "sequence_ratio",
                "careers: largest ratio to the noise floor",
                "panels: how far the careers are from the original's, over what bootstraps of its "
                "persons give, where it is most; 1 is the level of a fresh sample, below 1 is as "
                "good as 1",
                title="careers: largest distance over noise",
                ideal=1.0,
                limit=Limit("panels: largest distance of careers over its noise floor", high=None),
            ),
        ),
    ),
    Measure(
        "new periods",
        "datasets",
        switch="sequences",
        needs=PANEL,
        compute=_new_periods,
        result=NewPeriods,
        figures=(
            FigureKind("new_transitions", "new transitions: ratio to the noise floor"),
            FigureKind("new_steps", "new transitions given the past: ratio to the noise floor"),
        ),
    ),
    Measure(
        "fit {}",
        "datasets",
        result_field="fits",
        switch="fits",
        words="models that are fitted to original and synthetic data",
        options=FitRequest,
        several=True,
        items=requested_fits,
        compute=fit,
        figures=(FigureKind("mean_ci_overlap", "mean CI overlap"),),
    ),
)


_LISTS: tuple[tuple[Axis, tuple[Measure, ...]], ...] = (("risk", _RISK), ("utility", _UTILITY))


def _entry(measure: Measure, axis: Axis) -> Measure:
    """Return an entry with what follows from its family and from the list in which it stands."""
    figures = (replace(kind, axis=axis, title=kind.title or kind.name) for kind in measure.figures)
    needs = measure.needs | _NEEDS.get(measure.family, frozenset())
    return replace(measure, axis=axis, needs=needs, figures=tuple(figures))


MEASURES: Mapping[str, Measure] = {
    measure.key: _entry(measure, axis) for axis, measures in _LISTS for measure in measures
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

SUMMARY: Mapping[str, tuple[FigureKind, str]] = {
    key: (kind, of) for kind in FIGURES.values() for key, of in kind.in_summary.items()
}
"""Keys of the summary: the figure, and the field of it."""


def axes(axis: Axis) -> tuple[FigureKind, ...]:
    """Return the figures of risk or of utility by which runs are compared.

    Examples
    --------
    >>> axes("risk")[0].key, axes("utility")[0].key
    ('cap', 'mean_two_way')
    """
    return tuple(kind for kind in AXES.values() if kind.axis == axis)


def axis_problems(risk: str | None, utility: str | None) -> list[str]:
    """Return a problem for each name that is no figure of its axis, with those there are."""
    wanted: tuple[tuple[Axis, str | None], ...] = (("risk", risk), ("utility", utility))
    return [
        f"--{axis} {key}: is no figure of {axis}; choose one of "
        f"{', '.join(kind.key for kind in axes(axis))}"
        for axis, key in wanted
        if key is not None and key not in {kind.key for kind in axes(axis)}
    ]
