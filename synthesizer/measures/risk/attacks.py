"""Attacks on synthetic data: singling out, linkability and inference, with holdout records.

Three attackers try what data protection law calls identifying a person: to state a condition that
exactly one person meets (singling out), to join two sources through the synthetic records
(linkability), and to learn the target of a person whose keys are known (inference). All three
also attack holdout records. Their success there comes from the population, not from the release;
the risk is the excess over it.

The counts are those of attacks that were made, which may be fewer than requested. Identical
records count as different persons. Chance levels are computed, not simulated, where possible.

Three attackers state conditions for singling out. The first takes values that exactly one synthetic
record has. The second takes a random synthetic record and a few of its values; for a number, the
condition is "at most" or "at least" that value, whichever leads away from the median. Both keep
the conditions that exactly one synthetic record meets. The third guesses, and sets the baseline.
Conditions are ranges of codes and of ranks. Each variable is sorted once, so that only the records
in the narrowest range of a condition are checked.

Source: Giomi, Boenisch, Wehmeyer and Tasnadi (2023), A unified framework for quantifying privacy
risk in synthetic data, Proceedings on Privacy Enhancing Technologies 2023(2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pydantic import Field

from synthesizer.data.codes import Codes, Groups, cut_points
from synthesizer.data.errors import DataError, Problems
from synthesizer.data.pairs import Data, check_keys, list_problems
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import BoolArray, Column, FloatArray, Kind, Table, Variable
from synthesizer.measures.figure import Figure, FigureKind, Limit, Row, column
from synthesizer.measures.halves import all_names, as_halves, equal_sizes
from synthesizer.measures.measure import Case, Measure
from synthesizer.measures.measure_options import Switched
from synthesizer.measures.risk.comparable import GroupsOf, OfTarget, Synthetic, excess, wilson
from synthesizer.measures.risk.nearest import MixedRecords, mixed_records, nearest_places, stacked

TARGET_GROUPS = 10

# Conditions times synthetic records that are checked at most: about five seconds.
MAX_LOOKS = 5_000_000_000
FEWEST_ATTEMPTS = 1000
# Attempts per batch, and records per block of the search.
_BATCH = 1000
_BLOCK = 2**12
# Approximate sizes of the samples of records that are checked first.
_FEW_ROWS = 2_000
"""Rows up to which each condition is compared with all of them."""
_SAMPLE_ROWS = (128, 512)


class AttackOptions(Switched):
    """Attacks of an intruder: singling out, linkability, inference."""

    attempts: int = Field(
        5000, ge=10, le=100_000, description="largest number of attempts of each attack"
    )


ATTACK_RISK = FigureKind(
    "attack_risk",
    "{}: risk",
    "(success on training {records} - success on holdout {records}) / (1 - success on holdout "
    "{records})",
    "about 0 is good",
    title="largest risk of an attack",
    limit=Limit(),
    is_axis=True,
)
ATTACK_SUCCESS = FigureKind(
    "attack_success",
    "{}: success",
    "share of attacks on training {records} that succeed; baseline: an attacker who guesses",
)


class Attack(Row):
    """One attack on the training half and on the holdout half; None if no attack was made.

    Examples
    --------
    >>> attack = Attack.of("inference", asked=500, n=500, successes=250, control_successes=200,
    ...                    baseline=0.3, confidence=0.95)
    >>> round(attack.risk, 3), round(attack.low, 3), round(attack.high, 3)
    (0.167, 0.072, 0.26)
    """

    name: str = column("Attack", "text", "what was tried")
    asked: int = column("Requested", "count", "attacks requested")
    n: int = column(
        "Made", "count", "attacks made on each half: there may be too few conditions or records"
    )
    successes: int = column("Successes", "count", "on training records")
    control_successes: int = column("On holdout records", "count", "successes on holdout records")
    rate: float | None = column(
        "Success", "share", "share of successes on training records", default=None
    )
    rate_low: float | None = column("From", "share", "lower end of its interval", default=None)
    rate_high: float | None = column("To", "share", "upper end", default=None)
    control_rate: float | None = column(
        "Success on holdout", "share", "share of successes on holdout records", default=None
    )
    baseline: float | None = column(
        "Guessing", "share", "share of successes of an attacker who guesses", default=None
    )
    risk: float | None = column(
        "Risk",
        "share",
        "(rate - control rate) / (1 - control rate); below 0 if attacks on holdout records succeed "
        "more often, none if the control rate is 1",
        default=None,
    )
    low: float | None = column("Risk from", "share", "lower end of its interval", default=None)
    high: float | None = column("Risk to", "share", "upper end", default=None)
    fitted_kept: float = 1.0
    """Share of training records that could be attacked; rate and risk are too low by the rest."""

    @classmethod
    def of(
        cls,
        name: str,
        *,
        asked: int,
        n: int,
        successes: int,
        control_successes: int,
        baseline: float | None,
        confidence: float,
        fitted_kept: float = 1.0,
    ) -> Attack:
        """Return rates, risk and their intervals of ``n`` attacks made on each half."""
        rates: dict[str, float | None] = {}
        if n:
            rate, control = successes / n, control_successes / n
            low, high = wilson(rate, n, confidence)
            rates = {"rate": rate, "rate_low": low, "rate_high": high, "control_rate": control}
            gain = excess(rate, n, control, n, confidence)
            rates |= dict(zip(("risk", "low", "high"), gain, strict=True))
        return cls(
            name=name,
            asked=asked,
            n=n,
            successes=successes,
            control_successes=control_successes,
            baseline=baseline,
            fitted_kept=fitted_kept,
            **rates,
        )

    @property
    def is_weak(self) -> bool | None:
        """Whether guessing succeeds more often; the attack then proves nothing, not even safety.

        An attack that succeeds as rarely as guessing is not weak: there may be nothing to find.
        """
        if self.rate_high is None or self.baseline is None:
            return None
        return self.rate_high < self.baseline

    @property
    def figures(self) -> tuple[Figure, Figure]:
        """The risk, and the share of successes."""
        limits = ""
        if round(self.fitted_kept, 2) < 1:
            limits = (
                f"too low: {100 * self.fitted_kept:.2g} % of training {{records}} were attacked"
            )
        risk = ATTACK_RISK.of(
            self.risk, self.n, limits, item=self.name, low=self.low, high=self.high, chance=0.0
        )
        rate = ATTACK_SUCCESS.of(
            self.rate,
            self.n,
            limits,
            item=self.name,
            low=self.rate_low,
            high=self.rate_high,
            baseline=self.baseline,
        )
        return risk, rate


class AttackResult(OfTarget):
    """All attacks on one synthesis."""

    linked: tuple[tuple[str, ...], tuple[str, ...]] | None
    """Variables of the two sources that are joined; None without this attack."""
    records: int = column("records of each half in the singling-out attacks", "count")
    all_fitted: int = column("training records", "count")
    all_unseen: int = column("holdout records", "count")
    synthetic: int = column("synthetic records", "count")
    max_attempts: int = column("largest number of combinations that were tried", "count")
    confidence: float = column("confidence of the intervals", "share")
    attacks: tuple[Attack, ...]
    """In the order singling out (rare values, combinations), linkability, inference."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Risk and share of successes of each attack."""
        return tuple(figure for attack in self.attacks for figure in attack.figures)

    def __getitem__(self, name: str) -> Attack:
        """Return the attack with a name; raises KeyError for an unknown one."""
        return {attack.name: attack for attack in self.attacks}[name]


