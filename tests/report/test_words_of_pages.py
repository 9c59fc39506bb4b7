"""Every word and number of the pages, in one file: reports of runs and codebooks of releases.

``pages.txt`` has a block for each scene: its name, and below what its page shows, one element a
line. A line that an earlier scene of the same kind of page has is left out. To write it anew, call
``python -m tests.report.test_words_of_pages`` and read the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from synthesizer.measures.results import RiskResult
from synthesizer.measures.verdict import CheckResults
from synthesizer.report import build
from synthesizer.report.page import sections_html
from synthesizer.report.record import Record, TreesEntry
from tests.report import risk_examples, utility_examples
from tests.report import test_careers_section as careers
from tests.report.codebook import test_codebook as books
from tests.report.codebook import test_codebook_panels as panels
from tests.report.codebook.books import page_of
from tests.report.utility_examples import EVIL, coefficient, fit, manifest, propensity, run, step

FILE = Path(__file__).with_name("pages.txt")
ENDS = ("p", "li", "tr", "h1", "h2", "h3", "h4", "caption", "summary", "title", "desc", "pre",
        "figcaption", "div", "aside", "dt", "dd", "section")  # fmt: skip
BETWEEN = ("td", "th", "span")
MOST_ROWS = 2
"""Rows of a table that the file has."""


class Lines(HTMLParser):
    """The text of a page, one element a line; of pictures their descriptions."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.rows = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        if tag in ENDS:
            self.end()
        self.rows = 0 if tag == "tbody" else self.rows + (tag == "tr")

    def handle_endtag(self, tag: str) -> None:
        if tag in ENDS:
            self.end()
        elif tag in BETWEEN:
            self.words.append("|")
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        in_picture = "svg" in self.open and "desc" not in self.open
        if not in_picture and not {"script", "style"} & {*self.open}:
            self.words += data.split()

    def end(self) -> None:
        line = " ".join(self.words).replace(" |", "|").strip("| ")
        self.words.clear()
        if line and ("tbody" not in self.open or self.rows <= MOST_ROWS):
            self.found.append(line)


def report(record: Record) -> str:
    return sections_html(build.sections(record))


def use(**changes: Any) -> Record:
    """A run with utility alone."""
    return run(**{"risk": RiskResult()} | changes)


def no_ratio() -> Any:
    values = propensity().datasets[0].model_copy(update={"s_pmse": None, "z_pmse": None})
    return propensity(interactions=2, datasets=(values,), n_synthetic=(100,))


def failed() -> Record:
    risks = risk_examples.risk(
        scenarios=(), inference=(), replicated=None, nearest=None, attacks=None, further={},
        failed={"train-holdout test": "too few records", "inference (pay)": "too many levels"},
        notes=("the control has other columns",),
    )  # fmt: skip
    lost = {"tables": "too large", "fit y ~ x": "one cluster.", "distributions": "no rows"}
    use = utility_examples.utility(
        tables=None, distributions=(), pairs=(), propensity=(), distance=None, fits=(),
        failed=lost | {"column 'a'": "is a number"}, notes=("dataset 2 has other levels",),
    )  # fmt: skip
    results = CheckResults(risk=risks, utility=use, failed=risks.failed | use.failed)
    return Record(manifest(), results, ("limits.cap: CAP is 0.3",), changes=("it has changed",))


REGRESSED = TreesEntry(even=True, leaf_regression=True)
ODD = TreesEntry(even=False, leaf_regression=False)
REPORTS: dict[str, Callable[[], Record]] = {
    "a run": lambda: use(risk=risk_examples.risk()),
    "a proper run, partly copied": lambda: use(proper=True, kept=("age", EVIL)),
    "few synthetic records": lambda: use(n_synthetic=(25, 25), propensity=(no_ratio(),)),
    "main effects alone": lambda: use(propensity=(propensity(),)),
    "nothing checked": lambda: Record(manifest(), CheckResults(risk=RiskResult(), failed={})),
    "everything failed": failed,
    "limits kept": lambda: use(facts=manifest(config={"limits": {"cap": 1, "auc": 1}})),
    "checks off": lambda: use(
        risk=RiskResult(),
        facts=manifest(config={"checks": {"cap": False, "suda": {"enabled": False}}}),
    ),
    "one variable": lambda: use(risk=RiskResult(), facts=manifest(chain=(step("sex"),))),
    "fits that overlap badly": lambda: use(
        fits=(fit(coefficients=(coefficient("a", 0.3, overlap=-1.25),)),)
    ),
    "fits of trees": lambda: use(
        facts=manifest(chain=(step("a", kind="numeric", trees=REGRESSED), step("b", trees=ODD)))
    ),
    "careers": careers.record,
    "careers matched": lambda: careers.record(
        careers=careers.replicated(0.11),
        config={"models": {"career": {"match": True}}},
        chain=(step("state", model="career"),),
    ),
    "careers that failed": lambda: careers.record(
        careers.panel(sequences=None, failed={"careers": "too few"})
    ),
    "careers off": lambda: use(facts=careers.record().manifest),
}
DECLARED = {
    "age": {"label": "Age in years", "unit": "years", "level_labels": {"59": "59 or more"}},
    "job": {"levels": ["none", "some", "9", "10", "11"], "level_labels": {"9": "part time"}},
    "pay": {"missing": ["-8.0", "-9"], "level_labels": {"-8": "refused", "-9": "not asked"}},
    "double": {"derived": " age * 2 "},
}
IMPOSED: dict[str, Any] = {
    "panel": {"person": "person", "time": "year", "rules": panels.RULES},
    "structural_zeros": [["sex", "job"]],
    "forbid": ["`career.moves` > 2 and year < 1991"],
    "rules": [{"if": "sex == 'f'", "then": {"job": "x"}}],
}


