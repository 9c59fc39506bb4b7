"""Utility: whether synthetic data look like the original, and what may be concluded from them.

Every measure takes any two data sets, as pandas frames or as tables of codes.
"""

from synthesizer.measures.utility.coefficients import FitComparison
from synthesizer.measures.utility.combining import CombinedEstimates, combine
from synthesizer.measures.utility.compare_fit import compare_fit, compare_fit_by
from synthesizer.measures.utility.distributions import (
    Distribution,
    DistributionCounter,
    PairCounter,
    PairTable,
    distributions,
    pair_tables,
)
from synthesizer.measures.utility.propensity import PmseResult, PropensityResult, pmse
from synthesizer.measures.utility.suite import Synthesis, UtilityResult
from synthesizer.measures.utility.tables import (
    MEASURES,
    DistanceResult,
    TableMeasures,
    TableUtility,
    cell_measures,
    combine_tables,
    jensen_shannon,
    table_utility,
)

__all__ = [
    "MEASURES",
    "CombinedEstimates",
    "DistanceResult",
    "Distribution",
    "DistributionCounter",
    "FitComparison",
    "PairCounter",
    "PairTable",
    "PmseResult",
    "PropensityResult",
    "Synthesis",
    "TableMeasures",
    "TableUtility",
    "UtilityResult",
    "cell_measures",
    "combine",
    "combine_tables",
    "compare_fit",
    "compare_fit_by",
    "distributions",
    "jensen_shannon",
    "pair_tables",
    "pmse",
    "table_utility",
]
