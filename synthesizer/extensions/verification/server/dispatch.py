"""The dispatcher runs waiting queries: dry runs at once, answers in their slots.

One dispatcher serves a database. Work that it has not finished when it ends is repeated by the next
one: nothing is charged twice, and the ledger stores the first of two answers.

The process of an answer stays far below its limits for all data (`runner`). If it dies
nevertheless, this is an alarm for the operator: the dataset is paused for all users, the charge
remains, and the question waits until the steward resumes. So no answer, refund or error reveals the
cause.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, func, select, update

from synthesizer.extensions.verification.database import now, transaction
from synthesizer.extensions.verification.ledger import ANSWER, DATASET, VERSION
from synthesizer.extensions.verification.messages import LedgerError
from synthesizer.extensions.verification.server import audit
from synthesizer.extensions.verification.server.runner import TaskResult, run
from synthesizer.extensions.verification.server.server_datasets import Dataset
from synthesizer.extensions.verification.server.server_tables import DRY_RUN, JOB
from synthesizer.extensions.verification.server.service import Service

MAX_ATTEMPTS = 3
"""Attempts of a dry run whose process dies, before it is refused."""
CLOCK_FACTOR = 10
"""A process is killed after this multiple of its processor time, for busy computers."""
_POLL_SECONDS = 0.2
"""Time between two reads of the tables."""
_log = logging.getLogger("synthesizer.extensions.verification.server")


class Dispatcher:
    """Threads that take work from the tables, each job in a separate process.

    Parameters
    ----------
    service : Service
        Service with database and datasets.
    process : callable
        Runs a task, in place of `runner.run`.
    """

    def __init__(
        self, service: Service, *, process: Callable[..., TaskResult | None] = run
    ) -> None:
        self._service, self._process = service, process
        self._by_version = {one.ledger.version: one for one in service.datasets.values()}
        self._told = set[str]()
        self._set_aside = set[str]()
        self._deaths = Counter[tuple[str, ...]]()
        self._stopped = threading.Event()
        lanes = range(service.config.job.lanes)
        self._threads = [
            *(self._thread(f"lane-{lane}", self.answer_next, lane) for lane in lanes),
            *(self._thread(f"dry-{lane}", self.check_next, lane) for lane in lanes),
        ]

    def _thread(self, name: str, work: Callable[[int], bool], lane: int) -> threading.Thread:
        return threading.Thread(target=self._loop, args=(work, lane), name=name, daemon=True)

    def start(self) -> None:
        """Take up unfinished work of an earlier dispatcher, and begin."""
        with transaction(self._service.engine) as store:
            for table, before in ((DRY_RUN, "waiting"), (JOB, "queued")):
                store.execute(update(table).where(table.c.state == "running").values(state=before))
            of_others = (JOB.c.state != "computed", JOB.c.version.not_in([*self._by_version]))
            if n := store.execute(select(func.count()).select_from(JOB).where(*of_others)).scalar():
                _log.error(
                    "%d charged queries are about confidential files that are not served; they "
                    "wait until the server starts with these files",
                    n,
                )
            audit.append(store, "server", "started")
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the processes and wait for the threads; the next start repeats their work."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        with transaction(self._service.engine) as store:
            audit.append(store, "server", "stopped")

    def _loop(self, work: Callable[[int], bool], lane: int) -> None:
        while not self._stopped.is_set():
            try:
                if work(lane):
                    continue
            except LedgerError as error:  # the database: log it and try again
                _log.error("%s", error)
                time.sleep(_POLL_SECONDS)
            except Exception as error:  # the log must not contain the content of a job
                _log.error("a lane failed: %s", type(error).__name__)
                time.sleep(_POLL_SECONDS)
            self._stopped.wait(_POLL_SECONDS)

    def check_next(self, _lane: int) -> bool:
        """Run the next dry run; return whether there was one."""
        names = [one.name for one in self._readable()]
        waits = (DRY_RUN.c.state == "waiting", DRY_RUN.c.dataset.in_(names))
        row = self._take(DRY_RUN, select(DRY_RUN).where(*waits).order_by(DRY_RUN.c.asked))
        if row is None:
            return False
        one = self._service.datasets[row.dataset]
        outcome = self._run(one, row.content, is_dry=True)
        if outcome is None and self._is_tried_again(row.dataset, row.query):
            with transaction(self._service.engine) as store:
                _change(store, DRY_RUN, row, state="waiting")
        elif outcome is not None or not self._stopped.is_set():
            self._service.end_dry_run(one, row.query, outcome)
        return True

    def _is_tried_again(self, *dry_run: str) -> bool:
        """Count a dead process (load can be the cause); return whether to try again."""
        self._deaths[dry_run] += 1
        return not self._stopped.is_set() and self._deaths[dry_run] < MAX_ATTEMPTS

    def answer_next(self, lane: int) -> bool:
        """Run the job whose slot has begun; return whether there was one."""
        waits = (JOB.c.lane % self._service.config.job.lanes == lane, JOB.c.state == "queued")
        versions = [one.ledger.version for one in self._readable()]
        paused = select(DATASET.c.name).where(DATASET.c.is_paused)
        can = (
            JOB.c.version.in_(versions),
            JOB.c.version.not_in(select(VERSION.c.id).where(VERSION.c.dataset.in_(paused))),
            JOB.c.query.not_in([*self._set_aside]),
        )
        jobs = select(JOB, ANSWER.c.content).join(ANSWER)
        chosen = jobs.where(*waits, *can, JOB.c.begins <= now()).order_by(JOB.c.begins)
        row = self._take(JOB, chosen)
        if row is not None and self._slots_since(row.begins) > 1:
            # its slot is over: it gets another one before it runs, so that the time of no answer
            # hangs on how long a job took
            with transaction(self._service.engine) as store:
                _change(store, JOB, row, state="queued", **self._service.next_slot(store, now()))
        elif row is not None:
            self._answer(self._by_version[row.version], row)
        return row is not None

    def _slots_since(self, moment: datetime) -> int:
        """Return the number of slots since a moment."""
        return max(0, ceil((now() - moment).total_seconds() / self._service.config.job.seconds))

    def _take(self, table: Table, chosen: Select[Any]) -> Row[Any] | None:
        """Return the next waiting row, now marked as running; None if nothing waits."""
        with transaction(self._service.engine, reads=True) as store:
            # without a lock: lanes poll often, mostly in vain
            if store.execute(chosen.limit(1)).first() is None:
                return None
        with transaction(self._service.engine) as store:
            row = store.execute(chosen.limit(1).with_for_update(of=table, skip_locked=True)).first()
            if row is not None:
                _change(store, table, row, state="running")
        return row

    def _answer(self, one: Dataset, job: Row[Any]) -> None:
        query = job.query
        is_fit = job.limits == self._service.limits(one) or self._is_rehearsed(one, job.content)
        outcome = self._run(one, job.content, is_dry=False) if is_fit else TaskResult()
        if outcome is None or not outcome.released:
            with transaction(self._service.engine) as store:
                _change(store, JOB, job, state="queued")
                if outcome is None and not self._stopped.is_set():
                    self._raise_alarm(store, one, query)
            if outcome is not None and not self._stopped.is_set():
                self._put_aside(one, query)
            return
        with transaction(self._service.engine) as store:
            one.ledger.lock(store)
            if one.ledger.answer(query, within=store) is not None:
                return
            one.ledger.store(query, outcome.released, within=store)
            config = self._service.config  # a busy computer can hold a job up, by whole slots
            late = timedelta(seconds=self._slots_since(job.due) * config.job.seconds)
            due = config.tick_after(job.due + late)
            values = {"result": dict(outcome.content), "page": outcome.page, "due": due}
            _change(store, JOB, job, state="computed", **values)
            audit.append(store, "server", "answered", dataset=one.name, details={"query": query})

    def _raise_alarm(self, store: Connection, one: Dataset, query: str) -> None:
        """Pause a dataset after the process of a question about it died."""
        one.ledger.set_paused(True, within=store)
        for action in ("process died", "paused"):
            audit.append(store, "server", action, dataset=one.name, details={"query": query})
        _log.error(
            "datasets.%s: the process of a charged query died; the dataset is paused, and the "
            "query waits. Find the cause (memory, kill), then resume it as steward",
            one.name,
        )

    def _is_rehearsed(self, one: Dataset, content: str) -> bool:
        """Return whether a query that was charged under other limits is within today's."""
        outcome = self._run(one, content, is_dry=True)
        return outcome is not None and not outcome.problems

    def _put_aside(self, one: Dataset, query: str) -> None:
        """Let a query wait that no longer fits the public files; no confidential data were read."""
        self._set_aside.add(query)
        _log.error(
            "datasets.%s: a charged query is about another public schema or synthetic file, or "
            "needs higher limits of job; it waits until the server starts with those again",
            one.name,
        )

    def _run(self, one: Dataset, content: str, *, is_dry: bool) -> TaskResult | None:
        task, limits = one.task(json.loads(content), is_dry=is_dry), self._service.config.job
        seconds = CLOCK_FACTOR * limits.seconds
        return self._process(task, limits, seconds=seconds, is_stopped=self._stopped.is_set)

    def _readable(self) -> Iterator[Dataset]:
        """Yield the datasets with unchanged synthetic files; log each changed one once."""
        for one in self._service.datasets.values():
            if not one.is_changed:
                self._told.discard(one.name)
                yield one
            elif one.name not in self._told:
                self._told.add(one.name)
                _log.error(
                    "datasets.%s: the synthetic file changed; what reads it waits until it is as "
                    "it was, or the server starts again with the new one",
                    one.name,
                )


def _change(store: Connection, table: Table, row: Row[Any], **values: Any) -> None:
    key = [column == getattr(row, column.name) for column in table.primary_key]
    store.execute(update(table).where(*key).values(values))
