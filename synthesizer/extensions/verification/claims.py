"""Decide a claim about a coefficient of all persons: yes, no, or cannot tell.

`Interval` releases the share of M groups of persons in which a statement holds. For a range that is
narrower than the variation between groups this share is low even for a true statement, and people
read a wrong "no" from it. So a claim is decided by a sign test at each end of its range: the
coefficient is at least a if more than half of the groups with a fit lie at a or above.

The counts: groups in the range, beyond each end, and without a fit. The sensitivity: all rows of a
person are in one group, so adding, removing or changing a person moves one group from one category
to another. One count falls by 1 and another rises by 1, together 2 (L1), with three or four
categories. Releasing all counts costs no more than leaving one out.

The decision: `posterior.py` has the exact posterior, under a uniform prior, of the share of groups
on the inner side of an end among groups with a fit. The claim is true if the share exceeds 1/2 with
probability `MIN_CERTAINTY` or more at every end. It is false if the probability at one end is
1 - `MIN_CERTAINTY` or less. This is about a one-sided sign test of level 1 - `MIN_CERTAINTY`
(Casella and Berger 1987, J. American Statistical Association 82): a border that equals the
coefficient is decided wrongly in about 1 of 100 questions, a border further away more rarely.

The assumption: groups are random parts of the persons, and the median of their coefficients is the
coefficient of all. This is true of linear models without influential rows; a logit in small groups
is biased away from 0. `choosing.py` compares both in the synthetic data and takes larger groups
where they differ. Groups without a fit do not count for the median; if they are the majority, the
other groups are a selection, and nothing is decided.
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

MIN_CERTAINTY = 0.99
"""Probability from which on an end counts as decided."""
MAX_UNFITTED_SHARE = 0.5
"""Limit of the share of groups without a fit; a claim above it stays open."""
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
        """Return the given range, or the one around the synthetic estimate."""
        is_near = self.share is not None or self.within is not None
        return (Nearness if is_near else Ends).range_about(self, estimate)

    def mechanisms(self, query: Terms, prepared: Statements) -> tuple[Mechanism, ...]:
        """Return the noise of all categories: a person moves one group between two of them."""
        size = 2 + len(_ends(prepared.ranges[0]))
        bounds = (0, query.partitions)
        return (Mechanism(size=size, distance=2, epsilon=query.micro_epsilon, bounds=bounds),)

    def counts(self, query: Terms, prepared: Statements, numbers: FloatArray) -> list[list[int]]:  # noqa: ARG002
        """Return the numbers of groups in the range, beyond each end, and without a fit."""
        (where,), (values,) = prepared.ranges, numbers
        kinds = [where.holds(values) == 1, *where.beyond(values), np.isnan(values)]
        return [[int(kind.sum()) for kind in kinds]]

    def conclude(self, query: Terms, prepared: Statements, released: Released) -> ClaimAnswer:
        """Return the verdict, from the counts with noise."""
        scale = self.mechanisms(query, prepared)[0].scale
        return ClaimAnswer.of(released[0], query.partitions, scale, self.coefficient, prepared)


def _ends(where: CoefficientRange) -> list[tuple[str, str]]:
    """Return the words for the inner and the outer side of each end of a range."""
    ends = ((where.low, "is at least", "is below"), (where.high, "is at most", "is above"))
    return [
        (f"{inner} {end:g}", f"{outer} {end:g}") for end, inner, outer in ends if end is not None
    ]


def shares_at_ends(counts: Sequence[float], m: int, scale: float) -> list[Shares]:
    """Return the posterior at each end, from noisy counts (in, beyond each end, without a fit)."""
    inside, *beyond, unfitted = counts
    return [
        posterior_of_categories(
            (inside, out, *beyond[:end], *beyond[end + 1 :], unfitted), m=m, scale=scale
        )
        for end, out in enumerate(beyond)
    ]


def verdict_of(shares: Sequence[Shares]) -> Verdict:
    """Return the verdict from the posteriors at all ends.

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
    return "yes" if least >= MIN_CERTAINTY else "no" if least <= 1 - MIN_CERTAINTY else "open"


def _is_unfitted(shares: Sequence[Shares]) -> bool:
    return shares[0].errors.probability_above(MAX_UNFITTED_SHARE) > 0.5


def _reason(shares: Sequence[Shares], m: int, scale: float) -> str:
    """Return why nothing was decided: too few fits, too much noise, or a close border."""
    if _is_unfitted(shares):
        return str(WORDS["claim"]["unfitted"])
    is_near = verdict_of(_agreed(len(shares), m, scale)) == "yes"
    return str(WORDS["claim"]["close" if is_near else "hidden"])


def _agreed(n_ends: int, m: int, scale: float) -> list[Shares]:
    """Return the posterior at each end if all groups agree and the noise is 0."""
    return shares_at_ends((m, *(0 for _ in range(n_ends)), 0), m, scale)


class End(Row):
    """Ends of the claim and the groups of persons on their inner side"""

    statement: str = column("Border", "text")
    agreeing: float = column("Share of groups on its side", "share", "of those with a fit")
    probability: float = column("Probability that most are", "share", ".99: yes; .01: no")


class ClaimAnswer(Answer):
    """The answer to a claim about a coefficient of the confidential data."""

    verdict: Verdict
    statement: str
    ends: tuple[End, ...]
    unfitted: float
    """Most probable share of groups without a fit."""
    synthetic: float
    """Estimate from all synthetic data."""
    holds: bool
    """Whether the claim is true of the synthetic data."""
    partitions: int
    scale: float
    """Scale of the noise of each count."""
    decides: float = MIN_CERTAINTY
    """Probability of agreement at every end from which on the answer is yes."""

    @classmethod
    def of(
        cls, counts: tuple[int, ...], m: int, scale: float, coefficient: str, prepared: Statements
    ) -> ClaimAnswer:
        """Return the answer from the released counts."""
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
