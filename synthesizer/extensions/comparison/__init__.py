"""Runs beside each other: their settings, risk and utility, and the frontier of a grid."""

from __future__ import annotations

from synthesizer.data.plugins import Extension, late

EXTENSION = Extension(
    task="Choose between settings", commands=late(f"{__name__}.comparison_commands:commands")
)
