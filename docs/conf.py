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
autodoc_typehints = "none"  # the docstrings say them
default_role = "literal"
napoleon_google_docstring = False


def setup(app: Sphinx) -> None:
    """Fill pages with what is made from the code."""
    from site_pages import filled

    def fill(_app: Sphinx, _page: str, source: list[str]) -> None:
        source[0] = filled(source[0])

    app.connect("source-read", fill)
