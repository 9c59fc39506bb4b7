"""Questions to a person: who may do what, what the log contains, both ends of every length."""

import html
import json
import re
import shutil
import subprocess

import pytest
from fastapi.testclient import TestClient
from replay_trials import GAP, QUESTIONS, people
from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from synthesizer.data.errors import RequestError
from synthesizer.verification.database import now, transaction
from synthesizer.verification.query import query_of
from synthesizer.verification.request_code import code_of
from synthesizer.verification.server import audit, person_requests
from synthesizer.verification.server.person_requests import (
    LONGEST,
    MOST_OPEN,
    REPLIES,
    ask_person,
    close_request,
    find_request,
    list_requests,
)
from synthesizer.verification.server.server_tables import PERSON_REQUEST

NOT_PRIVATE = "Not covered by differential privacy; reviewed by a person."
HOSTILE = "<script>alert('x')</script> \"&amp; {{ 77*7777 }} </textarea></pre> ‮ \\ $x `y` %s\n\tend"
SECRET = "417321"
ROLES = {"ada": "researcher", "bob": "researcher", "sam": "steward", "root": "admin"}


@pytest.fixture
def world(app, service, accounts, work):
    """Return the app, everybody's account, and the path of ada's dry run."""
    who = {name: accounts.add(name, role, actor="test") for name, role in ROLES.items()}
    digest = service.dry_run(who["ada"], "panel", GAP).digest
    work(service)
    return app, who, digest


@pytest.fixture
def browser(world, accounts):
    """Return a function that signs somebody in."""

    def signed_in(name):
        http = TestClient(world[0], follow_redirects=False, raise_server_exceptions=False)
        token = accounts.new_token(world[1][name], "test", actor="test")
        http.cookies.set(world[0].state.guard.cookie, accounts.sign_in(token))
        return http

    return signed_in


def post(http, page, path, **fields):
    found = re.search(r'name="csrf" value="([^"]+)"', http.get(page).text)
    return http.post(path, data={"csrf": found[1], **fields})


def asked(service, account, digest, reason="It decides a table.", code="summary(fit)"):
    number = ask_person(service, account, "panel", digest, reason=reason, code=code)
    return find_request(service, account, number)


def log(service):
    with transaction(service.engine, reads=True) as store:
        return audit.entries(store)


# Steps and states


@pytest.mark.parametrize(
    ("decision", "reply"),
    [("answered", "It is."), ("refused", "Ask for 5 groups."), ("released", "-0.25 (0.004)")],
)
def test_a_request_is_answered_and_its_owner_reads_it(service, world, decision, reply):
    _, who, digest = world
    made = asked(service, who["ada"], digest)
    assert (made.state, made.name, json.loads(made.content)["ask"]) == ("open", "ada", {
        **GAP["ask"], "above": None, "between": None})  # fmt: skip
    assert (made.reply, made.steward, made.closed) == ("", None, None)
    close_request(service, who["sam"], made.id, decision, f" {reply}\r\n")
    found = find_request(service, who["ada"], made.id)
    assert (found.state, found.reply, found.steward) == (decision, reply, "sam")
    assert found.closed >= found.made


@pytest.mark.parametrize(
    ("decision", "reply"),
    [
        ("answered", "It is 3."),
        ("answered", "٣"),
        ("refused", ""),
        ("released", " \n "),
        ("released", "x" * (LONGEST["reply"] + 1)),
        ("withdrawn", "x"),
        ("open", "x"),
        ("", "x"),
    ],
)
def test_what_does_not_fit_together_is_refused(service, world, decision, reply):
    _, who, digest = world
    made = asked(service, who["ada"], digest)
    with pytest.raises(RequestError) as error:
        close_request(service, who["sam"], made.id, decision, reply)
    assert (error.value.status, len(error.value.problems)) == (422, 1)
    assert find_request(service, who["ada"], made.id) == made


def test_a_closed_request_stays_as_it_is(service, world):
    _, who, digest = world
    made = asked(service, who["ada"], digest)
    close_request(service, who["ada"], made.id, "withdrawn")
    closed = find_request(service, who["ada"], made.id)
    assert (closed.state, closed.steward) == ("withdrawn", None)
    for again in (
        lambda: close_request(service, who["ada"], made.id, "withdrawn"),
        lambda: close_request(service, who["sam"], made.id, "released", "7"),
    ):
        with pytest.raises(RequestError) as error:
            again()
        assert error.value.status == 409
    assert find_request(service, who["ada"], made.id) == closed


