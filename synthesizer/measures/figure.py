"""Figures of checks: a value with its meaning, direction, interval and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from math import inf, sqrt
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr
from pydantic.fields import FieldInfo

from synthesizer.data.displayed import Displayed
from synthesizer.data.errors import SynthesizerError, in_brief

Units = Literal["records", "persons"]
"""What a row is: a record, or a person of a panel."""

Direction = Literal[
    "lower is safer", "about 0 is good", "lower is better", "higher is better", "about 1 is good",
    "a count",
]  # fmt: skip

Form = Literal["text", "count", "share", "percent", "number", "p", "interval"]
"""Format of a column; the number of digits depends on the output."""


class Result(Displayed, BaseModel):
    """Result of a measure: frozen fields with types, which a file stores.

    Properties are computed from the fields and are not written.

    Examples
    --------
    >>> class Shares(Result):
    ...     zero: float | None
    >>> plain(Shares(zero=0.5)), typed(Shares, {"zero": 0.5})
    ({'zero': 0.5}, Shares(zero=0.5))
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class Measured(Result):
    """A result of a measure, with its figures."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All its figures."""
        return ()

    @property
    def cautions(self) -> tuple[str, ...]:
        """Warnings about its figures, with ``{records}`` for what is counted."""
        return ()


class Row(Result):
    """A row of a table, whose columns are fields (`column`) and properties (`shown`)."""


class Column(NamedTuple):
    """A column of a table: heading, format, value and meaning."""

    heading: str
    form: Form
    value: Callable[[Any], Any]
    """Returns the content of the cell of a row."""
    meaning: str = ""


def column(
    heading: str,
    form: Form,
    meaning: str = "",
    *,
    show: Callable[[Any], Any] | None = None,
    **settings: Any,
) -> Any:
    """Return a field that is a column of tables.

    ``show`` returns the text of a value that is a code.

    Examples
    --------
    >>> class CapRow(Row):
    ...     m: int = column("Datasets", "count", "the first m pooled")
    >>> columns(CapRow)["m"].heading, columns(CapRow)["m"].form
    ('Datasets', 'count')
    """
    extra: Any = {"column": Column(heading, form, show or (lambda value: value), meaning)}
    return Field(title=heading, description=meaning, json_schema_extra=extra, **settings)


def nested(heading: str = "") -> Any:
    """Return a field that is a row itself; its columns follow the heading."""
    return Field(json_schema_extra={"nested": heading})


F = TypeVar("F", bound=Callable[[Any], Any])


def shown(heading: str, form: Form, meaning: str = "") -> Callable[[F], F]:
    """Mark the function of a property as a column of tables.

    Examples
    --------
    >>> class Pair(Row):
    ...     n: int = column("Records", "count")
    ...     k: int = column("Unique", "count")
    ...     @property
    ...     @shown("Share", "share")
    ...     def share(self) -> float:
    ...         return self.k / self.n
    >>> [each.heading for each in columns(Pair).values()]
    ['Records', 'Unique', 'Share']
    """

    def mark(function: F) -> F:
        setattr(function, "column", Column(heading, form, function, meaning))  # noqa: B010
        return function

    return mark


def columns(kind: type[BaseModel]) -> dict[str, Column]:
    """Return the columns of a result: fields, then properties; inherited ones last."""
    names = (n for parent in kind.__mro__ for n in vars(parent).get("__annotations__", ()))
    fields = ((n, kind.model_fields[n]) for n in dict.fromkeys(names) if n in kind.model_fields)
    shown_fields = {key: entry for pair in fields for key, entry in _columns_of(*pair)}
    properties = {
        name: entry
        for parent in reversed(kind.__mro__)
        for name, member in vars(parent).items()
        if isinstance(member, property)
        and (entry := getattr(member.fget, "column", None)) is not None
    }
    return shown_fields | properties


def _columns_of(name: str, field: FieldInfo) -> Iterator[tuple[str, Column]]:
    """Yield the column of a field, or the columns of a nested row."""
    extra: Any = field.json_schema_extra or {}
    if "column" in extra:
        entry = extra["column"]
        yield name, entry._replace(value=lambda row: entry.value(getattr(row, name)))
    elif "nested" in extra:
        kind = next(k for k in (field.annotation, *get_args(field.annotation)) if _is_row(k))
        for inner, entry in columns(kind).items():
            heading = ": ".join(filter(None, (extra["nested"], entry.heading)))
            yield f"{name}.{inner}", entry._replace(heading=heading, value=_within(name, entry))


def _is_row(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Row)


