"""Tables, curves, residuals and accuracy: right without noise; a person moves them as stated."""

import numpy as np
import pandas as pd
import pytest
from replay_trials import Exact
from sklearn.metrics import roc_auc_score

from synthesizer.data.table import Column, Table
from synthesizer.extensions.verification.mechanisms import DryNoise, PlannedNoise
from synthesizer.extensions.verification.messages import WORDS
from synthesizer.extensions.verification.prediction_questions import (
    resampled,
    roc_points,
    without_noise,
)
from synthesizer.extensions.verification.public_schema import PublicSchema, SchemaVariable
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.questions import QueryRows, within
from synthesizer.extensions.verification.table_questions import CountQuestion, MeanQuestion
from synthesizer.measures.figure import plain
from synthesizer.report.page import fragment

SCHEMA = PublicSchema(
    person="person",
    rows_per_person=4,
    variables={
        "pay": SchemaVariable(kind="numeric", low=0.0, high=100.0),
        "sex": SchemaVariable(kind="categorical", levels=("M", "F")),
        "job": SchemaVariable(kind="categorical", levels=tuple("abcde")),
        "year": SchemaVariable(kind="numeric", low=2001.0, high=2004.0, whole=True),
    },
)
LINEAR = {"formula": "pay ~ sex + year | job"}
LOGIT = {"formula": "I(pay > 50) ~ sex + year", "family": "logit"}


def view(n=300, seed=0, gap=-20.0):
    """Persons in four years, a few values missing."""
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(n), 4)
    sex, job = rng.integers(0, 2, n)[owners], rng.integers(0, 5, 4 * n)
    year = np.tile(np.arange(2001.0, 2005.0), n)
    pay = 60 + 2 * job + gap * sex + rng.normal(0, 12, 4 * n) + 2 * (year - 2001)
    pay[rng.random(4 * n) < 0.05] = np.nan
    return view_of(owners, pay, sex, job, year, n)


def view_of(owners, pay, sex, job, year, n):
    variables = {v.name: v for v in SCHEMA.table_schema}
    columns = [
        Column(variables["pay"], pay),
        Column(variables["sex"], np.asarray(sex, dtype=np.int32)),
        Column(variables["job"], np.asarray(job, dtype=np.int32)),
        Column(variables["year"], np.asarray(year, dtype=float)),
    ]
    return QueryRows.of(Table(columns, len(owners)), tuple(map(str, range(n))), owners, b"k" * 32)


def frame(made):
    columns = {name: made.table[name].data for name in ("pay", "sex", "job", "year")}
    return pd.DataFrame({**columns, "person": made.owners})


def valid_query(ask, **others):
    query = query_of({"epsilon": 1.0, **others, "ask": ask})
    assert query.problems(SCHEMA) == []
    return query


def released(query, made, synthetic=None, noise=None):
    prepared = query.ask.prepare(query, SCHEMA, synthetic or view())
    return query.ask.release(query, prepared, made, noise or Exact())


def answer(query, made, noise=None):
    prepared = query.ask.prepare(query, SCHEMA, view())
    drawn = query.ask.release(query, prepared, made, noise or Exact())
    return query.ask.conclude(query, prepared, drawn)


QUERIES = {
    "counts": valid_query({"measure": "counts", "by": ["sex", "job"]}),
    "rows": valid_query({"measure": "counts", "by": ["year", "sex"], "rows": 3}),
    "total": valid_query({"measure": "counts"}),
    "means": valid_query({"measure": "means", "of": "pay", "by": ["sex"]}),
    "means of rows": valid_query({"measure": "means", "of": "pay", "by": ["year"], "rows": 4}),
    "roc": valid_query({"measure": "roc", "cells": 20}, **LOGIT),
    "residuals": valid_query({"measure": "residuals", "cells": 8}, **LINEAR),
    "error": valid_query({"measure": "accuracy"}, **LINEAR),
    "right": valid_query({"measure": "accuracy"}, **LOGIT),
}
EACH = pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)


def neighbour(made, rng):
    """The file with all rows of one person left out, or with others, hostile ones too."""
    n = len(made.persons)
    person = int(rng.integers(0, n))
    keep = np.flatnonzero(made.owners != person)
    if rng.random() < 0.3:
        return made.take(keep)
    count = int(rng.integers(1, 9))  # more rows than the public schema allows
    pay = rng.choice([0.0, 100.0, 1e308, -1e308, np.inf, np.nan, 5e-324, 50.0], count)
    drawn = [
        rng.integers(-1, 2, count),
        rng.integers(-1, 5, count),
        rng.integers(2000, 2006, count),
    ]
    columns = [frame(made)[name].to_numpy()[keep] for name in ("pay", "sex", "job", "year")]
    joined = [np.concatenate(pair) for pair in zip(columns, [pay, *drawn], strict=True)]
    owners = np.concatenate([made.owners[keep], np.full(count, person)])
    order = rng.permutation(len(owners))
    return view_of(owners[order], *(values[order] for values in joined), n)


