"""The pages: links lead somewhere, and the examples of ``docs/extending.md`` work as written."""

import importlib
import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest
import yaml
from fill_pages import blocks as fences
from measure_dependencies import requirements
from pydantic import Field
from site_pages import filled as made_parts
from typer.main import get_command

from synthesizer import LimitConfig, Registry
from synthesizer.cli.commands import app
from synthesizer.config.reading import config_schema
from synthesizer.engine.testing import check_model
from synthesizer.measures.catalogue import MEASURES, in_order
from synthesizer.measures.figure import Measured, in_units, plain, typed
from synthesizer.measures.risk.attacks import AttackOptions

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
EXTENDING = ROOT / "docs" / "extending.md"


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Return a function that imports the first block of Python that defines a name."""

    def load(definition):
        blocks = re.findall(r"```python\n(.*?)```", EXTENDING.read_text(encoding="utf-8"), re.S)
        text = next(block for block in blocks if definition in block)
        path = tmp_path / "an_example.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, path.stem, module)
        spec.loader.exec_module(module)
        return module

    return load


TO_WRITE = {"synthesizer/models/uniform.py", "synthesizer/measures/risk/met.py"}


def test_links_and_names_lead_to_files():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        links = {page.parent / link for link in re.findall(r"\]\(([^)#:]+)\)", text)}
        named = re.findall(r"`((?:docs|scripts|tests|synthesizer)/[\w./]+\.\w+)", text)
        links |= {ROOT / name for name in {*named} - TO_WRITE}
        assert [link for link in links if not link.exists()] == [], page.name


PRIVATE = re.compile(
    r"pypi\.org|/work/|/home/|/root/|\bsessions? of (?:the|a) (?:lead|helper)", re.I
)


def test_pages_name_no_place_of_a_machine_and_no_registry():
    assert [page.name for page in PAGES if PRIVATE.search(page.read_text(encoding="utf-8"))] == []
    assert PRIVATE.findall("see /home/me/x and https://pypi.org/project/x") == [
        "/home/",
        "pypi.org",
    ]


def test_the_model_of_the_page_keeps_the_contract(example):
    model = example("class Uniform")
    check_model(model.Uniform())
    check_model(model.Uniform(margin=0.1))
    with pytest.raises(ValueError, match=r"margin \(-1\) must be at least 0"):
        model.Uniform(margin=-1)


def test_the_measure_of_the_page_works(example):
    measure = example("def met(")
    people, made = pd.DataFrame({"age": [30, 41, 41]}), pd.DataFrame({"age": [41, 50]})
    result = measure.met(people, [made, made], keys=["age"])
    assert isinstance(result, Measured)
    assert [row.share for row in result.rows] == [2 / 3, 2 / 3]
    assert typed(measure.MetResult, plain(result)) == result


def test_the_entry_and_the_option_of_the_page_are_taken(example):
    measure = example("def met(")
    (entry,) = measure.MEASURES
    keys = [measure.key for measure in in_order([entry, *MEASURES.values()])]
    assert keys[keys.index("keys_met") - 1] == "attacks"
    blocks = [block.text for block in fences(EXTENDING.read_text(encoding="utf-8"))]
    option = next(text for text in blocks if "columns: int" in text)
    names = {"AttackOptions": AttackOptions, "Field": Field}
    exec(f"class Wider(AttackOptions):\n{option}", names)
    assert names["Wider"](columns=5).columns == 5
    with pytest.raises(ValueError, match="columns: must be at least 1"):
        names["Wider"](columns=0)


def test_the_citation_is_of_the_project():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for key in ("version", "license", "authors"):
        assert citation[key] == project[key]
    assert citation["title"] == project["name"]


@pytest.mark.parametrize("axis", ["risk", "utility"])
def test_the_reference_has_every_figure_in_the_words_of_its_kind(axis):
    rows = [
        f"| {kind.name} | `{kind.key}` | {kind.meaning} | {kind.direction} | "
        f"{'yes' if kind.limit else ''} |"
        for measure in MEASURES.values()
        for kind in measure.figures
        if measure.axis == axis and measure.compute.__module__.startswith("synthesizer.")
    ]
    assert len(rows) > 30
    page = made_parts((ROOT / "docs" / "reference.md").read_text(encoding="utf-8")).splitlines()
    table = in_units("\n".join(rows), "records").replace("{}", "...")
    assert [row for row in table.splitlines() if row not in page] == []


def test_the_reference_names_every_command_option_model_measure_limit_and_key():
    pages = [ROOT / "docs" / f"{name}.md" for name in ("install", "reference", "configuration")]
    text = " ".join(made_parts(page.read_text(encoding="utf-8")) for page in pages)
    registry = Registry.load()
    wanted = {entry.name for entry in registry.entries()} | {*LimitConfig.model_fields}
    wanted |= {measure.check for measure in MEASURES.values() if measure.words}
    commands, parts = [get_command(app)], [config_schema(registry)]
    for command in commands:
        commands += getattr(command, "commands", {}).values()
        wanted |= {option for one in command.params for option in one.opts if option[0] == "-"}
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            wanted |= {*part["properties"]} if isinstance(part.get("properties"), dict) else set()
            parts += part.values()
        parts += part if isinstance(part, list) else []
    assert len(wanted) > 300
    assert sorted(name for name in wanted if f"`{name}`" not in text) == []


def test_the_table_of_dependencies_is_that_of_the_project():
    wanted = {
        (name, f"`{extra}`" if extra else "base", f"`{versions}`")
        for extra, ranges in requirements().items()
        for name, versions in ranges.items()
    }
    page = (ROOT / "docs" / "dependencies.txt").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    listed = [row for row in rows if len(row) == 8 and row[0] not in ("dependency", "---")]
    assert {(name, extra, versions) for name, extra, _, versions, *_ in listed} == wanted
    assert [name for name, _, _, versions, *_ in listed if "<" not in versions] == []
    assert [row[0] for row in listed if not all(row) or row[-1] == "none given"] == []


def test_names_in_pages_about_other_programs_can_be_imported():
    texts = [(ROOT / "docs" / f"from-{name}.md").read_text("utf-8") for name in ("synthpop", "sdv")]
    paths = set(re.findall(r"`(synthesizer(?:\.[a-z_]+)+)", " ".join(texts)))
    assert len(paths) > 8
    for path in paths:
        module, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(module), name), path
