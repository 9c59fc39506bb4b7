"""The one front for checks: what it measures is that of the measures, and every problem at once."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthesizer import CheckSettings, FitRequest, LimitConfig, Question, check
from synthesizer.data.errors import DataError, SynthesizerError
from synthesizer.data.guessing import Declaration
from synthesizer.measures.figure import plain
from synthesizer.measures.risk.attribute import attribute
from synthesizer.measures.risk.cap import cap
from synthesizer.measures.risk.identity import identity
from synthesizer.measures.risk.public_inference import inference
from synthesizer.measures.risk.replicated import replicated_uniques
from synthesizer.measures.risk.suda import suda
from synthesizer.measures.risk.tcap import tcap
from synthesizer.measures.scenario import Exclusion, Tolerance
from synthesizer.measures.settings import ALL_OFF
from synthesizer.measures.utility.tables import table_utility
from synthesizer.measures.verdict import CheckResults
from tests.end_to_end.commands import NO_HALVES
from tests.end_to_end.test_panel import long_frame
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
OF_RISK = {**KNOWN, "only": "risk"}
ORIGINAL, MADE, CONTROL = people(), people(200, 1), people(300, 2)
VARIABLES = ["sex", "age", "region", "job", "pay"]


def test_figures_are_those_of_the_measures() -> None:
    question = Question(sensitive="sex", public=("age", "job"))
    results = check(ORIGINAL, [MADE, CONTROL], **KNOWN, settings={"inference": [question]})
    main, pair = results.risk.main, (ORIGINAL, [MADE, CONTROL])
    assert main.cap == cap(*pair, **KNOWN)
    assert main.tcap == tcap(*pair, **KNOWN)
    assert main.identity == identity(*pair, keys=KNOWN["keys"])
    assert main.attribute == attribute(*pair, **KNOWN)
    assert main.suda == suda(ORIGINAL, KNOWN["keys"]).result
    assert results.risk.inference[0] == inference(*pair, sensitive="sex", public=["age", "job"])
    assert results.risk.replicated == replicated_uniques(*pair, exclude=["person_id"])
    tables = table_utility(*pair, names=VARIABLES, ways=(1, 2), quantiles_of="original")
    assert results.utility.tables == tables.result()
    assert [part.variable for part in results.utility.distributions] == VARIABLES
    assert (results.utility.n, results.utility.n_synthetic) == (300, (200, 300))
    assert (main.differential, results.risk.nearest, results.risk.attacks) == (None, None, None)
    assert results.failed == {}
    assert json.dumps(plain(results), allow_nan=False)


@pytest.fixture(scope="module")
def both() -> CheckResults:
    return check(ORIGINAL, MADE, CONTROL, **KNOWN)


def test_both_at_once_are_either_alone(both: CheckResults) -> None:
    risk = check(ORIGINAL, MADE, CONTROL, **OF_RISK)
    use = check(ORIGINAL, MADE, CONTROL, only="utility")
    assert (risk.utility, use.risk.figures) == (None, ())
    assert both.risk.to_frame().equals(risk.risk.to_frame())
    assert both.utility.to_frame().equals(use.utility.to_frame())
    assert [line.word for line in both.verdict.lines][-1] == use.verdict["use"].word


def test_a_control_shows_what_is_risk(both: CheckResults) -> None:
    by = {"settings": {"differential_confidentiality": {"by": "region"}}}
    copied = check(ORIGINAL, ORIGINAL, CONTROL, **OF_RISK, **by).risk
    difference, uniques, worst = copied.main.differential.figures
    assert difference.value == pytest.approx(difference.original)
    assert difference.low > 0
    assert (uniques.value, worst.name, copied.nearest.share) == (1, "worst group", 1)
    assert copied.attacks["singling out by combinations"].low > 0
    new = both.risk
    assert new.nearest.low < 0.5 < new.nearest.high
    attack = new.attacks["singling out by combinations"]
    assert attack.low <= 0 <= attack.high


def test_the_verdict_is_that_of_the_limits_named() -> None:
    results = check(ORIGINAL, MADE, **OF_RISK, limits={"cap": 0.0})
    assert [e.key for e in results.verdict["anybody"].evidence if e.word == "fail"] == ["cap"]
    assert len(results.exceeded()) == 1
    assert results.exceeded(LimitConfig(cap=1.0)) == ()
    assert check(ORIGINAL, MADE, **OF_RISK).exceeded() == ()
    other = check(ORIGINAL, MADE.assign(sex="x"), only="utility", limits={"mean_two_way": 1e6})
    (above,) = other.exceeded()  # a limit does not hold for what could not be compared
    assert "'sex'" in above


def test_frames_are_a_panel_by_the_configuration() -> None:
    panel = {"panel": {"person": "id", "time": "year", "career": "state"}}
    frame = long_frame(60)
    results = check(frame, frame, keys=["sex"], target="state@last", config=panel)
    assert (results.risk.units, results.risk.careers.n, results.failed) == ("persons", 60, {})
    assert results.panel is not None
    with pytest.raises(DataError, match="panel: tables of codes do not work"):
        check(persons(200), persons(100, 1), config=panel)


def test_numbers_as_targets() -> None:
    tolerance = {"tolerance": Tolerance(relative=0.1)}
    target = {"keys": ["sex", "age"], "target": "pay", "only": "risk"}
    main = check(ORIGINAL, ORIGINAL, **target, settings=tolerance).risk.main
    assert main.cap is not None
    assert (main.tcap, main.attribute) == (None, None)
    grouped = CheckSettings(groups={"pay": 4, "age": [30, 50]})
    main = check(ORIGINAL, MADE, **target, settings=grouped).risk.main
    assert main.tcap is not None
    assert main.cap.baseline["all"] == pytest.approx(0.25, abs=0.01)


def test_persons_count_not_records() -> None:
    panel, kept_out = pd.concat([ORIGINAL] * 4), pd.concat([CONTROL] * 4)
    split = {"differential_confidentiality": {"units": "person_id"}}
    options = {**OF_RISK, "settings": NO_HALVES | split}
    with pytest.raises(DataError, match="'person_id' of the control file is empty"):
        check(panel, MADE, kept_out.assign(person_id=None), **options)
    risk = check(panel, MADE, kept_out, **options).risk
    assert any("300 values of 'person_id'" in note for note in risk.notes)
    assert risk.main.differential.figures[0].n == 600
    others = kept_out.assign(person_id="c" + kept_out["person_id"])
    assert check(panel, MADE, others, **options).risk.notes == ()


@pytest.mark.parametrize(
    ("changed", "values", "word"),
    [
        ("age", lambda _, sample: sample["age"], "pass"),
        ("person_id", lambda original, _: original["person_id"][::-1].to_numpy(), "fail"),
        ("tax", lambda original, sample: [*original["tax"][:100], *sample["tax"][100:]], "fail"),
        ("memo", lambda original, _: original["tax"], "unclear"),
    ],
    ids=["nothing", "identifiers", "numbers of one", "a further column"],
)
def test_one_column_can_hand_out_persons(
    changed: str, values: Callable[[pd.DataFrame, pd.DataFrame], object], word: str
) -> None:
    """Of a sample of the same population in which one column is another."""
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {
            "person_id": [f"K{number}" for number in rng.permutation(9_000)[:1_500] + 1_000],
            "tax": rng.integers(10**6, 10**7, 1_500),
            "age": rng.integers(18, 90, 1_500),
            "job": rng.choice(["cook", "smith", "clerk"], 1_500),
        }
    )
    original, sample, control = (people[i::3].reset_index(drop=True) for i in range(3))
    made = sample.assign(**{changed: values(original, sample)})
    results = check(original, made, control, keys=["age"], target="job", only="risk")
    assert results.verdict["person"].word == word


def test_a_fault_in_a_column_costs_only_that_column() -> None:
    odd = ORIGINAL.assign(odd=[1, "x"] * 150, empty=None)
    made = MADE.assign(odd=1, empty=2, extra=1)
    results = check(odd, [made, made.drop(columns="pay")], **KNOWN)
    assert results.risk.replicated.keys == ("sex", "age", "region", "job")
    failed = {f"column {name!r}" for name in ("odd", "empty", "pay", "extra")}
    assert set(results.utility.failed) == failed
    assert any("identifiers" in note and "person_id" in note for note in results.utility.notes)


def test_a_control_that_is_none_is_refused() -> None:
    odd = CONTROL.drop(columns=["age"]).assign(pay=CONTROL["sex"], job=1)
    with pytest.raises(DataError) as caught:
        check(ORIGINAL, MADE, odd, keys=["sex"], target="region")
    (sentence,) = caught.value.problems
    assert all(name in sentence for name in ("'age'", "'job'", "'pay'"))
    with pytest.raises(DataError, match="9 records"):
        check(ORIGINAL, MADE, CONTROL.iloc[:9], **KNOWN)
    with pytest.raises(DataError, match="other persons"):
        check(ORIGINAL, ORIGINAL, ORIGINAL.iloc[::-1], **KNOWN)
    # what no synthetic dataset has need not be in the control
    less = CONTROL.drop(columns=["pay"])
    options = {**OF_RISK, "settings": {"attacks": False, "guesses": False}}
    assert check(ORIGINAL, MADE.drop(columns=["pay"]), less, **options).risk.nearest is not None


@pytest.mark.parametrize("columns", [[], ["pay"]])
def test_a_dropped_column_is_not_compared(columns: list[str]) -> None:
    settings = {"attacks": False, "guesses": False, "near_verbatim": False}
    options = {**KNOWN, "settings": settings, "config": {"drop": ["pay"]}}
    results = check(ORIGINAL, MADE.drop(columns=columns), CONTROL, **options)
    assert results.failed == {}
    assert "pay" not in {part.variable for part in results.utility.distributions}


def test_keys_that_a_synthetic_dataset_lacks_are_not_suggested() -> None:
    every = check(ORIGINAL, MADE, only="risk").risk.main
    assert every is not None
    for name in every.scenario.keys:
        result = check(ORIGINAL, [MADE, MADE.drop(columns=[name])], only="risk")
        assert result.risk.main is None or name not in result.risk.main.scenario.names
    some = pd.concat([CONTROL, ORIGINAL.iloc[:60]])
    notes = check(ORIGINAL, MADE, some, **OF_RISK).risk.notes
    assert any("60 of 360 control records" in note for note in notes)


FITS = ALL_OFF | {"fits": [FitRequest(formula="pay ~ age", clusters="person_id")]}


def test_fits_and_their_rule_by_the_kind_of_synthesis() -> None:
    utility = check(ORIGINAL, [MADE, MADE], settings=FITS).utility
    assert [(fit.clusters, fit.rule) for fit in utility.fits] == [("person_id", "simple")]
    assert any("rule" in note for note in utility.notes)  # it is unknown how the data were made
    proper = check(ORIGINAL, [MADE, MADE], settings=FITS, config={"proper": True}).utility
    assert [fit.rule for fit in proper.fits] == ["proper"]
    wrong = ALL_OFF | {"fits": [{"formula": "pay ~ age", "rule": "simple"}]}
    with pytest.raises(DataError, match=r"settings\.fits\.1: .*drawn anew"):
        check(ORIGINAL, MADE, settings=wrong, config={"proper": True})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"keys": ["SEX", "agee"], "target": "jobb"}, ["'SEX'", "'sex'?", "'age'?", "'job'?"]),
        ({"settings": ALL_OFF}, ["checks: every check is off"]),
        ({"settings": {"exclude": [Exclusion(target_level="retired")]}}, ["'job'"]),
        ({"settings": {"tau": 0, "suda": {"max_size": 0}, "fits": ["a ~ ("]}, "seed": -1,
          "limits": {"cop": 1}, "workers": 0, "only": "use", "target": "jobb"},
         ["settings.tau", "settings.suda.max_size", "settings.fits.1", "limits.cop", "seed",
           "workers",
          "only ('use')", "'jobb'"]),
        ({"synthetic": MADE.drop(columns=["age", "job"])}, ["no columns 'age', 'job'"]),
        ({"synthetic": "made.csv"}, ["must be all paths, or all frames"]),
    ],
)  # fmt: skip
def test_every_problem_comes_at_once(arguments: dict[str, object], words: list[str]) -> None:
    with pytest.raises(SynthesizerError) as caught:
        check(**{"original": ORIGINAL, "synthetic": MADE, **KNOWN, **arguments})
    for word in words:
        assert word in str(caught.value)
    assert "retired" not in str(caught.value)


def test_missing_values_written_in_two_ways_come_before_every_figure() -> None:
    original = ORIGINAL.assign(region=ORIGINAL["region"].mask(ORIGINAL.index < 60, ""))
    other = original.assign(region=original["region"].replace("", "N"))
    results = check(original, [original, other], **OF_RISK)
    (words,) = results.unlike
    assert words.startswith("missing values of 'region' are '' in the original and 'N' in synth")
    assert results.risk.alarms[0] == words
    replicated = [part.replicated for part in results.risk.replicated.datasets]
    assert replicated == [300, 240]  # what would go unseen
    of_control = check(original, original, other.assign(age=original["age"] + 1), **OF_RISK)
    assert "in the control" in of_control.unlike[0]


def test_files_are_what_their_frames_are(both: CheckResults, tmp_path: Path) -> None:
    for name, frame in {"original": ORIGINAL, "made": MADE, "control": CONTROL}.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    files = [str(tmp_path / f"{name}.csv") for name in ("original", "made", "control")]
    results = check(files[0], [Path(files[1])], files[2], **KNOWN, limits={"cap": 0.0})
    assert results.risk.to_frame().equals(both.risk.to_frame())
    assert results.utility.to_frame().equals(both.utility.to_frame())
    assert len(results.exceeded()) == 1
    with pytest.raises(SynthesizerError, match=r"(?s)jobb.*nowhere\.csv|nowhere\.csv.*jobb"):
        check(files[0], tmp_path / "nowhere.csv", keys=["sex"], target="jobb")


def test_what_makes_figures_mislead_is_a_warning() -> None:
    given = ORIGINAL.assign(zone=ORIGINAL["region"].map({"a": 1, "b": 1, "c": 2, "d": 2}))
    first, *_ = check(given, given, keys=["region"], target="zone", only="risk").risk.warnings
    assert "region" in first
    assert check(ORIGINAL, CONTROL, **OF_RISK).risk.warnings == ()


def test_kinds_may_be_declared() -> None:
    original, made = (
        frame.assign(pay=frame["pay"].where(frame["age"] > 30, -8)) for frame in (ORIGINAL, MADE)
    )
    for how in (
        {"declared": {"pay": Declaration(missing=("-8",))}},
        {"config": {"variables": {"pay": {"missing": [-8]}}}},
    ):
        utility = check(original, made, only="utility", **how).utility
        (pay,) = (part for part in utility.distributions if part.variable == "pay")
        assert (pay.labels[-1], pay.missing[-1]) == ("-8", True)
