"""The manifest of a run, read by an allow list: what may be told becomes `Facts`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from synthesizer.data.schema import Kind
from synthesizer.release.facts import Evolution, Facts, PathFacts, StepFacts, VariableFacts
from synthesizer.report.trees import trees_of

__all__ = ["facts_of"]

PACKAGES = ("synthesizer", "joblib", "numpy", "pandas", "pyarrow", "scipy", "scikit-learn")
OPTIONS = (
    "min_leaf", "minbucket", "max_depth", "maxdepth", "complexity", "cp", "penalty", "shrinkage",
    "prior", "even", "tilt", "smoothing", "proper", "n_trees", "ntree", "max_features", "ridge",
    "max_categories", "min_frequency", "max_fit_rows", "tolerance", "clip", "shift", "neighbours",
    "donors", "draw_parameters",
)  # fmt: skip
"""Options of the package's own models; those of other packages may hold anything."""
VERSION = re.compile(r"[0-9][0-9A-Za-z.+!-]{0,40}")
ENCODING = re.compile(r"[A-Za-z0-9][\w.-]{0,40}")
PERIOD = "period"
"""What conditions call time in the wide form, where no column holds it."""
MODEL = re.compile(r"\w[\w.-]{0,60}")
STARTS = ("mutants", "chain", "files")
"""What datasets are evolved from; anything else is taken for files, of which nothing is known."""


def facts_of(manifest: Mapping[str, Any]) -> Facts:
    """Take from a manifest what may be told; what is missing or malformed is left out.

    Examples
    --------
    >>> step = {"variable": "age", "kind": "numeric", "model": "cart", "predictors": ["sex"]}
    >>> facts = facts_of({"chain": [step], "seed": 7, "notes": ["2 rows ..."]})
    >>> facts.steps[0].model, facts.variables["age"].kind.value
    ('cart', 'numeric')
    """
    config = _mapping(manifest.get("config"))
    data = _mapping(config.get("data"))
    steps = [_mapping(step) for step in _list(manifest.get("chain"))]
    chain = list(_by_column([step for step in steps if _text(step.get("variable"))]))
    panel = _mapping(manifest.get("panel"))
    wide = _wide(steps)
    rows = panel.get("persons") or _mapping(manifest.get("data")).get("rows")
    delimiter, encoding = _text(data.get("delimiter")), _text(data.get("encoding"))
    evolution = _evolution(manifest.get("genetic"), _mapping(config.get("genetic")))
    return Facts(
        steps=tuple(_step(step, config) for step in chain),
        variables=_variables(chain, _list(manifest.get("variables")), config),
        strata=_texts(config.get("strata")),
        rules=tuple(_rules(config)),
        forbid=_texts(config.get("forbid")),
        support=tuple(_texts(names) for names in _list(config.get("support"))),
        paths=tuple(_paths(_mapping(config.get("panel")))),
        proper=config.get("proper") is True,
        model_options={
            str(model): _options(given) for model, given in _mapping(config.get("models")).items()
        },
        packages=_packages(_mapping(manifest.get("packages"))),
        delimiter=delimiter if len(delimiter) == 1 else None,
        encoding=encoding if ENCODING.fullmatch(encoding) else None,
        original_rows=rows if type(rows) is int else None,
        person=_text(panel.get("person")),
        time=_text(panel.get("time")) or (PERIOD if wide else ""),
        career=_text(panel.get("career")),
        wide=wide,
        evolution=evolution,
    )


def _evolution(told: object, settings: Mapping[str, Any]) -> Evolution | None:
    """Return how datasets were evolved; of its settings only whether a move was made at all.

    A setting that is absent has its default, and by default every move is made.
    """
    if told is None:
        return None
    start = _mapping(told).get("start")
    return Evolution(
        start=start if start in STARTS else "files",
        swapped=settings.get("crossover") != 0,
        redrawn=settings.get("mutation") != 0,
        replaced=settings.get("aimed") != 0,
    )


