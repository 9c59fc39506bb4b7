"""Adaptive forests: two-way tables are chosen where the model fits worst, and measured.

After the one-way tables come five rounds. Each chooses a forest of pairs against the model of the
round before (McKenna, Mullins, Sheldon and Miklau 2022), in versions of few or many levels, so that
coarse tables serve where noise is large. Then it measures them and estimates the model again.
Shares of the budget and numbers of tables follow from public facts, before any data are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from synthesizer.extensions.private.accounting import Accountant, sigma_of
from synthesizer.extensions.private.estimating import Groups, Measurement, Model, fit
from synthesizer.extensions.private.even_draws import Codes, draw
from synthesizer.extensions.private.junction import Array, Clique, model_cells
from synthesizer.extensions.private.measuring import (
    MEAN_NOISE,
    TWO_WAY,
    Confidential,
    OneWay,
    Option,
    Scores,
    Sizes,
    measure_one_way,
    shares_by_size,
    to_simplex,
)
from synthesizer.extensions.private.noise import Noise

ONE_WAY_SHARE = 0.45
"""Share of the budget for one-way tables."""
SELECTION_SHARE = 0.1
"""Share of the budget for choices."""
ROUNDS = 5
TABLES_PER_VARIABLE = 0.5
"""Pairs of a round, for each variable but one."""
LEVELS = (2, 3, 4, 6, 8, 12)
"""Numbers of groups in coarse versions of a variable."""
NOISE_PENALTY = 0.5
"""Share of the expected noise of a table that its score loses."""
LARGEST_CLIQUE = 30_000
"""Most cells of a clique."""
MOST_CELLS = 300_000
"""Most cells of all cliques."""
ITERATIONS = 300
LAST_ITERATIONS = 600
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Fitted:
    """The model and what it was made from; nothing else depends on the records."""

    one_way: OneWay
    model: Model
    measured: list[Measurement]

    @property
    def n_rows(self) -> int:
        """Number of records, noisy or public."""
        return round(self.one_way.total)

    @property
    def pairs(self) -> int:
        """Number of measured two-way tables."""
        return sum(len(m.clique) == 2 for m in self.measured)

    def drawn(self, n_rows: int, rng: np.random.Generator) -> Codes:
        """Return codes of ``n_rows`` records."""
        return self.one_way.spread(draw(self.model, n_rows, rng), rng)


def synthesise(
    codes: Codes,
    sizes: Sizes,
    accountant: Accountant,
    noise: Noise,
    *,
    public_rows: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Fitted:
    """Return a model of the records that spends the budget of the accountant.

    ``public_rows`` is the number of records if it is public. ``progress`` receives 1 after each
    round.
    """
    records = Confidential(codes, sizes, accountant, noise)
    has_pairs = records.n_variables > 1
    share = ONE_WAY_SHARE if has_pairs else 1.0
    one = measure_one_way(records, accountant.rho * share * (1 - 1e-12), public_rows)
    inner = records.recoded(one.maps)
    counts = [to_simplex(m.values, one.total) for m in one.measured]
    versions = [
        resolutions(values, ordered)
        for values, ordered in zip(counts, inner.sizes.ordered, strict=True)
    ]
    measured = list(one.measured)
    model = fit(inner.sizes.codes, measured, one.total, iterations=ITERATIONS)
    for remaining in range(ROUNDS, 0, -1) if has_pairs else ():
        result = _round(inner, model, versions, measured, remaining)
        if result:
            measured += result
            model = fit(
                inner.sizes.codes,
                measured,
                one.total,
                start=model,
                tolerance=TOLERANCE,
                iterations=LAST_ITERATIONS if remaining == 1 else ITERATIONS,
            )
        if progress is not None:
            progress(1)
    return Fitted(one, model, measured)


def _round(
    records: Confidential,
    model: Model,
    versions: Sequence[Sequence[Groups | None]],
    measured: Sequence[Measurement],
    rounds_left: int,
) -> list[Measurement]:
    """Choose a forest of pairs and return their noisy tables."""
    accountant, n = records.accountant, records.n_variables
    budget = accountant.remaining / rounds_left
    for_choices = SELECTION_SHARE / (1 - ONE_WAY_SHARE)
    n_picks = max(1, round(TABLES_PER_VARIABLE * (n - 1)))
    each = budget * (1 - for_choices) / n_picks
    hot = [
        [np.eye(size) if g is None else np.eye(int(g.max()) + 1)[g] for g in versions[i]]
        for i, size in enumerate(records.sizes.codes)
    ]
    penalty = NOISE_PENALTY * MEAN_NOISE * sigma_of(each)
    scores = records.gains(model.pairs(), hot, penalty)
    used = [m.clique for m in measured if len(m.clique) == 2]
    chosen = choose_forest(scores, records.sizes, used, n_picks, budget * for_choices / n_picks)
    if not chosen:
        return []
    # what a short round saves goes to later rounds; the last one spends all
    spend = accountant.remaining if rounds_left == 1 else each * len(chosen)
    shares = shares_by_size([hot[c[0]][r].shape[1] * hot[c[1]][s].shape[1] for c, r, s in chosen])
    return [
        records.measure(
            TWO_WAY,
            clique,
            # a hair less, so that the sum of rounded shares is within the budget
            spend * share * (1 - 1e-12),
            (versions[clique[0]][r], versions[clique[1]][s]),
        )
        for (clique, r, s), share in zip(chosen, shares, strict=True)
    ]


def _joined(components: list[int], a: int, b: int) -> list[int]:
    """Return the component of each variable after joining those of a and b."""
    return [components[b] if number == components[a] else number for number in components]


def choose_forest(
    scores: Scores, sizes: Sizes, used: Sequence[Clique], n_picks: int, rho: float
) -> list[Option]:
    """Choose at most ``n_picks`` pairs without circles, within the size of the model.

    Each choice costs at most ``rho``. Which pairs are allowed follows from earlier choices. The
    choice of nothing ends the round.
    """
    forest = graph = [*range(len(sizes.codes))]
    cliques = [*used]
    for pair in used:
        graph = _joined(graph, *pair)
    too_large: set[Clique] = set()
    chosen: list[Option] = []

    def fits(pair: Clique) -> bool:
        a, b = pair
        if pair in too_large or forest[a] == forest[b]:
            return False
        # a pair of two components adds a clique of its own cells only
        tested = [*cliques, pair] if graph[a] == graph[b] else [pair]
        largest, cells = model_cells(sizes.codes, tested)
        if largest > LARGEST_CLIQUE or cells > MOST_CELLS:
            too_large.add(pair)
        return pair not in too_large

    for _ in range(n_picks):
        option = scores.best(fits, rho)
        if option is None:
            break
        chosen.append(option)
        forest, graph = _joined(forest, *option[0]), _joined(graph, *option[0])
        cliques.append(option[0])
    return chosen


def resolutions(counts: Array, ordered: int) -> list[Groups | None]:
    """Return coarse versions of a variable by its noisy counts, and None for all levels."""
    versions: list[Groups | None] = []
    seen = {len(counts)}
    for n_groups in LEVELS:
        if n_groups < len(counts):
            group = coarse(counts, ordered, n_groups)
            n_found = int(group.max()) + 1
            if n_found > 1 and n_found not in seen:
                seen.add(n_found)
                versions.append(group)
    return [*versions, None]


def coarse(counts: Array, ordered: int, n_groups: int) -> Groups:
    """Return about ``n_groups`` groups of nearly equal counts; ordered levels stay in order.

    Examples
    --------
    >>> coarse(np.array([10.0, 10.0, 10.0, 10.0]), 4, 2).tolist()
    [0, 0, 1, 1]
    """
    positive = np.maximum(counts, 0)
    share = positive / max(float(positive.sum()), 1e-9)
    size = len(counts)
    mapping = np.zeros(size, np.intp)
    apart = np.arange(ordered, size)
    large = [
        i for i in apart[np.argsort(-share[apart], kind="stable")] if share[i] >= 0.5 / n_groups
    ]
    singles = large[: max(n_groups - (1 if ordered else 0), 0)]
    rest = [i for i in apart if i not in singles]
    if not ordered and rest and len(singles) == n_groups:
        rest.append(singles.pop())
    n_bins = max(1, n_groups - len(singles)) if ordered else 0
    if ordered:
        middle = np.cumsum(share[:ordered]) - share[:ordered] / 2
        whole = max(float(share[:ordered].sum()), 1e-9)
        mapping[:ordered] = np.minimum(middle / whole * n_bins, n_bins - 1)
    for new, i in enumerate(singles, n_bins):
        mapping[i] = new
    if rest:
        mapping[rest] = n_bins + len(singles)
    return np.unique(mapping, return_inverse=True)[1].astype(np.intp)
