"""Keys and targets of the disclosure checks: as configured, or suggested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from synthesizer.config import ChainConfig
from synthesizer.config_checks import InferenceConfig, ScenarioConfig
from synthesizer.data.codes import Groups
from synthesizer.data.schema import Kind
from synthesizer.data.table import Table
from synthesizer.plan_names import Columns
from synthesizer.risk.attribution import Tolerance
from synthesizer.risk.exclusions import Exclusion
from synthesizer.risk.scenario import Scenario
from synthesizer.risk.suggest import suggest

__all__ = ["configured_scenario", "plan_scenarios"]


def plan_scenarios(
    config: ChainConfig, table: Table, columns: Columns
) -> tuple[tuple[Scenario, ...], list[str], list[str]]:
    """Return the scenarios (none when there are none to be had), notes and problems."""
    checks = config.checks
    names = _Names(config, table, columns)
    problems = [*names.scenario("checks", checks), *_switched_off(config)]
    for number, part in enumerate(checks.scenarios, start=1):
        problems += names.scenario(f"checks.scenarios.{number}", part)
    for number, inference in enumerate(checks.inference, start=1):
        problems += names.inference(f"checks.inference.{number}", inference)
    problems += _half_split_problems(names, config)
    if problems or not checks.needs_scenario or not columns.is_complete:
        return (), [], problems
    further = tuple(configured_scenario(part) for part in checks.scenarios)
    if checks.keys and checks.target:
        return (configured_scenario(checks), *further), [], []
    first, notes = _suggested(config, table)
    return ((first, *further) if first else further), notes, []


def configured_scenario(part: ScenarioConfig, **found: object) -> Scenario:
    """Return the configured scenario; ``found`` holds what was suggested.

    Keys and target are empty where they are neither configured nor suggested.
    """
    given = part.tolerance
    tolerance = Tolerance(absolute=given.absolute, relative=given.relative) if given else None
    settings = {"keys": part.keys or (), "target": part.target or ""} | found
    groups: Mapping[str, Groups] = part.groups
    exclude = tuple(
        Exclusion(target_level=e.target_level, key=e.key, key_level=e.key_level)
        for e in part.exclude
    )
    return Scenario(
        groups=groups,
        tolerance=tolerance,
        exclude=exclude,
        **settings,  # type: ignore[arg-type]
    )


def _suggested(config: ChainConfig, table: Table) -> tuple[Scenario | None, list[str]]:
    checks = config.checks
    drawn = table.select(n for n in table.names if table[n].variable.kind is not Kind.ID)
    found = suggest(drawn, keys=checks.keys, target=checks.target)
    if not found.keys or found.target is None:
        return None, [
            "no keys and target could be found for the risk measures that need them, which are "
            "left out; name them under checks: keys, target"
        ]
    scenario = configured_scenario(
        checks, keys=found.keys, target=found.target, reason=found.reason
    )
    return scenario, [found.reason]


class _Names:
    """Checks the names under ``checks`` against the columns of the source."""

    def __init__(self, config: ChainConfig, table: Table, columns: Columns) -> None:
        self.config, self.table, self.columns = config, table, columns

    def known(self, place: str, name: str, *, ids: bool = False) -> list[str]:
        """Say what is wrong with a name: unknown, dropped, or an identifier."""
        if name in self.config.drop and not ids:
            return [f"{place}: {name!r} is dropped from the synthesis; take it out"]
        if self.columns.is_faulty(name):
            return []
        if name not in self.table:
            return self.columns.unknown(place, name)
        if not ids and self.table[name].variable.kind is Kind.ID:
            return [f"{place}: {name!r} is an id and is never synthesised; take it out"]
        return []

    def scenario(self, place: str, part: ScenarioConfig) -> Iterator[str]:
        """Yield every problem of a scenario."""
        keys, target = part.keys, part.target
        for name in keys or ():
            yield from self.known(f"{place}.keys", name)
        if target is not None:
            yield from self.known(f"{place}.target", target)
        yield from _key_problems(place, keys, target)
        yield from self.groups(place, part.groups)
        for exclusion in part.exclude:
            if exclusion.key is not None:
                yield from self.known(f"{place}.exclude", exclusion.key)
        column = self.table.get(target) if target is not None else None
        if part.tolerance is not None and column is not None and column.is_coded:
            yield f"{place}.tolerance: the target {target!r} is not numeric; take it out"

    def groups(self, place: str, groups: Mapping[str, Groups]) -> Iterator[str]:
        """Yield every problem of grouped variables."""
        for name in groups:
            yield from self.known(f"{place}.groups", name)
            if name in self.table and self.table[name].is_coded:
                yield f"{place}.groups: {name!r} is not numeric; take it out"

    def inference(self, place: str, part: InferenceConfig) -> Iterator[str]:
        """Yield every problem of an inference check."""
        for name in (part.sensitive, *part.public):
            yield from self.known(place, name)
        if part.sensitive in part.public:
            yield f"{place}: {part.sensitive!r} is both sensitive and public; choose"
        for name in part.baseline or ():
            if name not in part.public:
                yield f"{place}.baseline: {name!r} is not among the public variables; add it there"
        yield from self.groups(place, part.groups)
        column = self.table.get(part.sensitive)
        if part.positive is None or column is None or not column.is_coded:
            return
        if part.positive not in column.variable.labels:
            count = column.variable.n_codes
            yield f"{place}.positive: is none of the {count} levels of {part.sensitive!r}"


def _key_problems(place: str, keys: tuple[str, ...] | None, target: str | None) -> Iterator[str]:
    if keys is not None and len(set(keys)) != len(keys):
        yield f"{place}.keys: a key is there twice; keep one"
    if keys is not None and not keys:
        yield f"{place}.keys: needs at least one key; leave it out for a suggestion"
    if target is not None and target in (keys or ()):
        yield (
            f"{place}: target {target!r} is also a key, so an intruder would know it; "
            "take it out of the keys"
        )


def _half_split_problems(names: _Names, config: ChainConfig) -> Iterator[str]:
    settings = config.checks.differential_confidentiality
    if settings.by is not None:
        yield from names.known("checks.differential_confidentiality.by", settings.by)
    if settings.units is not None:
        place = "checks.differential_confidentiality.units"
        yield from names.known(place, settings.units, ids=True)


_SWITCHES: Mapping[str, str] = {
    "cap": "cap",
    "cap_undefined": "cap",
    "cap_u": "cap",
    "cap_special_uniques": "cap",
    "tcap": "cap",
    "repu": "identity",
    "disco": "attribute",
    "replicated_uniques": "replicated_uniques",
    "differential_confidentiality": "differential_confidentiality",
    "worst_group": "differential_confidentiality",
    "nearer_share": "nearest",
    "revealed_share": "inference",
    "auc": "inference",
    "attack_risk": "attacks",
    "mean_two_way": "two_way",
    "worst_two_way": "two_way",
    "worst_one_way": "one_way",
}
"""The check that each limit is about."""


def _switched_off(config: ChainConfig) -> Iterator[str]:
    checks, limits = config.checks, config.limits
    for limit, check in _SWITCHES.items():
        value = getattr(checks, check)
        on = bool(getattr(value, "enabled", value))
        if getattr(limits, limit) is not None and not on:
            yield (
                f"limits.{limit}: the check {check!r} is switched off; switch it on or drop "
                "the limit"
            )
    by = checks.differential_confidentiality.by
    if limits.worst_group is not None and by is None:
        yield "limits.worst_group: needs checks.differential_confidentiality.by; name a variable"
