"""Values of a person from a career, changes, and the table for checks of persons."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from synthesizer.data.codec import Codec
from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.view import (
    ABSENT,
    PersonView,
    changed_rows,
    constant_names,
    differing,
    in_period,
    period_labels,
    person_summary,
    person_view,
    row_summary,
)
from synthesizer.data.table import Column, Kind, Variable
from tests.data.panel.panels import TIMES, panel, persons_of, random_column, random_index
from tests.tables import coded, numeric, values_of

KINDS = (Kind.CATEGORICAL, Kind.NUMERIC, Kind.DATE)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [True, False])
def test_differing_compares_values_and_missing_codes(kind, missing):
    index = random_index(n=60)
    column = random_column(index, kind, missing=missing)
    other = np.random.default_rng(1).integers(index.n_rows, size=index.n_rows)
    values = values_of(column)
    slow = [values[i] != values[j] for i, j in enumerate(other)]
    assert changed_rows(column, other).tolist() == slow
    assert differing(column, column.take(other)).tolist() == slow
    plain, gappy = (numeric("x", [1.0, 2.0], *more) for more in ((), ([0, 1], ("",))))
    assert differing(plain, gappy).tolist() == differing(gappy, plain).tolist() == [False, True]


def test_another_missing_code_is_a_change_and_not_constant():
    index = random_index(n=10, share=1.0)
    states = {"odd": np.where(np.arange(index.n_rows) == 3, 2, 1), "same": np.ones(index.n_rows)}
    columns = [numeric(name, s * 0.0, s, missing=("", "-9")) for name, s in states.items()]
    assert constant_names(panel(index, *columns)) == {"same"}


@pytest.mark.parametrize("kind", KINDS)
def test_value_in_one_period_and_absence(kind):
    index = random_index()
    column = random_column(index, kind)
    histories = persons_of(index, column)
    table = panel(index, column)
    for period in range(len(TIMES)):
        cross_section = in_period(table, column, period)
        assert values_of(cross_section) == [history.get(period, ABSENT) for history in histories]


def test_person_view_shows_first_last_and_chosen_periods():
    index = random_index()
    column = random_column(index, Kind.NUMERIC)
    sex = coded("sex", index.person % 2, ("f", "m"))
    view = person_view(
        panel(index, column, sex), career=None, constant={"sex"}, periods=[("1993", 2)]
    )
    histories = persons_of(index, column)
    assert view.n_rows == index.n_persons
    assert values_of(view["x@first"]) == [history[min(history)] for history in histories]
    assert values_of(view["x@last"]) == [history[max(history)] for history in histories]
    assert values_of(view["x@1993"]) == [history.get(2, ABSENT) for history in histories]
    assert view["sex"].data.tolist() == [p % 2 for p in range(index.n_persons)]
    assert "sex@first" not in view


def test_parts_of_a_view_are_parts_of_its_panel():
    index = random_index()
    column = random_column(index, Kind.CATEGORICAL)
    view = person_view(panel(index, column), career=None, constant=())
    half = view.take(np.arange(index.n_persons) % 2 == 0)
    assert isinstance(half, PersonView)
    assert half.n_rows == half.panel.n_units == (index.n_persons + 1) // 2
    rows = index.rows_of(np.arange(0, index.n_persons, 2))
    assert np.array_equal(half.panel["x"].data, column.data[rows])


def test_frame_names_what_follows_from_the_careers():
    year = Column(Variable(name="year", kind=Kind.NUMERIC, decimals=0), TIMES)
    index = random_index()
    for career in (None, "x"):
        frame = Frame(periods=year, times=TIMES, career=career)
        column = random_column(index, Kind.CATEGORICAL)
        completed = frame.completed(panel(index, column))
        assert set(completed) - {"x"} == set(frame.derived)
        assert period_labels(year) == ("1990", "1991", "1993", "1994", "1998")
        assert completed["year"].data.tolist() == TIMES[index.period].tolist()
        assert Codec().typed(Frame, Codec().plain(Frame, frame)).derived == frame.derived


def test_periods_have_labels_and_rise():
    wave = coded("wave", [0, 2], ("one", "two", "three"), kind=Kind.ORDERED)
    assert period_labels(wave) == ("one", "three")
    year = Column(Variable(name="year", kind=Kind.NUMERIC, decimals=0), TIMES)
    for times in (TIMES[::-1], TIMES[:-1], TIMES[:0]):
        with pytest.raises(ValueError, match="rise"):
            Frame(periods=year, times=times)


@pytest.mark.parametrize("seed", range(2))
def test_person_summary(seed):
    index = random_index(seed=seed, n=50)
    column = random_column(index, Kind.CATEGORICAL, seed)
    summary = {c.name.removeprefix("career."): values_of(c) for c in person_summary(index, column)}
    labels = column.variable.labels
    for person, history in enumerate(persons_of(index, column)):
        periods = sorted(history)
        states = [history[t] for t in periods]
        counts = Counter(states)
        main = min(counts, key=lambda s: (-counts[s], labels.index(s)))
        wanted = {
            "first": TIMES[periods[0]], "last": TIMES[periods[-1]], "periods": len(periods),
            "gaps": sum(b - a > 1 for a, b in pairwise(periods)),
            "moves": sum(a != b for a, b in pairwise(states)), "states": len(counts),
            "first_state": states[0], "last_state": states[-1], "main_state": main,
        }  # fmt: skip
        assert {name: values[person] for name, values in summary.items()} == wanted
    assert [c.name.removeprefix("career.") for c in person_summary(index)] == [*summary][:4]
    assert len(row_summary(index)) == 1


@pytest.mark.parametrize("seed", range(2))
def test_row_summary_looks_back_only(seed):
    index = random_index(seed=seed, n=50)
    column = random_column(index, Kind.ORDERED, seed)
    so_far, in_state = (c.data for c in row_summary(index, column))
    values = values_of(column)
    for row in range(index.n_rows):
        start = index.starts[index.person[row]]
        assert so_far[row] == row - start + 1
        same = 1
        while row - same >= start and values[row - same] == values[row]:
            same += 1
        assert in_state[row] == same - 1
