"""Make a configuration and a plan of every combination of varied settings."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthesizer.config.keys import ChainConfig, Config
from synthesizer.config.reading import FOREIGN_KEYS, house_name, sound_part
from synthesizer.data.errors import ConfigError, Problems, SynthesizerError, did_you_mean
from synthesizer.data.randomness import Seed
from synthesizer.data.yaml_text import parse_yaml, without_infinities
from synthesizer.engine.registry import METHOD_ALIASES, Registry

if TYPE_CHECKING:
    from synthesizer.plan.inputs import Input
    from synthesizer.plan.plan import Plan

KeyPath = tuple[str, ...]
"""Keys that lead to a value in a configuration."""


def parts_of(key: str) -> KeyPath:
    """Return the parts of a dotted path; names with dots are in backticks.

    Examples
    --------
    >>> parts_of("variables.`Jul.93`.method")
    ('variables', 'Jul.93', 'method')
    """
    return tuple(part.strip("`") for part in re.findall(r"`[^`]+`|[^.`]+", key))


# Varied keys and their values.

MAX_SETTINGS = 200
_ALIKE = "it must be the same for all settings, or they could not be compared"
REFUSED: Mapping[str, str] = {
    "data": _ALIKE,
    "checks": _ALIKE,
    "limits": "limits change no data; compare against them afterwards",
    "output": "every setting has its own directory; write --out for all of them",
    "random_key": f"{_ALIKE}; write --set random_key=none for all",
    "seed": f"{_ALIKE}; write --set seed=N for all; a larger m shows the chance variation",
    "version": "it is the version of the format",
    "plugins": f"{_ALIKE}; name all of them in the configuration, and vary method",
    "workers": "it changes no data; write --set workers=N",
}
"""Keys that cannot be varied, and the reasons."""


@dataclass(frozen=True, kw_only=True)
class Variation:
    """One key and its values."""

    key: str
    """As it was written."""
    path: KeyPath
    """Its path in a configuration."""
    values: tuple[Any, ...]
    """Plain values; None is the default."""


def parse_vary(texts: Iterable[str]) -> tuple[dict[str, tuple[Any, ...]], list[str]]:
    """Return the values of each key in ``KEY=VALUE,VALUE,...``, and the problems of the texts.

    Examples
    --------
    >>> parse_vary(["cart.min_leaf=3,5", "proper=true,false", "keep=[age, sex],[]"])[0]
    {'cart.min_leaf': (3, 5), 'proper': (True, False), 'keep': (['age', 'sex'], [])}
    """
    wanted: dict[str, tuple[Any, ...]] = {}
    problems = Problems()
    for text in texts:
        key, sign, values = text.partition("=")
        key = key.strip()
        if not key or not sign:
            problems.append(f"--vary {text}: write KEY=VALUE,VALUE such as cart.min_leaf=3,10")
        elif key in wanted:
            problems.append(f"--vary {key}: is given twice; write all values after one =")
        else:
            with problems.gathered():
                wanted[key] = _values(key, values)
    return wanted, problems


def _values(key: str, text: str) -> tuple[Any, ...]:
    try:
        content = parse_yaml(f"values: [{text}\n]", origin=f"--vary {key}")
    except ConfigError:
        content = {}
    values = content.get("values")
    if list(content) != ["values"] or not isinstance(values, list):
        raise ConfigError(
            f"--vary {key}: the values cannot be read; write them with commas between them and "
            "lists in brackets, such as 3,5,10 or [a, b],[b, a]"
        )
    return tuple(values)


def variations(
    vary: Mapping[str, Sequence[Any]] | Iterable[str], registry: Registry
) -> tuple[list[Variation], list[str]]:
    """Return the valid keys with their values, and the problems of the others."""
    varied: dict[KeyPath, Variation] = {}
    wanted, problems = (vary, []) if isinstance(vary, Mapping) else parse_vary(vary)
    if not wanted and not problems:
        problems = ["nothing is varied; write for example --vary cart.min_leaf=3,10"]
    for key, listed in wanted.items():
        path, faults = _path(key, registry)
        is_list = isinstance(listed, Sequence) and not isinstance(listed, str)
        values = without_infinities(tuple(listed) if is_list else ())
        faults += _value_problems(key, values)
        if path in varied:
            faults.append(f"--vary {key}: is the same key as {varied[path].key}; keep one")
        if not faults:
            varied[path] = Variation(key=key, path=path, values=values)
        problems += faults
    count = prod(len(one.values) for one in varied.values())
    if count > MAX_SETTINGS:
        problems.append(f"the grid has {count:,} settings, more than {MAX_SETTINGS}; vary less")
        return [], problems
    if count == 1 and not problems:
        problems.append("there is one setting only; give a key at least two values")
    return list(varied.values()), problems


def _value_problems(key: str, values: tuple[Any, ...]) -> list[str]:
    if not values:
        return [f"--vary {key}: has no values; write KEY=VALUE,VALUE"]
    texts = [plain_text(value) for value in values]
    twice = [text for text in dict.fromkeys(texts) if texts.count(text) > 1]
    problems = [f"--vary {key}: the value {text} is there twice; keep one" for text in twice]
    if any(isinstance(value, Mapping) for value in values):
        problems.append(f"--vary {key}: values are single values or lists, not maps; name its keys")
    return problems


def plain_text(value: Any) -> str:
    """Write a value so that equal ones look alike: 5 and 5.0 are the same."""
    whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if whole else value, default=str, ensure_ascii=False)


def _path(key: str, registry: Registry) -> tuple[KeyPath, list[str]]:
    """Return the path of a key in a configuration; empty, with a problem, if there is none."""
    keys = {*Config.model_fields, *FOREIGN_KEYS}
    whole = house_name(key)
    parts = parts_of(key)
    first = house_name(parts[0]) if parts else ""
    if whole in keys:  # synthpop writes visit.sequence
        path: KeyPath = (whole,)
    elif first in keys:
        path = (first, *parts[1:])
    elif len(parts) > 1 and parts[0] in {*registry.names, *METHOD_ALIASES}:
        return option_path(parts[0], ".".join(parts[1:]), registry), []
    else:
        names = [*keys, *registry.names]
        hint = did_you_mean(first, names, "see 'reference schema' and 'reference models'")
        return (), [f"--vary {key}: {first!r} is no key of a configuration and no model; {hint}"]
    if path[0] in REFUSED:
        return (), [f"--vary {key}: cannot be varied: {REFUSED[path[0]]}"]
    if path[0] == "models" and len(path) == 3:
        return option_path(path[1], path[2], registry), []
    return path, []


def option_path(model: str, option: str, registry: Registry) -> KeyPath:
    """Return the path of an option; aliases have the same path."""
    try:
        model = registry.canonical(model)
        return "models", model, registry.get(model).option_aliases.get(option, option)
    except SynthesizerError:  # reading the configuration reports it
        return "models", model, option


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One combination."""

    name: str
    """Also the name of its directory, such as ``cart.min_leaf=3``."""
    values: Mapping[str, Any]
    """Values by key, as it was written."""
    config: Config
    """The whole configuration."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Every combination of varied values."""

    settings: tuple[Setting, ...]
    """Combinations that are valid configurations."""
    names: tuple[str, ...]
    """Number of all combinations."""
    problems: Mapping[str, Sequence[str]]
    """Problems by name of a combination."""


