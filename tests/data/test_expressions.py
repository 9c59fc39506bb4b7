"""The expression language, judged by hand-computed tables and by numpy."""

import contextlib
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.errors import ExpressionError
from synthesizer.data.expressions import MAX_LENGTH, Expression, quote_name
from synthesizer.data.table import Column, Kind, Table, Variable

X = Variable(name="x", kind=Kind.NUMERIC)
Y = Variable(name="y", kind=Kind.NUMERIC)
RESULT = Variable(name="result", kind=Kind.NUMERIC, missing=("", "-8"))
PLAIN = Variable(name="plain", kind=Kind.NUMERIC, decimals=1)
INCOME = Variable(name="income", kind=Kind.NUMERIC, decimals=0, missing=("-8", ""))
MSP = Variable(name="MSP", kind=Kind.CATEGORICAL, levels=("1", "2"), missing=("N",))
EDU = Variable(name="edu", kind=Kind.ORDERED, levels=("low", "mid", "high"), missing=("",))
JULY = Variable(name="Jul.93", kind=Kind.CATEGORICAL, levels=("school", "ONE CAN`T"))
FLAG = Variable(name="flag", kind=Kind.BOOLEAN, levels=("False", "True"), missing=("",))
DATE = Variable(name="d", kind=Kind.DATE, missing=("",))


def codes(variable: Variable, *values: int) -> Column:
    return Column(variable, np.array(values, dtype=np.int32))


def numbers(variable: Variable, values: list[float], states: list[int] | None = None) -> Column:
    return Column(variable, np.array(values), None if states is None else np.array(states, np.int8))


TABLE = Table(
    [
        numbers(X, [-2.5, 0.0, 3.0, 7.0]), numbers(Y, [2.0, 4.0, -1.0, 0.5]),
        numbers(INCOME, [np.nan, 1000.0, np.nan, 3000.0], [1, 0, 2, 0]), codes(MSP, 0, 1, 2, 0),
        codes(EDU, 0, 1, 2, 3), codes(JULY, 0, 1, 1, 0), codes(FLAG, 0, 1, 2, 1),
        numbers(DATE, [0.0, -1.0, 18321.0, np.nan], [0, 0, 0, 1]),
    ]
)  # fmt: skip


@pytest.fixture
def table() -> Table:
    return TABLE


ARITHMETIC = [
    "(x + y) * 2", "x + y * 2", "-x ** 2", "2 ** 3 ** 2 + x", "x / 4 / 2", "x // 2", "-x % 3",
    "2 ** -1 * x", "x + -y - +y", "x - (y - 1)", "abs(x) ** 0.5",
]  # fmt: skip


@pytest.mark.parametrize("text", ARITHMETIC)
def test_arithmetic_has_the_precedence_of_python(table, text):
    names = {"x": table["x"].data, "y": table["y"].data, "abs": np.abs}
    expected = eval(text, {"__builtins__": {}}, names)  # the judge may, the language may not
    derived = Expression.parse(text).derive(table, RESULT)
    np.testing.assert_allclose(derived.data, np.broadcast_to(expected, 4))


LOGIC = ["x > 0 and y > 0 or x < -1", "not x > 0 and y > 0", "x > 0 or y > 0 and x < 5",
         "not (x > 0 or y > 3)", "(x > 0) == (y > 0)"]  # fmt: skip


@pytest.mark.parametrize("text", LOGIC)
def test_logic_has_the_precedence_of_python(table, text):
    pairs = zip(table["x"].data, table["y"].data, strict=True)
    expected = [eval(text, {}, {"x": x, "y": y}) for x, y in pairs]
    assert Expression.parse(text).condition(table).tolist() == expected


