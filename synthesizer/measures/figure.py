"""One figure of a check: a number that says by itself how to read it."""

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
"""What is counted: persons where the data are a panel, of whom there is one row each."""

Direction = Literal[
    "lower is safer", "about 0 is good", "lower is better", "higher is better", "about 1 is good",
    "a count",
]  # fmt: skip

Form = Literal["text", "count", "share", "percent", "number", "p", "interval"]
"""How a column is shown; whoever shows it decides about digits."""


class Result(Displayed, BaseModel):
    """What a measure returns: typed, frozen, written to a file and read back by its fields.

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
        """Every figure that it has."""
        return ()

    @property
    def cautions(self) -> tuple[str, ...]:
        """What must be said beside its figures, with places for ``{records}``."""
        return ()


class Row(Result):
    """A row of a table; its fields (`column`) and properties (`shown`) name their columns."""


class Column(NamedTuple):
    """How a table shows a field or a property of a result."""

    heading: str
    form: Form
    value: Callable[[Any], Any]
    """Takes a row to what its cell holds."""
    meaning: str = ""


def column(
    heading: str,
    form: Form,
    meaning: str = "",
    *,
    show: Callable[[Any], Any] | None = None,
    **settings: Any,
) -> Any:
    """Return a field that tables show: heading of the column, its form, and what it means.

    ``show`` returns what a table writes for a value, where that is a code.

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
    """Return a field that is a row itself; tables show its columns, named after the heading."""
    return Field(json_schema_extra={"nested": heading})


F = TypeVar("F", bound=Callable[[Any], Any])


def shown(heading: str, form: Form, meaning: str = "") -> Callable[[F], F]:
    """Mark the function of a property that tables show like a field.

    Examples
    --------
    >>> class Pair(Row):
    ...     n: int = column("Records", "count")
    ...     k: int = column("Unique", "count")
    ...     @property
    ...     @shown("Share", "share")
    ...     def share(self) -> float:
    ...         return self.k / self.n
    >>> [own.heading for own in columns(Pair).values()]
    ['Records', 'Unique', 'Share']
    """

    def mark(function: F) -> F:
        setattr(function, "column", Column(heading, form, function, meaning))  # noqa: B010
        return function

    return mark


def columns(kind: type[BaseModel]) -> dict[str, Column]:
    """Return what a table shows of a result: fields before properties, own before inherited."""
    names = (name for parent in kind.__mro__ for name in vars(parent).get("__annotations__", ()))
    fields = (
        (name, kind.model_fields[name])
        for name in dict.fromkeys(names)
        if name in kind.model_fields
    )
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
    """Yield the column of a field, or those of the row that it holds."""
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
    """Return the cells of a column of a row within a row; None where there is none."""

    def value(row: Any) -> Any:
        inner = getattr(row, name)
        return None if inner is None else column.value(inner)

    return value


def plain(result: Result) -> dict[str, Any]:
    """Return the fields of a result as plain values for a file."""
    return result.model_dump(mode="json")


T = TypeVar("T")
R = TypeVar("R", bound=Result)
C = TypeVar("C", covariant=True)


def typed(kind: type[R], content: Any) -> R:
    """Return the result that plain values of a file hold.

    Raises
    ------
    pydantic.ValidationError
        If the values are not those that this version writes.
    """
    return kind.model_validate(content)


