"""An answer as a source that others can cite: text, BibTeX, R, Stata, CSV, and a folder for SACRO.

It is computed from the answer's JSON, the names of dataset and server, and the date. It contains
nothing of the confidential file except the released answer. The digest of the file is left out,
since a reader who guesses the file could confirm the guess.

Texts of users (titles, levels, formulas) are quoted for each program. BibTeX counts braces even
behind a backslash, so each special character becomes a LaTeX command. Stata replaces macros also
between quotes and reads ``/*`` as a comment, so it gets such characters by number. The SACRO
viewer reads comments as HTML. Spreadsheets compute texts that begin like a formula, so these texts
begin with an apostrophe in CSV (OWASP, CSV injection).
"""

from __future__ import annotations

import csv
import hashlib
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from io import BytesIO, StringIO
from typing import Any, Literal, NamedTuple
from urllib.parse import quote
from zipfile import ZipFile, ZipInfo

from synthesizer.extensions.verification.messages import template
from synthesizer.measures.figure import Column as ShownColumn
from synthesizer.measures.figure import Row, columns
from synthesizer.report.blocks import Cell

ACRO_FORMAT = "1.0.1"
"""Version of ACRO with this form of ``results.json``; the viewer reads 0.4 and later."""
_SPREADSHEET = re.compile(r"^(?=[=+\-@\t\r\n])")
"""Start of a text that a spreadsheet may compute."""
_LABELS = {"holds": "holds_in_synthetic"}
"""Columns with another name than in the answer, where the context explains them."""
_IN_STATA = "\"$`'\\/"
"""Characters with a special meaning in quoted texts of Stata."""
_COMMANDS = "backslash braceleft braceright asciitilde asciicircum less greater bar asciigrave"
_LATEX = {character: f"\\{character}" for character in "&%$#_"} | {
    character: f"{{\\text{name}}}"
    for character, name in zip("\\{}~^<>|`", _COMMANDS.split(), strict=True)
}


class CitedColumn(NamedTuple):
    """A column of an answer, with a value for each statement, cell or range."""

    label: str
    values: tuple[Cell, ...]
    shown: ShownColumn | None
    """Heading and meaning, if the answer has them."""

    @property
    def kind(self) -> Literal["text", "number"]:
        """Kind of its values; true and false count as numbers."""
        return "text" if any(isinstance(value, str) for value in self.values) else "number"


