"""Drawing among the codes that a row may have, against slow draws that are thrown away."""

from __future__ import annotations

import numpy as np
import pytest

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import Column, IntArray, Kind, Table, Variable
from synthesizer.models.cart import Cart
from synthesizer.models.domains import Masks, mask_of
from synthesizer.models.grouped import Grouped
from synthesizer.models.histories.lag_one import LagOne
from synthesizer.models.limits import Limits, Support, found_supports

N = 4_000


def coded(name: str, codes: IntArray, size: int) -> Column:
    levels = tuple(f"{name} {k}" for k in range(size))
    variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=levels)
    return Column(variable, codes.astype(np.int32))


def pairs(n: int = N) -> tuple[Table, Column]:
    rng = np.random.default_rng(1)
    group = rng.integers(0, 3, n)
    target = (group + rng.choice(5, n, p=[0.4, 0.3, 0.2, 0.06, 0.04])) % 5
    return Table([coded("group", group, 3)]), coded("target", target, 5)


@pytest.mark.parametrize("model", [Cart(), Grouped(by=("group",), min_rows=20)])
def test_draws_within_have_the_law_of_draws_that_are_thrown_away(model: Cart | Grouped) -> None:
    table, target = pairs()
    fitted = model.fit(table, target, rng=np.random.default_rng(2))
    allowed = np.tile([False, True, False, True, True], (N, 1))
    rng = np.random.default_rng(3)
    within = fitted.sample_within(table, allowed, steps=0, rng=rng)
    assert within is not None
    drawn, chance = within
    for group in range(3):
        rows = table["group"].data == group
        several = np.concatenate([fitted.sample(table, rng=rng).data[rows] for _ in range(20)])
        good = np.isin(several, [1, 3, 4])
        assert chance[rows].mean() == pytest.approx(good.mean(), abs=0.02)
        slow = np.bincount(several[good], minlength=5) / good.sum()
        quick = np.bincount(drawn.data[rows], minlength=5) / rows.sum()
        assert np.abs(slow - quick).max() < 0.05
    of = np.tile([True, True, True, True, False], (N, 1))
    share = fitted.sample_within(table, allowed, steps=0, rng=rng, of=of)
    whole = fitted.sample_within(table, of, steps=0, rng=rng)
    assert share is not None
    assert whole is not None
    assert share[1] == pytest.approx(chance / whole[1])
    nothing = np.zeros_like(allowed)
    none = fitted.sample_within(table, nothing, steps=0, rng=rng)
    assert none is not None
    assert not none[1].any()
    plain = Cart(tilt=False).fit(table, target, rng=rng)
    assert plain.sample_within(table, allowed, steps=0, rng=rng) is None


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


def three(n: int = 60) -> Table:
    codes = np.random.default_rng(5).integers(0, [[4], [3], [5]], (3, n))
    return Table([coded(name, c, 6) for name, c in zip("abc", codes, strict=True)])


@pytest.mark.parametrize("excludes", [False, True])
def test_a_lookup_says_what_the_support_says(excludes: bool) -> None:
    data = three()
    if excludes:
        (support,) = found_supports(data, {("a", "b", "c"): 0.0}, np.random.default_rng(6))
    else:
        support = Support.of(data, ["a", "b", "c"], "c")
    cells = np.indices((6, 6, 6)).reshape(3, -1)
    every = Table([coded(name, c, 6) for name, c in zip("abc", cells, strict=True)])
    lookup = support.lookup(every.select(["a", "b"]))
    assert lookup is not None
    slow = support.broken(every)
    assert 0 < slow.sum() < len(slow)
    rows = np.arange(every.n_rows)
    assert np.array_equal(lookup.broken(rows, every["c"]), slow)
    mask = lookup.mask(every["c"].variable)(rows)
    assert np.array_equal(~mask[rows, every["c"].data], slow)
    assert support.lookup(every.select(["a"])) is None


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


def test_what_the_model_never_draws_comes_from_the_reserve_and_nothing_is_told() -> None:
    variable = three()["a"].variable
    allowed = np.array([[0, 1, 1, 0, 0, 0], [0] * 6], dtype=bool)
    masks = Masks(variable, (lambda rows: allowed[rows],))
    column, reserve = Column(variable, np.zeros(2, dtype=np.int32)), three()["a"]
    only_two = reserve.take(reserve.data == 2)

    def never(rows: IntArray, may: np.ndarray, steps: int) -> tuple[Column, np.ndarray]:
        return column.take(rows), np.zeros(len(rows))

    drawn = masks.drawn(column, np.arange(2), never, only_two, np.random.default_rng(7))
    assert drawn is not None
    assert drawn[0].data.tolist() == [2, 0]
    assert drawn[1].tolist() == [1]
    assert masks.drawn(column, np.arange(2), lambda *_: None, None, np.random.default_rng()) is None
