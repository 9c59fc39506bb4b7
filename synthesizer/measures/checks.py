"""The engine of checks: for the datasets of a run, and for any files with or without a holdout.

Datasets are added one by one. Of each, only the variables of scenarios, questions and fits are
kept in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import ceil
from typing import Any

import numpy as np

from synthesizer.data.errors import listed
from synthesizer.data.pairs import missing_otherwise
from synthesizer.data.panel.arrangement import Frame, RowFrame
from synthesizer.data.panel.view import PersonView, View, groups_of, heads_of
from synthesizer.data.randomness import Seed
from synthesizer.data.table import IntArray, Kind, Table
from synthesizer.data.workers import Listener, silent
from synthesizer.measures.catalogue import MEASURES
from synthesizer.measures.figure import Attempts, Collector, Units, in_units
from synthesizer.measures.halves import (
    FromHalf,
    HalfRun,
    Synthesise,
    control_run,
    half_runs,
    units_of,
)
from synthesizer.measures.measure import Axis, Case, Measure, Stage, Synthesis
from synthesizer.measures.results import RiskResult, UtilityResult
from synthesizer.measures.risk.comparable import OriginalNumbers
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.scenario import Scenario
from synthesizer.measures.settings import CheckSettings
from synthesizer.measures.verdict import CheckResults

ROWS_FOR_ONE_SPLIT = 5_000
"""Smaller files are split several times, and both halves of each split are synthesised."""
ROWS_OF_SPLITS, MAX_SPLITS = 10_000, 5
"""Original records of all splits together that are aimed at; and most splits."""
FITS_OF_SPLITS = 2_000
"""Most models of all halves together, unless one split has more."""
MAX_NAMES = 20
"""Variables that an alarm lists."""


def exchanged_splits(n: int, variables: int) -> int:
    """Return the number of splits of n records of which both halves are synthesised."""
    most = min(MAX_SPLITS, max(FITS_OF_SPLITS // (2 * variables), 1))
    return min(ceil(ROWS_OF_SPLITS / n), most) if n < ROWS_FOR_ONE_SPLIT else 0


@dataclass(eq=False)
class _Collected:
    """A measure of datasets that are added one by one; it stops after a failure."""

    measure: Measure
    name: str
    collecting: Collector[Any]
    attempts: Attempts
    is_sound: bool = True

    def add(self, synthetic: Table) -> None:
        if self.is_sound:
            self.is_sound = self.attempts.of(self.name, partial(self._added, synthetic)) is True

    def _added(self, synthetic: Table) -> bool:
        self.collecting.add(synthetic)
        return True

    @property
    def results(self) -> list[Any]:
        """The result, unless it failed."""
        return [self.attempts.of(self.name, self.collecting.result)] if self.is_sound else []

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the result."""
        return getattr(self.collecting, "notes", ())


Everybody = Callable[[], tuple[Table, tuple[Table, ...]]]
"""Returns all units of the original and of each dataset."""


