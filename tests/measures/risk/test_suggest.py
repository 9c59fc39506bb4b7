import numpy as np
import pytest

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.risk.identity import key_counts
from synthesizer.measures.risk.suggest import suggest
from tests.tables import coded as numbered


def coded(name, codes, size):
    return numbered(name, codes, [str(code) for code in range(size)])


def test_names_are_not_needed_and_ids_are_left_out():
    rng = np.random.default_rng(1)
    number = Variable(name="v0", kind=Kind.ID)
    columns = [Column(number, np.arange(500.0))]
    columns += [coded(f"v{i}", rng.integers(0, 6, 500), 6) for i in range(1, 6)]
    table = Table(columns)
    suggestion = suggest(table)
    assert suggestion.target in table
    assert "v0" not in (*suggestion.keys, suggestion.target)
    assert suggestion.target not in suggestion.keys
    assert suggestion.keys
    assert suggestion.share_of_uniques == np.mean(key_counts(table, suggestion.keys) == 1)
    assert suggestion == suggest(table)


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
    suggestion = suggest(Table(panel_columns()))
    assert suggestion.keys[0] == "sex"
    names = [*suggestion.keys, suggestion.target]
    variables = ["state" if name.endswith("_state") else name.partition("@")[0] for name in names]
    assert len(set(variables)) == len(variables)
    assert "region@last" not in suggestion.keys
    careers = [name.startswith("career.") for name in suggestion.keys]
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
    suggestion = suggest(table)
    assert (suggestion.keys, suggestion.target) == (("area", "sex"), "income")
    assert "county" not in suggest(table, target="region").keys
    assert suggest(table, target="region").keys == ("sex", "income")


def test_nothing_suits():
    choice = suggest(Table([Column(Variable(name="x", kind=Kind.NUMERIC), np.array([0.5, 1.5]))]))
    assert (choice.keys, choice.target) == ((), None)
    assert "No suitable keys" in choice.reason


def spread(name, size, n=600, seed=1):
    """Return a column of random levels, which no other column predicts."""
    return coded(name, np.random.default_rng([seed, *name.encode()]).integers(0, size, n), size)


@pytest.mark.parametrize(("size", "is_key", "is_target"), [
    (1, False, False), (2, True, False), (3, True, True), (20, True, True), (21, True, False),
    (150, True, False), (151, False, False),
])  # fmt: skip
def test_how_many_levels_keys_and_targets_have(size, is_key, is_target):
    column = coded("x", np.arange(600) % size, size)
    assert ("x" in suggest(Table([column, spread("t", 3)]), target="t").keys) == is_key
    target = suggest(Table([spread("k", 2), column]), keys=["k"]).target
    assert target == ("x" if is_target else None)


@pytest.mark.parametrize("unique", [19, 20, 60, 61])
def test_keys_are_added_until_a_fifth_is_unique_but_not_more_than_three_fifths(unique):
    codes = np.append(np.arange(unique), np.full(100 - unique, unique))
    half, many = coded("a", np.arange(100) % 2, 2), coded("b", codes, 100)
    others = [spread("c", 3, 100), spread("t", 3, 100)]
    keys = suggest(Table([half, many, *others]), target="t", max_keys=2).keys
    assert keys == (("a", "c") if unique > 60 else ("a", "b"))
    many = coded("a", codes, 100)
    alone = suggest(Table([many, coded("b", np.arange(100) % 2, 2), others[1]]), target="t").keys
    assert unique > 60 or (alone == ("a",)) == (unique >= 20)


@pytest.mark.parametrize(("right", "target"), [(90, "other"), (89, "income")])
def test_a_key_gives_a_target_away_from_nine_records_in_ten(right, target):
    truth = np.arange(100) % 4
    key = np.where(np.arange(100) < right, truth, (truth + 1 + np.arange(100) // 4 % 3) % 4)
    table = Table([coded("k", key, 4), coded("income", truth, 4), spread("other", 3, 100)])
    assert suggest(table, keys=["k"]).target == target


def test_names_in_order():
    """Demographic before others, sensitive last among both, numbers after levels."""
    names = ["x", "pay", "Home-State", "education", "age", "agency"]
    whole = Column(Variable(name="n.sex", kind=Kind.NUMERIC, decimals=0), np.arange(600.0) % 3)
    table = Table([whole, *(spread(name, 2) for name in names), spread("t", 3)])
    keys = suggest(table, target="t", max_keys=9).keys
    assert keys == ("Home-State", "age", "n.sex", "education", "x", "agency", "pay")
