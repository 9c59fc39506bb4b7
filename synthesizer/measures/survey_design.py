"""The weight of a survey, and its replicate weights: which columns, and how they were made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, FiniteFloat, model_validator

from synthesizer.data.table import FloatArray, Table
from synthesizer.measures.measure_options import Names, Part

Method = Literal["brr", "fay", "jk1", "jkn", "bootstrap", "sdr"]
Positive = Annotated[FiniteFloat, Field(gt=0)]


def weights_of(table: Table, name: str) -> FloatArray:
    """Return the weight of every record, 0 where it is missing, shape (n,)."""
    column = table[name]
    return np.where(column.is_observed, column.data, 0.0)


def _numbers(value: object) -> object:
    return [value] if isinstance(value, int | float) else value


class ReplicateWeights(Part):
    """Replicate weights: the variance of an estimate is that between them, times a scale.

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
        "American Community Survey); without it they are dropped and tell of no variance",
    )
    rho: float | None = Field(None, ge=0, lt=1, description="of fay: weights changed by 1 - rho")
    scale: Positive | None = Field(
        None, description="what sums of squares are multiplied by; by the method when absent"
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
            raise ValueError("method fay needs rho, such as 0.5, and no other method has one")
        if self.method == "jkn" and self.scale is None and not self.rscales:
            raise ValueError(
                "method jkn needs rscales, (n - 1) / n for each column, n being the units of the "
                "stratum that lost one; the documentation of the file has them"
            )
        return self

    def among(self, names: Iterable[str], but: Iterable[str | None] = ()) -> tuple[str, ...]:
        """Return the columns among those of a file."""
        others = set(but)
        return tuple(
            name
            for name in names
            if name not in others and any(fnmatchcase(name, like) for like in self.columns)
        )

    def problems(self, found: Sequence[str]) -> list[str]:
        """Return what is wrong with the columns of a file."""
        if len(found) < 2:
            return [
                f"{len(found)} columns are like {', '.join(map(repr, self.columns))}; name those "
                "of the replicate weights, such as PWGTP[1-9]*, or take the key out"
            ]
        if len(self.rscales) > 1 and len(self.rscales) != len(found):
            return [f"{len(self.rscales)} rscales for {len(found)} columns; give one for each"]
        return []

    def scales(self, n: int) -> tuple[float, ...]:
        """Return what the squared deviation of each of n replicates is multiplied by."""
        scale = self.scale
        if scale is None:
            if self.method is None:
                raise ValueError("nothing says how the replicate weights were made")
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
