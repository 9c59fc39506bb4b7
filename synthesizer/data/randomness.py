"""One seed decides everything: a generator for every named purpose, derived, never shared.

A generator depends only on the seed and on the names it is asked for, such as
``("draw", stratum, dataset, variable, block)``. Hence results do not depend on the number of
workers, dataset 3 is the same whether 5 or 10 are asked for, and a variable that is added to
the chain does not shift the draws of the others.

A seed is written into manifests and may be as simple as 1, so it must not be a key to the
confidential data: anybody who replays the draws of a bootstrap could read off its donors. Draws
therefore also depend on a salt, a digest of the confidential values themselves (`salts`), which
is kept only in the fitted model.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

MAX_SEED = 2**63 - 1


def fresh_seed() -> int:
    """Draw a seed below 2**53, which every JSON reader keeps exactly, where none is configured."""
    return secrets.randbelow(2**53)


class Seed:
    """Derives independent generators from one integer.

    Examples
    --------
    >>> seed = Seed(7)
    >>> a = seed.generator("draw", 0, "age").random()
    >>> a == Seed(7).generator("draw", 0, "age").random()
    True
    >>> a == seed.generator("draw", 1, "age").random()
    False
    """

    __slots__ = ("entropy",)

    def __init__(self, entropy: int) -> None:
        if not 0 <= entropy <= MAX_SEED:
            raise ValueError(f"seed ({entropy}) must be between 0 and 2**63 - 1")
        self.entropy = entropy

    def generator(self, *path: str | int) -> np.random.Generator:
        """Return the generator that belongs to ``path`` (names and whole numbers)."""
        sequence = np.random.SeedSequence(self.entropy, spawn_key=_spawn_key(path))
        return np.random.Generator(np.random.PCG64DXSM(sequence))


def _spawn_key(path: tuple[str | int, ...]) -> tuple[int, ...]:
    """Hash the path: Python's own ``hash`` of a string differs from process to process."""
    text = "\x1f".join(f"{type(step).__name__}:{step}" for step in path)
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))


def salts(columns: Iterable[tuple[str, Sequence[npt.NDArray[Any]]]]) -> dict[str, str]:
    """Return a secret for every variable: a digest of its values and of those before it.

    Hence the same data give the same draws, a variable added at the end of the chain does not
    change those of the others, and they cannot be replayed from the seed alone. Who knows the seed
    and nearly all of the data can still test guesses: the seed is confidential all the same.

    Examples
    --------
    >>> import numpy as np
    >>> one = salts([("a", [np.array([1, 2])]), ("b", [np.array([3, 4])])])
    >>> other = salts([("a", [np.array([1, 2])]), ("b", [np.array([4, 3])])])
    >>> one["a"] == other["a"], one["b"] == other["b"]
    (True, False)
    """
    digest = hashlib.blake2b(digest_size=16)
    result = {}
    for name, arrays in columns:
        for array in arrays:
            digest.update(array.tobytes())
        result[name] = digest.copy().hexdigest()
    return result