CONDITIONS = [
    ("income < 0", "0000"),
    ("income != 1000", "0001"),
    ("income != -8", "0111"),
    ("year(d) == 2020 and month(d) == 2 and day(d) == 29", "0010"),
    ("0 <= x < 7", "0110"),
    ("x in [3, 7]", "0011"),
    ("x not in (3, 7)", "1100"),
    ("True", "1111"),
    # numbers with missing values
    ("income > 0", "0101"),
    ("income not in [1000]", "0001"),
    ("income == -8", "1000"),
    ("income == ''", "0010"),
    ("income in [1000, -8]", "1100"),
    ("missing(income)", "1010"),
    ("missing(income, '-8')", "1000"),
    ("missing(income + x)", "1010"),
    ("income + x > 0", "0101"),
    # labels
    ("MSP == 1", "1001"),
    ("MSP == 'N'", "0010"),
    ("MSP != '1'", "0110"),
    ("MSP < 1.5", "1001"),
    ("MSP != 'N' and x < 5", "1100"),
    ("MSP not in ['2', 'N']", "1001"),
    ("missing(MSP)", "0010"),
    ("MSP + 1 == 2", "1001"),
    ("edu < 'high'", "1100"),
    ("`Jul.93` == 'ONE CAN`T'", "0110"),
    # booleans
    ("flag", "0101"),
    ("not flag", "1010"),
    # dates
    ("d < '1970-01-01'", "0100"),
    ("year(d) == 1969 and month(d) == 12 and day(d) == 31", "0100"),
    ("missing(d)", "0001"),
    ("d - '1969-12-31' == 1", "1000"),
    # functions
    ("min(x, y) == -1 or max(x, y, 5) == 7", "0011"),
    ("round(x / 3, 2) == 2.33", "0001"),
    ("floor(x) == -3 or ceil(y) == 1", "1001"),
    ("log(exp(y)) == 4 or sqrt(y) == 2 or log10(10 ** y) == 4", "0100"),
    ("cut(x, [0, 3], ['a', 'b', 'c']) == 'b'", "0100"),
    ("cut(x, [0, 3], ['a', 'b', 'c']) == 'c'", "0011"),
    ("(x if y > 0 else -x) == -3", "0010"),
]


def test_conditions(table):
    for text, expected in CONDITIONS:
        expression = Expression.parse(text)
        mask = expression.condition(table)
        assert mask.dtype == bool
        assert "".join(str(int(value)) for value in mask) == expected, text
        assert expression.count(table) == expected.count("1"), text
        assert expression.problems(table.schema, condition=True) == [], text
    empty = table.take(slice(0, 0))
    assert expression.condition(empty).shape == (0,)
    assert len(expression.derive(empty, FLAG)) == 0


def test_names_and_equality():
    for name in ["Jul.93", "class", "two words", "9a", "Größe", "ﬁ", "plain"]:
        assert Expression.parse(f"{quote_name(name)} > 1").names == {name}
    expression = Expression.parse("year(d) > 3 and `Jul.93` == 'x' and min(`min`, 1) == 2")
    assert expression.names == {"d", "Jul.93", "min"}
    assert pickle.loads(pickle.dumps(expression)) == expression
    with pytest.raises(AttributeError):
        expression.text = "other"  # type: ignore[misc]


MISTAKES = [
    ("1_000", "position 1", "not a number"), ("9" * 1999, "position 1", "too large"),
    ("-" * 1500 + "1", "position", "split"), ("(" * 900 + "1" + ")" * 900, "position", ""),
    ("a b", "position 3", "operators"),
    ("a & b", "position 3", "'and'"), ("a | b", "position 3", "'or'"),
    ("!a", "position 1", "'not'"), ("a = 3", "position 3", "'=='"), ("a ^ 2", "position 3", "'**'"),
    ("a %in% b", "position 3", "'in [...]'"), ("is.na(a)", "position 1", "reserved"),
    ("a.b > 1", "position 2", "backticks"), ("class == 3", "position 1", "`class`"),
    ("a == None", "position 6", "missing(x)"), ("a == 'b", "position 6", "quotation"),
    ("`a", "position 1", "backtick"), ("'é' == é = 3", "position 10", "'=='"),
    ("f'abc'", "position 2", "missing"), ("(a", "position 1", "parentheses"),
    ("round(**a)", "position 1", "in order"), ("1e999", "position 1", "too large"),
    ("round(a, digits=2)", "position 16", "'=='"), ("not " * 300 + "a", "position", "split"),
    ("a" * (MAX_LENGTH + 1), "2001 characters", "2000"), ("  ", "empty", "write"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "where", "remedy"), MISTAKES)
