"""The starter configuration that `init` writes: runs as it is, comments say what was inferred."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from synthesizer.config.keys import PanelConfig
from synthesizer.config.reading import read_chain_config
from synthesizer.data.derivations import suggest_derivations
from synthesizer.data.encoding import encode_inferred
from synthesizer.data.errors import ConfigError
from synthesizer.data.files import check_file, write_texts
from synthesizer.data.guessing import Declaration, Inferred, infer, is_empty
from synthesizer.data.panel.forms import WideForm, wide_columns
from synthesizer.data.panel.moments import are_numbers, natural_order
from synthesizer.data.parquet_sample import read_at_most
from synthesizer.data.randomness import fresh_seed
from synthesizer.data.sources import RawTable
from synthesizer.data.spreadsheets import formula_cells
from synthesizer.data.table import Kind, Table, Variable
from synthesizer.engine.structural_zeros import QUICK_WORK, ZeroCells, structural_zeros
from synthesizer.plan.inputs import arrangement_of
from synthesizer.plan.overview import Codebook, CodebookVariable, describe
from synthesizer.plan.survival import suggest_pair


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A source as the starter describes it."""

    inferred: tuple[Inferred, ...]
    """By column."""
    table: Table
    """The columns, encoded."""
    units: Table
    """One row a unit, from which keys and a target are suggested."""
    wide: Mapping[str, tuple[str, ...]]
    """Longitudinal variables of the wide form and their columns."""
    variables: Mapping[str, Variable]
    """These variables, with the levels and missing codes of all their columns."""
    zeros: tuple[ZeroCells, ...] = ()
    """Pairs and triples of variables with impossible combinations."""
    guessed_order: str | None = None
    """Column of the periods, where their order is a guess from how they are written."""


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


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@dataclass(frozen=True, kw_only=True)
class _Form:
    """What the form of a file adds to its starter; as it stands, each row is a unit."""

    panel: PanelConfig | None = None
    person: str | None = None
    time: str | None = None
    career: str | None = None
    wide: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Longitudinal variables and their columns, as the panel writes them."""
    derived: Callable[[Table], Mapping[str, str]] = suggest_derivations
    """Returns variables that follow from others, and how."""
    lines: str = """\
# Are rows persons in several periods, or columns periods? Then write this with
#   synthesizer init ... --person COLUMN --time COLUMN --career COLUMN
#   synthesizer init ... --wide VARIABLE=FIRST..LAST --career VARIABLE
# panel: ...
"""
    keep: str = "# keep: [...]               # copied as they are (partial synthesis)\n"

    @classmethod
    def of(cls, panel: PanelConfig | None) -> Self:
        """Return the form of a file that holds such a panel, or rows without persons."""
        if panel is None:
            return cls()
        return cls(
            panel=panel,
            person=panel.person,
            time=panel.time,
            career=panel.career,
            wide=panel.wide,
            derived=lambda _: {},
            lines=_panel_lines(panel),
            keep="",
        )


def _read(raw: RawTable, form: _Form) -> Reading:
    """Infer the kinds of all columns, alike for those of one variable, and arrange the rows."""
    wide = {name: wide_columns(cells, raw.names) for name, cells in form.wide.items()}
    declared = _declared(raw, form, wide)
    inferred = infer(raw, declared)
    ordered = _ordered_periods(inferred, form.time)
    if ordered:
        inferred = infer(raw, declared | ordered)
    table = encode_inferred(raw, inferred)
    arrangement, _ = arrangement_of(form.panel, table)
    modelled = arrangement.modelled(table)
    longitudinal = arrangement.variables if isinstance(arrangement, WideForm) else ()
    return Reading(
        inferred=inferred,
        table=table,
        units=arrangement.viewed(modelled),
        zeros=structural_zeros(modelled, triples=False, work=QUICK_WORK).found,
        wide=wide,
        variables={variable.name: variable for variable in longitudinal},
        guessed_order=next(iter(ordered), None),
    )


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


_HEAD = """\
# Configuration of a synthesis. Written by `synthesizer init` from the data: look it over.
#   synthesizer validate {name}   every problem of configuration and data
#   synthesizer plan {name}       order, models and cost before any fit
#   synthesizer run {name}        datasets, checks and manifest
version: 1

data:
  path: {path}{sample}

output:
  directory: {output}
{formulas}
seed: {seed}   # tells runs apart
# secret: {{from: RUN/manifest.json}}   # each run draws a key of its draws; this repeats a run
#   (none: the seed alone decides, for public or simulated data)
m: 5      # number of synthetic datasets

{panel}
default_method: cart    # or parametric, or a map from kind to model
# models:
#   cart: {{min_leaf: 20}}    # 50 by default; smaller leaves: higher utility, higher risk

# What each variable is. Change a kind where a code only looks like a number.
variables:
"""

_TAIL = """
# visit_sequence: [...]     # order of the chain; the order of the file when absent
{support}{keep}{drop}
# strata: [...]             # a chain for every combination of these

# rules:                    # values that follow from others; such rows are left out of the fit
#   - if: age < 15
#     then: {{marital: single}}
# forbid:                   # what no synthetic row may show
#   - age < 18 and marital == 'widowed'

