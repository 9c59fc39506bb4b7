"""Junction trees, estimates and draws beside slow obvious code."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from synthesizer.extensions.private.estimating import Measurement, Model, fit, grouped, one_hot
from synthesizer.extensions.private.even_draws import draw, even_draws
from synthesizer.extensions.private.junction import JunctionTree, elimination_cliques, model_cells

SIZES = (3, 2, 4, 3, 2, 3)
GRAPHS: list[list[tuple[int, ...]]] = [
    [(0, 1), (1, 2), (2, 3), (0, 3), (4, 5)],
    [(0, 1, 2), (2, 3), (3, 4), (4, 5), (0, 5)],
    [(i,) for i in range(6)],
    [(0, 1), (0, 2), (0, 3)],
]


def others(clique: tuple[int, ...], n: int = 6) -> tuple[int, ...]:
    return tuple(i for i in range(n) if i not in clique)


def whole_table(potentials: dict[tuple[int, ...], Any]) -> Any:
    """Return the distribution on all cells."""
    logs = np.zeros(SIZES)
    for clique, table in potentials.items():
        logs = logs + table.reshape([n if i in clique else 1 for i, n in enumerate(SIZES)])
    p = np.exp(logs - logs.max())
    return p / p.sum()


def model_of(cliques: list[tuple[int, ...]], seed: int) -> tuple[Model, Any]:
    """Return a model with random potentials, and the same distribution on all cells."""
    rng = np.random.default_rng(seed)
    potentials = {c: rng.normal(size=[SIZES[i] for i in c]) * 2 for c in cliques}
    tree = JunctionTree(SIZES, cliques)
    tables = [np.zeros([SIZES[i] for i in node.clique]) for node in tree.nodes]
    for clique, table in potentials.items():
        k = tree.home(clique)
        shape = [SIZES[i] if i in clique else 1 for i in tree.nodes[k].clique]
        tables[k] = tables[k] + table.reshape(shape)
    return Model(tree, potentials, tree.marginals(tables), 1.0), whole_table(potentials)


@pytest.mark.parametrize("number", range(len(GRAPHS)))
def test_marginals_and_pairs_are_sums_over_all_cells(number: int) -> None:
    model, whole = model_of(GRAPHS[number], number)
    for node, table in zip(model.tree.nodes, model.marginals, strict=True):
        np.testing.assert_allclose(table, whole.sum(axis=others(node.clique)), atol=1e-12)
    pairs = model.pairs()
    assert set(pairs) == set(combinations(range(6), 2))
    for clique, table in pairs.items():
        np.testing.assert_allclose(table, whole.sum(axis=others(clique)), atol=1e-12)


@pytest.mark.parametrize("number", range(len(GRAPHS)))
def test_a_tree_contains_every_clique_and_its_intersections_run(number: int) -> None:
    cliques = elimination_cliques(SIZES, GRAPHS[number])
    assert all(any({*c} <= {*result} for result in cliques) for c in GRAPHS[number])
    assert not any({*a} < {*b} for a in cliques for b in cliques)
    assert {i for c in cliques for i in c} == {*range(6)}
    seen: set[int] = set()
    for node in JunctionTree(SIZES, GRAPHS[number]).nodes:
        assert {*node.clique} & seen == {*node.separator}
        seen |= {*node.clique}
    cells = [int(np.prod([SIZES[i] for i in c])) for c in cliques]
    assert model_cells(SIZES, GRAPHS[number]) == (max(cells), sum(cells))


def test_draws_have_the_tables_of_the_model() -> None:
    model, whole = model_of(GRAPHS[0], 7)
    rows = draw(model, 50_000, np.random.default_rng(1))
    for a, b in combinations(range(6), 2):
        table = np.zeros((SIZES[a], SIZES[b]))
        np.add.at(table, (rows[:, a], rows[:, b]), 1 / 50_000)
        assert abs(table - whole.sum(axis=others((a, b)))).sum() < 0.01


def test_estimates_meet_tables_that_agree() -> None:
    sizes, rng = (3, 2, 4, 3), np.random.default_rng(1)
    p = rng.dirichlet(np.ones(72) * 0.3).reshape(sizes) * 1000
    measured = [
        Measurement(c, (None, None), p.sum(axis=others(c, 4)), 1.0)
        for c in [(0, 1), (1, 2), (2, 3), (0, 3)]
    ]
    halves = np.array([0, 0, 1, 1])
    sums = grouped(p.sum(axis=(1, 3)), one_hot((None, halves)))
    measured.append(Measurement((0, 2), (None, halves), sums, 1.0))
    model = fit(sizes, measured, 1000, iterations=5000, tolerance=1e-9)
    for one in measured:
        result = grouped(model.table(one.clique), one_hot(one.groups))
        np.testing.assert_allclose(result, one.values, atol=1)
    assert model.losses == sorted(model.losses, reverse=True)


def test_an_estimate_of_one_table_has_the_largest_entropy() -> None:
    margins = [Measurement((i,), (None,), np.array(v), 1.0) for i, v in enumerate([[6, 4], [3, 7]])]
    model = fit((2, 2), [*margins], 10, iterations=3000, tolerance=1e-12)
    np.testing.assert_allclose(model.pairs()[0, 1], [[1.8, 4.2], [1.2, 2.8]], atol=1e-3)


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_even_draws_round_the_expected_counts(n: int) -> None:
    rng = np.random.default_rng(n)
    table = rng.dirichlet(np.ones(5), size=3)
    given = rng.integers(0, 3, n).astype(np.intp)
    values = even_draws(table, given, rng)
    for row in range(3):
        counts = np.bincount(values[given == row], minlength=5)
        assert (abs(counts - table[row] * (given == row).sum()) < 1 + 1e-9).all()


def test_an_impossible_group_draws_from_all_others() -> None:
    table = np.array([[0.0, 0.0], [0.0, 2.0]])
    assert even_draws(table, np.zeros(4, np.intp), np.random.default_rng(1)).tolist() == [1] * 4
