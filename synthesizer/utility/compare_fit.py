"""The same model on original and synthetic data: would a researcher find the same?

Sources: Karr, Kohnen, Oganian, Reiter and Sanil (2006), A framework for evaluating the utility of
data altered to protect confidentiality, The American Statistician 60(3), for the overlap of
confidence intervals; Raab, Nowok and Dibben (2021), Assessing, visualizing and improving the
utility of synthetic data (arXiv 2109.12717), and Raab and Nowok (2017), Inference from fitted
models in synthpop, for standardised differences and the lack-of-fit test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import numpy.typing as npt

from synthesizer.data.comparable import check_comparable
from synthesizer.data.inference import Declaration
from synthesizer.data.pairs import Data, as_table, as_tables, column_names
from synthesizer.data.table import BoolArray, Table
from synthesizer.errors import DataError, ExpressionError
from synthesizer.utility.coefficients import compare_coefficients, lack_of_fit
from synthesizer.utility.combining import Rule, combine, rule_problems
from synthesizer.utility.fit_results import FitComparison, FittedData
from synthesizer.utility.fits import Fit, fit_model, need_statsmodels
from synthesizer.utility.formula_columns import Family, Model, learn_model
from synthesizer.utility.formulas import Formula, parse_formula, unknown_names

__all__ = ["compare_fit"]


def compare_fit(
    original: Data,
    synthetic: Data | Sequence[Data],
    formula: str,
    *,
    family: Family = "ols",
    rule: Rule = "simple",
    clusters: str | None = None,
    level: float = 0.95,
    declared: Mapping[str, Declaration] | None = None,
) -> FitComparison:
    """Fit a model to the original and to every synthetic dataset and compare the coefficients.

    Parameters
    ----------
    original : Table, DataFrame or RawTable
        Original records.
    synthetic : the same, or a sequence of them
        m synthetic datasets.
    formula : str
        For example ``pay ~ age*sex + C(grade) + I(age ** 2)``; see
        `synthesizer.utility.formulas`. Nothing in it is run as code. Categories have treatment
        coding with the first level that occurs in the original as reference.
    family : str
        ``ols`` (a number), ``logit`` (two values; the second level, or 1, is what is modelled),
        ``poisson`` (counts), ``multinomial`` (categories against the first level).
    rule : str
        How the data were synthesised: ``simple`` (all values, with fixed parameters), ``fully``
        (new records from the posterior predictive distribution), ``partially`` (some values
        replaced); see `synthesizer.utility.combining`.
    clusters : str, optional
        Variable whose values mark records that belong together, such as a person's; for
        cluster-robust covariances. Its values need not be the same in both.
    level : float
        Confidence level of the intervals, in (0, 1).
    declared : mapping of str to Declaration, optional
        Kinds and missing codes of variables of frames; inferred where absent.

    Returns
    -------
    FitComparison
        The lack-of-fit test takes the covariance V of the original's coefficients: under a
        correct synthesis the mean difference has covariance V (n/k)/m for ``simple`` and
        V (1 + n/k)/m for ``fully``, and the statistic is chi-square. For ``partially`` it has
        B/m, B the covariance between datasets, and Hotelling's statistic is an F; it needs more
        datasets than coefficients.

    Raises
    ------
    DataError
        With every problem of the request; if the original has no fit; or if too few synthetic
        datasets have one. One dataset without a fit is left out and told in ``notes``.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"pay": [1.5, 2.25, 2.75, 4.5, 5.25], "age": [21.5, 30.5, 44, 50, 63]})
    >>> result = compare_fit(frame, frame, "pay ~ age")
    >>> result.mean_overlap, result.mean_standardised, result.lack_of_fit.p_value
    (1.0, 0.0, 1.0)
    """
    several = [synthetic] if isinstance(synthetic, Data) else list(synthetic or ())
    request = _Request(str(formula).strip(), family, rule, clusters, level)
    parsed = _checked(request, original, several)
    need_statsmodels()
    table, tables = as_tables(original, several, parsed.names, declared)
    check_comparable(table, tables, parsed.names)
    model = learn_model(parsed, table, family)
    groups = [None if clusters is None else _groups(own, clusters) for own in (original, *several)]
    ours, found = _fit(model, table, groups[0], 0)
    if found is None:
        raise DataError(f"the original has no fit: {ours.problem}")
    made = [
        _fit(model, own, group, number)
        for number, (own, group) in enumerate(zip(tables, groups[1:], strict=True), start=1)
    ]
    return _compared(request, _names(model), (ours, found), made)


@dataclass(frozen=True)
class _Request:
    """What was asked for."""

    formula: str
    family: Family
    rule: Rule
    clusters: str | None
    level: float


def _checked(request: _Request, original: Data, synthetic: list[Data]) -> Formula:
    """Return the formula; raise one error with every problem of the request."""
    wrong = [type(data).__name__ for data in (original, *synthetic) if not isinstance(data, Data)]
    if wrong:
        raise DataError(f"tables or pandas frames are needed, not {name}" for name in wrong)
    problems, names = list(_rule_problems(request, [original, *synthetic])), []
    try:
        parsed = parse_formula(request.formula)
        names = list(parsed.names)
    except ExpressionError as error:
        problems += error.problems
    problems += _name_problems(names, request.clusters, original, synthetic)
    if problems:
        raise DataError(problems)
    return parsed


def _rule_problems(request: _Request, data: list[Data]) -> Iterator[str]:
    """Yield what is wrong with family, rule and level; the original comes first in ``data``."""
    if request.family not in get_args(Family):
        yield f"family ({request.family!r}) must be one of {', '.join(get_args(Family))}"
    sizes = [_n_rows(own) for own in data]
    yield from rule_problems(request.rule, len(sizes) - 1, n=1, k=1, level=request.level)
    for number, size in enumerate(sizes[1:], start=1):
        if request.rule == "partially" and size != sizes[0]:
            yield (
                "rule 'partially' is for datasets with as many records as the original, "
                f"synthetic dataset {number} has {size}, not {sizes[0]}: use 'fully' or "
                "'simple', as the data were made"
            )


def _name_problems(
    names: list[str], clusters: str | None, original: Data, synthetic: list[Data]
) -> Iterator[str]:
    wanted = names if clusters is None else [*names, clusters]
    yield from unknown_names(wanted, column_names(original))
    for number, data in enumerate(synthetic, start=1):
        if clusters is not None and clusters not in column_names(data):
            yield f"clusters: column {clusters!r} is not in synthetic dataset {number}: add it"


def _n_rows(data: Data) -> int:
    return data.n_rows if isinstance(data, Table) else len(data)


def _groups(data: Data, name: str) -> npt.NDArray[np.int64]:
    """Return the cluster of each record, -1 where it is missing."""
    column = as_table(data, [name])[name]
    codes = np.unique(column.data, return_inverse=True)[1].astype(np.int64)
    return np.where(column.is_observed, codes, -1)


def _fit(
    model: Model, table: Table, groups: npt.NDArray[np.int64] | None, number: int
) -> tuple[FittedData, Fit | None]:
    """Return the fit of one dataset, or why there is none."""
    usable: BoolArray | None = None if groups is None else groups >= 0
    said = FittedData(dataset=number, n=0, n_missing=0, n_unknown=0)
    try:
        data = model.build(table, usable)
        said = replace(said, n=len(data.y), n_missing=data.n_missing, n_unknown=data.n_unknown)
        own = None if groups is None else groups[data.rows]
        return said, fit_model(model.family, data.y, data.X, model.names, clusters=own)
    except DataError as error:
        return replace(said, problem="; ".join(error.problems)), None


def _names(model: Model) -> tuple[str, ...]:
    if model.family != "multinomial":
        return model.names
    return tuple(f"{level}: {name}" for level in model.outcomes[1:] for name in model.names)


def _compared(
    request: _Request,
    names: tuple[str, ...],
    ours: tuple[FittedData, Fit],
    made: list[tuple[FittedData, Fit | None]],
) -> FitComparison:
    fitted = [(said, fit) for said, fit in made if fit is not None]
    lost = [
        f"synthetic dataset {said.dataset} is left out: {said.problem}"
        for said, fit in made
        if fit is None
    ]
    _check_enough(request.rule, len(fitted), lost)
    n = ours[0].n
    sizes = np.array([said.n for said, _ in fitted], dtype=np.float64)
    q = np.array([fit.coefficients for _, fit in fitted])
    u = np.array([np.diag(fit.covariance) for _, fit in fitted])
    with_sizes = request.rule != "partially"
    combined = combine(
        q,
        u,
        rule=request.rule,
        n=n if with_sizes else None,
        k=float(sizes.mean()) if with_sizes else None,
        level=request.level,
        names=names,
    )
    expected = np.sqrt((u * (sizes / n)[:, None]).mean(axis=0))
    lack, why = lack_of_fit(ours[1], q, request.rule, n / sizes)
    if lost:
        lost.append(f"the results are of {len(fitted)} of {len(made)} synthetic datasets")
    return FitComparison(
        **vars(request),
        coefficients=compare_coefficients(names, ours[1], q.mean(axis=0), expected, request.level),
        combined=combined,
        lack_of_fit=lack,
        datasets=(ours[0], *(said for said, _ in made)),
        notes=(*lost, *([why] if why else [])),
    )


def _check_enough(rule: Rule, m: int, lost: list[str]) -> None:
    if m == 0:
        raise DataError([*lost, "no synthetic dataset has a fit: use a smaller model"])
    problems = list(rule_problems(rule, m, n=1, k=1))
    if problems:
        raise DataError([*lost, *problems])
