"""Questions about a coefficient of a model of the confidential data.

All count partitions. A keyed hash of the names divides the persons into M groups, the model is
fitted to each group alone, and the answer is the noisy number of groups in which a statement about
the coefficient holds (Barrientos, Bolton, Balmat, Reiter, de Figueiredo, Machanavajjhala, Chen,
Kneifel and DeLong 2018, Annals of Applied Statistics 12, section 4: sub-sample and aggregate,
Nissim, Raskhodnikova and Smith 2007).

The attack: somebody who has all rows except those of one person asks how often a statement holds.
An exact count would reveal on which side the group of that person falls. The sensitivity: all rows
of a person are in one group, since the hash depends on the name alone. Adding, removing or changing
a person changes the fit of one group, so the count by at most 1; the three counts (yes, no, without
a fit) change by at most 1 each, together 2. The category of a group without a fit is fixed before.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import BaseModel, Field, model_validator

from synthesizer.data.codes import positions_in
from synthesizer.data.errors import DataError, did_you_mean
from synthesizer.data.randomness import Seed
from synthesizer.data.table import BoolArray, FloatArray, IntArray
from synthesizer.extensions.verification.answer import Answer, ShareAnswer
from synthesizer.extensions.verification.mechanisms import Mechanism
from synthesizer.extensions.verification.messages import WORDS
from synthesizer.extensions.verification.partition_fits import (
    PartitionFits,
    PartitionRows,
    fit_partitions,
)
from synthesizer.extensions.verification.public_schema import PublicSchema
from synthesizer.extensions.verification.questions import QueryRows, Question, Released, Terms
from synthesizer.measures.figure import Result
from synthesizer.measures.utility.formulas import coefficient_parts
from synthesizer.report.blocks import Block, value_table, written


class CoefficientRange(Result):
    """A closed range for a number."""

    low: float | None
    """None: no lower end."""
    high: float | None
    """None: no upper end."""

    def holds(self, values: FloatArray) -> FloatArray:
        """Return whether each value lies in it, as 0 and 1; NaN for missing values."""
        low, high = self.ends
        return np.where(np.isnan(values), np.nan, (values >= low) & (values <= high))

    def beyond(self, values: FloatArray) -> list[BoolArray]:
        """Return for each existing end which values lie beyond it."""
        ends = (values < self.ends[0], self.low), (values > self.ends[1], self.high)
        return [is_beyond for is_beyond, end in ends if end is not None]

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends as numbers."""
        return -inf if self.low is None else self.low, inf if self.high is None else self.high

    @property
    def words(self) -> str:
        """The predicate of a sentence about a number."""
        if self.low is None and self.high is None:
            return "is any number"
        if self.low is None:
            return f"is at most {self.high:g}"
        if self.high is None:
            return f"is at least {self.low:g}"
        return f"lies between {self.low:g} and {self.high:g}"


