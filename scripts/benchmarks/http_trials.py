"""Replies of a server over HTTP about two files that differ in the rows of one person.

Clock, ids and noise are fixed. A difference therefore shows that the data leak in another way: by
a status, a length, a header, an error message or a line of the log (T12). The tests run few pairs,
with controls that reveal data. They also search for confidential values in replies, log and
database (T20).
"""

from __future__ import annotations

import io
import itertools
import json
import logging
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pandas as pd
from fastapi.testclient import TestClient
from httpx2 import Response
from measuring import Row, Rows, job
from panel_server import ROLES, panel_content, service_of, with_tokens
from replay_trials import GAP, QUESTIONS, Exact, neighbour, people

from synthesizer.extensions.verification.mechanisms import DryNoise, Mechanism
from synthesizer.extensions.verification.server import accounts, audit, dispatch, runner, service
from synthesizer.extensions.verification.server.app import create_app
from synthesizer.extensions.verification.server.dispatch import Dispatcher
from synthesizer.extensions.verification.server.runner import Task, TaskResult
from synthesizer.extensions.verification.server.security import FieldFormatter
from synthesizer.extensions.verification.server.server_config import JobLimits

Run = Callable[[Task], TaskResult | None]
COUNTS = {"ask": {"measure": "counts", "by": ["sex"]}}
"""A question whose numbers are chosen."""
QUERIES = [*({**GAP, **changes} for changes in QUESTIONS.values()), COUNTS]
_START = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)


class Frozen(Exact):
    """Noise that returns the same whatever the data are."""

    def draw(self, mechanism: Mechanism, values: Sequence[int]) -> tuple[int, ...]:  # noqa: ARG002
        """Return ones."""
        return (1,) * len(values)


class ByHand(Dispatcher):
    """A dispatcher without threads: the trial decides when waiting jobs are done."""

    def start(self) -> None:
        """Begin nothing."""

    def stop(self) -> None:
        """End nothing."""


class Clock:
    """Time that does not change until it is set."""

    def __init__(self) -> None:
        self.at = _START

    def __call__(self) -> datetime:
        """Return the time."""
        return self.at


class Talk:
    """All that left a server."""

    def __init__(self) -> None:
        self.replies: list[tuple[int, list[tuple[str, str]], bytes]] = []
        self.log = io.StringIO()

    def parts(self) -> list[Any]:
        """Return every reply and every line of the log without its times."""
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        untimed = [
            {key: line[key] for key in line if key not in ("at", "milliseconds")} for line in lines
        ]
        return [*self.replies, *untimed]


def conversation(
    confidential: Path, folder: Path, queries: Sequence[Mapping[str, Any]], run: Run
) -> Talk:
    """Return all replies of a new server about a file, to researchers and to a steward.

    Parameters
    ----------
    confidential : Path
        The file.
    folder : Path
        Empty; for its database and the public files.
    queries : sequence of mapping
        Each is tried, submitted, polled before and after it is due, and asked again.
    run : callable
        Runs a task; `in_this_process`, or a control.
    """
    talk, clock = Talk(), Clock()
    content = panel_content(folder, cap=100.0, persons=100, confidential=confidential)
    with _frozen(clock), _logged(talk.log):
        made = service_of(content)
        known = accounts.Accounts(made.engine, clock=clock)
        tokens = with_tokens(made, known, 100, ROLES)
        hand = ByHand(made, process=_process(run))
        with TestClient(
            create_app(made, known, dispatcher=lambda _: hand), raise_server_exceptions=False
        ) as http:
            ask = _asker(http, tokens, talk)
            for query in queries:
                _question(ask, query, hand, clock)
            guard = http.app.state.guard  # type: ignore[attr-defined]
            http.cookies.set(guard.cookie, known.sign_in(tokens["sam"]))
            for page in ("queries", "projects", "alarms", "audit?check=true"):
                _keep(http.get(f"/steward/{page}"), talk)
        made.engine.dispose()
    return talk


Ask = Callable[..., Any]


