"""Planted functions must be found, and nothing else."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from synthesizer.data.derivations import suggest_derivations
from synthesizer.data.expressions import Expression
from synthesizer.data.table import Column, FloatArray, Kind, Table, Variable
from tests.tables import coded

SD2011 = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "sd2011.csv"
N = 500


def column(name: str, values: FloatArray, decimals: int | None = 0) -> Column:
    """A numeric column; NaN becomes the missing code ''."""
    lost = np.isnan(values)
    missing = ("",) if lost.any() else ()
    variable = Variable(name=name, kind=Kind.NUMERIC, decimals=decimals, missing=missing)
    if decimals is not None:
        values = np.round(values, decimals)
    return Column(variable, values, lost.astype(np.int8) if missing else None)


@pytest.fixture
def a() -> FloatArray:
    return np.random.default_rng(1).integers(1, 1000, N).astype(float)


@pytest.fixture
def b() -> FloatArray:
    return np.random.default_rng(2).integers(120, 210, N).astype(float)


FORMS: list[tuple[str, Callable[[FloatArray, FloatArray], FloatArray], int | None]] = [
    ("2011 - a", lambda a, b: 2011 - a, 0), ("log10(a)", lambda a, b: np.log10(a), 4),
    ("a ** 2", lambda a, b: a**2, 0), ("-a", lambda a, b: -a, 0),
    ("2.54 * a", lambda a, b: 2.54 * a, 0),
    ("a + b", np.add, 0), ("a - b", np.subtract, 0), ("a * b", np.multiply, 0),
    ("a / b", np.divide, None), ("a / b", np.divide, 3),
    ("a / (b / 100) ** 2", lambda a, b: a / (b / 100) ** 2, 1),
    ("a / b ** 2", lambda a, b: a / b**2, None), ("1.8 * a + 32", lambda a, b: 1.8 * a + 32, 1),
    ("log(a + 0.1)", lambda a, b: np.log(a + 0.1), None),
    ("sqrt(b - 100)", lambda a, b: np.sqrt(b - 100), None),
    ("exp(a - 900)", lambda a, b: np.exp(a - 900), None),
    ("(b - 100) ** 2", lambda a, b: (b - 100) ** 2, 0), ("a", lambda a, b: a, 0),
]  # fmt: skip


@pytest.mark.parametrize(("text", "function", "decimals"), FORMS)
def test_planted_forms(a, b, text, function, decimals):
    target = column("t", function(a, b), decimals)
    table = Table([column("a", a), column("b", b), target])
    assert suggest_derivations(table) == {"t": text}
    derived = Expression.parse(text).derive(table, target.variable)
    np.testing.assert_allclose(derived.data, target.data, rtol=1e-9)


def test_coincidences_give_nothing(a, b):
    """Independent numbers, few distinct values, and two that are zero in all but 1 % of rows."""
    x, y = np.zeros(6000), np.zeros(6000)
    x[:60], y[:60] = a[:60], a[60:120]
    few = {"c": a % 4, "d": a % 5, "t": a % 4 + a % 5}
    for columns in ({"a": a, "b": b}, few, {"x": x, "y": y}, {"a": a[:0]}):
        table = Table([column(name, values) for name, values in columns.items()])
        assert suggest_derivations(table) == {}


BREAKS = [200, 500, 900]


@pytest.mark.parametrize("as_number", [True, False])
@pytest.mark.parametrize("lost", ["none", "both", "number"])
def test_groups_of_a_number(a, as_number, lost):
    """The groups may be codes or numbers, and be missing, or one group, where the number is."""
    codes = np.digitize(a, BREAKS)
    empty = np.zeros(N, dtype=bool) if lost == "none" else np.arange(N) % 10 == 0
    codes[empty] = 4 if lost == "both" else 0
    if as_number:
        target = column("g", np.where(codes == 4, np.nan, 5.0 * codes))
        labels = ["0", "5", "10", "15"]
    else:
        labels = ["low", "middle", "high", "top"]
        target = coded("g", codes, labels, missing=("N",) if lost == "both" else ())
    number = column("a", np.where(empty, np.nan, a))
    text = suggest_derivations(Table([target, number]))["g"]
    expected = f"cut(a, {BREAKS}, {labels})"
    assert text == (
        f"'{labels[0]}' if missing(a) else {expected}" if lost == "number" else expected
    )
    derived = Expression.parse(text).derive(Table([number]), target.variable)
    np.testing.assert_array_equal(derived.missing_state(), target.missing_state())
    np.testing.assert_array_equal(derived.data, target.data)


def test_groups_of_codes_that_are_numbers(a):
    """Branches are ranges of codes of industries, though neither are quantities."""
    industry = (a // 25).astype(int)
    labels = [str(25 * code) for code in range(40)]
    branch = np.digitize(25 * industry, BREAKS)
    table = Table([coded("industry", industry, labels), coded("branch", branch, "wxyz")])
    assert suggest_derivations(table) == {
        "branch": f"cut(industry, {BREAKS}, ['w', 'x', 'y', 'z'])"
    }
    words = [f"no. {label}" for label in labels]  # no numbers, no ranges
    assert suggest_derivations(Table([coded("industry", industry, words), table["branch"]])) == {}


@pytest.mark.parametrize(
    ("low", "high", "held_by", "border"),
    [
        (23700, 23800, 4, 23750),  # 23,800 is a number of few records
        (23700, 23800, 5, 23800),
        (17, 18, 1, 18),  # numbers of two digits identify no person
        (1230.7, 1230.8, 1, 1230.75),
    ],
)
def test_borders_are_not_the_numbers_of_few_records(low, high, held_by, border):
    steps = np.concatenate([np.arange(40), [39.5] * 4]) / 50
    a = np.concatenate([low - 1 + steps, [low] * 5, [high] * held_by, high + 1 + steps])
    a = np.random.default_rng(1).permutation(a)  # a file that is sorted by it proves nothing
    group = coded("g", (a >= high).astype(int), "xy")
    text = suggest_derivations(Table([group, column("a", a, decimals=2)]))["g"]
    assert f"[{border}]" in text


@pytest.mark.parametrize("change", ["overlap", "rare", "one to one"])
def test_what_are_no_groups(a, change):
    """One level in two ranges, a level that too few rows leave, and a number that is the level."""
    codes = np.digitize(a, BREAKS)
    if change == "overlap":
        codes[a < 50] = 3
    elif change == "rare":
        codes = (np.arange(N) < 20).astype(int)
        a = np.where(codes == 1, a + 1000, a)
    else:
        a = 10.0 * codes
    assert suggest_derivations(Table([coded("g", codes, "wxyz"), column("a", a)])) == {}


def test_names_are_quoted_samples_suffice_and_half_a_percent_may_be_off(a, b):
    total = a + b
    total[:2] += 7
    table = Table([column("a.1", a), column("class", b), column("t", total)])
    for rows in (2000, 100):
        assert suggest_derivations(table, max_rows=rows) == {"t": "`a.1` + `class`"}
    total[:4] += 7
    assert "t" not in suggest_derivations(table.with_column(column("t", total)))


def test_missing_values_must_follow_the_inputs(a, b):
    holes = np.where(np.arange(N) % 10 == 0, np.nan, a)
    table = Table([column("a", holes), column("b", b), column("t", holes + b)])
    assert suggest_derivations(table) == {"t": "a + b"}
    # the target is known where an input is not, or the other way round: information is lost
    table = Table([column("a", holes), column("b", b), column("t", a + b)])
    assert suggest_derivations(table) == {}
    table = Table([column("a", a), column("b", b), column("t", holes + b)])
    assert "t" not in suggest_derivations(table)


def test_a_second_missing_code_is_information(a, b):
    states = np.where(np.arange(N) % 10 == 0, 1 + np.arange(N) % 20 // 10, 0).astype(np.int8)
    variable = Variable(name="t", kind=Kind.NUMERIC, decimals=0, missing=("", "-8"))
    target = Column(variable, np.where(states > 0, np.nan, a + b), states)
    holes = column("a", np.where(states > 0, np.nan, a))
    derived = suggest_derivations(Table([holes, column("b", b), target]))
    assert derived == {"a": "t - b"}  # t cannot be derived, a can: its single code adds nothing


def test_inputs_before_the_target_win_and_cycles_are_broken(a, b):
    parts = [column("a", a), column("b", b)]
    total = column("t", a + b)
    assert suggest_derivations(Table([*parts, total])) == {"t": "a + b"}
    assert suggest_derivations(Table([total, *parts])) == {"t": "a + b"}  # b < 0 else
    signed = [column("a", a - 500), column("b", b)]
    total = column("t", a + b - 500)
    assert suggest_derivations(Table([total, *signed])) == {"t": "a + b"}  # b varies far less
    signed = [column("a", a - 500), column("b", a[::-1])]
    total = column("t", a + a[::-1] - 500)
    assert suggest_derivations(Table([total, *signed])) == {"b": "t - a"}
    table = Table([column("fahrenheit", 1.8 * a + 32, 1), column("celsius", a)])
    assert suggest_derivations(table) == {"fahrenheit": "1.8 * celsius + 32"}  # more decimals
    table = Table([column("bmi", a / (b / 100) ** 2, 1), *parts])
    assert suggest_derivations(table) == {"bmi": "a / (b / 100) ** 2"}
    copies = Table([column("a", a), column("copy", a), column("again", a)])
    assert set(suggest_derivations(copies)) == {"copy", "again"}


@pytest.mark.parametrize(("lost", "first"), [(False, True), (True, False)])
@pytest.mark.parametrize(
    ("text", "decimals"), [("u + v + w", 2), ("u + v + w", 0), ("(u + v + w) / 3", 3)]
)
def test_sums_and_means(text, decimals, first, lost):
    """Of three or more numbers, in any order, with blanks in the same rows, parts often zero."""
    rng = np.random.default_rng(3)
    parts = np.round(rng.gamma(1.5, 100, (4, N)), 2)
    parts[2] *= rng.random(N) < 0.1
    if lost:
        parts[:, rng.random(N) < 0.2] = np.nan
    total = parts[:3].sum(axis=0) / (3 if "/" in text else 1)
    columns = [column(name, x, 2) for name, x in zip("uvwz", parts, strict=True)]
    target = column("t", total, decimals)
    table = Table([target, *columns] if first else [*columns, target])
    assert suggest_derivations(table) == {"t": text}


@pytest.mark.parametrize("n_parts", [2, 3, 5])
def test_blanks_count_as_0_in_totals(n_parts):
    rng = np.random.default_rng(6)
    parts = rng.integers(1, 4000, (n_parts, N)).astype(float)
    parts[:2, :] = np.where(rng.random((2, N)) < 0.2, np.nan, parts[:2])
    columns = [column(name, x) for name, x in zip("abcde", parts, strict=False)]
    table = Table([*columns, column("t", np.nansum(parts, axis=0))])
    filled = ["(0 if missing(a) else a)", "(0 if missing(b) else b)", *"cde"]
    assert suggest_derivations(table) == {"t": " + ".join(filled[:n_parts])}


def test_scores_of_many_items_and_sums_of_sums():
    rng = np.random.default_rng(4)
    items = rng.integers(0, 4, (9, N))
    columns = [coded(f"i{j}", codes, "0123") for j, codes in enumerate(items)]
    score = column("score", items.sum(axis=0).astype(float))
    text = " + ".join(f"i{j}" for j in range(9))
    assert suggest_derivations(Table([*columns, score])) == {"score": text}
    a, b, c, d = np.round(rng.gamma(1.5, 1000, (4, N)))
    sums = {"t": a + b + c + d, "s": a + b, "a": a, "b": b, "r": c + d, "c": c, "d": d}
    derived = suggest_derivations(Table([column(name, x) for name, x in sums.items()]))
    assert derived == {"t": "s + r", "s": "a + b", "r": "c + d"}


@pytest.mark.parametrize("has_times", [False, True])
@pytest.mark.parametrize(
    ("text", "part"), [("t", 1.0), ("t", -1.0), ("t / 24", 1 / 24), ("t - 1", 1.0)]
)
def test_dates_plus_days_or_hours(text, part, has_times):
    rng = np.random.default_rng(5)
    admit = 18_000.0 + rng.integers(0, 600, N) + has_times * rng.integers(0, 1440, N) / 1440
    days = rng.integers(1, 21, N).astype(float)
    end = Column(Variable(name="end", kind=Kind.DATE), admit + part * days - text.endswith("- 1"))
    start = Column(Variable(name="admit", kind=Kind.DATE), admit)
    derived = suggest_derivations(Table([start, column("t", days), end]))
    assert derived == ({"admit": "end + t"} if part < 0 else {"end": f"admit + {text}"})


def of_source(source, groups, labels="wxyz"):
    columns = [column("source", source), coded("g", groups.astype(int), labels)]
    return suggest_derivations(Table(columns))


def test_nothing_follows_from_numbers_that_count_rows_or_persons():
    """Files are sorted by treatment, region or death; that reveals nothing about a person."""
    rng = np.random.default_rng(4)
    rows = np.arange(400)
    persons = rows // 5 + 1.0
    with_gaps = np.where(rows < 395, rows + 1.0, 40.0 * rows)
    amounts = np.sort(rng.lognormal(10, 1, 400).round())
    for source in (persons, rows + 1.0, with_gaps):
        assert of_source(source, rows // 100) == {}
    shuffled = rng.permutation(persons)  # the persons' own treatment
    assert of_source(shuffled, shuffled // 21) == {}
    assert of_source(amounts, rows // 200) == {}  # all distinct, and the file is sorted
    ages, mixed = np.sort(rng.integers(18, 90, 400)).astype(float), rng.permutation(amounts)
    for source, groups, labels in (
        (ages, np.digitize(ages, [30, 65]), "123"),
        (amounts, rows // 100, "1234"),
        (mixed, np.digitize(mixed, [20_000, 50_000]), "wxyz"),
    ):
        assert "cut(source" in of_source(source, groups, labels)["g"]


def test_dates(a, b):
    rng = np.random.default_rng(3)
    born, died = rng.integers(-20000, 0, N).astype(float), rng.integers(0, 18000, N).astype(float)
    years = [day.astype("datetime64[D]").astype("datetime64[Y]") for day in (born, died)]
    age = (years[1] - years[0]).astype(float)
    table = Table(
        [
            Column(Variable(name="born", kind=Kind.DATE), born),
            Column(Variable(name="died", kind=Kind.DATE), died),
            column("age", age),
            column("days", died - born),
        ]
    )
    derived = suggest_derivations(table)
    assert derived == {"age": "year(died) - year(born)", "died": "born + days"}


@pytest.mark.skipif(not SD2011.exists(), reason="needs the shared data")
def test_body_mass_index_of_social_diagnosis():
    with SD2011.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))

    def read(name: str, decimals: int | None) -> Column:
        return column(name, np.array([float(row[name] or "nan") for row in rows]), decimals)

    table = Table([read("age", 0), read("height", 0), read("weight", 0), read("bmi", None)])
    assert suggest_derivations(table) == {"bmi": "weight / (height / 100) ** 2"}


def test_a_difference_that_varies_little_is_drawn_and_a_number_it_is_from_computed():
    """A loan, its balance, what was repaid: an error of the balance distorts a small repayment."""
    rng = np.random.default_rng(5)
    loan = np.round(rng.gamma(3, 5000, N))
    repaid = np.round(loan * rng.beta(1, 9, N), 2)
    growth = np.round(rng.normal(0.03, 0.02, N), 6)
    last = np.round(rng.normal(8, 0.3, N), 6)
    columns = [column("loan", loan), column("balance", loan - repaid, 2)]
    columns += [column("repaid", repaid, 2), column("last", last, 6)]
    columns += [column("before", last - growth, 6), column("growth", growth, 6)]
    assert suggest_derivations(Table(columns)) == {
        "balance": "loan - repaid",
        "last": "before + growth",
    }


def test_a_quotient_with_heaps_is_drawn_and_its_dividend_computed():
    """Loans are four fifths of the price of many houses, which no other price would give."""
    rng = np.random.default_rng(5)
    price = np.round(rng.gamma(3, 50_000, N))
    part = np.where(rng.random(N) < 0.3, 0.8, rng.beta(4, 2, N))
    loan = price * np.round(part, 6)
    columns = [column("loan", loan, 6), column("price", price), column("part", loan / price, 6)]
    assert suggest_derivations(Table(columns)) == {"loan": "price * part"}


def test_a_difference_of_few_values_is_found_where_its_numbers_have_many():
    rng = np.random.default_rng(7)
    before, less = np.round(rng.gamma(3, 100, N)), rng.poisson(2, N).astype(float)
    lacks = rng.random((2, N)) < 0.05
    columns = [
        column("before", np.where(lacks[0], np.nan, before)),
        column("after", np.where(lacks[1], np.nan, before - less)),
        column("less", np.where(lacks.any(axis=0), np.nan, less)),
    ]
    assert suggest_derivations(Table(columns)) == {"less": "before - after"}
    other = column("other", rng.poisson(2, N).astype(float))
    assert "other" not in suggest_derivations(Table([*columns, other]))


def test_money_of_which_some_was_computed_has_the_decimals_of_the_rest():
    rng = np.random.default_rng(6)
    fees, interest = np.round(rng.gamma(2, 50, (2, N)), 2)
    total = np.where(np.arange(N) % 20 == 0, fees + interest + 0.0012345678, fees + interest)
    columns = [column("fees", fees, 2), column("interest", interest, 2)]
    table = Table([*columns, column("total", total, None)])
    assert suggest_derivations(table) == {"total": "fees + interest"}


def test_many_zeros_do_not_make_a_number_coarse():
    rng = np.random.default_rng(8)
    few = np.where(rng.random(N) < 0.9, 0.0, rng.random(N) / 10)
    table = Table([column("few", few, None), column("other", rng.random(N) / 10, None)])
    assert suggest_derivations(table) == {}
    assert suggest_derivations(Table([column("few", few, None), column("x", few + 0.02, None)]))


@pytest.mark.parametrize("written", ["single", "7 digits"])
def test_logarithms_that_were_held_in_single_precision(written):
    """The logarithm is computed: a count of its own logarithm would name the count of a person."""
    counts = np.floor(np.random.default_rng(7).lognormal(9, 1.5, N)) + 2
    logs = np.log(counts.astype(np.float32)).astype(np.float64)
    if written == "7 digits":
        logs = np.array([float(f"{x:.7g}") for x in logs])
    else:
        logs[::3] *= 1 + 2e-16  # as a text that was read gives them back
    table = Table([column("log", logs, None), column("count", counts)])
    assert suggest_derivations(table) == {"log": "log(count)"}


@pytest.mark.parametrize("share", [0.002, 0.02, 0.3])
@pytest.mark.parametrize(
    ("below", "text"), [(0.0, "0 if x <= 0 else log(x)"), (np.nan, "log(x)"), (-9.0, "")]
)
def test_logarithms_of_numbers_with_0(share, below, text):
    """The logarithm of 0 may be written as a constant, or blank; of few rows only as 0."""
    rng = np.random.default_rng(4)
    x = np.round(rng.gamma(2, 300, 500)) * (np.arange(500) >= 500 * share)
    with np.errstate(divide="ignore"):
        logs = np.where(x > 0, np.log(x), below)
    text = text or f"{-9 if share > 0.01 else 0} if x <= 0 else log(x)"
    for kind in (np.float32, np.float64):
        made = column("l", logs.astype(kind).astype(float), None)
        assert suggest_derivations(Table([made, column("x", x)])) == {"l": text}


@pytest.mark.parametrize("has_blanks", [False, True])
def test_products_with_a_dummy(has_blanks):
    rng = np.random.default_rng(4)
    after, high, other = (rng.random(N) < share for share in (0.5, 0.4, 0.9))
    pay, years = np.round(rng.gamma(2, 300, N)), rng.integers(0, 12, N).astype(float)
    pay[rng.random(N) < 0.1 * has_blanks] = np.nan
    columns = [coded("after", after, "01"), coded("high", high, "01"), coded("other", other, "01")]
    columns += [coded("both", after & high, "01"), column("apay", np.where(after, pay, pay * 0))]
    columns += [column("pay", pay), column("years", years), column("hyears", high * years)]
    assert suggest_derivations(Table(columns)) == {
        "both": "after * high",
        "apay": "pay * after",
        "hyears": "high * years",
    }


def test_accidents_and_copies_are_no_products():
    """A gate of a number that is 0 elsewhere, a dummy in another, a number of one value."""
    rng = np.random.default_rng(4)
    works, pay = rng.random(N) < 0.5, np.round(rng.gamma(2, 300, N))
    rare = [coded(f"d{i}", rng.random(N) < 0.1, "01") for i in range(60)]
    columns = [coded("works", works, "01"), coded("full", works & (rng.random(N) < 0.6), "01")]
    columns += [column("pay", works * (pay + 1)), column("three", np.full(N, 3.0)), *rare]
    derived = suggest_derivations(Table(columns))
    assert not any("*" in text for text in derived.values())
