"""The HTTP API, under ``/api/v1``; each operation calls one step of the service.

Send the token as ``Authorization: Bearer ...``. Submit a query and poll it: its state goes from
``checking`` through ``waiting`` to ``answered``, or ends as ``refused``, which is free.

Epsilon, partitions and errors of a query are for experts: without all three the dry run chooses
them, and ``outlook`` contains whether an answer would decide the question.

Stewards and admins work on the pages (`steward_pages`) and by ``synthesizer verification``.
"""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Path, Query, Request, Response, Security
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from synthesizer.extensions.verification.messages import (
    WORDS,
    DatasetInfo,
    DryRun,
    Project,
    Submission,
    SubmissionPage,
)
from synthesizer.extensions.verification.public_schema import PublicSchema
from synthesizer.extensions.verification.server.accounts import Account, TokenInfo
from synthesizer.extensions.verification.server.problem_json import ProblemReply
from synthesizer.extensions.verification.server.security import (
    GuardedRoute,
    account_of,
    guard_of,
    only,
)
from synthesizer.extensions.verification.server.service import MAX_LISTED, Service

PREFIX = "/api/v1"
STRICT_BODY = ConfigDict(frozen=True, strict=True, extra="forbid")


def replies(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the errors of an operation for OpenAPI."""
    content = {"application/problem+json": {"schema": {"$ref": _PROBLEM}}}
    return {
        status: {"description": WORDS["statuses"][status], "content": content}
        for status in sorted({*statuses, *_ALWAYS})
    }


_PROBLEM = f"#/components/schemas/{ProblemReply.__name__}"
_ALWAYS = (400, 401, 413, 422, 429, 503)
BEARER = HTTPBearer(auto_error=False, description="A token that a steward made.")


def service_of(request: Request) -> Service:
    """Return the service of the app that serves a request."""
    return cast(Service, request.app.state.service)  # `create_app` sets it


Who = Annotated[Account, Depends(account_of)]
Steps = Annotated[Service, Depends(service_of)]
DatasetName = Annotated[str, Path(description="Name in `/datasets`.", max_length=63)]
Digest = Annotated[
    str, Path(description="SHA-256 of the canonical query.", pattern=r"^[0-9a-f]{64}$")
]
MAX_ROW_ID = 2**31 - 1
"""Largest row number of a database."""
TokenNumber = Annotated[int, Path(description="`id` of a token.", ge=1, le=MAX_ROW_ID)]
HEXADECIMAL = r"^[0-9a-f]{32}$"
Number = Annotated[str, Path(description="`id` of a submission.", pattern=HEXADECIMAL)]
OfDataset = Annotated[str | None, Query(description="Of this dataset only.", max_length=63)]
Before = Annotated[str | None, Query(description="`next` of the page before.", pattern=HEXADECIMAL)]
Limit = Annotated[int, Query(description="Largest number of items.", ge=1, le=MAX_LISTED)]


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
    """Form of the files of `verification answer`; experts add epsilon, partitions or errors."""


class SubmissionBody(QueryBody):
    """A query for an answer from the confidential data."""

    project: str = Field(max_length=100, examples=["pay gap"])
    """Project that pays, by its name in `/projects`."""


class Me(BaseModel):
    """The account of a token."""

    name: str
    role: str


router = APIRouter(
    prefix=PREFIX, route_class=GuardedRoute, dependencies=[Security(BEARER)], tags=["researchers"]
)


@router.get("/me", responses=replies())
def read_me(who: Who) -> Me:
    """Return the account of your token."""
    return Me(name=who.name, role=who.role)


@router.get("/tokens", responses=replies())
def list_own_tokens(who: Who, request: Request) -> list[TokenInfo]:
    """List your tokens; their secrets are not stored."""
    return guard_of(request).accounts.tokens(who)


@router.delete("/tokens/{token}", status_code=204, responses=replies(404))
def revoke_own_token(token: TokenNumber, who: Who, request: Request) -> None:
    """Revoke one of your tokens at once."""
    guard_of(request).accounts.revoke(who, token, actor=who.name)


@router.get("/datasets", responses=replies())
def list_datasets(steps: Steps) -> list[DatasetInfo]:
    """List the datasets."""
    return steps.list_datasets()


@router.get("/datasets/{dataset}/schema", responses=replies(404))
def read_schema(dataset: DatasetName, steps: Steps) -> PublicSchema:
    """Return the public schema of a dataset: variables, levels, ranges."""
    return steps.dataset(dataset).schema


@router.get("/projects", responses=replies())
def list_projects(who: Who, steps: Steps) -> list[Project]:
    """List your projects, with their remaining questions."""
    return steps.projects.of_member(who)


@router.post("/datasets/{dataset}/dry-runs", status_code=202, responses=replies(404, 415))
def begin_dry_run(dataset: DatasetName, body: QueryBody, who: Who, steps: Steps) -> DryRun:
    """Try a query on the synthetic data: result, cost of an answer, and outlook. Free."""
    return steps.dry_run(who, dataset, body.query)


@router.get("/datasets/{dataset}/dry-runs/{digest}", responses=replies(404))
def read_dry_run(dataset: DatasetName, digest: Digest, who: Who, steps: Steps) -> DryRun:
    """Return a dry run by its digest, which the POST request returned."""
    return steps.find_dry_run(who, dataset, digest)


@router.post("/datasets/{dataset}/queries", status_code=202, responses=replies(403, 404, 415))
@only("researcher")
def submit(
    dataset: DatasetName, body: SubmissionBody, who: Who, steps: Steps, response: Response
) -> Submission:
    """Submit a query to the confidential data; it is charged after its dry run.

    All spellings of one of your queries are the same submission.
    """
    made = steps.submit(who, dataset, body.query, project=body.project)
    response.headers["Location"] = f"{PREFIX}/queries/{made.id}"
    return made


@router.get("/queries", responses=replies(404))
def list_submissions(
    who: Who, steps: Steps, dataset: OfDataset = None, before: Before = None, limit: Limit = 50
) -> SubmissionPage:
    """List your submissions without their answers, the latest first."""
    submissions = steps.submissions(who, dataset=dataset, before=before, limit=limit)
    return SubmissionPage(
        items=submissions, next=submissions[-1].id if len(submissions) == limit else None
    )


@router.get("/queries/{submission}", responses=replies(404))
def read_submission(submission: Number, who: Who, steps: Steps) -> Submission:
    """Return one of your submissions, with its answer once that is due."""
    return steps.find(who, submission)
