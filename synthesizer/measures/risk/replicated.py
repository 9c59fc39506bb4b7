"""Replicated uniques: whole records of the original that show up in the synthetic data.

The attack: somebody who knows a person well finds a synthetic record that looks like the person
in every respect and that nobody else looks like. Whether it is there by copying or by chance, it
will be taken for a leak; such records are candidates for removal before a release.

Source: Nowok, Raab and Dibben (2016), synthpop: bespoke creation of synthetic data in R, Journal
of Statistical Software 74(11); the function ``replicated.uniques`` of synthpop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from synthesizer.data.codes import Groups
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data, as_tables, check_comparable, check_keys, column_names
from synthesizer.data.panel.reports import Replication, replication
from synthesizer.data.table import BoolArray, IntArray, Table
from synthesizer.measures.figure import Direction, Figure, plain
from synthesizer.measures.risk.identity import SharedCoder


@dataclass(frozen=True, eq=False)
class ReplicatedCounts:
    """Unique records of one synthetic dataset, by what they are in the original.

    Parameters
    ----------
    n : int
        Number of synthetic records.
    present_rows : ndarray of bool, shape (n,)
        Unique synthetic records that occur in the original, once or several times.
    unique_rows : ndarray of bool, shape (n,)
        Unique synthetic records that are unique in the original too: the replicated uniques.
    uniques : int
        Number of unique synthetic records.
    """

    n: int
    uniques: int
    present_rows: BoolArray
    unique_rows: BoolArray

    @property
    def present(self) -> int:
        """Number of unique synthetic records that occur in the original."""
        return int(self.present_rows.sum())

    @property
    def replicated(self) -> int:
        """Number of unique synthetic records that are unique in the original too."""
        return int(self.unique_rows.sum())

    def to_dict(self) -> dict[str, Any]:
        """Return the counts; which records they are stays out of files."""
        counts = {"n": self.n, "uniques": self.uniques}
        return counts | {"present": self.present, "replicated": self.replicated}


@dataclass(frozen=True, eq=False)
class ReplicatedUniques:
    """Unique records of the original and of every synthetic dataset.

    Parameters
    ----------
    keys : tuple of str
        Variables that were compared.
    n : int
        Number of original records.
    uniques : int
        Number of original records that are unique.
    datasets : tuple of ReplicatedCounts
        One for each synthetic dataset.
    """

    keys: tuple[str, ...]
    n: int
    uniques: int
    datasets: tuple[ReplicatedCounts, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Shares of the synthetic records, averaged over the datasets."""
        rows = (
            ("replicated uniques", "replicated", "unique and equal to a unique original record"),
            ("unique records present", "present", "unique and equal to an original record"),
            ("unique records", "uniques", "unique within the synthetic data"),
        )
        return tuple(
            Figure(
                name=name,
                value=float(np.mean([getattr(d, field) / d.n for d in self.datasets])),
                meaning=f"share of the synthetic records that are {what}",
                direction="lower is safer",
                n=sum(d.n for d in self.datasets),
                original=self.uniques / self.n,
            )
            for name, field, what in rows
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "keys": list(self.keys),
            "n": self.n,
            "uniques": self.uniques,
            "datasets": [counts.to_dict() for counts in self.datasets],
            "figures": [plain(figure) for figure in self.figures],
        }


def replicated_uniques(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    keys: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    groups: Mapping[str, Groups] | None = None,
) -> ReplicatedUniques:
    """Find unique synthetic records that occur in the original, and that are unique there.

    Numbers are compared by value and everything else by label; synthpop compares rows as they
    are printed in columns, and misses equal numbers when two files pad them to different widths.

    Parameters
    ----------
    original : Table or DataFrame
        Confidential records, shape (n, p).
    synthetic : Table, DataFrame or sequence of them
        Synthetic datasets of any sizes; each is compared for itself.
    keys : sequence of str, optional
        Variables that must agree; default all of the original.
    exclude : sequence of str
        Variables to leave out of these, such as identifiers and weights.
    groups : mapping of str to int or sequence of float, optional
        Number of quantile groups of the original, or cut points, for numeric variables; others
        count by exact value. Missing codes are values.

    Returns
    -------
    ReplicatedUniques
        Counts, and for every synthetic record whether it is one.

    Raises
    ------
    DataError
        For unknown variables, an empty synthetic dataset and the like, all at once.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m", "m"], "age": [30, 50, 50]})
    >>> made = pd.DataFrame({"sex": ["f", "m", "m"], "age": [30, 50, 77]})
    >>> result = replicated_uniques(people, made)
    >>> result.uniques, result.datasets[0].to_dict()
    (1, {'n': 3, 'uniques': 3, 'present': 2, 'replicated': 1})
    >>> result.datasets[0].unique_rows.tolist()
    [True, False, False]
    """
    names = list(column_names(original)) if keys is None else list(keys)
    _check_exclude(exclude, names)
    names = [name for name in names if name not in exclude]
    original, tables = as_tables(original, synthetic, names)
    check_keys(original, keys=names, groups=groups)
    check_comparable(original, tables, names)
    replicates = Replicates(original, names, groups)
    for table in tables:
        replicates.add(table)
    return replicates.result