def merged_problems(problems: Mapping[str, Sequence[str]], n: int) -> list[str]:
    """Return each problem of n settings once, with the settings that have it unless all have.

    Examples
    --------
    >>> merged_problems({"m=0,p=1": ["too small"], "m=0,p=2": ["too small"]}, 4)
    ['setting m=0,p=1 and 1 more: too small']
    """
    faulty: dict[str, list[str]] = {}
    for name, of_setting in problems.items():
        for problem in dict.fromkeys(of_setting):
            faulty.setdefault(problem, []).append(name)
    more = {k: f" and {len(names) - 1} more" if names[1:] else "" for k, names in faulty.items()}
    return [
        problem if len(names) == n else f"setting {names[0]}{more[problem]}: {problem}"
        for problem, names in faulty.items()
    ]


def grid(base: Config, varied: Sequence[Variation], registry: Registry) -> Grid:
    """Return every combination, and the problems of invalid ones."""
    content = json.loads(base.model_dump_json(by_alias=True, exclude_unset=True))
    settings: list[Setting] = []
    problems: dict[str, list[str]] = {}
    names: list[str] = []
    for values in product(*(one.values for one in varied)):
        combination = {one.key: value for one, value in zip(varied, values, strict=True)}
        name = _name(combination, {other.casefold() for other in names})
        names.append(name)
        changed = deepcopy(content)
        faults = Problems(
            problem
            for one, value in zip(varied, values, strict=True)
            for problem in _put(changed, one, value, registry)
        )
        config = sound_part(changed, Path(), faults)
        if faults or config is None:
            problems[name] = faults
        else:
            settings.append(Setting(name=name, values=combination, config=config))
    return Grid(settings=tuple(settings), names=tuple(names), problems=problems)


