"""Sources of bad configurations, for the file of messages."""

from __future__ import annotations

from typing import Any

from tests.extensions.private.small_private import VARIABLES, text_of

SOURCES: dict[str, tuple[str, dict[str, Any]]] = {
    "private": (text_of(1, 150), {"variables": VARIABLES}),
}
