"""What to compare S_pMSE with: a right synthesis of this kind, and a fresh sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synthesizer.report.numbers import written
from synthesizer.report.record import Record, dig, listed, number, numbers, words
from synthesizer.report.utility_tables import utility_of

__all__ = [
    "Expected",
    "chance_in_words",
    "copied_in_words",
    "distance_in_words",
    "expected_of",
    "kept_of",
    "mean_mark",
    "right_share",
    "short",
    "table_mark",
]

_NAMED = 12
_LOOK = 10.0
_HIGH = 3.0
_UNKNOWN = "could not be computed, which is no good news"


@dataclass(frozen=True)
class Expected:
    """Expectations of S_pMSE, the distance of a table over that of draws from a right model.

    Parameters
    ----------
    right : float
        Of a right synthesis of this kind: 1 with fixed parameters, 1 + k/n with parameters drawn
        anew for each dataset, for k synthetic and n original records.
    fresh : float or None
        Of a fresh sample of the same population, 1 + k/n; None where k or n is not known.
    proper : bool
        Whether parameters were drawn anew for each dataset.

    Examples
    --------
    >>> Expected(right=1.0, fresh=1.5).bounds
    (0.75, 1.125, 1.5, 2.25, 3.75, 7.5, 15.0, 37.5)
    """

    right: float = 1.0
    fresh: float | None = 2.0
    proper: bool = False

    @property
    def limit(self) -> float:
        """What tables should not exceed: the fresh sample's value, or two where it is unknown."""
        return max(self.right, 2.0 if self.fresh is None else self.fresh)

    @property
    def bounds(self) -> tuple[float, ...]:
        """Upper ends of the colours; the third is the fresh sample's value."""
        return tuple(self.limit * share for share in (0.5, 0.75, 1, 1.5, 2.5, 5, 10, 25))

    @property
    def right_words(self) -> str:
        """The right synthesis with its value."""
        return f"a right synthesis ({short(self.right)})"

    @property
    def fresh_words(self) -> str:
        """The fresh sample with its value."""
        value = "1 + k/n" if self.fresh is None else short(self.fresh)
        return f"a fresh sample of the same population ({value})"

    @property
    def sentence(self) -> str:
        """Both values with what they rest on."""
        known = "" if self.fresh is None else f", here {short(self.fresh)}"
        ratio = f"1 + k/n{known} (k synthetic and n original records)"
        if self.proper:
            return (
                "Parameters were drawn anew for each dataset, so that a right synthesis is as far "
                f"off as a fresh sample of the same population: {ratio}."
            )
        return (
            f"A right synthesis has {short(self.right)} in expectation, a fresh sample of the "
            f"same population {ratio}."
        )


def expected_of(record: Record) -> Expected:
    """Return the expectations of a run, from its sizes where the file does not hold them.

    Examples
    --------
    >>> expected_of(Record({"rows": 50, "data": {"rows": 100}}, {}))
    Expected(right=1.0, fresh=1.5, proper=False)
    """
    own = utility_of(record)
    proper = own.get("proper", dig(record.manifest, "config", "proper")) is True
    fresh = number(own, "expected", "fresh")
    fresh = _fresh(record) if fresh is None else fresh
    right = number(own, "expected", "S_pMSE")
    if right is None:
        right = fresh if proper and fresh is not None else 1.0
    return Expected(right, fresh, proper)


def _fresh(record: Record) -> float | None:
    n = number(utility_of(record), "n") or number(record.manifest, "data", "rows")
    sizes = numbers(utility_of(record), "n_synthetic")
    k = sum(sizes) / len(sizes) if sizes else number(record.manifest, "rows")
    return 1 + k / n if n and k else None


def table_mark(expected: Expected) -> float:
    """Return the S_pMSE above which one table is to be looked at.

    The customary rule for two-way tables of a synthesis of the size of the original is that all
    should be below 10, better below 3 (Raab, Nowok and Dibben 2021). That is five times the value
    of a fresh sample, to which the mark rises where more records were drawn or parameters anew.

    Examples
    --------
    >>> table_mark(Expected()), table_mark(Expected(fresh=6.0)), table_mark(Expected(fresh=1.1))
    (10.0, 30.0, 10.0)
    """
    return max(_LOOK, 5 * expected.limit)


