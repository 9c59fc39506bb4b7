"""The manifest of a run: how its datasets were made, for the steward."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from synthesizer.config.keys import ChainConfig
from synthesizer.data.files import sha256
from synthesizer.data.layout import Layout
from synthesizer.data.progress import Phases
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Kind, Table, Variable
from synthesizer.data.writing import suffix, write
from synthesizer.engine.genetic.source import Evolving, Source
from synthesizer.engine.registry import Registry
from synthesizer.models.base import ConditionalModel
from synthesizer.models.step import Step
from synthesizer.plan.prepare import Prepared, without_password

# The files of a result: datasets, and what is for the steward only.


def workers_or_all(workers: int | None) -> int:
    """Return the number of joblib workers: all cores unless told."""
    return -1 if workers is None else workers


def write_dataset(table: Table, work: Path, number: int, m: int, layout: Layout, form: Any) -> str:
    """Write dataset ``number`` of ``m`` into a working directory and return the file's name."""
    width = len(str(m))
    name = f"synthetic_{number:0{width}d}{suffix(layout, form)}"
    write(table, work / name, layout, format=form)
    return name


def now() -> str:
    """Return the time in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def file_entry(path: Path) -> dict[str, Any]:
    """Return name, size and hash of a file, for the manifest."""
    return {"name": path.name, "bytes": path.stat().st_size, "sha256": sha256(path)}


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file for the steward only: it holds figures of the confidential data."""
    path.touch(mode=0o600)
    content = {"confidential": "not for release with the datasets"} | dict(content)
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


PACKAGES = ("synthesizer", "joblib", "numpy", "pandas", "pyarrow", "scipy", "scikit-learn")


def manifest_of(ready: Prepared, source: Source, seed: Seed, phases: Phases) -> dict[str, Any]:
    """Return the manifest of a run but its files: how its datasets were made, confidential.

    Parameters
    ----------
    ready, source : Prepared, Source
        The run and what was fitted.
    seed, phases : Seed, Phases
        Its random numbers and its times.
    """
    config, plan = ready.config, ready.plan
    dump = plain_config(config)
    return {
        "format": 1,
        "created": now(),
        "config": dump,
        "config_sha256": hashlib.sha256(json.dumps(dump, sort_keys=True).encode()).hexdigest(),
        "data": {
            "origin": ready.source.origin,
            "sha256": ready.source.fingerprint,
            "rows": ready.source.table.n_rows,
            "columns": len(ready.source.table),
        },
        "panel": _panel(ready),
        "seed": seed.entropy,
        "m": config.m,
        "rows": source.n_rows if config.rows is None else config.rows,
        "variables": [
            {
                "name": variable.name,
                "kind": variable.kind.value,
                "missing": list(variable.missing),
                "date_format": variable.storage.get("date_format"),
            }
            for variable in ready.source.table.schema
        ],
        "chain": [
            _step(step, ready.table[step.variable].variable, ready.registry)
            | _columns(ready, step.variable)
            | _not_fitted(source)
            for step in plan.spec.steps
        ],
        "genetic": _genetic(source),
        "notes": [*ready.source.notes, *plan.notes, *source.notes],
        "seconds": phases.seconds,
        "python": platform.python_version(),
        "plugins": list(ready.registry.plugins),
        "packages": {name: version(name) for name in PACKAGES},
    }


def _step(step: Step, variable: Variable, registry: Registry) -> dict[str, Any]:
    """Return how one variable is drawn."""
    told: dict[str, Any] = {
        "variable": step.variable,
        "kind": variable.kind.value,
        "model": step.method,
        "model_of_missing_codes": step.missing_method,
        "predictors": list(step.predictors),
        "kept": step.model.abilities.copies_rows,
    }
    if variable.is_coded:
        told["codes"] = variable.n_codes
    models = [*_inside(step.model)]
    if models[1:]:
        told["base"] = [registry.name_of(model) for model in models[1:]]
    return told | {"trees": _trees(step, models)}


def _not_fitted(source: Source) -> dict[str, Any]:
    """Return what replaces the model of a variable where no chain was fitted."""
    if not isinstance(source, Evolving) or source.chain is not None:
        return {}
    return {"model": "genetic", "model_of_missing_codes": None, "predictors": [], "trees": None}


def _genetic(source: Source) -> dict[str, Any] | None:
    """Return how datasets were evolved; None where the chain drew them."""
    if not isinstance(source, Evolving):
        return None
    options = source.plan.options
    return {"start": source.plan.start, "mode": options.mode, "interrupted": source.interrupted}


def _inside(model: object) -> Iterator[ConditionalModel]:
    """Yield a model and those that it wraps, the outer ones first."""
    while isinstance(model, ConditionalModel):
        yield model
        model = getattr(model, "base", None)


def _trees(step: Step, models: Sequence[ConditionalModel]) -> dict[str, bool] | None:
    """Return how the trees of a step draw; None where there are none.

    Models of the package that are made of trees have the option ``even``, and some ``tilt``.
    """
    found = [
        (bool(even), getattr(model, "tilt", False) is True)
        for model in models
        for even in [getattr(model, "even", None)]
        if isinstance(even, bool)
        and type(model).__module__.startswith("synthesizer.")
        and (step.predictors or getattr(model, "transition", "cart") != "markov")
    ]
    abilities = models[-1].abilities
    takes_codes = Kind.CATEGORICAL in abilities.kinds and abilities.max_levels is None
    if models[1:] and models[0].abilities.panel and not takes_codes:
        found.append((True, False))  # histories draw by the default tree whether a value changes
    if not found:
        return None
    return {"even": any(even for even, _ in found), "tilt": all(tilt for _, tilt in found)}


def _columns(ready: Prepared, variable: str) -> dict[str, list[str]]:
    """Return the columns of the file that hold a variable, where it is none itself."""
    columns = ready.arrangement.columns_of(variable)
    return {} if columns == (variable,) else {"columns": list(columns)}


def _panel(ready: Prepared) -> dict[str, Any] | None:
    """Return who and when of a panel; its rows of datasets are then counted in persons."""
    panel, frame = ready.config.panel, ready.plan.spec.frame
    if panel is None or frame is None:
        return None
    return {
        "form": "wide" if panel.wide else "long",
        "person": panel.person,
        "time": panel.time,
        "career": panel.career,
        "persons": ready.view.n_rows,
        "periods": len(frame.times),
    }


def plain_config(config: ChainConfig) -> dict[str, Any]:
    """Return a configuration as plain values, without the password of a database."""
    dump: dict[str, Any] = json.loads(config.model_dump_json(by_alias=True, exclude_unset=True))
    sql = dump.get("data", {}).get("sql")
    if sql:
        sql["url"] = without_password(sql["url"])
    return dump
