"""Random queries, public schemas, codebooks and cells, and the commands of verification.

The confidential file holds the planted values; the synthetic one, of which everything is public,
does not. Inputs of the kind `cells` are a confidential file and a neighbour in which one person's
cells are others: the rows of all others must be read alike, and each row as if it were alone. A
text file into which a program wrote bytes without quoting them may be refused.
"""

from __future__ import annotations

import csv
import json
import os
import random
import tempfile
from collections.abc import Sequence
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from fuzz_inputs import (
    NUMBERS,
    ODD,
    SECRETS,
    YAML_TOKENS,
    Call,
    Maker,
    Trial,
    any_expression,
    anything,
    containers,
    csv_of,
    formula,
    mutated,
    scalar,
    some,
)

from synthesizer.data.errors import DataError
from synthesizer.data.sources import RawTable
from synthesizer.extensions.verification.public_schema import PublicSchema, strictly
from synthesizer.extensions.verification.verify import begin_ledger
from synthesizer.jobs.run import run

PERSONS = 40
COLUMNS = ("person", "year", "sex", "town", "age", "pay", "born")


def people(towns: tuple[str, ...], pays: tuple[str, ...] = ()) -> dict[str, list[Any]]:
    """Return persons in three years; some of them have odd pays."""
    rng = random.Random("people")  # noqa: S311
    rows = [(person, year) for person in range(PERSONS) for year in (2001, 2002, 2003)]
    pay = [f"{20000 + 1000 * (p % 7) + rng.randrange(5000)}" for p, _ in rows]
    for row, odd in zip((3, 40), pays, strict=False):
        pay[row] = odd
    return {
        "person": [f"p{person}" for person, _ in rows],
        "year": [year for _, year in rows],
        "sex": ["fm"[person % 2] for person, _ in rows],
        "town": [rng.choice(towns) for _ in rows],
        "age": [20 + person % 40 + year - 2001 for person, year in rows],
        "pay": pay,
        "born": [f"19{60 + person % 30}-0{1 + person % 9}-11" for person, _ in rows],
    }


SCHEMA: dict[str, Any] = {
    "format": 1,
    "person": "person",
    "period": "year",
    "rows_per_person": 3,
    "file": {"delimiter": ",", "encoding": "utf-8", "decimal_mark": "."},
    "variables": {
        "year": {"kind": "numeric", "low": 2001, "high": 2003, "whole": True},
        "sex": {"kind": "categorical", "levels": ["f", "m"], "reference": "m"},
        "town": {"kind": "categorical", "levels": ["north", "south", "west"]},
        "age": {"kind": "numeric", "low": 18, "high": 90, "missing": ["-8"]},
        "pay": {"kind": "numeric", "low": 0, "high": 200000},
        "born": {"kind": "date", "low": "1950-01-01", "high": "1999-12-31",
                 "date_format": "%Y-%m-%d"},
    },
}  # fmt: skip
_MODEL: dict[str, Any] = {"formula": "pay ~ sex + age | town", "partitions": 10}
QUERIES: tuple[dict[str, Any], ...] = (
    _MODEL | {"ask": {"measure": "interval", "coefficient": "sex[f]", "below": 0}},
    _MODEL | {"ask": {"measure": "interval", "coefficient": "age", "between": [0, 99]},
              "errors": "report"},
    _MODEL | {"ask": {"measure": "tolerance", "coefficient": "sex[f]", "share": 0.5}},
    _MODEL | {"ask": {"measure": "significance", "coefficient": "age"}, "epsilon": 0.5},
    {"formula": "I(log(pay)) ~ sex + age", "partitions": 10, "subset": "age > 25",
     "ask": {"measure": "trend", "coefficient": "sex[f]", "over": "year",
             "periods": [{"first": 2001, "last": 2003, "slope": "rising"}]}},
    {"formula": "I(pay > 22000) ~ sex + age", "family": "logit", "ask": {"measure": "roc"}},
    _MODEL | {"ask": {"measure": "residuals", "cells": 5}},
    _MODEL | {"ask": {"measure": "accuracy"}},
    {"ask": {"measure": "counts", "by": ["sex", "town"], "rows": 2},
     "subset": "born > '1970-01-01'"},
    {"ask": {"measure": "means", "of": "pay", "by": ["sex"]}},
)  # fmt: skip
NAMES = {*COLUMNS, "query.yaml", "schema.yaml", "codebook.json", "new.yaml", "ask", "formula",
         "family", "subset", "epsilon", "partitions", "errors", "variables", "file", "person",
         "period", "rows_per_person", "coefficient", "user", "analysis",
         "ledger.sqlite"}  # fmt: skip


