"""Add new periods of a panel to the datasets of a published run, which do not change."""

from __future__ import annotations

from synthesizer.data.plugins import Extension, Key, late

EXTENSION = Extension(
    key=Key(
        name="extends",
        options=f"{__name__}.extends_options:ExtendsOptions",
        description="the published run of a panel that new periods are added to",
        apart="adds periods to a panel",
    ),
    plan=late(f"{__name__}.published:plan_published"),
    sentences=__name__,
    result=late(f"{__name__}.waves:read_risk"),
    page=late(f"{__name__}.waves:waves_section"),
    screen=late(f"{__name__}.waves:on_screen"),
    codebook=late(f"{__name__}.waves:codebook_facts"),
)
