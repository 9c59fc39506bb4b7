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
    rule_problems,
)


def test_partially_synthetic_case_by_hand():
    """Q = 3, U = 0.4, B = 1: T = 0.4 + 1/4 and df = 3 (1 + 0.4 / 0.25)^2."""
    q = 3 + np.array([-1, -1, 1, 1]) * math.sqrt(0.75)
    result = combine(q, [0.2, 0.4, 0.4, 0.6], rule="partially")
    assert result.estimate[0] == pytest.approx(3)
    assert result.between[0] == pytest.approx(1)
    assert result.total[0] == pytest.approx(0.65)
    assert result.df[0] == pytest.approx(3 * 2.6**2)
    half = student.ppf(0.975, 3 * 2.6**2) * math.sqrt(0.65)
    assert (result.low[0], result.high[0]) == pytest.approx((3 - half, 3 + half))
    assert result.std_error[0] == pytest.approx(math.sqrt(0.65))


def test_fully_synthetic_case_by_hand():
    """B = 1, U = 0.5, m = 4: T = 1.25 - 0.5 and df = 3 (1 - 0.5 / 1.25)^2 = 1.08."""
    q = 3 + np.array([-1, -1, 1, 1]) * math.sqrt(0.75)
    result = combine(q, [0.5] * 4, rule="fully")
    assert result.total[0] == pytest.approx(0.75)
    assert result.df[0] == pytest.approx(1.08)
    assert result.adjusted == (False,)
    half = student.ppf(0.975, 1.08) * math.sqrt(0.75)
    assert result.high[0] == pytest.approx(3 + half)


def test_a_negative_variance_is_adjusted():
    """B = 0.02, U = 0.5, k = 2 n: T = 0.03 - 0.5 < 0, so T* = 2 U and the normal distribution."""
    result = combine([1.0, 1.2], [0.5, 0.5], rule="fully", n=100, k=200)
    assert result.total[0] == pytest.approx(1.0)
    assert result.adjusted == (True,)
    assert result.df == (math.inf,)
    assert result.high[0] == pytest.approx(1.1 + norm.ppf(0.975))
    assert plain(result)["df"] == [None]


def test_the_adjustment_needs_the_numbers_of_records():
    with pytest.raises(DataError, match="estimate age is not positive.*give both"):
        combine([[1.0, 0], [1.2, 9]], [[0.5, 0.1], [0.5, 0.1]], rule="fully", names=["age", "pay"])


def test_simple_synthesis_by_hand_for_one_and_for_several():
    """U = 0.4, k/n = 0.5: T = 0.4 (0.5 + 1) for one dataset, 0.4 (0.5 + 1/2) for two."""
    one = combine([[2.0, 5.0]], [[0.4, 0.0]], rule="simple", n=200, k=100, level=0.9)
    assert one.total == pytest.approx((0.6, 0.0))
    assert one.between is None
    assert one.high == pytest.approx((2 + norm.ppf(0.95) * math.sqrt(0.6), 5.0))
    two = combine([1.0, 3.0], [0.3, 0.5], rule="simple", n=200, k=100)
    assert two.total == pytest.approx((0.4,))
    assert two.estimate == (2.0,)


def test_proper_synthesis_by_hand_for_one_and_for_several():
    """U = 0.4, k/n = 0.5: T = 0.4 (0.5 + 1.5) for one dataset, 0.4 (0.5 + 1.5/2) for two."""
    one = combine([2.0], [0.4], rule="proper", n=200, k=100)
    assert one.total == pytest.approx((0.8,))
    assert one.df == (math.inf,)
    two = combine([1.0, 3.0], [0.3, 0.5], rule="proper", n=200, k=100)
    assert two.total == pytest.approx((0.5,))
    assert two.high[0] == pytest.approx(2 + norm.ppf(0.975) * math.sqrt(0.5))


def test_synthesis_of_a_survey_by_hand():
    """B = 1, U = 0.2, k/n = 0.5, m = 4: T = 0.2 + 0.25, df = 3 (0.45 / 0.25)^2.

    The same as ``partially``, whatever k.
    """
    q = 3 + np.array([-1, -1, 1, 1]) * math.sqrt(0.75)
    result = combine(q, [0.2] * 4, rule="design", n=200, k=100)
    assert result.total[0] == pytest.approx(0.45)
    assert result.df[0] == pytest.approx(3 * 1.8**2)
    whole = combine(q, [0.2] * 4, rule="design", n=100, k=100, df=4)
    assert whole.total == combine(q, [0.2] * 4, rule="partially").total
    assert whole.df == (4,)
    with pytest.raises(DataError, match="'design' needs at least two"):
        combine([1.0], [0.2], rule="design", n=100, k=100)


