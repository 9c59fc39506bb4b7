"""Redraws of forbidden values: from the model, from wider neighbourhoods, from all values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Self

import numpy as np

from synthesizer.data.codes import Combinations
from synthesizer.data.table import BoolArray, Column, IntArray, Table, Variable
from synthesizer.models.domains import ChancesOf, Lookup, Masks
from synthesizer.models.kit.numbers import SafeNumbers, made_safe
from synthesizer.models.kit.numerics import check_rising

MAX_REDRAWS = 10
"""Draws from the neighbourhood of a row before it is widened."""

WIDENINGS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
"""Steps of wider neighbourhoods, before all values are searched."""

WIDENINGS_AT_ONCE = (0, 2, 8)
"""The same for limits that are not firm."""

MAX_IMPLIED_PAIRS = 2_000
"""Pairs that are limited only through a third variable."""

MAX_COPIES = 16
"""Draws of each row at once, for limits that are not firm."""

POOL_ROWS = 2_000
"""Draws among which an allowed value is searched."""

MAX_POOLS = 10
"""Number of such pools without a reserve."""

MAX_PAIRS = 1_000_000
"""Rows times values that are tried at once."""

Draw = Callable[[IntArray, int], Column]
"""Draws for the rows at some positions, from neighbourhoods wider by a number of steps."""

Judge = Callable[[IntArray, Column], BoolArray]
"""Returns which values, drawn for the rows at some positions, are forbidden."""

RESERVE_ROWS = 2_000
"""Random values of a reserve, besides each of the most frequent `MAX_RESERVE_VALUES`."""

MAX_RESERVE_VALUES = 5_000

REPEATED_STEPS = (2, 16, 64)
"""Whole steps, stay or move, that a refused row draws at once in every round.

The first allowed step is taken, so it has the distribution of the model given that it is allowed.
If all are refused the step must be a move, and then to stay.
"""

MAX_REPEATED_STEPS = 200_000
"""Whole steps of all rows that are drawn at once."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of the draws for some rows."""

    judge: Judge | None = None
    """Forbids structural zeros; None without any."""
    reserve: Column | None = None
    """Values that are searched if the model draws no allowed one."""
    firm: Judge | None = None
    """Judge of the firm limits; None if all are firm."""
    masks: Masks | None = None
    """The same limits as allowed codes, for a coded variable."""

    @property
    def binding(self) -> Judge | None:
        """Judge of the firm limits; None without limits."""
        return self.judge if self.firm is None else self.firm

    @property
    def strict(self) -> Limits:
        """The same limits, all firm."""
        return replace(self, firm=None, masks=self.masks and self.masks.strict)

    def of_rows(self, rows: IntArray) -> Limits:
        """Return the limits of some rows, whose positions count from 0."""

        def part(judge: Judge) -> Judge:
            return lambda chosen, values: judge(rows[chosen], values)

        return replace(self.changed(part), masks=self.masks and self.masks.of_rows(rows))

    def drawn_within(
        self, column: Column, rows: IntArray, chances: ChancesOf | None, rng: np.random.Generator
    ) -> tuple[Column, IntArray] | None:
        """Draw some rows among their allowed codes; see `Masks.drawn`."""
        if chances is None or self.masks is None:
            return None
        return self.masks.drawn(column, rows, chances, self.reserve, rng)

    def and_judge(self, other: Judge) -> Limits:
        """Return the limits with one more firm judge."""
        masks = self.masks and self.masks.and_judge(other)
        if self.judge is None:
            return replace(self, judge=other, masks=masks)

        def both(judge: Judge) -> Judge:
            return lambda rows, values: judge(rows, values) | other(rows, values)

        return replace(self.changed(both), masks=masks)

    def and_wish(self, may: BoolArray, variable: Variable) -> Limits:
        """Return the limits with one more soft limit: codes of rows, shape (n, n_codes)."""

        def new(rows: IntArray, values: Column) -> BoolArray:
            return np.asarray(~may[rows, values.data])

        def nothing(rows: IntArray, values: Column) -> BoolArray:  # noqa: ARG001
            return np.zeros(len(rows), dtype=bool)

        masks = Masks(variable) if self.judge is None else self.masks
        return replace(
            self.and_judge(new),
            firm=self.binding or nothing,
            masks=masks and replace(masks, soft=(*masks.soft, lambda rows: may[rows])),
        )

    def changed(self, change: Callable[[Judge], Judge]) -> Limits:
        """Return the limits after a change of the judges, without masks."""
        judge, firm = (None if one is None else change(one) for one in (self.judge, self.firm))
        return Limits(judge, self.reserve, firm)


