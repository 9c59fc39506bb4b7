"""Comparison of the same model fitted to original and synthetic data.

Sources: Karr, Kohnen, Oganian, Reiter and Sanil (2006), A framework for evaluating the utility of
data altered to protect confidentiality, The American Statistician 60(3), for the overlap of
confidence intervals; Raab, Nowok and Dibben (2021), Assessing, visualizing and improving the
utility of synthetic data (arXiv 2109.12717), and Raab and Nowok (2017), Inference from fitted
models in synthpop, for standardised differences and the lack-of-fit test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from synthesizer.data.codes import numbered
from synthesizer.data.errors import DataError, ExpressionError, Problems, in_brief, listed, plural
from synthesizer.data.expressions import quote_name
from synthesizer.data.guessing import Declaration, Declared, declarations_of
from synthesizer.data.options import public, sentences
from synthesizer.data.pairs import Data, as_table, as_tables, check_comparable, column_names
from synthesizer.data.table import FloatArray, Kind, Table
from synthesizer.data.values import finite_number
from synthesizer.measures.measure_options import Label, Labels, Part, each_once
from synthesizer.measures.survey_design import ReplicateWeights, SurveyDesign
from synthesizer.measures.utility.coefficients import (
    FitComparison,
    FittedData,
    compare_coefficients,
    lack_of_fit,
)
from synthesizer.measures.utility.combining import Rule, combine, rule_for, rule_problems
from synthesizer.measures.utility.fits import Extras, Fit, fit_model, informative
from synthesizer.measures.utility.fixed_effects import Codes
from synthesizer.measures.utility.formulas import (
    Atom,
    Model,
    ModelFamily,
    atom_values,
    learn_model,
    parse_atom,
    parse_formula,
    unknown_names,
)

Declarations = Mapping[str, Declaration] | None
"""Declarations of variables by name."""


def _of_synthetic_data(rule: Any) -> Any:
    """Refuse rules of completed datasets, whose original has gaps and no fit to compare with."""
    if rule in ("imputed", "nested"):
        raise ValueError(
            f"{rule!r} is for completed datasets, whose original has gaps, so that its fit is of "
            f"other records; fit each dataset, and write combine(q, u, rule={rule!r}, ...)"
        )
    return rule


class FitRequest(Part):
    """A model of a researcher, to be fitted to original and synthetic data.

    ``family`` is ``ols`` (a number), ``logit`` (two values; models the second level, or 1),
    ``poisson`` (counts) or ``multinomial`` (categories against the first level).

    ``rule`` is how the data were synthesised: ``simple`` (all values, with fixed parameters),
    ``design`` (the same, with the variance by the units of a survey in several datasets),
    ``proper`` (all values, parameters drawn anew for each dataset), ``fully`` (the same, for many
    datasets), ``partially`` (some values replaced); see `utility.combining`. The default is
    ``design`` for surveys and ``simple`` otherwise.

    With ``clusters``, such as persons, covariances are cluster-robust. With ``weights``, estimates
    maximise the weighted log-likelihood, errors are robust, and records of weight 0 are ignored
    (`fits.fit_model`). With ``strata`` and ``psu``, or with ``replicates``, errors and degrees of
    freedom are design-based (extra ``survey``, see `survey_design`). For datasets that lack these
    columns, a note names the errors used. Values of clusters, strata and psu may differ between
    the data.

    Examples
    --------
    >>> FitRequest(formula="income ~ age", clusters="person").names
    ('income', 'age', 'person')
    """

    formula: str = Field(description="such as income ~ age + sex:region")
    family: ModelFamily = Field("ols", description="ols, logit, poisson or multinomial")
    rule: Annotated[Rule | None, BeforeValidator(_of_synthetic_data)] = Field(
        None, description="combining rule of the m fits; by the kind of synthesis when absent"
    )
    clusters: Label | None = Field(None, description="variable of cluster-robust errors")
    weights: Literal[False] | Label | None = Field(
        None,
        description="variable that weighs the records; when absent the model is fitted without "
        "and with the survey weight, with false only without",
    )
    strata: Label | None = Field(
        None,
        description="variable of the strata of the survey; with the survey weight, those of "
        "the configuration",
    )
    psu: Label | None = Field(
        None, description="variable of the primary sampling units of the survey, within strata"
    )
    replicates: ReplicateWeights | None = Field(
        None, description="replicate weights of the survey, used in place of strata and psu"
    )
    offset: str | None = Field(None, description="of poisson: a variable or I(log(hours))")
    by: Annotated[Labels, AfterValidator(each_once)] = Field(
        (), description="variables whose values make groups, each fitted alone"
    )

    @model_validator(mode="before")
    @classmethod
    def _formula(cls, value: Any) -> Any:
        """Accept a formula in place of all options."""
        return {"formula": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _groups(self) -> Self:
        """Raise ValueError if a variable of the groups is in the model, where it is constant."""
        try:
            names = self.model_copy(update={"by": ()}).names
        except ExpressionError:  # raised when the formula is read
            return self
        both = [name for name in dict.fromkeys(self.by) if name in names]
        if both:
            raise ValueError(
                f"by names {listed(both)}, which is in the model and constant in each group: "
                "remove it from one of the two, or group by a variable of its classes"
            )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """All variables of the fit.

        Raises
        ------
        ExpressionError
            If the formula or the offset cannot be read.
        """
        further = [n for n in (self.clusters, self.strata, self.psu) if n]
        return (*parse_formula(self.formula).names, *further, *self.numbers, *self.by)

    def with_and_without(
        self,
        weight: str | None,
        *,
        strata: str | None = None,
        psu: str | None = None,
        replicates: ReplicateWeights | None = None,
    ) -> tuple[FitRequest, ...]:
        """Return the fit, and the fit with the survey weight if it has no weights.

        Weighted fits have design-based errors if their family allows them.

        Examples
        --------
        >>> [fit.weights for fit in FitRequest(formula="pay ~ age").with_and_without("w")]
        [None, 'w']
        """
        if weight is None or self.weights is not None or weight in self.names:
            return (self,)
        changes: dict[str, Any] = {"weights": weight}
        if self.has_design_errors and not self.has_design:
            changes |= {"strata": strata, "psu": psu, "replicates": replicates}
        return self, self.model_copy(update=changes)

    @property
    def has_design_errors(self) -> bool:
        """Whether the model can have errors by strata and units of a survey."""
        if self.family == "multinomial" or self.clusters is not None or self.offset is not None:
            return False
        return not self.effects

    @property
    def has_design(self) -> bool:
        """Whether errors are design-based."""
        return (self.strata, self.psu, self.replicates) != (None, None, None)

    def ruled(self, rule: Rule) -> FitRequest:
        """Return the fit with the rule of the kind of synthesis, unless it has a rule.

        The choice between ``simple`` and ``design`` is made when it is fitted.
        """
        is_open = rule == "simple" and self.has_design
        return self if is_open or self.rule is not None else self.model_copy(update={"rule": rule})

    @property
    def effects(self) -> tuple[str, ...]:
        """Fixed effects of the formula."""
        return parse_formula(self.formula).effects

    @property
    def free(self) -> tuple[str, ...]:
        """Variables that may have different values in original and synthetic data."""
        further = (self.clusters, self.strata, self.psu)
        return (*self.effects, *(name for name in further if name is not None))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Numeric variables beside the formula: weights and offset."""
        weight = () if self.weight is None else (self.weight,)
        return (*weight, *(() if self.added is None else self.added.names))

    @property
    def added(self) -> Atom | None:
        """The offset as an atom of a formula."""
        return None if self.offset is None else parse_atom(self.offset, "offset")

    @property
    def weight(self) -> str | None:
        """Variable of weights; None without one."""
        return None if self.weights is False else self.weights

    def read(self, data: Data, table: Table, declared: Declarations = None) -> Extras:
        """Return clusters, effects, weights and offset of the records of one dataset.

        Clusters and effects are codes of the values of ``data``; weights and offset are numbers of
        ``table``, which has the kinds of the original.
        """
        return Extras(
            None if self.clusters is None else _group_codes(data, self.clusters, declared),
            tuple(_group_codes(data, name, declared) for name in self.effects),
            None if self.weight is None else _weights(table, self.weight),
            None if self.added is None else _numbers("offset", self.added, table),
            self.design(data, declared),
        )

    def design(self, data: Data, declared: Declarations = None) -> SurveyDesign | None:
        """Return the sampling design of the records; None without one."""
        how = (self.weight, self.strata, self.psu, self.replicates)
        return design_of(data, *how, declared=declared)


