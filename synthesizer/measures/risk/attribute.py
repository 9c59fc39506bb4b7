"""Attribute disclosure: the share of records whose target the synthetic data disclose rightly.

The attack: an intruder looks up a person's key values in the synthetic data. If all records with
them have one target value, the intruder believes it. DiSCO is the share of the original records
that are disclosed this way, and correctly.

A high share need not be a disclosure: nearly all records may have the target level, or nearly all
with a certain level of one key. One-way and two-way warnings list such levels, and exclusions leave
them out.

Sources: Raab, Nowok and Dibben (2025), Practical privacy metrics for synthetic data
(arXiv 2406.16826), whose names the measures bear; Taub, Elliot, Pampaka and Smith (2018) for CAP.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from pydantic import Field, ValidationError

from synthesizer.data.codes import Codes, ColumnCoder, Dictionary, Groups
from synthesizer.data.errors import DataError, Problems
from synthesizer.data.pairs import Data
from synthesizer.data.table import BoolArray, Column, FloatArray, Kind, Table
from synthesizer.data.values import MICROSECONDS_A_DAY
from synthesizer.measures.figure import Figure, FigureKind, Limit, Row, column, shown
from synthesizer.measures.measure import Measure
from synthesizer.measures.risk.comparable import (
    GroupsOf,
    OfTarget,
    SharedCoder,
    Synthetic,
    checked_tables,
    date_text,
    fixed_groups,
)
from synthesizer.measures.scenario import Exclusion, Level

Thresholds = tuple[int, float]
"""Number of records and share in [0, 1]; a warning exceeds both."""


_WHOSE = "share of the original {records} whose key values"
DISCO = FigureKind(
    "disco",
    "DiSCO",
    f"{_WHOSE} occur in the synthetic data with one target value only, the true one",
    limit=Limit(exact=True),
    is_axis=True,
)
DISDIO = FigureKind(
    "disdio",
    "DiSDiO",
    f"{_WHOSE} occur with one target value only, the true one, in the synthetic data and in the "
    "original",
)
DIS = FigureKind(
    "dis", "DiS", f"{_WHOSE} occur in the synthetic data with one target value only, true or not"
)
IS = FigureKind("in_synthetic", "iS", f"{_WHOSE} occur in the synthetic data")
DORIG = FigureKind("dorig", "Dorig", f"{_WHOSE} occur in the original with one target value only")
DSYN = FigureKind(
    "dsyn",
    "Dsyn",
    "share of the synthetic {records} whose key values occur there with one target value only",
)
KINDS = (DISCO, DISDIO, DIS, IS, DORIG, DSYN)
"""Kinds of figures; their keys are fields of `AttributeValues`."""


class AttributeValues(Row):
    """Attribute disclosure of one synthetic dataset, or the mean of several; shares in [0, 1].

    Key values are disclosive in a dataset if all its records with them have the same target.
    Shares are of the original records by default.
    """

    disco: float = DISCO.column()
    disdio: float = DISDIO.column()
    dis: float = DIS.column()
    in_synthetic: float = IS.column()
    dorig: float = DORIG.column()
    dsyn: float = DSYN.column()
    base_capd: float = column(
        "baseCAPd", "share", "mean CAP from the original's distribution of the target alone"
    )
    capd: float = column("CAPd", "share", "mean CAP of the original records from the original")
    caps: float = column("CAPs", "share", "mean CAP of the synthetic records by themselves")
    dcap: float = column(
        "DCAP", "share", "mean CAP of the original records from the synthetic; 0 without a match"
    )
    tcap: float | None = column(
        "TCAP (DiSCO / iS)",
        "share",
        "counted in DiSCO, of the records whose key occurs in the synthetic data",
    )
    mean_denom: float | None = column(
        "Mean group", "number", "mean size of the groups (same keys, same target) counted in DiSCO"
    )
    max_denom: float | None = column(
        "Largest group",
        "count",
        "size of the largest of these groups: a large one may be common knowledge",
    )
    left_out: float = column(
        "Left out", "number", "records that DiSCO would count without the exclusions"
    )


class Dominance(Row):
    """A target level, or a pair of a key level and a target level, of many disclosed records."""

    dataset: int = column("Dataset", "count", "number of the synthetic dataset, from 1")
    target: str = column("Target", "text", "what the intruder wants to learn")
    target_rank: int = column(
        "Rank of its level", "count", "by frequency in the original; 1 is the most frequent"
    )
    key: str | None = column("Key", "text", "empty if the target level dominates", default=None)
    key_rank: int | None = column("Rank of the key's level", "count", default=None)
    records: int = column("Records", "count", "counted in DiSCO, with the level or the pair")
    share: float = column("Of all", "share", "share of the records that DiSCO counts")
    prior: float = column(
        "Known anyway",
        "share",
        "share of the original records with the level of the key that have this target",
    )
    exclusion: Exclusion = Field(repr=False)
    """Exclusion to add if this discloses nothing. Confidential, and not printed."""

    @property
    @shown("Its level", "text")
    def target_level(self) -> Level:
        """The level of the target. Confidential."""
        return self.exclusion.target_level

    @property
    @shown("Its level (key)", "text")
    def key_level(self) -> Level | None:
        """The level of the key, None if the target level dominates. Confidential."""
        return self.exclusion.key_level

    @property
    @shown("To add under checks.exclude", "text")
    def line(self) -> str:
        """The line of YAML that leaves the level out."""
        fields = self.exclusion.model_dump(exclude_none=True)
        pairs = (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items())
        return f"- {{{', '.join(pairs)}}}"

    @property
    def kind(self) -> str:
        """``one-way`` (a target level) or ``two-way`` (a key level with a target level)."""
        return "one-way" if self.key is None else "two-way"


class AttributeResult(OfTarget):
    """Attribute disclosure of every synthetic dataset and on average."""

    n: int
    """Number of original records."""
    n_synthetic: tuple[int, ...]
    """Number of records of each synthetic dataset."""
    excluded: int
    """Original records that are excluded by levels or missing codes."""
    datasets: tuple[AttributeValues, ...]
    """One for each synthetic dataset."""
    mean: AttributeValues
    """Mean over the datasets, as in synthpop."""
    warnings: tuple[Dominance, ...]
    """Levels of many disclosed records that are not excluded, by dataset."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The means; ``original`` is the value of releasing the original."""
        return tuple(
            kind.of(
                getattr(self.mean, kind.key),
                sum(self.n_synthetic) if kind is DSYN else self.n,
                "mean over the datasets",
                original=1.0 if kind is IS else self.mean.dorig,
            )
            for kind in KINDS
        )


