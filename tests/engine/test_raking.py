"""Raking of weights to totals: against slow obvious code, rounding, what follows from them."""

import numpy as np
import pytest

from synthesizer.data.errors import RuleError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine.survey_weights import Margin, Raking, raked_cells, rounded_cells

SIZES = (5, 3, 2)


def slowly_raked(weights, codes, totals, rounds):
    """Multiply the weights of one level after the other, person by person."""
    weights = list(weights)
    for _ in range(rounds):
        for code, total in zip(codes, totals, strict=True):
            for level, wanted in enumerate(total):
                people = [i for i in range(len(weights)) if code[i] == level]
                there = sum(weights[i] for i in people)
                for i in people:
                    weights[i] *= wanted / there
    return np.array(weights)


def survey(seed, n=150):
    """Return weights and codes, and totals of other weights and codes."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 300, n).astype(float)
    codes = [rng.integers(0, size, n) for size in SIZES]
    other = rng.integers(1, 300, n)
    totals = [
        np.bincount(rng.permutation(code), other, size)
        for code, size in zip(codes, SIZES, strict=True)
    ]
    return weights, codes, totals


def table_of(weights, codes, decimals):
    names = "abc"[: len(codes)]
    columns = [
        Column(
            Variable(name=name, kind=Kind.CATEGORICAL, levels=tuple(map(str, range(size)))),
            code.astype(np.int32),
        )
        for name, code, size in zip(names, codes, SIZES, strict=False)
    ]
    number = Variable(name="w", kind=Kind.NUMERIC, decimals=decimals)
    return Table([*columns, Column(number, weights)])


def raking_of(totals):
    margins = tuple(Margin(variable=n, totals=t) for n, t in zip("abc", totals, strict=False))
    return Raking(variable="w", margins=margins)


def test_weights_are_those_of_slow_raking():
    weights, codes, totals = survey(1)
    table = table_of(weights, codes, None)
    raked = raking_of(totals).applied(table, ())["w"].data
    assert raked == pytest.approx(slowly_raked(weights, codes, totals, 60), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("decimals", [0, 2])
def test_rounded_weights_have_the_totals_as_they_are_written(seed, decimals):
    weights, codes, totals = survey(seed, n=600)
    table = table_of(weights, codes, decimals)
    written = raking_of(totals).applied(table, ())["w"].data
    exact = raking_of(totals).applied(table_of(weights, codes, None), ())["w"].data
    assert np.abs(written - exact).max() < 10.0**-decimals
    assert (written == np.round(written, decimals)).all()
    for code, total in zip(codes, totals, strict=True):
        assert np.bincount(code, written) == pytest.approx(total, abs=1e-6)
    # rounding each weight for itself would not keep them
    naive = np.round(exact, decimals)
    assert any(
        np.abs(np.bincount(c, naive) - t).max() > 0.9 * 10.0**-decimals
        for c, t in zip(codes, totals, strict=True)
    )


def test_rounding_keeps_whole_weights_and_totals_that_are_no_whole_numbers():
    place, cells = np.array([0, 0, 1]), np.array([[0, 1]])
    weights = np.array([1.25, 1.5, 3.0])
    rounded = rounded_cells(weights, place, cells, [np.array([2.75, 3.0])])
    assert rounded.tolist() == [1.0, 2.0, 3.0]


def test_totals_without_weights_that_have_them_are_told():
    # two persons, one cell each: both margins are about the same persons
    codes = [np.array([0, 1]), np.array([0, 1])]
    table = table_of(np.ones(2), codes, None)
    with pytest.raises(RuleError, match="contradict each other"):
        raking_of([np.array([1.0, 2, 0, 0, 0]), np.array([2.0, 1, 0])]).applied(table, ())
    with pytest.raises(RuleError, match="level '2' has a total"):
        raking_of([np.array([1.0, 1, 1, 0, 0])]).applied(table, ())
    with pytest.raises(RuleError, match="have level '1', which has no total"):
        raking_of([np.array([2.0, 0, 0, 0, 0])]).applied(table, ())


def test_cells_without_weight_stay_so():
    raked = raked_cells(np.array([0.0, 2.0]), np.array([[0, 0]]), [np.array([6.0])])
    assert raked is not None
    assert raked.tolist() == [0.0, 6.0]
