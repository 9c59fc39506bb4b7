"""What guards the service: headers, limits, tokens, sessions, errors that reveal nothing."""

import json
import logging
import re

import pytest
from fastapi import Response
from fastapi.testclient import TestClient
from panel_server import Idle
from replay_trials import GAP

from synthesizer.data.errors import ConfigError
from synthesizer.extensions.verification.messages import LedgerError
from synthesizer.extensions.verification.public_schema import strictly
from synthesizer.extensions.verification.server import security
from synthesizer.extensions.verification.server.app import create_app
from synthesizer.extensions.verification.server.security import (
    HEADERS,
    MAX_BODY_BYTES,
    FieldFormatter,
    RequestLimit,
    origin,
)
from synthesizer.extensions.verification.server.server_config import Access
from synthesizer.extensions.verification.server.service import Service

CANARY = "zqCANARY7"
DRY_RUNS = "/api/v1/datasets/panel/dry-runs"


@pytest.fixture
def app(service, accounts):
    return create_app(service, accounts, dispatcher=Idle)


@pytest.fixture
def http(app, accounts, ada):
    token = accounts.new_token(ada, "test", actor="test")
    with TestClient(
        app, headers={"Authorization": f"Bearer {token}"}, raise_server_exceptions=False
    ) as http:
        yield http


def problems(reply, status):
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    content = reply.json()
    assert content["status"] == status
    return content["problems"]


def test_every_reply_has_the_headers(http):
    for path in ("/api/v1/me", "/api/v1/openapi.json", "/none", "/api/v1/queries/x"):
        headers = http.get(path).headers
        assert all(headers[key] == value for key, value in HEADERS.items())
        assert "strict-transport-security" not in headers
    assert "'unsafe" not in HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize("is_announced", [True, False])
def test_a_body_ends_at_the_limit(http, is_announced):
    received = []

    def parts():
        for _ in range(100):
            received.append(1)
            yield b" " * (MAX_BODY_BYTES // 10)

    content = b" " * (MAX_BODY_BYTES + 1) if is_announced else parts()
    reply = http.post(DRY_RUNS, content=content, headers={"Content-Type": "application/json"})
    problems(reply, 413)
    fits = json.dumps({"query": {"formula": CANARY}}).encode().ljust(MAX_BODY_BYTES)
    reply = http.post(DRY_RUNS, content=fits, headers={"Content-Type": "application/json"})
    problems(reply, 422)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"query": GAP, CANARY: 1}, "body: extra_forbidden"),
        ({"query": CANARY}, "body.query: dict_type"),
        ({"project": CANARY}, "body.query: missing"),
        ([CANARY], "body: model_attributes_type"),
    ],
)
def test_faults_are_places_and_kinds_and_never_what_was_sent(http, body, problem):
    reply = http.post(DRY_RUNS, json=body)
    assert problem in problems(reply, 422)
    assert CANARY not in reply.text


def test_an_unexpected_error_reveals_nothing(http, monkeypatch, caplog):
    caplog.handler.setFormatter(FieldFormatter())

    def fails(self):
        raise RuntimeError(CANARY)

    monkeypatch.setattr(Service, "list_datasets", fails)
    (problem,) = problems(http.get("/api/v1/datasets"), 500)
    assert CANARY not in caplog.text + problem
    assert "RuntimeError" in caplog.text

    def database(self):
        raise LedgerError(f"{CANARY} is in use") from OSError(CANARY)

    monkeypatch.setattr(Service, "list_datasets", database)
    reply = http.get("/api/v1/datasets")
    assert CANARY not in problems(reply, 503)[0]
    assert reply.headers["retry-after"] == "5"


def test_the_log_has_the_route_and_neither_path_nor_query_string(http, caplog):
    caplog.set_level(logging.INFO, "synthesizer")
    caplog.handler.setFormatter(FieldFormatter())
    http.get(f"/api/v1/queries/{'0' * 32}?x={CANARY}")
    http.get(f"/{CANARY}")
    lines = [json.loads(line) for line in caplog.text.splitlines() if '"request"' in line]
    assert [(line["route"], line["status"]) for line in lines] == [
        ("/api/v1/queries/{submission}", 404),
        (None, 404),
    ]
    assert lines[0]["account"] == "ada"
    assert CANARY not in caplog.text


# Too many requests


