"""The table of jobs: every job is listed, takes its settings, and writes a CSV with the machine."""

import ast
import csv
import inspect
import sys
from pathlib import Path

import benchmark
import pytest
from measuring import JOBS, Row

SCRIPTS = Path(benchmark.__file__).parent
JOB_NAMES = [
    f"{subject}.{node.name}"
    for subject in benchmark.subjects()
    for node in ast.parse((SCRIPTS / "benchmarks" / f"{subject}.py").read_text()).body
    if isinstance(node, ast.FunctionDef)
    and any(isinstance(d, ast.Call) and ast.unparse(d.func) == "job" for d in node.decorator_list)
]


def call(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["benchmark.py", *map(str, words)])
    with pytest.raises(SystemExit) as caught:
        benchmark.main()
    return caught.value.code


@pytest.fixture
def trial(monkeypatch):
    """Return a job of a subject that is there already."""

    def run(n: int, path: Path = Path(), seed: int = 1):
        yield Row(f"{n} times", "found", n + seed, "s", holds=n < 5)
        yield Row(str(path), "nothing", None)

    monkeypatch.setitem(JOBS, "dcap.trial", benchmark.Job("dcap.trial", run, {"n": 2}))


def test_every_job_is_in_the_table_and_its_smallest_settings_are_its_own():
    jobs = {job.name: job for job in benchmark.jobs_of(benchmark.subjects())}
    assert sorted(jobs) == sorted(JOB_NAMES)
    for job in jobs.values():
        assert set(job.small) <= set(inspect.signature(job.run).parameters), job.name
        assert inspect.getdoc(job.run), job.name
        assert benchmark.listed(job).startswith(job.name)


@pytest.mark.usefixtures("trial")
def test_a_row_says_where_and_when_it_was_measured(monkeypatch, tmp_path, capsys):
    out = tmp_path / "rows.csv"
    assert call(monkeypatch, "dcap.trial", "--small", "--seed", 3, "--out", out) == 0
    assert call(monkeypatch, "dcap.trial", "--set", "n=7", "--set", "path=x", "--out", out) == 1
    assert "DOES NOT HOLD" in capsys.readouterr().out
    with out.open(newline="") as file:
        first, _, third, fourth = csv.DictReader(file)
    assert (first["job"], first["value"], first["unit"], first["seed"]) == (
        "dcap.trial",
        "5",
        "s",
        "3",
    )
    assert (first["holds"], third["holds"], fourth["holds"]) == ("True", "False", "")
    assert fourth["case"] == "x"
    assert all(first[name] for name in ("commit", "machine", "python"))


@pytest.mark.usefixtures("trial")
@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["dcap.trial"], "--set n="),
        (["dcap.nothing"], "no such job"),
        (["nothing.at_all"], "no such job"),
    ],
)
def test_mistakes_are_printed(monkeypatch, words, part):
    assert part in call(monkeypatch, *words)
