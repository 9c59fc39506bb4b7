"""JSON from outside: what could be read in two ways is refused, without a word of it."""

import json

import pytest

from synthesizer.extensions.verification.server.problem_json import (
    MAX_DEPTH,
    MAX_DIGITS,
    read_json,
)

AMBIGUOUS = {
    b'{"a": 1, "a": 2}': "twice",
    b'{"a": NaN}': "is NaN",
    b"[-Infinity]": "Infinity",
    b"1e999": "beyond",
    b"9" * (MAX_DIGITS + 1): "digits",
    b'"\\ud800"': "half a character",
    b'"a\\u0000"': "character 0",
    b"[" * 60_000: "nested arrays",
    b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1): "nested arrays",
    b"\xff": "UTF-8",
    b"\xef\xbb\xbf{}": "no JSON",
    b"{": "no JSON",
}


@pytest.mark.parametrize("text", AMBIGUOUS, ids=lambda text: text[:20].decode("latin-1"))
def test_what_can_be_read_in_two_ways_is_refused_in_words_of_our_own(text):
    with pytest.raises(ValueError, match=AMBIGUOUS[text]) as caught:
        read_json(text)
    assert type(caught.value) is ValueError
    assert len(str(caught.value)) < 80


@pytest.mark.parametrize(
    "content",
    [None, True, 0.1, -5, "é \U0001f600", [], {}, {"a": [1, {"b": None}]}, "\x01\x7f"],
)
def test_what_json_writes_is_read(content):
    assert read_json(json.dumps(content).encode()) == content


def test_the_deepest_is_read():
    assert read_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    assert read_json(b"9" * MAX_DIGITS) == 10**MAX_DIGITS - 1
