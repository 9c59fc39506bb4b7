"""The pages: the whole path of a researcher and of a steward, without a browser."""

import html
import re
import time
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from synthesizer.extensions.verification.choosing import chosen
from synthesizer.extensions.verification.server import runner
from tests.extensions.verification.server.conftest import log_of, spent

FIELD = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


CLAIM = {
    "formula": "I(log(pay)) ~ sex + age",
    "ask": {"measure": "claim", "coefficient": "sex[F]", "below": -0.05},
}


@pytest.fixture
def browser(app, accounts, project):
    accounts.add("stella", "steward", actor="test")
    with TestClient(app) as http:
        yield http


def sign_in(browser, accounts, name):
    browser.cookies.clear()
    token = accounts.new_token(accounts.named(name), "test", actor="test")
    page = browser.get("/sign-in")
    sent = browser.post("/sign-in", data={**hidden(page.text), "token": token})
    assert sent.status_code == 200, sent.text
    return sent


def hidden(text):
    return {name: html.unescape(value) for name, value in FIELD.findall(text)}


def dry_run(browser, query):
    """Begin a dry run as a program does, and return its page."""
    service = browser.app.state.service
    account = browser.app.state.guard.accounts.named("ada")
    made = service.dry_run(account, "panel", query)
    return settled(browser, browser.get(f"/datasets/panel/dry-runs/{made.digest}"))


def settled(browser, page):
    while "data-poll" in page.text:
        time.sleep(0.1)
        page = browser.get(str(page.url))
    return page


NUMBERS = re.compile(r"epsilon|\bM =|privacy budget", re.IGNORECASE)
FORM = {"formula": CLAIM["formula"], "ask.coefficient": "sex[F]", "ask.below": "-0.05"}


def test_a_researcher_goes_from_the_form_to_the_answer_and_meets_no_number(
    browser, accounts, service
):
    seen = [sign_in(browser, accounts, "ada")]
    assert "3 of 20 questions left" in seen[0].text
    for path in ("/datasets/panel", "/datasets/panel/ask", "/datasets/panel/ask/claim"):
        seen.append(browser.get(path))
    body = {**hidden(seen[-1].text), **FORM, "step": "dry-run"}
    seen.append(browser.post("/datasets/panel/ask/claim", data=body))
    seen.append(page := settled(browser, seen[-1]))
    assert spent(service) == 0
    reply = browser.post(str(page.url), data=hidden(page.text))
    assert re.search(r"/queries/[0-9a-f]{32}$", str(reply.url))
    seen += [reply, shown := settled(browser, reply), browser.get("/queries"), browser.get("/")]
    digest = page.url.path.rpartition("/")[2]
    seen += [browser.get(page.url.path), browser.get(f"{page.url.path}/edit")]
    assert [one.url.path for one in seen if NUMBERS.search(one.text)] == []
    assert "2 of 20 questions left" in seen[-3].text
    assert f"{reply.url.path}/cite" in shown.text
    assert f"/dry-runs/{digest}/ask-a-person" in page.text
    answer = browser.get(f"{reply.url.path}/answer.json").json()["answer"]
    assert html.escape(answer["words"][0]) in shown.text
    assert answer["verdict"] in ("yes", "open")  # the noise is drawn
    for one in (page, shown):  # who wants to see them follows a link
        assert NUMBERS.search(browser.get(f"{one.url.path}?numbers=true").text)
    sign_in(browser, accounts, "bob")  # somebody else's, and none: the same words
    others = browser.get(reply.url.path)
    assert others.status_code == 404
    assert others.text == browser.get("/queries/" + "0" * 32).text


def test_what_cannot_be_decided_has_no_button_and_what_is_open_needs_a_tick(
    browser, accounts, service, monkeypatch
):
    def with_outlook(outlook):
        def choice(query, most_epsilon):
            return replace(
                chosen(query, most_epsilon), outlook=outlook, words=("It is too small.",)
            )

        monkeypatch.setattr(runner, "chosen", choice)

    with_outlook("impossible")
    sign_in(browser, accounts, "ada")
    page = dry_run(browser, CLAIM)
    assert "main spend" not in page.text
    csrf = {"csrf": re.search(r'name="csrf" value="([^"]+)"', page.text)[1], "project": "gap"}
    sent = settled(browser, browser.post(page.url.path, data=csrf))  # who sends it all the same
    assert "It is too small." in sent.text
    with_outlook("open")
    page = dry_run(browser, {**CLAIM, "subset": "age > 20"})
    unsure = browser.post(page.url.path, data=hidden(page.text))
    assert (unsure.status_code, spent(service)) == (422, 0)
    sure = browser.post(page.url.path, data={**hidden(page.text), "agreed": "yes"})
    assert "/queries/" in sure.url.path


def test_an_expert_sees_the_numbers_and_what_they_cost(browser, accounts, service):
    sign_in(browser, accounts, "ada")
    form = browser.get("/datasets/panel/ask/claim")
    body = {**hidden(form.text), **FORM, "step": "numbers"}
    form = browser.post("/datasets/panel/ask/claim", data=body)
    assert 'value="-0.05"' in form.text  # what was typed is kept
    body = {**hidden(form.text), **FORM, "epsilon": "2.5", "partitions": "20", "step": "dry-run"}
    page = settled(browser, browser.post("/datasets/panel/ask/claim", data=body))
    assert "3 questions (epsilon 2.5)" in page.text
    assert 'id="query"' in page.text  # the sections of the dry run
    reply = browser.post(page.url.path, data=hidden(page.text))
    assert "(epsilon 2.5)" in reply.text
    assert service.projects.every()[0].used == 3


