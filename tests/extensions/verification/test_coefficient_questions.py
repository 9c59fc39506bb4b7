"""Questions about coefficients: what they count, and that a person moves one partition."""

import numpy as np
import pytest
from partition_trials import QUESTIONS, Chunked, moved_by_one
from replay_trials import Exact
from scipy.stats import norm
from scipy.stats import t as student

from synthesizer.data.errors import ConfigError, DataError
from synthesizer.data.table import Column, Table
from synthesizer.extensions.verification.public_schema import PublicSchema, SchemaVariable
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.questions import QueryRows

RACES, YEARS = ("White", "Black"), tuple(range(2001, 2007))
SCHEMA = PublicSchema(
    person="person",
    rows_per_person=6,
    variables={
        "pay": SchemaVariable(kind="numeric", low=0.0, high=100.0),
        "race": SchemaVariable(kind="categorical", levels=RACES),
        "job": SchemaVariable(kind="categorical", levels=tuple("abcdefgh")),
        "year": SchemaVariable(kind="numeric", low=2001.0, high=2006.0, whole=True),
    },
)


def view(n=600, seed=0, gap=-2.0, drift=0.0, key=b"k" * 32):
    """Persons in six years; Black persons are paid ``gap``, changing by ``drift`` a year."""
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(n), len(YEARS))
    race, job = rng.integers(0, 2, n)[owners], rng.integers(0, 8, len(owners))
    year = np.tile(np.array(YEARS, dtype=float), n)
    pay = 50 + job + race * (gap + drift * (year - 2003.5)) + rng.normal(0, 1, len(owners))
    variables = {v.name: v for v in SCHEMA.table_schema}
    columns = [
        Column(variables["pay"], pay),
        Column(variables["race"], race.astype(np.int32)),
        Column(variables["job"], job.astype(np.int32)),
        Column(variables["year"], year),
    ]
    return QueryRows.of(Table(columns, len(owners)), tuple(map(str, range(n))), owners, key)


def query(ask, **others):
    base = {"formula": "pay ~ race | job + year", "partitions": 20}
    return query_of({**base, **others, "ask": {"coefficient": "race[Black]", **ask}})


def counts(ask, made=None, synthetic=None, **others):
    question = query(ask, **others)
    assert question.problems(SCHEMA) == []
    prepared = question.ask.prepare(question, SCHEMA, synthetic or view())
    return question.ask.release(question, prepared, made or view(seed=1), Exact())


@pytest.mark.parametrize(
    ("ask", "held"),
    [
        ({"below": -1.0}, 20),
        ({"below": -3.0}, 0),
        ({"above": -3.0}, 20),
        ({"between": [-2.5, -1.5]}, 20),
        ({"between": [-1.5, 2.5]}, 0),
    ],
)
def test_an_interval_counts_the_partitions_where_it_holds(ask, held):
    assert counts({"measure": "interval", **ask}) == ((held,),)
    assert counts({"measure": "interval", **ask}, errors="report") == ((held, 20 - held, 0),)


def test_persons_may_be_fixed_effects():
    made = view(300, seed=3, drift=1.0)
    ask = {"measure": "interval", "between": [0.5, 1.5], "coefficient": "race[Black]:year"}
    formula = "pay ~ race:year + year | person + job"
    assert counts(ask, made, synthetic=made, formula=formula) == ((20,),)
    # race does not change in a person
    ask |= {"coefficient": "race[Black]"}
    with pytest.raises(DataError, match="does not identify"):
        counts(ask, made, formula="pay ~ race + year | person")
    (problem,) = query(ask, formula="pay ~ race + person").problems(SCHEMA)
    assert "'person' is not in the public schema" in problem