def attribute(
    original: Data,
    synthetic: Synthetic,
    *,
    keys: Sequence[str],
    target: str,
    groups: GroupsOf = None,
    exclude: Sequence[Exclusion | Mapping[str, Level]] = (),
    exclude_above: int | None = None,
    use_missing_target: bool = True,
    use_missing_keys: bool | Sequence[str] = True,
    thresholds_1way: Thresholds = (50, 0.9),
    thresholds_2way: Thresholds = (4, 0.8),
) -> AttributeResult:
    """Return the shares of records whose key values disclose the target.

    Excluded records do not count as disclosed, but stay in the denominators; of the CAP measures
    only TCAP changes. A group is all records with the same keys and target; it is excluded as a
    whole.

    Parameters
    ----------
    original, synthetic, keys, target, groups
        As in `synthesizer.measures.risk.cap.cap`; the result has each dataset and the means.
    exclude : sequence of Exclusion, or of their fields as in the YAML and in warnings
        Target levels, or pairs of a key level and a target level, that disclose nothing
        (synthpop: ``not.targetlev``; ``exclude.keys``, ``exclude.keylevs``,
        ``exclude.targetlevs``).
    exclude_above : int, optional
        Exclude groups of more than this number of original records (of synthetic ones in Dsyn), at
        least 1 (synthpop: ``denom_lim``, default 5, with ``exclude_ov_denom_lim = TRUE``).
    use_missing_target : bool
        Whether missing codes of the target count as disclosed (synthpop: ``usetargetNA``).
    use_missing_keys : bool or sequence of str
        Whether records with missing codes among the keys count as disclosed, or the keys whose
        missing codes count (synthpop: ``usekeysNA``).
    thresholds_1way : (int, float)
        Warn of a target level with more than this number, and more than this share, of the records
        counted in DiSCO (synthpop: ``thresh_1way``, in percent).
    thresholds_2way : (int, float)
        Warn of a pair of a key level and a target level if groups of more than this number of
        records are counted in DiSCO, and more than this share of the original records with the
        key level have the target level (synthpop: ``thresh_2way``, in percent).

    Returns
    -------
    AttributeResult
        Shares in [0, 1], by dataset and on average, and the warnings.

    Raises
    ------
    DataError
        For all problems, such as unknown keys or target, a target with one level, exclusions
        without effect, or an empty synthetic dataset.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [30, 30, 41, 50], "ill": ["no", "no", "yes", "no"]})
    >>> made = pd.DataFrame({"age": [30, 41, 41, 50], "ill": ["no", "yes", "yes", "yes"]})
    >>> result = attribute(people, made, keys=["age"], target="ill")
    >>> result.mean.dorig, result.mean.dis, result.mean.disco
    (1.0, 1.0, 0.75)
    >>> known = [Exclusion(target_level="no")]
    >>> attribute(people, made, keys=["age"], target="ill", exclude=known).mean.disco
    0.25
    """
    exclusions = [e if isinstance(e, Exclusion) else _exclusion(e) for e in exclude]
    original, tables = checked_tables(original, synthetic, keys=keys, target=target, groups=groups)
    missing_keys = tuple(keys if use_missing_keys else ())
    if not isinstance(use_missing_keys, bool):
        missing_keys = tuple(use_missing_keys)
    limits = {"thresholds_1way": thresholds_1way, "thresholds_2way": thresholds_2way}
    problems = Problems(_threshold_problems(limits))
    problems += _missing_problems(keys, missing_keys, exclude_above)
    problems.settle(DataError)
    check_exclusions([original, *tables], keys=keys, target=target, exclude=exclusions)

    cuts = fixed_groups(original, groups)
    excluded = partial(
        _excluded,
        target=target,
        exclude=exclusions,
        missing_out=[key for key in keys if key not in missing_keys]
        + ([] if use_missing_target else [target]),
        groups=cuts,
    )
    attack = _Attack(original, keys, target, cuts, excluded, exclude_above or np.inf)
    values: list[AttributeValues] = []
    warnings: list[Dominance] = []
    for number, table in enumerate(tables, start=1):
        shares, rows = attack.values(table)
        disclosed = _Disclosed(attack, rows, number)
        values.append(shares)
        warnings += [*disclosed.one_way(thresholds_1way), *disclosed.two_way(thresholds_2way)]
    return AttributeResult(
        keys=tuple(keys),
        target=target,
        n=original.n_rows,
        n_synthetic=tuple(table.n_rows for table in tables),
        excluded=int(attack.out.sum()),
        datasets=tuple(values),
        mean=_average(values),
        warnings=tuple(warnings),
    )


