"""Regressions of each variable on the others: are the coefficients the same?

Two-way tables do not show effects given other variables. So each number (least squares) and each
variable of two levels (logit) is regressed on all other variables, in the original and in each
synthetic dataset, by a fixed rule:

- responses: the first 20 in the order of the file with 50 records or more; of two levels the rarer
  one is modelled, and needs 50 records, too; records without the response are left out;
- numbers and dates are columns, with their mean if they are missing, and an indicator of missing
  values; a variable of levels has indicators of its second to fourth most frequent level and of all
  others together, where missing codes are levels;
- an indicator needs 50 records with either value and, in a logit, 10 in each of its four
  combinations with the response;
- columns in the order of the file, at most one for every 20 records (of a logit: of the rarer
  level), half the number that Peduzzi et al. (1996, J. Clinical Epidemiology 49) allow, and 30;
- columns of which the others explain 99 % are left out, and responses of which they explain 99.9 %;
- of a large file 10,000 random records, of both files: with more, differences that are too small to
  matter would be significant.

The original determines all choices. Errors of coefficients are measured in the original's standard
errors, robust to unequal variances (White 1980, HC1). Expectations follow from the normal
distribution: with n original and k synthetic records the error has variance n/k for correct models
with fixed parameters, and 1 + n/k for a new sample of the population. For k = n the mean absolute
error is .80 and 1.13, and 5 and 16.6 per cent exceed 1.96. Overlaps of confidence intervals are
those of Karr et al. (2006), see `utility.compare_fit`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.codes import Codes
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import check_comparable
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import BoolArray, Column, FloatArray, Table
from synthesizer.measures.figure import Figure, FigureKind, Limit, Measured, Row, column
from synthesizer.measures.measure import Measure
from synthesizer.measures.survey_design import weights_of
from synthesizer.measures.utility.cells import check_original
from synthesizer.measures.utility.fits import DEPENDENT, dependent

MOST_RESPONSES = 20
MOST_COLUMNS = 30
MOST_LEVELS = 4
"""Levels of a variable with separate indicators; all others are one."""
MOST_RECORDS = 10_000
"""Largest number of records that are fitted."""
FEWEST_RECORDS = 50
"""Smallest number of records of a response, and of each of two levels."""
FEWEST_OF_INDICATOR = 50
FEWEST_OF_CELL = 10
RECORDS_A_COLUMN = 20
EXPLAINED = 0.01
"""Smallest unexplained share of the variance of a column."""
DETERMINED = 0.001
"""Smallest unexplained share of the variance of a response."""
CRITICAL = 1.96
# Number of columns from which those of each response are taken.
_WIDEST = 4 * MOST_COLUMNS
# Logits that converge need about 8 steps.
_MOST_STEPS = 25
_SETTLED = 1e-6


class RegressionRow(Row):
    """One response: synthetic coefficients compared with those of the original."""

    response: str = column("Response", "text")
    family: str = column("Model", "text", "least squares for numbers, logit for two levels")
    n: int = column("Records", "count", "original records with a response")
    coefficients: int = column("Coefficients", "count", "without the constant")
    beyond: float = column(
        "Off by more than 1.96 SE",
        "share",
        "of coefficients and datasets; those without a fit count",
    )
    error: float | None = column("Mean error in SE", "number", "of the coefficients with a fit")
    overlap: float = column("CI overlap", "share", "mean of the intervals; 0 without a fit")
    worst: str | None = column("Largest error of", "text", "coefficient; mean over the datasets")
    worst_error: float | None = column("By SE", "number", "synthetic minus original")


COEFFICIENTS_OFF = FigureKind(
    "regressions_beyond",
    "coefficients off",
    "share of regression coefficients (each variable on the others) that differ from the "
    "original's by more than 1.96 standard errors; correct models: 0.05, a new sample: 0.166",
    "lower is better",
    limit=Limit(),
    is_axis=True,
)
COEFFICIENTS_ERROR = FigureKind(
    "regressions_error",
    "mean error of coefficients",
    "mean absolute error of these coefficients, in standard errors of the original; correct "
    "models: 0.8, a new sample: 1.13",
    "lower is better",
    limit=Limit(high=None),
    is_axis=True,
)
REGRESSIONS_OVERLAP = FigureKind(
    "regressions_overlap",
    "CI overlap of regressions",
    "mean overlap of original and synthetic 95 % intervals of these coefficients, as a share of "
    "their lengths; below 0: they do not touch",
    "about 1 is good",
    on_screen=True,
)
REGRESSIONS_WORST = FigureKind(
    "regressions_worst",
    "largest error of a coefficient",
    "largest absolute error of these coefficients, in standard errors of the original",
    "lower is better",
)


class Regressions(Measured):
    """Coefficients of the regressions of each variable on the others."""

    n: int
    """Original records, at most `MOST_RECORDS`."""
    n_synthetic: tuple[int, ...]
    """Records of each dataset, at most `MOST_RECORDS`."""
    proper: bool
    """Whether parameters were drawn anew for each dataset."""
    rows: tuple[RegressionRow, ...]
    """One for each response."""
    notes: tuple[str, ...] = ()
    """Reason for each response without a model."""

    @property
    def n_coefficients(self) -> int:
        """Compared coefficients of all responses."""
        return sum(row.coefficients for row in self.rows)

    @property
    def beyond(self) -> float | None:
        """Share of coefficients with an error above 1.96 standard errors, in [0, 1]."""
        return self._mean("beyond")

    @property
    def error(self) -> float | None:
        """Mean absolute error in standard errors."""
        return self._mean("error")

    @property
    def sample(self) -> float | None:
        """Share of the original whose random samples have the same mean error, in (0, 1].

        Samples of a share f have a normal error of variance (1 - f) / f.
        """
        if self.error is None:
            return None
        return 1 / (1 + self.error**2 * math.pi / 2)

    @property
    def furthest(self) -> RegressionRow | None:
        """The regression with the largest error of a coefficient."""
        rows = [row for row in self.rows if row.worst_error is not None]
        return max(rows, key=lambda row: abs(row.worst_error or 0.0), default=None)

    @property
    def expected_shares(self) -> tuple[float, float]:
        """Expected share beyond 1.96 standard errors, with correct models and in a new sample."""
        right, fresh = (2 * float(scipy.special.ndtr(-CRITICAL / scale)) for scale in self._scales)
        return right, fresh

    @property
    def expected_errors(self) -> tuple[float, float]:
        """Expected mean absolute error, with correct models and in a new sample."""
        right, fresh = (scale * math.sqrt(2 / math.pi) for scale in self._scales)
        return right, fresh

    @property
    def _scales(self) -> tuple[float, float]:
        """Standard deviations of errors, in standard errors: correct models, new sample."""
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
        """Share of coefficients off, mean error, overlap of intervals, largest error."""
        if not self.rows:
            return ()
        shares, errors = self.expected_shares, self.expected_errors
        what = f"{self.n_coefficients} coefficients of {len(self.rows)} regressions"
        expected = "expected with correct models: {:.3g}, of a new sample: {:.3g}"
        worst, n = self.furthest, self.n + sum(self.n_synthetic)
        subject = f"here {worst.worst} in the regression of {worst.response}" if worst else ""
        return (
            COEFFICIENTS_OFF.of(
                self.beyond,
                n,
                f"{what}; {expected.format(*shares)}",
                chance=shares[0],
                original=0.0,
            ),
            COEFFICIENTS_ERROR.of(
                self.error,
                n,
                f"as in a random sample of {self.sample or 0:.0%} of the original; "
                f"{expected.format(*errors)}",
                chance=errors[0],
                original=0.0,
            ),
            REGRESSIONS_OVERLAP.of(
                self._mean("overlap"), n, chance=1 - errors[0] / (2 * CRITICAL), original=1.0
            ),
            REGRESSIONS_WORST.of(
                abs(worst.worst_error or 0.0) if worst else None, n, subject, original=0.0
            ),
        )


@dataclass(frozen=True, eq=False)
class _Predictor:
    """A column of the design, defined by the original."""

    variable: str
    name: str
    labels: frozenset[str] | None = None
    """Levels and codes for which an indicator is 1; None for a standardised number."""
    is_other: bool = False
    """Whether the indicator is 1 for all labels but these."""
    centre: float = 0.0
    """Value that replaces a missing number."""
    scale: float = 1.0

    def values(self, table: Table) -> FloatArray:
        """Return the column for any table, shape (n,)."""
        column = table[self.variable]
        if self.labels is None:
            return np.where(column.is_observed, (column.data - self.centre) / self.scale, 0.0)
        if not column.is_coded:
            return np.asarray(~column.is_observed, dtype=np.float64)
        labels = column.variable.labels
        of_code = [(label in self.labels) != self.is_other for label in labels]
        return np.array(of_code, dtype=np.float64)[column.data]


@dataclass(frozen=True, eq=False)
class _Response:
    """A response."""

    variable: str
    outcomes: tuple[str | float, str | float] | None = None
    """Outcome of a logit and its alternative, levels or numbers; None for least squares."""
    centre: float = 0.0
    scale: float = 1.0

    def rows_and_values(self, table: Table) -> tuple[BoolArray, FloatArray]:
        """Return which records have a response, shape (n,), and their values, shape (used,)."""
        column = table[self.variable]
        if self.outcomes is None:
            rows = column.is_observed
            return rows, np.asarray(
                (column.data[rows] - self.centre) / self.scale, dtype=np.float64
            )
        if column.is_coded:
            labels = np.array(column.variable.labels, dtype=object)
            one, other = ((labels == value)[column.data] for value in self.outcomes)
        else:
            one, other = (column.data == value for value in self.outcomes)
        rows = one | other
        return rows, one[rows].astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Regression:
    """A response with its columns and its fit to the original."""

    response: _Response
    positions: Codes
    """Columns of the design, shape (p,)."""
    n: int
    coefficients: FloatArray
    """Shape (p,), without the constant, for standardised columns."""
    errors: FloatArray
    """Robust standard errors, shape (p,)."""


class RegressionCounter:
    """Regressions of each number and each variable of two levels on all others.

    Datasets are added one by one; only coefficients stay in memory.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> rng = np.random.default_rng(0)
    >>> age = rng.normal(40, 10, 500)
    >>> pay = 3 * age + rng.normal(0, 20, 500)
    >>> table = Table([Column(Variable(name=name, kind=Kind.NUMERIC), x) for name, x in
    ...                (("age", age), ("pay", pay))])
    >>> counter = RegressionCounter(table, table.names, seed=1)
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
        seed: AnySeed = 0,
        weight: str | None = None,
    ) -> None:
        names = [name for name in dict.fromkeys(names) if name != weight]
        check_original(original, names, [])
        self._names, self._proper, self._weight = names, proper, weight
        self._rng = seeded(seed).generator("regressions")
        self._original = self._sample(original)
        self._sizes: list[int] = []
        terms = (term for name in names for term in _terms(self._original[name]))
        self._terms = list(islice(terms, _WIDEST))
        self._is_indicator = np.array([term.labels is not None for term in self._terms], dtype=bool)
        self._notes: list[str] = []
        self._regressions = list(self._learned())
        self._fits: list[list[tuple[FloatArray, FloatArray]]] = []

    def add(self, synthetic: Table) -> None:
        """Fit all models to the next dataset."""
        check_comparable(self._original, [synthetic], self._names, first=len(self._sizes) + 1)
        table = self._sample(synthetic)
        design = self._design(table)
        self._sizes.append(table.n_rows)
        self._fits.append([self._refitted(one, table, design) for one in self._regressions])

    def result(self) -> Regressions:
        """Return the comparison of the datasets so far, at least one."""
        return Regressions(
            n=self._original.n_rows,
            n_synthetic=tuple(self._sizes),
            proper=self._proper,
            rows=tuple(self._row(*pair) for pair in enumerate(self._regressions)),
            notes=tuple(self._notes),
        )

    def _sample(self, table: Table) -> Table:
        """Return the records that are fitted: a sample of a large file, without weight 0."""
        names = self._names if self._weight is None else [*self._names, self._weight]
        table = table.select(names)
        if self._weight is not None:
            table = table.take(np.flatnonzero(weights_of(table, self._weight) > 0))
        return _sample(table, self._rng)

    def _weights(self, table: Table, rows: BoolArray) -> FloatArray | None:
        """Return the weights of some records, with mean 1; None without a weight."""
        if self._weight is None:
            return None
        weights = weights_of(table, self._weight)[rows]
        return np.asarray(weights / weights.mean(), dtype=np.float64)

    def _design(self, table: Table) -> FloatArray:
        """Return the constant and all columns, shape (1 + columns, n)."""
        return np.array([np.ones(table.n_rows), *(term.values(table) for term in self._terms)])

    def _learned(self) -> Iterator[_Regression]:
        design = self._design(self._original)
        responses = map(_response, (self._original[name] for name in self._names))
        for response in islice(filter(None, responses), MOST_RESPONSES):
            try:
                yield self._fitted(response, design)
            except DataError as error:
                self._notes.append(
                    f"no regression of {response.variable}: {'; '.join(error.problems)}"
                )

    def _fitted(self, response: _Response, design: FloatArray) -> _Regression:
        is_logit = response.outcomes is not None
        rows, y = response.rows_and_values(self._original)
        is_own = np.array([term.variable == response.variable for term in self._terms], dtype=bool)
        estimable = ~is_own & self._is_estimable(design, rows, y, is_logit=is_logit)
        events = int(min(y.sum(), len(y) - y.sum())) if is_logit else len(y)
        positions = 1 + np.flatnonzero(estimable)[: min(MOST_COLUMNS, events // RECORDS_A_COLUMN)]
        if len(positions):
            spread = _covariance(design[positions][:, rows])
            positions, spread = _varying(positions, spread)
            scale = np.sqrt(spread.diagonal())
            idle = dependent(spread / np.outer(scale, scale), EXPLAINED) if len(positions) else []
            positions = np.delete(positions, idle)
        if not len(positions):
            raise DataError("no other column can be used")
        weights = self._weights(self._original, rows)
        fit = _fit(design[np.append(0, positions)][:, rows], y, weights, is_logit=is_logit)
        if fit is None:
            raise DataError("the fit does not converge")
        if not is_logit and fit.residual < DETERMINED * y.var():
            raise DataError("the other variables determine it")
        return _Regression(response, positions, len(y), fit.coefficients, fit.errors)

    def _is_estimable(
        self, design: FloatArray, rows: BoolArray, y: FloatArray, *, is_logit: bool
    ) -> BoolArray:
        """Return which columns vary in enough records, shape (columns,)."""
        ones = design[1:] @ rows
        fewest, needed = np.minimum(ones, len(y) - ones), FEWEST_OF_INDICATOR
        is_frequent = fewest >= needed
        if is_logit:
            answers = np.zeros(len(rows))
            answers[rows] = y
            both, total = design[1:] @ answers, y.sum()
            cells = (both, ones - both, total - both, len(y) - ones - total + both)
            is_frequent &= np.min(cells, axis=0) >= FEWEST_OF_CELL
        return np.asarray(is_frequent | ~self._is_indicator)

    def _refitted(
        self, regression: _Regression, table: Table, design: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return coefficients and standard errors in a dataset, shapes (p,); NaN without a fit."""
        rows, y = regression.response.rows_and_values(table)
        is_logit = regression.response.outcomes is not None
        p = len(regression.positions)
        q, u = np.full(p, np.nan), np.full(p, np.nan)
        if not len(y):
            return q, u
        X = design[np.append(0, regression.positions)][:, rows]
        usable, spread = _varying(np.arange(p), _covariance(X[1:]))
        if is_logit:
            is_mixed = (
                self._is_mixed(X[1 + usable], y)
                | ~self._is_indicator[regression.positions[usable] - 1]
            )
            usable, spread = usable[is_mixed], spread[np.ix_(is_mixed, is_mixed)]
        if len(usable):
            usable = np.delete(usable, dependent(spread))
        weights = self._weights(table, rows)
        columns = X[np.append(0, 1 + usable)]
        fit = _fit(columns, y, weights, is_logit=is_logit) if len(usable) else None
        if fit is not None:
            q[usable], u[usable] = fit.coefficients, fit.errors
        return q, u

    @staticmethod
    def _is_mixed(X: FloatArray, y: FloatArray) -> BoolArray:
        """Return for which indicators both outcomes occur with both values, shape (columns,)."""
        ones, both = X.sum(axis=1), X @ y
        first, rest = both * (ones - both), (y.sum() - both) * (len(y) - ones - y.sum() + both)
        return np.asarray((first > 0) & (rest > 0))

    def _row(self, number: int, regression: _Regression) -> RegressionRow:
        of_original, errors = regression.coefficients, regression.errors
        q, u = (np.array([fits[number][part] for fits in self._fits]) for part in (0, 1))
        scale = np.sqrt(np.array(self._sizes) / self._original.n_rows)[:, None]
        z, r = (q - of_original) / errors, u * scale / errors
        # the intervals 0 +- c and z +- c r, in standard errors of the original
        common = np.minimum(CRITICAL, z + CRITICAL * r) - np.maximum(-CRITICAL, z - CRITICAL * r)
        overlap = (common / (2 * CRITICAL) + common / (2 * CRITICAL * r)) / 2
        is_fitted = np.isfinite(z)
        means = np.where(is_fitted, z, 0).sum(axis=0) / np.maximum(is_fitted.sum(axis=0), 1)
        worst, some = int(np.abs(means).argmax()), bool(is_fitted.any())
        return RegressionRow(
            response=regression.response.variable,
            family="least squares" if regression.response.outcomes is None else "logit",
            n=regression.n,
            coefficients=len(of_original),
            beyond=float((~(np.abs(z) <= CRITICAL)).mean()),
            error=float(np.abs(z[is_fitted]).mean()) if some else None,
            overlap=float(np.where(is_fitted, overlap, 0.0).mean()),
            worst=self._terms[regression.positions[worst] - 1].name if some else None,
            worst_error=float(means[worst]) if some else None,
        )


def _sample(table: Table, rng: np.random.Generator) -> Table:
    if table.n_rows <= MOST_RECORDS:
        return table
    return table.take(np.sort(rng.permutation(table.n_rows)[:MOST_RECORDS]))


def _terms(column: Column) -> tuple[_Predictor, ...]:
    """Return the columns that a variable has in a design."""
    name, variable = column.name, column.variable
    if not column.is_coded:
        observed = column.data[column.is_observed]
        if not len(observed):
            return ()
        centre, scale = _standard_unit(observed)
        missing = _Predictor(name, f"{name} missing", frozenset(variable.missing))
        return (_Predictor(name, name, centre=centre, scale=scale), missing)
    counts = np.bincount(column.data, minlength=variable.n_codes)
    frequent = [int(code) for code in np.argsort(-counts, kind="stable")[:MOST_LEVELS]]
    labels = [variable.labels[code] for code in frequent]
    single = (_Predictor(name, f"{name}={x or '(empty)'}", frozenset({x})) for x in labels[1:])
    return (*single, _Predictor(name, f"{name}=other", frozenset(labels), is_other=True))


def _standard_unit(values: npt.NDArray[Any]) -> tuple[float, float]:
    """Return mean and standard deviation (1 if it is 0), without underflow."""
    size = float(np.abs(values).max()) or 1.0
    units = values / size
    return float(units.mean()) * size, float(units.std()) * size or 1.0


def _response(column: Column) -> _Response | None:
    """Return a variable as a response, None if it cannot be one."""
    observed = column.data[column.is_observed]
    if len(observed) < FEWEST_RECORDS:
        return None
    values, counts = np.unique(observed, return_counts=True)
    if len(values) != 2:
        if column.is_coded or len(values) < 2:
            return None
        return _Response(column.name, None, *_standard_unit(observed))
    if counts.min() < FEWEST_RECORDS:
        return None
    rarer, other = values[np.argsort(counts, kind="stable")]
    if column.is_coded:
        labels = column.variable.labels
        return _Response(column.name, (labels[rarer], labels[other]))
    return _Response(column.name, (float(rarer), float(other)))


# Columns are standardised and far from collinear, so that normal equations are accurate.


class _Fit(NamedTuple):
    """A fit, without its constant."""

    coefficients: FloatArray
    """Shape (p,)."""
    errors: FloatArray
    """Standard errors, robust to unequal variances (HC1), shape (p,)."""
    residual: float
    """Mean square of the residuals."""


def _fit(
    X: FloatArray, y: FloatArray, weights: FloatArray | None, *, is_logit: bool
) -> _Fit | None:
    """Return the fit by Newton's method (least squares: one step); None without convergence.

    ``X`` has shape (1 + p, n), the constant first. With weights, shape (n,), the weighted
    likelihood is maximised, with the errors of `fits.fit_model`.
    """
    X = np.ascontiguousarray(X)  # the same columns give the same bits
    p, n = X.shape
    w = 1.0 if weights is None else weights
    coefficients = np.zeros(p)
    if n <= p:
        return None
    try:
        for _ in range(_MOST_STEPS if is_logit else 1):
            means = scipy.special.expit(coefficients @ X) if is_logit else 0.0
            spread = means * (1 - means) if is_logit else 1.0
            is_plain = weights is None and not is_logit
            bread = np.linalg.inv(X @ X.T if is_plain else (X * (w * spread)) @ X.T)
            step = bread @ (X @ (w * (y - means)))
            coefficients = coefficients + step
            if not is_logit or np.abs(step).max() < _SETTLED:
                break
        else:
            return None
    except np.linalg.LinAlgError:
        return None
    linear = coefficients @ X
    rest = y - (scipy.special.expit(linear) if is_logit else linear)
    squares = (w * rest) ** 2
    covariance = n / (n - p) * bread @ ((X * squares) @ X.T) @ bread
    variances = covariance.diagonal()  # may be below 0 for nearly collinear columns
    if not (np.isfinite(coefficients).all() and (variances > 0).all()):
        return None
    return _Fit(coefficients[1:], np.sqrt(variances)[1:], float((rest * rest).mean()))


def _covariance(X: FloatArray) -> FloatArray:
    """Return the covariance of columns, shape (p, p); ``X`` has shape (p, n)."""
    means = X.mean(axis=1)
    return np.asarray(X @ X.T / X.shape[1] - np.outer(means, means))


def _varying(positions: Codes, spread: FloatArray) -> tuple[Codes, FloatArray]:
    """Return the columns that vary, and their covariance."""
    varies = spread.diagonal() > DEPENDENT
    return positions[varies], spread[np.ix_(varies, varies)]


MEASURES = (
    Measure(
        "regressions",
        "datasets",
        axis="utility",
        after="unseen",
        words="each number and each variable of two levels regressed on the others",
        needs=("names",),
        compute=lambda case: RegressionCounter(
            case.original, case.names, proper=case.synthesis.proper, seed=case.seed
        ),
        result=Regressions,
        figures=(COEFFICIENTS_OFF, COEFFICIENTS_ERROR, REGRESSIONS_OVERLAP, REGRESSIONS_WORST),
    ),
)
