"""Looking into sections: blocks of a kind, and all their words."""

from __future__ import annotations

from typing import TypeVar

from markupsafe import Markup

from synthesizer.report.page import Block, Chart, DataTable, Gap, Note, Section, fragment

Kind = TypeVar("Kind", Chart, DataTable, Gap, Note, Markup)


def of_kind(section: Section, kind: type[Kind]) -> list[Kind]:
    return [block for block in section.blocks if type(block) is kind]


def table(section: Section, start: str) -> DataTable:
    """Return the only table whose caption starts so."""
    (found,) = [t for t in of_kind(section, DataTable) if t.caption.startswith(start)]
    return found


def html(section: Section) -> str:
    """Return a section's blocks as the page shows them."""
    return "\n".join(fragment(block) for block in section.blocks)


def gaps(section: Section) -> list[str]:
    return [block.what for block in of_kind(section, Gap)]


def told(blocks: list[Block]) -> str:
    return " ".join(str(block) for block in blocks)
