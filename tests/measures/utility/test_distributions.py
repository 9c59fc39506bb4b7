import numpy as np
import pandas as pd
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.figure import plain
from synthesizer.measures.utility.cells import level_groups
from synthesizer.measures.utility.distributions import DistributionCounter, distributions
from tests.tables import coded, numeric, persons


def one(original, *synthetic, **options):
    """Return the distribution of a single column."""
    tables = [Table([column]) for column in synthetic]
    (found,) = distributions(Table([original]), tables, **options)
    return found


def share(found, label, side="original"):
    shares = found.original if side == "original" else found.synthetic[side]
    return shares[found.labels.index(label)]


def test_shares_of_all_variables_add_up_and_are_plain_values():
    original = persons(300)
    found = distributions(original, [persons(200, 1), persons(90, 2)])
    assert [part.variable for part in found] == ["sex", "age", "marital", "income"]
    for part in found:
        for shares in (part.original, *part.synthetic):
            assert sum(shares) == pytest.approx(1)
            assert len(shares) == len(part.labels) == len(part.missing)
        cells = len(part.missing) - sum(part.missing)
        assert part.edges is None or len(part.edges) == cells + 1
    assert found[3].labels[-2:] == ("(empty)", "-8")
    assert found[3].missing[-3:] == (False, True, True)
    assert share(found[3], "(empty)") == np.mean(original["income"].states == 1)


def test_summaries_are_of_observed_numbers():
    original = numeric("x", [1, 2, 3, 10, 0], [0, 0, 0, 0, 1], missing=("",))
    made = numeric("x", [0, 0], [1, 1], missing=("",))
    found = one(original, made, numeric("x", [7]))
    assert plain(found.summary.original) == {
        "mean": 4.0, "sd": pytest.approx(np.std([1, 2, 3, 10], ddof=1)), "min": 1.0, "q1": 1.75,
        "median": 2.5, "q3": 4.75, "max": 10.0,
    }  # fmt: skip
    nothing, single = found.summary.synthetic
    assert set(plain(nothing).values()) == {None}
    assert (single.mean, single.sd) == (7.0, None)


def test_numbers_too_large_for_a_mean_have_none():
    found = one(numeric("x", [1.7e308, 1.7e308, 1e308], decimals=None), numeric("x", [0.0]))
    assert found.summary.original.mean is None
    assert found.summary.original.max == 1.7e308


def test_order_of_datasets_does_not_matter():
    original = Table([numeric("x", [0, 1, 2, 3]), coded("y", [0, 1, 1, 0], "ab")])
    first = Table([numeric("x", [-5, 1, 2]), coded("y", [0, 1, 1], "cb")])
    second = Table([numeric("x", [0, 1.5, 9]), coded("y", [0, 0, 0], ["z"], missing=("?",))])
    forward, backward = (
        distributions(original, order) for order in ([first, second], [second, first])
    )
    for one_way, other in zip(forward, backward, strict=True):
        assert one_way.labels == other.labels
        assert one_way.synthetic == other.synthetic[::-1]
    assert forward[0].labels == ("below 1", "[1, 2)", "2", "3 and above")
    assert forward[1].labels == ("a", "b", "new levels")
    assert share(forward[1], "new levels", 0) == pytest.approx(1 / 3)
    assert share(forward[1], "new levels", 1) == 1


def test_levels_are_by_size_or_in_their_own_order_and_capped():
    codes = np.repeat(np.arange(26), np.arange(1, 27))
    letters = "abcdefghijklmnopqrstuvwxyz"
    by_size = one(coded("x", codes, letters), coded("x", [0, 25], letters))
    assert by_size.labels[:2] == ("z", "y")
    assert by_size.labels[20:] == ("other levels",)
    assert by_size.others == 6
    assert share(by_size, "other levels") == pytest.approx(sum(range(1, 7)) / len(codes))
    assert share(by_size, "other levels", 0) == 0.5
    column = coded("x", codes, letters, kind=Kind.ORDERED)
    ordered = one(column, column, cells=3)
    assert ordered.labels == ("x", "y", "z", "other levels")
    assert ordered.kind == "ordered"


