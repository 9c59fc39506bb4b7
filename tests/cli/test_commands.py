from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from synthesizer.cli.arguments import settings_in
from synthesizer.cli.commands import FORMER, TASKS, app, name_of
from synthesizer.cli.printing import show_table
from synthesizer.data import workers
from synthesizer.data.errors import Problems
from synthesizer.engine.registry import Registry
from synthesizer.report.blocks import DataTable
from tests.end_to_end.commands import NO_HALVES, call, persons_config, persons_frame, write_yaml
from tests.end_to_end.test_panel import LONG, long_frame

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    persons_config(
        tmp_path,
        variables={"age": {"kind": "numeric"}},
        strata=["sex"],
        min_stratum_rows=20,
        rules=[{"if": "age < 15", "then": {"income": "5"}}],
        forbid=["age < 18 and marital == 'married'"],
        checks={"keys": ["sex", "age"], "target": "marital"},
    )
    return tmp_path


def test_help_lists_every_command_by_task_and_fits_80_columns() -> None:
    listed = [name_of(entry) for entries in TASKS.values() for entry in entries]
    assert sorted(listed) == sorted(get_command(app).commands)  # type: ignore[attr-defined]
    for words in ([], *([name] for name in listed)):
        result = call(*words, "--help")
        assert result.exit_code == 0
        assert max(map(len, result.output.splitlines())) <= 80
    assert [name for name in listed if f"\n  {name} " not in call("--help").output] == []


