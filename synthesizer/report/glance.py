"""At a glance: limits, the figures that decide about a release, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml
from markupsafe import Markup

from synthesizer.measures.figure import in_units, lies_above
from synthesizer.report.careers import (
    FAR,
    UNITS,
    is_above_chance,
    is_panel,
    noise_in_words,
    panel_part,
    read_measures,
    unit_words,
)
from synthesizer.report.expected import (
    AGAIN,
    copied_in_words,
    distance_in_words,
    expected_of,
    kept_of,
    lost_fits,
    mean_mark,
    overlap_expected,
    overlap_in_words,
    short,
    table_mark,
    utility_of,
)
from synthesizer.report.page import (
    DASH,
    Block,
    Cell,
    DataTable,
    Form,
    Gap,
    Note,
    Section,
    Words,
    fragment,
    interval,
    plural,
    stopped,
    written,
)
from synthesizer.report.propensity_scores import MODELS, only_margins, ratio_in_words
from synthesizer.report.risk_figures import (
    Rate,
    ScenarioPart,
    other_rates,
    rate,
    rates,
    scenarios,
    unmeasured,
)
from synthesizer.report.untyped import Record, dig, listed, mappings, number, words
from synthesizer.report.utility_heat import bad_utility, is_bad_fit

_FAIR = 0.5
_HIGH = 3.0
"""Ratio of a tree, whose fresh sample has 1, from which the data are told apart by far."""
_COLUMNS = ("Figure", "Value", "95 % interval", "Good is", "Original", "In words")
_FORMS: tuple[Form, ...] = ("text", "share", "text", "share", "share", "text")


@dataclass(frozen=True)
class _Headline:
    """One row: figure, value, interval, what is good, the original's value, in words."""

    name: str
    value: float | None
    told: str
    low: float | None = None
    high: float | None = None
    good: float | None = None
    original: float | None = None
    alert: bool = False

    @property
    def cells(self) -> list[Cell]:
        ends = interval(self.low, self.high, "share")
        return [self.name, self.value, ends, self.good, self.original, self.told]


def glance_section(record: Record) -> Section:
    """Return the verdicts and headline figures.

    Parameters
    ----------
    record : Record
        A run.
    """
    return Section(
        anchor="glance",
        title="At a glance",
        lead="What decides about a release. Every figure is explained further down.",
        blocks=[
            *_limits(record),
            *_missing(record),
            *([Note(UNITS)] if is_panel(record) else []),
            *unmeasured(record),
            *bad_utility(record),
            *_table("How useful the data are", list(_useful(record)), "no figure of utility"),
            *_table("What the data give away", list(_risky(record)), "no figure of risk"),
        ],
    )


def _limits(record: Record) -> Iterator[Block]:
    told = listed(record.checks, "exceeded") or listed(record.manifest, "exceeded_limits")
    limits = dig(record.manifest, "config", "limits", default={})
    count = sum(v is not None for v in limits.values()) if isinstance(limits, Mapping) else 0
    if told:
        yield Note(
            f"{plural(len(told), 'figure')} above the limits of the configuration: by the "
            "steward's own rule these data are not to be released as they are.",
            "alert",
        )
        yield from (Note(words(entry), "alert") for entry in told)
    elif not record.checks:
        yield Gap("the checks", "The run has no checks.json that can be read; run it again.")
    elif count:
        kept = (
            "The limit that the configuration sets is"
            if count == 1
            else (f"All {count} limits that the configuration sets are")
        )
        yield Note(f"{kept} kept.", "good")
    else:
        yield Note(
            "No limits were set, so no figure could exceed one and this page takes no decision. "
            "To have the run say no by itself, write limits in the configuration, for example "
            "limits: {differential_confidentiality: 0.03, mean_two_way: "
            f"{short(expected_of(record).limit)}}}."
        )


