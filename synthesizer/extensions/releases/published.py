"""The plan of new periods: the published run, problems of its extension, and the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa

from synthesizer.config.keys import NUMBER_STEPS, AfterConfig, Config
from synthesizer.data.dialects import RELEASED
from synthesizer.data.encoding import recoded
from synthesizer.data.errors import DataError, Problems, at_place, listed, plural
from synthesizer.data.files import sha256
from synthesizer.data.formats import writing_of
from synthesizer.data.layout import Layout
from synthesizer.data.pairs import read_like
from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.forms import LongForm, WideForm
from synthesizer.data.panel.panel_table import PanelTable, as_panel
from synthesizer.data.panel.view import period_labels
from synthesizer.data.sources import RawTable, read_path
from synthesizer.data.spreadsheets import spreadsheet_safe
from synthesizer.data.table import Column, Kind, Table
from synthesizer.data.values import is_number
from synthesizer.engine.registry import ROLES
from synthesizer.engine.source import Request, Source
from synthesizer.extensions.releases.extending import Extending, Given, fit_extension, until
from synthesizer.extensions.releases.extends_options import ExtendsOptions
from synthesizer.extensions.releases.waves import PublishedRisk, PublishedRun, risk_figures
from synthesizer.extensions.releases.writing_onto import write_onto
from synthesizer.jobs.manifest import history_digest
from synthesizer.models.histories.wrapped import ByClass
from synthesizer.models.step import Step
from synthesizer.plan.context import Context
from synthesizer.plan.extended import Fitting, Planned, PlanRequest
from synthesizer.plan.findings import Draft, Findings, note, problem
from synthesizer.report.record import RERUN, Manifest, manifest_in, read_record

MAX_NAMED = 5
"""Columns in a message."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Published(Planned):
    """The datasets of a published run, and the confidential data with more periods."""

    directory: Path
    contained: Manifest
    """Of the published run."""
    m: int
    """Number of extended datasets."""
    arrangement: LongForm | WideForm
    """Of the confidential data, whose periods are more."""
    original: Table
    """The confidential data as read."""
    layout: Layout
    """Of the confidential data."""
    safe: bool
    """Whether texts of CSV files must not be formulas of a spreadsheet."""
    since: int
    """The first period that is new."""
    n_units: int
    """Persons of the first dataset."""

    def source(self, fitting: Fitting) -> Extending:
        """Return the source of the new periods, for published datasets or half of the data."""
        given, n_given = self._of_half(fitting) if fitting.is_half else (self.given, self.n_units)
        return fit_extension(
            fitting.spec,
            as_panel(fitting.table),
            self.since,
            given,
            n_given,
            fitting.seed,
            replicates=fitting.m,
            n_jobs=fitting.workers,
            progress=fitting.progress,
            risk=None if fitting.is_half else self._risk(),
        )

    def _of_half(self, fitting: Fitting) -> tuple[Given, int]:
        """Synthesise the published periods of a half, as a whole."""
        before = as_panel(fitting.table).until(self.since)
        spec = replace(fitting.spec, frame=until(cast(Frame, fitting.spec.frame), self.since))
        chain = replace(fitting, table=before, fitted=spec).chain()
        return lambda request: map(as_panel, chain.drawn(request)), before.n_units

    def _risk(self) -> PublishedRisk:
        """Return the risk of the published run from its checks."""
        with suppress(DataError):  # nothing was checked, or another version did
            results = read_record(self.directory, compare_files=False).results
            return PublishedRisk(risk=risk_figures(results))
        return PublishedRisk(risk={})

    def facts(self, source: Source) -> dict[str, Any]:  # noqa: ARG002
        """Return the published run."""
        return PublishedRun(
            run=str(self.directory),
            created=self.contained.created,
            config_sha256=self.contained.config_sha256,
            periods=self.since,
            persons=self.n_units,
            datasets=self.m,
        ).model_dump()

    def write(self, table: Table, written: Table, folder: Path, number: int) -> str:
        """Write a dataset with the bytes of the published one; return the name of the file.

        New rows of the long form come after the published ones, period by period. In the wide form
        the cells of new periods stand between the published cells, and new persons come last.
        """
        raw, index = self.raw(number - 1), as_panel(table).index
        person = self.arrangement.person_column
        n_known = raw.n_rows if person is None else 0
        if person is not None:
            new = np.flatnonzero(index.period >= self.since)
            written = written.take(new[np.argsort(index.period[new], kind="stable")])
            numbers = np.arange(1.0, len(new) + 1) + raw.n_rows
            for column in written.columns:
                if column.variable.kind is Kind.ID and column.name != person:
                    written = written.with_column(Column(column.variable, numbers))
            written = written.select(raw.names)
        if self.safe and raw.layout.csv is not None:
            written = spreadsheet_safe(written)
        path = self.path(number - 1)
        write_onto(path, n_known, written, folder / path.name, raw.layout, self.layout)
        return path.name

    @property
    def periods(self) -> tuple[str, ...]:
        """All periods as they are written, the published ones first."""
        return period_labels(self.arrangement.frame.periods)

    def path(self, dataset: int) -> Path:
        """Return the file of a dataset, counted from 0."""
        return self.directory / self.contained.datasets[dataset]

    def given(self, request: Request) -> Iterator[PanelTable]:
        """Yield the published datasets in the codes of the confidential data."""
        yield from map(self.panel, range(request.first, request.first + request.m))

    def raw(self, dataset: int) -> RawTable:
        """Return the file of a dataset as it was read."""
        return read_path(self.path(dataset), min_rows=1, **RELEASED)

    def panel(self, dataset: int) -> PanelTable:
        """Return a published dataset in the codes of the confidential data.

        Raises
        ------
        DataError
            If it contains values that the confidential data do not have.
        """
        form, raw = self.arrangement, self.raw(dataset)
        ids = [column.name for column in self.original.columns if column.variable.kind is Kind.ID]
        if isinstance(form, LongForm):
            ids += [form.person, form.time]
        faults = Problems()
        with faults.gathered(raw.origin):
            read = read_like(raw, self.original, raw.names, ids)
            table = Table(_without_null(read[name], self.original[name]) for name in read.names)
            odd = [
                name
                for name in table.names
                if name not in ids and _labels(table[name]) != _labels(self.original[name])
            ]
            if odd:
                raise DataError(problem("values_unknown", names=odd, odd=_few(odd)))
            table = Table(_recast(table[name], self.original[name]) for name in table.names)
            if isinstance(form, WideForm):
                wide = {name: columns[: self.since] for name, columns in form.wide.items()}
                form = replace(form, schema=table.schema, wide=wide)
            problems = form.other_problems(table)
            if problems:
                raise DataError(problems)
            panel = form.modelled(table)
            if int(panel.index.period.max()) >= self.since:
                raise DataError(
                    problem("published_has_new_periods", period=self.periods[self.since])
                )
            return panel.until(self.since)
        raise DataError(faults)


