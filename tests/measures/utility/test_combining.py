import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student

from synthesizer.data.errors import DataError
from synthesizer.measures.figure import plain
from synthesizer.measures.utility.combining import (
    combine,
    kind_problems,
    rule_for,
)

# Four estimates of mean 3 and variance B = 1: rule, U, k/n, and T and its degrees of freedom
# written out; infinite ones are those of the normal distribution.
BY_HAND = [
    ("partially", 0.4, 1.0, 0.4 + 1 / 4, 3 * (1 + 0.4 / 0.25) ** 2),
    ("fully", 0.5, None, 1.25 - 0.5, 3 * (1 - 0.5 / 1.25) ** 2),
    ("fully", 0.8, 2.0, 1.25 - 0.8, 3 * (1 - 0.8 / 1.25) ** 2),  # below (k/n) U, and above 0
    ("fully", 2.0, 2.0, 2 * 2.0, math.inf),  # 1.25 - 2 < 0: T* = (k/n) U
    ("design", 0.2, 0.5, 0.2 + 1 / 4, 3 * (0.45 / 0.25) ** 2),  # whatever k
    ("redrawn", 0.2, 0.5, 1.25 - 1.5 * 0.2, 3 * (0.95 / 1.25) ** 2),
    ("redrawn", 0.7, 0.5, 0.5 * 0.7, math.inf),  # not below (k/n) U
    ("simple", 0.4, 0.5, 0.4 * (0.5 + 1 / 4), math.inf),
    ("proper", 0.4, 0.5, 0.4 * (0.5 + 1.5 / 4), math.inf),
    ("imputed", 0.4, None, 0.4 + 1.25, 3 * (1.65 / 1.25) ** 2),
]


@pytest.mark.parametrize(("rule", "within", "ratio", "total", "df"), BY_HAND)
def test_rules_by_hand(rule, within, ratio, total, df):
    q = 3 + np.array([-1, -1, 1, 1]) * math.sqrt(0.75)
    sizes = {} if ratio is None else {"n": 200, "k": 200 * ratio}
    combined = combine(q, within * np.array([0.5, 1, 1, 1.5]), rule=rule, level=0.9, **sizes)
    assert combined.estimate == pytest.approx((3,))
    assert (combined.within, combined.between) == (pytest.approx((within,)), pytest.approx((1,)))
    assert (combined.total, combined.df) == (pytest.approx((total,)), pytest.approx((df,)))
    assert combined.std_error == pytest.approx((math.sqrt(total),))
    half = student.ppf(0.95, df) * math.sqrt(total)
    assert (*combined.low, *combined.high) == pytest.approx((3 - half, 3 + half))
    assert combined.adjusted == ((rule, within) in {("fully", 2.0), ("redrawn", 0.7)},)
    assert plain(combined)["df"] == [None if df == math.inf else pytest.approx(df)]


@pytest.mark.parametrize(("rule", "factor"), [("simple", 0.5 + 1), ("proper", 0.5 + 1.5)])
def test_one_dataset_has_no_variance_between(rule, factor):
    one = combine([[2.0, 5.0]], [[0.4, 0.0]], rule=rule, n=200, k=100)
    assert one.total == pytest.approx((0.4 * factor, 0.0))
    assert one.between is None
    assert one.high == pytest.approx((2 + norm.ppf(0.975) * math.sqrt(0.4 * factor), 5.0))


def test_degrees_of_freedom_of_completed_data_are_those_of_barnard_and_rubin():
    q, complete = 3 + np.array([-1, -1, 1, 1]) * math.sqrt(0.75), 20
    share = 1.25 / 1.65
    observed = 21 / 23 * 20 * (1 - share)
    combined = combine(q, np.full(4, 0.4), rule="imputed", df=complete)
    assert combined.df == pytest.approx((1 / (share**2 / 3 + 1 / observed),))
    whole = combine(np.ones(4), np.full(4, 0.4), rule="imputed", df=complete)  # nothing missing
    assert whole.total == pytest.approx((0.4,))
    assert whole.df == pytest.approx((21 / 23 * 20,))


def test_nested_by_hand():
    """Two completed datasets with two synthetic ones each: means 2 and 6, W = 2, B = 8."""
    sizes = {"rule": "nested", "n": 10, "k": 20, "imputations": 2}
    combined = combine([1, 3, 5, 7], [0.5] * 4, **sizes)
    assert combined.total == pytest.approx((0.5 * 2 + 1.5 * 8 - 2 / 2,))
    assert combined.df == pytest.approx((12**2 / (12**2 / 1 + 1**2 / 2),))
    even = combine([1, 3, 3, 1], [0.5] * 4, **sizes)  # no variance between: at least U + W/(m r)
    assert (even.total, even.adjusted) == (pytest.approx((1 + 2 / 4,)), (True,))


