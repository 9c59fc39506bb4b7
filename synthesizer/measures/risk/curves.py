"""Inference, analyses 4 and 5: how well do synthetic proportions predict the sensitive level?

The attack: for a known person, look up the synthetic records with the same public values and take
the shares of their levels for probabilities. Two comparisons are computed: published margins, and
chance, which alone gives shares of 1 in cells with one or two synthetic records.

Source: Barrientos et al. (2018), Providing access to confidential research data through synthesis
and verification, section 3.2.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synthesizer.data.codes import Codes
from synthesizer.data.table import BoolArray, FloatArray
from synthesizer.measures.figure import Result, Row, column
from synthesizer.measures.risk.cap import mean_or_none
from synthesizer.measures.risk.comparable import at_least
from synthesizer.measures.risk.public_cells import Pairs, PublicCells
from synthesizer.measures.risk.tcap import agreement

MAX_POINTS = 1000
"""Largest number of points of a ROC curve."""


@dataclass(frozen=True, eq=False)
class InferenceScores:
    """Predictions of the true level of each original record; arrays of shape (n,)."""

    synthetic: FloatArray
    """Share of the true level in the record's synthetic cell, in [0, 1]; NaN without a cell."""
    baseline: FloatArray
    """Share of the true level in the published margins."""
    original: FloatArray
    """Share of the true level in the original cell."""
    right: BoolArray
    """Whether the most frequent level of the synthetic cell is the true one; False without a cell.
    Ties as in the classification rule."""
    baseline_right: BoolArray
    """Whether that of the published margins is the true one."""
    original_right: BoolArray
    """Whether that of the original cell is the true one."""


class ThresholdRow(Row):
    """Share of all persons whose true level has a probability above a threshold.

    Probabilities near 1 arise by chance in cells with one or two synthetic records.
    """

    threshold: float = column("Probability above", "number", "in [0, 1)")
    count: int = column("Persons", "count", "by the synthetic cells")
    share: float = column("Synthetic", "share", "by the synthetic cells")
    kept_chance_share: float = column(
        "Chance, records kept",
        "share",
        "expected share if the true level of each original record is drawn from the overall "
        "distribution, given the synthetic records",
    )
    chance_share: float = column(
        "Chance, levels drawn",
        "share",
        "expected share if the level of each synthetic record is drawn from the overall "
        "distribution, given cells and true levels; large in small cells, and for thresholds below "
        "the share of the most frequent level",
    )
    baseline_count: int = column("Persons by margins", "count", "by published margins")
    baseline_share: float = column("Margins", "share", "by published margins")
    original_count: int = column("Persons in the original", "count", "by the original cells")
    original_share: float = column("Original", "share", "by the original cells")


class ThresholdRisk(Result):
    """Analysis 5: guesses of the true level by the most frequent level of the synthetic cell.

    Shares are of all original records.
    """

    n: int
    """Number of original records."""
    absent: int
    """Records whose cell the synthetic data lack, so that there is no guess."""
    absent_share: float = column("persons whose public values the synthetic data lack", "share")
    rows: tuple[ThresholdRow, ...]
    """By threshold, the lowest first."""
    right: float = column("guessed right, of all persons", "share", "from the synthetic cell")
    baseline_right: float = column("guessed right from published margins, of all", "share")
    original_right: float = column("guessed right from the original, of all", "share")
    right_of_present: float | None
    """Share guessed right from the synthetic cell, of the records with such a cell."""
    chance_right_of_present: float | None
    """Their share guessed right if guesses were independent of true levels."""
    baseline_right_of_present: float | None
    """Their share guessed right from the published margins."""
    original_right_of_present: float | None
    """Their share guessed right from the original cell."""
    right_in_both: float | None = column(
        "guessed right from margins, too, of those guessed right", "share"
    )
    lower: float = column("true level less probable than by margins", "share", "of all persons")
    equal: float = column("true level as probable as by margins", "share")
    higher: float = column(
        "true level more probable than by margins",
        "share",
        "the three shares and ``absent_share`` add up to 1",
    )


