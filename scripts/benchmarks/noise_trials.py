"""Trials of noise, posterior and ledger: tests run them small, benchmark_verification.py in full.

Each attacks what is claimed and returns a figure; each has a control, something made wrong on
purpose, that the same trial must find. ``TRIALS`` at the end has the full sizes, as tables.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import log
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, gammaln, logsumexp
from sklearn.metrics import roc_auc_score

from synthesizer.data.errors import LedgerError
from synthesizer.data.table import FloatArray
from synthesizer.verification.ledger import Ledger, new_ledger
from synthesizer.verification.mechanisms import MICRO, DryNoise, Mechanism, Noise, OpenDP
from synthesizer.verification.posterior import (
    Posterior,
    posterior_of_categories,
    posterior_of_count,
)
from synthesizer.verification.prediction_questions import (
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

    The event that tells them apart best is sought among the tails in the first half of the answers;
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
    """Return the share of answers that cannot stem from a count: each proves that it is not it.

    Whole numbers: law of the noise has every whole number as a value, so a proof is an answer that
    is none. Floats (Mironov 2012): no uniform number of 53 bits leads from the count to the answer.
    """
    if np.issubdtype(answers.dtype, np.integer):
        return 0.0
    size = np.abs(answers - count)
    near = np.round(np.exp(-size / scale) * 2**53)
    possible = np.zeros(len(answers), dtype=bool)
    for step in range(-8, 9):
        u = np.clip(near + step, 1, 2**53 - 1) / 2**53
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


# T9: races, and a crash between charge and answer.


def race(place: Any, asks: Callable[[Any, int], bool], processes: int, requests: int) -> int:
    """Return how many requests to a place are granted to processes that ask at once."""
    context = get_context("fork")
    queue, start = context.SimpleQueue(), context.Event()

    def work(number: int) -> None:
        start.wait()
        queue.put(sum(asks(place, number * requests + i) for i in range(requests)))

    workers = [context.Process(target=work, args=(number,)) for number in range(processes)]
    for worker in workers:
        worker.start()
    start.set()
    granted = sum(queue.get() for _ in workers)
    for worker in workers:
        worker.join()
    return int(granted)


def ask_ledger(path: Path, number: int) -> bool:
    """Ask a question of its own at 0.1."""
    try:
        Ledger(path, seconds=60).reserve(
            f"q{number}", content="{}", epsilon=MICRO // 10, user="u", analysis="a"
        )
    except LedgerError:
        return False
    return True


def ask_naively(path: Path, number: int) -> bool:  # noqa: ARG001
    """Read what is spent, check, and write: the control."""
    spent = len(path.read_bytes())
    if spent >= 10:
        return False
    time.sleep(0.001)
    path.write_bytes(b"." * (spent + 1))
    return True


def kills(
    folder: Path, times: int, seed: int, *, charge_first: bool = True
) -> Iterator[tuple[int, int]]:
    """Yield how many answers are shown and how many paid after processes that were killed.

    Each asks question after question and shows every answer; it is killed at any moment. The
    control charges after it has shown.
    """
    rng = np.random.default_rng(seed)
    context = get_context("fork")
    for number in range(times):
        path, shown = folder / f"killed{number}.sqlite", folder / f"shown{number}"
        new_ledger(path, data="0" * 64, cap=1000.0)
        shown.write_bytes(b"")
        worker = context.Process(target=_answer_until_killed, args=(path, shown, charge_first))
        worker.start()
        while not shown.stat().st_size:
            time.sleep(0.001)
        time.sleep(float(rng.uniform(0, 0.05)))
        with suppress(ProcessLookupError):
            os.kill(worker.pid or 0, signal.SIGKILL)
        worker.join()
        (total,) = (b for b in Ledger(path).spending().budgets if b.scope == "global")
        yield len(shown.read_bytes()), total.spent * 10 // MICRO


def _answer_until_killed(path: Path, shown: Path, charge_first: bool) -> None:
    with shown.open("ab", buffering=0) as file:
        for number in range(10_000):
            if not charge_first:
                file.write(b".")
            ask_ledger(path, number)
            Ledger(path).store(f"q{number}", ((number,),))
            if charge_first:
                file.write(b".")


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
    r, kept = rng.random(), np.empty(draws)
    for i in range(-1000, draws):
        logs = choose + k * log(r) + (m - k) * log(1 - r) + away
        p = np.exp(logs - logs.max())
        s = int(np.searchsorted(np.cumsum(p), rng.random() * p.sum()))
        r = min(max(rng.beta(s + 1, m - s + 1), 1e-15), 1 - 1e-15)
        if i >= 0:
            kept[i] = r
    return np.array([kept.mean(), *np.quantile(kept, [0.025, 0.975])])


def random_posteriors(cases: int, seed: int) -> Iterator[Posterior]:
    """Yield posteriors of M from 10 to 300, epsilon from .01 to 30 and any released number."""
    rng = np.random.default_rng(seed)
    for _ in range(cases):
        m, epsilon = int(rng.integers(10, 300)), 10 ** rng.uniform(-2, 1.5)
        yield posterior_of_count(m * rng.random(), m=m, scale=1 / epsilon)


def is_top(known: Posterior, share: float) -> bool:
    """Return whether the density is no higher 1e-6 to the left and to the right of a share."""
    near = np.clip(share + np.array([-1e-6, 0.0, 1e-6]), 0, 1)
    k = np.arange(known.n + 1)
    parts = stats.beta.logpdf(near[:, None], k + 1, known.n - k + 1)
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
    """Return how often the 95 % interval holds the true share, and the p-value of its place.

    ``off`` times the right scale is what the posterior is told: the control.
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
    place = [1 - known[t].probability_above(share) for t, share in zip(released, r, strict=True)]
    return float(inside.mean()), float(stats.kstest(place, "uniform").pvalue)


