"""Write the manifest of a run, which describes how its datasets were made."""

from __future__ import annotations

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.codes import splitmix
from synthesizer.data.errors import DataError
from synthesizer.data.files import sha256, write_text
from synthesizer.data.layout import Layout
from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.panel_table import PanelTable, as_panel
from synthesizer.data.panel.view import groups_of, period_labels
from synthesizer.data.randomness import Seed
from synthesizer.data.spreadsheets import formula_cells, formula_notes, spreadsheet_safe
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.workers import Phases
from synthesizer.data.writing import Format, suffix, write
from synthesizer.engine.conditions import ConditionedChain
from synthesizer.engine.registry import Registry
from synthesizer.engine.source import Source
from synthesizer.models.base import ConditionalModel
from synthesizer.models.step import Step
from synthesizer.plan.plan import Plan
from synthesizer.report.record import (
    PACKAGES,
    DataEntry,
    DesignEntry,
    FileEntry,
    GroupEntry,
    Manifest,
    PanelEntry,
    StepEntry,
    TreesEntry,
    VariableEntry,
    manifest_in,
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

    With ``safe``, a spreadsheet reads no text of a CSV file as a formula.
    """
    name = f"{stem}_{number:0{len(str(m))}d}{suffix(layout, form)}"
    written = spreadsheet_safe(table) if safe and _is_csv(name) else table
    write(written, work / name, layout, format=form)
    return name


def _is_csv(name: str) -> bool:
    return name.endswith((".csv", ".csv.gz"))


class FormulaCells:
    """Counts cells that a spreadsheet would run as formulas."""

    def __init__(self, *, safe: bool) -> None:
        self._safe, self._cells, self._names = safe, Counter[str](), tuple[str, ...]()

    def add(self, table: Table, file: str) -> None:
        """Count the cells of a dataset, and note the name of its file."""
        if _is_csv(file):
            self._cells += formula_cells(table)
            self._names = table.names

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the steward."""
        return tuple(formula_notes(self._cells, self._names, safe=self._safe))


def now() -> str:
    """Return the time in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def file_entry(path: Path) -> FileEntry:
    """Return name, size and hash of a file, or of a directory of files, for the manifest."""
    files = path.iterdir() if path.is_dir() else (path,)
    size = sum(file.stat().st_size for file in files)
    return FileEntry(name=path.name, bytes=size, sha256=sha256(path))


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file for the steward; it contains figures of the confidential data."""
    content = {"confidential": "not for release with the datasets"} | dict(content)
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
    write_text(path, text + "\n")


def manifest_of(plan: Plan, source: Source, seed: Seed, phases: Phases) -> Manifest:
    """Return the manifest of a run without its files; confidential."""
    data = plan.data
    settings = json.dumps(plan.settings, sort_keys=True)
    layout = data.layout
    labellings = layout.labellings
    manifest = Manifest(
        created=now(),
        config=plan.settings,
        config_sha256=hashlib.sha256(settings.encode()).hexdigest(),
        data=DataEntry(
            origin=data.origin,
            sha256=data.fingerprint,
            rows=data.table.n_rows if data.whole is None else data.whole.n_rows,
            columns=len(data.table),
        ),
        panel=_panel(plan),
        groups=(groups := _groups(plan)),
        n_groups=0 if groups is None else plan.table.n_units,
        design=_design(plan),
        seed=seed.entropy,
        random_key=seed.recorded_key,
        m=plan.m,
        rows=source.n_units if plan.size is None else plan.size,
        variables=tuple(
            VariableEntry(
                name=variable.name,
                kind=variable.kind.value,
                missing=variable.missing,
                date_format=variable.storage.get("date_format"),
                label=labellings[variable.name].label if variable.name in labellings else "",
                level_labels=labellings[variable.name].labels
                if variable.name in labellings
                else {},
            )
            for variable in (
                *data.table.schema,
                *plan.after.label_variables,
                *(variable for one in plan.spec.finishers for variable in one.variables),
            )
        ),
        chain=tuple(_planned_step(plan, step) for step in plan.described),
        maker=plan.maker,
        extensions={name: made.facts(source) for name, made in plan.extended.items()},
        contains=_contains(plan),
        after=tuple(plan.after.sentences),
        relations=plan.relations,
        differences=plan.differences,
        notes=(*plan.notes, *source.notes),
        seconds=phases.seconds,
        python=platform.python_version(),
        plugins=plan.registry.plugins,
        packages={name: version(name) for name in PACKAGES},
    )
    return manifest.model_copy(update=conditions_entry(source, manifest.after))


def conditions_entry(source: Source, after: Sequence[str]) -> dict[str, Any]:
    """Return the conditions for a manifest, with the steps after synthesis; empty without."""
    if not isinstance(source, ConditionedChain):
        return {}
    conditions = source.conditions
    entry = {"tables": conditions.origins, "rows": conditions.n_rows, "datasets": source.counted}
    return {"conditions": entry, "after": (*conditions.sentences, *after)}


ONE_OF_SEVERAL = (
    "this is run {} with these settings in this directory: results vary from run to run; do not "
    "rerun until it passes"
)
_DRAWS_ALIKE = ("seed", "random_key", "workers", "output", "checks", "limits")
"""Keys that do not change the synthesis: draws, output, checks."""


def earlier_runs(directory: Path, manifest: Manifest) -> int:
    """Return the number of earlier runs with the same data and settings that a run replaces."""
    try:
        before = manifest_in(directory)
    except DataError:  # another version wrote it, or it is damaged
        return 0
    if before is None or drawn_from(before) != drawn_from(manifest):
        return 0
    is_repeated = (before.seed, before.random_key) == (manifest.seed, manifest.random_key)
    return before.earlier_runs + (not is_repeated)


def drawn_from(manifest: Manifest) -> str:
    """Return data and settings of a run as a text that does not depend on the draws."""
    settings = {key: v for key, v in manifest.config.items() if key not in _DRAWS_ALIKE}
    return json.dumps([manifest.data.sha256, settings], sort_keys=True)


def _planned_step(plan: Plan, step: Step) -> StepEntry:
    """Return how one variable is made, with its columns in the file."""
    entry = step_entry(step, plan.table[step.variable].variable, plan.registry)
    columns = plan.arrangement.columns_of(step.variable)
    if columns != (step.variable,):
        entry = entry.model_copy(update={"columns": columns})
    if plan.has_chain or step in plan.fitted.steps:
        return entry
    unfitted = {
        "model": plan.maker,
        "model_of_missing_codes": None,
        "predictors": (),
        "closest": None,
        "trees": None,
    }
    return entry.model_copy(update=unfitted)


def step_entry(step: Step, variable: Variable, registry: Registry) -> StepEntry:
    """Return how one variable is drawn."""
    models = [*step.model.with_bases()]
    is_other = step.missing_method != step.method and step.missing_model is not None
    of_missing = step.missing_model if is_other and step.missing_model else step.model
    return StepEntry(
        variable=step.variable,
        kind=variable.kind.value,
        model=step.method,
        model_of_missing_codes=step.missing_method,
        predictors=step.predictors if step.max_predictors is None else (),
        closest=step.max_predictors,
        kept=step.model.abilities.copies_rows,
        codes=variable.n_codes if variable.is_coded else None,
        base=tuple(registry.name_of(model) for model in models[1:]),
        trees=_trees(step, models),
        in_words=tuple(in_words(one, variable.kind) for one in models),
        # whether and how a value is missing is a category
        missing_in_words=None if variable.is_coded else in_words(of_missing, Kind.CATEGORICAL),
        options={name: value for one in models for name, value in one.public_values.items()},
    )


def in_words(model: ConditionalModel, kind: Kind) -> str:
    """Return the name of a model in a sentence."""
    return model.in_words.replace("{tree}", "classification" if kind.is_coded else "regression")


def _trees(step: Step, models: Sequence[ConditionalModel]) -> TreesEntry | None:
    """Return how the trees of a step draw; None without trees."""
    draws = [model.tree_draws(has_predictors=bool(step.predictors)) for model in models]
    sampled = [draw for draw in draws if draw is not None]
    abilities = models[-1].abilities
    takes_codes = Kind.CATEGORICAL in abilities.kinds and abilities.max_levels is None
    if models[1:] and models[0].abilities.panel and not takes_codes:
        sampled.append((True, False))  # histories draw changes by the default tree
    if not sampled:
        return None
    return TreesEntry(
        even=any(even for even, _ in sampled), leaf_regression=all(tilt for _, tilt in sampled)
    )


def _panel(plan: Plan) -> PanelEntry | None:
    """Return the columns of persons and periods; rows of its datasets are counted in persons."""
    facts, frame = plan.arrangement.facts, plan.spec.frame
    if facts is None or not isinstance(frame, Frame):
        return None
    digest = history_digest(as_panel(plan.table), frame, len(frame.times))
    persons = plan.original.n_rows if plan.whole is None else plan.whole.n_units
    return PanelEntry.model_validate({**facts, "persons": persons, "sha256": digest})


def history_digest(panel: PanelTable, frame: Frame, end: int) -> str:
    """Return a digest of the values of a panel before period ``end``.

    It does not depend on identifiers, on the order of rows and columns, or on the codes of levels.
    Confidential: it is computed from the data.
    """
    before = panel.until(end)
    total: npt.NDArray[np.uint64] = np.zeros(before.n_rows, dtype=np.uint64)
    for name in sorted(set(before.names) - {frame.time}):
        total = splitmix(total + _hashes(before[name]))
    labels = np.array([_hash(label) for label in period_labels(frame.periods)], dtype=np.uint64)
    total = splitmix(total + labels[before.index.period])
    persons = np.sort(np.add.reduceat(total, before.index.starts))
    return hashlib.sha256(persons.tobytes()).hexdigest()


def _hashes(column: Column) -> npt.NDArray[np.uint64]:
    """Return a number for the name and value of each row."""
    variable = column.variable
    if column.is_coded:
        labels = np.array([_hash(f"{column.name}={x}") for x in variable.labels], dtype=np.uint64)
        return labels[column.data]
    values = np.where(column.is_observed, column.data, 0.0) + 0.0  # no minus zero
    codes = np.array([_hash(f"{column.name}={x}") for x in ("", *variable.missing)], np.uint64)
    return splitmix(values.astype(np.float64).view(np.uint64) + codes[column.missing_state()])


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _contains(plan: Plan) -> tuple[str, ...]:
    """Return the SHA-256 of the datasets of an earlier run that this run extends."""
    other = plan.making.contained
    if other is None:
        return ()
    return tuple(file.sha256 for file in other.files if file.name in other.datasets[: plan.m])


def _groups(plan: Plan) -> GroupEntry | None:
    """Return the groups of persons, which are then the units of datasets."""
    if groups_of(plan.original) is None:
        return None
    return GroupEntry(unit=plan.arrangement.unit, column=plan.arrangement.person_column or "")


def _design(plan: Plan) -> DesignEntry | None:
    """Return how the records were sampled."""
    design = plan.design
    if design is None:
        return None
    return DesignEntry(
        weight=design.weight, strata=design.strata, psu=design.psu, redrawn=design.redrawn
    )
