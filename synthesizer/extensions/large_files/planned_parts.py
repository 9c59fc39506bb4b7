"""The plan of datasets that are drawn in parts, with their memory and disk space."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from synthesizer.config.keys import ChainConfig, Config
from synthesizer.data.errors import ConfigError, Problems
from synthesizer.data.files import free_space
from synthesizer.data.panel.view import PersonView
from synthesizer.data.table import Table
from synthesizer.data.workers import in_bytes
from synthesizer.extensions.large_files.large_files_options import LargeFilesOptions
from synthesizer.plan.extended import Planned, PlanRequest, Work
from synthesizer.plan.findings import Draft, Findings, problem

if TYPE_CHECKING:
    from synthesizer.extensions.large_files.parquet_sample import WholeFiles
    from synthesizer.plan.plan import Plan


def plan_parts(request: PlanRequest) -> Draft[Planned | None]:
    """Return the plan of a source that is not read whole; nothing for others."""
    context, options, findings = request.context, request.options, Findings()
    if options.dask is not None:
        from synthesizer.extensions.large_files.dask_cluster import cluster

        with findings.problems.gathered(), cluster(options.dask):
            pass
    whole: Any = context.data.whole
    if whole is None:
        if options.dask is not None:
            findings.problem("dask_needs_parquet")
        if options.resume:
            findings.problem("nothing_kept")
        return findings.of(None)
    keeps = any(step.model.abilities.copies_rows for step in request.chain.steps)
    findings.problems += _problems(whole, context.config, keeps=keeps)
    findings.notes.append(_note(whole, context.original))
    return findings.of(PlannedParts(options=options, whole=whole))


def _problems(whole: WholeFiles, config: ChainConfig, *, keeps: bool) -> Iterator[str]:
    """Yield the keys that need a source that is read whole."""
    odd = {
        **({} if config.arranged_by is None else {config.arranged_by: True}),
        "strata": bool(config.strata),
        "keep": keeps,
        **dict.fromkeys(config.apart, True),
        "output.format": isinstance(config, Config)
        and config.output.format not in (None, "parquet"),
    }
    for key in (key for key, is_there in odd.items() if is_there):
        yield problem("source_in_parts", key=key, n_rows=whole.n_rows)
    if config.after is not None and config.after.uniques is not None:
        yield problem("after_uniques_parts")


def _note(whole: WholeFiles, original: Table) -> str:
    """Return a note on the sample of the models and of the checks."""
    units = "persons" if isinstance(original, PersonView) else "rows"
    return (
        f"data.fit_rows: models are fitted on a random sample of {original.n_rows:,} of "
        f"{whole.n_units:,} {units}; what an intruder with keys finds is counted among all "
        f"{units}, other checks compare the sample with as many of each dataset"
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedParts(Planned):
    """Datasets that are never whole in memory."""

    options: LargeFilesOptions
    whole: WholeFiles

    def work(self, plan: Plan) -> AbstractContextManager[Work]:
        """Open the directory of the parts; see `kept_work`.

        Raises
        ------
        ConfigError
            If the run fits neither into the memory nor on the disk.
        """
        from synthesizer.extensions.large_files.dataset_parts import kept_bytes, kept_work

        refuse_too_large(plan, kept_bytes(plan.output.directory))
        return kept_work(plan, self.options.dask, resume=self.options.resume)

    def foreseen(self, ahead: Any, plan: Plan) -> Any:
        """Return the forecast of a run in parts.

        The peak of its memory is the fit, the check of a sample, or a part for each worker, a
        process with the model. On the disk a unit needs as much as in the source, and the model
        about as much as the sample in memory.
        """
        from synthesizer.extensions.large_files.dataset_parts import PART_BLOCKS
        from synthesizer.plan.forecast import LIBRARY_BYTES, memory_of, seconds_of_writing

        n, p, size = plan.table.n_rows, len(plan.table), plan.size or 0
        a_unit = n / max(plan.table.n_units, 1)
        written = seconds_of_writing(plan, size * a_unit)
        memory = memory_of(plan, 0, ahead.workers)
        part = int(PART_BLOCKS * plan.spec.frame.block * a_unit) * p * 40
        parts = ahead.workers * (LIBRARY_BYTES + memory.chain + part)
        checked = n * p * 40 * (4 if plan.checks.needs_halves else 2)
        return replace(
            ahead,
            parallel=ahead.parallel + written,
            alone=ahead.alone - written,
            memory=replace(memory, making=max(checked, parts)).largest,
            disk=int(plan.m * self.whole.n_bytes * size / self.whole.n_units) + 16 * n * p,
        )


def refuse_too_large(plan: Plan, done: int = 0) -> None:
    """Raise ConfigError where a run in parts fits neither into the memory nor on the disk.

    ``done`` are the bytes that an earlier attempt has written.
    """
    from synthesizer.plan.forecast import forecast

    ahead, problems = forecast(plan, measured=False), Problems()
    if ahead is None:
        return
    needed, free = max(0, ahead.disk - done), free_space(plan.output.directory)
    if ahead.exceeds:
        memory, free_memory = in_bytes(ahead.memory), in_bytes(ahead.free or 0)
        workers = ahead.workers
        problems.append(
            problem("memory_too_small", memory=memory, free=free_memory, workers=workers)
        )
    if free is not None and needed > free:
        problems.append(problem("disk_too_small", needed=in_bytes(needed), free=in_bytes(free)))
    problems.settle(ConfigError)
