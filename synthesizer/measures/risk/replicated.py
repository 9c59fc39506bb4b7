"""Replicated uniques: unique synthetic records that equal a unique original record.

The attack: an intruder who knows a person well finds a unique synthetic record that equals the
person in all variables. Copied or by chance, it will be taken for a leak; such records are
candidates for removal before a release.

Careers of a panel are compared over all periods.

Source: Nowok, Raab and Dibben (2016), synthpop: bespoke creation of synthetic data in R, Journal
of Statistical Software 74(11); the function ``replicated.uniques`` of synthpop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthesizer.data.codes import positions_in
from synthesizer.data.errors import DataError, Problems
from synthesizer.data.pairs import Data, check_lists, column_names
from synthesizer.data.table import BoolArray, IntArray, Table
from synthesizer.measures.figure import Figure, FigureKind, Limit, Result, Row, collected, column
from synthesizer.measures.measure import Case, Collecting, Measure, seeing
from synthesizer.measures.risk.comparable import GroupsOf, SharedCoder, Synthetic, checked_tables
from synthesizer.measures.utility.sequences import career_of


class ReplicatedCounts(Row):
    """Unique records of one synthetic dataset, and those of them that the original has."""

    n: int = column("Records", "count", "synthetic records")
    uniques: int = column("Unique", "count", "unique synthetic records")
    present: int = column("Present", "count", "of them, those that the original has")
    replicated: int = column(
        "Replicated uniques", "count", "of them, those that are unique in the original, too"
    )


_SHARE = "share of the synthetic {records} that are"
REPLICATED_UNIQUES = FigureKind(
    "replicated_uniques",
    "replicated uniques",
    f"{_SHARE} unique and equal to a unique original {{record}} in every variable",
    limit=Limit(),
    is_axis=True,
)
UNIQUE_PRESENT = FigureKind(
    "unique_present",
    "unique {records} present",
    f"{_SHARE} unique and equal to an original {{record}}",
)
UNIQUE_SYNTHETIC = FigureKind(
    "unique_synthetic", "unique {records}", f"{_SHARE} unique within the synthetic data"
)


class ReplicatedUniques(Result):
    """Unique records of the original and of every synthetic dataset."""

    keys: tuple[str, ...]
    """Variables that were compared."""
    n: int = column("original records", "count")
    uniques: int = column("unique original records", "count")
    datasets: tuple[ReplicatedCounts, ...]
    """One for each synthetic dataset."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Shares of the synthetic records, averaged over the datasets."""
        return (
            self._figure(REPLICATED_UNIQUES, [d.replicated for d in self.datasets]),
            self._figure(UNIQUE_PRESENT, [d.present for d in self.datasets]),
            self._figure(UNIQUE_SYNTHETIC, [d.uniques for d in self.datasets]),
        )

    def _figure(self, kind: FigureKind, counts: Sequence[int]) -> Figure:
        sizes = [dataset.n for dataset in self.datasets]
        share = float(np.mean(np.array(counts) / sizes))
        return kind.of(share, sum(sizes), original=self.uniques / self.n)


@dataclass(frozen=True, eq=False)
class ReplicatedRows:
    """Which records of one synthetic dataset are unique, each of shape (n,)."""

    unique: BoolArray
    """Unique synthetic records."""
    present: BoolArray
    """Those of them that the original has."""
    replicated: BoolArray
    """Those of them that are unique in the original, too."""

    @property
    def counts(self) -> ReplicatedCounts:
        """Numbers of these records, without the records."""
        return ReplicatedCounts(
            n=len(self.unique),
            uniques=int(self.unique.sum()),
            present=int(self.present.sum()),
            replicated=int(self.replicated.sum()),
        )


def replicated_uniques(
    original: Data,
    synthetic: Synthetic,
    *,
    keys: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    groups: GroupsOf = None,
) -> ReplicatedUniques:
    """Return the numbers of unique synthetic records that the original has, or has once.

    Numbers are compared by value, all else by label. (synthpop compares printed rows, and misses
    equal numbers that are padded to different widths.)

    Parameters
    ----------
    original, synthetic, groups
        As in `synthesizer.measures.risk.cap.cap`; the result has each dataset.
    keys : sequence of str, optional
        Variables that must be equal; by default all of the original.
    exclude : sequence of str
        Variables to leave out, such as identifiers and weights.

    Returns
    -------
    ReplicatedUniques
        Counts; `replicated_rows` returns the records.

    Raises
    ------
    DataError
        With all problems, such as unknown variables or an empty synthetic dataset.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m", "m"], "age": [30, 50, 50]})
    >>> made = pd.DataFrame({"sex": ["f", "m", "m"], "age": [30, 50, 77]})
    >>> result = replicated_uniques(people, made)
    >>> result.uniques, result.datasets[0]
    (1, ReplicatedCounts(n=3, uniques=3, present=2, replicated=1))
    """
    original, tables = _compared(original, synthetic, keys, exclude, groups)
    return collected(Replicates(original, original.names, groups), tables)


