"""How researchers ask a person and stewards reply: operations of the API, and pages."""

from __future__ import annotations

from typing import Annotated, cast, get_args
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request, Response, Security
from pydantic import BaseModel, Field

from synthesizer.data.errors import RequestError
from synthesizer.verification.request_code import code_of
from synthesizer.verification.server.api import (
    BEARER,
    HEXADECIMAL,
    PREFIX,
    STRICT_BODY,
    WITH_BODY,
    Before,
    DatasetName,
    Digest,
    Limit,
    Steps,
    replies,
)
from synthesizer.verification.server.api import Who as Caller
from synthesizer.verification.server.pages import LISTED, OwnForm, Who, first, info_of
from synthesizer.verification.server.person_requests import (
    LONGEST_CODE,
    LONGEST_REASON,
    LONGEST_REPLY,
    NOT_PRIVATE,
    Decision,
    PersonRequest,
    Verdict,
    ask_person,
    find_request,
    list_requests,
    reply_to_request,
    withdraw_request,
)
from synthesizer.verification.server.query_form import in_words
from synthesizer.verification.server.security import GuardedRoute, Signed, StewardRoute, only
from synthesizer.verification.server.service import Service
from synthesizer.verification.server.templating import PageRoute, StewardPage, html_page, moved

api_router = APIRouter(
    prefix=PREFIX, route_class=GuardedRoute, dependencies=[Security(BEARER)], tags=["researchers"]
)
steward_api_router = APIRouter(
    prefix=f"{PREFIX}/steward", route_class=StewardRoute, dependencies=[Security(BEARER)],
    tags=["stewards"],
)  # fmt: skip
page_router = APIRouter(route_class=PageRoute, include_in_schema=False)
steward_page_router = APIRouter(prefix="/steward", route_class=StewardPage, include_in_schema=False)
routers = (api_router, steward_api_router, page_router, steward_page_router)
Number = Annotated[str, Path(description="`id` of a request.", pattern=HEXADECIMAL)]


class RequestBody(BaseModel):
    """Why a person is asked, and with which code."""

    model_config = STRICT_BODY

    reason: str = Field(min_length=1, max_length=LONGEST_REASON, examples=["It decides a table."])
    code: str = Field(min_length=1, max_length=LONGEST_CODE, examples=["summary(lm(pay ~ sex))"])


class ReplyBody(BaseModel):
    """What a steward decides about a request."""

    model_config = STRICT_BODY

    decision: Decision
    verdict: Verdict = ""
    """`yes`, `no` or `cannot` for `answered`, else empty."""
    reply: str = Field(min_length=1, max_length=LONGEST_REPLY, examples=["The sign is the same."])


class RequestPage(BaseModel):
    """A part of a list, the latest first."""

    items: list[PersonRequest]
    next: str | None
    """What `before` is to be for the next part; null at the end."""


@api_router.post(
    "/datasets/{dataset}/dry-runs/{digest}/requests", status_code=201,
    responses=replies(403, 404, *WITH_BODY),
)  # fmt: skip
@only("researcher")
def send_request(
    dataset: DatasetName, digest: Digest, body: RequestBody, who: Caller, steps: Steps
) -> PersonRequest:
    """Send the question of a dry run to the stewards."""
    return ask_person(steps, who, dataset, digest, reason=body.reason, code=body.code)


@api_router.get("/requests", responses=replies(404))
def list_own_requests(
    who: Caller, steps: Steps, before: Before = None, limit: Limit = 50
) -> RequestPage:
    """List your requests, the latest first."""
    found = list_requests(steps, who, before=before or "", limit=limit)
    return RequestPage(items=found, next=_next(found, limit))


@api_router.get("/requests/{request}", responses=replies(404))
def read_request(request: Number, who: Caller, steps: Steps) -> PersonRequest:
    """Return a request of yours, with the reply once there is one."""
    return find_request(steps, who, request)


@api_router.delete("/requests/{request}", responses=replies(403, 404, 409))
@only("researcher")
def withdraw(request: Number, who: Caller, steps: Steps) -> PersonRequest:
    """Withdraw an open request of yours."""
    return withdraw_request(steps, who, request)


@steward_api_router.get("/requests", responses=replies(403, 404))
def list_all_requests(
    who: Caller, steps: Steps, before: Before = None, limit: Limit = 50,
    open_only: Annotated[bool, Query(description="Open ones only.")] = False,
) -> RequestPage:  # fmt: skip
    """List the requests of all users, the latest first."""
    found = list_requests(
        steps, who, everybody=True, open_only=open_only, before=before or "", limit=limit
    )
    return RequestPage(items=found, next=_next(found, limit))


