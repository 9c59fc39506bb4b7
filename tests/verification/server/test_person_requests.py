"""Questions to a person: who may do what, what the log contains, both ends of every length."""

import html
import json
import re
import shutil
import subprocess
import sys

import pytest
from fastapi.testclient import TestClient
from replay_trials import GAP, QUESTIONS, people
from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError
from synthesizer.verification.server.server_tables import PERSON_REQUEST

from synthesizer.data.errors import RequestError
from synthesizer.verification.database import now, transaction
from synthesizer.verification.query import query_of
from synthesizer.verification.request_code import MOST_LEVELS, code_of
from synthesizer.verification.server import audit, person_requests
from synthesizer.verification.server.person_requests import (
    LONGEST_CODE,
    LONGEST_REASON,
    LONGEST_REPLY,
    MOST_OPEN,
    NOT_PRIVATE,
    ask_person,
    find_request,
    list_requests,
    reply_to_request,
    withdraw_request,
)

API = "/api/v1"
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
def api(world, accounts):
    """Return a function that sends a request of somebody to the API."""
    app, who, _ = world
    tokens = {name: accounts.new_token(one, "test", actor="test") for name, one in who.items()}
    http = TestClient(app, raise_server_exceptions=False)

    def send(name, method, path, **body):
        headers = {"Authorization": f"Bearer {tokens[name]}"} if name else {}
        return http.request(method, f"{API}{path}", headers=headers, json=body or None)

    return send


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
    return ask_person(service, account, "panel", digest, reason=reason, code=code)


def log(service):
    with transaction(service.engine, reads=True) as store:
        return audit.entries(store)


# Steps and states


def test_a_request_is_answered_and_its_owner_reads_it(service, world):
    _, who, digest = world
    made = asked(service, who["ada"], digest)
    assert (made.state, made.user, made.query["ask"]) == ("open", "ada", {
        **GAP["ask"], "above": None, "between": None})  # fmt: skip
    assert (made.reply, made.note, made.steward, made.closed) == ("", "", None, None)
    reply_to_request(service, who["sam"], made.id, "answered", reply="It is.", verdict="yes")
    found = find_request(service, who["ada"], made.id)
    assert (found.state, found.verdict, found.reply) == ("answered", "yes", "It is.")
    assert (found.note, found.steward) == (NOT_PRIVATE, "sam")
    assert found.closed >= found.made


@pytest.mark.parametrize("decision", ["refused", "released"])
def test_numbers_are_released_or_refused_with_the_note(service, world, decision):
    _, who, digest = world
    made = asked(service, who["ada"], digest)
    found = reply_to_request(service, who["sam"], made.id, decision, reply="-0.25 (0.004)")
    assert (found.state, found.verdict, found.note) == (decision, "", NOT_PRIVATE)


