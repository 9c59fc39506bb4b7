"""Members of a household beside each other, by slow obvious code, and by files that are spoilt."""

from __future__ import annotations

import json
from itertools import pairwise

import pandas as pd
import pytest

import synthesizer.extensions.households as extension
from synthesizer import check
from synthesizer.extensions.households.household_pairs import HouseholdPairCounter, HouseholdPairs
from synthesizer.measures.figure import Figure, plain, typed
from tests.extensions.households.household_file import RULES, form_of, household_frame, view_of
from tests.measures.cells import odd_cells
from tests.measures.defaults import lines_of

NAMES = ("relation", "age", "sex", "education", "income")


def compared(original: pd.DataFrame, *made: pd.DataFrame) -> HouseholdPairs:
    form = form_of(original)
    counter = HouseholdPairCounter(view_of(original, form), NAMES, seed=1)
    for frame in made:
        counter.add(view_of(frame, form))
    return counter.result()


def figures(result: HouseholdPairs) -> dict[str, Figure]:
    return {figure.key: figure for figure in result.figures}


def pairs_by_hand(frame: pd.DataFrame, who: str) -> list[tuple[int, int]]:
    """Return the sexes of two members, household by household."""
    pairs = []
    for _, members in frame.groupby("hhid"):
        head = members.loc[members["relation"] == 1, "sex"].item()
        children = members.loc[members["relation"] == 3, "sex"].tolist()
        if who == "head and relation 2":
            pairs += [(head, sex) for sex in members.loc[members["relation"] == 2, "sex"]]
        elif who == "head and relation 3":
            pairs += [(head, sex) for sex in children]
        else:
            pairs += list(pairwise(children))
    return pairs


def s_pmse_by_hand(original: list[tuple[int, int]], made: list[tuple[int, int]]) -> float:
    cells = sorted({*original, *made})
    share = len(made) / (len(original) + len(made))
    total = 0.0
    for cell in cells:
        o, s = original.count(cell), made.count(cell)
        total += (s - o * len(made) / len(original)) ** 2 / (share * (o + s))
    return total / (len(cells) - 1)


def test_tables_and_composition_by_slow_obvious_code():
    original, made = household_frame(300), household_frame(250, seed=5)
    shuffled = made.sample(frac=1.0, random_state=2).sort_values("hhid", kind="stable")
    original = original.assign(sex=original["sex"].where(original["relation"] < 3, 1))
    result = compared(original, made)
    rows = {(row.members, row.variables): row for row in result.same}
    for who in ("head and relation 2", "head and relation 3", "relation 3, one after the other"):
        row, pairs = rows[who, "sex"], pairs_by_hand(original, who)
        assert row.pairs == len(pairs)
        assert row.s_pmse == pytest.approx(s_pmse_by_hand(pairs, pairs_by_hand(made, who)))
    assert not any("income" in row.variables for row in (*result.same, *result.crossed))
    sizes = {row.households: row for row in result.sizes}
    for size in range(1, 7):
        counts = original.groupby("hhid").size(), made.groupby("hhid").size()
        shares = [float((count == size).mean()) for count in counts]
        row = sizes[str(size)]
        assert [row.original, row.synthetic] == pytest.approx(shares)
    alone = next(row for row in result.patterns if row.households == "head alone")
    assert alone.synthetic == pytest.approx(float((made.groupby("hhid").size() == 1).mean()))
    assert sum(row.original for row in result.patterns) == pytest.approx(1.0)
    heads_first = compared(original, shuffled)  # the order of the file does not decide the kinds
    assert heads_first.patterns == result.patterns


def test_what_is_torn_apart_is_seen():
    """Persons who change households keep every distribution and no relation."""
    original = household_frame(500)
    fresh = compared(original, household_frame(500, seed=7), household_frame(500, seed=8))
    spouses = original["relation"] == 2
    torn = original.copy()
    torn.loc[spouses, "age"] = original.loc[spouses, "age"].sample(frac=1, random_state=1).tolist()
    values = figures(compared(original, torn))
    usual = figures(fresh)
    assert usual["household_pairs"].value < 3
    assert values["household_pairs_worst"].value > 3 * usual["household_pairs_worst"].value
    assert "age of head and relation 2" in values["household_pairs_worst"].meaning
    assert values["household_composition"].value == 0
    same = figures(compared(original, original))
    assert [same[key].value for key in ("household_pairs", "household_composition")] == [0, 0]
    alone = original.drop_duplicates("hhid").assign(hhsize=1)
    values = figures(compared(original, alone))
    assert values["household_composition"].value > 0.5
    assert "household_pairs" not in values  # no pairs to compare


def test_files_are_measured_where_households_are_described() -> None:
    results = check(household_frame(80), household_frame(60, seed=3), only="utility", config=RULES)
    result = results.utility.further["household_pairs"]
    assert "head and relation 2" in {row.members for row in result.same}
    assert odd_cells(result) == set()
    assert typed(HouseholdPairs, json.loads(json.dumps(plain(result)))) == result
    assert "HouseholdPairCounter(groups=5)" in lines_of(extension)
