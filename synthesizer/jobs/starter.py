"""The starter configuration that `init` writes: runs as it is, comments say what was inferred."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from synthesizer.config.keys import HouseholdConfig, PanelConfig, SqlConfig
from synthesizer.config.reading import read_chain_config, read_config
from synthesizer.data.csv_text import FoundEncoding, find_encoding
from synthesizer.data.dialects import COMMON_FORM, FileOptions
from synthesizer.data.encoding import RARE, RareLevels, encode_inferred
from synthesizer.data.errors import ConfigError, did_you_mean, plural
from synthesizer.data.files import check_file, write_texts
from synthesizer.data.guessing import Declaration, Inferred, infer
from synthesizer.data.packed import ARROW_SUFFIXES, JSON_SUFFIXES, PACKED
from synthesizer.data.panel.forms import WideForm, wide_columns
from synthesizer.data.panel.households import TAKEN
from synthesizer.data.panel.panel_table import are_numbers, natural_order
from synthesizer.data.parquet_sample import Whole, read_at_most
from synthesizer.data.randomness import fresh_seed
from synthesizer.data.relations import Relation, codes_among_numbers, find_relations
from synthesizer.data.roles import REPEATS, Roles, roles_of
from synthesizer.data.sources import RawTable, csv_bytes, read_sql, without_password
from synthesizer.data.spreadsheets import formula_cells
from synthesizer.data.table import Kind, Table, Variable
from synthesizer.data.workers import Listener, Phases, silent
from synthesizer.data.writing import suffix
from synthesizer.engine.structural_zeros import QUICK_WORK, ZeroCells, structural_zeros
from synthesizer.jobs.starter_hints import (
    hints_of,
    household_head,
    household_rules,
    household_size,
    of_periods,
    repeated_hint,
)
from synthesizer.plan.arrange import arrangement_of
from synthesizer.plan.overview import Codebook, CodebookVariable, describe
from synthesizer.plan.survival import suggest_pair


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A source as the starter describes it."""

    roles: Roles
    """What is made of the columns."""
    table: Table
    """The columns, encoded."""
    rare: RareLevels
    """What a run does with levels of few persons."""
    units: Table
    """One row a unit, from which keys and a target are suggested."""
    wide: Mapping[str, tuple[str, ...]]
    """Longitudinal variables of the wide form and their columns."""
    variables: Mapping[str, Variable]
    """These variables, with the levels and missing codes of all their columns."""
    household: HouseholdConfig | None = None
    """The households."""
    zeros: tuple[ZeroCells, ...] = ()
    """Pairs of variables with impossible combinations."""
    guessed_order: str | None = None
    """Column of the periods, where their order is a guess from how they are written."""


@dataclass(frozen=True, kw_only=True)
class StarterOptions:
    """What somebody says of a file before anything is guessed."""

    panel: PanelConfig | None = None
    encoding: str | None = None
    file: FileOptions = field(default_factory=FileOptions)
    """How a CSV file or a sheet is read; the rest is found out."""
    catalogue: Path | None = None
    """Value labels of a file of SAS."""
    drop: tuple[str, ...] = ()
    """Columns to leave out."""
    ids: tuple[str, ...] = ()
    """Identifiers."""
    weight: str | None = None
    """The survey weight."""
    household: str | None = None
    """The column that members of a household share."""

    @property
    def named(self) -> list[tuple[str, str]]:
        """Options and the columns that they name."""
        panel = self.panel or PanelConfig.model_construct()
        one = [("--weight", self.weight), ("--household", self.household)]
        one += [("--person", panel.person), ("--time", panel.time)]
        if not panel.wide:
            one.append(("--career", panel.career))
        many = [("--drop", name) for name in self.drop] + [("--id", name) for name in self.ids]
        return [(key, name) for key, name in (*many, *one) if name is not None]

    def problems(self, columns: Sequence[str]) -> Iterator[str]:
        """Yield what is wrong with the options in view of the columns."""
        if self.household is not None and self.panel is not None:
            yield "--household: a file has households or a panel; leave one of them out"
        roles: dict[str, list[str]] = {}
        for key, name in self.named:
            if name not in columns:
                hint = did_you_mean(name, columns, f"name a column, or leave {key} out")
                yield f"{key} {name}: the data have no such column; {hint}"
            elif key not in roles.setdefault(name, []):
                roles[name].append(key)
        for name, keys in roles.items():
            if len(keys) > 1 and keys not in (["--id", "--person"], ["--id", "--household"]):
                yield f"{' and '.join(keys)} both name {name!r}; keep one"


