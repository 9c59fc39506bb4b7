"""Fits by the design of a survey: values of R's survey package (4.1-1), what is refused."""

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.guessing import Declaration
from synthesizer.data.table import Kind
from synthesizer.measures.utility import compare_fit

DECLARED = {name: Declaration(kind=Kind.NUMERIC) for name in ("x", "y", "w", "visits")}


@pytest.fixture(scope="module")
def survey():
    """Three strata of five units of eight persons; no random numbers, so that R has the same."""
    i = np.arange(120)
    h, u, x = i // 40, i // 8, (i * 37 % 101) / 10
    error = ((i * 53 % 89) - 44) / 20 + ((u * 29 % 13) - 6) / 4
    y = np.round(2 + 0.7 * x + 0.5 * h + error, 3)
    return pd.DataFrame(
        {
            "stratum": h + 1,
            "unit": u + 1,
            "w": 10 + (i * 17 % 23),
            "x": x,
            "y": y,
            "works": (y > 6.5).astype(int),
            "visits": np.maximum(np.rint(y / 2), 0).astype(int),
            "sex": np.where(i % 3 == 0, "f", "m"),
        }
    )


@pytest.mark.parametrize(
    ("formula", "settings", "estimates", "errors"),
    [
        (
            "y ~ x + sex",
            {"strata": "stratum", "psu": "unit"},
            (2.1937450007, 0.7040249673, 0.2676154691),
            (0.33142246133, 0.05083208901, 0.29783726588),
        ),
        (
            "works ~ x",
            {"family": "logit", "strata": "stratum", "psu": "unit"},
            (-5.3921318468, 0.8403827277),
            (1.0662228679, 0.1655707131),
        ),
        (
            "visits ~ x + sex",
            {"family": "poisson", "strata": "stratum", "psu": "unit"},
            (0.35278620182, 0.12489598573, 0.06557800121),
            (0.090026060519, 0.009733423476, 0.070355326299),
        ),
        (
            "y ~ x",
            {"strata": "stratum"},
            (2.3844290352, 0.7017969101),
            (0.26213218991, 0.04795913146),
        ),
        ("y ~ x", {"psu": "unit"}, (2.3844290352, 0.7017969101), (0.33259992501, 0.05242899349)),
    ],
)
def test_estimates_and_errors_are_those_of_r(survey, formula, settings, estimates, errors):
    made = compare_fit(survey, survey, formula, weights="w", declared=DECLARED, **settings)
    assert made.combined.estimate == pytest.approx(estimates, rel=1e-6)
    assert np.sqrt(made.combined.within) == pytest.approx(errors, rel=1e-6)
    naive = compare_fit(survey, survey, formula, weights="w", declared=DECLARED, family=made.family)
    assert np.sqrt(naive.combined.within) != pytest.approx(errors, rel=0.005)


def test_degrees_of_freedom_are_those_of_the_design(survey):
    """Twelve units more than strata; R has 10 for a model of three terms, one of them constant."""
    made = compare_fit(
        survey, survey, "y ~ x + sex", weights="w", strata="stratum", psu="unit", declared=DECLARED
    )
    assert set(made.combined.df) == {10.0}
    assert made.errors == "design-based (linearised) by stratum and unit"


def test_what_has_no_design_based_fit_is_told(survey):
    alone = survey.assign(stratum=np.where(survey.unit == 1, 9, survey.stratum))
    design = {"weights": "w", "strata": "stratum", "psu": "unit", "declared": DECLARED}
    with pytest.raises(DataError, match="1 stratum of 'stratum' with a single unit"):
        compare_fit(alone, survey, "y ~ x", **design)
    kept = compare_fit(survey, alone, "y ~ x", **design)  # by chance, in a synthetic dataset
    assert kept.combined.std_error[1] == pytest.approx(0.056064 * np.sqrt(2), rel=1e-4)
    for formula, settings in (
        ("y ~ x | sex", {}),
        ("sex ~ x", {"family": "multinomial"}),
        ("y ~ x", {"clusters": "unit"}),
    ):
        with pytest.raises(DataError, match="strata and psu are for families"):
            compare_fit(survey, survey, formula, **design, **settings)
    with pytest.raises(DataError, match="did you mean 'stratum'"):
        compare_fit(survey, survey, "y ~ x", weights="w", strata="stratun", declared=DECLARED)
