"""Variables that advance with time."""

import numpy as np
import pytest

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column
from synthesizer.histories.advance import Advance, elapsed_since_first
from synthesizer.models.cart import Cart
from tests.histories.drawing import drawn_by
from tests.panel.panels import full_index, panel, persons_of, random_index
from tests.tables import coded, numeric

BASE = Cart(min_leaf=5)


@pytest.mark.parametrize("rate", [1.0, 0.5, 2.0])
def test_numbers_grow_with_the_elapsed_time(rate):
    index = random_index(n=100)
    start = np.random.default_rng(1).integers(20, 60, 100)
    target = numeric("x", start[index.person] + rate * elapsed_since_first(index), decimals=1)
    drawn = drawn_by(Advance(base=BASE, rate=rate), panel(index), target)
    first = drawn.data[index.starts[index.person]]
    np.testing.assert_array_equal(drawn.data - first, rate * elapsed_since_first(index))
    assert np.array_equal(drawn.data, np.round(drawn.data, 1))


def test_dates_grow_by_days():
    index = full_index(40, 3)
    day = Variable(name="x", kind=Kind.DATE)
    target = Column(day, 365.0 * index.period + 30 * index.person)
    drawn = drawn_by(Advance(base=BASE, rate=365), panel(index), target).data.reshape(40, 3)
    assert (np.diff(drawn, axis=1) == 365).all()


def in_classes(n=300, periods=8, width=5, seed=1):
    index = full_index(n, periods)
    age = np.random.default_rng(seed).integers(0, 40, n)[index.person] + index.period
    levels = tuple(f"{k}" for k in range(10))
    return index, coded("x", np.minimum(age // width, 9), levels, kind=Kind.ORDERED)


@pytest.mark.parametrize("width", [2, 5])
def test_ordered_levels_last_their_width(width):
    index, column = in_classes(width=width)
    drawn = drawn_by(Advance(base=BASE, width=width), panel(index), column).data.reshape(300, 8)
    steps = np.diff(drawn, axis=1)
    assert set(np.unique(steps)) <= {0, 1}
    top = drawn == 9
    for own, at_top in zip(drawn, top, strict=True):
        runs = np.diff(np.flatnonzero(np.diff(own) == 1))
        assert (runs == width).all()
        assert len(own) - at_top.sum() <= width * (len(set(own)) + 1)
    # the first step comes as early and as late as in the data
    wanted = np.argmax(np.diff(column.data.reshape(300, 8), axis=1) == 1, axis=1)
    found = np.argmax(steps == 1, axis=1)
    assert abs(found.mean() - wanted.mean()) < 0.5


def test_missing_codes_lie_over_a_value_that_goes_on():
    index = full_index(120, 5)
    rng = np.random.default_rng(2)
    states = np.where(rng.random(index.n_rows) < 0.2, rng.integers(1, 3, index.n_rows), 0)
    states[:10] = 1  # two persons without any value
    values = rng.integers(20, 60, 120)[index.person] + index.period
    column = numeric("x", values, states, missing=("", "-9"))
    drawn = drawn_by(Advance(base=BASE), panel(index), column)
    assert np.isfinite(drawn.data[drawn.is_observed]).all()
    assert abs((drawn.missing_state() > 0).mean() - (states > 0).mean()) < 0.08
    for history in persons_of(index, drawn):
        starts = {v - t for t, v in history.items() if not isinstance(v, str)}
        assert len(starts) <= 1


def test_missing_codes_of_levels():
    index, column = in_classes(width=2)
    gone = np.random.default_rng(3).random(index.n_rows) < 0.2
    labels = column.variable.levels
    gappy = coded("x", np.where(gone, 10, column.data), labels, ("",), kind=Kind.ORDERED)
    drawn = drawn_by(Advance(base=BASE, width=2), panel(index), gappy)
    assert abs((drawn.data == 10).mean() - 0.2) < 0.05
    for history in persons_of(index, drawn):
        codes = [int(v) for _, v in sorted(history.items()) if v != ""]
        assert codes == sorted(codes)


def test_late_and_single_persons_and_one_period():
    for index in (full_index(40, 1), full_index(1, 4), full_index(1, 1), random_index(n=9)):
        start = np.arange(index.n_persons) + 20
        column = numeric("x", start[index.person] + elapsed_since_first(index))
        drawn = drawn_by(Advance(base=BASE), panel(index), column)
        first = drawn.data[index.starts[index.person]]
        np.testing.assert_array_equal(drawn.data - first, elapsed_since_first(index))


@pytest.mark.parametrize("option", ["rate", "width"])
def test_options_are_checked(option):
    for value in (0, -1, float("nan")):
        with pytest.raises(ValueError, match=option):
            Advance(**{option: value})
