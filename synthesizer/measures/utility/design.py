"""Columns of a model from a formula and tables of codes: the same columns for every table.

Categories have treatment coding: a column for each level that occurs in the complete records of
the original, but the first, which is the reference. A category that multiplies only numbers that
are no terms of their own (``f + x:f`` without ``x``) has a column for every level. Records with a
missing value in a variable that the formula mentions are left out, and so are those with a level
that the original does not have; both are counted. Fixed effects stand for the constant, which
then is no column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from synthesizer.data.errors import DataError, ExpressionError
from synthesizer.data.table import BoolArray, FloatArray, Table
from synthesizer.measures.utility.formulas import Atom, AtomValues, Formula, Term, atom_values

Family = Literal["ols", "logit", "poisson", "multinomial"]
Part = tuple[Atom, int | None]
MAX_COLUMNS = 1_000


@dataclass(frozen=True, eq=False)
class ModelData:
    """The complete records of one table."""

    y: FloatArray
    """Response, shape (n,): numbers, 0 and 1 (logit), or codes of levels (multinomial)."""
    X: FloatArray
    """Shape (n, p), the first column is the constant unless there are fixed effects."""
    rows: BoolArray
    """Which records of the table these are."""
    n_missing: int
    """Records left out because a value is missing."""
    n_unknown: int
    """Records left out because the original lacks one of their levels."""
    problems: tuple[str, ...] = ()
    """Why they have no fit: a response that is not what the family needs, or levels of the
    original that do not occur."""


@dataclass(frozen=True, eq=False)
class Model:
    """What was learnt from the original: levels, reference levels and columns."""

    formula: Formula
    """Response and terms."""
    family: Family
    """Kind of model, which decides what the response may be."""
    levels: Mapping[Atom, tuple[str, ...]]
    """Levels of the categories, the reference first."""
    columns: tuple[tuple[Part, ...], ...]
    """What each column but the constant is a product of: a number, or the indicator of a
    level."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of ``X``."""
        own = tuple(":".join(map(self._title, parts)) for parts in self.columns)
        return own if self.formula.effects else ("Intercept", *own)

    def _title(self, part: Part) -> str:
        atom, code = part
        return str(atom) if code is None else f"{atom}[{self.levels[atom][code]}]"

    @property
    def outcomes(self) -> tuple[str, ...]:
        """Levels of a categorical response, the reference first; empty for numbers."""
        return self.levels.get(self.formula.response, ())

    def build(self, table: Table, usable: BoolArray | None = None) -> ModelData:
        """Return response and columns of the complete records.

        Parameters
        ----------
        table : Table
            Has the variables of the formula, of the same kinds as the original.
        usable : ndarray of bool, optional
            Records to be left out, as if a value were missing, are False; shape (n,).

        Raises
        ------
        DataError
            If no record is complete.
        """
        values = {atom: self._known(atom, atom_values(atom, table)) for atom in self.formula.atoms}
        complete = np.ones(table.n_rows, dtype=bool) if usable is None else usable.copy()
        for own, _ in values.values():
            complete &= own.complete
        rows = complete.copy()
        for _, known in values.values():
            rows &= known
        if not rows.any():
            raise DataError("no record is complete: leave out variables that are mostly missing")
        kept = {atom: own.data[rows] for atom, (own, _) in values.items()}
        response = np.asarray(kept[self.formula.response], dtype=np.float64)
        problems = (
            *_value_problems(response, self.family, self.outcomes, str(self.formula.response)),
            *self._lost_levels(kept),
        )
        n_complete, n = int(complete.sum()), int(rows.sum())
        left_out = (table.n_rows - n_complete, n_complete - n)
        return ModelData(response, self._design(kept, n), rows, *left_out, problems)

    def _known(self, atom: Atom, values: AtomValues) -> tuple[AtomValues, BoolArray]:
        """Renumber codes by the original's levels; the mask is False at levels it lacks."""
        levels = self.levels.get(atom)
        if levels is None or values.labels is None:
            return values, np.ones(len(values.data), dtype=bool)
        place = {label: code for code, label in enumerate(levels)}
        # The last entry serves code -1.
        places = np.array([*(place.get(label, -1) for label in values.labels), -1], dtype=np.int64)
        codes = places[values.data.astype(np.int64)]
        # A level that the original lacks must still count as an observed value.
        observed = AtomValues(np.where(values.data >= 0, codes.clip(0), -1), levels)
        return observed, np.asarray((codes >= 0) | (values.data < 0))

    def _lost_levels(self, values: Mapping[Atom, npt.NDArray[Any]]) -> Iterator[str]:
        """Yield the levels of the original that do not occur: their columns would not vary."""
        for atom, levels in self.levels.items():
            if atom == self.formula.response:
                continue
            counts = np.bincount(values[atom].astype(np.int64), minlength=len(levels))
            lost = [self._title((atom, int(code))) for code in np.flatnonzero(counts == 0)]
            if lost:
                yield (
                    f"no complete record has {listed(lost)}, which the original has: "
                    "join levels or leave the variable out"
                )

    def _design(self, values: Mapping[Atom, npt.NDArray[Any]], n: int) -> FloatArray:
        first = 0 if self.formula.effects else 1
        X = np.empty((n, first + len(self.columns)), order="F")
        X[:, :first] = 1.0
        for place, parts in enumerate(self.columns, start=first):
            X[:, place] = 1.0
            for atom, code in parts:
                X[:, place] *= values[atom] if code is None else values[atom] == code
        return X


