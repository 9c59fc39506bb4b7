from typing import get_args

import coverage_of_rules as script
import numpy as np
import pytest

from synthesizer.measures.utility.combining import Rule


def row(design, n=150):
    return dict(
        zip(
            get_args(Rule),
            script.simulate(design, n, np.random.default_rng(3)),
            strict=True,
        )
    )


def coverage(cell):
    return float(cell.strip("*").partition(" ")[0])


def test_least_squares_equals_polyfit():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 3, 30))
    slopes, variances, _ = script.least_squares(x, y)
    for place in range(3):
        line, covariance = np.polyfit(x[place], y[place], 1, cov=True)
        assert slopes[place] == pytest.approx(line[0])
        assert variances[place] == pytest.approx(covariance[0, 0])


def test_a_rule_covers_where_it_is_valid_and_fails_where_it_is_not():
    made = row(script.Design("new records", 20, 5 * script.N, ("fully",)))
    assert made["fully"].startswith("**")
    assert 90 <= coverage(made["fully"]) <= 100
    assert coverage(made["partially"]) < 80
    one = row(script.Design("new records", 1, 5 * script.N, ("proper",)))
    assert one["fully"] == one["partially"] == "refused"
    assert coverage(one["simple"]) < 90 <= coverage(one["proper"])