def _exclusion(fields: Mapping[str, Any]) -> Exclusion:
    try:
        return Exclusion(**fields)
    except (TypeError, ValidationError):
        raise DataError("an exclusion needs target_level, and may have key and key_level") from None


def _missing_problems(
    keys: Sequence[str], missing_keys: Sequence[str], exclude_above: int | None
) -> Iterator[str]:
    if exclude_above is not None and exclude_above < 1:
        yield f"exclude_above ({exclude_above}) must be at least 1"
    for name in missing_keys:
        if name not in keys:
            yield (
                f"use_missing_keys names {name!r}, which is not a key: add it to the keys or leave "
                "it out"
            )


def _threshold_problems(thresholds: Mapping[str, Thresholds]) -> Iterator[str]:
    for name, pair in thresholds.items():
        if not (len(pair) == 2 and pair[0] >= 0 and 0 <= pair[1] <= 1):
            yield f"{name} {pair} must be a number of records of at least 0 and a share in [0, 1]"


def _average(datasets: Sequence[AttributeValues]) -> AttributeValues:
    """Return the mean of each measure over the datasets that have it; the largest ``max_denom``."""
    values: dict[str, Any] = {}
    for name in AttributeValues.model_fields:
        numbers = [getattr(d, name) for d in datasets if getattr(d, name) is not None]
        pool = max if name == "max_denom" else np.mean
        values[name] = float(pool(numbers)) if numbers else None
    return AttributeValues(**values)


