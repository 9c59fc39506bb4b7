import numpy as np

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.risk import key_counts, suggest


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


def panel_columns(n=400):
    """Sex, a state that changes, and attributes of careers as a person view has them."""
    rng = np.random.default_rng(4)
    first, last = rng.integers(0, 4, n), rng.integers(0, 4, n)
    return [
        coded("career.moves", rng.integers(0, 3, n), 3),
        coded("career.first_state", first, 4),
        coded("career.last_state", last, 4),
        coded("sex", rng.integers(0, 2, n), 2),
        coded("state@first", first, 4),
        coded("state@last", last, 4),
        coded("region@first", rng.integers(0, 7, n), 7),
        coded("region@last", rng.integers(0, 7, n), 7),
        coded("district@first", rng.integers(0, 7, n), 7),
    ]


def test_of_a_panel_what_never_changes_comes_before_first_values_and_careers():
    found = suggest(Table(panel_columns()))
    assert found.keys[0] == "sex"
    names = [*found.keys, found.target]
    variables = ["state" if name.endswith("_state") else name.partition("@")[0] for name in names]
    assert len(set(variables)) == len(variables)
    assert "region@last" not in found.keys
    careers = [name.startswith("career.") for name in found.keys]
    assert careers == sorted(careers)


def test_no_key_is_another_one_in_other_words():
    rng = np.random.default_rng(1)
    region = rng.integers(0, 6, 900)
    odd = np.where(np.arange(900) < 4, 0, region)
    table = Table(
        [
            coded("area", region, 6),
            coded("region", 5 - region, 6),
            coded("county", region // 2, 3),
            coded("state", odd, 6),
            coded("sex", rng.integers(0, 2, 900), 2),
            coded("income", rng.integers(0, 5, 900), 5),
        ]
    )
    found = suggest(table)
    assert (found.keys, found.target) == (("area", "sex"), "income")
    assert "county" not in suggest(table, target="region").keys
    assert suggest(table, target="region").keys == ("sex", "income")


def test_an_agency_is_no_age():
    rng = np.random.default_rng(1)
    columns = [coded(name, rng.integers(0, 3, 300), 3) for name in ("agency", "age_range", "pay")]
    assert suggest(Table(columns), max_keys=1).keys == ("age_range",)


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
