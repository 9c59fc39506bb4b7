"""T17 on the pages: all of them without a session, by the wrong role, without a form's token."""

from unittest.mock import patch

import pytest
from fastapi.testclient import TestClient
from panel_server import Idle

from synthesizer.extensions.verification.server import (
    pages,
    person_requests,
    steward_pages,
    templating,
)
from synthesizer.extensions.verification.server.app import create_app
from synthesizer.extensions.verification.server.security import csrf_of

OPEN = {"/static/{name}", "/sign-in", "/"}
VALUES = {
    "name": "panel", "measure": "interval", "digest": "0" * 64, "number": "0" * 32, "token": "1",
    "project": "gap", "kind": "bib",
}  # fmt: skip


@pytest.fixture
def app(service, accounts):
    for name, role in (("ada", "researcher"), ("sam", "steward"), ("root", "admin")):
        accounts.add(name, role, actor="test")
    return create_app(service, accounts, dispatcher=Idle)


def routes():
    for room in (pages, steward_pages, person_requests):
        router = room.router
        for route in router.routes:
            path = route.path
            for key, value in VALUES.items():
                path = path.replace(f"{{{key}}}", value)
            assert "{" not in path, path
            yield route.path, path, *route.methods


def test_without_a_session_all_leads_to_the_page_for_it(app):
    http = TestClient(app, follow_redirects=False)
    for template, path, method in routes():
        if template not in OPEN:
            reply = http.request(method, path)
            assert reply.status_code == 303, (method, path)
            assert reply.headers["location"].startswith("/sign-in"), (method, path)


def forged(signed_in):
    """Yield the forms that do something without the token of their session."""
    for name in ("ada", "sam"):
        http = signed_in(name)
        others = [csrf_of(signed_in(one).cookies["session"]) for one in (name, "root")]
        cookie = http.cookies["session"]
        forms = [{}, *({"csrf": one} for one in ("", "é", cookie, csrf_of(cookie) + "x", *others))]
        for template, path, method in routes():
            if method == "POST" and template != "/sign-in":
                for form in forms:
                    if (status := http.post(path, data=form).status_code) != 403:
                        yield path, status


def test_no_form_counts_without_the_token_of_its_session(signed_in):
    assert list(forged(signed_in)) == []


def test_forms_that_count_are_seen(signed_in):
    """Control."""
    with patch.object(pages, "check_csrf", lambda request, sent: None):
        assert len(list(forged(signed_in))) > 20


OF_STEWARDS = {
    "/steward/datasets/{name}/cap", "/steward/datasets/{name}/pause", "/steward/projects",
    "/steward/projects/{project}", "/requests/{number}",
}  # fmt: skip
ASK_A_PERSON = "/datasets/{name}/dry-runs/{digest}/ask-a-person"
OF_RESEARCHERS = {
    "/datasets/{name}/dry-runs/{digest}", "/requests/{number}/withdraw", ASK_A_PERSON,
}  # fmt: skip


def may(name, template, method):
    """Return whether somebody may use a page, by its path."""
    if template in OF_STEWARDS and method == "POST":
        return name == "sam"
    if template == ASK_A_PERSON or (template in OF_RESEARCHERS and method == "POST"):
        return name == "ada"
    return name != "ada" or not template.startswith("/steward")


def open_to_others(signed_in):
    """Yield pages that reply to somebody who may not use them, before any form is read."""
    for name in ("ada", "sam", "root"):
        http = signed_in(name)
        for template, path, method in routes():
            if not may(name, template, method):
                reply = http.request(method, path, content=b"\xff")
                if reply.status_code != 403 or "is for" not in reply.text:
                    yield name, method, path


def test_pages_are_for_their_roles_only(signed_in):
    assert list(open_to_others(signed_in)) == []


def test_pages_that_are_open_to_others_are_seen(signed_in):
    """Control."""
    with patch.object(templating, "require", lambda account, *roles: None):
        leaks = list(open_to_others(signed_in))
    assert len([path for name, _, path in leaks if name == "ada"]) >= 10
    assert {name for name, *_ in leaks} == {"ada", "sam", "root"}


def test_a_sign_in_of_another_site_is_refused_and_leads_nowhere_else(app, accounts):
    http = TestClient(app, follow_redirects=False)
    token = accounts.new_token(accounts.named("ada"), "test", actor="test")
    cross = http.post("/sign-in", data={"token": token}, headers={"Sec-Fetch-Site": "cross-site"})
    assert cross.status_code == 403
    assert "set-cookie" not in cross.headers
    for then in ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:x"):
        reply = http.post("/sign-in", data={"token": token, "then": then})
        assert reply.headers["location"] == "/datasets"
