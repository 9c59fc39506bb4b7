"""The parts about risk: at a glance, CAP by number of datasets, nearest records, attacks."""

from __future__ import annotations

from collections.abc import Iterator

from synthesizer.measures.figure import in_units
from synthesizer.measures.risk.attacks import Attack, AttackResult
from synthesizer.measures.risk.cap import RULES, SUBSETS, CapResult, CapRow
from synthesizer.measures.risk.nearest import NearestResult
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.report.charts import DotRow, Panel, Series, panels
from synthesizer.report.figures import compared, dot_chart, figure_blocks, result_tables
from synthesizer.report.page import (
    Added,
    Block,
    Chart,
    DataTable,
    Gap,
    Note,
    Section,
    Words,
    heading,
    interval,
    joined,
    row_table,
    written,
)
from synthesizer.report.record import Record
from synthesizer.report.risk_figures import absent, by_scenario, in_words, unmeasured
from synthesizer.report.risk_halves import verdict

# Every rate between guessing and the original, and the verdict in words.

_CONFIGURED = ("", "as configured", "as asked for")
_NOTHING = (
    "No measure of risk was computed. Write checks: {} in the configuration, or leave the key "
    "out, and every measure but inference and attacks runs."
)


def glance_section(record: Record) -> Section:
    """Return what an intruder could learn, in one picture for each scenario."""
    risk = record.results.risk
    blocks: list[Block] = [*unmeasured(record), *by_scenario(record, _scenario)]
    if others := compared([figure for _, figure in risk.other_figures]):
        blocks.append(heading("Beyond keys and target"))
        blocks += figure_blocks(others, "Whole records, sensitive variables and attacks")
    blocks = blocks or [Words([_NOTHING])]
    blocks += [Note(note) for note in risk.notes]
    blocks += [Gap(name, f"It could not be computed: {why}") for name, why in risk.failed.items()]
    return Section(
        anchor="risk",
        title="Risk at a glance",
        lead="How much the synthetic data tell of persons, between guessing and the original.",
        blocks=blocks,
    )


def _scenario(record: Record, part: ScenarioRisk) -> Iterator[Block]:
    if part.scenario.reason not in _CONFIGURED:
        yield Words([f"Why these: {part.scenario.reason}"])
    yield from verdict(part)
    rates = compared([figure.counting(record.units) for figure in part.figures])
    title = "Every rate, between guessing and the original"
    yield from figure_blocks(rates, title, in_words(part.scenario))
    yield from (Note(in_units(warning, record.units)) for warning in part.warnings)


# CAP by number of datasets: what further datasets add to what an intruder reads off.

_CAP_READS = (
    "CAP is how often an intruder with the keys reads off the right target. Lower is safer. The "
    "solid line is the synthetic data as datasets are added, dashed below it what the same "
    "matches would give if their targets were anybody's (baseline), dotted above it the original "
    "released as it is. Where no match counts as 0 the line rises with the number of datasets "
    "because matches become likelier; where non-matches are left out it should be flat."
)


def cap_section(record: Record) -> Section | None:
    """Return mean CAP for nested numbers of datasets, None without any scenario."""
    if not record.results.risk.scenarios:
        return None
    return Section(
        anchor="cap",
        title="CAP by number of datasets",
        lead="What an intruder reads off with the keys, as more datasets are released together.",
        blocks=list(by_scenario(record, _cap_blocks)),
    )


def _cap_blocks(record: Record, part: ScenarioRisk) -> Iterator[Block]:
    if part.cap is None:
        yield absent(record, "cap", part.scenario)
    else:
        yield from _cap(part.cap, part)
    if part.tcap is not None:
        rows = part.tcap.synthetic
        yield row_table(
            [*rows, part.tcap.original],
            "TCAP: the intruder who only believes what the synthetic records of one key agree on "
            f"(share {written(part.tcap.tau, 'text')} or more); more datasets agree less often, "
            "and are then believed more",
            labels=("Datasets", [*(f"first {row.m}" for row in rows), "original"]),
        )
    elif part.cap is not None and part.scenario.tolerance is None:  # else a warning says why
        yield absent(record, "tcap", part.scenario)


def _cap(cap: CapResult, part: ScenarioRisk) -> Iterator[Block]:
    if cap.last == 1:
        yield Words([_one_dataset(row, cap) for row in cap.synthetic])
        yield _cap_table(cap)
    else:
        yield _cap_chart(cap, part)
        if lines := [row for row in part.regression if row.line is not None]:
            yield row_table(
                lines,
                "Straight line of mean CAP on the number of datasets; the datasets are nested, so "
                "the p-values describe the line and prove nothing",
            )
        else:
            words = "No straight line through the number of datasets: it needs three of them."
            yield Words([words])
    yield row_table(cap.singles, "Mean CAP of each dataset by itself")


