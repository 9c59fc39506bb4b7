"""The disclosure risk of any two data sets, whoever made the synthetic ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from synthesizer.assessment_inputs import (
    Files,
    Question,
    Request,
    answered,
    read_files,
    sound_names,
)
from synthesizer.assessment_notes import control_notes, unit_notes, unlike_notes
from synthesizer.attempts import Attempts
from synthesizer.data.codes import Groups
from synthesizer.data.inference import Declaration
from synthesizer.data.pairs import Data, as_table, as_tables, column_names
from synthesizer.data.table import Table
from synthesizer.errors import DataError
from synthesizer.panel.view import PersonView
from synthesizer.progress import Listener, silent
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
from synthesizer.risk.replicated import ReplicatedUniques, replicated_uniques
from synthesizer.risk.result import RiskResult
from synthesizer.risk.scenario import Scenario
from synthesizer.risk.scenario_risk import ScenarioRisk
from synthesizer.risk.suggest import suggest
from synthesizer.risk.suite import Measures, scenario_risk

__all__ = ["Measures", "Question", "assess"]


def assess(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    keys: Sequence[str] | None = None,
    target: str | None = None,
    groups: Mapping[str, Groups] | None = None,
    tolerance: Tolerance | None = None,
    exclude: Sequence[Exclusion] = (),
    scenarios: Sequence[Scenario] = (),
    questions: Question | Sequence[Question] = (),
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
        Confidential records that the synthetic data were made from; the persons of a panel where
        all data are `PersonView`.
    synthetic : one or a sequence of them
        Synthetic datasets.
    keys, target : optional
        What an intruder knows and seeks; suggested from the original when absent.
    groups, tolerance, exclude
        See `synthesizer.risk.scenario.Scenario`.
    scenarios : sequence of Scenario
        Further keys and targets.
    questions : Question or sequence of Question
        Inference about sensitive variables from public ones.
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
    several = [synthetic] if isinstance(synthetic, Data) else list(synthetic or ())
    if isinstance(keys, str):
        raise DataError(f"keys must be a list of names, not one text: write [{keys!r}]")
    first = Scenario(
        keys=tuple(keys or ()),
        target=target or "",
        groups=groups or {},
        tolerance=tolerance,
        exclude=tuple(exclude),
        reason="as asked for",
    )
    if keys is None or target is None:
        first = _suggested(original, first, keys, target, declared)
    request = Request(
        scenarios=(first, *scenarios),
        questions=(questions,) if isinstance(questions, Question) else tuple(questions),
        by=by,
        units=units,
        attacks=with_attacks,
        measures=measures or Measures(),
        seed=seed,
    )
    files = read_files(original, several, control, request, declared)
    inferred = answered(files, request.questions)
    whole, notes = _whole(original, several, control, declared)
    notes += [*control_notes(whole), *unit_notes(files, request), *unlike_notes(whole)]
    attempts = Attempts()
    scenario_risks = tuple(
        _scenario_risk(files, scenario, request, attempts, listener)
        for scenario in request.scenarios
    )
    return RiskResult(
        scenarios=scenario_risks,
        inference=inferred,
        replicated=attempts.of("replicated_uniques", partial(_replicated, whole, request)),
        nearest=attempts.of("nearest", partial(_nearest, whole, request)),
        attacks=attempts.of("attacks", partial(_attacks, whole, request)),
        failed=attempts.failed,
        notes=tuple(notes),
        units="persons" if isinstance(original, PersonView) else "records",
    )


def _suggested(
    original: Data,
    scenario: Scenario,
    keys: Sequence[str] | None,
    target: str | None,
    declared: Mapping[str, Declaration] | None,
) -> Scenario:
    names = sound_names(original, column_names(original), declared)
    table = as_table(original, names, declared, ids=False)
    found = suggest(table, keys=keys, target=target)
    if not found.keys or found.target is None:
        raise DataError("no keys and target could be found in the original: name them")
    return replace(scenario, keys=found.keys, target=found.target, reason=found.reason)


def _scenario_risk(
    files: Files, scenario: Scenario, request: Request, attempts: Attempts, listener: Listener
) -> ScenarioRisk:
    compared = attempts.of(
        f"differential_confidentiality ({scenario.label})",
        partial(_differential, files, scenario, request),
    )
    return scenario_risk(
        files.original, files.synthetic, scenario, request.measures, attempts, compared, listener
    )


def _differential(files: Files, scenario: Scenario, request: Request) -> DifferentialResult | None:
    if files.control is None or not request.measures.differential:
        return None
    run = control_run(files.original, files.control, files.synthetic, request.units)
    fixed = with_cut_points(scenario, files.original)
    grouping = None if request.by is None else Grouping.of(files.original, request.by)
    return gather(fixed, [compare_halves(run, fixed, grouping)], request.by)


def _whole(
    original: Data,
    synthetic: Sequence[Data],
    control: Data | None,
    declared: Mapping[str, Declaration] | None,
) -> tuple[Files, list[str]]:
    """Return the columns that all files have and that can be read, and say which were left out.

    Identifiers are left out too: they are never alike.
    """
    others = [*synthetic, *([] if control is None else [control])]
    every = column_names(original)
    shared = [n for n in every if all(n in column_names(o) for o in others)]
    sound = sound_names(original, shared, declared)
    table = as_table(original, sound, declared, ids=False)
    table = table.select(name for name in sound if name in table)
    named = set(table)
    table, made = _alike(table, others)
    told = {
        "not in all files": set(every) - set(shared),
        "unreadable": set(shared) - set(sound),
        "of another kind in another file": named - set(table),
    }
    notes = [
        f"whole records are compared without {', '.join(sorted(names))} ({why})"
        for why, names in told.items()
        if names
    ]
    return Files(table, made[: len(synthetic)], None if control is None else made[-1]), notes


def _alike(table: Table, others: Sequence[Data]) -> tuple[Table, tuple[Table, ...]]:
    """Return the columns that can be read alike in every file, of the table and of the others."""
    try:
        return as_tables(table, others, table.names)
    except DataError:
        names = [n for n in table if all(_is_comparable(table, other, n) for other in others)]
    return as_tables(table.select(names), others, names)


def _is_comparable(table: Table, other: Data, name: str) -> bool:
    try:
        as_tables(table.select([name]), other, [name])
    except DataError:
        return False
    return True


def _replicated(files: Files, request: Request) -> ReplicatedUniques | None:
    if not request.measures.replicated or not len(files.original):
        return None
    return replicated_uniques(files.original, files.synthetic)


def _nearest(files: Files, request: Request) -> NearestResult | None:
    if files.control is None or not request.measures.nearest or not len(files.original):
        return None
    rng = Seed(request.seed).generator("nearest")
    return nearer_share(files.original, files.control, files.synthetic, rng=rng)


def _attacks(files: Files, request: Request) -> AttackResult | None:
    if files.control is None or not request.attacks:
        return None
    main = request.scenarios[0]
    settings: dict[str, Any] = {"keys": main.keys, "target": main.target, "groups": main.groups}
    rng = Seed(request.seed).generator("attacks")
    settings["n_attacks"] = request.measures.attempts
    return attacks(files.original, files.control, files.synthetic, **settings, rng=rng)
