"""The plan of a synthesis, made before any fit.

`make_plan` checks a configuration against the data and reports every problem at once. Later code
receives a `Plan` or parts of it, never the configuration.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from synthesizer.config.keys import ChainConfig, Config, OutputConfig
from synthesizer.config.reading import AnyForm, has_faulty_panel, sound_config
from synthesizer.config.section import SampleDesign, Section
from synthesizer.data.after import NOT_DROPPED, After
from synthesizer.data.errors import ConfigError, DataError, ModelError, Problems, RuleError, listed
from synthesizer.data.files import check_output
from synthesizer.data.panel.arrangement import Arrangement, Frame
from synthesizer.data.panel.panel_table import as_panel
from synthesizer.data.panel.view import PersonView, View, follows, seen_names
from synthesizer.data.plugins import guarded
from synthesizer.data.randomness import Seed
from synthesizer.data.sources import WholeSource, without_password
from synthesizer.data.table import Column, Kind, Table
from synthesizer.data.workers import Advance, Listener, Phases, silent, worker_problems
from synthesizer.engine.chain import ChainSpec, FitStore, FittedChain
from synthesizer.engine.conditions import ConditionedChain, Conditions, under
from synthesizer.engine.drawing import split_strata, whole_number_problems
from synthesizer.engine.registry import NO_MODELS, Registry
from synthesizer.engine.source import Source
from synthesizer.measures.checks import Checks
from synthesizer.measures.figure import Units
from synthesizer.measures.halves import FromHalf
from synthesizer.measures.measure import Synthesis
from synthesizer.measures.risk.replicated import replicated_rows
from synthesizer.measures.scenario import Scenario
from synthesizer.measures.settings import CheckSettings, LimitConfig
from synthesizer.models.kit.numbers import min_holders_of
from synthesizer.models.step import Step
from synthesizer.plan.arrange import arranged_source, beside_problems, without_beside
from synthesizer.plan.context import (
    Context,
    computed_free_variables,
    id_findings,
    models_without_use,
    repeated_ids,
    unknown_variables,
)
from synthesizer.plan.dependents import survival_findings
from synthesizer.plan.extended import Fitting, Planned, Work, plan_extensions
from synthesizer.plan.fidelity import differences, relation_problems
from synthesizer.plan.findings import Draft, Findings, note, problem
from synthesizer.plan.inputs import Input, read_input, suggestions
from synthesizer.plan.rules import ChainOrder, overridden, plan_paths, plan_rules, with_bounds
from synthesizer.plan.scenarios import fit_problems, plan_scenarios
from synthesizer.plan.seeds import key_in_words, plan_seed
from synthesizer.plan.steps import panel_problems, plan_methods, plan_order, plan_steps
from synthesizer.plan.steps_after import held_by, plan_after, plan_conditions

GENERATE = "generate and write"
"""Name of the phase in which datasets are drawn."""

MIN_STRATUM_ROWS = 10
"""Minimum of a stratum, and again for every variable, as in synthpop."""
MIN_UNITS_PER_HOLDER = 20
"""Units for each of ``min_holders``; below it, extremes are a tenth of the file."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The chain to fit, the datasets to draw, their checks and the output."""

    data: Input
    """The confidential data as read."""
    arrangement: Arrangement
    """How rows of the source are grouped into units."""
    table: Table
    """The confidential data as modelled; a `PanelTable` for a panel."""
    original: Table
    """The data for the checks: one row for each unit."""
    registry: Registry
    """The available models, with those of plug-ins."""
    spec: ChainSpec
    """The chain."""
    extended: Mapping[str, Planned] = field(default_factory=dict)
    """Plans of extensions, by key."""
    maker: str | None = None
    """Key of the extension that makes whole datasets."""
    seed: Seed
    """Seed and random key of all draws."""
    m: int
    """Number of datasets."""
    rows: int | None
    """Rows of each dataset (persons of a panel); None: as in the data."""
    workers: int
    """Workers of joblib; -1 for all cores."""
    checks: CheckSettings
    """The checks to compute."""
    limits: LimitConfig
    """Limits of the figures of the checks."""
    scenarios: tuple[Scenario, ...] = ()
    """Keys and target of the disclosure checks, the main scenario first."""
    design: SampleDesign | None = None
    """Sampling design of the data; None if not configured."""
    public: tuple[str, ...] = ()
    """Variables whose levels are a public code list."""
    after: After = field(default_factory=After)
    """Changes to every dataset before its checks."""
    conditions: Conditions | None = None
    """Conditions that the records of every dataset satisfy."""
    output: OutputConfig = field(default_factory=OutputConfig)
    """Directory, format and documents of the output."""
    notes: tuple[str, ...] = ()
    """Sentences for the steward that need no change."""
    relations: tuple[str, ...] = ()
    """Orders, sets of dummies and blanks of all rows that are kept, in words."""
    differences: tuple[str, ...] = ()
    """How datasets of a low fidelity differ from the original, without values."""
    settings: Mapping[str, Any]
    """The configuration as plain values, without the password of a database."""

    @property
    def units(self) -> Units:
        """The units that are counted."""
        return "persons" if isinstance(self.original, View) else "records"

    @property
    def whole(self) -> WholeSource | None:
        """Size of the source, if ``table`` is only a sample of it."""
        return self.data.whole

    @property
    def size(self) -> int | None:
        """Units of each dataset; None if as many as in ``table``."""
        return self.whole.n_units if self.rows is None and self.whole is not None else self.rows

    @property
    def key_in_words(self) -> str:
        """The origin of the random key, in words."""
        return key_in_words(self.settings.get("random_key"))

    @cached_property
    def drawn(self) -> Table:
        """The data with the variables that are drawn instead of sets of dummies."""
        frame = self.spec.frame
        return frame.joined(as_panel(self.table)) if isinstance(frame, Frame) else self.table

    @property
    def described(self) -> Iterator[Step]:
        """The steps of the variables of the data: a dummy of a set has the model of the set."""
        steps = {step.variable: step for step in self.spec.steps}
        of_set = {n: one.variable.name for one in self.spec.frame.sets for n in one.dummies}
        for name in (n for n in steps if n not in of_set.values()):
            step = steps[of_set.get(name, name)]
            known = tuple(n for n in step.predictors if n not in of_set.values())
            yield replace(step, variable=name, predictors=known)

    @property
    def copied(self) -> tuple[str, ...]:
        """Variables whose values are copied row by row."""
        return tuple(s.variable for s in self.spec.steps if s.model.abilities.copies_rows)

    @property
    def _kept_as_seen(self) -> tuple[str, ...]:
        """The columns of ``original`` that contain kept values."""
        if not isinstance(self.original, PersonView):
            return self.copied
        return seen_names(self.original.names, self.copied, self.spec.frame.drawn_career)

    @property
    def source_key(self) -> str:
        """The key of the extension that makes the datasets; "" for the chain."""
        return next((key for key, made in self.extended.items() if made.makes_datasets), "")

    @property
    def making(self) -> Planned:
        """The plan of the extension that makes the datasets, or that of the chain."""
        return self.extended.get(self.source_key, Planned())

    def guarded(self, what: str = "making datasets") -> AbstractContextManager[None]:
        """Turn an unexpected error of an extension that makes the datasets into a sentence."""
        key = self.source_key
        return guarded(f"extension {key!r}: {what}") if key else nullcontext()

    def work(self) -> AbstractContextManager[Work | None]:
        """Return a context with the work of an extension that writes the datasets, or None."""
        opened = (made.work(self) for made in self.extended.values())
        return next((work for work in opened if work is not None), nullcontext())

    @property
    def has_chain(self) -> bool:
        """Whether the whole chain is fitted."""
        return self.making.fits_categories

    @property
    def fitted(self) -> ChainSpec:
        """The models to fit: all, or those of variables that are drawn after the categories."""
        if self.has_chain:
            return self.spec
        steps = () if self.making.makes_all else self.spec.steps
        drawn = tuple(step for step in steps if not self.table[step.variable].is_coded)
        return replace(self.spec, steps=drawn)

    def fit(
        self, seed: Seed, phases: Phases | None = None, *, store: FitStore | None = None
    ) -> Source:
        """Return a fitted source of datasets: a chain, or that of an extension.

        Fits in ``store`` are not repeated.
        """
        phases = phases or Phases()
        with self._phase_of_fits(phases) as advance:
            announce = partial(phases.listener.tell, GENERATE)
            fitting = self._fitting(
                self.table, seed, self.m, progress=advance, announce=announce, store=store
            )
            return under(self.making.source(fitting), self.conditions)

    def fit_chain(self, seed: Seed, phases: Phases | None = None) -> FittedChain:
        """Return the fitted chain, which can be saved.

        Raises
        ------
        ModelError
            If an extension makes the datasets from the confidential data.
        """
        if key := self.source_key:
            raise ModelError(self.making.no_model or problem("maker_not_saved", maker=key))
        with self._phase_of_fits(phases or Phases()) as advance:
            return self._fitting(self.table, seed, self.m, progress=advance).chain()

    def refuse_saving(self) -> None:
        """Refuse to save a model whose datasets need the confidential data, or have conditions."""
        if self.after.drop_uniques:
            raise ModelError(NOT_DROPPED)
        if self.conditions is not None:
            raise ModelError(problem("conditions_not_saved"))

    def refit(
        self, source: Source | None, seed: Seed, half: Table, m: int, repeat: int
    ) -> FromHalf:
        """Return m datasets made from a half of the units, for the train-holdout test.

        ``source`` is the source that was fitted to all data, if it exists.

        Raises
        ------
        ModelError
            If a half is too small for the settings of the whole.
        """
        if source is not None and source.half_problems:
            raise ModelError(source.half_problems)
        inner = seed.child("half split", repeat)
        with self._keeping_rules(half):
            modelled = half.panel if isinstance(half, View) else half
            plan = replace(self, spec=self.spec.relearnt(modelled, inner))
            again = plan.making.source(plan._fitting(modelled, inner, m, is_half=True))
            if isinstance(source, ConditionedChain):
                again = under(again, source.conditions)
        return FromHalf(self._from_half(again, inner, modelled, m), again.log_likelihoods)

    @contextmanager
    def _keeping_rules(self, half: Table) -> Iterator[None]:
        """Turn rule errors of a half into one sentence."""
        try:
            yield
        except RuleError as error:
            what = "; ".join(problem.partition("; ")[0] for problem in error.problems)
            raise ModelError(
                problem("half_too_small", n_rows=half.n_rows, units=self.units, rules=what)
            ) from error

    def _from_half(self, again: Source, seed: Seed, half: Table, m: int) -> Iterator[Table]:
        """Yield m datasets of a source that was fitted on a half of the units."""
        rows = self.rows
        if again.has_fixed_rows or self.whole is not None:
            rows = None
        elif rows is not None and not isinstance(again, ConditionedChain):
            # a release of the same relative size
            rows = max(1, round(rows * half.n_units / self.table.n_units))
        with self._keeping_rules(half):
            tables = again.generate(seed, m=m, rows=rows, n_jobs=self.workers)
            yield from (self.viewed(self.released(table, half)) for table in tables)

    def checking(self, seed: Seed, listener: Listener = silent, **beside: Any) -> Checks:
        """Return the checks of datasets of this plan; ``beside`` may contain a ``control``."""
        given, frame = self.conditions, self.spec.frame
        conditions = () if given is None else held_by(given, frame.completed(self.table))
        return Checks(
            self.original,
            self.checks,
            names=[c.name for c in self.original.columns if self._is_compared(c)],
            scenarios=self.scenarios,
            seed=seed,
            synthesis=Synthesis(
                proper=self.spec.proper,
                kept=self._kept_as_seen,
                may_keep=bool(self._kept_as_seen),
                redrawn=self.spec.resampling is not None,
                public=self.public,
                conditions=conditions,
            ),
            frame=self.spec.frame,
            person=self.arrangement.person_column,
            since=self.making.since,
            workers=self.workers,
            listener=listener,
            aside=self.data.aside,
            **beside,
        )

    def _is_compared(self, column: Column) -> bool:
        """Whether a column is compared: no identifier, and not computed from groups."""
        return column.variable.kind is not Kind.ID and not follows(self.original, column.name)

    def released(self, table: Table, original: Table | None = None) -> Table:
        """Return a drawn table after the steps under ``after``, as it is released.

        ``original`` are the data that it was made from, one row for each unit; all data by default.

        Raises
        ------
        ModelError
            If an extension returned a table unlike the data.
        """
        if self.maker is not None and (odd := _unlike(table, self.table)):
            raise ModelError(problem("made_wrongly", maker=self.maker, names=odd))
        if self.after.numeric or self.after.blank:
            changed = self.after.applied(self.arrangement.restored(table))
            table = self.arrangement.modelled(changed)
        if self.after.drop_uniques:
            view = self.viewed(table)
            whole = self.original if original is None else original
            rows = replicated_rows(whole, view, keys=[n for n in whole.names if n in view])
            table = table.take_units(np.flatnonzero(~rows[0].replicated))
        return table

    def restored(self, table: Table) -> Table:
        """Return a drawn table in the form of the source, with the column of ``after.label``."""
        return self.after.labelled(self.arrangement.restored(table))

    def viewed(self, table: Table) -> Table:
        """Return a drawn table with one row for each unit, for the checks."""
        return self.arrangement.viewed(table)

    def _phase_of_fits(self, phases: Phases) -> AbstractContextManager[Advance]:
        replicates = self.m if self.spec.proper else 1
        return phases.phase("fit", self.making.rounds * len(self.fitted.steps) * replicates)

    def _fitting(self, table: Table, seed: Seed, m: int, **how: Any) -> Fitting:
        """Return the input of a fit; ``how`` are further fields of `Fitting`."""
        fitting = Fitting(
            table=table,
            spec=self.spec,
            fitted=self.fitted,
            seed=seed,
            m=m,
            workers=self.workers,
            **how,
        )
        for made in self.extended.values():
            fitting = made.fitting(fitting)
        return fitting


