"""Disclosure risk: what synthetic data tell an intruder about the people in the original.

Every measure takes any two data sets, as pandas frames or as tables of codes, and returns a small
frozen result with its ``figures`` (value, interval, baseline, the original's own value, number of
records, direction).
"""

from synthesizer.measures.risk.attacks import Attack, AttackResult, attacks
from synthesizer.measures.risk.attribute import AttributeResult, attribute
from synthesizer.measures.risk.cap import (
    CapRegression,
    CapResult,
    CapRow,
    CapScores,
    CapUResult,
    cap,
    cap_regression,
    cap_scores,
    cap_u,
)
from synthesizer.measures.risk.determined import DeterminedResult, determined
from synthesizer.measures.risk.differential import (
    DifferentialResult,
    HalfComparison,
    HalfUniques,
    Spread,
    compare_halves,
    differential_confidentiality,
    gather,
)
from synthesizer.measures.risk.halves import HalfRun, control_run, half_runs
from synthesizer.measures.risk.identity import (
    IdentityResult,
    ReproducedUniques,
    identity,
    key_counts,
    reproduced_uniques,
    statistical_uniques,
)
from synthesizer.measures.risk.inference import InferenceResult, inference, inference_scores
from synthesizer.measures.risk.nearest import NearestResult, nearer_share
from synthesizer.measures.risk.replicated import (
    ReplicatedRows,
    ReplicatedUniques,
    replicated_rows,
    replicated_uniques,
)
from synthesizer.measures.risk.scenario import Exclusion, Scenario, Tolerance
from synthesizer.measures.risk.suda import SudaResult, SudaScores, special_uniques, suda
from synthesizer.measures.risk.suggest import Suggestion, suggest
from synthesizer.measures.risk.tcap import TcapResult, tcap

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
    "ReplicatedRows",
    "ReplicatedUniques",
    "ReproducedUniques",
    "Scenario",
    "Spread",
    "SudaResult",
    "SudaScores",
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
    "replicated_rows",
    "replicated_uniques",
    "reproduced_uniques",
    "special_uniques",
    "statistical_uniques",
    "suda",
    "suggest",
    "tcap",
]
