import json

import numpy as np
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.table import Table
from synthesizer.measures.figure import plain
from synthesizer.measures.risk import differential_confidentiality, gather
from synthesizer.measures.risk.differential import MIN_UNITS, Grouping, compare_halves
from synthesizer.measures.risk.halves import control_run, half_runs
from synthesizer.measures.risk.scenario import Scenario
from tests.tables import coded, numeric


def table(n=1200, seed=1):
    """Keys that are mostly unique, a secret, a region that the leak depends on, many ages."""
    rng = np.random.default_rng(seed)
    region = np.where(rng.random(n) < 0.01, 2, rng.integers(0, 2, n))
    return Table(
        [
            coded("key", rng.integers(0, 900, n), [str(k) for k in range(900)]),
            coded("secret", rng.integers(0, 4, n), "abcd"),
            coded("region", region, ("north", "south", "tiny"), missing=("",)),
            numeric("age", rng.integers(0, 90, n)),
        ]
    )


def leak_south(half, m, repeat):
    """Release the southern records as they are, and noise for the others."""
    noise = table(half.n_rows, seed=50 + repeat)
    rows = half["region"].data == 1
    return [Table.concatenate([half.take(rows), noise.take(~rows)])] * m


def run(synthesise, **more):
    settings = {"keys": ["key"], "target": "secret", "rng": np.random.default_rng(7)} | more
    return differential_confidentiality(table(), synthesise, **settings)


def test_the_group_that_leaks_is_found():
    result = run(leak_south, by="region")
    assert {row.group for row in result.groups} == {"north", "south"}
    worst = result.worst_group
    assert worst.group == "south"
    assert worst.low > 0.3
    north = next(row for row in result.groups if row.group == "north")
    assert north.low < 0 < north.high
    names = [figure.name for figure in result.figures]
    assert "worst group" in names
    assert json.dumps(plain(result), allow_nan=False)


def test_small_groups_are_left_out_and_averages_cover_all_splits():
    result = run(leak_south, by="region", repeats=3)
    assert all(min(row.n_a, row.n_b) >= MIN_UNITS for row in result.groups)
    assert result.worst_group.repeat is None
    rows = [row.difference for row in result.groups if row.group == "south"]
    assert len(rows) == 3
    assert result.worst_group.difference == pytest.approx(np.mean(rows))


def test_means_of_groups_are_those_of_their_records():
    """Slow and obvious: filter the records of a group, average their scores."""
    runs = list(half_runs(table(), leak_south, rng=np.random.default_rng(7)))
    scenario = Scenario(keys=("key",), target="secret")
    part = compare_halves(runs[0], scenario, Grouping.of(table(), "region"))
    south = next(row for row in part.groups if row.group == "south")
    made = runs[0].synthetic[0]
    pool = list(zip(made["key"].data.tolist(), made["secret"].data.tolist(), strict=True))

    def slow(half):
        scores = []
        for key, secret, region in zip(
            half["key"].data.tolist(), half["secret"].data.tolist(), half["region"].data.tolist(),
            strict=True,
        ):  # fmt: skip
            if region == 1:
                same = [s for k, s in pool if k == key]
                scores.append(sum(s == secret for s in same) / len(same) if same else 0.0)
        return np.mean(scores), len(scores)

    assert (south.mean_a, south.n_a) == pytest.approx(slow(runs[0].fitted))
    assert (south.mean_b, south.n_b) == pytest.approx(slow(runs[0].unseen))


def test_numbers_are_grouped_by_fifths_without_their_values():
    grouping = Grouping.of(table(), "age")
    assert grouping.labels == tuple(f"fifth {k} of 5" for k in range(1, 6))
    assert set(grouping.codes(table()).tolist()) == set(range(5))
    few = Table([numeric("x", [1, -2, 0, 0], [0, 0, 1, 0], missing=("N",))])
    assert Grouping.of(few, "x").labels == ("-2", "0", "1", "N")
    assert Grouping.of(few, "x").codes(few).tolist() == [2, 0, 3, 1]


def test_several_scenarios_share_the_splits():
    calls = []

    def synthesise(half, m, repeat):
        calls.append(repeat)
        return [half] * m

    scenarios = [
        Scenario(keys=("key",), target="secret"),
        Scenario(keys=("region", "age"), target="secret", groups={"age": (30.0, 60.0)}),
    ]
    runs = list(half_runs(table(), synthesise, repeats=2, rng=np.random.default_rng(7)))
    results = [gather(s, (compare_halves(run, s) for run in runs)) for s in scenarios]
    assert calls == [0, 1]
    assert results[0] == run(lambda half, m, repeat: [half] * m, repeats=2)
    assert results[1].keys == ("region", "age")
    # the half itself was released: nothing could be told beyond that
    assert results[0].summary[0].difference == pytest.approx(results[0].released)


def test_a_control_file_takes_the_place_of_the_unseen_half():
    fitted, control = table(300, 1), table(200, 2)
    run = control_run(fitted, control, (fitted,))
    result = gather(
        Scenario(keys=("key",), target="secret"),
        [compare_halves(run, Scenario(keys=("key",), target="secret"))],
    )
    zero = result.comparisons[0]
    assert (zero.n_a, zero.n_b) == (300, 200)
    assert zero.low > 0
    assert result.figures[0].original == pytest.approx(zero.difference)


def test_unknown_group_is_told():
    with pytest.raises(DataError, match="'regions' is not in the data"):
        run(leak_south, by="regions")
