"""The disclosure risk and the utility of any two data sets, whoever made the synthetic ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from pydantic import ValidationError

from synthesizer.data.codes import ColumnCoder, Groups, JointCoder
from synthesizer.data.errors import (
    DataError,
    ExpressionError,
    Problems,
    SynthesizerError,
    did_you_mean,
    in_other_case,
    plural,
)
from synthesizer.data.guessing import Declaration, Declared, declarations_of
from synthesizer.data.options import public, sentences
from synthesizer.data.pairs import (
    Data,
    as_table,
    as_tables,
    check_comparable,
    check_keys,
    column_names,
    written_otherwise,
)
from synthesizer.data.panel.households import follows
from synthesizer.data.randomness import AnySeed, Seed, seeded
from synthesizer.data.table import Kind, Table
from synthesizer.data.workers import Listener, counted, silent, worker_problems
from synthesizer.measures.checks import Checks
from synthesizer.measures.results import CheckResults, RiskResult
from synthesizer.measures.risk.attribute import check_exclusions
from synthesizer.measures.risk.copied import copied_uniques
from synthesizer.measures.risk.near_verbatim import FEWEST
from synthesizer.measures.risk.public_inference import check_inference
from synthesizer.measures.risk.scenario import Exclusion, Question, Scenario, Tolerance
from synthesizer.measures.risk.scenario_risk import unfamiliar
from synthesizer.measures.risk.suggest import NO_SCENARIO, suggest
from synthesizer.measures.settings import CheckSettings
from synthesizer.measures.utility.suite import Synthesis, UtilityResult, person_of_rows
from synthesizer.plan.arrange import ComparedData
from synthesizer.plan.inputs import values_in_periods

Settings = CheckSettings | Mapping[str, Any]
"""Options of checks, or the same by name."""


def sound_settings(
    settings: Settings | None, **options: Any
) -> tuple[CheckSettings, tuple[str, ...]]:
    """Return settings with options, and what is wrong with them; what is wrong is left out."""
    content = dict(settings) if isinstance(settings, Mapping) else {}
    base = settings if isinstance(settings, CheckSettings) else CheckSettings()
    content |= {name: value for name, value in options.items() if value is not None}
    try:
        return base.with_options(**content), ()
    except ValidationError as error:
        items = error.errors(include_url=False)
    faults = tuple(sentences(CheckSettings, content, items))
    faulty = {str(item["loc"][0]) for item in items if item["loc"]} or set(content)
    sound = {name: value for name, value in content.items() if name not in faulty}
    return sound_settings(base, **sound)[0], faults


def without_control(**options: Any) -> Iterator[str]:
    """Say which options are named that need a control file, where there is none."""
    for what, value in options.items():
        if value:
            yield f"{what} needs a control file, records that were kept out of the fit: name one"


@public
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
    with_attacks: bool | None = None,
    settings: Settings | None = None,
    declared: Declared | None = None,
    seed: AnySeed = 0,
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
    with_attacks : bool, optional
        Whether to attack by singling out, linkability and inference; needs ``control``, and is done
        with it by default.
    settings : CheckSettings or mapping, optional
        What else is computed, and how; the keys are those under ``checks:`` of a configuration.
    declared : mapping of str to mapping or Declaration, optional
        Kinds and missing codes of variables, such as ``{"income": {"missing": ["-8"]}}``; inferred
        where absent.
    seed : int or Seed
        Decides everything that is random.
    listener : Listener, optional
        Is told about work that may take long.

    Returns
    -------
    RiskResult
        By scenario and of whole records: ``main.cap``, ``attacks`` and others; ``to_frame()`` has
        every figure. Rates are in [0, 1]; what could not be computed stands in ``failed``.

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
    asked = (questions,) if isinstance(questions, Question) else tuple(questions)
    halves = {name: value for name, value in (("by", by), ("units", units)) if value is not None}
    sound, faults = sound_settings(
        settings,
        inference=[question.model_dump() for question in asked] or None,
        differential_confidentiality=halves or None,
        attacks=None if with_attacks is None else {"enabled": with_attacks},
    )
    main = sound.scenario(reason="as asked for")
    main = replace(
        main,
        keys=main.keys if keys is None else tuple(keys),
        target=target or main.target,
        groups=groups or main.groups,
        tolerance=tolerance or main.tolerance,
        exclude=tuple(exclude) or main.exclude,
    )
    if control is None:
        faults = (*without_control(**halves, attacks=with_attacks), *faults)
    return risk_of(
        _compared(original, synthetic, control, declared),
        sound,
        (main, *(part.scenario() for part in sound.scenarios), *scenarios),
        seed=seed,
        listener=listener,
        problems=faults,
    ).risk


@public
def evaluate(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    names: Sequence[str] | None = None,
    control: Data | None = None,
    settings: Settings | None = None,
    synthesis: Synthesis | None = None,
    declared: Declared | None = None,
    seed: AnySeed = 0,
    n_jobs: int = 1,
    listener: Listener = silent,
) -> UtilityResult:
    """Compute every utility measure of synthetic data against the original.

    Parameters
    ----------
    original : DataFrame, Table or RawTable
        Confidential records, shape (n, p).
    synthetic : the same, or sequence of them
        Synthetic datasets of any sizes.
    names : sequence of str, optional
        Variables that must be compared. When absent, all that both sides have and that can be
        compared; the result says which are left out and why.
    control : DataFrame, Table or RawTable, optional
        Records of the same population that the synthetic data were not made from: use is judged
        beside them.
    settings : CheckSettings or mapping, optional
        What is computed, and how; the keys are those under ``checks:`` of a configuration. Models
        of researchers are named there (``fits``).
    synthesis : Synthesis, optional
        How the data were made, which decides what is expected of them; all values drawn with fixed
        parameters when absent.
    declared : mapping of str to Declaration, optional
        Kinds and missing codes of variables; inferred from the original where absent.
    seed : int or Seed
        Decides the permutations of ``cart`` and the samples of large files, in [0, 2**63).
    n_jobs : int
        Threads of the trees; they do not change the result.
    listener : Listener, optional
        Is told about the progress.

    Returns
    -------
    UtilityResult
        With ``figures`` and ``failed`` (measures and variables that could not be compared).

    Raises
    ------
    DataError
        For settings out of range, named variables that cannot be compared, or when no variable
        can be.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "f", "m", "m"], "age": [30, 41, 41, 52]})
    >>> result = evaluate(people, [people, people])
    >>> [(figure.name, figure.value) for _, figure in result.figures][:2]
    [('mean one-way S_pMSE', 0.0), ('largest one-way S_pMSE', 0.0)]
    """
    sound, faults = sound_settings(settings)
    results = utility_of(
        _compared(original, synthetic, control, declared),
        sound, names=names, synthesis=synthesis, seed=seed, n_jobs=n_jobs, listener=listener,
        problems=faults,
    )  # fmt: skip
    if results.utility is None:
        raise DataError("no measure of utility is switched on")
    return results.utility


def _compared(
    original: Data,
    synthetic: Data | Sequence[Data] | None,
    control: Data | None,
    declared: Declared | None,
) -> ComparedData:
    """Return data as they are given."""
    several = [synthetic] if isinstance(synthetic, Data) else list(synthetic or ())
    said = declarations_of(declared)
    return ComparedData(original=original, synthetic=several, control=control, declared=said)


def risk_of(
    data: ComparedData,
    settings: CheckSettings,
    scenarios: Sequence[Scenario],
    *,
    synthesis: Synthesis | None = None,
    seed: AnySeed = 0,
    listener: Listener = silent,
    problems: Iterable[str] = (),
) -> CheckResults:
    """Return the risk checks of data; `assess` explains the arguments.

    ``scenarios`` may lack keys and target of the first, which are then suggested; ``problems`` are
    told with those of the data.
    """
    first, *further = scenarios
    data, settings, weight_notes = _weighted(data, settings)
    faults = Problems(problems)
    draws = faults.attempt(seeded, seed) or Seed(0)
    questions, halves = settings.inference, settings.differential_confidentiality
    units = None if data.counts_persons else halves.units
    kept_out = [
        name for name in (halves.by, units) if name and (faults or data.control is not None)
    ]
    named = [*filter(None, (*first.keys, first.target)), *_names(further, questions)]
    faults += _name_problems(data, named, kept_out)
    suggested = [first]
    if not first.keys or not first.target:
        # beside what is wrong already nothing is suggested, which is no fault of the data
        suggested = [] if faults else faults.attempt(_suggested, data, first) or []
    scenarios = (*suggested, *further)
    names = [*_names(scenarios, questions)]
    kept_out = [] if data.control is None else kept_out
    names += kept_out
    with faults.gathered():
        table, datasets = as_tables(data.original, data.synthetic, names, data.declared)
        with faults.gathered():
            _control(data, table, names, units)
        faults += _risk_problems(table, datasets, scenarios, questions)
    faults += _control_problems(data, names)
    faults.settle(DataError)
    columns = _alike(data)
    names += columns.names
    table, datasets = as_tables(data.original, data.synthetic, names, data.declared)
    control = _control(data, table, names, units)
    whole = table.select(columns.names)
    notes = [
        *([] if suggested else [NO_SCENARIO]),
        *columns.notes_of_records,
        *weight_notes,
        *_control_notes(whole, control),
        *_unit_notes(table, control, units),
        *_spelling_notes(whole, data),
        *_unlike_notes(whole, datasets),
    ]
    checks = Checks(
        table,
        settings.about("risk"),
        synthesis=synthesis,
        scenarios=scenarios,
        seed=draws,
        names=columns.names,
        frame=data.frame,
        control=control,
        listener=listener,
    )
    for dataset in datasets:
        checks.add(dataset)
    return checks.finish(notes=notes)


def utility_of(
    data: ComparedData,
    settings: CheckSettings,
    *,
    names: Sequence[str] | None = None,
    synthesis: Synthesis | None = None,
    seed: AnySeed = 0,
    n_jobs: int = 1,
    listener: Listener = silent,
    problems: Iterable[str] = (),
) -> CheckResults:
    """Return the utility checks of data; `evaluate` explains the arguments.

    ``problems`` are told with those of the data.
    """
    data, settings, weight_notes = _weighted(data, settings)
    faults = Problems([*problems, *_fit_problems(data, settings)])
    draws = faults.attempt(seeded, seed) or Seed(0)
    faults += worker_problems(n_jobs)
    faults += _name_problems(data, names or ())
    faults.settle(DataError)
    columns = _alike(data) if names is None else _Columns(names=tuple(dict.fromkeys(names)))
    if not columns.names:
        nothing = "there is no variable to compare: name data with columns of the original"
        every = column_names(data.original)
        lacking = _name_problems(data, [name for name in every if name in columns.absent])
        others = [why for name, why in columns.failed.items() if name not in columns.absent]
        raise DataError(dict.fromkeys([*lacking, *others] or [nothing]))
    further = [n for fit in settings.fits for n in fit.names if n in column_names(data.original)]
    further += filter(None, (settings.weight, settings.strata, settings.psu))
    if settings.replicates is not None:
        replicates = settings.replicates.among(column_names(data.original), but=[settings.weight])
        columns = replace(columns, names=tuple(n for n in columns.names if n not in replicates))
        further += replicates
    wanted = [*columns.names, *further]
    table, datasets = as_tables(data.original, data.synthetic, wanted, data.declared)
    check_comparable(table, datasets, columns.names)
    checks = Checks(
        table,
        settings.about("utility"),
        seed=draws,
        synthesis=synthesis,
        names=columns.names,
        frame=data.frame,
        person=data.person,
        control=_control(data, table, columns.names, None),
        workers=n_jobs,
    )
    show = counted(listener, "compare")
    for number, dataset in enumerate(datasets, start=1):
        checks.add(dataset)
        show(number, len(datasets))
    failed = {f"column {name!r}": why for name, why in columns.failed.items()}
    notes = [*columns.notes, *weight_notes, *_spelling_notes(table, data)]
    return checks.finish(notes=notes, failed=failed)


def _weighted(
    data: ComparedData, settings: CheckSettings
) -> tuple[ComparedData, CheckSettings, list[str]]:
    """Read the survey weight as a number; do without it, and say so, where a file lacks it."""
    name = settings.weight
    if name is None:
        return data, settings, []
    if not all(name in column_names(table) for table in (data.original, *data.synthetic)):
        note = f"checks.weight: {name!r} is not in every file, so that nothing is weighted"
        return data, settings.model_copy(update={"weight": None}), [note]
    declared = dict(data.declared or {})
    declared[name] = replace(declared.get(name, Declaration()), kind=Kind.NUMERIC)
    settings, notes = _designed(data, settings)
    return replace(data, declared=declared), settings, notes


def _designed(data: ComparedData, settings: CheckSettings) -> tuple[CheckSettings, list[str]]:
    """Do without what the files do not show of the design, and say so."""
    ours, others = column_names(data.original), [column_names(table) for table in data.synthetic]
    lost: dict[str, None] = {
        key: None
        for key in ("strata", "psu")
        if (name := getattr(settings, key)) and not all(name in names for names in (ours, *others))
    }
    if settings.replicates is not None and not settings.replicates.among(ours):
        lost["replicates"] = None
    if not lost:
        return settings, []
    note = (
        f"weights: {', '.join(lost)} of the configuration are not in every file, so that standard "
        "errors do without"
    )
    return settings.model_copy(update=lost), [note]


def _names(scenarios: Sequence[Scenario], questions: Sequence[Question]) -> Iterable[str]:
    """Return the variables that original and synthetic data must have."""
    of_scenarios = (name for scenario in scenarios for name in scenario.names)
    of_units = (part for part in questions if part.units == "persons")
    return dict.fromkeys([*of_scenarios, *(name for part in of_units for name in part.names)])


# Everything that is wrong with the data, for one error.


def _fit_problems(data: ComparedData, settings: CheckSettings) -> Iterator[str]:
    for fit in settings.fits:
        try:
            names = fit.names
        except ExpressionError as error:
            yield from error.problems
            continue
        if person_of_rows(names, data.original, data.person) is None:
            lacking = _name_problems(data, names)
            yield from (f"fit {fit.formula!r}: {problem}" for problem in lacking)


def _name_problems(
    data: ComparedData, names: Sequence[str], kept_out: Sequence[str] = ()
) -> Iterator[str]:
    """Yield names that data lack; those under ``kept_out`` no synthetic dataset needs."""
    columns = column_names(data.original)
    yield from unknown_names((*names, *kept_out), columns)
    known = [name for name in dict.fromkeys((*names, *kept_out)) if name in columns]
    for number, table in enumerate(data.synthetic, start=1):
        needed = [name for name in known if name in names]
        yield from lacking_names(needed, column_names(table), f"synthetic dataset {number}")
    if data.control is not None:
        yield from lacking_names(known, column_names(data.control), "the control file")


def unknown_names(names: Iterable[str], columns: Sequence[str]) -> Iterator[str]:
    """Say which names are no columns of the original, and what may be meant."""
    for name in dict.fromkeys(names):
        if name not in columns:
            views = values_in_periods(name, columns)
            hint = did_you_mean(name, columns, "name one of its columns")
            yield views or f"column {name!r} is not in the original; {hint}"


def lacking_names(names: Iterable[str], columns: Sequence[str], where: str) -> Iterator[str]:
    """Say in one sentence which columns a file lacks, and which it has in another case."""
    lacking = [name for name in names if name not in columns]
    if not lacking:
        return
    others = [alike for name in lacking if (alike := in_other_case(name, columns))]
    hint = "name columns that all files have"
    if others:
        hint = f"it has {_quoted(others)}: upper and lower case count, write names alike"
    yield f"{where} has no column{'s'[: len(lacking) > 1]} {_quoted(lacking)}; {hint}"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _risk_problems(
    table: Table,
    datasets: Sequence[Table],
    scenarios: Sequence[Scenario],
    questions: Sequence[Question],
) -> Problems:
    """Return what stands against the scenarios and the questions of these tables."""
    problems = Problems()
    named = [name for name in _names(scenarios, questions) if name in table]
    if not datasets:
        with problems.gathered():
            check_comparable(table, datasets)
    for number, dataset in enumerate(datasets, start=1):
        with problems.gathered():
            there = [name for name in named if name in dataset]
            check_comparable(table, [dataset], there, first=number)
    for scenario in scenarios:
        if not set(scenario.names) <= set(table):
            continue
        target: dict[str, Any] = {"keys": scenario.keys, "target": scenario.target}
        with problems.gathered():
            check_keys(table, **target, groups=scenario.groups)
        if scenario.exclude:
            having = [data for data in datasets if set(scenario.names) <= set(data)]
            with problems.gathered():
                check_exclusions([table, *having], **target, exclude=scenario.exclude)
    is_whole = all(name in data for data in (table, *datasets) for name in named)
    for question in questions if is_whole and not problems else []:
        with problems.gathered():
            rows, *others = (question.rows(data) for data in (table, *datasets))
            check_inference(rows, others, **question.settings)
    return problems


def _control(
    data: ComparedData, table: Table, names: Sequence[str], units: str | None
) -> Table | None:
    """Return the control in the codes of the original; raises DataError with all its problems."""
    if data.control is None:
        return None
    try:
        persons = [] if units is None else [units]
        _, (control,) = as_tables(table, data.control, names, persons=persons)
    except DataError as error:  # it is read like a synthetic one, and must not be called so
        raise DataError(
            p.replace("synthetic dataset 1", "control") for p in error.problems
        ) from None
    for what, part in (("original", table), ("control file", control)):
        if units in part and not part[str(units)].is_observed.any():
            raise DataError(f"units: column {units!r} of the {what} is empty")
    return control


@dataclass(frozen=True)
class _Columns:
    """Columns that can be compared, and why others cannot."""

    names: tuple[str, ...]
    absent: tuple[str, ...] = ()
    """Those that not all data have."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Why a column cannot be compared; absent ones too."""
    notes: tuple[str, ...] = ()
    """What else is not compared."""

    @property
    def notes_of_records(self) -> Iterator[str]:
        """Say what whole records are compared without."""
        less = "whole {records} are compared without"
        if self.absent:
            yield f"{less} {', '.join(sorted(self.absent))} (not in all files)"
        for name, why in self.failed.items():
            if name not in self.absent:
                yield f"{less} {name}: {why}"


