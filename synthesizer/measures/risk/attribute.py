"""Attribute disclosure: how many people's secret do the synthetic data settle, and rightly so?

The attack: an intruder looks up a person's key in the synthetic data; where all records with that
key show one value of the target, the intruder believes it. DiSCO is the share of the original
records that are disclosed this way and correctly.

Sources: Raab, Nowok and Dibben (2025), Practical privacy metrics for synthetic data
(arXiv 2406.16826), whose names the measures bear; Taub, Elliot, Pampaka and Smith (2018) for CAP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import ValidationError

from synthesizer.data.codes import Codes, Dictionary, Groups
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data
from synthesizer.data.table import BoolArray, Table
from synthesizer.measures.figure import Figure, Row, column
from synthesizer.measures.risk.comparable import OfTarget, SharedCoder, checked_tables, fixed_groups
from synthesizer.measures.risk.dominance import (
    Disclosed,
    Dominance,
    Exclusion,
    Level,
    Thresholds,
    check_exclusions,
    check_thresholds,
    excluded_rows,
)


class AttributeValues(Row):
    """Attribute disclosure of one synthetic dataset, or the mean of several; shares in [0, 1].

    A key is disclosive in a dataset when all its records there have the same target. Shares are
    of the original records unless said otherwise.
    """

    disco: float = column(
        "DiSCO", "share", "the synthetic records of the key show one target, the true one"
    )
    disdio: float = column(
        "DiSDiO", "share", "the same, and the original records show one target too"
    )
    dis: float = column(
        "DiS", "share", "the synthetic records of the key show one target, true or not"
    )
    in_synthetic: float = column("iS", "share", "the key occurs in the synthetic data")
    dorig: float = column("Dorig", "share", "the original records of the key show one target")
    dsyn: float = column(
        "Dsyn", "share", "of the synthetic records: their key shows one target among them"
    )
    base_capd: float = column(
        "baseCAPd", "share", "mean CAP from the original's distribution of the target alone"
    )
    capd: float = column("CAPd", "share", "mean CAP of the original records from the original")
    caps: float = column("CAPs", "share", "mean CAP of the synthetic records by themselves")
    dcap: float = column(
        "DCAP", "share", "mean CAP of the original records from the synthetic; 0 without a match"
    )
    tcap: float | None = column(
        "TCAP", "share", "counted in DiSCO, of the records whose key occurs in the synthetic data"
    )
    mean_denom: float | None = column(
        "Mean group",
        "number",
        "original records with one key and one target, of the groups counted in DiSCO",
    )
    max_denom: float | None = column(
        "Largest group",
        "count",
        "the largest of these groups: large ones hint at relations that are common knowledge",
    )
    left_out: float = column(
        "Left out", "number", "records that DiSCO would count but for the exclusions"
    )


def average(datasets: Sequence[AttributeValues]) -> AttributeValues:
    """Return the mean of every measure over the datasets where it is defined.

    ``max_denom`` is the largest of all.
    """
    values: dict[str, Any] = {}
    for name in AttributeValues.model_fields:
        known = [getattr(d, name) for d in datasets if getattr(d, name) is not None]
        pool = max if name == "max_denom" else np.mean
        values[name] = float(pool(known)) if known else None
    return AttributeValues(**values)


class AttributeResult(OfTarget):
    """Attribute disclosure of every synthetic dataset and on average."""

    n: int
    """Number of original records."""
    n_synthetic: tuple[int, ...]
    """Number of records of each synthetic dataset."""
    excluded: int
    """Original records that fall under the exclusions of levels and missing codes."""
    datasets: tuple[AttributeValues, ...]
    """One for each synthetic dataset."""
    mean: AttributeValues
    """Their average, as is synthpop's practice where there are several."""
    warnings: tuple[Dominance, ...]
    """Levels behind many of the disclosures that are left after the exclusions, by dataset; each
    holds the exclusion that would leave it out."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The means; ``original`` is the value of releasing the original itself."""
        return tuple(
            Figure(
                key=field,
                name=name,
                value=getattr(self.mean, field),
                meaning=f"share of the {whose} {{records}} whose key {what} (mean over the "
                "datasets)",
                direction="lower is safer",
                n=sum(self.n_synthetic) if whose == "synthetic" else self.n,
                original=1.0 if field == "in_synthetic" else self.mean.dorig,
            )
            for field, name, whose, what in _WORDS
        )


