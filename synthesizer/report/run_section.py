"""What was run: data, chain, configuration, versions and time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from markupsafe import Markup

from synthesizer.report.careers_reading import is_panel, unit_words
from synthesizer.report.numbers import DASH, written
from synthesizer.report.page import fragment
from synthesizer.report.parts import Block, Cell, DataTable, Gap, Note, Section
from synthesizer.report.record import Record, dig, listed, mappings, number, words

__all__ = ["run_section"]

_SHOWN = 4
"""Predictors that the table of the chain names; the full list is behind it."""
_LISTED = 12
_SEED = "see manifest.json, which is as confidential as the data"


def run_section(record: Record) -> Section:
    """Return the run's facts; the seed is never among them.

    Parameters
    ----------
    record : Record
        A run; its manifest is read.
    """
    return Section(
        anchor="run",
        title="What was run",
        lead="Data, chain of models, configuration and versions, so that it can be done again.",
        blocks=list(_blocks(record)),
    )


def _blocks(record: Record) -> Iterator[Block]:
    if not record.manifest:
        yield Gap("the facts of the run", "manifest.json is missing or cannot be read.")
        return
    yield _facts(record)
    yield from (Note(words(note)) for note in listed(record.manifest, "notes"))
    yield from _chain(record.manifest)
    yield from _configuration(record.manifest)
    yield from _versions(record.manifest)


def _facts(record: Record) -> DataTable:
    manifest = record.manifest

    def count(*path: str) -> str:
        return written(number(manifest, *path), "count")

    rows: list[list[Cell]] = [
        ["Data", words(manifest, "data", "origin") or DASH],
        ["Original records", count("data", "rows")],
        ["Variables", count("data", "columns")],
        ["Synthetic datasets (m)", count("m")],
        [f"{unit_words(record).capitalize()} in each", count("rows")],
        ["Made", words(manifest, "created") or DASH],
        ["Seed", _SEED],
        ["SHA-256 of the data", words(manifest, "data", "sha256") or DASH],
    ]
    if is_panel(record):
        rows[2:2] = [
            ["Original persons", count("panel", "persons")],
            ["Periods", count("panel", "periods")],
        ]
    return DataTable(
        caption="The run", columns=["What", "Value"], forms=["text", "text"], rows=rows
    )


def _chain(manifest: Mapping[str, Any]) -> Iterator[Block]:
    steps = mappings(manifest, "chain")
    if not steps:
        yield Gap("the chain of models", "manifest.json does not hold it.")
        return
    yield DataTable(
        caption="The chain: each variable is drawn from its model given those before it",
        columns=["Variable", "Kind", "Model", "Model of missing codes", "Predictors"],
        forms=("text", "text", "text", "text", "text"),
        rows=[
            [
                words(step, "variable"),
                words(step, "kind"),
                " of ".join([words(step, "model"), *map(str, listed(step, "base"))]),
                words(step, "model_of_missing_codes") or DASH,
                _shortened([words(name) for name in listed(step, "predictors")]),
            ]
            for step in steps
        ],
        sortable=len(steps) > _LISTED,
    )
    yield _predictors(steps)


def _shortened(names: list[str]) -> str:
    if len(names) <= _SHOWN:
        return ", ".join(names) or "none"
    return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"


def _predictors(steps: list[Mapping[str, Any]]) -> Markup:
    """Return the full lists; where each step takes all before it, that is said instead."""
    before: list[str] = []
    own = []
    for step in steps:
        names = [words(name) for name in listed(step, "predictors")]
        if set(names) != set(before):
            own.append((words(step, "variable"), names))
        before.append(words(step, "variable"))
    told = "Every variable has all variables above it as predictors."
    if own:
        told = "All other variables have all variables above them as predictors."
    table = DataTable(
        caption=told,
        columns=["Variable", "All its predictors"],
        forms=["text", "text"],
        rows=[[name, ", ".join(names) or "none"] for name, names in own],
    )
    body = fragment(table) if own else Markup("<p>{}</p>").format(told)
    short = " short" if len(own) <= _LISTED else ""
    return Markup(
        '<details class="numbers{}"><summary>All predictors</summary>{}</details>'
    ).format(short, body)


def _configuration(manifest: Mapping[str, Any]) -> Iterator[Block]:
    config = dig(manifest, "config")
    if not isinstance(config, Mapping):
        yield Gap("the configuration", "manifest.json does not hold it.")
        return
    shown = {**config, "seed": _SEED} if "seed" in config else dict(config)
    text = yaml.safe_dump(_plain(shown), sort_keys=False, allow_unicode=True, width=90)
    yield Markup("<h3>Configuration</h3><pre tabindex='0'>{}</pre>").format(text)


def _plain(value: Any) -> Any:
    """Return only what YAML writes safely."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def _versions(manifest: Mapping[str, Any]) -> Iterator[Block]:
    packages, seconds = (dig(manifest, key, default={}) for key in ("packages", "seconds"))
    versions = [["Python", words(manifest, "python") or DASH]]
    if isinstance(packages, Mapping):
        versions += [[str(name), words(version)] for name, version in packages.items()]
    yield DataTable(
        caption="Versions", columns=["Package", "Version"], forms=["text", "text"], rows=versions
    )
    if isinstance(seconds, Mapping) and seconds:
        yield DataTable(
            caption="Time, in seconds",
            columns=["Phase", "Seconds"],
            forms=["text", "figure"],
            rows=[[str(name), number(value)] for name, value in seconds.items()],
        )