def attacks(
    fitted: Data,
    unseen: Data,
    synthetic: Synthetic,
    *,
    keys: Sequence[str],
    target: str,
    names: Iterable[str] | None = None,
    linked: tuple[Sequence[str], Sequence[str]] | None = None,
    groups: GroupsOf = None,
    options: AttackOptions | None = None,
    n_attacks: int | None = None,
    n_columns: int = 4,
    n_neighbours: int = 1,
    max_attempts: int = 100_000,
    confidence: float = 0.95,
    seed: AnySeed = 0,
) -> AttackResult:
    """Return the results of attacks on synthetic data made from one half of the records.

    Parameters
    ----------
    fitted, unseen : Table or DataFrame
        Training records (a random half) and holdout records (the other half). Linkability and
        inference attack records of both in full. For singling out the larger half is cut at random
        to the size of the smaller, since more records of a larger half meet a condition. The risk
        is then too low by about the share that was cut off (1 minus ``fitted_kept``).
    synthetic : Table, DataFrame or sequence of them
        Synthetic datasets made from ``fitted``, pooled; all records are used.
    keys, target : sequence of str, str
        Variables that the inference attack knows, and the one that it guesses.
    names : iterable of str, optional
        Variables of conditions for singling out; by default all of ``fitted`` but identifiers.
    linked : pair of sequences of str, optional
        Variables of the two sources to be joined; by default the keys in turn. With one key there
        is no linkability attack.
    groups : mapping of str to int or sequence of float, optional
        Number of quantile groups of the training half, or cut points, of numeric keys and target;
        a numeric target has 10 groups by default, other numbers are compared by distance.
    options : AttackOptions, optional
        Options of the check, as under ``checks: {attacks: ...}``.
    n_attacks : int, optional
        Attacks of each kind, in place of ``attempts`` of the options; fewer are made if there are
        too few conditions or records.
    n_columns : int
        Variables of a condition for singling out by combinations.
    n_neighbours : int
        Nearest synthetic records through which two sources are joined.
    max_attempts : int
        Largest number of conditions tried to find ``n_attacks`` that single out; fewer with more
        than 250,000 synthetic records (10,000 for 500,000 records, at least 1,000).
    confidence : float
        Confidence level of all intervals, in (0, 1).
    seed : int or Seed
        Seed of all random draws.

    Returns
    -------
    AttackResult
        Risks: 0 is none, 1 is complete disclosure.

    Raises
    ------
    DataError
        For every problem of the data and the arguments.

    Notes
    -----
    Intervals assume independent attacks and a random split. They do not include the variation over
    splits and syntheses.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"age": rng.permutation(90), "pay": rng.permutation(90)})
    >>> result = attacks(people[:45], people[45:], people[:45], keys=["age"], target="pay", seed=1)
    >>> result["inference"].successes, result["inference"].risk
    (45, 1.0)
    """
    options = (options or AttackOptions()).changed(attempts=n_attacks)
    n_attacks = options.attempts
    counts = {
        "n_attacks": n_attacks,
        "n_columns": n_columns,
        "n_neighbours": n_neighbours,
        "max_attempts": max_attempts,
    }
    _check_arguments(keys, counts, confidence, linked)
    sources = _sources(keys, linked)
    named = tuple(dict.fromkeys(all_names(fitted) if names is None else names))
    used = tuple(dict.fromkeys([*keys, target, *(name for s in sources or () for name in s)]))
    every = tuple(dict.fromkeys([*named, *used]))
    first, second, tables = as_halves(fitted, unseen, synthetic, every)
    check_keys(first, keys=keys, target=target, groups=groups)
    cuts = _cuts(first, target, groups or {})
    bearable = max(FEWEST_ATTEMPTS, MAX_LOOKS // sum(table.n_rows for table in tables))
    max_attempts = min(max_attempts, bearable)
    rng = seeded(seed).generator("attacks")
    halves = equal_sizes((first, second), rng)
    fitted_share = halves[0].n_rows / first.n_rows
    # Conditions use values of synthetic records, so that these are coded, too.
    single = _coded([*halves, *tables], named, ranked_by=2 + len(tables))
    tries = _single_out(single, n_columns, n_attacks, max_attempts, rng)
    scenario = _coded([_grouped(p, cuts) for p in (first, second, *tables)], used, ranked_by=2)
    if sources is not None:
        tries["linkability"] = _link_records(scenario, sources, n_neighbours, n_attacks, rng)
    tries["inference"] = _guess_targets(scenario, keys, target, n_attacks, rng)
    return AttackResult(
        keys=tuple(keys),
        target=target,
        linked=sources,
        records=halves[0].n_rows,
        all_fitted=first.n_rows,
        all_unseen=second.n_rows,
        synthetic=scenario.synthetic.n_rows,
        max_attempts=max_attempts,
        confidence=confidence,
        attacks=tuple(
            Attack.of(
                name,
                asked=n_attacks,
                confidence=confidence,
                fitted_kept=fitted_share if name.startswith("singling out") else 1.0,
                **each._asdict(),
            )
            for name, each in tries.items()
        ),
    )


def _check_arguments(
    keys: Sequence[str],
    counts: Mapping[str, int],
    confidence: float,
    linked: tuple[Sequence[str], Sequence[str]] | None,
) -> None:
    problems = Problems(list_problems("keys", keys))
    problems += [f"{name} ({n}) must be at least 1" for name, n in counts.items() if n < 1]
    if not 0 < confidence < 1:
        problems.append(f"confidence ({confidence}) must be between 0 and 1")
    if linked is not None:
        if not all(linked):
            problems.append("linked needs at least one variable on both sides")
        problems += [
            f"linked names {name!r} on both sides: remove it from one, or from both"
            for name in dict.fromkeys(linked[0])
            if name in linked[1]
        ]
    problems.settle(DataError)


def _sources(
    keys: Sequence[str], linked: tuple[Sequence[str], Sequence[str]] | None
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the variables of the two sources to be joined."""
    if linked is not None:
        return tuple(dict.fromkeys(linked[0])), tuple(dict.fromkeys(linked[1]))
    return (tuple(keys[::2]), tuple(keys[1::2])) if len(keys) > 1 else None


def _cuts(table: Table, target: str, groups: Mapping[str, Groups]) -> dict[str, FloatArray]:
    """Return cut points of the grouped variables: a numeric target is always one of them."""
    wanted = dict(groups)
    if not table[target].is_coded:
        wanted.setdefault(target, TARGET_GROUPS)
    return {name: cut_points(table[name], wish) for name, wish in wanted.items()}


def _grouped(table: Table, cuts: Mapping[str, FloatArray]) -> Table:
    """Return the table with grouped numbers; missing codes do not change."""
    for name, points in cuts.items():
        column = table[name]
        levels = tuple(f"group {number}" for number in range(len(points) + 1))
        variable = Variable(
            name=name, kind=Kind.CATEGORICAL, levels=levels, missing=column.variable.missing
        )
        codes = np.searchsorted(points, column.data, side="right")
        missing = len(levels) - 1 + column.missing_state()
        codes = np.where(column.is_observed, codes, missing)
        table = table.with_column(Column(variable, codes.astype(np.int32)))
    return table


def _coded(parts: Sequence[Table], names: Sequence[str], *, ranked_by: int) -> _Attacked:
    fitted, unseen, *synthetic = mixed_records(parts, names, real=ranked_by)
    return _Attacked(fitted, unseen, stacked(synthetic))


@dataclass(frozen=True, eq=False)
class _Attacked:
    """Records of both halves and synthetic records, coded together."""

    fitted: MixedRecords
    unseen: MixedRecords
    synthetic: MixedRecords


class _Tries(NamedTuple):
    """Number of attacks, and of successes on both halves."""

    n: int
    successes: int
    control_successes: int
    baseline: float | None
    """Share of successes of an attacker who guesses; None without attacks."""


def _single_out(
    data: _Attacked, n_columns: int, n: int, max_attempts: int, rng: np.random.Generator
) -> dict[str, _Tries]:
    """Return the successes of conditions that single out one record of a half.

    Exactly one synthetic record meets each condition. The halves must have the same size, since
    more records of a larger half meet a condition.
    """
    synthetic = SortedRecords(data.synthetic)
    fitted, unseen = SortedRecords(data.fitted), SortedRecords(data.unseen)
    rare = rare_values(synthetic, n, rng)
    combined = rare_combinations(synthetic, n_columns, n, max_attempts, rng)
    return {
        name: _Tries(
            n=len(conditions),
            successes=int(fitted.met_by_one(conditions).sum()),
            control_successes=int(unseen.met_by_one(conditions).sum()),
            baseline=float(fitted.met_by_one(guesses(synthetic, size, n, rng)).mean()),
        )
        for name, conditions, size in (
            ("singling out by rare values", rare, 1),
            ("singling out by combinations", combined, n_columns),
        )
    }


def _link_records(
    data: _Attacked,
    parts: tuple[Sequence[str], Sequence[str]],
    n_neighbours: int,
    n_attacks: int,
    rng: np.random.Generator,
) -> _Tries:
    """Return the successes of joining two sources of variables through synthetic records.

    A success is a record whose nearest synthetic records by the first and by the second part of
    the variables have one in common.
    """
    size = data.synthetic.n_rows
    k = min(n_neighbours, size)
    targets, n = _targets(data, n_attacks, rng)
    first, second = (_neighbours(data.synthetic, targets, names, k, rng) for names in parts)
    linked = (first[:, :, None] == second[:, None, :]).any(axis=(1, 2))
    # Probability that two random sets of k of `size` records have one in common.
    chance = 1 - math.comb(size - k, k) / math.comb(size, k)
    return _Tries(n, int(linked[:n].sum()), int(linked[n:].sum()), chance)


def _guess_targets(
    data: _Attacked, keys: Sequence[str], target: str, n_attacks: int, rng: np.random.Generator
) -> _Tries:
    """Return the successes of guessing the target from the synthetic record nearest in the keys.

    The target must be coded. The baseline takes the target of a random synthetic record.
    """
    shown = data.synthetic.labels[target].astype(np.int64)
    targets, n = _targets(data, n_attacks, rng)
    truth = targets.labels[target].astype(np.int64)
    right = shown[_neighbours(data.synthetic, targets, keys, 1, rng)[:, 0]] == truth
    size = int(max(shown.max(), truth.max())) + 1
    share, true_share = (np.bincount(c, minlength=size) / len(c) for c in (shown, truth[:n]))
    return _Tries(n, int(right[:n].sum()), int(right[n:].sum()), float(share @ true_share))


def _targets(data: _Attacked, n_attacks: int, rng: np.random.Generator) -> tuple[MixedRecords, int]:
    """Return n random training records, then n random holdout records, and n."""
    halves = (data.fitted, data.unseen)
    n = min(n_attacks, *(half.n_rows for half in halves))
    return stacked([half.take(rng.permutation(half.n_rows)[:n]) for half in halves]), n


def _neighbours(
    synthetic: MixedRecords,
    targets: MixedRecords,
    names: Sequence[str],
    k: int,
    rng: np.random.Generator,
) -> Codes:
    """Return the positions of the k nearest synthetic records, shape (targets, k).

    Ties go to the first record of a random order, drawn for each search: with the order of the
    file both parts of a record would agree by chance.
    """
    order = rng.permutation(synthetic.n_rows)
    known = targets.take(np.arange(targets.n_rows), names)
    return np.asarray(order[nearest_places(known, synthetic.take(order, names), k)])


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions, each the conjunction of its terms; arrays have shape (conditions, terms)."""

    variables: Codes
    """Positions of the variables."""
    low: Codes
    """Lower end of the range of a term."""
    high: Codes
    """Upper end of the range of a term."""
    outside: BoolArray
    """Whether the term is met outside the range instead."""

    def __len__(self) -> int:
        return len(self.variables)

    def take(self, rows: Codes | slice) -> Conditions:
        """Return some of the conditions."""
        return Conditions(self.variables[rows], self.low[rows], self.high[rows], self.outside[rows])


class SortedRecords:
    """Records with each variable sorted, to count those that meet conditions.

    All missing codes of numbers are one value, ``missing``, above all numbers. Labels come first
    in the order of variables.
    """

    def __init__(self, records: MixedRecords) -> None:
        self.missing = records.unit + 1
        numbers = [np.minimum(v.astype(np.int64), self.missing) for v in records.numbers.values()]
        self.codes = np.array([*records.labels.values(), *numbers], dtype=np.int32)
        self.n_variables, self.n_rows = self.codes.shape
        self.is_number = np.arange(len(self.codes)) >= len(records.labels)
        self._orders = np.argsort(self.codes, axis=1)
        self._sorted = np.take_along_axis(self.codes, self._orders, axis=1)

    @property
    def medians(self) -> FloatArray:
        """Medians of observed numbers, shape (variables,); 0 for labels."""
        medians = np.zeros(self.n_variables)
        for variable in np.flatnonzero(self.is_number):
            numbers = self._sorted[variable]
            numbers = numbers[numbers < self.missing]
            medians[variable] = np.median(numbers) if len(numbers) else 0
        return medians

    def distinct(self, variable: int) -> tuple[Codes, Codes]:
        """Return the values of one variable, in order, and the number of records of each."""
        values, counts = np.unique(self._sorted[variable], return_counts=True)
        return values.astype(np.int64), counts

    def met_by_one(self, conditions: Conditions) -> BoolArray:
        """Return which conditions exactly one record meets, shape (conditions,).

        Many records meet most conditions, which a sample of the records shows.
        """
        is_met = np.zeros(len(conditions), dtype=bool)
        for first in range(0, len(conditions), _BATCH):
            batch = conditions.take(slice(first, first + _BATCH))
            remaining = np.arange(len(batch))
            for some in _SAMPLE_ROWS:
                remaining = remaining[self._met_by_some(batch.take(remaining), some) < 2]
            is_met[first + remaining] = self._met_by_one(batch.take(remaining))
        return is_met

    def _met_by_some(self, conditions: Conditions, size: int) -> Codes:
        """Return the number of records of a sample that meet each condition."""
        some = np.ascontiguousarray(self.codes[:, :: max(1, self.n_rows // size)])
        met = np.ones((len(conditions), some.shape[1]), dtype=bool)
        low, high = (k.astype(np.int32) for k in (conditions.low, conditions.high))
        for term, variables in enumerate(conditions.variables.T):
            values = some[variables]
            inside = values >= low[:, term, None]
            inside &= values <= high[:, term, None]
            met &= inside != conditions.outside[:, term, None]
        return np.asarray(met.sum(axis=1))

    def _met_by_one(self, conditions: Conditions) -> BoolArray:
        if self.n_rows <= _FEW_ROWS:
            return np.asarray(self._met_by_some(conditions, self.n_rows) == 1)
        start, stop = self._ranges(conditions)
        inside = stop - start
        widths = np.where(conditions.outside, self.n_rows - inside, inside)
        order = np.argsort(widths, axis=1, kind="stable")
        terms = (conditions.variables, conditions.low, conditions.high, conditions.outside)
        columns = [np.take_along_axis(c, order, axis=1).tolist() for c in (*terms, start, stop)]
        return np.array(
            [self._one_meets([*zip(*rows, strict=True)]) for rows in zip(*columns, strict=True)],
            dtype=bool,
        )

    def _ranges(self, conditions: Conditions) -> tuple[Codes, Codes]:
        start, stop = np.zeros_like(conditions.low), np.zeros_like(conditions.low)
        for variable, values in enumerate(self._sorted):
            terms = conditions.variables == variable
            # The same type avoids a conversion in every search.
            low, high = (k[terms].astype(values.dtype) for k in (conditions.low, conditions.high))
            start[terms] = np.searchsorted(values, low, side="left")
            stop[terms] = np.searchsorted(values, high, side="right")
        return start, stop

    def _one_meets(self, terms: Sequence[tuple[int, ...]]) -> bool:
        """Return whether exactly one record meets all terms, the narrowest of which comes first.

        A term is variable, low, high, outside, and the slice of its range among sorted values.
        """
        (variable, *_, outside, start, stop), *others = terms
        order = self._orders[variable]
        rows = np.concatenate([order[:start], order[stop:]]) if outside else order[start:stop]
        met = 0
        for first in range(0, len(rows), _BLOCK):
            block = rows[first : first + _BLOCK]
            for variable, low, high, outside, *_ in others:
                values = self.codes[variable][block]
                block = block[((values >= low) & (values <= high)) != outside]
            met += len(block)
            if met > 1:
                return False
        return met == 1


def rare_values(records: SortedRecords, n: int, rng: np.random.Generator) -> Conditions:
    """Return all conditions on rare values of one variable, or a random choice of ``n``.

    The conditions are "= value" and "missing" that one record meets, and "at most the minimum" and
    "at least the maximum" if one record meets them.
    """
    ranges = [_rare_ranges(records, variable) for variable in range(records.n_variables)]
    variables = np.repeat(np.arange(records.n_variables), [len(low) for low, _ in ranges])
    low, high = (np.concatenate(bounds) for bounds in zip(*ranges, strict=True))
    rows = rng.permutation(len(variables))[:n, None]
    return Conditions(variables[rows], low[rows], high[rows], np.zeros(rows.shape, dtype=bool))


def _rare_ranges(records: SortedRecords, variable: int) -> tuple[Codes, Codes]:
    """Return lower and upper ends of all conditions on rare values of a variable."""
    values, counts = records.distinct(variable)
    rare = values[counts == 1]
    if not records.is_number[variable]:
        return rare, rare
    numbers = values[values < records.missing]
    least, largest = (rare[np.isin(rare, end)] for end in (numbers[:1], numbers[-1:]))
    low = np.concatenate([rare, np.zeros_like(least), largest])
    high = np.concatenate([rare, least, np.full_like(largest, records.missing - 1)])
    return low, high


def rare_combinations(
    records: SortedRecords, n_terms: int, n: int, max_attempts: int, rng: np.random.Generator
) -> Conditions:
    """Return up to ``n`` different conditions that exactly one record meets.

    Every attempt takes a random record and ``n_terms`` random variables, until there are ``n``
    conditions or after ``max_attempts``.
    """
    n_terms = min(n_terms, records.n_variables)
    medians = records.medians
    # Pairs of a record and variables: different pairs are different conditions.
    alone = np.empty((0, 1 + n_terms), dtype=np.int64)
    for done in range(0, max_attempts, _BATCH):
        attempts = _attempts(records, n_terms, min(_BATCH, max_attempts - done), rng)
        met = records.met_by_one(_of_records(records, medians, attempts))
        alone = np.concatenate([alone, attempts[met]])
        alone = alone[np.sort(np.unique(alone, axis=0, return_index=True)[1])]
        if len(alone) >= n:
            break
    return _of_records(records, medians, alone[:n])


def _attempts(records: SortedRecords, n_terms: int, size: int, rng: np.random.Generator) -> Codes:
    """Return random records and variables of each, sorted, shape (size, 1 + n_terms)."""
    rows = rng.integers(records.n_rows, size=size)
    return np.column_stack([rows, np.sort(_some_variables(records, n_terms, size, rng), axis=1)])


def _some_variables(records: SortedRecords, terms: int, n: int, rng: np.random.Generator) -> Codes:
    """Return variables drawn without replacement, shape (n, terms)."""
    return np.argsort(rng.random((n, records.n_variables)), axis=1)[:, :terms]


def _of_records(records: SortedRecords, medians: FloatArray, attempts: Codes) -> Conditions:
    """Return the conditions from records: "= label", "missing", or a number and beyond."""
    rows, variables = attempts[:, :1], attempts[:, 1:]
    values = records.codes[variables, rows].astype(np.int64)
    observed = records.is_number[variables] & (values < records.missing)
    above = values > medians[variables]
    low = np.where(observed & ~above, 0, values)
    high = np.where(observed & above, records.missing - 1, values)
    return Conditions(variables, low, high, np.zeros(values.shape, dtype=bool))


def guesses(records: SortedRecords, n_terms: int, n: int, rng: np.random.Generator) -> Conditions:
    """Return ``n`` random conditions: labels and "missing" with = or !=, numbers with six signs."""
    variables = _some_variables(records, min(n_terms, records.n_variables), n, rng)
    distinct = [records.distinct(variable)[0] for variable in range(records.n_variables)]
    sizes = np.array([len(values) for values in distinct])
    starts = np.cumsum(sizes) - sizes
    values = np.concatenate(distinct)[starts[variables] + rng.integers(sizes[variables])]
    observed = records.is_number[variables] & (values < records.missing)
    comparison = rng.integers(np.where(observed, 6, 2))
    last = np.full_like(values, records.missing - 1)
    zero = np.zeros_like(values)
    # In the order =, !=, <, <=, >=, >.
    low = np.choose(comparison, [values, values, zero, zero, values, values + 1])
    high = np.choose(comparison, [values, values, values - 1, values, last, last])
    return Conditions(variables, low, high, comparison == 1)


def _attacked(case: Case) -> AttackResult:
    run = case.halves
    return attacks(
        *(run.fitted, run.unseen, run.synthetic),
        **case.by_class,
        options=case.settings.attacks,
        seed=case.seed,
    )


MEASURES = (
    Measure(
        "attacks",
        "halves",
        after="inference ({})",
        words="singling out, linkability, inference",
        options=AttackOptions,
        needs=("scenario",),
        compute=_attacked,
        figures=(ATTACK_RISK, ATTACK_SUCCESS),
    ),
)