def design_of(
    data: Data,
    weight: str | None,
    strata: str | None,
    psu: str | None,
    replicates: ReplicateWeights | None,
    *,
    declared: Declarations = None,
) -> SurveyDesign | None:
    """Return replicate weights, or strata and units, of a dataset; None without any.

    Raises
    ------
    DataError
        If replicate weights are missing, or their number is not that of the scales.
    """
    if replicates is not None:
        names = replicates.among(column_names(data), but=[weight])
        if names:
            return _replicated(replicates, data, names)
    if strata is None and psu is None:
        return None
    h, i = (None if name is None else _group_codes(data, name, declared) for name in (strata, psu))
    return SurveyDesign(h, i)


def _replicated(replicates: ReplicateWeights, data: Data, names: Sequence[str]) -> SurveyDesign:
    """Return the design of the replicate weights of a dataset."""
    Problems(f"replicates: {problem}" for problem in replicates.problems(names)).settle(DataError)
    table = as_table(data, names, dict.fromkeys(names, Declaration(kind=Kind.NUMERIC)))
    values = np.column_stack([_numbers("replicates", Atom("name", n), table) for n in names])
    if wrong := int((~np.isfinite(values)).any(axis=1).sum()):
        raise DataError(
            f"replicates: {plural(wrong, 'record')} without one of the weights {names[0]!r} to "
            f"{names[-1]!r}: give every record all of them (0 for records that do not count)"
        )
    return SurveyDesign(None, None, values, replicates.scales(len(names)))