def mean_mark(expected: Expected) -> float:
    """Return the mean S_pMSE of tables above which the synthesis is to be looked at.

    It is the better of the two customary values, 3, or one and a half times a fresh sample.

    Examples
    --------
    >>> mean_mark(Expected()), mean_mark(Expected(fresh=6.0))
    (3.0, 9.0)
    """
    return max(_HIGH, 1.5 * expected.limit)


def kept_of(record: Record) -> tuple[str, ...]:
    """Return the variables that are copies of the original's, where a file tells of them."""
    return tuple(words(name) for name in listed(utility_of(record), "kept"))


def copied_in_words(kept: Sequence[str]) -> str:
    """Say what partial synthesis means for the figures.

    Examples
    --------
    >>> copied_in_words(["sex"])[:63]
    'Partial synthesis: sex is copied from the original. Tables of c'
    """
    shown = ", ".join(kept[:_NAMED]) + (f" and {n:,} more" if (n := len(kept) - _NAMED) > 0 else "")
    return (
        f"Partial synthesis: {shown} {'is' if len(kept) == 1 else 'are'} copied from the original. "
        "Tables of copied variables alone are the original's own and are left out of the means. "
        "In the other tables a part of every record is real, so that they come nearer than with "
        "all values drawn."
    )


def distance_in_words(value: float | None, expected: Expected) -> str:
    """Say what an S_pMSE means.

    Examples
    --------
    >>> distance_in_words(0.9, Expected())
    'as near as a right synthesis (1)'
    >>> distance_in_words(6.6, Expected())
    'clearly further off than a fresh sample of the same population (2)'
    >>> distance_in_words(1.4, Expected(fresh=1.5))
    'no further off than a fresh sample of the same population (1.5)'
    """
    if value is None:
        return _UNKNOWN
    if value <= 1.2 * expected.right:
        return f"as near as {expected.right_words}"
    limit = expected.limit
    known = limit == expected.fresh
    other = expected.fresh_words if known else f"twice {expected.right_words}"
    if value <= limit:
        return f"no further off than {other}"
    if value <= 5 * limit:
        return f"{'somewhat' if value <= 1.5 * limit else 'clearly'} further off than {other}"
    return f"{written(value / limit, 'count')} times as far off as {other}"


def chance_in_words(ratio: float | None, deviations: float | None, level: float = 1.0) -> str:
    """Say what a pMSE ratio means whose expectation is from permuted labels.

    Parameters
    ----------
    ratio, deviations : float or None
        The ratio, and how many standard deviations pMSE lies above its expectation.
    level : float
        Down to which a right synthesis may go; 1 where it is as far off as a fresh sample.

    Examples
    --------
    >>> chance_in_words(1.23, 9.6)
    'told apart a little better than a fresh sample of the same population (1)'
    >>> chance_in_words(1.02, 0.7, 0.5)[:63]
    'told apart no better than a fresh sample of the same population'
    """
    if ratio is None:
        return _UNKNOWN
    other = "a fresh sample of the same population (1)"
    down = (
        f"; a right synthesis with fixed parameters may go down to {short(level)}"
        if level < 1
        else ""
    )
    if ratio <= 1 or (deviations is not None and deviations <= 2):
        return f"told apart no better than {other}{down}"
    how = "a little" if ratio <= 1.5 else "clearly" if ratio <= 3 else "far"
    return f"told apart {how} better than {other}{down}"


def short(value: float) -> str:
    """Write an expectation: three digits, no zeros that say nothing.

    Examples
    --------
    >>> short(2.0), short(1.5), short(1.3666)
    ('2', '1.5', '1.37')
    """
    return f"{value:.3g}"


def right_share(entry: Mapping[str, object], expected: Expected) -> float:
    """Return down to what a tree's ratio may go for a right synthesis: 1 - c, c its share.

    Examples
    --------
    >>> right_share({"n": 100, "n_synthetic": [100, 100]}, Expected())
    0.5
    >>> right_share({}, Expected(proper=True))
    1.0
    """
    if expected.proper:
        return 1.0
    n, sizes = number(entry, "n"), numbers(entry, "n_synthetic")
    if n and sizes:
        return n / (n + sum(sizes) / len(sizes))
    return 1.0 if expected.fresh is None else 1 / expected.fresh
