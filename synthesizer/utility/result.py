"""All utility figures of synthetic data in one place."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from synthesizer.figures import Direction, Figure
from synthesizer.utility.distributions import Distribution
from synthesizer.utility.estimates_result import DistanceResult
from synthesizer.utility.fit_results import FitComparison
from synthesizer.utility.pair_tables import PairTable
from synthesizer.utility.propensity_result import PmseResult
from synthesizer.utility.tables import TableUtility

__all__ = ["UtilityResult"]

WRITTEN = ("VW", "df", "pMSE", "S_pMSE", "MabsDD", "SPECKS", "JSD", "ROE", "chi_square")
"""Measures of every table in a file: the rest can be recomputed, and a wide file has many pairs."""

LEVEL = 0.05
_WAYS = {1: "one-way", 2: "two-way", 3: "three-way"}
_TABLES = {1: "the distributions of all variables", 2: "all pairs", 3: "all triples"}


@dataclass(frozen=True, kw_only=True)
class UtilityResult:
    """Everything the utility measures found; None or empty where one is off or failed.

    Parameters
    ----------
    n : int
        Number of original records.
    n_synthetic : tuple of int
        Number of records of each synthetic dataset.
    tables : TableUtility or None
        Measures of all one-, two- or three-way tables.
    distributions : tuple of Distribution
        Of every variable.
    pairs : tuple of PairTable
        Tables of the worst pairs, in the order of `tables` of the first dataset.
    propensity : tuple of PmseResult
        One for each model.
    distance : DistanceResult or None
        Jensen-Shannon distance of the full tables.
    fits : tuple of FitComparison
        Models fitted to the original and to the synthetic data.
    failed : mapping of str to str
        Measures that could not be computed, and why.
    notes : tuple of str
        What should be known of the data compared.
    """

    n: int
    n_synthetic: tuple[int, ...]
    tables: TableUtility | None = None
    distributions: tuple[Distribution, ...] = ()
    pairs: tuple[PairTable, ...] = ()
    propensity: tuple[PmseResult, ...] = ()
    distance: DistanceResult | None = None
    fits: tuple[FitComparison, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def figures(self) -> tuple[tuple[str, Figure], ...]:
        """Every figure with what it is about: tables, a propensity model, a formula."""
        return tuple(self._figures())

    def _figures(self) -> Iterator[tuple[str, Figure]]:
        if self.tables is not None:
            n = self.n + sum(self.n_synthetic)
            yield from (("tables", figure) for figure in _table_figures(self.tables, n))
        for score in self.propensity:
            place = f"propensity score by {score.model}"
            yield from ((place, figure) for figure in score.figures)
        if self.distance is not None:
            yield from (("full table", figure) for figure in self.distance.figures)
        for fit in self.fits:
            yield from ((f"{fit.family}: {fit.formula}", figure) for figure in fit.figures)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "n": self.n,
            "n_synthetic": list(self.n_synthetic),
            "figures": [{"place": place, **figure.to_dict()} for place, figure in self.figures],
            "tables": None if self.tables is None else _tables(self.tables),
            "distributions": [part.to_dict() for part in self.distributions],
            "pairs": [part.to_dict() for part in self.pairs],
            "propensity": [part.to_dict() for part in self.propensity],
            "distance": None if self.distance is None else self.distance.to_dict(),
            "fits": [part.to_dict() for part in self.fits],
            "failed": dict(self.failed),
            "notes": list(self.notes),
        }


def _table_figures(tables: TableUtility, n: int) -> Iterator[Figure]:
    for order, words in _WAYS.items():
        mean = tables.mean[tables.mean["ways"] == order]
        if not len(mean):
            continue
        standardised = mean["S_pMSE"].dropna()
        what = (
            f"distance of synthetic from original counts in {_TABLES[order]}, divided by what is "
            "expected of independent draws from a right model (a fresh sample has 2)"
        )

        def figure(
            name: str, value: float | None, meaning: str, direction: Direction = "lower is better"
        ) -> Figure:
            return Figure(name=name, value=value, meaning=meaning, direction=direction, n=n)

        yield figure(
            f"mean {words} S_pMSE",
            float(standardised.mean()) if len(standardised) else None,
            f"mean {what}",
        )
        worst = "" if not len(standardised) else f"; here {' and '.join(mean['names'].iloc[0])}"
        yield figure(
            f"largest {words} S_pMSE",
            float(standardised.max()) if len(standardised) else None,
            f"largest {what}{worst}",
        )
        yield figure(
            f"ROE ({words})",
            float(mean["ROE"].mean()),
            "smaller of the original and the synthetic proportion of a cell divided by the larger, "
            f"averaged over the cells of {_TABLES[order]}; 1: equal, and small cells pull it down",
            "about 1 is good",
        )
        p = tables.by_dataset.loc[tables.by_dataset["ways"] == order, "p_chi_square"].dropna()
        yield figure(
            f"chi-square rejections ({words})",
            float((p < LEVEL).mean()) if len(p) else None,
            f"share of {_TABLES[order]} in which a chi-square test tells original and synthetic "
            "counts apart (p below 0.05); two samples of one population have 0.05",
        )


def _tables(tables: TableUtility) -> dict[str, Any]:
    """Return the means of every table, and of every dataset over the tables."""
    found = tables.mean[["names", "ways", *WRITTEN]].copy()
    p = tables.by_dataset.groupby("variables", sort=False)["p_chi_square"].median()
    found["p"] = tables.mean["variables"].map(p)
    found = found.round(6).rename(columns={"names": "variables"})
    plain = found.astype(object).where(found.notna(), None)
    return {
        "columns": list(found.columns),
        "mean": [[list(row[0]), *row[1:]] for row in plain.to_numpy().tolist()],
        "by_dataset": _by_dataset(tables.by_dataset),
    }


def _by_dataset(by_dataset: pd.DataFrame) -> list[dict[Hashable, Any]]:
    grouped = by_dataset.dropna(subset=["S_pMSE"]).groupby(["dataset", "ways"])
    found = pd.DataFrame(
        {
            "S_pMSE_mean": grouped["S_pMSE"].mean(),
            "S_pMSE_max": grouped["S_pMSE"].max(),
            "ROE_mean": grouped["ROE"].mean(),
        }
    )
    return found.reset_index().to_dict(orient="records")
