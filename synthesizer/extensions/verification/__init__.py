"""Differentially private answers about confidential data; a ledger counts the charges."""

from __future__ import annotations

from synthesizer.data.plugins import Extension, late

EXTENSION = Extension(
    task="Verify findings",
    commands=late(f"{__name__}.verification_commands:commands"),
    former_commands={
        "public-schema": "verification schema",
        "ledger": "verification new-ledger, show-ledger or cap-ledger",
        "verify": "verification answer",
        "serve": "verification serve",
        "server": "verification add-account, check-server or backup-server",
    },
)
