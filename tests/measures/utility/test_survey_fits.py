"""Fits by the design of a survey: values of R's survey package (4.1-1), what is refused."""

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.guessing import Declaration
from synthesizer.data.table import Kind
from synthesizer.measures.survey_design import ReplicateWeights
from synthesizer.measures.utility.compare_fit import compare_fit

DECLARED = {name: Declaration(kind=Kind.NUMERIC) for name in ("x", "y", "w", "visits")}
BRR = ReplicateWeights(columns="rep*", method="brr")


@pytest.fixture(scope="module")
def survey():
    return survey_frame()


def survey_frame():
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


BY_DESIGN = [
    ("y ~ x + sex", {"strata": "stratum", "psu": "unit"},
     (2.1937450007, 0.7040249673, 0.2676154691), (0.33142246133, 0.05083208901, 0.29783726588)),
    ("works ~ x", {"family": "logit", "strata": "stratum", "psu": "unit"},
     (-5.3921318468, 0.8403827277), (1.0662228679, 0.1655707131)),
    ("visits ~ x + sex", {"family": "poisson", "strata": "stratum", "psu": "unit"},
     (0.35278620182, 0.12489598573, 0.06557800121),
     (0.090026060519, 0.009733423476, 0.070355326299)),
    ("y ~ x", {"strata": "stratum"}, (2.3844290352, 0.7017969101), (0.26213218991, 0.04795913146)),
    ("y ~ x", {"psu": "unit"}, (2.3844290352, 0.7017969101), (0.33259992501, 0.05242899349)),
]  # fmt: skip


@pytest.mark.parametrize(("formula", "settings", "estimates", "errors"), BY_DESIGN)
def test_estimates_and_errors_are_those_of_r(survey, formula, settings, estimates, errors):
    made = compare_fit(survey, survey, formula, weights="w", declared=DECLARED, **settings)
    assert made.combined.estimate == pytest.approx(estimates, rel=1e-6)
    assert np.sqrt(made.combined.within) == pytest.approx(errors, rel=1e-6)
    if "+" in formula and made.family == "ols":  # units less strata, less one of the sexes
        assert set(made.combined.df) == {10.0}
        assert made.errors == "design-based (linearised) by stratum and unit"


def test_what_has_no_design_based_fit_is_refused(survey):
    alone = survey.assign(stratum=np.where(survey.unit == 1, 9, survey.stratum))
    design = {"weights": "w", "strata": "stratum", "psu": "unit", "declared": DECLARED}
    with pytest.raises(DataError, match="1 stratum of 'stratum' with a single unit"):
        compare_fit(alone, survey, "y ~ x", **design)
    fit = compare_fit(survey, alone, "y ~ x", **design)  # by chance, in a synthetic dataset
    assert fit.combined.std_error[1] == pytest.approx(0.056064 * np.sqrt(2), rel=1e-4)
    for columns, how, problem in (
        ("rap*", {"method": "brr"}, "0 columns match 'rap"),
        ("rep*", {"method": "jkn", "rscales": [1, 2]}, "2 rscales for 12 columns"),
        ("rep*", {"method": "brr"}, "1 record without one of the weights"),
    ):
        frame = with_replicates(survey)
        frame = frame.assign(rep3=frame.rep3.where(frame.index != 5))
        options = {"weights": "w", "replicates": ReplicateWeights(columns=columns, **how)}
        with pytest.raises(DataError, match=problem):
            compare_fit(frame, frame, "y ~ x", declared=DECLARED, **options)


def with_replicates(survey):
    """Twelve columns, of weights that are half larger or smaller by unit.

    In R: ``sgn <- function(u, k) ifelse(((u*u*k + 3*u*k*k + 5*u + k) %% 7) < 3, -1, 1)``, where u
    is the unit less 1, ``r <- sapply(1:12, function(k) d$w * (1 + 0.5 * sgn(u, k)))``, and
    ``s <- svrepdesign(data=d, weights=d$w, repweights=r, combined.weights=TRUE, type=..., ...)``.
    """
    u = survey.unit.to_numpy() - 1
    made = {}
    for k in range(1, 13):
        smaller = (u * u * k + 3 * u * k * k + 5 * u + k) % 7 < 3
        made[f"rep{k}"] = survey.w * np.where(smaller, 0.5, 1.5)
    return survey.assign(**made)


