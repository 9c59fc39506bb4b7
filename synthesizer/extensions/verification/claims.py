"""A claim about a coefficient of all persons, decided: yes, no, or cannot tell.

`Interval` releases in what share of M groups of persons a statement holds. That share is low for a
true statement about a range that is narrower than the scatter of one group, so people read a wrong
"no" from it. A claim is decided by a sign test for each end of its range instead: at least a, if
more than half of the groups that have a fit lie at a or above, whatever lies above the other end.

The counts: how many groups lie in the range, beyond each end, and have no fit. The sensitivity: all
rows of a person are in one group, so adding, removing or changing a person takes one group from one
category to another: at most one count falls by 1 and another rises by 1, 2 together (L1), with
three categories and with four. Releasing all of them costs no more than leaving one out, which
would follow from the others without noise.

The decision: of the share of groups on the inner side of an end, among those with a fit, the exact
posterior is known (`posterior.py`, uniform beforehand). The claim is true if the share exceeds 1/2
with probability `CERTAIN` or more at every end, and false if at one end the probability is
1 - `CERTAIN` or less. Under the uniform prior this is about a one-sided sign test of
level 1 - `CERTAIN` (Casella and Berger 1987, J. American Statistical Association 82), so a border
that equals the coefficient is decided wrongly in about 1 of 100 questions, one further away less.

The assumption: groups are random parts of the persons, and their coefficients scatter evenly about
that of all, so that their median is that of all. Linear models without influential rows do; a logit
in small groups is biased away from 0. `choosing.py` compares both in the synthetic data and takes
larger groups where they differ. Groups without a fit are no part of the median; where they are most
groups, those with a fit are a choice of theirs, and nothing is decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

import numpy as np

from synthesizer.data.table import FloatArray
from synthesizer.extensions.verification.answer import Answer, share_chart
from synthesizer.extensions.verification.coefficient_questions import (
    CoefficientRange,
    Ends,
    Nearness,
    OfRange,
    Statements,
)
from synthesizer.extensions.verification.mechanisms import Mechanism
from synthesizer.extensions.verification.messages import WORDS
from synthesizer.extensions.verification.posterior import Shares, posterior_of_categories
from synthesizer.extensions.verification.questions import Released, Terms
from synthesizer.measures.figure import Row, column
from synthesizer.report.blocks import Block, row_table, written

CERTAIN = 0.99
"""Probability from which on an end counts as decided."""
MOST_UNFITTED = 0.5
"""Share of groups without a fit that leaves a claim open where it is probably exceeded."""
Verdict = Literal["yes", "no", "open"]


class Claim(Ends, Nearness, OfRange):
    """Is the coefficient of all persons at least, at most, between, or near the synthetic one?

    Examples
    --------
    >>> claim = Claim(coefficient="sex[F]", below=-0.01)
    >>> claim.range_about(-0.03).words
    'is at most -0.01'
    """

    measure: Literal["claim"] = "claim"
    reports_errors: ClassVar[bool] = False  # they are always a category of their own

    def range_about(self, estimate: float) -> CoefficientRange:
        """Return the range that was named, or the one around the synthetic estimate."""
        is_near = self.share is not None or self.within is not None
        return (Nearness if is_near else Ends).range_about(self, estimate)

    def mechanisms(self, query: Terms, prepared: Statements) -> tuple[Mechanism, ...]:
        """Return the noise of all categories: a person moves one group between two of them."""
        size = 2 + len(_ends(prepared.ranges[0]))
        bounds = (0, query.partitions)
        return (Mechanism(size=size, distance=2, epsilon=query.micro_epsilon, bounds=bounds),)

    def counts(self, query: Terms, prepared: Statements, numbers: FloatArray) -> list[list[int]]:  # noqa: ARG002
        """Return how many groups lie in the range, beyond each end it has, and have no fit."""
        (where,), (values,) = prepared.ranges, numbers
        kinds = [where.holds(values) == 1, *where.beyond(values), np.isnan(values)]
        return [[int(kind.sum()) for kind in kinds]]

    def conclude(self, query: Terms, prepared: Statements, released: Released) -> ClaimAnswer:
        """Return the verdict, from the counts with noise."""
        scale = self.mechanisms(query, prepared)[0].scale
        return ClaimAnswer.of(released[0], query.partitions, scale, self.coefficient, prepared)


def _ends(where: CoefficientRange) -> list[tuple[str, str]]:
    """Return of each end of a range what is true on its inner side, and on the other."""
    ends = ((where.low, "is at least", "is below"), (where.high, "is at most", "is above"))
    return [
        (f"{inner} {end:g}", f"{outer} {end:g}") for end, inner, outer in ends if end is not None
    ]


def shares_at_ends(counts: Sequence[float], m: int, scale: float) -> list[Shares]:
    """Return what counts with noise (in, beyond each end, without a fit) tell at each end."""
    inside, *beyond, unfitted = counts
    return [
        posterior_of_categories(
            (inside, out, *beyond[:place], *beyond[place + 1 :], unfitted), m=m, scale=scale
        )
        for place, out in enumerate(beyond)
    ]


def verdict_of(shares: Sequence[Shares]) -> Verdict:
    """Return what follows from the shares of groups at the inner sides of all ends.

    Examples
    --------
    >>> [verdict_of(shares_at_ends(counts, 50, 2.0)) for counts in ((46, 2, 2), (2, 46, 2))]
    ['yes', 'no']
    >>> verdict_of(shares_at_ends((10, 1, 39), 50, 2.0))  # most groups have no fit
    'open'
    """
    if _is_unfitted(shares):
        return "open"
    least = min(share.most_inside for share in shares)
    return "yes" if least >= CERTAIN else "no" if least <= 1 - CERTAIN else "open"


def _is_unfitted(shares: Sequence[Shares]) -> bool:
    return shares[0].errors.probability_above(MOST_UNFITTED) > 0.5


def _reason(shares: Sequence[Shares], m: int, scale: float) -> str:
    """Return why nothing was decided: no fits, more noise than groups, or a border that is near."""
    if _is_unfitted(shares):
        return str(WORDS["claim"]["unfitted"])
    is_near = verdict_of(_agreed(len(shares), m, scale)) == "yes"
    return str(WORDS["claim"]["close" if is_near else "hidden"])


def _agreed(n_ends: int, m: int, scale: float) -> list[Shares]:
    """Return what is known at each end where all groups agree and the noise is 0."""
    return shares_at_ends((m, *(0 for _ in range(n_ends)), 0), m, scale)


class End(Row):
    """Ends of the claim and the groups of persons on their inner side"""

    statement: str = column("Border", "text")
    agreeing: float = column("Share of groups on its side", "share", "of those with a fit")
    probability: float = column("Probability that most are", "share", ".99: yes; .01: no")


class ClaimAnswer(Answer):
    """Whether a claim about a coefficient is true of the confidential data."""

    verdict: Verdict
    statement: str
    ends: tuple[End, ...]
    unfitted: float
    """Most probable share of groups without a fit."""
    synthetic: float
    """Estimate of all synthetic data."""
    holds: bool
    """Whether the claim is true of it."""
    partitions: int
    scale: float
    """Of the noise of each count."""
    decides: float = CERTAIN
    """Probability that most groups agree from which on the answer is yes, at every end."""

    @classmethod
    def of(
        cls, counts: tuple[int, ...], m: int, scale: float, coefficient: str, prepared: Statements
    ) -> ClaimAnswer:
        """Return the answer that follows from released counts."""
        shares = shares_at_ends(counts, m, scale)
        verdict, (statement,), (holds,) = verdict_of(shares), prepared.words, prepared.holds
        estimate, ends = prepared.estimates[0] or 0.0, _ends(prepared.ranges[0])
        chances = [share.most_inside for share in shares]
        unfitted = round(shares[0].errors.mode * m)
        agreeing = [round(share.inside.mode * (m - unfitted)) for share in shares]
        agrees = holds == (verdict == "yes")
        sentences = {
            "yes": f"Yes: in the confidential data {statement}.",
            "no": f"No: in the confidential data {coefficient} {ends[int(np.argmin(chances))][1]}.",
            "open": f"Cannot tell whether {statement} in the confidential data.",
        }
        return cls(
            released=(counts,),
            words=(
                sentences[verdict],
                *(
                    WORDS["claim"]["groups"].format(
                        agree, m - unfitted, inner, written(min(p, 0.999), "p")
                    )
                    for agree, (inner, _), p in zip(agreeing, ends, chances, strict=True)
                ),
                f"Groups without a fit: about {unfitted}. Synthetic data: {written(estimate)}.",
                *([_reason(shares, m, scale)] if verdict == "open" else []),
                WORDS["claim"]["open" if verdict == "open" else "same" if agrees else "other"],
                WORDS["claim"]["assumed"],
            ),
            verdict=verdict,
            statement=statement,
            ends=tuple(
                End(statement=inner, agreeing=share.inside.mode, probability=chance)
                for (inner, _), share, chance in zip(ends, shares, chances, strict=True)
            ),
            unfitted=shares[0].errors.mode,
            synthetic=estimate,
            holds=holds,
            partitions=m,
            scale=scale,
        )

    def blocks(self) -> Iterator[Block]:
        """Yield the posterior of the share of groups that agree, at each end."""
        (counts,), m = self.released, self.partitions
        known, best = shares_at_ends(counts, m, self.scale), _agreed(len(self.ends), m, self.scale)
        yield share_chart(
            "Share of groups of persons that agree",
            [
                (end.statement, share.inside, perfect.inside)
                for end, share, perfect in zip(self.ends, known, best, strict=True)
            ],
            summary=self.words[0],
            table=row_table(self.ends),
        )
