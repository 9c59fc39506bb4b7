"""The form by which a query is written: its fields, what was typed, and what is wrong beside them.

A field is named by the key of the query that it fills, so a problem finds its field by the key that
it names. What is typed is never executed, and is shown again as it was.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import yaml

from synthesizer.data.errors import SynthesizerError
from synthesizer.data.yaml_text import parse_yaml
from synthesizer.measures.utility.formulas import Atom
from synthesizer.report.page import joined
from synthesizer.verification.coefficient_questions import OfCoefficient
from synthesizer.verification.prediction_questions import OfPredictions
from synthesizer.verification.public_schema import PublicSchema
from synthesizer.verification.query import (
    LEAST_EPSILON,
    LEAST_PARTITIONS,
    MOST_EPSILON,
    MOST_PARTITIONS,
    Query,
    query_of,
    text_problems,
)
from synthesizer.verification.questions import Question
from synthesizer.verification.table_questions import MOST_CELLS

Typed = Mapping[str, Sequence[str]]
"""Texts of each field, as they were typed."""
KINDS: Mapping[str, type[Question]] = {
    kind.model_fields["measure"].default: kind
    for kind in get_args(Query.model_fields["ask"].annotation)
}
"""Every question by the name of its measure."""
SUBJECTS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "A coefficient of a model": {
        "interval": (
            "In a range",
            "Is the coefficient at least, at most, or between the numbers that I say?",
        ),
        "tolerance": (
            "Near the synthetic one",
            "Is the coefficient as near to the synthetic one as I say?",
        ),
        "trend": ("A trend over years", "Does the coefficient rise or fall over the years?"),
        "significance": ("A test", "Does the coefficient differ from 0, or from another number?"),
    },
    "A table": {
        "counts": ("Counts", "How many persons are in each cell of a table?"),
        "means": ("Means", "What is the mean of a variable in each group?"),
    },
    "Predictions of a model of the synthetic data": {
        "roc": ("ROC curve", "How well does a logit tell who has the outcome?"),
        "residuals": ("Residuals", "Do the residuals of a linear model look right?"),
        "accuracy": ("Accuracy", "How far off are the predictions?"),
    },
}
"""What may be asked: by subject, its title and its question in plain words."""
_PERIOD = ("first", "last", "slope", "low", "high")
_MOST_PERIODS = 20
_NUMBER = re.compile(
    r"[-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,3})?"
)
_KEY = re.compile(r"(?P<key>[a-z_]+(?:\.\w+)*)(?P<rest>: | \(.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class FormField:
    """A field of the form."""

    key: str
    """Of the query; of the question it begins with ``ask.``."""
    label: str
    hint: str = ""
    kind: Literal["text", "number", "choice", "names", "check", "periods"] = "text"
    choices: tuple[tuple[str, str], ...] = ()
    """Values and what is read, of a choice and of names."""
    default: str = ""

    @property
    def anchor(self) -> str:
        """Its id in the page."""
        return "f-" + self.key.replace(".", "-")


@dataclass(frozen=True)
class FieldGroup:
    """Fields that belong together."""

    title: str
    lead: str
    fields: tuple[FormField, ...]


@dataclass(frozen=True)
class Fault:
    """Something that is wrong, at its field if it has one."""

    text: str
    field: FormField | None = None

    @property
    def anchor(self) -> str:
        """Where in the page it is mended."""
        return self.field.anchor if self.field else "query-form"


@dataclass(frozen=True)
class QueryForm:
    """A form with what was typed and what is wrong.

    Examples
    --------
    >>> from synthesizer.verification.public_schema import PublicVariable
    >>> age = PublicVariable(kind="numeric", low=15.0, high=90.0)
    >>> form = QueryForm.new("means", PublicSchema(variables={"age": age}))
    >>> form = form.filled({"ask.of": ["age"], "epsilon": ["0.5"]})
    >>> form.content
    {'epsilon': 0.5, 'ask': {'measure': 'means', 'of': 'age'}}
    >>> [fault.field.label for fault in form.faulty(["epsilon: must be at least 0.001"]).faults]
    ['Epsilon']
    """

    measure: str
    groups: tuple[FieldGroup, ...]
    typed: Typed = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    spare_periods: int = 2
    """So many empty ones are shown after those that were typed."""

    @classmethod
    def new(cls, measure: str, schema: PublicSchema) -> QueryForm:
        """Return the form of a measure, with defaults."""
        kind = KINDS[measure]
        groups = [
            *([_model_group(kind)] if kind.asks_of_model else []),
            FieldGroup("The question", _title(measure)[1], tuple(_FIELDS[measure](schema))),
            FieldGroup("The rows", "", (_SUBSET,)),
            FieldGroup("The price", "", tuple(_price_fields(kind))),
        ]
        every = [field for group in groups for field in group.fields]
        typed = {field.key: [field.default] for field in every if field.default}
        return cls(measure, tuple(groups), typed)

    @classmethod
    def of(cls, content: Mapping[str, Any], schema: PublicSchema) -> QueryForm | None:
        """Return the form of a query in plain values; None if it names no measure."""
        ask = content.get("ask")
        measure = ask.get("measure") if isinstance(ask, Mapping) else None
        if not isinstance(measure, str) or measure not in KINDS:
            return None
        return cls.new(measure, schema).filled(dict(_typed_of(content)))

    def filled(self, typed: Typed) -> QueryForm:
        """Return the form with what was typed, and nothing else."""
        return replace(self, typed=typed)

    def faulty(self, problems: Iterable[str]) -> QueryForm:
        """Return the form with problems beside their fields, in the order of the page."""
        places = {entry.key: place for place, entry in enumerate(self.fields)}
        faults = [self._fault(problem) for problem in problems]
        faults.sort(key=lambda fault: places[fault.field.key] if fault.field else len(places))
        return replace(self, faults=tuple(faults))

    def longer(self) -> QueryForm:
        """Return the form with room for more periods."""
        return replace(self, spare_periods=8)

    @property
    def title(self) -> str:
        """What is asked, in a few words."""
        return _title(self.measure)[0]

    @property
    def fields(self) -> Iterator[FormField]:
        """Every field."""
        return (field for group in self.groups for field in group.fields)

    @property
    def content(self) -> dict[str, Any]:
        """The query in plain values; what cannot be read as a number stays text."""
        content: dict[str, Any] = {}
        ask: dict[str, Any] = {"measure": self.measure}
        for entry in self.fields:
            if (value := self._value(entry)) is not None:
                head, _, key = entry.key.rpartition(".")
                (ask if head else content)[key] = value
        if self.measure == "interval" and {"above", "below"} <= {*ask}:
            ask["between"] = [ask.pop("above"), ask.pop("below")]
        return {**content, "ask": ask}

    @property
    def yaml(self) -> str:
        """The query as YAML."""
        return yaml_of_query(self.content)

    @property
    def period_rows(self) -> list[dict[str, str]]:
        """What was typed of each period, and a few empty ones."""
        rows = [
            {part: self.value(f"ask.periods.{number}.{part}") for part in _PERIOD}
            for number in range(1, _MOST_PERIODS + 1)
        ]
        used = max((n for n, row in enumerate(rows, 1) if _is_period(row)), default=0)
        return rows[: min(used + self.spare_periods, _MOST_PERIODS)]

    def value(self, key: str) -> str:
        """Return what was typed into a field."""
        return next(iter(self.typed.get(key, ())), "")

    def values(self, key: str) -> Sequence[str]:
        """Return what was chosen in a field of names."""
        return self.typed.get(key, ())

    def faults_of(self, key: str) -> list[str]:
        """Return what is wrong with a field."""
        return [fault.text for fault in self.faults if fault.field and fault.field.key == key]

    def _value(self, entry: FormField) -> Any:
        """Return the value of a field; None where it is empty."""
        if entry.kind == "periods":
            return [*self._periods()]
        if entry.kind == "names":
            return [*self.values(entry.key)] or None
        if entry.kind == "check":
            return True if self.value(entry.key) else None
        text = self.value(entry.key).strip()
        if not text:
            return None
        return number_or_text(text) if entry.kind == "number" else text

    def _periods(self) -> Iterator[dict[str, Any]]:
        for row in filter(_is_period, self.period_rows):
            ends = [number_or_text(row[end].strip()) for end in ("low", "high")]
            slope = ends if row["slope"] == "between" else row["slope"]
            years = {end: number_or_text(row[end].strip()) for end in ("first", "last")}
            yield {**years, "slope": slope}

    def _fault(self, problem: str) -> Fault:
        read = _KEY.match(problem)
        entry = self._field_of(read["key"], problem) if read else None
        if read is None or entry is None:
            return Fault(problem)
        text = problem[read.end() :] if read["rest"] == ": " else f"{entry.label}{read['rest']}"
        typed = repr(self.value(entry.key).strip())  # it stands in the field already
        text = text.removesuffix(f" (got {typed})").replace(f"{entry.key} {typed}, ", "")
        text = text.replace(f"expression {typed}, ", "")
        inner = read["key"].removeprefix(entry.key).strip(".").replace(".", ", ")
        return Fault(f"{inner}: {text}" if inner and entry.kind == "periods" else text, entry)

    def _field_of(self, key: str, problem: str) -> FormField | None:
        """Return the field that fills a key, or the part of the query around it."""
        by_key = {entry.key: entry for entry in self.fields}
        if key == "ask":  # about several fields at once: the first one that it names
            words = {
                _SAME.get(f"ask.{word}", f"ask.{word}") for word in re.findall(r"\w+", problem)
            }
            return next((by_key[name] for name in by_key if name in words), _first_asked(by_key))
        key = _SAME.get(key, key)
        while key and key not in by_key:
            key = key.rpartition(".")[0]
        return by_key.get(key)


_SAME = {
    "configuration": "formula",
    "ask.between": "ask.above",
    "ask.between.1": "ask.above",
    "ask.between.2": "ask.below",
    "ask.period": "ask.periods",
    "ask.slope": "ask.periods",
}
"""Fields that fill other keys than their own."""


def _first_asked(by_key: Mapping[str, FormField]) -> FormField | None:
    return next((entry for key, entry in by_key.items() if key.startswith("ask.")), None)


def yaml_of_query(content: Mapping[str, Any]) -> str:
    """Return a query in plain values as YAML; what is not set is left out."""
    return yaml.safe_dump(_set(content), sort_keys=False, allow_unicode=True, width=100)


def _set(content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _set(value) if isinstance(value, Mapping) else value
        for key, value in content.items()
        if value is not None
    }


def query_of_yaml(text: str) -> dict[str, Any]:
    """Return the plain values of a query in YAML; ConfigError where it is none."""
    return parse_yaml(text, origin="the query")


def coefficients_of(
    form: QueryForm, schema: PublicSchema
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the coefficients of the model that was typed, or what is wrong with it."""
    content = form.content
    if "formula" not in content:
        is_needed = any(entry.key == "formula" for entry in form.fields)
        return (), ("formula: is needed",) if is_needed else ()
    asked = {"measure": "significance", "coefficient": "any"}
    content = {key: content[key] for key in ("formula", "family") if key in content}
    try:
        query = query_of({**content, "ask": asked})
        if problems := tuple(text_problems(query.formula, None, schema)):
            return (), problems
        return query.model(schema).names, ()
    except SynthesizerError as error:
        return (), error.problems


