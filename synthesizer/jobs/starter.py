"""The starter configuration that `init` writes: it runs as it is, with comments on all guesses."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from synthesizer.config.keys import ChainConfig, PanelConfig, SqlConfig
from synthesizer.config.reading import read_chain_config, read_config
from synthesizer.data.csv_text import FoundEncoding, find_encoding
from synthesizer.data.dialects import COMMON_FORM, FileOptions
from synthesizer.data.encoding import RARE, RareLevels, encode_inferred
from synthesizer.data.errors import ConfigError, did_you_mean, plural
from synthesizer.data.expressions import Expression
from synthesizer.data.files import check_file, write_texts
from synthesizer.data.formats import beside, foreign_keys
from synthesizer.data.guessing import Declaration, Inferred, infer
from synthesizer.data.packed import ARROW_SUFFIXES, JSON_SUFFIXES, PACKED
from synthesizer.data.panel.arrangement import Arrangement, Arranging
from synthesizer.data.panel.forms import WideForm, wide_columns
from synthesizer.data.panel.panel_table import are_numbers, natural_order
from synthesizer.data.panel.view import follows
from synthesizer.data.plugins import extension_keys
from synthesizer.data.randomness import fresh_seed
from synthesizer.data.relations import (
    Relation,
    codes_among_numbers,
    find_relations,
    relations_of_panel,
)
from synthesizer.data.roles import REPEATS, Roles, roles_of
from synthesizer.data.sources import RawTable, WholeSource, csv_bytes, read_sql, without_password
from synthesizer.data.spreadsheets import formula_cells
from synthesizer.data.table import Kind, Table, Variable
from synthesizer.data.workers import Advance, Listener, Phases, silent
from synthesizer.data.writing import suffix
from synthesizer.engine.structural_zeros import QUICK_WORK, ZeroCells, structural_zeros
from synthesizer.jobs.starter_hints import hints_of, of_periods, repeated_hint
from synthesizer.measures.risk.suggest import Suggestion, suggest
from synthesizer.models.fixed import agreement
from synthesizer.models.histories.history import panel_of
from synthesizer.plan.arrange import form_of
from synthesizer.plan.dependents import suggest_pair
from synthesizer.plan.inputs import declarations, read_to_describe
from synthesizer.plan.overview import Codebook, CodebookVariable, describe


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A source, read and described for the starter."""

    roles: Roles
    """Kinds of the columns, and columns left out."""
    table: Table
    """The encoded columns."""
    rare: RareLevels
    """The grouping of rare levels in a run."""
    arrangement: Arrangement
    """How rows are grouped into units."""
    units: Table
    """One row for each unit, used to suggest keys and target."""
    wide: Mapping[str, tuple[str, ...]]
    """Columns of the longitudinal variables of a wide panel."""
    variables: Mapping[str, Variable]
    """Longitudinal variables with levels and missing codes of all columns."""
    arranging: Arranging | None = None
    """The section that groups rows; None for a panel."""
    zeros: tuple[ZeroCells, ...] = ()
    """Pairs of variables with impossible combinations."""
    guessed_order: str | None = None
    """Column of the periods, if their order is a guess."""


