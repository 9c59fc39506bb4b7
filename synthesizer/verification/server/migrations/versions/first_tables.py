"""The first tables: ledger, accounts, queries, jobs, audit.

What is written here stays: later changes are steps of their own.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

KEPT = (
    ("dataset", "no_end_of_dataset", "DELETE", "kept", ""),
    ("version", "no_end_of_version", "DELETE", "kept", ""),
    ("version", "one_key", "UPDATE", "kept", ""),
    ("budget", "no_end_of_budget", "DELETE", "kept", ""),
    ("budget", "no_refund", "UPDATE OF spent", "no refund", "new.spent < old.spent"),
    ("budget", "one_budget", "UPDATE OF dataset, scope, name", "kept", ""),
    ("answer", "no_end_of_answer", "DELETE", "kept", ""),
    (
        "answer", "one_question",
        'UPDATE OF version, query, content, "user", analysis, epsilon, asked', "kept", "",
    ),
    ("answer", "one_answer", "UPDATE OF released", "kept", "old.released IS NOT NULL"),
    ("audit", "no_end_of_audit", "DELETE", "append only", ""),
    ("audit", "no_change_of_audit", "UPDATE", "append only", ""),
)  # fmt: skip
"""Table, trigger, change, word of the refusal, condition."""
REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation'; END $$
"""


def whole(column: str) -> sa.CheckConstraint:
    """Return a CHECK for SQLite, whose columns of numbers take texts, too."""
    check = sa.CheckConstraint(f"typeof({column}) = 'integer'", name=f"{column}_whole")
    return check.ddl_if(dialect="sqlite")


def keep() -> None:
    """Make the triggers."""
    is_lite = op.get_bind().dialect.name == "sqlite"
    if not is_lite:
        op.execute(REFUSE)
    for table, name, change, why, when in KEPT:
        clause = f" WHEN ({when})" if when else ""
        begin = f"CREATE TRIGGER {name} BEFORE {change} ON {table}"
        refuse = f"EXECUTE FUNCTION refuse('{why}')"
        if is_lite:
            op.execute(f"{begin}{clause} BEGIN SELECT RAISE(ABORT, '{why}'); END")
            continue
        op.execute(f"{begin} FOR EACH ROW{clause} {refuse}")
        if change == "DELETE":
            cut = f"CREATE TRIGGER {name}_all BEFORE TRUNCATE ON {table}"
            op.execute(f"{cut} FOR EACH STATEMENT {refuse}")


