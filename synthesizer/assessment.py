"""The disclosure risk of any two data sets, whoever made the synthetic ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from synthesizer.assessment_inputs import Files, Question, asked_names, checked, read_files
from synthesizer.data.codes import Groups
from synthesizer.data.inference import Declaration
from synthesizer.data.pairs import Data, as_table, as_tables, column_names
from synthesizer.errors import DataError
from synthesizer.progress import Listener, silent
from synthesizer.randomness import MAX_SEED, Seed
from synthesizer.risk.attack_results import AttackResult
from synthesizer.risk.attacks import attacks
from synthesizer.risk.attribution import Tolerance
from synthesizer.risk.differential import compare_halves, with_cut_points
from synthesizer.risk.exclusions import Exclusion
from synthesizer.risk.half_groups import Grouping
from synthesizer.risk.half_results import DifferentialResult, gather
from synthesizer.risk.halves import control_run
from synthesizer.risk.nearest import NearestResult, nearer_share
from synthesizer.risk.replicated import ReplicatedUniques, replicated_uniques
from synthesizer.risk.result import RiskResult
from synthesizer.risk.scenario import Scenario
from synthesizer.risk.suggest import suggest
from synthesizer.risk.suite import Attempts, Measures, scenario_risk

__all__ = ["Question", "assess"]


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
    units: str | None = None,
    with_attacks: bool = False,
    measures: Measures | None = None,
    declared: Mapping[str, Declaration] | None = None,
    seed: int = 0,
    listener: Listener = silent,
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
    units : str, optional
        Variable that names the person of each record where the data are a panel: persons count,
        not records; needs ``control``.
    with_attacks : bool
        Whether to run anonymeter's attacks; needs ``control`` and the extra ``attacks``.
    measures : Measures, optional
        Families of measures and their settings.
    declared : mapping of str to Declaration, optional
        Kinds and missing codes of variables, inferred where absent.
    seed : int
        Decides everything that is random.
    listener : Listener, optional
        Is told about work that may take long.

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
    problems = [] if 0 <= seed <= MAX_SEED else [f"seed ({seed}) must be in 0 to 2**63 - 1"]
    wanted = measures or Measures()
    problems += wanted.problems
    if problems:
        raise DataError(problems)
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
    files = read_files(
        original, several, control, [*scenario.names, *asked_names(question, by, units)], declared
    )
    inferred = checked(files, scenario, question, by=by, units=units, with_attacks=with_attacks)
    attempts, draws = Attempts(), Seed(seed)
    compared = attempts.of(
        "differential_confidentiality", partial(_differential, files, scenario, by, units)
    )
    main = scenario_risk(
        files.original,
        files.synthetic,
        scenario,
        wanted,
        attempts,
        compared,
        listener,
    )
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


def _differential(
    files: Files, scenario: Scenario, by: str | None, units: str | None
) -> DifferentialResult | None:
    if files.control is None:
        return None
    run = control_run(files.original, files.control, files.synthetic, units)
    fixed = with_cut_points(scenario, files.original)
    grouping = None if by is None else Grouping.of(files.original, by)
    return gather(fixed, [compare_halves(run, fixed, grouping)])


def _whole(
    original: Data,
    synthetic: Sequence[Data],
    control: Data | None,
    declared: Mapping[str, Declaration] | None,
) -> Files:
    """Return the columns that all files have, without identifiers: these are never alike."""
    others = [*synthetic, *([] if control is None else [control])]
    shared = [n for n in column_names(original) if all(n in column_names(o) for o in others)]
    table = as_table(original, shared, declared, ids=False)
    _, made = as_tables(table, others, table.names)
    return Files(table, made[: len(synthetic)], None if control is None else made[-1])


@dataclass(frozen=True)
class _WholeRecords:
    replicated: ReplicatedUniques | None = None
    nearest: NearestResult | None = None


def _whole_records(files: Files, attempts: Attempts, seed: Seed) -> _WholeRecords:
    replicated = attempts.of(
        "replicated_uniques", lambda: replicated_uniques(files.original, files.synthetic)
    )
    if files.control is None:
        return _WholeRecords(replicated)
    parts = (files.original, files.control, files.synthetic)
    nearest = attempts.of("nearest", lambda: nearer_share(*parts, rng=seed.generator("nearest")))
    return _WholeRecords(replicated, nearest)


def _attacks(files: Files, scenario: Scenario, seed: Seed) -> AttackResult | None:
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
