"""Pages of stewards and admins: queue, projects, alarms, accounts, tokens, audit log.

Stewards set budgets and manage researchers; admins manage all accounts. A token is shown once, on
the page that made it.
"""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Query, Response

from synthesizer.data.errors import SynthesizerError
from synthesizer.extensions.verification.database import transaction
from synthesizer.extensions.verification.mechanisms import MICRO
from synthesizer.extensions.verification.messages import RequestError
from synthesizer.extensions.verification.server import audit
from synthesizer.extensions.verification.server.accounts import Account, managed_roles
from synthesizer.extensions.verification.server.api import MAX_ROW_ID, TokenNumber
from synthesizer.extensions.verification.server.pages import (
    PAGE_ROWS,
    OwnForm,
    Visit,
    Visiting,
    first,
    submissions_page,
    tokens_page,
    with_new_token,
)
from synthesizer.extensions.verification.server.query_form import number_or_text
from synthesizer.extensions.verification.server.security import only
from synthesizer.extensions.verification.server.templating import StewardPage, moved

router = APIRouter(prefix="/steward", route_class=StewardPage, include_in_schema=False)


@router.get("")
def begin() -> Response:
    """Go to the queries."""
    return moved("/steward/queries")


@router.get("/queries")
def list_queries(visit: Visiting, dataset: str = "", before: str = "") -> Response:
    """Show the queries of all users."""
    return submissions_page(visit, "Queue", dataset, before, everybody=True)


# Projects and budgets


@router.get("/projects")
def list_projects(visit: Visiting) -> Response:
    """Show the projects and the budget of every dataset."""
    return _projects_page(visit)


def _projects_page(
    visit: Visit, error: SynthesizerError | None = None, typed: OwnForm | None = None
) -> Response:
    projects, steps = visit.steps.projects.every(), visit.steps
    datasets = [
        (info, one.ledger.spending().budgets[0], one.question_epsilon, one.questions_left,
         [project for project in projects if project.dataset == one.name])
        for info, one in zip(steps.list_datasets(), steps.datasets.values(), strict=True)
    ]  # fmt: skip
    return visit.page(
        "steward_projects.html", error=error, datasets=datasets,
        typed={key: first(typed or {}, key) for key in _PROJECT_KEYS},
    )  # fmt: skip


_PROJECT_KEYS = ("dataset", "name", "questions", "budget", "members")


def _project_fields(form: OwnForm) -> dict[str, Any]:
    """Return the project in a form; invalid numbers become 0, which is refused."""
    made: dict[str, Any] = {}
    for key in ("questions", "budget"):
        if text := first(form, key).strip():
            made[key] = number_or_text(text)
            if isinstance(made[key], str) or (key == "questions" and made[key] % 1):
                made[key] = 0
    return {**made, "members": re.findall(r"[^\s,;]+", first(form, "members"))}


@router.post("/projects")
@only("steward")
def make_project(visit: Visiting, form: OwnForm) -> Response:
    """Make a project."""
    name, dataset = first(form, "name").strip(), first(form, "dataset")
    try:
        visit.steps.projects.make(visit.account, name, dataset, **_project_fields(form))
    except SynthesizerError as error:
        return _projects_page(visit, error, form)
    return moved("/steward/projects")


@router.post("/projects/{project}")
@only("steward")
def change_project(visit: Visiting, project: str, form: OwnForm) -> Response:
    """Change the questions and researchers of a project."""
    try:
        visit.steps.projects.change(visit.account, project, **_project_fields(form))
    except SynthesizerError as error:
        return _projects_page(visit, error)
    return moved("/steward/projects")


@router.post("/datasets/{name}/cap")
@only("steward")
def set_cap(visit: Visiting, name: str, form: OwnForm) -> Response:
    """Change the cap of all answers about a dataset."""
    cap = number_or_text(first(form, "cap").strip())
    before = visit.steps.dataset(name).ledger.spending().budgets[0].cap / MICRO
    try:
        if isinstance(cap, str) or not 0 < cap <= 1e6:
            raise RequestError("cap: write a number above 0, at most 1,000,000", 422)
        if cap > before and first(form, "raise") != "yes":
            return visit.page("steward_cap.html", name=name, before=before, cap=cap)
        visit.steps.projects.set_cap(visit.account, name, float(cap))
    except SynthesizerError as error:
        return _projects_page(visit, error)
    return moved("/steward/projects")