def _within(name: str, column: Column) -> Callable[[Any], Any]:
    """Return a column of a nested row, with None where the nested row is absent."""

    def value(row: Any) -> Any:
        inner = getattr(row, name)
        return None if inner is None else column.value(inner)

    return value


def plain(result: Result) -> dict[str, Any]:
    """Return the fields of a result as plain values for JSON."""
    return result.model_dump(mode="json")


T = TypeVar("T")
R = TypeVar("R", bound=Result)
C = TypeVar("C", covariant=True)


def typed(kind: type[R], content: Any) -> R:
    """Return the result that was written to a file as plain values.

    Raises
    ------
    pydantic.ValidationError
        If the values do not fit the fields of this version.
    """
    return kind.model_validate(content)


class Figure(Result):
    """A value with its meaning and comparisons; shares are in [0, 1], never in percent.

    Examples
    --------
    >>> cap = Figure(key="cap", name="CAP", value=0.27, meaning="right attributions", n=100,
    ...              direction="lower is safer", baseline=0.13, original=0.66)
    >>> plain(cap)["baseline"]
    0.13
    """

    key: str
    """Key of its `FigureKind`."""
    name: str
    """Name in the literature, such as ``DiSCO``."""
    value: float | None
    """None if it could not be computed, which is never good news."""
    meaning: str
    """Definition in one clause, with details of the data."""
    direction: Direction
    """Which direction is good."""
    n: int
    """Number of records behind the value."""
    low: float | None = None
    """Lower end of its 95 % interval, if there is one."""
    high: float | None = None
    """Upper end."""
    baseline: float | None = None
    """Success of an intruder without the release, as the source of the figure defines it. For CAP
    it uses the distribution of the target in the original (eq. 5 of Taub et al. 2018)."""
    chance: float | None = None
    """Value if the release were independent of the persons; of utility: with correct models."""
    original: float | None = None
    """Value of releasing the original, if there is one."""
    new_sample: float | None = None
    """Value of a new sample of the same population, if it is computed."""

    _templates: tuple[str, str] = PrivateAttr(("", ""))

    def model_post_init(self, _: Any) -> None:
        """Store name and meaning with their placeholders, and count records by default."""
        self._templates = (self.name, self.meaning)
        self.__dict__.update(self._worded("records"))

    def counting(self, units: Units) -> Figure:
        """Return the figure with the word for records or persons."""
        return self.model_copy(update=self._worded(units))

    def _worded(self, units: Units) -> dict[str, str]:
        name, meaning = self._templates
        return {"name": in_units(name, units), "meaning": in_units(meaning, units)}


@dataclass(frozen=True)
class Limit:
    """Range and use of the upper limit that a configuration may set for a figure."""

    _: KW_ONLY
    low: float = 0
    """Lowest limit that can be set."""
    high: float | None = 1
    """Highest limit."""
    judged: Literal["value", "low"] = "value"
    """Field that is compared with it: the value, or the lower end, as for the largest of many
    groups, which exceeds 0 by chance."""
    some: bool = False
    """Whether the figure is about some records only; without any there is no risk."""
    exact: bool = False
    """Whether the figure does not exist for targets with a tolerance."""
    option: str = ""
    """Option that the figure needs, as ``check.option``."""


