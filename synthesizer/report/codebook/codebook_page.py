"""The codebook for researchers as a page; it goes out with the synthetic datasets.

It arranges the content of ``codebook.json`` and adds nothing: what may be told is decided where
that content is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from synthesizer.report.charts import el
from synthesizer.report.page import (
    Block,
    DataTable,
    Note,
    Section,
    Words,
    plural,
    render,
    written,
)

# The variables of the codebook for researchers: a table of all, and a card for each.

KINDS = {
    "categorical": "categories",
    "ordered": "ordered categories",
    "boolean": "two values",
    "numeric": "number",
    "date": "date",
    "id": "identifier",
}
VARIABLES_MADE = {
    "drawn": "drawn by a model",
    "independent": "drawn alone",
    "kept": "copied: not synthetic",
    "derived": "computed",
    "constant": "constant",
    "numbered": "numbered anew",
    "evolved": "evolved, not modelled",
}
MOST_LEVELS = 200
MOST_NAMES = 30
IN_WORDS = 6
"""So many predictors are named in the sentence above the table."""
FOLDED = 12
"""Longer lists of levels open on demand."""


def overview_section(variables: Sequence[Mapping[str, Any]]) -> Section:
    """Return a table with a line for each variable, linked to its card."""
    labelled = any(variable["label"] for variable in variables)
    heads = ["variable", *(["label"] if labelled else []), "kind", "values", "how made"]
    head = el("tr", {}, *[_th(h, "col") for h in heads], _th("share missing", "col", number=True))
    rows = [
        _overview_row(i, variable, labelled=labelled) for i, variable in enumerate(variables, 1)
    ]
    table = el(
        "table",
        {"class": "sortable"},
        el("caption", {}, "Variables in the order of the files"),
        el("thead", {}, head),
        el("tbody", {}, "", *rows),
    )
    return Section(
        anchor="variables",
        title="Variables",
        lead="Ranges, levels and shares are those of the synthetic datasets, all taken together.",
        blocks=[el("div", {"class": "scroll", "data-name": "Variables"}, table)],
    )


def _overview_row(position: int, variable: Mapping[str, Any], *, labelled: bool) -> Markup:
    link = el("a", {"href": f"#v{position}"}, variable["name"])
    missing = _missing_share(variable)
    return el(
        "tr",
        {},
        el("th", {"scope": "row"}, link),
        *([el("td", {}, variable["label"])] if labelled else []),
        el("td", {}, _kind(variable)),
        el("td", {}, _values(variable)),
        el("td", {}, VARIABLES_MADE[variable["made"]["how"]]),
        el("td", {"class": "number", "data-raw": missing}, written(missing, "share")),
    )


def _th(text: str, scope: str, *, number: bool = False) -> Markup:
    return el("th", {"scope": scope, "class": "number" if number else None}, text)


def _kind(variable: Mapping[str, Any]) -> str:
    kind = variable["kind"]
    name = KINDS[kind]
    decimals = variable["decimals"]
    if kind != "numeric" or decimals is None:
        return name
    return f"{name}, whole" if decimals == 0 else f"{name}, {plural(decimals, 'decimal')}"


def _values(variable: Mapping[str, Any]) -> str:
    if variable["kind"] in ("categorical", "ordered", "boolean"):
        return plural(len(variable["levels"]), "level")
    ends = variable["range"]
    return "" if ends is None else f"{_exact(ends['low'])} to {_exact(ends['high'])}"


def _exact(value: object) -> str:
    """Write an end of a range with all its digits: it is looked up, not compared."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        shown = f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"
        return shown.replace("-", "−", 1) if value < 0 else shown
    return str(value)


def _missing_share(variable: Mapping[str, Any]) -> float:
    return float(sum(entry["share"] for entry in variable["missing"]))


def each_section(variables: Sequence[Mapping[str, Any]]) -> Section:
    """Return a card for each variable."""
    return Section(
        anchor="each",
        title="Each variable",
        lead="Values, missing codes, and how it was made.",
        blocks=[_card(i, variable) for i, variable in enumerate(variables, 1)],
    )


def _card(position: int, variable: Mapping[str, Any]) -> Markup:
    label = variable["label"]
    title = variable["name"] + (f": {label}" if label else "")
    return el(
        "div",
        {"class": "card"},
        el("h3", {"id": f"v{position}"}, title),
        el("p", {}, variable["made"]["words"]),
        _facts(variable),
        *_level_tables(variable),
    )


def _facts(variable: Mapping[str, Any]) -> Markup:
    unit = variable["unit"]
    values = _values(variable) if variable["range"] else ""
    predictors = variable["made"]["predictors"]
    apart = variable["not_modelled_with"]
    options = variable["made"]["options"].items()
    rows = {
        "kind": _kind(variable),
        "range": f"{values} {unit}".strip() if values else "",
        "unit": "" if values else unit,
        "dates are written": variable["date_format"],
        "model": variable["made"]["model"],
        "models inside it": named(variable["made"]["base"]),
        "options of the model": ", ".join(f"{key} {_plain(v)}" for key, v in options),
        "predictors": named(predictors) if len(predictors) > IN_WORDS else "",
        "association not modelled with": named(apart),
    }
    body = [
        el("tr", {}, _th(name, "row"), el("td", {}, text)) for name, text in rows.items() if text
    ]
    return el("div", {"class": "scroll"}, el("table", {}, el("tbody", {}, "", *body)))


