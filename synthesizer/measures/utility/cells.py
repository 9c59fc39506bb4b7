"""Two data sets made comparable, and the counts of their cells: what measures of tables start from.

The cells of a table are those that occur on either side. A table with few possible cells is
counted densely, any other by the combinations that occur: the full table of all variables is never
laid out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from synthesizer.data.codes import JointCoder
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data, as_table, as_tables, check_comparable, column_names
from synthesizer.data.table import Column, FloatArray, Kind, Table, Variable
from synthesizer.measures.figure import Result

QuantilesOf = Literal["both", "original"]
"""What quantile groups of numbers are computed from."""
WAYS = {1: "one", 2: "two", 3: "three"}
"""Orders of tables, in words."""

# With fewer groups than this, quantiles have collapsed on a frequent value.
_FEWEST_GROUPS = 3
# Beyond this many possible cells counting goes by the cells that occur.
_DENSE_CELLS = 2**20


class Comparison(Result):
    """What a comparison of synthetic datasets with the original rests on."""

    n: int
    """Number of original records."""
    n_synthetic: tuple[int, ...]
    """Number of records of each synthetic dataset."""

    @property
    def n_all(self) -> int:
        """Records of all files together."""
        return self.n + sum(self.n_synthetic)


C = TypeVar("C", bound=Comparison)


def combine_datasets(results: Sequence[C], last: str) -> C:
    """Return results computed for one dataset after the other as one, in that order.

    Parameters
    ----------
    results : sequence of Comparison
        At least one, with a field ``datasets``; all else must be the same.
    last : str
        What must be the same beside original and variables, for the message.

    Raises
    ------
    DataError
        When there is none, or they are of different variables.
    """
    if not results:
        raise DataError("there is no result to combine: give at least one")
    none: dict[str, Any] = {"n_synthetic": (), "datasets": ()}
    frame = results[0].model_copy(update=none)
    if any(result.model_copy(update=none) != frame for result in results):
        raise DataError(f"results to combine must be of the same original, variables and {last}")
    joined = {name: tuple(v for r in results for v in getattr(r, name)) for name in none}
    return frame.model_copy(update=joined)


@dataclass(frozen=True, eq=False)
class GroupedPair:
    """One variable of both tables as codes in [0, size), shapes (n_o,) and (n_s,).

    ``labels`` name the groups: levels, intervals such as "[19, 37)", and missing codes.
    """

    name: str
    size: int
    original: npt.NDArray[np.intp]
    synthetic: npt.NDArray[np.intp]
    labels: tuple[str, ...]


def breaks_of(values: FloatArray, groups: int) -> FloatArray:
    """Return the inner breaks between groups of numbers; a group holds its lower break.

    At most ``groups`` distinct values are groups of their own. Otherwise quantiles; where they
    collapse to fewer than three groups because one value is so frequent, intervals of equal width.

    Parameters
    ----------
    values : ndarray of float
        Observed numbers, without missing ones.
    groups : int
        Number of groups wanted, at least 1.

    Examples
    --------
    >>> breaks_of(np.array([1.0, 2.0, 3.0, 4.0]), 2).tolist()
    [2.5]
    >>> breaks_of(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 10.0]), 2).tolist()
    [5.0]
    """
    few = _few_distinct(values, groups)
    if few is not None:
        return few[1:]
    quantiles = np.unique(np.quantile(values, np.arange(groups + 1) / groups))
    if len(quantiles) - 1 < min(_FEWEST_GROUPS, groups):
        quantiles = np.linspace(quantiles[0], quantiles[-1], groups + 1)
    return np.asarray(quantiles[1:-1])


def group_pair(
    original: Column, synthetic: Column, *, groups: int = 5, quantiles_of: QuantilesOf = "both"
) -> GroupedPair:
    """Return one variable of both tables in the same groups, matched by label.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> other = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("m", "x"))
    >>> codes = np.array([0, 1], dtype=np.int32)
    >>> pair = group_pair(Column(sex, codes), Column(other, codes))
    >>> pair.labels, pair.original.tolist(), pair.synthetic.tolist()
    (('f', 'm', 'x'), [0, 1], [1, 2])
    """
    if original.is_coded:
        texts = _union(original.variable.labels, synthetic.variable.labels)
        ours, theirs = (_by_label(column, texts) for column in (original, synthetic))
        return GroupedPair(original.name, len(texts), ours, theirs, texts)
    values = original.data[original.is_observed].astype(np.float64)
    if quantiles_of == "both":
        values = np.concatenate([values, synthetic.data[synthetic.is_observed]])
    breaks = breaks_of(values, groups)
    texts = _union(original.variable.missing, synthetic.variable.missing)
    ours, theirs = (_by_break(column, breaks, texts) for column in (original, synthetic))
    labels = (*interval_labels([f"{value:.10g}" for value in breaks]), *texts)
    return GroupedPair(original.name, len(labels), ours, theirs, labels)


def group_tables(
    original: Table,
    synthetic: Table,
    names: Sequence[str],
    *,
    groups: int = 5,
    quantiles_of: QuantilesOf = "both",
) -> tuple[GroupedPair, ...]:
    """Return the named variables in order; see `group_pair`."""
    return tuple(
        group_pair(original[name], synthetic[name], groups=groups, quantiles_of=quantiles_of)
        for name in names
    )


def _few_distinct(values: FloatArray, groups: int) -> FloatArray | None:
    """Return the distinct values when there are at most ``groups``, else None.

    A few values at the beginning mostly settle it, which spares sorting a million.
    """
    if len(np.unique(values[:1000])) > groups:
        return None
    distinct = np.unique(values)
    return distinct if len(distinct) <= groups else None


def _union(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of two sides, each once, those of the first in front."""
    return tuple(dict.fromkeys((*first, *second)))


