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

from synthesizer.measures.figure import Row, columns
from synthesizer.verification.citation import Citation, latex
from synthesizer.verification.query import query_of
from synthesizer.verification.sentences import WORDS
from synthesizer.verification.verify import verify

AT = datetime(2026, 11, 28, 23, 30, tzinfo=UTC)
HOSTILE = (
    'a "quoted" \\title{\\input{x}} 50% & $HOME `ls` #1_^~<|> it\'s /* // é 漢 😀\n"); q() #',
    "{{{", "}}", "\\", "\\\\", '"', "`\"'", "$", "``x'", "*/", "%", "=1+1", "NA", ".", "", " ",
    "a,b;c", "\r\n", "end\nclear", "\u2028x", "‮abc", "-" * 3000, '$`"' * 500,
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
    found = {column.label: column.values for column in one.columns}
    return {name: found[name] for name in found if part in (None, parts.get(name, "answer"))}


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
    while found := re.compile(r"\s*(\w+) = \{").match(rest, at):
        depth, end = 1, found.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(rest[end], 0)
            end += 1
        fields[found[1]], at = rest[found.end() : end - 1], end + 1
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
        found = TEX.match(text, at)
        assert found, text[at : at + 20]
        printed.append(COMMANDS.get(found["command"], "") or found["escaped"] or found["plain"])
        at = found.end()
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


def test_a_citation_names_question_dataset_and_date():
    one = cited()
    number = hashlib.sha256(f"2:{'3f' * 32}".encode()).hexdigest()[:16]
    assert one.identifier == f"verification:panel:{number}"
    assert one.text == (
        "Server (2026). Answer to the question “Is it true?” on A panel, version 2, "
        f"28 November 2026. {one.identifier}. https://a.example/queries/1"
    )


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
    from synthesizer.verification.verify import begin_ledger

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
    found, size = table(one), len(one.rows)
    query, numbers = one.content["query"], table(one, "method")
    for key, value in {
        "question": one.question, "formula": query["formula"],
        "coefficient": query["ask"].get("coefficient"),
        "groups_of_persons": getattr(answer.answer, "partitions", None), "epsilon": answer.charge,
    }.items():  # fmt: skip
        assert found.get(key) == (None if value is None else (value,) * size)
    scales = getattr(answer.answer, "scales", None) or [getattr(answer.answer, "scale", None)]
    assert {*numbers.get("noise", [None])} == {*scales}
    assert [*found][-len(numbers) :] == [*numbers]  # never first
    own = table(one, "answer")
    assert "holds" not in own
    assert one.released == tuple(n for draw in answer.answer.released for n in draw)
    rows = next(
        (getattr(answer.answer, key) for key in ("statements", "ends", "cells", "rows")
         if hasattr(answer.answer, key)), [answer.answer],
    )  # fmt: skip
    assert {len(values) for values in found.values()} == {len(rows)}
    for label in {*own} - {"what"}:
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
        assert list(own[label]) == expected
    assert one.rows == [*zip(*found.values(), strict=True)]
    known = columns(type(rows[0])) if isinstance(rows[0], Row) else {}
    headings = [column.shown.heading for column in one.columns if column.shown]
    assert sorted(headings) == sorted(column.heading for column in known.values())
    explained = {*WORDS["citation_columns"]["answer"]}
    assert {*own} <= explained | {column.label for column in one.columns if column.shown}
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


def test_the_reader_of_bibtex_finds_an_open_brace():
    """Control: BibTeX counts a brace behind a backslash, too."""
    assert typeset(latex("{")) == "{"
    with pytest.raises((IndexError, AssertionError)):
        read_bibtex("@misc{key,\n  title = {{a \\{ b}},\n}\n")


# R, Stata, CSV


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
@pytest.mark.parametrize("texts", [HOSTILE, ("one",)])
def test_r_reads_the_table_back(tmp_path, texts):
    one = cited(rows(texts), title="\n".join(HOSTILE))
    (tmp_path / "answer.R").write_text(one.r_code)
    (tmp_path / "read.R").write_text(R_READER)
    ran = subprocess.run(["Rscript", "read.R"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found = {}
    for line in ran.stdout.splitlines():
        name, kind, value = line.split("\t")
        found.setdefault(name, []).append((kind, value))
    assert [*found] == [*table(one)]
    assert {kind for kind, _ in found["cell"]} == {"character"}
    texts_back = ["".join(map(chr, map(int, value.split()))) for _, value in found["cell"]]
    assert texts_back == [*texts]
    values = table(one)["value"]
    read = [None if text == "NA" else float(text) for _, text in found["value"]]
    assert read == [None if value is None else float(value) for value in values]
    logical = [None if text == "NA" else bool(int(text)) for _, text in found["holds_in_synthetic"]]
    assert tuple(logical) == table(one)["holds_in_synthetic"]


@pytest.mark.parametrize("texts", [HOSTILE, ("one",)])
def test_stata_reads_the_table_back(texts):
    one = cited(rows(texts), dataset="a'`$/*\n")
    found = read_stata(one.stata_code)
    assert found["cell"] == [*texts]
    for name in ("value", "holds_in_synthetic"):
        expected = [None if value is None else float(value) for value in table(one)[name]]
        assert found[name] == expected


def test_plain_and_foreign_letters_are_written_as_they_are():
    one = cited(rows(["Größe von 漢: a > 0?"]), author="Statistik Köln")
    for text in (one.r_code, one.stata_code):
        assert '"Größe von 漢: a > 0?"' in text
        assert "\\U" not in text
    assert read_bibtex(one.bibtex)[2]["author"] == "{Statistik Köln}"


def test_the_title_names_what_cells_contain():
    what = "Number of persons, each by one row that a key draws"
    one = cited({"words": ["x"], "released": [[7]], "cells": [{"cell": "F"}], "what": what})
    assert read_bibtex(one.bibtex)[2]["title"] == (
        f"{{Answer to the question “Is it true?” ({what}) on A panel}}"
    )
    assert table(one)["what"] == (what,)
    for text in (one.text, one.csv_text, one.r_code, one.stata_code):
        assert what in text


def test_the_reader_of_stata_finds_what_stata_would_expand():
    """Control."""
    text = cited(rows(["a"])).stata_code
    for unsafe in ("`x'", "$x", "/*", "\\", 'a"b'):
        with pytest.raises(AssertionError):
            read_stata(text.replace('"a"', f'"{unsafe}"'))


@pytest.mark.parametrize("texts", [HOSTILE, ("one",), [f"c{n}" for n in range(5_000)]])
def test_csv_is_read_back(texts):
    one = cited(rows(texts))
    head, *lines = csv.reader(io.StringIO(one.csv_text, newline=""))
    assert head == [*table(one)]
    found = dict(zip(head, zip(*lines, strict=True), strict=True))
    starts = ("=", "+", "-", "@", "\t", "\r", "\n")
    guarded = ["'" * text.startswith(starts) + text for text in texts]
    assert [*found["cell"]] == guarded
    assert [*found["value"]] == [
        "" if value is None else str(value) for value in table(one)["value"]
    ]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "\n=1"]
)
def test_no_text_in_csv_is_a_formula_and_numbers_stay(text):
    """As OWASP advises (CSV injection): an apostrophe before each text that may be computed."""
    lines = [{"cell": text, "value": -2.5}, {"cell": f" {text}", "value": None}]
    answer = {"words": ["x"], "released": [[1]], "cells": lines}
    one = cited(answer, question=text)
    (_, first, second) = csv.reader(io.StringIO(one.csv_text, newline=""))
    assert first[:5] == [f"'{text}", "y ~ x", "x", f"'{text}", "-2.5"]
    assert second[3:5] == [f" {text}", ""]


def test_an_answer_with_nothing_but_words_has_a_table():
    one = cited({"words": ["Cannot tell."], "released": [[]], "value": None})
    assert table(one, "answer") == {"value": (None,)}
    assert one.released == ()
    assert read_stata(one.stata_code)["value"] == [None]
    assert (
        one.csv_text == "question,formula,coefficient,value,epsilon\r\nIs it true?,y ~ x,x,,1.0\r\n"
    )


# SACRO


@pytest.mark.parametrize("name", ["interval", "counts", "residuals"])
def test_the_folder_for_sacro_is_what_its_viewer_loads(answers, name):
    """As `sacro.models.ACROOutputs` of the viewer and `load_records` of ACRO read it."""
    one = cited(content=json.loads(answers[name].json_text), title=HOSTILE[0])
    folder = zipfile.ZipFile(io.BytesIO(one.sacro_zip))
    assert folder.testzip() is None
    files = {path: folder.read(path) for path in folder.namelist()}
    assert all(re.fullmatch(r"(checksums/)?[A-Za-z0-9_.-]+", path) for path in files)
    assert [path for path in files if path.endswith(".json")] == ["results.json"]
    results = json.loads(files["results.json"])
    major, minor, *_ = map(int, results["version"].split("."))
    assert (major, minor) >= (0, 4)
    ((key, output),) = results["results"].items()
    assert key == one.key
    assert {*output} == {
        "status", "type", "properties", "files", "summary", "timestamp", "comments",
    }  # fmt: skip
    assert (output["status"], output["summary"].split("; ")[0]) == ("pass", "pass")
    assert output["type"] == ("table" if name == "counts" else "regression")
    assert output["properties"]["method"] == one.content["query"]["ask"]["measure"]
    assert datetime.fromisoformat(output["timestamp"]) == AT.replace(tzinfo=None)
    assert output["comments"][1] == html.escape(one.text)  # the viewer takes it for HTML
    assert "epsilon 1 for each person" in output["summary"]
    (file,) = output["files"]
    assert files[file["name"]].decode() == one.csv_text
    noted = files.pop(f"checksums/{file['name']}.txt").decode()
    assert noted == hashlib.sha256(files.pop(file["name"])).hexdigest()
    assert [*files] == ["results.json"]
    assert one.sacro_zip == replace(one).sacro_zip
