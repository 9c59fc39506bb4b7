"""Weights of a survey: samples drawn anew by a design, and raking to totals, by slow code."""

import numpy as np
import pandas as pd
import pytest

from synthesizer import Synthesizer
from synthesizer.data.errors import ConfigError, RuleError
from synthesizer.data.table import Kind, Table, Variable
from synthesizer.extensions.survey.survey_weights import (
    Margin,
    Raking,
    Redrawing,
    Replicating,
    raked_cells,
    rounded_cells,
    times_drawn,
    units_of,
)
from synthesizer.measures.survey_design import ReplicateWeights
from tests.tables import coded, numeric

STRATA = np.repeat([0, 1, 2], [40, 60, 20])
UNITS = np.concatenate([np.arange(40) // 10, np.arange(60) // 5, np.arange(20) // 10])
"""Four, twelve and two units, with the same codes in every stratum."""


def survey():
    rng = np.random.default_rng(3)
    effect = rng.normal(0, 2, (3, 12))[STRATA, UNITS]
    y = 10 + STRATA + effect + rng.normal(size=len(STRATA))
    weights = np.round(rng.gamma(4, 20, len(STRATA)) + 1)
    columns = [
        coded("stratum", STRATA, "012"),
        coded("unit", UNITS, [str(unit) for unit in range(12)]),
        numeric("y", y, decimals=None),
        numeric("w", weights, decimals=0),
    ]
    return Table(columns), y, weights


def linearised(y, weights, strata, units):
    """Return the variance of a weighted total, cluster by cluster."""
    variance = 0.0
    for h in set(strata.tolist()):
        sums = [
            sum(weights[i] * y[i] for i in range(len(y)) if strata[i] == h and units[i] == u)
            for u in sorted({units[i] for i in range(len(y)) if strata[i] == h})
        ]
        mean = sum(sums) / len(sums)
        variance += len(sums) / (len(sums) - 1) * sum((s - mean) ** 2 for s in sums)
    return variance


def test_the_variance_of_totals_over_draws_is_that_of_the_design():
    table, y, weights = survey()
    rng = np.random.default_rng(1)
    for design, (strata, units), holds in (
        (("stratum", "unit"), (STRATA, UNITS), True),
        ((None, None), (0 * STRATA, np.arange(len(y))), True),
        ((None, None), (STRATA, UNITS), False),
    ):
        stratum, unit = units_of(table, *design)
        totals = [(weights * times_drawn(stratum, rng)[unit]) @ y for _ in range(4000)]
        right = linearised(y, weights, strata, units)
        assert bool(abs(np.var(totals) / right - 1) < 0.08) is holds
        assert np.mean(totals) == pytest.approx(weights @ y, rel=0.01)


@pytest.mark.parametrize(
    ("method", "holds"),
    [
        ({"method": "brr"}, True),
        ({"method": "fay", "rho": 0.5}, True),
        ({"method": "jk1"}, True),
        ({"method": "jkn", "rscales": [0.5, 0.75] * 1000}, True),
        ({"method": "sdr"}, True),
        ({"method": "brr", "scale": 1 / 500}, False),
    ],
)
def test_replicates_made_anew_show_the_variance_of_the_design_by_the_method_of_the_original(
    method, holds
):
    """A control: replicates for one scale, analysed by another."""
    table, y, weights = survey()
    how = ReplicateWeights(columns="r*", **method)
    scales = np.array(how.scales(2000))
    made_for = scales if holds else np.full(2000, 1 / 2000)
    replicating = Replicating(
        weight="w",
        strata="stratum",
        psu="unit",
        variables=tuple(Variable(name=f"r{i}", kind=Kind.NUMERIC) for i in range(2000)),
        spreads=tuple((1 / np.sqrt(made_for * 2000)).tolist()),
    )
    replicating.check_against(table.schema)
    made = replicating.applied(table, (), np.random.default_rng(4))
    columns = np.column_stack([made[v.name].data for v in replicating.variables])
    assert made.names[-2000:] == tuple(v.name for v in replicating.variables)
    assert (columns >= 0).all()
    totals = columns.T @ y
    variance = scales @ (totals - totals.mean()) ** 2
    assert bool(abs(variance / linearised(y, weights, STRATA, UNITS) - 1) < 0.1) is holds


def test_a_unit_that_is_alone_stays_and_the_number_of_units_does():
    factors = times_drawn(np.array([0, 1, 1, 1]), np.random.default_rng(1))
    assert factors[0] == 1
    assert factors[1:].sum() == pytest.approx(3)


def test_records_stand_in_a_sample_as_their_weights_say_and_weigh_alike():
    table, y, weights = survey()
    redrawing = Redrawing(weight="w", strata="stratum", psu="unit")
    rng = np.random.default_rng(2)
    samples = [redrawing.applied(table, rng) for _ in range(600)]
    mean = np.mean([sample["y"].data.mean() for sample in samples])
    assert mean == pytest.approx(np.average(y, weights=weights), abs=0.1)
    assert abs(mean - y.mean()) > 0.1  # the weights have to do with y
    assert {len(sample["y"]) for sample in samples} == {len(y)}
    alike = {float(w) for sample in samples for w in sample["w"].data}
    assert alike == {round(weights.mean())}


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


def margins(seed, n=150):
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
    columns = [
        coded(name, code, [str(level) for level in range(size)])
        for name, code, size in zip("abc", codes, SIZES, strict=False)
    ]
    return Table([*columns, numeric("w", weights, decimals=decimals)])


def raking_of(totals):
    margins = tuple(Margin(variable=n, totals=t) for n, t in zip("abc", totals, strict=False))
    return Raking(variable="w", margins=margins)


def test_weights_are_those_of_slow_raking():
    weights, codes, totals = margins(1)
    table = table_of(weights, codes, None)
    raked = raking_of(totals).applied(table, (), None)["w"].data
    assert raked == pytest.approx(slowly_raked(weights, codes, totals, 60), rel=1e-9)


@pytest.mark.parametrize("decimals", [0, 2])
def test_rounded_weights_have_the_totals_as_they_are_written(decimals):
    weights, codes, totals = margins(1, n=600)
    table = table_of(weights, codes, decimals)
    written = raking_of(totals).applied(table, (), None)["w"].data
    exact = raking_of(totals).applied(table_of(weights, codes, None), (), None)["w"].data
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
    cell, cells = np.array([0, 0, 1]), np.array([[0, 1]])
    weights = np.array([1.25, 1.5, 3.0])
    rounded = rounded_cells(weights, cell, cells, [np.array([2.75, 3.0])])
    assert rounded.tolist() == [1.0, 2.0, 3.0]


def test_totals_that_no_weights_can_have_are_refused():
    # two persons, one cell each: both margins are about the same persons
    codes = [np.array([0, 1]), np.array([0, 1])]
    table = table_of(np.ones(2), codes, None)
    with pytest.raises(RuleError, match="contradict each other"):
        raking_of([np.array([1.0, 2, 0, 0, 0]), np.array([2.0, 1, 0])]).applied(table, (), None)
    with pytest.raises(RuleError, match="level '2' has a total"):
        raking_of([np.array([1.0, 1, 1, 0, 0])]).applied(table, (), None)
    with pytest.raises(RuleError, match="have level '1', which has no total"):
        raking_of([np.array([2.0, 0, 0, 0, 0])]).applied(table, (), None)


def test_cells_without_weight_stay_so():
    raked = raked_cells(np.array([0.0, 2.0]), np.array([[0, 0]]), [np.array([6.0])])
    assert raked is not None
    assert raked.tolist() == [0.0, 6.0]


def test_raked_weights_and_what_is_computed_from_them_have_no_conditions():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 200), "weight": rng.integers(1, 9, 200)})
    frame["double"] = 2 * frame["weight"]
    weights = {"variable": "weight", "totals": {"sex": {"f": 500, "m": 400}}}
    double = {"double": {"derived": "2 * weight"}}
    fit = Synthesizer(seed=1, random_key="none", workers=1, weights=weights, variables=double)
    fit.fit(frame)
    for name in ("weight", "double"):
        with pytest.raises(ConfigError, match=f"{name} depends on weights that are raked"):
            fit.generate(where=f"{name} > 4", rows=20)
