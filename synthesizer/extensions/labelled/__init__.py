"""Files of SPSS, Stata, SAS and Excel: read with their labels; SPSS and Stata written, too."""

from __future__ import annotations

from synthesizer.data.plugins import Extension

EXTENSION = Extension()
"""It adds only formats, each by a separate entry point; see ``labelled_formats.py``."""