def _unlike(table: Table, data: Table) -> list[str]:
    """Return variables that only one of two tables has, or that have another form in ``data``."""
    if table.names != data.names:
        return sorted({*table.names} ^ {*data.names}) or [*table.names]
    pairs = ((table[name], data[name].variable) for name in data.names)
    return [c.name for c, variable in pairs if c.variable != variable or not _is_sound(c)]


def _is_sound(column: Column) -> bool:
    try:
        column.check()
    except ValueError:
        return False
    return column.is_coded or not np.isnan(column.data[column.is_observed]).any()


def make_plan(
    config: ChainConfig, data: Input, registry: Registry, *, seed: Seed | None = None
) -> Plan:
    """Return the plan of a synthesis.

    ``registry`` includes the models of plug-ins. ``seed`` replaces seed and key of the
    configuration, so that the settings of a grid share one.

    Raises
    ------
    DataError
        With every problem of the data, and of the configuration for their sound part.
    ConfigError
        With every problem of the configuration, if the data are sound.
    """
    problems = Problems(data.problems)
    kind = DataError if problems else ConfigError
    dropped = (*config.dropped(data.columns.names or ()), *data.left_out)
    if dropped != tuple(config.drop):  # an absent key stays out of manifests
        config = config.model_copy(update={"drop": dropped})
    problems += beside_problems(config)
    config = without_beside(config)
    if config.arranging is not None and not data.columns.is_complete:
        raise kind(problems)  # persons and periods need all columns
    with problems.gathered():
        arranged = arranged_source(config, data.table)
        problems += arranged.problems
        if arranged.made is not None:
            context = Context(config=config, data=data, arranged=arranged.made, registry=registry)
            plan = _planned(context, seed, (*data.notes, *arranged.notes))
    problems.settle(kind)
    return plan


