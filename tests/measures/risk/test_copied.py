"""Copied uniques: slow counting, the limit by its definition, new samples and copies."""

from __future__ import annotations

from collections import Counter
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from synthesizer.data.table import Table
from synthesizer.measures.checks import Checks
from synthesizer.measures.measure import Synthesis
from synthesizer.measures.risk.copied import copied_uniques, fresh_limit
from synthesizer.measures.scenario import Scenario
from synthesizer.measures.settings import ALL_OFF, CheckSettings, LimitConfig
from tests.measures.risk.slow_rows import rows, tables_to_compare
from tests.reference_data import load_reference, needs_reference
from tests.tables import numeric


@pytest.mark.parametrize(("pairs", "times"), [(0, 1.0), (3, 1.0), (7, 0.25), (40, 2.0)])
@pytest.mark.parametrize("confidence", [0.95, 0.999])
def test_the_limit_by_its_definition(pairs, times, confidence):
    """The smallest count that chance exceeds with at most the rest: sums of binomial terms."""
    limit, q = fresh_limit(pairs, times, confidence), 2 * times / (1 + 2 * times)

    def exceeded(count):
        """Of count + 1 + pairs combinations, more than count are copied uniques."""
        n = count + 1 + pairs
        return sum(comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(count + 1, n + 1))

    assert exceeded(limit) <= 1 - confidence
    assert limit == 1 or exceeded(limit - 1) > 1 - confidence
    assert fresh_limit(0, 1e-9) == 1  # one record is never a copy


@settings(max_examples=25, deadline=None)
@given(tables_to_compare())
def test_equals_slow_counting(data):
    original, synthetic = data
    names = ["a", "b"]
    counts = Counter(rows(original, names))
    seen = [Counter(rows(table, names)) for table in synthetic]
    result = copied_uniques(original, synthetic, keys=names, control=original)
    unique = [row for row, count in counts.items() if count == 1]
    assert (result.uniques, result.pairs) == (len(unique), sum(c == 2 for c in counts.values()))
    every = [*seen, *([sum(seen, Counter())] if len(seen) > 1 else [])]
    assert [row.n for row in result.rows] == [other.total() for other in every]
    assert [row.present for row in result.rows] == [sum(k in o for k in unique) for o in every]
    assert result.control.present == len(unique)
    confidence = 1 - 0.001 / len(every)
    for row in result.rows:
        assert row.most == fresh_limit(result.pairs, row.n / original.n_rows, confidence)


POPULATIONS = {
    "uniform": np.ones(2000),
    "rare": np.ones(20_000),
    "zipf": 1 / np.arange(1, 20_001),
    "few common, many rare": np.r_[np.full(10, 5000.0), np.ones(50_000)],
}


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("size", [60, 3000])
def test_fresh_samples_stay_below_the_limit(name, size):
    """At 95 % at most one in twenty is above it, whatever the population."""
    rng = np.random.default_rng(7)
    shares = POPULATIONS[name] / POPULATIONS[name].sum()
    above = 0
    for _ in range(200):
        people, fresh = rng.multinomial(600, shares), rng.multinomial(size, shares)
        limit = fresh_limit(int((people == 2).sum()), size / 600, 0.95)
        above += ((people == 1) & (fresh > 0)).sum() > limit
    assert above <= 19  # 0.05 of 200, and three standard errors


def crowd(n, seed):
    rng = np.random.default_rng(seed)
    highest = {"age": 70, "town": 30, "pay": 500}
    return pd.DataFrame({name: rng.integers(0, high, n) for name, high in highest.items()})


def shuffled(frame):
    rng = np.random.default_rng(5)
    return pd.DataFrame({name: rng.permutation(frame[name]) for name in frame})


PEOPLE, OTHERS = crowd(800, 1), crowd(800, 2)


def noisy(frame):
    rng = np.random.default_rng(3)
    return frame.where(rng.random(frame.shape) > 0.01, frame.sample(frac=1, random_state=1).values)


