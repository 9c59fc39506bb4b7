"""The registry of conditional models: names, packages, and building models from options.

All models, built-in or of other packages, are declared in the entry-point group
``synthesizer.models``. A plug-in is a module outside of an installed package: it lists its models
in ``MODELS``, and is imported only if a configuration or a user names it. In Python,
`Registry.register` adds a model.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.metadata
import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, Self, get_origin, get_type_hints

from pydantic import PydanticSchemaGenerationError, TypeAdapter

from synthesizer.data.errors import (
    ConfigError,
    ModelError,
    Problem,
    Problems,
    at_place,
    did_you_mean,
)
from synthesizer.data.options import alternatives, checked, public
from synthesizer.data.plugins import is_gone
from synthesizer.data.table import Kind, Variable
from synthesizer.data.yaml_text import INFINITIES
from synthesizer.models.base import ALL_KINDS, Abilities, ConditionalModel, FittedModel

METHOD_ALIASES: Mapping[str, str] = {
    "": "keep",
    "bag": "bagging",
    "ctree": "cart",
    "lognorm": "lognormal",
    "logreg": "logistic",
    "norm": "normal",
    "polr": "ordinal",
    "polyreg": "multinomial",
    "ranger": "forest",
    "rf": "forest",
}
"""Method names of the R package synthpop, with the equivalent models."""

DEFAULT_SETS: Mapping[str, Mapping[Kind, str]] = {
    "cart": dict.fromkeys(ALL_KINDS, "cart"),
    "parametric": {
        Kind.CATEGORICAL: "multinomial",
        Kind.ORDERED: "ordinal",
        Kind.BOOLEAN: "logistic",
        Kind.NUMERIC: "normrank",
        Kind.DATE: "normrank",
    },
}
"""Default models by kind; a variable with two codes counts as boolean."""

DEFAULT_SET = "cart"
"""The set of a configuration without default_method."""

ROLES: Mapping[str, str] = {
    "first": "sample",
    "keep": "keep",
    "derived": "derived",
    "follows": "follows",
    "career": "career",
    "unchanging": "time_invariant",
    "growing": "advance",
    "rare": "mostly_constant",
    "changing": "lag_one",
    "even": "constant",
}
"""Models by role: first variable, ``keep``, ``derived``, ``follows``; in a panel the careers, and
variables that no, few or many persons change, or that grow with time; equal weights."""


def default_method(set_name: str, variable: Variable) -> str:
    """Return the model of a variable in one of the `DEFAULT_SETS`.

    Missing codes count as levels.

    Examples
    --------
    >>> smoker = Variable(name="smoker", kind=Kind.CATEGORICAL, levels=("no", "yes"))
    >>> default_method("parametric", smoker)
    'logistic'
    """
    kind = variable.kind
    if variable.is_coded and variable.n_codes <= 2:
        kind = Kind.BOOLEAN
    elif kind is Kind.BOOLEAN:
        kind = Kind.CATEGORICAL
    return DEFAULT_SETS[set_name][kind]


def option_types(model_class: type[ConditionalModel]) -> dict[str, Any]:
    """Return the types of a model's options by name.

    Examples
    --------
    >>> from synthesizer.models.fixed import Keep
    >>> option_types(Keep)
    {}
    """
    hints = get_type_hints(model_class, include_extras=True)
    return {item.name: hints[item.name] for item in dataclasses.fields(model_class) if item.init}


def _named(
    model_class: type[ConditionalModel], types: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return values by full option name, and problems of unknown or repeated options."""
    aliases = model_class.option_aliases
    values: dict[str, Any] = {}
    problems = []
    for key, value in options.items():
        name = aliases.get(key, key)
        if not types:
            problems.append(f"unknown option {key!r}; it has no options")
        elif name not in types:
            hint = did_you_mean(str(key), [*types, *aliases])
            problems.append(
                f"unknown option {key!r}; {hint}{' Options' if hint else 'options'}: "
                f"{', '.join(sorted(types))}"
            )
        elif name in values:
            others = " or ".join(repr(a) for a, option in aliases.items() if option == name)
            problems.append(f"option {name!r} is given twice, once as {others}")
        else:
            values[name] = _plain_value(value, types[name])
    return values, problems


