"""Models that the checks fit to original and synthetic data: formulas, names, combining rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from synthesizer.config import ChainConfig
from synthesizer.config_utility import FitConfig
from synthesizer.data.table import Table
from synthesizer.errors import DataError, ExpressionError
from synthesizer.panel.rows import person_name
from synthesizer.panel_fits import split_fits
from synthesizer.plan_names import Columns
from synthesizer.utility.fits import need_statsmodels
from synthesizer.utility.fixed_effects import need_pyfixest
from synthesizer.utility.formulas import parse_formula
from synthesizer.utility.rules import kind_problems, rule_for, rule_problems
from synthesizer.utility.wanted import FitRequest, fit_names

__all__ = ["plan_fits"]


def plan_fits(
    config: ChainConfig, columns: Columns, table: Table, view: Table | None, *, keeps: bool
) -> tuple[tuple[FitRequest, ...], tuple[FitRequest, ...], list[str]]:
    """Return the fits that the checks ask for, those to rows of a panel, and every problem.

    ``columns`` are those that the checks see, ``table`` is what the chain models, ``view`` one row
    a person of a panel. ``keeps`` says
    whether variables are copied row by row, which decides about the combining rule.
    """
    requests, problems = [], []
    person = None if config.panel is None else config.panel.person
    if view is not None:
        columns = columns.joined([*table.names, person_name(person, table.names)])
    natural = rule_for(proper=config.proper, keeps=keeps)
    for number, fit in enumerate(config.checks.fits, 1):
        place = f"checks.fits.{number}"
        request = FitRequest(
            formula=fit.formula,
            family=fit.family,
            rule=fit.rule or natural,
            clusters=fit.clusters,
            weights=fit.weights,
            offset=fit.offset,
        )
        requests.append(request)
        problems += [f"{place}: {problem}" for problem in _rule_problems(fit, config, keeps=keeps)]
        problems += _name_problems(place, request, config, columns)
    problems += [f"checks.fits: {problem}" for problem in _packages_missing(requests)]
    if view is None:
        return tuple(requests), (), problems
    return *split_fits(requests, table, person), problems


def _packages_missing(requests: Sequence[FitRequest]) -> Iterator[str]:
    """Yield what must be installed for the fits, once."""
    needed: dict[Callable[[], None], None] = {}
    for request in requests:
        try:
            effects = parse_formula(request.formula).effects
        except ExpressionError:  # told by the names already
            continue
        needed[need_pyfixest if effects else need_statsmodels] = None
    for need in needed:
        try:
            need()
        except DataError as error:
            yield from error.problems


def _rule_problems(fit: FitConfig, config: ChainConfig, *, keeps: bool) -> Iterator[str]:
    rule = fit.rule or rule_for(proper=config.proper, keeps=keeps)
    yield from kind_problems(rule, proper=config.proper, keeps=keeps)
    yield from rule_problems(rule, config.m, n=1, k=1)


def _name_problems(
    place: str, request: FitRequest, config: ChainConfig, columns: Columns
) -> Iterator[str]:
    try:
        names = fit_names(request)
    except ExpressionError as error:
        yield from (f"{place}.formula: {problem}" for problem in error.problems)
        return
    for name in dict.fromkeys(names):
        if name in config.drop:
            yield f"{place}: {name!r} is dropped from the synthesis; take it out"
        elif not columns.is_known(name):
            yield from columns.unknown(place, name)
