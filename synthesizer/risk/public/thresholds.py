"""Analysis 5: whose level do the synthetic data show with high probability?

The attack: for a known person, look up the synthetic records with the same public variables and
take the shares of the levels for probabilities. What published margins say is no news, and chance
alone makes shares of 1 in cells with one or two synthetic records: both are computed beside it.

Source: Barrientos et al. (2018), Providing access to confidential research data through synthesis
and verification, section 3.2.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synthesizer.data.codes import Codes
from synthesizer.data.table import BoolArray, FloatArray
from synthesizer.risk.public.cells import Cells, Pairs
from synthesizer.risk.public.chance import (
    reaching_by_chance,
    reaching_with_kept_shares,
    right_by_chance,
)

__all__ = ["InferenceScores", "ThresholdRisk", "ThresholdRow", "scores", "threshold_risk"]


@dataclass(frozen=True, eq=False)
class InferenceScores:
    """What is said of the true level of every original record, each array of shape (n,).

    Parameters
    ----------
    synthetic, baseline, original : ndarray of float
        Share of the true level in the record's cell of the synthetic data (NaN where they lack
        the cell), in the published margins, and in its cell of the original; in [0, 1].
    right, baseline_right, original_right : ndarray of bool
        Whether the most frequent level there is the true one (ties as in the classification
        rule); never where there is no cell.
    """

    synthetic: FloatArray
    baseline: FloatArray
    original: FloatArray
    right: BoolArray
    baseline_right: BoolArray
    original_right: BoolArray


@dataclass(frozen=True)
class ThresholdRow:
    """Original records whose true level has at least this probability: counts and shares of all.

    Parameters
    ----------
    threshold : float
        The probability, in (0, 1].
    count, share : int, float
        By the synthetic cells.
    chance_share : float
        Expected share when cells and true levels are kept and the level of every synthetic record
        is drawn from the distribution of all of them. It is large where cells are small, and at
        thresholds below the share of the most frequent level.
    kept_chance_share : float
        Expected share when the synthetic records are kept as they are and the true level of every
        original record is drawn from the distribution of all of them.
    baseline_count, baseline_share : int, float
        By published margins.
    original_count, original_share : int, float
        By the original cells.
    """

    threshold: float
    count: int
    share: float
    chance_share: float
    kept_chance_share: float
    baseline_count: int
    baseline_share: float
    original_count: int
    original_share: float


@dataclass(frozen=True)
class ThresholdRisk:
    """Probabilities of the true levels and guesses from them; shares are of all original records.

    Parameters
    ----------
    n : int
        Number of original records.
    absent, absent_share : int, float
        Records whose cell the synthetic data lack: no probability, and no guess.
    rows : tuple of ThresholdRow
        By threshold.
    right, baseline_right, original_right : float
        Share guessed right by the most frequent level of the synthetic cell, of the published
        margins, and of the original cell.
    right_of_present, baseline_right_of_present, original_right_of_present : float or None
        The same among the records that are not absent.
    chance_right_of_present : float or None
        Share of them right if guessed and true levels, as often as they are, had nothing to do
        with each other.
    right_in_both : float or None
        Of the records guessed right from the synthetic data, the share that the baseline also
        guesses right.
    lower, equal, higher : float
        Shares of records whose synthetic probability is below, at, above that of the baseline;
        with ``absent_share`` they add up to 1.
    """

    n: int
    absent: int
    absent_share: float
    rows: tuple[ThresholdRow, ...]
    right: float
    baseline_right: float
    original_right: float
    right_of_present: float | None
    chance_right_of_present: float | None
    baseline_right_of_present: float | None
    original_right_of_present: float | None
    right_in_both: float | None
    lower: float
    equal: float
    higher: float


def scores(cells: Cells, margin: Codes) -> InferenceScores:
    """Return the probabilities and guesses for every original record.

    Parameters
    ----------
    cells : Cells
        Counts of both sides.
    margin : ndarray of int, shape (n,)
        Cell of each original record in the published table, numbered from 0.
    """
    pairs, order = cells.pairs, cells.preference
    pair, cell = cells.pair_of_original, cells.cell_of_original
    truth = pairs.level[pair]
    published = Pairs(margin, truth, int(margin.max()) + 1, len(cells.levels))
    counts = np.bincount(published.of_record, minlength=published.size)
    synthetic = np.full(cells.n, np.nan)
    shown = cells.cell_theirs[cell]
    np.divide(cells.theirs[pair], shown, out=synthetic, where=shown > 0)
    return InferenceScores(
        synthetic=synthetic,
        baseline=counts[published.of_record] / published.per_cell(counts)[margin],
        original=cells.ours[pair] / cells.cell_ours[cell],
        right=pairs.majority(cells.theirs, order)[cell] == truth,
        baseline_right=published.majority(counts, order)[margin] == truth,
        original_right=pairs.majority(cells.ours, order)[cell] == truth,
    )


def threshold_risk(
    cells: Cells, found: InferenceScores, thresholds: Sequence[float]
) -> ThresholdRisk:
    """Return analysis 5."""
    guess = cells.pairs.majority(cells.theirs, cells.preference)
    absent = np.isnan(found.synthetic)
    n, n_absent, n_right = len(absent), int(absent.sum()), int(found.right.sum())
    both = int((found.right & found.baseline_right).sum())
    return ThresholdRisk(
        n=n,
        absent=n_absent,
        absent_share=n_absent / n,
        rows=tuple(_rows(cells, found, thresholds)),
        right=n_right / n,
        baseline_right=float(found.baseline_right.mean()),
        original_right=float(found.original_right.mean()),
        right_of_present=_mean(found.right[~absent]),
        chance_right_of_present=right_by_chance(cells, guess),
        baseline_right_of_present=_mean(found.baseline_right[~absent]),
        original_right_of_present=_mean(found.original_right[~absent]),
        right_in_both=both / n_right if n_right else None,
        # Comparisons with NaN are false: absent records are in none of the three.
        lower=float((found.synthetic < found.baseline).mean()),
        equal=float((found.synthetic == found.baseline).mean()),
        higher=float((found.synthetic > found.baseline).mean()),
    )


def _mean(right: BoolArray) -> float | None:
    return float(right.mean()) if len(right) else None


def _rows(
    cells: Cells, found: InferenceScores, thresholds: Sequence[float]
) -> Iterator[ThresholdRow]:
    n = len(found.baseline)
    expected = zip(
        thresholds,
        reaching_by_chance(cells, thresholds),
        reaching_with_kept_shares(cells, thresholds),
        strict=True,
    )
    for threshold, chance, kept in expected:
        made, known, own = (
            int((probability >= threshold).sum())
            for probability in (found.synthetic, found.baseline, found.original)
        )
        yield ThresholdRow(
            threshold=float(threshold),
            count=made,
            share=made / n,
            chance_share=chance,
            kept_chance_share=kept,
            baseline_count=known,
            baseline_share=known / n,
            original_count=own,
            original_share=own / n,
        )
