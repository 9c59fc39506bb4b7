"""Households: how members of one go together, and whether whole ones are there again."""

from __future__ import annotations

from synthesizer.data.plugins import Extension

EXTENSION = Extension()
"""It adds measures alone, each by an entry point of its own."""
