"""Read configurations, translate names of other tools, and report all problems at once.

A faulty configuration is reduced to its sound parts, so that the data can be checked, too, and all
problems are reported together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from synthesizer.config.keys import ChainConfig, Config, DataConfig, KeyConfig, PanelConfig
from synthesizer.data.errors import ConfigError, Problem, Problems, did_you_mean
from synthesizer.data.options import UNKNOWN, nearest, public, sentences, unwritable
from synthesizer.data.plugins import arranging_keys, keyed, makers
from synthesizer.data.yaml_text import read_yaml
from synthesizer.engine.registry import DEFAULT_SETS, METHOD_ALIASES, Registry, option_types
from synthesizer.measures.measure_options import Labels
from synthesizer.measures.settings import CheckSettings, LimitConfig

ALIASES: Mapping[str, str] = {
    "k": "rows",
    "minstratumsize": "min_stratum_rows",
    "n_jobs": "workers",
    "num_rows": "rows",
    "random_state": "seed",
    "visit_order": "visit_sequence",
}
"""Names of other tools for keys at the top level."""

_RULES = "write rules: [{if: CONDITION, then: {VARIABLE: VALUE}}]"
_NO_IPF = "there is no log-linear model of all variables; remove it"
_NO_GROUPS = "write the kind of the variable, or use two columns and a derived one"
_SURVIVAL = "write survival: [{event: VARIABLE, time: VARIABLE}]; cart draws the time"
_ALL_COLUMNS = "only columns under drop are left out; list them there"

UNSUPPORTED: Mapping[str, str] = {
    "catgroups": "categories are not grouped; models of many levels group them themselves",
    "ctree_mincriterion": "trees are not stopped by tests; use cart.penalty or cart.complexity",
    "denom": "there is no model of binomial counts; use the share as a variable",
    "drop_not_used": _ALL_COLUMNS,
    "drop_pred_only": _ALL_COLUMNS,
    "epsilon": _NO_IPF,
    "event": _SURVIVAL,
    "maxfaclevels": "levels are not limited; remove it, or write kind: id for identifiers",
    "minnumlevels": "set variables: {VARIABLE: {kind: categorical}} for numbers that are codes",
    "numtocat": f"numbers are synthesised as numbers; {_NO_GROUPS}",
    "print_flag": "use --quiet on the command line; remove it",
    "priorn": _NO_IPF,
    "rvalues": "write rules: [{if: CONDITION, then: {variable: value}}]",
    "semicont": "trees detect frequent values; remove it, or list the value under missing",
    "smoothing": "rare numbers are replaced by default (min_holders of cart); remove it",
    "structzero": "write forbid: [CONDITION] for combinations that cannot occur",
}
"""Arguments of synthpop that do not exist here, with the alternative."""

_UNSUPPORTED_MODELS: Mapping[str, str] = {
    "catall": _NO_IPF,
    "ipf": _NO_IPF,
    "nested": "use cart, with the coarser variable as an earlier predictor",
    "survctree": _SURVIVAL,
}
"""Models of synthpop that do not exist here, for keys such as ``nested.x``."""

FOREIGN_KEYS = frozenset({"cont_na"})
"""Arguments of synthpop that `translate` turns into keys of a configuration."""

FOREIGN_SCHEMA: Mapping[str, Any] = {
    "cont_na": {
        "type": "object",
        "description": "map from variable to missing codes; the same as variables.NAME.missing",
    }
}


def house_name(key: object) -> str:
    """Return a top-level key with underscores instead of dots and dashes, and without aliases.

    Examples
    --------
    >>> house_name("visit.sequence"), house_name("k"), house_name("min-stratum-rows")
    ('visit_sequence', 'rows', 'min_stratum_rows')
    """
    name = str(key).replace(".", "_").replace("-", "_")
    return ALIASES.get(name, name)


def unsupported(key: object, value: object) -> str | None:
    """Return the problem of a key that only synthpop has; None for other keys.

    Examples
    --------
    >>> unsupported("rvalues", {"pay": 0})
    'rvalues: not supported; write rules: [{if: CONDITION, then: {variable: value}}]'
    >>> unsupported("rules", [])
    """
    name = house_name(key)
    if name == "rules" and isinstance(value, Mapping):
        return f"{key}: a map is not supported; {_RULES}"
    if name == "models" and isinstance(value, bool):
        return f"{key}: true or false is not supported; use 'fit' or save() to save fitted models"
    model = str(key).partition(".")[0] if "." in str(key) else ""
    advice = UNSUPPORTED.get(name) or _UNSUPPORTED_MODELS.get(model)
    return None if advice is None else f"{key}: not supported; {advice}"


def translate(content: dict[str, Any]) -> list[str]:
    """Replace arguments of other tools in ``content`` by keys; return the problems.

    Examples
    --------
    >>> content = {"cont_na": {"pay": -8}, "method": "cart"}
    >>> translate(content), content
    ([], {'variables': {'pay': {'missing': ['-8']}}, 'default_method': 'cart'})
    """
    problems = _missing_codes(content) + _one_method(content)
    problems += _sections(content)
    if content.get("predictor_matrix") == "auto":  # all earlier variables, as when absent
        del content["predictor_matrix"]
    return problems


def _missing_codes(content: dict[str, Any]) -> list[str]:
    by_variable = content.pop("cont_na", {})
    if not isinstance(by_variable, Mapping):
        return ["cont_na: must be a map from variable to missing codes, as {income: [-8, -9]}"]
    problems = []
    for name, value in by_variable.items():
        codes = _codes(value)
        section = _part(content, "variables", name)
        if codes is None:
            problems.append(f"cont_na.{name}: must be a missing code or a list of them")
        elif section is not None and section.get("missing") is None:
            section["missing"] = codes
        elif section is not None and set(_codes(section["missing"]) or codes) | {""} != {
            *codes,
            "",
        }:
            problems.append(f"cont_na.{name} and variables.{name}.missing disagree; keep one")
    return problems


def _codes(value: object) -> list[str] | None:
    try:
        return list(TypeAdapter(Labels).validate_python(value))
    except ValidationError:
        return None


def _sections(content: dict[str, Any]) -> list[str]:
    """Replace ``true`` under the key of an extension by its defaults; return the problems."""
    for name in keyed():
        if content.get(name) is True:
            content[name] = {}
        elif content.get(name) is False:
            del content[name]
    if (method := content.get("default_method")) not in makers():
        return []
    del content["default_method"]
    return [f"default_method: {method} makes whole datasets, not variables; write method: {method}"]


def _one_method(content: dict[str, Any]) -> list[str]:
    """Replace a single name under ``method`` by default_method; return the problems."""
    name = content.get("method")
    if not isinstance(name, str):
        return []
    del content["method"]
    if name in makers():
        content.setdefault(name, {})
        return []
    if not name:
        return ["method: '' would copy every variable; name the variables to copy under keep"]
    if "default_method" in content:
        return ["method: a single name means default_method, which is given too; keep one"]
    content["default_method"] = name
    return []


def _part(content: dict[str, Any], *path: Any) -> dict[str, Any] | None:
    """Return the map at ``path``, created if absent; None if it is no map."""
    section = content
    for key in path:
        section = section.setdefault(key, {})
        if not isinstance(section, dict):  # reported by the validation
            return None
    return section


AnyConfig = TypeVar("AnyConfig", bound=ChainConfig)


AnyForm: TypeAlias = Config | Mapping[str, Any] | str | Path
"""A configuration: an object, a mapping with the keys of the YAML, or a file."""


@public
def load_config(path: str | Path) -> Config:
    """Return the configuration of a YAML file.

    Parameters
    ----------
    path : str or Path
        A YAML file; paths in it are relative to its directory.

    Returns
    -------
    Config
        For `run`; no data were read.

    Raises
    ------
    ConfigError
        With all problems of form: unknown keys with the nearest name, wrong values.

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
    """Return the configuration of a mapping with the keys of the YAML; see `load_config`.

    Parameters
    ----------
    content : mapping
        Keys and values of the YAML.
    base : str or Path, optional
        Directory of relative paths; the working directory by default.

    Returns
    -------
    Config
        For `run`.

    Raises
    ------
    ConfigError
        With all problems of form, as in `load_config`.

    Examples
    --------
    >>> config = read_config({"data": {"sample": "fair"}, "m": 2, "cart.minbucket": 10})
    >>> config.m, config.models
    (2, {'cart': {'minbucket': 10}})
    """
    problems = Problems()
    return _sound(sound_part(content, Path(base or ""), problems), problems)