def _planned(context: Context, seed: Seed | None, notes: Sequence[str]) -> Plan:
    """Return the plan of a context; raise one error with all problems."""
    config, findings = context.config, Findings(notes=[*notes])
    if not context.registry.names:
        raise ConfigError(NO_MODELS)
    findings.problems += context.data.unwritable
    findings.add(_name_findings(context))
    paths = findings.add(plan_paths(context))
    methods = findings.add(plan_methods(context))
    order = findings.add(plan_order(context, methods))
    steps = findings.add(plan_steps(context, order, methods, paths))
    findings.problems += panel_problems(context, order, steps)
    keeps = any(step.model.abilities.copies_rows for step in steps)
    findings.add(_row_findings(context, len(steps), keeps=keeps))
    draws = findings.add(plan_seed(context, seed))
    rules, zeros, relations = findings.add(
        plan_rules(context, ChainOrder.of(context, order, steps), draws)
    )
    findings.problems += overridden(paths, rules)
    scenarios = findings.add(plan_scenarios(context))
    findings.problems += fit_problems(context, keeps=keeps)
    after = findings.add(plan_after(context, config.after, keeps=keeps))
    for key, what, setting in suggestions(context.table, {}, config.model_fields_set):
        findings.note("overlooked", what=what, setting=setting.replace("=", ": "), key=key)
    chain = ChainSpec(
        steps=tuple(steps),
        rules=rules,
        forbids=zeros,
        strata=config.strata,
        proper=config.proper,
        frame=context.frame,
    )
    extended = findings.add(
        plan_extensions(context, chain, scenarios, is_sound=not findings.problems)
    )
    conditions = findings.add(plan_conditions(context, chain, after, extended))
    findings.notes += _few_units(context, steps)
    findings.problems.settle(ConfigError)
    return Plan(
        data=context.data,
        arrangement=context.arrangement,
        table=context.table,
        original=context.original,
        registry=context.registry,
        spec=replace(
            chain,
            steps=tuple(with_bounds(steps, zeros, context.completed)),
            finishers=tuple(one for made in extended.values() for one in made.finishers),
            resampling=next((r for made in extended.values() if (r := made.resampling)), None),
        ),
        extended=extended,
        maker=config.maker,
        seed=draws,
        m=config.m,
        rows=config.rows,
        workers=-1 if config.local_workers is None else config.local_workers,
        checks=config.measuring,
        limits=config.limits,
        scenarios=scenarios,
        design=config.design,
        public=config.public_variables,
        after=after,
        conditions=conditions,
        output=config.output if isinstance(config, Config) else OutputConfig(),
        notes=tuple(findings.notes),
        relations=relations,
        differences=next(
            (made.differences for made in extended.values() if made.differences),
            tuple(differences(context, steps, findings.notes)),
        ),
        settings=plain_config(config),
    )


