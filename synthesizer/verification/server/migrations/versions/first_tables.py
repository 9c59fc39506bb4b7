"""The first tables, as `server_tables` has them."""

from alembic import op

from synthesizer.verification.server.server_tables import METADATA

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make tables and triggers."""
    METADATA.create_all(op.get_bind())
