"""Keys and target of the disclosure checks: as configured, or suggested."""

from __future__ import annotations

from dataclasses import dataclass

from synthesizer.config import ChainConfig
from synthesizer.data.schema import Kind
from synthesizer.data.table import Table
from synthesizer.plan_names import Columns
from synthesizer.risk.suggest import suggest

__all__ = ["Scenario", "plan_scenario"]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What an intruder knows and seeks.

    Parameters
    ----------
    keys : tuple of str
        Variables that the intruder knows.
    target : str
        Variable that the intruder wants to learn.
    reason : str
        Why these, in plain words.
    """

    keys: tuple[str, ...]
    target: str
    reason: str


def plan_scenario(
    config: ChainConfig, table: Table, columns: Columns
) -> tuple[Scenario | None, list[str], list[str]]:
    """Return the scenario (None when there is none to be had), notes and problems."""
    checks, limits = config.checks, config.limits
    cap_needed = checks.cap or checks.differential_confidentiality.enabled
    problems = _problems(config, table, columns)
    if limits.differential_confidentiality is not None and not (
        checks.differential_confidentiality.enabled
    ):
        problems.append("limits.differential_confidentiality: the check is switched off")
    problems += [
        f"limits.{limit}: the check {check!r} is switched off; switch it on or drop the limit"
        for limit, check in _LIMITED.items()
        if getattr(limits, limit) is not None and not getattr(checks, check)
    ]
    if problems or not cap_needed or not columns.is_complete:
        return None, [], problems
    if checks.keys and checks.target:
        scenario = Scenario(keys=checks.keys, target=checks.target, reason="as configured")
        return scenario, [], []
    return _suggested(config, table)


_LIMITED = {
    "cap": "cap",
    "cap_undefined": "cap",
    "mean_two_way": "two_way",
    "worst_two_way": "two_way",
    "worst_one_way": "one_way",
}


def _problems(config: ChainConfig, table: Table, columns: Columns) -> list[str]:
    keys, target = config.checks.keys, config.checks.target
    problems = []
    for place, name in [
        *(("checks.keys", name) for name in keys or ()),
        *([("checks.target", target)] if target is not None else []),
    ]:
        if name in config.drop:
            problems.append(f"{place}: {name!r} is dropped from the synthesis; take it out")
        elif columns.is_faulty(name):
            continue
        elif name not in table:
            problems += columns.unknown(place, name)
        elif table[name].variable.kind is Kind.ID:
            problems.append(f"{place}: {name!r} is an id and is never synthesised; take it out")
    if keys is not None and len(set(keys)) != len(keys):
        problems.append("checks.keys: a key is there twice; keep one")
    if keys is not None and not keys:
        problems.append("checks.keys: needs at least one key; leave it out for a suggestion")
    if target is not None and target in (keys or ()):
        problems.append(
            f"checks: target {target!r} is also a key, so an intruder would know it; "
            "take it out of the keys"
        )
    return problems


def _suggested(config: ChainConfig, table: Table) -> tuple[Scenario | None, list[str], list[str]]:
    checks = config.checks
    drawn = table.select(n for n in table.names if table[n].variable.kind is not Kind.ID)
    found = suggest(drawn, keys=checks.keys, target=checks.target)
    if not found.keys or found.target is None:
        note = (
            "no keys and target could be found for CAP and differential confidentiality, which are "
            "left out; name them under checks: keys, target"
        )
        return None, [note], []
    return Scenario(keys=found.keys, target=found.target, reason=found.reason), [found.reason], []