class RocCurve(Row):
    """Each level against the others; the best threshold has the largest sum of both rates.

    Analysis 4: the ROC curve of one level against all others, for original records in cells that
    the synthetic data have. Values are None if one of the two classes has no record.
    """

    level: str = column("Level", "text", "the class")
    positives: int = column("Persons with it", "count", "classified original records")
    negatives: int = column("Without", "count", "classified original records of other classes")
    left_out: int = column(
        "Not classified", "count", "original records in cells that the synthetic data lack"
    )
    thresholds: int = column("Thresholds", "count", "distinct synthetic proportions")
    auc: float | None = column("AUC", "share", "area under the curve; 0.5 is chance")
    auc_all: float | None = column(
        "AUC of all persons",
        "share",
        "those not classified get the proportion among all synthetic records",
    )
    auc_original: float | None = column("AUC of the original", "share", "of releasing the original")
    auc_original_of_present: float | None = column(
        "Of the original, same persons",
        "share",
        "for persons in cells that the synthetic data have",
    )
    best_threshold: float | None = column(
        "Best share",
        "share",
        "with the largest sum of true positive and true negative rate (the smallest of them)",
    )
    best_tpr: float | None = column("Its true positive rate", "share")
    best_tnr: float | None = column("Its true negative rate", "share")
    curve: tuple[tuple[float | None, float, float], ...]
    """Threshold, true positive rate and true negative rate, from (None, 1, 0) to a threshold with
    rates 0 and 1; at most `MAX_POINTS`, spread evenly along the curve."""


def scores(cells: PublicCells, margin: Codes) -> InferenceScores:
    """Return probabilities and guesses; ``margin`` is the published cell of each record."""
    pairs, order = cells.pairs, cells.preference
    pair, cell = cells.pair_of_original, cells.cell_of_original
    truth = pairs.level[pair]
    published = Pairs(margin, truth, int(margin.max()) + 1, len(cells.levels))
    counts = np.bincount(published.of_record, minlength=published.size)
    synthetic = np.full(cells.n, np.nan)
    shown = cells.synthetic_by_cell[cell]
    np.divide(cells.synthetic_by_pair[pair], shown, out=synthetic, where=shown > 0)
    return InferenceScores(
        synthetic=synthetic,
        baseline=counts[published.of_record] / published.per_cell(counts)[margin],
        original=cells.original_by_pair[pair] / cells.original_by_cell[cell],
        right=pairs.majority(cells.synthetic_by_pair, order)[cell] == truth,
        baseline_right=published.majority(counts, order)[margin] == truth,
        original_right=pairs.majority(cells.original_by_pair, order)[cell] == truth,
    )


def threshold_risk(
    cells: PublicCells, shares: InferenceScores, thresholds: Sequence[float]
) -> ThresholdRisk:
    """Return analysis 5."""
    guess = cells.pairs.majority(cells.synthetic_by_pair, cells.preference)
    absent = np.isnan(shares.synthetic)
    n, n_absent, n_right = len(absent), int(absent.sum()), int(shares.right.sum())
    both = int((shares.right & shares.baseline_right).sum())
    return ThresholdRisk(
        n=n,
        absent=n_absent,
        absent_share=n_absent / n,
        rows=tuple(_rows(cells, shares, sorted(set(thresholds)))),
        right=n_right / n,
        baseline_right=float(shares.baseline_right.mean()),
        original_right=float(shares.original_right.mean()),
        right_of_present=mean_or_none(shares.right[~absent]),
        chance_right_of_present=right_by_chance(cells, guess),
        baseline_right_of_present=mean_or_none(shares.baseline_right[~absent]),
        original_right_of_present=mean_or_none(shares.original_right[~absent]),
        right_in_both=both / n_right if n_right else None,
        # Comparisons with NaN are False, so that absent records count in none of the three.
        lower=float((shares.synthetic < shares.baseline).mean()),
        equal=float((shares.synthetic == shares.baseline).mean()),
        higher=float((shares.synthetic > shares.baseline).mean()),
    )


