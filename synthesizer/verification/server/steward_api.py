"""What stewards do over HTTP: all queries and budgets, caps, pauses, accounts, tokens, audit log.

Stewards manage researchers; admins manage everybody. Stewards set what may be spent.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Security
from pydantic import BaseModel, Field

from synthesizer.verification.ledger import LONGEST_NAME
from synthesizer.verification.server.accounts import (
    LONGEST_PASSWORD,
    SHORTEST_PASSWORD,
    Account,
    Role,
    TokenInfo,
)
from synthesizer.verification.server.administration import Administration
from synthesizer.verification.server.api import (
    BEARER,
    MOST_NUMBER,
    PREFIX,
    STRICT_BODY,
    WITH_BODY,
    Before,
    DatasetName,
    Limit,
    NewToken,
    OfDataset,
    Steps,
    SubmissionPage,
    TokenBody,
    TokenNumber,
    Who,
    page_of,
    replies,
)
from synthesizer.verification.server.audit import AuditEntry, Verified
from synthesizer.verification.server.security import GuardedRoute
from synthesizer.verification.server.service import BudgetInfo, DatasetInfo

NAME = r"^[a-z0-9][a-z0-9._@-]{0,63}$"

router = APIRouter(
    prefix=f"{PREFIX}/steward",
    route_class=GuardedRoute,
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


class CapBody(BaseModel):
    """What may be spent."""

    model_config = STRICT_BODY

    scope: Literal["global", "user", "analysis"]
    name: str = Field(default="", max_length=LONGEST_NAME, examples=["ada"])
    """Of the user, or `user/analysis`; empty for the global budget."""
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
    role: Role = "researcher"
    password: str | None = Field(
        default=None, min_length=SHORTEST_PASSWORD, max_length=LONGEST_PASSWORD
    )
    """For the pages; without one the account has tokens only."""


class AccountChange(BaseModel):
    """What is to be another in an account; what is absent stays."""

    model_config = STRICT_BODY

    is_active: bool | None = None
    password: str | None = Field(
        default=None, min_length=SHORTEST_PASSWORD, max_length=LONGEST_PASSWORD
    )


class AuditPage(BaseModel):
    """A part of the audit log, the latest first."""

    items: list[AuditEntry]
    next: int | None
    """What `before` is to be for the next part; null at the end."""


@router.get("/queries", responses=replies(403, 404))
def list_all_submissions(
    who: Who, steps: Steps, dataset: OfDataset = None, before: Before = None, limit: Limit = 50
) -> SubmissionPage:
    """List the submissions of all users, the latest first."""
    found = steps.submissions(who, dataset=dataset, everybody=True, before=before, limit=limit)
    return page_of(found, limit)


@router.get("/datasets/{dataset}/budgets", responses=replies(403, 404))
def list_all_budgets(dataset: DatasetName, who: Who, steps: Steps) -> list[BudgetInfo]:
    """List every budget of a dataset."""
    return steps.all_budgets(who, dataset)


@router.put("/datasets/{dataset}/budgets", responses=replies(403, 404, 409, *WITH_BODY))
def set_cap(dataset: DatasetName, body: CapBody, who: Who, steps: Steps) -> list[BudgetInfo]:
    """Change what may be spent, and list every budget of the dataset."""
    steps.set_cap(who, dataset, body.scope, body.name, body.cap)
    return steps.all_budgets(who, dataset)


@router.put("/datasets/{dataset}/paused", responses=replies(403, 404, *WITH_BODY))
def set_paused(dataset: DatasetName, body: PauseBody, who: Who, steps: Steps) -> DatasetInfo:
    """Stop new charges on a dataset, or go on; what was charged is answered all the same."""
    steps.set_paused(who, dataset, is_paused=body.is_paused)
    return next(one for one in steps.list_datasets() if one.name == dataset)


@router.get("/accounts", responses=replies(403))
def list_accounts(who: Who, managing: Managing) -> list[Account]:
    """List the accounts that you manage: stewards researchers, admins everybody."""
    return managing.accounts(who)


@router.post("/accounts", status_code=201, responses=replies(403, 409, *WITH_BODY))
def add_account(body: AccountBody, who: Who, managing: Managing) -> Account:
    """Make an account."""
    return managing.add(who, body.name, body.role, password=body.password)


@router.patch("/accounts/{name}", responses=replies(403, 404, 409, *WITH_BODY))
def change_account(name: AccountName, body: AccountChange, who: Who, managing: Managing) -> Account:
    """Close an account or open it again, or give it another password."""
    return managing.change(who, name, is_active=body.is_active, password=body.password)


@router.get("/accounts/{name}/tokens", responses=replies(403, 404))
def list_tokens(name: AccountName, who: Who, managing: Managing) -> list[TokenInfo]:
    """List the tokens of an account, without their secrets."""
    return managing.tokens(who, name)


@router.post("/accounts/{name}/tokens", status_code=201, responses=replies(403, 404, *WITH_BODY))
def make_token(name: AccountName, body: TokenBody, who: Who, managing: Managing) -> NewToken:
    """Make a token; it is shown now and never again."""
    return NewToken(token=managing.new_token(who, name, body.label, days=body.days))


@router.delete("/accounts/{name}/tokens/{token}", status_code=204, responses=replies(403, 404))
def revoke_token(name: AccountName, token: TokenNumber, who: Who, managing: Managing) -> None:
    """End a token at once."""
    managing.revoke(who, name, token)


@router.get("/audit", responses=replies(403, 404))
def read_audit(
    who: Who,
    managing: Managing,
    dataset: OfDataset = None,
    before: Annotated[
        int | None, Query(description="`next` of the part before.", ge=1, le=MOST_NUMBER)
    ] = None,
    limit: Limit = 50,
) -> AuditPage:
    """Read the audit log, the latest entry first."""
    found = managing.audit_log(who, dataset=dataset, before=before, limit=limit)
    return AuditPage(items=found, next=found[-1].number if len(found) == limit else None)


@router.get("/audit/verification", responses=replies(403))
def verify_audit(who: Who, managing: Managing) -> Verified:
    """Look at the chain of hashes of the whole log; note its head where nobody here can write."""
    return managing.verify_audit(who)
