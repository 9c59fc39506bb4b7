import numpy as np
import pytest

from synthesizer.models.careers.match import (
    Quota,
    draw_matched,
    fit_quota,
    match_cells,
    take_quota,
    unfilled,
)


def drawn(seed, n, periods=5):
    return np.random.default_rng(seed).integers(0, 3, size=(n, periods)).astype(np.int32)


def test_quotas_are_filled_where_there_are_candidates():
    data, candidates = drawn(1, 50), np.concatenate([drawn(1, 50), drawn(2, 400)])
    quota = fit_quota(data, [0])
    cells = match_cells(candidates, [0])
    chosen = take_quota(quota, cells, None, 50, rng=np.random.default_rng(3))
    assert len(np.unique(chosen)) == 50
    again = fit_quota(candidates[chosen], [0])
    assert again.cells.tolist() == quota.cells.tolist()
    assert again.counts.tolist() == quota.counts.tolist()


def test_deficits_are_filled_at_random():
    quota = Quota(np.array([[0, 1, 0, 1]]), np.array([10]))
    cells = np.array([[0, 1, 0, 1]] * 2 + [[0, 2, 0, 2]] * 18)
    chosen = take_quota(quota, cells, None, 10, rng=np.random.default_rng(1))
    assert len(np.unique(chosen)) == 10
    assert {0, 1} <= set(chosen.tolist())


def test_every_person_keeps_an_own_career():
    data = drawn(4, 200)
    quota = fit_quota(data, [0])
    owners = np.tile(np.arange(200), 5)
    cells = match_cells(drawn(5, 1000), [0])
    chosen = take_quota(quota, cells, owners, 200, rng=np.random.default_rng(1))
    assert (owners[chosen] == np.arange(200)).all()
    places = {tuple(cell): k for k, cell in enumerate(quota.cells.tolist())}

    def misfit(rows):
        counts = np.zeros(len(places) + 1)
        np.add.at(counts, [places.get(tuple(c), len(places)) for c in cells[rows].tolist()], 1)
        return np.abs(counts[:-1] - quota.counts).sum()

    assert misfit(chosen) < 0.6 * misfit(np.arange(200))


def test_quotas_are_scaled_to_another_size():
    quota = Quota(np.zeros((3, 4), dtype=int), np.array([5, 3, 2]))
    assert quota.scaled(10).tolist() == [5, 3, 2]
    assert quota.scaled(7).sum() == 7
    assert quota.scaled(20).tolist() == [10, 6, 4]


@pytest.mark.parametrize("is_owned", [False, True])
@pytest.mark.parametrize("oversample", [1, 3])
def test_places_that_stay_empty_are_drawn_for_on_purpose(is_owned, oversample):
    data, rng = drawn(1, 60), np.random.default_rng(2)
    quota = fit_quota(data, [0])
    known = match_cells(data, [0])

    def draw(people):
        return rng.integers(0, 3, size=(len(people), 5)).astype(np.int32)

    def draw_within(people, cells):
        assert len(people) == len(cells) < 60
        rows = [int(np.flatnonzero((known == cell).all(axis=1))[0]) for cell in cells]
        return data[rows], np.arange(len(cells)) > 0  # the first is not found

    def cells_of(sequences):
        return match_cells(sequences, [0])

    found = draw_matched(
        quota, draw, draw_within, cells_of, 60, oversample=oversample, is_owned=is_owned,
        rng=np.random.default_rng(3),
    )  # fmt: skip
    assert unfilled(quota, cells_of(found)) == 1