def reserve_of(
    target: Column, rng: np.random.Generator, numbers: SafeNumbers | None = None
) -> Column:
    """Return random values of a variable, and each of its most frequent ones.

    ``numbers`` replaces rare numbers.
    """
    first, counts = _distinct(target, nan=0.0)
    each = first[np.argsort(-counts, kind="stable")][:MAX_RESERVE_VALUES]
    values = target.take(np.concatenate([rng.integers(len(target), size=RESERVE_ROWS), each]))
    return made_safe(values, numbers, rng)


def redrawn(
    column: Column,
    draw: Draw,
    limits: Limits,
    rng: np.random.Generator,
    free: IntArray | None = None,
    chances: ChancesOf | None = None,
) -> tuple[Column, IntArray]:
    """Return a column with allowed values, and the positions without one.

    Only the ``free`` indices are redrawn, by default all. If the model has ``chances``, all of
    them are drawn again if one is forbidden; see `Masks.drawn`. Otherwise forbidden rows are drawn
    by ``draw``, then from a pool of wide draws, then from the reserve. Rows that cannot satisfy all
    limits satisfy the firm ones.
    """
    judge, reserve = limits.judge, limits.reserve
    if judge is None:
        return column, np.zeros(0, dtype=np.int64)
    if free is None:
        free = np.arange(len(column))
    bad = free[judge(free, column.take(free))]
    drawn = limits.drawn_within(column, free, chances, rng) if len(bad) else None
    if drawn is not None:
        return drawn
    if limits.firm is not None and len(bad):
        column, bad = _redrawn_at_once(column, draw, limits, judge, rng, bad)
        judge = limits.firm
        bad = bad[judge(bad, column.take(bad))]
    for steps in (*[0] * MAX_REDRAWS, *WIDENINGS):
        if not len(bad):
            return column, bad
        trial = draw(bad, steps)
        column = column.replaced(bad, trial)
        bad = bad[judge(bad, trial)]
    for _ in range(MAX_POOLS if reserve is None else 1):
        if not len(bad):
            return column, bad
        pool = draw(np.resize(bad, max(POOL_ROWS, len(bad))), WIDENINGS[-1])
        column, bad = _searched(column, bad, pool, judge, rng)
    if reserve is None or not len(bad):
        return column, bad
    return _searched(column, bad, reserve, judge, rng)


def first_allowed(
    column: Column, rows: IntArray, copies: int, draw: Draw, widen: int, judge: Judge
) -> tuple[Column, IntArray]:
    """Draw ``copies`` values for each row and write the first allowed one.

    It has the distribution of a draw given that it is allowed. Also return rows without one.
    """
    each = np.repeat(rows, copies)
    trial = draw(each, widen)
    good = ~judge(each, trial).reshape(len(rows), copies)
    mended = np.flatnonzero(good.any(axis=1))
    chosen = mended * copies + good[mended].argmax(axis=1)
    return column.replaced(rows[mended], trial.take(chosen)), np.delete(rows, mended)


