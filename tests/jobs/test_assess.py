import json

import numpy as np
import pandas as pd
import pytest
from synthesizer.jobs.check_frames import assess, evaluate

from synthesizer.data.errors import DataError, SynthesizerError
from synthesizer.measures.figure import plain
from synthesizer.measures.results import CheckResults
from synthesizer.measures.risk import (
    Exclusion,
    Scenario,
    Tolerance,
    attribute,
    cap,
    identity,
    inference,
    replicated_uniques,
    suda,
    tcap,
)
from synthesizer.measures.risk.scenario import Question
from synthesizer.measures.verdict import verdict
from tests.tables import persons


def people(n: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "person_id": [f"p{k}" for k in rng.permutation(n)],
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 80, n),
            "region": rng.choice(list("abcd"), n),
            "job": rng.choice(["none", "part", "full"], n),
            "pay": np.round(rng.gamma(2, 900, n) - 200),
        }
    )


KNOWN = {"keys": ["sex", "age", "region"], "target": "job"}
ORIGINAL, MADE, CONTROL = people(), people(200, 1), people(300, 2)


def test_figures_are_those_of_the_measures() -> None:
    question = Question(sensitive="sex", public=("age", "job"))
    found = assess(ORIGINAL, [MADE, CONTROL], **KNOWN, questions=question)
    main, pair = found.main, (ORIGINAL, [MADE, CONTROL])
    assert main.cap == cap(*pair, **KNOWN)
    assert main.tcap == tcap(*pair, **KNOWN)
    assert main.identity == identity(*pair, keys=KNOWN["keys"])
    assert main.attribute == attribute(*pair, **KNOWN)
    assert main.suda == suda(ORIGINAL, KNOWN["keys"]).result
    expected = inference(*pair, sensitive="sex", public=["age", "job"])
    assert found.inference[0] == expected
    whole = replicated_uniques(*pair, exclude=["person_id"])
    assert found.replicated == whole
    assert (main.differential, found.nearest, found.attacks) == (None, None, None)
    assert found.failed == {}
    assert json.dumps(plain(found), allow_nan=False)


def test_a_control_file_shows_what_is_risk() -> None:
    copied = assess(ORIGINAL, ORIGINAL, **KNOWN, control=CONTROL, by="region")
    main = copied.main
    difference, uniques, worst = main.differential.figures
    assert difference.value == pytest.approx(difference.original)
    assert difference.low > 0
    assert uniques.value == 1
    assert worst.name == "worst group"
    assert copied.nearest.share == 1
    fresh = assess(ORIGINAL, MADE, **KNOWN, control=CONTROL)
    assert fresh.nearest.low < 0.5 < fresh.nearest.high


def test_attacks_find_a_copy_and_no_fresh_people() -> None:
    risks = {}
    for name, made in (("copy", ORIGINAL), ("fresh", MADE)):
        found = assess(ORIGINAL, made, **KNOWN, control=CONTROL)
        risks[name] = found.attacks["singling out by combinations"]
    assert risks["copy"].low > 0
    assert risks["fresh"].low <= 0 <= risks["fresh"].high


def test_the_same_seed_gives_the_same_figures() -> None:
    one, other = (assess(ORIGINAL, MADE, **KNOWN, control=CONTROL, seed=3) for _ in range(2))
    assert one == other


def test_tables_of_codes_are_taken_too() -> None:
    found = assess(persons(200), persons(100, 1), keys=["sex", "age"], target="marital")
    assert found.main.cap.n == 200


def test_numbers_as_targets() -> None:
    close = assess(
        ORIGINAL, ORIGINAL, keys=["sex", "age"], target="pay", tolerance=Tolerance(relative=0.1)
    )
    assert close.main.cap is not None
    assert (close.main.tcap, close.main.attribute, close.failed) == (None, None, {})
    grouped = assess(
        ORIGINAL, MADE, keys=["sex", "age"], target="pay", groups={"pay": 4, "age": [30, 50]}
    )
    assert grouped.main.tcap is not None
    assert grouped.main.cap.baseline["all"] == pytest.approx(0.25, abs=0.01)


