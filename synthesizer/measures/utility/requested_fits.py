"""Requested models, fitted to original and synthetic data as datasets are added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from synthesizer.data.errors import DataError, ExpressionError, listed
from synthesizer.data.pairs import Data
from synthesizer.data.panel.arrangement import panel_rows, person_name
from synthesizer.data.panel.view import PersonView, panel_of
from synthesizer.data.table import Table
from synthesizer.measures.measure import Case, Collecting, Measure
from synthesizer.measures.utility.coefficients import FIT_KINDS, titled
from synthesizer.measures.utility.combining import rule_for
from synthesizer.measures.utility.compare_fit import (
    FitRequest,
    Group,
    compare_group,
    groups_of,
    records_of,
)

FitItem = tuple[FitRequest, str | None, Group]
"""Request, column of persons (for fits to rows of a panel), and group."""


def requested_fits(case: Case) -> list[tuple[str, FitItem]]:
    """Return title and item of each requested fit, one for each group.

    Fits without weights are made without and with the survey weight. A fit uses the rows of a panel
    if these have all its variables; such fits come last. Their errors are clustered by person,
    unless the request has clusters.
    """
    natural = rule_for(**case.synthesis.kind)
    design = {} if case.synthesis.redrawn else case.settings.design  # like simple random samples
    requests = [
        fit.ruled(natural)
        for request in case.settings.fits
        for fit in request.with_and_without(_weight_of(request, case), **design)
    ]
    requested = [(r, person_of_rows(_names(r), case.original, case.person)) for r in requests]
    of_units = [(request, None) for request, who in requested if who is None]
    of_rows = [
        (r if r.clusters is not None else r.model_copy(update={"clusters": who}), who)
        for r, who in requested
        if who is not None
    ]
    return [
        (titled(request.formula, group, request.weight), (request, who, group))
        for request, who in (*of_units, *of_rows)
        for group in _groups(case.original, request, who)
    ]


def _weight_of(request: FitRequest, case: Case) -> str | None:
    """Return the survey weight of a fit, unless it excludes one."""
    is_of_rows = person_of_rows(_names(request), case.original, case.person) is not None
    return None if is_of_rows else case.weight


def _groups(original: Table, request: FitRequest, who: str | None) -> list[dict[str, str]]:
    """Return the groups of a request; problems are raised when it is fitted."""
    try:
        return groups_of(_rows(original, who), request.by) if request.by else [{}]
    except DataError:
        return [{}]


def _rows(view: Table, who: str | None) -> Table:
    return view if who is None else panel_rows(panel_of(view), who)


def person_of_rows(names: Iterable[str], original: Data, person: str | None) -> str | None:
    """Return the column of persons if the rows of a panel have all names, else None."""
    if not isinstance(original, PersonView):
        return None
    who = person_name(person, original.panel.names)
    return who if {*names} <= {*original.panel.names, who} else None


def _without_group(request: FitRequest, table: Table) -> Iterator[str]:
    """Yield a note on original records without a group."""
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
    except ExpressionError:  # raised when the formula is fitted
        return (request.formula,)


def _fit(case: Case) -> Collecting:
    """Return the collector of the variables and records that a fit needs."""
    request, person, group = case.item
    tables: list[Table] = []
    if request.by and not group:
        groups_of(_rows(case.original, person), request.by)  # raises the problems

    def needed(view: Table) -> Table:
        table = _rows(view, person)
        names = dict.fromkeys(_names(request))
        if request.replicates is not None:
            names |= dict.fromkeys(request.replicates.among(table.names))
        table = table.select(name for name in names if name in table)
        return records_of(table, group) if group else table

    original = case.with_aside
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


MEASURES = (
    Measure(
        "fit {}",
        "datasets",
        axis="utility",
        after="new periods",
        result_field="fits",
        switch="fits",
        words="models that are fitted to original and synthetic data",
        options=FitRequest,
        several=True,
        items=requested_fits,
        compute=_fit,
        figures=FIT_KINDS,
    ),
)
