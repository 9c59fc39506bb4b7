"""Two data sets made comparable, and the counts of their cells: what measures of tables start from.

The cells of a table are those that occur on either side. They are counted densely where the table
has few possible cells, and by the combinations that occur otherwise, so that the full table of all
variables never has to be laid out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from synthesizer.data.codes import JointCoder
from synthesizer.data.comparable import check_comparable
from synthesizer.data.pairs import Data, as_table, as_tables, column_names
from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, FloatArray, Table
from synthesizer.errors import DataError
from synthesizer.utility.grouping import GroupedPair

__all__ = ["cell_counts", "compared", "table_problems", "tables_of"]

# Beyond this many possible cells counting goes by the cells that occur.
_DENSE_CELLS = 2**20
_WAYS = (1, 2, 3)


def compared(
    original: Data,
    synthetic: Data | Sequence[Data],
    names: Sequence[str] | None,
    problems: Sequence[str] = (),
) -> tuple[Table, tuple[Table, ...], tuple[str, ...]]:
    """Return the original, the synthetic datasets and the variables to compare, all checked.

    Parameters
    ----------
    original, synthetic : Table, DataFrame or RawTable
        Records; one or several synthetic datasets.
    names : sequence of str, optional
        Variables; default all but identifiers.
    problems : sequence of str
        What the measure found wrong with its other arguments, to be told at the same time.

    Raises
    ------
    DataError
        For unknown variables, empty or different tables, all problems at once.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m", "m"], "age": [30, 41, 41]})
    >>> table, (made,), names = compared(people, people[:2], None)
    >>> made.n_rows, names
    (2, ('sex', 'age'))
    """
    if not isinstance(original, Data):
        raise DataError(f"a pandas DataFrame is needed, not {type(original).__name__}")
    if names is None:
        original = as_table(original, column_names(original), ids=False)
        names = original.names
    found = [*problems, *_name_problems(original, names)]
    if found:
        raise DataError(found)
    names = tuple(dict.fromkeys(names))
    table, tables = as_tables(original, synthetic, names)
    check_comparable(table, tables, names)
    return table, tables, names


def table_problems(ways: Sequence[int], groups: int) -> list[str]:
    """Return what is wrong with the orders of tables and the number of groups.

    Examples
    --------
    >>> table_problems([4], 1)
    ['ways must be of 1, 2 and 3: name at least one', 'groups (1) must be at least 2']
    """
    problems = []
    if not ways or not set(ways) <= set(_WAYS):
        problems.append("ways must be of 1, 2 and 3: name at least one")
    if groups < 2:
        problems.append(f"groups ({groups}) must be at least 2")
    return problems


def tables_of(
    pairs: Sequence[GroupedPair], ways: Sequence[int]
) -> Iterator[tuple[tuple[str, ...], FloatArray, FloatArray]]:
    """Yield names and cell counts of all tables of the given orders; see `cell_counts`."""
    for order in sorted(set(ways)):
        for chosen in combinations(pairs, order):
            yield (tuple(pair.name for pair in chosen), *cell_counts(chosen))


def cell_counts(pairs: Sequence[GroupedPair]) -> tuple[FloatArray, FloatArray]:
    """Return the original and the synthetic counts of the cells that occur on either side.

    Parameters
    ----------
    pairs : sequence of GroupedPair
        At least one variable; any number of them.

    Returns
    -------
    tuple of ndarray of float, shape (cells,) each
        Never both 0 in a cell.

    Examples
    --------
    >>> pair = GroupedPair("sex", 3, np.array([0, 0, 2]), np.array([2]), ("f", "x", "m"))
    >>> [counts.tolist() for counts in cell_counts([pair])]
    [[2.0, 1.0], [0.0, 1.0]]
    """
    cells = math.prod(pair.size for pair in pairs)
    if cells > _DENSE_CELLS:
        return _sparse_counts(pairs)
    ours, theirs = pairs[0].original, pairs[0].synthetic
    for pair in pairs[1:]:
        ours = ours * pair.size + pair.original
        theirs = theirs * pair.size + pair.synthetic
    o, s = (np.bincount(codes, minlength=cells) for codes in (ours, theirs))
    occurs = (o + s) > 0
    return o[occurs].astype(np.float64), s[occurs].astype(np.float64)


def _sparse_counts(pairs: Sequence[GroupedPair]) -> tuple[FloatArray, FloatArray]:
    stacked = Table([_stacked(pair, str(number)) for number, pair in enumerate(pairs)])
    coder = JointCoder(stacked, stacked.names)
    n_original = len(pairs[0].original)
    parts = (coder.codes[:n_original], coder.codes[n_original:])
    o, s = (np.bincount(codes, minlength=coder.size).astype(np.float64) for codes in parts)
    return o, s


def _stacked(pair: GroupedPair, name: str) -> Column:
    """Return a variable of both sides as one column; labels only have to be distinct."""
    levels = tuple(map(str, range(pair.size)))
    variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=levels)
    return Column(variable, np.concatenate([pair.original, pair.synthetic]).astype(np.int32))


def _name_problems(original: Data, names: Sequence[str]) -> Iterator[str]:
    if isinstance(names, str):
        yield f"names must be a list of names, not one text: write [{names!r}]"
        return
    if not names:
        yield "there is no variable to compare: name at least one"
    known = column_names(original)
    for name in dict.fromkeys(names):
        if name not in known:
            yield f"variable {name!r} is not in the data: name one of its columns"
