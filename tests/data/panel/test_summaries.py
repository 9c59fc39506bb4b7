"""What a career says of a person, against slow code."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from synthesizer.data.panel.view import person_summary, row_summary
from synthesizer.data.table import Kind
from tests.data.panel.panels import TIMES, persons_of, random_column, random_index, values_of


@pytest.mark.parametrize("seed", range(4))
def test_person_summary(seed):
    index = random_index(seed=seed, n=50)
    column = random_column(index, Kind.CATEGORICAL, seed)
    found = {c.name.removeprefix("career."): values_of(c) for c in person_summary(index, column)}
    labels = column.variable.labels
    for person, history in enumerate(persons_of(index, column)):
        periods = sorted(history)
        states = [history[t] for t in periods]
        counts = Counter(states)
        main = min(counts, key=lambda s: (-counts[s], labels.index(s)))
        wanted = {
            "first": TIMES[periods[0]],
            "last": TIMES[periods[-1]],
            "periods": len(periods),
            "gaps": sum(b - a > 1 for a, b in pairwise(periods)),
            "moves": sum(a != b for a, b in pairwise(states)),
            "states": len(counts),
            "first_state": states[0],
            "last_state": states[-1],
            "main_state": main,
        }
        assert {name: values[person] for name, values in found.items()} == wanted


@pytest.mark.parametrize("seed", range(4))
def test_row_summary_looks_back_only(seed):
    index = random_index(seed=seed, n=50)
    column = random_column(index, Kind.ORDERED, seed)
    so_far, in_state = (c.data for c in row_summary(index, column))
    values = values_of(column)
    for row in range(index.n_rows):
        start = index.starts[index.person[row]]
        assert so_far[row] == row - start + 1
        same = 1
        while row - same >= start and values[row - same] == values[row]:
            same += 1
        assert in_state[row] == same - 1


def test_without_states():
    index = random_index()
    assert [c.name for c in person_summary(index)] == [
        "career.first", "career.last", "career.periods", "career.gaps",
    ]  # fmt: skip
    assert len(row_summary(index)) == 1
    assert all(np.isfinite(c.data).all() for c in person_summary(index))
