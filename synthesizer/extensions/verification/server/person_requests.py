"""Questions to a steward, which differential privacy cannot decide.

    a dry run  ->  open  ->  answered, refused or released by a steward; or withdrawn

A researcher sends the question of a dry run with a reason and with code. A steward runs the code by
hand, outside of the server, and writes the reply. Differential privacy does not cover the reply,
and every page states this. The audit log contains states and lengths only, since texts may quote
confidential numbers. Requests of others and missing requests get the same message. The routes
declare the roles.

The form has a draft in R that answers the question on the confidential file. The researcher edits
it; the server does not run it. It reads the file by the public schema: missing codes and texts that
are no level become missing, and numbers are clipped into their ranges. Errors are clustered by
person, like in the groups of persons.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Response
from pydantic import AwareDatetime
from sqlalchemy import Connection, Row, Select, and_, func, insert, select, update

from synthesizer.extensions.verification.database import now, transaction
from synthesizer.extensions.verification.messages import WORDS, DryRun, RequestError, template
from synthesizer.extensions.verification.public_schema import PublicSchema
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.server import audit, pages
from synthesizer.extensions.verification.server.accounts import Account
from synthesizer.extensions.verification.server.pages import PAGE_ROWS
from synthesizer.extensions.verification.server.query_form import in_words
from synthesizer.extensions.verification.server.security import only
from synthesizer.extensions.verification.server.server_tables import (
    ACCOUNT,
    DRY_RUN,
    PERSON_REQUEST,
)
from synthesizer.extensions.verification.server.service import Service
from synthesizer.extensions.verification.server.templating import PageRoute, moved
from synthesizer.measures.utility.formulas import parse_formula

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MAX_OPEN_REQUESTS = 5
"""Limit of open requests of an account."""
MAX_CHARACTERS = {"reason": 2_000, "code": 10_000, "reply": 10_000}
REPLIES: dict[str, str] = WORDS["replies"]
"""States of a reply, with instructions for stewards."""


def ask_person(
    steps: Service, account: Account, dataset: str, digest: str, *, reason: str, code: str
) -> str:
    """Send the question of a dry run to the stewards; return the number of the request.

    A question that is sent twice is one request, while it is open.

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
        request = {"account": account.id, "dataset": dataset, "query": digest, **texts}
        same = (PERSON_REQUEST.c[key] == value for key, value in request.items())
        if first_one := store.execute(select(PERSON_REQUEST.c.id).where(*mine, *same)).scalar():
            return str(first_one)
        if store.execute(select(func.count()).where(*mine)).scalar_one() >= MAX_OPEN_REQUESTS:
            raise RequestError(WORDS["wrong"]["requests"].format(MAX_OPEN_REQUESTS), 429)
        store.execute(insert(PERSON_REQUEST).values(id=number, **request, state="open", made=now()))
        sizes = {key: len(text) for key, text in texts.items()}
        details = {"request": number, "query": digest, **sizes}
        audit.append(store, account.name, "person asked", dataset=dataset, details=details)
    return number


def find_request(steps: Service, account: Account, number: str) -> Row[Any]:
    """Return a request; RequestError (404) if it is missing or belongs to another account.

    Besides the columns of its table it has ``name`` (of the account) and ``content`` (the query of
    the dry run, as JSON).
    """
    with transaction(steps.engine, reads=True) as store:
        return _row(store, account, number)


def list_requests(
    steps: Service, account: Account, *, open_only: bool = False, before: datetime | None = None
) -> list[Row[Any]]:
    """Return requests, the latest first: a researcher's, or those of all accounts."""
    chosen = [PERSON_REQUEST.c.account == account.id] * (account.role == "researcher")
    chosen += [PERSON_REQUEST.c.state == "open"] * open_only
    chosen += [PERSON_REQUEST.c.made < before] if before else []
    wanted = _all().where(*chosen).order_by(PERSON_REQUEST.c.made.desc()).limit(PAGE_ROWS)
    with transaction(steps.engine, reads=True) as store:
        return [*store.execute(wanted)]