def _one_dataset(row: CapRow, cap: CapResult) -> str:
    return (
        f"{SUBSETS[row.subset].capitalize()}: with one dataset an intruder reads off the right "
        f"target at a rate of {written(row.zero, 'share')}, where guessing those that match "
        f"achieves {written(row.chance_zero, 'share')} and the original "
        f"{written(cap.original[row.subset], 'share')}."
    )


def _cap_chart(cap: CapResult, part: ScenarioRisk) -> Chart:
    title = "Mean CAP by number of datasets"
    summary = " ".join(_first_and_last(cap, subset) for subset in cap.sizes)
    return Chart(
        title=title,
        svg=panels(
            [_panel(cap, subset, rule) for subset in cap.sizes for rule in RULES],
            title=f"{title}. {in_words(part.scenario)}",
            description=summary,
            x_label="datasets",
        ),
        reads=_CAP_READS,
        summary=summary,
        table=_cap_table(cap),
    )


def _panel(cap: CapResult, subset: str, rule: str) -> Panel:
    def points(name: str) -> list[tuple[float, float]]:
        rows = ((row.m, getattr(row, name)) for row in cap.synthetic if row.subset == subset)
        return [(m, value) for m, value in rows if value is not None]

    return Panel(
        title=SUBSETS[subset],
        subtitle=RULES[rule],
        series=[
            Series(look="synthetic", points=points(rule)),
            Series(look="baseline dashed", points=points(f"chance_{rule}")),
        ],
        levels=[
            (level, "line-original dotted") for level in [cap.original[subset]] if level is not None
        ],
    )


def _first_and_last(cap: CapResult, subset: str) -> str:
    first, last = cap.row(1, subset), cap.row(cap.last, subset)
    return (
        f"{SUBSETS[subset].capitalize()}: {written(first.zero, 'share')} with 1, "
        f"{written(last.zero, 'share')} with {last.m} datasets where no match counts as 0, "
        f"{written(last.undefined, 'share')} where it is left out; baseline "
        f"{written(last.chance_zero, 'share')}, original {written(cap.original[subset], 'share')}."
    )


def _cap_table(cap: CapResult) -> DataTable:
    return row_table(
        cap.synthetic,
        "Mean CAP by number of pooled datasets and subset; baseline: the same matches with targets "
        "guessed; paper's baseline: of all records, by the distribution of the target",
        more=[
            Added("Paper's baseline", "figure", lambda row: cap.baseline[row.subset]),
            Added("Original", "figure", lambda row: cap.original[row.subset]),
        ],
    )


# Are synthetic records nearer to records that were fitted than to records that were not?


def nearest_section(record: Record) -> Section:
    """Return the share of records nearer to the fitted half."""
    nearest = record.results.risk.nearest
    return Section(
        anchor="nearest",
        title="Nearest records",
        lead="Whole records: are synthetic ones nearer to people who were in the fit?",
        blocks=[absent(record, "nearest")]
        if nearest is None
        else list(_nearest_blocks(nearest, record)),
    )


def _nearest_blocks(nearest: NearestResult, record: Record) -> Iterator[Block]:
    yield _nearest_verdict(nearest.low, nearest.high)
    figures = [figure.counting(record.units) for figure in nearest.figures]
    yield from figure_blocks(figures, "Share nearer to the fitted half, and exact copies")
    yield Words(list(_nearest_words(nearest)))
    yield from result_tables(nearest, record.units)


def _nearest_verdict(low: float, high: float) -> Note:
    ends = interval(low, high, "share")
    if low > 0.5:
        return Note(
            f"The interval {ends} lies above 0.5: synthetic records keep something of the records "
            "they were fitted on.",
            "alert",
        )
    if high < 0.5:
        return Note(
            f"The interval {ends} lies below 0.5: synthetic records are nearer to unseen records. "
            "That discloses nothing, but look whether both are alike."
        )
    return Note(
        f"The interval {ends} covers 0.5: no sign that synthetic records keep the records they "
        "were fitted on.",
        "good",
    )


