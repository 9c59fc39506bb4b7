"""Runs what waits: dry runs as they come, answers in their slots.

One dispatcher serves a database. What it has taken and not finished when it ends, however it ends,
is taken again by the next one: nothing is charged twice, and of two answers the ledger keeps the
first.

The process of an answer stays far below its limits, whatever the data are (`runner`). One that
dies all the same is an alarm for the operator: the dataset is paused for everybody, the charge
stays, and the question waits until the steward goes on. So nobody gets an answer, a refund or an
error from which to learn of what it died.
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
from synthesizer.extensions.verification.server.runner import Outcome, run
from synthesizer.extensions.verification.server.server_datasets import Dataset
from synthesizer.extensions.verification.server.server_tables import DRY_RUN, JOB
from synthesizer.extensions.verification.server.service import Service

MOST_ATTEMPTS = 3
"""So many processes may die of one dry run before it is refused."""
PATIENCE = 10
"""A process is killed after so many times its processor time: a busy computer is no death."""
_PAUSE = 0.2
"""Seconds between two looks at the tables."""
_log = logging.getLogger("synthesizer.extensions.verification.server")


class Dispatcher:
    """Threads that take work from the tables, each job in a process of its own.

    Parameters
    ----------
    service : Service
        Whose database and datasets.
    process : callable
        How a task is run, in place of `runner.run`.
    """

    def __init__(self, service: Service, *, process: Callable[..., Outcome | None] = run) -> None:
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
        """Take again what an earlier dispatcher left, and begin."""
        with transaction(self._service.engine) as store:
            for table, before in ((DRY_RUN, "waiting"), (JOB, "queued")):
                running = table.c.state == "running"
                store.execute(update(table).where(running).values(state=before))
            of_others = (JOB.c.state != "computed", JOB.c.version.not_in([*self._by_version]))
            if n := store.execute(select(func.count()).select_from(JOB).where(*of_others)).scalar():
                _log.error(
                    "%d charged queries are about confidential files that are not served; they "
                    "wait until the server starts with those again",
                    n,
                )
            audit.append(store, "server", "started")
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the processes and wait for the threads; what they were at is taken up again."""
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
            except LedgerError as error:  # the database: tried again, and told to the operator
                _log.error("%s", error)
                time.sleep(_PAUSE)
            except Exception as error:  # what a job was about stays out of the log
                _log.error("a lane failed: %s", type(error).__name__)
                time.sleep(_PAUSE)
            self._stopped.wait(_PAUSE)

    def check_next(self, _lane: int) -> bool:
        """Run the next dry run; tell whether there was one."""
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
        """Count a death, which load alone can be; tell whether it was not yet the last."""
        self._deaths[dry_run] += 1
        return not self._stopped.is_set() and self._deaths[dry_run] < MOST_ATTEMPTS

    def answer_next(self, lane: int) -> bool:
        """Run the job whose slot has begun; tell whether there was one."""
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
                slot = self._service.next_slot(store, now())
                _change(store, JOB, row, state="queued", **slot)
        elif row is not None:
            self._answer(self._by_version[row.version], row)
        return row is not None

    def _slots_since(self, moment: datetime) -> int:
        """Return how many slots have begun since a moment."""
        passed = (now() - moment).total_seconds()
        return max(0, ceil(passed / self._service.config.job.seconds))

    def _take(self, table: Table, chosen: Select[Any]) -> Row[Any] | None:
        """Return the next row of what waits, which runs from now on; None where nothing waits."""
        with transaction(self._service.engine, reads=True) as store:
            # without a lock: lanes look often and mostly find nothing
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
        outcome = self._run(one, job.content, is_dry=False) if is_fit else Outcome()
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
        """Pause a dataset, since a process died of a question about it."""
        one.ledger.set_paused(True, within=store)
        for action in ("process died", "paused"):
            audit.append(store, "server", action, dataset=one.name, details={"query": query})
        _log.error(
            "datasets.%s: the process of a charged query died; the dataset is paused, and the "
            "query waits. Look for the cause (memory, kill), then resume it as steward",
            one.name,
        )

    def _is_rehearsed(self, one: Dataset, content: str) -> bool:
        """Return whether a query that was charged under other limits keeps to those of today."""
        outcome = self._run(one, content, is_dry=True)
        return outcome is not None and not outcome.problems

    def _put_aside(self, one: Dataset, query: str) -> None:
        """Let a query wait that no longer fits what is public: no process saw confidential data."""
        self._set_aside.add(query)
        _log.error(
            "datasets.%s: a charged query is about another public schema or synthetic file, or "
            "needs higher limits of job; it waits until the server starts with those again",
            one.name,
        )

    def _run(self, one: Dataset, content: str, *, is_dry: bool) -> Outcome | None:
        task, limits = one.task(json.loads(content), is_dry=is_dry), self._service.config.job
        seconds = PATIENCE * limits.seconds
        return self._process(task, limits, seconds=seconds, is_stopped=self._stopped.is_set)

    def _readable(self) -> Iterator[Dataset]:
        """Yield the datasets whose synthetic file is as it was; log once which are not."""
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
    place = [column == getattr(row, column.name) for column in table.primary_key]
    store.execute(update(table).where(*place).values(values))
