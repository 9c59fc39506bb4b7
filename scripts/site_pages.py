"""Parts of the documentation that are made from the code.

``docs/conf.py`` puts them into pages that have a line such as ``<!-- commands -->`` (a function of
this file) or ``<!-- python: NAMES -->``, so that none of it is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from typer.main import get_command

import synthesizer
from synthesizer.cli.commands import app
from synthesizer.config.reading import config_schema
from synthesizer.engine.registry import Registry
from synthesizer.measures.catalogue import MEASURES
from synthesizer.measures.figure import in_units

Schema = Mapping[str, Any]
NAMES = re.compile(r"<!-- python: ([\w ]+) -->")


def filled(text: str) -> str:
    """Return the Markdown of a page with what its marks stand for."""
    for made in (commands, configuration, figures, measures, models):
        line = f"<!-- {made.__name__} -->"
        if line in text:
            text = text.replace(line, made())
    return NAMES.sub(lambda match: names(match[1].split()), text)


@cache
def commands() -> str:
    """Return one section for each command, as the parser knows it."""
    return "\n\n".join(_sections(get_command(app), "synthesizer"))


def _sections(command: Any, name: str) -> Iterator[str]:
    if hasattr(command, "commands"):
        for key, one in command.commands.items():
            yield from _sections(one, f"{name} {key}")
        return
    arguments = [item for item in command.params if not item.opts[0].startswith("-")]
    options = [item for item in command.params if item.opts[0].startswith("-")]
    words = [_metavar(item) for item in arguments]
    usage = " ".join([name, *(["[OPTIONS]"] if options else []), *words])
    yield f"### {name.partition(' ')[2]}\n\n`{usage}`\n\n{_plain(command.help or '')}"
    if command.params:
        rows = [f"| {_words(item)} | {_cell(item.help)} |" for item in command.params]
        yield "\n".join(["| option | meaning |", "| --- | --- |", *rows])


def _metavar(argument: Any) -> str:
    name = argument.name.upper() + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _words(item: Any) -> str:
    if not item.opts[0].startswith("-"):
        return f"`{item.name.upper()}`"
    both = ", ".join(f"`{word}`" for word in (*item.opts, *item.secondary_opts))
    return both + (" (needed)" if item.required else "") + (" (repeat)" if item.multiple else "")


def _plain(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str | None) -> str:
    return _escaped(_plain(text or ""))


def _escaped(text: str) -> str:
    return re.sub(r"[*_<|]", r"\\\g<0>", text)


@cache
def configuration() -> str:
    """Return tables of all keys of the YAML, made from its JSON Schema."""
    schema = config_schema(Registry.load())
    parts = schema["$defs"]
    homes = _homes(schema)
    models = schema["properties"]["models"]["properties"]
    text = ["## Top level", _table(schema, homes)]
    for name, home in homes.items():
        about = parts[name].get("description", "").partition("\n\n")[0]
        text += [f"## {home}", _inline(about), _table(parts[name], homes)]
    text += ["## Options of models", "Keys under `models`, and under `options` of a variable."]
    for name, one in models.items():
        table = _table(one, homes) if one.get("properties") else "It has no options."
        text += [f"### {name}", _inline(one.get("description", "")), table]
    return "\n\n".join(text)


def _homes(schema: Schema) -> dict[str, str]:
    """Return for each part of the schema with keys of its own where it comes first."""
    homes: dict[str, str] = {}
    waiting = [("", schema)]
    while waiting:
        prefix, part = waiting.pop(0)
        for key, value in part.get("properties", {}).items():
            if key == "models":
                continue
            for name in _references(value):
                if name not in homes and "properties" in schema["$defs"][name]:
                    homes[name] = f"{prefix}{key}"
                    waiting.append((f"{prefix}{key}.", schema["$defs"][name]))
    return homes


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"].rpartition("/")[2]
        for one in value.values():
            yield from _references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _references(one)


def _table(part: Schema, homes: Mapping[str, str]) -> str:
    rows = ["| key | values | when absent | what it is |", "| --- | --- | --- | --- |"]
    needed = part.get("required", ())
    for key, value in part["properties"].items():
        default = "must be there" if key in needed else _default(value)
        kind = _kind(value, homes)
        rows.append(f"| `{key}` | {kind} | {default} | {_inline(value.get('description', ''))} |")
    return "\n".join(["<details><summary>all keys</summary>", "", *rows, "", "</details>"])


def _default(value: Schema) -> str:
    default = value.get("default")
    if default in (None, [], {}) or isinstance(default, dict):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _kind(value: Schema, homes: Mapping[str, str]) -> str:
    """Return in words what a value may be."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[keys](#{_anchor(homes[name])})" if name in homes else "see there"
    for choice in ("anyOf", "oneOf"):
        if choice in value:
            kinds = [_kind(one, homes) for one in value[choice] if one.get("type") != "null"]
            return " or ".join(dict.fromkeys(kinds))
    if "enum" in value:
        return ", ".join(f"`{one}`" for one in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    return _of_type(value, homes)


def _of_type(value: Schema, homes: Mapping[str, str]) -> str:
    kind = value.get("type", "")
    if isinstance(kind, list):
        return " or ".join(_of_type({"type": one}, homes) for one in kind if one != "null")
    if kind == "array":
        return f"list: {_kind(value['items'], homes)}" if value.get("items") else "list"
    if kind == "object":
        inner = value.get("additionalProperties")
        return f"map: {_kind(inner, homes)}" if isinstance(inner, dict) and inner else "map"
    words = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "`true`, `false`",
    }
    return words.get(kind, "any value") + _range(value)


