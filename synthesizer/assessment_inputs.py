"""What an assessment starts from: the data as tables, and everything wrong with the question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from synthesizer.data.codes import Groups
from synthesizer.data.comparable import check_comparable, check_keys
from synthesizer.data.inference import Declaration
from synthesizer.data.pairs import Data, as_tables
from synthesizer.data.table import Table
from synthesizer.errors import DataError
from synthesizer.risk.exclusions import check_exclusions
from synthesizer.risk.public import InferenceResult, inference
from synthesizer.risk.scenario import Scenario

__all__ = ["Files", "Question", "asked_names", "checked", "read_files"]


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


@dataclass(frozen=True, eq=False)
class Files:
    """The data as tables; no control where there is none."""

    original: Table
    synthetic: tuple[Table, ...]
    control: Table | None


def asked_names(
    question: Question | None, by: str | None = None, units: str | None = None
) -> list[str]:
    """Return the variables that are needed beside keys and target."""
    names = [] if question is None else [question.sensitive, *question.public]
    return names + [name for name in (by, units) if name is not None]


def read_files(
    original: Data,
    synthetic: Sequence[Data],
    control: Data | None,
    names: Sequence[str],
    declared: Mapping[str, Declaration] | None,
) -> Files:
    """Return the named columns of all files as tables; raises DataError with every problem."""
    table, made = as_tables(original, synthetic, names, declared)
    if control is None:
        return Files(table, made, None)
    try:
        return Files(table, made, as_tables(table, control, names)[1][0])
    except DataError as error:  # it is read like a synthetic one, and must not be called so
        told = [problem.replace("synthetic dataset 1", "control") for problem in error.problems]
        raise DataError(told) from None


def checked(
    files: Files,
    scenario: Scenario,
    question: Question | None,
    *,
    by: str | None,
    units: str | None,
    with_attacks: bool,
) -> InferenceResult | None:
    """Answer the question; raise one DataError for everything wrong with what was asked."""
    every = (*scenario.names, *asked_names(question))
    named = [name for name in dict.fromkeys(every) if name in files.original]
    target: dict[str, Any] = {"keys": scenario.keys, "target": scenario.target}
    problems = [
        *_problems(partial(check_keys, files.original, **target, groups=scenario.groups)),
        *_problems(partial(check_comparable, files.original, files.synthetic, named)),
    ]
    if not problems and scenario.exclude:
        tables = [files.original, *files.synthetic]
        problems += _problems(partial(check_exclusions, tables, **target, exclude=scenario.exclude))
    problems += _control_problems(files, named, by, units, with_attacks=with_attacks)
    inferred = None
    if question is not None:
        try:
            inferred = _inferred(files, question)
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(dict.fromkeys(problems))
    return inferred


def _problems(check: Callable[[], object]) -> tuple[str, ...]:
    try:
        check()
    except DataError as error:
        return error.problems
    return ()


def _control_problems(
    files: Files,
    named: Sequence[str],
    by: str | None,
    units: str | None,
    *,
    with_attacks: bool,
) -> Iterator[str]:
    asked = {"by": by, "units": units, "attacks": "" if with_attacks else None}
    for what, value in asked.items():
        if value is not None and files.control is None:
            yield f"{what} needs a control file, records that were kept out of the fit: name one"
    for name in (by, units):
        if name is not None and name not in files.original:
            yield f"column {name!r} is not in the original: name one of its columns"
    for name in dict.fromkeys([*named, *(n for n in (by, units) if n is not None)]):
        if files.control is not None and name in files.original and name not in files.control:
            yield f"column {name!r} is not in the control file: add it"


def _inferred(files: Files, question: Question) -> InferenceResult:
    return inference(
        files.original,
        files.synthetic,
        sensitive=question.sensitive,
        public=question.public,
        positive=question.positive,
        baseline=question.baseline,
        groups=question.groups,
    )
