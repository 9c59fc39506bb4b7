"""Queries: one statement that reads; whatever it tries, the database stays as it was."""

from pathlib import Path

import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.sources import read_sql

sqlalchemy = pytest.importorskip("sqlalchemy")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.db"
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("create table people (name text, age integer)"))
        connection.execute(sqlalchemy.text("insert into people values ('a', 3), (null, 4)"))
    engine.dispose()
    return path


READS = [
    "-- all of them\nselect name, age from people /* drop */ order by age",
    "with p as (select * from people) select * from p order by age",
    "select name, age from people where 'a delete' <> \"name\" or name is null or 1 order by age",
    "select replace(name, 'x', 'y') as name, age from people order by age",
]


@pytest.mark.parametrize("query", READS)
def test_one_statement_that_reads(file, query):
    for url in (f"sqlite:///{file}", f"sqlite:///file:{file}?uri=true"):
        raw = read_sql(url, query)
        assert raw.arrow.to_pydict() == {"name": ["a", None], "age": [3, 4]}


WRITES = [
    "select '--'; drop table people", "attach 'other.db' as other",
    "select 1 /* ; */ ; delete from people", "select '\\''; drop table people -- '",
    "with p as (select 1) delete from people", "-- select\ninsert into people values ('b', 5)",
    "select * into copy from people", "",
]  # fmt: skip


@pytest.mark.parametrize("query", WRITES)
def test_everything_else_is_refused(file, query):
    before = file.read_bytes()
    with pytest.raises(DataError, match="one SELECT or WITH statement"):
        read_sql(f"sqlite:///{file}", query)
    assert file.read_bytes() == before


def test_the_connection_only_reads(file, monkeypatch):
    """What gets past the look at the statement still changes nothing."""
    monkeypatch.setattr("synthesizer.data.sources.refuse_writing", lambda query: None)
    before = file.read_bytes()
    for url in (f"sqlite:///{file}", f"sqlite:///file:{file}?uri=true"):
        for query in ("drop table people", "delete from people returning name, age"):
            with pytest.raises(DataError, match="cannot be reached, or lacks"):
                read_sql(url, query)
    assert file.read_bytes() == before


def test_a_missing_file_is_not_created(tmp_path):
    path = tmp_path / "none.db"
    with pytest.raises(DataError, match="no such SQLite file"):
        read_sql(f"sqlite:///{path}", "select 1")
    with pytest.raises(DataError, match="cannot be reached, or lacks"):
        read_sql(f"sqlite:///file:{path}?uri=true", "select 1")
    assert not path.exists()


def test_errors_name_their_kind_and_what_is_not_there(file, monkeypatch):
    url = f"sqlite:///{file}"
    for address, query, words in (
        (url, "select * from absent", r"\(there is no absent\); check the URL"),
        (url, "select sex from people", "there is no sex"),
        (url, "select * from people where age > 9", "at least 2"),
        ("not a url", "select 1", "check the URL"),
        (url, "select 1 as x union all select 'a'", "'x' mixes types"),
    ):
        with pytest.raises(DataError, match=words):
            read_sql(address, query)
    monkeypatch.setattr("synthesizer.data.sources.find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"synthesizer\[sql\]"):
        read_sql("sqlite://", "select 1")
