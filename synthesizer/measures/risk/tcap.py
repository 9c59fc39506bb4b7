"""Targeted correct attribution probability (TCAP): guesses only where synthetic records agree.

The attack: an intruder looks up the keys of a person in the synthetic data, and guesses the target
only if (nearly) all synthetic records with these key values agree on it. TCAP is the share of right
guesses.

Sources: Elliot (2014), Final report on the disclosure risk associated with the synthetic data
produced by the SYLLS team; Taub and Elliot (2019), The synthetic data challenge; Little, Elliot
and Allmendinger (2022), Comparing the utility and disclosure risk of synthetic data with samples
of microdata.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from synthesizer.data.codes import Codes, ColumnCoder, JointCoder
from synthesizer.data.errors import DataError, Problems
from synthesizer.data.pairs import Data, as_tables, check_comparable, check_keys
from synthesizer.data.table import Table
from synthesizer.measures.figure import Figure, FigureKind, Limit, Row, column, shown
from synthesizer.measures.measure import Measure
from synthesizer.measures.risk.comparable import (
    GroupsOf,
    OfTarget,
    Synthetic,
    fixed_groups,
    split,
    stacked_columns,
)
from synthesizer.measures.scenario import Tolerance


def agreement(one: Codes, other: Codes) -> float | None:
    """Return the agreement of two independent classifications, from their margins.

    ``one`` and ``other`` are numbers of records by level; None without records.

    Examples
    --------
    >>> agreement(np.array([1, 1]), np.array([2, 0]))
    0.5
    """
    pairs = int(one.sum()) * int(other.sum())
    return int(one @ other) / pairs if pairs else None


class Classes:
    """Equivalence classes: counts of each target by combination of keys, in the datasets so far."""

    def __init__(self, n_keys: int, n_targets: int) -> None:
        self._n_keys, self.n_targets = n_keys, n_targets
        self._pairs = np.empty(0, dtype=np.int64)
        self._counts = np.empty(0, dtype=np.int64)

    def add(self, keys: Codes, targets: Codes) -> None:
        """Add records; those with keys of -1 belong to no class."""
        use = keys >= 0
        pairs, counts = np.unique(keys[use] * self.n_targets + targets[use], return_counts=True)
        every = np.concatenate([self._pairs, pairs])
        self._pairs, position = np.unique(every, return_inverse=True)
        weights = np.concatenate([self._counts, counts])
        self._counts = np.bincount(position, weights=weights).astype(np.int64)

    def modal(self) -> tuple[Codes, Codes, Codes]:
        """Return by key the size of the class, its most frequent target and the count of that.

        Ties go to the target with the lowest code; -1 for an empty class.
        """
        keys = self._pairs // self.n_targets
        # A stable sort of ascending pairs: of equal counts the first target comes first.
        order = np.lexsort((-self._counts, keys))
        first = order[np.flatnonzero(np.diff(keys[order], prepend=-1))]
        size = np.bincount(keys, weights=self._counts, minlength=self._n_keys).astype(np.int64)
        target, top = np.full(self._n_keys, -1), np.zeros(self._n_keys, dtype=np.int64)
        target[keys[first]] = self._pairs[first] % self.n_targets
        top[keys[first]] = self._counts[first]
        return size, target, top


class TcapRow(Row):
    """Guesses from the first ``m`` datasets pooled."""

    m: int
    """Number of pooled datasets."""
    records: int = column("Records", "count", "original records")
    matched: int = column("Matched", "count", "records whose keys occur in the pooled datasets")
    attributed: int = column(
        "Guessed, number", "count", "records of whose matches a share of tau has one target"
    )
    correct: int = column("Right, number", "count", "right guesses")
    guessed: int = column(
        "Right without a release, number",
        "count",
        "guessed records whose target is the most frequent one of the original",
    )
    baseline: float | None = column(
        "Baseline",
        "share",
        "mean baseline CAP (eq. 5 of Taub et al. 2018) of the guessed records; none without any",
    )
    chance: float | None = column(
        "Chance", "share", "share of right guesses if guesses were independent of true targets"
    )

    @property
    @shown("TCAP", "share")
    def tcap(self) -> float | None:
        """Share of right guesses, in [0, 1]; None without guesses."""
        return _share(self.correct, self.attributed)

    @property
    @shown("Right, share of the matched", "share")
    def of_matched(self) -> float | None:
        """Right guesses divided by matched records, as in synthpop; None without matches."""
        return _share(self.correct, self.matched)

    @property
    @shown("Right, share of all", "share")
    def of_records(self) -> float:
        """Right guesses divided by all records; with tau = 1 this is DiSCO."""
        return self.correct / self.records

    @property
    @shown("Right without a release, share", "share")
    def guess(self) -> float | None:
        """Share of the guessed records with the most frequent target of the original."""
        return _share(self.guessed, self.attributed)


TCAP = FigureKind(
    "tcap",
    "TCAP",
    "share of right guesses among {records} whose synthetic matches by the keys agree on one "
    "target value",
    title="TCAP, all datasets together",
    limit=Limit(some=True, exact=True),
    is_axis=True,
)
TCAP_OF_MATCHED = FigureKind(
    "tcap_of_matched",
    "TCAP of matched {records}",
    "share of such right guesses among all {records} whose key values occur in the synthetic data",
)


class TcapResult(OfTarget):
    """Targeted CAP by number of pooled datasets."""

    tau: float
    """Share of a class that must agree on one target."""
    original: TcapRow
    """Value of releasing the original."""
    synthetic: tuple[TcapRow, ...]
    """By number of pooled datasets."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """TCAP of all datasets together, relative to guessed and to matched records."""
        row, released = self.synthetic[-1], self.original
        chance = None if row.chance is None else row.chance * row.attributed / row.matched
        detail = f"target: {self.target}, tau = {self.tau:g}; more datasets agree less often"
        return (
            TCAP.of(
                row.tcap,
                row.attributed,
                detail,
                datasets=row.m,
                baseline=row.baseline,
                chance=row.chance,
                original=released.tcap,
            ),
            TCAP_OF_MATCHED.of(
                row.of_matched,
                row.matched,
                detail,
                datasets=row.m,
                chance=chance,
                original=released.of_matched,
            ),
        )


def tcap(
    original: Data,
    synthetic: Synthetic,
    *,
    keys: Sequence[str],
    target: str,
    groups: GroupsOf = None,
    tolerance: Tolerance | None = None,
    tau: float = 1.0,
) -> TcapResult:
    """Return the targeted CAP of the original, and of the first m = 1, ..., M datasets pooled.

    The guess is the most frequent target of the pooled synthetic records with the same keys (an
    equivalence class), if its share in the class is at least ``tau``. Ties (with ``tau`` of 0.5 or
    less) go to the first of the original's levels (the smallest number). Each original record
    counts once; Taub and Elliot (2019) average over the synthetic records of the same classes.

    Parameters
    ----------
    original, synthetic, keys, target, groups
        As in `synthesizer.measures.risk.cap.cap`.
    tolerance : Tolerance, optional
        Refused for a numeric target: classes need groups.
    tau : float
        In (0, 1].

    Returns
    -------
    TcapResult
        Counts and shares in [0, 1]; higher is riskier.

    Raises
    ------
    DataError
        With all problems, such as unknown keys or target, or tau out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"town": list("aabbc"), "ill": ["yes", "no", "no", "no", "no"]})
    >>> made = pd.DataFrame({"town": list("aabb"), "ill": ["yes", "yes", "no", "yes"]})
    >>> row = tcap(people, made, keys=["town"], target="ill").synthetic[0]
    >>> row.matched, row.attributed, row.correct, row.tcap, row.of_matched
    (4, 2, 1, 0.5, 0.25)
    """
    names = [*keys, target]
    original, tables = as_tables(original, synthetic, names)
    problems = Problems(_problems(original, target, tolerance, tau))
    with problems.gathered():
        check_keys(original, keys=keys, target=target, groups=groups)
    problems.settle(DataError)
    check_comparable(original, tables, names)
    coder = JointCoder(original, keys, groups)
    # Values that the original lacks have codes, too, since they affect the agreement.
    columns = [table[target] for table in (original, *tables)]
    together = stacked_columns(columns)
    targets = ColumnCoder.fit(together, fixed_groups(original, groups).get(target))
    truth, *theirs = split(targets.encode(together), columns)
    size = 1 + max(int(codes.max(initial=0)) for codes in (truth, *theirs))
    attack = partial(_row, keys_of_original=coder.codes, truth=truth, tau=tau)
    released = Classes(coder.size, size)
    released.add(coder.codes, truth)
    classes = Classes(coder.size, size)
    rows = []
    for m, (table, codes) in enumerate(zip(tables, theirs, strict=True), start=1):
        classes.add(coder.encode(table), codes)
        rows.append(attack(m, classes))
    return TcapResult(
        keys=tuple(keys),
        target=target,
        tau=tau,
        original=attack(1, released),
        synthetic=tuple(rows),
    )


def _problems(
    original: Table, target: str, tolerance: Tolerance | None, tau: float
) -> Iterator[str]:
    if not 0 < tau <= 1:
        yield f"tau ({tau}) must be above 0 and at most 1"
    if tolerance is not None and target in original and not original[target].is_coded:
        yield f"TCAP has no tolerance for the numeric target {target!r}: give groups instead"


def _share(count: int, whole: int) -> float | None:
    return count / whole if whole else None


def _row(m: int, classes: Classes, *, keys_of_original: Codes, truth: Codes, tau: float) -> TcapRow:
    """Return the row of the classes for the original records, by keys and targets."""
    size, target, top = classes.modal()
    # A quotient, not a product, so that 9 / 10 equals a tau of 0.9.
    agrees = np.zeros(len(size), dtype=bool)
    agrees[size > 0] = top[size > 0] / size[size > 0] >= tau
    chosen = agrees[keys_of_original]
    attributed, true = target[keys_of_original][chosen], truth[chosen]
    counts = np.bincount(truth, minlength=classes.n_targets)
    return TcapRow(
        m=m,
        records=len(keys_of_original),
        matched=int((size[keys_of_original] > 0).sum()),
        attributed=len(true),
        correct=int((attributed == true).sum()),
        guessed=int((true == counts.argmax()).sum()),
        baseline=float((counts[true] / len(truth)).mean()) if len(true) else None,
        chance=agreement(*(np.bincount(c, minlength=len(counts)) for c in (attributed, true))),
    )


MEASURES = (
    Measure(
        "tcap",
        "scenario",
        after="regression on m",
        switch="cap",
        # classes need groups, not intervals
        compute=lambda case: (
            None
            if case.required_scenario.tolerance
            else tcap(*case.pair, **case.by_class, tau=case.settings.tau)
        ),
        figures=(TCAP, TCAP_OF_MATCHED),
    ),
)
