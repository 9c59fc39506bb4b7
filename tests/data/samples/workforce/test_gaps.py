"""The regression of the paper finds the gaps that the parameters name."""

import numpy as np
import pytest

from synthesizer.data.samples.workforce import constants as p
from synthesizer.data.samples.workforce.simulation import simulate

PERSONS = 25_000


@pytest.fixture(scope="module")
def frame():
    names = ["sex", "race", "education", "age_range", "agency", "occupation", "year", "basic_pay"]
    frame = simulate(PERSONS, seed=11).select(names).to_pandas()
    return frame[(frame["race"] != "unspecified") & (frame["education"] != p.MISSING)]


def without_effects(x, groups):
    """Return the residuals of the columns on all group effects (alternating projections)."""
    x = x - x.mean(axis=0)
    for _ in range(8):
        for codes in groups:
            count = np.maximum(np.bincount(codes), 1)
            for k in range(x.shape[1]):
                x[:, k] -= (np.bincount(codes, x[:, k]) / count)[codes]
    return x


def coefficients(frame, columns):
    """Regress log pay on columns, age, its square and education within the effects."""
    age = frame["age_range"].astype(str).str[:2].astype(float).to_numpy() + 2
    years = np.array(p.EDUCATION_YEARS)[frame["education"].cat.codes]
    y = np.log(frame["basic_pay"].to_numpy())
    x = np.column_stack([y, age, age**2, years, *columns.values()])
    effects = [frame[name].cat.codes.to_numpy() for name in ("agency", "occupation")]
    x = without_effects(x, [*effects, frame["year"].to_numpy() - 1988])
    found = np.linalg.lstsq(x[:, 1:], x[:, 0], rcond=None)[0]
    return dict(zip(["age", "age2", "education", *columns], found, strict=True))


@pytest.mark.parametrize("sex", p.SEXES)
def test_race_gaps_are_those_documented(frame, sex):
    part = frame[frame["sex"] == sex]
    races = {race: (part["race"] == race).to_numpy(float) for race in p.RACES[:4]}
    found = coefficients(part, races)
    for name, true in p.COEFFICIENTS[sex].items():
        tolerance = {"AIAN": 0.03, "Asian": 0.025}.get(name, 0.016)
        tolerance = {"age": 0.004, "age2": 0.00004, "education": 0.003}.get(name, tolerance)
        assert abs(found[name] - true) < tolerance, (name, found[name], true)


def test_women_are_paid_as_documented(frame):
    white = frame[frame["race"] == "White"]
    found = coefficients(white, {"women": (white["sex"] == "F").to_numpy(float)})
    assert abs(found["women"] - p.COEFFICIENT_OF_WOMEN) < 0.01


def test_injected_gaps_are_near_the_documented_coefficients():
    for gap in p.GAPS:
        assert abs((gap.first + gap.last) / 2 - p.COEFFICIENTS[gap.sex][gap.race]) < 0.01
