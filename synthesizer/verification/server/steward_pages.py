"""Pages of those who keep the server: queue, projects, alarms, accounts, tokens, audit log.

Stewards set what may be spent and manage researchers; admins manage everybody. A token is shown on
the page that made it, and never again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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
        (one, steps.budget(one.name), steps.dataset(one.name).question_epsilon,
         [project for project in projects if project.dataset == one.name])
        for one in steps.list_datasets()
    ]  # fmt: skip
    return html_page(
        request, "steward_projects.html", status=getattr(error, "status", 409) if error else 200,
        datasets=datasets, problems=error.problems if error else (),
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
