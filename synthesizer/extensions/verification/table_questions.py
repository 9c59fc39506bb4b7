"""Tables of the confidential data: counts of cells, and means by groups.

The attack: with exact counts or sums, an attacker who has all rows except those of one person
subtracts them and gets that person's values; small cells reveal them directly. Masking small cells
would reveal that they are small, so every cell of the public levels gets noise.

The sensitivity: up to ``rows`` rows of a person count, chosen by the secret key and by that
person's rows alone (`QueryRows.first_rows`). Adding or removing a person changes as many counts by
1; changing the rows moves each from one cell to another, so the counts by at most 2 ``rows``
together. A mean sums whole numbers from -1,000 to 1,000: the position of a value between two public
ends, to which values are clipped. The sums of all groups change by at most 2,000 ``rows``. Rows
with a missing value in a variable of the table are left out, row by row.

Sums, not means, get noise: the number of rows of a group is itself confidential. Intervals contain
the number without noise with probability .95 or more. They follow from the distribution of the
noise and the released numbers, so they are free; they do not include sampling error.

If a person has more rows than count, a cell contains the persons whose drawn row is in it, not all
persons with a row in it. So answers name what they count, and cells of the variable of time are
refused, since a count of persons by the year of one drawn row would mislead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import ClassVar, Final, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from synthesizer.data.errors import plural
from synthesizer.data.expressions import quote_name
from synthesizer.data.table import FloatArray, IntArray, Table
from synthesizer.extensions.verification.answer import Answer
from synthesizer.extensions.verification.mechanisms import Mechanism
from synthesizer.extensions.verification.messages import WORDS
from synthesizer.extensions.verification.public_schema import PublicSchema
from synthesizer.extensions.verification.questions import QueryRows, Question, Released, Terms
from synthesizer.measures.figure import Row, column
from synthesizer.measures.utility.formulas import Atom, atom_values
from synthesizer.report.blocks import Block, Chart, interval, row_table, written
from synthesizer.report.charts import DotRow, dots

UNITS: Final = 1_000
"""Whole numbers on either side of the middle of a clipped value."""
MAX_CELLS: Final = 2_000
WIDTHS: Final = (1e-100, 1e100)
"""Limits of the width of a range of means, for floating-point numbers."""
Noisy = tuple[float | None, float, float]
"""A released number (None if it cannot be computed) and its interval of the noise."""
_MAX_DRAWN = 40
_ALTERNATIVES = re.compile(r"\bor\b|\bif\b|\bnot \(")
"""Words after which a part of a true condition may be false."""


@dataclass(frozen=True)
class Groups:
    """Cells of a table: all combinations of public levels."""

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the cells, in order."""
        return tuple(", ".join(cell) for cell in product(*self.levels)) if self.names else ("all",)

    @property
    def size(self) -> int:
        """Number of cells."""
        return prod(map(len, self.levels))

    def cells(self, table: Table) -> IntArray:
        """Return the cell of each row, -1 if a variable is missing, shape (n,)."""
        cells = np.zeros(table.n_rows, dtype=np.int64)
        for name, levels in zip(self.names, self.levels, strict=True):
            values = atom_values(Atom("C", name), table)
            order = {level: index for index, level in enumerate(levels)}
            # the last entry is for code -1
            of_code = np.array([*(order.get(v, -1) for v in values.labels or ()), -1])
            code = of_code[values.data.astype(np.int64)]
            cells = np.where((cells < 0) | (code < 0), -1, cells * len(levels) + code)
        return cells


@dataclass(frozen=True)
class PreparedCells:
    """Cells, ends to which values are clipped, and the synthetic numbers of the cells."""

    groups: Groups
    ends: tuple[float, float]
    synthetic: tuple[float | None, ...]
    what: str
    """Title: the content of each cell."""
    is_drawn: bool
    """Whether a person may have more rows than those that count."""


