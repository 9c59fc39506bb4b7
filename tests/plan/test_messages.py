"""Every problem that a steward can meet before the run: its code, and its sentence in one file.

``messages.txt`` has a block for each bad configuration: the source and what is changed in its
configuration, and below the code and sentence of each problem. Tests of an extension may have a
file of this name, too. To write them anew, call ``python -m tests.plan.test_messages`` and read the
difference.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from string import Formatter
from tempfile import TemporaryDirectory

import pytest
import yaml

import synthesizer.plan
from synthesizer.data.errors import SynthesizerError
from synthesizer.data.plugins import extensions, keyed
from synthesizer.data.samples import builtin
from synthesizer.engine.registry import Registry
from synthesizer.plan.findings import sentences
from synthesizer.plan.plan import prepare
from tests.plan.sources import HIDDEN, SOURCES

FOLDERS = {"plan": Path(synthesizer.plan.__path__[0])} | {
    f"extensions/{name}": Path(import_module(one.sentences).__file__ or "").parent
    for name, one in extensions().items()
    if one.sentences
}
"""Folders of tests with messages, and those of the code that has their sentences."""
for extension in extensions():
    with suppress(ModuleNotFoundError):
        SOURCES |= import_module(f"tests.extensions.{extension}.sources").SOURCES


def file(folder: str) -> Path:
    """Return the file of messages of a folder of tests."""
    return Path(__file__).resolve().parents[1] / folder / "messages.txt"


@cache
def cases(folder: str) -> dict[str, list[str]]:
    """Return the expected messages of every bad configuration."""
    blocks = file(folder).read_text(encoding="utf-8").split("\n\n")
    return {head: lines for head, *lines in map(str.splitlines, blocks)}


REGISTRY = Registry.load()


def lines_of(head: str) -> list[str]:
    """Return code and sentence of every problem of a source whose configuration is changed."""
    source, _, change = head.partition(": ")
    text, base = SOURCES[source]
    Path("data.csv").write_text(text, encoding="utf-8")
    config = {"data": {"path": "data.csv"}, "output": {"directory": "out"}, "seed": 1} | base
    try:
        prepare(config | yaml.safe_load(change), REGISTRY)
    except SynthesizerError as error:
        assert error.exit_code == 2
        problems = [f"  {problem.code}: {problem}" for problem in error.problems]
        return [line.replace(", ".join(REGISTRY.names), "all models") for line in problems]
    return []


def can_be_read(head: str) -> bool:
    """Whether the extensions are there whose keys a configuration has."""
    source, _, change = head.partition(": ")
    keys = {*SOURCES[source][1], *yaml.safe_load(change)}
    return not (os.environ.get("WITHOUT") and keys & KEYS_OF_EXTENSIONS - {*keyed()})


KEYS_OF_EXTENSIONS = {"extends", "genetic", "household", "privacy", "weights"}


def test_every_code_of_a_sentence_is_used() -> None:
    """And every sentence has its facts: with others, `problem` fails where it is called."""
    used = dict(calls())
    chosen = {"strata_change_in_persons"}
    assert {*used} | chosen == {*sentences()}
    for code, facts in used.items():
        needed = {field for _, field, _, _ in Formatter().parse(sentences()[code]) if field}
        assert None in facts or needed <= facts, code


def calls() -> Iterator[tuple[str, set[str | None]]]:
    """Yield the code and the names of the facts of every call of `problem` and `note`."""
    for path in chain.from_iterable(folder.glob("*.py") for folder in FOLDERS.values()):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Name("problem" | "note") | ast.Attribute(attr="problem" | "note"),
                    args=[ast.Constant(str(code))],
                ):
                    yield code, {keyword.arg for keyword in node.keywords}


def main() -> None:
    """Write the file anew."""
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in FOLDERS:
            blocks = ["\n".join([head, *lines_of(head)]) for head in cases(name)]
            file(name).write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()


@pytest.mark.parametrize("folder", FOLDERS)
def test_messages(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that differ are listed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(builtin, "read_sample", cache(builtin.read_sample))  # 6,000 rows
    messages = {head: lines_of(head) for head in cases(folder) if can_be_read(head)}
    assert {head: lines for head, lines in messages.items() if lines != cases(folder)[head]} == {}
    assert not any(HIDDEN in line for lines in messages.values() for line in lines)
    assert [entry.name for entry in tmp_path.iterdir()] == ["data.csv"]
