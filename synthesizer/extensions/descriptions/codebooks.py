"""Descriptions from codebooks: that of a run (JSON), or a table of variable, label and levels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from synthesizer.data.errors import DataError
from synthesizer.data.files import parse_json, read_text
from synthesizer.data.sources import read_path
from synthesizer.data.table import Kind
from synthesizer.data.values import finite_number
from synthesizer.extensions.descriptions.description import Description, problem

OTHER_NAMES: Mapping[str, str] = {
    "variable": "name",
    "description": "label",
    **dict.fromkeys(("values", "codes"), "levels"),
    "missing codes": "missing",
    **dict.fromkeys(("min", "minimum"), "low"),
    **dict.fromkeys(("max", "maximum"), "high"),
}
"""Other names of columns of a codebook as a table, in small letters."""
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
    columns: dict[str, list[Any]] = {}
    for name in raw.names:
        key = name.strip().lower()
        columns.setdefault(OTHER_NAMES.get(key, key), raw.arrow.column(name).to_pylist())
    if "name" not in columns:
        raise DataError(problem("no_codebook", path=path))
    variables: dict[str, Any] = {}
    for row in range(raw.n_rows):
        cells = {
            key: str(x).strip() for key, values in columns.items() if (x := values[row]) is not None
        }
        if (name := cells.get("name", "")) in variables:
            raise DataError(problem("variable_twice", path=path, name=name))
        variables[name] = _of_row(cells)
    return Description(variables=variables)


def _of_row(cells: Mapping[str, str]) -> dict[str, Any]:
    """Return the facts of one row of a table."""
    levels, missing = (dict(_codes(cells.get(key, ""))) for key in ("levels", "missing"))
    facts: dict[str, Any] = {k: x for k in ("label", "unit", "date_format") if (x := cells.get(k))}
    ends = {key: _number(text) for key in ("low", "high") if (text := cells.get(key))}
    if decimals := cells.get("decimals"):
        facts["decimals"] = int(decimals) if decimals.isdecimal() else decimals
    if ends:
        facts["range"] = ends
    is_date = "date_format" in facts or any(isinstance(end, str) for end in ends.values())
    usual = "categorical" if levels else "date" if is_date else "numeric"
    facts["kind"] = cells.get("kind") or usual
    facts["levels"] = [code for code in levels if code not in missing]
    return facts | _labelled(levels, missing)


def _number(text: str) -> float | str:
    return text if (number := finite_number(text)) is None else number


def _codes(cell: str) -> Iterator[tuple[str, str]]:
    """Yield code and label of each entry of a cell."""
    for part in re.split(r"[;|\n]", cell):
        code, _, text = part.partition("=")
        if part.strip():
            yield code.strip(), text.strip()


def _labelled(levels: Mapping[str, str], missing: Mapping[str, str]) -> dict[str, Any]:
    """Return missing codes, and the labels of levels and missing codes."""
    labels = {code: text for code, text in {**levels, **missing}.items() if text}
    return {"missing": [*missing], "level_labels": labels}


def _of_run(path: Path) -> Description:
    try:
        content = parse_json(read_text(path))
        variables = {one["name"]: _of_entry(one) for one in content["variables"]}
        rows = content["datasets"]["rows"][0]
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        raise DataError(problem("no_codebook", path=path)) from None
    return Description(rows=rows, variables=variables, from_data={"rows": RELEASED})


def _of_entry(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of one variable of a codebook.json."""
    facts = {key: one[key] for key in ("kind", "label", "unit", "decimals", "date_format")}
    kind, levels = Kind(one["kind"]), {entry["level"]: entry["label"] for entry in one["levels"]}
    if kind.is_coded:
        facts["levels"] = [*levels]
    elif kind is not Kind.ID and one["range"] is not None:
        facts |= {"range": one["range"], "from_data": {"range": RELEASED}}
    return facts | _labelled(levels, {entry["code"]: entry["label"] for entry in one["missing"]})