def _wide(chain: list[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return the columns of each variable over time."""
    return {
        str(step["variable"]): _texts(step["columns"])
        for step in chain
        if _text(step.get("variable")) and _texts(step.get("columns"))
    }


def _by_column(chain: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the steps by column: one for each where several columns hold one variable over time.

    The columns of such a variable were made one after the other.
    """
    owned = _wide(chain)
    for step in chain:
        variable = str(step["variable"])
        given = [c for p in _texts(step.get("predictors")) for c in owned.get(p, (p,))]
        columns = owned.get(variable, (variable,))
        for place, column in enumerate(columns):
            own = {"variable": column, "predictors": [*given, *columns[:place]]}
            yield {**step, **own, "of": variable}


def _step(step: Mapping[str, Any], config: Mapping[str, Any]) -> StepFacts:
    model = _model(step.get("model"))
    return StepFacts(
        variable=str(step["variable"]),
        model=model or "unknown",
        missing_model=_model(step.get("model_of_missing_codes")),
        predictors=_texts(step.get("predictors")),
        kept=model == "keep" or step.get("kept") is True,
        bases=tuple(_model(base) or "unknown" for base in _list(step.get("base"))),
        trees=None if model == "keep" else trees_of(step, config),
        of=_text(step.get("of")),
    )


def _model(name: object) -> str | None:
    return name if isinstance(name, str) and MODEL.fullmatch(name) else None


def _variables(
    chain: list[Mapping[str, Any]], schema: list[Any], config: Mapping[str, Any]
) -> dict[str, VariableFacts]:
    """Return what is known of every variable that the manifest names."""
    entries = {_text(entry.get("name")): entry for entry in map(_mapping, schema)}
    kinds = {name: entry.get("kind") for name, entry in entries.items()}
    kinds |= {_text(step.get("variable")): step.get("kind") for step in chain}
    said = _mapping(config.get("variables"))
    owner = {_text(step.get("variable")): _text(step.get("of")) for step in chain}
    methods = _mapping(config.get("method"))
    return {
        name: _variable(
            Kind(kind),
            _mapping(entries.get(name)),
            {**_mapping(said.get(owner.get(name, ""))), **_mapping(said.get(name))},
            methods.get(name),
        )
        for name, kind in kinds.items()
        if name and kind in list(Kind)
    }


def _variable(
    kind: Kind, entry: Mapping[str, Any], said: Mapping[str, Any], method: object
) -> VariableFacts:
    missing = _texts(said.get("missing"))
    known = "missing" in entry or "missing" in said
    form = entry.get("date_format") or said.get("date_format")
    return VariableFacts(
        kind=kind,
        codes=tuple(dict.fromkeys([*missing, *_texts(entry.get("missing"))])) if known else None,
        missing=missing,
        levels=_texts(said.get("levels")),
        date_format=_text(form) or None,
        label=_text(said.get("label")),
        unit=_text(said.get("unit")),
        level_labels={
            str(level): text
            for level, text in _mapping(said.get("level_labels")).items()
            if isinstance(text, str)
        },
        expression=_expression(said.get("derived"), said.get("method"), method),
        options=_nested_options(said.get("options")),
    )


def _expression(derived: object, *methods: object) -> str:
    if isinstance(derived, str):
        return derived.strip()
    found = (m.removeprefix("~").strip() for m in methods if isinstance(m, str) and m[:1] == "~")
    return next(found, "")


def _rules(config: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, str]]]:
    for rule in map(_mapping, _list(config.get("rules"))):
        condition, then = rule.get("if"), _mapping(rule.get("then"))
        if isinstance(condition, str) and then:
            yield condition, {str(name): str(value) for name, value in then.items()}


def _paths(panel: Mapping[str, Any]) -> Iterator[PathFacts]:
    for rule in map(_mapping, _list(panel.get("rules"))):
        pairs = [_texts(pair) for pair in _list(rule.get("never"))]
        yield PathFacts(
            variable=_text(rule.get("variable")),
            absorbing=_texts(rule.get("absorbing")),
            never=tuple((pair[0], pair[1]) for pair in pairs if len(pair) == 2),
            non_decreasing=rule.get("non_decreasing") is True,
        )


def _options(given: object) -> dict[str, Any]:
    """Return options that are known, with plain values: no text but the names of smoothings."""
    return {
        name: value
        for name, value in _mapping(given).items()
        if name in OPTIONS
        and (isinstance(value, bool | int | float) or value in ("none", "density"))
    }


def _nested_options(given: object) -> dict[str, Any]:
    """Return the options of a model and of those that it wraps."""
    found = _options(given)
    base = _mapping(given).get("base")
    return found | _nested_options(base) if isinstance(base, Mapping) else found


def _packages(given: Mapping[str, Any]) -> dict[str, str]:
    found = {name: given.get(name) for name in PACKAGES}
    return {n: v for n, v in found.items() if isinstance(v, str) and VERSION.fullmatch(v)}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in _list(value) if isinstance(item, str))
