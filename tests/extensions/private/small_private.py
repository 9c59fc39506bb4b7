"""Small files with declared domains, and noise that is recorded, replayed or switched off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from synthesizer.extensions.private.measuring import Sizes
from synthesizer.extensions.private.noise import Counts

VARIABLES: dict[str, Any] = {
    "sex": {"levels": ["f", "m"], "missing": []},
    "area": {"levels": ["n", "s", "w", "x"], "missing": [""]},
    "age": {"kind": "numeric", "decimals": 0, "missing": []},
    "income": {"kind": "numeric", "decimals": 1, "missing": ["", "-8"]},
}
RANGES = {"age": [0, 99], "income": [0, 100, 200, 400, 800, 1600]}


def text_of(seed: int, n: int) -> str:
    """Return a CSV file of n records with dependent variables."""
    rng = np.random.default_rng(seed)
    lines = ["sex,area,age,income"]
    for _ in range(n):
        sex, age = rng.choice(["f", "m"]), int(rng.integers(0, 90))
        area = rng.choice(["n", "s", "w", ""]) if sex == "f" else rng.choice(["s", "w"])
        income = "-8" if rng.random() < 0.1 else f"{age * 10 + rng.integers(0, 200):.1f}"
        lines.append(f"{sex},{area},{age},{income}")
    return "\n".join(lines) + "\n"


def settings(path: Any, folder: Any, **privacy: Any) -> dict[str, Any]:
    """Return the configuration of a run."""
    return {
        "data": {"path": str(path)},
        "variables": VARIABLES,
        "privacy": {"epsilon": 2.0, "delta": 1e-6, "ranges": RANGES, **privacy},
        "checks": {"one_way": True, "attacks": False, "nearest": False},
        "seed": 5,
        "random_key": "none",
        "workers": 1,
        "output": {"directory": str(folder)},
    }


def records(seed: int, n: int, sizes: tuple[int, ...]) -> Any:
    """Return codes of n records, each variable close to the one before."""
    rng = np.random.default_rng(seed)
    codes = np.zeros((n, len(sizes)), dtype=np.int32)
    codes[:, 0] = rng.integers(0, sizes[0], n)
    for i in range(1, len(sizes)):
        noise = rng.random(n) < 0.3
        close = codes[:, i - 1] * sizes[i] // sizes[i - 1]
        codes[:, i] = np.where(noise, rng.integers(0, sizes[i], n), close)
    return codes


def plain_sizes(codes: tuple[int, ...]) -> Sizes:
    """Return sizes of which every second variable is ordered."""
    return Sizes(codes, tuple(size if i % 2 else 0 for i, size in enumerate(codes)))


class SeededNoise:
    """Noise of the same sizes from a seed, for tests only; draws are numbered."""

    def __init__(self, seed: int = 0, *, off: bool = False) -> None:
        self._rng, self._off = np.random.default_rng(seed), off
        self.exact: list[tuple[int, ...]] = []
        """Every table as it was counted."""
        self.scores: list[Counts] = []
        self.costs: list[float] = []

    def table_cost(self, size: int, rho: float) -> float:
        return rho

    def choice_cost(self, rho: float) -> float:
        return rho

    def table(self, counts: Counts, rho: float) -> Counts:
        self.exact.append(tuple(counts.tolist()))
        self.costs.append(rho)
        drawn = self._rng.normal(0, (0.5 / rho) ** 0.5, len(counts))
        return counts if self._off else counts + np.rint(drawn).astype(np.int64)

    def choice(self, scores: Counts, rho: float) -> int:
        self.scores.append(scores)
        self.costs.append(rho)
        drawn = self._rng.gumbel(0, 2 * 1001 / (8 * rho) ** 0.5, len(scores))
        return int(np.argmax(scores if self._off else scores + drawn))


class ReplayedNoise(SeededNoise):
    """Returns recorded results whatever the data are."""

    def __init__(self, recorded: list[Any]) -> None:
        super().__init__()
        self._recorded: Iterator[Any] = iter(recorded)

    def table(self, counts: Counts, rho: float) -> Counts:
        self.exact.append(tuple(counts.tolist()))
        self.costs.append(rho)
        return np.array(next(self._recorded), dtype=np.int64)

    def choice(self, scores: Counts, rho: float) -> int:
        self.scores.append(scores)
        self.costs.append(rho)
        return int(next(self._recorded))


class RecordingNoise(SeededNoise):
    """Draws noise and records every result."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.recorded: list[Any] = []

    def table(self, counts: Counts, rho: float) -> Counts:
        self.recorded.append(super().table(counts, rho))
        return self.recorded[-1]  # type: ignore[no-any-return]

    def choice(self, scores: Counts, rho: float) -> int:
        self.recorded.append(super().choice(scores, rho))
        return self.recorded[-1]  # type: ignore[no-any-return]
