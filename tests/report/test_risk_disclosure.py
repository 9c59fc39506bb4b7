"""Identity and attribute disclosure, uniques, inference of a sensitive variable."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from synthesizer.measures.risk.attribute import AttributeResult, Dominance
from synthesizer.measures.risk.determined import KeyDetermination
from synthesizer.measures.risk.public_inference import InferenceResult
from synthesizer.measures.risk.suda import SudaResult
from synthesizer.measures.scenario import Exclusion
from synthesizer.report.blocks import Gap, Section
from synthesizer.report.charts import MOST_CURVES
from synthesizer.report.risk_disclosure import (
    disclosure_section,
    inference_section,
    uniques_section,
)
from tests.report.blocks import charts, gaps, notes, of_kind, spoken, table, tables
from tests.report.risk_examples import record, risk, scenario


def disclosure(**changes: Any) -> Section:
    return disclosure_section(record(scenario(**changes) if changes else risk()))


def attribute() -> AttributeResult:
    return risk().scenarios[0].attribute


def suda() -> SudaResult:
    return risk().scenarios[0].suda


def question(place: int = 0, **changes: Any) -> InferenceResult:
    return risk().inference[place].model_copy(update=changes)


# Identity and attribute disclosure.


def test_the_original_stands_beside_each_dataset_and_the_mean() -> None:
    own = risk().scenarios[0].identity
    section = disclosure(identity=own)
    identity, attributes = charts(section)[:2]
    shown = table(section, "Identity disclosure")
    reproduced = [dataset.repu for dataset in own.datasets]
    assert shown.rows[0][2:] == (own.mean.repu, own.mean.uio, min(reproduced), max(reproduced))
    assert "Original" in shown.columns
    assert f"UiOiS {own.mean.uiois:.3f} (the original released {own.mean.uio:.3f})" in (
        identity.svg
    )
    assert f"(the original released {attribute().mean.dorig:.3f})" in attributes.svg
    assert identity.svg.count("faint") == 4 * 3 + 1  # small dots, and the legend


def test_each_measure_is_explained() -> None:
    shown = table(disclosure(attribute=attribute()), "Attribute disclosure")
    names = [row[0] for row in shown.rows]
    assert names[:6] == ["DiSCO", "DiSDiO", "DiS", "iS", "Dorig", "Dsyn"]
    assert all(len(str(row[1])) > 20 for row in shown.rows)
    nobody = attribute().mean.model_copy(update={"tcap": None})
    own = attribute().model_copy(update={"mean": nobody, "datasets": (nobody,)})
    shown = table(disclosure(attribute=own), "Attribute disclosure")
    assert shown.rows[names.index("TCAP (DiSCO / iS)")][2:] == (None, None, None, None)
    assert shown.rows[0][2:4] == (nobody.disco, nobody.dorig)


def test_exclusions_are_counted_and_a_tolerance_has_no_attributes() -> None:
    told = spoken(disclosure())
    excluded = attribute().excluded
    assert (
        f"1 exclusion(s) of levels known to everybody (checks.exclude) leave out {excluded}" in told
    )
    assert "Nothing is excluded" in told  # of the third scenario
    assert "need groups of pay in place of the tolerance" in told


def dominance(**changes: Any) -> Dominance:
    content: dict[str, Any] = {
        "dataset": 1, "target": "job", "target_rank": 1, "key": "town", "key_rank": 1,
        "records": 40, "share": 0.5, "prior": 0.9,
        "exclusion": Exclusion(target_level='cook "x": #1', key="town", key_level=17.0),
    }  # fmt: skip
    return Dominance(**(content | changes))


def test_levels_that_dominate_are_shown_once_with_the_line_that_excludes_them() -> None:
    twice = (dominance(), dominance(dataset=2, share=0.6))
    alone = dominance(key=None, key_rank=None, exclusion=Exclusion(target_level="N"))
    own = attribute().model_copy(update={"warnings": (*twice, alone)})
    section = disclosure(attribute=own)
    assert any("common knowledge" in note for note in notes(section))
    (table,) = [t for t in tables(section) if t.caption.startswith("Levels that dominate")]
    pair, single = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert (pair["Datasets"], pair["Of all"], single["Datasets"]) == (2, 0.6, 1)
    assert (pair["Its level"], pair["Its level (key)"]) == ('cook "x": #1', 17.0)
    assert yaml.safe_load(str(pair["To add under checks.exclude"])) == [
        {"target_level": 'cook "x": #1', "key": "town", "key_level": 17.0}
    ]
    assert (single["Key"], single["Its level (key)"]) == (None, None)
    assert yaml.safe_load(str(single["To add under checks.exclude"])) == [{"target_level": "N"}]


MANY = {"shared": 900, "determined": 900, "told": 900}
ALMOST = MANY | {"determined": 880, "told": 899}


def test_keys_that_give_the_target_away_are_told() -> None:
    determined = risk().scenarios[0].determined
    whole = KeyDetermination(
        keys=("town",), shared=9, determined=9, told=9, guessed=1, chance=0.0001
    )
    own = determined.model_copy(update={"single": (whole,)})
    shown = table(disclosure(determined=own), "What keys tell")
    assert shown.rows[0] == ["town", 9, 9, 9, 1, 1.0, "no"]  # nine records show nothing
    assert [whole.model_copy(update=sizes).degree for sizes in (MANY, ALMOST)] == ["yes", "nearly"]
    assert shown.rows[-1][0] == "town, age, sex"


# Uniques.


def test_uniques_and_special_uniques_are_counted() -> None:
    values, own = dict(table(uniques_section(record(scenario())), "Uniques by").rows), suda()
    assert (values["n"], values["uniques"]) == (300, own.uniques)
    assert (values["special uniques"], values["dis"]) == (own.special_uniques, own.dis)


def test_dis_bands_contributions_scores_and_sizes_are_shown() -> None:
    section, own = uniques_section(record(scenario())), suda()
    bands, keys = charts(section)
    for band in own.dis_scores:
        assert not band.records or f"{band.up_to:.1f}: {band.records:,}" in bands.svg
    weights = [value for value in own.contributions.values() if value is not None]
    first, *others = keys.svg.split("<desc>")[1].split("</desc>")[0].split("; ")
    assert first.endswith(f": {max(weights):.3f}")
    assert len(others) == sum(value > 0 for value in weights) - 1
    by_caption = {table.caption[:11]: table for table in tables(section)}
    assert dict(by_caption["SUDA scores"].rows) == own.scores
    assert [row[2] for row in by_caption["Minimal uni"].rows] == [
        size.records for size in own.minimal_uniques
    ]


def test_no_unique_leaves_out_the_pictures_that_need_one() -> None:
    bare = suda().model_copy(update={"contributions": dict.fromkeys(suda().contributions)})
    assert len(charts(uniques_section(record(scenario(suda=bare))))) == 1


def test_replicated_uniques_by_dataset() -> None:
    section, replicated = uniques_section(record()), risk().replicated
    table = next(t for t in tables(section) if t.columns[-1] == "Replicated uniques")
    assert [row[-1] for row in table.rows] == [own.replicated for own in replicated.datasets]
    assert "Whole records: " in spoken(section)


# Inference.


def test_two_levels_have_one_curve_from_everybody_to_nobody() -> None:
    own = question()
    section = inference_section(record(risk(inference=(own,))))
    chart = charts(section)[0]
    assert chart.title == "ROC curve: sex from town, age"
    assert chart.svg.count("<polyline") == 1
    assert "guessing" in chart.svg
    points = chart.svg.split('<polyline points="')[1].split('"')[0].split(" ")
    assert points[0] == "400.0,34.0"  # everybody: both rates are 1
    assert points[-1] == "60.0,374.0"
    curve = own.roc[0]
    assert f"AUC {curve.auc:.3f} from the synthetic data" in chart.summary
    assert f"{curve.auc_original_of_present:.3f} from the original" in chart.summary


def test_more_levels_have_a_curve_each_up_to_what_can_be_told_apart() -> None:
    chart = charts(inference_section(record(risk(inference=(question(1),)))))[0]
    assert chart.svg.count("<polyline") == 4
    assert "means over 4 levels" in chart.summary
    many = question(1, roc=question(1).roc * 2)
    chart = charts(inference_section(record(risk(inference=(many,)))))[0]
    assert chart.svg.count("<polyline") == MOST_CURVES
    assert "6 most frequent levels are drawn" in chart.reads
    section = inference_section(record(risk(inference=(many,))))
    levels = table(section, "Each level against")
    assert len(levels.rows) == 8


def test_rates_stand_beside_chance_margins_and_original() -> None:
    section, own = inference_section(record(risk(inference=(question(),)))), question()
    shown = own.classification
    assert f"revealed share {shown.revealed:.3f} (" in charts(section)[1].svg
    beside = table(section, "A rate from the synthetic data")
    guesses = own.thresholds
    assert beside.columns == ["Rate", "Synthetic", "Chance", "Margins", "Original"]
    assert beside.rows[1][1:] == [
        guesses.right_of_present, guesses.chance_right_of_present,
        guesses.baseline_right_of_present, guesses.original_right_of_present,
    ]  # fmt: skip
    assert dict(table(section, "Guesses of the true level").rows)["told more"] == guesses.higher
    assert "the distribution of sex within town" in spoken(section)
    assert "the distribution of job of everybody" in spoken(inference_section(record()))


def test_thresholds_and_combinations_are_shown() -> None:
    section, own = inference_section(record(risk(inference=(question(),)))), question()
    by_first = {table.columns[0]: table for table in tables(section)}
    shares = [row[2] for row in by_first["Probability above"].rows]
    assert shares == [row.share for row in own.thresholds.rows]
    cells = table(section, "Combinations of public values,")
    assert cells.rows[0][1] == own.uniqueness.cells
    assert by_first["Persons"].rows[0][1] == own.uniqueness.counts[0][1]
    band = own.differences.own_proportion[0]
    sizes = table(section, "Sizes of combinations")
    assert sizes.rows[0] == [
        band.band_low, band.band_high, band.size_low, band.size_high, band.cells,
        band.difference.mean, band.difference.sd, band.relative.mean, band.relative.sd,
    ]  # fmt: skip


def test_a_class_without_members_is_a_gap() -> None:
    empty = question(roc=tuple(curve.model_copy(update={"curve": ()}) for curve in question().roc))
    section = inference_section(record(risk(inference=(empty,))))
    assert gaps(section) == ["The ROC curve"]


@pytest.mark.parametrize("name", ["pay", "sex, one level"])
def test_what_failed_says_why(name: str) -> None:
    failed = {f"inference ({name})": "too many levels"}
    (gap,) = of_kind(inference_section(record(risk(inference=(), failed=failed))), Gap)
    assert gap.what == f"Inference ({name})"
    assert "too many levels" in gap.why
