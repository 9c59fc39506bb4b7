"""Seed and key of a plan: drawn for each run, or those of an earlier run to repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from synthesizer.config.keys import ChainConfig, KeyConfig
from synthesizer.data.errors import ConfigError
from synthesizer.data.files import parse_json, read_text
from synthesizer.data.randomness import NO_KEY, WITHOUT_KEY, Seed, fresh_seed, new_key
from synthesizer.plan.context import Context
from synthesizer.plan.findings import Findings, Found, note, problem

_REMEDY = "name the manifest.json of a finished run, or remove random_key to draw one"


def seed_of(config: ChainConfig) -> Seed:
    """Return what decides every draw of a configuration.

    Raises
    ------
    ConfigError
        If the manifest that is named under ``random_key`` cannot be read or contains no key.
    """
    if isinstance(config.random_key, KeyConfig):
        earlier, _ = _earlier(config.random_key.manifest)
        return earlier if config.seed is None else replace(earlier, entropy=config.seed)
    entropy = fresh_seed() if config.seed is None else config.seed
    return Seed(entropy, None if config.random_key == NO_KEY else new_key())


def plan_seed(context: Context, shared: Seed | None) -> Found[Seed]:
    """Return what decides every draw of a plan, with what the steward should know of it.

    ``shared`` is that of a grid and stands in place of what the configuration says.
    """
    config, seed, found = context.config, shared or Seed(0), Findings()
    with found.problems.gathered():
        seed = shared or seed_of(config)
        found.notes += replay_notes(seed)
        if isinstance(config.random_key, KeyConfig) and seed.random_key is not None:
            _, data = _earlier(config.random_key.manifest)
            if data not in (None, context.data.fingerprint):
                found.note("key_of_other_data", manifest=config.random_key.manifest)
    return found.of(seed)


def replay_notes(seed: Seed) -> list[str]:
    """Return what a steward should know of a synthesis without a key."""
    if seed.random_key is not None:
        return []
    return [note("seed_decides", without_key=WITHOUT_KEY)]


def key_in_words(key: Any) -> str:
    """Say where the key of a configuration comes from, given as plain values.

    Examples
    --------
    >>> key_in_words({"from": "out/manifest.json"})
    'key of out/manifest.json, which repeats its draws'
    """
    if key == NO_KEY:
        return "none: reproducible from the seed alone"
    if isinstance(key, Mapping):
        return f"key of {key['from']}, which repeats its draws"
    return "drawn from the operating system for each run; its manifest contains it"


def _earlier(path: Path) -> tuple[Seed, str | None]:
    """Return seed and key of an earlier run, and the hash of its data; no value is told."""
    place = f"random_key.from: {path}"
    try:
        content = parse_json(read_text(path))
    except OSError as error:
        raise ConfigError(
            problem("key_unreadable", place=place, strerror=error.strerror, remedy=_REMEDY)
        ) from None
    except (ValueError, RecursionError):
        raise ConfigError(problem("key_no_manifest", place=place, remedy=_REMEDY)) from None
    content = content if isinstance(content, Mapping) else {}
    key, entropy, fitted = (content.get(key) for key in ("random_key", "seed", "seed_of_fit"))
    if key is None:
        raise ConfigError(problem("key_absent", place=place, remedy=_REMEDY))
    if fitted not in (None, entropy):
        raise ConfigError(problem("key_of_saved_model", place=place))
    try:
        if type(entropy) is not int or type(key) is not str:
            raise ValueError
        seed = Seed(entropy, None if key == NO_KEY else key)
    except ValueError:
        raise ConfigError(problem("key_edited", place=place, remedy=_REMEDY)) from None
    data = content.get("data")
    return seed, data.get("sha256") if isinstance(data, Mapping) else None
