"""What installed packages declare as entry points, this one among them: extensions, for a start.

An extension is a capability that the core does without. It enters through the entry-point group
``synthesizer.extensions``, and its entry is an `Extension`. An extension whose module is not there
counts as not installed: its folder can be removed, and all else works.
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
    """Return the entries of a group by name, without those whose module is gone, if it is below
    ``removable``.

    Raises
    ------
    ConfigError
        If one cannot be imported, is of another type, or has the name of another one.
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
        raise ConfigError(f"{where} is no {kind.__name__}")
    return entry


def _broken(where: str, error: Exception) -> str:
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return f"{where} cannot be imported: {reason}; reinstall or remove the package"


EXTENSIONS: Final = "synthesizer.extensions"


def is_gone(module: str) -> bool:
    """Whether a module is one of an extension whose folder was removed."""
    folder = ".".join(module.split(".")[:3])
    return folder.startswith(f"{EXTENSIONS}.") and find_spec(folder) is None


Command = Callable[..., None]
"""A function whose annotated parameters are arguments and options of typer."""


@dataclass(frozen=True)
class CommandGroup:
    """Commands under one name, which ends the names of their functions."""

    name: str
    about: str
    """One sentence for ``synthesizer --help``."""
    functions: Sequence[Command]


Hook = Callable[..., Any]
"""A function of an extension. It is imported when it is called, see `late`."""


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key of the YAML with a section of its own, and a parameter of `Synthesizer`."""

    name: str
    options: str
    """``module:class`` of the section: a dataclass, or a model of pydantic. ``true`` takes its
    defaults. Its module is imported before the configuration is there, which it must not import."""
    description: str
    makes_datasets: bool = False
    """Whether it makes whole datasets of categories, in place of the chain or after it; models draw
    the other variables given these. Then ``method: NAME`` asks for it, too."""
    apart: str = ""
    """Why it goes with whole files of single rows or persons only, such as "adds periods to a
    panel": not with keys that arrange rows, samples that are drawn anew, or sources that are read
    in parts. What makes whole datasets never goes with these."""
    finishers: Sequence[str] = ()
    """``module:class`` of each `Finisher` of ``engine/chain.py`` that it may add to a chain."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Where its options are, if not under ``name``: each is a key under ``data``, ``output`` or
    ``workers``. Every configuration has the section then, and `plan` may return None."""
    switches: Mapping[str, str] = field(default_factory=dict)
    """Options under ``output`` that `run` has in words, too, and what each does if it is there."""
    arrange: Hook | None = None
    """Says how rows of the source belong together, in place of ``panel``: takes the options, an
    `Arranging`, and the table of the source, and returns a `Found` of an `Arranged`. Of None, all
    else cannot be planned."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.name):
            raise ValueError("the name of a key must be small letters, digits and _")
        if not {*self.places.values()} <= {"data", "output", "workers"}:
            raise ValueError("places must be data, output or workers")
        if any(self.places.get(name) != "output" for name in self.switches):
            raise ValueError("switches must be options that are placed under output")

    @property
    def paths(self) -> set[str]:
        """Its name, and where its options are."""
        return {self.name, *(f"{place}.{option}" for option, place in self.places.items())}

    def gathered(self, config: Any) -> Any:
        """Return its options from where they are in a configuration, others by default."""
        parts = ((option, getattr(config, place, None)) for option, place in self.places.items())
        return self.type(**{name: getattr(own, name) for name, own in parts if hasattr(own, name)})

    @property
    def type(self) -> Any:
        """The class of its section."""
        found = found_at(self.options)
        if not is_dataclass(found) and not hasattr(found, "model_fields"):
            raise ConfigError(f"key {self.name!r}: {self.options!r} is no dataclass or model")
        return found


