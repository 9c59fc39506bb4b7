"""Answers about confidential analyses under differential privacy, at a charge that is counted."""

from __future__ import annotations

from synthesizer.data.plugins import CommandGroup, Extension
from synthesizer.extensions.verification.verification_commands import COMMANDS

EXTENSION = Extension(
    task="Verify findings",
    commands=(
        CommandGroup(
            "verification",
            "Answer questions under differential privacy: schema, ledger, server.",
            COMMANDS,
        ),
    ),
    former_commands={
        "public-schema": "verification schema",
        "ledger": "verification new-ledger, show-ledger or cap-ledger",
        "verify": "verification answer",
        "serve": "verification serve",
        "server": "verification add-account, check-server or backup-server",
    },
)