def test_keys_and_target_are_suggested() -> None:
    found = assess(ORIGINAL, MADE)
    assert "person_id" not in found.main.scenario.names
    assert "unique" in found.main.scenario.reason


def test_a_target_that_a_key_gives_away_is_told() -> None:
    given = ORIGINAL.assign(zone=ORIGINAL["region"].map({"a": 1, "b": 1, "c": 2, "d": 2}))
    (warning,) = assess(given, given, keys=["region", "sex"], target="zone").warnings[:1]
    assert "function of region" in warning
    assert assess(ORIGINAL, CONTROL, **KNOWN).warnings == ()


def test_what_makes_figures_small_is_told() -> None:
    stacked = pd.concat([ORIGINAL, ORIGINAL])
    (warning,) = assess(ORIGINAL, stacked, **KNOWN).warnings
    assert "have 2 times the records" in warning
    jittered = ORIGINAL.assign(pay=ORIGINAL["pay"] + 0.013)
    few, unlike = assess(ORIGINAL, jittered, keys=["sex", "pay"], target="job").warnings
    assert "only 0.0% of the original records find their key" in few
    assert "100% of the synthetic records have a value of 'pay'" in unlike


def test_persons_of_a_control_file_count_not_records() -> None:
    panel = pd.concat([ORIGINAL] * 4)
    kept_out = pd.concat([CONTROL] * 4)
    empty = kept_out.assign(person_id=None)
    with pytest.raises(DataError, match="'person_id' of the control file is empty"):
        assess(panel, MADE, **KNOWN, control=empty, units="person_id")
    others = kept_out.assign(person_id="c" + kept_out["person_id"])
    assert assess(panel, MADE, **KNOWN, control=others, units="person_id").notes == ()
    found = assess(panel, MADE, **KNOWN, control=kept_out, units="person_id")
    assert any("300 values of 'person_id' are in the original and in" in n for n in found.notes)
    main = found.main
    assert main.differential.figures[0].n == 600
    with pytest.raises(DataError, match="'nobody'"):
        assess(panel, MADE, **KNOWN, control=kept_out, units="nobody")


def test_many_keys_are_searched_as_far_as_is_affordable() -> None:
    rng = np.random.default_rng(1)
    wide = pd.DataFrame({f"k{i}": rng.integers(0, 3, 60) for i in range(24)})
    wide["secret"] = rng.integers(0, 2, 60)
    found = assess(wide, wide, keys=list(wide)[:-1], target="secret")
    assert found.failed == {}
    assert any("minimal uniques of up to 3 of 24 keys" in w for w in found.warnings)
    more = assess(
        wide, wide, keys=list(wide)[:-1], target="secret", settings={"suda": {"max_size": 2}}
    )
    assert more.main.suda.max_size == 2


def test_a_fault_in_other_columns_costs_only_that_column() -> None:
    odd = ORIGINAL.assign(odd=[1, "x"] * 150, empty=None)
    found = assess(odd, MADE.assign(odd=1, empty=2), **KNOWN)
    assert found.failed == {}
    assert found.replicated.keys == ("sex", "age", "region", "job", "pay")
    assert any("without odd" in note or "without empty, odd" in note for note in found.notes)
    suggested = assess(odd, MADE.assign(odd=1, empty=2), target="job")
    assert suggested.main is not None


def test_columns_that_one_file_lacks_are_not_compared_and_told() -> None:
    found = assess(ORIGINAL, MADE.drop(columns=["pay"]), **KNOWN, control=CONTROL)
    assert found.replicated.keys == ("sex", "age", "region", "job")
    assert found.nearest is not None
    assert found.notes[0] == "whole records are compared without pay (not in all files)"


