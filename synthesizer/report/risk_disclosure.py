"""Disclosure about persons: identity, attributes, uniques, inference of a sensitive variable."""

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
    "Dot: mean over the datasets. Small dots: single datasets. Diamond: releasing the original. "
    "Lower is safer. Another sample of the population has values as high as those of a good "
    "synthesis, so read the train-holdout test first."
)
_MARKS = {
    "value": "mean over the datasets",
    "others": "each dataset",
    "original": "the original released",
}


@section(
    "identity",
    "Identity and attribute disclosure",
    "Do unique keys of the original occur in the synthetic data, and do keys reveal the target?",
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
            f"Attribute disclosure needs groups of {scenario.target} in place of the tolerance, so "
            "it is left out for these keys."
        )
        yield Words([words])
    else:
        yield absent(record, "attribute", scenario)
    if risks.determined is not None:
        yield row_table(
            [*risks.determined.single, risks.determined.together],
            "Keys that determine the target in the original: of the records that share their keys "
            "with others, those whose keys have one target only",
        )


def _measures(
    title: str, result: IdentityResult | AttributeResult, record: Record, scenario: Scenario
) -> Iterator[Block]:
    originals = {figure.key: figure.original for figure in result.figures}
    yield dot_chart(
        title,
        [
            replace(dot_row(figure), others=[getattr(d, figure.key) for d in result.datasets])
            for figure in result.figures
        ],
        reads=_READS,
        label="share",
        about=in_words(scenario),
        marks=_MARKS,
    )
    yield DataTable(
        caption=f"{title}: mean, lowest and highest value over the datasets; shares of the "
        f"original {record.units} unless noted otherwise",
        columns=("Measure", "Meaning", "Mean", "Original", "Lowest", "Highest"),
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
        f"checks.exclude leaves out {plural(len(scenario.exclude), 'combination')} of common "
        f"knowledge, which {result.excluded:,} original records have. DiSCO would count "
        f"{written(result.mean.left_out, 'text')} of them on average."
    )


def _dominance_columns(labels: Labels) -> Iterator[str | Added]:
    """Yield the columns of the table of dominant levels, with their labels."""

    def level(name: str | None, code: Level | None) -> Level | None:
        return code if name is None or not isinstance(code, str) else labels.level(name, code)

    yield from ("target", Added("Its level", "text", lambda r: level(r.target, r.target_level)))
    yield from ("target_rank", "key")
    yield Added("Its level (key)", "text", lambda row: level(row.key, row.key_level))
    yield from ("key_rank", "records", "share", "prior", "line")


def _dominance(warnings: Sequence[Dominance], labels: Labels) -> Iterator[Block]:
    """Yield the levels that cause many disclosures, with the lines that exclude them."""
    if not warnings:
        return
    yield Note(
        "A few levels cause many of the disclosures. If the disclosed fact is common knowledge, "
        "exclude it: the table has the line for checks.exclude."
    )
    worst: dict[str, Dominance] = {}
    for warning in sorted(warnings, key=lambda dominance: -dominance.share):
        worst.setdefault(warning.line, warning)
    datasets = Counter(warning.line for warning in warnings)
    yield row_table(
        list(worst.values()),
        "Levels that dominate DiSCO, from the dataset in which they count most. Of all: share of "
        "the records that DiSCO counts. Known anyway: share of the original records with this key "
        "level that have this target",
        names=[*_dominance_columns(labels)],
        more=[Added("Datasets", "count", lambda warning: datasets[warning.line])],
    )


