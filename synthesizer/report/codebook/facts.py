"""What the manifest of a run may tell the researchers who get its datasets.

This is an allow list: everything else in a manifest stays unread, above all the seed, the notes,
the times, the hashes and what it says of the confidential file. Whatever is written for release is
made from these facts and from the synthetic datasets themselves.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from synthesizer.data.table import Kind

# Which variables trees drew, and how, as the manifest of a run tells it.


@dataclass(frozen=True, kw_only=True)
class Trees:
    """The trees of one variable: those of its model and of the models that it wraps.

    Parameters
    ----------
    even : bool
        Whether some of the draws were spread evenly over a leaf, the default.
    tilt : bool
        Whether all draws were asked to follow a regression of what the tree leaves unexplained;
        they can where `tilts` says so.
    """

    even: bool = True
    tilt: bool = False


def tilts(kind: str, codes: int | None = None) -> bool:
    """Whether draws of a variable can be tilted: numbers, ordered levels, two levels.

    Parameters
    ----------
    kind : str
        Its kind.
    codes : int or None
        Levels and missing codes together; None: not known, and then two are not assumed.

    Examples
    --------
    >>> tilts("ordered"), tilts("categorical"), tilts("categorical", 2)
    (True, False, True)
    """
    return kind in ("numeric", "date", "ordered") or codes == 2


CAREER = "career."
"""Attributes of the careers have names that begin so; they follow from what is released."""


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
    bases : tuple of str
        Models inside the model, the outer ones first.
    trees : Trees or None
        The trees that drew it, in the model itself or inside it.
    of : str
        The variable that it is one column of, in the wide form of a panel; else itself.
    in_words : tuple of str
        How the model, and those inside it, are called in a sentence; empty: by its name.
    missing_in_words : str
        The same of the model of the missing codes.
    options : mapping
        Options of the model that may be told.
    """

    variable: str
    model: str
    missing_model: str | None
    predictors: tuple[str, ...]
    kept: bool
    bases: tuple[str, ...] = ()
    trees: Trees | None = None
    of: str = ""
    in_words: tuple[str, ...] = ()
    missing_in_words: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


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


@dataclass(frozen=True, kw_only=True)
class PathFacts:
    """A rule from period to period, as the configuration has it: see `panel.rules` there."""

    variable: str
    absorbing: tuple[str, ...] = ()
    never: tuple[tuple[str, str], ...] = ()
    non_decreasing: bool = False


@dataclass(frozen=True, kw_only=True)
class Evolution:
    """How whole datasets were evolved: settings of the data holder, no figure.

    Parameters
    ----------
    start : str
        What the population began as: ``mutants`` of the confidential data, datasets of the
        ``chain``, or ``files``, which also stands for what is not known.
    swapped, redrawn, replaced : bool
        Whether datasets swapped records, cells were drawn anew, and records that carried risk were
        replaced by others.
    """

    start: str
    swapped: bool = True
    redrawn: bool = True
    replaced: bool = True


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that is taken from a manifest.

    ``original_rows`` is for one question only, see `rows_if_equal`; of a panel it counts persons.
    ``delimiter`` and ``encoding`` are needed to read CSV files of the source's layout. ``person``
    and ``time`` are columns of a panel in the long form, ``career`` the variable of its careers,
    ``wide`` the columns of each variable over time in the wide form. ``rules``, ``forbid``,
    ``support`` and ``paths`` are what the data holder imposed. ``evolution`` is None where the
    chain's draws are released as they are.
    """

    steps: tuple[StepFacts, ...]
    variables: Mapping[str, VariableFacts]
    strata: tuple[str, ...]
    rules: tuple[tuple[str, Mapping[str, str]], ...]
    forbid: tuple[str, ...]
    support: tuple[tuple[str, ...], ...] = ()
    paths: tuple[PathFacts, ...] = ()
    proper: bool
    packages: Mapping[str, str]
    delimiter: str | None
    encoding: str | None
    original_rows: int | None
    person: str = ""
    time: str = ""
    career: str = ""
    wide: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    evolution: Evolution | None = None

    def trees(self) -> dict[str, Trees]:
        """Return the variables that trees drew, also inside other models, and how they drew.

        Examples
        --------
        >>> from synthesizer.report.codebook.facts import facts_of
        >>> step = {"variable": "age", "kind": "numeric", "model": "lag_one",
        ...         "trees": {"even": True, "tilt": False}}
        >>> facts_of({"chain": [step]}).trees()
        {'age': Trees(even=True, tilt=False)}
        """
        return {step.variable: step.trees for step in self.steps if step.trees is not None}

    @property
    def is_modelled(self) -> bool:
        """Whether every record was drawn from fitted models, whatever became of it later."""
        return self.evolution is None or self.evolution.start == "chain"

    @property
    def is_panel(self) -> bool:
        """Whether there are persons and periods."""
        return bool(self.person or self.wide)

    def knows(self, names: Collection[str]) -> bool:
        """Whether released variables, or what follows from them, have all these names."""
        return all(
            name in self.variables
            or name in self.wide
            or (self.is_panel and name.startswith(CAREER))
            or (bool(self.wide) and name == self.time)
            for name in names
        )

    def rows_if_equal(self, rows: int) -> int | None:
        """Return the number of confidential rows if it is the public one, ``rows``."""
        return rows if self.original_rows == rows else None

    def only(self, names: Collection[str]) -> Facts:
        """Return the facts on released variables, whatever else the manifest names."""
        wide = {name: own for name, own in self.wide.items() if set(own) <= {*names}}

        def known(name: str) -> str:
            return name if name in names or name in wide else ""

        return replace(
            self,
            person=known(self.person),
            time=self.time if wide else known(self.time),
            career=known(self.career),
            wide=wide,
            steps=tuple(
                replace(step, predictors=tuple(p for p in step.predictors if p in names))
                for step in self.steps
                if step.variable in names
            ),
            variables={name: own for name, own in self.variables.items() if name in names},
            strata=tuple(name for name in self.strata if name in names),
        )


# The manifest of a run, read by an allow list: what may be told becomes `Facts`.

PACKAGES = ("synthesizer", "joblib", "numpy", "pandas", "pyarrow", "scipy", "scikit-learn")
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
        steps=tuple(_step(step) for step in chain),
        variables=_variables(chain, _list(manifest.get("variables")), config),
        strata=_texts(config.get("strata")),
        rules=tuple(_rules(config)),
        forbid=_texts(config.get("forbid")),
        support=tuple(_texts(names) for names in _list(config.get("support"))),
        paths=tuple(_paths(_mapping(config.get("panel")))),
        proper=config.get("proper") is True,
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


def _trees(step: Mapping[str, Any]) -> Trees | None:
    trees = step.get("trees")
    return None if step.get("kept") or not trees else Trees(**trees)


def _step(step: Mapping[str, Any]) -> StepFacts:
    model = _model(step.get("model"))
    return StepFacts(
        variable=str(step["variable"]),
        model=model or "unknown",
        missing_model=_model(step.get("model_of_missing_codes")),
        predictors=_texts(step.get("predictors")),
        kept=model == "keep" or step.get("kept") is True,
        bases=tuple(_model(base) or "unknown" for base in _list(step.get("base"))),
        trees=_trees(step),
        in_words=_texts(step.get("in_words")),
        missing_in_words=_text(step.get("missing_in_words")),
        options=_mapping(step.get("options")),
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


# Names in sentences.


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names as a list in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=2)
    ('a, b and c', 'a, b and 1 more')
    """
    shown, rest = list(names[:most]), len(names) - most
    if rest > 0:
        shown.append(f"{rest} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
