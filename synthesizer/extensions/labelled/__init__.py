"""Files of SPSS, Stata, SAS and Excel: read with their labels; SPSS and Stata written, too."""

from __future__ import annotations

from synthesizer.data.plugins import Extension

EXTENSION = Extension()
"""It adds formats alone, each by an entry point of its own; see ``labelled_formats.py``."""
