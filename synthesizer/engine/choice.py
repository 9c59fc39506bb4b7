"""Choose among weighted candidates: in balance, and with wanted margins.

A balanced choice gives two-way tables nearly their expected counts: every place of the result
chooses again among its candidates, as the draws of a chain do (`models.kit.balance`). Margins use
iterative proportional fitting (Deming and Stephan 1940) and balanced sampling by the cube method
(Deville and Tillé 2004, Biometrika 91).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synthesizer.data.errors import ModelError, Problems, listed
from synthesizer.data.panel.panel_table import first_numbers
from synthesizer.data.table import FloatArray, IntArray, Table
from synthesizer.engine.drawing import allocate, combinations_of
from synthesizer.models.kit.numerics import joined

MAX_GROUPS, MIN_CELL_ROWS = 12, 6
"""Groups of a variable in a balanced table; mean number of rows in a cell of two variables."""
PULL, SWEEPS, BATCHES = 300.0, 3, 300
"""Strength of the pull towards expected counts, rounds over all places, and parts of a round."""
MAX_CELLS = 20_000_000
"""Candidates times balanced tables, about; further tables are left out at random."""
MAX_REPEATS, MAX_OFF_SHARE = 4, 0.001
"""Most copies of a candidate; largest difference from a margin, as a share of the rows."""
MAX_ROUNDS, TOLERANCE = 500, 1e-9
"""Stopping rule of the proportional fitting: rounds, and relative distance from the totals."""
EPS = 1e-9


@dataclass(frozen=True, eq=False)
class Margin:
    """Wanted counts or shares of combinations of values."""

    cells: Table
    """The combinations, one row each."""
    shares: FloatArray
    """Their shares, which sum to 1."""
    total: float | None
    """Sum of the counts; None of shares."""
    origin: str
    """Name of its table, for messages."""

    def cell_of(self, table: Table) -> IntArray:
        """Return the cell of each row, -1 for none, shape (n,)."""
        n = self.cells.n_rows
        which = combinations_of(Table.concatenate([self.cells, table.select(self.cells.names)]))
        cell = np.full(which.max() + 1, -1)
        cell[which[:n]] = np.arange(n)
        return cell[which[n:]]


def systematic(
    shares: FloatArray, cell: IntArray, counts: IntArray, rng: np.random.Generator
) -> IntArray:
    """Return ``counts`` positions of each cell, drawn in proportion to shares that sum to 1.

    ``cell`` is the cell of each position, rising; a cell with a count needs positive shares.

    Examples
    --------
    >>> cells, shares = np.array([0, 0, 1, 1]), np.array([0.5, 0.5, 0.0, 1.0])
    >>> systematic(shares, cells, np.array([2, 1]), np.random.default_rng(1)).tolist()
    [0, 1, 3]
    """
    there, ends = _ends(shares, cell, counts)
    points = np.arange(counts.sum()) + np.repeat(rng.random(len(counts)), counts)
    return there[np.searchsorted(ends, points, side="right")]


def _ends(shares: FloatArray, cell: IntArray, counts: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the positions with a chance, and the cumulated expected numbers of their draws."""
    there = np.flatnonzero((shares > 0) & (counts[cell] > 0))
    ends = np.cumsum(shares[there] * counts[cell[there]])
    last = np.flatnonzero(np.diff(cell[there], append=-1))
    ends[last] = np.cumsum(counts[cell[there[last]]])
    return there, ends


def balanced(
    table: Table, shares: FloatArray, cell: IntArray, counts: IntArray, rng: np.random.Generator
) -> IntArray:
    """Return ``counts`` rows of each cell in proportion to shares, in random order within cells.

    As `systematic`, but the tables of all pairs of variables have nearly their expected counts.
    """
    order = rng.permutation(len(cell))
    order = order[np.argsort(cell[order], kind="stable")]
    there, ends = _ends(shares[order], cell[order], counts)
    starts, rows = np.append(0.0, ends[:-1]), order[there]
    if not len(rows):
        return rows
    # a place may be taken by each candidate whose interval overlaps with its own
    first = np.floor(starts + EPS).astype(np.int64)
    n_places = np.maximum(np.ceil(ends - EPS).astype(np.int64) - first, 1)
    entry = np.repeat(np.arange(len(rows)), n_places)
    place = np.arange(len(entry)) - np.repeat(np.cumsum(n_places) - n_places - first, n_places)
    inside = np.minimum(ends[entry], place + 1) - np.maximum(starts[entry], place)
    begin = np.searchsorted(place, np.arange(counts.sum() + 1))
    cells = _pair_cells(table.take_units(rows).unit_table, ends - starts, int(counts.sum()), rng)
    chosen = _chosen_again(cells, ends - starts, entry, np.log(np.maximum(inside, EPS)), begin, rng)
    return rows[chosen]


