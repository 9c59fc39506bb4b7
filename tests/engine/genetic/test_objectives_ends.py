"""Objectives at both ends, and where they are not defined."""

from typing import get_args

import numpy as np
import pytest

from synthesizer.data.table import Kind, Variable
from synthesizer.engine.genetic.coding import Coding
from synthesizer.engine.genetic.genetic_options import RiskName, UtilityName
from synthesizer.engine.genetic.scores import RISKS, UTILITIES, Sought
from tests.engine.genetic.slow_scores import file_of, random_file, sought_of, value_of


def people(seed=1):
    """Two hundred records with common and unique keys."""
    return random_file(200, [9, 7, 3], seed)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_original_as_its_own_candidate(seed):
    sought = sought_of(people(seed), [0, 1], 2)
    for name in UTILITIES:
        assert value_of(UTILITIES[name](sought), sought.records) == pytest.approx(0, abs=1e-7)
    assert value_of(RISKS["cap_u"](sought), sought.records) == 1.0
    shares = np.unique(sought.records // 3, return_counts=True)[1]
    unique = float((shares == 1).sum()) / 200
    assert value_of(RISKS["repu"](sought), sought.records) == unique
    assert value_of(RISKS["disco"](sought), sought.records) >= unique
    assert value_of(RISKS["cap"](sought), sought.records) > 0.5


@pytest.mark.parametrize("n", [1, 7, 400])
def test_a_candidate_that_shares_nothing(n):
    original = file_of([[0, 1, 0], [0, 1, 1], [1, 0, 1]], [4, 4, 4])
    made = random_file(n, [2, 2, 2])
    sought = sought_of(original, [0, 1], 2)
    records = sought.coding.encode(made) + int(sought.coding.strides @ [2, 2, 2])
    for name in UTILITIES:
        assert value_of(UTILITIES[name](sought), records) == 1.0
    for name in RISKS:
        assert value_of(RISKS[name](sought), records) == 0.0


def test_doubling_a_candidate_changes_no_share():
    sought = sought_of(people(), [0, 1], 2)
    made = sought.coding.encode(people(9))
    for name in (*UTILITIES, "cap", "cap_u", "disco"):
        objective = {**UTILITIES, **RISKS}[name](sought)
        double = value_of(objective, np.tile(made, 2))
        assert double == pytest.approx(value_of(objective, made), abs=1e-12)


@pytest.mark.parametrize("name", [*UTILITIES])
def test_distance_is_symmetric(name):
    one, other = people(1), people(2)
    first, second = sought_of(one, [0, 1], 2), sought_of(other, [0, 1], 2)
    there = value_of(UTILITIES[name](first), second.records)
    assert there == pytest.approx(value_of(UTILITIES[name](second), first.records), abs=1e-12)


def test_distance_by_hand():
    sought = sought_of(file_of([[0, 0], [0, 0]], [2, 2]), [0], 1)
    # P = (1, 0), Q = (1/2, 1/2), M = (3/4, 1/4)
    divergence = (np.log2(4 / 3) + 0.5 * np.log2(2 / 3) + 0.5 * np.log2(2)) / 2
    found = value_of(UTILITIES["full_table"](sought), np.array([0, 3]))
    assert found == pytest.approx(np.sqrt(divergence), abs=1e-12)


def test_one_variable_has_one_table():
    age = Variable(name="age", kind=Kind.ORDERED, levels=("young", "middle", "old"))
    sought = Sought(np.array([0, 0, 1]), Coding.of([age]), (0,), 0)
    made = np.array([0, 1, 2])
    values = {value_of(UTILITIES[name](sought), made) for name in UTILITIES}
    assert len(values) == 1
    assert 0 < values.pop() < 1


def test_one_row_and_one_level():
    sought = sought_of(file_of([[0], [0], [0]], [1, 1, 1]), [0, 1], 2)
    for name in RISKS:
        assert value_of(RISKS[name](sought), sought.records) == 1.0, name
    # five records are nobody's: the key is not unique any more
    five = np.zeros(5, dtype=np.int32)
    values = {name: value_of(RISKS[name](sought), five) for name in RISKS}
    assert values == {"cap_u": 1, "cap": 1, "disco": 1, "repu": 0, "replicated_uniques": 0}


def test_keys_without_uniques_leave_cap_u_undefined():
    sought = sought_of(file_of([[0, 0, 1, 1], [0, 1, 0, 1]], [2, 2]), [0], 1)
    risk = RISKS["cap_u"](sought)
    assert np.isnan(value_of(risk, sought.records))
    assert risk.baseline is None
    assert "no record of the original is unique by the keys" in risk.undefined
    assert not risk.carriers([margin.count(sought.records) for margin in risk.margins]).size
    for name in ("cap", "disco", "repu", "replicated_uniques"):
        other = RISKS[name](sought)
        assert other.undefined is None, name
        assert 0 <= value_of(other, sought.records) <= 1


def test_shares_of_uniques_are_exact_so_that_a_limit_can_be_met():
    """Three of five is 0.6 and not 0.6000000000000001, whoever the three are."""
    rng = np.random.default_rng(1)
    target = Variable(name="t", kind=Kind.BOOLEAN, levels=("no", "yes"))
    for n in (5, 9, 10, 49, 100):
        key = Variable(name="k", kind=Kind.CATEGORICAL, levels=tuple(map(str, range(n))))
        original = 2 * np.arange(n)
        risk = RISKS["cap_u"](Sought(original, Coding.of([key, target]), (0,), 1))
        assert value_of(risk, original) == 1.0
        for right in range(n):
            wrong = rng.permutation(n)[right:]
            candidate = original.copy()
            candidate[wrong] += 1
            assert value_of(risk, candidate) == right / n


def test_every_measure_of_the_options_is_there_and_has_a_meaning_of_its_own():
    measures = {**UTILITIES, **RISKS}
    assert set(measures) == {*get_args(UtilityName), *get_args(RiskName)}
    assert len({measure.meaning for measure in measures.values()}) == len(measures)
