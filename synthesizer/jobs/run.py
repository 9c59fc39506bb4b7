"""The main job: read, fit, generate, check, write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthesizer.config.reading import AnyForm
from synthesizer.data.displayed import Displayed
from synthesizer.data.errors import OutputError, SynthesizerError, plural
from synthesizer.data.files import check_file, new_directory, new_file, write_text
from synthesizer.data.options import public
from synthesizer.data.randomness import AnySeed, Seed
from synthesizer.data.table import Table
from synthesizer.data.workers import Listener, Phases, silent
from synthesizer.engine.chain import FittedChain
from synthesizer.engine.registry import Registry
from synthesizer.engine.source import Beside, Source
from synthesizer.jobs.manifest import (
    ONE_OF_SEVERAL,
    FormulaCells,
    earlier_runs,
    file_entry,
    manifest_of,
    write_dataset,
    write_json,
)
from synthesizer.jobs.release_ledger import beside_others, list_release, release_of, releases_of
from synthesizer.measures.figure import plain
from synthesizer.measures.results import checks_content
from synthesizer.measures.settings import LimitConfig
from synthesizer.measures.verdict import CheckResults, Verdict
from synthesizer.plan.extended import Work
from synthesizer.plan.forecast import of_checks, print_forecast
from synthesizer.plan.plan import GENERATE, Plan, prepare
from synthesizer.plan.seeds import replay_notes
from synthesizer.report.build import REPORT, build_report
from synthesizer.report.codebook.write import write_release_codebook
from synthesizer.report.record import CHECKS, MANIFEST, FileEntry, Manifest, Record, is_path

if TYPE_CHECKING:
    from synthesizer.engine.saved import SavedModel


@dataclass(frozen=True, kw_only=True, repr=False)
class RunResult(Displayed):
    """The files and results of a run; a notebook shows its verdict."""

    record: Record
    """Contents of ``manifest.json`` and ``checks.json``."""
    directory: Path
    """The output directory."""
    datasets: tuple[Path, ...]
    """One file for each synthetic dataset."""
    codebook: tuple[Path, ...]
    """The codebook as HTML and JSON, for release with the datasets."""
    report: Path | None
    """The report; None if it was switched off. Confidential."""
    interrupted: bool = False
    """Whether the run was interrupted, so that its datasets are the best until then."""
    new_notes: tuple[str, ...] = ()
    """Notes of this run that its plan does not have."""

    def __repr__(self) -> str:
        from synthesizer.report.notebook import text_of_run

        drawn = f"{self.manifest.rows:,} {self.record.drawn_units} each"
        head = f"RunResult: {plural(len(self.datasets), 'dataset')} in {self.directory}, {drawn}"
        files = [] if self.report is None else [f"Report: {self.report}"]
        return text_of_run(self.record, head, files)

    def _repr_html_(self) -> str:
        from synthesizer.report.notebook import html_of_run

        return html_of_run(self.record)

    @property
    def _displayed(self) -> CheckResults:
        return self.checks

    @property
    def manifest(self) -> Manifest:
        """How the datasets were made."""
        return self.record.manifest

    @property
    def checks(self) -> CheckResults:
        """Every number of the checks, judged by the limits of the configuration."""
        limits = self.manifest.config.get("limits") or {}
        return self.record.results.judged_by(LimitConfig(**limits))

    @property
    def exceeded(self) -> tuple[str, ...]:
        """Sentences on figures above a limit of the configuration; empty if there are none."""
        return self.record.exceeded

    @property
    def verdict(self) -> Verdict:
        """The verdict on the release: three lines, each with its tests."""
        return self.record.verdict

    @property
    def extensions(self) -> Mapping[str, Any]:
        """Results of extensions that made datasets, by key."""
        return self.record.extensions


@public
def run(
    config: AnyForm,
    *,
    overrides: Mapping[str, Any] | None = None,
    registry: Registry | None = None,
    listener: Listener = silent,
    seed: AnySeed | None = None,
) -> RunResult:
    """Synthesise data and write the datasets, checks, report and manifest.

    Parameters
    ----------
    config : Config, mapping or path
        A configuration, a mapping with the keys of the YAML, or the YAML file.
    overrides : mapping, optional
        Replace keys of the file or mapping, such as ``{"m": 5}``.
    registry : Registry, optional
        Models to choose from; all that installed packages offer by default. Those of the
        configuration's ``plugins`` are added.
    listener : Listener, optional
        Receives the progress.
    seed : int or Seed, optional
        Replaces ``seed`` of the configuration; a `Seed` also replaces its ``random_key``.

    Returns
    -------
    RunResult
        Paths of the files, checks, verdict and manifest.

    Raises
    ------
    ConfigError
        With every problem of configuration, data and output, before anything is written.
    OutputError
        If the output cannot be written.

    Notes
    -----
    A figure above its limit raises no error: see ``RunResult.exceeded``.

    Examples
    --------
    >>> import pandas as pd
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "people.csv")
    ...     pd.DataFrame({"age": [30, 41] * 30, "sex": ["f", "m"] * 30}).to_csv(file, index=False)
    ...     config = {"data": {"path": str(file)}, "output": {"directory": f"{folder}/made"}}
    ...     result = run({**config, "checks": False, "workers": 1}, seed=1)
    ...     [path.name for path in result.datasets], result.manifest.rows
    (['synthetic_1.csv'], 60)
    """
    phases = Phases(listener)
    if isinstance(seed, int):
        overrides, seed = {**(overrides or {}), "seed": seed}, None
    with phases.phase("read"):
        plan = prepare(config, registry, overrides=overrides, seed=seed)
    releases_of(plan)  # a damaged ledger is refused before anything is made
    print_forecast(plan, listener, phases.seconds["read"])
    output, seed = plan.output, plan.seed
    with (
        plan.work() as work,
        new_directory(output.directory, overwrite=output.overwrite) as directory,
        plan.guarded(),
    ):
        folder = _Folder(directory, plan, phases)
        source = plan.fit(seed, phases, store=work)
        checks = plan.checking(seed, listener)
        for table in folder.made(source, work):
            with phases.phase("check"):
                checks.add(plan.viewed(table))
        with phases.phase("check"):
            making = phases.seconds.get("fit", 0.0) + phases.seconds.get(GENERATE, 0.0)
            listener.expect("check", of_checks(plan, making))
            everybody = None if work is None else work.everybody
            results = checks.finish(partial(plan.refit, source, seed), everybody=everybody)
        beside = folder.write_beside(source.beside(seed))
        exceeded = limits_exceeded(plan.limits, source, results)
        manifest = manifest_of(plan, source, seed, phases)
        result = folder.write(Record(manifest, results, exceeded, beside))
    release = release_of(result.manifest, result.checks, result.directory)
    notes = list_release(plan.data.path, release)
    new_notes = (*result.new_notes, *notes)
    return replace(result, interrupted=source.interrupted, new_notes=new_notes)


@public
def fit(
    config: AnyForm, *, registry: Registry | None = None, listener: Listener = silent
) -> SavedModel:
    """Return the fitted chain of a configuration, which can be saved and drawn from.

    Parameters
    ----------
    config : Config, mapping or path
        A configuration, a mapping with the keys of the YAML, or the YAML file.
    registry : Registry, optional
        Models to choose from; all that installed packages offer by default.
    listener : Listener, optional
        Receives the progress.

    Returns
    -------
    SavedModel
        The chain with the layout of the source; confidential.

    Raises
    ------
    ConfigError
        With every problem of configuration and data.
    ModelError
        If an extension makes whole datasets, without a model.

    Examples
    --------
    >>> model = fit({"data": {"sample": "fair"}, "default_method": "sample", "seed": 1})
    >>> model.chain.n_units
    6366
    """
    phases = Phases(listener)
    return fitted_model(_plan_to_save(config, phases, registry=registry), phases)


def _plan_to_save(config: AnyForm, phases: Phases, **options: Any) -> Plan:
    with phases.phase("read"):
        plan = prepare(config, check_directory=False, **options)
    plan.refuse_saving()
    return plan


def fit_file(
    config: Path,
    out: Path,
    *,
    overrides: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
) -> SavedModel:
    """Fit the chain of a configuration and save it to ``out``, which is locked meanwhile.

    Raises
    ------
    ConfigError
        With every problem of configuration and data.
    OutputError
        If the file is an input, exists, is locked, or cannot be written.
    ModelError
        If an extension makes whole datasets, without a model.
    """
    from synthesizer.engine.saved import write_model

    check_file(out, overwrite=overwrite, read=[config])
    phases = Phases(listener)
    plan = _plan_to_save(config, phases, overrides=overrides)
    read = [config, *([] if plan.data.path is None else [plan.data.path])]
    with new_file(out, overwrite=overwrite, read=read) as work:
        model = fitted_model(plan, phases)
        write_model(work, model, plan.registry)
    return model


def fitted_model(plan: Plan, phases: Phases) -> SavedModel:
    """Return the fitted chain of a plan as a model that can be saved."""
    return saved_model(plan, plan.fit_chain(plan.seed, phases), phases)


def saved_model(plan: Plan, chain: FittedChain, phases: Phases) -> SavedModel:
    """Return a fitted chain as a model that can be saved."""
    from synthesizer.engine.saved import SavedModel

    return SavedModel(
        chain=chain,
        layout=plan.data.layout,
        seed=plan.seed,
        origin=plain(manifest_of(plan, chain, plan.seed, phases)),
        plugins=plan.registry.plugins,
        arrangement=plan.arrangement,
        after=plan.after,
    )


def drawn(plan: Plan, source: Source, seed: Seed, phases: Phases) -> Iterator[Table]:
    """Yield the datasets one by one, so that memory does not grow with m."""
    with phases.phase(GENERATE, source.count_blocks(plan.m, plan.rows)) as advance:
        yield from map(
            plan.released,
            source.generate(seed, m=plan.m, rows=plan.rows, n_jobs=plan.workers, progress=advance),
        )


def limits_exceeded(
    limits: LimitConfig, source: Source, results: CheckResults | None
) -> tuple[str, ...]:
    """Return a sentence for each exceeded limit of the checks or the source."""
    if results is None:
        return source.exceeded({})
    pooled = {key: results.summary[key] for key in ("cap_u", "cap")}
    return (*results.exceeded(limits), *source.exceeded(pooled))


class _Folder:
    """The directory of a run while it is filled."""

    def __init__(self, directory: Path, plan: Plan, phases: Phases) -> None:
        self.directory, self.plan, self.phases = directory, plan, phases
        self.datasets: list[str] = []
        self.sizes: list[int] = []
        """Units of each dataset."""
        self.formulas = FormulaCells(safe=plan.output.spreadsheet_safe)
        self.stewards = [CHECKS]
        """Confidential files beside manifest and report."""

    def made(self, source: Source, work: Work | None) -> Iterator[Table]:
        """Draw and write the datasets one by one; yield the table of each for the checks."""
        if work is None:
            for table in drawn(self.plan, source, self.plan.seed, self.phases):
                self.write_dataset(table)
                yield table
            return
        for name, table in work.datasets(source, self.directory, self.phases):
            self.datasets.append(name)
            yield table

    def write_dataset(self, table: Table) -> None:
        """Write the next dataset, in the form of the source."""
        number, written = len(self.datasets) + 1, self.plan.restored(table)
        self.sizes.append(table.n_units)
        name = self.plan.making.write(table, written, self.directory, number)
        name = name or self._written(written, number, self.plan.m)
        self.datasets.append(name)
        self.formulas.add(written, name)

    def _written(self, table: Table, number: int, m: int, stem: str = "synthetic") -> str:
        """Write a table as the configuration asks; return the name of its file."""
        layout, output = self.plan.data.layout, self.plan.output
        form, safe = output.format, output.spreadsheet_safe
        return write_dataset(table, self.directory, number, m, layout, form, stem=stem, safe=safe)

    def write_beside(self, beside: Beside | None) -> dict[str, Any]:
        """Write the further files of a source for the steward; return its result."""
        if beside is None:
            return {}
        names = [*beside.texts, *([beside.stem] if beside.tables else [])]
        if odd := [name for name in names if is_path(name)]:
            raise OutputError(f"{self.plan.source_key}: {odd[0]!r} is no valid file name")
        for name, text in beside.texts.items():
            write_text(self.directory / name, text)
        tables = [self.plan.restored(self.plan.released(table)) for table in beside.tables]
        files = [
            self._written(table, number, len(tables), beside.stem)
            for number, table in enumerate(tables, 1)
        ]
        self.stewards += [*beside.texts, *files]
        result = beside.result if beside.named is None else beside.named(files)
        return {self.plan.source_key: result}

    def write(self, record: Record) -> RunResult:
        """Write checks, codebook, manifest and report of the datasets."""
        directory, output = self.directory, self.plan.output
        beside = {key: part.model_dump(mode="json") for key, part in record.extensions.items()}
        drawn = {"m": len(self.datasets), "files": self._entries(self.datasets)}
        manifest = record.manifest.model_copy(update=drawn)
        release = release_of(manifest, record.results, output.directory)
        results = beside_others(record.results, self.plan, release)
        record = replace(record, manifest=manifest, results=results)
        content = checks_content(record.results, record.exceeded, beside, record.verdict)
        write_json(directory / CHECKS, content)
        manifest = manifest.model_copy(
            update={
                "exceeded_limits": record.exceeded,
                "verdict": {line.subject: line.word for line in record.verdict.lines},
            }
        )
        codebook, notes = self._write_codebook(manifest)
        earlier = earlier_runs(output.directory, manifest)
        manifest = manifest.model_copy(
            update={
                "earlier_runs": earlier,
                "notes": (
                    *manifest.notes,
                    *self._dropped(manifest.rows),
                    *self.formulas.notes,
                    *notes,
                    *([ONE_OF_SEVERAL.format(earlier + 1)] if earlier else []),
                ),
                "seconds": self.phases.seconds,
                "files": (*manifest.files, *self._entries([*self.stewards, *codebook])),
            }
        )
        write_json(directory / MANIFEST, plain(manifest))
        record = replace(record, manifest=manifest)
        if output.report:
            with self.phases.phase("report"):
                write_text(directory / REPORT, build_report(record))
        return RunResult(
            record=record,
            directory=output.directory,
            datasets=tuple(output.directory / name for name in self.datasets),
            codebook=tuple(output.directory / name for name in codebook),
            report=output.directory / REPORT if output.report else None,
            new_notes=(*replay_notes(self.plan.seed), *manifest.notes[len(self.plan.notes) :]),
        )

    def _dropped(self, drawn: int) -> Iterator[str]:
        """Return a note on the number of records that were dropped out of each dataset."""
        if self.plan.after.drop_uniques:
            dropped = ", ".join(f"{drawn - size:,}" for size in self.sizes)
            units = self.plan.units
            yield f"after.uniques: {dropped} of {drawn:,} {units} were left out of the datasets"

    def _entries(self, names: Sequence[str]) -> tuple[FileEntry, ...]:
        return tuple(file_entry(self.directory / name) for name in names)

    def _write_codebook(self, manifest: Manifest) -> tuple[list[str], list[str]]:
        """Write the codebook for researchers; a failure becomes a note."""
        if not self.plan.output.codebook:
            return [], []
        with self.phases.phase("codebook"):
            try:
                with self.plan.guarded("codebook"):
                    return list(write_release_codebook(self.directory, manifest)), []
            except OutputError:  # remove a partial codebook
                raise
            except SynthesizerError as error:
                return [], [f"no codebook: {problem}" for problem in error.problems]
