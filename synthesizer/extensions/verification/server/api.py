"""What users do over HTTP, under ``/api/v1``; each operation is one step of the service.

A token comes as ``Authorization: Bearer ...``. A query is submitted and then polled: its state goes
from ``checking`` through ``waiting`` to ``answered``, or ends as ``refused``, which costs nothing.

Epsilon, partitions and errors of a query are for experts: without all three the dry run chooses
them, and says in ``outlook`` whether an answer would decide the question.

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
from synthesizer.extensions.verification.server.service import MOST_LISTED, Service

PREFIX = "/api/v1"
STRICT_BODY = ConfigDict(frozen=True, strict=True, extra="forbid")


def replies(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return how OpenAPI describes the errors of an operation."""
    content = {"application/problem+json": {"schema": {"$ref": _PROBLEM}}}
    return {
        status: {"description": WORDS["statuses"][status], "content": content}
        for status in sorted({*statuses, *_ALWAYS})
    }


_PROBLEM = f"#/components/schemas/{ProblemReply.__name__}"
_ALWAYS = (400, 401, 413, 422, 429, 503)
BEARER = HTTPBearer(auto_error=False, description="A token, as a steward made it.")


def service_of(request: Request) -> Service:
    """Return the service of the app that serves a request."""
    return cast(Service, request.app.state.service)  # `create_app` puts it there


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
    """As in the files of `verification answer`; experts write epsilon, partitions or errors."""


class SubmissionBody(QueryBody):
    """A query that is to be answered from the confidential data."""

    project: str = Field(max_length=100, examples=["pay gap"])
    """What the question is for, as `/projects` lists it."""


class Me(BaseModel):
    """Whose token it is."""

    name: str
    role: str


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


@router.post("/datasets/{dataset}/dry-runs", status_code=202, responses=replies(404, 415))
def begin_dry_run(dataset: DatasetName, body: QueryBody, who: Who, steps: Steps) -> DryRun:
    """Ask what the synthetic data say, what an answer would cost, and whether it decides: free."""
    return steps.dry_run(who, dataset, body.query)


@router.get("/datasets/{dataset}/dry-runs/{digest}", responses=replies(404))
def read_dry_run(dataset: DatasetName, digest: Digest, who: Who, steps: Steps) -> DryRun:
    """Return a dry run, by the digest that its start returned."""
    return steps.find_dry_run(who, dataset, digest)


@router.post("/datasets/{dataset}/queries", status_code=202, responses=replies(403, 404, 415))
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
    return SubmissionPage(items=found, next=found[-1].id if len(found) == limit else None)


@router.get("/queries/{submission}", responses=replies(404))
def read_submission(submission: Number, who: Who, steps: Steps) -> Submission:
    """Return a submission of yours, with its answer once that is due."""
    return steps.find(who, submission)
