"""Identity and attribute disclosure by dataset, with the original beside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from synthesizer.report.charts import MOST_CURVES, Bar, DotRow, bars, dots, roc
from synthesizer.report.page import (
    Block,
    Cell,
    Chart,
    DataTable,
    Form,
    Gap,
    Note,
    Section,
    Words,
    plural,
    written,
)
from synthesizer.report.risk_figures import (
    COUNT,
    FIGURE,
    TEXT,
    Rate,
    ScenarioPart,
    absent,
    auc,
    auc_of_original,
    count,
    failed_like,
    heading,
    joined,
    names,
    part,
    question,
    rate,
    rates,
    risk_part,
    scenarios,
)
from synthesizer.report.untyped import Record, dig, listed, mappings, number, numbers, words

# What may be common knowledge: levels that dominate, and keys that give the target away.


def dominance_blocks(warnings: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    """Yield the levels that stand behind many disclosures, with the line that excludes them.

    Parameters
    ----------
    warnings : sequence of mapping
        Those of the attribute measures, of all datasets; each pair is shown once, as in the
        dataset where it counts most.
    """
    if not warnings:
        return
    yield Note(
        "Few levels stand behind many of the disclosures. Where what they tell is common "
        "knowledge, exclude them: the table holds the line to add under checks.exclude."
    )
    pairs: dict[str, list[Mapping[str, Any]]] = {}
    for row in warnings:
        pairs.setdefault(_line(row), []).append(row)
    yield DataTable(
        caption="Levels that dominate DiSCO, as in the dataset where they count most. Of all: "
        "share of what DiSCO counts; known anyway: share of the original records with the level "
        "of the key that have this target",
        columns=(
            "Target",
            "Its level",
            "Key",
            "Its level (key)",
            "To exclude",
            "Datasets",
            "Records",
            "Of all",
            "Known anyway",
        ),
        forms=(*[TEXT] * 5, "count", "count", "share", "share"),
        rows=[_dominant(line, same) for line, same in pairs.items()],
        sortable=len(pairs) > 4,
    )


def _dominant(line: str, same: Sequence[Mapping[str, Any]]) -> tuple[Cell, ...]:
    row = max(same, key=lambda entry: number(entry, "share") or 0.0)
    return (
        words(row, "target"),
        _level(row, "target_level"),
        words(row, "key") or None,
        _level(row, "key_level"),
        line,
        len(same),
        count(row, "records"),
        number(row, "share"),
        number(row, "prior"),
    )


def _level(row: Mapping[str, Any], name: str) -> Cell:
    plain = number(row, "confidential", name)
    return words(row, "confidential", name) or None if plain is None else plain


def _line(row: Mapping[str, Any]) -> str:
    pairs = {"target_level": dig(row, "confidential", "target_level")}
    if words(row, "key"):
        key_level = dig(row, "confidential", "key_level")
        pairs |= {"key": words(row, "key"), "key_level": key_level}
    return "- {" + ", ".join(f"{name}: {_quoted(value)}" for name, value in pairs.items()) + "}"


def _quoted(value: Any) -> str:
    """Write a level so that YAML reads it as the same number or text."""
    plain = number(value)
    return json.dumps(words(value), ensure_ascii=False) if plain is None else json.dumps(plain)


def determined_blocks(scenario: ScenarioPart) -> Iterator[Block]:
    """Yield what each key by itself, and all together, tell of the target in the original.

    Parameters
    ----------
    scenario : ScenarioPart
        One intruder.
    """
    found = part(scenario.content, "determined")
    entries = [*mappings(found, "single"), part(found, "together")]
    shown = [entry for entry in entries if entry]
    if not shown:
        return
    fields = ("shared", "determined", "told", "guessed")
    yield DataTable(
        caption="What keys tell of the target in the original: of the records that share their "
        "key value with others, those whose key value goes with one target only",
        columns=(
            "Keys",
            "By construction",
            "Shared",
            "One target only",
            "Right by the key",
            "Right by guessing",
            "Share",
        ),
        forms=("text", "text", *[COUNT] * 4, "figure"),
        rows=[
            (
                ", ".join(names(entry, "keys")),
                _construction(entry),
                *(count(entry, field) for field in fields),
                number(entry, "share"),
            )
            for entry in shown
        ],
    )


def _construction(entry: Mapping[str, Any]) -> str:
    if entry.get("by_construction") is True:
        return "yes"
    return "nearly" if entry.get("nearly") is True else "no"


_IDENTITY = {
    "repu": ("repU", "key unique in the original, and unique again in the synthetic data", "uio"),
    "uiois": ("UiOiS", "key unique in the original, and occurring in the synthetic data", "uio"),
    "uio": ("UiO", "key unique in the original", "uio"),
    "uis": ("UiS", "of the synthetic records: key unique among themselves", "uio"),
}
_ATTRIBUTE = {
    "disco": ("DiSCO", "the synthetic records of the key show one target, the true one", "dorig"),
    "disdio": (
        "DiSDiO",
        "the same, and the original records show one target too",
        "dorig",
    ),
    "dis": ("DiS", "the synthetic records of the key show one target, true or not", "dorig"),
    "in_synthetic": ("iS", "the key occurs in the synthetic data", ""),
    "dorig": ("Dorig", "the original records of the key show one target", "dorig"),
    "dsyn": ("Dsyn", "of the synthetic records: their key shows one target among them", "dorig"),
}
_OTHERS = {
    "base_capd": "baseCAPd",
    "capd": "CAPd",
    "caps": "CAPs",
    "dcap": "DCAP",
    "tcap": "TCAP",
    "mean_denom": "Mean group",
}
_READS = (
    "The dot is the mean over the datasets, the small dots are the datasets one by one, and the "
    "diamond is what releasing the original itself would give. Lower is safer. Half of a real "
    "file scores as high against the other half as a good synthesis does: read the half split "
    "first."
)


def disclosure_section(record: Record) -> Section | None:
    """Return identity and attribute disclosure by scenario, None without any scenario.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.
    """
    parts = scenarios(record)
    if not parts:
        return None
    return Section(
        anchor="identity",
        title="Identity and attribute disclosure",
        lead="Do persons with a key of their own appear again, and does a key give a value away?",
        blocks=[block for entry in parts for block in _scenario(record, entry)],
    )


def _scenario(record: Record, scenario: ScenarioPart) -> Iterator[Block]:
    yield from heading(scenario)
    yield from _measures(
        record,
        scenario,
        "identity",
        "Identity disclosure",
        _IDENTITY,
        "Identity measures were not computed; they are unless checks.identity is false.",
    )
    if scenario.has_tolerance and scenario.content.get("attribute") is None:
        yield Words(
            [
                f"Attribute measures need groups of {scenario.target} in place of the tolerance, "
                "and are left out for this intruder."
            ]
        )
    else:
        yield from _measures(
            record,
            scenario,
            "attribute",
            "Attribute disclosure",
            _ATTRIBUTE,
            "Attribute measures were not computed; they are unless checks.attribute is false.",
        )
        yield from _attribute_rest(scenario)
    yield from determined_blocks(scenario)


def _measures(
    record: Record,
    scenario: ScenarioPart,
    name: str,
    title: str,
    measures: Mapping[str, tuple[str, str, str]],
    off: str,
) -> Iterator[Block]:
    found = part(scenario.content, name)
    mean, datasets = part(found, "mean"), mappings(found, "datasets")
    if not mean:
        yield absent(
            record, name, title, found=scenario.content.get(name), label=scenario.label, off=off
        )
        return
    rows = [
        DotRow(
            label=short,
            value=number(mean, field),
            original=number(mean, reference) if reference else 1.0,  # every key occurs there
            others=[v for row in datasets if (v := number(row, field)) is not None],
        )
        for field, (short, _, reference) in measures.items()
    ]
    yield _chart(title, scenario.heading, rows, _by_dataset(title, measures, mean, datasets))
    yield _legend(title, rows, [meaning for _, meaning, _ in measures.values()])


def _chart(title: str, about: str, rows: Sequence[DotRow], table: DataTable) -> Chart:
    summary = "; ".join(
        f"{row.label} {written(row.value, 'share')} (original {written(row.original, 'share')})"
        for row in rows
    )
    return Chart(
        title=title,
        svg=dots(
            rows,
            title=f"{title}. {about}",
            description=summary,
            label="share",
            whole=True,
            marks={
                "value": "mean over the datasets",
                "others": "each dataset",
                "original": "the original released",
            },
        ),
        reads=_READS,
        summary=summary,
        table=table,
    )


def _legend(title: str, rows: Sequence[DotRow], meanings: Sequence[str]) -> DataTable:
    return DataTable(
        caption=f"{title} in words: shares of the original records unless said otherwise",
        columns=("Measure", "In words", "Mean", "Original"),
        forms=("text", "text", "figure", "figure"),
        rows=[
            (row.label, meaning, row.value, row.original)
            for row, meaning in zip(rows, meanings, strict=True)
        ],
    )


def _by_dataset(
    title: str,
    measures: Mapping[str, tuple[str, str, str]],
    mean: Mapping[str, Any],
    datasets: Sequence[Mapping[str, Any]],
) -> DataTable:
    return DataTable(
        caption=f"{title} by dataset",
        columns=("Of", *(short for short, _, _ in measures.values())),
        forms=("text", *[FIGURE] * len(measures)),
        rows=[
            (name, *(number(row, field) for field in measures))
            for name, row in _named(mean, datasets)
        ],
    )


def _named(
    mean: Mapping[str, Any], datasets: Sequence[Mapping[str, Any]]
) -> list[tuple[str, Mapping[str, Any]]]:
    return [("mean", mean), *((f"dataset {i}", row) for i, row in enumerate(datasets, start=1))]


def _attribute_rest(scenario: ScenarioPart) -> Iterator[Block]:
    found = part(scenario.content, "attribute")
    mean, datasets = part(found, "mean"), mappings(found, "datasets")
    if not mean:
        return
    yield Words([_excluded(scenario, found)])
    yield DataTable(
        caption="Further measures as in synthpop: CAP of the target's distribution alone "
        "(baseCAPd), of the original by itself (CAPd), of the synthetic data by themselves "
        "(CAPs), of the original from the synthetic data (DCAP), DiSCO among the records whose "
        "key occurs (TCAP); and the groups that DiSCO counts: large ones hint at relations that "
        "everybody knows",
        columns=("Of", *_OTHERS.values(), "Largest group", "Left out"),
        forms=("text", *[FIGURE] * len(_OTHERS), "count", "figure"),
        rows=[
            (
                name,
                *(number(row, field) for field in _OTHERS),
                count(row, "max_denom"),
                number(row, "left_out"),
            )
            for name, row in _named(mean, datasets)
        ],
    )
    yield from dominance_blocks(mappings(found, "warnings"))


def _excluded(scenario: ScenarioPart, found: Mapping[str, Any]) -> str:
    levels = count(scenario.content, "scenario", "exclusions") or 0
    records = count(found, "excluded") or 0
    if not levels and not records:
        return "Nothing is excluded from the attribute measures."
    return (
        f"{levels} exclusion(s) of levels known to everybody (checks.exclude) leave out "
        f"{written(records, 'count')} of the original records; DiSCO would count "
        f"{written(number(found, 'mean', 'left_out'), 'text')} of them on average."
    )


# Who stands out: special uniques of the original, and whole records that are there again.

_OFF = "Special uniques were not looked for; they are unless checks.suda is false."
_OFF_REPLICATED = (
    "Whole records that are there again were not counted; they are unless "
    "checks.replicated_uniques is false."
)


def uniques_section(record: Record) -> Section | None:
    """Return special uniques by scenario and replicated uniques of whole records.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.

    Returns
    -------
    Section or None
        None where the file has no part about risk at all.
    """
    told = risk_part(record)
    if not told:
        return None
    blocks = [block for entry in scenarios(record) for block in _uniques_scenario(record, entry)]
    return Section(
        anchor="uniques",
        title="Special uniques",
        lead="Who stands out in the original by few variables, and which records come back whole.",
        blocks=[*blocks, *_replicated(record, told)],
    )


def _uniques_scenario(record: Record, scenario: ScenarioPart) -> Iterator[Block]:
    yield from heading(scenario)
    suda = part(scenario.content, "suda")
    n, unique = count(suda, "n"), count(suda, "uniques")
    if n is None or unique is None:
        yield absent(
            record,
            "suda",
            "Special uniques",
            found=scenario.content.get("suda"),
            label=scenario.label,
            off=_OFF,
        )
        return
    yield Words(list(_sentences(suda, n, unique)))
    yield from _charts(scenario, suda)


def _sentences(suda: Mapping[str, Any], n: int, unique: int) -> Iterator[str]:
    found = rates(suda, "figures")
    special = written(count(suda, "special_uniques"), "count")
    yield (
        f"{written(unique, 'count')} of {written(n, 'count')} original records have values of all "
        f"keys that nobody shares (a share of {_value(found, 'share unique')}). {special} of "
        "them are special uniques: the tenth with the highest SUDA scores (more where scores "
        "tie), persons whom few variables already set apart."
    )
    yield (
        "DIS is the probability that a unique match with the data is the right person, if the "
        f"data hold a share of {written(number(suda, 'sampling_fraction'), 'share')} of the "
        f"population: {_value(found, 'DIS')} over the file; for single records "
        f"{_value(found, 'mean DIS-SUDA')} on average and {_value(found, 'largest DIS-SUDA')} for "
        "the record most at risk. This is about the original before anything is synthesised."
    )
    without = count(suda, "uniques_without_score")
    if without:
        yield (
            f"{written(without, 'count')} uniques have no score: what sets them apart takes more "
            f"than {written(count(suda, 'max_size'), 'count')} keys."
        )


def _value(found: Sequence[Rate], name: str) -> str:
    entry = rate(found, name)
    return written(None if entry is None else entry.value, "share")


def _charts(scenario: ScenarioPart, suda: Mapping[str, Any]) -> Iterator[Block]:
    bands = mappings(suda, "dis_scores")
    if any(count(band, "records") for band in bands):
        yield _bands(scenario, bands)
    weights = {
        str(name): value
        for name in part(suda, "contributions")
        if (value := number(suda, "contributions", name)) is not None
    }
    if weights:
        yield _contributions(scenario, weights)
    scores = part(suda, "scores")
    if scores:
        yield DataTable(
            caption="SUDA scores of the uniques: the higher, the fewer variables set them apart",
            columns=("Point", "Score"),
            forms=("text", "figure"),
            rows=[(str(name), number(scores, name)) for name in scores],
        )
    sizes = mappings(suda, "minimal_uniques")
    if sizes:
        yield DataTable(
            caption="Minimal uniques: smallest sets of keys that set a record apart",
            columns=("Keys in the set", "Sets found", "Records"),
            forms=("count", "count", "count"),
            rows=[tuple(count(row, n) for n in ("size", "found", "records")) for row in sizes],
        )


def _bands(scenario: ScenarioPart, bands: Sequence[Mapping[str, Any]]) -> Chart:
    title = "Uniques by DIS-SUDA"
    named = [
        (f"{number(b, 'above') or 0:.1f} to {number(b, 'up_to') or 0:.1f}", count(b, "records"))
        for b in bands
    ]
    return _bar_chart(
        title,
        scenario,
        named,
        "Probability that a unique match is the right person, counted over the uniques. Records "
        "far down the list deserve a look before release, whatever the synthesis does.",
        ("Probability", "Records"),
        "records",
    )


def _contributions(scenario: ScenarioPart, weights: Mapping[str, float]) -> Chart:
    title = "Which keys set records apart"
    named = sorted(weights.items(), key=lambda item: -item[1])
    return _bar_chart(
        title,
        scenario,
        named,
        "Share of all SUDA scores that comes from sets with the key; sets have several keys, so "
        "the shares add up to more than 1. Coarser values of the first keys help most.",
        ("Key", "Share of the scores"),
        "share",
    )


def _bar_chart(
    title: str,
    scenario: ScenarioPart,
    named: Sequence[tuple[str, float | None]],
    reads: str,
    columns: tuple[str, str],
    label: str,
) -> Chart:
    form: Form = "count" if label == "records" else "share"
    drawn = [Bar(label=name, value=value, said=written(value, form)) for name, value in named]
    summary = "; ".join(f"{bar.label}: {bar.said}" for bar in drawn if bar.value)
    cells: list[tuple[Cell, ...]] = [tuple(pair) for pair in named]
    return Chart(
        title=title,
        svg=bars(drawn, title=f"{title}. {scenario.heading}", description=summary, label=label),
        reads=reads,
        summary=summary,
        table=DataTable(caption=title, columns=columns, forms=("text", form), rows=cells),
    )


def _replicated(record: Record, told: Mapping[str, Any]) -> Iterator[Block]:
    found = part(told, "replicated_uniques")
    datasets = mappings(found, "datasets")
    if not datasets:
        yield absent(
            record,
            "replicated_uniques",
            "Replicated uniques of whole records",
            found=told.get("replicated_uniques"),
            off=_OFF_REPLICATED,
        )
        return
    shares = rates(found, "figures")
    yield Words(
        [
            f"Whole records: {written(count(found, 'uniques'), 'count')} of "
            f"{written(count(found, 'n'), 'count')} original records are unique, all variables "
            f"taken together. A share of {_value(shares, 'replicated uniques')} of the synthetic "
            "records is unique and equal to a unique original record. Such a record may be "
            "chance, but a person who finds it cannot tell."
        ]
    )
    yield DataTable(
        caption="Unique synthetic records, and those that the original has: as any record, and as "
        "a unique one",
        columns=("Dataset", "Records", "Unique", "Present", "Replicated uniques"),
        forms=[COUNT] * 5,
        rows=[
            (i, *(count(row, name) for name in ("n", "uniques", "present", "replicated")))
            for i, row in enumerate(datasets, start=1)
        ],
    )


# Cells of public variables: which survive the synthesis, and how far off they are.

_COUNTS = {
    "cells": "combinations of public values in the original",
    "synthetic_only": "combinations that only the synthetic data have",
    "absent": "combinations of the original that the synthetic data lack",
    "uniques": "persons with a combination of their own",
    "present": "of these, shown by the synthetic data",
    "once": "of these, shown by one synthetic record only",
}
_SHARES = {
    "absent_share": "share of the combinations that is lacking",
    "absent_mean": "mean number of persons in a lacking combination",
    "right_expected": "own combination: chance that one of its synthetic records shows the truth",
    "right_once": "own combination shown once: share where that record shows the truth",
}
_DISTANCES = {
    "own_proportion": "Sizes by distance from the original's proportions",
    "marginal_proportion": "Sizes by distance from the proportions of everybody",
}
_SMALLEST = 8
"""Sizes of combinations that are drawn; the table holds all."""
_LOWEST, _HIGHEST = 0, 4
"""Places of the 5 % and the 95 % point among the stored ones."""


def cell_blocks(entry: Mapping[str, Any]) -> Iterator[Block]:
    """Yield uniqueness and differences in size of the combinations of one question.

    Parameters
    ----------
    entry : mapping
        An entry of ``inference``.
    """
    unique = part(entry, "uniqueness")
    if unique:
        yield _uniqueness(unique)
        yield from _sizes(unique)
    found = part(entry, "differences")
    shown = {name: mappings(found, name) for name in _DISTANCES}
    if any(shown.values()):
        yield Words([_compared(found)])
    for name, bands in shown.items():
        if bands:
            yield _cells_bands(bands, _DISTANCES[name])


def _uniqueness(unique: Mapping[str, Any]) -> DataTable:
    counts = [(what, count(unique, name), None) for name, what in _COUNTS.items()]
    shares = [(what, None, number(unique, name)) for name, what in _SHARES.items()]
    return DataTable(
        caption="Combinations of public values, and what the synthetic data show of them",
        columns=("What", "Number", "Rate"),
        forms=("text", "count", "figure"),
        rows=[*counts, *shares],
    )


def _sizes(unique: Mapping[str, Any]) -> Iterator[Chart]:
    pairs = [(number(pair, 0), number(pair, 1)) for pair in listed(unique, "counts")]
    known = [(size, cells) for size, cells in pairs if size is not None and cells is not None]
    if not known:
        return
    title = "Combinations of public values by number of persons"
    drawn = [
        Bar(
            label=plural(round(size), "person"),
            value=cells,
            said=written(cells, "count"),
        )
        for size, cells in known[:_SMALLEST]
    ]
    summary = "; ".join(f"{bar.label}: {bar.said}" for bar in drawn[:3])
    yield Chart(
        title=title,
        svg=bars(drawn, title=title, description=summary, label="combinations"),
        reads="Who has public values that nobody shares can be looked up: the first bar counts "
        "them. Only the smallest sizes are drawn.",
        summary=summary,
        table=DataTable(
            caption=title,
            columns=("Persons", "Combinations"),
            forms=("count", "count"),
            rows=known,
            sortable=True,
        ),
    )


def _compared(found: Mapping[str, Any]) -> str:
    return (
        f"{written(count(found, 'cells'), 'count')} combinations are in both; "
        f"{written(count(found, 'original_only'), 'count')} only in the original and "
        f"{written(count(found, 'synthetic_only'), 'count')} only in the synthetic data are left "
        "out below. The more the sizes of combinations scatter, the less an intruder can tell "
        "which of them to believe."
    )


def _cells_bands(bands: Sequence[Mapping[str, Any]], title: str) -> Chart:
    drawn = [
        DotRow(
            label=f"{_distance(row)}; {_persons(row)}",
            value=number(row, "relative", "mean"),
            low=number(row, "relative", "quantiles", _LOWEST),
            high=number(row, "relative", "quantiles", _HIGHEST),
        )
        for row in bands
    ]
    summary = f"{len(drawn)} classes of combinations by distance and number of persons."
    return Chart(
        title=title,
        svg=dots(
            drawn,
            title=title,
            description=summary,
            label="relative difference in size",
            marks={"value": "mean, with 9 in 10 combinations"},
            zero=True,
        ),
        reads=(
            "How much larger (above 0) or smaller a combination is in the synthetic data, by how "
            "far the proportions shown there are off, and by its size in the original. If those "
            "with right proportions also had the right size, an intruder could pick them out."
        ),
        summary=summary,
        table=_band_table(bands, title),
    )


def _distance(row: Mapping[str, Any]) -> str:
    low, high = number(row, "band_low"), number(row, "band_high")
    return f"off by {written(low, 'text')} to {written(high, 'text')}"


def _persons(row: Mapping[str, Any]) -> str:
    low, high = count(row, "size_low"), count(row, "size_high")
    return f"{written(low, 'count')} to {written(high, 'count')} persons"


def _band_table(bands: Sequence[Mapping[str, Any]], title: str) -> DataTable:
    fields = ("mean", "sd")
    return DataTable(
        caption=f"{title}: share of the synthetic records minus share of the original ones, and "
        "the same as a share of the latter",
        columns=(
            "Proportions",
            "Size",
            "Combinations",
            "Mean difference",
            "SD",
            "Mean relative difference",
            "SD (relative)",
        ),
        forms=("text", "text", "count", *[FIGURE] * 4),
        rows=[
            (
                _distance(row),
                _persons(row),
                count(row, "cells"),
                *(number(row, "difference", name) for name in fields),
                *(number(row, "relative", name) for name in fields),
            )
            for row in bands
        ],
        sortable=True,
    )


# What public variables and the synthetic data tell of a sensitive variable.

_ASK = (
    "No sensitive variable was asked for. Name one, and what anybody can look up, under checks: "
    "{inference: {sensitive: VARIABLE, public: [VARIABLE, ...]}} (or --sensitive and --public)."
)
_INFERENCE_READS = (
    "Everybody whose share of the level among the synthetic records with the same public values "
    "lies above some threshold is taken for it; the curve has a point for every threshold. On the "
    "diagonal the synthetic data tell nothing; the farther up and left, the more they tell. AUC is "
    "the area below: 0.5 is guessing, 1 is certainty. Published margins tell something too: "
    "compare the rates below."
)


def inference_section(record: Record) -> Section | None:
    """Return each question about a sensitive variable; None without a part about risk.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.
    """
    told = risk_part(record)
    if not told:
        return None
    blocks = [block for entry in mappings(told, "inference") for block in _question(entry)]
    blocks += [
        Gap(f"Inference ({name})", f"It could not be computed: {why}")
        for name, why in failed_like(record, "inference")
    ]
    return Section(
        anchor="inference",
        title="Inference of a sensitive variable",
        lead="What anybody who knows public values learns of a value that should stay private.",
        blocks=blocks or [Words([_ASK])],
    )


def _question(entry: Mapping[str, Any]) -> Iterator[Block]:
    yield Markup("<h3>{}</h3>").format(f"Inferring {question(entry)}")
    yield Words(list(_inference_sentences(entry)))
    curves = [curve for curve in mappings(entry, "roc") if _points(curve)]
    if curves:
        yield _inference_chart(entry, curves)
    else:
        yield Gap(
            "The ROC curve",
            "It needs persons with and without the level whose public values occur in the "
            "synthetic data.",
        )
    yield _rates(entry)
    yield from _thresholds(entry)
    yield from cell_blocks(entry)


def _inference_sentences(entry: Mapping[str, Any]) -> Iterator[str]:
    guesses, revealed = part(entry, "thresholds"), part(entry, "classification")
    sought = words(entry, "sensitive") or "the sensitive variable"
    yield (
        f"Of persons whose public values the synthetic data have, {sought} is guessed right at a "
        f"rate of {_share(guesses, 'right_of_present')}; by chance it would be "
        f"{_share(guesses, 'chance_right_of_present')}, from published margins "
        f"{_share(guesses, 'baseline_right_of_present')}, from the original "
        f"{_share(guesses, 'original_right_of_present')}. A share of "
        f"{_share(guesses, 'absent_share')} of the persons cannot be found at all."
    )
    yield (
        f"The revealed share is {_share(revealed, 'revealed')}: so many synthetic records give "
        f"away a true {sought}. By chance it would be {_share(revealed, 'chance')}, from "
        f"published margins {_share(revealed, 'baseline')}, from the original "
        f"{_share(revealed, 'original')}."
    )
    margins = names(entry, "baseline")
    yield (
        f"Published margins: the distribution of {sought} "
        + (f"within {joined(margins)}." if margins else "of everybody.")
        + " What they tell is no news: lower is safer, and near the margins is safe."
    )


def _share(content: Mapping[str, Any], name: str) -> str:
    return written(number(content, name), "share")


def _points(curve: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return (false positive rate, true positive rate) of a stored curve; from 1 to 0."""
    stored = curve.get("curve")
    points = stored if isinstance(stored, list | tuple) else []
    pairs = (numbers(point[1:3]) for point in points if isinstance(point, list | tuple))
    return [(1 - pair[1], pair[0]) for pair in pairs if len(pair) == 2]


