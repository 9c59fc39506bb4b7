"""Variables that advance with time."""

import numpy as np
import pytest

from synthesizer.data.errors import ModelError, RuleError
from synthesizer.data.panel.panel_table import PanelIndex
from synthesizer.data.panel.paths import PathRule, last_observed
from synthesizer.data.table import Column, Kind, Variable
from synthesizer.models.cart import Cart
from synthesizer.models.histories.advance import (
    EVENT,
    Advance,
    elapsed_since_first,
    restarts,
    starting_positions,
    with_event,
)
from tests.data.panel.panels import full_index, panel, persons_of, random_index
from tests.models.histories.drawing import drawn_by
from tests.tables import coded, numeric

BASE = Cart(min_leaf=5)


@pytest.mark.parametrize("rate", [0.5, 2.0])
def test_numbers_grow_with_the_elapsed_time(rate):
    index = random_index(n=100)
    start = np.random.default_rng(1).integers(20, 60, 100)
    target = numeric("x", start[index.person] + rate * elapsed_since_first(index), decimals=1)
    drawn = drawn_by(Advance(base=BASE, rate=rate), panel(index), target)
    first = drawn.data[index.starts[index.person]]
    grown = drawn.data - first
    np.testing.assert_allclose(grown, rate * elapsed_since_first(index), atol=1e-9)
    assert np.array_equal(drawn.data, np.round(drawn.data, 1))


