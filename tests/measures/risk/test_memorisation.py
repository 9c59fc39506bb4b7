"""Memory: what models know of the records of the fit beyond others of the same population."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from synthesizer.config.reading import read_chain_config
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.engine.registry import Registry
from synthesizer.measures.risk.memorisation import Memorisation, memory
from synthesizer.measures.settings import ALL_OFF
from synthesizer.plan.inputs import Input
from synthesizer.plan.plan import make_plan
from tests.tables import coded


def noise(n: int, levels: int, seed: int, names: str = "abc") -> Table:
    """Variables that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    texts = [f"{code:02d}" for code in range(levels)]
    return Table(coded(name, rng.integers(0, levels, n).tolist(), texts) for name in names)


def of_run(table: Table, **more: Any) -> Memorisation:
    """Fit and check as a run does, with a measure of halves."""
    config = read_chain_config({"m": 1, "checks": ALL_OFF | {"guesses": True}} | more)
    plan = make_plan(config, Input.of(table), Registry.load())
    source = plan.fit(Seed(1))
    checks = plan.checking(Seed(1))
    checks.add(next(source.generate(Seed(1))))
    results = checks.finish(lambda *half: plan.refit(source, Seed(1), *half))
    assert results.failed == {}
    result: Memorisation = results.risk.further["memory"]
    return result


def test_a_row_is_slow_means_and_the_largest_gap_comes_first() -> None:
    rng, floor = np.random.default_rng(2), -math.log(30)
    halves = noise(30, 2, 0), noise(20, 2, 1)
    seen, unseen = ({name: -3 * rng.exponential(size=h.n_rows) for name in "abc"} for h in halves)
    del unseen["c"]  # rules set every unseen record
    unseen["b"][:2] = -np.inf
    result = memory(*halves, lambda table: (seen if table is halves[0] else unseen).items())
    assert (result.n, result.left_out) == (30, ("c",))
    assert result.notes[0].endswith(": c.")
    for row in result.variables:
        values = [[max(v, floor) for v in half[row.variable]] for half in (seen, unseen)]
        means = [sum(v) / len(v) for v in values]
        squares = [
            sum((x - mean) ** 2 for x in v) / (len(v) - 1) / len(v)
            for v, mean in zip(values, means, strict=True)
        ]
        assert [row.fitted, row.unseen] == pytest.approx(means)
        assert row.gap == pytest.approx(means[0] - means[1])
        assert row.error == pytest.approx(sum(squares) ** 0.5)
        assert row.below == sum(v < floor for v in unseen[row.variable]) / 20 > 0
    first, second = result.variables
    assert first.gap > second.gap
    total, largest = result.figures
    assert (total.value, largest.value) == (first.gap + second.gap, first.gap)
    assert largest.meaning.endswith(first.variable)


def test_parameters_alone_have_the_gap_of_akaike() -> None:
    n, levels, gaps = 200, 5, []
    for seed in range(1000):
        fitted, unseen = (noise(n, levels, 2 * seed + side, "a") for side in (0, 1))
        learnt = np.log(np.bincount(fitted["a"].data, minlength=levels) / n)
        result = memory(fitted, unseen, lambda t, logs=learnt: [("a", logs[t["a"].data])])
        gaps.append(result.variables[0].gap)
    assert np.mean(gaps) == pytest.approx((levels - 1) / n, rel=0.15)


@pytest.mark.parametrize(
    ("levels", "cart", "low", "high"),
    [
        (2, {"min_leaf": 750}, -0.01, 0.02),
        (20, {"min_leaf": 1, "min_effective_rows": 1}, 0.3, 2 * np.log(750)),
    ],
)
def test_large_groups_memorise_no_person_and_small_ones_many(levels, cart, low, high) -> None:
    result = of_run(noise(1500, levels, 1), models={"cart": cart})
    assert result.left_out == ("a",)  # `sample` has no likelihood
    assert low < result.figures[0].value < high


def test_notes_name_what_could_not_be_compared_and_files_are_spread() -> None:
    table = Table([coded(name, np.arange(10) % 2, "xy") for name in "abc"])

    def memorisation(*names: str) -> Memorisation:
        return memory(
            table, table, lambda some: [(n, -some["a"].data - 1.0) for n in names], most=4
        )

    assert (memorisation("a", "b", "c").notes, memorisation("b").left_out) == ((), ("a", "c"))
    assert memorisation().notes[0].startswith("No variable could be compared")
    # of ten records the first, fourth, seventh and tenth are looked at: two of each level
    assert memorisation("a").variables[0].fitted == pytest.approx(-1.5)