def test_mistakes_say_where_and_how_to_mend(text, where, remedy):
    with pytest.raises(ExpressionError) as caught:
        Expression.parse(text)
    assert where in str(caught.value)
    assert remedy in str(caught.value)


MALICIOUS = [
    "().__class__", "x.__class__", "[y for y in x]", "lambda: 1", "(yield)", "x[0]", "f(*x)",
    "(a := 3)", "{1: 2}", "{1}", "x if y", "b'x'", "f'{x}'", "...", "await x", "x @ y", "x << 9",
    "~x", "a is b", "x; y", "x\\\ny", "1j", "0x10", "\0", "\ud800",
]  # fmt: skip


def test_only_the_whitelist_is_read_and_only_listed_functions_are_called(table):
    for text in MALICIOUS:
        with pytest.raises(ExpressionError):
            Expression.parse(text)
    for text in ("__import__('os')", "eval('1')", "open('f')", "`abs`(x)", "c(1, 2)"):
        with pytest.raises(ExpressionError, match="function"):
            Expression.parse(text).condition(table)


@pytest.mark.parametrize(
    "text", ["9**9**9**9**9 + x", "exp(1e300)", "(d + 1.7e308 + 1.7e308) - d", "x ** 1e308 * 1e308"]
)
def test_huge_powers_end_at_once(table, text):
    assert not np.isinf(Expression.parse(text).derive(table, RESULT).data).any()


