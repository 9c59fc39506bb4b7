"""Tables of the server beside those of the ledger, and how a database gets them.

Times are aware datetimes (`Moment`), charges millionths of epsilon. JSON columns hold what the
names say, ``None`` as NULL. What refers to a query does so by the digest of its canonical form.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Engine,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
    true,
)

from synthesizer.data.errors import LedgerError
from synthesizer.verification.database import METADATA, Moment, forbid, place_of, transaction
from synthesizer.verification.ledger import LONGEST_NAME

_VERSION = 1
"""Of the tables; another one is refused."""
_TURN = 17
"""Number of the advisory lock under which a server makes its tables on PostgreSQL."""


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
    Column("is_active", Boolean, nullable=False, server_default=true()),
    Column("made", Moment, nullable=False),
    _one_of("role", "researcher", "steward", "admin"),
)
"""People and programs that may ask."""
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
    Column("token", ForeignKey("token.id"), nullable=False, index=True),
    Column("expires", Moment, nullable=False),
)
"""Who is signed in to the pages, by the SHA-256 of the cookie and the token that began it."""
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
    Column("chosen", String(64)),
    Column("chosen_content", Text),
    Column("outlook", String(10)),
    _json("words"),
    Column("account", ForeignKey("account.id"), nullable=False, index=True),
    Column("asked", Moment, nullable=False),
    _one_of("state", "waiting", "running", "done", "refused"),
    _one_of("outlook", "decided", "open", "impossible"),
)
"""Free dry runs, each made once. ``query`` is the digest of what was asked, ``chosen`` that of the
query with its numbers, which is charged; ``outlook`` is NULL where an expert chose the numbers."""
PROJECT = Table(
    "project",
    METADATA,
    Column("name", String(LONGEST_NAME), primary_key=True),
    Column("dataset", ForeignKey("dataset.name"), nullable=False),
    Column("questions", Integer, nullable=False),
    Column("made", Moment, nullable=False),
    CheckConstraint("questions > 0", name="questions"),
)
"""What researchers ask for; its budget in the ledger has the scope ``analysis`` and this name."""
MEMBER = Table(
    "member",
    METADATA,
    Column("project", ForeignKey("project.name"), primary_key=True),
    Column("account", ForeignKey("account.id"), primary_key=True),
)
"""Researchers of projects."""
SUBMISSION = Table(
    "submission",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("account", ForeignKey("account.id"), nullable=False, index=True),
    Column("dataset", ForeignKey("dataset.name"), nullable=False),
    Column("version", ForeignKey("version.id"), nullable=False),
    Column("query", String(64), nullable=False),
    Column("chosen", String(64)),
    Column("project", ForeignKey("project.name"), nullable=False),
    Column("state", String(10), nullable=False),
    _json("problems"),
    Column("charged", BigInteger, nullable=False, server_default="0"),
    Column("made", Moment, nullable=False),
    Column("shown", Moment),
    _one_of("state", "checking", "accepted", "refused"),
    CheckConstraint("charged >= 0", name="charged"),
    Index(None, "dataset", "query"),
)
"""Who asked what; ``id`` is a uuid in hexadecimal digits, ``query`` the digest of the dry run,
``chosen`` that of what was charged, ``charged`` 0 for a repeat."""
JOB = Table(
    "job",
    METADATA,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("query", String(64), primary_key=True),
    Column("state", String(10), nullable=False, index=True),
    Column("lane", Integer, nullable=False),
    Column("begins", Moment, nullable=False),
    Column("due", Moment, nullable=False),
    _json("result"),
    Column("page", Text),
    ForeignKeyConstraint(["version", "query"], ["answer.version", "answer.query"]),
    _one_of("state", "queued", "running", "computed"),
)
"""Answers to compute; each was charged for before, and is shown from ``due`` on."""
PERSON_REQUEST = Table(
    "person_request",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("account", ForeignKey("account.id"), nullable=False, index=True),
    Column("dataset", ForeignKey("dataset.name"), nullable=False),
    Column("query", String(64), nullable=False),
    Column("reason", Text, nullable=False),
    Column("code", Text, nullable=False),
    Column("state", String(10), nullable=False, index=True),
    Column("reply", Text, nullable=False, server_default=""),
    Column("steward", String(LONGEST_NAME)),
    Column("made", Moment, nullable=False),
    Column("closed", Moment),
    _one_of("state", "open", "answered", "refused", "released", "withdrawn"),
)
"""Questions to stewards, since privacy cannot decide them; ``id`` is a uuid in hexadecimal digits,
``query`` the digest of a dry run."""
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


_MARK = Table("verification_server", METADATA, Column("version", Integer, primary_key=True))
"""Version of the tables; a database without it is none of a server."""


def create_tables(engine: Engine) -> None:
    """Make all tables of the server in an empty database, whole or not at all.

    A database that has them stays as it is.

    Raises
    ------
    LedgerError
        If the database fails, or is of another version of the program or of another program.
    """
    with transaction(engine, "nothing was changed") as store:
        if engine.dialect.name == "postgresql":  # one server after the other
            store.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_TURN})")
        there = inspect(store).get_table_names()
        if not there:
            METADATA.create_all(store)
            store.execute(insert(_MARK).values(version=_VERSION))
        elif _MARK.name not in there:
            raise LedgerError(
                f"{place_of(engine)} has tables of another program, or is a steward's ledger; "
                "name an empty database for the server"
            )
        elif store.execute(select(_MARK.c.version)).scalars().all() != [_VERSION]:
            raise LedgerError(
                f"{place_of(engine)} is of another version of the program; start that one, or "
                "name an empty database"
            )
