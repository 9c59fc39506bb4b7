"""Identity and attribute disclosure, uniques, inference of a sensitive variable."""

from __future__ import annotations

from typing import Any

import yaml

from synthesizer.measures.risk.attribute import AttributeResult, Dominance
from synthesizer.measures.risk.determined import KeyDetermination
from synthesizer.measures.scenario import Exclusion
from synthesizer.report.blocks import Section
from synthesizer.report.risk_disclosure import (
    disclosure_section,
)
from tests.report.blocks import notes, table, tables
from tests.report.risk_examples import record, risk, scenario


def disclosure(**changes: Any) -> Section:
    return disclosure_section(record(scenario(**changes) if changes else risk()))


def attribute() -> AttributeResult:
    return risk().scenarios[0].attribute


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
    result = attribute().model_copy(update={"warnings": (*twice, alone)})
    section = disclosure(attribute=result)
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


def test_keys_that_determine_the_target_are_listed() -> None:
    determined = risk().scenarios[0].determined
    whole = KeyDetermination(
        keys=("town",), shared=9, determined=9, told=9, guessed=1, chance=0.0001
    )
    result = determined.model_copy(update={"single": (whole,)})
    shown = table(disclosure(determined=result), "Keys that determine")
    assert shown.rows[0] == ["town", 9, 9, 9, 1, 1.0, "no"]  # nine records show nothing
    assert [whole.model_copy(update=sizes).degree for sizes in (MANY, ALMOST)] == ["yes", "nearly"]
    assert shown.rows[-1][0] == "town, age, sex"


# Inference.
