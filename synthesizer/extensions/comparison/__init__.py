"""Runs beside each other: their settings, risk and utility, and the frontier of a grid."""

from __future__ import annotations

from synthesizer.data.plugins import Extension
from synthesizer.extensions.comparison.comparison_commands import COMMANDS

EXTENSION = Extension(task="Choose between settings", commands=COMMANDS)
