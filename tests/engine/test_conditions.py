"""Datasets under conditions, against rejection sampling of the same chain."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from synthesizer.data.after import After
from synthesizer.data.errors import ConfigError, ModelError
from synthesizer.data.expressions import Expression
from synthesizer.data.panel.arrangement import RowFrame
from synthesizer.data.panel.panel_table import as_panel
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.data.values import single_value
from synthesizer.engine.candidate_choice import (
    Margin,
    balanced,
    fitted_sums,
    raked_choice,
    systematic,
)
from synthesizer.engine.chain import ChainSpec, FittedChain
from synthesizer.engine.condition_tables import Drawable, read_conditions
from synthesizer.engine.conditions import ConditionedChain, under
from synthesizer.engine.registry import Registry
from synthesizer.models.fixed import Constant, Derived
from synthesizer.models.step import Forbid, Rule, Step
from tests.engine.test_panel_chain import fitted as fitted_panel
from tests.tables import assert_same, coded, numeric, persons

REGISTRY = Registry.load()


def people(n: int = 3000, seed: int = 0) -> Table:
    """Region, sex, age and job, each of which depends on those before; and pay."""
    rng = np.random.default_rng(seed)
    region = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    sex = (rng.random(n) < 0.3 + 0.1 * region).astype(int)
    age = rng.integers(20, 30 + 10 * (region + 1), n)
    job = (rng.random(n) < np.where(age > 40, 0.7, 0.2) + 0.2 * sex).astype(int)
    pay = np.round(1000 + 30 * age + 500 * job + rng.normal(0, 300, n))
    return Table(
        [
            coded("region", region, ("N", "E", "S", "W")),
            coded("sex", sex, ("f", "m")),
            numeric("age", age),
            coded("job", job, ("no", "yes")),
            numeric("pay", pay),
        ]
    )


def fitted(table: Table, methods: dict[str, str] | None = None, **changes: Any) -> FittedChain:
    steps = []
    for i, name in enumerate(table.names):
        method = (methods or {}).get(name, "cart" if i else "sample")
        model = REGISTRY.build(method)
        predictors = table.names[:i] if model.abilities.uses_predictors else ()
        steps.append(Step(variable=name, method=method, model=model, predictors=predictors))
    steps = changes.pop("steps", steps)
    return ChainSpec(steps=tuple(steps), **changes).fit(table, Seed(1))


@pytest.fixture(scope="module")
def chain() -> FittedChain:
    return fitted(people())


def source(chain: FittedChain, **options: Any) -> ConditionedChain:
    wanted = {"given": None, "where": None, "margins": (), "after": After()} | options
    made = under(chain, read_conditions(Drawable.of_chain(chain), **wanted))
    assert isinstance(made, ConditionedChain)
    return made


def drawn(chain: FittedChain, rows: int | None = None, seed: int = 3, **options: Any) -> Table:
    return next(source(chain, **options).generate(Seed(seed), rows=rows, n_jobs=1))


DRAWN: dict[int, tuple[FittedChain, Table]] = {}


def many(chain: FittedChain) -> Table:
    """Draw 100,000 records once for each chain."""
    if id(chain) not in DRAWN:
        DRAWN[id(chain)] = chain, next(chain.generate(Seed(99), rows=100_000, n_jobs=1))
    return DRAWN[id(chain)][1]


def rejected(chain: FittedChain, where: str) -> Table:
    """Draw without conditions, and keep the records that satisfy one: slow and obvious."""
    table = many(chain)
    return table.take(Expression.parse(where).condition(table))


def difference(one: Table, other: Table, name: str, groups: int = 8) -> float:
    """Return the p-value of Pearson's test that two tables have one distribution."""
    columns = [table[name].data.astype(float) for table in (one, other)]
    both = np.concatenate(columns)
    edges = np.unique(np.quantile(both, np.linspace(0, 1, groups + 1)[1:-1]))
    counts = [np.bincount(np.searchsorted(edges, c), minlength=len(edges) + 1) for c in columns]
    matrix = np.array(counts)[:, np.sum(counts, axis=0) > 0]
    return 1.0 if matrix.shape[1] < 2 else float(chi2_contingency(matrix).pvalue)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"region": ["W"]}, "region == 'W'"),
        ({"sex": ["m"]}, "sex == 'm'"),
        ({"job": ["yes"]}, "job == 'yes'"),
        ({"sex": ["f"], "job": ["yes"]}, "sex == 'f' and job == 'yes'"),
        ({"age": [33]}, "age == 33"),
    ],
)
def test_given_values_have_the_distribution_of_rejection_sampling(
    chain: FittedChain, given: dict[str, list[Any]], where: str
) -> None:
    made, slow = drawn(chain, 2000, given=pd.DataFrame(given)), rejected(chain, where)
    assert Expression.parse(where).condition(made).all()
    # many draws are copies of a candidate, so that chance is larger than in independent rows
    for name in set(made.names) - set(given):
        assert difference(made, slow, name) > 1e-3, name