@section(
    "uniques",
    "Special uniques",
    "Persons who are unique by few variables, and unique records that occur in synthetic data.",
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
    yield number_table(suda, "Uniques by all keys, and the probability that a match is right")
    if any(band.records for band in suda.dis_scores):
        yield bar_chart(
            "Uniques by DIS-SUDA",
            [(f"{b.above:.1f} to {b.up_to:.1f}", b.records) for b in suda.dis_scores],
            reads="Number of uniques by the probability that a unique match is the right person. "
            "Look at the records with high probabilities before a release.",
            label="records",
            form="count",
            about=in_words(risks.scenario),
        )
    weights = [(key, value) for key, value in suda.contributions.items() if value is not None]
    if weights:
        yield bar_chart(
            "Keys that make records unique",
            sorted(weights, key=lambda item: -item[1]),
            reads="Share of the SUDA scores from sets of keys that contain the key; sets have "
            "several keys, so the shares add up to more than 1. Coarser levels of the first keys "
            "reduce the risk most.",
            label="share of the scores",
            form="share",
            about=in_words(risks.scenario),
        )
    yield value_table(
        "SUDA scores of the uniques: higher for records that are unique by fewer variables",
        list(suda.scores.items()),
    )
    yield row_table(
        suda.minimal_uniques, "Minimal uniques: smallest sets of keys that make a record unique"
    )


_SUDA = (
    "A unique is a record with a combination of keys that no other record has. The special unique "
    "detection algorithm (SUDA) gives high scores to records that few variables make unique; "
    "special uniques are the tenth with the highest scores. DIS is the probability that a unique "
    "match is the right person (sampling_fraction: 0.01 if not set). All is about the original."
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
        words.append(f"Left out, since they are copied on purpose: {joined(result.kept)}.")
    if result.worst.most >= result.uniques:
        words.append("A new sample could have all of them by chance: not informative.")
    yield Words(words)
    yield number_table(result, f"{about}: uniques of the original, and basis of the limit")
    shown = [*result.rows, *([] if result.control is None else [result.control])]
    yield row_table(shown, f"{about}: unique records in the synthetic data and in a new sample")


def _replicated(record: Record) -> Iterator[Block]:
    result = record.results.risk.replicated
    if result is None:
        yield absent(record, "replicated_uniques")
        return
    yield Words(
        [
            "Whole records: a unique synthetic record that equals a unique original record may be "
            "chance. The person concerned cannot know that."
        ]
    )
    yield number_table(result, "Original records, and those that are unique")
    yield from result_tables(result, record.units)


_ASK = (
    "No sensitive variable was named. Name one, and the public variables, under checks: "
    "{inference: {sensitive: VARIABLE, public: [VARIABLE, ...]}} (or --sensitive and --public)."
)
_ROC_READS = (
    "The score of a person is the share of the level among the synthetic records with the same "
    "public values. Persons with a score above a threshold are predicted to have the level; each "
    "threshold is a point of the curve. The diagonal is guessing; up and left is more disclosure. "
    "AUC is the area under the curve: 0.5 is guessing, 1 is certainty. Published margins disclose "
    "something too: compare the rates below."
)
_SIZES = (
    "An intruder who knows which combinations have right proportions can choose them. Their sizes "
    "do not reveal it if these scatter as much as those of other combinations."
)


@section(
    "inference",
    "Inference of a sensitive variable",
    "What someone who knows the public values of a person learns about a sensitive value.",
)
def inference_section(record: Record) -> Iterator[Block]:
    """Yield the results for each sensitive variable."""
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
    margins = f"within {joined(result.baseline)}" if result.baseline else "over all persons"
    yield Heading(f"Inferring {question}")
    if of_periods:
        yield Note(
            'Each period of a person is a separate record here: "persons" are person-periods. They '
            "are not independent of each other."
        )
    yield Words(
        [
            f"Published margins are the distribution of {result.sensitive} {margins}. They are "
            "public, so rates near them are safe. Lower is safer.",
            _SIZES,
        ]
    )
    curves = sorted((c for c in result.roc if c.curve), key=lambda c: -c.positives)
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
        reads="The point at the left counts persons with unique public values, who can be found in "
        "public sources. Both axes are logarithmic.",
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
    means = f"; means over {len(curves)} levels, weighted by persons" if len(curves) > 1 else ""
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
