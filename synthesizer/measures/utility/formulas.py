"""Formulas of models, ``pay ~ age + sex*region + I(age ** 2)``, and their columns.

A formula is parsed, never executed:

============  ==================================================================================
``a + b``     both; the constant is always in the model (``y ~ 1`` has nothing else)
``a:b``       their product: for categories the combinations of their levels
``a*b``       ``a + b + a:b``
``C(x)``      numbers as categories, one for each value
``I(...)``    a derived term in the expression language of `synthesizer.data.expressions`:
              numbers, conditions (1 or 0), or labels that are numbers, as in ``I(log(pay))``,
              ``I(age ** 2)``, ``I(region == 'north')``
names         as they are; in backticks if they are not plain words
``| f + g``   at the end: fixed effects, variables of many levels whose constants are fitted but
              not shown (``pay ~ age | agency + year``)
============  ==================================================================================

The columns are the same for every table. Categories have treatment coding: a column for each level
that occurs in the complete records of the original, except the first, which is the reference. A
category that multiplies only numbers that are not terms themselves (``f + x:f`` without ``x``) has
a column for every level. Records with a missing value of a variable in the formula are left out,
and so are those with a level that the original lacks; both are counted. Fixed effects replace the
constant, which then is not a column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from synthesizer.data.errors import DataError, ExpressionError, Problems, did_you_mean, listed
from synthesizer.data.expression_values import FUNCTIONS
from synthesizer.data.expressions import Expression, quote_name
from synthesizer.data.table import BoolArray, Column, FloatArray, Kind, Table, Variable
from synthesizer.data.values import finite_number

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<call>[^\W\d]\w*\s*\()
    | (?P<name>[^\W\d]\w*(?![\w.]) | `[^`]+`)
    | (?P<number>\d+(?![\w.]))
    | (?P<operator>[~+:|]|\*(?!\*))
    | (?P<wrong>\*\*|[^\W\d][\w.]*|.)""",
    re.VERBOSE | re.DOTALL,
)
MAX_LENGTH = 5_000
MAX_STARS = 6
"""Largest number of variables joined by ``*``; more have hundreds of interactions."""
_ASKS_FOR_MISSING = re.compile(r"\bmissing\s*\(")
_SKIPPED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|[()]")
_REMEDIES = {
    "-": "name only the terms that you want; the constant stays in the model",
    "(": "parentheses are only for C(...) and I(...): write the terms out",
    ")": "parentheses are only for C(...) and I(...): write the terms out",
    "/": "write quotients in I(...)",
    "^": "write powers in I(...), such as I(age ** 2)",
    "**": "write powers in I(...), such as I(age ** 2)",
    "0": "the constant cannot be left out: remove the 0",
    "%": "write the terms out",
    "`": "close the backtick",
    "=": "write '~' between the response and the terms",
}


@dataclass(frozen=True)
class Atom:
    """A variable as it is, a variable as categories (``C``), or a derived term (``I``)."""

    kind: Literal["name", "C", "I"]
    """``name``, ``C`` or ``I``."""
    text: str
    """Name of the variable, or the expression."""

    def __str__(self) -> str:
        return self.text if self.kind == "name" else f"{self.kind}({self.text})"

    @property
    def canonical(self) -> Atom:
        """The atom with the canonical spelling of its expression."""
        if self.kind == "I":
            return Atom("I", Expression.parse(self.text).canonical)
        return self

    @property
    def spelling(self) -> str:
        """Its text in a formula, in backticks if it is not a plain word."""
        text = self.text if self.kind == "I" else quote_name(self.text)
        return text if self.kind == "name" else f"{self.kind}({text})"

    @property
    def names(self) -> tuple[str, ...]:
        """Its variables."""
        if self.kind == "I":
            return tuple(sorted(Expression.parse(self.text).names))
        return (self.text,)


@dataclass(frozen=True)
class _Token:
    """An atom, an operator or the constant ``1``."""

    value: Atom | str
    at: int


