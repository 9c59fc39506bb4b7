"""A whole page from sections: one HTML file that needs nothing but itself.

A content policy in the page forbids every request; its own style sheet and script are let in by
their hashes. Everything that comes from data is escaped by the templates.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from synthesizer.report.numbers import DASH, written
from synthesizer.report.parts import Block, Cell, Chart, DataTable, Form, Gap, Note, Section, Words

__all__ = ["fragment", "from_template", "render"]

_KINDS: dict[type, str] = {
    DataTable: "table",
    Chart: "chart",
    Words: "words",
    Note: "note",
    Gap: "gap",
    Markup: "markup",
}
# rows up to which the numbers behind a chart are printed with it
_SHORT = 12
# a name of the data with one of these would turn the numbers after it around
_TURNING = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")
# letters from which a cell is a sentence and needs room
_PROSE = 40


def render(
    title: str,
    sections: Sequence[Section],
    *,
    banner: str,
    subtitle: str = "",
    data: Mapping[str, Any] | None = None,
    scripts: Sequence[str] = (),
    for_release: bool = False,
) -> str:
    """Return a page as HTML.

    Parameters
    ----------
    title : str
        Heading and name of the page.
    sections : sequence of Section
        In order; they are linked from the page's contents.
    banner : str
        Line on the page's face, and on top of every printed page, that says for whom it is; none
        where empty.
    subtitle : str
        Below the title.
    data : mapping, optional
        What the page's script needs; plain values. Numbers that are not finite become null.
    scripts : sequence of str
        Further files of ``assets`` that act on the page, after its own.
    for_release : bool
        Whether the page may leave the house: its banner then has another colour than that of a
        confidential one.

    Returns
    -------
    str
        The HTML of a file that works from disk without a network.

    Examples
    --------
    >>> page = render("Report", [Section(anchor="a", title="A", lead="", blocks=[])], banner="Mine")
    >>> "default-src 'none'" in page, '<section id="a"' in page
    (True, True)
    """
    style = Markup(_style(banner))  # noqa: S704 - our own file; the banner is escaped for CSS
    acting = "\n".join(map(_asset, ("page.js", *scripts)))
    script = Markup(acting)  # noqa: S704 - our own files
    page = (
        _environment()
        .get_template("page.html")
        .render(
            title=title,
            subtitle=subtitle,
            banner=banner,
            for_release=for_release,
            sections=sections,
            style=style,
            script=script,
            policy=_policy(style, script),
            data=_embedded(data),
            short=_SHORT,
        )
    )
    # half a surrogate pair, which JSON may hold, cannot be written to a file
    return page.translate(_TURNING).encode("utf-8", "replace").decode("utf-8")


def fragment(block: Block) -> Markup:
    """Return a block as HTML, for blocks that stand within another piece of HTML.

    Examples
    --------
    >>> fragment(Note("1 < 2"))
    Markup('<p class="note plain" role="note">1 &lt; 2</p>')
    """
    return from_template("fragment.html", block=block)


def from_template(name: str, **values: Any) -> Markup:
    """Return a piece of HTML from a template of the package; values are escaped by it."""
    text = _environment().get_template(name).render(short=_SHORT, **values)
    return Markup(text.strip())  # noqa: S704 - the template escapes


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("synthesizer.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["dash"] = DASH
    environment.filters |= {"kind": _kind, "written": written, "cells": _cells}
    return environment


def _kind(block: Block) -> str:
    return _KINDS[type(block)]


def _cells(row: Sequence[Cell], forms: Sequence[Form]) -> list[dict[str, Any]]:
    """Return what the template needs of a row; ``raw`` is what a column is sorted by."""
    return [
        {
            "shown": written(value, form),
            "form": form,
            "number": form != "text",
            "prose": isinstance(value, str) and len(value) > _PROSE,
            "raw": value if _is_number(value) else None,
        }
        for value, form in zip(row, forms, strict=True)
    ]


def _is_number(value: Cell) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _asset(name: str) -> str:
    path = resources.files("synthesizer.report").joinpath("assets", name)
    return path.read_text(encoding="utf-8").strip()


def _style(banner: str) -> str:
    """Return the style sheet, with the banner in the top margin of printed pages."""
    escaped = "".join(
        letter if letter.isascii() and letter.isalnum() else f"\\{ord(letter):x} "
        for letter in banner
    )
    return _asset("page.css").replace("__BANNER__", escaped)


def _policy(style: str, script: str) -> str:
    """Return the content policy: nothing may be requested, only these two texts may act."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _embedded(data: Mapping[str, Any] | None) -> Markup | None:
    """Return JSON that cannot end the element that it stands in."""
    if data is None:
        return None
    plain = json.dumps(_finite(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        plain = plain.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(plain)  # noqa: S704 - escaped above


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return None
    return value