def number_or_text(text: str) -> int | float | str:
    """Return the number that a text spells, or the text.

    Examples
    --------
    >>> number_or_text("5"), number_or_text("-.5"), number_or_text("1e999"), number_or_text("nan")
    (5, -0.5, '1e999', 'nan')
    """
    if not _NUMBER.fullmatch(text):
        return text
    number = float(text)
    if not math.isfinite(number):
        return text
    return int(text) if text.lstrip("+-").isdigit() else number


def _is_period(row: Mapping[str, str]) -> bool:
    return any(row[part].strip() for part in _PERIOD if part != "slope")


def _title(measure: str) -> tuple[str, str]:
    return next(titles[measure] for titles in SUBJECTS.values() if measure in titles)


def _typed_of(content: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield what one would have typed for a query."""
    for key, value in content.items():
        name = f"{place}{key}"
        if isinstance(value, Mapping):
            yield from _typed_of(value, f"{name}.")
        elif name == "ask.between" and isinstance(value, list) and len(value) == 2:
            yield "ask.above", [_spelt(value[0])]
            yield "ask.below", [_spelt(value[1])]
        elif name == "ask.periods" and isinstance(value, list):
            for number, period in enumerate(value, 1):
                yield from _typed_period(period, f"{name}.{number}.")
        elif isinstance(value, list):
            yield name, [*map(_spelt, value)]
        elif value not in (None, False):
            yield name, [_spelt(value)]


def _typed_period(period: Any, place: str) -> Iterator[tuple[str, list[str]]]:
    if not isinstance(period, Mapping):
        return
    for key, value in period.items():
        if key == "slope" and isinstance(value, list) and len(value) == 2:
            yield f"{place}slope", ["between"]
            yield f"{place}low", [_spelt(value[0])]
            yield f"{place}high", [_spelt(value[1])]
        else:
            yield f"{place}{key}", [_spelt(value)]


def _spelt(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


# The fields

_SUBSET = FormField(
    key="subset",
    label="Only rows where",
    hint="A condition, such as year >= 2000 and sex == 'F'. All rows if empty.",
)
_COEFFICIENT = FormField(
    key="ask.coefficient",
    label="Coefficient",
    hint="As the model names it: age, or sex[F] for level F against the reference level.",
)


def _model_group(kind: type[Question]) -> FieldGroup:
    families = {"linear": "linear (least squares)", "logit": "logit (response is 0 or 1)"}
    allowed = kind.families if issubclass(kind, OfPredictions) else tuple(families)
    return FieldGroup(
        "The model",
        "Fitted to the confidential data as it is to the synthetic data."
        if issubclass(kind, OfCoefficient)
        else "Fitted to the synthetic data; its predictions are compared with confidential rows.",
        (
            FormField(
                key="formula",
                label="Formula",
                hint="Such as I(log(pay)) ~ age + I(age ** 2) + C(year) + sex:race; fixed "
                "effects follow a bar: pay ~ sex | agency.",
            ),
            FormField(
                key="family",
                label="Family",
                kind="choice",
                choices=tuple((name, families[name]) for name in allowed),
                default=allowed[0],
            ),
        ),
    )


def _price_fields(kind: type[Question]) -> Iterator[FormField]:
    yield FormField(
        key="epsilon",
        label="Epsilon",
        kind="number",
        hint=f"What the answer may cost, {LEAST_EPSILON:g} to {MOST_EPSILON:g}. More epsilon, less "
        "noise. It is spent only after the dry run, and only if you say so.",
        default="1",
    )
    if issubclass(kind, OfCoefficient):
        yield FormField(
            key="partitions",
            label="Partitions (M)",
            kind="number",
            hint=f"{LEAST_PARTITIONS} to {MOST_PARTITIONS}. The persons are dealt to so many "
            "groups, and the model is fitted to each. More groups, less noise, but fewer persons "
            "in each.",
            default="50",
        )
    if kind.reports_errors:
        yield FormField(
            key="errors",
            label="A partition without a fit",
            kind="choice",
            choices=(
                ("out", "counts as one where the statement fails"),
                ("report", "is counted apart, at twice the noise"),
            ),
            default="out",
        )


def _number_field(key: str, label: str, hint: str = "", default: str = "") -> FormField:
    return FormField(key=f"ask.{key}", label=label, hint=hint, kind="number", default=default)


def _interval(_schema: PublicSchema) -> Iterator[FormField]:
    yield _COEFFICIENT
    yield _number_field("above", "At least", "Fill in one of the two, or both for a range.")
    yield _number_field("below", "At most")


def _tolerance(_schema: PublicSchema) -> Iterator[FormField]:
    yield _COEFFICIENT
    yield _number_field(
        "share",
        "Within a share of the synthetic estimate",
        "0.1 is 10 percent of its size, up or down. Fill in this one or the next.",
    )
    yield _number_field("within", "Within a distance", "In units of the coefficient.")


def _trend(schema: PublicSchema) -> Iterator[FormField]:
    yield _COEFFICIENT
    times = [name for name in schema.variables if _counts_years(name, schema)]
    yield FormField(
        key="ask.over",
        label="Variable of time",
        kind="choice",
        choices=tuple((name, name) for name in times),
        default=schema.period or "",
    )
    yield FormField(
        key="ask.periods",
        label="Periods",
        kind="periods",
        hint="The model is fitted to each year. How should the coefficient change by year?",
    )
    yield FormField(
        key="ask.jointly",
        label="All periods are one statement, which takes the whole epsilon; otherwise they "
        "share it",
        kind="check",
    )


def _counts_years(name: str, schema: PublicSchema) -> bool:
    return any(level.lstrip("-").isdigit() for level in schema.levels(Atom("C", name)))


def _significance(_schema: PublicSchema) -> Iterator[FormField]:
    yield _COEFFICIENT
    yield _number_field("null", "Number to test against", default="0")
    yield _number_field(
        "clip",
        "Clip the t of each partition at",
        "0.1 to 5; 1 serves most, less suits large effects.",
        default="1",
    )


def _cells(schema: PublicSchema) -> Iterator[FormField]:
    names = [name for name in schema.variables if schema.levels(Atom("C", name))]
    yield FormField(
        key="ask.by",
        label="By these variables",
        kind="names",
        hint=f"Every combination of their levels is a cell, up to {MOST_CELLS:,}; all persons are "
        "one cell if none is chosen.",
        choices=tuple((name, f"{name} ({len(schema.levels(Atom('C', name)))})") for name in names),
    )
    if schema.rows_per_person > 1:
        yield _number_field(
            "rows",
            "Rows of a person that count",
            f"1 to {schema.rows_per_person}; every further row makes the noise larger.",
            default="1",
        )


def _means(schema: PublicSchema) -> Iterator[FormField]:
    numeric = [name for name, known in schema.variables.items() if known.kind == "numeric"]
    yield FormField(
        key="ask.of",
        label="Mean of",
        kind="choice",
        choices=tuple((name, f"{name} ({_ends(name, schema)})") for name in numeric),
    )
    yield from _cells(schema)
    yield _number_field(
        "low",
        "Lower values count as",
        "The end of the public schema if empty. The closer the two ends, the smaller the noise.",
    )
    yield _number_field("high", "Higher values count as")


def _ends(name: str, schema: PublicSchema) -> str:
    return " to ".join(f"{end:,.10g}" for end in schema.variables[name].ends)


def _roc(_schema: PublicSchema) -> Iterator[FormField]:
    yield _number_field("cells", "Points of the curve", "5 to 500; 50 serves most.", default="50")


def _residuals(_schema: PublicSchema) -> Iterator[FormField]:
    yield _number_field(
        "cells", "Cells on each side of the grid", "5 to 50; 20 serves most.", default="20"
    )


def _accuracy(_schema: PublicSchema) -> Iterator[FormField]:
    yield _number_field(
        "most",
        "Larger errors count as",
        "Of a linear model only; three times the synthetic mean error if empty.",
    )


_FIELDS = {
    "interval": _interval,
    "tolerance": _tolerance,
    "trend": _trend,
    "significance": _significance,
    "counts": _cells,
    "means": _means,
    "roc": _roc,
    "residuals": _residuals,
    "accuracy": _accuracy,
}


def in_words(content: Mapping[str, Any]) -> str:
    """Say in a line what a query asks.

    Examples
    --------
    >>> ask = {"measure": "interval", "coefficient": "sex[F]", "below": -0.01}
    >>> in_words({"formula": "log(pay) ~ sex", "ask": ask})
    'In a range: sex[F], at most -0.01; log(pay) ~ sex'
    """
    ask = content["ask"]
    details = [*map(str, filter(None, [ask.get("coefficient"), ask.get("of")]))]
    if ask.get("by"):
        details.append(f"by {joined(list(ask['by']))}")
    for key, words in (("above", "at least"), ("below", "at most")):
        if ask.get(key) is not None:
            details.append(f"{words} {_spelt(ask[key])}")
    if ask.get("between"):
        details.append(f"{_spelt(ask['between'][0])} to {_spelt(ask['between'][1])}")
    about = [content.get("formula"), content.get("subset")]
    what = f"{_title(ask['measure'])[0]}{': ' if details else ''}{', '.join(details)}"
    return "; ".join([what, *filter(None, about)])