def test_a_minute_has_so_many_requests_and_what_is_known_is_bounded(monkeypatch):
    at = [0.0]
    limit = RequestLimit(60, clock=lambda: at[0])
    assert sum(limit.wait("ada") == 0 for _ in range(100)) == 60
    assert limit.wait("ada") == pytest.approx(1.0)
    at[0] = 10.0
    assert sum(limit.wait("ada") == 0 for _ in range(100)) == 10
    assert limit.wait("bob") == 0
    monkeypatch.setattr(RequestLimit, "MAX_CLIENTS", 50)
    for number in range(500):
        limit.wait(str(number))
    assert len(limit._used) <= 50


def test_accounts_and_addresses_have_a_limit_each(http, app, accounts, bob):
    app.state.guard.limit = RequestLimit(5, clock=lambda: 0.0)
    statuses = [http.get("/api/v1/me").status_code for _ in range(7)]
    assert statuses == [200] * 5 + [429] * 2
    reply = http.get("/api/v1/me")
    assert "too many requests" in problems(reply, 429)[0]
    assert int(reply.headers["retry-after"]) == 13
    other = {"Authorization": f"Bearer {accounts.new_token(bob, 'test', actor='test')}"}
    assert http.get("/api/v1/me", headers=other).status_code == 200
    anonymous = {"Authorization": "Bearer none"}
    statuses = [http.get("/api/v1/me", headers=anonymous).status_code for _ in range(4)]
    statuses += [http.post("/sign-in", data={"token": "guess"}).status_code for _ in range(3)]
    assert statuses == [401] * 5 + [429] * 2  # by whatever way somebody guesses
    assert http.get("/api/v1/me", headers=other).status_code == 200  # who has a valid one goes on


# T18: tokens over HTTP


def test_whatever_is_wrong_with_a_token_the_reply_is_the_same(http, accounts, bob):
    """The token is unknown, cut, expired, revoked, of a closed account, or a cookie."""
    tokens = {label: accounts.new_token(bob, label, actor="test") for label in ("one", "two")}
    eve = accounts.add("eve", "researcher", actor="test")
    closed = accounts.new_token(eve, "x", actor="test")
    accounts.set_active("eve", is_active=False, actor="test")
    accounts.revoke(bob, accounts.tokens(bob)[0].id, actor="test")
    expired = accounts.new_token(bob, "x", days=1e-9, actor="test")
    cookie = accounts.sign_in(tokens["two"])
    wrong = ("x" * 43, tokens["two"][:-1], tokens["one"], closed, expired, cookie, "")
    heard = set()
    for token in wrong:
        reply = http.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})
        heard.add((reply.status_code, str(sorted(reply.headers.items())), reply.content))
    assert [status for status, *_ in heard] == [401]
    good = http.get("/api/v1/me", headers={"Authorization": f"Bearer {tokens['two']}"})
    assert good.json()["name"] == "bob"  # the control
    forms = {
        http.post("/sign-in", data={"token": token}).text for token in wrong if token
    }  # as a browser sees it
    assert len(forms) == 1


# Sessions and forms


def test_a_session_is_a_cookie_that_scripts_and_other_sites_cannot_use(app, accounts, ada):
    token = accounts.new_token(ada, "test", actor="test")
    with TestClient(app, follow_redirects=False) as http:
        cookie = http.post("/sign-in", data={"token": token}).headers["set-cookie"]
        assert cookie.startswith("session=")
        for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=28800"):
            assert part in cookie
        assert "Tokens of ada" in http.get("/tokens").text
    with TestClient(app, cookies={"session": "none"}, follow_redirects=False) as other:
        assert other.get("/tokens").status_code == 303


def test_by_tls_the_cookie_is_of_this_host_only(service, accounts):
    access = service.config.access.model_copy(update={"secure_cookies": True})
    service.config = service.config.model_copy(update={"access": access})
    with TestClient(create_app(service, accounts, dispatcher=Idle)) as http:
        assert "max-age" in http.get("/api/v1/openapi.json").headers["strict-transport-security"]
    guard = security.Guard(accounts, access)
    reply = Response()
    guard.keep(reply, "secret")
    assert reply.headers["set-cookie"].startswith("__Host-session=secret")
    assert "Secure" in reply.headers["set-cookie"]
    guard.forget(reply)
    assert "Max-Age=0" in reply.headers.getlist("set-cookie")[1]


# The single sign-on of the agency


PROXY = "10.0.0.1"
HEADER = "X-Remote-User"


@pytest.fixture
def behind(service, accounts, ada):
    """Return a function that makes a browser whose requests come from an address."""
    access = Access(proxies=(PROXY, "::1"), user_header=HEADER, secure_cookies=False)
    service.config = service.config.model_copy(update={"access": access})
    app = create_app(service, accounts, dispatcher=Idle)

    def browser(peer=PROXY, *headers):
        client = TestClient(app, client=(peer, 5000), follow_redirects=False)
        client.headers = [*client.headers.items(), *headers]
        return client

    return browser


