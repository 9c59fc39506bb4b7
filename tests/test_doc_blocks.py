"""Every command and every block of the pages: it runs where its page has a scene, or is read.

What is not run is read by what would read it: a command by the parser, a configuration by its
schema, a script's options by its text. ``READ`` contains the reason not to run a command.
"""

import ast
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tomllib
import warnings
from contextlib import chdir, contextmanager, nullcontext
from textwrap import dedent

import numpy as np
import pandas as pd
import pytest
import typer
import yaml
from fill_pages import ROOT, blocks, filled, run_here, words_of

from synthesizer.cli.commands import app
from synthesizer.config.reading import read_config
from tests.report.test_notebook import LARGEST, page_of
from tests.scenes import SCENES, write

if os.environ.get("WITHOUT"):
    pytest.skip("an extension that the pages describe was removed", allow_module_level=True)
FRONT = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES = {path.stem: path for path in [*FRONT, *sorted((ROOT / "docs").glob("*.md"))]}
BLOCKS = [
    pytest.param(name, number, id=f"{name}-{number}-{block.kind}")
    for name, path in PAGES.items()
    for number, block in enumerate(blocks(path.read_text("utf-8")))
    if name not in SCENES
]
READ = {
    "run config.yaml --resume": "nothing was stopped",
    "frontier persons.yaml --vary cart.cap=30,100 --vary proper=true,false --plan": "plan alone",
}
OTHERS = {"R", "dask", "install", "pg_dump", "podman", "python3", "synthesis/bin/pip"}
"""Programs of others."""
FOREIGN = {"dask_jobqueue", "synthesizer.extensions.verification.client"}
"""What an example needs a cluster or a server for."""


def text_of(name):
    return PAGES[name].read_text("utf-8")


def test_every_block_is_of_a_kind_that_is_looked_at():
    kinds = {block.kind for name in PAGES for block in blocks(text_of(name))}
    directives = {"{include}", "{toctree}"}
    assert kinds - directives == {
        "sh", "console", "yaml", "python", "toml", "r", "nginx", "",
    }  # fmt: skip


# Commands.


def parsed(words):
    """Let the parser read a command without running it."""
    command, words = typer.main.get_command(app), list(words)
    name = ""
    while hasattr(command, "commands"):
        name = words.pop(0)
        command = command.commands[name]
    command.make_context(name, words)


def check_command(command):
    """Look at a command that is not run: the parser, the project file or the script reads it."""
    words = words_of(command)
    while "=" in words[0]:
        words.pop(0)
    if words[0] == "synthesizer":
        parsed(words[1:])
    elif words[0] == "pip":
        named = re.findall(r"\[([\w,]+)\]", command)
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
            "optional-dependencies"
        ]
        assert {extra for one in named for extra in one.split(",")} <= set(extras)
    elif words[0].startswith("./") or (words[0] == "python" and words[1] != "-m"):
        script = ROOT / (words[1] if words[0] == "python" else words[0])
        text = script.read_text("utf-8")
        options = [word[2:].replace("-", "_") for word in words if word.startswith("--")]
        text = text.replace("-", "_")
        assert [option for option in options if not re.search(rf"\b_*{option}\b", text)] == []
    elif words[:3] == ["python", "-m", "pytest"]:
        assert [word for word in words[3:] if not (ROOT / word).exists()] == []
    elif words[:2] == ["python", "-m"]:
        assert importlib.util.find_spec(words[2]) is not None
    else:
        assert words[0] in OTHERS


def test_commands_within_sentences_can_be_read():
    sentences = [re.sub(r"```.*?```", "", text_of(name), flags=re.S) for name in PAGES]
    for command in re.findall(r"`synthesizer ([^`]+)`", " ".join(sentences)):
        words = words_of(command)
        if "--help" in words or words[0].isupper():
            continue
        known = typer.main.get_command(app).commands
        assert words[0] in known, command
        if len(words) > 1:
            parsed(words)


# The blocks of a page without a scene.


@pytest.mark.parametrize(("name", "number"), BLOCKS)
def test_a_block_is_sound(name, number):
    block = list(blocks(text_of(name)))[number]
    if block.kind in ("sh", "console") and name != "tutorial":
        for command in block.commands:
            check_command(command)
    elif block.kind in LOOK:
        LOOK[block.kind](block.text)


def look_at_yaml(text):
    """Let the schema of what it is read a block; parts of a whole are put into one."""
    from synthesizer.extensions.verification.public_schema import strictly
    from synthesizer.extensions.verification.query import query_of
    from synthesizer.extensions.verification.server.server_config import ServerConfig

    content = yaml.safe_load(text)
    if "database" in content:
        strictly(ServerConfig, content, origin="server.yaml")
    elif "ask" in content:
        no_model = content["ask"]["measure"] in ("counts", "means")
        query_of(content if no_model else {"formula": "a ~ b", **content})
    else:
        for one in [content] if isinstance(content, dict) else content:
            config = {"version": 2, "data": {"path": "persons.csv"}, **one}
            read_config(config)


