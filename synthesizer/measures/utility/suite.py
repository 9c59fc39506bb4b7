"""The utility measures together, for datasets that come in one after the other.

Memory does not grow with the number of datasets: of each only counts and figures stay. Models that
a researcher might fit need all datasets, of which the caller keeps the variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from synthesizer.data.panel.view import PersonView
from synthesizer.data.table import Kind, Table
from synthesizer.measures.figure import (
    Attempts,
    Figure,
    Units,
    in_units,
    plain,
    plain_in_units,
)
from synthesizer.measures.utility.coefficients import FitComparison
from synthesizer.measures.utility.combining import Rule
from synthesizer.measures.utility.compare_fit import compare_fit
from synthesizer.measures.utility.design import Family
from synthesizer.measures.utility.distributions import Distribution, DistributionCounter
from synthesizer.measures.utility.estimates import DistanceResult, combine_distances, jensen_shannon
from synthesizer.measures.utility.formulas import parse_atom, parse_formula
from synthesizer.measures.utility.propensity import Model, PmseResult, combine_pmse, pmse
from synthesizer.measures.utility.tables import (
    PairCounter,
    PairTable,
    TableMeasures,
    TableUtility,
    combine_tables,
    table_utility,
)


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
            for figure in self.tables.figures(n=n, expected=self.expected, fresh=self.fresh):
                yield "tables", figure
        for score in self.propensity:
            place = f"propensity score by {score.model}"
            for figure in score.figures:
                is_logit_ratio = figure.name == "pMSE ratio" and score.model == "logit"
                right = {"baseline": self.expected} if is_logit_ratio else {}
                yield place, figure.model_copy(update=right)
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
            "figures": [{"place": place, **plain(figure)} for place, figure in self.figures],
            "tables": None if self.tables is None else plain(self.tables),
            "distributions": [plain(part) for part in self.distributions],
            "pairs": [plain(part) for part in self.pairs],
            "propensity": [plain_in_units(plain(part), self.units) for part in self.propensity],
            "distance": (
                None if self.distance is None else plain_in_units(plain(self.distance), self.units)
            ),
            "fits": [plain(part) for part in self.fits],
            "failed": dict(self.failed),
            "notes": [in_units(note, self.units) for note in self.notes],
        }


# Which utility measures are wanted.


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


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """A model that is fitted to the original and to the synthetic data; see `compare_fit`."""

    formula: str
    family: Family = "ols"
    rule: Rule = "simple"
    clusters: str | None = None
    weights: str | None = None
    offset: str | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything but the formula, as `compare_fit` takes it."""
        return {
            "family": self.family,
            "rule": self.rule,
            "clusters": self.clusters,
            "weights": self.weights,
            "offset": self.offset,
        }


def fit_names(request: FitRequest) -> tuple[str, ...]:
    """Return every variable that a fit needs.

    Examples
    --------
    >>> fit_names(FitRequest(formula="income ~ age", clusters="person"))
    ('income', 'age', 'person')
    """
    further = [name for name in (request.clusters, request.weights) if name is not None]
    offset = () if request.offset is None else parse_atom(request.offset, "offset").names
    return (*parse_formula(request.formula).names, *further, *offset)


@dataclass(frozen=True, kw_only=True)
class UtilityMeasures:
    """Which utility measures are computed, and how.

    Parameters
    ----------
    ways : tuple of int
        Orders of the tables, of 1, 2 and 3; none for no tables.
    groups : int
        Number of quantile groups of numeric variables in tables, at least 2.
    distributions : bool
        Whether the distribution of every variable is kept, original beside synthetic.
    pairs : int
        Tables of the worst pairs that are kept.
    models : tuple of {"logit", "cart"}
        Propensity models; none for no propensity score.
    interactions : int
        Order of the logit's interactions, at least 1.
    permutations : int
        Fits with permuted labels that the null of ``cart`` rests on.
    distance : bool
        Whether the Jensen-Shannon distance of the full tables is computed.
    fits : tuple of FitRequest
        Models that a researcher might fit.
    """

    ways: tuple[int, ...] = (1, 2)
    groups: int = 5
    distributions: bool = True
    pairs: int = 300
    models: tuple[Model, ...] = ("logit",)
    interactions: int = 1
    permutations: int = 10
    distance: bool = True
    fits: tuple[FitRequest, ...] = ()

    @property
    def problems(self) -> list[str]:
        """Settings out of range."""
        return list(self._problems())

    def _problems(self) -> Iterator[str]:
        if not set(self.ways) <= {1, 2, 3}:
            yield "ways must be of 1, 2 and 3"
        if self.groups < 2:
            yield f"groups ({self.groups}) must be at least 2"
        unknown = [model for model in self.models if model not in ("logit", "cart")]
        yield from (f"model {model!r} is unknown: write 'logit' or 'cart'" for model in unknown)
        if self.interactions < 1:
            yield f"interactions ({self.interactions}) must be at least 1, which is main effects"
        if self.permutations < 0:
            yield f"permutations ({self.permutations}) must not be negative"


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
    >>> from synthesizer.data.table import Variable
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
        self.tables: list[TableMeasures] = []
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
            tables=(
                combine_tables(self.tables).result()
                if self._whole("tables") and self.tables
                else None
            ),
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
