"""Estimates of a distribution on a junction tree from noisy tables.

The estimate minimises the weighted squared distance to all noisy tables, among distributions of
maximum entropy (McKenna, Sheldon and Miklau 2019), by mirror descent with momentum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from synthesizer.extensions.private.junction import Array, Clique, JunctionTree, rest_of, shape_in

Groups = npt.NDArray[np.intp]
TEST_EVERY = 20
"""Iterations between two tests of convergence."""


@dataclass(frozen=True)
class Measurement:
    """A noisy table; ``groups`` maps the levels of a variable to those of the table."""

    clique: Clique
    groups: tuple[Groups | None, ...]
    values: Array
    sigma: float


def one_hot(groups: Sequence[Groups | None]) -> list[Array | None]:
    """Return for each axis a matrix of levels by groups, None for all levels."""
    return [None if group is None else np.eye(int(group.max()) + 1)[group] for group in groups]


def grouped(table: Array, matrices: Sequence[Array | None]) -> Array:
    """Sum the cells of a table by groups of levels, of which ``matrices`` has one for each axis."""
    for axis, matrix in enumerate(matrices):
        if matrix is not None:
            table = np.moveaxis(np.tensordot(table, matrix, (axis, 0)), -1, axis)
    return table


class _Term:
    """One measurement within the loss: its node, axes, one-hot groups and weight."""

    def __init__(self, measured: Measurement, tree: JunctionTree, total: float) -> None:
        self.node = tree.home(measured.clique)
        clique = tree.nodes[self.node].clique
        self.rest = rest_of(clique, measured.clique)
        self.groups = measured.groups
        self.hot = one_hot(self.groups)
        sizes = [tree.sizes[i] for i in measured.clique]
        self.index = np.ix_(
            *(np.arange(n) if g is None else g for n, g in zip(sizes, self.groups, strict=True))
        )
        self.is_grouped = any(g is not None for g in self.groups)
        self.values = measured.values / total
        self.weight = (total / measured.sigma) ** 2

    def __call__(self, marginals: list[Array]) -> tuple[float, Array]:
        """Return the loss and its gradient by the cells of the measured variables."""
        table = grouped(marginals[self.node].sum(axis=self.rest), self.hot)
        error = table - self.values
        loss = 0.5 * self.weight * float(np.vdot(error, error))
        gradient = self.weight * error
        return loss, gradient[self.index] if self.is_grouped else gradient


@dataclass
class Model:
    """A distribution on a junction tree, with logarithmic potentials by measured clique."""

    tree: JunctionTree
    potentials: dict[Clique, Array]
    marginals: list[Array]
    total: float
    losses: list[float] = field(default_factory=list)

    def table(self, clique: Clique) -> Array:
        """Return expected counts of variables that are in one node."""
        k = self.tree.home(clique)
        rest = rest_of(self.tree.nodes[k].clique, clique)
        result: Array = self.total * self.marginals[k].sum(axis=rest)
        return result

    def pairs(self) -> dict[Clique, Array]:
        """Return the expected counts of all two-way tables, along the tree."""
        result: dict[Clique, Array] = {}
        tree, nodes = self.tree, self.tree.nodes
        links: list[list[int]] = [[] for _ in nodes]
        for k in range(1, len(nodes)):
            links[k].append(nodes[k].parent)
            links[nodes[k].parent].append(k)
        for a, size in enumerate(tree.sizes):
            start = tree.home((a,))
            clique = nodes[start].clique
            axis = clique.index(a)
            # `joint` has the level of `a` as first axis, then the axes of the node
            joint = np.zeros((size, *self.marginals[start].shape))
            levels = np.arange(size)
            by_level = np.moveaxis(joint, 1 + axis, 1)  # a view
            by_level[levels, levels] = np.moveaxis(self.marginals[start], axis, 0)
            waiting = [(start, -1, joint)]
            while waiting:
                k, before, joint = waiting.pop()
                clique = nodes[k].clique
                for b in clique:
                    if b > a and (a, b) not in result:
                        rest = tuple(1 + x for x in rest_of(clique, (b,)))
                        result[a, b] = self.total * joint.sum(axis=rest)
                for other in links[k]:
                    if other != before:
                        waiting.append((other, k, self._passed(joint, k, other)))
        return result

    def _passed(self, joint: Array, k: int, other: int) -> Array:
        """Return the joint table of a variable and node ``other`` from that with node ``k``."""
        nodes = self.tree.nodes
        separator = nodes[k].separator if nodes[k].parent == other else nodes[other].separator
        rest = tuple(1 + x for x in rest_of(nodes[k].clique, separator))
        message = joint.sum(axis=rest)
        clique = nodes[other].clique
        below = self.marginals[other].sum(axis=rest_of(clique, separator))
        ratio = np.divide(message, below, out=np.zeros_like(message), where=below > 0)
        shape = shape_in(clique, separator, self.tree.sizes)
        result: Array = ratio.reshape(len(joint), *shape) * self.marginals[other]
        return result


def fit(
    sizes: Sequence[int],
    measurements: Sequence[Measurement],
    total: float,
    start: Model | None = None,
    iterations: int = 400,
    tolerance: float = 1e-4,
) -> Model:
    """Estimate a model from noisy tables; ``start`` supplies potentials to begin with."""
    cliques = sorted({m.clique for m in measurements})
    tree = JunctionTree(sizes, cliques)
    terms = [_Term(m, tree, total) for m in measurements]
    position = {clique: k for k, clique in enumerate(cliques)}
    owners = [position[m.clique] for m in measurements]
    homes = [tree.home(clique) for clique in cliques]
    shapes = [
        shape_in(tree.nodes[k].clique, c, tree.sizes) for k, c in zip(homes, cliques, strict=True)
    ]
    blank = [np.zeros([tree.sizes[i] for i in node.clique]) for node in tree.nodes]

    def evaluate(point: list[Array]) -> tuple[float, list[Array], list[Array]]:
        potentials = [table.copy() for table in blank]
        for table, home, shape in zip(point, homes, shapes, strict=True):
            potentials[home] += table.reshape(shape)
        marginals = tree.marginals(potentials)
        gradient = [np.zeros_like(table) for table in point]
        loss = 0.0
        for term, owner in zip(terms, owners, strict=True):
            part, slope = term(marginals)
            loss += part
            gradient[owner] += slope
        return loss, gradient, marginals

    before = {} if start is None else start.potentials
    point = [before.get(c, np.zeros([tree.sizes[i] for i in c])).copy() for c in cliques]
    last = point
    loss, gradient, marginals = evaluate(point)
    step, age, losses = 1.0 / max(term.weight for term in terms), 0, [loss]
    for _ in range(iterations):
        moved = [x - step * g for x, g in zip(point, gradient, strict=True)]
        momentum = age / (age + 3)
        ahead = [m + momentum * (m - q) for m, q in zip(moved, last, strict=True)]
        new_loss, new_gradient, new_marginals = evaluate(ahead)
        if not new_loss <= loss:
            if age == 0:
                step *= 0.5
            last, age = point, 0
            continue
        last, point, age, step = moved, ahead, age + 1, step * 1.05
        loss, gradient, marginals = new_loss, new_gradient, new_marginals
        losses.append(loss)
        if len(losses) > TEST_EVERY and losses[-TEST_EVERY] - loss < tolerance * loss:
            break
    return Model(tree, dict(zip(cliques, point, strict=True)), marginals, total, losses)
