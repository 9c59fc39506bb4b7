"""Arguments and options of several commands, and their parsing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from synthesizer.data.errors import ConfigError, LimitExceededError, Problems, did_you_mean
from synthesizer.data.plugins import extension_keys

if TYPE_CHECKING:
    from synthesizer.data.workers import Listener
    from synthesizer.engine.registry import Registry
    from synthesizer.measures.verdict import Verdict


def option(words: str, *names: str) -> Any:
    """Return an option with a help text; its default name is that of the parameter."""
    return typer.Option(*names, help=words)


Text = str | None
Overwrite = Annotated[bool, option("Replace an existing result.", "--overwrite")]
Quiet = Annotated[bool, option("Print errors only.", "--quiet", "-q")]
Every = Annotated[bool, option("Print all notes and figures.", "--all")]
FailOn = Annotated[
    Literal["unclear", "fail"] | None,
    option("Exit with code 3 if a line of the verdict is this or worse.", "--fail-on"),
]
Workers = Annotated[int | None, option("Parallel workers; all cores by default.")]
Plugins = Annotated[
    list[str] | None,
    option("Module whose MODELS are added; importing it runs its code.", "--plugin"),
]

AsJson = Annotated[bool, option("Print JSON.", "--json")]


def models_with(plugins: list[str] | None) -> Registry:
    """Return all installed models, with those of plug-ins."""
    from synthesizer.engine.registry import Registry

    return Registry.load().with_plugins(plugins or ())


def options_of(**options: Any) -> dict[str, Any]:
    """Return the options that have a value."""
    return {name: value for name, value in options.items() if value not in (None, {})}


def parse_names(text: str | None) -> tuple[str, ...] | None:
    """Return the names of a text such as ``age, sex``, a YAML list without brackets.

    Examples
    --------
    >>> parse_names("age, 'height, cm'"), parse_names(None)
    (('age', 'height, cm'), None)
    """
    from synthesizer.data.options import as_label
    from synthesizer.data.yaml_text import parse_yaml

    if text is None:
        return None
    names: list[Any] = []
    with suppress(ConfigError):
        names = parse_yaml(f"names: [{text}]", origin="names")["names"]
    if not names or any(name in (None, "") or isinstance(name, dict | list) for name in names):
        raise ConfigError("write names as A,B,C; one with a comma or a bracket in quotes")
    return tuple(str(as_label(name)) for name in names)


def names_in(problems: Problems, **texts: str | None) -> dict[str, tuple[str, ...] | None]:
    """Return the names in options such as A,B,C; add problems to ``problems``."""
    return {
        option: problems.attempt(parse_names, text, where=f"--{option}")
        for option, text in texts.items()
    }


def name_in(problems: Problems, **texts: str | None) -> dict[str, str | None]:
    """Return the name of one column in each option; add a problem for empty ones."""
    for option, text in texts.items():
        if text is not None and not text.strip():
            problems.append(f"--{option}: is empty; name one column")
    return {option: text or None for option, text in texts.items()}


FOR_CHECKS = ("limits", "data", "variables", "panel", "seed", "workers")
"""Keys of a configuration that `check` accepts, in addition to ``checks``."""

PATHS = ("data.path", "conditions.given", "output.directory", "random_key.from")
"""Keys with paths; on the command line these are relative to the working directory."""

Settings = Annotated[
    list[str] | None,
    option(
        "KEY=VALUE: replaces a key of the YAML, such as random_key=none or limits.cap=0.1; may be "
        "repeated.",
        "--set",
    ),
]


def settings_in(
    texts: Sequence[str] | None,
    problems: Problems,
    *,
    named: Mapping[str, Any] | None = None,
    section: str = "",
    beside: Collection[str] = (),
    paths: Collection[str] = PATHS,
) -> dict[str, Any]:
    """Return keys of a configuration from texts such as ``checks.suda.max_size=2``.

    Names with dots are written in backticks. Keys belong to ``section`` unless they begin with it
    or with a key in ``beside``. ``named`` are values of separate options. Problems are added to
    ``problems``. Values of ``paths`` become absolute.

    Examples
    --------
    >>> settings_in(["m=2", "limits.cap=0.1"], Problems(), named={"limits": {"tcap": 1}})
    {'limits': {'tcap': 1, 'cap': 0.1}, 'm': 2}
    >>> settings_in(["suda.max_size=2", "seed=1"], Problems(), section="checks", beside=["seed"])
    {'checks': {'suda': {'max_size': 2}}, 'seed': 1}
    """
    from synthesizer.jobs.grid import parts_of

    content: dict[str, Any] = deepcopy(dict(named or {}))
    for text in texts or ():
        written = _SETTING.fullmatch(text)
        path = parts_of(written["key"]) if written else ()
        if section and path[:1] not in [(name,) for name in (section, *beside)]:
            path = (section, *path)
        if written is None or not all(path) or len(path) > _MAX_PARTS:
            problems.append(f"--set {text[:80]}: write KEY=VALUE, such as --set random_key=none")
            continue
        with problems.gathered():
            inner: Any = content
            for part in path[:-1]:
                inner = inner.setdefault(part, {}) if isinstance(inner, dict) else inner
            if not isinstance(inner, dict) or path[-1] in inner:
                raise ConfigError(f"--set {written['key']}: is given twice; keep one")
            inner[path[-1]] = _value(written["value"], written["key"])
    if paths:
        paths = [*paths, *_further_paths(content)]
    for path in map(parts_of, paths):
        inner = content
        for part in path[:-1]:
            inner = inner.get(part) if isinstance(inner, dict) else None
        if isinstance(inner, dict) and path[-1] in inner:
            inner[path[-1]] = _absolute(inner[path[-1]])
    return content


def _absolute(value: Any) -> Any:
    """Return a path, or each of a list, as absolute; other values as they are."""
    if isinstance(value, list):
        return [_absolute(one) for one in value]
    return str(Path(value).expanduser().absolute()) if isinstance(value, str) else value


def _further_paths(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield keys whose values are lists of paths, and keys of formats and extensions."""
    yield "conditions.margins"
    if isinstance(content.get("data"), dict):
        from synthesizer.data.formats import format_keys

        yield from (f"data.{key}" for key, about in format_keys().items() if about.type is Path)
    for name in extension_keys().keys() & content.keys():
        types = get_type_hints(extension_keys()[name].type)
        yield from (f"{name}.{option}" for option, kind in types.items() if kind is Path)


