"""Suggested keys and target for runs whose configuration names none.

Keys are variables that somebody may know of a person: coded, or whole numbers with few values.
They are added one by one until a fair share of the records is unique. The target is a coded
variable with 3 to 20 levels, or with two if its name is sensitive, that no single key gives away
by itself. No two of them are the same in other words (one a function of the other in these data),
or moments of one variable of a panel.
Of a panel what never changes comes first, then first values, and attributes of careers last.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.pairs import Data, as_table, check_lists, column_names
from synthesizer.data.table import Column, Kind, Table
from synthesizer.measures.figure import Result
from synthesizer.measures.risk.determined import share_right_by_key
from synthesizer.measures.risk.identity import statistical_uniques

# Names raise the priority of a variable and are never needed.
_DEMOGRAPHIC = (
    "age", "sex", "gender", "region", "area", "state", "puma", "province", "county", "district",
    "canton", "municip", "place", "city", "race", "rac", "ethnic", "marital", "msp", "civ",
    "nation", "birth", "household", "tenure", "own", "occupation",
)  # fmt: skip
_SCHOOLING = ("edu", "school", "schl", "degree")
"""Often known, and hardly a secret: keys behind those, and no target if there is another."""
_SENSITIVE = (
    "income", "pinc", "hinc", "hhinc", "earn", "wage", "pay", "salary", "wealth", "health",
    "disab", "disease", "diagn", "depress", "relig", "benefit", "debt", "illness", "smok", "alc",
    "drug", "abuse", "politic", "vote", "party", "crime",
)  # fmt: skip
_ENOUGH_UNIQUES = 0.2
_TOO_MANY_UNIQUES = 0.6
_MOST_LEVELS = 150
_EXCEPTIONS = 0.01
_LOPSIDED = 0.9
"""Most records that have the same of two answers, for these to be a target."""
NO_SCENARIO = (
    "no keys and target could be found for the risk measures that need them, which are left out; "
    "name them under checks: keys, target"
)
"""The note where the original has no two variables that would do."""


class Suggestion(Result):
    """Keys and target to start from."""

    keys: tuple[str, ...]
    """What others may know of a person."""
    target: str | None
    """What should stay secret; None where nothing suits."""
    share_of_uniques: float
    """Share of the records that nobody shares these keys with."""
    reason: str
    """Why these, in plain words."""


def suggest(
    table: Data,
    *,
    keys: Sequence[str] | None = None,
    target: str | None = None,
    max_keys: int = 6,
) -> Suggestion:
    """Suggest keys and target; whatever is given is kept. The same table gives the same answer.

    Parameters
    ----------
    table : Table or DataFrame
        Original records.
    keys, target : optional
        Fixed by the user.
    max_keys : int
        Largest number of keys, at least 1.

    Examples
    --------
    >>> from synthesizer.data.table import Variable
    >>> rng = np.random.default_rng(3)
    >>> def column(name, size):
    ...     levels = tuple(str(code) for code in range(size))
    ...     variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=levels)
    ...     return Column(variable, rng.integers(0, size, 200).astype(np.int32))
    >>> table = Table([column("x", 4), column("sex", 2), column("income", 5), column("region", 9)])
    >>> found = suggest(table)
    >>> found.keys, found.target
    (('sex', 'region', 'x'), 'income')
    """
    check_lists(keys=keys)
    table = as_table(table, column_names(table), ids=False)
    distinct = {column.name: _distinct(column) for column in table.columns}
    aim = target
    if aim is None:
        aim = _best_target(table, distinct, keys or ())
    if keys is not None:
        chosen = tuple(keys)
    else:
        chosen = _pick_keys(table, distinct, aim, max_keys, fixed=target is not None)
    if target is None and aim is not None and _given_away(table, chosen, aim):
        others = {name: size for name, size in distinct.items() if name != aim}
        aim = _best_target(table, others, chosen) or aim
    if keys is None and aim is not None:
        chosen = tuple(name for name in chosen if not _is_same(table, name, aim))
    share = float(statistical_uniques(table, chosen).mean()) if chosen and table.n_rows else 0.0
    reason = _reason(chosen, aim, share, table)
    return Suggestion(keys=chosen, target=aim, share_of_uniques=share, reason=reason)


def _distinct(column: Column) -> int:
    """Return the number of distinct values that occur; 0 for what cannot be a key."""
    if column.variable.kind is Kind.ID or len(column) == 0:
        return 0
    if column.is_coded:
        return int((np.bincount(column.data) > 0).sum())
    if column.variable.decimals not in (0, None):
        return 0
    values = np.unique(column.data[column.is_observed].astype(np.float64))
    return len(values) if (values == np.round(values)).all() else 0


def _rank(name: str, words: Sequence[str]) -> int:
    """Return 0 for names that hold a word at their beginning or after a separator, else 1.

    Attributes of careers are none of these, whatever they are called.
    """
    if name.startswith("career."):
        return 1
    pieces = name.lower().replace("-", "_").replace(".", "_").replace(" ", "_").split("_")
    pieces = [piece for piece in pieces if not piece.startswith("agen")]  # an agency is no age
    return 0 if any(piece.startswith(word) for piece in pieces for word in words) else 1


def _variable(table: Table, name: str) -> str:
    """Return the variable of a panel whose moment a column is; the name itself of others.

    States of careers belong to the variable whose first values are the first states.
    """
    states = table.get("career.first_state")
    if states is not None and name.startswith("career.") and name.endswith("_state"):
        firsts = (column for column in table.columns if column.name.endswith("@first"))
        for column in firsts:
            same = column.variable.labels == states.variable.labels
            if same and np.array_equal(column.data, states.data):
                name = column.name
    return name.partition("@")[0]


def _moment(name: str, order: Sequence[str]) -> int:
    """Return the place of a column's moment in an order; attributes of careers come last."""
    if name.startswith("career."):
        return len(order) + 1
    moment = name.partition("@")[2]
    return order.index(moment) if moment in order else len(order)