def _pair_cells(
    table: Table, expected: FloatArray, n_rows: int, rng: np.random.Generator
) -> IntArray:
    """Return the cell of each row in each table of two variables, numbered over all tables."""
    most = int(np.clip((n_rows / MIN_CELL_ROWS) ** 0.5, 2, MAX_GROUPS))
    groups = list[IntArray]()
    for column in table.columns:
        codes = combinations_of(Table([column]))
        groups.append(joined(np.bincount(codes, expected).astype(np.float64), most)[codes])
    groups = [group for group in groups if group.any()]
    pairs = list(combinations(range(len(groups)), 2)) or [(i, i) for i in range(len(groups))]
    kept = rng.permutation(len(pairs))[: max(1, MAX_CELLS // len(expected))]
    cells = np.zeros((len(expected), len(kept)), dtype=np.int64)
    for j, (one, other) in enumerate(pairs[k] for k in kept):
        cells[:, j] = (j * most + groups[one]) * most + groups[other]
    return cells


def _chosen_again(
    cells: IntArray,
    expected: FloatArray,
    entry: IntArray,
    logs: FloatArray,
    begin: IntArray,
    rng: np.random.Generator,
) -> IntArray:
    """Return the candidate that each place chooses: a Gibbs sampler, as in `models.kit.balance`.

    ``entry`` are the candidates of each place, from ``begin`` on, and ``logs`` their log-shares.
    """
    n_tables = cells.shape[1]

    def picked(scores: FloatArray, starts: IntArray) -> IntArray:
        keys = scores + rng.gumbel(size=len(scores))
        top = np.maximum.reduceat(keys, starts)
        return np.flatnonzero(keys == np.repeat(top, np.diff(starts, append=len(keys))))

    chosen = picked(logs, begin[:-1])
    if not n_tables:
        return entry[chosen]
    size = int(cells.max()) + 1
    mean = np.bincount(cells.ravel(), np.repeat(expected, n_tables), size)
    pull = PULL / n_tables / np.maximum(mean, 1.0)
    excess = np.bincount(cells[entry[chosen]].ravel(), minlength=size) - mean
    places = len(begin) - 1
    for _ in range(SWEEPS):
        for part in np.array_split(rng.permutation(places), min(BATCHES, places)):
            sizes = begin[part + 1] - begin[part]
            starts = np.cumsum(sizes) - sizes
            among = np.arange(sizes.sum()) + np.repeat(begin[part] - starts, sizes)
            excess -= np.bincount(cells[entry[chosen[part]]].ravel(), minlength=size)
            cost = (pull * (excess + 0.5))[cells[entry[among]]].sum(axis=1)
            chosen[part] = among[picked(logs[among] - cost, starts)]
            excess += np.bincount(cells[entry[chosen[part]]].ravel(), minlength=size)
    return entry[chosen]


def fitted_sums(
    start: FloatArray,
    cells: IntArray,
    totals: Sequence[FloatArray],
    max_rounds: int,
    tolerance: float,
) -> tuple[FloatArray, float]:
    """Return sums of cells, shape (c,), after proportional fitting to the totals of margins.

    Also return the largest relative distance from a total in the last round; the rounds end when
    it is within ``tolerance``. ``cells`` are the codes of each cell in each margin, (margins, c).

    Examples
    --------
    >>> cells, totals = np.array([[0, 0, 1, 1], [0, 1, 0, 1]]), [np.array([4.0, 6.0])] * 2
    >>> fitted_sums(np.ones(4), cells, totals, 9, 1e-9)[0].round(2).tolist()
    [1.6, 2.4, 2.4, 3.6]
    """
    raked, distance = start.astype(np.float64), np.inf
    for _ in range(max_rounds):
        distance = 0.0
        for codes, wanted in zip(cells, totals, strict=True):
            there = np.bincount(codes, weights=raked, minlength=len(wanted))
            off = np.abs(there - wanted) / np.where(wanted > 0, wanted, 1)
            distance = max(distance, float(off.max()))
            raked *= np.divide(wanted, there, out=np.zeros(len(wanted)), where=there > 0)[codes]
        if distance <= tolerance:
            break
    return raked, distance


def raked_choice(
    table: Table,
    shares: FloatArray,
    margins: Sequence[Margin],
    rows: int,
    rng: np.random.Generator,
) -> IntArray:
    """Return positions of ``rows`` candidates with the wanted margins, in random order.

    Groups of candidates with the same cells of all margins get the sums of proportional fitting
    to ``shares``. These are rounded by the cube method, which keeps the margins.

    Raises
    ------
    ModelError
        If a cell has no candidates, or too few.
    """
    cells = np.stack([margin.cell_of(table) for margin in margins], axis=1)
    inside = np.flatnonzero((cells >= 0).all(axis=1) & (shares > 0))
    groups, of_group = np.unique(cells[inside], axis=0, return_inverse=True)
    of_group = of_group.ravel()
    inside, of_group = inside[order := np.argsort(of_group, kind="stable")], of_group[order]
    counts = np.bincount(of_group, minlength=len(groups))
    sums = np.bincount(of_group, shares[inside], len(groups)).astype(np.float64)
    wanted = [np.array(allocate(rows, margin.shares.tolist()), dtype=float) for margin in margins]
    empty = [np.setdiff1d(np.flatnonzero(w), has) for w, has in zip(wanted, groups.T, strict=True)]
    words = "no candidate has the values of data rows"
    Problems(
        f"{margin.origin}: {words} {first_numbers(some)}; join cells, or write 0"
        for margin, some in zip(margins, empty, strict=True)
        if len(some)
    ).settle(ModelError)
    expected, _ = fitted_sums(sums, groups.T, wanted, MAX_ROUNDS, TOLERANCE)
    member = np.concatenate(
        [groups[:, k] == np.arange(len(w))[:, None] for k, w in enumerate(wanted)]
    ).astype(float)
    off = float(np.abs(member @ expected - np.concatenate(wanted)).max())
    worst = int((expected / counts).argmax())
    if off > max(1.0, MAX_OFF_SHARE * rows) or expected[worst] > MAX_REPEATS * counts[worst]:
        named = zip(margins, groups[worst] + 1, strict=True)
        at = [f"{margin.origin}: data row {row}" for margin, row in named]
        raise ModelError(
            f"margins: too few candidates: {counts[worst]:,} for {expected[worst]:,.0f} rows "
            f"({listed(at)}), and sums differ by {off:,.0f}; join rare cells, or correct them"
        )
    whole = _rounded(expected, member, rng).astype(np.int64)
    chosen = balanced(table.take(inside), shares[inside] / sums[of_group], of_group, whole, rng)
    return rng.permutation(inside[chosen])


def _rounded(expected: FloatArray, member: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return whole numbers with these expectations that keep sums, shape (groups,).

    ``member``, shape (sums, groups), contains the groups of each sum. The cube method: random
    steps inside the null space of the sums until numbers are whole. Sums are given up from the
    last one on if no step keeps all of them.
    """
    whole = np.floor(expected + EPS)
    rest = np.clip(expected - whole, 0.0, 1.0)
    open_ = np.flatnonzero((rest > EPS) & (rest < 1 - EPS))
    n_sums = len(member)
    while len(open_):
        part = open_[: n_sums + 1]
        step = np.linalg.svd(member[:n_sums, part])[2][-1] if n_sums else np.ones(1)
        if n_sums and np.abs(member[:n_sums, part] @ step).max() > EPS:
            n_sums -= 1
            continue
        step[np.abs(step) < EPS] = 0.0
        moves = np.flatnonzero(step)
        at, size = rest[part[moves]], step[moves]
        up = np.where(size > 0, (1 - at) / size, -at / size).min()
        down = np.where(size > 0, at / size, (at - 1) / size).min()
        far = up if rng.random() < down / (up + down) else -down
        rest[part[moves]] = at + far * size
        open_ = open_[(rest[open_] > EPS) & (rest[open_] < 1 - EPS)]
    return np.asarray(whole + np.round(rest))
