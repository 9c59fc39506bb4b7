"""Saved models: a fitted chain in an audited file that runs no code when it is loaded.

The file holds donors, that is confidential values: it is written with mode 0600 and says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synthesizer.chain import FittedChain, FittedStratum
from synthesizer.data.archive import read_archive, write_archive
from synthesizer.data.expressions import Expression
from synthesizer.data.layout import Layout
from synthesizer.data.schema import Kind, Schema, Variable
from synthesizer.data.table import Column
from synthesizer.errors import OutputError, SavedModelError, SynthesizerError
from synthesizer.models.base import FittedModel
from synthesizer.randomness import Seed
from synthesizer.registry import Registry
from synthesizer.rules import Forbid, Rule
from synthesizer.steps import FittedStep

__all__ = ["SavedModel", "check_model_path", "load_model", "save_model"]

KIND = "synthesizer model (CONFIDENTIAL: holds values of the data it was fitted on)"


@dataclass(frozen=True, kw_only=True)
class SavedModel:
    """A fitted chain, how its data were laid out, and where it comes from.

    Parameters
    ----------
    chain : FittedChain
        Ready to generate.
    layout : Layout
        How datasets are written.
    seed : int
        Seed of the fit; the default seed of generation.
    origin : dict
        Plain facts for manifests: versions, hashes, methods.
    path : Path or None
        The file that it was loaded from.
    """

    chain: FittedChain
    layout: Layout
    seed: int
    origin: Mapping[str, Any]
    path: Path | None = None

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn whatever fails in drawing and writing into SavedModelError.

        For models that came from a file: its parts need not fit together.
        """
        try:
            yield
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            if self.path is None:
                raise
            raise SavedModelError(
                f"{self.path}: its parts do not fit together; it was altered: fit and save again"
            ) from error


def check_model_path(path: Path, *, overwrite: bool) -> None:
    """Raise OutputError if a model cannot be written to ``path``, before any work is done."""
    if path.exists() and (path.is_dir() or not overwrite):
        raise OutputError(f"model {path} exists already; name another file or say --overwrite")
    parent = path.absolute().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"model {path}: {parent} is no directory that can be written to")


def save_model(path: Path, model: SavedModel) -> None:
    """Write ``model`` to ``path`` with mode 0600, whole or not at all."""
    chain = model.chain
    content = {
        "seed": model.seed,
        "origin": dict(model.origin),
        "layout": model.layout.to_dict(),
        "schema": [variable.to_dict() for variable in chain.schema],
        "rules": [{"if": r.condition.text, "value": r.value.to_dict()} for r in chain.rules],
        "forbids": [{"if": f.condition.text, "variable": f.variable} for f in chain.forbids],
        "proper": chain.proper,
        "strata": [
            {
                "rows": stratum.rows,
                "replicates": [[_step_to_dict(s) for s in steps] for steps in stratum.replicates],
            }
            for stratum in chain.strata
        ],
    }
    write_archive(path, content, kind=KIND)


def load_model(path: Path, registry: Registry) -> SavedModel:
    """Read a saved model.

    Raises
    ------
    SavedModelError
        If the file is cut short, altered, of another version, or needs a model that no
        installed package offers.
    """
    content = read_archive(path, kind=KIND)
    try:
        return _from_content(content, registry, path)
    except SavedModelError:
        raise
    except SynthesizerError as error:
        raise SavedModelError(f"{path}: {problem}" for problem in error.problems) from error
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError):
        raise SavedModelError(
            f"{path}: its content does not make a model; it was altered or written by another "
            "version: fit and save the model again"
        ) from None


def _from_content(content: Mapping[str, Any], registry: Registry, path: Path) -> SavedModel:
    schema = Schema(tuple(Variable.from_dict(state) for state in content["schema"]))
    chain = FittedChain(
        schema=schema,
        strata=tuple(_stratum_from_dict(state, schema, registry) for state in content["strata"]),
        rules=tuple(
            Rule(condition=Expression.parse(r["if"]), value=Column.from_dict(r["value"]))
            for r in content["rules"]
        ),
        forbids=tuple(
            Forbid(condition=Expression.parse(f["if"]), variable=str(f["variable"]))
            for f in content["forbids"]
        ),
        proper=bool(content["proper"]),
    )
    drawn = {v.name for v in schema if v.kind is not Kind.ID}
    for stratum in chain.strata:
        for steps in stratum.replicates:
            _check_steps(steps, drawn)
    counts = {len(stratum.replicates) for stratum in chain.strata}
    if len(counts) != 1 or not min(counts):
        raise ValueError("every stratum needs the same number of fits")
    return SavedModel(
        chain=chain,
        layout=Layout.from_dict(content["layout"]),
        seed=Seed(int(content["seed"])).entropy,
        origin=dict(content["origin"]),
        path=path,
    )


def _check_steps(steps: tuple[FittedStep, ...], drawn: set[str]) -> None:
    """Raise ValueError unless the steps draw every variable once, from earlier ones."""
    earlier: set[str] = set()
    for step in steps:
        decimals = step.variable.decimals
        if decimals is not None and not 0 <= decimals <= 15:
            raise ValueError("decimals must be 0 to 15")
        if not set(step.predictors) <= earlier or step.variable.name in earlier:
            raise ValueError("predictors must come before their target")
        earlier.add(step.variable.name)
    if earlier != drawn:
        raise ValueError("the steps must draw every variable")


def _stratum_from_dict(
    state: Mapping[str, Any], schema: Schema, registry: Registry
) -> FittedStratum:
    return FittedStratum(
        rows=np.asarray(state["rows"], dtype=np.int64),
        replicates=tuple(
            tuple(_step_from_dict(step, schema, registry) for step in steps)
            for steps in state["replicates"]
        ),
    )


def _step_to_dict(step: FittedStep) -> dict[str, Any]:
    return {
        "variable": step.variable.name,
        "method": step.method,
        "missing_method": step.missing_method,
        "predictors": list(step.predictors),
        "salt": step.salt,
        "value": None if step.value_model is None else step.value_model.to_dict(),
        "state": None if step.state_model is None else step.state_model.to_dict(),
        "kept": None if step.kept is None else step.kept.to_dict(),
    }


def _step_from_dict(state: Mapping[str, Any], schema: Schema, registry: Registry) -> FittedStep:
    return FittedStep(
        variable=schema[state["variable"]],
        method=str(state["method"]),
        missing_method=str(state["missing_method"]),
        predictors=tuple(str(name) for name in state["predictors"]),
        value_model=_model_from_dict(state["value"], state["method"], registry),
        state_model=_model_from_dict(state["state"], state["missing_method"], registry),
        kept=None if state["kept"] is None else Column.from_dict(state["kept"]),
        salt=str(state["salt"]),
    )


def _model_from_dict(
    state: Mapping[str, Any] | None, method: str, registry: Registry
) -> FittedModel | None:
    return None if state is None else registry.get(method).fitted_type.from_dict(state)
