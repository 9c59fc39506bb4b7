"""Drawing among the codes that a row may have, against slow draws that are thrown away."""

from __future__ import annotations

import numpy as np
import pytest

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import Column, IntArray, Table
from synthesizer.models.cart import Cart
from synthesizer.models.domains import Chances, Masks, mask_of
from synthesizer.models.grouped import Grouped
from synthesizer.models.histories.lag_one import LagOne
from synthesizer.models.limits import Limits, StructuralZeros, found_structural_zeros
from tests.models.fits import coded

N = 4_000


def pairs(n: int = N) -> tuple[Table, Column]:
    rng = np.random.default_rng(1)
    group = rng.integers(0, 3, n)
    target = (group + rng.choice(5, n, p=[0.4, 0.3, 0.2, 0.06, 0.04])) % 5
    return Table([coded("group", group, 3)]), coded("target", target, 5)


@pytest.mark.parametrize("model", [Cart(), Cart(even=False), Grouped(by=("group",), min_rows=20)])
def test_chances_are_those_of_the_draws(model: Cart | Grouped) -> None:
    table, target = pairs()
    fitted = model.fit(table, target, rng=np.random.default_rng(2))
    rng = np.random.default_rng(3)
    chances = fitted.chances(table, steps=0)
    assert chances is not None
    assert (chances.groups is None) == (model == Cart(even=False))
    assert chances.shares.sum(axis=1) == pytest.approx(1.0)
    allowed = np.array([False, True, False, True, True])
    within = chances.drawn(1.0 * allowed, rng)
    for group in range(3):
        rows = table["group"].data == group
        several = np.concatenate([fitted.sample(table, rng=rng).data[rows] for _ in range(20)])
        slow = np.bincount(several, minlength=5) / len(several)
        assert np.abs(chances.shares[rows].mean(axis=0) - slow).max() < 0.01
        quick = np.bincount(within[rows], minlength=5) / rows.sum()
        assert np.abs(slow * allowed / slow[allowed].sum() - quick).max() < 0.05
    some = np.flatnonzero(table["group"].data == 1)
    assert (chances.take(some).shares == chances.shares[some]).all()
    assert Cart(leaf_regression=False).fit(table, target, rng=rng).chances(table, steps=0) is None


def test_what_is_refused_in_some_rows_is_drawn_in_others() -> None:
    """Margins are kept: without factors all that is refused would fall to what goes with all."""
    rng = np.random.default_rng(9)
    variable = coded("x", np.zeros(1), 3).variable
    kind = rng.integers(0, 2, N)  # code 0 goes with both kinds, 1 and 2 with one each
    may = np.stack([np.ones(N), kind == 0, kind == 1], axis=1) > 0
    masks = Masks(variable, (lambda rows: may[rows],))
    flat = Chances(np.tile([0.4, 0.3, 0.3], (N, 1)))
    column = Column(variable, flat.drawn(np.ones(1), rng))
    drawn = masks.drawn(column, np.arange(N), lambda rows, _: flat.take(rows), None, rng)
    assert drawn is not None
    codes = drawn[0].data
    assert may[np.arange(N), codes].all()
    assert np.bincount(codes) / N == pytest.approx([0.4, 0.3, 0.3], abs=0.02)


def test_whole_steps_have_the_law_of_steps_that_are_thrown_away() -> None:
    """Whether a row stays is drawn anew with the value, where either is refused."""
    rng = np.random.default_rng(4)
    index = PanelIndex.of_presence(np.ones((N, 2), dtype=bool), np.arange(2.0))
    first = rng.integers(0, 4, N)
    later = np.where(rng.random(N) < 0.6, first, rng.integers(0, 4, N))
    target = coded("x", np.stack([first, later], axis=1).ravel(), 4)
    panel = PanelTable([coded("sex", rng.integers(0, 2, 2 * N), 2)], index)
    fitted = LagOne(base=Cart()).fit_history(panel, target, (), rng=rng)

    def judge(rows: IntArray, values: Column) -> np.ndarray:
        return (index.period[rows] == 1) & (values.data == 3)

    masks = Masks(target.variable, (mask_of(judge, target.variable),))
    quick, slow = (
        fitted.draw(panel, Limits(judge, None, None, one), rng=rng).data.reshape(N, 2)
        for one in (masks, None)
    )
    assert not (quick[:, 1] == 3).any()
    for value in range(4):
        shares = [
            np.bincount(drawn[drawn[:, 0] == value, 1], minlength=4) / (drawn[:, 0] == value).sum()
            for drawn in (quick, slow)
        ]
        assert np.abs(shares[0] - shares[1]).max() < 0.06


