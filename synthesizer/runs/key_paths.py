"""Keys of nested mappings as paths, and how they are written with dots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["KeyPath", "display", "flattened"]

KeyPath = tuple[str, ...]
"""Where a value stands in a configuration."""


def flattened(content: Mapping[str, Any], path: KeyPath = ()) -> dict[KeyPath, Any]:
    """Return the values of nested mappings by their paths; lists are values.

    Examples
    --------
    >>> flattened({"m": 5, "models": {"cart": {"min_leaf": 3}}})
    {('m',): 5, ('models', 'cart', 'min_leaf'): 3}
    """
    found: dict[KeyPath, Any] = {}
    for key, value in content.items():
        here = (*path, str(key))
        if isinstance(value, Mapping) and value:
            found |= flattened(value, here)
        else:
            found[here] = value
    return found


def display(path: KeyPath) -> str:
    """Write a path with dots; names that hold dots stand in backticks.

    Examples
    --------
    >>> display(("models", "cart", "min_leaf")), display(("variables", "Jul.93", "method"))
    ('models.cart.min_leaf', 'variables.`Jul.93`.method')
    """
    return ".".join(f"`{part}`" if "." in part else part for part in path)
