"""The source of evolved datasets: what it starts from, what it yields, what it tells."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from synthesizer.data.errors import DataError, ModelError
from synthesizer.data.expressions import Expression
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.values import single_value
from synthesizer.engine.genetic.genetic_options import GeneticOptions
from synthesizer.engine.genetic.genetic_source import Evolving, GeneticPlan, keeping
from synthesizer.engine.genetic.scores import Score
from synthesizer.models.step import Forbid, Rule
from tests.engine.genetic.breeding import SMALL
from tests.engine.genetic.slow_scores import coding_of, random_file
from tests.tables import assert_same, numeric

SEED = Seed(3)
TABLE = random_file(60, (8, 4, 3), 1)
FILES = [random_file(40, (8, 4, 3), seed) for seed in range(2, 14)]


def source(files=(), chain=None, **options):
    start = {"start": "chain"} if chain else {"start": ["a.csv"]} if files else {}
    options = GeneticOptions(**(SMALL | start | options))
    plan = GeneticPlan(options=options, keys=("v0", "v1"), target="v2", files=files)
    return Evolving(plan=plan, table=TABLE, chain=chain)


def test_a_dataset_is_the_best_candidate_in_another_order():
    words, told = [], []
    made = source()
    made.tell = words.append
    (table,) = made.generate(SEED, progress=told.append)
    best, evolver = made._last.best, made.evolver
    assert (evolver.sought.coding.encode(table) == evolver.shuffled(best, SEED, 0)).all()
    assert (np.sort(evolver.shuffled(best, SEED, 0)) == np.sort(best.records)).all()
    assert (evolver.shuffled(best, SEED, 0) != best.records).any()
    assert made.results == [made._last.dataset]
    assert told == [1] * len(words) == [1] * len(made.results[0].history[1:])
    assert words[-1].startswith(f"U {made.results[0].history[-1].utility:.4f}, R ")
    assert (made.n_units, made.keeps_rows, made.interrupted, made.notes) == (60, True, False, ())
    assert made._last.origin is made.evolver.sought.records


def test_the_record_tells_what_was_sought_and_found():
    made = source(risk_at_most=0.4, weight=0.7)
    assert made.evolution(SEED) is None
    list(made.generate(SEED))
    found = made.evolution(SEED)
    assert (found.frontier, found.points) == ((), ())
    record, risk = found.evolution, made.evolver.risk
    for name in ("mode", "start", "population", "weight", "risk_at_most"):
        assert getattr(record, name) == getattr(made.plan.options, name)
    assert record.risk_floor == record.risk.random == made.evolver.random_risk(SEED)
    assert (record.risk.name, record.risk.keys, record.risk.target) == ("cap_u", ("v0", "v1"), "v2")
    assert (record.risk.people, record.risk.baseline) == (risk.people, risk.baseline)
    assert (record.utility.name, record.datasets) == ("full_table", tuple(made.results))


@pytest.mark.parametrize(
    ("floor", "limit", "points", "best", "expected"),
    [
        (0.0, None, 10, 2, [0, 1, 2, 3]),
        (0.25, None, 10, 2, [1, 2, 3]),
        (0.2, None, 10, 2, [1, 2, 3]),
        (0.25, 0.15, 10, 2, [0, 1, 2, 3]),
        (0.9, None, 10, 3, [3]),
        (0.2, None, 2, 3, [1, 3]),
        (0.0, None, 2, 2, [0, 2]),
        (0.0, None, 3, 1, [0, 1, 2]),
    ],
)
def test_the_frontier_is_thinned_out_above_the_floor(floor, limit, points, best, expected):
    made = source(mode="pareto", points=points, risk_at_most=limit)
    list(made.generate(SEED))
    one = made._last.best
    front = [replace(one, score=Score(0.5 - r, r)) for r in (0.1, 0.2, 0.3, 0.4)]
    options = replace(made.plan.options, risk_floor=floor)
    made._last = replace(made._last, best=front[best], frontier=tuple(front), options=options)
    found = made.evolution(SEED)
    assert [point.risk for point in found.points] == [front[i].score.risk for i in expected]
    coding = made.evolver.sought.coding
    for number, table in enumerate(found.frontier, 1):
        order = made.evolver.shuffled(one, SEED, 0, number)
        assert (coding.encode(table) == order).all()


def test_a_chain_gives_each_dataset_a_population_of_its_own():
    asked = []

    def generate(seed, **request):
        asked.append((seed, request))
        return FILES[:8]

    made = source(chain=SimpleNamespace(generate=generate, notes=("rare",)))
    one, two = made.generate(SEED, m=2, rows=40, first=1, n_jobs=1)
    request = {"m": 8, "rows": 40, "n_jobs": 1}
    assert asked == [(SEED, request | {"first": 8}), (SEED, request | {"first": 16})]
    assert (one.n_rows, len(made.results), made.keeps_rows) == (40, 2, False)
    assert made._last.origin is None
    assert made.notes == ("rare",)
    with pytest.raises(AssertionError):
        assert_same(one, two)


def test_files_are_the_start():
    coding = source().evolver.sought.coding
    records = tuple(coding.encode(table) for table in FILES[:3])
    made = source(files=records)
    assert (made.n_units, made.plan.start) == (40, "files")
    assert made.half_problems[0].startswith("a half cannot be synthesised: genetic.start names")
    start = made._start(SimpleNamespace(seed=SEED), 0)
    assert [one.records.tolist() for one in start[:3]] == [own.tolist() for own in records]
    assert len(start) == 8


@pytest.mark.parametrize(
    ("options", "request_", "named"),
    [
        ({}, {"m": 2}, "m (2)"),
        ({}, {"rows": 7}, "rows (7) must be 60"),
        ({"chain": SimpleNamespace(), "mode": "pareto"}, {"m": 2}, "m (2)"),
    ],
)
def test_impossible_requests(options, request_, named):
    with pytest.raises(ModelError) as caught:
        source(**options).generate(SEED, **request_)
    assert named in str(caught.value)


def test_limits_hold_for_each_dataset_and_for_all_pooled():
    made = source(risk_at_most=0.3)
    list(made.generate(SEED))
    (dataset,) = made.results
    above = dataset.model_copy(update={"reached": False, "risk": 0.41234})
    within = dataset.model_copy(update={"reached": True})
    for results, pooled, named in (
        ([within, above], {"cap_u": 0.3, "cap": 1.0}, ["(0.3): dataset 2 ", "0.4123"]),
        ([within, within], {"cap_u": 0.35}, ["2 datasets pooled", "0.3500"]),
        ([within], {"cap_u": 0.35}, []),
        ([within], {}, []),
    ):
        made.results[:] = results
        problems = made.exceeded(pooled)
        assert len(problems) == (len(named) > 0)
        assert all(word in problems[0] for word in named)
    assert made.count_blocks(3, None) == 24


def test_an_interrupt_ends_the_datasets_and_leaves_no_half():
    made = source(chain=SimpleNamespace(generate=lambda seed, **request: FILES[:8], notes=()))

    def interrupt(words):
        raise KeyboardInterrupt

    made.tell = interrupt
    assert len(list(made.generate(SEED, m=3))) == 1
    assert made.interrupted
    assert made.half_problems == ("the evolution was interrupted, and a half would not be",)


def test_records_keep_the_rules_of_categories_row_by_row():
    """Rules and zeros about numbers hold where these are drawn."""
    table = TABLE.with_column(numeric("pay", np.arange(60)))

    def rule(condition, variable, value):
        value = single_value(table[variable].variable, value)
        return Rule(condition=Expression.parse(condition), value=value)

    rules = (rule("v1 == '2'", "v2", "1"), rule("v0 == '1'", "pay", "7"))
    zeros = [
        Forbid(condition=Expression.parse(text), variable=name)
        for text, name in (("v0 == '3' and v1 == '0'", "v1"), ("pay > 3 and v0 == '2'", "pay"))
    ]
    coding = coding_of(TABLE)
    keeps = keeping(rules, zeros, table)(coding.encode(TABLE))
    v0, v1, v2 = (TABLE[name].data for name in ("v0", "v1", "v2"))
    expected = [
        (b != 2 or c == 1) and not (a == 3 and b == 0) for a, b, c in zip(v0, v1, v2, strict=True)
    ]
    assert keeps.tolist() == expected
    assert 0 < keeps.sum() < len(keeps)
    alone = keeping((), zeros[:1], table)(coding.encode(TABLE))
    assert alone.tolist() == [not (a == 3 and b == 0) for a, b in zip(v0, v1, strict=True)]
    assert keeping(rules[1:], zeros[1:], table) is None


def test_what_does_not_evolve_is_drawn_given_what_does_and_ids_are_numbered():
    asked = []

    def completed(drawn, seed, n_jobs):
        asked.append((seed, n_jobs, drawn.names))
        return drawn.with_column(numeric("pay", 10 * drawn["v0"].data))

    ids = Column(Variable(name="id", kind=Kind.ID), np.arange(60.0)[::-1].copy())
    table = Table([ids, numeric("pay", np.arange(60)), *TABLE.columns])
    plan = GeneticPlan(options=GeneticOptions(**SMALL), keys=("v0", "v1"), target="v2")
    made = Evolving(
        plan=plan, table=table, rest=SimpleNamespace(completed=completed, notes=("odd",))
    )
    (found,) = made.generate(SEED, n_jobs=2)
    assert found.names == table.names
    assert found["id"].data.tolist() == list(range(1, 61))
    assert (found["pay"].data == 10 * found["v0"].data).all()
    assert asked == [(SEED.child("genetic", 0, "rest", 0), 2, TABLE.names)]
    assert (made.notes, made.half_problems) == (("odd",), ())


def test_a_risk_without_anybody_is_refused():
    twice = TABLE.take(np.repeat(np.arange(60), 2))
    plan = GeneticPlan(options=GeneticOptions(**SMALL), keys=("v0", "v1"), target="v2")
    with pytest.raises(DataError, match="risk cap_u is undefined: no record of the original"):
        next(Evolving(plan=plan, table=twice).generate(SEED))
