"""The five analyses of inference from public variables: an example worked by hand."""

import json

import pandas as pd
import pytest

from synthesizer.measures.figure import plain
from synthesizer.measures.risk.inference import inference


def frame(agencies, sexes):
    return pd.DataFrame({"agency": list(agencies), "sex": list(sexes)})


# Cells A: FFM, B: M, C: F, D: MM; the synthesis shows A: FM, B: MM, C: M, E: F and no D.
PEOPLE = frame("AAABCDD", "FFMMFMM")
MADE = frame("AABBCE", "FMMMMF")
SETTINGS = {"sensitive": "sex", "public": ["agency"], "positive": "F"}


@pytest.fixture(scope="module")
def worked():
    return inference(PEOPLE, MADE, **SETTINGS)


def test_worked_uniqueness(worked):
    part = worked.uniqueness
    assert (part.cells, part.synthetic_only, part.absent) == (4, 1, 1)
    assert (part.absent_share, part.absent_mean) == (0.25, 2.0)
    assert (part.uniques, part.present) == (2, 2)
    assert (part.right, part.right_expected) == (0.5, 0.5)  # B shows M, M; C shows M for F
    assert (part.once, part.right_once) == (1, 0.0)  # C
    assert part.chance == 0.5  # true M and F, guessed M and M
    assert part.counts == ((1, 2), (2, 1), (3, 1))


def test_worked_classification(worked):
    part = worked.classification
    assert (part.n, part.synthetic_only) == (6, 1)
    assert part.revealed == pytest.approx((2 + 1 + 0 + 0) / 6)  # A goes to F by its tie
    assert part.baseline == pytest.approx((1 + 1 + 0 + 0) / 6)  # everybody M
    # A: of three with probability 3/7 each, at most two; B and C: one of M.
    assert part.chance == pytest.approx((3 * 3 / 7 - (3 / 7) ** 3 + 4 / 7 + 4 / 7) / 6)
    assert part.original == pytest.approx((2 + 1 + 1 + 2) / 7)
    male = inference(PEOPLE, MADE, **SETTINGS | {"positive": "M"})
    assert male.classification.revealed == pytest.approx((1 + 1 + 0 + 0) / 6)


def test_worked_differences(worked):
    part = worked.differences
    assert (part.cells, part.original_only, part.synthetic_only) == (3, 1, 1)
    assert part.marginal == pytest.approx(3 / 7)
    rows = {row.band_high: row for row in part.own_proportion}
    assert set(rows) == {0.05, 0.2, 1.0}  # B: 0 - 0, A: 1/2 - 2/3, C: 0 - 1
    assert (rows[0.2].band_low, rows[0.2].size_low, rows[0.2].size_high) == (0.1, 1, 3)
    assert rows[0.2].difference.mean == pytest.approx(2 / 6 - 3 / 7)
    assert rows[0.2].relative.mean == pytest.approx(-2 / 9)
    assert rows[0.2].difference.sd is None
    assert rows[0.05].relative.mean == pytest.approx(4 / 3)
    rows = {row.band_high: row for row in part.marginal_proportion}
    assert {band: row.cells for band, row in rows.items()} == {0.1: 1, 0.5: 2}
    assert rows[0.5].difference.mean == pytest.approx((4 / 21 + 1 / 42) / 2)


def test_worked_roc(worked):
    (curve,) = worked.roc
    assert (curve.level, curve.positives, curve.negatives, curve.left_out) == ("F", 3, 2, 2)
    points = [(None, 1, 0), (0, 2 / 3, 1 / 2), (0.5, 0, 1), (1, 0, 1)]
    assert curve.curve == tuple(points)
    assert curve.auc == pytest.approx(7 / 12)
    assert curve.auc_all == pytest.approx(5 / 8)  # D gets 2/6
    assert curve.auc_original == pytest.approx(11 / 12)
    assert (curve.thresholds, curve.best_threshold) == (3, 0.0)
    assert (curve.best_tpr, curve.best_tnr) == (pytest.approx(2 / 3), 0.5)


