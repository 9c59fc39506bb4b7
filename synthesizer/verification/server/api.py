"""What researchers do over HTTP, under ``/api/v1``; each operation is one step of the service.

A token comes as ``Authorization: Bearer ...``. A query is submitted and then polled: its state goes
from ``checking`` through ``waiting`` to ``answered``, or ends as ``refused``, which costs nothing.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response, Security
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from synthesizer.data.errors import RequestError
from synthesizer.verification.public_schema import PublicSchema
from synthesizer.verification.server.accounts import (
    LONGEST_DAYS,
    LONGEST_PASSWORD,
    Account,
    Accounts,
    NewSession,
    TokenInfo,
)
from synthesizer.verification.server.problem_json import ProblemReply
from synthesizer.verification.server.security import (
    GuardedRoute,
    StrictRoute,
    account_of,
    guard_of,
)
from synthesizer.verification.server.service import (
    LONGEST_ANALYSIS,
    MOST_LISTED,
    BudgetInfo,
    DatasetInfo,
    DryRun,
    Service,
    Submission,
)

PREFIX = "/api/v1"
STRICT_BODY = ConfigDict(frozen=True, strict=True, extra="forbid")


def replies(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return how OpenAPI describes the errors of an operation."""
    content = {"application/problem+json": {"schema": {"$ref": _PROBLEM}}}
    return {
        status: {"description": _MEANINGS[status], "content": content}
        for status in sorted({*statuses, *_ALWAYS})
    }


_PROBLEM = f"#/components/schemas/{ProblemReply.__name__}"
_ALWAYS = (401, 422, 429, 503)
WITH_BODY = (400, 413, 415)
"""What an operation that takes a body may reply, too."""
_MEANINGS = {
    400: "The body is no JSON, or JSON that can be read in two ways.",
    401: "The token is missing, unknown, expired or revoked.",
    403: "The role of the account does not allow it.",
    404: "There is none, or it is somebody else's.",
    409: "What is there already forbids it.",
    413: "The body is too large.",
    415: "The body is not sent as `application/json`.",
    422: "A part of the request has another form, or the query does not fit the public schema.",
    429: "Too many requests, or too many queries wait; `Retry-After` says for how long.",
    503: "The database does not answer; nothing was changed.",
}
BEARER = HTTPBearer(auto_error=False, description="A token, as a steward made it.")


def service_of(request: Request) -> Service:
    """Return the service of the app that serves a request."""
    service = request.app.state.service
    assert isinstance(service, Service)  # noqa: S101 - `create_app` puts it there
    return service


Who = Annotated[Account, Depends(account_of)]
Steps = Annotated[Service, Depends(service_of)]
DatasetName = Annotated[str, Path(description="As `/datasets` lists it.", max_length=63)]
Digest = Annotated[
    str, Path(description="SHA-256 of the canonical query.", pattern=r"^[0-9a-f]{64}$")
]
MOST_NUMBER = 2**31 - 1
"""Of what a database numbers."""
TokenNumber = Annotated[int, Path(description="`id` of a token.", ge=1, le=MOST_NUMBER)]
HEXADECIMAL = r"^[0-9a-f]{32}$"
Number = Annotated[str, Path(description="`id` of a submission.", pattern=HEXADECIMAL)]
OfDataset = Annotated[str | None, Query(description="Of this dataset only.", max_length=63)]
Before = Annotated[str | None, Query(description="`next` of the part before.", pattern=HEXADECIMAL)]
Limit = Annotated[int, Query(description="So many at most.", ge=1, le=MOST_LISTED)]


class QueryBody(BaseModel):
    """A query about a dataset."""

    model_config = STRICT_BODY

    query: dict[str, Any] = Field(
        examples=[
            {
                "formula": "I(log(pay)) ~ sex + age | agency",
                "ask": {"measure": "interval", "coefficient": "sex[F]", "below": -0.05},
                "epsilon": 1.0,
            }
        ]
    )
    """As in the files of `synthesizer verify`."""


class SubmissionBody(QueryBody):
    """A query that is to be answered from the confidential data."""

    analysis: str = Field(min_length=1, max_length=LONGEST_ANALYSIS, examples=["pay gap"])
    """Whose budget pays, beside the user's and the global one."""


class TokenBody(BaseModel):
    """A new token."""

    model_config = STRICT_BODY

    label: str = Field(min_length=1, max_length=100, examples=["laptop"])
    days: int = Field(default=90, ge=1, le=LONGEST_DAYS)
    """So long it is valid."""


class NewToken(BaseModel):
    """A token, which is shown this once."""

    token: str


class SignInBody(TokenBody):
    """Name and password, for a token of one's own."""

    name: str = Field(max_length=200, examples=["ada"])
    password: str = Field(max_length=LONGEST_PASSWORD)