def _group_codes(data: Data, name: str, declared: Declarations) -> Codes:
    """Return the code of the group of each record, -1 if it is missing."""
    column = as_table(data, [name], declared)[name]
    return numbered(column.data, column.is_observed)


def _numbers(what: str, atom: Atom, table: Table) -> FloatArray:
    """Return numbers, also of a variable with so few values that it was read as levels."""
    number = atom if atom.kind == "I" else Atom("I", quote_name(atom.text))
    try:
        return np.asarray(atom_values(number, table).data, dtype=np.float64)
    except ExpressionError as error:
        raise ExpressionError(f"{what} {atom}: {problem}" for problem in error.problems) from error


def _weights(table: Table, name: str) -> FloatArray:
    values = _numbers("weights", Atom("name", name), table)
    counts = {"missing": int((~np.isfinite(values)).sum()), "negative": int((values < 0).sum())}
    wrong = [f"{count:,} {what}" for what, count in counts.items() if count]
    if wrong:
        raise DataError(
            f"weights {name!r}: {', '.join(wrong)} of {len(values):,}: leave out those records, or "
            "give every record a weight (0 for records that do not count)"
        )
    return values


MUCH_UNUSED = 0.2
"""Share of records left out of a fit from which on there is a note."""


@public
def compare_fit(
    original: Data,
    synthetic: Data | Sequence[Data],
    formula: str | FitRequest,
    *,
    level: float = 0.95,
    declared: Declared | None = None,
    **options: Any,
) -> FitComparison:
    """Fit a model to the original and to each synthetic dataset, and compare the coefficients.

    Parameters
    ----------
    original : Table, DataFrame or RawTable
        Original records.
    synthetic : the same, or a sequence of them
        m synthetic datasets.
    formula : str or FitRequest
        For example ``pay ~ age*sex + C(grade) + I(age ** 2)``; see
        `utility.formulas`. It is not run as code. Categories have treatment coding; the
        reference is the first level in the original. After ``|`` come fixed effects of many levels
        (``pay ~ age | agency + year``; ``ols`` and ``poisson``), see
        `synthesizer.measures.utility.fits`; their levels may differ from the original's.
    level : float
        Confidence level of the intervals, in (0, 1).
    declared : mapping of str to Declaration, optional
        Kinds and missing codes of variables of frames; inferred by default.
    **options
        Options of `FitRequest`: ``family``, ``rule``, ``clusters``, ``weights``, ``strata``,
        ``psu``, ``replicates``, ``offset``.

    Returns
    -------
    FitComparison
        Coefficients of both sides, their differences, and a lack-of-fit test.

    Raises
    ------
    DataError
        With all problems of the request, or if the original or too many synthetic datasets have
        no fit. A single dataset without a fit is left out; ``notes`` names it.

    Notes
    -----
    Let n be the number of original records, k that of each synthetic dataset, V the covariance of
    the original's coefficients, and B the covariance between the m datasets. The lack-of-fit test
    uses the covariance that the mean difference has under a correct model. It is V (n/k)/m for
    ``simple`` and V (1 + n/k)/m for ``proper`` and ``fully``; the statistic is chi-square. For
    ``partially`` it is B/m; the statistic is Hotelling's, with an F distribution, and needs more
    datasets than coefficients.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"pay": [1.5, 2.25, 2.75, 4.5, 5.25], "age": [21.5, 30.5, 44, 50, 63]})
    >>> result = compare_fit(frame, frame, "pay ~ age")
    >>> result.mean_overlap, result.mean_standardised, result.lack_of_fit.p_value
    (1.0, 0.0, 1.0)
    """
    several = [synthetic] if isinstance(synthetic, Data) else list(synthetic or ())
    problems = Problems()
    request = _requested(formula, options, problems)
    if request.by:
        problems.append("by: compare_fit uses all records; use compare_fit_by for groups")
    return _compare(request, original, several, level, declarations_of(declared), problems)


