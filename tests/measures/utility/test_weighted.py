"""Weighted shares, means and totals against pandas, and what is expected against bootstraps."""

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.table import Table
from synthesizer.jobs.check_frames import evaluate
from synthesizer.measures.settings import ALL_OFF
from synthesizer.measures.utility.weighted import WeightedCounter
from tests.tables import coded, numeric


def survey(seed, n=300):
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 3, n)
    gone = rng.random(n) < 0.1
    return Table(
        [
            coded("town", town, "abc"),
            coded("sex", rng.integers(0, 2, n), "fm"),
            numeric("pay", rng.gamma(2, 50, n) + 20 * town, gone, missing=("-8",)),
            numeric("w", np.round(rng.gamma(3, 10, n) * (1 + town)) * (rng.random(n) > 0.05)),
        ]
    )


def compared(original, *made, **options):
    counter = WeightedCounter(original, original.names, "w", **options)
    for table in made:
        counter.add(table)
    return counter.result()


def shares(frame, names, weighted):
    weights = frame["w"] if weighted else pd.Series(1.0, frame.index)
    return weights.groupby([frame[name] for name in names]).sum() / weights.sum()


def test_shares_means_and_totals_are_those_of_pandas():
    original, made = survey(1), survey(2, 200)
    ours, theirs = (
        pd.DataFrame({name: t[name].data for name in t.names}) for t in (original, made)
    )
    found = compared(original, made)
    variables = {row.variable: row for row in found.variables}
    for name in ("town", "sex"):
        for weighted, value in (
            (False, variables[name].unweighted),
            (True, variables[name].weighted),
        ):
            apart = shares(ours, [name], weighted) - shares(theirs, [name], weighted)
            assert value == pytest.approx(apart.abs().sum() / 2)
    own = compared(*(t.select(["town", "sex", "w"]) for t in (original, made)))
    apart = shares(ours, ["town", "sex"], True) - shares(theirs, ["town", "sex"], True)
    assert own.tables[1].weighted == pytest.approx(apart.abs().sum() / 2)
    one, other = (frame.dropna() for frame in (ours, theirs))
    means = [np.average(frame["pay"], weights=frame["w"]) for frame in (one, other)]
    pay = variables["pay"]
    assert (pay.original_mean, pay.synthetic_mean) == pytest.approx(means)
    w, x, n = one["w"], one["pay"] - means[0], len(one)
    error = np.sqrt(n / (n - 1) * (w**2 * x**2).sum()) / w.sum()
    assert pay.weighted_error == pytest.approx(abs(means[1] - means[0]) / error)
    totals = [(frame["pay"] * frame["w"]).sum() for frame in (one, other)]
    assert pay.total_ratio == pytest.approx(totals[1] / totals[0])
    assert found.figures[-1].value == pytest.approx(theirs["w"].sum() / ours["w"].sum())
    assert variables["sex"].original_mean is None


def test_what_is_expected_is_what_bootstraps_give():
    original = survey(1)
    rng = np.random.default_rng(5)
    made = [original.take(rng.integers(0, 300, 150)) for _ in range(150)]
    found = compared(original, *made)
    for row in found.tables:
        assert row.weighted == pytest.approx(row.weighted_right, rel=0.06)
        assert row.unweighted == pytest.approx(row.unweighted_right, rel=0.06)
        assert row.weighted_right > row.unweighted_right
    means = next(figure for figure in found.figures if figure.key == "weighted_means")
    assert means.value == pytest.approx(means.chance, rel=0.15)
    proper = compared(original, original, proper=True)
    assert proper.figures[1].chance == pytest.approx(np.sqrt(2 / np.pi * 2))


def test_weights_that_are_wrong_show_with_weights_only():
    original = survey(1)
    shuffled = numeric("w", np.random.default_rng(1).permutation(original["w"].data))
    equal, wrong = compared(original, original), compared(original, original.with_column(shuffled))
    assert [(row.unweighted, row.weighted) for row in equal.tables] == [(0, 0), (0, 0)]
    for row in wrong.tables:
        assert row.unweighted == 0
        assert row.weighted > 1.5 * row.weighted_right


@pytest.mark.parametrize("weights", [np.ones(300), np.arange(300) % 2 + 1.0])
def test_constant_weights_change_nothing_and_two_values_do(weights):
    original, made = (survey(seed).with_column(numeric("w", weights)) for seed in (1, 2))
    row = compared(original, made).tables[1]
    assert (row.weighted == pytest.approx(row.unweighted)) == (weights.max() == 1)
    alone = original.take([0])
    assert compared(alone, alone).tables[1].weighted_right == pytest.approx(0)


def test_files_are_weighted_where_a_weight_is_named():
    frames = [survey(seed).select(["town", "sex", "w"]) for seed in (1, 2)]
    on = ALL_OFF | {"weighted_estimates": True}
    assert "weighted_estimates" in evaluate(*frames, settings=on | {"weight": "w"}).further
    both = evaluate(*frames, settings=ALL_OFF | {"weight": "w", "fits": ["sex ~ town"]} | {
        "fits": [{"formula": "sex ~ town", "family": "logit"}]
    })  # fmt: skip
    assert [fit.weights for fit in both.fits] == [None, "w"]
