"""A real server under load, and one that is killed again and again: docs/verification.md."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import yaml
from measuring import Row, Rows, job
from panel_server import database_url, panel_content, with_tokens
from replay_trials import GAP
from sqlalchemy import Engine, func, select

from synthesizer.extensions.verification.database import transaction
from synthesizer.extensions.verification.ledger import ANSWER, Ledger
from synthesizer.extensions.verification.server.projects import MAX_QUESTIONS
from synthesizer.extensions.verification.server.serve import check, database_of, opened
from synthesizer.extensions.verification.server.server_config import read_server_config
from synthesizer.extensions.verification.server.server_tables import AUDIT, JOB

PROGRAM = "from pathlib import Path; from synthesizer.extensions.verification.server import serve; "
FORGETFUL = """
from synthesizer.extensions.verification.server.dispatch import Dispatcher
Dispatcher.start = lambda self: [thread.start() for thread in self._threads]
"""
"""What makes a server leave what an earlier one had begun."""
STARTS_IN = 120.0
USERS = 20
EPSILON = 0.01


@dataclass
class Server:
    """A server in a process group of its own."""

    config: Path
    port: int
    tokens: list[str]
    is_broken: bool = False
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        program = (FORGETFUL if self.is_broken else "") + PROGRAM
        program += f"serve(Path({str(self.config)!r}))"
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], start_new_session=True, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + STARTS_IN
        while time.monotonic() < end:
            with suppress(httpx2.TransportError):
                if httpx2.get(f"{self.url}/openapi.json").status_code == 200:
                    return
            if self.process.poll() is not None:
                raise RuntimeError("the server ended before it answered")
            time.sleep(0.1)
        raise RuntimeError("the server does not answer")

    @property
    def url(self) -> str:
        """Return where its API is."""
        return f"http://127.0.0.1:{self.port}/api/v1"

    def kill(self) -> None:
        """Kill it with all its processes, without a word."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def memory(self) -> float:
        """Return the largest memory of the server process so far, in MB."""
        assert self.process is not None  # noqa: S101 - it runs
        with suppress(OSError):
            text = Path(f"/proc/{self.process.pid}/status").read_text()
            return next(int(row.split()[1]) / 1024 for row in text.splitlines() if "VmHWM" in row)
        return 0.0


@contextmanager
def server(*, cap: float, is_postgresql: bool) -> Iterator[Server]:
    """Yield a server about a small panel, with users, not started yet."""
    with TemporaryDirectory() as name, database_url(Path(name), is_postgresql=is_postgresql) as url:
        folder, port = Path(name), free_port()
        jobs = {"seconds": 5.0, "lanes": 2, "waiting": 10_000}
        settings: dict[str, Any] = {"database": url, "port": port, "tick": 0.5, "job": jobs}
        path = folder / "server.yaml"
        path.write_text(yaml.safe_dump(panel_content(folder, cap=cap, persons=200, **settings)))
        roles = {f"user{n}": "researcher" for n in range(USERS)}
        with opened(path) as made:
            known = {**roles, "sam": "steward"}
            tokens = with_tokens(made.service, made.accounts, MAX_QUESTIONS, known)
        running = Server(path, port, [tokens[name] for name in roles])
        try:
            yield running
        finally:
            running.kill()


def free_port() -> int:
    """Return a port that is not in use."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass
class Seen:
    """What clients saw."""

    codes: Counter[int] = field(default_factory=Counter)
    accepted: set[tuple[int, str]] = field(default_factory=set)
    """User and number of submissions that the server took."""
    answers: dict[str, set[str]] = field(default_factory=dict)
    """Released numbers by the digest of the query."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def rows(self, states: Counter[str]) -> Rows:
        """Yield the replies by status, and what became of the submissions."""
        for code, n in sorted(self.codes.items()):
            yield Row("replies", f"status {code}", n, holds=code < 500)
        for state, n in states.items():
            yield Row("submissions", state, n, holds=state in DONE)

    def note(self, submission: dict[str, Any]) -> None:
        """Write down an answer."""
        if submission["state"] == "answered" and submission.get("content"):
            released = json.dumps(submission["content"]["answer"]["released"])
            with self.lock:
                self.answers.setdefault(submission["digest"], set()).add(released)


