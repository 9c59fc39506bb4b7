"""Questions that a person answers, since privacy cannot decide them.

    a dry run  ->  open  ->  answered, refused or released by a steward; or withdrawn

A researcher sends the question of a dry run with a reason and with code. A steward runs the code by
hand, outside of the server, and writes the reply. What a person writes is not covered by
differential privacy, and every page says so. Each step is in the audit log, as states and lengths:
texts may quote confidential numbers. Somebody else's request and one that does not exist are
refused in the same words. Who may do what by role is declared at the routes.
"""

from __future__ import annotations

import json
import re
import secrets
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import AwareDatetime
from sqlalchemy import Connection, Row, Select, and_, func, insert, select, update

from synthesizer.data.errors import RequestError
from synthesizer.verification.database import now, transaction
from synthesizer.verification.request_code import code_of
from synthesizer.verification.sentences import WORDS
from synthesizer.verification.server import audit
from synthesizer.verification.server.accounts import Account
from synthesizer.verification.server.api import Steps
from synthesizer.verification.server.pages import LISTED, OwnForm, Who, first, info_of
from synthesizer.verification.server.query_form import in_words
from synthesizer.verification.server.security import Signed, only
from synthesizer.verification.server.server_tables import ACCOUNT, DRY_RUN, PERSON_REQUEST
from synthesizer.verification.server.service import Service
from synthesizer.verification.server.templating import PageRoute, html_page, moved

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MOST_OPEN = 5
"""Open requests of an account."""
LONGEST = {"reason": 2_000, "code": 10_000, "reply": 10_000}
"""Characters."""
REPLIES: dict[str, str] = WORDS["replies"]
"""States of a reply, with what a steward writes."""


def ask_person(
    steps: Service, account: Account, dataset: str, digest: str, *, reason: str, code: str
) -> str:
    """Send the question of a dry run to the stewards; return the number of the request.

    What is sent twice is one request, as long as it is open.

    Raises
    ------
    RequestError
        If there is no such dry run (404), a text is empty or too long (422), or too many requests
        of the account are open (429).
    """
    steps.find_dry_run(account, dataset, digest)
    texts, number = _sound(reason=reason, code=code), secrets.token_hex(16)
    mine = PERSON_REQUEST.c.account == account.id, PERSON_REQUEST.c.state == "open"
    with transaction(steps.engine) as store:
        store.execute(select(ACCOUNT.c.id).where(ACCOUNT.c.id == account.id).with_for_update())
        asked = {"account": account.id, "dataset": dataset, "query": digest, **texts}
        same = (PERSON_REQUEST.c[key] == value for key, value in asked.items())
        if first_one := store.execute(select(PERSON_REQUEST.c.id).where(*mine, *same)).scalar():
            return str(first_one)
        if store.execute(select(func.count()).where(*mine)).scalar_one() >= MOST_OPEN:
            raise RequestError(WORDS["wrong"]["requests"].format(MOST_OPEN), 429)
        store.execute(insert(PERSON_REQUEST).values(id=number, **asked, state="open", made=now()))
        sizes = {key: len(text) for key, text in texts.items()}
        details = {"request": number, "query": digest, **sizes}
        audit.append(store, account.name, "person asked", dataset=dataset, details=details)
    return number


def find_request(steps: Service, account: Account, number: str) -> Row[Any]:
    """Return a request; RequestError (404) where it does not exist or is somebody else's.

    Beside the columns of its table it has ``name`` (of the account) and ``content`` (the query of
    the dry run, as JSON).
    """
    with transaction(steps.engine, reads=True) as store:
        return _row(store, account, number)


def list_requests(
    steps: Service, account: Account, *, open_only: bool = False, before: datetime | None = None
) -> list[Row[Any]]:
    """Return requests, the latest first: a researcher's own, or those of everybody."""
    chosen = [PERSON_REQUEST.c.account == account.id] * (account.role == "researcher")
    chosen += [PERSON_REQUEST.c.state == "open"] * open_only
    chosen += [PERSON_REQUEST.c.made < before] if before else []
    wanted = _all().where(*chosen).order_by(PERSON_REQUEST.c.made.desc()).limit(LISTED)
    with transaction(steps.engine, reads=True) as store:
        return [*store.execute(wanted)]


def close_request(
    steps: Service, account: Account, number: str, state: str, reply: str | None = None
) -> None:
    """Withdraw an open request of one's own, or reply to one as a steward.

    Parameters
    ----------
    state : str
        ``withdrawn``, or one of `REPLIES`.
    reply : str, optional
        What the researcher reads, of a steward.

    Raises
    ------
    RequestError
        If there is no such request (404), it is closed (409), or reply and state do not fit
        together (422).
    """
    values = {"state": state}
    with transaction(steps.engine) as store:
        row = _row(store, account, number)
        if reply is not None:
            values |= {"steward": account.name, **_sound(reply=reply)}
            if state not in REPLIES:
                raise RequestError(f"decision: choose one of {', '.join(REPLIES)}", 422)
            if state == "answered" and re.search(r"\d", reply):
                raise RequestError("reply: write an answer without digits, or release them", 422)
        still_open = PERSON_REQUEST.c.id == number, PERSON_REQUEST.c.state == "open"
        changed = update(PERSON_REQUEST).where(*still_open).values(**values, closed=now())
        if not store.execute(changed).rowcount:
            raise RequestError("the request is closed; a new one can be sent", 409)
        details = {"request": number, "state": state, "reply": len(values.get("reply", ""))}
        audit.append(store, account.name, f"request {state}", dataset=row.dataset, details=details)


