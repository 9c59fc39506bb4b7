"""The audit log: every step that somebody may have to answer for, in a chain of hashes.

Each entry holds the hash of the one before it and SHA-256 of that with its own content. So an entry
that was altered, taken out, put in or moved breaks the chain, and triggers keep the table append
only. Who may write the database can do all of it anew, or cut entries off the end: against that
note the head (`head`) where he cannot write, on paper or at another office, and hand it to
`verify`.

Entries tell who did what and when; details hold names, digests and amounts, never an answer, a
password, a token or a confidential value.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from sqlalchemy import Connection, String, insert, select, type_coerce

from synthesizer.extensions.verification.database import Moment, now
from synthesizer.extensions.verification.messages import LedgerError
from synthesizer.extensions.verification.server.server_tables import AUDIT

START = "0" * 64
"""What the first entry has before it."""


@dataclass(frozen=True)
class AuditEntry:
    """One step."""

    number: int
    """1 for the first one."""
    at: datetime
    actor: str
    """Name of the account, or of the part of the server."""
    action: str
    dataset: str
    details: Mapping[str, Any]
    hash: str


@dataclass(frozen=True)
class Head:
    """Where the chain ends: to be noted elsewhere.

    Examples
    --------
    >>> Head.read("0:" + START) == Head(0, START)
    True
    """

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Return what was noted as text.

        Raises
        ------
        LedgerError
            If it is none.
        """
        found = re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", text.strip())
        if found is None:
            raise LedgerError(
                "a noted head is NUMBER:HASH, as 'synthesizer verification check-server' printed it"
            )
        return cls(int(found[1]), found[2])


@dataclass(frozen=True)
class Verified:
    """What came of a look at the whole chain."""

    head: Head
    problems: tuple[str, ...]
    """Empty where nothing was changed."""


def append(
    store: Connection,
    actor: str,
    action: str,
    *,
    dataset: str = "",
    details: Mapping[str, Any] | None = None,
) -> None:
    """Add an entry within the caller's transaction: it is kept with the step that it tells.

    Nobody else can append until that transaction ends, so call this last: who holds budgets waits
    for the log, never the other way round.

    Parameters
    ----------
    store : Connection
        Of `database.transaction`.
    actor : str
        Name of the account, or of the part of the server.
    action : str
        What was done, in words: "charged".
    dataset : str
        Name of the dataset, where there is one.
    details : mapping, optional
        What JSON can hold.
    """
    if store.dialect.name == "postgresql":
        store.exec_driver_sql("LOCK TABLE audit IN SHARE ROW EXCLUSIVE MODE")
    last = head(store)
    at = now()
    words = json.dumps(details or {}, sort_keys=True, allow_nan=False)
    content = (last.number + 1, _text(at), actor, action, dataset, words)
    store.execute(
        insert(AUDIT).values(
            id=last.number + 1, at=at, actor=actor, action=action, dataset=dataset, details=words,
            previous=last.hash, hash=_hash(last.hash, content),
        )
    )  # fmt: skip


def head(store: Connection) -> Head:
    """Return number and hash of the last entry."""
    last = store.execute(select(AUDIT.c.id, AUDIT.c.hash).order_by(AUDIT.c.id.desc()).limit(1))
    row = last.first()
    return Head(0, START) if row is None else Head(row.id, row.hash)


def entries(
    store: Connection, *, before: int | None = None, limit: int = 100, dataset: str = "",
    action: str = "",
) -> list[AuditEntry]:  # fmt: skip
    """Return the latest entries, the last one first.

    Parameters
    ----------
    before : int, optional
        Only entries with a lower number: the next page.
    limit : int
        So many at most.
    dataset, action : str
        Only those of a dataset, or of a kind.
    """
    wanted = select(AUDIT).order_by(AUDIT.c.id.desc()).limit(limit)
    if before is not None:
        wanted = wanted.where(AUDIT.c.id < before)
    if dataset:
        wanted = wanted.where(AUDIT.c.dataset == dataset)
    if action:
        wanted = wanted.where(AUDIT.c.action == action)
    return [
        AuditEntry(
            row.id, row.at, row.actor, row.action, row.dataset, json.loads(row.details), row.hash
        )
        for row in store.execute(wanted)
    ]


def verify(store: Connection, noted: Iterable[Head] = ()) -> Verified:
    """Look at every entry; memory does not grow with their number.

    Parameters
    ----------
    noted : iterable of Head
        Heads that were noted elsewhere. Without one, entries that are missing at the end, and a
        chain that was made anew, look right.
    """
    wanted = {known.number: known.hash for known in noted}
    at = type_coerce(AUDIT.c.at, String)
    chain = select(
        AUDIT.c.id, at, AUDIT.c.actor, AUDIT.c.action, AUDIT.c.dataset, AUDIT.c.details,
        AUDIT.c.previous, AUDIT.c.hash,
    )  # fmt: skip
    rows = store.execute(chain.order_by(AUDIT.c.id), execution_options={"yield_per": 1000})
    problems, last = [], Head(0, START)
    for *content, previous, digest in rows:
        number = content[0]
        if number != last.number + 1:
            problems.append(f"entry {last.number + 1} is missing")
        if previous != last.hash:
            problems.append(f"entry {number} does not follow the one before it")
        if digest != _hash(previous, content):
            problems.append(f"entry {number} was altered")
        if wanted.pop(number, digest) != digest:
            problems.append(f"entry {number} is not the one that was noted")
        last = Head(number, digest)
    missing = [number for number in wanted if number > 0]
    problems += [f"entry {number}, which was noted, is missing" for number in missing]
    return Verified(last, tuple(problems))


def _hash(previous: str, content: Iterable[Any]) -> str:
    body = json.dumps([*content], default=repr, separators=(",", ":"))
    return hashlib.sha256(f"{previous}{body}".encode()).hexdigest()


def _text(at: datetime) -> str:
    return str(Moment().process_bind_param(at, None))
