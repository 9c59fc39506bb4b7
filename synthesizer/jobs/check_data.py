"""Check arranged data: report all problems at once, compute the figures, add the notes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from synthesizer.data.codes import ColumnCoder, JointCoder
from synthesizer.data.errors import (
    DataError,
    ExpressionError,
    Problems,
    SynthesizerError,
    did_you_mean,
    in_other_case,
    plural,
)
from synthesizer.data.guessing import Declaration
from synthesizer.data.pairs import (
    as_table,
    as_tables,
    check_comparable,
    check_keys,
    column_names,
    written_otherwise,
)
from synthesizer.data.panel.view import follows, seen_names
from synthesizer.data.randomness import AnySeed, Seed, seeded
from synthesizer.data.table import Column, Kind, Table
from synthesizer.data.workers import Listener, counted, silent, worker_problems
from synthesizer.measures.checks import Checks
from synthesizer.measures.measure import Synthesis, is_on
from synthesizer.measures.risk.attribute import check_exclusions
from synthesizer.measures.risk.comparable import unfamiliar
from synthesizer.measures.risk.copied import copied_uniques
from synthesizer.measures.risk.near_verbatim import MIN_PERSONS
from synthesizer.measures.risk.public_inference import check_inference
from synthesizer.measures.risk.rare_values import level_counts
from synthesizer.measures.risk.suggest import NO_SCENARIO, suggest
from synthesizer.measures.scenario import Question, Scenario
from synthesizer.measures.settings import CheckSettings
from synthesizer.measures.utility.combining import kind_problems
from synthesizer.measures.utility.requested_fits import person_of_rows
from synthesizer.measures.verdict import CheckResults
from synthesizer.plan.arrange import ComparedData, FilesPlan
from synthesizer.plan.inputs import values_in_periods

NAMED = "as asked for"
"""Reason of keys and target that the settings name."""


@dataclass(frozen=True)
class Named:
    """Columns that settings name, which the data must have."""

    names: tuple[str, ...]
    kept_out: tuple[str, ...]
    """Columns that synthetic datasets need not have."""

    @classmethod
    def of(cls, plan: FilesPlan) -> Named:
        """Return the columns that settings name, without a weight that only the YAML names."""
        checks, named = plan.checks, plan.named
        halves = checks.differential_confidentiality
        names = [*(checks.keys or ()), checks.target, named.get("weight") and checks.weight]
        further = _names([part.scenario() for part in checks.scenarios], checks.inference)
        return cls(
            tuple(filter(None, (*names, *further))), tuple(filter(None, (halves.by, halves.units)))
        )

    def lacking(
        self,
        original: Sequence[str] | None,
        synthetic: Mapping[int, Sequence[str]],
        control: Sequence[str] | None = None,
    ) -> Iterator[str]:
        """Yield a problem for names that the data lack; unreadable data are None."""
        every = tuple(dict.fromkeys((*self.names, *self.kept_out)))
        if original is not None:
            yield from _unknown_names(every, original)
        known = [name for name in every if original is None or name in original]
        needed = [name for name in known if name in self.names]
        for number, columns in synthetic.items():
            yield from _lacking_names(needed, columns, f"synthetic dataset {number}")
        if control is not None:
            yield from _lacking_names(known, control, "the control")


def setting_problems(plan: FilesPlan, *, has_control: bool) -> Iterator[str]:
    """Yield the problems of settings that do not depend on the data."""
    checks, named = plan.checks, plan.named
    if not checks.looks_at("risk") and not checks.looks_at("utility"):
        yield "checks: every check is off; turn one on"
    for number, fit in enumerate(checks.fits, 1):
        problems = Problems()
        problems.attempt(getattr, fit, "names")
        if plan.synthesis is not None and fit.rule is not None:
            problems += kind_problems(fit.rule, **plan.synthesis.kind)
        yield from (f"checks.fits.{number}: {problem}" for problem in problems)
    for scenario in (checks, *checks.scenarios):
        names = (*(scenario.keys or ()), scenario.target)
        for name in scenario.groups if scenario.keys and scenario.target else ():
            if name not in names:
                yield f"checks.groups: {name!r} is neither a key nor the target; take it out"
    if has_control:
        return
    halves = named.get("differential_confidentiality")
    options = halves if isinstance(halves, Mapping) else {}
    keys = [f"differential_confidentiality.{key}" for key in ("by", "units") if options.get(key)]
    keys += ["attacks"] if named.get("attacks") and is_on(checks, "attacks") else []
    for key in keys:
        yield f"checks.{key}: needs a control: records that were not used for the synthesis"


def check_data(
    data: ComparedData,
    plan: FilesPlan,
    *,
    notes: Iterable[str] = (),
    seed: AnySeed = 0,
    workers: int = 1,
    listener: Listener = silent,
    problems: Iterable[str] = (),
) -> CheckResults:
    """Return all figures of the plan for arranged data.

    ``notes`` come before those of the data. ``problems`` are raised with all others before anything
    is computed. See `synthesizer.jobs.check.check` for the other parameters.
    """
    faults = Problems(problems)
    draws = faults.attempt(seeded, seed) or Seed(0)
    faults += worker_problems(workers)
    settings, named = plan.checks, Named.of(plan)
    of_risk, of_use = settings.looks_at("risk"), settings.looks_at("utility")
    units = settings.differential_confidentiality.units
    if data.counts_persons:
        if units not in (None, data.person):
            faults.append(f"{_UNITS}: the persons of a panel are split already; delete it")
        others = (name for name in named.kept_out if name != units)
        named, units = replace(named, kept_out=tuple(others)), None
    if data.control is None:
        named = replace(named, kept_out=())
    faults += _name_problems(data, named)
    data, settings, weight_notes = _weighted(data, settings)
    if of_use:
        faults += _fit_problems(data, settings)
    questions = settings.inference if of_risk else ()
    columns = _alike(data)
    no_weight = tuple(name for name in columns.names if name != settings.weight)
    candidates = replace(columns, names=no_weight)
    scenarios = _scenarios(data, settings, candidates, faults) if of_risk else []
    names = [*_names(scenarios, questions), *named.kept_out]
    with faults.gathered():
        table, datasets = as_tables(data.original, data.synthetic, names, data.declared)
        with faults.gathered():
            _control(data, table, names, units, ())
        faults += _risk_problems(table, datasets, scenarios, questions)
    faults += _control_problems(data, names)
    faults.settle(DataError)
    replicates = _replicates(data, settings)
    columns = replace(columns, names=tuple(n for n in columns.names if n not in replicates))
    if of_use and not columns.names:
        raise DataError(dict.fromkeys(_nothing(data, columns)))
    names += columns.names
    fitted = (name for fit in settings.fits for name in fit.names)
    design = filter(None, (settings.weight, settings.strata, settings.psu))
    ids = columns.ids if of_risk and data.frame is None else ()
    wanted = [*names, *fitted, *design, *replicates, *ids]
    table, datasets = as_tables(data.original, data.synthetic, wanted, data.declared, persons=ids)
    control = _control(data, table, [*names, *ids], units, ids)
    whole = table.select(columns.names)
    checks = Checks(
        table,
        settings,
        scenarios=scenarios,
        seed=draws,
        synthesis=_as_seen(plan, data, table),
        names=columns.names,
        identifiers=[n for n in ids if not any(_is_numbered(made[n]) for made in datasets)],
        frame=data.frame,
        person=data.person,
        control=control,
        counts_kept=True,
        workers=workers,
        listener=listener,
    )
    show = counted(listener, "compare")
    for number, dataset in enumerate(datasets, start=1):
        checks.add(dataset)
        show(number, len(datasets))
    failed = {f"column {name!r}": why for name, why in columns.failed.items()} if of_use else {}
    failed |= {f"column {name!r}": _FURTHER for name in columns.further}
    coded = [column.name for column in whole.columns if column.is_coded] if of_risk else []
    unknown = unfamiliar(whole, datasets, coded)
    if control is not None:
        usual = unfamiliar(whole, [control], coded)
        failed |= {
            f"column {name!r}": "the original lacks most of its values"
            for name, share in unknown.items()
            if share > MOSTLY > usual.get(name, 0.0)
        }
    every = [
        *notes,
        *data.notes,
        *(_scenario_notes(settings, scenarios) if of_risk else ()),
        *(columns.notes if of_use else ()),
        *(columns.notes_of_records if of_risk else ()),
        *weight_notes,
        *_rule_notes(plan),
        *_control_notes(whole, control),
        *_unit_notes(table, control, units),
        *_spelling_notes(whole, data),
        *_unlike_notes(unknown),
    ]
    return checks.finish(notes=tuple(dict.fromkeys(every)), failed=failed)


def _scenarios(
    data: ComparedData, settings: CheckSettings, columns: _Columns, problems: Problems
) -> list[Scenario]:
    """Return keys and target, as named or as suggested from the original."""
    first, further = settings.scenario(reason=NAMED), [s.scenario() for s in settings.scenarios]
    if first.keys and first.target:
        return [first, *further]
    if not settings.needs_scenario or problems:
        # no suggestion is needed where there are problems
        return further
    return [*(problems.attempt(_suggested, data, first, columns) or []), *further]


def _scenario_notes(settings: CheckSettings, scenarios: Sequence[Scenario]) -> Iterator[str]:
    """Yield a note on suggested keys and target, or on their absence."""
    if not (settings.keys and settings.target) and settings.needs_scenario:
        yield scenarios[0].reason if len(scenarios) > len(settings.scenarios) else NO_SCENARIO


def _as_seen(plan: FilesPlan, data: ComparedData, table: Table) -> Synthesis | None:
    """Return how the data were made, with the names that kept variables have in rows of persons."""
    made = plan.synthesis
    if made is None or data.frame is None:
        return made
    return replace(made, kept=seen_names(tuple(table.names), made.kept, data.frame.drawn_career))


_UNITS = "checks.differential_confidentiality.units"


def _replicates(data: ComparedData, settings: CheckSettings) -> tuple[str, ...]:
    """Return the replicate weights, which only weighted figures use."""
    if settings.replicates is None:
        return ()
    return settings.replicates.among(column_names(data.original), but=[settings.weight])


def _nothing(data: ComparedData, columns: _Columns) -> Iterator[str]:
    """Yield the reasons why no column can be compared."""
    yield from _name_problems(data, Named(columns.absent, ()))
    yield from (why for name, why in columns.failed.items() if name not in columns.absent)
    if not columns.failed:
        yield "no variable can be compared: the data need columns of the original"


def _rule_notes(plan: FilesPlan) -> Iterator[str]:
    """Yield a note on the combining rule if it is unknown how the data were made."""
    if plan.synthesis is None and any(fit.rule is None for fit in plan.checks.fits):
        yield (
            "no manifest or configuration describes the synthesis: rule simple takes "
            "all values as drawn with fixed parameters; name another one (rule) if they were not"
        )


def _weighted(
    data: ComparedData, settings: CheckSettings
) -> tuple[ComparedData, CheckSettings, list[str]]:
    """Declare the survey weight as a number; drop survey columns that a file lacks, with notes."""
    every = [column_names(table) for table in (data.original, *data.synthetic)]
    named = {key: getattr(settings, key) for key in ("weight", "strata", "psu")}
    lost = {
        key: None
        for key, name in named.items()
        if name and not all(name in columns for columns in every)
    }
    if settings.replicates is not None and not settings.replicates.among(every[0]):
        lost["replicates"] = None
    notes = [
        f"checks.{key}: {named.get(key, key)!r} is not in every file, so weighted figures ignore it"
        for key in lost
    ]
    weight = named["weight"]
    if weight is not None and "weight" not in lost:
        declared = dict(data.declared or {})
        declared[weight] = replace(declared.get(weight, Declaration()), kind=Kind.NUMERIC)
        data = replace(data, declared=declared)
    return data, settings.model_copy(update=lost), notes


def _names(scenarios: Sequence[Scenario], questions: Sequence[Question]) -> Iterable[str]:
    """Return variables that original and synthetic data must have."""
    of_scenarios = (name for scenario in scenarios for name in scenario.names)
    of_units = (part for part in questions if part.units == "persons")
    return dict.fromkeys([*of_scenarios, *(name for part in of_units for name in part.names)])


# Problems of the data, for one error.


def _fit_problems(data: ComparedData, settings: CheckSettings) -> Iterator[str]:
    for fit in settings.fits:
        try:
            names = fit.names
        except ExpressionError:  # reported by `setting_problems`
            continue
        if person_of_rows(names, data.original, data.person) is None:
            lacking = _name_problems(data, Named(tuple(names), ()))
            yield from (f"fit {fit.formula!r}: {problem}" for problem in lacking)


def _name_problems(data: ComparedData, named: Named) -> Iterator[str]:
    """Yield problems of names that data lack."""
    columns = {number: column_names(one) for number, one in enumerate(data.synthetic, 1)}
    control = None if data.control is None else column_names(data.control)
    yield from named.lacking(column_names(data.original), columns, control)


def _unknown_names(names: Iterable[str], columns: Sequence[str]) -> Iterator[str]:
    """Yield a problem for each name that is no column of the original, with the nearest one."""
    for name in dict.fromkeys(names):
        if name not in columns:
            views = values_in_periods(name, columns)
            hint = did_you_mean(name, columns, "name one of its columns")
            yield views or f"column {name!r} is not in the original; {hint}"


def _lacking_names(names: Iterable[str], columns: Sequence[str], where: str) -> Iterator[str]:
    """Yield one problem with the columns that a file lacks or has in another case."""
    lacking = [name for name in names if name not in columns]
    if not lacking:
        return
    others = [alike for name in lacking if (alike := in_other_case(name, columns))]
    hint = "name columns that all files have"
    if others:
        hint = f"it has {_quoted(others)}: upper and lower case differ, use the same names"
    yield f"{where} has no column{'s'[: len(lacking) > 1]} {_quoted(lacking)}; {hint}"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _risk_problems(
    table: Table,
    datasets: Sequence[Table],
    scenarios: Sequence[Scenario],
    questions: Sequence[Question],
) -> Problems:
    """Return the problems of scenarios and questions with these tables."""
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
    data: ComparedData, table: Table, names: Sequence[str], units: str | None, ids: Sequence[str]
) -> Table | None:
    """Return the control in the codes of the original; raises DataError with all its problems."""
    if data.control is None:
        return None
    try:
        persons = [*ids, *([] if units is None else [units])]
        _, (control,) = as_tables(table, data.control, names, persons=persons)
    except DataError as error:  # it was read like a synthetic dataset
        raise DataError(
            p.replace("synthetic dataset 1", "control") for p in error.problems
        ) from None
    for what, part in (("original", table), ("control file", control)):
        if units in part and not part[str(units)].is_observed.any():
            raise DataError(f"units: column {units!r} of the {what} is empty")
    return control


@dataclass(frozen=True)
class _Columns:
    """Columns that can be compared, and reasons why others cannot."""

    names: tuple[str, ...]
    absent: tuple[str, ...] = ()
    """Columns that not all data have."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Reasons by column that cannot be compared, also of absent ones."""
    further: tuple[str, ...] = ()
    """Columns that the original lacks."""
    ids: tuple[str, ...] = ()
    """Identifiers that all data have."""
    notes: tuple[str, ...] = ()
    """Notes on columns that are not compared."""

    @property
    def notes_of_records(self) -> Iterator[str]:
        """Yield notes on columns that comparisons of whole records ignore."""
        less = "comparisons of whole {records} ignore"
        if self.absent:
            yield f"{less} {', '.join(sorted(self.absent))} (not in all files)"
        for name, why in self.failed.items():
            if name not in self.absent:
                yield f"{less} {name}: {why}"


