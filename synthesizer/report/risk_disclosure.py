"""Who is found and what is told of them: identity, attributes, uniques, a sensitive variable."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from synthesizer.measures.risk.attribute import AttributeResult, AttributeValues, Dominance
from synthesizer.measures.risk.curves import RocCurve
from synthesizer.measures.risk.determined import DeterminedResult, KeyDetermination
from synthesizer.measures.risk.identity import IdentityResult, IdentityValues
from synthesizer.measures.risk.inference import InferenceResult
from synthesizer.measures.risk.public_cells import BandRow, CellUniqueness, Differences
from synthesizer.measures.risk.scenario import Scenario
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.risk.suda import SudaResult
from synthesizer.report.charts import MOST_CURVES, Bar, DotRow, bars, dots, roc
from synthesizer.report.figures import figure_of
from synthesizer.report.page import (
    NUMBERS,
    Added,
    Block,
    Cell,
    Chart,
    DataTable,
    Form,
    Gap,
    Note,
    Section,
    Words,
    joined,
    plural,
    row_table,
    value_table,
    written,
)
from synthesizer.report.record import Record
from synthesizer.report.risk_figures import absent, heading, in_words

# Identity and attribute disclosure by dataset, with the original beside.

_IDENTITY = {"repu": "uio", "uiois": "uio", "uio": "uio", "uis": "uio"}
"""Measures that are drawn, and what the original has; every key occurs there."""
_ATTRIBUTE = {
    "disco": "dorig", "disdio": "dorig", "dis": "dorig", "in_synthetic": "", "dorig": "dorig",
    "dsyn": "dorig",
}  # fmt: skip
_FURTHER = ("base_capd", "capd", "caps", "dcap", "tcap", "mean_denom", "max_denom", "left_out")
_READS = (
    "The dot is the mean over the datasets, the small dots are the datasets one by one, and the "
    "diamond is what releasing the original itself would give. Lower is safer. Half of a real "
    "file scores as high against the other half as a good synthesis does: read the half split "
    "first."
)
_MARKS = {
    "value": "mean over the datasets",
    "others": "each dataset",
    "original": "the original released",
}


def disclosure_section(record: Record) -> Section | None:
    """Return identity and attribute disclosure by scenario, None without any scenario."""
    parts = record.results.risk.scenarios
    if not parts:
        return None
    return Section(
        anchor="identity",
        title="Identity and attribute disclosure",
        lead="Do persons with a key of their own appear again, and does a key give a value away?",
        blocks=[block for part in parts for block in _disclosure(record, part)],
    )


def _disclosure(record: Record, part: ScenarioRisk) -> Iterator[Block]:
    scenario = part.scenario
    yield heading(scenario)
    if part.identity is None:
        off = "Identity measures were not computed; they are unless checks.identity is false."
        yield absent(record, "identity", "Identity disclosure", off, scenario)
    else:
        yield from _measures("Identity disclosure", part.identity, _IDENTITY, scenario)
    if part.attribute is not None:
        yield from _measures("Attribute disclosure", part.attribute, _ATTRIBUTE, scenario)
        yield from _attribute_rest(part.attribute, scenario)
    elif scenario.tolerance is not None:
        words = (
            f"Attribute measures need groups of {scenario.target} in place of the tolerance, and "
            "are left out for this intruder."
        )
        yield Words([words])
    else:
        off = "Attribute measures were not computed; they are unless checks.attribute is false."
        yield absent(record, "attribute", "Attribute disclosure", off, scenario)
    if part.determined is not None:
        yield _determined(part.determined)


def _measures(
    title: str,
    result: IdentityResult | AttributeResult,
    measures: Mapping[str, str],
    scenario: Scenario,
) -> Iterator[Block]:
    kind: type[IdentityValues | AttributeValues] = type(result.mean)
    fields = kind.model_fields
    rows = [
        DotRow(
            label=str(fields[name].title),
            value=getattr(result.mean, name),
            original=getattr(result.mean, original) if original else 1.0,
            others=[getattr(dataset, name) for dataset in result.datasets],
        )
        for name, original in measures.items()
    ]
    summary = "; ".join(
        f"{row.label} {written(row.value, 'share')} (original {written(row.original, 'share')})"
        for row in rows
    )
    yield Chart(
        title=title,
        svg=dots(
            rows,
            title=f"{title}. {in_words(scenario)}",
            description=summary,
            label="share",
            whole=True,
            marks=_MARKS,
        ),
        reads=_READS,
        summary=summary,
        table=_by_dataset(result, tuple(measures), f"{title} by dataset"),
    )
    yield DataTable(
        caption=f"{title} in words: shares of the original records unless said otherwise",
        columns=("Measure", "In words", "Mean", "Original"),
        forms=("text", "text", "figure", "figure"),
        rows=[
            (row.label, fields[name].description, row.value, row.original)
            for name, row in zip(measures, rows, strict=True)
        ],
    )


def _by_dataset(
    result: IdentityResult | AttributeResult, names: Sequence[str], caption: str
) -> DataTable:
    return row_table(
        [result.mean, *result.datasets],
        caption=caption,
        names=names,
        labels=("Of", ["mean", *(f"dataset {i}" for i in range(1, len(result.datasets) + 1))]),
    )


def _attribute_rest(result: AttributeResult, scenario: Scenario) -> Iterator[Block]:
    yield Words([_excluded(result, scenario)])
    yield _by_dataset(
        result,
        _FURTHER,
        "Further measures as in synthpop: CAP of the target's distribution alone (baseCAPd), of "
        "the original by itself (CAPd), of the synthetic data by themselves (CAPs), of the "
        "original from the synthetic data (DCAP), DiSCO among the records whose key occurs "
        "(TCAP); and the groups that DiSCO counts: large ones hint at relations that everybody "
        "knows",
    )
    if result.warnings:
        yield from _dominance(result.warnings)


def _excluded(result: AttributeResult, scenario: Scenario) -> str:
    if not scenario.exclude and not result.excluded:
        return "Nothing is excluded from the attribute measures."
    return (
        f"{len(scenario.exclude)} exclusion(s) of levels known to everybody (checks.exclude) leave "
        f"out {result.excluded:,} of the original records; DiSCO would count "
        f"{written(result.mean.left_out, 'text')} of them on average."
    )


# What may be common knowledge: levels that dominate, and keys that give the target away.


def _dominance(warnings: Sequence[Dominance]) -> Iterator[Block]:
    """Yield the levels behind many disclosures, each once, with the line that excludes them."""
    yield Note(
        "Few levels stand behind many of the disclosures. Where what they tell is common "
        "knowledge, exclude them: the table holds the line to add under checks.exclude."
    )
    by_line: dict[str, list[Dominance]] = {}
    for warning in warnings:
        by_line.setdefault(_line(warning), []).append(warning)
    worst = [max(same, key=lambda own: own.share) for same in by_line.values()]
    yield row_table(
        worst,
        caption="Levels that dominate DiSCO, as in the dataset where they count most. Of all: "
        "share of what DiSCO counts; known anyway: share of the original records with the level "
        "of the key that have this target",
        names=[
            "target",
            Added("Its level", "text", lambda row: row.exclusion.target_level),
            "key",
            Added("Its level (key)", "text", lambda row: row.exclusion.key_level),
            Added("To exclude", "text", _line),
            Added("Datasets", "count", lambda row: len(by_line[_line(row)])),
            "records",
            "share",
            "prior",
        ],
    )


def _line(warning: Dominance) -> str:
    """Return the line of YAML that leaves a level out."""
    exclusion = warning.exclusion.model_dump(exclude_none=True)
    pairs = (
        f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in exclusion.items()
    )
    return f"- {{{', '.join(pairs)}}}"


def _determined(result: DeterminedResult) -> DataTable:
    return row_table(
        [*result.single, result.together],
        caption="What keys tell of the target in the original: of the records that share their "
        "key value with others, those whose key value goes with one target only",
        names=[
            "keys",
            Added("By construction", "text", _construction),
            "shared",
            "determined",
            "told",
            "guessed",
            Added("Share", "figure", lambda row: row.share),
        ],
    )


def _construction(row: KeyDetermination) -> str:
    return "yes" if row.by_construction else "nearly" if row.nearly else "no"


# Who stands out: special uniques of the original, and whole records that are there again.

_REPLICATED_OFF = (
    "Whole records that are there again were not counted; they are unless "
    "checks.replicated_uniques is false."
)


def uniques_section(record: Record) -> Section:
    """Return special uniques by scenario and replicated uniques of whole records."""
    blocks: list[Block] = []
    for part in record.results.risk.scenarios:
        blocks.append(heading(part.scenario))
        if part.suda is None:
            off = "Special uniques were not looked for; they are unless checks.suda is false."
            blocks.append(absent(record, "suda", "Special uniques", off, part.scenario))
        else:
            blocks += _special(part.suda, part.scenario)
    return Section(
        anchor="uniques",
        title="Special uniques",
        lead="Who stands out in the original by few variables, and which records come back whole.",
        blocks=[*blocks, *_replicated(record)],
    )


def _special(suda: SudaResult, scenario: Scenario) -> Iterator[Block]:
    yield Words(list(_suda_words(suda)))
    if any(band.records for band in suda.dis_scores):
        yield _bar_chart(
            "Uniques by DIS-SUDA",
            scenario,
            [(f"{b.above:.1f} to {b.up_to:.1f}", b.records) for b in suda.dis_scores],
            "Probability that a unique match is the right person, counted over the uniques. "
            "Records far down the list deserve a look before release, whatever the synthesis does.",
            ("Probability", "Records"),
            "count",
        )
    weights = [(key, value) for key, value in suda.contributions.items() if value is not None]
    if weights:
        yield _bar_chart(
            "Which keys set records apart",
            scenario,
            sorted(weights, key=lambda item: -item[1]),
            "Share of all SUDA scores that comes from sets with the key; sets have several keys, "
            "so the shares add up to more than 1. Coarser values of the first keys help most.",
            ("Key", "Share of the scores"),
            "share",
        )
    yield value_table(
        "SUDA scores of the uniques: the higher, the fewer variables set them apart",
        list(suda.scores.items()),
    )
    yield row_table(
        suda.minimal_uniques,
        caption="Minimal uniques: smallest sets of keys that set a record apart",
    )


def _suda_words(suda: SudaResult) -> Iterator[str]:
    dis, mean, largest = (
        written(value, "share") for value in (suda.dis, suda.mean_dis_suda, suda.largest_dis_suda)
    )
    yield (
        f"{suda.uniques:,} of {suda.n:,} original records have values of all keys that nobody "
        f"shares (a share of {written(suda.uniques / suda.n, 'share')}). {suda.special_uniques:,} "
        "of them are special uniques: the tenth with the highest SUDA scores (more where scores "
        "tie), persons whom few variables already set apart."
    )
    yield (
        "DIS is the probability that a unique match with the data is the right person, if the "
        f"data hold a share of {written(suda.sampling_fraction, 'share')} of the population: {dis} "
        f"over the file; for single records {mean} on average and {largest} for the record most "
        "at risk. This is about the original before anything is synthesised."
    )
    if suda.uniques_without_score:
        yield (
            f"{suda.uniques_without_score:,} uniques have no score: what sets them apart takes "
            f"more than {suda.max_size:,} keys."
        )


def _bar_chart(
    title: str,
    scenario: Scenario,
    values: Sequence[tuple[str, float]],
    reads: str,
    columns: tuple[str, str],
    form: Form,
) -> Chart:
    drawn = [Bar(label=name, value=value, said=written(value, form)) for name, value in values]
    summary = "; ".join(f"{bar.label}: {bar.said}" for bar in drawn if bar.value)
    label = columns[1].lower()
    return Chart(
        title=title,
        svg=bars(drawn, title=f"{title}. {in_words(scenario)}", description=summary, label=label),
        reads=reads,
        summary=summary,
        table=DataTable(caption=title, columns=columns, forms=("text", form), rows=values),
    )


def _replicated(record: Record) -> Iterator[Block]:
    result = record.results.risk.replicated
    if result is None:
        what = "Replicated uniques of whole records"
        yield absent(record, "replicated_uniques", what, _REPLICATED_OFF)
        return
    share = figure_of(result.figures, "replicated_uniques")
    yield Words(
        [
            f"Whole records: {result.uniques:,} of {result.n:,} original records are unique, all "
            f"variables taken together. A share of "
            f"{written(None if share is None else share.value, 'share')} of the synthetic records "
            "is unique and equal to a unique original record. Such a record may be chance, but a "
            "person who finds it cannot tell."
        ]
    )
    yield row_table(
        result.datasets,
        caption="Unique synthetic records, and those that the original has: as any record, and as "
        "a unique one",
        labels=("Dataset", [str(i) for i in range(1, len(result.datasets) + 1)]),
    )


# What public variables and the synthetic data tell of a sensitive variable.

_ASK = (
    "No sensitive variable was asked for. Name one, and what anybody can look up, under checks: "
    "{inference: {sensitive: VARIABLE, public: [VARIABLE, ...]}} (or --sensitive and --public)."
)
_ROC_READS = (
    "Everybody whose share of the level among the synthetic records with the same public values "
    "lies above some threshold is taken for it; the curve has a point for every threshold. On the "
    "diagonal the synthetic data tell nothing; the farther up and left, the more they tell. AUC is "
    "the area below: 0.5 is guessing, 1 is certainty. Published margins tell something too: "
    "compare the rates below."
)


def inference_section(record: Record) -> Section:
    """Return each question about a sensitive variable."""
    risk = record.results.risk
    blocks = [block for result in risk.inference for block in _question(result)]
    blocks += [
        Gap(f"Inference {name.removeprefix('inference ')}", f"It could not be computed: {why}")
        for name, why in risk.failed.items()
        if name.startswith("inference (")
    ]
    return Section(
        anchor="inference",
        title="Inference of a sensitive variable",
        lead="What anybody who knows public values learns of a value that should stay private.",
        blocks=blocks or [Words([_ASK])],
    )


def _question(result: InferenceResult) -> Iterator[Block]:
    question = f"{result.sensitive} from {', '.join(result.public)}"
    yield Markup("<h3>{}</h3>").format(f"Inferring {question}")
    yield Words(list(_inference_words(result)))
    curves = sorted(
        (curve for curve in result.roc if curve.curve), key=lambda curve: -curve.positives
    )
    if curves:
        yield _roc_chart(result, curves, f"ROC curve: {question}")
    else:
        yield Gap(
            "The ROC curve",
            "It needs persons with and without the level whose public values occur in the "
            "synthetic data.",
        )
    yield _rates(result)
    yield row_table(
        result.thresholds.rows,
        caption="Share of all persons whose true level has at least this probability; near 1 they "
        "come mostly from combinations with one or two synthetic records, where chance makes "
        "them too",
        names=[
            "threshold", "count", "share", "kept_chance_share", "chance_share", "baseline_share",
            "original_share",
        ],
    )  # fmt: skip
    yield from _cells(result.uniqueness)
    yield from _differences(result.differences)


def _inference_words(result: InferenceResult) -> Iterator[str]:
    guesses, revealed, sought = result.thresholds, result.classification, result.sensitive

    def share(value: float | None) -> str:
        return written(value, "share")

    yield (
        f"Of persons whose public values the synthetic data have, {sought} is guessed right at a "
        f"rate of {share(guesses.right_of_present)}; by chance it would be "
        f"{share(guesses.chance_right_of_present)}, from published margins "
        f"{share(guesses.baseline_right_of_present)}, from the original "
        f"{share(guesses.original_right_of_present)}. A share of {share(guesses.absent_share)} of "
        "the persons cannot be found at all."
    )
    yield (
        f"The revealed share is {share(revealed.revealed)}: so many synthetic records give away a "
        f"true {sought}. By chance it would be {share(revealed.chance)}, from published margins "
        f"{share(revealed.baseline)}, from the original {share(revealed.original)}."
    )
    margins = f"within {joined(result.baseline)}" if result.baseline else "of everybody"
    yield (
        f"Published margins: the distribution of {sought} {margins}. What they tell is no news: "
        "lower is safer, and near the margins is safe."
    )


def _roc_chart(result: InferenceResult, curves: Sequence[RocCurve], title: str) -> Chart:
    area = figure_of(result.figures, "auc")
    value, original = (None, None) if area is None else (area.value, area.original)
    summary = (
        f"AUC {written(value, 'share')} from the synthetic data, {written(original, 'share')} "
        "from the original on the same persons, 0.5 by guessing"
    )
    summary += (
        f"; means over {len(curves)} levels by number of persons." if len(curves) > 1 else "."
    )
    drawn = [
        (
            f"{result.sensitive} = {curve.level or 'empty'} (AUC {written(curve.auc, 'share')})",
            [(1 - negative, positive) for _, positive, negative in curve.curve],
        )
        for curve in curves
    ]
    more = f" The {MOST_CURVES} most frequent levels are drawn." * (len(curves) > MOST_CURVES)
    return Chart(
        title=title,
        svg=roc(drawn, title=title, description=summary),
        reads=_ROC_READS + more,
        summary=summary,
        table=row_table(
            curves,
            caption=f"Each level of {result.sensitive} against the others; best: the share with "
            "the largest sum of both rates",
        ),
    )


def _rates(result: InferenceResult) -> DataTable:
    revealed, right, unique = result.classification, result.thresholds, result.uniqueness
    rows: list[tuple[Cell, ...]] = [
        (
            "revealed share",
            revealed.revealed,
            revealed.chance,
            revealed.baseline,
            revealed.original,
        ),
        (
            "guessed right, of those found",
            right.right_of_present,
            right.chance_right_of_present,
            right.baseline_right_of_present,
            right.original_right_of_present,
        ),
        (
            "guessed right, of all persons",
            right.right,
            None,
            right.baseline_right,
            right.original_right,
        ),
        (
            "shown right, of persons with public values of their own",
            unique.right,
            unique.chance,
            None,
            None,
        ),
        ("margins guess right too, of those right", None, None, right.right_in_both, None),
        ("told less than margins tell", right.lower, None, None, None),
        ("told as much", right.equal, None, None, None),
        ("told more", right.higher, None, None, None),
    ]
    return DataTable(
        caption="Rates: from the synthetic data, by chance, from published margins, from the "
        "original",
        columns=("Rate", "Synthetic", "Chance", "Margins", "Original"),
        forms=("text", *NUMBERS[:4]),
        rows=rows,
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


def _cells(unique: CellUniqueness) -> Iterator[Block]:
    counts = [(what, getattr(unique, name), None) for name, what in _COUNTS.items()]
    shares = [(what, None, getattr(unique, name)) for name, what in _SHARES.items()]
    yield DataTable(
        caption="Combinations of public values, and what the synthetic data show of them",
        columns=("What", "Number", "Rate"),
        forms=("text", "count", "figure"),
        rows=[*counts, *shares],
    )
    title = "Combinations of public values by number of persons"
    drawn = [
        Bar(label=plural(size, "person"), value=cells, said=written(cells, "count"))
        for size, cells in unique.counts[:_SMALLEST]
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
            rows=unique.counts,
            sortable=True,
        ),
    )


def _differences(differences: Differences) -> Iterator[Block]:
    yield Words(
        [
            f"{differences.cells:,} combinations are in both; {differences.original_only:,} only "
            f"in the original and {differences.synthetic_only:,} only in the synthetic data are "
            "left out below. The more the sizes of combinations scatter, the less an intruder can "
            "tell which of them to believe."
        ]
    )
    for name, title in _DISTANCES.items():
        if bands := getattr(differences, name):
            yield _band_chart(bands, title)


def _band_chart(bands: Sequence[BandRow], title: str) -> Chart:
    summary = f"{len(bands)} classes of combinations by distance and number of persons."
    return Chart(
        title=title,
        svg=dots(
            [
                DotRow(
                    label=f"{_distance(band)}; {_persons(band)}",
                    value=band.relative.mean,
                    low=band.relative.quantiles[_LOWEST],
                    high=band.relative.quantiles[_HIGHEST],
                )
                for band in bands
            ],
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
        table=DataTable(
            caption=f"{title}: share of the synthetic records minus share of the original ones, "
            "and the same as a share of the latter",
            columns=(
                "Proportions",
                "Size",
                "Combinations",
                "Mean difference",
                "SD",
                "Mean relative difference",
                "SD (relative)",
            ),
            forms=("text", "text", "count", *NUMBERS[:4]),
            rows=[
                (
                    _distance(band),
                    _persons(band),
                    band.cells,
                    *(band.difference.mean, band.difference.sd),
                    *(band.relative.mean, band.relative.sd),
                )
                for band in bands
            ],
            sortable=True,
        ),
    )


def _distance(band: BandRow) -> str:
    return f"off by {written(band.band_low, 'text')} to {written(band.band_high, 'text')}"


def _persons(band: BandRow) -> str:
    return f"{band.size_low:,} to {band.size_high:,} persons"
