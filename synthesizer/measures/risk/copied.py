"""Copied uniques: does a dataset repeat more unique records than a new sample would?

The attack: an intruder who knows a person well finds the whole record in the synthetic data. Some
unique records are repeated by chance, since two persons may have equal values; a new sample of
the same population repeats them, too. A copy, a bootstrap of the original or a model that has
memorised its records repeats far more, though its rates and tables look fine.

The original alone gives an upper limit for a new sample. Let records come independently (Poisson)
from a population, n in the original and k in the sample, and let x be the expected number of
original records with a combination of values. It has one original record and occurs in the
sample with probability x exp(-x) (1 - exp(-x k / n)). That is at most x^2 exp(-x) k / n, which is
2 k / n times the probability x^2 exp(-x) / 2 that it has two original records. So each combination
of either kind is, independently of the others, a repeated unique with probability at most
q = (2 k / n) / (1 + 2 k / n). Hence, with p combinations of two original records, the number of
repeated uniques is at most negative binomial: the successes of probability q before p + 1
failures. Its quantile is an upper limit for every population; nothing is estimated and no model is
fitted. The limit is high if variables are so few or so coarse that a new sample has most
combinations anyway; the test then has no power.

Sources: Good (1953), The population frequencies of species and the estimation of population
parameters, Biometrika 40 (the share of the population in cells of one record is that of records
in cells of two); Good and Toulmin (1956), Biometrika 43 (its first term for samples of other
sizes, here an upper limit); Nelson (1970), Confidence intervals for the ratio of two Poisson
means and Poisson predictor intervals, IEEE Transactions on Reliability 19 (prediction of a count
from another one); Skinner and Elliot (2002), Journal of the Royal Statistical Society B 64 (uniques
and pairs as measures of risk); Nowok, Raab and Dibben (2016) for replicated uniques.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np
import scipy

from synthesizer.data.codes import ColumnCoder, JointCoder
from synthesizer.data.pairs import Data
from synthesizer.data.table import BoolArray, Table
from synthesizer.measures.figure import Figure, FigureKind, Limit, Measured, Row, collected, column
from synthesizer.measures.measure import Case, Measure
from synthesizer.measures.risk.comparable import GroupsOf, Synthetic, checked_tables

CONFIDENCE = 0.999
"""Probability that no dataset of a new sample, nor their pool, is above its limit."""


def fresh_limit(pairs: int, times: float, confidence: float = CONFIDENCE) -> int:
    """Return the largest number of original uniques that a new sample would repeat by chance.

    Parameters
    ----------
    pairs : int
        Number of combinations of values with exactly two original records.
    times : float
        Size of the sample divided by that of the original.
    confidence : float
        Probability, in (0, 1), that a new sample repeats no more.

    Returns
    -------
    int
        At least 1, since a single record does not indicate a copy.

    Examples
    --------
    >>> fresh_limit(0, 1.0), fresh_limit(100, 1.0), fresh_limit(100, 0.1)
    (17, 285, 37)
    """
    p = 1 / (1 + 2 * times)
    limit = int(scipy.special.nbdtrik(confidence, pairs + 1, p))
    while scipy.special.betainc(pairs + 1, limit + 1, p) < confidence:
        limit += 1
    return max(limit, 1)


class CopiedRow(Row):
    """Repeated uniques of the original in one dataset, their pool, or the holdout."""

    data: str = column("Data", "text", "a dataset, all of them, or the control")
    n: int = column("Records", "count", "of these data")
    present: int = column("Repeated", "count", "uniques of the original that occur in these data")
    most: int = column("New sample, at most", "count", "uniques repeated by chance, at most")
    kept: tuple[str, ...] = ()
    """Variables equal to the original in every record, in its order, if others are not."""

    @property
    def is_above(self) -> bool:
        """Whether more uniques are repeated than by a new sample."""
        return self.present > self.most


_COPIED = (
    "unique original {records} that the synthetic data repeat in {what}, divided by the most that "
    "a new sample would repeat by chance; above 1: probably a copy"
)
COPIED_UNIQUES = FigureKind(
    "copied_uniques",
    "copied uniques",
    _COPIED.replace("{what}", "all variables"),
    limit=Limit(high=None, some=True),
)
COPIED_KEYS = FigureKind(
    "copied_keys",
    "copied keys",
    _COPIED.replace("{what}", "keys and target"),
    limit=Limit(high=None, some=True),
)


class CopiedUniques(Measured):
    """Unique records of the original that occur in the synthetic data."""

    kind: ClassVar[FigureKind] = COPIED_UNIQUES
    """Kind of its figure."""
    names: tuple[str, ...]
    """Variables that are compared."""
    kept: tuple[str, ...] = ()
    """Variables that were left out because they were kept on purpose."""
    may_keep: bool = True
    """Whether other variables may have been kept on purpose, too."""
    n: int = column("original records", "count")
    uniques: int = column("unique by these variables", "count")
    pairs: int = column("combinations of two records", "count", "from which the limit follows")
    confidence: float = column(
        "confidence", "number", "probability that a new sample is within all limits"
    )
    rows: tuple[CopiedRow, ...]
    """Each synthetic dataset, and all of them pooled."""
    control: CopiedRow | None = None
    """Holdout records: a real new sample."""

    @property
    def worst(self) -> CopiedRow:
        """The row farthest above its limit."""
        return max(self.rows, key=lambda row: row.present / row.most)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Repeated uniques divided by their limit, for the dataset or pool where it is largest."""
        return (
            self.kind.of(
                self.worst.present / self.worst.most if self.uniques else None,
                self.uniques,
                f"variables: {_listed(self.names)}",
            ),
        )

    @property
    def gap(self) -> str | None:
        """Reason why there is no figure, with ``{record}``; None if there is one."""
        if self.uniques:
            return None
        left_out = f"; left out, since kept on purpose: {_listed(self.kept)}" if self.kept else ""
        return (
            f"{self.kind.name}: not computed, since no original {{record}} is unique by "
            f"{_listed(self.names)}{left_out}"
        )

    @property
    def alarm(self) -> str | None:
        """Warning about a copy, with ``{records}``; None if all counts are within their limits and
        no variable equals the original in every record.
        """
        row = self.worst
        if not row.is_above:
            row = next((row for row in self.rows if row.kept), row)
            if not row.kept:
                return None
        is_kept = bool(row.kept) and self.may_keep
        start = "Kept on purpose?" if is_kept else "ALARM:"
        end = "unless they were kept on purpose, this is a copy"
        which = "all datasets together" if row.data == _ALL else row.data
        if not row.is_above:
            return (
                f"{start} {_listed(row.kept)} of {len(self.names)} compared equal the original in "
                f"every record of {which}{f'; {end}' if is_kept else ': this looks like a copy'}"
            )
        control = self.control
        shown = f" (the holdout of {control.n:,} has {control.present:,})" if control else ""
        if is_kept:
            end = (
                f"{_listed(row.kept)} equal the original in every record, as in a partial "
                f"synthesis; {end}"
            )
        else:
            end = "this looks like a copy"
        return (
            f"{start} {row.present:,} of {self.uniques:,} {{records}} that are unique by "
            f"{_listed(self.names)} occur in {which}. A new sample would contain at most "
            f"{row.most:,} by chance{shown}: {end}"
        )


