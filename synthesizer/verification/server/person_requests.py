"""Questions that a person answers, since privacy cannot decide them.

    a dry run  ->  open  ->  answered, refused or released by a steward; or withdrawn

A researcher sends the question of a dry run with a reason and with code. A steward runs the code by
hand, outside of the server, and writes the reply. What a person writes is not covered by
differential privacy, and every page and the API say so. Each step is in the audit log, as states
and lengths: texts may quote confidential numbers. Somebody else's request and one that does not
exist are refused in the same words. Who may do what by role is declared at the routes.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Connection, Row, Select, and_, func, insert, or_, select, update

from synthesizer.data.errors import Problems, RequestError
from synthesizer.verification.database import now, transaction
from synthesizer.verification.server import audit
from synthesizer.verification.server.accounts import Account
from synthesizer.verification.server.request_tables import PERSON_REQUEST
from synthesizer.verification.server.server_tables import ACCOUNT, DRY_RUN
from synthesizer.verification.server.service import MOST_LISTED, Service

MOST_OPEN = 5
"""Open requests of an account."""
LONGEST_REASON, LONGEST_CODE, LONGEST_REPLY = 2_000, 10_000, 10_000
"""Characters."""
NOT_PRIVATE = "Not covered by differential privacy; reviewed by a person."
"""Stands beside every reply."""

State = Literal["open", "answered", "refused", "released", "withdrawn"]
Decision = Literal["answered", "refused", "released"]
Verdict = Literal["", "yes", "no", "cannot"]


class PersonRequest(BaseModel):
    """A question to a steward, with the reply."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    user: str
    dataset: str
    digest: str
    """Of the query in its canonical form: the number of its dry run."""
    query: dict[str, Any]
    reason: str
    """Why the answer matters."""
    code: str
    """What answers the question on the confidential file."""
    state: State
    """``answered`` in words, ``refused``, ``released`` as numbers, ``withdrawn`` by the user."""
    verdict: Verdict
    """What the steward says where the state is ``answered``."""
    reply: str
    note: str
    """Beside a reply: that differential privacy does not cover it."""
    steward: str | None
    made: datetime
    closed: datetime | None


def ask_person(
    steps: Service, account: Account, dataset: str, digest: str, *, reason: str, code: str
) -> PersonRequest:
    """Send the question of a dry run to the stewards.

    Raises
    ------
    RequestError
        If there is no such dry run (404), a text is empty or too long (422), or too many requests
        of the account are open (429).
    """
    steps.find_dry_run(account, dataset, digest)
    reason, code = _sound(reason=(reason, LONGEST_REASON), code=(code, LONGEST_CODE))
    number, mine = secrets.token_hex(16), PERSON_REQUEST.c.account == account.id
    with transaction(steps.engine) as store:
        store.execute(select(ACCOUNT.c.id).where(ACCOUNT.c.id == account.id).with_for_update())
        is_open = select(func.count()).where(mine, PERSON_REQUEST.c.state == "open")
        if store.execute(is_open).scalar_one() >= MOST_OPEN:
            raise RequestError(
                f"{MOST_OPEN} of your requests are open, which is the limit; withdraw one, or wait "
                "for a reply",
                429,
            )
        store.execute(
            insert(PERSON_REQUEST).values(
                id=number, account=account.id, dataset=dataset, query=digest, reason=reason,
                code=code, state="open", made=now(),
            )
        )  # fmt: skip
        details = {"query": digest, "reason": len(reason), "code": len(code)}
        _log(store, account, "person asked", dataset, number, details)
        return _request(_row(store, account, number))


def find_request(steps: Service, account: Account, number: str) -> PersonRequest:
    """Return a request; RequestError (404) where it does not exist or is somebody else's."""
    with transaction(steps.engine, reads=True) as store:
        return _request(_row(store, account, number))


def list_requests(
    steps: Service, account: Account, *, everybody: bool = False, open_only: bool = False,
    before: str = "", limit: int = 50,
) -> list[PersonRequest]:  # fmt: skip
    """Return requests, the latest first; those of all users for stewards and admins."""
    at, number = PERSON_REQUEST.c.made, PERSON_REQUEST.c.id
    chosen = [] if everybody else [PERSON_REQUEST.c.account == account.id]
    chosen += [PERSON_REQUEST.c.state == "open"] * open_only
    with transaction(steps.engine, reads=True) as store:
        if before:
            last = _row(store, account, before)
            chosen.append(or_(at < last.made, and_(at == last.made, number < last.id)))
        wanted = _all().where(*chosen).order_by(at.desc(), number.desc())
        return [_request(row) for row in store.execute(wanted.limit(min(limit, MOST_LISTED)))]


