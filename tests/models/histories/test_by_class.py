"""One value a person, one for most persons, and values that only rise, but for a few persons."""

import numpy as np
import pytest

from synthesizer.data.panel.panel_table import PanelIndex
from synthesizer.data.panel.paths import PathRule, broken_steps
from synthesizer.data.panel.view import changers
from synthesizer.data.table import Column, Kind, Variable
from synthesizer.models.cart import Cart
from synthesizer.models.histories.wrapped import Monotone, MostlyConstant, TimeInvariant
from tests.data.panel.panels import full_index, panel, persons_of, random_column, random_index
from tests.models.histories.drawing import drawn_by
from tests.tables import coded, numeric

BASE = Cart(min_leaf=5)
RISES = PathRule(variable="x", non_decreasing=True, text="x never falls")
LEVELS = tuple("abcdef")


@pytest.mark.parametrize("kind", [Kind.CATEGORICAL, Kind.DATE])
def test_one_value_a_person(kind):
    index = random_index(n=80)
    column = random_column(index, kind)
    drawn = drawn_by(TimeInvariant(base=BASE), panel(index), column)
    assert not changers(index, drawn).any()
    actual = persons_of(index, drawn)
    assert len({next(iter(history.values())) for history in actual}) > 1


def test_it_depends_on_what_is_known_of_the_person():
    index = random_index(n=200)
    sex = coded("sex", index.person % 2, ("f", "m"))
    twin = coded("x", index.person % 2, ("a", "b"))
    drawn = drawn_by(TimeInvariant(base=BASE), panel(index, sex), twin)
    assert drawn.data.tolist() == twin.data.tolist()


def test_relations_hold_among_persons_and_among_their_rows() -> None:
    rng = np.random.default_rng(5)
    there = np.ones((4000, 12), dtype=bool)
    there[:3000, 2:] = False  # a quarter of the persons have two thirds of the rows
    index = PanelIndex.of_presence(there, np.arange(12.0))
    group = rng.integers(0, 2, 4000)
    share = np.where(index.counts > 2, 0.5 + 0.12 * (2 * group - 1), 0.5)
    value = (rng.random(4000) < share).astype(np.int32)
    periods = numeric("career.periods", index.counts[index.person])
    table = panel(index, coded("group", group[index.person], ("a", "b")), periods)
    target = coded("x", value[index.person], ("no", "yes"))

    def gaps(column: Column) -> list[float]:
        yes, b = column.data, group[index.person]
        first = yes[index.starts]
        by_person = first[group == 1].mean() - first[group == 0].mean()
        return [by_person, yes[b == 1].mean() - yes[b == 0].mean()]

    def drawn(model: Cart) -> np.ndarray:
        columns = [
            drawn_by(MostlyConstant(base=model), table, target, seed=seed) for seed in range(8)
        ]
        return np.mean([gaps(column) for column in columns], axis=0)

    np.testing.assert_allclose(drawn(Cart(min_leaf=4000)), gaps(target), atol=0.02)
    assert abs(drawn(Cart(min_leaf=4000, leaf_regression=False)) - gaps(target)).min() > 0.04


@pytest.mark.parametrize("kind", [Kind.ORDERED, Kind.NUMERIC])
def test_changers_against_slow_code(kind):
    index = random_index(n=80, seed=3)
    column = random_column(index, kind, 3)
    slow = [len(set(history.values())) > 1 for history in persons_of(index, column)]
    assert changers(index, column).tolist() == slow


def test_share_of_persons_who_ever_change():
    share = 0.1
    index, rng = random_index(n=600, share=0.9, seed=1), np.random.default_rng(1)
    original, moving = rng.integers(0, 3, 600), rng.random(600) < share
    late = (index.period >= 2) & moving[index.person]
    column = coded("x", (original[index.person] + late) % 3, ("a", "b", "c"))
    wanted = changers(index, column).mean()
    shares = [
        changers(index, drawn_by(MostlyConstant(base=BASE), panel(index), column, seed=s)).mean()
        for s in range(4)
    ]
    error = np.sqrt(2 * wanted * (1 - wanted) / index.n_persons)
    assert abs(np.mean(shares) - wanted) < 3 * error


def test_no_person_and_every_person_changes():
    index = full_index(60, 3)
    same = coded("x", index.person % 3, ("a", "b", "c"))
    assert not changers(index, drawn_by(MostlyConstant(base=BASE), panel(index), same)).any()
    all_move = coded("x", (index.person + index.period) % 3, ("a", "b", "c"))
    assert changers(index, drawn_by(MostlyConstant(base=BASE), panel(index), all_move)).all()


def test_the_first_observed_value_counts():
    index = full_index(200, 3)
    person = np.arange(200) % 2
    levels = ("f", "m")
    variable = Variable(name="x", kind=Kind.CATEGORICAL, levels=levels, missing=("NA",))
    data = np.repeat(person, 3).reshape(200, 3)
    data[:80, 0] = 2
    data[:4] = 2  # no observed value
    drawn = drawn_by(
        TimeInvariant(base=Cart(min_leaf=5)), panel(index), Column(variable, data.ravel())
    )
    assert (drawn.data == 2).reshape(200, 3).all(axis=1).mean() == pytest.approx(0.02, abs=0.02)
    assert (drawn.data == 1).mean() == pytest.approx(0.49, abs=0.08)


def education(n=500, share=0.04, seed=1):
    """Half never change, the others rise, a few fall once."""
    index = random_index(n=n, share=0.9, seed=seed)
    rng = np.random.default_rng(seed)
    up = (rng.random(n) < 0.5)[index.person] * (index.period >= rng.integers(1, 5, n)[index.person])
    value = rng.integers(1, 4, n)[index.person] + up * rng.integers(1, 3, n)[index.person]
    falls = (rng.random(n) < share)[index.person] & (index.period == 4)
    return index, np.where(falls, 0, value)


def falls_of(index, column):
    broken = broken_steps(index, column, [RISES])
    return np.bincount(index.person[broken], minlength=index.n_persons)


@pytest.mark.parametrize("as_number", [True, False])
def test_falls_are_as_rare_as_in_the_data_and_at_most_one_each(as_number):
    index, values = education()
    kind = Kind.ORDERED
    column = numeric("x", values) if as_number else coded("x", values, LEVELS, kind=kind)
    wanted = falls_of(index, column)
    shares = []
    for seed in range(3):
        drawn = drawn_by(Monotone(base=BASE), panel(index), column, seed=seed)
        falls = falls_of(index, drawn)
        assert falls.max() <= 1
        shares.append((falls > 0).mean())
    assert abs(np.mean(shares) - (wanted > 0).mean()) < 0.025
    assert abs(changers(index, drawn).mean() - changers(index, column).mean()) < 0.08


def test_wild_histories_fall_once_at_most():
    index = random_index(n=150, share=0.9, seed=4)
    drawn = drawn_by(Monotone(base=BASE), panel(index), random_column(index, Kind.DATE, 4))
    assert falls_of(index, drawn).max() == 1


def test_everybody_is_constant_everybody_rises_everybody_falls():
    index = full_index(60, 3)
    for values, check in (
        (index.person % 4, lambda c: not changers(index, c).any()),
        (index.person % 4 + index.period, lambda c: changers(index, c).all()),
        (index.person % 4 - index.period + 3, lambda c: (falls_of(index, c) == 1).all()),
    ):
        drawn = drawn_by(Monotone(base=BASE), panel(index), numeric("x", values))
        assert check(drawn)
