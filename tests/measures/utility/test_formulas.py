import numpy as np
import pandas as pd
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.table import Table
from synthesizer.measures.utility.formulas import (
    Atom,
    learn_model,
    model_of,
    parse_formula,
)
from tests.tables import coded, numeric, persons


def terms(text):
    return [":".join(map(str, term)) for term in parse_formula(text).terms]


TERMS = {
    "y ~ 1": [],
    "y ~ a:b + a + b": ["a", "b", "a:b"],
    "y ~ a*b:c": ["a", "b:c", "a:b:c"],
    "y ~ a*b*c": ["a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"],
    "y ~ a:b + b:a + a:a": ["a", "a:b"],
    "y~C( x )+I( a+1 )": ["C(x)", "I(a+1)"],
    "y ~ `Jul.93` + C(`a b`)": ["Jul.93", "C(a b)"],
    "y ~ I(a == ')~+' or `b)` > (1 + 2)) + c": ["I(a == ')~+' or `b)` > (1 + 2))", "c"],
    "y ~ C + I": ["C", "I"],
}


@pytest.mark.parametrize("text", TERMS)
def test_terms(text):
    assert terms(text) == TERMS[text]


def test_fixed_effects():
    formula = parse_formula("y ~ a + a:f + I(b > 1 or c > 2) | C(f) + `my | g` + f")
    assert [":".join(map(str, t)) for t in formula.terms] == ["a", "I(b > 1 or c > 2)", "a:f"]
    assert formula.effects == ("f", "my | g")
    assert formula.names == ("y", "a", "b", "c", "f", "my | g")
    assert formula.term_names == ("y", "a", "b", "c", "f")
    assert parse_formula("y ~ a").effects == ()


patsy = pytest.importorskip("patsy")


def frame_of(table):
    """The complete records as patsy wants them: categories and numbers, NaN where missing."""
    columns = {}
    for column in table.columns:
        if column.is_coded:
            levels = list(column.variable.levels)
            codes = np.where(column.is_observed, column.data, -1)
            columns[column.name] = pd.Categorical.from_codes(codes, levels)
        else:
            columns[column.name] = np.where(column.is_observed, column.data, np.nan)
    return pd.DataFrame(columns)


def built(text, table, family="ols"):
    model = learn_model(parse_formula(text), table, family)
    data = model.build(table)
    if data.problems:
        raise DataError(data.problems)
    return model, data


@pytest.mark.parametrize(
    "right",
    [
        "1",
        "age",
        "sex",
        "age + sex + marital",
        "age*sex",
        "age*sex*marital",
        "sex + sex:age",
        "sex:marital + sex + marital",
        "C(size)",
        "C(size)*sex + age",
        "I(age ** 2) + age",
        "I(age * size) + sex",
    ],
)
def test_columns_are_those_of_patsy(right):
    table = persons(200, seed=3).with_column(
        numeric("size", np.random.default_rng(5).integers(1, 4, 200))
    )
    model, data = built(f"income ~ {right}", table)
    y, X = patsy.dmatrices(f"income ~ {right}", frame_of(table), return_type="dataframe")
    assert data.y.tolist() == y["income"].tolist()
    assert len(data.y) + data.n_missing == 200
    expected, computed = X.to_numpy(), data.X
    assert computed.shape == expected.shape
    # The order of interactions differs: the sets of columns are the same.
    assert sorted(map(tuple, computed.T)) == sorted(map(tuple, expected.T))
    plain = {name.replace("T.", "").replace(".0]", "]") for name in X.columns}
    if "*age" not in right and "sex:age" not in right:
        assert set(model.names) == plain


def test_levels_match_by_label_and_what_the_original_lacks_is_counted():
    sex = coded("sex", [0, 1, 2, 3, 0], ["f", "m", "x"], missing=["?"])
    original = Table([sex, numeric("pay", [1, 2, 3, 4, 5])])
    model, data = built("pay ~ sex", original)
    assert model.names == ("Intercept", "sex[m]", "sex[x]")
    assert (data.n_missing, data.n_unknown) == (1, 0)
    other = Table(
        [
            coded("sex", [0, 1, 2, 4, 3], ["x", "other", "f", "m"], missing=["!"]),
            numeric("pay", [9, 8, 7, 6, 5]),
        ]
    )
    made = model.build(other)
    assert made.X.tolist() == [[1, 0, 1], [1, 0, 0], [1, 1, 0]]
    assert made.y.tolist() == [9, 7, 5]
    assert (made.n_missing, made.n_unknown) == (1, 1)
    assert made.rows.tolist() == [True, False, True, False, True]


def test_levels_that_do_not_occur_are_named():
    levels = [f"l{code}" for code in range(9)]
    sex, pay = coded("sex", np.arange(36) % 9, levels), numeric("pay", np.arange(36))
    original = Table([sex, coded("one", np.arange(36) % 2, "ab"), pay])
    model, _ = built("pay ~ sex + one", original)
    response, several, one = model.build(original.take([0, 0])).problems
    assert response.startswith("response pay has one value in the complete records")
    assert "has sex[l1], sex[l2], sex[l3], sex[l4], sex[l5] and 3 more, which" in several
    assert "has one[b], which the original has" in one
    narrow = learn_model(parse_formula("pay ~ sex"), original, "ols", sex.data < 4)
    assert len(narrow.names) == 4


@pytest.mark.parametrize(
    ("spellings", "canonical"),
    [
        (("y ~ b*a", "y~a + b+a:b", "y ~ b:a + b + a + a"), "y ~ a + b + a:b"),
        (("`y` ~ I(x**2.0) + C(x)", "y ~ C(`x`) + I( x ** 2 )"), "y ~ C(x) + I(x ** 2)"),
        (("y ~ x | u + `v`", "y ~ 1 + x|v + u"), "y ~ x | u + v"),
        (("`b c` ~ `d e`:a | `f g`",), "`b c` ~ `d e`:a | `f g`"),
        (("I(y+1) ~ a:b:c + a",), "I(y + 1) ~ a + a:b:c"),
    ],
)
def test_all_spellings_have_one_canonical_text_that_means_the_same(spellings, canonical):
    for text in (*spellings, canonical):
        assert parse_formula(text).canonical == canonical
    again = parse_formula(canonical)
    assert {*again.names} == {*parse_formula(spellings[0]).names}
    assert {frozenset(term) for term in again.terms} == {
        frozenset(atom.canonical for atom in term) for term in parse_formula(spellings[0]).terms
    }


def test_coefficients_are_known_in_any_spelling():
    formula = parse_formula("y ~ `b c`*sex + I(x ** 2) + C(x)*sex")
    levels = {
        Atom("name", "sex"): ("f", "m", "a:b"), Atom("C", "x"): ("1", "2"),
        Atom("name", "b c"): ("u", "v[w]"),
    }  # fmt: skip
    model = model_of(formula, "ols", {**levels})
    for position, name in enumerate(model.names):
        assert model.position(name) == position
    for spelling, name in (
        ("I( x**2.0 )", "I(x ** 2)"),
        ("sex[m]:`b c`[v[w]]", "b c[v[w]]:sex[m]"),
        (" sex[a:b] : b c[v[w]]", "b c[v[w]]:sex[a:b]"),
    ):
        assert model.position(spelling) == model.names.index(name)
    for wrong in ("sex", "sex[f]", "sex[M]", "x", "I(x ** 3)", "", "sex[m]:sex[m]", "Intercept[m]"):
        assert model.position(wrong) is None