def _is_same(table: Table, one: str, other: str) -> bool:
    """Return whether two columns are moments of one variable, or one is a function of the other."""
    if _variable(table, one) == _variable(table, other):
        return True
    return _determines(table[one], table[other]) or _determines(table[other], table[one])


def _determines(key: Column, target: Column) -> bool:
    """Return whether a column is a function of another, but for one record in a hundred at most.

    With exceptions it must be told ten times more often than by guessing.
    """
    share_right = share_right_by_key(key, target)
    if share_right == 1 or share_right < 1 - _EXCEPTIONS or not target.is_coded:
        return share_right == 1
    return 10 * (1 - share_right) < 1 - _modal_share(target)


def _pick_keys(
    table: Table, distinct: dict[str, int], target: str | None, max_keys: int, *, fixed: bool
) -> tuple[str, ...]:
    """Pick keys beside a target; where it is fixed, none that is the same in other words."""
    names = [n for n, size in distinct.items() if 2 <= size <= _MOST_LEVELS and n != target]
    if target is not None and target in table:
        variable = _variable(table, target)
        names = [name for name in names if _variable(table, name) != variable]
        if fixed:
            names = [name for name in names if not _is_same(table, name, target)]
    # Coded variables before numbers; sorting is stable, so that the column order decides ties.
    # What is sensitive is rather sought than known, unless it is demographic as well.
    names.sort(
        key=lambda name: (
            name.startswith("career."),
            _rank(name, _DEMOGRAPHIC),
            _rank(name, _SCHOOLING),
            1 - _rank(name, _SENSITIVE),
            _moment(name, ("", "first", "last")),
            not table[name].is_coded,
        )
    )
    chosen: list[str] = []
    done: set[str] = set()  # variables that are told already
    for name in names:
        variable = _variable(table, name)
        if variable in done or any(_is_same(table, name, other) for other in chosen):
            done.add(variable)
            continue
        share = statistical_uniques(table, [*chosen, name]).mean()
        if chosen and share > _TOO_MANY_UNIQUES:
            continue
        chosen.append(name)
        if len(chosen) == max_keys or share >= _ENOUGH_UNIQUES:
            break
    return tuple(chosen)


def _best_target(table: Table, distinct: dict[str, int], keys: Sequence[str]) -> str | None:
    names = [
        name
        for name, size in distinct.items()
        if table[name].is_coded and name not in keys and _may_be_sought(table[name], size)
    ]
    apart = [name for name in names if not any(_is_same(table, name, key) for key in keys)]
    free = [name for name in apart if not _given_away(table, keys, name)] or apart or names
    ranked = sorted(
        free,
        key=lambda name: (
            _rank(name, _SENSITIVE),
            1 - _rank(name, (*_DEMOGRAPHIC, *_SCHOOLING)),
            _moment(name, ("", "last", "first")),
            _modal_share(table[name]),
        ),
    )
    return ranked[0] if ranked else None


def _may_be_sought(column: Column, size: int) -> bool:
    """Whether a variable has 3 to 20 levels, or two answers that its name says are sensitive."""
    if size == 2:
        return _rank(column.name, _SENSITIVE) == 0 and _modal_share(column) < _LOPSIDED
    return 3 <= size <= 20


def _modal_share(column: Column) -> float:
    return float(np.bincount(column.data).max() / len(column))


def _given_away(table: Table, keys: Sequence[str], target: str) -> bool:
    """Return whether one key tells the target of nine in ten records where guessing does not."""
    truth = table[target]
    limit = max(0.9, (1 + _modal_share(truth)) / 2)
    return any(share_right_by_key(table[key], truth) >= limit for key in keys)


def _reason(keys: Sequence[str], target: str | None, share: float, table: Table) -> str:
    if not keys or target is None:
        return (
            "No keys and target could be suggested: name variables that others may know as keys, "
            "and one with 3 to 20 levels that should stay secret as target."
        )
    levels = _distinct(table[target]) if target in table else 0
    return (
        f"The keys ({', '.join(keys)}) are variables that others may know of a person; together "
        f"they are unique for {share:.0%} of the records. The target ({target}) has {levels} "
        "values and no single key gives it away. Name your own to replace them."
    )
