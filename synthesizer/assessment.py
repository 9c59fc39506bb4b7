"""The disclosure risk of any two data sets, whoever made the synthetic ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from synthesizer.data.codes import Groups
from synthesizer.data.comparable import check_comparable, check_keys
from synthesizer.data.inference import Declaration
from synthesizer.data.pairs import Data, as_table, as_tables, column_names
from synthesizer.data.table import Table
from synthesizer.errors import DataError
from synthesizer.randomness import Seed
from synthesizer.risk.attack_results import AttackResult
from synthesizer.risk.attacks import attacks
from synthesizer.risk.attribution import Tolerance
from synthesizer.risk.differential import compare_halves, with_cut_points
from synthesizer.risk.exclusions import Exclusion
from synthesizer.risk.half_groups import Grouping
from synthesizer.risk.half_results import DifferentialResult, gather
from synthesizer.risk.halves import control_run
from synthesizer.risk.nearest import NearestResult, nearer_share
from synthesizer.risk.public import InferenceResult, inference
from synthesizer.risk.replicated import ReplicatedUniques, replicated_uniques
from synthesizer.risk.result import RiskResult
from synthesizer.risk.scenario import Scenario
from synthesizer.risk.suggest import suggest
from synthesizer.risk.suite import Attempts, Measures, scenario_risk

__all__ = ["Question", "assess"]


@dataclass(frozen=True, kw_only=True)
class Question:
    """A sensitive variable that might be inferred from public ones.

    Parameters
    ----------
    sensitive : str
        The sensitive variable.
    public : tuple of str
        Variables that anybody can look up.
    positive : str or None
        The class that is looked for.
    baseline : tuple of str
        Public variables whose tables with the sensitive one are published.
    groups : mapping of str to int or sequence of float
        Quantile groups or cut points of numeric variables.
    """

    sensitive: str
    public: tuple[str, ...]
    positive: str | None = None
    baseline: tuple[str, ...] = ()
    groups: Mapping[str, Groups] = field(default_factory=dict)


def assess(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    keys: Sequence[str] | None = None,
    target: str | None = None,
    groups: Mapping[str, Groups] | None = None,
    tolerance: Tolerance | None = None,
    exclude: Sequence[Exclusion] = (),
    question: Question | None = None,
    control: Data | None = None,
    by: str | None = None,
    with_attacks: bool = False,
    measures: Measures | None = None,
    declared: Mapping[str, Declaration] | None = None,
    seed: int = 0,
) -> RiskResult:
    """Compute every risk measure of synthetic data against the original.

    Parameters
    ----------
    original : DataFrame, Table or RawTable
        Confidential records that the synthetic data were made from.
    synthetic : one or a sequence of them
        Synthetic datasets.
    keys, target : optional
        What an intruder knows and seeks; suggested from the original when absent.
    groups, tolerance, exclude
        See `synthesizer.risk.scenario.Scenario`.
    question : Question, optional
        Inference about a sensitive variable from public ones.
    control : DataFrame, Table or RawTable, optional
        Records of the same population that the synthetic data were not made from: they show what
        is risk and what is knowledge of the population. Needed for differential
        confidentiality, nearest records and attacks.
    by : str, optional
        Variable among whose groups the worst is looked for; needs ``control``.
    with_attacks : bool
        Whether to run anonymeter's attacks; needs ``control`` and the extra ``attacks``.
    measures : Measures, optional
        Families of measures and their settings.
    declared : mapping of str to Declaration, optional
        Kinds and missing codes of variables, inferred where absent.
    seed : int
        Decides everything that is random.

    Raises
    ------
    DataError
        With every problem of the data and the arguments.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"town": list("aabbcc"), "ill": ["no", "no", "yes"] * 2})
    >>> made = people.iloc[:3]
    >>> result = assess(people, made, keys=["town"], target="ill")
    >>> result.main.cap.row(1).zero
    0.5
    """
    several = [synthetic] if isinstance(synthetic, Data) else list(synthetic)
    scenario = Scenario(
        keys=tuple(keys or ()),
        target=target or "",
        groups=groups or {},
        tolerance=tolerance,
        exclude=tuple(exclude),
        reason="as asked for",
    )
    if keys is None or target is None:
        scenario = _suggested(original, scenario, keys, target, declared)
    files = _read(original, several, control, [*scenario.names, *_asked(question, by)], declared)
    _check(files, scenario, question, by, with_attacks=with_attacks)
    attempts, draws = Attempts(), Seed(seed)
    compared = attempts.of(
        "differential_confidentiality", partial(_differential, files, scenario, by)
    )
    main = scenario_risk(
        files.original, files.synthetic, scenario, measures or Measures(), attempts, compared
    )
    inferred = None
    if question is not None:
        inferred = attempts.of("inference", partial(_inferred, files, question))
    whole = attempts.of("whole records", partial(_whole, original, several, control, declared))
    found = _WholeRecords() if whole is None else _whole_records(whole, attempts, draws)
    return RiskResult(
        scenarios=(main,),
        inference=() if inferred is None else (inferred,),
        replicated=found.replicated,
        nearest=found.nearest,
        attacks=(
            attempts.of("attacks", partial(_attacks, whole, scenario, draws))
            if with_attacks and whole is not None
            else None
        ),
        failed=attempts.failed,
    )


@dataclass(frozen=True, eq=False)
class _Files:
    """The data as tables; no control where there is none."""

    original: Table
    synthetic: tuple[Table, ...]
    control: Table | None


def _asked(question: Question | None, by: str | None) -> list[str]:
    names = [] if question is None else [question.sensitive, *question.public]
    return names if by is None else [*names, by]


def _suggested(
    original: Data,
    scenario: Scenario,
    keys: Sequence[str] | None,
    target: str | None,
    declared: Mapping[str, Declaration] | None,
) -> Scenario:
    table = as_table(original, column_names(original), declared, ids=False)
    found = suggest(table, keys=keys, target=target)
    if not found.keys or found.target is None:
        raise DataError("no keys and target could be found in the original: name them")
    return replace(scenario, keys=found.keys, target=found.target, reason=found.reason)


def _read(
    original: Data,
    synthetic: Sequence[Data],
    control: Data | None,
    names: Sequence[str],
    declared: Mapping[str, Declaration] | None,
) -> _Files:
    table, made = as_tables(original, synthetic, names, declared)
    if control is None:
        return _Files(table, made, None)
    try:
        return _Files(table, made, as_tables(table, control, names)[1][0])
    except DataError as error:  # it is read like a synthetic one, and must not be called so
        told = [problem.replace("synthetic dataset 1", "control") for problem in error.problems]
        raise DataError(told) from None


def _check(
    files: _Files,
    scenario: Scenario,
    question: Question | None,
    by: str | None,
    *,
    with_attacks: bool,
) -> None:
    """Raise one DataError for everything that is wrong with names, kinds and files."""
    problems: list[str] = []
    named = [name for name in (*scenario.names, *_asked(question, by)) if name in files.original]
    keys: dict[str, Any] = {"keys": scenario.keys, "target": scenario.target}
    checks = [
        partial(check_keys, files.original, **keys, groups=scenario.groups),
        partial(check_comparable, files.original, files.synthetic, named),
    ]
    if asked := tuple(dict.fromkeys(_asked(question, by))):
        checks.append(partial(check_keys, files.original, keys=asked))
    for check in checks:
        try:
            check()
        except DataError as error:
            problems += error.problems
    if files.control is None:
        problems += ["a group ('by') needs a control file: name one"] if by is not None else []
        problems += ["the attacks need a control file: name one"] if with_attacks else []
    else:
        problems += [
            f"column {name!r} is not in the control file: add it"
            for name in dict.fromkeys(named)
            if name not in files.control
        ]
    if problems:
        raise DataError(dict.fromkeys(problems))


def _differential(files: _Files, scenario: Scenario, by: str | None) -> DifferentialResult | None:
    if files.control is None:
        return None
    run = control_run(files.original, files.control, files.synthetic)
    fixed = with_cut_points(scenario, files.original)
    grouping = None if by is None else Grouping.of(files.original, by)
    return gather(fixed, [compare_halves(run, fixed, grouping)])


def _inferred(files: _Files, question: Question) -> InferenceResult:
    return inference(
        files.original,
        files.synthetic,
        sensitive=question.sensitive,
        public=question.public,
        positive=question.positive,
        baseline=question.baseline,
        groups=question.groups,
    )


def _whole(
    original: Data,
    synthetic: Sequence[Data],
    control: Data | None,
    declared: Mapping[str, Declaration] | None,
) -> _Files:
    """Return the columns that all files have, without identifiers: these are never alike."""
    others = [*synthetic, *([] if control is None else [control])]
    shared = [n for n in column_names(original) if all(n in column_names(o) for o in others)]
    table = as_table(original, shared, declared, ids=False)
    _, made = as_tables(table, others, table.names)
    return _Files(table, made[: len(synthetic)], None if control is None else made[-1])


@dataclass(frozen=True)
class _WholeRecords:
    replicated: ReplicatedUniques | None = None
    nearest: NearestResult | None = None


def _whole_records(files: _Files, attempts: Attempts, seed: Seed) -> _WholeRecords:
    replicated = attempts.of(
        "replicated_uniques", lambda: replicated_uniques(files.original, files.synthetic)
    )
    if files.control is None:
        return _WholeRecords(replicated)
    parts = (files.original, files.control, files.synthetic)
    nearest = attempts.of("nearest", lambda: nearer_share(*parts, rng=seed.generator("nearest")))
    return _WholeRecords(replicated, nearest)


def _attacks(files: _Files, scenario: Scenario, seed: Seed) -> AttackResult | None:
    if files.control is None:
        return None
    return attacks(
        files.original,
        files.control,
        files.synthetic,
        keys=scenario.keys,
        target=scenario.target,
        groups=scenario.groups,
        rng=seed.generator("attacks"),
    )
