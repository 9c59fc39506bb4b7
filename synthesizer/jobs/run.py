"""The main job: read, fit, generate, check, write."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synthesizer.config.keys import Config
from synthesizer.data.errors import ModelError, SynthesizerError
from synthesizer.data.files import new_directory, write_secret
from synthesizer.data.panel.view import PersonView
from synthesizer.data.progress import Listener, Phases, silent
from synthesizer.data.randomness import Seed, fresh_seed
from synthesizer.data.table import Table
from synthesizer.data.writing import suffix, write
from synthesizer.engine.genetic.evolution import Generation
from synthesizer.engine.genetic.source import NOT_SAVED, Evolving, Source
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import SavedModel
from synthesizer.jobs.manifest import (
    file_entry,
    manifest_of,
    workers_or_all,
    write_dataset,
    write_json,
)
from synthesizer.measures.checks import Checks
from synthesizer.measures.results import CheckResults, checks_content
from synthesizer.measures.utility.suite import Synthesis
from synthesizer.plan.plan import fitted_source
from synthesizer.plan.prepare import Prepared, prepare
from synthesizer.report.build import REPORT, build_report, read_record
from synthesizer.report.codebook.write import write_release_codebook

# What an evolution leaves beside its datasets: its history, and the frontier to pick from.

HISTORY = "history.csv"


def write_evolution(
    source: Evolving, seed: Seed, work: Path, ready: Prepared
) -> tuple[dict[str, Any], list[str]]:
    """Write the history and the frontier; return what ``checks.json`` tells, and the files.

    Both are for the steward: the history holds figures of the confidential data, and of the
    frontier only the dataset that is picked is meant for release.
    """
    told = source.to_dict(seed)
    write_secret(work / HISTORY, history_text(told["datasets"]), overwrite=False)
    names = [HISTORY]
    frontier = source.frontier(seed)
    if frontier is not None:
        layout, form = ready.source.layout, ready.config.output.format
        width = len(str(len(frontier.tables)))
        written = []
        for number, (table, point) in enumerate(
            zip(frontier.tables, frontier.points, strict=True), 1
        ):
            name = f"frontier_{number:0{width}d}{suffix(layout, form)}"
            (work / name).touch(mode=0o600)  # until the steward has picked one
            write(ready.arrangement.restored(table), work / name, layout, format=form)
            names.append(name)
            written.append({"file": name, **point})
        told["written"] = written
    return told, names


def history_text(datasets: Sequence[Mapping[str, Any]]) -> str:
    """Return the generations of all datasets as the text of a CSV file.

    Examples
    --------
    >>> print(history_text([]), end="")
    dataset,generation,utility,risk,fitness,median_utility,median_risk,frontier
    """
    columns = ("dataset", *Generation.__dataclass_fields__)
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for number, dataset in enumerate(datasets, 1):
        for generation in dataset["history"]:
            writer.writerow({"dataset": number, **generation})
    return text.getvalue()


GENERATE = "generate and write"


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What a run left behind.

    Parameters
    ----------
    directory : Path
        The output directory.
    codebook : tuple of Path
        The codebook for researchers, HTML and JSON; for release with the datasets.
    report : Path or None
        The steward's page; None where it was switched off.
    datasets : tuple of Path
        One file for each synthetic dataset.
    checks : CheckResults
        Every number of the checks; also in ``checks.json``.
    exceeded : tuple of str
        Checks above a limit of the configuration, in words; empty when all is well.
    manifest : mapping
        Content of ``manifest.json``.
    evolved : mapping or None
        Of the genetic synthesizer: utility, risk and history of every dataset, and the frontier;
        also in ``checks.json``.
    """

    directory: Path
    codebook: tuple[Path, ...]
    report: Path | None
    datasets: tuple[Path, ...]
    checks: CheckResults
    exceeded: tuple[str, ...]
    manifest: Mapping[str, Any]
    evolved: Mapping[str, Any] | None = None

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped an evolution before its time; the best so far was kept."""
        told = self.manifest.get("genetic")
        return bool(told and told["interrupted"])


def run(
    config: Config | str | Path,
    *,
    overrides: Mapping[str, Any] | None = None,
    registry: Registry | None = None,
    listener: Listener = silent,
) -> RunResult:
    """Synthesise as a configuration says and leave datasets, checks and manifest.

    Parameters
    ----------
    config : Config or path
        A configuration, or the YAML file that holds one.
    overrides : mapping, optional
        Replace keys of the file, such as ``{"m": 5}``.
    registry : Registry, optional
        Models to choose from; all that installed packages offer by default. Those of the
        configuration's ``plugins`` are added.
    listener : Listener, optional
        Is told about the progress.

    Raises
    ------
    ConfigError
        With every problem of configuration, data and output, before anything is written.

    Notes
    -----
    A check above a limit is no error here: see ``RunResult.exceeded``.
    """
    phases = Phases(listener)
    with phases.phase("read"):
        ready = prepare(config, registry or Registry.load(), overrides=overrides)
    settings = ready.config
    with new_directory(settings.output.directory, overwrite=settings.output.overwrite) as work:
        seed = Seed(fresh_seed() if settings.seed is None else settings.seed)
        source = _fit(ready, seed, phases)
        checks = Checks(
            ready.view,
            settings.checks,
            scenarios=ready.plan.scenarios,
            seed=seed,
            synthesis=Synthesis(proper=settings.proper, kept=ready.plan.kept),
            frame=ready.plan.spec.frame,
            person=None if settings.panel is None else settings.panel.person,
            workers=workers_or_all(settings.workers),
            listener=phases.listener,
        )
        names = write_datasets(ready, source, seed, work, phases, checks)
        results = _check(ready, checks, seed, phases, source)
        exceeded = results.exceeded(settings.limits)
        told: dict[str, Any] = {}
        further = ["checks.json"]
        if isinstance(source, Evolving):
            exceeded += (*source.exceeded, *_pooled(source, results))
            evolved, files = write_evolution(source, seed, work, ready)
            told, further = {"genetic": evolved}, [*further, *files]
        write_json(work / "checks.json", checks_content(results, exceeded, told.get("genetic")))
        manifest = manifest_of(ready, source, seed, phases)
        manifest["m"] = len(names)
        manifest["exceeded_limits"] = list(exceeded)
        manifest["files"] = [file_entry(work / name) for name in names]
        codebook: list[str] = []
        if settings.output.codebook:
            with phases.phase("codebook"):
                codebook = _codebook(work, manifest)
        manifest["files"] += [file_entry(work / name) for name in (*further, *codebook)]
        write_json(work / "manifest.json", manifest)
        if settings.output.report:
            with phases.phase("report"):
                record = read_record(work, compare_files=False)
                write_secret(work / REPORT, build_report(record), overwrite=False)
    directory = settings.output.directory
    return RunResult(
        directory=directory,
        codebook=tuple(directory / name for name in codebook),
        report=directory / REPORT if settings.output.report else None,
        datasets=tuple(directory / name for name in names),
        checks=results,
        exceeded=exceeded,
        manifest=manifest,
        evolved=told.get("genetic"),
    )


def fit(
    config: Config | str | Path,
    *,
    registry: Registry | None = None,
    listener: Listener = silent,
) -> SavedModel:
    """Fit the chain of a configuration, to be saved or to generate from.

    Raises
    ------
    ConfigError
        With every problem of configuration and data.
    """
    phases = Phases(listener)
    with phases.phase("read"):
        ready = prepare(config, registry or Registry.load(), check_directory=False)
    seed = Seed(fresh_seed() if ready.config.seed is None else ready.config.seed)
    chain = _fit(ready, seed, phases)
    if isinstance(chain, Evolving):
        raise ModelError(NOT_SAVED)
    origin = manifest_of(ready, chain, seed, phases)
    return SavedModel(
        chain=chain,
        layout=ready.source.layout,
        seed=seed.entropy,
        origin=origin,
        plugins=ready.registry.plugins,
        arrangement=ready.arrangement,
    )


def _pooled(source: Evolving, results: CheckResults) -> Iterator[str]:
    """Say where several datasets together lie above a limit that each one keeps."""
    options, m = source.plan.options, len(source.results)
    measured = {"cap_u": results.summary.cap_u, "cap": results.summary.cap}.get(options.risk)
    limit = options.risk_at_most
    if m > 1 and limit is not None and measured is not None and measured > limit:
        yield (
            f"genetic.risk_at_most ({limit}) holds for each dataset; the {m} datasets pooled have "
            f"{measured:.4f}: release fewer, or set a lower limit"
        )


def _fit(ready: Prepared, seed: Seed, phases: Phases) -> Source:
    config, spec = ready.config, ready.plan.spec
    replicates = config.m if config.proper else 1
    with phases.phase("fit", len(spec.steps) * replicates) as advance:
        return fitted_source(
            ready.plan,
            ready.table,
            seed,
            replicates=replicates,
            n_jobs=workers_or_all(config.workers),
            progress=advance,
            told=lambda text: phases.listener.tell(GENERATE, text),
        )


def write_datasets(
    ready: Prepared, source: Source, seed: Seed, work: Path, phases: Phases, checks: Checks
) -> list[str]:
    """Generate and write one dataset after the other, so memory does not grow with m."""
    config = ready.config
    names = []
    with phases.phase(GENERATE, source.count_blocks(config.m, config.rows)) as advance:
        tables = source.generate(
            seed,
            m=config.m,
            rows=config.rows,
            n_jobs=workers_or_all(config.workers),
            progress=advance,
        )
        for number, table in enumerate(tables, 1):
            layout, form = ready.source.layout, config.output.format
            written = ready.arrangement.restored(table)
            names.append(write_dataset(written, work, number, config.m, layout, form))
            with phases.phase("check"):
                checks.add(ready.arrangement.viewed(table))
    return names


def _codebook(work: Path, manifest: dict[str, Any]) -> list[str]:
    """Write the codebook for researchers; a failure is a note and costs nothing else."""
    try:
        return list(write_release_codebook(work, manifest))
    except SynthesizerError as error:
        manifest["notes"] += [f"no codebook: {problem}" for problem in error.problems]
        return []


def _check(
    ready: Prepared, checks: Checks, seed: Seed, phases: Phases, made_by: Source
) -> CheckResults:
    def synthesise(half: Table, m: int, repeat: int) -> Iterator[Table]:
        """Refit the chain on a half, with generators of its own."""
        inner = Seed(int(seed.generator("half split", repeat).integers(2**62)))
        spec, n_jobs = ready.plan.spec, workers_or_all(ready.config.workers)
        if isinstance(made_by, Evolving) and made_by.interrupted:
            raise ModelError("the evolution was interrupted, and a half would not be")
        if ready.plan.genetic is not None and ready.plan.genetic.start == "files":
            raise ModelError(
                "a half cannot be synthesised: genetic.start names files, which know all records"
            )
        replicates = m if spec.proper else 1
        modelled = half.panel if isinstance(half, PersonView) else half
        source = fitted_source(
            ready.plan, modelled, inner, replicates=replicates, n_jobs=n_jobs, keeps_best=False
        )
        rows = ready.config.rows
        if source.keeps_rows:
            rows = None
        elif rows is not None:  # a release of the same relative size
            rows = max(1, round(rows * half.n_rows / ready.table.n_units))
        drawn = source.generate(inner, m=m, rows=rows, n_jobs=n_jobs)
        return (ready.arrangement.viewed(table) for table in drawn)

    with phases.phase("check"):
        return checks.finish(synthesise)
