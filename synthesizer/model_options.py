"""Options of a conditional model: checked values from a configuration, and their JSON Schema."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_type_hints

from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError

from synthesizer.errors import ConfigError, ModelError
from synthesizer.models.base import ConditionalModel
from synthesizer.yaml_text import INFINITIES

__all__ = ["Options", "described", "read_options", "schema_of_options"]

BuildModel = Callable[[object], ConditionalModel]


@dataclasses.dataclass(frozen=True)
class Options:
    """What a model class declares: the types of its options, and which have no default."""

    types: dict[str, Any]
    defaults: dict[str, Any]
    aliases: dict[str, str]

    @property
    def required(self) -> frozenset[str]:
        """Options without a default."""
        return frozenset(self.types.keys() - self.defaults.keys())


def described(model_class: type[ConditionalModel]) -> Options:
    """Return the options that a model class declares.

    Examples
    --------
    >>> from synthesizer.models.sample import Sample
    >>> described(Sample)
    Options(types={}, defaults={}, aliases={})
    """
    hints = get_type_hints(model_class)
    fields = [item for item in dataclasses.fields(model_class) if item.init]
    defaults = {item.name: item.default for item in fields}
    for item in fields:
        if item.default_factory is not dataclasses.MISSING:
            defaults[item.name] = item.default_factory()
    return Options(
        types={item.name: hints[item.name] for item in fields},
        defaults={k: v for k, v in defaults.items() if v is not dataclasses.MISSING},
        aliases=dict(model_class.option_aliases),
    )


def read_options(
    model_class: type[ConditionalModel], given: Mapping[str, Any], build_model: BuildModel
) -> tuple[dict[str, Any], list[str]]:
    """Check option names and types.

    Parameters
    ----------
    model_class : type
        Whose options.
    given : mapping
        Plain values, as read from YAML.
    build_model : callable
        Turns the value of an option whose type is a model into one.

    Returns
    -------
    values : dict
        The correct options under their own names.
    problems : list of str
        One sentence for each option that is unknown, missing, given twice or mistyped.
    """
    options = described(model_class)
    values: dict[str, Any] = {}
    problems: list[str] = []
    seen: set[str] = set()
    for key, value in given.items():
        name = options.aliases.get(key, key)
        try:
            if name not in options.types:
                raise ConfigError(_unknown_option(key, options))
            if name in seen:
                raise ConfigError(f"option {name!r} is given twice, once as {_other(key, options)}")
            seen.add(name)
            values[name] = _typed(key, value, options.types[name], build_model)
        except ConfigError as error:
            problems.extend(error.problems)
    problems.extend(
        f"option {name!r} is missing; it has no default" for name in sorted(options.required - seen)
    )
    return values, problems


def _other(key: str, options: Options) -> str:
    """Name an alias of the option that ``key`` means."""
    name = options.aliases.get(key, key)
    return " or ".join(repr(alias) for alias, own in options.aliases.items() if own == name)


def _unknown_option(key: object, options: Options) -> str:
    known = sorted(options.types)
    if not known:
        return f"unknown option {key!r}; it has no options"
    near = difflib.get_close_matches(str(key), [*known, *options.aliases], n=1)
    hint = f" did you mean {near[0]!r}?" if near else ""
    return f"unknown option {key!r};{hint} Known: {', '.join(known)}"


def _typed(key: str, value: object, hint: Any, build_model: BuildModel) -> object:
    if _takes_model(hint) and not (value is None and type(None) in get_args(hint)):
        try:
            return build_model(value)
        except ConfigError as error:
            raise ConfigError(f"option {key!r}: {problem}" for problem in error.problems) from error
    value = _infinite(value, hint)
    try:
        return _validated(_adapter(key, hint), value)
    except ValidationError as error:
        reasons = [str(item["msg"]) for item in error.errors(include_url=False)]
        raise ConfigError(f"option {key!r} ({value!r}) {_sentence(reasons, value)}") from error


def _infinite(value: object, hint: Any) -> object:
    """Read ``.inf`` and its other spellings where a number is expected; configurations hold text.

    Examples
    --------
    >>> _infinite(".inf", float | None), _infinite("inf", str)
    (inf, 'inf')
    """
    if isinstance(value, str) and float in (hint, *get_args(hint)):
        return INFINITIES.get(value.lower(), value)
    return value


def _takes_model(hint: Any) -> bool:
    candidates = get_args(hint) or (hint,)
    return any(isinstance(c, type) and issubclass(c, ConditionalModel) for c in candidates)


def _adapter(key: str, hint: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(hint)
    except PydanticSchemaGenerationError as error:
        raise ModelError(
            f"the type of option {key!r} cannot be checked; its author must use plain types"
        ) from error


def _validated(adapter: TypeAdapter[Any], value: object) -> object:
    """Check strictly, but by the rules of JSON, in which a list serves as a tuple."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        return adapter.validate_python(value, strict=True)
    return adapter.validate_json(text, strict=True)


def _sentence(reasons: list[str], value: object) -> str:
    """Join the reasons of all alternatives of a type into one."""
    wanted = [reason.removeprefix("Input should be ") for reason in dict.fromkeys(reasons)]
    return f"must be {' or '.join(wanted)}{_number_hint(value)}"


def _number_hint(value: object) -> str:
    """Explain that YAML reads ``1e-4`` as text."""
    if not isinstance(value, str):
        return ""
    try:
        number = float(value)
    except ValueError:
        return ""
    if not math.isfinite(number):
        return ""
    plain = format(number, "f").rstrip("0").rstrip(".")
    return f"; it was read as text, write {plain} without quotes"


def schema_of_options(model_class: type[ConditionalModel]) -> dict[str, Any]:
    """Return the JSON Schema of a model's options.

    Types and defaults come from the dataclass, descriptions from the Parameters section of its
    docstring; aliases are listed as properties of their own.
    """
    options = described(model_class)
    texts = _parameter_texts(inspect.getdoc(model_class) or "")
    properties: dict[str, Any] = {}
    for name, hint in options.types.items():
        properties[name] = _property(name, hint)
        if name in texts:
            properties[name]["description"] = texts[name]
        if name in options.defaults:
            properties[name]["default"] = _plain_default(hint, options.defaults[name])
    for alias, name in options.aliases.items():
        same = {k: v for k, v in properties[name].items() if k != "default"}
        properties[alias] = same | {"description": f"Another name of {name}."}
    return {
        "title": model_class.__name__,
        "description": (inspect.getdoc(model_class) or "").partition("\n")[0],
        "type": "object",
        "properties": properties,
        "required": sorted(options.required),
        "additionalProperties": False,
    }


def _property(name: str, hint: Any) -> dict[str, Any]:
    if _takes_model(hint):
        return {"type": ["string", "object"]}
    return _adapter(name, hint).json_schema()


def _plain_default(hint: Any, default: Any) -> Any:
    """Return a default as JSON; a model is shown by its class."""
    if _takes_model(hint):
        return None if default is None else type(default).__name__
    return TypeAdapter(hint).dump_python(default, mode="json")


def _parameter_texts(doc: str) -> dict[str, str]:
    """Read the descriptions out of a numpydoc Parameters section."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", doc, re.M | re.S)
    texts: dict[str, str] = {}
    if section is None:
        return texts
    for block in re.split(r"\n(?=\S)", section[1].strip("\n")):
        head, _, body = block.partition("\n")
        for name in head.partition(":")[0].split(","):
            texts[name.strip()] = " ".join(body.split())
    return texts
