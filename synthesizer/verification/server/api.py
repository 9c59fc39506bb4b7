"""What users do over HTTP, under ``/api/v1``; each operation is one step of the service.

A token comes as ``Authorization: Bearer ...``. A query is submitted and then polled: its state goes
from ``checking`` through ``waiting`` to ``answered``, or ends as ``refused``, which costs nothing.

Epsilon, partitions and errors of a query are for experts: without all three the dry run chooses
them, and says in ``outlook`` whether an answer would decide the question.

Under ``/steward`` are all queries, projects, caps, pauses, alarms, accounts, tokens and the audit
log. Stewards manage researchers; admins manage everybody. Stewards set what may be spent.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response, Security
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from synthesizer.verification.public_schema import PublicSchema
from synthesizer.verification.server.accounts import (
    LONGEST_DAYS,
    NAME,
    Account,
    Administration,
    Role,
    TokenInfo,
)
from synthesizer.verification.server.audit import AuditEntry, Verified
from synthesizer.verification.server.problem_json import ProblemReply
from synthesizer.verification.server.projects import MOST_QUESTIONS, PROJECT_NAME, Project
from synthesizer.verification.server.security import (
    GuardedRoute,
    StewardRoute,
    account_of,
    guard_of,
    only,
)
from synthesizer.verification.server.service import (
    MOST_LISTED,
    Alarm,
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
_ALWAYS = (400, 401, 413, 422, 429, 503)
WITH_BODY = (415,)
"""What an operation that takes a body may reply, too."""
_MEANINGS = {
    400: "The path or the query string contains the character 0, or the body is no JSON, or JSON "
    "that can be read in two ways.",
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
                "ask": {"measure": "claim", "coefficient": "sex[F]", "below": -0.05},
            }
        ]
    )
    """As in the files of `synthesizer verify`; experts write epsilon, partitions or errors."""


class SubmissionBody(QueryBody):
    """A query that is to be answered from the confidential data."""

    project: str = Field(max_length=100, examples=["pay gap"])
    """What the question is for, as `/projects` lists it."""


class TokenBody(BaseModel):
    """A new token."""

    model_config = STRICT_BODY

    label: str = Field(min_length=1, max_length=100, examples=["laptop"])
    days: int = Field(default=90, ge=1, le=LONGEST_DAYS)
    """So long it is valid."""


class NewToken(BaseModel):
    """A token, which is shown this once."""

    token: str


class Me(BaseModel):
    """Whose token it is."""

    name: str
    role: str


class SubmissionPage(BaseModel):
    """A part of a list, the latest first."""

    items: list[Submission]
    next: str | None
    """What `before` is to be for the next part; null at the end."""


router = APIRouter(
    prefix=PREFIX, route_class=GuardedRoute, dependencies=[Security(BEARER)], tags=["researchers"]
)


@router.get("/me", responses=replies())
def read_me(who: Who) -> Me:
    """Say whose token it is."""
    return Me(name=who.name, role=who.role)


@router.get("/tokens", responses=replies())
def list_own_tokens(who: Who, request: Request) -> list[TokenInfo]:
    """List your tokens, without their secrets."""
    return guard_of(request).accounts.tokens(who)


@router.delete("/tokens/{token}", status_code=204, responses=replies(404))
def revoke_own_token(token: TokenNumber, who: Who, request: Request) -> None:
    """End a token of yours at once."""
    guard_of(request).accounts.revoke(who, token, actor=who.name)


@router.get("/datasets", responses=replies())
def list_datasets(steps: Steps) -> list[DatasetInfo]:
    """List the datasets."""
    return steps.list_datasets()


@router.get("/datasets/{dataset}/schema", responses=replies(404))
def read_schema(dataset: DatasetName, steps: Steps) -> PublicSchema:
    """Return what queries may know of a dataset: variables, levels, ranges."""
    return steps.dataset(dataset).schema


@router.get("/projects", responses=replies())
def list_projects(who: Who, steps: Steps) -> list[Project]:
    """List your projects, with the questions that are left."""
    return steps.projects.own(who)


@router.post("/datasets/{dataset}/dry-runs", status_code=202, responses=replies(404, *WITH_BODY))
def begin_dry_run(dataset: DatasetName, body: QueryBody, who: Who, steps: Steps) -> DryRun:
    """Ask what the synthetic data say, what an answer would cost, and whether it decides: free."""
    return steps.dry_run(who, dataset, body.query)


@router.get("/datasets/{dataset}/dry-runs/{digest}", responses=replies(404))
def read_dry_run(dataset: DatasetName, digest: Digest, who: Who, steps: Steps) -> DryRun:
    """Return a dry run, by the digest that its start returned."""
    return steps.find_dry_run(who, dataset, digest)


@router.post(
    "/datasets/{dataset}/queries", status_code=202, responses=replies(403, 404, *WITH_BODY)
)
@only("researcher")
def submit(
    dataset: DatasetName, body: SubmissionBody, who: Who, steps: Steps, response: Response
) -> Submission:
    """Submit a query to the confidential data; it is charged once its dry run is done.

    The same query of yours, however spelt, is the same submission.
    """
    made = steps.submit(who, dataset, body.query, project=body.project)
    response.headers["Location"] = f"{PREFIX}/queries/{made.id}"
    return made


@router.get("/queries", responses=replies(404))
def list_submissions(
    who: Who, steps: Steps, dataset: OfDataset = None, before: Before = None, limit: Limit = 50
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


# What stewards do

steward_router = APIRouter(
    prefix=f"{PREFIX}/steward",
    route_class=StewardRoute,
    dependencies=[Security(BEARER)],
    tags=["stewards"],
)


def administration_of(request: Request) -> Administration:
    """Return what manages accounts in the app that serves a request."""
    administration = request.app.state.administration
    assert isinstance(administration, Administration)  # noqa: S101 - `create_app` puts it there
    return administration


Managing = Annotated[Administration, Depends(administration_of)]
AccountName = Annotated[str, Path(description="Name of an account.", pattern=NAME)]
ProjectName = Annotated[str, Path(description="Name of a project.", pattern=PROJECT_NAME)]
Member = Annotated[str, Field(pattern=NAME)]


class ProjectChange(BaseModel):
    """What is to be another in a project; what is absent stays."""

    model_config = STRICT_BODY

    questions: int | None = Field(default=None, ge=1, le=MOST_QUESTIONS, examples=[12])
    """Not below what is used."""
    budget: float | None = Field(default=None, gt=0, le=1e6)
    """Epsilon, which is turned into questions; in place of `questions`."""
    members: list[Member] | None = Field(default=None, max_length=200, examples=[["ada"]])
    """All its researchers: who is absent is no member any more."""


class ProjectBody(ProjectChange):
    """A new project."""

    name: str = Field(pattern=PROJECT_NAME, examples=["pay gap"])
    dataset: str = Field(max_length=63)


class CapBody(BaseModel):
    """What all answers about a dataset may cost together."""

    model_config = STRICT_BODY

    cap: float = Field(gt=0, le=1e6)
    """Epsilon; not below what is spent."""


class PauseBody(BaseModel):
    """Whether new charges stop."""

    model_config = STRICT_BODY

    is_paused: bool


class AccountBody(BaseModel):
    """A new account."""

    model_config = STRICT_BODY

    name: str = Field(pattern=NAME, examples=["ada"])
    """What the single sign-on of the agency sends, exactly; without one, any name."""
    role: Role = "researcher"


class AccountChange(BaseModel):
    """Whether an account is open."""

    model_config = STRICT_BODY

    is_active: bool


class AuditPage(BaseModel):
    """A part of the audit log, the latest first."""

    items: list[AuditEntry]
    next: int | None
    """What `before` is to be for the next part; null at the end."""


@steward_router.get("/queries", responses=replies(403, 404))
def list_all_submissions(
    who: Who, steps: Steps, dataset: OfDataset = None, before: Before = None, limit: Limit = 50
) -> SubmissionPage:
    """List the submissions of all users, the latest first."""
    found = steps.submissions(who, dataset=dataset, everybody=True, before=before, limit=limit)
    return page_of(found, limit)


@steward_router.get("/projects", responses=replies(403))
def list_all_projects(steps: Steps) -> list[Project]:
    """List all projects."""
    return steps.projects.every()


@steward_router.post("/projects", status_code=201, responses=replies(403, 404, 409, *WITH_BODY))
@only("steward")
def make_project(body: ProjectBody, who: Who, steps: Steps) -> Project:
    """Make a project of one dataset, with a number of questions and its researchers."""
    return steps.projects.make(
        who, body.name, body.dataset, body.members or [], questions=body.questions,
        budget=body.budget,
    )  # fmt: skip


@steward_router.patch("/projects/{project}", responses=replies(403, 404, 409, *WITH_BODY))
@only("steward")
def change_project(project: ProjectName, body: ProjectChange, who: Who, steps: Steps) -> Project:
    """Change how many questions a project has, and who its researchers are."""
    return steps.projects.change(
        who, project, questions=body.questions, budget=body.budget, members=body.members
    )


@steward_router.get("/alarms", responses=replies(403))
def list_alarms(steps: Steps) -> list[Alarm]:
    """List the datasets that are paused, with who paused them and why."""
    return steps.alarms()


@steward_router.get("/datasets/{dataset}/budget", responses=replies(403, 404))
def read_budget(dataset: DatasetName, steps: Steps) -> BudgetInfo:
    """Return what all answers about a dataset may cost together, and what they did."""
    return steps.budget(dataset)


@steward_router.put("/datasets/{dataset}/budget", responses=replies(403, 404, 409, *WITH_BODY))
@only("steward")
def set_cap(dataset: DatasetName, body: CapBody, who: Who, steps: Steps) -> BudgetInfo:
    """Change what all answers about a dataset may cost together."""
    steps.set_cap(who, dataset, body.cap)
    return steps.budget(dataset)


@steward_router.put("/datasets/{dataset}/paused", responses=replies(403, 404, *WITH_BODY))
@only("steward")
def set_paused(dataset: DatasetName, body: PauseBody, who: Who, steps: Steps) -> DatasetInfo:
    """Stop new charges on a dataset, or go on; what was charged is answered all the same."""
    steps.set_paused(who, dataset, is_paused=body.is_paused)
    return next(one for one in steps.list_datasets() if one.name == dataset)


@steward_router.get("/accounts", responses=replies(403))
def list_accounts(who: Who, managing: Managing) -> list[Account]:
    """List the accounts that you manage: stewards researchers, admins everybody."""
    return managing.accounts(who)


@steward_router.post("/accounts", status_code=201, responses=replies(403, 409, *WITH_BODY))
def add_account(body: AccountBody, who: Who, managing: Managing) -> Account:
    """Make an account."""
    return managing.add(who, body.name, body.role)


@steward_router.patch("/accounts/{name}", responses=replies(403, 404, 409, *WITH_BODY))
def change_account(name: AccountName, body: AccountChange, who: Who, managing: Managing) -> Account:
    """Close an account or open it again."""
    return managing.set_active(who, name, is_active=body.is_active)


@steward_router.get("/accounts/{name}/tokens", responses=replies(403, 404))
def list_tokens(name: AccountName, who: Who, managing: Managing) -> list[TokenInfo]:
    """List the tokens of an account, without their secrets."""
    return managing.tokens(who, name)


@steward_router.post(
    "/accounts/{name}/tokens", status_code=201, responses=replies(403, 404, *WITH_BODY)
)
def make_token(name: AccountName, body: TokenBody, who: Who, managing: Managing) -> NewToken:
    """Make a token; it is shown now and never again."""
    return NewToken(token=managing.new_token(who, name, body.label, days=body.days))


@steward_router.delete(
    "/accounts/{name}/tokens/{token}", status_code=204, responses=replies(403, 404)
)
def revoke_token(name: AccountName, token: TokenNumber, who: Who, managing: Managing) -> None:
    """End a token at once."""
    managing.revoke(who, name, token)


@steward_router.get("/audit", responses=replies(403))
def read_audit(
    managing: Managing,
    dataset: OfDataset = None,
    before: Annotated[
        int | None, Query(description="`next` of the part before.", ge=1, le=MOST_NUMBER)
    ] = None,
    limit: Limit = 50,
) -> AuditPage:
    """Read the audit log, the latest entry first."""
    found = managing.audit_log(dataset=dataset, before=before, limit=limit)
    return AuditPage(items=found, next=found[-1].number if len(found) == limit else None)


@steward_router.get("/audit/verification", responses=replies(403))
def verify_audit(managing: Managing) -> Verified:
    """Look at the chain of hashes of the whole log; note its head where nobody here can write."""
    return managing.verify_audit()