def withdraw_request(steps: Service, account: Account, number: str) -> PersonRequest:
    """End an open request of one's own; RequestError (404, 409) where there is none."""
    return _close(steps, account, number, "withdrawn")


def reply_to_request(
    steps: Service, account: Account, number: str, decision: Decision, *, reply: str,
    verdict: Verdict = "",
) -> PersonRequest:  # fmt: skip
    """Close an open request.

    Parameters
    ----------
    decision : str
        ``answered``: in words, with a verdict and without digits; ``refused``: with the reason;
        ``released``: with numbers that the steward looked over.
    reply : str
        What the researcher reads.
    verdict : str
        ``yes``, ``no`` or ``cannot`` for ``answered``, else empty.

    Raises
    ------
    RequestError
        If there is no such request (404), it is closed (409), or texts and decision do not fit
        together (422).
    """
    find_request(steps, account, number)
    problems = Problems()
    if (decision == "answered") != bool(verdict):
        problems.append("verdict: write yes, no or cannot for an answer in words, else nothing")
    if decision == "answered" and re.search(r"\d", reply):
        problems.append("reply: an answer has no digits; release numbers, or write words only")
    (reply,) = _sound(problems, reply=(reply, LONGEST_REPLY))
    return _close(steps, account, number, decision, reply=reply, verdict=verdict)


def _sound(problems: Problems | None = None, **texts: tuple[str, int]) -> list[str]:
    """Return texts with plain ends of lines; RequestError (422) has every problem."""
    found = [] if problems is None else problems
    plain = {key: text.replace("\r\n", "\n").strip() for key, (text, _) in texts.items()}
    found += [
        f"{key}: write 1 to {texts[key][1]:,} characters; there are {len(text):,}"
        for key, text in plain.items()
        if not 1 <= len(text) <= texts[key][1]
    ]
    if found:
        raise RequestError(found, 422)
    return [*plain.values()]


def _close(
    steps: Service, account: Account, number: str, state: State, **values: Any
) -> PersonRequest:
    is_steward = account.role == "steward"
    values |= {"state": state, "closed": now(), "steward": account.id if is_steward else None}
    with transaction(steps.engine) as store:
        row = _row(store, account, number)
        still_open = PERSON_REQUEST.c.id == number, PERSON_REQUEST.c.state == "open"
        if not store.execute(update(PERSON_REQUEST).where(*still_open).values(values)).rowcount:
            raise RequestError("the request is closed; a new one can be sent", 409)
        details = {"state": state, "reply": len(values.get("reply", ""))}
        _log(store, account, f"request {state}", row.dataset, number, details)
        return _request(_row(store, account, number))


def _log(
    store: Connection, account: Account, action: str, dataset: str, number: str,
    details: Mapping[str, Any],
) -> None:  # fmt: skip
    details = {"request": number, **details}
    audit.append(store, account.name, action, dataset=dataset, details=details)


def _all() -> Select[Any]:
    stewards = ACCOUNT.alias("stewards")
    dry_run = and_(
        DRY_RUN.c.dataset == PERSON_REQUEST.c.dataset, DRY_RUN.c.query == PERSON_REQUEST.c.query
    )
    users = PERSON_REQUEST.join(ACCOUNT, ACCOUNT.c.id == PERSON_REQUEST.c.account)
    return select(
        PERSON_REQUEST, ACCOUNT.c.name, stewards.c.name.label("by"), DRY_RUN.c.content
    ).select_from(
        users.join(DRY_RUN, dry_run).outerjoin(stewards, stewards.c.id == PERSON_REQUEST.c.steward)
    )


def _row(store: Connection, account: Account, number: str) -> Row[Any]:
    """Return a request of one's own, or of anybody for stewards and admins."""
    row = store.execute(_all().where(PERSON_REQUEST.c.id == number)).first()
    if row is None or (row.account != account.id and account.role == "researcher"):
        raise RequestError("there is no such request of yours; your list shows yours", 404)
    return row


def _request(row: Row[Any]) -> PersonRequest:
    return PersonRequest(
        id=row.id, user=row.name, dataset=row.dataset, digest=row.query,
        query=json.loads(row.content), reason=row.reason, code=row.code, state=row.state,
        verdict=row.verdict, reply=row.reply, note=NOT_PRIVATE if row.reply else "",
        steward=row.by, made=row.made, closed=row.closed,
    )  # fmt: skip
