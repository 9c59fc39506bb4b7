"""Values that two files write in different ways are read as the original writes them.

Programs write a category anew: pandas makes ``3.0`` of the code 3 where a column has empty cells
and ``1`` of the code 01, R makes ``TRUE`` of true and ``NA`` of an empty cell, and a file that is
safe for spreadsheets has apostrophes. A text is changed only where the original lacks it and one
level, or one missing code, alone is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from synthesizer.data.missing_codes import TEXT_CODES
from synthesizer.data.sources import RawTable, Texts
from synthesizer.data.spreadsheets import without_apostrophes
from synthesizer.data.table import Table

_WHOLE = r"^[+-]?[0-9]{1,18}(\.0*)?$"
"""Whole numbers of up to 18 digits, with a decimal point or without."""
_TRUTH = pa.array(["false", "true"])


def read_back(raw: RawTable, original: Table) -> tuple[RawTable, tuple[str, ...]]:
    """Return data as the original writes them, and the columns with values written otherwise.

    Cells with an apostrophe that `spreadsheet_safe` wrote are no values written otherwise.
    """
    arrow, names = raw.arrow, []
    for place, texts in enumerate(raw.texts):
        if texts.name not in original:
            continue
        variable, written = original[texts.name].variable, texts.values.to_pylist()
        labels = variable.labels if variable.is_coded else variable.missing
        spelled = without_apostrophes(written, labels)
        meant = _other_spellings(texts.values, labels) | _other_code(texts, variable.missing)
        if meant:
            names.append(texts.name)
            spelled = [meant.get(text, text) for text in spelled]
        if spelled != written:
            values = pa.array([None if t == texts.null else t for t in spelled], pa.string())
            cells = values.take(pa.array(texts.codes))
            arrow = arrow.set_column(place, arrow.schema.names[place], cells)
    same = arrow is raw.arrow
    return raw if same else RawTable(arrow, raw.layout, raw.origin), tuple(names)


def _other_spellings(values: pa.Array, labels: Sequence[str]) -> dict[str, str]:
    """Return the label of each text that is none of them, where one label has the same value.

    Source: the grammars of whole numbers and truth values that pandas, R and Stata write.
    """
    own = pa.array(labels, pa.string())
    new = values.filter(pc.invert(pc.is_in(values, own)))
    whole, codes = (part.filter(pc.match_substring_regex(part, _WHOLE)) for part in (new, own))
    found = _meant(whole, codes, lambda text: int(text.partition(".")[0])) if len(codes) else {}
    words, truths = (part.filter(pc.is_in(pc.utf8_lower(part), _TRUTH)) for part in (new, own))
    return found | _meant(words, truths, str.lower)


def _other_code(texts: Texts, missing: Sequence[str]) -> dict[str, str]:
    """Return the only code of an empty cell with that of the original, which the other file lacks.

    Both are texts that no column has as a value, such as ``NA`` and nothing.
    """
    ours = [code for code in missing if code in TEXT_CODES]
    theirs = texts.picked(texts.among(TEXT_CODES) & texts.occurs)
    return {theirs[0]: ours[0]} if len(ours) == len(theirs) == 1 and ours != theirs else {}


def _meant(texts: pa.Array, labels: pa.Array, value: Callable[[str], object]) -> dict[str, str]:
    """Return the label of the same value for each text; none where several labels have it."""
    by_value: dict[object, list[str]] = {}
    for label in labels.to_pylist():
        by_value.setdefault(value(label), []).append(label)
    meant = {text: by_value.get(value(text), []) for text in texts.to_pylist()}
    return {text: found[0] for text, found in meant.items() if len(found) == 1}