def _positions(labels: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.intp]:
    """Return where labels stand among texts that hold them all."""
    position = {text: code for code, text in enumerate(texts)}
    return np.array([position[label] for label in labels], dtype=np.intp)


def stacked_codes(original: Column, synthetic: Column) -> npt.NDArray[np.intp]:
    """Return the codes of both sides matched by label, the original's first, shape (n_o + n_s,).

    Of numbers 0 is an observed one, and each missing code has its own.

    Examples
    --------
    >>> kind, codes = Kind.CATEGORICAL, np.array([0, 1], dtype=np.int32)
    >>> one = Column(Variable(name="sex", kind=kind, levels=("f", "m")), codes)
    >>> other = Column(Variable(name="sex", kind=kind, levels=("m", "f")), codes)
    >>> stacked_codes(one, other).tolist()
    [0, 1, 1, 0]
    """
    sides = [_states(column) for column in (original, synthetic)]
    texts = _union(sides[0][0], sides[1][0])
    return np.concatenate([_positions(labels, texts)[codes] for labels, codes in sides])


def _states(column: Column) -> tuple[Sequence[str], npt.NDArray[Any]]:
    """Return labels and codes; of numbers those of their missing codes, behind an observed one."""
    if column.is_coded:
        return column.variable.labels, column.data
    return ("", *(f"code {code}" for code in column.variable.missing)), column.missing_state()


def _by_label(column: Column, texts: tuple[str, ...]) -> npt.NDArray[np.intp]:
    return np.asarray(_positions(column.variable.labels, texts)[column.data])


def _by_break(column: Column, breaks: FloatArray, texts: tuple[str, ...]) -> npt.NDArray[np.intp]:
    codes = np.searchsorted(breaks, column.data, side="right")
    if column.states is not None and column.variable.missing:
        missing = column.states > 0
        positions = len(breaks) + 1 + _positions(column.variable.missing, texts)
        codes[missing] = positions[column.states[missing] - 1]
    return codes


def interval_labels(breaks: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the groups between breaks, which are given as they are to be written.

    Examples
    --------
    >>> interval_labels(["19", "37"])
    ('below 19', '[19, 37)', '37 and above')
    """
    if not breaks:
        return ("all values",)
    inner = [f"[{low}, {high})" for low, high in pairwise(breaks)]
    return (f"below {breaks[0]}", *inner, f"{breaks[-1]} and above")


def compared(
    original: Data,
    synthetic: Data | Sequence[Data],
    names: Sequence[str] | None,
    problems: Sequence[str] = (),
) -> tuple[Table, tuple[Table, ...], tuple[str, ...]]:
    """Return the original, the synthetic datasets and the variables to compare, all checked.

    Every measure of this folder takes these three arguments.

    Parameters
    ----------
    original : Table, DataFrame or RawTable
        Confidential records, shape (n, p).
    synthetic : the same, or a sequence of them
        Synthetic datasets of any sizes.
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
    problems = [*problems, *_list_problems(names), *name_problems(names, column_names(original))]
    if problems:
        raise DataError(problems)
    names = tuple(dict.fromkeys(names))
    table, tables = as_tables(original, synthetic, names)
    check_comparable(table, tables, names)
    return table, tables, names


def check_original(original: Table, names: Sequence[str], problems: Sequence[str]) -> None:
    """Raise DataError with these problems, unknown variables, and a table without records."""
    problems = [*name_problems(names, original.names), *problems]
    if not original.n_rows:
        problems.append("the original has no records: give it some")
    if problems:
        raise DataError(problems)


def table_problems(ways: Sequence[int], groups: int) -> list[str]:
    """Return what is wrong with the orders of tables and the number of groups.

    Examples
    --------
    >>> table_problems([4], 1)
    ['ways must be of 1, 2 and 3: name at least one', 'groups (1) must be at least 2']
    """
    problems = []
    if not ways or not set(ways) <= set(WAYS):
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


def divergence(p: FloatArray, q: FloatArray) -> float:
    """Return the Jensen-Shannon divergence of shares with base-2 logarithms, in [0, 1].

    Examples
    --------
    >>> divergence(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    middle = (p + q) / 2
    parts = (float(x[x > 0] @ np.log2(x[x > 0] / middle[x > 0])) for x in (p, q))
    # Rounding may leave it a little outside its range.
    return min(max(sum(parts) / 2, 0.0), 1.0)


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


def _list_problems(names: Sequence[str]) -> Iterator[str]:
    if isinstance(names, str):
        yield f"names must be a list of names, not one text: write [{names!r}]"
    elif not names:
        yield "there is no variable to compare: name at least one"


def name_problems(names: Sequence[str], known: Collection[str]) -> list[str]:
    """Return a problem for each name that is not known; a text alone is no list of names.

    Examples
    --------
    >>> name_problems(["sex", "job"], ["sex"])
    ["variable 'job' is not in the data: name one of its columns"]
    """
    each = () if isinstance(names, str) else dict.fromkeys(names)
    return [
        f"variable {name!r} is not in the data: name one of its columns"
        for name in each
        if name not in known
    ]