def _sound(**texts: str) -> dict[str, str]:
    """Return texts with plain ends of lines; RequestError (422) where one has a wrong length."""
    plain = {key: text.replace("\r\n", "\n").strip() for key, text in texts.items()}
    problems = [
        f"{key}: write 1 to {LONGEST[key]:,} characters; there are {len(text):,}"
        for key, text in plain.items()
        if not 1 <= len(text) <= LONGEST[key]
    ]
    if problems:
        raise RequestError(problems, 422)
    return plain


def _all() -> Select[Any]:
    dry_run = and_(
        DRY_RUN.c.dataset == PERSON_REQUEST.c.dataset, DRY_RUN.c.query == PERSON_REQUEST.c.query
    )
    return select(PERSON_REQUEST, ACCOUNT.c.name, DRY_RUN.c.content).select_from(
        PERSON_REQUEST.join(ACCOUNT).join(DRY_RUN, dry_run)
    )


def _row(store: Connection, account: Account, number: str) -> Row[Any]:
    """Return a request of one's own, or of anybody for stewards and admins."""
    row = store.execute(_all().where(PERSON_REQUEST.c.id == number)).first()
    if row is None or (row.account != account.id and account.role == "researcher"):
        raise RequestError("there is no such request of yours; your list shows yours", 404)
    return row


# Pages

_ASK = "/datasets/{name}/dry-runs/{digest}/ask-a-person"


@router.get(_ASK)
@only("researcher")
def write_request(request: Request, who: Who, steps: Steps, name: str, digest: str) -> Response:
    """Show the form of a request; its code is a draft of what answers the question."""
    return _ask_page(request, who, steps, name, digest)


@router.post(_ASK)
@only("researcher")
def send_request(
    request: Request, who: Who, steps: Steps, name: str, digest: str, form: OwnForm
) -> Response:
    """Send a request."""
    typed = {"reason": first(form, "reason"), "code": first(form, "code")}
    try:
        number = ask_person(steps, who.account, name, digest, **typed)
    except RequestError as error:
        return _ask_page(request, who, steps, name, digest, typed, error)
    return moved(f"/requests/{number}")


def _ask_page(
    request: Request, who: Signed, steps: Service, name: str, digest: str,
    typed: dict[str, str] | None = None, error: RequestError | None = None,
) -> Response:  # fmt: skip
    query = steps.find_dry_run(who.account, name, digest).query
    file = steps.config.datasets[name].confidential
    typed = typed or {"reason": "", "code": code_of(query, steps.dataset(name).schema, file)}
    return html_page(
        request, "ask_a_person.html", error=error,
        dataset=info_of(steps, name), digest=digest, question=in_words(query), most=LONGEST,
        **typed,
    )  # fmt: skip


@router.get("/requests")
def show_requests(
    request: Request, who: Who, steps: Steps, before: AwareDatetime | None = None,
    closed: bool = False,
) -> Response:  # fmt: skip
    """Show a researcher's own requests; to others the open ones of all, or the closed ones, too."""
    everybody = who.account.role != "researcher"
    found = list_requests(steps, who.account, open_only=everybody and not closed, before=before)
    return html_page(
        request, "requests.html", everybody=everybody, closed=closed,
        requests=[(one, in_words(json.loads(one.content))) for one in found],
        older=found[-1].made.isoformat() if len(found) == LISTED else None,
    )  # fmt: skip


@router.get("/requests/{number}")
def show_request(request: Request, who: Who, steps: Steps, number: str) -> Response:
    """Show a request, with the reply or with the form of one."""
    return _request_page(request, who, steps, number)


@router.post("/requests/{number}/withdraw")
@only("researcher")
def withdraw(who: Who, steps: Steps, number: str, _form: OwnForm) -> Response:
    """Withdraw an open request."""
    close_request(steps, who.account, number, "withdrawn")
    return moved(f"/requests/{number}")


@router.post("/requests/{number}")
@only("steward")
def send_reply(request: Request, who: Who, steps: Steps, number: str, form: OwnForm) -> Response:
    """Reply to a request."""
    decision, reply = first(form, "decision"), first(form, "reply")
    try:
        close_request(steps, who.account, number, decision, reply)
    except RequestError as error:
        return _request_page(request, who, steps, number, decision, reply, error)
    return moved(f"/requests/{number}")


def _request_page(
    request: Request, who: Signed, steps: Service, number: str, decision: str = "",
    reply: str = "", error: RequestError | None = None,
) -> Response:  # fmt: skip
    found = find_request(steps, who.account, number)
    return html_page(
        request, "request.html", error=error,
        found=found, question=in_words(json.loads(found.content)), replies=REPLIES,
        title=info_of(steps, found.dataset).title, decision=decision, reply=reply, most=LONGEST,
    )  # fmt: skip