def _labels(column: Column) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return column.variable.levels, column.variable.missing


def _without_null(column: Column, like: Column) -> Column:
    """Return a number of a typed file, whose nulls stand for the code that no number can be."""
    words = [code for code in like.variable.missing if not is_number(pa.array([code]))[0]]
    null = [code for code in column.variable.missing if code not in like.variable.missing]
    if column.is_coded or len(words) != 1 or null != [""]:
        return column
    missing = tuple(words[0] if code == "" else code for code in column.variable.missing)
    renamed = replace(column.variable, missing=missing)
    return recoded(Column(renamed, column.data, column.states), like.variable)


def _recast(column: Column, like: Column) -> Column:
    """Return a column under the variable of the confidential data, but for its codes."""
    if column.variable.kind is Kind.ID or _labels(column) != _labels(like):
        return column
    return Column(like.variable, column.data, column.states)


def plan_published(request: PlanRequest) -> Draft[Published | None]:
    """Return the published run that a plan extends; None if there are problems."""
    config, findings = request.context.config, Findings()
    if not isinstance(config, Config):
        return Draft(None, (problem("extends_needs_files"),))
    made = findings.add(_planned(request.context, config, request.options, request.chain.steps))
    if config.after is not None:
        findings.problems += _after_problems(config.after)
    return findings.of(made)


