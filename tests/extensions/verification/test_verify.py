"""The main job: refusals before anything is read or charged, one answer a question, no leak."""

import json
import re

import pytest
from replay_trials import (
    GAP,
    SCHEMA,
    Exact,
    people,
)

from synthesizer.data.errors import SynthesizerError
from synthesizer.extensions.verification import questions
from synthesizer.extensions.verification import verify as job
from synthesizer.extensions.verification.ledger import Ledger
from synthesizer.extensions.verification.public_schema import PublicSchema, strictly
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.verify import begin_ledger, dry_run, verify


def gap_query(**changes):
    return query_of({**GAP, **changes})


def answered(files, ledger, schema, query=None, **options):
    confidential, synthetic = files
    options = {"noise": Exact(), **options}
    return verify(query or gap_query(), confidential=confidential, synthetic=synthetic,
                  schema=schema, ledger=ledger, **options)  # fmt: skip


def spent(ledger):
    return Ledger(ledger).spending().budgets[0].spent


def test_a_finding_is_confirmed_and_charged_once(files, ledger, schema):
    first = answered(files, ledger, schema, user="ada", analysis="gap")
    assert first.is_new
    ((held,),) = first.answer.released  # the key of a ledger, and so who is with whom, is random
    assert held >= 7
    assert first.answer.statements[0].holds
    assert (first.charge, spent(ledger)) == (1.0, 1_000_000)
    assert [(b.scope, b.name) for b in first.budgets] == [
        ("global", ""), ("user", "ada"), ("analysis", "gap"),
    ]  # fmt: skip
    other = gap_query(formula="I( log(pay) ) ~ age + sex|year+agency", epsilon=1)
    for _ in range(5):  # from another user, in another spelling
        again = answered(files, ledger, schema, query=other, user="bob")
        assert not again.is_new
        assert again.answer == first.answer
    assert spent(ledger) == 1_000_000
    assert answered(files, ledger, schema, query=gap_query(epsilon=0.5)).is_new
    assert spent(ledger) == 1_500_000


def test_the_noise_is_opendps_unless_another_is_handed_in(files, ledger, schema, monkeypatch):
    pytest.importorskip("opendp")
    drawn = []
    draw = job.OpenDP.draw
    monkeypatch.setattr(job.OpenDP, "draw", lambda *words: drawn.append(words[1]) or draw(*words))
    made = answered(files, ledger, schema, noise=None)
    assert len(drawn) == 1
    assert 0 <= made.answer.released[0][0] <= 10


def test_a_ledger_is_bound_to_how_the_file_is_read(files, ledger, schema):
    """A file that reads as latin-1 may not as UTF-8: that must not be found once it is charged."""
    other = strictly(PublicSchema, {**SCHEMA, "file": {"encoding": "latin-1"}})
    rows = strictly(PublicSchema, {k: v for k, v in SCHEMA.items() if k != "person"})
    for changed in (other, rows):
        with pytest.raises(SynthesizerError, match="reads the file differently"):
            answered(files, ledger, changed)
    assert spent(ledger) == 0


@pytest.fixture
def reading(monkeypatch):
    """Return what is read of files of data: names of columns, hashes, rows."""
    seen = []

    def recorded(name, function):
        def call(path, *words, **options):
            seen.append((name, str(path)))
            return function(path, *words, **options)

        return call

    from synthesizer.extensions.verification import public_schema, questions

    monkeypatch.setattr(public_schema, "read_path", recorded("rows", public_schema.read_path))
    monkeypatch.setattr(public_schema, "head_of", recorded("columns", public_schema.head_of))
    monkeypatch.setattr(job, "sha256", recorded("hash", job.sha256))
    monkeypatch.setattr(questions, "view_of", recorded("rows", questions.view_of))
    return seen


REFUSED = [
    ({"formula": "I(log(pay)) ~ sex + eval(age)"}, "formula"),
    ({"subset": "person == 'p1'"}, "subset"),
    ({"ask": {"measure": "interval", "coefficient": "sex[M]", "below": 0}}, "ask.coefficient"),
    ({"epsilon": -1}, "epsilon"),
    ({"epsilon": 3.5}, "global budget"),
    ({"schema": "0" * 64}, "schema"),
]


@pytest.mark.parametrize(("change", "words"), REFUSED)
def test_a_bad_query_is_refused_before_the_data_and_the_charge(
    files, ledger, schema, tmp_path, reading, change, words
):
    path = tmp_path / "query.json"
    path.write_text(json.dumps({**GAP, **change}))
    before = ledger.read_bytes()
    with pytest.raises(SynthesizerError) as error:
        answered(files, ledger, schema, query=path)
    assert words in str(error.value)
    assert [where for _, where in reading if where == str(files[0])] == []
    assert ledger.read_bytes() == before


