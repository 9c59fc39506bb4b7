"""What the manifest of a run may tell the researchers who get its datasets.

This is an allow list: everything else in a manifest stays unread, above all the seed, the notes,
the times, the hashes and what it says of the confidential file. Whatever is written for release is
made from these facts and from the synthetic datasets themselves.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from synthesizer.data.schema import Kind

__all__ = ["Facts", "StepFacts", "VariableFacts", "facts_of"]

PACKAGES = ("synthesizer", "joblib", "numpy", "pandas", "pyarrow", "scipy", "scikit-learn")
OPTIONS = (
    "min_leaf", "minbucket", "max_depth", "maxdepth", "complexity", "cp", "penalty", "shrinkage",
    "prior", "even", "smoothing", "proper", "n_trees", "ntree", "max_features", "ridge",
    "max_categories", "min_frequency", "max_fit_rows", "tolerance", "clip", "shift", "neighbours",
    "donors", "draw_parameters",
)  # fmt: skip
"""Options of the package's own models; those of other packages may hold anything."""
TREES = ("cart", "forest", "bagging")
"""Models of the package whose draws may be even."""
VERSION = re.compile(r"[0-9][0-9A-Za-z.+!-]{0,40}")
ENCODING = re.compile(r"[A-Za-z0-9][\w.-]{0,40}")
MODEL = re.compile(r"\w[\w.-]{0,60}")


@dataclass(frozen=True, kw_only=True)
class StepFacts:
    """How one variable was made: names only.

    Parameters
    ----------
    variable, model : str
        What was drawn, and by which model.
    missing_model : str or None
        The model of the missing codes, where it is another one.
    predictors : tuple of str
        Earlier variables that the model was given.
    kept : bool
        Whether the values are the confidential ones.
    """

    variable: str
    model: str
    missing_model: str | None
    predictors: tuple[str, ...]
    kept: bool


@dataclass(frozen=True, kw_only=True)
class VariableFacts:
    """What is needed to read a variable back, and what the steward wrote about it.

    Parameters
    ----------
    kind : Kind
        Of the chain; identifiers take no part in it.
    codes : tuple of str or None
        Missing codes to look for; they are named only where they occur. None: not known.
    missing : tuple of str
        Missing codes that the configuration lists.
    levels : tuple of str
        Levels that the configuration lists.
    date_format : str or None
        Format of dates.
    label, unit : str
        From the configuration; empty where it has none.
    level_labels : mapping of str to str
        What levels and missing codes mean, from the configuration.
    expression : str
        Of a derived variable, from the configuration.
    options : mapping
        Options that the configuration gives the variable's model.
    """

    kind: Kind
    codes: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    date_format: str | None = None
    label: str = ""
    unit: str = ""
    level_labels: Mapping[str, str] = field(default_factory=dict)
    expression: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that is taken from a manifest.

    ``original_rows`` is for one question only, see `rows_if_equal`. ``delimiter`` and ``encoding``
    are needed to read CSV files of the source's layout. ``person`` and ``time`` are columns of a
    panel, ``career`` the variable of its careers.
    """

    steps: tuple[StepFacts, ...]
    variables: Mapping[str, VariableFacts]
    strata: tuple[str, ...]
    rules: tuple[tuple[str, Mapping[str, str]], ...]
    forbid: tuple[str, ...]
    proper: bool
    model_options: Mapping[str, Mapping[str, Any]]
    packages: Mapping[str, str]
    delimiter: str | None
    encoding: str | None
    original_rows: int | None
    person: str = ""
    time: str = ""
    career: str = ""

    def trees(self) -> dict[str, bool]:
        """Return the variables that trees drew, and whether the draws were even (the default).

        Examples
        --------
        >>> step = {"variable": "age", "kind": "numeric", "model": "cart"}
        >>> facts_of({"chain": [step]}).trees()
        {'age': True}
        >>> options = {"models": {"cart": {"even": False}}}
        >>> facts_of({"chain": [step], "config": options}).trees()
        {'age': False}
        """
        found = {}
        for step in self.steps:
            if step.model in TREES and not step.kept:
                own = (
                    self.variables[step.variable].options if step.variable in self.variables else {}
                )
                options = {**self.model_options.get(step.model, {}), **own}
                found[step.variable] = options.get("even") is not False
        return found

    def rows_if_equal(self, rows: int) -> int | None:
        """Return the number of confidential rows if it is the public one, ``rows``."""
        return rows if self.original_rows == rows else None

    def only(self, names: Collection[str]) -> Facts:
        """Return the facts on released variables, whatever else the manifest names."""
        return replace(
            self,
            steps=tuple(
                replace(step, predictors=tuple(p for p in step.predictors if p in names))
                for step in self.steps
                if step.variable in names
            ),
            variables={name: known for name, known in self.variables.items() if name in names},
            strata=tuple(name for name in self.strata if name in names),
        )


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
    rows = _mapping(manifest.get("data")).get("rows")
    delimiter, encoding = _text(data.get("delimiter")), _text(data.get("encoding"))
    return Facts(
        steps=tuple(_step(step) for step in chain),
        variables=_variables(chain, _list(manifest.get("variables")), config),
        strata=_texts(config.get("strata")),
        rules=tuple(_rules(config)),
        forbid=_texts(config.get("forbid")),
        proper=config.get("proper") is True,
        model_options={
            str(model): _options(given) for model, given in _mapping(config.get("models")).items()
        },
        packages=_packages(_mapping(manifest.get("packages"))),
        delimiter=delimiter if len(delimiter) == 1 else None,
        encoding=encoding if ENCODING.fullmatch(encoding) else None,
        original_rows=rows if type(rows) is int else None,
        person=_text(panel.get("person")),
        time=_text(panel.get("time")),
        career=_text(panel.get("career")),
    )


def _by_column(chain: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the steps by column: one for each where several columns hold one variable over time.

    The columns of such a variable were made one after the other.
    """
    owned = {str(s["variable"]): _texts(s["columns"]) for s in chain if "columns" in s}
    for step in chain:
        variable = str(step["variable"])
        given = [c for p in _texts(step.get("predictors")) for c in owned.get(p, (p,))]
        columns = owned.get(variable, (variable,))
        for place, column in enumerate(columns):
            own = {"variable": column, "predictors": [*given, *columns[:place]]}
            yield {**step, **own, "of": variable}


def _step(step: Mapping[str, Any]) -> StepFacts:
    model = _model(step.get("model"))
    return StepFacts(
        variable=str(step["variable"]),
        model=model or "unknown",
        missing_model=_model(step.get("model_of_missing_codes")),
        predictors=_texts(step.get("predictors")),
        kept=model == "keep" or step.get("kept") is True,
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
        options=_options(said.get("options")),
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


def _options(given: object) -> dict[str, Any]:
    """Return options that are known, with plain values: no text but the names of smoothings."""
    return {
        name: value
        for name, value in _mapping(given).items()
        if name in OPTIONS
        and (isinstance(value, bool | int | float) or value in ("none", "density"))
    }


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
