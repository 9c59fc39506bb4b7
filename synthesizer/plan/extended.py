"""What extensions plan of a run: what they are asked, and what they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthesizer.data.errors import ConfigError
from synthesizer.data.plugins import hooks, makers
from synthesizer.data.table import Table
from synthesizer.engine.chain import ChainSpec, FittedChain
from synthesizer.engine.source import Source
from synthesizer.measures.scenario import Scenario
from synthesizer.models.step import Step
from synthesizer.plan.context import Context
from synthesizer.plan.findings import Findings, Found
from synthesizer.report.blocks import Block


@dataclass(frozen=True)
class Asked:
    """What an extension plans from."""

    context: Context
    """Configuration and data."""
    options: Any
    """The section of its key."""
    steps: Sequence[Step]
    """The chain, in order."""
    scenarios: Sequence[Scenario]
    """What an intruder knows and seeks, the main scenario first."""
    is_sound: bool
    """Whether the rest of the plan has no problem."""


class Planned:
    """What an extension planned; what is left as it is here changes nothing."""

    fits_chain = True
    """Of what makes whole datasets: whether the whole chain is fitted, not only the models of
    variables that are drawn after the categories."""

    def source(
        self,
        table: Table,
        spec: ChainSpec,
        chain: FittedChain | None,
        *,
        tell: Callable[[str], None] | None,
        keeps_best: bool,
    ) -> Source:
        """Return what makes whole datasets.

        Parameters
        ----------
        table : Table
            The confidential data, or a half of them.
        spec : ChainSpec
            The whole chain, with its rules.
        chain : FittedChain, optional
            What was fitted of it; None where there is nothing to fit.
        tell : callable, optional
            Receives progress in words.
        keeps_best : bool
            Whether an interrupt keeps the best so far; otherwise it ends the work.
        """
        raise NotImplementedError

    def facts(self, source: Source) -> Mapping[str, Any]:  # noqa: ARG002
        """Return how its datasets were made, for manifest and codebook: nothing computed from the
        confidential data.
        """
        return {}

    def blocks(self, m: int) -> Iterator[Block]:  # noqa: ARG002
        """Yield what a screen shows of the plan for m datasets."""
        yield from ()


def plan_extensions(
    context: Context, steps: Sequence[Step], scenarios: Sequence[Scenario], *, is_sound: bool
) -> Found[dict[str, Planned]]:
    """Return what extensions planned whose keys the configuration has, by key."""
    found, made = Findings(), dict[str, Planned]()
    whole = [name for name in context.config.sections if name in makers()]
    if len(whole) > 1:
        found.problem("makers_differ", names=whole)
    sections = context.config.sections
    for name, hook in hooks("plan", sections):
        asked = Asked(context, sections[name], steps, scenarios, is_sound=is_sound)
        answer = hook(asked)
        if not isinstance(answer, Found) or not isinstance(answer.made, Planned | None):
            raise ConfigError(f"extension {name!r}: plan returned no Found of a Planned")
        if (planned := found.add(answer)) is not None:
            made[name] = planned
    return found.of(made)
