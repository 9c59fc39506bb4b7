"""JSON from outside, read strictly: what two readers could take for different things is refused.

Twice the same key, NaN, Infinity and numbers beyond floats are no JSON; Python reads them all the
same. Halves of characters and the character 0 cannot be stored in every database. Deep nesting
exhausts the stack of whoever walks through it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn

DEEPEST = 20
"""So many arrays and objects within one another."""
LONGEST_NUMBER = 30
"""Digits of a whole number; Python's time to read one grows with their square."""


def read_json(text: bytes) -> Any:
    """Return what a text says.

    Raises
    ------
    ValueError
        With a sentence that repeats nothing of the text.

    Examples
    --------
    >>> read_json(b'{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    >>> read_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    ValueError: a key is there twice; keep one of them
    """
    try:
        content = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_float,
            parse_int=_int,
        )
    except UnicodeDecodeError:
        raise ValueError("the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"the body is no JSON at character {error.pos}") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    for depth, value in _walk(content):
        if depth > DEEPEST:
            raise ValueError(_TOO_DEEP)
        if isinstance(value, str):
            check_text(value)
    return content


_TOO_DEEP = f"the body has more than {DEEPEST} arrays and objects within one another"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key is there twice; keep one of them")
    return content


def _no_constant(_text: str) -> NoReturn:
    raise ValueError("NaN and Infinity are no numbers of JSON")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is beyond 1.8e308")
    return number


def _int(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"a number has more than {LONGEST_NUMBER} digits")
    return int(text)


def _walk(content: Any) -> Iterator[tuple[int, Any]]:
    """Yield every value and key with its depth; a list of what is left, not the stack."""
    left = [(1, content)]
    while left:
        depth, value = left.pop()
        yield depth, value
        if isinstance(value, dict):
            left += ((depth + 1, one) for one in (*value, *value.values()))
        elif isinstance(value, list):
            left += ((depth + 1, one) for one in value)


def check_text(text: str) -> None:
    """Raise ValueError where a text cannot be stored in every database."""
    if "\0" in text:
        raise ValueError("a text holds the character 0")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("a text holds half a character (an unpaired surrogate)")