class Figure(Result):
    """A figure with what is needed to read it; all shares are in [0, 1], never in percent.

    Examples
    --------
    >>> cap = Figure(key="cap", name="CAP", value=0.27, meaning="right attributions", n=100,
    ...              direction="lower is safer", baseline=0.13, original=0.66)
    >>> plain(cap)["baseline"]
    0.13
    """

    key: str
    """Which figure it is; that of its `FigureKind`."""
    name: str
    """The field's name of it, such as ``DiSCO``."""
    value: float | None
    """None where it could not be computed (no record to compute it from): never good news."""
    meaning: str
    """What it is, in plain words."""
    direction: Direction
    """Which direction is good."""
    n: int
    """Number of records that it rests on."""
    low: float | None = None
    """Lower end of its 95 % interval, where there is one."""
    high: float | None = None
    """Upper end."""
    baseline: float | None = None
    """The baseline of the paper that the figure comes from: what an intruder achieves without the
    release. Of CAP it is the distribution of the target in the original (eq. 5 of Taub et al.
    2018)."""
    chance: float | None = None
    """What it would be if what the release shows had nothing to do with the persons; of utility,
    what a right synthesis gives."""
    original: float | None = None
    """The value of the original data, released as they are, where there is one."""
    new_sample: float | None = None
    """The value of a new sample of the same population, where it is computed."""

    _templates: tuple[str, str] = PrivateAttr(("", ""))

    def model_post_init(self, _: Any) -> None:
        """Keep the places for what is counted, and fill them with records until told otherwise."""
        self._templates = (self.name, self.meaning)
        self.__dict__.update(self._worded("records"))

    def counting(self, units: Units) -> Figure:
        """Return the figure with words about what it counts."""
        return self.model_copy(update=self._worded(units))

    def _worded(self, units: Units) -> dict[str, str]:
        name, meaning = self._templates
        return {"name": in_units(name, units), "meaning": in_units(meaning, units)}


@dataclass(frozen=True)
class Limit:
    """The upper limit that a configuration may set for a figure."""

    _: KW_ONLY
    low: float = 0
    """Lowest limit that may be set."""
    high: float | None = 1
    """Highest limit."""
    judged: Literal["value", "low"] = "value"
    """What is held against it. The largest of many groups is above 0 by chance: there the lower
    end of the interval decides."""
    some: bool = False
    """Whether the figure is of some records only: without any, there is no risk to exceed it."""
    exact: bool = False
    """Whether a target with a tolerance does not have it."""
    option: str = ""
    """An option of the check that the figure needs, as ``check.option``."""


@dataclass(frozen=True)
class FigureKind:
    """What is always true of a figure: key, name, meaning, direction and limit.

    The file of a measure declares its kinds; `of` makes a figure of a kind from a value.

    Examples
    --------
    >>> met = FigureKind("keys_met", "keys met", "share of the {records} whose keys are there")
    >>> met.of(0.5, 40, "of all datasets").meaning
    'share of the records whose keys are there; of all datasets'
    """

    key: str
    """`Figure.key`, with a place ``{}`` where there is one for each of several items."""
    name: str
    """The field's name of it, likewise."""
    meaning: str
    """What it is in plain words, likewise, and with places for ``{records}``."""
    direction: Direction = "lower is safer"
    """Which direction is good."""
    _: KW_ONLY
    title: str = ""
    """Its name on a map and beside a limit; ``name`` when empty."""
    ideal: float = -inf
    """Values below it are as good as it is: a difference of -0.01 is no better than 0."""
    limit: Limit | None = None
    """The key under ``limits:``."""
    checks: tuple[str, ...] = ()
    """Checks that must be on besides that of the measure, where it has a limit."""
    summary: Mapping[str, str] = field(default_factory=dict)
    """Keys of the summary and the field of the figure that each of them is, beside the value of
    a figure with a limit."""
    is_axis: bool = False
    """Whether runs are compared by it; lower is then better."""
    on_screen: bool = False
    """Whether it is printed without being asked for, as every figure with a limit is."""
    test: str = ""
    """What the verdict calls it, where it is a share that a new sample and the original have."""
    finding: str = ""
    """Its sentence in the verdict, with places for {value}, {ends}, {fresh} and {mark}."""

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
        """Return a figure of this kind, with a detail of these data after its meaning.

        ``item`` fills the places ``{}`` of key, name and meaning, ``datasets`` is how many are
        looked at together, and ``marks`` are other fields of `Figure`.
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
        """Return a field of a table with the value: the heading is the name."""
        return column(self.name, "share", in_units(self.meaning, "records"))

    def __post_init__(self) -> None:
        """Take the name for the title, and print what has a limit."""
        object.__setattr__(self, "title", self.title or self.name)
        object.__setattr__(self, "on_screen", self.on_screen or self.limit is not None)

    @property
    def in_summary(self) -> Mapping[str, str]:
        """Every key of the summary, and the field of the figure that it is."""
        return ({} if self.limit is None else {self.key: "value"}) | dict(self.summary)

    def loss(self, value: float) -> float:
        """Return what a run is judged by.

        Examples
        --------
        >>> nearer = FigureKind("nearer", "nearer share", "share that is nearer", ideal=0.5)
        >>> nearer.loss(0.47), nearer.loss(0.53)
        (0.5, 0.53)
        """
        return max(value, self.ideal)

    def limited(self, figures: Sequence[Figure]) -> Sequence[Figure | None]:
        """Return the figures that the limit is about; None where none could be computed."""
        limit = self.limit or Limit()
        with_key = [figure for figure in figures if figure.key == self.key]
        some = [figure for figure in with_key if figure.n or not limit.some]
        return some or ([] if with_key else [None])


TWO_SIDED = 1.96
"""Standard errors on either side of 95 % of a normal distribution."""

Side = Literal["above", "at", "near", "below"]


def side_of(value: float, mark: float, n: float, errors: float = TWO_SIDED) -> Side:
    """Say on which side of a mark a share of ``n`` lies; "near" if too few records tell.

    By the score test, (value - mark)^2 > errors^2 mark (1 - mark) / n: Wilson's interval of the
    value then does not hold the mark. A mean of scores in [0, 1] scatters no more than a share. At
    0 and 1, where the test has no error, that of one record of n is taken.

    Parameters
    ----------
    value, mark : float
        Shares, or means of scores, in [0, 1].
    n : float
        Number of independent records behind the value.
    errors : float
        Standard errors that set the value apart; 1.96 for an interval of 95 %.

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