# Errors of svyglm(y ~ x + sex, s) and svyglm(works ~ x, s, family=quasibinomial()) by SE(...).
BY_REPLICATES = [
    ({"method": "brr"}, (0.14450336861, 0.02157168420, 0.17473009311), 0.06844001769),
    ({"method": "fay", "rho": 0.3}, (0.20643338373, 0.03081669171, 0.24961441873), 0.09777145384),
    ({"method": "jk1"}, (0.47926345461, 0.07154518258, 0.57951415843), 0.22698985931),
    ({"method": "jkn", "rscales": [0.8, 0.75, 0.5] * 4},
     (0.39441852538, 0.06150080357, 0.51462621248), 0.19340226053),
    ({"method": "bootstrap"}, (0.15092884611, 0.02253088932, 0.18249963020), 0.07148326711),
    ({"method": "bootstrap", "scale": 1 / 12},
     (0.14450336861, 0.02157168420, 0.17473009311), 0.06844001769),
    ({"method": "sdr"}, (0.28900673722, 0.04314336839, 0.34946018622), 0.13688003537),
]  # fmt: skip


@pytest.mark.parametrize(("method", "errors", "logit"), BY_REPLICATES)
def test_errors_by_replicate_weights_are_those_of_r(survey, method, errors, logit):
    frame = with_replicates(survey)
    how = ReplicateWeights(columns="rep*", **method)
    options = {"weights": "w", "replicates": how, "declared": DECLARED}
    made = compare_fit(frame, frame, "y ~ x + sex", **options)
    assert made.combined.estimate == pytest.approx((2.1937450007, 0.7040249673, 0.2676154691))
    assert np.sqrt(made.combined.within) == pytest.approx(errors, rel=1e-6)
    assert set(made.combined.df) == {4.0}  # R: degf(s) is 6, one constant
    works = compare_fit(frame, frame, "works ~ x", family="logit", **options)
    assert np.sqrt(works.combined.within[1]) == pytest.approx(logit, rel=1e-6)


@pytest.mark.parametrize("design", [{}, {"strata": "stratum", "psu": "unit"}])
def test_a_note_names_the_factor_of_datasets_without_replicate_weights(survey, design):
    """The errors of R by jackknife over those of the dataset: linearised, or of single records."""
    how = ReplicateWeights(columns="rep*", method="jk1")
    options = {"weights": "w", "replicates": how, "declared": DECLARED, **design}
    made = compare_fit(with_replicates(survey), survey, "y ~ x + sex", **options)
    theirs = np.sqrt(made.combined.within)
    assert not design or theirs == pytest.approx(BY_DESIGN[0][3], rel=1e-6)
    factor = np.median(np.array(BY_REPLICATES[2][1]) / theirs)
    assert f"are {factor:.2f} times as large" in made.notes[0]


STRATA, UNITS = {"weights": "w", "strata": "stratum"}, {"psu": "unit"}


@pytest.mark.parametrize(
    ("datasets", "settings", "rule"),
    [
        (2, STRATA | UNITS, "design"),
        (2, STRATA | {"rule": "simple"}, "simple"),
        (1, STRATA | UNITS, "simple"),
        (2, {"weights": "w"}, "simple"),
        (2, STRATA, "simple"),
        (2, {"weights": "w", "replicates": BRR}, "design"),
    ],
)
def test_the_rule_follows_from_the_design_of_the_datasets(survey, datasets, settings, rule):
    frame = with_replicates(survey)
    several = [frame, frame.assign(y=frame.y + 0.1)][:datasets]
    made = compare_fit(frame, several, "y ~ x", declared=DECLARED, **settings)
    assert (made.rule, made.combined.rule) == (rule, rule)
    assert (made.replicates is not None) == ("replicates" in settings)
    if "replicates" in settings:  # without them nothing shows the design
        plain = [data[survey.columns] for data in several]
        made = compare_fit(frame, plain, "y ~ x", declared=DECLARED, **settings)
        assert made.rule == "simple"
