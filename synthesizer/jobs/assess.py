"""The disclosure risk of any two data sets, whoever made the synthetic ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from pydantic import ValidationError

from synthesizer.config.reading import sentence
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
from synthesizer.data.panel.frame import Frame
from synthesizer.data.progress import Listener, silent
from synthesizer.data.randomness import MAX_SEED, Seed
from synthesizer.data.table import Table
from synthesizer.measures.checks import Checks
from synthesizer.measures.measure_options import Question
from synthesizer.measures.results import CheckResults, RiskResult
from synthesizer.measures.risk.dominance import Exclusion, check_exclusions
from synthesizer.measures.risk.identity import key_counts
from synthesizer.measures.risk.inference import THRESHOLDS, check_inference
from synthesizer.measures.risk.replicated import replicated_uniques
from synthesizer.measures.risk.scenario import Scenario, Tolerance
from synthesizer.measures.risk.scenario_risk import unfamiliar
from synthesizer.measures.risk.suggest import suggest
from synthesizer.measures.settings import CheckSettings
from synthesizer.plan.columns import values_in_periods

Settings = CheckSettings | Mapping[str, Any]
"""Options of checks, or the same by name."""


def sound_settings(
    settings: Settings | None, **options: Any
) -> tuple[CheckSettings, tuple[str, ...]]:
    """Return settings with options, and what is wrong with them; what is wrong is left out."""
    content = dict(settings) if isinstance(settings, Mapping) else {}
    base = settings if isinstance(settings, CheckSettings) else CheckSettings()
    told = content | {name: value for name, value in options.items() if value is not None}
    try:
        return base.with_options(**told), ()
    except ValidationError as error:
        items = error.errors(include_url=False)
    faults = tuple(sentence(CheckSettings, told, item) for item in items)
    faulty = {str(item["loc"][0]) for item in items if item["loc"]} or set(told)
    sound = {name: value for name, value in told.items() if name not in faulty}
    return sound_settings(base, **sound)[0], faults


# What an assessment starts from: the data as tables, and everything wrong with them.


@dataclass(frozen=True, eq=False)
class Files:
    """The data as tables; no control where there is none."""

    original: Table
    synthetic: tuple[Table, ...]
    control: Table | None

    def with_columns(self, whole: Files) -> Files:
        """Return the files with the columns of others that they lack."""
        control = None
        if self.control is not None and whole.control is not None:
            control = _with_columns(self.control, whole.control)
        pairs = zip(self.synthetic, whole.synthetic, strict=True)
        return Files(
            _with_columns(self.original, whole.original),
            tuple(_with_columns(one, other) for one, other in pairs),
            control,
        )


def _with_columns(table: Table, other: Table) -> Table:
    further = [column for column in other.columns if column.name not in table]
    return Table([*table.columns, *further], table.n_rows) if further else table


@dataclass(frozen=True, eq=False, kw_only=True)
class _Asked:
    """Everything that is asked about two data sets."""

    scenarios: tuple[Scenario, ...]
    settings: CheckSettings
    problems: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Variables that original and synthetic data must have."""
        scenarios = [name for part in self.scenarios for name in part.names]
        questions = [name for part in self.settings.inference for name in part.names]
        return tuple(dict.fromkeys([*scenarios, *questions]))

    @property
    def units(self) -> str | None:
        """Variable that names the person of each record."""
        units: str | None = self.settings.differential_confidentiality.units
        return units

    @property
    def further(self) -> tuple[str, ...]:
        """Further variables that original and control must have."""
        by = self.settings.differential_confidentiality.by
        return tuple(name for name in (by, self.units) if name is not None)


def _files(
    original: Data,
    synthetic: Sequence[Data],
    control: Data | None,
    asked: _Asked,
    declared: Mapping[str, Declaration] | None,
) -> Files:
    """Return the variables that are asked about; raises every problem of them in all files."""
    further = () if control is None else asked.further
    names = (*asked.names, *further)
    problems = [*asked.problems, *_name_problems(original, synthetic, control, asked, further)]
    table: Table | None = None
    made: tuple[Table, ...] = ()
    kept_out: Table | None = None
    try:
        table, made = as_tables(original, synthetic, names, declared)
        if control is not None:
            persons = () if asked.units is None else (asked.units,)
            kept_out = as_tables(table, control, names, persons=persons)[1][0]
    except DataError as error:
        # a control file is read like a synthetic one, and must not be called so
        as_control = [p.replace("synthetic dataset 1", "control") for p in error.problems]
        problems += error.problems if table is None else as_control
    if kept_out is not None and asked.units in kept_out:
        for what, part in (("original", table), ("control file", kept_out)):
            if part is not None and not part[str(asked.units)].is_observed.any():
                problems.append(f"units: column {asked.units!r} of the {what} is empty")
    if table is not None:
        problems += _table_problems(table, made, asked)
    if problems or table is None:
        raise DataError(dict.fromkeys(problems))
    return Files(table, made, kept_out)


