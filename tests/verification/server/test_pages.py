"""The pages: the whole path of a researcher and of a steward, without a browser."""

import ast
import html
import re
import time
from pathlib import Path

import pytest
import yaml
from fastapi.testclient import TestClient
from replay_trials import GAP

import synthesizer.verification as room

FIELD = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


@pytest.fixture
def browser(app, accounts, ada, bob):
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


def dry_run(browser):
    form = browser.get("/datasets/panel/ask/yaml")
    body = {**hidden(form.text), "yaml": yaml.safe_dump(GAP), "step": "dry-run"}
    page = browser.post("/datasets/panel/ask/yaml", data=body)
    while "Ask the confidential data" not in page.text:
        time.sleep(0.1)
        page = browser.get(str(page.url))
    return page


def test_a_researcher_goes_from_the_form_to_the_answer(browser, accounts, service):
    sign_in(browser, accounts, "ada")
    assert "panel" in browser.get("/datasets").text
    assert "pay" in browser.get("/datasets/panel").text
    page = dry_run(browser)
    assert 'id="attainable"' in page.text
    assert service.datasets["panel"].ledger.spending().budgets[0].spent == 0
    unsure = browser.post(str(page.url), data={**hidden(page.text), "analysis": "gap"})
    assert service.datasets["panel"].ledger.spending().budgets[0].spent == 0, unsure.text
    body = {**hidden(page.text), "analysis": "gap", "agreed": "yes"}
    asked = browser.post(str(page.url), data=body)
    assert re.search(r"/queries/[0-9a-f]{32}$", str(asked.url))
    while 'id="answer"' not in (shown := browser.get(str(asked.url))).text:
        time.sleep(0.2)
    assert "<svg" in shown.text
    assert service.datasets["panel"].ledger.spending().budgets[0].spent == 1_000_000
    assert browser.get(f"{asked.url.path}/answer.json").json()["answer"]["released"]
    sign_in(browser, accounts, "bob")  # somebody else's, and none: the same words
    others = browser.get(asked.url.path)
    assert others.status_code == 404
    assert others.text == browser.get("/queries/" + "0" * 32).text


def test_problems_are_told_at_once_and_what_was_typed_is_kept(browser, accounts):
    sign_in(browser, accounts, "ada")
    form = browser.get("/datasets/panel/ask/yaml")
    typed = yaml.safe_dump({**GAP, "formula": "pay ~ aeg", "epsilon": -1, "x": "<script>alert(1)"})
    page = browser.post(
        "/datasets/panel/ask/yaml", data={**hidden(form.text), "yaml": typed, "step": "dry-run"}
    )
    assert page.status_code == 422
    assert "aeg" in page.text
    assert "epsilon" in page.text
    assert "<script>alert" not in page.text


PAGES = ("/datasets", "/datasets/panel", "/datasets/panel/ask", "/datasets/panel/ask/interval",
         "/datasets/panel/ask/yaml", "/queries", "/budget")  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_pages_ask_for_nothing_from_elsewhere(browser, accounts, path):
    assert browser.get(path, follow_redirects=False).status_code in (303, 401)
    sign_in(browser, accounts, "ada")
    page = browser.get(path)
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|https?://", page.text)
    assert 'lang="en"' in page.text
    assert "<h1" in page.text
    assert page.headers["cache-control"] == "no-store"


def test_links_of_stewards_lead_to_pages(browser, accounts):
    sign_in(browser, accounts, "stella")
    links = set(re.findall(r'href="(/steward[^"#?]*)"', browser.get("/datasets").text))
    links |= {path for link in sorted(links) for path in
              re.findall(r'href="(/steward[^"#?]*)"', browser.get(link).text)}  # fmt: skip
    assert len(links) >= 3
    for link in links:
        assert browser.get(link).status_code == 200, link


FLAG = re.compile(r"(?<![\w-])--[a-z]")


def texts():
    """Yield name and text of all that may stand on a page: templates, and texts of the program."""
    folder = Path(room.__file__).parent
    for path in folder.rglob("*.html"):
        yield path.name, path.read_text(encoding="utf-8")
    for path in folder.rglob("*.py"):
        if path.name != "verify.py":  # the job of the command line
            tree = ast.parse(path.read_text(encoding="utf-8"))
            comments = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
                if is_text and id(node) not in comments:
                    yield path.name, node.value


def test_no_text_of_a_page_names_a_flag_of_the_command_line():
    found = [*texts()]
    assert len({name for name, _ in found}) > 30
    assert [name for name, text in found if FLAG.search(text)] == []
    assert FLAG.search("the M that --choose-m names")  # the control
