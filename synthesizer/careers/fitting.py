"""Fitting the career model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from synthesizer.careers.choosing import THETAS, choose_theta, held_out_groups
from synthesizer.careers.fitted import FittedCareers
from synthesizer.careers.history import Career
from synthesizer.careers.lengths import FittedLengths, fit_lengths
from synthesizer.careers.match import Quota, fit_quota, match_cells, unfilled
from synthesizer.careers.options import CareerOptions
from synthesizer.careers.reach import possible_cells
from synthesizer.careers.runs import Codes, Index, Runs, check_sequences, to_runs
from synthesizer.careers.support import Rules, fit_rules
from synthesizer.careers.transitions import StateTrees, fit_chain, fit_trees
from synthesizer.data.table import Table
from synthesizer.errors import ModelError

__all__ = ["fit_careers"]

COPIED_RUNS = 100_000
RESERVE = 20  # observed careers kept for each number of runs
TRIALS = 2_000  # careers drawn to try what a draw will not be able to do


def fit_careers(
    sequences: npt.ArrayLike,
    n_states: int,
    persons: Table,
    options: CareerOptions,
    *,
    allowed: npt.ArrayLike | None = None,
    first_allowed: npt.ArrayLike | None = None,
    out_codes: Sequence[int] = (),
    rng: np.random.Generator,
) -> FittedCareers:
    """Fit the career model.

    Parameters
    ----------
    sequences : array_like of int, shape (n, T)
        State codes in [0, n_states); n and T >= 1.
    n_states : int
        A.
    persons : Table
        n rows of person-level predictors, maybe without columns.
    options : CareerOptions
    allowed : array_like of bool, shape (A, A), optional
        Which state may follow which; a row of False is an absorbing state.
    first_allowed : array_like of bool, shape (A,), optional
        Which state may come first.
    out_codes : sequence of int
        Codes of ``out``, used by ``match``; several where absence remembers what was before it.
    rng : numpy.random.Generator

    Returns
    -------
    FittedCareers

    Raises
    ------
    DataError
        If the sequences are empty or hold other codes.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> data = np.repeat([[0, 0, 1, 1, 1], [2, 2, 2, 2, 0]], 50, axis=0)
    >>> fitted = fit_careers(data, 3, Table([], 100), CareerOptions(theta=np.inf), rng=rng)
    >>> drawn = fitted.sample(Table([], 4), 4, rng=rng)
    >>> drawn.shape, set(map(tuple, drawn.tolist())) <= set(map(tuple, data.tolist()))
    ((4, 5), True)
    """
    array = check_sequences(sequences, n_states)
    n, n_periods = array.shape
    if persons.n_rows != n:
        raise ModelError(f"persons must have {n} rows, one for each career")
    wanted = options.person_predictors
    uses_persons = len(persons) > 0 if wanted is None else wanted and len(persons) > 0
    people = persons if uses_persons else Table([], n)
    rules = fit_rules(array, n_states, allowed, first_allowed)
    runs = to_runs(array)
    theta, notes = _theta(runs, n_periods, options, rng)
    lengths, own, more = fit_lengths(runs, n_periods, people, options, theta, rng=rng)
    career = Career(runs.counts, runs.length, n_states, runs.state)
    is_cart = options.transition == "cart"
    quota, lost = _quota(array, out_codes, rules) if options.match else (None, ())
    fitted = FittedCareers(
        n_states=n_states,
        n_periods=n_periods,
        theta=theta,
        uses_persons=uses_persons,
        lengths=lengths,
        rules=rules,
        chain=fit_chain(career, n_periods, options.concentration),
        trees=_fit_trees(career, lengths, own, people, options, rng) if is_cart else None,
        reserve=_reserve(array, runs, rules, rng),
        quota=quota,
        out_codes=tuple(int(code) for code in out_codes),
        oversample=options.oversample,
        notes=notes + more + lost,
    )
    return replace(fitted, notes=fitted.notes + _tried(fitted, people, rng))


def _quota(
    array: Codes, out_codes: Sequence[int], rules: Rules
) -> tuple[Quota | None, tuple[str, ...]]:
    """Return the cells that careers within the rules can have, and what had to be left out.

    The places of the others are shared out in proportion.
    """
    quota = fit_quota(array, out_codes)
    obeys = ~rules.violations(array)
    known = fit_quota(array[obeys], out_codes).cells if obeys.any() else quota.cells[:0]
    cells = np.concatenate([quota.cells, known])
    _, own, seen = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    possible = seen[own.reshape(-1)[: len(quota.cells)]] > 1
    doubtful = np.flatnonzero(~possible)
    possible[doubtful] = possible_cells(quota.cells[doubtful], rules, out_codes)
    if possible.all():
        return quota, ()
    persons = int(quota.counts[~possible].sum())
    note = (
        f"match: {persons} confidential persons have a first and last period and state between "
        "which the rules allow no career; their places go to the others in proportion"
    )
    kept = Quota(quota.cells[possible], quota.counts[possible]) if possible.any() else None
    return kept, (note,)


def _tried(fitted: FittedCareers, persons: Table, rng: np.random.Generator) -> tuple[str, ...]:
    """Draw some careers to tell what cannot be kept."""
    n = min(persons.n_rows, TRIALS)
    few = persons.take(np.sort(rng.permutation(persons.n_rows)[:n]))
    notes = []
    stuck = fitted.count_observed(few, rng=rng)
    if stuck:
        notes.append(
            f"of {n} careers drawn to try, {stuck} found no states that the rules and the periods "
            "of the states allow, and would be careers of confidential persons; loosen the rules, "
            "or raise theta"
        )
    if fitted.quota is not None and len(fitted.reserve):
        cells = match_cells(fitted.sample(few, n, rng=rng), fitted.out_codes)
        empty = unfilled(fitted.quota, cells)
        if empty:
            notes.append(
                f"match: of {n} careers drawn to try, {empty} found no place, and as many places "
                "stayed empty, since hardly any run lengths lead there; raise oversample, or lower "
                "theta"
            )
    return tuple(notes)


def _fit_trees(
    career: Career,
    lengths: FittedLengths,
    own: Index,
    persons: Table,
    options: CareerOptions,
    rng: np.random.Generator,
) -> StateTrees:
    """Grow the trees of states on lengths that are blurred as those of drawn careers will be.

    The trees learn W given Z from (W, Z) of the persons with Z redrawn from the own component,
    hence from the joint distribution that the model has, and see in the fit what they will see in
    a draw. With few persons each enters several times, so that the blur is averaged.
    """
    runs = career.runs
    exact = lengths.components[0].theta == np.inf and options.components == "patterns"
    copies = 1 if exact else int(np.clip(COPIED_RUNS // len(runs.length), 1, options.copies))
    counts, state = np.tile(runs.counts, copies), np.tile(runs.state, copies)
    length = lengths.redraw(counts, np.tile(own, copies), rng=rng)
    people = persons.take(np.tile(np.arange(runs.n_persons), copies))
    blurred = Career(counts, length, career.n_states, state)
    grown = replace(options, min_leaf=options.min_leaf * copies)
    return fit_trees(blurred, people, grown, rng=rng)


def _theta(
    runs: Runs, n_periods: int, options: CareerOptions, rng: np.random.Generator
) -> tuple[float, tuple[str, ...]]:
    if options.theta != "auto":
        return float(options.theta), ()
    if options.components != "patterns" or runs.n_persons < 2:
        return float(CareerOptions.theta), ()
    theta, _ = choose_theta(held_out_groups(runs, n_periods, rng=rng), rng=rng)
    told = f"theta {theta:g} maximises the likelihood of held-out persons"
    edge = " among those tried" if theta in (min(THETAS), max(THETAS)) else ""
    return theta, (told + edge,)


def _reserve(array: Codes, runs: Runs, rules: Rules, rng: np.random.Generator) -> Codes:
    """Keep a few observed careers that obey the rules, for every number of runs."""
    kept = []
    for count in np.unique(runs.counts).tolist():
        rows = rng.permutation(np.flatnonzero(runs.counts == count))[: 50 * RESERVE]
        rows = rows[~rules.violations(array[rows])]
        kept.append(rows[:RESERVE])
    return np.asarray(array[np.concatenate(kept)])
