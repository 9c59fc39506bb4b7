"""Security of requests: sign-in, roles, limits, headers and the log.

Every request to pages and API passes `Shield`: headers that forbid browsers foreign content and
frames, a limit of the body, a line in the log, and no text of unexpected exceptions. The API checks
the bearer token before it reads the body. Pages accept a session cookie, or the name that a reverse
proxy sends after the agency's single sign-on. A form needs the CSRF token of its session. The
routes of API and pages check roles (`only`), before the body is read.

Headers of a proxy count only if the TCP peer is one of the configured proxies, since other clients
can send them, too.

The log has one line of JSON per event, with the fields below only: its readers may not see the
data. So it contains no texts of libraries or exceptions, which may quote values. An error is logged
as kind of exception and line of the program. A request is logged by its route ("/queries/{id}"),
never by path, query string or body.
"""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synthesizer.data.yaml_text import packaged_yaml
from synthesizer.extensions.verification.messages import WORDS, RequestError
from synthesizer.extensions.verification.server.accounts import Account, Accounts, Role, require
from synthesizer.extensions.verification.server.problem_json import NO_TEXT, problem_of, read_json
from synthesizer.extensions.verification.server.server_config import Access, plain_address

MAX_BODY_BYTES = 64 * 1024
"""Ten times the longest reasonable query."""
HEADERS: dict[str, str] = WORDS["headers"]
"""Headers of every reply."""
_BY_TLS = {"Strict-Transport-Security": "max-age=31536000"}
NAME = "synthesizer.extensions.verification.server"
_log = logging.getLogger(NAME)