def _question(ask: Ask, query: Mapping[str, Any], hand: ByHand, clock: Clock) -> None:
    """Send all requests about a question, from its dry run to its answer."""
    ask("ada", "POST", "/datasets/panel/dry-runs", {"query": query})
    submission = ask("ada", "POST", "/datasets/panel/queries", {"query": query, "project": "gap"})
    while hand.check_next(0):
        pass
    digest, path = submission["digest"], f"/queries/{submission['id']}"
    ask("ada", "GET", f"/datasets/panel/dry-runs/{digest}")
    ask("ada", "GET", path)
    clock.at += timedelta(seconds=1)
    hand.answer_next(0)
    ask("ada", "GET", path)  # computed, and not due
    clock.at += timedelta(hours=1)
    for who in ("ada", "bob", "sam"):
        ask(who, "GET", path)
    ask("bob", "POST", "/datasets/panel/queries", {"query": query, "project": "gap"})
    ask("ada", "GET", "/projects")
    ask("ada", "GET", "/queries")


def in_this_process(task: Task) -> TaskResult | None:
    """Do a task at once."""
    return runner.outcome(task, JobLimits())


def _process(run: Run) -> Any:
    def process(task: Task, limits: JobLimits, **_others: Any) -> TaskResult | None:  # noqa: ARG001
        return run(task)

    return process


def _asker(http: TestClient, tokens: Mapping[str, str], talk: Talk) -> Ask:
    def ask(who: str, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {tokens[who]}"}
        reply = http.request(method, f"/api/v1{path}", json=body, headers=headers)
        _keep(reply, talk)
        return reply.json()

    return ask


def _keep(reply: Response, talk: Talk) -> None:
    talk.replies.append((reply.status_code, sorted(reply.headers.items()), reply.content))


@contextmanager
def _frozen(clock: Clock) -> Iterator[None]:
    """Hold clock, ids and noise fast."""
    numbers = itertools.count()

    def number(_size: int) -> str:
        return f"{next(numbers):032x}"

    ids = SimpleNamespace(token_hex=number, token_urlsafe=number)
    with (
        patch.object(service, "now", clock),
        patch.object(dispatch, "now", clock),
        patch.object(audit, "now", clock),
        patch.object(service, "secrets", ids),
        patch.object(accounts, "secrets", ids),
        patch.object(runner, "OpenDP", Frozen),
        patch.object(DryNoise, "draw", Frozen.draw),
    ):
        yield


@contextmanager
def _logged(stream: io.StringIO) -> Iterator[None]:
    """Write every line of every logger to a text, as the server writes its log."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(FieldFormatter())
    root, package = logging.getLogger(), logging.getLogger("synthesizer")
    before = root.level, package.level
    root.addHandler(handler)
    package.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before[0])
        package.setLevel(before[1])


def differences(
    frame: pd.DataFrame,
    other: pd.DataFrame,
    queries: Sequence[Mapping[str, Any]],
    run: Run = in_this_process,
) -> list[str]:
    """Return the differences between a server's replies about two files."""
    talks = []
    for one in (frame, other):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "confidential.csv"
            one.to_csv(path, index=False)
            talks.append(conversation(path, Path(folder), queries, run).parts())
    changes = [f"{a!r} / {b!r}" for a, b in zip(*talks, strict=False) if a != b]
    return changes if len(talks[0]) == len(talks[1]) else [*changes, "one talk is longer"]


@job(pairs=5)
def conversations(pairs: int = 1_000, seed: int = 1) -> Rows:
    """Count pairs of neighbours about which a server replies differently."""
    rng, differing = random.Random(seed), 0  # noqa: S311 - pairs of files
    for number in range(pairs):
        frame = people(60, seed=seed + number)
        changes = differences(frame, neighbour(frame, rng), [rng.choice(QUERIES)])
        differing += bool(changes)
        for one in changes:
            yield Row(f"pair {number}", one[:2_000], 1, holds=False)
    yield Row(f"{pairs:,} pairs", "differing", differing, holds=not differing)