def replicated_rows(
    original: Data,
    synthetic: Synthetic,
    *,
    keys: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    groups: GroupsOf = None,
) -> tuple[ReplicatedRows, ...]:
    """Return which records of each synthetic dataset are replicated; see `replicated_uniques`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m", "m"], "age": [30, 50, 50]})
    >>> made = pd.DataFrame({"sex": ["f", "m", "m"], "age": [30, 50, 77]})
    >>> replicated_rows(people, made)[0].replicated.tolist()
    [True, False, False]
    """
    original, tables = _compared(original, synthetic, keys, exclude, groups)
    replicates = Replicates(original, original.names, groups)
    return tuple(replicates.rows(table) for table in tables)


def _compared(
    original: Data,
    synthetic: Synthetic,
    keys: Sequence[str] | None,
    exclude: Sequence[str],
    groups: GroupsOf,
) -> tuple[Table, tuple[Table, ...]]:
    """Return the tables with the compared variables, in their order."""
    check_lists(keys=keys, exclude=exclude)
    names = list(column_names(original)) if keys is None else list(keys)
    Problems(
        f"exclude names {name!r}, which is not a compared variable: leave it out"
        for name in exclude
        if name not in names
    ).settle(DataError)
    names = [name for name in names if name not in exclude]
    original, tables = checked_tables(original, synthetic, keys=names, groups=groups)
    return original.select(names), tables


class Replicates:
    """Count replicated uniques in datasets that are added one by one and not stored."""

    def __init__(self, original: Table, names: Sequence[str], groups: GroupsOf = None) -> None:
        self._coder = SharedCoder(original, names, groups)
        self._names = tuple(names)
        self.datasets: list[ReplicatedCounts] = []

    def add(self, synthetic: Table) -> None:
        """Add the next dataset."""
        self.datasets.append(self.rows(synthetic).counts)

    def rows(self, synthetic: Table) -> ReplicatedRows:
        """Return which records of a dataset are replicated."""
        codes, counts_original, counts_synthetic = self._coder.counts(synthetic)
        unique = counts_synthetic[codes] == 1
        return ReplicatedRows(
            unique, unique & (counts_original[codes] > 0), unique & (counts_original[codes] == 1)
        )

    def result(self) -> ReplicatedUniques:
        """Return the result of the datasets so far."""
        return ReplicatedUniques(
            keys=self._names,
            n=len(self._coder.codes),
            uniques=int((np.bincount(self._coder.codes) == 1).sum()),
            datasets=tuple(self.datasets),
        )


@dataclass(frozen=True, kw_only=True)
class Replication:
    """Shares of synthetic careers, each in [0, 1]."""

    n_synthetic: int
    """Synthetic careers."""
    n_unique: int
    """Careers of exactly one original person."""
    in_data: float
    """Share of synthetic careers that occur in the original."""
    unique: float
    """Share of synthetic careers that equal a career of exactly one original person."""
    uniques_replicated: float
    """Share of the careers of exactly one original person that occur in the synthetic data."""

    @property
    def new(self) -> float:
        """Share of synthetic careers that do not occur in the original."""
        return 1.0 - self.in_data


def replication(confidential: npt.ArrayLike, synthetic: npt.ArrayLike) -> Replication:
    """Return the shares of whole careers that are repeated: codes of states, (n, T) and (m, T).

    Examples
    --------
    >>> found = replication([[0, 1], [1, 1], [1, 1]], [[0, 1], [1, 1], [1, 0], [0, 0]])
    >>> found.in_data, found.unique, found.uniques_replicated
    (0.5, 0.25, 1.0)
    """
    data, drawn = _as_keys(confidential), _as_keys(synthetic)
    careers, counts = np.unique(data, return_counts=True)
    position = positions_in(careers, drawn)
    is_there = position >= 0
    single = is_there & (counts[position] == 1)
    n_unique = int((counts == 1).sum())
    copied = len(np.unique(position[single]))
    return Replication(
        n_synthetic=len(drawn),
        n_unique=n_unique,
        in_data=_share(int(is_there.sum()), len(drawn)),
        unique=_share(int(single.sum()), len(drawn)),
        uniques_replicated=_share(copied, n_unique),
    )


