"""A query: a researcher's question about the confidential data, with the limit of its cost.

A query is frozen and strict: unknown keys, texts in place of numbers, NaN and infinity are refused.
It has one canonical form for all spellings (spaces, order of terms, numbers, written defaults). The
ledger identifies questions by the digest of this form: asking again in any spelling returns the
same answer, free of charge. No part of a query is executed as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from synthesizer.data.errors import ExpressionError, Problems, did_you_mean
from synthesizer.data.expressions import Expression, quote_name
from synthesizer.data.table import Kind, Schema, Variable
from synthesizer.extensions.verification.claims import Claim
from synthesizer.extensions.verification.coefficient_questions import (
    Interval,
    Significance,
    Tolerance,
    Trend,
)
from synthesizer.extensions.verification.messages import WORDS
from synthesizer.extensions.verification.prediction_questions import (
    Accuracy,
    Residuals,
    RocQuestion,
)
from synthesizer.extensions.verification.public_schema import (
    PublicSchema,
    digest_of,
    strictly,
)
from synthesizer.extensions.verification.questions import Question, Terms
from synthesizer.extensions.verification.table_questions import CountQuestion, MeanQuestion
from synthesizer.measures.utility.formulas import MAX_LENGTH, Formula, parse_formula

MAX_SIGNS = 200
"""Limit of signs in a formula, such as + and (: more would be slow to parse."""
NO_FORMULA = "formula: is needed: the response, ~, and terms joined by +"
_SIGN = re.compile(r"[^\w\s.`]")
_MAX_HINTS = 1
"""Unknown names with a search for a similar one, which is slow."""


class Query(Terms):
    """A question about the confidential data."""

    ask: Annotated[
        Claim
        | Interval
        | Tolerance
        | Trend
        | Significance
        | CountQuestion
        | MeanQuestion
        | RocQuestion
        | Residuals
        | Accuracy,
        Field(discriminator="measure"),
    ]
    """The kind of question, with its parameters."""
    schema_digest: str | None = Field(default=None, alias="schema")
    """Digest of the public schema; if absent that of the given one."""
    synthetic_digest: str | None = Field(default=None, alias="synthetic")
    """SHA-256 of the synthetic file; if absent that of the given one."""

    @field_validator("formula")
    @classmethod
    def _spelt_formula(cls, text: str | None) -> str | None:
        return None if text is None else _canonical(lambda: _spelt_formula(text))

    @field_validator("subset")
    @classmethod
    def _spelt_subset(cls, text: str | None) -> str | None:
        return None if text is None else _canonical(lambda: _spelt_subset(text))

    @field_validator("ask")
    @classmethod
    def _spelt_ask(cls, ask: Question) -> Question:
        return ask.canonical()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        measure = self.ask.measure
        if self.ask.asks_of_model and self.formula is None:
            raise ValueError(NO_FORMULA)
        if not self.ask.asks_of_model and self.formula is not None:
            raise ValueError(f"formula: {measure} is about no model; remove the formula")
        if not self.ask.asks_of_model and self.family != "linear":
            raise ValueError(f"family: {measure} is about no model; remove the family")
        if self.errors == "report" and not self.ask.reports_errors:
            raise ValueError(f"errors: {measure} has no category of errors; remove 'report'")
        return self

    def bound(self, schema: PublicSchema, synthetic: str) -> Query:
        """Return the query with the digests of the public schema and of the synthetic file."""
        digests = {"schema_digest": schema.digest, "synthetic_digest": synthetic}
        return self.model_copy(update=digests)

    def content(self) -> dict[str, Any]:
        """Return the canonical form as plain values, with every default."""
        return self.model_dump(mode="json", by_alias=True)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical form, the same for all spellings."""
        return digest_of(self.content())

    def problems(self, schema: PublicSchema, synthetic: str | None = None) -> list[str]:
        """Return all problems that are visible without data, with key and remedy."""
        problems = Problems()
        for key, wanted, there in (
            ("schema", self.schema_digest, schema.digest),
            ("synthetic", self.synthetic_digest, synthetic),
        ):
            if None not in (wanted, there) and wanted != there:
                problems.append(WORDS["wrong"]["digest"].format(key, there))
        problems += text_problems(self.formula, self.subset, schema)
        problems += _unknown("ask", self.ask.names, schema)
        if self.formula is not None:
            problems += self._outcome_problems(schema)
        if self.formula is not None and not problems:
            problems.attempt(self.model, schema, where="formula")
        if not problems:
            problems += self.ask.problems(self, schema)
        return problems

    def _outcome_problems(self, schema: PublicSchema) -> Iterator[str]:
        """Yield a problem if the response does not suit the family, by the public schema."""
        response = parse_formula(self.formula or "").response
        if not {*response.names} <= {*schema.variables}:
            return
        levels, variable = schema.levels(response), schema.variables.get(response.text)
        if levels and (self.family == "linear" or len(levels) != 2):
            level = repr(levels[-1]) if variable and variable.is_coded else levels[-1]
            condition = f"I({quote_name(response.text)} == {level})"
            yield f"formula: the response {response} has levels; write a condition: {condition}"
        elif self.family == "linear" or levels or variable is None or response.kind != "name":
            return
        elif not (variable.whole and variable.ends == (0, 1)):
            yield WORDS["wrong"]["logit"].format(response, response.spelling)


def text_problems(formula: str | None, subset: str | None, schema: PublicSchema) -> Iterator[str]:
    """Yield the parts of formula and subset that the public schema does not have."""
    if formula is not None:
        read = parse_formula(formula)
        effects = frozenset(read.effects) - {schema.person}  # persons may have constants
        yield from _unknown("formula", effects | frozenset(read.term_names), schema)
        yield from (f"formula: {problem}" for problem in _formula_problems(read, schema))
    if subset is not None:
        condition = Expression.parse(subset)
        if unknown := list(_unknown("subset", condition.names, schema)):
            yield from unknown
        else:
            problems = condition.problems(schema.table_schema, condition=True)
            yield from (f"subset: {problem}" for problem in problems)


def _unknown(key: str, names: frozenset[str], schema: PublicSchema) -> Iterator[str]:
    for number, name in enumerate(sorted(names - {*schema.variables})):
        known = schema.variables if number < _MAX_HINTS else ()
        is_level = any(name in variable.levels for variable in schema.variables.values())
        other = f"write a level in quotes: {name!r}" if is_level else "name one of its variables"
        hint = did_you_mean(name, known, other)
        yield f"{key}: {name!r} is not in the public schema; {hint}"


def _canonical(spell: Callable[[], str]) -> str:
    """Return the canonical spelling of a text; pydantic needs a ValueError."""
    try:
        return spell()
    except ExpressionError as error:
        raise ValueError("; ".join(error.problems)) from None


def _spelt_formula(text: str) -> str:
    """Return the canonical spelling of a formula; too long ones are refused."""
    if len(_SIGN.findall(text)) > MAX_SIGNS:
        raise ExpressionError(f"more than {MAX_SIGNS} signs such as + and (: name fewer terms")
    spelt = parse_formula(text.strip()).canonical
    if len(spelt) > MAX_LENGTH:
        raise ExpressionError(f"more than {MAX_LENGTH} characters without *: name fewer terms")
    return spelt


def _spelt_subset(text: str) -> str:
    return Expression.parse(text.strip()).canonical


def _formula_problems(formula: Formula, schema: PublicSchema) -> Iterator[str]:
    """Yield which parts of a formula cannot be computed from the public schema."""
    names = {*formula.term_names}
    known = Schema(tuple(v for v in schema.table_schema if v.name in names))
    for atom in (one for one in formula.atoms if {*one.names} <= {*schema.variables}):
        if atom.kind == "I":
            number = Variable(name=atom.text, kind=Kind.NUMERIC, missing=("",))
            problems = Expression.parse(atom.text).problems(known, condition=False, target=number)
            yield from (f"{atom}: {problem}" for problem in problems)
        elif not schema.levels(atom) and (atom.kind == "C" or schema.variables[atom.text].is_coded):
            yield WORDS["wrong"]["no_levels_in_formula"].format(atom)


def query_of(content: Mapping[str, Any], *, origin: str = "") -> Query:
    """Return plain values, as in YAML and JSON, as a query.

    Raises
    ------
    ConfigError
        With every unknown key and wrong value.
    """
    return strictly(Query, content, origin=origin)


def problems_of_unsound(content: Mapping[str, Any], schema: PublicSchema) -> list[str]:
    """Return the problems of formula and subset in plain values that are no valid query."""
    formula, subset = (_read_or_none(content.get(key), key) for key in ("formula", "subset"))
    return [*text_problems(formula, subset, schema)]


def _read_or_none(text: Any, key: str) -> str | None:
    """Return a text that can be read, or None; faults of form are reported elsewhere."""
    if not isinstance(text, str):
        return None
    with suppress(ExpressionError):
        return _spelt_formula(text) if key == "formula" else _spelt_subset(text)
    return None
