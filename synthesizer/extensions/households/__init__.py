"""Households: persons who belong together are drawn as households, head first."""

from __future__ import annotations

from synthesizer.data.plugins import Extension, Key, late

EXTENSION = Extension(
    key=Key(
        name="household",
        options=f"{__name__}.household_options:HouseholdOptions",
        description="persons who belong together: drawn as households, head first",
        arrange=late(f"{__name__}.household_plan:arrange"),
    ),
    sentences=__name__,
)
