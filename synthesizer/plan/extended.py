"""The part of extensions in a plan: the request that they receive, and the plan they return."""

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
from synthesizer.engine.chain import ChainSpec, Finisher, FitStore, FittedChain, Resampling
from synthesizer.engine.source import Source
from synthesizer.measures.scenario import Scenario
from synthesizer.plan.context import Context
from synthesizer.plan.findings import Draft, Findings
from synthesizer.report.blocks import DataTable
from synthesizer.report.record import Manifest

Ahead = TypeVar("Ahead")


@dataclass(frozen=True)
class PlanRequest:
    """The input of the ``plan`` hook of an extension."""

    context: Context
    """Configuration and data."""
    options: Any
    """Options under its key."""
    chain: ChainSpec
    """Steps in order, rules, forbidden rows."""
    scenarios: Sequence[Scenario]
    """Keys and targets of intruders, the main scenario first."""
    is_sound: bool
    """Whether the plan has no problem so far; if not, the hook may return None."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitting:
    """The input of a fit: data, chain and resources."""

    table: Table
    """The confidential data, or a half of them."""
    spec: ChainSpec
    """The whole chain, with its rules."""
    fitted: ChainSpec
    """The part of the chain to fit."""
    seed: Seed
    m: int
    """Number of datasets that will be drawn."""
    workers: int
    is_half: bool = False
    """Whether the table is a half; then an interrupt keeps no result."""
    progress: Advance | None = None
    announce: Callable[[str], None] | None = None
    """Receives progress in words."""
    store: FitStore | None = None
    """Earlier fits, which are not repeated."""

    def chain(self) -> FittedChain:
        """Return the fitted chain."""
        return self.fitted.fit(
            self.table,
            self.seed,
            replicates=self.m,
            n_jobs=self.workers,
            progress=self.progress,
            store=self.store,
        )


class Work(FitStore, Protocol):
    """Draws and writes the datasets of a chain instead of the core, and stores its fits."""

    def datasets(self, chain: Source, folder: Path, phases: Phases) -> Iterator[tuple[str, Table]]:
        """Write the datasets into a folder; yield the name and the checked table of each."""

    def everybody(self) -> tuple[Table, tuple[Table, ...]]:
        """Return all units of the source and of each dataset, with the variables of scenarios."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Planned:
    """The plan of an extension; the defaults change nothing."""

    no_model: str = ""
    """Reason why there is no model to save, instead of the usual sentence."""
    fits_categories: bool = True
    """Whether models of categories are fitted, too, not only those of numbers."""
    keeps_rules: bool = False
    """Whether its datasets satisfy rules, structural zeros and kept variables."""
    makes_all: bool = False
    """Whether it makes all variables, not only the categories."""
    rounds: int = 1
    """How often each model of the chain is fitted."""
    since: int | None = None
    """First period that the checks treat as new."""
    finishers: tuple[Finisher, ...] = ()
    """Changes to every dataset of the chain, in this order."""
    resampling: Resampling | None = None
    """Resampling for every dataset, instead of a bootstrap of units."""
    differences: tuple[str, ...] = ()
    """How datasets of a low fidelity differ from the original, without values."""
    contained: Manifest | None = None
    """Manifest of the run whose datasets are contained in those of this one."""

    @property
    def makes_datasets(self) -> bool:
        """Whether it makes the datasets instead of the chain, by a ``source`` method."""
        return type(self).source is not Planned.source

    def fitting(self, fitting: Fitting) -> Fitting:
        """Return the input of the fit, perhaps with other records in place of the confidential."""
        return fitting

    @property
    def draws(self) -> bool:
        """Whether it draws or writes datasets in its own way, without conditions."""
        hooks = ("source", "work", "write")
        return any(getattr(type(self), hook) is not getattr(Planned, hook) for hook in hooks)

    def source(self, fitting: Fitting) -> Source:
        """Return the source of the datasets."""
        return fitting.chain()

    def write(self, table: Table, written: Table, folder: Path, number: int) -> str | None:  # noqa: ARG002
        """Write dataset ``number`` and return its name; None if the core writes it.

        ``written`` is the table in the form of the source.
        """
        return None

    def work(self, plan: Any) -> AbstractContextManager[Work] | None:  # noqa: ARG002
        """Return a context that draws and writes the datasets; None if the core does."""
        return None

    def foreseen(self, ahead: Ahead, plan: Any) -> Ahead:  # noqa: ARG002
        """Return the changed `Forecast` of a plan."""
        return ahead

    def facts(self, source: Source) -> Mapping[str, Any]:  # noqa: ARG002
        """Return facts for manifest and codebook, none of them computed from confidential data."""
        return {}

    def blocks(self, m: int) -> Iterator[DataTable]:  # noqa: ARG002
        """Yield tables of the plan for a screen, for m datasets."""
        yield from ()


_RULES = ("rules", "forbid", "structural_zeros", "keep")


def plan_extensions(
    context: Context, chain: ChainSpec, scenarios: Sequence[Scenario], *, is_sound: bool
) -> Draft[dict[str, Planned]]:
    """Return the plans of the configured extensions, by key."""
    findings, made = Findings(), dict[str, Planned]()
    whole = [name for name in context.config.sections if name in makers()]
    if len(whole) > 1:
        findings.problem("makers_differ", names=whole)
    sections = context.config.sections
    for name, hook in hooks("plan", sections):
        request = PlanRequest(context, sections[name], chain, scenarios, is_sound=is_sound)
        answer = hook(request)
        if not _is_answer(answer, request, may_rest=bool(extension_keys()[name].placements)):
            raise ConfigError(f"extension {name!r}: plan returned no Draft of a Planned")
        if (planned := findings.add(answer)) is not None:
            made[name] = planned
            if planned.makes_datasets and not planned.keeps_rules:
                for key in _RULES:
                    if getattr(context.config, key):
                        findings.problem("not_kept_by_maker", key=key, maker=name)
    return findings.of(made)


def _is_answer(answer: Any, request: PlanRequest, *, may_rest: bool) -> bool:
    if not isinstance(answer, Draft) or not isinstance(answer.made, Planned | None):
        return False
    lists = answer.problems, answer.notes
    are_texts = all(isinstance(x, tuple) and all(isinstance(y, str) for y in x) for x in lists)
    if answer.made is not None:
        return are_texts and all(isinstance(one, Finisher) for one in answer.made.finishers)
    return are_texts and (bool(answer.problems) or not request.is_sound or may_rest)
