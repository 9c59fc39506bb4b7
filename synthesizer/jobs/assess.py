"""The disclosure risk of any two data sets, whoever made the synthetic ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from synthesizer.data.codes import ColumnCoder, Groups, JointCoder
from synthesizer.data.errors import DataError, SynthesizerError
from synthesizer.data.guessing import Declaration
from synthesizer.data.pairs import (
    Data,
    as_table,
    as_tables,
    check_comparable,
    check_keys,
    column_names,
)
from synthesizer.data.panel.view import PersonView
from synthesizer.data.progress import Listener, silent
from synthesizer.data.randomness import MAX_SEED, Seed
from synthesizer.data.table import Table
from synthesizer.measures.figure import Attempts
from synthesizer.measures.results import RiskResult
from synthesizer.measures.risk.attacks import AttackResult, attacks
from synthesizer.measures.risk.differential import (
    DifferentialResult,
    Grouping,
    compare_halves,
    gather,
    with_cut_points,
)
from synthesizer.measures.risk.dominance import Exclusion, check_exclusions
from synthesizer.measures.risk.halves import control_run
from synthesizer.measures.risk.identity import key_counts
from synthesizer.measures.risk.inference import InferenceResult, inference
from synthesizer.measures.risk.nearest import NearestResult, nearer_share
from synthesizer.measures.risk.replicated import ReplicatedUniques, replicated_uniques
from synthesizer.measures.risk.scenario import Scenario, Tolerance
from synthesizer.measures.risk.scenario_risk import (
    Measures,
    ScenarioRisk,
    scenario_risk,
    unfamiliar,
)
from synthesizer.measures.risk.suggest import suggest
from synthesizer.plan.columns import values_in_periods

# What an assessment starts from: the request, the data as tables, everything wrong with both.


@dataclass(frozen=True, kw_only=True)
class Question:
    """A sensitive variable that might be inferred from public ones.

    Parameters
    ----------
    sensitive : str
        The sensitive variable.
    public : tuple of str
        Variables that anybody can look up.
    positive : str or None
        The class that is looked for.
    baseline : tuple of str
        Public variables whose tables with the sensitive one are published.
    groups : mapping of str to int or sequence of float
        Quantile groups or cut points of numeric variables.
    """

    sensitive: str
    public: tuple[str, ...]
    positive: str | None = None
    baseline: tuple[str, ...] = ()
    groups: Mapping[str, Groups] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Every variable that it needs."""
        return (self.sensitive, *self.public)


