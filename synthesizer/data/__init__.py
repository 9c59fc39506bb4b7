"""Tables of codes, kinds, reading and writing, expressions: the ground floor."""

from typing import Any

view: Any
"""A function that returns the printer of results for notebooks; the package sets it."""
