"""What is typed: arguments and options that several commands take, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from synthesizer.data.errors import ConfigError, LimitExceededError, Problems

if TYPE_CHECKING:
    from synthesizer.data.progress import Listener
    from synthesizer.engine.registry import Registry
    from synthesizer.measures.verdict import Verdict


def option(words: str, *names: str, group: str | None = None) -> Any:
    """Return an option, explained in words; it is called like its parameter when not named.

    ``group`` is the heading under which a help lists it, of those that few need.
    """
    return typer.Option(*names, help=words, rich_help_panel=group)


Text = str | None
"""An option that may be absent, and so for paths, numbers and lists."""

Overwrite = Annotated[bool, option("Replace an existing result.", "--overwrite")]
Quiet = Annotated[bool, option("Print errors only.", "--quiet", "-q")]
Every = Annotated[bool, option("Print all notes and figures.", "--all")]
FailOn = Annotated[
    Literal["unclear", "fail"] | None,
    option("Exit code 3 where the verdict is fail, or unclear or fail.", "--fail-on"),
]
Profile = Annotated[str | None, option("Whose limits decide: default, elemam, pdpc-petsard, ...")]
Purpose = Annotated[str | None, option("Use: code, teaching or analysis (if absent).")]
Release = Annotated[
    str | None, option("Who gets the data: public (if absent) or contract, which allows more.")
]
Workers = Annotated[int | None, option("Parallel workers; all cores by default.")]
Datasets = Annotated[int | None, option("Replaces the number of datasets.", "-m")]
Plugins = Annotated[
    list[str] | None,
    option("Module whose MODELS are added; it is imported, which runs its code.", "--plugin"),
]

Catalogue = Annotated[
    Path | None, option("SAS: .sas7bcat file with the value labels of a .sas7bdat file.")
]
AsJson = Annotated[bool, option("Print JSON.", "--json")]


def models_with(plugins: list[str] | None) -> Registry:
    """Return all installed models and those of plug-ins."""
    from synthesizer.engine.registry import Registry

    return Registry.load().with_plugins(plugins or ())


def all_cores(workers: int | None) -> int:
    """Return the workers of joblib: all cores where none are named."""
    return -1 if workers is None else workers


def secret_of(word: str | None) -> str | dict[str, str] | None:
    """Return what ``secret`` says in a configuration; paths are seen from the working directory."""
    return word if word in (None, "none") else {"from": str(Path(word).absolute())}


def options_of(**options: Any) -> dict[str, Any]:
    """Return the options that are named, in words or as a group of options."""
    return {name: value for name, value in options.items() if value not in (None, {})}


def parse_names(text: str | None) -> tuple[str, ...] | None:
    """Read ``age, sex`` as a YAML list without its brackets; None where there is no text.

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
    """Return the names in options such as A,B,C; what is wrong with one is gathered."""
    return {
        option: problems.attempt(parse_names, text, place=f"--{option}")
        for option, text in texts.items()
    }


def name_in(problems: Problems, **texts: str | None) -> dict[str, str | None]:
    """Return the name of one column in each option; an empty one is gathered as a problem."""
    for option, text in texts.items():
        if text is not None and not text.strip():
            problems.append(f"--{option}: is empty; name one column")
    return {option: text or None for option, text in texts.items()}


SECTIONS = ("checks", "limits", "data", "variables", "panel", "household", "weights")
"""Keys of a configuration that decide about checks of files."""


