"""Mean CAP by number of datasets and subset of the records, and its figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from synthesizer.figures import Figure

__all__ = ["CapResult", "CapRow", "CapSingle"]


@dataclass(frozen=True, kw_only=True)
class CapMeans:
    """Mean CAP of one subset of the original records.

    ``zero`` counts records without a match as 0, ``undefined`` leaves them out (None when no
    record is matched). ``chance_zero`` and ``chance_undefined`` are the same with the baseline
    CAP of the records that match in place of the synthetic one: what matches would give if their
    targets were anybody's.
    """

    subset: str
    size: int
    matched: int
    zero: float | None
    undefined: float | None
    chance_zero: float | None
    chance_undefined: float | None


@dataclass(frozen=True, kw_only=True)
class CapRow(CapMeans):
    """Mean CAP from the first ``m`` synthetic datasets pooled."""

    m: int


@dataclass(frozen=True, kw_only=True)
class CapSingle(CapMeans):
    """Mean CAP from one synthetic dataset alone, numbered from 1."""

    dataset: int


@dataclass(frozen=True)
class CapResult:
    """Mean CAP of subsets of the original records (tables 1, 5 and 6 of Taub et al. 2018).

    Parameters
    ----------
    keys, target : tuple of str, str
        What the intruder knows, and wants to learn.
    n : int
        Number of original records.
    sizes : dict of str to int
        Number of records in each subset.
    original, baseline : dict of str to float
        Mean CAP by subset, the upper and the lower mark; None for empty subsets.
    synthetic : tuple of CapRow
        By number of pooled datasets and subset.
    singles : tuple of CapSingle
        By dataset and subset: what each of them gives away alone.
    """

    keys: tuple[str, ...]
    target: str
    n: int
    sizes: dict[str, int]
    original: dict[str, float | None]
    baseline: dict[str, float | None]
    synthetic: tuple[CapRow, ...]
    singles: tuple[CapSingle, ...]

    def row(self, m: int, subset: str = "all") -> CapRow:
        """Return the row for ``m`` pooled datasets; raises KeyError if there is none."""
        for row in self.synthetic:
            if (row.m, row.subset) == (m, subset):
                return row
        raise KeyError(f"m = {m}, {subset!r}: there are m = 1 to {self.last}, {list(self.sizes)}")

    @property
    def last(self) -> int:
        """Number of datasets; their pool decides about a release."""
        return self.synthetic[-1].m

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Mean CAP of all datasets pooled, for every subset, and of matches."""
        zero = [self._figure(name, words) for name, words in _WORDS.items() if name in self.sizes]
        whole = self.row(self.last)
        matches = Figure(
            name="CAP of matches",
            value=whole.undefined,
            meaning=f"the same, records without a match left out ({whole.matched:,} match)",
            direction="lower is safer",
            n=whole.matched,
            baseline=whole.chance_undefined,
            original=self.original["all"],
        )
        return (zero[0], matches, *zero[1:])

    def _figure(self, subset: str, words: tuple[str, str]) -> Figure:
        name, whose = words
        row = self.row(self.last, subset)
        return Figure(
            name=name,
            value=row.zero,
            meaning=f"how often an intruder with the keys reads off the right {self.target} "
            f"of {whose} in all datasets pooled, non-matches as zero; baseline: the target of "
            "those that match guessed from its distribution",
            direction="lower is safer",
            n=self.sizes[subset],
            baseline=row.chance_zero,
            original=self.original[subset],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self) | {"keys": list(self.keys)}


_WORDS = {
    "all": ("CAP", "all records"),
    "uniques": ("CAP-U", "records whose key nobody shares"),
    "special_uniques": ("CAP of special uniques", "the most special of them (SUDA)"),
}