class Me(BaseModel):
    """Whose token it is."""

    name: str
    role: str


class SubmissionPage(BaseModel):
    """A part of a list, the latest first."""

    items: list[Submission]
    next: str | None
    """What `before` is to be for the next part; null at the end."""


open_router = APIRouter(prefix=PREFIX, route_class=StrictRoute, tags=["researchers"])
"""What needs no token."""
router = APIRouter(
    prefix=PREFIX, route_class=GuardedRoute, dependencies=[Security(BEARER)], tags=["researchers"]
)


@router.get("/me", responses=replies())
def read_me(who: Who) -> Me:
    """Say whose token it is."""
    return Me(name=who.name, role=who.role)


@open_router.post("/tokens", status_code=201, responses=replies(*WITH_BODY))
async def sign_in(body: SignInBody, request: Request) -> NewToken:
    """Make a token of your own by name and password, so that nobody else has seen it."""
    guard = guard_of(request)
    made = await guard.sign_in(request, body.name, body.password)
    return await run_in_threadpool(_exchanged, guard.accounts, made, body)


def _exchanged(accounts: Accounts, made: NewSession, body: TokenBody) -> NewToken:
    """Return a token in place of a session."""
    accounts.sign_out(made.secret)
    who = made.session.account
    return NewToken(token=accounts.new_token(who, body.label, days=body.days, actor=who.name))


@router.get("/tokens", responses=replies())
def list_own_tokens(who: Who, request: Request) -> list[TokenInfo]:
    """List your tokens, without their secrets."""
    return guard_of(request).accounts.tokens(who.name)


@router.delete("/tokens/{token}", status_code=204, responses=replies(404))
def revoke_own_token(token: TokenNumber, who: Who, request: Request) -> None:
    """End a token of yours at once."""
    accounts = guard_of(request).accounts
    if token not in {one.id for one in accounts.tokens(who.name)}:
        raise RequestError("there is no such token of yours; your list has them", 404)
    accounts.revoke(token, actor=who.name)


@router.get("/datasets", responses=replies())
def list_datasets(steps: Steps) -> list[DatasetInfo]:
    """List the datasets."""
    return steps.list_datasets()


@router.get("/datasets/{dataset}/schema", responses=replies(404))
def read_schema(dataset: DatasetName, steps: Steps) -> PublicSchema:
    """Return what queries may know of a dataset: variables, levels, ranges."""
    return steps.dataset(dataset).schema


@router.get("/datasets/{dataset}/budgets", responses=replies(404))
def list_budgets(dataset: DatasetName, who: Who, steps: Steps) -> list[BudgetInfo]:
    """List the budgets that pay for your queries: the global one, yours, your analyses'."""
    return steps.budgets(who, dataset)


@router.post("/datasets/{dataset}/dry-runs", status_code=202, responses=replies(404, *WITH_BODY))
def begin_dry_run(dataset: DatasetName, body: QueryBody, who: Who, steps: Steps) -> DryRun:
    """Ask what the synthetic data say, and what an answer would cost and could show: free."""
    return steps.dry_run(who, dataset, body.query)


@router.get("/datasets/{dataset}/dry-runs/{digest}", responses=replies(404))
def read_dry_run(dataset: DatasetName, digest: Digest, steps: Steps) -> DryRun:
    """Return a dry run, by the digest that its start returned."""
    return steps.find_dry_run(dataset, digest)


@router.post(
    "/datasets/{dataset}/queries", status_code=202, responses=replies(403, 404, *WITH_BODY)
)
def submit(
    dataset: DatasetName, body: SubmissionBody, who: Who, steps: Steps, response: Response
) -> Submission:
    """Submit a query to the confidential data; it is charged once its dry run is done.

    The same query of yours, however spelt, is the same submission.
    """
    made = steps.submit(who, dataset, body.query, analysis=body.analysis)
    response.headers["Location"] = f"{PREFIX}/queries/{made.id}"
    return made


@router.get("/queries", responses=replies(404))
def list_submissions(
    who: Who,
    steps: Steps,
    dataset: OfDataset = None,
    before: Before = None,
    limit: Limit = 50,
) -> SubmissionPage:
    """List your submissions without their answers, the latest first."""
    found = steps.submissions(who, dataset=dataset, before=before, limit=limit)
    return page_of(found, limit)


@router.get("/queries/{submission}", responses=replies(404))
def read_submission(submission: Number, who: Who, steps: Steps) -> Submission:
    """Return a submission of yours, with its answer once that is due."""
    return steps.find(who, submission)


def page_of(found: list[Submission], limit: int) -> SubmissionPage:
    """Return a part of a list; a full one may have a next."""
    return SubmissionPage(items=found, next=found[-1].id if len(found) == limit else None)
