"""Options of files of structure."""

from __future__ import annotations

from synthesizer.data.options import options


@options(strict=False)
class StructureOptions:
    """A file of structure has no options."""
