"""The ledger charges once, exactly, and first; nothing else can be made of it."""

import os
import signal
import sqlite3
from contextlib import closing
from functools import partial

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from synthesizer.data.errors import OutputError
from synthesizer.data.files import written_paths
from synthesizer.extensions.verification.database import METADATA, connect, now
from synthesizer.extensions.verification.ledger import (
    TABLES,
    VERSION,
    Ledger,
    new_dataset,
    new_ledger,
    new_version,
)
from synthesizer.extensions.verification.mechanisms import MICRO
from synthesizer.extensions.verification.messages import LedgerError
from synthesizer.extensions.verification.server import server_tables

DATA = "a" * 64


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path):
    return new_ledger(path, data=DATA, cap=1.0, user_cap=0.5)


def reserve(ledger, query="q", epsilon=0.1, user="ada", analysis="gap"):
    amount = round(epsilon * MICRO)
    return ledger.reserve(query, content="{}", epsilon=amount, user=user, analysis=analysis)


def spent(ledger):
    return {(b.scope, b.name): b.spent / MICRO for b in ledger.spending().budgets}


def test_the_same_question_is_charged_once_and_the_first_answer_is_shown(ledger):
    with pytest.raises(LedgerError, match="not charged"):
        ledger.store("q", ((1,),))
    assert reserve(ledger) is None
    assert reserve(ledger) is None  # another process has not answered yet; no second charge
    for answer in ([(4, 5), (6,)], [(7,)]):
        assert ledger.store("q", answer) == ((4, 5), (6,))
    for user in ("ada", "bob"):
        assert reserve(ledger, user=user, analysis="other") == ((4, 5), (6,))
    assert (ledger.answer("q"), ledger.answer("other")) == (((4, 5), (6,)), None)
    assert spent(ledger) == {("global", ""): 0.1, ("user", "ada"): 0.1, ("analysis", "gap"): 0.1}


def test_a_ledger_is_made_once_with_the_tables_of_a_ledger_alone(ledger, path, tmp_path):
    other = new_ledger(tmp_path / "other", data=DATA, cap=1e6, user_cap=1e-6, analysis_cap=2.5)
    assert len(ledger.key) == 32
    assert ledger.key != other.key
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(OutputError, match="exists"):
        new_ledger(path, data=DATA, cap=9.0)
    assert Ledger(path, data=DATA).key == ledger.key
    reserve(other, epsilon=1e-6, user="u" * 200)
    caps = [(b.scope, b.name, b.cap / MICRO) for b in other.spending().budgets]
    assert caps == [("global", "", 1e6), ("user", "u" * 200, 1e-6), ("analysis", "gap", 2.5)]
    known, ledger_tables = {*server_tables.METADATA.tables}, {table.name for table in TABLES}
    assert known > ledger_tables  # the server's tables are known here
    with closing(sqlite3.connect(path)) as store:
        names = {name for (name,) in store.execute("SELECT name FROM sqlite_master")}
    assert names & known == ledger_tables


@pytest.mark.parametrize("cap", [0, float("nan"), float("inf"), 9e-7, 1.1e6])
def test_a_cap_must_be_a_number_above_0(path, cap):
    for name in ("cap", "user_cap", "analysis_cap"):
        with pytest.raises(LedgerError, match=name.replace("_", "-")):
            new_ledger(path, data=DATA, **({"cap": 1.0} | {name: cap}))
    assert not path.exists()


def test_caps_hold_to_the_millionth_for_all_users_together(ledger):
    for number in range(5):
        reserve(ledger, f"a{number}")
    with pytest.raises(LedgerError, match=r"user budget of ada has 0\.0 of 0\.5 left"):
        reserve(ledger, "a5", epsilon=0.000001)
    for number in range(5):
        reserve(ledger, f"b{number}", user="bob")
    with pytest.raises(LedgerError, match="the global budget"):
        reserve(ledger, "c", epsilon=0.000001, user="eve")
    assert spent(ledger)["global", ""] == 1.0
    assert ("user", "eve") not in spent(ledger)


def test_every_budget_that_does_not_suffice_is_named(ledger):
    problems = ledger.refusals("q", epsilon=3 * MICRO, user="ada", analysis="gap")
    assert [problem.split()[1] for problem in problems] == ["global", "user", "analysis"]
    assert ledger.refusals("q", epsilon=MICRO // 2, user="ada", analysis="gap") == []


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0}, {"epsilon": -1}, {"user": " "}, {"analysis": "a\nb"}, {"user": "u" * 201}],
)
def test_charges_and_names_that_are_none_are_refused(ledger, wrong):
    with pytest.raises(LedgerError):
        reserve(ledger, **wrong)
    assert spent(ledger) == {("global", ""): 0.0}