def found_at(target: str) -> Any:
    """Return what an extension names as ``module:name``."""
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
    """What an extension adds. Each hook is optional.

    Where it has a key, `plan` is called for a configuration with this key, and the hooks of results
    for a run that has its result.
    """

    key: Key | None = None
    plan: Hook | None = None
    """Takes an `Asked` of ``plan/extended.py``, returns a `Found` of a `Planned`, or of None where
    there are problems."""
    sentences: str = ""
    """Package whose ``sentences.toml`` has the sentences of these problems, by code."""
    result: Hook | None = None
    """Reads its part of ``checks.json`` and returns its result."""
    page: Hook | None = None
    """Takes a record and returns a section of the report."""
    screen: Hook | None = None
    """Takes a record and yields blocks: tables, words and notes."""
    codebook: Hook | None = None
    """Takes facts of the release and returns facts by name, for the sentences of ``codebook.yaml``
    in the package of ``sentences``."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names that ``synthesizer`` has in Python, and the module of each."""
    task: str = "Further commands"
    """Heading of its commands in ``synthesizer --help``; it may be one that is there."""
    commands: Callable[[], Sequence[Command | CommandGroup]] = tuple
    former_commands: Mapping[str, str] = field(default_factory=dict)
    """Commands of earlier versions, and what to type in their place."""

    def __post_init__(self) -> None:
        if not isinstance(self.key, Key | None):
            raise TypeError("key must be a Key")


@cache
def extensions() -> Mapping[str, Extension]:
    """Return the extensions that are installed, by name.

    Raises
    ------
    ConfigError
        If one cannot be imported, or its entry is no `Extension`.
    """
    return entries(EXTENSIONS, Extension)


def commands_of(name: str) -> Sequence[Command | CommandGroup]:
    """Return the commands of an extension.

    Raises
    ------
    ConfigError
        If they cannot be had, or are none.
    """
    where = f"commands of extension {name!r}"
    with guarded(where):
        found = tuple(extensions()[name].commands())
    if not all(callable(one) or isinstance(one, CommandGroup) for one in found):
        raise ConfigError(f"{where} must be functions or CommandGroups")
    return found


def installed() -> str:
    """Return which extensions there are, for who asks for another one."""
    names = ", ".join(extensions()) or "none; reinstall synthesizer (pip install .)"
    return f"installed extensions: {names}"


@cache
def keyed() -> Mapping[str, Extension]:
    """Return the extensions that have a key, by its name.

    Raises
    ------
    ConfigError
        If two have the same key.
    """
    found: dict[str, Extension] = {}
    owners: dict[str, str] = {}
    for name, one in extensions().items():
        for path in () if one.key is None else sorted(one.key.paths):
            if (owner := owners.setdefault(path, name)) != name:
                both = f"{owner!r} and {name!r}"
                raise ConfigError(f"extensions {both} have key {path!r}; remove a package")
        if one.key is not None:
            found[one.key.name] = one
    return found


def extension_keys() -> dict[str, Key]:
    """Return the keys of extensions, by name."""
    return {name: one.key for name, one in keyed().items() if one.key is not None}


def placed(place: str) -> dict[str, Any]:
    """Return the options of extensions under a key of the core, as fields of pydantic."""
    found: dict[str, Any] = {}
    for key in extension_keys().values():
        with guarded(f"key {key.name!r}: places"):
            fields = {
                n: key.type.__pydantic_fields__[n] for n, at in key.places.items() if at == place
            }
            found |= {name: (one.annotation, one) for name, one in fields.items()}
    return found


def switches() -> dict[str, str]:
    """Return the options of `run` that extensions have, and what each does."""
    keys = extension_keys().values()
    return {f"--{name}": words for key in keys for name, words in key.switches.items()}


def hooks(kind: str, names: Container[str]) -> Iterator[tuple[str, Hook]]:
    """Yield a hook of the extensions whose keys are among ``names``, with the key.

    It returns lists in place of iterators. What it did not expect is a `ConfigError` that shows no
    value.
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
    """Make an error that an extension did not expect a `ConfigError` that shows no value."""
    try:
        yield
    except SynthesizerError:
        raise
    except Exception as error:
        raise ConfigError(f"{where} failed ({type(error).__name__}); update its package") from error


def texts_of(file: str) -> Iterator[tuple[str, str]]:
    """Yield key and text of a file in the packages of extensions that have it."""
    for name, one in keyed().items():
        with suppress(OSError, ValueError, TypeError, ImportError):
            yield name, files(one.sentences).joinpath(file).read_text("utf-8")


def makers() -> list[Any]:
    """Return the keys that make whole datasets."""
    return [name for name, key in extension_keys().items() if key.makes_datasets]


def arranging_keys() -> dict[str, Key]:
    """Return the keys of arrangements of rows, by name."""
    return {name: key for name, key in extension_keys().items() if key.arrange is not None}
