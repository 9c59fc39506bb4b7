"""The form of a query: fields, typed values, and problems beside them.

Fields come from the JSON schemas of `Query` and of the question; ``templates/query_form.yaml`` has
their labels. The name of a field is its key in the query, so a problem that names the key belongs
to the field. Typed values are never executed, and are shown again unchanged. Epsilon, the number of
groups and settings of the noise are fields for experts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, get_args

import yaml

from synthesizer.data.errors import SynthesizerError
from synthesizer.data.yaml_text import packaged_yaml
from synthesizer.extensions.verification.coefficient_questions import OfCoefficient, years_of
from synthesizer.extensions.verification.public_schema import PublicSchema
from synthesizer.extensions.verification.query import NO_FORMULA, Query, query_of, text_problems
from synthesizer.extensions.verification.questions import Question
from synthesizer.measures.utility.formulas import Atom
from synthesizer.report.blocks import joined

Typed = Mapping[str, Sequence[str]]
"""Typed texts of each field."""
KINDS: Mapping[str, type[Question]] = {
    kind.model_fields["measure"].default: kind
    for kind in get_args(Query.model_fields["ask"].annotation)
}
"""Every question by the name of its measure."""
_TEXTS = packaged_yaml("synthesizer.extensions.verification.server", "templates/query_form.yaml")
SUBJECTS: Mapping[str, Mapping[str, Sequence[str]]] = _TEXTS["subjects"]
"""Kinds of questions by subject, each with title and question."""
_WORDS = {name: words for titles in SUBJECTS.values() for name, words in titles.items()}
EXPERTS = frozenset({"interval", "tolerance"})
"""Measures for experts only."""
_EXPERTS_KEYS = frozenset({"clip"})
_LABELS: Mapping[str, tuple[str, str]] = _TEXTS["fields"]
"""Label and hint of each key (or key of one measure), in the order of the page."""
_NUMBER = re.compile(
    r"[-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,3})?"
)
_KEY = re.compile(r"(?:configuration: )?(?P<key>[a-z_]+(?:\.\w+)*): ")
_SENTENCES = [(re.compile(pattern, re.DOTALL), words) for pattern, words in _TEXTS["sentences"]]
"""Patterns in problems of a query and their replacements."""
_PERIOD = re.compile(
    r"(\d{1,9}) *(?:to|-) *(\d{1,9}) +(?:(rising|falling)|between +(\S{1,40}) +and +(\S{1,40}))"
)


@dataclass(frozen=True, kw_only=True)
class FormField:
    """A field of the form."""

    key: str
    """Key in the query; keys of the question begin with ``ask.``."""
    label: str
    hint: str = ""
    kind: Literal["text", "number", "percent", "choice", "names", "check"] = "text"
    choices: tuple[tuple[str, str], ...] = ()
    """Values and labels of a choice or of names."""
    default: str = ""

    @property
    def anchor(self) -> str:
        """Its id in the page."""
        return "f-" + self.key.replace(".", "-")


@dataclass(frozen=True)
class Fault:
    """A problem, with its field if it has one."""

    text: str
    field: FormField | None = None

    def __str__(self) -> str:
        return f"{self.field.label}: {self.text}" if self.field else self.text


@dataclass(frozen=True)
class QueryForm:
    """A form with typed values and problems.

    Examples
    --------
    >>> from synthesizer.extensions.verification.public_schema import SchemaVariable
    >>> age = SchemaVariable(kind="numeric", low=15.0, high=90.0)
    >>> form = QueryForm.new("means", PublicSchema(variables={"age": age}), expert=True)
    >>> form = form.filled({"ask.of": ["age"], "epsilon": ["0.5"]})
    >>> form.content
    {'ask': {'measure': 'means', 'of': 'age'}, 'epsilon': 0.5}
    >>> [fault.field.label for fault in form.faulty(["epsilon: must be at least 0.001"]).faults]
    ['Epsilon']
    """

    measure: str
    fields: tuple[FormField, ...]
    expert: bool = False
    """Whether it has fields for the numbers that the server chooses otherwise."""
    typed: Typed = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()

    @classmethod
    def new(cls, measure: str, schema: PublicSchema, *, expert: bool = False) -> QueryForm:
        """Return the form of a measure, with defaults."""
        expert = expert or measure in EXPERTS
        fields = tuple(_fields(measure, schema, expert=expert))
        typed = {entry.key: [entry.default] for entry in fields if entry.default}
        return cls(measure, fields, expert, typed)

    @classmethod
    def of(cls, content: Mapping[str, Any], schema: PublicSchema) -> QueryForm:
        """Return the form of a valid query in plain values; expert if it has numbers."""
        measure = content["ask"]["measure"]
        expert = any(content.get(key) is not None for key in _numbers(KINDS[measure]))
        return cls.new(measure, schema, expert=expert).filled(dict(_typed_of(content)))

    def filled(self, typed: Typed) -> QueryForm:
        """Return the form with these typed values only."""
        return replace(self, typed=typed)

    def with_numbers(self, schema: PublicSchema) -> QueryForm:
        """Return the form with the fields for experts and the values so far."""
        form = QueryForm.new(self.measure, schema, expert=True)
        return form.filled({**form.typed, **self.typed})

    def faulty(self, problems: Iterable[str]) -> QueryForm:
        """Return the form with problems beside their fields, in the order of the page."""
        order = {entry.key: index for index, entry in enumerate(self.fields)}
        missing = [NO_FORMULA] * ("formula" in order and not self.value("formula").strip())
        faults = [*dict.fromkeys(self._fault(problem) for problem in [*missing, *problems])]
        faults.sort(key=lambda fault: order[fault.field.key] if fault.field else len(order))
        return replace(self, faults=tuple(faults))

    @property
    def words(self) -> Sequence[str]:
        """Title and question of the measure."""
        return _WORDS[self.measure]

    @property
    def content(self) -> dict[str, Any]:
        """The query in plain values; texts that are no numbers stay texts."""
        content: dict[str, Any] = {}
        ask = content["ask"] = {"measure": self.measure}
        for entry in self.fields:
            if (value := self._value(entry)) is not None:
                head, _, key = entry.key.rpartition(".")
                (ask if head else content)[key] = value
        if {"above", "below"} <= {*ask}:
            ask["between"] = [ask.pop("above"), ask.pop("below")]
        return content

    def value(self, key: str) -> str:
        """Return the typed value of a field."""
        return next(iter(self.typed.get(key, ())), "")

    def values(self, key: str) -> Sequence[str]:
        """Return the chosen values of a field of names."""
        return self.typed.get(key, ())

    def faults_of(self, key: str) -> list[str]:
        """Return the problems of a field."""
        return [fault.text for fault in self.faults if fault.field and fault.field.key == key]

    def _value(self, entry: FormField) -> Any:
        """Return the value of a field; None if it is empty."""
        text = self.value(entry.key).strip()
        if not text:
            return None
        match entry.kind:
            case "names":
                return [*self.values(entry.key)]
            case "check":
                return True
            case "number" | "percent":
                number = number_or_text(text.removesuffix("%").rstrip())
                is_whole = isinstance(number, str) or not ("%" in text or entry.kind == "percent")
                return number if is_whole else float(Decimal(str(number)) / 100)
        return [*map(_period, text.split(";"))] if entry.key == "ask.periods" else text

    def _fault(self, problem: str) -> Fault:
        read = _KEY.match(problem)
        entry = self._field_of(read["key"], problem) if read else None
        text = problem[read.end() :] if read else problem
        for pattern, words in _SENTENCES:
            text = pattern.sub(words, text)
        return Fault(text, entry)

    def _field_of(self, key: str, problem: str) -> FormField | None:
        """Return the field that fills a key, or the part of the query around it."""
        by_key = {entry.key: entry for entry in self.fields}
        if key == "ask":  # a problem of several fields: the first whose value or key it names
            quoted, words = {*re.findall("'(.*?)'", problem)}, {*re.findall(r"\w+", problem)}
            named = [name for name in by_key if quoted & {*self.values(name)}]
            named += [name for name in by_key if name.removeprefix("ask.") in words]
            key = next(iter(named), "ask.above")
        if key.startswith("ask.between"):
            key = "ask.below" if key.endswith(".2") else "ask.above"
        while key and key not in by_key:
            key = key.rpartition(".")[0]
        return by_key.get(key)


def _numbers(kind: type[Question]) -> Iterator[str]:
    """Yield the keys of a question that the server chooses for non-experts."""
    yield "epsilon"
    if issubclass(kind, OfCoefficient):
        yield "partitions"
    if kind.reports_errors:
        yield "errors"


def _fields(measure: str, schema: PublicSchema, *, expert: bool) -> Iterator[FormField]:
    kind = KINDS[measure]
    properties = kind.model_json_schema()["properties"]
    whole = Query.model_json_schema()["properties"]
    if "rows" in properties:
        properties["rows"] |= {"maximum": schema.rows_per_person}
    if kind.asks_of_model:
        yield _field("formula", whole["formula"])
        names = getattr(kind, "families", whole["family"]["enum"])
        yield _field("family", {**whole["family"], "enum": names})
    order = [key.rpartition(".")[2] for key in _LABELS]
    for name in sorted(properties, key=lambda n: order.index(n) if n in order else len(order)):
        is_shown = name not in ("measure", "between") and (expert or name not in _EXPERTS_KEYS)
        if is_shown and (name != "rows" or schema.rows_per_person > 1):
            choices = _names_of(name, schema)
            yield _field(f"ask.{name}", properties[name], measure=measure, choices=choices)
    yield _field("subset", whole["subset"])
    for name in _numbers(kind) if expert else ():
        yield _field(name, whole[name])


def _field(
    key: str, known: Mapping[str, Any], *, measure: str = "",
    choices: tuple[tuple[str, str], ...] | None = None,
) -> FormField:  # fmt: skip
    """Return the field of a property of a JSON schema."""
    name = key.removeprefix("ask.")
    label, hint = _LABELS.get(f"{measure}.{name}") or _LABELS.get(name) or (name, "")
    if "minimum" in known and "maximum" in known:
        hint = f"{hint} From {known['minimum']:g} to {known['maximum']:g}.".strip()
    if "enum" in known:
        choices = tuple((value, _TEXTS["choices"][value]) for value in known["enum"])
    types = {one.get("type") for one in known.get("anyOf", [known])}
    default = known.get("default")
    if choices is not None:
        kind: Any = "names" if "array" in types else "choice"
    else:
        number = "percent" if name == "share" else "number"
        kind = "check" if "boolean" in types else number if types & _NUMERIC else "text"
    return FormField(
        key=key, label=label, hint=hint, kind=kind, choices=choices or (),
        default="" if default in (None, False) or kind == "names" else _spelt(default),
    )  # fmt: skip


_NUMERIC = {"number", "integer"}


def _names_of(key: str, schema: PublicSchema) -> tuple[tuple[str, str], ...] | None:
    """Return the variables among which a field chooses; None for other fields."""
    levels = {name: schema.levels(Atom("C", name)) for name in schema.variables}
    if key == "over":
        return tuple(
            (name, f"{name} ({'period, ' * (name == schema.period)}{years[0]} to {years[-1]})")
            for name, years in _times(schema)
        )
    if key == "by":
        return tuple((name, f"{name} ({len(texts)})") for name, texts in levels.items() if texts)
    if key != "of":
        return None
    ends = {n: one.ends for n, one in schema.variables.items() if one.kind == "numeric"}
    return tuple((n, f"{n} ({low:.10g} to {high:.10g})") for n, (low, high) in ends.items())


def _times(schema: PublicSchema) -> Iterator[tuple[str, list[int]]]:
    """Yield the possible variables of time with their years, that of the panel first.

    Others are numeric or ordered, with plain whole numbers as values: 01 is a code.
    """
    for name in sorted(schema.variables, key=lambda name: name != schema.period):
        one, years = schema.variables[name], years_of(schema, name)
        is_time = one.kind != "categorical" and {*one.categories} == {*map(str, years)}
        if len(years) > 1 and (is_time or name == schema.period):
            yield name, years


def _period(text: str) -> Any:
    """Return a period in plain values, or the text if it is none."""
    read = _PERIOD.fullmatch(text.strip())
    if read is None:
        return text.strip()
    first, last, slope, low, high = read.groups()
    ends = slope or [number_or_text(low), number_or_text(high)]
    return {"first": int(first), "last": int(last), "slope": ends}


def _typed_of(content: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the typed values that make a query."""
    ask = {f"ask.{key}": value for key, value in content["ask"].items()}
    for key, value in {**content, **ask}.items():
        if key == "ask.between" and value is not None:
            yield "ask.above", [_spelt(value[0])]
            yield "ask.below", [_spelt(value[1])]
        elif key == "ask.periods":
            yield key, ["; ".join(map(_spelt_period, value))]
        elif key == "ask.share" and value is not None:
            yield key, [_spelt(100 * value)]
        elif isinstance(value, list):
            yield key, [*map(_spelt, value)]
        elif key != "ask" and value not in (None, False):
            yield key, [_spelt(value)]


