"""Definition of a measure: switch, needs, computation and figures."""

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
Stage = Literal["datasets", "scenario", "splits", "halves"]
"""When a measure is computed: for each dataset as it is added; for each scenario; for each scenario
and split of the train-holdout test; for its first split (or the control file)."""
Need = Literal["scenario", "halves", "models", "panel", "names", "weight"]
_OF_FAMILY: Mapping[Stage, tuple[Need, ...]] = {
    "datasets": (),
    "scenario": ("scenario",),
    "splits": ("scenario", "halves"),
    "halves": ("halves",),
}
"""Needs of all measures of a family."""


class Settings(Protocol):
    """Options of the checks by name: `synthesizer.measures.settings.CheckSettings`."""

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
        Whether other variables may also have original values; False if a configuration lists
        those that have.
    redrawn : bool
        Whether each dataset has another sample, drawn by the design of a survey.
    public : tuple of str
        Variables whose levels are a public code list.
    conditions : tuple of int
        How many given conditions hold for 0, 1 to 4, 5 to 19, and more persons (or records) of the
        data; empty without conditions.
    """

    proper: bool = False
    kept: Strings = ()
    may_keep: bool = True
    redrawn: bool = False
    public: Strings = ()
    conditions: tuple[int, ...] = ()

    @property
    def kind(self) -> dict[str, bool]:
        """Facts that decide the combining rule."""
        return {"proper": self.proper, "keeps": bool(self.kept), "redrawn": self.redrawn}


@dataclass(frozen=True, eq=False)
class Collecting:
    """A measure of datasets that are added one by one.

    Parameters
    ----------
    add : callable
        Adds the next dataset.
    result : callable
        Returns the result of the datasets so far, at least one.
    notes : tuple of str
        Notes on the result.
    """

    add: Callable[[Table], None]
    result: Callable[[], Any]
    notes: tuple[str, ...] = ()


def seeing(view: Callable[[Table], Any], collector: Collector[Any]) -> Collecting:
    """Return a collector of a view of each dataset."""
    return Collecting(lambda dataset: collector.add(view(dataset)), collector.result)


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """Input of a measure; which fields are set depends on `Measure.family`."""

    original: Table
    """Confidential records, or one row per person."""
    settings: Settings
    """Options of the measures."""
    names: tuple[str, ...] = ()
    """Variables of whole records: common to both files, without identifiers."""
    identifiers: tuple[str, ...] = ()
    """Identifiers of a file, read as levels."""
    seed: Seed = field(default_factory=lambda: Seed(0))
    """Seed of all random draws."""
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
    """Results (of family "datasets": collectors) of earlier measures."""
    synthetic: tuple[Table, ...] = ()
    """Datasets with the variables that scenarios need."""
    control: Table | None = None
    """Holdout records from a control file."""
    item: Any = None
    """A question, a fit or a propensity model."""
    scenario: Scenario | None = None
    """Keys and target; for halves those of the main scenario."""
    run: HalfRun | None = None
    """Training and holdout records, and datasets made from the training records."""
    listener: Listener = silent
    """Receives the progress of long steps."""
    aside: Table | None = None
    """Columns of the original outside the synthesis, such as replicate weights."""

    @property
    def with_aside(self) -> Table:
        """The original with the columns of ``aside``."""
        if self.aside is None:
            return self.original
        return self.original.with_columns(self.aside.columns)

    @property
    def weight(self) -> str | None:
        """Name of the survey weight, if it is a number of the original."""
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
    def required_scenario(self) -> Scenario:
        """The scenario; raises ValueError without one."""
        if self.scenario is None:
            raise ValueError("needs a scenario")
        return self.scenario

    @property
    def halves(self) -> HalfRun:
        """The run of the train-holdout test; raises ValueError without one."""
        if self.run is None:
            raise ValueError("needs halves")
        return self.run

    @property
    def periods(self) -> Frame:
        """The periods of the panel; raises ValueError without one."""
        if self.frame is None:
            raise ValueError("needs the periods of a panel")
        return self.frame

    @property
    def by_class(self) -> dict[str, Any]:
        """Keys, target and groups as keyword arguments."""
        main = self.required_scenario
        return {"keys": main.keys, "target": main.target, "groups": main.groups}

    @property
    def key_groups(self) -> dict[str, Any]:
        """Keys and their groups as keyword arguments."""
        main = self.required_scenario
        groups = {name: wanted for name, wanted in main.groups.items() if name in main.keys}
        return {"keys": main.keys, "groups": groups}


Items = Callable[[Case], Sequence[tuple[str, Any]]]
Compute = Callable[[Case], Any]


@dataclass(frozen=True)
class Measure:
    """A measure: switch, needs, computation and figures."""

    key: str
    """Its name, also in messages; ``{}`` stands for the item."""
    family: Stage
    """When it is computed."""
    _: KW_ONLY
    compute: Compute
    """Returns the result of a `Case`, or None; of family "datasets" a `Collecting`."""
    switch: str | None = ""
    """Its key under ``checks:``; ``key`` when empty. None: it always runs."""
    words: str = ""
    """Description of the switch, in one of the measures that share it."""
    options: type[Part] | None = None
    """Options of the switch; yes or no when None."""
    several: bool = False
    """Whether the switch is a list of these options."""
    stacks: bool = False
    """Of family "halves": whether it pools all datasets of a half; else it uses the first."""
    view: type[View] | None = None
    """View of the data that it needs; None: any."""
    needs: tuple[Need, ...] = ()
    """What must be available, in addition to the needs of its family. ``names``: variables that
    both files have; ``models``: the models that made the datasets."""
    result_field: str = ""
    """Field of the result for it; ``key`` when empty."""
    axis: Axis = "risk"
    """Whether it measures risk or utility."""
    of_person: bool = False
    """Whether its limits protect single persons; always true for halves."""
    after: str = ""
    """Key of the measure that is computed and listed before it."""
    items: Items | None = None
    """Returns names and items, if it is computed for several."""
    gather: Callable[[Case, Sequence[Any]], Any] | None = None
    """Of family "splits": combines the results of all splits of a scenario."""
    saved: Callable[[Any], Any] = lambda value: value
    """Returns the part of the computed result that is saved, without values of records."""
    figures: tuple[FigureKind, ...] = ()
    """Kinds of its figures."""
    result: type[Measured] = Measured
    """Type of its results under ``further``."""

    def __post_init__(self) -> None:
        """Add the needs of its family."""
        object.__setattr__(self, "needs", (*self.needs, *_OF_FAMILY[self.family]))

    @property
    def check(self) -> str | None:
        """The key under ``checks:``; None if it always runs."""
        return None if self.switch is None else self.switch or self.key

    @property
    def result_name(self) -> str:
        """Name of the field of the results for it."""
        return self.result_field or self.key

    def runs(self, settings: Settings) -> bool:
        """Whether it is switched on."""
        return self.check is None or is_on(settings, self.check)


def is_on(settings: Settings, check: str) -> bool:
    """Whether a check is switched on."""
    value = getattr(settings, check)
    return bool(getattr(value, "enabled", value))