def test_worked_thresholds(worked):
    part = worked.thresholds
    half, *_, certain = part.rows
    assert (half.threshold, half.count, half.baseline_count, half.original_count) == (0.5, 4, 4, 6)
    assert (certain.count, certain.baseline_count, certain.original_count) == (1, 0, 4)
    assert certain.share == pytest.approx(1 / 7)
    # One synthetic record of three is F. A: two F and one M, B: one M, C: one F, and nobody of D.
    assert half.chance_share == pytest.approx((2 * 5 / 9 + 8 / 9 + 8 / 9 + 1 / 3) / 7)
    assert certain.chance_share == pytest.approx((2 * 1 / 9 + 4 / 9 + 4 / 9 + 1 / 3) / 7)
    assert (part.absent, part.absent_share) == (2, pytest.approx(2 / 7))
    assert part.right == pytest.approx(3 / 7)
    # Among the five records of A, B and C.
    assert part.right_of_present == 0.6
    assert (part.baseline_right_of_present, part.original_right_of_present) == (0.4, 0.8)
    # A shows both (of three), B and C show M (of one each), with 3/7 F and 4/7 M.
    assert half.kept_chance_share == pytest.approx((3 + 4 / 7 + 4 / 7) / 7)
    assert certain.kept_chance_share == pytest.approx((4 / 7 + 4 / 7) / 7)
    assert part.chance_right_of_present == (3 * 3 + 2 * 2) / 25
    assert (part.baseline_right, part.original_right) == (4 / 7, 6 / 7)
    assert part.right_in_both == pytest.approx(1 / 3)
    assert (part.lower, part.equal, part.higher) == (2 / 7, 0.0, 3 / 7)


def test_figures_say_how_to_read_them(worked):
    figures = {figure.name: figure for figure in worked.figures}
    assert list(figures)[:8] == [
        "unique cells shown right",
        "revealed share",
        "revealed share from published margins",
        "AUC",
        "guessed right",
        "guessed right from published margins",
        "probability at least 0.5",
        "probability at least 0.5 from published margins",
    ]
    assert {figure.direction for figure in worked.figures} == {"lower is safer"}
    assert (figures["AUC"].value, figures["AUC"].baseline) == (pytest.approx(7 / 12), 0.5)
    assert figures["probability at least 0.5"].value == pytest.approx(4 / 7)
    assert figures["probability at least 0.5"].baseline == pytest.approx(29 / 49)
    assert "one or two synthetic {records}" in figures["probability at least 0.5"].meaning
    assert (figures["guessed right"].value, figures["guessed right"].baseline) == (0.6, 0.52)
    assert figures["guessed right"].n == 5
    assert figures["revealed share"].n == 6
    assert figures["revealed share"].baseline == worked.classification.chance


def test_published_margins_are_figures_of_their_own(worked):
    figures = {figure.name: figure for figure in worked.figures}
    margins = {name: f for name, f in figures.items() if name.endswith("from published margins")}
    assert [figure.value for figure in margins.values()] == pytest.approx(
        [2 / 6, 0.4, 4 / 7, 0.0, 0.0, 0.0]
    )
    for name, figure in margins.items():
        assert figure.baseline is figure.original is None
        assert figure.n == figures[name.removesuffix(" from published margins")].n
        assert "without the synthetic data" in figure.meaning
    assert "(of everybody)" in margins["guessed right from published margins"].meaning
    known = inference(PEOPLE, MADE, **SETTINGS, baseline=["agency"])
    figures = {figure.name: figure for figure in known.figures}
    assert "(by agency)" in figures["guessed right from published margins"].meaning
    assert figures["guessed right from published margins"].value == pytest.approx(4 / 5)
    assert figures["guessed right"] == next(f for f in worked.figures if f.name == "guessed right")


def test_file_holds_plain_values(worked):
    state = plain(worked)
    assert json.loads(json.dumps(state, allow_nan=False)) == state
    assert state["public"] == ["agency"]
    assert state["classification"]["chance"] == worked.classification.chance
    assert state["thresholds"]["rows"][0]["chance_share"] == pytest.approx(29 / 63)
    assert state["roc"][0]["curve"][0] == [None, 1.0, 0.0]


def test_copies_of_one_dataset_say_what_one_says(worked):
    three = inference(PEOPLE, [MADE, MADE, MADE], **SETTINGS)
    assert (three.m, three.n_synthetic) == (3, 18)
    assert three.classification.revealed == pytest.approx(worked.classification.revealed)
    assert three.classification.baseline == pytest.approx(worked.classification.baseline)
    assert (three.roc, three.differences) == (worked.roc, worked.differences)
    assert three.classification.chance == pytest.approx(worked.classification.chance)
    # Chance, which knows nothing of copies, makes shares of 1 less often in larger cells.
    rows = zip(three.thresholds.rows, worked.thresholds.rows, strict=True)
    same = tuple(row.model_copy(update={"chance_share": one.chance_share}) for row, one in rows)
    assert three.thresholds.model_copy(update={"rows": same}) == worked.thresholds
    assert three.thresholds.rows[-1].chance_share < worked.thresholds.rows[-1].chance_share
    once = {"once": 1, "right_once": 0.0}
    assert three.uniqueness.model_copy(update=once) == worked.uniqueness


def test_cells_come_from_all_datasets_together():
    result = inference(PEOPLE, [MADE, frame("D", "M")], **SETTINGS)
    assert result.uniqueness.absent == 0
    assert result.thresholds.absent == 0
    # B has two records in two datasets: one in the mean.
    assert result.classification.revealed == pytest.approx((1 + 1 + 0 + 0.5 + 0) / 3.5)