def rejection(
    released: tuple[int, int, int], m: int, scale: float, draws: int, seed: int
) -> FloatArray:
    """Return mean shares of "in" among the estimable and of errors, with their standard errors.

    Shares, counts and noise are simulated forwards; kept is what leads to the released counts.
    """
    rng = np.random.default_rng(seed)
    alpha = np.exp(-1 / scale)
    kept = []
    for _ in range(max(1, draws // 1_000_000)):
        n = min(draws, 1_000_000)
        shares = rng.dirichlet((1, 1, 1), n)
        counts = rng.multinomial(m, shares)
        noise = rng.geometric(1 - alpha, (2, n, 3))
        seen = np.clip(counts + noise[0] - noise[1], 0, m)
        kept.append(shares[(seen == np.array(released)).all(axis=1)])
    found = np.concatenate(kept)
    both = np.column_stack([found[:, 0] / (1 - found[:, 2]), found[:, 2]])
    return np.concatenate([both.mean(axis=0), both.std(axis=0) / np.sqrt(len(found))])


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


# Full sizes: each shows a table row by row and returns whether all holds, controls included.

Show = Callable[..., None]


def law(show: Show) -> bool:
    """T1: 200,000 draws of each setting; p of the law, and p of noise with a scale of 1.1."""
    show("M", "epsilon", "count", "p", "p, scale x 1.1", "p, unbounded", "p, own sampler")
    good = True
    for m, epsilon, count in (
        (50, 1.0, 25), (50, 1.0, 0), (50, 0.5, 48), (20, 0.25, 3), (100, 2.0, 100), (50, 0.1, 40),
    ):  # fmt: skip
        bounds, scale = (0, m), 1 / epsilon
        sources = (
            drawing(OpenDP(), epsilon, bounds),
            drawing(OpenDP(), epsilon / 1.1, bounds),
            drawing(OpenDP(), epsilon, None),
            drawing(DryNoise(), epsilon, bounds),
        )
        p = [law_p(draw(count, 200_000), count, scale, bounds) for draw in sources]
        show(m, epsilon, count, *(f"{value:.1e}" for value in p))
        good &= min(p[0], *p[2:]) > 1e-6 and p[1] < 1e-20
    return good


def epsilon(show: Show) -> bool:
    """T2: the largest epsilon that draws prove, of 12 ordered neighbour pairs."""
    show("noise for epsilon 1", "draws a side", "epsilon proven")
    six, million, good = (0, 1, 24, 25, 48, 49), 1_000_000, True
    for words, draw, n, step in (
        ("right", drawing(OpenDP(), 1.0, None), million, 1),
        ("right, bounded to 0..50", drawing(OpenDP(), 1.0, (0, 50)), 100_000, 1),
        ("control: 20 % too small", drawing(OpenDP(), 1.25, None), 200_000, 1),
        ("control: sensitivity 2", drawing(OpenDP(), 1.0, None), 200_000, 2),
    ):
        seen = largest_epsilon_seen(draw, n, step, six)
        show(words, f"{n:,}", f"{seen:.3f}")
        good &= (seen > 1) == words.startswith("control")
    return good


def floats(show: Show) -> bool:
    """T5, T6: share of 20,000 answers about 1 that prove it is not 0; share on a finer grid."""
    show("noise", "proofs", "finer than 2^-53, count 0", "count 1")
    whole = [drawing(OpenDP(), 1.0, None)(count, 20_000) for count in (0, 1)]
    naive = [naive_laplace(count, 20_000, 1.0, seed=1) for count in (0, 1)]
    found = []
    for words, (zero, one) in (("OpenDP, whole numbers", whole), ("control: float", naive)):
        found.append([infeasible(one, 0, 1.0), finer(zero), finer(one)])
        show(words, *(f"{share:.3f}" for share in found[-1]))
    return not any(found[0]) and min(found[1][:2]) > 0.2


def forks(show: Show) -> bool:
    """T19: vectors drawn twice by 8 forked workers, of 1,000 each."""
    show("noise", "of 8,000 drawn twice")
    mechanism, rng = Mechanism(6, 1, 1000), np.random.default_rng(0)
    sources: dict[str, Callable[[int], Sequence[int]]] = {
        "OpenDP": lambda _: OpenDP().draw(mechanism, [0] * 6),
        "own sampler": lambda _: DryNoise().draw(mechanism, [0] * 6),
        "control: a numpy generator": lambda n: rng.integers(0, 10**9, n).tolist(),
    }
    twice = {words: forked(draw, 8, 1_000, 6) for words, draw in sources.items()}
    for row in twice.items():
        show(*row)
    return [*twice.values()] == [0, 0, 7_000]


def races(show: Show) -> bool:
    """T9: of 80 requests of 0.1 by 8 processes at once 10 must be granted, 20 times a scope."""
    show("cap of 1 is", "granted, least", "granted, most")
    caps = {"global": (1.0, None, None), "user": (9.0, 1.0, None), "analysis": (9.0, None, 1.0)}
    every = set()
    with TemporaryDirectory() as folder:
        for scope, (cap, user, analysis) in caps.items():
            granted = []
            for number in range(20):
                path = Path(folder) / f"{scope}{number}"
                new_ledger(path, data="0" * 64, cap=cap, user_cap=user, analysis_cap=analysis)
                granted.append(race(path, ask_ledger, 8, 10))
            show(scope, min(granted), max(granted))
            every |= {*granted}
        naive = Path(folder) / "naive"
        naive.write_bytes(b"")
        count = race(naive, ask_naively, 8, 10)
        show("control: read, check, write", count, count)
    return every == {10} and count > 10


def crashes(show: Show) -> bool:
    """T9: 50 processes killed while they answer; more shown than paid must not be."""
    show("order", "killed", "answers shown", "paid", "more shown than paid")
    unpaid = []
    for words, first in (("charge, then show", True), ("control: show, then charge", False)):
        with TemporaryDirectory() as folder:
            pairs = list(kills(Path(folder), 50, seed=1, charge_first=first))
        shown, paid = np.transpose(pairs)
        unpaid.append(int((shown > paid).sum()))
        show(words, len(pairs), shown.sum(), paid.sum(), unpaid[-1])
    return unpaid[0] == 0 < unpaid[1]


def posterior(show: Show) -> bool:
    """T14: largest differences from brute force (200,000 points) and from chains of 200,000."""
    show("released", "M", "epsilon", "mode", "mean", "2.5 %", "97.5 %", "brute force", "chain")
    good = True
    for t, m, price in CASES:
        known = posterior_of_count(t, m=m, scale=1 / price)
        found = np.array([known.mean, *known.equal_tail, known.mode])
        brute = np.abs(found - quadrature(t, m, price)).max()
        chain = np.abs(found[:3] - gibbs(t, m, price, 200_000, seed=1)).max()
        told = [f"{value:.4f}" for value in (known.mode, *found[:3])]
        show(t, m, price, *told, f"{brute:.0e}", f"{chain:.4f}")
        good &= bool(brute < 1e-4 and chain < 0.015)
    return good


def modes(show: Show) -> bool:
    """T14: 500 random cases: one maximum, and the mode exact to 1e-6; by plain sums it is not."""
    show("cases", "more than one maximum", "mode not exact", "control: by plain sums")
    found = list(random_posteriors(500, seed=5))
    several = sum(maxima(known) > 1 for known in found)
    wrong = sum(not is_top(known, known.mode) for known in found)
    plain = sum(not is_top(known, plain_mode(known)) for known in found)
    show(len(found), several, wrong, plain)
    return several == wrong == 0 < plain


def intervals(show: Show) -> bool:
    """T14: 95 % intervals in 4,000 simulated cases; the control is told a scale three times off."""
    show("M", "epsilon", "coverage", "p of the place", "control")
    good = True
    for m, price in ((50, 1.0), (50, 0.25), (20, 0.5)):
        share, p = coverage(m, price, 4_000, seed=3)
        wrong, _ = coverage(m, price, 4_000, seed=3, off=3)
        show(m, price, f"{share:.4f}", f"{p:.2f}", f"{wrong:.4f}")
        good &= 0.94 <= share <= 0.96 < wrong and p > 1e-3
    return good


def categories(show: Show) -> bool:
    """T14: three categories, (8, 2, 2) released of M = 12 at scale 2, against simulation."""
    show("share", "simulated", "standard error", "exact", "control: scale 1")
    found = rejection((8, 2, 2), 12, 2.0, 60_000_000, seed=1)
    exact, wrong = (exact_means((8, 2, 2), 12, scale) for scale in (2.0, 1.0))
    for place, words in enumerate(("in, of the estimable", "errors")):
        figures = (found[place], found[place + 2], exact[place], wrong[place])
        show(words, *(f"{value:.5f}" for value in figures))
    near, far = (np.abs(found[:2] - means) / found[2:] for means in (exact, wrong))
    return bool(near.max() < 4 < far.max())


def errors(show: Show) -> bool:
    """Mean error of the area under a ROC curve, total variation of a 20 x 20 grid; epsilon 0.5."""
    show("noise", "area: 1,000", "10,000", "100,000", "grid: 2,000", "20,000", "200,000")
    for words, scale in (("scale 2/epsilon, as released", 4.0), ("scale 1/epsilon", 2.0)):
        areas = [area_errors(n, scale, 200, seed=1) for n in (1_000, 10_000, 100_000)]
        grids = [grid_errors(n, scale, 50, seed=1) for n in (2_000, 20_000, 200_000)]
        show(words, *(f"{value:.2g}" for value in (*areas, *grids)))
    known = (0.019, 0.0016, 0.0002, 0.155, 0.019, 0.002)
    return all(found < 1.1 * told for found, told in zip((*areas, *grids), known, strict=True))


TRIALS = (
    law, epsilon, floats, forks, races, crashes, posterior, modes, intervals, categories, errors,
)  # fmt: skip
