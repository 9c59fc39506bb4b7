"""Samples drawn anew by a design: their variance is that of the design, and all weigh alike."""

import numpy as np
import pytest

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine.survey_weights import Redrawing, Replicating, times_drawn, units_of
from synthesizer.measures.survey_design import ReplicateWeights

STRATA = np.repeat([0, 1, 2], [40, 60, 20])
UNITS = np.concatenate([np.arange(40) // 10, np.arange(60) // 5, np.arange(20) // 10])
"""Four, twelve and two units, with the same codes in every stratum."""


def survey():
    rng = np.random.default_rng(3)
    effect = rng.normal(0, 2, (3, 12))[STRATA, UNITS]
    y = 10 + STRATA + effect + rng.normal(size=len(STRATA))
    weights = np.round(rng.gamma(4, 20, len(STRATA)) + 1)
    coded = [("stratum", STRATA, 3), ("unit", UNITS, 12)]
    columns = [
        Column(
            Variable(name=name, kind=Kind.CATEGORICAL, levels=tuple(map(str, range(size)))),
            codes.astype(np.int32),
        )
        for name, codes, size in coded
    ]
    numbers = [
        Column(Variable(name=name, kind=Kind.NUMERIC, decimals=decimals), values)
        for name, values, decimals in (("y", y, None), ("w", weights, 0))
    ]
    return Table([*columns, *numbers]), y, weights


def linearised(y, weights, strata, units):
    """Return the variance of a weighted total, cluster by cluster."""
    found = 0.0
    for h in set(strata.tolist()):
        sums = [
            sum(weights[i] * y[i] for i in range(len(y)) if strata[i] == h and units[i] == u)
            for u in sorted({units[i] for i in range(len(y)) if strata[i] == h})
        ]
        mean = sum(sums) / len(sums)
        found += len(sums) / (len(sums) - 1) * sum((s - mean) ** 2 for s in sums)
    return found


def test_the_variance_of_totals_over_draws_is_that_of_the_design():
    table, y, weights = survey()
    rng = np.random.default_rng(1)
    for design, (strata, units), holds in (
        (("stratum", "unit"), (STRATA, UNITS), True),
        ((None, None), (0 * STRATA, np.arange(len(y))), True),
        ((None, None), (STRATA, UNITS), False),
    ):
        stratum, unit = units_of(table, *design)
        totals = [(weights * times_drawn(stratum, rng)[unit]) @ y for _ in range(6000)]
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
    made = replicating.applied(table, np.random.default_rng(4))
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
