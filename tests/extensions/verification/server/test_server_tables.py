"""The tables of a server are made whole, once, in an empty database, and keep to their rules."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from synthesizer.extensions.verification.database import METADATA, connect, transaction
from synthesizer.extensions.verification.ledger import Ledger, new_dataset, new_ledger
from synthesizer.extensions.verification.messages import LedgerError
from synthesizer.extensions.verification.server import audit
from synthesizer.extensions.verification.server.server_tables import create_tables

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
    """Return constraints, indices and triggers by their names."""
    with transaction(engine, reads=True) as store:
        return sorted(map(tuple, store.execute(text(SCHEMA[engine.dialect.name]))))


def test_tables_are_made_once_by_servers_that_start_at_once(url):
    engines = [connect(url) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(create_tables, engines))
    with transaction(engines[0]) as store:
        audit.append(store, "ada", "charged")
    before = schema(engines[0])
    create_tables(engines[1])
    assert schema(engines[0]) == before
    with transaction(engines[0], reads=True) as store:
        assert audit.head(store).number == 1
    with transaction(engines[0]) as store:
        store.execute(text("UPDATE verification_server SET version = 99"))
    with pytest.raises(LedgerError, match="another version"):
        create_tables(engines[0])
    for engine in engines:
        engine.dispose()


def test_tables_that_change_are_another_version(tmp_path):
    """Databases of agencies have these tables: a change of one raises `_VERSION`, too."""
    engine = connect(f"sqlite:///{tmp_path}/server.sqlite")
    create_tables(engine)
    with transaction(engine, reads=True) as store:
        (version,) = store.execute(text("SELECT version FROM verification_server")).scalars()
    shown = ";\n".join(sql for _, sql in schema(engine)) + f";\n-- version {version}\n"
    engine.dispose()
    assert shown == Path(__file__).with_name("tables.sql").read_text(encoding="utf-8")


@pytest.mark.parametrize("other", ["a failure", "account (x INTEGER)", "payroll (x INTEGER)"])
def test_a_failure_or_a_database_of_another_program_leaves_all_as_it_was(url, monkeypatch, other):
    engine, make, error = connect(url), METADATA.create_all, LedgerError

    def fails(store):
        make(store)
        raise ZeroDivisionError

    if other == "a failure":
        error = ZeroDivisionError
        monkeypatch.setattr(METADATA, "create_all", fails)
    else:
        with transaction(engine) as store:
            store.execute(text(f"CREATE TABLE {other}"))
    before = schema(engine)
    with pytest.raises(error):
        create_tables(engine)
    assert schema(engine) == before
    engine.dispose()


def test_a_ledger_of_a_steward_and_a_server_are_not_taken_for_each_other(tmp_path):
    new_ledger(tmp_path / "ledger.sqlite", data="0" * 64, cap=1.0)
    engines = [connect(f"sqlite:///{tmp_path}/{name}.sqlite") for name in ("ledger", "server")]
    with pytest.raises(LedgerError, match="a steward's ledger; name an empty database"):
        create_tables(engines[0])
    create_tables(engines[1])
    for engine in engines:
        engine.dispose()
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger(tmp_path / "server.sqlite")


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
    if change == CHANGES[0]:  # the control: it is the trigger that keeps the table
        on = "" if used.dialect.name == "sqlite" else " ON audit"
        with transaction(used) as store:
            store.execute(text(f"DROP TRIGGER no_change_of_audit{on}"))
        tried()


@pytest.mark.parametrize("name", ["audit", "answer", "budget", "job, answer", "version"])
def test_postgresql_cuts_no_table_off(used, name):
    if used.dialect.name != "postgresql":
        pytest.skip("only PostgreSQL knows TRUNCATE")
    with pytest.raises(LedgerError), transaction(used) as store:
        store.execute(text(f"TRUNCATE {name} CASCADE"))