def test_faults_of_form_and_files_do_not_hide_what_else_is_wrong(
    files, ledger, schema, tmp_path, reading
):
    path = tmp_path / "query.json"
    changes = {"epsilon": "NaN", "formula": "pay ~ nope", "subset": "nix > 1", "partitions": 1}
    path.write_text(json.dumps({**GAP, **changes}))
    ledger.chmod(0o644)
    for confidential in (files[0], tmp_path / "none.csv"):
        with pytest.raises(SynthesizerError) as error:
            answered((confidential, files[1]), ledger, schema, query=path)
        words = ("epsilon", "'nope'", "'nix'", "partitions", str(ledger))
        words += ("none.csv",) * (confidential != files[0])
        assert all(word in str(error.value) for word in words), str(error.value)
    assert [where for _, where in reading if where == str(files[0])] == []


def test_data_of_another_version_or_without_a_column_are_refused_unread(
    files, ledger, schema, tmp_path, reading
):
    other = tmp_path / "other.csv"
    people(50, seed=9).drop(columns="age").to_csv(other, index=False)
    with pytest.raises(SynthesizerError) as error:
        answered((other, files[1]), ledger, schema)
    assert any("another version of the confidential data" in p for p in error.value.problems)
    assert any("no column 'age'" in p for p in error.value.problems)
    assert {what for what, where in reading if where == str(other)} == {"columns", "hash"}
    assert spent(ledger) == 0


def test_nothing_is_charged_where_the_synthetic_data_cannot_serve(files, ledger, schema, tmp_path):
    empty = tmp_path / "synthetic.csv"
    people(50, seed=9).assign(sex="M").to_csv(empty, index=False)
    with pytest.raises(SynthesizerError, match="synthetic"):
        answered((files[0], empty), ledger, schema)
    assert spent(ledger) == 0


def test_a_crash_after_the_charge_gives_nothing_back_and_costs_nothing_more(
    files, ledger, schema, monkeypatch
):
    monkeypatch.setattr(questions, "view_of", broken := Broken(questions.view_of, files[0]))
    with pytest.raises(MemoryError):
        answered(files, ledger, schema)
    assert spent(ledger) == 1_000_000
    broken.mended = True
    made = answered(files, ledger, schema)
    assert (made.is_new, spent(ledger)) == (True, 1_000_000)


class Broken:
    """Reads any file but one."""

    def __init__(self, function, path):
        self.function, self.path, self.mended = function, path, False

    def __call__(self, path, *words):
        if path == self.path and not self.mended:
            raise MemoryError
        return self.function(path, *words)


def test_no_number_of_the_confidential_data_is_on_the_page(files, ledger, schema, tmp_path):
    frame = people(391, seed=1)
    canary = 123_457.0
    frame.loc[frame["person"] == "p3", "pay"] = canary
    path, book = tmp_path / "canary.csv", tmp_path / "canary.sqlite"
    frame.to_csv(path, index=False)
    begin_ledger(book, confidential=path, schema=schema, cap=3.0)
    made = answered((path, files[1]), book, schema)
    page = re.sub(r"<(style|script|svg).*?</\1>|<[^>]*>", " ", made.page, flags=re.DOTALL)
    text = page + made.json_text + "\n".join(made.lines)
    for number in (len(frame), frame["person"].nunique(), int(canary)):
        assert not re.search(rf"(?<![\w.])({number}|{number:,})(?!\w)", text)
    assert "synthetic" in text


# What is free: dry runs and the choice of M.


def test_a_dry_run_is_the_answer_on_synthetic_data_and_needs_no_ledger(files, schema):
    made = dry_run(gap_query(), synthetic=files[1], schema=schema)
    assert made.dry
    assert made.answer.statements[0].holds
    assert "Result in the synthetic data" in made.page
    with pytest.raises(SynthesizerError, match="nope"):
        dry_run(gap_query(subset="nope > 1"), synthetic=files[1], schema=schema)


def test_files_of_an_answer_are_written_whole_and_never_replaced(files, schema, tmp_path):
    made = dry_run(gap_query(), synthetic=files[1], schema=schema)
    out = tmp_path / "answer"
    page, content = job.write_answer(made, out)
    assert (page.name, content.name) == job.ANSWER_FILES
    assert json.loads(content.read_text())["dry"] is True
    with pytest.raises(SynthesizerError, match="exists already"):
        job.write_answer(made, out)


def test_the_ledger_is_made_for_a_file_that_was_read(files, schema, tmp_path):
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("person,year,sex\n1,2000\n")
    with pytest.raises(SynthesizerError) as error:
        begin_ledger(tmp_path / "l.sqlite", confidential=wrong, schema=schema, cap=1.0)
    assert "no column 'age'" in str(error.value)
    ragged = tmp_path / "ragged.csv"
    ragged.write_text(",".join(people(1, 1).columns) + "\n1,2\n")
    with pytest.raises(SynthesizerError, match="ragged.csv"):
        begin_ledger(tmp_path / "l.sqlite", confidential=ragged, schema=schema, cap=1.0)
    assert not (tmp_path / "l.sqlite").exists()
