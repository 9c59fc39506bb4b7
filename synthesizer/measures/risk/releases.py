"""Joint risk of several releases of one source.

Each release may point to few training persons, and all together to many. If a holdout of all
releases exists, their datasets are pooled, as those of one release
(`synthesizer.measures.risk.near_verbatim`). Else the upper ends of the excesses add up to a bound
of the joint excess (Boole's inequality). A low bound shows that the joint risk is low; a high bound
shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from synthesizer.measures.figure import Result, Row, column
from synthesizer.measures.risk.guesses import Guess
from synthesizer.measures.risk.near_verbatim import Look, NearVerbatim

_ANSWERS = {True: "yes", False: "no", None: "not recorded"}


class Release(Row):
    """A release of a source, from its ledger."""

    created: str = column("When", "text")
    directory: str = column("Directory", "text")
    datasets: Mapping[str, str]
    """SHA-256 of each file by name."""
    records: int
    """Records of each dataset, or persons of a panel."""
    settings: str
    """Digest of data and settings, without seed and key."""
    limits: Mapping[str, str]
    """Profile, purpose and release of its verdict."""
    looks: tuple[Look, ...]
    """Near copies of its checks; empty if they were off."""
    guess: Guess | None
    """Guessed attribute with the largest excess."""
    contains: tuple[str, ...]
    """SHA-256 of published datasets that its datasets extend."""
    replaced: bool = column("Replaced", "text", show=_ANSWERS.get, default=False)
    """Whether a later run replaced its directory."""
    given_out: bool | None = column("Given out", "text", show=_ANSWERS.get, default=None)
    """Whether it was released, as the steward states."""
    source: str = ""
    """SHA-256 of its source, which identifies copies of the source."""


class Together(Result):
    """Joint risk of the present datasets and other releases of the source."""

    others: tuple[Release, ...]
    counted: NearVerbatim | None
    """Near copies of all datasets with a holdout; None without one."""

    def bound(self, looks: Sequence[Look]) -> tuple[float, float] | None:
        """Return the sums of upper ends and of excesses, for the comparison with the largest sum.

        ``looks`` are those of the present datasets. None if a release has no counts.
        """
        every = zip(looks, *(other.looks for other in self.others), strict=False)
        sums = (
            (sum(max(e.high, 0.0) for e in same), sum(e.excess for e in same)) for same in every
        )
        return max(sums, default=None)


def others_of(releases: Sequence[Release], present: Iterable[str]) -> tuple[Release, ...]:
    """Return the releases that add risk to the present datasets, which are given by SHA-256.

    A release does not count if later ones contain or extend all its datasets, if it was replaced,
    or if the steward states that it was not given out.

    Examples
    --------
    >>> first, second = (
    ...     Release(created="", directory=name, datasets={"synthetic_1.csv": name}, records=9,
    ...             settings="", limits={}, looks=(), guess=None, contains=()) for name in "ab")
    >>> [other.directory for other in others_of([first, second], ["b"])]
    ['a']
    """
    seen, others = {*present}, list[Release]()
    for release in reversed(releases):
        digests = {*release.datasets.values()}
        if not digests <= seen:
            if release.given_out is False or (release.replaced and not release.given_out):
                continue
            others.append(release)
        seen |= digests | {*release.contains}
    return tuple(reversed(others))
