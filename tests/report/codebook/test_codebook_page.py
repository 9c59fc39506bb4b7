"""The codebook for researchers as a page: everything shown, everything escaped, nothing needed."""

from __future__ import annotations

import re
from typing import Any

from synthesizer.measures.figure import plain
from synthesizer.report.codebook.conclusions import Analysis, Caution
from synthesizer.report.codebook.datasets import FileFormat
from synthesizer.report.codebook.words import Code, Described, Level, Making, Range
from synthesizer.report.codebook.write import Datasets, ReleaseCodebook, Synthesis, codebook_page
from tests.report.codebook.books import page_of
from tests.report.fixtures import Page
from tests.run_directories import filled

NOBODY = "No record is a person"
EVIL = "<script>alert(1)</script>\"'&\n\u2028"


def variable(name: str, **more: Any) -> Described:
    usual = {"kind": "numeric", "made": Making(how="drawn", words="Drawn by a tree.", model="cart")}
    return filled(Described, name=name, **usual | more)


def codebook(**more: Any) -> ReleaseCodebook:
    """A codebook in small."""
    many = Making(
        how="drawn",
        words="Drawn.",
        predictors=tuple(f"x{i}" for i in range(40)),
        options={"min_leaf": 5, "even": True},
    )
    form = FileFormat(type="csv.gz", delimiter=";", encoding="latin-1", decimal_mark=",")
    usual: dict[str, Any] = {
        "datasets": Datasets(
            files=("synthetic_1.csv", "synthetic_2.csv"), rows=(7634, 7634), format=form
        ),
        "synthesis": filled(
            Synthesis,
            words=("One after the other.",),
            kept=("sex",),
            rules=("If age < 15, then job is none.",),
            forbidden=("No record has: age > 200.",),
            packages={"synthesizer": "0.1.0"},
        ),
        "variables": (
            variable(
                "age",
                label="Age in years",
                unit="years",
                decimals=0,
                range=Range(low=-3, high=12345),
                levels=(Level(level="99", label="99 or more", share=None),),
                missing=(
                    Code(code="", label="not asked", share=0.25),
                    Code(code="-9", label="", share=0),
                ),
                made=many,
                not_modelled_with=("pay",),
            ),
            variable(
                "town",
                kind="categorical",
                levels=[Level(level=str(i), label="", share=i / 1000) for i in range(250)],
            ),
            variable(
                "pay",
                unit="EUR",
                decimals=2,
                range=Range(low=0.25, high=1234567.89),
                made=Making(how="kept", words="Copied."),
            ),
            variable("born", kind="date", date_format="%d.%m.%Y"),
        ),
        "analysis": filled(Analysis, applies=True, source="Raab", code='print("a" < "b")\n'),
        "cautions": (Caution(title=NOBODY, text="Nobody."),),
    }
    return ReleaseCodebook(**usual | more)


def _acts(name: str) -> bool:
    """Whether an attribute is one that the content policy forbids."""
    return name == "style" or name.startswith("on")


def test_it_says_for_whom_it_is_and_is_sound() -> None:
    page = codebook_page(codebook())
    found = Page(page)
    ids = [attrs["id"] for _, attrs in found.elements if "id" in attrs]
    links = [str(attrs["href"]) for attrs in found.all("a")]
    assert not [attrs for _, attrs in found.elements if any(_acts(name) for name in attrs)]
    assert "to go with the datasets where these are released" in page
    assert '<aside class="banner release"' in page
    assert "confidential: " not in page.lower()
    assert len(set(ids)) == len(ids)
    assert {link for link in links if re.match(r"#v\d", link)} == {"#v1", "#v2", "#v3", "#v4"}
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert len(found.all("h1")) == 1
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

    page = page_of(spoiled(plain(codebook())))
    assert "<script>alert" not in page
    assert len(Page(page).all("script")) == 1  # the page's own