def _rows(
    cells: PublicCells, shares: InferenceScores, thresholds: Sequence[float]
) -> Iterator[ThresholdRow]:
    n, chances = cells.n, exceeding_by_chance(cells, thresholds)
    for threshold, chance in zip(thresholds, chances, strict=True):
        synthetic, baseline, original = (
            int((probability > threshold).sum())
            for probability in (shares.synthetic, shares.baseline, shares.original)
        )
        yield ThresholdRow(
            threshold=float(threshold),
            count=synthetic,
            share=synthetic / n,
            chance_share=chance,
            kept_chance_share=exceeding_with_kept_shares(cells, threshold),
            baseline_count=baseline,
            baseline_share=baseline / n,
            original_count=original,
            original_share=original / n,
        )


@dataclass(frozen=True, eq=False)
class Scored:
    """Numbers of positives and negatives by distinct proportion, ascending, shape (t,)."""

    thresholds: FloatArray
    positives: Codes
    negatives: Codes

    @classmethod
    def of(cls, shares: FloatArray, positives: Codes, negatives: Codes) -> Scored:
        """Return the numbers, with cells of equal proportion together."""
        distinct, position = np.unique(shares, return_inverse=True)
        sums = (
            np.bincount(position, weights=counts, minlength=len(distinct)).astype(np.int64)
            for counts in (positives, negatives)
        )
        return cls(distinct, *sums)

    def with_cell(self, share: float, positives: int, negatives: int) -> Scored:
        """Return the numbers with a further cell."""
        return Scored.of(
            np.append(self.thresholds, share),
            np.append(self.positives, positives),
            np.append(self.negatives, negatives),
        )

    def classified(self) -> tuple[Codes, Codes]:
        """Return true positives and true negatives at each threshold, shape (t + 1,).

        The first entry classifies all records as positive.
        """
        rejected = np.append(0, np.cumsum(self.positives))
        return rejected[-1] - rejected, np.append(0, np.cumsum(self.negatives))

    @property
    def auc(self) -> float | None:
        """Area under the curve by trapezoids; None without positives or negatives."""
        hits, rejections = self.classified()
        if not hits[0] or not rejections[-1]:
            return None
        # With whole numbers the area does not depend on the grouping.
        twice = int((np.diff(rejections) * (hits[1:] + hits[:-1])).sum())
        return twice / (2 * int(rejections[-1]) * int(hits[0]))


def roc(cells: PublicCells) -> tuple[RocCurve, ...]:
    """Return analysis 4: of the positive level of two, or of each of several levels."""
    levels = range(len(cells.levels))
    if len(levels) == 2 and cells.positive is not None:
        return (_curve(cells, cells.positive),)
    return tuple(_curve(cells, level) for level in levels)


def _curve(cells: PublicCells, level: int) -> RocCurve:
    scored = _scored(cells, level, cells.synthetic_by_pair, cells.synthetic_by_cell)
    positives, negatives = int(scored.positives.sum()), int(scored.negatives.sum())
    at_level = cells.pairs.of_level(level)
    members = int(cells.original_by_pair[at_level].sum())
    share = int(cells.synthetic_by_pair[at_level].sum()) / cells.n_synthetic
    everybody = scored.with_cell(share, members - positives, cells.n - members - negatives)
    original = _scored(cells, level, cells.original_by_pair, cells.original_by_cell)
    present = _scored(
        cells,
        level,
        cells.original_by_pair,
        np.where(cells.synthetic_by_cell > 0, cells.original_by_cell, 0),
    )
    threshold, tpr, tnr = (None, None, None) if scored.auc is None else _best(scored)
    return RocCurve(
        level=cells.levels[level],
        positives=positives,
        negatives=negatives,
        left_out=cells.n - positives - negatives,
        auc=scored.auc,
        auc_all=everybody.auc,
        auc_original=original.auc,
        auc_original_of_present=present.auc,
        thresholds=len(scored.thresholds),
        best_threshold=threshold,
        best_tpr=tpr,
        best_tnr=tnr,
        curve=() if scored.auc is None else _thinned(scored),
    )


def _scored(cells: PublicCells, level: int, counts: Codes, totals: Codes) -> Scored:
    """Return original records by the proportion of a class in their cell, from ``counts``."""
    at_level = cells.pairs.of_level(level)
    cell, shown = cells.pairs.cell[at_level], totals > 0
    use = shown[cell]
    cell = cell[use]
    positives = cells.original_by_pair[at_level][use]
    scored = Scored.of(
        counts[at_level][use] / totals[cell], positives, cells.original_by_cell[cell] - positives
    )
    if int(shown.sum()) == len(cell):
        return scored
    # All other cells have a proportion of 0.
    others = int(cells.original_by_cell[shown].sum() - cells.original_by_cell[cell].sum())
    return scored.with_cell(0.0, 0, others)


