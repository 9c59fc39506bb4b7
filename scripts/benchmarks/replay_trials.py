"""Record and replay of the main job, T4 of docs/verification.md; small data for trials.

A job runs on a file and its noise is recorded. It runs again on a neighbour, with the same key and
the noise of the first run. All its output must be the same, byte for byte. The numbers before noise
must differ by no more than the distance of the mechanism. Each control reveals data.
"""

from __future__ import annotations

import io
import json
import logging
import random
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from measuring import Row, Rows, job

from synthesizer.data.errors import SynthesizerError
from synthesizer.extensions.verification.coefficient_questions import Interval
from synthesizer.extensions.verification.ledger import Ledger
from synthesizer.extensions.verification.mechanisms import DryNoise, Mechanism
from synthesizer.extensions.verification.public_schema import PublicSchema, strictly
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.verify import begin_ledger, verify

SCHEMA: dict[str, Any] = {
    "person": "person",
    "period": "year",
    "rows_per_person": 4,
    "variables": {
        "year": {"kind": "numeric", "low": 2000, "high": 2003, "whole": True},
        "sex": {"kind": "categorical", "levels": ["F", "M"], "reference": "M"},
        "race": {"kind": "categorical", "levels": ["a", "b", "c"]},
        "agency": {"kind": "categorical", "levels": ["AG", "DD", "TR", "VA"]},
        "age": {"kind": "numeric", "low": 18, "high": 70},
        "pay": {"kind": "numeric", "low": 1000, "high": 200_000},
    },
}


def people(n: int, seed: int, gap: float = -0.25) -> pd.DataFrame:
    """Return persons over four years, whose pay of women is lower by ``gap`` (of its log)."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n), 4)
    sex, race = rng.integers(0, 2, n)[person], rng.integers(0, 3, n)[person]
    agency, age = rng.integers(0, 4, n)[person], rng.uniform(20, 60, n)[person]
    year = np.tile(np.arange(2000, 2004), n)
    log_pay = (
        10 + gap * (sex == 0) + 0.01 * age + 0.1 * agency + 0.02 * (year - 2000)
        + rng.normal(0, 0.05, n)[person] + rng.normal(0, 0.05, len(person))
    )  # fmt: skip
    return pd.DataFrame(
        {
            "person": [f"p{i}" for i in person],
            "year": year,
            "sex": np.array(["F", "M"])[sex],
            "race": np.array(["a", "b", "c"])[race],
            "agency": np.array(["AG", "DD", "TR", "VA"])[agency],
            "age": age.round(1),
            "pay": np.exp(log_pay).round(),
        }
    )


GAP: dict[str, Any] = {
    "formula": "I(log(pay)) ~ sex + age | agency + year",
    "ask": {"measure": "interval", "coefficient": "sex[F]", "below": -0.05},
    "partitions": 10,
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "interval": {},
    "report": {"errors": "report"},
    "claim": {"ask": {"measure": "claim", "coefficient": "sex[F]", "between": [-0.4, -0.05]}},
    "trend": {"formula": "I(log(pay)) ~ sex + age", "ask": {
        "measure": "trend", "coefficient": "sex[F]", "over": "year",
        "periods": [{"first": 2000, "last": 2003, "slope": "rising"}]}},
    "significance": {"ask": {"measure": "significance", "coefficient": "sex[F]"}},
    "logit": {"formula": "I(pay > 30000) ~ sex + age", "family": "logit"},
    "subset": {"subset": "race in ['a', 'b'] and year > 2000"},
    "counts": {"formula": None, "ask": {"measure": "counts", "by": ["sex", "race"], "rows": 2}},
    "means": {"formula": None, "ask": {"measure": "means", "of": "pay", "by": ["sex"]}},
    "roc": {"formula": "I(pay > 30000) ~ sex + age", "family": "logit", "ask": {"measure": "roc"}},
    "residuals": {"ask": {"measure": "residuals", "cells": 5}},
    "accuracy": {"ask": {"measure": "accuracy"}},
}  # fmt: skip


class Exact:
    """No noise, so that a test knows what comes out."""

    def charge(self, mechanism: Mechanism) -> int:
        return mechanism.epsilon

    def draw(self, mechanism: Mechanism, values: Sequence[int]) -> tuple[int, ...]:  # noqa: ARG002
        return tuple(map(int, values))


class Recorded(Exact):
    """Noise that writes down what it is asked, and returns what it returned before."""

    def __init__(self, answers: Sequence[tuple[int, ...]] = ()) -> None:
        self.answers = answers
        self.asked: list[tuple[Mechanism, tuple[int, ...]]] = []

    def draw(self, mechanism: Mechanism, values: Sequence[int]) -> tuple[int, ...]:
        number = len(self.asked)
        self.asked.append((mechanism, super().draw(mechanism, values)))
        return self.answers[number] if self.answers else DryNoise().draw(mechanism, values)


HOSTILE = ("", "nan", "inf", "-inf", "1e308", "5e-324", "1e999", "x", "'", "é", "M" * 50, "0", "-1",
           "NA", '"', 'a"b', "9999-12-31", "9" * 25 + ":30")  # fmt: skip


def neighbour(frame: pd.DataFrame, rng: random.Random) -> pd.DataFrame:
    """Return the file without a person, or with any other rows of hers, or with a new one."""
    person = rng.choice(frame["person"].unique().tolist())
    rest: pd.DataFrame = frame[frame["person"] != person]
    kind = rng.choice(["remove", "edit", "add"])
    if kind == "remove":
        return rest
    if kind == "add":
        rest, person = frame, "newcomer"
    choices = {name: [*HOSTILE, *frame[name][:3]] for name in frame.columns}
    choices["person"] = [person]
    rows = pd.DataFrame(
        [
            {name: rng.choice(values) for name, values in choices.items()}
            for _ in range(rng.randrange(1, 30))
        ]
    )
    both: pd.DataFrame = pd.concat([rest, rows])
    return both.iloc[rng.sample(range(len(both)), len(both))]


class _Lines(logging.Handler):
    """Keeps every line that is logged."""

    def __init__(self) -> None:
        super().__init__(0)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.name} {record.levelname} {record.getMessage()}")


def transcript(
    frame: pd.DataFrame, question: dict[str, Any], synthetic: Path, noise: Exact
) -> tuple[object, ...]:
    """Return all that leaves: page, JSON, screen, logs, and the ledger but for the data's hash."""
    schema, log = strictly(PublicSchema, SCHEMA), _Lines()
    logging.getLogger().addHandler(log)
    screen, errors = io.StringIO(), io.StringIO()
    try:
        with (
            TemporaryDirectory() as name,
            patch("secrets.token_bytes", lambda size: b"k" * size),
            redirect_stdout(screen),
            redirect_stderr(errors),
        ):
            path, ledger = Path(name) / "data.csv", Path(name) / "ledger.sqlite"
            frame.to_csv(path, index=False)
            begin_ledger(ledger, confidential=path, schema=schema, cap=9.0)
            made = verify(
                query_of({**GAP, **question}), confidential=path, synthetic=synthetic,
                schema=schema, ledger=ledger, noise=noise,
            )  # fmt: skip
            print("\n".join(made.lines))
            entries = Ledger(ledger).spending().entries
    finally:
        logging.getLogger().removeHandler(log)
    charged = [(entry.query, entry.epsilon, entry.is_answered) for entry in entries]
    return made.page, made.json_text, screen.getvalue(), errors.getvalue(), log.lines, charged


