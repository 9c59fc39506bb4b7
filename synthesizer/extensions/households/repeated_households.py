"""Repeated households: original households that occur in the synthetic data, with all members.

Households of several persons are compared as a whole: an intruder who knows a family could find it
in a dataset and learn its other values. Households are rarely equal, so a repeated household was
copied.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from synthesizer.data.table import IntArray, Table
from synthesizer.extensions.households.member_view import MemberView, members_of
from synthesizer.measures.figure import Figure, FigureKind, Limit, Measured, Row, column
from synthesizer.measures.measure import Measure
from synthesizer.measures.risk.comparable import SharedCoder

Household = tuple[int, ...]
"""A number for the values of each member, sorted."""


class HouseholdCounts(Row):
    """Households of one synthetic dataset that occur in the original."""

    n: int = column("Households", "count", "synthetic households of several persons")
    present: int = column("Present", "count", "of these, households that occur in the original")
    repeated: int = column(
        "Repeated", "count", "of these, households that occur in the original exactly once"
    )


REPEATED_HOUSEHOLDS = FigureKind(
    "repeated_households",
    "repeated households",
    "share of the synthetic households of several persons that equal, in all variables of all "
    "members, a household which the original has once",
    limit=Limit(),
    test="copied households",
    finding="A share of {value} ({ends}) of the synthetic households equals one of the original, "
    "with all members (limit {mark}).",
)


class RepeatedHouseholds(Measured):
    """Households of several persons in both a synthetic dataset and the original."""

    n: int
    """Households of several persons in the original."""
    uniques: int
    """Unique households of the original."""
    datasets: tuple[HouseholdCounts, ...]
    """One for each synthetic dataset."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Share of the synthetic households that equal a unique original one."""
        return (
            REPEATED_HOUSEHOLDS.of(
                float(np.mean([d.repeated / d.n if d.n else 0.0 for d in self.datasets])),
                sum(d.n for d in self.datasets),
                original=self.uniques / self.n if self.n else None,
            ),
        )


class HouseholdsSeen:
    """Counts repeated households, dataset by dataset, without storing them."""

    def __init__(self, original: MemberView, names: tuple[str, ...]) -> None:
        self._coder = SharedCoder(original, names)
        self._codes = np.asarray(self._coder.codes)
        self._original = Counter(_households(self._codes, original.households))
        self._datasets: list[HouseholdCounts] = []

    def add(self, synthetic: Table) -> None:
        """Count the next dataset."""
        members = members_of(synthetic)
        codes, _ = self._coder.encode(members)
        households = _households(np.asarray(codes), members.households)
        counts = [self._original[household] for household in households]
        self._datasets.append(
            HouseholdCounts(
                n=len(households),
                present=sum(count > 0 for count in counts),
                repeated=sum(count == 1 for count in counts),
            )
        )

    def result(self) -> RepeatedHouseholds:
        """Return the counts of the datasets so far."""
        return RepeatedHouseholds(
            n=self._original.total(),
            uniques=sum(count == 1 for count in self._original.values()),
            datasets=tuple(self._datasets),
        )


def _households(codes: IntArray, households: IntArray) -> list[Household]:
    """Return the households of several persons."""
    order = np.lexsort([codes, households])
    parts = np.split(codes[order], np.flatnonzero(np.diff(households[order])) + 1)
    return [tuple(part.tolist()) for part in parts if len(part) > 1]


MEASURES = (
    Measure(
        "repeated_households",
        "datasets",
        after="replicated_careers",
        of_person=True,
        words="households: those of the data that occur in the synthetic data, with all members",
        needs=("names",),
        view=MemberView,
        compute=lambda case: HouseholdsSeen(members_of(case.original), case.names),
        result=RepeatedHouseholds,
        figures=(REPEATED_HOUSEHOLDS,),
    ),
)