def _name_problems(
    original: Data,
    synthetic: Sequence[Data],
    control: Data | None,
    asked: _Asked,
    further: Sequence[str],
) -> Iterator[str]:
    """Yield names that files lack, whatever else is wrong with them."""
    for name in (*asked.names, *further):
        if not isinstance(original, Data) or name not in column_names(original):
            views = isinstance(original, Data) and values_in_periods(name, column_names(original))
            yield views or f"column {name!r} is not in the original: name one of its columns"
            continue
        if name in asked.names:
            for number, data in enumerate(synthetic, start=1):
                if isinstance(data, Data) and name not in column_names(data):
                    yield f"column {name!r} is not in synthetic dataset {number}: generate it too"
        if control is not None and name not in column_names(control):
            yield f"column {name!r} is not in the control file: add it"


def _table_problems(table: Table, made: Sequence[Table], asked: _Asked) -> list[str]:
    names = [name for name in asked.names if name in table]
    problems = [*_problems(partial(check_comparable, table, made, names))]
    for scenario in asked.scenarios:
        if not set(scenario.names) <= set(table):
            continue
        target: dict[str, Any] = {"keys": scenario.keys, "target": scenario.target}
        problems += _problems(partial(check_keys, table, **target, groups=scenario.groups))
        if scenario.exclude:
            check = partial(check_exclusions, [table, *made], **target, exclude=scenario.exclude)
            problems += _problems(check)
    if not problems:
        for question in asked.settings.inference:
            check = partial(
                check_inference, table, made, **question.settings, thresholds=THRESHOLDS
            )
            problems += _problems(check)
    return problems


def _problems(check: Callable[[], object]) -> tuple[str, ...]:
    try:
        check()
    except DataError as error:
        return error.problems
    return ()


def sound_names(
    data: Data, names: Sequence[str], declared: Mapping[str, Declaration] | None
) -> tuple[str, ...]:
    """Return those of the variables that can be read."""
    if not _problems_of_reading(data, names, declared):
        return tuple(names)
    return tuple(name for name in names if not _problems_of_reading(data, [name], declared))


def _problems_of_reading(
    data: Data, names: Sequence[str], declared: Mapping[str, Declaration] | None
) -> tuple[str, ...]:
    try:
        as_table(data, names, declared)
    except SynthesizerError as error:
        return error.problems
    return ()


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
    reasons = {
        "not in all files": set(every) - set(shared),
        "unreadable": set(shared) - set(sound),
        "of another kind in another file": named - set(table),
    }
    notes = [
        f"whole {{records}} are compared without {', '.join(sorted(names))} ({why})"
        for why, names in reasons.items()
        if names
    ]
    return Files(table, made[: len(synthetic)], None if control is None else made[-1]), notes


def _alike(table: Table, others: Sequence[Data]) -> tuple[Table, tuple[Table, ...]]:
    """Return the columns that can be read alike in every file, of the table and of the others."""
    try:
        return as_tables(table, others, table.names)
    except DataError:
        names = [
            name
            for name in table
            if not any(
                _problems(partial(as_tables, table.select([name]), other, [name]))
                for other in others
            )
        ]
    return as_tables(table.select(names), others, names)


# What should be known of the files of an assessment before its figures are read.

SAME_PEOPLE = 0.5
"""Share of the control records found in the original above which there is no control."""


def _control_notes(whole: Files) -> list[str]:
    """Say that control records seem to be those of the original.

    A fresh record equals a unique one about as often as records have exactly one twin (Good and
    Turing's estimate); far more often is no chance. Where most are there, it is no control.
    """
    if whole.control is None or not len(whole.original):
        return []
    (counts,) = replicated_uniques(whole.original, whole.control).datasets
    twins = float((key_counts(whole.original, whole.original.names) == 2).mean())
    expected = twins * counts.n
    if counts.replicated <= 2 * expected + 5 * (expected + 1) ** 0.5:
        return []
    found = int((JointCoder(whole.original, whole.original.names).encode(whole.control) >= 0).sum())
    note = (
        f"{found:,} of {counts.n:,} control {{records}} are in the original too, alike in every "
        "variable: a control must hold other people, or it shows no risk"
    )
    if found > SAME_PEOPLE * counts.n:
        raise DataError(note.replace("{records}", "records"))
    return [note]


