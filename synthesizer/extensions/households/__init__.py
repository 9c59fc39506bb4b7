"""Households: who lives together, and how the members of one go together."""

from __future__ import annotations

from synthesizer.data.plugins import Extension

EXTENSION = Extension()
"""It adds a measure alone, by an entry point of its own."""
