"""The utility measures together, for datasets that come in one after the other.

Memory does not grow with the number of datasets: of each only counts and figures stay. Models that
a researcher might fit need all datasets, of which the caller keeps the variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from synthesizer.attempts import Attempts
from synthesizer.data.schema import Kind
from synthesizer.data.table import Table
from synthesizer.panel.view import PersonView
from synthesizer.utility.compare_fit import compare_fit
from synthesizer.utility.distributions import DistributionCounter
from synthesizer.utility.estimates import jensen_shannon
from synthesizer.utility.estimates_result import DistanceResult, combine_distances
from synthesizer.utility.fit_results import FitComparison
from synthesizer.utility.pair_tables import PairCounter
from synthesizer.utility.propensity import pmse
from synthesizer.utility.propensity_result import Model, PmseResult, combine_pmse
from synthesizer.utility.result import UtilityResult
from synthesizer.utility.tables import TableUtility, combine_tables, table_utility
from synthesizer.utility.wanted import Synthesis, UtilityMeasures

__all__ = ["GeneratorOf", "UtilityCollector"]

GeneratorOf = Callable[[int], np.random.Generator]
"""Gives the generator of a dataset, numbered from 1."""


class UtilityCollector:
    """Compares datasets with the original as they come in.

    Parameters
    ----------
    original : Table
        Confidential records.
    measures : UtilityMeasures
        What is wanted.
    generator_of : callable
        Gives the generator of the permutations of a dataset.
    attempts : Attempts
        Collects what could not be computed: a measure that fails for one dataset is left out.
    names : sequence of str, optional
        Variables to compare; all but identifiers when absent.
    synthesis : Synthesis, optional
        How the data were made. Tables of kept variables alone are left out.
    n_jobs : int
        Threads of the propensity score; they do not change the result.

    Examples
    --------
    >>> from synthesizer.data.schema import Variable
    >>> from synthesizer.data.table import Column
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> table = Table([Column(sex, np.array([0, 1, 1, 0], dtype=np.int32))])
    >>> collector = UtilityCollector(
    ...     table, UtilityMeasures(), np.random.default_rng, attempts=Attempts()
    ... )
    >>> collector.add(table)
    >>> result = collector.finish([table])
    >>> [(figure.name, figure.value) for _, figure in result.figures][:2]
    [('mean one-way S_pMSE', 0.0), ('largest one-way S_pMSE', 0.0)]
    """

    def __init__(
        self,
        original: Table,
        measures: UtilityMeasures,
        generator_of: GeneratorOf,
        *,
        attempts: Attempts,
        names: Sequence[str] | None = None,
        synthesis: Synthesis | None = None,
        n_jobs: int = 1,
    ) -> None:
        self.original, self.measures = original, measures
        self.generator_of, self.attempts, self.n_jobs = generator_of, attempts, n_jobs
        drawn = (v.name for v in original.schema if v.kind is not Kind.ID)
        self.names = tuple(drawn if names is None else names)
        self.synthesis = synthesis or Synthesis()
        self.sizes: list[int] = []
        self.tables: list[TableUtility] = []
        self.distances: list[DistanceResult] = []
        self.scores: dict[Model, list[PmseResult]] = {model: [] for model in measures.models}
        self.distributions: DistributionCounter | None = None
        self.pairs: PairCounter | None = None
        if measures.distributions and self.names:
            self.distributions = attempts.of(
                "distributions", lambda: DistributionCounter(original, self.names)
            )

    def add(self, synthetic: Table) -> None:
        """Look at the next dataset."""
        self.sizes.append(synthetic.n_rows)
        if not self.names:
            return
        self._try("tables", lambda: self._add_tables(synthetic), wanted=bool(self.measures.ways))
        self._try("distributions", lambda: self._add_distributions(synthetic))
        self._try("pairs", lambda: self._add_pairs(synthetic))
        for model in self.measures.models:
            self._try(_place(model), partial(self._add_score, model, synthetic))
        self._try(
            "full table", lambda: self._add_distance(synthetic), wanted=self.measures.distance
        )

    def finish(self, known: Sequence[Table], notes: Sequence[str] = ()) -> UtilityResult:
        """Return what was found; ``known`` holds the variables of fits of every dataset."""
        attempts = self.attempts
        return UtilityResult(
            n=self.original.n_rows,
            n_synthetic=tuple(self.sizes),
            tables=combine_tables(self.tables) if self._whole("tables") and self.tables else None,
            distributions=(
                self.distributions.result()
                if self.distributions is not None and self.sizes and self._whole("distributions")
                else ()
            ),
            pairs=self.pairs.result() if self.pairs is not None and self._whole("pairs") else (),
            propensity=tuple(
                combine_pmse(found)
                for model, found in self.scores.items()
                if found and self._whole(_place(model))
            ),
            distance=(
                combine_distances(self.distances)
                if self.distances and self._whole("full table")
                else None
            ),
            fits=tuple(self._fits(known)),
            proper=self.synthesis.proper,
            kept=tuple(name for name in self.names if name in self.synthesis.kept),
            failed=attempts.failed,
            notes=tuple(notes),
            units="persons" if isinstance(self.original, PersonView) else "records",
        )

    def _whole(self, name: str) -> bool:
        return name not in self.attempts.failed

    def _try(self, name: str, compute: Callable[[], None], *, wanted: bool = True) -> None:
        """Compute a measure that has not failed before."""
        if wanted and self._whole(name):
            self.attempts.of(name, compute)

    def _add_tables(self, synthetic: Table) -> None:
        measures = self.measures
        found = table_utility(
            self.original,
            [synthetic],
            names=self.names,
            ways=measures.ways,
            groups=measures.groups,
        )
        self.tables.append(found.without(self.synthesis.kept))

    def _add_distributions(self, synthetic: Table) -> None:
        if self.distributions is not None:
            self.distributions.add(synthetic)

    def _add_pairs(self, synthetic: Table) -> None:
        if self.pairs is None:
            self.pairs = PairCounter(
                self.original, self._worst_pairs(), groups=self.measures.groups
            )
        self.pairs.add(synthetic)

    def _worst_pairs(self) -> list[tuple[str, str]]:
        """Return all pairs where they are few, the worst of the first dataset otherwise."""
        every = list(combinations(self.names, 2)) if 2 in self.measures.ways else []
        if len(every) <= self.measures.pairs or not self.tables:
            return every[: self.measures.pairs]
        return [(a, b) for a, b in self.tables[0].worst(2, self.measures.pairs)["names"]]

    def _add_score(self, model: Model, synthetic: Table) -> None:
        own: dict[str, Any] = (
            {
                "permutations": self.measures.permutations,
                "rng": self.generator_of(len(self.sizes)),
            }
            if model == "cart"
            else {"interactions": self.measures.interactions, "copied": self.synthesis.kept}
        )
        self.scores[model].append(
            pmse(self.original, synthetic, model=model, names=self.names, n_jobs=self.n_jobs, **own)
        )

    def _add_distance(self, synthetic: Table) -> None:
        self.distances.append(
            jensen_shannon(self.original, synthetic, names=self.names, groups=self.measures.groups)
        )

    def _fits(self, known: Sequence[Table]) -> list[FitComparison]:
        found = [
            self.attempts.of(
                f"fit {request.formula}",
                partial(compare_fit, self.original, known, request.formula, **request.settings),
            )
            for request in self.measures.fits
        ]
        return [fit for fit in found if fit is not None]


def _place(model: str) -> str:
    return f"propensity score by {model}"