class _Attack:
    """The original, coded once for all synthetic datasets.

    ``excluded`` returns the records of a table that are excluded; groups of more than ``limit``
    records are excluded, too.
    """

    def __init__(
        self,
        original: Table,
        keys: Sequence[str],
        target: str,
        groups: Mapping[str, Groups],
        excluded: Callable[[Table], BoolArray],
        limit: float,
    ) -> None:
        self.original, self.keys, self.target, self.groups = original, keys, target, groups
        self._excluded, self._limit = excluded, limit
        self._key_coder = SharedCoder(original, keys, groups)
        self._target_coder = SharedCoder(original, [target], groups)
        self.combinations, self.levels = self._key_coder.codes, self._target_coder.codes
        self.out = excluded(original)
        sizes = np.bincount(self.combinations)[self.combinations]
        only = _only_level(self.combinations, self.levels, self._key_coder.size)
        self._disclosive = (only[self.combinations] >= 0) & ~self.out & (sizes <= limit)

    def values(self, table: Table) -> tuple[AttributeValues, BoolArray]:
        """Return the measures of one synthetic dataset, and the records that DiSCO counts."""
        keys, truth, n = self.combinations, self.levels, len(self.levels)
        theirs, our_sizes, their_sizes = self._key_coder.counts(table)
        levels, width = self._target_coder.encode(table)
        size = len(their_sizes)
        shown = _only_level(theirs, levels, size)
        right = shown[keys] == truth
        shown[theirs[self._excluded(table)]] = -1
        dsyn = (shown[theirs] >= 0) & (their_sizes[theirs] <= self._limit)
        shown[np.bincount(keys[right], minlength=size) > self._limit] = -1
        disclosed = shown[keys] == truth

        matched = int((their_sizes[keys] > 0).sum())
        groups = np.bincount(keys[disclosed], minlength=1)
        denominators = groups[groups > 0]
        values = AttributeValues(
            dorig=float(self._disclosive.mean()),
            dsyn=float(dsyn.mean()),
            in_synthetic=matched / n,
            dis=float((shown[keys] >= 0).mean()),
            disco=float(disclosed.mean()),
            disdio=float((disclosed & self._disclosive).mean()),
            max_denom=int(denominators.max()) if len(denominators) else None,
            mean_denom=float(denominators.mean()) if len(denominators) else None,
            tcap=int(disclosed.sum()) / matched if matched else None,
            left_out=int(right.sum() - disclosed.sum()),
            **_caps((keys, truth), (theirs, levels), (our_sizes, their_sizes), width),
        )
        return values, disclosed


def _only_level(keys: Codes, levels: Codes, size: int) -> Codes:
    """Return the single target level of each key combination, -1 with several or none."""
    only = np.full(size, -1, dtype=np.int64)
    only[keys] = levels
    only[keys[only[keys] != levels]] = -1
    return only


def _caps(
    original: tuple[Codes, Codes],
    synthetic: tuple[Codes, Codes],
    sizes: tuple[Codes, Codes],
    width: int,
) -> dict[str, float]:
    """Return the CAP measures from codes of keys and targets and the number of records by key."""
    (keys, truth), (theirs, levels) = original, synthetic
    our_sizes, their_sizes = sizes
    pairs = np.concatenate([keys * width + truth, theirs * width + levels])
    dictionary = Dictionary(pairs, len(our_sizes) * width)
    pairs = dictionary.find(pairs)
    here, there = pairs[: len(keys)], pairs[len(keys) :]
    in_original, in_synthetic = (np.bincount(c, minlength=len(dictionary)) for c in (here, there))
    return {
        "base_capd": float(np.square(np.bincount(truth)).sum() / len(truth) ** 2),
        "capd": float((in_original[here] / our_sizes[keys]).mean()),
        "caps": float((in_synthetic[there] / their_sizes[theirs]).mean()),
        # Keys without a synthetic record count as 0; this avoids division by 0.
        "dcap": float((in_synthetic[here] / np.maximum(their_sizes[keys], 1)).mean()),
    }


