"""The parts about risk: at a glance, CAP, nearest records, attacks, further measures."""

from __future__ import annotations

from typing import Any

import pytest

from synthesizer.measures.figure import Figure, Measured, Row, column
from synthesizer.measures.risk.near_verbatim import Look, NearVerbatim
from synthesizer.report.appendix import further_utility
from synthesizer.report.blocks import Chart, DataTable, Heading, Note, Section
from synthesizer.report.figures import result_blocks
from synthesizer.report.page import fragment, render
from synthesizer.report.risk import (
    nearest_section,
)
from synthesizer.report.risk_attribution import cap_section
from tests.report import utility_examples
from tests.report.blocks import charts, notes, tables
from tests.report.risk_examples import (
    ANCHORS,
    record,
    risk,
    risk_sections,
)

NASTY = 'town </script><script>alert("x")</script>'


def numbers(section: Section) -> set[float]:
    cells = (cell for own in tables(section) for row in own.rows for cell in row)
    return {float(cell) for cell in cells if isinstance(cell, int | float)}


# All of them.


def test_every_section_is_there_in_order() -> None:
    sections = risk_sections(record())
    assert [section.anchor for section in sections] == [*ANCHORS[:-1], "further-risk"]
    assert all(section.lead and section.blocks for section in sections)


def test_tables_are_as_wide_as_their_headings_and_hold_nothing_but_cells() -> None:
    for section in risk_sections(record()):
        for own in tables(section):
            assert len(own.columns) == len(own.forms)
            assert {len(row) for row in own.rows} <= {len(own.columns)}, own.caption
            cells = [cell for row in own.rows for cell in row]
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


def test_names_from_data_cannot_become_markup_or_turn_text_around() -> None:
    page = render("Risk", risk_sections(record(risk(NASTY))), banner="Confidential")
    assert "&lt;script&gt;alert" in page
    assert "<script>alert" not in page
    page = render("Risk", risk_sections(record(risk("to\u202ewn"))), banner="Confidential")
    assert "to\ufffdwn" in page
    assert "\u202e" not in page


def test_nothing_at_all_still_says_how_to_switch_on() -> None:
    nothing = risk(
        scenarios=(), inference=(), replicated=None, nearest=None, attacks=None, further={}
    )
    anchors = [section.anchor for section in risk_sections(record(nothing))]
    assert anchors == ["risk", "uniques", "nearest", "inference", "attacks"]


# CAP.


def test_every_subset_and_rule_has_a_panel_with_its_marks() -> None:
    section = cap_section(record())
    picture = charts(section)[0].svg
    for words in ("all records", "uniques on the keys", "special uniques"):
        assert picture.count(f">{words}<") == 2
    assert picture.count("line-original dotted") == 6 + 1  # and the legend
    assert picture.count("line-baseline dashed") == 6 + 1
    assert picture.count('class="line-baseline"') == 3  # where no match counts as 0
    assert picture.count('class="line-synthetic"') == 6


# Nearest records.


@pytest.mark.parametrize(
    ("low", "high", "tone"), [(0.06, 0.2, "alert"), (0.02, 0.08, "look"), (-0.01, 0.03, "good")]
)
def test_the_part_has_the_words_and_the_colour_of_the_verdict(
    low: float, high: float, tone: str
) -> None:
    ends = {"excess": (low + high) / 2, "low": low, "high": high}
    look = Look(differing=2, inside=30, outside=20, noticed=0.03, **ends)
    found = NearVerbatim(
        n=500, n_outside=500, variables=20, datasets=1, splits=1, looks=(look, look), loose=look,
        groups=(), n_groups=4, repeats=2, repeats_outside=2, repeats_by_chance=9,
    )  # fmt: skip
    section = nearest_section(record(risk(further={"near_verbatim": found})))
    (words,) = notes(section, tone)
    assert "point to 30 of 500" in words
    assert "Copies are noticed from 15 on, near copies from 15 on" in words
    assert ("Noticed: 10 more than held out (2.0 to 8.0 %)" in words) == (low == 0.02)


# Measures without a part of their own.


class Step(Row):
    """Steps of the example"""

    name: str = column("Step", "text")
    ok: bool = column("Whether it is well", "text")
    names: tuple[str, ...] = column("Names", "text")
    hidden: float = 0.5


class Example(Measured):
    """What a measure of somebody else returns."""

    steps: tuple[Step, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        figure = Figure(
            key="example", name="example", value=0.2, meaning="share of the {records}",
            direction="lower is safer", n=9, baseline=0.1,
        )  # fmt: skip
        return (figure,)


def test_a_measure_without_a_part_of_its_own_is_shown_by_figures_and_rows() -> None:
    result = Example(steps=(Step(name=NASTY, ok=True, names=("a", "b")),))
    title, chart, rows = result_blocks(result, "An example", "persons", alone=False)
    assert title == Heading("An example")
    assert isinstance(chart, Chart)
    assert "<desc>example 0.200 (baseline 0.100)</desc>" in chart.svg
    assert isinstance(rows, DataTable)
    assert rows.caption == "Steps of the example"
    assert (rows.columns, rows.rows) == (
        ["Step", "Whether it is well", "Names"],
        [[NASTY, "yes", "a, b"]],
    )
    assert "<script" not in fragment(rows)
    further = risk_sections(record(risk(further={"an_example": result})))[-1]
    assert further.anchor == "further-risk"
    assert "An example" in str(further.blocks[0])
    useful = further_utility(utility_examples.run(further={"an_example": result}))
    assert useful.title == "Further measures of utility"
    assert "An example" in str(useful.blocks[0])


def test_a_figure_of_utility_is_in_no_picture_of_risk_and_notes_are_shown() -> None:
    class Useful(Example):
        """What a measure of utility returns."""

        notes: tuple[str, ...]

        @property
        def figures(self) -> tuple[Figure, ...]:
            figure = super().figures[0]
            return (figure.model_copy(update={"direction": "lower is better", "chance": 0.1}),)

    step = Step(name="a", ok=True, names=())
    result = Useful(steps=(step,), notes=("no model for a",))
    _, rows, note = result_blocks(result, "An example", "persons", alone=False)
    assert isinstance(rows, DataTable)
    assert isinstance(note, Note)
    assert note.text == "no model for a."