def _inference_chart(entry: Mapping[str, Any], curves: Sequence[Mapping[str, Any]]) -> Chart:
    curves = sorted(curves, key=lambda curve: -(number(curve, "positives") or 0.0))
    named = [(_name(entry, curve), _points(curve)) for curve in curves]
    title = f"ROC curve: {question(entry)}"
    whole, own = auc(entry), auc_of_original(entry)
    summary = (
        f"AUC {written(whole, 'share')} from the synthetic data, {written(own, 'share')} from the "
        "original on the same persons, 0.5 by guessing"
        + (f"; means over {len(curves)} levels by number of persons." if len(curves) > 1 else ".")
    )
    more = len(curves) - MOST_CURVES
    return Chart(
        title=title,
        svg=roc(named, title=title, description=summary),
        reads=_INFERENCE_READS
        + (f" The {MOST_CURVES} most frequent levels are drawn." * (more > 0)),
        summary=summary,
        table=_curves(entry, curves),
    )


def _name(entry: Mapping[str, Any], curve: Mapping[str, Any]) -> str:
    level = words(curve, "level") or "empty"
    area = written(number(curve, "auc"), "share")
    return f"{words(entry, 'sensitive')} = {level} (AUC {area})"


def _curves(entry: Mapping[str, Any], curves: Sequence[Mapping[str, Any]]) -> DataTable:
    counts = ("positives", "negatives", "left_out", "thresholds")
    shares = ("auc", "auc_all", "auc_original", "auc_original_of_present")
    best = ("best_threshold", "best_tpr", "best_tnr")
    return DataTable(
        caption=f"Each level of {words(entry, 'sensitive')} against the others; best: the share "
        "with the largest sum of both rates",
        columns=(
            "Level",
            "Persons with it",
            "Without",
            "Not found",
            "Thresholds",
            "AUC",
            "AUC of all persons",
            "AUC of the original",
            "Of the original, same persons",
            "Best share",
            "Its true positive rate",
            "Its true negative rate",
        ),
        forms=("text", *[COUNT] * 4, *[FIGURE] * 7),
        rows=[
            (
                words(curve, "level") or "empty",
                *(count(curve, name) for name in counts),
                *(number(curve, name) for name in (*shares, *best)),
            )
            for curve in curves
        ],
        sortable=len(curves) > 4,
    )