class _Reader:
    """Parser of one formula, which collects ``problems``."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.problems: list[str] = []

    def note(self, at: int, what: str) -> None:
        """Add a problem at a position, counted from 0."""
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        self.problems.append(f"formula {shown!r}, position {at + 1}: {what}")

    def tokens(self) -> Iterator[_Token]:
        """Yield the valid tokens."""
        at = 0
        while match := _TOKEN.match(self.text, at):  # None at the end only: the last takes any
            kind, text, start = match.lastgroup, match.group(), at
            at = match.end()
            if kind == "call":
                at = self._closing(at)
                yield from self._call(text[:-1].strip(), self.text[match.end() : at - 1], start)
            elif kind == "name":
                yield _Token(Atom("name", text.strip("`")), start)
            elif kind == "operator" or text == "1":
                yield _Token(text, start)
            elif kind != "space":
                self._wrong(text, start)

    def _wrong(self, text: str, at: int) -> None:
        default = "write names that are not plain words in backticks, and numbers in I(...)"
        self.note(at, f"{text!r} is not allowed; {_REMEDIES.get(text, default)}")

    def _closing(self, at: int) -> int:
        """Return the position behind the parenthesis that closes the one before ``at``."""
        depth = 1
        for match in _SKIPPED.finditer(self.text, at):
            depth += {"(": 1, ")": -1}.get(match.group(), 0)
            if depth == 0:
                return match.end()
        self.note(at - 1, "close the parenthesis")
        return len(self.text) + 1

    def _call(self, function: str, inner: str, at: int) -> Iterator[_Token]:
        inner = inner.strip()
        if function == "C":
            name = inner[1:-1] if re.fullmatch(r"`[^`]+`", inner) else inner
            if name != inner or re.fullmatch(r"[^\W\d]\w*", inner):
                yield _Token(Atom("C", name), at)
            else:
                self.note(at, "C(...) needs the name of one variable")
        elif function == "I":
            try:
                Expression.parse(inner)
                yield _Token(Atom("I", inner), at)
            except ExpressionError as error:
                for problem in error.problems:
                    self.note(at, f"in I(...): {problem}")
        elif function in FUNCTIONS:
            self.note(at, f"{function}(...) is for I(...): write I({function}({inner}))")
        else:
            known = ", ".join(FUNCTIONS)
            self.note(at, f"{function} is not a function of I(...): use {known}")

    def formula(self) -> Formula:
        tokens = list(self.tokens())
        sides = _split(tokens, "~")
        if self.problems:
            raise ExpressionError(self.problems)
        if len(sides) != 2:
            self.note(0, "write one '~' between the response and the terms, as in 'pay ~ age'")
            raise ExpressionError(self.problems)
        right = _split(sides[1], "|")
        if len(right) > 2:
            self.note(
                0, "write one '|' before all fixed effects, as in 'pay ~ age | agency + year'"
            )
        response = self._response(sides[0])
        terms = self._terms(right[0], len(self.text))
        effects = tuple(self._effects(right[1])) if len(right) > 1 else ()
        if response in {atom for term in terms for atom in term}:
            self.note(0, f"{response} is on both sides: remove it from the right one")
        self._check_effects(response, terms, effects)
        if self.problems or response is None:
            raise ExpressionError(self.problems)
        return Formula(self.text.strip(), response, tuple(terms), effects)

    def _response(self, tokens: list[_Token]) -> Atom | None:
        if len(tokens) == 1 and isinstance(tokens[0].value, Atom):
            return tokens[0].value
        self.note(0, "write one variable, C(...) or I(...) before '~'")
        return None

    def _terms(self, tokens: list[_Token], end: int) -> list[Term]:
        terms: dict[frozenset[Atom], Term] = {}
        for summand in _split(tokens, "+"):
            if [token.value for token in summand] == ["1"]:
                continue
            for term in self._product(summand, summand[0].at if summand else end - 1):
                terms.setdefault(frozenset(term), term)
        return sorted(terms.values(), key=len)

    def _effects(self, tokens: list[_Token]) -> Iterator[str]:
        """Yield the variables behind '|', each once; ``C(x)`` is the same as ``x``."""
        seen = set()
        for summand in _split(tokens, "+"):
            atom = summand[0].value if len(summand) == 1 else None
            if not isinstance(atom, Atom) or atom.kind == "I":
                where = summand[0].at if summand else len(self.text) - 1
                self.note(where, "write names of variables after '|', joined by '+'")
            elif atom.text not in seen:
                seen.add(atom.text)
                yield atom.text

    def _check_effects(
        self, response: Atom | None, terms: list[Term], effects: tuple[str, ...]
    ) -> None:
        if effects and not terms:
            self.note(
                0, "a model with fixed effects needs a term before '|', as in 'pay ~ age | f'"
            )
        alone = [a for a in (response, *(t[0] for t in terms if len(t) == 1)) if a]
        for a in alone:
            if a.kind != "I" and a.text in effects:
                self.note(0, f"{a} is also a fixed effect: remove it from one of the two")

    def _product(self, tokens: list[_Token], at: int) -> list[Term]:
        """Return the terms of a summand: all products of the factors of ``*``."""
        joined = [self._interaction(group, at) for group in _split(tokens, "*")]
        if len(joined) > MAX_STARS:
            self.note(at, f"more than {MAX_STARS} are joined by '*': write the terms out")
            return []
        sizes = range(1, len(joined) + 1)
        chosen = (choice for size in sizes for choice in combinations(joined, size))
        return [tuple(dict.fromkeys(a for group in crossed for a in group)) for crossed in chosen]

    def _interaction(self, tokens: list[_Token], at: int) -> Term:
        groups = _split(tokens, ":")
        atoms = [group[0].value for group in groups if len(group) == 1]
        if len(atoms) < len(groups) or not all(isinstance(atom, Atom) for atom in atoms):
            where = tokens[0].at if tokens else at
            self.note(where, "a term is missing or not joined: put '+', ':' or '*' between two")
            return ()
        return tuple(atom for atom in atoms if isinstance(atom, Atom))


def _split(tokens: list[_Token], sign: str) -> list[list[_Token]]:
    """Return the tokens between the signs."""
    parts: list[list[_Token]] = [[]]
    for token in tokens:
        if token.value == sign:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


Term = tuple[Atom, ...]


@dataclass(frozen=True)
class Formula:
    """A response and the terms of its model, main effects first; the constant is not listed.

    Examples
    --------
    >>> formula = parse_formula("pay ~ age*sex + I(age ** 2) | agency + year")
    >>> [":".join(map(str, term)) for term in formula.terms]
    ['age', 'sex', 'I(age ** 2)', 'age:sex']
    >>> formula.names
    ('pay', 'age', 'sex', 'agency', 'year')
    >>> formula.effects
    ('agency', 'year')
    """

    text: str
    response: Atom
    terms: tuple[Term, ...]
    effects: tuple[str, ...] = ()

    @property
    def canonical(self) -> str:
        """Canonical text: terms, their atoms and fixed effects in order.

        Examples
        --------
        >>> parse_formula("pay~sex*age+I(age**2.0)|`year`+agency").canonical
        'pay ~ I(age ** 2) + age + sex + age:sex | agency + year'
        """
        spelt = {atom: atom.canonical.spelling for atom in self.atoms}
        terms = {tuple(sorted({spelt[atom] for atom in term})) for term in self.terms}
        ordered = sorted(terms, key=lambda term: (len(term), term))
        right = " + ".join(map(":".join, ordered)) or "1"
        effects = " + ".join(sorted(map(quote_name, self.effects)))
        return f"{spelt[self.response]} ~ {right}" + (f" | {effects}" if effects else "")

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The response and all atoms of the terms, each once."""
        in_terms = (atom for term in self.terms for atom in term)
        return tuple(dict.fromkeys((self.response, *in_terms)))

    @property
    def names(self) -> tuple[str, ...]:
        """Variables of the formula, each once."""
        return tuple(dict.fromkeys((*self.term_names, *self.effects)))

    @property
    def term_names(self) -> tuple[str, ...]:
        """Variables of the response and the terms, each once."""
        return tuple(dict.fromkeys(name for atom in self.atoms for name in atom.names))


