"""Regressions that the file itself suggests: would a researcher find the same coefficients?

Tables of two variables do not see what happens to the effect of one variable when others are held
constant. So each number (least squares) and each variable of two levels (logit) is regressed on all
other variables, in the original and in every synthetic dataset, with one fixed rule:

- the first 20 responses in the order of the file, of 50 records or more; of two levels the rarer
  one is modelled, and has 50 records too; records without the response are left out;
- numbers and dates are columns as they are, at their mean where they are missing; a variable of
  levels has columns for its second to fourth most frequent level and for all others together, its
  missing codes being levels; so has a number for being missing;
- an indicator needs 50 records on either side and, in a logit, 10 in each of its four combinations
  with the response;
- columns in the order of the file, one for every 20 records (of a logit: of the rarer level), twice
  the number of Peduzzi et al. (1996, J. Clinical Epidemiology 49), and 30 at most;
- columns of which the others explain 99 % are left out, and responses of which they explain 99.9 %;
- of a large file 20,000 records drawn at random, of the synthetic as of the original.

Everything is decided by the original and applied to both sides. Errors of coefficients are measured
in the original's standard errors, which are robust to unequal variances (White 1980, HC1), since a
file keeps no promise of a researcher's model. What is expected follows from their normal
distribution: with n original and k synthetic records a right synthesis with fixed parameters is off
by a normal error of variance n/k, a fresh sample of the population by one of 1 + n/k. For k = n the
mean size is .80 and 1.13, and 5 and 16.6 per cent lie beyond 1.96. Overlaps of confidence intervals
are those of Karr et al. (2006), see `utility.compare_fit`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy.stats import norm

from synthesizer.data.codes import Codes
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data, check_comparable
from synthesizer.data.table import BoolArray, Column, FloatArray, Table
from synthesizer.measures.figure import Figure, Measured, Row, column
from synthesizer.measures.utility.cells import check_original, compared
from synthesizer.measures.utility.fits import Fit, fit_model, redundant, separates
from synthesizer.measures.utility.formulas import Family

MOST_RESPONSES = 20
MOST_COLUMNS = 30
MOST_LEVELS = 4
"""Levels of a variable that are told apart; all others are one."""
MOST_RECORDS = 20_000
FEWEST_RECORDS = 50
"""Of a response; of two levels each has as many."""
FEWEST_OF_INDICATOR = 50
FEWEST_OF_CELL = 10
RECORDS_A_COLUMN = 20
EXPLAINED = 0.01
"""Unexplained share of a column's variance, by the other columns, from which on it is used."""
DETERMINED = 0.001
"""Unexplained share of a number's variance from which on it is a response."""
CRITICAL = 1.96
# Columns of the first variables, from which those of each response are taken.
_WIDEST = 4 * MOST_COLUMNS


class RegressionRow(Row):
    """One response: its coefficients in the synthetic datasets against those of the original."""

    response: str = column("Response", "text")
    family: str = column("Model", "text", "least squares for numbers, logit for two levels")
    n: int = column("Records", "count", "original records with a response")
    coefficients: int = column("Coefficients", "count", "compared ones, without the constant")
    beyond: float = column(
        "Off by more than 1.96 SE", "share", "of coefficients and datasets; without a fit: off"
    )
    error: float | None = column("Mean error in SE", "number", "of the coefficients with a fit")
    overlap: float = column("CI overlap", "share", "mean of the intervals; 0 without a fit")
    worst: str | None = column("Furthest off", "text", "the coefficient; mean over the datasets")
    worst_error: float | None = column("By SE", "number", "synthetic minus original")