def test_new_levels_come_before_the_others_and_codes_are_matched_by_label():
    original = coded("x", [0, 0, 1, 2, 3], "abc", missing=("-9",))
    made = coded("x", [0, 1, 2, 3], ["-9", "q"], missing=("c", "?"))
    found = one(original, made, cells=2)
    assert found.labels == ("a", "b", "new levels", "other levels", "-9", "new missing codes")
    assert found.missing == (False,) * 4 + (True,) * 2
    assert found.synthetic == ((0.0, 0.0, 0.25, 0.25, 0.25, 0.25),)
    assert found.others == 1


def test_new_missing_codes_of_numbers():
    original = numeric("x", [1, 2, 0], [0, 0, 1], missing=("",))
    found = one(original, numeric("x", [1, 0, 0, 0], [0, 1, 2, 2], missing=("", "-8")))
    assert found.labels == ("1", "2", "(empty)", "new missing codes")
    assert found.synthetic == ((0.25, 0.0, 0.25, 0.5),)


def test_an_empty_column_has_one_cell_and_no_edges():
    empty = numeric("x", [0, 0], [1, 1], missing=("",))
    found = one(empty, empty, numeric("x", [4, 5]))
    assert (found.labels, found.edges) == (("all values", "(empty)"), None)
    assert found.synthetic == ((0.0, 1.0), (1.0, 0.0))
    assert set(plain(found.summary.original).values()) == {None}


def test_constant_variables_one_row_and_no_common_level():
    found = one(numeric("x", [3.5], decimals=1), numeric("x", [3.5], decimals=1))
    assert (found.labels, found.original, found.edges) == (("3.5",), (1.0,), (3.5, 4.5))
    apart = one(coded("x", [0], "a"), coded("x", [0], "b"))
    assert apart.labels == ("a", "new levels")
    assert apart.synthetic == ((0.0, 1.0),)


def test_dates_have_iso_labels_and_edges_in_days():
    variable = Variable(name="born", kind=Kind.DATE)
    found = one(Column(variable, np.arange(17000.0, 17003)), Column(variable, np.array([17001.0])))
    assert found.labels == ("2016-07-18", "2016-07-19", "2016-07-20")
    assert found.edges == (17000.0, 17001.0, 17002.0, 17003.0)


def test_identifiers_are_left_out_and_named_variables_kept_in_order():
    variable = Variable(name="who", kind=Kind.ID)
    table = Table(
        [Column(variable, np.arange(3.0)), coded("a", [0, 1, 1], "xy"), numeric("b", [1] * 3)]
    )
    assert [found.variable for found in distributions(table, table)] == ["a", "b"]
    counter = DistributionCounter(table, ["b", "who"])
    assert [found.variable for found in counter.result()] == ["b"]


def test_frames_are_read():
    frame = pd.DataFrame({"sex": ["f", "m", "m"], "age": [20, 30, 30]})
    sex, age = distributions(frame, [frame, frame])
    assert sex.synthetic == (sex.original,) * 2
    assert age.labels == ("20", "30")


def test_all_problems_are_told_at_once():
    table = persons(20)
    with pytest.raises(DataError) as caught:
        distributions(table, table, names=["nowhere"], cells=1)
    assert len(caught.value.problems) == 2
    with pytest.raises(DataError) as caught:
        DistributionCounter(table.take(slice(0, 0)), ["nowhere"], cells=1)
    assert len(caught.value.problems) == 3


def test_messages_count_datasets_that_come_one_by_one():
    table = persons(20)
    counter = DistributionCounter(table)
    counter.add(table)
    with pytest.raises(DataError, match="synthetic dataset 2"):
        counter.add(table.select(["sex"]))


def test_many_groups_fit_their_codes():
    levels = [f"level {number}" for number in range(400)]
    column = coded("x", np.arange(400), levels)
    groups = level_groups(column, 300)
    assert groups.codes(column).dtype == np.uint16
    assert groups.counts(column).tolist() == [1] * 300 + [0, 100, 0]
