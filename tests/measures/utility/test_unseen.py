"""Use beside the holdout, against slow code, a new sample and files that are of little use."""

from itertools import combinations
from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.halves import control_run
from synthesizer.measures.results import RiskResult, UtilityResult
from synthesizer.measures.utility.cells import cramers_v
from synthesizer.measures.utility.unseen import MIN_EXPECTED, kept_share, unseen
from synthesizer.measures.verdict import CheckResults, verdict

NAMES = ["region", "town", "job", "age", "born", "pay", "tax"]
TOWNS = tuple(f"t{number}" for number in range(12))


def people(n, rng, spread=1.0):
    """Towns are of one region, children have no job, born and tax nearly follow from others."""
    town = rng.integers(0, 12, n)
    age = rng.integers(0, 80, n).astype(float)
    job = np.where(age < 16, 0, 1 + (town + rng.integers(0, 6, n)) % 4)
    pay = np.round(np.exp(7 + 0.3 * job + rng.normal(0, 0.5, n)), 1)
    values = {
        "region": town // 4, "town": town, "job": job, "age": age, "born": 2011 - age, "pay": pay,
        "tax": np.round(0.2 * pay * np.exp(spread * rng.normal(0, 0.05, n)), 1),
    }  # fmt: skip
    return made_of(values)


def made_of(values):
    levels = {"region": tuple("xyz"), "town": TOWNS, "job": tuple("01234")}
    return Table(
        [
            Column(Variable(name=name, kind=Kind.CATEGORICAL, levels=levels[name]),
                   data.astype(np.int32))
            if name in levels
            else Column(Variable(name=name, kind=Kind.NUMERIC, decimals=1), data.astype(float))
            for name, data in values.items()
        ]
    )  # fmt: skip


def changed(table, **values):
    return made_of({name: table[name].data for name in table.names} | values)


def three(n, seed):
    rng = np.random.default_rng(seed)
    return (*(people(n, rng) for _ in range(3)), rng)


def checked(training, holdout, made):
    return unseen(control_run(training, holdout, (made,)), NAMES, seed=1)


def of(result, key):
    return next(look for look in result.looks if look.key == key)


def words(result):
    utility = UtilityResult(n=100, n_synthetic=(100,), further={"unseen": result})
    (_, _, use) = verdict(CheckResults(risk=RiskResult(), utility=utility)).lines
    return {e.key: e.word for e in use.evidence}


def test_a_new_sample_its_bootstrap_and_half_of_it_pass():
    training, holdout, made, rng = three(1_500, 1)
    for file in (made, made.take(rng.integers(0, 1_500, 1_500)), made.take(np.arange(750))):
        assert set(words(checked(training, holdout, file)).values()) == {"pass"}


def test_the_training_records_gain_nothing():
    training, holdout, *_ = three(1_500, 1)
    result = checked(training, holdout, training)
    for key in ("unseen_pairs", "associations", "tails", "conditional_spread"):
        assert of(result, key).value == pytest.approx(of(result, key).fresh)
    assert result.s_pmse == pytest.approx(result.s_pmse_training)


def test_permuted_columns_fail():
    training, holdout, made, rng = three(1_500, 2)
    permuted = made_of({name: rng.permutation(made[name].data) for name in NAMES})
    result = words(checked(training, holdout, permuted))
    kinds = ("associations", "impossible_records", "conditional_spread")
    assert {result[key] for key in kinds} == {"fail"}
    assert result["tails"] == "pass"


def test_a_tail_that_is_cut_off_does_not_pass():
    noticed = 0
    for seed in range(3, 8):
        training, holdout, made, _ = three(2_500, seed)
        pay = made["pay"].data
        result = checked(training, holdout, made.take(pay <= np.quantile(pay, 0.99)))
        noticed += words(result)["tails"] != "pass"
        assert of(result, "tails").what.endswith(("of pay", "of tax"))
    assert noticed >= 4


def test_a_spread_three_times_as_large_fails():
    training, holdout, _, rng = three(1_500, 4)
    result = checked(training, holdout, people(1_500, rng, spread=3))
    assert words(result)["conditional_spread"] == "fail"
    assert {"pay", "tax"} <= set(of(result, "conditional_spread").what.replace(",", "").split())
    assert of(result, "conditional_spread").value == pytest.approx(3, rel=0.2)
    narrow = of(checked(training, holdout, people(1_500, rng, spread=0.25)), "conditional_spread")
    assert narrow.value > 2.5


