"""What histories know of the row before, against loops over persons with gaps."""

import numpy as np
import pytest

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import past_columns
from synthesizer.data.table import Column, Kind
from synthesizer.models.cart import Cart
from synthesizer.models.histories import parts
from synthesizer.models.sample import Sample
from tests.data.panel.panels import panel, persons_of, random_column, random_index
from tests.tables import coded, numeric

INDEX = random_index(n=60, seed=4)
KINDS = (Kind.CATEGORICAL, Kind.NUMERIC)


def histories(column: Column) -> list[list[object]]:
    """The values of each person, in the order of her rows."""
    return [list(history.values()) for history in persons_of(INDEX, column)]


def before(values: list[object]) -> list[object]:
    return [values[0], *values[:-1]]


def test_changes_are_those_of_a_loop() -> None:
    column = random_column(INDEX, Kind.NUMERIC, 4)
    twin = numeric("career.periods", np.arange(INDEX.n_rows))
    same, clock = numeric("same", INDEX.person), numeric("clock", INDEX.period)
    table = panel(INDEX, column, same, clock, twin)
    # nothing changes in every row, or never; attributes of careers do not count
    assert parts.changing_names(table) == ("x",)
    actual = parts.with_changes(table, ["x", "same"])
    changed = [original != old for own_values in histories(column) for original, old in
               zip(own_values, before(own_values), strict=True)]  # fmt: skip
    assert actual["own.changed x"].data.tolist() == changed
    assert not actual["own.changed same"].data.any()
    times = [INDEX.times[list(history)] for history in persons_of(INDEX, column)]
    elapsed = np.concatenate([np.diff(original, prepend=original[0]) for original in times])
    assert actual["own.elapsed"].data.tolist() == elapsed.tolist()
    persons = parts.persons_with_changes(table, ["x", "same"])
    assert persons["own.ever x"].data.tolist() == [len(set(v)) > 1 for v in histories(column)]
    assert not persons["own.ever same"].data.any()
    assert persons["clock"].data.tolist() == INDEX.period[INDEX.starts].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_who_has_no_past_has_a_code_of_its_own(kind: Kind) -> None:
    column = random_column(INDEX, kind, 5)
    rows = np.arange(INDEX.n_rows)
    past = past_columns(INDEX, column, rows)
    has_past = ~INDEX.is_first
    value, *others = parts.with_no_past(past, has_past)
    assert value.variable.missing == (*column.variable.missing, "(no past)")
    code = value.variable.n_codes - 1 if value.is_coded else len(value.variable.missing)
    of = value.data if value.is_coded else value.missing_state()
    assert ((of == code) == ~has_past).all()
    remaining = value.take(has_past)
    assert persons_values(remaining) == persons_values(past[0].take(has_past))
    for other, old in zip(others, past[1:], strict=True):
        assert not other.data[~has_past].any()
        assert (other.data[has_past] == old.data[has_past]).all()


def persons_values(column: Column) -> list[tuple[float, int]]:
    pairs = zip(column.data, column.missing_state(), strict=True)
    return [(0.0 if state else float(value), int(state)) for value, state in pairs]


def test_the_first_row_with_a_value_or_the_first_of_all() -> None:
    column = random_column(INDEX, Kind.NUMERIC, 6)
    slow = []
    for start, count in zip(INDEX.starts, INDEX.counts, strict=True):
        seen = [row for row in range(start, start + count) if column.is_observed[row]]
        slow.append(seen[0] if seen else start)
    assert parts.first_observed(INDEX, column).tolist() == slow
    assert any(slow[i] > INDEX.starts[i] for i in range(len(slow)))


@pytest.mark.parametrize(
    ("few", "new", "of"),
    [(4, {4: 3, 3: 1, 1: 2}, {4, 3}), (1, {}, {0})],
)
def test_new_persons_are_those_of_the_last_periods(
    monkeypatch: pytest.MonkeyPatch, few: int, new: dict[int, int], of: set[int]
) -> None:
    """Persons of the first period count only if no person is new later."""
    monkeypatch.setattr(parts, "MIN_STARTS", few)
    began = np.concatenate([np.zeros(5, int), *(np.full(k, t) for t, k in new.items())])
    index = PanelIndex.of_presence(np.arange(5) >= began[:, None], np.arange(5.0))
    rows = parts.recent_starts(index)
    assert sorted(index.person[rows]) == np.flatnonzero(np.isin(began, [*of])).tolist()
    assert index.is_first[rows].all()


def test_what_is_fitted_sees_its_predictors_alone() -> None:
    rng = np.random.default_rng(1)
    x, y = coded("x", np.arange(80) % 2, "ab"), coded("y", np.arange(80) % 2, "ab")
    table = PanelTable([x, numeric("more", np.arange(80))], random_index(80, np.arange(1.0), 0, 1))
    part = parts.fit_codes(Cart(min_leaf=5), table, y, rng, left_out=["more"])
    assert part.step.predictors == ("x",)
    drawn = part.draw(table, rng)
    assert drawn.data.tolist() == y.data.tolist()
    reported = part.chances(table)
    assert reported is not None
    assert reported.shares == pytest.approx(np.eye(2)[x.data], abs=1e-3)
    alone = parts.fit_part(Cart(), table.take([0]), y.take([0]), rng)
    assert type(alone.step.value_model) is Sample.fitted_type
