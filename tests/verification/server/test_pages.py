"""The pages: the whole path of a researcher and of a steward, without a browser."""

import ast
import html
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from replay_trials import GAP, QUESTIONS

import synthesizer.verification as room
from synthesizer.verification.choosing import chosen
from synthesizer.verification.database import transaction
from synthesizer.verification.sentences import WORDS
from synthesizer.verification.server import audit, runner

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


def visible(text):
    """Return the words of a page that are shown before anything is unfolded."""
    text = re.sub(r"<(details|head|header)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " ", text)).split()


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
    assert len(visible(page.text)) < 200
    assert service.datasets["panel"].ledger.spending().budgets[0].spent == 0
    asked = browser.post(str(page.url), data=hidden(page.text))
    assert re.search(r"/queries/[0-9a-f]{32}$", str(asked.url))
    seen += [asked, shown := settled(browser, asked), browser.get("/queries"), browser.get("/")]
    digest = page.url.path.rpartition("/")[2]
    seen += [browser.get(page.url.path), browser.get(f"{page.url.path}/edit")]
    assert [one.url.path for one in seen if NUMBERS.search(one.text)] == []
    assert "2 of 20 questions left" in seen[-3].text
    assert f"{asked.url.path}/cite" in shown.text
    assert f"/dry-runs/{digest}/ask-a-person" in page.text
    answer = browser.get(f"{asked.url.path}/answer.json").json()["answer"]
    assert html.escape(answer["words"][0]) in shown.text
    assert answer["verdict"] in ("yes", "open")  # the noise is drawn
    for one in (page, shown):  # who wants to see them follows a link
        assert NUMBERS.search(browser.get(f"{one.url.path}?numbers=true").text)
    sign_in(browser, accounts, "bob")  # somebody else's, and none: the same words
    others = browser.get(asked.url.path)
    assert others.status_code == 404
    assert others.text == browser.get("/queries/" + "0" * 32).text


@pytest.mark.parametrize(
    "changes", [c for name, c in QUESTIONS.items() if name not in ("interval", "report", "logit")]
)
def test_no_kind_of_question_brings_numbers_to_a_researcher(browser, accounts, changes):
    sign_in(browser, accounts, "ada")
    query = {**GAP, "formula": CLAIM["formula"], **changes}
    page = dry_run(browser, {key: query[key] for key in ("formula", "family", "subset", "ask")
                             if query.get(key) and (key != "ask" or "ask" in changes)}
                   | ({} if "ask" in changes else {"ask": CLAIM["ask"]}))  # fmt: skip
    seen = [page, browser.get(f"/datasets/panel/ask/{query['ask']['measure']}"),
            browser.get(f"{page.url.path}/edit")]  # fmt: skip
    if 'class="main spend"' in page.text:
        sent = {**hidden(page.text), "agreed": "yes"}
        seen.append(settled(browser, browser.post(str(page.url), data=sent)))
        assert seen[-1].status_code == 200
    assert [one.url.path for one in seen[:1] + seen[2:] if NUMBERS.search(one.text)] == []


def with_outlook(monkeypatch, outlook):
    def found(asked, most_epsilon):
        return replace(chosen(asked, most_epsilon), outlook=outlook, words=("It is too small.",))

    monkeypatch.setattr(runner, "chosen", found)


def test_what_cannot_be_decided_has_no_button(browser, accounts, service, monkeypatch):
    with_outlook(monkeypatch, "impossible")
    sign_in(browser, accounts, "ada")
    page = dry_run(browser, CLAIM)
    assert "This question cannot be decided with this file" in page.text
    assert "main spend" not in page.text
    csrf = {"csrf": re.search(r'name="csrf" value="([^"]+)"', page.text)[1], "project": "gap"}
    sent = settled(browser, browser.post(page.url.path, data=csrf))  # who sends it all the same
    assert "It is too small." in sent.text
    assert service.datasets["panel"].ledger.spending().budgets[0].spent == 0


def test_an_open_question_needs_a_tick(browser, accounts, service, monkeypatch):
    with_outlook(monkeypatch, "open")
    sign_in(browser, accounts, "ada")
    page = dry_run(browser, CLAIM)
    unsure = browser.post(page.url.path, data=hidden(page.text))
    assert unsure.status_code == 422
    assert service.datasets["panel"].ledger.spending().budgets[0].spent == 0
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
    asked = browser.post(page.url.path, data=hidden(page.text))
    assert "(epsilon 2.5)" in asked.text
    assert service.projects.every()[0].used == 3


def test_problems_are_told_at_once_and_what_was_typed_is_kept(browser, accounts):
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
STEWARDS = ("/datasets", "/steward/queries", "/steward/projects", "/steward/alarms",
            "/steward/accounts", "/steward/audit")  # fmt: skip


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


def test_a_steward_makes_projects_and_changes_them(browser, accounts, service):
    sign_in(browser, accounts, "stella")
    page = browser.get("/steward/projects")
    new = {**hidden(page.text), "dataset": "panel", "name": "pay", "members": "ada; bob",
           "questions": "4"}  # fmt: skip
    made = browser.post("/steward/projects", data=new)
    assert "4 of 4 questions left" in made.text
    assert service.projects.own(accounts.named("bob"))[1].name == "pay"
    for change, problem in (
        ({**new, "name": "a/b"}, "letters, digits"),
        ({**new, "name": "x", "members": "eve"}, "eve"),
        ({**new, "name": "x", "questions": "many"}, "1 to"),
    ):
        wrong = browser.post("/steward/projects", data=change)
        assert wrong.status_code == 422
        assert problem in wrong.text
        assert len(service.projects.every()) == 2
    changed = {"csrf": new["csrf"], "questions": "7", "members": ""}
    page = browser.post("/steward/projects/pay", data=changed)
    assert "7 of 7 questions left" in page.text
    assert "Researchers: none" in page.text


def test_a_cap_is_raised_after_a_confirmation_and_both_are_on_record(browser, accounts, service):
    def cap():
        return service.datasets["panel"].ledger.spending().budgets[0].cap

    def sent(data):
        return browser.post("/steward/datasets/panel/cap", data={"csrf": csrf, **data})

    sign_in(browser, accounts, "stella")
    csrf = hidden(browser.get("/steward/projects").text)["csrf"]
    asked = sent({"cap": "7.5"})
    assert (asked.status_code, cap()) == (200, 3_000_000)
    assert "Yes, raise it to 7.5" in asked.text
    assert "0 of 7.5 spent" in sent(hidden(asked.text)).text
    assert cap() == 7_500_000
    assert "0 of 2 spent" in sent({"cap": "2"}).text  # less needs none
    with transaction(service.engine, reads=True) as store:
        last, first = audit.entries(store, action="cap changed")
    assert first.details == {"cap before": 3_000_000, "cap": 7_500_000}
    assert last.details == {"cap before": 7_500_000, "cap": 2_000_000}
    log = browser.get("/steward/audit").text
    assert "epsilon before 3" in log
    for wrong in ("0", "many", "1e9"):
        refused = sent({"cap": wrong})
        assert refused.status_code == 422
        assert "<li>Epsilon of all answers: write a number" in refused.text
    assert cap() == 2_000_000


def test_a_pause_keeps_its_reason(browser, accounts, service):
    sign_in(browser, accounts, "stella")
    csrf = hidden(browser.get("/steward/projects").text)["csrf"]
    form = {"csrf": csrf, "pause": "yes", "reason": "a <new> file", "from": "alarms"}
    assert (
        "Reason: a &lt;new&gt; file"
        in browser.post("/steward/datasets/panel/pause", data=form).text
    )
    with transaction(service.engine, reads=True) as store:
        assert audit.entries(store, action="paused")[0].details == {"reason": "a <new> file"}


@pytest.mark.parametrize(("name", "is_offered"), [("ada", True), ("stella", False)])
def test_only_researchers_are_offered_a_question(browser, accounts, name, is_offered):
    sign_in(browser, accounts, name)
    for path in ("/datasets", "/datasets/panel"):
        assert ("Ask a question" in browser.get(path).text) == is_offered


def test_home_shows_the_lesser_of_project_and_budget(browser, accounts, service, sam):
    sign_in(browser, accounts, "ada")
    page = browser.get("/datasets").text  # 20 questions, of which the budget pays for 3
    assert "<strong>3 of 20 questions left.</strong> The budget of the dataset" in page
    service.projects.change(sam, "gap", questions=2)
    page = browser.get("/datasets").text
    assert "<strong>2 of 2 questions left.</strong>" in page
    assert "The budget of the dataset" not in page
    assert ">Ask a question<" in page
    service.datasets["panel"].ledger.set_cap("global", "", 0.5)
    page = browser.get("/datasets").text
    assert "<strong>0 of 2 questions left.</strong> The budget of the dataset" in page
    assert ">Ask a question<" not in page
    assert "Nothing new can be answered." in page


def test_your_questions_show_their_answers(browser, accounts, service):
    sign_in(browser, accounts, "ada")
    assert '<td data-label="Answer">' not in browser.get("/queries").text
    shown = []
    for query in (CLAIM, {"ask": {"measure": "counts", "by": ["sex"]}}):
        page = dry_run(browser, query)
        asked = settled(browser, browser.post(str(page.url), data=hidden(page.text)))
        verdict = re.search(r"<h1>Answer(?:: (yes|no|cannot tell))?", asked.text)[1] or "number"
        shown.insert(0, verdict)
        found = re.findall(
            r'<td data-label="Answer">\s*(.*?)\s*</td>', browser.get("/queries").text
        )
        assert found == shown
    sign_in(browser, accounts, "stella")
    assert '<td data-label="Answer">' not in browser.get("/steward/queries").text


def test_the_first_screen_of_a_table_says_how_wide_intervals_are(browser, accounts):
    sign_in(browser, accounts, "ada")
    for ask, what in (
        (
            {"measure": "counts", "by": ["sex"]},
            "Number of persons, each by one row that a key draws",
        ),
        (
            {"measure": "means", "of": "pay", "by": ["sex"]},
            "Mean of pay over persons, one drawn row",
        ),
    ):
        for numbers in ({}, {"epsilon": 0.5}):
            words = " ".join(visible(dry_run(browser, {"ask": ask, **numbers}).text))
            assert what in words
            assert re.search(r"each within [\d,.]+ of the released number", words)


def test_hints_name_variables_of_the_dataset_alone(browser, accounts):
    sign_in(browser, accounts, "ada")
    page = browser.get("/datasets/panel/ask/claim").text
    assert "For example, pay ~ age + sex." in page
    assert "For example, sex == &#39;F&#39;." in page or "For example, sex == 'F'." in page
    hints = re.findall(r'<p class="hint"[^>]*>(.*?)</p>', page, re.DOTALL)
    assert not re.search(r"\b(race|agency|year|region|income)\b", " ".join(hints))


def test_a_steward_reads_how_many_questions_the_budget_pays_for(browser, accounts, service, sam):
    sign_in(browser, accounts, "stella")
    page = browser.get("/steward/projects").text  # 20 questions, and epsilon 3
    assert "This pays for 3 questions; the projects have 20 questions left, 17 too many." in page
    service.projects.change(sam, "gap", questions=2)
    page = browser.get("/steward/projects").text
    assert "have 2 questions left, so new projects can have 1 question." in page
    assert "too many" not in page


@pytest.mark.parametrize(
    "path",
    ["/steward/datasets/panel/cap", "/steward/datasets/panel/pause", "/tokens/1/revoke",
     "/sign-out", "/steward/accounts/ada/tokens", "/requests/1/withdraw"],
)  # fmt: skip
def test_what_takes_forms_answers_a_look_with_a_page(browser, accounts, path):
    sign_in(browser, accounts, "stella")
    page = browser.get(path)
    assert (page.status_code, page.headers["allow"]) == (405, "POST")
    assert page.headers["content-type"].startswith("text/html")
    assert '<a href="/datasets">' in page.text


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/nothing", "text/html"), ("/steward/nothing", "text/html"),
     ("/api/v1/nothing", "application/problem+json")],
)  # fmt: skip
def test_what_is_not_there_is_a_page_to_people_and_json_to_programs(browser, path, kind):
    reply = browser.get(path)
    assert (reply.status_code, reply.headers["content-type"].split(";")[0]) == (404, kind)


