"""The equivalent sample for pairs: slow code, both ends, and what follows from theory."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.table import Table
from synthesizer.measures.figure import collected
from synthesizer.measures.utility import equivalent_sample as module
from synthesizer.measures.utility.equivalent_sample import EquivalentSample, SampleScale
from tests.tables import coded, numeric, persons


def compared(original: Table, *synthetic: Table, seed: int = 0) -> EquivalentSample | None:
    return collected(SampleScale(original, original.names, seed=seed), synthetic)


def slowly(original: Table, made: Table) -> float:
    """The k-marginal score by pandas: numbers in fifths, codes and levels as they are."""
    frames = []
    cuts = {
        name: np.unique(np.quantile(column.data[column.is_observed], np.arange(6) / 5))[1:-1]
        for name, column in original.items()
        if not column.is_coded
    }
    for table in (original, made):
        frame = {}
        for name, column in table.items():
            if column.is_coded:
                frame[name] = column.data.astype(str)
            else:
                group = np.searchsorted(cuts[name], column.data, side="right").astype(str)
                state = column.missing_state()
                frame[name] = np.where(state > 0, [f"code {code}" for code in state], group)
        frames.append(pd.DataFrame(frame))
    scores = []
    for pair in combinations(frames[0], 2):
        first, second = (frame.value_counts(list(pair), normalize=True) for frame in frames)
        scores.append(1 - first.subtract(second, fill_value=0).abs().sum() / 2)
    return float(np.mean(scores))


def test_the_score_is_that_of_slow_code():
    original = persons(600)
    made = [persons(300, 1), persons(900, 2)]
    result = compared(original, *made)
    assert result.pairs == 6
    for row, table in zip(result.datasets, made, strict=True):
        assert row.score == pytest.approx(slowly(original, table))
    values = {figure.key: figure.value for figure in result.figures}
    assert values["k_marginal"] == pytest.approx(np.mean([row.score for row in result.datasets]))
    # nested samples: the score grows with the sample
    scores = [row.score for row in result.samples]
    assert scores == sorted(scores)
    assert (result.samples[-1].share, scores[-1]) == (1, 1)


def test_both_ends():
    original = persons(1000)
    assert compared(original, original).sample == 1
    other = [coded("sex", np.zeros(1000), ("f", "m")), numeric("age", np.full(1000, 200))]
    far = Table([*other, *(original[name] for name in ("marital", "income"))])
    assert compared(original, far).sample < 0.01


@pytest.mark.parametrize(
    ("made", "share"),
    [("a quarter", 0.25), ("draws from itself", 0.5), ("a new sample", 1 / 3), ("half", 0.25)],
)
def test_shares_are_those_of_theory(made, share):
    shares = []
    for seed in range(12):
        rng, original = np.random.default_rng(seed), persons(1500, 2 * seed)
        table = {
            "a quarter": original.take(rng.permutation(1500)[:375]),
            "draws from itself": original.take(rng.integers(0, 1500, 1500)),
            "a new sample": persons(1500, 2 * seed + 1),
            "half": persons(750, 2 * seed + 1),
        }[made]
        shares.append(compared(original, table, seed=seed).sample)
    assert np.mean(shares) == pytest.approx(share, abs=0.07)


def test_one_variable_one_row_one_level_many_pairs(monkeypatch):
    original = persons(100)
    assert compared(original.select(["sex"]), original) is None
    assert compared(original.take([0]), original).samples[-1].share == 1
    level = Table([coded(name, np.zeros(50), ("f",)) for name in "ab"])
    assert compared(level, level).sample == 1
    monkeypatch.setattr(module, "MOST_PAIRS", 4)
    assert compared(original, original).pairs == 4
