"""Differentially private synthesis: records from noisy tables."""

from __future__ import annotations

from synthesizer.data.plugins import Extension, Key, late

EXTENSION = Extension(
    key=Key(
        name="privacy",
        options=f"{__name__}.private_options:PrivacyOptions",
        description="make records from noisy tables (differential privacy), in place of a chain",
        makes_datasets=True,
    ),
    plan=late(f"{__name__}.planning:plan_privacy"),
    sentences=__name__,
    result=late(f"{__name__}.private_release:read_release"),
    page=late(f"{__name__}.private_page:privacy_section"),
    screen=late(f"{__name__}.private_page:on_screen"),
    codebook=late(f"{__name__}.private_page:codebook_facts"),
)
