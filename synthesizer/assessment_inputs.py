"""What an assessment starts from: the request, the data as tables, everything wrong with both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any

from synthesizer.data.codes import Groups
from synthesizer.data.comparable import check_comparable, check_keys
from synthesizer.data.inference import Declaration
from synthesizer.data.pairs import Data, as_table, as_tables, column_names
from synthesizer.data.table import Table
from synthesizer.errors import DataError, SynthesizerError
from synthesizer.plan_names import values_in_periods
from synthesizer.randomness import MAX_SEED
from synthesizer.risk.exclusions import check_exclusions
from synthesizer.risk.public import InferenceResult, inference
from synthesizer.risk.scenario import Scenario
from synthesizer.risk.suite import Measures

__all__ = ["Files", "Question", "Request", "answered", "read_files", "sound_names"]


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
    """Everything that is asked about two data sets; see `synthesizer.assessment.assess`."""

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
        if self.attacks and find_spec("anonymeter") is None:
            yield "attacks need anonymeter: pip install 'synthesizer[attacks]'"
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