_SETTING = re.compile(r"(?P<key>(?:`[^`]*`|[^`=])+)=(?P<value>.*)", re.DOTALL)
_MAX_PARTS = 10


def _value(text: str, key: str) -> Any:
    """Return a value, read as YAML; a single sign such as ``;`` or ``#`` is a text."""
    from synthesizer.data.yaml_text import parse_yaml

    if len(text) == 1 and not text.isalnum() and text not in "{[":
        return text
    content = parse_yaml(f"value: {text}", origin=f"--set {key}")
    if list(content) != ["value"]:
        raise ConfigError(f"--set {key}: write one value; lists in brackets, maps in braces")
    return content["value"]


def number_in(content: dict[str, Any], key: str, problems: Problems) -> int | None:
    """Remove and return a whole number; None if absent or after adding a problem."""
    value = content.pop(key, None)
    if value is not None and type(value) is not int:
        problems.append(f"--set {key}: must be a whole number (got {value!r})")
        return None
    return value


def refuse_others(content: Mapping[str, Any], known: Collection[str], problems: Problems) -> None:
    """Add a problem for each key that the command does not accept."""
    listed = f"known: {', '.join(known)}"
    for section, keys in content.items():
        names = [f"{section}.{key}" for key in keys] if isinstance(keys, Mapping) else [section]
        problems += [
            f"--set {name}: unknown key of this command; {did_you_mean(name, known, listed)}"
            for name in names
            if name not in known and section not in known
        ]


def refusals(
    exceeded: Sequence[str],
    decided: Verdict,
    fail_on: Literal["unclear", "fail"] | None,
    subjects: Collection[str] = ("person", "anybody", "use"),
) -> list[str]:
    """Return the exceeded limits, and the lines of the verdict that ``fail_on`` refuses."""
    words = {None: (), "fail": ("fail",), "unclear": ("unclear", "fail")}[fail_on]
    refused = [
        f"--fail-on {fail_on}: {line.title}: {line.word}"
        for line in decided.lines
        if line.word in words and line.subject in subjects
    ]
    return [*exceeded, *refused]


def refuse(reasons: Sequence[str]) -> None:
    """Raise LimitExceededError if there are reasons."""
    if reasons:
        raise LimitExceededError(reasons)


@contextmanager
def progress(*, quiet: bool, ended: bool = True) -> Iterator[Listener]:
    """Show the progress of a command, as `synthesizer.cli.printing.progress`."""
    from synthesizer.cli.printing import progress as shown

    with shown(quiet=quiet, ended=ended) as listener:
        yield listener


_MAX_WRITTEN_LINES = 3


def written_line(path: Path, why: str = "") -> str:
    """Return a sentence about a written file, and why it is confidential."""
    return f"wrote {path}{f' (confidential: {why})' if why else ''}"


def say_written(*paths: Path, why: str = "") -> None:
    """Print which files were written; of many only the first and the last."""
    from synthesizer.cli.printing import say

    if len(paths) > _MAX_WRITTEN_LINES:
        say(f"{written_line(paths[0], why)} to {paths[-1].name}, {len(paths)} files")
    else:
        say("\n".join(written_line(path, why) for path in paths))