def test_a_logit_of_two_groups_is_the_logarithm_of_the_ratio_of_their_odds():
    made = view(seed=4, gap=-1.0)
    groups, race = made.partition(20), made.table["race"].data
    is_high = made.table["pay"].data > 53
    shares = [[is_high[(groups == m) & (race == k)].mean() for k in (0, 1)] for m in range(20)]
    logits = np.log(np.array(shares) / (1 - np.array(shares)))
    ratios = np.sort(logits[:, 1] - logits[:, 0])
    for k in (1, 10, 19):
        ask = {"measure": "interval", "below": (ratios[k - 1] + ratios[k]) / 2}
        held = counts(ask, made, formula="I(pay > 53) ~ race", family="logit")
        assert held == ((k,),)


def test_tolerance_is_around_the_synthetic_estimate():
    close, far = view(seed=2), view(seed=2, gap=-4.0)
    for ask in ({"share": 0.25}, {"within": 0.5}):
        assert counts({"measure": "tolerance", **ask}, synthetic=close) == ((20,),)
        assert counts({"measure": "tolerance", **ask}, synthetic=far) == ((0,),)


def trend(*periods, **others):
    of = [dict(zip(("first", "last", "slope"), period, strict=True)) for period in periods]
    return {"measure": "trend", "over": "year", "periods": of, **others}


def test_trends_separately_and_jointly():
    made = view(1200, seed=3, drift=1.0)
    two = ((2001, 2003, "rising"), (2004, 2006, "falling"))
    assert counts(trend(*two), made, synthetic=made) == ((20,), (0,))
    assert counts(trend(*two, jointly=True), made, synthetic=made) == ((0,),)
    assert counts(trend((2001, 2006, [0.7, 1.3])), made, synthetic=made) == ((20,),)
    question = query(trend(*two), epsilon=1.0)
    spent = question.ask.mechanisms(question, question.ask.prepare(question, SCHEMA, made))
    assert [m.epsilon for m in spent] == [500_000, 500_000]


def test_a_year_without_a_fit_is_no_trend():
    made = view(seed=3, drift=0.5)
    lost = made.table["year"].data != 2005
    counted = counts(trend((2001, 2006, "rising")), made.take(lost), errors="report")
    assert counted == ((0, 0, 20),)
    with pytest.raises(DataError, match="in a year of the synthetic data"):
        counts(trend((2001, 2006, "rising")), synthetic=made.take(lost))


def test_a_partition_without_the_level_is_no_error():
    white = view(40, seed=4)
    few = white.take(np.flatnonzero((white.table["race"].data == 0) | (white.owners < 6)))
    ((inside, outside, errors),) = counts(
        {"measure": "interval", "below": 0.0}, few, errors="report"
    )
    assert inside + outside + errors == 20
    assert errors >= 14
    assert counts({"measure": "interval", "below": 0.0}, few) == ((inside,),)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_person_moves_no_more_than_the_noise_is_made_for(name):
    """T3: pairs of files that differ in one person, with infinities and absent levels."""
    moved = moved_by_one(name, 50)
    assert moved.changed > 0
    assert moved.all <= moved.claimed
    assert moved.first <= (1 if moved.claimed == 2 else moved.claimed)
    if name in ("below", "claim"):  # controls: a distance of 1, and partitions by place of rows
        assert moved.all == moved.claimed == 2
        assert moved_by_one(name, 50, kind=Chunked).all > 2


def test_the_test_of_a_coefficient_has_its_size_and_its_power():
    question = query({"measure": "significance"}, partitions=25)
    ask = question.ask
    scale = ask.mechanisms(question, ask.prepare(question, SCHEMA, view()))[0].scale
    assert scale == 512
    rng = np.random.default_rng(0)

    def rejected(shift):
        t = rng.standard_t(19, (2000, 25)) + shift
        units = np.rint(np.clip(t, -1, 1) * 256).sum(axis=1)
        noise = rng.geometric(1 - np.exp(-1 / scale), (2, 2000))
        totals = (units + noise[0] - noise[1]).astype(int)
        critical = next(u for u in range(0, 6400, 16) if ask.p_value(u, 25, 19, scale) <= 0.05)
        return (np.abs(totals) >= critical).mean()

    assert rejected(0.0) == pytest.approx(0.05, abs=0.015)
    assert rejected(0.6) == pytest.approx(0.59, abs=0.05)  # spec: M = 25, epsilon 1, a = 1
    assert ask.p_value(0, 25, 19, scale) == 1
    # without noise and clipped far out it is the normal test of a mean
    free = query({"measure": "significance", "clip": 5.0}, partitions=25).ask
    total = int(1.96 * 5 * 256)
    assert free.p_value(total, 25, 10_000, 0.01) == pytest.approx(2 * norm.sf(1.96), abs=2e-3)


