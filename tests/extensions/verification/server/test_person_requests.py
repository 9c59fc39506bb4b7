"""Questions to a person: who may do what, what the log contains, both ends of every length."""

import html
import json
import re
import shutil
import subprocess

import pytest
from replay_trials import GAP, QUESTIONS, people
from sqlalchemy import update

from synthesizer.extensions.verification.messages import RequestError
from synthesizer.extensions.verification.public_schema import PublicSchema, strictly
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.questions import view_of
from synthesizer.extensions.verification.server import person_requests
from synthesizer.extensions.verification.server.person_requests import (
    MAX_CHARACTERS,
    MAX_OPEN_REQUESTS,
    ask_person,
    close_request,
    code_of,
    find_request,
    list_requests,
)
from synthesizer.extensions.verification.server.server_tables import PERSON_REQUEST
from tests.extensions.verification.server.conftest import log_of

NOT_PRIVATE = "Not covered by differential privacy; reviewed by a person."
HOSTILE = "<script>alert('x')</script> \"&amp; {{ 77*7777 }} </textarea></pre> ‮ \\ $x `y` %s\n\tend"
CANARY = "417321"
ROLES = {"ada": "researcher", "bob": "researcher", "sam": "steward", "root": "admin"}


@pytest.fixture
def world(app, service, accounts, work):
    """Return the app, everybody's account, and the path of ada's dry run."""
    who = {name: accounts.add(name, role, actor="test") for name, role in ROLES.items()}
    digest = service.dry_run(who["ada"], "panel", GAP).digest
    work(service)
    return app, who, digest


def post(http, page, path, **fields):
    match = re.search(r'name="csrf" value="([^"]+)"', http.get(page).text)
    return http.post(path, data={"csrf": match[1], **fields})


def new_request(service, account, digest, reason="It decides a table.", code="summary(fit)"):
    number = ask_person(service, account, "panel", digest, reason=reason, code=code)
    return find_request(service, account, number)


def status_of(call, *arguments):
    with pytest.raises(RequestError) as error:
        call(*arguments)
    return error.value.status


@pytest.mark.parametrize(
    ("decision", "reply"),
    [("answered", "It is."), ("refused", "Ask for 5 groups."), ("released", "-0.25 (0.004)")],
)
def test_a_request_is_answered_once_and_its_owner_reads_it(service, world, decision, reply):
    _, who, digest = world
    made = new_request(service, who["ada"], digest)
    assert (made.state, made.name, json.loads(made.content)["ask"]) == ("open", "ada", {
        **GAP["ask"], "above": None, "between": None})  # fmt: skip
    wrong = [("answered", "٣"), ("released", " \n "), ("withdrawn", "x"),
             ("released", "x" * (MAX_CHARACTERS["reply"] + 1))]  # fmt: skip
    for one in wrong:
        assert status_of(close_request, service, who["sam"], made.id, *one) == 422
    assert find_request(service, who["ada"], made.id) == made
    close_request(service, who["sam"], made.id, decision, f" {reply}\r\n")
    request = find_request(service, who["ada"], made.id)
    assert (request.state, request.reply, request.steward) == (decision, reply, "sam")
    assert request.closed >= request.made
    for name, again in (("ada", ("withdrawn",)), ("root", ("released", "7"))):
        assert status_of(close_request, service, who[name], made.id, *again) == 409
    assert find_request(service, who["ada"], made.id) == request


def test_requests_are_bounded_in_length_and_number_and_sent_twice_are_one(service, world):
    _, who, digest = world
    ada, bob = who["ada"], who["bob"]
    longest = new_request(
        service, ada, digest, "é" * MAX_CHARACTERS["reason"], "x" * MAX_CHARACTERS["code"]
    )
    assert (len(longest.reason), len(longest.code)) == (
        MAX_CHARACTERS["reason"],
        MAX_CHARACTERS["code"],
    )
    before = len(log_of(service))
    for reason, code in (("", "x"), ("x", " \n"), ("x", "x" * (MAX_CHARACTERS["code"] + 1))):
        assert status_of(new_request, service, ada, digest, reason, code) == 422
    assert len(log_of(service)) == before  # a step that fails is not in the log
    assert new_request(service, ada, digest, longest.reason, longest.code).id == longest.id
    made = [new_request(service, ada, digest, code=str(n)).id for n in range(1, MAX_OPEN_REQUESTS)]
    assert status_of(new_request, service, ada, digest) == 429
    assert status_of(new_request, service, ada, "0" * 64) == 404  # there is a dry run first
    assert new_request(service, bob, digest, code="1").id not in made  # the limit is of each
    close_request(service, ada, made[0], "withdrawn")
    assert new_request(service, ada, digest, code="1").id not in made


def test_every_step_is_in_the_log_without_a_word_of_it(service, world):
    _, who, digest = world
    made = new_request(service, who["ada"], digest, f"why {CANARY}", f"code {CANARY} longer")
    close_request(service, who["sam"], made.id, "released", f"n = {CANARY}")
    entries = [one for one in log_of(service) if "request" in one.details][::-1]
    assert [(one.actor, one.action, one.dataset, dict(one.details)) for one in entries] == [
        ("ada", "person asked", "panel",
         {"request": made.id, "query": digest, "reason": 10, "code": 18}),
        ("sam", "request released", "panel",
         {"request": made.id, "state": "released", "reply": 10}),
    ]  # fmt: skip


