"""Baselines of the figures: what the analyses find where nothing is disclosed."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from synthesizer.data.table import Table
from synthesizer.measures.risk.inference import inference
from synthesizer.measures.risk.tcap import agreement
from tests.tables import coded, numeric

ROUNDS = 40
SETTINGS = {"sensitive": "secret", "public": ["agency", "grade"]}
MARGINS = {2: [0.65, 0.35], 5: [0.4, 0.25, 0.15, 0.12, 0.08]}
GUESSES = ("unique cells shown right", "revealed share", "AUC", "guessed right")
THRESHOLDS = tuple(f"probability at least {t}" for t in ("0.5", "0.8", "0.9", "1"))


def people(rng, n, levels, bound):
    """Cells of very different sizes; ``bound`` of the records have the level of their cell."""
    agency, grade = (30 * rng.random(n) ** 2).astype(int), rng.geometric(0.2, n)
    place = (agency * 7 + grade * 11) % 10 / 10 + 0.05
    ends = np.cumsum(MARGINS[levels])[:-1]
    secret = np.searchsorted(ends, np.where(rng.random(n) < bound, place, rng.random(n)))
    return table_of(agency, grade, secret, levels)


def table_of(agency, grade, secret, levels):
    columns = [coded("agency", agency, [f"a{code}" for code in range(30)])]
    return Table([*columns, numeric("grade", grade), coded("secret", secret, "pqrst"[:levels])])


def permuted(rng, table):
    column = table["secret"]
    return table.with_column(coded("secret", rng.permutation(column.data), column.variable.levels))


def assert_at_the_baseline(results, names):
    """The mean distance of value and baseline is within four standard errors of none."""
    figures = [{figure.name: figure for figure in result.figures} for result in results]
    for name in names:
        distance = [each[name].value - each[name].baseline for each in figures]
        error = np.std(distance, ddof=1) / np.sqrt(len(distance))
        assert 0 < error < 0.01, name
        assert abs(np.mean(distance)) < 4 * error, name


@pytest.mark.parametrize("levels", [2, 5])
@pytest.mark.parametrize("m", [1, 3])
def test_unrelated_columns_come_to_the_baseline(levels, m):
    """Real keys, and sensitive variables that have nothing to do with anything."""
    rng = np.random.default_rng([1, levels, m])
    table, *made = (people(rng, 1500, levels, 0.8) for _ in range(1 + m))
    results = [
        inference(permuted(rng, table), [permuted(rng, each) for each in made], **SETTINGS)
        for _ in range(ROUNDS)
    ]
    assert {f.name for f in results[0].figures if f.baseline is not None} == {*GUESSES, *THRESHOLDS}
    assert_at_the_baseline(results, GUESSES + THRESHOLDS)
    # Many cells are absent; with them the area is 0.5 too.
    assert results[0].thresholds.absent > 10
    areas = [curve.auc_all for result in results for curve in result.roc[:1]]
    assert abs(np.mean(areas) - 0.5) < 4 * np.std(areas, ddof=1) / np.sqrt(ROUNDS)


@pytest.mark.parametrize("levels", [2, 5])
@pytest.mark.parametrize("m", [1, 3])
def test_guesses_about_other_people_come_to_the_baseline(levels, m):
    """The synthetic levels follow the keys, the true ones do not."""
    rng = np.random.default_rng([2, levels, m])
    table, *made = (people(rng, 1500, levels, 0.8) for _ in range(1 + m))
    results = [inference(permuted(rng, table), made, **SETTINGS) for _ in range(ROUNDS)]
    assert_at_the_baseline(results, GUESSES + THRESHOLDS)


@pytest.mark.parametrize("levels", [2, 5])
@pytest.mark.parametrize("m", [1, 3])
def test_shares_in_permuted_data_come_to_the_baseline(levels, m):
    """The true levels follow the keys, the synthetic ones do not."""
    rng = np.random.default_rng([3, levels, m])
    table, *made = (people(rng, 1500, levels, 0.8) for _ in range(1 + m))
    results = [
        inference(table, [permuted(rng, each) for each in made], **SETTINGS) for _ in range(ROUNDS)
    ]
    for rows in zip(*(result.thresholds.rows for result in results), strict=True):
        distance = [row.share - row.chance_share for row in rows]
        assert abs(np.mean(distance)) < 4 * np.std(distance, ddof=1) / np.sqrt(ROUNDS)


@pytest.mark.parametrize("levels", [2, 5])
def test_records_that_keep_their_level_are_above_the_baseline(levels):
    rng = np.random.default_rng([4, levels])
    table = people(rng, 1500, levels, 0.0)
    truth = table["secret"].data
    kept = np.where(rng.random(1500) < 0.3, truth, rng.permutation(truth))
    made = table.with_column(coded("secret", kept, table["secret"].variable.levels))
    figures = {figure.name: figure for figure in inference(table, made, **SETTINGS).figures}
    for name in (*GUESSES, *THRESHOLDS[1:]):
        figure = figures[name]
        assert figure.baseline + 0.02 < figure.value <= figure.original, name


ROWS = st.tuples(st.sampled_from([1, 2]), st.sampled_from("pqr"))


@st.composite
def small(draw):
    """Two levels at least in an original with few records; one or two synthetic datasets."""
    rest = draw(st.lists(ROWS, max_size=3))
    original = [*draw(st.permutations([(1, "p"), (draw(ROWS)[0], "q")])), *rest]
    made = draw(st.lists(st.lists(ROWS, min_size=1, max_size=3), min_size=1, max_size=2))
    return original, made


def run(case, thresholds=(0.3, 0.5, 2 / 3, 0.7, 1.0)):
    original, made = case
    tables = [
        Table(
            [
                numeric("cell", [q for q, _ in rows]),
                coded("sex", ["pqr".index(s) for _, s in rows], "pqr"),
            ]
        )
        for rows in (original, *made)
    ]
    return inference(tables[0], tables[1:], sensitive="sex", public=["cell"], thresholds=thresholds)


def shares(rows):
    return {s: Fraction(count, len(rows)) for s, count in Counter(s for _, s in rows).items()}


def worlds(rows):
    """All levels that the records might have had, each with its probability."""
    probability = shares(rows)
    for drawn in product(probability, repeat=len(rows)):
        yield (
            [(q, s) for (q, _), s in zip(rows, drawn, strict=True)],
            np.prod([probability[s] for s in drawn]),
        )


def guesses(original, synthetic):
    """Return the guess for each synthetic cell; ties go to the more frequent original level."""
    truth = Counter(s for _, s in original)
    occurring = sorted({s for _, s in original + synthetic})
    order = sorted(occurring, key=lambda s: (-truth[s], occurring.index(s)))
    return {
        q: max(order, key=lambda s: (synthetic.count((q, s)), -order.index(s)))
        for q, _ in synthetic
    }


@given(small())
def test_revealed_by_chance_is_the_mean_over_all_true_levels(case):
    original, made = case
    synthetic, m = [row for rows in made for row in rows], len(made)
    visible = Counter(q for q, _ in synthetic)
    guess = guesses(original, synthetic)
    expected = sum(
        weight
        * sum(min(Fraction(visible[q], m), world.count((q, s))) for q, s in guess.items())
        * Fraction(m, len(synthetic))
        for world, weight in worlds(original)
    )
    assert run(case).classification.chance == pytest.approx(float(expected), abs=1e-12)


@given(small())
def test_shares_by_chance_are_the_mean_over_all_synthetic_levels(case):
    original, made = case
    synthetic = [row for rows in made for row in rows]
    visible = Counter(q for q, _ in synthetic)
    for row in run(case).thresholds.rows:
        expected = sum(
            weight
            * sum(
                visible[q] > 0 and world.count((q, s)) / visible[q] >= row.threshold
                for q, s in original
            )
            for world, weight in worlds(synthetic)
        )
        assert row.chance_share == pytest.approx(float(expected) / len(original), abs=1e-12)


@given(small())
def test_kept_shares_by_chance_are_the_mean_over_all_true_levels(case):
    original, made = case
    synthetic = [row for rows in made for row in rows]
    visible = Counter(q for q, _ in synthetic)
    for row in run(case).thresholds.rows:
        expected = sum(
            weight
            * sum(
                visible[q] > 0 and synthetic.count((q, s)) / visible[q] >= row.threshold
                for q, s in world
            )
            for world, weight in worlds(original)
        )
        assert row.kept_chance_share == pytest.approx(float(expected) / len(original), abs=1e-12)


@given(small())
def test_right_by_chance_is_the_mean_over_all_pairs_of_records(case):
    original, made = case
    guess = guesses(original, [row for rows in made for row in rows])
    present = [(q, s) for q, s in original if q in guess]
    found = run(case).thresholds.chance_right_of_present
    if not present:
        assert found is None
        return
    right = [guess[q] == s for q, _ in present for _, s in present]
    assert found == pytest.approx(sum(right) / len(right), abs=1e-12)


@pytest.mark.parametrize("made", [1, 299, 700, 900, 2999, 3000, 5000])
def test_large_cells_are_exact_too(made):
    n, m, p = 1000, 3, 0.3
    original = table_of([0] * n, [1] * n, [1] * 300 + [0] * 700, 2)
    datasets = [
        table_of([0] * size, [1] * size, [1] * size, 2)
        for size in np.diff(np.linspace(0, made, m + 1).astype(int))
        if size
    ]
    found = inference(original, datasets, **SETTINGS).classification.chance
    m = len(datasets)
    k = np.arange(n + 1)
    assert found == pytest.approx(
        np.minimum(made, m * k) @ stats.binom.pmf(k, n, p) / made, abs=1e-12
    )


@pytest.mark.parametrize("threshold", [0.1, 0.28, 0.3, 0.55, 0.56, 0.57, 0.7, 1.0])
def test_thresholds_are_reached_as_the_shares_reach_them(threshold):
    """0.28 * 25 is above 7 and 0.7 * 10 is 7, as computers have it, but 7 / 25 >= 0.28."""
    sizes = range(1, 60)
    rows = [(n, k % 2) for n in sizes for k in range(n)]
    made = table_of([0] * len(rows), *zip(*rows, strict=True), 2)
    original = table_of([0] * 59, sizes, [n % 2 for n in sizes], 2)
    (row,) = inference(original, made, **SETTINGS, thresholds=[threshold]).thresholds.rows
    share = np.bincount(made["secret"].data) / len(rows)
    expected = sum(
        stats.binom.pmf(k, n, share[n % 2])
        for n in sizes
        for k in range(n + 1)
        if k / n >= threshold
    )
    assert row.chance_share == pytest.approx(expected / 59, abs=1e-12)


def test_agreement_of_nobody():
    assert agreement(np.zeros(3, dtype=np.int64), np.ones(3, dtype=np.int64)) is None
    assert agreement(np.array([0, 3]), np.array([2, 1])) == pytest.approx(1 / 3)