def settings_in(
    texts: Sequence[str], named: dict[str, dict[str, Any]], problems: Problems
) -> dict[str, Any]:
    """Return keys of a configuration, those in texts such as ``suda.max_size=2`` among them.

    A key without a section is one of the checks. ``named`` are keys that have options of their own.

    Examples
    --------
    >>> settings_in(["suda.max_size=2", "limits.cap=0.1"], {"checks": {"tau": 1}}, Problems())
    {'checks': {'tau': 1, 'suda': {'max_size': 2}}, 'limits': {'cap': 0.1}}
    """
    from synthesizer.data.yaml_text import parse_yaml

    content: dict[str, Any] = {section: {**keys} for section, keys in named.items()}
    for text in texts:
        key, equal, value = text.partition("=")
        path = [part.strip() for part in key.split(".")]
        path = path if path[0] in SECTIONS else ["checks", *path]
        *sections, last = path
        if not equal or not all(path):
            problems.append(f"--set {text}: write KEY=VALUE, such as --set suda.max_size=2")
            continue
        with problems.gathered():
            inner = content
            for section in sections:
                inner = inner.setdefault(section, {})
            if not isinstance(inner, dict) or last in inner:
                raise ConfigError(f"--set {key}: is there twice; keep one")
            said = parse_yaml(f"value: {value}", origin=f"--set {key}")["value"]
            is_path = path == ["data", "catalogue"]  # seen from where the command was typed
            inner[last] = str(Path(said).absolute()) if is_path else said
    return content


@dataclass(frozen=True)
class Shared:
    """Marks a parameter of a command: it gets what a function returns, whose options are added."""

    function: Callable[..., Any]


def terms_of(
    profile: Profile = None, purpose: Purpose = None, release: Release = None
) -> dict[str, str]:
    """Return what the options of a command replace under ``limits:``."""
    return options_of(profile=profile, purpose=purpose, release=release)


Terms = Annotated[dict[str, str], Shared(terms_of)]


def with_shared(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its `Shared` parameters in their place."""
    parameters: list[Parameter] = []
    groups: dict[str, Callable[..., Any]] = {}
    for parameter in signature(function, eval_str=True).parameters.values():
        marks = [m for m in getattr(parameter.annotation, "__metadata__", ()) if type(m) is Shared]
        if marks:
            groups[parameter.name] = marks[0].function
            parameters += signature(marks[0].function, eval_str=True).parameters.values()
        else:
            parameters.append(parameter)
    if not groups:
        return function

    @wraps(function)
    def passing(**options: Any) -> None:
        made = {
            name: maker(**{option: options.pop(option) for option in signature(maker).parameters})
            for name, maker in groups.items()
        }
        function(**made, **options)

    ordered = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters]
    passing.__annotations__ = {item.name: item.annotation for item in ordered}
    passing.__signature__ = Signature(ordered)  # type: ignore[attr-defined]
    return passing


def refusals(
    exceeded: Sequence[str],
    decided: Verdict,
    fail_on: Literal["unclear", "fail"] | None,
    subjects: Collection[str] = ("person", "anybody", "use"),
) -> list[str]:
    """Return which limits are exceeded, and which lines of the verdict are to fail on."""
    words = {None: (), "fail": ("fail",), "unclear": ("unclear", "fail")}[fail_on]
    grave = [
        f"--fail-on {fail_on}: {line.title}: {line.word}"
        for line in decided.lines
        if line.word in words and line.subject in subjects
    ]
    return [*exceeded, *grave]


def refuse(reasons: Sequence[str]) -> None:
    """Raise LimitExceededError where there are reasons."""
    if reasons:
        raise LimitExceededError(reasons)


@contextmanager
def progress(*, quiet: bool, ended: bool = True) -> Iterator[Listener]:
    """Show how far a command has come; ``ended`` as in printing."""
    from synthesizer.cli.printing import progress as shown

    with shown(quiet=quiet, ended=ended) as listener:
        yield listener


_MOST_WRITTEN = 3


def written_line(path: Path, why: str = "") -> str:
    """Say that a file was written, and why it is not for release."""
    return f"wrote {path}{f' (confidential: {why})' if why else ''}"


def say_written(*paths: Path, why: str = "") -> None:
    """Print which files were written, of many the first and the last."""
    from synthesizer.cli.printing import say

    if len(paths) > _MOST_WRITTEN:
        say(f"{written_line(paths[0], why)} to {paths[-1].name}, {len(paths)} files")
    else:
        say("\n".join(written_line(path, why) for path in paths))
