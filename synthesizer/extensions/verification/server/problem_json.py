"""JSON of the API: bodies are read strictly, errors are replies (RFC 9457) without what was sent.

A body that does not have the form of the API is told by places and kinds, of which both are words
of the API. A query is told by its problems with the public schema, as `verification answer` prints
them: they name its own variables, which nobody could mend otherwise. What the program did not
expect is told as nothing but that.

JSON is read strictly: what two readers could take for different things is refused. Twice the same
key, NaN, Infinity and numbers beyond floats are no JSON; Python reads them all the same. Halves of
characters and the character 0 cannot be stored in every database. Deep nesting exhausts the stack
of whoever walks through it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from synthesizer.data.errors import SynthesizerError, in_brief
from synthesizer.extensions.verification.messages import WORDS, LedgerError, RequestError

_UNNAMED = frozenset({"extra_forbidden", "invalid_key"})
"""Kinds of faults whose place ends with a key that the client made up."""
LONGEST_SENTENCE = 1_000
"""Characters of a problem: long formulas are not sent back."""
NO_TEXT = "a text contains the character 0 or half a character, which no database takes"
DEEPEST = 20
"""So many arrays and objects within one another."""
LONGEST_NUMBER = 30
"""Digits of a whole number; Python's time to read one grows with their square."""
_BUSY = "the database does not answer; ask again in a moment"


def is_storable(text: str) -> bool:
    """Whether every database takes a text: without the character 0 and halves of characters."""
    return not re.search("[\0\ud800-\udfff]", text)


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
        content = json.loads(text.decode("utf-8"), object_pairs_hook=_object, parse_int=_int)
    except UnicodeDecodeError:
        raise ValueError("the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"the body is no JSON at character {error.pos}") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    left = [(1, content)]  # a list of what is left, not the stack
    while left:
        depth, value = left.pop()
        if depth > DEEPEST:
            raise ValueError(_TOO_DEEP)
        match value:
            case str() if not is_storable(value):
                raise ValueError(NO_TEXT)
            case float() if not math.isfinite(value):
                raise ValueError("a number is NaN, Infinity or beyond 1.8e308")
            case dict():
                left += ((depth + 1, one) for one in (*value, *value.values()))
            case list():
                left += ((depth + 1, one) for one in value)
    return content


_TOO_DEEP = f"the body has more than {DEEPEST} arrays and objects within one another"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key is there twice; keep one of them")
    return content


def _int(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"a number has more than {LONGEST_NUMBER} digits")
    return int(text)


class ProblemReply(BaseModel):
    """What every error looks like (``application/problem+json``)."""

    title: str
    """Of the status."""
    status: int
    problems: list[str] = Field(min_length=1)
    """Each with its remedy."""


def problem(
    status: int, problems: str | Iterable[str], headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return the reply of an error."""
    told = [problems] if isinstance(problems, str) else in_brief(list(problems))
    most = LONGEST_SENTENCE
    sentences = [text if len(text) <= most else f"{text[:most]} ..." for text in told]
    content = {"title": HTTPStatus(status).phrase, "status": status, "problems": sentences}
    return JSONResponse(content, status, headers, media_type="application/problem+json")


def problem_of(error: Exception) -> JSONResponse:
    """Return the reply of any error that a request may end with."""
    match error:
        case RequestError():
            return problem(error.status, error.problems, _HEADERS.get(error.status))
        case RequestValidationError():
            return problem(422, faults(error.errors()))
        case HTTPException():
            status = error.status_code
            sentence = WORDS["refusals"].get(status, HTTPStatus(status).phrase)
            return problem(status, error.detail if status in _SPOKEN else sentence, error.headers)
        case LedgerError() if error.__cause__ is not None:  # of the database
            return problem(503, _BUSY, {"Retry-After": "5"})
        case LedgerError():
            return problem(409, error.problems)
        case SynthesizerError():
            return problem(422, error.problems)
    return problem(500, "the server failed; its operator finds the place in the log")


_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "30"}}
_SPOKEN = (400, 429)
"""Where the words are our own: of `strict_json` and of the limit of requests in `security`."""


def faults(errors: Sequence[Any]) -> list[str]:
    """Return places and kinds of what pydantic found, without what was sent.

    Examples
    --------
    >>> faults([{"loc": ("body", "<b>"), "type": "extra_forbidden", "input": 1, "msg": "..."}])
    ['body: extra_forbidden']
    """
    told = []
    for fault in errors:
        place = fault["loc"][:-1] if fault["type"] in _UNNAMED else fault["loc"]
        told.append(f"{'.'.join(map(str, place))}: {fault['type']}")
    return told


def install(app: FastAPI) -> None:
    """Let an app reply to errors so."""
    kinds: tuple[type[Exception], ...] = (HTTPException, RequestValidationError, SynthesizerError)
    for kind in kinds:
        app.add_exception_handler(kind, handle)


async def handle(request: Request, error: Exception) -> JSONResponse:
    """Return the reply of an error; of 405 with what can be done."""
    reply = problem_of(error)
    if reply.status_code == 405:
        reply.headers["Allow"] = ", ".join(_methods(request))
    return reply


def _methods(request: Request) -> Iterator[str]:
    """Yield what can be done at a path; the framework tells of the first route only."""
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        scope = {**request.scope, "method": method}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes):
            yield method