class Checks:
    """Compute all measures that are switched on in the settings.

    Parameters
    ----------
    original : Table
        Confidential records; of a panel a `PersonView`.
    settings : CheckSettings
        Measures that are on, and their options.
    scenarios : sequence of Scenario
        Keys and targets, the main one first.
    seed : Seed, optional
        Seed of all random draws; 0 when absent.
    synthesis : Synthesis, optional
        How the datasets were made, on which expected values depend.
    names : sequence of str, optional
        Variables that are compared; all but identifiers when absent.
    identifiers : sequence of str
        Identifiers, read as levels, for rare levels only.
    frame : Frame or RowFrame, optional
        Periods of a panel, and the variable of its careers.
    person : str, optional
        Column of persons of a panel in the source.
    since : int, optional
        First period of a panel that was added to published ones.
    control : Table, optional
        Holdout records.
    counts_kept : bool
        Whether the risk of variables that were kept on purpose counts too.
    workers : int
        Threads of the propensity trees; they do not change the result.
    listener : Listener, optional
        Receives the progress of long steps.

    Examples
    --------
    >>> import numpy as np
    >>> from synthesizer.data.table import Column, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> table = Table([Column(sex, np.array([0, 1, 1, 0], dtype=np.int32))])
    >>> checks = Checks(table, CheckSettings().about("utility"))
    >>> checks.add(table)
    >>> [(figure.name, figure.value) for _, figure in checks.finish().figures][:2]
    [('mean one-way S_pMSE', 0.0), ('largest one-way S_pMSE', 0.0)]
    """

    def __init__(
        self,
        original: Table,
        settings: CheckSettings,
        *,
        scenarios: Sequence[Scenario] = (),
        seed: Seed | None = None,
        synthesis: Synthesis | None = None,
        names: Sequence[str] | None = None,
        identifiers: Sequence[str] = (),
        frame: Frame | RowFrame | None = None,
        person: str | None = None,
        since: int | None = None,
        control: Table | None = None,
        counts_kept: bool = False,
        workers: int = 1,
        listener: Listener = silent,
        aside: Table | None = None,
    ) -> None:
        self.original, self.settings = original, settings
        self.scenarios, self.control = tuple(scenarios), control
        self.synthesis = synthesis or Synthesis()
        self._of_risk = replace(self.synthesis, kept=()) if counts_kept else self.synthesis
        self.units: Units = "persons" if isinstance(original, View) else "records"
        drawn = (v.name for v in original.schema if v.kind is not Kind.ID)
        self._attempts: dict[Axis, Attempts] = {"risk": Attempts(), "utility": Attempts()}
        self._numbers = OriginalNumbers(original)
        self._sizes: list[int] = []
        self._synthetic: list[Table] = []
        self.case = Case(
            original=original,
            settings=settings,
            names=tuple(drawn if names is None else names),
            identifiers=tuple(identifiers),
            seed=seed or Seed(0),
            synthesis=self.synthesis,
            frame=frame if isinstance(frame, Frame) and isinstance(original, PersonView) else None,
            person=person,
            since=since,
            control=control,
            workers=workers,
            listener=listener,
            aside=aside,
        )
        self._collected = self._collections()
        self._unlike: dict[str, tuple[str, str, str]] = {}
        if control is not None:
            self._look_for_codes(control, "the control")

    @property
    def names(self) -> tuple[str, ...]:
        """Variables of every dataset that stay in memory until `finish`."""
        names = [name for scenario in self.scenarios for name in scenario.names]
        names += filter(None, [self.case.weight])
        return tuple(name for name in dict.fromkeys(names) if name in self.original)

    def add(self, synthetic: Table) -> None:
        """Add the next dataset."""
        synthetic = self._numbers.written(synthetic)
        self._sizes.append(synthetic.n_rows)
        self._look_for_codes(synthetic, f"synthetic dataset {len(self._sizes)}")
        self._synthetic.append(
            synthetic.select(name for name in self.names if name in synthetic)
            if self.control is None
            else synthetic
        )
        for each in self._collected:
            each.add(synthetic)

    def finish(
        self,
        refit: Synthesise | None = None,
        *,
        notes: Sequence[str] = (),
        failed: Mapping[str, str] | None = None,
        everybody: Everybody | None = None,
    ) -> CheckResults:
        """Return the results of all checks.

        Parameters
        ----------
        refit : callable, optional
            Synthesises a half of the data, for the train-holdout test. Without it, and without
            ``control``, there is no such test.
        notes : sequence of str
            Notes on the data.
        failed : mapping of str to str, optional
            Reason for each variable that could not be compared.
        everybody : callable, optional
            Returns all units of the original and of every dataset, if the tables so far were
            samples of them. Scenarios are computed from all units.
        """
        self._attempts["utility"].failed = dict(failed or {}) | self._attempts["utility"].failed
        case = replace(self.case, synthetic=tuple(self._synthetic))
        fields: dict[Axis, dict[str, Any]] = {"risk": {}, "utility": {}}
        splits = self._halves(case, fields, refit)
        of_all = case
        if everybody is not None and self.scenarios:
            original, synthetic = everybody()
            of_all = replace(case, original=original, synthetic=synthetic)
        scenarios = tuple(
            self._scenario(
                replace(of_all, scenario=scenario), replace(case, scenario=scenario), splits
            )
            for scenario in self.scenarios
        )
        for each in self._collected if self._sizes else ():
            _put(fields[each.measure.axis], each.measure, each.results)
        return self._results(scenarios, fields, notes)

    def _look_for_codes(self, other: Table, what: str) -> None:
        """Note variables whose missing values have different codes in two files."""
        for name, codes in missing_otherwise(self.original, other, self.case.names).items():
            self._unlike.setdefault(name, (*codes, what))

    def _on(self, family: Stage) -> Iterator[Measure]:
        """Yield the measures of a family that are switched on and whose needs are met."""
        for measure in MEASURES.values():
            available = {
                "panel": self.case.frame is not None,
                "scenario": bool(self.scenarios),
                "names": bool(self.case.names),
                "weight": self.case.weight is not None,
                "halves": True,
                "models": self.control is None,
            }
            has_all = all(available[need] for need in measure.needs)
            has_all &= measure.view is None or isinstance(self.original, measure.view)
            if measure.family == family and measure.runs(self.settings) and has_all:
                yield measure

    def _judged(self, measure: Measure, case: Case) -> Case:
        """Return the case with the kept variables that count for risk, or for utility."""
        return replace(case, synthesis=self._of_risk) if measure.axis == "risk" else case

    def _collections(self) -> list[_Collected]:
        collected: list[_Collected] = []
        done: dict[str, Collector[Any]] = {}
        for measure in self._on("datasets"):
            attempts = self._attempts[measure.axis]
            for name, item in _items(measure, self.case):
                title = measure.key.format(name)
                case = self._judged(measure, replace(self.case, done=done, item=item))
                collecting = attempts.of(title, partial(measure.compute, case))
                if collecting is not None:
                    done[title] = collecting
                    collected.append(_Collected(measure, title, collecting, attempts))
        return collected

    def _scenario(
        self, case: Case, sample: Case, splits: dict[tuple[str, str], list[Any]]
    ) -> ScenarioRisk:
        """Return the results of a scenario: of all units, and of the splits of the sample."""
        label, attempts = case.required_scenario.label, self._attempts["risk"]
        case, sample = _of_units(replace(case, synthesis=self._of_risk)), _of_units(sample)
        done: dict[str, Any] = {}
        fields: dict[str, Any] = {"scenario": case.required_scenario}
        for measure in self._on("scenario"):
            compute = partial(measure.compute, replace(case, done=done))
            result = attempts.of(f"{measure.key} ({label})", compute)
            if result is not None:
                done[measure.key] = result
                result = measure.saved(result)
            _put(fields, measure, [result], ScenarioRisk)
        for measure in self._on("splits"):
            parts = splits.get((measure.key, label))
            if parts and measure.gather is not None:
                _put(fields, measure, [measure.gather(sample, parts)], ScenarioRisk)
        return ScenarioRisk(**fields)

    def _halves(
        self, case: Case, fields: dict[Axis, dict[str, Any]], refit: Synthesise | None
    ) -> dict[tuple[str, str], list[Any]]:
        """Run the train-holdout test; return the results of all splits by measure and scenario."""
        attempts = self._attempts["risk"]
        splits: dict[tuple[str, str], list[Any]] = {}

        def look(runs: Iterable[HalfRun], most: int | None) -> None:
            for run in runs:
                for measure, scenario in product(self._on("splits"), self.scenarios):
                    of_units = _of_units(replace(case, scenario=scenario, run=run))
                    compute = partial(measure.compute, of_units)
                    of_split = attempts.of(f"{measure.key} ({scenario.label})", compute)
                    if of_split is not None:
                        splits.setdefault((measure.key, scenario.label), []).append(of_split)
                # measures of whole records use the first split only
                for measure in self._on("halves") if run.repeat == 0 else ():
                    records = self._whole(run, None if measure.stacks else most)
                    whole = replace(case, scenario=self._main, run=records)
                    compute = partial(measure.compute, self._judged(measure, whole))
                    result = self._attempts[measure.axis].of(measure.key, compute)
                    _put(fields[measure.axis], measure, [result])

        # measures without a switch alone do not start a synthesis of a half
        if not any(measure.check for measure in (*self._on("splits"), *self._on("halves"))):
            return splits
        units = self.settings.differential_confidentiality.units
        if self.units == "persons":  # each row is one person, or groups are split
            units = None
        if self.control is not None:
            run = control_run(self.original, self.control, case.synthetic, units)
            look([_by_group(run)], None)
        elif refit is not None:
            attempts.of("train-holdout test", lambda: look(self._half_runs(refit, units), 1))
        return splits

    @property
    def _main(self) -> Scenario | None:
        return self.scenarios[0] if self.scenarios else None

    def _half_runs(self, refit: Synthesise, units: str | None) -> Iterator[HalfRun]:
        options, names = self.settings.differential_confidentiality, self.names
        repeats = options.repeats if options.enabled else 1

        def synthesise(half: Table, m: int, repeat: int) -> FromHalf:
            made = FromHalf.of(refit(half, m, repeat))
            # only the first run and its others need whole records: this bounds memory
            is_whole = not 0 < repeat < repeats
            every = map(self._numbers.written, made.tables)
            tables = (table if is_whole else table.select(names) for table in every)
            return replace(made, tables=tables)

        stacked = any(measure.stacks for measure in self._on("halves"))
        exchanges = exchanged_splits(self.original.n_rows, len(self.original)) if stacked else 0
        return half_runs(
            self.original,
            synthesise,
            m=(options.m or len(self._sizes)) if options.enabled or stacked else 1,
            repeats=repeats,
            seed=self.case.seed,
            units=self._split_by(units),
            exchanges=exchanges,
        )

    def _split_by(self, units: str | None) -> IntArray | None:
        """Return the units that are not divided by a split: persons, or groups of persons."""
        if (groups := groups_of(self.original)) is not None:
            return groups
        return None if units is None else units_of(self.original[units])

    def _whole(self, run: HalfRun, most: int | None) -> HalfRun:
        """Return a run with the variables of whole records, and its first datasets."""

        def selected(table: Table) -> Table:
            names = [name for name in self.case.names if name in table]
            if isinstance(table, View):  # with whole careers
                return table.whole(names)
            return table.select(names)

        return replace(
            run,
            fitted=selected(run.fitted),
            unseen=selected(run.unseen),
            synthetic=tuple(selected(table) for table in run.synthetic[:most]),
            others=tuple(self._whole(other, most) for other in run.others),
        )

    def _results(
        self,
        scenarios: tuple[ScenarioRisk, ...],
        fields: dict[Axis, dict[str, Any]],
        notes: Sequence[str],
    ) -> CheckResults:
        utility, panel = fields["utility"], fields["utility"].pop("panel", None)
        sentences = tuple(in_units(note, self.units) for note in notes)
        unlike = tuple(in_units(words, self.units) for words in _unlike_words(self._unlike))
        failed = {
            axis: {name: in_units(why, self.units) for name, why in attempts.failed.items()}
            for axis, attempts in self._attempts.items()
        }
        risk = RiskResult(
            scenarios=scenarios,
            conditions=self.synthesis.conditions,
            **fields["risk"],
            failed=failed["risk"],
            notes=sentences,
            unlike=unlike,
            units=self.units,
        )
        everything = {"risk": risk, "panel": panel, "failed": failed["risk"] | failed["utility"]}
        if panel is not None:
            everything["failed"] |= panel.failed
        if self.settings.looks_at("utility"):
            everything["utility"] = UtilityResult(
                n=self.original.n_rows,
                n_synthetic=tuple(self._sizes),
                **utility,
                proper=self.synthesis.proper,
                kept=tuple(name for name in self.case.names if name in self.synthesis.kept),
                failed=failed["utility"],
                unlike=unlike,
                notes=tuple(
                    dict.fromkeys([*sentences, *(n for one in self._collected for n in one.notes)])
                ),
                units=self.units,
            )
        return CheckResults(**everything)