def test_a_given_number_at_the_end_of_the_chain_weighs_by_its_class(chain: FittedChain) -> None:
    made = drawn(chain, 2000, given=pd.DataFrame({"pay": [2500.0]}))
    slow = rejected(chain, "2350 <= pay <= 2650")
    assert (made["pay"].data == 2500).all()
    for name in ("region", "sex", "job"):
        shares = [np.bincount(t[name].data, minlength=4) / t.n_rows for t in (made, slow)]
        assert shares[0] == pytest.approx(shares[1], abs=0.06)
    assert made["age"].data.mean() == pytest.approx(slow["age"].data.mean(), abs=1.5)


def test_a_model_without_likelihood_draws_and_compares() -> None:
    chain = fitted(people(), {"job": "logreg", "sex": "logreg"})
    made = drawn(chain, 2000, given=pd.DataFrame({"job": ["yes"]}))
    slow = rejected(chain, "job == 'yes'")
    assert min(difference(made, slow, name) for name in ("region", "sex", "age")) > 1e-3


def test_expressions_have_the_distribution_of_rejection_sampling(chain: FittedChain) -> None:
    where = "sex == 'm' and age >= 60 and region != 'N'"
    made = drawn(chain, 3000, where=where)
    assert Expression.parse(where).condition(made).all()
    slow = rejected(chain, where)
    assert min(difference(made, slow, name) for name in made.names) > 1e-3


def test_margins_are_exact_and_keep_the_relations(chain: FittedChain) -> None:
    sex = pd.DataFrame({"sex": ["f", "m"], "count": [300, 700]})
    region = pd.DataFrame({"region": list("NESW"), "share": [0.251, 0.249, 0.3, 0.2]})
    made = drawn(chain, margins=[sex, region])
    assert np.bincount(made["sex"].data).tolist() == [300, 700]
    assert np.bincount(made["region"].data).tolist() == [251, 249, 300, 200]
    # given the margins, everything else is as in the chain: job given sex and region
    slow = many(chain)
    for code in (0, 1):
        rows = [t.take((t["sex"].data == code) & (t["region"].data == 3)) for t in (made, slow)]
        shares = [t["job"].data.mean() for t in rows]
        assert shares[0] == pytest.approx(shares[1], abs=4 * 0.5 / rows[0].n_rows ** 0.5)


def test_margins_of_all_records_give_the_chain_itself(chain: FittedChain) -> None:
    slow = many(chain)
    shares = np.bincount(slow["job"].data) / slow.n_rows
    made = drawn(chain, 3000, margins=[pd.DataFrame({"job": ["no", "yes"], "share": shares})])
    assert min(difference(made, slow, name) for name in ("region", "sex", "age", "pay")) > 1e-3


def test_three_margins_are_off_by_a_few_rows_at_most() -> None:
    rng = np.random.default_rng(2)
    table = Table([coded(name, rng.integers(0, 5, 8000), "abcde") for name in "xyz"])
    shares = [rng.dirichlet(np.full(5, 20.0)) for _ in range(3)]
    margins = [
        Margin(cells=Table([coded(n, range(5), "abcde")]), shares=s, total=None, origin=n)
        for n, s in zip("xyz", shares, strict=True)
    ]
    made = table.take(raked_choice(table, np.ones(8000), margins, 1000, rng))
    for name, share in zip("xyz", shares, strict=True):
        assert np.abs(np.bincount(made[name].data, minlength=5) - 1000 * share).max() < 4


