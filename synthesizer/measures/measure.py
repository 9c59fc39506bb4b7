"""What a measure is: its switch, what it needs, how it is computed, what its figures mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.data.workers import Listener, silent
from synthesizer.measures.figure import Figure, Measured
from synthesizer.measures.measure_options import Part
from synthesizer.measures.risk.halves import HalfRun
from synthesizer.measures.risk.scenario import Scenario
from synthesizer.measures.utility.suite import Synthesis

if TYPE_CHECKING:
    from synthesizer.measures.settings import CheckSettings

Axis = Literal["risk", "utility"]
Family = Literal["datasets", "scenario", "splits", "halves"]
"""When a measure is computed: while datasets come in; for each scenario; for each scenario and
half split; of the first half split (or the control file) alone."""
Need = Literal["scenario", "halves", "models", "panel", "households", "names", "weight"]


@dataclass(frozen=True)
class Limit:
    """The upper limit that a configuration may set for a figure."""

    description: str
    """What is limited, for the keys under ``limits:``."""
    _: KW_ONLY
    low: float = 0
    """Lowest limit that may be set."""
    high: float | None = 1
    """Highest limit."""
    judged: Literal["value", "low"] = "value"
    """What is held against it. The largest of many groups is above 0 by chance: there the lower
    end of the interval decides."""
    some: bool = False
    """Whether the figure is of some records only: without any, nobody is told, and nothing
    fails."""
    exact: bool = False
    """Whether a target with a tolerance does not have it."""
    option: str = ""
    """An option of the check that the figure needs, as ``check.option``."""


@dataclass(frozen=True)
class FigureKind:
    """A figure with a part to play: it has a limit, is in the summary, or is an axis of the map."""

    key: str
    """`Figure.key`."""
    name: str
    """The field's name of it."""
    meaning: str = ""
    """What it is in plain words with places for ``{records}``, where runs can be compared by it;
    lower is better for all of these."""
    _: KW_ONLY
    title: str = ""
    """Its name on a map; ``name`` when empty."""
    ideal: float = float("-inf")
    """Values below it are as good as it is: a difference of -0.01 is no better than 0."""
    limit: Limit | None = None
    """The key under ``limits:``."""
    checks: tuple[str, ...] = ()
    """Checks that must be on besides that of the measure, where it has a limit."""
    summary: Mapping[str, str] = field(default_factory=dict)
    """Keys of the summary and the field of the figure that each of them is, beside the value of
    a figure with a limit."""
    screen: Literal["run", "files", ""] = "run"
    """Whether it is printed after a run, only by a command that looks at files, or on demand."""
    axis: Axis = "risk"
    """What it is about; that of its measure."""

    @property
    def is_axis(self) -> bool:
        """Whether runs can be compared by it."""
        return bool(self.meaning)

    @property
    def in_summary(self) -> Mapping[str, str]:
        """Every key of the summary, and the field of the figure that it is."""
        return ({} if self.limit is None else {self.key: "value"}) | dict(self.summary)

    def loss(self, value: float) -> float:
        """Return what a run is judged by.

        Examples
        --------
        >>> nearer = FigureKind("nearer", "nearer share", ideal=0.5)
        >>> nearer.loss(0.47), nearer.loss(0.53)
        (0.5, 0.53)
        """
        return max(value, self.ideal)

    def limited(self, figures: Sequence[Figure]) -> Sequence[Figure | None]:
        """Return the figures that the limit is about; None where none could be computed."""
        limit = self.limit or Limit("")
        with_key = [figure for figure in figures if figure.key == self.key]
        some = [figure for figure in with_key if figure.n or not limit.some]
        return some or ([] if with_key else [None])


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """What a measure is computed from; `Measure.family` says which of it there is."""

    original: Table
    """Confidential records, or one row a person."""
    settings: CheckSettings
    """Options of the measures."""
    names: tuple[str, ...] = ()
    """Variables of whole records: those that both sides have and that are no identifiers."""
    identifiers: tuple[str, ...] = ()
    """Identifiers of a file, read as levels: which of them are there again."""
    seed: Seed = field(default_factory=lambda: Seed(0))
    """Decides what is random."""
    synthesis: Synthesis = field(default_factory=Synthesis)
    """How the datasets were made."""
    frame: Frame | None = None
    """Periods of a panel."""
    person: str | None = None
    """Column of the persons of a panel in the source."""
    since: int | None = None
    """First period of a panel that was added to published ones."""
    workers: int = 1
    """Threads; they do not change the result."""
    done: Mapping[str, Any] = field(default_factory=dict)
    """Results (of datasets: collectors) of the measures before it."""
    synthetic: tuple[Table, ...] = ()
    """The datasets, as far as scenarios need them."""
    control: Table | None = None
    """Records that were kept out of the synthesis."""
    item: Any = None
    """A question, a fit or a propensity model, where there are several."""
    scenario: Scenario | None = None
    """Keys and target; of a half those of the main scenario."""
    run: HalfRun | None = None
    """Fitted and unseen records, and what was made of the fitted."""
    listener: Listener = silent
    """Is told about work that may take long."""
    replicates: Table | None = None
    """Replicate weights of the original, where they take no part in the synthesis."""

    @property
    def with_replicates(self) -> Table:
        """The original with its replicate weights."""
        if self.replicates is None:
            return self.original
        return self.original.with_columns(self.replicates.columns)

    @property
    def weight(self) -> str | None:
        """The survey weight, where the original has it and it is a number."""
        column = self.original.get(self.settings.weight or "")
        return None if column is None or column.is_coded else column.name

    @property
    def drawn(self) -> list[str]:
        """Variables of whole records that were not kept on purpose."""
        return [name for name in self.names if name not in self.synthesis.kept]

    @property
    def pair(self) -> tuple[Table, tuple[Table, ...]]:
        """Original and synthetic records."""
        return self.original, self.synthetic

    @property
    def asked(self) -> Scenario:
        """The scenario of a measure that has one."""
        if self.scenario is None:
            raise ValueError("needs a scenario")
        return self.scenario

    @property
    def halves(self) -> HalfRun:
        """The halves of a measure that has them."""
        if self.run is None:
            raise ValueError("needs halves")
        return self.run

    @property
    def by_class(self) -> dict[str, Any]:
        """Keys, target and groups of a measure that compares classes of records."""
        asked = self.asked
        return {"keys": asked.keys, "target": asked.target, "groups": asked.groups}

    @property
    def key_groups(self) -> dict[str, Any]:
        """Keys and their groups alone."""
        asked = self.asked
        groups = {name: wanted for name, wanted in asked.groups.items() if name in asked.keys}
        return {"keys": asked.keys, "groups": groups}


