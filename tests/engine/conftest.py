"""Fixtures of tests of the engine."""

from __future__ import annotations

import numpy as np
import pytest

from synthesizer.data.randomness import Seed


@pytest.fixture
def paths(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str | int, ...]]:
    """The paths of all generators that seeds are asked for."""
    found: list[tuple[str | int, ...]] = []
    real = Seed.generator

    def spy(seed: Seed, *path: str | int) -> np.random.Generator:
        found.append(path)
        return real(seed, *path)

    monkeypatch.setattr(Seed, "generator", spy)
    return found
