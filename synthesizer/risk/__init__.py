"""Disclosure risk: what synthetic data tell an intruder about the people in the original.

Every measure takes any two data sets, as pandas frames or as tables of codes, and returns a small
frozen result with its ``figures`` (value, interval, baseline, the original's own value, number of
records, direction) and ``to_dict()``.
"""

from synthesizer.risk.attack_results import Attack, AttackResult
from synthesizer.risk.attacks import attacks
from synthesizer.risk.attribute import attribute
from synthesizer.risk.attribute_results import AttributeResult
from synthesizer.risk.attribution import Tolerance
from synthesizer.risk.cap import CapScores, cap, cap_scores
from synthesizer.risk.cap_regression import CapRegression, cap_regression
from synthesizer.risk.cap_result import CapResult, CapRow
from synthesizer.risk.cap_u import CapUResult, cap_u
from synthesizer.risk.determined import DeterminedResult, determined
from synthesizer.risk.differential import compare_halves, differential_confidentiality
from synthesizer.risk.exclusions import Exclusion
from synthesizer.risk.half_results import (
    DifferentialResult,
    HalfComparison,
    HalfUniques,
    Spread,
    gather,
)
from synthesizer.risk.halves import HalfRun, control_run, half_runs
from synthesizer.risk.identity import IdentityResult, identity
from synthesizer.risk.nearest import NearestResult, nearer_share
from synthesizer.risk.public import InferenceResult, inference, inference_scores
from synthesizer.risk.replicated import ReplicatedUniques, replicated_uniques
from synthesizer.risk.result import RiskResult
from synthesizer.risk.scenario import Scenario
from synthesizer.risk.suda import SudaResult, special_uniques, suda
from synthesizer.risk.suggest import Suggestion, suggest
from synthesizer.risk.tcap import TcapResult, tcap
from synthesizer.risk.uniques import (
    ReproducedUniques,
    key_counts,
    reproduced_uniques,
    statistical_uniques,
)

__all__ = [
    "Attack",
    "AttackResult",
    "AttributeResult",
    "CapRegression",
    "CapResult",
    "CapRow",
    "CapScores",
    "CapUResult",
    "DeterminedResult",
    "DifferentialResult",
    "Exclusion",
    "HalfComparison",
    "HalfRun",
    "HalfUniques",
    "IdentityResult",
    "InferenceResult",
    "NearestResult",
    "ReplicatedUniques",
    "ReproducedUniques",
    "RiskResult",
    "Scenario",
    "Spread",
    "SudaResult",
    "Suggestion",
    "TcapResult",
    "Tolerance",
    "attacks",
    "attribute",
    "cap",
    "cap_regression",
    "cap_scores",
    "cap_u",
    "compare_halves",
    "control_run",
    "determined",
    "differential_confidentiality",
    "gather",
    "half_runs",
    "identity",
    "inference",
    "inference_scores",
    "key_counts",
    "nearer_share",
    "replicated_uniques",
    "reproduced_uniques",
    "special_uniques",
    "statistical_uniques",
    "suda",
    "suggest",
    "tcap",
]
