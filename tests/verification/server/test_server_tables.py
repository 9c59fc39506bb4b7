"""The steps of the migrations make the tables of the program, and these keep to their rules."""

import re

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, text

from synthesizer.data.errors import LedgerError
from synthesizer.verification.database import METADATA, connect, transaction
from synthesizer.verification.ledger import new_dataset, new_ledger
from synthesizer.verification.server import audit, server_tables
from synthesizer.verification.server.server_tables import differences, upgrade

SCHEMA = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL",
    "postgresql": """
        SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace =
            'public'::regnamespace
        UNION ALL SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
        UNION ALL SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace =
            'public'::regnamespace
        UNION ALL SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'""",
}


def schema(engine):
    """Return constraints, indices and triggers by their names, each as a set of its lines."""
    with transaction(engine, reads=True) as store:
        rows = store.execute(text(SCHEMA[engine.dialect.name])).all()
    return {
        name: {re.sub(r"\s+", " ", line.strip(" \n\t,")) for line in words.splitlines()}
        for name, words in rows
        if not name.startswith("alembic_version")
    }


@pytest.fixture
def other(request, url, tmp_path):
    """Return an empty database beside the first one."""
    if url.startswith("sqlite"):
        yield connect(f"sqlite:///{tmp_path}/other.sqlite")
        return
    with request.getfixturevalue("postgresql").database() as second:
        yield connect(second)


def test_the_steps_make_the_tables(database, other):
    upgrade(database)  # a second time changes nothing
    assert differences(database) == []
    METADATA.create_all(other)
    assert schema(database) == schema(other)
    other.dispose()


def test_a_table_that_no_step_makes_would_be_found(database, monkeypatch):
    changed = MetaData()
    for table in METADATA.tables.values():
        table.to_metadata(changed)
    Table("account", changed, Column("extra", Integer), extend_existing=True)
    monkeypatch.setattr(server_tables, "METADATA", changed)
    (found,) = differences(database)
    assert found[:3] == ("add_column", None, "account")


def test_a_step_that_fails_leaves_nothing(url, monkeypatch):
    engine = connect(url)

    def fails(*words):
        work(*words)
        raise ZeroDivisionError

    work = server_tables.command.upgrade
    monkeypatch.setattr(server_tables.command, "upgrade", fails)
    with pytest.raises(ZeroDivisionError):
        upgrade(engine)
    assert schema(engine) == {}
    engine.dispose()


def test_a_database_of_a_newer_program_is_refused(database):
    with transaction(database) as store:
        store.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(LedgerError, match="newer version"):
        upgrade(database)


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE account (x INTEGER)"],
        [
            "CREATE TABLE alembic_version (version_num VARCHAR(32))",
            "INSERT INTO alembic_version VALUES ('9999')",
        ],
    ],
)
def test_a_database_of_another_program_is_refused(url, statements):
    engine = connect(url)
    with transaction(engine) as store:
        for statement in statements:
            store.execute(text(statement))
    before = schema(engine)
    with pytest.raises(LedgerError, match="tables of another program"):
        upgrade(engine)
    assert schema(engine) == before
    engine.dispose()


def test_a_ledger_of_a_steward_is_not_taken_for_a_server(tmp_path):
    new_ledger(tmp_path / "ledger.sqlite", data="0" * 64, cap=1.0)
    engine = connect(f"sqlite:///{tmp_path}/ledger.sqlite")
    with pytest.raises(LedgerError, match="a steward's ledger; name an empty database"):
        upgrade(engine)
    engine.dispose()


def test_an_installation_without_its_steps_is_told_as_that(url, monkeypatch, tmp_path):
    monkeypatch.setattr(server_tables, "MIGRATIONS", tmp_path / "none")
    engine = connect(url)
    with pytest.raises(LedgerError, match="install the program again"):
        upgrade(engine)
    engine.dispose()


CHANGES = [
    "UPDATE audit SET actor = 'eve'",
    "DELETE FROM audit",
    "UPDATE budget SET spent = 0",
    "UPDATE budget SET name = 'eve' WHERE scope = 'user'",
    "UPDATE answer SET released = '[[9]]'",
    "UPDATE answer SET epsilon = 1",
    "DELETE FROM answer",
    "DELETE FROM budget",
    "INSERT INTO account (name, role, is_active, made) VALUES ('eve', 'owner', true, '2026')",
]


@pytest.fixture
def used(database):
    ledger = new_dataset(database, "one", data="a" * 64, cap=1.0)
    ledger.reserve("q", content="{}", epsilon=1000, user="ada", analysis="gap")
    ledger.store("q", ((1,),))
    with transaction(database) as store:
        audit.append(store, "ada", "charged", dataset="one")
    return database


@pytest.mark.parametrize("change", CHANGES)
def test_tables_keep_to_the_rules_by_themselves(used, change):
    def tried():
        with transaction(used) as store:
            store.execute(text(change))

    with pytest.raises(LedgerError, match="refuses the change"):
        tried()


@pytest.mark.parametrize("name", ["audit", "answer", "budget", "job, answer", "version"])
def test_postgresql_cuts_no_table_off(used, name):
    if used.dialect.name != "postgresql":
        pytest.skip("only PostgreSQL knows TRUNCATE")
    with pytest.raises(LedgerError), transaction(used) as store:
        store.execute(text(f"TRUNCATE {name} CASCADE"))


def test_without_the_trigger_an_entry_would_change(used):
    """The control: it is the trigger that keeps the table."""
    lite = used.dialect.name == "sqlite"
    drop = "DROP TRIGGER no_change_of_audit" + ("" if lite else " ON audit")
    with transaction(used) as store:
        store.execute(text(drop))
        assert store.execute(text(CHANGES[0])).rowcount == 1
