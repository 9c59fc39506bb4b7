"""Surveys with a weight: estimates with and without it, and what it gives away."""

from __future__ import annotations

from synthesizer.data.plugins import Extension

EXTENSION = Extension()
"""It adds measures alone, each by an entry point of its own."""