@pytest.mark.parametrize(
    ("made", "is_copy"),
    [
        (PEOPLE, True),
        (PEOPLE.sample(frac=1, replace=True, random_state=1), True),  # a bootstrap: 37 % once
        (PEOPLE.sample(frac=0.1, random_state=1), True),
        (pd.concat([PEOPLE, PEOPLE]), True),  # no person is unique in it
        (noisy(PEOPLE), True),
        (pd.concat([OTHERS, PEOPLE.head(40)]), True),
        (OTHERS, False),
        (pd.concat([OTHERS, crowd(4000, 4)]), False),
        (OTHERS.head(80), False),
        (shuffled(PEOPLE), False),
    ],
)  # fmt: skip
def test_copies_alarm_and_fresh_samples_do_not(made, is_copy):
    names = list(PEOPLE)
    for several in (made, [OTHERS, made], [made, made]):
        result = copied_uniques(PEOPLE, several, keys=names)
        assert (result.alarm is not None) is is_copy
        assert (result.figures[0].value > 1) is is_copy


def test_columns_that_are_kept_in_every_record_are_named():
    """Columns that equal the original in every record: a partial synthesis, or a copy."""
    partly = PEOPLE.assign(town=shuffled(PEOPLE)["town"])
    result = copied_uniques(PEOPLE, partly, keys=list(PEOPLE))
    assert result.worst.kept == ("age", "pay")
    assert result.alarm.startswith("Kept on purpose? ")
    assert copied_uniques(PEOPLE, PEOPLE, keys=list(PEOPLE)).worst.kept == ()
    # no record is repeated whole, since one variable was moved; the others are a copy
    moved = copied_uniques(PEOPLE, PEOPLE.assign(pay=PEOPLE["pay"] + 0.5), keys=list(PEOPLE))
    assert (moved.worst.present, moved.worst.kept) == (0, ("age", "town"))
    assert moved.alarm.startswith("Kept on purpose? ")
    rare = PEOPLE.assign(rare=np.arange(len(PEOPLE)) == 7)  # agrees by chance in one file of two
    made = shuffled(PEOPLE).assign(rare=rare["rare"])
    assert copied_uniques(rare, made, keys=list(rare)).alarm is None
    coarse = copied_uniques(PEOPLE, PEOPLE, keys=["town"])  # no person is unique: no result
    assert (coarse.figures[0].value, coarse.figures[0].n, coarse.alarm) == (None, 0, None)
    assert (
        coarse.gap == "copied uniques: not computed, since no original {record} is unique by town"
    )


def checked(made, *, copied=()):
    rng = np.random.default_rng(1)
    table = Table([numeric(name, rng.integers(0, 40, 300)) for name in ("age", "town", "pay")])
    scenario = Scenario(keys=("age", "town"), target="pay")
    settings = CheckSettings(**ALL_OFF | {"copied_uniques": True})
    checks = Checks(table, settings, scenarios=[scenario], synthesis=Synthesis(kept=copied))
    checks.add(made(table))
    return checks.finish()


def permuted(table, *names):
    order = np.random.default_rng(2).permutation(table.n_rows)
    return Table([c.take(order) if c.name in names else c for c in table.columns])


def test_it_looks_at_whole_records_and_at_keys_but_not_at_what_is_kept():
    results = checked(lambda table: table)
    assert len(results.risk.alarms) == 2
    assert results.summary.copied_uniques > 1 < results.summary.copied_keys
    assert len(results.exceeded(LimitConfig(copied_uniques=1, copied_keys=1))) == 2
    fresh = checked(lambda table: permuted(permuted(table, "age", "pay"), "pay", "town"))
    assert fresh.risk.alarms == fresh.exceeded(LimitConfig(copied_uniques=1)) == ()
    # a partial synthesis: the keys are the original's on purpose, the target is drawn
    partly = checked(lambda table: permuted(table, "pay"), copied=("age", "town")).risk
    assert (partly.alarms, partly.gaps) == ((), ())
    assert (partly.copied.names, partly.copied.kept) == (("pay",), ("age", "town"))


@needs_reference
def test_a_bootstrap_of_the_census_alarms_and_its_other_half_does_not():
    census = load_reference("original.csv")
    first, second = (census.take(np.arange(start, census.n_rows, 2)) for start in (0, 1))
    assert copied_uniques(first, second, keys=census.names).alarm is None
    bootstrap = first.take(np.random.default_rng(1).integers(0, first.n_rows, first.n_rows))
    result = copied_uniques(first, bootstrap, keys=census.names, control=second)
    assert result.worst.present > 10 * result.worst.most
    assert result.control.is_above is False
