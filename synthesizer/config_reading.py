"""Reading configurations: the house spelling, all problems at once, the nearest names.

A configuration with faults is cut down to its sound parts, so that the data can be checked in the
same go and a steward sees every problem of both at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from synthesizer.config import ChainConfig, Config
from synthesizer.config_aliases import FOREIGN_KEYS, GENETIC, house_name, translate, unsupported
from synthesizer.config_words import nearest, sentence
from synthesizer.errors import ConfigError
from synthesizer.yaml_text import parse_yaml

__all__ = [
    "has_faulty_panel",
    "load_config",
    "read_chain_config",
    "read_config",
    "try_config",
    "try_file",
]

AnyConfig = TypeVar("AnyConfig", bound=ChainConfig)


def load_config(path: str | Path) -> Config:
    """Read a configuration file.

    Relative paths in it are understood from the file's own directory.

    Raises
    ------
    ConfigError
        With every problem of form: unknown keys with the nearest name, wrong values.
    """
    return _sound(try_file(path))


def read_config(content: Mapping[str, Any], *, base: Path | None = None) -> Config:
    """Turn a mapping with the keys of the YAML into a configuration; see `load_config`.

    Examples
    --------
    >>> config = read_config({"data": {"sample": "fair"}, "m": 2, "cart.minbucket": 10})
    >>> config.m, config.models
    (2, {'cart': {'minbucket': 10}})
    """
    return _sound(try_config(content, base or Path()))


def read_chain_config(content: Mapping[str, Any]) -> ChainConfig:
    """Turn the options of `Synthesizer` into a configuration without data and output."""
    return _sound(_validated(ChainConfig, content))


def _sound(result: tuple[AnyConfig | None, list[str]]) -> AnyConfig:
    config, problems = result
    if problems or config is None:
        raise ConfigError(problems)
    return config


def try_file(
    path: str | Path, overrides: Mapping[str, Any] | None = None
) -> tuple[Config | None, list[str]]:
    """Return what can be used of a configuration file and every problem of form in it.

    ``overrides`` replace keys of the file; a mapping replaces keys of the mapping there.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text; save the configuration as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    content = parse_yaml(text, origin=str(path))
    for key, value in (overrides or {}).items():
        old = content.get(key)
        if isinstance(old, dict) and isinstance(value, Mapping):
            content[key] = {**old, **value}
        else:
            content[key] = value
    return try_config(content, path.parent)


def try_config(content: Mapping[str, Any], base: Path) -> tuple[Config | None, list[str]]:
    """Return a configuration without its faulty parts (None if data are lost), and the problems.

    So that the data can be checked in the same go, whatever else is wrong.
    """
    config, problems = _validated(Config, content)
    return (None if config is None else _resolved(config, base)), problems


def has_faulty_panel(problems: Iterable[str]) -> bool:
    """Whether faults of form leave open what persons, periods and careers are.

    Such a configuration cannot be planned: what it says of persons would be judged as of rows.
    A rule with a fault is left out and leaves the panel as it is.

    Examples
    --------
    >>> has_faulty_panel(["panel.persn: unknown key"]), has_faulty_panel(["panel.rules.1: needs"])
    (True, False)
    """
    return any(
        problem.startswith(("panel:", "panel.")) and not problem.startswith("panel.rules.")
        for problem in problems
    )


def _validated(
    kind: type[AnyConfig], content: Mapping[str, Any]
) -> tuple[AnyConfig | None, list[str]]:
    content, problems = _canonical(content, set(kind.model_fields))
    misspelt: set[tuple[int | str, ...]] = set()
    for _ in range(len(str(content)) + 1):  # each round removes at least one faulty part
        try:
            return kind.model_validate(content), problems
        except ValidationError as error:
            found = error.errors(include_url=False)
        # what a part with a misspelt key lacks is what was misspelt, which is told already
        told = [i for i in found if i["type"] != "value_error" or i["loc"] not in misspelt]
        problems += [sentence(kind, content, item) for item in told]
        misspelt |= {i["loc"][:-1] for i in found if i["type"] == "extra_forbidden"}
        # all of them first: a part that two faults are in must not be looked for again
        faulty = [part for item in found if (part := _faulty_part(content, item["loc"]))]
        for container, key in faulty:
            container.pop(key, None)
        if not faulty:
            break
    return None, list(dict.fromkeys(problems))