def parse_formula(text: str) -> Formula:
    """Return a parsed formula; raises ExpressionError with all problems."""
    if not isinstance(text, str) or not text.strip():
        raise ExpressionError("the formula is empty; write for example 'pay ~ age + sex'")
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the formula is longer than {MAX_LENGTH} characters: shorten it")
    return _Reader(text).formula()


def parse_atom(text: str, what: str) -> Atom:
    """Return one variable, ``C(...)`` or ``I(...)``; ``what`` names it in messages."""
    reader = _Reader(text)
    tokens = list(reader.tokens())
    if not reader.problems and len(tokens) == 1 and isinstance(tokens[0].value, Atom):
        return tokens[0].value
    # Other messages are about formulas, so that only those on I(...) are used.
    inner = [problem.partition("in I(...): ")[2] for problem in reader.problems]
    raise ExpressionError(
        [f"{what}: {problem}" for problem in inner if problem]
        or [f"{what} ({text!r}) must be a variable or I(...), such as 'I(log(hours))'"]
    )


def unknown_names(names: Iterable[str], columns: Sequence[str]) -> Iterator[str]:
    """Yield a problem, with the nearest name, for each name that is not a column."""
    for name in dict.fromkeys(names):
        if name not in columns:
            hint = did_you_mean(name, columns, "name a column of the data")
            yield f"unknown variable {name!r}; {hint}"


