"""Every result that is registered can be looked at in a notebook."""

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel

from synthesizer import RunResult, check, read_config, run
from synthesizer.data.errors import DataError, OutputError
from synthesizer.data.randomness import Seed
from synthesizer.measures.figure import Measured, Result, Row, column, columns
from synthesizer.measures.settings import ALL_OFF
from synthesizer.report.blocks import Note
from synthesizer.report.figures import tables_of
from synthesizer.report.notebook import framed
from tests.measures.risk.test_written import RESULTS as RISKS
from tests.measures.utility.test_every_comparison import COMPARISONS, NAMES, awkward
from tests.report.fixtures import Page

MADE: dict[str, Callable[[], Any]] = RISKS | {
    f"utility, {name}": lambda compare=compare: compare(awkward(1), [awkward(2, 600)], NAMES)
    for name, compare in COMPARISONS.items()
}


def made(name: str) -> list[Any]:
    """Return what a measure returns: one result, or several."""
    result = MADE[name]()
    return [*result] if isinstance(result, tuple) else [result]


LARGEST = 200_000
"""Bytes of what a notebook keeps of one result."""
BAD = "<script>alert(1)</script>\u202e & \"'"


def within(result: Any, seen: set[type]) -> Any:
    """Yield a result and one of each type within it."""
    if type(result) in seen:
        return
    seen.add(type(result))
    yield result
    for name in type(result).model_fields:
        value = getattr(result, name)
        for part in value[:1] if isinstance(value, tuple) else [value]:
            if isinstance(part, BaseModel):
                yield from within(part, seen)


def page_of(html: str) -> tuple[str, Page]:
    """Return the page in the frame of a notebook's HTML, and what is in it."""
    outer = ElementTree.fromstring(html)
    assert (outer.tag, outer.get("sandbox")) == ("iframe", "")
    page = outer.get("srcdoc") or ""
    style = page.partition("<style>")[2].partition("</style>")[0]
    known = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{known}'" in page  # also where line ends became blanks
    return page, Page(page)


def test_pictures_are_drawn_and_written(tmp_path: Any) -> None:
    drawn, empty = {}, set()
    for name in MADE:
        try:
            drawn[name] = made(name)[0].plot()
        except DataError as error:
            assert "nothing to draw" in str(error)
            empty.add(name)
    assert empty == {
        "regression", "no line", "negative", "reproduced", "suggestion",
        "no suggestion", "utility, pairs",
    }  # fmt: skip
    for picture in drawn.values():
        root = ElementTree.fromstring(picture._repr_svg_())
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in picture._repr_svg_()
        assert "<svg" in page_of(picture._repr_html_())[0]
    picture = drawn["cap"]
    picture.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text() == picture._repr_svg_()
    assert (tmp_path / "a.svg").stat().st_mode & 0o777 == 0o600
    picture.save(str(tmp_path / "a.html"))
    assert "<svg" in (tmp_path / "a.html").read_text()
    for wrong in ("a.svg", "a.png"):  # it is there already; no such form
        with pytest.raises(OutputError, match="a.svg" if wrong == "a.svg" else "svg or .html"):
            picture.save(tmp_path / wrong)
    picture.save(tmp_path / "a.svg", overwrite=True)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """Return a small run, of a mapping with a number as its seed."""
    folder, draws = tmp_path_factory.mktemp("run"), np.random.default_rng(0)
    people = pd.DataFrame({"age": draws.integers(0, 40, 120), "sex": draws.choice(["f", BAD], 120)})
    people.assign(ill=draws.choice(["no", "yes"], 120)).to_csv(folder / "people.csv", index=False)
    content = {
        "data": {"path": str(folder / "people.csv")}, "output": {"directory": str(folder / "out")},
        "random_key": "none", "workers": 1, "checks": {"propensity": False, "keys": ["age", "sex"],
        "target": "ill"}, "limits": {"cap": 0.01},
    }  # fmt: skip
    return run(content, seed=123454321)


def test_a_run_is_its_verdict_its_first_page_and_its_figures(done: RunResult) -> None:
    text = repr(done)
    assert len(text.splitlines()) <= 20
    for words in ("RunResult: 1 dataset in", "A person in the data: ", "Use: ", "Limit exceeded: ",
                  "What to change: ", "Report: "):  # fmt: skip
        assert words in text
    assert "123454321" not in text + repr(done.manifest) + repr(done.record.manifest.to_frame())
    page, shown = page_of(done._repr_html_())
    assert "A person in the data" in page
    assert not shown.all("script") + shown.all("img")
    assert {"cap", "mean_two_way"} <= {*done.to_frame()["key"]}
    assert len(done.to_frame("utility.tables.rows")) == 6
    (picture,) = done.plot().charts
    for one in done.verdict.lines:
        assert f"{one.title}: {one.word}. " in picture.summary
    drawn = ElementTree.fromstring(picture.svg)
    assert "Other tests, the worst first" in [words.text for words in drawn.iter("text")]
    assert picture.svg.count("line-bad thick") == 3 + 4  # a limit on every scale
    assert done.manifest.seed == 123454321
    assert done.manifest.config["random_key"] == "none"
    assert {*done.verdict.to_frame("lines.evidence").columns} >= {"test", "value", "low", "mark"}
    assert "cap = " in repr(done.checks.summary)


