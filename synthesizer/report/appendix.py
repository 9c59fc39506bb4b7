"""The last sections: further measures, the run, all figures, glossary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import yaml
from markupsafe import Markup

from synthesizer.data.randomness import NO_KEY
from synthesizer.data.yaml_text import packaged_yaml
from synthesizer.measures.figure import Measured, Units
from synthesizer.report.blocks import (
    Block,
    Cell,
    DataTable,
    Heading,
    Note,
    Section,
    Words,
    section,
    value_table,
)
from synthesizer.report.charts import el
from synthesizer.report.expected import expected_of
from synthesizer.report.figures import CATALOGUE, figure_table, result_blocks
from synthesizer.report.page import slug
from synthesizer.report.record import Record, StepEntry
from synthesizer.report.risk import in_words


def further_risk(record: Record) -> Section | None:
    """Return the section of measures of risk without a section of their own."""
    risk = record.results.risk
    further = [(key, result) for key, result in risk.further.items()]
    further += [
        (f"{key}: {in_words(risks.scenario)}", result)
        for risks in risk.scenarios
        for key, result in risks.further.items()
    ]
    return _further("risk", further, record.units)


def further_utility(record: Record) -> Section | None:
    """Return the section of measures of utility without a section of their own."""
    utility = record.results.utility
    return _further("utility", [] if utility is None else utility.further.items(), record.units)


def _further(axis: str, results: Iterable[tuple[str, Measured]], units: Units) -> Section | None:
    """Return a section of results as figures and tables; None without results."""
    blocks = [
        block
        for key, result in results
        for block in result_blocks(
            result, f"{key[:1].upper()}{key[1:]}".replace("_", " "), units, alone=False
        )
    ]
    if not blocks:
        return None
    return Section(
        anchor=f"further-{axis}",
        title=f"Further measures of {axis}",
        lead="Measures without a section of their own.",
        blocks=[*blocks, CATALOGUE],
    )


_MIN_SORTABLE = 12
_IN_MANIFEST = "see manifest.json, which is as confidential as the data"


@section(
    "run",
    "The run",
    "Data, models, configuration and versions: all that is needed to repeat the run.",
)
def run_section(record: Record) -> Iterator[Block]:
    """Yield the facts of the run, without seed and key."""
    manifest = record.manifest
    versions = [("Python", manifest.python), *manifest.packages.items()]
    yield value_table("Facts of the run", _facts(record), ("Fact", "Value"), "text")
    yield from (Note(note) for note in manifest.notes)
    if manifest.chain:
        yield _chain(manifest.chain)
    if manifest.after:
        yield Heading("After the synthesis")
        yield Words(["Steps before checks and output, in this order:", *manifest.after])
    if manifest.config:
        yield from _configuration(manifest.config)
    yield value_table("Versions", versions, ("Package", "Version"), "text")
    if manifest.seconds:
        yield value_table("Time", [*manifest.seconds.items()], ("Phase", "Seconds"))


def _facts(record: Record) -> list[tuple[str, Cell]]:
    manifest, panel = record.manifest, record.manifest.panel
    persons: list[tuple[str, Cell]] = []
    if panel is not None:
        persons = [("Original persons", f"{panel.persons:,}"), ("Periods", f"{panel.periods:,}")]
    if manifest.groups is not None:
        persons = [(f"Original {manifest.groups.unit}s", f"{manifest.n_groups:,}")]
    no_key = "none: reproducible from the seed alone, for public data only"
    key = no_key if manifest.random_key == NO_KEY else _IN_MANIFEST
    return [
        ("Data", manifest.data.origin),
        ("Original records", f"{manifest.data.rows:,}"),
        *persons,
        ("Variables", f"{manifest.data.columns:,}"),
        ("Synthetic datasets (m)", f"{manifest.m:,}"),
        (f"{record.drawn_units.capitalize()} in each", f"{manifest.rows:,}"),
        ("Checked" if record.of_files else "Made", manifest.created),
        *([] if record.of_files else [("Seed", _IN_MANIFEST), ("Key for exact repetition", key)]),
        ("SHA-256 of the data", manifest.data.sha256),
    ]


def _chain(steps: Sequence[StepEntry]) -> DataTable:
    names = [step.variable for step in steps]
    return DataTable(
        caption="Models: each variable is drawn from its model, given its predictors",
        columns=["Variable", "Kind", "Model", "Model of missing codes", "Predictors"],
        forms=("text",) * 5,
        rows=[
            [
                step.variable,
                step.kind,
                " of ".join([step.model, *step.base]),
                step.model_of_missing_codes,
                _predictors(step, names[:number]),
            ]
            for number, step in enumerate(steps)
        ],
        sortable=len(steps) > _MIN_SORTABLE,
    )


def _predictors(step: StepEntry, before: Sequence[str]) -> str:
    if len(before) > 1 and {*step.predictors} == {*before}:
        return "all variables above"
    return ", ".join(step.predictors) or "none"


def _configuration(config: Mapping[str, Any]) -> Iterator[Block]:
    shown = {**config, "seed": _IN_MANIFEST} if "seed" in config else dict(config)
    text = yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=90)
    yield Heading("Configuration")
    yield Markup("<pre tabindex='0'>{}</pre>").format(text)


@section("figures", "All figures", "All computed figures with meaning and direction.")
def figures_section(record: Record) -> Iterator[Block]:
    """Yield all figures with meaning and direction."""
    parts = record.results.risk.scenarios
    scenarios = {
        risks.scenario.label: f"scenario {number} ({risks.scenario.target})"
        for number, risks in enumerate(parts, start=1)
    }
    words = [f"{scenarios[p.scenario.label]}: {in_words(p.scenario)}." for p in parts]
    if words:
        yield Words(words)
    yield figure_table(
        [(scenarios.get(about, about), figure) for about, figure in record.results.figures],
        record.units,
        "All figures. Baseline: guessing without a release. Chance: a release that is unrelated to "
        "the persons; for utility that of a correct model (of a tree: a new sample). "
        "Original: releasing the original",
    )


@section(
    "reading",
    "How to read this report",
    "Shares in tables are from 0 to 1. A dash means: no value.",
)
def reading_section(record: Record) -> Iterator[Block]:
    """Yield a short glossary with the expectations of the run."""
    yield Words(
        [
            "No single figure proves that data are safe or useful. Compare the figures of risk "
            "with baseline and chance, and the pairs of variables that researchers need with "
            "their limits. Decide for the planned use. A missing figure is not a good result."
        ]
    )
    named = {**glossary(record), **_glossary("terms")}
    terms = [(el("span", {"id": slug(name)}, name), meaning) for name, meaning in named.items()]
    caption = "Glossary; All figures has the meaning of each figure"
    yield value_table(caption, terms, ("Term", "Meaning"), "text")


def glossary(record: Record) -> dict[str, str]:
    """Return the meaning of each short name of the report."""
    s_pmse = (
        "Standardised propensity score mean squared error: distance of two tables, divided by that "
        f"of a correct model. {expected_of(record).sentence} Lower is better."
    )
    return {"S_pMSE": s_pmse, **_glossary("short_names")}


def _glossary(part: str) -> dict[str, str]:
    meanings: dict[str, str] = packaged_yaml("synthesizer.report", "glossary.yaml")[part]
    return meanings
