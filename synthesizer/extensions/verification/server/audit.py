"""The audit log: every action on the server, in a chain of hashes.

Each entry contains the hash of the entry before it, and the SHA-256 of that and its content. So a
changed, removed, added or moved entry breaks the chain; triggers keep the table append only. Users
with write access to the database can rewrite all of it, or cut entries off the end. To detect that,
store the head (`head`) where they cannot write, on paper or at another office, and pass it to
`verify`.

Entries contain actor, action and time; details contain names, digests and amounts, never an answer,
a password, a token or a confidential value.
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
"""Hash before the first entry."""


@dataclass(frozen=True)
class AuditEntry:
    """One action."""

    number: int
    """1 for the first one."""
    at: datetime
    actor: str
    """Account, or part of the server."""
    action: str
    dataset: str
    details: Mapping[str, Any]
    hash: str


@dataclass(frozen=True)
class Head:
    """The end of the chain, to be stored elsewhere.

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
        """Return the head that a text contains.

        Raises
        ------
        LedgerError
            If the text is no head.
        """
        match = re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", text.strip())
        if match is None:
            raise LedgerError(
                "a head is NUMBER:HASH, as printed by 'synthesizer verification check-server'"
            )
        return cls(int(match[1]), match[2])


@dataclass(frozen=True)
class Verified:
    """The result of a check of the whole chain."""

    head: Head
    problems: tuple[str, ...]
    """Empty if nothing was changed."""


def append(
    store: Connection,
    actor: str,
    action: str,
    *,
    dataset: str = "",
    details: Mapping[str, Any] | None = None,
) -> None:
    """Add an entry within the transaction of the action, so both are committed or neither.

    This locks the log until the transaction ends, so call it last: locks of budgets come first,
    then that of the log.

    Parameters
    ----------
    store : Connection
        From `database.transaction`.
    actor : str
        Account, or part of the server.
    action : str
        The action, such as "charged".
    dataset : str
        Name of the dataset, if there is one.
    details : mapping, optional
        Values that JSON supports.
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
        Largest number of entries.
    dataset, action : str
        Only entries of a dataset, or of a kind.
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
    """Check every entry, in constant memory.

    Parameters
    ----------
    noted : iterable of Head
        Heads that were stored elsewhere. Only with one can the check detect a rewritten chain, or
        missing entries at the end.
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
            problems.append(f"entry {number} does not follow the entry before it")
        if digest != _hash(previous, content):
            problems.append(f"entry {number} was changed")
        if wanted.pop(number, digest) != digest:
            problems.append(f"entry {number} differs from the head of the earlier check")
        last = Head(number, digest)
    missing = [number for number in wanted if number > 0]
    problems += [f"entry {number} of the earlier check is missing" for number in missing]
    return Verified(last, tuple(problems))


def _hash(previous: str, content: Iterable[Any]) -> str:
    body = json.dumps([*content], default=repr, separators=(",", ":"))
    return hashlib.sha256(f"{previous}{body}".encode()).hexdigest()


def _text(at: datetime) -> str:
    return str(Moment().process_bind_param(at, None))
