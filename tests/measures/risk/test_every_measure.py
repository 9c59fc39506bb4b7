"""What every measure of two data sets does alike: frames as tables, and all problems at once."""

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.table import Column, Kind, Table, Variable
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
    "determined": lambda original, made, **options: determined(original, **options),
    "suda": lambda original, made, *, keys, target, groups=None: (
        suda(original, keys, groups=groups).result
    ),
}
OTHERS = {
    "attacks": lambda original, made, **options: attacks(
        original, made, made, **options, n_attacks=40, max_attempts=300, seed=1
    ),
    "nearer_share": lambda original, made, *, keys, **_: nearer_share(
        original, made, made, names=keys, seed=1
    ),
    "inference": lambda original, made, *, keys, target, groups=None: inference(
        original, made, sensitive=target, public=keys, groups=groups
    ),
}
SCENARIO = {"keys": ["town", "age"], "target": "ill"}


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
    assert measure(original, made, **SCENARIO) == measure(*tables, **SCENARIO)


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

    def values(made, groups=GROUPS):
        return numbers(measure(one, made, keys=AWKWARD, target="debt", groups=groups))

    assert values([other, third]) != values([other, other])
    assert values([other, third]) != values([third, third])
    for name_, cut in {"age": 5, "born": 5, "debt": 2}.items():
        changed = values([other, third], GROUPS | {name_: cut}) != values([other, third])
        assert changed == (name_ != "debt" or name not in OF_KEYS)


@pytest.mark.parametrize("name", ["attribute", "cap", "cap_u", "identity", "tcap", "inference"])
def test_the_mark_of_a_figure_is_its_value_for_the_original_itself(name):
    one = awkward(1)
    for made in (one, [one, one]):
        result = FIXED[name](one, made, keys=AWKWARD, target="ill", groups=GROUPS)
        marks = [(f.value, f.original) for f in result.figures if f.original is not None]
        assert marks
        for value, original in marks:
            assert value == pytest.approx(original)
