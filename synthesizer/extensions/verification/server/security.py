"""What stands between the network and the service: who asks, how often, how much, and as what.

Every request passes `Shield`, pages and API alike: headers that tell browsers to load and frame
nothing from elsewhere, a limit of the body, a line in the log, and no word of an exception that
nobody expected. The API takes a bearer token and looks at it before it reads the body. Pages take
a cookie of a session, or the name that a reverse proxy sends after the agency's single sign-on; a
form counts only with the CSRF token of the account that opened it. Roles are checked by the routes
of API and pages (`only`), before the body is read, and nowhere else.

Headers of a proxy count where the TCP peer is one of the configuration's proxies. Anybody else can
send them, too, and they are ignored.

The log has one line of JSON an event, of fields that are named here and no others: people read it
who may not see the data. So no text of a library is written down: neither its messages, which may
quote values, nor those of exceptions. What goes wrong is told by the kind of the exception and the
place in the program. Requests are told by the route ("/queries/{id}"), never by path, query string
or body.
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

LARGEST_BODY = 64 * 1024
"""Bytes; the longest query that makes sense has a tenth of it."""
HEADERS: dict[str, str] = WORDS["headers"]
"""Of every reply."""
_BY_TLS = {"Strict-Transport-Security": "max-age=31536000"}
NAME = "synthesizer.extensions.verification.server"
_log = logging.getLogger(NAME)


class Shield:
    """The outermost part of the app.

    Parameters
    ----------
    app : ASGI application
        What it protects.
    access : Access
        Kind of cookies, and which proxies are believed.
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
            elif _announced(scope) > LARGEST_BODY:
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
    """Return what receives a body of a length that was not announced, up to the limit."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST_BODY:
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
    """Where a request comes from."""

    address: str
    user: str = ""
    """Name that the single sign-on sent; empty where it sent none."""


def origin(scope: Mapping[str, Any], access: Access) -> Origin:
    """Return address and name of whoever sends a request.

    Behind a proxy the address is the last one of X-Forwarded-For that is no proxy itself. A name
    that is sent twice becomes one with a comma, which no account has.

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
    """So many requests a minute, of each account or address; a full minute may come at once.

    Budgets protect the data; this protects the server. It forgets when the server ends.

    Parameters
    ----------
    per_minute : int
        Of each.
    clock : callable
        Seconds.

    Examples
    --------
    >>> limit = RequestLimit(2, clock=lambda: 0.0)
    >>> [limit.wait("ada"), limit.wait("ada"), limit.wait("ada"), limit.wait("bob")]
    [0.0, 0.0, 30.0, 0.0]
    """

    MOST = 10_000
    """So many accounts and addresses are known at once; then those that are idle are forgotten."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = per_minute, clock
        self._used: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def wait(self, who: str) -> float:
        """Count a request and return 0, or return after how many seconds the next is counted."""
        with self._lock:
            now = self._clock()
            if who not in self._used and len(self._used) >= self.MOST:
                self._forget(now)
            used = self._left(who, now)
            if used > self._most - 1:
                return (used - self._most + 1) * 60 / self._most
            self._used[who] = (used + 1, now)
            return 0.0

    def check(self, who: str) -> None:
        """Count a request, or raise HTTPException 429."""
        if seconds := self.wait(who):
            raise HTTPException(
                429,
                "too many requests; wait as long as the header Retry-After says",
                {"Retry-After": str(int(seconds) + 1)},
            )

    def _left(self, who: str, now: float) -> float:
        used, at = self._used.get(who, (0.0, now))
        return max(0.0, used - (now - at) * self._most / 60)

    def _forget(self, now: float) -> None:
        self._used = {who: entry for who, entry in self._used.items() if self._left(who, now) > 0}
        while len(self._used) >= self.MOST:
            self._used.pop(next(iter(self._used)))


@dataclass(frozen=True)
class Signed:
    """Who makes a request."""

    account: Account
    csrf: str = field(default="", repr=False)
    """What forms of the pages carry; empty with a bearer token."""
    session: str = field(default="", repr=False)
    """The session's secret; empty with a bearer token or a single sign-on."""


def csrf_of(secret: str) -> str:
    """Return what forms carry, from which the secret cannot be found."""
    return hmac.digest(secret.encode(), b"csrf", "sha256").hex()