def in_classes(n=300, periods=8, width=5, seed=1):
    index = full_index(n, periods)
    age = np.random.default_rng(seed).integers(0, 40, n)[index.person] + index.period
    levels = tuple(f"{k}" for k in range(10))
    return index, coded("x", np.minimum(age // width, 9), levels, kind=Kind.ORDERED)


def test_ordered_levels_last_their_width():
    width = 5
    index, column = in_classes(width=width)
    drawn = drawn_by(Advance(base=BASE, width=width), panel(index), column).data.reshape(300, 8)
    steps = np.diff(drawn, axis=1)
    assert set(np.unique(steps)) <= {0, 1}
    top = drawn == 9
    for original, at_top in zip(drawn, top, strict=True):
        runs = np.diff(np.flatnonzero(np.diff(original) == 1))
        assert (runs == width).all()
        assert len(original) - at_top.sum() <= width * (len(set(original)) + 1)
    # the first step comes as early and as late as in the data
    wanted = np.argmax(np.diff(column.data.reshape(300, 8), axis=1) == 1, axis=1)
    actual = np.argmax(steps == 1, axis=1)
    assert abs(actual.mean() - wanted.mean()) < 0.5


def test_missing_codes_lie_over_a_value_that_goes_on():
    index = full_index(120, 5)
    rng = np.random.default_rng(2)
    states = np.where(rng.random(index.n_rows) < 0.2, rng.integers(1, 3, index.n_rows), 0)
    states[:10] = 1  # two persons without any value
    values = rng.integers(20, 60, 120)[index.person] + index.period
    column = numeric("x", values, states, missing=("", "-9"))
    drawn = drawn_by(Advance(base=BASE), panel(index), column)
    np.testing.assert_array_equal(np.isnan(drawn.data), ~drawn.is_observed)
    assert abs((drawn.missing_state() > 0).mean() - (states > 0).mean()) < 0.08
    for history in persons_of(index, drawn):
        starts = {v - t for t, v in history.items() if not isinstance(v, str)}
        assert len(starts) <= 1


def test_a_late_first_value_is_reckoned_back():
    n, periods = 4000, 10
    index = full_index(n, periods)
    start = np.random.default_rng(4).integers(20, 55, n)
    truth = (start[index.person] + index.period) // 5 - 4
    late = (index.period < 3) & (index.person % 2 == 0)
    levels = tuple(str(k) for k in range(20))
    variable = Variable(name="x", kind=Kind.ORDERED, levels=levels, missing=("NA",))
    target = Column(variable, np.where(late, 20, truth).astype(np.int32))
    drawn = drawn_by(Advance(base=BASE), panel(index), target)
    data = drawn.data.astype(float)
    data[~drawn.is_observed] = np.nan
    steps = np.diff(data.reshape(n, periods), axis=1)
    shares = np.array([(original[~np.isnan(original)] == 1).mean() for original in steps.T])
    np.testing.assert_allclose(shares, 0.2, atol=0.035)
    means = np.nanmean(data.reshape(n, periods), axis=0)
    np.testing.assert_allclose(means, truth.reshape(n, periods).mean(axis=0), atol=0.1)


@pytest.mark.parametrize("width", [1.0, 2.5])
def test_positions_agree_with_every_row(width):
    index = random_index(n=200)
    rng = np.random.default_rng(6)
    gone = elapsed_since_first(index)
    truth = rng.uniform(0, 40, index.n_persons)
    levels = np.floor((truth[index.person] + gone) / width).astype(int)
    seen = np.where(rng.random(len(levels)) < 0.7, levels, -1)
    actual = starting_positions(index, seen, width * np.arange(levels.max() + 2.0), rng)
    again = np.floor((actual[index.person] + gone) / width)
    known = seen >= 0
    assert (np.maximum(again, 0)[known] == levels[known]).all()
    none = np.bincount(index.person, weights=known) == 0
    assert np.array_equal(np.isnan(actual), none)


def test_a_wide_lowest_and_an_open_highest_level():
    index = full_index(3, 12)
    lowest = np.where(index.period < 9, 0, 1)
    levels = np.select([index.person == 0, index.person == 1], [lowest, 0], 3)
    rng = np.random.default_rng(7)
    actual = starting_positions(index, levels, 5.0 * np.arange(4), rng)
    assert -4 <= actual[0] < -3  # moves up after the ninth period
    assert actual[1] < 5 - 11
    assert 15 <= actual[2] < 20


def degrees(n: int, seed: int) -> tuple[PanelIndex, Column, Column, np.ndarray]:
    """Schooling that rises for some, and years since the degree: none, 0, 1-4, 5-9, 10+, ``?``.

    Also returns which rows are restarts of the count.
    """
    index = random_index(n=n, seed=seed)
    rng = np.random.default_rng(seed)
    year, school, since, again = index.times[index.period], np.zeros(index.n_rows, int), [], []
    for rows in np.split(np.arange(index.n_rows), index.starts[1:]):
        level, degree = int(rng.integers(3)), year[rows[0]] - rng.integers(0, 12)
        for row in rows:
            rises = row > rows[0] and rng.random() < 0.15 and level < 3
            level += rises
            restarts = bool(rises and level >= 2)
            degree = year[row] if restarts else degree
            school[row] = level
            years = year[row] - degree
            since.append(0 if level < 2 else 1 + np.searchsorted([1, 5, 10], years, "right"))
            again.append(restarts)
    missing = rng.random(index.n_rows) < 0.05
    codes = np.where(missing, 5, since)
    target = coded("x", codes, "abcde", missing=("?",), kind=Kind.ORDERED)
    return index, coded("school", school, "0123"), target, np.array(again)


WIDTHS = (0.0, 1.0, 4.0, 5.0, 5.0)


def test_a_count_starts_again_with_its_event_and_never_falls_without():
    index, school, target, _ = degrees(600, 1)
    model = Advance(base=BASE, since="school", width=WIDTHS)
    drawn = drawn_by(model, panel(index, school), target)
    last = last_observed(index, drawn)
    is_later = ~index.is_first & drawn.is_observed & last.is_observed
    falls = is_later & (drawn.data < last.data)
    # a missing code may stand over the row of the event itself
    events = with_event(panel(index, school), "school")[EVENT].data
    total = np.cumsum(events)
    seen = np.maximum.accumulate(np.where(drawn.is_observed, np.arange(len(last)), -1))
    before = np.concatenate([[0], seen[:-1]])
    assert falls.any()
    assert (total[falls] > total[before[falls]]).all()
    for level in range(4):  # none below a degree, and only there
        result, theirs = (c.data[(school.data == level) & c.is_observed] for c in (target, drawn))
        assert np.mean(theirs == 0) == pytest.approx(np.mean(result == 0), abs=0.02)
        shares = [np.bincount(codes, minlength=5) / len(codes) for codes in (result, theirs)]
        assert np.abs(shares[0] - shares[1]).max() < 0.08
    assert np.mean(~drawn.is_observed) == pytest.approx(0.05, abs=0.015)


def test_a_count_is_observed_where_the_event_variable_is():
    index, school, target, _ = degrees(600, 3)
    blank = (target.data == 5) | (np.random.default_rng(3).random(index.n_rows) < 0.3)
    codes = np.where(blank, 4, school.data)
    events = coded("school", codes, "0123", missing=("*",), kind=Kind.ORDERED)
    target = coded("x", np.where(blank, 5, target.data), "abcde", ("?",), kind=Kind.ORDERED)
    model = Advance(base=BASE, since="school", width=WIDTHS)
    drawn = drawn_by(model, panel(index, events), target)
    assert np.mean(~drawn.is_observed[~blank]) < 0.005
    assert np.mean(~drawn.is_observed[blank]) > 0.99


def test_restarts_are_those_that_the_values_show():
    index, school, target, truth = degrees(300, 1)
    table = with_event(panel(index, school), "school")
    actual = restarts(index, target, table[EVENT].data > 0, np.array(WIDTHS), 1.0)
    assert not (actual & ~truth).any()
    assert not actual[index.is_first].any()
    # slow: a restart shows unless one count from the first row of the stretch explains all values
    stretch = np.cumsum(actual | index.is_first)
    edges = {1: (0, 1), 2: (1, 5), 3: (5, 10), 4: (10, np.inf)}
    for number in np.unique(stretch).tolist():
        rows = [r for r in np.flatnonzero(stretch == number) if target.is_observed[r]]
        codes = {int(target.data[r]) for r in rows}
        assert 0 not in codes or codes == {0}
        windows = [
            (edges[int(target.data[r])], index.times[index.period[r]])
            for r in rows
            if target.data[r] > 0
        ]
        low = max((edge[0] - moment for edge, moment in windows), default=0)
        high = min((edge[1] - moment for edge, moment in windows), default=1)
        assert low < high


def test_numbers_start_again_with_events():
    index, school, _, truth = degrees(300, 2)
    start = np.maximum.accumulate(np.where(truth | index.is_first, np.arange(index.n_rows), 0))
    offset = np.where(truth, 0, 7)[start]
    target = numeric(
        "x", offset + index.times[index.period] - index.times[index.period[start]], decimals=0
    )
    drawn = drawn_by(Advance(base=BASE, since="school"), panel(index, school), target)
    fell = ~index.is_first & (np.diff(drawn.data, prepend=0) < 0)
    assert fell.sum() == pytest.approx(truth.sum(), rel=0.25)
    event = with_event(panel(index, school), "school")[EVENT].data > 0
    assert not (fell & ~event).any()
    grown = np.diff(drawn.data, prepend=0)[~index.is_first & ~event]
    np.testing.assert_allclose(grown, index.elapsed[~index.is_first & ~event])


def test_what_since_cannot_keep_is_refused():
    index, school, target, _ = degrees(30, 1)
    model = Advance(base=BASE, since="school", width=WIDTHS)
    rule = PathRule(variable="x", non_decreasing=True, text="x never falls")
    with pytest.raises(RuleError, match="'school'"):
        model.fit_history(panel(index, school), target, [rule], rng=np.random.default_rng(1))
    with pytest.raises(ModelError, match="width has 2"):
        drawn_by(Advance(base=BASE, width=(1.0, 2.0)), panel(index, school), target)
    with pytest.raises(ValueError, match=r"since \(absent\) must be predictors"):
        drawn_by(Advance(base=BASE, since="absent"), panel(index, school), target)