@dataclass(frozen=True)
class FigureKind:
    """Declaration of a figure: key, name, meaning, direction and limit.

    The file of a measure declares its kinds; `of` returns a figure with a value.

    Examples
    --------
    >>> met = FigureKind("keys_met", "keys met", "share of the {records} whose keys are there")
    >>> met.of(0.5, 40, "of all datasets").meaning
    'share of the records whose keys are there; of all datasets'
    """

    key: str
    """`Figure.key`, with ``{}`` for the item if there are several."""
    name: str
    """Name in the literature, with ``{}`` likewise."""
    meaning: str
    """Definition in one clause, with ``{}`` likewise and ``{records}`` for what is counted."""
    direction: Direction = "lower is safer"
    """Which direction is good."""
    _: KW_ONLY
    title: str = ""
    """Name on charts and beside limits; ``name`` when empty."""
    ideal: float = -inf
    """Best value: lower values are no better."""
    limit: Limit | None = None
    """Range of its key under ``limits:``; None without a limit."""
    checks: tuple[str, ...] = ()
    """Further checks that its limit needs."""
    summary: Mapping[str, str] = field(default_factory=dict)
    """Further keys of the summary, each with its field of the figure."""
    is_axis: bool = False
    """Whether runs can be compared by it; lower is then better."""
    on_screen: bool = False
    """Whether the screen prints it; always if it has a limit."""
    test: str = ""
    """Name of its test in the verdict, if it is a share."""
    finding: str = ""
    """Its sentence in the verdict, with {value}, {ends}, {fresh} and {mark} (the limit)."""

    def of(
        self,
        value: float | None,
        n: int,
        detail: str = "",
        *,
        item: str = "",
        datasets: int = 1,
        **marks: Any,
    ) -> Figure:
        """Return a figure of this kind, with a detail of the data after its meaning.

        ``item`` replaces ``{}`` in key, name and meaning, ``datasets`` is the number of datasets
        that are pooled, and ``marks`` are other fields of `Figure`.
        """
        meaning = f"{self.meaning}; {detail}" if detail else self.meaning
        together = f" (all {datasets} datasets together)" if datasets > 1 else ""
        return Figure(
            key=self.key.replace("{}", item),
            name=self.name.replace("{}", item) + together,
            value=value,
            meaning=meaning.replace("{}", item),
            direction=self.direction,
            n=n,
            **marks,
        )

    def column(self) -> Any:
        """Return a column of tables for the value, with the name as heading."""
        return column(self.name, "share", in_units(self.meaning, "records"))

    def __post_init__(self) -> None:
        """Set the default title, and print figures with a limit."""
        object.__setattr__(self, "title", self.title or self.name)
        object.__setattr__(self, "on_screen", self.on_screen or self.limit is not None)

    @property
    def in_summary(self) -> Mapping[str, str]:
        """All its keys of the summary, each with its field of the figure."""
        return ({} if self.limit is None else {self.key: "value"}) | dict(self.summary)

    def loss(self, value: float) -> float:
        """Return the value by which runs are compared; values below ``ideal`` count as ``ideal``.

        Examples
        --------
        >>> nearer = FigureKind("nearer", "nearer share", "share that is nearer", ideal=0.5)
        >>> nearer.loss(0.47), nearer.loss(0.53)
        (0.5, 0.53)
        """
        return max(value, self.ideal)

    def limited(self, figures: Sequence[Figure]) -> Sequence[Figure | None]:
        """Return the figures that the limit applies to; None for one without a value."""
        limit = self.limit or Limit()
        with_key = [figure for figure in figures if figure.key == self.key]
        some = [figure for figure in with_key if figure.n or not limit.some]
        return some or ([] if with_key else [None])


TWO_SIDED = 1.96
"""Normal quantile of a two-sided 95 % interval."""

Side = Literal["above", "at", "near", "below"]


def side_of(value: float, mark: float, n: float, errors: float = TWO_SIDED) -> Side:
    """Return "above" or "below" if a share of ``n`` differs significantly from ``mark``.

    Else return "near". This is the score test, (value - mark)^2 > errors^2 mark (1 - mark) / n, or
    whether Wilson's interval excludes the mark. The variance of a mean of scores in [0, 1] is at
    most that of a share. For marks of 0 and 1 the standard error is that of one record of n.

    Parameters
    ----------
    value, mark : float
        Shares, or means of scores, in [0, 1].
    n : float
        Number of independent records behind the value.
    errors : float
        Critical value in standard errors; 1.96 for 95 %.

    Source: Wilson (1927), Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22.

    Examples
    --------
    >>> side_of(0.3, 0.1, 400), side_of(0.0, 0.03, 47), side_of(0.0, 0.3, 47)
    ('above', 'near', 'below')
    """
    error = sqrt(max(mark * (1 - mark), 1 / n) / n) if n else inf
    if abs(value - mark) <= errors * error:
        return "near"
    return "above" if value > mark else "below"


_TOO_FEW = "not significant: too few records"
_CONSEQUENCES: Mapping[str, Mapping[Side, str]] = {
    "baseline": {
        "above": "the data reveal more than the distribution of the target alone",
        "at": "the data reveal as much as the distribution of the target alone",
        "near": _TOO_FEW,
        "below": "the distribution of the target alone allows better guesses",
    },
    "chance": {
        "above": "guesses are right more often than by chance: the keys help",
        "at": "guesses are right as often as by chance: the keys do not help",
        "near": _TOO_FEW,
        "below": "guesses are right less often than by chance: the keys mislead",
    },
}
"""Consequence of a value above, at, near or below its baseline and chance."""


