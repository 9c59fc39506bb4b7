"""The pages: links lead somewhere, and the examples of ``docs/extending.md`` work as written."""

import importlib.util
import re
import sys
from pathlib import Path

import pandas as pd
import pytest
from measure_dependencies import requirements

from synthesizer.engine.testing import check_model
from synthesizer.measures.figure import Measured, plain, typed

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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page):
    named = re.findall(
        r"`((?:docs|scripts|tests|synthesizer)/[\w./]+\.\w+)", page.read_text(encoding="utf-8")
    )
    to_write = {"synthesizer/models/uniform.py", "synthesizer/measures/risk/met.py"}
    assert [name for name in named if name not in to_write and not (ROOT / name).exists()] == []


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


def test_the_table_of_dependencies_is_that_of_the_project():
    wanted = {
        (name, f"`{extra}`" if extra else "base", f"`{versions}`")
        for extra, ranges in requirements().items()
        for name, versions in ranges.items()
    }
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    listed = [row for row in rows if len(row) == 8 and row[0] not in ("dependency", "---")]
    assert {(name, extra, versions) for name, extra, _, versions, *_ in listed} == wanted
    assert [name for name, _, _, versions, *_ in listed if "<" not in versions] == []
    assert [row[0] for row in listed if not all(row) or row[-1] == "none given"] == []
