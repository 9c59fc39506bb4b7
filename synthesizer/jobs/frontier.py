"""Many settings of one configuration, each a whole run, and the comparison of all of them.

Every setting runs with the same data, seed and secret. Finished settings wait in
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
from time import perf_counter
from typing import Any

from synthesizer.config.keys import ChainConfig, Config, SecretConfig
from synthesizer.config.reading import AnyForm, has_faulty_panel, sound_config
from synthesizer.data.displayed import Displayed
from synthesizer.data.errors import (
    ConfigError,
    DataError,
    ModelError,
    OutputError,
    Problems,
    SynthesizerError,
    plural,
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
from synthesizer.data.progress import Listener, silent
from synthesizer.data.randomness import NO_SECRET, Seed
from synthesizer.engine.registry import Registry
from synthesizer.jobs.compare import are_of_one_size, compare_points, report_links
from synthesizer.jobs.grid import Setting, grid, variations
from synthesizer.jobs.manifest import file_entry, now, write_json
from synthesizer.jobs.run import run
from synthesizer.jobs.run_points import RunPoint, read_run
from synthesizer.measures.catalogue import axis_problems
from synthesizer.measures.figure import Units, plain
from synthesizer.plan.inputs import Input, declarations, read_input
from synthesizer.plan.plan import Plan, make_plan, plain_config
from synthesizer.plan.seeds import seed_of
from synthesizer.report.comparison import ComparedRuns, comparison_page
from synthesizer.report.record import MANIFEST, PACKAGES, read_record

# Settings of a grid that make the same data as another one: run, or shown, once is enough.


def planned_twin(
    setting: Setting, plan: Plan, others: Mapping[str, tuple[Setting, Plan]]
) -> str | None:
    """Return which other setting makes the same data, as when no variable uses a varied model."""
    for name, (other, earlier) in others.items():
        chains = [
            p.spec for p in (plan, earlier) if p.genetic is None or p.genetic.start == "chain"
        ]
        same = all(c.steps == plan.spec.steps and c.strata == plan.spec.strata for c in chains)
        if same and _rest(setting.config) == _rest(other.config):
            return name
    return None


def _rest(config: ChainConfig) -> dict[str, Any]:
    """Return what decides about the data besides the steps of the chain."""
    return {
        "m": config.m,
        "rows": config.rows,
        "proper": config.proper,
        "drop": config.drop,
        "keep": config.keep,
        "rules": config.rules,
        "forbid": config.forbid,
        "on_violation": config.on_violation,
        "genetic": config.genetic,
        "rare": config.rare,
        "declared": declarations(config),
    }


def made_twins(points: Sequence[RunPoint]) -> dict[str, str]:
    """Return finished runs with the datasets and the figures of an earlier one, and of which.

    Leaves larger than the data allow are an example. Where a figure differs both runs stay: it
    may come from another fit, as that of half of the data.
    """
    twins: dict[str, str] = {}
    for number, point in enumerate(points):
        for other in points[:number] if point.datasets else ():
            parts = ("datasets", "figures", "questions", "exceeded", "failed", "gaps")
            alike = all(getattr(point, part) == getattr(other, part) for part in parts)
            if alike and other.name not in twins:
                twins[point.name] = other.name
                break
    return twins


def dropped_notes(planned: Mapping[str, str], alike: Mapping[str, str]) -> Iterator[str]:
    """Say which settings are left out, one sentence for each that stands for them.

    Examples
    --------
    >>> for note in dropped_notes({"b": "a", "c": "a"}, {"e": "d"}):
    ...     print(note)
    b and c: left out, as they would make the same data as a: what is varied has no effect there.
    e: left out, as it made the same datasets and figures as d: what is varied had no effect there.
    """
    for twins, makes, has in (
        (planned, "would make the same data as", "has"),
        (alike, "made the same datasets and figures as", "had"),
    ):
        for kept in dict.fromkeys(twins.values()):
            *names, last = [name for name, twin in twins.items() if twin == kept]
            who = f"{'; '.join(names)} and {last}" if names else last  # names may hold commas
            they = "they" if names else "it"
            yield (
                f"{who}: left out, as {they} {makes} {kept}: what is varied {has} no effect there."
            )


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
    vary: Mapping[str, tuple[Any, ...]]
    """What is varied."""
    seed: Seed
    """Of all settings, with its secret."""
    source: Input
    """The confidential data."""
    n_units: int
    """Confidential records; persons of a panel."""
    units: Units
    """What is counted."""
    registry: Registry
    """Models to choose from."""
    overwrite: bool
    """Whether an existing result is replaced."""
    risk: str | None
    utility: str | None
    """Figures that the frontier and the map show first."""

    @property
    def workshop(self) -> Path:
        """Where finished settings wait until all are done."""
        return workshop(self.directory)

    @property
    def lines(self) -> tuple[str, ...]:
        """The plan in words, with every setting."""
        return (*self.head, *(f"  {setting.name}" for setting in self.settings))

    @property
    def head(self) -> tuple[str, ...]:
        """The plan in words, without its settings."""
        sizes = sorted({setting.config.m for setting in self.settings})
        datasets = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        lines = [
            f"{len(self.settings)} settings, each a whole run (m = {datasets}, "
            f"{self.n_units:,} {self.units}, one seed for all); the result goes to "
            f"{self.directory}"
        ]
        if self.kept:
            lines.append(
                f"{len(self.kept)} of them are finished already, in {self.workshop}, and are kept"
            )
        lines += [f"note: {note}" for note in dropped_notes(self.dropped, {})]
        if not are_of_one_size(setting.config.rows or self.n_units for setting in self.settings):
            lines.append(
                "note: the datasets differ in size, so no figure of utility can be compared and "
                "there will be no map, only tables; leave rows the same for all settings"
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
    m: int | None = None,
    seed: int | None = None,
    secret: str | Mapping[str, Any] | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    registry: Registry | None = None,
    risk: str | None = None,
    utility: str | None = None,
) -> FrontierPlan:
    """Check every setting of a grid against the data; nothing is fitted or written.

    ``vary`` holds values by key, such as ``{"cart.min_leaf": [3, 10], "proper": [True, False]}``,
    where None stands for the default, or texts such as ``cart.min_leaf=3,10``. The result goes to
    ``directory``, that of the configuration with ``_frontier`` behind it when absent.

    Raises
    ------
    ConfigError
        With every problem of the configuration, of what is varied, of each setting, of the data,
        of the output and of the names of axes; or if all settings would make the same data.
    """
    overrides = {"m": m, "seed": seed, "secret": secret, "workers": workers}
    problems = Problems()
    base = sound_config(config, {k: v for k, v in overrides.items() if v is not None}, problems)
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
        for place in (config, base.data.path, base.data.catalogue)
        if isinstance(place, str | Path) and Path(place).resolve().is_relative_to(final.resolve())
    ]
    plans, wrong, dropped = plans_of(combined.settings, registry, draws)
    first = next((plan for _, plan in plans.values()), None)
    settings = tuple(setting for setting in combined.settings if setting.name not in dropped)
    problems += combined.joined(combined.problems, among=combined.combinations)
    problems += combined.joined(wrong, among=[setting.name for setting in combined.settings])
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
        vary={one.key: one.values for one in varied},
        seed=draws,
        source=first.data,
        n_units=first.table.n_units,
        units=first.units,
        registry=registry,
        overwrite=overwrite,
        risk=risk,
        utility=utility,
    )


def _seed(base: Config, waiting: Path) -> Seed:
    """Return what decides the draws of all settings: what an interrupted call had, if it can."""
    for manifest in () if isinstance(base.secret, SecretConfig) else waiting.glob(f"*/{MANIFEST}"):
        with suppress(ConfigError):
            earlier = seed_of(base.model_copy(update={"secret": SecretConfig(manifest=manifest)}))
            if (earlier.secret is None) == (base.secret == NO_SECRET):
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


def plans_of(
    settings: Sequence[Setting], registry: Registry, seed: Seed | None
) -> tuple[dict[str, tuple[Setting, Plan]], dict[str, list[str]], dict[str, str]]:
    """Plan every setting; the data are read once for each way of reading them.

    Returns settings with plans by name, the problems of others, and which settings make the same
    data as an earlier one.
    """
    dropped: dict[str, str] = {}
    sources: dict[str, Input] = {}
    problems: dict[str, list[str]] = {}
    plans: dict[str, tuple[Setting, Plan]] = {}
    for setting in settings:
        config = setting.config
        reading = repr((declarations(config), config.drop, config.rare))
        if reading not in sources:
            sources[reading] = read_input(config)
        try:
            plan = make_plan(config, sources[reading], registry, seed=seed)
        except SynthesizerError as error:
            problems[setting.name] = list(error.problems)
            continue
        twin = planned_twin(setting, plan, plans)
        if twin is None:
            plans[setting.name] = (setting, plan)
        else:
            dropped[setting.name] = twin
    return plans, problems, dropped


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
        and (manifest.seed, manifest.secret) == (plan.seed.entropy, plan.seed.secret_told)
        and manifest.packages == {name: version(name) for name in PACKAGES}
        and not record.changes
    )


def _plan_compared(config: Any) -> Any:
    if not isinstance(config, Mapping):
        return None
    return {key: value for key, value in config.items() if key not in NOT_COMPARED}


PAGE, NUMBERS = "frontier.html", "frontier.json"


@dataclass(frozen=True, kw_only=True, repr=False)
class Frontier(Displayed):
    """What a grid left behind."""

    directory: Path
    """The result: a directory for each setting, ``frontier.html`` and ``frontier.json``."""
    comparison: ComparedRuns
    """The settings side by side."""
    failed: Mapping[str, tuple[str, ...]]
    """Settings that could not be run, and why."""
    dropped: Mapping[str, str]
    """Settings that make the same data as another one, and as which; they are left out."""
    kept: tuple[str, ...]
    """Settings that an earlier, interrupted call had finished."""

    def __repr__(self) -> str:
        done, failed = len(self.comparison.runs), len(self.failed)
        more = f", {failed} failed" if failed else ""
        return f"Frontier of {plural(done, 'setting')} in {self.directory}{more}\n{self.comparison}"

    @property
    def _displayed(self) -> ComparedRuns:
        return self.comparison


def run_frontier(
    plan: FrontierPlan,
    *,
    listening: Callable[[], AbstractContextManager[Listener]] = lambda: nullcontext(silent),
    say: Callable[[str], object] = str,
) -> Frontier:
    """Run every setting of a plan and compare them.

    ``listening`` gives, for each setting, what is told about the progress of its run; ``say`` is
    given sentences for the user: the plan, which setting runs, how long the rest may take.

    Raises
    ------
    ModelError
        If no setting could be run.

    Notes
    -----
    A setting that fails, be it by an error of the program, does not stop the others; see
    ``Frontier.failed``. One that makes the same data as another is left out, with a note.
    """
    for line in plan.head:  # each setting is told when it begins
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
        failed = _run_all(plan, work, listening, say)
        done = [setting for setting in plan.settings if setting.name not in failed]
        if not done:
            reasons = dict.fromkeys(why for problems in failed.values() for why in problems)
            raise ModelError(["none of the settings could be run:", *reasons])
        points = [read_run(work / setting.name, setting.name) for setting in done]
        twins = made_twins(points)
        points = [point for point in points if point.name not in twins]
        comparison = compare_points(points, risk=plan.risk, utility=plan.utility)
        notes = (*dropped_notes(plan.dropped, twins), *comparison.notes)
        frontier = Frontier(
            directory=plan.directory,
            comparison=comparison.model_copy(update={"notes": notes}),
            failed=failed,
            dropped={**plan.dropped, **twins},
            kept=plan.kept,
        )
        _write(plan, work, frontier, points)
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
    work: Path,
    listening: Callable[[], AbstractContextManager[Listener]],
    say: Callable[[str], object],
) -> dict[str, tuple[str, ...]]:
    """Run what is not finished yet; return the settings that failed, and why."""
    failed: dict[str, tuple[str, ...]] = {}
    waiting = [setting for setting in plan.settings if setting.name not in plan.kept]
    for number, setting in enumerate(waiting, 1):
        say(f"setting {number} of {len(waiting)}: {setting.name}")
        start = perf_counter()
        try:
            with listening() as listener:
                _run(setting, work, plan, listener)
        except Exception as error:  # an error of the program must not lose the other settings
            failed[setting.name] = _reasons(error)
            say(f"  failed: {'; '.join(failed[setting.name])}")
        else:
            say(_pace(perf_counter() - start, len(waiting) - number, first=number == 1))
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


def _run(setting: Setting, work: Path, plan: FrontierPlan, listener: Listener) -> None:
    place = {"directory": work / setting.name, "overwrite": True}
    output = setting.config.output.model_copy(update=place)
    config = setting.config.model_copy(update={"output": output})
    run(config, registry=plan.registry, listener=listener, seed=plan.seed)


def _pace(seconds: float, left: int, *, first: bool) -> str:
    """Say how long a run took, and after the first one how long the others may take.

    Examples
    --------
    >>> _pace(90.0, 4, first=True)
    '  done in 90 s; the other 4 may take about 6 min'
    """
    done = f"  done in {_time(seconds)}"
    if not first or not left:
        return done
    rest = f"the other {left} may" if left > 1 else "the other one may"
    return f"{done}; {rest} take about {_time(seconds * left)}"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def _write(plan: FrontierPlan, work: Path, frontier: Frontier, points: Sequence[RunPoint]) -> None:
    """Give the finished settings their place beside the comparison, in one step."""
    names = {point.name for point in points}
    done = [setting for setting in plan.settings if setting.name in names]
    outcome = {
        "vary": {key: list(values) for key, values in plan.vary.items()},
        "failed": {name: list(why) for name, why in frontier.failed.items()},
        "dropped": dict(frontier.dropped),
    }
    page = comparison_page(
        frontier.comparison,
        title="Frontier of risk and utility",
        reports=report_links(points, work),
        failed=frontier.failed,
    )
    with new_directory(plan.directory, overwrite=plan.overwrite) as new:
        for setting in done:
            # linked, so that nothing is lost if this fails half-way
            link_tree(work / setting.name, new / setting.name)
        write_text(new / PAGE, page)
        write_json(new / NUMBERS, {"format": 1} | plain(frontier.comparison) | outcome)
        manifest = {
            "format": 1,
            "kind": "frontier",
            "created": now(),
            "data": {
                "origin": plan.source.origin,
                "sha256": plan.source.fingerprint,
                "rows": plan.source.table.n_rows,
            },
            "seed": plan.seed.entropy,
            "settings": {setting.name: dict(setting.values) for setting in done},
            "files": [plain(file_entry(new / name)) for name in (PAGE, NUMBERS)],
        }
        write_json(new / "manifest.json", manifest | outcome)