def listed(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are.

    Examples
    --------
    >>> listed(list("abcdefg"))
    'a, b, c, d, e and 2 more'
    """
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def learn_model(
    formula: Formula, table: Table, family: Family, usable: BoolArray | None = None
) -> Model:
    """Return what the original decides: levels, references and columns.

    Parameters
    ----------
    formula : Formula
        Response and terms.
    table : Table
        The original.
    family : str
        Kind of model.
    usable : ndarray of bool, optional
        Records that count, shape (n,); default all.

    Raises
    ------
    DataError
        With every problem of the formula's variables in this table.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> from synthesizer.measures.utility.formulas import parse_formula
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC)
    >>> table = Table([Column(sex, np.array([0, 1, 1], dtype=np.int32)),
    ...                Column(pay, np.array([1.0, 2.0, np.nan]))])
    >>> model = learn_model(parse_formula("pay ~ sex"), table, "ols")
    >>> model.names, model.build(table).X.tolist(), model.build(table).n_missing
    (('Intercept', 'sex[m]'), [[1.0, 0.0], [1.0, 1.0]], 1)
    """
    values, problems = {}, []
    for atom in formula.atoms:
        try:
            values[atom] = atom_values(atom, table)
        except ExpressionError as error:
            problems += [f"{atom}: {problem}" for problem in error.problems]
    if problems:
        raise ExpressionError(problems)
    everyone = np.ones(table.n_rows, dtype=bool) if usable is None else usable
    complete = np.logical_and.reduce([everyone, *(own.complete for own in values.values())])
    if not complete.any():
        raise DataError(
            "no record of the original is complete: leave out variables that are mostly missing"
        )
    levels = {
        atom: tuple(own.labels[code] for code in np.unique(own.data[complete]).astype(int))
        for atom, own in values.items()
        if own.labels is not None
    }
    problems = [*_response_problems(formula.response, family, levels), *_problems(formula, levels)]
    if problems:
        raise DataError(problems)
    columns = tuple(part for term in formula.terms for part in _term_columns(term, formula, levels))
    return Model(formula, family, levels, columns)


def _problems(formula: Formula, levels: Mapping[Atom, tuple[str, ...]]) -> Iterator[str]:
    terms = {frozenset(term) for term in formula.terms}
    for term in formula.terms:
        for atom in term:
            rest = frozenset(term) - {atom}
            if atom in levels and rest not in terms and any(other in levels for other in rest):
                both = ":".join(map(str, term))
                yield f"{both}: write {both.replace(':', '*')}, which also holds its parts"
                break
    for atom in dict.fromkeys(atom for term in formula.terms for atom in term):
        if len(levels.get(atom, "ab")) < 2:
            yield f"{atom} has one value in the complete records of the original: leave it out"
    width = 1 + sum(math.prod(len(levels.get(a, "a")) for a in term) for term in formula.terms)
    if width > MAX_COLUMNS:
        yield (
            f"the model has about {width} columns, more than {MAX_COLUMNS}: leave out variables "
            "with many levels or join levels"
        )


def _term_columns(
    term: Term, formula: Formula, levels: Mapping[Atom, tuple[str, ...]]
) -> Iterator[tuple[Part, ...]]:
    terms = {frozenset(), *(frozenset(own) for own in formula.terms)}
    choices: list[list[Part]] = []
    for atom in term:
        if atom not in levels:
            choices.append([(atom, None)])
        else:
            first = 1 if frozenset(term) - {atom} in terms else 0
            choices.append([(atom, code) for code in range(first, len(levels[atom]))])
    yield from product(*choices)


def _response_problems(
    response: Atom, family: Family, levels: Mapping[Atom, tuple[str, ...]]
) -> Iterator[str]:
    n_levels = len(levels[response]) if response in levels else None
    if family in ("ols", "poisson") and n_levels is not None:
        yield f"family '{family}' needs a number as response: write I({response}) if it is one"
    if family in ("logit", "multinomial") and n_levels == 1:
        yield (
            f"response {response} has one value in the complete records of the original: choose "
            "another response"
        )
    elif family == "logit" and n_levels not in (None, 2):
        yield (
            f"family 'logit' needs a response with two values, {response} has {n_levels}: "
            "write a condition such as I(y == 'yes')"
        )
    if family == "multinomial" and n_levels is None:
        yield f"family 'multinomial' needs categories as response: write C({response})"


def _value_problems(
    y: FloatArray, family: Family, outcomes: tuple[str, ...], response: str
) -> Iterator[str]:
    """Yield why the values are not what the family needs."""
    if family == "poisson" and (y < 0).any():
        yield f"response {response} has {int((y < 0).sum())} negative values: counts are needed"
    elif family == "logit" and not np.isin(y, (0, 1)).all():
        yield (
            f"response {response} has other values than 0 and 1: write a condition such as I(y > 3)"
        )
    elif family == "multinomial" and (lost := len(outcomes) - len(np.unique(y))):
        yield f"response {response} lacks {lost} of the original's {len(outcomes)} levels"
    elif (y == y[0]).all():
        what = "has one value in the complete records, so there is nothing to explain"
        yield f"response {response} {what}: choose another response"
