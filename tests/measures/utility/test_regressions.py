"""Regressions that a file suggests: against statsmodels, at both ends, and what has no fit."""

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.table import Table
from synthesizer.measures.figure import collected
from synthesizer.measures.utility.regressions import RegressionCounter, Regressions
from tests.tables import coded, numeric

sm = pytest.importorskip("statsmodels.api")

AREAS = ("east", "north", "south", "west", "far", "away")


def people(n: int, seed: int, effect: float = 1.0) -> Table:
    """Income depends on age, sex and area; smoking on age; 5 % of incomes are missing."""
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 70, n).astype(float), rng.integers(0, 2, n)
    area = rng.choice(6, n, p=[0.3, 0.25, 0.2, 0.15, 0.06, 0.04])
    smoker = rng.random(n) < 1 / (1 + np.exp(1 - effect * (age - 45) / 10))
    pay = effect * (3 * age + 20 * sex - 5 * area) + 30 * rng.standard_normal(n)
    return Table(
        [
            numeric("age", age),
            coded("sex", sex, ("f", "m")),
            coded("area", area, AREAS),
            coded("smoker", smoker, ("no", "yes")),
            numeric("pay", np.round(pay), rng.random(n) < 0.05, missing=("",)),
        ]
    )


def compared(original: Table, *synthetic: Table) -> Regressions:
    return collected(RegressionCounter(original, original.names), synthetic)


def by_hand(original: Table, table: Table, response: str) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and robust errors of statsmodels, columns written out one by one."""
    frame = pd.DataFrame({"age": table["age"].data})
    sex, area, smoker = (table[name].data for name in ("sex", "area", "smoker"))
    rarer = {name: np.bincount(original[name].data).argmin() for name in ("sex", "smoker")}
    frame["sex"] = (sex == rarer["sex"]).astype(float)
    for level in (1, 2, 3):
        frame[f"area={level}"] = (area == level).astype(float)
    frame["area=other"] = (area > 3).astype(float)
    frame["smoker"] = (smoker == rarer["smoker"]).astype(float)
    pay = original["pay"]
    mean = pay.data[pay.is_observed].mean()
    missing = ~table["pay"].is_observed
    frame["pay"] = np.where(missing, mean, table["pay"].data)
    frame["pay missing"] = missing.astype(float)
    rows = ~missing if response == "pay" else np.ones(len(frame), dtype=bool)
    excluded = [name for name in frame if name.split(" ")[0] == response]
    y, X = frame[response][rows], sm.add_constant(frame.drop(columns=excluded)[rows])
    if response in ("age", "pay"):
        fit, factor = sm.OLS(y, X).fit(cov_type="HC1"), 1.0
    else:  # of which statsmodels takes n for n - p
        fit, factor = sm.Logit(y, X).fit(cov_type="HC1", disp=0), len(X) / (len(X) - X.shape[1])
    return np.asarray(fit.params)[1:], np.asarray(fit.bse)[1:] * np.sqrt(factor)


def test_coefficients_are_those_of_statsmodels():
    original, half = people(1500, 1), people(700, 2)
    result = compared(original, half)
    assert [row.response for row in result.rows] == ["age", "sex", "smoker", "pay"]
    assert [row.family for row in result.rows][:2] == ["least squares", "logit"]
    sizes = []
    for row in result.rows:
        (real, error), (drawn, other) = (
            by_hand(original, table, row.response) for table in (original, half)
        )
        z = (drawn - real) / error
        assert row.coefficients == len(z)
        assert row.error == pytest.approx(np.abs(z).mean(), rel=1e-4)
        assert row.beyond == (np.abs(z) > 1.96).mean()
        assert abs(row.worst_error) == pytest.approx(np.abs(z).max(), rel=1e-4)
        low, high = real - 1.96 * error, real + 1.96 * error
        wide = 1.96 * other * np.sqrt(700 / 1500)
        common = np.minimum(high, drawn + wide) - np.maximum(low, drawn - wide)
        overlap = (common / (high - low) + common / (2 * wide)) / 2
        assert row.overlap == pytest.approx(overlap.mean(), rel=1e-4)
        sizes += list(np.abs(z))
    values = {figure.key: figure.value for figure in result.figures}
    assert values["regressions_error"] == pytest.approx(np.mean(sizes), rel=1e-4)
    assert values["regressions_worst"] == pytest.approx(max(sizes), rel=1e-4)


def test_both_ends():
    original = people(1500, 1)
    same = compared(original, original)
    assert [figure.value for figure in same.figures] == [0, 0, 1, 0]
    unrelated = compared(original, people(1500, 2, effect=0.0))
    beyond, error, overlap, _ = (figure.value for figure in unrelated.figures)
    assert beyond > 0.3
    assert error > 5
    assert overlap < 0
    assert unrelated.furthest.response in ("age", "smoker", "pay")
    both = compared(original, original, people(1500, 2, effect=0.0))
    assert both.beyond == pytest.approx(beyond / 2)
    assert both.error == pytest.approx(error / 2)


def test_a_fresh_sample_is_off_as_expected():
    results = [compared(people(1500, 2 * seed), people(1500, 2 * seed + 1)) for seed in range(20)]
    shares, errors = results[0].expected_shares, results[0].expected_errors
    assert (round(shares[0], 3), round(shares[1], 3)) == (0.05, 0.166)
    assert (round(errors[0], 2), round(errors[1], 2)) == (0.80, 1.13)
    chances = [figure.chance for figure in results[0].figures]
    assert chances[:3] == pytest.approx([shares[0], errors[0], 1 - errors[0] / 3.92])
    assert [figure.n for figure in results[0].figures] == [3000] * 4
    assert np.mean([result.beyond for result in results]) == pytest.approx(shares[1], abs=0.04)
    assert np.mean([result.error for result in results]) == pytest.approx(errors[1], abs=0.08)
    half = compared(people(1500, 1), people(750, 2))
    assert half.expected_errors == pytest.approx([0.798 * 2**0.5, 0.798 * 3**0.5], abs=0.002)
    # a sample of a share f has errors of variance (1 - f) / f: here of a third
    assert np.mean([result.sample for result in results]) == pytest.approx(1 / 3, abs=0.05)
    proper = collected(
        RegressionCounter(people(300, 1), people(300, 1).names, proper=True), [people(300, 2)]
    )
    assert proper.expected_errors[0] == proper.expected_errors[1]


def test_a_coefficient_without_a_fit_counts_as_off():
    original = people(1500, 1)
    lost = original.with_column(coded("area", np.minimum(original["area"].data, 2), AREAS))
    pay = {row.response: row for row in compared(original, lost).rows}["pay"]
    assert pay.beyond >= 2 / pay.coefficients
    assert pay.error is not None
    # no other value of a response: nothing has a fit
    flat = original.with_column(coded("smoker", np.zeros(1500), ("no", "yes")))
    smoker = {row.response: row for row in compared(original, flat).rows}["smoker"]
    assert (smoker.beyond, smoker.error, smoker.overlap, smoker.worst) == (1.0, None, 0.0, None)


@pytest.mark.parametrize("table", [
    people(1, 1), people(49, 1), Table([numeric("age", np.arange(500))]),
    Table([coded("sex", np.zeros(500), ("f",)), numeric("age", np.ones(500))]),
    Table([numeric("pay", np.zeros(500), np.ones(500), missing=("",))]),
])  # fmt: skip
def test_where_there_is_nothing_to_fit_there_is_no_figure(table):
    result = compared(table, table)
    assert (result.rows, result.figures) == ((), ())
