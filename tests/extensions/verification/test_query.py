"""Queries: one digest for all spellings of a meaning, and every fault named with its key."""

import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_trials import GAP, QUESTIONS

from synthesizer.data.errors import ConfigError
from synthesizer.data.yaml_text import parse_yaml
from synthesizer.extensions.verification.query import query_of

INTERVAL = {"measure": "interval", "coefficient": "sex[F]:I(age ** 2)", "below": -0.1}
QUERY = {
    "formula": "I(log(pay)) ~ I(age ** 2)*sex + race | agency + year",
    "family": "linear",
    "subset": "year >= 2001 and race in ['a', 'b'] and age < 60.5",
    "ask": INTERVAL,
    "epsilon": 0.5,
    "partitions": 50,
    "errors": "out",
}


def respelt(rng):
    """Return a query that means the same, in YAML or JSON, as somebody else would write it."""

    def shuffled(words, joint):
        return joint.join(rng.sample(words, len(words)))

    def spaced(text):
        return "".join(rng.choice(["", " "]) + c + rng.choice(["", " "]) if c in "+~|:*" else c
                       for c in text)  # fmt: skip

    square = rng.choice(["I(age ** 2)", "I(age**2.0)", "I( (age) ** 2 )", "I(`age`**2e0)"])
    sex, race = rng.choice(["sex", "`sex`"]), rng.choice(["race", "`race`", "race + race"])
    both = rng.choice([[f"{square}*{sex}"], [f"{sex}*{square}"],
                       [square, sex, shuffled([square, sex], ":")]])  # fmt: skip
    terms = shuffled([*both, race, *rng.choice([[], ["1"]])], "+")
    effects = shuffled(["agency", rng.choice(["year", "C(year)"])], "+")
    response = rng.choice(["I(log(pay))", "I( log( pay ) )"])
    conditions = [
        rng.choice(["year >= 2001", "(year>=2001.0)", "year >= 2.001e3"]),
        rng.choice(["race in ['a','b']", 'race in ["b", \'a\', "b"]', "`race` in ('b', 'a')"]),
        rng.choice(["age < 60.5", "(age<60.50)"]),
    ]
    query = {
        "formula": f"{response} ~ {terms} | {effects}".replace("+", rng.choice(["+", " + "])),
        "subset": shuffled(conditions, " and "),
        "ask": {
            "measure": "interval",
            "coefficient": rng.choice([f"sex[F]:{square}", f"{square} : `sex`[F]"]),
            "below": -0.1,
        },
        "epsilon": 0.5,
    }
    defaults = {"family": "linear", "partitions": 50, "errors": "out"}
    query |= {key: value for key, value in defaults.items() if rng.random() < 0.5}
    order = rng.sample(sorted(query), len(query))
    text = json.dumps({key: query[key] for key in order})
    for number, spellings in (("-0.1", ["-0.10", "-1e-1", "-0.100"]), ("0.5", ["0.50", "5e-1"])):
        if rng.random() < 0.5:
            text = text.replace(f": {number}", f": {rng.choice(spellings)}")
    return text


def test_all_spellings_have_one_digest():
    rng = random.Random(11)
    wanted = query_of(QUERY).digest
    for _ in range(200):
        text = respelt(rng)
        assert query_of(parse_yaml(text, origin="query")).digest == wanted, text


OTHERS = [
    {"formula": "I(log(pay)) ~ I(age ** 2)*sex + race | agency"},
    {"formula": "I(log(pay)) ~ I(age ** 2)*sex + race + year | agency"},
    {"formula": "I(log(pay)) ~ I(age ** 2)*sex + C(race) | agency + year"},
    {"formula": "I(log(pay)) ~ I(age ** 3)*sex + I(age ** 2)*sex + race | agency + year"},
    {"formula": "pay ~ I(age ** 2)*sex + race | agency + year"},
    {"subset": None},
    {"subset": "year > 2001 and race in ['a', 'b'] and age < 60.5"},
    {"subset": "year >= 2001 or race in ['a', 'b'] and age < 60.5"},
    {"subset": "year >= 2001 and race not in ['a', 'b'] and age < 60.5"},
    {"subset": "year >= 2001 and race in ['a', 'c'] and age < 60.5"},
    {"ask": {**INTERVAL, "below": -0.1000001}},
    {"ask": {"measure": "interval", "coefficient": "sex[F]:I(age ** 2)", "above": -0.1}},
    {"ask": {**INTERVAL, "coefficient": "sex[F]"}},
    {"ask": {"measure": "tolerance", "coefficient": "sex[F]:I(age ** 2)", "within": 0.1}},
    {"ask": {"measure": "significance", "coefficient": "sex[F]:I(age ** 2)"}},
    {"family": "logit"},
    {"epsilon": 0.500001},
    {"partitions": 51},
    {"errors": "report"},
    {"schema": "0" * 64},
    {"synthetic": "0" * 64},
]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"measure": "counts", "by": ["a", "b"]}, {"measure": "counts", "by": ["b", "a"]}),
        ({**INTERVAL, "below": 0}, {**INTERVAL, "below": -0.0}),
        ({"measure": "means", "of": "x", "low": 0, "high": 1},
         {"measure": "means", "of": "x", "low": -0.0, "high": 1}),
    ],
)  # fmt: skip
def test_one_question_is_one_charge(one, other):
    model = {"formula": QUERY["formula"]} if one["measure"] == "interval" else {}
    digests = {query_of({**model, "ask": ask}).digest for ask in (one, other)}
    assert len(digests) == 1


