"""Fuzz the verification server: hostile bodies, and schemathesis on its OpenAPI document.

A server about a small panel answers in this process, without its dispatcher. Bodies go to the
operations that take one, with the token of who may; forms and paths to the pages. What must not
happen: a status of 500 or more, a traceback, an answer without a charge, what was sent outside of a
query in a reply of the API, markup in a page.
"""

from __future__ import annotations

import copy
import json
import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient
from measuring import Row, Rows, job
from panel_server import ROLES, Idle, database_url, panel_content, service_of, with_tokens
from replay_trials import GAP, QUESTIONS

from synthesizer.extensions.verification.questions import (
    LEAST_EPSILON,
    LEAST_PARTITIONS,
    MOST_EPSILON,
    MOST_PARTITIONS,
)
from synthesizer.extensions.verification.server.accounts import Accounts
from synthesizer.extensions.verification.server.app import create_app
from synthesizer.extensions.verification.server.security import csrf_of

CANARY = "zqCANARY7"
"""Stands in bodies outside of queries, and must never come back."""
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 10**29, -(10**29), 2**63, 1e308, -1e308, 5e-324, 0.0, -0.0, 1e-9,
    0.0009999, 0.001, 100, 100.0000001, 9, 10, 500, 501, 49.5, "", "0", "1e999", "NaN", CANARY,
    "<script>alert(1)</script>", "'; DROP TABLE budget; --", "{{7*7}}", "../../etc/passwd",
    "\u202e", "\ud83d\ude00", "é" * 50, "(" * 300, "~" * 300, "a ~ " + "b + " * 500 + "c",
    "pay ~ I(__import__('os').system('id'))", "pay ~ age ** 99 ** 99", "sex == 'M' and " * 200,
    [], {}, [[]], [None] * 100, {"": ""}, {CANARY: CANARY}, [CANARY],
)  # fmt: skip
TEXTS: tuple[bytes, ...] = (
    b"", b"{", b"null", b"NaN", b"Infinity", b"-Infinity", b"1e999", b'"', b"\xff\xfe", b"\0",
    b"[" * 60_000, b'{"a":' * 10_000, b"9" * 60_000, b'"' + b"a" * 60_000 + b'"', b"[1,]",
    b'{"query":{},"query":{}}', b'{"query":{"epsilon":NaN}}', b'{"query":"\\ud800"}',
    b'{"query":{"epsilon":1e999}}', b'{"name":"\\u0000"}', b"\xef\xbb\xbf{}", b"{}" * 10,
    b"x" * 70_000,
)  # fmt: skip
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance,unsupported_method,ignored_auth,"
    "allow_header_conformance,negative_data_rejection"
)
"""Of schemathesis."""
CLAIM = {"formula": GAP["formula"], "ask": {**GAP["ask"], "measure": "claim"}}
QUERIES = [CLAIM, *({**GAP, **changes} for changes in QUESTIONS.values())]
BODIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "begin_dry_run": ("POST", "/datasets/panel/dry-runs", {}),
    "submit": ("POST", "/datasets/panel/queries", {"project": "gap"}),
}  # fmt: skip
"""Operations that take a body, with one that they take."""


