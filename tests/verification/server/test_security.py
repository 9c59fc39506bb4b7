"""What stands before the service: headers, limits, tokens, sessions, errors that tell nothing."""

import json
import logging

import pytest
from argon2 import PasswordHasher
from fastapi import FastAPI, Request, Response
from fastapi.testclient import TestClient
from fuzz_server import Idle
from pydantic import BaseModel
from replay_trials import GAP

from synthesizer.data.errors import LedgerError
from synthesizer.verification.server import security
from synthesizer.verification.server.accounts import Accounts
from synthesizer.verification.server.app import create_app
from synthesizer.verification.server.security import (
    HEADERS,
    LARGEST_BODY,
    RequestLimit,
    check_csrf,
    guard_of,
    signed_in,
)
from synthesizer.verification.server.server_log import FieldFormatter
from synthesizer.verification.server.service import Service

CANARY = "zqCANARY7"
PASSWORD = "correct horse battery"
DRY_RUNS = "/api/v1/datasets/panel/dry-runs"


@pytest.fixture
def accounts(engine):
    quick = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    return Accounts(engine, failures=3, hasher=quick)


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
        assert HEADERS.items() <= {key.title(): headers[key] for key in headers}.items() or all(
            headers[key] == value for key, value in HEADERS.items()
        )
        assert "strict-transport-security" not in headers
    assert "'unsafe" not in HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in HEADERS["Content-Security-Policy"]


def test_by_tls_browsers_are_told_to_stay_there(service, accounts):
    access = service.config.access.model_copy(update={"secure_cookies": True})
    service.config = service.config.model_copy(update={"access": access})
    with TestClient(create_app(service, accounts, dispatcher=Idle)) as http:
        assert "max-age" in http.get("/api/v1/openapi.json").headers["strict-transport-security"]


def test_what_can_be_done_at_a_path_is_told_whole(http):
    for path, allowed in (("me", "GET"), ("tokens", "GET, POST"), ("tokens/3", "DELETE")):
        reply = http.put(f"/api/v1/{path}")
        problems(reply, 405)
        assert reply.headers["allow"] == allowed


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/api/v1/docs"])
def test_nothing_else_is_served(http, path):
    problems(http.get(path), 404)


def test_who_asks_comes_before_what_is_asked(http):
    for headers in (
        {"Authorization": ""},
        {"Authorization": "Bearer x"},
        {"Authorization": b"\xe9"},
    ):
        reply = http.post(DRY_RUNS, content=b"{", headers=headers)
        problems(reply, 401)
        assert reply.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("is_announced", [True, False])
def test_a_body_ends_at_the_limit(http, is_announced):
    received = []

    def parts():
        for _ in range(100):
            received.append(1)
            yield b" " * (LARGEST_BODY // 10)

    content = b" " * (LARGEST_BODY + 1) if is_announced else parts()
    reply = http.post(DRY_RUNS, content=content, headers={"Content-Type": "application/json"})
    problems(reply, 413)
    fits = json.dumps({"query": {"formula": CANARY}}).encode().ljust(LARGEST_BODY)
    reply = http.post(DRY_RUNS, content=fits, headers={"Content-Type": "application/json"})
    problems(reply, 422)


def test_a_body_of_another_kind_is_refused(http):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "é"):
        problems(http.post(DRY_RUNS, content=b"{}", headers={"Content-Type": kind.encode()}), 415)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"query": GAP, CANARY: 1}, "body: extra_forbidden"),
        ({"query": CANARY}, "body.query: dict_type"),
        ({"analysis": CANARY}, "body.query: missing"),
        ([CANARY], "body: model_attributes_type"),
    ],
)
def test_faults_are_places_and_kinds_and_never_what_was_sent(http, body, problem):
    reply = http.post(DRY_RUNS, json=body)
    assert problem in problems(reply, 422)
    assert CANARY not in reply.text


def test_the_default_reply_of_fastapi_would_send_it_back():
    """Control: the same body and the framework's own handler, which takes NaN, too."""
    naive = FastAPI()

    class Body(BaseModel):
        epsilon: float

    @naive.post("/")
    def take(body: Body) -> Body:
        return body

    with TestClient(naive, raise_server_exceptions=False) as http:
        assert CANARY in http.post("/", json={"epsilon": CANARY}).text
        kind = {"Content-Type": "application/json"}
        assert http.post("/", content=b'{"epsilon": NaN}', headers=kind).status_code == 200


def test_what_was_not_expected_is_told_to_nobody(http, monkeypatch, caplog):
    caplog.handler.setFormatter(FieldFormatter())

    def fails(self):
        raise RuntimeError(CANARY)

    monkeypatch.setattr(Service, "list_datasets", fails)
    (problem,) = problems(http.get("/api/v1/datasets"), 500)
    assert "server failed" in problem
    assert CANARY not in caplog.text
    assert "RuntimeError" in caplog.text


def test_a_database_that_fails_is_503_without_its_name(http, monkeypatch):
    def fails(self):
        raise LedgerError(f"{CANARY} is in use") from OSError(CANARY)

    monkeypatch.setattr(Service, "list_datasets", fails)
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


def test_a_minute_has_so_many_requests_whenever_they_come():
    at = [0.0]
    limit = RequestLimit(60, clock=lambda: at[0])
    assert sum(limit.wait("ada") == 0 for _ in range(100)) == 60
    assert limit.wait("ada") == pytest.approx(1.0)
    at[0] = 10.0
    assert sum(limit.wait("ada") == 0 for _ in range(100)) == 10
    assert limit.wait("bob") == 0


