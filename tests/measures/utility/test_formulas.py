import pytest

from synthesizer.data.errors import ExpressionError
from synthesizer.measures.utility.formulas import parse_atom, parse_formula, unknown_names


def terms(text):
    return [":".join(map(str, term)) for term in parse_formula(text).terms]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y ~ a", ["a"]),
        ("y ~ 1", []),
        ("y ~ 1 + a", ["a"]),
        ("y ~ a:b + a + b", ["a", "b", "a:b"]),
        ("y ~ a*b", ["a", "b", "a:b"]),
        ("y ~ a*b:c", ["a", "b:c", "a:b:c"]),
        ("y ~ a*b*c", ["a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"]),
        ("y ~ a + b + a", ["a", "b"]),
        ("y ~ a:b + b:a", ["a:b"]),
        ("y ~ a:a", ["a"]),
        ("y~C( x )+I( a+1 )", ["C(x)", "I(a+1)"]),
        ("y ~ `Jul.93` + C(`a b`)", ["Jul.93", "C(a b)"]),
        ("y ~ I(a == ')~+' or `b)` > (1 + 2)) + c", ["I(a == ')~+' or `b)` > (1 + 2))", "c"]),
        ("y ~ C + I", ["C", "I"]),
    ],
)
def test_terms(text, expected):
    assert terms(text) == expected


def test_names_and_response():
    formula = parse_formula(" I(log(pay)) ~ C(grade)*age + I(age ** 2 * hours) ")
    assert str(formula.response) == "I(log(pay))"
    assert formula.names == ("pay", "grade", "age", "hours")
    assert formula.text == "I(log(pay)) ~ C(grade)*age + I(age ** 2 * hours)"


def test_fixed_effects():
    formula = parse_formula("y ~ a + a:f + I(b > 1 or c > 2) | C(f) + `my | g` + f")
    assert [":".join(map(str, t)) for t in formula.terms] == ["a", "I(b > 1 or c > 2)", "a:f"]
    assert formula.effects == ("f", "my | g")
    assert formula.names == ("y", "a", "b", "c", "f", "my | g")
    assert formula.term_names == ("y", "a", "b", "c", "f")
    assert parse_formula("y ~ a").effects == ()


def test_one_atom():
    assert str(parse_atom("`log hours`", "offset")) == "log hours"
    assert str(parse_atom(" I(log(hours)) ", "offset")) == "I(log(hours))"
    for text in ("", "a + b", "log(a)", "1"):
        with pytest.raises(ExpressionError, match="offset .* must be a variable or I"):
            parse_atom(text, "offset")
    with pytest.raises(ExpressionError, match="^offset: .*reserved word"):
        parse_atom("I(lambda: 1)", "offset")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the formula is empty"),
        (None, "the formula is empty"),
        ("y", "one '~'"),
        ("a ~ b ~ c", "one '~'"),
        ("~ a", "stands before '~'"),
        ("a + b ~ c", "stands before '~'"),
        ("y ~", "a term is missing"),
        ("y ~ a +", "a term is missing"),
        ("y ~ a b", "position 5: a term is missing or not joined"),
        ("y ~ a::b", "a term is missing"),
        ("y ~ a + y", "y is on both sides"),
        ("y ~ a - 1", "the constant stays"),
        ("y ~ a + 0", "the constant cannot be left out"),
        ("y ~ 2", "numbers in I"),
        ("y ~ (a + b)", "parentheses stand only"),
        ("y ~ a ** 2", r"write powers in I"),
        ("y ~ Jul.93", "in backticks"),
        ("y ~ log(a)", r"write I\(log\(a\)\)"),
        ("y ~ __import__('os').system('x')", "stands inside I"),
        ("y ~ I(lambda: 1)", "in I.*reserved word"),
        ("y ~ I(a.b)", "in I"),
        ("y ~ I(a + 1", "close the parenthesis"),
        ("y ~ C(a + 1)", "the name of one variable"),
        ("y ~ a*b*c*d*e*f*g", "joined by"),
        ("y ~ a | f | g", "one '\\|' before all fixed effects"),
        ("y ~ a |", "behind '\\|' stand names"),
        ("y ~ a | f + I(g + 1)", "position 13: behind '\\|' stand names"),
        ("y ~ a | f:g", "behind '\\|' stand names"),
        ("y ~ a | f ^ g", "write powers in I"),
        ("y ~ 1 | f", "needs a term before '\\|'"),
        ("y ~ a + C(f) | f", "C\\(f\\) is a fixed effect too"),
        ("y ~ a | y", "y is a fixed effect too"),
        ("y | f ~ a", "stands before '~'"),
        ("y ~ " + "a" * 6000, "longer than 5000"),
    ],
)
def test_what_is_no_formula(text, message):
    with pytest.raises(ExpressionError, match=message):
        parse_formula(text)


def test_all_problems_are_told_at_once():
    with pytest.raises(ExpressionError) as caught:
        parse_formula("y ~ a.b + log(x) - 1")
    assert len(caught.value.problems) == 3


def test_unknown_names_come_with_the_nearest():
    found = list(unknown_names(["agee", "age", "agee", "zzz"], ["age", "pay"]))
    assert found == [
        "unknown variable 'agee'; did you mean 'age'?",
        "unknown variable 'zzz'; name a column of the data",
    ]
