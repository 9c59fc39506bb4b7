"""Expressions of a configuration, never executed as code."""