def test_problems_appear_at_once_and_what_was_typed_stays(browser, accounts):
    sign_in(browser, accounts, "ada")
    form = browser.get("/datasets/panel/ask/claim?numbers=true")
    typed = {**FORM, "formula": "pay ~ aeg", "subset": "<script>alert(1)", "epsilon": "-1"}
    page = browser.post(
        "/datasets/panel/ask/claim", data={**hidden(form.text), **typed, "step": "dry-run"}
    )
    assert page.status_code == 422
    assert 'value="pay ~ aeg"' in page.text
    assert page.text.count("Problem:") >= 3
    assert "<script>alert" not in page.text


PAGES = ("/datasets", "/datasets/panel", "/datasets/panel/ask", "/datasets/panel/ask/claim",
         "/datasets/panel/ask?numbers=true", "/datasets/panel/ask/interval",
         "/queries", "/tokens")  # fmt: skip


STEWARDS = ("queries", "projects", "alarms", "accounts", "accounts/ada", "audit?check=true")


def test_pages_ask_for_nothing_from_elsewhere(browser, accounts):
    statuses = {browser.get(path, follow_redirects=False).status_code for path in PAGES}
    assert statuses == {303}
    stewards = [f"/steward/{one}" for one in STEWARDS]
    for path in (*PAGES, *stewards):
        if path in (PAGES[0], stewards[0]):
            sign_in(browser, accounts, "ada" if path in PAGES else "stella")
        page = browser.get(path)
        assert page.status_code == 200, path
        policy = page.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        loaded = r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|https?://"
        assert not re.search(loaded, page.text)
        assert 'lang="en"' in page.text
        assert "<h1" in page.text
        assert page.headers["cache-control"] == "no-store"
    for path, status, kind in (
        ("/sign-out", 405, "text/html"),
        ("/tokens/1/revoke", 405, "text/html"),
        ("/nothing", 404, "text/html"),
        ("/steward/nothing", 404, "text/html"),
        ("/api/v1/nothing", 404, "application/problem+json"),
    ):
        page = browser.get(path)
        assert (page.status_code, page.headers["content-type"].split(";")[0]) == (status, kind)
        assert page.headers.get("allow") == ("POST" if status == 405 else None)


def test_a_steward_makes_projects_and_changes_them(browser, accounts, service):
    sign_in(browser, accounts, "stella")
    page = browser.get("/steward/projects")
    new = {**hidden(page.text), "dataset": "panel", "name": "pay", "members": "ada; bob",
           "questions": "4"}  # fmt: skip
    made = browser.post("/steward/projects", data=new)
    assert made.status_code == 200
    assert service.projects.of_member(accounts.named("bob"))[1].name == "pay"
    for change in ({"members": "eve"}, {"questions": "many"}):
        wrong = browser.post("/steward/projects", data={**new, "name": "x", **change})
        assert (wrong.status_code, len(service.projects.every())) == (422, 2)
    for change, questions in (({"questions": "7"}, 7), ({"budget": "5.5"}, 5)):
        changed = {"csrf": new["csrf"], "members": "", **change}
        browser.post("/steward/projects/pay", data=changed)
        project = next(one for one in service.projects.every() if one.name == "pay")
        assert (project.questions, project.members) == (questions, ())


def test_a_cap_is_raised_after_a_confirmation_and_both_are_on_record(browser, accounts, service):
    def cap():
        return service.datasets["panel"].ledger.spending().budgets[0].cap

    def sent(data):
        return browser.post("/steward/datasets/panel/cap", data={"csrf": csrf, **data})

    sign_in(browser, accounts, "stella")
    csrf = hidden(browser.get("/steward/projects").text)["csrf"]
    page = sent({"cap": "7.5"})
    assert (page.status_code, cap()) == (200, 3_000_000)
    sent(hidden(page.text))
    assert cap() == 7_500_000
    sent({"cap": "2"})  # less needs none
    last, first = (one for one in log_of(service) if one.action == "cap changed")
    assert first.details == {"cap before": 3_000_000, "cap": 7_500_000}
    assert last.details == {"cap before": 7_500_000, "cap": 2_000_000}
    assert {sent({"cap": wrong}).status_code for wrong in ("0", "many", "1e9")} == {422}
    assert cap() == 2_000_000


def test_a_pause_is_an_alarm_until_a_steward_goes_on(browser, accounts, service):
    sign_in(browser, accounts, "stella")
    csrf = {"csrf": hidden(browser.get("/steward/projects").text)["csrf"]}
    assert "stella" not in browser.get("/steward/alarms").text.partition("<main")[2]
    for page, pause in (("alarms", "yes"), ("projects", "no")):
        form = {**csrf, "pause": pause, "reason": "a <new> file", "from": page}
        sent = browser.post("/steward/datasets/panel/pause", data=form)
        assert sent.url.path == f"/steward/{page}"
        assert service.list_datasets()[0].is_paused == (pause == "yes")
        assert ("a &lt;new&gt; file" in sent.text) == (pause == "yes")
