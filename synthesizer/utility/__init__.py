"""Utility: whether synthetic data look like the original, and what may be concluded from them.

Every measure takes any two data sets, as pandas frames or as tables of codes.
"""

from synthesizer.utility.combining import CombinedEstimates, combine
from synthesizer.utility.compare_fit import compare_fit
from synthesizer.utility.distributions import Distribution, DistributionCounter, distributions
from synthesizer.utility.estimates import chi_square, jensen_shannon, ratio_of_estimates
from synthesizer.utility.estimates_result import DistanceResult, EqualityResult, RatioResult
from synthesizer.utility.fit_results import FitComparison
from synthesizer.utility.pair_tables import PairCounter, PairTable, pair_tables
from synthesizer.utility.propensity import logit_pmse, pmse
from synthesizer.utility.propensity_result import PmseResult, PropensityResult
from synthesizer.utility.result import UtilityResult
from synthesizer.utility.suite import UtilityCollector
from synthesizer.utility.tables import (
    MEASURES,
    TableUtility,
    cell_measures,
    combine_tables,
    table_utility,
)
from synthesizer.utility.wanted import FitRequest, Synthesis, UtilityMeasures

__all__ = [
    "MEASURES",
    "CombinedEstimates",
    "DistanceResult",
    "Distribution",
    "DistributionCounter",
    "EqualityResult",
    "FitComparison",
    "FitRequest",
    "PairCounter",
    "PairTable",
    "PmseResult",
    "PropensityResult",
    "RatioResult",
    "Synthesis",
    "TableUtility",
    "UtilityCollector",
    "UtilityMeasures",
    "UtilityResult",
    "cell_measures",
    "chi_square",
    "combine",
    "combine_tables",
    "compare_fit",
    "distributions",
    "jensen_shannon",
    "logit_pmse",
    "pair_tables",
    "pmse",
    "ratio_of_estimates",
    "table_utility",
]