@pytest.mark.parametrize(
    ("path", "words"),
    [("/steward/projects", "pause panel"), ("/steward/alarms", "pause panel"),
     ("/steward/accounts/ada", "close ada")],
)  # fmt: skip
def test_what_ends_something_is_confirmed(browser, accounts, path, words):
    """The button is folded, so that a second step is needed, also without a script."""
    sign_in(browser, accounts, "stella")
    page = browser.get(path).text
    folded = "".join(re.findall(r'<details class="confirm">.*?</details>', page, re.DOTALL))
    assert f"Yes, {words}</button>" in folded
    rest = re.sub(r'<details class="confirm">.*?</details>', "", page, flags=re.DOTALL)
    assert not re.search(rf"<button[^>]*>(Yes, )?{words}", rest, re.IGNORECASE)


@pytest.mark.parametrize("page", ["projects", "alarms"])
def test_pause_and_resume_stand_on_both_pages(browser, accounts, service, page):
    sign_in(browser, accounts, "stella")
    there = f"/steward/{page}"
    for words, is_paused in (("Yes, pause panel", True), ("Resume panel", False)):
        text = browser.get(there).text
        found = re.search(rf"<form(?:(?!</form>).)*{words}</button>", text, re.DOTALL)
        sent = browser.post("/steward/datasets/panel/pause", data=hidden(found[0]))
        assert sent.url.path == there
        assert service.list_datasets()[0].is_paused == is_paused


