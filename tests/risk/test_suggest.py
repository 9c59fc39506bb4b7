import numpy as np

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, Table
from synthesizer.risk import key_counts, suggest


def coded(name, codes, size):
    levels = tuple(str(code) for code in range(size))
    variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=levels)
    return Column(variable, np.asarray(codes, dtype=np.int32))


def test_names_are_not_needed_and_ids_are_left_out():
    rng = np.random.default_rng(1)
    number = Variable(name="v0", kind=Kind.ID)
    columns = [Column(number, np.arange(500.0))]
    columns += [coded(f"v{i}", rng.integers(0, 6, 500), 6) for i in range(1, 6)]
    table = Table(columns)
    found = suggest(table)
    assert found.target in table
    assert "v0" not in (*found.keys, found.target)
    assert found.target not in found.keys
    assert found.keys
    assert found.share_of_uniques == np.mean(key_counts(table, found.keys) == 1)
    assert found == suggest(table)


def test_a_target_that_a_key_gives_away_is_avoided():
    rng = np.random.default_rng(1)
    region = rng.integers(0, 8, 600)
    table = Table(
        [
            coded("region", region, 8),
            coded("income", region // 2, 4),
            coded("thing", rng.integers(0, 5, 600), 5),
        ]
    )
    assert suggest(table, keys=["region"]).target == "thing"


def test_what_the_user_names_is_kept():
    rng = np.random.default_rng(1)
    table = Table([coded(name, rng.integers(0, 5, 90), 5) for name in ("a", "b", "c")])
    assert suggest(table, target="a").target == "a"
    assert "a" not in suggest(table, target="a").keys
    assert suggest(table, keys=["c"]).keys == ("c",)


def test_nothing_suits():
    found = suggest(Table([Column(Variable(name="x", kind=Kind.NUMERIC), np.array([0.5, 1.5]))]))
    assert (found.keys, found.target) == ((), None)
    assert "No keys" in found.reason
