"""The evolution of whole datasets on the page."""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

import pytest

from synthesizer.report.build import build_report
from synthesizer.report.charts import text_width
from synthesizer.report.genetic import MOST_NAMES, genetic_section, steps_of
from synthesizer.report.genetic_charts import MOST_STEPS, generations_chart, path_chart
from synthesizer.report.page import Chart, Note, Section
from synthesizer.report.untyped import Record
from tests.report.blocks import gaps, html, of_kind, table, told
from tests.report.fixtures import EVIL, Page, checks, manifest

UNREAD = "holds something here that this version cannot read"


def generation(number: int, **more: Any) -> dict[str, Any]:
    plain = {
        "generation": number, "utility": 0.2 - number / 100, "risk": 0.8 / (number + 1),
        "fitness": 0.5 / (number + 1), "median_utility": 0.15, "median_risk": 0.9 - number / 50,
        "frontier": 5,
    }  # fmt: skip
    return plain | more


def point(utility: float, risk: float, unchanged: float | None = 0.9) -> dict[str, Any]:
    return {"utility": utility, "risk": risk, "fitness": 0.1, "unchanged": unchanged}


def dataset(**more: Any) -> dict[str, Any]:
    plain = {
        **point(0.1, 0.3), "reached": None, "stopped": "no gain in 20 generations",
        "generations": 8, "history": [generation(number) for number in range(9)],
        "frontier": [point(0.1, 0.3), point(0.05, 0.6)],
    }  # fmt: skip
    return plain | more


def evolved(**more: Any) -> dict[str, Any]:
    risk = {
        "name": "cap_u", "meaning": "mean CAP of unique people", "keys": ["age", EVIL],
        "target": "job", "baseline": 0.36, "random": 0.28,
    }  # fmt: skip
    plain = {
        "mode": "single", "start": "mutants", "population": 100, "weight": 0.5,
        "utility": {"name": "full_table", "meaning": "distance of the tables"},
        "risk": risk, "risk_at_most": None, "datasets": [dataset()],
    }  # fmt: skip
    return plain | more


def pareto(files: int = 3) -> dict[str, Any]:
    written = [
        {"file": f"frontier_{i:02d}.csv", **point(0.1 - i / 5000, 0.3 + i / 1000)}
        for i in range(1, files + 1)
    ]
    return evolved(mode="pareto", written=written)


def record(own: object = None, *, interrupted: bool = False, **facts: Any) -> Record:
    own = evolved() if own is None else own
    mode = own.get("mode") if isinstance(own, dict) else None
    genetic = {"start": "mutants", "mode": mode, "interrupted": interrupted}
    return Record(manifest() | {"genetic": genetic} | facts, checks() | {"genetic": own})


def section(own: object = None, **facts: Any) -> Section:
    found = genetic_section(record(own, **facts))
    assert found is not None
    return found


def notes(own: object = None, **facts: Any) -> list[tuple[str, str]]:
    return [(note.tone, note.text) for note in of_kind(section(own, **facts), Note)]


def test_no_evolution_no_section() -> None:
    assert genetic_section(Record(manifest(), checks())) is None
    assert genetic_section(Record(manifest() | {"genetic": None}, checks())) is None
    assert '<section id="genetic"' not in build_report(Record(manifest(), checks()))


def test_the_page_shows_the_section() -> None:
    page = build_report(record())
    assert '<section id="genetic"' in page
    assert EVIL not in page
    assert UNREAD not in page
    Page(page)


def test_what_was_done_by_which_measures_and_how_it_ended() -> None:
    words = html(section())
    assert "A population of 100 datasets started from mutants of the original" in words
    assert "Utility U is the distance of the tables; lower is better" in words
    assert "Risk R is the mean CAP of unique people; lower is safer" in words
    assert "and seeks job." in words
    assert "lowest F, the distance of U and R from 0 (weight of U 0.5, of R 0.5)" in words
    assert "It ended after 8 generations: no gain in 20 generations." in words
    assert gaps(section()) == []


