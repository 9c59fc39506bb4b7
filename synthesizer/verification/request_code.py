"""R code that answers a question on the confidential file, for the person who is asked.

It is a draft: the researcher reads and changes it. Nothing here runs it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from synthesizer.measures.utility.formulas import parse_formula
from synthesizer.verification.public_schema import PublicSchema

_IN_R = {
    "and": "&", "or": "|", "not ": "!", "in": "%in%", "[": "c(", "]": ")", "C(": "factor(",
    "True": "TRUE", "False": "FALSE",
}  # fmt: skip
_WORD = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`|\b(?:and|or|in|True|False)\b|\bnot |\bC\(|[][]")
"""Quoted texts and names, which stay, and what R spells in another way."""


def code_of(query: Mapping[str, Any], schema: PublicSchema) -> str:
    """Return R code that computes what a question asks for.

    Examples
    --------
    >>> from synthesizer.verification.public_schema import PublicVariable
    >>> sex = PublicVariable(kind="categorical", levels=("F", "M"), reference="M")
    >>> schema = PublicSchema(variables={"sex": sex})
    >>> print(code_of({"ask": {"measure": "counts", "by": ["sex"]}}, schema))
    data <- read.csv("confidential.csv")
    print(table(data[c("sex")]))
    """
    return "\n".join(_lines(query, schema))


def _lines(query: Mapping[str, Any], schema: PublicSchema) -> Iterator[str]:
    yield 'data <- read.csv("confidential.csv")'
    if query.get("subset"):
        yield f"data <- subset(data, {_in_r(query['subset'])})"
    if query.get("formula"):
        formula = parse_formula(query["formula"])
        for atom in formula.atoms:
            if atom.kind == "name" and (levels := schema.levels(atom)):
                name = json.dumps(atom.text)
                yield f"data[[{name}]] <- relevel(factor(data[[{name}]]), {json.dumps(levels[0])})"
        effects = "".join(f" + factor(`{name}`)" for name in formula.effects)
        model = _in_r(formula.canonical.partition(" | ")[0]) + effects
        function, family = ("glm", ", binomial") if query.get("family") == "logit" else ("lm", "")
        yield f"print(coef(summary({function}({model}{family}, data = data))))"
    else:
        ask = query["ask"]
        by = f"data[c({', '.join(map(json.dumps, ask['by']))})]"
        of = f"aggregate(data[{json.dumps(ask.get('of'))}], {by}, mean)"
        yield f"print({of if ask.get('of') else f'table({by})'})"


def _in_r(text: str) -> str:
    return _WORD.sub(lambda found: _IN_R.get(found[0], found[0]), text)
