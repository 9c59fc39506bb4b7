"""The codebook for researchers: typed content, ``codebook.json``, and a page.

Its source are the released datasets (`codebook.datasets`) and the public part of the manifest. The
only number of the confidential data is the number of records, if the steward publishes it
(`output: {publish_rows: true}`). Levels and extremes of the datasets are those of confidential
records, so `measures.risk.rare_values` reports the rare ones to the steward.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from markupsafe import Markup

from synthesizer.data.errors import DataError, OutputError, listed, plural
from synthesizer.data.files import check_inside, sha256, write_text, write_texts
from synthesizer.data.formats import writing_of
from synthesizer.data.table import Kind
from synthesizer.measures.figure import Result, plain
from synthesizer.report.blocks import (
    Added,
    Block,
    DataTable,
    Heading,
    Note,
    Section,
    Words,
    row_table,
    section,
    value_table,
    written,
)
from synthesizer.report.charts import el
from synthesizer.report.codebook.conclusions import (
    Analysis,
    Caution,
    analysis,
    cautions,
    release_facts,
)
from synthesizer.report.codebook.datasets import FileFormat, facts_of, read_released
from synthesizer.report.codebook.words import (
    Code,
    Described,
    Imposed,
    Level,
    described,
    imposed,
    sentences,
    written_words,
)
from synthesizer.report.page import fragment, render
from synthesizer.report.record import Manifest, PublicManifest, run_manifest

PURPOSE = (
    "This codebook belongs to the synthetic datasets and is released with them. All numbers were "
    "computed from the synthetic datasets, or set or published by the data holder."
)


class Datasets(Result):
    """The files."""

    files: tuple[str, ...]
    """Names."""
    rows: tuple[int, ...]
    """Of each."""
    format: FileFormat


class Synthesis(Imposed):
    """How the datasets were made."""

    words: tuple[str, ...]
    """Paragraphs."""
    kept: tuple[str, ...]
    """Variables with the confidential values."""
    strata: tuple[str, ...]
    proper: bool
    lead: str
    """The same in one sentence."""
    modelled: bool
    """Whether all records were drawn from fitted models, even if changed later."""
    even: bool | None
    """Whether draws of trees were spread evenly; None without trees."""
    after: tuple[str, ...]
    """Last steps on each dataset."""
    packages: Mapping[str, str]
    """Versions."""


class ReleaseCodebook(Result):
    """The content of ``codebook.json`` and of the page."""

    format: Literal[1] = 1
    purpose: str = PURPOSE
    datasets: Datasets
    differences: tuple[str, ...] = ()
    """How datasets of a low fidelity differ from the original."""
    synthesis: Synthesis
    variables: tuple[Described, ...]
    """In file order."""
    analysis: Analysis
    cautions: tuple[Caution, ...]


def release_codebook(manifest: PublicManifest, paths: Sequence[Path]) -> ReleaseCodebook:
    """Return the codebook of synthetic datasets, from the public part of their manifest."""
    facts = facts_of(manifest)
    if not facts.steps or not paths:
        raise DataError(
            "manifest.json does not list datasets and their chain of models; make the result again "
            "with 'synthesizer run'"
        )
    released = read_released(paths, facts)
    facts = facts.only(released.variables)
    named = release_facts(facts, released)
    return ReleaseCodebook(
        datasets=Datasets(files=released.files, rows=released.rows, format=released.format),
        differences=facts.differences,
        synthesis=Synthesis(
            **dict(imposed(facts)),
            words=tuple(written_words("synthesis", named)),
            kept=tuple(facts.copied),
            strata=facts.strata if facts.is_modelled else (),
            proper=facts.config.proper,
            lead=" ".join(written_words("lead", named)),
            modelled=facts.is_modelled,
            even=named["even"] if named["trees"] else None,
            after=facts.after,
            packages=facts.packages,
        ),
        variables=tuple(described(released, facts)),
        analysis=analysis(facts, released, named),
        cautions=cautions(named),
    )


README = "README.txt"
NAMES = ("codebook.html", "codebook.json", README)
"""Names of the files."""


def is_result(path: Path) -> bool:
    """Return whether a path is the result directory of a run, not a data file."""
    return os.path.isfile(path / "manifest.json")  # False also for names that are too long


def run_codebook(run: Path) -> ReleaseCodebook:
    """Return the codebook of a finished run, with the datasets of its manifest."""
    manifest = run_manifest(run)
    return release_codebook(manifest.public, _verified(run, manifest))


def write_run_codebook(run: Path, out: Path, *, overwrite: bool = False) -> tuple[Path, ...]:
    """Write the codebook of a finished run into another directory; all files or none.

    A missing directory is made.
    """
    if out.resolve() == run.resolve():
        raise OutputError(
            f"{out}: is the directory of the run, whose manifest lists its files; name another "
            "directory (-o)"
        )
    check_inside(out, NAMES, overwrite=overwrite)
    texts = {out / name: text for name, text in _texts(run_codebook(run)).items()}
    write_texts(texts, overwrite=overwrite, parents=True)
    return tuple(texts)


def write_release_codebook(work: Path, manifest: Manifest) -> list[str]:
    """Write the codebook into the directory of an unfinished run; return the file names.

    ``work`` contains the datasets of the manifest.
    """
    paths = [work / name for name in manifest.datasets]
    texts = _texts(release_codebook(manifest.public, paths))
    for name, text in texts.items():
        write_text(work / name, text)
    return list(texts)


def _texts(codebook: ReleaseCodebook) -> dict[str, str]:
    """Return the text of each file."""
    content = json.dumps(plain(codebook), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    # a single surrogate, from an escape in the configuration, cannot be written to a file
    sound = content.encode("utf-8", "replace").decode("utf-8")
    texts = [codebook_page(codebook), sound]
    if codebook.differences:
        lists = ["How the files differ from the confidential file:", *codebook.differences]
        texts.append("\n\n".join([*written_words("readme", {}), *lists, ""]))
    return dict(zip(NAMES, texts, strict=False))


def _verified(run: Path, manifest: Manifest) -> list[Path]:
    """Return the datasets, if they are those of the manifest."""
    names = manifest.datasets
    hashes = {file.name: file.sha256 for file in manifest.files}
    problems = _unlisted(run, names)
    for name in names:
        path = run / name
        if not path.is_file():
            problems.append(f"{path}: is missing, so the result is incomplete; run again")
        elif sha256(path) != hashes[name]:
            problems.append(
                f"{path}: differs from the file of manifest.json, so the codebook would be wrong; "
                "restore the file or run again"
            )
    if problems:
        raise DataError(problems)
    return [run / name for name in names]


def _unlisted(run: Path, names: Sequence[str]) -> list[str]:
    """Return the datasets of a result directory that its manifest does not list."""
    datasets = sorted(path.name for path in run.glob("synthetic_*") if path.is_file())
    return [
        f"{run / 'manifest.json'}: files: does not list {name!r}, which is in the directory; "
        "restore the entry, or remove the file"
        for name in datasets
        if names and name not in names
    ]


_BANNER = "Codebook of synthetic data, for release with the datasets."
_KINDS = {
    Kind.CATEGORICAL: "categories",
    Kind.ORDERED: "ordered categories",
    Kind.BOOLEAN: "two values",
    Kind.NUMERIC: "number",
    Kind.DATE: "date",
    Kind.ID: "identifier",
}
_HOW = {
    "drawn": "drawn by a model",
    "independent": "drawn independently",
    "kept": "copied: not synthetic",
    "derived": "computed",
    "constant": "constant",
    "numbered": "new running numbers",
    "whole": "made with the whole dataset, without a model",
}
_MAX_FILES = 20
_MAX_LEVELS = 200
_MAX_OPEN = 12
"""Levels up to which their list is open."""
_MAX_NAMES = 30
_MAX_IN_SENTENCE = 6
"""Predictors in the sentence above the table."""


def codebook_page(codebook: ReleaseCodebook) -> str:
    """Return the codebook as one HTML file."""
    sections = [
        _datasets(codebook),
        _cautions(codebook),
        _overview(codebook.variables),
        Section(
            anchor="each",
            title="Each variable",
            lead="Values, missing codes, and how it was made.",
            blocks=[_entry(i, variable) for i, variable in enumerate(codebook.variables, 1)],
        ),
        _synthesis(codebook),
        _analysis(codebook),
    ]
    title = "Codebook of the synthetic data"
    banner = _BANNER if codebook.synthesis.modelled else f"{_BANNER} Records may be real."
    return render(title, sections, banner=banner, for_release=True)


def _datasets(codebook: ReleaseCodebook) -> Section:
    files, rows = codebook.datasets.files, codebook.datasets.rows
    first = f"The first {_MAX_FILES} of {len(files):,} files"
    caption = "Files" if len(files) <= _MAX_FILES else first
    shown = [*zip(files, rows, strict=True)][:_MAX_FILES]
    table = value_table(caption, shown, ("file", "records"), "count")
    paragraphs = [codebook.purpose, _format(codebook.datasets.format)]
    if len(files) > 1:
        paragraphs.append(sentences()["several"])
    blocks: list[Block] = [Words(paragraphs), table]
    if codebook.differences:
        blocks += [Heading("Differences from the confidential file"), Words(codebook.differences)]
    return Section(
        anchor="data",
        title="The data",
        lead=f"{plural(len(files), 'synthetic dataset')} with "
        f"{plural(len(codebook.variables), 'variable')}.",
        blocks=blocks,
    )


def _format(form: FileFormat) -> str:
    writing = writing_of(form.type)
    labelled = {} if writing is None else {k: t for k, (t, _) in writing.descriptions.items()}
    kinds = sentences()["files"] | labelled
    names = {"\t": "tabulator", ",": "comma", ";": "semicolon"}
    text: str = kinds.get(form.type, kinds["text"])
    return text.format(
        separator=names.get(form.delimiter or "", form.delimiter),
        comma=", decimal comma" if form.decimal_mark == "," else "",
        encoding=form.encoding,
        packed=", packed with gzip" if form.type.endswith("gz") else "",
    )


@section("cautions", "Cautions", "Read this before you use the data.")
def _cautions(codebook: ReleaseCodebook) -> Iterator[Block]:
    if copied := codebook.synthesis.kept:
        text = f"Not synthetic, copied from the confidential data: {listed(copied, _MAX_NAMES)}."
        yield Note(text, "alert")
    for caution in codebook.cautions:
        yield el("p", {}, el("strong", {}, f"{caution.title}."), " ", caution.text)


@section(
    "variables",
    "Variables",
    "Ranges, levels and shares are those of all synthetic datasets together.",
)
def _overview(variables: Sequence[Described]) -> Iterator[Block]:
    """Yield a table of the variables with links to their entries."""
    labels = [variable.label for variable in variables]
    columns = [
        *([Added("label", "text", lambda variable: variable.label)] if any(labels) else []),
        Added("kind", "text", _kind),
        Added("values", "text", _values),
        Added("how made", "text", lambda v: _HOW[v.made.how]),
        Added("share missing", "share", lambda v: float(sum(c.share for c in v.missing))),
    ]
    links = [el("a", {"href": f"#v{i}"}, variable.name) for i, variable in enumerate(variables, 1)]
    yield row_table(
        variables, "Variables in the order of the files", names=columns, labels=("variable", links)
    )


def _kind(variable: Described) -> str:
    name, decimals = _KINDS[variable.kind], variable.decimals
    if variable.kind is not Kind.NUMERIC or decimals is None:
        return name
    return f"{name}, whole" if decimals == 0 else f"{name}, {plural(decimals, 'decimal')}"


def _values(variable: Described) -> str:
    if variable.kind.is_coded:
        return plural(len(variable.levels), "level")
    ends = variable.range
    return "" if ends is None else f"{_exact(ends.low)} to {_exact(ends.high)}"


def _exact(value: int | float | str) -> str:
    """Return an end of a range with all digits."""
    if isinstance(value, str):
        return value
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"
    return shown.replace("-", "−", 1) if value < 0 else shown


def _entry(position: int, variable: Described) -> Markup:
    title = variable.name + (f": {variable.label}" if variable.label else "")
    return el(
        "div",
        {"class": "entry"},
        el("h3", {"id": f"v{position}"}, title),
        el("p", {}, variable.made.words),
        _facts(variable),
        *_level_tables(variable),
    )


def _facts(variable: Described) -> Markup:
    making = variable.made
    values = _values(variable) if variable.range else ""
    options = (f"{key} {_option(value)}" for key, value in making.options.items())
    many = len(making.predictors) > _MAX_IN_SENTENCE
    rows = {
        "kind": _kind(variable),
        "range": f"{values} {variable.unit}".strip() if values else "",
        "unit": "" if values else variable.unit,
        "date format": variable.date_format,
        "model": making.model,
        "models inside it": listed(making.base, _MAX_NAMES),
        "options of the model": ", ".join(options),
        "predictors": listed(making.predictors if many else (), _MAX_NAMES),
        "association not modelled with": listed(variable.not_modelled_with, _MAX_NAMES),
    }
    body = [
        el("tr", {}, el("th", {"scope": "row"}, name), el("td", {}, text))
        for name, text in rows.items()
        if text
    ]
    return el("div", {"class": "scroll"}, el("table", {}, el("tbody", {}, "", *body)))


def _option(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _level_tables(variable: Described) -> Iterator[Markup]:
    """Yield the levels, folded if there are many, and the missing codes."""
    levels = variable.levels
    if levels:
        table = fragment(_codes("Levels", "level", levels[:_MAX_LEVELS]))
        n_more = len(levels) - _MAX_LEVELS
        more = [el("p", {}, f"and {n_more:,} more; codebook.json has all.")] if n_more > 0 else []
        if len(levels) > _MAX_OPEN:
            summary = el("summary", {}, plural(len(levels), "level"))
            table = el("details", {"class": "short"}, summary, table, *more)
        yield table
    if variable.missing:
        yield fragment(_codes("Missing codes", "code", variable.missing))


def _codes(caption: str, key: str, entries: Sequence[Level] | Sequence[Code]) -> DataTable:
    columns = [Added(key, "text", lambda entry: getattr(entry, key) or "(empty cell)")]
    if any(entry.label for entry in entries):
        columns.append(Added("meaning", "text", lambda entry: entry.label))
    columns.append(Added("share", "text", _share))
    return row_table(entries, caption, names=columns)


def _share(entry: Level | Code) -> str:
    return "does not occur" if entry.share == 0 else written(entry.share, "share")


def _synthesis(codebook: ReleaseCodebook) -> Section:
    synthesis = codebook.synthesis
    blocks: list[Block] = [Words(synthesis.words)]
    for title, rules in (
        ("Rules that all records follow", synthesis.rules),
        ("Combinations that do not occur", synthesis.forbidden),
        ("Restricted combinations", synthesis.structural_zeros),
        ("Rules from one period to the next", synthesis.paths),
        ("Last steps on each dataset", synthesis.after),
    ):
        if rules:
            items = [el("li", {}, sentence) for sentence in rules]
            blocks += [el("h3", {}, title), el("ul", {}, *items)]
    if synthesis.packages:
        versions = ", ".join(f"{name} {version}" for name, version in synthesis.packages.items())
        blocks.append(Words([f"Software: {versions}."]))
    return Section(
        anchor="synthesis", title="How the data were made", lead=synthesis.lead, blocks=blocks
    )


@section("analysis", "Estimates and standard errors", "One result from all datasets together.")
def _analysis(codebook: ReleaseCodebook) -> Iterator[Block]:
    how = codebook.analysis
    if not how.applies:
        yield Note("This release does not permit valid standard errors.", "alert")
    yield Words([*how.words, *([f"Source: {how.source}."] if how.source else [])])
    if how.code:
        yield Heading("Example in Python")
        yield Words(["With the package of this synthesis. Other programs can use the formula."])
        yield el("div", {"class": "scroll"}, el("pre", {"tabindex": "0"}, how.code))
