"""What Alembic runs: the steps, on the connection that `server_tables.upgrade` hands over."""

from alembic import context

from synthesizer.verification.database import METADATA


def run() -> None:
    """Run the steps within the caller's transaction."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=METADATA,
        render_as_batch=True,
    )
    context.run_migrations()


if hasattr(context, "config"):  # not where a test only imports it
    run()
