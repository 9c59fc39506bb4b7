"""What every measure of two data sets does alike: frames as tables, and all problems at once."""

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures import halves, risk, scenario
from synthesizer.measures.measure_options import Part
from synthesizer.measures.risk.attacks import attacks
from synthesizer.measures.risk.attribute import attribute
from synthesizer.measures.risk.cap import cap, cap_u
from synthesizer.measures.risk.copied import copied_uniques
from synthesizer.measures.risk.determined import determined
from synthesizer.measures.risk.identity import identity, reproduced_uniques
from synthesizer.measures.risk.nearest import nearer_share
from synthesizer.measures.risk.public_inference import inference
from synthesizer.measures.risk.rare_values import rare_values
from synthesizer.measures.risk.replicated import replicated_uniques
from synthesizer.measures.risk.suda import suda
from synthesizer.measures.risk.tcap import tcap
from tests.measures.alike import in_other_units, numbers, permuted, relabelled, widened
from tests.measures.asked import defaults, options
from tests.records import unusual_defaults
from tests.tables import coded, numeric


def by_keys(measure):
    return lambda original, made, *, keys, target, groups=None: measure(
        original, made, keys=keys, groups=groups
    )


OF_TARGET = {"cap": cap, "cap_u": cap_u, "tcap": tcap, "attribute": attribute}
OF_KEYS = {
    "identity": by_keys(identity),
    "reproduced_uniques": by_keys(reproduced_uniques),
    "copied_uniques": by_keys(copied_uniques),
    "replicated_uniques": by_keys(replicated_uniques),
}
ORIGINAL_ALONE = {
    "determined": lambda original, made, **asked: determined(original, **asked),
    "suda": lambda original, made, *, keys, target, groups=None: (
        suda(original, keys, groups=groups).result
    ),
}
OTHERS = {
    "attacks": lambda original, made, **asked: attacks(
        original, made, made, **asked, n_attacks=40, max_attempts=300, seed=1
    ),
    "nearer_share": lambda original, made, *, keys, **_: nearer_share(
        original, made, made, names=keys, seed=1
    ),
    "inference": lambda original, made, *, keys, target, groups=None: inference(
        original, made, sensitive=target, public=keys, groups=groups
    ),
}
ASKED = {"keys": ["town", "age"], "target": "ill"}


def frame(seed, n=60):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "town": rng.choice(["a", "b", "c", None], n),
            "age": rng.integers(-3, 20, n),
            "ill": rng.choice(["no", "yes"], n),
        }
    )


def table(data, towns, answers):
    """The frame as a table whose levels stand in another order."""
    town = data["town"].fillna("")
    return Table(
        [
            coded("town", [[*towns, ""].index(value) for value in town], towns, ("",)),
            numeric("age", data["age"]),
            coded("ill", [answers.index(value) for value in data["ill"]], answers),
        ]
    )


@pytest.mark.parametrize("name", OF_TARGET | OF_KEYS | ORIGINAL_ALONE | OTHERS)
def test_frames_and_tables_give_the_same(name):
    measure = (OF_TARGET | OF_KEYS | ORIGINAL_ALONE | OTHERS)[name]
    original, made = frame(1), frame(2)
    answers = ["no", "yes"]
    tables = table(original, ["a", "b", "c"], answers), table(made, ["c", "a", "b"], answers[::-1])
    assert measure(original, made, **ASKED) == measure(*tables, **ASKED)


@pytest.mark.parametrize("name", OF_TARGET | OF_KEYS | ORIGINAL_ALONE)
def test_all_problems_are_told_at_once(name):
    measure = (OF_TARGET | OF_KEYS | ORIGINAL_ALONE)[name]
    original, made = (
        table(frame(seed), ["a", "b", "c"], ["no", "yes"]).with_column(coded("one", [0] * 60, "x"))
        for seed in (1, 2)
    )
    groups = {"town": 3, "age": 0, "where": 2}
    with pytest.raises(DataError) as caught:
        measure(original, made, keys=["town", "nowhere", "town"], target="town", groups=groups)
    expected = ["key 'nowhere' is not in", "'town' is named twice", "'town', which is not numeric"]
    expected += ["groups of 'age' (0) must be at least 1", "groups name 'where'"]
    if name not in (*OF_KEYS, "suda"):
        expected.append("target 'town' is also a key")
        with pytest.raises(DataError, match="target 'one' has only one value"):
            measure(original, made, keys=["town"], target="one")
        with pytest.raises(DataError, match="target 'nothing' is not in the data"):
            measure(original, made, keys=["town"], target="nothing")
    for text in expected:
        assert text in str(caught.value)
    with pytest.raises(DataError, match="there are no keys"):
        measure(original, made, keys=[], target="ill")


