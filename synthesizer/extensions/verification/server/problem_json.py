"""JSON of the API: strict reading of bodies, and errors (RFC 9457) that do not repeat the body.

An error of the form of a body contains keys and kinds of the API only. An error of a query contains
its problems with the public schema, as printed by `verification answer`; they name variables of the
query, so that users can correct it. An unexpected error contains no details.

Texts that two readers could understand differently are refused. Duplicate keys, NaN, Infinity and
numbers beyond floats are no JSON, although Python reads them. Half characters and the character 0
cannot be stored in every database. Deep nesting exhausts the stack.
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
from synthesizer.data.files import object_of
from synthesizer.extensions.verification.messages import WORDS, LedgerError, RequestError

_UNNAMED = frozenset({"extra_forbidden", "invalid_key"})
"""Kinds of faults whose location ends with an invented key of the client."""
MAX_PROBLEM_CHARACTERS = 1_000
"""Limit of a problem: long formulas are not sent back."""
NO_TEXT = "a text contains the character 0 or half a character, which cannot be stored"
MAX_DEPTH = 20
"""Limit of nested arrays and objects."""
MAX_DIGITS = 30
"""Digits of a whole number; the time to read one grows with their square."""
_BUSY = "the database does not answer; ask again in a moment"


def is_storable(text: str) -> bool:
    """Whether every database can store a text: no character 0, no half characters."""
    return not re.search("[\0\ud800-\udfff]", text)


def read_json(text: bytes) -> Any:
    """Return the content of a JSON text.

    Raises
    ------
    ValueError
        With a sentence that contains nothing of the text.

    Examples
    --------
    >>> read_json(b'{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    >>> read_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    ValueError: a key occurs twice in an object
    """
    try:
        content = json.loads(text.decode("utf-8"), object_pairs_hook=object_of, parse_int=_int)
    except UnicodeDecodeError:
        raise ValueError("the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"the body is no JSON at character {error.pos}") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    pending = [(1, content)]  # a list of pending values, not the stack
    while pending:
        depth, value = pending.pop()
        if depth > MAX_DEPTH:
            raise ValueError(_TOO_DEEP)
        match value:
            case str() if not is_storable(value):
                raise ValueError(NO_TEXT)
            case float() if not math.isfinite(value):
                raise ValueError("a number is NaN, Infinity or beyond 1.8e308")
            case dict():
                pending += ((depth + 1, one) for one in (*value, *value.values()))
            case list():
                pending += ((depth + 1, one) for one in value)
    return content


_TOO_DEEP = f"the body has more than {MAX_DEPTH} nested arrays and objects"


def _int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number has more than {MAX_DIGITS} digits")
    return int(text)


class ProblemReply(BaseModel):
    """The form of every error (``application/problem+json``)."""

    title: str
    """Title of the status."""
    status: int
    problems: list[str] = Field(min_length=1)
    """Problems, each with its remedy."""


def problem(
    status: int, problems: str | Iterable[str], headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return the reply of an error."""
    texts = [problems] if isinstance(problems, str) else in_brief(list(problems))
    most = MAX_PROBLEM_CHARACTERS
    sentences = [text if len(text) <= most else f"{text[:most]} ..." for text in texts]
    content = {"title": HTTPStatus(status).phrase, "status": status, "problems": sentences}
    return JSONResponse(content, status, headers, media_type="application/problem+json")


def problem_of(error: Exception) -> JSONResponse:
    """Return the reply of any error of a request."""
    match error:
        case RequestError():
            return problem(error.status, error.problems, _HEADERS.get(error.status))
        case RequestValidationError():
            return problem(422, faults(error.errors()))
        case HTTPException():
            status = error.status_code
            sentence = WORDS["refusals"].get(status, HTTPStatus(status).phrase)
            return problem(
                status, error.detail if status in _OWN_TEXTS else sentence, error.headers
            )
        case LedgerError() if error.__cause__ is not None:  # from the database
            return problem(503, _BUSY, {"Retry-After": "5"})
        case LedgerError():
            return problem(409, error.problems)
        case SynthesizerError():
            return problem(422, error.problems)
    return problem(500, "the server failed; its operator finds the cause in the log")


_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "30"}}
_OWN_TEXTS = (400, 429)
"""Statuses with texts of this package: `read_json` and the limit of requests in `security`."""


def faults(errors: Sequence[Any]) -> list[str]:
    """Return locations and kinds of the errors of pydantic, without the values.

    Examples
    --------
    >>> faults([{"loc": ("body", "<b>"), "type": "extra_forbidden", "input": 1, "msg": "..."}])
    ['body: extra_forbidden']
    """
    sentences = []
    for fault in errors:
        location = fault["loc"][:-1] if fault["type"] in _UNNAMED else fault["loc"]
        sentences.append(f"{'.'.join(map(str, location))}: {fault['type']}")
    return sentences


def install(app: FastAPI) -> None:
    """Install these replies to errors in an app."""
    kinds: tuple[type[Exception], ...] = (HTTPException, RequestValidationError, SynthesizerError)
    for kind in kinds:
        app.add_exception_handler(kind, handle)


async def handle(request: Request, error: Exception) -> JSONResponse:
    """Return the reply of an error; for 405 with the allowed methods."""
    reply = problem_of(error)
    if reply.status_code == 405:
        reply.headers["Allow"] = ", ".join(_methods(request))
    return reply


def _methods(request: Request) -> Iterator[str]:
    """Yield the methods of a path; the framework names those of the first route only."""
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        scope = {**request.scope, "method": method}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes):
            yield method
