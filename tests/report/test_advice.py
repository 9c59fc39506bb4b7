"""The worst things of a verdict and what helps, and which of tried settings is advised."""

from __future__ import annotations

import json
from typing import Any

from synthesizer.measures.evidence import Evidence, Word
from synthesizer.measures.verdict import HALVES, Subject, Verdict, VerdictLine
from synthesizer.report.decision import (
    TRY_SETTINGS,
    Advice,
    Advised,
    Trial,
    finding_of,
    remedy_of,
    worst_things,
)
from tests.report.utility_examples import manifest, run, step


def line(subject: Subject, *evidence: tuple[str, Word], measured: bool = True) -> VerdictLine:
    items = tuple(
        Evidence(key=key, test=key, word=word, sentence=f"{key} it is.", measured=measured)
        for key, word in evidence
    )
    return VerdictLine(subject=subject, title=subject, word="unclear", sentence="", evidence=items)


def verdict(*lines: VerdictLine) -> Verdict:
    return Verdict(lines=lines)


MIXED = verdict(
    line("person", ("copied_uniques", "fail"), ("near_copies", "fail"), ("worst_group", "unclear")),
    line("anybody", ("cap_beyond", "unclear"), ("cap_beyond", "unclear"), ("disco_beyond", "pass")),
    line("use", ("mean_two_way", "fail")),
)
WEAK = Evidence(key=HALVES[0], test="", word="unclear", sentence="", is_weak=True)
EXCESS = WEAK.model_copy(update={"test": "excess"})


def made() -> Any:
    return run(facts=manifest(chain=(step("age", model="sample"), step("pay", model="cart"))))


def keys(advice: list[Advice]) -> list[list[str]]:
    return [[e.key for _, e in one.findings] for one in advice]


def test_findings_of_settings_have_one_remedy_the_gravest_first_each_figure_once() -> None:
    every = ["copied_uniques", "near_copies", "mean_two_way", "cap_beyond", "worst_group"]
    (advice,) = worst_things(MIXED, made())
    assert sorted(keys([advice])[0]) == sorted(every)
    assert keys([advice])[0][0] == "copied_uniques"
    assert advice.remedy == TRY_SETTINGS
    assert advice.change == f"What to change: {TRY_SETTINGS}."
    assert all(key in advice.tests for key in every)
    assert keys(worst_things(MIXED, made(), subjects=("use",))) == [["mean_two_way"]]
    assert worst_things(verdict(line("use", ("mean_two_way", "pass"))), made()) == []


def test_settings_are_tried_for_the_worst_finding_that_they_can_mend() -> None:
    subject, finding = finding_of(MIXED)
    assert (subject, finding and finding.key) == ("person", "copied_uniques")
    far, close = (
        Evidence(key=key, test="", word="fail", sentence="", value=value, mark=1.0)
        for key, value in (("far", 3.0), ("near", 1.1))
    )
    graver = line("person").model_copy(update={"evidence": (close, far)})
    assert finding_of(verdict(graver, line("use", ("mean_two_way", "fail")))) == ("person", far)
    of_others = [WEAK, WEAK.model_copy(update={"is_weak": False, "measured": False})]
    of_others += [Evidence(key="few_records", test="", word="unclear", sentence="")]
    lines = [line("person").model_copy(update={"evidence": (e,)}) for e in of_others]
    assert all(finding_of(verdict(one)) == (None, None) for one in lines)


# Which setting is advised.


def trial(setting: str, word: Word, **fields: Any) -> Trial:
    return Trial(setting=setting, word=word, **fields)


PERSONS = trial("now", "fail", value=0.12, least=0.07, limit=0.05, use=2.0, distance=2.0)
USE = trial("now", "fail", value=4.0, limit=3.0, persons=0.01, distance=0.3)


def advised(*others: Trial, now: Trial = PERSONS, again: tuple[Trial, ...] = ()) -> Advised:
    return Advised(
        finding=EXCESS, subject="use" if now is USE else "person", trials=(now, *others),
        again=again, units="persons",
    )  # fmt: skip


def test_of_settings_that_pass_the_one_with_the_least_loss_is_best() -> None:
    dear = trial("dear", "pass", value=0.0, use=2.9, distance=0.0)
    cheap = trial("cheap", "pass", value=0.02, use=2.4, distance=0.0)
    nearer = trial("nearer", "unclear", value=0.01, use=2.1, distance=0.4)
    result = advised(dear, cheap, nearer)
    assert result.best == cheap
    assert advised(dear, nearer).best == dear
    assert advised(nearer).best == nearer
    few = [trial("few", "pass", value=2.8, distance=0.0, persons=p) for p in (0.03, 0.02)]
    assert advised(*few, now=USE).best == few[1]


def test_a_wide_interval_is_mended_by_no_setting() -> None:
    wide = PERSONS.model_copy(update={"word": "unclear", "value": 0.03, "least": 0.001})
    lucky = trial("lucky", "pass", value=0.004, use=1.0, distance=0.0)
    assert advised(lucky, now=wide).best is None
    assert advised(lucky, now=wide).sentence.count("More persons narrow the interval.") == 1
    assert "More" not in advised(now=USE).sentence
    assert advised(lucky, now=wide).sentence.startswith("None of these")
    assert advised(now=wide).sentence.startswith("No other setting is known")


def test_a_setting_that_lets_another_test_fail_does_not_help() -> None:
    plain = trial("plain", "pass", value=0.0, use=9.0, distance=0.0, failing=("mean_two_way",))
    assert advised(plain).best is None
    both = PERSONS.model_copy(update={"failing": ("near_verbatim", "mean_two_way")})
    assert advised(plain, now=both).best == plain


def test_advised_is_what_helps_on_both_halves() -> None:
    good = trial("good", "pass", value=0.0, use=2.0, distance=0.0)
    bad = good.model_copy(update={"value": 0.09, "word": "unclear", "distance": 1.0})
    sure, chance = advised(good, again=(PERSONS, good)), advised(good, again=(PERSONS, bad))
    assert (sure.advised, chance.advised) == ("good", None)
    assert sure.sentence == (
        "Advised: good. It passes. On another half: excess 0.000 instead of 0.120."
    )
    assert sure.figure == "excess (lower is better)"
    assert advised(good).sentence.startswith(
        "None of these helps: good. good helped on one half only."
    )
    assert "one half only" in chance.sentence
    assert json.loads(sure.text)["advised"] == "good"
    assert advised(good, again=(PERSONS,)).advised is None


def test_a_run_that_was_never_given_out_is_taken_out_by_a_command() -> None:
    remedy = remedy_of(Evidence(key="releases", test="t", word="unclear", sentence=""))
    assert "synthesizer releases SOURCE --not-given-out DIR" in remedy
    assert "run or check again" in remedy
