import intervals
import numpy as np
import pytest


def coverage(design, n=150):
    results = intervals.simulate(design, n, np.random.default_rng(3))
    return {rule: 100 * np.mean(covered.hits) for rule, covered in results.items()}


def test_least_squares_equals_polyfit():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 3, 30))
    slopes, variances, _ = intervals.least_squares(x, y)
    for number in range(3):
        line, covariance = np.polyfit(x[number], y[number], 1, cov=True)
        assert slopes[number] == pytest.approx(line[0])
        assert variances[number] == pytest.approx(covariance[0, 0])


def test_a_rule_covers_where_it_is_valid_and_fails_where_it_is_not():
    made = coverage(intervals.Design("new records", 20, 5 * intervals.N, ("fully",)))
    assert 90 <= made["fully"] <= 100
    assert made["partially"] < 80
    one = coverage(intervals.Design("new records", 1, 5 * intervals.N, ("proper",)))
    assert set(one) == {"simple", "proper"}
    assert one["simple"] < 90 <= one["proper"]