def largest_moves(query, pairs, seed=0):
    """Return what a person moves at most, as a part of what the mechanisms are made for."""
    rng = np.random.default_rng(seed)
    made = view(40, seed=1)
    prepared = query.ask.prepare(query, SCHEMA, view())
    before = query.ask.release(query, prepared, made, Exact())
    worst = 0.0
    for _ in range(pairs):
        after = query.ask.release(query, prepared, neighbour(made, rng), Exact())
        for mechanism, one, other in zip(
            query.ask.mechanisms(query, prepared), before, after, strict=True
        ):
            moved = np.abs(np.subtract(one, other)).sum()
            worst = max(worst, moved / mechanism.distance)
    return worst


@EACH
def test_a_person_moves_no_more_than_the_noise_is_for(query):
    assert 0 < largest_moves(query, pairs=60) <= 1


class AllRows(CountQuestion):
    """Wrong on purpose: every row of a person counts."""

    def _counts(self, groups, view):
        cells = groups.cells(view.table)
        return np.bincount(cells[cells >= 0], minlength=groups.size)


class Unclipped(MeanQuestion):
    """Wrong on purpose: values are not clipped."""

    def _totals(self, groups, ends, view):
        sums, counts = super()._totals(groups, ends, view)
        pay = np.nan_to_num(view.one_row().table["pay"].data, posinf=1e9).clip(-1e9, 1e9)
        return sums + np.int64(pay[pay > 100].sum()), counts


@pytest.mark.parametrize("wrong", [AllRows(by=("sex",)), Unclipped(by=("sex",), of="pay")])
def test_a_sensitivity_that_is_wrong_is_found(wrong):
    query = QUERIES["total"].model_copy(update={"ask": wrong})
    assert largest_moves(query, pairs=60) > 1


def test_tables_without_noise_are_those_of_pandas():
    made, data = view(), frame(view())
    for by, rows in ((["sex", "year"], 4), (["sex"], 1), (["job", "sex"], 4)):
        (counts,) = released(valid_query({"measure": "counts", "by": by, "rows": rows}), made)
        groups = data.groupby(by)
        expected = groups.size() if rows == 4 else groups.person.nunique()
        assert list(counts) == expected.tolist()
    assert released(QUERIES["total"], made) == ((300,),)
    for low, high in ((0.0, 100.0), (40.0, 60.0)):
        ask = {"measure": "means", "of": "pay", "by": ["sex"], "rows": 4, "low": low, "high": high}
        result = answer(valid_query(ask), made)
        expected = data.assign(pay=data.pay.clip(low, high)).groupby("sex").pay.mean()
        for key in ("value", "synthetic"):
            values = [getattr(cell, key) for cell in result.cells]
            assert values == pytest.approx(expected.tolist(), abs=0.03)
        assert [cell.cell for cell in result.cells] == ["M", "F"]
        assert all(low <= cell.low < cell.value < cell.high <= high for cell in result.cells)
    query = QUERIES["means"]
    prepared = query.ask.prepare(query, SCHEMA, made)
    result = query.ask.conclude(query, prepared, ((-(10**9), 10**9), (200, 200)))
    assert [(c.low, c.value, c.high) for c in result.cells] == [(0, 0, 0), (100, 100, 100)]


PANEL = SCHEMA.model_copy(update={"period": "year"})
ONE_YEAR = "year == 2002"


@pytest.mark.parametrize(
    ("by", "rows", "subset", "is_refused"),
    [
        (["sex", "year"], 3, None, True),
        (["year"], 4, None, False),
        (["sex"], 1, None, False),
        (["year"], 1, f"{ONE_YEAR} and sex == 'F'", False),
        (["year"], 1, f"sex == 'F' or pay > 1 and {ONE_YEAR} and pay > 2", True),
        (["year"], 1, f"not (pay > 1 and {ONE_YEAR} and pay > 2)", True),
        (["year"], 1, "year == 1999", True),
        (["year"], 1, "year in [2001, 2002]", True),
    ],
)
def test_cells_of_the_time_need_all_rows_or_one_time(by, rows, subset, is_refused):
    query = query_of({"ask": {"measure": "counts", "by": by, "rows": rows}, "subset": subset})
    problems = query.problems(PANEL)
    assert [problem.partition(":")[0] for problem in problems] == ["ask.rows"] * is_refused
    assert query.problems(SCHEMA) == []  # it has no time


