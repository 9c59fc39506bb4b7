"""The codebook for researchers as a page: everything shown, everything escaped, nothing needed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.report.codebook.books import page_of
from tests.report.fixtures import Page
from tests.report.test_words_of_pages import CODEBOOKS

EVIL = "<script>alert(1)</script>\"'&\n\u2028"


def _acts(name: str) -> bool:
    """Whether an attribute is one that the content policy forbids."""
    return name == "style" or name.startswith("on")


def test_it_says_for_whom_it_is_and_is_sound(tmp_path: Path) -> None:
    page = page_of(CODEBOOKS[SCENE](tmp_path))
    parsed = Page(page)
    ids = [attrs["id"] for _, attrs in parsed.elements if "id" in attrs]
    links = [str(attrs["href"]) for attrs in parsed.all("a")]
    assert not [attrs for _, attrs in parsed.elements if any(_acts(name) for name in attrs)]
    assert "for release with the datasets" in page
    assert '<aside class="banner release"' in page
    assert "confidential: " not in page.lower()
    assert len(set(ids)) == len(ids)
    assert {link for link in links if re.match(r"#v\d", link)} == {f"#v{n}" for n in range(1, 8)}
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert len(parsed.all("h1")) == 1
    assert not re.search(r"(?:src|href)=\"https?:", page)


def test_data_cannot_act(tmp_path: Path) -> None:
    """Whatever text a variable, level, label or sentence holds, it stays text."""

    def spoiled(value: Any) -> Any:
        if isinstance(value, dict):
            fixed = ("kind", "how")  # names of the package's own, never of data
            return {key: item if key in fixed else spoiled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [spoiled(item) for item in value]
        return EVIL if isinstance(value, str) else value

    page = page_of(spoiled(CODEBOOKS[SCENE](tmp_path)))
    assert "<script>alert" not in page
    assert len(Page(page).all("script")) == 1  # the page's own


SCENE = "a table with words, rules and strata"
