"""What may be common knowledge: levels that dominate, and keys that give the target away."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthesizer.report.parts import Block, Cell, DataTable, Note
from synthesizer.report.record import dig, mappings, number, words
from synthesizer.report.risk_reading import ScenarioPart, count, names, part
from synthesizer.report.risk_words import COUNT, TEXT

__all__ = ["determined_blocks", "dominance_blocks"]


def dominance_blocks(warnings: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    """Yield the levels that stand behind many disclosures, with the line that excludes them.

    Parameters
    ----------
    warnings : sequence of mapping
        Those of the attribute measures, of all datasets; each pair is shown once, as in the
        dataset where it counts most.
    """
    if not warnings:
        return
    yield Note(
        "Few levels stand behind many of the disclosures. Where what they tell is common "
        "knowledge, exclude them: the table holds the line to add under checks.exclude."
    )
    pairs: dict[str, list[Mapping[str, Any]]] = {}
    for row in warnings:
        pairs.setdefault(_line(row), []).append(row)
    yield DataTable(
        caption="Levels that dominate DiSCO, as in the dataset where they count most. Of all: "
        "share of what DiSCO counts; known anyway: share of the original records with the level "
        "of the key that have this target",
        columns=(
            "Target",
            "Its level",
            "Key",
            "Its level (key)",
            "To exclude",
            "Datasets",
            "Records",
            "Of all",
            "Known anyway",
        ),
        forms=(*[TEXT] * 5, "count", "count", "share", "share"),
        rows=[_dominant(line, same) for line, same in pairs.items()],
        sortable=len(pairs) > 4,
    )


def _dominant(line: str, same: Sequence[Mapping[str, Any]]) -> tuple[Cell, ...]:
    row = max(same, key=lambda entry: number(entry, "share") or 0.0)
    return (
        words(row, "target"),
        _level(row, "target_level"),
        words(row, "key") or None,
        _level(row, "key_level"),
        line,
        len(same),
        count(row, "records"),
        number(row, "share"),
        number(row, "prior"),
    )


def _level(row: Mapping[str, Any], name: str) -> Cell:
    plain = number(row, "confidential", name)
    return words(row, "confidential", name) or None if plain is None else plain


def _line(row: Mapping[str, Any]) -> str:
    pairs = {"target_level": dig(row, "confidential", "target_level")}
    if words(row, "key"):
        key_level = dig(row, "confidential", "key_level")
        pairs |= {"key": words(row, "key"), "key_level": key_level}
    return "- {" + ", ".join(f"{name}: {_quoted(value)}" for name, value in pairs.items()) + "}"


def _quoted(value: Any) -> str:
    """Write a level so that YAML reads it as the same number or text."""
    plain = number(value)
    return json.dumps(words(value), ensure_ascii=False) if plain is None else json.dumps(plain)


def determined_blocks(scenario: ScenarioPart) -> Iterator[Block]:
    """Yield what each key by itself, and all together, tell of the target in the original.

    Parameters
    ----------
    scenario : ScenarioPart
        One intruder.
    """
    found = part(scenario.content, "determined")
    entries = [*mappings(found, "single"), part(found, "together")]
    shown = [entry for entry in entries if entry]
    if not shown:
        return
    fields = ("shared", "determined", "told", "guessed")
    yield DataTable(
        caption="What keys tell of the target in the original: of the records that share their "
        "key value with others, those whose key value goes with one target only",
        columns=(
            "Keys",
            "By construction",
            "Shared",
            "One target only",
            "Right by the key",
            "Right by guessing",
            "Share",
        ),
        forms=("text", "text", *[COUNT] * 4, "figure"),
        rows=[
            (
                ", ".join(names(entry, "keys")),
                _construction(entry),
                *(count(entry, field) for field in fields),
                number(entry, "share"),
            )
            for entry in shown
        ],
    )


def _construction(entry: Mapping[str, Any]) -> str:
    if entry.get("by_construction") is True:
        return "yes"
    return "nearly" if entry.get("nearly") is True else "no"
