"""A small panel of pay: public schema, synthetic file, confidential file and its ledger."""

import pytest
from replay_trials import SCHEMA, people

from synthesizer.verification.public_schema import PublicSchema, strictly
from synthesizer.verification.verify import begin_ledger


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
