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

from collections.abc import Mapping, Sequence

import numpy as np

from synthesizer.data.codes import Codes, ColumnCoder, Groups, JointCoder, cut_points
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data, as_tables, check_comparable, check_keys
from synthesizer.data.table import Column, FloatArray, Table
from synthesizer.measures.figure import Figure, Row, column
from synthesizer.measures.risk.comparable import OfTarget
from synthesizer.measures.risk.scenario import Tolerance


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


def target_codes(columns: Sequence[Column], groups: Groups | None = None) -> tuple[Codes, ...]:
    """Return codes of the same target in several tables; values of any of them have a code.

    A value that the original (the first) lacks must have its own code: it decides whether a class
    agrees. Groups are those of the original.
    """
    first = columns[0]
    if first.is_coded:
        labels = dict.fromkeys(label for c in columns for label in c.variable.labels)
        coder = ColumnCoder(len(labels), tuple(labels))
    else:
        labels = dict.fromkeys(code for c in columns for code in c.variable.missing)
        if groups is None:
            values, cuts = _distinct(columns), None
            size = len(values)
        else:
            values, cuts = None, cut_points(first, groups)
            size = len(cuts) + 1
        coder = ColumnCoder(size + len(labels), tuple(labels), values, cuts)
    return tuple(coder.encode(column) for column in columns)


def _distinct(columns: Sequence[Column]) -> FloatArray:
    return np.unique(np.concatenate([c.data[c.is_observed].astype(np.float64) for c in columns]))


class Classes:
    """Equivalence classes: how often each target occurs with each key, over all datasets so far.

    Examples
    --------
    >>> classes = Classes(n_keys=3, n_targets=5)
    >>> classes.add(np.array([0, 0, 2, -1]), np.array([4, 1, 3, 3]))
    >>> classes.add(np.array([0]), np.array([4]))
    >>> [part.tolist() for part in classes.modal()]
    [[3, 0, 1], [4, -1, 3], [2, 0, 1]]
    """

    def __init__(self, n_keys: int, n_targets: int) -> None:
        self._n_keys, self._n_targets = n_keys, n_targets
        self._pairs = np.empty(0, dtype=np.int64)
        self._counts = np.empty(0, dtype=np.int64)

    def add(self, keys: Codes, targets: Codes) -> None:
        """Count more records; keys of -1 belong to no class."""
        use = keys >= 0
        pairs, counts = np.unique(keys[use] * self._n_targets + targets[use], return_counts=True)
        every = np.concatenate([self._pairs, pairs])
        self._pairs, position = np.unique(every, return_inverse=True)
        weights = np.concatenate([self._counts, counts])
        self._counts = np.bincount(position, weights=weights).astype(np.int64)

    def modal(self) -> tuple[Codes, Codes, Codes]:
        """Return per key the size of its class, its most frequent target and that one's count.

        Of equally frequent targets the one with the lowest code; -1 for an empty class.
        """
        keys = self._pairs // self._n_targets
        # The sort is stable and pairs ascend: of equal counts the first target comes first.
        order = np.lexsort((-self._counts, keys))
        first = order[np.flatnonzero(np.diff(keys[order], prepend=-1))]
        size = np.bincount(keys, weights=self._counts, minlength=self._n_keys).astype(np.int64)
        target, top = np.full(self._n_keys, -1), np.zeros(self._n_keys, dtype=np.int64)
        target[keys[first]] = self._pairs[first] % self._n_targets
        top[keys[first]] = self._counts[first]
        return size, target, top


