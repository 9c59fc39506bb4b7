"""The manifest of a run: how its datasets were made, for the steward."""

from __future__ import annotations

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from synthesizer.data.files import sha256, write_text
from synthesizer.data.layout import Layout
from synthesizer.data.progress import Phases
from synthesizer.data.randomness import Seed
from synthesizer.data.spreadsheets import formula_cells, formula_notes, spreadsheet_safe
from synthesizer.data.table import Kind, Table, Variable
from synthesizer.data.writing import Format, suffix, write
from synthesizer.engine.registry import Registry
from synthesizer.engine.source import Source
from synthesizer.models.base import ConditionalModel
from synthesizer.models.step import Step
from synthesizer.plan.plan import Plan
from synthesizer.report.record import (
    PACKAGES,
    DataEntry,
    FileEntry,
    GeneticEntry,
    Manifest,
    PanelEntry,
    StepEntry,
    TreesEntry,
    VariableEntry,
)


def write_dataset(
    table: Table,
    work: Path,
    number: int,
    m: int,
    layout: Layout,
    form: Format | None,
    *,
    stem: str = "synthetic",
    safe: bool = False,
) -> str:
    """Write dataset ``number`` of ``m`` into a working directory and return the file's name.

    In a ``safe`` CSV file no text is a formula to a spreadsheet.
    """
    name = f"{stem}_{number:0{len(str(m))}d}{suffix(layout, form)}"
    written = spreadsheet_safe(table) if safe and _is_csv(name) else table
    write(written, work / name, layout, format=form)
    return name


def _is_csv(name: str) -> bool:
    return name.endswith((".csv", ".csv.gz"))


class FormulaCells:
    """Counts cells of the datasets that a spreadsheet runs when it opens them."""

    def __init__(self, *, safe: bool) -> None:
        self._safe, self._cells, self._names = safe, Counter[str](), tuple[str, ...]()

    def add(self, table: Table, file: str) -> None:
        """Look at a dataset as it was drawn, and at the name of its file."""
        if _is_csv(file):
            self._cells += formula_cells(table)
            self._names = table.names

    @property
    def notes(self) -> tuple[str, ...]:
        """What the steward must know of them."""
        return tuple(formula_notes(self._cells, self._names, safe=self._safe))


def now() -> str:
    """Return the time in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def file_entry(path: Path) -> FileEntry:
    """Return name, size and hash of a file, for the manifest."""
    return FileEntry(name=path.name, bytes=path.stat().st_size, sha256=sha256(path))


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file for the steward only: it holds figures of the confidential data."""
    content = {"confidential": "not for release with the datasets"} | dict(content)
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
    write_text(path, text + "\n")


def manifest_of(plan: Plan, source: Source, seed: Seed, phases: Phases) -> Manifest:
    """Return the manifest of a run but its files: how its datasets were made, confidential."""
    data, genetic = plan.data, plan.genetic
    settings = json.dumps(plan.settings, sort_keys=True)
    return Manifest(
        created=now(),
        config=plan.settings,
        config_sha256=hashlib.sha256(settings.encode()).hexdigest(),
        data=DataEntry(
            origin=data.origin,
            sha256=data.fingerprint,
            rows=data.table.n_rows,
            columns=len(data.table),
        ),
        panel=_panel(plan),
        seed=seed.entropy,
        secret=seed.secret_told,
        m=plan.m,
        rows=source.n_units if plan.rows is None else plan.rows,
        variables=tuple(
            VariableEntry(
                name=variable.name,
                kind=variable.kind.value,
                missing=variable.missing,
                date_format=variable.storage.get("date_format"),
            )
            for variable in data.table.schema
        ),
        chain=tuple(_planned_step(plan, step) for step in plan.spec.steps),
        genetic=None
        if genetic is None
        else GeneticEntry.model_validate(
            {
                "start": genetic.start,
                "mode": genetic.options.mode,
                "interrupted": source.interrupted,
            }
        ),
        notes=(*plan.notes, *source.notes),
        seconds=phases.seconds,
        python=platform.python_version(),
        plugins=plan.registry.plugins,
        packages={name: version(name) for name in PACKAGES},
    )


def _planned_step(plan: Plan, step: Step) -> StepEntry:
    """Return how one variable is made, and the columns of the file that hold it."""
    entry = step_entry(step, plan.table[step.variable].variable, plan.registry)
    columns = plan.arrangement.columns_of(step.variable)
    if columns != (step.variable,):
        entry = entry.model_copy(update={"columns": columns})
    if plan.has_chain:
        return entry
    unfitted = {
        "model": "genetic",
        "model_of_missing_codes": None,
        "predictors": (),
        "closest": None,
        "trees": None,
    }
    return entry.model_copy(update=unfitted)


def step_entry(step: Step, variable: Variable, registry: Registry) -> StepEntry:
    """Return how one variable is drawn."""
    models = [*_inside(step.model)]
    wrapped = [*step.model.with_bases()]
    is_other = step.missing_method != step.method and step.missing_model is not None
    of_missing = step.missing_model if is_other and step.missing_model else step.model
    return StepEntry(
        variable=step.variable,
        kind=variable.kind.value,
        model=step.method,
        model_of_missing_codes=step.missing_method,
        predictors=step.predictors if step.most is None else (),
        closest=step.most,
        kept=step.model.abilities.copies_rows,
        codes=variable.n_codes if variable.is_coded else None,
        base=tuple(registry.name_of(model) for model in models[1:]),
        trees=_trees(step, models),
        in_words=tuple(in_words(own, variable.kind) for own in wrapped),
        # whether and how a value is missing is a category
        missing_in_words=None if variable.is_coded else in_words(of_missing, Kind.CATEGORICAL),
        options={name: value for own in wrapped for name, value in own.told.items()},
    )


def in_words(model: ConditionalModel, kind: Kind) -> str:
    """Return how a model of a variable is called in a sentence."""
    return model.in_words.replace("{tree}", "classification" if kind.is_coded else "regression")


def _inside(model: object) -> Iterator[ConditionalModel]:
    """Yield a model and those that it wraps, the outer ones first."""
    while isinstance(model, ConditionalModel):
        yield model
        model = getattr(model, "base", None)


def _trees(step: Step, models: Sequence[ConditionalModel]) -> TreesEntry | None:
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
    return TreesEntry(even=any(even for even, _ in found), tilt=all(tilt for _, tilt in found))


def _panel(plan: Plan) -> PanelEntry | None:
    """Return who and when of a panel; its rows of datasets are then counted in persons."""
    facts = plan.arrangement.facts
    if facts is None:
        return None
    return PanelEntry.model_validate({**facts, "persons": plan.original.n_rows})