def _plain_value(value: object, hint: Any) -> object:
    """Return a tuple for a list, and a number for ``.inf``, if such a type is expected.

    Examples
    --------
    >>> _plain_value(".inf", float | None), _plain_value("inf", str)
    (inf, 'inf')
    """
    kinds = set(alternatives(hint))
    if isinstance(value, str) and float in kinds:
        return INFINITIES.get(value.lower(), value)
    if isinstance(value, list) and any(get_origin(kind) is tuple for kind in kinds):
        return tuple(value)
    return value


def _takes_model(hint: Any) -> bool:
    kinds = alternatives(hint)
    return any(isinstance(kind, type) and issubclass(kind, ConditionalModel) for kind in kinds)


def _defaults(model_class: type[ConditionalModel]) -> dict[str, Any]:
    """Return the default of each field; MISSING without one."""
    return {
        item.name: item.default
        if item.default_factory is dataclasses.MISSING
        else item.default_factory()
        for item in dataclasses.fields(model_class)
    }


def _default_models(model_class: type[ConditionalModel]) -> dict[str, dict[str, Any]]:
    """Return the default models of a model's options: each, and its options that it changes."""
    models = {k: m for k, m in _defaults(model_class).items() if isinstance(m, ConditionalModel)}
    changed = {
        key: {k: getattr(m, k) for k, usual in _defaults(type(m)).items() if getattr(m, k) != usual}
        for key, m in models.items()
    }
    return {key: {"model": model} | changed[key] for key, model in models.items()}


def _property(hint: Any, default: Any, text: str | None) -> dict[str, Any]:
    """Return the JSON Schema of an option; a default model is shown by its class."""
    entry: dict[str, Any] = {"type": ["string", "object"]}
    if not _takes_model(hint):
        adapter = TypeAdapter(hint)
        entry = adapter.json_schema()
    if text is not None:
        entry["description"] = text
    if default is dataclasses.MISSING:
        return entry
    if _takes_model(hint):
        return entry | {"default": None if default is None else type(default).__name__}
    return entry | {"default": adapter.dump_python(default, mode="json")}


def _parameter_texts(doc: str) -> dict[str, str]:
    """Return the descriptions in a numpydoc Parameters section, by parameter."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", doc, re.M | re.S)
    texts: dict[str, str] = {}
    if section is None:
        return texts
    for block in re.split(r"\n(?=\S)", section[1].strip("\n")):
        head, _, body = block.partition("\n")
        for name in head.partition(":")[0].split(","):
            texts[name.strip()] = " ".join(body.split())
    return texts


GROUP = "synthesizer.models"

NO_MODELS = (
    f"no model is installed: no package declares entry points {GROUP!r}; reinstall synthesizer "
    "(in a source folder: pip install .)"
)

PLUGIN = "MODELS"
"""Attribute of a plug-in: a mapping from name to class."""

_ODD_TYPES = (
    "the types of the options of model {name!r} cannot be checked; its author must use plain types"
)

_REGISTER = f"list it under {PLUGIN} of a plug-in, or call Registry.register"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """One model of the registry; its class is imported at first use."""

    name: str
    target: str
    """The class as ``module:class``."""
    package: str
    loaded: type[ConditionalModel] | None = None
    """The class of a model that was registered at run time."""

    @property
    def model_class(self) -> type[ConditionalModel]:
        """The class.

        Raises
        ------
        ModelError
            If its package is broken: the import fails or returns no `ConditionalModel`.
        """
        if self.loaded is not None:
            return self.loaded
        label = f"model {self.name!r} (entry point {self.target!r} of package {self.package!r})"
        module, _, attribute = self.target.partition(":")
        try:
            loaded = attrgetter(attribute)(importlib.import_module(module))
        except Exception as error:
            raise ModelError(
                f"{label} cannot be imported: {_reason(error)}; reinstall or remove the package"
            ) from error
        return _check_class(loaded, label)

    @property
    def is_loaded(self) -> bool:
        """Whether its module was imported already."""
        return self.target.partition(":")[0] in sys.modules

    @property
    def version(self) -> str:
        """Version of the package; "" if it is not installed."""
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return ""

    @property
    def summary(self) -> str:
        """First line of the class's docstring."""
        return (inspect.getdoc(self.model_class) or "").partition("\n")[0]

    @property
    def abilities(self) -> Abilities:
        """The abilities of the model."""
        return self.model_class.abilities


