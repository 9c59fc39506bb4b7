"""Calling the commands in process, and small files for them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from typer.testing import CliRunner, Result

from synthesizer.cli.commands import app

HALVES = (
    "differential_confidentiality",
    "nearest",
    "near_verbatim",
    "unseen",
    "guesses",
    "attacks",
)
NO_HALVES: dict[str, Any] = dict.fromkeys(HALVES, False)
"""Checks without those that synthesise a half again."""


def call(*words: object) -> Result:
    """Run a command; anything but an exit code is a fault of the program."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def write_yaml(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


def persons_frame(n: int = 300, seed: int = 0) -> pd.DataFrame:
    """An identifier, sex, age, a status that depends on age, an income with a missing code."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 90, n)
    married = (age >= 18) & (rng.random(n) < 0.6)
    income = np.round(rng.gamma(2, 1000, n)).astype(int) + 1
    income[rng.random(n) < 0.1] = -8
    return pd.DataFrame(
        {
            "person_id": np.arange(1, n + 1),
            "sex": rng.choice(["f", "m"], n),
            "age": age,
            "marital": np.where(married, "married", "single"),
            "region": rng.choice(["north", "south", "west"], n),
            "income": income,
        }
    )


def hashes(directory: Path) -> dict[str, str]:
    """SHA-256 of every dataset in a result."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.glob("synthetic_*"))
    }


def persons_config(folder: Path, n: int = 100, **keys: Any) -> Path:
    """Write a file of persons and the configuration of a run of it, and return its path."""
    persons_frame(n).to_csv(folder / "persons.csv", index=False)
    content = {"data": {"path": "persons.csv"}, "output": {"directory": "out"}, "seed": 1}
    return write_yaml(folder / "run.yaml", content | {"workers": 1} | keys)