def replays(name: str, pairs: int, synthetic: Path, seed: int = 5) -> int:
    """Return on how many neighbours anything differs: what leaves, the draws, or too far apart."""
    rng = random.Random(f"{name} {seed}")  # noqa: S311 - chooses neighbours, guards nothing
    frame = people(60, seed=seed)
    noise = Recorded()
    first = transcript(frame, QUESTIONS[name], synthetic, noise)
    drawn = [tuple(answer) for answer in json.loads(str(first[1]))["answer"]["released"]]
    others = [neighbour(frame, rng) for _ in range(pairs - 1)]
    others.append(frame[frame["person"] != "p7"])
    return sum(
        not _alike(first, noise, other, QUESTIONS[name], synthetic, drawn) for other in others
    )


def _alike(
    first: tuple[object, ...], noise: Recorded, frame: pd.DataFrame, question: dict[str, Any],
    synthetic: Path, drawn: Sequence[tuple[int, ...]],
) -> bool:  # fmt: skip
    replay = Recorded(drawn)
    try:
        if transcript(frame, question, synthetic, replay) != first:
            return False
    except SynthesizerError:
        return False
    if [mechanism for mechanism, _ in replay.asked] != [mechanism for mechanism, _ in noise.asked]:
        return False
    return all(
        sum(abs(a - b) for a, b in zip(values, others, strict=True)) <= mechanism.distance
        for (mechanism, values), (_, others) in zip(noise.asked, replay.asked, strict=True)
    )


_FEW_ROWS = 240
"""The file has as many; without a person it has less."""


def rows_printed(release: Callable[..., Any]) -> Callable[..., Any]:
    """Return a release that prints how many rows there are."""

    def telling(self: Interval, query: Any, prepared: Any, view: Any, noise: Any) -> Any:
        print(view.table.n_rows)
        return release(self, query, prepared, view, noise)

    return telling


def few_rows_refused(release: Callable[..., Any]) -> Callable[..., Any]:
    """Return a release that refuses few rows."""

    def refusing(self: Interval, query: Any, prepared: Any, view: Any, noise: Any) -> Any:
        if view.table.n_rows < _FEW_ROWS:
            raise SynthesizerError("too few rows")
        return release(self, query, prepared, view, noise)

    return refusing


def drawn_if_many(release: Callable[..., Any]) -> Callable[..., Any]:
    """Return a release that draws no noise for few rows."""

    def sparing(self: Interval, query: Any, prepared: Any, view: Any, noise: Any) -> Any:
        if view.table.n_rows < _FEW_ROWS:
            return ((0,),)
        return release(self, query, prepared, view, noise)

    return sparing


CONTROLS = (rows_printed, few_rows_refused, drawn_if_many)


def replays_of_control(control: Callable[..., Any], synthetic: Path) -> int:
    """Return 1 if one pair detects a release that reveals data, otherwise 0."""
    with patch.object(Interval, "release", control(Interval.release)):
        return replays("interval", 1, synthetic)


@job(pairs=24)
def replay(pairs: int = 500) -> Rows:
    """T4: count in how many pairs of neighbours anything but the noise differs."""
    with TemporaryDirectory() as folder:
        synthetic = Path(folder) / "synthetic.csv"
        people(400, seed=2).to_csv(synthetic, index=False)
        for name in QUESTIONS:
            each = -(-pairs // len(QUESTIONS))
            differ = replays(name, each, synthetic)
            yield Row(name, f"differ, of {each} pairs", differ, holds=differ == 0)
        for control in CONTROLS:
            detected = replays_of_control(control, synthetic)
            yield Row(f"control: {control.__name__}", "found, of 1", detected, holds=detected == 1)
