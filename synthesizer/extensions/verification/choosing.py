"""Choose epsilon and the number of groups of persons (M) from the synthetic data alone.

This is free and reveals nothing of the confidential data. The choice depends on three things: in
how many groups the model can be fitted, whether small groups are biased, and whether the answer
would be decided. Many small groups make the noise small; groups that are too small have no fit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, floor, inf, isinf, log10, sqrt

import numpy as np
from scipy.special import ndtr, ndtri

from synthesizer.data.table import FloatArray
from synthesizer.extensions.verification.answer import ShareAnswer
from synthesizer.extensions.verification.claims import Claim, shares_at_ends, verdict_of
from synthesizer.extensions.verification.coefficient_questions import (
    CoefficientRange,
    Counted,
    OfCoefficient,
    Statements,
)
from synthesizer.extensions.verification.messages import WORDS, Outlook
from synthesizer.extensions.verification.public_schema import PublicSchema
from synthesizer.extensions.verification.query import Query
from synthesizer.extensions.verification.questions import QueryRows, Question
from synthesizer.extensions.verification.table_questions import MeanQuestion, ReleasedCell
from synthesizer.extensions.verification.verify import PublicQuery

PARTITIONS = (20, 50, 100, 200)
"""Numbers of groups to try; each needs a fit of all synthetic rows."""
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0)
MAX_UNFITTED_SHARE = 0.1
"""Limit of the share of groups without a fit in the synthetic data."""
MAX_BIAS_SE = 1.0
"""Limit of the bias of groups, in standard errors of the share that exceeds the coefficient."""
MIN_LEVEL_PERSONS = 20
"""Persons with a level in each group; with fewer the level is too rare."""
LIKELY_DECIDED = 0.8
"""Probability from which on an answer other than "cannot tell" is expected."""
BORDER_SHIFT = 0.5
"""Border moved by this part of the distance to the synthetic estimate, as a margin: the
confidential coefficient differs. A smaller epsilon is enough if it decides even then."""


@dataclass(frozen=True)
class ChosenQuestion:
    """A question with its epsilon, number of groups and outlook."""

    query: Query
    """With epsilon, partitions and errors, of the same schema and synthetic file."""
    outlook: Outlook
    words: tuple[str, ...]
    """Sentences for the researcher; for cells also the width of intervals."""

    @property
    def content(self) -> dict[str, object]:
        """The choice as plain values."""
        price = {key: getattr(self.query, key) for key in ("partitions", "epsilon", "errors")}
        return {**price, "outlook": self.outlook, "words": [*self.words]}

    @property
    def lines(self) -> Iterator[str]:
        """The lines of the screen."""
        query = self.query
        yield (
            f"Ask with partitions: {query.partitions}, epsilon: {query.epsilon:g}, errors: "
            f"{query.errors}. Outlook: {self.outlook}."
        )
        yield from self.words
        yield "Computed from the synthetic data alone; it costs nothing."


@dataclass(frozen=True, eq=False)
class GroupFits:
    """The quantity of a question in all persons and in m groups of the synthetic data."""

    numbers: FloatArray
    """Shape (statements, m), NaN without a fit."""
    estimates: FloatArray
    """Of all persons, shape (statements,)."""

    @property
    def m(self) -> int:
        """Number of groups."""
        return len(self.numbers[0])

    @property
    def unfitted(self) -> float:
        """Largest share of groups without a fit."""
        return float(np.isnan(self.numbers).mean(axis=1).max())

    @property
    def excess(self) -> FloatArray:
        """Groups above the estimate of all persons, minus one half, in standard errors."""
        n = np.isfinite(self.numbers).sum(axis=1)
        above = (self.numbers > self.estimates[:, None]).sum(axis=1)
        return np.asarray((2 * above - n) / np.sqrt(np.maximum(n, 1)))


def unbiased(looks: Sequence[GroupFits]) -> list[GroupFits]:
    """Return the numbers of groups whose estimates lie evenly around that of all persons.

    The median of skewed estimates is biased by a part of their standard error that grows with the
    root of M (Edgeworth), so the excess grows with M. All numbers of groups together estimate this
    growth, since a single one has a standard error of about 0.6.
    """
    growth = sum(look.m * look.excess for look in looks) / sum(look.m**2 for look in looks)
    return [look for look in looks if (np.abs(growth) * look.m <= MAX_BIAS_SE).all()]


def chosen(public_query: PublicQuery, most_epsilon: float) -> ChosenQuestion:
    """Return a question with epsilon, partitions and errors, chosen from the synthetic data alone.

    Parameters
    ----------
    public_query : Asked
        The question; its epsilon, partitions and errors are ignored.
    most_epsilon : float
        Limit of the cost. A claim gets the least epsilon that probably decides it.

    Raises
    ------
    SynthesizerError
        If the synthetic data do not contain the quantity of the question.
    """
    ask, view = public_query.ask, public_query.view()
    errors = "report" if ask.reports_errors else "out"
    query = public_query.query.model_copy(update={"epsilon": most_epsilon, "errors": errors})
    if not isinstance(ask, OfCoefficient):
        return _of_cells(query, ask, public_query.schema, view)
    estimates = ask.estimates(query, public_query.schema, view)
    looks = [
        GroupFits(ask.numbers(query, public_query.schema, view, m), estimates) for m in PARTITIONS
    ]
    fitted = [look for look in looks if look.unfitted <= MAX_UNFITTED_SHARE]
    able = unbiased(fitted) if fitted else []
    if not able:
        best = min(looks, key=lambda look: look.unfitted)
        hint = _smaller(ask, public_query)
        return ChosenQuestion(_with(query, best.m), "impossible", (WORDS["unfit"]["cannot"], hint))
    if not isinstance(ask, Counted):
        return ChosenQuestion(_with(query, able[-1].m), "decided", ())
    stated = ask.stated(public_query.schema, estimates)
    if isinstance(ask, Claim):
        return _of_claim(query, ask, stated, able)
    return _of_shares(query, ask, stated, able)


def _smaller(ask: OfCoefficient, public_query: PublicQuery) -> str:
    """Return advice for groups without a fit; a rare level is the first reason."""
    model, view = public_query.query.model(public_query.schema), public_query.view()
    _, columns, rows = model.columns_of(view.table)
    column = columns[:, model.position(ask.coefficient) or 0]
    n_persons = len(np.unique(view.owners[rows][column != 0]))
    is_level = {*np.unique(column).tolist()} <= {0.0, 1.0}
    kind = "level" if is_level and n_persons < MIN_LEVEL_PERSONS * PARTITIONS[0] else "model"
    return str(WORDS["unfit"][kind].format(ask.coefficient, n_persons))


def _with(query: Query, m: int, epsilon: float | None = None) -> Query:
    """Return the query with another number of groups, and another epsilon if given."""
    return query.model_copy(update={"partitions": m, "epsilon": epsilon or query.epsilon})


def _of_claim(
    query: Query, ask: Claim, stated: Statements, able: Sequence[GroupFits]
) -> ChosenQuestion:
    """Return a claim at the least epsilon that probably decides it, with the largest groups."""
    moved = _moved(stated)
    for epsilon in (*(e for e in EPSILONS if e < query.epsilon), query.epsilon):
        for look in able:
            candidate = _with(query, look.m, epsilon)
            if chance_of(candidate, ask, moved, look) >= LIKELY_DECIDED:
                return ChosenQuestion(candidate, "decided", ())
    chances = [chance_of(_with(query, look.m), ask, stated, look) for look in able]
    best = max(chances)
    look = able[chances.index(best)]
    candidate = _with(query, look.m)
    if best >= LIKELY_DECIDED:
        return ChosenQuestion(candidate, "decided", ())
    words = WORDS["outlook"]
    if best == 0:
        return ChosenQuestion(candidate, "impossible", (words["hidden"], words["budget"]))
    sentence = words["may be open" if best > 0.1 else "probably open"].format(round(10 * best))
    return ChosenQuestion(candidate, "open", (sentence, _decidable(candidate, ask, stated, look)))


def _moved(stated: Statements) -> Statements:
    """Return a claim with its borders moved towards the synthetic estimate."""
    estimate, (where,) = stated.estimates[0] or 0.0, stated.ranges
    low, high = (
        None if end is None else end + BORDER_SHIFT * (estimate - end)
        for end in (where.low, where.high)
    )
    return replace(stated, ranges=(CoefficientRange(low=low, high=high),))


def chance_of(query: Query, ask: Claim, stated: Statements, look: GroupFits) -> float:
    """Return the probability that a claim gets yes or no, for persons like the synthetic ones.

    It is 0 if even full agreement of all groups does not decide. The coefficient differs from the
    synthetic one by the standard error of a difference of two files; groups vary as in the
    synthetic data; the noise is approximated as normal.
    """
    (noise,) = ask.mechanisms(query, stated)
    values = look.numbers[0][np.isfinite(look.numbers[0])]
    n = len(values)
    needed = _needed(look.m, n, noise.size, noise.scale)
    error = np.subtract(*np.quantile(values, (0.84, 0.16))) / sqrt(2 * n)
    moved = values + error * _SHIFTS[:, None]
    yes, no = np.ones(len(_SHIFTS)), np.zeros(len(_SHIFTS))
    for out in np.mean(stated.ranges[0].beyond(moved), axis=2):
        ahead = n * (1 - 2 * out)
        spread = np.sqrt(4 * n * out * (1 - out) + 4 * noise.scale**2)
        yes = np.minimum(yes, ndtr((ahead - needed) / spread))
        no = np.maximum(no, ndtr((-ahead - needed) / spread))
    return float((yes + no).mean())


_SHIFTS: FloatArray = ndtri((np.arange(25) + 0.5) / 25)
"""Differences of the confidential coefficient in standard errors, equally probable."""


@lru_cache(maxsize=256)
def _needed(m: int, fits: int, size: int, scale: float) -> float:
    """Return by how many groups one side of an end must lead to decide it; inf if never."""

    def decides(ahead: int) -> bool:
        sides = (fits + ahead) / 2, max((fits - ahead) / 2, 0)
        counts = (*sides, *(0 for _ in range(size - 3)), m - fits)
        return verdict_of(shares_at_ends(counts, m, scale)[:1]) == "yes"

    least = bisect_left(range(m + 1), True, key=decides)
    return least if least <= m else inf


def _decidable(query: Query, ask: Claim, stated: Statements, look: GroupFits) -> str:
    """Return a sentence with borders that would probably be decided."""
    estimate, (where,) = stated.estimates[0] or 0.0, stated.ranges
    farthest = 2 * float(np.nanmax(np.abs(look.numbers - estimate)))
    distances: list[float] = np.geomspace(farthest / 200, farthest, 100).tolist()

    def least(low: int | None, high: int | None) -> float:
        """Return the smallest distance from the estimate at which ends are decided."""

        def is_decided(distance: float) -> bool:
            ends = (None if side is None else estimate + side * distance for side in (low, high))
            ranges = (CoefficientRange(low=next(ends), high=next(ends)),)
            return chance_of(query, ask, replace(stated, ranges=ranges), look) >= LIKELY_DECIDED

        return [*distances, inf][bisect_left(distances, True, key=is_decided)]

    if where.low is not None and where.high is not None:
        below = above = least(-1, 1)
        name = "range"
    else:
        sides = [(side, None) if where.high is None else (None, side) for side in (-1, 1)]
        below, above = (least(*side) for side in sides)
        name = "border"
    if isinf(below + above):
        return str(WORDS["outlook"]["budget"])
    side = "at least" if where.high is None else "at most"
    ends = (_beyond(estimate, -below), _beyond(estimate, above), side)
    return str(WORDS["outlook"][name].format(*ends))


def _beyond(estimate: float, distance: float) -> str:
    """Return a border with its distance rounded up to two digits."""
    unit = 10.0 ** (floor(log10(abs(distance))) - 1)
    rounded = ceil if distance > 0 else floor
    return f"{rounded((estimate + distance) / unit) * unit:g}"


def _of_shares(
    query: Query, ask: Counted, stated: Statements, able: Sequence[GroupFits]
) -> ChosenQuestion:
    """Return the question with the groups whose interval of r is farthest from 1/2."""
    telling = [_telling(_with(query, look.m), ask, stated, look) for look in able]
    best = telling.index(max(telling))
    candidate = _with(query, able[best].m)
    if telling[best] > 0.5:
        return ChosenQuestion(candidate, "decided", ())
    words = "The answer will probably not show whether the statement holds in most groups."
    return ChosenQuestion(candidate, "open", (words,))


def _telling(query: Query, ask: Counted, stated: Statements, look: GroupFits) -> float:
    """Return the distance of the interval of r from 1/2, without noise."""
    prepared = ask.with_unfitted(stated, look.numbers)
    counts = tuple(map(tuple, ask.counts(query, prepared, look.numbers)))
    answer = ask.conclude(query, prepared, counts)
    assert isinstance(answer, ShareAnswer)  # noqa: S101 - what counts partitions has this answer
    return min(max(row.low, 1 - row.high) for row in answer.statements)


def _of_cells(query: Query, ask: Question, schema: PublicSchema, view: QueryRows) -> ChosenQuestion:
    """Return a question about cells with the width of its intervals.

    A warning is added if the noise hides most cells, or the differences between means.
    """
    prepared = ask.prepare(query, schema, view)
    reach = ask.mechanisms(query, prepared)[-1].within(0.95)
    numbers = tuple(map(tuple, ask.whole_numbers(query, prepared, view)))
    counts, answer = np.asarray(numbers[-1]), ask.conclude(query, prepared, numbers)
    cells, words = getattr(answer, "cells", ()), []
    if counts[counts <= reach].sum() > counts.sum() / 2:
        words = [word.format(reach) for word in WORDS["tables"]["small"]]
    elif isinstance(ask, MeanQuestion) and _are_wide(cells):
        words = [WORDS["tables"]["wide"]]
    return ChosenQuestion(
        query, "open" if words else "decided", (*words, *answer.words[: len(cells[:1])])
    )


def _are_wide(cells: Sequence[ReleasedCell]) -> bool:
    """Return whether half of the intervals are wider than half of the differences of the means."""
    means = np.array([cell.synthetic for cell in cells if cell.synthetic is not None])
    apart = np.abs(np.subtract.outer(means, means))[np.triu_indices(len(means), 1)]
    widths = [cell.high - cell.low for cell in cells]
    return bool(len(apart)) and bool(np.median(widths) >= np.median(apart))
