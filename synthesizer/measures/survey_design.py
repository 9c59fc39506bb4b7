"""Sampling design of a survey: weight, replicate weights, and design-based variances.

The library svy (extra ``survey``) computes variances: by Taylor linearisation with strata and
primary sampling units that were drawn with replacement, or by replicate weights, as ``svyglm`` and
``svymean`` of the R package survey do (Lumley 2010, Complex Surveys). Degrees of freedom are those
of the design minus the terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, FiniteFloat, model_validator

from synthesizer.data.errors import DataError
from synthesizer.data.table import BoolArray, FloatArray, Table
from synthesizer.measures.measure_options import Names, Part
from synthesizer.measures.utility.fixed_effects import Codes

if TYPE_CHECKING:
    from svy import Sample


Method = Literal["brr", "fay", "jk1", "jkn", "bootstrap", "sdr"]
Positive = Annotated[FiniteFloat, Field(gt=0)]


def weights_of(table: Table, name: str) -> FloatArray:
    """Return the weight of each record, 0 if it is missing, shape (n,)."""
    column = table[name]
    return np.where(column.is_observed, column.data, 0.0)


def _numbers(value: object) -> object:
    return [value] if isinstance(value, int | float) else value


class ReplicateWeights(Part):
    """Replicate weights: an estimate's variance is its variance between them, times a scale.

    With t_r the estimate by the r-th of R columns it is ``scale`` sum rscales_r (t_r - mean)^2, as
    in ``svrepdesign`` of the R package survey. The scale follows from the method.

    Examples
    --------
    >>> replicates = ReplicateWeights(columns="w[1-9]*", method="fay", rho=0.5)
    >>> replicates.among(["w", "w1", "w2", "x"], but=["w"])
    ('w1', 'w2')
    >>> replicates.scales(2)
    (2.0, 2.0)
    """

    columns: Names = Field(description="columns of replicate weights, such as PWGTP[1-9]*")
    method: Method | None = Field(
        None,
        description="brr, fay, jk1, jkn, bootstrap, or sdr (successive differences, as in the "
        "American Community Survey); without it they are left out",
    )
    rho: float | None = Field(None, ge=0, lt=1, description="fay: weights are changed by 1 - rho")
    scale: Positive | None = Field(
        None, description="factor of the sum of squares; from the method when absent"
    )
    rscales: Annotated[tuple[Positive, ...], BeforeValidator(_numbers)] = Field(
        (), description="a factor for each column, in their order; jkn needs them, or a scale"
    )

    @model_validator(mode="before")
    @classmethod
    def _columns_alone(cls, value: Any) -> Any:
        return {"columns": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _scaled(self) -> Self:
        if (self.rho is not None) != (self.method == "fay"):
            raise ValueError("rho is for method fay, which needs one, such as 0.5")
        if self.method == "jkn" and self.scale is None and not self.rscales:
            raise ValueError(
                "method jkn needs rscales: (n - 1) / n for each column, where n is the number of "
                "units in the stratum that lost one; see the documentation of the file"
            )
        return self

    def among(self, names: Iterable[str], but: Iterable[str | None] = ()) -> tuple[str, ...]:
        """Return the columns of replicate weights among those of a file."""
        others = set(but)
        return tuple(
            name
            for name in names
            if name not in others and any(fnmatchcase(name, like) for like in self.columns)
        )

    def problems(self, present: Sequence[str]) -> list[str]:
        """Return the problems with the columns of a file."""
        if len(present) < 2:
            return [
                f"{len(present)} columns match {', '.join(map(repr, self.columns))}; name those of "
                "the replicate weights, such as PWGTP[1-9]*, or remove the key"
            ]
        if len(self.rscales) > 1 and len(self.rscales) != len(present):
            return [f"{len(self.rscales)} rscales for {len(present)} columns; give one for each"]
        return []

    def scales(self, n: int) -> tuple[float, ...]:
        """Return the factor of the squared deviation of each of n replicates."""
        scale = self.scale
        if scale is None:
            if self.method is None:
                raise ValueError("the method of the replicate weights is unknown")
            scale = {
                "brr": 1 / n,
                "fay": 1 / (n * (1 - (self.rho or 0.0)) ** 2),
                "jk1": (n - 1) / n,
                "jkn": 1.0,
                "bootstrap": 1 / (n - 1),
                "sdr": 4 / n,
            }[self.method]
        each = self.rscales if len(self.rscales) == n else (self.rscales or (1.0,)) * n
        return tuple(scale * one for one in each)


INSTALL = "pip install 'microdata-synthesizer[survey]'"
_FAMILIES = {"ols": "gaussian", "logit": "binomial", "poisson": "poisson"}
"""Name in svy of each family of models."""


@dataclass(frozen=True, eq=False)
class SurveyDesign:
    """Sampling design of the records of one dataset; None for what it does not have."""

    strata: Codes | None
    """Stratum of each record, shape (n,), -1 if it is missing."""
    psu: Codes | None
    """Primary sampling unit of each record within its stratum, shape (n,)."""
    replicates: FloatArray | None = None
    """Replicate weights, shape (n, R), used in place of strata and units."""
    scales: tuple[float, ...] = ()
    """Factor of the squared deviation of each replicate."""

    @property
    def codes(self) -> tuple[Codes, ...]:
        """Codes of strata and units, if there are any."""
        return tuple(codes for codes in (self.strata, self.psu) if codes is not None)

    @property
    def n_single(self) -> int:
        """Number of strata with a single unit."""
        if self.strata is None or self.replicates is not None:
            return 0
        units = np.arange(len(self.strata)) if self.psu is None else self.psu
        pairs = np.unique(np.stack([self.strata, units]), axis=1)
        return int((np.unique(pairs[0], return_counts=True)[1] == 1).sum())

    def take(self, rows: BoolArray) -> SurveyDesign:
        """Return the design of some records."""
        return SurveyDesign(
            None if self.strata is None else self.strata[rows],
            None if self.psu is None else self.psu[rows],
            None if self.replicates is None else self.replicates[rows],
            self.scales,
        )


def design_fit(
    family: str, y: FloatArray, X: FloatArray, weights: FloatArray | None, design: SurveyDesign
) -> tuple[FloatArray, FloatArray, float]:
    """Return coefficients, shape (p,), their covariance and its degrees of freedom.

    The first column of ``X`` is the constant. A stratum with a single unit is centred on the mean
    of all units.

    Raises
    ------
    DataError
        If svy is not installed or cannot fit the model.
    """
    check_svy()
    if family not in _FAMILIES:
        raise DataError(f"family '{family}' has no errors by strata and units: leave these out")
    if X.shape[1] < 2:
        raise DataError("strata and units of a survey need a model with a term: add one")
    from svy.errors import SvyError

    terms = [f"x{i}" for i in range(1, X.shape[1])]
    columns = {"y": y} | {name: X[:, i] for i, name in enumerate(terms, 1)}
    try:
        sample = svy_sample(columns, weights, design)
        method = "taylor" if design.replicates is None else "replication"
        fitted = sample.glm.fit(y="y", x=terms, family=_FAMILIES[family], method=method)
    except (SvyError, np.linalg.LinAlgError, ValueError) as error:
        raise DataError(f"svy cannot fit the model: {first_line(error)}") from error
    table = fitted.to_polars()
    coefficients = table["estimate"].to_numpy().astype(np.float64)
    covariance = np.asarray(fitted.fitted.cov_matrix, dtype=np.float64)
    return coefficients, covariance, float(table["df"][0])


def check_svy() -> None:
    """Raise DataError if svy is not installed."""
    if find_spec("svy") is None:
        raise DataError(f"standard errors by the design of a survey need svy: {INSTALL}")


def svy_sample(
    columns: Mapping[str, FloatArray], weights: FloatArray | None, design: SurveyDesign
) -> Sample:
    """Return the sample of a survey for svy, with weight ``w`` and design."""
    import polars
    import svy

    n = len(next(iter(columns.values())))
    frame = {**columns, "w": np.ones(n) if weights is None else weights}
    if design.replicates is not None:
        size = design.replicates.shape[1]
        frame |= {f"r{i}": each for i, each in enumerate(design.replicates.T, 1)}
        free = max(int(np.linalg.matrix_rank(design.replicates)) - 1, 1)
        # the type only sets default scales
        replicates = svy.BootstrapWgts(prefix="r", n_reps=size, scale=design.scales, df=free)
        return svy.Sample(polars.DataFrame(frame), svy.Design(wgt="w", rep_wgts=replicates))
    named = {"stratum": design.strata, "psu": design.psu}
    frame |= {name: np.asarray(codes) for name, codes in named.items() if codes is not None}
    drawn = {name: name for name, codes in named.items() if codes is not None}
    single = {"singleton": "center"} if design.n_single else {}
    return svy.Sample(polars.DataFrame(frame), svy.Design(wgt="w", wr=True, **drawn, **single))


def first_line(error: Exception) -> str:
    """Return the first line with words of an error of svy."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason")
