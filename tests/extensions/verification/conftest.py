"""A small panel of pay: public schema, synthetic file, confidential file and its ledger."""

import pytest
from panel_server import MISSING, programs, running
from replay_trials import SCHEMA, people

from synthesizer.extensions.verification.database import connect
from synthesizer.extensions.verification.public_schema import PublicSchema, strictly
from synthesizer.extensions.verification.verify import begin_ledger


@pytest.fixture(scope="session")
def schema():
    return strictly(PublicSchema, SCHEMA)


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Return the paths of a confidential and of a synthetic file."""
    folder = tmp_path_factory.mktemp("files")
    people(400, seed=1).to_csv(folder / "confidential.csv", index=False)
    people(400, seed=2).to_csv(folder / "synthetic.csv", index=False)
    return folder / "confidential.csv", folder / "synthetic.csv"


@pytest.fixture
def ledger(tmp_path, files, schema):
    path = tmp_path / "ledger.sqlite"
    begin_ledger(path, confidential=files[0], schema=schema, cap=3.0)
    return path


@pytest.fixture(scope="session")
def postgresql():
    """Return a running PostgreSQL, in which each test makes a database of its own."""
    if programs() is None:
        pytest.skip(MISSING)
    with running() as cluster:
        yield cluster


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """Return the URL of an empty database, of either kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/server.sqlite"
        return
    with request.getfixturevalue("postgresql").database() as url:
        yield url


@pytest.fixture
def database(url):
    """Return a database with all tables of the server, of either kind."""
    from synthesizer.extensions.verification.server.server_tables import create_tables

    engine = connect(url)
    create_tables(engine)
    yield engine
    engine.dispose()
