"""What the measures of careers compare, listed by loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

State = int | str | None


def distance(one: Iterable[object], other: Iterable[object]) -> float:
    """Half the sum of the absolute differences of two sets of cells."""
    a, b = Counter(one), Counter(other)
    sums = sum(a.values()), sum(b.values())
    return sum(abs(a[c] / sums[0] - b[c] / sums[1]) for c in set(a) | set(b)) / 2


def cells(measure: str, careers: Iterable[Sequence[State]], out: State = None) -> list[object]:
    """List what a measure counts, one person after the other; ``out`` is the state of absence."""
    items: list[object] = []
    for career in careers:
        pairs = list(pairwise(career))
        there = [t for t, state in enumerate(career) if state != out]
        runs = [(state, len(list(spell))) for state, spell in groupby(career)]
        items += {
            "headcounts": list(enumerate(career)),
            "transitions": pairs,
            "changes": [pair for pair in pairs if pair[0] != pair[1]],
            "n_moves": [len(runs) - 1],
            "spells": runs,
            "first_last": [(career[0], career[-1])],
            "entry": [(there[0], career[there[0]]) if there else None],
            "exit": [(there[-1], career[there[-1]]) if there else None],
        }[measure]
    return items