def _requested(
    formula: str | FitRequest, options: Mapping[str, Any], problems: Problems
) -> FitRequest:
    """Return the request; options with a problem, which is added to ``problems``, have defaults."""
    content: dict[str, Any] = {"formula": formula, **options}
    if isinstance(formula, FitRequest):
        content = {name: getattr(formula, name) for name in formula.model_fields_set} | {**options}
    try:
        return FitRequest.model_validate(content)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        problems += sentences(FitRequest, content, faults)
        faulty = {"by" if not fault["loc"] else str(fault["loc"][0]) for fault in faults}
        return FitRequest.model_validate({k: v for k, v in content.items() if k not in faulty})


def _compare(
    request: FitRequest,
    original: Data,
    several: Sequence[Data],
    level: float,
    declared: Declarations = None,
    problems: Problems | None = None,
    *,
    is_group: bool = False,
) -> FitComparison:
    """Return the comparison; sizes of groups are not checked against the rule."""
    problems = Problems() if problems is None else problems
    problems += _problems(request, original, several, level, is_group=is_group)
    problems.settle(DataError)
    parsed = parse_formula(request.formula)
    names = tuple(dict.fromkeys((*parsed.term_names, *request.numbers)))
    table, tables = as_tables(original, several, names, declared)
    check_comparable(table, tables, names)
    extras = _extras_of_original(request, original, table, declared)
    model = learn_model(parsed, table, request.family, extras.usable)
    original_fit, fit = _fit(model, lambda: extras, table, 0)
    if fit is None:
        raise DataError(f"the original has no fit: {original_fit.problem}")
    synthetic_fits = [
        _fit(model, partial(request.read, data, dataset, declared), dataset, number)
        for number, (data, dataset) in enumerate(zip(several, tables, strict=True), start=1)
    ]
    lacking = _lacking(request, several)
    has_units = request.psu is not None or (request.replicates is not None and not lacking)
    designed = has_units and len([fit for _, fit in synthetic_fits if fit is not None]) > 1
    rule = request.rule or rule_for(proper=False, keeps=False, designed=designed)
    result = _compared(request, rule, level, model, (original_fit, fit), synthetic_fits)
    # the kinds of a table are declared
    notes = [] if isinstance(original, Table) else [*_taken_for_categories(model, declared)]
    if lacking:
        notes.insert(0, _without_replicates(request, original, table, model, extras, fit))
    return result.model_copy(update={"notes": (*notes, *result.notes)})


def _taken_for_categories(model: Model, declared: Declarations) -> Iterator[str]:
    """Yield a note for each number that was read as categories without a declaration."""
    for atom, levels in model.levels.items():
        known_declarations = None if declared is None else declared.get(atom.text)
        is_asked = atom.kind != "name" or (
            known_declarations is not None and known_declarations.declared_kind is not None
        )
        if len(levels) > 2 and not is_asked and None not in map(finite_number, levels):
            yield (
                f"{atom} has {len(levels)} different numbers and is used as categories: write "
                f"I({atom.spelling}) for a slope, or C({atom.spelling}) to confirm"
            )


def _lacking(request: FitRequest, several: Sequence[Data]) -> bool:
    """Whether the original has replicate weights that a dataset lacks."""
    how = request.replicates
    return how is not None and not all(how.among(column_names(data)) for data in several)


