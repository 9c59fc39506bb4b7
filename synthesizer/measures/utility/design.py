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
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from synthesizer.data.errors import DataError, ExpressionError
from synthesizer.data.table import BoolArray, Column, FloatArray, Table
from synthesizer.measures.utility.formulas import Atom, AtomValues, Formula, Term, atom_values

Family = Literal["ols", "logit", "poisson", "multinomial"]
Part = tuple[Atom, int | None]
MAX_COLUMNS = 1_000


@dataclass(frozen=True, eq=False)
class ModelData:
    """The complete records of one table.

    Parameters
    ----------
    y : ndarray
        Response, shape (n,): numbers, 0 and 1 (logit), or codes of levels (multinomial).
    X : ndarray
        Shape (n, p), the first column is the constant unless there are fixed effects.
    rows : ndarray of bool
        Which records of the table these are.
    n_missing : int
        Records left out because a value is missing.
    n_unknown : int
        Records left out because the original lacks one of their levels.
    problems : tuple of str
        Why they have no fit: a response that is not what the family needs, or levels of the
        original that do not occur.
    """

    y: FloatArray
    X: FloatArray
    rows: BoolArray
    n_missing: int
    n_unknown: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Model:
    """What was learnt from the original: levels, reference levels and columns.

    Parameters
    ----------
    formula : Formula
        Response and terms.
    family : str
        Kind of model, which decides what the response may be.
    levels : mapping of Atom to tuple of str
        Levels of the categories, the reference first.
    columns : tuple of tuple of (Atom, int or None)
        What each column but the constant is a product of: a number, or the indicator of a level.
    """

    formula: Formula
    family: Family
    levels: Mapping[Atom, tuple[str, ...]]
    columns: tuple[tuple[Part, ...], ...]

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
            found = np.bincount(values[atom].astype(np.int64), minlength=len(levels))
            lost = [self._title((atom, int(code))) for code in np.flatnonzero(found == 0)]
            if lost:
                more = "" if len(lost) <= 5 else f" and {len(lost) - 5} more"
                yield (
                    f"no complete record has {', '.join(lost[:5])}{more}, which the original has: "
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


# The columns that one variable gives to a design: dummies, or a number and missing codes.


@dataclass(frozen=True, eq=False)
class Piece:
    """Columns of one variable of which a record has at most one: a number, or dummies.

    ``codes`` (N,) say which one, 0 is none; ``number`` (N,) is what stands there, else 1.
    """

    width: int
    codes: npt.NDArray[np.int32] | None = None
    number: FloatArray | None = None


def pieces_of(original: Column, synthetic: Column) -> Iterator[Piece]:
    """Yield the pieces of one variable: dummies, or a number and dummies of its missing codes."""
    both = (original, synthetic)
    if original.is_coded:
        labels = [column.variable.labels for column in both]
        dummies = _dummies(labels, [column.data for column in both])
    else:
        observed = np.concatenate([column.is_observed for column in both])
        data = np.concatenate([column.data for column in both]).astype(np.float64)
        yield Piece(1, number=_scaled(data, observed))
        # Code 0, an observed number, must be the reference: it is put first and always occurs.
        states = [column.missing_state() for column in both]
        labels = [("", *(f"code {code}" for code in column.variable.missing)) for column in both]
        dummies = _dummies(labels, states, reference=True)
    if dummies.width:
        yield dummies


def _dummies(
    labels: Sequence[Sequence[str]],
    codes: Sequence[npt.NDArray[Any]],
    *,
    reference: bool = False,
) -> Piece:
    """Return codes matched by label and numbered by the labels that occur."""
    union = {label: code for code, label in enumerate(dict.fromkeys((*labels[0], *labels[1])))}
    joint = [np.array([union[label] for label in own], dtype=np.intp) for own in labels]
    occurs = np.zeros(len(union), dtype=bool)
    for own, data in zip(joint, codes, strict=True):
        occurs[own[np.bincount(data, minlength=len(own)) > 0]] = True
    if reference:
        occurs[0] = True
    numbers = (np.cumsum(occurs) - 1).astype(np.int32)
    stacked = np.concatenate([numbers[own][data] for own, data in zip(joint, codes, strict=True)])
    return Piece(int(numbers[-1]), codes=stacked)


def _scaled(data: FloatArray, observed: npt.NDArray[np.bool_]) -> FloatArray:
    """Return numbers with mean 0 and deviation 1, missing ones at the mean."""
    known = data[observed]
    if not len(known):
        return np.zeros(len(data))
    spread = known.std()
    scaled = (data - known.mean()) / (spread if spread > 0 else 1.0)
    return np.where(observed, scaled, 0.0)


# The design of stacked original and synthetic records, made block by block.

# Rows whose columns are held at a time: these stay in the cache.
_BLOCK = 2_048
# Columns of a term up to which these are multiplied with their zeros (measured).
_NARROW = 8
# Products of more columns than this are too many for any model, and so for their list.
_LARGEST_PRODUCT = 2**24

_IntArray = npt.NDArray[np.int32] | npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Term:
    """The product of one piece of every variable in it; without pieces, the constant.

    ``columns`` numbers the products that are columns, from 1; all of them where it is None.
    """

    pieces: tuple[Piece, ...]
    width: int
    columns: npt.NDArray[np.int32] | None = None

    def chosen(self, kept: npt.NDArray[np.intp]) -> _Term:
        """Return the term with the columns ``kept`` only."""
        if len(kept) == self.width:
            return self
        renumbered = np.zeros(self.width + 1, dtype=np.int32)
        renumbered[kept + 1] = np.arange(1, len(kept) + 1)
        columns = renumbered if self.columns is None else renumbered[self.columns]
        return _Term(self.pieces, len(kept), columns)

    def places(self, rows: slice, first: int) -> npt.NDArray[np.int32] | int:
        """Return the column of every record where the term starts at ``first``, 0 for none."""
        codes = _joint(self.pieces, rows)
        if codes is None:
            return first
        if self.columns is not None:
            codes = self.columns[codes]
        shifted = np.arange(first - 1, first + self.width, dtype=np.int32)
        shifted[0] = 0
        return shifted[codes]


@dataclass(frozen=True, eq=False)
class Design:
    """Terms of the model for ``n_rows`` stacked records, narrow ones before wide ones.

    Of the columns of a wide term hardly any is not 0 in a record, so that products with them are
    cheaper without the zeros; those of the narrow terms are cheaper with them.
    """

    narrow: tuple[_Term, ...]
    wide: tuple[_Term, ...]
    n_rows: int

    @property
    def width(self) -> int:
        """Number of columns, with the constant."""
        return sum(term.width for term in (*self.narrow, *self.wide))

    def chosen(self, columns: npt.NDArray[np.intp]) -> Design:
        """Return the design with the chosen columns only, given in ascending order."""
        border = sum(term.width for term in self.narrow)
        narrow, wide = columns[columns < border], columns[columns >= border] - border
        return Design(_chosen(self.narrow, narrow), _chosen(self.wide, wide), self.n_rows)

    def predictor(self, rows: slice, coefficients: FloatArray) -> FloatArray:
        """Return the columns of some rows times the coefficients, shape (rows,)."""
        padded = np.concatenate([[0.0], coefficients])
        part = _Part.of((*self.narrow, *self.wide), rows)
        return np.concatenate([part.block(block) @ padded for block in _blocks(part)])

    def products(
        self, rows: slice, right: FloatArray, root: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return X'WX and X'r of some rows, shapes (width, width) and (width,).

        ``right`` (rows,) is r, ``root`` (rows,) the square roots of the weights W, else 1.
        """
        gram, moments = np.zeros((self.width, self.width)), np.zeros(self.width)
        narrow, wide = _Part.of(self.narrow, rows), _Part.of(self.wide, rows)
        k, kept = narrow.width - 1, []
        for block in _blocks(narrow):
            few, many = narrow.block(block), wide.block(block)
            moments[:k] += (few.T @ right[block])[1:]
            moments[k:] += (many.T @ right[block])[1:]
            if root is not None:
                few.data *= np.repeat(root[block], len(self.narrow))
                many.data *= np.repeat(root[block], len(self.wide))
            dense = few.toarray()
            gram[:k, :k] += (dense.T @ dense)[1:, 1:]
            gram[k:, :k] += (many.T @ dense)[1:, 1:]
            kept.append(many)
        gram[:k, k:] = gram[k:, :k].T
        # Once for all blocks, since the result may be much larger than a block.
        every = sparse.vstack(kept, format="csr")
        gram[k:, k:] = (every.T @ every).toarray()[1:, 1:]
        return gram, moments


def _chosen(terms: tuple[_Term, ...], columns: npt.NDArray[np.intp]) -> tuple[_Term, ...]:
    found, first = [], 0
    for term in terms:
        kept = columns[(columns >= first) & (columns < first + term.width)] - first
        first += term.width
        if len(kept):
            found.append(term.chosen(kept))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Part:
    """What stands in which column of some rows, shapes (rows, terms).

    Column 0 takes what has no column: it means nothing, but a place for every term spares a search.
    """

    values: FloatArray
    places: npt.NDArray[np.int32]
    width: int

    @staticmethod
    def of(terms: tuple[_Term, ...], rows: slice) -> _Part:
        shape = (rows.stop - rows.start, len(terms))
        part = _Part(np.ones(shape), np.empty(shape, np.int32), 1 + sum(t.width for t in terms))
        first = 1
        for number, term in enumerate(terms):
            part.places[:, number] = term.places(rows, first)
            factor = _number(term.pieces, rows)
            if factor is not None:
                part.values[:, number] = factor
            first += term.width
        return part

    def block(self, rows: slice) -> sparse.csr_array:
        """Return some rows as a sparse matrix."""
        values, places = self.values[rows], self.places[rows]
        starts = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
        shape = (len(values), self.width)
        return sparse.csr_array((values.reshape(-1), places.reshape(-1), starts), shape=shape)


def _blocks(part: _Part) -> Iterator[slice]:
    n = len(part.values)
    return (slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK))


_CONSTANT = _Term((), 1)


def main_effects(original: Table, synthetic: Table, names: Sequence[str]) -> Design:
    """Return the design of the original records followed by the synthetic ones.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> table = Table([Column(sex, np.array([0, 1], dtype=np.int32))])
    >>> design = main_effects(table, table, ["sex"])
    >>> design.predictor(slice(0, 4), np.array([1.0, 0.5])).tolist()
    [1.0, 1.5, 1.0, 1.5]
    """
    pieces = [piece for name in names for piece in pieces_of(original[name], synthetic[name])]
    terms = [_CONSTANT, *(_Term((piece,), piece.width) for piece in pieces)]
    return _design(terms, original.n_rows + synthetic.n_rows)


def with_interactions(
    original: Table, synthetic: Table, names: Sequence[str], *, order: int, limit: int
) -> Design | None:
    """Return the design with all products of up to ``order`` variables.

    None when it has more than ``limit`` columns, which is found out before any is made.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> names, codes = ("sex", "job"), np.array([0, 1], dtype=np.int32)
    >>> variables = [Variable(name=n, kind=Kind.CATEGORICAL, levels=("0", "1")) for n in names]
    >>> table = Table([Column(variable, codes) for variable in variables])
    >>> with_interactions(table, table, names, order=2, limit=10).width
    4
    >>> with_interactions(table, table, names, order=2, limit=3) is None
    True
    """
    each = [tuple(pieces_of(original[name], synthetic[name])) for name in names]
    n_rows, width, terms = original.n_rows + synthetic.n_rows, 1, [_CONSTANT]
    for size in range(1, order + 1):
        for variables in combinations(each, size):
            for pieces in product(*variables):
                if width + _fewest(pieces) > limit:
                    return None
                term = _crossed(pieces)
                width += term.width
                terms.append(term)
    return _design(terms, n_rows) if width <= limit else None


def _design(terms: Sequence[_Term], n_rows: int) -> Design:
    narrow = tuple(term for term in terms if term.width <= _NARROW)
    return Design(narrow, tuple(term for term in terms if term.width > _NARROW), n_rows)


def _fewest(pieces: tuple[Piece, ...]) -> int:
    """Return a width that the term is sure to reach, or one too large where it is not listed."""
    widths = math.prod(piece.width for piece in pieces)
    return widths if len(pieces) == 1 or widths > _LARGEST_PRODUCT else 0


def _crossed(pieces: tuple[Piece, ...]) -> _Term:
    codes = _joint(pieces, slice(None)) if len(pieces) > 1 else None
    if codes is None:
        return _Term(pieces, pieces[0].width if len(pieces) == 1 else 1)
    size = math.prod(piece.width for piece in pieces)
    occurs = np.bincount(codes, minlength=size + 1) > 0
    occurs[0] = False
    columns = np.where(occurs, np.cumsum(occurs), 0).astype(np.int32)
    return _Term(pieces, int(occurs.sum()), columns)


def _joint(pieces: tuple[Piece, ...], rows: slice) -> _IntArray | None:
    """Return which product of dummies a record has, 0 for none; None without any dummies."""
    joint: _IntArray | None = None
    for piece in pieces:
        if piece.codes is None:
            continue
        codes = piece.codes[rows]
        if joint is None:
            joint = codes
        else:
            both = (joint - 1).astype(np.int64) * piece.width + codes
            joint = np.where((joint > 0) & (codes > 0), both, 0)
    return joint


def _number(pieces: tuple[Piece, ...], rows: slice) -> FloatArray | None:
    """Return the product of the numbers of a term, None without any."""
    number: FloatArray | None = None
    for piece in pieces:
        if piece.number is not None:
            number = piece.number[rows] if number is None else number * piece.number[rows]
    return number