def _alike(data: ComparedData) -> _Columns:
    """Look for columns that all data have and that can be read alike, but identifiers.

    One that cannot be read does not lose the others.
    """
    every = [n for n in column_names(data.original) if not follows(data.original, n)]
    failed = {
        name: "; ".join(problems) for name in every if (problems := [*_name_problems(data, [name])])
    }
    absent = tuple(failed)
    shared = [name for name in every if name not in failed]
    try:
        names = _readable(data, shared)
    except SynthesizerError:
        names = []
        for name in shared:
            try:
                names += _readable(data, [name])
            except SynthesizerError as error:
                why = "; ".join(error.problems)
                failed[name] = why.replace(
                    f"synthetic dataset {len(data.synthetic) + 1}", "control"
                )
    notes = [
        f"column {name!r} of synthetic dataset {number} is not in the original, and not compared"
        for number, table in enumerate(data.synthetic, start=1)
        for name in column_names(table)
        if name not in column_names(data.original)
    ]
    if ids := [name for name in shared if name not in names and name not in failed]:
        notes.append(f"identifiers are not compared: {', '.join(ids)}")
    return _Columns(tuple(names), absent, failed, tuple(notes))


def _readable(data: ComparedData, names: Sequence[str]) -> list[str]:
    """Return which columns are no identifiers; raises what is wrong with them in any data."""
    table = as_table(data.original, names, data.declared, ids=False)
    kept = [name for name in names if name in table]
    _, others = as_tables(table, data.others, kept)
    if kept and others:
        check_comparable(table, others, kept)
    return kept


