"""Words that must not come back: riddles of earlier versions, in texts and in names.

``python -m tests.test_words PATH...`` lists the places of each word.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

HOUSE = Path(__file__).parents[1]
FOLDERS = ("synthesizer", "docs", "clients/r/R", "scripts", "tests")
TEXTS = (".md", ".toml", ".jinja", ".html", ".R", ".Rd")

INSTEAD = {
    r"fresh samples?": "a new sample",
    r"the data themselves": "releasing the original",
    r"half[- ]splits?": "train-holdout test",
    r"tolerated": "limit",
    r"tilt(s|ed|ing)?|bends?|bent": "leaf regression",
    r"secrets? of the draws|draws? a secret": "key",
    r"whoever|nobody|so many|that of which|those of which": "name the person or the number",
    r"told|(?<!cannot )tells?|says?|said": "print, contain, release, reveal, refuse, return",
    r"there again": "equal a record",
    r"read off": "guessed",
}
"""Words in texts, each with what is written in its place."""
TEXT = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b", re.IGNORECASE)

NAME = re.compile(
    r"(?:^|_)(?:told|said|untold|ours|nobody|secret)(?:_|$)"
    r"|^_?(?:found|own|kept|place|places|left|near|enough|asked|says|tells)$",
    re.IGNORECASE,
)
"""Names in code that do not name a thing of the domain."""

FIELDS = {
    "_found", "asked", "found", "kept", "left", "near", "OWN", "places", "told",
}  # fmt: skip
"""Names that files, options or answers of the server contain."""
MAX_FIELDS = 30
"""Places of these names. It only falls."""
EXCEPT = {
    ("data/errors.py", "tilt"),  # the old name of an option
    ("data/guessing.py", "said"),  # ends in "id" and names no identifier
    ("plan/plan.py", "half split"),  # a random stream: its name decides draws
    ("extensions/verification/claims.py", "tell"),  # the answer "cannot tell"
    ("benchmarks/genetic.py", "told"),  # a random stream: its name decides draws
    ("benchmarks/panel_server.py", "nobody"),  # an account of Unix
    ("extensions/labelled/sas/make_sas.py", "nobody"),  # a label inside a file of SAS
    ("extensions/labelled/test_labelled.py", "nobody"),
    ("report/test_risk_disclosure.py", "told"),  # a saved field
}


def words_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and word of each forbidden word of a text."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in TEXT.finditer(line):
            yield number, match.group()


def faults(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and word of each forbidden word and name of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from words_in(text)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if tokenize.tok_name[token.type] in ("STRING", "COMMENT", "FSTRING_MIDDLE"):
            for number, word in words_in(token.string):
                yield token.start[0] + number - 1, word
    for node in ast.walk(ast.parse(text)):
        names = {
            ast.Name: lambda n: n.id if isinstance(n.ctx, ast.Store) else "",
            ast.arg: lambda n: n.arg,
            ast.FunctionDef: lambda n: n.name,
            ast.ClassDef: lambda n: n.name,
        }
        name = names.get(type(node), lambda _: "")(node)
        if NAME.search(name):
            yield node.lineno, name


def files(root: Path) -> list[Path]:
    """Return the files of a folder that people read, or the file itself."""
    if root.is_file():
        return [root]
    return sorted(p for p in root.rglob("*") if p.suffix in (".py", *TEXTS))


def test_no_word_comes_back() -> None:
    found = [
        (str(path.relative_to(root)), word)
        for root in (HOUSE / name for name in FOLDERS)
        for path in files(root)
        if path != Path(__file__)
        for _, word in faults(path)
    ]
    found = [each for each in found if each not in EXCEPT]
    assert not [each for each in found if each[1] not in FIELDS]
    assert len(found) <= MAX_FIELDS


def test_a_word_is_found_in_a_text_and_in_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text('"""Nobody is told."""\nfound = 1\nanswer = "cannot tell"\n')
    assert [*faults(path)] == [(1, "Nobody"), (1, "told"), (2, "found")]


if __name__ == "__main__":
    count = 0
    for root in sys.argv[1:]:
        for path in files(Path(root)):
            for line, word in sorted(faults(path)):
                print(f"{path}:{line}: {word}")
                count += 1
    print(count)