def test_systematic_draws_have_the_wanted_shares() -> None:
    shares, cell = np.array([0.2, 0.8, 0.0, 0.5, 0.5]), np.array([0, 0, 1, 1, 1])
    rng, counts = np.random.default_rng(1), np.zeros(5)
    for _ in range(2000):
        chosen = systematic(shares, cell, np.array([1, 3]), rng)
        assert (cell[chosen] == [0, 1, 1, 1]).all()
        counts += np.bincount(chosen, minlength=5)
    assert counts / 2000 == pytest.approx([0.2, 0.8, 0.0, 1.5, 1.5], abs=0.05)


def test_a_balanced_choice_keeps_pairs_of_variables_and_its_shares() -> None:
    rng, n = np.random.default_rng(4), 2400
    codes = rng.integers(0, 4, (3, n))
    table = Table([coded(name, code, "abcd") for name, code in zip("xyz", codes, strict=True)])
    cell = np.sort(rng.integers(0, 2, n))
    shares = rng.exponential(size=n) * (1 + codes[0])
    shares /= np.bincount(cell, shares)[cell]
    counts = np.array([100, 300])
    expected, pair = shares * counts[cell], 4 * codes[0] + codes[1]
    off = {systematic: 0.0, balanced: 0.0}
    often = np.zeros(n)
    for _ in range(200):
        for draw in off:
            plain = draw is systematic
            rows = draw(shares, cell, counts, rng) if plain else balanced(
                table, shares, cell, counts, rng
            )  # fmt: skip
            assert np.bincount(cell[rows]).tolist() == counts.tolist()
            difference = np.bincount(pair[rows], minlength=16) - np.bincount(pair, expected)
            off[draw] += float((difference**2).sum()) / 200
        often += np.bincount(rows, minlength=n) / 200
    assert off[balanced] < 0.5 * off[systematic]
    # a candidate is chosen as often as its share
    groups = np.digitize(expected, np.quantile(expected, [0.2, 0.4, 0.6, 0.8]))
    sums = [np.bincount(groups, values) for values in (often, expected)]
    assert sums[0] == pytest.approx(sums[1], abs=0.015 * counts.sum())


def test_few_candidates_are_chosen_without_balance() -> None:
    table = Table([coded("x", [0, 1, 0], "ab")])
    shares, cell = np.array([1.0, 0.25, 0.75]), np.array([0, 1, 1])
    rng = np.random.default_rng(1)
    chosen = np.concatenate([balanced(table, shares, cell, np.array([2, 4]), rng) for _ in "12"])
    assert np.bincount(chosen).tolist() == [4, 2, 6]
    assert not len(balanced(table.take(cell > 1), shares[:0], cell[:0], np.zeros(2, int), rng))


def test_fitted_sums_have_the_totals_of_a_slow_fit() -> None:
    rng = np.random.default_rng(3)
    start, totals = rng.random((3, 4)), [np.array([3.0, 5.0, 2.0]), np.array([1.0, 2.0, 3.0, 4.0])]
    slow = start.copy()
    for _ in range(200):
        slow *= (totals[0] / slow.sum(axis=1))[:, None]
        slow *= totals[1] / slow.sum(axis=0)
    fast, distance = fitted_sums(start.ravel(), np.indices((3, 4)).reshape(2, -1), totals, 200, 0)
    assert fast == pytest.approx(slow.ravel())
    assert distance < 1e-12
    impossible = fitted_sums(np.eye(2).ravel(), np.indices((2, 2)).reshape(2, -1),
                             [np.array([1.0, 2.0]), np.array([2.0, 1.0])], 50, 1e-9)  # fmt: skip
    assert impossible[1] > 0.4


def test_numbers_far_from_all_others_are_counted(chain: FittedChain) -> None:
    given = pd.DataFrame({"age": [30, 300, 400, None], "sex": ["f", "m", None, "m"]})
    with pytest.warns(UserWarning, match="column 'age': 2 of 3 numbers are far") as warned:
        list(source(chain, given=given.head(2).iloc[[0, 1, 1]]).generate(Seed(1), n_jobs=1))
    assert not any(str(int(n)) in str(w.message) for w in warned for n in (30, 300))


