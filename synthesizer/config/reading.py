"""Read configurations, translate other spellings, and report all problems at once.

A configuration with faults is cut down to its sound parts, so that the data can be checked in the
same go and a steward sees every problem of both at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from synthesizer.config.keys import (
    FROM_DATA,
    ChainConfig,
    Config,
    SecretConfig,
    WeightsConfig,
)
from synthesizer.config.synthpop import (
    FOREIGN_KEYS,
    FOREIGN_SCHEMA,
    GENETIC,
    house_name,
    translate,
    unsupported,
)
from synthesizer.data.errors import ConfigError, Problem, Problems
from synthesizer.data.options import UNKNOWN, nearest, public, sentences, unwritable
from synthesizer.data.yaml_text import read_yaml
from synthesizer.engine.registry import DEFAULT_SETS, METHOD_ALIASES, Registry

AnyConfig = TypeVar("AnyConfig", bound=ChainConfig)


AnyForm: TypeAlias = Config | Mapping[str, Any] | str | Path
"""A configuration: an object, a mapping with the keys of the YAML, or the file itself."""


@public
def load_config(path: str | Path) -> Config:
    """Read a configuration file.

    Parameters
    ----------
    path : str or Path
        A YAML file; relative paths in it are understood from its own directory.

    Returns
    -------
    Config
        For `run`; nothing of it was run and no data were read.

    Raises
    ------
    ConfigError
        With every problem of form: unknown keys with the nearest name, wrong values.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "fair.yaml")
    ...     _ = file.write_text("{data: {sample: fair}, m: 2}", encoding="utf-8")
    ...     load_config(file).m
    2
    """
    return read_config(file_content(path), base=Path(path).parent)


@public
def read_config(content: Mapping[str, Any], *, base: str | Path | None = None) -> Config:
    """Turn a mapping with the keys of the YAML into a configuration; see `load_config`.

    Parameters
    ----------
    content : mapping
        Keys and values of the YAML.
    base : str or Path, optional
        Where relative paths begin; the working directory by default.

    Returns
    -------
    Config
        For `run`.

    Raises
    ------
    ConfigError
        With every problem of form, as in `load_config`.

    Examples
    --------
    >>> config = read_config({"data": {"sample": "fair"}, "m": 2, "cart.minbucket": 10})
    >>> config.m, config.models
    (2, {'cart': {'minbucket': 10}})
    """
    problems = Problems()
    return _sound(sound_part(content, Path(base or ""), problems), problems)


def read_chain_config(content: Mapping[str, Any]) -> ChainConfig:
    """Turn the options of `Synthesizer` into a configuration without data and output."""
    problems = Problems()
    return _sound(_validated(ChainConfig, content, problems), problems)


def _sound(config: AnyConfig | None, problems: Problems) -> AnyConfig:
    if problems or config is None:
        raise ConfigError(problems)
    return config


def file_content(path: str | Path, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what a configuration file holds.

    ``overrides`` replace keys of the file; a mapping replaces keys of the mapping there, and so on.

    Raises
    ------
    ConfigError
        If the file cannot be read, or is no YAML map.
    """
    return _overridden(read_yaml(Path(path)), overrides)


def _overridden(content: dict[str, Any], overrides: Mapping[str, Any] | None) -> dict[str, Any]:
    for key, value in (overrides or {}).items():
        old = content.get(key)
        if isinstance(old, dict) and isinstance(value, Mapping):
            content[key] = _overridden({**old}, value)
        else:
            content[key] = value
    return content


def sound_config(
    config: AnyForm, overrides: Mapping[str, Any] | None, problems: Problems
) -> Config | None:
    """Return the sound part of a configuration in any of its forms, with keys replaced."""
    if isinstance(config, Config):
        said = _overridden(config.model_dump(by_alias=True, exclude_unset=True), overrides)
        return config if not overrides else sound_part(said, Path(), problems)
    if isinstance(config, Mapping):
        return sound_part(_overridden(dict(config), overrides), Path(), problems)
    return sound_part(file_content(config, overrides), Path(config).parent, problems)


