"""What a regression finds in the simulated federal workforce, whose pay gaps are injected."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

COEFFICIENTS: Final[Mapping[str, Mapping[str, float]]] = MappingProxyType(
    {
        "M": {"AIAN": -0.0265, "Asian": -0.0428, "Black": -0.0418, "Hispanic": -0.0329}
        | {"age": 0.0410, "age2": -0.00035, "education": 0.0230},
        "F": {"AIAN": -0.0343, "Asian": -0.0120, "Black": -0.0048, "Hispanic": -0.0263}
        | {"age": 0.0419, "age2": -0.00035, "education": 0.0222},
    }
)
"""What the regression of log basic pay on race, age (middle of the range), its square and years of
education, with effects of year, agency and occupation, finds: the mean of two files of 600,000
persons. Tolerance, three standard errors (clustered by person) of one such file: 0.008 AIAN,
0.006 Asian, 0.003 Black, 0.005 Hispanic, 0.0005 age, 0.0008 education; it shrinks with the root of
the number of persons. Gaps of one year follow the injected ones with some delay."""
COEFFICIENT_OF_WOMEN: Final = -0.024
"""The same for women among white persons of both sexes."""
