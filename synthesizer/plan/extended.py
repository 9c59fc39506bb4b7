"""What extensions plan of a run: what they are asked, and what they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from synthesizer.data.errors import ConfigError
from synthesizer.data.plugins import extension_keys, hooks, makers
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.data.workers import Advance, Phases
from synthesizer.engine.chain import ChainSpec, Finisher, FittedChain, KeptFits, Resampling
from synthesizer.engine.source import Source
from synthesizer.measures.scenario import Scenario
from synthesizer.plan.context import Context
from synthesizer.plan.findings import Findings, Found
from synthesizer.report.blocks import DataTable
from synthesizer.report.record import Manifest

Ahead = TypeVar("Ahead")


@dataclass(frozen=True)
class Asked:
    """What an extension plans from."""

    context: Context
    """Configuration and data."""
    options: Any
    """The section of its key."""
    chain: ChainSpec
    """The chain: steps in order, rules, forbidden rows."""
    scenarios: Sequence[Scenario]
    """What an intruder knows and seeks, the main scenario first."""
    is_sound: bool
    """Whether the rest of the plan has no problem; otherwise None may be planned without one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitting:
    """What a source is fitted to, and how."""

    table: Table
    """The confidential data, or a half of them."""
    spec: ChainSpec
    """The whole chain, with its rules."""
    fitted: ChainSpec
    """What is fitted of it."""
    seed: Seed
    m: int
    """Datasets that will be asked for."""
    workers: int
    is_half: bool = False
    """Whether the table is a half: then an interrupt ends the work and keeps no best so far."""
    progress: Advance | None = None
    tell: Callable[[str], None] | None = None
    """Receives progress in words."""
    kept: KeptFits | None = None
    """Fits that are not made again."""

    def chain(self) -> FittedChain:
        """Fit the chain."""
        return self.fitted.fit(
            self.table,
            self.seed,
            replicates=self.m,
            n_jobs=self.workers,
            progress=self.progress,
            kept=self.kept,
        )


class Work(KeptFits, Protocol):
    """What draws and writes the datasets of a chain in place of the core, and keeps its fits."""

    def datasets(self, chain: Source, folder: Path, phases: Phases) -> Iterator[tuple[str, Table]]:
        """Write the datasets into a folder; yield the name of each, and what checks look at."""

    def everybody(self) -> tuple[Table, tuple[Table, ...]]:
        """Return all units of the source and of each dataset, with the variables of scenarios."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Planned:
    """What an extension planned; what is left as it is here changes nothing."""

    no_model: str = ""
    """A sentence in place of the usual one on why there is no model to save."""
    fits_chain: bool = True
    """Of what makes whole datasets: whether the whole chain is fitted, not only the models of
    variables that are drawn after the categories."""
    keeps_rules: bool = False
    """Of what makes datasets: whether these keep to rules, forbidden rows and supports, and to kept
    variables, or its plan refuses them. Otherwise a configuration with these is refused."""
    makes_all: bool = False
    """Of what makes datasets: whether it makes all variables, not only the categories."""
    rounds: int = 1
    """How often each model of the chain is fitted."""
    since: int | None = None
    """First period that the checks look at as new."""
    finishers: tuple[Finisher, ...] = ()
    """What changes every dataset of the chain, in this order."""
    resampling: Resampling | None = None
    """How the sample of every dataset is drawn anew, in place of a bootstrap of units."""
    contained: Manifest | None = None
    """Manifest of the run whose datasets those of this one contain, the first in the first."""

    @property
    def makes_datasets(self) -> bool:
        """Whether it makes the datasets in place of the chain: it has a source of its own."""
        return type(self).source is not Planned.source

    def source(self, fitting: Fitting) -> Source:
        """Return what makes the datasets."""
        return fitting.chain()

    def write(self, table: Table, written: Table, folder: Path, number: int) -> str | None:  # noqa: ARG002
        """Write dataset ``number`` and return its name; None where the core writes it.

        ``written`` is the table in the form of the source.
        """
        return None

    def work(self, plan: Any) -> AbstractContextManager[Work] | None:  # noqa: ARG002
        """Open what draws and writes the datasets of a plan; None where the core does."""
        return None

    def foreseen(self, ahead: Ahead, plan: Any) -> Ahead:  # noqa: ARG002
        """Return the `Forecast` of a plan with what is different."""
        return ahead

    def facts(self, source: Source) -> Mapping[str, Any]:  # noqa: ARG002
        """Return how its datasets were made, for manifest and codebook: nothing computed from the
        confidential data.
        """
        return {}

    def blocks(self, m: int) -> Iterator[DataTable]:  # noqa: ARG002
        """Yield what a screen shows of the plan for m datasets."""
        yield from ()


_RULES = ("rules", "forbid", "structural_zeros", "keep")


def plan_extensions(
    context: Context, chain: ChainSpec, scenarios: Sequence[Scenario], *, is_sound: bool
) -> Found[dict[str, Planned]]:
    """Return what extensions planned whose keys the configuration has, by key."""
    found, made = Findings(), dict[str, Planned]()
    whole = [name for name in context.config.sections if name in makers()]
    if len(whole) > 1:
        found.problem("makers_differ", names=whole)
    sections = context.config.sections
    for name, hook in hooks("plan", sections):
        asked = Asked(context, sections[name], chain, scenarios, is_sound=is_sound)
        answer = hook(asked)
        if not _is_answer(answer, asked, may_rest=bool(extension_keys()[name].placements)):
            raise ConfigError(f"extension {name!r}: plan returned no Found of a Planned")
        if (planned := found.add(answer)) is not None:
            made[name] = planned
            if planned.makes_datasets and not planned.keeps_rules:
                for key in _RULES:
                    if getattr(context.config, key):
                        found.problem("not_kept_by_maker", key=key, maker=name)
    return found.of(made)


def _is_answer(answer: Any, asked: Asked, *, may_rest: bool) -> bool:
    if not isinstance(answer, Found) or not isinstance(answer.made, Planned | None):
        return False
    said = (answer.problems, answer.notes)
    are_texts = all(isinstance(x, tuple) and all(isinstance(y, str) for y in x) for x in said)
    if answer.made is not None:
        return are_texts and all(isinstance(one, Finisher) for one in answer.made.finishers)
    return are_texts and (bool(answer.problems) or not asked.is_sound or may_rest)
