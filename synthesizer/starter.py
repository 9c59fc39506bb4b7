"""The starter configuration that `init` writes: runs as it is, comments say what was inferred."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from synthesizer.codebook import Codebook, CodebookVariable, describe_encoded
from synthesizer.config_panel import PanelConfig
from synthesizer.data.derivations import suggest_derivations
from synthesizer.data.guessing import is_empty
from synthesizer.data.schema import Kind, Variable
from synthesizer.data.sources import RawTable, read_path
from synthesizer.data.table import Table
from synthesizer.errors import OutputError
from synthesizer.randomness import fresh_seed
from synthesizer.starter_panel import Reading, read_as_panel

__all__ = ["starter_text", "write_starter"]

_HEAD = """\
# Configuration of a synthesis. Written by `synthesizer init` from the data: look it over.
#   synthesizer validate {name}   every problem of configuration and data
#   synthesizer plan {name}       order, models and cost before any fit
#   synthesizer run {name}        datasets, checks and manifest
version: 1

data:
  path: {path}

output:
  directory: {output}

seed: {seed}   # decides everything: the same seed and data give the same files; keep it secret
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
{keep}{drop}
# strata: [...]             # a chain for every combination of these

# rules:                    # values that follow from others; such rows are left out of the fit
#   - if: age < 15
#     then: {{marital: single}}
# forbid:                   # what no synthetic row may show
#   - age < 18 and marital == 'widowed'