def _planned(
    context: Context, config: Config, extends: ExtendsOptions, steps: Sequence[Step]
) -> Draft[Published | None]:
    problems, run = Problems(), extends.run
    manifest = problems.attempt(manifest_in, run)
    # a new run would replace the published data
    problems[:] = [text.replace(RERUN, "restore the published file") for text in problems]
    if manifest is None and not problems:
        problems.append(problem("not_a_run", run=run))
    if manifest is not None:
        problems += _kind_problems(config, manifest)
    form = context.arrangement
    if manifest is None or manifest.panel is None or not isinstance(form, LongForm | WideForm):
        return Draft(None, tuple(at_place("extends", problems)))
    problems += _panel_problems(form, manifest)
    problems += _variable_problems(context, form, manifest)
    problems += _file_problems(run, manifest, config)
    problems += [
        problem("published_format", path=run / name)
        for name in manifest.datasets
        if writing_of(Path(name).suffix[1:])
    ]
    problems += _step_problems(config.after, manifest, run)
    first, panel = manifest.panel.periods, as_panel(context.table)
    n_periods = len(form.frame.times)
    if n_periods <= first:
        problems.append(problem("no_new_periods", periods=plural(n_periods, "period"), first=first))
    published = None
    if not problems:
        published = Published(
            no_model=problem("extends_not_saved"),
            keeps_rules=True,
            rounds=n_periods - first,
            directory=run,
            contained=manifest,
            m=config.m,
            arrangement=form,
            original=context.data.table,
            layout=context.data.layout,
            safe=config.output.spreadsheet_safe,
            since=first,
            n_units=0,
        )
        with problems.gathered():
            published = replace(published, n_units=published.panel(0).n_units)
        problems += _revision_problems(panel, form.frame, manifest, extends)
    notes = () if published is None else tuple(_notes(context, published, extends, steps))
    return Draft(published, tuple(at_place("extends", problems)), notes)


def _kind_problems(config: Config, manifest: Manifest) -> Iterator[str]:
    """Yield problems of kinds of synthesis without periods."""
    if config.panel is None or manifest.panel is None:
        which = "this configuration" if config.panel is None else "the published run"
        yield problem("extends_needs_panel", which=which)
    if maker := config.maker or manifest.maker:
        yield problem("extends_maker", maker=maker)
    if config.keep or any(step.kept for step in manifest.chain):
        yield problem("extends_kept")
    if config.strata:
        yield problem("extends_strata")
    if config.m > manifest.m:
        yield problem("extends_m", m=config.m, published=manifest.m)


def _panel_problems(form: LongForm | WideForm, manifest: Manifest) -> Iterator[str]:
    """Yield differences in persons, periods and careers."""
    entry, facts = manifest.panel, form.facts or {}
    if entry is None:
        return
    for key in ("form", "person", "time", "career"):
        was, now = getattr(entry, key), facts.get(key)
        if was != now and not (key == "time" and form.form == "wide"):
            yield problem("published_panel_differs", key=key, now=now, was=was)


def _variable_problems(
    context: Context, form: LongForm | WideForm, manifest: Manifest
) -> Iterator[str]:
    """Yield differences from the published variables."""
    first = 0 if manifest.panel is None else manifest.panel.periods
    was = {entry.name: entry for entry in manifest.variables}
    now = {variable.name: variable for variable in context.data.table.schema}
    added: set[str] = set()
    if isinstance(form, WideForm):
        for name, columns in form.wide.items():
            added |= set(columns)
            moved = [c for c in columns[:first] if c not in was]
            late = [c for c in columns[first:] if c in was]
            if moved or late:
                yield problem(
                    "published_columns_moved", name=name, first=first, late=_few([*moved, *late])
                )
    new = [name for name in now if name not in was and name not in added]
    if new:
        yield problem("not_published", names=new, new=_few(new))
    lost = [name for name in was if name not in now]
    if lost:
        yield problem("published_variable_lost", names=lost, lost=_few(lost))
    for name, entry in was.items():
        if name in now and now[name].kind.value != entry.kind:
            yield problem(
                "published_kind_differs", name=name, now=now[name].kind.value, was=entry.kind
            )


