"""Who has offspring, and who survives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthesizer.genetic.coding import Integers
from synthesizer.genetic.options import Options

__all__ = ["Ranking", "crowding", "fitness", "fronts", "hypervolume", "ranking", "tournament"]

Floats = npt.NDArray[np.float64]


def fitness(points: Floats, *, weight: float = 0.5) -> Floats:
    """Return F in [0, 1], lower is better: the weighted distance from the origin, shape (N,).

    With equal weights it is sqrt(U^2 + R^2) / sqrt(2) (Chen, Taub and Elliot 2019, section 3.1).

    Parameters
    ----------
    points : ndarray, shape (N, 2)
        Utility and risk, both in [0, 1], lower is better.
    weight : float
        Of the utility, in [0, 1]; the risk has the rest.

    Examples
    --------
    >>> fitness(np.array([[0.6, 0.8]])).round(4).tolist()
    [0.7071]
    """
    return np.asarray(np.sqrt(points**2 @ np.array([weight, 1 - weight])))


def tournament(
    place: Integers, n_wins: int, *, size: int, probability: float, rng: np.random.Generator
) -> Integers:
    """Return the winners of tournaments, positions of candidates, shape (n_wins,).

    Candidates enter with replacement. The one of rank r within its tournament wins with probability
    p (1 - p)^r; what is left over goes to the last. With p = 1 the best one always wins.

    Parameters
    ----------
    place : ndarray of int, shape (N,)
        Place of every candidate, 0 is the best; ties are allowed.
    n_wins : int
        Tournaments.
    size : int
        Candidates of each, >= 1.
    probability : float
        p, in (0, 1].
    rng : numpy.random.Generator
        For candidates and winners.

    Examples
    --------
    >>> place, rng = np.array([2, 0, 1]), np.random.default_rng(1)
    >>> wins = tournament(place, 900, size=2, probability=1.0, rng=rng)
    >>> (np.bincount(wins) / 100).round().tolist()
    [1.0, 5.0, 3.0]
    """
    entered = rng.integers(len(place), size=(n_wins, size))
    order = np.argsort(place[entered], axis=1, kind="stable")
    if probability >= 1:
        rank = np.zeros(n_wins, dtype=np.int64)
    else:
        rank = np.minimum(rng.geometric(probability, n_wins) - 1, size - 1)
    row = np.arange(n_wins)
    return np.asarray(entered[row, order[row, rank]])


def fronts(points: Floats) -> Integers:
    """Return the number of the front of every point, 0 for those that none dominates, shape (N,).

    A point dominates another one if it is nowhere worse and somewhere better; lower is better
    (Deb et al. 2002, NSGA-II).

    Examples
    --------
    >>> fronts(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 2.0]])).tolist()
    [0, 0, 1, 2]
    """
    one, other = points[:, None, :], points[None, :, :]
    dominates = np.asarray((one <= other).all(axis=2) & (one < other).any(axis=2))
    front = np.full(len(points), -1, dtype=np.int64)
    number = 0
    while (front < 0).any():
        left = front < 0
        front[left & ~dominates[left].any(axis=0)] = number
        number += 1
    return front


def crowding(points: Floats, front: Integers) -> Floats:
    """Return the crowding distance of every point in its front, infinite at the ends, shape (N,).

    Examples
    --------
    >>> crowding(np.array([[0.0, 1.0], [0.5, 0.4], [1.0, 0.0]]), np.zeros(3, dtype=int)).tolist()
    [inf, 2.0, inf]
    """
    distance = np.zeros(len(points))
    for number in range(int(front.max()) + 1):
        members = np.flatnonzero(front == number)
        for values in points[members].T:
            order = np.argsort(values, kind="stable")
            own = members[order]
            distance[own[[0, -1]]] = np.inf
            width = values[order[-1]] - values[order[0]]
            if width > 0:
                distance[own[1:-1]] += (values[order[2:]] - values[order[:-2]]) / width
    return distance


def hypervolume(points: Floats) -> float:
    """Return the area of the unit square that some point dominates, in [0, 1], higher is better.

    Source: Zitzler and Thiele (1998); the reference point is (1, 1).

    Examples
    --------
    >>> hypervolume(np.array([[0.5, 0.5], [0.0, 0.75]])), hypervolume(np.zeros((0, 2)))
    (0.375, 0.0)
    """
    area, lowest = 0.0, 1.0
    for utility, risk in points[np.lexsort((points[:, 1], points[:, 0]))]:
        if risk < lowest:
            area += (1.0 - utility) * (lowest - risk)
            lowest = risk
    return float(area)


@dataclass(frozen=True, eq=False)
class Ranking:
    """The candidates of a generation in order.

    Parameters
    ----------
    order : ndarray of int, shape (N,)
        Positions of the candidates, the best one to have offspring first.
    place : ndarray of int, shape (N,)
        Place of every candidate in that order.
    chosen : int
        The candidate that would be the result.
    front : ndarray of int, shape (N,)
        Number of the front.
    aim : float
        What the evolution lowers: the result's value, or the area that no candidate dominates.
    """

    order: Integers
    place: Integers
    chosen: int
    front: Integers
    aim: float


def ranking(points: Floats, options: Options) -> Ranking:
    """Rank candidates by utility and risk, shape (N, 2)."""
    floored = np.column_stack((points[:, 0], np.maximum(points[:, 1], options.risk_floor or 0.0)))
    value = fitness(floored, weight=options.weight)
    if options.risk_at_most is not None:
        # within the limit by utility, then the others by their risk (Deb 2000)
        within = points[:, 1] <= options.risk_at_most
        value = np.where(within, points[:, 0], 1.0 + points[:, 1])
    # below the goal less risk is worth nothing, or it would be bought with utility
    sought = np.column_stack((points[:, 0], np.maximum(points[:, 1], options.goal or 0.0)))
    if options.sorts:
        ahead = fronts(sought)
        order = np.lexsort((value, -crowding(sought, ahead), ahead))
    else:
        order = np.argsort(value, kind="stable")
    # the area of what is sought, not of less risk than that
    aim = -hypervolume(sought) if options.mode == "pareto" else float(value.min())
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return Ranking(order, place, int(np.argmin(value)), fronts(points), aim)