def query(number: int) -> dict[str, Any]:
    """Return one of many queries; each is another by its border."""
    ask = {**GAP["ask"], "below": -0.05 - number / 1e4}
    return {**GAP, "ask": ask, "epsilon": EPSILON}


def submit(running: Server, http: httpx2.Client, user: int, number: int, seen: Seen) -> None:
    """Submit a query and look at it once."""
    head = {"Authorization": f"Bearer {running.tokens[user]}"}
    body = {"query": query(number), "project": "gap"}
    reply = http.post(f"{running.url}/datasets/panel/queries", json=body, headers=head)
    with seen.lock:
        seen.codes[reply.status_code] += 1
        if reply.status_code == 202:
            seen.accepted.add((user, reply.json()["id"]))
    if reply.status_code == 202:
        look(running, http, user, reply.json()["id"], seen)


def look(running: Server, http: httpx2.Client, user: int, name: str, seen: Seen) -> str:
    """Return the state of a submission."""
    head = {"Authorization": f"Bearer {running.tokens[user]}"}
    reply = http.get(f"{running.url}/queries/{name}", headers=head)
    with seen.lock:
        seen.codes[reply.status_code] += 1
    if reply.status_code != 200:
        return "unknown"
    seen.note(reply.json())
    return str(reply.json()["state"])


def settle(running: Server, seen: Seen, seconds: float) -> Counter[str]:
    """Poll until every submission is refused or answered, and return how many are what."""
    states: dict[tuple[int, str], str] = {}
    end = time.monotonic() + seconds
    with httpx2.Client(timeout=60) as http:
        while time.monotonic() < end:
            waiting = [one for one in seen.accepted if states.get(one) not in DONE]
            if not waiting:
                break
            for user, name in waiting:
                states[user, name] = look(running, http, user, name, seen)
            time.sleep(1)
    return Counter(states.get(one, "unknown") for one in seen.accepted)


DONE = ("answered", "refused")


@job(clients=10, queries=40)
def load(clients: int = 200, queries: int = 2_000, postgresql: bool = False) -> Rows:
    """Let clients ask at once, nine of ten questions asked before, and poll their lists.

    No reply is a 5xx, no budget is overspent, a repeated question gets the same answer, and the
    memory of the server stays within bounds.
    """
    distinct = queries // 10
    cap = distinct * EPSILON / 2
    numbers = [*range(distinct), *random.Random(1).choices(range(distinct), k=queries - distinct)]  # noqa: S311
    random.Random(2).shuffle(numbers)  # noqa: S311 - an order of trials
    seen = Seen()
    with server(cap=cap, is_postgresql=postgresql) as running:
        running.start()
        before = running.memory()
        limits = httpx2.Limits(max_connections=clients)
        begun = time.monotonic()
        with httpx2.Client(timeout=300, limits=limits) as http, ThreadPoolExecutor(clients) as pool:
            steps = [(running, http, turn % USERS, n, seen) for turn, n in enumerate(numbers)]
            list(pool.map(lambda step: submit(*step), steps))
        took = time.monotonic() - begun
        states = settle(running, seen, seconds=5 * distinct + 300)
        after = running.memory()
        running.kill()
        spent = spent_of(running)
        problems = check(running.config).problems
    yield Row("all queries", "time", took, "s")
    yield from seen.rows(states)
    yield Row("budget", f"spent, of {cap:.2f}", spent, holds=spent <= cap)
    several = sum(len(answers) > 1 for answers in seen.answers.values())
    yield Row("repeats", "questions with several answers", several, holds=not several)
    yield Row("memory", "after", after, "MB", holds=after < before + 300)
    yield Row("database", "problems", len(problems), holds=not problems)


def spent_of(running: Server) -> float:
    """Return the spent budget in the ledger, in epsilon."""
    with database_of(read_server_config(running.config)) as engine:
        return Ledger(engine, dataset="panel").spending().budgets[0].spent / 1e6