def conclusion(figure: Figure) -> str | None:
    """Return a sentence that compares a figure with its baseline and with chance.

    Values that are equal as printed are a tie. Differences within the interval of the value (its
    own, or that of `side_of`) are not significant. None without value, baseline or chance.

    Examples
    --------
    >>> cap = Figure(key="cap", name="CAP", value=0.0457, meaning="", direction="lower is safer",
    ...              n=201, baseline=0.1182, chance=0.0296)
    >>> [part.split(" (")[0] for part in conclusion(cap).split(", and ")]
    ['CAP 0.0457 lies below the baseline 0.1182', 'near chance 0.0296']
    """
    sides = _sides(figure)
    if sides is None or figure.value is None:
        return None
    baseline, chance = (
        "" if mark is None else f" {_written(mark)}" for mark in (figure.baseline, figure.chance)
    )
    start = f"{figure.name} {_written(figure.value)} lies"
    if baseline == chance:
        both = "; ".join(dict.fromkeys(_consequences_of(sides)))
        return f"{start} {sides[1]} baseline and chance, here both{baseline} ({both})"
    return f"{start} {_placed(sides, baseline, chance)}"


def agreeing(values: Iterable[float], mark: float, digits: int) -> list[str]:
    """Return texts of values and mark whose order as printed is their true order.

    At least ``digits`` decimals are written, and more where rounding would hide a difference.

    Examples
    --------
    >>> agreeing([3.04], 3.0, 1), agreeing([2.9, 0.3], 3.0, 1)
    (['3.04', '3.00'], ['2.9', '0.3', '3.0'])
    """
    every = [*values, mark]
    for more in range(digits, 16):
        if all((round(v, more) > round(mark, more)) == (v > mark) for v in every):
            digits = more
            break
    return [f"{round(v, digits) + 0.0:.{digits}f}" for v in every]


def conclusions(figures: Iterable[Figure]) -> Iterator[str]:
    """Yield the conclusions from figures, one for all with the same conclusion."""
    groups: dict[tuple[Side, Side], list[Figure]] = {}
    for figure in figures:
        if (sides := _sides(figure)) is not None:
            groups.setdefault(sides, []).append(figure)
    for sides, alike in groups.items():
        if len(alike) == 1:
            yield conclusion(alike[0]) or ""
        else:
            *names, last = (figure.name for figure in alike)
            yield f"{', '.join(names)} and {last} lie {_placed(sides)}"


def _sides(figure: Figure) -> tuple[Side, Side] | None:
    """Return the sides of baseline and chance on which a figure lies."""
    value, baseline, chance = figure.value, figure.baseline, figure.chance
    if value is None or baseline is None or chance is None:
        return None

    def side(mark: float) -> Side:
        if _written(value) == _written(mark):
            return "at"
        if figure.low is None or figure.high is None:
            return side_of(value, mark, figure.n)
        return "above" if figure.low > mark else "below" if figure.high < mark else "near"

    return side(baseline), side(chance)


def _written(value: float) -> str:
    return f"{value:.4f}"


def _consequences_of(sides: tuple[Side, Side]) -> tuple[str, str]:
    return _CONSEQUENCES["baseline"][sides[0]], _CONSEQUENCES["chance"][sides[1]]


def _placed(sides: tuple[Side, Side], baseline: str = "", chance: str = "") -> str:
    first, second = _consequences_of(sides)
    return f"{sides[0]} the baseline{baseline} ({first}), and {sides[1]} chance{chance} ({second})"


def in_units(text: str, units: Units) -> str:
    """Return a sentence with the word for records or persons in its placeholders.

    Examples
    --------
    >>> in_units("share of the {records} without a match", "persons")
    'share of the persons without a match'
    """
    words = {"{records}": units, "{record}": units[:-1], "{Records}": units.capitalize()}
    for placeholder, word in words.items():
        text = text.replace(placeholder, word)
    return text


class Attempts:
    """Compute measures one by one; record the problems of a failure and go on.

    Examples
    --------
    >>> attempts = Attempts()
    >>> attempts.of("one", lambda: 1), attempts.failed
    (1, {})
    """

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}

    def of(self, name: str, compute: Callable[[], T]) -> T | None:
        """Return the result of ``compute``; None after a `SynthesizerError`, which is recorded."""
        try:
            return compute()
        except SynthesizerError as error:
            self.failed[name] = "; ".join(in_brief(error.problems))
            return None


class Collector(Protocol[C]):
    """A measure of datasets that are added one by one and not stored."""

    def add(self, synthetic: Any, /) -> None:
        """Add the next dataset."""

    def result(self) -> C:
        """Return the result of the datasets so far, at least one."""


def collected(collector: Collector[C], datasets: Iterable[Any]) -> C:
    """Return the result of a collector for datasets."""
    for dataset in datasets:
        collector.add(dataset)
    return collector.result()
