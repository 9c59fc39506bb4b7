"""Many settings of one configuration, each a whole run, and the comparison of all of them.

Every setting runs with the same data, seed and key. Finished settings wait in
``DIRECTORY.unfinished``; when all are done the whole result takes its name in one step. A call
that is interrupted leaves what is finished there, and the same call goes on from it: a setting is
kept if configuration, data, draws and versions of the software are the same.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from synthesizer.config.keys import Config, KeyConfig
from synthesizer.config.reading import AnyForm, has_faulty_panel, sound_config
from synthesizer.data.errors import (
    ConfigError,
    DataError,
    ModelError,
    OutputError,
    Problems,
    SynthesizerError,
)
from synthesizer.data.files import (
    check_output,
    link_tree,
    new_directory,
    own_directory,
    parse_json,
    write_text,
    written_paths,
)
from synthesizer.data.randomness import NO_KEY, Seed
from synthesizer.data.workers import Listener, silent
from synthesizer.engine.registry import Registry
from synthesizer.extensions.comparison.compare import (
    are_of_one_size,
    compare_runs,
    content_of,
    read_run,
    report_links,
)
from synthesizer.extensions.comparison.comparison_page import ComparedRuns, comparison_page
from synthesizer.jobs.grid import Setting, grid, merged_problems, plans_of, variations
from synthesizer.jobs.manifest import file_entry, now, write_json
from synthesizer.jobs.run import run
from synthesizer.measures.catalogue import axis_problems
from synthesizer.measures.figure import plain
from synthesizer.plan.plan import Plan, plain_config
from synthesizer.plan.seeds import seed_of
from synthesizer.report.record import MANIFEST, PACKAGES, read_record

# What a frontier will run: every problem of every setting before the first of them starts.

STATE = "grid.json"
"""File that says that a directory holds the finished settings of an unfinished grid."""
NOT_COMPARED = ("output", "workers")
"""Keys that change no data: a finished setting is kept whatever they are."""


@dataclass(frozen=True, kw_only=True)
class FrontierPlan:
    """A grid that is ready to run."""

    directory: Path
    """Where the result goes."""
    settings: tuple[Setting, ...]
    """One run each."""
    dropped: Mapping[str, str]
    """Settings that would make the same data as another one, and as which; they are not run."""
    kept: tuple[str, ...]
    """Names of those that an interrupted call finished; they are not run again."""
    first: Plan
    """Of the first setting."""
    seed: Seed
    """Of all settings, with its key."""
    registry: Registry
    """Models to choose from."""
    overwrite: bool
    """Whether an existing result is replaced."""
    risk: str | None
    utility: str | None
    """Figures of the frontier and the map."""

    @property
    def workshop(self) -> Path:
        """Where finished settings wait until all are done."""
        return workshop(self.directory)

    @property
    def notes(self) -> tuple[str, ...]:
        """Which settings are left out, and why."""
        return tuple(
            f"{name}: left out, as it would make the same data as {kept}: what is varied has no "
            "effect there."
            for name, kept in self.dropped.items()
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """The plan in words, without the names of its settings."""
        sizes = sorted({setting.config.m for setting in self.settings})
        datasets = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        units, n_units = self.first.units, self.first.table.n_units
        lines = [
            f"{len(self.settings)} settings, each a whole run (m = {datasets}, "
            f"{n_units:,} {units}, one seed for all); the result goes to {self.directory}"
        ]
        if self.kept:
            lines.append(
                f"{len(self.kept)} of them are finished already, in {self.workshop}, and are kept"
            )
        lines += [f"note: {note}" for note in self.notes]
        rows = (setting.config.rows or n_units for setting in self.settings)
        if len(sizes) > 1 or not are_of_one_size(rows):
            lines.append(
                "note: the datasets differ in number or size, so figures cannot be compared and "
                "there will be no map, only a table; leave m and rows the same for all settings"
            )
        return tuple(lines)


def workshop(directory: Path) -> Path:
    """Return where the finished settings of a grid wait for the others.

    Examples
    --------
    >>> workshop(Path("out/pilot")).name
    'pilot.unfinished'
    """
    return directory.parent / f"{directory.name}.unfinished"


def plan_frontier(
    config: AnyForm,
    vary: Mapping[str, Sequence[Any]] | Iterable[str],
    *,
    directory: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    registry: Registry | None = None,
    risk: str | None = None,
    utility: str | None = None,
) -> FrontierPlan:
    """Check every setting of a grid against the data; nothing is fitted or written.

    ``vary`` holds values by key, such as ``{"cart.min_leaf": [3, 10], "proper": [True, False]}``,
    where None stands for the default, or texts such as ``cart.min_leaf=3,10``. The result goes to
    ``directory``, that of the configuration with ``_frontier`` behind it when absent.
    ``overrides`` replace keys of the configuration.

    Raises
    ------
    ConfigError
        With every problem of the configuration, of what is varied, of each setting, of the data,
        of the output and of the names of axes; or if all settings would make the same data.
    """
    problems = Problems()
    base = sound_config(config, overrides, problems)
    registry = (registry or Registry.load()).with_plugins(() if base is None else base.plugins)
    varied, faults = variations(vary, registry)
    problems += faults + axis_problems(risk, utility)
    if base is None or has_faulty_panel(problems):
        raise ConfigError(dict.fromkeys(problems))
    usual = base.output.directory
    final = usual.parent / f"{usual.name}_frontier" if directory is None else Path(directory)
    problems += [*check_output(final, overwrite=overwrite), *_workshop_problems(workshop(final))]
    draws = None
    with suppress(ConfigError):  # which every setting reports
        draws = _seed(base, workshop(final))
    combined = grid(base, varied, registry)
    problems += [
        f"output {final} holds {place}, which is read; name another directory"
        for place in (config, base.data.path, *base.data.beside)
        if isinstance(place, str | Path) and Path(place).resolve().is_relative_to(final.resolve())
    ]
    plans, wrong, dropped = plans_of(combined.settings, registry, draws)
    first = next((plan for _, plan in plans.values()), None)
    settings = tuple(setting for setting in combined.settings if setting.name not in dropped)
    problems += merged_problems(combined.problems, len(combined.names))
    problems += merged_problems(wrong, len(combined.settings))
    if not problems and len(settings) == 1:
        problems += [
            f"setting {name}: would make the same data as {kept}: what is varied has no effect "
            "here (is the model used by any variable?); no two settings are left to compare"
            for name, kept in dropped.items()
        ]
    if problems or first is None or draws is None:
        raise ConfigError(dict.fromkeys(problems))
    return FrontierPlan(
        directory=final,
        settings=settings,
        dropped=dropped,
        kept=tuple(one.name for one in settings if _is_done(one, workshop(final), first)),
        first=first,
        seed=draws,
        registry=registry,
        overwrite=overwrite,
        risk=risk,
        utility=utility,
    )


def _seed(base: Config, waiting: Path) -> Seed:
    """Return what decides the draws of all settings: what an interrupted call had, if it can."""
    for manifest in () if isinstance(base.random_key, KeyConfig) else waiting.glob(f"*/{MANIFEST}"):
        with suppress(ConfigError):
            earlier = seed_of(base.model_copy(update={"random_key": KeyConfig(manifest=manifest)}))
            if (earlier.random_key is None) == (base.random_key == NO_KEY):
                return earlier
    return seed_of(base)


def read_state(waiting: Path) -> Mapping[str, Any] | None:
    """Return what an interrupted call left behind, None where there is nothing of the kind."""
    try:
        content = parse_json((waiting / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _workshop_problems(waiting: Path) -> Iterator[str]:
    if waiting.exists() and read_state(waiting) is None:
        yield (
            f"{waiting} is there and holds no unfinished grid; finished settings would wait there: "
            "move it away or name another output directory"
        )


def _is_done(setting: Setting, waiting: Path, plan: Plan) -> bool:
    """Whether an interrupted call finished a setting, with these data, draws and software."""
    try:
        record = read_record(waiting / setting.name)
    except DataError:
        return False
    manifest, source = record.manifest, plan.data
    return (
        source.fingerprint is not None
        and _plan_compared(manifest.config) == _plan_compared(plain_config(setting.config))
        and manifest.data.sha256 == source.fingerprint
        and (manifest.seed, manifest.random_key) == (plan.seed.entropy, plan.seed.recorded_key)
        and manifest.packages == {name: version(name) for name in PACKAGES}
        and not record.changes
    )


def _plan_compared(config: Any) -> Any:
    if not isinstance(config, Mapping):
        return None
    return {key: value for key, value in config.items() if key not in NOT_COMPARED}


PAGE, NUMBERS = "frontier.html", "frontier.json"


@dataclass(frozen=True, kw_only=True)
class Frontier:
    """The result of a grid: a directory for each setting, ``frontier.html`` and its numbers."""

    directory: Path
    comparison: ComparedRuns
    """The settings side by side."""
    failed: Mapping[str, tuple[str, ...]]
    """Settings that could not be run, and why."""


def run_frontier(
    plan: FrontierPlan,
    *,
    listening: Callable[[], AbstractContextManager[Listener]] = lambda: nullcontext(silent),
    say: Callable[[str], object] = str,
) -> Frontier:
    """Run every setting of a plan and compare them.

    ``listening`` gives, for each setting, what is told about the progress of its run; ``say`` is
    given sentences for the user: the plan, and which setting runs.

    Raises
    ------
    ModelError
        If no setting could be run.

    Notes
    -----
    A setting that fails, be it by an error of the program, does not stop the others; see
    ``Frontier.failed``.
    """
    for line in plan.lines:
        say(line)
    with written_paths() as written:
        try:
            return _run_and_write(plan, listening, say)
        except KeyboardInterrupt:
            if plan.directory in written or not plan.workshop.exists():
                raise
            raise KeyboardInterrupt(
                f"interrupted; finished settings are kept in {plan.workshop}, the same call goes "
                "on there"
            ) from None


def _run_and_write(
    plan: FrontierPlan,
    listening: Callable[[], AbstractContextManager[Listener]],
    say: Callable[[str], object],
) -> Frontier:
    work = plan.workshop
    state = json.dumps({"unfinished": str(plan.directory)})
    with own_directory(work, {STATE: state}) as discard:
        failed = _run_all(plan, listening, say)
        done = [setting.name for setting in plan.settings if setting.name not in failed]
        if not done:
            reasons = dict.fromkeys(why for problems in failed.values() for why in problems)
            raise ModelError(["none of the settings could be run:", *reasons])
        runs = [read_run(work / name, name) for name in done]
        comparison = compare_runs(runs, risk=plan.risk, utility=plan.utility)
        comparison = comparison.model_copy(update={"notes": (*plan.notes, *comparison.notes)})
        frontier = Frontier(directory=plan.directory, comparison=comparison, failed=failed)
        _write(plan, frontier)
        try:
            discard()
        except OSError as error:
            raise OutputError(
                f"{plan.directory}: is written and whole, but {work} could not be deleted "
                f"({error.strerror}): delete it, it is confidential"
            ) from error
    return frontier


def _run_all(
    plan: FrontierPlan,
    listening: Callable[[], AbstractContextManager[Listener]],
    say: Callable[[str], object],
) -> dict[str, tuple[str, ...]]:
    """Run what is not finished yet; return the settings that failed, and why."""
    failed: dict[str, tuple[str, ...]] = {}
    waiting = [setting for setting in plan.settings if setting.name not in plan.kept]
    for number, setting in enumerate(waiting, 1):
        say(f"setting {number} of {len(waiting)}: {setting.name}")
        place = {"directory": plan.workshop / setting.name, "overwrite": True}
        output = setting.config.output.model_copy(update=place)
        config = setting.config.model_copy(update={"output": output})
        try:
            with listening() as listener:
                run(config, registry=plan.registry, listener=listener, seed=plan.seed)
        except Exception as error:  # an error of the program must not lose the other settings
            failed[setting.name] = _reasons(error)
            say(f"  failed: {'; '.join(failed[setting.name])}")
    return failed


def _reasons(error: Exception) -> tuple[str, ...]:
    """Say why a setting failed; the text of an error that is not ours may hold a value."""
    if isinstance(error, SynthesizerError):
        return error.problems
    frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
    where = f"{frame.f_globals.get('__name__', 'unknown module')}, line {line}"
    return (
        f"internal error, {type(error).__name__} in {where}: a fault of the program or of a model "
        "of another package. Its text may hold confidential values and is not shown; 'run' with "
        "this setting alone shows it",
    )


def _write(plan: FrontierPlan, frontier: Frontier) -> None:
    """Give the finished settings their place beside the comparison, in one step."""
    comparison, work = frontier.comparison, plan.workshop
    page = comparison_page(
        comparison,
        title="Frontier of risk and utility",
        reports=report_links({run.name: work / run.name for run in comparison.runs}, work),
        failed=frontier.failed,
    )
    outcome = {name: list(why) for name, why in frontier.failed.items()}
    with new_directory(plan.directory, overwrite=plan.overwrite) as new:
        for one in comparison.runs:
            # linked, so that nothing is lost if this fails half-way
            link_tree(work / one.name, new / one.name)
        write_text(new / PAGE, page)
        write_json(new / NUMBERS, content_of(comparison) | {"failed": outcome})
        files = [plain(file_entry(new / name)) for name in (PAGE, NUMBERS)]
        manifest = {"format": 1, "kind": "frontier", "created": now(), "files": files}
        write_json(new / MANIFEST, manifest)
