"""JSON Schema of the YAML, with the options of every known model."""

from __future__ import annotations

from typing import Any

from synthesizer.config import Config
from synthesizer.config_aliases import FOREIGN_SCHEMA
from synthesizer.registry import DEFAULT_SETS, METHOD_ALIASES, Registry

__all__ = ["config_schema"]


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
    # what is translated before the configuration is checked
    schema["properties"] |= FOREIGN_SCHEMA
    schema["properties"]["method"]["oneOf"].append({"type": "string", "description": "of all"})
    # options may stand at the top as model.option, the way users of synthpop write them
    schema["patternProperties"] = {r"^[A-Za-z_]+\.[A-Za-z_.]+$": {}}
    return schema
