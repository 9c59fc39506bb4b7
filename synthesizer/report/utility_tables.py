"""Measures of tables as the checks file holds them, of this version's format or the first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthesizer.report.parts import Gap
from synthesizer.report.record import Record, dig, listed, mappings, number, words

__all__ = [
    "AGAIN",
    "TableRow",
    "by_ways",
    "lone_variable",
    "no_tables",
    "pair_columns",
    "table_rows",
    "utility_of",
]

AGAIN = "Run again with this version and --overwrite to have it."


@dataclass(frozen=True)
class TableRow:
    """Measures of one table, averaged over the synthetic datasets.

    Parameters
    ----------
    names : tuple of str
        Its variables.
    ways : int
        How many they are.
    values : mapping of str to float or None
        Measures by name.
    """

    names: tuple[str, ...]
    ways: int
    values: Mapping[str, float | None]

    @property
    def standardised(self) -> float | None:
        """S_pMSE."""
        return self.values.get("S_pMSE")


def utility_of(record: Record) -> Mapping[str, Any]:
    """Return what the file holds about utility; empty for files of the first format."""
    found = dig(record.checks, "utility")
    return found if isinstance(found, Mapping) else {}


def table_rows(record: Record) -> list[TableRow]:
    """Return the measures of every table, the worst S_pMSE first.

    Examples
    --------
    >>> tables = {"columns": ["variables", "ways", "S_pMSE"], "mean": [["a:b", 2, 1.5]]}
    >>> table_rows(Record({}, {"tables": tables}))[0].names
    ('a', 'b')
    """
    tables = dig(utility_of(record), "tables") or dig(record.checks, "tables")
    columns = [words(name) for name in listed(tables, "columns")]
    if "variables" not in columns or "ways" not in columns:
        return []
    rows = [_row(columns, row) for row in listed(tables, "mean") if isinstance(row, list)]
    known = [row for row in rows if row is not None]
    return sorted(known, key=lambda row: -_or_lowest(row.standardised))


def _row(columns: Sequence[str], cells: Sequence[Any]) -> TableRow | None:
    if len(cells) != len(columns):
        return None
    cell = dict(zip(columns, cells, strict=True))
    ways = number(cell["ways"])
    names = _names(cell.pop("variables"), int(ways or 0))
    if not names:
        return None
    return TableRow(names, len(names), {name: number(value) for name, value in cell.items()})


def _names(variables: Any, ways: int) -> tuple[str, ...]:
    """Return the variables of a table: a list, or in the first format names joined by colons."""
    if isinstance(variables, list):
        return tuple(words(name) for name in variables)
    if not isinstance(variables, str):
        return ()
    parts = variables.split(":")
    return tuple(parts) if ways == len(parts) else (variables,) if ways == 1 else ()


def _or_lowest(value: float | None) -> float:
    return float("-inf") if value is None else value


def by_ways(rows: Iterable[TableRow], ways: int) -> list[TableRow]:
    """Return the tables of one order."""
    return [row for row in rows if row.ways == ways]


def pair_columns(rows: Sequence[TableRow]) -> list[str]:
    """Return the measures that are shown of tables, where at least one row has them."""
    wanted = ("S_pMSE", "ROE", "SPECKS", "chi_square", "VW", "df", "p", "p_VW")
    found = [name for name in wanted if any(row.values.get(name) is not None for row in rows)]
    # Voas and Williamson's statistic stands in where there is no Pearson one
    return [name for name in found if name != "VW" or "chi_square" not in found]


def lone_variable(record: Record) -> str:
    """Return the variable of a run that has only one, so that there is no pair; else nothing.

    Examples
    --------
    >>> lone_variable(Record({"chain": [{"variable": "sex"}]}, {}))
    'sex'
    >>> lone_variable(Record({"chain": [{"variable": "sex"}, {"variable": "age"}]}, {}))
    ''
    """
    rows = table_rows(record)
    names = [row.names[0] for row in by_ways(rows, 1)]
    if not names:
        steps = mappings(record.manifest, "chain")
        names = [words(step, "variable") for step in steps if step.get("kind") != "id"]
    return names[0] if len(names) == 1 and not by_ways(rows, 2) else ""


def no_tables(record: Record, what: str, *, pairs: bool = False) -> Gap:
    """Say why there are no measures of tables, of pairs or of single variables."""
    failed = dig(record.checks, "failed", "tables") or dig(utility_of(record), "failed", "tables")
    if failed:
        return Gap(what, f"The tables could not be compared: {failed}")
    if pairs and (lone := lone_variable(record)):
        return Gap(what, f"A pair needs two variables, and {lone} is the only one that is left.")
    switch = "checks.two_way" if pairs else "checks.one_way"
    return Gap(
        what,
        f"checks.json holds no measures of these tables: the check was off (set {switch} to true "
        "and run again), or the file is not as this version writes it.",
    )