@dataclass(frozen=True, eq=False)
class AtomValues:
    """The values of an atom: numbers (NaN where missing), or codes of labels (-1)."""

    data: FloatArray | npt.NDArray[np.int64]
    labels: tuple[str, ...] | None = None

    @property
    def complete(self) -> BoolArray:
        """Which records have a value, shape (n,)."""
        return np.isfinite(self.data) if self.labels is None else np.asarray(self.data >= 0)


def atom_values(atom: Atom, table: Table) -> AtomValues:
    """Return the values of an atom in a table; raises ExpressionError if it has none."""
    if atom.kind == "I":
        return AtomValues(_derived(atom.text, table))
    column = table[atom.text]
    if column.variable.kind is Kind.ID:
        raise ExpressionError("it is an identifier: use another variable")
    if column.is_coded:
        codes = np.where(column.is_observed, column.data, -1).astype(np.int64)
        return AtomValues(codes, column.variable.levels)
    numbers = np.where(column.is_observed, column.data, np.nan).astype(np.float64)
    return AtomValues(numbers) if atom.kind == "name" else _categories(numbers, column)


def _derived(text: str, table: Table) -> FloatArray:
    """Return the numbers of an expression, NaN if one of its variables is missing.

    Comparisons with missing values are False in expressions; for a model they are NaN, unless the
    expression uses ``missing(...)``.
    """
    expression = Expression.parse(text)
    number = Variable(name=text, kind=Kind.NUMERIC, missing=("",))
    column = expression.derive(table, number)
    observed = column.is_observed
    if not _ASKS_FOR_MISSING.search(text):
        for name in expression.names:
            observed = observed & table[name].is_observed
    return np.where(observed, column.data, np.nan).astype(np.float64)


def _categories(numbers: FloatArray, column: Column) -> AtomValues:
    """Return numbers or dates as codes of their distinct values."""
    finite = np.isfinite(numbers)
    # + 0.0 turns -0 into 0, so that both have the same label
    distinct, inverse = np.unique(numbers[finite] + 0.0, return_inverse=True)
    codes = np.full(len(numbers), -1, dtype=np.int64)
    codes[finite] = inverse
    if column.variable.kind is Kind.DATE:
        return AtomValues(codes, tuple(str(np.datetime64(int(day), "D")) for day in distinct))
    return AtomValues(codes, tuple(str(value).removesuffix(".0") for value in distinct.tolist()))


ModelFamily = Literal["ols", "logit", "poisson", "multinomial"]
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
    """Which records of the table are used."""
    n_missing: int
    """Records left out because a value is missing."""
    n_unknown: int
    """Records left out because the original lacks one of their levels."""
    problems: tuple[str, ...] = ()
    """Reasons why there is no fit: an unsuitable response, or levels of the original that do not
    occur."""