def test_a_number_replaces_the_seed_of_a_configuration_and_a_seed_its_key(
    done: RunResult, tmp_path: Path
) -> None:
    first = done.datasets[0].read_bytes()
    again = read_config(done.manifest.config | {"output": {"directory": str(tmp_path / "a")}})
    options: dict[str, Any] = {"overrides": {"checks": False, "limits": None}}
    assert run(again, seed=123454321, **options).datasets[0].read_bytes() == first
    options["overrides"] |= {"output": {"directory": tmp_path / "b"}, "random_key": None}
    content = done.manifest.config
    assert run(content, seed=Seed(123454321), **options).datasets[0].read_bytes() == first


class Named(Row):
    """Something that has a name."""

    name: str = column("Name", "text")
    value: float = column("Value", "share")
    hidden: str = column("Hidden", "text", repr=False)


class Several(Measured):
    """Several things."""

    seed: int
    rows: tuple[Named, ...]
    notes: tuple[str, ...]


def several(n: int = 50) -> Several:
    rows = tuple(Named(name=f"{BAD}{i}", value=i / 100, hidden="confidential") for i in range(n))
    return Several(seed=987654, rows=rows, notes=(BAD,))


def test_names_of_the_data_can_do_nothing() -> None:
    for html in (several()._repr_html_(), several().plot()._repr_html_()):
        page, shown = page_of(html)
        assert not shown.all("script")
        assert "&lt;script&gt;" in page
        assert "\u202e" not in page
        assert html.count("<") == 2  # the frame, and nothing else
    ElementTree.fromstring(several().plot()._repr_svg_())
    # a control: without the templates' escaping the script would be there
    evil = "&lt;script&gt;&lt;/script&gt;&lt;/p"
    _, shown = page_of(framed([Note("x")], "t").replace("x&lt;/p", evil))
    assert shown.all("script")


def test_long_tables_are_cut_and_draws_stay_hidden() -> None:
    text = repr(several(500))
    assert "and 488 more rows" in text
    assert len(text.splitlines()) <= 20
    assert "987654" not in text
    page, _ = page_of(several(500)._repr_html_())
    assert "987654" not in page
    assert "the first 30 of 500" in page
    assert page.count("<tr") == 31
    assert len(several(500).to_frame()) == 500


def test_ipython_shows_html_first() -> None:
    formatters = pytest.importorskip("IPython.core.formatters")
    shown, _ = formatters.DisplayFormatter().format(several())
    assert {"text/plain", "text/html"} <= {*shown}
    assert len(shown["text/plain"].splitlines()) <= 20


def kinds(kind: type) -> Any:
    for inner in kind.__subclasses__():
        yield inner
        yield from kinds(inner)


def test_the_name_of_a_result_means_one_thing() -> None:
    home = {(one.__name__, one.__module__) for one in kinds(Result)}
    names = [name for name, module in home if module.startswith("synthesizer.")]
    assert {name for name in names if names.count(name) > 1} == set()
    assert {"Distribution", "ReplicatedCounts", "KnownRow"} <= {*names}


def test_many_variables_do_not_swell_a_notebook() -> None:
    draws = np.random.default_rng(1)
    wide = pd.DataFrame({f"variable {i}": draws.choice([*"abc"], 60) for i in range(22)})
    few = ALL_OFF | {"one_way": True, "two_way": True}
    utility = check(wide, wide.iloc[:50], settings=few).utility
    assert len(utility._repr_html_()) < LARGEST
    assert "12 of the 22 variables" in utility.plot().charts[0].summary


@pytest.mark.parametrize("name", MADE)
def test_every_result_has_a_short_text_html_and_a_frame_with_every_column(name: str) -> None:
    seen: set[type] = set()
    results = made(name)
    for result in (part for one in results for part in within(one, seen)):
        text = repr(result)
        assert str(result) == text
        assert 0 < text.count("\n") + 1 <= 20
        assert len(text) < 2_500
        html = result._repr_html_()
        assert len(html) < LARGEST
        page, shown = page_of(html)
        assert not acts(shown)
        assert "default-src 'none'" in page
        frame = result.to_frame()
        assert len(frame) > 0
        assert all(isinstance(one, str) and one for one in frame.columns)
        for table, rows in tables_of(result):
            assert len(result.to_frame(table)) == len(rows), table
    for result in results:
        for table, rows in tables_of(result):
            named = {*columns(type(rows[0]))} if isinstance(rows[0], Row) else set()
            assert named <= {*result.to_frame(table).columns}, table


def acts(page: Page) -> bool:
    """Whether a page asks something of a browser, or does more than show."""
    attributes = {name for _, attrs in page.elements for name in attrs}
    tags = {tag for tag, _ in page.elements} & {"script", "img", "iframe", "object"}
    handlers = {name for name in attributes if name.startswith("on")}
    return bool(tags | handlers | attributes & {"src", "href", "style"})
