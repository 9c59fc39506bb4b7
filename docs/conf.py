"""Settings of the documentation site; ``sphinx-build -W docs site`` builds it without a network."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

project = html_title = "synthesizer"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_copy_source = html_show_sphinx = html_show_copyright = False
myst_heading_anchors = 4
smartquotes = False  # `--control` keeps its two signs
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings contain them
default_role = "literal"
napoleon_google_docstring = False


FOR_ALL = {
    'role="heading"': 'role="heading" aria-level="2"',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="pages">',
    '<aside class="toc-drawer': '<aside aria-label="this page" class="toc-drawer',
}
"""What screen readers and the keyboard lack in the pages of the theme."""


def setup(app: Sphinx) -> None:
    """Fill pages with what is made from the code, and mend what the theme lacks."""
    from site_pages import filled

    def fill(_app: Sphinx, _page: str, source: list[str]) -> None:
        source[0] = filled(source[0])

    def mend(app: Sphinx, _fault: Exception | None) -> None:
        for page in Path(app.outdir).rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            for before, after in FOR_ALL.items():
                text = text.replace(before, after)
            page.write_text(text, encoding="utf-8")

    app.connect("source-read", fill)
    app.connect("build-finished", mend)
