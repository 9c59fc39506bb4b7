"""Disclosure of persons: identity, attributes, uniques, and inference of a sensitive variable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from synthesizer.data.errors import plural
from synthesizer.measures.figure import columns, in_units
from synthesizer.measures.risk.attribute import AttributeResult, Dominance
from synthesizer.measures.risk.copied import CopiedUniques
from synthesizer.measures.risk.identity import IdentityResult
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.scenario import Level, Scenario
from synthesizer.report.blocks import (
    NUMBERS,
    Added,
    Block,
    Chart,
    DataTable,
    Gap,
    Heading,
    Note,
    Words,
    joined,
    row_table,
    section,
    value_table,
    written,
)
from synthesizer.report.charts import MOST_CURVES, log_points, roc
from synthesizer.report.figures import (
    bar_chart,
    dot_chart,
    dot_row,
    figure_blocks,
    figure_of,
    number_table,
    result_tables,
)
from synthesizer.report.record import Labels, Record
from synthesizer.report.risk import absent, by_scenario, in_words

if TYPE_CHECKING:
    from synthesizer.measures.risk.curves import RocCurve
    from synthesizer.measures.risk.public_inference import InferenceResult

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


@section(
    "identity",
    "Identity and attribute disclosure",
    "Do persons with a key of their own appear again, and does a key give a value away?",
)
def disclosure_section(record: Record) -> Iterator[Block]:
    """Yield identity and attribute disclosure by scenario."""
    yield from by_scenario(record, _disclosure)


def _disclosure(record: Record, risks: ScenarioRisk) -> Iterator[Block]:
    scenario = risks.scenario
    if risks.identity is None:
        yield absent(record, "identity", scenario)
    else:
        yield from _measures("Identity disclosure", risks.identity, record, scenario)
    if risks.attribute is not None:
        yield from _measures("Attribute disclosure", risks.attribute, record, scenario)
        yield Words([_excluded(risks.attribute, scenario)])
        yield from _dominance(risks.attribute.warnings, record.labels)
    elif scenario.tolerance is not None:
        words = (
            f"Attribute measures need groups of {scenario.target} in place of the tolerance, and "
            "are left out for this intruder."
        )
        yield Words([words])
    else:
        yield absent(record, "attribute", scenario)
    if risks.determined is not None:
        yield row_table(
            [*risks.determined.single, risks.determined.together],
            "What keys tell of the target in the original: of the records that share their key "
            "value with others, those whose key value goes with one target only",
        )


def _measures(
    title: str, result: IdentityResult | AttributeResult, record: Record, scenario: Scenario
) -> Iterator[Block]:
    originals = {figure.key: figure.original for figure in result.figures}
    yield dot_chart(
        title,
        [
            replace(
                dot_row(figure),
                others=[getattr(dataset, figure.key) for dataset in result.datasets],
            )
            for figure in result.figures
        ],
        reads=_READS,
        label="share",
        about=in_words(scenario),
        marks=_MARKS,
    )
    yield DataTable(
        caption=f"{title}: means over the datasets, and the lowest and the highest of them; shares "
        f"of the original {record.units} unless said otherwise",
        columns=("Measure", "In words", "Mean", "Original", "Lowest", "Highest"),
        forms=("text", "text", *NUMBERS[:4]),
        rows=[
            (
                column.heading,
                column.meaning,
                column.value(result.mean),
                originals.get(name),
                *_ends(name, result),
            )
            for name, column in columns(type(result.mean)).items()
        ],
    )


def _ends(
    name: str, result: IdentityResult | AttributeResult
) -> tuple[float, float] | tuple[None, None]:
    values = [value for dataset in result.datasets if (value := getattr(dataset, name)) is not None]
    return (min(values), max(values)) if values else (None, None)


def _excluded(result: AttributeResult, scenario: Scenario) -> str:
    if not scenario.exclude and not result.excluded:
        return "Nothing is excluded from the attribute measures."
    return (
        f"{len(scenario.exclude)} exclusion(s) of levels known to everybody (checks.exclude) leave "
        f"out {result.excluded:,} of the original records; DiSCO would count "
        f"{written(result.mean.left_out, 'text')} of them on average."
    )


def _dominance_columns(labels: Labels) -> Iterator[str | Added]:
    """Yield the columns of a table of levels that dominate, with what these mean."""

    def level(name: str | None, code: Level | None) -> Level | None:
        return code if name is None or not isinstance(code, str) else labels.level(name, code)

    yield from (
        "target",
        Added("Its level", "text", lambda row: level(row.target, row.target_level)),
    )
    yield from ("target_rank", "key")
    yield Added("Its level (key)", "text", lambda row: level(row.key, row.key_level))
    yield from ("key_rank", "records", "share", "prior", "line")


def _dominance(warnings: Sequence[Dominance], labels: Labels) -> Iterator[Block]:
    """Yield the levels behind many disclosures, each once, with the line that excludes them."""
    if not warnings:
        return
    yield Note(
        "Few levels stand behind many of the disclosures. Where what they tell is common "
        "knowledge, exclude them: the table holds the line to add under checks.exclude."
    )
    worst: dict[str, Dominance] = {}
    for warning in sorted(warnings, key=lambda dominance: -dominance.share):
        worst.setdefault(warning.line, warning)
    datasets = Counter(warning.line for warning in warnings)
    yield row_table(
        list(worst.values()),
        "Levels that dominate DiSCO, as in the dataset where they count most. Of all: share of "
        "what DiSCO counts; known anyway: share of the original records with the level of the key "
        "that have this target",
        names=[*_dominance_columns(labels)],
        more=[Added("Datasets", "count", lambda warning: datasets[warning.line])],
    )


@section(
    "uniques",
    "Special uniques",
    "Who stands out in the original by few variables, and which records come back whole.",
)
def uniques_section(record: Record) -> Iterator[Block]:
    """Yield special uniques by scenario and replicated uniques of whole records."""
    yield from by_scenario(record, _special)
    yield from _copied(record)
    yield from _replicated(record)


def _special(record: Record, risks: ScenarioRisk) -> Iterator[Block]:
    suda = risks.suda
    if suda is None:
        yield absent(record, "suda", risks.scenario)
        return
    yield Words([_SUDA])
    yield number_table(suda, "Uniques by all keys, and how probably a match with one is right")
    if any(band.records for band in suda.dis_scores):
        yield bar_chart(
            "Uniques by DIS-SUDA",
            [(f"{b.above:.1f} to {b.up_to:.1f}", b.records) for b in suda.dis_scores],
            reads="Probability that a unique match is the right person, counted over the uniques. "
            "Records far down the list deserve a look before release, whatever the synthesis does.",
            label="records",
            form="count",
            about=in_words(risks.scenario),
        )
    weights = [(key, value) for key, value in suda.contributions.items() if value is not None]
    if weights:
        yield bar_chart(
            "Which keys set records apart",
            sorted(weights, key=lambda item: -item[1]),
            reads="Share of all SUDA scores that comes from sets with the key; sets have several "
            "keys, so the shares add up to more than 1. Coarser values of the first keys help "
            "most.",
            label="share of the scores",
            form="share",
            about=in_words(risks.scenario),
        )
    yield value_table(
        "SUDA scores of the uniques: the higher, the fewer variables set them apart",
        list(suda.scores.items()),
    )
    yield row_table(
        suda.minimal_uniques,
        "Minimal uniques: smallest sets of keys that set a record apart",
    )


_SUDA = (
    "Uniques have values of all keys that nobody shares; special uniques are the tenth of them of "
    "the highest SUDA scores, persons whom few variables already set apart. DIS is the probability "
    "that a unique match with the data is the right person, if the data hold the sampling fraction "
    "of the population. All of it is about the original before anything is synthesised."
)


def _copied(record: Record) -> Iterator[Block]:
    risk = record.results.risk
    if risk.copied is None:
        yield absent(record, "copied_uniques")
    else:
        yield from _copied_blocks(risk.copied, "Whole records", record)
    for part in risk.scenarios:
        if part.copied is not None:
            yield from _copied_blocks(part.copied, in_words(part.scenario), record)


def _copied_blocks(result: CopiedUniques, about: str, record: Record) -> Iterator[Block]:
    if result.alarm is not None:
        yield Note(f"{in_units(result.alarm, record.units)}.", "alert")
    if result.gap is not None:
        yield Note(f"{in_units(result.gap, record.units)}.")
    words = [f"{about}, compared by {joined(result.names)}."]
    if result.kept:
        words.append(f"Left out, since they are kept on purpose: {joined(result.kept)}.")
    if result.worst.most >= result.uniques:
        words.append("A new sample could have all of them: nothing can be told.")
    yield Words(words)
    yield number_table(result, f"{about}: uniques of the original, and what the limit rests on")
    shown = [*result.rows, *([] if result.control is None else [result.control])]
    yield row_table(shown, f"{about}: unique records in the synthetic data and in a new sample")


def _replicated(record: Record) -> Iterator[Block]:
    result = record.results.risk.replicated
    if result is None:
        yield absent(record, "replicated_uniques")
        return
    yield Words(
        [
            "Whole records: a synthetic record that is unique and equals a unique original record "
            "may be chance, but a person who finds it cannot tell."
        ]
    )
    yield number_table(result, "Original records, and those that are unique")
    yield from result_tables(result, record.units)


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
_SIZES = (
    "The more the sizes of combinations scatter, the less an intruder can tell which of them to "
    "believe. If those whose proportions are shown rightly also had the right size, an intruder "
    "could pick them out."
)


@section(
    "inference",
    "Inference of a sensitive variable",
    "What anybody who knows public values learns of a value that should stay private.",
)
def inference_section(record: Record) -> Iterator[Block]:
    """Yield each question about a sensitive variable."""
    risk = record.results.risk
    failed = {name: why for name, why in risk.failed.items() if name.startswith("inference (")}
    for result in risk.inference:
        yield from _question(result, record)
    for name, why in failed.items():
        subject = f"Inference {name.removeprefix('inference ')}"
        yield Gap(subject, f"It could not be computed: {why}")
    if not risk.inference and not failed:
        yield Words([_ASK])


def _question(result: InferenceResult, record: Record) -> Iterator[Block]:
    of_periods = result.units == "periods"
    question = f"{result.sensitive} from {', '.join(result.public)}"
    if of_periods:
        question += " (person-periods)"
    margins = f"within {joined(result.baseline)}" if result.baseline else "of everybody"
    yield Heading(f"Inferring {question}")
    if of_periods:
        yield Note(
            "Each period of a person is a record of its own here: where it says persons, "
            "person-periods are meant. They are not independent of each other."
        )
    yield Words(
        [
            f"Published margins are the distribution of {result.sensitive} {margins}. What they "
            "tell is no news: lower is safer, and near the margins is safe.",
            _SIZES,
        ]
    )
    curves = sorted(
        (curve for curve in result.roc if curve.curve), key=lambda curve: -curve.positives
    )
    if curves:
        yield _roc_chart(result, curves, f"ROC curve: {question}", record.labels)
    else:
        yield Gap(
            "The ROC curve",
            "It needs persons with and without the level whose public values occur in the "
            "synthetic data.",
        )
    figures = [figure.counting(record.units) for figure in result.figures]
    yield row_table(result.rates)
    yield from figure_blocks(figures, "Rates", question)
    yield _sizes_chart(result, question)
    yield from result_tables(result, record.units)


def _sizes_chart(result: InferenceResult, question: str) -> Chart:
    title, counts = "Combinations of public values by number of persons", result.uniqueness.counts
    summary = (
        f"{plural(result.uniqueness.uniques, 'combination')} of one person; the largest of "
        f"{plural(max(size for size, _ in counts), 'person')}."
    )
    return Chart(
        title=title,
        svg=log_points(
            counts,
            title=f"{title}. {question}",
            description=summary,
            x_label="persons of the original with the same public values",
            y_label="combinations",
        ),
        reads="Who has public values that nobody shares can be looked up: the point farthest to "
        "the left counts them. Both axes are logarithmic.",
        summary=summary,
        table=DataTable(
            caption=title,
            columns=("Persons", "Combinations"),
            forms=("count", "count"),
            rows=counts,
        ),
    )


def _of_level(labels: Labels, result: InferenceResult, curve: RocCurve) -> str:
    level = labels.level(result.sensitive, curve.level) if curve.level else "empty"
    return f"{result.sensitive} = {level} (AUC {written(curve.auc, 'share')})"


def _roc_chart(
    result: InferenceResult, curves: Sequence[RocCurve], title: str, labels: Labels
) -> Chart:
    area = figure_of(result.figures, "auc")
    value, original = (None, None) if area is None else (area.value, area.original)
    means = f"; means over {len(curves)} levels by number of persons" if len(curves) > 1 else ""
    summary = (
        f"AUC {written(value, 'share')} from the synthetic data, {written(original, 'share')} "
        f"from the original on the same persons, 0.5 by guessing{means}."
    )
    drawn = [
        (
            _of_level(labels, result, curve),
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
    )