class Registry:
    """Conditional models by name.

    Examples
    --------
    >>> registry = Registry.load()
    >>> registry.build("sample")
    Sample(min_holders=5, even=True)
    >>> registry.build("sampel")
    Traceback (most recent call last):
    ...
    synthesizer.data.errors.ConfigError: unknown model 'sampel'; did you mean 'sample'? Known: ...
    """

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self.plugins: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Registry of {len(self._entries)} models: {', '.join(sorted(self._entries))}"

    @classmethod
    def load(cls) -> Self:
        """Return a registry of all models that installed packages declare.

        Raises
        ------
        ModelError
            If two packages declare the same name.
        """
        registry = cls()
        packages: dict[int, str] = {id(None): "an unknown package"}
        for point in importlib.metadata.entry_points(group=GROUP):
            if is_gone(point.module):
                continue
            if (number := id(point.dist)) not in packages:  # each access reads a file
                packages[number] = getattr(point.dist, "name", "")
            registry._add(Entry(name=point.name, target=point.value, package=packages[number]))
        return registry

    @public
    def register(
        self, name: str, model_class: type[ConditionalModel], package: str | None = None
    ) -> None:
        """Add a model at run time.

        Parameters
        ----------
        name : str
            New name of the model in configurations.
        model_class : type
            A subclass of `ConditionalModel`.
        package : str, optional
            Package of the model; by default that of the class.

        Raises
        ------
        ModelError
            If the name exists or the class is no `ConditionalModel`.

        Examples
        --------
        >>> from synthesizer.models.sample import Sample
        >>> registry = Registry()
        >>> registry.register("marginal", Sample)
        >>> registry.names
        ('marginal',)
        """
        _check_class(model_class, f"model {name!r}")
        package = package or model_class.__module__.partition(".")[0]
        self._add(
            Entry(name=name, target=_target(model_class), package=package, loaded=model_class)
        )

    @public
    def with_plugins(self, modules: Iterable[str]) -> Self:
        """Return a copy of the registry with the models of plug-ins.

        Importing a module runs its code: name only modules that you trust.

        Parameters
        ----------
        modules : iterable of str
            Names of modules, as for ``import``. Each has ``MODELS``, a mapping from the names of
            models to subclasses of `ConditionalModel`.

        Raises
        ------
        ConfigError
            With each module that cannot be imported, has no valid model, or uses an existing name.

        Examples
        --------
        >>> Registry().with_plugins(["json"])
        Traceback (most recent call last):
        ...
        synthesizer.data.errors.ConfigError: plug-in 'json': registers no model; give it \
MODELS = ...
        """
        result = type(self)()
        result._entries, result.plugins = dict(self._entries), self.plugins
        problems = Problems()
        for module in dict.fromkeys(modules):
            if module not in result.plugins:
                with problems.gathered(f"plug-in {module!r}"):
                    for name, model_class in _models_of(module).items():
                        result._plug(module, name, model_class)
                result.plugins += (module,)
        problems.settle(ConfigError)
        return result

    def _plug(self, module: str, name: str, model_class: type[ConditionalModel]) -> None:
        """Add a model of a plug-in, unless it is already there as an entry point."""
        if name not in self._entries:
            self.register(name, model_class)
        elif self.get(name) is not model_class:
            raise ModelError(
                f"model {name!r} exists already, in package {self._entries[name].package!r}; "
                f"rename it in {PLUGIN} of {module!r}"
            )

    def _add(self, entry: Entry) -> None:
        if entry.name in self._entries:
            raise ModelError(
                f"model {entry.name!r} exists twice, in package "
                f"{self._entries[entry.name].package!r} and in package {entry.package!r}; "
                "uninstall one or rename its entry point"
            )
        self._entries[entry.name] = entry

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all models in alphabetical order; imports none of them."""
        return tuple(sorted(self._entries))

    def canonical(self, name: str) -> str:
        """Return the registered name of a model, given its name or a synthpop alias.

        Raises
        ------
        ConfigError
            If there is no such model; the message lists the nearest and all names.

        Examples
        --------
        >>> Registry.load().canonical("rf")
        'forest'
        """
        if name in self._entries:
            return name
        alias = METHOD_ALIASES.get(name)
        if alias in self._entries:
            return alias
        hint = did_you_mean(name, self.names)
        text = (
            f"unknown model {name!r}; {hint}{' Known' if hint else 'known'}: "
            f"{', '.join(self.names)}; a model of your own: name its module "
            "under plugins, or install its package or extension"
        )
        raise ConfigError(Problem(text, "unknown_model", (name,)))

    def entry(self, name: str) -> Entry:
        """Return a model by its name, or a synthpop alias of it; see `canonical`."""
        return self._entries[self.canonical(name)]

    def entries(self) -> tuple[Entry, ...]:
        """Return all models in alphabetical order, for listings."""
        return tuple(self._entries[name] for name in self.names)

    def get(self, name: str) -> type[ConditionalModel]:
        """Return the class of a model; see `canonical` and `Entry.model_class`."""
        return self.entry(name).model_class

    def name_of(self, model: ConditionalModel) -> str:
        """Return the registered name of the class of a model.

        Raises
        ------
        ModelError
            If it is not registered.

        Examples
        --------
        >>> registry = Registry.load()
        >>> registry.name_of(registry.build("rf"))
        'forest'
        """
        target = _target(type(model))
        for entry in self._entries.values():
            if entry.target == target:
                return entry.name
        raise ModelError(f"model {type(model).__name__} is not registered; {_REGISTER}")

    def fitted_type(self, name: str) -> type[FittedModel]:
        """Return the class of the fitted form of a model."""
        return self.get(name).fitted_type

    def name_of_fitted(self, fitted: type) -> str:
        """Return the name of the model whose fit returns a class, for saved models.

        Raises
        ------
        ModelError
            If there is no such registered model.
        """
        for entry in sorted(self.entries(), key=lambda entry: not entry.is_loaded):
            with contextlib.suppress(ModelError):  # another package may be broken
                if entry.model_class.fitted_type is fitted:
                    return entry.name
        raise ModelError(
            f"a model whose fit returns {fitted.__name__} is not registered and cannot be saved; "
            f"{_REGISTER}"
        )

    def build(
        self,
        name: str,
        options: Mapping[str, Any] | None = None,
        *,
        usual: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> ConditionalModel:
        """Return a model built from the options of a configuration.

        Parameters
        ----------
        name : str
            A registered name or a synthpop alias.
        options : mapping, optional
            Options from YAML, also by their aliases (``option_aliases``). A whole number is valid
            for a float, a text is not. A model as an option is a name or
            ``{model: NAME, OPTION: VALUE, ...}``.
        usual : mapping, optional
            Options by registered name, for this model and all models inside it; ``options``
            replace them.

        Raises
        ------
        ConfigError
            With all unknown, missing or wrong options.

        Examples
        --------
        >>> Registry.load().build("keep", {"min_leaf": 5})
        Traceback (most recent call last):
        ...
        synthesizer.data.errors.ConfigError: model 'keep': unknown option 'min_leaf'; it has no \
