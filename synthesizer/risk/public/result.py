"""What the five analyses found, and how to read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from synthesizer.figures import Figure
from synthesizer.risk.public.classification import Classification
from synthesizer.risk.public.differences import Differences
from synthesizer.risk.public.roc import RocCurve
from synthesizer.risk.public.thresholds import ThresholdRisk
from synthesizer.risk.public.uniqueness import CellUniqueness

__all__ = ["InferenceResult"]


@dataclass(frozen=True)
class InferenceResult:
    """Inference about a sensitive variable from public ones: five analyses.

    Parameters
    ----------
    sensitive, public : str, tuple of str
        What is sought, and what is known.
    baseline : tuple of str
        Public variables within which the distribution of the sensitive one is published.
    levels : tuple of str
        Levels of the sensitive variable that occur; groups of numbers are written ``[0, 500)``.
    positive : str or None
        The class whose proportion is looked at.
    n, m, n_synthetic : int
        Original records, synthetic datasets and all their records.
    uniqueness : CellUniqueness
        Analysis 1.
    classification : Classification
        Analysis 2.
    differences : Differences
        Analysis 3.
    roc : tuple of RocCurve
        Analysis 4: one curve for two levels, one for each of more levels.
    thresholds : ThresholdRisk
        Analysis 5.
    """

    sensitive: str
    public: tuple[str, ...]
    baseline: tuple[str, ...]
    levels: tuple[str, ...]
    positive: str | None
    n: int
    m: int
    n_synthetic: int
    uniqueness: CellUniqueness
    classification: Classification
    differences: Differences
    roc: tuple[RocCurve, ...]
    thresholds: ThresholdRisk

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {key: _plain(value) for key, value in asdict(self).items()}

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures to report."""
        return (
            self._unique_figure(),
            *self._revealed_figures(),
            self._auc_figure(),
            *self._right_figures(),
            *self._threshold_figures(),
        )

    def _unique_figure(self) -> Figure:
        found = self.uniqueness
        return Figure(
            name="unique cells shown right",
            value=found.right,
            meaning=(
                f"persons with public values of their own that the synthetic data repeat: share "
                f"whose {self.sensitive} is the most frequent one shown with them"
            ),
            direction="lower is safer",
            n=found.present,
            baseline=found.chance,
            original=1.0 if found.uniques else None,
        )

    def _revealed_figures(self) -> Iterator[Figure]:
        found = self.classification
        yield Figure(
            name="revealed share",
            value=found.revealed,
            meaning=(
                f"share of the synthetic records that give away a true {self.sensitive} when "
                "everybody is taken for the majority of those with the same public values"
            ),
            direction="lower is safer",
            n=found.n,
            baseline=found.chance,
            original=found.original,
        )
        yield Figure(
            name="revealed share from published margins",
            value=found.baseline,
            meaning=(
                f"the same when everybody is taken for the most frequent {self.sensitive} of all, "
                "without the synthetic data: the revealed share should not be much above it"
            ),
            direction="lower is safer",
            n=found.n,
        )

    def _auc_figure(self) -> Figure:
        curves = [c for c in self.roc if self.positive in (None, c.level)]
        one = f"{self.sensitive} = {self.positive}" if self.positive is not None else "one level"
        averaged = ", mean over the levels by number of persons" if len(curves) > 1 else ""
        return Figure(
            name="AUC",
            value=_average(curves, lambda curve: curve.auc),
            meaning=(
                f"chance that a person with {one} has a larger share of it among the synthetic "
                f"records with the same public values than a person without (area under the ROC "
                f"curve{averaged})"
            ),
            direction="lower is safer",
            n=curves[0].positives + curves[0].negatives,
            baseline=0.5,
            original=_average(curves, lambda curve: curve.auc_original_of_present),
        )

    def _right_figures(self) -> Iterator[Figure]:
        found = self.thresholds
        yield Figure(
            name="guessed right",
            value=found.right_of_present,
            meaning=(
                f"persons whose public values the synthetic data have: share whose "
                f"{self.sensitive} is the most frequent one shown with them"
            ),
            direction="lower is safer",
            n=found.n - found.absent,
            baseline=found.chance_right_of_present,
            original=found.original_right_of_present,
        )
        yield Figure(
            name="guessed right from published margins",
            value=found.baseline_right_of_present,
            meaning=(
                f"the same persons: share whose {self.sensitive} is the most frequent one in "
                f"published margins ({self._margins}), without the synthetic data: the share "
                "guessed right should not be much above it"
            ),
            direction="lower is safer",
            n=found.n - found.absent,
        )

    @property
    def _margins(self) -> str:
        return f"by {', '.join(self.baseline)}" if self.baseline else "of everybody"

    def _threshold_figures(self) -> Iterator[Figure]:
        found = self.thresholds
        for row in found.rows:
            yield Figure(
                name=f"probability at least {row.threshold:g}",
                value=row.share,
                meaning=(
                    f"share of all persons whose true {self.sensitive} has at least this share "
                    "among synthetic records with the same public values; shares near 1 come "
                    "mostly from combinations with one or two synthetic records, where chance "
                    "makes them too (baseline)"
                ),
                direction="lower is safer",
                n=found.n,
                baseline=row.kept_chance_share,
                original=row.original_share,
            )
            yield Figure(
                name=f"probability at least {row.threshold:g} from published margins",
                value=row.baseline_share,
                meaning=(
                    f"share of all persons whose true {self.sensitive} has at least this share in "
                    f"published margins ({self._margins}), without the synthetic data"
                ),
                direction="lower is safer",
                n=found.n,
            )


def _average(curves: list[RocCurve], value: Callable[[RocCurve], float | None]) -> float | None:
    """Return the mean over the curves that have the value, weighted by the members of the class.

    Source: Provost and Domingos (2003), Tree induction for probability-based ranking.
    """
    known = [(found, curve.positives) for curve in curves if (found := value(curve)) is not None]
    members = sum(weight for _, weight in known)
    return sum(found * weight for found, weight in known) / members if members else None


def _plain(value: Any) -> Any:
    """Return tuples as lists, in any depth."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, tuple | list) else value