def test_what_is_known_of_requests_is_bounded(monkeypatch):
    monkeypatch.setattr(RequestLimit, "MOST", 50)
    limit = RequestLimit(60, clock=lambda: 0.0)
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
    nobody = {"Authorization": "Bearer none"}
    statuses = [http.get("/api/v1/me", headers=nobody).status_code for _ in range(7)]
    assert statuses == [401] * 5 + [429] * 2


# T18: passwords over HTTP


def sign_in(http, name, password):
    body = {"name": name, "password": password, "label": "laptop"}
    reply = http.post("/api/v1/tokens", json=body, headers={"Authorization": ""})
    return reply.status_code, sorted(reply.headers.items()), reply.content


def test_a_password_gives_a_token(http, accounts):
    accounts.add("eve", "researcher", actor="test", password=PASSWORD)
    status, _, content = sign_in(http, "eve", PASSWORD)
    assert status == 201
    token = {"Authorization": f"Bearer {json.loads(content)['token']}"}
    assert http.get("/api/v1/me", headers=token).json()["name"] == "eve"
    (own,) = http.get("/api/v1/tokens", headers=token).json()
    assert own["label"] == "laptop"
    assert http.delete(f"/api/v1/tokens/{own['id']}", headers=token).status_code == 204
    assert http.get("/api/v1/me", headers=token).status_code == 401


def test_a_name_that_is_not_there_hears_what_a_wrong_password_hears_until_it_is_locked(
    http, accounts
):
    accounts.add("eve", "researcher", actor="test", password=PASSWORD)
    accounts.add("eva", "researcher", actor="test")  # has tokens only
    heard = {
        name: [sign_in(http, name, "wrong wrong wrong") for _ in range(4)]
        for name in ("eve", "eva", "nobody", "NOT A NAME")
    }
    assert set(map(str, heard.values())) == {str(heard["eve"])}
    assert [status for status, *_ in heard["eve"]] == [401, 401, 401, 429]
    assert "retry-after" in dict(heard["eve"][3][1])
    assert sign_in(http, "eve", PASSWORD) == heard["eve"][3]  # the right one, too


def test_an_address_is_locked_that_tries_many_names(http, accounts):
    statuses = [sign_in(http, f"name{number}", "wrong")[0] for number in range(32)]
    assert statuses == [401] * 30 + [429] * 2


# Sessions and forms


@pytest.fixture
def pages(app):
    """Give the app a page, a form and a way in, as `pages` does."""

    @app.post("/in/{name}")
    async def begin(request: Request, name: str) -> Response:
        guard, reply = guard_of(request), Response()
        guard.keep(reply, (await guard.sign_in(request, name, PASSWORD)).secret)
        return reply

    @app.get("/page")
    def page(request: Request) -> dict[str, str]:
        signed = signed_in(request)
        return {"name": signed.account.name, "csrf": signed.csrf}

    @app.post("/form")
    async def form(request: Request) -> str:
        check_csrf(request, await request.form())
        return "done"

    return app


def test_a_session_is_a_cookie_that_scripts_and_other_sites_cannot_use(pages, accounts):
    accounts.add("eve", "researcher", actor="test", password=PASSWORD)
    with TestClient(pages) as http:
        cookie = http.post("/in/eve").headers["set-cookie"]
        assert cookie.startswith("session=")
        for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=28800"):
            assert part in cookie
        assert http.get("/page").json()["name"] == "eve"
    with TestClient(pages, cookies={"session": "none"}) as other:
        assert other.get("/page").status_code == 401


def test_by_tls_the_cookie_is_of_this_host_only(service, accounts):
    access = service.config.access.model_copy(update={"secure_cookies": True})
    guard = security.Guard(accounts, access)
    reply = Response()
    guard.keep(reply, "secret")
    assert reply.headers["set-cookie"].startswith("__Host-session=secret")
    assert "Secure" in reply.headers["set-cookie"]
    guard.forget(reply)
    assert "Max-Age=0" in reply.headers.getlist("set-cookie")[1]


def test_a_form_counts_with_the_csrf_token_of_its_session_only(pages, accounts):
    for name in ("eve", "eva"):
        accounts.add(name, "researcher", actor="test", password=PASSWORD)
    with TestClient(pages) as eve, TestClient(pages) as eva:
        eve.post("/in/eve"), eva.post("/in/eva")
        own, other = eve.get("/page").json()["csrf"], eva.get("/page").json()["csrf"]
        for form in ({}, {"csrf": ""}, {"csrf": other}, {"csrf": "é"}, {"csrf": own + "x"}):
            assert eve.post("/form", data=form).status_code == 403, form
        assert eve.post("/form", data={"csrf": own}).status_code == 200


def test_a_token_is_no_session_and_a_session_no_token(pages, accounts, http):
    problems(http.get("/page"), 401)
    accounts.add("eve", "researcher", actor="test", password=PASSWORD)
    with TestClient(pages) as eve:
        eve.post("/in/eve")
        secret = eve.cookies["session"]
        assert eve.get("/api/v1/me").status_code == 401
        header = {"Authorization": f"Bearer {secret}"}
        assert eve.get("/api/v1/me", headers=header).status_code == 401


def test_an_app_without_a_session_says_so(pages):
    with TestClient(pages) as http:
        assert http.post("/form", data={"csrf": ""}).status_code == 401
