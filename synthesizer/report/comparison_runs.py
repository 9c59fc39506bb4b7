"""The part of the comparison page with the figures that decide, one row for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from synthesizer.report.comparison_ties import standing_words, standings_by_run
from synthesizer.report.parts import Block, Cell, DataTable, Form, Section
from synthesizer.report.record import dig, listed, mappings, number, words
from synthesizer.report.svg import el

__all__ = ["MANY_ROWS", "pairs", "runs_section", "value_of"]

MANY_ROWS = 4
"""Rows beyond which a table can be sorted."""


def runs_section(content: Mapping[str, Any]) -> Section:
    """Return the tables of the figures that decide, limits that are exceeded, and links."""
    runs = mappings(content, "runs")
    standings = standings_by_run(dig(content, "frontiers", 0, default={}))
    blocks: list[Block] = []
    if runs:
        caption = f"Usefulness; the frontier is that of {_first_pair(content)}"
        axes = [words(content, "axes", axis, 0) for axis in ("risk", "utility")]
        use = [_use(run, standings, axes) for run in runs]
        sized = "persons of a dataset" if words(content, "units") == "persons" else RECORDS
        used = [(sized, form) if name == RECORDS else (name, form) for name, form in _USE]
        risk, risky = [_risk(run) for run in runs], list(_RISK)
        _add(used, use, runs, "sequence_ratio", ("careers over noise", "figure"))
        _add(risky, risk, runs, "replicated_careers", ("careers of one person", "share"))
        blocks = [_table(caption, used, use, runs), _table("Risk", risky, risk, runs)]
    exceeded = [(words(run, "name"), str(t)) for run in runs for t in listed(run, "exceeded")]
    if exceeded:
        caption = "Limits of the configuration that are exceeded"
        blocks.append(
            DataTable(
                caption=caption, columns=["run", "limit"], forms=["text", "text"], rows=exceeded
            )
        )
    if links := pairs(content, "reports"):
        blocks.append(_links(links))
    lead = "The figures that decide; lower is better in all of them."
    return Section(anchor="runs", title="Runs", lead=lead, blocks=blocks)


def _links(links: Sequence[tuple[str, Any]]) -> Markup:
    """Return links to the reports of the runs."""
    items = [el("li", None, el("a", {"href": str(href)}, name)) for name, href in links]
    return el("div", None, el("p", None, "The reports of the runs:"), el("ul", None, *items))


def _first_pair(content: Mapping[str, Any]) -> str:
    titles = {words(one, "key"): words(one, "title") for one in mappings(content, "measures")}
    keys = [words(content, "axes", axis, 0) for axis in ("risk", "utility")]
    return " and ".join(titles.get(key, key) for key in keys) if all(keys) else "no common figures"


RECORDS = "records of a dataset"
_USE: Sequence[tuple[str, Form]] = (
    ("run", "text"),
    ("on the frontier", "text"),
    ("tie", "text"),
    ("limits exceeded", "count"),
    (RECORDS, "count"),
    ("mean two-way S_pMSE", "figure"),
    ("its spread over datasets", "figure"),
    ("largest", "figure"),
    ("of the pair", "text"),
    ("pMSE ratio", "figure"),
)
_RISK: Sequence[tuple[str, Form]] = (
    ("run", "text"),
    ("CAP", "share"),
    ("spread over single datasets", "share"),
    ("CAP by chance", "share"),
    ("differential confi\u00addentiality", "share"),
    ("its 95 % interval from", "share"),
    ("to", "share"),
    ("DiSCO", "share"),
    ("repU", "share"),
    ("nearer share", "share"),
)


def _table(
    caption: str,
    columns: Sequence[tuple[str, Form]],
    rows: Sequence[Sequence[Cell]],
    runs: Sequence[Mapping[str, Any]],
) -> DataTable:
    """Return a table with a row for each run; those above a limit stand out."""
    return DataTable(
        caption=caption,
        columns=[name for name, _ in columns],
        forms=[form for _, form in columns],
        rows=rows,
        sortable=len(rows) > MANY_ROWS,
        highlight=[i for i, run in enumerate(runs) if listed(run, "exceeded")],
    )


def _use(
    run: Mapping[str, Any], standings: Mapping[str, Mapping[str, Any]], axes: Sequence[str]
) -> list[Cell]:
    name = words(run, "name")
    on = "yes" if name in standings else "no"
    is_known = bool(standings) and all(value_of(run, key) is not None for key in axes)
    return [
        name,
        on if is_known else None,
        standing_words(standings[name]) if name in standings else None,
        None if run.get("has_limits") is False else len(listed(run, "exceeded")),
        number(run, "rows"),
        value_of(run, "mean_two_way"),
        number(run, "figures", "mean_two_way", "range_of_datasets"),
        value_of(run, "worst_two_way"),
        " and ".join(map(str, listed(run, "worst_pair"))) or None,
        _ratio(run),
    ]


def _risk(run: Mapping[str, Any]) -> list[Cell]:
    half = dig(run, "figures", "differential_confidentiality")
    return [
        words(run, "name"),
        value_of(run, "cap"),
        number(run, "figures", "cap", "range_of_datasets"),
        number(run, "figures", "cap", "baseline"),
        number(half, "value"),
        number(half, "low"),
        number(half, "high"),
        value_of(run, "disco"),
        value_of(run, "repu"),
        value_of(run, "nearer_share"),
    ]


def value_of(run: Mapping[str, Any], key: str) -> float | None:
    """Return a run's value of a figure."""
    return number(run, "figures", key, "value")


def _add(
    columns: list[tuple[str, Form]],
    rows: Sequence[list[Cell]],
    runs: Sequence[Mapping[str, Any]],
    key: str,
    column: tuple[str, Form],
) -> None:
    """Add a column with a figure that only panels have, where any run has it."""
    values = [value_of(run, key) for run in runs]
    if any(value is not None for value in values):
        columns.append(column)
        for row, value in zip(rows, values, strict=True):
            row.append(value)


def _ratio(run: Mapping[str, Any]) -> float | None:
    """Return the pMSE ratio by a tree, which sees more, else that by a logit."""
    tree = value_of(run, "pmse_ratio_cart")
    return value_of(run, "pmse_ratio_logit") if tree is None else tree


def pairs(content: Mapping[str, Any], key: str) -> list[tuple[str, Any]]:
    """Return names and values of the mapping at a key; none where there is none."""
    found = dig(content, key)
    return list(found.items()) if isinstance(found, Mapping) else []
