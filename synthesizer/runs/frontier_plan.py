"""What a frontier will run: every problem of every setting before the first of them starts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from synthesizer.config import Config
from synthesizer.config_reading import has_faulty_panel, try_file
from synthesizer.errors import ConfigError
from synthesizer.inputs import Encoded, Input, try_input
from synthesizer.job_manifest import PACKAGES, plain_config
from synthesizer.manifests import read_manifest
from synthesizer.output import check_output
from synthesizer.plan import Plan
from synthesizer.preparation import model_of
from synthesizer.randomness import fresh_seed
from synthesizer.registry import Registry
from synthesizer.runs.changes import run_gaps
from synthesizer.runs.grid import Setting, grid
from synthesizer.runs.measures import axis_problems
from synthesizer.runs.notes import are_of_one_size
from synthesizer.runs.twins import dropped_notes, planned_twin
from synthesizer.runs.vary import variations

__all__ = ["STATE", "FrontierPlan", "plan_frontier"]

STATE = "grid.json"
"""File that says that a directory holds the finished settings of an unfinished grid."""
NOT_COMPARED = ("output", "workers")
"""Keys that change no data: a finished setting is kept whatever they are."""


@dataclass(frozen=True, kw_only=True)
class FrontierPlan:
    """A grid that is ready to run.

    Parameters
    ----------
    directory : Path
        Where the result goes.
    settings : tuple of Setting
        One run each.
    dropped : mapping of str to str
        Settings that would make the same data as another one, and as which; they are not run.
    kept : tuple of str
        Names of those that an interrupted call finished; they are not run again.
    vary : mapping of str to tuple
        What is varied.
    seed : int
        Of all settings.
    origin : str
        Where the data come from.
    fingerprint : str or None
        SHA-256 of the data; None for a query.
    rows : int
        Records of the data.
    persons : int or None
        Persons of a panel; None where records count.
    """

    directory: Path
    settings: tuple[Setting, ...]
    dropped: Mapping[str, str]
    kept: tuple[str, ...]
    vary: Mapping[str, tuple[Any, ...]]
    seed: int
    origin: str
    fingerprint: str | None
    rows: int
    persons: int | None = None

    @property
    def workshop(self) -> Path:
        """Where finished settings wait until all are done."""
        return workshop(self.directory)

    @property
    def lines(self) -> tuple[str, ...]:
        """The plan in words."""
        sizes = sorted({setting.config.m for setting in self.settings})
        datasets = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        counted = f"{self.rows:,} records" if self.persons is None else f"{self.persons:,} persons"
        told = [
            f"{len(self.settings)} settings, each a whole run (m = {datasets}, {counted}, "
            f"seed {self.seed} for all); the result goes to {self.directory}"
        ]
        if self.kept:
            told.append(
                f"{len(self.kept)} of them are finished already, in {self.workshop}, and are kept"
            )
        told += [f"note: {note}" for note in dropped_notes(self.dropped, {})]
        usual = self.rows if self.persons is None else self.persons
        if not are_of_one_size(setting.config.rows or usual for setting in self.settings):
            told.append(
                "note: the datasets differ in size, so no figure of utility can be compared and "
                "there will be no map, only tables; leave rows the same for all settings"
            )
        return (*told, *(f"  {setting.name}" for setting in self.settings))


def workshop(directory: Path) -> Path:
    """Return where the finished settings of a grid wait for the others.

    Examples
    --------
    >>> workshop(Path("out/pilot")).name
    'pilot.unfinished'
    """
    return directory.parent / f"{directory.name}.unfinished"


def plan_frontier(
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
) -> FrontierPlan:
    """Check every setting of a grid against the data; nothing is fitted or written.

    Parameters
    ----------
    config, vary, directory, m, seed, workers, overwrite, registry, risk, utility
        See `synthesizer.runs.frontier.run_frontier`.

    Raises
    ------
    ConfigError
        With every problem of the configuration, of what is varied, of each setting, of the data,
        of the output and of the names of axes; or if all settings would make the same data.
    """
    registry = registry or Registry.load()
    overrides = {"m": m, "seed": seed, "workers": workers}
    base, problems = _base(config, {k: v for k, v in overrides.items() if v is not None})
    varied, told = variations(vary, registry)
    problems += told + axis_problems(risk, utility)
    if base is None or has_faulty_panel(problems):
        raise ConfigError(dict.fromkeys(problems))
    usual = base.output.directory
    final = usual.parent / f"{usual.name}_frontier" if directory is None else Path(directory)
    problems += check_output(final, overwrite=overwrite) + _workshop_problems(workshop(final))
    base = base.model_copy(update={"seed": _seed(base, workshop(final))})
    found = grid(base, varied, registry)
    problems += _inside_problems(final, [config, base.data.path])
    source, wrong, dropped, units = _check(found.settings, registry)
    settings = tuple(setting for setting in found.settings if setting.name not in dropped)
    problems += found.told(found.problems, among=found.given)
    problems += found.told(wrong, among=[setting.name for setting in found.settings])
    if not problems and len(settings) == 1:
        problems = _without_effect(dropped)
    if problems or source is None:
        raise ConfigError(dict.fromkeys(problems))
    return FrontierPlan(
        directory=final,
        settings=settings,
        dropped=dropped,
        kept=tuple(one.name for one in settings if _is_done(one, workshop(final), source)),
        vary={one.key: one.values for one in varied},
        seed=base.seed or 0,
        origin=source.origin,
        fingerprint=source.fingerprint,
        rows=source.table.n_rows,
        persons=None if base.panel is None else units,
    )


def _base(
    config: Config | str | Path, overrides: Mapping[str, Any]
) -> tuple[Config | None, list[str]]:
    if isinstance(config, Config):
        return config.model_copy(update=dict(overrides)), []
    return try_file(config, overrides)


def _seed(base: Config, waiting: Path) -> int:
    """Return the seed of all settings: that of the configuration, or of the interrupted call."""
    if base.seed is not None:
        return base.seed
    known = (read_state(waiting) or {}).get("seed")
    return known if isinstance(known, int) else fresh_seed()


def read_state(waiting: Path) -> Mapping[str, Any] | None:
    """Return what an interrupted call left behind, None where there is nothing of the kind."""
    try:
        content = json.loads((waiting / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _workshop_problems(waiting: Path) -> list[str]:
    if not waiting.exists() or read_state(waiting) is not None:
        return []
    return [
        f"{waiting} is there and holds no unfinished grid; finished settings would wait there: "
        "move it away or name another output directory"
    ]


def _inside_problems(final: Path, sources: Iterable[object]) -> list[str]:
    """Say that what is read lies in the directory that the result would replace."""
    place = os.path.realpath(final)
    return [
        f"output {final} holds {source}, which is read; name another directory"
        for source in sources
        if isinstance(source, str | Path) and _is_within(os.path.realpath(source), place)
    ]


def _is_within(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip(os.sep) + os.sep)


def _without_effect(dropped: Mapping[str, str]) -> list[str]:
    """Say that nothing would be left to compare."""
    return [
        f"setting {name}: would make the same data as {kept}: what is varied has no effect here "
        "(is the model used by any variable?); no two settings are left to compare"
        for name, kept in dropped.items()
    ]


def _check(
    settings: Sequence[Setting], registry: Registry
) -> tuple[Input | None, dict[str, list[str]], dict[str, str], int]:
    """Plan every setting; the data are read once for each way of reading them.

    Beside the problems of settings it says which make the same data as an earlier one, and how
    many units the data hold.
    """
    units = 0
    dropped: dict[str, str] = {}
    sources: dict[str, tuple[Input | None, Encoded]] = {}
    problems: dict[str, list[str]] = {}
    plans: dict[str, tuple[Setting, Plan]] = {}
    for setting in settings:
        config = setting.config
        reading = repr((config.declarations(), config.drop))
        if reading not in sources:
            sources[reading] = try_input(config.data, config.declarations, config.drop)
        source, encoded = sources[reading]
        modelled = model_of(config, encoded, registry)
        plan, told = modelled.plan, [*encoded.problems, *modelled.problems]
        if told or plan is None or source is None:
            problems[setting.name] = told
            continue
        units = modelled.table.n_units
        twin = planned_twin(setting, plan, plans)
        if twin is None:
            plans[setting.name] = (setting, plan)
        else:
            dropped[setting.name] = twin
    known = [source for source, _ in sources.values() if source is not None]
    return (known[0] if known else None), problems, dropped, units


def _is_done(setting: Setting, waiting: Path, source: Input) -> bool:
    """Whether an interrupted call finished a setting, with these data and this software."""
    manifest = read_manifest(waiting / setting.name)
    if manifest is None or source.fingerprint is None:
        return False
    asked = _compared(plain_config(setting.config))
    return (
        _compared(manifest.get("config")) == asked
        and (manifest.get("data") or {}).get("sha256") == source.fingerprint
        and manifest.get("packages") == {name: version(name) for name in PACKAGES}
        and not run_gaps(waiting / setting.name)
    )


def _compared(config: Any) -> Any:
    if not isinstance(config, Mapping):
        return None
    return {key: value for key, value in config.items() if key not in NOT_COMPARED}
