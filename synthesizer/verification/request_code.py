"""R code that answers a question on the confidential file, for the person who is asked.

It is a draft: the researcher reads and changes it. Nothing here runs it. It reads the file as the
public schema does: missing codes are missing, other texts than levels, too, and numbers are clipped
into their ranges. Errors are clustered by person, as they are in the groups of persons.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from synthesizer.measures.utility.formulas import parse_formula
from synthesizer.verification.public_schema import PublicSchema
from synthesizer.verification.query import query_of
from synthesizer.verification.sentences import template

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
    >>> from synthesizer.verification.public_schema import PublicVariable
    >>> sex = PublicVariable(kind="categorical", levels=("F", "M"), reference="M")
    >>> schema = PublicSchema(person="id", variables={"sex": sex})
    >>> code = code_of({"ask": {"measure": "counts", "by": ["sex"]}}, schema).splitlines()
    >>> print(code[-1])
    print(table(data[c("sex")]))
    """
    asked = query_of({key: value for key, value in query.items() if value is not None})
    formula = parse_formula(asked.formula) if asked.formula else None
    atoms = formula.atoms if formula else ()
    named = {a.text: schema.levels(a) for a in atoms if a.kind == "name"}
    is_parquet = confidential.suffix.lower() in (".parquet", ".pq")
    text = _DRAFT.render(
        query=asked, formula=formula, schema=schema,
        kind="folder" if confidential.is_dir() else "parquet" if is_parquet else "csv",
        variables={name: one for name, one in schema.variables.items() if name in asked.names},
        references={name: levels[0] for name, levels in named.items() if levels},
    )  # fmt: skip
    return text.rstrip("\n")


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_DRAFT = template(
    "request_code.R.jinja",
    r=lambda text: _WORD.sub(lambda found: _IN_R.get(found[0], found[0]), text),
    r_number="{:.15g}".format,
    text=_text,
    vector=lambda texts: f"c({', '.join(map(_text, texts))})",
)
