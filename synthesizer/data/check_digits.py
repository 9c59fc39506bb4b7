"""Check digits of identifiers: IBAN, ISBN-10, EAN-13 (and ISBN-13), and Luhn.

Sources: ISO 13616 (IBAN, with ISO 7064 mod 97-10), ISO 2108 (ISBN), GS1 General Specifications
(EAN-13), ISO/IEC 7812-1 annex B (Luhn).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from string import digits
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from synthesizer.data.values import matches

MIN_IDS: Final = 20
"""Fewest identifiers that show a rule; each satisfies it by chance in one case of ten."""
_X: Final = 33
"""Value of the letter X, which is 10 in an ISBN-10."""
_IBAN_SIGNS: Final = ("97", "98", *(f"{number:02}" for number in range(2, 97)))

Numbers = npt.NDArray[np.int64]


def _iban(values: Numbers) -> Numbers:
    total = np.zeros(len(values), dtype=np.int64)
    for column in np.roll(values, -4, axis=1).T:
        total = (total * np.where(column > 9, 100, 10) + column) % 97
    return (total - 1) % 97


def _isbn10(values: Numbers) -> Numbers:
    weights = np.arange(values.shape[1], 0, -1)
    return np.asarray((np.where(values == _X, 10, values) * weights).sum(axis=1) % 11)


def _ean13(values: Numbers) -> Numbers:
    return np.asarray((values[:, ::-2].sum(axis=1) + 3 * values[:, -2::-2].sum(axis=1)) % 10)


def _luhn(values: Numbers) -> Numbers:
    twice = 2 * values[:, -2::-2]
    return np.asarray((values[:, ::-2].sum(axis=1) + (twice - 9 * (twice > 9)).sum(axis=1)) % 10)


class CheckRule(NamedTuple):
    """A rule of check digits."""

    form: str
    """Regular expression of identifiers without blanks and hyphens."""
    signs: Sequence[str]
    """Check digits that add 0, 1, ... to the residue; their number is the modulus."""
    residue: Callable[[Numbers], Numbers]
    """Maps characters as numbers (A is 10), shape (n, L), to residues; 0 is right."""
    position: slice = slice(-1, None)
    """Position of the check digits."""


RULES: Final = {
    "iban": CheckRule(r"[A-Z]{2}\d{2}[A-Z\d]{11,30}", _IBAN_SIGNS, _iban, slice(2, 4)),
    "isbn10": CheckRule(r"\d{9}[\dX]", digits + "X", _isbn10),
    "ean13": CheckRule(r"\d{13}", digits, _ean13),
    "luhn": CheckRule(r"\d{6,}", digits, _luhn),
}


def check_rule(values: pa.Array) -> str:
    """Return the name of the rule that all identifiers satisfy; "" without one.

    Examples
    --------
    >>> zeros = pa.array([f"{k}0" for k in range(1000000, 1000020)])
    >>> check_rule(zeros), check_rule(with_check_digits("luhn", zeros))
    ('', 'luhn')
    """
    bare = _bare(values)
    for name, rule in RULES.items() if len(values) >= MIN_IDS else ():
        is_right = matches(bare, f"^{rule.form}$").all()
        if is_right and not any(residues.any() for _, residues in _residues(rule, bare)):
            return name
    return ""


def with_check_digits(name: str, texts: pa.Array) -> pa.Array:
    """Return identifiers with right check digits in position of zeros.

    Examples
    --------
    >>> with_check_digits("luhn", pa.array(["7992739871-0"])).to_pylist()
    ['7992739871-3']
    """
    rule, checks = RULES[name], np.zeros(len(texts), dtype=np.int64)
    for rows, residues in _residues(rule, _bare(texts)):
        checks[rows] = -residues % len(rule.signs)
    signs = pa.array([*rule.signs]).take(pa.array(checks))
    start, stop = rule.position.start, rule.position.stop
    after = "" if stop is None else pc.utf8_slice_codeunits(texts, stop)
    return pc.binary_join_element_wise(pc.utf8_slice_codeunits(texts, 0, start), signs, after, "")


def _bare(values: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(values, "[ -]", "")


def _residues(rule: CheckRule, bare: pa.Array) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield positions and residues of the identifiers of each length."""
    lengths = pc.utf8_length(bare).to_numpy()
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        letters = np.array(bare.take(pa.array(rows)).to_pylist(), dtype=f"U{length}")
        points = letters.view(np.uint32).reshape(len(rows), length).astype(np.int64)
        yield rows, rule.residue(np.where(points < ord("A"), points - ord("0"), points - 55))