@dataclass(frozen=True, kw_only=True)
class StarterOptions:
    """Options of `init` about a file."""

    panel: PanelConfig | None = None
    encoding: str | None = None
    file: FileOptions = field(default_factory=FileOptions)
    """How to read the file; absent options are inferred."""
    drop: tuple[str, ...] = ()
    """Columns to leave out."""
    ids: tuple[str, ...] = ()
    """Identifiers."""
    sections: Mapping[str, Any] = field(default_factory=dict)
    """Options by key of an extension."""

    @property
    def form(self) -> PanelConfig:
        """The panel; an empty one if there is none."""
        return self.panel or PanelConfig.model_construct()

    @property
    def has_form(self) -> bool:
        """Whether units have several rows, so that identifiers may repeat."""
        return self.panel is not None or self.config.arranging is not None

    @cached_property
    def config(self) -> ChainConfig:
        """The sections as a configuration.

        Raises
        ------
        ConfigError
            With every problem of the sections.
        """
        return read_chain_config(self.sections)

    @property
    def named(self) -> list[tuple[str, str]]:
        """Options and the columns that they name."""
        panel = self.form
        named: list[tuple[str, str | None]] = [("--drop", name) for name in self.drop]
        named += [("--id", name) for name in self.ids]
        for key, section in self.config.sections.items():
            named += [(f"--set {key}", name) for name in section.kinds]
        career = None if panel.wide else panel.career
        named += [("--person", panel.person), ("--time", panel.time)]
        named.append(("--set panel.career", career))
        return [(key, name) for key, name in named if name is not None]

    def problems(self, columns: Sequence[str]) -> Iterator[str]:
        """Yield problems of the options, given the columns of the file."""
        by = self.config.arranged_by
        if by is not None and self.panel is not None:
            yield f"{by} and panel both group the rows; keep one"
        roles: dict[str, list[str]] = {}
        for key, name in self.named:
            if name not in columns:
                hint = did_you_mean(name, columns, f"name a column, or remove {key}")
                yield f"{key}: the data have no column {name!r}; {hint}"
            elif key not in roles.setdefault(name, []):
                roles[name].append(key)
        for name, keys in roles.items():
            if len(keys) > 1 and keys not in (["--id", "--person"], ["--id", f"--set {by}"]):
                yield f"{' and '.join(keys)} both name {name!r}; keep one"


@dataclass(frozen=True, kw_only=True)
class Starter:
    """A starter configuration, and the content of its screen."""

    path: Path
    text: str
    about: str
    """Size and encoding of the file."""
    looks: Mapping[str, str]
    """Columns that a person should check, with the reason."""
    n_columns: int
    columns: tuple[CodebookVariable, ...]
    """All columns with their kinds and reasons."""
    notes: tuple[str, ...] = ()
    """Further remarks."""
    relations: tuple[Relation, ...] = ()
    """Relations that hold in all rows, and will in synthetic rows."""


def panel_config(
    *,
    person: str | None = None,
    time: str | None = None,
    career: str | None = None,
    wide: Sequence[str] = (),
    absent: Sequence[str] = (),
) -> PanelConfig | None:
    """Return the panel of the options of `init`; None without such options.

    Examples
    --------
    >>> panel_config(wide=["state=jan..dec"], career="state").wide
    {'state': ('jan..dec',)}
    """
    pairs = [text.partition("=") for text in wide]
    if wrong := [text for text, pair in zip(wide, pairs, strict=True) if not all(pair)]:
        raise ConfigError(
            f"--wide {text}: write VARIABLE=FIRST..LAST or VARIABLE=COLUMN,COLUMN" for text in wrong
        )
    names = [name.strip() for name, _, _ in pairs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"--wide: {name!r} is given twice; keep one" for name in twice)
    columns = {name.strip(): _names(cells) for name, _, cells in pairs}
    options = {"person": person, "time": time, "career": career, "wide": columns, "absent": absent}
    keys = {key: value for key, value in options.items() if value}
    return read_chain_config({"panel": keys}).panel if keys else None


