"""One value a person, and one for most persons."""

import numpy as np
import pytest

from synthesizer.data.panel.panel_table import PanelIndex
from synthesizer.data.panel.view import changers
from synthesizer.data.table import Column, Kind, Variable
from synthesizer.models.cart import Cart
from synthesizer.models.histories.mostly_constant import MostlyConstant
from synthesizer.models.histories.time_invariant import TimeInvariant
from tests.data.panel.panels import full_index, panel, persons_of, random_column, random_index
from tests.models.histories.drawing import drawn_by
from tests.tables import coded, numeric

BASE = Cart(min_leaf=5)
KINDS = (Kind.CATEGORICAL, Kind.ORDERED, Kind.BOOLEAN, Kind.NUMERIC, Kind.DATE)


@pytest.mark.parametrize("kind", KINDS)
def test_one_value_a_person(kind):
    index = random_index(n=80)
    column = random_column(index, kind)
    drawn = drawn_by(TimeInvariant(base=BASE), panel(index), column)
    assert not changers(index, drawn).any()
    found = persons_of(index, drawn)
    assert len({next(iter(history.values())) for history in found}) > 1


def test_it_depends_on_what_is_known_of_the_person():
    index = random_index(n=200)
    sex = coded("sex", index.person % 2, ("f", "m"))
    twin = coded("x", index.person % 2, ("a", "b"))
    drawn = drawn_by(TimeInvariant(base=BASE), panel(index, sex), twin)
    assert drawn.data.tolist() == twin.data.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_changers_against_slow_code(kind):
    index = random_index(n=80, seed=3)
    column = random_column(index, kind, 3)
    slow = [len(set(history.values())) > 1 for history in persons_of(index, column)]
    assert changers(index, column).tolist() == slow


def few_changers(n=600, share=0.05, seed=1):
    index = random_index(n=n, share=0.9, seed=seed)
    rng = np.random.default_rng(seed)
    own = rng.integers(0, 3, n)
    moving = rng.random(n) < share
    late = (index.period >= 2) & moving[index.person]
    return index, coded("x", (own[index.person] + late) % 3, ("a", "b", "c"))


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_share_of_persons_who_ever_change(share):
    index, column = few_changers(share=share)
    wanted = changers(index, column).mean()
    shares = [
        changers(index, drawn_by(MostlyConstant(base=BASE), panel(index), column, seed=s)).mean()
        for s in range(4)
    ]
    error = np.sqrt(2 * wanted * (1 - wanted) / index.n_persons)
    assert abs(np.mean(shares) - wanted) < 3 * error


def test_nobody_and_everybody_changes():
    index = full_index(60, 3)
    same = coded("x", index.person % 3, ("a", "b", "c"))
    assert not changers(index, drawn_by(MostlyConstant(base=BASE), panel(index), same)).any()
    all_move = coded("x", (index.person + index.period) % 3, ("a", "b", "c"))
    assert changers(index, drawn_by(MostlyConstant(base=BASE), panel(index), all_move)).all()


def test_persons_of_one_period_never_change():
    present = np.ones((100, 3), dtype=bool)
    present[:70, 1:] = False
    index = PanelIndex.of_presence(present, np.arange(3.0))
    column = coded("x", (index.person + index.period) % 3, ("a", "b", "c"))
    drawn = drawn_by(MostlyConstant(base=BASE), panel(index), column)
    assert changers(index, drawn)[70:].mean() > 0.9


def test_one_period_and_one_person():
    for index in (full_index(40, 1), full_index(1, 4), full_index(1, 1)):
        column = numeric("x", np.arange(index.n_rows))
        for model in (TimeInvariant(base=BASE), MostlyConstant(base=BASE)):
            drawn = drawn_by(model, panel(index), column)
            assert np.isin(drawn.data, column.data).all()


def test_the_first_observed_value_counts():
    index = full_index(200, 3)
    person = np.arange(200) % 2
    levels = ("f", "m")
    variable = Variable(name="x", kind=Kind.CATEGORICAL, levels=levels, missing=("NA",))
    data = np.repeat(person, 3).reshape(200, 3)
    data[:80, 0] = 2
    data[:4] = 2  # nobody knows
    drawn = drawn_by(
        TimeInvariant(base=Cart(min_leaf=5)), panel(index), Column(variable, data.ravel())
    )
    assert (drawn.data == 2).reshape(200, 3).all(axis=1).mean() == pytest.approx(0.02, abs=0.02)
    assert (drawn.data == 1).mean() == pytest.approx(0.49, abs=0.08)