def _rates(entry: Mapping[str, Any]) -> DataTable:
    shown, right = part(entry, "classification"), part(entry, "thresholds")
    unique = part(entry, "uniqueness")
    present = "_of_present"
    return DataTable(
        caption="Rates: from the synthetic data, by chance, from published margins, from the "
        "original",
        columns=("Rate", "Synthetic", "Chance", "Margins", "Original"),
        forms=("text", *[FIGURE] * 4),
        rows=[
            ("revealed share", *_four(shown, "revealed", "chance", "baseline", "original")),
            (
                "guessed right, of those found",
                *_four(
                    right,
                    f"right{present}",
                    f"chance_right{present}",
                    f"baseline_right{present}",
                    f"original_right{present}",
                ),
            ),
            (
                "guessed right, of all persons",
                *_four(right, "right", "", "baseline_right", "original_right"),
            ),
            (
                "shown right, of persons with public values of their own",
                *_four(unique, "right", "chance", "", ""),
            ),
            ("margins guess right too, of those right", *_four(right, "", "", "right_in_both", "")),
            ("told less than margins tell", *_four(right, "lower", "", "", "")),
            ("told as much", *_four(right, "equal", "", "", "")),
            ("told more", *_four(right, "higher", "", "", "")),
        ],
    )


def _four(content: Mapping[str, Any], *fields: str) -> Iterator[float | None]:
    """Yield the numbers of four fields; None where the name is empty."""
    return (number(content, field) if field else None for field in fields)


def _thresholds(entry: Mapping[str, Any]) -> Iterator[Block]:
    found = mappings(entry, "thresholds", "rows")
    if not found:
        return
    fields = ("share", "kept_chance_share", "chance_share", "baseline_share", "original_share")
    yield DataTable(
        caption="Share of all persons whose true level has at least this probability; near 1 they "
        "come mostly from combinations with one or two synthetic records, where chance makes "
        "them too",
        columns=(
            "Probability at least",
            "Persons",
            "Synthetic",
            "Chance, records kept",
            "Chance, levels drawn",
            "Margins",
            "Original",
        ),
        forms=("text", "count", *[FIGURE] * 5),
        rows=[
            (
                number(row, "threshold"),
                count(row, "count"),
                *(number(row, field) for field in fields),
            )
            for row in found
        ],
    )