def _missing(record: Record) -> Iterator[Block]:
    yield from record.gaps
    for name, why in _failures(record).items():
        if name.startswith("column "):
            told = f"Not compared: {name}, and no figure of utility covers it. {why}"
        else:
            told = f"Could not be computed: {name}: {why}"
        yield Note(stopped(told), "alert")
    for fit in mappings(utility_of(record), "fits"):
        yield from (Note(told, "alert") for told in lost_fits(fit))
    if kept := kept_of(record):
        yield Note(copied_in_words(kept))
    if record.checks and not utility_of(record) and dig(record.checks, "tables"):
        yield Gap(
            "distributions, tables of pairs and propensity scores",
            f"The checks were made by an older version, which did not keep them. {AGAIN}",
        )
    notes = [words(note) for note in listed(utility_of(record), "notes")]
    yield from (Note(note) for note in notes)


def _failures(record: Record) -> dict[str, str]:
    parts = (record.checks, dig(record.checks, "risk"), utility_of(record))
    found: dict[str, str] = {}
    for part in parts:
        failed = dig(part, "failed", default={})
        if isinstance(failed, Mapping):
            found |= {words(name): words(why) for name, why in failed.items()}
    return found


def _table(caption: str, rows: Sequence[_Headline], what: str) -> Iterator[Block]:
    if not rows:
        yield Gap(what, "The checks were off, failed, or cannot be read; see checks.json.")
        return
    # what no row has is left out
    kept = [
        i for i in range(len(_COLUMNS)) if any(row.cells[i] not in (None, DASH) for row in rows)
    ]
    yield DataTable(
        caption=caption,
        columns=[_COLUMNS[i] for i in kept],
        forms=[_FORMS[i] for i in kept],
        rows=[[row.cells[i] for i in kept] for row in rows],
        highlight=[i for i, row in enumerate(rows) if row.alert],
        stacks=True,
    )


def _useful(record: Record) -> Iterator[_Headline]:
    told = {words(f, "name"): f for f in reversed(mappings(utility_of(record), "figures"))}
    summary, expected = dig(record.checks, "summary"), expected_of(record)
    mean, single = mean_mark(expected), table_mark(expected)
    for name, key, shown, mark in (
        ("mean two-way S_pMSE", "mean_two_way", "Pairs of variables, mean S_pMSE", mean),
        ("largest two-way S_pMSE", "worst_two_way", "Worst pair, S_pMSE", single),
        ("largest one-way S_pMSE", "worst_one_way", "Worst variable, S_pMSE", single),
    ):
        value = number(told, name, "value")
        value = number(summary, key) if value is None else value
        if value is not None or name in told:
            told_by = f"{_start(distance_in_words(value, expected))}."
            alert = value is not None and value > mark
            yield _Headline(shown, value, told_by, good=expected.right, alert=alert)
    yield from _told_apart(record)
    yield from _careers(record)
    yield from _overlaps(record)


def _told_apart(record: Record) -> Iterator[_Headline]:
    expected = expected_of(record)
    for entry in mappings(utility_of(record), "propensity"):
        model = words(entry, "model")
        name = f"All variables at once, pMSE ratio by {MODELS.get(model, model)}"
        if only_margins(entry):
            name = f"Margins, pMSE ratio by {MODELS.get(model, model)}"
        told = f"{_start(ratio_in_words(entry, record))}."
        permuted, value = number(entry, "permutations"), number(entry, "mean", "s_pmse")
        good, mark = (1.0, _HIGH) if permuted else (expected.right, mean_mark(expected))
        alert = value is not None and value > mark
        yield _Headline(name, value, told, good=good, alert=alert)


def _careers(record: Record) -> Iterator[_Headline]:
    found = [(own.ratio, own) for own in read_measures(record) if own.ratio is not None]
    if found:
        ratio, own = max(found, key=lambda pair: pair[0])
        told = f"{_start(noise_in_words(ratio))}. It is the {own.meaning}."
        name = "Careers, largest distance over its noise floor"
        yield _Headline(name, ratio, told, good=1.0, alert=ratio > FAR)