class Regressions(Measured):
    """Coefficients of the regressions that the file suggests, means over the datasets."""

    n: int
    """Original records, at most `MOST_RECORDS`."""
    n_synthetic: tuple[int, ...]
    """Records of each dataset, likewise."""
    proper: bool
    """Whether parameters were drawn anew for each dataset: right is then what a fresh sample is."""
    rows: tuple[RegressionRow, ...]
    """One for each response."""
    notes: tuple[str, ...] = ()
    """Responses without a model, and why."""

    @property
    def n_coefficients(self) -> int:
        """Compared coefficients of all responses."""
        return sum(row.coefficients for row in self.rows)

    @property
    def beyond(self) -> float | None:
        """Share of coefficients more than 1.96 standard errors off, in [0, 1]."""
        return self._mean("beyond")

    @property
    def error(self) -> float | None:
        """Mean size of the errors in standard errors."""
        return self._mean("error")

    @property
    def furthest(self) -> RegressionRow | None:
        """The regression whose worst coefficient is furthest off."""
        rows = [row for row in self.rows if row.worst_error is not None]
        return max(rows, key=lambda row: abs(row.worst_error or 0.0), default=None)

    @property
    def expected_shares(self) -> tuple[float, float]:
        """Share beyond 1.96 standard errors in a right synthesis, and in a fresh sample."""
        right, fresh = (2 * float(norm.sf(CRITICAL / scale)) for scale in self._scales)
        return right, fresh

    @property
    def expected_errors(self) -> tuple[float, float]:
        """Mean size of errors in a right synthesis, and in a fresh sample."""
        right, fresh = (scale * math.sqrt(2 / math.pi) for scale in self._scales)
        return right, fresh

    @property
    def _scales(self) -> tuple[float, float]:
        """Standard deviations of errors, in standard errors: right synthesis, fresh sample."""
        ratio = self.n * len(self.n_synthetic) / sum(self.n_synthetic)
        fresh = math.sqrt(1 + ratio)
        return (fresh if self.proper else math.sqrt(ratio), fresh)

    def _mean(self, name: str) -> float | None:
        """Return a mean over all coefficients."""
        values = [(getattr(row, name), row.coefficients) for row in self.rows]
        known = [(value, weight) for value, weight in values if value is not None]
        total = sum(weight for _, weight in known)
        return sum(value * weight for value, weight in known) / total if total else None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Share of coefficients that are off, their mean error, overlap of intervals, the worst."""
        if not self.rows:
            return ()
        shares, errors = self.expected_shares, self.expected_errors
        what = (
            f"of the {self.n_coefficients} coefficients of {len(self.rows)} regressions of one "
            "variable on the others"
        )
        worst, n = self.furthest, self.n + sum(self.n_synthetic)
        place = f"; here {worst.worst} in the regression of {worst.response}" if worst else ""
        return (
            Figure(
                key="regressions_beyond",
                name="coefficients off",
                value=self.beyond,
                meaning=f"share {what} that differ from the original's by more than 1.96 of its "
                f"standard errors; expected of a right synthesis is {shares[0]:.3f}, of a fresh "
                f"sample of the population {shares[1]:.3f}",
                direction="lower is better",
                n=n,
                chance=shares[0],
                original=0.0,
            ),
            Figure(
                key="regressions_error",
                name="mean error of coefficients",
                value=self.error,
                meaning=f"mean size of the errors {what}, in standard errors of the original; "
                f"expected of a right synthesis is {errors[0]:.2f}, of a fresh sample "
                f"{errors[1]:.2f}",
                direction="lower is better",
                n=n,
                chance=errors[0],
                original=0.0,
            ),
            Figure(
                key="regressions_overlap",
                name="CI overlap of regressions",
                value=self._mean("overlap"),
                meaning=f"mean share {what}' 95 % intervals that original and synthetic data have "
                "in common; negative where they lie far apart",
                direction="about 1 is good",
                n=n,
                chance=1 - errors[0] / (2 * CRITICAL),
                original=1.0,
            ),
            Figure(
                key="regressions_worst",
                name="largest error of a coefficient",
                value=abs(worst.worst_error or 0.0) if worst else None,
                meaning=f"largest of these errors, in standard errors of the original{place}",
                direction="lower is better",
                n=n,
                original=0.0,
            ),
        )


@dataclass(frozen=True, eq=False)
class _Term:
    """A column of the design, as the original has it; the same for any table."""

    variable: str
    name: str
    labels: frozenset[str] | None = None
    """Levels and codes for which an indicator is 1; None for the number itself."""
    is_other: bool = False
    """Whether the indicator is 1 for all labels but these."""
    centre: float = 0.0
    """What stands for a missing number."""


@dataclass(frozen=True, eq=False)
class _Regression:
    """A response with its columns and the original's fit."""

    response: str
    family: Family
    outcome: str | float | None
    """What a logit models: a level, or the larger of two numbers."""
    other: str | float | None
    """The other one of the two."""
    places: Codes
    """Columns of the design, shape (p,)."""
    n: int
    fit: Fit

    def rows_and_values(self, table: Table) -> tuple[BoolArray, FloatArray]:
        """Return which records have the response, shape (n,), and its values, shape (used,)."""
        return _response(table[self.response], self.outcome, self.other)


