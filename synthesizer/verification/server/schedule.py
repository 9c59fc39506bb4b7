"""When a job begins and when its answer leaves: from public facts alone.

A lane runs one job a slot. All slots have the same length, so the end of one tells nothing about
its job, and neither does how long others wait. The answer leaves at the first tick after the slot,
however early it was ready.

Against: timing and state channels of query servers (Haeberlen, Pierce and Narayan 2011).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, func, select

from synthesizer.verification.server.server_config import ServerConfig
from synthesizer.verification.server.server_tables import JOB


@dataclass(frozen=True)
class Slot:
    """The time that a job has."""

    lane: int
    begins: datetime
    due: datetime
    """When the answer leaves."""


def next_slot(store: Connection, config: ServerConfig, moment: datetime) -> Slot:
    """Return the earliest free slot, as other charged jobs have taken theirs."""
    length = timedelta(seconds=config.job.seconds)
    rows = store.execute(select(JOB.c.lane, func.max(JOB.c.begins)).group_by(JOB.c.lane)).all()
    free = dict.fromkeys(range(config.job.lanes), moment)
    for lane, begins in rows:
        if lane in free:
            free[lane] = max(moment, begins + length)
    lane = min(free, key=lambda place: (free[place], place))
    return Slot(lane, free[lane], tick_after(free[lane] + length, config.tick))


def tick_after(moment: datetime, tick: float) -> datetime:
    """Return the first multiple of so many seconds that is not before a moment.

    Examples
    --------
    >>> tick_after(datetime(2026, 1, 1, 12, 0, 7, tzinfo=UTC), 30).isoformat()
    '2026-01-01T12:00:30+00:00'
    """
    return datetime.fromtimestamp(math.ceil(moment.timestamp() / tick) * tick, UTC)
