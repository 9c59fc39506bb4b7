"""Pairs within the groups of a third variable: slow code, both ends, a relation that two hide."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.table import Table
from synthesizer.measures.utility.conditional_tables import (
    ConditionalCounter,
    ConditionalTables,
)
from tests.tables import coded

NAMES = ("a", "b", "c", "d")


def people(n: int, seed: int, sign: float = 1.0) -> Table:
    """a and b go with c; d goes with nothing; within c, b follows a by ``sign``, up or down."""
    rng = np.random.default_rng(seed)
    c = rng.integers(0, 2, n)
    a = (rng.random(n) < 0.3 + 0.4 * c).astype(int)
    b = (rng.random(n) < 0.3 + 0.4 * c + sign * 0.25 * (a - 0.3 - 0.4 * c)).astype(int)
    columns = zip(NAMES, (a, b, c, rng.integers(0, 3, n)), strict=True)
    return Table([coded(name, codes, "xyz") for name, codes in columns])


def compared(original: Table, *synthetic: Table, pairs=(("a", "b"),)) -> ConditionalTables | None:
    counter = ConditionalCounter(original, pairs, original.names)
    for table in synthetic:
        counter.add(table)
    return counter.result()


def slowly(original: Table, made: Table) -> float:
    """Sum of VW over degrees of freedom of a by b within c, cell by cell."""
    frames = [pd.DataFrame({n: table[n].data for n in NAMES}) for table in (original, made)]
    total, df = 0.0, 0.0
    for group in (0, 1):
        parts = [frame[frame["c"] == group] for frame in frames]
        n_o, n_s = map(len, parts)
        cells = 0
        for a, b in product(range(3), repeat=2):
            o, s = (int(((part["a"] == a) & (part["b"] == b)).sum()) for part in parts)
            if o + s:
                cells += 1
                total += (s - o * n_s / n_o) ** 2 / ((o + s) * n_s / (n_o + n_s))
        df += cells - 1
    return total / df


def test_conditional_s_is_that_of_slow_code():
    original, made = people(800, 1), [people(800, 2), people(300, 3, sign=-1.0)]
    (row,) = compared(original, *made).rows
    assert (row.variables, row.given, row.groups) == (("a", "b"), "c", 2)
    assert row.s_pmse == pytest.approx(np.mean([slowly(original, table) for table in made]))


def test_both_ends_and_a_fresh_sample():
    original = people(2000, 1)
    pairs = [("a", "b"), ("a", "d"), ("b", "c")]
    assert [figure.value for figure in compared(original, original, pairs=pairs).figures] == [0, 0]
    values = [
        compared(people(800, 2 * s), people(800, 2 * s + 1)).rows[0].s_pmse for s in range(60)
    ]
    assert np.mean(values) == pytest.approx(2, abs=0.35)
    rng = np.random.default_rng(0)
    right = [
        compared(original, original.take(rng.integers(0, 2000, 2000))).rows[0].s_pmse
        for _ in range(60)
    ]
    assert np.mean(right) == pytest.approx(1, abs=0.2)


def test_a_relation_that_is_wrong_within_groups_is_found():
    wrong = compared(people(2000, 1), people(2000, 2, sign=-1.0))
    mean, largest = wrong.figures
    assert mean.value == largest.value > 10
    assert "a and b within the groups of c" in largest.meaning
    assert wrong.expected == (1, 2)


def test_without_a_third_variable_and_without_a_group_on_both_sides():
    original = people(200, 1)
    assert compared(original.select(["a", "b"]), original) is None
    group = original.take(original["c"].data == 0)
    (row,) = compared(original, group).rows
    assert row.s_pmse is not None  # of the group that both have
    constant = Table([coded(name, np.zeros(9), "x") for name in "abc"])
    result = compared(constant, constant)
    assert (result.rows[0].s_pmse, result.figures) == (None, ())
    assert compared(original.take([0]), original).rows[0].groups == 1
