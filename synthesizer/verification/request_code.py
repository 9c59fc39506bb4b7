"""Code that answers a question on the confidential file, for the person who is asked.

It is a draft in R and in Python: the researcher reads and changes it. Nothing here runs it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from synthesizer.measures.utility.formulas import Formula, parse_formula
from synthesizer.verification.public_schema import PublicSchema

MOST_LEVELS = 50
"""Levels of a variable that the code writes out."""
_QUOTED = re.compile(r"('(?:[^'\\]|\\.)*'|`[^`]*`)")
_IN_R = {
    "and": "&", "or": "|", "not ": "!", "in": "%in%", "[": "c(", "]": ")", "C(": "factor(",
    "True": "TRUE", "False": "FALSE",
}  # fmt: skip
_R_WORD = re.compile(r"\b(?:and|or|in|True|False)\b|\bnot |\bC\(|[][]")


def code_of(query: Mapping[str, Any], schema: PublicSchema) -> str:
    """Return R and Python code that computes what a question asks for.

    Examples
    --------
    >>> from synthesizer.verification.public_schema import PublicVariable
    >>> sex = PublicVariable(kind="categorical", levels=("F", "M"), reference="M")
    >>> schema = PublicSchema(variables={"sex": sex})
    >>> print(code_of({"ask": {"measure": "counts", "by": ["sex"]}}, schema))
    # R
    data <- read.csv("confidential.csv")
    print(table(data[c("sex")]))
    <BLANKLINE>
    # Python
    import pandas as pd
    data = pd.read_csv("confidential.csv")
    print(data.groupby(["sex"]).size())
    """
    return "\n".join(["# R", *_r(query, schema), "", "# Python", *_python(query, schema)])


def _r(query: Mapping[str, Any], schema: PublicSchema) -> Iterator[str]:
    ask, subset = query["ask"], query.get("subset")
    yield 'data <- read.csv("confidential.csv")'
    if subset:
        yield f"data <- subset(data, {_to_r(subset)})"
    if not query.get("formula"):
        by = f"data[c({', '.join(map(json.dumps, ask['by']))})]"
        of = f"aggregate(data[{json.dumps(ask.get('of'))}], {by}, mean)"
        yield f"print({of if ask.get('of') else f'table({by})'})"
        return
    formula, is_logit = parse_formula(query["formula"]), query.get("family") == "logit"
    for name, levels in _levels(formula, schema):
        yield f"data[[{name}]] <- factor(data[[{name}]], levels = c({levels}))"
    effects = "".join(f" + C(`{name}`)" for name in formula.effects)
    model = _to_r(formula.canonical.partition(" | ")[0] + effects)
    yield f"fit <- {'glm' if is_logit else 'lm'}({model}{', binomial' * is_logit}, data = data)"
    name = re.sub(r"\[([^]]*)\]", r"\1", ask.get("coefficient") or "")
    yield f"print(coef(summary(fit)){f'[{json.dumps(name)}, ]' if _is_plain(name) else ''})"


def _python(query: Mapping[str, Any], schema: PublicSchema) -> Iterator[str]:
    ask, subset = query["ask"], query.get("subset")
    yield "import pandas as pd"
    if query.get("formula"):
        yield "import statsmodels.formula.api as smf"
        yield "from numpy import ceil, exp, floor, log, log10, sqrt"
    yield 'data = pd.read_csv("confidential.csv")'
    if subset:
        yield f"data = data.query({json.dumps(subset)})"
    if not query.get("formula"):
        of = f"[{json.dumps(ask.get('of'))}].mean()" if ask.get("of") else ".size()"
        yield f"print(data.groupby({json.dumps(ask['by'])}){of})"
        return
    formula, is_logit = parse_formula(query["formula"]), query.get("family") == "logit"
    for name, levels in _levels(formula, schema):
        yield f"data[{name}] = pd.Categorical(data[{name}], [{levels}])"
    response, _, terms = formula.canonical.partition(" | ")[0].partition(" ~ ")
    left = f"I(1 * ({response}))" if is_logit else response
    effects = "".join(f" + C(`{name}`)" for name in formula.effects)
    model = re.sub(r"`([^`]*)`", r"Q('\1')", f"{left} ~ {terms}{effects}")
    yield f"fit = smf.{'logit' if is_logit else 'ols'}({json.dumps(model)}, data).fit()"
    name = (ask.get("coefficient") or "").replace("[", "[T.")
    chosen = f"[[{json.dumps(name)}]]" if _is_plain(name) else ""
    yield f"print(fit.params{chosen}, fit.bse{chosen})"


def _levels(formula: Formula, schema: PublicSchema) -> Iterator[tuple[str, str]]:
    """Yield variables of a formula and their levels, the reference first, as code."""
    for atom in formula.atoms:
        levels = schema.levels(atom) if atom.kind == "name" else ()
        if 0 < len(levels) <= MOST_LEVELS:
            yield json.dumps(atom.text), ", ".join(map(json.dumps, levels))


def _to_r(text: str) -> str:
    """Write an expression in R; texts and quoted names stay."""
    parts = _QUOTED.split(text)
    parts[::2] = [_R_WORD.sub(lambda word: _IN_R[word.group()], part) for part in parts[::2]]
    return "".join(parts)


def _is_plain(name: str) -> bool:
    """Whether R and Python spell a coefficient as it is."""
    return bool(re.fullmatch(r"[\w.:\[\]]+", name))
