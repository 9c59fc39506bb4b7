"""Reads the code lists of the simulated workforce, one CSV file each."""

from __future__ import annotations

import csv
from collections.abc import Callable
from importlib.resources import files
from typing import Any, TypeVar, get_type_hints

R = TypeVar("R")

_READ: dict[object, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    tuple[str, ...]: lambda text: tuple(text.split()),
}


def code_list(name: str, kind: Callable[..., R]) -> tuple[R, ...]:
    """Return the rows of a list as named tuples, each field as its annotation says."""
    hints = get_type_hints(kind)
    return tuple(
        kind(**{field: _READ[hints[field]](row[field]) for field in hints}) for row in _rows(name)
    )


def keyed_list(name: str, kind: Callable[..., R]) -> dict[str, R]:
    """Return the rows of a list by their column ``code``."""
    codes = (row["code"] for row in _rows(name))
    return dict(zip(codes, code_list(name, kind), strict=True))


def _rows(name: str) -> list[dict[str, str]]:
    path = files(__package__).joinpath("lists", f"{name}.csv")
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