@pytest.mark.parametrize("kind", ["imputed", "nested"])
def test_rules_of_completed_data_cover_the_truth(kind):
    """Normal data, 40 % missing: intervals of 95 % cover the mean in 95 % of the samples."""
    rng, n, m, hits, totals, means = np.random.default_rng(1), 100, 10, 0, [], []
    for _ in range(600):
        y, lost = rng.normal(size=n), rng.random(n) < 0.4
        seen, q, u = y[~lost], [], []
        for _ in range(m):
            variance = seen.var() * len(seen) / rng.chisquare(len(seen) - 1)
            mean = rng.normal(seen.mean(), math.sqrt(variance / len(seen)))
            done = np.where(lost, rng.normal(mean, math.sqrt(variance), n), y)
            made = [done]
            if kind == "nested":
                made = [rng.normal(done.mean(), done.std(ddof=1), n) for _ in range(3)]
            q += [one.mean() for one in made]
            u += [one.var(ddof=1) / n for one in made]
        more = {"n": n, "k": n, "imputations": m} if kind == "nested" else {"df": n - 1}
        combined = combine(q, u, rule=kind, **more)
        hits += combined.low[0] <= 0 <= combined.high[0]
        totals += combined.total
        means += combined.estimate
    assert 0.93 <= hits / 600 <= 0.975
    assert np.mean(totals) == pytest.approx(np.var(means), rel=0.15)


def test_degrees_of_freedom_of_a_survey():
    """Intervals of a survey with eleven degrees of freedom are those of Student's t."""
    rule = {"rule": "simple", "n": 100, "k": 100}
    result = combine([[1.0, 2.0]], [[0.5, 0.5]], df=[11, math.inf], **rule)
    assert result.df == (11, math.inf)
    assert result.high == pytest.approx((1 + student.ppf(0.975, 11), 2 + norm.ppf(0.975)))
    many = combine([1.0, 1.1], [0.5, 0.5], rule="partially", df=11)
    assert many.df == (11,)
    with pytest.raises(DataError, match="df must be above 0"):
        combine([1.0], [0.5], df=0, **rule)


def test_datasets_that_do_not_differ():
    same = combine([2.0, 2.0, 2.0], [0.5, 0.5, 0.5], rule="partially")
    assert (same.total, same.df) == ((0.5,), (math.inf,))
    fully = combine([2.0, 2.0], [0.5, 0.5], rule="fully", n=10, k=10)
    assert (fully.total, fully.adjusted) == ((0.5,), (True,))
    balanced = combine([0.0, 2.0], [3.0, 3.0], rule="fully", n=10, k=10)  # 1.5 * 2 - 3
    assert (balanced.total, balanced.adjusted) == ((3.0,), (True,))
    known = combine([2.0, 2.0], [0.0, 0.0], rule="fully")
    assert (known.total, known.low, known.high) == ((0.0,), (2.0,), (2.0,))


numbers = st.floats(-1e3, 1e3)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(numbers, st.floats(0, 1e3), numbers, st.floats(0, 1e3)), min_size=2, max_size=6
    ),
    st.sampled_from(["fully", "partially", "simple", "proper"]),
)
def test_estimates_are_combined_one_by_one(rows, rule):
    q = np.array([[a, c] for a, _, c, _ in rows])
    u = np.array([[b, d] for _, b, _, d in rows])
    k = 100 if rule == "partially" else 150
    both = combine(q, u, rule=rule, n=100, k=k)
    for column in range(2):
        alone = combine(q[:, column], u[:, column], rule=rule, n=100, k=k)
        m = len(rows)
        mean = sum(q[:, column].tolist()) / m
        between = sum((x - mean) ** 2 for x in q[:, column].tolist()) / (m - 1)
        within = sum(u[:, column].tolist()) / m
        slow = {
            "fully": (1 + 1 / m) * between - within,
            "partially": within + between / m,
            "simple": within * (k / 100 + 1 / m),
            "proper": within * (k / 100 + (1 + k / 100) / m),
        }[rule]
        assert both.total[column] == alone.total[0] >= 0
        assert both.low[column] <= both.estimate[column] <= both.high[column]
        if not both.adjusted[column]:
            assert both.total[column] == pytest.approx(slow, rel=1e-6, abs=1e-6)


KINDS = [(proper, keeps) for proper in (False, True) for keeps in (False, True)]
FITTING = {
    (False, False): {"simple", "partially"},
    (False, True): {"partially"},
    (True, False): {"proper", "fully", "partially"},
    (True, True): {"partially"},
}


@pytest.mark.parametrize(("proper", "keeps"), KINDS)
def test_which_rules_fit_which_data(proper, keeps):
    """As job `intervals.rules` finds: valid rules of designs with as many records."""
    rules = {"fully", "partially", "simple", "proper"}
    fit = {rule for rule in rules if not kind_problems(rule, proper=proper, keeps=keeps)}
    assert fit == FITTING[proper, keeps]
    best = rule_for(proper=proper, keeps=keeps)
    assert best in fit
    for rule in rules - fit:  # the refusal names the rule that fits
        (problem,) = kind_problems(rule, proper=proper, keeps=keeps)
        assert f"rule '{rule}' needs" in problem
        assert f"rule '{best}'" in problem
