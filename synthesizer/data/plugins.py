"""Entry points of installed packages, this one included: extensions and others.

An extension is a capability that the core does not need. Its entry in the entry-point group
``synthesizer.extensions`` is an `Extension`. An extension whose module is absent counts as not
installed: its folder can be removed, and all else works.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, is_dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, Final, TypeVar

from synthesizer.data.errors import ConfigError, SynthesizerError

T = TypeVar("T")


def entries(group: str, kind: type[T], *, removable: str = "") -> dict[str, T]:
    """Return the entries of a group by name, without those whose ``removable`` module is absent.

    Raises
    ------
    ConfigError
        If an entry cannot be imported, is of another type, or repeats a name.
    """
    points = {(point.name, point.value): point for point in entry_points(group=group)}
    names = Counter(name for name, _ in points)
    if twice := [name for name, times in names.items() if times > 1]:
        raise ConfigError(
            f"entry point {name!r} of {group} is declared twice; remove a package" for name in twice
        )
    loaded = {name: _loaded(points[name, value], kind, removable) for name, value in sorted(points)}
    return {name: entry for name, entry in loaded.items() if entry is not None}


def _loaded(point: EntryPoint, kind: type[T], removable: str) -> T | None:
    where = f"{point.name!r} (entry point {point.value!r} of {point.group})"
    try:
        entry = point.load()
    except Exception as error:
        gone = f"{error.name}." if isinstance(error, ModuleNotFoundError) else ""
        if gone and gone.startswith(removable) and f"{point.module}.".startswith(gone):
            return None  # its folder was removed
        raise ConfigError(_broken(where, error)) from error
    if not isinstance(entry, kind):
        raise ConfigError(f"{where} is not of type {kind.__name__}; update its package")
    return entry


def _broken(where: str, error: Exception) -> str:
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return f"{where} cannot be imported: {reason}; reinstall or remove the package"


EXTENSIONS: Final = "synthesizer.extensions"


def is_gone(module: str) -> bool:
    """Whether a module belongs to an extension whose folder was removed."""
    folder = ".".join(module.split(".")[:3])
    return folder.startswith(f"{EXTENSIONS}.") and find_spec(folder) is None


Command = Callable[..., None]
"""A function whose annotated parameters are arguments and options of typer."""


@dataclass(frozen=True)
class CommandGroup:
    """Commands under one name, the end of the names of their functions."""

    name: str
    about: str
    """One sentence for ``synthesizer --help``."""
    functions: Sequence[Command]


Hook = Callable[..., Any]
"""A function of an extension, imported at the first call; see `late`."""


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key of the YAML with a section of its own, and a parameter of `Synthesizer`."""

    name: str
    options: str
    """``module:class`` of the section: a dataclass, or a model of pydantic.

    ``true`` means the defaults. The module must not import the configuration."""
    description: str
    makes_datasets: bool = False
    """Whether it makes whole datasets of categories, in place of the chain or after it.

    Models draw the other variables given these. ``method: NAME`` selects it, too."""
    fidelity: str = ""
    """Value of the key ``fidelity`` that selects it, besides full and margins."""
    apart: str = ""
    """Why it cannot be combined with keys that arrange rows, new samples, or sources in parts.

    For example "adds periods to a panel". Keys that make whole datasets never can."""
    finishers: Sequence[str] = ()
    """``module:class`` of each `Finisher` (``engine/chain.py``) that it may add."""
    placements: Mapping[str, str] = field(default_factory=dict)
    """Section of each option that is not under ``name``: ``data``, ``output`` or ``workers``.

    Every configuration has these sections, and `plan` may return None."""
    switches: Mapping[str, str] = field(default_factory=dict)
    """Options under ``output`` that are also options of `run`, with their help."""
    arrange: Hook | None = None
    """Arranges the rows of the source, in place of ``panel``.

    Takes the options (an `Arranging`) and the source's table; returns `Draft` of an `Arranged`, or
    of None after problems."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.name):
            raise ValueError("the name of a key must be small letters, digits and _")
        if not {*self.placements.values()} <= {"data", "output", "workers"}:
            raise ValueError("placements must be data, output or workers")
        if any(self.placements.get(name) != "output" for name in self.switches):
            raise ValueError("switches must be options under output")

    @property
    def paths(self) -> set[str]:
        """Paths of the key and of its options elsewhere."""
        return {self.name, *(f"{section}.{option}" for option, section in self.placements.items())}

    def gathered(self, config: Any) -> Any:
        """Return its options from the sections of a configuration, others by default."""
        parts = (
            (option, getattr(config, section, None)) for option, section in self.placements.items()
        )
        return self.type(
            **{name: getattr(part, name) for name, part in parts if hasattr(part, name)}
        )

    @property
    def type(self) -> Any:
        """The class of its section."""
        kind = found_at(self.options)
        if not is_dataclass(kind) and not hasattr(kind, "model_fields"):
            raise ConfigError(f"key {self.name!r}: {self.options!r} is not a dataclass or model")
        return kind


def found_at(target: str) -> Any:
    """Return the object that an extension names as ``module:name``."""
    module, _, name = target.partition(":")
    try:
        return getattr(import_module(module), name)
    except Exception as error:
        raise ConfigError(_broken(f"{target!r} of an extension", error)) from error


def late(target: str) -> Hook:
    """Return a function that imports ``module:function`` when it is called.

    Examples
    --------
    >>> late("math:sqrt")(4.0)
    2.0
    """
    return lambda *args, **named: found_at(target)(*args, **named)


@dataclass(frozen=True, kw_only=True)
class Extension:
    """The hooks of an extension, all optional.

    With a key, `plan` is called for a configuration with this key, and the hooks of results for a
    run with its result.
    """

    key: Key | None = None
    plan: Hook | None = None
    """Takes a `PlanRequest` of ``plan/extended.py``; returns `Draft` of a `Planned`, or of
    None after problems."""
    sentences: str = ""
    """Package with ``sentences.toml``, the sentences of these problems by code."""
    result: Hook | None = None
    """Reads its part of ``checks.json`` and returns its result."""
    page: Hook | None = None
    """Takes a record and returns a section of the report."""
    screen: Hook | None = None
    """Takes a record and yields blocks: tables, words and notes."""
    codebook: Hook | None = None
    """Takes facts of the release and returns facts by name, for its ``codebook.yaml``."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Public names in ``synthesizer``, with the module of each."""
    task: str = "Further commands"
    """Heading of its commands in ``synthesizer --help``, new or existing."""
    commands: Callable[[], Sequence[Command | CommandGroup]] = tuple
    former_commands: Mapping[str, str] = field(default_factory=dict)
    """Commands of earlier versions, with their replacements."""

    def __post_init__(self) -> None:
        if not isinstance(self.key, Key | None):
            raise TypeError("key must be a Key")