def plain_config(config: ChainConfig) -> dict[str, Any]:
    """Return a configuration as plain values, without the password of a database."""
    dump: dict[str, Any] = json.loads(config.model_dump_json(by_alias=True, exclude_unset=True))
    sql = dump.get("data", {}).get("sql")
    if sql:
        sql["url"] = without_password(sql["url"])
    return dump


def _name_findings(context: Context) -> Draft[None]:
    """Return problems of unknown variables and models, and of misplaced identifiers."""
    findings = Findings()
    findings.problems += [*unknown_variables(context), *models_without_use(context)]
    findings.add(survival_findings(context))
    findings.problems += [
        problem("takes_no_part", name=name, entry=entry)
        for entry, names in (("keep", context.config.keep), ("strata", context.config.strata))
        for name in names
        if context.columns.is_known(name) and context.takes_no_part(name)
    ]
    findings.problems += [*repeated_ids(context), *computed_free_variables(context)]
    findings.problems += relation_problems(context)
    findings.add(id_findings(context))
    if not context.names and context.columns.is_complete:
        findings.problem("nothing_to_synthesise")
    return findings.of(None)


def _row_findings(context: Context, n_steps: int, *, keeps: bool) -> Draft[None]:
    """Return problems of numbers of units: kept variables, strata, workers."""
    config, table, findings = context.config, context.table, Findings()
    findings.problems += whole_number_problems(rows=config.rows)
    if keeps:
        who = context.arrangement.unit
        findings.note(
            "keeps_real_values", whose=f"{who}s" if context.is_panel else "persons", who=who
        )
    if keeps and config.rows not in (None, table.n_units):
        findings.problem("rows_of_kept", rows=config.rows, n_units=table.n_units)
    findings.problems += worker_problems(config.local_workers)
    findings.problems += _strata_problems(context, n_steps)
    return findings.of(None)