@dataclass(frozen=True, kw_only=True)
class Request:
    """Everything that is asked about two data sets; see `synthesizer.jobs.assess.assess`."""

    scenarios: tuple[Scenario, ...]
    questions: tuple[Question, ...] = ()
    by: str | None = None
    units: str | None = None
    attacks: bool = False
    measures: Measures = field(default_factory=Measures)
    seed: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Variables that original and synthetic data must have."""
        scenarios = [name for part in self.scenarios for name in part.names]
        questions = [name for part in self.questions for name in part.names]
        return tuple(dict.fromkeys([*scenarios, *questions]))

    @property
    def halves_names(self) -> tuple[str, ...]:
        """Further variables that original and control must have."""
        return tuple(name for name in (self.by, self.units) if name is not None)

    def problems(self, *, has_control: bool) -> Iterator[str]:
        """Yield what is wrong with it whatever the data are."""
        if not 0 <= self.seed <= MAX_SEED:
            yield f"seed ({self.seed}) must be in 0 to 2**63 - 1"
        yield from self.measures.problems
        asked = {"by": self.by, "units": self.units, "attacks": "" if self.attacks else None}
        for what, value in asked.items():
            if value is not None and not has_control:
                yield (
                    f"{what} needs a control file, records that were kept out of the fit: name one"
                )


@dataclass(frozen=True, eq=False)
class Files:
    """The data as tables; no control where there is none."""

    original: Table
    synthetic: tuple[Table, ...]
    control: Table | None


def read_files(
    original: Data,
    synthetic: Sequence[Data],
    control: Data | None,
    request: Request,
    declared: Mapping[str, Declaration] | None,
) -> Files:
    """Return the variables that are asked about as tables.

    Raises
    ------
    DataError
        With every problem of the request's names and of these variables in all files.
    """
    problems = [*request.problems(has_control=control is not None)]
    problems += _name_problems(original, synthetic, control, request)
    names = [*request.names, *request.halves_names]
    table: Table | None = None
    made: tuple[Table, ...] = ()
    kept_out: Table | None = None
    try:
        table, made = as_tables(original, synthetic, names, declared)
        if control is not None:
            persons = () if request.units is None else (request.units,)
            kept_out = as_tables(table, control, names, persons=persons)[1][0]
    except DataError as error:
        # a control file is read like a synthetic one, and must not be called so
        told = [p.replace("synthetic dataset 1", "control") for p in error.problems]
        problems += error.problems if table is None else told
    if kept_out is not None and request.units in kept_out:
        for what, part in (("original", table), ("control file", kept_out)):
            if part is not None and not part[str(request.units)].is_observed.any():
                problems.append(f"units: column {request.units!r} of the {what} is empty")
    if table is not None:
        problems += _table_problems(table, made, request)
    if problems or table is None:
        raise DataError(dict.fromkeys(problems))
    return Files(table, made, kept_out)


def _name_problems(
    original: Data, synthetic: Sequence[Data], control: Data | None, request: Request
) -> Iterator[str]:
    """Yield names that files lack, whatever else is wrong with them."""
    for name in (*request.names, *request.halves_names):
        if not isinstance(original, Data) or name not in column_names(original):
            views = isinstance(original, Data) and values_in_periods(name, column_names(original))
            yield views or f"column {name!r} is not in the original: name one of its columns"
            continue
        if name in request.names:
            for number, data in enumerate(synthetic, start=1):
                if isinstance(data, Data) and name not in column_names(data):
                    yield f"column {name!r} is not in synthetic dataset {number}: generate it too"
        if control is not None and name not in column_names(control):
            yield f"column {name!r} is not in the control file: add it"


def _table_problems(table: Table, made: Sequence[Table], request: Request) -> list[str]:
    known = [name for name in request.names if name in table]
    problems = [*_problems(partial(check_comparable, table, made, known))]
    for scenario in request.scenarios:
        if not set(scenario.names) <= set(table):
            continue
        target: dict[str, Any] = {"keys": scenario.keys, "target": scenario.target}
        problems += _problems(partial(check_keys, table, **target, groups=scenario.groups))
        if scenario.exclude:
            tables = [table, *made]
            problems += _problems(
                partial(check_exclusions, tables, **target, exclude=scenario.exclude)
            )
    return problems


def _problems(check: Callable[[], object]) -> tuple[str, ...]:
    try:
        check()
    except DataError as error:
        return error.problems
    return ()


def answered(files: Files, questions: Sequence[Question]) -> tuple[InferenceResult, ...]:
    """Answer the questions; raises DataError with every problem of all of them."""
    results: list[InferenceResult] = []
    problems: list[str] = []
    for question in questions:
        try:
            results.append(
                inference(
                    files.original,
                    files.synthetic,
                    sensitive=question.sensitive,
                    public=question.public,
                    positive=question.positive,
                    baseline=question.baseline,
                    groups=question.groups,
                )
            )
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(dict.fromkeys(problems))
    return tuple(results)


def sound_names(
    data: Data, names: Sequence[str], declared: Mapping[str, Declaration] | None
) -> tuple[str, ...]:
    """Return those of the variables that can be read."""
    try:
        as_table(data, names, declared)
    except SynthesizerError:
        return tuple(name for name in names if _is_sound(data, name, declared))
    return tuple(names)


def _is_sound(data: Data, name: str, declared: Mapping[str, Declaration] | None) -> bool:
    try:
        as_table(data, [name], declared)
    except SynthesizerError:
        return False
    return True


# What should be known of the files of an assessment before its figures are read.

SAME_PEOPLE = 0.5
"""Share of the control records found in the original above which there is no control."""


def control_notes(files: Files) -> list[str]:
    """Say that control records seem to be those of the original.

    A fresh record equals a unique one about as often as records have exactly one twin (Good and
    Turing's estimate); far more often is no chance. Where most are there, it is no control.
    """
    if files.control is None or not len(files.original):
        return []
    (counts,) = replicated_uniques(files.original, files.control).datasets
    twins = float((key_counts(files.original, files.original.names) == 2).mean())
    expected = twins * counts.n
    if counts.replicated <= 2 * expected + 5 * (expected + 1) ** 0.5:
        return []
    found = int((JointCoder(files.original, files.original.names).encode(files.control) >= 0).sum())
    told = (
        f"{found:,} of {counts.n:,} control records are in the original too, alike in every "
        "variable: a control must hold other people, or it shows no risk"
    )
    if found > SAME_PEOPLE * counts.n:
        raise DataError(told)
    return [told]


def unit_notes(files: Files, request: Request) -> list[str]:
    """Say that persons are named alike in the original and in the control."""
    name = request.units
    if name is None or files.control is None:
        return []
    coder = ColumnCoder.fit(files.original[name])
    column = files.control[name]
    both = np.unique(coder.encode(column)[column.is_observed])
    count = int((both >= 0).sum())
    if not count:
        return []
    return [
        f"{count:,} values of {name!r} are in the original and in the control: if they are the "
        "same persons, take them out of the control; they count as two"
    ]


def unlike_notes(files: Files) -> list[str]:
    """Say that categories are written differently: whole records then never agree."""
    coded = [column.name for column in files.original.columns if column.is_coded]
    return [
        f"{share:.0%} of the synthetic records have a value of {name!r} that the original lacks: "
        "check that both files write it alike"
        for name, share in unfamiliar(files.original, files.synthetic, coded).items()
    ]


def assess(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    keys: Sequence[str] | None = None,
    target: str | None = None,
    groups: Mapping[str, Groups] | None = None,
    tolerance: Tolerance | None = None,
    exclude: Sequence[Exclusion] = (),
    scenarios: Sequence[Scenario] = (),
    questions: Question | Sequence[Question] = (),
    control: Data | None = None,
    by: str | None = None,
    units: str | None = None,
    with_attacks: bool = False,
    measures: Measures | None = None,
    declared: Mapping[str, Declaration] | None = None,
    seed: int = 0,
    listener: Listener = silent,
) -> RiskResult:
    """Compute every risk measure of synthetic data against the original.

    Parameters
    ----------
    original : DataFrame, Table or RawTable
        Confidential records that the synthetic data were made from; the persons of a panel where
        all data are `PersonView`.
    synthetic : one or a sequence of them
        Synthetic datasets.
    keys, target : optional
        What an intruder knows and seeks; suggested from the original when absent.
    groups, tolerance, exclude
        See `synthesizer.measures.risk.scenario.Scenario`.
    scenarios : sequence of Scenario
        Further keys and targets.
    questions : Question or sequence of Question
        Inference about sensitive variables from public ones.
    control : DataFrame, Table or RawTable, optional
        Records of the same population that the synthetic data were not made from: they show what
        is risk and what is knowledge of the population. Needed for differential
        confidentiality, nearest records and attacks.
    by : str, optional
        Variable among whose groups the worst is looked for; needs ``control``.
    units : str, optional
        Variable that names the person of each record where the data are a panel: persons count,
        not records; needs ``control``.
    with_attacks : bool
        Whether to attack by singling out, linkability and inference; needs ``control``.
    measures : Measures, optional
        Families of measures and their settings.
    declared : mapping of str to Declaration, optional
        Kinds and missing codes of variables, inferred where absent.
    seed : int
        Decides everything that is random.
    listener : Listener, optional
        Is told about work that may take long.

    Raises
    ------
    DataError
        With every problem of the data and the arguments.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"town": list("aabbcc"), "ill": ["no", "no", "yes"] * 2})
    >>> made = people.iloc[:3]
    >>> result = assess(people, made, keys=["town"], target="ill")
    >>> result.main.cap.row(1).zero
    0.5
    """
    several = [synthetic] if isinstance(synthetic, Data) else list(synthetic or ())
    if isinstance(keys, str):
        raise DataError(f"keys must be a list of names, not one text: write [{keys!r}]")
    first = Scenario(
        keys=tuple(keys or ()),
        target=target or "",
        groups=groups or {},
        tolerance=tolerance,
        exclude=tuple(exclude),
        reason="as asked for",
    )
    if keys is None or target is None:
        first = _suggested(original, first, keys, target, declared)
    request = Request(
        scenarios=(first, *scenarios),
        questions=(questions,) if isinstance(questions, Question) else tuple(questions),
        by=by,
        units=units,
        attacks=with_attacks,
        measures=measures or Measures(),
        seed=seed,
    )
    files = read_files(original, several, control, request, declared)
    inferred = answered(files, request.questions)
    whole, notes = _whole(original, several, control, declared)
    notes += [*control_notes(whole), *unit_notes(files, request), *unlike_notes(whole)]
    attempts = Attempts()
    scenario_risks = tuple(
        _scenario_risk(files, scenario, request, attempts, listener)
        for scenario in request.scenarios
    )
    return RiskResult(
        scenarios=scenario_risks,
        inference=inferred,
        replicated=attempts.of("replicated_uniques", partial(_replicated, whole, request)),
        nearest=attempts.of("nearest", partial(_nearest, whole, request)),
        attacks=attempts.of("attacks", partial(_attacks, whole, request)),
        failed=attempts.failed,
        notes=tuple(notes),
        units="persons" if isinstance(original, PersonView) else "records",
    )


def _suggested(
    original: Data,
    scenario: Scenario,
    keys: Sequence[str] | None,
    target: str | None,
    declared: Mapping[str, Declaration] | None,
) -> Scenario:
    names = sound_names(original, column_names(original), declared)
    table = as_table(original, names, declared, ids=False)
    found = suggest(table, keys=keys, target=target)
    if not found.keys or found.target is None:
        raise DataError("no keys and target could be found in the original: name them")
    return replace(scenario, keys=found.keys, target=found.target, reason=found.reason)


def _scenario_risk(
    files: Files, scenario: Scenario, request: Request, attempts: Attempts, listener: Listener
) -> ScenarioRisk:
    compared = attempts.of(
        f"differential_confidentiality ({scenario.label})",
        partial(_differential, files, scenario, request),
    )
    return scenario_risk(
        files.original, files.synthetic, scenario, request.measures, attempts, compared, listener
    )


def _differential(files: Files, scenario: Scenario, request: Request) -> DifferentialResult | None:
    if files.control is None or not request.measures.differential:
        return None
    run = control_run(files.original, files.control, files.synthetic, request.units)
    fixed = with_cut_points(scenario, files.original)
    grouping = None if request.by is None else Grouping.of(files.original, request.by)
    return gather(fixed, [compare_halves(run, fixed, grouping)], request.by)


def _whole(
    original: Data,
    synthetic: Sequence[Data],
    control: Data | None,
    declared: Mapping[str, Declaration] | None,
) -> tuple[Files, list[str]]:
    """Return the columns that all files have and that can be read, and say which were left out.

    Identifiers are left out too: they are never alike.
    """
    others = [*synthetic, *([] if control is None else [control])]
    every = column_names(original)
    shared = [n for n in every if all(n in column_names(o) for o in others)]
    sound = sound_names(original, shared, declared)
    table = as_table(original, sound, declared, ids=False)
    table = table.select(name for name in sound if name in table)
    named = set(table)
    table, made = _alike(table, others)
    told = {
        "not in all files": set(every) - set(shared),
        "unreadable": set(shared) - set(sound),
        "of another kind in another file": named - set(table),
    }
    notes = [
        f"whole records are compared without {', '.join(sorted(names))} ({why})"
        for why, names in told.items()
        if names
    ]
    return Files(table, made[: len(synthetic)], None if control is None else made[-1]), notes


def _alike(table: Table, others: Sequence[Data]) -> tuple[Table, tuple[Table, ...]]:
    """Return the columns that can be read alike in every file, of the table and of the others."""
    try:
        return as_tables(table, others, table.names)
    except DataError:
        names = [n for n in table if all(_is_comparable(table, other, n) for other in others)]
    return as_tables(table.select(names), others, names)


def _is_comparable(table: Table, other: Data, name: str) -> bool:
    try:
        as_tables(table.select([name]), other, [name])
    except DataError:
        return False
    return True


def _replicated(files: Files, request: Request) -> ReplicatedUniques | None:
    if not request.measures.replicated or not len(files.original):
        return None
    return replicated_uniques(files.original, files.synthetic)


def _nearest(files: Files, request: Request) -> NearestResult | None:
    if files.control is None or not request.measures.nearest or not len(files.original):
        return None
    rng = Seed(request.seed).generator("nearest")
    return nearer_share(files.original, files.control, files.synthetic, rng=rng)


def _attacks(files: Files, request: Request) -> AttackResult | None:
    if files.control is None or not request.attacks:
        return None
    main = request.scenarios[0]
    settings: dict[str, Any] = {"keys": main.keys, "target": main.target, "groups": main.groups}
    rng = Seed(request.seed).generator("attacks")
    settings["n_attacks"] = request.measures.attempts
    return attacks(files.original, files.control, files.synthetic, **settings, rng=rng)