@pytest.mark.parametrize(
    ("stopped", "words"),
    [
        ("8 generations", "after 8 generations, the most that were allowed"),
        ("60 seconds", "after 8 generations: its 60 seconds were over"),
        ("interrupted", "after 8 generations: somebody interrupted it"),
        ("", "after 8 generations"),
    ],
)
def test_endings(stopped: str, words: str) -> None:
    found = section(evolved(datasets=[dataset(stopped=stopped)]))
    assert table(found, "Results").rows[0][-1] == words
    told_of_time = "a repetition on another machine may give other" in html(found)
    assert told_of_time == (stopped == "60 seconds")


def test_risk_beside_guessing_and_files_without_information() -> None:
    words = html(section())
    assert "The result has R 0.300. Guessing" in words
    assert "has 0.360 (baseline): this measure is no more than that" in words
    assert "drawn at random from the margins, each variable by itself, have 0.280" in words
    higher = html(section(evolved(datasets=[dataset(risk=0.5)])))
    assert "this measure is more than that" in higher
    none = evolved() | {"risk": {"name": "repu", "keys": ["age"], "target": "job"}}
    assert "no baseline of guessing" in html(section(none))
    assert "seeks job" not in html(section(none))


def test_mutants_are_an_alert_with_the_share_and_others_are_not() -> None:
    ((tone, words),) = notes()
    assert tone == "alert"
    assert (
        "a share of at least 0.900 of their records (90 of 100) are confidential records" in words
    )
    two = evolved(datasets=[dataset(), dataset(unchanged=0.8)])
    assert "0.800 to 0.900 of their records are" in notes(two)[0][1]
    unknown = section(evolved(datasets=[dataset(unchanged=None)]))
    assert gaps(unknown) == ["the share of unchanged records"]
    chain = evolved(start="chain", datasets=[dataset(unchanged=None)])
    assert notes(chain) == []
    assert "datasets that the chain drew" in html(section(chain))
    assert "Unchanged" not in table(section(chain), "Results").columns


def test_limits_that_are_reached_and_those_that_are_not() -> None:
    own = evolved(start="chain", risk_at_most=0.3, datasets=[dataset(reached=True)])
    assert notes(own) == [("good", "The result is within the highest risk that is accepted (0.3).")]
    assert "lowest U among those with R at most 0.3" in html(section(own))
    both = [dataset(reached=True), dataset(risk=0.31, reached=False)]
    found = section(own | {"datasets": both})
    ((tone, words),) = [(note.tone, note.text) for note in of_kind(found, Note)]
    assert tone == "alert"
    assert "was not reached: dataset 2 has R 0.31" in words
    assert list(table(found, "Results").highlight) == [1]
    charts = of_kind(found, Chart)
    assert all("highest risk accepted" in chart.svg for chart in charts)


def test_less_risk_than_without_information_is_told() -> None:
    low = evolved(start="chain", risk_at_most=0.1, datasets=[dataset(risk=0.1, reached=True)])
    tones = dict(notes(low))
    assert "is below that of files drawn at random from the margins (0.280)" in tones["alert"]
    steered = evolved(start="chain", datasets=[dataset(risk=0.01)])
    ((tone, words),) = notes(steered)
    assert tone == "plain"
    assert "CAP of matches" in words
    near = evolved(start="chain", datasets=[dataset(risk=0.27)])
    assert notes(near) == []


def test_interruptions_are_told() -> None:
    config = {"m": 5}
    words = " ".join(words for _, words in notes(interrupted=True, config=config))
    assert "Somebody interrupted the evolution" in words
    assert "Of 5 datasets that were asked for, 1 were made." in words
    by_dataset = evolved(datasets=[dataset(stopped="interrupted")])
    assert "Somebody interrupted" in " ".join(words for _, words in notes(by_dataset))


def test_several_datasets_are_rows_of_the_table() -> None:
    own = evolved(datasets=[dataset(), dataset(risk=0.32)])
    found = section(own)
    rows = table(found, "Results").rows
    assert [row[0] for row in rows] == ["1", "2"]
    assert rows[0][1:6] == [0.1, 0.3, 0.1, 0.9, 8]
    assert "The results have R 0.300 to 0.320." in html(found)
    assert "The pictures are of dataset 1" in told(list(found.blocks))


