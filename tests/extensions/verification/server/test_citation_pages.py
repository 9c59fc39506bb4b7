"""The page that cites an answer, and its files: for whom, when, and with which version."""

import csv
import html
import io
import json
import re
import time
import zipfile

import pytest
from replay_trials import GAP, people

from synthesizer.extensions.verification.server.pages import FILES
from synthesizer.extensions.verification.server.query_form import in_words
from synthesizer.extensions.verification.server.server_datasets import open_datasets
from synthesizer.extensions.verification.server.service import Service

TITLE = 'Panel <b>"{x}" & $y `z`</b>'


@pytest.fixture
def config(config):
    one = config.datasets["panel"].model_copy(update={"title": TITLE})
    return config.model_copy(update={"datasets": {"panel": one}})


@pytest.fixture
def browser(signed_in, accounts, project):
    """Return a function that signs somebody in."""
    accounts.add("root", "admin", actor="test")
    return lambda name: (signed_in(name), accounts.named(name))


def answered(service, account, work, query=GAP):
    """Return the number of an answer that is due."""
    until = time.monotonic() + 600
    made = service.submit(account, "panel", query, project="gap")
    work(service)
    work(service, answers=True)
    while service.find(account, made.id).state != "answered":
        assert time.monotonic() < until
        time.sleep(0.05)
    return made.id


def paths(number):
    return [f"/queries/{number}/cite", *(f"/queries/{number}/cite/{kind}" for kind in FILES)]


def test_the_page_has_the_answer_and_every_file(service, work, browser):
    http, ada = browser("ada")
    number = answered(service, ada, work)
    content = service.find(ada, number).content
    assert f'href="/queries/{number}/cite"' in http.get(f"/queries/{number}").text
    page = http.get(f"/queries/{number}/cite")
    assert page.status_code == 200
    text = html.unescape(page.text)
    assert content["answer"]["words"][0] in text
    assert content["query"]["schema"] in text
    assert "<b>" not in page.text
    for kind in FILES:
        assert f'href="/queries/{number}/cite/{kind}"' in page.text
    files = {kind: http.get(f"/queries/{number}/cite/{kind}") for kind in FILES}
    assert {reply.status_code for reply in files.values()} == {200}
    (line,) = csv.DictReader(io.StringIO(files["csv"].text))
    query = content["query"]
    assert (line["formula"], line["question"]) == (query["formula"], in_words(query))
    assert line["coefficient"] == query["ask"]["coefficient"]
    # noise and epsilon are there, but folded
    shown = re.sub(r"<details.*?</details>", "", page.text, flags=re.DOTALL)
    assert ("groups_of_persons" in page.text, "groups_of_persons" in shown) == (True, False)
    assert "epsilon" not in shown
    folder = zipfile.ZipFile(io.BytesIO(files["zip"].content))
    (key,) = json.loads(folder.read("results.json"))["results"]
    assert files["bib"].text.startswith(f"@misc{{{key},")
    for kind, reply in files.items():
        assert reply.headers["content-disposition"] == f'attachment; filename="{key}.{kind}"'


def test_only_who_may_read_the_answer_cites_it_once_it_is_due(service, work, browser):
    (http, ada), (bob, _), (sam, _), (root, _) = map(browser, ("ada", "bob", "sam", "root"))
    made = service.submit(ada, "panel", GAP, project="gap")
    assert {http.get(path).status_code for path in paths(made.id)} == {404}
    number = answered(service, ada, work)
    for there, absent in zip(paths(number), paths("0" * 32), strict=True):
        replies = [bob.get(path) for path in (there, absent)]
        assert {reply.status_code for reply in replies} == {404}
        assert len({reply.text.replace(number, "0" * 32) for reply in replies}) == 1
        assert (sam.get(there).status_code, root.get(there).status_code) == (200, 200)
    assert http.get(f"/queries/{number}/cite/exe").status_code == 404
    strange = {"Host": "evil.example"}
    path = f"/queries/{number}/cite/bib"
    assert "http://evil.example" in http.get(path, headers=strange).text  # control
    for url in ("https://a.example", "https://a.example/"):  # the configuration names the address
        service.config = service.config.model_copy(update={"url": url})
        cited = http.get(path, headers=strange).text
        assert "evil" not in cited
        assert f"\\url{{https://a.example/queries/{number}}}" in cited


def test_another_confidential_file_is_another_version(
    service, work, browser, engine, config, tmp_path
):
    http, ada = browser("ada")
    first = answered(service, ada, work)
    confidential = tmp_path / "newer.csv"
    people(400, seed=9).to_csv(confidential, index=False)
    changed = config.datasets["panel"].model_copy(update={"confidential": confidential})
    later = config.model_copy(update={"datasets": {"panel": changed}})
    newer = Service(engine, later, open_datasets(engine, later))
    second = answered(newer, ada, work)
    names = [
        http.get(f"/queries/{number}/cite/bib").text.splitlines()[0] for number in (first, second)
    ]
    assert names[0] != names[1]
