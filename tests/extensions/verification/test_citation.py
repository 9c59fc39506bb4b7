"""What cites an answer is read back, with hostile texts: by R, and by readers of our own."""

import csv
import hashlib
import html
import io
import json
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from replay_trials import GAP, QUESTIONS

from synthesizer.extensions.verification.citation import Citation
from synthesizer.extensions.verification.messages import WORDS
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.verify import verify

AT = datetime(2026, 11, 28, 23, 30, tzinfo=UTC)
HOSTILE = (
    'a "quoted" \\title{\\input{x}} 50% & $HOME `ls` #1_^~<|> it\'s /* // é 漢 😀\n"); q() #',
    "}}", "\\\\", "`\"'", "$", "*/", "%", "=1+1", "+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1",
    "\r=1", " =1", "NA", ".", "", "a,b;c", "end\nclear", "\u2028x", "‮abc", '$`"' * 500,
)  # fmt: skip


def cited(answer=None, title="A panel", **changes):
    ask = {"measure": "interval", "coefficient": "x"}
    query = {"ask": ask, "formula": "y ~ x", "schema": "5" * 64, "synthetic": "9" * 64}
    answer = answer or {"words": ["r = 0.9."], "released": [[45]], "statements": [{"mode": 0.9}]}
    content = {"query": query, "digest": "3f" * 32, "charge": 1.0, "answer": answer}
    url = "https://a.example/queries/1"
    return replace(
        Citation(content, "Is it true?", "panel", title, 2, AT, "Server", url), **changes
    )


def table(one, part=None):
    """Return values by name: of a part of the columns, or of all."""
    known = WORDS["citation_columns"]
    parts = dict.fromkeys(known["question"], "question") | dict.fromkeys(known["method"], "method")
    values = {column.label: column.values for column in one.columns}
    return {name: values[name] for name in values if part in (None, parts.get(name, "answer"))}


def rows(texts):
    """Return an answer with a row of each text, and numbers of every kind."""
    numbers = (0, -1, 2**40, 0.1, 1e-300, 1e300, -2.5e-17, None, True, False)
    lines = [
        {"cell": text, "value": numbers[at % len(numbers)], "holds": (True, False, None)[at % 3]}
        for at, text in enumerate(texts)
    ]
    return {"words": ["x"], "released": [[*range(len(texts))]], "cells": lines}


# Readers, written from the manuals and not from the code


def read_bibtex(text):
    """Read one entry: braces are counted, whatever stands before them."""
    kind, key, rest = re.fullmatch(r"@(\w+)\{([^,\s{}\"#%'()=\\]+),(.*)\}\n", text, re.S).groups()
    fields, at = {}, 0
    while match := re.compile(r"\s*(\w+) = \{").match(rest, at):
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(rest[end], 0)
            end += 1
        fields[match[1]], at = rest[match.end() : end - 1], end + 1
        assert rest[end] == ","
    assert not rest[at:].strip()
    return kind, key, fields


COMMANDS = {
    "textbackslash": "\\", "textbraceleft": "{", "textbraceright": "}", "textasciitilde": "~",
    "textasciicircum": "^", "textless": "<", "textgreater": ">", "textbar": "|",
    "textasciigrave": "`",
}  # fmt: skip
TEX = re.compile(r"\{\\(?P<command>\w+)\}|\\(?P<escaped>[&%$#_])|(?P<plain>[^\\{}&%$#_~^<>|`\n])")


def typeset(text):
    """Return what LaTeX prints; anything that is active or a command of others fails."""
    printed, at = [], 0
    while at < len(text):
        match = TEX.match(text, at)
        assert match, text[at : at + 20]
        printed.append(COMMANDS.get(match["command"], "") or match["escaped"] or match["plain"])
        at = match.end()
    return "".join(printed)


def read_stata(text):
    """Run a do-file of ``generate`` and ``replace``; nothing that Stata expands."""
    comment, clear, size, *lines = text.splitlines()
    assert re.fullmatch(r"\* [A-Za-z0-9_.-]+", comment)
    assert clear == "clear"
    rows = int(re.fullmatch(r"set obs (\d+)", size)[1])
    columns = {}
    for line in lines:
        if made := re.fullmatch(r'generate (strL \w+ = ""|double \w+ = \.)', line):
            kind, name, *_ = made[1].split()
            columns[name] = [{"strL": "", "double": None}[kind]] * rows
            continue
        name, value, row = re.fullmatch(r"quietly replace (\w+) = (.*) in (\d+)", line).groups()
        if type(columns[name][int(row) - 1]) is str:
            parts = re.findall(r'("[^"]*"|uchar\(\d+\))(?: \+ |$)', value)
            assert " + ".join(parts) == value
            texts = [part[1:-1] if part[0] == '"' else chr(int(part[6:-1])) for part in parts]
            quoted = "".join(part for part in parts if part[0] == '"')
            assert not {*"`$/\\'"} & {*quoted}, value
            assert quoted.isprintable()
            columns[name][int(row) - 1] = "".join(texts)
        else:
            assert columns[name][int(row) - 1] is None
            columns[name][int(row) - 1] = float(value)
    assert all(re.fullmatch(r"[a-z]\w{0,31}", name) for name in columns)
    return columns