def test_two_stewards_cannot_both_reply(service, world, monkeypatch):
    """The second one wrote while the first reply came; the state is looked at with the change."""
    _, who, digest = world
    made = new_request(service, who["ada"], digest)
    row = person_requests._row

    def slow(store, account, number):
        before = row(store, account, number)
        monkeypatch.undo()
        values = {"state": "answered", "reply": "first"}
        store.execute(update(PERSON_REQUEST).values(values))
        return before

    monkeypatch.setattr(person_requests, "_row", slow)
    assert status_of(close_request, service, who["root"], made.id, "released", "second") == 409


def test_lists_are_read_part_by_part(service, world, monkeypatch):
    _, who, digest = world
    senders = enumerate(("ada", "bob", "ada", "ada"))
    made = [new_request(service, who[name], digest, code=str(n)).id for n, name in senders]
    assert [one.id for one in list_requests(service, who["ada"])] == [made[3], made[2], made[0]]
    monkeypatch.setattr(person_requests, "PAGE_ROWS", 3)
    parts, before = [], None
    while part := list_requests(service, who["sam"], before=before):
        parts.append([one.id for one in part])
        before = part[-1].made
    assert parts == [made[:0:-1], made[:1]]
    close_request(service, who["ada"], made[2], "withdrawn")
    still = list_requests(service, who["root"], open_only=True)
    assert [one.id for one in still] == [made[3], made[1], made[0]]


@pytest.mark.parametrize("name", ROLES)
def test_pages_by_role_and_owner(service, world, signed_in, name):
    _, who, digest = world
    made, http = new_request(service, who["ada"], digest), signed_in(name)
    assert http.get("/requests").status_code == 200
    for path, key, may in (
        ("/datasets/panel/dry-runs/{}/ask-a-person", digest, {"ada", "bob"}),
        ("/requests/{}", made.id, {"ada", "sam", "root"}),
    ):
        there, absent = (http.get(path.format(one)) for one in (key, "0" * len(key)))
        if name in may:
            assert (there.status_code, absent.status_code) == (200, 404)
        else:
            assert there.status_code == absent.status_code in (403, 404)
            assert there.text.replace(key, "0" * len(key)) == absent.text


def test_the_way_of_a_request_through_the_pages(service, world, signed_in):
    _, who, digest = world
    ada, bob, sam = (signed_in(name) for name in ("ada", "bob", "sam"))
    page = f"/datasets/panel/dry-runs/{digest}/ask-a-person"
    query = service.find_dry_run(who["ada"], "panel", digest).query
    assert code_of(query, service.datasets["panel"].schema) in html.unescape(ada.get(page).text)
    assert post(ada, page, page, reason="a\0b", code="x").status_code == 400
    sent = post(ada, page, page, reason=HOSTILE, code=HOSTILE)
    path = sent.headers["location"]
    assert [path in one.get("/requests").text for one in (ada, bob, sam)] == [True, False, True]
    assert ['name="decision"' in one.get(path).text for one in (ada, sam)] == [False, True]
    assert post(bob, "/requests", f"{path}/withdraw").status_code == 404
    wrong = post(sam, path, path, decision="answered", reply=f"{HOSTILE} 3")
    assert (wrong.status_code, "{{ 77*7777 }}" in html.unescape(wrong.text)) == (422, True)
    done = post(sam, path, path, decision="released", reply=HOSTILE)
    assert done.headers["location"] == path
    for http in (ada, sam):
        shown = http.get(path).text
        assert NOT_PRIVATE in shown
        for markup in ("<script>alert", "</textarea></pre>", "598829", "‮"):
            assert markup not in shown.partition("<main")[2], markup
    assert path not in sam.get("/requests").text
    assert path in sam.get("/requests?closed=true").text
    for strange in ("x", "2026-01-02T00:00:00", "2026-01-02T00:00:00+00:00%00"):
        assert ada.get(f"/requests?before={strange}").status_code in (400, 404)


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
@pytest.mark.parametrize("by", [["sex", "race"], []])
def test_drafts_of_tables_count_persons_and_clip_where_the_question_does(tmp_path, schema, by):
    data = people(100, 3)
    printed = run(tmp_path, code_of({"ask": {"measure": "counts", "by": by}}, schema))
    expected = data.groupby(by).person.nunique() if by else [data.person.nunique()]
    numbers = [*map(int, re.findall(r"\b\d+", printed))]
    assert sorted(numbers[-len(expected) :]) == sorted(expected)
    ask = {"measure": "means", "of": "pay", "by": ["sex"], "low": 20_000, "high": 30_000}
    printed = run(tmp_path, code_of({"ask": ask}, schema))
    means = data.assign(pay=data.pay.clip(20_000, 30_000)).groupby("sex").pay.mean()
    printed_means = re.findall(r"[FM]\s+([\d.]+)", printed)
    assert [*map(float, printed_means)] == pytest.approx(means.tolist(), rel=1e-5)


def run(folder, code, people_too=True):
    if people_too:
        people(100, 3).to_csv(folder / "confidential.csv", index=False)
    (folder / "code.R").write_text("options(digits = 9)\n" + code)
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