def test_redrawn_synthesis_by_hand():
    """B = 1, U = 0.2, k/n = 0.5, m = 4: T = 1.25 - 0.3, df = 3 (0.95 / 1.25)^2; not below U/2."""
    q = 3 + np.array([-1, -1, 1, 1]) * math.sqrt(0.75)
    result = combine(q, [0.2] * 4, rule="redrawn", n=200, k=100)
    assert result.total[0] == pytest.approx(0.95)
    assert result.df[0] == pytest.approx(3 * 0.76**2)
    floor = combine(q, [0.7] * 4, rule="redrawn", n=200, k=100)
    assert (floor.total[0], floor.adjusted, floor.df) == (pytest.approx(0.35), (True,), (math.inf,))


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


def test_degrees_of_freedom_beyond_the_largest_number_are_the_normal_ones():
    result = combine([0.0, 1e-93], [1.0, 1.0], rule="fully", n=10, k=10)
    assert result.df == (math.inf,)
    assert combine([0.0, 1e-93], [1.0, 1.0], rule="partially").df == (math.inf,)


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
    for place in range(2):
        alone = combine(q[:, place], u[:, place], rule=rule, n=100, k=k)
        m = len(rows)
        mean = sum(q[:, place].tolist()) / m
        between = sum((x - mean) ** 2 for x in q[:, place].tolist()) / (m - 1)
        within = sum(u[:, place].tolist()) / m
        slow = {
            "fully": (1 + 1 / m) * between - within,
            "partially": within + between / m,
            "simple": within * (k / 100 + 1 / m),
            "proper": within * (k / 100 + (1 + k / 100) / m),
        }[rule]
        assert both.total[place] == alone.total[0] >= 0
        assert both.low[place] <= both.estimate[place] <= both.high[place]
        if not both.adjusted[place]:
            assert both.total[place] == pytest.approx(slow, rel=1e-6, abs=1e-6)


def test_all_problems_are_told_at_once():
    with pytest.raises(DataError) as caught:
        combine([[1.0, np.nan]], [[-1.0]], rule="fully", n=0, level=95, names=["a"])
    text = str(caught.value)
    assert len(caught.value.problems) == 7
    for part in (
        "estimates: 1 are missing or infinite, the first in dataset 1, estimate 2",
        "shape (1, 2) and variances (1, 1)",
        "variances: 1 are negative, the first in dataset 1, estimate 1: give squared",
        "1 names for 2 estimates",
        "rule 'fully' needs at least two synthetic datasets, there is one",
        "level (95) must be between 0 and 1",
        "n (0) must be a positive number",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "simple"}, "rule 'simple' needs n"),
        ({"rule": "rubin"}, r"rule \('rubin'\) must be one of fully, partially, simple, proper"),
        ({"rule": "proper"}, "rule 'proper' needs n"),
        ({"rule": "partially", "n": 100, "k": 50}, "not 50 from 100"),
        ({"rule": "partially", "n": 50, "k": 100}, "not 100 from 50"),
        ({"rule": "partially", "level": 0}, r"level \(0\) must be between"),
        ({"rule": "partially", "level": 1}, r"level \(1\) must be between"),
    ],
)
def test_rules_that_do_not_apply(arguments, message):
    with pytest.raises(DataError, match=message):
        combine([1.0, 2.0], [0.5, 0.5], **arguments)


@pytest.mark.parametrize("bad", [5.0, [], ["x", "y"], [[[1.0]]], [[1.0], [1.0, 2.0]]])
def test_what_is_no_matrix_is_refused(bad):
    with pytest.raises(DataError, match="estimates must be numbers in m rows"):
        combine(bad, [0.5, 0.5], rule="partially")


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
    assert rule_for(proper=proper, keeps=keeps) in fit


@pytest.mark.parametrize(
    ("rule", "proper", "keeps", "message"),
    [
        ("fully", False, False, "these were fixed (proper: false): use rule 'simple'"),
        ("proper", False, False, "these were fixed (proper: false): use rule 'simple'"),
        ("simple", True, False, "intervals would be too narrow: use rule 'proper'"),
        ("simple", False, True, "these keep original values"),
        ("fully", True, True, "use rule 'partially'"),
    ],
)
def test_refusals_say_why_and_what_to_use(rule, proper, keeps, message):
    (problem,) = kind_problems(rule, proper=proper, keeps=keeps)
    assert message in problem
    assert problem.startswith(f"rule '{rule}' is for data")


@pytest.mark.parametrize("rule", ["fully", "partially"])
def test_one_dataset_is_too_few(rule):
    (problem,) = rule_problems(rule, 1, n=10, k=10)
    assert problem == (
        f"rule '{rule}' needs at least two synthetic datasets, there is one: generate more, or "
        "use rule 'simple' if all values were drawn with fixed parameters, 'proper' if with "
        "parameters drawn anew"
    )
    assert not list(rule_problems("simple", 1, n=10, k=10))
    assert not list(rule_problems("proper", 1, n=10, k=10))
