"""What a run did not measure, why, and what to write in the configuration to have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from synthesizer.report.parts import Gap
from synthesizer.report.record import Record, dig
from synthesizer.report.risk_reading import has_control_file, joined, part, risk_part, scenarios
from synthesizer.report.utility_tables import lone_variable

__all__ = ["keys_advice", "unmeasured"]

_WITH_KEYS = {
    "cap": "CAP and TCAP",
    "identity": "repU",
    "attribute": "DiSCO",
    "suda": "special uniques",
    "differential_confidentiality": "differential confidentiality by the half split (DCAP)",
}
"""What needs keys and a target, by the key of the configuration that switches it off."""
_WITHOUT_KEYS = {
    "replicated_uniques": "replicated uniques",
    "nearest": "the share nearer to the fitted half",
}
_NAMED = {
    "keys": "checks.keys (what an intruder knows)",
    "target": "checks.target (what an intruder seeks; a number needs checks.groups or "
    "checks.tolerance)",
}


def unmeasured(record: Record) -> Iterator[Gap]:
    """Yield a gap for the measures of risk that need keys, and one for those switched off.

    Parameters
    ----------
    record : Record
        A run; nothing is said of files whose checks cannot be read.

    Examples
    --------
    >>> checks = {"risk": {"scenarios": []}}
    >>> [gap.what[:18] for gap in unmeasured(Record({}, checks))]
    ['CAP and TCAP, repU']
    """
    if "scenarios" not in risk_part(record) or has_control_file(record):
        return
    off = {key for key in (*_WITH_KEYS, *_WITHOUT_KEYS) if _is_off(record, key)}
    wanted = [name for key, name in _WITH_KEYS.items() if key not in off]
    if wanted and not scenarios(record):
        why = (
            f"{keys_advice(record)} Until then nothing is known of what the data tell of a person "
            "to somebody who knows some variables: that this page shows no such figure is no sign "
            "of safety."
        )
        yield Gap(joined(wanted), why, alert=True)
    if off:
        names = [name for key, name in (_WITH_KEYS | _WITHOUT_KEYS).items() if key in off]
        switches = joined([f"checks.{key}" for key in (*_WITH_KEYS, *_WITHOUT_KEYS) if key in off])
        why = f"The configuration switches them off: set {switches} to true and run again."
        if len(off) == 1:
            why = f"The configuration switches it off: set {switches} to true and run again."
        yield Gap(joined(names), why, alert=True)


def keys_advice(record: Record) -> str:
    """Say why no intruder was assumed and what to name; empty where one was.

    Examples
    --------
    >>> keys_advice(Record({"chain": [{"variable": "sex"}]}, {}))
    'These measures need a key and a target, two variables, and sex is the only one here.'
    """
    if scenarios(record):
        return ""
    if lone := lone_variable(record):
        return (
            f"These measures need a key and a target, two variables, and {lone} is the only one "
            "here."
        )
    given = _checks(record)
    missing = [name for key, name in _NAMED.items() if not given.get(key)]
    if not missing:
        return "The keys and the target that the configuration names were not used. Run again."
    return (
        "These measures need keys and a target. The configuration does not name them all, and "
        f"the data suggest none. Name {joined(missing)} and run again."
    )


def _is_off(record: Record, key: str) -> bool:
    value = _checks(record).get(key)
    return value is False or dig(value, "enabled") is False


def _checks(record: Record) -> Mapping[str, Any]:
    return part(record.manifest, "config", "checks")