@dataclass(frozen=True)
class Citation:
    """An answer with the other facts of a citation.

    Examples
    --------
    >>> query = {"ask": {"measure": "counts"}, "schema": "5c", "synthetic": "9e"}
    >>> answer = {"words": ["Counts."], "released": [[7]], "cells": [{"cell": "F", "value": 7}]}
    >>> content = {"query": query, "digest": "3f", "charge": 1.0, "answer": answer}
    >>> at = datetime.fromisoformat("2026-11-28T12:00+00:00")
    >>> url = "https://a.example/"
    >>> cited = Citation(content, "How many?", "panel", "A panel", 1, at, "Server", url)
    >>> cited.identifier
    'verification:panel:91cf861b4e85648a'
    >>> [(column.label, column.values, column.kind) for column in cited.columns[1:]]
    [('cell', ('F',), 'text'), ('value', (7,), 'number'), ('epsilon', (1.0,), 'number')]
    """

    content: Mapping[str, Any]
    """The answer as `synthesizer verification answer --json` prints it."""
    question: str
    """In words."""
    dataset: str
    title: str
    """Of the dataset."""
    version: int
    """Of the confidential file, counted from 1."""
    answered: datetime
    """In UTC."""
    author: str
    """Name of the author."""
    url: str
    """Of the page that shows the answer."""

    @property
    def identifier(self) -> str:
        """The same for the same question about the same version of the dataset."""
        text = f"{self.version}:{self.content['digest']}"
        return f"verification:{self.dataset}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @property
    def key(self) -> str:
        """The identifier as a name of files and of a BibTeX entry."""
        return re.sub(r"[^A-Za-z0-9_.-]", "_", self.identifier)

    @property
    def text(self) -> str:
        """The citation in a line."""
        at = self.answered
        return (
            f"{self.author} ({at.year}). {self._named}, version {self.version}, "
            f"{at.day} {at:%B %Y}. {self.identifier}. {self.url}"
        )

    @property
    def _named(self) -> str:
        what = self.content["answer"].get("what")
        title = f"“{self.question}” ({what})" if what else f"“{self.question}”"
        return f"Answer to the question {title} on {self.title}"

    @cached_property
    def columns(self) -> list[CitedColumn]:
        """The question, the content of the answer, and its method, by column.

        Each object of the first list in the answer is a row; other numbers and texts of the answer
        are the same in every row. Pairs become two columns, ``_low`` and ``_high``.
        """
        answer, query = self.content["answer"], self.content["query"]
        lists = [one for one in answer.values() if isinstance(one, list) and one]
        rows: list[dict[str, Any]] = next((one for one in lists if isinstance(one[0], dict)), [{}])
        kind = next((k for k in Row.__subclasses__() if {*k.model_fields} == {*rows[0]}), Row)
        known = columns(kind)
        scalars = {name: one for name, one in answer.items() if not isinstance(one, list)}
        groups, scales = scalars.pop("partitions", None), answer.get("scales", [None])
        scale, charge = scalars.pop("scale", scales[0]), {"epsilon": self.content["charge"]}
        about: dict[str, Cell] = {
            "question": self.question, "formula": query.get("formula"),
            "coefficient": query["ask"].get("coefficient"),
        }  # fmt: skip
        about = {name: value for name, value in about.items() if value is not None}
        method = {"groups_of_persons": groups, "noise": scale} if scale else {}
        cells: list[dict[str, Cell]] = [
            {**about, **scalars, **dict(_cells(row)), **method, **charge} for row in rows
        ]
        return [
            CitedColumn(
                _LABELS.get(name, name), tuple(row.get(name) for row in cells), known.get(name)
            )
            for name in cells[0]
        ]

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        """The same, by row."""
        return [*zip(*(column.values for column in self.columns), strict=True)]

    @property
    def released(self) -> tuple[int, ...]:
        """Whole numbers with noise: all that the answer contains of the confidential file."""
        return tuple(number for draw in self.content["answer"]["released"] for number in draw)

    @property
    def bibtex(self) -> str:
        """A BibTeX entry."""
        note = f"{self.identifier}; dataset version {self.version}; {self.answered:%Y-%m-%d}"
        fields = {
            "author": f"{{{latex(self.author)}}}",
            "title": f"{{{latex(self._named)}}}",
            "year": f"{self.answered.year}",
            "howpublished": f"\\url{{{quote(self.url, safe='/:?=&.-_[]')}}}",
            "note": latex(note),
        }
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        return f"@misc{{{self.key},\n{lines}}}\n"

    @property
    def csv_text(self) -> str:
        """The columns as CSV; missing values are empty, and no text is a formula."""
        text = StringIO()
        safe = ([_SPREADSHEET.sub("'", one) if isinstance(one, str) else one for one in row]
                for row in self.rows)  # fmt: skip
        csv.writer(text).writerows([[column.label for column in self.columns], *safe])
        return text.getvalue()

    @property
    def r_code(self) -> str:
        """The columns as a data frame of R; its attributes are identifier and released numbers."""
        return _R.render(cited=self)

    @property
    def stata_code(self) -> str:
        """The columns as a do-file of Stata."""
        return _STATA.render(cited=self)

    @property
    def sacro_zip(self) -> bytes:
        """A ZIP to unpack into a folder, which the SACRO outputs viewer opens."""
        query, name = self.content["query"], f"{self.key}_0.csv"
        epsilon = f"{self.content['charge']:g}"
        output = {
            "status": "pass",
            "type": "regression" if query.get("formula") else "table",
            "properties": {"method": query["ask"]["measure"]},
            "files": [{"name": name}],
            "summary": f"pass; differentially private, epsilon {epsilon} for each person",
            "timestamp": f"{self.answered:%Y-%m-%dT%H:%M:%S}",
            "comments": [*map(html.escape, (self.content["answer"]["words"][0], self.text))],
        }
        results = {"version": ACRO_FORMAT, "results": {self.key: output}}
        files = {
            "results.json": json.dumps(results, indent=1),
            name: self.csv_text,
            f"checksums/{name}.txt": hashlib.sha256(self.csv_text.encode()).hexdigest(),
        }
        packed = BytesIO()
        with ZipFile(packed, "w") as folder:
            for path, text in files.items():
                folder.writestr(ZipInfo(path), text)  # without a time: the same bytes each time
        return packed.getvalue()


def _cells(row: Mapping[str, Any]) -> Iterator[tuple[str, Cell]]:
    for name, value in row.items():
        ends = [f"{name}_low", f"{name}_high"]
        yield from zip(ends, value, strict=True) if isinstance(value, list) else [(name, value)]


def _line(text: str) -> str:
    """Return a text in one line, for a comment."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def latex(text: str) -> str:
    r"""Return a text for a field of BibTeX; its braces are balanced.

    Examples
    --------
    >>> latex("50% of {A_b}")
    '50\\% of {\\textbraceleft}A\\_b{\\textbraceright}'
    """
    return "".join(_LATEX.get(character, character) for character in _line(text))


def _in_r(value: Cell) -> str:
    r"""Return a value as R reads it; characters that are not printable become numbers.

    Examples
    --------
    >>> print(_in_r('50 "漢" \\ \u2028'))
    "50 \"漢\" \\ \U00002028"
    """
    if value is None:
        return "NA"
    if not isinstance(value, str):
        return str(value).upper()
    quoted = re.sub(r'["\\]', r"\\\g<0>", value)
    shown = (one if one.isprintable() else f"\\U{ord(one):08x}" for one in quoted)
    return f'"{"".join(shown)}"'


def _in_stata(value: str | float) -> str:
    """Return a value as Stata reads it; characters with a special meaning become numbers.

    Examples
    --------
    >>> print(_in_stata("50 $ of 漢"))
    "50 " + uchar(36) + " of 漢"
    """
    if not isinstance(value, str):
        return str(+value)
    safe = "".join(
        one if one.isprintable() and one not in _IN_STATA else f'" + uchar({ord(one)}) + "'
        for one in value
    )
    return f'"{safe}"'.replace('"" + ', "").replace(' + ""', "")


_R = template("citation.R.jinja", line=_line, in_r=_in_r)
_STATA = template("citation.do.jinja", in_stata=_in_stata)
