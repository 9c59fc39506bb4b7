"""Fits whose covariance is that of a survey's design, by the library svy (extra ``survey``).

Taylor linearisation with strata and primary sampling units that were drawn with replacement, as
``svyglm`` of the R package survey does (Lumley 2010, Complex Surveys); degrees of freedom are those
of the design, less the terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from synthesizer.data.errors import DataError
from synthesizer.data.table import BoolArray, FloatArray
from synthesizer.measures.utility.fixed_effects import Codes

INSTALL = "pip install 'synthesizer[survey]'"
_FAMILIES = {"ols": "gaussian", "logit": "binomial", "poisson": "poisson"}
"""Families that svy fits, by ours."""


@dataclass(frozen=True, eq=False)
class Design:
    """How the records of one dataset were sampled; None for what was not done."""

    strata: Codes | None
    """Stratum of each record, shape (n,), -1 where it is missing."""
    psu: Codes | None
    """Primary sampling unit of each record, shape (n,), whose codes count within strata."""

    @property
    def codes(self) -> tuple[Codes, ...]:
        """What there is."""
        return tuple(codes for codes in (self.strata, self.psu) if codes is not None)

    @property
    def n_single(self) -> int:
        """Strata with a single unit."""
        if self.strata is None:
            return 0
        units = np.arange(len(self.strata)) if self.psu is None else self.psu
        pairs = np.unique(np.stack([self.strata, units]), axis=1)
        return int((np.unique(pairs[0], return_counts=True)[1] == 1).sum())

    def take(self, rows: BoolArray) -> Design:
        """Return the design of some records."""
        return Design(
            None if self.strata is None else self.strata[rows],
            None if self.psu is None else self.psu[rows],
        )


def design_fit(
    family: str, y: FloatArray, X: FloatArray, weights: FloatArray | None, design: Design
) -> tuple[FloatArray, FloatArray, float]:
    """Return coefficients, shape (p,), their covariance and its degrees of freedom.

    The first column is the constant. A stratum of a single unit is centred on the mean of all.

    Raises
    ------
    DataError
        If svy is not installed, or does not fit such a model.
    """
    if find_spec("svy") is None:
        raise DataError(f"standard errors by strata and units of a survey need svy: {INSTALL}")
    if family not in _FAMILIES:
        raise DataError(f"strata and units of a survey are not for family '{family}'")
    if X.shape[1] < 2:
        raise DataError("strata and units of a survey need a model with a term: add one")
    import polars
    import svy

    terms = [f"x{i}" for i in range(1, X.shape[1])]
    columns: dict[str, np.ndarray] = {"y": y, "w": np.ones(len(y)) if weights is None else weights}
    columns |= {name: X[:, i] for i, name in enumerate(terms, 1)}
    named = {"stratum": design.strata, "psu": design.psu}
    columns |= {name: np.asarray(codes) for name, codes in named.items() if codes is not None}
    drawn = {name: name for name, codes in named.items() if codes is not None}
    single = {"singleton": "center"} if design.n_single else {}
    try:
        sample = svy.Sample(
            polars.DataFrame(columns), svy.Design(wgt="w", wr=True, **drawn, **single)
        )
        fitted = sample.glm.fit(y="y", x=terms, family=_FAMILIES[family])
    except (svy.errors.SvyError, np.linalg.LinAlgError, ValueError) as error:
        raise DataError(f"svy has no fit: {_first_line(error)}") from error
    table = fitted.to_polars()
    coefficients = table["estimate"].to_numpy().astype(np.float64)
    covariance = np.asarray(fitted.fitted.cov_matrix, dtype=np.float64)
    return coefficients, covariance, float(table["df"][0])


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason")
