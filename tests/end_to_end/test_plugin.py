"""A package from elsewhere joins through its entry point, without any change here."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[1] / "plugin_example"

FIND = """
import json
from synthesizer.engine.registry import Registry
from synthesizer.engine.testing import check_model

registry = Registry.load()
assert "hotdeck" in registry.names
entry = registry.entry("hotdeck")
check_model(registry.build("hotdeck", {"by": "p_coded"}))
check_model(registry.build("hotdeck"))
print(json.dumps({
    "package": entry.package,
    "version": entry.version,
    "summary": entry.summary,
    "schema": registry.options_schema("hotdeck"),
    "builtin": "sample" in registry.names,
}))
"""


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install a copy of the example, as its users would, away from this environment."""
    if importlib.util.find_spec("pip") is None or importlib.util.find_spec("setuptools") is None:
        pytest.skip("pip and setuptools are needed to install the example package")
    source = tmp_path_factory.mktemp("source")
    for file in EXAMPLE.iterdir():
        if file.is_file():
            (source / file.name).write_bytes(file.read_bytes())
    folder = tmp_path_factory.mktemp("site")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--target", folder]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *map(str, options), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_registry_finds_the_model_and_it_keeps_the_contract(installed):
    done = run(FIND, installed)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["package"] == "synthesizer-hotdeck"
    assert found["version"] == "0.3.0"
    assert found["summary"] == "Copy a random donor of the same class."
    assert found["schema"]["properties"]["by"]["type"] == "string"
    assert found["builtin"]


def test_the_model_is_used_from_yaml(installed, tmp_path):
    rows = "".join(f"{'fm'[i % 2]},{i % 7 + 10 * (i % 2)}\n" for i in range(100))
    (tmp_path / "data.csv").write_text("sex,x\n" + rows)
    (tmp_path / "run.yaml").write_text(
        "data: {path: data.csv}\nseed: 1\nchecks: false\n"
        "variables:\n  sex: {kind: categorical}\n"
        "  x: {kind: numeric, method: hotdeck, options: {by: sex}}\n"
    )
    code = (
        "import sys\nfrom synthesizer.cli.commands import main\n"
        f"sys.argv = ['synthesizer', 'run', {str(tmp_path / 'run.yaml')!r}]\nmain()"
    )
    done = run(code, installed)
    assert done.returncode == 0, done.stderr
    assert "models: sample 1, hotdeck 1" in done.stdout
    lines = (tmp_path / "synthetic" / "synthetic_1.csv").read_text().splitlines()[1:]
    assert len(lines) == 100
    assert all((int(line[2:]) >= 10) == (line[0] == "m") for line in lines)


def test_wrong_option_of_a_plugin_names_model_and_option(installed):
    code = (
        "from synthesizer.engine.registry import Registry\n"
        "Registry.load().build('hotdeck', {'bye': 1})"
    )
    done = run(code, installed)
    assert done.returncode == 1
    assert "model 'hotdeck': unknown option 'bye'; did you mean 'by'?" in done.stderr


def declare(folder: Path, package: str, line: str) -> None:
    """Write what an installation leaves of a package that declares one model."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[synthesizer.models]\n{line}\n")


def test_two_packages_with_one_name_are_both_named(tmp_path):
    declare(tmp_path, "rival", "sample = rival:Sample")
    done = run("from synthesizer.engine.registry import Registry\nRegistry.load()", tmp_path)
    assert done.returncode == 1
    assert "model 'sample' is offered twice" in done.stderr
    assert "'rival'" in done.stderr
    assert "'synthesizer'" in done.stderr


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("absent_module:Model", "ModuleNotFoundError"),
        ("json:absent", "AttributeError"),
        ("json:dumps", "is no subclass of ConditionalModel"),
    ],
)
def test_broken_plugin_is_named_and_hurts_only_who_asks_for_it(tmp_path, target, reason):
    declare(tmp_path, "broken", f"ruin = {target}")
    code = (
        "from synthesizer.engine.registry import Registry\n"
        "registry = Registry.load()\nregistry.build('sample')\nprint('alive')\nregistry.get('ruin')"
    )
    done = run(code, tmp_path)
    assert done.returncode == 1
    assert done.stdout == "alive\n"
    for part in ("'ruin'", repr(target), "'broken'", reason):
        assert part in done.stderr
