"""The main job: read, fit, generate, check, write."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from synthesizer.config.keys import Config
from synthesizer.data.errors import SynthesizerError
from synthesizer.data.files import new_directory, write_secret
from synthesizer.data.progress import Listener, Phases, silent
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.engine.genetic.evolution import Generation
from synthesizer.engine.genetic.source import Evolution, Source
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import SavedModel
from synthesizer.jobs.manifest import file_entry, manifest_of, write_dataset, write_json
from synthesizer.measures.results import CheckResults, checks_content
from synthesizer.measures.settings import LimitConfig
from synthesizer.plan.plan import GENERATE, Plan
from synthesizer.plan.prepare import prepare
from synthesizer.report.build import REPORT, build_report
from synthesizer.report.codebook.write import write_release_codebook
from synthesizer.report.record import Record

HISTORY = "history.csv"
"""What an evolution came to, generation by generation."""


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What a run left behind."""

    directory: Path
    """The output directory."""
    codebook: tuple[Path, ...]
    """The codebook for researchers, HTML and JSON; for release with the datasets."""
    report: Path | None
    """The steward's page; None where it was switched off."""
    datasets: tuple[Path, ...]
    """One file for each synthetic dataset."""
    checks: CheckResults
    """Every number of the checks; also in ``checks.json``."""
    exceeded: tuple[str, ...]
    """Checks above a limit of the configuration, in words; empty when all is well."""
    manifest: Mapping[str, Any]
    """Content of ``manifest.json``."""
    evolved: Mapping[str, Any] | None = None
    """Of the genetic synthesizer: utility, risk and history of every dataset, and the frontier;
    also in ``checks.json``."""
    interrupted: bool = False
    """Whether somebody stopped an evolution before its time; the best so far was kept."""


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
        plan = prepare(config, registry, overrides=overrides)
    output, seed = plan.output, Seed(plan.seed)
    with new_directory(output.directory, overwrite=output.overwrite) as folder:
        source = plan.fit(seed, phases)
        checks = plan.checking(seed, listener)
        datasets: list[str] = []
        for table in drawn(plan, source, seed, phases):
            datasets.append(_write_table(plan, table, folder, len(datasets) + 1))
            with phases.phase("check"):
                checks.add(plan.viewed(table))
        with phases.phase("check"):
            results = checks.finish(partial(plan.refit, source, seed))
        exceeded = limits_exceeded(plan.limits, source, results)
        stewards = ["checks.json"]
        evolution = source.evolution(seed)
        if evolution is not None:
            stewards += _write_evolution(plan, evolution, folder)
        content = checks_content(results, exceeded, None if evolution is None else evolution.told)
        write_json(folder / "checks.json", content)
        manifest = manifest_of(plan, source, seed, phases)
        manifest |= {"m": len(datasets), "exceeded_limits": list(exceeded)}
        manifest["files"] = [file_entry(folder / name) for name in datasets]
        codebook = _write_codebook(plan, manifest, folder, phases)
        manifest["files"] += [file_entry(folder / name) for name in (*stewards, *codebook)]
        write_json(folder / "manifest.json", manifest)
        if output.report:
            with phases.phase("report"):
                record = Record.of(manifest, results, exceeded, content["genetic"])
                page = build_report(record)
                write_secret(folder / REPORT, page, overwrite=False)
    return RunResult(
        directory=output.directory,
        codebook=tuple(output.directory / name for name in codebook),
        report=output.directory / REPORT if output.report else None,
        datasets=tuple(output.directory / name for name in datasets),
        checks=results,
        exceeded=exceeded,
        manifest=manifest,
        evolved=content.get("genetic"),
        interrupted=source.interrupted,
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
    ModelError
        If the configuration evolves whole datasets, which leaves no model.
    """
    phases = Phases(listener)
    with phases.phase("read"):
        plan = prepare(config, registry, check_directory=False)
    seed = Seed(plan.seed)
    chain = plan.fit_chain(seed, phases)
    return SavedModel(
        chain=chain,
        layout=plan.data.layout,
        seed=seed.entropy,
        origin=manifest_of(plan, chain, seed, phases),
        plugins=plan.registry.plugins,
        arrangement=plan.arrangement,
    )


def drawn(plan: Plan, source: Source, seed: Seed, phases: Phases) -> Iterator[Table]:
    """Yield one dataset after the other, so that memory does not grow with m."""
    with phases.phase(GENERATE, source.count_blocks(plan.m, plan.rows)) as advance:
        yield from source.generate(
            seed, m=plan.m, rows=plan.rows, n_jobs=plan.workers, progress=advance
        )


def limits_exceeded(
    limits: LimitConfig, source: Source, results: CheckResults | None
) -> tuple[str, ...]:
    """Return which limits of the checks, and of the source itself, are exceeded, in words."""
    if results is None:
        return source.exceeded({})
    pooled = {key: results.summary[key] for key in ("cap_u", "cap")}
    return (*results.exceeded(limits), *source.exceeded(pooled))


def _write_table(plan: Plan, table: Table, folder: Path, number: int) -> str:
    """Write a dataset in the form of the source and return the name of the file."""
    layout, form = plan.data.layout, plan.output.format
    return write_dataset(plan.restored(table), folder, number, plan.m, layout, form)


def _write_codebook(
    plan: Plan, manifest: dict[str, Any], folder: Path, phases: Phases
) -> list[str]:
    """Write the codebook for researchers; a failure is a note and costs nothing else."""
    if not plan.output.codebook:
        return []
    with phases.phase("codebook"):
        try:
            return list(write_release_codebook(folder, manifest))
        except SynthesizerError as error:
            manifest["notes"] += [f"no codebook: {problem}" for problem in error.problems]
            return []


def _write_evolution(plan: Plan, evolution: Evolution, folder: Path) -> list[str]:
    """Write the history and the frontier of an evolution and return the names of the files.

    Both are for the steward: the history holds figures of the confidential data, and of the
    frontier only the dataset that is picked is meant for release.
    """
    write_secret(folder / HISTORY, history_text(evolution.told["datasets"]), overwrite=False)
    written = []
    for number, (table, point) in enumerate(
        zip(evolution.frontier, evolution.points, strict=True), 1
    ):
        name = write_dataset(
            plan.restored(table),
            folder,
            number,
            len(evolution.points),
            plan.data.layout,
            plan.output.format,
            stem="frontier",
            secret=True,  # until the steward has picked one
        )
        written.append({"file": name, **point})
    if written:
        evolution.told["written"] = written
    return [HISTORY, *(entry["file"] for entry in written)]


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