def test_the_sign_on_lets_in_whom_the_proxy_names(behind, accounts):
    eve = accounts.add("eve", "researcher", actor="test")
    cookie = accounts.sign_in(accounts.new_token(eve, "x", actor="test"))
    for peer in (PROXY, f"::ffff:{PROXY}", "::1"):
        http = behind(peer, (HEADER, "ada"))
        http.cookies.set("session", cookie)  # the sign-on goes before a cookie
        assert "Tokens of ada" in http.get("/tokens").text
        assert http.get("/api/v1/me").status_code == 401  # and is no key to the API


def test_the_header_of_anybody_else_is_ignored(behind, service, accounts):
    for peer in ("10.0.0.2", "127.0.0.1", "::ffff:10.0.0.2", "::2", "testclient"):
        page = behind(peer, (HEADER, "ada"), ("X-Forwarded-For", PROXY)).get("/datasets")
        assert page.status_code == 303, peer
    access = Access(
        proxies=(PROXY,), secure_cookies=False
    )  # nor is it believed without the setting
    service.config = service.config.model_copy(update={"access": access})
    app = create_app(service, accounts, dispatcher=Idle)
    with TestClient(app, client=(PROXY, 5000), follow_redirects=False) as http:
        assert http.get("/datasets", headers={HEADER: "ada"}).status_code == 303


def test_a_name_without_an_open_account_is_sent_to_the_steward(behind, accounts):
    accounts.add("eve", "researcher", actor="test")
    accounts.set_active("eve", is_active=False, actor="test")
    for name in ("eve", "mallory", "Ada", "ada, ada", "<script>", "\xe9"):
        page = behind(PROXY, (HEADER, name.encode("latin-1"))).get("/datasets")
        assert page.status_code == 403, name
        assert "<script>" not in page.text
    for second in ("ada", ""):  # two names are none
        page = behind(PROXY, (HEADER, "ada"), (HEADER.lower(), second)).get("/datasets")
        assert page.status_code == 403, second


def test_a_form_behind_the_sign_on_needs_the_token_of_its_account(behind, accounts):
    accounts.add("eve", "researcher", actor="test")
    http, eve = (behind(PROXY, (HEADER, name)) for name in ("ada", "eve"))
    field = re.compile(r'name="csrf" value="([0-9a-f]{64})"')
    ada_tokens, eve_tokens = (set(field.findall(one.get("/tokens").text)) for one in (http, eve))
    assert len(ada_tokens) == len(eve_tokens) == 1
    assert ada_tokens != eve_tokens
    for csrf, status in ((eve_tokens, 403), ({""}, 403), (ada_tokens, 200)):
        form = {"csrf": next(iter(csrf)), "label": "R", "days": "9"}
        page = http.post("/tokens", data=form)
        assert page.status_code == status
    (token,) = re.findall(r'id="token">([^<]+)<', page.text)
    me = http.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})
    assert me.json()["name"] == "ada"


@pytest.mark.parametrize(
    ("peer", "passed", "address"),
    [
        ("10.9.9.9", ["1.2.3.4"], "10.9.9.9"),
        (PROXY, [], PROXY),
        (PROXY, ["6.6.6.6, 1.2.3.4"], "1.2.3.4"),
        (PROXY, ["6.6.6.6", "1.2.3.4"], "1.2.3.4"),
        (PROXY, ["6.6.6.6, 1.2.3.4, ::1"], "1.2.3.4"),
        (PROXY, ["::ffff:1.2.3.4"], "1.2.3.4"),
        (f"::ffff:{PROXY}", ["2001:db8::1"], "2001:db8::1"),
        (PROXY, ["1.2.3.4, <script>"], "unknown"),
        (PROXY, [" , "], PROXY),
    ],
)
def test_the_address_is_the_last_that_is_no_proxy(peer, passed, address):
    access = Access(proxies=(PROXY, "::1"))
    headers = [(b"x-forwarded-for", one.encode()) for one in passed]
    assert origin({"client": (peer, 1), "headers": headers}, access).address == address
    assert origin({"client": None, "headers": headers}, access).address == "unknown"


def test_a_header_that_anybody_could_send_is_refused():
    with pytest.raises(ConfigError, match="proxies"):
        strictly(Access, {"user_header": HEADER})
    with pytest.raises(ConfigError) as raised:
        strictly(Access, {"user_header": "X Remote", "proxies": ["nginx", "10.0.0.0/8"]})
    assert len(raised.value.problems) == 3
