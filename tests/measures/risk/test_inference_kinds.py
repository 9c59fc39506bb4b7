"""Inference from public variables: kinds of variables, frames and tables, and what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.table import Column, Kind, Table
from synthesizer.measures.risk.inference import inference, inference_scores
from tests.tables import coded, numeric, persons


def frame(agencies, sexes):
    return pd.DataFrame({"agency": list(agencies), "sex": list(sexes)})


PEOPLE = frame("AAABCDD", "FFMMFMM")
MADE = frame("AABBCE", "FMMMMF")
SETTINGS = {"sensitive": "sex", "public": ["agency"], "positive": "F"}


def test_missing_codes_are_values_on_both_sides():
    original = frame("AAB", "FMF").assign(sex=["F", None, "F"], agency=["A", None, None])
    made = original.iloc[::-1]
    result = inference(original, made, sensitive="sex", public=["agency"])
    assert result.levels == ("F", "")
    assert result.uniqueness.cells == 2
    assert (result.uniqueness.absent, result.uniqueness.right) == (0, 1.0)
    assert result.thresholds.right == pytest.approx(2 / 3)


def test_numbers_are_truncated_to_groups():
    original = pd.DataFrame({"pay": [-700.0, -1.0, 500.0, 1500.0, np.nan], "sex": list("FMFMF")})
    made = pd.DataFrame({"pay": [-300.0, 1.0, 999.5, 1000.0, np.nan], "sex": list("FMFMF")})
    settings = {"sensitive": "sex", "public": ["pay"], "groups": {"pay": range(-1000, 3000, 1000)}}
    result = inference(original, made, **settings)
    assert (result.uniqueness.cells, result.uniqueness.absent) == (4, 0)
    found = inference_scores(original, made, **settings)
    assert found.synthetic.tolist() == [1.0, 0.0, 0.5, 1.0, 1.0]


def test_quantile_groups_are_those_of_the_original():
    original = pd.DataFrame({"pay": [1.0, 2.0, 3.0, 4.0], "sex": list("FFMM")})
    made = pd.DataFrame({"pay": [2.6, 30.0, 40.0, 50.0], "sex": list("MMMM")})
    result = inference(original, made, sensitive="sex", public=["pay"], groups={"pay": 2})
    assert (result.uniqueness.cells, result.uniqueness.absent) == (2, 1)
    assert result.classification.revealed == 0.5  # four records, two of them true


def test_sensitive_numbers_need_groups():
    table, made = persons(600, 1), persons(500, 2)
    settings = {"sensitive": "income", "public": ["sex", "marital"]}
    with pytest.raises(DataError, match=r"'income' has \d+ levels, more than 100: name it in gro"):
        inference(table, made, **settings)
    levels = ("[-inf, 0)", "[0, 1000)", "[1000, inf)", "", "-8")
    settings |= {"groups": {"income": [1000, 0]}, "baseline": ["sex"]}
    for positive in (None, "[0, 1000)", "-8"):
        result = inference(table, made, **settings, positive=positive)
        assert (result.levels, result.positive) == (levels[1:], positive)
    losses = made.with_column(numeric("income", np.full(500, -700.0)))
    assert inference(table, losses, **settings).levels == levels
    assert inference(table, losses, **settings).thresholds.right == 0
    quarters = inference(table, made, **settings | {"groups": {"income": 4}})
    assert len(quarters.levels) == 4 + 2


def test_few_numbers_and_truth_values_are_levels():
    original = pd.DataFrame({"sex": [1, 2, 2, 1], "agency": list("AABB"), "vet": [True, False] * 2})
    result = inference(original, original, sensitive="sex", public=["agency"], positive=1)
    assert (result.levels, result.positive) == (("1", "2"), "1")
    result = inference(original, original, sensitive="vet", public=["agency"], positive=True)
    assert result.positive == "true"


def test_dates_are_public_and_sensitive():
    days = pd.to_datetime(["2001-03-01", "2001-03-01", "2002-05-06", None, "2001-03-01"])
    original = pd.DataFrame({"hired": days, "sex": list("FFMMF")})
    result = inference(original, original, sensitive="sex", public=["hired"])
    assert (result.uniqueness.cells, result.uniqueness.uniques) == (3, 2)
    result = inference(original, original, sensitive="hired", public=["sex"])
    assert result.levels == ("2001-03-01", "2002-05-06", "")
    cut = (pd.Timestamp("2002-01-01") - pd.Timestamp("1970-01-01")).days
    grouped = inference(
        original, original, sensitive="hired", public=["sex"], groups={"hired": [cut]}
    )
    assert grouped.levels == ("[-inf, 2002-01-01)", "[2002-01-01, inf)", "")
    column = original_date(np.array([0.0, 0.5]))
    table = Table([column, coded("sex", [0, 1], "FM")])
    assert inference(table, table, sensitive="hired", public=["sex"]).levels == (
        "1970-01-01",
        "1970-01-01T12:00:00.000000",
    )


def original_date(days):
    variable = replace(numeric("hired", [0]).variable, kind=Kind.DATE)
    return Column(variable, days)


def test_levels_on_one_side_are_no_error():
    result = inference(PEOPLE, frame("AAB", "FXX"), **SETTINGS)
    assert result.levels == ("F", "M", "X")
    assert [curve.auc for curve in result.roc if curve.level == "X"] == [None]
    # A goes to F (the tie with X), B to X, which nobody there is.
    assert result.classification.revealed == pytest.approx((2 + 0) / 3)
    assert next(f.value for f in result.figures if f.name == "AUC") is not None


def test_frames_and_tables_give_the_same():
    rng = np.random.default_rng(12)

    def make(n):
        return pd.DataFrame(
            {
                "agency": rng.choice(list("ABCD"), n),
                "pay": rng.integers(-3, 5, n).astype(float),
                "sex": rng.choice(list("FM"), n),
            }
        )

    original, made = make(300), [make(200), make(250)]

    def table_of(data):
        agencies, sexes = sorted(set(data["agency"])), list("MF")
        return Table(
            [
                coded("agency", [agencies.index(a) for a in data["agency"]], agencies),
                numeric("pay", data["pay"].to_numpy()),
                coded("sex", [sexes.index(s) for s in data["sex"]], sexes),
            ]
        )

    settings = {"sensitive": "sex", "public": ["agency", "pay"], "positive": "F"}
    one = inference(original, made, **settings, baseline=["agency"])
    other = inference(
        table_of(original), [table_of(data) for data in made], **settings, baseline=["agency"]
    )
    assert one == other.model_copy(update={"levels": one.levels})
    assert set(one.levels) == set(other.levels)


PROBLEMS = [
    ({"public": []}, "there are no public variables"),
    ({"public": ["agency", "sex"]}, "sensitive variable 'sex' is also public"),
    ({"public": ["agency", "agency"]}, "public variable 'agency' is named twice"),
    ({"public": ["agency", "grade"]}, "public variable 'grade' is not in the data"),
    ({"sensitive": "race"}, "sensitive variable 'race' is not in the data"),
    ({"positive": "X"}, "positive is none of the 2 levels of sensitive variable 'sex'"),
    ({"baseline": ["year"]}, "baseline variable 'year' is not public"),
    ({"thresholds": [0.5, 0, 1.1]}, r"threshold \(1.1\) must be above 0 and at most 1"),
    ({"groups": {"agency": 3}}, "groups name 'agency', which is not numeric"),
    ({"groups": {"grade": 3}}, "groups name 'grade', which is not in the data"),
]


@pytest.mark.parametrize(("change", "message"), PROBLEMS)
def test_bad_settings_are_told(change, message):
    with pytest.raises(DataError, match=message):
        inference(PEOPLE, MADE, **SETTINGS | change)


def test_all_problems_are_told_at_once_and_no_value_of_the_data():
    with pytest.raises(DataError) as caught:
        inference(
            PEOPLE, frame("", ""), sensitive="race", public=["agency", "unknown"], baseline=["x"]
        )
    assert "no records" in str(caught.value)
    with pytest.raises(DataError) as caught:
        inference(PEOPLE, MADE, sensitive="race", public=["a", "b"], baseline=["x"], thresholds=[2])
    assert len(caught.value.problems) >= 5
    with pytest.raises(DataError) as caught:
        inference(PEOPLE, MADE, **SETTINGS | {"positive": "secret value"})
    assert "secret value" not in str(caught.value)


def test_bad_data_are_told():
    one = PEOPLE.assign(sex="F")
    with pytest.raises(DataError, match="'sex' has only one level"):
        inference(one, MADE, sensitive="sex", public=["agency"])
    with pytest.raises(DataError, match="'sex' is not in synthetic dataset 1"):
        inference(PEOPLE, MADE[["agency"]], **SETTINGS)
    with pytest.raises(DataError, match="no synthetic dataset"):
        inference(PEOPLE, [], **SETTINGS)
    table = persons(50)
    with pytest.raises(DataError, match="the original has no records"):
        inference(table.take(slice(0, 0)), table, sensitive="marital", public=["sex"])
    with pytest.raises(DataError, match="'age' falls into one group: give more groups"):
        inference(table, table, sensitive="age", public=["sex"], groups={"age": 1})
    many = Table(
        [coded("job", range(101), [f"j{i}" for i in range(101)]), numeric("a", range(101))]
    )
    with pytest.raises(
        DataError, match="'job' has 101 levels, more than 100: merge its categories"
    ):
        inference(many, many, sensitive="job", public=["a"])
