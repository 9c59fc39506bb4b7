"""Disclosure risk: what synthetic data tell an intruder about the people in the original."""

from synthesizer.risk.attribution import Tolerance
from synthesizer.risk.cap import CapResult, CapRow, CapScores, cap, cap_scores
from synthesizer.risk.differential import compare_halves, differential_confidentiality
from synthesizer.risk.half_results import (
    DifferentialResult,
    HalfComparison,
    HalfUniques,
    Spread,
    gather,
)
from synthesizer.risk.suggest import Suggestion, suggest
from synthesizer.risk.uniques import (
    ReproducedUniques,
    key_counts,
    reproduced_uniques,
    statistical_uniques,
)

__all__ = [
    "CapResult",
    "CapRow",
    "CapScores",
    "DifferentialResult",
    "HalfComparison",
    "HalfUniques",
    "ReproducedUniques",
    "Spread",
    "Suggestion",
    "Tolerance",
    "cap",
    "cap_scores",
    "differential_confidentiality",
    "key_counts",
    "reproduced_uniques",
    "statistical_uniques",
    "suggest",
]
