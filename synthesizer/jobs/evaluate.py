"""The utility of any two data sets, whoever made the synthetic ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synthesizer.data.errors import DataError, ExpressionError, SynthesizerError
from synthesizer.data.guessing import Declaration
from synthesizer.data.pairs import Data, as_table, as_tables, check_comparable, column_names
from synthesizer.data.progress import Listener, counted, silent
from synthesizer.data.randomness import MAX_SEED, Seed
from synthesizer.measures.figure import Attempts
from synthesizer.measures.utility.suite import (
    Synthesis,
    UtilityCollector,
    UtilityMeasures,
    UtilityResult,
    fit_names,
)
from synthesizer.plan.columns import values_in_periods


def evaluate(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    names: Sequence[str] | None = None,
    measures: UtilityMeasures | None = None,
    synthesis: Synthesis | None = None,
    declared: Mapping[str, Declaration] | None = None,
    seed: int = 0,
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
    measures : UtilityMeasures, optional
        What is computed, and how; models of researchers are named there.
    synthesis : Synthesis, optional
        How the data were made, which decides what is expected of them; all values drawn with fixed
        parameters when absent.
    declared : mapping of str to Declaration, optional
        Kinds and missing codes of variables; inferred from the original where absent.
    seed : int
        Decides the permutations of ``cart``, in [0, 2**63).
    n_jobs : int
        Threads of the trees; they do not change the result.
    listener : Listener, optional
        Is told about the progress.

    Returns
    -------
    UtilityResult
        With ``figures``, ``failed`` (measures and variables that could not be compared) and
        ``to_dict()``.

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
    measures = measures or UtilityMeasures()
    several = [synthetic] if isinstance(synthetic, Data) else list(synthetic or ())
    _check_request(original, several, names, measures, seed)
    attempts = Attempts()
    notes: tuple[str, ...] = ()
    if names is None:
        found = _comparable(original, several, declared)
        names, notes = found.names, found.notes
        attempts.failed.update(found.failed)
        if not names:
            raise DataError([*found.failed.values(), "there is no variable to compare"])
    names = tuple(dict.fromkeys(names))
    further = [name for fit in measures.fits for name in fit_names(fit) if _has(original, name)]
    table, tables = as_tables(original, several, [*names, *further], declared)
    check_comparable(table, tables, names)
    source = Seed(seed)
    collector = UtilityCollector(
        table,
        measures,
        lambda dataset: source.generator("propensity", dataset),
        attempts=attempts,
        names=names,
        synthesis=synthesis,
        n_jobs=n_jobs,
    )
    show = counted(listener, "compare")
    for number, made in enumerate(tables, start=1):
        collector.add(made)
        show(number, len(tables))
    return collector.finish(tables, notes=notes)


def _check_request(
    original: Data,
    synthetic: Sequence[Data],
    names: Sequence[str] | None,
    measures: UtilityMeasures,
    seed: int,
) -> None:
    problems = list(measures.problems)
    for fit in measures.fits:
        try:
            fit_names(fit)
        except ExpressionError as error:
            problems += [f"formula {fit.formula!r}: {problem}" for problem in error.problems]
    if not 0 <= seed <= MAX_SEED:
        problems.append(f"seed ({seed}) must be in 0 to 2**63 - 1")
    wrong = [type(data).__name__ for data in (original, *synthetic) if not isinstance(data, Data)]
    problems += [f"tables or pandas frames are needed, not {name}" for name in wrong]
    if not synthetic:
        problems.append("there is no synthetic dataset: give at least one")
    if not wrong:
        for name in names or ():
            if name not in column_names(original):
                views = values_in_periods(name, column_names(original))
                missing = f"variable {name!r} is not in the original: name its columns"
                problems.append(views or missing)
            problems += [
                f"variable {name!r} is not in synthetic dataset {number}: generate it too"
                for number, data in enumerate(synthetic, start=1)
                if name not in column_names(data)
            ]
    if problems:
        raise DataError(problems)


@dataclass(frozen=True)
class _Comparable:
    """Variables that can be compared, why others cannot, and what else should be known."""

    names: tuple[str, ...]
    failed: dict[str, str]
    notes: tuple[str, ...]


def _comparable(
    original: Data, synthetic: Sequence[Data], declared: Mapping[str, Declaration] | None
) -> _Comparable:
    """Look for variables that both sides have; one that cannot be read does not lose the others."""
    names = column_names(original)
    notes = [
        f"column {name!r} of synthetic dataset {number} is not in the original, and not compared"
        for number, data in enumerate(synthetic, start=1)
        for name in column_names(data)
        if name not in names
    ]
    failed: dict[str, str] = {}
    try:
        kept = _read(original, synthetic, names, declared)
    except SynthesizerError:
        kept = []
        for name in names:
            try:
                kept += _read(original, synthetic, [name], declared)
            except SynthesizerError as error:
                failed[f"column {name!r}"] = "; ".join(error.problems)
    ids = [name for name in names if name not in kept and f"column {name!r}" not in failed]
    if ids:
        notes.append(f"identifiers are not compared: {', '.join(ids)}")
    return _Comparable(tuple(kept), failed, tuple(notes))


def _read(
    original: Data,
    synthetic: Sequence[Data],
    names: Sequence[str],
    declared: Mapping[str, Declaration] | None,
) -> list[str]:
    """Return which of these variables are no identifiers; raises what is wrong with them."""
    kept = as_table(original, names, declared, ids=False)
    wanted = [name for name in names if name in kept]
    table, tables = as_tables(original, synthetic, wanted, declared)
    if wanted:
        check_comparable(table, tables, wanted)
    return wanted


def _has(data: Data, name: str) -> bool:
    """Whether a fit can have this variable; a name that is missing is told by the fit."""
    return name in column_names(data)
