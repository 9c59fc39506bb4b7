"""The page that compares runs: map, table of runs, settings that differ, every figure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from synthesizer.report.comparison_runs import MANY_ROWS, pairs, runs_section, value_of
from synthesizer.report.map import map_section
from synthesizer.report.map_places import map_data
from synthesizer.report.numbers import plural
from synthesizer.report.page import render
from synthesizer.report.parts import Block, Cell, DataTable, Form, Note, Section
from synthesizer.report.record import dig, listed, mappings, number, words

__all__ = ["comparison_page", "setting_text"]

BANNER = (
    "Confidential: computed from the confidential data. For the data steward; not for release "
    "with the datasets."
)
UNSET = "not set"
MOST_COLUMNS = 4
"""Runs up to which they are the columns of the table of all figures."""


def comparison_page(content: Mapping[str, Any], *, title: str = "Comparison of runs") -> str:
    """Return the page of a comparison as HTML.

    Parameters
    ----------
    content : mapping
        What ``Comparison.to_dict`` gives; with ``reports`` (name of a run: relative link) where
        there are reports, and ``failed`` (name of a setting: why) where some settings of a grid
        could not be run.
    title : str
        Heading of the page.

    Examples
    --------
    >>> "Comparison of runs" in comparison_page({"runs": []})
    True
    """
    data = map_data(content)
    sections = [
        map_section(content, data),
        _notes(content),
        runs_section(content),
        _settings(content),
        _figures(content),
        _meanings(content),
    ]
    return render(
        title,
        [section for section in sections if section.blocks],
        banner=BANNER,
        subtitle=plural(len(mappings(content, "runs")), "run"),
        data=None if data is None else {"map": data.to_dict()},
        scripts=("map.js",),
    )


def setting_text(value: Any) -> str:
    """Write a value of a configuration.

    Examples
    --------
    >>> setting_text(True), setting_text("cart"), setting_text([1, 2]), setting_text(None)
    ('true', 'cart', '[1, 2]', 'not set')
    """
    if value is None:
        return UNSET
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _notes(content: Mapping[str, Any]) -> Section:
    blocks: list[Block] = [Note(str(note)) for note in listed(content, "notes")]
    for name, why in pairs(content, "failed"):
        told = "; ".join(map(str, why)) if isinstance(why, list) else str(why)
        blocks.append(Note(f"The setting {name} failed and is not compared: {told}", "alert"))
    return Section(anchor="notes", title="Before you choose", lead="", blocks=blocks)


def _settings(content: Mapping[str, Any]) -> Section:
    runs, keys = mappings(content, "runs"), list(map(str, listed(content, "differing")))
    not_shared = {*keys, *map(str, listed(content, "left_out"))}
    same = {
        key: setting_text(value)
        for key, value in (pairs(runs[0], "settings") if runs else [])
        if key not in not_shared
    }
    blocks: list[Block] = []
    if keys:
        blocks.append(
            DataTable(
                caption="Settings that are not the same in all runs",
                columns=["run", *keys, "seed"],
                forms=["text"] * (len(keys) + 2),
                rows=[
                    [
                        words(run, "name"),
                        *(_setting_cell(dig(run, "differing", k)) for k in keys),
                        words(run, "seed") or None,
                    ]
                    for run in runs
                ],
                sortable=len(runs) > MANY_ROWS,
            )
        )
    elif runs:
        rest = " but what is declared of single variables" if not_shared else ""
        blocks.append(Note(f"The settings of all runs are the same{rest}."))
    if same:
        caption = "Settings that all runs share; the rest are defaults"
        rows = list(same.items())
        blocks.append(
            DataTable(
                caption=caption, columns=["setting", "value"], forms=["text", "text"], rows=rows
            )
        )
    return Section(anchor="settings", title="Settings", lead="What was set.", blocks=blocks)


def _setting_cell(value: Any) -> Cell:
    """Return numbers as they are, so that they are sorted as numbers."""
    known = number(value)
    return setting_text(value) if known is None else value


def _figures(content: Mapping[str, Any]) -> Section:
    runs = mappings(content, "runs")
    blocks: list[Block] = []
    for axis, what in (("risk", "Risk"), ("utility", "Loss of utility")):
        found = [
            (words(one, "key"), words(one, "title"))
            for one in mappings(content, "measures")
            if one.get("axis") == axis
            and any(value_of(run, words(one, "key")) is not None for run in runs)
        ]
        if found:
            blocks.append(_matrix(f"{what}, every figure", runs, found))
    return Section(
        anchor="figures",
        title="Every figure",
        lead="Lower is better in all of them.",
        blocks=blocks,
    )


def _matrix(
    caption: str, runs: Sequence[Mapping[str, Any]], found: Sequence[tuple[str, str]]
) -> DataTable:
    """Return runs as columns where they are few, else as rows."""
    names = [words(run, "name") for run in runs]
    by_run: list[list[Cell]] = [[value_of(run, key) for key, _ in found] for run in runs]
    titles = [title for _, title in found]
    if len(runs) <= MOST_COLUMNS:
        cells, heads, sides, corner = [*zip(*by_run, strict=True)], names, titles, "figure"
    else:
        cells, heads, sides, corner = [*map(tuple, by_run)], titles, names, "run"
    figures: list[Form] = ["figure"] * len(heads)
    return DataTable(
        caption=caption,
        columns=[corner, *heads],
        forms=["text", *figures],
        rows=[[side, *row] for side, row in zip(sides, cells, strict=True)],
        sortable=len(cells) > MANY_ROWS and corner == "run",
    )


def _meanings(content: Mapping[str, Any]) -> Section:
    runs = mappings(content, "runs")
    rows = [
        (
            words(one, "title"),
            words(one, "meaning"),
            "yes" if one.get("same_rows") is False else "no",
        )
        for one in mappings(content, "measures")
        if any(value_of(run, words(one, "key")) is not None for run in runs)
    ]
    table = DataTable(
        caption="Figures in words",
        columns=["figure", "what it says", "comparable between datasets of different sizes"],
        forms=["text", "text", "text"],
        rows=rows,
    )
    return Section(
        anchor="meanings",
        title="What the figures mean",
        lead="",
        blocks=[table] if rows else [],
    )
