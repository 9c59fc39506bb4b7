"""One picture a line: where an interval is on its scale, in letters, as a picture, on a page."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from synthesizer import check
from synthesizer.data.samples.builtin import SAMPLES, sample_path
from synthesizer.measures.evidence import Evidence, Word, judged
from synthesizer.measures.results import RiskResult
from synthesizer.measures.verdict import CheckResults, VerdictLine
from synthesizer.report.decision import glance_section
from synthesizer.report.page import sections_html
from synthesizer.report.record import Record
from synthesizer.report.scale import (
    LIMIT,
    START,
    in_letters,
    picture,
    positions_of,
    sentence_of,
    verdict_charts,
)
from tests.report.fixtures import Page
from tests.report.utility_examples import manifest

DECLARED = SAMPLES["fair"].declarations
MOST_WORDS = 80


def evidence(value: float | None = 0.1, **fields: object) -> Evidence:
    known = {"key": "k", "test": "t", "word": "pass", "sentence": "", "mark": 0.2, "released": 1.0}
    return Evidence.model_validate(known | {"value": value} | fields)


@pytest.mark.parametrize(
    ("value", "fields", "position"),
    [
        (0.0, {}, START),  # reveals nothing
        (1.0, {}, 1.0),  # reveals everything
        (0.2, {}, LIMIT),
        (0.1, {}, 0.25),
        (-9.0, {}, 0.0),
        (9.0, {}, 1.0),
        (0.15, {"fresh": 0.1}, 0.25),
        (0.3, {"released": None}, LIMIT + 0.15),  # as steep as before the limit
        (0.01, {"released": 0.005}, START + 0.015),  # the original itself would pass
        (0.0, {"mark": 0.0, "fresh": None, "released": None}, LIMIT),
        (0.33, {"key": "equivalent_sample", "fresh": 0.33}, START),  # more is better
        (1.0, {"key": "equivalent_sample", "fresh": 0.33}, 0.0),
    ],
)
def test_new_sample_limit_and_original_have_fixed_places(
    value: float, fields: dict[str, object], position: float
) -> None:
    assert positions_of(evidence(value, **fields)).value == pytest.approx(position)


def test_ends_are_named_by_what_is_there() -> None:
    for fields, ends in (
        ({}, ("new sample", "original")),
        ({"released": 0.1}, ("new sample", "end: 0.6")),
        ({"fresh": 0.5, "released": None}, ("better", "end: 0.6")),
        ({"key": "associations", "fresh": None}, ("better", "useless")),
    ):
        assert positions_of(evidence(**fields))[3:] == ends


def test_the_picture_never_contradicts_the_word() -> None:
    rng = np.random.default_rng(1)
    words: set[Word] = set()
    for _ in range(2_000):
        mark, released = rng.uniform(0.001, 0.3), rng.choice([None, 0.01, 1.0])
        low, value, high = np.sort(rng.normal(mark, rng.choice([1e-4, 0.02, 0.5]), 3)).tolist()
        e = judged("k", "t", "", (value, low, high), mark, released=released)
        at, row = positions_of(e), in_letters(e)
        assert 0 <= at.low <= (at.value or 0) <= at.high <= 1
        assert row.isascii()
        assert len(row) <= 78
        bar = row.partition("|")[2].rpartition("|")[0]
        assert (bar[18], len(bar)) == ("|", 47)  # the limit is seen, whatever covers it
        before, after = (bool(re.search(r"[\[=o\]]", part)) for part in (bar[:18], bar[19:]))
        assert (before, after) == {
            "pass": (True, False), "fail": (False, True), "unclear": (True, True)
        }[e.word]  # fmt: skip
        assert (at.high <= LIMIT, at.low > LIMIT) == (e.word == "pass", e.word == "fail")
        words.add(e.word)
    assert words == {"pass", "unclear", "fail"}


def test_a_picture_is_named_with_its_figures_and_its_marks_are_at_their_places() -> None:
    e = evidence(0.1, low=0.0, high=0.2)
    root = ElementTree.fromstring(picture(e, "Person: pass. 0.1 < 0.2"))
    assert root.get("role") == "img"
    assert [child.text for child in root if child.tag == "title"] == ["Person: pass. 0.1 < 0.2"]
    (dot,) = root.findall("circle")
    (band,) = [line for line in root.findall("line") if "band" in (line.get("class") or "")]
    (limit,) = [line for line in root.findall("line") if "bad" in (line.get("class") or "")]
    positions = [(float(x or 0) - 6) / 268 for x in
              (band.get("x1"), dot.get("cx"), band.get("x2"), limit.get("x1"))]  # fmt: skip
    assert positions == pytest.approx([START, 0.25, LIMIT, LIMIT], abs=1e-3)


# Files and runs.


def thirds(n: int) -> list[pd.DataFrame]:
    people = pd.read_csv(sample_path("fair")).sample(3 * n, random_state=1)
    return [people.iloc[i * n : (i + 1) * n].reset_index(drop=True) for i in range(3)]


def of_files(original: pd.DataFrame, made: pd.DataFrame, control: pd.DataFrame | None) -> Record:
    settings = {"attacks": False}
    results = check(original, made, control, declared=DECLARED, only="risk", settings=settings)
    alone = check(original, made, declared=DECLARED, only="utility")  # without a holdout
    return Record(manifest(chain=()), results.model_copy(update={"utility": alone.utility}))


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    original, fresh, control = thirds(500)
    mixed = pd.concat([original[:170], control[170:]], ignore_index=True)
    copied = of_files(original, original, control)
    unlike = copied.results.risk.model_copy(update={"unlike": ("age: NA and -8",)})
    failed = {f"column 'variable {i}'": "why" for i in range(30)}
    warned = copied.results.model_copy(update={"risk": unlike, "failed": failed})
    above = ("limits.cap: CAP is 0.3, above 0.1",) * 3
    return {
        "a new sample": of_files(original, fresh, control),
        "the original": copied,
        "without a control": of_files(original, fresh, None),
        "nothing": Record(manifest(), CheckResults(risk=RiskResult())),
        "all warnings": Record(manifest(), warned, above, changes=("one has changed",)),
        "a control that was fitted": of_files(original, fresh, mixed),
    }


def test_both_ends_of_real_files(records: dict[str, Record]) -> None:
    def values(kind: str) -> dict[str, float]:
        lines = records[kind].verdict.lines
        return {
            e.key: positions_of(e).value or 0.0 for x in lines for e in x.evidence if e.measured
        }

    copied, fresh = values("the original"), values("a new sample")
    assert copied["copied_uniques"] == pytest.approx(1.0)
    assert copied["near_verbatim"] > 0.9
    assert copied["equivalent_sample"] == pytest.approx(0.0)
    assert max(fresh["copied_uniques"], fresh["near_verbatim"]) <= LIMIT
    assert fresh["near_verbatim"] == pytest.approx(START, abs=0.2)
    assert fresh["equivalent_sample"] < LIMIT


def test_what_was_not_measured_may_be_anywhere_and_yes_or_no_has_no_scale() -> None:
    e = evidence(None, mark=None, measured=False)
    assert positions_of(e)[:3] == (0.0, None, 1.0)
    assert in_letters(e).count("?") == 46
    e = evidence(None, mark=None)
    assert in_letters(e) == ""
    assert "no scale" in picture(e, "t")


def seen(record: Record) -> list[str]:
    return Page(sections_html([glance_section(record)])).visible


def test_the_first_screen_is_short_and_hides_no_warning(
    records: dict[str, Record],
) -> None:
    for kind, record in records.items():
        words = seen(record)
        assert 30 < len(words) <= MOST_WORDS, (kind, " ".join(words))
        assert [word for word in words if word in ("PASS", "UNCLEAR", "FAIL")] == [
            line.word.upper() for line in record.verdict.lines
        ]
        warned = kind in ("all warnings", "a control that was fitted")
        assert ("Warning:" in words) == warned, kind
    # a control: the sentences of the tests alone have more
    sentences = " ".join(line.sentence for line in records["the original"].verdict.lines).split()
    assert len(sentences) + len(seen(records["the original"])) > MOST_WORDS
    for part in ("3 limits exceeded", "files changed", "30 columns not compared", "missing"):
        assert part in " ".join(seen(records["all warnings"]))


def test_a_verdict_is_three_lines_a_frame_and_three_pictures(
    records: dict[str, Record], tmp_path: Path
) -> None:
    for record in records.values():
        decided = record.verdict
        lines = repr(decided).splitlines()
        assert [line.split(". ")[0] for line in lines] == [
            f"{line.title}: {line.word.upper()}" for line in decided.lines
        ]
        assert max(map(len, lines)) < 135
        assert len(decided.to_frame()) == 3
        decided.plot().save(tmp_path / "verdict.svg", overwrite=True)
        text = (tmp_path / "verdict.svg").read_text()
        for chart, line in zip(verdict_charts(decided), decided.lines, strict=True):
            assert sentence_of(line) in chart.svg.unescape()
            assert f"{line.title}</text>" in text
            assert f'strong {line.word}">{line.word.upper()}</text>' in text
            assert len(sentence_of(line).split()) <= 20
        assert decided._repr_html_().count("role=") == 3


def test_keys_that_are_not_informative_are_named_if_the_line_passes() -> None:
    weak = evidence(0.1, is_weak=True)
    for word, words in (("pass", "choose others"), ("fail", "")):
        one = VerdictLine(
            subject="anybody",
            title="t",
            word=word,
            sentence="",
            evidence=(weak.model_copy(update={"word": word}),),
        )
        assert ("choose others" in sentence_of(one)) == bool(words)


def test_an_unmeasured_line_on_use_ends_in_useless_and_has_no_place() -> None:
    e = evidence(None, mark=None, key="tails", measured=False)
    assert positions_of(e).bad_end == "useless"
    assert "not measured" in picture(e, "t")
    assert "?" not in picture(e, "t")


def test_the_number_at_the_end_has_the_unit_of_the_sentence() -> None:
    for key, end in (
        ("releases", "end: 60 points"),
        ("attack_risk", "end: 60%"),
        ("k", "end: 0.6"),
    ):
        e = evidence(0.1, key=key, released=None)
        assert positions_of(e).bad_end == end
    assert "at most 12.0 percentage points" in sentence_of(
        VerdictLine(
            subject="person", title="t", word="unclear", sentence="",
            evidence=(evidence(0.1, key="releases", high=0.12, word="unclear"),),
        )
    )  # fmt: skip
