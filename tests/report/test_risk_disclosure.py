"""Identity and attribute disclosure, uniques, inference of a sensitive variable."""

from __future__ import annotations

from typing import Any

import yaml

from synthesizer.measures.risk.attribute import AttributeResult, Dominance
from synthesizer.measures.risk.determined import KeyDetermination
from synthesizer.measures.risk.public_inference import InferenceResult
from synthesizer.measures.scenario import Exclusion
from synthesizer.report.blocks import Section
from synthesizer.report.risk_disclosure import (
    disclosure_section,
    inference_section,
)
from tests.report.blocks import charts, notes, table, tables
from tests.report.risk_examples import record, risk, scenario


def disclosure(**changes: Any) -> Section:
    return disclosure_section(record(scenario(**changes) if changes else risk()))


def attribute() -> AttributeResult:
    return risk().scenarios[0].attribute


def question(place: int = 0, **changes: Any) -> InferenceResult:
    return risk().inference[place].model_copy(update=changes)


# Identity and attribute disclosure.


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