@pytest.mark.parametrize("name", OF_TARGET | OF_KEYS | ORIGINAL_ALONE | OTHERS)
def test_a_text_is_no_list_of_keys(name):
    measure = (OF_TARGET | OF_KEYS | ORIGINAL_ALONE | OTHERS)[name]
    letters = pd.DataFrame({"a": [1, 2], "b": [2, 1], "ill": ["no", "yes"]})
    with pytest.raises(DataError, match=r"must be a list of names, not one text: write \['ab'\]"):
        measure(letters, letters, keys="ab", target="ill")


@pytest.mark.parametrize("name", OF_TARGET | OF_KEYS)
def test_tables_that_cannot_be_compared(name):
    measure, original = (OF_TARGET | OF_KEYS)[name], table(frame(1), ["a", "b", "c"], ["no", "yes"])
    wrong = Table([numeric("town", [1.0, 2.0])])
    with pytest.raises(DataError) as caught:
        measure(original, [original.take(slice(0, 0)), wrong], keys=["town", "age"], target="ill")
    for text in (
        "synthetic dataset 1 has no records",
        "'town' is categorical in the original and numeric in synthetic dataset 2",
        "'age' is not in synthetic dataset 2",
    ):
        assert text in str(caught.value)
    with pytest.raises(DataError, match="there is no synthetic dataset"):
        measure(original, [], keys=["town"], target="ill")


AWKWARD = ["town", "age", "born"]
GROUPS = {"age": [-1.5, 4.5, 9.5], "born": 3, "debt": 4}


def awkward(seed, n=70):
    """Levels that do not occur, missing codes, numbers on both sides of 0, days before 1970."""
    rng = np.random.default_rng(seed)
    born = Variable(name="born", kind=Kind.DATE, missing=("?",))
    gone = (rng.random(n) < 0.1).astype(np.int8)
    return Table(
        [
            coded("town", rng.choice([0, 1, 3, 4, 5], n), "abcde", ("",)),
            numeric("age", rng.integers(-4, 12, n), rng.random(n) < 0.1, missing=("-9",)),
            Column(born, np.where(gone, np.nan, rng.integers(-300, 300, n)), gone),
            coded("ill", rng.choice(3, n, p=[0.6, 0.3, 0.1]), ["no", "yes", "x"]),
            numeric("debt", rng.integers(-5, 20, n), rng.random(n) < 0.2, missing=("-8",)),
        ]
    )


SAME = {
    "records in another order": (permuted, GROUPS, AWKWARD),
    "keys in another order": (lambda table: table, GROUPS, AWKWARD[::-1]),
    "other units": (in_other_units, GROUPS | {"age": [61.0, 73.0, 83.0]}, AWKWARD),
    "other labels": (relabelled, GROUPS, AWKWARD),
    "a variable more": (widened, GROUPS, AWKWARD),
}
FIXED = OF_TARGET | OF_KEYS | ORIGINAL_ALONE | {"inference": OTHERS["inference"]}
RARE = {"rare_values": lambda original, made, *, keys, **_: rare_values(original, made, keys=keys)}


@pytest.mark.parametrize("target", ["ill", "debt"])
@pytest.mark.parametrize("name", FIXED | RARE)
def test_what_does_not_matter(name, target):
    """No measure looks at the order of records and keys, units, labels, or what is not named."""
    measure, tables = (FIXED | RARE)[name], [awkward(1), awkward(2, 60), awkward(3, 50)]
    first = numbers(measure(tables[0], tables[1:], keys=AWKWARD, target=target, groups=GROUPS))
    assert len(first) > 1
    for change, (changed, groups, keys) in SAME.items():
        others = [changed(table) for table in tables]
        again = measure(others[0], others[1:], keys=keys, target=target, groups=groups)
        assert numbers(again) == pytest.approx(first), change


@pytest.mark.parametrize("name", sorted(set(FIXED) - {"determined", "suda"}))
def test_every_dataset_and_every_group_counts(name):
    measure = FIXED[name]
    one, other, third = awkward(1), awkward(2, 60), awkward(3, 50)

    def found(made, groups=GROUPS):
        return numbers(measure(one, made, keys=AWKWARD, target="debt", groups=groups))

    assert found([other, third]) != found([other, other])
    assert found([other, third]) != found([third, third])
    for name_, cut in {"age": 5, "born": 5, "debt": 2}.items():
        changed = found([other, third], GROUPS | {name_: cut}) != found([other, third])
        assert changed == (name_ != "debt" or name not in OF_KEYS)