_THEM = {"keys": "them", "target": "it"}


def _suggested(data: ComparedData, scenario: Scenario) -> list[Scenario]:
    """Return the scenario with keys and target that the original suggests; none without them."""
    names = _alike(replace(data, synthetic=(), control=None)).names
    table = as_table(data.original, names, data.declared, ids=False)
    suggestion = suggest(table, keys=scenario.keys or None, target=scenario.target or None)
    if not suggestion.keys or suggestion.target is None:
        if scenario.keys or scenario.target:
            other = "target" if scenario.keys else "keys"
            raise DataError(f"no {other} could be found in the original: name {_THEM[other]}")
        return []
    keys, target, reason = suggestion.keys, suggestion.target, suggestion.reason
    return [replace(scenario, keys=keys, target=target, reason=reason)]


# What should be known of the data before their figures are read.

SAME_PEOPLE = 0.5
"""Share of the control records found in the original above which there is no control."""


def _control_notes(whole: Table, control: Table | None) -> list[str]:
    """Say how many control records are those of the original, and whether that may be chance.

    Far more of the original's unique records than a new sample could have are no chance. Where
    most of the control is there, or it has hardly any record, it is no control.
    """
    if control is None or not len(whole):
        return []
    if control.n_rows < FEWEST:
        few = plural(control.n_rows, "record")
        raise DataError(f"the control has {few}; name one of {FEWEST} or more, best of thousands")
    control = control.select(whole.names)
    same = int((JointCoder(whole, whole.names).encode(control) >= 0).sum())
    note = (
        f"{same:,} of {control.n_rows:,} control {{records}} are in the original too, alike in "
        "every variable"
    )
    if copied_uniques(whole, control, keys=whole.names).alarm is None:
        return [f"{note}; a new sample may have as many"] if same else []
    note += ": a control must hold other people, or it shows no risk"
    if same > SAME_PEOPLE * control.n_rows:
        raise DataError(note.replace("{records}", "records"))
    return [note]