def _spelt_period(period: Mapping[str, Any]) -> str:
    slope = period["slope"]
    if isinstance(slope, list):
        slope = f"between {_spelt(slope[0])} and {_spelt(slope[1])}"
    return f"{period['first']} to {period['last']} {slope}"


def _spelt(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def yaml_of_query(content: Mapping[str, Any]) -> str:
    """Return a query in plain values as YAML, without empty keys."""
    ask = {key: value for key, value in content["ask"].items() if value is not None}
    given = {key: value for key, value in {**content, "ask": ask}.items() if value is not None}
    return yaml.safe_dump(given, sort_keys=False, allow_unicode=True, width=100)


def coefficients_of(
    form: QueryForm, schema: PublicSchema
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the coefficients of the typed model, or its problems."""
    content = form.content
    if "formula" not in content:
        return (), (NO_FORMULA,) if any(entry.key == "formula" for entry in form.fields) else ()
    ask = {"measure": "significance", "coefficient": "any"}
    content = {key: content[key] for key in ("formula", "family") if key in content}
    try:
        query = query_of({**content, "ask": ask})
        if problems := tuple(text_problems(query.formula, None, schema)):
            return (), problems
        return query.model(schema).names, ()
    except SynthesizerError as error:
        return (), error.problems


def number_or_text(text: str) -> int | float | str:
    """Return the number in a text, or the text.

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


def in_words(content: Mapping[str, Any]) -> str:
    """Return the question of a query in one line.

    Examples
    --------
    >>> ask = {"measure": "claim", "coefficient": "sex[F]", "below": -0.01}
    >>> in_words({"formula": "log(pay) ~ sex", "ask": ask})
    'Is it true? sex[F] at most -0.01; log(pay) ~ sex'
    """
    ask = content["ask"]
    low, high = ask.get("between") or (ask.get("above"), ask.get("below"))
    share = ask.get("share")
    parts = {"over": ask.get("over"), "at least": low, "at most": high,
            "within": share and f"{_spelt(100 * share)} % of the synthetic estimate",
            "within a distance of": ask.get("within"),
            "rows of a person:": rows if (rows := ask.get("rows") or 1) > 1 else None,
            "by": joined(ask.get("by") or [])}  # fmt: skip
    how = ", ".join(f"{key} {_spelt(one)}" for key, one in parts.items() if one not in (None, ""))
    details = " ".join(filter(None, [ask.get("coefficient"), ask.get("of"), how]))
    title = _WORDS[ask["measure"]][0]
    what = f"{title}{'' if title.endswith('?') or not details else ':'} {details}".strip()
    return "; ".join(filter(None, [what, content.get("formula"), content.get("subset")]))