def test_a_saved_chain_draws_as_the_fitted_one(chain: FittedChain) -> None:
    other, given = replace(chain, frame=RowFrame()), pd.DataFrame({"region": list("NESW")})
    one, two = (source(c, given=given) for c in (chain, other))
    assert_same(*(next(made.generate(Seed(1), rows=40, n_jobs=1)) for made in (one, two)))
    assert two.counted == [{"candidates": 0}]


def test_rounding_errors_are_no_other_numbers(chain: FittedChain) -> None:
    table = Table([numeric("dose", [0.1, 0.3], decimals=1)])
    data = Table([numeric("dose", [0.1 + 0.2, 0.1, 0.2], decimals=1)])
    assert Margin(table, np.ones(2) / 2, None, "m").cell_of(data).tolist() == [1, 0, -1]
    drawable = Drawable(table.schema, ("dose",), {}, {})
    made = read_conditions(drawable, pd.DataFrame({"dose": [0.1 + 0.2]}), None, (), After())
    assert made is not None
    assert made.persons(data).tolist() == [1]
    assert (drawn(chain, 5, given=pd.DataFrame({"age": [30.0, None]}))["age"].data[::2] == 30).all()


def test_rows_are_in_the_order_of_the_table_with_all_patterns(chain: FittedChain) -> None:
    given = pd.DataFrame(
        {"age": [40.0, None, None, 25], "job": ["no", "yes", None, None], "sex": list("fm") * 2}
    )
    made = drawn(chain, 10, given=given)
    for row in range(10):
        age, job, sex = given.iloc[row % 4]
        assert made["sex"].data[row] == "fm".index(sex)
        assert job is None or pd.isna(job) or made["job"].data[row] == (job == "yes")
        assert pd.isna(age) or made["age"].data[row] == age


def test_a_full_row_is_returned_as_given(chain: FittedChain) -> None:
    full = next(chain.generate(Seed(4), rows=20, n_jobs=1))
    frame = pd.DataFrame(
        {
            c.name: [c.variable.labels[k] for k in c.data] if c.is_coded else c.data
            for c in full.columns
        }
    )
    assert_same(drawn(chain, given=frame), full)


def test_missing_codes_are_conditions_and_blanks_are_drawn() -> None:
    chain = fitted(persons(2000))
    made = drawn(chain, 300, given=pd.DataFrame({"income": ["-8", ""], "sex": ["", "m"]}))
    assert (made["income"].missing_state()[::2] == 2).all()
    assert len(np.unique(made["income"].missing_state()[1::2])) > 1
    assert (made["sex"].data[1::2] == 1).all()


def test_rules_and_structural_zeros_hold_beside_conditions() -> None:
    table = people()
    chain = fitted(
        table,
        rules=(
            Rule(
                condition=Expression.parse("age < 25"),
                value=single_value(table["job"].variable, "no"),
            ),
        ),
        forbids=(Forbid(condition=Expression.parse("sex == 'm' and age > 50"), variable="age"),),
    )
    made = drawn(chain, 1500, given=pd.DataFrame({"job": ["yes"]}))
    assert not Expression.parse("age < 25 or (sex == 'm' and age > 50)").condition(made).any()
    assert (drawn(chain, 500, given=pd.DataFrame({"age": [60]}))["sex"].data == 0).all()
    with pytest.raises(ModelError, match="0 of 204,800"):
        drawn(chain, 5, given=pd.DataFrame({"age": [22], "job": ["yes"]}))
    full = pd.DataFrame({"region": ["N"], "sex": ["m"], "age": [60]})
    with pytest.raises(ModelError, match="data rows 1"):
        drawn(chain, given=full)


def test_same_bytes_for_any_number_of_workers_and_nested_datasets(chain: FittedChain) -> None:
    given = pd.DataFrame({"job": ["yes", None] * 30, "age": [*range(20, 50)] * 2})
    for options in ({"given": given}, {"where": "age > 60", "rows": 300}):
        rows = options.pop("rows", None)
        one = list(source(chain, **options).generate(Seed(5), m=2, rows=rows, n_jobs=1))
        three = list(source(chain, **options).generate(Seed(5), m=3, rows=rows, n_jobs=3))
        for first, second in zip(one, three, strict=False):
            assert_same(first, second)


