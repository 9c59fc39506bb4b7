"""Utility of any two data sets: what both have is compared, the rest is told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthesizer import FitRequest, evaluate
from synthesizer.data.errors import DataError, OptionError
from synthesizer.data.guessing import Declaration
from tests.end_to_end.commands import persons_frame

ORIGINAL, MADE = persons_frame(300), persons_frame(250, seed=1)


def test_identifiers_are_told_and_all_else_is_compared() -> None:
    found = evaluate(ORIGINAL, [MADE, MADE])
    assert found.failed == {}
    assert found.n_synthetic == (250, 250)
    assert [part.variable for part in found.distributions] == [
        "sex", "age", "marital", "region", "income",
    ]  # fmt: skip
    assert found.notes == ("identifiers are not compared: person_id",)


def test_columns_of_one_side_only_are_told_and_lose_no_other() -> None:
    made = MADE.drop(columns="income").assign(extra=1)
    found = evaluate(ORIGINAL, [MADE, made])
    assert list(found.failed) == ["column 'income'"]
    assert "synthetic dataset 2" in found.failed["column 'income'"]
    assert any("'extra' of synthetic dataset 2" in note for note in found.notes)
    assert [part.variable for part in found.distributions] == ["sex", "age", "marital", "region"]


def test_other_types_and_levels_without_overlap_are_told() -> None:
    made = MADE.assign(
        age=["old", "young"] * 125, region=np.where(MADE["region"] == "north", "N", "S")
    )
    found = evaluate(ORIGINAL, made)
    assert set(found.failed) == {"column 'age'", "column 'region'"}
    assert "shares no level" in found.failed["column 'region'"]
    assert "shares no number" in found.failed["column 'age'"]
    assert {part.variable for part in found.distributions} == {"sex", "marital", "income"}


def test_named_variables_must_be_there() -> None:
    found = evaluate(ORIGINAL, MADE, names=["sex", "age", "sex"])
    assert [part.variable for part in found.distributions] == ["sex", "age"]
    with pytest.raises(DataError) as caught:
        evaluate(ORIGINAL, MADE.drop(columns="age"), names=["age", "agee"])
    assert len(caught.value.problems) == 2  # nobody has agee: once is enough
    with pytest.raises(DataError, match="shares no level"):
        evaluate(ORIGINAL, MADE.assign(sex="x"), names=["sex", "age"])


def test_nothing_in_common_is_an_error() -> None:
    with pytest.raises(DataError, match="has no columns 'person_id', 'sex'"):
        evaluate(ORIGINAL, pd.DataFrame({"other": [1, 2]}))
    with pytest.raises(DataError, match="no synthetic dataset"):
        evaluate(ORIGINAL, [])
    with pytest.raises(DataError) as caught:
        evaluate(ORIGINAL.iloc[:0], MADE)
    assert caught.value.problems == ("the data have no records: give at least one",)
    with pytest.raises(DataError) as caught:
        evaluate(
            ORIGINAL,
            MADE,
            settings={"table_groups": 1, "fits": "age ~ (sex"},
            seed=-1,
        )
    assert len(caught.value.problems) >= 3
    with pytest.raises(OptionError, match=r"synthetic\.1 must be .*, not list"):
        evaluate(ORIGINAL, [[1, 2]])  # type: ignore[list-item]


def test_constant_and_empty_columns_and_one_record() -> None:
    original = ORIGINAL.assign(constant="a", empty="")
    made = MADE.assign(constant="a", empty="")
    found = evaluate(original, made)
    assert list(found.failed) == ["column 'empty'"]
    (one,) = (row for row in found.tables.rows if row.variables == ("constant",))
    assert (one.s_pmse, one.roe) == (None, 1)
    single = evaluate(ORIGINAL.head(1), MADE.head(1), names=["sex", "age"])
    assert single.tables is not None
    assert single.n == 1


def test_kinds_may_be_declared() -> None:
    declared = {"income": Declaration(missing=("-8",))}
    found = evaluate(ORIGINAL, MADE, declared=declared)
    (income,) = (part for part in found.distributions if part.variable == "income")
    assert income.labels[-1] == "-8"
    assert income.missing[-1]


def test_clusters_may_be_an_identifier() -> None:
    fit = FitRequest(formula="age ~ marital", clusters="person_id")
    found = evaluate(ORIGINAL, MADE, settings={"propensity": False, "fits": [fit]})
    assert found.failed == {}
    assert found.fits[0].clusters == "person_id"


def test_the_seed_decides_the_permutations() -> None:
    trees = {"one_way": False, "propensity": {"models": ["cart"], "permutations": 4}}
    one, again, other = (
        evaluate(ORIGINAL, MADE, settings=trees, seed=seed).propensity for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other