def _without_replicates(
    request: FitRequest, original: Data, table: Table, model: Model, extras: Extras, fit: Fit
) -> str:
    """Return a note on the errors of datasets without replicate weights."""
    others = request.model_copy(update={"replicates": None})
    other = _fit(model, lambda: replace(extras, design=others.design(original)), table, 0)[1]
    named = [name for name in (request.strata, request.psu) if name is not None]
    how = (
        f"are linearised, by {' and '.join(named)}" if named else "are those of independent records"
    )
    if other is None:
        return f"the synthetic datasets have no replicate weights, and their errors {how}"
    factor = float(np.median(fit.std_errors / other.std_errors))
    return (
        f"the synthetic datasets have no replicate weights, and their errors {how}; the original "
        f"errors by replicate weights are {factor:.2f} times as large (median of the "
        "coefficients): multiply the synthetic ones by this factor"
    )


def _problems(
    request: FitRequest, original: Data, synthetic: Sequence[Data], level: float, *, is_group: bool
) -> Problems:
    """Return all problems of a request and its data."""
    problems = Problems(_rule_problems(request, level, [original, *synthetic], is_group=is_group))
    names = [] if request.weight is None else [request.weight]
    free: list[str] = []
    with problems.gathered():
        names += parse_formula(request.formula).names
        free += request.free
        problems += _family_problems(request)
    with problems.gathered():
        names += () if request.added is None else request.added.names
    problems += unknown_names([*names, *free, *request.by], column_names(original))
    problems += [
        f"column {name!r} is not in synthetic dataset {number}: add it"
        for number, data in enumerate(synthetic, start=1)
        for name in dict.fromkeys([*free, *request.by])
        if name in column_names(original) and name not in column_names(data)
    ]
    return problems


def _family_problems(request: FitRequest) -> Iterator[str]:
    family, effects = request.family, request.effects
    if effects and family not in ("ols", "poisson"):
        yield (
            f"fixed effects (after '|') need family 'ols' or 'poisson', not '{family}': write "
            "variables with few levels as terms, such as C(year)"
        )
    if request.has_design and not request.has_design_errors:
        yield (
            "strata, psu and replicates need family 'ols', 'logit' or 'poisson' without fixed "
            "effects, clusters and offset: leave them out, or use the units as clusters"
        )
    if request.offset is not None and family != "poisson":
        yield f"an offset needs family 'poisson', not '{family}': leave it out"


Group = Mapping[str, str]
"""Values of the variables of a group, as texts."""
MOST_GROUPS = 200


def groups_of(original: Table, by: Sequence[str]) -> list[dict[str, str]]:
    """Return the groups of the original records, in the order of the values.

    Raises
    ------
    DataError
        If a variable is unknown, no record has all values, or there are too many groups.

    Examples
    --------
    >>> from synthesizer.data.pairs import as_table
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["m", "f", "m"], "year": [2001, 2001, 2002]})
    >>> groups_of(as_table(frame, ["sex", "year"]), ["sex", "year"])[0]
    {'sex': 'f', 'year': '2001'}
    """
    Problems(f"by: {problem}" for problem in unknown_names(by, original.names)).settle(DataError)
    values = [atom_values(Atom("C", name), original) for name in by]
    codes = np.column_stack([value.data for value in values]).astype(np.int64)
    groups = np.unique(codes[(codes >= 0).all(axis=1)], axis=0)
    if not 1 <= len(groups) <= MOST_GROUPS:
        raise DataError(
            f"by: the values of {listed(by)} make {plural(len(groups), 'group')}, not 1 to "
            f"{MOST_GROUPS}: name variables with few values"
        )
    texts = [value.labels or () for value in values]
    return [
        {name: labels[code] for name, labels, code in zip(by, texts, row, strict=True)}
        for row in groups.tolist()
    ]


def records_of(table: Table, group: Group) -> Table:
    """Return the records of a group."""
    rows = np.ones(table.n_rows, dtype=bool)
    for name, text in group.items():
        values = atom_values(Atom("C", name), table)
        labels = values.labels or ()
        rows &= values.data == (labels.index(text) if text in labels else -2)
    return table.take(np.flatnonzero(rows))