@pytest.mark.parametrize("total", [0, 1, -1, 90, 300, -639])
def test_a_p_value_is_the_probability_of_a_noisy_sum_as_far_from_0(total):
    """Slow and obvious: partition after partition is added, and then the noise."""
    ask, m, scale, units = query({"measure": "significance", "clip": 0.25}).ask, 10, 40.0, 64
    ends = (np.arange(-units, units) + 0.5) / 256
    one = np.diff([0, *student.cdf(ends, 5), 1])
    law = np.ones(1)
    for _ in range(m):
        law = np.convolve(law, one)
    decay = np.exp(-1 / scale)
    law = np.convolve(law, decay ** np.abs(np.arange(-2000, 2001)) * (1 - decay) / (1 + decay))
    far = np.abs(np.arange(len(law)) - len(law) // 2) >= abs(total)
    assert ask.p_value(total, m, 5, scale) == pytest.approx(law[far].sum(), abs=1e-9)


def test_significance_of_the_data():
    question = query({"measure": "significance"})
    prepared = question.ask.prepare(question, SCHEMA, view())
    for made, holds in ((view(seed=1), True), (view(seed=1, gap=0.0), False)):
        released = question.ask.release(question, prepared, made, Exact())
        answer = question.ask.conclude(question, prepared, released)
        assert (answer.p_value < 0.001) is holds
        assert "coefficient lies below 0" in answer.words[1] or not holds


@pytest.mark.parametrize(
    ("ask", "family", "problem"),
    [
        (
            {"measure": "interval", "below": 0.0, "coefficient": "race[Blck]"},
            "linear",
            "race[Black]",
        ),
        ({"measure": "interval", "below": 0.0}, "logit", "response of 0 and"),
        (trend((1999, 2003, "rising")), "linear", "1999"),
    ],
)
def test_what_the_public_schema_does_not_have(ask, family, problem):
    (message,) = query(ask, family=family, formula="pay ~ race").problems(SCHEMA)
    assert problem in message


@pytest.mark.parametrize(
    ("ask", "keys"),
    [
        ({"measure": "interval"}, ("below", "above", "between")),
        ({"measure": "interval", "between": [1.0, 0.0]}, ("between",)),
        ({"measure": "tolerance"}, ("share", "within")),
        ({"measure": "claim", "below": 1.0, "share": 0.1}, ("share", "below")),
        ({"measure": "interval", "below": float("nan")}, ("below",)),
        (trend((2003, 2003, "rising")), ("years",)),
        (trend((2001, 2003, [1.0, 0.0])), ("rise",)),
    ],
)
def test_questions_that_are_none(ask, keys):
    with pytest.raises(ConfigError) as error:
        query(ask)
    assert all(key in str(error.value) for key in keys)


def test_a_person_with_a_new_level_leaves_the_bits_of_other_groups():
    """Levels are coded by their own value: places among all rows would reorder other groups."""
    question = query({"measure": "interval", "above": 0}, formula="pay ~ race | year")
    made = view(400, seed=5)
    rows = made.owners != 0
    without = made.take(rows)
    years = np.where(rows, made.table["year"].data, 1.0)  # person 0 alone has the lowest level
    columns = [Column(c.variable, years) if c.name == "year" else c for c in made.table.columns]
    other = QueryRows(Table(columns, len(years)), made.persons, made.owners, made.key)
    one, two = (
        question.ask.fits(question, SCHEMA, v, v.partition(20), 20).coefficients
        for v in (without, other)
    )
    row = made.partition(20)[0]
    assert np.array_equal(np.delete(one, row, axis=0), np.delete(two, row, axis=0), equal_nan=True)