checks:                     # keys and target are suggested when they are absent
"""

_NO_PANEL = """\
# Are rows persons in several periods, or columns periods? Then write this with
#   synthesizer init ... --person COLUMN --time COLUMN --career COLUMN
#   synthesizer init ... --wide VARIABLE=FIRST..LAST --career VARIABLE
# panel: ...
"""

_KEEP = "# keep: [...]               # copied as they are (partial synthesis)\n"

_LIMITS = """\
# limits:                   # a check above its limit ends the run with exit code 3
#   differential_confidentiality: 0.03
#   mean_two_way: 2.0
"""


def write_starter(
    data: Path, output: Path | None, *, panel: PanelConfig | None = None, overwrite: bool
) -> Path:
    """Write a starter configuration for a data file and return its path.

    Parameters
    ----------
    data : Path
        CSV or Parquet file.
    output : Path or None
        YAML file; the name of the data in the working directory if None.
    panel : PanelConfig, optional
        How persons and periods are told apart.
    overwrite : bool
        Whether a file may be replaced.

    Raises
    ------
    OutputError
        If the file exists already or cannot be written.
    DataError, ConfigError
        If the data cannot be used, or are no such panel, with every problem.
    """
    stem = data.name.split(".")[0] or "data"
    path = output if output is not None else Path(f"{stem}.yaml")
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists already; name another file (-o) or say --overwrite")
    text = starter_text(data, path, panel)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error
    return path


def starter_text(data: Path, path: Path, panel: PanelConfig | None = None) -> str:
    """Return the text of a starter configuration that lies at ``path``."""
    raw, empty = _without_empty(read_path(data), panel)
    found = read_as_panel(raw, panel)
    codebook = describe_encoded(raw, found.inferred, found.table)
    relative = os.path.relpath(data.absolute(), path.absolute().parent)
    stem = data.name.split(".")[0] or "data"
    head = _HEAD.format(
        name=path.name,
        path=_quoted(relative),
        output=_quoted(f"{stem}_synthetic"),
        seed=fresh_seed(),
        panel=_NO_PANEL if panel is None else _panel_lines(panel),
    )
    lines = _all_lines(found, codebook, panel)
    tail = _TAIL.format(drop=_drop_line(empty), keep=_KEEP if panel is None else "")
    return head + "\n".join(lines) + "\n" + tail + _scenario_lines(found.units) + _LIMITS


def _panel_lines(panel: PanelConfig) -> str:
    lines = ["panel:   # models are chosen by how many persons change a variable, see `plan`"]
    for key in ("person", "time"):
        if (name := getattr(panel, key)) is not None:
            lines.append(f"  {key}: {_quoted(name)}")
    if panel.wide:
        lines.append("  wide:")
        lines += [f"    {_quoted(n)}: {_listed(columns)}" for n, columns in panel.wide.items()]
    if panel.absent:
        lines.append(f"  absent: {_listed(panel.absent)}   # not there in that period")
    if panel.career is not None:
        lines.append(f"  career: {_quoted(panel.career)}   # its states are drawn as a whole")
    else:
        lines.append("  # career: ...   # variable whose sequence of states is drawn as a whole")
    return "\n".join([*lines, ""])


def _all_lines(found: Reading, codebook: Codebook, panel: PanelConfig | None) -> list[str]:
    """Return the entries of all variables; those of a wide variable stand at its first column."""
    derived = suggest_derivations(found.table) if panel is None else {}
    firsts = {columns[0]: name for name, columns in found.wide.items()}
    cells = {column for columns in found.wide.values() for column in columns}
    lines: list[str] = []
    for row in codebook.variables:
        if row.name in firsts:
            name = firsts[row.name]
            lines += _wide_lines(found.variables[name], len(found.wide[name]))
        elif row.name not in cells:
            lines += _variable_lines(row, found.table[row.name].variable, derived.get(row.name))
            if row.name == found.guessed_order:
                lines[-1] += "; check that they are in order of time, which is a guess"
    return lines


def _wide_lines(variable: Variable, count: int) -> list[str]:
    parts = ", ".join(_parts(variable))
    return [f"  {_quoted(variable.name)}: {{{parts}}}   # of all its {count} columns"]


def _without_empty(raw: RawTable, panel: PanelConfig | None) -> tuple[RawTable, list[str]]:
    """Part the columns with values from those without any, which cannot be synthesized.

    Columns that the panel names stay: what is wrong with them is told.
    """
    named = () if panel is None else (panel.person, panel.time, panel.career)
    empty = [texts.name for texts in raw.texts if is_empty(texts) and texts.name not in named]
    if not empty or len(empty) == len(raw.names):
        return raw, []
    return raw.select([name for name in raw.names if name not in empty]), empty


def _drop_line(empty: list[str]) -> str:
    if not empty:
        return "# drop: [...]               # left out of the synthesis and of the output"
    names = ", ".join(_quoted(name) for name in empty)
    return f"drop: [{names}]   # no value in any row: left out of the synthesis and of the output"


def _variable_lines(row: CodebookVariable, variable: Variable, derived: str | None) -> list[str]:
    """Return the entry of one variable; the comment says why, with counts only."""
    parts = _parts(variable)
    if derived is not None:
        parts.append(f"derived: {_quoted(derived)}")
    count = f"{row.levels} values" + (f", {row.missing} missing" if row.missing else "")
    if variable.kind is Kind.ORDERED:
        count += "; the list of levels comes from the data"
    return [f"  {_quoted(row.name)}: {{{', '.join(parts)}}}   # {count}; {row.reason}"]


def _parts(variable: Variable) -> list[str]:
    parts = [f"kind: {variable.kind}"]
    if variable.missing:
        parts.append(f"missing: {_listed(variable.missing)}")
    if variable.kind is Kind.ORDERED:
        parts.append(f"levels: {_listed(variable.levels)}")
    return parts


def _scenario_lines(units: Table) -> str:
    from synthesizer.risk.suggest import suggest

    drawn = units.select(c.name for c in units.columns if c.variable.kind is not Kind.ID)
    found = suggest(drawn)
    if not found.keys or found.target is None:
        return "  # keys: [...]   # what an intruder may know\n  # target: ...\n  two_way: true\n\n"
    keys = ", ".join(_quoted(key) for key in found.keys)
    return (
        f"  keys: [{keys}]   # what an intruder may know: name your own\n"
        f"  target: {_quoted(found.target)}   # what an intruder may want to learn\n\n"
    )


def _listed(texts: Iterable[str]) -> str:
    return f"[{', '.join(_quoted(text) for text in texts)}]"


def _quoted(text: str) -> str:
    """Write a text as YAML in double quotes, unless it is a plain word."""
    plain = text.replace("_", "a").replace("/", "a").replace(".", "a")
    if plain.isascii() and plain.isalnum() and plain[0].isalpha() and text not in _WORDS:
        return text
    return json.dumps(text, ensure_ascii=False)


_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "Y", "N", "NO", "Yes", "No"}
