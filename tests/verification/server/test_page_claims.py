"""Claims are told apart by pages alone: a small version of job `page_claims.pages`."""

import pytest
from fastapi.testclient import TestClient
from page_claims import Claim, Visitor, trial
from replay_trials import Exact, people

from synthesizer.verification.server import runner

PAY = "I(log(pay)) ~ sex + age"
CLAIMS = (
    Claim("women earn less", PAY, "sex[F]", below="0"),
    Claim("women earn half as much", PAY, "sex[F]", below="-0.69"),
    Claim("women earn more", PAY, "sex[F]", above="0"),
)
"""Women earn less by 0.25 of the log, and more by as much in the synthetic data."""


@pytest.fixture
def visitor(config, tmp_path, request, monkeypatch):
    """Return who is signed in; no group disagrees, and the noise is 0: nothing is left to luck."""
    for noise in ("OpenDP", "DryNoise"):
        monkeypatch.setattr(runner, noise, Exact)
    paths = {"confidential": tmp_path / "here.csv", "synthetic": tmp_path / "there.csv"}
    for (key, path), gap in zip(paths.items(), (-0.25, 0.25), strict=True):
        people(2_000, seed=len(key), gap=gap).to_csv(path, index=False)
    config.datasets["panel"] = config.datasets["panel"].model_copy(update=paths)
    app, accounts = request.getfixturevalue("app"), request.getfixturevalue("accounts")
    service = request.getfixturevalue("service")
    for name, role in (("ada", "researcher"), ("sam", "steward")):
        accounts.add(name, role, actor="test")
    service.projects.make(accounts.named("sam"), "gap", "panel", ["ada"], questions=9)
    token = accounts.new_token(accounts.named("ada"), "test", actor="test")
    with TestClient(app) as http:
        visitor = Visitor(http, pause=0.05)
        visitor.sign_in(token)
        yield visitor


def test_right_claims_and_wrong_ones_are_told_apart(visitor):
    assert [[*one] for one in trial(visitor, ["panel"], CLAIMS)] == [
        ["holds"],
        ["fails"],
        ["fails"],
    ]


def test_the_synthetic_data_alone_would_mislead(visitor):
    """Control: who takes the dry run for the answer believes what only the synthetic data say."""
    page = visitor.wait(visitor.try_out("panel", CLAIMS[2]), "Nothing here comes from")
    assert "the answer would be: Yes:" in page.text