def _excluded(
    table: Table,
    *,
    target: str,
    exclude: Sequence[Exclusion],
    missing_out: Collection[str],
    groups: Mapping[str, Groups],
) -> BoolArray:
    """Return which records are excluded, or have missing codes that do not count."""
    rows = np.zeros(table.n_rows, dtype=bool)
    for name in missing_out:
        rows |= ~table[name].is_observed
    for item in exclude:
        chosen = _has_level(table[target], item.target_level, groups.get(target))
        if item.key is not None and item.key_level is not None:
            chosen &= _has_level(table[item.key], item.key_level, groups.get(item.key))
        rows |= chosen
    return rows


def _has_level(column: Column, level: Level, groups: Groups | None) -> BoolArray:
    """Return which records have a level, shape (n,); with cut points, which are in its group."""
    variable = column.variable
    if column.is_coded:
        codes = [code for code, label in enumerate(variable.labels) if label == str(level)]
        return np.isin(column.data, codes)
    if str(level) in variable.missing:
        return np.asarray(column.missing_state() == variable.missing.index(str(level)) + 1)
    value = _number(level, variable.kind)
    if groups is None:
        return np.asarray(column.data == value)
    group = np.searchsorted(groups, value, side="right")
    same = np.searchsorted(groups, column.data, side="right") == group
    return np.asarray(same & column.is_observed & np.isfinite(value))


def _level_at(column: Column, row: int) -> Level:
    """Return the level of one record for an `Exclusion`. Confidential."""
    variable = column.variable
    if column.is_coded:
        return variable.labels[int(column.data[row])]
    state = int(column.missing_state()[row])
    if state:
        return variable.missing[state - 1]
    value = float(column.data[row])
    return date_text(value) if variable.kind is Kind.DATE else value


def check_exclusions(
    tables: Sequence[Table], *, keys: Sequence[str], target: str, exclude: Sequence[Exclusion]
) -> None:
    """Raise DataError with all exclusions that can have no effect."""
    Problems(
        f"exclusion {number} {problem}"
        for number, item in enumerate(exclude, start=1)
        for problem in _exclusion_problems(item, tables, keys, target)
    ).settle(DataError)


def _exclusion_problems(
    item: Exclusion, tables: Sequence[Table], keys: Sequence[str], target: str
) -> Iterator[str]:
    named = [(target, item.target_level)]
    if item.key is not None and item.key not in keys:
        yield f"names {item.key!r}, which is not a key: add it to the keys or leave it out"
    elif item.key is not None and item.key_level is not None:
        named.append((item.key, item.key_level))
    if (item.key is None) != (item.key_level is None):
        yield "has only one of key and key_level: give both or none"
    for name, level in named:
        if not any(_knows(table[name], level) for table in tables):
            yield f"names a level of {name!r} that no dataset has: check its spelling"


def _knows(column: Column, level: Level) -> bool:
    """Whether a column can have a level: a declared label, or a valid number."""
    if column.is_coded:
        return str(level) in column.variable.labels
    number = _number(level, column.variable.kind)
    return str(level) in column.variable.missing or bool(np.isfinite(number))


def _number(level: Level, kind: Kind) -> float:
    """Return the number of a level (dates in days), NaN if it is not a number."""
    try:
        if kind is Kind.DATE and isinstance(level, str):
            stamp = np.datetime64(level, "us")
            return np.nan if np.isnat(stamp) else float(stamp.astype(np.int64) / MICROSECONDS_A_DAY)
        return float(level)
    except ValueError:
        return np.nan