checks:                     # keys and target are suggested when they are absent
"""

_LIMITS = """\
# limits:                   # a check above its limit ends the run with exit code 3
#   differential_confidentiality: 0.03
#   mean_two_way: 2.0
"""


def write_starter(
    data: Path, output: Path | None, *, panel: PanelConfig | None = None, overwrite: bool
) -> Path:
    """Write a starter configuration for a data file and return its path.

    It holds the seed and counts of the data, so it is for the steward alone.
    """
    stem = data.name.split(".")[0] or "data"
    path = output if output is not None else Path(f"{stem}.yaml")
    check_file(path, overwrite=overwrite, read=[data])
    write_texts({path: starter_text(data, path, panel)}, overwrite=overwrite)
    return path


def starter_text(data: Path, path: Path, panel: PanelConfig | None = None) -> str:
    """Return the text of a starter configuration that lies at ``path``."""
    form = _Form.of(panel)
    roles = (form.person, form.time, form.career)
    whole_or_sample, whole = read_at_most(data, person=form.person)
    raw, empty = _without_empty(whole_or_sample, roles)
    reading = _read(raw, form)
    relative = os.path.relpath(data.absolute(), path.absolute().parent)
    stem = data.name.split(".")[0] or "data"
    head = _HEAD.format(
        name=path.name,
        path=_quoted(relative),
        sample="" if whole is None else f"   # {whole.told(raw)}",
        output=_quoted(f"{stem}_synthetic"),
        seed=fresh_seed(),
        panel=form.lines,
        formulas=_formula_lines(raw, reading.table),
    )
    codebook = describe(raw, reading.inferred, reading.table)
    lines = _all_lines(reading, codebook, form.derived(reading.table))
    tail = _TAIL.format(
        support=_support_line(reading.zeros), drop=_drop_line(empty), keep=form.keep
    )
    tail = _survival_line(reading.table, form) + tail
    return head + "\n".join(lines) + "\n" + tail + _scenario_lines(reading.units) + _LIMITS


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


def _all_lines(reading: Reading, codebook: Codebook, derived: Mapping[str, str]) -> list[str]:
    """Return the entries of all variables; those of a wide variable stand at its first column."""
    firsts = {columns[0]: name for name, columns in reading.wide.items()}
    cells = {column for columns in reading.wide.values() for column in columns}
    lines: list[str] = []
    for row in codebook.variables:
        if row.name in firsts:
            name = firsts[row.name]
            lines += _wide_lines(reading.variables[name], len(reading.wide[name]))
        elif row.name not in cells:
            lines += _variable_lines(row, reading.table[row.name].variable, derived.get(row.name))
            if row.name == reading.guessed_order:
                lines[-1] += "; check that they are in order of time, which is a guess"
    return lines


def _wide_lines(variable: Variable, count: int) -> list[str]:
    parts = ", ".join(_parts(variable))
    return [f"  {_key(variable.name)} {{{parts}}}   # of all its {count} columns"]


def _without_empty(raw: RawTable, roles: Collection[str | None]) -> tuple[RawTable, list[str]]:
    """Part the columns with values from those without any, which cannot be synthesized.

    Columns with a role in the panel stay: what is wrong with them is said elsewhere.
    """
    empty = [texts.name for texts in raw.texts if is_empty(texts) and texts.name not in roles]
    if not empty or len(empty) == len(raw.names):
        return raw, []
    return raw.select([name for name in raw.names if name not in empty]), empty


def _drop_line(empty: list[str]) -> str:
    if not empty:
        return "# drop: [...]               # left out of the synthesis and of the output"
    names = ", ".join(_quoted(name) for name in empty)
    return f"drop: [{names}]   # no value in any row: left out of the synthesis and of the output"


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


def _variable_lines(row: CodebookVariable, variable: Variable, derived: str | None) -> list[str]:
    """Return the entry of one variable; the comment says why, with counts only."""
    parts = _parts(variable)
    if derived is not None:
        parts.append(f"derived: {_quoted(derived)}")
    count = f"{row.levels} values" + (f", {row.missing} missing" if row.missing else "")
    if variable.kind is Kind.ORDERED:
        count += "; the list of levels comes from the data"
    follows = "; computed from others, 'method: cart' draws it" if derived is not None else ""
    return [f"  {_key(row.name)} {{{', '.join(parts)}}}   # {count}; {row.reason}{follows}"]


def _parts(variable: Variable) -> list[str]:
    parts = [f"kind: {variable.kind}"]
    if variable.missing:
        parts.append(f"missing: {_listed(variable.missing)}")
    if variable.kind is Kind.ORDERED:
        parts.append(f"levels: {_listed(variable.levels)}")
    return parts


def _scenario_lines(units: Table) -> str:
    from synthesizer.measures.risk.suggest import suggest

    drawn = units.select(c.name for c in units.columns if c.variable.kind is not Kind.ID)
    scenario = suggest(drawn)
    if not scenario.keys or scenario.target is None:
        return "  # keys: [...]   # what an intruder may know\n  # target: ...\n  two_way: true\n\n"
    keys = ", ".join(_quoted(key) for key in scenario.keys)
    return (
        f"  keys: [{keys}]   # what an intruder may know: name your own\n"
        f"  target: {_quoted(scenario.target)}   # what an intruder may want to learn\n\n"
    )


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
