from importlib import import_module
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.table import Table
from synthesizer.measures.risk.attacks import (
    Attack,
    SortedRecords,
    _neighbours,
    attacks,
    guesses,
    rare_combinations,
    rare_values,
)
from synthesizer.measures.risk.nearest import mixed_records, stacked
from tests.tables import coded, numeric, values_of

# The package may offer the function under the module's name.
module = import_module("synthesizer.measures.risk.attacks")

RARE, COMBINED = "singling out by rare values", "singling out by combinations"
LETTERS = [f"{a}{b}" for a in "abcdefgh" for b in "abcde"]
KEYS = ["age", "town", "pay"]


def rng(seed=1):
    return np.random.default_rng(seed)


def people(n=250, seed=1):
    """Return persons, nearly all different, with a `secret` independent of all else."""
    draw = rng(seed)
    states = np.where(draw.random(n) < 0.2, draw.integers(1, 3, n), 0)
    return Table(
        [
            numeric("age", draw.integers(-10, 80, n)),
            coded("town", draw.integers(0, 40, n), LETTERS),
            numeric("pay", np.round(draw.normal(0, 1e5, n)), states, ("", "-8")),
            coded("street", draw.integers(0, 40, n), LETTERS),
            coded("secret", draw.integers(0, 4, n), "wxyz"),
        ]
    )


FITTED, UNSEEN = people(seed=1), people(seed=2)


def attack(*parts, seed=1, **options):
    options = {"keys": KEYS, "target": "secret", "n_attacks": 200, "max_attempts": 3000} | options
    return attacks(*parts, seed=seed, **options)


def test_the_fitted_half_as_its_own_copy_is_laid_open():
    result = attack(FITTED, UNSEEN, FITTED, linked=(["age", "pay"], ["town", "street"]))
    assert result[RARE].successes == result[RARE].n > 100
    assert result[COMBINED].successes == result[COMBINED].n == 200
    assert result["inference"].successes == 200
    for each in result.attacks:
        assert each.low > 0, each
        assert each.control_rate < 0.5, each
        assert each.is_weak is False


def test_a_fresh_sample_gives_nothing_away():
    result = attack(FITTED, UNSEEN, people(seed=3))
    assert len(result.attacks) == 4
    for each in result.attacks:
        assert each.low <= 0 <= each.high, each
    assert result["inference"].rate == pytest.approx(0.25, abs=0.1)


def test_rare_values_counted_by_hand():
    """Conditions: town is ab, town is ad; age at most 1, at least 9, is 1, is 9."""

    def part(towns, ages):
        columns = [coded("town", towns, LETTERS), numeric("age", ages)]
        return Table([*columns, coded("secret", [0, 1, 0, 1], "xy")])

    fitted = part([1, 1, 3, 0], [0, 1, 9, 10])  # met once: ad, is 1, is 9
    unseen = part([1, 3, 4, 4], [1, 2, 3, 4])  # met once: ab, ad, at most 1, is 1
    made = part([1, 2, 2, 3], [1, 5, 5, 9])
    result = attack(
        fitted, unseen, made, keys=["town"], target="secret", names=["town", "age"], n_attacks=99
    )
    rare = result[RARE]
    assert (rare.asked, rare.n) == (99, 6)
    assert (rare.successes, rare.control_successes) == (3, 4)
    assert rare.rate == 0.5
    assert rare.risk == pytest.approx((3 / 6 - 4 / 6) / (1 - 4 / 6))


def test_rare_success_is_no_failure():
    """Synthetic data that have nothing in common with the real ones: no attack can succeed."""
    far = [f"far {i}" for i in range(40)]
    numbers = [numeric(name, 1e9 + people(seed=4)[name].data) for name in ("age", "pay")]
    addresses = [coded(name, np.arange(250) % 40, far) for name in ("town", "street")]
    made = Table([*numbers, *addresses, coded("secret", [0] * 250, ["other"])])
    result = attack(FITTED, UNSEEN, made)
    assert result["inference"].baseline == 0
    for each in (result[RARE], result["inference"]):
        assert each.n > 0
        assert each.successes == each.control_successes == each.risk == 0
        assert each.low < 0 < each.high < 0.05
    assert result["inference"].is_weak is False