def _control_problems(data: ComparedData, named: Collection[str]) -> Iterator[str]:
    """Refuse a control that lacks columns or differs in most; ``named`` ones are not looked at.

    Another column that cannot be compared, such as one that is empty, is left out with a note.
    """
    if data.control is None:
        return
    columns = _alike(replace(data, synthetic=()))
    shared = [{*column_names(table)} for table in data.synthetic]
    failed = [n for n in columns.failed if n not in named and all(n in names for names in shared)]
    lacking = _quoted(name for name in failed if name in columns.absent)
    others = [columns.failed[name] for name in failed if name not in columns.absent]
    if lacking or len(failed) > len(columns.names):
        yield (
            "the control has another structure than the original: "
            f"{'; '.join([*([f'it lacks {lacking}'] if lacking else []), *others])}; name a sample "
            "of the same population with the same columns and codes"
        )


def _unit_notes(original: Table, control: Table | None, units: str | None) -> list[str]:
    """Say that persons are named alike in the original and in the control."""
    if units is None or control is None:
        return []
    column = control[units]
    both = np.unique(ColumnCoder.fit(original[units]).encode(column)[column.is_observed])
    count = int((both >= 0).sum())
    if not count:
        return []
    return [
        f"{count:,} values of {units!r} are in the original and in the control: if they are the "
        "same persons, take them out of the control; they count as two"
    ]


def _spelling_notes(table: Table, data: ComparedData) -> Iterator[str]:
    """Say which values are compared as equal although files write them otherwise."""
    others = [written_otherwise(other, table) for other in data.others]
    if names := dict.fromkeys(name for found in others for name in found):
        yield (
            f"{', '.join(names)}: values are written otherwise than in the original (such as 3.0 "
            "for 3, 1 for 01, TRUE for true, NA for nothing), and compared as equal"
        )


def _unlike_notes(whole: Table, synthetic: Sequence[Table]) -> list[str]:
    """Say that categories are written differently: whole records then never agree."""
    coded = [column.name for column in whole.columns if column.is_coded]
    return [
        f"{share:.0%} of the synthetic {{records}} have a value of {name!r} that the original "
        "lacks: check that both files write it alike"
        for name, share in unfamiliar(whole, synthetic, coded).items()
    ]
