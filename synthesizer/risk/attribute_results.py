"""What `synthesizer.risk.attribute.attribute` returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from synthesizer.figures import Figure
from synthesizer.risk.dominance import Dominance

__all__ = ["AttributeResult", "AttributeValues", "average"]


@dataclass(frozen=True, kw_only=True)
class AttributeValues:
    """Attribute disclosure of one synthetic dataset, or the mean of several; shares in [0, 1].

    A key is disclosive in a dataset when all its records there have the same target. Shares are
    of the original records unless said otherwise.

    Parameters
    ----------
    dorig : float
        Dorig: records whose key is disclosive in the original.
    dsyn : float
        Dsyn: synthetic records whose key is disclosive in the synthetic data, of the synthetic.
    in_synthetic : float
        iS: records whose key occurs in the synthetic data.
    dis : float
        DiS: records whose key is disclosive in the synthetic data.
    disco : float
        DiSCO: of these, records whose target is the one that the synthetic data show.
    disdio : float
        DiSDiO: of these, records whose key is disclosive in the original too.
    max_denom, mean_denom : int or float, and float, or None
        Largest and mean size of the groups of original records with one key and one target that
        are counted in DiSCO; None if there is no group. Large groups hint at relations that are
        common knowledge.
    base_capd : float
        baseCAPd: mean correct attribution probability (CAP) from the original's distribution of
        the target alone.
    capd : float
        CAPd: mean CAP of the original records from the original itself.
    caps : float
        CAPs: mean CAP of the synthetic records from the synthetic data themselves.
    dcap : float
        DCAP: mean CAP of the original records from the synthetic data; 0 without a match.
    tcap : float or None
        TCAP: records counted in DiSCO, of the records whose key occurs in the synthetic data;
        None if there are none.
    left_out : int or float
        Number of records that DiSCO would count but for the exclusions.
    """

    dorig: float
    dsyn: float
    in_synthetic: float
    dis: float
    disco: float
    disdio: float
    max_denom: float | None
    mean_denom: float | None
    base_capd: float
    capd: float
    caps: float
    dcap: float
    tcap: float | None
    left_out: float


def average(datasets: Sequence[AttributeValues]) -> AttributeValues:
    """Return the mean of every measure over the datasets where it is defined.

    ``max_denom`` is the largest of all.
    """
    values: dict[str, Any] = {}
    for field in fields(AttributeValues):
        known = [getattr(d, field.name) for d in datasets if getattr(d, field.name) is not None]
        pool = max if field.name == "max_denom" else np.mean
        values[field.name] = float(pool(known)) if known else None
    return AttributeValues(**values)


@dataclass(frozen=True)
class AttributeResult:
    """Attribute disclosure of every synthetic dataset and on average.

    Parameters
    ----------
    keys, target : tuple of str, str
        What the intruder knows, and wants to learn.
    n : int
        Number of original records.
    n_synthetic : tuple of int
        Number of records of each synthetic dataset.
    excluded : int
        Number of original records that fall under the exclusions of levels and missing codes.
    datasets : tuple of AttributeValues
        One for each synthetic dataset.
    mean : AttributeValues
        Their average, as is synthpop's practice where there are several.
    warnings : tuple of Dominance
        Levels behind many of the disclosures that are left after the exclusions, by dataset;
        each holds the exclusion that would leave it out.
    """

    keys: tuple[str, ...]
    target: str
    n: int
    n_synthetic: tuple[int, ...]
    excluded: int
    datasets: tuple[AttributeValues, ...]
    mean: AttributeValues
    warnings: tuple[Dominance, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The means; ``original`` is the value of releasing the original itself."""
        return tuple(self._figures())

    def _figures(self) -> Iterator[Figure]:
        mean, whole = self.mean, sum(self.n_synthetic)
        key = "share of the original records whose key"
        yield self._figure("DiSCO", mean.disco, mean.dorig, f"{key} shows one target, the true one")
        yield self._figure("DiSDiO", mean.disdio, mean.dorig, f"{key} shows it in the original too")
        yield self._figure("DiS", mean.dis, mean.dorig, f"{key} shows one target, true or not")
        yield self._figure("iS", mean.in_synthetic, 1.0, f"{key} occurs in the synthetic data")
        yield self._figure("Dorig", mean.dorig, mean.dorig, f"{key} shows one target there")
        what = "share of the synthetic records whose key shows one target there"
        yield self._figure("Dsyn", mean.dsyn, mean.dorig, what, n=whole)

    def _figure(
        self, name: str, value: float | None, original: float, meaning: str, **other: Any
    ) -> Figure:
        rest = {"n": self.n} | other
        return Figure(
            name=name,
            value=value,
            meaning=f"{meaning} (mean over the datasets)",
            direction="lower is safer",
            original=original,
            **rest,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file; levels of the data only under ``confidential``."""
        return {
            "keys": list(self.keys),
            "target": self.target,
            "n": self.n,
            "n_synthetic": list(self.n_synthetic),
            "excluded": self.excluded,
            "datasets": [asdict(values) for values in self.datasets],
            "mean": asdict(self.mean),
            "warnings": [warning.to_dict() for warning in self.warnings],
        }
