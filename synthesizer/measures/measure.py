"""What a measure is: its switch, what it needs, how it is computed, what its figures mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, Protocol

from synthesizer.data.options import Strings, options
from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.view import View
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.data.workers import Listener, silent
from synthesizer.measures.figure import Collector, FigureKind, Measured
from synthesizer.measures.halves import HalfRun
from synthesizer.measures.measure_options import Part
from synthesizer.measures.scenario import Scenario

Axis = Literal["risk", "utility"]
Family = Literal["datasets", "scenario", "splits", "halves"]
"""When a measure is computed: while datasets come in; for each scenario; for each scenario and
half split; of the first half split (or the control file) alone."""
Need = Literal["scenario", "halves", "models", "panel", "names", "weight"]
_OF_FAMILY: Mapping[Family, tuple[Need, ...]] = {
    "datasets": (),
    "scenario": ("scenario",),
    "splits": ("scenario", "halves"),
    "halves": ("halves",),
}
"""What every measure of a family needs."""


class Settings(Protocol):
    """Options of the checks by name, as `synthesizer.measures.settings.CheckSettings` has them."""

    def __getattr__(self, option: str, /) -> Any: ...


@options
class Synthesis:
    """How the synthetic data were made, which decides their expected figures.

    Parameters
    ----------
    proper : bool
        Whether parameters were drawn again for each dataset. The expected S_pMSE of a correct
        synthesis is then 1 + k/n, that of a new sample, and not 1.
    kept : tuple of str
        Variables with the values of the original.
    may_keep : bool
        Whether other variables may have them, too; False if a configuration lists them.
    redrawn : bool
        Whether each dataset has another sample, drawn by the design of a survey.
    public : tuple of str
        Variables whose levels are a public code list.
    """

    proper: bool = False
    kept: Strings = ()
    may_keep: bool = True
    redrawn: bool = False
    public: Strings = ()

    @property
    def kind(self) -> dict[str, bool]:
        """Facts that decide the combining rule."""
        return {"proper": self.proper, "keeps": bool(self.kept), "redrawn": self.redrawn}


@dataclass(frozen=True, eq=False)
class Collecting:
    """A measure that looks at datasets one by one.

    Parameters
    ----------
    add : callable
        Looks at the next dataset.
    result : callable
        Returns what was found in the datasets so far, at least one.
    notes : tuple of str
        What should be known of the result.
    """

    add: Callable[[Table], None]
    result: Callable[[], Any]
    notes: tuple[str, ...] = ()


def seeing(view: Callable[[Table], Any], collector: Collector[Any]) -> Collecting:
    """Return a collector that looks at a view of each dataset."""
    return Collecting(lambda dataset: collector.add(view(dataset)), collector.result)


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """What a measure is computed from; `Measure.family` says which of it there is."""

    original: Table
    """Confidential records, or one row a person."""
    settings: Settings
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
    aside: Table | None = None
    """Columns of the original that take no part in the synthesis, such as replicate weights."""

    @property
    def with_aside(self) -> Table:
        """The original with these columns."""
        if self.aside is None:
            return self.original
        return self.original.with_columns(self.aside.columns)

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
    def periods(self) -> Frame:
        """The periods of a measure of panels."""
        if self.frame is None:
            raise ValueError("needs the periods of a panel")
        return self.frame

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
    stacks: bool = False
    """Of family "halves": whether it looks at all datasets of a half together, or at the first."""
    view: type[View] | None = None
    """How the data need to be seen; None: in any way."""
    needs: tuple[Need, ...] = ()
    """What it cannot do without; what its family needs is added; ``names``: variables that both
    sides have; ``models``: those that made the datasets, which are not in their files."""
    result_field: str = ""
    """Field of the result that holds it; the key when empty."""
    axis: Axis = "risk"
    """What it is about."""
    of_person: bool = False
    """Whether its limits are about single persons in the data, as those of halves always are."""
    after: str = ""
    """The key of the measure that is computed and listed before it; the last ones when empty."""
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

    def __post_init__(self) -> None:
        """Add what its family needs."""
        object.__setattr__(self, "needs", (*self.needs, *_OF_FAMILY[self.family]))

    @property
    def check(self) -> str | None:
        """The key under ``checks:``; None where it always runs."""
        return None if self.switch is None else self.switch or self.key

    @property
    def place(self) -> str:
        """The field of the result that holds it."""
        return self.result_field or self.key

    def runs(self, settings: Settings) -> bool:
        """Whether it is switched on."""
        return self.check is None or is_on(settings, self.check)


def is_on(settings: Settings, check: str) -> bool:
    """Whether a check is switched on."""
    value = getattr(settings, check)
    return bool(getattr(value, "enabled", value))
