"""Inference about a sensitive variable from public ones: one module for each analysis."""

from synthesizer.risk.public.classification import Classification
from synthesizer.risk.public.differences import BandRow, Differences, Distribution
from synthesizer.risk.public.measure import inference, inference_scores
from synthesizer.risk.public.result import InferenceResult
from synthesizer.risk.public.roc import RocCurve
from synthesizer.risk.public.thresholds import InferenceScores, ThresholdRisk, ThresholdRow
from synthesizer.risk.public.uniqueness import CellUniqueness

__all__ = [
    "BandRow",
    "CellUniqueness",
    "Classification",
    "Differences",
    "Distribution",
    "InferenceResult",
    "InferenceScores",
    "RocCurve",
    "ThresholdRisk",
    "ThresholdRow",
    "inference",
    "inference_scores",
]
