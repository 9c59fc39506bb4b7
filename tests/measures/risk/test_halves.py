"""Halves, control records and samples, against what stands in them record by record."""

import numpy as np
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.table import Table
from synthesizer.measures.checks import exchanged_splits
from synthesizer.measures.halves import (
    as_halves,
    control_run,
    equal_sizes,
    half_runs,
    half_split,
    pooled,
    units_of,
)
from tests.tables import coded, numeric


def numbered(n, first=0):
    return Table([numeric("n", np.arange(first, first + n))])


def rng(seed=1):
    return np.random.default_rng(seed)


def numbers(table):
    return table["n"].data.astype(int).tolist()


@pytest.mark.parametrize(("n", "in_a"), [(2, 1), (3, 2), (8, 4), (9, 5)])
def test_half_of_the_units_and_one_more_of_an_odd_number(n, in_a):
    units = np.repeat(np.arange(n) * 7, 3)
    chosen = half_split(rng().permutation(units), rng(2))
    assert chosen.sum() == 3 * in_a
    once = [half_split(units, rng(seed))[::3] for seed in range(200)]
    assert np.mean(once, axis=0) == pytest.approx(in_a / n, abs=0.15)


def test_all_records_of_a_unit_are_on_one_side_with_their_number():
    units = np.array([5, 9, 5, 2, 9, 2, 2])
    calls = []

    def synthesise(half, m, repeat):
        calls.append((numbers(half), m, repeat))
        return [half] * m

    runs = list(half_runs(numbered(7), synthesise, m=2, repeats=3, seed=1, units=units))
    assert [run.repeat for run in runs] == [0, 1, 2]
    assert calls == [(numbers(run.fitted), 2, run.repeat) for run in runs]
    for run in runs:
        assert run.fitted_units.tolist() == units[numbers(run.fitted)].tolist()
        assert run.unseen_units.tolist() == units[numbers(run.unseen)].tolist()
        assert not set(run.fitted_units.tolist()) & set(run.unseen_units.tolist())
        assert sorted(numbers(run.fitted) + numbers(run.unseen)) == list(range(7))
        assert [numbers(table) for table in run.synthetic] == [numbers(run.fitted)] * 2
    assert len({tuple(numbers(run.fitted)) for run in runs}) > 1


def test_a_row_without_identifier_is_a_unit_alone():
    column = coded("who", [2, 0, 3, 2, 3], "abc", missing=("",))
    assert units_of(column).tolist() == [1, 0, 2, 1, 3]
    fitted, control = Table([column]), Table([column.take(np.array([0, 1]))])
    run = control_run(fitted, control, (fitted,), "who")
    assert (run.repeat, run.fitted, run.unseen, run.synthetic) == (0, fitted, control, (fitted,))
    assert (run.fitted_units.tolist(), run.unseen_units.tolist()) == ([1, 0, 2, 1, 3], [1, 0])
    alone = control_run(fitted, control, (fitted,))
    assert (alone.fitted_units.tolist(), alone.unseen_units.tolist()) == ([0, 1, 2, 3, 4], [0, 1])


def test_halves_of_equal_size():
    first, second = equal_sizes((numbered(5), numbered(3, 50)), rng())
    assert numbers(second) == [50, 51, 52]
    assert len(set(numbers(first)) & set(range(5))) == 3
    wanted, other = numbered(2).with_column(coded("x", [0, 1], "ab")), numbered(2)
    halves = as_halves(wanted, wanted, [wanted], ["x"])
    assert [table.names for table in (*halves[:2], *halves[2])] == [("x",)] * 3
    with pytest.raises(DataError, match="'x' is not in synthetic dataset 2"):
        as_halves(wanted, wanted, [wanted, other], ["x"])


def test_a_sample_of_several_tables_has_each_record_as_often():
    tables = [numbered(3), numbered(4, 10), numbered(2, 20)]
    assert pooled(tables, 9, rng()) == tuple(tables)
    drawn = [[numbers(table) for table in pooled(tables, 6, rng(seed))] for seed in range(300)]
    for parts in drawn:
        assert sum(map(len, parts)) == 6
        for table, part in zip(tables, parts, strict=True):
            assert part == sorted({*part} & {*numbers(table)})
    every = np.concatenate([np.concatenate(parts) for parts in drawn])
    assert np.unique(every, return_counts=True)[1] / 300 == pytest.approx([6 / 9] * 9, abs=0.12)


def test_small_files_are_split_several_times():
    rows = (10, 2_000, 4_000, 4_999, 5_000)
    assert [exchanged_splits(n, 21) for n in rows] == [5, 5, 3, 3, 0]
    assert [exchanged_splits(1_000, k) for k in (200, 250, 400, 1_000, 9_000)] == [5, 4, 2, 1, 1]