R_READER = r"""
source("answer.R", encoding = "UTF-8")
codes <- function(x) paste(as.integer(utf8ToInt(enc2utf8(x))), collapse = " ")
for (name in names(answer)) for (x in answer[[name]]) {
  value <- if (is.character(x)) codes(x) else sprintf("%.17g", x + 0)
  cat(paste(name, typeof(x), value, sep = "\t"), "\n", sep = "")
}
"""


# Values


def test_the_identifier_tells_versions_and_questions_apart_and_nothing_else():
    one = cited()
    others = [
        replace(one, version=3), replace(one, dataset="other"),
        replace(one, content={**one.content, "digest": "40" * 32}),
    ]  # fmt: skip
    same = [replace(one, title="x", url="y", author="z"), cited({**rows(["a"])})]
    assert len({other.identifier for other in (one, *others)}) == 4
    assert {other.identifier for other in same} == {one.identifier}


@pytest.fixture(scope="module")
def answers(schema, files, tmp_path_factory):
    """Return an answer to every kind of question."""
    from synthesizer.extensions.verification.verify import begin_ledger

    path = tmp_path_factory.mktemp("ledger") / "ledger.sqlite"
    begin_ledger(path, confidential=files[0], schema=schema, cap=99.0)
    made = {}
    for name, question in QUESTIONS.items():
        content = {key: one for key, one in {**GAP, **question}.items() if one is not None}
        made[name] = verify(
            query_of(content), confidential=files[0], synthetic=files[1], schema=schema, ledger=path
        )
    return made


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_table_has_the_numbers_of_every_answer(answers, files, name):
    answer = answers[name]
    one = cited(title="t", content=json.loads(answer.json_text))
    columns, size = table(one), len(one.rows)
    query, numbers = one.content["query"], table(one, "method")
    for key, value in {
        "question": one.question, "formula": query["formula"],
        "coefficient": query["ask"].get("coefficient"),
        "groups_of_persons": getattr(answer.answer, "partitions", None), "epsilon": answer.charge,
    }.items():  # fmt: skip
        assert columns.get(key) == (None if value is None else (value,) * size)
    scales = getattr(answer.answer, "scales", None) or [getattr(answer.answer, "scale", None)]
    assert {*numbers.get("noise", [None])} == {*scales}
    assert [*columns][-len(numbers) :] == [*numbers]  # never first
    answer_columns = table(one, "answer")
    assert "holds" not in answer_columns
    assert one.released == tuple(n for draw in answer.answer.released for n in draw)
    rows = next(
        (getattr(answer.answer, key) for key in ("statements", "ends", "cells", "rows")
         if hasattr(answer.answer, key)), [answer.answer],
    )  # fmt: skip
    assert {len(values) for values in columns.values()} == {len(rows)}
    for label in {*answer_columns} - {"what"}:
        key = label.removesuffix("_in_synthetic")
        stem, _, end = key.rpartition("_")
        expected = [
            getattr(row, key)
            if hasattr(row, key)
            else getattr(row, stem)[end == "high"]
            if hasattr(row, stem)
            else getattr(answer.answer, key)
            for row in rows
        ]
        assert list(answer_columns[label]) == expected
    assert one.rows == [*zip(*columns.values(), strict=True)]
    explained = {*WORDS["citation_columns"]["answer"]}
    assert {*answer_columns} <= explained | {column.label for column in one.columns if column.shown}
    confidential = hashlib.sha256(files[0].read_bytes()).hexdigest()
    parts = (one.text, one.bibtex, one.r_code, one.stata_code, one.csv_text, str(one.sacro_zip))
    assert not any(confidential in part for part in parts)


# BibTeX


@pytest.mark.parametrize("text", HOSTILE)
def test_bibtex_is_read_back(text):
    one = cited(title=text, author=text)
    kind, key, fields = read_bibtex(one.bibtex)
    assert (kind, key) == ("misc", one.key)
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    assert typeset(fields["author"].removeprefix("{").removesuffix("}")) == plain
    title = typeset(fields["title"].removeprefix("{").removesuffix("}"))
    assert title == " ".join(f"Answer to the question “Is it true?” on {plain}".split())
    assert one.identifier in typeset(fields["note"])
    assert fields["year"] == "2026"


