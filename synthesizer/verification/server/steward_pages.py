"""Pages of those who keep the server: queue, projects, alarms, accounts, tokens, audit log.

Stewards set what may be spent and manage researchers; admins manage everybody. A token is shown on
the page that made it, and never again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Query, Request, Response

from synthesizer.data.errors import RequestError, SynthesizerError
from synthesizer.verification.database import transaction
from synthesizer.verification.server import audit
from synthesizer.verification.server.accounts import Account, Accounts, managed_roles
from synthesizer.verification.server.api import MOST_NUMBER, Steps, TokenNumber
from synthesizer.verification.server.pages import (
    LISTED,
    OwnForm,
    Who,
    first,
    submissions_page,
    tokens_page,
    with_new_token,
)
from synthesizer.verification.server.query_form import number_or_text
from synthesizer.verification.server.security import Signed, guard_of, only
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


# Projects, and what all of them may spend


@router.get("/projects")
def list_projects(request: Request, steps: Steps) -> Response:
    """Show the projects of every dataset, and what its answers may cost together."""
    return _projects_page(request, steps)


def _projects_page(
    request: Request, steps: Service, *, error: SynthesizerError | None = None,
    typed: Mapping[str, list[str]] | None = None,
) -> Response:  # fmt: skip
    projects = steps.projects.every()
    datasets = [
        (info, one.ledger.spending().budgets[0], one.question_epsilon,
         [project for project in projects if project.dataset == one.name])
        for info, one in zip(steps.list_datasets(), steps.datasets.values(), strict=True)
    ]  # fmt: skip
    return html_page(
        request, "steward_projects.html", error=error, datasets=datasets,
        typed={key: first(typed or {}, key) for key in ("dataset", "name", *_PROJECT_KEYS)},
    )  # fmt: skip


_PROJECT_KEYS = ("questions", "budget", "members")


def _project_fields(form: OwnForm) -> dict[str, Any]:
    """Return what a form says of a project; numbers that are none are 0, which is refused."""
    made: dict[str, Any] = {}
    for key in ("questions", "budget"):
        if text := first(form, key).strip():
            made[key] = number_or_text(text)
            if isinstance(made[key], str) or (key == "questions" and made[key] % 1):
                made[key] = 0
    return {**made, "members": re.findall(r"[^\s,;]+", first(form, "members"))}


@router.post("/projects")
@only("steward")
def make_project(request: Request, who: Who, steps: Steps, form: OwnForm) -> Response:
    """Make a project."""
    name, dataset = first(form, "name").strip(), first(form, "dataset")
    try:
        steps.projects.make(who.account, name, dataset, **_project_fields(form))
    except SynthesizerError as error:
        return _projects_page(request, steps, error=error, typed=form)
    return moved("/steward/projects")


@router.post("/projects/{project}")
@only("steward")
def change_project(
    request: Request, who: Who, steps: Steps, project: str, form: OwnForm
) -> Response:
    """Change how many questions a project has, and who its researchers are."""
    try:
        steps.projects.change(who.account, project, **_project_fields(form))
    except SynthesizerError as error:
        return _projects_page(request, steps, error=error)
    return moved("/steward/projects")


@router.post("/datasets/{name}/cap")
@only("steward")
def set_cap(request: Request, who: Who, steps: Steps, name: str, form: OwnForm) -> Response:
    """Change what all answers about a dataset may cost together."""
    cap = number_or_text(first(form, "cap").strip())
    try:
        if isinstance(cap, str) or not 0 < cap <= 1e6:
            raise RequestError("a cap is a number above 0, at most 1,000,000; nothing changed", 422)
        steps.set_cap(who.account, name, float(cap))
    except SynthesizerError as error:
        return _projects_page(request, steps, error=error)
    return moved("/steward/projects")


@router.post("/datasets/{name}/pause")
@only("steward")
def set_paused(who: Who, steps: Steps, name: str, form: OwnForm) -> Response:
    """Stop new charges on a dataset, or go on."""
    is_paused = first(form, "pause") == "yes"
    steps.set_paused(who.account, name, is_paused=is_paused)
    return moved("/steward/projects" if is_paused else "/steward/alarms")


@router.get("/alarms")
def list_alarms(request: Request, steps: Steps) -> Response:
    """Show which datasets are paused, by whom and why."""
    titles = {one.name: one.title for one in steps.list_datasets()}
    return html_page(request, "steward_alarms.html", alarms=steps.alarms(), titles=titles)


# Accounts


def accounts_of(request: Request) -> Accounts:
    """Return the accounts of the app that serves a request."""
    return guard_of(request).accounts


Everybody = Annotated[Accounts, Depends(accounts_of)]


def managed(who: Who, accounts: Everybody, name: str) -> Account:
    """Return the account of an address; RequestError (404) where it is none that one manages."""
    return accounts.managed(who.account, name)


Managed = Annotated[Account, Depends(managed)]


@router.get("/accounts")
def list_accounts(request: Request, who: Who) -> Response:
    """Show the accounts that one manages."""
    return _accounts_page(request, who)


def _accounts_page(
    request: Request, who: Signed, *, error: SynthesizerError | None = None, name: str = "",
    role: str = "researcher",
) -> Response:  # fmt: skip
    return html_page(
        request, "steward_accounts.html", error=error, name=name, role=role,
        accounts=accounts_of(request).managed_by(who.account), roles=managed_roles(who.account),
    )  # fmt: skip


@router.post("/accounts")
def add_account(request: Request, who: Who, accounts: Everybody, form: OwnForm) -> Response:
    """Make an account."""
    name, role = first(form, "name").strip(), first(form, "role")
    try:
        if role not in managed_roles(who.account):
            raise RequestError("role: choose one of the list; admins make stewards and admins", 403)
        accounts.add(name, role, actor=who.account.name)
    except SynthesizerError as error:
        return _accounts_page(request, who, error=error, name=name, role=role)
    return moved(_account_path(name))


def _account_path(name: str) -> str:
    return f"/steward/accounts/{quote(name, safe='')}"


@router.get("/accounts/{name}")
def show_account(request: Request, account: Managed) -> Response:
    """Show an account with its tokens."""
    return tokens_page(request, _ACCOUNT, account)


_ACCOUNT = "steward_account.html"


@router.post("/accounts/{name}")
def change_account(
    request: Request, who: Who, accounts: Everybody, form: OwnForm, account: Managed
) -> Response:
    """Close an account or open it again."""
    is_active = first(form, "step") == "open"
    try:
        accounts.set_active(account.name, is_active=is_active, actor=who.account.name)
    except SynthesizerError as error:
        return tokens_page(request, _ACCOUNT, account, error=error)
    return moved(_account_path(account.name))


@router.post("/accounts/{name}/tokens")
def make_token(request: Request, who: Who, form: OwnForm, account: Managed) -> Response:
    """Make a token."""
    return with_new_token(request, _ACCOUNT, who, account, form)


@router.post("/accounts/{name}/tokens/{token}/revoke")
def revoke_token(
    who: Who, accounts: Everybody, token: TokenNumber, _form: OwnForm, account: Managed
) -> Response:
    """End a token."""
    accounts.revoke(account, token, actor=who.account.name)
    return moved(_account_path(account.name))


# Audit


@router.get("/audit")
def show_audit(
    request: Request, steps: Steps, dataset: str = "",
    before: Annotated[int | None, Query(ge=1, le=MOST_NUMBER)] = None, check: bool = False,
) -> Response:  # fmt: skip
    """Show the audit log, and whether its chain is whole where that is asked."""
    if dataset:
        steps.dataset(dataset)
    with transaction(steps.engine, reads=True) as store:
        found = audit.entries(store, dataset=dataset, before=before, limit=LISTED)
        verified = audit.verify(store) if check else None
    older = {"dataset": dataset, "before": found[-1].number} if len(found) == LISTED else {}
    return html_page(
        request, "steward_audit.html", entries=found, datasets=steps.list_datasets(),
        dataset=dataset, older=urlencode(older), verified=verified,
    )  # fmt: skip
