"""The server's database: many datasets, versions that share budgets, transactions of a caller."""

import stat
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta, timezone
from threading import Barrier

import pytest
from sqlalchemy import func, select

from synthesizer.extensions.verification.database import (
    METADATA,
    Moment,
    connect,
    served,
    transaction,
)
from synthesizer.extensions.verification.ledger import (
    ANSWER,
    TABLES,
    Ledger,
    new_dataset,
    new_version,
)
from synthesizer.extensions.verification.mechanisms import MICRO
from synthesizer.extensions.verification.messages import LedgerError

A, B = "a" * 64, "b" * 64
QUESTION = {"content": "{}", "epsilon": MICRO // 10, "user": "ada", "analysis": "gap"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "server.sqlite"


@pytest.fixture
def engine(path):
    engine = connect(f"sqlite:///{path}", seconds=0.1)
    METADATA.create_all(engine, TABLES)
    yield engine
    engine.dispose()


def spent(ledger):
    return {(b.scope, b.name): b.spent / MICRO for b in ledger.spending().budgets}


def test_datasets_have_budgets_and_keys_of_their_own(engine):
    one = new_dataset(engine, "one", data=A, cap=1.0)
    other = new_dataset(engine, "other", data=A, cap=2.0, user_cap=0.05)
    one.reserve("q", **QUESTION)
    assert spent(one)["global", ""] == 0.1
    assert spent(other) == {("global", ""): 0.0}
    assert one.key != other.key
    with pytest.raises(LedgerError, match=r"user budget of ada has 0\.05 of 0\.05 left"):
        other.reserve("q", **QUESTION)
    assert other.answer("q") is None
    for ledger in (one, other):
        ledger.check()  # what the other one spent is none of its sums
    for scope, name in (("all", ""), ("global", "ada"), ("user", " ")):
        with pytest.raises(LedgerError):
            other.set_cap(scope, name, 1.0)


def test_versions_share_budgets_and_no_answers(engine):
    """A person's row is changed, all else is not: both answers are paid (differencing)."""
    first = new_dataset(engine, "one", data=A, cap=0.2)
    second = new_version(engine, "one", data=B)
    assert first.key != second.key
    for ledger in (first, second):
        assert ledger.reserve("q", **QUESTION) is None
        ledger.store("q", ((ledger.version,),))
    assert first.answer("q") != second.answer("q")
    assert spent(first) == spent(second)
    assert spent(first)["global", ""] == 0.2
    for ledger in (first, second):
        with pytest.raises(LedgerError, match="global budget"):
            ledger.reserve("another", **QUESTION)
    assert Ledger(engine, dataset="one").data == B  # the latest
    assert Ledger(engine, dataset="one", data=A).key == first.key


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda engine: new_dataset(engine, "one", data=B, cap=1.0), "exists already"),
        (lambda engine: new_dataset(engine, " ", data=B, cap=1.0), "dataset must be a name"),
        (lambda engine: new_dataset(engine, "two", data=B, cap=0.0), "cap"),
        (lambda engine: new_version(engine, "one", data=A), "already"),
        (lambda engine: new_version(engine, "two", data=A), "no dataset 'two'"),
        (lambda engine: Ledger(engine, dataset="one", data=B), "another version"),
    ],
)
def test_a_wrong_name_cap_or_version_is_refused(engine, make, words):
    new_dataset(engine, "one", data=A, cap=1.0)
    with pytest.raises(LedgerError, match=words):
        make(engine)


def test_a_paused_dataset_charges_nothing_and_answers_what_was_charged(engine):
    ledger = new_dataset(engine, "one", data=A, cap=1.0)
    ledger.reserve("q", **QUESTION)
    ledger.set_paused(True)
    assert ledger.reserve("q", **QUESTION) is None
    assert ledger.store("q", ((1,),)) == ((1,),)
    with pytest.raises(LedgerError, match="paused"):
        ledger.reserve("new", **QUESTION)
    ledger.set_paused(False)
    assert ledger.reserve("new", **QUESTION) is None


