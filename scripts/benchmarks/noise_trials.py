"""Trials of noise and posterior, T1 to T6, T14 and T19 of docs/verification.md.

Each attacks what is claimed and returns a figure; each has a control, something made wrong on
purpose, that the same trial must find. Tests run them small, the jobs at the end in full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import log
from multiprocessing import get_context
from typing import Any

import numpy as np
import numpy.typing as npt
from measuring import Row, Rows, job, rows_of
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, gammaln, logsumexp
from sklearn.metrics import roc_auc_score

from synthesizer.data.table import FloatArray
from synthesizer.extensions.verification.mechanisms import MICRO, DryNoise, Mechanism, Noise, OpenDP
from synthesizer.extensions.verification.posterior import (
    Posterior,
    posterior_of_categories,
    posterior_of_count,
)
from synthesizer.extensions.verification.prediction_questions import (
    area_under,
    class_counts,
    grid_counts,
    roc_points,
    without_noise,
)

Counts = npt.NDArray[np.int64]
Draw = Callable[[int, int], Counts]
"""Takes a true count and a number n of answers to n answers."""


def drawing(
    noise: Noise, epsilon: float, bounds: tuple[int, int] | None, distance: int = 1
) -> Draw:
    """Return independent answers about one count."""

    def draw(count: int, n: int) -> Counts:
        mechanism = Mechanism(n, distance, round(epsilon * MICRO), bounds)
        return np.array(noise.draw(mechanism, [count] * n))

    return draw


# T1: the law of the noise.


def probabilities(count: int, scale: float, bounds: tuple[int, int]) -> FloatArray:
    """Return the probabilities of bounds[0]..bounds[1] for a count whose noise is clamped to it."""
    low, high = bounds
    alpha = np.exp(-1 / scale)
    p = (1 - alpha) / (1 + alpha) * alpha ** np.abs(np.arange(low, high + 1) - count)
    p[0], p[-1] = alpha ** (count - low) / (1 + alpha), alpha ** (high - count) / (1 + alpha)
    return np.asarray(p)


def law_p(answers: Counts, count: int, scale: float, bounds: tuple[int, int]) -> float:
    """Return the p-value of the chi-square test; cells with fewer than 20 expected are joined."""
    low, high = bounds
    expected = probabilities(count, scale, bounds) * len(answers)
    seen = np.bincount(np.clip(answers, low, high) - low, minlength=high - low + 1)
    cells = np.minimum(np.cumsum(expected) // 20, expected.sum() // 20 - 1).astype(int)
    wanted, there = np.bincount(cells, expected), np.bincount(cells, seen)
    used = wanted > 0
    return float(stats.chisquare(there[used], wanted[used] * there.sum() / wanted.sum()).pvalue)


# T2: epsilon, from outside.


def epsilon_seen(one: Counts, other: Counts, confidence: float = 1 - 1e-7) -> float:
    """Return the largest epsilon that answers about two neighbours prove.

    The event that separates them best is sought among the tails in the first half of the answers;
    the second half gives exact binomial bounds (Clopper and Pearson) of its two probabilities.
    """
    half = len(one) // 2
    return max(
        _bound(a[:half], b[:half], a[half:], b[half:], (1 - confidence) / 2)
        for a, b in ((one, other), (other, one), (-one, -other), (-other, -one))
    )


def _bound(a: Counts, b: Counts, later_a: Counts, later_b: Counts, miss: float) -> float:
    marks = np.unique(np.concatenate([a, b]))
    below_a = np.searchsorted(np.sort(a), marks, side="right")
    below_b = np.searchsorted(np.sort(b), marks, side="right")
    n = len(a)
    low = stats.beta.ppf(miss, np.maximum(below_a, 1e-9), n - below_a + 1)
    high = stats.beta.ppf(1 - miss, below_b + 1, np.maximum(n - below_b, 1e-9))
    mark = marks[np.argmax(low / high)]
    hits_a, hits_b = int((later_a <= mark).sum()), int((later_b <= mark).sum())
    m = len(later_a)
    if not hits_a or hits_b == m:
        return 0.0
    sure_a = stats.beta.ppf(miss, hits_a, m - hits_a + 1)
    return float(log(sure_a / stats.beta.ppf(1 - miss, hits_b + 1, m - hits_b)))


NEIGHBOURS = (0, 24, 49)
"""Counts of 50 partitions; their neighbours have one more. Either of a pair may be the true one."""


def largest_epsilon_seen(
    draw: Draw, n: int, step: int = 1, counts: Sequence[int] = NEIGHBOURS
) -> float:
    """Return the largest epsilon seen over pairs that ``step`` sets apart."""
    return max(epsilon_seen(draw(count, n), draw(count + step, n)) for count in counts)


# T5 and T6: what floating-point noise gives away.


def naive_laplace(count: int, n: int, scale: float, seed: int) -> FloatArray:
    """Return counts with noise as many programs draw it: the control."""
    rng = np.random.default_rng(seed)
    u = rng.integers(1, 2**53, n) / 2**53
    return np.asarray(count + scale * np.where(rng.random(n) < 0.5, -1, 1) * np.log(u))


def infeasible(answers: npt.NDArray[Any], count: int, scale: float) -> float:
    """Return the share of answers that cannot stem from a count: each rules the count out.

    Whole numbers: the noise can have every whole number as its value, so a proof is an answer that
    is none. Floats (Mironov 2012): no uniform number of 53 bits leads from the count to the answer.
    """
    if np.issubdtype(answers.dtype, np.integer):
        return 0.0
    size = np.abs(answers - count)
    nearest = np.round(np.exp(-size / scale) * 2**53)
    possible = np.zeros(len(answers), dtype=bool)
    for step in range(-8, 9):
        u = np.clip(nearest + step, 1, 2**53 - 1) / 2**53
        for sign in (-1, 1):
            possible |= count + scale * sign * np.log(u) == answers
    return float(1 - possible.mean())


def finer(answers: npt.NDArray[Any]) -> float:
    """Return the share of answers on a finer grid than 2^-53 (the precision attack, Haney 2022)."""
    with np.errstate(over="ignore"):
        on_grid = np.asarray(answers, dtype=float) * 2.0**53
    return float((on_grid != np.round(on_grid)).mean())


# T19: randomness after a fork.


def forked(draw: Callable[[int], Sequence[int]], workers: int, vectors: int, size: int) -> int:
    """Return how many vectors of noise are drawn twice by forked workers."""
    context = get_context("fork")
    queue = context.SimpleQueue()
    processes = [
        context.Process(target=_put_vectors, args=(draw, queue, vectors, size))
        for _ in range(workers)
    ]
    for process in processes:
        process.start()
    drawn = [vector for _ in processes for vector in queue.get()]
    for process in processes:
        process.join()
    return len(drawn) - len(set(drawn))


def _put_vectors(draw: Callable[[int], Sequence[int]], queue: Any, vectors: int, size: int) -> None:
    queue.put([tuple(draw(size)) for _ in range(vectors)])


# T9: races.


def race(ledger: Any, asks: Callable[[Any, int], bool], processes: int, requests: int) -> int:
    """Return how many requests to a ledger are granted to processes that ask at once."""
    context = get_context("fork")
    queue, start = context.SimpleQueue(), context.Event()

    def work(number: int) -> None:
        start.wait()
        queue.put(sum(asks(ledger, number * requests + i) for i in range(requests)))

    workers = [context.Process(target=work, args=(number,)) for number in range(processes)]
    for worker in workers:
        worker.start()
    start.set()
    granted = sum(queue.get() for _ in workers)
    for worker in workers:
        worker.join()
    return int(granted)


# T14: the posterior against other ways to it.

CASES = (
    (48.3, 50, 1.0),
    (50.9, 50, 1.0),
    (20.2, 50, 1.0),
    (-3.0, 50, 0.25),
    (45.0, 50, 0.1),
    (10.0, 20, 0.5),
    (199.0, 200, 2.0),
)
"""Released number, M and epsilon; the first five are those of the specification."""


def quadrature(t: float, m: int, epsilon: float, points: int = 200_001) -> FloatArray:
    """Return mean, ends of the equal-tail interval and mode by brute force over r.

    Binomial probabilities of S times the density of Laplace noise, for each r of a grid; no
    integral is solved by hand.
    """
    r = (np.arange(points) + 0.5) / points
    likelihood = np.zeros(points)
    for k in range(m + 1):
        likelihood += stats.binom.pmf(k, m, r) * np.exp(-epsilon * abs(t - k))
    p = likelihood / likelihood.sum()
    ends = np.interp([0.025, 0.975], np.cumsum(p), r + 0.5 / points)
    return np.array([p @ r, *ends, r[np.argmax(p)]])


def gibbs(t: float, m: int, epsilon: float, draws: int, seed: int) -> FloatArray:
    """Return mean and equal-tail interval by alternating draws of r given S and of S given r."""
    rng = np.random.default_rng(seed)
    k = np.arange(m + 1)
    away = -epsilon * np.abs(t - k)
    choose = stats.binom.logpmf(k, m, 0.5) + m * log(2)
    r, sample = rng.random(), np.empty(draws)
    for i in range(-1000, draws):
        logs = choose + k * log(r) + (m - k) * log(1 - r) + away
        p = np.exp(logs - logs.max())
        s = int(np.searchsorted(np.cumsum(p), rng.random() * p.sum()))
        r = min(max(rng.beta(s + 1, m - s + 1), 1e-15), 1 - 1e-15)
        if i >= 0:
            sample[i] = r
    return np.array([sample.mean(), *np.quantile(sample, [0.025, 0.975])])


def random_posteriors(cases: int, seed: int) -> Iterator[Posterior]:
    """Yield posteriors of M from 10 to 300, epsilon from .01 to 30 and any released number."""
    rng = np.random.default_rng(seed)
    for _ in range(cases):
        m, epsilon = int(rng.integers(10, 300)), 10 ** rng.uniform(-2, 1.5)
        yield posterior_of_count(m * rng.random(), m=m, scale=1 / epsilon)


def is_top(known: Posterior, share: float) -> bool:
    """Return whether the density is no higher 1e-6 to the left and to the right of a share."""
    points = np.clip(share + np.array([-1e-6, 0.0, 1e-6]), 0, 1)
    k = np.arange(known.n + 1)
    parts = stats.beta.logpdf(points[:, None], k + 1, known.n - k + 1)
    heights = logsumexp(parts, b=known.weights, axis=1)
    return bool(heights[1] >= heights.max() - 1e-12)


def maxima(known: Posterior) -> int:
    """Return the number of local maxima of the density on a grid of 3,001 shares."""
    steps = np.diff(known.density(np.linspace(0, 1, 3_001)))
    signs = np.sign(np.where(np.abs(steps) > 1e-9, steps, 0))
    return 1 + int((np.diff(signs[signs != 0]) > 0).sum())


def plain_mode(known: Posterior) -> float:
    """Return the mode by the root of plain sums, NaN where they have none: the control."""
    steps, k, n = np.diff(known.weights), np.arange(known.n), known.n
    choose = np.exp(gammaln(n) - gammaln(k + 1) - gammaln(n - k))

    def slope(r: float) -> float:
        return float(steps @ (choose * r**k * (1 - r) ** (n - 1 - k)))

    try:
        return float(brentq(slope, 1e-12, 1 - 1e-12, xtol=1e-14))
    except ValueError:  # the same sign at both ends
        return float("nan")


def coverage(
    m: int, epsilon: float, cases: int, seed: int, off: float = 1.0
) -> tuple[float, float]:
    """Return how often the 95 % interval holds the true share, and the p-value of its rank.

    The posterior assumes ``off`` times the right scale: the control.
    """
    rng = np.random.default_rng(seed)
    alpha = np.exp(-epsilon)
    r = rng.random(cases)
    noise = rng.geometric(1 - alpha, cases) - rng.geometric(1 - alpha, cases)
    released = np.clip(rng.binomial(m, r) + noise, 0, m)
    known = {t: posterior_of_count(t, m=m, scale=off / epsilon) for t in np.unique(released)}
    inside = np.array(
        [
            known[t].equal_tail[0] <= share <= known[t].equal_tail[1]
            for t, share in zip(released, r, strict=True)
        ]
    )
    ranks = [1 - known[t].probability_above(share) for t, share in zip(released, r, strict=True)]
    return float(inside.mean()), float(stats.kstest(ranks, "uniform").pvalue)


def rejection(
    released: tuple[int, int, int], m: int, scale: float, draws: int, seed: int
) -> FloatArray:
    """Return mean shares of "in" among the estimable and of errors, with their standard errors.

    Shares, counts and noise are simulated forwards; draws with the released counts are accepted.
    """
    rng = np.random.default_rng(seed)
    alpha = np.exp(-1 / scale)
    accepted = []
    for _ in range(max(1, draws // 1_000_000)):
        n = min(draws, 1_000_000)
        shares = rng.dirichlet((1, 1, 1), n)
        counts = rng.multinomial(m, shares)
        noise = rng.geometric(1 - alpha, (2, n, 3))
        seen = np.clip(counts + noise[0] - noise[1], 0, m)
        accepted.append(shares[(seen == np.array(released)).all(axis=1)])
    sample = np.concatenate(accepted)
    both = np.column_stack([sample[:, 0] / (1 - sample[:, 2]), sample[:, 2]])
    return np.concatenate([both.mean(axis=0), both.std(axis=0) / np.sqrt(len(sample))])


def exact_means(released: tuple[int, int, int], m: int, scale: float) -> FloatArray:
    """Return what `rejection` estimates, by the posterior."""
    known = posterior_of_categories(released, m=m, scale=scale)
    return np.array([known.inside.mean, known.errors.mean])


# Errors of curves and grids.


def two_sided(rng: np.random.Generator, scale: float, size: int) -> Counts:
    """Return simulated noise of the mechanisms' law."""
    alpha = np.exp(-1 / scale)
    return rng.geometric(1 - alpha, size) - rng.geometric(1 - alpha, size)


