"""Write files of SPSS and Stata, with labels, missing codes and formats.

Limits of the programs are checked before any fit (`labelled_layout`): names, number of missing
codes, length of texts. A missing code of SPSS becomes a letter in Stata, and a letter a number in
SPSS, the same in all datasets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthesizer.data.errors import OutputError, listed
from synthesizer.data.files import create, write_at
from synthesizer.data.formats import Words
from synthesizer.data.layout import Form, Labelling, Layout
from synthesizer.data.missing_codes import LETTER, TEXT_CODES
from synthesizer.data.table import Column, FloatArray, Kind, Table, Variable
from synthesizer.data.values import (
    MICROSECONDS_A_DAY,
    finite_number,
    format_dates,
    instants,
    parse,
    rounded,
)
from synthesizer.data.writing import as_text
from synthesizer.extensions.labelled.labelled_reading import INSTALL, Clock, clock_of

FORMS: Final = ("sav", "zsav", "dta")

MAX_SPSS_CODES: Final = 3
MAX_TEXT_BYTES: Final = 32_767
"""Bytes of a text in SPSS."""
MAX_TEXT_CODE_BYTES: Final = 8
"""Bytes of a missing code among texts in SPSS."""
MAX_STATA_INTEGER: Final = 2_147_483_620
"""Largest whole number of Stata that is no missing value."""
_LABEL: Final = {"sav": (256, "bytes"), "zsav": (256, "bytes"), "dta": (80, "characters")}
_VALUE_LABEL: Final = {"sav": (120, "bytes"), "zsav": (120, "bytes"), "dta": (32_000, "bytes")}
_NAMES: Final = {
    "sav": (64, r"[^\W\d_][\w.$#@]*(?<![.])", "a letter, then letters, digits, _ . $ # and @"),
    "dta": (32, r"[^\W\d]\w*", "letters, digits and _, no digit first"),
}
_RESERVED: Final = {
    "sav": frozenset(("all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to",
                      "with")),
    "dta": frozenset(("_all", "_b", "byte", "_coef", "_cons", "double", "float", "if", "in", "int",
                      "long", "_n", "_N", "_pi", "_pred", "_rc", "_skip", "strL", "using", "with")),
}  # fmt: skip
_PROGRAM: Final = {"sav": "SPSS", "zsav": "SPSS", "dta": "Stata"}
_INSTEAD: Final = "or write another format (output: {format: csv})"
_STATA_VERSION: Final = 14
"""Writes format 118; only some editions of Stata open version 15 (119)."""


def labelled_layout(
    layout: Layout, table: Table, words: Mapping[str, Words], form: Form
) -> tuple[Layout, list[str], list[str]]:
    """Return the layout of files for SPSS or Stata, problems, and notes.

    ``words`` are labels of a configuration, which replace those of the source.
    """
    source = layout.labellings
    problems, notes = list(_name_problems(table.names, form)), Notes()
    if find_spec("pyreadstat") is None:
        problems.append(f"output.format: files of SPSS and Stata need pyreadstat: {INSTALL}")
    made = {}
    for column in table.columns:
        about = source.get(column.name) or plain_labelling(column.variable)
        label, labels = words.get(column.name, ("", {}))
        about = replace(about, label=label or about.label, labels={**about.labels, **labels})
        planned = _ConvertedColumn(column, about, _family(layout.form), _family(form), notes)
        made[column.name] = planned.labelling
        problems += planned.problems
    labelled = tuple(made.get(name) or source.get(name, Labelling()) for name in layout.names)
    return replace(layout, form=form, labelled=labelled), problems, _sentences(notes)


def _family(form: Form) -> Form:
    return "sav" if form == "zsav" else form


def _name_problems(names: Sequence[str], form: Form) -> Iterator[str]:
    most, pattern, words = _NAMES[_family(form)]
    program, is_spss = _PROGRAM[form], form != "dta"
    reserved = _RESERVED[_family(form)]
    seen: dict[str, str] = {}
    for name in names:
        size = len(name.encode()) if is_spss else len(name)
        taken = (name.lower() if is_spss else name) in reserved or bool(
            not is_spss and re.fullmatch(r"str\d+", name)
        )
        wrong = (
            f"is longer than {most} {'bytes' if is_spss else 'characters'}"
            if size > most
            else f"is reserved in {program}"
            if taken
            else f"is no name in {program}, which takes {words}"
            if not re.fullmatch(pattern, name)
            else f"is {seen[name.lower()]!r} to SPSS, which ignores case"
            if is_spss and name.lower() in seen
            else None
        )
        seen.setdefault(name.lower(), name)
        if wrong:
            yield f"column {name!r}: the name {wrong}; rename it in the source, {_INSTEAD}"


Notes = dict[str, list[str]]
"""Limits of a program that need no action, with the columns."""


def _sentences(notes: Notes) -> list[str]:
    return [f"output.format: {what}: {listed(names, 10)}" for what, names in notes.items()]


def plain_labelling(variable: Variable) -> Labelling:
    """Return the form of a variable without labels: numbers if all values are numbers.

    Examples
    --------
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("1", "2"))
    >>> plain_labelling(sex).is_text, plain_labelling(replace(sex, levels=("01", "2"))).is_text
    (False, True)
    """
    if variable.is_coded:
        is_text = not all(map(_is_plain_number, variable.levels))
    else:
        is_text = "pattern" in variable.storage
    return Labelling(is_text=is_text, is_date=variable.kind is Kind.DATE)


def _is_plain_number(text: str) -> bool:
    """Whether a text equals the text of its number, so that no digit is lost."""
    return bool(re.fullmatch(r"-?(0|[1-9]\d{0,14})(\.\d*[1-9])?", text)) and text != "-0"


def _system(variable: Variable) -> set[str]:
    """Return the codes of system missing: empty, null, or the only word such as NA."""
    system = {"", str(variable.storage.get("null", ""))}
    is_word = [c for c in variable.missing if c not in system and finite_number(c) is None]
    words = [code for code in is_word if not LETTER.fullmatch(code)]
    return system | ({words[0]} if len(words) == 1 and words[0] in TEXT_CODES else set())


@dataclass(frozen=True)
class _ConvertedColumn:
    """One column, converted from one program to another."""

    column: Column
    about: Labelling
    source: Form
    target: Form
    notes: Notes

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """Missing codes of the source and of the configuration, without system missing."""
        codes = [*self.about.missing, *sorted(self.column.variable.missing, key=_by_size)]
        system = {""} if self.about.is_text else _system(self.column.variable)
        return tuple(code for code in dict.fromkeys(codes) if code not in system)

    @cached_property
    def letters(self) -> dict[str, str]:
        """A letter of Stata for each missing code: its letter, or the next free one."""
        letters = {c: c.lower() for c in self.codes if LETTER.fullmatch(c) and c != "._"}
        free = (f".{letter}" for letter in ascii_lowercase if f".{letter}" not in letters.values())
        others = [code for code in self.codes if code not in letters]
        return letters | dict(zip(others, free, strict=False))

    @cached_property
    def numbers(self) -> dict[str, str]:
        """A number of SPSS for each missing code that is a letter or a word.

        They count down from below all values: -1, -2 and so on if no value is negative, else from
        the next power of ten.
        """
        words = [code for code in self.codes if self._value(code) is None]
        column = self.column
        used = [self._value(text) for text in (*self.about.labels, *self.codes)]
        if column.is_coded:
            used += [self._value(level) for level in column.variable.levels]
        elif column.is_observed.any():
            used.append(float(column.data[column.is_observed].min()))
        least = min((number for number in used if number is not None), default=0.0)
        below = 0 if least >= 0 or self.about.is_date else 10 ** (len(str(int(-least))))
        return {word: f"{-below - 1 - index}" for index, word in enumerate(words)}

    def _value(self, text: str) -> float | None:
        return value_of(text, self.clock)

    @property
    def clock(self) -> Clock | None:
        return clock_of(self.target, self.format) if self.about.is_date else None

    @cached_property
    def written(self) -> dict[str, str]:
        """Missing codes of the target."""
        if self.about.is_text:
            return {}
        return self.letters if self.target == "dta" else self.numbers

    @cached_property
    def format(self) -> str:
        """The format: that of the source if it is from the same program."""
        about, variable = self.about, self.column.variable
        if self.source == self.target and (about.format or about.is_text):
            return about.format
        return default_format(variable, about, self.target)

    @cached_property
    def labelling(self) -> Labelling:
        """Labels, missing codes and format to write."""
        about, is_same = self.about, self.source == self.target
        if about.is_text and self.target == "dta" and about.labels:
            self._note("Stata has no labels for texts; the codebook contains the labels of")
        if about.is_text and self.target == "dta" and self.codes:
            self._note("Stata has no missing codes for texts, so these are texts")
        self._note_lengths()
        return replace(
            about,
            missing=self._text_codes if about.is_text else self.codes,
            missing_range=about.missing_range if self.target == "sav" else None,
            format=self.format,
            measure=about.measure if is_same else _measure(self.column.variable),
            written={code: word for code, word in self.written.items() if code != word},
        )

    def _note(self, what: str) -> None:
        self.notes.setdefault(what, []).append(self.column.name)

    def _note_lengths(self) -> None:
        most, unit = _LABEL[self.target]
        if len(cut(self.about.label, most, unit)) < len(self.about.label):
            self._note(f"labels of variables are cut to {most} {unit}")
        most, unit = _VALUE_LABEL[self.target]
        labels = self.about.labels.values()
        if any(len(cut(label, most, unit)) < len(label) for label in labels):
            self._note(f"labels of values are cut to {most} {unit}")
        if self.target == "dta" and not self.about.is_text:
            odd = [text for text in self.about.labels if self._is_unlabelled(text)]
            if odd:
                self._note("Stata has no labels for numbers that are not whole")

    def _is_unlabelled(self, text: str) -> bool:
        return text not in self.written and stata_code(self._value(text)) is None

    @property
    def _text_codes(self) -> tuple[str, ...]:
        """Missing codes among texts that SPSS supports: three, of eight bytes."""
        short = [code for code in self.codes if len(code.encode()) <= MAX_TEXT_CODE_BYTES]
        if self.target == "sav" and (len(short) < len(self.codes) or len(short) > MAX_SPSS_CODES):
            self._note(
                f"SPSS has {MAX_SPSS_CODES} missing codes of texts ({MAX_TEXT_CODE_BYTES} bytes); "
                "further ones are texts"
            )
        return tuple(short[:MAX_SPSS_CODES])

    @property
    def problems(self) -> Iterator[str]:
        """Yield the values that the target does not support."""
        where, about, variable = f"column {self.column.name!r}", self.about, self.column.variable
        if about.is_text:
            sizes = [len(text.encode()) for text in variable.labels] if variable.is_coded else []
            if self.target == "sav" and max(sizes, default=0) > MAX_TEXT_BYTES:
                yield (
                    f"{where}: has texts of over {MAX_TEXT_BYTES:,} bytes, which SPSS cannot hold; "
                    f"drop it, {_INSTEAD}"
                )
        elif self.target == "dta" and len(self.codes) > len(self.letters):
            yield (
                f"{where}: has {len(self.codes)} missing codes, Stata at most "
                f"{len(ascii_lowercase)} (.a to .z); declare fewer (`missing`), {_INSTEAD}"
            )
        elif self.target == "sav" and spss_missing(self.labelling, self._values()) is None:
            yield (
                f"{where}: has {len(self.codes)} missing codes; SPSS holds three, or a range and "
                f"one, and a range may hold no values; declare fewer (`missing`), {_INSTEAD}"
            )

    def _values(self) -> list[float]:
        """Return values that a range of missing codes must not contain."""
        column = self.column
        if column.is_coded:
            levels = (*column.variable.levels, *self.about.labels)
            known = {level: self._value(level) for level in levels if level not in self.codes}
            return [number for number in known.values() if number is not None]
        seen = _numbers_of(column, self.clock)
        return [] if np.isnan(seen).all() else [float(np.nanmin(seen)), float(np.nanmax(seen))]


def _by_size(code: str) -> tuple[bool, float, str]:
    number = finite_number(code)
    return number is None, number or 0.0, code


def _measure(variable: Variable) -> Literal["nominal", "ordinal", "scale"]:
    if variable.kind is Kind.ORDERED:
        return "ordinal"
    return "scale" if variable.kind in (Kind.NUMERIC, Kind.DATE) else "nominal"


def default_format(variable: Variable, about: Labelling, form: Form) -> str:
    """Return the format of a variable without a format of the program."""
    if about.is_text:
        return ""
    has_time = int(variable.storage.get("resolution", MICROSECONDS_A_DAY)) < MICROSECONDS_A_DAY
    if form == "dta":
        return ("%tc" if has_time else "%td") if about.is_date else ""
    if about.is_date:
        return "DATETIME23.2" if has_time else "DATE11"
    decimals = 0 if variable.kind is not Kind.NUMERIC else variable.decimals
    return "F16.6" if decimals is None else f"F{8 if decimals < 4 else 10 + decimals}.{decimals}"


def value_of(text: str, clock: Clock | None) -> float | None:
    """Return the number of a text, by a clock if it is a date; None if it has none."""
    if clock is None or (number := finite_number(text)) is not None:
        return finite_number(text) if clock is None else number
    try:
        micro = int(np.datetime64(text, "us").astype(np.int64))
    except ValueError:
        return None
    return (micro - clock.start) / clock.unit


def stata_code(number: float | None) -> int | None:
    """Return a number to which Stata can give a label."""
    is_code = number is not None and number == int(number) and abs(number) <= MAX_STATA_INTEGER
    return int(number) if is_code and number is not None else None


def cut(text: str, most: int, unit: str) -> str:
    """Return the first characters, or bytes in UTF-8, of a text."""
    if unit == "characters":
        return text[:most]
    return text.encode()[:most].decode(errors="ignore")


def spss_missing(about: Labelling, values: Sequence[float] = ()) -> list[Any] | None:
    """Return missing codes for SPSS: three, or a range and one; None if impossible.

    A range must not contain a value of ``values``.

    Examples
    --------
    >>> spss_missing(Labelling(missing=("-9", "-8", "-7", "99")), [0, 90])
    [{'lo': -9.0, 'hi': -7.0}, 99.0]
    >>> spss_missing(Labelling(missing=("-9", "-8", "-7", "99")), [-8.5, 0]) is None
    True
    """
    if about.is_text:
        return list(about.missing)
    codes = [about.written.get(code, code) for code in about.missing]
    clock = clock_of("sav", about.format) if about.is_date else None
    numbers = sorted({n for code in codes if (n := value_of(code, clock)) is not None})
    if about.missing_range is not None:
        low, high = about.missing_range
        rest = [number for number in numbers if not low <= number <= high]
        return [{"lo": low, "hi": high}, *rest] if len(rest) <= 1 else None
    if len(numbers) <= MAX_SPSS_CODES:
        return list(numbers)
    for inside, rest in ((numbers[:-1], numbers[-1:]), (numbers[1:], numbers[:1]), (numbers, [])):
        if not _holds(inside[0], inside[-1], values):
            return [{"lo": inside[0], "hi": inside[-1]}, *rest]
    return None


def _holds(low: float, high: float, values: Sequence[float]) -> bool:
    """Whether a range overlaps that of the numbers, or contains one of the levels."""
    return any(low <= value <= high for value in values) or bool(
        values and min(values) < low and high < max(values)
    )


def _numbers_of(column: Column, clock: Clock | None) -> FloatArray:
    """Return numbers, or dates by a clock, NaN if a value is missing, shape (n,)."""
    data, variable = np.asarray(column.data, dtype=np.float64), column.variable
    missing = np.isnan(data)
    resolution = int(variable.storage.get("resolution", 1))
    if clock is None and variable.kind is Kind.DATE:  # whole numbers such as 20191231
        form = str(variable.storage["date_format"])
        return np.where(missing, np.nan, parse(format_dates(np.where(missing, 0.0, data), form)))
    if clock is None:
        return data if variable.decimals is None else rounded(data, variable.decimals)
    micro = instants(np.where(missing, 0.0, data), resolution).to_numpy(zero_copy_only=False)
    numbers = (micro.astype("datetime64[us]").astype(np.int64) - clock.start) / clock.unit
    return np.where(missing, np.nan, numbers)


@dataclass(frozen=True)
class _Outgoing:
    """One column for pyreadstat."""

    column: Column
    about: Labelling
    texts: Sequence[str | None]
    """The cells of a column of texts."""
    form: Form

    @property
    def clock(self) -> Clock | None:
        return clock_of(self.form, self.about.format) if self.about.is_date else None

    @cached_property
    def cells(self) -> Any:
        if self.about.is_text:
            return self._padded([text or "" for text in self.texts])
        variable = self.column.variable
        codes = [self._cell(code) for code in variable.missing]
        if variable.is_coded:
            levels = [self._cell(level) for level in variable.levels]
            cells = np.array([*levels, *codes], dtype=object)[self.column.data]
        else:
            cells = _numbers_of(self.column, self.clock).astype(object)
            state = self.column.missing_state()
            cells = np.where(state == 0, cells, np.array([None, *codes], dtype=object)[state])
        return self._typed(cells)

    def _cell(self, text: str) -> float | str | None:
        """Return the number of a level or missing code, or its letter, or None."""
        if text in _system(self.column.variable):
            return np.nan
        word = self.about.written.get(text, text)
        if self.form == "dta" and LETTER.fullmatch(word):
            return word[1:]
        number = value_of(word, self.clock)
        return np.nan if number is None else number

    def _typed(self, cells: npt.NDArray[Any]) -> Any:
        if self.form == "dta" and any(isinstance(cell, str) for cell in cells):
            return pd.Series(cells, dtype=object)
        numbers = cells.astype(np.float64)
        seen = numbers[~np.isnan(numbers)]
        is_whole = bool((seen == np.rint(seen)).all() and (np.abs(seen) <= MAX_STATA_INTEGER).all())
        if self.form == "dta" and is_whole and not self.about.is_date:
            whole = np.where(np.isnan(numbers), 0, numbers).astype(np.int32)
            return pd.arrays.IntegerArray(whole, np.isnan(numbers))
        return numbers

    def _padded(self, texts: list[str]) -> list[str]:
        """Return texts padded with blanks to the width of the column, like SPSS does."""
        size = self.about.size
        if self.form != "dta" and texts and len(texts[0].encode()) < size <= MAX_TEXT_BYTES:
            texts[0] += " " * (size - len(texts[0].encode()))
        return texts

    @property
    def labels(self) -> dict[Any, str]:
        """Labels by value, within the limits of the program."""
        most, unit = _VALUE_LABEL[self.form]
        about = self.about
        if about.is_text and self.form == "dta":
            return {}
        keys = {text: text if about.is_text else self._label_key(text) for text in about.labels}
        return {
            key: cut(about.labels[text], most, unit)
            for text, key in keys.items()
            if key is not None
        }

    def _label_key(self, text: str) -> float | int | str | None:
        cell = self._cell(text)
        if isinstance(cell, str) or cell is None or np.isnan(cell):
            return cell if isinstance(cell, str) else None
        return stata_code(cell) if self.form == "dta" else cell

    @property
    def letters(self) -> list[str]:
        """Letters of missing values that occur or have a label."""
        codes = dict.fromkeys((*self.about.missing, *self.about.labels))
        cells = (self._cell(code) for code in codes)
        return sorted({cell for cell in cells if isinstance(cell, str)})


def write_labelled(
    table: Table,
    path: Path,
    layout: Layout,
    form: Form,
) -> None:
    """Write a table to a new file of SPSS or Stata; equal tables have equal bytes."""
    import pyreadstat

    known = layout.labellings
    needed = texts_needed(table, layout, form)
    texts = {name: as_text(table[name]).to_pylist() for name in needed}
    columns = [
        _Outgoing(column, labelling_in(known, column.variable, form), texts.get(name, ()), form)
        for name, column in table.items()
    ]
    frame = pd.DataFrame({column.column.name: column.cells for column in columns})
    by_name = {column.column.name: column for column in columns}
    most, unit = _LABEL[form]
    options: dict[str, Any] = {
        "column_labels": [cut(column.about.label, most, unit) or None for column in columns],
        "variable_value_labels": {n: c.labels for n, c in by_name.items() if c.labels},
        "variable_format": {n: c.about.format for n, c in by_name.items() if c.about.format},
    }
    if form == "dta":
        letters = {n: c.letters for n, c in by_name.items() if not c.about.is_text}
        options["missing_user_values"] = {n: codes for n, codes in letters.items() if codes}
        options["version"] = _STATA_VERSION
    else:
        ranges = {name: spss_missing(column.about) for name, column in by_name.items()}
        options["missing_ranges"] = {name: codes for name, codes in ranges.items() if codes}
        options["variable_measure"] = {n: c.about.measure or "unknown" for n, c in by_name.items()}
        widths = {name: column.about.width for name, column in by_name.items()}
        options["variable_display_width"] = {n: width for n, width in widths.items() if width}
        options["compress"] = form == "zsav"
    with create(path):
        pass
    try:
        (pyreadstat.write_dta if form == "dta" else pyreadstat.write_sav)(
            frame, str(path), **options
        )
    except Exception as error:
        raise OutputError(f"{path}: cannot be written: {error}; {_INSTEAD}") from error
    _without_time(path, form)


def labelling_in(known: Mapping[str, Labelling], variable: Variable, form: Form) -> Labelling:
    """Return the planned form of a column, or that of its kind for a new column."""
    if variable.name in known:
        return known[variable.name]
    about = plain_labelling(variable)
    return replace(
        about, format=default_format(variable, about, _family(form)), measure=_measure(variable)
    )


def texts_needed(table: Table, layout: Layout, form: Form) -> list[str]:
    """Return the columns to write as texts."""
    known = layout.labellings
    return [c.name for c in table.columns if labelling_in(known, c.variable, form).is_text]


_SPSS_TIME: Final = (92, b"01 Jan 7000:00:00")
_STATA_TIME: Final = (b"<timestamp>\x11", b"01 Jan 1970 00:00")


def _without_time(path: Path, form: Form) -> None:
    """Remove the creation time from the head of a file, so equal tables have equal bytes."""
    if form != "dta":
        write_at(path, *_SPSS_TIME)
        return
    with path.open("rb") as file:
        head = file.read(1000)
    start, time = _STATA_TIME
    write_at(path, head.index(start) + len(start), time)
