"""Pages from templates, with their filters, and pages for errors.

All values are escaped; styles and scripts are files of this server.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from synthesizer.data.errors import SynthesizerError
from synthesizer.data.expressions import quote_name
from synthesizer.extensions.verification.mechanisms import MICRO
from synthesizer.extensions.verification.messages import WORDS, RequestError
from synthesizer.extensions.verification.server.accounts import Role, require
from synthesizer.extensions.verification.server.problem_json import handle, problem_of
from synthesizer.extensions.verification.server.query_form import in_words, yaml_of_query
from synthesizer.extensions.verification.server.security import roles_of, signed_in
from synthesizer.report.page import html_templates, sound_text, style_sheet

SIGN_IN = "/sign-in"


def html_page(
    request: Request, template: str, *, error: Exception | None = None, **values: Any
) -> HTMLResponse:
    """Return a page from a template; its head shows the signed-in user.

    Parameters
    ----------
    request : Request
        Request that the page answers.
    template : str
        Name of a file in ``templates``.
    error : Exception, optional
        Reason that a form was refused: the page has its status and its ``problems``.
    **values
        All values that the template needs.
    """
    reply = problem_of(error) if error else Response()
    content = json.loads(bytes(reply.body)) if error else {"problems": ()}
    given = {"signed": getattr(request.state, "signed", None), **content, **values}
    text = (
        _environment()
        .get_template(template)
        .render(path=request.url.path, version=_version(), **given)
    )
    headers = {key: reply.headers[key] for key in ("Retry-After", "Allow") if key in reply.headers}
    return HTMLResponse(sound_text(text), reply.status_code, headers)


def moved(path: str) -> RedirectResponse:
    """Return a redirect to another page with GET."""
    return RedirectResponse(path, 303)


class PageRoute(APIRoute):
    """A route whose errors are pages; users who are not signed in get the sign-in page."""

    roles: ClassVar[tuple[Role, ...]] = ()
    """Roles without `only`; all if empty."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request, which checks the role before it reads the body."""
        serve, roles = super().get_route_handler(), roles_of(self, self.roles)

        async def page(request: Request) -> Response:
            try:
                if roles:
                    require((await run_in_threadpool(signed_in, request)).account, *roles)
                return await serve(request)
            except (SynthesizerError, HTTPException, RequestValidationError) as error:
                return _problem_page(request, error)

        return page


class StewardPage(PageRoute):
    """A page of stewards and admins."""

    roles = ("steward", "admin")


async def problem_outside(request: Request, error: Exception) -> Response:
    """Return the reply of an error outside of routes: a page, or JSON for programs."""
    is_api = request.url.path.startswith("/api/")
    return await handle(request, error) if is_api else _problem_page(request, error)


def _problem_page(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestError) and error.status == 401 and request.url.path != SIGN_IN:
        wanted = urlencode({"then": request.url.path}) if request.method == "GET" else ""
        return moved(f"{SIGN_IN}?{wanted}" if wanted else SIGN_IN)
    if isinstance(error, RequestValidationError):  # an address without links
        error = RequestError("there is no such page; begin with the list of datasets", 404)
    return html_page(request, "problem.html", error=error)


@cache
def assets() -> Mapping[str, tuple[str, str]]:
    """Return type and text of every style sheet and script, by name."""
    folder = resources.files("synthesizer.extensions.verification.server").joinpath("static")
    texts = {
        name: (kind, folder.joinpath(name).read_text(encoding="utf-8"))
        for name, kind in (("server.css", "text/css"), ("server.js", "text/javascript"))
    }
    return {"report.css": ("text/css", style_sheet()), **texts}


@cache
def _version() -> str:
    """Return a digest of all assets."""
    return hashlib.sha256("".join(one for _, one in assets().values()).encode()).hexdigest()[:12]


@cache
def _environment() -> Environment:
    environment = html_templates("synthesizer.extensions.verification.server")
    environment.globals["WORDS"] = WORDS
    environment.filters |= {
        "epsilon": epsilon,
        "moment": moment,
        "number": number,
        "entries": entries,
        "path": lambda text: quote(str(text), safe=""),
        "in_words": in_words,
        "in_formula": quote_name,
        "as_yaml": yaml_of_query,
    }
    return environment


def epsilon(value: float) -> str:
    """Return an amount of epsilon as text, to the millionth.

    Examples
    --------
    >>> epsilon(20.0), epsilon(0.1 + 0.2)
    ('20', '0.3')
    """
    return f"{round(value, 6):.12g}"


def number(value: float) -> str:
    """Return an end of a range as text; four digits may be a year.

    Examples
    --------
    >>> number(1988.0), number(174324.0), number(0.25)
    ('1988', '174,324', '0.25')
    """
    return f"{value:,.10g}" if abs(value) >= 10_000 else f"{value:.10g}"


def entries(details: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield keys and values of an entry of the audit log as text.

    Examples
    --------
    >>> [*entries({"cap": 7_500_000, "name": "", "expires": "2027-02-21 12:38:14+00:00"})]
    [('epsilon', '7.5'), ('expires', '21 February 2027, 12:38:14 UTC')]
    """
    for key, value in details.items():
        if key in ("cap", "epsilon", "cap before"):
            yield key.replace("cap", "epsilon"), epsilon(value / MICRO)
        elif key == "expires":
            yield key, moment(datetime.fromisoformat(value))
        elif value != "":
            yield key, str(value)


def moment(at: datetime) -> str:
    """Return a time as text.

    Examples
    --------
    >>> moment(datetime(2026, 11, 5, 9, 30, 5, tzinfo=UTC))
    '5 November 2026, 09:30:05 UTC'
    """
    at = at.astimezone(UTC)
    return f"{at.day} {at:%B %Y, %H:%M:%S} UTC"
