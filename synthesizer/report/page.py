"""Blocks as HTML: a page of sections in one self-contained file.

A content security policy forbids all requests; it permits the page's style sheet and script by
their hashes. The templates escape all values from data.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from synthesizer.report.blocks import (
    DASH,
    Block,
    Cell,
    Chart,
    DataTable,
    Fold,
    Form,
    Gap,
    Heading,
    Note,
    Section,
    Words,
    is_number,
    written,
)

_KINDS: dict[type, str] = {
    DataTable: "table",
    Chart: "chart",
    Words: "words",
    Note: "note",
    Gap: "gap",
    Fold: "fold",
    Heading: "heading",
    Markup: "markup",
}
_SHORT = 12
"""Rows up to which the numbers of a chart are printed."""
_BIDI_CONTROLS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")
"""Letters that would reverse the numbers after them, with their replacement."""
_PROSE_LETTERS = 40
"""Letters from which a cell is a sentence."""


def render(
    title: str,
    sections: Sequence[Section],
    *,
    banner: str,
    subtitle: str = "",
    data: Mapping[str, Any] | None = None,
    glossary: Mapping[str, str] | None = None,
    for_release: bool = False,
) -> str:
    """Return a page as HTML that works from disk without a network.

    ``banner`` names the readers of the page, also on each printed page; its colour differs if the
    page is ``for_release``. ``data`` are plain values for the script; numbers that are not finite
    become null. ``glossary`` has the meaning of short names, to which sections link.

    Examples
    --------
    >>> page = render("Report", [Section(anchor="a", title="A", lead="", blocks=[])], banner="Mine")
    >>> "default-src 'none'" in page, '<section id="a"' in page
    (True, True)
    """
    style = Markup(style_sheet(banner))  # noqa: S704 - file of the package; the banner is escaped
    script = Markup(_asset("page.js"))  # noqa: S704 - file of the package
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
            glossary=glossary or {},
            short=_SHORT,
        )
    )
    return sound_text(page)


def sound_text(page: str) -> str:
    """Return a page without bidirectional controls and single surrogates.

    A single surrogate, which JSON permits, cannot be written to a file.
    """
    return page.translate(_BIDI_CONTROLS).encode("utf-8", "replace").decode("utf-8")


def fragment(block: Block) -> Markup:
    """Return a block as HTML, for use within other HTML."""
    return from_template("fragment.html", block=block)


def sections_html(sections: Iterable[Section]) -> Markup:
    """Return sections as HTML, for pages without `render`."""
    return from_template("sections.html", sections=list(sections))


def from_template(name: str, **values: Any) -> Markup:
    """Return HTML from a template of the package, which escapes the values."""
    text = _environment().get_template(name).render(short=_SHORT, **values)
    return Markup(text.strip())  # noqa: S704 - the template escapes


def html_templates(package: str) -> Environment:
    """Return the templates of a package; they escape values and refuse unknown ones."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _environment() -> Environment:
    environment = html_templates("synthesizer.report")
    environment.globals |= {"dash": DASH, "glossary": {}}
    environment.filters |= {"kind": lambda block: _KINDS[type(block)], "written": written}
    environment.filters |= {"cells": _cells, "terms": _terms, "slug": slug}
    return environment


def _cells(row: Sequence[Cell], forms: Sequence[Form]) -> list[dict[str, Any]]:
    """Return the cells of a row for the template; ``raw`` is the sort key."""
    return [
        {
            "shown": written(value, form),
            "form": form,
            "number": form != "text",
            "prose": isinstance(value, str) and len(value) > _PROSE_LETTERS,
            "raw": value if is_number(value) else None,
        }
        for value, form in zip(row, forms, strict=True)
    ]


def slug(name: str) -> str:
    """Return the anchor of a term of the glossary."""
    return f"term-{re.sub('[^a-z0-9]+', '-', name.lower())}"


def _terms(html: Markup, glossary: Mapping[str, str]) -> list[str]:
    """Return the terms of the glossary that occur in a section."""
    occur = (name for name in glossary if name in html)  # the search of words is slow
    return [name for name in occur if re.search(rf"(?<![\w-]){re.escape(name)}(?!\w)", html)]


def _asset(name: str) -> str:
    return resources.files("synthesizer.report").joinpath("assets", name).read_text("utf-8").strip()


def style_sheet(banner: str = "") -> str:
    """Return the style sheet of all pages, with a banner in the top margin of printed ones."""
    escaped = "".join(
        letter if letter.isascii() and letter.isalnum() else f"\\{ord(letter):x} "
        for letter in banner
    )
    return _asset("page.css").replace("__BANNER__", escaped)


def frame_style() -> dict[str, Markup | str]:
    """Return style and content policy of a page without a script.

    The style is one line. The page of a frame is an attribute; some programs change line ends in
    it, and then the hash of the policy would fail.
    """
    style = " ".join(style_sheet().partition("@media print")[0].split())
    policy = f"default-src 'none'; style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"
    return {"style": Markup(style), "policy": policy}  # noqa: S704 - file of the package


def chart_style() -> str:
    """Return the style of a separate picture: light colours on white."""
    sheet = _asset("page.css")
    colours = dict(re.findall(r"(--[\w-]+): (#\w+)", sheet.partition("}")[0]))
    rules = sheet[sheet.index(".chart {") : sheet.index("@media print")]
    rules = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", rules)
    rules = re.sub(r"var\((--[\w-]+)\)", lambda match: colours[match[1]], rules)
    return f"svg {{ font-family: system-ui, sans-serif; }}\n{rules.strip()}"


def _policy(style: str, script: str) -> str:
    """Return the content policy: no requests, only this style and this script."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _embedded(data: Mapping[str, Any] | None) -> Markup | None:
    """Return JSON that cannot close its HTML element."""
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