def upgrade() -> None:
    """Make tables and triggers."""
    op.create_table(
        "account",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("password", sa.Text()),
        sa.Column("is_active", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("made", sa.String(length=32), nullable=False),
        sa.CheckConstraint("role IN ('researcher', 'steward', 'admin')", name="role"),
        sa.PrimaryKeyConstraint("id", name="pk_account"),
        sa.UniqueConstraint("name", name="uq_account_name"),
    )
    op.create_table(
        "attempt",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("who", sa.String(length=64), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_attempt"),
    )
    op.create_index("ix_attempt_who_at", "attempt", ["who", "at"])
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("dataset", sa.String(length=200), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("previous", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.CheckConstraint("length(hash) = 64", name="hash"),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_action", "audit", ["action"])
    op.create_table(
        "dataset",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("user_cap", sa.BigInteger(), nullable=False),
        sa.Column("analysis_cap", sa.BigInteger(), nullable=False),
        sa.Column("is_paused", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_dataset"),
    )
    op.create_table(
        "budget",
        sa.Column("dataset", sa.String(length=200), nullable=False),
        sa.Column("scope", sa.String(length=8), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("cap", sa.BigInteger(), nullable=False),
        sa.Column("spent", sa.BigInteger(), server_default="0", nullable=False),
        sa.CheckConstraint("scope IN ('global', 'user', 'analysis')", name="scope"),
        whole("cap"),
        whole("spent"),
        sa.CheckConstraint("cap > 0", name="cap"),
        sa.CheckConstraint("spent >= 0 AND spent <= cap", name="spent"),
        sa.ForeignKeyConstraint(["dataset"], ["dataset.name"], name="fk_budget_dataset"),
        sa.PrimaryKeyConstraint("dataset", "scope", "name", name="pk_budget"),
    )
    op.create_table(
        "dry_run",
        sa.Column("dataset", sa.String(length=200), nullable=False),
        sa.Column("query", sa.String(length=64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("charge", sa.BigInteger()),
        sa.Column("problems", sa.JSON()),
        sa.Column("result", sa.JSON()),
        sa.Column("page", sa.Text()),
        sa.Column("account", sa.Integer(), nullable=False),
        sa.Column("asked", sa.String(length=32), nullable=False),
        sa.CheckConstraint("state IN ('waiting', 'running', 'done', 'refused')", name="state"),
        sa.ForeignKeyConstraint(["account"], ["account.id"], name="fk_dry_run_account"),
        sa.ForeignKeyConstraint(["dataset"], ["dataset.name"], name="fk_dry_run_dataset"),
        sa.PrimaryKeyConstraint("dataset", "query", name="pk_dry_run"),
    )
    op.create_index("ix_dry_run_account", "dry_run", ["account"])
    op.create_index("ix_dry_run_state", "dry_run", ["state"])
    op.create_table(
        "session",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("account", sa.Integer(), nullable=False),
        sa.Column("csrf", sa.String(length=64), nullable=False),
        sa.Column("made", sa.String(length=32), nullable=False),
        sa.Column("expires", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["account.id"], name="fk_session_account"),
        sa.PrimaryKeyConstraint("digest", name="pk_session"),
    )
    op.create_index("ix_session_account", "session", ["account"])
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("account", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("label", sa.String(length=200), nullable=False),
        sa.Column("made", sa.String(length=32), nullable=False),
        sa.Column("expires", sa.String(length=32), nullable=False),
        sa.Column("revoked", sa.String(length=32)),
        sa.ForeignKeyConstraint(["account"], ["account.id"], name="fk_token_account"),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
        sa.UniqueConstraint("digest", name="uq_token_digest"),
    )
    op.create_index("ix_token_account", "token", ["account"])
    op.create_table(
        "version",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dataset", sa.String(length=200), nullable=False),
        sa.Column("data", sa.String(length=64), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("made", sa.String(length=32), nullable=False),
        sa.CheckConstraint("length(data) = 64", name="data"),
        sa.CheckConstraint("length(key) = 32", name="key"),
        sa.ForeignKeyConstraint(["dataset"], ["dataset.name"], name="fk_version_dataset"),
        sa.PrimaryKeyConstraint("id", name="pk_version"),
        sa.UniqueConstraint("dataset", "data", name="uq_version_dataset_data"),
    )
    op.create_table(
        "answer",
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("query", sa.String(length=64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("user", sa.String(length=200), nullable=False),
        sa.Column("analysis", sa.String(length=200), nullable=False),
        sa.Column("epsilon", sa.BigInteger(), nullable=False),
        sa.Column("asked", sa.String(length=32), nullable=False),
        sa.Column("released", sa.Text()),
        whole("epsilon"),
        sa.CheckConstraint("epsilon > 0", name="epsilon"),
        sa.ForeignKeyConstraint(["version"], ["version.id"], name="fk_answer_version"),
        sa.PrimaryKeyConstraint("version", "query", name="pk_answer"),
    )
    op.create_table(
        "submission",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("account", sa.Integer(), nullable=False),
        sa.Column("dataset", sa.String(length=200), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("query", sa.String(length=64), nullable=False),
        sa.Column("analysis", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("problems", sa.JSON()),
        sa.Column("charged", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("made", sa.String(length=32), nullable=False),
        sa.Column("shown", sa.String(length=32)),
        sa.CheckConstraint("state IN ('checking', 'accepted', 'refused')", name="state"),
        sa.CheckConstraint("charged >= 0", name="charged"),
        sa.ForeignKeyConstraint(["account"], ["account.id"], name="fk_submission_account"),
        sa.ForeignKeyConstraint(["dataset"], ["dataset.name"], name="fk_submission_dataset"),
        sa.ForeignKeyConstraint(["version"], ["version.id"], name="fk_submission_version"),
        sa.PrimaryKeyConstraint("id", name="pk_submission"),
    )
    op.create_index("ix_submission_account", "submission", ["account"])
    op.create_index("ix_submission_dataset_query", "submission", ["dataset", "query"])
    op.create_table(
        "job",
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("query", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("lane", sa.Integer(), nullable=False),
        sa.Column("begins", sa.String(length=32), nullable=False),
        sa.Column("due", sa.String(length=32), nullable=False),
        sa.Column("result", sa.JSON()),
        sa.Column("page", sa.Text()),
        sa.CheckConstraint("state IN ('queued', 'running', 'computed')", name="state"),
        sa.ForeignKeyConstraint(
            ["version", "query"], ["answer.version", "answer.query"], name="fk_job_version_query"
        ),
        sa.PrimaryKeyConstraint("version", "query", name="pk_job"),
    )
    op.create_index("ix_job_state", "job", ["state"])
    keep()