WRONG = [
    ("edu == 3", "no level"), ("edu < 'tall'", "use one of its levels"),
    ("d == '2020-13-01'", "YYYY-MM-DD"), ("missing(MSP, 'q')", "no missing code 'q'"),
    ("incom > 1", "did you mean 'income'?"), ("NA == 1", "missing(x)"),
    ("MSP == 'secret'", "has no level or missing code 'secret'"), ("edu < 3", "variable 'edu'"),
    ("`Jul.93` < 'school'", "declare it as ordered"),
    ("edu + 1 > 2", "variable 'edu' (ordered) is not a number"),
    ("x == 'abc'", "without quotation marks"), ("d > 3", "YYYY-MM-DD"),
    ("year(x) == 3", "is not a date"), ("x", "is not a condition"),
    ("missing(x, 'q')", "no missing code 'q'"), ("x in y", "needs a list"),
    ("x in []", "needs a list"), ("x == [1]", "after 'in'"), ("abs(x, y) > 1", "write abs(x)"),
    ("abs([1]) > 1", "takes no list"), ("round(x, y) > 1", "digits"),
    ("cut(x, 1, 2) == 'a'", "two lists"), ("cut(x, [1], ['a']) == 'a'", "need 2 labels"),
    ("cut(x, [2, 1], ['a', 'b', 'c']) == 'a'", "rising"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_problems_are_found_without_data(table, text, message):
    (problem,) = Expression.parse(text).problems(table.schema, condition=True)
    assert message in problem
    with pytest.raises(ExpressionError):
        Expression.parse(text).condition(table)


def test_all_problems_are_found_and_no_level_is_revealed(table):
    expression = Expression.parse("xx > 1 and MSP == 'q' and edu == 'hig' or yy + 1 > zz")
    problems = expression.problems(table.schema, condition=True)
    assert len(problems) == 5
    assert "high" not in " ".join(problems)
    target = Expression.parse("'q' if x > 0 else 'N'")
    assert target.problems(table.schema, condition=False) == []
    assert len(target.problems(table.schema, condition=False, target=MSP)) == 1
    flag = Variable(name="flag", kind=Kind.BOOLEAN, levels=("nein", "ja"))
    with pytest.raises(ExpressionError, match="true and false"):
        Expression.parse("flag").condition(Table([codes(flag, 0)]))


def test_derive_rounds_and_marks_undefined_results(table):
    assert Expression.parse("x / 3").derive(table, PLAIN).data.tolist() == [-0.8, 0.0, 1.0, 2.3]
    for text in ("income / 10", "income ** 0", "income * 0", "min(income, 1)", "-income"):
        column = Expression.parse(text).derive(table, RESULT)
        assert column.states is not None
        assert column.states.tolist() == [1, 0, 1, 0]
        assert np.isnan(column.data).tolist() == [True, False, True, False]
    assert Expression.parse("1 / x").derive(table, RESULT).missing_state().tolist() == [0, 1, 0, 0]
    assert Expression.parse("log(x)").derive(table, RESULT).missing_state().tolist() == [1, 1, 0, 0]
    with pytest.raises(ExpressionError, match=r"'plain': .* undefined in 2 rows"):
        Expression.parse("sqrt(income)").derive(table, PLAIN)


def test_derive_dates_and_no_digits_that_floats_do_not_hold(table):
    days = Expression.parse("'1970-01-02' if missing(d) else d + 2").derive(table, DATE)
    assert days.data.tolist() == [2.0, 1.0, 18323.0, 1.0]
    a, b, ratio = (Variable(name=name, kind=Kind.NUMERIC) for name in ("a", "b", "ratio"))
    both = numbers(a, [120.0, 0.1, -2.0, 0.0]), numbers(b, [160.0, 0.7, 300.0, 1e100])
    derived = Expression.parse("a / (b / 100) ** 2").derive(Table([*both]), ratio)
    assert derived.data.tolist() == [46.875, 2040.81632653061, -0.222222222222222, 0.0]


def test_derive_coded_variables(table):
    def derive(text: str, variable: Variable) -> list[float]:
        return Expression.parse(text).derive(table, variable).data.tolist()

    assert derive("'N' if x < 0 else '2'", MSP) == [2, 1, 1, 1]
    assert derive("1 if x < 0 else 2", MSP) == [0, 1, 1, 1]
    assert derive("MSP", MSP) == [0, 1, 2, 0]
    assert derive("MSP / MSP", MSP) == [0, 0, 2, 0]  # undefined where MSP is missing
    assert derive("MSP if x < 0 else 'N'", MSP) == [0, 2, 2, 2]
    assert derive("cut(income, [2000], ['low', 'high'])", EDU) == [3, 0, 3, 2]
    assert derive("x > 0", FLAG) == [0, 0, 1, 1]
    assert derive("flag", FLAG) == [0, 1, 2, 1]
    assert derive("'high'", EDU) == [2, 2, 2, 2]
    assert derive("'1970-01-02' if missing(d) else d + 2", DATE) == [2, 1, 18323, 1]
    np.testing.assert_array_equal(derive("d + 2", DATE), [2, 1, 18323, np.nan])
    # no digits that floats do not hold
    assert derive("x / (y / 100) ** 2", RESULT)[3] == 280000.0
    assert derive("0.1 + 0.2 + x", RESULT) == [-2.2, 0.3, 3.3, 7.3]


@pytest.mark.parametrize(
    ("text", "variable", "message"),
    [
        ("'q'", MSP, "has no level 'q'"), ("edu", MSP, "lacks 3 levels"),
        ("x * 100", MSP, "in 4 rows the expression"), ("x > 1", EDU, "that are not numbers"),
        ("x", DATE, "not a date"), ("d", RESULT, "not a number"), ("edu", RESULT, "not a number"),
    ],
)  # fmt: skip
def test_derive_refuses_what_does_not_fit(table, text, variable, message):
    with pytest.raises(ExpressionError, match=message):
        Expression.parse(text).derive(table, variable)


def test_inputs_stay_unchanged(table):
    before = table["income"].data.copy()
    Expression.parse("income + x").derive(table, RESULT)
    np.testing.assert_array_equal(table["income"].data, before)
    assert len(Expression.parse("3").derive(table.take(slice(0, 0)), PLAIN)) == 0


LEAVES = ["x", "y", "MSP", "edu", "d", "income", "flag", "1", "0", "'1'", "'low'", "'2020-01-01'"]
SIGNS = ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", ">=", "and", "or"]
WORDS = [
    *LEAVES, *SIGNS, "in", "not", "if", "else", "(", ")", "[", "]", ",", "cut(", "min(", "1e300",
]  # fmt: skip


def attempt(text: str, table: Table) -> None:
    with contextlib.suppress(ExpressionError):
        expression = Expression.parse(text)
        expression.problems(table.schema, condition=True)
        for variable in (RESULT, MSP, DATE, FLAG):
            with contextlib.suppress(ExpressionError):
                assert len(expression.derive(table, variable)) == table.n_rows
        assert expression.condition(table).shape == (table.n_rows,)


FUZZ_TABLE = TABLE.with_column(numbers(Y, [1e300, 4.0, 0.0, -1.0]))


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join))
def test_any_text_raises_nothing_else(text):
    attempt(text, FUZZ_TABLE)