def _as_keys(sequences: npt.ArrayLike) -> npt.NDArray[np.void]:
    """Return each row as a single value that can be sorted."""
    array = np.ascontiguousarray(sequences, dtype=">u4")  # big-endian: bytes sort like numbers
    return array.view(f"V{array.dtype.itemsize * array.shape[1]}")[:, 0]


def _share(count: int, whole: int) -> float:
    return count / whole if whole else 0.0


REPLICATED_CAREERS = FigureKind(
    "replicated_careers",
    "careers of one person",
    "panels: share of the synthetic careers equal in all periods to a career of exactly one "
    "original person; chance: the same share of new persons",
    limit=Limit(),
    is_axis=True,
    test="copied careers",
    finding="A share of {value} ({ends}) of the synthetic careers equals the career of exactly one "
    "person. For new persons it would be {fresh} (limit {mark}).",
)
CAREERS_IN_THE_DATA = FigureKind(
    "careers_in_the_data",
    "careers in the data",
    "share of the synthetic careers equal to that of an original person; chance: the same share of "
    "new persons",
    on_screen=True,
)
UNIQUE_CAREERS = FigureKind(
    "unique_careers_replicated",
    "unique careers replicated",
    "share of the careers of exactly one original person that occur in the synthetic data",
)


class ReplicatedCareers(Result):
    """Careers (whole sequences of states) of the original that occur in synthetic data."""

    n: int
    """Persons of the original."""
    n_periods: int
    """Periods of a career."""
    uniques: int
    """Careers of exactly one original person."""
    shared: float
    """Share of persons whose career another person has: leave-one-out estimate of the probability
    that a new person has the career of an original person."""
    twins: float
    """Share of persons whose career exactly one other person has: the same for careers of exactly
    one original person."""
    datasets: tuple[Replication, ...]
    """One for each synthetic dataset."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Shares averaged over the datasets; chance is that of a new person."""
        drawn = sum(dataset.n_synthetic for dataset in self.datasets)
        return (
            REPLICATED_CAREERS.of(
                self._mean("unique"), drawn, chance=self.twins, original=self.uniques / self.n
            ),
            CAREERS_IN_THE_DATA.of(self._mean("in_data"), drawn, chance=self.shared, original=1.0),
            UNIQUE_CAREERS.of(self._mean("uniques_replicated"), self.uniques, original=1.0),
        )

    def _mean(self, field: str) -> float:
        return float(np.mean([getattr(dataset, field) for dataset in self.datasets]))


class CareerReplicates:
    """Count replicated careers in datasets that are added one by one and not stored.

    Careers are arrays of states by person and period, shape (n, T).
    """

    def __init__(self, original: IntArray) -> None:
        self._original = np.asarray(original)
        self.datasets: list[Replication] = []

    def add(self, synthetic: IntArray) -> None:
        """Add the next dataset, with the same states and periods."""
        self.datasets.append(replication(self._original, synthetic))

    def result(self) -> ReplicatedCareers:
        """Return the result of the datasets so far."""
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


def _careers(case: Case) -> Collecting:
    career = career_of(case)
    return seeing(career, CareerReplicates(career(case.original)))


MEASURES = (
    Measure(
        "replicated_uniques",
        "datasets",
        after="copied_uniques of keys and target",
        result_field="replicated",
        of_person=True,
        words="unique records that are equal in original and synthetic data",
        needs=("names",),
        compute=lambda case: Replicates(case.original, case.names),
        figures=(REPLICATED_UNIQUES, UNIQUE_PRESENT, UNIQUE_SYNTHETIC),
    ),
    Measure(
        "replicated_careers",
        "datasets",
        after="rare_values",
        result_field="careers",
        of_person=True,
        words="panels: original careers that occur in the synthetic data",
        needs=("panel",),
        compute=_careers,
        figures=(REPLICATED_CAREERS, CAREERS_IN_THE_DATA, UNIQUE_CAREERS),
    ),
)