@cache
def prepared() -> dict[str, bytes]:
    """Return the files that all trials share: two tables, a ledger and the codebook of a run."""
    real = people(SECRETS[:3], SECRETS[3:5])
    made = {
        "confidential.csv": csv_of(real, quoting=csv.QUOTE_MINIMAL),
        "synthetic.csv": csv_of(people(("north", "south", "west"))),
        "schema.yaml": json.dumps(SCHEMA).encode(),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in made.items():
            (folder / file).write_bytes(content)
        ledger = folder / "ledger.sqlite"
        begin_ledger(
            ledger, confidential=folder / "confidential.csv", schema=folder / "schema.yaml", cap=5.0
        )
        made["ledger.sqlite"] = ledger.read_bytes()
        config = {
            "data": {"path": "synthetic.csv"}, "output": {"directory": "run"}, "seed": 1,
            "random_key": "none", "workers": 1, "checks": False,
            "panel": {"person": "person", "time": "year", "career": "town"},
        }  # fmt: skip
        (folder / "run.yaml").write_text(json.dumps(config))
        run(folder / "run.yaml")
        made["codebook.json"] = (folder / "run" / "codebook.json").read_bytes()
    return made


def lay(folder: Path) -> None:
    """Lay the shared files into the folder of a trial."""
    for name, content in prepared().items():
        (folder / name).write_bytes(content)
    os.chmod(folder / "ledger.sqlite", 0o600)


def changed(content: Any, rng: random.Random, often: int = 2) -> None:
    """Change some values of nested content in place."""
    for _ in range(rng.choice((0, 0, 0, 1, 1, often))):
        if not content:
            return
        parent, key = rng.choice(containers(content))
        pick = rng.random()
        if pick < 0.2:
            del parent[key]
        elif pick < 0.3 and isinstance(parent, dict):
            parent[scalar(rng) if rng.random() < 0.3 else rng.choice(ODD)] = parent.pop(key)
        elif pick < 0.4 and isinstance(parent, list):
            parent.append(rng.choice(parent) if parent else scalar(rng))
        elif pick < 0.7 and isinstance(parent[key], int | float):
            parent[key] = rng.choice(NUMBERS)
        else:
            parent[key] = some(rng, rng.choice(COLUMNS), scalar(rng), anything(rng))


def text_of(content: Any, rng: random.Random) -> bytes:
    """Return content as JSON or YAML, with faults in its bytes at times."""
    try:
        if rng.random() < 0.7:
            text = json.dumps(content, ensure_ascii=rng.random() < 0.7)
        else:
            text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    except (TypeError, ValueError, yaml.YAMLError):  # keys that neither can write
        text = str(content)
    data = text.encode("utf-8", "surrogatepass")
    return mutated(data, rng, YAML_TOKENS) if rng.random() < 0.15 else data


VERIFY = (
    "verification",
    "answer",
    "query.yaml",
    "--synthetic",
    "synthetic.csv",
    "--schema",
    "schema.yaml",
)
CHARGED = (*VERIFY, "--confidential", "confidential.csv", "--ledger", "ledger.sqlite")


def query_trial(rng: random.Random, folder: Path) -> Trial:
    """Ask a query of the synthetic data, or of the confidential ones, at a charge."""
    lay(folder)
    content = json.loads(json.dumps(rng.choice(QUERIES)))
    changed(content, rng)
    if rng.random() < 0.1 and "formula" in content:
        content["formula"] = formula(rng)
    if rng.random() < 0.1:
        content["subset"] = any_expression(rng)
    data = text_of(content, rng)
    (folder / "query.yaml").write_bytes(data)
    calls: tuple[Call, ...] = (
        (*VERIFY, "--dry-run"),
        (*VERIFY, "--dry-run", "-o", "out"),
        (*VERIFY, "--choose-m"),
        (*CHARGED, "--json"),
        (*CHARGED, "--user", rng.choice(ODD[:6]), "-o", "out"),
    )
    call = calls[rng.choice((0, 0, 1, 2, 3, 3, 4))]
    return Trial([call], data.decode("utf-8", "replace"), False, NAMES)


def schema_trial(rng: random.Random, folder: Path) -> Trial:
    """Ask with a public schema that was changed, make a ledger with it, or read a codebook."""
    lay(folder)
    pick = rng.random()
    if pick < 0.3:
        book = json.loads(prepared()["codebook.json"])
        changed(book, rng, often=4)
        data = text_of(book, rng)
        (folder / "codebook.json").write_bytes(data)
        words = some(rng, (), ("--person", "sex"), ("--period", "year"), ("--person", "nope"))
        calls: list[Call] = [("verification", "schema", "codebook.json", "-o", "new.yaml", *words)]
        return Trial(calls, data.decode("utf-8", "replace"), False, NAMES)
    content = json.loads(json.dumps(SCHEMA))
    changed(content, rng, often=3)
    data = text_of(content, rng)
    (folder / "schema.yaml").write_bytes(data)
    (folder / "query.yaml").write_text(json.dumps(rng.choice(QUERIES)))
    new = (
        "verification", "new-ledger", "new.sqlite", "--confidential", "confidential.csv",
        "--schema", "schema.yaml", "--cap", str(some(rng, 1, 1, 0.5, *NUMBERS)),
    )  # fmt: skip
    again = (*CHARGED[:-1], "new.sqlite")
    calls = [new, again] if pick < 0.6 else [(*VERIFY, "--dry-run")]
    return Trial(calls, data.decode("utf-8", "replace"), False, NAMES | {"new.sqlite", "cap"})


# ---- cells

HOSTILE: tuple[Any, ...] = (
    "9999-12-31", "0001-01-01", "1600-01-01", "2001-02-31", "0000-01-01", "-044-03-15",
    "10000-01-01", "31.12.99", "01.01.00", "29.02.01", "2001-06-30T12:00:00+0130",
    "2001-06-30T12:00:00-1400", "2001-06-30T12:00:00+2500", "2001-06-30T23:59:60+0000",
    "1e308", "-1e308", "1e999", "5e-324", "-0", "0x1", "1_000", "1,000", "$1,328.55", "-$1",
    "1 000", "nan", "NaN", "inf", "\u0663", "\u22125", "+1", "1.", "9" * 25, "9" * 25 + ":30",
    "9" * 18 + ":30", "7:30", "23:59:60", "-1:30", "2 days 1:00", "", " ", "\u00a0", "\ufeff",
    "\ufefff", "f ", "NA", "<NA>", "null", "<null>", "-8", "-9", "1.0", "f.0", "TRUE", '"', '""',
    '"f', 'f"', 'a"b', "'", "'=1", "\x0b", "\x85", "\u2028", "\x1a", "e\u0301", "\U0001f600",
    "qzalpha", "x" * 1000, "9" * 1000,
)  # fmt: skip
RAW = (b'"', b'"f', b'f"', b'"f"x', b",", b",,,", b"\r", b"\n", b"\r\n", b'"\n"', b"\0", b"\xff",
       b"\xe9", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"#", b"sep=;")  # fmt: skip
"""What a program writes into a text file without quoting it."""
VARIABLES: dict[str, Any] = {
    "grade": {"kind": "ordered", "levels": ["1", "2", "3", "NA"], "missing": ["-9"]},
    "union": {"kind": "boolean", "levels": ["no", "yes"], "missing": ["NA"]},
    "pay": {"kind": "numeric", "low": 0, "high": 200000,
            "written": {"thousands": ",", "prefix": "$"}},
    "shift": {"kind": "numeric", "low": 0, "high": 1440, "written": {"clock": "%H:%M"}},
    "born": {"kind": "date", "low": "1950-01-01", "high": "1999-12-31", "date_format": "%Y-%m-%d",
             "missing": ["9999-12-31", "NA"]},
    "hired": {"kind": "date", "low": "1970-01-01", "high": "2030-12-31", "date_format": "%d.%m.%y"},
    "seen": {"kind": "date", "low": "1970-01-01", "high": "2030-12-31",
             "date_format": "%Y-%m-%dT%H:%M:%S%z"},
}  # fmt: skip
SOUND = {
    "grade": ("1", "2"), "union": ("no", "yes"), "shift": ("7:30", "23:00"),
    "hired": ("01.02.99", "31.12.01"),
    "seen": ("2001-06-30T12:00:00+0100", "1999-01-01T00:00:00-0500"),
}  # fmt: skip
TYPES: tuple[tuple[Any, tuple[Any, ...], tuple[Any, ...]], ...] = (
    (pa.int64(), (20, 2001), (2**63 - 1, -(2**63), 0)),
    (pa.uint64(), (1, 2), (2**64 - 1,)),
    (pa.float64(), (20.5, 2.0), (1e308, float("nan"), float("-inf"), -0.0, 5e-324)),
    (pa.float32(), (1.0, 3.5), (3e38, float("nan"))),
    (pa.decimal128(38, 3), (Decimal("2.5"),), (Decimal(10) ** 30,)),
    (pa.duration("s"), (60,), (2**63 - 1, 1 - 2**63)),
    (pa.date32(), (5000, 11000), (2**31 - 1, -(2**31))),
    (pa.timestamp("ms"), (4 * 10**11,), (2**62, -(2**62))),
    (pa.timestamp("us", "Europe/Berlin"), (4 * 10**14,), (2**63 - 1, 1 - 2**63)),
    (pa.bool_(), (True, False), ()),
    (pa.null(), (None,), ()),
    (pa.dictionary(pa.int32(), pa.string()), ("f", "1", "qzbeta"), HOSTILE),
    (pa.binary(), (b"f",), (b"\xff",)),
    (pa.list_(pa.int64()), ([1],), ([],)),
)
"""Types of Parquet, with sound and with odd values; a file of the last two is refused."""


def texts_of(rng: random.Random) -> dict[str, list[Any]]:
    """Return a confidential file with some odd cells."""
    real = people((*SECRETS[:3], "north", "south"), SECRETS[3:5])
    n = 3 * PERSONS
    real |= {name: [rng.choice(some) for _ in range(n)] for name, some in SOUND.items()}
    for row in rng.sample(range(n), rng.choice((0, 5))):
        real[rng.choice([*real])][row] = rng.choice(HOSTILE)
    return real


def with_others(
    column: Sequence[Any], mine: Sequence[int], odd: Sequence[Any], rng: random.Random
) -> list[Any]:
    """Return a column in which some rows are changed."""
    changed = {row: rng.choice(odd) for row in mine if rng.random() < 0.5}
    return [changed.get(row, value) for row, value in enumerate(column)]


def write_parquet(folder: Path, mine: Sequence[int], rng: random.Random) -> bool:
    """Write two neighbours; return whether they must be accepted."""
    real, kinds = texts_of(rng), TYPES[: some(rng, -2, -2, -2, len(TYPES))]
    both: list[dict[str, Any]] = [{}, {}]
    refused = False
    for name, column in real.items():
        kind, sound, odd = pa.string(), tuple(map(str, column)), HOSTILE
        if rng.random() < 0.3:
            kind, sound, odd = rng.choice(kinds)
            column = [rng.choice(sound) for _ in column]
        odd, some_rows = (*sound, *odd, None), rng.sample(range(3 * PERSONS), some(rng, 0, 6))
        cells = map(str, column) if kind == pa.string() else column
        column = with_others(list(cells), some_rows, odd, rng)
        refused |= kind in (TYPES[-1][0], TYPES[-2][0])
        both[0][name] = pa.array(column, kind)
        both[1][name] = pa.array(with_others(column, mine, odd, rng), kind)
    for name, columns in zip(("one.parquet", "other.parquet"), both, strict=True):
        pq.write_table(pa.table(columns), folder / name)
    return not refused


def write_csv(folder: Path, mine: Sequence[int], form: dict[str, str], rng: random.Random) -> bool:
    """Write two neighbours; return whether they must be accepted."""
    real, marks = texts_of(rng), rng.choices(RAW, k=some(rng, 0, 0, 1, 2))
    line_end, is_cut = some(rng, "\n", "\n", "\r\n"), rng.random() < 0.2
    style = some(rng, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)
    other = {name: with_others(column, mine, HOSTILE, rng) for name, column in real.items()}
    if rng.random() < 0.1:
        other["town"][mine[0]] = some(rng, "x", "9") * 10**6
    for _ in marks:
        other[rng.choice([*other])][rng.choice(mine)] = some(rng, "@@", "@@f", "f@@")
    for name, columns in (("one.csv", real), ("other.csv", other)):
        text = csv_of(columns, form["delimiter"], line_end, style).decode()
        data = text.encode(form["encoding"], "replace")
        for mark in marks if columns is other else ():
            data = data.replace(b"@@", mark, 1)
        (folder / name).write_bytes(data.rstrip(b"\r\n") if is_cut else data)
    return not marks


def cell_trial(rng: random.Random, folder: Path) -> Trial:
    """Ask of a file and of a neighbour, and look at how both are read."""
    lay(folder)
    person = 3 * rng.randrange(PERSONS)
    mine = range(person, person + some(rng, 1, 3))
    content = SCHEMA | {"variables": SCHEMA["variables"] | VARIABLES}
    end = some(rng, ".csv", ".csv", ".parquet")
    if end == ".csv":
        form = {"delimiter": some(rng, ",", ";", "\t"), "encoding": some(rng, "utf-8", "cp1252")}
        content |= {"file": form}
        towns = ("north", "south", "west")
        (folder / "synthetic.csv").write_bytes(csv_of(people(towns), form["delimiter"]))
        is_sound = write_csv(folder, mine, form, rng)
    else:
        is_sound = write_parquet(folder, mine, rng)
    (folder / "schema.yaml").write_text(json.dumps(content))
    (folder / "query.yaml").write_text(json.dumps(rng.choice(QUERIES)))
    names = [f"one{end}", f"other{end}"]
    schema = strictly(PublicSchema, content)
    calls: list[Call] = [partial(check, schema, folder, names, mine, rng.random(), is_sound)]
    for name in names:
        ledger = (f"{name}.sqlite", "--confidential", name)
        calls += [("verification", "new-ledger", *ledger, "--schema", "schema.yaml", "--cap", "5"),
                  (*VERIFY, "--ledger", *ledger)]  # fmt: skip
    return Trial(calls if is_sound else [*calls[1:], calls[0]], "", False, {*NAMES, *names})


def check(
    schema: PublicSchema, folder: Path, names: list[str], mine: range, seed: float, is_sound: bool
) -> None:
    """Raise ValueError where a row is read otherwise among others, or a sound file is refused."""
    try:
        one, other = (schema.read(folder / name) for name in names)
    except DataError as error:
        if is_sound:
            raise ValueError("a sound file is refused") from error
        raise
    rows, others = (rows_of(schema, raw) for raw in (one, other))
    if not len(rows) == len(others) == 3 * PERSONS:
        raise ValueError("another number of rows")
    for position, (row, row_of_other) in enumerate(zip(rows, others, strict=True)):
        if row != row_of_other and position not in mine:
            raise ValueError(f"row {position}, of another person, is read otherwise")
    for position in {mine[0], *random.Random(seed).sample(range(len(rows)), 3)}:  # noqa: S311
        alone = RawTable(other.arrow.slice(position, 1), other.layout, other.origin)
        if other.layout.csv:
            end = other.layout.csv.line_end.encode()
            lines = (folder / names[1]).read_bytes().split(end)
            path = folder / names[1].replace("other", "alone")
            path.write_bytes(end.join((lines[0], lines[1 + position], b"")))
            alone = schema.read(path)
        if rows_of(schema, alone) != [others[position]]:
            raise ValueError(f"row {position} is read otherwise alone")


def rows_of(schema: PublicSchema, raw: RawTable) -> list[tuple[Any, ...]]:
    """Return what the public schema sees of each row: whose it is, values and states."""
    encoded = schema.encoded(raw)
    named = [encoded.persons[owner] for owner in encoded.owners]
    columns = [(c.data, c.missing_state()) for c in encoded.table.columns]
    parts = [list(map(bytes, array[:, None])) for both in columns for array in both]
    return list(zip(named, *parts, strict=True))


KINDS: dict[str, Maker] = {"query": query_trial, "schema": schema_trial, "cells": cell_trial}