class OfCells(Question):
    """Base of questions about the cells of a table."""

    asks_of_model: ClassVar[bool] = False

    by: tuple[str, ...] = Field(default=(), max_length=5)
    """Variables whose levels make the cells; if absent all rows are one cell."""
    rows: int = Field(default=1, ge=1, le=10_000)
    """Limit of the rows of a person that count; the noise grows with it."""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len({*self.by}) < len(self.by):
            raise ValueError("by: name each variable once")
        return self

    @property
    def names(self) -> frozenset[str]:
        """The variables of the cells."""
        return frozenset(self.by)

    def canonical(self) -> Self:
        """Return the question with the variables of the cells sorted."""
        return super().canonical().model_copy(update={"by": tuple(sorted(self.by))})

    def problems(self, query: Terms, schema: PublicSchema) -> Iterator[str]:
        """Yield what the public schema does not allow."""
        for name in self.by:
            if not schema.levels(Atom("C", name)):
                yield WORDS["wrong"]["no_levels"].format(repr(name))
        if (cells := self.groups(schema).size) > MAX_CELLS:
            yield f"ask.by: {cells:,} cells are more than {MAX_CELLS:,}; leave a variable out"
        if self.rows > schema.rows_per_person:
            yield WORDS["wrong"]["rows"].format(plural(schema.rows_per_person, "row"))
        if schema.period and schema.period in self.by and self._draws(query, schema):
            last = schema.levels(Atom("C", schema.period))[-1]
            one = f"{quote_name(schema.period)} == {last if last.isdigit() else repr(last)}"
            wrong = WORDS["wrong"]["drawn_period"]
            yield wrong.format(schema.period, schema.rows_per_person, one, self.rows)

    def _draws(self, query: Terms, schema: PublicSchema) -> bool:
        """Whether a person may have more rows than count; not if the condition fixes a time."""
        times = schema.levels(Atom("C", schema.period)) if schema.period else ()
        text, name = query.subset or "", quote_name(schema.period or "")
        texts = {f"{name} == {spelt}" for one in times for spelt in (one, repr(one))}
        is_one_time = not _ALTERNATIVES.search(text) and texts & {*text.split(" and ")}
        each = 1 if is_one_time and schema.rows_per_person <= len(times) else schema.rows_per_person
        return self.rows < each

    def _prepared(
        self, query: Terms, schema: PublicSchema, ends: tuple[float, float],
        synthetic: Iterable[float | None],
    ) -> PreparedCells:  # fmt: skip
        is_drawn, known = self._draws(query, schema), WORDS["tables"][self.measure]
        what = known["rows" if self.rows > 1 else "drawn" if is_drawn else "persons"]
        what = what.format(self.rows, getattr(self, "of", ""))
        return PreparedCells(self.groups(schema), ends, tuple(synthetic), what, is_drawn)

    def groups(self, schema: PublicSchema) -> Groups:
        """Return the cells, from public levels."""
        return Groups(self.by, tuple(schema.levels(Atom("C", name)) for name in self.by))


class CountQuestion(OfCells):
    """How many persons are in each cell? One row of each person counts, or ``rows``."""

    measure: Literal["counts"] = "counts"

    def prepare(self, query: Terms, schema: PublicSchema, synthetic: QueryRows) -> PreparedCells:
        """Return the cells and the synthetic counts."""
        counts = self._counts(self.groups(schema), synthetic)
        return self._prepared(query, schema, (0.0, 1.0), map(float, counts))

    def mechanisms(self, query: Terms, prepared: PreparedCells) -> tuple[Mechanism, ...]:
        """Return the noise of all cells: changed rows move the counts by twice ``rows``."""
        return (Mechanism(prepared.groups.size, 2 * self.rows, query.micro_epsilon),)

    def whole_numbers(
        self, query: Terms, prepared: PreparedCells, view: QueryRows
    ) -> list[list[int]]:
        """Return the counts."""
        return [self._counts(prepared.groups, view).tolist()]

    def _counts(self, groups: Groups, view: QueryRows) -> IntArray:
        cells = groups.cells(view.first_rows(self.rows).table)
        return np.bincount(cells[cells >= 0], minlength=groups.size)

    def conclude(self, query: Terms, prepared: PreparedCells, released: Released) -> Answer:
        """Return the table with intervals of the noise."""
        (mechanism,) = self.mechanisms(query, prepared)
        reach = mechanism.within(0.95)
        numbers = [(max(0.0, n), max(0.0, n - reach), max(0.0, n + reach)) for n in released[0]]
        return _in_cells(prepared, released, numbers)


