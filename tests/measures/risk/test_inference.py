"""Inference about a sensitive variable: worked by hand, at both ends, of all kinds of variables."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from synthesizer.data.errors import DataError
from synthesizer.data.pairs import as_table
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.view import person_view
from synthesizer.data.table import Column, Kind, Table
from synthesizer.measures.risk.curves import MAX_POINTS
from synthesizer.measures.risk.public_inference import inference, inference_scores
from synthesizer.measures.scenario import Question
from tests.reference_data import load_reference, needs_reference
from tests.tables import coded, numeric, persons


def frame(agencies, sexes):
    return pd.DataFrame({"agency": list(agencies), "sex": list(sexes)})


# Cells A: FFM, B: M, C: F, D: MM; the synthesis shows A: FM, B: MM, C: M, E: F and no D.
PEOPLE = frame("AAABCDD", "FFMMFMM")
MADE = frame("AABBCE", "FMMMMF")
SETTINGS = {"sensitive": "sex", "public": ["agency"], "positive": "F"}


@pytest.fixture(scope="module")
def worked():
    return inference(PEOPLE, MADE, **SETTINGS)


def test_figures_by_hand(worked):
    """In cell A both sexes have a share of 0.5, which does not exceed it."""
    figures = {figure.key: figure for figure in worked.figures}
    expected = {
        "auc": (7 / 12, 0.5, 5),
        "guessed_right": (0.6, 0.52, 5),
        "probability_above": (1 / 7, 8 / 49, 7),
        "revealed_share": (worked.classification.revealed, worked.classification.chance, 6),
    }
    for key, (value, chance, n) in expected.items():
        figure = figures[key]
        assert (figure.value, figure.chance) == pytest.approx((value, chance))
        assert figure.n == n
    end = "_from_margins"
    margins = [figure for key, figure in figures.items() if key.endswith(end)]
    assert [figure.value for figure in margins] == pytest.approx([2 / 6, 0.4, 4 / 7, 0, 0, 0])
    for figure in margins:
        assert figure.chance is figure.original is None
        key = figure.key.removesuffix(end).replace("_0.5", "")
        assert figure.n == figures[key].n
    assert "; margins of all" in figures["guessed_right_from_margins"].meaning
    known = inference(PEOPLE, MADE, **SETTINGS, baseline=["agency"])
    by_agency = {figure.key: figure for figure in known.figures}
    assert "margins by agency" in by_agency["guessed_right_from_margins"].meaning
    assert by_agency["guessed_right_from_margins"].value == pytest.approx(4 / 5)
    assert by_agency["guessed_right"] == figures["guessed_right"]


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


def class_share(found, inside):
    """Share of the class from that of the true level; rounded, since 1 - 1/3 is not 2/3."""
    return np.round(np.where(inside, found.synthetic, 1 - found.synthetic), 12)


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


@needs_reference
def test_census_data():
    original = load_reference("original.csv")
    made = [load_reference(f"synthetic_cart_{number}.csv") for number in range(1, 6)]
    public = ["PUMA", "AGEP", "SEX", "OWN_RENT"]
    result = inference(original, made, sensitive="RAC1P", public=public, baseline=["PUMA"])
    assert (result.n, result.m, result.n_synthetic) == (7634, 5, 5 * 7634)
    for figure in result.figures:
        assert 0 <= figure.value <= 1
        if figure.chance is not None:
            assert figure.value <= figure.original, figure.name
        if figure.name in COMPARED:
            assert figure.chance < figure.value, figure.name


def test_sensitive_numbers_need_groups():
    table, made = persons(600, 1), persons(500, 2)
    levels = ("[-inf, 0)", "[0, 1000)", "[1000, inf)", "", "-8")
    settings = {"sensitive": "income", "public": ["sex", "marital"], "baseline": ["sex"]}
    settings |= {"groups": {"income": [1000, 0]}}
    for positive in (None, "[0, 1000)", "-8"):
        result = inference(table, made, **settings, positive=positive)
        assert (result.levels, result.positive) == (levels[1:], positive)
    losses = made.with_column(numeric("income", np.full(500, -700.0)))
    assert inference(table, losses, **settings).levels == levels
    assert inference(table, losses, **settings).thresholds.right == 0
    quarters = inference(table, made, **settings | {"groups": {"income": 4}})
    assert len(quarters.levels) == 4 + 2


def test_dates_are_public_and_sensitive():
    hired = replace(numeric("hired", [0]).variable, kind=Kind.DATE)

    def levels(*days, **more):
        table = Table([Column(hired, np.array(days)), coded("sex", np.arange(len(days)) % 2, "FM")])
        return inference(table, table, sensitive="hired", public=["sex"], **more).levels

    assert levels(0.0, 0.5) == ("1970-01-01", "1970-01-01T12:00:00.000000")
    grouped = levels(0.0, 20.0, 90.0, groups={"hired": [31]})
    assert grouped == ("[-inf, 1970-02-01)", "[1970-02-01, inf)")


def test_a_question_is_about_persons_or_about_their_periods():
    """Rows of a panel are records of their own; the words of figures say so."""
    table = frame("AABBB", "FMFFM")
    question = Question(sensitive="sex", public="agency", positive="F", groups={"x": 3})
    plain_table = as_table(table, list(table))
    wide = plain_table.with_column(numeric("more", np.arange(5)))
    assert question.rows(wide).names == ("sex", "agency")
    periods = question.changed(units="periods")
    with pytest.raises(DataError, match="units: only a panel has periods"):
        periods.rows(wide)
    index = PanelIndex.of_presence(np.ones((5, 2), dtype=bool), np.arange(2.0))
    rows = np.arange(10) // 2
    panel = PanelTable([column.take(rows) for column in plain_table.columns], index)
    view = person_view(panel, career=None, constant={"sex"})
    assert periods.rows(view).n_rows == 10
    by_person, by_period = (
        inference(plain_table, plain_table, **(question.settings | {"units": units, "groups": {}}))
        for units in ("persons", "periods")
    )
    assert by_period.place == f"{by_person.place} (person-periods)"
    for one, other in zip(by_person.figures, by_period.figures, strict=True):
        assert other.value == one.value
        words = one.meaning.replace("record", "person")
        assert other.meaning.replace("person-period", "person") == words