class Shield:
    """The outermost layer of the app.

    Parameters
    ----------
    app : ASGI application
        The protected app.
    access : Access
        Kind of cookies, and trusted proxies.
    """

    def __init__(self, app: ASGIApp, *, access: Access) -> None:
        self._app, self._access = app, access
        self._headers = HEADERS | (_BY_TLS if access.secure_cookies else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = time.monotonic()
        status = 0
        scope.setdefault("state", {})["origin"] = origin(scope, self._access)

        async def guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        try:
            if "\0" in scope["path"] or b"%00" in scope["query_string"]:
                await problem_of(HTTPException(400, NO_TEXT))(scope, receive, guarded)
            elif _announced(scope) > MAX_BODY_BYTES:
                await problem_of(HTTPException(413))(scope, receive, guarded)
            else:
                await self._app(scope, _limited(receive), guarded)
        except Exception as error:
            _log.error("a request failed", exc_info=error)
            if not status:
                await problem_of(error)(scope, receive, guarded)
        finally:
            _log_request(scope, status, time.monotonic() - begin)


def _announced(scope: Scope) -> int:
    text = Headers(scope=scope).get("content-length", "0")
    return int(text) if text.isdecimal() else 0


def _limited(receive: Receive) -> Receive:
    """Return a receiver of bodies without a declared length, up to the limit."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MAX_BODY_BYTES:
            raise HTTPException(413)
        return message

    return counted


def _log_request(scope: Scope, status: int, seconds: float) -> None:
    route = scope.get("route")
    signed = scope.get("state", {}).get("signed")
    fields = {
        "method": scope["method"],
        "route": getattr(route, "path", None),
        "status": status,
        "milliseconds": round(1000 * seconds),
        "account": signed.account.name if signed else None,
        "address": scope["state"]["origin"].address,
    }
    _log.info("request", extra={"fields": fields})


@dataclass(frozen=True)
class Origin:
    """The origin of a request."""

    address: str
    user: str = ""
    """Name from the single sign-on; empty if it sent none."""


def origin(scope: Mapping[str, Any], access: Access) -> Origin:
    """Return address and user name of a request.

    Behind a proxy the address is the last one of X-Forwarded-For that is no proxy. Two names are
    joined by a comma, which matches no account.

    Examples
    --------
    >>> access = Access(proxies=("127.0.0.1",), user_header="X-Remote-User")
    >>> sent = [(b"x-forwarded-for", b"10.9.9.9, 10.0.0.7"), (b"x-remote-user", b"ada")]
    >>> origin({"client": ("127.0.0.1", 5000), "headers": sent}, access)
    Origin(address='10.0.0.7', user='ada')
    >>> origin({"client": ("10.0.0.8", 5000), "headers": sent}, access)
    Origin(address='10.0.0.8', user='')
    """
    peer = _known_address(scope["client"][0]) if scope.get("client") else "unknown"
    proxies = {str(proxy) for proxy in access.proxies}
    if peer not in proxies:
        return Origin(peer)
    headers = Headers(raw=scope["headers"])
    passed = ",".join(headers.getlist("x-forwarded-for")).split(",")
    chain = [_known_address(text.strip()) for text in passed if text.strip()]
    address = next((one for one in reversed(chain) if one not in proxies), peer)
    names = headers.getlist(access.user_header) if access.user_header else []
    return Origin(address, ", ".join(names))


def _known_address(text: str) -> str:
    try:
        return str(plain_address(text))
    except ValueError:
        return "unknown"


class RequestLimit:
    """Limit of requests a minute, by account or address; a full minute may come at once.

    Budgets protect the data; this protects the server. Counts are lost when the server ends.

    Parameters
    ----------
    per_minute : int
        Requests of each account or address.
    clock : callable
        Returns seconds.

    Examples
    --------
    >>> limit = RequestLimit(2, clock=lambda: 0.0)
    >>> [limit.wait("ada"), limit.wait("ada"), limit.wait("ada"), limit.wait("bob")]
    [0.0, 0.0, 30.0, 0.0]
    """

    MAX_CLIENTS = 10_000
    """Accounts and addresses in memory; beyond it idle ones are forgotten."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = per_minute, clock
        self._used: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def wait(self, who: str) -> float:
        """Count a request and return 0, or return the seconds until the next one is possible."""
        with self._lock:
            now = self._clock()
            if who not in self._used and len(self._used) >= self.MAX_CLIENTS:
                self._forget(now)
            used = self._used_now(who, now)
            if used > self._most - 1:
                return (used - self._most + 1) * 60 / self._most
            self._used[who] = (used + 1, now)
            return 0.0

    def check(self, who: str) -> None:
        """Count a request, or raise HTTPException 429."""
        if seconds := self.wait(who):
            raise HTTPException(
                429,
                "too many requests; wait for the seconds in the header Retry-After",
                {"Retry-After": str(int(seconds) + 1)},
            )

    def _used_now(self, who: str, now: float) -> float:
        used, at = self._used.get(who, (0.0, now))
        return max(0.0, used - (now - at) * self._most / 60)

    def _forget(self, now: float) -> None:
        self._used = {who: use for who, use in self._used.items() if self._used_now(who, now) > 0}
        while len(self._used) >= self.MAX_CLIENTS:
            self._used.pop(next(iter(self._used)))


@dataclass(frozen=True)
class Signed:
    """The signed-in user of a request."""

    account: Account
    csrf: str = field(default="", repr=False)
    """CSRF token of forms; empty with a bearer token."""
    session: str = field(default="", repr=False)
    """Cookie of the session; empty with a bearer token or a single sign-on."""


def csrf_of(cookie: str) -> str:
    """Return the CSRF token of forms, from which the cookie cannot be recovered."""
    return hmac.digest(cookie.encode(), b"csrf", "sha256").hex()


class Guard:
    """Identifies users; ``app.state.guard`` of an app.

    Parameters
    ----------
    accounts : Accounts
        Accounts of the users.
    access : Access
        Limits and kind of cookies.
    """

    def __init__(self, accounts: Accounts, access: Access) -> None:
        self.accounts, self.access = accounts, access
        self.limit = RequestLimit(access.requests_per_minute)
        self._csrf_key = secrets.token_urlsafe(32)

    @property
    def cookie(self) -> str:
        """Name of the cookie; browsers accept ``__Host-`` over TLS from this host only."""
        return "__Host-session" if self.access.secure_cookies else "session"

    def by_token(self, request: Request) -> Signed:
        """Return the user of the bearer token; RequestError 401, HTTPException 429."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        account = self.accounts.by_token(token.strip()) if scheme.lower() == "bearer" else None
        return self._counted(request, None if account is None else Signed(account))

    def by_page(self, request: Request) -> Signed:
        """Return the user of the single sign-on, or else of the session.

        Raises
        ------
        RequestError
            401 without a signed-in user, 403 if no open account has the name from the sign-on.
        HTTPException
            429.
        """
        name, cookie = request.state.origin.user, request.cookies.get(self.cookie, "")
        if not name:
            account = self.accounts.session(cookie) if cookie else None
            signed = Signed(account, csrf_of(cookie), cookie) if account else None
            return self._counted(request, signed)
        if account := self.accounts.signed_on(name):
            return self._counted(
                request, Signed(account, csrf_of(f"{self._csrf_key} {account.id}"))
            )
        self.limit.check(f"address {request.state.origin.address}")
        raise RequestError(WORDS["refused"]["sign_on"].format(name), 403)

    async def sign_in(self, request: Request, token: str) -> str:
        """Begin a session by a token; return its cookie; RequestError 401, HTTPException 429."""
        self.limit.check(f"address {request.state.origin.address}")
        return await run_in_threadpool(self.accounts.sign_in, token)

    def _counted(self, request: Request, signed: Signed | None) -> Signed:
        if signed is None:
            self.limit.check(f"address {request.state.origin.address}")
            raise RequestError("you are not signed in; sign in, or send a valid token", 401)
        self.limit.check(f"account {signed.account.id}")
        request.state.signed = signed
        return signed

    def keep(self, response: Response, cookie: str) -> None:
        """Set the cookie of a session."""
        response.set_cookie(
            self.cookie, cookie, max_age=round(self.access.session_hours * 3600),
            secure=self.access.secure_cookies, httponly=True, samesite="strict", path="/",
        )  # fmt: skip

    def forget(self, response: Response) -> None:
        """Delete the cookie."""
        response.delete_cookie(
            self.cookie, secure=self.access.secure_cookies, httponly=True, samesite="strict"
        )


def guard_of(request: Request) -> Guard:
    """Return the guard of the app that serves a request."""
    return cast(Guard, request.app.state.guard)  # `create_app` sets it


def signed_in(request: Request) -> Signed:
    """Return the user who is signed in to the pages; RequestError (401) without one."""
    signed = getattr(request.state, "signed", None)
    return signed if isinstance(signed, Signed) else guard_of(request).by_page(request)


def check_csrf(request: Request, sent: str) -> None:
    """Raise RequestError (403) if a form belongs to another session."""
    csrf = signed_in(request).csrf
    if not hmac.compare_digest(sent.encode("utf-8", "replace"), csrf.encode()):
        raise RequestError("the form belongs to another session; open the page again", 403)


class _StrictRequest(Request):
    async def json(self) -> Any:
        """Return the body; HTTPException 400 if it is ambiguous."""
        try:
            return read_json(await self.body())
        except ValueError as error:
            raise HTTPException(400, str(error)) from None


Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


def only(*roles: Role) -> Callable[[Endpoint], Endpoint]:
    """Restrict an operation or a page to roles."""

    def marked(endpoint: Endpoint) -> Endpoint:
        endpoint.roles = roles  # type: ignore[attr-defined]
        return endpoint

    return marked


def roles_of(route: APIRoute, others: tuple[Role, ...] = ()) -> tuple[Role, ...]:
    """Return the roles of a route: those of `only`, or else others; all if empty."""
    roles: tuple[Role, ...] = getattr(route.endpoint, "roles", others)
    return roles


class GuardedRoute(APIRoute):
    """A route that checks the token first, then the role, and then reads the body strictly."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return the handler of a request."""
        serve, roles = super().get_route_handler(), roles_of(self)

        async def guarded(request: Request) -> Any:
            signed = await run_in_threadpool(guard_of(request).by_token, request)
            require(signed.account, *roles)
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if self.body_field is not None and kind != "application/json":
                raise HTTPException(415)
            return await serve(_StrictRequest(request.scope, request.receive))

        return guarded


def account_of(request: Request) -> Account:
    """Return the account of a request to the API, which the route has checked."""
    return cast(Signed, request.state.signed).account  # `GuardedRoute` sets it


# The log

FIELDS = ("method", "route", "status", "milliseconds", "account", "address")
"""Fields that ``extra={"fields": ...}`` of a log record may contain."""
_PACKAGE, _TEMPLATES = "synthesizer.", "uvicorn."
"""Loggers of this package, and loggers with fixed message templates."""


class FieldFormatter(logging.Formatter):
    """Writes `FIELDS`, time, level, logger and, for loggers of this package, the message.

    Examples
    --------
    >>> record = logging.LogRecord("a.library", logging.ERROR, "f.py", 3, "salary 1234", (), None)
    >>> "1234" in FieldFormatter().format(record)
    False
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname, "logger": record.name}
        if record.name.startswith(_PACKAGE):
            line["message"] = record.getMessage()
        elif record.name.startswith(_TEMPLATES):
            line["message"] = _with_numbers(record)
        else:
            line["place"] = f"{record.module}:{record.lineno}"
        fields = getattr(record, "fields", {})
        line |= {key: fields[key] for key in FIELDS if key in fields}
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["place"] = line_of_error(record.exc_info[2])
        return json.dumps(line)


def _with_numbers(record: logging.LogRecord) -> str:
    """Return a message with its whole numbers, such as the process number, but no texts."""
    values = record.args if isinstance(record.args, tuple) else ()
    try:
        return str(record.msg) % tuple(v if isinstance(v, int) else "..." for v in values)
    except (TypeError, ValueError):  # the message needs another kind of value
        return str(record.msg)


def line_of_error(trace: TracebackType | None) -> str:
    """Return the module and line that raised an exception."""
    frames = traceback.extract_tb(trace)
    if not frames:
        return ""
    last = frames[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


LOGGING: dict[str, Any] = packaged_yaml("synthesizer.extensions.verification", "logging.yaml")
"""For `uvicorn.Config(log_config=LOGGING, access_log=False)`: the app logs requests."""
