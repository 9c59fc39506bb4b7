"""Questions to a person: who may do what, what the log contains, both ends of every length."""

import html
import json
import re
import shutil
import subprocess

import pandas as pd
import pytest
from fastapi.testclient import TestClient
from replay_trials import GAP, QUESTIONS, people
from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from synthesizer.data.errors import RequestError
from synthesizer.verification.database import now, transaction
from synthesizer.verification.public_schema import PublicSchema, strictly
from synthesizer.verification.query import query_of
from synthesizer.verification.questions import view_of
from synthesizer.verification.server import audit, person_requests
from synthesizer.verification.server.person_requests import (
    LONGEST,
    MOST_OPEN,
    REPLIES,
    ask_person,
    close_request,
    code_of,
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

# What sandwich::vcovCL does by default (HC1 with the factor of clusters), with base R alone.
SANDWICH = """
vcovCL <- function(model, cluster) {
  X <- model.matrix(model)
  person <- data[rownames(X), all.vars(cluster)]
  is_glm <- inherits(model, "glm")
  rest <- if (is_glm) residuals(model, "response") else residuals(model)
  bread <- if (is_glm) summary(model)$cov.unscaled else solve(crossprod(X))
  sums <- rowsum(X * rest, person)
  g <- nrow(sums)
  n <- nrow(X)
  g / (g - 1) * (n - 1) / (n - ncol(X)) * bread %*% crossprod(sums) %*% bread
}
"""
R = pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")


@R
@pytest.mark.parametrize("name", ["interval", "subset", "logit"])
def test_a_draft_of_a_model_finds_coefficient_and_clustered_error_in_r(tmp_path, schema, name):
    query = query_of({key: v for key, v in {**GAP, **QUESTIONS[name]}.items() if v is not None})
    code = code_of(query.content(), schema)
    assert "sandwich::vcovCL(model, cluster = ~ `person`)" in code
    printed = run(tmp_path, SANDWICH + code.replace("sandwich::vcovCL", "vcovCL"))
    read = re.search(r"^sexF\s+(-?[\d.e+-]+)\s+([\d.e+-]+)", printed, re.MULTILINE)
    view = view_of(tmp_path / "confidential.csv", schema, query, bytes(32))
    estimate, error = query.ask.estimate(query, schema, view)
    assert [float(read[1]), float(read[2])] == pytest.approx([estimate, error], rel=1e-4)


@R
@pytest.mark.parametrize("by", [("sex", "race"), ("year",), ()])
def test_a_draft_of_counts_has_every_person_with_a_row_in_the_cell(tmp_path, schema, by):
    printed = run(tmp_path, code_of({"ask": {"measure": "counts", "by": [*by]}}, schema))
    data = pd.read_csv(tmp_path / "confidential.csv")
    expected = data.groupby([*by]).person.nunique() if by else [data.person.nunique()]
    numbers = [*map(int, re.findall(r"\b\d+", printed))]
    assert sorted(numbers[-len(expected) :]) == sorted(expected)


@R
def test_a_draft_reads_codes_levels_and_ranges_as_the_public_schema_does(tmp_path):
    """Missing codes, a code that is another variable's level, numbers beyond the range, 1.0 for 1,
    a semicolon and a decimal comma."""
    public = strictly(PublicSchema, {
        "person": "id", "file": {"delimiter": ";", "decimal_mark": ","}, "variables": {
            "pay": {"kind": "numeric", "low": 0, "high": 100, "missing": ["-8"]},
            "temp": {"kind": "numeric", "low": -10, "high": 10, "missing": ["NA"]},
            "code": {"kind": "categorical", "levels": ["1", "2", "NA"], "missing": ["9"]},
            "born": {"kind": "date", "low": "1950-01-01", "high": "2000-12-31",
                     "date_format": "%d.%m.%Y", "missing": ["01.01.1900"]},
        }})  # fmt: skip
    (tmp_path / "confidential.csv").write_text(
        "id;pay;temp;code;born\na;-8;-8;1.0;01.01.1900\nb;250,5;NA;9;31.01.1960\n"
        "c;2,5;20;NA;31.01.1940\nd;x;;2;\n"
    )
    formula = "pay ~ temp + code + I(year(born))"
    query = {"formula": formula, "subset": "pay > -1",
             "ask": {"measure": "claim", "coefficient": "temp", "above": 0}}  # fmt: skip
    code = code_of(query, public).partition("data <- subset")[0]
    shown = "for (n in c('pay', 'temp', 'code', 'born')) cat(n, as.character(data[[n]]), '\n')"
    printed = run(tmp_path, code + shown, people_too=False)
    assert [line.split() for line in printed.splitlines()] == [
        ["pay", "NA", "100", "2.5", "NA"], ["temp", "-8", "NA", "10", "NA"],
        ["code", "1", "NA", "NA", "2"], ["born", "NA", "1960-01-31", "1950-01-01", "NA"],
    ]  # fmt: skip
    assert "levels" not in printed


@R
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("file", ["c.csv", "c.parquet", "."])
def test_every_draft_is_r_and_reads_the_kind_of_the_file(tmp_path, schema, name, file):
    content = {key: one for key, one in {**GAP, **QUESTIONS[name]}.items() if one is not None}
    path = tmp_path if file == "." else tmp_path / file
    code = code_of(query_of(content).content(), schema, path)
    assert ("arrow::read_parquet" in code) == (file != "c.csv")
    assert ("read.csv" in code) == (file == "c.csv")
    assert str(tmp_path) not in code
    (tmp_path / "code.R").write_text(code)
    ran = subprocess.run(["Rscript", "-e", 'length(parse("code.R"))'], cwd=tmp_path,
                         capture_output=True, text=True)  # fmt: skip
    assert ran.returncode == 0, ran.stderr


@R
def test_a_draft_of_means_clips_where_the_question_does(tmp_path, schema):
    ask = {"measure": "means", "of": "pay", "by": ["sex"], "low": 20_000, "high": 30_000}
    printed = run(tmp_path, code_of({"ask": ask}, schema))
    data = pd.read_csv(tmp_path / "confidential.csv")
    expected = data.assign(pay=data.pay.clip(20_000, 30_000)).groupby("sex").pay.mean()
    found = re.findall(r"[FM]\s+([\d.]+)", printed)
    assert [*map(float, found)] == pytest.approx(expected.tolist(), rel=1e-5)


def run(folder, code, people_too=True):
    if people_too:
        people(100, 3).to_csv(folder / "confidential.csv", index=False)
    (folder / "code.R").write_text("options(digits = 9)\n" + code)
    ran = subprocess.run(["Rscript", "code.R"], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_draft_with_constants_of_persons_uses_fixest(schema):
    query = {"formula": "pay ~ age | person + year",
             "ask": {"measure": "claim", "coefficient": "age", "above": 0}}  # fmt: skip
    last = code_of(query, schema).splitlines()[-1].partition("  #")[0]
    assert last == (
        "print(fixest::feols(pay ~ age | `person` + `year`, data = data, cluster = ~ `person`))"
    )


def test_names_and_texts_are_quoted(schema):
    odd = {"kind": "categorical", "levels": ['a"b\\', "and"]}
    variables = {**schema.model_dump()["variables"], "odd name": odd}
    wide = type(schema).model_validate(
        {**schema.model_dump(), "variables": variables}, strict=False
    )
    query = {
        "formula": "pay ~ `odd name`", "subset": "`odd name` == 'and' and not sex in ['F']",
        "ask": {"measure": "interval", "coefficient": "odd name[and]", "above": 0},
    }  # fmt: skip
    lines = code_of(query, wide).splitlines()
    at = lines.index("data <- subset(data, `odd name` == 'and' & (!sex %in% c('F')))")
    assert lines[at - 2 : at + 3] == [
        'data[["odd name"]] <- as_level(data[["odd name"]], c("a\\"b\\\\", "and"))',
        "",
        lines[at],
        'data[["odd name"]] <- relevel(factor(data[["odd name"]], ordered = FALSE), "a\\"b\\\\")',
        "model <- lm(pay ~ `odd name`, data = data)",
    ]