def compare_group(
    original: Table,
    synthetic: Sequence[Table],
    request: FitRequest,
    group: Group,
    level: float = 0.95,
) -> FitComparison:
    """Return the comparison of the fits to a group of records; errors are those of `compare_fit`.

    Datasets without a record of the group are left out, with a note.
    """
    request = request.model_copy(update={"by": ()})
    if not group:
        return _compare(request, original, synthetic, level)
    parts = {i: records_of(table, group) for i, table in enumerate(synthetic, start=1)}
    fitted_parts = [part for part in parts.values() if part.n_rows]
    empty = [str(i) for i, part in parts.items() if not part.n_rows]
    if not fitted_parts:
        raise DataError("no synthetic dataset has a record of the group: leave it out")
    fit = _compare(request, records_of(original, group), fitted_parts, level, is_group=True)
    lost = [f"synthetic datasets without a record of the group: {listed(empty)}"] if empty else []
    return fit.model_copy(update={"group": dict(group), "notes": (*fit.notes, *lost)})


@public
def compare_fit_by(
    original: Data,
    synthetic: Data | Sequence[Data],
    formula: str | FitRequest,
    by: str | Sequence[str],
    *,
    level: float = 0.95,
    declared: Declared | None = None,
    **options: Any,
) -> dict[tuple[str, ...], FitComparison | DataError]:
    """Fit a model to each group of records and compare the coefficients, as `compare_fit`.

    Parameters
    ----------
    original, synthetic, formula
        See `compare_fit`.
    by : str or sequence of str
        Variables; each combination of their values in the original is a group.
    level, declared, **options
        See `compare_fit`.

    Returns
    -------
    dict
        Comparison of each group, or the reason why there is none, by the values of the group.

    Raises
    ------
    DataError, OptionError
        With all problems of data, formula and names; a single group without a fit is no error.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [21, 22, 34, 35, 41, 43, 57, 58, 60, 66]})
    >>> frame["pay"] = [1.5, 2.25, 2.75, 4.5, 5.25, 3.5, 6.0, 4.25, 7.5, 6.5]
    >>> frame["sex"] = ["f", "m"] * 5
    >>> fits = compare_fit_by(frame, frame, "pay ~ age", ["sex"])
    >>> list(fits), fits["f",].mean_overlap
    ([('f',), ('m',)], 1.0)
    """
    several = [synthetic] if isinstance(synthetic, Data) else list(synthetic or ())
    problems = Problems()
    request = _requested(formula, {**options, "by": by}, problems)
    if not request.by and not problems:
        problems.append("by: names no variable: name at least one, or use compare_fit")
    # problems of all groups
    problems += _problems(request, original, several, level, is_group=True)
    problems.settle(DataError)
    known_declarations = declarations_of(declared)
    free = (*request.effects, *filter(None, [request.clusters]))
    table, tables = as_tables(original, several, request.names, known_declarations, persons=free)
    fits: dict[tuple[str, ...], FitComparison | DataError] = {}
    for group in groups_of(table, request.by):
        try:
            fit: FitComparison | DataError = compare_group(table, tables, request, group, level)
        except DataError as error:
            fit = error
        fits[tuple(group.values())] = fit
    return fits


def _rule_problems(
    request: FitRequest, level: float, data: Sequence[Data], *, is_group: bool
) -> Iterator[str]:
    """Yield the problems of rule and level; the original comes first in ``data``."""
    sizes = [d.n_rows if isinstance(d, Table) else len(d) for d in data]
    yield from rule_problems(request.rule or "simple", len(sizes) - 1, n=1, k=1, level=level)
    for number, size in enumerate(sizes[1:], start=1):
        if request.rule == "partially" and size != sizes[0] and not is_group:
            yield (
                f"rule 'partially' needs datasets with as many records as the original "
                f"({sizes[0]}), and synthetic dataset {number} has {size}: use 'fully', "
                "'simple' or 'proper', by the kind of synthesis"
            )


def _extras_of_original(
    request: FitRequest, data: Data, table: Table, declared: Declarations
) -> Extras:
    try:
        extras = request.read(data, table, declared)
        if request.replicates is not None and (extras.design is None or not extras.design.scales):
            raise DataError(f"replicates: {problem}" for problem in request.replicates.problems(()))
        if extras.design is not None and extras.design.n_single:
            raise DataError(
                f"{plural(extras.design.n_single, 'stratum', 'strata')} of {request.strata!r} with "
                "a single unit, which has no variance: join similar strata"
            )
        return extras
    except DataError as error:
        raise DataError(f"the original has no fit: {why}" for why in error.problems) from error


