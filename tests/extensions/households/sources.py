"""A file of households, which a table of mistakes changes; see `tests.plan.test_messages`."""

from __future__ import annotations

from tests.extensions.households.household_file import HOUSEHOLD, RULES, household_frame

SOURCES = {
    "homes": (
        household_frame(60).to_csv(index=False),
        {"checks": False, "household": HOUSEHOLD, "variables": RULES["variables"]},
    )
}
