"""Random queries, public schemas and codebooks, and the commands of verification that get them.

The confidential file holds the planted values; the synthetic one, of which everything is public,
does not.
"""

from __future__ import annotations

import csv
import json
import os
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

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
    csv_of,
    formula,
    mutated,
    places,
    scalar,
    some,
)

from synthesizer.jobs.run import run
from synthesizer.verification.verify import begin_ledger

PERSONS = 40
COLUMNS = ("person", "year", "sex", "town", "age", "pay", "born")


def people(towns: tuple[str, ...], pays: tuple[str, ...] = ()) -> dict[str, list[Any]]:
    """Return persons in three years; some of them have odd pays."""
    rng = random.Random("people")  # noqa: S311
    rows = [(person, year) for person in range(PERSONS) for year in (2001, 2002, 2003)]
    pay = [f"{20000 + 1000 * (p % 7) + rng.randrange(5000)}" for p, _ in rows]
    for place, odd in zip((3, 40), pays, strict=False):
        pay[place] = odd
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
            "secret": "none", "workers": 1, "checks": False,
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
        place, key = rng.choice(places(content))
        pick = rng.random()
        if pick < 0.2:
            del place[key]
        elif pick < 0.3 and isinstance(place, dict):
            place[scalar(rng) if rng.random() < 0.3 else rng.choice(ODD)] = place.pop(key)
        elif pick < 0.4 and isinstance(place, list):
            place.append(rng.choice(place) if place else scalar(rng))
        elif pick < 0.7 and isinstance(place[key], int | float):
            place[key] = rng.choice(NUMBERS)
        else:
            place[key] = some(rng, rng.choice(COLUMNS), scalar(rng), anything(rng))


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


VERIFY = ("verify", "query.yaml", "--synthetic", "synthetic.csv", "--schema", "schema.yaml")
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
        calls: list[Call] = [("public-schema", "codebook.json", "-o", "new.yaml", *words)]
        return Trial(calls, data.decode("utf-8", "replace"), False, NAMES)
    content = json.loads(json.dumps(SCHEMA))
    changed(content, rng, often=3)
    data = text_of(content, rng)
    (folder / "schema.yaml").write_bytes(data)
    (folder / "query.yaml").write_text(json.dumps(rng.choice(QUERIES)))
    new = ("ledger", "new", "new.sqlite", "--confidential", "confidential.csv", "--schema",
           "schema.yaml", "--cap", str(some(rng, 1, 1, 0.5, *NUMBERS)))  # fmt: skip
    again = (*CHARGED[:-1], "new.sqlite")
    calls = [new, again] if pick < 0.6 else [(*VERIFY, "--dry-run")]
    return Trial(calls, data.decode("utf-8", "replace"), False, NAMES | {"new.sqlite", "cap"})


KINDS: dict[str, Maker] = {"query": query_trial, "schema": schema_trial}
