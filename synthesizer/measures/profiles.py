"""Whose limits a verdict holds results against, and which tests decide it.

A profile is data: an entry of ``profiles.yaml`` with its source. A purpose chooses among the tests
of use: code that is written on a file needs its structure, teaching needs plausible records,
analysis needs the relations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from math import inf
from typing import Literal

from pydantic import Field

from synthesizer.data.errors import did_you_mean
from synthesizer.data.yaml_text import packaged_yaml
from synthesizer.measures.measure_options import Part

Recipient = Literal["public", "contract"]
Purpose = Literal["code", "teaching", "analysis"]

PURPOSES: Mapping[Purpose, frozenset[str] | None] = {
    "code": frozenset({"structure"}),
    "teaching": frozenset(
        {"structure", "few_records", "worst_one_way", "tails", "impossible_records", "associations"}
    ),
    "analysis": None,
}
"""Tests of use that decide; None: all."""
ALWAYS = frozenset({"few_records", "unlike", "columns", "control"})
"""Tests of the input, which decide under every profile."""


class Profile(Part):
    """Limits with their source, and the tests that decide."""

    source: str
    note: str = ""
    limits: Mapping[str, float | Mapping[Recipient, float] | None] = Field(default_factory=dict)
    decides: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)

    def limit(self, key: str, release: Recipient) -> float:
        """Return the limit of a test; infinite where neither source nor default sets one."""
        limit = {**profiles()["default"].limits, **self.limits}.get(key)
        limit = limit[release] if isinstance(limit, Mapping) else limit
        return inf if limit is None else limit

    def deciding(self, subject: str, purpose: Purpose) -> Collection[str] | None:
        """Return the tests that decide a line; None: all."""
        keys = self.decides.get(subject)
        if subject == "use" and keys is None:
            return PURPOSES[purpose]
        return None if keys is None else ALWAYS.union(keys)


@cache
def profiles() -> Mapping[str, Profile]:
    """Return every profile by its name."""
    listed = packaged_yaml("synthesizer.measures", "profiles.yaml")
    return {name: Profile(**entry) for name, entry in listed.items()}


def known_profile(name: str) -> str:
    """Return the name of a profile, or raise with the names that there are."""
    if name not in profiles():
        choice = f"choose one of {', '.join(profiles())}"
        raise ValueError(f"names no profile: {did_you_mean(name, profiles(), choice)}")
    return name
