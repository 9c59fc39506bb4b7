"""The utility measures together, for datasets that come in one after the other.

Memory does not grow with the number of datasets: of each only counts and figures stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from synthesizer.data.table import Table
from synthesizer.measures.figure import Figure, Further, Result, Units
from synthesizer.measures.utility.coefficients import FitComparison
from synthesizer.measures.utility.distributions import Distribution, DistributionCounter
from synthesizer.measures.utility.estimates import DistanceResult, combine_distances, jensen_shannon
from synthesizer.measures.utility.propensity import Model, PmseResult, combine_pmse, pmse
from synthesizer.measures.utility.tables import (
    PairCounter,
    PairTable,
    TableMeasures,
    TableUtility,
    combine_tables,
    table_utility,
)

if TYPE_CHECKING:
    from synthesizer.measures.measure_options import PropensityOptions
    from synthesizer.measures.settings import CheckSettings


class UtilityResult(Result):
    """Everything the utility measures found; None or empty where one is off or failed."""

    n: int
    """Number of original records."""
    n_synthetic: tuple[int, ...]
    """Number of records of each synthetic dataset."""
    tables: TableUtility | None = None
    """Measures of all one-, two- or three-way tables."""
    distributions: tuple[Distribution, ...] = ()
    """Of every variable."""
    pairs: tuple[PairTable, ...] = ()
    """Tables of the worst pairs, in the order of `tables` of the first dataset."""
    propensity: tuple[PmseResult, ...] = ()
    """One for each model."""
    distance: DistanceResult | None = None
    """Jensen-Shannon distance of the full tables."""
    fits: tuple[FitComparison, ...] = ()
    """Models fitted to the original and to the synthetic data."""
    further: Further = Field(default_factory=dict)
    """Results of other measures of the catalogue, by key."""
    proper: bool = False
    """Whether parameters were drawn anew for each dataset."""
    kept: tuple[str, ...] = ()
    """Compared variables whose values are the original's own; tables of these alone are left
    out."""
    failed: Mapping[str, str] = Field(default_factory=dict)
    """Measures that could not be computed, and why."""
    notes: tuple[str, ...] = ()
    """What should be known of the data compared."""
    units: Units = "records"
    """What the tables and the propensity scores count; a fit counts what it is fitted to."""

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
            (f"{fit.family}: {fit.formula}", figure.counting("records"))
            for fit in self.fits
            for figure in fit.figures
        )
        return (*own, *fits)

    def _figures(self) -> Iterator[tuple[str, Figure]]:
        if self.tables is not None:
            n = self.n + sum(self.n_synthetic)
            for figure in self.tables.figures(n=n, expected=self.expected, fresh=self.fresh):
                yield "tables", figure
        for score in self.propensity:
            place = f"propensity score by {score.model}"
            for figure in score.figures:
                is_logit_ratio = figure.key == "pmse_ratio" and score.model == "logit"
                right = {"baseline": self.expected} if is_logit_ratio else {}
                yield place, figure.model_copy(update=right)
        if self.distance is not None:
            yield from (("full table", figure) for figure in self.distance.figures)
        for key, part in self.further.items():
            yield from ((key, figure) for figure in part.figures)


@dataclass(frozen=True, kw_only=True)
class Synthesis:
    """How the synthetic data were made, as far as it decides what is to be expected of them.

    Parameters
    ----------
    proper : bool
        Whether parameters were drawn anew for each dataset. A right synthesis is then as far from
        the original as a fresh sample: S_pMSE is 1 + k/n in expectation, not 1.
    kept : tuple of str
        Variables whose values are the original's own.
    """

    proper: bool = False
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Collecting:
    """A measure that looks at datasets one by one.

    Parameters
    ----------
    add : callable
        Looks at the next dataset.
    result : callable
        Returns what was found in the datasets so far, at least one.
    """

    add: Callable[[Table], None]
    result: Callable[[], Any]


@dataclass(frozen=True, eq=False)
class TableCollecting(Collecting):
    """Measures of the tables of every dataset so far."""

    found: list[TableMeasures]


def tables(
    original: Table, names: Sequence[str], settings: CheckSettings, synthesis: Synthesis
) -> TableCollecting:
    """Collect measures of tables; those of kept variables alone are left out."""
    found: list[TableMeasures] = []

    def add(synthetic: Table) -> None:
        measured = table_utility(
            original,
            [synthetic],
            names=names,
            ways=settings.ways,
            groups=settings.table_groups,
        )
        found.append(measured.without(synthesis.kept))

    return TableCollecting(add, lambda: combine_tables(found).result(), found)


def variables(original: Table, names: Sequence[str]) -> Collecting:
    """Collect the distribution of every variable."""
    counter = DistributionCounter(original, names)
    return Collecting(counter.add, counter.result)


def pair_tables(
    original: Table,
    names: Sequence[str],
    settings: CheckSettings,
    measured: TableCollecting | None,
) -> Collecting:
    """Collect the tables of all pairs where they are few, else the worst of the first dataset."""
    most, every = settings.pair_tables, list(combinations(names, 2))
    counters: list[PairCounter] = []

    def worst() -> list[tuple[str, str]]:
        if len(every) <= most or measured is None or not measured.found:
            return every[:most]
        return [(a, b) for a, b in measured.found[0].worst(2, most)["names"]]

    def add(synthetic: Table) -> None:
        if not counters:
            counters.append(PairCounter(original, worst(), groups=settings.table_groups))
        counters[0].add(synthetic)

    return Collecting(add, lambda: counters[0].result())


def propensity(
    original: Table,
    names: Sequence[str],
    options: PropensityOptions,
    model: Model,
    *,
    copied: Sequence[str],
    generator: Callable[[int], np.random.Generator],
    workers: int,
) -> Collecting:
    """Collect how well a model tells the records of each dataset from original ones.

    ``generator`` gives the generator of the permutations of a dataset, numbered from 1.
    """
    scores: list[PmseResult] = []

    def add(synthetic: Table) -> None:
        further: dict[str, Any] = (
            {"permutations": options.permutations, "rng": generator(len(scores) + 1)}
            if model == "cart"
            else {"interactions": options.interactions, "copied": copied}
        )
        scores.append(
            pmse(original, synthetic, model=model, names=names, n_jobs=workers, **further)
        )

    return Collecting(add, lambda: combine_pmse(scores))


def distances(original: Table, names: Sequence[str], settings: CheckSettings) -> Collecting:
    """Collect the Jensen-Shannon distance of the full tables."""
    found: list[DistanceResult] = []
    compare = partial(jensen_shannon, original, names=names, groups=settings.table_groups)
    return Collecting(
        lambda synthetic: found.append(compare(synthetic)), lambda: combine_distances(found)
    )