def _by_group(run: HalfRun) -> HalfRun:
    """Return the run with groups of persons as units, if there are groups."""
    fitted, unseen = groups_of(run.fitted), groups_of(run.unseen)
    if fitted is None or unseen is None:
        return run
    return replace(run, fitted_units=fitted, unseen_units=unseen)


def _of_units(case: Case) -> Case:
    """Return the case with one row per group if all persons of a group share keys and target."""
    original = case.original
    if not isinstance(original, View) or not original.shared.issuperset(
        case.required_scenario.names
    ):
        return case
    run = case.run
    if run is not None:
        run = replace(
            run,
            fitted=heads_of(run.fitted),
            unseen=heads_of(run.unseen),
            synthetic=tuple(map(heads_of, run.synthetic)),
            fitted_units=np.unique(run.fitted_units),
            unseen_units=np.unique(run.unseen_units),
        )
    synthetic = tuple(map(heads_of, case.synthetic))
    control = None if case.control is None else heads_of(case.control)
    return replace(case, original=heads_of(original), synthetic=synthetic, run=run, control=control)


def _unlike_words(unlike: Mapping[str, tuple[str, str, str]]) -> Iterator[str]:
    """Yield a sentence for each pair of different missing codes, with its variables."""
    by_codes: dict[tuple[str, str, str], list[str]] = {}
    for name, codes in unlike.items():
        by_codes.setdefault(codes, []).append(name)
    for (code, other_code, what), names in by_codes.items():
        yield (
            f"missing values of {listed([*map(repr, names)], MAX_NAMES)} are {code!r} in the "
            f"original and {other_code!r} in {what}, so that they never match. Risk seems lower "
            "and utility worse than they are. Write the same code in both files and compare again"
        )


def _items(measure: Measure, case: Case) -> Sequence[tuple[str, Any]]:
    """Return name and item of each computation of a measure; one without name by default."""
    return [("", None)] if measure.items is None else measure.items(case)


def _put(
    fields: dict[str, Any],
    measure: Measure,
    results: Sequence[Any],
    kind: type[RiskResult] | type[UtilityResult] | type[ScenarioRisk] | None = None,
) -> None:
    """Add results to the fields of the owner, or under ``further``."""
    owner = kind or (RiskResult if measure.axis == "risk" else UtilityResult)
    for result in results:
        if result is None:
            continue
        if measure.result_name != "panel" and measure.result_name not in owner.model_fields:
            fields["further"] = fields.get("further", {}) | {measure.key: result}
        elif measure.items is not None:
            fields[measure.result_name] = (*fields.get(measure.result_name, ()), result)
        else:
            fields[measure.result_name] = result