def _nearest_words(nearest: NearestResult) -> Iterator[str]:
    yield (
        f"Of {nearest.synthetic:,} synthetic records that were compared, {nearest.nearer:,} are "
        f"nearer to a fitted record, {nearest.unseen_nearer:,} to an unseen one and "
        f"{nearest.ties:,} as near to both; the interval counts as if they were "
        f"{written(nearest.effective, 'count')} independent ones."
    )
    yield f"Compared on {len(nearest.names)} variables: {joined(nearest.names)}."
    if nearest.fitted_kept < 1:
        yield (
            f"Only a share of {written(nearest.fitted_kept, 'share')} of the fitted records was "
            "compared, since there are no more unseen ones; copies of the others lose their "
            "source, and the share cannot reach 1. The excess in the table allows for that."
        )


# Attacks that were carried out: singling out, linkability and inference.

_ATTACKS_OFF = (
    "No attack was carried out. Switch them on with checks: {attacks: true}. Worth it "
    "where exact numbers could be recognised, such as an income to the cent: default CART repeats "
    "numbers that occur."
)
_ATTACKS = (
    "Singling out takes a rare value, or a combination of values, that fits one synthetic record: "
    "does it fit exactly one person? Linkability has two sources with different variables: does "
    "the synthetic data set help to join the records of one person? Inference takes the target "
    "from the nearest synthetic record: is it right?"
)
_RISK_READS = (
    "Risk is what an attack gains on persons who were in the fit beyond persons who were not, as "
    "a share of what could be gained: 0 is none, 1 is always. An interval that covers 0 shows no "
    "risk; one above 0 does."
)
_SUCCESS_READS = (
    "The dot is the success on records that were fitted, the diamond that on records that "
    "were not, the bar that of somebody who guesses. Only the way from diamond to dot is "
    "due to the release; what reaches the diamond is knowledge of the population."
)
_SUCCESS_MARKS = {
    "value": "fitted records",
    "original": "unseen records",
    "baseline": "an attacker who guesses",
}


def attacks_section(record: Record) -> Section:
    """Return risk and success of the attacks."""
    attacks = record.results.risk.attacks
    return Section(
        anchor="attacks",
        title="Attacks",
        lead="Attacks on the synthetic data, held against attacks on persons it never saw.",
        blocks=[absent(record, "attacks", off=_ATTACKS_OFF)]
        if attacks is None
        else list(_attack_blocks(attacks)),
    )


def _attack_blocks(result: AttackResult) -> Iterator[Block]:
    yield Words([_ATTACKS, *_attack_words(result)])
    attacks = result.attacks
    yield dot_chart(
        "Risk of each attack",
        [DotRow(label=a.name, value=a.risk, low=a.low, high=a.high) for a in attacks],
        reads=_RISK_READS,
        label="risk",
        marks={"value": "risk"},
        zero=True,
        table=row_table(
            attacks, "Attacks made on each half, successes, rates, and the risk with its interval"
        ),
    )
    yield dot_chart(
        "How often each attack succeeds",
        [_success(attack) for attack in attacks],
        reads=_SUCCESS_READS,
        label="success",
        marks=_SUCCESS_MARKS,
    )
    for attack in attacks:
        yield from _attack_notes(attack)


def _success(attack: Attack) -> DotRow:
    return DotRow(
        label=attack.name,
        value=attack.rate,
        low=attack.rate_low,
        high=attack.rate_high,
        baseline=attack.baseline,
        original=attack.control_rate,
    )


def _attack_words(result: AttackResult) -> Iterator[str]:
    yield (
        f"The inference attack knows {joined(result.keys)} and seeks {result.target}. All attacks "
        f"use {result.synthetic:,} synthetic records; the halves have {result.all_fitted:,} fitted "
        f"and {result.all_unseen:,} unseen records, of which {result.records:,} of each took part "
        f"in singling out. Intervals have a confidence of {written(result.confidence, 'share')}."
    )
    if result.linked is not None:
        first, second = map(joined, result.linked)
        yield f"Linkability joins a source with {first} to one with {second}."


def _attack_notes(attack: Attack) -> Iterator[Note]:
    name = attack.name
    if attack.is_weak:
        yield Note(
            f"{name}: guessing does better, so the attack proves nothing, not even safety.", "alert"
        )
    elif attack.low is not None and attack.low > 0:
        yield Note(
            f"{name}: the interval {interval(attack.low, attack.high, 'share')} lies above 0; "
            "persons who were in the fit are at more risk than others.",
            "alert",
        )
    if attack.n == 0:
        yield Note(f"{name}: no attack could be made; nothing can be concluded.")
    if attack.fitted_kept < 1:
        yield Note(
            f"{name}: only a share of {written(attack.fitted_kept, 'share')} of the fitted records "
            "could be attacked, so rate and risk are too low by about that share."
        )