def look_at_python(text):
    """Find every name that an example imports; names of others need not be installed."""
    for node in ast.walk(ast.parse(dedent(text))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("synthesizer"):
            module = importlib.import_module(node.module)
            assert [one.name for one in node.names if not hasattr(module, one.name)] == []


def look_at_r(text):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    words = ["Rscript", "--vanilla", "-e", 'invisible(parse(file("stdin")))']
    subprocess.run(words, input=text, text=True, check=True)


LOOK = {"yaml": look_at_yaml, "python": look_at_python, "toml": tomllib.loads, "r": look_at_r}


# Pages whose blocks run, one after the other, in a folder of small files.


@contextmanager
def notebook(folder, names):
    """Return a shell of IPython with some names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        interactive = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
        settings = importlib.import_module("traitlets.config").Config()
        settings.HistoryManager.enabled = False
        settings.InteractiveShell.ipython_dir = str(folder / "ipython")
        settings.InteractiveShell.ast_node_interactivity = "all"
        shell = interactive.instance(config=settings)
    shell.push(names)
    try:
        yield shell
    finally:
        shell.restore_sys_module_state()
        interactive.clear_instance()


def run_cell(text, shell):
    """Run a block as a cell, and look at all that it displays."""
    from IPython.utils.capture import capture_output

    with capture_output() as shown:
        done = shell.run_cell(text)
    done.raise_error()
    pages = [one.data["text/html"] for one in shown.outputs if "text/html" in one.data]
    for page in pages:
        assert len(page) < LARGEST
        assert "<script" not in page
        if page.startswith("<iframe"):
            _, seen = page_of(page)
            assert not seen.all("script") + seen.all("img")


@pytest.mark.parametrize("name", SCENES)
def test_the_page_runs(name, tmp_path):
    names = SCENES[name](tmp_path)
    with notebook(tmp_path, names) if name == "python" else nullcontext() as shell:
        run_page(name, names, tmp_path, shell)


def run_page(name, names, tmp_path, shell):
    for block in blocks(text_of(name)):
        if block.kind == "sh":
            for command in block.commands:
                run_or_read(command, tmp_path)
        elif block.kind == "python" and not any(other in block.text for other in FOREIGN):
            with chdir(tmp_path), warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                if name == "python":
                    run_cell(block.text, shell)
                else:
                    exec(compile(block.text, f"{name}.md", "exec"), names)
        elif block.kind in LOOK:
            LOOK[block.kind](block.text)


def run_or_read(command, folder):
    words = words_of(command)
    if words[0] != "synthesizer" or shlex.join(words[1:]) in READ:
        check_command(command)
        return
    words = [one for word in words[1:] for one in expanded(word, folder)]
    run_here(words, folder)


def expanded(word, folder):
    """Return the paths of a pattern, as a shell does."""
    if "*" not in word or "/" not in word:
        return [word]
    matches = [path for path in folder.glob(word.rstrip("/")) if path.is_dir() or word[-1] != "/"]
    return sorted(str(path.relative_to(folder)) for path in matches)


# Recipes: each is run alone, and every synthetic record keeps it.


def steps(made, name):
    """Return the pairs of one value and the next of the same person."""
    after = made.groupby("person")[name].shift(-1)
    return set(zip(made[name][after.notna()], after.dropna(), strict=True))


def children(made):
    heads = made[made["relation"] == 1].set_index("hhid")["age"]
    one = made["hhid"].map(heads).notna().all() and made.groupby("hhid")["relation"].min().eq(1)
    return one.all() & (made["relation"].ne(3) | (made["age"] <= made["hhid"].map(heads) - 12))


CHECKS = (
    lambda made: ~((made["age"] < 18) & (made["marital"] == "widowed")),
    lambda made: made["left"] >= made["admitted"],
    lambda made: made["schooling"].between(0, made["age"]),
    lambda made: (made["age"] >= 15) | made["hours"].isna() & (made["marital"] == "single"),
    lambda made: made["total"] == made["wages"] + made["pension"],
    lambda made: abs(made["bmi"] - made["weight"] / (made["height"] / 100) ** 2) < 1e-6,
    lambda made: made["town_name"] == "town " + made["town"].astype(str),
    lambda made: made.groupby("town")["province"].agg(set).map(len).eq(1),
    lambda made: ~((made["job"] == "farmer") & (made["education"] == "secondary")),
    lambda made: made["time"] > 0,
    lambda made: pd.Series(
        ("permanent", "no") not in steps(made, "tenure")
        and ("retired", "employed") not in steps(made, "status")
        and all(a <= b for a, b in steps(made, "grade"))
    ),
    children,
)
"""What the synthetic records of each recipe keep."""


@pytest.mark.parametrize("number", range(len(CHECKS)))
def test_a_recipe_is_kept(number, tmp_path):
    SCENES["constraints"](tmp_path)
    recipes = [block.text for block in blocks(text_of("constraints")) if block.kind == "yaml"]
    assert len(recipes) == len(CHECKS)
    recipe = yaml.safe_load(recipes[number])
    file = {"panel": "careers", "household": "households"}
    (name,) = {file[key] for key in file if key in recipe} or {"persons"}
    config = {"data": {"path": f"{name}.csv"}, "output": {"directory": "made"}, "seed": 1}
    write(tmp_path, "recipe.yaml", {"version": 2, **config, **recipe})
    run_here(["run", "recipe.yaml", "--no-checks", "-q"], tmp_path)
    made = pd.read_csv(tmp_path / "made" / "synthetic_1.csv")
    assert len(made) > 50
    assert CHECKS[number](made).all(axis=None)


# Columns: a row of the page begins so, has such values, and has this kind, or none if left out.


def numbers(form, high, n=400):
    return [form.format(value) for value in np.random.default_rng(len(form)).integers(0, high, n)]


COLUMNS = {
    "Serial numbers": ([str(k) for k in range(400)], "id"),
    "Identifiers of one pattern": ([f"P{k:06d}" for k in range(400)], "id"),
    "E-mail addresses": ([f"a{k}b@mail.org" for k in range(400)], "id"),
    "Names of persons": ([f"Name {chr(97 + k % 25)}{chr(97 + k % 12)}" for k in range(400)], None),
    "Free text": ([f"she wrote {k % 7} {k}" for k in range(400)], "id"),
    "A region code with leading zeros": (numbers("0{}", 60), "categorical"),
    "Occupation codes": (numbers("{}", 5000), "numeric"),
    "ICD codes": (numbers("A{:02d}.1", 50), "categorical"),
    "A flag": (numbers("{}", 2), "categorical"),
    "A count": (numbers("{}", 6), "categorical"),
    "A scale from 0": (numbers("{}", 11), "numeric"),
    "Groups of a number": (["18-24", "25-54", "55+", "25-54"] * 100, "ordered"),
    "Several answers": (["de;en", "en", "de", "de;fr"] * 100, "categorical"),
    "An empty column": ([""] * 400, None),
    "Amounts with many zeros": ([*numbers("{}", 900, 200), *["0"] * 200], "numeric"),
    "999 for missing": ([*numbers("{}", 60, 380), *["999"] * 20], "numeric"),
    "Money and units": (numbers("${:,}.50", 9000), "numeric"),
    "A decimal comma": (numbers("{},5", 80), "numeric"),
    "Dates, months": ([f"20{10 + k % 15}{1 + k % 12:02d}" for k in range(400)], "date"),
    "Clock times": ([f"0{k % 9}:{k % 60:02d}" for k in range(400)], "numeric"),
    "Coordinates": (numbers("52.{:05d}", 99999), "numeric"),
}


def test_columns_have_the_kinds_of_the_page(tmp_path):
    rows = [line for line in text_of("columns").splitlines() if line.startswith("| ")]
    assert [
        start for start in COLUMNS if not any(row.startswith(f"| {start}") for row in rows)
    ] == []
    frame = pd.DataFrame({name.replace(" ", "_"): values for name, (values, _) in COLUMNS.items()})
    frame.to_csv(tmp_path / "c.csv", index=False)
    run_here(["init", "c.csv", "-q"], tmp_path)
    made = yaml.safe_load((tmp_path / "c.yaml").read_text("utf-8"))["variables"]
    kinds = {name: made.get(name.replace(" ", "_"), {}).get("kind") for name in COLUMNS}
    assert kinds == {name: kind for name, (_, kind) in COLUMNS.items()}


# The tutorial: what it shows is what is printed today, but for numbers, and for the test that
# decides a line of a verdict: which of two close ones it is may follow from the last bits of a fit.

LINE = re.compile(
    r"((?:A person in the data|Anybody|Use): [A-Z ]+\.) .*?"
    r"(?= (?:Anybody:|Use:|worst first|a verdict is|wrote|```))"
)


def masked(text):
    """Return a text without its numbers, and without the blanks that follow from these."""
    numbers = re.sub(r"\d[\d.,]*", "#", text)
    units = re.sub(r"# (min|s|h|kB|MB|GB)\b", "#", numbers)  # of a busy machine they are others
    return LINE.sub(r"\1", re.sub(r"[\s─]+", " ", units))


def test_the_tutorial_shows_what_is_printed(tmp_path):
    text = text_of("tutorial")
    assert masked(filled(text, tmp_path)) == masked(text), "run scripts/fill_pages.py"


def test_the_comparison_sees_another_word():
    assert masked("wrote a.csv  (6,366 rows)") == masked("wrote a.csv (12 rows)")
    verdict = "Anybody: {}. The keys match. Use: LOOK. As good. wrote a.csv"
    assert masked(verdict.format("SAFE BY THESE TESTS")) != masked(verdict.format("LOOK"))
    assert masked(verdict) == "Anybody: {}. The keys match. Use: LOOK. wrote a.csv"