def test_lengths_at_both_ends(service, world):
    _, who, digest = world
    longest = asked(service, who["ada"], digest, "é" * LONGEST["reason"], "x" * LONGEST["code"])
    assert (len(longest.reason), len(longest.code)) == (LONGEST["reason"], LONGEST["code"])
    least = asked(service, who["ada"], digest, " a\r\n", "b")
    assert (least.reason, least.code) == ("a", "b")
    for reason, code, problems in (
        ("", "", 2),
        ("é" * (LONGEST["reason"] + 1), "x", 1),
        ("x", "x" * (LONGEST["code"] + 1), 1),
    ):
        with pytest.raises(RequestError) as error:
            asked(service, who["ada"], digest, reason, code)
        assert (error.value.status, len(error.value.problems)) == (422, problems)


def test_an_account_has_so_many_open_requests(service, world):
    _, who, digest = world
    first, *_ = [asked(service, who["ada"], digest, code=str(n)) for n in range(MOST_OPEN)]
    with pytest.raises(RequestError) as error:
        asked(service, who["ada"], digest)
    assert error.value.status == 429
    assert asked(service, who["bob"], digest).name == "bob"  # the limit is of each
    close_request(service, who["ada"], first.id, "withdrawn")
    asked(service, who["ada"], digest)


def test_what_is_sent_twice_is_one_request_while_it_is_open(service, world, browser):
    _, who, digest = world
    form = f"/datasets/panel/dry-runs/{digest}/ask-a-person"
    http, typed = browser("ada"), {"reason": "It decides.\n", "code": "fit"}
    sent = [post(http, form, form, **typed) for _ in range(2)]
    first = list_requests(service, who["ada"])[0].id
    assert [reply.headers["location"] for reply in sent] == [f"/requests/{first}"] * 2
    other = asked(service, who["ada"], digest, reason="It decides.", code="another")
    own = asked(service, who["bob"], digest, reason="It decides.", code="fit")
    close_request(service, who["ada"], first, "withdrawn")
    again = asked(service, who["ada"], digest, reason="It decides.", code="fit")
    assert len({first, other.id, own.id, again.id}) == 4
    assert len(list_requests(service, who["sam"])) == 4


def test_there_is_a_dry_run_first(service, world):
    with pytest.raises(RequestError) as error:
        asked(service, world[1]["ada"], "0" * 64)
    assert error.value.status == 404


def test_lists_are_read_part_by_part(service, world, monkeypatch):
    _, who, digest = world
    senders = enumerate(("ada", "bob", "ada", "ada"))
    made = [asked(service, who[name], digest, code=str(n)).id for n, name in senders]
    assert [one.id for one in list_requests(service, who["ada"])] == [made[3], made[2], made[0]]
    monkeypatch.setattr(person_requests, "LISTED", 3)
    parts, before = [], None
    while part := list_requests(service, who["sam"], before=before):
        parts.append([one.id for one in part])
        before = part[-1].made
    assert parts == [made[:0:-1], made[:1]]
    close_request(service, who["ada"], made[2], "withdrawn")
    still = list_requests(service, who["root"], open_only=True)
    assert [one.id for one in still] == [made[3], made[1], made[0]]


def test_every_step_is_in_the_log_without_a_word_of_it(service, world):
    _, who, digest = world
    made = asked(service, who["ada"], digest, f"why {SECRET}", f"code {SECRET} longer")
    close_request(service, who["sam"], made.id, "released", f"n = {SECRET}")
    second = asked(service, who["bob"], digest)
    close_request(service, who["bob"], second.id, "withdrawn")
    entries = [one for one in log(service) if "request" in one.details][::-1]
    assert [(one.actor, one.action, one.dataset, dict(one.details)) for one in entries] == [
        ("ada", "person asked", "panel",
         {"request": made.id, "query": digest, "reason": 10, "code": 18}),
        ("sam", "request released", "panel",
         {"request": made.id, "state": "released", "reply": 10}),
        ("bob", "person asked", "panel",
         {"request": second.id, "query": digest, "reason": 19, "code": 12}),
        ("bob", "request withdrawn", "panel",
         {"request": second.id, "state": "withdrawn", "reply": 0}),
    ]  # fmt: skip
    assert SECRET not in json.dumps([dict(one.details) for one in log(service)])


def test_a_step_that_fails_is_not_in_the_log(service, world):
    _, who, digest = world
    made, before = asked(service, who["ada"], digest), len(log(service))
    with pytest.raises(RequestError):
        close_request(service, who["sam"], made.id, "answered", "3")
    with pytest.raises(RequestError):
        asked(service, who["ada"], digest, reason="")
    assert len(log(service)) == before


