"""Measures of candidates equal those of the package, also at both ends."""

from itertools import combinations
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.table import Kind, Variable
from synthesizer.extensions.genetic.genetic_options import RiskName, UtilityName
from synthesizer.extensions.genetic.scores import RISKS, UTILITIES, Coding, Scorer, Sought
from synthesizer.measures.risk.attribute import attribute
from synthesizer.measures.risk.cap import cap, cap_u
from synthesizer.measures.risk.identity import identity
from synthesizer.measures.risk.replicated import replicated_uniques
from synthesizer.measures.risk.tcap import tcap
from synthesizer.measures.utility.tables import jensen_shannon
from tests.extensions.genetic.small_files import (
    coding_of,
    file_of,
    files,
    frozen,
    names,
    random_file,
    sought_of,
    value_of,
)


def varied(table, target):
    return len(np.unique(table[f"v{target}"].data)) > 1


@settings(max_examples=80, deadline=None)
@given(files())
def test_objectives_equal_the_measures_of_the_package(case):
    original, (made,), keys, target = case
    sought = sought_of(original, keys, target)
    records, known = sought.coding.encode(made), names(keys)
    (target_name,) = names([target])
    values = {name: value_of(RISKS[name](sought), records) for name in RISKS}
    unique = replicated_uniques(original, made).datasets[0].replicated
    assert values["replicated_uniques"] == pytest.approx(unique / made.n_rows, abs=1e-12)
    repu = identity(original, made, keys=known).mean.repu
    assert values["repu"] == pytest.approx(repu, abs=1e-12)
    pairs = [jensen_shannon(original.select(pair), made.select(pair)).mean
             for pair in combinations(original.names, 2)]  # fmt: skip
    distances = {"full_table": jensen_shannon(original, made).mean, "two_way": np.mean(pairs)}
    assert distances.keys() == UTILITIES.keys()
    for name, distance in distances.items():
        assert value_of(UTILITIES[name](sought), records) == pytest.approx(distance, abs=1e-7)
    made_keys = {tuple(row) for row in zip(*(made[name].data for name in known), strict=True)}
    rows = list(zip(*(original[name].data for name in known), strict=True))
    cap_risk = RISKS["cap"](sought)
    share, right = cap_risk.matches([margin.count(records) for margin in cap_risk.margins])
    assert share == pytest.approx(sum(row in made_keys for row in rows) / len(rows))
    assert (right is None) == (share == 0)
    assert share * (right or 0) == pytest.approx(values["cap"], abs=1e-12)
    if not varied(original, target):
        return  # the measures of targets refuse a target that everybody knows
    both = cap(original, [made], keys=known, target=target_name)
    assert values["cap"] == pytest.approx(both.row(1).zero, abs=1e-12)
    assert cap_risk.baseline == pytest.approx(both.baseline["all"], abs=1e-12)
    disco = attribute(original, made, keys=known, target=target_name).mean.disco
    assert values["disco"] == pytest.approx(disco, abs=1e-12)
    believed = tcap(original, made, keys=known, target=target_name).synthetic[0].tcap
    assert values["tcap"] == pytest.approx(believed or 0.0, abs=1e-12)
    of_uniques = cap_u(original, made, keys=known, target=target_name)
    assert (of_uniques.value is None) == bool(np.isnan(values["cap_u"]))
    if of_uniques.value is not None:
        assert values["cap_u"] == pytest.approx(of_uniques.value, abs=1e-12)
        baseline = RISKS["cap_u"](sought).baseline
        assert baseline == pytest.approx(of_uniques.baseline, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(files(), st.sampled_from([*RISKS]))
def test_cells_that_carry_risk_are_those_whose_loss_lowers_it(case, name):
    """A candidate without the records in them has no risk; one without the others as much."""
    original, (made,), keys, target = case
    risk = RISKS[name](sought_of(original, keys, target))
    if risk.undefined:
        return
    records = coding_of(original).encode(made)
    counts = [margin.count(records) for margin in risk.margins]
    carries = np.append(risk.carriers(counts), False)[risk.carrier.of(records)]
    assert (carries.sum() > 0) == (risk.value(counts, len(records)) > 0)
    rest = records[~carries]
    if len(rest):
        remaining = [margin.count(rest) for margin in risk.margins]
        assert risk.value(remaining, len(rest)) == 0


def test_the_original_as_its_own_candidate():
    sought = sought_of(random_file(200, [9, 7, 3], 1), [0, 1], 2)
    for name in UTILITIES:
        assert value_of(UTILITIES[name](sought), sought.records) == pytest.approx(0, abs=1e-7)
    assert value_of(RISKS["cap_u"](sought), sought.records) == 1.0
    shares = np.unique(sought.records // 3, return_counts=True)[1]
    unique = float((shares == 1).sum()) / 200
    assert value_of(RISKS["repu"](sought), sought.records) == unique
    assert value_of(RISKS["disco"](sought), sought.records) >= unique
    assert value_of(RISKS["cap"](sought), sought.records) > 0.5


@pytest.mark.parametrize("n", [1, 400])
def test_a_candidate_that_shares_nothing(n):
    original = file_of([[0, 1, 0], [0, 1, 1], [1, 0, 1]], [4, 4, 4])
    made = random_file(n, [2, 2, 2])
    sought = sought_of(original, [0, 1], 2)
    records = sought.coding.encode(made) + int(sought.coding.strides @ [2, 2, 2])
    for name in UTILITIES:
        assert value_of(UTILITIES[name](sought), records) == 1.0
    for name in RISKS:
        assert value_of(RISKS[name](sought), records) == 0.0


def test_one_row_and_one_level():
    sought = sought_of(file_of([[0], [0], [0]], [1, 1, 1]), [0, 1], 2)
    for name in RISKS:
        assert value_of(RISKS[name](sought), sought.records) == 1.0, name
    # five equal records: the key is not unique any more
    five = np.zeros(5, dtype=np.int32)
    values = {name: value_of(RISKS[name](sought), five) for name in RISKS}
    assert values == dict.fromkeys(RISKS, 1) | {"repu": 0, "replicated_uniques": 0}


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
    """Three of five is 0.6 and not 0.6000000000000001, for any three."""
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


def scorer_of(sought, utility="full_table", risk="cap_u"):
    return Scorer(UTILITIES[utility](sought), RISKS[risk](sought))


def assert_equal_counts(counts, others):
    assert len(counts) == len(others)
    for count, other in zip(counts, others, strict=True):
        np.testing.assert_array_equal(count, other)


@settings(max_examples=60, deadline=None)
@given(files(), st.sampled_from([*UTILITIES]), st.sampled_from([*RISKS]), st.integers(0, 2**31))
def test_counts_kept_up_to_date_equal_counting_from_nothing(case, utility, risk, seed):
    original, (made,), keys, target = case
    sought = sought_of(original, keys, target)
    scorer = scorer_of(sought, utility, risk)
    rng = np.random.default_rng(seed)
    records = frozen(sought.coding.encode(made))
    counts = tuple(frozen(part) for part in scorer.count(records))
    for _ in range(6):
        moved = np.array(records)
        where = np.flatnonzero(rng.random(len(records)) < 0.4)
        moved[where] = rng.integers(0, sought.coding.n_cells, len(where))
        expected = scorer.count(moved)
        # the scorer may get unchanged rows as well
        rows = np.union1d(where, np.flatnonzero(rng.random(len(records)) < 0.3))
        counts_after = scorer.recounted(counts, records[rows], moved[rows])
        assert_equal_counts(counts_after, expected)
        gain = scorer.change(records[rows], moved[rows])
        assert_equal_counts(gain, [a - b for a, b in zip(expected, counts, strict=True)])
        records, counts = frozen(moved), tuple(frozen(part) for part in counts_after)
    score = scorer.score(counts, len(records))
    assert score.utility == value_of(scorer.utility, records)
    assert score.risk == pytest.approx(value_of(scorer.risk, records), nan_ok=True, abs=0)