def _fit(
    model: Model, read: Callable[[], Extras], table: Table, number: int
) -> tuple[FittedData, Fit | None]:
    """Return the fit of one dataset, None without one, with the records used."""
    used = FittedData(dataset=number, n=0, n_missing=0, n_unknown=0)
    try:
        extras = read()
        data = model.build(table, extras.usable)
        extras = extras.take(data.rows)
        used = _with(used, n=len(data.y), n_missing=data.n_missing, n_unknown=data.n_unknown)
        Problems(data.problems).settle(DataError)
        y, X = data.y, data.X
        if extras.effects:
            usable_rows = informative(extras.effects, y, model.family)
            if not usable_rows.all():
                extras, y, X = extras.take(usable_rows), y[usable_rows], X[usable_rows]
            used = _with(used, n=len(y), n_uninformative=used.n - len(y))
        return used, fit_model(model.family, y, X, model.names, **vars(extras))
    except DataError as error:
        return _with(used, problem="; ".join(in_brief(error.problems))), None


def _with(used: FittedData, **values: Any) -> FittedData:
    return used.model_copy(update=values)


def _names(model: Model) -> tuple[str, ...]:
    if model.family != "multinomial":
        return model.names
    return tuple(f"{level}: {name}" for level in model.outcomes[1:] for name in model.names)


def _compared(
    request: FitRequest,
    rule: Rule,
    level: float,
    model: Model,
    original_fit: tuple[FittedData, Fit],
    fits: list[tuple[FittedData, Fit | None]],
) -> FitComparison:
    fitted = [(used, fit) for used, fit in fits if fit is not None]
    lost = [
        f"synthetic dataset {used.dataset} is left out: {used.problem}"
        for used, fit in fits
        if fit is None
    ]
    _check_enough(rule, len(fitted), lost)
    names, n = _names(model), original_fit[0].n
    sizes = np.array([used.n for used, _ in fitted], dtype=np.float64)
    q = np.array([fit.coefficients for _, fit in fitted])
    u = np.array([np.diag(fit.covariance) for _, fit in fitted])
    # Rule "partially" does not depend on the numbers of records.
    counts: dict[str, Any] = {} if rule == "partially" else {"n": n, "k": float(sizes.mean())}
    if request.has_design and all(np.isfinite(fit.df) for _, fit in fitted):
        counts["df"] = min(fit.df for _, fit in fitted)
    combined = combine(q, u, rule=rule, level=level, names=names, **counts)
    expected = np.sqrt((u * (sizes / n)[:, None]).mean(axis=0))
    lack, why = lack_of_fit(original_fit[1], q, rule, n / sizes)
    if lost:
        lost.append(f"the results use {len(fitted)} of {len(fits)} synthetic datasets")
    return FitComparison(
        formula=request.formula.strip(),
        family=request.family,
        rule=rule,
        clusters=request.clusters,
        level=level,
        weights=request.weight,
        strata=request.strata,
        psu=request.psu,
        replicates=_in_words(request.replicates),
        offset=request.offset,
        effects=model.formula.effects,
        coefficients=compare_coefficients(names, original_fit[1], q.mean(axis=0), expected, level),
        combined=combined,
        lack_of_fit=lack,
        datasets=(original_fit[0], *(u for u, _ in fits)),
        notes=(*lost, *_unused(original_fit[0], [u for u, _ in fits]), *([why] if why else [])),
    )


def _in_words(replicates: ReplicateWeights | None) -> str | None:
    if replicates is None:
        return None
    return f"{', '.join(replicates.columns)} ({replicates.method})"


def _unused(original_fit: FittedData, synthetic: Sequence[FittedData]) -> Iterator[str]:
    """Yield a note if many records were left out, or different shares of both sides."""
    shares = {one.dataset: one.unused for one in (original_fit, *synthetic) if one.problem is None}
    if max(shares.values()) < MUCH_UNUSED:
        return
    theirs = [share for number, share in shares.items() if number]
    yield (
        f"{original_fit.unused:.0%} of the original's and {min(theirs):.0%} to {max(theirs):.0%} "
        "of the synthetic records take no part (missing values, terms without a value, unknown "
        "levels): the fits are of the rest"
    )


def _check_enough(rule: Rule, m: int, lost: list[str]) -> None:
    few = list(rule_problems(rule, m, n=1, k=1))
    problems = few if m else ["no synthetic dataset has a fit: use a smaller model"]
    if problems:
        raise DataError([*lost, *problems])
