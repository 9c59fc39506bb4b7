"""The API over HTTP: the whole path of a question, by the client."""

import pytest
from fastapi.testclient import TestClient
from replay_trials import GAP

from synthesizer.extensions.verification.client import Client


@pytest.fixture
def token(accounts):
    """Return a function that makes a researcher's account and returns its token."""

    def token(name):
        account = accounts.add(name, "researcher", actor="test")
        return accounts.new_token(account, "test", actor="test")

    return token


def test_a_question_goes_its_way_over_http(app, service, sam, token):
    with TestClient(app) as http, Client("http://testserver", token("ada"), http=http) as ada:
        (info,) = ada.datasets()
        assert info.name == "panel"
        assert "pay" in ada.public_schema("panel")["variables"]
        dry = ada.dry_run("panel", GAP)
        assert (dry.epsilon, dry.questions, dry.is_charged) == (1.0, 1, False)
        bob = Client("http://testserver", token("bob"), http=http)
        service.projects.make(sam, "gap", "panel", ["ada", "bob"], budget=3.5)
        assert [one.left for one in ada.projects()] == [3]
        answer = ada.answer("panel", GAP, project="gap")
        assert (answer.charged, answer.questions) == (1.0, 1)
        assert answer.words
        assert not bob.dry_run("panel", GAP).is_charged  # what ada asked stays hidden
        again = bob.answer("panel", {**GAP, "epsilon": 1}, project="gap")
        assert bob.dry_run("panel", GAP).is_charged
        assert (again.charged, again.questions, again.content) == (0.0, 0, answer.content)
        assert [(one.used, one.left) for one in bob.projects()] == [(1, 2)]
        assert [one.id for one in ada.submissions("panel")] == [answer.id]
