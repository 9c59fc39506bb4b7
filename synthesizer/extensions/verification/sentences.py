"""The sentences of answers and of the server, as data: see ``sentences.yaml`` beside this file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from jinja2 import Environment, PackageLoader, Template

from synthesizer.data.yaml_text import packaged_yaml

WORDS: Final[dict[str, Any]] = packaged_yaml(__package__ or "", "sentences.yaml")
"""By the name of what they are about."""
PROMISE: Final[tuple[str, ...]] = tuple(WORDS["promise"])
"""What is promised, word for word, on every page and in the docs."""


def template(name: str, **filters: Callable[..., str]) -> Template:
    """Return a text with places to fill in, a file beside this one; filters quote."""
    loader = PackageLoader(__package__ or "", "")
    made = Environment(loader=loader, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    made.filters |= filters
    return made.get_template(name)
