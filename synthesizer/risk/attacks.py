"""Attacks on synthetic data: singling out, linkability and inference, held against unseen records.

Three attackers try what data protection law calls identifying a person: to state a condition that
one person alone meets (singling out), to join two sources by way of the synthetic records
(linkability), to learn a secret of a person whose other values are known (inference). All three
also attack records that the synthesis never saw. What they achieve there the population gives
away, not the release; the risk is what they achieve beyond it.

The attacks are those of the package anonymeter, an optional part of the installation, which makes
the conditions on combinations; nearest records are those of `synthesizer.risk.gower`.

Source: Giomi, Boenisch, Wehmeyer and Tasnadi (2023), A unified framework for quantifying privacy
risk in synthetic data, Proceedings on Privacy Enhancing Technologies 2023(2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec

import numpy as np

from synthesizer.data.codes import Groups, cut_points
from synthesizer.data.comparable import check_keys
from synthesizer.data.pairs import Data
from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, FloatArray, Table
from synthesizer.errors import DataError
from synthesizer.risk.attack_methods import (
    Attacked,
    Tries,
    guess_secrets,
    link_records,
    single_out,
)
from synthesizer.risk.attack_results import Attack, AttackResult
from synthesizer.risk.gower import mixed_records, stacked
from synthesizer.risk.half_tables import all_names, as_halves, equal_sizes

__all__ = ["attacks"]

SECRET_GROUPS = 10

# Trying a condition takes a look at every synthetic record: half a minute for so many.
MAX_LOOKS = 5_000_000_000
FEWEST_ATTEMPTS = 1000


def attacks(
    fitted: Data,
    unseen: Data,
    synthetic: Data | Sequence[Data],
    *,
    keys: Sequence[str],
    target: str,
    names: Iterable[str] | None = None,
    linked: tuple[Sequence[str], Sequence[str]] | None = None,
    groups: Mapping[str, Groups] | None = None,
    n_attacks: int = 500,
    n_columns: int = 3,
    n_neighbours: int = 1,
    max_attempts: int = 50_000,
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> AttackResult:
    """Attack synthetic data made from one half of the records, with the other half as control.

    Parameters
    ----------
    fitted, unseen : Table or DataFrame
        A random half of the records, which the synthesis was made from, and the other half.
        Targets of linkability and inference are drawn from all of them. For singling out the
        larger one is cut at random to the size of the smaller, since a condition is met by more
        records of a larger one: records cut off cannot be singled out, so the risk is too low by
        about the share of the fitted half that was cut off (``fitted_kept`` of the result).
    synthetic : Table, DataFrame or sequence of them
        Synthetic datasets made from ``fitted``, pooled; all records are used.
    keys, target : sequence of str, str
        What the attacker on the target knows, and wants to learn.
    names : iterable of str, optional
        Variables that conditions for singling out may name; default all of ``fitted`` that are
        no identifiers.
    linked : pair of sequences of str, optional
        Variables of the two sources to be joined; by default every other key to either. With one
        key there is no such attack.
    groups : mapping of str to int or sequence of float, optional
        Number of quantile groups of the fitted half, or cut points, of numeric keys and target;
        a numeric target has 10 groups by default, other numbers are compared by distance.
    n_attacks : int
        Attacks of each sort; fewer are made where there are not as many conditions or records.
    n_columns : int
        Variables of a condition for singling out by combinations.
    n_neighbours : int
        Nearest synthetic records that two sources are joined by.
    max_attempts : int
        Conditions tried, in thousands at a time, to find ``n_attacks`` that single out; fewer
        with more than 100,000 synthetic records (10,000 for 500,000 of them, at least 1,000),
        which may leave fewer attacks but favours none.
    confidence : float
        Of all intervals, in (0, 1).
    rng : numpy.random.Generator
        Draws everything that is random.

    Returns
    -------
    AttackResult
        Risks of 0 are none, of 1 complete.

    Raises
    ------
    DataError
        If anonymeter is not installed, and for every problem of the data and the arguments.

    Notes
    -----
    Intervals take attacks as independent of each other and the halves as a random split; they do
    not tell how risks vary over splits and syntheses.

    Examples
    --------
    >>> result = attacks(  # doctest: +SKIP
    ...     fitted, unseen, synthetic, keys=["age", "sex"], target="income", rng=rng)
    >>> result["inference"].risk, result["inference"].low  # doctest: +SKIP
    (0.07, 0.01)
    """
    _need_anonymeter()
    settings = _Settings(n_attacks, n_columns, n_neighbours, max_attempts, confidence)
    _check_arguments(settings, linked)
    sources = _sources(keys, linked)
    named = tuple(dict.fromkeys(all_names(fitted) if names is None else names))
    used = tuple(dict.fromkeys([*keys, target, *(name for part in sources or () for name in part)]))
    every = tuple(dict.fromkeys([*named, *used]))
    first, second, tables = as_halves(fitted, unseen, synthetic, every)
    check_keys(first, keys=keys, target=target, groups=groups)
    cuts = _cuts(first, target, groups or {})
    bearable = max(FEWEST_ATTEMPTS, MAX_LOOKS // sum(table.n_rows for table in tables))
    settings = replace(settings, max_attempts=min(max_attempts, bearable))
    halves = equal_sizes((first, second), rng)
    kept = halves[0].n_rows / first.n_rows
    # Conditions are on values of the synthetic records: these are told apart, too.
    single = _coded([*halves, *tables], named, ranked_by=2 + len(tables))
    tries = _single_out_twice(single, settings, rng)
    scenario = _coded([_grouped(p, cuts) for p in (first, second, *tables)], used, ranked_by=2)
    if sources is not None:
        tries["linkability"] = link_records(
            scenario, sources, n_neighbours=n_neighbours, n_attacks=n_attacks, rng=rng
        )
    tries["inference"] = guess_secrets(scenario, keys, target, n_attacks=n_attacks, rng=rng)
    return AttackResult(
        keys=tuple(keys),
        target=target,
        linked=sources,
        records=halves[0].n_rows,
        all_fitted=first.n_rows,
        all_unseen=second.n_rows,
        synthetic=scenario.synthetic.n_rows,
        max_attempts=settings.max_attempts,
        confidence=confidence,
        attacks=tuple(
            Attack.of(
                name,
                asked=n_attacks,
                confidence=confidence,
                fitted_kept=kept if name.startswith("singling out") else 1.0,
                **asdict(each),
            )
            for name, each in tries.items()
        ),
    )


@dataclass(frozen=True)
class _Settings:
    """The numbers that an attack is made with."""

    n_attacks: int
    n_columns: int
    n_neighbours: int
    max_attempts: int
    confidence: float


def _need_anonymeter() -> None:
    if find_spec("anonymeter") is None:
        raise DataError("the attacks need anonymeter: pip install 'synthesizer[attacks]'")


def _check_arguments(
    settings: _Settings, linked: tuple[Sequence[str], Sequence[str]] | None
) -> None:
    problems = [
        f"{name} ({value}) must be at least 1"
        for name, value in asdict(settings).items()
        if name != "confidence" and value < 1
    ]
    if not 0 < settings.confidence < 1:
        problems.append(f"confidence ({settings.confidence}) must be between 0 and 1")
    if linked is not None:
        if not all(linked):
            problems.append("linked needs at least one variable on both sides")
        problems += [
            f"linked names {name!r} on both sides: two sources that share it need no linking"
            for name in dict.fromkeys(linked[0])
            if name in linked[1]
        ]
    if problems:
        raise DataError(problems)


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
        wanted.setdefault(target, SECRET_GROUPS)
    return {name: cut_points(table[name], wish) for name, wish in wanted.items()}


def _grouped(table: Table, cuts: Mapping[str, FloatArray]) -> Table:
    """Return the table with numbers turned into groups; missing codes stay what they are."""
    for name, points in cuts.items():
        column = table[name]
        levels = tuple(f"group {place}" for place in range(len(points) + 1))
        variable = Variable(
            name=name, kind=Kind.CATEGORICAL, levels=levels, missing=column.variable.missing
        )
        codes = np.searchsorted(points, column.data, side="right")
        missing = len(levels) - 1 + column.missing_state()
        codes = np.where(column.is_observed, codes, missing)
        table = table.with_column(Column(variable, codes.astype(np.int32)))
    return table


def _coded(parts: Sequence[Table], names: Sequence[str], *, ranked_by: int) -> Attacked:
    fitted, unseen, *synthetic = mixed_records(parts, names, real=ranked_by)
    return Attacked(fitted, unseen, stacked(synthetic))


def _single_out_twice(
    data: Attacked, settings: _Settings, rng: np.random.Generator
) -> dict[str, Tries]:
    return {
        name: single_out(
            data,
            n_columns=n_columns,
            n_attacks=settings.n_attacks,
            max_attempts=settings.max_attempts,
            rng=rng,
        )
        for name, n_columns in (
            ("singling out by rare values", None),
            ("singling out by combinations", settings.n_columns),
        )
    }
