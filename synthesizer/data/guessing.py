"""The kind of every column: declared, or guessed from its distinct texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synthesizer.data.code_lists import (
    is_named_like_code,
    is_named_like_order,
    is_numbering,
    scale_order,
    why_codes,
)
from synthesizer.data.errors import DataError, OptionError, Problems, plural
from synthesizer.data.id_patterns import MIN_HOLDERS, Form, pattern_of_form
from synthesizer.data.layout import Labelling
from synthesizer.data.missing_codes import CODE_LOOKS, as_written, missing_codes
from synthesizer.data.number_formats import PLAIN, NumberFormat
from synthesizer.data.options import as_label, checked, nearest
from synthesizer.data.sources import RawTable, Texts
from synthesizer.data.table import BoolArray, FloatArray, Kind, Variable
from synthesizer.data.values import (
    COMPACT,
    LARGEST,
    LAST_SHORT_YEAR,
    MAX_EXACT,
    MICROSECONDS_A_DAY,
    UNPADDED,
    days_of,
    detect_format,
    has_leading_zero,
    is_number,
    mixed_formats,
    parse,
    parse_dates,
    resolution_of,
    rounded,
    style_of,
)

INFINITIES: Final = ("inf", "-inf", "Inf", "-Inf", "Infinity", "-Infinity")
BOOLEANS: Final = (("false", "true"), ("FALSE", "TRUE"), ("False", "True"))
FALSE_WORDS: Final = ("false", "no", "0", "f", "n")
ID_NAME: Final = re.compile(
    r"(?i:(^|[_.\- ])(id|ids|uid|uuid|guid)([_.\- ]|$))|[a-z](ID|Id)$|^(ID|Id)[A-Z]"
    r"|(?i:^(pid|hid|hhid|caseid|pers_?nr|hh_?nr|serial|rownames?|row_?(no|nr|number)|unnamed: 0)$)"
)
"""Names that nearly always belong to identifiers."""
MAYBE_ID_NAME: Final = re.compile(
    r"(?i)^id(?!l|ea|eo|io|ad)|(^|[_.\- ])ident|(^|[_.\- ])key$|(nr|nummer|number)$"
    r"|(case|pers|serial)_?no$|ids?$"
)
"""Names that may belong to identifiers: most values must be distinct, too."""
NO_ID_NAME: Final = re.compile(
    r"(?i)(^|[_.\- ])((un|pre|re|over)?paid|said|laid|aid|medicaid|bid|kid|mid|acid|hybrid|grid"
    r"|rapid|lipid|(in)?valid|covid|solid|liquid|fluid|a?void|humid)s?$"
)

NAMED: Final = "named like an identifier"
DISTINCT: Final = "text, all different: an identifier, of which no value is released"
FREE_TEXT: Final = (
    "text, all different: the output contains 1, 2, 3, ... in place of free text; if wrong, write "
    "drop: [NAME]"
)
_NO_AMOUNTS: Final = "an identifier, of which no value is released; if wrong, write kind: numeric"
NUMBERING: Final = f"whole numbers, all different, without large gaps: {_NO_AMOUNTS}"
LONG_NUMBERS: Final = f"long whole numbers of one length, nearly all different: {_NO_AMOUNTS}"

MAX_LEVELS: Final = 100_000
MAX_MISSING: Final = 100
"""States have 8 bits, and second files and histories add codes."""
MIN_ROWS: Final = 20
"""With fewer rows, distinct values prove nothing."""
FEW_INTEGERS: Final = 10
"""Whole numbers with at most this many distinct values are taken for codes."""
MAX_DISTINCT_NO_ID: Final = 50
"""An identifier has more distinct values."""
MIN_SHARE_DISTINCT_OF_ID: Final = 0.5
"""Least share of distinct values where only the name suggests an identifier."""
SHARE_DISTINCT_OF_LARGE_ID: Final = 0.8
"""Share of distinct values from which large whole numbers look like an identifier."""
MIN_SHARE_DISTINCT_OF_LONG_ID: Final = 0.95
"""Least share of distinct values of long numbers that are identifiers."""
LARGE: Final = 1000
MANY_LEVELS: Final = 100
"""Texts with more distinct values, and more than half the rows, are no categories."""
MAX_ODD_TEXTS: Final = 10
"""Up to this many texts among numbers or dates may be missing codes."""
MOSTLY: Final = 0.9
"""Share of numbers from which other texts look like missing codes."""

CORRECT: Final = (
    "correct these cells, or leave their rows out of the file; if these are values too, declare "
    "`kind: ordered`, and all `levels` in order"
)
"""Advice for variables that need a value in every row."""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """The declarations of a variable in a configuration; None is inferred."""

    kind: Kind | None = None
    missing: tuple[str, ...] | None = None
    """Missing codes as they are written in the file; an empty cell is always one."""
    levels: tuple[str, ...] | None = None
    """All levels, in order."""
    decimals: int | None = None
    date_format: str | None = None
    """A ``strptime`` format such as ``%d/%m/%Y``."""
    every_row: bool = False
    """Whether every row needs a value, as persons and periods of a panel do."""
    form: Form | None = None
    """What identifiers look like; None: as in the data."""
    may_repeat: bool = False
    """Whether an identifier of the data may be written again."""

    @property
    def declared_kind(self) -> Kind | None:
        """The declared kind, or the kind that follows from the other declarations."""
        if self.kind is not None:
            return self.kind
        if self.levels is not None:
            return Kind.CATEGORICAL
        if self.form is not None:
            return Kind.ID
        return None if self.date_format is None else Kind.DATE


Declared: TypeAlias = Mapping[str, Any]
"""Argument ``declared`` of public functions: declarations, or maps with their fields."""


def declarations_of(declared: Declared | None) -> dict[str, Declaration]:
    """Return the declaration of each variable; maps become a `Declaration`.

    Raises
    ------
    OptionError
        With every unknown key and every value of a wrong type.

    Examples
    --------
    >>> declarations_of({"income": {"kind": "numeric", "missing": [-8]}})["income"].missing
    ('-8',)
    """
    problems, declarations = Problems(), {}
    for name, given in (declared or {}).items():
        where = f"declared.{name}"
        if isinstance(given, Declaration):
            declarations[name] = given
        elif isinstance(given, Mapping):
            known = [one.name for one in fields(Declaration)]
            unknown = [key for key in given if key not in known]
            problems += (f"{where}.{key}: unknown key{nearest(key, known)}" for key in unknown)
            values = {key: _labels(key, value) for key, value in given.items() if key in known}
            with problems.gathered(where):
                declarations[name] = checked(Declaration, values)
        else:
            kind = type(given).__name__
            problems.append(f"{where} must be a map such as {{'missing': ['-8']}}, not {kind}")
    problems.settle(OptionError)
    return declarations


def _labels(key: str, value: Any) -> Any:
    """Return levels and missing codes as they are written in the file."""
    if key not in ("missing", "levels") or value is None:
        return value
    return [as_label(one) for one in (value if isinstance(value, list | tuple) else [value])]


@dataclass(frozen=True)
class Inferred:
    """A variable and the reason for its kind."""

    variable: Variable
    reason: str
    repeats: bool = False
    """Whether an identifier occurs in several rows."""

    @property
    def doubt(self) -> str:
        """What to write if the guess is wrong; empty where the guess is safe."""
        return self.reason.partition("; if wrong, write ")[2]


class UnreadableColumn(Exception):  # noqa: N818
    """A column cannot be read; the text is the end of a sentence that starts with its name.

    ``every_row`` is the remedy where every row needs a value. ``cure`` is a declaration with which
    the column can be read, and ``cured`` describes its effect.
    """

    def __init__(
        self,
        fault: str,
        remedy: str = "",
        *,
        every_row: str | None = None,
        cure: Declaration | None = None,
        cured: str = "",
    ) -> None:
        super().__init__(f"{fault}; {remedy}" if remedy else fault)
        self.fault, self.cure, self.cured = fault, cure, cured
        self.in_every_row = str(self) if every_row is None else f"{fault}; {every_row}"


def infer(raw: RawTable, declared: Mapping[str, Declaration] | None = None) -> tuple[Inferred, ...]:
    """Return the kind, levels, missing codes and decimals of every column.

    Raises
    ------
    DataError
        With every column that cannot be read.
    """
    declared = declared or {}
    problems = Problems(
        f"{raw.origin}: no column {name!r}; declare only columns that exist"
        for name in declared
        if name not in raw.names
    )
    inferred = []
    for name, item in infer_each(raw, declared):
        if isinstance(item, Inferred):
            inferred.append(item)
        else:
            every_row = declared.get(name, Declaration()).every_row
            sentence = item.in_every_row if every_row else str(item)
            problems.append(f"{raw.origin}: column {name!r} {sentence}")
    problems.settle(DataError)
    return tuple(inferred)


def infer_each(
    raw: RawTable, declared: Mapping[str, Declaration]
) -> Iterator[tuple[str, Inferred | UnreadableColumn]]:
    """Yield the name of every column with its variable, or with its problem."""
    for texts in raw.texts:
        try:
            yield texts.name, _infer_one(texts, declared.get(texts.name, Declaration()))
        except UnreadableColumn as problem:
            yield texts.name, problem


def _infer_one(texts: Texts, declaration: Declaration) -> Inferred:
    texts = replace(texts, format=texts.format.for_decimals(declaration.decimals))
    declaration = replace(declaration, missing=as_written(texts, declaration.missing))
    kind = declaration.declared_kind
    codes = missing_codes(texts, kind, declaration.missing)
    column = _RawColumn(texts, declaration, codes, texts.occurs & ~texts.among(codes))
    if not column.is_value.any():
        raise UnreadableColumn(
            "has no value in any row" + (" besides missing codes" if kind else ""),
            "drop it",
            every_row="name another column, or fill it in: every row needs a value",
        )
    kind, reason = (kind, "declared") if kind else _guess(column)
    if len(codes) > MAX_MISSING:
        raise UnreadableColumn(f"has {len(codes)} missing codes; declare at most {MAX_MISSING}")
    storage = {}
    if texts.null is not None:
        storage["null"] = texts.null
    elif texts.source is None and "" in codes:
        storage["null"] = ""  # what an empty cell becomes in a typed file
    details = _BUILDERS[kind](column)
    storage |= details.pop("storage", {})
    variable = Variable(name=texts.name, kind=kind, missing=codes, storage=storage, **details)
    repeats = kind is Kind.ID and bool((texts.counts[column.is_value] > 1).any())
    return Inferred(variable, reason, repeats)


@dataclass(frozen=True)
class _RawColumn:
    """A column with its missing codes."""

    texts: Texts
    declaration: Declaration
    missing: tuple[str, ...]
    is_value: BoolArray
    """Which distinct texts are values, shape (k,)."""

    def beside(self, values: BoolArray) -> Declaration | None:
        """Return a declaration with the masked values as missing codes; None if too many."""
        if values.sum() > MAX_ODD_TEXTS:
            return None
        odd = self.texts.picked(self.among_texts(values))
        return replace(self.declaration, missing=(*self.missing, *odd))

    @cached_property
    def values(self) -> pa.Array:
        """The distinct texts that are values."""
        return self.texts.values.filter(pa.array(self.is_value))

    @cached_property
    def number(self) -> BoolArray:
        """Which values are numbers."""
        return is_number(self.values, self.texts.format)

    @cached_property
    def numbers(self) -> FloatArray:
        """The values as numbers; all must be numbers."""
        return parse(self.values, self.texts.format)

    def among_texts(self, values: BoolArray) -> BoolArray:
        """Return the mask of values as a mask of all distinct texts."""
        mask = self.is_value.copy()
        mask[self.is_value] = values
        return mask

    def where(self, values: BoolArray) -> str:
        """Return the number of rows with masked values, and the first of them, in words."""
        return self.texts.where(self.among_texts(values))

    @cached_property
    def all_distinct(self) -> bool:
        """Whether no value occurs twice in at least `MIN_ROWS` rows."""
        counts = self.texts.counts[self.is_value]
        return self.texts.n_rows >= MIN_ROWS and bool(counts.max() == 1 and len(counts) > 10)

    @property
    def is_prose(self) -> bool:
        """Whether most values contain at least three words."""
        words = pc.match_substring_regex(self.values, r"(\pL{2,}\PL+){2}\pL{2,}")
        return 2 * int(pc.sum(words).as_py() or 0) > len(self.values)

    @cached_property
    def share_distinct(self) -> float:
        """Distinct values per observed row; 0 where there are few of them."""
        counts = self.texts.counts[self.is_value]
        return len(counts) / int(counts.sum()) if len(counts) > MAX_DISTINCT_NO_ID else 0.0

    @property
    def is_named_like_id(self) -> bool:
        """Whether name and number of distinct values are those of an identifier."""
        distinct, name = int(self.is_value.sum()), self.texts.name
        if ID_NAME.search(name) is not None:
            return self.all_distinct or distinct >= max(MAX_DISTINCT_NO_ID, self.texts.n_rows // 25)
        maybe = MAYBE_ID_NAME.search(name) and not NO_ID_NAME.search(name)
        return bool(maybe) and self.share_distinct >= MIN_SHARE_DISTINCT_OF_ID

    def check_size(self) -> None:
        """Raise an UnreadableColumn if numbers are infinite or too large for models."""
        for most, words in ((np.inf, "infinite numbers"), (LARGEST, f"numbers beyond {LARGEST:g}")):
            beyond = ~(np.abs(self.numbers) < most)
            if beyond.any():
                raise self.infinite(beyond, words)

    def infinite(self, values: BoolArray, words: str = "infinite numbers") -> UnreadableColumn:
        """Return the problem of infinite numbers, or of those that ``words`` describe."""
        return UnreadableColumn(
            f"has {words} in {self.where(values)}",
            "empty these cells, or declare their texts as `missing` under `variables` of the YAML",
            every_row=CORRECT,
            cure=self.beside(values),
            cured=f"{words} are taken for missing codes",
        )

    def not_a_number(self) -> BoolArray:
        """Return which values are no numbers; raise an UnreadableColumn on infinite numbers."""
        odd = ~self.number
        infinities = odd & self.texts.among(INFINITIES)[self.is_value]
        if infinities.any() and (self.declaration.declared_kind or (infinities == odd).all()):
            raise self.infinite(infinities)
        return odd


def _guess(column: _RawColumn) -> tuple[Kind, str]:
    """Return the kind and its reason; raise an UnreadableColumn if no guess is safe."""
    texts = column.texts
    if texts.labelling is not None and (guess := _labelled_kind(column, texts.labelling)):
        return guess
    if texts.ordered is not None:
        kind = Kind.ORDERED if texts.ordered else Kind.CATEGORICAL
        return kind, f"{'ordered ' if texts.ordered else ''}categories in the source"
    if texts.source is not None and pa.types.is_boolean(texts.source):
        return Kind.BOOLEAN, "of this type in the source"
    if _is_time(texts.source):
        return Kind.DATE, "of this type in the source"
    is_number = bool(column.number.all())
    words = set(column.values.slice(0, 3).to_pylist())
    if any(words <= set(pair) for pair in BOOLEANS):
        return Kind.BOOLEAN, "true and false"
    forms = _day_formats(column) if is_number else detect_format(column.values)
    if len(forms) == 1:
        return _dates_like(forms[0])
    if forms:
        raise _ambiguous(column, forms)
    if is_number:
        return _guess_number(column)
    _refuse_mixed(column)
    _refuse_mixed_dates(column)
    return _guess_text(column)


def _dates_like(form: str) -> tuple[Kind, str]:
    plain = form.removeprefix(UNPADDED)
    years = f", years from {LAST_SHORT_YEAR - 99} to {LAST_SHORT_YEAR}" if "%y" in plain else ""
    return Kind.DATE, f"all values are dates like {plain}{years}"


def _ambiguous(column: _RawColumn, forms: tuple[str, ...]) -> UnreadableColumn:
    """Return the problem of dates that several formats fit."""
    first, *others = (form.removeprefix(UNPADDED) for form in forms)
    return UnreadableColumn(
        f"may be dates like {first} or {' or '.join(others)}; which is the day is unclear",
        "set `date_format`",
        cure=replace(column.declaration, date_format=first),
        cured=f"dates are read as {first}; day and month may be the other way round",
    )


def _labelled_kind(column: _RawColumn, about: Labelling) -> tuple[Kind, str] | None:
    """Return the kind that an SPSS, Stata or SAS file gives a column; None where it gives none.

    If every value has a label, the values are codes, also in variables of measure scale: some
    programs write that measure for every number.
    """
    if about.is_date:
        return Kind.DATE, "of this type in the source"
    has_labels = bool(column.texts.among(about.labels)[column.is_value].all())
    if about.measure == "scale" and not has_labels and column.number.all() and not about.is_text:
        kind, why = _guess_number(column)
        is_other = kind is Kind.CATEGORICAL
        return (Kind.NUMERIC, "measure scale in the source") if is_other else (kind, why)
    if about.measure not in ("nominal", "ordinal"):
        if has_labels and _is_scale(column, about):
            return Kind.ORDERED, "the labels are ranges of numbers, or words of a scale"
        return (Kind.CATEGORICAL, "all values have labels") if has_labels else None
    if not has_labels and (column.all_distinct or column.is_named_like_id):
        if not column.number.all():
            return _guess_text(column)
        return Kind.ID, NAMED if column.is_named_like_id else NUMBERING
    if not column.number.all() and int(column.is_value.sum()) > MANY_LEVELS and not has_labels:
        return None
    kind = Kind.ORDERED if about.measure == "ordinal" else Kind.CATEGORICAL
    return kind, f"measure {about.measure} in the source"


def _is_scale(column: _RawColumn, about: Labelling) -> bool:
    """Whether the labels of the numbers, ordered by number, are a rising or falling scale."""
    if not column.number.all():
        return False
    codes = np.asarray(column.values.to_pylist(), dtype=object)[np.argsort(column.numbers)]
    labels = [about.labels[code] for code in codes]
    return scale_order(labels) in (tuple(labels), tuple(reversed(labels)))


def _is_time(source: pa.DataType | None) -> bool:
    return source is not None and (pa.types.is_date(source) or pa.types.is_timestamp(source))


def _guess_number(column: _RawColumn) -> tuple[Kind, str]:
    texts = column.texts
    if has_leading_zero(texts.format.plain(column.values)).any():
        why = "numbers with leading zeros are codes"
        kind = _guess_text(column)[0]
        return kind, f"{why}, all different" if kind is Kind.ID else why
    numbers = column.numbers
    column.check_size()
    if not (numbers == np.rint(numbers)).all():
        return Kind.NUMERIC, f"numbers with decimals{_format_doubt(texts.format)}"
    if column.is_named_like_id:
        return Kind.ID, NAMED
    if column.all_distinct and not texts.format.clock and _counts_rows(column):
        return Kind.ID, NUMBERING
    if column.all_distinct and np.abs(numbers).max() > MAX_EXACT:
        return Kind.ID, "very large whole numbers, all different"
    if not _is_written_with_point(column) and (why := _why_codes(column)):
        ordered = len(numbers) > 2 and is_named_like_order(texts.name)
        return Kind.ORDERED if ordered else Kind.CATEGORICAL, why
    if texts.format != PLAIN:
        return Kind.NUMERIC, f"{texts.format.description}{_format_doubt(texts.format)}"
    if column.share_distinct >= MIN_SHARE_DISTINCT_OF_LONG_ID and _are_long(numbers):
        return Kind.ID, LONG_NUMBERS
    if column.share_distinct > SHARE_DISTINCT_OF_LARGE_ID and np.abs(numbers).max() >= LARGE:
        return Kind.NUMERIC, "whole numbers, nearly all distinct: amounts; if wrong, write kind: id"
    return Kind.NUMERIC, "whole numbers"


def _are_long(numbers: FloatArray) -> bool:
    """Whether whole numbers have one length of at least 11 digits, and are not rounded."""
    low, high = int(numbers.min()), int(numbers.max())
    is_long = low >= 10**10 and len(str(low)) == len(str(high)) and high < MAX_EXACT
    return bool(is_long and np.gcd.reduce(numbers.astype(np.int64)) == 1)


def _format_doubt(form: NumberFormat) -> str:
    """Return what to write if the comma or point has the other meaning; empty if it is clear."""
    if not form.is_ambiguous:
        return ""
    if form.thousands:
        return " (1,234 is read as 1234); if wrong, write decimals: 3"
    return " (1,234 is read as 1.234); if wrong, write decimals: 0"


def _why_codes(column: _RawColumn) -> str:
    """Return why whole numbers are codes; an empty text where they are none.

    Large numbers that few rows have are amounts: as codes they would be released.
    """
    texts, numbers, counts = column.texts, column.numbers, column.texts.counts[column.is_value]
    amounts = any(map(_is_amount, numbers[counts < MIN_HOLDERS].tolist()))
    are_codes = is_named_like_code(texts.name) or not amounts
    n_most = counts.sum() // 2
    if are_codes and len(numbers) <= min(FEW_INTEGERS, n_most):
        return f"only {len(numbers)} different whole numbers"
    return why_codes(texts.name, numbers, counts)


def _is_amount(number: float) -> bool:
    """Whether a number is too large for a code and does not look like a missing code."""
    return abs(number) >= LARGE and not CODE_LOOKS.fullmatch(f"{number:.0f}")


def _day_formats(column: _RawColumn) -> tuple[str, ...]:
    """Return the date formats of whole numbers such as 20191231 or 201912."""
    if len(column.values) <= FEW_INTEGERS or column.texts.format != PLAIN:
        return ()
    codes = np.asarray(pc.match_substring_regex(column.values, "^(0+|9{6,8})(\\.0)?$"))
    forms = detect_format(column.values.filter(pa.array(~codes)))
    if not {form.removeprefix(UNPADDED) for form in forms} <= COMPACT.keys():
        return ()
    if len(forms) == 1 and codes.any():
        raise _beside_dates(column, forms[0].removeprefix(UNPADDED), codes)
    return forms


def _is_written_with_point(column: _RawColumn) -> bool:
    """Whether whole numbers have decimals other than the ``.0`` that pandas adds."""
    plain = column.texts.format.plain(column.values)
    whole = pc.match_substring_regex(plain, r"^[+-]?\d+(\.0)?$")
    return column.texts.is_text and not pc.all(whole).as_py()


def _counts_rows(column: _RawColumn) -> bool:
    """Whether distinct whole numbers count persons or rows."""
    of_text = np.full(len(column.is_value), np.nan)
    of_text[column.is_value] = column.numbers
    return is_numbering(column.texts.name, of_text[column.texts.codes])


def _refuse_mixed(column: _RawColumn) -> None:
    """Refuse a column of numbers with some text, whose meaning only the steward knows."""
    odd = column.not_a_number()
    counts = column.texts.counts[column.is_value]
    is_code = has_leading_zero(column.values).any()
    mostly = counts[~odd].sum() / counts.sum() >= MOSTLY
    if mostly and column.number.sum() > FEW_INTEGERS and not is_code:
        raise UnreadableColumn(
            f"mixes numbers with text in {column.where(odd)}",
            "declare the texts as `missing`, or `kind: categorical`",
            every_row=CORRECT,
            cure=column.beside(odd),
            cured="texts among numbers are taken for missing codes",
        )


def _refuse_mixed_dates(column: _RawColumn) -> None:
    """Refuse a column of dates with some text, or in two formats."""
    counts = column.texts.counts[column.is_value]
    formats = mixed_formats(column.values)
    if not formats or sum(counts[mask].sum() for _, mask in formats) < MOSTLY * counts.sum():
        return
    (form, mask), others = formats[0], formats[1:]
    named = "".join(f" and dates like {other} in {column.where(odd)}" for other, odd in others)
    raise _beside_dates(column, form, ~mask, f"has dates like {form}{named}" if others else "")


def _beside_dates(
    column: _RawColumn, form: str, odd: BoolArray, fault: str = ""
) -> UnreadableColumn:
    """Return the problem of texts among dates; its cure takes a few of them for missing codes."""
    counts = column.texts.counts[column.is_value]
    mostly = fault == "" or counts[odd].sum() <= (1 - MOSTLY) * counts.sum()
    beside = column.beside(odd) if mostly else None
    return UnreadableColumn(
        fault or f"mixes dates like {form} with text in {column.where(odd)}",
        "declare the texts as `missing` beside `date_format`"
        if beside
        else "write all dates in one format",
        every_row=CORRECT,
        cure=None if beside is None else replace(beside, date_format=form),
        cured=f"texts that are no dates like {form} are taken for missing codes",
    )


def _guess_text(column: _RawColumn) -> tuple[Kind, str]:
    if column.is_named_like_id:
        return Kind.ID, "named like an identifier"
    if column.all_distinct:
        return Kind.ID, FREE_TEXT if column.is_prose else DISTINCT
    distinct, n_rows = int(column.is_value.sum()), column.texts.n_rows
    if distinct > max(MANY_LEVELS, n_rows / 2):
        raise UnreadableColumn(
            f"has {distinct} distinct texts in {n_rows} rows",
            "drop it, or declare `kind: id` or `kind: categorical`",
            every_row="declare `date_format`, or `kind: ordered` and all `levels` in order",
        )
    if scale_order(column.values.to_pylist()) is not None:
        return Kind.ORDERED, "ranges of numbers, or words of a scale"
    return Kind.CATEGORICAL, "text"


def _coded(column: _RawColumn) -> dict[str, Any]:
    levels = column.declaration.levels
    if levels is None:
        levels = _levels(column)
    else:
        _check_levels(column, levels)
    texts, n_levels = column.texts, int(column.is_value.sum())
    if n_levels > MAX_LEVELS:
        raise UnreadableColumn(
            f"has {n_levels} levels; at most {MAX_LEVELS}; declare `kind: id` or drop it"
        )
    if column.all_distinct and texts.ordered is None:
        raise UnreadableColumn(
            "is categorical but all its values are distinct",
            "declare `kind: id` or drop it",
            every_row="declare `kind: ordered`, and all `levels` in order",
        )
    return {"levels": levels}


def _levels(column: _RawColumn) -> tuple[str, ...]:
    texts = column.texts
    if texts.ordered is not None:  # all categories of the source, also unused ones
        return tuple(texts.picked(~texts.among(column.missing)))
    levels = sorted(column.values.to_pylist())
    if column.number.all():
        sizes = parse(pa.array(levels), texts.format)
        return tuple(levels[i] for i in np.argsort(sizes, kind="stable"))
    if column.declaration.declared_kind in (None, Kind.ORDERED) and (scale := scale_order(levels)):
        return scale
    if column.declaration.kind is Kind.ORDERED:
        raise UnreadableColumn("is ordered, but its levels are words; declare `levels` in order")
    return tuple(levels)


def _check_levels(column: _RawColumn, levels: tuple[str, ...]) -> None:
    if len(set(levels)) != len(levels) or set(levels) & set(column.missing):
        raise UnreadableColumn(
            "has `levels` that occur twice or are missing codes; write each once"
        )
    odd = column.is_value & ~column.texts.among(levels)
    if odd.any():
        raise UnreadableColumn(
            f"has {plural(int(odd.sum()), 'text')} that its declared `levels` lack, in "
            f"{column.texts.where(odd)}",
            "add them to `levels` or `missing`",
            every_row="add them to `levels`, or correct these cells",
        )


def _boolean(column: _RawColumn) -> dict[str, Any]:
    words = column.values.to_pylist()
    if column.texts.source is not None and pa.types.is_boolean(column.texts.source):
        words = ["false", "true"]
    if len(words) > 2:
        raise UnreadableColumn(
            f"is declared boolean, but has {len(words)} distinct values; write kind: categorical"
        )
    words = next((list(pair) for pair in BOOLEANS if set(words) <= set(pair)), words)
    in_order = sorted(words, key=lambda text: (text.lower() not in FALSE_WORDS, text))
    levels = column.declaration.levels or tuple(in_order)
    _check_levels(column, levels)
    return {"levels": levels}


def _numeric(column: _RawColumn) -> dict[str, Any]:
    texts = column.texts
    odd = column.not_a_number()
    if odd.all():
        raise UnreadableColumn(
            "contains words and no numbers, but `kind: numeric` (or its use as a weight or count) "
            "needs numbers; name another column, or declare `kind: categorical`"
        )
    if odd.any():
        raise UnreadableColumn(
            f"is numeric, but contains texts in {column.where(odd)}",
            "declare them as `missing`, or `kind: categorical`",
            every_row=CORRECT,
        )
    numbers = column.numbers
    column.check_size()
    plain = texts.format.plain(column.values)
    is_whole = np.asarray(pc.match_substring_regex(plain, r"^[+-]?\d+\.?0*$"))
    large = (np.abs(numbers) > MAX_EXACT) & is_whole
    is_float = texts.source is not None and pa.types.is_floating(texts.source)
    if large.any() and not is_float and texts.labelling is None:
        raise UnreadableColumn(
            f"has whole numbers beyond 2**53 in {column.where(large)}, which would be altered; "
            "declare `kind: id` or `kind: categorical`"
        )
    decimals, style = style_of(column.values, texts.format)
    declared = column.declaration.decimals
    if declared is not None:
        _check_decimals(column, declared)
        style = "plain" if style == "fixed" and decimals != declared else style
        decimals = declared
    elif decimals and not (rounded(numbers, decimals) == numbers).all():
        decimals, style = None, "plain"  # large numbers that rounding would change
    elif decimals and (numbers == np.rint(numbers)).all():
        decimals, style = 0, f"fixed{decimals}" if style == "fixed" else style
    return {"decimals": decimals, "storage": {"style": style, **texts.format.storage}}


def _check_decimals(column: _RawColumn, decimals: int) -> None:
    if decimals < 0:
        raise UnreadableColumn("has negative `decimals`; they must be 0 or more")
    numbers = column.numbers
    odd = ~np.isclose(np.round(numbers, decimals), numbers, rtol=1e-14, atol=1e-14)
    if odd.any():
        raise UnreadableColumn(
            f"has more than the declared {decimals} decimals in {column.where(odd)}; declare more, "
            "or round the values"
        )


def _date(column: _RawColumn) -> dict[str, Any]:
    native = column.texts.native
    if native is not None and _is_time(native.type):
        days = days_of(native.filter(pa.array(column.is_value)))
        whole = resolution_of(days) >= MICROSECONDS_A_DAY
        form = "%Y-%m-%d" if whole else "%Y-%m-%dT%H:%M:%S"
    else:
        form, days = _dates(column)
    resolution = resolution_of(days)
    return {
        "decimals": 0 if resolution == MICROSECONDS_A_DAY else None,
        "storage": {"date_format": form, "resolution": resolution},
    }


def _dates(column: _RawColumn) -> tuple[str, FloatArray]:
    form = column.declaration.date_format
    if form is None:
        forms = detect_format(column.values)
        if len(forms) != 1:
            raise UnreadableColumn(
                "is a date, but " + ("more than one" if forms else "no known") + " format fits "
                "all its values; set `date_format`, for example %d/%m/%Y"
            )
        form = forms[0]
    written, days, wrong = parse_dates(column.values, form)
    if wrong.any():
        raise UnreadableColumn(
            f"has no dates like {form} in {column.where(wrong)}",
            "declare them as `missing`",
            every_row=CORRECT,
        )
    return written, days


def _id(column: _RawColumn) -> dict[str, Any]:
    """Return the pattern of identifiers, without their values."""
    form, may_repeat = column.declaration.form, column.declaration.may_repeat
    try:
        pattern = pattern_of_form(form, column.values, may_repeat=may_repeat)
    except ImportError:
        raise UnreadableColumn(
            f"has form: {form}, which needs the package Faker",
            "type pip install 'microdata-synthesizer[faker]'",
        ) from None
    return {"decimals": 0, "storage": {} if pattern is None else pattern.storage}


_BUILDERS: Final[Mapping[Kind, Callable[[_RawColumn], dict[str, Any]]]] = {
    Kind.CATEGORICAL: _coded,
    Kind.ORDERED: _coded,
    Kind.BOOLEAN: _boolean,
    Kind.NUMERIC: _numeric,
    Kind.DATE: _date,
    Kind.ID: _id,
}
