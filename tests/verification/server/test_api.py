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
        assert (dry.epsilon, dry.is_charged) == (1.0, False)
        assert [b.spent for b in ada.budgets("panel")] == [0.0, 0.0]
        found = ada.answer("panel", GAP, analysis="gap")
        assert found.charged == 1.0
        assert found.words
        bob = Client("http://testserver", token("bob"), http=http)
        assert not bob.dry_run("panel", GAP).is_charged  # what ada asked is not told
        again = bob.answer("panel", {**GAP, "epsilon": 1}, analysis="gap")
        assert bob.dry_run("panel", GAP).is_charged
        assert (again.charged, again.content) == (0.0, found.content)
        assert [b.spent for b in ada.budgets("panel")] == [1.0, 1.0, 1.0]
        assert [one.id for one in ada.submissions("panel")] == [found.id]