def test_a_run_ends_with_verdict_worst_things_and_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = call("run", folder / "run.yaml", "-m", "2", "--seed", "424242", "--fail-on", "unclear")
    text = result.stdout
    lines = text.splitlines()
    assert 11 <= len(lines) <= 25
    longest = max(map(len, text.split()))  # a path
    assert max(map(len, lines)) <= max(80, longest)
    screen = " ".join(text.split())
    positions = [screen.index(words) for words in (
        "A person in the data:", "Anybody:", "Use:", "finding",
        "What to change: ", "files in ", "to release", " confidential: ", "--all",
    )]  # fmt: skip
    assert positions == sorted(positions)
    assert "424242" not in result.output
    assert result.exit_code == 3
    assert "--fail-on unclear: " in result.stderr
    assert (folder / "out" / "report.html").exists()  # all is written


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of two halves, a run of one of them, and a panel."""
    where = tmp_path_factory.mktemp("made")
    for name, seed in (("persons", 0), ("control", 1)):
        frame = persons_frame(150, seed).drop(columns="person_id")
        frame["income"] = (frame["income"] > 1500).map({True: "high", False: "low"})
        frame["age"] = frame["age"] // 20 * 20
        frame.to_csv(where / f"{name}.csv", index=False)
    checks = {"keys": ["sex", "age", "region"], "target": "marital", "suda": False}
    content = {
        "data": {"path": "persons.csv"},
        "output": {"directory": "out"},
        "variables": {"age": {"kind": "categorical"}},
        "m": 2,
        "checks": checks,
    }
    write_yaml(where / "run.yaml", content)
    write_yaml(where / "quick.yaml", content | {"checks": checks | NO_HALVES, "m": 1})
    long_frame(60).to_csv(where / "panel.csv", index=False)
    panel = {"data": {"path": "panel.csv"}, "output": {"directory": "panel", "report": False}}
    write_yaml(where / "panel.yaml", LONG | panel | {"checks": {"attacks": False}})
    quick = call("run", where / "quick.yaml", "-q")
    assert quick.exit_code == 0, quick.output
    assert call("fit", where / "run.yaml", "-o", where / "model", "-q").exit_code == 0
    return where


ENDS = {
    "a run of a panel": "run panel.yaml -o {0}",
    "risk with a control": "check persons.csv out --control control.csv",
    "utility with fits": "check persons.csv out --set three_way=true --set "
    "'fits=[{{formula: income ~ age + region * sex, family: logit}}, "
    "{{formula: income ~ age + region + sex, family: logit}}]'",
    "generate": "generate model -m 30 -o {0}",
}


@pytest.mark.parametrize("case", ENDS)
def test_every_command_ends_on_one_screen(
    case: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 25 lines of 80 columns; what a person calls is no longer than their terminal is high."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(made)
    ends_on_one_screen(ENDS[case].format(tmp_path / "x"))


def ends_on_one_screen(words: str) -> None:
    result = call(*shlex.split(words))
    assert result.exit_code in (0, 3), result.output
    lines = result.stdout.splitlines()
    paths = max(len(word) for word in result.stdout.split())
    assert (1 <= len(lines) <= 25, max(map(len, lines)) <= max(80, paths + 2)) == (True, True), (
        result.stdout
    )


def test_a_reader_that_has_seen_enough_is_no_fault() -> None:
    program = (
        "from synthesizer.cli.commands import add_command, app\n"
        "add_command(app, 'x', lambda: print(1))\n"
        "app(['x'])"
    )
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("command", ["run", "plan"])
def test_without_installed_models(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    result = call(command, folder / "run.yaml")
    assert result.exit_code == 2
    assert "no model is installed" in result.output
    assert not (folder / "out").exists()


def test_version(monkeypatch: pytest.MonkeyPatch) -> None:
    line = f"microdata-synthesizer {version('microdata-synthesizer')}; command: synthesizer\n"
    monkeypatch.setattr(workers, "LIBRARY", object())
    assert call("--version").output == line
    monkeypatch.setattr(workers, "LIBRARY", None)
    assert "not compiled: same results" in call("--version").output


def test_of_very_many_problems_the_first_are_shown(folder: Path) -> None:
    formula = "income ~ " + "-" * 3_000
    for words in ([], ["--json"]):
        files = (folder / "persons.csv", folder / "persons.csv")
        result = call("check", *files, *words, "--set", f"fits={formula}")
        assert result.exit_code == 2
        shown = result.output.splitlines()
        assert (shown[0], len(shown)) == ("3000 errors:", 22)
        assert shown[-1] == "- and 2,980 more; mend these first"


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("variables.`Jul.93`.kind=ordered", {"variables": {"Jul.93": {"kind": "ordered"}}}),
        ("`a=b`.c=[1, 2]", {"a=b": {"c": [1, 2]}}),
        ("data.delimiter=;", {"data": {"delimiter": ";"}}),
        ("output.directory=out", {"output": {"directory": str(Path("out").absolute())}}),
        ("seed=1\nm: 5", None),
        ("a." * 3000 + "b=1", None),
        ("seed", None),
        ("seed={", None),
    ],
)
def test_settings_are_keys_of_the_yaml(text: str, content: dict[str, object] | None) -> None:
    problems = Problems()
    options = settings_in([text], problems)
    assert (options, len(problems)) == (({}, 1) if content is None else (content, 0))


def test_plan(folder: Path) -> None:
    result = call("plan", folder / "run.yaml")
    assert result.exit_code == 0
    lines = [line.split() for line in result.output.splitlines()]
    rows = {line[1]: line for line in lines if len(line) > 4 and line[0].isdigit()}
    assert list(rows) == ["sex", "age", "marital", "region", "income"]
    assert rows["sex"][3] == "sample"
    assert rows["income"][3:5] == ["cart", "4"]
    for words in ("strata: a chain for every", "rule: where age < 15", 'forbid "age < 18',
                  "keys sex, age; target marital"):  # fmt: skip
        assert words in result.output
    assert sorted(path.name for path in folder.iterdir()) == ["persons.csv", "run.yaml"]
    (folder / "out").mkdir()
    (folder / "out" / "manifest.json").write_text("{}")
    for words, expected in (([], True), (["--set", "output.overwrite=true"], False)):
        again = call("plan", folder / "run.yaml", *words)
        assert (again.exit_code, "before a run: " in again.output) == (0, expected)


def test_codebook(folder: Path) -> None:
    """Of a file it is for the steward: it is printed and not written."""
    result = call("codebook", folder / "persons.csv")
    assert result.exit_code == 0
    assert "CONFIDENTIAL" in result.output
    assert "marital" in result.output
    content = json.loads(call("codebook", folder / "persons.csv", "--json").output)
    assert content["n_rows"] == 100
    kinds = {variable["name"]: variable["kind"] for variable in content["variables"]}
    assert (kinds["person_id"], kinds["sex"]) == ("id", "categorical")
    assert call("codebook", folder / "absent.csv").exit_code == 2
    assert call("codebook", folder / "persons.csv", "-o", folder / "x").exit_code == 2
    assert not (folder / "x").exists()


def test_init(folder: Path) -> None:
    words = ("init", folder / "persons.csv", "-o", folder / "starter.yaml")
    result = call(*words)
    assert result.exit_code == 0
    assert "starter.yaml" in result.output
    assert call("plan", folder / "starter.yaml").exit_code == 0
    assert call(*words).exit_code == 2
    assert call(*words, "--overwrite").exit_code == 0


def test_models() -> None:
    result = call("reference", "models")
    assert result.exit_code == 0
    for entry in Registry.load().entries():
        assert entry.name in result.output
    assert "synthesizer 0." in result.output


def test_schema_accepts_the_demo_and_knows_every_model() -> None:
    schema = json.loads(call("reference", "schema").output)
    assert schema["properties"]["m"]["minimum"] == 1
    assert {"data", "output", "checks", "limits", "models"} <= set(schema["properties"])
    demo = yaml.safe_load((ROOT / "scripts" / "configs" / "fair.yaml").read_text())
    assert set(demo) <= set(schema["properties"])
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    validator.check_schema(schema)
    assert list(validator(schema).iter_errors(demo)) == []
    assert list(validator(schema).iter_errors(demo | {"m": 0}))


def test_the_program_starts_fast_and_imports_little() -> None:
    code = (
        "import sys, synthesizer.cli.commands\n"
        "heavy = {'pandas', 'sklearn', 'scipy', 'statsmodels', 'pyarrow'} & set(sys.modules)\n"
        "sys.exit(' '.join(heavy) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 0, done.stderr


def test_a_number_of_a_table_can_be_copied(capsys: pytest.CaptureFixture[str]) -> None:
    forms = ("text", "figure", "figure")
    rows = [["−", -4.25, 1.5e-7]]
    show_table(DataTable(caption="", columns=("name", "x", "y"), forms=forms, rows=rows))
    assert capsys.readouterr().out.split()[-3:] == ["−", "-4.250", "1.5e-7"]


def test_former_commands_and_options_are_refused_with_the_new_ones() -> None:
    for name, new in FORMER.items():
        result = call(name, "x.yaml")
        assert (result.exit_code, f"is now 'synthesizer {new}'" in result.output) == (2, True)
    output = call("run", "x", "--secret", "none").output
    assert "'--secret' is now '--set random_key=VALUE'" in output


def test_a_run_without_checks_prints_one_line_and_quiet_commands_none(folder: Path) -> None:
    result = call("run", folder / "run.yaml", "--no-checks")
    assert result.exit_code == 0
    *notes, line = [x for x in result.stdout.splitlines() if not x.startswith("note: random_key")]
    assert notes == ["note: records of the data break 1 rule; `plan` shows how many"]
    assert line.startswith("wrote synthetic_1.csv")
    assert line.endswith("No check ran, so there is no verdict (more: --all)")
    every = call("run", folder / "run.yaml", "--no-checks", "--overwrite", "--all").stdout
    assert "Turn on" not in every
    assert every.count("note: ") > result.stdout.count("note: ")
    assert call("run", folder / "run.yaml", "--no-checks", "--overwrite", "-q").output == ""
    assert call("run", folder / "run.yaml", "--no-checks", "--fail-on", "fail").exit_code == 2
    model = folder / "model"
    assert call("fit", folder / "run.yaml", "-o", model, "-q").output == ""
    assert call("generate", model, "-o", folder / "drawn", "-q").output == ""


def test_the_package_is_a_command_of_python() -> None:
    words = [sys.executable, "-m", "synthesizer", "--version"]
    assert "synthesizer" in subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_models_show_their_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "240")
    shown = call("reference", "models", "lag_one").output
    for words in ('"pooled" or "by_period"', "whole number, at least 1", "true or false"):
        assert words in shown
    assert "min_leaf" in call("reference", "models", "rf").output  # synthpop's name
    assert call("reference", "models", "cat").exit_code == 2


def test_an_unknown_option_lists_extensions_only_if_they_can_add_it(folder: Path) -> None:
    outputs = {
        name: call(name, folder / "run.yaml", "--nonsense").output for name in ("run", "plan")
    }
    assert "installed extensions" in outputs["run"]
    assert "installed extensions" not in outputs["plan"]
    assert "--help" in outputs["plan"]