@pytest.mark.parametrize(("groups", "baseline"), [({}, 0.1), ({"secret": [-2700.0]}, 0.5)])
def test_a_sensitive_number_is_guessed_by_its_group_whatever_its_sign(groups, baseline):
    """In tenths where no groups are asked for; about half of the numbers are below the cut."""

    def part(seed):
        draw = rng(seed)
        amounts = -draw.gamma(2, 1000, 200) - 1000
        return Table([numeric("age", draw.integers(0, 90, 200)), numeric("secret", amounts)])

    inference = attack(part(1), part(2), part(3), keys=["age"], groups=groups)["inference"]
    assert inference.baseline == pytest.approx(baseline, abs=0.01)
    assert inference.rate == pytest.approx(baseline, abs=0.1)


def test_equally_near_records_link_no_person():
    """By order of the file, both sources would lead to the first record, every time."""
    same = Table(
        [coded("a", [0] * 100, "x"), coded("b", [0] * 100, "x"), coded("c", [0, 1] * 50, "xy")]
    )
    link = attack(same, same, same, keys=["a", "b"], target="c")["linkability"]
    assert link.baseline == pytest.approx(0.01)
    assert link.rate < 0.1


def test_guessing_and_linking_have_their_exact_chances():
    """Three quarters of the synthetic secrets are x, two thirds of the true ones."""
    codes = np.array([0, 0, 1] * 40)
    fitted = Table([coded("a", codes, "xy"), coded("secret", codes, "xy")])
    made = Table([coded("a", [0] * 100, "xy"), coded("secret", [0] * 75 + [1] * 25, "xy")])
    chance = attack(fitted, fitted, made, keys=["a"])["inference"].baseline
    assert chance == pytest.approx(0.75 * 2 / 3 + 0.25 / 3)
    link = attack(FITTED, UNSEEN, FITTED, n_neighbours=2)["linkability"]
    assert link.baseline == pytest.approx(1 - (248 * 247) / (250 * 249))


# Computed once with anonymeter 1.1.0 (polars 2.1.0, numpy 1.26.4): tables as frames of texts and
# numbers, missing numbers as null; for every seed from 0 to 199 the function named below got
# `numpy.random.default_rng(seed)`, and its conditions were counted on FITTED and UNSEEN; listed are
# mean and standard deviation of the conditions, and of those that one record of each half meets.
SYNTHETIC = {
    "copy": [FITTED],
    "half a copy": [FITTED.take(slice(0, 125)), people(125, 3)],
    "fresh": [people(seed=3)],
}
# univariate_singling_out_queries(frame, 10**6), the same for every seed.
ANONYMETER_RARE = {"copy": (222, 222, 4), "half a copy": (222, 104, 5), "fresh": (227, 5, 2)}
# multivariate_singling_out_queries(frame, 10**6, n_cols, 2000).
ANONYMETER_COMBINED = {
    ("copy", 2): ((385.06, 385.06, 95.34), (12.58, 12.58, 6.29)),
    ("copy", 3): ((1055.96, 1055.96, 141.76), (16.42, 16.42, 7.63)),
    ("half a copy", 2): ((381.06, 187.52, 95.48), (11.96, 9.21, 6.48)),
    ("half a copy", 3): ((1040.62, 528.74, 159.86), (15.39, 14.23, 8.1)),
    ("fresh", 2): ((373.18, 88.07, 87.38), (12.86, 6.12, 6.62)),
    ("fresh", 3): ((1038.9, 150.28, 136.38), (14.97, 7.51, 7.82)),
}
# multivariate_singling_out_queries(frame, 100, 3, 5000), which finds 100: successes alone.
ANONYMETER_FIRST = {
    "copy": ((100, 13.67), (0, 3.24)),
    "half a copy": ((50.56, 15.82), (4.54, 3.69)),
    "fresh": ((14.62, 12.67), (3.52, 3.51)),
}
# _random_queries(frame, 200, 3): successes on FITTED.
ANONYMETER_GUESSED = {
    "copy": (25.74, 4.678),
    "half a copy": (22.77, 4.641),
    "fresh": (20.43, 4.372),
}
SEEDS = 8


def coded_together(name):
    fitted, unseen, *made = mixed_records(
        [FITTED, UNSEEN, *SYNTHETIC[name]], FITTED.names, real=2 + len(SYNTHETIC[name])
    )
    return [SortedRecords(part) for part in (stacked(made), fitted, unseen)]


