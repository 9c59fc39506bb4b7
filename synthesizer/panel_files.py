"""Files of a panel as the checks of a run see them: one row a person, and the panel behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from synthesizer.arranging import Arranged, arrange
from synthesizer.compared_files import ComparedFiles
from synthesizer.config import Config
from synthesizer.config_panel import PanelConfig
from synthesizer.data.encoding import recoded
from synthesizer.data.pairs import read_like
from synthesizer.data.schema import Kind
from synthesizer.data.sources import RawTable
from synthesizer.data.table import Column, Table
from synthesizer.errors import DataError, SynthesizerError
from synthesizer.inputs import declared_for, encode_sound
from synthesizer.panel.arrangement import Arrangement
from synthesizer.panel.frame import Frame
from synthesizer.panel.view import PersonView, constant_names
from synthesizer.panel.wide_form import wide_columns

__all__ = ["PanelFiles", "panel_files"]

MOST_NAMED = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class PanelFiles:
    """Persons of the original, the synthetic and the control file.

    Parameters
    ----------
    original, synthetic, control : PersonView
        One row a person with the same columns, as far as the files have them; no control where
        there is none.
    frame : Frame
        Periods, and the variable of the careers.
    notes : tuple of str
        What should be known of the files.
    """

    original: PersonView
    synthetic: tuple[PersonView, ...]
    control: PersonView | None
    frame: Frame
    notes: tuple[str, ...] = ()

    @property
    def panels(self) -> tuple[PersonView, tuple[PersonView, ...]]:
        """Original and synthetic persons with the variables of the panel that all files have."""
        names = [
            name
            for name in self.original.panel.names
            if all(name in own.panel for own in self.synthetic)
        ]

        def shared(view: PersonView) -> PersonView:
            return PersonView(view.columns, view.panel.select(names))

        return shared(self.original), tuple(shared(own) for own in self.synthetic)


def panel_files(files: ComparedFiles, config: Config) -> PanelFiles:
    """Arrange files by the panel of a configuration, the others like the original.

    Persons of other files are other persons, whatever they are called: nothing is compared by
    their identifiers.

    Parameters
    ----------
    files : ComparedFiles
        As they were read.
    config : Config
        With a panel.

    Raises
    ------
    DataError
        With every problem of every file, each with the file's name.
    """
    if config.panel is None:
        raise ValueError("needs a panel")
    names = [entry["name"] for entry in files.entries]
    raws = [*files.synthetic, *([] if files.control is None else [files.control])]
    original, problems = _original(files.original, config, names[0])
    needed = _needed(config.panel, files.original.names)
    others: list[Table] = []
    for raw, name in zip(raws, names[1:], strict=True):
        table, found = _other(raw, original, needed, config.panel)
        others += [] if table is None else [table]
        problems += [f"{name}: {problem.removeprefix(f'{raw.origin}: ')}" for problem in found]
    if problems:
        raise DataError(dict.fromkeys(problems))
    return _arranged(_joint([original, *others], config.panel.time), names, files, config)


def _original(raw: RawTable, config: Config, name: str) -> tuple[Table, list[str]]:
    """Return the original as a run reads it, or its sound part and what is wrong with it."""
    declared = declared_for(config.data, raw, config.declarations(raw.names))
    person = None if config.panel is None else config.panel.person
    encoded = encode_sound(raw, declared, config.drop)
    problems = [problem.removeprefix(f"{raw.origin}: ") for problem in encoded.problems]
    if not problems:
        problems = list(arrange(config.panel, encoded.table).problems)
    elif person is not None and person not in raw.names:
        problems.append(f"panel.person: unknown column {person!r}; name a column of the data")
    return encoded.table, [f"{name}: {problem}" for problem in problems]


def _needed(panel: PanelConfig, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns without which another file is no such panel."""
    wide = [name for given in panel.wide.values() for name in wide_columns(given, names)]
    long = [name for name in (panel.person, panel.time, panel.career) if name is not None]
    return tuple(dict.fromkeys(wide if panel.wide else long))


