"""R code that answers a question on the confidential file, for the person who is asked.

It is a draft: the researcher reads and changes it. Nothing here runs it. It reads the file as the
public schema does: missing codes are missing, other texts than levels, too, and numbers are clipped
into their ranges. Errors are clustered by person, as they are in the groups of persons.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import yaml

from synthesizer.measures.utility.formulas import Formula, parse_formula
from synthesizer.verification.public_schema import PublicSchema, PublicVariable
from synthesizer.verification.query import Query, query_of

_TEXT = resources.files(__package__ or "").joinpath("request_code.yaml").read_text(encoding="utf-8")
_R: Final[dict[str, str]] = yaml.safe_load(_TEXT)
_IN_R = {
    "and": "&", "or": "|", "not ": "!", "in": "%in%", "[": "c(", "]": ")", "C(": "factor(",
    "True": "TRUE", "False": "FALSE", "missing(": "is.na(", "//": "%/%", "%": "%%",
}  # fmt: skip
_WORD = re.compile(
    r"'(?:[^'\\]|\\.)*'|`[^`]*`|\b(?:and|or|in|True|False)\b|\bnot |\b(?:C|missing)\(|//|[][%]"
)
"""Quoted texts and names, which stay, and what R spells in another way."""


def code_of(
    query: Mapping[str, Any], schema: PublicSchema, confidential: Path = Path("confidential.csv")
) -> str:
    """Return R code that computes what a question asks for.

    Parameters
    ----------
    query : mapping
        A sound query as plain values.
    schema : PublicSchema
        How the file is read.
    confidential : Path
        The confidential file; nothing but its kind is used.

    Examples
    --------
    >>> sex = PublicVariable(kind="categorical", levels=("F", "M"), reference="M")
    >>> schema = PublicSchema(person="id", variables={"sex": sex})
    >>> code = code_of({"ask": {"measure": "counts", "by": ["sex"]}}, schema).splitlines()
    >>> print(code[-2])
    data[["sex"]] <- as_level(data[["sex"]], c("F", "M"))
    >>> print(code[-1])
    print(table(unique(data[c("id", "sex")])[c("sex")]))
    """
    asked = query_of({key: value for key, value in query.items() if value is not None})
    return "\n".join(_lines(asked, schema, confidential))


def _lines(query: Query, schema: PublicSchema, confidential: Path) -> Iterator[str]:
    is_parquet = confidential.suffix.lower() in (".parquet", ".pq")
    kind = "folder" if confidential.is_dir() else "parquet" if is_parquet else "csv"
    yield _R[kind].format(*map(json.dumps, (schema.file.delimiter, schema.file.encoding)))
    used = {name: one for name, one in schema.variables.items() if name in query.names}
    yield from (_R[kind] for kind in dict.fromkeys(map(_kind, used.values())))
    for name, one in used.items():
        yield f"{_column(name)} <- as_{_kind(one)}({_column(name)}, {_limits(one, schema)})"
    if query.subset:
        yield f"data <- subset(data, {_in_r(query.subset)})"
    if query.formula:
        yield from _model(query, parse_formula(query.formula), schema)
    else:
        yield from _table(query.ask, schema)


def _kind(one: PublicVariable) -> str:
    return "level" if one.is_coded else "date" if one.kind == "date" else "numeric"


def _column(name: str) -> str:
    return f"data[[{json.dumps(name, ensure_ascii=False)}]]"


def _vector(texts: Iterable[str]) -> str:
    return f"c({', '.join(json.dumps(text, ensure_ascii=False) for text in texts)})"


def _limits(one: PublicVariable, schema: PublicSchema) -> str:
    """Return the arguments by which a variable is read: levels, or range and missing codes."""
    if one.is_coded:
        return _vector(one.levels) + ", ordered = TRUE" * (one.kind == "ordered")
    codes = f"na.strings = {_vector(one.missing)}"
    if one.kind == "date":
        return f"{one.low!r}, {one.high!r}, {codes}, {json.dumps(one.date_format)}"
    marks = [one.written[key] for key in ("thousands", "prefix", "suffix") if key in one.written]
    others = f", marks = {_vector(marks)}" * bool(marks)
    others += f", dec = {json.dumps(schema.file.decimal_mark)}" * (schema.file.decimal_mark != ".")
    return f"{one.ends[0]:.15g}, {one.ends[1]:.15g}, {codes}{others}"


def _model(query: Query, formula: Formula, schema: PublicSchema) -> Iterator[str]:
    for atom in formula.atoms:
        if atom.kind == "name" and (levels := schema.levels(atom)):
            reference = json.dumps(levels[0], ensure_ascii=False)
            column = _column(atom.text)
            yield f"{column} <- relevel(factor({column}, ordered = FALSE), {reference})"
    model, person = _in_r(formula.canonical.partition(" | ")[0]), f"`{schema.person}`"
    if schema.person in formula.effects:
        effects = " + ".join(f"`{name}`" for name in formula.effects)
        yield _R["feols"].format(f"{model} | {effects}", person)
        return
    model += "".join(f" + factor(`{name}`)" for name in formula.effects)
    errors = _R["persons" if schema.person else "rows"].format(person)
    yield _R["glm" if query.family == "logit" else "lm"].format(model, errors)


def _table(ask: Any, schema: PublicSchema) -> Iterator[str]:
    """Yield a table; a cell counts every person with a row in it, where one row was asked for."""
    if (of := getattr(ask, "of", None)) is not None:
        low, high = ask.low, ask.high
        ends = [("pmax", low)] * (low is not None) + [("pmin", high)] * (high is not None)
        for function, end in ends:
            yield f"{_column(of)} <- {function}({_column(of)}, {end:.15g})"
        mean = f"aggregate(data[{_vector([of])}], data[{_vector(ask.by)}], mean, na.rm = TRUE)"
        yield f"print({mean if ask.by else f'mean({_column(of)}, na.rm = TRUE)'})"
        return
    is_person = schema.person is not None and ask.rows == 1
    rows = f"unique(data[{_vector((schema.person or '', *ask.by))}])" if is_person else "data"
    yield f"print(table({rows}[{_vector(ask.by)}]))" if ask.by else f"print(nrow({rows}))"


def _in_r(text: str) -> str:
    return _WORD.sub(lambda found: _IN_R.get(found[0], found[0]), text)