def _alike(data: ComparedData) -> _Columns:
    """Return the columns that can be compared: all data have them, and they are no identifiers.

    A column that cannot be read is left out alone.
    """
    every = [
        name
        for name in column_names(data.original)
        if name not in data.dropped and not follows(data.original, name)
    ]
    failed = {
        name: "; ".join(problems)
        for name in every
        if (problems := [*_name_problems(data, Named((name,), ()))])
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
                last = f"synthetic dataset {len(data.synthetic) + 1}"
                failed[name] = why.replace(last, "control")
    originals = column_names(data.original)
    theirs = dict.fromkeys(name for made in data.synthetic for name in column_names(made))
    further = tuple(name for name in theirs if name not in originals)
    ids = [name for name in shared if name not in names and name not in failed]
    notes = [f"identifiers are not compared: {', '.join(ids)}"] if ids else []
    return _Columns(tuple(names), absent, failed, further, tuple(ids), tuple(notes))


def _readable(data: ComparedData, names: Sequence[str]) -> list[str]:
    """Return the columns that are no identifiers; raises their problems in any data."""
    table = as_table(data.original, names, data.declared, ids=False)
    comparable = [name for name in names if name in table]
    _, others = as_tables(table, data.others, comparable)
    if comparable and others:
        check_comparable(table, others, comparable)
    return comparable


def _suggested(data: ComparedData, scenario: Scenario, columns: _Columns) -> list[Scenario]:
    """Return the scenario with suggested keys and target; empty if there are none."""
    table = as_table(data.original, columns.names, data.declared, ids=False)
    suggestion = suggest(table, keys=scenario.keys or None, target=scenario.target or None)
    if not suggestion.keys or suggestion.target is None:
        if scenario.keys or scenario.target:
            lacking = "target" if scenario.keys else "keys"
            raise DataError(f"no {lacking} could be found in the original: name {lacking}")
        return []
    keys, target = suggestion.keys, suggestion.target
    groups = {name: cuts for name, cuts in scenario.groups.items() if name in (*keys, target)}
    return [replace(scenario, keys=keys, target=target, groups=groups, reason=suggestion.reason)]


def _is_numbered(column: Column) -> bool:
    """Whether identifiers are consecutive numbers."""
    values = column.data[column.is_observed]
    if column.is_coded:
        texts = [column.variable.levels[code] for code in np.flatnonzero(level_counts(column))]
        if not all(map(str.isdecimal, texts)):
            return False
        values = np.array(texts, dtype=np.float64)
    return len(values) > 0 and float(np.ptp(values)) + 1 == len(np.unique(values))


# Notes on the data.

MOSTLY = 0.5
"""Share of values missing in the original above which a column is not compared."""
_FURTHER = "is not in the original, and not compared"

SAME_PEOPLE = 0.5
"""Share of control records in the original above which the control is refused."""


def _control_notes(whole: Table, control: Table | None) -> list[str]:
    """Return a note on control records that are in the original, compared with a new sample.

    Raises DataError if most control records are in the original, or if there are too few.
    """
    if control is None or not len(whole):
        return []
    if control.n_rows < MIN_PERSONS:
        few = plural(control.n_rows, "record")
        raise DataError(f"the control has {few}; name {MIN_PERSONS} or more, if possible thousands")
    control = control.select(whole.names)
    same = int((JointCoder(whole, whole.names).encode(control) >= 0).sum())
    note = (
        f"{same:,} of {control.n_rows:,} control {{records}} equal one of the original in "
        f"all {plural(len(whole.names), 'variable')}"
    )
    if copied_uniques(whole, control, keys=whole.names).alarm is None:
        return [f"{note}; a new sample could have as many by chance"] if same else []
    note += "; a control needs other persons, or it hides the risk"
    if same > SAME_PEOPLE * control.n_rows:
        raise DataError(note.replace("{records}", "records"))
    return [note]


def _control_problems(data: ComparedData, named: Collection[str]) -> Iterator[str]:
    """Yield a problem if a control lacks columns or differs in most; ``named`` are not checked.

    Other columns that cannot be compared, such as empty ones, only give a note.
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
            "the control differs in structure from the original: "
            f"{'; '.join([*([f'it lacks {lacking}'] if lacking else []), *others])}; name a sample "
            "of the same population with the same columns and codes"
        )


def _unit_notes(original: Table, control: Table | None, units: str | None) -> list[str]:
    """Return a note if original and control share identifiers of persons."""
    if units is None or control is None:
        return []
    column = control[units]
    both = np.unique(ColumnCoder.fit(original[units]).encode(column)[column.is_observed])
    count = int((both >= 0).sum())
    if not count:
        return []
    return [
        f"{count:,} values of {units!r} are in original and control: if they are the same "
        "persons, delete them from the control"
    ]


def _spelling_notes(table: Table, data: ComparedData) -> Iterator[str]:
    """Yield a note on values that files write differently and that count as equal."""
    others = [written_otherwise(other, table) for other in data.others]
    if names := dict.fromkeys(name for one in others for name in one):
        yield (
            f"{', '.join(names)}: files write equal values differently, such as 3.0 for 3, 1 for "
            "01, TRUE for true, NA for an empty cell; they count as equal"
        )


def _unlike_notes(unknown: Mapping[str, float]) -> list[str]:
    """Return notes on levels that files seem to write differently, so that no records agree."""
    return [
        f"{share:.0%} of the synthetic {{records}} have a value of {name!r} that the original "
        "lacks: check that both files write it alike"
        for name, share in unknown.items()
    ]