class MeanQuestion(OfCells):
    """What is the mean of a variable in each group?"""

    measure: Literal["means"] = "means"
    of: str = Field(min_length=1)
    """A numeric variable."""
    low: float | None = None
    """Lower values are moved to it; if absent, the lower limit of the public schema. The closer
    the two ends, the smaller the noise."""
    high: float | None = None
    """Higher values are moved to it."""

    @property
    def names(self) -> frozenset[str]:
        """The variables of the groups, and the variable of the means."""
        return frozenset({*self.by, self.of})

    def problems(self, query: Terms, schema: PublicSchema) -> Iterator[str]:
        """Yield what the public schema does not allow."""
        yield from super().problems(query, schema)
        if schema.variables[self.of].kind != "numeric":
            yield f"ask.of: {self.of!r} is not numeric; ask for counts by its levels"
            return
        low, high = self._ends(schema)
        least = max(1e-9 * max(abs(low), abs(high)), WIDTHS[0])
        if not least < high - low < WIDTHS[1]:
            key = "ask.high" if self.low is None else "ask.low"
            yield f"{key}: {low:g} must be clearly below {high:g}"

    def _ends(self, schema: PublicSchema) -> tuple[float, float]:
        low, high = schema.variables[self.of].ends
        return low if self.low is None else self.low, high if self.high is None else self.high

    def prepare(self, query: Terms, schema: PublicSchema, synthetic: QueryRows) -> PreparedCells:
        """Return the groups, the ends, and the synthetic means."""
        ends = self._ends(schema)
        sums, counts = self._totals(self.groups(schema), ends, synthetic)
        return self._prepared(query, schema, ends, means_of(sums, counts, ends))

    def mechanisms(self, query: Terms, prepared: PreparedCells) -> tuple[Mechanism, ...]:
        """Return the noise of sums and of counts."""
        return mechanisms_of_means(prepared.groups.size, self.rows, query.micro_epsilon)

    def whole_numbers(
        self, query: Terms, prepared: PreparedCells, view: QueryRows
    ) -> list[list[int]]:
        """Return sums and counts."""
        return [part.tolist() for part in self._totals(prepared.groups, prepared.ends, view)]

    def _totals(
        self, groups: Groups, ends: tuple[float, float], view: QueryRows
    ) -> tuple[IntArray, IntArray]:
        table = view.first_rows(self.rows).table
        values = atom_values(Atom("name", self.of), table).data.astype(np.float64)
        return totals_in(groups.cells(table), groups.size, values, ends)

    def conclude(self, query: Terms, prepared: PreparedCells, released: Released) -> Answer:
        """Return the means with intervals of the noise."""
        low, high = prepared.ends
        means = noisy_means(released, self.mechanisms(query, prepared), (low, high))
        return _in_cells(prepared, released, means, WORDS["tables"]["clipped"].format(low, high))


def mechanisms_of_means(size: int, rows: int, epsilon: int) -> tuple[Mechanism, Mechanism]:
    """Return the noise of sums, for three quarters of epsilon, and of counts, for the rest."""
    for_counts = max(1, epsilon // 4)
    return (
        Mechanism(size, 2 * UNITS * rows, epsilon - for_counts),
        Mechanism(size, 2 * rows, for_counts),
    )


def totals_in(
    cells: IntArray, size: int, values: FloatArray, ends: tuple[float, float]
) -> tuple[IntArray, IntArray]:
    """Return sums of clipped values in whole units from the middle, and counts, shapes (size,).

    Rows without a cell (-1) or with a missing value are in neither.
    """
    low, high = ends
    there = (cells >= 0) & ~np.isnan(values)
    clipped = np.clip(values[there], low, high)
    units = np.rint((clipped - (low + high) / 2) / ((high - low) / 2) * UNITS).astype(np.int64)
    units = np.clip(units, -UNITS, UNITS)
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, cells[there], units)
    return sums, np.bincount(cells[there], minlength=size)


