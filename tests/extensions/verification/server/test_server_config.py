"""The YAML of a server: paths start at its directory, and all problems appear at once."""

import json

import pytest

from synthesizer.data.errors import ConfigError
from synthesizer.extensions.verification.server.server_config import read_server_config

DATASET = {"confidential": "c.csv", "synthetic": "s.csv", "schema": "p.yaml", "cap": 3.0}


@pytest.fixture
def read(tmp_path):
    """Return a function that writes a configuration beside its files and reads it."""

    def read(**content):
        for name in ("c.csv", "s.csv", "p.yaml"):
            (tmp_path / name).touch()
        path = tmp_path / "server.yaml"
        path.write_text(json.dumps({"datasets": {"one": DATASET}, **content}))
        return read_server_config(path)

    return read


def test_paths_are_seen_from_the_directory_of_the_yaml(read, tmp_path):
    config = read(database="sqlite:///x.sqlite", prepared="copies")
    one = config.datasets["one"]
    assert [one.confidential, one.synthetic, one.public_schema, config.prepared] == [
        tmp_path / name for name in ("c.csv", "s.csv", "p.yaml", "copies")
    ]
    assert config.database == f"sqlite:///{tmp_path}/x.sqlite"
    url = "postgresql://ada@host/name"
    assert read(database=url).database == url


@pytest.mark.parametrize(
    ("content", "keys"),
    [
        ({"datasets": {"one": DATASET, "two": DATASET}}, ["datasets.two"]),
        ({"datasets": {"one": {**DATASET, "schema": "none", "synthetic": "no"}}},
         ["datasets.one.synthetic", "datasets.one.schema"]),
        ({"database": "postgresql://ada:secret@host/name"}, ["database"]),
        ({"database": "mysql://host/name"}, ["database"]),
        ({"port": -1, "tick": 0}, ["port", "tick"]),
    ],
    ids=["two caps", "no files", "password", "other database", "numbers"],
)  # fmt: skip
def test_every_problem_is_reported_with_its_key(read, content, keys):
    with pytest.raises(ConfigError) as error:
        read(**content)
    assert len(error.value.problems) == len(keys)
    for key, problem in zip(keys, error.value.problems, strict=True):
        assert key in problem
    assert "secret" not in str(error.value)
