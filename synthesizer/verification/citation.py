"""An answer as a source that others can cite: text, BibTeX, R, Stata, CSV, and a folder for SACRO.

All of it follows from the answer's JSON, the names of dataset and server, and the date. Nothing of
the confidential file is in it but what the answer released: its digest is left out, since a reader
who guesses the file could confirm the guess.

Texts of users (titles, levels, formulas) are quoted for each program. BibTeX counts braces even
behind a backslash, so each special character becomes a LaTeX command. Stata replaces macros also
between quotes and takes ``/*`` for a comment, so all but plain characters become ``uchar()``.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from io import BytesIO, StringIO
from typing import Any
from urllib.parse import quote
from zipfile import ZipFile, ZipInfo

from synthesizer.measures.figure import Row, columns
from synthesizer.report.page import Cell

ACRO_FORMAT = "1.0.1"
"""Version of ACRO whose ``results.json`` the folder for SACRO follows; the viewer takes 0.4 on."""
_GROUPS = (
    "The persons of the confidential file were dealt to {partitions} random groups, and the model "
    "was fitted in each group. The number of groups that agree was released with random noise.",
    "A. F. Barrientos et al. (2018), Providing access to confidential research data through "
    "synthesis and verification, Annals of Applied Statistics 12, 1124-1156.",
)
_TEST = (
    "The persons of the confidential file were dealt to {partitions} random groups, and a t "
    "statistic was computed in each group. The sum of the bounded statistics was released with "
    "random noise.",
    "A. F. Barrientos, J. P. Reiter, A. Machanavajjhala and Y. Chen (2019), Differentially private "
    "significance tests for regression coefficients, Journal of Computational and Graphical "
    "Statistics 28, 440-453.",
)
_TABLE = (
    "The table was computed from the confidential file. Every count or sum of it was released with "
    "random noise.",
    "A. Ghosh, T. Roughgarden and M. Sundararajan (2012), Universally utility-maximizing privacy "
    "mechanisms, SIAM Journal on Computing 41, 1673-1693.",
)
_PREDICTION = (
    "A model of the synthetic data predicted the records of the confidential file. Counts or sums "
    "of its predictions were released with random noise.",
    "Y. Chen, A. Machanavajjhala, J. P. Reiter and A. F. Barrientos (2016), Differentially private "
    "regression diagnostics, IEEE International Conference on Data Mining, 81-90.",
)
_METHODS = {
    "significance": _TEST, "counts": _TABLE, "means": _TABLE, "roc": _PREDICTION,
    "residuals": _PREDICTION, "accuracy": _PREDICTION,
}  # fmt: skip
_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_"},
    "\\": "{\\textbackslash}", "{": "{\\textbraceleft}", "}": "{\\textbraceright}",
    "~": "{\\textasciitilde}", "^": "{\\textasciicircum}", "<": "{\\textless}",
    ">": "{\\textgreater}", "|": "{\\textbar}", "`": "{\\textasciigrave}",
}  # fmt: skip
_UNSAFE_IN_STATA = re.compile(r"[^A-Za-z0-9 _.,:;()\[\]=<>+~|%-]")
_R_CHARACTER = {'"': '\\"', "\\": "\\\\"}
_PIECES = 40
"""Parts of a Stata expression; longer texts are put together in several steps."""


@dataclass(frozen=True)
class Citation:
    """An answer with what a citation needs beside it.

    Examples
    --------
    >>> query = {"ask": {"measure": "counts"}, "schema": "5c", "synthetic": "9e", "partitions": 50}
    >>> answer = {"words": ["Counts."], "released": [[7]], "cells": [{"cell": "F", "value": 7}]}
    >>> content = {"query": query, "digest": "3f", "charge": 1.0, "answer": answer}
    >>> at = datetime(2026, 11, 28, tzinfo=UTC)
    >>> cited = Citation(content, "panel", "A panel", 1, at, "Server", "https://a.example/")
    >>> cited.identifier, cited.table
    ('verification:panel:91cf861b4e85648a', {'cell': ('F',), 'value': (7,)})
    """

    content: Mapping[str, Any]
    """The answer as `synthesizer verify --json` prints it."""
    dataset: str
    title: str
    """Of the dataset."""
    version: int
    """Of the confidential file, counted from 1."""
    answered: datetime
    server: str
    """Name of the server."""
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
    def sentence(self) -> str:
        """What came out."""
        return str(self.content["answer"]["words"][0])

    @property
    def digests(self) -> Mapping[str, str]:
        """SHA-256 of what is public about the dataset."""
        query = self.content["query"]
        return {"public schema": query["schema"], "synthetic file": query["synthetic"]}

    @property
    def method(self) -> tuple[str, str]:
        """Two sentences about the method, and its paper."""
        query = self.content["query"]
        words, paper = _METHODS.get(query["ask"]["measure"], _GROUPS)
        return words.format(partitions=query["partitions"]), paper

    @property
    def guarantee(self) -> str:
        """What differential privacy promises of the numbers."""
        return (
            "The released numbers are differentially private: the unit is a person with all "
            f"records, epsilon is {self.content['charge']:g}."
        )

    @property
    def text(self) -> str:
        """The citation in a line."""
        at = self.answered.astimezone(UTC)
        return (
            f"{self.server} ({at.year}). Answer to a verification question on {self.title}, "
            f"version {self.version}, {at.day} {at:%B %Y}. {self.identifier}. {self.url}"
        )

    @cached_property
    def table(self) -> Mapping[str, tuple[Cell, ...]]:
        """The numbers of the answer by column, with a place for each statement, cell or range.

        The first list of objects in the answer has a row each; the answer's own numbers and texts
        are the same in every row. Of pairs, ``_low`` and ``_high`` are columns; longer lists stay
        in the JSON.
        """
        own = [*_flat(self.content["answer"], pairs=False)]
        rows = [dict([*own, *_flat(row)]) for row in self._rows]
        return {name: tuple(row.get(name) for row in rows) for name in rows[0]}

    @property
    def headings(self) -> Mapping[str, str]:
        """What the columns are, as far as the answer explains them."""
        kinds = (kind for kind in Row.__subclasses__() if {*kind.model_fields} == {*self._rows[0]})
        known = columns(next(kinds, Row))
        return {
            name: ": ".join(filter(None, (one.heading, one.meaning))) for name, one in known.items()
        }

    @property
    def _rows(self) -> Sequence[Mapping[str, Any]]:
        lists = (
            one for one in self.content["answer"].values() if isinstance(one, Sequence) and one
        )
        return next((one for one in lists if isinstance(one[0], Mapping)), [{}])

    @property
    def released(self) -> tuple[int, ...]:
        """All that the answer contains of the confidential file: whole numbers with noise."""
        return tuple(number for draw in self.content["answer"]["released"] for number in draw)

    @property
    def bibtex(self) -> str:
        """A BibTeX entry."""
        at = self.answered.astimezone(UTC)
        digests = "; ".join(f"SHA-256 of the {name}: {one}" for name, one in self.digests.items())
        fields = {
            "author": f"{{{latex(self.server)}}}",
            "title": f"{{Answer to a verification question on {latex(self.title)}}}",
            "year": f"{at.year}",
            "howpublished": f"\\url{{{quote(self.url, safe='/:?=&.-_[]')}}}",
            "note": latex(
                f"{self.identifier}; dataset version {self.version}; {at:%Y-%m-%d}; {digests}"
            ),
        }
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        return f"@misc{{{self.key},\n{lines}}}\n"

    @property
    def csv_text(self) -> str:
        """The table as CSV; what is missing is empty."""
        text = StringIO()
        rows = zip(*self.table.values(), strict=True)
        csv.writer(text, lineterminator="\n").writerows([self.table, *rows])
        return text.getvalue()

    @property
    def r_code(self) -> str:
        """The table as a data frame of R; its attributes are identifier and released numbers."""
        vectors = [f"{name} = {_r_vector(values)}" for name, values in self.table.items()]
        data = ",\n  ".join([*vectors, "stringsAsFactors = FALSE"])
        return (
            f"# {_line(self.text)}\nanswer <- data.frame(\n  {data}\n)\n"
            f'attr(answer, "identifier") <- {_r_vector([self.identifier])}\n'
            f'attr(answer, "released") <- {_r_vector(self.released)}\n'
        )

    @property
    def stata_code(self) -> str:
        """The table as a do-file of Stata; ``row`` numbers the rows."""
        texts = {
            name: values
            for name, values in self.table.items()
            if any(isinstance(value, str) for value in values)
        }
        numbers = {name: values for name, values in self.table.items() if name not in texts}
        count = len(next(iter(self.table.values())))
        rows = zip(range(1, count + 1), *numbers.values(), strict=True)
        lines = [
            f"* {_UNSAFE_IN_STATA.sub(' ', self.identifier)}",
            "clear",
            f"input long row{''.join(f' double {name}' for name in numbers)}",
            *(" ".join(map(_in_stata, row)) for row in rows),
            "end",
        ]
        for name, values in texts.items():
            lines.append(f'generate strL {name} = ""')
            lines += (
                f"quietly replace {name} = {name} + {part} in {row}"
                for row, value in enumerate(values, 1)
                for part in _stata_text(str(value or ""))
            )
        return "\n".join(lines) + "\n"

    @property
    def sacro_zip(self) -> bytes:
        """A ZIP to unpack into a folder, which the SACRO outputs viewer opens."""
        query = self.content["query"]
        name = f"{self.key}_0.csv"
        guarantee = {"differential privacy": f"epsilon {self.content['charge']:g}, unit person"}
        output = {
            "uid": self.key,
            "status": "pass",
            "type": "regression" if query.get("formula") else "table",
            "properties": {"method": query["ask"]["measure"]},
            "files": [{"name": name, "sdc": {}}],
            "outcome": {"guarantee": guarantee},
            "command": json.dumps(query, sort_keys=True),
            "summary": f"pass; differentially private with epsilon {self.content['charge']:g}",
            "timestamp": self.answered.astimezone(UTC).replace(tzinfo=None).isoformat(),
            "comments": [self.sentence, self.guarantee, " ".join(self.method), self.text],
            "exception": "",
            "fair": {},
        }
        results = {"version": ACRO_FORMAT, "results": {self.key: output}}
        files = {"results.json": json.dumps(results, indent=1), name: self.csv_text}
        sums = {
            f"checksums/{one}.txt": hashlib.sha256(text.encode()).hexdigest()
            for one, text in files.items()
        }
        packed = BytesIO()
        with ZipFile(packed, "w") as folder:
            for one, text in {**files, **sums}.items():
                folder.writestr(ZipInfo(one), text)  # without a time: the same bytes each time
        return packed.getvalue()


def _flat(content: Mapping[str, Any], *, pairs: bool = True) -> Iterator[tuple[str, Cell]]:
    for name, value in content.items():
        if value is None or isinstance(value, str | int | float):
            yield name, value
        elif pairs and len(value) == 2:
            yield f"{name}_low", value[0]
            yield f"{name}_high", value[1]


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


def _r_vector(values: Iterable[Cell]) -> str:
    joined = ",\n    ".join(map(_in_r, values))
    return f"c({joined})"


def _in_r(value: Cell) -> str:
    if value is None:
        return "NA"
    if not isinstance(value, str):
        return str(value).upper() if isinstance(value, bool) else repr(value)
    return '"{}"'.format(
        "".join(
            _R_CHARACTER.get(one, one) if " " <= one <= "~" else f"\\U{{{ord(one):x}}}"
            for one in value
        )
    )


def _in_stata(value: Cell) -> str:
    return "." if value is None else repr(int(value) if isinstance(value, bool) else value)


def _stata_text(text: str) -> Iterator[str]:
    """Yield expressions of Stata whose sum is a text."""
    parts = [
        f"uchar({ord(part)})" if _UNSAFE_IN_STATA.fullmatch(part) else f'"{part}"'
        for part in re.split(f"({_UNSAFE_IN_STATA.pattern})", text)
        if part
    ]
    for at in range(0, len(parts), _PIECES):
        yield " + ".join(parts[at : at + _PIECES])
