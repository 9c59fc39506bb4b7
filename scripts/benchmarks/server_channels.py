"""Side doors of the verification server: time of the noise, time of release, code in a query.

T7, T8 and T11 of docs/verification.md. The tests run them small.
"""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from measuring import Row, Rows, job
from panel_server import ROLES, panel_content, service_of, with_tokens
from replay_trials import GAP
from scipy.stats import ks_2samp, spearmanr

from synthesizer.data.errors import SynthesizerError
from synthesizer.extensions.verification.database import now, transaction
from synthesizer.extensions.verification.mechanisms import Mechanism, OpenDP
from synthesizer.extensions.verification.server import runner
from synthesizer.extensions.verification.server.accounts import Account, Accounts
from synthesizer.extensions.verification.server.dispatch import Dispatcher
from synthesizer.extensions.verification.server.projects import MAX_QUESTIONS
from synthesizer.extensions.verification.server.server_config import JobLimits
from synthesizer.extensions.verification.server.server_tables import JOB
from synthesizer.extensions.verification.server.service import Service

LEAST_P = 1e-3
MOST_CORRELATION = 0.03


def timing(draws: int, *, is_bounded: bool) -> float:
    """Return Spearman's correlation of the size of the noise and the time that it took."""
    noise = OpenDP()
    count = Mechanism(size=1, distance=1, epsilon=200_000, bounds=(0, 500) if is_bounded else None)
    sizes, times = np.empty(draws), np.empty(draws)
    for draw in range(draws):
        begun = time.thread_time_ns()  # of the processor: load hides nothing
        (drawn,) = noise.draw(count, [250])
        times[draw] = time.thread_time_ns() - begun
        sizes[draw] = abs(drawn - 250)
    return float(spearmanr(sizes, times).statistic)


@dataclass(frozen=True)
class Release:
    """How one answer was released."""

    seconds: float
    """From the charge to when it was first seen."""
    is_on_time: bool
    """Whether it left at the tick that was fixed at its charge."""


def releases(
    runs: int, *, at_once: bool = False, lanes: int = 8, slot: float = 1.0
) -> tuple[list[Release], list[Release]]:
    """Return the releases of two servers side by side, without the slow row and with it.

    The row makes each job take half a slot longer. With ``at_once`` answers are released when they
    are ready, which must not happen. In each lane one query comes after the other.
    """
    with TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        services = []
        for name in ("plain", "slow"):
            root = Path(folder) / name
            root.mkdir()
            jobs = {"seconds": slot, "lanes": lanes, "waiting": 10_000}
            services.append(service_of(panel_content(root, cap=1_000.0, tick=0.2, job=jobs)))
        plain, slow = (
            pool.submit(_releases_of, service, runs, extra, at_once)
            for service, extra in zip(services, (0.0, slot / 2), strict=True)
        )
        return plain.result(), slow.result()


def _releases_of(service: Service, runs: int, extra: float, at_once: bool) -> list[Release]:
    """Return the releases of a server whose jobs take ``extra`` seconds more."""

    def process(task: runner.Task, limits: Any, **_: Any) -> runner.TaskResult | None:  # noqa: ARG001
        if task.prepared is None:
            return runner.TaskResult(charge=1_000, content={"dry": True}, chosen=task.query)
        time.sleep(extra)
        return runner.TaskResult(charge=1_000, released=((1,),), content={}, page="")

    accounts = Accounts(service.engine)
    with_tokens(service, accounts, MAX_QUESTIONS, ROLES)
    ada = accounts.named("ada")
    dispatcher = Dispatcher(service, process=process)
    dispatcher.start()
    try:
        with ThreadPoolExecutor(service.config.job.lanes) as pool:
            steps = [(service, ada, number, at_once) for number in range(runs)]
            return [*pool.map(lambda step: _released(*step), steps)]
    finally:
        dispatcher.stop()