def test_a_control_of_another_structure_is_refused_with_all_differences_at_once() -> None:
    odd = CONTROL.drop(columns=["age"]).assign(pay=CONTROL["sex"], job=1)
    with pytest.raises(DataError) as caught:
        assess(ORIGINAL, MADE, keys=["sex"], target="region", control=odd)
    (sentence,) = caught.value.problems
    assert "lacks 'age'" in sentence
    assert "'job' shares no level" in sentence
    assert "'pay' shares no number" in sentence
    # what no synthetic file has need not be in the control
    less = CONTROL.drop(columns=["pay"])
    assert assess(ORIGINAL, MADE.drop(columns=["pay"]), **KNOWN, control=less).nearest is not None


def test_a_control_of_few_records_is_refused_or_unclear() -> None:
    with pytest.raises(DataError, match="the control has 9 records; name one of 10 or more"):
        assess(ORIGINAL, MADE, **KNOWN, control=CONTROL.iloc[:9])
    few = CheckResults(risk=assess(ORIGINAL, MADE, **KNOWN, control=CONTROL.iloc[:60]))
    told = [e for e in verdict(few)["person"].evidence if e.key == "few_records"]
    assert [(e.word, e.value) for e in told] == [("unclear", 60)]


def test_a_control_of_the_same_people_is_refused_or_told() -> None:
    with pytest.raises(DataError, match="a control must hold other people"):
        assess(ORIGINAL, ORIGINAL, **KNOWN, control=ORIGINAL.iloc[::-1])
    by_chance = assess(ORIGINAL, MADE.drop(columns=["pay"]), **KNOWN, control=CONTROL).notes
    kept = ["sex", "age", "region", "job"]
    same = CONTROL.merge(ORIGINAL[kept].drop_duplicates(), on=kept)
    assert f"{len(same)} of 300 control records are in the original" in by_chance[1]
    some = pd.concat([CONTROL, ORIGINAL.iloc[:60]])
    notes = assess(ORIGINAL, MADE, **KNOWN, control=some).notes
    assert any("60 of 360 control records are in the original" in note for note in notes)
    assert not any(
        "other people" in note for note in assess(ORIGINAL, MADE, **KNOWN, control=CONTROL).notes
    )


def test_further_scenarios_and_questions() -> None:
    more = Scenario(keys=("region",), target="pay", groups={"pay": 3})
    questions = [
        Question(sensitive="sex", public=("age",)),
        Question(sensitive="pay", public=("job",), groups={"pay": 4}),
    ]
    found = assess(ORIGINAL, MADE, **KNOWN, scenarios=[more], questions=questions)
    assert [part.scenario.target for part in found.scenarios] == ["job", "pay"]
    assert [part.sensitive for part in found.inference] == ["sex", "pay"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"keys": ["SEX", "agee"], "target": "jobb"},
            ["'SEX'", "mean 'sex'? upper and lower case", "mean 'age'?", "mean 'job'?"],
        ),
        ({"keys": ["sex", "job"], "target": "job"}, ["also a key"]),
        ({"by": "region"}, ["by needs a control file"]),
        ({"with_attacks": True}, ["attacks needs a control file"]),
        ({"questions": Question(sensitive="job", public=("nowhere",))}, ["'nowhere'"]),
        ({"groups": {"sex": 3}}, ["not numeric"]),
        ({"control": CONTROL.drop(columns=["age", "job"])}, ["'age'", "'job'"]),
        ({"exclude": [Exclusion(target_level="retired")]}, ["names a level of 'job'"]),
        (
            {"settings": {"tau": 0, "suda": {"max_size": 0, "sampling_fraction": 2}}, "seed": -1},
            ["tau", "max_size", "sampling_fraction", "seed"],
        ),
    ],
)
def test_bad_arguments_are_told_at_once(arguments: dict[str, object], words: list[str]) -> None:
    given = {**KNOWN, **arguments}
    with pytest.raises(DataError) as caught:
        assess(ORIGINAL, MADE, **given)
    for word in words:
        assert word in str(caught.value)
    assert "retired" not in str(caught.value)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (MADE.drop(columns=["age", "job"]), ["dataset 1 has no columns 'age', 'job'; name"]),
        (MADE.rename(columns=str.upper), ["it has 'SEX', 'AGE', 'REGION', 'JOB': upper"]),
        (MADE.iloc[:0], ["no records"]),
        ([], ["no synthetic dataset"]),
        (MADE.assign(age=[f"old {k}" for k in range(200)]), ["dataset 1", "'age'"]),
        ([1, 2], ["synthetic.1 must be", "synthetic.2 must be"]),
        (None, ["synthetic must be"]),
        (MADE.assign(region="nowhere").drop(columns=["job"]), ["'region'", "'job'"]),
        (MADE.assign(region="nowhere"), ["dataset 1: column 'region' shares no level"]),
    ],
)
def test_bad_files_are_told_at_once(made: object, words: list[str]) -> None:
    with pytest.raises(SynthesizerError) as caught:
        assess(ORIGINAL, made, **KNOWN)  # type: ignore[arg-type]
    for word in words:
        assert word in str(caught.value)


