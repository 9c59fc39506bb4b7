"""Many settings of one configuration, each a whole run, and the comparison of all of them.

Every setting runs with the same data and the same seed. Finished settings wait in
``DIRECTORY.unfinished``; when all are done the whole result takes its name in one step. A call
that is interrupted leaves what is finished there, and the same call goes on from it: a setting is
kept if configuration, data and versions of the software are the same.
"""

from __future__ import annotations

import json
import os
import shutil
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from synthesizer.config import Config
from synthesizer.errors import ModelError, OutputError, SynthesizerError
from synthesizer.job import run
from synthesizer.output import new_directory, write_secret
from synthesizer.progress import Listener, silent
from synthesizer.registry import Registry
from synthesizer.report.comparison_page import comparison_page
from synthesizer.result_files import file_entry, now, write_json
from synthesizer.runs.comparison import Comparison, compare_points, report_links
from synthesizer.runs.frontier_plan import STATE, FrontierPlan, plan_frontier
from synthesizer.runs.grid import Setting
from synthesizer.runs.points import RunPoint, read_run
from synthesizer.runs.twins import dropped_notes, made_twins

__all__ = ["Frontier", "run_frontier"]

PAGE, NUMBERS = "frontier.html", "frontier.json"


@dataclass(frozen=True, kw_only=True)
class Frontier:
    """What a grid left behind.

    Parameters
    ----------
    directory : Path
        The result: a directory for each setting, ``frontier.html`` and ``frontier.json``.
    comparison : Comparison
        The settings side by side.
    failed : mapping of str to tuple of str
        Settings that could not be run, and why.
    dropped : mapping of str to str
        Settings that make the same data as another one, and as which; they are left out.
    kept : tuple of str
        Settings that an earlier, interrupted call had finished.
    """

    directory: Path
    comparison: Comparison
    failed: Mapping[str, tuple[str, ...]]
    dropped: Mapping[str, str]
    kept: tuple[str, ...]


def _listens_silently() -> AbstractContextManager[Listener]:
    return nullcontext(silent)


def _tells_nobody(_: str) -> None:
    pass


def run_frontier(
    config: Config | str | Path,
    vary: Mapping[str, Sequence[Any]] | Iterable[str],
    *,
    directory: str | Path | None = None,
    m: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    registry: Registry | None = None,
    risk: str | None = None,
    utility: str | None = None,
    listening: Callable[[], AbstractContextManager[Listener]] = _listens_silently,
    told: Callable[[str], None] = _tells_nobody,
) -> Frontier:
    """Run every combination of varied settings and compare them.

    Parameters
    ----------
    config : Config or path
        What is varied.
    vary : mapping of str to sequence, or iterable of str
        Values by key, such as ``{"cart.min_leaf": [3, 10], "proper": [True, False]}``; None
        stands for the default. Or texts such as ``cart.min_leaf=3,10``.
    directory : path, optional
        Where the result goes; that of the configuration with ``_frontier`` behind it by default.
    m, seed, workers : int, optional
        Replace keys of the configuration.
    overwrite : bool
        Replace an existing result.
    registry : Registry, optional
        Models to choose from.
    risk, utility : str, optional
        Keys of the measures that the frontier and the map show first.
    listening : callable, optional
        Gives, for each setting, what is told about the progress of its run.
    told : callable, optional
        Is given sentences for the user: the plan, which setting runs, how long the rest may take.

    Raises
    ------
    ConfigError
        With every problem of every setting, before anything runs.
    ModelError
        If no setting could be run.

    Notes
    -----
    A setting that fails, be it by an error of the program, does not stop the others; see
    ``Frontier.failed``. One that makes the same data as another is left out, with a note.
    """
    registry = registry or Registry.load()
    plan = plan_frontier(
        config, vary, directory=directory, m=m, seed=seed, workers=workers, overwrite=overwrite,
        registry=registry, risk=risk, utility=utility,
    )  # fmt: skip
    for line in plan.lines:
        told(line)
    with _workshop(plan) as work:
        try:
            failed = _run_all(plan, work, registry, listening, told)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted; finished settings are kept in {work}, the same call goes on there"
            ) from None
        done = [setting for setting in plan.settings if setting.name not in failed]
        if not done:
            reasons = dict.fromkeys(why for own in failed.values() for why in own)
            raise ModelError(["none of the settings could be run:", *reasons])
        points = [read_run(work / own.name, own.name) for own in done]
        made = made_twins(points)
        comparison = _compared(points, plan.dropped, made, risk=risk, utility=utility)
        found = Frontier(
            directory=plan.directory,
            comparison=comparison,
            failed=failed,
            dropped={**plan.dropped, **made},
            kept=plan.kept,
        )
        _write(plan, work, found, overwrite=overwrite)
    return found


