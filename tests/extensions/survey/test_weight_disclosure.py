"""What a survey weight gives away: both ends, and slow obvious code."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from synthesizer import check
from synthesizer.data.errors import DataError
from synthesizer.data.table import Table
from synthesizer.extensions.survey.weight_disclosure import FEWER_THAN, WeightsSeen, weight_as_key
from synthesizer.measures.figure import collected
from synthesizer.measures.scenario import Scenario
from synthesizer.measures.settings import ALL_OFF
from tests.measures.risk.test_written import check_written, marks_of
from tests.tables import coded, numeric

N = 120


def survey(seed, weights=None, n=N):
    rng = np.random.default_rng(seed)
    drawn = np.where(rng.random(n) < 0.7, rng.integers(1, 9, n), rng.integers(20, 90, n))
    town = np.where(np.arange(n) < 3, 4, rng.integers(0, 4, n))
    return Table(
        [
            coded("town", town, "abcde"),
            coded("sex", rng.integers(0, 2, n), "fm"),
            coded("ill", rng.integers(0, 2, n), ["no", "yes"]),
            numeric("w", drawn if weights is None else weights),
        ]
    )


def seen(original, *made):
    return collected(WeightsSeen(original, original.names, "w", seed=0), made)


def independent(seed=2):
    """Return weights that no person in the original has."""
    return survey(seed, np.random.default_rng(seed).integers(100, 900, N) + 0.5)


def test_rare_weights_are_those_of_slow_code():
    original, made = survey(1), survey(2)
    holders = Counter(original["w"].data.tolist())
    for row in seen(original, made).rows:
        few = range(1, row.fewer_than)
        shown = [holders[value] in few for value in made["w"].data]
        real = [holders[value] in few for value in original["w"].data]
        left_out = [holders[value] - 1 in few for value in original["w"].data]
        shares = (row.synthetic, row.original, row.fresh)
        assert shares == pytest.approx([np.mean(part) for part in (shown, real, left_out)])
        assert row.original > row.fresh > 0


ENDS = {
    "the original": (survey(1), survey(1), lambda row: row.original, True),
    "independent": (survey(1), independent(), lambda row: 0.0, False),
    "constant": (survey(1, np.ones(N)), survey(2, np.ones(N)), lambda row: 0.0, False),
    "two levels": (
        survey(1, np.arange(N) % 2), survey(2, np.arange(N) % 2), lambda row: 0.0, False
    ),
    "one row": (survey(1, n=1), survey(1, n=1), lambda row: 1.0, False),
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_rare_weights_at_both_ends(end):
    original, made, expected, is_cautioned = ENDS[end]
    result = seen(original, made, made)
    assert [row.fewer_than for row in result.rows] == list(FEWER_THAN)
    for row in result.rows:
        assert row.synthetic == pytest.approx(expected(row))
    assert any("exactly a weight" in caution for caution in result.cautions) == is_cautioned


def test_totals_of_few_are_those_of_raking_to_them():
    original, raked = survey(1), independent()["w"].data.copy()
    few = original["town"].data == 4
    raked[:3] = [original["w"].data[few].sum() - 2 * 7.25, 7.25, 7.25]
    result = seen(original, independent(), survey(3, raked))
    assert (result.levels_of_few, result.totals, result.totals_by_chance) == (1, 1, 0)
    apart = seen(original, independent())
    assert (apart.totals, apart.cautions) == (0, ())


def key_scenario(keys=("town", "sex"), target="ill"):
    return Scenario(keys=keys, target=target)


def slowly(original, made, record, keys):
    """CAP of one record by all keys, else by all but the weight, else 0."""
    for names in (keys, keys[:-1]):
        alike = made[(made[names] == record[names]).all(axis=1)]
        if len(alike):
            return (alike["ill"] == record["ill"]).mean()
    return 0.0


def frame_of(table):
    return pd.DataFrame({name: table[name].data for name in table.names})


def test_what_the_weight_adds_is_that_of_slow_code():
    original, made = survey(1), survey(2)
    result = weight_as_key(original, [made], key_scenario(), "w")
    real, drawn = frame_of(original), frame_of(made)
    keys = ["town", "sex", "w"]
    scores = [slowly(real, drawn, real.loc[i], keys) for i in real.index]
    fresh = [slowly(real, real.drop(index=i), real.loc[i], keys) for i in real.index]
    row = result.rows[1]
    assert (row.cap, row.fresh_cap) == pytest.approx((np.mean(scores), np.mean(fresh)))
    sizes = real.groupby(keys).size()
    matched = [sizes.get(tuple(record), 0) for record in drawn[keys].to_numpy()]
    others = [sizes[tuple(record)] - 1 for record in real[keys].to_numpy()]
    assert row.matches == pytest.approx(np.mean(np.array(matched) == 1))
    assert row.fresh_matches == pytest.approx(np.mean(np.array(others) == 1))


def test_what_the_weight_adds_at_both_ends():
    original = survey(1)
    gain, matches = weight_as_key(original, [original], key_scenario(), "w").figures
    assert gain.value == pytest.approx(gain.original)
    assert gain.value > gain.chance + 0.1
    assert matches.value == matches.original > matches.chance
    constant = survey(1, np.ones(N)), survey(2, np.ones(N))
    for one, other in ((original, independent()), constant):
        result = weight_as_key(one, [other, other], key_scenario(), "w")
        assert result.gain == 0
    one = survey(1, n=1)
    assert weight_as_key(one, [one], key_scenario(), "w").figures[0].low == 0
    assert weight_as_key(original, [original], key_scenario(keys=("town", "w")), "w") is None


def test_files_are_measured_where_a_weight_is_named():
    frames = [frame_of(survey(seed)) for seed in (1, 2)]
    scenario = {"keys": ["town", "sex"], "target": "ill"}
    on = ALL_OFF | {"cap": True, "weight_disclosure": True}
    for options, is_measured in (
        ({"weight": "w"}, True), ({}, False), ({"weight": "w", "weight_disclosure": False}, False)
    ):  # fmt: skip
        risk = check(*frames, **scenario, settings=on | options).risk
        assert ("weight_disclosure" in risk.further) == is_measured
        assert ("weight as a key" in risk.scenarios[0].further) == is_measured
        assert risk.failed == {}
    with pytest.raises(DataError, match="'w'"):
        check(frames[0], frames[1].drop(columns="w"), settings=on | {"weight": "w"}, **scenario)


def test_results_are_read_as_they_were_written():
    original, made = survey(1), survey(2)
    results = [seen(original, made), weight_as_key(original, [made], key_scenario(), "w")]
    for result in results:
        check_written(result)
    assert marks_of(results) == [
        "rare_weights chance original",
        "totals_of_few chance original",
        "weight_gain chance low original",
        "weight_matches chance original",
    ]