_WORDS = (
    ("disco", "DiSCO", "original", "shows one target, the true one"),
    ("disdio", "DiSDiO", "original", "shows it in the original too"),
    ("dis", "DiS", "original", "shows one target, true or not"),
    ("in_synthetic", "iS", "original", "occurs in the synthetic data"),
    ("dorig", "Dorig", "original", "shows one target there"),
    ("dsyn", "Dsyn", "synthetic", "shows one target there"),
)
"""Field and name of a figure, whose records are counted, and what their key does."""


def attribute(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    keys: Sequence[str],
    target: str,
    groups: Mapping[str, Groups] | None = None,
    exclude: Sequence[Exclusion | Mapping[str, Level]] = (),
    exclude_above: int | None = None,
    use_missing_target: bool = True,
    use_missing_keys: bool | Sequence[str] = True,
    thresholds_1way: Thresholds = (50, 0.9),
    thresholds_2way: Thresholds = (4, 0.8),
) -> AttributeResult:
    """Return the shares of records whose target their key discloses.

    An excluded record does not count as disclosive, but stays among the records that shares are
    computed of; the CAP measures other than TCAP do not change. A group of records is all
    those with one key and one target; it is excluded as a whole or not at all.

    Parameters
    ----------
    original, synthetic, keys, target, groups
        As in `synthesizer.measures.risk.cap.cap`; each dataset is compared for itself, and the
        means are given.
    exclude : sequence of Exclusion, or of their fields as in the YAML and in warnings
        Target levels, or pairs of a key level and a target level, whose disclosure is no news
        (synthpop: ``not.targetlev``; ``exclude.keys``, ``exclude.keylevs``,
        ``exclude.targetlevs``). A synthetic key is disclosive with the level that it shows.
    exclude_above : int, optional
        Leave out groups that contribute more than this number of records, at least 1: original
        records, or synthetic ones in Dsyn (synthpop: ``denom_lim``, which is 5 by default there,
        with ``exclude_ov_denom_lim = TRUE``).
    use_missing_target : bool
        Whether missing codes of the target count as disclosed (synthpop: ``usetargetNA``).
    use_missing_keys : bool or sequence of str
        Whether records with missing codes among the keys count as disclosive, or the keys whose
        missing codes may (synthpop: ``usekeysNA``).
    thresholds_1way : (int, float)
        Warn of a target level with more than this number of the records counted in DiSCO, and
        more than this share of them (synthpop: ``thresh_1way``, in percent).
    thresholds_2way : (int, float)
        Warn of a pair of a key level and a target level where groups of more than this number of
        records are counted in DiSCO, and more than this share of the original records with the
        key level have the target level (synthpop: ``thresh_2way``, in percent).

    Returns
    -------
    AttributeResult
        Shares in [0, 1], by dataset and on average, and the warnings as records.

    Raises
    ------
    DataError
        For unknown keys or target, a target with one level, exclusions that can have no effect,
        an empty synthetic dataset and the like.

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
    left_out = [e if isinstance(e, Exclusion) else _exclusion(e) for e in exclude]
    original, tables = checked_tables(original, synthetic, keys=keys, target=target, groups=groups)
    check_thresholds(thresholds_1way=thresholds_1way, thresholds_2way=thresholds_2way)
    missing_keys = _missing_out(keys, use_missing_keys, exclude_above)
    check_exclusions([original, *tables], keys=keys, target=target, exclude=left_out)

    missing_out = (*missing_keys, *(() if use_missing_target else (target,)))
    choice = {"target": target, "exclude": left_out, "missing_out": missing_out}
    attack = _Attack(original, keys, fixed_groups(original, groups), choice, exclude_above)
    values: list[AttributeValues] = []
    warnings: list[Dominance] = []
    for number, table in enumerate(tables, start=1):
        shares, disclosed = attack.values(table, number)
        values.append(shares)
        warnings += [*disclosed.one_way(thresholds_1way), *disclosed.two_way(thresholds_2way)]
    return AttributeResult(
        keys=tuple(keys),
        target=target,
        n=original.n_rows,
        n_synthetic=tuple(table.n_rows for table in tables),
        excluded=int(attack.out.sum()),
        datasets=tuple(values),
        mean=average(values),
        warnings=tuple(warnings),
    )


def _exclusion(fields: Mapping[str, Any]) -> Exclusion:
    try:
        return Exclusion(**fields)
    except (TypeError, ValidationError):
        raise DataError("an exclusion has target_level, and may have key and key_level") from None


def _missing_out(
    keys: Sequence[str], use: bool | Sequence[str], exclude_above: int | None
) -> tuple[str, ...]:
    """Return the keys whose missing codes do not count; check the options on the way."""
    problems = []
    if exclude_above is not None and exclude_above < 1:
        problems.append(f"exclude_above ({exclude_above}) must be at least 1")
    used = (tuple(keys) if use else ()) if isinstance(use, bool) else tuple(use)
    problems += [
        f"use_missing_keys names {name!r}, which is not among the keys: add it or leave it out"
        for name in used
        if name not in keys
    ]
    if problems:
        raise DataError(problems)
    return tuple(key for key in keys if key not in used)


class _Attack:
    """The original's side of the comparison, computed once for all synthetic datasets.

    ``choice`` holds target, exclusions and variables whose missing codes do not count, as keyword
    arguments of `excluded_rows`; ``limit`` is the largest group of records that counts.
    """

    def __init__(
        self,
        original: Table,
        keys: Sequence[str],
        groups: Mapping[str, Groups],
        choice: Mapping[str, Any],
        limit: int | None,
    ) -> None:
        self._original, self._keys, self._groups = original, keys, groups
        self._choice, self._limit = choice, limit
        self._key_coder = SharedCoder(original, keys, groups)
        self._target_coder = SharedCoder(original, [choice["target"]], groups)
        self._known, self._truth = self._key_coder.codes, self._target_coder.codes
        self.out = excluded_rows(original, groups=groups, **choice)
        sizes = np.bincount(self._known)[self._known]
        only = _only_level(self._known, self._truth, self._key_coder.size)
        self._disclosive = (only[self._known] >= 0) & ~self.out & self._counts(sizes)

    def _counts(self, sizes: Codes) -> BoolArray:
        """Return which groups of these sizes count."""
        return np.asarray(sizes <= (self._limit or np.inf))

    def values(self, table: Table, dataset: int) -> tuple[AttributeValues, Disclosed]:
        """Return the measures of one synthetic dataset, and the records counted in DiSCO."""
        known, truth, n = self._known, self._truth, len(self._known)
        theirs, size = self._key_coder.encode(table)
        levels, width = self._target_coder.encode(table)
        ours, made = (np.bincount(codes, minlength=size) for codes in (known, theirs))

        shown = _only_level(theirs, levels, size)
        right = shown[known] == truth
        shown[theirs[excluded_rows(table, groups=self._groups, **self._choice)]] = -1
        dsyn = (shown[theirs] >= 0) & self._counts(made[theirs])
        shown[~self._counts(np.bincount(known[right], minlength=size))] = -1
        disclosed = shown[known] == truth

        matched = int((made[known] > 0).sum())
        groups = np.bincount(known[disclosed], minlength=1)
        denominators = groups[groups > 0]
        values = AttributeValues(
            dorig=float(self._disclosive.mean()),
            dsyn=float(dsyn.mean()),
            in_synthetic=matched / n,
            dis=float((shown[known] >= 0).mean()),
            disco=float(disclosed.mean()),
            disdio=float((disclosed & self._disclosive).mean()),
            max_denom=int(denominators.max()) if len(denominators) else None,
            mean_denom=float(denominators.mean()) if len(denominators) else None,
            tcap=int(disclosed.sum()) / matched if matched else None,
            left_out=int(right.sum() - disclosed.sum()),
            **_caps((known, truth), (theirs, levels), (ours, made), width),
        )
        target = self._choice["target"]
        return values, Disclosed(
            self._original, self._keys, target, self._groups, known, truth, disclosed, dataset
        )


def _only_level(keys: Codes, levels: Codes, size: int) -> Codes:
    """Return the one target level of each key combination, -1 where it has several or none."""
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
    (known, truth), (theirs, levels) = original, synthetic
    ours, made = sizes
    pairs = np.concatenate([known * width + truth, theirs * width + levels])
    dictionary = Dictionary(pairs, len(ours) * width)
    pairs = dictionary.find(pairs)
    here, there = pairs[: len(known)], pairs[len(known) :]
    in_original, in_synthetic = (
        np.bincount(part, minlength=len(dictionary)) for part in (here, there)
    )
    return {
        "base_capd": float(np.square(np.bincount(truth)).sum() / len(truth) ** 2),
        "capd": float((in_original[here] / ours[known]).mean()),
        "caps": float((in_synthetic[there] / made[theirs]).mean()),
        # A key without a synthetic record counts as 0: neither count is divided by nothing.
        "dcap": float((in_synthetic[here] / np.maximum(made[known], 1)).mean()),
    }
