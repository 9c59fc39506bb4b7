"""The whole report of a run: its parts, its face, nothing but text from data."""

from __future__ import annotations

import sys

import pytest

from synthesizer.measures.results import RiskResult
from synthesizer.report.build import build_report
from tests.report import risk_examples
from tests.report.fixtures import EVIL, Page
from tests.report.utility_examples import (
    NAMES,
    distributions,
    pair,
    run,
    table,
    tables,
)

EVIL_TOWN = f"to\u202ewn </script>{EVIL}"
ANCHORS = ["glance", "variables", "utility", "propensity", "estimates"]


@pytest.fixture(scope="module")
def page() -> str:
    return build_report(run(risk=risk_examples.risk(EVIL_TOWN)))


def anchors(page: str) -> list[str | None]:
    return [attrs["id"] for attrs in Page(page).all("section")]


def test_all_parts_in_order(page: str) -> None:
    parts = anchors(page)
    assert parts[:5] == ANCHORS
    assert parts[5:-3] == [
        "risk", "cap", "differential", "identity", "uniques", "nearest", "inference", "attacks",
        "further-risk",
    ]  # fmt: skip
    assert parts[-3:] == ["run", "figures", "reading"]
    folded = [a for a in Page(page).all("details") if a.get("class") == "part"]
    assert len(folded) == len(parts) - 3  # verdict, variables and pairs are seen at once


def test_names_and_labels_never_become_elements(page: str) -> None:
    assert EVIL not in page
    assert "\u202e" not in page  # would turn text around
    parsed = Page(page)
    assert len(parsed.all("script")) == 2
    for tag, attrs in parsed.elements:
        assert not [name for name in attrs if name.startswith("on") or name == "style"], tag


def test_every_picture_is_named_and_every_table_captioned(page: str) -> None:
    parsed = Page(page)
    pictures = parsed.all("svg")
    assert pictures
    assert all(attrs["role"] == "img" for attrs in pictures)
    assert len(parsed.all("desc")) == len(pictures)
    assert len(parsed.all("caption")) == len(parsed.all("table"))
    ids = [attrs["id"] for _, attrs in parsed.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_same_record_same_page_without_files_that_the_run_does_not_need(page: str) -> None:
    needed = {"synthesizer.report.careers"}
    before = {name: sys.modules.pop(name, None) for name in needed}
    assert build_report(run(risk=risk_examples.risk(EVIL_TOWN))) == page
    assert not needed & {*sys.modules}
    sys.modules.update({name: module for name, module in before.items() if module is not None})


def test_a_page_stays_small_for_wide_files() -> None:
    """200 variables of 20 levels: well below the 8 MB that a page may have."""
    names = [f"variable_{i}" for i in range(200)]
    wide = distributions()[1].model_copy(
        update={
            "labels": tuple(f"level number {i}" for i in range(20)),
            "missing": (False,) * 20,
            "original": (0.05,) * 20,
            "synthetic": ((0.05,) * 20, (0.05,) * 20),
        }
    )
    every = [(a, b) for i, a in enumerate(names[:80]) for b in names[:i]]  # more than are shown
    labels = tuple(f"level number {i}" for i in range(13))
    counts = ((1234,) * 13,) * 13
    big = pair(*NAMES[:2]).model_copy(
        update={"rows": labels, "columns": labels, "original": counts, "synthetic": counts}
    )
    record = run(
        distributions=tuple(wide.model_copy(update={"variable": name}) for name in names),
        tables=tables(*(table(*two, s_pmse=3.14) for two in every)),
        pairs=tuple(big.model_copy(update={"variables": two}) for two in every[:300]),
        risk=RiskResult(),
    )
    assert len(build_report(record).encode("utf-8")) < 6e6
