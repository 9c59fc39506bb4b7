"""What comparing synthetic records with both halves found: the share nearer to the fitted one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from synthesizer.figures import Figure

__all__ = ["NearestResult"]


@dataclass(frozen=True)
class NearestResult:
    """How near synthetic records are to the fitted half and to the unseen half.

    Parameters
    ----------
    names : tuple of str
        Variables compared.
    synthetic, records : int
        Number of synthetic records compared, and of records of each half.
    fitted_kept, unseen_kept : float
        Share of either half that was compared; below 1 in the larger of two unequal halves.
    nearer, unseen_nearer, ties : int
        Synthetic records nearer to a fitted record, nearer to an unseen one, as near to both.
    share : float
        Share of the synthetic records that are nearer to a fitted record, ties counted half.
    low, high : float
        95 % interval of the share.
    effective : float
        Number of independent synthetic records that the interval rests on.
    fitted_distance, unseen_distance : float
        Median distance to the nearest record of either half, in [0, 1] (Gower's).
    distance_ratio : float or None
        The first over the second; None where the second is 0.
    original : float
        The share if the fitted half itself were released: 1 but for ties, and less where not all
        of the fitted half was compared.
    excess, excess_low, excess_high : float or None
        (share - 0.5) / (original - 0.5) and its interval: 0 for none, 1 if the synthetic records
        are as near as the fitted records themselves, whatever share of these was compared. None
        where not even the original is surely above 0.5.
    all_synthetic, fitted_copies, unseen_copies : int
        Number of synthetic records, and how many equal a record of the fitted and of the unseen
        half in every variable: counted in all records, never in a sample.
    all_fitted, all_unseen : int
        Number of records of the halves.
    """

    names: tuple[str, ...]
    synthetic: int
    records: int
    fitted_kept: float
    unseen_kept: float
    nearer: int
    unseen_nearer: int
    ties: int
    share: float
    low: float
    high: float
    effective: float
    fitted_distance: float
    unseen_distance: float
    distance_ratio: float | None
    original: float
    excess: float | None
    excess_low: float | None
    excess_high: float | None
    all_synthetic: int
    fitted_copies: int
    unseen_copies: int
    all_fitted: int
    all_unseen: int

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures of a report: share nearer, ratio of distances, exact copies."""
        same_size = abs(self.all_fitted - self.all_unseen) <= 1
        return (
            Figure(
                name="share nearer to the fitted half",
                value=self.share,
                meaning="synthetic records nearer to a record the synthesis was fitted on than to "
                f"any of equally many records it never saw{self._limits}",
                direction="lower is safer",
                n=self.synthetic,
                low=self.low,
                high=self.high,
                baseline=0.5,
                original=self.original,
            ),
            Figure(
                name="ratio of distances",
                value=self.distance_ratio,
                meaning="median distance of synthetic records to the nearest fitted record, "
                "relative to that to the nearest unseen record; below 1 is nearer to the fitted",
                direction="about 1 is good",
                n=self.synthetic,
                baseline=1.0,
            ),
            Figure(
                name="copies of fitted records",
                value=self.fitted_copies / self.all_synthetic,
                meaning="synthetic records equal to a fitted record in every variable compared; "
                "the baseline is the share equal to an unseen record",
                direction="lower is safer",
                n=self.all_synthetic,
                baseline=self.unseen_copies / self.all_synthetic if same_size else None,
                original=1.0,
            ),
        )

    @property
    def _limits(self) -> str:
        """What was left out, in plain words."""
        text = ""
        if self.synthetic < self.all_synthetic:
            text += f"; a sample of the {self.all_synthetic} synthetic records was compared"
        if self.unseen_kept < 1:
            text += f"; of the unseen records a share of {self.unseen_kept:.2g} was compared"
        if self.fitted_kept < 1:
            text += (
                f"; of the fitted records only a share of {self.fitted_kept:.2g} was compared, "
                "since there are no more unseen ones: copies of the others lose their source, so "
                "that even the fitted records themselves have the original's value only"
            )
            if self.excess is not None:
                text += f"; of its excess over a half, the share has {self.excess:.2f}"
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self) | {"names": list(self.names)}
