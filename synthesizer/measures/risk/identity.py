"""Identity disclosure: do uniques of the original reappear in the synthetic data?

The attack: an intruder knows some key variables of a person, finds exactly one synthetic record
with that key and believes to have found the person. It strikes the harder the more keys that are
unique in the original are unique in the synthetic data too.

Source: Raab, Nowok and Dibben (2025), Practical privacy metrics for synthetic data
(arXiv 2406.16826); the measures bear the names of that paper and of the R package synthpop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from synthesizer.data.codes import Codes, Groups, JointCoder
from synthesizer.data.pairs import Data, as_table, as_tables, check_comparable, check_keys
from synthesizer.data.table import BoolArray, Table
from synthesizer.measures.figure import Figure
from synthesizer.measures.risk.cap import fixed_groups


@dataclass(frozen=True)
class IdentityValues:
    """Identity disclosure of one synthetic dataset, or the mean of several; shares in [0, 1].

    Parameters
    ----------
    uio : float
        UiO: original records whose key is unique in the original, of all original records.
    uis : float
        UiS: synthetic records whose key is unique in the synthetic data, of all synthetic ones.
    uiois : float
        UiOiS: original records with a unique key that occurs in the synthetic data, of all
        original records.
    repu : float
        repU: original records with a unique key that is unique in the synthetic data too, of all
        original records (replicated uniques).
    """

    uio: float
    uis: float
    uiois: float
    repu: float


@dataclass(frozen=True)
class IdentityResult:
    """Identity disclosure of every synthetic dataset and on average.

    Parameters
    ----------
    keys : tuple of str
        What the intruder knows.
    n : int
        Number of original records.
    n_synthetic : tuple of int
        Number of records of each synthetic dataset.
    datasets : tuple of IdentityValues
        One for each synthetic dataset.
    mean : IdentityValues
        Their average, as is synthpop's practice where there are several.
    """

    keys: tuple[str, ...]
    n: int
    n_synthetic: tuple[int, ...]
    datasets: tuple[IdentityValues, ...]
    mean: IdentityValues

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The means; the original's value is that of releasing the original itself (UiO)."""
        rows = (
            ("repU", self.mean.repu, "unique keys that are unique in the synthetic data too"),
            ("UiOiS", self.mean.uiois, "unique keys that occur in the synthetic data"),
            ("UiO", self.mean.uio, "keys that are unique in the original"),
        )
        shares = [self._figure(name, value, what, self.n) for name, value, what in rows]
        what = "keys that are unique within the synthetic data"
        return (*shares, self._figure("UiS", self.mean.uis, what, sum(self.n_synthetic)))

    def _figure(self, name: str, value: float, what: str, n: int) -> Figure:
        meaning = f"share of the {'synthetic' if name == 'UiS' else 'original'} records with {what}"
        return Figure(
            name=name,
            value=value,
            meaning=f"{meaning} (mean over the datasets)",
            direction="lower is safer",
            n=n,
            original=self.mean.uio,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        lists = {"keys": list(self.keys), "n_synthetic": list(self.n_synthetic)}
        return asdict(self) | lists | {"datasets": [asdict(values) for values in self.datasets]}


class SharedCoder:
    """Numbers for combinations of values that mean the same in the original and in others.

    Unlike `JointCoder` it also numbers the combinations that the original lacks, so that records
    of a synthetic dataset can be compared with each other.

    Parameters
    ----------
    original : Table
        Table to learn from; quantile groups are those of this table.
    names : sequence of str
        Variables, all in ``original``.
    groups : mapping, optional
        Quantile counts or cut points of numeric variables; others count by exact value.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> age = Variable(name="age", kind=Kind.NUMERIC)
    >>> one, other = (Table([Column(age, np.array(v))]) for v in ([3.0, 5.0], [7.0, 5.0, 7.0]))
    >>> coder = SharedCoder(one, ["age"])
    >>> codes, size = coder.encode(other)
    >>> coder.codes.tolist(), codes.tolist(), size
    ([0, 1], [2, 1, 2], 3)
    """

    def __init__(
        self, original: Table, names: Sequence[str], groups: Mapping[str, Groups] | None = None
    ) -> None:
        wanted = {name: cuts for name, cuts in (groups or {}).items() if name in names}
        self._names = tuple(names)
        self._groups = fixed_groups(original, wanted)
        self._coder = JointCoder(original, names, self._groups)
        self.codes, self.size = self._coder.codes, self._coder.size

    def encode(self, table: Table) -> tuple[Codes, int]:
        """Return the numbers of another table's combinations, and how many numbers there are."""
        codes = self._coder.encode(table)
        new = np.flatnonzero(codes < 0)
        if not len(new):
            return codes, self.size
        own = JointCoder(table.select(self._names).take(new), self._names, self._groups)
        codes[new] = self.size + own.codes
        return codes, self.size + own.size


def identity(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    keys: Sequence[str],
    groups: Mapping[str, Groups] | None = None,
) -> IdentityResult:
    """Return the shares of records with unique keys, and of those that synthesis repeats.

    Parameters
    ----------
    original : Table or DataFrame
        Confidential records, shape (n, p).
    synthetic : Table, DataFrame or sequence of them
        Synthetic datasets of any sizes; each is compared for itself, and the means are given.
    keys : sequence of str
        Variables that the intruder knows.
    groups : mapping of str to int or sequence of float, optional
        Number of quantile groups of the original, or cut points, for numeric keys; others count
        by exact value. Missing codes are values.

    Returns
    -------
    IdentityResult
        Shares in [0, 1]; lower is safer.

    Raises
    ------
    DataError
        For unknown keys, an empty synthetic dataset and the like, all at once.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "f", "m", "m"], "age": [30, 41, 50, 50]})
    >>> made = pd.DataFrame({"sex": ["f", "f", "f", "m"], "age": [30, 41, 41, 77]})
    >>> result = identity(people, made, keys=["sex", "age"])
    >>> result.mean
    IdentityValues(uio=0.5, uis=0.5, uiois=0.5, repu=0.25)
    >>> result.figures[0].name, result.figures[0].value, result.figures[0].original
    ('repU', 0.25, 0.5)
    """
    original, tables = as_tables(original, synthetic, keys)
    check_keys(original, keys=keys, groups=groups)
    check_comparable(original, tables, keys)
    coder = SharedCoder(original, keys, groups)
    datasets = tuple(_values(coder, table) for table in tables)
    parts = zip(*((d.uio, d.uis, d.uiois, d.repu) for d in datasets), strict=True)
    return IdentityResult(
        keys=tuple(keys),
        n=original.n_rows,
        n_synthetic=tuple(table.n_rows for table in tables),
        datasets=datasets,
        mean=IdentityValues(*(float(np.mean(part)) for part in parts)),
    )


def _values(coder: SharedCoder, table: Table) -> IdentityValues:
    codes, size = coder.encode(table)
    ours = np.bincount(coder.codes, minlength=size)
    theirs = np.bincount(codes, minlength=size)
    unique, n = ours == 1, len(coder.codes)
    return IdentityValues(
        uio=float(unique.sum() / n),
        uis=float((theirs == 1).sum() / len(codes)),
        uiois=float((unique & (theirs > 0)).sum() / n),
        repu=float((unique & (theirs == 1)).sum() / n),
    )


# Statistical uniques: records that nobody shares a key with, and whether synthesis repeats them.


@dataclass(frozen=True)
class ReproducedUniques:
    """Uniques of a set of records that the first ``m`` synthetic datasets show.

    ``present`` of them occur in the pooled synthetic records at least once, ``once`` exactly
    once.
    """

    m: int
    uniques: int
    present: int
    once: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self)