class OfCoefficient(Question):
    """Base of questions about one coefficient."""

    _identified_in: ClassVar[str] = "the synthetic data"

    coefficient: str = Field(min_length=1, max_length=2_000)
    """Name in the model: ``race[Black]``, ``I(age ** 2)``, ``sex[F]:age``."""

    def canonical(self) -> Self:
        """Return the question with the canonical spelling of the coefficient."""
        spelt = ":".join(coefficient_parts(self.coefficient))
        return super().canonical().model_copy(update={"coefficient": spelt})

    def problems(self, query: Terms, schema: PublicSchema) -> Iterator[str]:
        """Yield a problem if the model has no such coefficient, with the most similar one."""
        model = query.model(schema)
        if model.position(self.coefficient) is None:
            other = f"name one of its {len(model.names)} coefficients"
            hint = did_you_mean(self.coefficient, model.names, other)
            yield f"ask.coefficient: the model has no {self.coefficient!r}; {hint}"

    def estimates(self, query: Terms, schema: PublicSchema, synthetic: QueryRows) -> FloatArray:
        """Return the quantity of the question in all synthetic data, shape (statements,)."""
        return self.identified(self.numbers(query, schema, synthetic, 1)[:, 0])

    def estimate(
        self, query: Terms, schema: PublicSchema, synthetic: QueryRows
    ) -> tuple[float, float]:
        """Return the coefficient and its standard error in all synthetic data."""
        fits = self.fits(query, schema, synthetic, synthetic.partition(1), 1)
        return float(self.identified(fits.coefficients[0])[0]), float(fits.errors[0, 0])

    def identified(self, values: FloatArray) -> FloatArray:
        """Return values of the synthetic data; DataError if one is missing."""
        if np.isnan(values).any():
            wrong = WORDS["wrong"]["unidentified_coefficient"]
            raise DataError(wrong.format(self._identified_in, self.coefficient))
        return values

    def numbers(self, query: Terms, schema: PublicSchema, view: QueryRows, m: int) -> FloatArray:
        """Return the quantity of the question in m groups of persons, shape (statements, m).

        A group without a fit has NaN; with m = 1 all persons are one group.
        """
        return self.fits(query, schema, view, view.partition(m), m).coefficients.T

    def fits(
        self, query: Terms, schema: PublicSchema, view: QueryRows, groups: IntArray, n_groups: int
    ) -> PartitionFits:
        """Return the coefficient in each group of rows, shapes (n_groups, 1)."""
        model = query.model(schema)
        index = model.position(self.coefficient) or 0
        y, X, rows = model.columns_of(view.table)
        if view.is_rehearsal:  # rows with missing values, too: time must not depend on them
            draw, rows = Seed(0).generator("rehearsal"), np.ones(len(view.owners), dtype=np.bool_)
            y = draw.integers(0, 2, len(rows)).astype(np.float64)
            X = draw.normal(size=(len(rows), X.shape[1]))
        complete, effects = np.ones(len(y), dtype=bool), []
        for name in model.formula.effects:
            if name == schema.person:
                effects.append(view.numbers[rows])
                continue
            column = view.table[name]
            # codes of the row alone: positions among the levels of all rows would let one person
            # change the order in which the rows of other groups are added up
            effects.append(_value_codes(column.data)[rows])
            complete &= column.is_observed[rows]
        at = np.flatnonzero(rows)[complete]
        regression = PartitionRows(
            y[complete],
            X[complete],
            tuple(e[complete] for e in effects),
            view.numbers[at],
            groups[at].astype(np.int64),
        )
        fits = fit_partitions(regression, n_groups, query.family)
        at_place = slice(index, index + 1)
        return PartitionFits(fits.coefficients[:, at_place], fits.errors[:, at_place])


def _value_codes(data: NDArray[Any]) -> NDArray[np.int64]:
    """Return a whole number for each value, by its bits alone; -0 counts as 0."""
    return np.asarray(data + 0.0).view(np.int64)


@dataclass(frozen=True)
class Statements:
    """Statements to count in the partitions, with their results in the synthetic data."""

    schema: PublicSchema
    words: tuple[str, ...]
    estimates: tuple[float | None, ...]
    holds: tuple[bool, ...]
    ranges: tuple[CoefficientRange, ...]
    """Ranges of the numbers: one per statement, or all of one statement."""
    unfitted: tuple[float, ...] = ()
    """Share of M synthetic partitions without a fit, per statement."""


class Counted(OfCoefficient):
    """Questions whose answers are numbers of partitions in which statements hold."""

    reports_errors: ClassVar[bool] = True

    def mechanisms(self, query: Terms, prepared: Statements) -> tuple[Mechanism, ...]:
        """Return one or three counts for each statement; they share epsilon."""
        size, distance = (3, 2) if query.errors == "report" else (1, 1)
        epsilon = query.micro_epsilon // len(prepared.words)
        one = Mechanism(size, distance, epsilon, bounds=(0, query.partitions))
        return (one,) * len(prepared.words)

    def whole_numbers(self, query: Terms, prepared: Statements, view: QueryRows) -> list[list[int]]:
        """Return how many partitions are in each category."""
        numbers = self.numbers(query, prepared.schema, view, query.partitions)
        return self.counts(query, prepared, numbers)

    def counts(self, query: Terms, prepared: Statements, numbers: FloatArray) -> list[list[int]]:
        """Return the numbers of partitions with yes and, if errors are reported, no and no fit."""
        size = self.mechanisms(query, prepared)[0].size
        return [
            [int((h == 1).sum()), int((h == 0).sum()), int(np.isnan(h).sum())][:size]
            for h in self.outcomes(prepared, numbers)
        ]

    def prepare(self, query: Terms, schema: PublicSchema, synthetic: QueryRows) -> Statements:
        """Return the statements, with the share of synthetic partitions without a fit."""
        stated = self.stated(schema, self.estimates(query, schema, synthetic))
        return self.with_unfitted(stated, self.numbers(query, schema, synthetic, query.partitions))

    def with_unfitted(self, stated: Statements, numbers: FloatArray) -> Statements:
        """Return statements with the share of partitions of the synthetic data without a fit."""
        holds = self.outcomes(stated, numbers)
        return replace(stated, unfitted=tuple(float(np.isnan(h).mean()) for h in holds))

    @abstractmethod
    def stated(self, schema: PublicSchema, estimates: FloatArray) -> Statements:
        """Return the statements, and whether they are true of all synthetic data."""

    def outcomes(self, prepared: Statements, numbers: FloatArray) -> list[FloatArray]:
        """Return for each statement whether it holds, shape (M,): 1, 0, NaN without a fit."""
        holds = [where.holds(n) for where, n in zip(prepared.ranges, numbers, strict=True)]
        if len(prepared.words) == len(holds):
            return holds
        # all of one statement: NaN if any has no fit
        return [np.prod(holds, axis=0)]

    def conclude(self, query: Terms, prepared: Statements, released: Released) -> Answer:
        """Return the posterior of the share of partitions in which each statement holds."""
        return ShareAnswer.of(
            released,
            partitions=query.partitions,
            scales=[m.scale for m in self.mechanisms(query, prepared)],
            statements=zip(
                prepared.words, prepared.estimates, prepared.holds, prepared.unfitted, strict=True
            ),
        )