class RegressionCounter:
    """`regressions` of one dataset after the other; only coefficients stay in memory.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> rng = np.random.default_rng(0)
    >>> age = rng.normal(40, 10, 500)
    >>> pay = 3 * age + rng.normal(0, 20, 500)
    >>> table = Table([Column(Variable(name=name, kind=Kind.NUMERIC), x) for name, x in
    ...                (("age", age), ("pay", pay))])
    >>> counter = RegressionCounter(table, table.names, rng=rng)
    >>> counter.add(table)
    >>> [(row.response, row.error, row.overlap) for row in counter.result().rows]
    [('age', 0.0, 1.0), ('pay', 0.0, 1.0)]
    """

    def __init__(
        self,
        original: Table,
        names: Sequence[str],
        *,
        proper: bool = False,
        rng: np.random.Generator,
    ) -> None:
        names = list(dict.fromkeys(names))
        check_original(original, names, [])
        self._names, self._rng, self._proper = names, rng, proper
        self._original = _sample(original.select(names), rng)
        self._sizes: list[int] = []
        terms = (term for name in names for term in _terms(self._original[name]))
        useful = (term for term in terms if _differs(_values(self._original, term)))
        self._terms = list(islice(useful, _WIDEST))
        self._notes: list[str] = []
        self._regressions = list(self._learned())
        self._fits: list[list[tuple[FloatArray, FloatArray]]] = []

    def add(self, synthetic: Table) -> None:
        """Fit every model to the next dataset."""
        check_comparable(self._original, [synthetic], self._names, first=len(self._sizes) + 1)
        table = _sample(synthetic.select(self._names), self._rng)
        design = self._design(table)
        self._sizes.append(table.n_rows)
        self._fits.append(
            [_refitted(regression, table, design) for regression in self._regressions]
        )

    def result(self) -> Regressions:
        """Return the comparison of the datasets so far, at least one."""
        n, sizes = self._original.n_rows, self._sizes
        rows = (self._row(*pair) for pair in enumerate(self._regressions))
        return Regressions(
            n=n,
            n_synthetic=tuple(sizes),
            proper=self._proper,
            rows=tuple(rows),
            notes=tuple(self._notes),
        )

    def _design(self, table: Table) -> FloatArray:
        """Return all columns, shape (columns, n)."""
        return np.array([_values(table, term) for term in self._terms], ndmin=2)

    def _learned(self) -> Iterator[_Regression]:
        design = self._design(self._original)
        found = 0
        for name in self._names:
            asked = _asked(self._original[name])
            if asked is None or found == MOST_RESPONSES:
                continue
            found += 1
            try:
                yield self._fitted(name, *asked, design)
            except DataError as error:
                self._notes.append(f"no regression of {name}: {'; '.join(error.problems)}")

    def _fitted(
        self, name: str, outcome: str | float | None, other: str | float | None, design: FloatArray
    ) -> _Regression:
        family: Family = "ols" if outcome is None else "logit"
        rows, y = _response(self._original[name], outcome, other)
        events = len(y) if family == "ols" else int(min(y.sum(), len(y) - y.sum()))
        useful = (
            place
            for place, term in enumerate(self._terms)
            if term.variable != name
            and _differs(design[place][rows], y if family == "logit" else None)
        )
        places = list(islice(useful, min(MOST_COLUMNS, events // RECORDS_A_COLUMN)))
        X = design[places][:, rows].T
        if places:
            idle = redundant(_standardised(X), EXPLAINED)
            places = [place for number, place in enumerate(places) if number not in idle]
            X = np.delete(X, idle, axis=1)
        if not places:
            raise DataError("there is no column to explain it by")
        fit = _fit(family, y, X)
        if family == "ols":
            residuals = y - fit.coefficients[0] - X @ fit.coefficients[1:]
            if residuals @ residuals < DETERMINED * len(y) * y.var():
                raise DataError("the other variables determine it")
        return _Regression(name, family, outcome, other, np.array(places), len(y), fit)

    def _row(self, number: int, regression: _Regression) -> RegressionRow:
        ours, errors = regression.fit.coefficients[1:], regression.fit.std_errors[1:]
        q, u = (np.array([fits[number][part] for fits in self._fits]) for part in (0, 1))
        scale = np.sqrt(np.array(self._sizes) / self._original.n_rows)[:, None]
        z = (q - ours) / errors
        ratio = u * scale / errors
        # the intervals ours +- c and theirs +- c ratio, in standard errors of ours
        common = np.minimum(CRITICAL, z + CRITICAL * ratio) - np.maximum(
            -CRITICAL, z - CRITICAL * ratio
        )
        overlap = (common / (2 * CRITICAL) + common / (2 * CRITICAL * ratio)) / 2
        known = np.isfinite(z)
        means = np.where(known.any(axis=0), _means(z), 0.0)
        worst = int(np.abs(means).argmax())
        some = bool(known.any())
        return RegressionRow(
            response=regression.response,
            family="least squares" if regression.family == "ols" else "logit",
            n=regression.n,
            coefficients=len(ours),
            beyond=float((~(np.abs(z) <= CRITICAL)).mean()),
            error=float(np.abs(z[known]).mean()) if some else None,
            overlap=float(np.where(known, overlap, 0.0).mean()),
            worst=self._terms[regression.places[worst]].name if some else None,
            worst_error=float(means[worst]) if some else None,
        )


def regressions(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    names: Sequence[str] | None = None,
    proper: bool = False,
    rng: np.random.Generator,
) -> Regressions:
    """Regress each number and each variable of two levels on all others, in both files.

    Parameters
    ----------
    original, synthetic, names
        What is compared, by which variables, and what is refused: see `cells.compared`.
    proper : bool
        Whether parameters were drawn anew for each dataset.
    rng : numpy.random.Generator
        Draws records of large files.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"age": rng.normal(40, 10, 500)}).assign(
    ...     pay=lambda frame: 3 * frame.age + rng.normal(0, 20, 500))
    >>> shuffled = people.assign(age=rng.permutation(people.age))
    >>> result = regressions(people, [people, shuffled], rng=rng)
    >>> [(row.response, row.beyond) for row in result.rows]
    [('age', 0.5), ('pay', 0.5)]
    """
    original, tables, names = compared(original, synthetic, names)
    counter = RegressionCounter(original, names, proper=proper, rng=rng)
    for table in tables:
        counter.add(table)
    return counter.result()


def _sample(table: Table, rng: np.random.Generator) -> Table:
    if table.n_rows <= MOST_RECORDS:
        return table
    return table.take(np.sort(rng.permutation(table.n_rows)[:MOST_RECORDS]))


def _terms(column: Column) -> tuple[_Term, ...]:
    """Return the columns that a variable has in a design."""
    name, variable = column.name, column.variable
    if not column.is_coded:
        observed = column.data[column.is_observed]
        if not len(observed):
            return ()
        missing = _Term(name, f"{name} missing", frozenset(variable.missing))
        return (_Term(name, name, centre=float(observed.mean())), missing)
    counts = np.bincount(column.data, minlength=variable.n_codes)
    frequent = [int(code) for code in np.argsort(-counts, kind="stable")[:MOST_LEVELS]]
    labels = [variable.labels[code] for code in frequent]
    single = (
        _Term(name, f"{name}={label or '(empty)'}", frozenset({label})) for label in labels[1:]
    )
    return (*single, _Term(name, f"{name}=other", frozenset(labels), is_other=True))


def _values(table: Table, term: _Term) -> FloatArray:
    """Return a column of the design for any table, shape (n,)."""
    column = table[term.variable]
    if term.labels is None:
        return np.where(column.is_observed, column.data, term.centre)
    if not column.is_coded:
        return (~column.is_observed).astype(np.float64)
    of_code = np.array(
        [(label in term.labels) != term.is_other for label in column.variable.labels]
    )
    return of_code[column.data].astype(np.float64)


def _asked(column: Column) -> tuple[str | float | None, str | float | None] | None:
    """Return outcome and reference of a response, two None of a number; None if it is none."""
    observed = column.data[column.is_observed]
    if len(observed) < FEWEST_RECORDS:
        return None
    values, counts = np.unique(observed, return_counts=True)
    if len(values) != 2:
        return None if column.is_coded or len(values) < 2 else (None, None)
    if counts.min() < FEWEST_RECORDS:
        return None
    rarer, other = values[np.argsort(counts, kind="stable")]
    if column.is_coded:
        return column.variable.labels[rarer], column.variable.labels[other]
    return float(rarer), float(other)


def _response(
    column: Column, outcome: str | float | None, other: str | float | None
) -> tuple[BoolArray, FloatArray]:
    """Return which records have a response, shape (n,), and its values, shape (used,)."""
    if outcome is None:
        rows = column.is_observed
        return rows, np.asarray(column.data[rows], dtype=np.float64)
    if column.is_coded:
        labels = column.variable.labels
        is_one, is_other = (
            np.array([label == value for label in labels])[column.data]
            for value in (outcome, other)
        )
    else:
        is_one, is_other = column.data == outcome, column.data == other
    rows = is_one | is_other
    return rows, is_one[rows].astype(np.float64)


def _differs(x: FloatArray, outcome: FloatArray | None = None) -> bool:
    """Whether enough records differ in a column, of two outcomes (0 and 1) in each of them."""
    low, high = x.min(initial=np.inf), x.max(initial=-np.inf)
    if not low < high:
        return False
    is_low, is_high = x == low, x == high
    n_low, n_high = int(is_low.sum()), int(is_high.sum())
    if n_low + n_high < len(x):
        return True
    if outcome is None:
        return min(n_low, n_high) >= FEWEST_OF_INDICATOR
    cells = np.bincount(2 * is_low + (outcome > 0), minlength=4)
    return min(n_low, n_high) >= FEWEST_OF_INDICATOR and int(cells.min()) >= FEWEST_OF_CELL


def _standardised(X: FloatArray) -> FloatArray:
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def _fit(family: Family, y: FloatArray, X: FloatArray) -> Fit:
    columns = np.ones((len(X), X.shape[1] + 1))
    columns[:, 1:] = X
    names = [str(number) for number in range(columns.shape[1])]
    return fit_model(family, y, columns, names, weights=np.ones(len(y)))


def _refitted(
    regression: _Regression, table: Table, design: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and standard errors in a dataset, shapes (p,); NaN without a fit."""
    rows, y = regression.rows_and_values(table)
    X = design[regression.places][:, rows].T
    p = X.shape[1]
    q, u = np.full(p, np.nan), np.full(p, np.nan)
    usable = [place for place in range(p) if len(y) and np.ptp(X[:, place]) > 0]
    if regression.family == "logit":
        usable = [place for place in usable if not separates(X[:, place], y)]
    if usable:
        idle = redundant(_standardised(X[:, usable]))
        usable = [place for number, place in enumerate(usable) if number not in idle]
    try:
        fit = _fit(regression.family, y, X[:, usable]) if usable else None
    except DataError:
        fit = None
    if fit is not None:
        q[usable], u[usable] = fit.coefficients[1:], fit.std_errors[1:]
    return q, u


def _means(z: FloatArray) -> FloatArray:
    """Return means over the datasets with a fit, shape (p,)."""
    known = np.isfinite(z)
    return np.asarray(np.where(known, z, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))
