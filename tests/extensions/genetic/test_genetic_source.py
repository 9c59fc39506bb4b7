"""The source of evolved datasets: its start, its datasets, limits and problems."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.expressions import Expression
from synthesizer.data.randomness import Seed
from synthesizer.data.values import single_value
from synthesizer.extensions.genetic.genetic_options import GeneticOptions
from synthesizer.extensions.genetic.genetic_source import Evolving, GeneticPlan, keeping
from synthesizer.extensions.genetic.scores import Score
from synthesizer.models.step import Forbid, Rule
from tests.extensions.genetic.breeding import SMALL
from tests.extensions.genetic.small_files import coding_of, random_file
from tests.tables import numeric

SEED = Seed(3)
TABLE = random_file(60, (8, 4, 3), 1)


def source(files=(), chain=None, **options):
    start = {"start": "chain"} if chain else {"start": ["a.csv"]} if files else {}
    options = GeneticOptions(**(SMALL | start | options))
    plan = GeneticPlan(options=options, keys=("v0", "v1"), target="v2", files=files)
    return Evolving(plan=plan, table=TABLE, chain=chain)


@pytest.mark.parametrize(
    ("floor", "limit", "points", "best", "expected"),
    [
        (0.2, None, 10, 2, [1, 2, 3]),
        (0.25, 0.15, 10, 2, [0, 1, 2, 3]),
        (0.9, None, 10, 3, [3]),
        (0.2, None, 2, 3, [1, 3]),
        (0.0, None, 2, 2, [0, 2]),
    ],
)
def test_the_frontier_is_thinned_out_above_the_floor(floor, limit, points, best, expected):
    made = source(mode="pareto", points=points, risk_at_most=limit)
    list(made.generate(SEED))
    one = made._last.best
    front = [replace(one, score=Score(0.5 - r, r)) for r in (0.1, 0.2, 0.3, 0.4)]
    options = replace(made.plan.options, risk_floor=floor)
    made._last = replace(made._last, best=front[best], frontier=tuple(front), options=options)
    beside = made.beside(SEED)
    named = beside.named([f"frontier_{i}.csv" for i in expected])
    assert [point.risk for point in named.written] == [front[i].score.risk for i in expected]
    coding = made.evolver.sought.coding
    for number, table in enumerate(beside.tables, 1):
        order = made.evolver.shuffled(one, SEED, 0, number)
        assert (coding.encode(table) == order).all()


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


def test_a_risk_without_anybody_is_refused():
    twice = TABLE.take(np.repeat(np.arange(60), 2))
    plan = GeneticPlan(options=GeneticOptions(**SMALL), keys=("v0", "v1"), target="v2")
    with pytest.raises(DataError, match="risk cap_u is undefined: no record of the original"):
        next(Evolving(plan=plan, table=twice).generate(SEED))


def test_requests_that_one_start_cannot_meet_are_problems():
    assert [*source().misfits(1, None, 0)] == [*source().misfits(1, 60, 0)] == []
    assert len([*source().misfits(2, None, 0)]) == len([*source().misfits(1, 7, 0)]) == 1
    assert source(files=(source().evolver.sought.records,)).half_problems
    assert not source().half_problems


def test_a_chain_gives_each_dataset_a_population_of_its_own():
    requests = []

    def generate(seed, **request):
        requests.append((seed, request))
        return [random_file(40, (8, 4, 3), number) for number in range(8)]

    made = source(chain=SimpleNamespace(generate=generate, notes=()))
    list(made.generate(SEED, m=2, rows=40, first=1, n_jobs=1))
    request = {"m": 8, "rows": 40, "n_jobs": 1}
    assert requests == [(SEED, request | {"first": 8}), (SEED, request | {"first": 16})]