def close_request(
    steps: Service, account: Account, number: str, state: str, reply: str | None = None
) -> None:
    """Withdraw an open request of the account, or reply to one as a steward.

    Parameters
    ----------
    state : str
        ``withdrawn``, or one of `REPLIES`.
    reply : str, optional
        A steward's text for the researcher.

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
    """Return texts with plain line ends; RequestError (422) for a wrong length."""
    plain = {key: text.replace("\r\n", "\n").strip() for key, text in texts.items()}
    problems = [
        f"{key}: write 1 to {MAX_CHARACTERS[key]:,} characters; there are {len(text):,}"
        for key, text in plain.items()
        if not 1 <= len(text) <= MAX_CHARACTERS[key]
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
    """Return a request of the account, or any request for stewards and admins."""
    row = store.execute(_all().where(PERSON_REQUEST.c.id == number)).first()
    if row is None or (row.account != account.id and account.role == "researcher"):
        raise RequestError("you have no such request; see your list", 404)
    return row


# The draft of the code

_IN_R = {
    "and": "&", "or": "|", "not ": "!", "in": "%in%", "[": "c(", "]": ")", "C(": "factor(",
    "True": "TRUE", "False": "FALSE", "missing(": "is.na(", "//": "%/%", "%": "%%",
}  # fmt: skip
_WORD = re.compile(
    r"'(?:[^'\\]|\\.)*'|`[^`]*`|\b(?:and|or|in|True|False)\b|\bnot |\b(?:C|missing)\(|//|[][%]"
)
"""Quoted texts and names, which stay, and words with another spelling in R."""


def code_of(
    query: Mapping[str, Any], schema: PublicSchema, confidential: Path = Path("confidential.csv")
) -> str:
    """Return R code that answers a question.

    Parameters
    ----------
    query : mapping
        A valid query as plain values.
    schema : PublicSchema
        Schema of the file.
    confidential : Path
        The confidential file; only its kind is used.

    Examples
    --------
    >>> from synthesizer.extensions.verification.public_schema import SchemaVariable
    >>> sex = SchemaVariable(kind="categorical", levels=("F", "M"), reference="M")
    >>> schema = PublicSchema(person="id", variables={"sex": sex})
    >>> code = code_of({"ask": {"measure": "counts", "by": ["sex"]}}, schema).splitlines()
    >>> print(code[-1])
    print(table(data[c("sex")]))
    """
    sound_query = query_of({key: value for key, value in query.items() if value is not None})
    formula = parse_formula(sound_query.formula) if sound_query.formula else None
    atoms = formula.atoms if formula else ()
    named = {a.text: schema.levels(a) for a in atoms if a.kind == "name"}
    is_parquet = confidential.suffix.lower() in (".parquet", ".pq")
    text = _DRAFT.render(
        query=sound_query, formula=formula, schema=schema,
        kind="folder" if confidential.is_dir() else "parquet" if is_parquet else "csv",
        variables={n: one for n, one in schema.variables.items() if n in sound_query.names},
        references={name: levels[0] for name, levels in named.items() if levels},
    )  # fmt: skip
    return text.rstrip("\n")


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_DRAFT = template(
    "request_code.R.jinja",
    r=lambda text: _WORD.sub(lambda match: _IN_R.get(match[0], match[0]), text),
    r_number="{:.15g}".format,
    text=_text,
    vector=lambda texts: f"c({', '.join(map(_text, texts))})",
)


# Pages

_ASK = "/datasets/{name}/dry-runs/{digest}/ask-a-person"


@router.get(_ASK)
@only("researcher")
def write_request(visit: pages.Visiting, tried: pages.Tried) -> Response:
    """Show the form of a request, with a draft of the code."""
    return _ask_page(visit, tried)


@router.post(_ASK)
@only("researcher")
def send_request(visit: pages.Visiting, form: pages.OwnForm, tried: pages.Tried) -> Response:
    """Send a request."""
    typed = {"reason": pages.first(form, "reason"), "code": pages.first(form, "code")}
    try:
        number = ask_person(visit.steps, visit.account, tried.dataset, tried.digest, **typed)
    except RequestError as error:
        return _ask_page(visit, tried, typed, error)
    return moved(f"/requests/{number}")


def _ask_page(
    visit: pages.Visit, tried: DryRun, typed: dict[str, str] | None = None,
    error: RequestError | None = None,
) -> Response:  # fmt: skip
    steps, name = visit.steps, tried.dataset
    file = steps.config.datasets[name].confidential
    typed = typed or {"reason": "", "code": code_of(tried.query, steps.dataset(name).schema, file)}
    return visit.page(
        "ask_a_person.html", error=error, dataset=pages.info_of(steps, name), digest=tried.digest,
        question=in_words(tried.query), most=MAX_CHARACTERS, **typed,
    )  # fmt: skip


@router.get("/requests")
def show_requests(
    visit: pages.Visiting, before: AwareDatetime | None = None, closed: bool = False
) -> Response:
    """Show a researcher's requests; stewards and admins see those of all, open or all."""
    everybody = visit.account.role != "researcher"
    open_only = everybody and not closed
    requests = list_requests(visit.steps, visit.account, open_only=open_only, before=before)
    return visit.page(
        "requests.html", everybody=everybody, closed=closed,
        requests=[(one, in_words(json.loads(one.content))) for one in requests],
        older=requests[-1].made.isoformat() if len(requests) == PAGE_ROWS else None,
    )  # fmt: skip


@router.get("/requests/{number}")
def show_request(visit: pages.Visiting, number: str) -> Response:
    """Show a request with its reply, or with the form of a reply."""
    return _request_page(visit, number)


@router.post("/requests/{number}/withdraw")
@only("researcher")
def withdraw(visit: pages.Visiting, number: str, _form: pages.OwnForm) -> Response:
    """Withdraw an open request."""
    close_request(visit.steps, visit.account, number, "withdrawn")
    return moved(f"/requests/{number}")


@router.post("/requests/{number}")
@only("steward")
def send_reply(visit: pages.Visiting, number: str, form: pages.OwnForm) -> Response:
    """Reply to a request."""
    decision, reply = pages.first(form, "decision"), pages.first(form, "reply")
    try:
        close_request(visit.steps, visit.account, number, decision, reply)
    except RequestError as error:
        return _request_page(visit, number, error, decision, reply)
    return moved(f"/requests/{number}")


def _request_page(
    visit: pages.Visit, number: str, error: RequestError | None = None, decision: str = "",
    reply: str = "",
) -> Response:  # fmt: skip
    request = find_request(visit.steps, visit.account, number)
    return visit.page(
        "request.html", error=error, found=request, question=in_words(json.loads(request.content)),
        title=pages.info_of(visit.steps, request.dataset).title, replies=REPLIES, decision=decision,
        reply=reply, most=MAX_CHARACTERS,
    )  # fmt: skip