def _unit_notes(files: Files, name: str | None) -> list[str]:
    """Say that persons are named alike in the original and in the control."""
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


def _unlike_notes(whole: Files) -> list[str]:
    """Say that categories are written differently: whole records then never agree."""
    coded = [column.name for column in whole.original.columns if column.is_coded]
    return [
        f"{share:.0%} of the synthetic {{records}} have a value of {name!r} that the original "
        "lacks: check that both files write it alike"
        for name, share in unfamiliar(whole.original, whole.synthetic, coded).items()
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
    settings: Settings | None = None,
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
    settings : CheckSettings or mapping, optional
        What else is computed, and how; the keys are those under ``checks:`` of a configuration.
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
    given = {"by": by, "units": units, "attacks": with_attacks or None}
    problems = tuple(
        f"{what} needs a control file, records that were kept out of the fit: name one"
        for what, value in given.items()
        if value is not None and control is None
    )
    if not 0 <= seed <= MAX_SEED:
        problems = (f"seed ({seed}) must be in 0 to 2**63 - 1", *problems)
    asked = (questions,) if isinstance(questions, Question) else tuple(questions)
    sound, faults = sound_settings(
        settings,
        inference=[question.model_dump() for question in asked] or None,
        differential_confidentiality=_named(by=by, units=units) or None,
        attacks={"enabled": True} if with_attacks else None,
    )
    if isinstance(keys, str):
        raise DataError(f"keys must be a list of names, not one text: write [{keys!r}]")
    main = sound.scenario(reason="as asked for")
    main = replace(
        main,
        keys=main.keys if keys is None else tuple(keys),
        target=target or main.target,
        groups=groups or main.groups,
        tolerance=tolerance or main.tolerance,
        exclude=tuple(exclude) or main.exclude,
    )
    further = (*(part.scenario() for part in sound.scenarios), *scenarios)
    return risk_of(
        original,
        [synthetic] if isinstance(synthetic, Data) else list(synthetic or ()),
        (main, *further),
        sound,
        control=control,
        declared=declared,
        seed=seed,
        listener=listener,
        problems=(*problems, *faults),
    ).risk


def _named(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def risk_of(
    original: Data,
    synthetic: Sequence[Data],
    scenarios: Sequence[Scenario],
    settings: CheckSettings,
    *,
    control: Data | None = None,
    declared: Mapping[str, Declaration] | None = None,
    frame: Frame | None = None,
    seed: int = 0,
    listener: Listener = silent,
    problems: Sequence[str] = (),
) -> CheckResults:
    """Return the risk checks of data; `assess` explains the arguments.

    ``scenarios`` may lack keys and target of the first, which are then suggested; ``frame`` holds
    the periods where all data are `PersonView`; ``problems`` are told with those of the data.
    """
    first, *further = scenarios
    if not first.keys or not first.target:
        first = _suggested(original, first, declared)
    asked = _Asked(scenarios=(first, *further), settings=settings, problems=tuple(problems))
    files = _files(original, synthetic, control, asked, declared)
    whole, notes = _whole(original, synthetic, control, declared)
    notes += [
        *_control_notes(whole),
        *_unit_notes(files, asked.units),
        *_unlike_notes(whole),
    ]
    files = files.with_columns(whole)
    checks = Checks(
        files.original,
        settings.about("risk"),
        scenarios=asked.scenarios,
        seed=Seed(seed),
        names=whole.original.names,
        frame=frame,
        control=files.control,
        listener=listener,
    )
    for table in files.synthetic:
        checks.add(table)
    return checks.finish(notes=notes)


def _suggested(
    original: Data, scenario: Scenario, declared: Mapping[str, Declaration] | None
) -> Scenario:
    names = sound_names(original, column_names(original), declared)
    table = as_table(original, names, declared, ids=False)
    found = suggest(table, keys=scenario.keys or None, target=scenario.target or None)
    if not found.keys or found.target is None:
        raise DataError("no keys and target could be found in the original: name them")
    return replace(scenario, keys=found.keys, target=found.target, reason=found.reason)