def _overlaps(record: Record) -> Iterator[_Headline]:
    fits = mappings(utility_of(record), "fits")
    found = [(value, fit) for fit in fits if (value := number(fit, "mean_overlap")) is not None]
    if found:
        value, fit = min(found, key=lambda pair: pair[0])
        good = overlap_expected(fit)
        told = "How much of each confidence interval original and synthetic data share; "
        told += f"{overlap_in_words(good)}."
        if len(fits) > 1:
            told += f" It is the fit {words(fit, 'formula')}."
        name = "Models, lowest mean overlap of intervals"
        alert = any(is_bad_fit(own) for own in fits)
        yield _Headline(name, value, told, good=good, alert=alert)


def _start(told: str) -> str:
    return told[:1].upper() + told[1:]


def _risky(record: Record) -> Iterator[_Headline]:
    several = len(scenarios(record)) > 1
    for scenario in scenarios(record):
        found = rates(scenario.content, "figures")
        about = f" ({scenario.label})" if several else ""
        halves, cap = rate(found, "differential confidentiality"), rate(found, "CAP")
        if halves is not None:
            yield _headline(halves, f"Differential confidentiality{about}", _added(halves), 0.0)
        if cap is not None:
            yield _headline(cap, f"CAP{about}", _attributed(cap), cap.baseline)
    for other in other_rates(record):
        if other.name == "share nearer to the fitted half":
            yield _headline(other, "Share nearer to the fitted half", _nearer(other), _FAIR)
        if other.name == "replicated uniques":
            yield _headline(other, "Replicated uniques", _replicated(other), 0.0)
        if other.name == "careers of one person":
            head = _headline(other, "Careers of one person", _repeated(other), other.baseline)
            yield replace(head, alert=is_above_chance(other))


def _headline(found: Rate, name: str, told: str, good: float | None) -> _Headline:
    alert = lies_above(found.low, good)
    return _Headline(name, found.value, told, found.low, found.high, good, found.original, alert)


def _added(found: Rate) -> str:
    meaning = "What persons add to their own risk by being in the data; 0 is safe. "
    if found.value is None or found.low is None or found.high is None:
        return f"{meaning}Without an interval nothing can be concluded, which is no good news."
    if found.low > 0:
        return f"{meaning}The interval lies above 0: being in the data discloses something."
    if found.high < 0:
        return f"{meaning}The interval lies below 0, which discloses nothing."
    return f"{meaning}The interval covers 0: no difference was found."


def _attributed(found: Rate) -> str:
    told = "How often an intruder reads off the target rightly"
    if found.value is None or found.baseline is None or found.original is None:
        return f"{told}. Lower is safer."
    way = found.original - found.baseline
    share = (found.value - found.baseline) / way if way > 0 else None
    place = (
        ""
        if share is None
        else f" {written(share, 'share')} of the way from that to the original's."
    )
    return f"{told}; safe is what guessing achieves.{place}"


def _nearer(found: Rate) -> str:
    meaning = "Are synthetic records nearer to those they were made from than to others; 0.5 is no."
    if found.low is None or found.high is None:
        return meaning
    if found.low > _FAIR:
        return f"{meaning} The interval lies above 0.5: they are."
    return f"{meaning} The interval does not lie above 0.5."


def _repeated(found: Rate) -> str:
    meaning = "Share of the synthetic careers that repeat the career of a single person. "
    if found.baseline is None:
        return f"{meaning}Lower is safer."
    how = "more often" if is_above_chance(found) else "no more often"
    return f"{meaning}They do so {how} than fresh persons would."


def _replicated(found: Rate) -> str:
    meaning = "Share of the synthetic records that repeat a unique original record in every value."
    if found.value is None or not found.n:
        return meaning
    return f"{meaning} Here {plural(round(found.value * found.n), 'record')} of {found.n:,}."