def repeated_steps(
    drawn: Column, free: IntArray, before: Column, step: Draw, judge: Judge
) -> Column:
    """Draw the steps of refused rows again: whether they move, and their new value.

    If staying is forbidden, only moves are drawn.
    """
    bad = free[judge(free, drawn.take(free))]
    if not len(bad):
        return drawn
    must = judge(bad, before.take(bad))
    for rows, wide in ((bad[~must], 0), (bad[must], 1)):
        for repeats in REPEATED_STEPS:
            if not len(rows):
                break
            copies = max(1, min(repeats, MAX_REPEATED_STEPS // len(rows)))
            drawn, rows = first_allowed(drawn, rows, copies, step, wide, judge)
    return drawn


def _redrawn_at_once(
    column: Column,
    draw: Draw,
    limits: Limits,
    judge: Judge,
    rng: np.random.Generator,
    bad: IntArray,
) -> tuple[Column, IntArray]:
    """Redraw one or more values in few calls of many draws each, then search the reserve."""
    for steps in WIDENINGS_AT_ONCE:
        copies = max(1, min(MAX_COPIES, MAX_PAIRS // len(bad)))
        column, bad = first_allowed(column, bad, copies, draw, steps, judge)
        if not len(bad):
            return column, bad
    pool = draw(np.resize(bad, max(POOL_ROWS, len(bad))), WIDENINGS[-1])
    return _searched(column, bad, limits.reserve or pool, judge, rng)


def _searched(
    column: Column, bad: IntArray, pool: Column, judge: Judge, rng: np.random.Generator
) -> tuple[Column, IntArray]:
    """Give each of a few rows a random allowed value of a pool, by the frequencies of the pool."""
    first, counts = _distinct(pool, nan=-np.inf)
    chance = np.log(counts)
    unsettled = []
    for rows in np.array_split(bad, -(-len(bad) * len(first) // MAX_PAIRS)):
        shape = (len(rows), len(first))
        trial = pool.take(np.tile(first, len(rows)))
        allowed = ~judge(np.repeat(rows, len(first)), trial).reshape(shape)
        # the largest of log chance plus Gumbel noise is a draw by these chances
        score = np.where(allowed, chance + rng.gumbel(size=shape), -np.inf)
        has_allowed = allowed.any(axis=1)
        column = column.replaced(
            rows[has_allowed], pool.take(first[score.argmax(axis=1)[has_allowed]])
        )
        unsettled.append(rows[~has_allowed])
    return column, np.concatenate(unsettled)


def _distinct(pool: Column, nan: float) -> tuple[IntArray, IntArray]:
    """Return positions of the distinct values of a pool, and their frequencies.

    Missing numbers are sorted as ``nan``.
    """
    key = np.nan_to_num(np.asarray(pool.data, dtype=np.float64), nan=nan)
    pairs = np.stack([key, pool.missing_state().astype(np.float64)])
    _, first, counts = np.unique(pairs, axis=1, return_index=True, return_counts=True)
    return first, counts


@dataclass(frozen=True, eq=False, kw_only=True)
class StructuralZeros:
    """The combinations of some variables that occur; all others are structural zeros.

    For pairs such as occupation and education, or pay plan and grade, whose combinations are mostly
    impossible. It reveals which combinations occur, not their frequency.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> plan = Variable(name="plan", kind=Kind.CATEGORICAL, levels=("GS", "ES"))
    >>> grade = Variable(name="grade", kind=Kind.CATEGORICAL, levels=("5", "none"))
    >>> codes = np.array([0, 1], dtype=np.int32)
    >>> data = Table([Column(plan, codes), Column(grade, codes)])
    >>> zeros = StructuralZeros.of(data, ("plan", "grade"), "grade")
    >>> drawn = Table([Column(plan, codes), Column(grade, codes[::-1])])
    >>> zeros.broken(data).tolist(), zeros.broken(drawn).tolist()
    ([False, False], [True, True])
    """

    combinations: Combinations
    """The variables and their values."""
    variable: str
    """The last variable in the order of the chain, which is redrawn."""
    known: IntArray
    """Numbers of the allowed combinations, rising."""
    excludes: bool = False
    """Whether ``known`` are forbidden combinations instead."""
    opened: float = 0.0
    """Probability that a combination without records is allowed."""
    is_firm: bool = True
    """Whether it must hold; otherwise only if a value satisfies all limits."""

    def __post_init__(self) -> None:
        check_rising("the combinations of structural zeros", self.known)
        if self.known[0] < 0:
            raise ValueError("the combinations of structural zeros must not be negative")
        if not 0.0 <= self.opened <= 1.0:
            raise ValueError("the chance of a combination must lie in [0, 1]")

    @classmethod
    def of(cls, table: Table, names: Sequence[str], variable: str) -> Self:
        """Return the combinations of ``names`` in a confidential table."""
        combinations = Combinations.of(table, names)
        known = np.unique(combinations.numbers(table))
        return cls(combinations=combinations, variable=variable, known=known)

    @property
    def names(self) -> frozenset[str]:
        """The variables of the combinations."""
        return frozenset(self.combinations.names)

    @property
    def text(self) -> str:
        """The rule as in the configuration."""
        return f"structural_zeros [{', '.join(self.combinations.names)}]"

    def broken(self, table: Table) -> BoolArray:
        """Return the rows with a forbidden combination, shape (n,)."""
        is_known = self.combinations.positions(table, self.known) >= 0
        return np.asarray(is_known if self.excludes else ~is_known)

    def lookup(self, table: Table) -> Lookup | None:
        """Return the allowed values by row of a table without the variable; None if too many."""
        return Lookup.of(table, self.combinations, self.known, excludes=self.excludes)


def with_implied(
    pairs: Mapping[tuple[str, str], float], order: Sequence[str]
) -> dict[tuple[str, str], float]:
    """Return pairs, and with probability 1 those that share a third variable; names in order.

    Examples
    --------
    >>> with_implied({("a", "c"): 0.0, ("b", "c"): 0.0}, "abc")
    {('a', 'c'): 0.0, ('b', 'c'): 0.0, ('a', 'b'): 1.0}
    """
    beside = _beside(pairs)
    implied = (
        pair
        for pair in combinations([name for name in order if name in beside], 2)
        if pair not in pairs and beside[pair[0]] & beside[pair[1]]
    )
    return dict(pairs) | dict.fromkeys(islice(implied, MAX_IMPLIED_PAIRS), 1.0)


def _beside(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Return the partners of each variable in pairs."""
    beside: dict[str, set[str]] = {}
    for one, two in pairs:
        beside.setdefault(one, set()).add(two)
        beside.setdefault(two, set()).add(one)
    return beside


def found_structural_zeros(
    table: Table, opened: Mapping[tuple[str, ...], float], rng: np.random.Generator
) -> Iterator[StructuralZeros]:
    """Yield structural zeros that are not firm; some combinations without records are allowed.

    ``opened`` are pairs and triples of variables, in order, with the probability that a combination
    without records is allowed. It stays forbidden if it leaves no value for a further variable in a
    pair or triple with it (path consistency, Montanari 1974, Networks of constraints, Information
    Sciences 7). A triple forbids combinations whose three pairs occur.
    """
    pairs = {(names[0], names[1]): chance for names, chance in opened.items() if len(names) == 2}
    yield from _found_pairs(table, pairs, rng)
    triples = {names: _Cells.of(table, names) for names in opened if len(names) == 3}
    joined = {pair: _Cells.of(table, pair) for pair in pairs if triples}
    for names, cells in triples.items():
        new = cells.of_known_pairs()
        is_open = rng.random(len(new)) < opened[names]
        for other in triples.values():
            is_open &= cells.leave_some(new, other, joined)
        closed = new[~is_open]
        if len(closed):
            yield StructuralZeros(
                combinations=cells.combinations,
                variable=names[-1],
                known=closed,
                excludes=True,
                opened=opened[names],
                is_firm=False,
            )


@dataclass(frozen=True, eq=False)
class _Cells:
    """The combinations of two or three variables in the data."""

    combinations: Combinations
    seen: BoolArray
    """One axis for each variable."""

    @classmethod
    def of(cls, table: Table, names: Sequence[str]) -> Self:
        combined = Combinations.of(table, names)
        seen = np.zeros([len(values) for values in combined.values], dtype=bool)
        seen.ravel()[combined.numbers(table)] = True
        return cls(combined, seen)

    def of_known_pairs(self) -> IntArray:
        """Return combinations of three values that do not occur but whose pairs do, rising."""
        may = ~self.seen
        for axis in range(3):
            may &= self.seen.any(axis=axis, keepdims=True)
        return np.flatnonzero(may)

    def leave_some(
        self, cells: IntArray, other: _Cells, pairs: Mapping[tuple[str, str], _Cells]
    ) -> BoolArray:
        """Return the cells for which another triple has a value of its further variable."""
        mine, others = self.combinations.names, other.combinations.names
        further = [name for name in others if name not in mine]
        if len(further) != 1:
            return np.ones(len(cells), dtype=bool)
        indices = dict(zip(mine, np.unravel_index(cells, self.seen.shape), strict=True))
        may = other._beside(indices, further[0])
        for name in mine:
            for pair in ((name, further[0]), (further[0], name)):
                if name not in others and pair in pairs:
                    may = may & pairs[pair]._beside(indices, further[0])
        return np.asarray(may.any(axis=1))

    def _beside(self, indices: Mapping[str, IntArray], name: str) -> BoolArray:
        """Return which values of a variable occur with values of the others, (k, n_values)."""
        names = self.combinations.names
        axis = names.index(name)
        return np.moveaxis(self.seen, axis, -1)[
            tuple(indices[other] for other in names if other != name)
        ]


def _found_pairs(
    table: Table, pairs: Mapping[tuple[str, str], float], rng: np.random.Generator
) -> Iterator[StructuralZeros]:
    values = {name: Combinations.of(table, [name]) for pair in pairs for name in pair}
    rows = {name: one.numbers(table) for name, one in values.items()}
    size = {name: len(one.values[0]) for name, one in values.items()}
    goes: dict[tuple[str, str], BoolArray] = {}
    for one, two in pairs:
        both = np.zeros((size[one], size[two]), dtype=bool)
        both[rows[one], rows[two]] = True
        goes[one, two], goes[two, one] = both, both.T
    base_pairs = [pair for pair, opened in pairs.items() if opened < 1.0]
    implied = [pair for pair in pairs if pairs[pair] == 1.0]
    allowed: dict[tuple[str, str], BoolArray] = {}
    # implied pairs follow from the data and limit the pairs that are opened next
    for part, others in ((implied, base_pairs), (base_pairs, list(pairs))):
        beside = _beside(others)
        for one, two in part:
            may = goes[one, two]
            if pairs[one, two] > 0.0:
                new = rng.random(may.shape) < pairs[one, two]
                for third in sorted(beside.get(one, set()) & beside.get(two, set())):
                    new &= _paths(goes[one, third], goes[third, two])
                may = may | new
            allowed[one, two] = may
        for one, two in part:
            if pairs[one, two] == 1.0:
                goes[one, two], goes[two, one] = allowed[one, two], allowed[one, two].T
    for (one, two), may in allowed.items():
        if not may.all():
            yield StructuralZeros(
                combinations=Combinations((one, two), values[one].values + values[two].values),
                variable=two,
                known=np.flatnonzero(may),
                opened=pairs[one, two],
                is_firm=False,
            )


def _paths(first: BoolArray, second: BoolArray) -> BoolArray:
    """Return which values have a common value of a third variable."""
    return np.asarray(first.astype(np.float32) @ second.astype(np.float32) > 0.5)
