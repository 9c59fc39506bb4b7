"""What the parts about risk share: scenarios in words, and what was not measured, with reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from synthesizer.measures.catalogue import CHECKS, MEASURES
from synthesizer.measures.measure import is_on
from synthesizer.measures.risk.scenario import Scenario
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.settings import CheckSettings
from synthesizer.report.expected import lone_variable
from synthesizer.report.page import Block, Gap, Words, heading, joined
from synthesizer.report.record import Record

_HALF_SPLIT = "half split"
"""Under this name the checks say that no half could be synthesised at all."""


def by_scenario(
    record: Record, show: Callable[[Record, ScenarioRisk], Iterable[Block]]
) -> Iterator[Block]:
    """Yield what is shown of each scenario under a heading that names keys and target."""
    for part in record.results.risk.scenarios:
        yield heading(in_words(part.scenario))
        yield from show(record, part)


def in_words(scenario: Scenario) -> str:
    """Say keys and target in plain words."""
    how = [
        f"{name} in {cuts if isinstance(cuts, int) else len(cuts) + 1} groups"
        for name, cuts in scenario.groups.items()
    ]
    if near := scenario.tolerance:
        shown = [f"{near.absolute:g}"] if near.absolute else []
        shown += [f"a share of {near.relative:.3g} of the true value"] if near.relative else []
        how.append(f"{scenario.target} within {' or '.join(shown) or '0'} counts as right")
    words = f"Knowing {joined(scenario.keys)}, seeking {scenario.target}"
    return f"{words} ({'; '.join(how)})" if how else words


def absent(
    record: Record, key: str, scenario: Scenario | None = None, *, off: str = ""
) -> Words | Gap:
    """Say why a measure of the catalogue is not shown: it failed, or is switched off.

    ``off`` replaces the sentence for where it is switched off.
    """
    measure, failed = MEASURES[key], record.results.risk.failed
    names = [key if scenario is None else f"{key} ({scenario.label})", key]
    names += [_HALF_SPLIT] * ("halves" in measure.needs)
    words = measure.words or key.upper()
    if why := next((failed[name] for name in names if name in failed), None):
        return Gap(words, f"It could not be computed: {why}")
    return Words([off or f"Not computed: {words}. To have it, set checks.{measure.check} to true."])


# What a run did not measure, why, and what to write in the configuration to have it.

_NAMED = {
    "keys": "checks.keys (what an intruder knows)",
    "target": "checks.target (what an intruder seeks; a number needs checks.groups or "
    "checks.tolerance)",
}


def asked_of(record: Record) -> Mapping[str, Any]:
    """Return the checks as the configuration has them; empty for ``true`` or ``false``."""
    asked = record.manifest.config.get("checks", {})
    return asked if isinstance(asked, Mapping) else {}


def unmeasured(record: Record) -> Iterator[Gap]:
    """Yield a gap for the measures of risk that need keys, and one for those switched off."""
    settings = CheckSettings.model_validate(record.manifest.config.get("checks", {}))
    usual = {
        check: measure
        for check, measure in CHECKS.items()
        if measure.axis == "risk" and measure.is_on and not measure.several
        if "panel" not in measure.needs or record.manifest.panel is not None
    }
    off = {check for check in usual if not is_on(settings, check)}
    lacking = [
        measure.words
        for check, measure in usual.items()
        if check not in off and "scenario" in measure.needs
    ]
    if lacking and not record.results.risk.scenarios:
        yield Gap(
            "; ".join(lacking),
            f"{keys_advice(record)} Until then nothing is known of what the data tell of a person "
            "to somebody who knows some variables: that this page shows no such figure is no sign "
            "of safety.",
            alert=True,
        )
    if off:
        switches = joined([f"checks.{check}" for check in usual if check in off])
        them = "it" if len(off) == 1 else "them"
        yield Gap(
            "; ".join(measure.words for check, measure in usual.items() if check in off),
            f"The configuration switches {them} off: set {switches} to true and run again.",
            alert=True,
        )


def keys_advice(record: Record) -> str:
    """Say why no intruder was assumed and what to name; empty where one was."""
    if record.results.risk.scenarios:
        return ""
    if lone := lone_variable(record):
        return (
            f"These measures need a key and a target, two variables, and {lone} is the only one "
            "here."
        )
    asked = asked_of(record)
    missing = [name for key, name in _NAMED.items() if not asked.get(key)]
    if not missing:
        return "The keys and the target that the configuration names were not used. Run again."
    return (
        "These measures need keys and a target. The configuration does not name them all, and "
        f"the data suggest none. Name {joined(missing)} and run again."
    )
