"""The last sections: further measures, facts of the run, all figures, and a glossary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import yaml
from markupsafe import Markup

from synthesizer.data.randomness import NO_KEY
from synthesizer.measures.figure import Measured, Units
from synthesizer.report.blocks import (
    Block,
    Cell,
    DataTable,
    Form,
    Heading,
    Note,
    Section,
    Words,
    section,
)
from synthesizer.report.expected import expected_of
from synthesizer.report.figures import CATALOGUE, figure_table, result_blocks
from synthesizer.report.record import Record, StepEntry
from synthesizer.report.risk import in_words


def further_risk(record: Record) -> Section | None:
    """Return measures of risk that no other section shows."""
    risk = record.results.risk
    further = [(key, result) for key, result in risk.further.items()]
    further += [
        (f"{key}: {in_words(risks.scenario)}", result)
        for risks in risk.scenarios
        for key, result in risks.further.items()
    ]
    return _further("risk", further, record.units)


def further_utility(record: Record) -> Section | None:
    """Return measures of utility that no other section shows."""
    utility = record.results.utility
    return _further("utility", [] if utility is None else utility.further.items(), record.units)


def _further(axis: str, results: Iterable[tuple[str, Measured]], units: Units) -> Section | None:
    """Return a section of results in their default form; None without results."""
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
        lead="Measures without a part of their own.",
        blocks=[*blocks, CATALOGUE],
    )


_LISTED = 12
_KEPT = "see manifest.json, which is as confidential as the data"


@section(
    "run",
    "What was run",
    "Data, chain of models, configuration and versions, so that it can be done again.",
)
def run_section(record: Record) -> Iterator[Block]:
    """Yield the run's facts; seed and key are never among them."""
    manifest = record.manifest
    versions = [("Python", manifest.python), *manifest.packages.items()]
    yield _pairs("The run", "What", "Value", _facts(record))
    yield from (Note(note) for note in manifest.notes)
    if manifest.chain:
        yield _chain(manifest.chain)
    if manifest.after:
        yield Heading("After the synthesis")
        yield Words(["Before the checks and the files, in this order:", *manifest.after])
    if manifest.config:
        yield from _configuration(manifest.config)
    yield _pairs("Versions", "Package", "Version", versions)
    if manifest.seconds:
        yield _pairs("Time", "Phase", "Seconds", list(manifest.seconds.items()), "figure")


def _pairs(
    caption: str, first: str, second: str, rows: Sequence[Sequence[Cell]], form: Form = "text"
) -> DataTable:
    return DataTable(caption=caption, columns=(first, second), forms=("text", form), rows=rows)


def _facts(record: Record) -> list[tuple[str, Cell]]:
    manifest, panel = record.manifest, record.manifest.panel
    persons: list[tuple[str, Cell]] = []
    if panel is not None:
        persons = [("Original persons", f"{panel.persons:,}"), ("Periods", f"{panel.periods:,}")]
    if manifest.groups is not None:
        persons = [(f"Original {manifest.groups.unit}s", f"{manifest.n_groups:,}")]
    public = "none: reproducible from the seed alone, for public data only"
    key = public if manifest.random_key == NO_KEY else _KEPT
    return [
        ("Data", manifest.data.origin),
        ("Original records", f"{manifest.data.rows:,}"),
        *persons,
        ("Variables", f"{manifest.data.columns:,}"),
        ("Synthetic datasets (m)", f"{manifest.m:,}"),
        (f"{record.drawn_units.capitalize()} in each", f"{manifest.rows:,}"),
        ("Checked" if record.of_files else "Made", manifest.created),
        *([] if record.of_files else [("Seed", _KEPT), ("Secret of the draws", key)]),
        ("SHA-256 of the data", manifest.data.sha256),
    ]


def _chain(steps: Sequence[StepEntry]) -> DataTable:
    names = [step.variable for step in steps]
    return DataTable(
        caption="The chain: each variable is drawn from its model given its predictors",
        columns=["Variable", "Kind", "Model", "Model of missing codes", "Predictors"],
        forms=("text",) * 5,
        rows=[
            [
                step.variable,
                step.kind,
                " of ".join([step.model, *step.base]),
                step.model_of_missing_codes,
                _predictors(step, names[:place]),
            ]
            for place, step in enumerate(steps)
        ],
        sortable=len(steps) > _LISTED,
    )


def _predictors(step: StepEntry, before: Sequence[str]) -> str:
    if len(before) > 1 and {*step.predictors} == {*before}:
        return "all variables above"
    return ", ".join(step.predictors) or "none"


def _configuration(config: Mapping[str, Any]) -> Iterator[Block]:
    shown = {**config, "seed": _KEPT} if "seed" in config else dict(config)
    text = yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=90)
    yield Heading("Configuration")
    yield Markup("<pre tabindex='0'>{}</pre>").format(text)


@section(
    "figures",
    "All figures",
    "Everything that was computed, with what it means and which direction is good.",
)
def figures_section(record: Record) -> Iterator[Block]:
    """Yield every figure that was computed, with its meaning and direction."""
    parts = record.results.risk.scenarios
    scenarios = {
        risks.scenario.label: f"scenario {place} ({risks.scenario.target})"
        for place, risks in enumerate(parts, start=1)
    }
    words = [f"{scenarios[p.scenario.label]}: {in_words(p.scenario)}." for p in parts]
    if words:
        yield Words(words)
    yield figure_table(
        [(scenarios.get(place, place), figure) for place, figure in record.results.figures],
        record.units,
        "All figures; the baseline is what guessing without a release achieves; chance is what a "
        "release gives that has nothing to do with the persons or, for utility, what is expected "
        "of a right synthesis (by a tree: of a new sample); the original is what releasing it as "
        "it is would give",
    )


_TERMS = (
    ("Synthetic data", "Records drawn from models that were fitted to the original."),
    ("Training records", "Records that the models were fitted to."),
    ("Holdout records", "Records of the same population that the models were not fitted to."),
    ("Right synthesis", "Independent draws from the model that is true. No synthesis is quite "
     "right; it is what figures of utility are compared with."),
    ("New sample", "Another sample of the same size from the same population."),
    ("Overlap", "Share that two confidence intervals have in common. 1 is all, below 0 they do "
     "not touch. A right synthesis does not reach 1: with fixed parameters and as many records "
     "as the original, 0.80 is expected of one dataset and 0.91 of five."),
    ("Keys and target", "What an intruder knows of a person, and what the intruder seeks."),
    ("Baseline", "Result of guessing without a release. For CAP: guesses by the distribution of "
     "the target in the original (Taub et al. 2018, eq. 5)."),
    ("Chance", "Result of a release that has nothing to do with the persons. For CAP: the same "
     "matches with targets of random persons. Above it the keys reveal something of the target."),
    ("95 % interval", "It contains the true value in 95 of 100 cases."),
)  # fmt: skip


@section(
    "reading",
    "How to read this report",
    "Shares are from 0 to 1, never percent. A dash says that there is no value.",
)
def reading_section(record: Record) -> Iterator[Block]:
    """Yield a short glossary with the expectations of the run."""
    expected = expected_of(record).sentence
    s_pmse = ("S_pMSE", f"{expected} Lower is better.")
    yield Words(
        [
            "No single figure says that data are safe or good. Look whether the figures of risk "
            "stay near baseline and chance, whether the pairs that researchers will use are near "
            "enough, and decide for the use that is planned. Figures that could not be computed "
            "are no good news."
        ]
    )
    caption = "Words of this report; what each figure is stands under All figures"
    yield _pairs(caption, "Word", "Meaning", [s_pmse, *_TERMS])
