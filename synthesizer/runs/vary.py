"""What a grid varies: keys of a configuration and the values that they take.

``MODEL.OPTION`` addresses the option of a model, anything else a dotted key of the configuration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import prod
from typing import Any

from synthesizer.config import Config
from synthesizer.config_aliases import FOREIGN_KEYS, house_name
from synthesizer.errors import ConfigError, SynthesizerError
from synthesizer.model_options import described
from synthesizer.registry import Registry
from synthesizer.runs.key_paths import KeyPath
from synthesizer.yaml_text import parse_yaml, without_infinities

__all__ = ["MAX_SETTINGS", "Variation", "option_path", "parse_vary", "plain_text", "variations"]

MAX_SETTINGS = 200
_ALIKE = "it must be the same for all settings, or they could not be compared"
REFUSED: Mapping[str, str] = {
    "data": _ALIKE,
    "checks": _ALIKE,
    "limits": "limits change no data; compare against them afterwards",
    "output": "every setting gets a directory of its own; say --out for the whole",
    "seed": f"{_ALIKE}; say --seed for all, and m to see how much is chance",
    "version": "it is the version of the format",
    "workers": "it changes no data; say --workers",
}
"""Keys that cannot be varied, and why."""


@dataclass(frozen=True, kw_only=True)
class Variation:
    """One key and the values it takes.

    Parameters
    ----------
    key : str
        As it was written.
    path : tuple of str
        Where it stands in a configuration.
    values : tuple
        Plain values; None stands for the default.
    """

    key: str
    path: KeyPath
    values: tuple[Any, ...]


def parse_vary(texts: Iterable[str]) -> dict[str, tuple[Any, ...]]:
    """Read ``KEY=VALUE,VALUE,...`` as the values of keys; values are those of YAML.

    Raises
    ------
    ConfigError
        With everything that cannot be read, and every key that is there twice.

    Examples
    --------
    >>> parse_vary(["cart.min_leaf=3,5", "proper=true,false", "keep=[age, sex],[]"])
    {'cart.min_leaf': (3, 5), 'proper': (True, False), 'keep': (['age', 'sex'], [])}
    """
    found, problems = _parsed(texts)
    if problems:
        raise ConfigError(problems)
    return found


def _parsed(texts: Iterable[str]) -> tuple[dict[str, tuple[Any, ...]], list[str]]:
    found: dict[str, tuple[Any, ...]] = {}
    problems: list[str] = []
    for text in texts:
        key, sign, values = text.partition("=")
        key = key.strip()
        if not key or not sign:
            problems.append(f"--vary {text}: write KEY=VALUE,VALUE such as cart.min_leaf=3,10")
        elif key in found:
            problems.append(f"--vary {key}: is given twice; write all values after one =")
        else:
            try:
                found[key] = _values(key, values)
            except ConfigError as error:
                problems += error.problems
    return found, problems


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
    """Return what is varied, as far as it is sound, and every problem of it.

    Parameters
    ----------
    vary : mapping of str to sequence, or iterable of str
        Values by key, or texts as for `parse_vary`.
    registry : Registry
        The models that are known.
    """
    found: dict[KeyPath, Variation] = {}
    wanted, problems = (vary, []) if isinstance(vary, Mapping) else _parsed(vary)
    if not wanted and not problems:
        problems = ["nothing is varied; say for example --vary cart.min_leaf=3,10"]
    for key, given in wanted.items():
        path, told = _path(key, registry)
        values = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else ()
        values = without_infinities(values)
        told += _value_problems(key, values)
        if path in found:
            told.append(f"--vary {key}: says the same as {found[path].key}; keep one")
        if not told:
            found[path] = Variation(key=key, path=path, values=values)
        problems += told
    count = prod(len(one.values) for one in found.values())
    if count > MAX_SETTINGS:
        problems.append(
            f"the grid has {count:,} settings, more than {MAX_SETTINGS}; vary less at a time"
        )
        return [], problems
    if count == 1 and not problems:
        problems.append("there is one setting only; give a key at least two values")
    return list(found.values()), problems


def _value_problems(key: str, values: tuple[Any, ...]) -> list[str]:
    if not values:
        return [f"--vary {key}: has no values; write KEY=VALUE,VALUE"]
    problems = []
    texts = [plain_text(value) for value in values]
    problems += [
        f"--vary {key}: the value {text} is there twice; keep one"
        for text in dict.fromkeys(texts)
        if texts.count(text) > 1
    ]
    if any(isinstance(value, Mapping) for value in values):
        problems.append(f"--vary {key}: values are single values or lists, not maps; name its keys")
    return problems


def plain_text(value: Any) -> str:
    """Write a value so that equal ones look alike: 5 and 5.0 are the same."""
    whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if whole else value, default=str, ensure_ascii=False)


def _path(key: str, registry: Registry) -> tuple[KeyPath, list[str]]:
    """Return where a key stands in a configuration; empty, and a problem, where nowhere."""
    known = {*Config.model_fields, *FOREIGN_KEYS}
    whole = house_name(key)
    parts = [part.strip("`") for part in re.findall(r"`[^`]+`|[^.`]+", key)]
    first = house_name(parts[0]) if parts else ""
    if whole in known:  # synthpop writes visit.sequence
        path: KeyPath = (whole,)
    elif first in known:
        path = (first, *parts[1:])
    elif len(parts) > 1 and _is_model(parts[0], registry):
        return option_path(parts[0], ".".join(parts[1:]), registry), []
    else:
        near = get_close_matches(first, [*known, *registry.names], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "see 'synthesizer schema' and 'models'"
        return (), [f"--vary {key}: {first!r} is no key of a configuration and no model; {hint}"]
    if path[0] in REFUSED:
        return (), [f"--vary {key}: cannot be varied: {REFUSED[path[0]]}"]
    if path[0] == "models" and len(path) == 3:
        return option_path(path[1], path[2], registry), []
    return path, []


def _is_model(name: str, registry: Registry) -> bool:
    try:
        registry.canonical(name)
    except ConfigError:
        return False
    return True


def option_path(model: str, option: str, registry: Registry) -> KeyPath:
    """Return the path of an option under its registered names, so that aliases are the same."""
    try:
        model = registry.canonical(model)
        return "models", model, described(registry.get(model)).aliases.get(option, option)
    except SynthesizerError:  # told when the configuration is read
        return "models", model, option
