"""Print blocks as HTML: a page of sections, one self-contained file.

A content policy in the page forbids every request; its own style sheet and script are let in by
their hashes. Everything that comes from data is escaped by the templates.
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
"""Rows up to which the numbers behind a chart are printed with it."""
_TURNING = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")
"""A name of the data with one of these would turn the numbers after it around."""
_PROSE = 40
"""Letters from which a cell is a sentence and needs room."""


def render(
    title: str,
    sections: Sequence[Section],
    *,
    banner: str,
    subtitle: str = "",
    data: Mapping[str, Any] | None = None,
    for_release: bool = False,
) -> str:
    """Return a page as HTML that works from disk without a network.

    ``banner`` says for whom the page is, on its face and on top of every printed page; it has
    another colour than that of a confidential one where the page is ``for_release``. ``data`` is
    what the page's script needs: plain values; numbers that are not finite become null.

    Examples
    --------
    >>> page = render("Report", [Section(anchor="a", title="A", lead="", blocks=[])], banner="Mine")
    >>> "default-src 'none'" in page, '<section id="a"' in page
    (True, True)
    """
    style = Markup(style_sheet(banner))  # noqa: S704 - our own file; the banner is escaped for CSS
    script = Markup(_asset("page.js"))  # noqa: S704 - our own file
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
    return sound_text(page)


def sound_text(page: str) -> str:
    """Return a page without letters that turn the text after them around or are no letters.

    Half a surrogate pair, which JSON may hold, cannot be written to a file.
    """
    return page.translate(_TURNING).encode("utf-8", "replace").decode("utf-8")


def fragment(block: Block) -> Markup:
    """Return a block as HTML, for blocks that stand within another piece of HTML."""
    return from_template("fragment.html", block=block)


def sections_html(sections: Iterable[Section]) -> Markup:
    """Return sections as HTML, for pages that are not made by `render`."""
    return from_template("sections.html", sections=list(sections))


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
    environment.filters |= {"kind": lambda block: _KINDS[type(block)], "written": written}
    environment.filters["cells"] = _cells
    return environment


def _cells(row: Sequence[Cell], forms: Sequence[Form]) -> list[dict[str, Any]]:
    """Return what the template needs of a row; ``raw`` is what a column is sorted by."""
    return [
        {
            "shown": written(value, form),
            "form": form,
            "number": form != "text",
            "prose": isinstance(value, str) and len(value) > _PROSE,
            "raw": value if is_number(value) else None,
        }
        for value, form in zip(row, forms, strict=True)
    ]


def _asset(name: str) -> str:
    path = resources.files("synthesizer.report").joinpath("assets", name)
    return path.read_text(encoding="utf-8").strip()


def style_sheet(banner: str = "") -> str:
    """Return the style sheet of all pages, with a banner in the top margin of printed ones."""
    escaped = "".join(
        letter if letter.isascii() and letter.isalnum() else f"\\{ord(letter):x} "
        for letter in banner
    )
    return _asset("page.css").replace("__BANNER__", escaped)


def own_style() -> dict[str, Markup | str]:
    """Return the style of a page without a script, and the policy that lets nothing else in.

    It is one line: a frame's page is an attribute, in which some readers take line ends for blanks,
    and the policy knows the style by its letters.
    """
    style = " ".join(style_sheet().partition("@media print")[0].split())
    policy = f"default-src 'none'; style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"
    return {"style": Markup(style), "policy": policy}  # noqa: S704 - our own file


def chart_style() -> str:
    """Return the style of a picture that stands alone: on white, with the light colours."""
    sheet = _asset("page.css")
    colours = dict(re.findall(r"(--[\w-]+): (#\w+)", sheet.partition("}")[0]))
    rules = sheet[sheet.index(".chart {") : sheet.index("@media print")]
    rules = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", rules)
    rules = re.sub(r"var\((--[\w-]+)\)", lambda found: colours[found[1]], rules)
    return f"svg {{ font-family: system-ui, sans-serif; }}\n{rules.strip()}"


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
