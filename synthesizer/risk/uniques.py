"""Statistical uniques: records that nobody shares a key with, and whether synthesis repeats them.

The attack: a key that only one person has points to that person; when a synthetic record shows
it, readers may believe (rightly or wrongly) to have found the person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from synthesizer.data.codes import Codes, Groups, JointCoder
from synthesizer.data.comparable import check_comparable, check_keys
from synthesizer.data.pairs import Data, as_table, as_tables
from synthesizer.data.table import BoolArray

__all__ = ["ReproducedUniques", "key_counts", "reproduced_uniques", "statistical_uniques"]


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