def test_a_charge_is_kept_with_all_else_of_its_transaction_or_not(engine):
    ledger = new_dataset(engine, "one", data=A, cap=0.1)

    def fails():
        with transaction(engine) as store:
            ledger.reserve("q", **QUESTION, within=store)
            assert ledger.is_charged("q", within=store)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert not ledger.is_charged("q")
    assert spent(ledger) == {("global", ""): 0.0}
    with transaction(engine) as store:
        ledger.reserve("q", **QUESTION, within=store)
        with pytest.raises(LedgerError, match="the global budget"):
            ledger.reserve("more", **QUESTION, within=store)
    assert spent(ledger)["global", ""] == 0.1


def test_files_of_the_database_are_their_owners(path, engine):
    new_dataset(engine, "one", data=A, cap=1.0)
    files = [*path.parent.glob("server.sqlite*")]
    assert len(files) == 3  # with log and index
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    path.chmod(0o640)
    with pytest.raises(LedgerError, match="other users may open it"):
        connect(f"sqlite:///{path}")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("server.sqlite", "no URL"),
        ("sqlite://", "must be a file"),
        ("mysql://ada:secret@host/name", "postgresql"),
        ("postgresql://ada:secret@127.0.0.1:1/none", "cannot be reached"),
    ],
)
def test_urls_that_are_none_are_named_without_their_password(url, words):
    with pytest.raises(LedgerError, match=words) as error, transaction(connect(url, seconds=0.1)):
        pass
    assert "secret" not in str(error.value)


def test_times_compare_as_texts_and_need_a_zone():
    east = datetime(2026, 1, 2, 1, tzinfo=timezone(timedelta(hours=2)))
    west = datetime(2026, 1, 1, 23, 30, tzinfo=UTC)
    kind = Moment()
    assert kind.process_bind_param(east, None) < kind.process_bind_param(west, None)
    assert kind.process_result_value(kind.process_bind_param(east, None), None) == east
    with pytest.raises(TypeError):
        kind.process_bind_param(datetime(2026, 1, 1), None)


def written(engine, number):
    """Write from ``number`` threads while another locks the file; return their futures."""
    pool = ThreadPoolExecutor(number)
    started = Barrier(number + 1, timeout=30)

    def write(name):
        started.wait()
        new_dataset(engine, f"d{name}", data=A, cap=1.0)

    futures = [pool.submit(write, name) for name in range(number)]
    started.wait()
    pool.shutdown(wait=False)
    return futures


def test_threads_wait_for_their_turn_to_write_and_hold_nothing_meanwhile(path):
    """SQLite alone would let all of them try again and again, each with a connection."""
    engine = connect(f"sqlite:///{path}", seconds=10)
    METADATA.create_all(engine, TABLES)
    with transaction(engine) as store:
        futures = written(engine, 12)
        wait(futures, timeout=0.3)
        assert engine.pool.checkedout() == 1
        with transaction(engine, reads=True) as other:  # readers do not wait
            assert other.execute(select(func.count()).select_from(ANSWER)).scalar_one() == 0
        assert store.execute(select(func.count()).select_from(ANSWER)).scalar_one() == 0
    for future in futures:
        future.result(30)
    engine.dispose()


def test_a_turn_that_does_not_come_is_an_error_in_words(engine):
    ledger = new_dataset(engine, "one", data=A, cap=1.0)
    with transaction(engine):
        assert ledger.answer("q") is None  # readers do not wait
        (future,) = written(engine, 1)
        with pytest.raises(LedgerError, match="in use by another process"):
            future.result(30)
        with pytest.raises(LedgerError, match="in use by another process; .*nothing was charged"):
            ledger.reserve("q", **QUESTION)


def test_one_process_serves_a_database(url):
    one, other = connect(url), connect(url)
    with served(one):
        with pytest.raises(LedgerError, match="served by another process"), served(other):
            pass
        with transaction(other, reads=True) as store:  # who does not serve may look
            assert store.execute(select(1)).scalar_one() == 1
    with served(other):
        pass
    one.dispose()
    other.dispose()