class OfRange(Counted):
    """Base of questions whether the coefficient lies in a range."""

    @abstractmethod
    def range_about(self, estimate: float) -> CoefficientRange:
        """Return the range of the coefficient, given the synthetic estimate."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        keys = [key for key in _RANGE_KEYS if key in type(self).model_fields]
        if sum(getattr(self, key) is not None for key in keys) != 1:
            raise ValueError(f"write one of {', '.join(keys[:-1])} and {keys[-1]}")
        return self

    def stated(self, schema: PublicSchema, estimates: FloatArray) -> Statements:
        """Return the statement, and whether it is true of the synthetic data."""
        estimate = float(estimates[0])
        where = self.range_about(estimate)
        words = f"{self.coefficient} {where.words}"
        holds = bool(where.holds(estimates)[0])
        return Statements(schema, (words,), (estimate,), (holds,), (where,))


_RANGE_KEYS = ("below", "above", "between", "share", "within")


class Ends(BaseModel):
    """A range with ends that the researcher writes."""

    below: float | None = None
    """At most this."""
    above: float | None = None
    """At least this."""
    between: tuple[float, float] | None = None
    """From the first to the second."""

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if self.between is not None and self.between[0] >= self.between[1]:
            raise ValueError(f"between must rise, not {list(self.between)}")
        return self

    def range_about(self, estimate: float) -> CoefficientRange:
        """Return the range."""
        low, high = self.between or (self.above, self.below)
        return CoefficientRange(low=low, high=high)


class Nearness(BaseModel):
    """The synthetic estimate plus and minus a ``share`` of its size, or plus and minus ``within``.

    Section 4.1 of the paper, at its end.
    """

    share: float | None = Field(default=None, gt=0, le=1)
    within: float | None = Field(default=None, gt=0)

    def range_about(self, estimate: float) -> CoefficientRange:
        """Return the range around the estimate; DataError for a share of 0."""
        reach = self.within if self.within is not None else (self.share or 0.0) * abs(estimate)
        if reach <= 0:
            raise DataError("ask.share: the synthetic estimate is 0; name a distance (within)")
        return CoefficientRange(low=estimate - reach, high=estimate + reach)


class Interval(Ends, OfRange):
    """Does the coefficient lie below a number, above it, or between two?

    Section 4.1 of the paper, with gamma_0 under ``below``.
    """

    measure: Literal["interval"] = "interval"


class Tolerance(Nearness, OfRange):
    """Does the coefficient lie near the synthetic one?"""

    measure: Literal["tolerance"] = "tolerance"


class Period(Result):
    """A range of years and the expected change of the coefficient by year."""

    first: int
    last: int
    slope: Literal["rising", "falling"] | tuple[float, float]
    """0 or more, 0 or less, or from the first number to the second."""

    @property
    def range(self) -> CoefficientRange:
        """The range of the slope."""
        if self.slope == "rising":
            return CoefficientRange(low=0.0, high=None)
        if self.slope == "falling":
            return CoefficientRange(low=None, high=0.0)
        low, high = self.slope
        return CoefficientRange(low=float(low), high=float(high))


class Trend(Counted):
    """Does the coefficient rise or fall over years as in the synthetic data?

    Section 4.2 of the paper: the model is fitted to each year of each partition, and the slope of
    the line through the coefficients is compared with an interval. A partition in which a year has
    no fit has no slope.
    """

    _identified_in: ClassVar[str] = "a year of the synthetic data"

    measure: Literal["trend"] = "trend"
    over: str = Field(min_length=1)
    """Variable of time: whole numbers, or levels that are whole numbers."""
    periods: tuple[Period, ...] = Field(min_length=1, max_length=20)
    jointly: bool = False
    """Whether all periods are one statement; if not, they share epsilon."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        for period in self.periods:
            if period.last <= period.first:
                raise ValueError(WORDS["wrong"]["period"].format(period.first, period.last))
            low, high = period.range.ends
            if low >= high:
                raise ValueError(WORDS["wrong"]["slope"].format(low, high))
        return self

    def problems(self, query: Terms, schema: PublicSchema) -> Iterator[str]:
        """Yield the parts that the public schema does not have."""
        yield from super().problems(query, schema)
        years = years_of(schema, self.over)
        for number, period in enumerate(self.periods, start=1):
            if lost := [y for y in (period.first, period.last) if y not in years]:
                ends = f"{min(years)} to {max(years)}" if years else "no whole numbers"
                others = " and ".join(map(str, lost))
                yield WORDS["wrong"]["years"].format(number, others, self.over, ends)
            elif len([y for y in years if period.first <= y <= period.last]) < 2:
                yield f"ask.periods.{number}: name two years or more, since a slope needs two"

    @property
    def names(self) -> frozenset[str]:
        """The variable of time."""
        return frozenset({self.over})

    def stated(self, schema: PublicSchema, estimates: FloatArray) -> Statements:
        """Return the statements, and which are true of the synthetic data."""
        ranges = tuple(period.range for period in self.periods)
        holds = tuple(
            bool(where.holds(np.array([slope]))[0])
            for where, slope in zip(ranges, estimates, strict=True)
        )
        changes = [
            f"by year from {p.first} to {p.last} its change {p.range.words}" for p in self.periods
        ]
        if self.jointly:
            joint = f"{self.coefficient}: {'; '.join(changes)}"
            return Statements(schema, (joint,), (None,), (all(holds),), ranges)
        words = tuple(f"{self.coefficient}: {change}" for change in changes)
        return Statements(schema, words, tuple(estimates.tolist()), holds, ranges)

    def numbers(self, query: Terms, schema: PublicSchema, view: QueryRows, m: int) -> FloatArray:
        """Return the slope of the yearly coefficients, shape (periods, m)."""
        years = years_of(schema, self.over)
        column = view.table[self.over]
        values = _year_of_rows(column.data, column.variable.levels, is_coded=column.is_coded)
        index = positions_in(np.array(years), values)
        rows = np.flatnonzero(column.is_observed & (index >= 0))
        cells = view.partition(m)[rows] * len(years) + index[rows]
        fits = self.fits(query, schema, view.take(rows), cells, m * len(years))
        yearly = fits.coefficients[:, 0].reshape(m, len(years))
        slopes = []
        for period in self.periods:
            inside = [y for y, year in enumerate(years) if period.first <= year <= period.last]
            x = np.asarray(years, dtype=np.float64)[inside]
            x -= x.mean()
            slopes.append(yearly[:, inside] @ x / (x @ x))
        return np.array(slopes)