MODEL_FILES: Final = "synthesizer.model_files"


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """A further kind of file from which `generate` draws, an entry of `MODEL_FILES`."""

    option: str
    """Option of `generate` that names such a file, in place of the argument."""
    about: str
    """Help of the option."""
    endings: Sequence[str]
    """Endings of its files in small letters, with the dot."""
    load: Hook
    """Takes a path and the models; returns a `SavedModel`."""


@cache
def model_files() -> Sequence[ModelFile]:
    """Return the further kinds of files of models."""
    return tuple(entries(MODEL_FILES, ModelFile, removable=f"{EXTENSIONS}.").values())


@cache
def extensions() -> Mapping[str, Extension]:
    """Return the installed extensions by name.

    Raises
    ------
    ConfigError
        If one cannot be imported, or its entry is not an `Extension`.
    """
    return entries(EXTENSIONS, Extension)


def commands_of(name: str) -> Sequence[Command | CommandGroup]:
    """Return the commands of an extension.

    Raises
    ------
    ConfigError
        If they cannot be imported, or are not commands.
    """
    where = f"commands of extension {name!r}"
    with guarded(where):
        commands = tuple(extensions()[name].commands())
    if not all(callable(one) or isinstance(one, CommandGroup) for one in commands):
        raise ConfigError(f"{where} must be functions or CommandGroups")
    return commands


