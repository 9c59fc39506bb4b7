"""Disclosure risk: what synthetic data tell an intruder about the people in the original.

Every measure takes any two data sets, as pandas frames or as tables of codes, and returns a small
frozen result with its ``figures`` (value, interval, baseline, chance, the original's own value,
number of records, direction). A result's type stands beside its measure.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from synthesizer.measures.risk.attacks import attacks
from synthesizer.measures.risk.attribute import attribute
from synthesizer.measures.risk.cap import cap, cap_regression, cap_scores, cap_u
from synthesizer.measures.risk.copied import copied_uniques
from synthesizer.measures.risk.determined import determined
from synthesizer.measures.risk.differential import (
    compare_halves,
    differential_confidentiality,
    gather,
)
from synthesizer.measures.risk.halves import control_run, half_runs
from synthesizer.measures.risk.identity import (
    identity,
    key_counts,
    reproduced_uniques,
    statistical_uniques,
)
from synthesizer.measures.risk.memorisation import memory
from synthesizer.measures.risk.nearest import nearer_share
from synthesizer.measures.risk.rare_values import rare_values
from synthesizer.measures.risk.replicated import replicated_rows, replicated_uniques
from synthesizer.measures.risk.scenario import Exclusion, Question, Scenario, Tolerance
from synthesizer.measures.risk.suda import special_uniques, suda
from synthesizer.measures.risk.suggest import suggest
from synthesizer.measures.risk.tcap import tcap

if TYPE_CHECKING:
    from synthesizer.measures.risk.public_inference import inference, inference_scores

__all__ = [
    "Exclusion",
    "Question",
    "Scenario",
    "Tolerance",
    "attacks",
    "attribute",
    "cap",
    "cap_regression",
    "cap_scores",
    "cap_u",
    "compare_halves",
    "control_run",
    "copied_uniques",
    "determined",
    "differential_confidentiality",
    "gather",
    "half_runs",
    "identity",
    "inference",
    "inference_scores",
    "key_counts",
    "memory",
    "nearer_share",
    "rare_values",
    "replicated_rows",
    "replicated_uniques",
    "reproduced_uniques",
    "special_uniques",
    "statistical_uniques",
    "suda",
    "suggest",
    "tcap",
]

_ON_USE = ("inference", "inference_scores")
"""Few runs ask what they answer: their file, and those that it needs, are loaded on first use."""


def __getattr__(name: str) -> Any:
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.public_inference"), name)