@pytest.mark.parametrize(
    ("decision", "verdict", "reply", "problems"),
    [
        ("answered", "", "Yes.", 1),
        ("answered", "yes", "It is 3.", 1),
        ("answered", "yes", "٣", 1),
        ("answered", "", "3", 2),
        ("refused", "no", "No.", 1),
        ("released", "yes", "", 2),
        ("released", "", " \n ", 1),
        ("released", "", "x" * (LONGEST_REPLY + 1), 1),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(service, world, decision, verdict, reply, problems):
    _, who, digest = world
    made = asked(service, who["ada"], digest)
    with pytest.raises(RequestError) as error:
        reply_to_request(service, who["sam"], made.id, decision, reply=reply, verdict=verdict)
    assert (error.value.status, len(error.value.problems)) == (422, problems)
    assert find_request(service, who["ada"], made.id).state == "open"


def test_a_closed_request_stays_as_it_is(service, world):
    _, who, digest = world
    made = asked(service, who["ada"], digest)
    closed = withdraw_request(service, who["ada"], made.id)
    assert (closed.state, closed.steward) == ("withdrawn", None)
    for again in (
        lambda: withdraw_request(service, who["ada"], made.id),
        lambda: reply_to_request(service, who["sam"], made.id, "released", reply="7"),
    ):
        with pytest.raises(RequestError) as error:
            again()
        assert error.value.status == 409
    assert find_request(service, who["ada"], made.id) == closed


def test_lengths_at_both_ends(service, world):
    _, who, digest = world
    longest = asked(service, who["ada"], digest, "é" * LONGEST_REASON, "x" * LONGEST_CODE)
    assert (len(longest.reason), len(longest.code)) == (LONGEST_REASON, LONGEST_CODE)
    least = asked(service, who["ada"], digest, " a\r\n", "b")
    assert (least.reason, least.code) == ("a", "b")
    for reason, code, problems in (
        ("", "", 2),
        ("é" * (LONGEST_REASON + 1), "x", 1),
        ("x", "x" * (LONGEST_CODE + 1), 1),
    ):
        with pytest.raises(RequestError) as error:
            asked(service, who["ada"], digest, reason, code)
        assert (error.value.status, len(error.value.problems)) == (422, problems)


def test_an_account_has_so_many_open_requests(service, world):
    _, who, digest = world
    first, *_ = [asked(service, who["ada"], digest) for _ in range(MOST_OPEN)]
    with pytest.raises(RequestError) as error:
        asked(service, who["ada"], digest)
    assert error.value.status == 429
    assert asked(service, who["bob"], digest).user == "bob"  # the limit is of each
    withdraw_request(service, who["ada"], first.id)
    asked(service, who["ada"], digest)


def test_there_is_a_dry_run_first(service, world):
    with pytest.raises(RequestError) as error:
        asked(service, world[1]["ada"], "0" * 64)
    assert error.value.status == 404


def test_lists_are_read_part_by_part(service, world):
    _, who, digest = world
    made = [asked(service, who[name], digest).id for name in ("ada", "bob", "ada", "ada")]
    assert [one.id for one in list_requests(service, who["ada"])] == [made[3], made[2], made[0]]
    parts, before = [], ""
    while part := list_requests(service, who["sam"], everybody=True, before=before, limit=3):
        parts.append([one.id for one in part])
        before = part[-1].id
    assert parts == [made[:0:-1], made[:1]]
    withdraw_request(service, who["ada"], made[2])
    still = list_requests(service, who["sam"], everybody=True, open_only=True)
    assert [one.id for one in still] == [made[3], made[1], made[0]]
    assert list_requests(service, who["root"]) == []


def test_every_step_is_in_the_log_without_a_word_of_it(service, world):
    _, who, digest = world
    made = asked(service, who["ada"], digest, f"why {SECRET}", f"code {SECRET} longer")
    reply_to_request(service, who["sam"], made.id, "released", reply=f"n = {SECRET}")
    second = asked(service, who["bob"], digest)
    withdraw_request(service, who["bob"], second.id)
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
        reply_to_request(service, who["sam"], made.id, "answered", reply="3", verdict="yes")
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
            values = {"state": "answered", "reply": "first", "verdict": "no"}
            store.execute(update(PERSON_REQUEST).values(values))
        return found

    monkeypatch.setattr(person_requests, "_row", slow)
    with pytest.raises(RequestError) as error:
        person_requests._close(service, who["root"], made.id, "released", reply="second")
    assert error.value.status == 409


# Roles and owners


CALLS = {
    "send": ("POST", "/datasets/panel/dry-runs/{digest}/requests",
             {"reason": "why", "code": "x"}, {"ada", "bob"}),
    "own": ("GET", "/requests", {}, set(ROLES)),
    "read": ("GET", "/requests/{request}", {}, {"ada", "sam", "root"}),
    "withdraw": ("DELETE", "/requests/{request}", {}, {"ada"}),
    "all": ("GET", "/steward/requests", {}, {"sam", "root"}),
    "reply": ("POST", "/steward/requests/{request}",
              {"decision": "released", "reply": "7"}, {"sam"}),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", [None, *ROLES])
def test_operations_by_role_and_owner(service, world, api, call, name):
    _, who, digest = world
    made = asked(service, who["ada"], digest)
    method, path, body, may = CALLS[call]

    def send(number, of):
        return api(name, method, path.format(request=number, digest=of), **body)

    there, absent = send(made.id, digest), send("0" * 32, "0" * 64)
    if name is None:
        assert (there.status_code, absent.status_code) == (401, 401)
    elif name in may:
        assert there.status_code in (200, 201)
        assert absent.status_code == (404 if "{" in path else 200)
    else:
        assert there.status_code in (403, 404)
        assert (there.status_code, there.content) == (absent.status_code, absent.content)
        assert sorted(there.headers.items()) == sorted(absent.headers.items())
        assert find_request(service, who["ada"], made.id).state == "open"


def test_the_roles_of_the_api_are_those_of_its_document(app):
    document = app.openapi()["paths"]
    requests = {
        (method.upper(), path.removeprefix(API))
        for path, methods in document.items() if "requests" in path
        for method in methods
    }  # fmt: skip
    assert requests == {
        (method, path.replace("panel", "{dataset}")) for method, path, *_ in CALLS.values()
    }


PAGES = {
    "form": ("GET", "/datasets/panel/dry-runs/{digest}/ask-a-person", {"ada", "bob"}),
    "list": ("GET", "/requests", set(ROLES)),
    "read": ("GET", "/requests/{request}", {"ada", "sam", "root"}),
    "queue": ("GET", "/steward/requests", {"sam", "root"}),
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
        f"/steward/requests/{made.id}": {"decision": "released", "reply": "7"},
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
    assert path in sam.get("/steward/requests").text
    assert path in ada.get("/requests").text
    reply = f"/steward{path}"
    wrong = post(sam, path, reply, decision="answered", verdict="yes", reply=f"{HOSTILE} 3")
    assert wrong.status_code == 422
    assert "{{ 77*7777 }}" in html.unescape(wrong.text)
    assert post(sam, path, reply, decision="destroyed", reply="x").status_code == 422
    done = post(sam, path, reply, decision="released", reply=HOSTILE)
    assert done.headers["location"] == path
    for http in (ada, sam):
        shown = http.get(path)
        assert shown.status_code == 200
        assert NOT_PRIVATE in shown.text
        assert shown.headers["content-security-policy"].startswith("default-src 'none'")
        for markup in ("<script>alert", "</textarea></pre>", "598829", "‮", "style="):
            assert markup not in shown.text.partition("<main")[2], markup
    assert path not in sam.get("/steward/requests").text
    assert path in sam.get("/steward/requests?closed=true").text


def test_a_form_that_is_refused_shows_what_was_typed(world, browser):
    _, _, digest = world
    http, page = browser("ada"), f"/datasets/panel/dry-runs/{digest}/ask-a-person"
    reply = post(http, page, page, reason="", code=HOSTILE)
    assert reply.status_code == 422
    assert html.unescape(reply.text).count("{{ 77*7777 }}") == 1
    assert post(http, page, page, reason="a\0b", code="x").status_code == 400
    assert list_requests(world[0].state.service, world[1]["ada"]) == []


def test_the_api_takes_no_text_that_a_database_cannot_store(api, world):
    path = f"/datasets/panel/dry-runs/{world[2]}/requests"
    assert api("ada", "POST", path, reason="a\0b", code="x").status_code == 400
    for body in ({"reason": 1, "code": "x"}, {"reason": "x"}, {"reason": "x", "code": "", "z": 1}):
        assert api("ada", "POST", path, **body).status_code == 422


def test_what_is_stored_comes_back(api, world):
    made = api("ada", "POST", f"/datasets/panel/dry-runs/{world[2]}/requests",
               reason=HOSTILE, code=HOSTILE).json()  # fmt: skip
    assert (made["reason"], made["code"]) == (HOSTILE, HOSTILE)
    assert api("ada", "GET", f"/requests/{made['id']}").json() == made
    assert api("ada", "GET", "/requests?limit=1").json() == {"items": [made], "next": made["id"]}


def test_the_table_is_made_on_both_databases(database):
    """SQLite and PostgreSQL; the checks of the table are the database's."""
    row = {"id": "0" * 32, "account": 1, "dataset": "d", "query": "0" * 64, "reason": "r",
           "code": "c", "state": "lost", "made": now()}  # fmt: skip
    with pytest.raises(IntegrityError), database.begin() as store:
        store.execute(insert(PERSON_REQUEST).values(row))
    with database.begin() as store:
        assert store.execute(select(PERSON_REQUEST)).all() == []


# The draft of the code


@pytest.mark.parametrize("name", ["interval", "logit", "counts"])
def test_the_draft_runs_in_python_and_finds_what_is_asked(tmp_path, schema, name):
    pytest.importorskip("statsmodels")
    _, printed = run(tmp_path, schema, QUESTIONS[name], "python")
    if name == "interval":
        assert float(re.search(r"sex\[T.F\]\s+(-[\d.]+)", printed)[1]) == pytest.approx(
            gap(tmp_path), abs=1e-6
        )
    if name == "counts":
        rows = people(100, 3).groupby(["race", "sex"]).size()
        assert [int(n) for n in re.findall(r"(\d+)$", printed, re.M)][: len(rows)] == [*rows]


@pytest.mark.parametrize("name", ["interval", "subset", "logit", "means"])
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_draft_runs_in_r_too(tmp_path, schema, name):
    _, printed = run(tmp_path, schema, QUESTIONS[name], "r")
    if name == "interval":
        assert float(re.search(r"(-[\d.e-]+)", printed)[1]) == pytest.approx(
            gap(tmp_path), abs=1e-6
        )


def gap(folder):
    """Return the coefficient by dummies and least squares."""
    import numpy as np
    import pandas as pd

    data = pd.read_csv(folder / "confidential.csv")
    dummies = pd.get_dummies(data[["agency", "year"]].astype(str), drop_first=True).to_numpy(float)
    columns = [np.ones(len(data)), data["sex"] == "F", data["age"], *dummies.T]
    return np.linalg.lstsq(np.column_stack(columns), np.log(data["pay"]), rcond=None)[0][1]


def run(folder, schema, question, language):
    content = {key: value for key, value in {**GAP, **question}.items() if value is not None}
    code = code_of(query_of(content).content(), schema)
    in_r, in_python = code.split("# Python\n")
    people(100, 3).to_csv(folder / "confidential.csv", index=False)
    program, text = {"r": (["Rscript"], in_r), "python": ([sys.executable], in_python)}[language]
    (folder / "code").write_text(text)
    ran = subprocess.run([*program, "code"], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return code, ran.stdout


def test_names_and_texts_are_quoted(schema):
    many = {"kind": "categorical", "levels": [f"l{n}" for n in range(MOST_LEVELS + 1)]}
    odd = {"kind": "categorical", "levels": ['a"b\\', "and"]}
    variables = {**schema.model_dump()["variables"], "many": many, "odd name": odd}
    wide = type(schema).model_validate(
        {**schema.model_dump(), "variables": variables}, strict=False
    )
    query = {
        "formula": "pay ~ `odd name` + many", "subset": "`odd name` == 'and' and not sex in ['F']",
        "ask": {"measure": "interval", "coefficient": "odd name[and]"},
    }  # fmt: skip
    code = code_of(query, wide)
    assert "subset(data, `odd name` == 'and' & !sex %in% c('F'))" in code
    assert (
        'data[["odd name"]] <- factor(data[["odd name"]], levels = c("a\\"b\\\\", "and"))' in code
    )
    assert "\"pay ~ Q('odd name') + many\"" in code
    assert "l0" not in code
    assert code.splitlines()[5] == "print(coef(summary(fit)))"
