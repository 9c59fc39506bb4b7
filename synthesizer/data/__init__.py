"""Tables of codes, kinds, reading and writing, expressions: the ground floor."""

from typing import Any

view: Any
"""A function that returns the printer for notebooks, a module with ``text_of``, ``html_of``, ``frame_of`` and
``picture_of``; the package sets it."""