@dataclass(frozen=True, kw_only=True)
class Starter:
    """A starter configuration, and what to say about it."""

    path: Path
    text: str
    about: str
    """What was read."""
    looks: Mapping[str, str]
    """Columns that need a look, and why."""
    n_columns: int
    notes: tuple[str, ...] = ()
    """What else a person should know."""
    relations: tuple[Relation, ...] = ()
    """What holds in all rows, and will hold in all synthetic rows."""


def panel_config(
    *,
    person: str | None = None,
    time: str | None = None,
    career: str | None = None,
    wide: Sequence[str] = (),
    absent: Sequence[str] = (),
) -> PanelConfig | None:
    """Return the panel that the options of `init` describe, None if they describe none.

    Examples
    --------
    >>> panel_config(wide=["state=jan..dec"], career="state").wide
    {'state': ('jan..dec',)}
    """
    pairs = [text.partition("=") for text in wide]
    if wrong := [
        text for text, (name, _, cells) in zip(wide, pairs, strict=True) if not (name and cells)
    ]:
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


def file_options(*, names: str | None = None, **said: Any) -> FileOptions:
    r"""Return what the options of `init` say of the layout of a file; bad ones are a ConfigError.

    Examples
    --------
    >>> file_options(delimiter=";", names="age,sex")
    {'delimiter': ';', 'names': ('age', 'sex')}
    """
    signs = {"tab": "\t", "\\t": "\t", "single": "'", "double": '"'}
    keys = {key: signs.get(value, value) for key, value in said.items() if value is not None}
    if names is not None:
        keys["names"] = next(csv.reader([names]))
    data = read_config({"data": {"path": "x.csv", **keys}}).data
    return cast("FileOptions", {key: getattr(data, key) for key in keys})


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@dataclass(frozen=True, kw_only=True)
class _Form:
    """What the form of a file adds to its starter; as it stands, each row is a unit."""

    panel: PanelConfig | None = None
    household: str | None = None
    person: str | None = None
    time: str | None = None
    career: str | None = None
    wide: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Longitudinal variables and their columns, as the panel writes them."""
    derives: bool = True
    """Whether variables that follow from others are sought."""
    lines: str = """\
