"""Persons fall into partitions by a secret key, and nothing in the file moves them."""

import numpy as np

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.extensions.verification.questions import QueryRows

PAY = Variable(name="pay", kind=Kind.NUMERIC)


def view(persons, values, key=b"k" * 32):
    names = tuple(sorted(set(persons), key=str))
    owners = np.array([names.index(person) for person in persons], dtype=np.int64)
    column = Column(PAY, np.array(values, dtype=float))
    return QueryRows.of(Table([column], len(persons)), names, owners, key)


def test_another_key_is_another_choice():
    persons = [str(i) for i in range(500)]
    one, other = (view(persons, range(500), key * 32).partition(10) for key in (b"a", b"b"))
    assert (one != other).mean() > 0.8


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
    zero = QueryRows.of(one.table, ["p0"], one.owners, one.key).persons[0]
    assert {p for p in chosen if chosen[p] != changed[p]} <= {zero}


def test_no_more_than_k_rows_of_a_person_stay():
    made = view(["a"] * 5 + ["b"], range(6))
    for k, size in ((1, 2), (3, 4), (9, 6)):
        first = made.first_rows(k)
        assert first.table.n_rows == size
        assert np.bincount(first.owners).max() <= k
    assert view([], []).one_row().table.n_rows == 0