MARKUP = "<script>alert(1)</script>"
WORDS = (
    "", "0", "-1", "1e999", "nan", "9" * 40, "a\0b", "\udc80", "\\udc80", "é" * 300, MARKUP, CANARY,
    "../..", "%00", "\u202e", "{{7*7}}", "'; --", "yes", "panel", "bob", "interval", "counts",
    "more", "yaml", "coefficients", "form", "dry-run", "close", "numbers", "gap", "admin",
    "0" * 32, "0" * 64, "[" * 5_000, "a: " * 3_000, "&a [*a, *a]", "? " * 3_000, "a: &a [x]\n" * 50,
    "!!python/object:os.system x", "x: &x [" + "&y [1], *y, " * 500 + "]", json.dumps(GAP),
    "- " * 5_000, "2026-01-02",
)  # fmt: skip
"""Values of fields of forms and parts of paths."""
FORMS: dict[str, dict[str, str]] = {
    "/sign-in": {"token": CANARY, "then": "/queries"},
    "/tokens": {"label": "laptop", "days": "9"},
    "/tokens/999/revoke": {},
    "/datasets/panel/ask/interval": {
        "formula": GAP["formula"], "epsilon": "1", "partitions": "10", "step": "dry-run",
        "ask.coefficient": "sex[F]", "ask.below": "-0.05",
    },
    "/datasets/panel/ask/claim": {
        "formula": GAP["formula"], "step": "dry-run", "ask.coefficient": "sex[F]",
        "ask.below": "-0.05", "numbers": "",
    },
    "/datasets/panel/ask/trend": {
        "formula": "pay ~ sex", "step": "dry-run", "ask.coefficient": "sex[F]", "ask.over": "year",
        "ask.periods": "2000 to 2003 between -1 and 1",
    },
    "/datasets/panel/dry-runs/" + "0" * 64: {"project": "gap", "agreed": "yes"},
    "/steward/datasets/panel/cap": {"cap": "100"},
    "/steward/datasets/panel/pause": {"pause": "no"},
    "/steward/projects": {
        "name": "new", "dataset": "panel", "questions": "9", "budget": "", "members": "ada bob",
    },
    "/steward/projects/gap": {"questions": "9000", "members": "ada"},
    "/steward/accounts": {"name": "new", "role": "researcher"},
    "/steward/accounts/bob": {"step": "open"},
    "/steward/accounts/bob/tokens": {"label": "laptop", "days": "9"},
    "/steward/accounts/bob/tokens/999/revoke": {},
}  # fmt: skip
"""Forms of the pages, with what is typed into them."""
PATHS = (
    "/", "/sign-in", "/static/{}", "/datasets/{}", "/datasets/panel/ask/{}", "/queries/{}",
    "/datasets/panel/dry-runs/{}", "/datasets/{}/dry-runs/{}/edit", "/queries/{}/answer.json",
    "/queries?before={}&dataset={}", "/datasets?find={}", "/steward/queries?before={}",
    "/steward/audit?before={}&check={}&dataset={}", "/steward/accounts/{}", "/{}/{}",
    "/api/v1/queries/{}", "/api/v1/queries?limit={}&before={}&dataset={}", "/sign-in?then={}",
    "/api/v1/datasets/{}/dry-runs/{}",
)  # fmt: skip


def hostile_path(rng: random.Random) -> str:
    """Return a path with parts that no page links to."""
    path = rng.choice(PATHS)
    return path.format(*(_quoted(rng.choice(WORDS)) for _ in range(path.count("{}"))))


def _quoted(word: str) -> str:
    return quote(word[:1_000], safe="", errors="surrogateescape")


def hostile_form(fields: dict[str, str], csrf: str, rng: random.Random) -> tuple[str, bytes]:
    """Return type and body of a form with some of its values replaced; at times in parts."""
    typed = {**fields, "csrf": csrf}
    for key in [*fields, rng.choice(("ask.by", "subset", "x", "step", "ask"))]:
        if rng.random() < 0.5:
            typed[key] = rng.choice(WORDS)
    if rng.random() < 0.8:
        body = "&".join(f"{_quoted(key)}={_quoted(value)}" for key, value in typed.items())
        return "application/x-www-form-urlencoded", body.encode()
    charset = rng.choice(("utf-8", "unicode_escape", "utf-16", "none", "idna"))
    parts = [
        f'--B\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
        for key, value in typed.items()
    ]
    if rng.random() < 0.2:
        parts.append('--B\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\nx\r\n')
    body = "".join([*parts, "--B--\r\n" if rng.random() < 0.9 else ""])
    kind = f"multipart/form-data; boundary=B; charset={charset}"
    return kind, body.encode(errors="surrogateescape")


