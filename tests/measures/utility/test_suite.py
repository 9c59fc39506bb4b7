"""The suite: the same figures as the measures alone, one dataset after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.panel.arrangement import panel_rows
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.view import PersonView, person_view
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.measures.checks import Checks
from synthesizer.measures.measure import Synthesis
from synthesizer.measures.results import UtilityResult
from synthesizer.measures.settings import ALL_OFF, CheckSettings
from synthesizer.measures.utility import tables
from synthesizer.measures.utility.compare_fit import FitRequest, compare_fit, compare_fit_by
from synthesizer.measures.utility.propensity import pmse
from synthesizer.measures.utility.tables import jensen_shannon, table_utility
from tests.tables import coded, numeric, persons

ORIGINAL, MADE = persons(300), [persons(300, 1), persons(200, 2)]
NAMES = list(ORIGINAL.names)
PROPER = Synthesis(proper=True)
SEED = Seed(7)
OFF = {check: value for check, value in ALL_OFF.items() if value is False}


def collected(
    made: Sequence[Table] = MADE,
    original: Table = ORIGINAL,
    synthesis: Synthesis | None = None,
    **options: Any,
) -> UtilityResult:
    settings = CheckSettings(**options).about("utility")
    checks = Checks(original, settings, seed=SEED, synthesis=synthesis)
    for table in made:
        checks.add(table)
    utility = checks.finish().utility
    return UtilityResult(n=0, n_synthetic=()) if utility is None else utility


def test_figures_are_those_of_the_measures_on_all_datasets_at_once() -> None:
    result = collected(propensity={"models": ["logit", "cart"], "permutations": 3})
    tables = table_utility(ORIGINAL, MADE, quantiles_of="original")
    assert result.tables is not None
    assert result.tables == tables.result()
    assert result.distance == jensen_shannon(ORIGINAL, MADE)
    assert result.propensity[0] == pmse(ORIGINAL, MADE)
    trees = [
        pmse(ORIGINAL, table, model="cart", permutations=3, seed=SEED, first=number).datasets[0]
        for number, table in enumerate(MADE, start=1)
    ]
    assert list(result.propensity[1].datasets) == trees
    figures = {(part, figure.name): figure for part, figure in result.figures}
    two = tables.mean[tables.mean["ways"] == 2]
    assert figures["tables", "mean two-way S_pMSE"].value == pytest.approx(two["S_pMSE"].mean())
    largest = figures["tables", "largest two-way S_pMSE"]
    assert (largest.value, largest.n) == (two["S_pMSE"].max(), 800)
    assert " and ".join(two["names"].iloc[0]) in largest.meaning
    assert figures["tables", "ROE (two-way)"].value == pytest.approx(two["ROE"].mean())
    p = tables.by_dataset.loc[tables.by_dataset["ways"] == 1, "p_chi_square"]
    rejected = figures["tables", "chi-square rejections (one-way)"].value
    assert rejected == pytest.approx((p < 0.05).mean())


def test_a_measure_that_fails_for_one_dataset_is_reported_and_loses_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def second_fails(original: Table, made: list[Table], **_: object) -> object:
        if made[0].n_rows == MADE[1].n_rows:
            raise DataError("the second one is odd")
        return table_utility(original, made)

    monkeypatch.setattr(tables, "table_utility", second_fails)
    result = collected()
    assert result.failed == {"tables": "the second one is odd"}
    assert result.tables is None
    assert len(result.propensity[0].datasets) == 2
    assert len(result.distributions) == 4


def test_fits_are_compared_and_one_without_a_fit_is_reported() -> None:
    sound = FitRequest(formula="age ~ sex + marital")
    missing = FitRequest(formula="age ~ wealth", clusters="sex")
    result = collected(fits=(sound, missing))
    assert result.fits == (compare_fit(ORIGINAL, MADE, "age ~ sex + marital"),)
    (why,) = result.failed.values()
    assert "wealth" in why
    assert any(part == "ols: age ~ sex + marital" for part, _ in result.figures)
    assert missing.names == ("age", "wealth", "sex")


def careers(n: int, seed: int) -> PersonView:
    """Pay and a town in two or four years of n persons, and their sex."""
    rng = np.random.default_rng(seed)
    is_there = np.arange(4) < rng.permutation(n)[:, None] % 2 * 2 + 2
    index = PanelIndex.of_presence(is_there, np.arange(4.0))
    columns = [
        numeric("pay", np.round(rng.normal(20, 5, index.n_rows))),
        coded("town", rng.integers(0, 8, index.n_rows), "abcdefgh"),
        coded("sex", rng.integers(0, 2, n)[index.person], ("f", "m")),
    ]
    return person_view(PanelTable(columns, index), career=None, constant={"sex"})


def test_fits_of_a_panel_are_to_persons_or_to_their_rows() -> None:
    original, made = careers(60, 0), [careers(60, 1), careers(60, 2)]
    rows, *drawn = (panel_rows(view.panel, "person") for view in (original, *made))
    by_town = FitRequest(formula="pay ~ C(sex)", clusters="town")
    by_sex = FitRequest(formula="pay ~ C(town)", by="sex")
    nowhere = FitRequest(formula="pay ~ C(sex)", by="wealth")
    requests = ("pay ~ C(sex)", by_town, "`career.periods` ~ C(sex)", "pay ~ (", by_sex, nowhere)
    kinds = {"simple": Synthesis(), "proper": PROPER, "partially": Synthesis(kept=("sex",))}
    for rule, synthesis in kinds.items():
        result = collected(made, original, synthesis, **OFF, fits=requests)
        settings = {"rule": rule, "clusters": "person"}
        groups = compare_fit_by(rows, drawn, "pay ~ C(town)", ["sex"], **settings)
        assert result.fits[3:] == tuple(groups.values())
        assert result.fits[:3] == (
            compare_fit(original, made, "`career.periods` ~ C(sex)", rule=rule),
            *(
                compare_fit(rows, drawn, "pay ~ C(sex)", rule=rule, clusters=clusters)
                for clusters in ("person", "town")
            ),
        )
        assert set(result.failed) == {"fit pay ~ (", "fit pay ~ C(sex)"}
    assert [note.rpartition(" ")[2] for note in result.notes] == ["'person'", "'town'", "'person'"]


def test_what_is_expected_depends_on_how_the_data_were_made() -> None:
    results = collected(synthesis=PROPER)
    fresh = 1 + (300 + 200) / 2 / 300
    assert results.expected == results.fresh == fresh
    for result, expected in ((results, fresh), (collected(), 1.0)):
        levels = {
            figure.chance
            for _, figure in result.figures
            if figure.name in ("mean two-way S_pMSE", "largest one-way S_pMSE", "pMSE ratio")
        }
        assert levels == {expected}
    both = collected(synthesis=PROPER, propensity={"models": ["logit", "cart"], "permutations": 3})
    for score in both.propensity:
        part = f"propensity score by {score.model}"
        chances = {f.key: f.chance for where, f in both.figures if where == part}
        expected = {figure.key: figure.chance for figure in score.figures}
        if score.model == "logit":  # for trees the permutations set the chance
            expected["pmse_ratio"] = fresh
        assert chances == expected


def test_tables_of_kept_variables_alone_are_left_out() -> None:
    copied = ("sex", "age")
    made = Table([ORIGINAL[name] if name in copied else MADE[0][name] for name in NAMES])
    result = collected([made], synthesis=Synthesis(kept=copied))
    assert result.kept == copied
    assert result.tables is not None
    assert not [row for row in result.tables.rows if set(row.variables) <= set(copied)]
    assert len(result.tables.rows) == 10 - 3
    assert result.propensity[0] == pmse(ORIGINAL, [made], copied=copied)
    whole = table_utility(ORIGINAL, [made], quantiles_of="original").mean
    whole = whole.set_index("variables")["S_pMSE"]
    for row in result.tables.rows:
        assert row.s_pmse == pytest.approx(whole[":".join(row.variables)], abs=1e-6)