def file_options(
    path: Path = Path("x.csv"), *, names: str | Sequence[str] | None = None, **options: Any
) -> FileOptions:
    r"""Return the file options of `init`; raise ConfigError for bad ones.

    Examples
    --------
    >>> file_options(delimiter=";", names="age,sex")
    {'delimiter': ';', 'names': ('age', 'sex')}
    """
    signs = {"tab": "\t", "\\t": "\t", "single": "'", "double": '"'}
    keys = {key: signs.get(value, value) for key, value in options.items() if value is not None}
    if names is not None:
        keys["names"] = next(csv.reader([names])) if isinstance(names, str) else names
    data = read_config({"data": {"path": path, **keys}}).data
    reading = {key: getattr(data, key) for key in keys if key in FileOptions.__annotations__}
    return cast("FileOptions", reading | ({"of_format": data.of_format} if data.of_format else {}))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _read(raw: RawTable, options: StarterOptions) -> Reading:
    """Return a source with roles of all columns and grouped rows."""
    panel, config = options.form, options.config
    wide = {name: wide_columns(cells, raw.names) for name, cells in panel.wide.items()}
    declared = _declared(raw, options, wide)
    declared |= {name: Declaration(kind=Kind.ID) for name in options.ids if name not in declared}
    declared |= declarations(config)
    fixed = {name for key, name in options.named if key != "--drop"}
    fixed |= {column for columns in wide.values() for column in columns}
    roles = roles_of(raw, declared, drop=options.drop, fixed=fixed, repeats=options.has_form)
    table = encode_inferred(roles.raw, roles.inferred)
    again = _ordered_periods(roles.inferred, panel.time)
    if not options.has_form:
        named = {*fixed, *roles.declared}
        codes = [name for name in codes_among_numbers(table) if name not in named]
        again |= dict.fromkeys(codes, Declaration(kind=Kind.CATEGORICAL))
    arranging = config.arranging and config.arranging.completed(table)
    if arranging is not None:
        config = config.model_copy(update={str(config.arranged_by): arranging})
        new = {n: kind for n, kind in config.kinds.items() if n not in roles.declared}
        again |= {name: Declaration(kind=kind) for name, kind in new.items()}
    if again:
        roles = replace(roles, inferred=infer(roles.raw, {**roles.declared, **again}))
        table = encode_inferred(roles.raw, roles.inferred)
    config = config.model_copy(update={"panel": options.panel})
    arrangement = form_of(config, table)
    modelled = arrangement.modelled(table)
    in_file = {*table.names, *wide} - ({panel.time} if panel.career else set())
    searched = modelled.select(name for name in modelled.names if name in in_file)
    longitudinal = arrangement.variables if isinstance(arrangement, WideForm) else ()
    return Reading(
        roles=roles,
        arranging=arranging,
        table=table,
        rare=RareLevels(
            scope="text",
            columns=wide,
            persons=who if (who := config.unit_column) in table.names else None,
            public={panel.time or ""},
            fixed=panel.absent,
            numbers=[*filter(roles.raw.layout.holds_numbers, table.names)],
        ),
        arrangement=arrangement,
        units=arrangement.viewed(modelled),
        zeros=structural_zeros(searched, triples=False, work=QUICK_WORK).zeros,
        wide=wide,
        variables={variable.name: variable for variable in longitudinal},
        guessed_order=panel.time if panel.time in again else None,
    )


def _ordered_periods(inferred: Iterable[Inferred], time: str | None) -> dict[str, Declaration]:
    """Return a declaration of periods that are words, in their natural order."""
    return {
        variable.name: Declaration(
            kind=Kind.ORDERED,
            levels=tuple(sorted(variable.levels, key=natural_order)),
            every_row=True,
        )
        for variable in (item.variable for item in inferred)
        if variable.name == time
        and variable.kind is Kind.CATEGORICAL
        and not are_numbers(variable.levels)
    }


def _declared(
    raw: RawTable, options: StarterOptions, wide: Mapping[str, Sequence[str]]
) -> dict[str, Declaration]:
    """Return declarations of persons, periods and columns with states."""
    panel = options.form
    by_name = {
        panel.person: Declaration(kind=Kind.ID, every_row=True),
        panel.time: Declaration(every_row=True),
        None if wide else panel.career: Declaration(kind=Kind.CATEGORICAL),
    }
    declared = dict(_like_states(raw, panel.career, wide))
    return declared | {name: by_name[name] for name in raw.names if name in by_name}


def _like_states(
    raw: RawTable, career: str | None, wide: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, Declaration]]:
    for name, columns in wide.items():
        kinds = {item.variable.kind for item in infer(raw.select(list(columns)))}
        if name == career or len(kinds) > 1:
            yield from ((column, Declaration(kind=Kind.CATEGORICAL)) for column in columns)


def write_starter(
    data: Path | SqlConfig,
    output: Path | None,
    *,
    options: StarterOptions | None = None,
    overwrite: bool,
    listener: Listener = silent,
) -> Starter:
    """Write a starter configuration for a data file or a query, and return it.

    It contains the seed and counts of the data, so it is confidential.
    """
    path = output if output is not None else Path(f"{_stem(data)}.yaml")
    options = options or StarterOptions()
    read = [data, *beside(data, options.file)] if isinstance(data, Path) else []
    check_file(path, overwrite=overwrite, read=read)
    starter = make_starter(data, path, options, listener)
    write_texts({path: starter.text}, overwrite=overwrite)
    return starter


