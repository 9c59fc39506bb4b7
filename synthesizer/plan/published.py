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
from synthesizer.data.errors import ConfigError, DataError, Problems, at_place, listed, plural
from synthesizer.data.files import parse_json, read_text, sha256
from synthesizer.data.formats import writing_of
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
from synthesizer.models.histories.wrapped import ByClass
from synthesizer.models.step import Step
from synthesizer.plan.context import Context
from synthesizer.plan.findings import Findings, Found, note, problem
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
                raise DataError(problem("values_unknown", names=odd, odd=_few(odd)))
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
                    problem("published_has_new_periods", period=self.periods[self.first])
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
) -> Found[Published | None]:
    """Return the published run that a plan goes on from; None where something stands against it."""
    problems, run = Problems(), extends.run
    manifest = problems.attempt(manifest_in, run)
    # to run again would replace what was published
    problems[:] = [text.replace(AGAIN, "put the published file back") for text in problems]
    if manifest is None and not problems:
        problems.append(problem("not_a_run", run=run))
    if manifest is not None:
        problems += _kind_problems(context.config, manifest)
    form = context.arrangement
    if manifest is None or manifest.panel is None or not isinstance(form, LongForm | WideForm):
        return Found(None, tuple(at_place("extends", problems)))
    problems += _panel_problems(form, manifest)
    problems += _variable_problems(context, form, manifest)
    problems += _file_problems(run, manifest, context.config)
    problems += [
        problem("published_format", path=run / name)
        for name in manifest.datasets
        if writing_of(Path(name).suffix[1:])
    ]
    problems += _step_problems(context.config.after, manifest, run)
    first, panel = manifest.panel.periods, as_panel(context.table)
    if len(form.frame.times) <= first:
        problems.append(
            problem("no_new_periods", periods=plural(len(form.frame.times), "period"), first=first)
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
    notes = () if published is None else tuple(_notes(context, published, extends, steps))
    return Found(published, tuple(at_place("extends", problems)), notes)


def _kind_problems(config: ChainConfig, manifest: Manifest) -> Iterator[str]:
    """Say which kinds of synthesis have no periods that could be added."""
    if config.panel is None or manifest.panel is None:
        which = "this configuration" if config.panel is None else "the published run"
        yield problem("extends_needs_panel", which=which)
    if maker := config.maker or next(iter(manifest.extensions), None):
        yield problem("extends_maker", maker=maker)
    if config.keep or any(step.kept for step in manifest.chain):
        yield problem("extends_kept")
    if config.strata:
        yield problem("extends_strata")
    if config.m > manifest.m:
        yield problem("extends_m", m=config.m, published=manifest.m)


def _panel_problems(form: LongForm | WideForm, manifest: Manifest) -> Iterator[str]:
    """Say where persons, periods and careers are told apart in another way."""
    entry, facts = manifest.panel, form.facts or {}
    if entry is None:
        return
    for key in ("form", "person", "time", "career"):
        was, now = getattr(entry, key), facts.get(key)
        if was != now and not (key == "time" and form.form == "wide"):
            yield problem("published_panel_differs", key=key, now=now, was=was)


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
                yield problem(
                    "published_columns_moved",
                    name=name,
                    first=first,
                    late=_few([*moved, *late]),
                )
    new = [name for name in now if name not in was and name not in added]
    if new:
        yield problem("not_published", names=new, new=_few(new))
    lost = [name for name in was if name not in now]
    if lost:
        yield problem("published_variable_lost", names=lost, lost=_few(lost))
    for name, entry in was.items():
        if name in now and now[name].kind.value != entry.kind:
            yield problem(
                "published_kind_differs", name=name, now=now[name].kind.value, was=entry.kind
            )


def _file_problems(run: Path, manifest: Manifest, config: Any) -> Iterator[str]:
    """Say which published datasets are gone, have changed, or have another format."""
    entries = {entry.name: entry for entry in manifest.files}
    for name in manifest.datasets[: config.m]:
        path = run / name
        if not path.is_file():
            yield problem("published_file_gone", path=path)
        elif sha256(path) != entries[name].sha256:
            yield problem("published_file_changed", path=path)
    if config.output.directory.resolve() == run.resolve():
        yield problem("output_is_published_run", directory=config.output.directory)
    form = config.output.format
    if form is not None and not all(name.endswith(f".{form}") for name in manifest.datasets):
        yield problem("published_other_format", form=form)


def _step_problems(after: AfterConfig | None, manifest: Manifest, run: Path) -> Iterator[str]:
    """Say which steps after synthesis differ, or cannot be done to new periods alone."""
    before = manifest.config.get("after") or {}
    for key in ("blank_rare", "uniques", "label"):
        if before.get(key):
            yield problem("published_with_after", run=run, key=key)
    for key in NUMBER_STEPS:
        was, now = before.get(key) or {}, {} if after is None else getattr(after, key)
        odd = [name for name in {**was, **now} if was.get(name) != now.get(name)]
        if odd:
            yield problem("published_after_differs", names=odd, key=key, odd=_few(odd))


def _revision_problems(
    panel: PanelTable, frame: Frame, manifest: Manifest, extends: ExtendsConfig
) -> Iterator[str]:
    """Say whether the confidential data of the published periods have changed."""
    entry = manifest.panel
    if entry is None or extends.revised:
        return
    if entry.sha256 is None:
        yield problem("published_without_digest")
    elif entry.sha256 != history_digest(panel, frame, entry.periods):
        yield problem("published_data_revised")


def _notes(
    context: Context, published: Published, extends: ExtendsConfig, steps: Sequence[Step]
) -> Iterator[str]:
    """Say what the steward should know of an extension."""
    manifest, config = published.manifest, context.config
    new, n = published.periods[published.first :], min(config.m, manifest.m)
    by = {step.variable: _goes_on(step) for step in steps if not step.model.abilities.career}
    drawn = [f"{name} by {model}" for name, model in by.items() if model]
    same = [name for name, model in by.items() if not model]
    yield note(
        "extends_adds",
        new=_few([*new], most=20),
        first=published.first,
        run=extends.run,
        datasets=plural(n, "dataset"),
        persons=plural(published.n_units, "person"),
        career=context.career,
        drawn=f"; drawn given what is published: {', '.join(drawn)}" if drawn else "",
        same=f"; stays, and is drawn for new persons: {', '.join(same)}" if same else "",
    )
    was = {entry.variable: entry.model for entry in manifest.chain}
    constant = ROLES["unchanging"]
    for name, model in by.items():
        if model and was.get(name) == constant:
            yield note("extends_changes", name=name, model=model, constant=constant)
    options = {*context.options.get(ROLES["career"], {}), *context.own(str(context.career)).options}
    if options:
        yield note("extends_options", options=", ".join(sorted(options)))
    if extends.revised:
        yield note("extends_revised")
    if config.m < manifest.m:
        yield note("extends_fewer", m=config.m, published=manifest.m)
    if config.rows is not None:
        yield note("extends_rows")


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
    whole = isinstance(model, ByClass) and type(model).fit_last is ByClass.fit_last
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