def test_addresses_in_bibtex_contain_no_special_character():
    url = read_bibtex(cited(url="http://h{}\\ %/q\n?a=1&b#~").bibtex)[2]["howpublished"]
    assert url == "\\url{http://h%7B%7D%5C%20%25/q%0A?a=1&b%23~}"


# R, Stata, CSV


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_reads_the_table_back(tmp_path):
    one = cited(rows(HOSTILE), title="\n".join(HOSTILE))
    (tmp_path / "answer.R").write_text(one.r_code)
    (tmp_path / "read.R").write_text(R_READER)
    ran = subprocess.run(["Rscript", "read.R"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    cells = {}
    for line in ran.stdout.splitlines():
        name, kind, value = line.split("\t")
        cells.setdefault(name, []).append((kind, value))
    assert [*cells] == [*table(one)]
    assert {kind for kind, _ in cells["cell"]} == {"character"}
    texts_back = ["".join(map(chr, map(int, value.split()))) for _, value in cells["cell"]]
    assert texts_back == [*HOSTILE]
    values = table(one)["value"]
    read = [None if text == "NA" else float(text) for _, text in cells["value"]]
    assert read == [None if value is None else float(value) for value in values]
    logical = [None if text == "NA" else bool(int(text)) for _, text in cells["holds_in_synthetic"]]
    assert tuple(logical) == table(one)["holds_in_synthetic"]


def test_stata_reads_the_table_back():
    one = cited(rows(HOSTILE), dataset="a'`$/*\n")
    columns = read_stata(one.stata_code)
    assert columns["cell"] == [*HOSTILE]
    for name in ("value", "holds_in_synthetic"):
        expected = [None if value is None else float(value) for value in table(one)[name]]
        assert columns[name] == expected


def test_csv_is_read_back_and_no_text_is_a_formula():
    """As OWASP advises (CSV injection): an apostrophe before each text that may be computed."""
    one = cited(rows(HOSTILE))
    head, *lines = csv.reader(io.StringIO(one.csv_text, newline=""))
    assert head == [*table(one)]
    columns = dict(zip(head, zip(*lines, strict=True), strict=True))
    starts = ("=", "+", "-", "@", "\t", "\r", "\n")
    guarded = ["'" * text.startswith(starts) + text for text in HOSTILE]
    assert [*columns["cell"]] == guarded
    assert [*columns["value"]] == [
        "" if value is None else str(value) for value in table(one)["value"]
    ]


def test_an_answer_with_nothing_but_words_has_a_table():
    one = cited({"words": ["Cannot tell."], "released": [[]], "value": None})
    assert (table(one, "answer"), one.released) == ({"value": (None,)}, ())
    assert read_stata(one.stata_code)["value"] == [None]


# SACRO


@pytest.mark.parametrize("name", ["interval", "counts"])
def test_the_folder_for_sacro_is_what_its_viewer_loads(answers, name):
    """As `sacro.models.ACROOutputs` of the viewer and `load_records` of ACRO read it."""
    one = cited(content=json.loads(answers[name].json_text), title=HOSTILE[0])
    folder = zipfile.ZipFile(io.BytesIO(one.sacro_zip))
    assert folder.testzip() is None
    files = {path: folder.read(path) for path in folder.namelist()}
    assert all(re.fullmatch(r"(checksums/)?[A-Za-z0-9_.-]+", path) for path in files)
    results = json.loads(files["results.json"])
    ((key, output),) = results["results"].items()
    assert (key, output["status"]) == (one.key, "pass")
    assert {*output} == {
        "status", "type", "properties", "files", "summary", "timestamp", "comments",
    }  # fmt: skip
    assert output["type"] == ("table" if name == "counts" else "regression")
    assert output["properties"]["method"] == one.content["query"]["ask"]["measure"]
    assert datetime.fromisoformat(output["timestamp"]) == AT.replace(tzinfo=None)
    assert output["comments"][1] == html.escape(one.text)  # the viewer takes it for HTML
    (file,) = output["files"]
    assert files[file["name"]].decode() == one.csv_text
    noted = files.pop(f"checksums/{file['name']}.txt").decode()
    assert noted == hashlib.sha256(files.pop(file["name"])).hexdigest()
    assert [*files] == ["results.json"]
    assert one.sacro_zip == replace(one).sacro_zip
