"""Names of conditional models: who offers them, and how options of a configuration build them.

Every model enters through the entry-point group ``synthesizer.models``, the built-in ones as well
as those of other packages; Python users may also call `Registry.register`. The engine holds a
registry that it was given and asks abilities.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import inspect
from collections.abc import Mapping
from typing import Any, Self

from synthesizer.default_models import (
    DEFAULT_SET,
    DEFAULT_SETS,
    METHOD_ALIASES,
    ROLES,
    default_method,
    unknown_name,
)
from synthesizer.errors import ConfigError, ModelError
from synthesizer.model_options import described, read_options, schema_of_options
from synthesizer.models.base import Abilities, ConditionalModel

__all__ = [
    "DEFAULT_SET",
    "DEFAULT_SETS",
    "GROUP",
    "METHOD_ALIASES",
    "ROLES",
    "Entry",
    "Registry",
    "default_method",
]

GROUP = "synthesizer.models"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """One model of the registry, for listings."""

    name: str
    model_class: type[ConditionalModel]
    package: str
    version: str
    summary: str
    abilities: Abilities


@dataclasses.dataclass(frozen=True)
class _Declared:
    """Where a model is found; nothing is imported before the model is asked for."""

    target: str
    package: str

    def load(self) -> object:
        module, _, attribute = self.target.partition(":")
        found: object = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        return found


class Registry:
    """Conditional models by name; an ordinary object that is passed to whoever needs it.

    Examples
    --------
    >>> registry = Registry.load()
    >>> registry.build("sample")
    Sample()
    >>> registry.build("sampel")
    Traceback (most recent call last):
    ...
    synthesizer.errors.ConfigError: unknown model 'sampel'; did you mean 'sample'? Known: ...
    """

    def __init__(self) -> None:
        self._declared: dict[str, _Declared] = {}
        self._classes: dict[str, type[ConditionalModel]] = {}

    @classmethod
    def load(cls) -> Self:
        """Return a registry of all models that installed packages declare.

        Raises
        ------
        ModelError
            If two packages declare the same name.
        """
        registry = cls()
        for point in importlib.metadata.entry_points(group=GROUP):
            package = point.dist.name if point.dist is not None else "an unknown package"
            registry._declare(point.name, _Declared(point.value, package))
        return registry

    def register(
        self, name: str, model_class: type[ConditionalModel], package: str | None = None
    ) -> None:
        """Add a model at run time.

        Parameters
        ----------
        name : str
            Not taken yet; what configurations call the model.
        model_class : type
            A subclass of `ConditionalModel`.
        package : str, optional
            Who offers it; by default the package that defines the class.

        Raises
        ------
        ModelError
            If the name is taken or the class is no `ConditionalModel`.

        Examples
        --------
        >>> from synthesizer.models.sample import Sample
        >>> registry = Registry()
        >>> registry.register("marginal", Sample)
        >>> registry.names
        ('marginal',)
        """
        _check_class(model_class, f"model {name!r}")
        target = f"{model_class.__module__}:{model_class.__qualname__}"
        package = package or model_class.__module__.partition(".")[0]
        self._declare(name, _Declared(target, package))
        self._classes[name] = model_class

    def _declare(self, name: str, declared: _Declared) -> None:
        if name in self._declared:
            raise ModelError(
                f"model {name!r} is offered twice, by package {self._declared[name].package!r} "
                f"and by package {declared.package!r}; uninstall one or rename its entry point"
            )
        self._declared[name] = declared

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all models in alphabetical order; imports none of them."""
        return tuple(sorted(self._declared))

    def canonical(self, name: str) -> str:
        """Return the registered name behind a name or a synthpop alias of it.

        Raises
        ------
        ConfigError
            If there is no such model; the message lists the nearest and all names.

        Examples
        --------
        >>> Registry.load().canonical("rf")
        'forest'
        """
        if name in self._declared:
            return name
        alias = METHOD_ALIASES.get(name)
        if alias in self._declared:
            return alias
        raise ConfigError(unknown_name("model", name, self.names))

    def get(self, name: str) -> type[ConditionalModel]:
        """Return the class of a model, imported on first use.

        Raises
        ------
        ConfigError
            If there is no such model.
        ModelError
            If its package is broken: the import fails or gives no `ConditionalModel`.
        """
        name = self.canonical(name)
        if name not in self._classes:
            self._classes[name] = _loaded(name, self._declared[name])
        return self._classes[name]

    def name_of(self, model: ConditionalModel) -> str | None:
        """Return the name under which the class of a model is registered; None without one.

        Examples
        --------
        >>> registry = Registry.load()
        >>> registry.name_of(registry.build("rf"))
        'forest'
        """
        own = type(model)
        loaded = [name for name, known in self._classes.items() if known is own]
        target = f"{own.__module__}:{own.__qualname__}"
        declared = [name for name, known in self._declared.items() if known.target == target]
        return next(iter([*loaded, *declared]), None)

    def entries(self) -> tuple[Entry, ...]:
        """Describe every model, for listings; imports all of them."""
        return tuple(self.entry(name) for name in self.names)

    def entry(self, name: str) -> Entry:
        """Describe one model; imports it."""
        name = self.canonical(name)
        model_class = self.get(name)
        package = self._declared[name].package
        return Entry(
            name=name,
            model_class=model_class,
            package=package,
            version=_version(package),
            summary=(inspect.getdoc(model_class) or "").partition("\n")[0],
            abilities=model_class.abilities,
        )

    def build(self, name: str, options: Mapping[str, Any] | None = None) -> ConditionalModel:
        """Construct a model from the options of a configuration.

        Parameters
        ----------
        name : str
            A registered name or a synthpop alias of one.
        options : mapping, optional
            As read from YAML. Other names of options (``option_aliases``) are understood; a whole
            number serves as a float; text never serves as a number. An option that takes a
            model is given as a name or as ``{model: NAME, OPTION: VALUE, ...}``.

        Raises
        ------
        ConfigError
            With every unknown, missing, mistyped or forbidden option.

        Examples
        --------
        >>> Registry.load().build("sample", {"min_leaf": 5})
        Traceback (most recent call last):
        ...
        synthesizer.errors.ConfigError: model 'sample': unknown option 'min_leaf'; it has no options
        """
        model_class = self.get(name)
        values, problems = read_options(model_class, options or {}, self._build_inner)
        model: ConditionalModel | None = None
        try:
            if not described(model_class).required - values.keys():
                model = model_class(**values)
        except ConfigError as error:
            problems.extend(error.problems)
        except (ValueError, ModelError) as error:
            problems.append(str(error))
        if problems or model is None:
            raise ConfigError(f"model {name!r}: {problem}" for problem in problems)
        return model

    def _build_inner(self, value: object) -> ConditionalModel:
        """Build the model that another one wraps."""
        if isinstance(value, ConditionalModel):
            return value
        if isinstance(value, str):
            return self.build(value)
        if isinstance(value, Mapping) and isinstance(value.get("model"), str):
            rest = {str(key): option for key, option in value.items() if key != "model"}
            return self.build(value["model"], rest)
        raise ConfigError("must be the name of a model or {model: NAME, OPTION: VALUE, ...}")

    def options_schema(self, name: str) -> dict[str, Any]:
        """Return the JSON Schema of a model's options, descriptions from its docstring."""
        return schema_of_options(self.get(name))


def _loaded(name: str, declared: _Declared) -> type[ConditionalModel]:
    where = f"model {name!r} (entry point {declared.target!r} of package {declared.package!r})"
    try:
        found = declared.load()
    except Exception as error:
        raise ModelError(
            f"{where} cannot be imported: {type(error).__name__}: {error}; "
            "reinstall or remove the package"
        ) from error
    return _check_class(found, where)


def _check_class(found: object, where: str) -> type[ConditionalModel]:
    if not (isinstance(found, type) and issubclass(found, ConditionalModel)):
        raise ModelError(f"{where} is no subclass of ConditionalModel")
    if inspect.isabstract(found) or not dataclasses.is_dataclass(found):
        raise ModelError(f"{where} must be a dataclass that defines fit")
    if not hasattr(found, "fitted_type"):
        raise ModelError(f"{where} must declare fitted_type, the class that fit returns")
    return found


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