@pytest.mark.parametrize(("subset", "is_refused"), [("job == 'a'", 0), ("job != 'a'", 1)])
def test_a_time_may_be_a_level(subset, is_refused):
    by_job = SCHEMA.model_copy(update={"period": "job"})
    query = query_of({"ask": {"measure": "counts", "by": ["job"]}, "subset": subset})
    refused = [problem for problem in query.problems(by_job) if problem.startswith("ask.rows")]
    assert len(refused) == is_refused


@pytest.mark.parametrize(
    ("ask", "subset", "is_drawn"),
    [
        ({}, None, True),
        ({}, ONE_YEAR, False),
        ({"rows": 3}, None, True),
        ({"rows": 4}, None, False),
    ],
)
def test_answers_name_what_is_in_their_cells(ask, subset, is_drawn):
    query = query_of({"ask": {"measure": "counts", "by": ["sex"], **ask}, "subset": subset})
    made = within(view(), query)
    prepared = query.ask.prepare(query, PANEL, made)
    result = query.ask.conclude(query, prepared, query.ask.release(query, prepared, made, Exact()))
    assert result.what in result.words[0]
    assert (WORDS["rows_drawn"] in result.words) == is_drawn
    if subset:  # as many persons as have a row in that year
        data = frame(made)
        assert [c.value for c in result.cells] == data.groupby("sex").person.nunique().tolist()


@pytest.mark.parametrize("name", ["counts", "means", "means of rows", "error", "right", "roc"])
def test_intervals_hold_what_there_is_without_noise(name):
    query, made = QUERIES[name], view(3_000, seed=4)
    prepared = query.ask.prepare(query, SCHEMA, view())
    drawn = query.ask.release(query, prepared, made, Exact())
    truth = [
        getattr(cell, VALUE.get(name, "value"))
        for cell in cells_of(query.ask.conclude(query, prepared, drawn))
    ]
    held, widths = [], []
    for _ in range(8 if name == "roc" else 60):
        noisy = tuple(
            DryNoise().draw(m, values)
            for m, values in zip(query.ask.mechanisms(query, prepared), drawn, strict=True)
        )
        cells = cells_of(query.ask.conclude(query, prepared, noisy))
        held += [c.low <= t <= c.high for c, t in zip(cells, truth, strict=True)]
        widths += [c.high - c.low for c in cells]
    assert np.mean(held) > (0.4 if name == "roc" else 0.9)
    assert name != "roc" or np.mean(widths) < 0.12


VALUE = {"roc": "area"}


def cells_of(result):
    return getattr(result, "cells", (result,))


def predicted(name, made):
    """Return the query, what it prepared, and response and prediction of one row a person."""
    query = QUERIES[name]
    prepared = query.ask.prepare(query, SCHEMA, view())
    return query, prepared, *prepared.predictor.predict(made.one_row().table)


def test_predictions_are_those_of_the_model_of_the_synthetic_data():
    *_, y, predictions = predicted("error", made := view())
    f = frame(made).dropna()
    X = np.column_stack([f.sex == 1, f.year, *(f.job == job for job in range(5))]).astype(float)
    expected = X @ np.linalg.lstsq(X, f.pay, rcond=None)[0]
    f = f.assign(expected=expected).set_index(["person", "year"])
    one = made.one_row()
    rows = frame(one).dropna()
    np.testing.assert_allclose(y, rows.pay)
    index = pd.MultiIndex.from_arrays([rows.person, rows.year])
    np.testing.assert_allclose(predictions, f.expected.loc[index], rtol=1e-6)


def test_curve_accuracy_and_residuals_against_the_obvious():
    made = view(800, seed=2)
    query, _, y, score = predicted("roc", made)
    result = answer(query, made)
    assert result.area == pytest.approx(roc_auc_score(y, score), abs=0.02)
    assert result.low <= result.area <= result.high
    assert 0.6 < result.synthetic < 0.99
    for name in ("right", "error"):
        query, prepared, y, score = predicted(name, made)
        right = (score >= 0.5) == (y == 1)
        expected = right if name == "right" else np.minimum(np.abs(y - score), prepared.ends[1])
        result = answer(query, made)
        assert result.value == pytest.approx(expected.mean(), abs=0.02)
        assert result.low <= result.value <= result.high
    query, prepared, y, score = predicted("residuals", made)
    result = answer(query, made)
    counts = np.array(result.counts)
    assert counts.sum() == len(y) == len(result.points)
    edges = [np.linspace(*ends, 9) for ends in prepared.ends]
    inner = np.histogram2d(score, y - score, bins=edges)[0][1:-1, 1:-1]
    np.testing.assert_array_equal(counts[1:-1, 1:-1], inner)
    assert not [row for row in result.rows if abs(row.mean or 0) > row.reach + 8]
    points = resampled(counts * (np.arange(8) == 2), np.array(prepared.ends))
    low, high = edges[1][2:4]
    assert len(points) == counts[:, 2].sum()
    assert ((low <= points[:, 1]) & (points[:, 1] <= high)).all()