def test_as_many_rows_move_to_each_code_as_without_limits() -> None:
    rng = np.random.default_rng(10)
    index = PanelIndex.of_presence(np.ones((N, 2), dtype=bool), np.arange(2.0))
    first, kind = rng.integers(0, 3, N), np.repeat(rng.integers(0, 2, N), 2)
    later = np.where(rng.random(N) < 0.8, first, rng.integers(0, 4, N))
    target = coded("x", np.stack([first, later], axis=1).ravel(), 4)
    panel = PanelTable([coded("kind", kind, 2)], index)
    fitted = LagOne(base=Cart()).fit_history(panel, target, (), rng=rng)

    def judge(rows: IntArray, values: Column) -> np.ndarray:
        return (kind[rows] == 1) & (values.data == 3)

    masks = Masks(target.variable, (mask_of(judge, target.variable),))
    drawn = fitted.draw(panel, Limits(judge, None, None, masks), rng=rng).data.reshape(N, 2)
    assert not (drawn[kind[::2] == 1] == 3).any()
    assert (drawn[:, 1] == 3).mean() == pytest.approx((later == 3).mean(), abs=0.01)
    moves = (drawn[:, 0] != drawn[:, 1]).mean()
    assert moves == pytest.approx((first != later).mean(), abs=0.015)


def three(n: int = 60) -> Table:
    codes = np.random.default_rng(5).integers(0, [[4], [3], [5]], (3, n))
    return Table([coded(name, c, 6) for name, c in zip("abc", codes, strict=True)])


@pytest.mark.parametrize("excludes", [False, True])
def test_a_lookup_says_what_the_support_says(excludes: bool) -> None:
    data = three()
    if excludes:
        (zeros,) = found_structural_zeros(data, {("a", "b", "c"): 0.0}, np.random.default_rng(6))
    else:
        zeros = StructuralZeros.of(data, ["a", "b", "c"], "c")
    cells = np.indices((6, 6, 6)).reshape(3, -1)
    every = Table([coded(name, c, 6) for name, c in zip("abc", cells, strict=True)])
    lookup = zeros.lookup(every.select(["a", "b"]))
    assert lookup is not None
    slow = zeros.broken(every)
    assert 0 < slow.sum() < len(slow)
    rows = np.arange(every.n_rows)
    assert np.array_equal(lookup.broken(rows, every["c"]), slow)
    mask = lookup.mask(every["c"].variable)(rows)
    assert np.array_equal(~mask[rows, every["c"].data], slow)
    assert zeros.lookup(every.select(["a"])) is None


def test_limits_give_way_one_by_one_and_firm_ones_never() -> None:
    variable = three()["a"].variable

    def only(*codes: int) -> np.ndarray:
        return np.isin(np.arange(6), codes)

    masks = Masks(
        variable,
        (lambda rows: np.tile(only(0, 1, 2), (len(rows), 1)),),
        (
            lambda rows: np.tile(only(1, 2, 5), (len(rows), 1)),
            lambda rows: np.where(rows[:, None] == 0, only(0), only(2)),
        ),
    )
    assert masks.allowed(np.arange(2)).tolist() == [only(1, 2).tolist(), only(2).tolist()]
    assert masks.strict.allowed(np.arange(2)).any(axis=1).tolist() == [False, True]
    assert masks.of_rows(np.array([1])).allowed(np.arange(1)).tolist() == [only(2).tolist()]
    never = masks.and_judge(lambda rows, values: values.data == 2)
    assert never.allowed(np.array([1])).tolist() == [only(1).tolist()]


def test_what_the_model_never_draws_comes_from_the_reserve() -> None:
    variable = three()["a"].variable
    allowed = np.array([[0, 1, 1, 0, 0, 0], [0] * 6], dtype=bool)
    masks = Masks(variable, (lambda rows: allowed[rows],))
    column, reserve = Column(variable, np.zeros(2, dtype=np.int32)), three()["a"]
    only_two = reserve.take(reserve.data == 2)

    def never(rows: IntArray, steps: int) -> Chances:
        return Chances(np.zeros((len(rows), 6)))

    drawn = masks.drawn(column, np.arange(2), never, only_two, np.random.default_rng(7))
    assert drawn is not None
    assert drawn[0].data.tolist() == [2, 0]
    assert drawn[1].tolist() == [1]
    assert masks.drawn(column, np.arange(2), lambda *_: None, None, np.random.default_rng()) is None