def assert_agree(counts, means, spreads):
    """Means differ by no more than four standard errors of both, of 200 seeds and of ours."""
    counts, spreads = np.asarray(counts, dtype=float), np.asarray(spreads)
    errors = np.sqrt(spreads**2 / 200 + counts.var(axis=0, ddof=1) / len(counts))
    assert (np.abs(counts.mean(axis=0) - means) <= 4 * errors).all(), (counts.mean(axis=0), means)
    assert (counts.std(axis=0, ddof=1) <= 2 * spreads).all()


@pytest.mark.parametrize("name", SYNTHETIC)
def test_rare_values_single_out_those_of_anonymeter(name):
    made, fitted, unseen = coded_together(name)
    conditions = rare_values(made, 10**6, rng())
    successes = [int(half.met_by_one(conditions).sum()) for half in (fitted, unseen)]
    assert (len(conditions), *successes) == ANONYMETER_RARE[name]


# Conditions =, <=, >= and missing of univariate_singling_out_queries, by seed of the numbers.
ANONYMETER_KINDS = ((80, 0, 2, 0), (79, 1, 1, 1), (75, 1, 2, 0), (69, 2, 2, 1), (78, 1, 2, 0))


@pytest.mark.parametrize(("seed", "expected"), [*enumerate(ANONYMETER_KINDS)])
def test_rare_values_are_those_of_anonymeter(seed, expected):
    states = (np.arange(60) == 7) * (seed % 2)
    pay = numeric("pay", rng(seed).integers(-30, 30, 60), states, ("",))
    table = people(60, seed).with_column(pay)
    records = SortedRecords(mixed_records([table], table.names, real=1)[0])
    conditions = rare_values(records, 10**6, rng())
    numbers = records.is_number[conditions.variables]
    low, high, missing = conditions.low, conditions.high, records.missing
    kinds = (
        (low == high) & (~numbers | (low < missing)),
        numbers & (low == 0) & (high > 0),
        numbers & (low < high) & (high == missing - 1),
        numbers & (low == missing),
    )
    assert tuple(kind.sum() for kind in kinds) == expected
    assert sum(expected) == len(conditions)
    assert records.met_by_one(conditions).all()
    assert len(rare_values(records, 9, rng())) == 9


def slow_mask(values, reference):
    """Return which values meet the condition that one of them makes."""
    if isinstance(reference, str):
        return np.array([value == reference for value in values])
    numbers = np.array([np.nan if isinstance(value, str) else value for value in values])
    return numbers >= reference if reference > np.nanmedian(numbers) else numbers <= reference


@pytest.mark.parametrize("n_terms", [1, 2, 3])
def test_many_attempts_find_every_condition_that_slow_code_finds(n_terms):
    table, expected, rare_sets = people(25, 5), set(), set()
    names = sorted(table.names, key=lambda name: not table[name].is_coded)  # labels first
    columns = [["" if value == "-8" else value for value in values_of(table[n])] for n in names]
    for row in range(25):
        masks = [slow_mask(values, values[row]) for values in columns]
        for chosen in combinations(range(5), n_terms):
            if np.all([masks[position] for position in chosen], axis=0).sum() == 1:
                expected.add((row, *chosen))
    records = SortedRecords(mixed_records([table], table.names, real=1)[0])
    conditions = rare_combinations(records, n_terms, 10**6, 8000, rng())
    for variables, low, high in zip(
        conditions.variables, conditions.low, conditions.high, strict=True
    ):
        values = records.codes[variables]
        (row,) = np.flatnonzero(((values >= low[:, None]) & (values <= high[:, None])).all(axis=0))
        rare_sets.add((int(row), *variables.tolist()))
    assert len(rare_sets) == len(conditions)
    assert rare_sets == expected


@pytest.mark.parametrize("name", SYNTHETIC)
def test_combinations_single_out_as_often_as_those_of_anonymeter(name):
    made, fitted, unseen = coded_together(name)

    def counts(seed, *settings):
        conditions = rare_combinations(made, *settings, rng(seed))
        successes = [int(half.met_by_one(conditions).sum()) for half in (fitted, unseen)]
        return [len(conditions), *successes]

    for n_terms in (2, 3):
        trials = [counts(seed, n_terms, 10**6, 2000) for seed in range(SEEDS)]
        assert_agree(trials, *ANONYMETER_COMBINED[name, n_terms])
    trials = [counts(seed, 3, 100, 5000) for seed in range(SEEDS)]
    assert all(each[0] == 100 for each in trials)
    assert_agree([each[1:] for each in trials], *ANONYMETER_FIRST[name])