def installed() -> str:
    """Return the installed extensions in words, for the problem of an absent one."""
    names = ", ".join(extensions()) or "none; reinstall synthesizer (pip install .)"
    return f"installed extensions: {names}"


@cache
def keyed() -> Mapping[str, Extension]:
    """Return the extensions with a key, by the name of the key.

    Raises
    ------
    ConfigError
        If two have the same key.
    """
    by_key: dict[str, Extension] = {}
    owners: dict[str, str] = {}
    for name, one in extensions().items():
        for path in () if one.key is None else sorted(one.key.paths):
            if (owner := owners.setdefault(path, name)) != name:
                both = f"{owner!r} and {name!r}"
                raise ConfigError(f"extensions {both} have key {path!r}; remove a package")
        if one.key is not None:
            by_key[one.key.name] = one
    return by_key


def extension_keys() -> dict[str, Key]:
    """Return the keys of extensions, by name."""
    return {name: one.key for name, one in keyed().items() if one.key is not None}


def placed(section: str) -> dict[str, Any]:
    """Return the options of extensions in a section of the core, as fields of pydantic."""
    fields_by_name: dict[str, Any] = {}
    for key in extension_keys().values():
        with guarded(f"key {key.name!r}: placements"):
            fields = {
                n: key.type.__pydantic_fields__[n]
                for n, at in key.placements.items()
                if at == section
            }
            fields_by_name |= {name: (one.annotation, one) for name, one in fields.items()}
    return fields_by_name


def switches() -> dict[str, str]:
    """Return the options of `run` from extensions, with their help."""
    keys = extension_keys().values()
    return {f"--{name}": words for key in keys for name, words in key.switches.items()}


def hooks(kind: str, names: Container[str]) -> Iterator[tuple[str, Hook]]:
    """Yield a hook of each extension whose key is in ``names``, with the key.

    Hooks return lists in place of iterators. An unexpected error becomes a `ConfigError` without
    values.
    """
    for name, one in keyed().items():
        if name in names and (hook := getattr(one, kind)) is not None:
            yield name, partial(_guarded, f"extension {name!r}: {kind}", hook)


def _guarded(where: str, hook: Hook, *given: Any) -> Any:
    with guarded(where):
        made = hook(*given)
        return list(made) if isinstance(made, Iterator) else made


@contextmanager
def guarded(where: str) -> Iterator[None]:
    """Turn an unexpected error of an extension into a `ConfigError` without values."""
    try:
        yield
    except SynthesizerError:
        raise
    except Exception as error:
        raise ConfigError(f"{where} failed ({type(error).__name__}); update its package") from error


def texts_of(file: str) -> Iterator[tuple[str, str]]:
    """Yield key and text of a file in each extension's package that contains it."""
    for name, one in keyed().items():
        with suppress(OSError, ValueError, TypeError, ImportError):
            yield name, files(one.sentences).joinpath(file).read_text("utf-8")


def fidelities() -> dict[str, str]:
    """Return values of the key ``fidelity`` that extensions add, with the key of each."""
    return {key.fidelity: name for name, key in extension_keys().items() if key.fidelity}


def makers() -> list[Any]:
    """Return the keys that make whole datasets."""
    return [name for name, key in extension_keys().items() if key.makes_datasets]


def arranging_keys() -> dict[str, Key]:
    """Return the keys that arrange rows, by name."""
    return {name: key for name, key in extension_keys().items() if key.arrange is not None}
