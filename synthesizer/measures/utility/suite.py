"""The utility measures together, for datasets that come in one after the other.

Memory does not grow with the number of datasets: of each only counts and figures stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from synthesizer.data.errors import DataError, ExpressionError, listed
from synthesizer.data.options import Strings, options
from synthesizer.data.pairs import Data
from synthesizer.data.panel.arrangement import panel_rows, person_name
from synthesizer.data.panel.view import PersonView, panel_of
from synthesizer.data.table import Table
from synthesizer.measures.figure import Figure, Further, Result, Units
from synthesizer.measures.utility.coefficients import FitComparison, titled
from synthesizer.measures.utility.combining import Rule, kind_problems, rule_for
from synthesizer.measures.utility.compare_fit import (
    FitRequest,
    Group,
    compare_group,
    groups_of,
    records_of,
)
from synthesizer.measures.utility.conditional_tables import MOST_PAIRS, ConditionalCounter
from synthesizer.measures.utility.distributions import (
    Distribution,
    PairCounter,
    PairTable,
)
from synthesizer.measures.utility.propensity import PmseResult, combine_pmse, pmse
from synthesizer.measures.utility.tables import (
    DistanceResult,
    TableMeasures,
    TableUtility,
    combine_distances,
    combine_tables,
    jensen_shannon,
    table_utility,
)

if TYPE_CHECKING:
    from synthesizer.measures.measure import Case


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
    unlike: tuple[str, ...] = ()
    """Variables whose missing values two files write in different ways, which makes figures
    wrong."""
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
        measured = ((place, figure.counting(self.units)) for place, figure in self._figures())
        fits = (
            (f"{fit.family}: {fit.title}", figure.counting("records"))
            for fit in self.fits
            for figure in fit.figures
        )
        return (*measured, *fits)

    def _figures(self) -> Iterator[tuple[str, Figure]]:
        if self.tables is not None:
            n = self.n + sum(self.n_synthetic)
            for figure in self.tables.figures(n=n, expected=self.expected, fresh=self.fresh):
                yield "tables", figure
        for score in self.propensity:
            place = f"propensity score by {score.model}"
            for figure in score.figures:
                is_logit_ratio = figure.key == "pmse_ratio" and score.model == "logit"
                right = {"chance": self.expected} if is_logit_ratio else {}
                yield place, figure.model_copy(update=right)
        if self.distance is not None:
            yield from (("full table", figure) for figure in self.distance.figures)
        for key, result in self.further.items():
            yield from ((key, figure) for figure in result.figures)


@options
class Synthesis:
    """How the synthetic data were made, as far as it decides what is to be expected of them.

    Parameters
    ----------
    proper : bool
        Whether parameters were drawn anew for each dataset. A right synthesis is then as far from
        the original as a fresh sample: S_pMSE is 1 + k/n in expectation, not 1.
    kept : tuple of str
        Variables whose values are the original's own.
    may_keep : bool
        Whether others may be, too: not where a configuration says what is kept.
    redrawn : bool
        Whether each dataset has a sample of its own, drawn anew by the design of a survey.
    public : tuple of str
        Variables whose levels are a public code list.
    """

    proper: bool = False
    kept: Strings = ()
    may_keep: bool = True
    redrawn: bool = False
    public: Strings = ()

    @property
    def rule(self) -> Rule:
        """The combining rule for such data."""
        return rule_for(proper=self.proper, keeps=bool(self.kept), redrawn=self.redrawn)

    def rule_problems(self, rule: Rule) -> list[str]:
        """Return why a combining rule does not fit such data, in plain words."""
        return kind_problems(rule, proper=self.proper, keeps=bool(self.kept), redrawn=self.redrawn)


@dataclass(frozen=True, eq=False)
class Collecting:
    """A measure that looks at datasets one by one.

    Parameters
    ----------
    add : callable
        Looks at the next dataset.
    result : callable
        Returns what was found in the datasets so far, at least one.
    notes : tuple of str
        What should be known of the result.
    """

    add: Callable[[Table], None]
    result: Callable[[], Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class TableCollecting(Collecting):
    """Measures of the tables of every dataset so far."""

    measured: list[TableMeasures]


def tables(case: Case) -> TableCollecting | None:
    """Collect measures of tables; those of kept variables alone are left out."""
    settings, measured = case.settings, list[TableMeasures]()
    if not settings.ways:
        return None

    def add(synthetic: Table) -> None:
        dataset = table_utility(
            case.original,
            [synthetic],
            names=case.names,
            ways=settings.ways,
            groups=settings.table_groups,
            quantiles_of="original",  # as in the tables of pairs, which show the figure's counts
        )
        measured.append(dataset.without(case.synthesis.kept))

    return TableCollecting(
        add=add, result=lambda: combine_tables(measured).result(), measured=measured
    )


_CANDIDATES = 2
"""Times the tables of pairs that are kept: so many are counted."""


def pair_tables(case: Case) -> Collecting:
    """Collect the tables of all pairs where they are few, else of the worst over the datasets.

    These are among the worst of the first dataset, of which more are counted than are kept.
    """
    settings, counters = case.settings, list[PairCounter]()
    most = settings.pair_tables

    def add(synthetic: Table) -> None:
        if not counters:
            pairs = _worst_pairs(case, _CANDIDATES * most)
            counters.append(PairCounter(case.original, pairs, groups=settings.table_groups))
        counters[0].add(synthetic)

    def result() -> tuple[PairTable, ...]:
        counted = counters[0].result()
        tables: TableCollecting | None = case.done.get("tables")
        if len(counted) <= most or tables is None or not tables.measured:
            return counted[:most]
        worst = combine_tables(tables.measured).worst(2, most)["names"]
        by_names = {pair.variables: pair for pair in counted}
        return tuple(by_names[names] for names in worst if names in by_names)

    return Collecting(add, result)


def conditional_tables(case: Case) -> Collecting:
    """Collect the worst pairs of the first dataset within the groups of a third variable."""
    settings, counters = case.settings, list[ConditionalCounter]()

    def add(synthetic: Table) -> None:
        if not counters:
            counter = ConditionalCounter(
                case.original,
                _worst_pairs(case, MOST_PAIRS),
                case.names,
                groups=settings.table_groups,
                proper=case.synthesis.proper,
            )
            counters.append(counter)
        counters[0].add(synthetic)

    return Collecting(add, lambda: counters[0].result())


def _worst_pairs(case: Case, most: int) -> list[tuple[str, str]]:
    """Return the worst pairs of the first dataset; the first of all where they are few or off."""
    every = list(combinations(case.names, 2))
    tables: TableCollecting | None = case.done.get("tables")
    if len(every) <= most or tables is None or not tables.measured:
        return every[:most]
    return [(a, b) for a, b in tables.measured[0].worst(2, most)["names"]]


def propensity(case: Case) -> Collecting:
    """Collect how well a model tells the records of each dataset from original ones."""
    scores: list[PmseResult] = []

    def add(synthetic: Table) -> None:
        score = pmse(
            case.original,
            synthetic,
            model=case.item,
            options=case.settings.propensity,
            names=case.names,
            seed=case.seed,
            first=len(scores) + 1,
            n_jobs=case.workers,
            copied=case.synthesis.kept,
        )
        scores.append(score)

    return Collecting(add, lambda: combine_pmse(scores))


def distances(case: Case) -> Collecting:
    """Collect the Jensen-Shannon distance of the full tables."""
    results: list[DistanceResult] = []
    groups = case.settings.table_groups
    compare = partial(jensen_shannon, case.original, names=case.names, groups=groups)
    return Collecting(
        lambda synthetic: results.append(compare(synthetic)), lambda: combine_distances(results)
    )


FitItem = tuple[FitRequest, str | None, Group]
"""A request, the column of persons where it is fitted to the rows of a panel, and its group."""


def requested_fits(case: Case) -> list[tuple[str, FitItem]]:
    """Return the title and the item of every fit that was asked for, one for each group.

    What names no weights is fitted without and with the survey weight. A fit is of the rows where
    they have all of its variables; these come last. The rows of a person are not independent:
    errors are clustered by person unless it names other clusters.
    """
    natural = case.synthesis.rule
    design = {} if case.synthesis.redrawn else case.settings.design  # like simple random samples
    requests = [
        fit.ruled(natural)
        for request in case.settings.fits
        for fit in request.with_and_without(_weight_of(request, case), **design)
    ]
    asked = [(r, person_of_rows(_names(r), case.original, case.person)) for r in requests]
    of_units = [(request, None) for request, who in asked if who is None]
    of_rows = [
        (r if r.clusters is not None else r.model_copy(update={"clusters": who}), who)
        for r, who in asked
        if who is not None
    ]
    return [
        (titled(request.formula, group, request.weight), (request, who, group))
        for request, who in (*of_units, *of_rows)
        for group in _groups(case.original, request, who)
    ]


def _weight_of(request: FitRequest, case: Case) -> str | None:
    """Return the survey weight that a fit has unless it says otherwise."""
    is_of_rows = person_of_rows(_names(request), case.original, case.person) is not None
    return None if is_of_rows else case.weight


def _groups(original: Table, request: FitRequest, who: str | None) -> list[dict[str, str]]:
    """Return the groups of a request; what is wrong with them is said where it is fitted."""
    try:
        return groups_of(_rows(original, who), request.by) if request.by else [{}]
    except DataError:
        return [{}]


def _rows(view: Table, who: str | None) -> Table:
    return view if who is None else panel_rows(panel_of(view), who)


def person_of_rows(names: Iterable[str], original: Data, person: str | None) -> str | None:
    """Return the column of persons where the rows of a panel have all names; None otherwise."""
    if not isinstance(original, PersonView):
        return None
    who = person_name(person, original.panel.names)
    return who if {*names} <= {*original.panel.names, who} else None


def _without_group(request: FitRequest, table: Table) -> Iterator[str]:
    """Say how many records of the original are in no group."""
    is_lost = np.zeros(table.n_rows, dtype=bool)
    for name in request.by:
        is_lost |= ~table[name].is_observed if name in table else False
    if lost := int(is_lost.sum()):
        yield (
            f"{request.formula}: {lost} of {table.n_rows} records of the original have no value of "
            f"{listed(request.by)} (by) and are in no group"
        )


def _names(request: FitRequest) -> tuple[str, ...]:
    try:
        return request.names
    except ExpressionError:  # said where the formula is fitted
        return (request.formula,)


def fit(case: Case) -> Collecting:
    """Collect what a fit needs of each dataset: the variables and records of its group."""
    request, person, group = case.item
    tables: list[Table] = []
    if request.by and not group:
        groups_of(_rows(case.original, person), request.by)  # raises: it says why there are none

    def needed(view: Table) -> Table:
        table = _rows(view, person)
        names = dict.fromkeys(_names(request))
        if request.replicates is not None:
            names |= dict.fromkeys(request.replicates.among(table.names))
        table = table.select(name for name in names if name in table)
        return records_of(table, group) if group else table

    original = case.with_replicates
    original = needed(original) if group or person is not None else original
    note = (
        f"{request.formula}: fitted to the rows of persons and periods, with errors clustered by "
        f"{request.clusters!r}"
    )
    return Collecting(
        lambda view: tables.append(needed(view)),
        lambda: compare_group(original, tables, request, group),
        notes=(
            *_without_group(request, _rows(case.original, person)),
            *(() if person is None else (note,)),
        ),
    )