THRESHOLDS = (0.5, 0.8, 0.9, 0.99)


def test_defaults_and_ranges_are_as_documented():
    found = defaults(risk, halves, scenario)
    assert found.pop("Scenario")["reason"] == "as configured"
    assert found == {
        "Copied": {"confidence": 0.999, "may_keep": True},
        "Tolerance": {"absolute": 0.0, "relative": 0.0},
        "attacks": {
            "confidence": 0.95, "max_attempts": 100_000, "n_columns": 4, "n_neighbours": 1,
        },
        "attribute": {
            "thresholds_1way": (50, 0.9), "thresholds_2way": (4, 0.8),
            "use_missing_keys": True, "use_missing_target": True,
        },
        "cap": {"special_uniques": True},
        "cap_scores": {"constant_target": False},
        "check_inference": {"thresholds": THRESHOLDS, "units": "persons"},
        "checked_tables": {"constant_target": False},
        "copied_uniques": {"confidence": 0.999},
        "differential_confidentiality": {"m": 1, "repeats": 1},
        "excess": {"level": 0.95},
        "fresh_limit": {"confidence": 0.999},
        "half_runs": {"m": 1, "repeats": 1, "exchanges": 0},
        "inference": {"thresholds": THRESHOLDS, "units": "persons"},
        "memory": {"most": 10_000},
        "mixed_records": {"real": 2},
        "nearer_share": {"max_pairs": 250_000_000},
        "suda": {"missing": "value", "record_contributions": False},
        "suggest": {"max_keys": 6},
        "tcap": {"tau": 1.0},
        "welch": {"level": 0.95},
        "wilson": {"level": 0.95},
    }  # fmt: skip
    assert options(risk, scenario) == {
        "AttackOptions.attempts": {"default": 5000, "minimum": 10, "maximum": 100_000},
        "AttackOptions.enabled": {"default": True},
        "DifferentialOptions.enabled": {"default": True},
        "DifferentialOptions.m": {"minimum": 1, "maximum": 10_000},
        "DifferentialOptions.repeats": {"default": 1, "minimum": 1, "maximum": 100},
        "Question.baseline": {"default": []},
        "Question.thresholds": {"default": [*THRESHOLDS], "minItems": 1},
        "Question.units": {"default": "persons", "enum": ["persons", "periods"]},
        "SudaOptions.enabled": {"default": True},
        "SudaOptions.max_size": {"minimum": 1},
        "SudaOptions.sampling_fraction": {"default": 0.01, "exclusiveMinimum": 0, "maximum": 1},
        "TrajectoryOptions.draws": {"default": 50, "minimum": 1, "maximum": 10_000},
        "TrajectoryOptions.enabled": {"default": True},
        "TrajectoryOptions.points": {"default": 4, "minimum": 1, "maximum": 20},
        "TrajectoryOptions.stretch": {"minimum": 2},
        "TrajectoryOptions.worst": {"default": 10, "minimum": 0, "maximum": 1_000},
    }


def test_what_results_leave_out_is_nothing_but_for_these():
    found = unusual_defaults(risk, Part)
    assert found.pop("_Known.form")(3) == 3
    assert found == {
        "Attack.fitted_kept": 1.0,
        "Release.source": "",
        "CopiedKeys.may_keep": True,
        "CopiedUniques.may_keep": True,
        "InferenceResult.units": "persons",
        "RareValues.fewer_than": 5,
        "RareValues.n_outside": 0,
        "RareValuesRow.exact": 0,
        "RareValuesRow.exact_outside": 0,
        "ScenarioRisk.unfamiliar": {},
        "_Known.in_periods": True,
        **{f"_Seen.{name}": 0 for name in ("n", "hits", "told", "squares", "found")},
    }


@pytest.mark.parametrize("name", ["attribute", "cap", "cap_u", "identity", "tcap", "inference"])
def test_the_mark_of_a_figure_is_its_value_for_the_original_itself(name):
    one = awkward(1)
    for made in (one, [one, one]):
        found = FIXED[name](one, made, keys=AWKWARD, target="ill", groups=GROUPS)
        marks = [(f.value, f.original) for f in found.figures if f.original is not None]
        assert marks
        for value, original in marks:
            assert value == pytest.approx(original)
