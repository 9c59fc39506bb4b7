"""Choosing theta, and comparing models of run lengths, by the likelihood of held-out persons.

Persons are split into folds; each fold's run lengths given G are judged by a model fitted to the
others. The model of a fold that has no person with some G is uniform on the simplex there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthesizer.careers.cells import CellPoints, cell_points
from synthesizer.careers.components import distinct_patterns
from synthesizer.careers.dirichlet import draw_dirichlet, fit_mixture
from synthesizer.careers.runs import Index, Runs
from synthesizer.careers.simplex import cell, centre, log_n_compositions
from synthesizer.data.table import FloatArray

__all__ = [
    "THETAS",
    "Group",
    "choose_theta",
    "held_out_bootstrap",
    "held_out_groups",
    "held_out_mixture",
    "held_out_patterns",
]

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
