"""Several releases of one source: to how many persons in the data do they point together?

Each release alone may point to few persons beyond those of a holdout, and all together to many.
Where there are records that no release was made from, the datasets of all releases are looked at
together, as those of one are (`synthesizer.measures.risk.near_verbatim`). Else the excesses add up:
the persons to whom one release or another points because they are in the data are at most the sum.
So the upper ends of the intervals add up to a bound of what the releases give together (Boole's
inequality). Such a bound can show that little is given; it never shows that much is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from synthesizer.measures.figure import Result, Row, column
from synthesizer.measures.risk.guesses import Guess
from synthesizer.measures.risk.near_verbatim import Look, NearVerbatim

_ANSWERS = {True: "yes", False: "no", None: "not recorded"}


class Release(Row):
    """A release of a source, as its ledger has it."""

    created: str = column("When", "text")
    directory: str = column("Directory", "text")
    datasets: Mapping[str, str]
    """SHA-256 of each file by its name."""
    records: int
    """Of each dataset; persons of a panel."""
    settings: str
    """Digest of data and settings, whatever was drawn."""
    limits: Mapping[str, str]
    """For whom and for what it was judged: profile, purpose, release."""
    looks: tuple[Look, ...]
    """Near-verbatim persons as its checks counted them; empty where they did not."""
    guess: Guess | None
    """The value that was guessed most often beyond the holdout."""
    contains: tuple[str, ...]
    """SHA-256 of published datasets that its own go on from."""
    replaced: bool = column("Replaced", "text", show=_ANSWERS.get, default=False)
    """Whether another run has taken its directory."""
    given_out: bool | None = column("Given out", "text", show=_ANSWERS.get, default=None)
    """Whether somebody got it, as the steward states."""
    source: str = ""
    """SHA-256 of its source, by which a copy of the source is recognised."""


class Together(Result):
    """What other releases of the source give together with the present datasets."""

    others: tuple[Release, ...]
    counted: NearVerbatim | None
    """Of all datasets, beside a control; None where the excesses add up."""

    def bound(self, looks: Sequence[Look]) -> tuple[float, float] | None:
        """Return the sum of upper ends, of the look where it is largest, and that of the excesses.

        ``looks`` are those of the present datasets. None where a release was not counted.
        """
        every = zip(looks, *(other.looks for other in self.others), strict=False)
        sums = (
            (sum(max(e.high, 0.0) for e in same), sum(e.excess for e in same)) for same in every
        )
        return max(sums, default=None)


def others_of(releases: Sequence[Release], present: Iterable[str]) -> tuple[Release, ...]:
    """Return the releases that count beside the present datasets, which their SHA-256 names.

    A release whose datasets are all among later ones, or go on in them, adds nothing. One that was
    replaced, or that the steward gave to nobody, does not count.

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