def _best(scored: Scored) -> tuple[float, float, float]:
    """Return the threshold with the largest sum of both rates, and the rates."""
    hits, rejections = scored.classified()
    # With whole numbers equal sums compare equal.
    best = int((hits * rejections[-1] + rejections * hits[0])[1:].argmax())
    tpr, tnr = hits[best + 1] / hits[0], rejections[best + 1] / rejections[-1]
    return float(scored.thresholds[best]), float(tpr), float(tnr)


def _thinned(scored: Scored) -> tuple[tuple[float | None, float, float], ...]:
    hits, rejections = scored.classified()
    tpr, tnr = hits / hits[0], rejections / rejections[-1]
    points = np.arange(len(tpr))
    if len(points) > MAX_POINTS:
        # Along the curve TNR - TPR grows from -1 to 1 in steps of any size.
        points = np.unique(np.searchsorted(tnr - tpr, np.linspace(-1, 1, MAX_POINTS)))
    thresholds = [None, *scored.thresholds.tolist()]
    return tuple((thresholds[i], float(tpr[i]), float(tnr[i])) for i in points)


def right_by_chance(cells: PublicCells, guess: Codes) -> float | None:
    """Return the expected share guessed right of original records with a synthetic cell.

    Guesses and true levels have their frequencies, but are independent. ``guess`` is the most
    frequent level of each synthetic cell, -1 without records.
    """
    shown, size = guess >= 0, len(cells.levels)
    guessed = _sums(guess[shown], cells.original_by_cell[shown], size)
    use = shown[cells.pairs.cell]
    return agreement(guessed, _sums(cells.pairs.level[use], cells.original_by_pair[use], size))


def exceeding_by_chance(cells: PublicCells, thresholds: Sequence[float]) -> list[float]:
    """Return the expected share of original records whose true level exceeds each threshold.

    The level of each synthetic record is drawn from their overall distribution, so that a cell of
    n records has Bin(n, p) of a true level.
    """
    pairs, size = cells.pairs, len(cells.levels)
    shown = cells.synthetic_by_cell[pairs.cell]
    use = (cells.original_by_pair > 0) & (shown > 0)
    # Computed once for all cells of a size.
    alike, position = np.unique(shown[use] * size + pairs.level[use], return_inverse=True)
    records = np.bincount(position, weights=cells.original_by_pair[use], minlength=len(alike))
    n, level = np.divmod(alike, size)
    p = (_sums(pairs.level, cells.synthetic_by_pair, size) / cells.n_synthetic)[level]
    return [
        float(records @ at_least(_fewest(n, threshold), n, p)) / cells.n for threshold in thresholds
    ]


def exceeding_with_kept_shares(cells: PublicCells, threshold: float) -> float:
    """Return the expected share of original records whose true level exceeds a threshold.

    The true level of each original record is drawn from their overall distribution, given the
    synthetic records, as in `classification`.
    """
    pairs, shown = cells.pairs, cells.synthetic_by_pair > 0
    cell = pairs.cell[shown]
    share = cells.synthetic_by_pair[shown] / cells.synthetic_by_cell[cell]
    expected = cells.original_by_cell[cell] * cells.marginal[pairs.level[shown]]
    return float(expected[share > threshold].sum()) / cells.n


def _fewest(n: Codes, threshold: float) -> Codes:
    """Return the smallest k with k / n > threshold in floating point, shape of ``n``."""
    k = np.floor(threshold * n) + 1
    k -= (k - 1) / n > threshold
    k += k / n <= threshold
    return np.asarray(k, dtype=np.int64)


def _sums(levels: Codes, records: Codes, size: int) -> Codes:
    """Return the number of records by level, shape (size,)."""
    # Sums of whole numbers below 2**53 are exact in floating point.
    return np.bincount(levels, weights=records, minlength=size).astype(np.int64)