def _released(service: Service, ada: Account, number: int, at_once: bool) -> Release:
    """Return how an answer was released; each query is another one by its border."""
    query = {**GAP, "ask": {**GAP["ask"], "below": -number / 1e6}, "epsilon": 0.001}
    time.sleep(random.random() * service.config.tick)  # noqa: S311 - when somebody asks
    submission = service.submit(ada, "panel", query, project="gap")
    while (submission := service.find(ada, submission.id)).state == "checking":
        time.sleep(0.02)
    begun, promised = time.monotonic(), submission.due
    while (submission := service.find(ada, submission.id)).state != "answered":
        if at_once and _is_computed(service, submission.digest):
            break
        time.sleep(0.05)
    seconds = time.monotonic() - begun
    if promised is not None:  # the next query finds its lane free, whenever this one was ready
        time.sleep(max(0.0, (promised - now()).total_seconds()))
    return Release(seconds, submission.due == promised)


def _is_computed(service: Service, digest: str) -> bool:
    with transaction(service.engine, reads=True) as store:
        state = store.execute(JOB.select().where(JOB.c.query == digest)).one().state
    return bool(state == "computed")


CODE = (
    "open({canary!r}, 'w').close()",
    "__import__('pathlib').Path({canary!r}).touch()",
    "__import__('os').system('touch {canary}')",
    "__import__('socket').create_connection(('127.0.0.1', {port})).close()",
    "exec(\"open({canary!r}, 'w').close()\")",
    "eval(\"open({canary!r}, 'w').close()\")",
    "(lambda: open({canary!r}, 'w').close())()",
    "[open({canary!r}, 'w').close() for _ in 'a']",
    "().__class__.__base__.__subclasses__()",
    "age.to_csv({canary!r})",
    "age.__class__.__init__.__globals__",
    "getattr(age, 'to_csv')({canary!r})",
    "f'{{open({canary!r}, chr(119)).close()}}'",
    "age if open({canary!r}, 'w').close() else age",
    "'); DROP TABLE budget; --",
    "age; UPDATE budget SET spent = 0",
    "{{{{ 7 * 7 }}}}",
    "${{jndi:ldap://127.0.0.1:{port}/a}}",
    "9 ** 9 ** 9 ** 9",
    "(" * 5_000 + "age" + ")" * 5_000,
)
"""What has run, or ended a process, where texts of users are handed to a parser with eval."""
TEMPLATES: tuple[Callable[[str], dict[str, Any]], ...] = (
    lambda text: {**GAP, "formula": text},
    lambda text: {**GAP, "formula": f"pay ~ {text}"},
    lambda text: {**GAP, "formula": f"pay ~ I({text})"},
    lambda text: {**GAP, "formula": f"I({text}) ~ age"},
    lambda text: {**GAP, "formula": f"pay ~ age | {text}"},
    lambda text: {**GAP, "formula": f"pay ~ C(`{text}`)"},
    lambda text: {**GAP, "subset": text},
    lambda text: {**GAP, "subset": f"sex == '{text}'"},
    lambda text: {**GAP, "ask": {**GAP["ask"], "coefficient": text}},
    lambda text: {**GAP, "ask": {"measure": text}},
    lambda text: {**GAP, "schema": text},
    lambda text: {**GAP, text: text},
)
"""Where a text of a user stands in a query."""
WORDS = (
    *("age", "pay", "sex", "year", "I(", "C(", "log(", "sqrt(", "pow(", ")", "~", "|", "+", ":"),
    *("*", "**", "==", "and", "or", "not", "in", "[", "]", "'F'", "`", ".", ",", "1", "1e999"),
    *("lambda", "__import__", "open", "{", "}", ";", "\\", "\x00", "é", "𝟙", " ", "\n", "%s"),
)


