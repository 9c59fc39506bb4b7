"""Choose among weighted candidates: in balance, and with wanted margins.

Whether a candidate is chosen is drawn in balance with all pairs of variables, as the draws of a
chain are (`models.kit.balance`): two-way tables have nearly their expected counts. Margins use
iterative proportional fitting (Deming and Stephan 1940) and balanced sampling by the cube method
(Deville and Tillé 2004, Biometrika 91).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from synthesizer.data.errors import ModelError, Problems, listed
from synthesizer.data.panel.panel_table import first_numbers
from synthesizer.data.table import FloatArray, IntArray, Table
from synthesizer.engine.drawing import allocate, combinations_of
from synthesizer.models.kit.balance import Balance, Groups
from synthesizer.models.kit.numerics import joined

MAX_GROUPS, MIN_CELL_ROWS = 12, 6
"""Groups of a variable in a balanced table; mean number of rows in a cell of two variables."""
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
    there = np.flatnonzero((shares > 0) & (counts[cell] > 0))
    ends = np.cumsum(shares[there] * counts[cell[there]])
    last = np.flatnonzero(np.diff(cell[there], append=-1))
    ends[last] = np.cumsum(counts[cell[there[last]]])
    points = np.arange(counts.sum()) + np.repeat(rng.random(len(counts)), counts)
    return there[np.searchsorted(ends, points, side="right")]


def balanced(
    table: Table, shares: FloatArray, cell: IntArray, counts: IntArray, rng: np.random.Generator
) -> IntArray:
    """Return ``counts`` rows of each cell in proportion to shares, in random order within cells.

    As `systematic`, but the tables of all pairs of variables have nearly their expected counts.
    """
    expected = shares * counts[cell]
    whole = np.floor(expected + EPS).astype(np.int64)
    chances = np.clip(expected - whole, 0.0, 1.0)
    rest = counts - np.bincount(cell, whole, len(counts)).astype(np.int64)
    first = systematic(chances / np.maximum(rest, 1)[cell], cell, rest, rng)
    is_in = np.isin(np.arange(len(cell)), first).astype(np.int64)
    some = np.flatnonzero(chances > EPS)
    factors = [Groups(cell[some].astype(np.int32), len(counts))]
    factors += _pairs(table.take_units(some).unit_table, expected[some], rng)
    of_both = np.stack([1.0 - chances[some], chances[some]], axis=1).astype(np.float32)
    balance = None
    if len(some):
        balance = Balance.of(factors, len(some), of_both.mean(axis=0), np.arange(2))
    if balance is not None:
        is_in[some] = balance.balanced(of_both, is_in[some], slice(0, len(some)), rng)
    # each cell keeps as many rows as it needs: rows that are in, then others by their chance
    keys = rng.exponential(size=len(cell)) / np.maximum(chances, EPS)
    order = np.lexsort((keys, -is_in, cell))
    number = np.arange(len(cell)) - np.searchsorted(cell, cell)
    whole[order] += number < rest[cell]
    chosen = rng.permutation(np.repeat(np.arange(len(cell)), whole))
    return chosen[np.argsort(cell[chosen], kind="stable")]


def _pairs(table: Table, expected: FloatArray, rng: np.random.Generator) -> Iterator[Groups]:
    """Yield the cells of tables of one or two variables, some at random if they are too many.

    The expected number of a row counts as a variable, so that rare choices stay rare.
    """
    most = int(np.clip((expected.sum() / MIN_CELL_ROWS) ** 0.5, 2, MAX_GROUPS))
    groups = list[IntArray]()
    ranks = np.unique(expected, return_inverse=True)[1]
    for codes in (ranks, *(combinations_of(Table([column])) for column in table.columns)):
        groups.append(joined(np.bincount(codes, expected).astype(np.float64), most)[codes])
    pairs = list(combinations_with_replacement([group for group in groups if group.any()], 2))
    for k in rng.permutation(len(pairs))[: MAX_CELLS // max(len(expected), 1)]:
        one, other = pairs[k]
        yield Groups((one * most + other).astype(np.int32), most * most)


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