# Are rows persons in several periods, or columns periods? Then write this with
#   synthesizer init ... --person COLUMN --time COLUMN --career COLUMN
#   synthesizer init ... --wide VARIABLE=FIRST..LAST --career VARIABLE
# panel: ...
"""
    keep: str = "# keep: [...]               # copied as they are (partial synthesis)\n"

    @classmethod
    def of(cls, options: StarterOptions) -> Self:
        """Return the form of a file with a panel, with households, or of rows without either."""
        panel = options.panel
        if options.household is not None:
            return cls(household=options.household, derives=False, lines="", keep="")
        if panel is None:
            return cls()
        return cls(
            panel=panel,
            person=panel.person,
            time=panel.time,
            career=panel.career,
            wide=panel.wide,
            derives=False,
            lines=_panel_lines(panel),
            keep="",
        )

    @property
    def repeats(self) -> bool:
        """Whether identifiers may repeat."""
        return self.panel is not None or self.household is not None


def _read(raw: RawTable, form: _Form, options: StarterOptions) -> Reading:
    """Give all columns roles, alike for those of one variable, and arrange the rows."""
    wide = {name: wide_columns(cells, raw.names) for name, cells in form.wide.items()}
    declared = _declared(raw, form, wide)
    declared |= {name: Declaration(kind=Kind.ID) for name in options.ids if name not in declared}
    if options.weight is not None:
        declared[options.weight] = Declaration(kind=Kind.NUMERIC)
    fixed = {name for key, name in options.named if key != "--drop"}
    fixed |= {column for columns in wide.values() for column in columns}
    roles = roles_of(raw, declared, drop=options.drop, fixed=fixed, repeats=form.repeats)
    table = encode_inferred(roles.raw, roles.inferred)
    again = _ordered_periods(roles.inferred, form.time)
    if form.derives:
        named = {*fixed, *roles.declared}
        codes = [name for name in codes_among_numbers(table) if name not in named]
        again |= dict.fromkeys(codes, Declaration(kind=Kind.CATEGORICAL))
    household = None
    if form.household is not None:
        size = household_size(table, form.household)
        head = household_head(table, form.household)
        household = HouseholdConfig(id=form.household, size=size, head=head)
        again |= {} if size is None else {size: Declaration(kind=Kind.NUMERIC)}
    if again:
        roles = replace(roles, inferred=infer(roles.raw, {**roles.declared, **again}))
        table = encode_inferred(roles.raw, roles.inferred)
    arrangement, _ = arrangement_of(form.panel, table, household)
    modelled = arrangement.modelled(table)
    longitudinal = arrangement.variables if isinstance(arrangement, WideForm) else ()
    return Reading(
        roles=roles,
        household=household,
        table=table,
        rare=RareLevels(
            scope="text",
            columns=wide,
            persons=unit if (unit := form.person or form.household) in table.names else None,
            public={form.time or ""},
            fixed=() if form.panel is None else form.panel.absent,
            numbers=[*filter(roles.raw.layout.holds_numbers, table.names)],
        ),
        units=arrangement.viewed(modelled),
        zeros=structural_zeros(_of_file(modelled), triples=False, work=QUICK_WORK).found,
        wide=wide,
        variables={variable.name: variable for variable in longitudinal},
        guessed_order=form.time if form.time in again else None,
    )


def _of_file(table: Table) -> Table:
    """Return the columns that are in the file, without what follows from households."""
    return table.select(name for name in table.names if not name.startswith(TAKEN))


def _ordered_periods(inferred: Iterable[Inferred], time: str | None) -> dict[str, Declaration]:
    """Declare periods that are words as ordered, in the order in which they are written."""
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
    raw: RawTable, form: _Form, wide: Mapping[str, Sequence[str]]
) -> dict[str, Declaration]:
    """Say what follows from the form: who identifies persons, and which columns hold states."""
    declared = dict(_like_states(raw, form.career, wide))
    if form.person in raw.names:
        declared[str(form.person)] = Declaration(kind=Kind.ID, every_row=True)
    if form.time in raw.names:
        declared[str(form.time)] = Declaration(every_row=True)
    if form.household in raw.names:
        declared[str(form.household)] = Declaration(kind=Kind.ID, every_row=True)
    if not wide and form.career in raw.names:
        declared[str(form.career)] = Declaration(kind=Kind.CATEGORICAL)
    return declared


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
    panel: PanelConfig | None = None,
    options: StarterOptions | None = None,
    overwrite: bool,
    listener: Listener = silent,
) -> Starter:
    """Write a starter configuration for a data file, or a query, and return what it says.

    It holds the seed and counts of the data, so it is for the steward alone.
    """
    path = output if output is not None else Path(f"{_stem(data)}.yaml")
    options = options or StarterOptions(panel=panel)
    read = [file for file in (data, options.catalogue) if isinstance(file, Path)]
    check_file(path, overwrite=overwrite, read=read)
    starter = make_starter(data, path, options, listener)
    write_texts({path: starter.text}, overwrite=overwrite)
    return starter


def make_starter(
    data: Path | SqlConfig, path: Path, options: StarterOptions, listener: Listener = silent
) -> Starter:
    """Return a starter configuration that lies at ``path``, and what to say about it.

    Raises
    ------
    DataError, ConfigError
        With every problem of the source, or of the options.
    """
    form, phases = _Form.of(options), Phases(listener)
    with phases.phase("read"):
        raw, whole, encoding = _source(data, form.person, options)
        found = raw.found
        if problems := list(options.problems(raw.names)):
            raise ConfigError(problems)
    with phases.phase("kinds of columns"):
        reading = _read(raw, form, options)
    where = str(data) if isinstance(data, Path) else f"--sql {without_password(data.url)} QUERY"
    looks = {
        name: f"{look}; it looks like {_repeating(raw, reading.table, name, where)}"
        if REPEATS in look
        else look
        for name, look in reading.roles.looks.items()
    }
    grouped, done = reading.rare.grouped(reading.table)  # what a run sees
    looks |= (many := reading.rare.many(reading.table))
    raw = reading.roles.raw
    relations: tuple[Relation, ...] = ()
    if form.derives:
        with phases.phase("columns that follow from others", len(raw.names)) as advance:
            drawn = () if options.weight is None else (options.weight,)
            joined = reading.rare.to
            relations = find_relations(grouped, drawn=drawn, joined=joined, advance=advance)
    units = grouped if form.derives else reading.units
    intruder, known = _scenario_lines(replace(reading, units=units), form)
    codebook = describe(raw, reading.roles.inferred, reading.table)
    template = files(__package__).joinpath("templates", "starter.txt").read_text(encoding="utf-8")
    text = template.format(
        name=path.name,
        data=_data_lines(
            data, path, encoding, options.catalogue, "" if whole is None else whole.told(raw)
        )
        + _reading_lines(options.file, found),
        output=_quoted(f"{_stem(data)}_synthetic"),
        seed=fresh_seed(),
        panel=form.lines,
        household=_household_lines(reading.household, reading.table),
        weights="" if options.weight is None else _weight_line(options.weight),
        formulas=_formula_lines(raw, reading.table),
        variables="\n".join(_all_lines(reading, codebook, relations)),
        survival=_survival_line(reading.table, form),
        support=_support_line(reading.zeros),
        drop=_drop_lines(reading.roles.dropped),
        keep=form.keep,
        forbid=_forbid_lines(relations),
        intruder=intruder,
    )
    n_columns = len(raw.names) + len(reading.roles.dropped)
    return Starter(
        path=path,
        text=text,
        about=f"{plural(n_columns, 'column')}, {plural(raw.n_rows, 'row')}"
        + (f", {encoding.name}" if encoding is not None else ""),
        looks=looks,
        n_columns=n_columns,
        notes=(
            *_encoding_notes(encoding),
            *_reading_notes(options.file, found),
            *_format_notes(data, raw),
            *_rare_notes(len(done) - len(many)),
            *reading.rare.left(grouped),
            *hints_of(reading.table, options, where, _labels(raw)),
            *known,
        ),
        relations=relations,
    )


def _labels(raw: RawTable) -> dict[str, str]:
    """Return the labels of variables that a file has."""
    pairs = zip(raw.names, raw.layout.labelled, strict=True) if raw.layout.labelled else ()
    return {name: said.label for name, said in pairs}


def _repeating(raw: RawTable, table: Table, name: str, where: str) -> str:
    """Say what an identifier that repeats may be of."""
    codes = next(texts.codes for texts in raw.texts if texts.name == name)
    return repeated_hint(table, name, np.unique(codes, return_inverse=True)[1], where)


def _stem(data: Path | SqlConfig) -> str:
    return (data.name.split(".")[0] if isinstance(data, Path) else "") or "data"


def _source(
    data: Path | SqlConfig, person: str | None, options: StarterOptions
) -> tuple[RawTable, Whole | None, FoundEncoding | None]:
    """Read a source, of a large one a sample, and say how its text is encoded."""
    if isinstance(data, SqlConfig):
        if options.catalogue is not None:
            raise ConfigError("--catalogue belongs to a .sas7bdat file of SAS; take it out")
        return read_sql(data.url, data.query), None, None
    content = csv_bytes(data)
    found = None
    if options.encoding is not None:
        found = FoundEncoding(options.encoding, "named by --encoding", is_marked=False)
    elif content is not None:
        found = find_encoding(content, data.name)
    unmarked = None if found is None or found.is_marked else found.name
    said: dict[str, Any] = {**options.file, "encoding": unmarked, "catalogue": options.catalogue}
    raw, whole = read_at_most(data, person=person, **said)
    return raw, whole, found


def _data_lines(
    data: Path | SqlConfig,
    path: Path,
    encoding: FoundEncoding | None,
    catalogue: Path | None,
    sample: str,
) -> str:
    if isinstance(data, SqlConfig):
        url, query = json.dumps(data.url), json.dumps(data.query, ensure_ascii=False)
        return f"  sql:\n    url: {url}\n    query: {query}"
    base = path.absolute().parent
    relative = _quoted(os.path.relpath(data.absolute(), base))
    lines = [f"  path: {relative}" + (f"   # {sample}" if sample else "")]
    if catalogue is not None:
        lines.append(f"  catalogue: {_quoted(os.path.relpath(catalogue.absolute(), base))}")
    if encoding is not None:
        key = f"encoding: {encoding.name}"
        lines.append(f"  {'# ' if encoding.is_marked else ''}{key}   # {encoding.why}")
    return "\n".join(lines)


def _reading_lines(said: FileOptions, found: FileOptions) -> str:
    """Return how a CSV file or a sheet is read, where that is named or uncommon."""
    lines = []
    for key in ("delimiter", "sheet", "header_row", "names", "comment", "quote"):
        value, named = found.get(key), said.get(key)
        if named is not None:
            lines.append(f"  {key}: {json.dumps(named, ensure_ascii=False)}")
        elif value is not None and value != COMMON_FORM.get(key):
            lines.append(f"  {key}: {json.dumps(value)}   # {_READING[key]}")
    return "".join(f"\n{line}" for line in lines)


_READING = {
    "header_row": "it holds the names; lines above it are left out",
    "comment": "lines that begin with it are left out",
    "quote": "the sign around texts",
}


def _reading_notes(said: FileOptions, found: FileOptions) -> Iterator[str]:
    """Say which uncommon form of the file was found out."""
    for line in _reading_lines(said, found).splitlines():
        key, _, meaning = line.strip().partition("   # ")
        if meaning:
            yield f"the file is read with {key}: {meaning}"


def _format_notes(data: Path | SqlConfig, raw: RawTable) -> Iterator[str]:
    """Say in which format the datasets will be where that is not the one of the file."""
    ending = data.suffix.lower() if isinstance(data, Path) else ""
    written = suffix(raw.layout)
    if ending in (*PACKED, *JSON_SUFFIXES, *ARROW_SUFFIXES) and not written.endswith(ending):
        yield f"the datasets will be {written} files (output: {{format: ...}}), not {ending}"


def _encoding_notes(encoding: FoundEncoding | None) -> Iterator[str]:
    if encoding is not None and not encoding.is_sure:
        yield (
            f"the file is not UTF-8 and is read as {encoding.name}, a guess: if letters with "
            "accents come out wrong, name its encoding (--encoding cp1250, cp1251, gb18030, ...)"
        )


def _rare_notes(count: int) -> Iterator[str]:
    if count:
        yield (
            f"rare: levels of fewer than {RARE} persons are joined in {plural(count, 'column')}; "
            "`validate` names them, `public: true` under a variable keeps its levels"
        )


def _household_lines(household: HouseholdConfig | None, table: Table) -> str:
    if household is None:
        return ""
    head = "  # head: relation == 1   # who the head is; the first of each household when absent\n"
    if household.head:
        head = f"  head: {_quoted(household.head)}   # one in each household: is it the head?\n"
    why = {"at_most": "holds in the data; is it a rule?", "order": "of the members but the head"}
    rules = "".join(
        f"  # {rule}   # {why.get(rule.partition(':')[0], 'nearly always; belongs below')}\n"
        for rule in household_rules(table, household.id, household.head)
    )
    size = "" if household.size is None else f"\n  size: {_quoted(household.size)}   # is counted"
    return (
        f"household:   # persons are drawn as households, head first\n"
        f"  id: {_quoted(household.id)}{size}\n"
        f"{head}{rules}"
    )


def _weight_line(weight: str) -> str:
    return f"weights: {{variable: {_quoted(weight)}}}   # a survey weight, drawn last\n"


def _formula_lines(raw: RawTable, table: Table) -> str:
    if raw.layout.csv is None or not (cells := formula_cells(table)):
        return ""
    counts = ", ".join(f"{count:,} of {_quoted(name)}" for name, count in cells.items())
    return (
        f"  # cells begin like a formula, which a spreadsheet runs: {counts}\n"
        "  # spreadsheet_safe: true   # writes an apostrophe before them\n"
    )


def _panel_lines(panel: PanelConfig) -> str:
    lines = ["panel:   # models are chosen by how many persons change a variable, see `plan`"]
    for key in ("person", "time"):
        if (name := getattr(panel, key)) is not None:
            lines.append(f"  {key}: {_quoted(name)}")
    if panel.wide:
        lines.append("  wide:")
        lines += [f"    {_key(n)} {_listed(columns)}" for n, columns in panel.wide.items()]
    if panel.absent:
        lines.append(f"  absent: {_listed(panel.absent)}   # not there in that period")
    if panel.career is not None:
        lines.append(f"  career: {_quoted(panel.career)}   # its states are drawn as a whole")
    else:
        lines.append("  # career: ...   # variable whose sequence of states is drawn as a whole")
    return "\n".join([*lines, ""])


def _forbid_lines(relations: Iterable[Relation]) -> str:
    """Return the entry of orders: an ordered pair is drawn as a distance."""
    key = "forbid:                   # what no synthetic row may show"
    lines = [f"  - {_quoted(r.text)}   # {r.said}" for r in relations if r.key == "forbid"]
    return "\n".join([key, *lines] if lines else [f"# {key}", _NO_ORDER])


_NO_ORDER = "#   - age < 18 and marital == 'widowed'"


def _all_lines(reading: Reading, codebook: Codebook, relations: Iterable[Relation]) -> list[str]:
    """Return the entries of all variables; those of a wide variable stand at its first column."""
    firsts = {columns[0]: name for name, columns in reading.wide.items()}
    cells = {column for columns in reading.wide.values() for column in columns}
    computed = {r.name: r for r in relations if r.key != "forbid"}
    lines: list[str] = []
    for row in codebook.variables:
        if row.name in firsts:
            name = firsts[row.name]
            lines += _wide_lines(reading.variables[name], len(reading.wide[name]))
        elif row.name not in cells:
            said = reading.roles.declared.get(row.name)
            lines += _variable_lines(
                row,
                reading.table[row.name].variable,
                computed.get(row.name),
                None if said is None else said.date_format,
            )
            if row.name == reading.guessed_order:
                lines[-1] += "; check that they are in order of time, which is a guess"
    return lines


def _wide_lines(variable: Variable, count: int) -> list[str]:
    parts = ", ".join(_parts(variable))
    return [f"  {_key(variable.name)} {{{parts}}}   # of all its {count} columns"]


def _drop_lines(dropped: Mapping[str, str]) -> str:
    if not dropped:
        return "# drop: [...]               # left out of the synthesis and of the output"
    lines = [
        f"  - {_quoted(name)}" + (f"   # {why}" if why else "") for name, why in dropped.items()
    ]
    return "\n".join(["drop:   # left out of the synthesis and of the output", *lines])


def _support_line(zeros: Sequence[ZeroCells]) -> str:
    """Return the entry that keeps impossible pairs: offered, since it bends their margins."""
    if not zeros:
        return "# support: [[a, b]]         # combinations that nobody has are not drawn\n"
    pair = " and ".join(_quoted(name) for name in zeros[0].names)
    n_pairs = sum(len(zero.names) == 2 for zero in zeros)
    counts = {"pair": n_pairs, "triple": len(zeros) - n_pairs}
    parts = [f"{n} {name}{'s' * (n > 1)}" for name, n in counts.items() if n]
    what = f"{' and '.join(parts)} {'have' if len(zeros) > 1 else 'has'}"
    return (
        f"# support: auto   # {what} combinations that cannot occur, such as {pair}: see `plan`; "
        "with it look at the margins of these\n"
    )


def _survival_line(table: Table, form: _Form) -> str:
    drawn = table.select(c.name for c in table.columns if c.variable.kind is not Kind.ID)
    pair = suggest_pair(drawn) if form.panel is None else None
    if pair is None:
        return ""
    event, time = (_quoted(name) for name in pair)
    return (
        f"\nsurvival: [{{event: {event}, time: {time}}}]   # guessed from their names: drawn last, "
        "so that Cox models hold\n"
    )


def _variable_lines(
    row: CodebookVariable, variable: Variable, relation: Relation | None, date_format: str | None
) -> list[str]:
    """Return the entry of one variable; the comment says why, with counts only."""
    parts = _parts(variable)
    if date_format is not None:
        parts.append(f"date_format: {json.dumps(date_format)}")
    if relation is not None:
        parts.append(f"{relation.key}: {_quoted(relation.text)}")
    count = f"{row.levels} values" + (f", {row.missing} missing" if row.missing else "")
    if variable.kind is Kind.ORDERED:
        count += "; the list of levels comes from the data"
    follows = "; computed from others, 'method: cart' draws it" if relation is not None else ""
    return [f"  {_key(row.name)} {{{', '.join(parts)}}}   # {count}; {row.reason}{follows}"]


def _parts(variable: Variable) -> list[str]:
    parts = [f"kind: {variable.kind}"]
    if variable.missing:
        parts.append(f"missing: {_listed(variable.missing)}")
    if variable.kind is Kind.ORDERED:
        parts.append(f"levels: {_listed(variable.levels)}")
    return parts


def _scenario_lines(reading: Reading, form: _Form) -> tuple[str, list[str]]:
    """Return what the checks assume of an intruder, and how to say that on the screen.

    In a file that looks like a panel, but is read without one, no period but the last is named.
    """
    from synthesizer.measures.risk.suggest import suggest

    units = _of_file(reading.units)
    drawn = units.select(c.name for c in units.columns if c.variable.kind is not Kind.ID)
    if not form.repeats:
        repeats = any(REPEATS in look for look in reading.roles.looks.values())
        periods = of_periods(drawn, has_periods=repeats)
        others = [name for name in drawn.names if name not in periods]
        drawn = drawn.select(others) if len(others) > 1 else drawn
    scenario = suggest(drawn)
    if not scenario.keys or scenario.target is None:
        none = "  # keys: [...]   # what an intruder may know\n  # target: ...\n  two_way: true\n\n"
        return none, []
    keys = ", ".join(_quoted(key) for key in scenario.keys)
    target = _quoted(scenario.target)
    lines = (
        f"  keys: [{keys}]   # what an intruder may know: name your own\n"
        f"  target: {target}   # what an intruder may want to learn\n\n"
    )
    said = (
        f"checks assume that an intruder knows {', '.join(scenario.keys)} and wants to learn "
        f"{scenario.target}: change checks.keys and checks.target if others do"
    )
    return lines, [said]


def _listed(texts: Iterable[str]) -> str:
    return f"[{', '.join(_quoted(text) for text in texts)}]"


def _key(name: str) -> str:
    """Write a name as a key of YAML, which needs a question mark beyond 1,024 characters."""
    text = _quoted(name)
    return f"{text}:" if len(text) < _LONG_KEY else f"? {text}\n  :"


def _quoted(text: str) -> str:
    """Write a text as YAML in double quotes, unless it is a plain word."""
    plain = text.replace("_", "a").replace("/", "a").replace(".", "a")
    if plain.isascii() and plain.isalnum() and plain[0].isalpha() and text not in _WORDS:
        return text
    return json.dumps(text, ensure_ascii=False)


_LONG_KEY = 1_000
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "Y", "N", "NO", "Yes", "No"}