@pytest.mark.parametrize("name", SYNTHETIC)
def test_guesses_single_out_as_often_as_those_of_anonymeter(name):
    made, fitted, _ = coded_together(name)
    trials = [int(fitted.met_by_one(guesses(made, 3, 200, rng(s))).sum()) for s in range(SEEDS)]
    assert_agree(trials, *ANONYMETER_GUESSED[name])


@pytest.mark.parametrize("block", [1, 7, 10**6])
def test_one_record_meets_what_slow_code_says(monkeypatch, block):
    monkeypatch.setattr(module, "_BLOCK", block)
    monkeypatch.setattr(module, "_SAMPLE_ROWS", (block, 2 * block))  # looked at first, in batches
    monkeypatch.setattr(module, "_BATCH", 7 * block)
    made, fitted, _ = coded_together("half a copy")
    sources = [guesses(made, k, 100, rng(k)) for k in (1, 2, 9)]
    sources += [rare_values(made, 100, rng()), rare_combinations(made, 3, 100, 1000, rng())]
    for conditions in sources:
        frame = pd.DataFrame(fitted.codes.T)
        expected = []
        for terms in zip(
            conditions.variables, conditions.low, conditions.high, conditions.outside, strict=True
        ):
            met = pd.Series(True, index=frame.index)
            for variable, low, high, outside in zip(*terms, strict=True):
                met &= frame[variable].between(low, high) != outside
            expected.append(met.sum() == 1)
        for few in (0, 10**6):
            monkeypatch.setattr(module, "_FEW_ROWS", few)
            assert fitted.met_by_one(conditions).tolist() == expected
        assert 0 < sum(expected) < len(expected)


@pytest.mark.parametrize(("k", "expected"), [(1, 9.120401), (3, 69.448161)])
def test_neighbours_are_as_near_as_those_of_anonymeter(k, expected):
    """Recorded is the sum of distances by anonymeter's MixedTypeKNeighbors, fitted on ``made``."""
    names = ("a", "b", "c", "d", "x")
    draw = rng(9)
    # Ends of its range are in the data: here ranks are anonymeter's scaled numbers.
    ages = np.r_[0, draw.permutation(np.arange(1, 299)), 299]
    columns = [coded(name, draw.integers(0, 4, 300), "wxyz") for name in names[:4]]
    made = Table([*columns, numeric("x", ages)])
    queries = made.take(draw.permutation(300)[:40]).with_column(coded("a", [0] * 40, "wxyz"))
    synthetic, targets = mixed_records([made, queries], names, real=1)
    neighbours = _neighbours(synthetic, targets, names, k, draw)
    gaps = np.abs(queries["x"].data[:, None] - made["x"].data) / 299
    for name in names[:4]:
        gaps += queries[name].data[:, None] != made[name].data
    distances = np.sort(np.take_along_axis(gaps, neighbours, axis=1), axis=1)
    np.testing.assert_allclose(distances, np.sort(gaps, axis=1)[:, :k], atol=1e-9)
    assert distances.sum() == pytest.approx(expected, abs=1e-4)
    assert all(len(set(row)) == k for row in neighbours.tolist())


def test_worse_than_guessing_is_weak():
    weak = Attack.of(
        "x", asked=9, n=500, successes=0, control_successes=0, baseline=0.1, confidence=0.95
    )
    assert weak.is_weak is True
    assert weak.model_copy(update={"baseline": weak.rate_high}).is_weak is False


def test_figures_have_the_numbers_of_their_attack_and_the_confidence_that_is_asked_for():
    narrow, wide = (
        attack(FITTED, UNSEEN, people(seed=3), confidence=level) for level in (0.9, 0.99)
    )
    for each, other in zip(narrow.attacks, wide.attacks, strict=True):
        risk, rate = each.figures
        assert (risk.value, risk.low, risk.high, risk.chance) == (each.risk, each.low, each.high, 0)
        assert (rate.value, rate.baseline, rate.n) == (each.rate, each.baseline, each.n)
        assert other.low < each.low < each.high < other.high
    assert (narrow.linked, narrow.confidence) == ((("age", "pay"), ("town",)), 0.9)
