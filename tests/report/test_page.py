"""The page: self-contained, escaped, accessible."""

import base64
import hashlib
import json
import re
from typing import Any

from markupsafe import Markup

from synthesizer.report.blocks import Chart, DataTable, Gap, Note, Section, Words
from synthesizer.report.charts import svg
from synthesizer.report.page import fragment, render
from tests.report.fixtures import EVIL, Page

TABLE = DataTable(
    caption=f"Table of {EVIL}",
    columns=["Variable", EVIL, "p"],
    forms=["text", "count", "p"],
    rows=[[EVIL, 1234, 0.0001], ['a "b"', None, 0.2]],
    sortable=True,
    highlight=[1],
)
CHART = Chart(
    title=EVIL,
    svg=svg(10, 10, title="Name", description="What is to be seen"),
    reads="Lower is better.",
    summary=f"It shows {EVIL}.",
    table=TABLE,
)
BLOCKS = [
    Words([EVIL, "Two"]),
    Note(EVIL, "alert"),
    Gap(EVIL, "Run again."),
    TABLE,
    CHART,
    Markup("<h3>Mine</h3>"),
]


def page(**settings: Any) -> str:
    section = Section(anchor="all", title=f"All {EVIL}", lead=EVIL, blocks=BLOCKS)
    return render(f"Report {EVIL}", [section], **{"banner": f"Mine {EVIL}", **settings})


def hash_of(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_nothing_from_data_becomes_an_element():
    parsed = Page(page(data={"x": EVIL}, subtitle=EVIL))
    assert len(parsed.all("script")) == 2
    assert not [text for text in parsed.text("script") if text.startswith("alert")]
    assert EVIL in parsed.text("h1")[0]


def test_policy_lets_in_only_the_own_style_and_script():
    text = page()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{hash_of(script)}'" in policy
    assert f"style-src 'sha256-{hash_of(style)}'" in policy
    assert "unsafe" not in policy


def test_nothing_is_requested_and_nothing_acts_inline():
    text = page()
    for tag, attrs in Page(text).elements:
        assert not [name for name in attrs if name.startswith("on") or name == "style"], tag
        assert (attrs.get("href") or "#").startswith(("#", "data:,"))
        assert "src" not in attrs
    assert not re.search(r"https?:", text)
    assert "url(" not in text
    assert "@import" not in text


def test_script_puts_no_data_into_markup():
    script = Page(page()).texts["script"][-1]
    assert script.startswith('"use strict";')
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)


def test_tables_have_captions_scopes_and_raw_values():
    text = fragment(TABLE)
    parsed = Page(text)
    assert parsed.text("caption") == [f"Table of {EVIL}"]
    assert [attrs["scope"] for attrs in parsed.all("th")] == ["col"] * 3 + ["row"] * 2
    assert [attrs.get("data-raw") for attrs in parsed.all("td")] == ["1234", "0.0001", None, "0.2"]
    assert parsed.text("td") == ["1,234", "<0.001", "–", "0.200"]
    assert parsed.text("span") == ["needs attention:"]
    assert [attrs.get("class") for attrs in parsed.all("tr")] == [None, None, "attention"]


def test_page_has_landmarks_and_a_way_past_them():
    parsed = Page(page())
    assert parsed.all("html")[0]["lang"] == "en"
    assert len(parsed.all("main")) == len(parsed.all("nav")) == len(parsed.all("header")) == 1
    assert parsed.all("a")[0] == {"class": "skip", "href": "#content"}
    assert parsed.all("section")[0]["aria-labelledby"] == "all-title"
    links = [attrs["href"] for attrs in parsed.all("a")]
    ids = [attrs["id"] for _, attrs in parsed.elements if "id" in attrs]
    assert {link[1:] for link in links} <= set(ids)
    assert len(ids) == len(set(ids))


def test_data_cannot_leave_their_element():
    value = {"a": ["</script><!--", "\u2028&", float("nan"), float("inf"), (1, 2.5)], 3: "\ud800"}
    text = page(data=value)
    plain = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1]
    assert not set("<>&\u2028") & set(plain)
    assert json.loads(plain) == {"a": ["</script><!--", "\u2028&", None, None, [1, 2.5]], "3": "?"}
    assert 'id="data"' not in page()
    text.encode("utf-8")