def _strata_problems(context: Context, n_steps: int) -> Iterator[str]:
    """Yield problems of strata that divide units, or are too small."""
    config, table = context.config, context.table
    changing = [name for name in config.strata if context.changing.get(name, 0) > 0]
    units = f"{context.arrangement.unit}s"
    if changing and context.has_groups:
        lead = context.arranged.lead(changing[0], context.table)
        such = f", such as {lead}" if lead else ""
        unit = context.arrangement.unit
        yield problem("strata_change_in_groups", names=changing, unit=unit, such=such)
    elif changing:
        yield problem(f"strata_change_in_{units}", names=changing)
    elif config.strata and all(name in table for name in config.strata):
        sizes = np.array([len(u) for u in split_strata(table.unit_table, config.strata)])
        needed = config.min_stratum_rows or MIN_STRATUM_ROWS * (1 + n_steps)
        small = int((sizes < needed).sum())
        if small:
            facts = {"small": small, "count": len(sizes), "needed": needed, "units": units}
            yield problem("strata_too_small", names=config.strata, **facts)


def _few_units(context: Context, steps: Sequence[Step]) -> Iterator[str]:
    """Yield a note if extremes held back by ``min_holders`` are a large part of a small file."""
    numbers = [
        (step, min_holders_of(step.model))
        for step in steps
        if step.variable in context.table and not context.table[step.variable].is_coded
    ]
    k = max((holders for _, holders in numbers), default=0)
    n = context.table.n_units
    if 0 < n < MIN_UNITS_PER_HOLDER * k:
        coded = [step for step, holders in numbers if holders]
        names = listed([step.variable for step in coded])
        options = ", ".join(
            f"{m}: {{min_holders: 2}}" for m in dict.fromkeys(s.method for s in coded)
        )
        units = "persons" if context.is_panel else "records"
        yield note("few_units", n=n, units=units, names=names, k=k, options=options)