options
        """
        model_class = self.get(name)
        types = option_types(model_class)
        usual = usual or {}
        values, problems = _named(model_class, types, options or {})
        common, faults = _named(model_class, types, usual.get(self.canonical(name), {}))
        values, problems = common | values, [*problems, *faults]
        if usual:
            values = _default_models(model_class) | values
        absent = []
        for key in [key for key in values if _takes_model(types[key]) and values[key] is not None]:
            try:
                values[key] = self._build_inner(values[key], usual)
            except (ConfigError, ModelError) as error:
                problems += at_place(f"option {key!r}", error.problems)
                del values[key]
                absent.append(f"option {key!r} is missing")
        try:
            model = checked(model_class, values)
        except PydanticSchemaGenerationError as error:
            raise ModelError(_ODD_TYPES.format(name=name)) from error
        except (ConfigError, ModelError) as error:
            problems += [p for p in error.problems if not p.startswith(tuple(absent))]
        if problems:
            wrong = (Problem.of(problem, "wrong_option") for problem in problems)
            raise ConfigError(at_place(f"model {name!r}", wrong))
        return model

    def _build_inner(
        self, value: object, usual: Mapping[str, Mapping[str, Any]]
    ) -> ConditionalModel:
        """Return the model of an option."""
        if isinstance(value, ConditionalModel):
            self.name_of(value)  # raises if it is not registered
            return value
        if isinstance(value, str):
            return self.build(value, usual=usual)
        if isinstance(value, Mapping) and isinstance(value.get("model"), str | ConditionalModel):
            options = {str(key): option for key, option in value.items()}
            model = options.pop("model")
            name = model if isinstance(model, str) else self.name_of(model)
            return self.build(name, options, usual=usual)
        raise ConfigError("must be the name of a model or {model: NAME, OPTION: VALUE, ...}")

    def options_schema(self, name: str) -> dict[str, Any]:
        """Return the JSON Schema of a model's options.

        Types and defaults come from the dataclass, descriptions from the Parameters section of
        its docstring; aliases are separate properties.
        """
        model_class = self.get(name)
        types = option_types(model_class)
        texts: dict[str, str] = {}
        for base in reversed(model_class.__mro__):  # each class describes the options it adds
            texts |= _parameter_texts(inspect.cleandoc(base.__doc__ or ""))
        defaults = _defaults(model_class)
        try:
            properties = {
                option: _property(hint, defaults[option], texts.get(option))
                for option, hint in types.items()
            }
        except PydanticSchemaGenerationError as error:
            raise ModelError(_ODD_TYPES.format(name=name)) from error
        for alias, option in model_class.option_aliases.items():
            same = {k: v for k, v in properties[option].items() if k != "default"}
            properties[alias] = same | {"description": f"Another name of {option}."}
        return {
            "title": model_class.__name__,
            "description": self.entry(name).summary,
            "type": "object",
            "properties": properties,
            "required": sorted(o for o in types if defaults[o] is dataclasses.MISSING),
            "additionalProperties": False,
        }


def _target(model_class: type) -> str:
    return f"{model_class.__module__}:{model_class.__qualname__}"


def _models_of(module: str) -> dict[str, type[ConditionalModel]]:
    """Return the models of a plug-in by name, after importing it; raise ModelError on failure."""
    try:
        models = getattr(importlib.import_module(module), PLUGIN, None)
    except (Exception, SystemExit) as error:
        raise ModelError(
            f"cannot be imported: {_reason(error)}; correct it, install it, or add its folder to "
            "PYTHONPATH"
        ) from error
    if not isinstance(models, Mapping) or not models:
        raise ModelError(f'registers no model; give it {PLUGIN} = {{"NAME": CLASS}}')
    wrong = [
        name
        for name in models
        if not (isinstance(name, str) and name.isidentifier()) or name in DEFAULT_SETS
    ]
    taken = ", ".join(DEFAULT_SETS)
    if wrong:
        raise ModelError(
            f"{PLUGIN} names {name!r}; a name is letters, digits and underscores, and none of "
            f"{taken}"
            for name in wrong
        )
    return {name: _check_class(models[name], f"model {name!r}") for name in models}


def _reason(error: BaseException) -> str:
    """Return type and message of an error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _check_class(loaded: object, label: str) -> type[ConditionalModel]:
    if not (isinstance(loaded, type) and issubclass(loaded, ConditionalModel)):
        raise ModelError(f"{label} is not a subclass of ConditionalModel")
    if inspect.isabstract(loaded) or not dataclasses.is_dataclass(loaded):
        raise ModelError(f"{label} must be a dataclass that defines fit")
    if not hasattr(loaded, "fitted_type"):
        raise ModelError(f"{label} must declare fitted_type, the class that fit returns")
    return loaded