@dataclass(frozen=True, eq=False)
class Model:
    """A model with the levels, reference levels and columns of the original."""

    formula: Formula
    """Response and terms."""
    family: ModelFamily
    """Kind of model, which decides what the response may be."""
    levels: Mapping[Atom, tuple[str, ...]]
    """Levels of the categories, the reference first."""
    columns: tuple[tuple[Part, ...], ...]
    """Factors of each column but the constant: numbers, or indicators of levels."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of ``X``."""
        titles = tuple(":".join(map(self._title, parts)) for parts in self.columns)
        return titles if self.formula.effects else ("Intercept", *titles)

    def position(self, coefficient: str) -> int | None:
        """Return the position in ``names`` of a coefficient in any spelling; None without one."""
        if not self.formula.effects and coefficient.strip() == "Intercept":
            return 0
        first = 0 if self.formula.effects else 1
        for index, parts in enumerate(self.columns, first):
            if tuple(sorted(map(self._title, parts))) == coefficient_parts(coefficient):
                return index
        return None

    def _title(self, column: Part) -> str:
        atom, code = column
        return str(atom) if code is None else f"{atom}[{self.levels[atom][code]}]"

    @property
    def outcomes(self) -> tuple[str, ...]:
        """Levels of a categorical response, the reference first; empty for numbers."""
        return self.levels.get(self.formula.response, ())

    def build(self, table: Table, usable: BoolArray | None = None) -> ModelData:
        """Return response and columns of the complete records."""
        used_rows, rows, complete = self._used_rows(table, usable)
        if not rows.any():
            raise DataError("no record is complete: leave out variables that are mostly missing")
        response = np.asarray(used_rows[self.formula.response], dtype=np.float64)
        problems = (
            *_value_problems(response, self.family, self.outcomes, str(self.formula.response)),
            *self._lost_levels(used_rows),
        )
        n_complete, n = int(complete.sum()), int(rows.sum())
        left_out = (table.n_rows - n_complete, n_complete - n)
        return ModelData(response, self._design(used_rows, n), rows, *left_out, problems)

    def columns_of(self, table: Table) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return response and columns of the complete records, and which records these are.

        Raises no errors about the table, and treats each record independently.
        """
        used_rows, rows, _ = self._used_rows(table)
        response = np.asarray(used_rows[self.formula.response], dtype=np.float64)
        return response, self._design(used_rows, int(rows.sum())), rows

    def _used_rows(
        self, table: Table, usable: BoolArray | None = None
    ) -> tuple[dict[Atom, npt.NDArray[Any]], BoolArray, BoolArray]:
        """Return the values of the used records, which these are, and which are complete."""
        values = {atom: self._known(atom, atom_values(atom, table)) for atom in self.formula.atoms}
        complete = np.ones(table.n_rows, dtype=bool) if usable is None else usable.copy()
        for column, _ in values.values():
            complete &= column.complete
        rows = complete.copy()
        for _, familiar in values.values():
            rows &= familiar
        return {atom: column.data[rows] for atom, (column, _) in values.items()}, rows, complete

    def _known(self, atom: Atom, values: AtomValues) -> tuple[AtomValues, BoolArray]:
        """Return codes by the original's levels, and which records have such a level."""
        levels = self.levels.get(atom)
        if levels is None or values.labels is None:
            return values, np.ones(len(values.data), dtype=bool)
        index = {text: code for code, text in enumerate(levels)}
        # The last entry is for code -1.
        positions = np.array([*(index.get(text, -1) for text in values.labels), -1], dtype=np.int64)
        codes = positions[values.data.astype(np.int64)]
        # Levels that the original lacks count as observed values.
        observed = AtomValues(np.where(values.data >= 0, codes.clip(0), -1), levels)
        return observed, np.asarray((codes >= 0) | (values.data < 0))

    def _lost_levels(self, values: Mapping[Atom, npt.NDArray[Any]]) -> Iterator[str]:
        """Yield the levels of the original that do not occur."""
        for atom, levels in self.levels.items():
            if atom == self.formula.response:
                continue
            counts = np.bincount(values[atom].astype(np.int64), minlength=len(levels))
            lost = [self._title((atom, int(code))) for code in np.flatnonzero(counts == 0)]
            if lost:
                declared = f"declared={{{atom.text!r}: {{'kind': 'numeric'}}}}"
                is_number = atom.kind == "name" and None not in map(finite_number, levels)
                yield (
                    f"no complete record has {listed(lost)}, which the original has: "
                    "join levels or leave the variable out"
                    + (f"; if it is an amount: {declared}" if is_number else "")
                )

    def _design(self, values: Mapping[Atom, npt.NDArray[Any]], n: int) -> FloatArray:
        first = 0 if self.formula.effects else 1
        X = np.empty((n, first + len(self.columns)), order="F")
        X[:, :first] = 1.0
        for index, parts in enumerate(self.columns, start=first):
            X[:, index] = 1.0
            for atom, code in parts:
                X[:, index] *= values[atom] if code is None else values[atom] == code
        return X


_DEPTH = re.compile(r"`[^`]*`|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[()\[\]:]")