class CopiedKeys(CopiedUniques):
    """Copied uniques by keys and target alone."""

    kind = COPIED_KEYS


_ALL = "all pooled"
_FIRST_ROWS = 100
"""Records that are compared before all are."""
_MAX_NAMES = 8
"""Largest number of variables that a sentence lists."""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _MAX_NAMES else f"{len(names)} variables"


@dataclass(frozen=True, eq=False)
class _Look:
    """Repeated uniques and equal variables of one dataset."""

    n: int
    present: BoolArray
    """Which combinations are repeated uniques of the original."""
    kept: tuple[str, ...] = ()


K = TypeVar("K", bound=CopiedUniques)


class Copied(Generic[K]):
    """Count repeated uniques in datasets that are added one by one and not stored.

    The parameters are those of `copied_uniques`; tables have the same variables. ``kept`` are
    variables left out, ``kind`` is the type of the result.
    """

    def __init__(
        self,
        original: Table,
        names: Sequence[str],
        groups: GroupsOf = None,
        *,
        control: Table | None = None,
        kept: Sequence[str] = (),
        may_keep: bool = True,
        confidence: float = CONFIDENCE,
        kind: type[K],
    ) -> None:
        self._names, self._kept, self._confidence = tuple(names), tuple(kept), confidence
        self._kind, self._may_keep = kind, may_keep
        self._original, self._groups = original, groups or {}
        self._coder = JointCoder(original, names, groups)
        self._counts = np.bincount(self._coder.codes, minlength=self._coder.size)
        self._control = None if control is None else self._look(control)
        self._seen: list[_Look] = []

    def add(self, synthetic: Table) -> None:
        """Add the next dataset."""
        self._seen.append(self._look(synthetic))

    def _look(self, table: Table) -> _Look:
        present = (self._coder.counts(table) > 0) & (self._counts == 1)
        unchanged: tuple[str, ...] = ()
        if table.n_rows == self._original.n_rows:
            unchanged = tuple(name for name in self._names if self._is_kept(table, name))
        some_unchanged = unchanged if len(unchanged) < len(self._names) else ()
        return _Look(table.n_rows, present, some_unchanged)

    @property
    def _pairs(self) -> int:
        return int((self._counts == 2).sum())

    def _is_kept(self, table: Table, name: str) -> bool:
        """Whether a variable equals the original in every record, and not by chance.

        Two independent records agree with a probability equal to the sum of squared shares.
        """
        first = np.arange(min(table.n_rows, _FIRST_ROWS))
        for rows in (first, slice(None)):  # the first rows suffice for most variables
            of_original, of_table = self._original[name].take(rows), table[name].take(rows)
            coder = ColumnCoder.fit(of_original, self._groups.get(name))
            codes = coder.encode(of_original)
            if not np.array_equal(codes, coder.encode(of_table)):
                return False
        shares = np.bincount(codes - codes.min()) / len(codes)
        by_chance = len(codes) * np.log((shares**2).sum())
        return bool(by_chance < np.log((1 - self._confidence) / len(self._names)))

    def result(self) -> K:
        """Return the result of the datasets so far, at least one."""
        seen = self._seen
        looked = {
            f"dataset {number}" if len(seen) > 1 else "the synthetic data": look
            for number, look in enumerate(seen, 1)
        }
        if len(seen) > 1:
            there = np.logical_or.reduce([look.present for look in seen])
            unchanged = {look.kept for look in seen}
            always = unchanged.pop() if len(unchanged) == 1 else ()
            looked[_ALL] = _Look(sum(look.n for look in seen), there, always)
        # simultaneous limits (Bonferroni)
        confidence = 1 - (1 - self._confidence) / len(looked)

        def row(data: str, look: _Look) -> CopiedRow:
            most = fresh_limit(self._pairs, look.n / len(self._coder.codes), confidence)
            present = int(look.present.sum())
            return CopiedRow(data=data, n=look.n, present=present, most=most, kept=look.kept)

        return self._kind(
            names=self._names,
            kept=self._kept,
            may_keep=self._may_keep,
            n=len(self._coder.codes),
            uniques=int((self._counts == 1).sum()),
            pairs=self._pairs,
            confidence=self._confidence,
            rows=tuple(row(data, look) for data, look in looked.items()),
            control=None if self._control is None else row("control", self._control),
        )


