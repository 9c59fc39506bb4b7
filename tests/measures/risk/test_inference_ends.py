"""Inference from public variables at both ends, its curves, and on real data."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from synthesizer.data.table import Table
from synthesizer.measures.figure import plain
from synthesizer.measures.risk.curves import MAX_POINTS
from synthesizer.measures.risk.inference import inference, inference_scores
from tests.reference_data import load_reference, needs_reference
from tests.tables import coded, numeric


def frame(agencies, sexes):
    return pd.DataFrame({"agency": list(agencies), "sex": list(sexes)})


PEOPLE = frame("AAABCDD", "FFMMFMM")
SETTINGS = {"sensitive": "sex", "public": ["agency"], "positive": "F"}


COMPARED = ("unique cells shown right", "revealed share", "AUC", "guessed right")


def value_of(result, name):
    return next(figure.value for figure in result.figures if figure.name == name)


def people(n, seed, *, leak=1.0, levels=2):
    """Two public variables; the sensitive one follows the first with probability ``leak``."""
    rng = np.random.default_rng(seed)
    agency, grade = rng.integers(0, 12, n), rng.integers(1, 6, n)
    secret = np.where(rng.random(n) < leak, agency % levels, rng.integers(0, levels, n))
    return Table(
        [
            coded("agency", agency, [f"a{code}" for code in range(12)]),
            numeric("grade", grade),
            coded("secret", secret, "pqrstu"[:levels]),
        ]
    )


@pytest.mark.parametrize("levels", [2, 4])
def test_the_original_as_its_own_copy_reveals_most(levels):
    table = people(2000, 1, leak=0.5, levels=levels)
    result = inference(table, table, sensitive="secret", public=["agency", "grade"])
    assert result.uniqueness.absent == result.differences.original_only == 0
    assert result.classification.revealed == result.classification.original
    assert result.thresholds.right == result.thresholds.original_right
    assert all(row.count == row.original_count for row in result.thresholds.rows)
    for curve in result.roc:
        assert curve.auc == curve.auc_all == curve.auc_original > 0.6
    for row in result.differences.own_proportion:
        assert row.band_high == 0.05
        assert row.difference.mean == row.relative.mean == 0


def test_a_copy_of_functional_data_reveals_everything():
    table = people(2000, 2, leak=1.0, levels=3)
    result = inference(table, table, sensitive="secret", public=["agency"])
    assert result.classification.revealed == 1
    assert result.thresholds.right == result.thresholds.rows[-1].share == 1
    assert [curve.auc for curve in result.roc] == [1.0] * 3
    assert result.thresholds.higher == 1
    known = inference(table, table, sensitive="secret", public=["agency"], baseline=["agency"])
    assert (known.thresholds.higher, known.thresholds.equal) == (0, 1)
    assert known.thresholds.right_in_both == 1


@pytest.mark.parametrize("levels", [2, 4])
def test_independent_data_reveal_what_chance_does(levels):
    table, made = (people(20_000, seed, leak=0.0, levels=levels) for seed in (3, 4))
    result = inference(table, made, sensitive="secret", public=["agency", "grade"])
    for figure in (figure for figure in result.figures if figure.baseline is not None):
        assert figure.value == pytest.approx(figure.baseline, abs=0.03), figure.name
    # Cells of hundreds of records: guesses are the most frequent level, or as good as any other.
    part = result.thresholds
    assert part.right == pytest.approx(part.baseline_right, abs=0.03)
    assert result.thresholds.rows[-1].count == 0


def test_no_cell_in_common():
    result = inference(PEOPLE, frame("XYZ", "FMM"), **SETTINGS)
    assert (result.uniqueness.absent_share, result.uniqueness.right) == (1.0, None)
    assert (result.uniqueness.present, result.uniqueness.chance) == (0, None)
    assert result.classification.revealed == 0
    assert (result.differences.cells, result.differences.own_proportion) == (0, ())
    (curve,) = result.roc
    assert (curve.auc, curve.left_out, curve.curve) == (None, 7, ())
    assert curve.auc_all == 0.5  # nobody can be told from anybody
    part = result.thresholds
    assert (part.right, part.right_of_present, part.right_in_both) == (0, None, None)
    assert (part.absent_share, part.lower + part.equal + part.higher) == (1, 0)
    assert part.chance_right_of_present is None
    assert [row.chance_share for row in part.rows] == [0.0] * 4
    assert [row.kept_chance_share for row in part.rows] == [0.0] * 4
    assert result.classification.chance == 0
    assert [value_of(result, name) for name in COMPARED] == [None, 0, None, None]
    json.dumps(plain(result), allow_nan=False)


def test_a_difference_at_the_end_of_a_band_is_in_it():
    original, made = frame("A" * 10, "FFFFFFFMMM"), frame("A" * 10, "FFFFFFFFMM")
    (row,) = inference(original, made, **SETTINGS).differences.own_proportion
    assert 0.8 - 0.7 > 0.1  # as computers have it
    assert (row.band_low, row.band_high) == (0.05, 0.1)


def test_uniques_are_lacking():
    result = inference(frame("AABB", "FMFM"), frame("AB", "FM"), **SETTINGS)
    assert (result.uniqueness.uniques, result.uniqueness.right) == (0, None)
    assert result.figures[0].value is result.figures[0].original is None


def class_share(found, inside):
    """Share of the class from that of the true level; rounded, since 1 - 1/3 is not 2/3."""
    return np.round(np.where(inside, found.synthetic, 1 - found.synthetic), 12)


def test_area_is_that_of_scikit_learn():
    table, made = people(3000, 5, leak=0.2), people(2000, 6, leak=0.2)
    (curve,) = inference(table, made, sensitive="secret", public=["agency", "grade"]).roc
    found = inference_scores(table, made, sensitive="secret", public=["agency", "grade"])
    inside = table["secret"].data == "pq".index(curve.level)
    share = class_share(found, inside)
    assert curve.left_out == np.isnan(share).sum() == 0
    assert curve.auc == pytest.approx(roc_auc_score(inside, share), abs=1e-12)


def test_long_curves_are_thinned_but_their_area_is_exact():
    rng = np.random.default_rng(7)
    n = 250_000
    cell = rng.integers(0, 2500, n)
    p = 0.05 + 0.9 * cell / 2500
    table, made = (
        Table([numeric("cell", cell), coded("sex", rng.random(n) < p, "MF")]) for _ in range(2)
    )
    (curve,) = inference(table, made, sensitive="sex", public=["cell"], positive="F").roc
    found = inference_scores(table, made, sensitive="sex", public=["cell"], positive="F")
    inside = table["sex"].data == 1
    use = ~np.isnan(found.synthetic)
    share = class_share(found, inside)
    assert curve.auc == pytest.approx(roc_auc_score(inside[use], share[use]), abs=1e-12)
    assert curve.thresholds > 1.2 * MAX_POINTS > len(curve.curve) > 0.5 * MAX_POINTS
    thresholds, tpr, tnr = zip(*curve.curve, strict=True)
    assert (tpr[0], tnr[0], tpr[-1], tnr[-1]) == (1, 0, 0, 1)
    assert list(thresholds[1:]) == sorted(thresholds[1:])
    area = (np.diff(tnr) * (np.array(tpr[1:]) + tpr[:-1])).sum() / 2
    assert area == pytest.approx(curve.auc, abs=1e-4)


def test_more_levels_are_curves_of_one_against_the_rest():
    table, made = people(3000, 8, leak=0.4, levels=4), people(3000, 9, leak=0.4, levels=4)
    settings = {"sensitive": "secret", "public": ["agency"]}
    result = inference(table, made, **settings)
    assert result.positive is None
    assert [curve.level for curve in result.roc] == list(result.levels) == list("pqrs")
    weights = [curve.positives for curve in result.roc]
    areas = [curve.auc for curve in result.roc]
    assert value_of(result, "AUC") == pytest.approx(np.average(areas, weights=weights))
    named = inference(table, made, **settings, positive="r")
    assert value_of(named, "AUC") == named.roc[2].auc
    assert named.differences.marginal == pytest.approx((table["secret"].data == 2).mean())
    assert (named.roc, named.classification) == (result.roc, result.classification)


def test_equal_shares_of_more_levels_go_to_the_more_frequent_one():
    people_, made = frame("AAABBB", "xyzzzy"), frame("AAAB", "xyzz")
    result = inference(people_, made, sensitive="sex", public=["agency"])
    found = inference_scores(people_, made, sensitive="sex", public=["agency"])
    assert found.right.tolist() == [False, False, True, True, True, False]
    assert result.classification.revealed == pytest.approx((1 + 1) / 4)


@needs_reference
def test_census_data():
    original = load_reference("original.csv")
    made = [load_reference(f"synthetic_cart_{number}.csv") for number in range(1, 6)]
    result = inference(
        original,
        made,
        sensitive="RAC1P",
        public=["PUMA", "AGEP", "SEX", "OWN_RENT"],
        baseline=["PUMA"],
    )
    assert (result.n, result.m, result.n_synthetic) == (7634, 5, 5 * 7634)
    for figure in result.figures:
        assert 0 <= figure.value <= 1
        if figure.baseline is not None:
            assert figure.value <= figure.original, figure.name
        if figure.name in COMPARED:
            assert figure.baseline < figure.value, figure.name
    # One level has 87 % of the persons: by chance too it has the half of most cells.
    assert all(row.kept_chance_share < row.share for row in result.thresholds.rows)
    part = result.thresholds
    assert part.absent_share + part.lower + part.equal + part.higher == pytest.approx(1)