# Every figure of a run in one table.

_FIGURES_COLUMNS = (
    "Figure", "About", "Value", "95 % interval", "Baseline", "Original", "Records", "Good is",
    "Meaning",
)  # fmt: skip
_FIGURES_FORMS: tuple[Form, ...] = (
    "text", "text", "figure", "text", "figure", "figure", "count", "text", "text",
)  # fmt: skip


def figures_section(record: Record) -> Section:
    """Return all figures of utility and risk with their meaning and direction.

    Parameters
    ----------
    record : Record
        A run; its checks are read.
    """
    found = [*_figures_useful(record), *_figures_risky(record)]
    table = DataTable(
        caption="All figures; the baseline is what guessing gives or, for utility, what is "
        "expected of a right synthesis (by a tree: of a fresh sample); the original is what "
        "releasing it as it is would give",
        columns=[
            unit_words(record).capitalize() if c == "Records" else c for c in _FIGURES_COLUMNS
        ],
        forms=_FIGURES_FORMS,
        rows=[_row(about, figure) for about, figure in found],
        sortable=True,
    )
    gap = Gap("the figures", "checks.json holds none that can be read; run the checks again.")
    return Section(
        anchor="figures",
        title="All figures",
        lead="Everything that was computed, with what it means and which direction is good.",
        blocks=[*_scenarios(record), table if found else gap],
    )


def _scenarios(record: Record) -> Iterator[Words]:
    """Say what the scenarios of the table are."""
    told = [f"{_about(i, s)}: {s.heading}." for i, s in enumerate(scenarios(record))]
    if told:
        yield Words(told)


def _about(place: int, scenario: ScenarioPart) -> str:
    return f"scenario {place + 1} ({scenario.target})"


def _figures_useful(record: Record) -> list[tuple[str, Rate]]:
    return [
        (place, _without_direction(place, figure))
        for told in (utility_of(record), panel_part(record))
        for place, figure in zip(_places(told), rates(told, "figures"), strict=True)
    ]


def _places(told: Mapping[str, Any]) -> list[str]:
    return [words(row, "place") for row in mappings(told, "figures") if words(row, "name")]


def _without_direction(place: str, figure: Rate) -> Rate:
    """Take the direction from what a tree shows by chance alone."""
    if place.endswith("cart") and figure.name in ("SPECKS", "PO50"):
        return replace(figure, direction="not to be read alone: far from 0 by chance")
    return figure


def _figures_risky(record: Record) -> list[tuple[str, Rate]]:
    own = [
        (_about(i, scenario), figure)
        for i, scenario in enumerate(scenarios(record))
        for figure in rates(scenario.content, "figures")
    ]
    about = in_units("whole records", "persons" if is_panel(record) else "records")
    return own + [(about, figure) for figure in other_rates(record)]


def _row(about: str, figure: Rate) -> list[Cell]:
    ends = interval(figure.low, figure.high)
    numbers = (figure.value, ends, figure.baseline, figure.original, figure.n)
    return [figure.name, about, *numbers, figure.direction, figure.meaning]


# How to read the report: the words it uses.