def _put(content: dict[str, Any], one: Variation, value: Any, registry: Registry) -> list[str]:
    """Set a value in a configuration; return a problem if its path is blocked."""
    if one.path[0] == "models":
        _clear_aliases(content.get("models", {}), one.path, registry)
    section = content
    for key in one.path[:-1]:
        if section.get(key) is None:  # it may be there without a value
            section[key] = {}
        inner = section[key]
        if not isinstance(inner, dict):
            return [f"--vary {one.key}: {key!r} is no map in the configuration; vary it as a whole"]
        section = inner
    if value is None:  # the default
        section.pop(one.path[-1], None)
    else:
        section[one.path[-1]] = value
    return []


def _clear_aliases(models: dict[str, Any], path: KeyPath, registry: Registry) -> None:
    """Remove the option under its other names; the grid sets it."""
    for name, options in models.items():
        if isinstance(options, dict):
            for option in list(options):
                if option_path(name, option, registry) == path:
                    del options[option]


def _name(combination: Mapping[str, Any], taken: Collection[str]) -> str:
    """Return a valid file name, also for file systems that ignore case."""
    text = ",".join(f"{key}={shown(value)}" for key, value in combination.items())
    safe = re.sub(r"[^A-Za-z0-9._=,+-]+", "_", text)[:100].strip("._,-") or "setting"
    name, number = safe, 1
    while name.casefold() in taken:
        number += 1
        name = f"{safe}-{number}"
    return name


def shown(value: Any) -> str:
    """Write a value as ``--vary`` takes it."""
    if isinstance(value, list):
        return "+".join(map(shown, value)) or "none"
    return value if isinstance(value, str) else plain_text(value).replace("null", "default")


def plans_of(
    settings: Sequence[Setting], registry: Registry, seed: Seed | None
) -> tuple[dict[str, tuple[Setting, Plan]], dict[str, list[str]], dict[str, str]]:
    """Return plans of settings by name, problems of the others, and settings with equal data.

    The last maps each setting that makes the same data as an earlier one to that one. The data are
    read once for each way of reading them.
    """
    from synthesizer.plan.inputs import declarations, read_input
    from synthesizer.plan.plan import make_plan

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


def planned_twin(
    setting: Setting, plan: Plan, others: Mapping[str, tuple[Setting, Plan]]
) -> str | None:
    """Return another setting that makes the same data, as when no variable uses a varied model."""
    for name, (other, earlier) in others.items():
        chains = [p.spec for p in (plan, earlier) if p.has_chain]
        same = all(c.steps == plan.spec.steps and c.strata == plan.spec.strata for c in chains)
        if same and _rest(setting.config) == _rest(other.config):
            return name
    return None


def _rest(config: ChainConfig) -> dict[str, Any]:
    """Return settings that change the data besides the steps of the chain."""
    from synthesizer.plan.inputs import declarations

    keys = (
        "m", "rows", "proper", "drop", "keep", "rules", "forbid", "on_violation", "rare",
        "sections",
    )  # fmt: skip
    return {key: getattr(config, key) for key in keys} | {"declared": declarations(config)}