def test_effective_numbers_are_those_of_the_worst_combination(chain: FittedChain) -> None:
    made = source(chain, given=pd.DataFrame({"region": ["N", "W"], "job": ["yes", "yes"]}))
    list(made.generate(Seed(1), n_jobs=1))
    assert 30 <= made.counted[0]["effective"] <= 100
    assert made.counted[0]["row"] in (1, 2)
    alone = source(chain, where="job == 'yes'")
    list(alone.generate(Seed(1), rows=500, n_jobs=1))
    # the draws of job are restricted, so that every candidate counts
    assert 0.5 < alone.counted[0]["effective"] / alone.counted[0]["candidates"] <= 1
    drawn_only = source(chain, where="age >= 60")
    list(drawn_only.generate(Seed(1), rows=500, n_jobs=1))
    share = drawn_only.counted[0]["effective"] / drawn_only.counted[0]["candidates"]
    slow = rejected(chain, "age >= 60").n_rows / 100_000
    assert share == pytest.approx(slow, abs=4 * (slow * (1 - slow) / 1000) ** 0.5)


def test_impossible_conditions_are_refused_with_their_part(chain: FittedChain) -> None:
    with pytest.raises(ModelError, match=r"'age > 300'") as error:
        drawn(chain, 5, where="sex == 'f' and age > 300")
    held = re.findall(r"(\S+) satisfy '([^']+(?:'f')?)'", str(error.value))
    assert {text: int(n.replace(",", "")) > 1000 for n, text in held} == {
        "sex == 'f'": True, "age > 300": False,
    }  # fmt: skip
    with pytest.raises(ModelError, match=r"data rows 1 \(sex\).* 0 satisfy 'age > 300'"):
        drawn(chain, where="age > 300", given=pd.DataFrame({"sex": ["f"]}))
    table = people()
    exact = table.with_column(numeric("pay", table["pay"].data / 7, decimals=9))
    plain = fitted(exact, {"pay": "normal"})
    with pytest.raises(ModelError, match=r"pay \(normal\).*visit_sequence"):
        drawn(plain, 5, given=pd.DataFrame({"pay": [250.123]}))
    margin = pd.DataFrame({"age": [30, 99], "count": [5, 5]})
    with pytest.raises(ModelError, match=r"frame 1.*data rows 2"):
        drawn(chain, margins=[margin])


def test_rows_that_an_expression_excludes_are_listed_by_its_parts(chain: FittedChain) -> None:
    given = pd.DataFrame({"sex": ["m", "f", None, "f"], "age": [30, 40, 50, None]})
    with pytest.raises(ConfigError) as error:
        drawn(chain, where="sex == 'f' and age < 45 and job == 'yes'", given=given)
    assert [re.findall(r"'(\w+) .* data rows ([\d, ]+)", p)[0] for p in error.value.problems] == [
        ("sex", "1"), ("age", "3"),
    ]  # fmt: skip
    margins = [pd.DataFrame({"sex": ["f", "m"], "count": [9, n]}) for n in (1, 0)]
    with pytest.raises(ConfigError, match="'sex == 'f'' excludes 1 of 2 rows .* data rows 2"):
        drawn(chain, where="sex == 'f'", margins=margins[:1])
    assert drawn(chain, where="sex == 'f'", margins=margins[1:]).n_rows == 9


@pytest.mark.parametrize(
    ("column", "numbers", "rows"),
    [
        ("count", [12.5, 5, 12.5], "1, 3"),
        ("count", [3, -1, 5], "2"),
        ("count", [3, None, 5], "2"),
        ("share", [1.5, -0.5, 0], "2"),
    ],
)
def test_odd_numbers_of_margins_are_refused(
    chain: FittedChain, column: str, numbers: list[float], rows: str
) -> None:
    margin = pd.DataFrame({"region": list("NES"), column: numbers})
    with pytest.raises(ConfigError, match=rf"data rows {rows}: {column} must be"):
        drawn(chain, margins=[margin])


def test_counts_that_are_multiplied_are_noted(chain: FittedChain) -> None:
    margin = pd.DataFrame({"sex": ["f", "m"], "count": [3, 7]})
    with pytest.warns(UserWarning, match="counts sum to 10, but 40 rows are wanted"):
        made = drawn(chain, 40, margins=[margin])
    assert np.bincount(made["sex"].data).tolist() == [12, 28]


