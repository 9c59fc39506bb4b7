"""Pages of those who keep the server: budgets, pauses, all queries, accounts, tokens, audit log.

Stewards set what may be spent and manage researchers; admins manage everybody. A token is shown on
the page that made it, and never again.
"""

from __future__ import annotations

from typing import Annotated, Any, get_args
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request, Response

from synthesizer.data.errors import RequestError, SynthesizerError
from synthesizer.verification.server.accounts import Role
from synthesizer.verification.server.api import MOST_NUMBER, Managing, Steps, TokenNumber
from synthesizer.verification.server.pages import (
    LISTED,
    NO_TOKEN,
    OwnForm,
    Who,
    first,
    info_of,
    submissions_page,
    token_fields,
)
from synthesizer.verification.server.query_form import number_or_text
from synthesizer.verification.server.security import Signed, only
from synthesizer.verification.server.service import Service
from synthesizer.verification.server.templating import StewardPage, html_page, moved

router = APIRouter(prefix="/steward", route_class=StewardPage, include_in_schema=False)


@router.get("")
def begin() -> Response:
    """Go to the queries."""
    return moved("/steward/queries")


@router.get("/queries")
def list_queries(
    request: Request, who: Who, steps: Steps, dataset: str = "", before: str = ""
) -> Response:
    """Show the queries of all users."""
    return submissions_page(request, who, steps, dataset=dataset, before=before, everybody=True)


# Budgets


@router.get("/budgets")
def list_budgets(request: Request, steps: Steps) -> Response:
    """Show every budget of every dataset."""
    return _budgets_page(request, steps)


def _budgets_page(
    request: Request, steps: Service, *, problems: tuple[str, ...] = (), status: int = 200
) -> Response:
    datasets = [(one, steps.all_budgets(one.name)) for one in steps.list_datasets()]
    return html_page(
        request, "steward_budgets.html", status=status, datasets=datasets, problems=problems
    )


@router.post("/budgets/{name}/cap")
@only("steward")
def set_cap(request: Request, who: Who, steps: Steps, name: str, form: OwnForm) -> Response:
    """Change what may be spent."""
    try:
        cap = number_or_text(first(form, "cap").strip())
        if isinstance(cap, str) or not 0 < cap <= 1e6:
            raise RequestError("a cap is a number above 0, at most 1,000,000; nothing changed", 422)
        scope, budget = first(form, "scope"), first(form, "name")
        if scope not in ("global", "user", "analysis"):
            raise RequestError("there is no such budget; the page lists those that are", 404)
        steps.set_cap(who.account, name, scope, budget, float(cap))
    except SynthesizerError as error:
        status = getattr(error, "status", 409)
        return _budgets_page(request, steps, problems=error.problems, status=status)
    return moved("/steward/budgets")


@router.post("/budgets/{name}/pause")
@only("steward")
def set_paused(who: Who, steps: Steps, name: str, form: OwnForm) -> Response:
    """Stop new charges on a dataset, or go on."""
    info_of(steps, name)
    steps.set_paused(who.account, name, is_paused=first(form, "pause") == "yes")
    return moved("/steward/budgets")


# Accounts


@router.get("/accounts")
def list_accounts(request: Request, who: Who, manage: Managing) -> Response:
    """Show the accounts that one manages."""
    return _accounts_page(request, who, manage)


def _accounts_page(
    request: Request, who: Signed, manage: Managing, *, problems: tuple[str, ...] = (),
    status: int = 200, name: str = "", role: str = "researcher",
) -> Response:  # fmt: skip
    roles = get_args(Role) if who.account.role == "admin" else ("researcher",)
    return html_page(
        request, "steward_accounts.html", status=status, accounts=manage.accounts(who.account),
        problems=problems, name=name, role=role, roles=roles,
    )  # fmt: skip


@router.post("/accounts")
def add_account(request: Request, who: Who, manage: Managing, form: OwnForm) -> Response:
    """Make an account."""
    name, role = first(form, "name").strip(), first(form, "role")
    try:
        found: Role | None = next((r for r in get_args(Role) if r == role), None)
        if found is None:
            raise RequestError("role: choose one of the list", 422)
        manage.add(who.account, name, found)
    except SynthesizerError as error:
        return _accounts_page(
            request, who, manage, problems=error.problems, name=name, role=role,
            status=getattr(error, "status", 409),
        )  # fmt: skip
    return moved(_account_path(name))


def _account_path(name: str) -> str:
    return f"/steward/accounts/{quote(name, safe='')}"


@router.get("/accounts/{name}")
def show_account(request: Request, who: Who, manage: Managing, name: str) -> Response:
    """Show an account with its tokens."""
    return _account_page(request, who, manage, name)


def _account_page(
    request: Request, who: Signed, manage: Managing, name: str, *, status: int = 200, **values: Any
) -> Response:
    return html_page(
        request, "steward_account.html", status=status, account=manage.managed(who.account, name),
        tokens=manage.tokens(who.account, name), **{**NO_TOKEN, **values},
    )  # fmt: skip


@router.post("/accounts/{name}")
def change_account(
    request: Request, who: Who, manage: Managing, name: str, form: OwnForm
) -> Response:
    """Close an account or open it again."""
    try:
        manage.set_active(who.account, name, is_active=first(form, "step") == "open")
    except SynthesizerError as error:
        status = getattr(error, "status", 409)
        return _account_page(request, who, manage, name, problems=error.problems, status=status)
    return moved(_account_path(name))


@router.post("/accounts/{name}/tokens")
def make_token(request: Request, who: Who, manage: Managing, name: str, form: OwnForm) -> Response:
    """Make a token and show it, this once."""
    label, days = token_fields(form)
    try:
        token = manage.new_token(who.account, name, label, days=days)
    except SynthesizerError as error:
        return _account_page(
            request, who, manage, name, problems=error.problems, label=label,
            status=getattr(error, "status", 409),
        )  # fmt: skip
    return _account_page(request, who, manage, name, token=token)


@router.post("/accounts/{name}/tokens/{token}/revoke")
def revoke_token(
    who: Who, manage: Managing, name: str, token: TokenNumber, _form: OwnForm
) -> Response:
    """End a token."""
    manage.revoke(who.account, name, token)
    return moved(_account_path(name))


# Audit


@router.get("/audit")
def show_audit(
    request: Request, manage: Managing, steps: Steps, dataset: str = "",
    before: Annotated[int | None, Query(ge=1, le=MOST_NUMBER)] = None, check: bool = False,
) -> Response:  # fmt: skip
    """Show the audit log, and whether its chain is whole where that is asked."""
    if dataset:
        steps.dataset(dataset)
    found = manage.audit_log(dataset=dataset or None, before=before, limit=LISTED)
    older = {"dataset": dataset, "before": found[-1].number} if len(found) == LISTED else {}
    return html_page(
        request, "steward_audit.html", entries=found, datasets=steps.list_datasets(),
        dataset=dataset, older=urlencode(older),
        verified=manage.verify_audit() if check else None,
    )  # fmt: skip