def _inside_source(config: Config) -> Iterator[str]:
    """Yield a problem of an output that the next run would read as data."""
    path, directory = config.data.path, config.output.directory
    if path is None or not os.path.isdir(path):
        return
    if directory.resolve().is_relative_to(path.resolve()):
        yield problem("output_inside_data", directory=directory, path=path)


def prepare(
    config: AnyForm,
    registry: Registry | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    check_directory: bool = True,
    seed: Seed | None = None,
) -> Plan:
    """Return the plan of a whole run, after reading its data.

    Parameters
    ----------
    config : Config, mapping or path
        A configuration, a mapping with its keys, or a YAML file.
    registry : Registry, optional
        The available models, without those of plug-ins of the configuration; by default those of
        all installed packages.
    overrides : mapping, optional
        Values that replace keys of the configuration.
    check_directory : bool
        Whether the output directory is checked as well.
    seed : Seed, optional
        Replaces seed and key of the configuration.

    Raises
    ------
    ConfigError
        With every problem of the configuration, the data, the plan and the output.
    """
    problems = Problems()
    sound = sound_config(config, overrides, problems)
    if sound is None:
        raise ConfigError(dict.fromkeys(problems))
    output = sound.output
    faulty = has_faulty_panel(problems)
    if check_directory:
        problems += check_output(output.directory, overwrite=output.overwrite)
        problems += _inside_source(sound)
    for name, section in sound.sections.items():
        with guarded(f"key {name!r}: seed"):
            if seed is None and isinstance(section, Section):
                seed = section.seed(output.directory)
    data = read_input(sound)
    pa.default_memory_pool().release_unused()  # the texts of the source
    models = registry or Registry.load()
    with problems.gathered():
        models = models.with_plugins(sound.plugins)
        if not faulty:
            plan = make_plan(sound, data, models, seed=seed)
    problems += data.problems
    problems.settle(ConfigError)
    return plan