def grown() -> st.SearchStrategy[str]:
    """Expressions that are well formed, of any type."""

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        forms = ["({0} if {1} else {2})", "(not {0})", "-{0}", "missing({0})", "year({0})"]
        forms += ["({0} in [{1}, 1])", "cut({0}, [0, 3], ['1', 'low', 'N'])"]
        forms += [f"({{0}} {sign} {{1}})" for sign in SIGNS]
        return st.builds(str.format, st.sampled_from(forms), inner, inner, inner)

    return st.recursive(st.sampled_from(LEAVES), extend, max_leaves=8)


@settings(max_examples=200, deadline=None)
@given(grown())
def test_the_one_spelling_means_the_same_and_is_its_own(text):
    attempt(text, FUZZ_TABLE)
    spelt = Expression.parse(text).canonical
    assert Expression.parse(spelt).canonical == spelt
    assert Expression.parse(f"( {text} ) ").canonical == spelt
    outcomes = []
    for way in (text, spelt):
        try:
            column = Expression.parse(way).derive(FUZZ_TABLE, RESULT)
            outcomes.append((column.data.tobytes(), column.missing_state().tolist()))
        except ExpressionError:
            outcomes.append(None)
    assert outcomes[0] == outcomes[1]


ALIKE = [
    ["x>.50", "`x` > 0.5", "((x) > 5e-1)"],
    ["MSP == 'N' and x in [1, 2]", 'x in (2.0, 1, 1) and MSP=="N"'],
    ["a or (b or c)", "c or b or a or b"], ["y == 'it\\'s'", 'y == "it\'s"'], ["`a + b` > 1"],
    ["a + b > 1"], ["y == 'a\nb'"], ["y == 'a\\\\nb'"], ["y == '`x`'"], ["a < b < c"],
    ["a < b and b < c"], ["a - (b - c)"], ["a - b - c"], ["x == '1'"], ["x == 1"], ["x > 1e308"],
    ["cut(x, [1, 2], ['b', 'a', 'c'])"], ["cut(x, [1, 2], ['a', 'b', 'c'])"],
]  # fmt: skip


def test_spellings_of_one_expression_are_alike_and_no_others():
    spelt = [{Expression.parse(text).canonical for text in group} for group in ALIKE]
    assert [len(group) for group in spelt] == [1] * len(ALIKE)
    assert len(set().union(*spelt)) == len(ALIKE)