def _plain(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def named(names: Sequence[Any]) -> str:
    """Return names as a list, cut short where they are many.

    Examples
    --------
    >>> named(["a", "b"]), named(["a"] * 32)[-10:]
    ('a, b', 'and 2 more')
    """
    rest = len(names) - MOST_NAMES
    shown = ", ".join(str(name) for name in names[:MOST_NAMES])
    return f"{shown} and {rest} more" if rest > 0 else shown


def _level_tables(variable: Mapping[str, Any]) -> list[Markup]:
    """Return the levels, folded where they are many, and the missing codes."""
    levels, missing = variable["levels"], variable["missing"]
    tables = []
    if levels:
        rest = len(levels) - MOST_LEVELS
        table = _codes("Levels", "level", levels[:MOST_LEVELS])
        more = [el("p", {}, f"and {rest:,} more; codebook.json lists all.")] if rest > 0 else []
        if len(levels) > FOLDED:
            summary = el("summary", {}, plural(len(levels), "level"))
            tables.append(el("details", {"class": "short"}, summary, table, *more))
        else:
            tables.append(table)
    if missing:
        tables.append(_codes("Missing codes", "code", missing))
    return tables


def _codes(caption: str, key: str, entries: Sequence[Mapping[str, Any]]) -> Markup:
    labelled = any(entry["label"] for entry in entries)
    heads = [_th(key, "col"), *([_th("meaning", "col")] if labelled else [])]
    rows = [
        el(
            "tr",
            {},
            el("th", {"scope": "row"}, entry[key] or "(empty cell)"),
            *([el("td", {}, entry["label"])] if labelled else []),
            el("td", {"class": "number"}, _share(entry)),
        )
        for entry in entries
    ]
    table = el(
        "table",
        {},
        el("caption", {}, caption),
        el("thead", {}, el("tr", {}, *heads, _th("share", "col", number=True))),
        el("tbody", {}, "", *rows),
    )
    return el("div", {"class": "scroll", "data-name": caption}, table)


def _share(entry: Mapping[str, Any]) -> str:
    share = entry["share"]
    return "does not occur" if share == 0 else written(share, "share")


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
        Content of ``codebook.json``.
    """
    variables = content["variables"]
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
    if content["synthesis"]["evolved"] in ("mutants", "files"):
        return REAL
    return BANNER if content["synthesis"]["kept"] else f"{BANNER} {NOBODY}"


def _datasets(content: Mapping[str, Any]) -> Section:
    files, rows = content["datasets"]["files"], content["datasets"]["rows"]
    variables = plural(len(content["variables"]), "variable")
    lead = f"{plural(len(files), 'synthetic dataset')} with {variables}."
    purpose = content["purpose"]
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
    form = content["datasets"]["format"]
    kind = form["type"]
    if kind == "parquet":
        return "The files are Parquet files."
    delimiter = {"\t": "tabulator", ",": "comma", ";": "semicolon"}
    mark = form["delimiter"]
    packed = ", packed with gzip" if kind.endswith("gz") else ""
    comma = ", decimal comma" if form["decimal_mark"] == "," else ""
    separator = delimiter.get(mark, mark)
    return (
        f"The files are text (CSV, separator {separator}{comma}, encoding "
        f"{form['encoding']}{packed}); the first line holds the names."
    )


def _cautions(content: Mapping[str, Any]) -> Section:
    entries = content["cautions"]
    blocks: list[Block] = [
        el("p", {}, el("strong", {}, f"{entry['title']}."), " ", entry["text"]) for entry in entries
    ]
    kept = content["synthesis"]["kept"]
    if kept:
        text = f"Not synthetic, but copied from the confidential data: {named(kept)}."
        blocks.insert(0, Note(text, "alert"))
    return Section(
        anchor="cautions",
        title="What not to conclude",
        lead="Read this before you use the data.",
        blocks=blocks,
    )


def _synthesis(content: Mapping[str, Any]) -> Section:
    paragraphs = content["synthesis"]["words"]
    blocks: list[Block] = [Words(paragraphs)]
    for title, key in (
        ("Rules that every record follows", "rules"),
        ("Combinations that do not occur", "forbidden"),
        ("Combinations that were limited", "support"),
        ("Rules from one period to the next", "paths"),
    ):
        sentences = content["synthesis"][key]
        if sentences:
            items = [el("li", {}, sentence) for sentence in sentences]
            blocks += [el("h3", {}, title), el("ul", {}, *items)]
    if len(blocks) > 1:
        blocks.append(Words([IMPOSED]))
    packages = content["synthesis"]["packages"].items()
    if packages:
        named = ", ".join(f"{name} {version}" for name, version in packages)
        blocks.append(Words([f"Software: {named}."]))
    return Section(
        anchor="synthesis",
        title="How the data were made",
        lead=MADE.get(content["synthesis"]["evolved"], CHAIN),
        blocks=blocks,
    )


def _analysis(content: Mapping[str, Any]) -> Section:
    steps = content["analysis"]["words"]
    source, code = content["analysis"]["source"], content["analysis"]["code"]
    blocks: list[Block] = [Words([*steps, *([f"Source: {source}."] if source else [])])]
    if not content["analysis"]["applies"]:
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
