"""Random inputs of eight kinds, right ones and wrong ones, and what is called with each.

`fuzz_queries.py` makes more. Some follow a grammar (a schema of a YAML, cells of CSV, expressions,
formulas), others are sound inputs in which something was changed. The tables hold planted values,
`SECRETS`, which no message may repeat.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import re
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import yaml

from synthesizer.config.reading import config_schema
from synthesizer.data.archive import read_archive, write_archive
from synthesizer.data.errors import SynthesizerError
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import KIND
from synthesizer.extensions.descriptions.description import Description
from synthesizer.jobs.synthesizer import Synthesizer
from synthesizer.measures.utility.compare_fit import compare_fit

Words = tuple[str, ...]
Call = Words | Callable[[], object]
"""A command as it is typed, or a function of the package."""

SECRETS = ("qzalpha", "qzbeta", "qzgamma", "81357.25", "91827.75", "1931-07-13")
"""Values of the tables that a message must not repeat."""


@dataclass(frozen=True)
class Trial:
    """One input and the calls that get it, one after the other while they accept it."""

    calls: list[Call]
    typed: str
    """What the user wrote: a message may repeat it, also where it holds a planted value."""
    must_follow: bool = False
    """Whether a run may not be refused as wrong, since what it runs was called valid."""
    names: set[str] = field(default_factory=set)
    """Names of files and variables, any of which makes clear what a message is about."""


Maker = Callable[[random.Random, Path], Trial]

# ---- tables

ROWS = 24
COLUMNS = ("sex", "town", "age", "pay", "born")


def table() -> dict[str, list[Any]]:
    """Return a small table with planted values."""
    towns = SECRETS[:3]
    pays = ["" if i % 7 == 3 else f"{20000 + 137.25 * i:.2f}" for i in range(ROWS)]
    pays[5], pays[11] = SECRETS[3], SECRETS[4]
    born = [f"19{60 + i % 30}-0{1 + i % 9}-1{i % 10}" for i in range(ROWS)]
    born[7] = SECRETS[5]
    return {
        "sex": ["fm"[i * 7 % 3 % 2] for i in range(ROWS)],
        "town": [towns[i * i % 3] for i in range(ROWS)],
        "age": [18 + 5 * i % 61 for i in range(ROWS)],
        "pay": pays,
        "born": born,
    }


def panel() -> dict[str, list[Any]]:
    """Return persons in periods, in long form."""
    pairs = [(person, year) for person in range(9) for year in (2001, 2002, 2003)]
    rows = [(person, year) for person, year in pairs if (person + year) % 5]
    return {
        "person": [f"p{person}" for person, _ in rows],
        "year": [year for _, year in rows],
        "job": [SECRETS[(person * year) % 3] for person, year in rows],
        "sex": ["fm"[person % 2] for person, _ in rows],
        "age": [30 + person + year - 2001 for person, year in rows],
    }


def wide() -> dict[str, list[Any]]:
    """Return persons in periods, in wide form."""
    states = {f"y{t}": [("qzalpha", "qzbeta", "gone")[(i + t * i) % 3] for i in range(12)]
              for t in (1, 2, 3)}  # fmt: skip
    return {"sex": ["fm"[i % 2] for i in range(12)], **states}


def household() -> dict[str, list[Any]]:
    """Return persons in households of one to three, with a weight."""
    members = [(home, member) for home in range(12) for member in range(1 + home % 3)]
    return {
        "home": [f"h{home}" for home, _ in members],
        "size": [1 + home % 3 for home, _ in members],
        "town": [SECRETS[home * home % 3] for home, _ in members],
        "relation": [("head", "spouse", "child")[member] for _, member in members],
        "age": [50 + home - 25 * (member == 2) for home, member in members],
        "weight": [1.5 + home % 4 for home, _ in members],
    }


def csv_of(
    columns: Mapping[str, Sequence[Any]], delimiter: str = ",", end: str = "\n", quoting: Any = 0
) -> bytes:
    """Return a table as CSV."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode("utf-8", "surrogatepass")


def write_tables(folder: Path) -> None:
    """Write the tables that configurations name."""
    for made in (panel, wide, household):
        (folder / f"{made.__name__}.csv").write_bytes(csv_of(made()))
    (folder / "data.csv").write_bytes(csv_of(table()))


# ---- words, numbers, mutations

MODELS = (
    *("cart", "sample", "norm", "pmm", "logreg", "polyreg", "polr", "forest", "keep", "derived"),
    *("lognorm", "normrank", "bag", "constant", "genetic", "parametric", "crat", ""),
)
ODD = ("", " ", "nope", "\0", "\ud800", "a\udfffb", "x" * 300, "x" * 5000, "é", "\u202e", "😀", "~",
       "~ age", "-", "..", ".", "/", "out", "data.csv", "1e5", "1,5", ".inf", "nan", "NO", "007",
       "2020-01-31", "%Y", "%", "[", "{", "`", "'", '"',
       "a b", "a\nb", "#", "*x", "&x", "!!x",
       "NA", "None", "true", "age@2001", "__class__", "$array", "{}", "{0}",
       "%s", "\\")  # fmt: skip