_DISTANCE = (
    "Distance of two tables, divided by what independent draws from a right model with fixed "
    "parameters would show by chance."
)
_TERMS_FIRST = (
    ("Synthetic data", "Records drawn from models that were fitted to the original. No record "
     "stands for a person, but the models may have learned something about persons."),
    ("Right synthesis", "Independent draws from the model that is true. No synthesis is quite "
     "right; it is what figures of utility are compared with."),
    ("Fresh sample", "Another sample of as many records as the synthetic data, from the same "
     "population as the original, not of the same persons."),
)  # fmt: skip
_TERMS = (
    ("ROE, ratio of estimates", "Smaller of two proportions divided by the larger, averaged over "
     "the cells of a table. 1 is equal; rare cells pull it down."),
    ("SPECKS", "Largest distance between two distributions, from 0 (alike) to 1."),
    ("pMSE", "How well a model tells synthetic from original records; 0 is not at all."),
    ("pMSE ratio", "pMSE over what is expected by chance. By a logistic regression: over that of "
     "independent draws from a right model; with main effects it sees margins only, not "
     "relations. By a tree: over that of a fresh sample of the same population, which a right "
     "synthesis with fixed parameters may fall below, down to 1 - c, c the synthetic share (0.5 "
     "for files of equal size). SPECKS and PO50 of a tree have no baseline."),
    ("p and p_VW", "Probabilities of a difference as large by chance: between two independent "
     "samples (p), or between the original and draws from its own proportions (p_VW)."),
    ("Overlap", "Share that two confidence intervals have in common. 1 is all, below 0 they do "
     "not touch. A right synthesis does not reach 1: with fixed parameters and as many records "
     "as the original, 0.80 is expected of one dataset and 0.91 of five."),
    ("Keys and target", "What an intruder knows of a person, and what the intruder seeks."),
    ("CAP", "Correct attribution probability: how often the target is read off rightly from the "
     "synthetic records with the same keys. Compare with its baseline, which is guessing, and "
     "with the original's."),
    ("Differential confidentiality", "CAP of records that the synthesis was fitted on minus CAP "
     "of records it never saw. If it is 0, being in the data does not add to a person's risk."),
    ("Share nearer to the fitted half", "How often a synthetic record is nearer to one it was "
     "made from than to one it was not. 0.5 is a coin toss."),
    ("Baseline", "The value of data that tell nothing about the persons."),
    ("95 % interval", "What the figure may be if chance had fallen otherwise: it covers the true "
     "value in 95 of 100 cases."),
)  # fmt: skip


def reading_section(record: Record) -> Section:
    """Return a short glossary with the expectations of the run."""
    expected = expected_of(record)
    terms = (
        *_TERMS_FIRST,
        ("S_pMSE", f"{_DISTANCE} {expected.sentence} Lower is better."),
        *_TERMS,
    )
    return Section(
        anchor="reading",
        title="How to read this report",
        lead="Shares are from 0 to 1, never percent. A dash says that there is no value.",
        blocks=[
            Words(
                [
                    "No single figure says that data are safe or good. Look whether the figures "
                    "of risk stay near their baselines, whether the pairs that researchers will "
                    "use are near enough, and decide for the use that is planned. Figures that "
                    "could not be computed are no good news."
                ]
            ),
            DataTable(
                caption="Words of this report",
                columns=["Word", "Meaning"],
                forms=["text", "text"],
                rows=terms,
            ),
        ],
    )


# What was run: data, chain, configuration, versions and time.

_SHOWN = 4
"""Predictors that the table of the chain names; the full list is behind it."""
_LISTED = 12
_SEED = "see manifest.json, which is as confidential as the data"


def run_section(record: Record) -> Section:
    """Return the run's facts; the seed is never among them.

    Parameters
    ----------
    record : Record
        A run; its manifest is read.
    """
    return Section(
        anchor="run",
        title="What was run",
        lead="Data, chain of models, configuration and versions, so that it can be done again.",
        blocks=list(_blocks(record)),
    )


def _blocks(record: Record) -> Iterator[Block]:
    if not record.manifest:
        yield Gap("the facts of the run", "manifest.json is missing or cannot be read.")
        return
    yield _facts(record)
    yield from (Note(words(note)) for note in listed(record.manifest, "notes"))
    yield from _chain(record.manifest)
    yield from _configuration(record.manifest)
    yield from _versions(record.manifest)