class Replicates:
    """Counts replicated uniques while datasets come in one by one; none of them is kept.

    Parameters
    ----------
    original : Table
        Confidential records.
    names : sequence of str
        Variables that must agree, all in ``original``.
    groups : mapping, optional
        As in `replicated_uniques`.
    """

    def __init__(
        self, original: Table, names: Sequence[str], groups: Mapping[str, Groups] | None = None
    ) -> None:
        self._coder = SharedCoder(original, names, groups)
        self._names = tuple(names)
        self.datasets: list[ReplicatedCounts] = []

    def add(self, synthetic: Table) -> None:
        """Look at the next dataset."""
        self.datasets.append(_counts(self._coder, synthetic))

    @property
    def result(self) -> ReplicatedUniques:
        """What was found in the datasets so far."""
        return ReplicatedUniques(
            keys=self._names,
            n=len(self._coder.codes),
            uniques=int((np.bincount(self._coder.codes) == 1).sum()),
            datasets=tuple(self.datasets),
        )


def _check_exclude(exclude: Sequence[str], names: Sequence[str]) -> None:
    problems = [
        f"exclude names {name!r}, which is not among the compared variables: leave it out"
        for name in exclude
        if name not in names
    ]
    if problems:
        raise DataError(problems)


def _counts(coder: SharedCoder, table: Table) -> ReplicatedCounts:
    codes, size = coder.encode(table)
    ours = np.bincount(coder.codes, minlength=size)[codes]
    unique = np.bincount(codes, minlength=size)[codes] == 1
    return ReplicatedCounts(
        len(codes), int(unique.sum()), unique & (ours > 0), unique & (ours == 1)
    )


# Replicated careers: whole sequences of states of the original that show up again.


@dataclass(frozen=True, kw_only=True)
class ReplicatedCareers:
    """Careers of the original that occur in synthetic data.

    Parameters
    ----------
    n : int
        Persons of the original.
    n_periods : int
        Periods of a career.
    uniques : int
        Careers that exactly one person of the original has.
    shared : float
        Share of persons whose career another person has too: the chance that a fresh person's is
        among those of the others (leaving out one after the other).
    twins : float
        Share of persons whose career exactly one other person has: the chance that a fresh
        person's equals one that exactly one of the others has.
    datasets : tuple of Replication
        One for each synthetic dataset.
    """

    n: int
    n_periods: int
    uniques: int
    shared: float
    twins: float
    datasets: tuple[Replication, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Shares averaged over the datasets."""
        return tuple(self._figures())

    def _figures(self) -> Iterator[Figure]:
        drawn = sum(own.n_synthetic for own in self.datasets)
        rows: tuple[tuple[str, str, str, float | None, float, int], ...] = (
            (
                "careers of one person", "unique",
                "share of the synthetic careers that equal, in every period, a career which "
                "exactly one person of the original has", self.twins, self.uniques / self.n, drawn,
            ),
            (
                "careers in the data", "in_data",
                "share of the synthetic careers that anybody of the original has", self.shared,
                1.0, drawn,
            ),
            (
                "unique careers replicated", "uniques_replicated",
                "share of the careers that exactly one person of the original has which occur in "
                "the synthetic data", None, 1.0, self.uniques,
            ),
        )  # fmt: skip
        direction: Direction = "lower is safer"
        for name, field, meaning, baseline, original, n in rows:
            yield Figure(
                name=name,
                value=float(np.mean([getattr(own, field) for own in self.datasets])),
                meaning=meaning + ("" if baseline is None else "; the baseline is a fresh person"),
                direction=direction,
                n=n,
                baseline=baseline,
                original=original,
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self) | {
            "datasets": [asdict(own) for own in self.datasets],
            "figures": [plain(figure) for figure in self.figures],
        }


class CareerReplicates:
    """Counts replicated careers while datasets come in one by one; none of them is kept.

    Parameters
    ----------
    original : ndarray of int, shape (n, T)
        States by person and period, n and T >= 1.
    """

    def __init__(self, original: IntArray) -> None:
        self._original = np.asarray(original)
        self.datasets: list[Replication] = []

    def add(self, synthetic: IntArray) -> None:
        """Look at the next dataset, of the same states and periods."""
        self.datasets.append(replication(self._original, synthetic))

    @property
    def result(self) -> ReplicatedCareers:
        """What was found in the datasets so far."""
        counts = np.unique(self._original, axis=0, return_counts=True)[1]
        n = len(self._original)
        return ReplicatedCareers(
            n=n,
            n_periods=self._original.shape[1],
            uniques=int((counts == 1).sum()),
            shared=float(counts[counts > 1].sum() / n),
            twins=float(counts[counts == 2].sum() / n),
            datasets=tuple(self.datasets),
        )


def replicated_careers(original: IntArray, *synthetic: IntArray) -> ReplicatedCareers:
    """Find careers of the original in synthetic data.

    Parameters
    ----------
    original, *synthetic : ndarray of int, shapes (n, T), (k, T)
        States by person and period, in the same codes.

    Examples
    --------
    >>> found = replicated_careers(np.array([[0, 1], [1, 1], [1, 1]]), np.array([[0, 1], [0, 0]]))
    >>> {figure.name: figure.value for figure in found.figures}
    {'careers of one person': 0.5, 'careers in the data': 0.5, 'unique careers replicated': 1.0}
    """
    counter = CareerReplicates(original)
    for drawn in synthetic:
        counter.add(drawn)
    return counter.result