Items = Callable[[Case], Sequence[tuple[str, Any]]]
Compute = Callable[[Case], Any]


@dataclass(frozen=True)
class Measure:
    """A measure: its switch, what it needs, how it is computed."""

    key: str
    """Its name where it is said to have failed; ``{}`` is the place of an item."""
    family: Family
    """When it is computed."""
    _: KW_ONLY
    compute: Compute
    """Takes a `Case` and returns a result, None where there is nothing to compute; of family
    "datasets" a `Collecting`."""
    switch: str | None = ""
    """Its key under ``checks:``; the key when empty. None where it always runs."""
    words: str = ""
    """What the switch is about. Only one entry of several with the same switch says it."""
    options: type[Part] | None = None
    """Options of the switch; a plain yes or no when None."""
    several: bool = False
    """Whether the switch is a list of these options."""
    is_on: bool = True
    """Whether it runs unless it is switched off."""
    stacks: bool = False
    """Of family "halves": whether it looks at all datasets of a half together, or at the first."""
    needs: frozenset[Need] = frozenset()
    """What it cannot do without, beside what its family is about; ``names``: variables that both
    sides have; ``models``: those that made the datasets, which are not in their files."""
    result_field: str = ""
    """Field of the result that holds it; the key when empty."""
    axis: Axis = "risk"
    """What it is about; set by the list in which it stands."""
    items: Items | None = None
    """Names and items, where it is computed for each of several."""
    gather: Callable[[Case, Sequence[Any]], Any] | None = None
    """Of family "splits": joins what the splits of a scenario gave."""
    kept: Callable[[Any], Any] = lambda value: value
    """Returns the result of what ``compute`` returned, which may hold a value for each record."""
    figures: tuple[FigureKind, ...] = ()
    """Those of its figures that have a part to play."""
    result: type[Measured] = Measured
    """Of what it returns, where its results are kept under ``further``."""

    @property
    def check(self) -> str | None:
        """The key under ``checks:``; None where it always runs."""
        return None if self.switch is None else self.switch or self.key

    @property
    def place(self) -> str:
        """The field of the result that holds it."""
        return self.result_field or self.key

    def runs(self, settings: CheckSettings) -> bool:
        """Whether it is switched on."""
        return self.check is None or is_on(settings, self.check)


def is_on(settings: CheckSettings, check: str) -> bool:
    """Whether a check is switched on."""
    value = getattr(settings, check)
    return bool(getattr(value, "enabled", value))