def area_errors(n: int, scale: float, repeats: int, seed: int) -> float:
    """Return the mean absolute error of the area under a ROC curve of n persons, 50 scores."""
    rng = np.random.default_rng(seed)
    errors = []
    for _ in range(repeats):
        x = rng.normal(0, 1.5, n)
        y = (rng.random(n) < expit(x)).astype(float)
        score = expit(x)
        ends = np.quantile(expit(rng.normal(0, 1.5, n)), np.arange(1, 50) / 50)
        counts = class_counts(y, score, ends)
        noisy = counts + two_sided(rng, scale, len(counts))
        errors.append(abs(area_under(roc_points(noisy)) - roc_auc_score(y, score)))
    return float(np.mean(errors))


def grid_errors(n: int, scale: float, repeats: int, seed: int) -> float:
    """Return the mean total variation between a 20 x 20 grid of n persons and what is released."""
    rng = np.random.default_rng(seed)
    errors = []
    for _ in range(repeats):
        x = rng.normal(0, 1, n)
        counts = grid_counts(x, rng.normal(0, 0.5, n), np.array([[-2.6, 2.6], [-1.4, 1.4]]), 20)
        noisy = without_noise(counts + two_sided(rng, scale, len(counts)))
        errors.append(np.abs(noisy / noisy.sum() - counts / n).sum() / 2)
    return float(np.mean(errors))


