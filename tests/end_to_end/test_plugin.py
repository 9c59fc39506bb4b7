"""A package from elsewhere joins through its entry point, without any change here."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from fill_pages import blocks
from pydantic import ValidationError

from synthesizer import Synthesizer
from synthesizer.data.errors import ConfigError
from synthesizer.engine.registry import Registry
from synthesizer.engine.testing import check_model
from synthesizer.measures import catalogue
from synthesizer.measures.catalogue import MEASURES
from synthesizer.measures.results import RiskResult
from synthesizer.measures.settings import ALL_OFF
from tests.end_to_end.commands import call, hashes, persons_frame, write_yaml

EXAMPLE = Path(__file__).resolve().parents[1] / "plugin_example"
MODULE = "synthesizer_hotdeck"


def searched(folder: Path) -> str:
    """Return where modules are looked for: a folder, then where this process does."""
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))


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


@pytest.fixture
def environment(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """The registry of an environment that holds the example."""
    monkeypatch.syspath_prepend(installed)
    yield Registry.load()
    sys.modules.pop(MODULE, None)


def test_registry_finds_the_model_and_it_keeps_the_contract(environment):
    entry = environment.entry("hotdeck")
    assert (entry.package, entry.version) == ("synthesizer-hotdeck", "0.3.0")
    assert entry.summary == "Copy a random donor of the same class."
    assert environment.options_schema("hotdeck")["properties"]["by"]["type"] == "string"
    assert {"hotdeck", "sample"} <= set(environment.names)
    check_model(environment.build("hotdeck", {"by": "p_coded"}))
    check_model(environment.build("hotdeck"))
    with pytest.raises(ConfigError, match="unknown option 'bye'; did you mean 'by'?"):
        environment.build("hotdeck", {"bye": 1})


@pytest.mark.usefixtures("environment")
def test_an_installed_model_is_used_from_yaml(folder):
    assert "models: sample 1, hotdeck 1" in command(0, "run", "run.yaml", "--all")
    lines = (folder / "synthetic" / "synthetic_1.csv").read_text().splitlines()[1:]
    assert len(lines) == 100
    assert all((int(line[2:]) >= 10) == (line[0] == "m") for line in lines)


def declare(folder: Path, package: str, line: str, group: str = "synthesizer.models") -> None:
    """Write what an installation leaves of a package that declares one model or measure."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{line}\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data and a configuration whose model is in a module that can be imported, no package."""
    rows = "".join(f"{'fm'[i % 2]},{i % 7 + 10 * (i % 2)}\n" for i in range(100))
    (tmp_path / "data.csv").write_text("sex,x\n" + rows)
    (tmp_path / "run.yaml").write_text(
        "data: {path: data.csv}\nseed: 1\nm: 2\nworkers: 1\nchecks: false\n"
        "variables:\n  sex: {kind: categorical, method: sample}\n"
        "  x: {kind: numeric, method: hotdeck, options: {by: sex}}\n"
    )
    monkeypatch.syspath_prepend(EXAMPLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(code: int, *words: object) -> str:
    """Call a command and return its output without line breaks."""
    result = call(*words)
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def test_a_module_in_the_yaml_offers_models(folder):
    command(0, "run", "run.yaml", "--set", f"plugins=[{MODULE}]", "-o", "one")
    plain = (folder / "run.yaml").read_text()
    (folder / "run.yaml").write_text(f"{plain}plugins: [{MODULE}]\n")
    for words in (["plan", "run.yaml"], ["run", "run.yaml", "-o", "two"]):
        command(0, *words)
    assert len(hashes(folder / "one")) == 2
    assert hashes(folder / "one") == hashes(folder / "two")
    manifest = json.loads((folder / "two" / "manifest.json").read_text())
    assert (manifest["plugins"], manifest["chain"][1]["model"]) == ([MODULE], "hotdeck")
    frame = pd.read_csv(folder / "data.csv")
    options = {"seed": 1, "workers": 1, "random_key": "none", "method": {"x": "hotdeck"}}
    fitted = Synthesizer(plugins=[MODULE], **options).fit(frame)
    registry = Registry.load().with_plugins([MODULE])
    other = Synthesizer(registry=registry, **options).fit(frame)
    pd.testing.assert_frame_equal(other.generate()[0], fitted.generate()[0])


def test_a_saved_model_names_its_plugins_and_imports_none(folder):
    command(0, "run", "run.yaml", "--set", f"plugins=[{MODULE}]", "-o", "run")
    command(0, "fit", "run.yaml", "--set", f"plugins=[{MODULE}]", "-o", "model")
    sys.modules.pop(MODULE)
    advice = f"unknown model 'hotdeck'.*fitted with plug-ins.*add --plugin {MODULE}"
    assert re.search(advice, command(2, "generate", "model"))
    assert MODULE not in sys.modules
    command(0, "generate", "model", "-m", 2, "-o", "drawn", "--plugin", MODULE)
    assert hashes(folder / "drawn") == hashes(folder / "run")


# Measures.


@pytest.fixture
def measured(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return what runs a command where another package has the measure of the documentation."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "extending.md").read_text()
    (text,) = (block.text for block in blocks(page) if "def met(" in block.text)
    (tmp_path / "other_measures.py").write_text(text)
    declare(tmp_path, "others", "met = other_measures:MEASURES", "synthesizer.measures")
    persons_frame(60).to_csv(tmp_path / "data.csv", index=False)
    keys = {"keys": ["sex", "age"], "target": "marital"}
    content = {"data": {"path": "data.csv"}, "seed": 1, "random_key": "none", "workers": 1}
    options = {"checks": ALL_OFF | keys, "limits": {"keys_met": 0.01}}
    write_yaml(tmp_path / "run.yaml", content | options)
    code = "import sys; from synthesizer.cli import main; main()"

    def synthesizer(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *words],
            env=os.environ | {"PYTHONPATH": searched(tmp_path), "COLUMNS": "200"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    return synthesizer


def test_a_measure_of_another_package_is_on_screen_page_and_record(measured, tmp_path):
    done = measured("run", "run.yaml", "-o", "out")
    assert done.returncode == 3, done.stderr
    assert "limits.keys_met: keys met, all datasets together" in done.stdout + done.stderr
    assert "keys met" in (tmp_path / "out" / "report.html").read_text()
    record = json.loads((tmp_path / "out" / "checks.json").read_text())
    (figure,) = [row for row in record["figures"] if row["key"] == "keys_met"]
    assert figure["value"] == record["summary"]["keys_met"] > 0.01
    assert list(record["results"]["risk"]["scenarios"][0]["further"]) == ["keys_met"]


def test_a_broken_measure_is_named(monkeypatch, tmp_path):
    declare(tmp_path, "broken", "a = json:dumps", "synthesizer.measures")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="is not of type tuple"):
        catalogue.load()


def test_a_measure_is_gone_with_its_extension_only(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(tmp_path)
    declare(tmp_path, "gone", "a = synthesizer.extensions.gone.a:MEASURES", "synthesizer.measures")
    assert catalogue.load() == MEASURES
    declare(tmp_path, "lost", "b = synthesizer.measures.lost:MEASURES", "synthesizer.measures")
    with pytest.raises(ConfigError, match="'b' .* cannot be imported"):
        catalogue.load()
    with pytest.raises(ValidationError, match="gone: add the package with this measure"):
        RiskResult(further={"gone": {}})


def test_measures_come_after_those_that_they_name():
    last, first = (replace(MEASURES["determined"], key=key) for key in ("last", "first"))
    ordered = catalogue.in_order([replace(last, after="first"), replace(first, after="")])
    assert [measure.key for measure in ordered] == ["first", "last"]
    other = replace(last, compute=lambda case: None, after="cap")
    ordered = [measure.key for measure in catalogue.in_order([*MEASURES.values(), other])]
    assert ordered[ordered.index("cap") + 1] == "last"  # before those of this package
    with pytest.raises(
        ConfigError, match="measure 'last': after names 'absent', which is no measure"
    ):
        [*catalogue.in_order([replace(last, after="absent")])]
    circle = [replace(last, after="first"), replace(first, after="last")]
    with pytest.raises(ConfigError, match="measures first, last: their after names form a circle"):
        [*catalogue.in_order(circle)]