def test_the_frontier_is_there_to_pick_from() -> None:
    found = section(pareto())
    rows = table(found, "Files of the frontier").rows
    assert [row[0] for row in rows] == ["frontier_01.csv", "frontier_02.csv", "frontier_03.csv"]
    assert "“synthesizer risk” and “synthesizer utility”" in html(found)
    assert "release that file only" in html(found)
    chart = of_kind(found, Chart)[1]
    assert {"1", "2", "3", "result", "start"} & set(Page(chart.svg).text("text"))
    assert [row[0] for row in chart.table.rows][2:] == ["frontier 1", "frontier 2", "frontier 3"]
    marked = pareto() | {"risk_at_most": 0.3015}
    assert list(table(section(marked), "Files of the frontier").highlight) == [1, 2]
    assert gaps(section(pareto() | {"written": None})) == ["the files to pick from"]


def test_of_many_files_some_carry_their_name() -> None:
    found = section(pareto(300))
    assert len(table(found, "Files of the frontier").rows) == 300
    rows = of_kind(found, Chart)[1].table.rows
    assert len(rows) == MOST_NAMES + 2
    assert (rows[2][0], rows[-1][0]) == ("frontier 1", "frontier 300")


def test_charts_have_a_text_alternative_and_their_numbers() -> None:
    charts = of_kind(section(pareto()), Chart)
    assert len(charts) == 2
    for chart in charts:
        assert chart.reads
        assert chart.table is not None
        assert Page(chart.svg).text("desc") == [chart.summary]
    assert charts[0].table.rows[0] == [0, 0.2, 0.8, 0.5, 0.15, 0.9]
    assert "from U 0.200 and R 0.800 to U 0.120 and R 0.089" in charts[0].summary


def places(chart: Chart, look: str) -> list[tuple[float, float]]:
    (drawn,) = [p for p in Page(chart.svg).all("polyline") if p["class"] == look][-1:]
    pairs = str(drawn["points"]).split()
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in pairs)]


def test_lines_follow_the_generations() -> None:
    history = [generation(number) for number in range(9)]
    chart = generations_chart(history, baseline=0.36)
    risk = places(chart, "line-s1")
    assert len(risk) == 9
    xs, ys = zip(*risk, strict=True)
    assert list(xs) == sorted(xs)
    assert list(ys) == sorted(ys)  # down on the page is less risk
    half = (ys[-1] - ys[0]) / (0.8 - 0.8 / 9)
    assert ys[1] - ys[0] == pytest.approx(0.4 * half, abs=0.2)
    assert "baseline (guessing)" in chart.svg
    assert "baseline" not in generations_chart(history).svg


def test_the_way_ends_at_the_result_and_a_stay_is_one_place() -> None:
    history = [generation(0), generation(1), generation(2, utility=0.19, risk=0.4)]
    chart = path_chart(history, baseline=0.36)
    assert len(places(chart, "line-s1")) == 2
    (start, end) = places(chart, "line-s1")
    assert end[0] < start[0]
    assert end[1] > start[1]
    circles = Page(chart.svg).all("circle")
    assert [float(str(circles[-1][key])) for key in ("cx", "cy")] == pytest.approx(end, abs=0.1)
    assert len([p for p in Page(chart.svg).all("line") if "baseline" in str(p["class"])]) == 2


def test_other_datasets_are_named_points() -> None:
    others = [("CART", 0.1, 0.42), (EVIL, 0.12, 0.33)]
    chart = path_chart([generation(n) for n in range(5)], others=others, baseline=0.415)
    assert chart.table.rows[-2:] == [["CART", 0.1, 0.42], [EVIL, 0.12, 0.33]]
    assert "CART has U 0.100 and R 0.420." in chart.summary
    assert "CART" in Page(chart.svg).text("text")
    assert EVIL not in chart.svg


def boxes(chart: Chart) -> list[tuple[float, float, float, float]]:
    """Return the room that names within the plane take."""
    found = []
    own = [t for t in Page(chart.svg).all("text") if t.get("aria-hidden")]
    words = [w for w in Page(chart.svg).text("text") if w in NAMES]
    assert len(own) == len(words)
    for attrs, name in zip(own, words, strict=True):
        x, y, width = float(str(attrs["x"])), float(str(attrs["y"])), text_width(name)
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[str(attrs["text-anchor"])]
        found.append((left, y - 9, left + width, y + 2))
    return found


NAMES = {"start", "result", "CART", "parametric", *(f"f{i}" for i in range(30))}