@router.post("/datasets/{name}/pause")
@only("steward")
def set_paused(visit: Visiting, name: str, form: OwnForm) -> Response:
    """Pause new charges on a dataset, or resume."""
    is_paused, reason = first(form, "pause") == "yes", first(form, "reason").strip()
    dataset = visit.steps.dataset(name).name
    visit.steps.projects.set_paused(visit.account, dataset, reason, is_paused=is_paused)
    return moved("/steward/alarms" if first(form, "from") == "alarms" else "/steward/projects")


@router.get("/alarms")
def list_alarms(visit: Visiting) -> Response:
    """Show the paused datasets, with actor and reason."""
    datasets = {one.name: one for one in visit.steps.list_datasets()}
    return visit.page("steward_alarms.html", alarms=visit.steps.alarms(), datasets=datasets)


# Accounts


def managed(visit: Visiting, name: str) -> Account:
    """Return the account of an address; RequestError (404) if the user does not manage it."""
    return visit.accounts.managed(visit.account, name)


Managed = Annotated[Account, Depends(managed)]


@router.get("/accounts")
def list_accounts(visit: Visiting) -> Response:
    """Show the accounts that the user manages."""
    return _accounts_page(visit)


def _accounts_page(
    visit: Visit, error: SynthesizerError | None = None, name: str = "", role: str = "researcher"
) -> Response:
    return visit.page(
        "steward_accounts.html", error=error, name=name, role=role,
        accounts=visit.accounts.managed_by(visit.account), roles=managed_roles(visit.account),
    )  # fmt: skip


@router.post("/accounts")
def add_account(visit: Visiting, form: OwnForm) -> Response:
    """Make an account."""
    name, role = first(form, "name").strip(), first(form, "role")
    try:
        if role not in managed_roles(visit.account):
            raise RequestError(
                "role: choose one from the list; only admins make stewards and admins", 403
            )
        visit.accounts.add(name, role, actor=visit.account.name)
    except SynthesizerError as error:
        return _accounts_page(visit, error, name, role)
    return moved(_account_path(name))


def _account_path(name: str) -> str:
    return f"/steward/accounts/{quote(name, safe='')}"


@router.get("/accounts/{name}")
def show_account(visit: Visiting, account: Managed) -> Response:
    """Show an account with its tokens."""
    return tokens_page(visit, _ACCOUNT, account)


_ACCOUNT = "steward_account.html"


@router.post("/accounts/{name}")
def change_account(visit: Visiting, form: OwnForm, account: Managed) -> Response:
    """Close an account or open it again."""
    is_active = first(form, "step") == "open"
    try:
        visit.accounts.set_active(account.name, is_active=is_active, actor=visit.account.name)
    except SynthesizerError as error:
        return tokens_page(visit, _ACCOUNT, account, error=error)
    return moved(_account_path(account.name))


@router.post("/accounts/{name}/tokens")
def make_token(visit: Visiting, form: OwnForm, account: Managed) -> Response:
    """Make a token."""
    return with_new_token(visit, _ACCOUNT, account, form)


@router.post("/accounts/{name}/tokens/{token}/revoke")
def revoke_token(visit: Visiting, token: TokenNumber, _form: OwnForm, account: Managed) -> Response:
    """Revoke a token."""
    visit.accounts.revoke(account, token, actor=visit.account.name)
    return moved(_account_path(account.name))


# Audit


@router.get("/audit")
def show_audit(
    visit: Visiting, dataset: str = "", check: bool = False,
    before: Annotated[int | None, Query(ge=1, le=MAX_ROW_ID)] = None,
) -> Response:  # fmt: skip
    """Show the audit log, and check its chain on request."""
    if dataset:
        visit.steps.dataset(dataset)
    with transaction(visit.steps.engine, reads=True) as store:
        entries = audit.entries(store, dataset=dataset, before=before, limit=PAGE_ROWS)
        verified = audit.verify(store) if check else None
    older = {"dataset": dataset, "before": entries[-1].number} if len(entries) == PAGE_ROWS else {}
    return visit.page(
        "steward_audit.html", entries=entries, datasets=visit.steps.list_datasets(),
        dataset=dataset, older=urlencode(older), verified=verified,
    )  # fmt: skip
