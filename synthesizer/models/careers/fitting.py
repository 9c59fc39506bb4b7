"""Fitting the career model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from synthesizer.data.errors import ModelError
from synthesizer.data.table import FloatArray, Table
from synthesizer.models.careers.career_options import CareerOptions
from synthesizer.models.careers.dirichlet import (
    cell,
    centre,
    draw_dirichlet,
    fit_mixture,
    log_n_compositions,
)
from synthesizer.models.careers.fitted import FittedCareers
from synthesizer.models.careers.lengths import (
    CellPoints,
    FittedLengths,
    cell_points,
    distinct_patterns,
    fit_lengths,
)
from synthesizer.models.careers.match import Quota, fit_quota, match_cells, unfilled
from synthesizer.models.careers.runs import Codes, Index, Runs, check_sequences, to_runs
from synthesizer.models.careers.states import Career, StateTrees, fit_chain, fit_trees
from synthesizer.models.careers.support import Rules, fit_rules, possible_cells

# Choosing theta, and comparing models of run lengths, by the likelihood of held-out persons.

THETAS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
MAX_PERSONS = 400  # the work grows with the square of the distinct patterns
OWN_DRAWS = 256
LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class Group:
    """Persons with the same number of runs, and the folds they are in.

    Parameters
    ----------
    patterns : ndarray of int64, shape (P, G)
        Distinct excesses.
    folds : ndarray of int64, shape (F, P)
        Persons of each fold with each pattern.
    n_periods : int
        T.
    """

    patterns: Index
    folds: Index
    n_periods: int

    @property
    def total(self) -> int:
        """N = T - G."""
        return int(self.patterns[0].sum())

    def splits(self) -> Iterator[tuple[Index, Index]]:
        """Yield the counts of patterns to fit to and to judge by, each of shape (P,)."""
        for held in self.folds:
            yield self.folds.sum(axis=0) - held, held


def held_out_groups(
    runs: Runs,
    n_periods: int,
    *,
    n_folds: int = 5,
    max_persons: int = MAX_PERSONS,
    rng: np.random.Generator,
) -> list[Group]:
    """Split persons into folds and gather them by their number of runs.

    Parameters
    ----------
    runs : Runs
        Of n persons.
    n_periods : int
        T.
    n_folds : int
        Folds of about equal size; fewer where there are fewer persons.
    max_persons : int
        Of more persons with the same number of runs a random sample is used; more persons would
        bear a somewhat larger theta.
    rng : numpy.random.Generator
    """
    n_folds = min(n_folds, runs.n_persons)
    fold = rng.permutation(np.arange(runs.n_persons) % n_folds)
    groups = []
    for count in np.unique(runs.counts).tolist():
        rows = np.flatnonzero(runs.counts == count)
        if len(rows) > max_persons:
            rows = rng.choice(rows, size=max_persons, replace=False)
        patterns, member = distinct_patterns(runs.lengths_of(rows, count) - 1)
        cells = np.bincount(fold[rows] * len(patterns) + member, minlength=n_folds * len(patterns))
        groups.append(Group(patterns, cells.reshape(n_folds, -1), n_periods))
    return groups


def choose_theta(
    groups: Sequence[Group],
    thetas: Sequence[float] = THETAS,
    *,
    rng: np.random.Generator,
) -> tuple[float, dict[float, float]]:
    """Return the theta with the largest held-out log likelihood, and that of all of them."""
    values = held_out_patterns(groups, thetas, rng=rng)
    return max(values, key=lambda theta: values[theta]), values


def held_out_patterns(
    groups: Sequence[Group], thetas: Sequence[float], *, rng: np.random.Generator
) -> dict[float, float]:
    """Return the held-out log likelihood of ``components: patterns`` for each theta (finite)."""
    values = dict.fromkeys(thetas, 0.0)
    for group in groups:
        points = cell_points(group.patterns)
        flat = points.masses(np.ones((1, group.patterns.shape[1])))[:, 0]
        for theta in thetas:
            masses = _pattern_masses(group, points, theta, rng)
            for fitted, held in group.splits():
                n = fitted.sum()
                mass = masses @ (fitted / n) if n else flat
                values[theta] += _log_likelihood(held, mass)
    return values


def held_out_mixture(
    groups: Sequence[Group], n_components: int, *, rng: np.random.Generator
) -> float:
    """Return the held-out log likelihood of ``components: K``."""
    value = 0.0
    for group in groups:
        points = cell_points(group.patterns)
        logs = points.mean_logs()
        flat = points.masses(np.ones((1, group.patterns.shape[1])))[:, 0]
        for fitted, held in group.splits():
            mass = flat
            if fitted.any():
                seen = fitted > 0
                mixture = fit_mixture(
                    centre(group.patterns[seen]),
                    fitted[seen],
                    n_components,
                    mean_logs=logs[seen],
                    rng=rng,
                )
                mass = points.masses(mixture.alpha) @ mixture.weights
            value += _log_likelihood(held, mass)
    return value


def held_out_bootstrap(groups: Sequence[Group], additive: float) -> float:
    """Return the held-out log likelihood of the bootstrap with additive smoothing.

    The bootstrap draws observed patterns, so a held-out pattern that nobody else has makes its
    likelihood zero. ``additive`` persons spread evenly over all compositions make it finite.

    Parameters
    ----------
    groups : sequence of Group
    additive : float
        a >= 0: the probability of a pattern that n_e of n persons have is
        (n_e + a / C) / (n + a), C being the number of compositions.
    """
    value = 0.0
    for group in groups:
        even = np.exp(-log_n_compositions(group.n_periods, group.patterns.shape[1]))
        for fitted, held in group.splits():
            n = fitted.sum()
            if n + additive > 0:
                mass = (fitted + additive * even) / (n + additive)
                seen = held > 0
                if (mass[seen] <= 0).any():
                    return -np.inf
                value += float(held[seen] @ np.log(mass[seen]))
            elif held.any():
                return -np.inf
    return value


def _pattern_masses(
    group: Group, points: CellPoints, theta: float, rng: np.random.Generator
) -> FloatArray:
    """Return the mass of each pattern's cell under each pattern's component, shape (P, P).

    The mass of a component's own cell is the share of its draws that fall into it: with a large
    theta it is too narrow for the points that fill the cell.
    """
    if group.patterns.shape[1] == 1:
        return np.ones((1, 1))
    alpha = 1.0 + theta * (group.total + 1) * centre(group.patterns)
    masses = points.masses(alpha)
    drawn = draw_dirichlet(np.repeat(alpha, OWN_DRAWS, axis=0), rng=rng)
    own = np.repeat(group.patterns, OWN_DRAWS, axis=0)
    hits: npt.NDArray[np.bool_] = (cell(drawn, group.total) == own).all(axis=1)
    share = (hits.reshape(-1, OWN_DRAWS).sum(axis=1) + 0.5) / (OWN_DRAWS + 1)
    # Few hits: then the component is wide and the points do well.
    own_mass = np.where(share > 0.1, share, masses.diagonal())
    np.fill_diagonal(masses, own_mass)
    return masses


def _log_likelihood(held: Index, mass: FloatArray) -> float:
    seen = held > 0
    return float(held[seen] @ np.log(np.maximum(mass[seen], LEAST)))


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