def read_chain_config(content: Mapping[str, Any]) -> ChainConfig:
    """Return a configuration without data and output, from the options of `Synthesizer`."""
    problems = Problems()
    return _sound(_validated(ChainConfig, content, problems), problems)


def _sound(config: AnyConfig | None, problems: Problems) -> AnyConfig:
    if problems or config is None:
        raise ConfigError(problems)
    return config


def file_content(path: str | Path, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the content of a configuration file.

    ``overrides`` replace keys of the file; nested mappings are merged.

    Raises
    ------
    ConfigError
        If the file cannot be read, or is not a YAML map.
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
    """Return the sound part of a configuration of any form, with replaced keys."""
    if isinstance(config, Config):
        content = _overridden(config.model_dump(by_alias=True, exclude_unset=True), overrides)
        return config if not overrides else sound_part(content, Path(), problems)
    if isinstance(config, Mapping):
        return sound_part(_overridden(dict(config), overrides), Path(), problems)
    return sound_part(file_content(config, overrides), Path(config).parent, problems)


def sound_part(content: Mapping[str, Any], base: Path, problems: Problems) -> Config | None:
    """Return a configuration without its faulty parts; None if ``data`` is faulty."""
    config = _validated(Config, content, problems)
    return None if config is None else _resolved(config, base)


def has_faulty_panel(problems: Iterable[str]) -> bool:
    """Whether problems concern the definition of persons, periods and careers.

    Such a configuration cannot be planned. A faulty rule is only left out.

    Examples
    --------
    >>> has_faulty_panel(["panel.persn: unknown key"]), has_faulty_panel(["panel.rules.1: needs"])
    (True, False)
    """
    kinds = {"panel": PanelConfig} | {name: key.type for name, key in arranging_keys().items()}
    return any(
        problem.startswith((f"{name}:", f"{name}."))
        and not problem.startswith(tuple(f"{name}.{option}" for option in kind.of_rules))
        for problem in problems
        for name, kind in kinds.items()
    )


def _validated(
    kind: type[AnyConfig], content: Mapping[str, Any], problems: Problems
) -> AnyConfig | None:
    if unreadable := list(unwritable(content)):
        problems += unreadable
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
        misspelt |= {i["loc"][:-1] for i in faults if i["type"] in UNKNOWN}
        reported = [i for i in faults if i["type"] != "value_error" or i["loc"] not in misspelt]
        reported = [i for i in reported if i["type"] != "missing" or i["loc"][:-1] not in misspelt]
        reported = [item for item in reported if not _follows(item, removed)]
        problems += sentences(kind, content, reported)
        # find all parts before removing any: two faults may be in one part
        faulty = [part for item in faults if (part := _faulty_part(content, item["loc"]))]
        for location, container in faulty:
            removed.add(location)
            container.pop(location[-1], None)
        if not faulty:
            break
    return None


Location = tuple[int | str, ...]
"""Keys and positions that lead to a part of a configuration."""


def _follows(fault: ErrorDetails, removed: Collection[Location]) -> bool:
    """Whether a fault only results from removing a faulty part that is already reported.

    The part itself is missing, or its section needs it.
    """
    location = fault["loc"]
    if fault["type"] == "missing":
        return location in removed
    needs = fault["type"] == "value_error" and "need" in fault["msg"]
    words = set(re.findall(r"\w+", fault["msg"]))
    return needs and any(part[:-1] == location and part[-1] in words for part in removed)


def _canonical(content: Mapping[str, Any], keys: set[str], problems: Problems) -> dict[str, Any]:
    """Return a configuration with standard keys: no aliases, no keys with dots."""
    result: dict[str, Any] = {}
    dotted: dict[str, Any] = {}
    for key, value in content.items():
        name = house_name(key)
        foreign = unsupported(key, value)
        if foreign is not None:
            problems.append(foreign)
        elif name in keys or name in FOREIGN_KEYS:
            if name in result:
                problems.append(f"{key}: is the same as another key ({name}); keep one")
            elif value is not None:
                result[name] = _copied(value)
        elif "." in str(key):
            dotted[str(key)] = value
        else:
            problems.append(Problem(f"{key}: unknown key; {instead_of(name, keys)}", "unknown_key"))
    problems += _add_dotted(result, dotted, keys) + translate(result)
    return result


def instead_of(name: str, keys: Collection[str], *, python: bool = False) -> str:
    """Return what to write for an unknown key: the section or model that has it, or a near key.

    Examples
    --------
    >>> instead_of("min_leaf", ["m"]), instead_of("target", ["m"], python=True)
    ('write models: {cart: {min_leaf: ...}}', "write checks={'target': ...}")
    """
    kinds = {"checks": CheckSettings, "limits": LimitConfig, "data": DataConfig}
    path = next(
        ([section, name] for section, kind in kinds.items() if name in kind.model_fields), None
    )
    if path is None:
        entries = sorted(Registry.load().entries(), key=lambda entry: entry.name != "cart")
        having = (e.name for e in entries if name in option_types(e.model_class))
        path = next((["models", model, name] for model in having), None)
    if path is None:
        return nearest(name, keys).removeprefix("; ")
    text = "..."
    for key in reversed(path[1:]):
        text = f"{{{key!r}: {text}}}" if python else f"{{{key}: {text}}}"
    similar = did_you_mean(name, keys)
    return f"write {path[0]}{'=' if python else ': '}{text}{f', or {similar}' if similar else ''}"


def _add_dotted(
    result: dict[str, Any], dotted: Mapping[str, Any], keys: Collection[str]
) -> list[str]:
    """Move keys such as section.key or model.option into their maps; return the problems."""
    problems: list[str] = []
    for key, value in dotted.items():
        head, _, option = key.partition(".")
        *path, last = key.split(".") if head in keys else ("models", head, option)
        inner: Any = result
        for part in path:
            inner = inner.setdefault(part, {}) if isinstance(inner, dict) else inner
        if not isinstance(inner, dict):  # reported by the validation
            if head in keys:
                problems.append(Problem(f"{key}: unknown key", "unknown_key"))
        elif last in inner:
            problems.append(f"{key}: is given under {path[0]} too; keep one")
        else:
            inner[last] = value
    return problems


def _copied(value: Any) -> Any:
    """Return a deep copy, because faulty parts are removed in place later."""
    if isinstance(value, Mapping):
        return {key: _copied(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):  # a number or an index of NumPy or pandas
        value = value.tolist()
    return [_copied(entry) for entry in value] if isinstance(value, list | tuple) else value


def _resolved(config: Config, base: Path) -> Config:
    """Return a configuration whose relative paths begin at its directory."""
    data, key = config.data, config.random_key
    files = {"path": data.path, **data.of_format}
    named = {key: _joined(base, path) for key, path in files.items() if isinstance(path, Path)}
    data = data.model_copy(update=named)
    directory = _joined(base, config.output.directory)
    output = config.output.model_copy(update={"directory": directory})
    if isinstance(key, KeyConfig):
        key = KeyConfig(manifest=_joined(base, key.manifest))
    changes: dict[str, Any] = {"data": data, "output": output}
    if config.conditions is not None:
        changes["conditions"] = _with_paths(config.conditions, base)
    written = ((n, one) for n, one in config.sections.items() if n in Config.model_fields)
    changes |= {name: _with_paths(options, base) for name, options in written}
    # absent keys stay unset, so that a manifest contains no defaults
    return config.model_copy(update=changes | ({} if key is None else {"random_key": key}))


def _with_paths(options: Any, base: Path) -> Any:
    """Return options whose paths, also in tuples and maps, begin at a directory."""

    def joined(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(joined, value))
        if isinstance(value, dict):
            return {key: joined(one) for key, one in value.items()}
        return _joined(base, value) if isinstance(value, Path) else value

    changed = {name: new for name, old in vars(options).items() if (new := joined(old)) != old}
    if isinstance(options, BaseModel):
        return options.model_copy(update=changed)
    return replace(options, **changed)


def _joined(base: Path, path: Path) -> Path:
    """Return a normalised path from the working directory."""
    return Path(os.path.normpath(base / os.path.expanduser(path)))


def _faulty_part(content: Any, location: Location) -> tuple[Location, dict[Any, Any]] | None:
    """Return location and map of a faulty value, or of the nearest part around it.

    Single entries of a list are never returned, because positions in other problems would change.
    For ``units`` the whole section is returned.
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
    # keys that are translated before validation
    schema["properties"] |= FOREIGN_SCHEMA
    schema["properties"]["method"]["oneOf"].append({"type": "string", "description": "of all"})
    # model.option at the top level, as in synthpop
    schema["patternProperties"] = {r"^[A-Za-z_]+\.[A-Za-z_.]+$": {}}
    return schema