@pytest.mark.parametrize(
    ("measure", "is_said"),
    [("counts", True), ("means", True), ("accuracy", True), ("claim", False)],
)
def test_a_form_says_which_rows_count(browser, accounts, measure, is_said):
    sign_in(browser, accounts, "ada")
    page = browser.get(f"/datasets/panel/ask/{measure}").text
    assert (html.escape(WORDS["rows_drawn"]) in page) == is_said
    # the example is a level with a coefficient, not the reference level
    assert ("sex[F] compares level F with the reference level M" in page) == (measure == "claim")


def test_dry_run_and_answer_say_which_rows_count(browser, accounts):
    sign_in(browser, accounts, "ada")
    page = dry_run(browser, {"ask": {"measure": "counts", "by": ["sex"]}})
    said = html.escape(WORDS["rows_drawn"])
    assert said in re.sub("<details.*?</details>", "", page.text, flags=re.DOTALL)
    asked = settled(browser, browser.post(str(page.url), data=hidden(page.text)))
    assert asked.text.count(said) == 1
    assert '<section id="figures"' in asked.text
    assert asked.text.count(html.escape(WORDS["noise_only"])) == 1


def test_a_pause_is_an_alarm_until_a_steward_goes_on(browser, accounts, service):
    sign_in(browser, accounts, "stella")
    csrf = {"csrf": hidden(browser.get("/steward/projects").text)["csrf"]}
    assert "No dataset is paused" in browser.get("/steward/alarms").text
    browser.post("/steward/datasets/panel/pause", data={**csrf, "pause": "yes"})
    alarms = browser.get("/steward/alarms")
    assert "by stella" in alarms.text
    assert "Paused" in browser.get("/datasets").text
    browser.post("/steward/datasets/panel/pause", data={**csrf, "pause": "no"})
    assert not service.list_datasets()[0].is_paused


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