def test_a_curve_of_noise_only_rises():
    rng = np.random.default_rng(0)
    for _ in range(50):
        points = roc_points(rng.integers(-20, 30, 40))
        assert (np.diff(points, axis=0) >= 0).all()
        assert points[0].tolist() == [0, 0]
        assert points[-1].tolist() == [1, 1]
    assert roc_points(np.full(10, -3))[-1].tolist() == [1, 1]


def test_another_relation_shows_in_the_residuals():
    query = valid_query({"measure": "residuals", "cells": 10}, formula="pay ~ sex + year")
    assert "stays near 0" in answer(query, view(6_000, seed=3)).words[1]
    assert "does not fit" in answer(query, view(6_000, seed=3, gap=10.0)).words[1]


def test_a_model_that_predicts_otherwise_is_named_better_or_worse():
    for name, gap, verb in (("right", -45.0, "better"), ("right", 10.0, "worse"),
                            ("error", 10.0, "worse"), ("roc", -45.0, "better")):  # fmt: skip
        assert verb in answer(QUERIES[name], view(6_000, seed=3, gap=gap)).words[1]


def test_counts_without_noise_keep_their_sum():
    rng = np.random.default_rng(0)
    for mean in np.linspace(-3, 3, 50):
        counts = np.rint(rng.normal(mean, 4, 30)).astype(int)
        denoised = without_noise(counts)
        assert denoised.sum() == pytest.approx(max(0, counts.sum()))
        assert denoised.min() >= 0
        # the nearest ones: those that are left got smaller by the same, the others are no larger
        less = counts.max() - denoised.max()
        assert denoised == pytest.approx(np.maximum(counts - less, 0))


@EACH
def test_whatever_a_file_holds_is_an_answer_at_the_price_that_was_offered(query):
    rng, n, made = np.random.default_rng(3), 60, view()
    pay = rng.choice([np.nan, np.inf, -np.inf, 1e308, 5e-324, 3.0], n)
    year = np.full(n, 1e300)
    hostile = view_of(np.arange(n), pay, np.full(n, -1), rng.integers(-1, 5, n), year, n)
    mechanisms = query.ask.mechanisms(query, query.ask.prepare(query, SCHEMA, made))
    assert sum(m.epsilon for m in mechanisms) == 1_000_000
    for odd in (hostile, made.take(np.zeros(0, dtype=np.int64)), view(seed=9)):
        result = answer(query, odd, PlannedNoise(DryNoise(), mechanisms))
        assert plain(result)["released"]
        assert type(result).model_validate(plain(result)) == result
        assert all(fragment(block) for block in result.blocks())


@pytest.mark.parametrize(
    ("ask", "others", "words"),
    [
        ({"measure": "counts", "by": ["pay"]}, {}, "'pay' has no levels"),
        ({"measure": "counts", "by": ["sex"], "rows": 5}, {}, "ask.rows: "),
        ({"measure": "means", "of": "sex"}, {}, "'sex' is not numeric"),
        ({"measure": "means", "of": "pay", "low": 200.0}, {}, "ask.low: 200"),
        ({"measure": "roc"}, LINEAR, "only logit"),
        ({"measure": "residuals"}, LOGIT, "only linear"),
        ({"measure": "accuracy", "most": 3.0}, LOGIT, "remove most"),
        ({"measure": "roc"}, {**LOGIT, "formula": "I(pay > 50) ~ sex | job"}, "no fixed effects"),
    ],
)
def test_what_cannot_be_asked_is_refused(ask, others, words):
    problems = query_of({**others, "ask": ask}).problems(SCHEMA)
    assert any(words in problem for problem in problems)


def test_a_table_of_too_many_cells_is_refused():
    codes = SchemaVariable(kind="numeric", low=1.0, high=900.0, whole=True)
    schema = SCHEMA.model_copy(update={"variables": {**SCHEMA.variables, "code": codes}})
    problems = query_of({"ask": {"measure": "counts", "by": ["code", "job"]}}).problems(schema)
    assert "4,500 cells" in problems[0]
