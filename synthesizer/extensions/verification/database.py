"""Open databases: a steward's SQLite file, or the server's SQLite or PostgreSQL.

A writing transaction on SQLite locks the file from its first step (``BEGIN IMMEDIATE``), so nothing
that it read can change before it writes. Threads of one engine take turns, since the retries of
SQLite can leave a thread waiting for many seconds. PostgreSQL runs ``READ COMMITTED``: a
transaction that reads before it writes locks the row first. Each commit is on the disk before the
next step.

Messages of a database may quote values, so errors are worded here, by their codes.
"""

from __future__ import annotations

import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from weakref import WeakKeyDictionary

from synthesizer.data.files import create, held, note_written, signals_later
from synthesizer.extensions.verification.messages import WORDS, LedgerError

try:
    import sqlalchemy as sa
    from sqlalchemy.dialects import postgresql, sqlite
    from sqlalchemy.exc import ArgumentError, DBAPIError
    from sqlalchemy.exc import TimeoutError as NoneFree
except ImportError as missing:
    raise LedgerError(
        "a ledger needs SQLAlchemy: pip install 'microdata-synthesizer[verification]'"
    ) from missing

METADATA = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
"""All tables: those of the ledger (`ledger.py`) and those of the server."""
LOCK_SECONDS = 10.0
"""Longest wait for a lock of another process."""
_CONNECTIONS = 10
_ADVISORY_LOCK = 7_809_650
"""Number of the advisory lock of PostgreSQL, separate in each database."""
_UNKNOWN = "the change may be saved nevertheless, see 'verification show-ledger'; ask again"
"""Message if the commit itself fails."""