# The jobs: full sizes, with their controls.


@job(draws=20_000)
def law(draws: int = 200_000) -> Rows:
    """T1: p-values of the law of the noise, and of noise with a scale of 1.1 (the control)."""
    for m, price, count in (
        (50, 1.0, 25), (50, 1.0, 0), (50, 0.5, 48), (20, 0.25, 3), (100, 2.0, 100), (50, 0.1, 40),
    ):  # fmt: skip
        bounds, scale = (0, m), 1 / price
        for words, draw in {
            "OpenDP, bounded": drawing(OpenDP(), price, bounds),
            "OpenDP, unbounded": drawing(OpenDP(), price, None),
            "own sampler": drawing(DryNoise(), price, bounds),
            "control: scale x 1.1": drawing(OpenDP(), price / 1.1, bounds),
        }.items():
            p = law_p(draw(count, draws), count, scale, bounds)
            is_refuted = p < 10 ** (-20 * draws / 200_000)
            holds = is_refuted if words.startswith("control") else p > 1e-6
            yield Row(f"M {m}, epsilon {price}, count {count}", f"p, {words}", p, holds=holds)


@job(draws=20_000)
def epsilon(draws: int = 1_000_000) -> Rows:
    """T2: the largest epsilon that draws prove, of 12 ordered neighbour pairs; 1 is claimed."""
    six = (0, 1, 24, 25, 48, 49)
    for words, draw, n, step in (
        ("right", drawing(OpenDP(), 1.0, None), draws, 1),
        ("right, bounded to 0..50", drawing(OpenDP(), 1.0, (0, 50)), draws // 10, 1),
        ("control: 20 % too small", drawing(OpenDP(), 1.25, None), max(draws // 5, 200_000), 1),
        ("control: sensitivity 2", drawing(OpenDP(), 1.0, None), draws // 5, 2),
    ):
        seen = largest_epsilon_seen(draw, n, step, six)
        holds = (seen > 1) == words.startswith("control")
        yield Row(words, f"epsilon proven by {n:,} draws a side", seen, holds=holds)


@job(draws=2_000)
def floats(draws: int = 20_000) -> Rows:
    """T5, T6: share of answers about 1 that prove it is not 0; share on a grid finer than 2^-53."""
    whole = [drawing(OpenDP(), 1.0, None)(count, draws) for count in (0, 1)]
    naive = [naive_laplace(count, draws, 1.0, seed=1) for count in (0, 1)]
    for words, (zero, one) in (("OpenDP, whole numbers", whole), ("control: float", naive)):
        is_control = words.startswith("control")
        for figure, share in (("proofs", infeasible(one, 0, 1.0)), ("finer grid", finer(zero))):
            holds = share > 0.2 if is_control else share == 0
            yield Row(words, figure, share, holds=holds)


@job(vectors=50)
def forks(vectors: int = 1_000) -> Rows:
    """T19: vectors drawn twice by 8 forked workers; of a numpy generator all but the first are."""
    mechanism, rng = Mechanism(6, 1, 1000), np.random.default_rng(0)
    sources: dict[str, tuple[Callable[[int], Sequence[int]], int]] = {
        "OpenDP": (lambda _: OpenDP().draw(mechanism, [0] * 6), 0),
        "own sampler": (lambda _: DryNoise().draw(mechanism, [0] * 6), 0),
        "control: a numpy generator": (lambda n: rng.integers(0, 10**9, n).tolist(), 7 * vectors),
    }
    for words, (draw, expected) in sources.items():
        twice = forked(draw, 8, vectors, 6)
        yield Row(words, f"of {8 * vectors:,} drawn twice", twice, holds=twice == expected)


@job(draws=20_000)
def posterior(draws: int = 200_000) -> Rows:
    """T14: largest differences from brute force (200,000 points) and from long chains."""
    for t, m, price in CASES:
        known = posterior_of_count(t, m=m, scale=1 / price)
        exact = np.array([known.mean, *known.equal_tail, known.mode])
        brute = float(np.abs(exact - quadrature(t, m, price)).max())
        chain = float(np.abs(exact[:3] - gibbs(t, m, price, draws, seed=1)).max())
        case = f"released {t}, M {m}, epsilon {price}"
        yield from rows_of(case, dict(zip(("mean", "2.5 %", "97.5 %", "mode"), exact, strict=True)))
        yield Row(case, "difference from brute force", brute, holds=brute < 1e-4)
        limit = 0.015 * (200_000 / draws) ** 0.5
        yield Row(case, "difference from a chain", chain, holds=chain < limit)


@job(cases=50)
def modes(cases: int = 500) -> Rows:
    """T14: random cases have one maximum, exact to 1e-6; by plain sums it is not."""
    posteriors = list(random_posteriors(cases, seed=5))
    several = sum(maxima(known) > 1 for known in posteriors)
    wrong = sum(not is_top(known, known.mode) for known in posteriors)
    plain = sum(not is_top(known, plain_mode(known)) for known in posteriors)
    yield Row(f"{cases} cases", "more than one maximum", several, holds=several == 0)
    yield Row(f"{cases} cases", "mode not exact", wrong, holds=wrong == 0)
    yield Row("control: by plain sums", "mode not exact", plain, holds=plain > 0)


@job(cases=1_000)
def intervals(cases: int = 4_000) -> Rows:
    """T14: coverage of 95 % intervals; the control assumes a scale three times off."""
    width = 0.01 * (4_000 / cases) ** 0.5
    for m, price in ((50, 1.0), (50, 0.25), (20, 0.5)):
        share, p = coverage(m, price, cases, seed=3)
        wrong, _ = coverage(m, price, cases, seed=3, off=3)
        case = f"M {m}, epsilon {price}"
        yield Row(case, "coverage", share, holds=abs(share - 0.95) <= width)
        yield Row(case, "p of the place", p, holds=p > 1e-3)
        yield Row(f"{case}, control", "coverage", wrong, holds=wrong > 0.96)


@job(draws=4_000_000)
def categories(draws: int = 60_000_000) -> Rows:
    """T14: three categories, (8, 2, 2) released of M = 12 at scale 2, against simulation."""
    means = rejection((8, 2, 2), 12, 2.0, draws, seed=1)
    exact, wrong = (exact_means((8, 2, 2), 12, scale) for scale in (2.0, 1.0))
    for number, words in enumerate(("in, of the estimable", "errors")):
        yield from rows_of(words, {"simulated": means[number], "its SE": means[number + 2]})
        yield from rows_of(words, {"exact": exact[number], "control: scale 1": wrong[number]})
    gap, control = (float((np.abs(means[:2] - m) / means[2:]).max()) for m in (exact, wrong))
    yield Row("largest difference", "exact", gap, "SE", holds=gap < 4)
    yield Row("largest difference", "control: scale 1", control, "SE", holds=control > 4)


@job(repeats=20)
def errors(repeats: int = 200) -> Rows:
    """Mean error of the area under a ROC curve, total variation of a 20 x 20 grid; epsilon 0.5."""
    known = {1_000: 0.019, 10_000: 0.0016, 100_000: 0.0002}
    grids = {2_000: 0.155, 20_000: 0.019, 200_000: 0.002}
    for words, scale in (("scale 2/epsilon, as released", 4.0), ("scale 1/epsilon", 2.0)):
        for n, claimed in known.items():
            error = area_errors(n, scale, repeats, seed=1)
            holds = None if scale > 2 else error < 1.1 * claimed
            yield Row(words, f"area, {n:,} persons", error, holds=holds)
        for n, claimed in grids.items():
            error = grid_errors(n, scale, max(repeats // 4, 1), seed=1)
            holds = None if scale > 2 else error < 1.1 * claimed
            yield Row(words, f"grid, {n:,} persons", error, holds=holds)
