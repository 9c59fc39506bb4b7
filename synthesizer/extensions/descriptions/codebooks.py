"""Descriptions from codebooks: that of a run (JSON), or a table of variable, label and levels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from synthesizer.data.errors import DataError
from synthesizer.data.files import parse_json, read_text
from synthesizer.data.sources import read_path
from synthesizer.data.values import finite_number
from synthesizer.extensions.descriptions.description import Description, problem

COLUMNS: Mapping[str, Sequence[str]] = {
    "name": ("variable", "name"),
    "label": ("label", "description"),
    "kind": ("kind",),
    "levels": ("levels", "values", "codes"),
    "missing": ("missing", "missing codes"),
    "low": ("low", "min", "minimum"),
    "high": ("high", "max", "maximum"),
    "decimals": ("decimals",),
    "date_format": ("date_format",),
    "unit": ("unit",),
}
"""Columns of a codebook as a table, and their names in small letters."""
RELEASED = "from the codebook of a run, which describes synthetic datasets"


def of_codebook(path: Path) -> Description:
    """Return the description of a codebook: codebook.json of a run, or a table of variables.

    Cells of levels and missing codes are like ``1=Yes; 2=No``. Ranges that it lacks must be added
    before a file can be written.

    Raises
    ------
    DataError
        If it is no codebook.
    ConfigError
        With every value that a description cannot have.
    """
    if path.suffix.lower() == ".json":
        return _of_run(path)
    raw = read_path(path, min_rows=1)
    cells = {name.strip().lower(): raw.arrow.column(name).to_pylist() for name in raw.names}
    columns = {
        key: next((cells[name] for name in names if name in cells), None)
        for key, names in COLUMNS.items()
    }
    if columns["name"] is None:
        raise DataError(problem("no_codebook", path=path))
    texts = {key: column for key, column in columns.items() if column is not None}
    variables: dict[str, Any] = {}
    for row in range(raw.n_rows):
        entry = {key: str(column[row] or "").strip() for key, column in texts.items()}
        if (name := entry.pop("name")) in variables:
            raise DataError(problem("variable_twice", path=path, name=name))
        variables[name] = dict(_facts(entry))
    return Description(variables=variables)


def _facts(entry: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the facts of one row of a table."""
    levels, missing = dict(_codes(entry.get("levels"))), dict(_codes(entry.get("missing")))
    ends = {key: text for key in ("low", "high") if (text := entry.get(key))}
    bounds = {k: t if (n := finite_number(t)) is None else n for k, t in ends.items()}
    is_date = bool(entry.get("date_format")) or any(isinstance(v, str) for v in bounds.values())
    yield (
        "kind",
        entry.get("kind") or ("categorical" if levels else "date" if is_date else "numeric"),
    )
    yield from ((key, entry[key]) for key in ("label", "unit", "date_format") if entry.get(key))
    if decimals := entry.get("decimals"):
        yield "decimals", int(decimals) if decimals.isdecimal() else decimals
    if bounds:
        yield "range", bounds
    yield "levels", [code for code in levels if code not in missing]
    yield "missing", [*missing]
    yield "level_labels", {c: text for c, text in (levels | missing).items() if text}


def _codes(cell: str | None) -> Iterator[tuple[str, str]]:
    """Yield code and label of each entry of a cell."""
    for part in re.split(r"[;|\n]", cell or ""):
        code, _, text = part.partition("=")
        if part.strip():
            yield code.strip(), text.strip()


def _of_run(path: Path) -> Description:
    try:
        content = parse_json(read_text(path))
        variables = {one["name"]: dict(_released(one)) for one in content["variables"]}
        rows = content["datasets"]["rows"][0]
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        raise DataError(problem("no_codebook", path=path)) from None
    return Description(rows=rows, variables=variables, from_data={"rows": RELEASED})


def _released(one: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the facts of one variable of a codebook.json."""
    yield from ((k, one[k]) for k in ("kind", "label", "unit", "decimals", "date_format"))
    has_range = one["range"] is not None and one["kind"] in ("numeric", "date")
    if has_range:
        yield "range", one["range"]
    coded = one["kind"] in ("categorical", "ordered", "boolean")
    yield "levels", [level["level"] for level in one["levels"]] if coded else []
    yield "missing", [code["code"] for code in one["missing"]]
    pairs = [(x["level"], x["label"]) for x in one["levels"]]
    pairs += [(x["code"], x["label"]) for x in one["missing"]]
    yield "level_labels", {code: label for code, label in pairs if label}
    yield "from_data", {"range": RELEASED} if has_range else {}