class Guard:
    """Looks who asks; ``app.state.guard`` of an app.

    Parameters
    ----------
    accounts : Accounts
        Who there is.
    access : Access
        Limits and kind of cookies.
    """

    def __init__(self, accounts: Accounts, access: Access) -> None:
        self.accounts, self.access = accounts, access
        self.limit = RequestLimit(access.requests_per_minute)
        self._secret = secrets.token_urlsafe(32)

    @property
    def cookie(self) -> str:
        """Name of the cookie; browsers take ``__Host-`` by TLS from this very host only."""
        return "__Host-session" if self.access.secure_cookies else "session"

    def by_token(self, request: Request) -> Signed:
        """Return who asks by the bearer token; RequestError (401), or HTTPException 429."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        account = self.accounts.by_token(token.strip()) if scheme.lower() == "bearer" else None
        return self._counted(request, None if account is None else Signed(account))

    def by_page(self, request: Request) -> Signed:
        """Return who asks by the single sign-on, or else by the session.

        Raises
        ------
        RequestError
            401 where nobody is signed in, 403 where no open account has the name that the sign-on
            sent.
        HTTPException
            429.
        """
        name, secret = request.state.origin.user, request.cookies.get(self.cookie, "")
        if not name:
            account = self.accounts.session(secret) if secret else None
            signed = Signed(account, csrf_of(secret), secret) if account else None
            return self._counted(request, signed)
        if account := self.accounts.signed_on(name):
            return self._counted(request, Signed(account, csrf_of(f"{self._secret} {account.id}")))
        self.limit.check(f"address {request.state.origin.address}")
        raise RequestError(
            WORDS["refused"]["sign_on"].format(name),
            403,
        )

    async def sign_in(self, request: Request, token: str) -> str:
        """Begin a session by a token; return its secret; RequestError 401, HTTPException 429."""
        self.limit.check(f"address {request.state.origin.address}")
        return await run_in_threadpool(self.accounts.sign_in, token)

    def _counted(self, request: Request, signed: Signed | None) -> Signed:
        if signed is None:
            self.limit.check(f"address {request.state.origin.address}")
            raise RequestError("who asks is not known; sign in, or send a token that is valid", 401)
        self.limit.check(f"account {signed.account.id}")
        request.state.signed = signed
        return signed

    def keep(self, response: Response, secret: str) -> None:
        """Give a browser the cookie of a session."""
        response.set_cookie(
            self.cookie, secret, max_age=round(self.access.session_hours * 3600),
            secure=self.access.secure_cookies, httponly=True, samesite="strict", path="/",
        )  # fmt: skip

    def forget(self, response: Response) -> None:
        """Take the cookie back."""
        response.delete_cookie(
            self.cookie, secure=self.access.secure_cookies, httponly=True, samesite="strict"
        )


def guard_of(request: Request) -> Guard:
    """Return the guard of the app that serves a request."""
    return cast(Guard, request.app.state.guard)  # `create_app` puts it there


def signed_in(request: Request) -> Signed:
    """Return who is signed in to the pages; RequestError (401) where nobody is."""
    signed = getattr(request.state, "signed", None)
    return signed if isinstance(signed, Signed) else guard_of(request).by_page(request)


def check_csrf(request: Request, sent: str) -> None:
    """Raise RequestError (403) where a form is not of the session that sends it."""
    csrf = signed_in(request).csrf
    if not hmac.compare_digest(sent.encode("utf-8", "replace"), csrf.encode()):
        raise RequestError("the form is of another session; open the page again", 403)


class _StrictRequest(Request):
    async def json(self) -> Any:
        """Return the body; HTTPException 400 where it can be read in two ways."""
        try:
            return read_json(await self.body())
        except ValueError as error:
            raise HTTPException(400, str(error)) from None


Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


def only(*roles: Role) -> Callable[[Endpoint], Endpoint]:
    """Keep an operation or a page to some roles, whatever its body is."""

    def marked(endpoint: Endpoint) -> Endpoint:
        endpoint.roles = roles  # type: ignore[attr-defined]
        return endpoint

    return marked


def roles_of(route: APIRoute, others: tuple[Role, ...] = ()) -> tuple[Role, ...]:
    """Return who may use a route: the roles that `only` names, or else others; all if empty."""
    roles: tuple[Role, ...] = getattr(route.endpoint, "roles", others)
    return roles


class GuardedRoute(APIRoute):
    """A route that checks the token first, then the role, and then reads the body strictly."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return what serves a request."""
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
    """Return who makes a request of the API, after the route has looked."""
    return cast(Signed, request.state.signed).account  # `GuardedRoute` puts it there


# The log

FIELDS = ("method", "route", "status", "milliseconds", "account", "address")
"""What ``extra={"fields": ...}`` of a record may tell."""
_OWN, _TEMPLATES = "synthesizer.", "uvicorn."
"""Loggers whose words are our own, and those whose words are fixed before values are filled in."""


class FieldFormatter(logging.Formatter):
    """Writes the fields of `FIELDS`, time, level, logger and, of our own loggers, the words.

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
        if record.name.startswith(_OWN):
            line["message"] = record.getMessage()
        elif record.name.startswith(_TEMPLATES):
            line["message"] = _with_numbers(record)
        else:
            line["place"] = f"{record.module}:{record.lineno}"
        fields = getattr(record, "fields", {})
        line |= {key: fields[key] for key in FIELDS if key in fields}
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["place"] = place_of_error(record.exc_info[2])
        return json.dumps(line)


def _with_numbers(record: logging.LogRecord) -> str:
    """Return words with whole numbers filled in, such as that of the process, and no text."""
    values = record.args if isinstance(record.args, tuple) else ()
    try:
        return str(record.msg) % tuple(v if isinstance(v, int) else "..." for v in values)
    except (TypeError, ValueError):  # the words ask for another kind of value
        return str(record.msg)


def place_of_error(trace: TracebackType | None) -> str:
    """Return module and line where an exception was raised."""
    frames = traceback.extract_tb(trace)
    if not frames:
        return ""
    last = frames[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


LOGGING: dict[str, Any] = packaged_yaml("synthesizer.extensions.verification", "logging.yaml")
"""For `uvicorn.Config(log_config=LOGGING, access_log=False)`: requests are logged by the app."""
