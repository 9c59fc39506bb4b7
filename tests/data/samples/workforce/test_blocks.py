"""Blocks are independent and determined by the seed; bad arguments are told at once."""

import numpy as np
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.samples.workforce.constants import MAX_PERSONS
from synthesizer.data.samples.workforce.simulation import (
    block_sizes,
    blocks,
    simulate,
    simulate_block,
)


def test_the_same_seed_gives_the_same_table_and_another_another():
    one = simulate(300, seed=5)
    assert one.equals(simulate(300, seed=5))
    assert not one.equals(simulate(300, seed=6))


def test_a_block_depends_on_its_number_only():
    years = range(1988, 2012)
    parts = list(blocks(700, seed=3, block=300))
    assert [part["person"].combine_chunks().unique().to_numpy().size for part in parts] == [
        300,
        300,
        100,
    ]
    again = simulate_block(1, 300, seed=3, years=years, block=300)
    assert parts[1].equals(again)
    larger = list(blocks(1200, seed=3, block=300))
    assert larger[:2] == parts[:2]
    assert not parts[0].drop(["person"]).equals(parts[1].drop(["person"]))


def test_persons_have_their_own_numbers_in_all_blocks():
    ids = [np.unique(part["person"].to_numpy()) for part in blocks(500, block=200)]
    together = np.concatenate(ids)
    assert sorted(together) == list(range(1, 501))


def test_any_years_can_be_asked_for():
    for first, last in ((1988, 1988), (1995, 2004), (2011, 2011)):
        table = simulate(400, first_year=first, last_year=last)
        years = table["year"].to_numpy()
        assert years.min() == first
        assert years.max() == last
        assert len(set(table["person"].to_numpy())) == 400


def test_one_person_is_a_file():
    assert len(set(simulate(1)["person"].to_numpy())) == 1


def test_block_sizes_add_up():
    assert block_sizes(3_511_824) == [50_000] * 70 + [11_824]
    assert block_sizes(50_000) == [50_000]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"persons": 0}, f"persons (0) must be between 1 and {MAX_PERSONS}"),
        ({"persons": MAX_PERSONS + 1}, f"must be between 1 and {MAX_PERSONS}"),
        ({"seed": -1}, "seed (-1) must be between 0 and 2**63 - 1"),
        ({"first_year": 1987}, "first_year (1987) must be between 1988 and 2011"),
        ({"last_year": 2012}, "last_year (2012) must be between 1988 and 2011"),
        ({"first_year": 2000, "last_year": 1999}, "must not be after last_year (1999)"),
        ({"block": 0}, "block (0) must be at least 1"),
    ],
)
def test_bad_arguments_are_told(arguments, message):
    with pytest.raises(DataError) as caught:
        blocks(**{"persons": 10, **arguments})
    assert message in str(caught.value)


def test_all_bad_arguments_are_told_at_once():
    with pytest.raises(DataError) as caught:
        simulate(0, seed=-1, first_year=1900, last_year=1800)
    assert len(caught.value.problems) == 5
