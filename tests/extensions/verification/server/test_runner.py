"""A process that sees confidential rows: what it hands back, what it cannot do, how it ends."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from replay_trials import GAP, QUESTIONS

from synthesizer.data.errors import ConfigError
from synthesizer.extensions.verification import coefficient_questions
from synthesizer.extensions.verification.partition_fits import fit_partitions
from synthesizer.extensions.verification.public_schema import PublicSchema
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.questions import write_prepared
from synthesizer.extensions.verification.server import runner
from synthesizer.extensions.verification.server.runner import Task, outcome, run
from synthesizer.extensions.verification.server.server_config import JobLimits
from synthesizer.extensions.verification.verify import sound_query

LIMITS = JobLimits(seconds=30, memory_mb=4_000)


KEY = b"\7" * 32


@pytest.fixture(scope="module")
def prepared(schema, files, tmp_path_factory):
    path = tmp_path_factory.mktemp("prepared") / "confidential.arrow"
    write_prepared(path, schema.encoded(schema.read(files[0])), schema, KEY)
    return path


def task(schema: PublicSchema, files, prepared=None, **changes):
    query = query_of(GAP)
    content = {
        "query": query.content(),
        "public_schema": schema.model_dump(mode="json"),
        "synthetic": str(files[1]),
        "prepared": prepared and str(prepared),
        "key": KEY.hex(),
        "rows": 3_200,
    }
    return Task(**(content | changes))


def test_an_answer_comes_back_from_a_process_of_its_own(schema, files, prepared):
    answer = run(task(schema, files, prepared), LIMITS, seconds=60, is_stopped=lambda: False)
    assert answer is not None
    ((held,),) = answer.released
    assert 0 <= held <= 10
    assert answer.charge == 1_000_000
    assert answer.content["answer"]["released"] == [[held]]
    assert '<section id="answer"' in answer.page
    checked = outcome(task(schema, files), LIMITS)  # a dry run needs no confidential file
    assert (checked.released, checked.charge) == ((), 1_000_000)
    assert "Result in the synthetic data" in checked.page


@pytest.mark.parametrize("limits", [{"memory_mb": 100}, {"seconds": 1}])
def test_a_question_that_takes_more_than_half_of_a_limit_is_refused(schema, files, limits):
    """It is rehearsed with the rows that the confidential file may have, not with its rows."""
    wide = query_of({**GAP, "formula": "I(log(pay)) ~ C(year) * race * agency * sex"}).content()
    small, large = (
        outcome(task(schema, files, query=wide, rows=rows), LIMITS.model_copy(update=limits))
        for rows in (1_600, 400_000)
    )
    assert (small.problems, small.charge) == ((), 1_000_000)
    assert (len(large.problems), large.charge) == (1, 0)


def test_a_rehearsal_is_the_worst_that_public_facts_allow(schema, files, tmp_path):
    """No cell is missing, and numbers as fixed effects have as many values as leave a fit."""
    lean = tmp_path / "lean.csv"
    frame = pd.read_csv(files[1], dtype=str).head(200)
    frame["age"], frame.loc[::3, "pay"], frame.loc[::5, "race"] = "40", "", ""
    frame.to_csv(lean, index=False)
    query = query_of({**GAP, "formula": "pay ~ sex + race | age + year"})
    sound = sound_query(query, schema, lean)
    view = runner._largest(sound, 4_000)
    assert len(view.table["age"].data) == len(view.owners) == 4_000
    assert np.bincount(view.owners).max() == schema.rows_per_person
    assert all(column.is_observed.all() for column in view.table.columns)
    most = runner.MAX_LEVELS_PER_ROW * 4_000 / query.partitions / 2
    assert 0.9 * most < len(np.unique(view.table["age"].data)) <= most + 1
    assert {*view.table["race"].data} == {0, 1, 2}
    fits = sound.ask.numbers(query, schema, view, query.partitions)
    assert np.isfinite(fits).all()  # with a value of each row none would be fitted


@pytest.mark.parametrize(
    ("formula", "subset"),
    [
        ("I(1e200 if age % 1 > 0 else pay) ~ sex | agency", None),
        ("I(log(0 - pay)) ~ sex | agency", None),
        ("pay ~ sex + I(0 if age % 1 > 0 else 1) | agency", "age % 1 == 0"),
    ],
)
def test_no_formula_separates_a_rehearsal_from_a_job(schema, files, monkeypatch, formula, subset):
    """Values that a formula makes huge, missing or equal, and rows that a subset leaves out."""
    sizes = []

    def recorded(rows, m, family):
        sizes.append((len(rows.y), bool(np.isfinite(rows.X).all() and rows.y.std() > 0)))
        return fit_partitions(rows, m, family)

    monkeypatch.setattr(coefficient_questions, "fit_partitions", recorded)
    extra = {} if subset is None else {"subset": subset}
    query = query_of({**GAP, "formula": formula, **extra, "ask": {**GAP["ask"]}})
    sound = sound_query(query, schema, files[1])
    sound.ask.numbers(query, schema, runner._largest(sound, 4_000), query.partitions)
    assert sizes == [(4_000, True)]


@pytest.mark.parametrize("measure", QUESTIONS)
def test_every_measure_takes_or_refuses_every_kind_of_effect(schema, blanks, measure):
    """Numbers, categories, persons and cells that are missing: an outcome, never an exception."""
    for effect in ("person", "C(year)", "age", "race", "absent"):
        content = {**GAP, **QUESTIONS[measure]}
        if content["formula"] is not None:
            content["formula"] = f"{content['formula'].partition('|')[0]} | {effect}"
        try:
            query = query_of(content)
        except ConfigError:
            assert effect == "C(year)" or effect in content["formula"].partition("|")[0]
            continue
        if query.problems(schema):
            continue
        made = outcome(task(schema, (None, blanks), query=query.content(), rows=200), LIMITS)
        assert made.problems or made.charge == 1_000_000


@pytest.fixture(scope="module")
def blanks(files, tmp_path_factory):
    """Return a synthetic file of which many cells are missing."""
    path = tmp_path_factory.mktemp("blanks") / "synthetic.csv"
    frame = pd.read_csv(files[1], dtype=str).head(400)
    for offset, name in enumerate(("sex", "race", "agency", "age", "pay")):
        frame.loc[offset :: 4 + offset, name] = ""
    frame.to_csv(path, index=False)
    return path


def test_a_process_that_takes_too_long_or_dies_is_none(schema, files):
    assert run(task(schema, files), LIMITS, seconds=0.01, is_stopped=lambda: False) is None
    assert run(task(schema, files), LIMITS, seconds=60, is_stopped=lambda: True) is None
    gone = task(schema, files, "/nowhere.arrow")  # an exception in the process
    assert run(gone, LIMITS, seconds=60, is_stopped=lambda: False) is None


SCRIPT = """
import os, socket, subprocess, sys
from synthesizer.extensions.verification.server.runner import confine, limit
{bind}
for step in (
    lambda: socket.socket(),
    lambda: socket.create_connection(("127.0.0.1", 9)),
    lambda: subprocess.run([sys.executable, "-c", ""]),
    lambda: os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT), b"row"),
    lambda: bytes(5_000_000_000),  # the imports alone reserve more than one
):
    try:
        step()
        print("done")
    except (OSError, MemoryError) as error:
        print(type(error).__name__)
"""


def tried(bind, canary):
    program = [sys.executable, "-c", SCRIPT.format(bind=bind), str(canary)]
    return subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(not runner.is_possible(), reason="the kernel's filter is of Linux")
def test_a_confined_process_has_no_network_no_program_no_file_and_no_end(tmp_path):
    canary = tmp_path / "canary"
    free = tried("", canary)
    assert {*free[:1], *free[2:]} == {"done"}  # the control: the trial would see them
    assert canary.read_bytes() == b"row"
    canary.unlink()
    bound = tried("confine(seconds=30, memory_mb=4000)", canary)
    assert bound == [*["PermissionError"] * 3, "OSError", "MemoryError"]
    assert canary.read_bytes() == b""
    endless = SCRIPT.partition("for step")[0].format(bind="limit(seconds=0, memory_mb=4000)")
    program = [sys.executable, "-c", f"{endless}\nwhile True: pass\n"]
    assert subprocess.run(program, timeout=60, check=False).returncode != 0