def coefficient_parts(text: str) -> tuple[str, ...]:
    """Return the factors of a coefficient, in order, the same for all spellings.

    Examples
    --------
    >>> coefficient_parts("sex[F] : I(age**2.0)"), coefficient_parts("`age`")
    (('I(age ** 2)', 'sex[F]'), ('age',))
    """
    depth, ends = 0, [-1]
    for match in _DEPTH.finditer(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(match.group(), 0)
        if match.group() == ":" and depth == 0:
            ends.append(match.start())
    positions = zip(ends, [*ends[1:], len(text)], strict=True)
    return tuple(sorted(_spelt_part(text[start + 1 : end].strip()) for start, end in positions))


def _spelt_part(part: str) -> str:
    """Return an atom, with its level in brackets, in canonical spelling."""
    atom, bracket, level = part.partition("[") if part.endswith("]") else (part, "", "")
    try:
        return str(parse_atom(atom.strip(), "coefficient").canonical) + bracket + level
    except ExpressionError:
        return part


def learn_model(
    formula: Formula, table: Table, family: ModelFamily, usable: BoolArray | None = None
) -> Model:
    """Return the model with the levels, references and columns of the original."""
    values, faults = {}, Problems()
    for atom in formula.atoms:
        with faults.gathered(str(atom)):
            values[atom] = atom_values(atom, table)
    faults.settle(ExpressionError)
    everyone = np.ones(table.n_rows, dtype=bool) if usable is None else usable
    complete = np.logical_and.reduce([everyone, *(value.complete for value in values.values())])
    if not complete.any():
        raise DataError(
            "no record of the original is complete: leave out variables that are mostly missing"
        )
    levels = {
        atom: tuple(value.labels[code] for code in np.unique(value.data[complete]).astype(int))
        for atom, value in values.items()
        if value.labels is not None
    }
    return model_of(formula, family, levels)


def model_of(
    formula: Formula, family: ModelFamily, levels: Mapping[Atom, tuple[str, ...]]
) -> Model:
    """Return the model with given levels of its categories, the reference first.

    Raises
    ------
    DataError
        If the response does not suit the family, or terms need other levels.
    """
    problems = Problems(_response_problems(formula.response, family, levels))
    problems += _problems(formula, levels)
    problems.settle(DataError)
    columns = tuple(column for t in formula.terms for column in _term_columns(t, formula, levels))
    return Model(formula, family, levels, columns)


def _problems(formula: Formula, levels: Mapping[Atom, tuple[str, ...]]) -> Iterator[str]:
    terms = {frozenset(term) for term in formula.terms}
    for term in formula.terms:
        for atom in term:
            rest = frozenset(term) - {atom}
            if atom in levels and rest not in terms and any(other in levels for other in rest):
                both = ":".join(map(str, term))
                yield f"{both}: write {both.replace(':', '*')}, which includes its parts"
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
    terms = {frozenset(), *(frozenset(other) for other in formula.terms)}
    choices: list[list[Part]] = []
    for atom in term:
        if atom not in levels:
            choices.append([(atom, None)])
        else:
            first = 1 if frozenset(term) - {atom} in terms else 0
            choices.append([(atom, code) for code in range(first, len(levels[atom]))])
    yield from product(*choices)


def _response_problems(
    response: Atom, family: ModelFamily, levels: Mapping[Atom, tuple[str, ...]]
) -> Iterator[str]:
    n_levels = len(levels[response]) if response in levels else None
    if family in ("ols", "poisson") and n_levels is not None:
        yield f"family '{family}' needs a numeric response: write I({response}) if it is a number"
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
    y: FloatArray, family: ModelFamily, outcomes: tuple[str, ...], response: str
) -> Iterator[str]:
    """Yield the reasons why the values do not suit the family."""
    if family == "poisson" and (y < 0).any():
        yield f"response {response} has {int((y < 0).sum())} negative values: use counts"
    elif family == "logit" and not np.isin(y, (0, 1)).all():
        yield (
            f"response {response} has other values than 0 and 1: write a condition such as I(y > 3)"
        )
    elif family == "multinomial" and (lost := len(outcomes) - len(np.unique(y))):
        yield f"response {response} lacks {lost} of the original's {len(outcomes)} levels"
    elif (y == y[0]).all():
        what = "has one value in the complete records"
        yield f"response {response} {what}: choose another response"
