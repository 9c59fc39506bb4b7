"""T17: every operation of the OpenAPI document, by every role, on own, others' and absent objects.

The table of operations below must name exactly those of the document, so a new operation cannot be
forgotten.
"""

from unittest.mock import patch

import pytest
from fastapi.testclient import TestClient
from panel_server import Idle
from replay_trials import GAP

from synthesizer.extensions.verification.server import security
from synthesizer.extensions.verification.server import service as steps
from synthesizer.extensions.verification.server.app import create_app
from synthesizer.extensions.verification.server.service import Service

EVERYBODY = {"ada", "bob", "sam", "root"}
STEWARDS = {"sam", "root"}
QUERY = {"query": GAP}
OPERATIONS = {  # who may, and with which body
    "read_me": (EVERYBODY, None),
    "list_own_tokens": (EVERYBODY, None),
    "revoke_own_token": ({"bob"}, None),
    "list_datasets": (EVERYBODY, None),
    "read_schema": (EVERYBODY, None),
    "list_projects": (EVERYBODY, None),
    "begin_dry_run": (EVERYBODY, QUERY),
    "read_dry_run": (EVERYBODY, None),
    "submit": ({"ada", "bob"}, {**QUERY, "project": "gap"}),
    "list_submissions": (EVERYBODY, None),
    "read_submission": ({"ada", "sam", "root"}, None),  # ada's; bob's reply is that of none
}
ABSENT = {
    "dataset": "none",
    "digest": "0" * 64,
    "submission": "0" * 32,
    "token": "99",
}
ROLES = {"ada": "researcher", "bob": "researcher", "sam": "steward", "root": "admin"}


@pytest.fixture
def world(service, accounts, work):
    """Return an app with a submission of ada's, the tokens of all, and names of what is there."""
    people = {name: accounts.add(name, role, actor="test") for name, role in ROLES.items()}
    tokens = {name: accounts.new_token(one, "test", actor="test") for name, one in people.items()}
    service.projects.make(people["sam"], "gap", "panel", ["ada", "bob"], questions=9)
    made = service.submit(people["ada"], "panel", GAP, project="gap")
    work(service)
    there = {
        "dataset": "panel", "digest": made.digest, "submission": made.id,
        "token": str(accounts.tokens(people["bob"])[0].id),
    }  # fmt: skip
    return create_app(service, accounts, dispatcher=Idle), tokens, there


def operations(app):
    document = app.openapi()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield operation["operationId"], method.upper(), path, operation


def ask(http, operation, method, path, token, values):
    body = OPERATIONS[operation][1]
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    for key, value in values.items():
        path = path.replace(f"{{{key}}}", value)
    reply = http.request(method, path, headers=headers, json=body)
    return reply.status_code, sorted(reply.headers.items()), reply.content


def faults(world):
    """Yield each fault: an account gets what is not its own, or learns that it exists."""
    app, tokens, there = world
    with TestClient(app) as http:
        for operation, method, path, _ in operations(app):
            named = {key for key in ABSENT if f"{{{key}}}" in path}
            for who in (None, "nonsense"):
                status = ask(http, operation, method, path, who, there)[0]
                if status != 401:
                    yield f"{operation}: somebody without a token"
            if operation == "revoke_own_token":
                continue  # they end those that are used here
            for who, token in tokens.items():
                status, *reply = ask(http, operation, method, path, token, there)
                absent, *none = ask(http, operation, method, path, token, {**there, **{
                    key: ABSENT[key] for key in named}})  # fmt: skip
                if who in OPERATIONS[operation][0]:
                    if status >= 300:
                        yield f"{operation}: {who} gets {status}"
                    if named and absent != 404:
                        yield f"{operation}: {who} gets {absent} for what is not there"
                elif (status, reply) != (absent, none) or status not in (403, 404):
                    yield f"{operation}: {who} gets {status}, and {absent} for what is not there"


def test_each_role_does_what_is_its_own_and_learns_nothing_else(world):
    assert sorted(name for name, *_ in operations(world[0])) == sorted(OPERATIONS)
    assert list(faults(world)) == []


def test_the_matrix_sees_a_missing_check_of_the_owner_and_of_the_role(world):
    def unchecked(self, store, account, submission):
        rows = steps._all_submissions().where(steps.SUBMISSION.c.id == submission)
        if (row := store.execute(rows).first()) is None:
            raise steps.RequestError("there is no such query of yours; your list has them", 404)
        return row

    with patch.object(Service, "_row", unchecked):
        assert [one for one in faults(world) if one.startswith("read_submission: bob")]
    with patch.object(security, "require", lambda account, *roles: None):
        assert [one for one in faults(world) if one.startswith("submit: ")]


def test_a_token_is_revoked_by_its_owner(world):
    app, tokens, there = world
    with TestClient(app) as http:

        def end(who, token):
            headers = {"Authorization": f"Bearer {tokens[who]}"}
            return http.delete(f"/api/v1/tokens/{token}", headers=headers)

        for who in ("ada", "sam"):
            others, none = end(who, there["token"]), end(who, ABSENT["token"])
            assert (others.status_code, others.content) == (404, none.content)
        assert end("bob", there["token"]).status_code == 204
        assert end("bob", there["token"]).status_code == 401


def test_every_operation_describes_its_replies(world):
    """The document is what clients are written from."""
    for name, method, _, operation in operations(world[0]):
        assert operation["description"], name
        assert "security" in operation, name
        replies = operation["responses"]
        assert {"400", "401", "413", "422", "429", "503"} < {*replies}, name
        assert ("415" in replies) == (method in ("POST", "PUT", "PATCH")), name
        for status, reply in replies.items():
            if status != "204":
                kind = "application/json" if status < "300" else "application/problem+json"
                assert reply["content"][kind]["schema"], name
                assert reply["description"], name


JSON = {"Content-Type": "application/json"}
SENT = (  # parameters, body, headers
    ({}, b"", {}),
    ({"x": "\0"}, b"", {}),
    ({}, b"x" * 70_000, {}),
    ({}, b"{", JSON),
    ({}, b"[]", JSON),
    ({}, b"{}", {"Content-Type": "text/plain"}),
)


def strange_requests(there):
    """Yield what is put into a path, and what is sent with it."""
    for sent in SENT:
        yield there, sent
    for text in ("%00", "x", "1" * 30):
        yield dict.fromkeys(there, text), SENT[0]
    yield ABSENT, SENT[0]


def test_every_status_is_one_of_the_document(world):
    app, tokens, there = world
    del tokens["bob"]  # of whom a token is revoked
    seen = set()
    with TestClient(app, raise_server_exceptions=False) as http:
        for name, method, path, operation in operations(app):
            for who, token in (("anonymous", ""), *tokens.items()):
                for values, (params, body, headers) in strange_requests(there):
                    filled = path
                    for key, value in values.items():
                        filled = filled.replace(f"{{{key}}}", value)
                    headers = {**headers, "Authorization": f"Bearer {token}"}
                    status = http.request(
                        method, filled, params=params, content=body, headers=headers
                    ).status_code
                    if who in ROLES and who not in OPERATIONS[name][0] and body in (b"{", b"[]"):
                        assert status in (403, 404)  # the role is looked at before the body
                    assert str(status) in operation["responses"], (name, who, filled, params, body)
                    seen.add(status)
    assert {400, 401, 403, 404, 413, 415, 422} <= seen
