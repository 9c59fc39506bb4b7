"""Targeted correct attribution probability (TCAP): the intruder who asks for agreement.

The attack: an intruder looks up a known key in the synthetic data and believes what is read off
there only when the synthetic records with that key agree (nearly) all on the target. TCAP is the
share of those beliefs that are right.

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
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data, as_tables, check_comparable, check_keys
from synthesizer.data.table import Table
from synthesizer.measures.figure import Figure, FigureKind, Limit, Row, column, shown
from synthesizer.measures.measure import Measure
from synthesizer.measures.risk.comparable import (
    GroupsOf,
    OfTarget,
    Synthetic,
    fixed_groups,
    problems_of,
    split,
    stacked_columns,
)
from synthesizer.measures.scenario import Tolerance


def agreement(one: Codes, other: Codes) -> float | None:
    """Return the agreement of two classifications expected from their margins alone.

    Each holds the number of records by level; None where there are no records.

    Examples
    --------
    >>> agreement(np.array([1, 1]), np.array([2, 0]))
    0.5
    """
    pairs = int(one.sum()) * int(other.sum())
    return int(one @ other) / pairs if pairs else None


class Classes:
    """Equivalence classes: how often each target occurs with each key, over all datasets so far."""

    def __init__(self, n_keys: int, n_targets: int) -> None:
        self._n_keys, self.n_targets = n_keys, n_targets
        self._pairs = np.empty(0, dtype=np.int64)
        self._counts = np.empty(0, dtype=np.int64)

    def add(self, keys: Codes, targets: Codes) -> None:
        """Count more records; keys of -1 belong to no class."""
        use = keys >= 0
        pairs, counts = np.unique(keys[use] * self.n_targets + targets[use], return_counts=True)
        every = np.concatenate([self._pairs, pairs])
        self._pairs, position = np.unique(every, return_inverse=True)
        weights = np.concatenate([self._counts, counts])
        self._counts = np.bincount(position, weights=weights).astype(np.int64)

    def modal(self) -> tuple[Codes, Codes, Codes]:
        """Return per key the size of its class, its most frequent target and that one's count.

        Of equally frequent targets the one with the lowest code; -1 for an empty class.
        """
        keys = self._pairs // self.n_targets
        # The sort is stable and pairs ascend: of equal counts the first target comes first.
        order = np.lexsort((-self._counts, keys))
        first = order[np.flatnonzero(np.diff(keys[order], prepend=-1))]
        size = np.bincount(keys, weights=self._counts, minlength=self._n_keys).astype(np.int64)
        target, top = np.full(self._n_keys, -1), np.zeros(self._n_keys, dtype=np.int64)
        target[keys[first]] = self._pairs[first] % self.n_targets
        top[keys[first]] = self._counts[first]
        return size, target, top


class TcapRow(Row):
    """What the first ``m`` datasets give away to an intruder who asks for agreement."""

    m: int
    """The first m datasets pooled."""
    records: int = column("Records", "count", "original records")
    matched: int = column("Matched", "count", "those whose key occurs in the pooled datasets")
    attributed: int = column(
        "Attributed", "count", "those whose class there agrees on one target to the share tau"
    )
    correct: int = column("Right", "count", "those of them whose true target is that one")
    guessed: int = column(
        "Right by guessing",
        "count",
        "those of the attributed whose true target is the most frequent one of the original",
    )
    baseline: float | None = column(
        "Baseline",
        "share",
        "mean baseline CAP (eq. 5 of Taub et al. 2018) of the attributed; None without any",
    )
    chance: float | None = column(
        "Chance",
        "share",
        "share of the attributed that would be right if attributed and true targets, as often as "
        "they are, had nothing to do with each other",
    )

    @property
    @shown("TCAP", "share")
    def tcap(self) -> float | None:
        """Correct of the attributed records, in [0, 1]; None where nothing is attributed."""
        return _share(self.correct, self.attributed)

    @property
    @shown("Of the matched", "share")
    def of_matched(self) -> float | None:
        """Correct of all matched records, as synthpop counts; None where none is matched."""
        return _share(self.correct, self.matched)

    @property
    @shown("Of all", "share")
    def of_records(self) -> float:
        """Correct of all records; with tau = 1 this is DiSCO."""
        return self.correct / self.records

    @property
    @shown("Guessing", "share")
    def guess(self) -> float | None:
        """Share of the attributed that the original's most frequent target guesses right."""
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
    """Targeted CAP of nested datasets."""

    tau: float
    """Share of a class that must agree on one target."""
    original: TcapRow
    """The original, released as it is."""
    synthetic: tuple[TcapRow, ...]
    """By number of pooled datasets."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """TCAP of all datasets together, relative to attributed and to matched records."""
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
    """Return the targeted CAP of original and synthetic data for nested m = 1, ..., M.

    Of the pooled synthetic records with one key (an equivalence class) the most frequent target
    is attributed to the original records with that key, if its share in the class is at least
    ``tau``. Ties, which only ``tau`` of one half or less lets through, go to the value that comes
    first among the original's levels (the smallest number). Original records are counted, each
    once; Taub and Elliot (2019) average over the synthetic records of the same classes.

    Parameters
    ----------
    original, synthetic, keys, target, groups
        As in `synthesizer.measures.risk.cap.cap`.
    tolerance : Tolerance, optional
        Refused for a numeric target: a class agrees on a group, not on an interval.
    tau : float
        In (0, 1].

    Returns
    -------
    TcapResult
        Counts and shares in [0, 1]; higher is riskier.

    Raises
    ------
    DataError
        For unknown keys or target, a tau out of range and the like, all at once.

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
    problems = list(_problems(original, target, tolerance, tau))
    problems += problems_of(check_keys, original, keys=keys, target=target, groups=groups)
    if problems:
        raise DataError(problems)
    check_comparable(original, tables, names)
    coder = JointCoder(original, keys, groups)
    # A value that the original lacks has a code of its own: it decides whether a class agrees.
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
        yield f"TCAP knows no tolerance for the numeric target {target!r}: give groups in its place"


def _share(count: int, whole: int) -> float | None:
    return count / whole if whole else None


def _row(m: int, classes: Classes, *, keys_of_original: Codes, truth: Codes, tau: float) -> TcapRow:
    """Ask the classes about the original records, by their keys and targets."""
    size, target, top = classes.modal()
    # A quotient, not a product: 9 / 10 is the same number as the 0.9 that is asked for.
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
        chance=agreement(
            *(np.bincount(codes, minlength=len(counts)) for codes in (attributed, true))
        ),
    )


MEASURES = (
    Measure(
        "tcap",
        "scenario",
        after="regression on m",
        switch="cap",
        # a class agrees on a value, never on an interval around each of its values
        compute=lambda case: (
            None
            if case.required_scenario.tolerance
            else tcap(*case.pair, **case.by_class, tau=case.settings.tau)
        ),
        figures=(TCAP, TCAP_OF_MATCHED),
    ),
)
