"""The codebook for researchers as a page: everything shown, everything escaped, nothing needed."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from tests.report.codebook.books import page_of

NOBODY = "No record is a person"
EVIL = "<script>alert(1)</script>\"'&\n\u2028"


def content() -> dict[str, Any]:
    """What ``codebook.json`` holds, in small."""
    made = {
        "how": "drawn", "words": "Drawn by a tree.", "model": "cart", "base": [], "options": {},
        "predictors": [],
    }  # fmt: skip
    usual = {
        "label": "", "unit": "", "decimals": None, "date_format": None, "range": None,
        "levels": [], "missing": [], "not_modelled_with": [],
    }  # fmt: skip
    levels = [{"level": str(i), "label": "", "share": i / 1000} for i in range(250)]
    return {
        "format": 1,
        "purpose": "For release.",
        "datasets": {
            "files": ["synthetic_1.csv", "synthetic_2.csv"],
            "rows": [7634, 7634],
            "format": {
                "type": "csv.gz", "delimiter": ";", "encoding": "latin-1", "decimal_mark": ",",
            },
        },
        "synthesis": {
            "words": ["One after the other."],
            "kept": ["sex"],
            "strata": [],
            "rules": ["If age < 15, then job is none."],
            "forbidden": ["No record has: age > 200."],
            "support": [],
            "paths": [],
            "evolved": None,
            "packages": {"synthesizer": "0.1.0"},
            "proper": False,
            "even": None,
        },
        "variables": [
            usual | {
                "name": "age", "label": "Age in years", "unit": "years", "kind": "numeric",
                "decimals": 0, "date_format": None, "range": {"low": -3, "high": 12345},
                "levels": [{"level": "99", "label": "99 or more", "share": None}],
                "missing": [{"code": "", "label": "not asked", "share": 0.25},
                            {"code": "-9", "label": "", "share": 0}],
                "made": made | {"predictors": [f"x{i}" for i in range(40)],
                                "options": {"min_leaf": 5, "even": True}},
                "not_modelled_with": ["pay"],
            },
            usual | {
                "name": "town", "label": "", "unit": "", "kind": "categorical", "levels": levels,
                "missing": [], "made": made | {"predictors": ["age"]}, "range": None,
            },
            usual | {
                "name": "pay", "unit": "EUR", "kind": "numeric", "decimals": 2, "missing": [],
                "range": {"low": 0.25, "high": 1234567.89}, "made": made | {"how": "kept"},
            },
            usual | {
                "name": "born", "unit": "day", "kind": "date", "range": None,
                "date_format": "%d.%m.%Y", "made": made | {"how": "independent"},
            },
        ],
        "analysis": {
            "rule": "simple", "name": "simple synthesis", "formula": "T", "m": 2, "k": 7634,
            "n": None, "applies": True, "source": "Raab", "words": ["Run it on each."],
            "code": 'print("a" < "b")\n',
        },
        "cautions": [{"title": "No record is a person", "text": "Nobody."}],
    }  # fmt: skip


class Shape(HTMLParser):
    """Collects tags and anchors, and checks that elements close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        found = dict(attrs)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.links += [found["href"] or ""] if tag == "a" else []
        assert not {name for name in found if name == "style" or name.startswith("on")}
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def shape(page: str) -> Shape:
    found = Shape()
    found.feed(page)
    assert not found.open
    return found


def test_everything_is_shown() -> None:
    page = page_of(content())
    for words in (
        "2 synthetic datasets with 4 variables",
        "7,634",
        "separator semicolon, decimal comma, encoding latin-1, packed with gzip",
        "No record is a person.",
        "Not synthetic, but copied from the confidential data: sex.",
        "age: Age in years",
        "−3 to 12,345 years",
        "0.25 to 1,234,567.89",
        "number, 2 decimals",
        "99 or more",
        "(empty cell)",
        "not asked",
        "does not occur",
        "min_leaf 5, even yes",
        "x29 and 10 more",
        "250 levels",
        "and 50 more; codebook.json lists all.",
        "%d.%m.%Y",
        "copied: not synthetic",
        "If age &lt; 15, then job is none.",
        "No record has: age &gt; 200.",
        "synthesizer 0.1.0",
        "Source: Raab.",
        "&#34;a&#34; &lt; &#34;b&#34;",
    ):
        assert words in page, words
    assert "codebook.json lists all" in page
    assert '<th scope="row">249</th>' not in page  # beyond the 200 that are shown


def test_it_says_for_whom_it_is_and_is_sound() -> None:
    page = page_of(content())
    found = shape(page)
    assert "for release together with the datasets" in page
    assert '<p class="banner release"' in page
    assert "No record is a person.</p>" not in page  # a variable is copied
    given = content()
    given["synthesis"]["kept"] = []
    assert "No record is a person.</p>" in page_of(given)
    assert "confidential: " not in page.lower()
    assert len(set(found.ids)) == len(found.ids)
    assert {link for link in found.links if re.match(r"#v\d", link)} == {"#v1", "#v2", "#v3", "#v4"}
    assert {link.removeprefix("#") for link in found.links} <= set(found.ids)
    assert found.tags.count("h1") == 1
    assert not re.search(r"(?:src|href)=\"https?:", page)


def test_data_cannot_act() -> None:
    """Whatever text a variable, level, label or sentence holds, it stays text."""

    def spoiled(value: Any) -> Any:
        if isinstance(value, dict):
            fixed = ("kind", "how")  # names of the package's own, never of data
            return {key: own if key in fixed else spoiled(own) for key, own in value.items()}
        if isinstance(value, list):
            return [spoiled(item) for item in value]
        return EVIL if isinstance(value, str) else value

    page = page_of(spoiled(content()))
    assert "<script>alert" not in page
    assert shape(page).tags.count("script") == 1  # the page's own


def test_a_release_without_valid_errors_says_so() -> None:
    given = content()
    given["analysis"] |= {"applies": False, "code": None}
    page = page_of(given)
    assert "No valid standard errors from this release." in page
    assert "Example in Python" not in page


def test_many_files_are_cut_short() -> None:
    given = content()
    given["datasets"] |= {"files": [f"s{i}.csv" for i in range(100)], "rows": [5] * 100}
    page = page_of(given)
    assert "The first 20 of 100 files" in page
    assert "s19.csv" in page
    assert "s20.csv" not in page


@pytest.mark.parametrize(
    ("evolved", "lead", "real"),
    [
        ("mutants", "Evolved from the confidential data, without a model.", True),
        ("files", "Evolved from other files, without a model.", True),
        ("chain", "then an evolution of whole datasets.", False),
        (None, "A chain of models, one for each variable.", False),
    ],
)
def test_evolved_data_are_not_told_to_be_nobody(evolved: str | None, lead: str, real: bool) -> None:
    given = content()
    given |= {"cautions": []}
    given["synthesis"] |= {"evolved": evolved, "kept": []}
    given["variables"][0]["made"]["how"] = "evolved"
    page = page_of(given)
    assert lead in page
    assert (NOBODY in page) != real
    assert ("Records may be real." in page) == real
    assert "evolved, not modelled" in page