class Canary:
    """A file that must not be created, and a port that must get no connection."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "canary"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)

    @property
    def payloads(self) -> list[str]:
        """Return the texts that would run code."""
        port = self._listener.getsockname()[1]
        return [text.format(canary=str(self.file), port=port) for text in CODE]

    @property
    def is_touched(self) -> bool:
        """Return whether code ran, and reset."""
        try:
            self._listener.accept()[0].close()
            knocked = True
        except BlockingIOError:
            knocked = False
        touched = knocked or self.file.exists()
        self.file.unlink(missing_ok=True)
        return touched

    def close(self) -> None:
        """Release the port."""
        self._listener.close()


def texts(canary: Canary, number: int, seed: int) -> Iterator[str]:
    """Yield the payloads, then random texts of the words of queries and of Python."""
    yield from canary.payloads
    rng = random.Random(seed)  # noqa: S311 - a trial
    for _ in range(number):
        yield "".join(rng.choices(WORDS, k=rng.randint(1, 12)))


def injection(number: int, seed: int = 1) -> tuple[int, int, int]:
    """Return how many texts were tried, taken for a query, and did something.

    Raises
    ------
    Exception
        If a text is refused in another way than by an error of the package.
    """
    tried = taken = did = 0
    with TemporaryDirectory() as name:
        folder = Path(name)
        canary, service = Canary(folder), service_of(panel_content(folder, cap=1.0))
        dataset = service.datasets["panel"]
        for text in texts(canary, number, seed):
            for template in TEMPLATES:
                tried += 1
                try:
                    query = dataset.asked(template(text))
                    taken += 1
                    if text in canary.payloads:
                        runner.outcome(dataset.task(query, is_dry=True), JobLimits())
                except SynthesizerError:
                    pass
            did += canary.is_touched
        canary.close()
    return tried, taken, did


def control(payloads: list[str], canary: Canary) -> int:
    """Return how many payloads do something where they are evaluated."""
    did = 0
    for text in payloads:
        with suppress(Exception, SystemExit):  # the others only fail
            eval(text, {"age": np.zeros(1)})  # noqa: S307 - the control
        did += canary.is_touched
    return did


@job(draws=2_000)
def noise_time(draws: int = 20_000) -> Rows:
    """T7: does the time of a draw reveal how large its noise was? The control is unbounded."""
    bounded, free = (timing(draws, is_bounded=bound) for bound in (True, False))
    figure = "Spearman of size and time"
    limit = MOST_CORRELATION * (20_000 / draws) ** 0.5
    yield Row("bounded mechanism", figure, bounded, holds=abs(bounded) < limit)
    yield Row("control: unbounded", figure, free, holds=free > MOST_CORRELATION)


@job(runs=40, slot=1.0)
def release_time(runs: int = 300, slot: float = 4.0) -> Rows:
    """T8: does the time of release reveal a row that makes a job slow?

    Kolmogorov and Smirnov's test of the times after the charge, with and without the row, of two
    servers that run at the same time under the same load. Every answer is released at the tick that
    was fixed at its charge. The control releases answers when they are ready.
    """
    for at_once in (False, True):  # a slot is far above what the machine's load moves
        sides = releases(runs, at_once=at_once, slot=slot)
        plain, slow = ([one.seconds for one in side] for side in sides)
        p = float(ks_2samp(plain, slow).pvalue)
        case = "control: when ready" if at_once else "at ticks"
        yield Row(case, "mean without the row", float(np.mean(plain)), "s")
        yield Row(case, "mean with it", float(np.mean(slow)), "s")
        yield Row(case, "p", p, holds=p < LEAST_P if at_once else p > LEAST_P)
        if not at_once:
            late = sum(not one.is_on_time for side in sides for one in side)
            yield Row(case, "at another tick than was fixed", late, holds=not late)


@job(number=100)
def code(number: int = 8_333) -> Rows:
    """T11: do texts of a query run code, open a file or a connection? The control is eval.

    The payloads and ``number`` random texts are put into each text of a query.
    """
    tried, taken, did = injection(number)
    with TemporaryDirectory() as folder:
        canary = Canary(Path(folder))
        works = control(canary.payloads[:-2], canary)
        canary.close()
    yield Row("queries", f"taken, of {tried:,}", taken)
    yield Row("queries", "did something", did, holds=not did)
    yield Row("control: by eval", "payloads that do", works, holds=works > 0)
