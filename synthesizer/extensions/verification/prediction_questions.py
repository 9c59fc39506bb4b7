"""Questions about the predictions that a model of the synthetic data makes for confidential rows.

Coefficients, grids and bounds come from the synthetic data alone, so they are free and reveal
nothing; the confidential rows are only counted in cells (Stoddard, Chen and Machanavajjhala 2014
for ROC curves; Chen, Machanavajjhala, Reiter and Barrientos 2016 for residuals).

The attack: an exact ROC curve has a step for each person, and an exact plot of residuals a point.
An attacker with all rows except one could find the missing row. A grid with bounds from the
confidential data would show the largest row.

The sensitivity: one row of each person counts, chosen by the secret key and by that person's rows
alone (`QueryRows.one_row`). Adding or removing a person changes one cell by 1; changing the row
moves it to another cell, together 2. The two histograms of a ROC curve, of rows with and without
the outcome, divide the rows, so together they are one histogram. Numbers that are not finite have a
fixed cell. A prediction is summed column by column, since in a product of matrices other rows could
change its last bit. A loss is clipped to public ends, like the values of means
(`synthesizer.extensions.verification.table_questions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import scipy
from pydantic import Field
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsqr
from scipy.special import expit

from synthesizer.data.errors import DataError
from synthesizer.data.randomness import Seed
from synthesizer.data.table import FloatArray, IntArray, Table
from synthesizer.extensions.verification.answer import Answer
from synthesizer.extensions.verification.mechanisms import Mechanism
from synthesizer.extensions.verification.messages import WORDS
from synthesizer.extensions.verification.partition_fits import PartitionRows, fit_partitions
from synthesizer.extensions.verification.public_schema import PublicSchema
from synthesizer.extensions.verification.questions import QueryRows, Question, Released, Terms
from synthesizer.extensions.verification.table_questions import (
    mechanisms_of_means,
    noisy_means,
    totals_in,
)
from synthesizer.measures.figure import Row, column
from synthesizer.measures.utility.formulas import Model
from synthesizer.report.blocks import Block, Chart, interval, row_table, value_table, written
from synthesizer.report.charts import roc, scatter

CELL_MOVES = 2
"""A changed row leaves one cell and enters another."""
_NOISE_DRAWS = 200
"""Draws of the noise for an interval."""
_MAX_POINTS = 800


@dataclass(frozen=True, eq=False)
class Predictor:
    """A model with the coefficients of the synthetic data."""

    model: Model
    coefficients: FloatArray
    """Shape (p,)."""
    effects: tuple[tuple[FloatArray, FloatArray], ...] = ()
    """Values of each fixed effect, in order, and their effects; others have 0."""
    is_logit: bool = False

    def predict(self, table: Table) -> tuple[FloatArray, FloatArray]:
        """Return response and prediction of each complete row, shapes (rows,)."""
        y, X, rows = self.model.columns_of(table)
        predicted = np.zeros(len(y))
        with np.errstate(all="ignore"):
            for values, coefficient in zip(X.T, self.coefficients, strict=True):
                predicted += values * coefficient
        complete = np.ones(len(y), dtype=bool)
        for name, (values, added) in zip(self.model.formula.effects, self.effects, strict=True):
            data = table[name].data.astype(np.float64)[rows]
            index = np.searchsorted(values, data).clip(0, len(values) - 1)
            predicted += np.where(values[index] == data, added[index], 0.0)
            complete &= table[name].is_observed[rows]
        return y[complete], expit(predicted[complete]) if self.is_logit else predicted[complete]


def predictor_of(query: Terms, schema: PublicSchema, synthetic: QueryRows) -> Predictor:
    """Return the model fitted to the synthetic data; DataError if they do not identify it."""
    model = query.model(schema)
    y, X, rows = model.columns_of(synthetic.table)
    columns = [synthetic.table[name] for name in model.formula.effects]
    levels = [np.unique(one.data.astype(np.float64)[rows], return_inverse=True) for one in columns]
    complete = np.ones(len(y), dtype=bool)
    for column_of_effect in columns:
        complete &= column_of_effect.is_observed[rows]
    y, X, codes = y[complete], X[complete], tuple(code[complete] for _, code in levels)
    no_person = np.zeros(len(y), dtype=np.int64)
    fits = fit_partitions(PartitionRows(y, X, codes, np.arange(len(y)), no_person), 1, query.family)
    coefficients = fits.coefficients[0]
    if np.isnan(coefficients).any():
        raise DataError(WORDS["wrong"]["unidentified"])
    added = _effects(y - X @ coefficients, codes, [len(values) for values, _ in levels])
    effects = tuple((values, one) for (values, _), one in zip(levels, added, strict=True))
    return Predictor(model, coefficients, effects, is_logit=query.family == "logit")


def _effects(rest: FloatArray, codes: Sequence[IntArray], sizes: Sequence[int]) -> list[FloatArray]:
    """Return the effect of each level of the fixed effects, by least squares."""
    if not codes:
        return []
    starts = np.concatenate([[0], np.cumsum(sizes)])
    indices = np.column_stack([code + start for code, start in zip(codes, starts, strict=False)])
    indicators = csr_array(
        (np.ones(indices.size), indices.ravel(), np.arange(0, indices.size + 1, len(codes))),
        shape=(len(rest), int(starts[-1])),
    )
    return np.split(lsqr(indicators, rest, atol=1e-12, btol=1e-12)[0], starts[1:-1])


class OfPredictions(Question):
    """Base of questions about predictions."""

    families: ClassVar[tuple[str, ...]] = ("linear", "logit")

    def problems(self, query: Terms, schema: PublicSchema) -> Iterator[str]:
        """Yield a problem if the question does not support the family of the model."""
        if query.family not in self.families:
            yield f"family: only {self.families[0]} serves this question"
        elif query.family == "logit" and query.model(schema).formula.effects:
            yield "formula: here a logit has no fixed effects; write C(x) before the '|'"
        elif schema.person in query.model(schema).formula.effects:
            yield f"formula: the model predicts other persons; remove {schema.person} after the '|'"


@dataclass(frozen=True, eq=False)
class PreparedPredictions:
    """A model, the cells of its predictions, and their synthetic counts."""

    predictor: Predictor
    ends: FloatArray
    """Upper ends of cells; for a grid low and high of each axis, shape (2,)."""
    synthetic: FloatArray | IntArray
    """Counts of the cells, or a mean."""


def _beside(synthetic: float, low: float, high: float, same: str, does: str, better: bool) -> str:
    """Return a sentence that compares with the synthetic data; ``better``: high is good."""
    if low <= synthetic <= high:
        return f"{same} in the synthetic data, within the noise."
    verb = "better" if (synthetic < low) == better else "worse"
    return str(WORDS["predictions"]["beside"].format(does, verb))


# ROC curve


class RocQuestion(OfPredictions):
    """How well does the synthetic model predict the outcome in the confidential data?"""

    measure: Literal["roc"] = "roc"
    families: ClassVar[tuple[str, ...]] = ("logit",)
    cells: int = Field(default=50, ge=5, le=500)
    """Cells of the predicted probability, with about equal numbers of synthetic rows."""

    def prepare(
        self, query: Terms, schema: PublicSchema, synthetic: QueryRows
    ) -> PreparedPredictions:
        """Return the model and the grid of scores."""
        predictor = predictor_of(query, schema, synthetic)
        y, score = predictor.predict(synthetic.one_row().table)
        ends = np.unique(np.quantile(score, np.arange(1, self.cells) / self.cells))
        return PreparedPredictions(predictor, ends, class_counts(y, score, ends))

    def mechanisms(self, query: Terms, prepared: PreparedPredictions) -> tuple[Mechanism, ...]:
        """Return the noise of both histograms, which count as one."""
        return (Mechanism(2 * (len(prepared.ends) + 1), CELL_MOVES, query.micro_epsilon),)

    def whole_numbers(
        self, query: Terms, prepared: PreparedPredictions, view: QueryRows
    ) -> list[list[int]]:
        """Return counts of rows by score, those without the outcome first."""
        y, score = prepared.predictor.predict(view.one_row().table)
        return [class_counts(y, score, prepared.ends).tolist()]

    def conclude(self, query: Terms, prepared: PreparedPredictions, released: Released) -> Answer:
        """Return the curve and the area under it, with its interval of the noise."""
        (mechanism,) = self.mechanisms(query, prepared)
        counts = np.array(released[0])
        curve, synthetic_curve = roc_points(counts), roc_points(prepared.synthetic)
        area, expected = area_under(curve), area_under(synthetic_curve)
        low, high = area_interval(counts, mechanism)
        same, does = "The model predicts the outcome as well as", "predicts the outcome"
        return RocAnswer(
            released=released,
            words=(
                WORDS["predictions"]["roc"].format(
                    written(area, "share"), interval(low, high, "share"), written(expected, "share")
                ),
                _beside(expected, low, high, same, does, better=True),
                WORDS["rows_drawn"],
            ),
            area=area,
            low=low,
            high=high,
            synthetic=expected,
            curve=tuple(map(tuple, curve.tolist())),
            synthetic_curve=tuple(map(tuple, synthetic_curve.tolist())),
        )


def class_counts(y: FloatArray, score: FloatArray, ends: FloatArray) -> IntArray:
    """Return counts by score of rows without the outcome, then of rows with it."""
    cell = np.searchsorted(ends, np.nan_to_num(score, nan=0.0))
    size = len(ends) + 1
    return np.bincount(cell + size * (y == 1), minlength=2 * size)


def roc_points(counts: FloatArray | IntArray) -> FloatArray:
    """Return false and true positive rates from the highest score down, shape (cells + 1, 2).

    Noisy counts are summed from the highest score down; isotonic regression makes the sums rise.
    """
    rates = []
    for of_class in counts.reshape(2, -1):
        rising = rising_sums(of_class)
        total = rising[-1]
        rates.append(rising / total if total > 0 else np.linspace(0, 1, len(rising)))
    return np.column_stack(rates)


def rising_sums(counts: FloatArray | IntArray) -> FloatArray:
    """Return cumulative sums of noisy counts from the last one down, made to rise from 0."""
    sums = np.concatenate([[0.0], np.cumsum(counts[::-1])])
    rising: FloatArray = scipy.optimize.isotonic_regression(sums).x
    return np.maximum(rising, 0.0)


def area_under(points: FloatArray) -> float:
    """Return the area under a curve of rates by trapezoids, in [0, 1]."""
    false, true = points.T
    return float(np.diff(false) @ (true[1:] + true[:-1]) / 2)


def area_interval(counts: IntArray, mechanism: Mechanism) -> tuple[float, float]:
    """Return the 95 % interval of the area without noise, from new draws of the noise.

    It is free, since it uses the released counts; the seed is fixed, so the same counts have the
    same interval (basic bootstrap, Davison and Hinkley 1997, section 5.2, symmetric).
    """
    rng = Seed(0).generator("interval of the noise")
    noise = rng.geometric(1 - np.exp(-1 / mechanism.scale), (2, _NOISE_DRAWS, len(counts)))
    rising = [rising_sums(of_class) for of_class in counts.reshape(2, -1)]
    smooth = np.concatenate([np.diff(sums)[::-1] for sums in rising])
    area = area_under(roc_points(counts))
    drawn = [area_under(roc_points(smooth + moved)) for moved in noise[0] - noise[1]]
    low, high = 2 * area - np.quantile(drawn, [0.975, 0.025])
    low, high = min(low, 2 * area - high), max(high, 2 * area - low)
    return float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))


class RocAnswer(Answer):
    """A ROC curve of the synthetic model in the confidential data."""

    area: float
    low: float
    high: float
    synthetic: float
    curve: tuple[tuple[float, float], ...]
    """False and true positive rates."""
    synthetic_curve: tuple[tuple[float, float], ...]

    def blocks(self) -> Iterator[Block]:
        """Yield both curves."""
        title = "ROC curve of the synthetic model"
        curves = [("confidential, with noise", self.curve), ("synthetic", self.synthetic_curve)]
        yield Chart(
            title=title,
            svg=roc(curves, title=title, description=self.words[0]),
            reads=WORDS["reads"]["roc"],
            summary=self.words[0],
            table=value_table(
                title,
                [
                    ("area under the curve, confidential with noise", self.area),
                    ("interval of the noise", interval(self.low, self.high, "share")),
                    ("area under the curve, synthetic", self.synthetic),
                ],
            ),
        )


# Residuals against predicted values


class Residuals(OfPredictions):
    """Do the residuals of the synthetic model look right in the confidential data?"""

    measure: Literal["residuals"] = "residuals"
    families: ClassVar[tuple[str, ...]] = ("linear",)
    cells: int = Field(default=20, ge=5, le=50)
    """Cells of the grid on each axis."""

    def prepare(
        self, query: Terms, schema: PublicSchema, synthetic: QueryRows
    ) -> PreparedPredictions:
        """Return the model and the grid, from the middle 99 % of the synthetic data."""
        predictor = predictor_of(query, schema, synthetic)
        y, predicted = predictor.predict(synthetic.one_row().table)
        across, up = (
            np.quantile(values, [0.005, 0.995]) for values in (predicted, np.abs(y - predicted))
        )
        if across[0] >= across[1] or up[1] <= 0:
            raise DataError(
                "the predictions in the synthetic data do not vary; ask about another model"
            )
        ends = np.array([across, (-up[1], up[1])])
        return PreparedPredictions(
            predictor, ends, grid_counts(predicted, y - predicted, ends, self.cells)
        )

    def mechanisms(self, query: Terms, prepared: PreparedPredictions) -> tuple[Mechanism, ...]:
        """Return the noise of the grid."""
        return (Mechanism(self.cells**2, CELL_MOVES, query.micro_epsilon),)

    def whole_numbers(
        self, query: Terms, prepared: PreparedPredictions, view: QueryRows
    ) -> list[list[int]]:
        """Return counts of the grid, by predicted value and then by residual."""
        y, predicted = prepared.predictor.predict(view.one_row().table)
        with np.errstate(all="ignore"):
            counts = grid_counts(predicted, y - predicted, prepared.ends, self.cells)
        return [counts.tolist()]

    def conclude(self, query: Terms, prepared: PreparedPredictions, released: Released) -> Answer:
        """Return the counts without those from noise alone, and points drawn from them."""
        (mechanism,) = self.mechanisms(query, prepared)
        k, ends = self.cells, prepared.ends
        counts = without_noise(np.array(released[0])).reshape(k, k)
        rows = tuple(_slices(counts, prepared.synthetic.reshape(k, k), ends, mechanism.scale))
        far = [row for row in rows if abs(row.mean or 0.0) > abs(row.synthetic or 0.0) + row.reach]
        shape = WORDS["predictions"]["larger" if far else "even"].format(len(far), len(rows))
        return ResidualAnswer(
            released=released,
            words=(
                WORDS["predictions"]["residuals"].format(round(counts.sum())),
                shape,
                WORDS["rows_drawn"],
            ),
            rows=rows,
            points=tuple(map(tuple, resampled(counts, ends).tolist())),
            across=tuple(ends[0].tolist()),
            up=tuple(ends[1].tolist()),
            counts=tuple(map(tuple, counts.round(2).tolist())),
        )


def grid_counts(
    predicted: FloatArray, residual: FloatArray, ends: FloatArray, cells: int
) -> IntArray:
    """Return counts of a square grid, shape (cells^2,); the outer cells include all beyond."""
    indices = []
    for values, (low, high) in zip((predicted, residual), ends, strict=True):
        share = (np.nan_to_num(values, nan=low, posinf=high, neginf=low) - low) / (high - low)
        indices.append((np.clip(share, 0, 1) * cells).astype(np.int64).clip(0, cells - 1))
    return np.bincount(indices[0] * cells + indices[1], minlength=cells * cells)


def without_noise(counts: IntArray) -> FloatArray:
    """Return the nearest counts of 0 or more with the same sum as the noisy ones.

    All decrease by the same amount, but not below 0 (Duchi et al. 2008): cells that noise alone
    filled become empty.

    Examples
    --------
    >>> without_noise(np.array([10, 3, -2, -1, 2])).round(2).tolist()
    [9.0, 2.0, 0.0, 0.0, 1.0]
    """
    total = max(0.0, float(counts.sum()))
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    used = int(np.flatnonzero(falling > excess)[-1]) if total > 0 else 0
    return np.maximum(counts - (excess[used] if total > 0 else float(falling[0])), 0.0)


def resampled(counts: FloatArray, ends: FloatArray, most: int = 2_000) -> FloatArray:
    """Return points (predicted, residual) drawn evenly within cells, one per count."""
    k = len(counts)
    total = counts.sum()
    if total <= 0:
        return np.empty((0, 2))
    rng = Seed(0).generator("points")
    cell = rng.choice(counts.size, min(most, round(total)), p=counts.ravel() / total)
    points = np.column_stack([cell // k, cell % k]) + rng.random((len(cell), 2))
    return np.asarray(ends[:, 0] + points / k * (ends[:, 1] - ends[:, 0]))


def _slices(
    counts: FloatArray, there: FloatArray | IntArray, ends: FloatArray, scale: float
) -> Iterator[Slice]:
    """Yield the mean residual of each range of predicted values, from the middles of cells."""
    k, (across, up) = len(counts), ends.tolist()
    width = (up[1] - up[0]) / k
    middles = up[0] + (np.arange(k) + 0.5) * width
    spread = scale * float(np.sqrt(2 * (middles**2).sum()))
    edges = np.linspace(across[0], across[1], k + 1).tolist()
    for low, high, mine, others in zip(edges[:-1], edges[1:], counts, there, strict=True):
        rows = float(mine.sum())
        yield Slice(
            low=low,
            high=high,
            rows=rows,
            mean=float(mine @ middles / mine.sum()) if rows >= 1 else None,
            synthetic=float(others @ middles / others.sum()) if others.sum() else None,
            reach=width / 2 + 2 * spread / max(1.0, rows),
        )


class Slice(Row):
    """Ranges of the predicted value and the mean residual in them"""

    low: float = column("Predicted from", "number")
    high: float = column("to", "number")
    rows: float = column("Persons", "number", "of the confidential data, after noise")
    mean: float | None = column("Mean residual", "number", "of the confidential data, with noise")
    synthetic: float | None = column("Synthetic", "number", "mean residual of the synthetic data")
    reach: float
    """Error limit of the mean: half a cell and two standard deviations of the noise."""


class ResidualAnswer(Answer):
    """Residuals of the synthetic model in the confidential data."""

    rows: tuple[Slice, ...]
    points: tuple[tuple[float, float], ...]
    """Predicted value and residual, drawn from the noisy grid; none is a person."""
    across: tuple[float, float]
    up: tuple[float, float]
    counts: tuple[tuple[float, ...], ...]
    """Counts of the grid, by predicted value and then by residual."""

    def blocks(self) -> Iterator[Block]:
        """Yield the points with the mean residuals."""
        title = "Residuals against predicted values"
        yield Chart(
            title=title,
            svg=scatter(
                self.points[:_MAX_POINTS], across=self.across, up=self.up, title=title,
                description=self.words[1], x_label="predicted", y_label="residual",
            ),
            reads=WORDS["reads"]["residuals"],
            summary=self.words[1],
            table=row_table(self.rows, title),
        )  # fmt: skip


# Predictive accuracy


class Accuracy(OfPredictions):
    """How far off are the predictions of the synthetic model in the confidential data?

    For a logit: the share of persons whose outcome is the more probable one. For a linear model:
    the mean absolute error, clipped.
    """

    measure: Literal["accuracy"] = "accuracy"
    most: float | None = Field(default=None, ge=1e-100, le=1e100)
    """Larger absolute errors count as this one; three times the synthetic mean where absent."""

    def problems(self, query: Terms, schema: PublicSchema) -> Iterator[str]:
        """Yield a problem if a logit has a limit of errors."""
        yield from super().problems(query, schema)
        if query.family == "logit" and self.most is not None:
            yield "ask.most: a logit is judged by its share of right predictions; remove most"

    def prepare(
        self, query: Terms, schema: PublicSchema, synthetic: QueryRows
    ) -> PreparedPredictions:
        """Return the model and its accuracy in the synthetic data."""
        predictor = predictor_of(query, schema, synthetic)
        loss = self._loss(predictor, synthetic)
        most = 1.0 if predictor.is_logit else self.most or 3 * float(loss.mean())
        if most <= 0:
            raise DataError("ask.most: write a number above 0; the synthetic errors are all 0")
        return PreparedPredictions(
            predictor, np.array([0.0, most]), np.array(np.minimum(loss, most).mean())
        )

    def _loss(self, predictor: Predictor, view: QueryRows) -> FloatArray:
        """Return the absolute error of each person, or whether the prediction is right."""
        y, predicted = predictor.predict(view.one_row().table)
        if predictor.is_logit:
            return np.asarray((predicted >= 0.5) == (y == 1), dtype=float)
        with np.errstate(all="ignore"):
            return np.asarray(np.nan_to_num(np.abs(y - predicted), nan=np.inf))

    def mechanisms(self, query: Terms, prepared: PreparedPredictions) -> tuple[Mechanism, ...]:
        """Return the noise of counts of right and wrong, or of the sum and number of losses."""
        if prepared.predictor.is_logit:
            return (Mechanism(2, CELL_MOVES, query.micro_epsilon),)
        return mechanisms_of_means(1, 1, query.micro_epsilon)

    def whole_numbers(
        self, query: Terms, prepared: PreparedPredictions, view: QueryRows
    ) -> list[list[int]]:
        """Return counts of right and wrong, or the sum of the losses and their number."""
        loss = self._loss(prepared.predictor, view)
        if prepared.predictor.is_logit:
            right = int(loss.sum())
            return [[right, len(loss) - right]]
        nowhere, (least, most) = np.zeros(len(loss), dtype=np.int64), prepared.ends.tolist()
        return [total.tolist() for total in totals_in(nowhere, 1, loss, (least, most))]

    def conclude(self, query: Terms, prepared: PreparedPredictions, released: Released) -> Answer:
        """Return the share or the mean error with the interval of the noise."""
        mechanisms, is_logit = self.mechanisms(query, prepared), prepared.predictor.is_logit
        least, most = prepared.ends.tolist()
        if is_logit:
            what, value, (low, high) = "share predicted right", *_share(released[0], mechanisms[0])
        else:
            ((value, low, high),) = noisy_means(released, mechanisms, (least, most))
            what = f"mean absolute error (at most {most:g})"
        there = float(prepared.synthetic)
        shown = "too few persons for an answer" if value is None else written(value)
        return AccuracyAnswer(
            released=released,
            words=(
                WORDS["predictions"]["accuracy"].format(
                    what, shown, interval(low, high), written(there)
                ),
                _beside(there, low, high, "That is as", "predicts", better=is_logit),
                WORDS["rows_drawn"],
            ),
            what=what,
            value=value,
            low=low,
            high=high,
            synthetic=there,
        )


def _share(counts: Sequence[int], mechanism: Mechanism) -> tuple[float | None, tuple[float, float]]:
    """Return the share of the first of two noisy counts, with its interval."""
    reach = mechanism.within(0.975)
    right, wrong = counts
    if right + wrong < 1:
        return None, (0.0, 1.0)

    def share(a: int, b: int) -> float:
        a, b = max(0, a), max(0, b)
        return a / (a + b) if a + b else 0.5

    ends = share(right - reach, wrong + reach), share(right + reach, wrong - reach)
    return share(right, wrong), ends


class AccuracyAnswer(Answer):
    """The accuracy of predictions of the synthetic model in the confidential data."""

    what: str
    value: float | None
    low: float
    high: float
    synthetic: float

    def blocks(self) -> Iterator[Block]:
        """Yield the figures."""
        yield value_table(
            "Predictions of the synthetic model",
            [
                (f"{self.what}, confidential with noise", self.value),
                ("interval of the noise", interval(self.low, self.high)),
                (f"{self.what}, synthetic", self.synthetic),
            ],
        )
