from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from threadpoolctl import threadpool_limits

from synthesizer.data.errors import ModelError, RuleError
from synthesizer.data.expressions import Expression
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.values import single_value
from synthesizer.engine.chain import ChainSpec, FittedChain
from synthesizer.engine.drawing import (
    MAX_ROWS,
    allocate,
    limits_of,
    split_strata,
    whole_number_problems,
)
from synthesizer.engine.registry import Registry
from synthesizer.models.limits import StructuralZeros, found_structural_zeros
from synthesizer.models.step import Forbid, Rule, Step
from tests.tables import assert_same, coded, numeric, persons

REGISTRY = Registry.load()


def spec(table: Table, **changes: Any) -> ChainSpec:
    """A chain in file order; ``methods`` maps variables to models."""
    methods = changes.pop("methods", {})
    steps = []
    for i, name in enumerate(table.names):
        method = methods.get(name, "cart" if i else "sample")
        model = REGISTRY.build(method)
        predictors = table.names[:i] if model.abilities.uses_predictors else ()
        steps.append(Step(variable=name, method=method, model=model, predictors=predictors))
    return ChainSpec(steps=tuple(steps), **changes)


def fitted(table: Table, seed: int = 1, **changes: Any) -> FittedChain:
    return spec(table, **changes).fit(table, Seed(seed))


def test_same_seed_same_bytes_for_any_number_of_workers() -> None:
    """Backends are those of `tests/end_to_end/test_backends.py`."""
    table = persons()
    rules: dict[str, Any] = {
        "rules": (
            Rule(
                condition=Expression.parse("round(age / 10, 0) < 2 and sex == 'f'"),
                value=single_value(table["marital"].variable, "single"),
            ),
        ),
        "forbids": (
            Forbid(condition=Expression.parse("age > 60 and income > 900"), variable="income"),
        ),
    }
    steps: list[int] = []
    expected = list(fitted(table, **rules).generate(Seed(3), m=3, n_jobs=1))
    with parallel_config(backend="threading"):
        chain = spec(table, **rules).fit(table, Seed(1), n_jobs=2, progress=steps.append)
        n_fits = len(steps)
        again = list(chain.generate(Seed(3), m=3, n_jobs=2, progress=steps.append))
    assert n_fits == len(chain.strata[0].replicates[0])
    assert steps[n_fits:] == [1] * chain.count_blocks(3, None)
    for one, other in zip(expected, again, strict=True):
        assert_same(one, other)


def test_no_number_of_blas_threads_changes_a_bit() -> None:
    rng = np.random.default_rng(2)
    codes = [rng.integers(size, size=5000) for size in (60, 20)]
    table = Table(coded(f"v{len(set(each))}", each, [str(c) for c in range(60)]) for each in codes)
    coefficients = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            chain = fitted(table, methods={"v20": "multinomial"})
        coefficients.append(chain.strata[0].replicates[0][1].value_model.softmax.coefficients)
    assert (coefficients[0] == coefficients[1]).all()


def test_a_new_variable_does_not_shift_the_others() -> None:
    table = persons()
    more = table.with_column(coded("last", np.arange(table.n_rows) % 3, "abc"))
    short = next(fitted(table).generate(Seed(3)))
    long = next(fitted(more).generate(Seed(3)))
    assert_same(short, long.select(table.names))


def test_the_seed_alone_does_not_replay_the_draws() -> None:
    chain = fitted(persons())
    one, two = (next(chain.generate(seed))["sex"].data for seed in (Seed(3), Seed(3, "ab" * 32)))
    assert 0.3 < (one == two).mean() < 0.7  # as independent coins agree