def _facts(record: Record) -> DataTable:
    manifest = record.manifest

    def count(*path: str) -> str:
        return written(number(manifest, *path), "count")

    rows: list[list[Cell]] = [
        ["Data", words(manifest, "data", "origin") or DASH],
        ["Original records", count("data", "rows")],
        ["Variables", count("data", "columns")],
        ["Synthetic datasets (m)", count("m")],
        [f"{unit_words(record).capitalize()} in each", count("rows")],
        ["Made", words(manifest, "created") or DASH],
        ["Seed", _SEED],
        ["SHA-256 of the data", words(manifest, "data", "sha256") or DASH],
    ]
    if is_panel(record):
        rows[2:2] = [
            ["Original persons", count("panel", "persons")],
            ["Periods", count("panel", "periods")],
        ]
    return DataTable(
        caption="The run", columns=["What", "Value"], forms=["text", "text"], rows=rows
    )


def _chain(manifest: Mapping[str, Any]) -> Iterator[Block]:
    steps = mappings(manifest, "chain")
    if not steps:
        yield Gap("the chain of models", "manifest.json does not hold it.")
        return
    yield DataTable(
        caption="The chain: each variable is drawn from its model given those before it",
        columns=["Variable", "Kind", "Model", "Model of missing codes", "Predictors"],
        forms=("text", "text", "text", "text", "text"),
        rows=[
            [
                words(step, "variable"),
                words(step, "kind"),
                " of ".join([words(step, "model"), *map(str, listed(step, "base"))]),
                words(step, "model_of_missing_codes") or DASH,
                _shortened([words(name) for name in listed(step, "predictors")]),
            ]
            for step in steps
        ],
        sortable=len(steps) > _LISTED,
    )
    yield _predictors(steps)


def _shortened(names: list[str]) -> str:
    if len(names) <= _SHOWN:
        return ", ".join(names) or "none"
    return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"


def _predictors(steps: list[Mapping[str, Any]]) -> Markup:
    """Return the full lists; where each step takes all before it, that is said instead."""
    before: list[str] = []
    own = []
    for step in steps:
        names = [words(name) for name in listed(step, "predictors")]
        if set(names) != set(before):
            own.append((words(step, "variable"), names))
        before.append(words(step, "variable"))
    told = "Every variable has all variables above it as predictors."
    if own:
        told = "All other variables have all variables above them as predictors."
    table = DataTable(
        caption=told,
        columns=["Variable", "All its predictors"],
        forms=["text", "text"],
        rows=[[name, ", ".join(names) or "none"] for name, names in own],
    )
    body = fragment(table) if own else Markup("<p>{}</p>").format(told)
    short = " short" if len(own) <= _LISTED else ""
    return Markup(
        '<details class="numbers{}"><summary>All predictors</summary>{}</details>'
    ).format(short, body)


def _configuration(manifest: Mapping[str, Any]) -> Iterator[Block]:
    config = dig(manifest, "config")
    if not isinstance(config, Mapping):
        yield Gap("the configuration", "manifest.json does not hold it.")
        return
    shown = {**config, "seed": _SEED} if "seed" in config else dict(config)
    text = yaml.safe_dump(_plain(shown), sort_keys=False, allow_unicode=True, width=90)
    yield Markup("<h3>Configuration</h3><pre tabindex='0'>{}</pre>").format(text)


def _plain(value: Any) -> Any:
    """Return only what YAML writes safely."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def _versions(manifest: Mapping[str, Any]) -> Iterator[Block]:
    packages, seconds = (dig(manifest, key, default={}) for key in ("packages", "seconds"))
    versions = [["Python", words(manifest, "python") or DASH]]
    if isinstance(packages, Mapping):
        versions += [[str(name), words(version)] for name, version in packages.items()]
    yield DataTable(
        caption="Versions", columns=["Package", "Version"], forms=["text", "text"], rows=versions
    )
    if isinstance(seconds, Mapping) and seconds:
        yield DataTable(
            caption="Time, in seconds",
            columns=["Phase", "Seconds"],
            forms=["text", "figure"],
            rows=[[str(name), number(value)] for name, value in seconds.items()],
        )
