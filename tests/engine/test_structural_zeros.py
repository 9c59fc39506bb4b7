"""Pairs of variables with impossible combinations: found where they are, and nowhere else."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine import structural_zeros as module
from synthesizer.engine.structural_zeros import RARE_CELL, structural_zeros
from tests.models.fits import coded


def independent(n: int, seed: int) -> list[Column]:
    """Twenty columns of two to forty levels, some of them rare."""
    rng = np.random.default_rng(seed)
    columns = []
    for number in range(20):
        size = int(rng.integers(2, 41))
        chances = rng.dirichlet(np.full(size, 0.5))
        columns.append(coded(f"x{number}", rng.choice(size, n, p=chances), size))
    return columns


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [15, 200, 2_000])
def test_nothing_is_found_among_independent_columns(n: int, seed: int) -> None:
    assert structural_zeros(Table(independent(n, seed))).zeros == ()


@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_found_where_persons_repeat_themselves(seed: int) -> None:
    """Rows of one person are one observation, however many there are."""
    rng = np.random.default_rng(seed)
    present = rng.random((150, 24)) < rng.random((150, 1)) + 0.05
    present[:, 0] |= ~present.any(axis=1)
    index = PanelIndex.of_presence(present, np.arange(24.0))
    columns = [column.take(index.person) for column in independent(150, seed)]
    assert structural_zeros(PanelTable(columns, index)).zeros == ()


def nested(n: int, seed: int = 0) -> list[Column]:
    """Jobs that belong to branches, towns to neither."""
    rng = np.random.default_rng(seed)
    job = np.floor(30 * rng.random(n) ** 2)
    town = rng.integers(0, 8, n)
    return [coded("job", job, 30), coded("branch", job % 5, 5), coded("town", town, 8)]


@pytest.mark.parametrize("n", [100, 5_000])
def test_a_pair_is_found_with_what_its_support_tells(n: int) -> None:
    columns = nested(n)
    (pair,) = structural_zeros(Table(columns)).zeros
    assert pair.names == ("job", "branch")
    counts = np.unique(columns[0].data, return_counts=True)[1]
    assert pair.combinations == len(counts)
    assert pair.rare_cells == (counts < RARE_CELL).sum()
    assert pair.rare_share == pytest.approx(counts[counts < RARE_CELL].sum() / n)


def test_shares_are_those_of_slow_counting_and_of_fresh_samples() -> None:
    job, branch, _ = (column.data for column in nested(400, 1))
    rng = np.random.default_rng(5)
    branch = np.where(rng.random(400) < 0.2, rng.integers(0, 5, 400), branch)
    (pair,) = structural_zeros(Table([coded("job", job, 30), coded("branch", branch, 5)])).zeros
    seen = set(zip(job, branch, strict=True))
    common = {j for j in job if (job == j).sum() > 1}
    shares = [
        (job == j).mean() * (branch == b).mean()
        for j in common
        for b in range(5)
        if (j, b) not in seen
    ]
    assert pair.independent == pytest.approx(sum(shares))
    again = nested(100_000, 2)[0].data
    other = np.where(rng.random(100_000) < 0.2, rng.integers(0, 5, 100_000), again % 5)
    new = [(j, b) not in seen for j, b in zip(again, other, strict=True) if j in common]
    assert pair.new_sample == pytest.approx(np.mean(new), abs=0.03)
    u, f = pair.independent, pair.opened
    assert f * u / (1 - u + f * u) == pytest.approx(pair.new_sample)


def signs(n: int, share: float = 0.0, seed: int = 0) -> list[Column]:
    """Three columns, any two independent; the third follows from both but for a share."""
    rng = np.random.default_rng(seed)
    one, two = rng.integers(0, 4, (2, n))
    three = np.where(rng.random(n) < share, rng.integers(0, 4, n), (one + two) % 4)
    return [coded("one", one, 4), coded("two", two, 4), coded("three", three, 4)]


@pytest.mark.parametrize("n", [200, 5_000])
def test_a_triple_is_found_of_which_no_pair_tells(n: int) -> None:
    columns = [*signs(n), *independent(n, 1)[:6]]
    (triple,) = structural_zeros(Table(columns)).zeros
    assert triple.names == ("one", "two", "three")
    assert triple.independent == pytest.approx(0.75, abs=0.05)
    assert triple.combinations == 16
    assert triple.rare_cells == triple.persons == 0
    assert not structural_zeros(Table(signs(n, share=1.0))).zeros


def test_the_fit_of_pairs_is_that_of_slow_proportions() -> None:
    rng = np.random.default_rng(2)
    rows = rng.poisson(1.5, (4, 5, 3))
    may = np.ones(rows.shape)
    for axis in range(3):
        may *= rows.sum(axis=axis, keepdims=True) > 0
    fitted = may.copy()
    for _ in range(500):
        for axis in range(3):
            fitted *= rows.sum(axis=axis, keepdims=True) / np.maximum(
                fitted.sum(axis=axis, keepdims=True), 1e-300
            )
    slow = fitted[rows == 0].sum()
    assert module._unseen(rows, 1e-3, 500) == pytest.approx(slow, rel=1e-3)
    assert module._unseen(rows, 2 * slow, 500) == 0


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("n", [60, 3_000])
def test_a_triple_that_its_pairs_explain_is_not_listed(n: int, seed: int) -> None:
    """Each column follows from the one before; of any three, pairs list all that is impossible."""
    rng = np.random.default_rng(seed)
    size, codes, columns = 6, rng.integers(0, 6, n), []
    for number in range(6):
        columns.append(coded(f"x{number}", codes, size))
        to = rng.integers(4, 10)
        chances = rng.dirichlet(np.full(to, 0.15), size).cumsum(axis=1)
        codes = np.minimum((rng.random(n)[:, None] > chances[codes]).sum(axis=1), to - 1)
        size = int(to)
    search = structural_zeros(Table(columns))
    assert search.pairs
    assert not search.triples


def test_the_price_counts_persons_not_rows() -> None:
    """One person alone has a combination, in ten rows."""
    index = PanelIndex.of_presence(np.ones((300, 10), dtype=bool), np.arange(10.0))
    one, two, three = (np.array(column.data) for column in signs(3_000))
    three[:10] = (one[0] + two[0] + 1) % 4
    one[:10], two[:10] = one[0], two[0]
    columns = [coded(n, c, 4) for n, c in zip(("a", "b", "c"), (one, two, three), strict=True)]
    (triple,) = structural_zeros(PanelTable(columns, index)).zeros
    assert (triple.rare_cells, triple.persons) == (1, 1)
    assert triple.rare_share == pytest.approx(10 / 3_000)


def test_numbers_with_few_values_count_and_others_do_not() -> None:
    rng = np.random.default_rng(1)
    group = rng.integers(0, 6, 600)
    few = Column(Variable(name="few", kind=Kind.NUMERIC), group * 10.0)
    many = Column(Variable(name="many", kind=Kind.NUMERIC), group + rng.random(600))
    zeros = structural_zeros(Table([coded("group", group, 6), few, many])).zeros
    assert [pair.names for pair in zeros] == [("group", "few")]


def test_ids_and_tables_with_too_many_combinations_are_not_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = nested(300)
    job = columns[0]
    same = Column(Variable(name="id", kind=Kind.ID), job.data.astype(np.float64))
    assert len(structural_zeros(Table([*columns, same])).zeros) == 1
    monkeypatch.setattr(module, "MAX_CELLS", 30 * 5)
    assert structural_zeros(Table(columns[:2])).zeros
    monkeypatch.setattr(module, "MAX_CELLS", len(np.unique(job.data)) * 5 - 1)
    assert structural_zeros(Table(columns[:2])) == module.ZeroSearch(())


def test_what_a_fresh_sample_hardly_has_stays_closed() -> None:
    facts = {"names": ("a", "b"), "combinations": 9, "persons": 0}
    facts |= {"rare_cells": 0, "rare_share": 0.0}
    zeros = [
        module.ZeroCells(**facts, independent=u, new_sample=g)
        for u, g in ((0.3, 0.01), (0.3, 0.02), (0.02, 0.5))
    ]
    assert [zero.opened for zero in zeros[::2]] == [0.0, 1.0]
    share = zeros[1].opened
    assert 0.3 * share / (0.7 + 0.3 * share) == pytest.approx(0.02)


def test_wide_files_are_looked_at_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [column for k in range(4) for column in nested(200, k)]
    table = Table(
        Column(Variable(name=f"v{k}", kind=c.variable.kind, levels=c.variable.levels), c.data)
        for k, c in enumerate(columns)
    )
    n_pairs = len(list(combinations(columns, 2)))
    assert (structural_zeros(table).skipped, structural_zeros(table).left_out) == (0, "")
    monkeypatch.setattr(module, "MAX_WORK", 3_000)
    search = structural_zeros(table)
    assert n_pairs - 15 < search.skipped < n_pairs
    assert 0 < search.skipped_triples <= len(list(combinations(columns, 3)))
    monkeypatch.undo()
    monkeypatch.setattr(module, "MAX_TRIPLES", 5)
    assert structural_zeros(table).skipped_triples == len(list(combinations(columns, 3))) - 5
    assert "triples of variables" in structural_zeros(table).left_out


def repeated(seed: int) -> PanelTable:
    """Persons of one to nine rows, whose two variables go together but for one row in ten."""
    rng = np.random.default_rng(seed)
    present = np.arange(9) < rng.integers(1, 10, 80)[:, None]
    index = PanelIndex.of_presence(present, np.arange(9.0))
    one = np.minimum(rng.geometric(0.15, index.n_rows) - 1, 19)
    two = np.where(rng.random(index.n_rows) < 0.1, rng.integers(0, 5, index.n_rows), one % 5)
    return PanelTable([coded("one", one, 20), coded("two", two, 5)], index)


@pytest.mark.parametrize("seed", range(2))
def test_the_excess_in_persons_is_that_of_slow_counting(seed: int) -> None:
    """Good's variance of what one person has alone, and Kish's effect of several rows a person."""
    table, log = repeated(seed), 0.7
    owners = np.asarray(table.owners).tolist()
    persons = module._Persons.of(np.array(owners))
    sizes = [owners.count(person) for person in set(owners)]
    mean = sum(sizes) / len(sizes)
    assert (persons.n, persons.mean) == (80, mean)
    assert persons.design == pytest.approx(80 * sum(n**2 for n in sizes) / sum(sizes) ** 2)
    pairs = list(zip(*(column.data.tolist() for column in table.columns), strict=True))
    holders = {pair: {o for p, o in zip(pairs, owners, strict=True) if p == pair} for pair in pairs}
    common = [
        all(len({o for q, o in zip(pairs, owners, strict=True) if q[k] == pair[k]}) > 1
            for k in (0, 1)) for pair in pairs
    ]  # fmt: skip
    alone = [both and len(holders[pair]) == 1 for both, pair in zip(common, pairs, strict=True)]
    singles = dict.fromkeys(owners, 0.0)
    for owner, is_alone in zip(owners, alone, strict=True):
        singles[owner] += is_alone / mean
    variance = sum(value**2 for value in singles.values())
    shared = {pair for pair, both in zip(pairs, common, strict=True) if both}
    twice = sum((pairs.count(p) / mean) ** 2 for p in shared if len(holders[p]) == 2) / 2
    codes = [module._codes(column, np.array(owners)) for column in table.columns]
    counted = module._Counted.of([code for code in codes if code is not None], persons, 1)
    assert counted.new_sample == pytest.approx(sum(alone) / len(pairs))
    gap = (counted.independent - counted.new_sample) * 80
    for exact, spread in ((False, variance), (True, variance + twice)):
        expected = gap - (2 * spread * log) ** 0.5 - persons.design * log
        assert counted.excess(log, exact=exact) == pytest.approx(max(expected, 0))
        assert expected > 0
    assert counted.excess(1e9) == 0


@pytest.mark.parametrize("most", [1, 333])
def test_a_sample_is_of_all_rows_of_some_persons(most: int) -> None:
    owners = np.repeat(np.arange(300), 2)
    rows = module._sample(owners, most)
    assert (np.bincount(owners[rows], minlength=300) % 2 == 0).all()
    assert len(rows) <= max(most, 2)
    assert len(rows) > min(most, 600) / 2


def test_large_files_are_screened_on_some_persons(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = structural_zeros(Table(nested(4_000))).zeros
    monkeypatch.setattr(module, "MAX_SAMPLE_ROWS", 900)
    assert structural_zeros(Table(nested(4_000))).zeros == whole