def make_starter(
    data: Path | SqlConfig, path: Path, options: StarterOptions, listener: Listener = silent
) -> Starter:
    """Return a starter configuration for the file ``path``, without writing it.

    Raises
    ------
    DataError, ConfigError
        With every problem of the source, or of the options.
    """
    phases = Phases(listener)
    with phases.phase("read"):
        raw, whole, encoding = _source(data, options)
        detected = raw.file_options
        if problems := list(options.problems(raw.names)):
            raise ConfigError(problems)
    with phases.phase("kinds of columns"):
        reading = _read(raw, options)
    source = str(data) if isinstance(data, Path) else f"--sql {without_password(data.url)} QUERY"
    looks = {
        name: f"{look}; it looks like {_repeating(raw, reading.table, name, source)}"
        if REPEATS in look
        else look
        for name, look in reading.roles.looks.items()
    }
    grouped, done = reading.rare.grouped(reading.table)  # as in a run
    looks |= (many := reading.rare.many(reading.table))
    raw = reading.roles.raw
    relations: tuple[Relation, ...] = ()
    if options.panel is not None or not options.has_form:
        with phases.phase("columns that follow from others", len(raw.names)) as advance:
            relations = _relations(reading, grouped, options, advance)
    units = reading.units if options.has_form else grouped
    scenario = _scenario(reading, units, options)
    layout = list(_layout(options.file, detected))
    formulas = formula_cells(reading.table) if raw.layout.csv is not None else {}
    base = path.absolute().parent
    keys, by = extension_keys(), options.config.arranged_by
    lines = list(reading.arranging.lines(reading.table)) if reading.arranging else []
    codebook = describe(raw, reading.roles.inferred, reading.table)
    text = _rendered(
        name=path.name,
        query=data if isinstance(data, SqlConfig) else None,
        path=_from(base, data),
        of_format=[(key, _from(base, value)) for key, value in _of_format(options).items()],
        sample="" if whole is None else whole.sentence(raw),
        encoding=encoding,
        layout=layout,
        directory=f"{_stem(data)}_synthetic",
        formulas=[f"{count:,} of {as_yaml(name)}" for name, count in formulas.items()],
        seed=fresh_seed(),
        panel=options.panel,
        arranging={"key": by, "lines": lines} if lines else None,
        sections=[
            (key, value, keys[key].description)
            for key, value in options.sections.items()
            if key != by or not lines
        ],
        variables=list(_entries(reading, codebook, () if options.has_form else relations)),
        survival=suggest_pair(reading.table) if options.panel is None else None,
        zeros=reading.zeros,
        dropped=reading.roles.dropped,
        relations=dict.fromkeys(" ".join(r.sentence.split())[:_MAX_SENTENCE] for r in relations),
        scenario=scenario,
    )
    labels = {name: labelling.label for name, labelling in raw.layout.labellings.items()}
    n_columns = len(raw.names) + len(reading.roles.dropped)
    return Starter(
        path=path,
        text=text,
        about=f"{plural(n_columns, 'column')}, {plural(raw.n_rows, 'row')}"
        + (f", {encoding.name}" if encoding is not None else ""),
        looks=looks,
        n_columns=n_columns,
        columns=codebook.variables,
        notes=(
            *_encoding_notes(encoding),
            *(f"the file is read with {k}: {json.dumps(v)} ({why})" for k, v, why in layout if why),
            *_format_notes(data, raw),
            *_rare_notes(len(done) - len(many)),
            *reading.rare.left_notes(grouped),
            *hints_of(reading.table, source, labels, options.sections, has_form=options.has_form),
            *_scenario_notes(scenario),
        ),
        relations=relations,
    )


def relations_of(
    table: Table, arrangement: Arrangement, panel: PanelConfig | None, **search: Any
) -> tuple[Sequence[Relation], Table]:
    """Return the relations of all rows, and the table of their variables.

    Those of a panel are between its variables. ``search`` are options of `find_relations`.
    """
    if panel is None:
        return find_relations(table, **search), table
    modelled = panel_of(arrangement.modelled(table))
    outside = {panel.person, panel.time if panel.career else None}
    names = [v.name for v in modelled.schema if v.kind is not Kind.ID and v.name not in outside]
    table = Table(modelled[name] for name in names)
    return relations_of_panel(table, modelled.index, **search), table