def changed(body: Any, rng: random.Random) -> Any:
    """Return a body with some of its values, keys and elements replaced, added or taken out."""
    body = copy.deepcopy(body)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 6))):
        container = rng.choice(list(_containers(body)))
        keys = list(container) if isinstance(container, dict) else list(range(len(container)))
        action = rng.random()
        if action < 0.15 and isinstance(container, dict):
            key = rng.choice((CANARY, "epsilon", "", "__proto__", "id"))
            container[key] = copy.deepcopy(rng.choice(VALUES))
        elif keys and action < 0.3:
            container.pop(rng.choice(keys))
        elif keys:
            container[rng.choice(keys)] = copy.deepcopy(rng.choice(VALUES))
    return body


def _containers(body: Any) -> Iterator[Any]:
    """Yield the objects and arrays of a body, from the outermost."""
    yield body
    for value in list(body.values()) if isinstance(body, dict) else body:
        if isinstance(value, (dict, list)):
            yield from _containers(value)


def hostile_body(operation: str, rng: random.Random) -> bytes:
    """Return a body for an operation: mostly nearly right, at times no JSON at all."""
    if rng.random() < 0.1:
        return rng.choice(TEXTS)
    body = {**BODIES[operation][2], "query": copy.deepcopy(rng.choice(QUERIES))}
    text = json.dumps(changed(body, rng)).encode()
    if rng.random() < 0.1:
        position = rng.randrange(len(text))
        text = text[:position] + bytes([rng.randrange(256)]) + text[position + rng.randrange(3) :]
    return text


def faults_of(body: bytes, status: int, reply: bytes) -> Iterator[str]:
    """Yield what is wrong with a reply."""
    if status >= 500:
        yield f"status {status}"
    if b"Traceback" in reply or b".py" in reply:
        yield "a traceback"
    if status >= 400 and CANARY.encode() in reply and not _is_named(body):
        yield "what was sent comes back"
    if status == 202:
        yield from _free(body)


def _is_named(body: bytes) -> bool:
    """Return whether the canary is a name in a query or of a member, which problems name."""
    try:
        sent = json.loads(body)
        return CANARY in json.dumps([sent.get("query"), sent.get("members")])
    except (ValueError, AttributeError, RecursionError):
        return False


def _free(body: bytes) -> Iterator[str]:
    """Yield that a query was taken whose price or size is beyond the limits."""
    query = json.loads(body)["query"]
    given = {"epsilon": 1.0, "partitions": 50} | {k: v for k, v in query.items() if v is not None}
    epsilon, partitions = given["epsilon"], given["partitions"]
    for value, least, most in (
        (epsilon, LEAST_EPSILON, MOST_EPSILON),
        (partitions, LEAST_PARTITIONS, MOST_PARTITIONS),
    ):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not least <= value <= most:  # NaN is not within, either
            yield "a query beyond the limits was taken"


@contextmanager
def small_server(
    folder: Path, *, requests: int, database: str = ""
) -> Iterator[tuple[FastAPI, dict[str, str]]]:
    """Yield the app of a server about a small panel, and tokens of ada, bob, sam (steward), root.

    Parameters
    ----------
    folder : Path
        Empty.
    requests : int
        Requests per minute that an account may send.
    database : str
        Its URL; a SQLite file in the folder where empty.
    """
    access = {"secure_cookies": False, "requests_per_minute": requests}
    named: dict[str, Any] = {"database": database} if database else {}
    service = service_of(panel_content(folder, cap=100.0, access=access, **named))
    accounts = Accounts(service.engine)
    tokens = with_tokens(service, accounts, 9_000, {**ROLES, "root": "admin"})
    yield create_app(service, accounts, dispatcher=Idle), tokens  # type: ignore[arg-type]
    service.engine.dispose()


def browse(http: TestClient, tokens: dict[str, str], rng: random.Random) -> tuple[str, int, bytes]:
    """Ask for a path or send a form of the pages as a steward or a researcher, both signed in."""
    guard = http.app.state.guard  # type: ignore[attr-defined]
    who = rng.choice(("ada", "sam"))
    session = guard.accounts.sign_in(tokens[who])
    http.cookies.set(guard.cookie, session)
    headers = {"Authorization": f"Bearer {tokens[who]}"}
    if rng.random() < 0.4:
        path = hostile_path(rng)
        reply = http.get(path, headers=headers, follow_redirects=False)
    else:
        path = rng.choice(list(FORMS))
        kind, body = hostile_form(FORMS[path], csrf_of(session), rng)
        headers["Content-Type"] = kind
        reply = http.post(path, content=body, headers=headers, follow_redirects=False)
    http.cookies.clear()
    return path, reply.status_code, reply.content


