"""All utility figures of synthetic data in one place."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from synthesizer.figures import Direction, Figure, Units, in_units, plain_in_units
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
_REJECTIONS = (
    (
        "chi-square rejections",
        "p_chi_square",
        "Pearson's test of two independent samples has p below 0.05; a right synthesis with fixed "
        "parameters is nearer than that, and hardly ever rejected",
    ),
    (
        "VW rejections",
        "p",
        "the test of draws from a right model with fixed parameters has p below 0.05",
    ),
)
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
    proper : bool
        Whether parameters were drawn anew for each dataset.
    kept : tuple of str
        Compared variables whose values are the original's own; tables of these alone are left out.
    failed : mapping of str to str
        Measures that could not be computed, and why.
    notes : tuple of str
        What should be known of the data compared.
    units : {"records", "persons"}
        What the tables and the propensity scores count; a fit counts what it is fitted to.
    """

    n: int
    n_synthetic: tuple[int, ...]
    tables: TableUtility | None = None
    distributions: tuple[Distribution, ...] = ()
    pairs: tuple[PairTable, ...] = ()
    propensity: tuple[PmseResult, ...] = ()
    distance: DistanceResult | None = None
    fits: tuple[FitComparison, ...] = ()
    proper: bool = False
    kept: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    units: Units = "records"

    @property
    def fresh(self) -> float:
        """S_pMSE that a fresh sample of the population has: 1 + k/n, mean over the datasets."""
        return 1 + sum(self.n_synthetic) / (len(self.n_synthetic) or 1) / (self.n or 1)

    @property
    def expected(self) -> float:
        """S_pMSE that a right synthesis of this kind has."""
        return self.fresh if self.proper else 1.0

    @property
    def figures(self) -> tuple[tuple[str, Figure], ...]:
        """Every figure with what it is about: tables, a propensity model, a formula."""
        own = ((place, figure.counting(self.units)) for place, figure in self._figures())
        fits = (
            (f"{fit.family}: {fit.formula}", figure) for fit in self.fits for figure in fit.figures
        )
        return (*own, *fits)

    def _figures(self) -> Iterator[tuple[str, Figure]]:
        if self.tables is not None:
            n = self.n + sum(self.n_synthetic)
            what = (
                f"expected of a right synthesis is {self.expected:.3g}, of a fresh sample of the "
                f"population {self.fresh:.3g}"
            )
            for figure in _table_figures(self.tables, n, what, self.expected):
                yield "tables", figure
        for score in self.propensity:
            place = f"propensity score by {score.model}"
            for figure in score.figures:
                is_logit_ratio = figure.name == "pMSE ratio" and score.model == "logit"
                yield place, replace(figure, baseline=self.expected) if is_logit_ratio else figure
        if self.distance is not None:
            yield from (("full table", figure) for figure in self.distance.figures)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            **({"units": self.units} if self.units == "persons" else {}),
            "n": self.n,
            "n_synthetic": list(self.n_synthetic),
            "proper": self.proper,
            "kept": list(self.kept),
            "expected": {"S_pMSE": self.expected, "fresh": self.fresh},
            "figures": [{"place": place, **figure.to_dict()} for place, figure in self.figures],
            "tables": None if self.tables is None else _tables(self.tables),
            "distributions": [part.to_dict() for part in self.distributions],
            "pairs": [part.to_dict() for part in self.pairs],
            "propensity": [plain_in_units(part.to_dict(), self.units) for part in self.propensity],
            "distance": (
                None
                if self.distance is None
                else plain_in_units(self.distance.to_dict(), self.units)
            ),
            "fits": [part.to_dict() for part in self.fits],
            "failed": dict(self.failed),
            "notes": [in_units(note, self.units) for note in self.notes],
        }


def _table_figures(
    tables: TableUtility, n: int, expected: str, baseline: float
) -> Iterator[Figure]:
    for order, words in _WAYS.items():
        mean = tables.mean[tables.mean["ways"] == order]
        if not len(mean):
            continue

        def figure(
            name: str,
            value: float | None,
            meaning: str,
            direction: Direction = "lower is better",
            baseline: float | None = None,
        ) -> Figure:
            return Figure(
                name=name, value=value, meaning=meaning, direction=direction, n=n, baseline=baseline
            )

        standardised = mean["S_pMSE"].dropna()
        what = (
            f"distance of synthetic from original counts in {_TABLES[order]}, over what chance "
            f"gives; {expected}"
        )
        known = len(standardised) > 0
        yield figure(
            f"mean {words} S_pMSE",
            float(standardised.mean()) if known else None,
            f"mean {what}",
            baseline=baseline,
        )
        yield figure(
            f"largest {words} S_pMSE",
            float(standardised.max()) if known else None,
            f"largest {what}" + (f"; here {' and '.join(mean['names'].iloc[0])}" if known else ""),
            baseline=baseline,
        )
        yield figure(
            f"ROE ({words})",
            float(mean["ROE"].mean()),
            "smaller of the original and the synthetic proportion of a cell divided by the larger, "
            f"averaged over the cells of {_TABLES[order]}; 1: equal, and small cells pull it down",
            "about 1 is good",
        )
        for name, column, reference in _REJECTIONS:
            p = tables.by_dataset.loc[tables.by_dataset["ways"] == order, column].dropna()
            yield figure(
                f"{name} ({words})",
                float((p < LEVEL).mean()) if len(p) else None,
                f"share of {_TABLES[order]} in which {reference}",
                baseline=LEVEL,
            )


def _tables(tables: TableUtility) -> dict[str, Any]:
    """Return the means of every table, and of every dataset over the tables."""
    found = tables.mean[["names", "ways", *WRITTEN]].copy()
    for name, column in (("p", "p_chi_square"), ("p_VW", "p")):
        found[name] = tables.medians(column)
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