def _range(value: Schema) -> str:
    ends = (
        ("minimum", "from"), ("ge", "from"), ("exclusiveMinimum", "above"),
        ("maximum", "to"), ("le", "to"), ("exclusiveMaximum", "below"),
    )  # fmt: skip
    words = [f"{word} {value[end]:,}" for end, word in ends if value.get(end) is not None]
    return " " + " ".join(words) if words else ""


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _inline(text: str) -> str:
    """Return a description for a cell: code in double backticks, as docstrings have it."""
    parts = re.split(r"(``.*?``|`.*?`)", _plain(text))
    return "".join(
        part.replace("|", "\\|") if part.startswith("`") else _escaped(part) for part in parts
    )


def figures() -> str:
    """Return a folded table of figures for each axis, in the words of their kinds."""
    return "\n\n".join(_figures(axis) for axis in ("risk", "utility"))


def _figures(axis: str) -> str:
    kinds = [kind for one in MEASURES.values() if one.axis == axis for kind in one.figures]
    rows = [
        (kind.name, f"`{kind.key}`", kind.meaning, kind.direction, "yes" if kind.limit else "")
        for kind in kinds
    ]
    table = in_units(_listed("figure, key, meaning, good, limit", rows), "records")
    head = f"<details><summary>{len(kinds)} figures of {axis}</summary>"
    return f"{head}\n\n{table.replace('{}', '...')}\n\n</details>"


def measures() -> str:
    """Return a table of the checks that can be switched."""
    rows = [(f"`{one.check}`", one.axis, one.words) for one in MEASURES.values() if one.words]
    return _listed("check, axis, what it looks at", rows)


def models() -> str:
    """Return a table of the registered models."""
    rows = [(f"`{one.name}`", _inline(one.summary)) for one in Registry.load().entries()]
    return _listed("model, method", rows)


def _listed(heads: str, rows: Iterable[Iterable[str]]) -> str:
    lines = [heads.split(", "), ["---"] * len(heads.split(", ")), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def names(chosen: Iterable[str]) -> str:
    """Return directives that document public names from their docstrings."""
    made = []
    for name in chosen:
        one = getattr(synthesizer, name)
        settings = isinstance(one, type) and hasattr(one, "model_fields")
        options = "   :members:\n" if isinstance(one, type) and not settings else ""
        kind = "autoclass" if isinstance(one, type) else "autofunction"
        made.append(f"```{{eval-rst}}\n.. {kind}:: synthesizer.{name}\n{options}```")
    return "\n\n".join(made)