def test_a_generator_is_named_after_its_purpose_its_place_and_its_variable(
    paths: list[tuple[str | int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    table, two = persons(200), (0, 1)
    chain = spec(table, strata=("sex",), proper=True).fit(table, Seed(1), replicates=2)
    names = table.names
    expected = [("fit", s, r, name) for s in two for r in two for name in names]
    expected += [("bootstrap", s, r) for s in two for r in two for _ in names]
    expected += [("screen", s) for s in two]
    assert sorted(paths) == sorted(expected)
    paths.clear()
    monkeypatch.setattr("synthesizer.data.panel.arrangement.BLOCK_ROWS", 60)
    list(chain.generate(Seed(1), m=2))
    assert len(set(paths)) == len(paths)
    assert {path[:3] for path in paths if path[0] == "draw"} == {
        ("draw", d, s) for d in two for s in two
    }


def test_rows_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = fitted(persons())
    assert next(chain.generate(Seed(1), rows=7)).n_rows == 7
    assert next(chain.generate(Seed(1), rows=1_000)).n_rows == 1_000
    monkeypatch.setattr("synthesizer.data.panel.arrangement.BLOCK_ROWS", 100)
    blocks = next(chain.generate(Seed(1), rows=250, n_jobs=2))
    assert blocks.n_rows == 250
    assert_same(blocks.take(slice(0, 100)), next(chain.generate(Seed(1), rows=100)))


def test_what_is_completed_goes_with_its_own_rows_in_every_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("synthesizer.data.panel.arrangement.BLOCK_ROWS", 100)
    codes = np.random.default_rng(1).integers(0, 2, 250)
    table = Table([coded("x", codes, "ab"), coded("y", 1 - codes, "cd")])
    made = fitted(table).completed(table.select(["x"]), Seed(1), n_jobs=1)
    assert (made["y"].data == 1 - codes).all()


@pytest.mark.parametrize("strata", [(), ("sex",)])
def test_some_variables_are_drawn_as_in_the_whole_chain(strata: tuple[str, ...]) -> None:
    chain = fitted(persons(), strata=strata)
    part = chain.only({"sex", "age"})
    assert part.n_units == chain.n_units
    both = (source.generate(Seed(3), m=2) for source in (part, chain))
    for some, whole in zip(*both, strict=True):
        assert_same(some, whole.select(["sex", "age"]))


@pytest.mark.parametrize("proper", [False, True])
def test_parts_of_a_dataset_together_are_the_dataset(
    proper: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synthesizer.data.panel.arrangement.BLOCK_ROWS", 60)
    table = persons(200)
    with_ids = Table([Column(Variable(name="id", kind=Kind.ID), np.arange(200.0)), *table.columns])
    chain = spec(table, proper=proper).fit(with_ids, Seed(1), replicates=2)
    whole = list(chain.generate(Seed(3), m=2))[1]
    for ends in ([0, 200], [0, 120, 200], [0, 60, 120, 180, 200]):
        parts = [chain.part(Seed(3), 1, *pair) for pair in pairwise(ends)]
        assert_same(Table.concatenate(parts), whole)


def test_levels_that_zeros_allow_are_listed_by_row_but_where_a_rule_sets_them() -> None:
    x, y = np.array([0, 0, 1, 2, 2, 1]), np.array([0, 1, 1, 2, 0, 1])
    table = Table([coded("x", x, "abc"), coded("y", y, "pqr")])
    zeros = StructuralZeros.of(table, ("x", "y"), "y")
    known = set(zip(x.tolist(), y.tolist(), strict=True))
    given = table.select(["x"])
    for free in (np.ones(6, dtype=bool), np.array([True, False, True, False, True, True])):
        limits = limits_of(table["y"].variable, given, [zeros], free)
        slow = [
            [(a, b) in known or not on for b in range(3)] for a, on in zip(x, free, strict=True)
        ]
        assert limits.masks is not None
        assert limits.masks.allowed(np.arange(6)).tolist() == slow
        assert limits.judge is not None
        for code in range(3):
            column = coded("y", np.full(6, code), "pqr")
            assert limits.judge(np.arange(6), column).tolist() == [not row[code] for row in slow]


def test_supports_are_relearnt_from_other_data_and_conditions_stay() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 4, 300)
    names = {"x": x, "y": np.minimum(x + rng.integers(0, 2, 300), 3), "z": x // 2}
    table = Table([coded(name, codes, "abcd") for name, codes in names.items()])
    half = table.take(x != 1)
    firm, stays = StructuralZeros.of(table, ("x", "y"), "y"), forbid("x == 'a' and z == 'd'", "z")
    zeros = list(found_structural_zeros(table, {("x", "z"): 0.4}, rng))
    chain = spec(table, forbids=(stays, *zeros, firm), strata=("x",))
    again = chain.relearnt(half, Seed(5))
    assert again.order == table.names
    assert again.forbids[0] is stays
    expected = [StructuralZeros.of(half, ("x", "y"), "y")]
    expected += found_structural_zeros(
        half, {("x", "z"): 0.4}, Seed(5).generator("structural_zeros")
    )
    learnt = [zero for zero in again.forbids if isinstance(zero, StructuralZeros)]
    for one, other in zip(learnt, expected, strict=True):
        assert (one.variable, one.opened, one.is_firm) == (
            other.variable, other.opened, other.is_firm
        )  # fmt: skip
        assert one.broken(table).tolist() == other.broken(table).tolist()
    assert learnt[0].broken(table).tolist() == (x == 1).tolist()


@pytest.mark.parametrize("strata", [(), ("marital",)])
def test_kept_rows_stay_in_place(strata: tuple[str, ...]) -> None:
    table = persons()
    chain = fitted(table, methods={"sex": "keep", "age": "keep"}, strata=strata)
    names = ["sex", "age", *strata]
    for made in chain.generate(Seed(1), m=2):
        assert_same(made.select(names), table.select(names))
    with pytest.raises(ModelError, match="copied row by row"):
        next(chain.generate(Seed(1), rows=10))


def test_strata_have_chains_of_their_own() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], [300, 100])
    table = Table([coded("g", group, "ab"), numeric("x", rng.integers(0, 5, 400) + 10 * group)])
    made, *others = fitted(table, strata=("g",)).generate(Seed(1), m=3, rows=200)
    for d, one in enumerate((made, *others)):  # drawn: exact sizes would be published
        sizes = Seed(1).generator("strata", d).multinomial(200, [0.75, 0.25])
        assert np.bincount(one["g"].data).tolist() == sizes.tolist() != [150, 50]
    assert (made["x"].data[made["g"].data == 0] < 10).all()
    assert (made["x"].data[made["g"].data == 1] >= 10).all()
    assert not (np.diff(made["g"].data) >= 0).all()  # strata are mixed, not stacked


def test_strata_are_the_combinations_of_several_variables() -> None:
    rng = np.random.default_rng(4)
    states = rng.choice([0, 0, 0, 1, 2], 90)
    number = numeric("x", rng.integers(0, 3, 90), states, missing=("", "-8"))
    table = Table([coded("a", rng.integers(0, 4, 90), "abcd"), number, coded("b", states, "xyz")])
    rows = split_strata(table, ["a", "x", "b"])
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row in range(90):
        x = None if states[row] else number.data[row]
        groups.setdefault((table["a"].data[row], x, states[row]), []).append(row)
    assert sorted(part.tolist() for part in rows) == sorted(groups.values())


def test_numbers_of_datasets_and_rows_are_checked_one_by_one() -> None:
    problems = whole_number_problems(m=None, k=1, rows=0, n=2.5, b=True, x=MAX_ROWS + 1, y=MAX_ROWS)
    named = ["rows (0)", "n (2.5)", "b (True)", f"x ({MAX_ROWS + 1})"]
    assert [problem.partition(" must")[0] for problem in problems] == named
    with pytest.raises(ModelError) as caught:
        next(fitted(persons()).generate(Seed(1), m=0, rows=-1))
    assert [problem.partition(" must")[0] for problem in caught.value.problems] == [
        "m (0)",
        "rows (-1)",
    ]


@pytest.mark.parametrize("n", [1, 101])
def test_allocation_adds_up_and_is_nearest_to_the_shares(n: int) -> None:
    sizes = [3, 5, 11, 0, 11]
    parts = np.array(allocate(n, sizes))
    exact = n * np.array(sizes) / sum(sizes)
    assert parts.sum() == n
    assert np.abs(parts - exact).max() < 1
    rest = exact - np.floor(exact)  # the largest remainders are rounded up
    up = parts > np.floor(exact)
    assert not up.any() or up.all() or rest[up].min() >= rest[~up].max() - 1e-12


def test_proper_synthesis_fits_for_every_dataset() -> None:
    table = persons()
    proper = spec(table, proper=True).fit(table, Seed(1), replicates=2)
    assert len(proper.strata[0].replicates) == 2
    assert len(list(proper.generate(Seed(1), m=2))) == 2
    for request in ({"m": 3}, {"m": 1, "first": 2}):
        with pytest.raises(ModelError, match=r"m \(3\) must be at most 2"):
            next(proper.generate(Seed(1), **request))
    plain = fitted(table)
    with pytest.raises(AssertionError):
        assert_same(next(plain.generate(Seed(1))), next(proper.generate(Seed(1))))


def rule(table: Table, condition: str, variable: str, value: str) -> Rule:
    return Rule(
        condition=Expression.parse(condition), value=single_value(table[variable].variable, value)
    )


@pytest.mark.parametrize(
    ("condition", "variable", "value", "state"),
    [
        ("age < 15", "income", np.nan, 2),
        ("age > 80", "income", 77.0, 0),
        ("age >= 0", "marital", 0, 0),
    ],
)
def test_rules_set_numbers_levels_and_missing_codes_also_in_all_rows(
    condition: str, variable: str, value: float, state: int
) -> None:
    table = persons(500)
    text = "-8" if state else "single" if variable == "marital" else "77"
    made = next(fitted(table, rules=(rule(table, condition, variable, text),)).generate(Seed(1)))
    ruled = Expression.parse(condition).condition(made)
    assert ruled.any()
    np.testing.assert_array_equal(made[variable].data[ruled], np.full(ruled.sum(), value))
    assert (made[variable].missing_state()[ruled] == state).all()


def forbid(condition: str, variable: str) -> Forbid:
    return Forbid(condition=Expression.parse(condition), variable=variable)


def test_structural_zeros_are_redrawn() -> None:
    table = persons(2_000)
    zeros = (
        forbid("age < 40 and marital == 'married'", "marital"),
        forbid("sex == 'f' and income > 1000", "income"),
        forbid("age > 50 and missing(income)", "income"),
    )
    made = next(fitted(table, forbids=zeros).generate(Seed(1)))
    for zero in zeros:
        assert zero.condition.count(made) == 0
    assert made["marital"].data[made["age"].data >= 40].mean() > 0.4


@pytest.mark.parametrize("order", [("x", "y"), ("y", "x")])
def test_combinations_of_a_support_alone_are_drawn(order: tuple[str, str]) -> None:
    """Drawn independently three of four have a number that does not go with the level."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 4, 2_000)
    numbers = 10.0 * codes + rng.integers(0, 9, 2_000)
    table = Table([coded("x", codes, "abcd"), numeric("y", numbers)]).select(order)
    zeros = StructuralZeros.of(table, order, order[1])
    methods = {order[1]: "sample"}
    free = next(fitted(table, methods=methods).generate(Seed(1)))
    assert zeros.broken(free).mean() == pytest.approx(0.75, abs=0.05)
    made = next(fitted(table, methods=methods, forbids=(zeros,)).generate(Seed(1)))
    assert not zeros.broken(made).any()
    assert (made["y"].data // 10).tolist() == made["x"].data.tolist()


def test_nothing_allowed_stops_with_zero_variable_and_stratum() -> None:
    zeros = (forbid("age > 40 and (marital == 'married' or marital == 'single')", "marital"),)
    with pytest.raises(RuleError, match=r"'marital'.*\d+ .*age > 40") as caught:
        next(fitted(persons(), forbids=zeros, strata=("sex",)).generate(Seed(1)))
    assert caught.value.__notes__ == [
        "while drawing variable 'marital' with model 'cart', stratum 1"
    ]


def test_log_likelihoods_are_entropies_and_tell_of_memory() -> None:
    rng = np.random.default_rng(4)
    halves = [
        Table(
            [
                coded("group", rng.integers(0, 2, 4000).tolist(), ["a", "b"]),
                numeric("x", rng.integers(0, 4, 4000).astype(float)),
            ]
        )
        for _ in range(2)
    ]
    chain = fitted(halves[0], methods={"group": "cart"})
    seen, unseen = (
        {name: values.mean() for name, values in chain.log_likelihoods(half)} for half in halves
    )
    assert seen["group"] == pytest.approx(np.log(0.5), abs=0.01)
    assert seen["x"] == pytest.approx(np.log(0.25), abs=0.02)
    assert seen["x"] > unseen["x"]
    assert "group" not in dict(fitted(halves[0]).log_likelihoods(halves[0]))  # `sample`
    strata = fitted(halves[0], strata=("group",), methods={"group": "keep"})
    assert list(strata.log_likelihoods(halves[0])) == []