def sound_part(content: Mapping[str, Any], base: Path, problems: Problems) -> Config | None:
    """Return a configuration without its faulty parts, None if the data are among them.

    With it the data can be checked at once, whatever else is wrong.
    """
    config = _validated(Config, content, problems)
    return None if config is None else _resolved(config, base)


def has_faulty_panel(problems: Iterable[str]) -> bool:
    """Whether faults of form leave open what persons, periods and careers are.

    Such a configuration cannot be planned: settings about persons would be checked for rows.
    A rule with a fault is left out and leaves the panel as it is.

    Examples
    --------
    >>> has_faulty_panel(["panel.persn: unknown key"]), has_faulty_panel(["panel.rules.1: needs"])
    (True, False)
    """
    return any(
        problem.startswith(("panel:", "panel.", "household:", "household."))
        and not problem.startswith(("panel.rules.", "household.at_most"))
        for problem in problems
    )


def _validated(
    kind: type[AnyConfig], content: Mapping[str, Any], problems: Problems
) -> AnyConfig | None:
    if halves := list(unwritable(content)):
        problems += halves
        return None
    content = _canonical(content, set(kind.model_fields), problems)
    misspelt: set[Location] = set()
    removed: set[Location] = set()
    for _ in range(len(str(content)) + 1):  # each round removes at least one faulty part
        try:
            return kind.model_validate(content)
        except ValidationError as error:
            faults = error.errors(include_url=False)
        # a section with a misspelt key lacks the right one: only the misspelling is reported
        reported = [i for i in faults if i["type"] != "value_error" or i["loc"] not in misspelt]
        reported = [item for item in reported if not _follows(item, removed)]
        problems += sentences(kind, content, reported)
        misspelt |= {i["loc"][:-1] for i in faults if i["type"] in UNKNOWN}
        # find all places before removing any: two faults may share a place
        faulty = [place for item in faults if (place := _faulty_part(content, item["loc"]))]
        for location, container in faulty:
            removed.add(location)
            container.pop(location[-1], None)
        if not faulty:
            break
    return None


Location = tuple[int | str, ...]
"""Keys and positions that lead to a part of a configuration."""


def _follows(fault: ErrorDetails, removed: Collection[Location]) -> bool:
    """Whether a fault is there only since a faulty part, reported already, was removed.

    Then the part itself is missing, or what encloses it is said to need it.
    """
    place = fault["loc"]
    if fault["type"] == "missing":
        return place in removed
    needs = fault["type"] == "value_error" and "need" in fault["msg"]
    words = set(re.findall(r"\w+", fault["msg"]))
    return needs and any(part[:-1] == place and part[-1] in words for part in removed)


def _canonical(content: Mapping[str, Any], keys: set[str], problems: Problems) -> dict[str, Any]:
    """Spell keys the house way: names of other tools, options as model.option."""
    result: dict[str, Any] = {}
    options: dict[str, dict[str, Any]] = {}
    sections: dict[str, dict[str, Any]] = {}
    for key, value in content.items():
        name = house_name(key)
        foreign = unsupported(key, value)
        if foreign is not None:
            problems.append(foreign)
        elif name in keys or name in FOREIGN_KEYS:
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
            problems.append(Problem(f"{key}: unknown key{nearest(name, keys)}", "unknown_key"))
    for name, dotted in sections.items():
        nested = result.get(name) or {}
        if isinstance(nested, dict):  # otherwise validating the section reports the fault
            result[name] = {**nested, **dotted}
    problems += _add_options(result, options) + translate(result)
    return result


def _add_options(result: dict[str, Any], options: Mapping[str, dict[str, Any]]) -> list[str]:
    """Add options written as model.option to those under ``models``."""
    models = result.setdefault("models", {}) if options else {}
    problems = []
    for model, dotted in options.items():
        nested = models.setdefault(model, {}) if isinstance(models, dict) else None
        if not isinstance(nested, dict):  # validating ``models`` reports the fault
            continue
        twice = [option for option in dotted if option in nested]
        problems += [f"{model}.{option}: is given under models too; keep one" for option in twice]
        nested.update({option: value for option, value in dotted.items() if option not in nested})
    return problems


