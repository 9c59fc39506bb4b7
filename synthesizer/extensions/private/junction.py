"""Junction trees: tables of variables that are joined so that marginals are exact sums.

A triangulated graph contains every measured pair; its largest cliques form a tree. Messages along
the tree (Shafer and Shenoy 1990) give the distribution of each clique.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Clique = tuple[int, ...]


def elimination_cliques(sizes: Sequence[int], cliques: Iterable[Clique]) -> list[Clique]:
    """Return the maximal cliques of a triangulated graph that contains all ``cliques``.

    Each step eliminates the variable whose neighbours make the smallest table.
    """
    neighbours: dict[int, set[int]] = {i: set() for i in range(len(sizes))}
    for clique in cliques:
        for a, b in combinations(clique, 2):
            neighbours[a].add(b)
            neighbours[b].add(a)
    logs = [math.log(size) for size in sizes]

    def cost(i: int) -> float:
        total = logs[i]
        for j in neighbours[i]:
            total += logs[j]
        return total

    costs = {i: cost(i) for i in neighbours}
    result: list[set[int]] = []
    while costs:
        chosen = min(costs, key=costs.__getitem__)
        around = neighbours.pop(chosen)
        del costs[chosen]
        clique_set = {chosen, *around}
        if not any(clique_set <= other for other in result):
            result.append(clique_set)
        for i in around:
            neighbours[i] |= around
            neighbours[i] -= {i, chosen}
        for i in around:
            costs[i] = cost(i)
    return [tuple(sorted(clique)) for clique in result]


def model_cells(sizes: Sequence[int], cliques: Iterable[Clique]) -> tuple[int, int]:
    """Return the cells of the largest table and of all tables of the junction tree."""
    cells = [math.prod(sizes[i] for i in clique) for clique in elimination_cliques(sizes, cliques)]
    return max(cells), sum(cells)


@dataclass(frozen=True)
class _Node:
    """A clique of the tree, its parent, and axes that messages sum out or broadcast."""

    clique: Clique
    parent: int
    separator: Clique
    own_rest: tuple[int, ...]
    parent_rest: tuple[int, ...]
    own_shape: tuple[int, ...]
    parent_shape: tuple[int, ...]


def shape_in(clique: Clique, part: Clique, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that broadcasts a table of ``part`` in one of ``clique``."""
    return tuple(sizes[i] if i in part else 1 for i in clique)


def rest_of(clique: Clique, part: Clique) -> tuple[int, ...]:
    """Return the axes of ``clique`` that are not in ``part``."""
    return tuple(axis for axis, i in enumerate(clique) if i not in part)


class JunctionTree:
    """The cliques in an order in which each follows its parent."""

    def __init__(self, sizes: Sequence[int], cliques: Iterable[Clique]) -> None:
        self.sizes = tuple(sizes)
        self.nodes = self._connect(elimination_cliques(sizes, cliques))

    def _connect(self, cliques: list[Clique]) -> list[_Node]:
        """Join cliques by the largest separators (Prim's algorithm)."""
        waiting = set(range(len(cliques)))
        first = max(waiting, key=lambda i: len(cliques[i]))
        waiting.remove(first)
        nodes = [_Node(cliques[first], -1, (), (), (), (), ())]
        best = {i: (len({*cliques[i]} & {*cliques[first]}), 0) for i in waiting}
        while waiting:
            chosen = max(waiting, key=lambda i: best[i][0])
            waiting.remove(chosen)
            parent, clique = best[chosen][1], cliques[chosen]
            above = nodes[parent].clique
            separator = tuple(sorted({*clique} & {*above}))
            rests = rest_of(clique, separator), rest_of(above, separator)
            shapes = (shape_in(one, separator, self.sizes) for one in (clique, above))
            nodes.append(_Node(clique, parent, separator, *rests, *shapes))
            for i in waiting:
                shared = len({*cliques[i]} & {*clique})
                if shared > best[i][0]:
                    best[i] = (shared, len(nodes) - 1)
        return nodes

    def home(self, clique: Clique) -> int:
        """Return the smallest node that contains the clique."""
        inside = [k for k, node in enumerate(self.nodes) if {*clique} <= {*node.clique}]
        return min(inside, key=lambda k: np.prod([self.sizes[i] for i in self.nodes[k].clique]))

    def marginals(self, potentials: list[Array]) -> list[Array]:
        """Return the distribution of each node; ``potentials`` are logarithms."""
        beliefs = [np.exp(table - table.max()) for table in potentials]
        sums: list[Array] = [np.ones(())] * len(beliefs)
        for k in range(len(self.nodes) - 1, 0, -1):
            node = self.nodes[k]
            message = beliefs[k].sum(axis=node.own_rest)
            scale = message.max()
            beliefs[k] /= scale
            sums[k] = message / scale
            beliefs[node.parent] *= sums[k].reshape(node.parent_shape)
        beliefs[0] /= beliefs[0].sum()
        for k in range(1, len(self.nodes)):
            node = self.nodes[k]
            above = beliefs[node.parent].sum(axis=node.parent_rest)
            ratio = np.divide(above, sums[k], out=np.zeros_like(above), where=sums[k] > 0)
            beliefs[k] *= ratio.reshape(node.own_shape)
        return beliefs
