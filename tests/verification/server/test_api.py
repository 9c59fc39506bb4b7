"""The API over HTTP: the whole path of a question, steps of stewards, errors without echo."""

import pytest
from fastapi.testclient import TestClient
from replay_trials import GAP

from synthesizer.verification.client import Client


@pytest.fixture
def token(accounts):
    """Return a function that makes an account of a role and returns its token."""

    def token(name, role="researcher"):
        account = accounts.add(name, role, actor="test")
        return accounts.new_token(account, "test", actor="test")

    return token


def test_a_question_goes_its_way_over_http(app, token):
    with TestClient(app) as http, Client("http://testserver", token("ada"), http=http) as ada:
        (info,) = ada.datasets()
        assert info.name == "panel"
        assert "pay" in ada.public_schema("panel")["variables"]
        dry = ada.dry_run("panel", GAP)
        assert (dry.epsilon, dry.questions, dry.is_charged) == (1.0, 1, False)
        bob = Client("http://testserver", token("bob"), http=http)
        steward = {"Authorization": f"Bearer {token('sam', 'steward')}"}
        body = {"name": "gap", "dataset": "panel", "members": ["ada", "bob"], "budget": 3.5}
        made = http.post("/api/v1/steward/projects", json=body, headers=steward).json()
        assert (made["questions"], made["left"]) == (3, 3)
        assert [one.left for one in ada.projects()] == [3]
        found = ada.answer("panel", GAP, project="gap")
        assert (found.charged, found.questions) == (1.0, 1)
        assert found.words
        assert not bob.dry_run("panel", GAP).is_charged  # what ada asked is not told
        again = bob.answer("panel", {**GAP, "epsilon": 1}, project="gap")
        assert bob.dry_run("panel", GAP).is_charged
        assert (again.charged, again.questions, again.content) == (0.0, 0, found.content)
        assert [(one.used, one.left) for one in bob.projects()] == [(1, 2)]
        assert [one.id for one in ada.submissions("panel")] == [found.id]
        place = "/api/v1/steward/datasets/panel/budget"
        assert http.get(place, headers=steward).json() == {"cap": 3.0, "spent": 1.0, "left": 2.0}