def _canonical(content: Mapping[str, Any], known: set[str]) -> tuple[dict[str, Any], list[str]]:
    """Spell keys the house way: names of other tools, options as model.option."""
    result: dict[str, Any] = {}
    problems: list[str] = []
    options: dict[str, dict[str, Any]] = {}
    sections: dict[str, dict[str, Any]] = {}
    for key, value in content.items():
        name = house_name(key)
        foreign = unsupported(key, value)
        if foreign is not None:
            problems.append(foreign)
        elif name in known or name in FOREIGN_KEYS:
            if name in result:
                problems.append(f"{key}: says the same as another key ({name}); keep one")
            elif value is not None:
                result[name] = _copied(value)
        elif str(key).startswith(f"{GENETIC}."):
            sections.setdefault(GENETIC, {})[str(key).split(".", 1)[1]] = value
        elif "." in str(key):
            model, option = str(key).split(".", 1)
            options.setdefault(model, {})[option] = value
        else:
            problems.append(f"{key}: unknown key{nearest(name, known)}")
    for name, given in sections.items():
        own = result.get(name) or {}
        if isinstance(own, dict):  # otherwise a fault that is told when the section is validated
            result[name] = {**own, **given}
    return result, problems + _add_options(result, options) + translate(result)


def _add_options(result: dict[str, Any], options: Mapping[str, dict[str, Any]]) -> list[str]:
    """Add options written as model.option to those under ``models``."""
    models = result.setdefault("models", {}) if options else {}
    problems = []
    for model, given in options.items():
        own = models.setdefault(model, {}) if isinstance(models, dict) else None
        if not isinstance(own, dict):  # a fault that is told when ``models`` is validated
            continue
        twice = [option for option in given if option in own]
        problems += [f"{model}.{option}: is given under models too; keep one" for option in twice]
        own.update({option: value for option, value in given.items() if option not in own})
    return problems


def _copied(value: Any) -> Any:
    """Copy containers: faulty parts are removed in place later."""
    if isinstance(value, Mapping):
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, list | tuple) else value


def _resolved(config: Config, base: Path) -> Config:
    """Make relative paths relative to the configuration's directory."""
    data = config.data
    if data.path is not None:
        data = data.model_copy(update={"path": _joined(base, data.path)})
    directory = _joined(base, config.output.directory)
    output = config.output.model_copy(update={"directory": directory})
    genetic = config.genetic
    if genetic is not None and not isinstance(genetic.start, str):
        start = tuple(_joined(base, path) for path in genetic.start)
        genetic = genetic.model_copy(update={"start": start})
    return config.model_copy(update={"data": data, "output": output, "genetic": genetic})


def _joined(base: Path, path: Path) -> Path:
    """Return the path seen from the working directory, without detours."""
    return Path(os.path.normpath(base / os.path.expanduser(path)))


def _faulty_part(
    content: Any, location: tuple[int | str, ...]
) -> tuple[dict[Any, Any], Any] | None:
    """Return where the part at ``location`` stands, or the nearest part around it that is there.

    That is a map and a key: one entry of a list is not taken out alone, since the positions of
    other problems must not shift.
    """
    path: list[tuple[Any, Any]] = []
    for part in location:
        if isinstance(content, list):
            inside = isinstance(part, int) and part < len(content)
        else:
            inside = isinstance(content, dict) and part in content
        if not inside:
            break
        path.append((content, part))
        content = content[part]
    while path and isinstance(path[-1][0], list):
        path.pop()
    return path[-1] if path else None