def years_of(schema: PublicSchema, name: str) -> list[int]:
    """Return the public values of a variable that are whole numbers, in order."""
    texts = schema.variables[name].categories
    return sorted(int(text) for text in texts if text.lstrip("-").isdigit())


def _year_of_rows(data: NDArray[Any], levels: Sequence[str], *, is_coded: bool) -> FloatArray:
    """Return the year of each row; NaN if it is no whole number."""
    if not is_coded:
        return np.asarray(data, dtype=np.float64)
    numbers = [float(text) if text.lstrip("-").isdigit() else np.nan for text in levels]
    return np.array([*numbers, np.nan])[np.where(data < len(levels), data, -1).astype(np.int64)]


UNITS = 256
"""Parts into which t statistics are rounded: noise is added to whole numbers."""


class Significance(OfCoefficient):
    """Does the coefficient differ from a number, by a test?

    The statistic is U = sum of the t statistics of the partitions, clipped to -a..a, over the root
    of M (Barrientos, Reiter, Machanavajjhala and Chen 2019, J. Computational and Graphical
    Statistics 28). A partition without a t counts 0.

    Sensitivity: a person is in one partition and moves its clipped t from -a to a at most, so the
    sum by 2a, in units of 1/256. Under the null hypothesis the t statistics are assumed to have
    Student's distribution; that of the noisy sum follows exactly. With few persons in a partition
    errors clustered by person are too small, and the test rejects a little too often: see
    docs/verification.md.
    """

    measure: Literal["significance"] = "significance"
    null: float = 0.0
    """The number."""
    clip: float = Field(default=1.0, ge=0.1, le=5)
    """a; 1 is right for most questions, less for large effects."""

    @cached_property
    def _units(self) -> int:
        return round(self.clip * UNITS)

    def prepare(self, query: Terms, schema: PublicSchema, synthetic: QueryRows) -> _SyntheticTest:
        """Return estimate, error and degrees of freedom from the synthetic data."""
        estimate, error = self.estimate(query, schema, synthetic)
        persons = len(np.unique(synthetic.owners))
        return _SyntheticTest(schema, estimate, error, max(1, persons // query.partitions - 1))

    def mechanisms(self, query: Terms, prepared: _SyntheticTest) -> tuple[Mechanism, ...]:
        """Return one sum of t statistics."""
        reach = self._units * query.partitions
        return (Mechanism(1, 2 * self._units, query.micro_epsilon, bounds=(-reach, reach)),)

    def whole_numbers(
        self, query: Terms, prepared: _SyntheticTest, view: QueryRows
    ) -> list[list[int]]:
        """Return the sum of clipped t statistics."""
        m = query.partitions
        fits = self.fits(query, prepared.schema, view, view.partition(m), m)
        with np.errstate(all="ignore"):
            t = (fits.coefficients[:, 0] - self.null) / fits.errors[:, 0]
        units = np.rint(np.clip(np.nan_to_num(t, nan=0.0), -self.clip, self.clip) * UNITS)
        return [[int(units.clip(-self._units, self._units).sum())]]

    def conclude(
        self, query: Terms, prepared: _SyntheticTest, released: Released
    ) -> SignificanceAnswer:
        """Return the p-value of the noisy sum."""
        (mechanism,) = self.mechanisms(query, prepared)
        total = released[0][0]
        p = self.p_value(total, query.partitions, prepared.df, mechanism.scale)
        what = f"{self.coefficient} is {self.null:g}"
        side = "above" if total > 0 else "below"
        finding = WORDS["test"]["against" if p <= 0.05 else "open"].format(side, self.null)
        return SignificanceAnswer(
            released=released,
            words=(f"Test that {what}: p {'' if p < 0.001 else '= '}{written(p, 'p')}.", finding),
            statistic=total / UNITS / sqrt(query.partitions),
            p_value=p,
            df=prepared.df,
            synthetic=prepared.estimate,
            synthetic_error=prepared.error,
        )

    def p_value(self, total: int, m: int, df: int, scale: float) -> float:
        """Return the probability under the null hypothesis of a sum as far from 0, in [0, 1].

        ``total`` is the noisy sum in units of 1/256, ``df`` the degrees of freedom of the t of a
        partition, and ``scale`` that of the noise.
        """
        reach = self._units
        edges = (np.arange(-reach, reach) + 0.5) / UNITS
        one = np.diff(np.concatenate([[0.0], scipy.stats.t.cdf(edges, df), [1.0]]))
        size = 2 * reach * m + 1
        sums = np.fft.irfft(np.fft.rfft(one, n=2 * size) ** m, n=2 * size)[:size].clip(0)
        totals = np.arange(-reach * m, reach * m + 1)
        decay = np.exp(-1 / scale)
        noise = (1 - decay) / (1 + decay) * decay ** np.abs(np.arange(1 - size, size))
        # noise beyond the bounds is at their ends, which are as far from 0 as any place
        inside = scipy.signal.fftconvolve(sums, noise)[size - 1 : 2 * size - 1]
        closer = float(inside[np.abs(totals) < abs(total)].sum())
        return float(np.clip(1 - closer / sums.sum(), 0.0, 1.0))


@dataclass(frozen=True)
class _SyntheticTest:
    """The tested coefficient in the synthetic data."""

    schema: PublicSchema
    estimate: float
    error: float
    df: int


class SignificanceAnswer(Answer):
    """The result of a test of a coefficient."""

    statistic: float
    """U: about standard normal, and wider by the noise, under the null hypothesis."""
    p_value: float
    df: int
    """Degrees of freedom of the t of a partition, from the synthetic persons."""
    synthetic: float
    """Estimate of the synthetic data."""
    synthetic_error: float

    def blocks(self) -> Iterator[Block]:
        """Yield the figures."""
        yield value_table(
            "The test",
            [
                ("U, of the confidential data with noise", self.statistic),
                ("p-value", written(self.p_value, "p")),
                ("coefficient in the synthetic data", self.synthetic),
                ("its standard error", self.synthetic_error),
            ],
        )
