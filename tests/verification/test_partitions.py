"""Persons fall into partitions by a secret key, and nothing in the file moves them."""

import numpy as np
import pytest
from scipy.stats import chi2

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.verification.partitions import View

PAY = Variable(name="pay", kind=Kind.NUMERIC)


def view(persons, values, key=b"k" * 32):
    names = tuple(sorted(set(persons), key=str))
    owners = np.array([names.index(person) for person in persons], dtype=np.int64)
    column = Column(PAY, np.array(values, dtype=float))
    return View(Table([column], len(persons)), names, owners, key)


def partitions_of(made, m=10):
    return {made.persons[o]: p for o, p in zip(made.owners, made.partition(m), strict=True)}


@pytest.mark.parametrize("number", range(20))
def test_who_comes_or_goes_moves_nobody_else(number):
    key = number.to_bytes(32, "big")
    persons = [f"p{i // 2}" for i in range(200)]
    before = partitions_of(view(persons, range(200), key))
    without = [p for p in persons if p != f"p{number}"]
    after = partitions_of(view([*without, "new"], range(199), key))
    assert all(before[p] == after[p] for p in without)
    chunks = {p: i * 10 // 100 for i, p in enumerate(dict.fromkeys(persons))}  # the control
    moved = {p: i * 10 // 99 for i, p in enumerate(dict.fromkeys(without))}
    assert sum(chunks[p] != moved[p] for p in moved) > 1


def test_sizes_are_even_and_keys_differ():
    persons = [str(i) for i in range(2000)]
    drawn = [np.array([*partitions_of(view(persons, persons, bytes([k] * 32))).values()])
             for k in range(1, 30)]  # fmt: skip
    statistics = [((np.bincount(d, minlength=10) - 200) ** 2 / 200).sum() for d in drawn]
    assert chi2.sf(sum(statistics), 9 * len(drawn)) > 1e-6
    assert all((drawn[0] != other).mean() > 0.8 for other in drawn[1:])


def test_one_row_a_person_is_the_same_choice_in_any_order():
    rng = np.random.default_rng(3)
    persons = [f"p{i}" for i in rng.integers(0, 40, 300)]
    values = rng.normal(size=300).round(1)
    one = view(persons, values).one_row()
    chosen = {one.persons[o]: v for o, v in zip(one.owners, one.table["pay"].data, strict=True)}
    assert len(chosen) == len(one.owners) == len(set(persons))
    for _ in range(5):
        order = rng.permutation(300)
        again = view([persons[i] for i in order], values[order]).one_row()
        assert chosen == {
            again.persons[o]: v for o, v in zip(again.owners, again.table["pay"].data, strict=True)
        }
    other = view(persons, np.where(np.array(persons) == "p0", 99, values)).one_row()
    changed = {other.persons[o]: v for o, v in zip(other.owners, other.table["pay"].data,
                                                   strict=True)}  # fmt: skip
    assert {p for p in chosen if chosen[p] != changed[p]} <= {"p0"}


def test_no_more_than_k_rows_of_a_person_stay():
    made = view(["a"] * 5 + ["b"], range(6))
    for k, size in ((1, 2), (3, 4), (9, 6)):
        kept = made.first_rows(k)
        assert kept.table.n_rows == size
        assert np.bincount(kept.owners).max() <= k
    assert view([], []).one_row().table.n_rows == 0