def _compared(
    points: Sequence[RunPoint],
    planned: Mapping[str, str],
    made: Mapping[str, str],
    *,
    risk: str | None,
    utility: str | None,
) -> Comparison:
    """Compare settings, without those that made the same data as another."""
    left = [point for point in points if point.name not in made]
    comparison = compare_points(left, risk=risk, utility=utility)
    return replace(comparison, notes=(*dropped_notes(planned, made), *comparison.notes))


def _is_locked(handle: int) -> bool:
    """Lock an open file for this process; where the system has no such locks, trust the user."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def _workshop(plan: FrontierPlan) -> Iterator[Path]:
    """Give the directory of finished settings to this process alone."""
    work = plan.workshop
    try:
        work.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(work, os.O_RDONLY)
    except OSError as error:
        raise OutputError(f"{work}: cannot be written ({error.strerror})") from error
    try:
        if not _is_locked(handle):
            raise OutputError(
                f"{work}: another process runs this grid; wait for it or name another directory"
            )
        write_secret(work / STATE, json.dumps({"seed": plan.seed}), overwrite=True)
        yield work
    finally:
        os.close(handle)


def _run_all(
    plan: FrontierPlan,
    work: Path,
    registry: Registry,
    listening: Callable[[], AbstractContextManager[Listener]],
    told: Callable[[str], None],
) -> dict[str, tuple[str, ...]]:
    """Run what is not finished yet; return the settings that failed, and why."""
    failed: dict[str, tuple[str, ...]] = {}
    waiting = [setting for setting in plan.settings if setting.name not in plan.kept]
    for number, setting in enumerate(waiting, 1):
        told(f"setting {number} of {len(waiting)}: {setting.name}")
        start = perf_counter()
        try:
            with listening() as listener:
                _run(setting, work, registry, listener)
        except Exception as error:  # an error of the program must not lose the other settings
            failed[setting.name] = _reasons(error)
            told(f"  failed: {'; '.join(failed[setting.name])}")
        else:
            told(_pace(perf_counter() - start, len(waiting) - number, first=number == 1))
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


def _run(setting: Setting, work: Path, registry: Registry, listener: Listener) -> None:
    place = {"directory": work / setting.name, "overwrite": True}
    output = setting.config.output.model_copy(update=place)
    config = setting.config.model_copy(update={"output": output})
    run(config, registry=registry, listener=listener)


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


def _write(plan: FrontierPlan, work: Path, found: Frontier, *, overwrite: bool) -> None:
    """Give the finished settings their place beside the comparison, in one step."""
    comparison = found.comparison
    names = {point.name for point in comparison.points}
    done = [setting for setting in plan.settings if setting.name in names]
    outcome = {
        "vary": _plain_vary(plan),
        "failed": {name: list(why) for name, why in found.failed.items()},
        "dropped": dict(found.dropped),
    }
    content = comparison.to_dict() | outcome
    links = {"reports": report_links(comparison.points, work)}
    page = comparison_page(content | links, title="Frontier of risk and utility")
    with new_directory(plan.directory, overwrite=overwrite) as new:
        for setting in done:
            # linked, so that nothing is lost if this fails half-way
            shutil.copytree(work / setting.name, new / setting.name, copy_function=_linked)
        write_secret(new / PAGE, page, overwrite=False)
        write_json(new / NUMBERS, {"format": 1} | content)
        write_json(new / "manifest.json", _manifest(plan, done, new) | outcome)
    shutil.rmtree(work, ignore_errors=True)


def _linked(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)
    return target


def _plain_vary(plan: FrontierPlan) -> dict[str, list[Any]]:
    return {key: list(values) for key, values in plan.vary.items()}


def _manifest(plan: FrontierPlan, done: Sequence[Setting], new: Path) -> dict[str, Any]:
    return {
        "format": 1,
        "kind": "frontier",
        "created": now(),
        "data": {"origin": plan.origin, "sha256": plan.fingerprint, "rows": plan.rows},
        "seed": plan.seed,
        "settings": {setting.name: dict(setting.values) for setting in done},
        "files": [file_entry(new / name) for name in (PAGE, NUMBERS)],
    }
