"""The utility of any two data sets, whoever made the synthetic ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from synthesizer.data.errors import DataError, ExpressionError, SynthesizerError
from synthesizer.data.guessing import Declaration
from synthesizer.data.pairs import Data, as_table, as_tables, check_comparable, column_names
from synthesizer.data.panel.frame import Frame
from synthesizer.data.progress import Listener, counted, silent
from synthesizer.data.randomness import MAX_SEED, Seed
from synthesizer.jobs.assess import Settings, sound_settings
from synthesizer.measures.checks import Checks
from synthesizer.measures.results import CheckResults
from synthesizer.measures.settings import CheckSettings
from synthesizer.measures.utility.suite import Synthesis, UtilityResult
from synthesizer.plan.columns import values_in_periods


def evaluate(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    names: Sequence[str] | None = None,
    settings: Settings | None = None,
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
    settings : CheckSettings or mapping, optional
        What is computed, and how; the keys are those under ``checks:`` of a configuration. Models
        of researchers are named there (``fits``).
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
        original,
        [synthetic] if isinstance(synthetic, Data) else list(synthetic or ()),
        sound,
        names=names,
        synthesis=synthesis,
        declared=declared,
        seed=seed,
        n_jobs=n_jobs,
        listener=listener,
        problems=faults,
    )
    if results.utility is None:
        raise DataError("no measure of utility is switched on")
    return results.utility


def utility_of(
    original: Data,
    synthetic: Sequence[Data],
    settings: CheckSettings,
    *,
    names: Sequence[str] | None = None,
    synthesis: Synthesis | None = None,
    declared: Mapping[str, Declaration] | None = None,
    frame: Frame | None = None,
    person: str | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    listener: Listener = silent,
    problems: Sequence[str] = (),
) -> CheckResults:
    """Return the utility checks of data; `evaluate` explains the arguments.

    ``frame`` and ``person`` hold the periods and the column of persons where all data are
    `PersonView`; ``problems`` are told with those of the data.
    """
    problems = [*problems, *_problems(original, synthetic, names, settings, seed)]
    if problems:
        raise DataError(problems)
    common = _Common((), {}, ())
    if names is None:
        common = _common(original, synthetic, declared)
        names = common.names
        if not names:
            raise DataError([*common.failed.values(), "there is no variable to compare"])
    names = tuple(dict.fromkeys(names))
    # a name that is missing is told by the fit
    further = [n for fit in settings.fits for n in fit.names if n in column_names(original)]
    table, tables = as_tables(original, synthetic, [*names, *further], declared)
    check_comparable(table, tables, names)
    checks = Checks(
        table,
        settings.about("utility"),
        seed=Seed(seed),
        synthesis=synthesis,
        names=names,
        frame=frame,
        person=person,
        workers=n_jobs,
    )
    show = counted(listener, "compare")
    for number, made in enumerate(tables, start=1):
        checks.add(made)
        show(number, len(tables))
    return checks.finish(notes=common.notes, failed=common.failed)


def _problems(
    original: Data,
    synthetic: Sequence[Data],
    names: Sequence[str] | None,
    settings: CheckSettings,
    seed: int,
) -> Iterator[str]:
    for fit in settings.fits:
        try:
            _ = fit.names
        except ExpressionError as error:
            yield from (f"formula {fit.formula!r}: {problem}" for problem in error.problems)
    if not 0 <= seed <= MAX_SEED:
        yield f"seed ({seed}) must be in 0 to 2**63 - 1"
    wrong = [type(data).__name__ for data in (original, *synthetic) if not isinstance(data, Data)]
    yield from (f"tables or pandas frames are needed, not {name}" for name in wrong)
    if not synthetic:
        yield "there is no synthetic dataset: give at least one"
    for name in names or () if not wrong else ():
        if name not in column_names(original):
            views = values_in_periods(name, column_names(original))
            yield views or f"variable {name!r} is not in the original: name its columns"
        for number, data in enumerate(synthetic, start=1):
            if name not in column_names(data):
                yield f"variable {name!r} is not in synthetic dataset {number}: generate it too"


@dataclass(frozen=True)
class _Common:
    """Variables that can be compared, why others cannot, and what else should be known."""

    names: tuple[str, ...]
    failed: Mapping[str, str]
    notes: tuple[str, ...]


def _common(
    original: Data, synthetic: Sequence[Data], declared: Mapping[str, Declaration] | None
) -> _Common:
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
    return _Common(tuple(kept), failed, tuple(notes))


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
