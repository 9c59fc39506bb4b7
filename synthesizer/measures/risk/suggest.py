"""Suggested keys and target for runs whose configuration has none.

Keys are variables that an intruder may know: coded, or whole numbers with few values. They are
added one by one until at least a fifth of the records is unique. The target is a coded variable
with 3 to 20 levels, or with two if its name is sensitive, that no single key determines. No two
of them are functions of each other in the data, or moments of one variable of a panel. In a panel
constant variables come first, then first values, and attributes of careers last.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.pairs import Data, as_table, check_lists, column_names
from synthesizer.data.table import Column, Kind, Table
from synthesizer.measures.figure import Result
from synthesizer.measures.risk.determined import share_right_by_key
from synthesizer.measures.risk.identity import statistical_uniques

# Words in names raise the priority of a variable.
_DEMOGRAPHIC = (
    "age", "sex", "gender", "region", "area", "state", "puma", "province", "county", "district",
    "canton", "municip", "place", "city", "race", "rac", "ethnic", "marital", "msp", "civ",
    "nation", "birth", "household", "tenure", "own", "occupation",
)  # fmt: skip
_SCHOOLING = ("edu", "school", "schl", "degree")
"""Often known and rarely sensitive: keys after the demographic ones, and targets last."""
_SENSITIVE = (
    "income", "pinc", "hinc", "hhinc", "earn", "wage", "pay", "salary", "wealth", "health",
    "disab", "disease", "diagn", "depress", "relig", "benefit", "debt", "illness", "smok", "alc",
    "drug", "abuse", "politic", "vote", "party", "crime",
)  # fmt: skip
_MIN_SHARE_UNIQUE = 0.2
_MAX_SHARE_UNIQUE = 0.6
_MAX_KEY_LEVELS = 150
_MAX_EXCEPTIONS = 0.01
_MAX_MODAL_SHARE = 0.9
"""Largest share of the more frequent level of a target with two levels."""
NO_SCENARIO = (
    "no suitable keys and target exist, and the risk measures that need them are left out; set "
    "checks: keys, target"
)
"""Note for an original without suitable variables."""


class Suggestion(Result):
    """Suggested keys and target."""

    keys: tuple[str, ...]
    """Variables that an intruder may know."""
    target: str | None
    """Sensitive variable; None without a suitable one."""
    share_of_uniques: float
    """Share of the records with unique key values."""
    reason: str
    """Reason for these keys and target."""


def suggest(
    table: Data,
    *,
    keys: Sequence[str] | None = None,
    target: str | None = None,
    max_keys: int = 6,
) -> Suggestion:
    """Return suggested keys and target; those that are given stay.

    Parameters
    ----------
    table : Table or DataFrame
        Original records.
    keys, target : optional
        Given by the user.
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
    """Return the number of distinct values; 0 for a variable that cannot be a key."""
    if column.variable.kind is Kind.ID or len(column) == 0:
        return 0
    if column.is_coded:
        return int((np.bincount(column.data) > 0).sum())
    if column.variable.decimals not in (0, None):
        return 0
    values = np.unique(column.data[column.is_observed].astype(np.float64))
    return len(values) if (values == np.round(values)).all() else 0


def _rank(name: str, words: Sequence[str]) -> int:
    """Return 0 for names with one of the words at the start or after a separator, else 1.

    Attributes of careers always have 1.
    """
    if name.startswith("career."):
        return 1
    pieces = name.lower().replace("-", "_").replace(".", "_").replace(" ", "_").split("_")
    pieces = [piece for piece in pieces if not piece.startswith("agen")]  # an agency is no age
    return 0 if any(piece.startswith(word) for piece in pieces for word in words) else 1


def _variable(table: Table, name: str) -> str:
    """Return the variable of a panel that a column is a moment of; else the name itself.

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
    """Return the position of a column's moment in an order; attributes of careers come last."""
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
    """Return whether a column determines another, with at most 1 % exceptions.

    If there are exceptions, their number must be at most a tenth of the errors that guessing makes.
    """
    share_right = share_right_by_key(key, target)
    if share_right == 1 or share_right < 1 - _MAX_EXCEPTIONS or not target.is_coded:
        return share_right == 1
    return 10 * (1 - share_right) < 1 - _modal_share(target)


def _pick_keys(
    table: Table, distinct: dict[str, int], target: str | None, max_keys: int, *, fixed: bool
) -> tuple[str, ...]:
    """Return keys for a target; if it is ``fixed``, without functions of it."""
    names = [n for n, size in distinct.items() if 2 <= size <= _MAX_KEY_LEVELS and n != target]
    if target is not None and target in table:
        variable = _variable(table, target)
        names = [name for name in names if _variable(table, name) != variable]
        if fixed:
            names = [name for name in names if not _is_same(table, name, target)]
    # Coded variables before numbers; ties by column order. Sensitive variables come last, unless
    # they are demographic, too.
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
    done: set[str] = set()  # variables that are used already
    for name in names:
        variable = _variable(table, name)
        if variable in done or any(_is_same(table, name, other) for other in chosen):
            done.add(variable)
            continue
        share = statistical_uniques(table, [*chosen, name]).mean()
        if chosen and share > _MAX_SHARE_UNIQUE:
            continue
        chosen.append(name)
        if len(chosen) == max_keys or share >= _MIN_SHARE_UNIQUE:
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
    """Whether a variable has 3 to 20 levels, or two levels and a sensitive name."""
    if size == 2:
        return _rank(column.name, _SENSITIVE) == 0 and _modal_share(column) < _MAX_MODAL_SHARE
    return 3 <= size <= 20


def _modal_share(column: Column) -> float:
    return float(np.bincount(column.data).max() / len(column))


def _given_away(table: Table, keys: Sequence[str], target: str) -> bool:
    """Return whether one key determines the target of 90 % of the records, unlike guessing."""
    truth = table[target]
    limit = max(0.9, (1 + _modal_share(truth)) / 2)
    return any(share_right_by_key(table[key], truth) >= limit for key in keys)


def _reason(keys: Sequence[str], target: str | None, share: float, table: Table) -> str:
    if not keys or target is None:
        return (
            "No suitable keys and target: name variables that an intruder may know as keys, and a "
            "sensitive one with 3 to 20 levels as target."
        )
    levels = _distinct(table[target]) if target in table else 0
    return (
        f"The keys ({', '.join(keys)}) are variables that an intruder may know; together "
        f"they are unique for {share:.0%} of the records. The target ({target}) has {levels} "
        "levels, and no single key determines it. To "
        "choose others: checks: {keys: [...], target: ...}, or --keys and --target of 'check'."
    )