def test_a_cap_can_be_raised_but_not_below_what_is_spent(ledger):
    reserve(ledger, epsilon=0.5)
    ledger.set_cap("user", "ada", 0.8)
    reserve(ledger, "more", epsilon=0.2)
    with pytest.raises(LedgerError, match=r"cap: 0\.7 is spent"):
        ledger.set_cap("user", "ada", 0.6)
    for scope in ("user", "analysis"):
        ledger.set_cap(scope, "new", 0.01)
        payers = {"user": "eve", "analysis": "other", scope: "new"}
        (problem,) = ledger.refusals("n", epsilon=MICRO // 10, **payers)
        assert f"the {scope} budget of new has 0.01 of 0.01 left" in problem


# Bad input: refused before a charge.


def test_of_several_versions_the_one_that_is_read_or_else_the_latest(tmp_path):
    engine = connect(f"sqlite:///{tmp_path}/server.sqlite")
    METADATA.create_all(engine, TABLES)
    datas = [letter * 64 for letter in "cab"]  # in no order of their own
    made = [new_dataset(engine, "one", data=datas[0], cap=1.0)]
    made += [new_version(engine, "one", data=data) for data in datas[1:]]
    for data, ledger in zip(datas, made, strict=True):
        again = Ledger(engine, dataset="one", data=data)
        assert (again.version, again.data, again.key) == (ledger.version, data, ledger.key)
    assert Ledger(engine, dataset="one").key == made[-1].key
    assert len({ledger.key for ledger in made}) == 3
    new_dataset(engine, "two", data=datas[0], cap=1.0)  # of the same file, with a key of its own
    assert Ledger(engine, dataset="one").key == made[-1].key
    assert Ledger(engine, dataset="two").key != made[0].key
    row = {"dataset": "one", "data": datas[0], "key": bytes(32), "made": now()}
    with pytest.raises(IntegrityError), engine.begin() as store:
        store.execute(insert(VERSION).values(row))
    engine.dispose()


def at_most(monkeypatch, pages):
    """Limit files to ``pages`` pages: SQLite itself then reports that the disk is full."""
    connect = sqlite3.connect

    def full(*args, **settings):
        store = connect(*args, **settings)
        store.execute(f"PRAGMA max_page_count = {pages}")
        return store

    monkeypatch.setattr(sqlite3, "connect", full)


def test_a_disk_that_is_full(ledger, path, tmp_path, monkeypatch):
    """What was begun is undone, and what was charged stands."""
    at_most(monkeypatch, path.stat().st_size // 4096)
    with pytest.raises(LedgerError, match="the disk is full; make room; nothing was charged"):
        ledger.reserve("q", content="x" * 99_999, epsilon=1, user="u", analysis="a")
    reserve(ledger)
    with pytest.raises(LedgerError, match="the charge remains"):
        ledger.store("q", [[7] * 99_999])
    monkeypatch.undo()
    assert spent(ledger)["global", ""] == 0.1
    assert reserve(ledger) is None
    assert ledger.store("q", ((3,),)) == ((3,),)
    at_most(monkeypatch, 2)
    with pytest.raises(LedgerError, match="other cannot be written: the disk is full"):
        new_ledger(tmp_path / "other", data=DATA, cap=1.0)
    assert not (tmp_path / "other").exists()


def at_commit(monkeypatch, event):
    """Let something happen when a change has just been kept."""
    connect = sqlite3.connect

    class Store(sqlite3.Connection):
        def commit(self):
            super().commit()
            event()

    monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=Store))


def test_an_interrupt_names_the_ledger_that_was_written(ledger, path, monkeypatch):
    """A signal waits for the end of a charge, and no message denies what was written."""
    at_commit(monkeypatch, partial(signal.raise_signal, signal.SIGINT))
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background may ignore it
    try:
        with written_paths() as written, pytest.raises(KeyboardInterrupt):
            reserve(ledger)
    finally:
        signal.signal(signal.SIGINT, usual)
    monkeypatch.undo()
    assert written == [path]
    assert spent(ledger)["global", ""] == 0.1
    with written_paths() as written:
        ledger.answer("q")
    assert written == []


def test_a_disk_that_fails_in_the_last_step(ledger, monkeypatch):
    """The charge may be saved then, so no message denies it."""

    def fail():
        raise sqlite3.OperationalError("disk I/O error")

    at_commit(monkeypatch, fail)
    with pytest.raises(LedgerError, match="may be saved nevertheless") as error:
        reserve(ledger)
    assert "nothing was charged" not in str(error.value)
    monkeypatch.undo()
    assert spent(ledger)["global", ""] == 0.1


HARMS = {
    "no file": lambda path: (path.unlink(), os.mkfifo(path)),
    "cannot be opened": lambda path: path.unlink(),
    "read-only": lambda path: path.chmod(0o400),
    "other users may open it": lambda path: path.chmod(0o644),
    "is no ledger": lambda path: path.write_text("name,age\nada,36\n" * 99),
    "is damaged": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "somebody changed": lambda path: executed(
        path, "DROP TRIGGER no_refund; UPDATE budget SET spent = 0;"
    ),
}


def executed(path, script):
    with closing(sqlite3.connect(path)) as store:
        store.executescript(script)


@pytest.mark.parametrize("message", HARMS)
def test_a_file_that_is_harmed(ledger, path, message):
    reserve(ledger)
    HARMS[message](path)
    with pytest.raises(LedgerError, match=message):
        Ledger(path)


def test_a_file_that_is_locked(ledger, path):
    hasty = Ledger(path, seconds=0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="in use by another process"):
            Ledger(path, seconds=0.05)
        with pytest.raises(LedgerError, match="in use by another process; .*nothing was charged"):
            reserve(hasty)
    assert spent(ledger)["global", ""] == 0.0


# Races; crashes and controls are tried on both databases by server/test_store_trials.py.


def test_a_thousand_repeats_draw_once(ledger):
    """Else the mean of the answers is the truth: of 1,000 at scale 1 it is, to 0.05."""
    drawn = []
    for number in range(1_000):
        answer = reserve(ledger, user=f"user{number % 3}") if number < 50 else ledger.answer("q")
        if answer is None:
            drawn.append(number)
            answer = ledger.store("q", ((40 + number,),))
        assert answer == ((40,),)
    assert drawn == [0]
    assert spent(ledger)["global", ""] == 0.1
