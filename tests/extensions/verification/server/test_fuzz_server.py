"""T10: whatever is sent, no reply is a fault of the server, and nothing is answered for nothing."""

import json
import math
import random
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fastapi.testclient import TestClient
from fuzz_server import hostile_body, send, small_server
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_trials import GAP

from synthesizer.extensions.verification.mechanisms import MICRO
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.server.dispatch import Dispatcher
from synthesizer.extensions.verification.server.runner import TaskResult
from synthesizer.extensions.verification.server.security import csrf_of

NUMBERS = st.one_of(
    st.floats(),
    st.sampled_from([0.001, math.nextafter(0.001, 0), 100.0, math.nextafter(100.0, 200.0), -1.0]),
    st.integers(-(10**12), 10**12),
    st.sampled_from([None, True, False, "1", "NaN", [], [1.0], {}]),
)


@contextmanager
def begun():
    with (
        TemporaryDirectory() as folder,
        small_server(Path(folder), requests=10**9) as (app, tokens),
        TestClient(app, raise_server_exceptions=False) as http,
    ):
        yield http, tokens, app.state.service


@pytest.fixture(scope="module")
def server():
    with begun() as begun_server:
        yield begun_server


@given(epsilons=st.lists(NUMBERS, min_size=1, max_size=8), partitions=NUMBERS)
@settings(max_examples=60, deadline=None)
def test_only_a_price_is_taken_for_a_price(server, epsilons, partitions):
    http, tokens, _ = server

    def ask(epsilon, partitions=10):
        query = {**GAP, "epsilon": epsilon, "partitions": partitions}
        body = json.dumps({"query": query, "project": "gap"}).encode()
        return send(http, tokens, "submit", body)[0]

    for epsilon in epsilons:
        is_number = isinstance(epsilon, (int, float)) and not isinstance(epsilon, bool)
        if epsilon is not None and not (is_number and 0.001 <= epsilon <= 100):
            assert ask(epsilon) >= 300
    if partitions is not None and ask(1.0, partitions) < 300:
        assert type(partitions) is int
        assert 10 <= partitions <= 500


def test_what_was_taken_is_paid():
    """After hostile bodies: who waits for an answer has paid, and the sums are right."""
    rng, prices = random.Random(7), (0.001, 0.5, 2, 0.0005)
    bodies = [hostile_body("submit", rng) for _ in range(150)]
    for epsilon in prices:
        query = {**GAP, "epsilon": epsilon}
        bodies.append(json.dumps({"query": query, "project": "gap"}).encode())

    def process(task, limits, **_):
        given = {key: value for key, value in task.query.items() if value is not None}
        return TaskResult(charge=query_of(given).micro_epsilon, chosen=task.query)

    with begun() as (http, tokens, service):
        taken = sum(send(http, tokens, "submit", body)[0] == 202 for body in bodies)
        dispatcher = Dispatcher(service, process=process)
        while dispatcher.check_next(0):
            pass
        who = {"Authorization": f"Bearer {tokens['ada']}"}
        listed = http.get("/api/v1/queries?limit=200", headers=who).json()["items"]
        spending = service.datasets["panel"].ledger.spending()
    paid = [one for one in listed if one["state"] == "waiting"]
    assert taken >= len(paid) > 3
    assert {0.001, 0.5, 2.0} <= {one["charged"] for one in paid}
    assert all(one["charged"] == (one["query"]["epsilon"] or 1) >= 0.001 for one in paid)
    assert spending.budgets[0].spent == sum(entry.epsilon for entry in spending.entries)
    assert spending.budgets[0].spent == round(sum(one["charged"] for one in paid) * MICRO)


def test_a_path_or_a_form_with_what_no_database_takes_is_refused(server):
    """PostgreSQL takes no character 0, no database half a character."""
    http, tokens, _ = server
    guard = http.app.state.guard
    who = {"Authorization": f"Bearer {tokens['ada']}"}
    for path in ("/queries/%00", "/api/v1/queries/a%00b", "/queries?before=%00", "/%00"):
        reply = http.get(path, headers=who)
        assert (reply.status_code, reply.json()["status"]) == (400, 400), path
    cookie = guard.accounts.sign_in(tokens["ada"])
    csrf = csrf_of(cookie)
    http.cookies.set(guard.cookie, cookie)
    for kind, typed in (("utf-8", "\0"), ("unicode_escape", "\\udc80"), ("unicode_escape", "\\0")):
        parts = {"csrf": csrf, "formula": typed}
        body = "".join(
            f'--B\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
            for key, value in parts.items()
        )
        headers = {"Content-Type": f"multipart/form-data; boundary=B; charset={kind}"}
        reply = http.post("/datasets/panel/ask/claim", content=body + "--B--\r\n", headers=headers)
        assert reply.status_code == 400, reply.text
    http.cookies.clear()
