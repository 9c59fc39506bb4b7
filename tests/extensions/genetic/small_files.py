"""Small files of levels for tests, and values of measures by counting from nothing."""

import numpy as np
from hypothesis import strategies as st

from synthesizer.data.table import Table
from synthesizer.extensions.genetic.scores import Coding, Sought
from tests.tables import coded

LABELS = tuple(map(str, range(100)))


def file_of(columns, levels, missing=()):
    """A table with the variables v0, v1, ...; ``columns`` are codes, ``levels`` their numbers."""
    missing = missing or [()] * len(levels)
    return Table(
        coded(f"v{position}", codes, LABELS[:count], gone)
        for position, (codes, count, gone) in enumerate(zip(columns, levels, missing, strict=True))
    )


def random_file(n, levels, seed=0):
    rng = np.random.default_rng(seed)
    return file_of([rng.integers(0, count, n) for count in levels], levels)


def coding_of(table):
    return Coding.of([column.variable for column in table.columns])


def sought_of(table, keys, target):
    """``keys`` and ``target`` are places of the variables."""
    coding = coding_of(table)
    return Sought(frozen(coding.encode(table)), coding, tuple(keys), target)


def frozen(array):
    """The same array, in which writing is an error."""
    array = np.array(array)
    array.flags.writeable = False
    return array


def value_of(objective, records):
    return objective.value([margin.count(records) for margin in objective.margins], len(records))


@st.composite
def files(draw, *, most_rows=14, candidates=1):
    """An original, candidates of other sizes, positions of keys, position of the target."""
    levels = draw(st.lists(st.integers(1, 3), min_size=2, max_size=4))
    missing = [draw(st.sampled_from([(), ("N",), ("", "-8")])) for _ in levels]

    def one():
        n = draw(st.integers(1, most_rows))
        columns = [
            draw(st.lists(st.integers(0, count + len(gone) - 1), min_size=n, max_size=n))
            for count, gone in zip(levels, missing, strict=True)
        ]
        return file_of(columns, levels, missing)

    order = draw(st.permutations(range(len(levels))))
    width = draw(st.integers(1, len(levels) - 1))
    return one(), [one() for _ in range(candidates)], tuple(order[1 : width + 1]), order[0]


def names(positions):
    return [f"v{position}" for position in positions]
