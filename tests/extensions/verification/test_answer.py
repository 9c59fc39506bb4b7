"""What a researcher reads: words by where r lies, and the source of numbers."""

import json
from typing import get_args

import pytest

from synthesizer.extensions.verification.answer import (
    ShareAnswer,
    Verification,
)
from synthesizer.extensions.verification.ledger import Budget
from synthesizer.extensions.verification.messages import PROMISE
from synthesizer.measures.figure import Form, Result, columns


def answer(*counts, holds=True, scale=1.0, unfitted=0.0):
    return ShareAnswer.of(
        [counts], partitions=50, scales=[scale], statements=[("b < <0", -0.0213, holds, unfitted)]
    )


@pytest.mark.parametrize(
    ("counts", "scale", "holds", "verdict", "beside"),
    [
        ((50,), 1.0, True, "nearly all", "confirmed, for the range"),
        ((50,), 1.0, False, "nearly all", "synthetic data disagree"),
        ((37,), 1.0, True, "most", "confirmed, for the range"),
        ((25,), 1.0, True, "about half", "near the border"),
        ((24, 24, 2), 2.0, True, "about half", "near the border"),
        ((25,), 20.0, True, "undecided", "neither confirms nor contradicts"),
        ((12,), 1.0, True, "few", "Do not publish"),
        ((12, 38, 0), 2.0, True, "few", "Do not publish"),
        ((0,), 1.0, False, "nearly none", "confirmed, for the range"),
        ((0, 50, 0), 2.0, False, "nearly none", "confirmed, for the range"),
        ((40, 0, 10), 2.0, True, "nearly all", "confirmed, for the range"),
    ],
)
def test_words_follow_from_where_r_lies(counts, scale, holds, verdict, beside):
    made = answer(*counts, holds=holds, scale=scale)
    assert made.statements[0].verdict == verdict
    assert any(beside in sentence for sentence in made.words)


def test_a_no_may_be_a_model_that_cannot_be_fitted_unless_such_groups_count_separately():
    for counts in ((1,), (12,), (25,)):
        words = " ".join(answer(*counts, unfitted=0.2).words)
        assert "such groups separately" in words
        assert not any(
            claim in words for claim in ("synthetic data disagree", "confirmed", "Do not publish")
        )
        assert "such groups separately" not in " ".join(answer(*counts).words)
    assert "such groups separately" not in " ".join(answer(49, unfitted=0.2).words)
    assert any("r is about the others" in words for words in answer(35, 0, 15).words)


def verification(**changes):
    content = {
        "dry": False,
        "query": {"formula": "y ~ <x>", "ask": {"measure": "interval"}},
        "digest": "f" * 64,
        "charge": 1.0,
        "is_new": True,
        "budgets": (Budget(scope="global", name="", spent=1_000_000, cap=5_000_000),),
        "answer": answer(49),
    }
    return Verification(**content | changes)


def test_page_json_screen_and_notebook_tell_the_same_and_the_promise():
    made = verification()
    page, content = made.page, json.loads(made.json_text)
    assert content["promise"] == [*PROMISE]
    assert content["answer"]["released"] == [[49]]
    for text in (
        PROMISE[0],
        "In the synthetic data",
        "left",
        "y ~ &lt;x&gt;",
        made.answer.words[0],
    ):
        assert text.replace("b < <0", "b &lt; &lt;0") in page
    assert "<x>" not in page
    assert made._repr_html_().startswith("<iframe srcdoc=")
    assert "&lt;svg" in made._repr_html_()
    assert "Charged: epsilon 1 (global: 4 left)." in list(made.lines)
    assert any("Answered before" in line for line in verification(is_new=False).lines)
    assert not any("left" in line for line in verification(dry=True, budgets=()).lines)


def test_every_column_of_every_answer_has_a_form():
    kinds, known = [Result], set()
    while kinds:
        kinds += (kind := kinds.pop()).__subclasses__()
        if kind.__module__.startswith("synthesizer.extensions.verification"):
            known |= {(kind.__name__, key, one.form) for key, one in columns(kind).items()}
    assert {form for *_, form in known} <= {*get_args(Form)}
    assert len(known) > 30