def _other(
    raw: RawTable, original: Table, needed: Sequence[str], panel: PanelConfig
) -> tuple[Table | None, list[str]]:
    """Return another file in the codes of the original, or what is wrong with it."""
    lost = [name for name in needed if name not in raw.names]
    problems = [
        f"column {name!r} is missing: the panel of the configuration needs it" for name in lost
    ]
    ids = [column.name for column in original.columns if column.variable.kind is Kind.ID]
    persons = [*ids, *([] if panel.person is None else [panel.person])]
    try:
        table = read_like(raw, original, original.names, persons)
    except SynthesizerError as error:
        return None, [*problems, *error.problems]
    return (None, problems) if problems else (table, [])


def _joint(tables: Sequence[Table], time: str | None) -> list[Table]:
    """Bring all tables to the labels and missing codes of all of them; those of time stay."""
    first = tables[0]
    columns: list[dict[str, Column]] = [dict(table) for table in tables]
    for column in first.columns:
        name, own = column.name, column.variable
        variables = [table[name].variable for table in tables if name in table]
        levels = _union(variable.levels for variable in variables)
        missing = _union(variable.missing for variable in variables)
        same = all((v.levels, v.missing) == (own.levels, own.missing) for v in variables)
        if same or name == time or own.kind is Kind.ID:
            continue
        joint = replace(own, levels=levels, missing=missing)
        for known in columns:
            if name in known:
                known[name] = recoded(known[name], joint)
    return [
        Table(known.values(), table.n_rows) for known, table in zip(columns, tables, strict=True)
    ]


def _union(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label for part in parts for label in part))


def _arranged(
    tables: Sequence[Table], names: Sequence[str], files: ComparedFiles, config: Config
) -> PanelFiles:
    found = arrange(config.panel, tables[0])
    form, frame = _sound(found)
    problems = [
        f"{name}: {problem}"
        for table, name in zip(tables[1:], names[1:], strict=True)
        for problem in form.other_problems(table)
    ]
    if problems:
        raise DataError(dict.fromkeys(problems))
    views = [_viewed(form, table) for table in tables]
    control = None if files.control is None else views[-1]
    made = views[1:] if control is None else views[1:-1]
    named = dict(zip(names, views, strict=True))
    further = dict(zip(names[1:], (*files.synthetic, *filter(None, [files.control])), strict=True))
    notes = [
        *_new_columns(further, files.original.names),
        *_changing(named, frame.time),
    ]
    return PanelFiles(
        original=views[0],
        synthetic=tuple(made),
        control=control,
        frame=frame,
        notes=tuple(notes),
    )


def _sound(found: Arranged) -> tuple[Arrangement, Frame]:
    """Return the form of the original, which was arranged once already."""
    if found.arrangement is None or found.frame is None:
        raise DataError(found.problems)
    return found.arrangement, found.frame


def _viewed(form: Arrangement, table: Table) -> PersonView:
    view = form.viewed(form.modelled(table))
    if not isinstance(view, PersonView):
        raise TypeError("a panel is seen as persons")
    return view


def _new_columns(raws: Mapping[str, RawTable], names: Sequence[str]) -> Iterator[str]:
    """Say which columns of other files the original does not have."""
    for file, raw in raws.items():
        if new := [name for name in raw.names if name not in names]:
            yield f"{file}: not in the original, and not compared: {_few(new)}"


def _changing(views: Mapping[str, PersonView], time: str) -> Iterator[str]:
    """Say which variables change within persons of another file, but not of the original."""
    (_, original), *others = views.items()
    constant = constant_names(original.panel) - {time}
    for file, view in others:
        odd = sorted((constant & set(view.panel.names)) - constant_names(view.panel))
        if odd:
            yield (
                f"{file}: nobody of the original changes {_few(odd)}, but persons of this file "
                "do; the checks of persons look at their first value"
            )


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
