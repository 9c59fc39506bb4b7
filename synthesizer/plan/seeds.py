"""Seed and secret of a synthesis: drawn anew, without a secret, or those of an earlier run."""

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


def plan_seed(context: Context, shared: Seed | None) -> Seed:
    """Return what decides every draw of a plan; note what the steward should know of it.

    ``shared`` is that of a grid and stands in place of what the configuration says.
    """
    config = context.config
    seed = shared or seed_of(config)
    context.notes.extend(replay_notes(seed))
    if isinstance(config.secret, SecretConfig) and seed.secret is not None:
        _, data = _earlier(config.secret.manifest)
        if data not in (None, context.data.fingerprint):
            context.notes.append(
                f"secret.from: {config.secret.manifest} is of a run with other data: two releases "
                "that share their draws show which records changed; take secret out"
            )
    return seed


def replay_notes(seed: Seed) -> list[str]:
    """Return what a steward should know of a synthesis without a secret."""
    if seed.secret is not None:
        return []
    return [
        f"{NOT_SECRET}: the seed alone decides every draw, so whoever knows or guesses it can "
        "repeat the synthesis and test what single records hold; right for public or simulated "
        "data only"
    ]


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
        raise ConfigError(f"{place}: cannot be read ({error.strerror}); {_REMEDY}") from None
    except (ValueError, RecursionError):
        raise ConfigError(
            f"{place}: is damaged or no manifest, or a key stands twice in it; {_REMEDY}"
        ) from None
    content = content if isinstance(content, Mapping) else {}
    secret, entropy, fitted = (content.get(key) for key in ("secret", "seed", "seed_of_fit"))
    if secret is None:
        raise ConfigError(
            f"{place}: holds no secret: it is no manifest of a run, another version wrote it, or "
            f"the secret was taken out; {_REMEDY}"
        )
    if fitted not in (None, entropy):
        raise ConfigError(
            f"{place}: its datasets were drawn from a saved model with another seed; draw them "
            "again with 'synthesizer generate MODEL --seed'"
        )
    try:
        if type(entropy) is not int or type(secret) is not str:
            raise ValueError
        seed = Seed(entropy, None if secret == NO_SECRET else secret)
    except ValueError:
        raise ConfigError(f"{place}: seed or secret were edited; {_REMEDY}") from None
    data = content.get("data")
    return seed, data.get("sha256") if isinstance(data, Mapping) else None