def _relations(
    reading: Reading, grouped: Table, options: StarterOptions, advance: Advance
) -> tuple[Relation, ...]:
    """Return the relations of all rows; formulas with the number of rows that differ."""
    design = options.config.design
    search = {"drawn": () if design is None else (design.weight,), "joined": reading.rare.to}
    form = reading.arrangement
    relations, table = relations_of(grouped, form, options.panel, advance=advance, **search)

    def exceptions(relation: Relation) -> int:
        if relation.key != "derived":
            return 0
        same = agreement(Expression.parse(relation.text), table, table[relation.name])
        return int((~same).sum())

    return tuple(replace(relation, exceptions=exceptions(relation)) for relation in relations)


def _rendered(**facts: Any) -> str:
    """Return the text of a starter configuration."""
    from jinja2 import Environment, PackageLoader

    loader = PackageLoader("synthesizer.jobs")
    env = Environment(  # noqa: S701 - the text is no page
        loader=loader, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    env.filters |= {
        "yaml": as_yaml,
        "key": yaml_key,
        "json": partial(json.dumps, ensure_ascii=False),
    }
    return env.get_template("starter.yaml.jinja").render(facts)


def _repeating(raw: RawTable, table: Table, name: str, source: str) -> str:
    """Return what units an identifier that repeats may stand for."""
    codes = next(texts.codes for texts in raw.texts if texts.name == name)
    return repeated_hint(table, name, np.unique(codes, return_inverse=True)[1], source)


def _of_format(options: StarterOptions) -> Mapping[str, Any]:
    return options.file.get("of_format") or {}


def _from(base: Path, value: object) -> object:
    """Return a path relative to a directory; other values unchanged."""
    return os.path.relpath(value.absolute(), base) if isinstance(value, Path) else value


def _stem(data: Path | SqlConfig) -> str:
    return (data.name.split(".")[0] if isinstance(data, Path) else "") or "data"


def _source(
    data: Path | SqlConfig, options: StarterOptions
) -> tuple[RawTable, WholeSource | None, FoundEncoding | None]:
    """Return a source, or a sample of a large one, with the encoding of its text."""
    if isinstance(data, SqlConfig):
        if foreign := [f"data.{problem}" for problem in foreign_keys(None, _of_format(options))]:
            raise ConfigError(foreign)
        return read_sql(data.url, data.query), None, None
    content = csv_bytes(data)
    encoding = None
    if options.encoding is not None:
        encoding = FoundEncoding(options.encoding, "named by data.encoding", is_marked=False)
    elif content is not None:
        encoding = find_encoding(content, data.name)
    unmarked = None if encoding is None or encoding.is_marked else encoding.name
    reading: dict[str, Any] = {**options.file, "encoding": unmarked}
    raw, whole = read_to_describe(data, options.form.person, **reading)
    return raw, whole, encoding


def _layout(named_options: FileOptions, detected: FileOptions) -> Iterator[tuple[str, Any, str]]:
    """Yield key, value and reason of named or unusual options of reading."""
    for key in ("delimiter", "header_row", "names", "comment", "quote"):
        value, named = detected.get(key), named_options.get(key)
        if named is not None:
            yield key, named, ""
        elif value is not None and value != COMMON_FORM.get(key):
            yield key, value, _READING[key]


_READING = {
    "header_row": "the line with the names; lines above it are left out",
    "comment": "lines that begin with it are left out",
    "quote": "the sign around texts",
}


def _format_notes(data: Path | SqlConfig, raw: RawTable) -> Iterator[str]:
    """Yield a note if the datasets will have another format than the file."""
    ending = data.suffix.lower() if isinstance(data, Path) else ""
    written = suffix(raw.layout)
    if ending in (*PACKED, *JSON_SUFFIXES, *ARROW_SUFFIXES) and not written.endswith(ending):
        yield f"the datasets will be {written} files, not {ending}; to change it: output.format"


def _encoding_notes(encoding: FoundEncoding | None) -> Iterator[str]:
    if encoding is not None and not encoding.is_sure:
        yield (
            f"the file is not UTF-8; it is read as {encoding.name}, which is a guess. If letters "
            "with accents are wrong, write --set data.encoding=... (cp1250, cp1251, gb18030, ...)"
        )


def _rare_notes(count: int) -> Iterator[str]:
    if count:
        yield (
            f"rare: levels of fewer than {RARE} persons become one level in "
            f"{plural(count, 'column')}; `plan` lists them. `public: true` under a variable "
            "prevents it"
        )


_MAX_SENTENCE = 120
"""Letters of a relation in a comment."""

Entry: TypeAlias = tuple[str, dict[str, Any], str]
"""Name, declaration and comment of a variable."""


def _entries(reading: Reading, book: Codebook, relations: Iterable[Relation]) -> Iterator[Entry]:
    """Yield the entries of all variables; a wide variable comes at its first column."""
    firsts = {columns[0]: name for name, columns in reading.wide.items()}
    cells = {column for columns in reading.wide.values() for column in columns}
    computed = {r.name: r for r in relations if r.key in ("derived", "follows")}
    for row in book.variables:
        if row.name in firsts:
            name = firsts[row.name]
            count = len(reading.wide[name])
            yield name, _declaration(reading.variables[name]), f"of all its {count} columns"
        elif row.name not in cells:
            yield _entry(row, reading, computed.get(row.name))


def _entry(row: CodebookVariable, reading: Reading, relation: Relation | None) -> Entry:
    variable, declared = reading.table[row.name].variable, reading.roles.declared.get(row.name)
    entry = _declaration(variable)
    comment = f"{row.levels} values" + (f", {row.missing} missing" if row.missing else "")
    if variable.kind is Kind.ORDERED:
        comment += "; levels as found in the data"
    comment += f"; {row.reason}"
    comment += f"; if wrong: {row.instead}" if row.name in reading.roles.looks else ""
    if declared is not None and declared.date_format is not None:
        entry["date_format"] = declared.date_format
    if relation is not None:
        entry[relation.key] = relation.text
        comment += "; computed from others; to draw it: method: cart"
    if row.name == reading.guessed_order:
        comment += "; check that levels are in order of time: this is a guess"
    return row.name, entry, comment


def _declaration(variable: Variable) -> dict[str, Any]:
    levels = variable.levels if variable.kind is Kind.ORDERED else ()
    entry = {"kind": variable.kind.value, "missing": variable.missing, "levels": levels}
    return {key: value for key, value in entry.items() if value}


def _scenario(reading: Reading, units: Table, options: StarterOptions) -> Suggestion | None:
    """Return suggested keys and target of an intruder; None if there are none.

    In a file that looks like a panel but is read without one, only the last period is used.
    """
    drawn = units.select(
        column.name
        for column in units.columns
        if column.variable.kind is not Kind.ID and not follows(units, column.name)
    )
    if not options.has_form:
        repeats = any(REPEATS in look for look in reading.roles.looks.values())
        periods = of_periods(drawn, has_periods=repeats)
        others = [name for name in drawn.names if name not in periods]
        drawn = drawn.select(others) if len(others) > 1 else drawn
    scenario = suggest(drawn)
    return scenario if scenario.keys and scenario.target is not None else None


def _scenario_notes(scenario: Suggestion | None) -> Iterator[str]:
    if scenario is not None:
        yield (
            f"checks: the intruder knows {', '.join(scenario.keys)} and wants to learn "
            f"{scenario.target}. If this is not realistic, change checks.keys and checks.target"
        )


_PLAIN = re.compile(r"(?!(?:true|false|null|yes|no|on|off|y|n)$)[a-z][\w./ -]*(?<! )", re.I | re.A)


def as_yaml(value: Any) -> str:
    """Return texts, numbers, lists and maps as YAML on one line; plain words without quotes.

    Examples
    --------
    >>> as_yaml({"kind": "ordered", "levels": ("low", "no", "-8", 3.0, True)})
    '{kind: ordered, levels: [low, "no", "-8", 3, true]}'
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{as_yaml(str(k))}: {as_yaml(x)}" for k, x in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_yaml, value))}]"
    if value is None or isinstance(value, int | float):
        return json.dumps(value).removesuffix(".0")
    if _PLAIN.fullmatch(text := str(value)):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in quoted)


def yaml_key(name: str) -> str:
    """Return a name as a key of YAML, with a question mark if it is very long."""
    text = as_yaml(name)
    return f"{text}:" if len(text) < _MAX_PLAIN_KEY else f"? {text}\n  :"


_MAX_PLAIN_KEY = 1_000
"""Characters of a key; YAML allows 1,024 without a question mark."""