@dataclass(frozen=True, eq=False)
class _Disclosed:
    """The original records that DiSCO counts for one dataset."""

    attack: _Attack
    rows: BoolArray
    """Which records are counted, shape (n,)."""
    dataset: int
    """Number of the synthetic dataset."""

    def one_way(self, thresholds: Thresholds) -> Iterator[Dominance]:
        """Yield target levels with many disclosed records, the largest number first.

        Number and share of these records must exceed the thresholds.
        """
        levels = self.attack.levels
        sizes = np.bincount(levels)
        counts = np.bincount(levels[self.rows], minlength=len(sizes))
        for level in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]:
            records = int(counts[level])
            if records <= thresholds[0] or records / self.rows.sum() <= thresholds[1]:
                return
            row = int(np.argmax(levels == level))
            yield self._dominance(row, records, float(sizes[level] / len(levels)))

    def two_way(self, thresholds: Thresholds) -> list[Dominance]:
        """Return pairs of a key level and a target level of large disclosed groups.

        For each group larger than the first threshold, the key level is chosen with the highest
        share of the target level in the original. The pair is a warning if this share exceeds the
        second threshold. Pairs with most disclosed records come first.
        """
        combinations = self.attack.combinations
        sizes = np.bincount(combinations[self.rows], minlength=1)
        rows = np.flatnonzero(self.rows)
        rows = rows[sizes[combinations[rows]] > thresholds[0]]
        # One record represents its group: all have the same keys and target.
        rows = rows[np.unique(combinations[rows], return_index=True)[1]]
        if not len(rows):
            return []
        keys = [_KeyLevels(self.attack, key) for key in self.attack.keys]
        priors = np.stack([key.priors[rows] for key in keys])
        best, large = np.argmax(priors, axis=0), priors.max(axis=0) > thresholds[1]
        warnings = []
        for position, key in enumerate(keys):
            records = np.bincount(key.pairs[self.rows])
            explained = rows[large & (best == position)]
            for row in explained[np.unique(key.pairs[explained], return_index=True)[1]].tolist():
                prior = float(key.priors[row])
                warnings.append(self._dominance(row, int(records[key.pairs[row]]), prior, key))
        return sorted(warnings, key=lambda warning: -warning.records)

    def _dominance(
        self, row: int, records: int, prior: float, key: _KeyLevels | None = None
    ) -> Dominance:
        """Return the warning about the target level, or the pair, of a record."""
        original, target, levels = self.attack.original, self.attack.target, self.attack.levels
        name = None if key is None else key.name
        return Dominance(
            dataset=self.dataset,
            target=target,
            target_rank=_rank(levels, row),
            key=name,
            key_rank=None if key is None else _rank(key.codes, row),
            records=records,
            share=records / int(self.rows.sum()),
            prior=prior,
            exclusion=Exclusion(
                target_level=_level_at(original[target], row),
                key=name,
                key_level=None if name is None else _level_at(original[name], row),
            ),
        )


class _KeyLevels:
    """Share of each target level given the level of one key, in the original."""

    def __init__(self, attack: _Attack, key: str) -> None:
        coder = ColumnCoder.fit(attack.original[key], attack.groups.get(key))
        self.name, self.codes = key, coder.encode(attack.original[key])
        width = int(attack.levels.max()) + 1
        joint = self.codes * width + attack.levels
        self.pairs = Dictionary(joint, coder.size * width).find(joint)
        sizes = np.bincount(self.codes)[self.codes]
        self.priors: FloatArray = np.bincount(self.pairs)[self.pairs] / sizes


def _rank(codes: Codes, row: int) -> int:
    """Return the rank by frequency of a record's code, 1 for the most frequent; ties are equal."""
    sizes = np.bincount(codes)
    return int((sizes > sizes[codes[row]]).sum()) + 1


MEASURES = (
    Measure(
        "attribute",
        "scenario",
        after="identity",
        words="Dorig, Dsyn, iS, DiS, DiSCO and DiSDiO",
        compute=lambda case: (
            None
            if case.required_scenario.tolerance
            else attribute(*case.pair, **case.by_class, exclude=case.required_scenario.exclude)
        ),
        figures=KINDS,
    ),
)