def datasets(folder: Path, numbers: tuple[int, ...] = (1, 2)) -> Path:
    return books.write(folder, *(books.frame(number) for number in numbers))


PARTIAL = (books.STEPS[0].model_copy(update={"kept": True}), *books.STEPS[1:])
PLUGIN = (books.STEPS[0], books.step("age", "numeric", "own.model"), *books.STEPS[2:])
PLAIN = [panels.redrawn(entry, trees=panels.EVEN) for entry in panels.LONG]
MIXED = [*panels.LONG[:2], panels.redrawn(panels.LONG[2], trees=panels.EVEN), panels.LONG[3]]
CODEBOOKS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "a table": lambda folder: books.codebook(datasets(folder), output={}),
    "a table with words, rules and strata": lambda folder: books.codebook(
        datasets(folder), variables=DECLARED, strata=["sex"], forbid=["age < 18 and job == 'some'"],
        rules=[{"if": "age < 30", "then": {"job": "none"}}],
    ),
    "many proper datasets": lambda folder: books.codebook(datasets(folder, (*range(1, 22),)),
                                                      proper=True),
    "one dataset, partly copied": lambda folder: books.codebook(datasets(folder, (1,)), PARTIAL),
    "two datasets, partly copied": lambda folder: books.codebook(datasets(folder), PARTIAL),
    "a model of another package": lambda folder: books.codebook(datasets(folder), PLUGIN),
    "a long panel": panels.long_codebook,
    "a long panel, mixed trees": lambda folder: panels.long_codebook(folder, MIXED, **IMPOSED),
    "a long panel, plain trees": lambda folder: panels.long_codebook(folder, PLAIN, output={}),
    "a long panel without trees": lambda folder: panels.long_codebook(
        folder, panels.without_trees()
    ),
    "a wide panel": lambda folder: panels.wide_codebook(
        folder, panel={"wide": {"state": ["s1", "s2", "s3"]}, "rules": panels.RULES[:1]},
        forbid=["state == 'b' and period < 2"], structural_zeros=[["state", "pay"]],
        rules=[{"if": "pay > 3", "then": {"state": "a"}}],
    ),
}  # fmt: skip


try:
    from tests.extensions.comparison.pages import COMPARISONS
except ImportError:  # the extension was removed
    COMPARISONS = {}
try:
    from tests.extensions.genetic.pages import EVOLUTIONS, EVOLVED
except ImportError:
    EVOLUTIONS, EVOLVED = {}, {}
KINDS: dict[str, Mapping[str, object]] = {
    "report": REPORTS,
    "codebook": CODEBOOKS,
    "comparison": COMPARISONS,
    "evolution": EVOLUTIONS,
    "evolved": EVOLVED,
}
SCENES = [f"{kind}: {name}" for kind, names in KINDS.items() for name in names]


def page(scene: str, folder: Path) -> str:
    kind, _, name = scene.partition(": ")
    if kind in ("report", "evolution"):
        return report({**REPORTS, **EVOLUTIONS}[name]())
    if kind == "comparison":
        return COMPARISONS[name](folder)
    return page_of({**CODEBOOKS, **EVOLVED}[name](folder))


def blocks() -> Iterator[tuple[str, list[str]]]:
    """Yield each scene and what its page shows that no scene before it does."""
    known: dict[str, set[str]] = {kind: set() for kind in KINDS}
    known |= {"evolution": known["report"], "evolved": known["codebook"]}
    for scene in SCENES:
        with TemporaryDirectory() as folder:
            lines = dict.fromkeys(Lines(page(scene, Path(folder))).found)
        before = known[scene.partition(":")[0]]
        yield scene, [line for line in lines if line not in before]
        before |= {*lines}


def written() -> str:
    return "\n\n".join("\n  ".join([scene, *lines]) for scene, lines in blocks()) + "\n"


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")


def test_pages_show_what_the_file_has() -> None:
    """Scenes that differ are listed."""
    expected = {
        head: [line.removeprefix("  ") for line in lines]
        for head, *lines in (
            block.split("\n")
            for block in FILE.read_text(encoding="utf-8").strip("\n").split("\n\n")
        )
    }
    expected = {scene: lines for scene, lines in expected.items() if KINDS[scene.partition(":")[0]]}
    shown = dict(blocks())
    assert [*expected] == [*shown]
    assert {scene: lines for scene, lines in shown.items() if lines != expected[scene]} == {}
