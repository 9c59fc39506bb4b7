"""What a run takes from an earlier one: seed and secret to repeat it, or periods to add to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from synthesizer.config.keys import (
    NUMBER_STEPS,
    AfterConfig,
    ChainConfig,
    ExtendsConfig,
    SecretConfig,
)
from synthesizer.data.codes import splitmix
from synthesizer.data.dialects import RELEASED
from synthesizer.data.encoding import recoded
from synthesizer.data.errors import ConfigError, DataError, Problems, listed, plural
from synthesizer.data.files import parse_json, read_text, sha256
from synthesizer.data.labelled_writing import LABELLED_FORMS
from synthesizer.data.pairs import read_like
from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.forms import LongForm, WideForm
from synthesizer.data.panel.panel_table import PanelTable, as_panel
from synthesizer.data.panel.view import period_labels
from synthesizer.data.randomness import NO_SECRET, NOT_SECRET, Seed, fresh_secret, fresh_seed
from synthesizer.data.sources import RawTable, read_path
from synthesizer.data.table import Column, Kind, Table
from synthesizer.data.values import is_number
from synthesizer.engine.registry import ROLES
from synthesizer.engine.source import Request
from synthesizer.models.histories.history import WrappedHistory
from synthesizer.models.step import Step
from synthesizer.plan.context import Context
from synthesizer.report.record import AGAIN, Manifest, manifest_in

MOST_NAMED = 5
"""Columns that a message names."""
_REMEDY = "name the manifest.json of a finished run, or take secret out to have one drawn"


@dataclass(frozen=True, kw_only=True, eq=False)
class Published:
    """The datasets of a published run, and the confidential data that go on from them."""

    directory: Path
    manifest: Manifest
    arrangement: LongForm | WideForm
    """Of the confidential data, whose periods are more."""
    source: Table
    """The confidential data as they were read."""
    first: int
    """The first period that is new."""
    n_units: int
    """Persons of the first dataset."""

    @property
    def periods(self) -> tuple[str, ...]:
        """All periods as they are written, the published ones first."""
        return period_labels(self.arrangement.frame.periods)

    def path(self, dataset: int) -> Path:
        """Return the file of a dataset, counted from 0."""
        return self.directory / self.manifest.datasets[dataset]

    def given(self, request: Request) -> Iterator[PanelTable]:
        """Yield the published datasets in the codes of the confidential data."""
        yield from map(self.panel, range(request.first, request.first + request.m))

    def raw(self, dataset: int) -> RawTable:
        """Return the file of a dataset as it was read."""
        return read_path(self.path(dataset), min_rows=1, **RELEASED)

    def panel(self, dataset: int) -> PanelTable:
        """Return a published dataset in the codes of the confidential data.

        Raises
        ------
        DataError
            If it holds what the confidential data do not know.
        """
        form, raw = self.arrangement, self.raw(dataset)
        ids = [column.name for column in self.source.columns if column.variable.kind is Kind.ID]
        if isinstance(form, LongForm):
            ids += [form.person, form.time]
        faults = Problems()
        with faults.gathered(raw.origin):
            read = read_like(raw, self.source, raw.names, ids)
            table = Table(_without_null(read[name], self.source[name]) for name in read.names)
            odd = [
                name
                for name in table.names
                if name not in ids and _labels(table[name]) != _labels(self.source[name])
            ]
            if odd:
                raise DataError(
                    f"values of {_few(odd)} are unknown to the confidential data; declare all "
                    "levels and missing codes under `variables`"
                )
            table = Table(_recast(table[name], self.source[name]) for name in table.names)
            if isinstance(form, WideForm):
                wide = {name: columns[: self.first] for name, columns in form.wide.items()}
                form = replace(form, schema=table.schema, wide=wide)
            problems = form.other_problems(table)
            if problems:
                raise DataError(problems)
            panel = form.modelled(table)
            if int(panel.index.period.max()) >= self.first:
                raise DataError(
                    f"has rows in {self.periods[self.first]!r} or later, which would be new: the "
                    "confidential data have periods before or between the published ones that the "
                    "run did not have; leave these out"
                )
            return panel.until(self.first)
        raise DataError(faults)


def _labels(column: Column) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return column.variable.levels, column.variable.missing


def _without_null(column: Column, like: Column) -> Column:
    """Return a number of a typed file, whose nulls stand for the code that no number can be."""
    words = [code for code in like.variable.missing if not is_number(pa.array([code]))[0]]
    null = [code for code in column.variable.missing if code not in like.variable.missing]
    if column.is_coded or len(words) != 1 or null != [""]:
        return column
    missing = tuple(words[0] if code == "" else code for code in column.variable.missing)
    renamed = replace(column.variable, missing=missing)
    return recoded(Column(renamed, column.data, column.states), like.variable)


def _recast(column: Column, like: Column) -> Column:
    """Return a column under the variable of the confidential data, but for its codes."""
    if column.variable.kind is Kind.ID or _labels(column) != _labels(like):
        return column
    return Column(like.variable, column.data, column.states)


def plan_published(
    context: Context, extends: ExtendsConfig, steps: Sequence[Step]
) -> Published | None:
    """Return the published run that a plan goes on from.

    Everything that stands against it becomes a problem of the context.
    """
    problems = Problems()
    run = extends.run
    manifest = problems.attempt(manifest_in, run)
    # to run again would replace what was published
    problems[:] = [text.replace(AGAIN, "put the published file back") for text in problems]
    if manifest is None and not problems:
        problems.append(
            f"{run} is no result of a run: it has no manifest.json; name the directory that "
            "'synthesizer run' wrote"
        )
    if manifest is not None:
        problems += _kind_problems(context.config, manifest)
    form = context.arrangement
    if manifest is None or manifest.panel is None or not isinstance(form, LongForm | WideForm):
        context.problems.at("extends", problems)
        return None
    problems += _panel_problems(form, manifest)
    problems += _variable_problems(context, form, manifest)
    problems += _file_problems(run, manifest, context.config)
    problems += [
        f"{run / name}: a file of SPSS or Stata cannot be gone on with byte for byte; publish CSV "
        "or Parquet files (output: {format: csv})"
        for name in manifest.datasets
        if name.endswith(LABELLED_FORMS)
    ]
    problems += _step_problems(context.config.after, manifest, run)
    first, panel = manifest.panel.periods, as_panel(context.table)
    if len(form.frame.times) <= first:
        problems.append(
            f"the confidential data have {plural(len(form.frame.times), 'period')} and the "
            f"published run {first}: name the file that has all of these and new ones"
        )
    published = None
    if not problems:
        published = Published(
            directory=run,
            manifest=manifest,
            arrangement=form,
            source=context.data.table,
            first=first,
            n_units=0,
        )
        with problems.gathered():
            published = replace(published, n_units=published.panel(0).n_units)
        problems += _revision_problems(panel, form.frame, manifest, extends)
    context.problems.at("extends", problems)
    if published is not None:
        context.notes.extend(_notes(context, published, extends, steps))
    return published


def _kind_problems(config: ChainConfig, manifest: Manifest) -> Iterator[str]:
    """Say which kinds of synthesis have no periods that could be added."""
    if config.panel is None or manifest.panel is None:
        which = "this configuration" if config.panel is None else "the published run"
        yield (
            f"{which} has no `panel`, and only a panel has new periods; synthesise the new file "
            "as a whole, without extends"
        )
    if config.genetic is not None or manifest.genetic is not None:
        yield (
            "datasets of the genetic synthesizer are evolved as a whole and cannot go on; take "
            "extends or genetic out"
        )
    if config.keep or any(step.kept for step in manifest.chain):
        yield (
            "kept variables belong to persons of the confidential data, synthetic histories do "
            "not; take extends or keep out"
        )
    if config.strata:
        yield (
            "strata are not told apart in new periods; take strata out and put its variables "
            "first in visit_sequence"
        )
    if config.m > manifest.m:
        yield f"m ({config.m}) must be at most {manifest.m}: so many datasets were published"


def _panel_problems(form: LongForm | WideForm, manifest: Manifest) -> Iterator[str]:
    """Say where persons, periods and careers are told apart in another way."""
    entry, facts = manifest.panel, form.facts or {}
    if entry is None:
        return
    for key in ("form", "person", "time", "career"):
        was, now = getattr(entry, key), facts.get(key)
        if was != now and not (key == "time" and form.form == "wide"):
            yield (
                f"panel: {key} is {now!r} here and {was!r} in the published run; configure both "
                "alike"
            )


def _variable_problems(
    context: Context, form: LongForm | WideForm, manifest: Manifest
) -> Iterator[str]:
    """Say which variables differ from the published ones."""
    first = 0 if manifest.panel is None else manifest.panel.periods
    was = {entry.name: entry for entry in manifest.variables}
    now = {variable.name: variable for variable in context.data.table.schema}
    added: set[str] = set()
    if isinstance(form, WideForm):
        for name, columns in form.wide.items():
            added |= set(columns)
            moved = [c for c in columns[:first] if c not in was]
            late = [c for c in columns[first:] if c in was]
            if moved or late:
                yield (
                    f"panel.wide.{name}: the first {first} columns must be those of the published "
                    f"run, and later ones new ({_few([*moved, *late])}); put the new columns last"
                )
    new = [name for name in now if name not in was and name not in added]
    if new:
        yield f"{_few(new)} not in the published run; put them under `drop`"
    lost = [name for name in was if name not in now]
    if lost:
        yield (
            f"{_few(lost)} in the published run, but not here; take them out of `drop`, or add "
            "them to the file"
        )
    for name, entry in was.items():
        if name in now and now[name].kind.value != entry.kind:
            yield (
                f"variable {name!r} is {now[name].kind.value} here and {entry.kind} in the "
                f"published run; set variables.{name}.kind: {entry.kind}"
            )


def _file_problems(run: Path, manifest: Manifest, config: Any) -> Iterator[str]:
    """Say which published datasets are gone, have changed, or have another format."""
    entries = {entry.name: entry for entry in manifest.files}
    for name in manifest.datasets[: config.m]:
        path = run / name
        if not path.is_file():
            yield f"{path} is gone; put the published file back"
        elif sha256(path) != entries[name].sha256:
            yield (
                f"{path} is not the published file: its hash is not that of the manifest; put the "
                "published file back"
            )
    if config.output.directory.resolve() == run.resolve():
        yield (
            f"output.directory ({config.output.directory}) is the published run itself, which has "
            "to stay; name another directory"
        )
    form = config.output.format
    if form is not None and not all(name.endswith(f".{form}") for name in manifest.datasets):
        yield f"output.format ({form}) is not that of the published files; take it out"


def _step_problems(after: AfterConfig | None, manifest: Manifest, run: Path) -> Iterator[str]:
    """Say which steps after synthesis differ, or cannot be done to new periods alone."""
    before = manifest.config.get("after") or {}
    for key in ("blank_rare", "uniques", "label"):
        if before.get(key):
            yield (
                f"{run}: was published with after.{key}, which cannot be done to new periods "
                "alone; publish all periods anew"
            )
    for key in NUMBER_STEPS:
        was, now = before.get(key) or {}, {} if after is None else getattr(after, key)
        odd = [name for name in {**was, **now} if was.get(name) != now.get(name)]
        if odd:
            yield (
                f"after.{key} is not that of the published run for {_few(odd)}, and new periods "
                "must be changed as the published ones were; configure both alike"
            )


def _revision_problems(
    panel: PanelTable, frame: Frame, manifest: Manifest, extends: ExtendsConfig
) -> Iterator[str]:
    """Say whether the confidential data of the published periods have changed."""
    entry = manifest.panel
    if entry is None or extends.revised:
        return
    if entry.sha256 is None:
        yield (
            "an earlier version wrote the published run and did not note what its confidential "
            "data were, so that a revision cannot be seen; set extends.revised: true (--revised) "
            "if you know that this is the right file"
        )
    elif entry.sha256 != history_digest(panel, frame, entry.periods):
        yield (
            "the confidential data of the published periods are not those that the run was made "
            "of; name the right file, or, if they were revised, set extends.revised: true "
            "(--revised)"
        )


def _notes(
    context: Context, published: Published, extends: ExtendsConfig, steps: Sequence[Step]
) -> Iterator[str]:
    """Say what the steward should know of an extension."""
    manifest, config = published.manifest, context.config
    new, n = published.periods[published.first :], min(config.m, manifest.m)
    by = {step.variable: _goes_on(step) for step in steps if not step.model.abilities.career}
    drawn = [f"{name} by {model}" for name, model in by.items() if model]
    same = [name for name, model in by.items() if not model]
    yield (
        f"extends: adds {_few([*new], most=20)} to the {published.first} periods of {extends.run}, "
        f"in {plural(n, 'dataset')} of {plural(published.n_units, 'person')}; "
        f"{context.career!r} goes on from each person's states"
        + (f"; drawn given what is published: {', '.join(drawn)}" if drawn else "")
        + (f"; stays, and is drawn for new persons: {', '.join(same)}" if same else "")
    )
    was = {entry.variable: entry.model for entry in manifest.chain}
    constant = ROLES["unchanging"]
    for name, model in by.items():
        if model and was.get(name) == constant:
            yield (
                f"extends: {name!r} never changes in the published run and is drawn by {model} "
                "now, as persons of the confidential data change it, or as the configuration "
                f"asks; variables.{name}.method: {constant} lets published persons keep it"
            )
    options = {*context.options.get(ROLES["career"], {}), *context.own(str(context.career)).options}
    if options:
        yield (
            f"extends: {', '.join(sorted(options))} of the model of careers have no effect: new "
            "periods follow from each person's states by trees of their own"
        )
    if extends.revised:
        yield (
            "extends: the confidential data of published periods count as revised: the new "
            "periods follow the revised file, the published ones stay as they are"
        )
    if config.m < manifest.m:
        yield f"extends: {config.m} of the {manifest.m} published datasets go on"
    if config.rows is not None:
        yield "extends: rows has no effect: the published persons go on, and new ones come in"


def history_digest(panel: PanelTable, frame: Frame, end: int) -> str:
    """Return a digest of what a panel holds before period ``end``.

    It is the same whatever the persons are called, in whatever order rows and columns stand, and
    however levels are coded. For the steward: it is computed from confidential data.
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


def _goes_on(step: Step) -> str:
    """Return the model that draws a variable in new periods, "" where persons keep its value."""
    model = step.model
    if model.abilities.person:
        return ""
    # whole histories, or events, are not known before their end
    whole = isinstance(model, WrappedHistory) and type(model).fit_last is WrappedHistory.fit_last
    return ROLES["changing"] if whole or getattr(model, "since", None) else step.method


def _few(names: list[str], most: int = MOST_NAMED) -> str:
    return listed([*map(repr, names)], most)


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