@job(number=2)
def kills(number: int = 50, postgresql: bool = False, broken: bool = False) -> Rows:
    """Kill the server (SIGKILL, with its processes) at random moments while clients ask.

    The budget covers all answers, every charged query is answered in the end and only once, and the
    audit log has every charge and answer once. The control ``broken``, a server that forgets at its
    start what it had begun, must break one of these.
    """
    rng, seen, numbers = random.Random(3), Seen(), iter(range(10**6))  # noqa: S311 - moments
    with server(cap=1_000.0, is_postgresql=postgresql) as running:
        running.is_broken = broken
        for round_ in range(number):
            running.start()
            stop = threading.Event()
            with ThreadPoolExecutor(4) as pool:
                for user in range(4):
                    pool.submit(keep_asking, running, user, numbers, seen, stop)
                if round_ % 3:
                    wait_for_a_step(running)
                time.sleep(rng.uniform(0.05, 4.0))
                running.kill()
                stop.set()
        running.start()
        states = settle(running, seen, seconds=120 if broken else 1_200)
        running.kill()
        problems = check(running.config).problems
        store = Store.of(running)
    yield from seen.rows(states)
    yield Row("ledger", "charged", store.charged)
    yield Row("ledger", "answered", len(store.released), holds=states["answered"] > 0)
    faults = [*store.faults(seen), *problems]
    yield Row("promises", "; ".join(faults) or "faults", len(faults), holds=not faults)


def wait_for_a_step(running: Server) -> None:
    """Wait until something new was charged, or computed, however slow the machine is."""
    with database_of(read_server_config(running.config)) as engine:
        before, end = _steps(engine), time.monotonic() + STARTS_IN
        while _steps(engine) == before and time.monotonic() < end:
            time.sleep(0.05)


def _steps(engine: Engine) -> int:
    done = AUDIT.c.action.in_(("charged", "answered"))
    with transaction(engine, reads=True) as store:
        return int(store.execute(select(func.count()).select_from(AUDIT).where(done)).scalar_one())


def keep_asking(
    running: Server, user: int, numbers: Iterator[int], seen: Seen, stop: threading.Event
) -> None:
    """Ask new queries and old ones until the server is gone."""
    with httpx2.Client(timeout=5) as http:
        while not stop.is_set():
            with seen.lock:
                number = next(numbers)
            with suppress(httpx2.TransportError, json.JSONDecodeError):
                submit(running, http, user, number // 8, seen)
            time.sleep(0.7)


@dataclass
class Store:
    """What a database holds after all."""

    charged: int
    """Questions."""
    spent: int
    """Of the global budget, in questions: all cost the same."""
    released: dict[str, str]
    """JSON by digest."""
    jobs_unpaid: int
    actions: Counter[str]
    """Of the audit log."""

    @classmethod
    def of(cls, running: Server) -> Store:
        """Read the database of a server."""
        spent = round(spent_of(running) / EPSILON)
        config = read_server_config(running.config)
        with database_of(config) as engine, transaction(engine, reads=True) as store:
            rows = store.execute(select(ANSWER.c.query, ANSWER.c.released)).all()
            jobs = store.execute(select(JOB.c.query)).scalars().all()
            actions = Counter(store.execute(select(AUDIT.c.action)).scalars())
        released = {row.query: row.released for row in rows if row.released is not None}
        unpaid = len(set(jobs) - {row.query for row in rows})
        return cls(len(rows), spent, released, unpaid, actions)

    def faults(self, seen: Seen) -> Iterator[str]:
        """Yield what must not be."""
        shown = {query: {json.dumps(self._released(query))} for query in seen.answers}
        if seen.answers != shown:
            yield "what was shown is not what the ledger holds"
        if self.spent != self.charged or self.jobs_unpaid:
            yield f"{self.spent} paid of {self.charged} charged; {self.jobs_unpaid} jobs unpaid"
        if len(self.released) != self.charged:
            yield f"{self.charged - len(self.released)} charged questions have no answer"
        audited = self.actions["charged"], self.actions["answered"]
        if audited != (self.charged, len(self.released)):
            yield f"the audit log has {audited[0]} charges and {audited[1]} answers"

    def _released(self, query: str) -> Any:
        return json.loads(self.released.get(query, "null"))