@steward_api_router.post("/requests/{request}", responses=replies(403, 404, 409, *WITH_BODY))
@only("steward")
def send_reply(request: Number, body: ReplyBody, who: Caller, steps: Steps) -> PersonRequest:
    """Answer in words, refuse, or release numbers; the request is closed then."""
    return reply_to_request(
        steps, who, request, body.decision, reply=body.reply, verdict=body.verdict
    )


def _next(found: list[PersonRequest], limit: int) -> str | None:
    return found[-1].id if len(found) == limit else None


# Pages


@page_router.get("/datasets/{name}/dry-runs/{digest}/ask-a-person")
@only("researcher")
def write_request(request: Request, who: Who, steps: Steps, name: str, digest: str) -> Response:
    """Show the form of a request; its code is a draft of what answers the question."""
    code = code_of(steps.find_dry_run(who.account, name, digest).query, steps.dataset(name).schema)
    return _ask_page(request, who, steps, name, digest, code=code)


@page_router.post("/datasets/{name}/dry-runs/{digest}/ask-a-person")
@only("researcher")
def send_form(
    request: Request, who: Who, steps: Steps, name: str, digest: str, form: OwnForm
) -> Response:
    """Send a request."""
    reason, code = first(form, "reason"), first(form, "code")
    try:
        made = ask_person(steps, who.account, name, digest, reason=reason, code=code)
    except RequestError as error:
        if error.status in (403, 404):
            raise
        return _ask_page(request, who, steps, name, digest, reason=reason, code=code, error=error)
    return moved(f"/requests/{made.id}")


def _ask_page(
    request: Request, who: Signed, steps: Service, name: str, digest: str, *, code: str,
    reason: str = "", error: RequestError | None = None,
) -> Response:  # fmt: skip
    query = steps.find_dry_run(who.account, name, digest).query
    return html_page(
        request, "ask_a_person.html", error=error, dataset=info_of(steps, name),
        question=in_words(query), here=f"/datasets/{quote(name)}/dry-runs/{quote(digest)}",
        reason=reason, code=code, most=(LONGEST_REASON, LONGEST_CODE),
    )  # fmt: skip


@page_router.get("/requests")
def show_own_requests(request: Request, who: Who, steps: Steps, before: str = "") -> Response:
    """Show the user's own requests."""
    return _list_page(request, list_requests(steps, who.account, before=before, limit=LISTED))


@steward_page_router.get("/requests")
def show_all_requests(
    request: Request, who: Who, steps: Steps, before: str = "", closed: bool = False
) -> Response:
    """Show the open requests of all users, or the closed ones, too."""
    found = list_requests(
        steps, who.account, everybody=True, open_only=not closed, before=before, limit=LISTED
    )
    return _list_page(request, found, everybody=True, closed=closed)


def _list_page(
    request: Request, found: list[PersonRequest], *, everybody: bool = False, closed: bool = False
) -> Response:
    return html_page(
        request, "requests.html", requests=found, older=_next(found, LISTED), everybody=everybody,
        closed=closed,
    )  # fmt: skip


@page_router.get("/requests/{number}")
def show_request(request: Request, who: Who, steps: Steps, number: str) -> Response:
    """Show a request, with the reply or with the forms of one."""
    return _request_page(request, who, steps, number)


@page_router.post("/requests/{number}/withdraw")
@only("researcher")
def withdraw_form(who: Who, steps: Steps, number: str, _form: OwnForm) -> Response:
    """Withdraw an open request."""
    withdraw_request(steps, who.account, number)
    return moved(f"/requests/{number}")


@steward_page_router.post("/requests/{number}")
@only("steward")
def send_reply_form(
    request: Request, who: Who, steps: Steps, number: str, form: OwnForm
) -> Response:
    """Reply to a request."""
    decision, verdict = first(form, "decision"), first(form, "verdict")
    reply = first(form, "reply")
    try:
        if decision not in get_args(Decision) or verdict not in get_args(Verdict):
            raise RequestError("decision: choose one of the buttons", 422)
        reply_to_request(
            steps, who.account, number, cast(Decision, decision), reply=reply,
            verdict=cast(Verdict, verdict) if decision == "answered" else "",
        )  # fmt: skip
    except RequestError as error:
        if error.status in (403, 404):
            raise
        return _request_page(request, who, steps, number, reply=reply, error=error)
    return moved(f"/requests/{number}")


def _request_page(
    request: Request, who: Signed, steps: Service, number: str, *, reply: str = "",
    error: RequestError | None = None,
) -> Response:  # fmt: skip
    found = find_request(steps, who.account, number)
    return html_page(
        request, "request.html", error=error, found=found, question=in_words(found.query),
        title=info_of(steps, found.dataset).title, reply=reply, most=LONGEST_REPLY,
        not_private=NOT_PRIVATE,
    )  # fmt: skip
