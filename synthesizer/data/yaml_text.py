"""Strict reading of YAML: labels stay text, repeated keys are errors.

YAML 1.1 turns ``NO`` into false, ``010`` into 8 and ``2020-01-01`` into a date, which would
damage missing codes and labels. Here only ``true`` and ``false`` are booleans, numbers have no
leading zeros, and nothing else is converted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import yaml

from synthesizer.data.errors import ConfigError, Problems
from synthesizer.data.files import read_text

INFINITIES: Final[Mapping[str, float]] = {
    **dict.fromkeys((".inf", "inf", "+.inf", "infinity", "+inf"), math.inf),
    **dict.fromkeys(("-.inf", "-inf", "-infinity"), -math.inf),
}
"""Lower-case texts that are infinite where a number is expected.

They stay text in reading, since they may be labels, and in files, since JSON has no such number.
"""

MEND = "check quotes, brackets and indentation there, and for a colon without a space"
PLAIN = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")
)
MAX_BYTES = 1_000_000
MAX_DEPTH = 40


class _Loader(yaml.SafeLoader):
    """SafeLoader with the resolvers below instead of those of YAML 1.1."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012


for _tag, _pattern, _starts in (
    ("bool", r"^(?:true|false)$", ["t", "f"]),
    ("null", r"^(?:~|null|)$", ["~", "n", ""]),
    ("int", r"^-?(?:0|[1-9][0-9]{0,17})$", [*"-0123456789"]),
    ("float", r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?$", [*"-0123456789"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _starts)


def packaged_yaml(package: str, name: str) -> dict[str, Any]:
    """Return the content of a YAML file of a package, such as its sentences."""
    text = resources.files(package).joinpath(name).read_text(encoding="utf-8")
    return parse_yaml(text, origin=name)


def parse_yaml(text: str, *, origin: str) -> dict[str, Any]:
    """Return the mapping at the top of a YAML text.

    Examples
    --------
    >>> parse_yaml("missing: [NO, 007, -8]", origin="example")
    {'missing': ['NO', '007', -8]}
    """
    if len(text) > MAX_BYTES:
        raise ConfigError(f"{origin}: longer than {MAX_BYTES:,} characters; is it a configuration?")
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        Problems(_node_problems(node, origin)).settle(ConfigError)
        content = None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        raise ConfigError(f"{origin}: not valid YAML{_position(error)}; {MEND}") from None
    except RecursionError:
        raise ConfigError(f"{origin}: nested too deeply; at most {MAX_DEPTH} levels") from None
    except ValueError:
        raise ConfigError(f"{origin}: a value cannot be read; put it in quotes") from None
    if not isinstance(content, dict):
        raise ConfigError(
            f"{origin}: has no keys such as 'data:' and 'm:'; write lines "
            "'key: value', or let 'synthesizer init DATA' write them"
        )
    return content


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping at the top of a YAML or JSON file.

    Raises
    ------
    ConfigError
        If the file cannot be read, or is not a map.
    """
    try:
        text = read_text(path)
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text; save the configuration as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    return parse_yaml(text, origin=str(path))


def without_infinities(value: Any) -> Any:
    """Return a value with infinite numbers as in YAML, also in lists and maps.

    Examples
    --------
    >>> without_infinities({"theta": math.inf, "by": ["sex"]})
    {'theta': '.inf', 'by': ['sex']}
    """
    if isinstance(value, Mapping):
        return {key: without_infinities(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(without_infinities(inner) for inner in value)
    if isinstance(value, float) and math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    return value


def _position(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None)
    position = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"{position}: {problem}" if problem else position


def _node_problems(root: yaml.Node | None, origin: str) -> list[str]:
    """Return the problems of repeated keys, aliases and tags."""
    problems: list[str] = []
    seen: set[int] = set()
    stack: list[tuple[yaml.Node, int]] = [(root, 0)] if root is not None else []
    while stack:
        node, depth = stack.pop()
        line = node.start_mark.line + 1
        if id(node) in seen:
            problems.append(
                f"{origin}, line {line}: aliases (*name) are not supported; write the value"
            )
            continue
        seen.add(id(node))
        if depth > MAX_DEPTH:
            problems.append(f"{origin}, line {line}: nested too deeply; at most {MAX_DEPTH} levels")
            continue
        if node.tag not in PLAIN:
            problems.append(
                f"{origin}, line {line}: tags (!{node.tag.rpartition(':')[2].lstrip('!')}) are not "
                "supported; write the value without it"
            )
        problems += _doubled_keys(node, origin)
        stack += [(child, depth + 1) for child in _children(node)]
    return problems


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _doubled_keys(node: yaml.Node, origin: str) -> list[str]:
    if not isinstance(node, yaml.MappingNode):
        return []
    problems, keys = [], set()
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            problems.append(f"{origin}, line {line}: the key must be plain text; put it in quotes")
        elif key.value in keys:
            problems.append(f"{origin}, line {line}: key {key.value!r} occurs twice; keep one")
        else:
            keys.add(key.value)
    return problems
