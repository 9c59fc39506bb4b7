"""The whole report, from runs that are whole, old, broken or empty."""

import copy
from itertools import cycle

import pytest

from synthesizer.report import build
from synthesizer.report.build import BANNER, build_report
from synthesizer.report.untyped import Record
from tests.report.fixtures import EVIL, Page, checks, first_format, manifest, record

ANCHORS = ["glance", "point", "utility", "variables", "propensity", "estimates"]
GARBAGE = (None, "x", -7, [], {}, [None], {"a": 1}, float("nan"), 1e300, True, [[]], "\ud800")


def anchors(page):
    return [attrs["id"] for attrs in Page(page).all("section")]


def test_all_parts_in_order():
    found = anchors(build_report(record()))
    assert found[:6] == ANCHORS
    assert found[-3:] == ["run", "figures", "reading"]
    assert "risk" in found[6:-3]


def test_face_of_the_page():
    page = Page(build_report(record()))
    assert page.text("h1") == ["Synthetic data from persons.csv"]
    assert BANNER in page.text("p")
    assert "2 synthetic datasets, 100 records each, made 2026-11-21" in page.text("p")[1]


def test_names_and_labels_never_become_elements():
    text = build_report(record())
    assert EVIL not in text
    page = Page(text)
    assert len(page.all("script")) == 2
    for tag, attrs in page.elements:
        assert not [name for name in attrs if name.startswith("on") or name == "style"], tag


def test_every_picture_is_named_and_every_table_captioned():
    page = Page(build_report(record()))
    pictures = page.all("svg")
    assert pictures
    assert all(attrs["role"] == "img" for attrs in pictures)
    assert len(page.all("desc")) == len(pictures)
    assert len(page.all("caption")) == len(page.all("table"))
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_the_seed_is_nowhere():
    assert "987654321" not in build_report(record())


def test_first_format_and_nothing_at_all():
    assert anchors(build_report(first_format()))[:6] == ANCHORS
    page = build_report(Record({}, {}))
    assert "Synthetic data from a run" in page
    assert anchors(page)[:6] == ANCHORS


def test_same_record_same_page():
    assert build_report(record()) == build_report(record())


def test_a_builder_that_fails_becomes_a_gap(monkeypatch):
    def point_section(own):
        raise TypeError("unforeseen")

    def fails(own):
        raise KeyError("unforeseen")

    monkeypatch.setattr(build, "point_section", point_section)
    monkeypatch.setattr(build, "risk_sections", fails)
    monkeypatch.setattr(build, "utility_data", fails)
    page = build_report(record())
    assert "Not here: the part point." in page
    assert "Not here: the part risk." in page
    assert "unforeseen" not in page
    assert anchors(page)[:6] == ANCHORS


def paths(content, path=()):
    """Yield every place of the record once; of lists the first item stands for all."""
    yield path
    if isinstance(content, dict):
        for key, value in content.items():
            yield from paths(value, (*path, key))
    elif isinstance(content, list) and content:
        yield from paths(content[0], (*path, 0))


def spoiled(content, path, value):
    found = copy.deepcopy(content)
    part = found
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return found


# which builders look at what, so that each spoiled record is shown to those that read it
READERS = {
    "tables": (build.utility_section, build.point_section, build.variable_section),
    "pairs": (build.utility_section,),
    "distributions": (build.variable_section,),
    "propensity": (build.propensity_section,),
    "distance": (build.propensity_section,),
    "fits": (build.estimates_section,),
}


@pytest.mark.parametrize("part", [*READERS, "figures", "failed"])
def test_no_spoiled_utility_sets_off_an_error(part):
    every = cycle(GARBAGE)
    for path in list(paths(checks()["utility"][part], ("utility", part))):
        own = Record(manifest(), spoiled(checks(), path, next(every)))
        for builder in (*READERS.get(part, ()), build.glance_section, build.figures_section):
            assert builder(own).blocks


def test_no_spoiled_manifest_sets_off_an_error():
    every = cycle(GARBAGE)
    for path in list(paths(manifest()))[1:]:
        own = Record(spoiled(manifest(), path, next(every)), checks())
        assert build.run_section(own).blocks
        assert build.glance_section(own).blocks
        assert build.utility_data(own)["pairs"]


@pytest.mark.parametrize("value", GARBAGE)
@pytest.mark.parametrize("part", ["risk", "utility", "summary", "failed", "exceeded"])
def test_whole_parts_may_be_anything(part, value):
    page = build_report(Record(manifest(), checks() | {part: value}))
    assert anchors(page)[:6] == ANCHORS
    page.encode("utf-8")


def test_a_page_stays_small_for_wide_files():
    """200 variables of 20 levels: well below the 8 MB that a page may have."""
    one = checks()["utility"]["distributions"][1]
    levels = [f"level number {i}" for i in range(20)]
    wide = {
        **one, "labels": levels, "missing": [False] * 20, "original": [0.05123] * 20,
        "synthetic": [[0.05234] * 20, [0.05345] * 20],
    }  # fmt: skip
    names = [f"variable_{i}" for i in range(200)]
    pairs = [[[a, b], 2, 3.14159] for i, a in enumerate(names) for b in names[:i]]
    counts = [[1234] * 13 for _ in range(13)]
    labels = levels[:13]
    tables = {"columns": ["variables", "ways", "S_pMSE"], "mean": pairs, "by_dataset": []}
    own = record(
        distributions=[{**wide, "variable": name} for name in names],
        tables=tables,
        pairs=[
            {"variables": p[0], "rows": labels, "columns": labels, "original": counts,
             "synthetic": counts}
            for p in pairs[:300]
        ],
    )  # fmt: skip
    assert len(build_report(own).encode("utf-8")) < 6e6
