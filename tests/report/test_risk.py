"""The parts about risk: at a glance, CAP, nearest records, attacks, further measures."""

from __future__ import annotations

from typing import Any

import pytest

from synthesizer.measures.figure import Figure, Measured, Row, column
from synthesizer.measures.risk.near_verbatim import Look, NearVerbatim
from synthesizer.measures.scenario import Scenario, Tolerance
from synthesizer.report.appendix import figures_section, further_utility
from synthesizer.report.blocks import Chart, DataTable, Gap, Heading, Note, Section
from synthesizer.report.figures import CATALOGUE, figure_of, rate_chart, result_blocks
from synthesizer.report.page import fragment, render
from synthesizer.report.risk import (
    attacks_section,
    glance_section,
    in_words,
    nearest_section,
)
from synthesizer.report.risk_attribution import cap_section
from tests.report import utility_examples
from tests.report.blocks import charts, gaps, notes, of_kind, spoken, table, tables
from tests.report.risk_examples import (
    ANCHORS,
    LABEL,
    attacks,
    record,
    risk,
    risk_sections,
    scenario,
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


def test_every_chart_says_what_it_shows_under_a_name_of_its_own() -> None:
    for section in risk_sections(record()):
        for chart in charts(section):
            assert chart.reads.endswith(".")
            words = chart.svg.split("<desc>")[1].split("</desc>")[0]
            assert any(letter.isdigit() for letter in words)
        names = [chart.svg.split("<title>")[1].split("</title>")[0] for chart in charts(section)]
        if section.anchor in ("risk", "cap", "identity", "uniques"):
            assert len(set(names)) == len(names)


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


@pytest.mark.parametrize(
    ("switch", "words"),
    [
        ({"cap": None, "tcap": None}, "set checks.cap to true"),
        ({"tcap": None}, "Not computed: TCAP. To have it, set checks.cap to true"),
        ({"differential": None}, "switch it on before a decision"),
        ({"identity": None}, "set checks.identity to true"),
        ({"attribute": None}, "set checks.attribute to true"),
        ({"suda": None}, "set checks.suda to true"),
    ],
)
def test_what_is_off_for_an_intruder_says_how_to_have_it(switch: Any, words: str) -> None:
    sections = risk_sections(record(scenario(**switch)))
    assert any(words in spoken(section) for section in sections)
    first = next(iter(switch))
    key = "differential_confidentiality" if first == "differential" else first
    lost = scenario(**switch).model_copy(update={"failed": {f"{key} ({LABEL})": "it broke"}})
    (section,) = [s for s in risk_sections(record(lost)) if s.anchor != "risk" and gaps(s)]
    assert of_kind(section, Gap)[0].why == "It could not be computed: it broke"


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("nearest", "set checks.nearest to true"),
        ("replicated", "set checks.replicated_uniques to true"),
        ("attacks", "checks: {attacks: true}"),
        ("inference", "checks: {inference: {sensitive: VARIABLE, public: [VARIABLE, ...]}}"),
    ],
)
def test_what_is_off_for_whole_records_says_how_to_have_it(field: str, words: str) -> None:
    off = risk(**{field: () if field == "inference" else None})
    assert any(words in spoken(section) for section in risk_sections(record(off)))


@pytest.mark.parametrize("field", ["nearest", "attacks"])
def test_without_a_half_everything_that_needs_one_has_failed(field: str) -> None:
    lost = risk(**{field: None}, failed={"half split": "too few records"})
    (section,) = [s for s in risk_sections(record(lost)) if s.anchor == field]
    assert "too few records" in of_kind(section, Gap)[0].why


def test_nothing_at_all_still_says_how_to_switch_on() -> None:
    nothing = risk(
        scenarios=(), inference=(), replicated=None, nearest=None, attacks=None, further={}
    )
    anchors = [section.anchor for section in risk_sections(record(nothing))]
    assert anchors == ["risk", "uniques", "nearest", "inference", "attacks"]


# At a glance.


def test_every_rate_stands_with_baseline_chance_and_original() -> None:
    chart = charts(glance_section(record()))[0]
    words = chart.svg.split("<desc>")[1].split("</desc>")[0]
    said = dict(part.rsplit(" (", 1) for part in words.removesuffix(")").split("); "))
    figures = {figure.name: figure for figure in risk().scenarios[0].figures}
    for start in ("CAP", "CAP of matches", "CAP-U", "CAP of special uniques", "TCAP"):
        name = f"{start} (all {risk().scenarios[0].cap.last} datasets together)"
        own = figures[name]
        assert said[f"{name} {own.value:.3f}"] == (
            f"baseline {own.baseline:.3f}, chance {own.chance:.3f}, original {own.original:.3f}"
        )
    assert "; UiO " not in words


def test_a_figure_is_explained_once_and_every_picture_leads_there() -> None:
    own = record()
    blocks = [str(block) for section in risk_sections(own) for block in section.blocks]
    assert blocks.count(str(CATALOGUE)) >= len(risk().scenarios)
    catalogue = table(figures_section(own), "All figures")
    meanings = {row[0]: row[-1] for row in catalogue.rows}
    disco = figure_of(risk().scenarios[0].figures, "disco")
    assert meanings["DiSCO"] == disco.counting("records").meaning
    assert not any("{record" in str(meaning) for meaning in meanings.values())
    others = [t for s in risk_sections(own) for t in tables(s) if "Good is" in t.columns]
    assert others == []


def test_scenarios_have_headings_and_their_warnings_are_notes() -> None:
    section = glance_section(record())
    headings = [block.text for block in of_kind(section, Heading)]
    assert "Knowing town, age and sex, seeking job" in headings
    assert len(headings) == 4
    assert set(risk().warnings) <= set(notes(section))
    assert charts(section)[-1].title.startswith("Whole records")


