"""Broken relations are counted in files of any program, at both ends and by slow code."""

import numpy as np
import pandas as pd
import pytest

from synthesizer import check
from synthesizer.data.table import Table
from synthesizer.measures.halves import control_run
from synthesizer.measures.risk.comparable import OriginalNumbers
from synthesizer.measures.utility.broken_relations import BrokenRelationsCounter
from synthesizer.measures.utility.unseen import unseen
from tests.tables import coded, numeric

N = 400


def stays(seed: int, shift: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    start, town = rng.integers(0, 200, N), rng.integers(0, 12, N)
    return pd.DataFrame(
        {
            "start": start,
            "end": start + rng.integers(0, 40, N) - shift,
            "town": [f"t{t}" for t in town],
            "county": [f"c{t // 4}" for t in town],
            "noise": rng.normal(size=N).round(2),
        }
    )


@pytest.mark.parametrize("shift", [0, 20])
def test_a_file_of_another_program_has_its_broken_records_counted(shift: int) -> None:
    original, other = stays(1), stays(2, shift)
    other.loc[:9, "county"] = "c0"
    towns = original.drop_duplicates("town").set_index("town")["county"]
    slow = (other["end"] < other["start"]) | (other["town"].map(towns) != other["county"])
    result = check(original, other, only="utility", seed=1)
    measured = result.utility.further["broken_relations"]
    assert measured.n_relations == 2
    assert measured.share == pytest.approx(slow.mean())
    (evidence,) = (e for e in result.verdict["use"].evidence if e.key == "broken_relations")
    assert evidence.word == ("fail" if shift else "unclear")
    same = check(original, original, only="utility", seed=1).utility.further["broken_relations"]
    assert (same.share, same.rows) == (0.0, ())


def test_columns_without_a_relation_have_none_to_break() -> None:
    rng = np.random.default_rng(1)
    table = [numeric("a", rng.integers(0, 99, N)), coded("b", rng.integers(0, 2, N), "xy")]
    counter = BrokenRelationsCounter(Table(table), ["a", "b"])
    counter.add(Table(table))
    assert (counter.result().n_relations, counter.result().share) == (0, 0.0)


@pytest.mark.parametrize("shift", [0, 20])
def test_with_a_holdout_the_release_is_judged(shift: int) -> None:
    result = check(stays(1), stays(2, shift), holdout=stays(3), only="utility", seed=1)
    words = {e.key: e.word for e in result.verdict["use"].evidence}
    assert "impossible_records" in words
    assert words["broken_relations"] == ("fail" if shift else "pass")


def test_a_logarithm_of_single_precision_is_computed_again_without_impossible_records() -> None:
    rng = np.random.default_rng(5)

    def spells(kind: type) -> Table:
        days = np.ceil(rng.exponential(9, 2_000))
        logs = np.log(days).astype(kind).astype(float)
        return Table([numeric("days", days), numeric("logs", logs, decimals=None)])

    training, holdout, made = spells(np.float32), spells(np.float32), spells(np.float64)
    result = unseen(
        control_run(training, holdout, (OriginalNumbers(training).written(made),)),
        training.names,
    )
    assert result is not None
    assert [one.value for one in result.looks if one.key == "impossible_records"] == [0.0]
