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

from synthesizer.data.archive import read_archive, write_archive
from synthesizer.data.errors import OutputError, SavedModelError, SynthesizerError
from synthesizer.data.expressions.language import Expression
from synthesizer.data.layout import Layout
from synthesizer.data.panel.arrangement import PLAIN, Arrangement
from synthesizer.data.panel.forms import read_arrangement
from synthesizer.data.panel.frame import Frame
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, Kind, Schema, Variable
from synthesizer.engine.chain import FittedChain, FittedStratum
from synthesizer.engine.registry import Registry
from synthesizer.models.base import FittedModel
from synthesizer.models.histories.history import FittedCareerModel
from synthesizer.models.limits import Support
from synthesizer.models.step import FittedStep, Forbid, Rule

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
    plugins : tuple of str
        Modules whose models were known to the fit; loading names them and imports none.
    arrangement : Arrangement
        How the source held its units; datasets are written in the same form.
    """

    chain: FittedChain
    layout: Layout
    seed: int
    origin: Mapping[str, Any]
    path: Path | None = None
    plugins: tuple[str, ...] = ()
    arrangement: Arrangement = PLAIN

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
        "plugins": list(model.plugins),
        "layout": model.layout.to_dict(),
        "schema": [variable.to_dict() for variable in chain.schema],
        "rules": [{"if": r.condition.text, "value": r.value.to_dict()} for r in chain.rules],
        "forbids": [_zero_to_dict(zero) for zero in chain.forbids],
        "proper": chain.proper,
        "frame": None if chain.frame is None else chain.frame.to_dict(),
        "arrangement": model.arrangement.to_dict(),
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
        If the file is cut short, altered, of another version, or needs a model that is not in
        the registry; the plug-ins of the fit are named then, none is imported.
    """
    content = read_archive(path, kind=KIND)
    try:
        return _from_content(content, registry, path)
    except SavedModelError:
        raise
    except SynthesizerError as error:
        absent = _absent_plugins(content, registry)
        raise SavedModelError(f"{path}: {problem}{absent}" for problem in error.problems) from error
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError):
        raise SavedModelError(
            f"{path}: its content does not make a model; it was altered or written by another "
            f"version: fit and save the model again{_absent_plugins(content, registry)}"
        ) from None


def _plugins(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of modules that a file holds; it may be older, or altered."""
    names = [str(name) for name in content.get("plugins", ())]
    return tuple(name for name in names if all(word.isidentifier() for word in name.split(".")))


def _absent_plugins(content: Mapping[str, Any], registry: Registry) -> str:
    """Say which plug-ins the fit had and the registry lacks."""
    absent = [name for name in _plugins(content) if name not in registry.plugins]
    if not absent:
        return ""
    options = " ".join(f"--plugin {name}" for name in absent)
    return f"; the model was fitted with plug-ins: if you trust them, say {options}"


def _from_content(content: Mapping[str, Any], registry: Registry, path: Path) -> SavedModel:
    schema = Schema(tuple(Variable.from_dict(state) for state in content["schema"]))
    chain = FittedChain(
        schema=schema,
        strata=tuple(_stratum_from_dict(state, schema, registry) for state in content["strata"]),
        rules=tuple(
            Rule(condition=Expression.parse(r["if"]), value=Column.from_dict(r["value"]))
            for r in content["rules"]
        ),
        forbids=tuple(_zero_from_dict(zero) for zero in content["forbids"]),
        proper=bool(content["proper"]),
        frame=None if content["frame"] is None else Frame.from_dict(content["frame"]),
    )
    drawn = {v.name for v in schema if v.kind is not Kind.ID}
    if chain.frame is not None and chain.frame.career is not None:
        drawn.discard(chain.frame.time)
    for stratum in chain.strata:
        for steps in stratum.replicates:
            _check_steps(steps, drawn, chain.frame)
    counts = {len(stratum.replicates) for stratum in chain.strata}
    if len(counts) != 1 or not min(counts):
        raise ValueError("every stratum needs the same number of fits")
    return SavedModel(
        chain=chain,
        layout=Layout.from_dict(content["layout"]),
        seed=Seed(int(content["seed"])).entropy,
        origin=dict(content["origin"]),
        path=path,
        plugins=_plugins(content),
        arrangement=read_arrangement(content["arrangement"]),
    )


def _zero_to_dict(zero: Forbid | Support) -> dict[str, Any]:
    if isinstance(zero, Support):
        return {"support": zero.to_dict()}
    return {"if": zero.condition.text, "variable": zero.variable}


def _zero_from_dict(state: Mapping[str, Any]) -> Forbid | Support:
    if "support" in state:
        return Support.from_dict(state["support"])
    return Forbid(condition=Expression.parse(state["if"]), variable=str(state["variable"]))


def _check_steps(steps: tuple[FittedStep, ...], drawn: set[str], frame: Frame | None) -> None:
    """Raise ValueError unless the steps draw every variable once, from earlier ones."""
    earlier: set[str] = set()
    careers = [s for s in steps if isinstance(s.value_model, FittedCareerModel)]
    if len(careers) != (0 if frame is None else 1):
        raise ValueError("a panel has one career, a table none")
    for step in steps:
        decimals = step.variable.decimals
        if decimals is not None and not 0 <= decimals <= 15:
            raise ValueError("decimals must be 0 to 15")
        if not set(step.predictors) <= earlier or step.variable.name in earlier:
            raise ValueError("predictors must come before their target")
        earlier.add(step.variable.name)
        if frame is not None and step in careers:
            earlier.update(frame.derived)
    if not drawn <= earlier or not earlier - drawn <= set(frame.derived if frame else ()):
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
        "reserve": None if step.reserve is None else step.reserve.to_dict(),
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
        reserve=None if state["reserve"] is None else Column.from_dict(state["reserve"]),
    )


def _model_from_dict(
    state: Mapping[str, Any] | None, method: str, registry: Registry
) -> FittedModel | None:
    if state is None:
        return None
    return registry.get(method).fitted_type.read(state, lambda own: read_nested(own, registry))


def read_nested(state: Mapping[str, Any], registry: Registry) -> FittedModel:
    """Rebuild a model inside another one: its class is looked up, never imported by name.

    Raises
    ------
    ValueError
        If no registered model has this class.
    """
    wanted = str(state["type"])
    for name in registry.names:
        known = registry.get(name).fitted_type
        if f"{known.__module__}:{known.__qualname__}" == wanted:
            return known.read(state["state"], lambda own: read_nested(own, registry))
    raise ValueError("a model inside another one is not registered")
