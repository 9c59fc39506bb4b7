import json

import numpy as np
import pytest
import statsmodels.api as sm

from synthesizer.data.errors import DataError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.figure import plain
from synthesizer.measures.utility import logit_pmse
from tests.reference_data import REFERENCE, load_reference, needs_reference
from tests.tables import coded


def random_table(seed, n, levels="xyz"):
    rng = np.random.default_rng(seed)
    missing = rng.random(n) < 0.2
    values = np.where(missing, np.nan, rng.normal(-1000, 1e4, n))
    number = Variable(name="c", kind=Kind.NUMERIC, missing=("",))
    return Table(
        [coded("a", rng.integers(0, 3, n), levels), Column(number, values, missing.astype(np.int8))]
    )


def test_equals_statsmodels_with_unequal_sizes():
    original, made = random_table(1, 500), random_table(2, 300, levels="zxy")
    frame = []
    for table in (original, made):
        labels = np.array(table["a"].variable.labels)[table["a"].data]
        data, gone = table["c"].data, ~table["c"].is_observed
        frame.append(
            np.column_stack(
                [
                    labels == "y",
                    labels == "z",
                    np.where(gone, 0, data / 1e4),
                    gone,
                    np.ones(len(data)),
                ]
            ).astype(float)
        )
    truth = np.repeat([0.0, 1.0], [500, 300])
    fit = sm.GLM(truth, np.vstack(frame), family=sm.families.Binomial()).fit(tol=1e-12)
    c = 300 / 800
    pmse = np.mean((fit.fittedvalues - c) ** 2)
    result = logit_pmse(original, made)
    assert result.parameters == 5
    assert result.share == c
    assert result.pmse == pytest.approx(pmse, rel=1e-6)
    assert result.s_pmse == pytest.approx(pmse * 800 / (4 * (1 - c) ** 2 * c), rel=1e-6)
    ours, theirs = fit.fittedvalues[:500], fit.fittedvalues[500:]
    above = (theirs[:, None] > ours[None, :]) + 0.5 * (theirs[:, None] == ours[None, :])
    assert result.u == pytest.approx(above.sum(), abs=20)
    assert result.po50 == pytest.approx(
        100 * ((theirs > c).sum() + (ours <= c).sum()) / 800 - 50, abs=0.5
    )


def test_a_copy_cannot_be_told_apart():
    table = random_table(1, 200)
    result = logit_pmse(table, table)
    assert result.pmse == pytest.approx(0, abs=1e-15)
    assert result.converged


def test_redundant_columns_do_not_count():
    table, made = random_table(1, 200), random_table(2, 200)
    again = Variable(name="b", kind=Kind.CATEGORICAL, levels=("x", "y", "z"))
    twice = [t.with_column(Column(again, t["a"].data)) for t in (table, made)]
    assert logit_pmse(*twice).parameters == logit_pmse(table, made).parameters
    assert logit_pmse(*twice).pmse == pytest.approx(logit_pmse(table, made).pmse, rel=1e-9)


def test_a_level_on_one_side_only_settles():
    rng = np.random.default_rng(1)
    original = Table([coded("a", rng.integers(0, 2, 100), "xy"), coded("b", [0] * 100, "p")])
    made = Table([coded("a", rng.integers(0, 2, 100), "xn"), coded("b", [0] * 100, "p")])
    result = logit_pmse(original, made)
    assert result.converged
    assert 0 < result.pmse <= 0.25
    assert json.dumps(plain(result), allow_nan=False)


def test_nothing_to_fit():
    table = Table([coded("a", [0, 0], "x")])
    result = logit_pmse(table, table)
    assert (result.s_pmse, result.z_pmse, result.parameters) == (None, None, 1)


def test_unknown_variables_are_told():
    table = Table([coded("a", [0, 0], "x")])
    with pytest.raises(DataError, match="'nowhere'"):
        logit_pmse(table, table, names=["nowhere"])


@needs_reference
@pytest.mark.parametrize("name", ["cart", "parametric"])
def test_equals_the_reference(name):
    expected = json.loads((REFERENCE / "expected.json").read_text())[name]
    original = load_reference("original.csv")
    result = logit_pmse(original, load_reference(f"synthetic_{name}.csv"))
    assert result.pmse == pytest.approx(expected["pMSE_logit"], rel=1e-9)
    assert result.s_pmse == pytest.approx(expected["S_pMSE_logit"], rel=1e-9)
    assert result.specks == pytest.approx(expected["SPECKS"], rel=1e-9)
    assert result.po50 == pytest.approx(expected["PO50"], rel=1e-9)
    assert result.u == expected["U"]
