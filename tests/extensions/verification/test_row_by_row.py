"""What a model takes of a row hangs on this row alone, and no value of it is an error.

So a person changes nothing about the rows of others before the fits.
"""

import numpy as np
import pytest

from synthesizer.data import expression_values
from synthesizer.data.expression_values import FUNCTIONS, Type, Value, as_numbers
from synthesizer.data.expressions import Expression
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.utility.formulas import model_of, parse_formula

VARIABLES = (
    Variable(name="x", kind=Kind.NUMERIC, missing=("-8", "")),
    Variable(name="y", kind=Kind.NUMERIC, missing=("",)),
    Variable(name="d", kind=Kind.DATE, missing=("",)),
    Variable(name="f", kind=Kind.CATEGORICAL, levels=("a", "b", "c"), missing=("",)),
    Variable(name="s", kind=Kind.ORDERED, levels=("1", "2", "30"), missing=("",)),
    Variable(name="t", kind=Kind.BOOLEAN, levels=("no", "yes"), missing=("",)),
)
NUMBERS = (
    0.0, -0.0, 1.0, -1.0, 2.5, 0.1 + 0.2, 1e15 + 0.5, 1e16, 1e-15, 5e-324, 1e150, -1e150, 1e308,
    -1e308, np.nan,
)  # fmt: skip
EXPRESSIONS = (
    *("x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "x ** y", "-x", "2 ** x", "x ** 0.5"),
    *("d - '2001-01-01'", "year(d + x)", "month(d - y)", "day(d)", "d > '1999-12-31'"),
    *("abs(x)", "round(x)", "round(x, 15)", "round(x / 3, 2)", "floor(x)", "ceil(x)", "log(x)"),
    *("log10(x)", "exp(x)", "sqrt(x)", "min(x, y)", "max(x, y, 0)", "missing(x)", "missing(f)"),
    *("missing(x, '-8')", "x < y < 3", "x in [0, 1]", "x not in [0, 2.5]", "x == y", "f == 'b'"),
    *("f in ['a', 'c']", "s > 1", "s + x", "t or x > 0", "not t and x > 0", "x if t else y"),
    *("log(x) if x > 0 else -1", "cut(x, [0, 1], ['a', 'b', 'c']) == 'b'", "s * s - 1 / x"),
)


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    columns = []
    for variable in VARIABLES:
        if variable.is_coded:
            codes = rng.integers(0, len(variable.labels), n).astype(np.int32)
            columns.append(Column(variable, codes))
        else:
            values = rng.choice(NUMBERS, n)
            if variable.name == "d":
                values = np.where(np.abs(values) < 1e6, np.rint(values.clip(-9, 9) * 300), values)
            states = np.where(np.isnan(values), rng.integers(1, len(variable.missing) + 1, n), 0)
            columns.append(Column(variable, values, states.astype(np.int8)))
    return Table(columns, n)


def derived(text, table):
    number = Variable(name="v", kind=Kind.NUMERIC, missing=("",))
    return Expression.parse(text).derive(table, number).data


def hangs_on_others(compute, table):
    """Return whether rows get other values beside other rows, or in another order."""
    together = compute(table)
    some = np.random.default_rng(1).permutation(table.n_rows)[:50]
    alone = np.array([compute(table.take(np.array([row])))[0] for row in some])
    return together[some].tobytes() != alone.tobytes() or (
        compute(table.take(some)).tobytes() != alone.tobytes()
    )


@pytest.mark.filterwarnings("error")
def test_an_expression_looks_at_one_row_and_takes_any_value():
    for text in EXPRESSIONS:
        assert not hangs_on_others(lambda table, text=text: derived(text, table), rows()), text


def test_every_function_is_among_them():
    assert {name for name in FUNCTIONS if any(f"{name}(" in e for e in EXPRESSIONS)} == {*FUNCTIONS}


def test_a_function_of_all_rows_would_be_found(monkeypatch):
    """The control."""

    def total(value):
        return Value(Type.NUMBER, np.nansum(as_numbers(value).clip(-1e9, 1e9)) + 0 * value.data)

    monkeypatch.setitem(expression_values.FUNCTIONS, "sum", ("sum(x)", 1, 1, total))
    assert hangs_on_others(lambda table: derived("sum(x)", table), rows())


def columns_of_model(text, levels):
    model = model_of(parse_formula(text), "ols", levels)

    def compute(table):
        y, X, here = model.columns_of(table)
        out = np.full((table.n_rows, 1 + X.shape[1]), np.nan)
        out[here] = np.column_stack([y, X])
        return out

    return compute


def test_the_columns_of_a_model_hang_on_one_row():
    formula = parse_formula("y ~ C(x)*f + I(log(y)) + s + t | d")
    levels = {a: ("0", "1", "-1") for a in formula.atoms if a.kind == "C"}
    levels |= {a: ("b", "a") for a in formula.atoms if a.text == "f"}  # "c" is no level
    levels |= {a: ("1", "2") for a in formula.atoms if a.text == "s"}
    levels |= {a: ("no", "yes") for a in formula.atoms if a.text == "t"}
    assert not hangs_on_others(columns_of_model(formula.text, levels), rows(3000))


def test_of_0_and_minus_0_no_row_decides_about_the_label():
    formula = parse_formula("y ~ C(x)")
    compute = columns_of_model(formula.text, {formula.terms[0][0]: ("0", "1")})
    for first in (0.0, -0.0):
        x = Column(VARIABLES[0], np.array([first, -first, 1.0]))
        y = Column(VARIABLES[1], np.array([1.0, 2.0, 3.0]))
        assert compute(Table([x, y]))[:, 2].tolist() == [0, 0, 1]