def test_two_stewards_cannot_both_reply(service, world, monkeypatch):
    """The second one wrote while the first reply came; the state is looked at with the change."""
    _, who, digest = world
    made = asked(service, who["ada"], digest)
    row = person_requests._row

    def slow(store, account, number):
        found = row(store, account, number)
        if account.name == "root":
            monkeypatch.undo()
            values = {"state": "answered", "reply": "first"}
            store.execute(update(PERSON_REQUEST).values(values))
        return found

    monkeypatch.setattr(person_requests, "_row", slow)
    with pytest.raises(RequestError) as error:
        close_request(service, who["root"], made.id, "released", "second")
    assert error.value.status == 409


# Roles and owners


PAGES = {
    "form": ("GET", "/datasets/panel/dry-runs/{digest}/ask-a-person", {"ada", "bob"}),
    "list": ("GET", "/requests", set(ROLES)),
    "read": ("GET", "/requests/{request}", {"ada", "sam", "root"}),
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", ROLES)
def test_pages_by_role_and_owner(service, world, browser, page, name):
    _, who, digest = world
    made = asked(service, who["ada"], digest)
    _, path, may = PAGES[page]
    http = browser(name)
    there = http.get(path.format(digest=digest, request=made.id))
    absent = http.get(path.format(digest="0" * 64, request="0" * 32))
    if name in may:
        assert there.status_code == 200
        assert absent.status_code == (404 if "{" in path else 200)
    else:
        assert there.status_code in (403, 404)
        told = (made.id, digest, "0" * 32, "0" * 64)
        texts = [re.sub("|".join(told), "", reply.text) for reply in (there, absent)]
        assert (there.status_code, texts[0]) == (absent.status_code, texts[1])


def test_forms_need_the_token_of_their_session_and_the_role(service, world, browser):
    _, who, digest = world
    made = asked(service, who["ada"], digest)
    forms = {
        f"/datasets/panel/dry-runs/{digest}/ask-a-person": {"reason": "why", "code": "x"},
        f"/requests/{made.id}/withdraw": {},
        f"/requests/{made.id}": {"decision": "released", "reply": "7"},
    }
    for name in ROLES:
        http = browser(name)
        for path, form in forms.items():
            for csrf in ({}, {"csrf": ""}, {"csrf": "0" * 43}):
                assert http.post(path, data={**form, **csrf}).status_code == 403, (name, path)
    assert http.get("/requests").status_code == 200  # control: root is signed in
    withdraw = f"/requests/{made.id}/withdraw"
    assert post(browser("bob"), "/requests", withdraw).status_code == 404
    assert post(browser("sam"), "/requests", withdraw).status_code == 403
    assert find_request(service, who["ada"], made.id).state == "open"


# Pages


def test_the_way_of_a_request_through_the_pages(service, world, browser):
    _, who, digest = world
    ada, sam = browser("ada"), browser("sam")
    page = f"/datasets/panel/dry-runs/{digest}/ask-a-person"
    text = html.unescape(ada.get(page).text)
    query = service.find_dry_run(who["ada"], "panel", digest).query
    assert code_of(query, service.datasets["panel"].schema) in text
    sent = post(ada, page, page, reason=HOSTILE, code=HOSTILE)
    assert sent.status_code == 303
    path = sent.headers["location"]
    assert path in sam.get("/requests").text
    assert path not in browser("bob").get("/requests").text
    assert path in ada.get("/requests").text
    assert all(f'value="{decision}"' in sam.get(path).text for decision in REPLIES)
    assert 'name="decision"' not in ada.get(path).text
    wrong = post(sam, path, path, decision="answered", reply=f"{HOSTILE} 3")
    assert wrong.status_code == 422
    assert 'value="answered" required checked' in wrong.text
    assert "{{ 77*7777 }}" in html.unescape(wrong.text)
    assert post(sam, path, path, decision="destroyed", reply="x").status_code == 422
    done = post(sam, path, path, decision="released", reply=HOSTILE)
    assert done.headers["location"] == path
    for http in (ada, sam):
        shown = http.get(path)
        assert shown.status_code == 200
        assert NOT_PRIVATE in shown.text
        assert shown.headers["content-security-policy"].startswith("default-src 'none'")
        for markup in ("<script>alert", "</textarea></pre>", "598829", "‮", "style="):
            assert markup not in shown.text.partition("<main")[2], markup
    assert path not in sam.get("/requests").text
    assert path in sam.get("/requests?closed=true").text
    assert path in ada.get("/requests").text
    for strange in ("x", "2026-01-02T00:00:00", "2026-01-02T00:00:00+00:00%00"):
        assert ada.get(f"/requests?before={strange}").status_code in (400, 404)


def test_the_link_to_older_requests_leads_to_them(service, world, browser, monkeypatch):
    _, who, digest = world
    made = [asked(service, who["ada"], digest, code=str(n)).id for n in range(3)]
    monkeypatch.setattr(person_requests, "LISTED", 2)
    for name, start in (("ada", "/requests"), ("sam", "/requests?closed=true")):
        http = browser(name)
        page = http.get(start).text
        older = html.unescape(re.search(r'href="([^"]*before=[^"]*)"', page)[1])
        assert [number in page for number in made] == [False, True, True]
        assert [number in http.get(older).text for number in made] == [True, False, False]


def test_only_researchers_see_the_link_to_the_form(world, browser):
    page = f"/datasets/panel/dry-runs/{world[2]}"
    shown = {name: "Ask a person instead" in browser(name).get(page).text for name in ROLES}
    assert shown == {"ada": True, "bob": True, "sam": False, "root": False}


def test_a_form_that_is_refused_shows_what_was_typed(world, browser):
    _, _, digest = world
    http, page = browser("ada"), f"/datasets/panel/dry-runs/{digest}/ask-a-person"
    reply = post(http, page, page, reason="", code=HOSTILE)
    assert reply.status_code == 422
    assert html.unescape(reply.text).count("{{ 77*7777 }}") == 1
    assert post(http, page, page, reason="a\0b", code="x").status_code == 400
    assert list_requests(world[0].state.service, world[1]["ada"]) == []


def test_what_is_stored_comes_back(service, world):
    made = asked(service, world[1]["ada"], world[2], HOSTILE, HOSTILE)
    assert (made.reason, made.code) == (HOSTILE, HOSTILE)


def test_the_api_has_no_requests(app):
    assert [path for path in app.openapi()["paths"] if "requests" in path] == []


def test_the_table_is_made_on_both_databases(database):
    """SQLite and PostgreSQL; the checks of the table are the database's."""
    row = {"id": "0" * 32, "account": 1, "dataset": "d", "query": "0" * 64, "reason": "r",
           "code": "c", "state": "lost", "made": now()}  # fmt: skip
    with pytest.raises(IntegrityError), database.begin() as store:
        store.execute(insert(PERSON_REQUEST).values(row))
    with database.begin() as store:
        assert store.execute(select(PERSON_REQUEST)).all() == []


# The draft of the code


@pytest.mark.parametrize("name", ["interval", "subset", "logit", "counts", "means"])
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_draft_runs_in_r_and_finds_what_is_asked(tmp_path, schema, name):
    printed = run(tmp_path, schema, QUESTIONS[name])
    if name == "interval":
        found = float(re.search(r"^sexF\s+(-[\d.e-]+)", printed, re.MULTILINE)[1])
        assert found == pytest.approx(gap(tmp_path), abs=1e-6)
    if name == "counts":
        rows = people(100, 3).groupby(["sex", "race"]).size()
        assert sorted(map(int, re.findall(r" (\d+)", printed))) == sorted(rows)


def gap(folder):
    """Return the coefficient by dummies and least squares."""
    import numpy as np
    import pandas as pd

    data = pd.read_csv(folder / "confidential.csv")
    dummies = pd.get_dummies(data[["agency", "year"]].astype(str), drop_first=True).to_numpy(float)
    columns = [np.ones(len(data)), data["sex"] == "F", data["age"], *dummies.T]
    return np.linalg.lstsq(np.column_stack(columns), np.log(data["pay"]), rcond=None)[0][1]


def run(folder, schema, question):
    content = {key: value for key, value in {**GAP, **question}.items() if value is not None}
    people(100, 3).to_csv(folder / "confidential.csv", index=False)
    (folder / "code.R").write_text(code_of(query_of(content).content(), schema))
    ran = subprocess.run(["Rscript", "code.R"], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_names_and_texts_are_quoted(schema):
    odd = {"kind": "categorical", "levels": ['a"b\\', "and"]}
    variables = {**schema.model_dump()["variables"], "odd name": odd}
    wide = type(schema).model_validate(
        {**schema.model_dump(), "variables": variables}, strict=False
    )
    query = {
        "formula": "pay ~ `odd name`", "subset": "`odd name` == 'and' and not sex in ['F']",
        "ask": {"measure": "interval", "coefficient": "odd name[and]"},
    }  # fmt: skip
    assert code_of(query, wide).splitlines() == [
        'data <- read.csv("confidential.csv")',
        "data <- subset(data, `odd name` == 'and' & !sex %in% c('F'))",
        'data[["odd name"]] <- relevel(factor(data[["odd name"]]), "a\\"b\\\\")',
        "print(coef(summary(lm(pay ~ `odd name`, data = data))))",
    ]
