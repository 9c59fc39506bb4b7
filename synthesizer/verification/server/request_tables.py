"""The table of questions that a person answers, since privacy cannot decide them."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, ForeignKey, String, Table, Text

from synthesizer.verification.database import METADATA, Moment

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
    Column("verdict", String(6), nullable=False, server_default=""),
    Column("reply", Text, nullable=False, server_default=""),
    Column("steward", ForeignKey("account.id")),
    Column("made", Moment, nullable=False),
    Column("closed", Moment),
    CheckConstraint(
        "state IN ('open', 'answered', 'refused', 'released', 'withdrawn')", name="state"
    ),
)
"""Questions to stewards; ``id`` is a uuid in hexadecimal digits, ``query`` the digest of a dry
run."""