def test_one_row_and_no_match() -> None:
    one = assess(ORIGINAL, MADE.iloc[:1], **KNOWN)
    assert one.failed == {}
    elsewhere = MADE.assign(age=MADE["age"] + 100)
    none = assess(ORIGINAL, elsewhere, **KNOWN)
    row = none.main.cap.row(1)
    assert (row.zero, row.undefined, row.matched) == (0, None, 0)
    figures = {figure.name: figure for figure in none.main.figures}
    assert figures["TCAP"].value is None
    assert figures["DiSCO"].value == 0


def test_categories_written_differently_are_told_wherever_they_are() -> None:
    other = MADE.assign(region=MADE["region"].where(MADE["age"] < 50, "elsewhere"))
    found = assess(ORIGINAL, other, keys=["sex", "age"], target="job")
    assert any("have a value of 'region' that the original lacks" in n for n in found.notes)


def test_missing_values_written_in_two_ways_come_before_every_figure() -> None:
    empty = [where < 60 for where in range(300)]
    ours = ORIGINAL.assign(region=ORIGINAL["region"].mask(empty, ""))
    theirs = ours.assign(region=ours["region"].replace("", "N"))
    same, other = (assess(ours, made, **KNOWN) for made in (ours, theirs))
    assert same.unlike == ()
    (words,) = other.unlike
    told = "missing values of 'region' are '' in the original and 'N' in synthetic dataset 1, so"
    assert words.startswith(told)
    assert "write one code in both files" in words
    assert other.alarms[0] == words
    first, second = (found.replicated.datasets[0].replicated for found in (same, other))
    assert (first, second) == (300, 240)  # what would go unseen
    assert evaluate(ours, ours).unlike == ()
    assert evaluate(ours, [ours, theirs]).unlike == (words.replace("set 1", "set 2"),)
    of_control = assess(ours, ours, **KNOWN, control=theirs.assign(age=ours["age"] + 1))
    assert "in the control" in of_control.unlike[0]


def test_a_column_that_is_empty_in_the_original_is_not_compared_and_no_fault_of_the_control() -> (
    None
):
    rng = np.random.default_rng(1)
    ours, made, control = (
        pd.DataFrame({name: rng.choice(list("xyz"), 300) for name in "abcd"}) for _ in range(3)
    )
    control["rare"] = ["p", "q"] * 5 + [None] * 290
    empty = [frame.assign(rare=pd.Series([None] * 300)) for frame in (ours, made)]
    found = assess(*empty, control=control, keys=["a", "b"], target="c")
    assert any("rare" in note and "compared without" in note for note in found.notes)
    assert found.further["near_verbatim"].variables == 4
