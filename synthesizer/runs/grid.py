"""A grid of settings: the configuration of every combination of varied values."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from synthesizer.config import Config
from synthesizer.config_reading import try_config
from synthesizer.registry import Registry
from synthesizer.runs.key_paths import KeyPath
from synthesizer.runs.vary import Variation, option_path, plain_text

__all__ = ["Grid", "Setting", "grid"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One combination.

    Parameters
    ----------
    name : str
        Also the name of its directory, such as ``cart.min_leaf=3``.
    values : mapping of str to value
        By key as it was written.
    config : Config
        The whole configuration.
    """

    name: str
    values: Mapping[str, Any]
    config: Config


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Every combination of varied values.

    Parameters
    ----------
    settings : tuple of Setting
        Those that are a configuration.
    given : mapping of str to mapping
        What every combination sets, by its name.
    problems : mapping of str to sequence of str
        Problems by name of a combination.
    """

    settings: tuple[Setting, ...]
    given: Mapping[str, Mapping[str, Any]]
    problems: Mapping[str, Sequence[str]]

    def told(self, problems: Mapping[str, Sequence[str]], among: Collection[str]) -> list[str]:
        """Say each problem once, with the value that causes it where that can be seen.

        Parameters
        ----------
        problems : mapping of str to sequence of str
            By name of a combination.
        among : collection of str
            Names of the combinations that were looked at.

        Examples
        --------
        >>> given = {"k=0,p=1": {"k": 0, "p": 1}, "k=0,p=2": {"k": 0, "p": 2}, "k=3": {"k": 3}}
        >>> found = Grid(settings=(), given=given, problems={})
        >>> found.told({"k=0,p=1": ["too small"], "k=0,p=2": ["too small"]}, among=given)
        ['--vary k=0: too small']
        """
        having: dict[str, list[str]] = {}
        for name, own in problems.items():
            for problem in dict.fromkeys(own):
                having.setdefault(problem, []).append(name)
        given = {name: self.given[name] for name in among}
        return [f"{_cause(found, given)}{problem}" for problem, found in having.items()]


def grid(base: Config, varied: Sequence[Variation], registry: Registry) -> Grid:
    """Return every combination, and the problems of those that are no configuration.

    Parameters
    ----------
    base : Config
        What is varied.
    varied : sequence of Variation
        From `variations`.
    registry : Registry
        The models that are known.
    """
    content = json.loads(base.model_dump_json(by_alias=True, exclude_unset=True))
    settings: list[Setting] = []
    problems: dict[str, list[str]] = {}
    combinations: dict[str, dict[str, Any]] = {}
    for values in product(*(one.values for one in varied)):
        given = {one.key: value for one, value in zip(varied, values, strict=True)}
        name = _name(given, {known.casefold() for known in combinations})
        combinations[name] = given
        changed = deepcopy(content)
        told = [
            problem
            for one, value in zip(varied, values, strict=True)
            for problem in _put(changed, one, value, registry)
        ]
        config, found = try_config(changed, Path())
        if told or found or config is None:
            problems[name] = told + found
        else:
            settings.append(Setting(name=name, values=given, config=config))
    return Grid(settings=tuple(settings), given=combinations, problems=problems)


def _put(content: dict[str, Any], one: Variation, value: Any, registry: Registry) -> list[str]:
    """Set a value in a configuration; say so where something else stands in the way."""
    if one.path[0] == "models":
        _clear_aliases(content.get("models", {}), one.path, registry)
    part = content
    for key in one.path[:-1]:
        inner = part.setdefault(key, {})
        if not isinstance(inner, dict):
            return [f"--vary {one.key}: {key!r} is no map in the configuration; vary it as a whole"]
        part = inner
    if value is None:  # the default
        part.pop(one.path[-1], None)
    else:
        part[one.path[-1]] = value
    return []


def _clear_aliases(models: dict[str, Any], path: KeyPath, registry: Registry) -> None:
    """Take out the option under its other names: the grid decides about it."""
    for name, options in models.items():
        if isinstance(options, dict):
            for option in list(options):
                if option_path(name, option, registry) == path:
                    del options[option]


def _name(given: Mapping[str, Any], taken: Collection[str]) -> str:
    """Return a name that any file system takes, also one that ignores case."""
    text = ",".join(f"{key}={_shown(value)}" for key, value in given.items())
    safe = re.sub(r"[^A-Za-z0-9._=,+-]+", "_", text)[:100].strip("._,-") or "setting"
    name, number = safe, 1
    while name.casefold() in taken:
        number += 1
        name = f"{safe}-{number}"
    return name


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(map(_shown, value)) or "none"
    return value if isinstance(value, str) else plain_text(value).replace("null", "default")


def _cause(found: Sequence[str], names: Mapping[str, Mapping[str, Any]]) -> str:
    if len(found) == len(names):
        return ""
    for key, value in names[found[0]].items():
        same = [
            name for name, given in names.items() if plain_text(given.get(key)) == plain_text(value)
        ]
        if set(same) == set(found):
            return f"--vary {key}={_shown(value)}: "
    rest = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"setting {found[0]}{rest}: "