def _copied(value: Any) -> Any:
    """Copy containers: faulty parts are removed in place later."""
    if isinstance(value, Mapping):
        return {key: _copied(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):  # a number or an index of NumPy or pandas
        value = value.tolist()
    return [_copied(entry) for entry in value] if isinstance(value, list | tuple) else value


def _resolved(config: Config, base: Path) -> Config:
    """Make relative paths relative to the configuration's directory."""
    data, secret = config.data, config.secret
    files = {key: getattr(data, key) for key in ("path", "catalogue")}
    named = {key: _joined(base, path) for key, path in files.items() if path is not None}
    data = data.model_copy(update=named)
    directory = _joined(base, config.output.directory)
    output = config.output.model_copy(update={"directory": directory})
    genetic = config.genetic
    if genetic is not None and not isinstance(genetic.start, str):
        start = tuple(_joined(base, path) for path in genetic.start)
        genetic = replace(genetic, start=start)
    if isinstance(secret, SecretConfig):
        secret = SecretConfig(manifest=_joined(base, secret.manifest))
    changes: dict[str, Any] = {"data": data, "output": output, "genetic": genetic}
    if isinstance(config.weights, WeightsConfig):
        totals = {
            name: str(_joined(base, Path(said)))
            if isinstance(said, str) and said != FROM_DATA
            else said
            for name, said in config.weights.totals.items()
        }
        changes["weights"] = config.weights.model_copy(update={"totals": totals})
    if (extends := config.extends) is not None:
        changes["extends"] = extends.model_copy(update={"run": _joined(base, extends.run)})
    # only what was written is set, so that a manifest repeats no default
    return config.model_copy(update=changes | ({} if secret is None else {"secret": secret}))


def _joined(base: Path, path: Path) -> Path:
    """Return the path seen from the working directory, without detours."""
    return Path(os.path.normpath(base / os.path.expanduser(path)))


def _faulty_part(content: Any, location: Location) -> tuple[Location, dict[Any, Any]] | None:
    """Return the place of the value at ``location``, or of the nearest one around it, and its map.

    One entry of a list is never returned alone, since the positions of
    other problems must not shift. Without its unit of counting a section means something else.
    """
    if location[-1] == "units":
        location = location[:-1]
    path: list[tuple[Any, Any]] = []
    for key in location:
        if isinstance(content, list):
            inside = isinstance(key, int) and key < len(content)
        else:
            inside = isinstance(content, dict) and key in content
        if not inside:
            break
        path.append((content, key))
        content = content[key]
    while path and isinstance(path[-1][0], list):
        path.pop()
    return (location[: len(path)], path[-1][0]) if path else None


def config_schema(registry: Registry) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a configuration.

    Examples
    --------
    >>> schema = config_schema(Registry.load())
    >>> "visit_sequence" in schema["properties"]
    True
    """
    schema = Config.model_json_schema(by_alias=True)
    names = sorted({*registry.names, *METHOD_ALIASES, *DEFAULT_SETS} - {""})
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "synthesizer run"
    schema["properties"]["models"] = {
        "type": "object",
        "description": "options of models",
        "properties": {name: registry.options_schema(name) for name in registry.names},
        "additionalProperties": {"type": "object"},
    }
    schema["$defs"]["VariableConfig"]["properties"]["method"]["examples"] = names
    # what is translated before the configuration is checked
    schema["properties"] |= FOREIGN_SCHEMA
    schema["properties"]["method"]["oneOf"].append({"type": "string", "description": "of all"})
    # options may stand at the top as model.option, the way users of synthpop write them
    schema["patternProperties"] = {r"^[A-Za-z_]+\.[A-Za-z_.]+$": {}}
    return schema