def test_all_problems_at_once(chain: FittedChain) -> None:
    given = pd.DataFrame({"sex": ["x"], "aeg": [3], "age": [30.5]})
    margins = [
        pd.DataFrame({"sex": ["f", "m"], "count": [5, 5]}),
        pd.DataFrame({"sex": ["f", "m"], "job": ["no", "no"], "count": [8, 4]}),
        pd.DataFrame({"sex": ["f", "f"], "share": [0.5, 0.5]}),
        pd.DataFrame({"sex": ["f"], "share": [0.8]}),
        pd.DataFrame({"sex": ["f"]}),
        pd.DataFrame({"sexx": ["f", "m"], "count": [0, 0]}),
    ]
    with pytest.raises(ConfigError) as error:
        read_conditions(
            Drawable.of_chain(chain), given=given, where="agee > 3", margins=margins,
            after=After(round={"job": 5}),
        )  # fmt: skip
    text = str(error.value)
    assert text.count("an earlier row") == 1
    for words in (
        "'aeg'", "data row 1", "more decimals", "'agee'", "12 (frame 2)", "by up to 16.7 %",
        "data rows 2: an earlier row", "shares sum to 0.8", "needs columns",
        "cannot be combined", "job is changed", "every count is 0",
    ):  # fmt: skip
        assert words in text, words


def test_computed_variables_are_refused_for_cells_but_not_in_expressions() -> None:
    table = people()
    double = Derived(expression="2 * age")
    steps = [*fitted_steps(table), Step(variable="double", method="derived", model=double,
                                        predictors=("age",))]  # fmt: skip
    data = table.with_column(numeric("double", 2 * table["age"].data))
    chain = ChainSpec(steps=tuple(steps)).fit(data, Seed(1))
    with pytest.raises(ConfigError, match="computed; fill age"):
        drawn(chain, given=pd.DataFrame({"double": [50]}))
    assert (drawn(chain, 50, where="double > 100")["age"].data > 50).all()


def test_constants_and_dummies_of_a_set_may_be_given() -> None:
    table, constant = people(), Constant(value="no")
    spec = ChainSpec(steps=(Step(variable="job", method="constant", model=constant),))
    assert not Drawable.of_spec(spec, table.schema).computed
    # no table contains the variable that is drawn instead of dummies
    drawable = Drawable(table.schema, table.names, {"job": ("the set",), "pay": ("age",)}, {})
    made = read_conditions(drawable, pd.DataFrame({"job": ["no"]}), None, (), After())
    assert made is not None
    assert made.names == {"job"}
    with pytest.raises(ConfigError, match="computed; fill age"):
        read_conditions(drawable, pd.DataFrame({"pay": [5]}), None, (), After())


def fitted_steps(table: Table) -> list[Step]:
    models = [REGISTRY.build("cart" if i else "sample") for i in range(len(table.names))]
    return [
        Step(variable=name, method="cart", model=model, predictors=table.names[:i])
        for i, (name, model) in enumerate(zip(table.names, models, strict=True))
    ]


def test_strata_and_kept_variables_are_refused() -> None:
    chain = fitted(people(), {"sex": "keep"}, strata=("region",))
    with pytest.raises(ConfigError) as error:
        drawn(chain, where="age > 30")
    assert len(error.value.problems) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"given": pd.DataFrame({"sex": ["f", "m", None], "grade": [None, "low", "mid"]})},
        {"where": "sex == 'f' and grade == 'low'"},
    ],
)
def test_conditions_of_panels_are_on_persons_and_first_rows(options: dict[str, Any]) -> None:
    made = as_panel(drawn(fitted_panel(), 60, **options))
    first, rows = made.first_rows, np.arange(60)
    assert made.n_units == 60
    sex, grade = (first[name].variable.levels for name in ("sex", "grade"))
    if "where" in options:
        assert (first["sex"].data == sex.index("f")).all()
        assert (first["grade"].data == grade.index("low")).all()
    else:
        assert (first["sex"].data[rows % 3 == 0] == sex.index("f")).all()
        assert (first["grade"].data[rows % 3 == 1] == grade.index("low")).all()
