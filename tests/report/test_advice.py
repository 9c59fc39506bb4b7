"""The worst things of a verdict and what to try: the same on the page and on the screen."""

from __future__ import annotations

from typing import Any

import pytest

from synthesizer.measures.verdict import HALVES, Evidence, Subject, Verdict, VerdictLine, Word
from synthesizer.report.advice import Advice, worst_things
from synthesizer.report.record import GeneticEntry
from tests.report.utility_examples import manifest, run, step, table, tables


def line(subject: Subject, *evidence: tuple[str, Word], measured: bool = True) -> VerdictLine:
    found = tuple(
        Evidence(key=key, test=key, word=word, sentence=f"{key} it is.", measured=measured)
        for key, word in evidence
    )
    return VerdictLine(subject=subject, title=subject, word="unclear", sentence="", evidence=found)


def verdict(*lines: VerdictLine) -> Verdict:
    return Verdict(lines=lines)


MIXED = verdict(
    line("person", ("copied_uniques", "fail"), ("near_copies", "fail"), ("worst_group", "unclear")),
    line("anybody", ("cap_beyond", "unclear"), ("cap_beyond", "unclear"), ("disco_beyond", "pass")),
    line("use", ("mean_two_way", "fail")),
)


def made(**options: Any) -> Any:
    """A run of trees."""
    config = {"models": {"cart": options}} if options else {}
    chain = (step("age", model="sample"), step("pay", model="cart", predictors=("age",)))
    return run(
        facts=manifest(chain=chain, config=config),
        tables=tables(table("age", "pay", s_pmse=40.0)),
    )


def keys(advice: list[Advice]) -> list[list[str]]:
    return [[e.key for _, e in one.findings] for one in advice]


def test_the_gravest_come_first_each_figure_once_and_each_remedy_once() -> None:
    larger, smaller = (
        ["copied_uniques", "near_copies", "cap_beyond", "worst_group"],
        ["mean_two_way"],
    )
    assert keys(worst_things(MIXED, made())) == [larger, smaller]
    assert keys(worst_things(MIXED, made(), subjects=("use",))) == [smaller]
    assert worst_things(verdict(line("use", ("mean_two_way", "pass"))), made()) == []


@pytest.mark.parametrize(
    ("options", "less", "more"),
    [
        ({}, "{cap: 100}", "{cap: 15}"),
        ({"cap": 80}, "{cap: 160}", "{cap: 15}"),
        ({"cap": 8}, "{cap: 100}", "{cap: 4}"),
        ({"min_leaf": 1}, "{min_leaf: 100}", "{min_leaf: 1}"),
        ({"tilt": False}, "{min_leaf: 100}", "{min_leaf: 10}"),
    ],
)
def test_leaves_grow_against_memory_and_shrink_for_use(
    options: dict[str, Any], less: str, more: str
) -> None:
    memory, use = worst_things(MIXED, made(**options))
    assert f"models: {{cart: {less}}}" in memory.remedy
    assert f"models: {{cart: {more}}}" in use.remedy


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({}, "tilt: false"),
        ({"min_leaf": 10}, "tilt: false"),
        ({"min_leaf": 5}, "min_leaf: 100"),
        ({"tilt": False}, "min_leaf: 100"),
    ],
)
def test_nearness_comes_from_the_tilt_where_leaves_are_large(
    options: dict[str, Any], remedy: str
) -> None:
    (advice,) = worst_things(verdict(line("person", ("near_verbatim", "fail"))), made(**options))
    assert f"models: {{cart: {{{remedy}}}}}" in advice.remedy


@pytest.mark.parametrize(("rare", "remedy"), [({}, "rare: {"), ({"min_count": 20}, "tilt: false")])
def test_nearness_in_panels_comes_from_rare_levels_first(rare: dict[str, Any], remedy: str) -> None:
    config = {"panel": {"person": "id", "time": "year"}, "rare": rare}
    chain = (step("pay", model="lag_one", base=("cart",)),)
    record = run(facts=manifest(chain=chain, config=config))
    (advice,) = worst_things(verdict(line("person", ("near_verbatim", "fail"))), record)
    assert remedy in advice.remedy


def test_advice_on_files_and_evolutions_names_no_trees() -> None:
    evolved = manifest(
        chain=(), genetic=GeneticEntry(start="mutants", mode="single", interrupted=False)
    )
    of_file = manifest(chain=(), genetic=None)
    for record in (None, run(facts=of_file), run(facts=evolved)):
        words = " ".join(advice.remedy for advice in worst_things(MIXED, record))
        assert "cart" not in words
        assert "min_leaf" not in words
    assert "more generations" in words


def test_weak_keys_are_not_mended_by_leaves() -> None:
    weak = Evidence(key=HALVES[0], test="", word="unclear", sentence="", is_weak=True)
    lines = verdict(line("person").model_copy(update={"evidence": (weak,)}))
    assert [
        advice.remedy for record in (made(), None) for advice in worst_things(lines, record)
    ] == [
        "name keys that tell more: checks: {keys: [...]}",
        "name keys that tell more: --keys",
    ]


def test_the_worst_pair_names_the_model_to_blame() -> None:
    (advice,) = worst_things(verdict(line("use", ("worst_two_way", "unclear"))), made())
    assert "the model of pay is to blame" in advice.remedy


def test_what_was_not_measured_says_what_measures_it() -> None:
    keys = (*HALVES, "copied_uniques")
    missing = verdict(line("person", *((key, "unclear") for key in keys), measured=False))
    of_files = worst_things(missing)
    assert [advice.tests for advice in of_files] == [
        f"not measured: {'; '.join(HALVES)}", "not measured: copied_uniques",
    ]  # fmt: skip
    assert "as control" in of_files[0].remedy
    (of_run,) = worst_things(missing, made())
    assert of_run.remedy.startswith(f"turn on {HALVES[0]}")
    (switched_off,) = worst_things(verdict(line("person", (HALVES[1], "unclear"), measured=False)))
    assert switched_off.remedy.startswith(f"turn on {HALVES[1]}")  # a control is there


@pytest.mark.parametrize(
    ("codes", "rare", "remedy"),
    [(300, {}, "rare: {min_count: 20"), (300, {"min_count": 5}, "rare: {min_count: 20"),
     (300, {"min_count": 20}, "cap: 100"), (12, {}, "cap: 100")],
)  # fmt: skip
def test_near_copies_by_many_levels_are_mended_by_grouping(
    codes: int, rare: dict[str, Any], remedy: str
) -> None:
    chain = (step("occ", model="cart", kind="categorical", codes=codes),)
    record = run(facts=manifest(chain=chain, config={"rare": rare}))
    (advice,) = worst_things(verdict(line("person", ("near_copies", "fail"))), record)
    assert remedy in advice.remedy