def test_keys_target_groups_and_tolerance_in_words() -> None:
    grouped = Scenario(keys=("age", "sex", "town"), target="pay", groups={"age": 10})
    near = Scenario(keys=("age",), target="pay", tolerance=Tolerance(absolute=2, relative=0.05))
    assert in_words(grouped) == "Knowing age, sex and town, seeking pay (age in 10 groups)"
    assert in_words(near).endswith("within 2 or a share of 0.05 of the true value counts as right)")


@pytest.mark.parametrize(("reason", "told"), [("The keys are public.", True), ("", False)])
def test_a_suggested_scenario_says_why(reason: str, told: bool) -> None:
    own = Scenario(keys=("town", "age", "sex"), target="job", reason=reason)
    section = glance_section(record(scenario(scenario=own)))
    assert ("Why these: The keys are public." in spoken(section)) is told


def test_notes_and_failures_are_told() -> None:
    own = risk(notes=("the control has other columns",), failed={"suda (x)": "no records"})
    section = glance_section(record(own))
    assert "the control has other columns" in notes(section)
    assert [(gap.what, gap.why) for gap in of_kind(section, Gap)] == [
        ("suda (x)", "It could not be computed: no records")
    ]


def test_a_figure_without_a_value_is_drawn_as_not_computed() -> None:
    figure = Figure(
        key="tcap", name="TCAP", value=None, meaning="", direction="lower is safer", n=0,
        baseline=0.2, original=1.0,
    )  # fmt: skip
    chart = rate_chart([figure], "Rates")
    assert "<desc>TCAP not computed (baseline 0.200, original 1.000)</desc>" in chart.svg


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


def test_the_summary_goes_from_one_dataset_to_all() -> None:
    section, cap = cap_section(record()), risk().scenarios[0].cap
    first, last = cap.row(1), cap.row(3)
    words = f"All records: {first.zero:.3f} with 1, {last.zero:.3f} with 3 datasets"
    assert charts(section)[0].summary.startswith(words)
    table = charts(section)[0].table
    row = next(row for row in table.rows if row[:2] == [3, "special uniques"])
    special = cap.row(3, "special_uniques")
    assert row[4:8] == [
        special.zero, special.chance_zero, special.undefined, special.chance_undefined,
    ]  # fmt: skip


def test_one_dataset_is_a_table_and_not_a_line() -> None:
    cap = risk().scenarios[0].cap
    first = tuple(row for row in cap.synthetic if row.m == 1)
    own = scenario(cap=cap.model_copy(update={"synthetic": first}), regression=())
    section = cap_section(record(own))
    assert charts(section) == []
    assert table(section, "Mean CAP by number").rows[0][3] == first[0].matched


def test_the_line_on_m_is_shown_where_there_is_one() -> None:
    section, line = cap_section(record(scenario())), risk().scenarios[0].regression[0].line
    fitted = table(section, "Straight line")
    assert fitted.rows[0][5] == line.slope
    assert fitted.forms[-4:] == ["p", "p", "figure", "count"]
    again = cap_section(record(scenario(regression=())))
    assert "it needs three of them" in spoken(again)


def test_a_tolerance_has_no_tcap() -> None:
    section = cap_section(record())
    assert sum(own.caption.startswith("TCAP") for own in tables(section)) == 2
    assert gaps(section) == []


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


def test_the_share_is_drawn_between_a_coin_toss_and_the_fitted_records() -> None:
    section, nearest = nearest_section(record()), risk().nearest
    (chart,) = charts(section)
    words = f"{nearest.share:.3f} (interval {nearest.low:.3f} to {nearest.high:.3f}, chance 0.500"
    assert words in chart.svg
    assert f"original {nearest.original:.3f}" in chart.svg
    values = dict([t for t in tables(section) if t.columns == ("Figure", "Value")][-1].rows)
    copies = values["those that equal a fitted record in every variable compared"]
    assert copies == nearest.fitted_copies
    assert values["lower end of its interval"] == nearest.excess_low
    assert "0.5 is a coin toss" in spoken(section)
    assert "Compared on 5 variables: those of whole records under Special uniques." in spoken(
        section
    )
    part = nearest.model_copy(update={"fitted_kept": 0.5})
    counts = dict(table(nearest_section(record(risk(nearest=part))), "Records that were").rows)
    kept = counts["share of the fitted half that was compared"]
    assert (counts["nearer"], kept) == (nearest.nearer, 0.5)


# Attacks.


def test_risk_and_success_of_attacks_stand_beside_the_control() -> None:
    first, section = attacks().attacks[0], attacks_section(record())
    risks, success = charts(section)
    assert risks.table.rows[0][-3:] == [first.risk, first.low, first.high]
    words = "0.800 (interval 0.711 to 0.867, an attacker who guesses 0.020, unseen records 0.200)"
    assert words in success.svg
    assert "not computed" in risks.svg  # the attack that could not be made
    assert "knows town, age and sex and seeks job" in spoken(section)
    assert "joins a source with town to one with age and sex" in spoken(section)


def test_what_to_think_of_each_attack_is_said() -> None:
    section = attacks_section(record())
    (weak,) = notes(section, "alert")
    (interval,) = notes(section, "look")
    assert "singling out by rare values: the interval" in interval
    assert "guessing does better" in weak
    assert any("only a share of 0.500 of the fitted" in note for note in notes(section))
    assert any("no attack could be made" in note for note in notes(section))
    assert not any("linkability" in note for note in notes(section))


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
