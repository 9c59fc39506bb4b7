"""The client against servers of a few lines; the whole path is in server/test_api.py."""

import json

import httpx2
import pytest

from synthesizer.extensions.verification.client import MAX_POLL_SECONDS, Client
from synthesizer.extensions.verification.messages import RequestError

DRY_RUN = {
    "dataset": "d", "digest": "0" * 64, "query": {}, "state": "waiting", "problems": [],
    "outlook": None, "words": [], "chosen": None, "epsilon": None, "questions": None,
    "is_charged": False, "content": None, "page": None,
}  # fmt: skip
SUBMISSION = {
    "id": "a" * 32, "user": "ada", "dataset": "d", "project": "x", "digest": "0" * 64,
    "query": {}, "state": "waiting", "problems": [], "charged": 1.0, "questions": 1,
    "asked": "2026-01-02T03:04:05Z", "due": "2026-01-02T03:05:00Z", "content": None, "page": None,
}  # fmt: skip


def problem(status, *problems, headers=None):
    content = {"title": "x", "status": status, "problems": problems}
    return httpx2.Response(status, json=content, headers=headers)


@pytest.fixture
def client():
    """Return a function that makes a client of replies, with what it sent and its pauses."""

    def client(*replies):
        pending, sent, pauses = list(replies), [], []

        def server(request):
            sent.append(request)
            reply = pending.pop(0)
            if isinstance(reply, Exception):
                raise reply
            return reply if isinstance(reply, httpx2.Response) else httpx2.Response(200, json=reply)

        http = httpx2.Client(transport=httpx2.MockTransport(server))
        return Client("https://host/", "secret", http=http, pause=pauses.append), sent, pauses

    return client


def test_a_dry_run_is_waited_for_with_longer_and_longer_pauses(client):
    done = {**DRY_RUN, "state": "done", "epsilon": 0.5, "content": {"answer": {}}}
    asking, sent, pauses = client(*[DRY_RUN] * 8, done)
    assert asking.dry_run("d", {"epsilon": 0.5}).epsilon == 0.5
    assert json.loads(sent[0].content) == {"query": {"epsilon": 0.5}}
    assert str(sent[1].url) == f"https://host/api/v1/datasets/d/dry-runs/{'0' * 64}"
    assert sent[1].headers["authorization"] == "Bearer secret"
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, MAX_POLL_SECONDS, MAX_POLL_SECONDS]


def test_a_wait_that_is_too_long_ends_with_advice_to_ask_again(client):
    asking, _, pauses = client(*[SUBMISSION] * 9)
    with pytest.raises(RequestError, match="ask again") as caught:
        asking.wait("a" * 32, seconds=1.0)
    assert caught.value.status == 0
    assert sum(pauses) >= 1.0


@pytest.mark.parametrize(
    ("way", "reply"),
    [
        (lambda one: one.dry_run("d", {}), {**DRY_RUN, "state": "refused", "problems": ["p", "q"]}),
        (lambda one: one.wait("a"), {**SUBMISSION, "state": "refused", "problems": ["p", "q"]}),
        (lambda one: one.submit("d", {}, project="x"), problem(422, "p", "q")),
    ],
)
def test_a_refusal_is_an_error_with_its_problems(client, way, reply):
    asking, *_ = client(reply)
    with pytest.raises(RequestError) as caught:
        way(asking)
    assert caught.value.problems == ("p", "q")
    assert caught.value.status == 422


def test_a_busy_server_is_asked_again_after_the_pause_that_it_names(client):
    asking, sent, pauses = client(
        problem(429, "busy", headers={"Retry-After": "7"}), problem(503, "busy"), [],
    )  # fmt: skip
    assert asking.datasets() == []
    assert (len(sent), pauses) == (3, [7.0, 5.0])
    asking, sent, _ = client(*[problem(429, "busy")] * 9)
    with pytest.raises(RequestError, match="busy"):
        asking.datasets()
    assert len(sent) == 5


@pytest.mark.parametrize("pause", ["soon", "-5", "999999"])
def test_a_pause_that_is_none_is_not_slept(client, pause):
    asking, _, pauses = client(problem(429, "busy", headers={"Retry-After": pause}), [])
    assert asking.datasets() == []
    assert 0 <= pauses[0] <= 60


def test_what_is_no_reply_of_the_server_is_refused_with_its_status(client):
    asking, *_ = client(httpx2.Response(502, text="<html>proxy"))
    with pytest.raises(RequestError, match="host replied 502") as caught:
        asking.projects()
    assert caught.value.status == 502
    asking, *_ = client(httpx2.Response(200, text="<html>welcome"))
    with pytest.raises(RequestError, match="no verification server"):
        asking.datasets()
    asking, *_ = client(httpx2.ConnectError("secret address"))
    with pytest.raises(RequestError, match="cannot be reached") as caught:
        asking.datasets()
    assert caught.value.status == 0


def test_a_long_list_comes_in_parts(client):
    asking, sent, _ = client(
        {"items": [SUBMISSION, SUBMISSION], "next": "a" * 32}, {"items": [SUBMISSION], "next": None}
    )
    assert len(list(asking.submissions("d"))) == 3
    assert dict(sent[1].url.params) == {"dataset": "d", "before": "a" * 32}


def test_names_are_parts_of_paths_and_nothing_else(client):
    asking, sent, _ = client({})
    asking.public_schema("../steward?x=")
    assert sent[0].url.raw_path == b"/api/v1/datasets/..%2Fsteward%3Fx%3D/schema"