@pytest.mark.parametrize(
    ("changes", "relation"),
    [
        ({"born": 1900.0}, "born = 2011 - age"),
        ({"region": 0, "town": 11}, "region follows from town"),
        ({"age": 3.0, "born": 2008.0, "job": 2}, "job 2 and age below 16"),
    ],
)
def test_impossible_records_are_counted_once_and_named(changes, relation):
    training, holdout, made, _ = three(2_000, 5)
    before = of(checked(training, holdout, made), "impossible_records")
    values = {name: made[name].data.copy() for name in changes}
    for name, value in changes.items():
        values[name][:60] = value
    result = checked(training, holdout, changed(made, **values))
    look = of(result, "impossible_records")
    assert look.value == pytest.approx(before.value + 60 / 2_000, abs=0.002)
    named = [one.what for one in result.looks if one.key == "impossible_records"]
    assert any(relation in what for what in named), named
    assert words(result)["impossible_records"] == "unclear"


def test_a_relation_that_the_holdout_breaks_does_not_count():
    training, holdout, made, _ = three(1_000, 7)
    born = holdout["born"].data.copy()
    born[0] += 1
    broken = changed(made, born=made["born"].data + 1)
    result = checked(training, changed(holdout, born=born), broken)
    assert not any(one.what.startswith("born =") for one in result.looks)


def test_empty_cells_are_those_of_slow_code():
    training, holdout, made, rng = three(1_200, 8)
    names = ["region", "town", "job"]
    made = changed(
        made, job=rng.permutation(made["job"].data), town=rng.permutation(made["town"].data)
    )
    run = control_run(*(t.select(names) for t in (training, holdout)), (made.select(names),))
    known = [np.concatenate([t[n].data for t in (training, holdout)]) for n in names]
    impossible, alone = set(), set()
    for one, other in combinations(range(3), 2):
        for a in np.unique(known[one]):
            for b in np.unique(known[other]):
                expected = (known[one] == a).sum() * (known[other] == b).sum() / 2_400
                there = np.flatnonzero((known[one] == a) & (known[other] == b))
                if expected >= MIN_EXPECTED and len(there) == 0:
                    hit = (made[names[one]].data == a) & (made[names[other]].data == b)
                    impossible |= set(np.flatnonzero(hit))
                if expected >= MIN_EXPECTED and len(there) == 1:
                    alone |= set(there)
    look = of(unseen(run, names, seed=1), "impossible_records")
    assert len(impossible) > 300
    assert (look.value, look.fresh) == (len(impossible) / 1_200, len(alone) / 2_400)


def test_tails_are_those_of_slow_code(monkeypatch):
    monkeypatch.setattr("synthesizer.measures.utility.unseen._MAX_ROWS", 99)
    training, holdout, made, _ = three(600, 9)
    ends = sorted(holdout["pay"].data)[5], sorted(holdout["pay"].data)[-6]
    sides = [
        np.array([min(max(pay, ends[0]), ends[1]) for pay in table["pay"].data])
        for table in (made, training, holdout)
    ]
    every = np.concatenate(sides)
    variance = np.mean((every - every.mean()) ** 2)
    limit = NormalDist().inv_cdf(1 - 0.05 / 24)  # two-sided, of three figures of four numbers
    error = sqrt(variance * 3 / 600)
    expected = abs(sides[0].mean() - sides[2].mean()) / error / limit
    looks = {look.what: look for look in checked(training, holdout, made).looks}
    assert looks["mean of pay"].value == pytest.approx(expected)
    top = np.quantile(sides[2], 0.99)
    shares = [np.mean(side > top) for side in sides]
    middle = (shares[0] + shares[2]) / 2
    error = sqrt(middle * (1 - middle) * 3 / 600)
    assert looks["upper tail of pay"].value == pytest.approx(
        abs(shares[0] - shares[2]) / error / limit
    )
    fourth = np.mean((every - every.mean()) ** 4)
    error = sqrt((fourth - variance**2) / (4 * variance) * 3 / 600)
    assert looks["standard deviation of pay"].value == pytest.approx(
        abs(sides[0].std() - sides[2].std()) / error / limit
    )


def test_associations_are_those_of_slow_code():
    training, holdout, made, rng = three(1_000, 10)
    names = ["region", "town", "job"]
    made = changed(made, job=rng.permutation(made["job"].data))
    run = control_run(*(t.select(names) for t in (training, holdout)), (made.select(names),))
    pairs = []
    for one, other in combinations(names, 2):
        both = []
        for table in (holdout, made):
            counts = np.zeros((12, 12))
            np.add.at(counts, (table[one].data, table[other].data), 1)
            both.append(cramers_v(counts.ravel(), *np.indices((12, 12)).reshape(2, -1)))
        pairs.append(both)
    look = of(unseen(run, names, seed=1), "associations")
    some = [(a, b) for a, b in pairs if a >= 0.1]
    assert look.value == pytest.approx(sum(map(min, some)) / sum(a for a, _ in some))
    assert kept_share([(0.05, 0.04)]) is None
