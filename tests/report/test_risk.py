"""The parts about risk: at a glance, CAP, nearest records, attacks, further measures."""

from __future__ import annotations

from typing import Any

import pytest

from synthesizer.report.blocks import Section
from synthesizer.report.risk_attribution import differential_section
from tests.report.blocks import notes, tables
from tests.report.risk_examples import (
    half,
    record,
    risk,
    risk_sections,
)


def numbers(section: Section) -> set[float]:
    cells = (cell for table in tables(section) for row in table.rows for cell in row)
    return {float(cell) for cell in cells if isinstance(cell, int | float)}


# All of them.


def test_tables_are_as_wide_as_their_headings_and_hold_nothing_but_cells() -> None:
    for section in risk_sections(record()):
        for table in tables(section):
            assert len(table.columns) == len(table.forms)
            assert {len(row) for row in table.rows} <= {len(table.columns)}, table.caption
            cells = [cell for row in table.rows for cell in row]
            assert all(cell is None or isinstance(cell, str | int | float) for cell in cells)


def test_every_number_that_matters_is_in_a_table() -> None:
    shown = set().union(*(numbers(section) for section in risk_sections(record())))
    for part in risk().scenarios:
        rows: list[Any] = [] if part.cap is None else [*part.cap.synthetic, *part.cap.singles]
        rows += [] if part.identity is None else [part.identity.mean]
        rows += [] if part.attribute is None else [part.attribute.mean]
        rows += [] if part.tcap is None else part.tcap.synthetic
        rows += [] if part.differential is None else part.differential.comparisons
        for row in rows:
            floats = {value for value in row.model_dump().values() if isinstance(value, float)}
            assert floats <= shown, row


# CAP.


# Nearest records.


# Measures without a part of their own.


@pytest.mark.parametrize(("low", "is_named"), [(-0.1, False), (0.9, True), (None, False)])
def test_a_group_with_a_clear_excess_is_named(low: float | None, is_named: bool) -> None:
    worst = risk().scenarios[0].differential.worst_group
    comparison = half(worst_group=worst.model_copy(update={"low": low, "high": 0.95}))
    section = differential_section(record(comparison))
    named = [note for note in notes(section, "alert") if note.startswith("In group ")]
    assert len(named) == is_named