def copied_uniques(
    original: Data,
    synthetic: Synthetic,
    *,
    keys: Sequence[str],
    groups: GroupsOf = None,
    control: Data | None = None,
    confidence: float = CONFIDENCE,
) -> CopiedUniques:
    """Return the number of unique original records that synthetic data repeat, and its limit.

    Parameters
    ----------
    original, synthetic, groups
        As in `synthesizer.measures.risk.cap.cap`; each dataset counts, and their pool.
    keys : sequence of str
        Variables by which records are compared.
    control : Table or DataFrame, optional
        Holdout records, for comparison.
    confidence : float
        Probability, in (0, 1), that all counts of new samples are within their limits.

    Returns
    -------
    CopiedUniques
        Counts and limits; ``alarm`` is a sentence if a count is above its limit.

    Raises
    ------
    DataError
        With all problems, such as unknown variables or an empty synthetic dataset.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"pay": range(100)})
    >>> sample = people.sample(100, replace=True, random_state=1)
    >>> found = copied_uniques(people, sample, keys=["pay"])
    >>> found.uniques, found.worst.present, found.worst.most
    (100, 68, 17)
    >>> copied_uniques(people, people + 0.5, keys=["pay"]).alarm is None
    True
    """
    others = [] if control is None else [control]
    original, tables = checked_tables(
        original,
        [*([synthetic] if isinstance(synthetic, Data) else synthetic), *others],
        keys=keys,
        groups=groups,
    )
    made = tables[: len(tables) - len(others)]
    unseen = tables[-1] if others else None
    copied = Copied(
        original, keys, groups, control=unseen, confidence=confidence, kind=CopiedUniques
    )
    return collected(copied, made)


def _copied(case: Case, kind: type[K]) -> Copied[K] | None:
    """Return the counter of the variables that were not kept on purpose; None without any."""
    question = case.scenario
    every = case.names if question is None else question.names
    names = [name for name in every if name not in case.synthesis.kept]
    if not names:
        return None
    control = case.control
    return Copied(
        case.original,
        names,
        None if question is None else {k: v for k, v in question.groups.items() if k in names},
        control=control if control is not None and {*names} <= {*control.names} else None,
        kept=[name for name in every if name not in names],
        may_keep=case.synthesis.may_keep,
        kind=kind,
    )


def _copied_keys(case: Case) -> CopiedKeys | None:
    copied = _copied(case, CopiedKeys)
    return None if copied is None else collected(copied, case.synthetic)


MEASURES = (
    Measure(
        "copied_uniques",
        "datasets",
        after="unfamiliar",
        result_field="copied",
        of_person=True,
        words="unique records that occur in the synthetic data, beside a new sample",
        needs=("names",),
        compute=lambda case: _copied(case, CopiedUniques),
        figures=(COPIED_UNIQUES,),
    ),
    Measure(
        "copied_uniques of keys and target",
        "scenario",
        after="copied_uniques",
        result_field="copied",
        of_person=True,
        switch="copied_uniques",
        compute=_copied_keys,
        figures=(COPIED_KEYS,),
    ),
)
