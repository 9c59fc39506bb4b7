"""Check digits by hand: they are found if all identifiers have them, and then written."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from synthesizer.config.keys import VariableConfig
from synthesizer.data.check_digits import RULES, check_rule, with_check_digits
from synthesizer.data.encoding import encode
from synthesizer.data.errors import ConfigError, DataError
from synthesizer.data.guessing import Declaration
from synthesizer.data.id_patterns import find_pattern, pattern_of_form
from synthesizer.data.sources import from_pandas
from synthesizer.data.table import Kind
from synthesizer.data.writing import to_frame
from synthesizer.jobs.synthesizer import Synthesizer

RNG = np.random.default_rng(5)


def luhn(text):
    total = 0
    for k, digit in enumerate(map(int, reversed(text))):
        double = digit * 2 if k % 2 else digit
        total += double - 9 if double > 9 else double
    return total % 10 == 0


def ean13(text):
    return sum(int(d) * (3 if k % 2 else 1) for k, d in enumerate(text)) % 10 == 0


def isbn10(text):
    return sum((10 if d == "X" else int(d)) * (10 - k) for k, d in enumerate(text)) % 11 == 0


def iban(text):
    return int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


BY_HAND = {"luhn": luhn, "ean13": ean13, "isbn10": isbn10, "iban": iban}
FORMS = {
    "luhn": ("4929-0000-{}-{}0", 8),
    "ean13": ("978{}0", 9),
    "isbn10": ("{}0", 9),
    "iban": ("DE003705{} {}", 14),
}


def identifiers(rule, n=300):
    """Return identifiers of a rule with right check digits, found by trying all of them."""
    form, width = FORMS[rule]
    made = []
    for number in RNG.choice(10**width, n, replace=False).tolist():
        digits = f"{number:0{width}}"
        parts = (digits,) if form.count("{}") == 1 else (digits[:4], digits[4:])
        text = form.format(*parts)
        checks = [f"{k:02}" for k in range(2, 99)] if rule == "iban" else [*"0123456789X"]
        for check in checks:
            whole = text[:2] + check + text[4:] if rule == "iban" else text[:-1] + check
            bare = whole.replace("-", "").replace(" ", "")
            if (check != "X" or rule == "isbn10") and BY_HAND[rule](bare):
                made.append(whole)
                break
    return made


def bare(texts):
    return [text.replace("-", "").replace(" ", "") for text in texts]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_found_and_identifiers_that_are_written_satisfy_it(rule):
    texts = identifiers(rule)
    assert check_rule(pa.array(texts)) == rule
    pattern = find_pattern(pa.array(texts))
    written = pattern.texts(np.arange(1.0, 2001)).to_pylist()
    assert all(map(BY_HAND[rule], bare(written)))
    assert len(set(written)) == 2000
    assert not set(written) & set(texts)
    assert {len(text) for text in written} == {len(texts[0])}
    wrong = [*texts[:-1], texts[-1][:-1] + ("1" if texts[-1][-1] == "0" else "0")]
    assert check_rule(pa.array(wrong)) == ""
    assert check_rule(pa.array(texts[:19])) == ""


def test_known_identifiers():
    for rule, text in {
        "luhn": "79927398713", "ean13": "4006381333931", "isbn10": "043942089X",
        "iban": "GB82WEST12345698765432",
    }.items():  # fmt: skip
        zeros = text[:2] + "00" + text[4:] if rule == "iban" else text[:-1] + "0"
        assert with_check_digits(rule, pa.array([zeros])).to_pylist() == [text]


def test_numbers_with_check_digits_stay_numbers():
    isbn = [int(text) for text in identifiers("ean13")]
    raw = from_pandas(pd.DataFrame({"isbn": isbn}))
    back = to_frame(encode(raw, {"isbn": Declaration(kind=Kind.ID)}), raw.layout)["isbn"]
    assert back.dtype == np.int64
    assert all(ean13(str(number)) for number in back)


def test_the_rows_of_a_person_have_one_identifier():
    who = identifiers("iban", 40)
    frame = pd.DataFrame(
        {"who": np.repeat(who, 3), "year": [1, 2, 3] * 40, "x": RNG.integers(0, 9, 120)}
    )
    panel = {"person": "who", "time": "year"}
    made = Synthesizer(panel=panel, default_method="sample", seed=1, workers=1).fit(frame)
    drawn = made.generate(rows=50)[0]
    assert drawn.groupby("who").size().tolist() == [3] * 50
    assert all(map(iban, bare(drawn["who"])))
    assert not set(drawn["who"]) & set(who)


def test_too_few_identifiers_are_refused_with_both_numbers():
    texts = with_check_digits("luhn", pa.array([f"99999{k:02}0" for k in range(0, 100, 2)]))
    frame = pd.DataFrame({"card": texts.to_pylist(), "x": range(50)})
    synthesizer = Synthesizer(variables={"card": {"kind": "id"}}, workers=1)
    with pytest.raises(ConfigError, match=r"'card': its form gives \d+ identifiers .* 50 are"):
        synthesizer.fit(frame)


def test_forms_are_declared_for_identifiers_alone():
    for wrong in ({"form": "name", "kind": "numeric"}, {"may_repeat": True}):
        with pytest.raises(ValueError, match="form"):
            VariableConfig(**wrong)
    numbers = pattern_of_form("phone", pa.array(["(555) 000-0001"]), may_repeat=False)
    assert numbers.texts(np.arange(1.0, 3)).to_pylist()[0].startswith("(555) ")


def test_names_without_faker_are_refused_with_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faker.providers.person.en_US", None)
    raw = from_pandas(pd.DataFrame({"name": ["Ada", "Bo"]}))
    from synthesizer.data.id_patterns import _alphabet

    _alphabet.cache_clear()
    with pytest.raises(DataError, match=r"microdata-synthesizer\[faker\]"):
        encode(raw, {"name": Declaration(form="name")})


@pytest.mark.parametrize("form", ["name", "email"])
def test_names_are_unique_and_none_of_the_data_unless_declared(form):
    pytest.importorskip("faker")
    empty = pa.array([""])
    first = pattern_of_form(form, empty, may_repeat=True).texts(np.arange(1.0, 301))
    other = pattern_of_form(form, first, may_repeat=False).texts(np.arange(1.0, 301)).to_pylist()
    assert len(set(other)) == 300
    assert not set(other) & set(first.to_pylist())
    again = pattern_of_form(form, first, may_repeat=True).texts(np.arange(1.0, 301))
    assert again.equals(first)