def key_counts(
    table: Data, keys: Sequence[str], groups: Mapping[str, Groups] | None = None
) -> Codes:
    """Return how many records share each record's key (itself included), shape (n,)."""
    table = as_table(table, keys)
    check_keys(table, keys=keys, groups=groups)
    coder = JointCoder(table, keys, groups)
    return np.bincount(coder.codes, minlength=coder.size)[coder.codes]


def statistical_uniques(
    table: Data, keys: Sequence[str], groups: Mapping[str, Groups] | None = None
) -> BoolArray:
    """Return where the key occurs only once in the table, shape (n,).

    Examples
    --------
    >>> import pandas as pd
    >>> statistical_uniques(pd.DataFrame({"age": [30, 41, 30]}), ["age"]).tolist()
    [False, True, False]
    """
    return np.asarray(key_counts(table, keys, groups) == 1)


def reproduced_uniques(
    records: Data,
    synthetic: Data | Sequence[Data],
    *,
    keys: Sequence[str],
    groups: Mapping[str, Groups] | None = None,
) -> tuple[ReproducedUniques, ...]:
    """Count the uniques of ``records`` that nested synthetic datasets show, m = 1, ..., M.

    Examples
    --------
    >>> import pandas as pd
    >>> records, made = pd.DataFrame({"age": [30, 41, 30]}), pd.DataFrame({"age": [41, 30]})
    >>> reproduced_uniques(records, [made, made], keys=["age"])[1].to_dict()
    {'m': 2, 'uniques': 1, 'present': 1, 'once': 0}
    """
    records, synthetic = as_tables(records, synthetic, keys)
    check_keys(records, keys=keys, groups=groups)
    check_comparable(records, synthetic, list(keys))
    coder = JointCoder(records, keys, groups)
    unique = np.bincount(coder.codes, minlength=coder.size) == 1
    shown = np.zeros(coder.size, dtype=np.int64)
    results = []
    for m, table in enumerate(synthetic, start=1):
        theirs = coder.encode(table)
        shown += np.bincount(theirs[theirs >= 0], minlength=coder.size)
        counts = shown[unique]
        results.append(
            ReproducedUniques(m, len(counts), int((counts > 0).sum()), int((counts == 1).sum()))
        )
    return tuple(results)