def _file_problems(run: Path, manifest: Manifest, config: Config) -> Iterator[str]:
    """Yield published datasets that are missing, changed, or of another format."""
    entries = {entry.name: entry for entry in manifest.files}
    for name in manifest.datasets[: config.m]:
        path = run / name
        if not path.is_file():
            yield problem("published_file_gone", path=path)
        elif sha256(path) != entries[name].sha256:
            yield problem("published_file_changed", path=path)
    if config.output.directory.resolve() == run.resolve():
        yield problem("output_is_published_run", directory=config.output.directory)
    form = config.output.format
    if form is not None and not all(name.endswith(f".{form}") for name in manifest.datasets):
        yield problem("published_other_format", form=form)


def _step_problems(after: AfterConfig | None, manifest: Manifest, run: Path) -> Iterator[str]:
    """Yield steps after synthesis that differ, or cannot be applied to new periods alone."""
    before = manifest.config.get("after") or {}
    for key in ("blank_rare", "uniques", "label"):
        if before.get(key):
            yield problem("published_with_after", run=run, key=key)
    for key in NUMBER_STEPS:
        was, now = before.get(key) or {}, {} if after is None else getattr(after, key)
        odd = [name for name in {**was, **now} if was.get(name) != now.get(name)]
        if odd:
            yield problem("published_after_differs", names=odd, key=key, odd=_few(odd))


def _after_problems(after: AfterConfig) -> Iterator[str]:
    """Yield steps that would change published numbers."""
    for key in ("bottom_code", "top_code"):
        for name, bound in getattr(after, key).items():
            unit = after.round.get(name)
            if unit is not None and not np.isclose(bound, np.rint(bound / unit) * unit):
                facts = {"key": key, "bound": bound, "unit": unit}
                yield problem("extends_after_no_multiple", name=name, **facts)
    odd = [key for key in ("blank_rare", "uniques", "label") if getattr(after, key)]
    yield from (problem("extends_after_changes_all", key=key) for key in odd)


def _revision_problems(
    panel: PanelTable, frame: Frame, manifest: Manifest, extends: ExtendsOptions
) -> Iterator[str]:
    """Yield a problem if the confidential data of the published periods have changed."""
    entry = manifest.panel
    if entry is None or extends.revised:
        return
    if entry.sha256 is None:
        yield problem("published_without_digest")
    elif entry.sha256 != history_digest(panel, frame, entry.periods):
        yield problem("published_data_revised")


def _notes(
    context: Context, published: Published, extends: ExtendsOptions, steps: Sequence[Step]
) -> Iterator[str]:
    """Yield notes on an extension."""
    manifest, config = published.contained, context.config
    new = published.periods[published.since :]
    by = {step.variable: _goes_on(step) for step in steps if not step.model.abilities.career}
    drawn = [f"{name} by {model}" for name, model in by.items() if model]
    same = [name for name, model in by.items() if not model]
    yield note(
        "extends_adds",
        new=_few([*new], most=20),
        first=published.since,
        run=extends.run,
        datasets=plural(published.m, "dataset"),
        persons=plural(published.n_units, "person"),
        career=context.career,
        drawn=f"; drawn given what is published: {', '.join(drawn)}" if drawn else "",
        same=f"; constant for published persons, drawn for new ones: {', '.join(same)}"
        if same
        else "",
    )
    was = {entry.variable: entry.model for entry in manifest.chain}
    constant = ROLES["unchanging"]
    for name, model in by.items():
        if model and was.get(name) == constant:
            yield note("extends_changes", name=name, model=model, constant=constant)
    options = {
        *context.options.get(ROLES["career"], {}),
        *context.settings_of(str(context.career)).options,
    }
    if options:
        yield note("extends_options", options=", ".join(sorted(options)))
    if extends.revised:
        yield note("extends_revised")
    if config.m < manifest.m:
        yield note("extends_fewer", m=config.m, published=manifest.m)
    if config.rows is not None:
        yield note("extends_rows")


def _goes_on(step: Step) -> str:
    """Return the model of a variable in new periods, "" if it is constant."""
    model = step.model
    if model.abilities.person:
        return ""
    # whole histories and events need all periods
    whole = isinstance(model, ByClass) and type(model).fit_last is ByClass.fit_last
    return ROLES["changing"] if whole or getattr(model, "since", None) else step.method


def _few(names: list[str], most: int = MAX_NAMED) -> str:
    return listed([*map(repr, names)], most)
