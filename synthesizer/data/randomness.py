"""A generator for every named purpose, derived from a seed and a key, never shared.

A generator depends only on seed, key and the names it is asked for, such as
``("draw", dataset, stratum, variable, block)``. Hence results do not depend on the number of
workers, dataset 3 is the same whether 5 or 10 are asked for, and a variable that is added to
the chain does not shift the draws of the others.

A seed tells runs apart and may be as simple as 1, so it is no protection. Whoever knows all that
decides a draw, the configuration and every record but one, tries each value that the last record
may have, repeats the synthesis, and sees which one gives the published data. The key takes the
repetition from him: 256 bits of the operating system that are drawn for every run and stand only in
its manifest and in saved models. It is the key of a keyed hash (BLAKE2b, RFC 7693) of seed and
names, whose 256 bits start a generator. Without a key the seed alone decides.

The generators themselves (PCG64DXSM) are made for statistics, not for secrecy. Each serves one
variable of one block of one dataset; what is learnt of one tells nothing of another, since that
needs the key.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field, replace
from operator import index
from typing import TypeAlias

import numpy as np

from synthesizer.data.errors import DataError, OptionError

MAX_SEED = 2**63 - 1
KEY_BYTES = 32
NO_KEY = "none"
"""Word of configurations and manifests for a run that the seed alone determines."""
WITHOUT_KEY = "random_key: none"
_KEY = re.compile(rf"[0-9a-f]{{{2 * KEY_BYTES}}}")


def fresh_seed() -> int:
    """Draw a seed below 2**53, which every JSON reader keeps exactly, where none is configured."""
    return secrets.randbelow(2**53)


def new_key() -> str:
    """Draw a key from the operating system: 256 bits as 64 hexadecimal digits."""
    return secrets.token_hex(KEY_BYTES)


@dataclass(frozen=True, slots=True)
class Seed:
    """Derives independent generators from a whole number and a key.

    Parameters
    ----------
    entropy : int
        From 0 to 2**63 - 1.
    random_key : str, optional
        64 hexadecimal digits, as of `new_key`; without it the number alone decides.

    Raises
    ------
    OptionError
        If one of them is none; the key is not repeated.

    Examples
    --------
    >>> seed = Seed(7)
    >>> a = seed.generator("draw", 0, "age").random()
    >>> a == Seed(7).generator("draw", 0, "age").random()
    True
    >>> a == seed.generator("draw", 1, "age").random()
    False
    >>> a == Seed(7, new_key()).generator("draw", 0, "age").random()
    False
    """

    entropy: int
    random_key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.entropy, int | np.integer) or isinstance(self.entropy, bool):
            raise OptionError(f"seed must be a whole number, not {type(self.entropy).__name__}")
        if not 0 <= self.entropy <= MAX_SEED:
            raise OptionError(f"seed ({self.entropy}) must be between 0 and 2**63 - 1")
        if self.random_key is None:
            return
        if not isinstance(self.random_key, str) or not _KEY.fullmatch(self.random_key):
            raise OptionError(f"the key must be {2 * KEY_BYTES} hexadecimal digits")

    def generator(self, *path: str | int) -> np.random.Generator:
        """Return the generator that belongs to ``path`` (names and whole numbers)."""
        text = "\x1f".join(f"{type(step).__name__}:{step}" for step in (int(self.entropy), *path))
        key = b"" if self.random_key is None else bytes.fromhex(self.random_key)
        digest = hashlib.blake2b(text.encode(), digest_size=KEY_BYTES, key=key).digest()
        # a pool of 8 words keeps the 256 bits, which are also what the generator is started with
        sequence = np.random.SeedSequence(int.from_bytes(digest, "little"), pool_size=8)
        return np.random.Generator(np.random.PCG64DXSM(sequence))

    def child(self, *path: str | int) -> Seed:
        """Return the seed of a synthesis within this one, such as that of a half of the data."""
        return Seed(int(self.generator(*path).integers(2**62)), self.random_key)

    def instead(self, seed: AnySeed | None) -> Seed:
        """Return what decides in place of this: a number with the same key, or another seed."""
        if seed is None or isinstance(seed, Seed):
            return seed or self
        return replace(self, entropy=seeded(seed).entropy)

    @property
    def recorded_key(self) -> str:
        """The key as manifests hold it: ``none`` where there is none."""
        return NO_KEY if self.random_key is None else self.random_key


AnySeed: TypeAlias = int | Seed
"""What public functions take as ``seed``."""


def seeded(seed: AnySeed) -> Seed:
    """Return the seed that a public function was handed: a whole number, or a `Seed` as it is.

    Raises
    ------
    DataError
        If it is something else, or out of range.

    Examples
    --------
    >>> seeded(7) == seeded(Seed(7)) == Seed(7)
    True
    """
    if isinstance(seed, Seed):
        return seed
    try:
        return Seed(index(seed))
    except (TypeError, ValueError):
        what = seed if isinstance(seed, int) else type(seed).__name__
        raise DataError(
            f"seed ({what}) must be a whole number from 0 to 2**63 - 1, or a Seed"
        ) from None