_TOO_FEW = "too few to tell on which side"
_TOLD: Mapping[str, Mapping[Side, str]] = {
    "baseline": {
        "above": "the data tell more than the distribution of the target alone",
        "at": "the data tell as much as the distribution of the target alone",
        "near": _TOO_FEW,
        "below": "who knows only how the target is distributed guesses better",
    },
    "chance": {
        "above": "what is read off is right more often than by chance: the keys tell something",
        "at": "what is read off is right as often as by chance: the keys tell nothing",
        "near": _TOO_FEW,
        "below": "what is read off is right less often than by chance: the keys mislead",
    },
}
"""What follows from a value above, at, near or below each of its two marks."""


def conclusion(figure: Figure) -> str | None:
    """Say where a figure lies from its baseline and from chance, and what follows from each.

    What is written alike is a tie. Nothing follows from a mark that the interval of the value
    holds: its own, or that of a share (`side_of`). None unless the value and both marks are known.

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
    """Write values and the mark with so many decimals that each is above the mark as written, too.

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
    """Yield what follows from figures, those of which the same follows together."""
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
    """Return where a figure lies from baseline and chance."""
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
    return _TOLD["baseline"][sides[0]], _TOLD["chance"][sides[1]]


def _placed(sides: tuple[Side, Side], baseline: str = "", chance: str = "") -> str:
    first, second = _consequences_of(sides)
    return f"{sides[0]} the baseline{baseline} ({first}), and {sides[1]} chance{chance} ({second})"


def in_units(text: str, units: Units) -> str:
    """Return a sentence with its places for what is counted filled.

    Examples
    --------
    >>> in_units("share of the {records} without a match", "persons")
    'share of the persons without a match'
    """
    places = {"{records}": units, "{record}": units[:-1], "{Records}": units.capitalize()}
    for place, word in places.items():
        text = text.replace(place, word)
    return text


# Measures that are tried one by one: one that cannot be computed does not lose the others.


class Attempts:
    """Computes measures; one that cannot be computed is told and does not lose the others.

    Examples
    --------
    >>> attempts = Attempts()
    >>> attempts.of("one", lambda: 1), attempts.failed
    (1, {})
    """

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}

    def of(self, name: str, compute: Callable[[], T]) -> T | None:
        """Return what ``compute`` returns, None if it raises one of our errors."""
        try:
            return compute()
        except SynthesizerError as error:
            self.failed[name] = "; ".join(in_brief(error.problems))
            return None


class Collector(Protocol[C]):
    """Looks at datasets one by one, so that none of them has to be kept."""

    def add(self, synthetic: Any, /) -> None:
        """Look at the next dataset."""

    def result(self) -> C:
        """Return what the datasets so far have, at least one."""


def collected(collector: Collector[C], datasets: Iterable[Any]) -> C:
    """Return what a collector says of datasets."""
    for dataset in datasets:
        collector.add(dataset)
    return collector.result()
