"""Identity disclosure: are key values that are unique in the original unique in synthetic data?

The attack: an intruder knows the keys of a person, finds exactly one synthetic record with these
key values, and believes that it is the person. The risk grows with the number of unique key values
of the original that are unique in the synthetic data, too.

Source: Raab, Nowok and Dibben (2025), Practical privacy metrics for synthetic data
(arXiv 2406.16826); the measures bear the names of that paper and of the R package synthpop.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.codes import Codes, JointCoder
from synthesizer.data.pairs import Data, as_table, check_keys
from synthesizer.data.table import BoolArray, Table
from synthesizer.measures.figure import Figure, FigureKind, Limit, Result, Row, column
from synthesizer.measures.measure import Measure
from synthesizer.measures.risk.comparable import GroupsOf, SharedCoder, Synthetic, checked_tables

REPU = FigureKind(
    "repu",
    "repU",
    "share of the original {records} whose key values are unique there and in the synthetic data",
    limit=Limit(),
    is_axis=True,
)
UIOIS = FigureKind(
    "uiois",
    "UiOiS",
    "share of the original {records} whose key values are unique there and occur in the synthetic "
    "data",
)
UIO = FigureKind("uio", "UiO", "share of the original {records} whose key values are unique there")
UIS = FigureKind("uis", "UiS", "share of the synthetic {records} whose key values are unique there")


class IdentityValues(Row):
    """Identity disclosure of one synthetic dataset, or the mean of several; shares in [0, 1]."""

    repu: float = REPU.column()
    uiois: float = UIOIS.column()
    uio: float = UIO.column()
    uis: float = UIS.column()


class IdentityResult(Result):
    """Identity disclosure of every synthetic dataset and on average."""

    keys: tuple[str, ...]
    """What the intruder knows."""
    n: int
    """Number of original records."""
    n_synthetic: tuple[int, ...]
    """Number of records of each synthetic dataset."""
    datasets: tuple[IdentityValues, ...]
    """One for each synthetic dataset."""
    mean: IdentityValues
    """Mean over the datasets, as in synthpop."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The means; ``original`` is the value of releasing the original (UiO)."""
        return tuple(
            kind.of(
                getattr(self.mean, kind.key),
                sum(self.n_synthetic) if kind is UIS else self.n,
                "mean over the datasets",
                original=self.mean.uio,
            )
            for kind in (REPU, UIOIS, UIO, UIS)
        )


def identity(
    original: Data, synthetic: Synthetic, *, keys: Sequence[str], groups: GroupsOf = None
) -> IdentityResult:
    """Return the shares of records with unique key values, and of those that are repeated.

    Parameters
    ----------
    original, synthetic, keys, groups
        As in `synthesizer.measures.risk.cap.cap`; the result has each dataset and the means.

    Returns
    -------
    IdentityResult
        Shares in [0, 1]; lower is safer.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "f", "m", "m"], "age": [30, 41, 50, 50]})
    >>> made = pd.DataFrame({"sex": ["f", "f", "f", "m"], "age": [30, 41, 41, 77]})
    >>> result = identity(people, made, keys=["sex", "age"])
    >>> result.mean
    IdentityValues(repu=0.25, uiois=0.5, uio=0.5, uis=0.5)
    >>> result.figures[0].name, result.figures[0].value, result.figures[0].original
    ('repU', 0.25, 0.5)
    """
    original, tables = checked_tables(original, synthetic, keys=keys, groups=groups)
    coder = SharedCoder(original, keys, groups)
    datasets = tuple(_values(coder, table) for table in tables)
    means = {
        name: float(np.mean([getattr(values, name) for values in datasets]))
        for name in IdentityValues.model_fields
    }
    return IdentityResult(
        keys=tuple(keys),
        n=original.n_rows,
        n_synthetic=tuple(table.n_rows for table in tables),
        datasets=datasets,
        mean=IdentityValues(**means),
    )


def _values(coder: SharedCoder, table: Table) -> IdentityValues:
    codes, counts_original, counts_synthetic = coder.counts(table)
    unique, n = counts_original == 1, len(coder.codes)
    return IdentityValues(
        uio=float(unique.sum() / n),
        uis=float((counts_synthetic == 1).sum() / len(codes)),
        uiois=float((unique & (counts_synthetic > 0)).sum() / n),
        repu=float((unique & (counts_synthetic == 1)).sum() / n),
    )


class ReproducedUniques(Row):
    """Uniques of a set of records whose key values the first ``m`` synthetic datasets have."""

    m: int
    """The first m datasets pooled."""
    uniques: int = column("uniques", "count", "records with unique key values")
    present: int = column("reproduced", "count", "uniques whose keys occur in the synthetic data")
    once: int = column("reproduced once", "count", "uniques whose keys occur there exactly once")

    @property
    def share(self) -> float | None:
        """Reproduced share of the uniques, in [0, 1]; None without uniques."""
        return self.present / self.uniques if self.uniques else None


def key_counts(table: Data, keys: Sequence[str], groups: GroupsOf = None) -> Codes:
    """Return the number of records with the key values of each record, itself included, shape (n,).

    Parameters and errors are those of `identity`.

    Examples
    --------
    >>> import pandas as pd
    >>> key_counts(pd.DataFrame({"age": [30, 41, 30]}), ["age"]).tolist()
    [2, 1, 2]
    """
    table = as_table(table, keys)
    check_keys(table, keys=keys, groups=groups)
    coder = JointCoder(table, keys, groups)
    return np.bincount(coder.codes, minlength=coder.size)[coder.codes]


def statistical_uniques(table: Data, keys: Sequence[str], groups: GroupsOf = None) -> BoolArray:
    """Return which records have unique key values, shape (n,).

    Examples
    --------
    >>> import pandas as pd
    >>> statistical_uniques(pd.DataFrame({"age": [30, 41, 30]}), ["age"]).tolist()
    [False, True, False]
    """
    return np.asarray(key_counts(table, keys, groups) == 1)


def reproduced_uniques(
    records: Data, synthetic: Synthetic, *, keys: Sequence[str], groups: GroupsOf = None
) -> tuple[ReproducedUniques, ...]:
    """Return the uniques of ``records`` that the first m = 1, ..., M datasets reproduce.

    Examples
    --------
    >>> import pandas as pd
    >>> records, made = pd.DataFrame({"age": [30, 41, 30]}), pd.DataFrame({"age": [41, 30]})
    >>> reproduced_uniques(records, [made, made], keys=["age"])[1]
    ReproducedUniques(m=2, uniques=1, present=1, once=0)
    """
    records, tables = checked_tables(records, synthetic, keys=keys, groups=groups)
    coder = JointCoder(records, keys, groups)
    unique = np.bincount(coder.codes, minlength=coder.size) == 1
    shown = np.zeros(coder.size, dtype=np.int64)
    results = []
    for m, table in enumerate(tables, start=1):
        shown += coder.counts(table)
        counts = shown[unique]
        present, once = int((counts > 0).sum()), int((counts == 1).sum())
        results.append(ReproducedUniques(m=m, uniques=len(counts), present=present, once=once))
    return tuple(results)


MEASURES = (
    Measure(
        "identity",
        "scenario",
        after="differential_confidentiality",
        words="UiO, UiS, UiOiS and repU",
        compute=lambda case: identity(*case.pair, **case.key_groups),
        figures=(REPU, UIOIS, UIO, UIS),
    ),
)
