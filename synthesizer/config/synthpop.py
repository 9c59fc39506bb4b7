"""Translate arguments of synthpop and other tools into keys of this configuration.

Names that only differ are renamed; arguments of another shape are translated; arguments of
synthpop that have no counterpart get one sentence that says what to write instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from synthesizer.measures.measure_options import Labels

ALIASES: Mapping[str, str] = {
    "k": "rows",
    "minstratumsize": "min_stratum_rows",
    "n_jobs": "workers",
    "num_rows": "rows",
    "random_state": "seed",
    "structural_zeros": "forbid",
    "visit_order": "visit_sequence",
}
"""Names that users of other tools expect, for keys at the top."""

_RULES = "write rules: [{if: CONDITION, then: {VARIABLE: VALUE}}]"
_NO_IPF = "there is no log-linear model of all variables; take it out"
_NO_GROUPS = "declare the variable's kind, or give two columns and a derived one"
_SURVIVAL = "write survival: [{event: VARIABLE, time: VARIABLE}]; cart draws the time"
_ALL_COLUMNS = "only columns under drop are left out; list there what is not wanted"

UNSUPPORTED: Mapping[str, str] = {
    "catgroups": "categories are not grouped; models of many levels group them themselves",
    "ctree_mincriterion": "trees are not stopped by tests; use cart.penalty or cart.complexity",
    "denom": "there is no model of binomial counts; make the share a variable of its own",
    "drop_not_used": _ALL_COLUMNS,
    "drop_pred_only": _ALL_COLUMNS,
    "epsilon": _NO_IPF,
    "event": _SURVIVAL,
    "maxfaclevels": "levels are not limited; take it out, or set kind: id for identifiers",
    "minnumlevels": "set variables: {VARIABLE: {kind: categorical}} for numbers that are codes",
    "numtocat": f"numbers are synthesised as numbers; {_NO_GROUPS}",
    "print_flag": "progress is chosen on the command line; take it out",
    "priorn": _NO_IPF,
    "rvalues": "write rules: [{if: CONDITION, then: {variable: value}}]",
    "semicont": "trees find spikes by themselves; take it out, or list the value under missing",
    "smoothing": "rare numbers are drawn anew by default, see option safe of cart; take it out",
    "structzero": "write forbid: [CONDITION] for combinations that cannot occur",
}
"""Arguments of synthpop without a counterpart, and what to do instead."""

_UNSUPPORTED_MODELS: Mapping[str, str] = {
    "catall": _NO_IPF,
    "ipf": _NO_IPF,
    "nested": "use cart with the coarser variable as a predictor that comes earlier",
    "survctree": _SURVIVAL,
}
"""Models of synthpop without a counterpart, for keys such as ``nested.x``."""

GENETIC = "genetic"
"""What makes whole datasets, and its section: ``method: genetic`` alone takes the defaults."""

FOREIGN_KEYS = frozenset({"cont_na"})
"""Arguments of synthpop that `translate` turns into keys of a configuration."""

FOREIGN_SCHEMA: Mapping[str, Any] = {
    "cont_na": {
        "type": "object",
        "description": "map from variable to missing codes; the same as variables.NAME.missing",
    },
}


def house_name(key: object) -> str:
    """Spell a key at the top the house way: no dots and dashes, no names of other tools.

    Examples
    --------
    >>> house_name("visit.sequence"), house_name("k"), house_name("min-stratum-rows")
    ('visit_sequence', 'rows', 'min_stratum_rows')
    """
    name = str(key).replace(".", "_").replace("-", "_")
    return ALIASES.get(name, name)


def unsupported(key: object, value: object) -> str | None:
    """Return the problem of a key that only synthpop has, None for every other key.

    Examples
    --------
    >>> unsupported("rvalues", {"pay": 0})
    'rvalues: not supported; write rules: [{if: CONDITION, then: {variable: value}}]'
    >>> unsupported("rules", [])
    """
    name = house_name(key)
    if name == "rules" and isinstance(value, Mapping):
        return f"{key}: a map is not supported; {_RULES}"
    if name == "models" and isinstance(value, bool):
        return f"{key}: true or false is not supported; fitted models are kept by 'fit' or save()"
    model = str(key).partition(".")[0] if "." in str(key) else ""
    advice = UNSUPPORTED.get(name) or _UNSUPPORTED_MODELS.get(model)
    return None if advice is None else f"{key}: not supported; {advice}"


def translate(content: dict[str, Any]) -> list[str]:
    """Turn foreign arguments into keys of the configuration, in place; return the problems.

    Examples
    --------
    >>> content = {"cont_na": {"pay": -8}, "method": "cart"}
    >>> translate(content), content
    ([], {'variables': {'pay': {'missing': ['-8']}}, 'default_method': 'cart'})
    """
    problems = _missing_codes(content) + _one_method(content)
    problems += _whole_datasets(content)
    if content.get("predictor_matrix") == "auto":  # all earlier variables, as when absent
        del content["predictor_matrix"]
    return problems


def _missing_codes(content: dict[str, Any]) -> list[str]:
    by_variable = content.pop("cont_na", {})
    if not isinstance(by_variable, Mapping):
        return ["cont_na: must be a map from variable to missing codes, as {income: [-8, -9]}"]
    problems = []
    for name, value in by_variable.items():
        codes = _codes(value)
        section = _part(content, "variables", name)
        if codes is None:
            problems.append(f"cont_na.{name}: must be a missing code or a list of them")
        elif section is not None and section.get("missing") is None:
            section["missing"] = codes
        elif section is not None and set(_codes(section["missing"]) or codes) | {""} != {
            *codes,
            "",
        }:
            problems.append(f"cont_na.{name} and variables.{name}.missing disagree; keep one")
    return problems


def _codes(value: object) -> list[str] | None:
    try:
        return list(TypeAdapter(Labels).validate_python(value))
    except ValidationError:
        return None


def _whole_datasets(content: dict[str, Any]) -> list[str]:
    """Read ``genetic: true`` as the genetic synthesizer with its defaults."""
    if content.get(GENETIC) is True:
        content[GENETIC] = {}
    elif content.get(GENETIC) is False:
        del content[GENETIC]
    if content.get("default_method") != GENETIC:
        return []
    del content["default_method"]
    return ["default_method: genetic makes whole datasets, not variables; say method: genetic"]


def _one_method(content: dict[str, Any]) -> list[str]:
    """Read one name under ``method`` as the default of all variables, or of whole datasets."""
    name = content.get("method")
    if not isinstance(name, str):
        return []
    del content["method"]
    if name == GENETIC:
        content.setdefault(GENETIC, {})
        return []
    if not name:
        return ["method: '' would keep every variable as it is; name the variables under keep"]
    if "default_method" in content:
        return ["method: one name says the same as default_method, which is given too; keep one"]
    content["default_method"] = name
    return []


def _part(content: dict[str, Any], *path: Any) -> dict[str, Any] | None:
    """Return the map at ``path``, creating it if absent; None if another value is there."""
    section = content
    for key in path:
        section = section.setdefault(key, {})
        if not isinstance(section, dict):  # validating the section reports the fault
            return None
    return section
