"""The codebook for researchers as a page; it goes out with the synthetic datasets.

It arranges the content of ``codebook.json`` and adds nothing: what may be told is decided where
that content is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synthesizer.report.codebook_variables import each_section, named, overview_section, pairs
from synthesizer.report.numbers import plural
from synthesizer.report.page import render
from synthesizer.report.parts import Block, DataTable, Gap, Note, Section, Words
from synthesizer.report.record import dig, listed, mappings, words
from synthesizer.report.svg import el

__all__ = ["codebook_page"]

BANNER = "Synthetic data: for release together with the datasets."
NOBODY = "No record is a person."
REAL = "Evolved data: for release together with the datasets. Records may be real."
MADE = {
    "mutants": "Evolved from the confidential data, without a model.",
    "files": "Evolved from other files, without a model.",
    "chain": "A chain of models, one for each variable; then an evolution of whole datasets.",
}
CHAIN = "A chain of models, one for each variable."
IMPOSED = (
    "The data holder imposed these rules on the synthetic records: that none breaks them says "
    "nothing of the original."
)
MOST_FILES = 20


def codebook_page(content: Mapping[str, Any]) -> str:
    """Return the codebook as one HTML file.

    Parameters
    ----------
    content : mapping
        Content of ``codebook.json``; what is missing is left out of the page.

    Examples
    --------
    >>> page = codebook_page({"variables": [{"name": "<age>", "kind": "numeric"}]})
    >>> "&lt;age&gt;" in page, "<age>" in page
    (True, False)
    """
    variables = mappings(content, "variables")
    sections = [
        _datasets(content),
        _cautions(content),
        overview_section(variables),
        each_section(variables),
        _synthesis(content),
        _analysis(content),
    ]
    title = "Codebook of the synthetic data"
    return render(title, sections, banner=_banner(content), for_release=True)


def _banner(content: Mapping[str, Any]) -> str:
    """Say what the records are; only draws of models are nobody."""
    if words(content, "synthesis", "evolved") in ("mutants", "files"):
        return REAL
    return BANNER if listed(content, "synthesis", "kept") else f"{BANNER} {NOBODY}"


def _datasets(content: Mapping[str, Any]) -> Section:
    files, rows = listed(content, "datasets", "files"), listed(content, "datasets", "rows")
    variables = plural(len(listed(content, "variables")), "variable")
    lead = f"{plural(len(files), 'synthetic dataset')} with {variables}."
    purpose = words(content, "purpose")
    shown = list(zip(files, rows, strict=False))[:MOST_FILES]
    table = DataTable(
        caption="Files"
        if len(files) <= MOST_FILES
        else f"The first {MOST_FILES} of {len(files):,} files",
        columns=["file", "records"],
        forms=["text", "count"],
        rows=[(str(name), count) for name, count in shown],
    )
    paragraphs = [part for part in (purpose, _format(content)) if part]
    if len(files) > 1:
        paragraphs.append(
            "All datasets have the same variables and were made in the same way, each with draws "
            "of its own. Analyses use all of them, see the last part of this page."
        )
    return Section(anchor="data", title="The data", lead=lead, blocks=[Words(paragraphs), table])


def _format(content: Mapping[str, Any]) -> str:
    form = dig(content, "datasets", "format", default={})
    kind = words(form, "type")
    if not kind:
        return ""
    if kind == "parquet":
        return "The files are Parquet files."
    delimiter = {"\t": "tabulator", ",": "comma", ";": "semicolon"}
    mark = words(form, "delimiter")
    packed = ", packed with gzip" if kind.endswith("gz") else ""
    comma = ", decimal comma" if words(form, "decimal_mark") == "," else ""
    separator = delimiter.get(mark, mark)
    return (
        f"The files are text (CSV, separator {separator}{comma}, encoding "
        f"{words(form, 'encoding')}{packed}); the first line holds the names."
    )


def _cautions(content: Mapping[str, Any]) -> Section:
    entries = mappings(content, "cautions")
    blocks: list[Block] = [
        el("p", {}, el("strong", {}, f"{words(entry, 'title')}."), " ", words(entry, "text"))
        for entry in entries
    ]
    kept = listed(content, "synthesis", "kept")
    if kept:
        text = f"Not synthetic, but copied from the confidential data: {named(kept)}."
        blocks.insert(0, Note(text, "alert"))
    return Section(
        anchor="cautions",
        title="What not to conclude",
        lead="Read this before you use the data.",
        blocks=blocks or [Gap("What not to conclude", "codebook.json does not hold it.")],
    )


def _synthesis(content: Mapping[str, Any]) -> Section:
    paragraphs = [str(text) for text in listed(content, "synthesis", "words")]
    blocks: list[Block] = [Words(paragraphs)]
    for title, key in (
        ("Rules that every record follows", "rules"),
        ("Combinations that do not occur", "forbidden"),
        ("Combinations that were limited", "support"),
        ("Rules from one period to the next", "paths"),
    ):
        sentences = listed(content, "synthesis", key)
        if sentences:
            items = [el("li", {}, str(sentence)) for sentence in sentences]
            blocks += [el("h3", {}, title), el("ul", {}, *items)]
    if len(blocks) > 1:
        blocks.append(Words([IMPOSED]))
    packages = pairs(content, "synthesis", "packages")
    if packages:
        named = ", ".join(f"{name} {version}" for name, version in packages)
        blocks.append(Words([f"Software: {named}."]))
    return Section(
        anchor="synthesis",
        title="How the data were made",
        lead=MADE.get(words(content, "synthesis", "evolved"), CHAIN),
        blocks=blocks,
    )


def _analysis(content: Mapping[str, Any]) -> Section:
    steps = [str(text) for text in listed(content, "analysis", "words")]
    source, code = words(content, "analysis", "source"), words(content, "analysis", "code")
    blocks: list[Block] = [Words([*steps, *([f"Source: {source}."] if source else [])])]
    if dig(content, "analysis", "applies") is False:
        blocks.insert(0, Note("No valid standard errors from this release.", "alert"))
    if code:
        shown = el("pre", {}, el("code", {}, code))
        blocks += [
            el("h3", {}, "Example in Python"),
            Words(["With the package that made these data. Other programs can use the formula."]),
            el("div", {"class": "scroll"}, shown),
        ]
    return Section(
        anchor="analysis",
        title="Estimates and standard errors",
        lead="One result from all datasets together.",
        blocks=blocks,
    )