class TcapRow(Row):
    """What the first ``m`` datasets give away to an intruder who asks for agreement."""

    m: int = column("Datasets", "count", "the first m pooled")
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
        "Baseline CAP", "share", "mean baseline CAP of the attributed; None where there are none"
    )
    chance: float | None = column(
        "Agreement by chance",
        "share",
        "share of the attributed that would be right if attributed and true targets, as often as "
        "they are, had nothing to do with each other",
    )

    @property
    def tcap(self) -> float | None:
        """Correct of the attributed records, in [0, 1]; None where nothing is attributed."""
        return _share(self.correct, self.attributed)

    @property
    def of_matched(self) -> float | None:
        """Correct of all matched records, as synthpop counts; None where none is matched."""
        return _share(self.correct, self.matched)

    @property
    def of_records(self) -> float:
        """Correct of all records; with tau = 1 this is DiSCO."""
        return self.correct / self.records

    @property
    def guess(self) -> float | None:
        """Share of the attributed that the original's most frequent target guesses right."""
        return _share(self.guessed, self.attributed)


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
        return (
            self._figure("TCAP", "attributed", row.tcap, row.attributed, row.chance, released.tcap),
            self._figure(
                "TCAP of matched {records}",
                "matched",
                row.of_matched,
                row.matched,
                chance,
                released.of_matched,
            ),
        )

    def _figure(
        self,
        name: str,
        which: str,
        value: float | None,
        n: int,
        baseline: float | None,
        original: float | None,
    ) -> Figure:
        return Figure(
            key="tcap" if which == "attributed" else "tcap_of_matched",
            name=name,
            value=value,
            meaning=f"share of {which} {{records}} whose {self.target} is read off rightly where "
            "synthetic {records} of the same key in all datasets pooled agree "
            f"(tau = {self.tau:g}); more datasets agree less often",
            direction="lower is safer",
            n=n,
            baseline=baseline,
            original=original,
        )


def tcap(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    keys: Sequence[str],
    target: str,
    groups: Mapping[str, Groups] | None = None,
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
    original, tables = as_tables(original, synthetic, [*keys, target])
    _check(original, keys, target, groups, tolerance, tau)
    check_comparable(original, tables, [*keys, target])
    coder = JointCoder(original, keys, groups)
    truth, *theirs = target_codes(
        [t[target] for t in (original, *tables)], (groups or {}).get(target)
    )
    size = 1 + max(int(codes.max(initial=0)) for codes in (truth, *theirs))
    people = _People(coder.codes, truth, size)
    released = Classes(coder.size, size)
    released.add(coder.codes, truth)
    classes = Classes(coder.size, size)
    rows = []
    for m, (table, targets) in enumerate(zip(tables, theirs, strict=True), start=1):
        classes.add(coder.encode(table), targets)
        rows.append(people.row(m, classes, tau))
    return TcapResult(
        keys=tuple(keys),
        target=target,
        tau=tau,
        original=people.row(1, released, tau),
        synthetic=tuple(rows),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _check(
    original: Table,
    keys: Sequence[str],
    target: str,
    groups: Mapping[str, Groups] | None,
    tolerance: Tolerance | None,
    tau: float,
) -> None:
    problems = []
    if not 0 < tau <= 1:
        problems.append(f"tau ({tau}) must be above 0 and at most 1")
    if tolerance is not None and target in original and not original[target].is_coded:
        problems.append(
            f"TCAP knows no tolerance for the numeric target {target!r}: give groups in its place"
        )
    try:
        check_keys(original, keys=keys, target=target, groups=groups)
    except DataError as error:
        problems.extend(error.problems)
    if problems:
        raise DataError(problems)


class _People:
    """The original records that classes are asked about."""

    def __init__(self, keys: Codes, truth: Codes, n_targets: int) -> None:
        self._keys, self._truth, self._n_targets = keys, truth, n_targets
        counts = np.bincount(truth, minlength=n_targets)
        self._mode = int(counts.argmax())
        self._baseline = counts[truth] / len(truth)

    def row(self, m: int, classes: Classes, tau: float) -> TcapRow:
        size, target, top = classes.modal()
        # A quotient, not a product: 9 / 10 is the same number as the 0.9 that is asked for.
        agrees = np.zeros(len(size), dtype=bool)
        agrees[size > 0] = top[size > 0] / size[size > 0] >= tau
        chosen = agrees[self._keys]
        baseline = self._baseline[chosen]
        return TcapRow(
            m=m,
            records=len(self._keys),
            matched=int((size[self._keys] > 0).sum()),
            attributed=int(chosen.sum()),
            correct=int((target[self._keys] == self._truth)[chosen].sum()),
            guessed=int((self._truth[chosen] == self._mode).sum()),
            baseline=float(baseline.mean()) if len(baseline) else None,
            chance=agreement(
                *(
                    np.bincount(codes[chosen], minlength=self._n_targets)
                    for codes in (target[self._keys], self._truth)
                )
            ),
        )