def test_the_canonical_form_of_a_question_stays_what_it_was():
    """Ledgers know questions by it: with another default all would be charged again."""
    stored = json.loads(Path(__file__).with_name("questions.json").read_text(encoding="utf-8"))
    assert {*stored} == {*QUESTIONS}
    for name, question in QUESTIONS.items():
        content = {key: one for key, one in {**GAP, **question}.items() if one is not None}
        query = query_of(content)
        assert {**query.content(), "digest": query.digest} == stored[name]


def test_another_meaning_has_another_digest():
    digests = [query_of({**QUERY, **other}).digest for other in ({}, *OTHERS)]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0}, "epsilon: must be at least 0.001"),
        ({"epsilon": 101}, "epsilon: must be at most 100"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"partitions": 9}, "partitions: must be at least 10"),
        ({"partitions": 501}, "partitions: must be at most 500"),
        ({"partitions": 50.5}, "partitions"),
        ({"formula": "pay ~ __import__('os').system('x')"}, "formula"),
        ({"formula": "pay ~ log(age)"}, "I(log(age))"),
        ({"formula": None}, "formula: is needed"),
        ({"subset": "sex = 'F'"}, "subset"),
        ({"ask": {**INTERVAL, "below": ".inf"}}, "ask.below"),
        ({"ask": {"measure": "interva"}}, "ask"),
        ({"ask": {"measure": "claim", "coefficient": "sex[F]", "above": 0}, "errors": "report"},
         "no category of errors"),
        ({"ask": {**INTERVAL, "belwo": 1}}, "did you mean 'below'"),
        ({"familly": "logit"}, "did you mean 'family'"),
        ({"subset": "a\ud800"}, "subset"),
    ],
)  # fmt: skip
def test_what_is_no_query_is_refused_with_its_key(change, words):
    with pytest.raises(ConfigError) as error:
        query_of({**QUERY, **change}, origin="gap.yaml")
    assert words in str(error.value)
    assert all(problem.startswith("gap.yaml: ") for problem in error.value.problems)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"formula": "I(log(pay)) ~ sexx + age"}, "formula: 'sexx' is not in the public schema"),
        ({"subset": "salary > 3"}, "subset: 'salary' is not in the public schema"),
        ({"subset": "sex == 'X'"}, "subset"),
        ({"subset": "age"}, "subset"),
        ({"subset": "open('x')"}, "subset: unknown function"),
        ({"formula": "sex ~ age"}, "I(sex == '"),
        ({"formula": "I(sex) ~ age"}, "formula"),
        ({"formula": "pay ~ C(age)"}, "no levels in the public schema"),
        ({"formula": "pay ~ sex:race"}, "race*sex"),
        ({"family": "logit", "formula": "race ~ age"}, "I(race == '"),
        ({"ask": {**INTERVAL, "coefficient": "sex[M]"}}, "ask.coefficient"),
        ({"ask": {**INTERVAL, "coefficient": "agency[DD]"}}, "ask.coefficient"),
        ({"schema": "0" * 64}, "schema: the query is about another one"),
        ({"synthetic": "0" * 64}, "synthetic: the query is about another one"),
    ],
)
def test_what_the_public_schema_does_not_have_is_named_with_its_key(schema, change, words):
    query = query_of({**QUERY, **change})
    problems = query.problems(schema, "1" * 64)
    assert any(words in problem for problem in problems), problems
    assert {problem.partition(":")[0].partition(".")[0] for problem in problems} <= {
        *query.content()
    }


def test_a_sound_query_has_no_problems(schema):
    assert query_of(QUERY).problems(schema, "1" * 64) == []
    assert query_of(QUERY).bound(schema, "1" * 64).problems(schema, "1" * 64) == []


def test_the_queries_of_the_page_are_queries():
    page = Path(__file__).parents[3] / "docs" / "verification.md"
    blocks = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    texts = [ask for block in blocks for ask in re.split(r"\n(?=ask: {)", block) if "ask:" in ask]
    measures = set()
    for text in texts:
        content = parse_yaml(text, origin="page")
        if content["ask"]["measure"] not in ("counts", "means"):
            content = {"formula": "pay ~ race", **content}
        measures.add(query_of(content).ask.measure)
    assert measures == {"claim", "interval", "tolerance", "trend", "significance", "roc",
                        "residuals", "accuracy", "counts", "means"}  # fmt: skip


PLAIN = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
    | st.sampled_from(["sex[F]", "interval", "trend", "pay ~ sex", "I(", ".nan", "1e999"])
)  # fmt: skip
KEYS = st.sampled_from(["measure", "coefficient", "below", "by", "periods"])
FLAT = PLAIN | st.lists(PLAIN, max_size=3) | st.dictionaries(KEYS, PLAIN)
ANYTHING = FLAT | st.lists(FLAT, max_size=3) | st.dictionaries(KEYS, FLAT)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from([*QUERY, "schema", "x"]), ANYTHING), st.booleans())
def test_any_body_is_a_query_or_is_refused(body, on_sound):
    content = {**QUERY, **body} if on_sound else body
    try:
        query = query_of(content)
    except ConfigError as error:
        assert error.problems
        return
    assert 0.001 <= query.epsilon <= 100
    assert 10 <= query.partitions <= 500
    assert query_of(query.content()).digest == query.digest
