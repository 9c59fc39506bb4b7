"""The sentences of answers and of the server, as data: see ``sentences.yaml`` beside this file."""

from __future__ import annotations

from importlib import resources
from typing import Any, Final

from synthesizer.data.yaml_text import parse_yaml

_TEXT = resources.files(__package__ or "").joinpath("sentences.yaml").read_text(encoding="utf-8")
WORDS: Final[dict[str, Any]] = parse_yaml(_TEXT, origin="sentences.yaml")
"""By the name of what they are about."""
PROMISE: Final[tuple[str, ...]] = tuple(WORDS["promise"])
"""What is promised, word for word, on every page and in the docs."""
