"""Tables of the server beside those of the ledger, and how a database gets them.

Times are aware datetimes (`Moment`), charges millionths of epsilon. JSON columns hold what the
names say, ``None`` as NULL. What refers to a query does so by the digest of its canonical form.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Engine,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    Text,
    inspect,
    true,
)

from synthesizer.data.errors import LedgerError
from synthesizer.verification.database import METADATA, Moment, forbid, place_of, transaction
from synthesizer.verification.ledger import LONGEST_NAME
from synthesizer.verification.server import request_tables  # noqa: F401 - a table of METADATA

MIGRATIONS = Path(__file__).parent / "migrations"


def _one_of(name: str, *words: str) -> CheckConstraint:
    listed = ", ".join(f"'{word}'" for word in words)
    return CheckConstraint(f"{name} IN ({listed})", name=name)


def _json(name: str) -> Column[Any]:
    return Column(name, JSON(none_as_null=True))


ACCOUNT = Table(
    "account",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(LONGEST_NAME), nullable=False, unique=True),
    Column("role", String(10), nullable=False),
    Column("password", Text),
    Column("is_active", Boolean, nullable=False, server_default=true()),
    Column("made", Moment, nullable=False),
    _one_of("role", "researcher", "steward", "admin"),
)
"""People and programs that may ask; ``password`` is what argon2id made of it, NULL for none."""
TOKEN = Table(
    "token",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("account", ForeignKey("account.id"), nullable=False, index=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("label", String(LONGEST_NAME), nullable=False),
    Column("made", Moment, nullable=False),
    Column("expires", Moment, nullable=False),
    Column("revoked", Moment),
)
"""Bearer tokens by their SHA-256."""
SESSION = Table(
    "session",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("account", ForeignKey("account.id"), nullable=False, index=True),
    Column("csrf", String(64), nullable=False),
    Column("made", Moment, nullable=False),
    Column("expires", Moment, nullable=False),
)
"""Who is logged in to the pages, by the SHA-256 of the cookie."""
ATTEMPT = Table(
    "attempt",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("who", String(64), nullable=False),
    Column("at", Moment, nullable=False),
    Index(None, "who", "at"),
)
"""Logins that failed, or are under way, by the SHA-256 of a name and of an address."""
DRY_RUN = Table(
    "dry_run",
    METADATA,
    Column("dataset", ForeignKey("dataset.name"), primary_key=True),
    Column("query", String(64), primary_key=True),
    Column("content", Text, nullable=False),
    Column("state", String(10), nullable=False, index=True),
    Column("charge", BigInteger),
    _json("problems"),
    _json("result"),
    Column("page", Text),
    Column("account", ForeignKey("account.id"), nullable=False, index=True),
    Column("asked", Moment, nullable=False),
    _one_of("state", "waiting", "running", "done", "refused"),
)
"""What the synthetic data say about a query: free, and made once. ``charge`` is that of the query
itself."""
SUBMISSION = Table(
    "submission",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("account", ForeignKey("account.id"), nullable=False, index=True),
    Column("dataset", ForeignKey("dataset.name"), nullable=False),
    Column("version", ForeignKey("version.id"), nullable=False),
    Column("query", String(64), nullable=False),
    Column("analysis", String(LONGEST_NAME), nullable=False),
    Column("state", String(10), nullable=False),
    _json("problems"),
    Column("charged", BigInteger, nullable=False, server_default="0"),
    Column("made", Moment, nullable=False),
    Column("shown", Moment),
    _one_of("state", "checking", "accepted", "refused"),
    CheckConstraint("charged >= 0", name="charged"),
    Index(None, "dataset", "query"),
)
"""Who asked what; ``id`` is a uuid in hexadecimal digits, ``charged`` is 0 for a repeat."""
JOB = Table(
    "job",
    METADATA,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("query", String(64), primary_key=True),
    Column("state", String(10), nullable=False, index=True),
    Column("lane", Integer, nullable=False),
    Column("begins", Moment, nullable=False),
    Column("due", Moment, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    _json("result"),
    Column("page", Text),
    ForeignKeyConstraint(["version", "query"], ["answer.version", "answer.query"]),
    _one_of("state", "queued", "running", "computed"),
)
"""Answers to compute; each was charged for before, and is shown from ``due`` on."""
AUDIT = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("at", Moment, nullable=False),
    Column("actor", String(LONGEST_NAME), nullable=False),
    Column("action", String(40), nullable=False, index=True),
    Column("dataset", String(LONGEST_NAME), nullable=False),
    Column("details", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    CheckConstraint("length(hash) = 64", name="hash"),
)
"""What was done, in a chain of hashes (`synthesizer.verification.server.audit`)."""
forbid(AUDIT, "no_end_of_audit", "DELETE", "append only")
forbid(AUDIT, "no_change_of_audit", "UPDATE", "append only")


def upgrade(engine: Engine) -> None:
    """Give a database all tables of this version of the program, whole or not at all.

    Raises
    ------
    LedgerError
        If the database fails, is of a newer version of the program or of another program, or if
        the steps of this installation cannot be used.
    """
    place = place_of(engine)
    try:
        with transaction(engine, "nothing was changed") as store:
            if engine.dialect.name == "postgresql":  # one server after the other
                store.exec_driver_sql("SELECT pg_advisory_xact_lock(17)")
            config = _config(store)
            _check_whose(store, ScriptDirectory.from_config(config), place)
            command.upgrade(config, "head")
    except CommandError as error:
        raise LedgerError(
            f"{place} was not changed, since the steps to its tables cannot be used ({error}); "
            "install the program again"
        ) from error


def _check_whose(store: Connection, steps: ScriptDirectory, place: str) -> None:
    """Raise LedgerError where the tables of a database are not those of an earlier step."""
    taken = set(inspect(store).get_table_names())
    reached = set(MigrationContext.configure(store).get_current_heads())
    unknown = reached - {step.revision for step in steps.walk_revisions()}
    if unknown and AUDIT.name in taken:
        raise LedgerError(f"{place} is of a newer version of the program; start that")
    if unknown or (not reached and taken & set(METADATA.tables)):
        raise LedgerError(
            f"{place} has tables of another program, or is a steward's ledger; name an empty "
            "database for the server"
        )


def differences(engine: Engine) -> list[Any]:
    """Return in what the tables of a database differ from those above; [] after `upgrade`."""
    with transaction(engine, reads=True) as store:
        context = MigrationContext.configure(store, opts={"compare_server_default": True})
        return list(compare_metadata(context, METADATA))


def _config(store: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = store
    return config
