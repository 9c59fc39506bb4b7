"""Tables of the server besides those of the ledger, and their creation.

Times are aware datetimes (`Moment`), charges millionths of epsilon. JSON columns store ``None`` as
NULL. References to a query are digests of its canonical form.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from synthesizer.extensions.verification.database import (
    METADATA,
    Moment,
    database_name,
    forbid,
    transaction,
)
from synthesizer.extensions.verification.ledger import MAX_NAME
from synthesizer.extensions.verification.messages import WORDS, LedgerError

_VERSION = 1
"""Version of the tables; databases of other versions are refused."""


def _one_of(name: str, *words: str) -> sa.CheckConstraint:
    listed = ", ".join(f"'{word}'" for word in words)
    return sa.CheckConstraint(f"{name} IN ({listed})", name=name)


def _json(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.JSON(none_as_null=True))


ACCOUNT = sa.Table(
    "account",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(MAX_NAME), nullable=False, unique=True),
    sa.Column("role", sa.String(10), nullable=False),
    sa.Column("is_active", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column("made", Moment, nullable=False),
    _one_of("role", "researcher", "steward", "admin"),
)
"""Accounts of people and programs."""
TOKEN = sa.Table(
    "token",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("account", sa.ForeignKey("account.id"), nullable=False, index=True),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    sa.Column("label", sa.String(MAX_NAME), nullable=False),
    sa.Column("made", Moment, nullable=False),
    sa.Column("expires", Moment, nullable=False),
    sa.Column("revoked", Moment),
)
"""Bearer tokens by their SHA-256."""
SESSION = sa.Table(
    "session",
    METADATA,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("token", sa.ForeignKey("token.id"), nullable=False, index=True),
    sa.Column("expires", Moment, nullable=False),
)
"""Sessions of the pages: SHA-256 of the cookie, and the token that began it."""
DRY_RUN = sa.Table(
    "dry_run",
    METADATA,
    sa.Column("dataset", sa.ForeignKey("dataset.name"), primary_key=True),
    sa.Column("query", sa.String(64), primary_key=True),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("state", sa.String(10), nullable=False, index=True),
    sa.Column("charge", sa.BigInteger),
    _json("problems"),
    _json("result"),
    sa.Column("page", sa.Text),
    sa.Column("chosen", sa.String(64)),
    sa.Column("chosen_content", sa.Text),
    sa.Column("outlook", sa.String(10)),
    _json("words"),
    sa.Column("limits", sa.String(64)),
    sa.Column("account", sa.ForeignKey("account.id"), nullable=False, index=True),
    sa.Column("asked", Moment, nullable=False),
    _one_of("state", "waiting", "running", "done", "refused"),
    _one_of("outlook", "decided", "open", "impossible"),
)
"""Free dry runs, each made once. ``query`` is the digest of the question, ``chosen`` that of the
charged query with its numbers; ``outlook`` is NULL if an expert chose the numbers. ``limits`` is
the digest of its limits and files, NULL until it is done."""
PROJECT = sa.Table(
    "project",
    METADATA,
    sa.Column("name", sa.String(MAX_NAME), primary_key=True),
    sa.Column("dataset", sa.ForeignKey("dataset.name"), nullable=False),
    sa.Column("questions", sa.Integer, nullable=False),
    sa.Column("made", Moment, nullable=False),
    sa.CheckConstraint("questions > 0", name="questions"),
)
"""Projects; the budget in the ledger has the scope ``analysis`` and this name."""
MEMBER = sa.Table(
    "member",
    METADATA,
    sa.Column("project", sa.ForeignKey("project.name"), primary_key=True),
    sa.Column("account", sa.ForeignKey("account.id"), primary_key=True),
)
"""Researchers of projects."""
SUBMISSION = sa.Table(
    "submission",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("account", sa.ForeignKey("account.id"), nullable=False, index=True),
    sa.Column("dataset", sa.ForeignKey("dataset.name"), nullable=False),
    sa.Column("version", sa.ForeignKey("version.id"), nullable=False),
    sa.Column("query", sa.String(64), nullable=False),
    sa.Column("chosen", sa.String(64)),
    sa.Column("project", sa.ForeignKey("project.name"), nullable=False),
    sa.Column("state", sa.String(10), nullable=False),
    _json("problems"),
    sa.Column("charged", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("made", Moment, nullable=False),
    sa.Column("shown", Moment),
    _one_of("state", "checking", "accepted", "refused"),
    sa.CheckConstraint("charged >= 0", name="charged"),
    sa.Index(None, "dataset", "query"),
)
"""Questions of users; ``id`` is a uuid in hexadecimal digits, ``query`` the digest of the dry run,
``chosen`` that of the charged query, ``charged`` 0 for a repeat."""
JOB = sa.Table(
    "job",
    METADATA,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("query", sa.String(64), primary_key=True),
    sa.Column("state", sa.String(10), nullable=False, index=True),
    sa.Column("lane", sa.Integer, nullable=False),
    sa.Column("begins", Moment, nullable=False),
    sa.Column("due", Moment, nullable=False),
    sa.Column("limits", sa.String(64), nullable=False),
    _json("result"),
    sa.Column("page", sa.Text),
    sa.ForeignKeyConstraint(["version", "query"], ["answer.version", "answer.query"]),
    _one_of("state", "queued", "running", "computed"),
)
"""Charged answers to compute, shown from ``due`` on. ``limits`` as of the dry run."""
PERSON_REQUEST = sa.Table(
    "person_request",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("account", sa.ForeignKey("account.id"), nullable=False, index=True),
    sa.Column("dataset", sa.ForeignKey("dataset.name"), nullable=False),
    sa.Column("query", sa.String(64), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("code", sa.Text, nullable=False),
    sa.Column("state", sa.String(10), nullable=False, index=True),
    sa.Column("reply", sa.Text, nullable=False, server_default=""),
    sa.Column("steward", sa.String(MAX_NAME)),
    sa.Column("made", Moment, nullable=False),
    sa.Column("closed", Moment),
    _one_of("state", "open", "answered", "refused", "released", "withdrawn"),
)
"""Questions to stewards; ``id`` is a uuid in hexadecimal digits, ``query`` the digest of a dry
run."""
AUDIT = sa.Table(
    "audit",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", Moment, nullable=False),
    sa.Column("actor", sa.String(MAX_NAME), nullable=False),
    sa.Column("action", sa.String(40), nullable=False, index=True),
    sa.Column("dataset", sa.String(MAX_NAME), nullable=False),
    sa.Column("details", sa.Text, nullable=False),
    sa.Column("previous", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.CheckConstraint("length(hash) = 64", name="hash"),
)
"""Audit log, a chain of hashes (`synthesizer.extensions.verification.server.audit`)."""
forbid(AUDIT, "no_end_of_audit", "DELETE", "append only")
forbid(AUDIT, "no_change_of_audit", "UPDATE", "append only")


_MARK = sa.Table(
    "verification_server", METADATA, sa.Column("version", sa.Integer, primary_key=True)
)
"""Version of the tables; a database without it is no server database."""


def create_tables(engine: sa.Engine) -> None:
    """Create all tables of the server in an empty database, in one transaction.

    A database with these tables stays unchanged.

    Raises
    ------
    LedgerError
        If the database fails, or belongs to another program or version.
    """
    with transaction(engine, "nothing was changed") as store:
        if engine.dialect.name == "postgresql":  # one server after the other
            # any fixed number, for making the tables
            store.exec_driver_sql("SELECT pg_advisory_xact_lock(17)")
        there = sa.inspect(store).get_table_names()
        if not there:
            METADATA.create_all(store)
            store.execute(sa.insert(_MARK).values(version=_VERSION))
        elif _MARK.name not in there:
            raise LedgerError(WORDS["refused"]["other_tables"].format(database_name(engine)))
        elif store.execute(sa.select(_MARK.c.version)).scalars().all() != [_VERSION]:
            raise LedgerError(WORDS["refused"]["other_program"].format(database_name(engine)))
