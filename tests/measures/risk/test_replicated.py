from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from synthesizer.measures.figure import collected
from synthesizer.measures.risk.replicated import (
    CareerReplicates,
    replicated_rows,
    replicated_uniques,
)
from tests.measures.risk.slow_rows import rows, tables_to_compare
from tests.reference_data import expected_values, load_reference, needs_reference


def replicated_careers(original, *datasets):
    return collected(CareerReplicates(original), datasets)


@settings(max_examples=25, deadline=None)
@given(tables_to_compare())
def test_equals_slow_counting(data):
    original, (made, *_) = data
    names = ["a", "b"]
    real, synthetic = Counter(rows(original, names)), Counter(rows(made, names))
    result = replicated_uniques(original, [made, original], exclude=["t", "u"])
    counts = result.datasets[0]
    assert result.keys == ("a", "b")
    assert result.uniques == sum(count == 1 for count in real.values())
    assert counts.uniques == sum(count == 1 for count in synthetic.values())
    present = [synthetic[row] == 1 and row in real for row in rows(made, names)]
    unique = [synthetic[row] == 1 and real[row] == 1 for row in rows(made, names)]
    flags = replicated_rows(original, made, exclude=["t", "u"])[0]
    assert flags.present.tolist() == present
    assert flags.replicated.tolist() == unique
    assert (counts.present, counts.replicated) == (sum(present), sum(unique))
    released = result.datasets[1]
    assert released.uniques == released.present == released.replicated == result.uniques
    first = result.figures[0]
    shares = [one.replicated / one.n for one in result.datasets]
    assert first.value == pytest.approx(np.mean(shares))
    assert (first.original, first.n) == (shares[1], counts.n + released.n)


@needs_reference
@pytest.mark.parametrize("method", ["cart", "parametric"])
def test_equals_the_reference(method):
    original, made = load_reference("original.csv"), load_reference(f"synthetic_{method}.csv")
    expected = expected_values()[method]["repuniq"]
    result = replicated_uniques(original, [made, made])
    rows_of = replicated_rows(original, [made, made])
    for counts, chosen in zip(result.datasets, rows_of, strict=True):
        present, unique = chosen.present, chosen.replicated
        if method == "parametric":
            # R compares rows as printed: incomes up to 6 digits never equal those padded to 7.
            comparable = ~made["PINCP"].is_observed
            assert (counts.present, counts.replicated) == (66, 40)
            present, unique = present & comparable, unique & comparable
        sizes = [result.uniques, counts.uniques, int(present.sum()), int(unique.sum())]
        assert sizes == [count for count, _, _ in expected]
        shares = [100 * count / 7634 for count in sizes]
        assert shares == pytest.approx([share for _, _, share in expected], abs=0.005)


def careers(n: int, seed: int, periods: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 3, (n, periods))


def test_shares_are_those_counted_one_by_one() -> None:
    original, datasets = careers(60, 0), [careers(50, 1), careers(70, 2)]
    result = replicated_careers(original, *datasets)
    have = Counter(map(tuple, original.tolist()))
    single = {career for career, count in have.items() if count == 1}
    shares = []
    for drawn in datasets:
        rows = list(map(tuple, drawn.tolist()))
        shares.append(
            (
                np.mean([row in single for row in rows]),
                np.mean([row in have for row in rows]),
                np.mean([career in rows for career in single]),
            )
        )
    names = ("careers of one person", "careers in the data", "unique careers replicated")
    for name, expected in zip(names, np.mean(shares, axis=0), strict=True):
        (figure,) = (figure for figure in result.figures if figure.name == name)
        assert figure.value == pytest.approx(expected)
    assert (result.n, result.n_periods, result.uniques) == (60, 4, len(single))


def test_chance_leaves_out_one_person_after_the_other() -> None:
    original = careers(60, 0)
    rows = list(map(tuple, original.tolist()))
    shared, twins = [], []
    for position, row in enumerate(rows):
        others = Counter(rows[:position] + rows[position + 1 :])
        shared.append(others[row] > 0)
        twins.append(others[row] == 1)
    result = replicated_careers(original, careers(5, 1))
    assert result.shared == pytest.approx(np.mean(shared))
    assert result.twins == pytest.approx(np.mean(twins))
    one, anywhere, back = result.figures
    assert (one.chance, one.original) == (result.twins, result.uniques / 60)
    assert (anywhere.chance, anywhere.original) == (result.shared, 1.0)
    assert back.chance is None


def test_fresh_persons_come_to_chance() -> None:
    result = replicated_careers(careers(400, 0, 6), *(careers(400, s, 6) for s in range(1, 9)))
    for figure in result.figures[:2]:
        assert figure.value == pytest.approx(figure.chance, abs=0.04)