def test_names_do_not_overlap_and_stay_inside() -> None:
    history = [generation(number) for number in range(30)]
    frontier = [(f"f{i}", 0.12 - i / 500, 0.03 + i / 50) for i in range(30)]
    others = [("CART", 0.13, 0.42), ("parametric", 0.128, 0.41)]
    chart = path_chart(history, frontier, others, 0.415)
    found = boxes(chart)
    assert len(found) > 12
    for one, other in itertools.combinations(found, 2):
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart, (one, other)
    assert all(box[0] >= 0 and box[2] <= 720 and box[1] >= 0 for box in found)


def test_long_histories_are_thinned_out_and_keep_their_ends() -> None:
    history = [generation(number, utility=0.1, risk=0.3) for number in range(5003)]
    chart = generations_chart([row | {"median_risk": 0.5} for row in history])
    rows = chart.table.rows
    assert len(rows) <= MOST_STEPS + 1
    assert (rows[0][0], rows[-1][0]) == (0, 5002)
    assert "of 5,003 rows" in chart.table.caption


def test_a_start_without_generations_is_a_point() -> None:
    own = section(evolved(datasets=[dataset(history=[generation(0)], generations=0)]))
    assert "Only generation 0 is known" in html(own)
    assert "result" not in Page(of_kind(own, Chart)[1].svg).text("text")


def test_no_generation_at_all_is_an_error_of_the_caller() -> None:
    for draw in (generations_chart, path_chart):
        with pytest.raises(ValueError, match="nothing can be drawn"):
            draw([{"generation": 1, "utility": 7.0, "risk": 0.1}])


def test_rows_that_make_no_sense_are_left_out_and_told() -> None:
    odd = [
        generation(1, utility=None),
        generation(2, risk=1e300),
        generation(1, generation=-1),
        "x",
        None,
    ]
    history = [generation(3), *odd, generation(0)]
    assert [step.generation for step in steps_of(history)] == [0, 3]
    assert gaps(section(evolved(datasets=[dataset(history=history)]))) == ["5 generations"]
    medians = [generation(0, median_risk=None), generation(1, median_utility="x")]
    assert gaps(section(evolved(datasets=[dataset(history=medians)]))) == []


ODD: tuple[Any, ...] = (None, 7, -1e300, "x", [], [1], [None], {}, {"a": 1}, [{}], True)


@pytest.mark.parametrize("key", [*pareto(), "genetic"])
def test_odd_parts_break_nothing(key: str) -> None:
    for odd in ODD:
        own = odd if key == "genetic" else pareto() | {key: odd}
        page = build_report(record(own))
        assert '<section id="genetic"' in page
        assert UNREAD not in page, odd


@pytest.mark.parametrize("key", list(dataset()))
def test_odd_datasets_break_nothing(key: str) -> None:
    for odd in ODD:
        page = build_report(record(pareto() | {"datasets": [dataset(**{key: odd})]}))
        assert UNREAD not in page, odd


@pytest.mark.parametrize("key", list(generation(0)))
def test_odd_generations_break_nothing(key: str) -> None:
    for odd in ODD:
        history = [generation(0), generation(1, **{key: odd})]
        page = build_report(record(evolved(datasets=[dataset(history=history)])))
        assert UNREAD not in page, odd


@pytest.mark.parametrize("key", list(evolved()["risk"]))
def test_odd_risks_break_nothing(key: str) -> None:
    for odd in ODD:
        page = build_report(record(evolved(risk=evolved()["risk"] | {key: odd})))
        assert UNREAD not in page, odd


def test_a_manifest_that_tells_of_an_evolution_without_checks_is_a_gap() -> None:
    content = record()
    del content.checks["genetic"]
    assert gaps(genetic_section(content))[0] == "the evolution"
    for odd in ODD[1:]:
        facts = manifest() | {"genetic": odd}
        assert UNREAD not in build_report(Record(facts, checks() | {"genetic": evolved()}))


def test_what_is_missing_in_a_result_is_a_gap() -> None:
    assert "utility or risk of dataset 1" in gaps(section(evolved(datasets=[dataset(risk=None)])))
    assert "the datasets that were evolved" in gaps(section(evolved(datasets=[])))


def test_nothing_of_the_record_is_changed() -> None:
    content = record(pareto())
    before = copy.deepcopy(content.checks)
    genetic_section(content)
    assert json.dumps(before) == json.dumps(content.checks)