NUMBERS = (0, 1, 2, 3, 5, -1, -2, 10, 0.5, 0.05, 1.5, -0.5, 1e-300, 1e300, 10**6, 10**9, 10**12,
           10**18, 10**30, -(10**9), 2**31, 2**63, float("inf"), float("nan"))  # fmt: skip


def some(rng: random.Random, *choices: Any) -> Any:
    """Choose one."""
    return rng.choice(choices)


def word(rng: random.Random) -> str:
    """Return a name, a model, an expression, a formula or something odd."""
    pick = rng.random()
    if pick < 0.35:
        return rng.choice(COLUMNS)
    if pick < 0.45:
        return rng.choice(MODELS)
    if pick < 0.55:
        return any_expression(rng)
    return formula(rng) if pick < 0.6 else rng.choice(ODD)


def scalar(rng: random.Random) -> Any:
    """Return a word, a number, a flag or nothing."""
    return some(rng, word(rng), word(rng), rng.choice(NUMBERS), rng.random() < 0.5, None)


def anything(rng: random.Random, depth: int = 2) -> Any:
    """Return nested values of any shape."""
    pick = rng.random()
    if depth == 0 or pick < 0.6:
        return scalar(rng)
    if pick < 0.8:
        return [anything(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {word(rng): anything(rng, depth - 1) for _ in range(rng.randrange(3))}


def mutated(data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    """Return bytes with one to four changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        at = rng.randrange(len(data) + 1)
        until = min(len(data), at + rng.choice((1, 1, 2, 5, 20, 200)))
        kind = rng.randrange(7)
        if kind == 0 and at < len(data):
            flipped = bytes([data[at] ^ (1 << rng.randrange(8))])
            data = data[:at] + flipped + data[at + 1 :]
        elif kind == 1:
            data = data[:at] + data[until:]
        elif kind == 2:
            data = data[:until] + data[at:until] * rng.choice((1, 2, 30)) + data[until:]
        elif kind == 3:
            data = data[:at] + rng.choice(tokens) + data[until:]
        elif kind == 4 and rng.random() < 0.3:
            data = data[:at]
        elif kind == 5:
            data = data[:at] + bytes(rng.randrange(256) for _ in range(3)) + data[at:]
        else:
            data = data[:at] + rng.choice(tokens) + data[at:]
    return data


# ---- YAML configurations

_PLAIN: dict[str, Any] = {
    "data": {"path": "data.csv"}, "output": {"directory": "out"}, "workers": 1, "seed": 1,
    "random_key": "none",
}  # fmt: skip
CONFIGURATIONS = Path(__file__).parent / "configs" / "fuzzed.yaml"
DESCRIPTIONS = yaml.safe_load(CONFIGURATIONS.with_name("described.yaml").read_text("utf-8"))
BASES = [_PLAIN | each for each in yaml.safe_load(CONFIGURATIONS.read_text(encoding="utf-8"))]
_LONG = {"person": "person", "time": "year", "career": "job"}
YAML_TOKENS = tuple(
    token.encode("utf-8", "surrogatepass")
    for token in (*ODD, "\n", ": ", "- ", "  ", "\t", "'", '"', "|\n", ">\n", "? ", "---\n", "...",
                  "!!python/object/apply:os.getcwd []", "!!binary abc", "!!timestamp 2020-99-99",
                  "!!set {a}", "&a ", "*a", "<<: ", "{" * 60, "[" * 60, "\\ud800", "\ufeff", "\x85",
                  "%YAML 1.1\n", "0o17", "1_000", "0x1F", "1e999", "9" * 400, "- - - ")
)  # fmt: skip


@cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema of the YAML, with the parts of descriptions."""
    described, whole = Description.model_json_schema(), config_schema(Registry.load())
    return whole | {"$defs": described["$defs"] | {"Description": described} | whole["$defs"]}


def by_schema(node: Mapping[str, Any], rng: random.Random, depth: int = 4) -> Any:
    """Return a value that a schema allows, or nearly."""
    if "$ref" in node:
        return by_schema(schema()["$defs"][node["$ref"].rsplit("/", 1)[1]], rng, depth)
    if rng.random() < 0.04:
        return anything(rng)
    choices: list[Any] = node.get("enum") or node.get("anyOf") or node.get("oneOf") or []
    if choices:
        choice = rng.choice(choices)
        return by_schema(choice, rng, depth) if isinstance(choice, dict) else choice
    if "const" in node:
        return node["const"]
    kind = node.get("type")
    if kind == "object" or "properties" in node:
        return _object(node, rng, depth)
    if kind == "array":
        inner = node.get("items") or {"type": "string"}
        return [by_schema(inner, rng, depth - 1) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    if kind in ("integer", "number"):
        return rng.choice(NUMBERS)
    return rng.random() < 0.5 if kind == "boolean" else word(rng)


def _object(node: Mapping[str, Any], rng: random.Random, depth: int) -> dict[str, Any]:
    if depth <= 0:
        return {}
    known, result = node.get("properties", {}), {}
    for key in rng.sample(sorted(known), min(len(known), rng.choice((1, 1, 2, 3)))):
        result[key] = by_schema(known[key], rng, depth - 1)
    more = node.get("additionalProperties")
    if isinstance(more, dict):
        result |= {word(rng): by_schema(more, rng, depth - 1) for _ in range(rng.randrange(3))}
    return result


def containers(value: Any) -> list[tuple[Any, Any]]:
    """Return every container with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    pairs = [(value, key) for key in keys]
    for key in keys:
        if isinstance(value[key], dict | list):
            pairs += containers(value[key])
    return pairs


def configuration(rng: random.Random) -> bytes:
    """Return the text of a configuration."""
    content = json.loads(json.dumps(rng.choice(BASES)))
    properties = schema()["properties"]
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        key = rng.choice(sorted(set(properties) - {"plugins", "data"}))
        content[key] = by_schema(properties[key], rng)
    return changed(content, rng, (0, 0, 0, 1, 2))


def changed(content: Any, rng: random.Random, times: Sequence[int]) -> bytes:
    """Return the YAML of a content with keys and values deleted, renamed or replaced."""
    for _ in range(rng.choice(times)):
        parent, key = rng.choice(containers(content) or [({"": 0}, "")])
        if rng.random() < 0.2:
            del parent[key]
        elif isinstance(parent, dict) and rng.random() < 0.2:
            parent[word(rng)] = parent.pop(key)
        else:
            parent[key] = anything(rng)
    if rng.random() < 0.7:
        text = json.dumps(content, indent=rng.choice((None, 1)), ensure_ascii=rng.random() < 0.7)
    else:
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    data = text.encode("utf-8", "surrogatepass")
    return mutated(data, rng, YAML_TOKENS) if rng.random() < 0.3 else data


def yaml_trial(rng: random.Random, folder: Path) -> Trial:
    """Validate a configuration; plan and run some."""
    write_tables(folder)
    data = configuration(rng)
    (folder / "run.yaml").write_bytes(data)
    calls: list[Call] = [("plan", "run.yaml")]
    if rng.random() < 0.2:
        calls.append(("plan", "run.yaml"))
    if rng.random() < 0.15:
        calls.append(("run", "run.yaml", "-m", "1", "--workers", "1"))
    names = {*COLUMNS, *household(), "run.yaml", "data.csv"}
    return Trial(calls, data.decode("utf-8", "replace"), True, names | keys_of(schema()))


def description_trial(rng: random.Random, folder: Path) -> Trial:
    """Write a file from a description with changes, and compare it with the description."""
    sound = rng.choice(DESCRIPTIONS)
    content = json.loads(json.dumps(sound))
    for _ in range(rng.choice((0, 1, 1, 2))):
        facts = some(rng, content, *content["variables"].values(), *content["variables"].values())
        kind = "Description" if facts is content else "VariableFacts"
        key, node = rng.choice(sorted(schema()["$defs"][kind]["properties"].items()))
        if key != "variables":
            facts[key] = by_schema(node, rng)
    data = changed(content, rng, (0, 0, 0, 1, 2))
    (folder / "x.yaml").write_bytes(data)
    made = ("generate", "--description", "x.yaml", "--rows", "7", "-o", "out", "--workers", "1")
    calls: list[Call] = [made, ("describe", "out/synthetic_1.csv", "--against", "x.yaml")]
    names = {*sound["variables"], "x.yaml"} | keys_of(schema()["$defs"])
    return Trial(calls, data.decode("utf-8", "replace"), False, names)


def keys_of(node: Any) -> set[str]:
    """Return all keys of the YAML."""
    if isinstance(node, list):
        return set().union(*map(keys_of, node))
    if not isinstance(node, dict):
        return set()
    return set(node.get("properties", {})).union(*map(keys_of, node.values()))


# ---- CSV

CELLS = (*ODD, "qzalpha", "qzbeta", "0", "1", "01", "1e400", "inf", "-inf", "1.50", "-0", "1e5",
         "1.", ".5", "+1", "1 000", "T", "F", "31.12.1999", "1999-02-30", "0000-00-00",
         "9999-12-31", "12/31/99", "99999999999999999999", "-8", "N/A", ".", "?")  # fmt: skip
CSV_TOKENS = tuple(
    cell.encode("utf-8", "surrogatepass")
    for cell in (*CELLS, '"', '""', '","', ",", ";", "\t", "|", "\n", "\r", "\r\n", "\n\n", '"\n',
                 "\ufeff", "\x1a")
)  # fmt: skip


def _cells(rng: random.Random, n: int) -> list[str]:
    kind = rng.randrange(6)
    few = [rng.choice(CELLS) for _ in range(rng.choice((1, 2, 4)))]
    if kind == 0:
        return [rng.choice(few) for _ in range(n)]
    if kind == 1:
        return [str(rng.randrange(-9, 99)) for _ in range(n)]
    if kind == 2:
        return [str(date(1990, 1, 1) + timedelta(rng.randrange(9999))) for _ in range(n)]
    if kind == 3:
        return [repr(rng.uniform(-1e4, 1e4)) for _ in range(n)]
    if kind == 4:
        return [rng.choice(SECRETS[:3]) for _ in range(n)]
    return [rng.choice(few) if rng.random() < 0.1 else str(rng.randrange(50)) for _ in range(n)]


def csv_bytes(rng: random.Random) -> bytes:
    """Return the bytes of a CSV file."""
    columns: dict[str, list[Any]]
    if rng.random() < 0.5:
        columns = rng.choice((table, panel, wide))()
    else:
        n = rng.choice((0, 1, 2, 5, 24, 24))
        names = {some(rng, word(rng), f"v{i}", f"v{i}") for i in range(rng.choice((1, 2, 4)))}
        columns = {name: _cells(rng, n) for name in sorted(names)}
    style = some(rng, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)
    data = csv_of(columns, some(rng, ",", ",", ";", "\t", "|"), some(rng, "\n", "\r\n"), style)
    if rng.random() < 0.1:
        with_names = data.decode("utf-8", "replace")
        return with_names.encode(some(rng, "utf-16", "latin-1", "utf-8-sig"), "replace")
    return data


def header_of(data: bytes) -> str:
    """Return what may be taken for the names of the columns."""
    start = data.lstrip(b"\xef\xbb\xbf\r\n")
    lines = start.replace(b"\r", b"\n").split(b"\n")
    return lines[0].decode("utf-8", "replace") if start.count(b'"') % 2 == 0 else str(data)


def csv_trial(rng: random.Random, folder: Path) -> Trial:
    """Show the variables of a file, start a configuration, check and synthesise some."""
    data = csv_bytes(rng)
    if rng.random() < 0.6:
        data = mutated(data, rng, CSV_TOKENS)
    name = some(rng, "x.csv", "x.csv", "x.csv", "x.txt", "x.tsv", "x.csv.gz")
    if name.endswith("gz"):
        data = gzip.compress(data, mtime=0)
        if rng.random() < 0.5:
            data = mutated(data, rng, CSV_TOKENS)
    (folder / name).write_bytes(data)
    calls: list[Call] = [("codebook", name), ("init", name, "-o", "x.yaml")]
    pick = rng.random()
    if pick < 0.3:
        calls.append(("plan", "x.yaml"))
    elif pick < 0.4:
        keys = (json.dumps(rng.choice(COLUMNS)), some(rng, "age", "sex", "job"))
        options = ("--keys", keys[0], "--target", keys[1], "--only", "risk")
        calls.append(("check", name, name, *options))
    elif pick < 0.43:
        calls.append(("check", name, name, "--only", "utility", "--set", "workers=1"))
    if pick < 0.06:
        no_checks = ("--no-checks",) if pick < 0.04 else ()
        calls.append(("run", "x.yaml", "-m", "1", "--workers", "1", *no_checks))
    plain = gzip.decompress if name.endswith("gz") else bytes
    try:
        header = header_of(plain(data))
    except (OSError, EOFError, zlib.error):
        header = ""
    return Trial(calls, header, pick < 0.06, {name, "x.yaml", "columns", "keys"})


# ---- Parquet files and frames


def _values(rng: random.Random, n: int) -> Any:
    """Return an Arrow array of a random type."""
    makers: tuple[Callable[[], Any], ...] = (
        lambda: pa.array([rng.choice((*ODD[:4], "a", "qzalpha", None)) for _ in range(n)]),
        lambda: pa.array([rng.choice(NUMBERS[:12]) for _ in range(n)], pa.float64()),
        lambda: pa.array([rng.choice((1.0, float("inf"), float("nan"), None)) for _ in range(n)]),
        lambda: pa.array([rng.randrange(-99, 99) for _ in range(n)], some(rng, pa.int8(), None)),
        lambda: pa.array([rng.randrange(2**63, 2**64) for _ in range(n)], pa.uint64()),
        lambda: pa.array([rng.random() < 0.5 for _ in range(n)]),
        lambda: pa.array([None] * n),
        lambda: pa.array([date(1931, 7, 13) + timedelta(i) for i in range(n)]),
        lambda: pa.array([rng.randrange(-(2**31), 2**31) for _ in range(n)], pa.int32()).view(
            pa.date32()
        ),
        lambda: pa.array(
            [datetime(2000, 1, 1, i % 24) for i in range(n)],
            pa.timestamp(some(rng, "s", "ns"), some(rng, None, "UTC", "Europe/Berlin")),
        ),
        lambda: pa.array([rng.randrange(-(2**62), 2**62) for _ in range(n)]).view(
            pa.timestamp("us")
        ),
        lambda: pa.array([Decimal(rng.randrange(9999)) / 100 for _ in range(n)]),
        lambda: pa.array([Decimal(10) ** 30 + i for i in range(n)]),
        lambda: pa.array([some(rng, b"ok", b"\xff\xfe", b"\xed\xa0\x80") for _ in range(n)]).view(
            pa.string()
        ),
        lambda: pa.array([b"raw"] * n),
        lambda: pa.array([[1, 2]] * n),
        lambda: pa.array([{"a": 1}] * n),
        lambda: pa.array([timedelta(i) for i in range(n)]),
        lambda: pa.array(["x", "y", None, "x"] * n)[:n].dictionary_encode(),
        lambda: pa.array([some(rng, "aa", "bb") for _ in range(n)], pa.large_string()),
        lambda: pa.array([np.float16(i) for i in range(n)], pa.float16()),
        lambda: pa.DictionaryArray.from_arrays(
            pa.array([i % 2 for i in range(n)], pa.int32()), [2.5, 81357.25], ordered=True
        ),
        lambda: pa.DictionaryArray.from_arrays([0] * n, ["a", "a", None]),
    )
    return rng.choice(makers)()


def arrow_table(rng: random.Random) -> Any:
    """Return a table of random types."""
    n = rng.choice((0, 1, 2, 24, 24, 24))
    names = [some(rng, f"v{i}", f"v{i}", word(rng)) for i in range(rng.choice((1, 2, 3, 5)))]
    names = [name.encode("utf-8", "replace").decode() for name in names]
    try:
        return pa.Table.from_arrays([_values(rng, n) for _ in names], names=names)
    except (ValueError, TypeError, pa.ArrowException):  # values that Arrow itself refuses
        return pa.table({"v0": ["a", "b"] * 12, "v1": [81357.25, 1.5] * 12})


def frame(rng: random.Random) -> pd.DataFrame:
    """Return a frame with what only Python can hold."""
    n = rng.choice((0, 1, 2, 24, 24))
    makers: tuple[Callable[[], Any], ...] = (
        lambda: [rng.choice((*ODD, "a", None)) for _ in range(n)],
        lambda: [rng.choice(("a", 1, 2.5, None, b"x", (1,), {})) for _ in range(n)],
        lambda: [rng.choice(NUMBERS) for _ in range(n)],
        lambda: np.arange(n) * some(rng, 1, 1.5, 1j, np.int8(1)),
        lambda: pd.Categorical.from_codes(
            [rng.randrange(9) for _ in range(n)], pd.Index(ODD[:9], dtype=object)
        ),
        lambda: pd.Categorical([rng.randrange(3) for _ in range(n)], ordered=True),
        lambda: pd.array([rng.choice((1, 2, None)) for _ in range(n)], dtype="Int64"),
        lambda: pd.array([rng.choice((True, None)) for _ in range(n)], dtype="boolean"),
        lambda: pd.arrays.SparseArray([rng.choice((0.0, 1.0)) for _ in range(n)]),
        lambda: pd.period_range("2000-01", periods=n, freq="M"),
        lambda: pd.interval_range(0, n, n) if n else [],
        lambda: pd.date_range("1700-01-01", periods=n, tz=some(rng, None, "UTC")),
        lambda: [pd.NaT] * n,
        lambda: [rng.choice(SECRETS[:3]) for _ in range(n)],
    )
    made = [rng.choice(makers)() for _ in range(rng.choice((1, 2, 4)))]
    columns = [pd.Series(m, dtype=object if isinstance(m, list) else None) for m in made]
    result = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    result.columns = pd.Index(
        [some(rng, f"v{i}", f"v{i}", word(rng), 1, None) for i in range(len(columns))], dtype=object
    )
    return result


def _synthesise(data: pd.DataFrame, **options: Any) -> object:
    settings = {"workers": 1, "random_key": "none", **options}
    return Synthesizer(**settings).fit(data).generate(m=1, seed=1)


def parquet_trial(rng: random.Random, folder: Path) -> Trial:
    """Show, start, check and synthesise a Parquet file, or synthesise a frame."""
    if rng.random() < 0.25:
        data = frame(rng)
        names = {str(name) for name in data.columns} | {"frame"}
        return Trial([lambda: _synthesise(data)], " ".join(names), False, names)
    arrow = arrow_table(rng) if rng.random() < 0.8 else pa.table(table())
    buffer = io.BytesIO()
    try:
        pq.write_table(arrow, buffer, compression=some(rng, "none", "snappy", "zstd"))
    except pa.ArrowException:
        pq.write_table(pa.table(table()), buffer)
    content = buffer.getvalue()
    if rng.random() < 0.3:
        content = mutated(content, rng, (b"\0" * 8, b"\xff" * 4, b"PAR1", b"qz"))
    (folder / "x.parquet").write_bytes(content)
    calls: list[Call] = [("codebook", "x.parquet"), ("init", "x.parquet", "-o", "x.yaml")]
    pick = rng.random()
    if pick < 0.3:
        calls.append(("plan", "x.yaml"))
    elif pick < 0.4:
        calls.append(("check", "x.parquet", "x.parquet", "--only", "risk"))
    if pick < 0.06:
        calls.append(("run", "x.yaml", "-m", "1", "--workers", "1", "--no-checks"))
    names = set(map(str, arrow.column_names)) | {"x.parquet", "x.yaml", "keys"}
    return Trial(calls, " ".join(names), pick < 0.06, names)


# ---- files of SPSS and Stata


WRITTEN = re.compile(rb"\d\d [A-Z][a-z]{2} \d{2,4}[ 0-9][0-9:]{4,7}")
"""When a file was written, in its header."""


@cache
def labelled_files() -> dict[str, bytes]:
    """Return sound files by name, written once."""
    frame = pd.read_csv(io.BytesIO(csv_of(table())), dtype={"born": str})
    notes: dict[str, Any] = {
        "column_labels": dict.fromkeys(COLUMNS, "what it is"),
        "variable_value_labels": {"age": {18: "young", 99: "refused"}},
    }
    ranges: Any = {"age": [{"lo": 90, "hi": 99}]}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pyreadstat.write_sav(frame, folder / "x.sav", missing_ranges=ranges, **notes)
        pyreadstat.write_sav(frame, folder / "x.zsav", compress=True, **notes)
        pyreadstat.write_dta(frame, folder / "x.dta", **notes)
        pyreadstat.write_dta(frame, folder / "old.dta", version=8, **notes)
        written = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    return {name: WRITTEN.sub(lambda at: b"1" * len(at[0]), data) for name, data in written.items()}


LABELLED_TOKENS = (b"\0" * 8, b"\xff" * 4, b"\xff\xff\xef\xff", b"\x7f", b"$FL2", b"<map>",
                   b"</stata_dta>", b"\xc3\x28", b"qz", b"UTF-8", b"windows-1252")  # fmt: skip


def labelled_trial(rng: random.Random, folder: Path) -> Trial:
    """Show the variables of a file whose bytes changed, or that is cut; start and run some."""
    name = rng.choice(sorted(labelled_files()))
    data = labelled_files()[name]
    pick = rng.random()
    if pick < 0.2:
        data = data[: rng.randrange(len(data))]
    elif pick < 0.6:
        data = mutated(data, rng, LABELLED_TOKENS)
    (folder / name).write_bytes(data)
    calls: list[Call] = [("codebook", name)]
    if rng.random() < 0.3:
        calls += [("init", name, "-o", "x.yaml"), ("plan", "x.yaml")]
        if rng.random() < 0.3:
            calls.append(("run", "x.yaml", "-m", "1", "--workers", "1", "--no-checks"))
    return Trial(calls, "", True, {*COLUMNS, name, "x.yaml", "columns", "keys"})


# ---- saved models

MODEL_BASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("data", {}),
    ("data", {"default_method": "parametric"}),
    ("data", {"default_method": "forest", "models": {"forest": {"n_trees": 2}}, "keep": ["sex"]}),
    ("data", {"method": {"age": "normrank", "pay": "pmm", "born": "sample"}, "strata": ["sex"],
              "min_stratum_rows": 2, "proper": True,
              "rules": [{"if": "sex == 'f'", "then": {"age": 30}}]}),
    ("data", {"default_method": {"numeric": "lognorm", "categorical": "polyreg"},
              "structural_zeros": [["sex", "town"]], "forbid": ["age > 99"]}),
    ("panel", {"panel": _LONG}),
    ("wide", {"panel": BASES[14]["panel"]}),
)  # fmt: skip


@cache
def saved_models() -> tuple[bytes, ...]:
    """Return the bytes of saved models, fitted once."""
    made = []
    with tempfile.TemporaryDirectory() as name:
        for number, (source, options) in enumerate(MODEL_BASES):
            path = Path(name) / f"{number}.synth"
            columns = {"data": table, "panel": panel, "wide": wide}[source]()
            data = pd.read_csv(io.BytesIO(csv_of(columns)))
            settings = {"seed": 1, "random_key": "none", "workers": 1, "on_violation": "ignore"}
            Synthesizer(**{**settings, **options}).fit(data).save(path)
            made.append(path.read_bytes())
    return tuple(made)


def _array(array: Any, rng: random.Random) -> Any:
    """Return an array that is damaged."""
    kind = rng.randrange(8)
    if kind == 0:
        return array[:0]
    if kind == 1:
        return array.reshape(-1)[:1].reshape(()) if array.size else np.zeros(())
    if kind == 2:
        return array.reshape(1, *array.shape)
    if kind == 3:
        return array[: rng.randrange(len(array) + 1)] if array.ndim else array
    if kind == 4:
        return array.astype(some(rng, "<f8", "<i8", "|b1", "|i1", "<u8", "<f4"))
    if kind == 5:
        return np.concatenate([array, array]) if array.ndim else array
    changed = array.copy()
    if changed.size:
        value = rng.choice(NUMBERS)
        with np.errstate(all="ignore"):
            try:
                changed.reshape(-1)[rng.randrange(changed.size)] = value
            except (OverflowError, ValueError):
                changed.reshape(-1)[rng.randrange(changed.size)] = 0
    return changed


def _altered(content: Any, rng: random.Random) -> str:
    """Change a value of a saved model in place; return where."""
    container, key = rng.choice(containers(content))
    value = container[key]
    if isinstance(value, np.ndarray):
        container[key] = _array(value, rng)
    elif rng.random() < 0.15:
        del container[key]
    elif isinstance(value, list) and value and rng.random() < 0.5:
        container[key] = some(rng, value[:-1], value + value[:1], value[::-1], [])
    else:
        container[key] = some(rng, scalar(rng), rng.choice(NUMBERS), anything(rng))
    return str(key)


def archive_trial(rng: random.Random, folder: Path) -> Trial:
    """Generate from a saved model whose bytes, or whose sealed content, were changed."""
    original = rng.choice(saved_models())
    path, changes = folder / "m.synth", ""
    if rng.random() < 0.15:
        path.write_bytes(mutated(original, rng, (b"\0" * 8, b"\xff" * 4, b"PK\x05\x06", b"$array")))
    else:
        path.write_bytes(original)
        content = read_archive(path, kind=KIND)
        changes = " ".join(_altered(content, rng) for _ in range(rng.choice((1, 1, 1, 2, 3))))
        path.unlink()
        try:
            write_archive(path, content, kind=KIND)
        except (ValueError, SynthesizerError):  # half characters, keys: what JSON does not take
            path.write_bytes(original[:-1])
    rows = rng.choice(((), ("--rows", "7")))
    calls: list[Call] = [
        ("generate", "m.synth", "-o", "out", "--workers", "1", *rows),
        ("generate", "m.synth", "-o", "out", "--workers", "1", "--overwrite", "--seed", "3"),
    ]
    return Trial(calls[: rng.choice((1, 1, 2))], changes, False, {"m.synth", "rows"})


# ---- expressions, rules, formulas

NAMES = (*COLUMNS, "`pay`", "nope", "`x y`", "`", "town.x", "class", "__import__")
TEXTS = ("'f'", "'qzalpha'", '"m"', "'2000-01-31'", "''", "'\\''", "'x", "'\ud800'")
COUNTS = ("0", "1", "2.5", "18", "1e5", "1e999", "-3", ".5", "007", "9" * 30, "1_0", "0x1", "1j")
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "and", "or",
             "in", "not in", "=", "&", "|", "^", "if", "is", ":=")  # fmt: skip
CALLS = ("abs", "round", "floor", "log", "log10", "exp", "sqrt", "min", "max", "missing", "year",
         "month", "day", "cut", "len", "eval", "lag")  # fmt: skip


def sound(rng: random.Random, kind: str, depth: int = 3) -> str:
    """Return an expression that gives a number, a date, a label or a condition."""
    plain = {
        "number": ("age", "pay", "18", "2.5", "30000", "year(born)", "age"),
        "date": ("born", "'1985-06-30'"),
        "label": ("sex", "'f'", "'m'"),
        "condition": ("age > 30", "sex == 'f'", "missing(pay)", "town != 'qzbeta'",
                      "born > '1980-01-01'"),
    }  # fmt: skip
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(plain[kind])

    def inner(of: str) -> str:
        return sound(rng, of, depth - 1)

    if rng.random() < 0.2:
        return f"({inner(kind)} if {inner('condition')} else {inner(kind)})"
    if kind == "number":
        return rng.choice((
            f"({inner('number')} {rng.choice(OPERATORS[:7])} {inner('number')})",
            f"{rng.choice(CALLS[:7])}({inner('number')})",
            f"{some(rng, 'min', 'max')}({inner('number')}, {inner('number')})",
            f"({inner('date')} - {inner('date')})", f"-{inner('number')}",
            f"month({inner('date')})", f"round({inner('number')}, {rng.choice(COUNTS[:4])})",
        ))  # fmt: skip
    if kind == "date":
        return f"{inner('date')} + {inner('number')}"
    if kind == "label":
        return f"cut({inner('number')}, [10, 50], ['f', 'm', 'f'])"
    of = some(rng, "number", "number", "date", "label")
    return rng.choice((
        f"({inner('condition')} {some(rng, 'and', 'or')} {inner('condition')})",
        f"not ({inner('condition')})", f"{inner(of)} {rng.choice(OPERATORS[7:13])} {inner(of)}",
        f"{inner(of)} in [{plain[of][-1]}, {plain[of][1]}]",
        f"{inner('number')} < {inner('number')} <= {inner('number')}",
    ))  # fmt: skip


SOUND_EXPRESSIONS = ("age < 20 and sex == 'f'", "15 <= age < 65", "missing(pay) or pay > 30000",
                     "cut(age, [30, 50], ['young', 'mid', 'old'])", "year(born) + age // 2",
                     "town in ['qzalpha', 'qzbeta']", "log(pay) * 2 if age > 30 else 0",
                     "born - '1990-01-01' > 365", "round(pay / 1000, 1)", "not (sex == 'm')",
                     "(" * 40 + "age" + ")" * 40, "age + " * 150 + "1", "max(age, 30) ** 2",
                     "2 ** 2 ** 2 ** 2 ** 2 ** 2 ** 2", "-" * 90 + "age")  # fmt: skip
TOKENS = tuple(
    token.encode("utf-8", "surrogatepass")
    for token in (*NAMES, *TEXTS, *COUNTS, *OPERATORS, *CALLS, "(", ")", "[", "]", ",", "~", "\n",
                  "\0", "\ud800", "+ ", ":", "C(", "I(", "(" * 200, "一", "\u2028")
)  # fmt: skip


def garbled(text: str, rng: random.Random) -> str:
    """Return a text with changes, half-read bytes among them."""
    changed = mutated(text.encode("utf-8", "surrogatepass"), rng, TOKENS)
    return changed.decode("utf-8", some(rng, "replace", "surrogateescape", "ignore"))


def any_expression(rng: random.Random, kind: str = "condition") -> str:
    """Return an expression: sound more often than not."""
    text = sound(rng, kind) if rng.random() < 0.8 else rng.choice(SOUND_EXPRESSIONS)
    return garbled(text, rng) if rng.random() < 0.35 else text


_RESULTS = {"pay": "number", "age": "number", "sex": "label", "town": "label", "born": "date"}


def expression_trial(rng: random.Random, folder: Path) -> Trial:
    """Use an expression as a rule, a structural zero or a derived variable."""
    write_tables(folder)
    name = rng.choice(COLUMNS)
    derived = any_expression(rng, _RESULTS[name]).replace(name, "30" if name == "age" else "age")
    fits = {"sex": "f", "town": "qzalpha", "age": 30, "pay": 20000, "born": "1990-05-05"}
    value = fits[name] if rng.random() < 0.8 else scalar(rng)
    uses: tuple[dict[str, Any], ...] = (
        {"forbid": [any_expression(rng)]},
        {"forbid": [any_expression(rng), any_expression(rng)]},
        {"rules": [{"if": any_expression(rng), "then": {name: value}}]},
        {"rules": [{"if": any_expression(rng), "then": {name: value, "sex": "f"}}]},
        {"variables": {name: {"derived": derived}}},
        {"method": {name: f"~ {derived}"}},
    )
    options = {"on_violation": some(rng, "ignore", "warn", "error"), **rng.choice(uses)}
    order = [column for column in rng.sample(COLUMNS, 5) if column != name]
    if rng.random() < 0.9:  # what is set or derived comes last
        options["visit_sequence"] = [*order, name]
    typed = json.dumps(options, ensure_ascii=False)
    names = {*COLUMNS, "run.yaml", "forbid", "rules", "rule", "expression", "derived"}
    pick = rng.random()
    if pick < 0.15:
        data = pd.read_csv(folder / "data.csv")
        return Trial([lambda: _synthesise(data, **options)], typed, False, names)
    content = json.dumps(BASES[2] | options, ensure_ascii=rng.random() < 0.5)
    (folder / "run.yaml").write_bytes(content.encode("utf-8", "surrogatepass"))
    calls: list[Call] = [("plan", "run.yaml")]
    if pick < 0.4:
        calls.append(("run", "run.yaml", "-m", "1", "--workers", "1"))
    return Trial(calls, typed, True, names | {"variables", "method"})


def formula(rng: random.Random) -> str:
    """Return a formula, sound or not."""
    names = (*NAMES, "C(age)", "C(town)", "I(age ** 2)", "I(log(pay))", "1", "0", "I(", "-1", ".",
             f"I({any_expression(rng)})")  # fmt: skip
    terms = [rng.choice(names) for _ in range(rng.choice((1, 2, 3, 5)))]
    text = terms[0] + "".join(f" {some(rng, '+', '+', '*', ':', '-')} {t}" for t in terms[1:])
    effects = f" | {rng.choice(names)}" if rng.random() < 0.15 else ""
    return f"{rng.choice(names)} {some(rng, '~', '~', '~', '~', '=', '')} {text}{effects}"


SOUND_FORMULAS = ("pay ~ age + sex", "pay ~ age*sex", "age ~ C(town) + I(age ** 2)", "sex ~ age",
                  "pay ~ 1", "I(log(pay)) ~ age", "age ~ sex:town", "town ~ age",
                  "age ~ sex | town",
                  "I(pay > 30000) ~ age + born")  # fmt: skip


def formula_trial(rng: random.Random, folder: Path) -> Trial:
    """Fit a model on both sides by Python, by a command, or plan it in a configuration."""
    write_tables(folder)
    text = rng.choice(SOUND_FORMULAS) if rng.random() < 0.4 else formula(rng)
    if rng.random() < 0.3:
        text = garbled(text, rng)
    of_fits = ["formula", "data.csv", "run.yaml", "fit", "family", "--fit", "offset", "rule"]
    names = {*COLUMNS, *of_fits}
    options: dict[str, Any] = {"family": some(rng, "ols", "ols", "logit", "poisson", "multinomial")}
    if rng.random() < 0.3:
        odd = any_expression(rng)
        option = some(rng, "clusters", "weights", "offset")
        options[option] = some(rng, *COLUMNS, "I(log(age))", word(rng), odd)
    typed = f"{text} {options}"
    pick = rng.random()
    if pick < 0.7:
        data = pd.read_csv(folder / "data.csv")
        return Trial([lambda: compare_fit(data, [data], text, **options)], typed, False, names)
    if pick < 0.8:
        setting = json.dumps([{"formula": text, **options}])
        words = ("--set", f"fits={setting}", "--only", "utility", "--set", "workers=1")
        return Trial([("check", "data.csv", "data.csv", *words)], typed, False, names | {"checks"})
    fits = {"fits": [{"formula": text, **options}]}
    content = json.dumps(_PLAIN | {"checks": fits}, ensure_ascii=rng.random() < 0.5)
    (folder / "run.yaml").write_bytes(content.encode("utf-8", "surrogatepass"))
    return Trial([("plan", "run.yaml")], typed, True, names | {"checks"})


KINDS: dict[str, Maker] = {
    "yaml": yaml_trial,
    "description": description_trial,
    "csv": csv_trial,
    "parquet": parquet_trial,
    "labelled": labelled_trial,
    "archive": archive_trial,
    "expression": expression_trial,
    "formula": formula_trial,
}
"""The eight kinds and what makes their inputs."""
