"""Utility: whether synthetic data look like the original, in tables and to a model."""

from synthesizer.utility.propensity import PropensityResult, logit_pmse
from synthesizer.utility.tables import MEASURES, TableUtility, cell_measures, combine, table_utility

__all__ = [
    "MEASURES",
    "PropensityResult",
    "TableUtility",
    "cell_measures",
    "combine",
    "logit_pmse",
    "table_utility",
]