def means_of(
    sums: IntArray, counts: IntArray, ends: tuple[float, float]
) -> tuple[float | None, ...]:
    """Return exact means of synthetic data; None of empty groups."""
    low, high = ends
    return tuple(
        (low + high) / 2 + (high - low) / 2 / UNITS * float(total / count) if count else None
        for total, count in zip(sums, counts, strict=True)
    )


def noisy_means(
    released: Released, mechanisms: Sequence[Mechanism], ends: tuple[float, float]
) -> list[Noisy]:
    """Return means of noisy sums and counts with intervals; None if too few rows remain.

    The interval combines those of the sum and of the count, each of 97.5 %.
    """
    low, high = ends
    reach_sum, reach_count = (mechanism.within(0.975) for mechanism in mechanisms)

    def value(share: float) -> float:
        return (low + high) / 2 + (high - low) / 2 * min(max(share, -1.0), 1.0)

    means: list[Noisy] = []
    for total, count in zip(*released, strict=True):
        fewest, most = count - reach_count, count + reach_count
        if fewest < 1:
            means.append((None, low, high))
            continue
        least, largest = total - reach_sum, total + reach_sum
        bottom = least / UNITS / (fewest if least < 0 else most)
        top = largest / UNITS / (most if largest < 0 else fewest)
        means.append((value(total / UNITS / count), value(bottom), value(top)))
    return means


def _in_cells(
    prepared: PreparedCells, released: Released, numbers: Sequence[Noisy], *others: str
) -> CellAnswer:
    """Return the answer with the number of each cell, its interval, and the synthetic one."""
    cells = tuple(
        ReleasedCell(cell=label, value=value, low=low, high=high, synthetic=there)
        for label, (value, low, high), there in zip(
            prepared.groups.labels, numbers, prepared.synthetic, strict=True
        )
    )
    outside = sum(c.synthetic is not None and not c.low <= c.synthetic <= c.high for c in cells)
    beside = WORDS["tables"]["other" if outside else "same"].format(outside, len(cells))
    far = [max(c.high - c.value, c.value - c.low) for c in cells if c.value is not None]
    reach = written(max(far, default=cells[0].high - cells[0].low))
    within = WORDS["tables"]["cells"].format(prepared.what, plural(len(cells), "cell"), reach)
    drawn = [WORDS["rows_drawn"]] * prepared.is_drawn
    words = (within, beside, *others, *drawn, WORDS["noise_only"])
    return CellAnswer(released=released, words=words, cells=cells, what=prepared.what)


class ReleasedCell(Row):
    """Cells of the confidential data with intervals of the noise, beside the synthetic data"""

    cell: str = column("Cell", "text")
    value: float | None = column("Released", "number", "with noise; the title names the quantity")
    low: float = column("2.5 %", "number", "end of the interval of the noise")
    high: float = column("97.5 %", "number", "end of the interval of the noise")
    synthetic: float | None = column("Synthetic", "number", "exact, of the synthetic data")

    @property
    def words(self) -> str:
        """The released number, in words."""
        if self.value is None:
            return "too few rows for an answer"
        return f"{written(self.value)} ({interval(self.low, self.high)})"


class CellAnswer(Answer):
    """A table of the confidential data."""

    what: str
    """Heading."""
    cells: tuple[ReleasedCell, ...]

    def blocks(self) -> Iterator[Block]:
        """Yield the cells with their intervals."""
        drawn = [
            DotRow(
                label=cell.cell,
                value=cell.synthetic,
                original=cell.value,
                original_ends=None if cell.value is None else (cell.low, cell.high),
                words=cell.words,
            )
            for cell in self.cells[:_MAX_DRAWN]
        ]
        first = self.cells[0]
        yield Chart(
            title=self.what,
            svg=dots(
                drawn,
                title=self.what,
                description=self.words[0],
                label=self.what,
                marks={"value": "synthetic data", "original": "confidential, with noise"},
            ),
            reads=WORDS["reads"]["cells"],
            summary=f"{first.cell}: {first.words}. {self.words[1]}",
            table=row_table(self.cells, self.what),
        )