def faults_of_page(status: int, reply: bytes) -> Iterator[str]:
    """Yield what is wrong with a page, on which what was typed may stand, as text."""
    if status >= 500:
        yield f"status {status}"
    if b"Traceback" in reply:
        yield "a traceback"
    if MARKUP.encode() in reply and not reply.startswith(b"{"):
        yield "markup comes back as markup"


def send(
    http: TestClient, tokens: dict[str, str], operation: str, body: bytes
) -> tuple[int, bytes]:
    """Send a body to an operation as who may, and return status and reply."""
    method, path, _ = BODIES[operation]
    headers = {"Authorization": f"Bearer {tokens['ada']}", "Content-Type": "application/json"}
    reply = http.request(method, f"/api/v1{path}", content=body, headers=headers)
    return reply.status_code, reply.content


def fuzz(bodies: int, seed: int, database: str = "") -> dict[str, Any]:
    """Send hostile bodies; return how many replies of each status there were."""
    rng, statuses, faults = random.Random(seed), Counter[int](), []  # noqa: S311 - bodies
    with (
        TemporaryDirectory() as folder,
        small_server(Path(folder), requests=10**9, database=database) as (app, tokens),
        TestClient(app, raise_server_exceptions=False) as http,
    ):
        for number in range(bodies):
            if rng.random() < 0.4:
                path, status, reply = browse(http, tokens, rng)
                statuses[status] += 1
                for fault in faults_of_page(status, reply):
                    faults.append(f"{number} {path}: {fault}: {reply[:300]!r}")
                continue
            operation = rng.choice(list(BODIES))
            body = hostile_body(operation, rng)
            status, reply = send(http, tokens, operation, body)
            statuses[status] += 1
            for fault in faults_of(body, status, reply):
                faults.append(f"{number} {operation}: {fault}: {body[:300]!r} -> {reply[:300]!r}")
    return {"bodies": bodies, "statuses": dict(sorted(statuses.items())), "faults": faults}


@job(number=100)
def bodies(number: int = 10_000, seed: int = 1, postgresql: bool = False) -> Rows:
    """Send hostile bodies, forms and paths, on SQLite or on a PostgreSQL of its own."""
    with (
        TemporaryDirectory() as folder,
        database_url(Path(folder), is_postgresql=postgresql) as database,
    ):
        results = fuzz(number, seed, database)
    for status, n in results["statuses"].items():
        yield Row("replies", f"status {status}", n)
    for fault in results["faults"]:
        yield Row("fault", fault, 1, holds=False)
    yield Row(f"{number:,} bodies", "faults", len(results["faults"]), holds=not results["faults"])


@job(program="schemathesis", examples=5)
def schemathesis(program: str, examples: int = 200, seed: int = 1) -> Rows:
    """Let schemathesis ask every operation over a socket, as each role and without a token.

    ``program`` is that of an environment of its own, since it pins what the server uses:
    ``python -m venv other && other/bin/pip install 'schemathesis>=4.32,<5'``.
    """
    with (
        TemporaryDirectory() as folder,
        small_server(Path(folder), requests=10**9) as (app, tokens),
    ):
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.05)
        url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        try:
            for who in ("ada", "sam", "root", "none"):
                bearer = f"Authorization: Bearer {tokens.get(who, 'none')}"
                command = [
                    program, "run", f"{url}/api/v1/openapi.json", "--url", url,
                    "--header", bearer, "--checks", CHECKS,
                    "--max-examples", str(examples), "--seed", str(seed), "--continue-on-failure",
                    "--exclude-operation-id", "revoke_own_token",  # would end its own token
                ]  # fmt: skip
                code = subprocess.run(command, check=False).returncode
                yield Row(who, "exit code of schemathesis", code, holds=not code)
        finally:
            server.should_exit = True
            thread.join()
