"""Seed and secret of a plan: drawn for each run, or those of an earlier run to repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from synthesizer.config.keys import ChainConfig, SecretConfig
from synthesizer.data.errors import ConfigError
from synthesizer.data.files import parse_json, read_text
from synthesizer.data.randomness import NO_SECRET, NOT_SECRET, Seed, fresh_secret, fresh_seed
from synthesizer.plan.context import Context
from synthesizer.plan.findings import Findings, Found, note, problem

_REMEDY = "name the manifest.json of a finished run, or take secret out to have one drawn"


def seed_of(config: ChainConfig) -> Seed:
    """Return what decides every draw of a configuration.

    Raises
    ------
    ConfigError
        If the manifest that is named under ``secret`` cannot be read or holds no secret.
    """
    if isinstance(config.secret, SecretConfig):
        earlier, _ = _earlier(config.secret.manifest)
        return earlier if config.seed is None else replace(earlier, entropy=config.seed)
    entropy = fresh_seed() if config.seed is None else config.seed
    return Seed(entropy, None if config.secret == NO_SECRET else fresh_secret())


def plan_seed(context: Context, shared: Seed | None) -> Found[Seed]:
    """Return what decides every draw of a plan, with what the steward should know of it.

    ``shared`` is that of a grid and stands in place of what the configuration says.
    """
    config, seed, found = context.config, shared or Seed(0), Findings()
    with found.problems.gathered():
        seed = shared or seed_of(config)
        found.notes += replay_notes(seed)
        if isinstance(config.secret, SecretConfig) and seed.secret is not None:
            _, data = _earlier(config.secret.manifest)
            if data not in (None, context.data.fingerprint):
                found.note("secret_of_other_data", manifest=config.secret.manifest)
    return found.of(seed)


def replay_notes(seed: Seed) -> list[str]:
    """Return what a steward should know of a synthesis without a secret."""
    if seed.secret is not None:
        return []
    return [note("seed_decides", not_secret=NOT_SECRET)]


def secret_in_words(secret: Any) -> str:
    """Say where the secret of a configuration comes from, given as plain values.

    Examples
    --------
    >>> secret_in_words({"from": "out/manifest.json"})
    'that of out/manifest.json, whose draws are repeated'
    """
    if secret == NO_SECRET:
        return "none, the seed alone decides"
    if isinstance(secret, Mapping):
        return f"that of {secret['from']}, whose draws are repeated"
    return "drawn from the operating system for each run, which keeps it in its manifest"


def _earlier(path: Path) -> tuple[Seed, str | None]:
    """Return seed and secret of an earlier run, and the hash of its data; no value is told."""
    place = f"secret.from: {path}"
    try:
        content = parse_json(read_text(path))
    except OSError as error:
        raise ConfigError(
            problem("secret_unreadable", place=place, strerror=error.strerror, remedy=_REMEDY)
        ) from None
    except (ValueError, RecursionError):
        raise ConfigError(problem("secret_no_manifest", place=place, remedy=_REMEDY)) from None
    content = content if isinstance(content, Mapping) else {}
    secret, entropy, fitted = (content.get(key) for key in ("secret", "seed", "seed_of_fit"))
    if secret is None:
        raise ConfigError(problem("secret_absent", place=place, remedy=_REMEDY))
    if fitted not in (None, entropy):
        raise ConfigError(problem("secret_of_saved_model", place=place))
    try:
        if type(entropy) is not int or type(secret) is not str:
            raise ValueError
        seed = Seed(entropy, None if secret == NO_SECRET else secret)
    except ValueError:
        raise ConfigError(problem("secret_edited", place=place, remedy=_REMEDY)) from None
    data = content.get("data")
    return seed, data.get("sha256") if isinstance(data, Mapping) else None
