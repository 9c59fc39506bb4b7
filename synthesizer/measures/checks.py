"""One engine of checks: for the datasets of a run, and for any files with or without a control.

Datasets are handed over one by one, so that memory does not grow with their number: of each only
the variables of scenarios, questions and fits stay. Which measures there are says the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from synthesizer.data.errors import ExpressionError
from synthesizer.data.panel.arrangement import Frame, RowFrame
from synthesizer.data.panel.view import PersonView
from synthesizer.data.progress import Listener, silent
from synthesizer.data.randomness import Seed
from synthesizer.data.table import IntArray, Kind, Table
from synthesizer.measures.catalogue import MEASURES
from synthesizer.measures.figure import Attempts, Units, in_units
from synthesizer.measures.measure import Axis, Case, Family, Measure
from synthesizer.measures.results import CheckResults, RiskResult
from synthesizer.measures.risk.halves import HalfRun, control_run, half_runs, units_of
from synthesizer.measures.risk.scenario import Scenario
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.settings import CheckSettings
from synthesizer.measures.utility.combining import rule_for
from synthesizer.measures.utility.compare_fit import FitRequest
from synthesizer.measures.utility.row_fits import RowFits, split_fits
from synthesizer.measures.utility.suite import Collecting, Synthesis, UtilityResult

Refit = Callable[[Table, int, int], Iterable[Table]]
"""Synthesises a part of the records: takes the part, the number of datasets, and that of the
split, from 0."""


@dataclass(frozen=True, kw_only=True)
class _Collected:
    """A measure while datasets come in."""

    measure: Measure
    name: str
    collecting: Collecting


class Checks:
    """Computes every measure that the settings switch on.

    Parameters
    ----------
    original : Table
        Confidential records; of a panel a `PersonView`, whose panel is looked at as well.
    settings : CheckSettings
        Which measures are on, and their options.
    scenarios : sequence of Scenario
        Keys and targets, the main one first.
    seed : Seed, optional
        Decides what is random; 0 when absent.
    synthesis : Synthesis, optional
        How the datasets were made, which decides what is expected of them.
    names : sequence of str, optional
        Variables that are compared; all but identifiers when absent.
    frame : Frame or RowFrame, optional
        Periods of a panel, and the variable of its careers.
    person : str, optional
        Column of persons of a panel in the source.
    control : Table, optional
        Records that were kept out of the synthesis.
    units : {"records", "persons"}, optional
        What is counted; persons of a `PersonView` when absent.
    workers : int
        Threads of the propensity trees; they do not change the result.
    listener : Listener, optional
        Is told about work that may take long.

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
        frame: Frame | RowFrame | None = None,
        person: str | None = None,
        control: Table | None = None,
        units: Units | None = None,
        workers: int = 1,
        listener: Listener = silent,
    ) -> None:
        self.original, self.scenarios, self.control = original, tuple(scenarios), control
        self.synthesis = synthesis or Synthesis()
        persons = isinstance(original, PersonView)
        self.units: Units = units or ("persons" if persons else "records")
        natural = rule_for(proper=self.synthesis.proper, keeps=bool(self.synthesis.kept))
        fits: tuple[FitRequest, ...] = tuple(fit.ruled(natural) for fit in settings.fits)
        self._rows: RowFits | None = None
        if isinstance(original, PersonView):
            fits, row_fits = split_fits(fits, original.panel, person)
            self._rows = RowFits(original.panel, row_fits, person) if row_fits else None
        self.settings = settings.model_copy(update={"fits": fits})
        drawn = (v.name for v in original.schema if v.kind is not Kind.ID)
        self._attempts: dict[Axis, Attempts] = {"risk": Attempts(), "utility": Attempts()}
        self._sizes: list[int] = []
        self._synthetic: list[Table] = []
        self._case = Case(
            original=original,
            settings=self.settings,
            names=tuple(drawn if names is None else names),
            seed=seed or Seed(0),
            synthesis=self.synthesis,
            frame=frame if isinstance(frame, Frame) and persons else None,
            workers=workers,
            listener=listener,
        )
        self._collected = self._collections()

    @property
    def names(self) -> tuple[str, ...]:
        """Variables that are kept of every dataset."""
        names = [name for scenario in self.scenarios for name in scenario.names]
        for question in self.settings.inference:
            names += question.names
        for fit in self.settings.fits:
            names += _names_of(fit)
        return tuple(name for name in dict.fromkeys(names) if name in self.original)

    def add(self, synthetic: Table) -> None:
        """Look at the next dataset."""
        self._sizes.append(synthetic.n_rows)
        self._synthetic.append(
            synthetic.select(name for name in self.names if name in synthetic)
            if self.control is None
            else synthetic
        )
        for each in self._collected:
            attempts = self._attempts[each.measure.axis]
            if each.name not in attempts.failed:
                attempts.of(each.name, partial(each.collecting.add, synthetic))
        if self._rows is not None and isinstance(synthetic, PersonView):
            self._rows.add(synthetic.panel)

    def finish(
        self,
        refit: Refit | None = None,
        *,
        notes: Sequence[str] = (),
        failed: Mapping[str, str] | None = None,
    ) -> CheckResults:
        """Compute the rest.

        Parameters
        ----------
        refit : callable, optional
            Synthesises a half of the data. Without it, and without a control, there is no
            comparison with records that the synthesis never saw.
        notes : sequence of str
            What should be known of the data compared.
        failed : mapping of str to str, optional
            Variables that could not be compared, and why.
        """
        self._attempts["utility"].failed = dict(failed or {}) | self._attempts["utility"].failed
        case = replace(self._case, synthetic=tuple(self._synthetic))
        fields: dict[Axis, dict[str, Any]] = {"risk": {}, "utility": {}}
        splits = self._halves(case, fields["risk"], refit)
        scenarios = tuple(
            self._scenario(replace(case, scenario=scenario), splits) for scenario in self.scenarios
        )
        self._take_collected(fields)
        for measure in self._on("end"):
            results = [
                self._attempts[measure.axis].of(
                    measure.key.format(name), partial(measure.compute, replace(case, item=item))
                )
                for name, item in _items(measure, self.settings)
            ]
            _put(fields[measure.axis], measure, results)
        return self._results(scenarios, fields, notes)

    def _on(self, family: Family) -> Iterator[Measure]:
        """Yield the measures of a family that are switched on and have what they need."""
        for measure in MEASURES.values():
            available = {
                "panel": self._case.frame is not None,
                "scenario": bool(self.scenarios),
                "names": bool(self._case.names),
                "halves": True,
            }
            has_all = all(available[need] for need in measure.needs)
            if measure.family == family and measure.runs(self.settings) and has_all:
                yield measure

    def _collections(self) -> list[_Collected]:
        collected: list[_Collected] = []
        done: dict[str, Collecting] = {}
        for measure in self._on("datasets"):
            for name, item in _items(measure, self.settings):
                place = measure.key.format(name)
                case = replace(self._case, done=done, item=item)
                collecting = self._attempts[measure.axis].of(place, partial(measure.compute, case))
                if collecting is not None:
                    done[place] = collecting
                    collected.append(_Collected(measure=measure, name=place, collecting=collecting))
        return collected

    def _take_collected(self, fields: dict[Axis, dict[str, Any]]) -> None:
        for each in self._collected if self._sizes else ():
            attempts = self._attempts[each.measure.axis]
            if each.name not in attempts.failed:
                result = attempts.of(each.name, each.collecting.result)
                _put(fields[each.measure.axis], each.measure, [result])

    def _scenario(self, case: Case, splits: dict[tuple[str, str], list[Any]]) -> ScenarioRisk:
        label, attempts = case.asked.label, self._attempts["risk"]
        done: dict[str, Any] = {}
        fields: dict[str, Any] = {"scenario": case.asked}
        for measure in self._on("scenario"):
            compute = partial(measure.compute, replace(case, done=done))
            result = attempts.of(f"{measure.key} ({label})", compute)
            if result is not None:
                done[measure.key] = result
                result = measure.kept(result)
            _put(fields, measure, [result], ScenarioRisk)
        for measure in self._on("splits"):
            parts = splits.get((measure.key, label))
            if parts and measure.gather is not None:
                _put(fields, measure, [measure.gather(case, parts)], ScenarioRisk)
        return ScenarioRisk(**fields)

    def _halves(
        self, case: Case, fields: dict[str, Any], refit: Refit | None
    ) -> dict[tuple[str, str], list[Any]]:
        """Compare with records that the synthesis never saw; return the parts of every split."""
        attempts = self._attempts["risk"]
        splits: dict[tuple[str, str], list[Any]] = {}

        def look(runs: Iterable[HalfRun], most: int | None) -> None:
            for run in runs:
                for measure in self._on("splits"):
                    for scenario in self.scenarios:
                        own = replace(case, scenario=scenario, run=run)
                        name = f"{measure.key} ({scenario.label})"
                        part = attempts.of(name, partial(measure.compute, own))
                        splits.setdefault((measure.key, scenario.label), []).extend(
                            [] if part is None else [part]
                        )
                # whole records are compared one by one: the first split is enough
                for measure in self._on("halves") if run.repeat == 0 else ():
                    whole = replace(case, scenario=self._main, run=self._whole(run, most))
                    result = attempts.of(measure.key, partial(measure.compute, whole))
                    _put(fields, measure, [result])

        if not any((*self._on("splits"), *self._on("halves"))):
            return splits
        if self.control is not None:
            persons = isinstance(self.original, PersonView)
            units = None if persons else self.settings.differential_confidentiality.units
            look([control_run(self.original, self.control, case.synthetic, units)], None)
        elif refit is not None:
            attempts.of("half split", lambda: look(self._half_runs(refit), 1))
        return splits

    @property
    def _compares(self) -> bool:
        """Whether any check of utility is on."""
        return self._rows is not None or any(
            measure.axis == "utility" and measure.check and measure.runs(self.settings)
            for measure in MEASURES.values()
        )

    @property
    def _main(self) -> Scenario | None:
        return self.scenarios[0] if self.scenarios else None

    def _half_runs(self, refit: Refit) -> Iterator[HalfRun]:
        options, names = self.settings.differential_confidentiality, self.names

        def synthesise(half: Table, m: int, repeat: int) -> list[Table]:
            # whole records are looked at in the first dataset only: memory stays flat in m
            made = enumerate(refit(half, m, repeat))
            return [table if number == 0 else table.select(names) for number, table in made]

        return half_runs(
            self.original,
            synthesise,
            m=(options.m or len(self._sizes)) if options.enabled else 1,
            repeats=options.repeats if options.enabled else 1,
            rng=self._case.seed.generator("checks"),
            units=self._units(options.units),
        )

    def _units(self, name: str | None) -> IntArray | None:
        """Number the persons whom the records belong to; of a panel each row is one."""
        if name is None or isinstance(self.original, PersonView):
            return None
        return units_of(self.original[name])

    def _whole(self, run: HalfRun, most: int | None) -> HalfRun:
        """Return the variables of whole records, of the first datasets."""

        def selected(table: Table) -> Table:
            return table.select(name for name in self._case.names if name in table)

        return replace(
            run,
            fitted=selected(run.fitted),
            unseen=selected(run.unseen),
            synthetic=tuple(selected(table) for table in run.synthetic[:most]),
        )

    def _results(
        self,
        scenarios: tuple[ScenarioRisk, ...],
        fields: dict[Axis, dict[str, Any]],
        notes: Sequence[str],
    ) -> CheckResults:
        utility, panel = fields["utility"], fields["utility"].pop("panel", None)
        said = tuple(in_units(note, self.units) for note in notes)
        row_notes: tuple[str, ...] = ()
        if self._rows is not None:
            rows = self._rows.comparisons(self._attempts["utility"])
            utility["fits"] = (*utility.get("fits", ()), *rows)
            row_notes = self._rows.notes
        failed = {
            axis: {name: in_units(why, self.units) for name, why in attempts.failed.items()}
            for axis, attempts in self._attempts.items()
        }
        kept = tuple(name for name in self._case.names if name in self.synthesis.kept)
        return CheckResults(
            risk=RiskResult(
                scenarios=scenarios,
                **fields["risk"],
                failed=failed["risk"],
                notes=said,
                units=self.units,
            ),
            utility=None
            if not self._compares
            else UtilityResult(
                n=self.original.n_rows,
                n_synthetic=tuple(self._sizes),
                **utility,
                proper=self.synthesis.proper,
                kept=kept,
                failed=failed["utility"],
                notes=(*said, *row_notes),
                units=self.units,
            ),
            panel=panel,
            failed=failed["risk"] | failed["utility"] | dict({} if panel is None else panel.failed),
        )


def _items(measure: Measure, settings: CheckSettings) -> Sequence[tuple[str, Any]]:
    """Return what a measure is computed for: one thing without a name, or each of several."""
    return [("", None)] if measure.items is None else measure.items(settings)


def _put(
    fields: dict[str, Any],
    measure: Measure,
    results: Sequence[Any],
    kind: type[RiskResult] | type[UtilityResult] | type[ScenarioRisk] | None = None,
) -> None:
    """Put results where they belong: a field of their own, or under ``further``."""
    found = [result for result in results if result is not None]
    if not found:
        return
    owner = kind or (RiskResult if measure.axis == "risk" else UtilityResult)
    if measure.place != "panel" and measure.place not in owner.model_fields:
        fields["further"] = fields.get("further", {}) | {measure.key: found[0]}
    elif measure.items is not None:
        fields[measure.place] = (*fields.get(measure.place, ()), *found)
    else:
        fields[measure.place] = found[0]


def _names_of(fit: FitRequest) -> tuple[str, ...]:
    try:
        return fit.names
    except ExpressionError:  # said where the formula is fitted
        return ()