class Moment(sa.TypeDecorator[datetime]):
    """A UTC time as text of fixed width, so that texts sort like times.

    Examples
    --------
    >>> Moment().process_bind_param(datetime(2026, 1, 2, tzinfo=UTC), None)
    '2026-01-02T00:00:00.000000+00:00'
    """

    impl = sa.String(32)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> str | None:  # noqa: ARG002
        """Return the stored text; ValueError for a time without a zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise TypeError("a time needs its zone")
        return value.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: str | None, dialect: Any) -> datetime | None:  # noqa: ARG002
        """Return the time that is stored."""
        return None if value is None else datetime.fromisoformat(value)


def now() -> datetime:
    """Return the time, with its zone."""
    return datetime.now(UTC)


def connect(url: str | sa.URL, *, seconds: float = LOCK_SECONDS) -> sa.Engine:
    """Open the server's database; a missing SQLite file is created.

    Parameters
    ----------
    url : str or URL
        ``sqlite:////absolute/path`` or ``postgresql://user:password@host/name``.
    seconds : float
        Longest wait for locks of others.

    Returns
    -------
    Engine
        With a pool of connections, for threads; SQLite keeps a write-ahead log.

    Raises
    ------
    LedgerError
        If the URL is of another kind, the driver is missing, or other users can open the file.
    """
    try:
        parts = sa.make_url(url)
    except ArgumentError as error:
        raise LedgerError(WORDS["refused"]["no_url"]) from error
    backend = parts.get_backend_name()
    if backend == "sqlite" and parts.database not in (None, "", ":memory:"):
        path = Path(str(parts.database))
        if not path.exists():
            with create(path):
                pass
        return _sqlite(path, seconds, is_shared=True)
    if backend == "postgresql":
        return _postgresql(parts, seconds)
    raise LedgerError(f"database ({backend}) must be a file of sqlite, or postgresql")


def connect_file(path: Path, *, seconds: float = LOCK_SECONDS) -> sa.Engine:
    """Open an existing SQLite file, without a write-ahead log.

    Raises
    ------
    LedgerError
        If it is missing, no file, read-only, or accessible to other users.
    """
    return _sqlite(path, seconds, is_shared=False)


@contextmanager
def transaction(
    engine: sa.Engine, after: str = "", *, reads: bool = False
) -> Iterator[sa.Connection]:
    """Yield a connection; the changes of the block are committed, or rolled back if it raises.

    Signals wait for its end, so an interrupted command can report whether a file was changed.

    Parameters
    ----------
    engine : Engine
        From `connect`.
    after : str
        State after a failure, for the message: "nothing was charged". Empty if the block changes
        nothing.
    reads : bool
        The block only reads, so it does not wait.

    Raises
    ------
    LedgerError
        If the database fails; errors of the block itself pass through.
    """
    is_file, changes = engine.dialect.name == "sqlite", bool(after)
    try:
        with signals_later(), _turn(engine, reads), engine.connect() as connection:
            connection.execution_options(reads=reads)
            with connection.begin():
                yield connection
                after = after and _UNKNOWN
            if changes and is_file:
                note_written(Path(database_name(engine)))
    except (DBAPIError, NoneFree, _NoTurnError) as error:
        problem = f"{database_name(engine)} {_reason(error)}"
        raise LedgerError("; ".join(filter(None, (problem, after)))) from error


@contextmanager
def served(engine: sa.Engine) -> Iterator[None]:
    """Lock a database against other servers; the lock ends with the process.

    Raises
    ------
    LedgerError
        If another process serves it.
    """
    taken = LedgerError(WORDS["refused"]["served"].format(database_name(engine)))
    if engine.dialect.name == "sqlite":
        # closing it ends the locks of SQLite in this process, too: no work is left then
        with held(Path(database_name(engine))) as is_free:
            if not is_free:
                raise taken
            yield
        return
    with engine.connect() as connection:
        store = connection.execution_options(isolation_level="AUTOCOMMIT")
        if not store.execute(sa.select(sa.func.pg_try_advisory_lock(_ADVISORY_LOCK))).scalar_one():
            raise taken
        try:
            yield
        finally:
            with suppress(DBAPIError):  # a database that was restarted has forgotten it
                store.execute(sa.select(sa.func.pg_advisory_unlock(_ADVISORY_LOCK)))


def insert_once(store: sa.Connection, table: sa.Table, **values: Any) -> bool:
    """Insert a row unless its key exists; return whether it was inserted."""
    kind = postgresql if store.dialect.name == "postgresql" else sqlite
    return store.execute(kind.insert(table).values(values).on_conflict_do_nothing()).rowcount == 1


def database_name(engine: sa.Engine) -> str:
    """Return the name of a database for messages: the file, or the URL without its password."""
    if engine.dialect.name == "sqlite":
        return str(engine.url.database)
    return engine.url.set(query={}).render_as_string(hide_password=True)


def forbid(table: sa.Table, name: str, change: str, why: str, when: str = "") -> None:
    """Give a table a trigger that refuses a change, on both databases.

    Parameters
    ----------
    change : str
        ``DELETE`` or ``UPDATE OF column, ...``; PostgreSQL's ``TRUNCATE`` goes with ``DELETE``.
    why : str
        Code of the refusal.
    when : str
        Condition on ``old`` and ``new``; if empty, every change of the kind.
    """
    clause = f" WHEN ({when})" if when else ""
    begin = f"CREATE TRIGGER {name} BEFORE"
    refuse = f"EXECUTE FUNCTION refuse('{why}')"
    lite = [f"{begin} {change} ON {table.name}{clause} BEGIN SELECT RAISE(ABORT, '{why}'); END"]
    post = [f"{begin} {change} ON {table.name} FOR EACH ROW{clause} {refuse}"]
    if change == "DELETE":
        cut = f"CREATE TRIGGER {name}_all BEFORE TRUNCATE"
        post.append(f"{cut} ON {table.name} FOR EACH STATEMENT {refuse}")
    for dialect, statements in (("sqlite", lite), ("postgresql", post)):
        for statement in statements:
            _also(table, "after_create", statement, dialect)


def _also(target: sa.Table | sa.MetaData, moment: str, statement: str, dialect: str) -> None:
    """Execute a statement when tables are made in databases of one dialect."""
    made: sa.ExecutableDDLElement = sa.DDL(statement)  # type: ignore[no-untyped-call]
    sa.event.listen(target, moment, made.execute_if(dialect=dialect))


_REFUSE = """
CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '%%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation'; END $$
"""
_also(METADATA, "before_create", _REFUSE, "postgresql")


def _sqlite(path: Path, seconds: float, *, is_shared: bool) -> sa.Engine:
    """Return an engine of a SQLite file; ``is_shared``: threads read while one writes."""
    _check_file(path)
    uri = f"{path.absolute().as_uri()}?mode=rw"

    def opened() -> sqlite3.Connection:
        store = sqlite3.connect(
            uri, uri=True, timeout=seconds, isolation_level=None, check_same_thread=not is_shared
        )
        for pragma in ("synchronous = EXTRA", "foreign_keys = ON"):
            store.execute(f"PRAGMA {pragma}")
        if is_shared:
            _set_wal(store, seconds)
        return store

    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        creator=opened,
        **(_pool(seconds) if is_shared else {"poolclass": sa.NullPool}),
    )
    sa.event.listen(engine, "begin", _begin)
    if is_shared:
        _TURNS[engine] = threading.Lock(), _patience(seconds)
    return engine


def _set_wal(store: sqlite3.Connection, seconds: float) -> None:
    """Let threads read while one writes; SQLite itself does not wait for others that set it."""
    end = monotonic() + seconds
    while True:
        try:
            store.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if monotonic() > end:
                raise
            sleep(0.01)
        else:
            return


class _NoTurnError(Exception):
    """Other threads have written for too long."""


_TURNS: WeakKeyDictionary[sa.Engine, tuple[threading.Lock, float]] = WeakKeyDictionary()
"""Lock for writing to a file that threads share, and the seconds that others wait."""


@contextmanager
def _turn(engine: sa.Engine, reads: bool) -> Iterator[None]:
    """Let one thread write at a time; waiting threads hold no connection."""
    if reads or engine not in _TURNS:
        yield
        return
    lock, seconds = _TURNS[engine]
    if not lock.acquire(timeout=seconds):
        raise _NoTurnError
    try:
        yield
    finally:
        lock.release()


def _begin(connection: sa.Connection) -> None:
    reads = connection.get_execution_options().get("reads")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _postgresql(url: sa.URL, seconds: float) -> sa.Engine:
    settings = {"lock_timeout": f"{seconds * 1000:.0f}", "synchronous_commit": "on"}
    options = " ".join(f"-c {key}={value}" for key, value in settings.items())
    try:
        return sa.create_engine(
            url.set(drivername="postgresql+psycopg"),
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            connect_args={"options": options, "connect_timeout": max(2, round(seconds))},
            **_pool(seconds),
        )
    except ImportError as error:
        raise LedgerError(WORDS["refused"]["psycopg"]) from error


def _pool(seconds: float) -> dict[str, Any]:
    return {
        "poolclass": sa.QueuePool,
        "pool_size": _CONNECTIONS,
        "max_overflow": 0,
        "pool_timeout": _patience(seconds),
    }


def _patience(seconds: float) -> float:
    """Return the seconds that a thread waits for others of its process."""
    return max(1.0, 3 * seconds)


def _check_file(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise LedgerError(WORDS["refused"]["no_file"].format(path, error.strerror)) from error
    if not stat.S_ISREG(mode):
        raise LedgerError(f"{path} is no file; name the ledger")
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise LedgerError(WORDS["refused"]["open_file"].format(path))
    if not mode & stat.S_IWUSR:
        raise LedgerError(f"{path} is read-only: nothing could be charged; type: chmod 600 {path}")


_IN_USE = "is in use by another process; ask again when it has ended"
_NOT_WRITABLE = "cannot be written; the steward must own it and its directory"
_FULL = "cannot be written: the disk is full; make room"
_REFUSED = "refuses the change: it enforces its caps, and charges are final"
_DAMAGED = "is no ledger or is damaged; restore the last copy that you trust"
_CAUSES = {
    sqlite3.SQLITE_BUSY: _IN_USE,
    sqlite3.SQLITE_LOCKED: _IN_USE,
    sqlite3.SQLITE_READONLY: _NOT_WRITABLE,
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; the steward must own it and its directory",
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR: "cannot be read or written; check its disk, or make room",
    sqlite3.SQLITE_CONSTRAINT: _REFUSED,
}
_STATES = {
    "23": _REFUSED,
    "25006": "is read-only: nothing could be charged; name the database that accepts writes",
    "28": "refuses this user; check name and password in its URL",
    "3D000": "does not exist; make it with 'createdb'",
    "40": _IN_USE,
    "42501": "does not let this user write; grant the rights",
    "42P01": "has no tables of this version of the program; name an empty database",
    "53100": _FULL,
    "53300": "accepts no more connections; raise max_connections, or ask again",
    "55P03": _IN_USE,
    "57": "is stopping or starting; ask again",
}
"""Messages by the first characters of SQLSTATE."""


def _reason(error: DBAPIError | NoneFree | _NoTurnError) -> str:
    if isinstance(error, _NoTurnError):
        return _IN_USE
    if isinstance(error, NoneFree):
        return "has all its connections in use; ask again"
    cause = error.orig
    if isinstance(cause, sqlite3.Error):
        return _CAUSES.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF, _DAMAGED)
    state = getattr(cause, "sqlstate", None)
    if state is None:
        return "cannot be reached; check that it runs, and its URL"
    known = (words for start, words in _STATES.items() if state.startswith(start))
    return next(known, f"fails (SQLSTATE {state}); read its log")
