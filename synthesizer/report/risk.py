"""The parts about risk: at a glance, CAP by number of datasets, nearest records, attacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from synthesizer.measures.figure import in_units
from synthesizer.measures.risk.attacks import Attack, AttackResult
from synthesizer.measures.risk.cap import CapRegression, CapResult, CapRow
from synthesizer.measures.risk.nearest import NearestResult
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.risk.tcap import TcapResult
from synthesizer.report.charts import DotRow, Panel, Series, dots, panels
from synthesizer.report.figures import (
    compared,
    legend_table,
    rate_chart,
    result_blocks,
    span,
)
from synthesizer.report.page import (
    Added,
    Block,
    Chart,
    DataTable,
    Form,
    Gap,
    Note,
    Section,
    Words,
    interval,
    joined,
    row_table,
    value_table,
    written,
)
from synthesizer.report.record import Record
from synthesizer.report.risk_disclosure import (
    disclosure_section,
    inference_section,
    uniques_section,
)
from synthesizer.report.risk_figures import absent, heading, in_words, unmeasured
from synthesizer.report.risk_halves import RULES, differential_section, verdict


def risk_sections(record: Record) -> tuple[Section, ...]:
    """Return the parts of a report about risk, from the overview to single measures.

    Returns
    -------
    tuple of Section
        ``risk``, ``cap``, ``differential``, ``identity``, ``uniques``, ``nearest``,
        ``inference``, ``attacks`` and ``further``; those without any subject are left out.
    """
    sections = (
        glance_section(record),
        cap_section(record),
        differential_section(record),
        disclosure_section(record),
        uniques_section(record),
        nearest_section(record),
        inference_section(record),
        attacks_section(record),
        further_section(record),
    )
    return tuple(section for section in sections if section is not None)


# Every rate between guessing and the original, and the verdict in words.

_CONFIGURED = ("", "as configured", "as asked for")
_NOTHING = (
    "No measure of risk was computed. Write checks: {} in the configuration, or leave the key "
    "out, and every measure but inference and attacks runs."
)


def glance_section(record: Record) -> Section:
    """Return what an intruder could learn, in one picture for each scenario."""
    risk = record.results.risk
    blocks: list[Block] = [*unmeasured(record)]
    for part in risk.scenarios:
        blocks += _scenario(part, record)
    if others := compared([figure for _, figure in risk.other_figures]):
        blocks += [
            Markup("<h3>Beyond keys and target</h3>"),
            rate_chart(others, "Whole records, sensitive variables and attacks"),
            legend_table(others),
        ]
    notes = [Note(note) for note in risk.notes]
    gaps = [Gap(name, f"It could not be computed: {why}") for name, why in risk.failed.items()]
    return Section(
        anchor="risk",
        title="Risk at a glance",
        lead="How much the synthetic data tell of persons, between guessing and the original.",
        blocks=[*(blocks or [Words([_NOTHING])]), *notes, *gaps],
    )


def _scenario(part: ScenarioRisk, record: Record) -> Iterator[Block]:
    yield heading(part.scenario)
    if part.scenario.reason not in _CONFIGURED:
        yield Words([f"Why these: {part.scenario.reason}"])
    yield from verdict(part)
    figures = [figure.counting(record.units) for figure in part.figures]
    if rates := compared(figures):
        about = in_words(part.scenario)
        yield rate_chart(rates, "Every rate, between guessing and the original", about)
        yield legend_table(rates)
    yield from (Note(in_units(warning, record.units)) for warning in part.warnings)


# CAP by number of datasets: what further datasets add to what an intruder reads off.

_SUBSETS = {
    "all": "all records",
    "uniques": "uniques on the keys",
    "special_uniques": "special uniques",
}
_CAP_READS = (
    "CAP is how often an intruder with the keys reads off the right target. Lower is safer. The "
    "solid line is the synthetic data as datasets are added, dashed below it what the same "
    "matches would give if their targets were anybody's (baseline), dotted above it the original "
    "released as it is. Where no match counts as 0 the line rises with the number of datasets "
    "because matches become likelier; where non-matches are left out it should be flat."
)
_SUBSET = Added("Records", "text", lambda row: _SUBSETS[row.subset])


def cap_section(record: Record) -> Section | None:
    """Return mean CAP for nested numbers of datasets, None without any scenario."""
    parts = record.results.risk.scenarios
    if not parts:
        return None
    return Section(
        anchor="cap",
        title="CAP by number of datasets",
        lead="What an intruder reads off with the keys, as more datasets are released together.",
        blocks=[block for part in parts for block in _cap_blocks(record, part)],
    )


def _cap_blocks(record: Record, part: ScenarioRisk) -> Iterator[Block]:
    yield heading(part.scenario)
    if part.cap is None:
        off = "CAP was not computed for this intruder; it is unless checks.cap is false."
        yield absent(record, "cap", "CAP by number of datasets", off, part.scenario)
    else:
        yield from _cap(part.cap, part)
    if part.tcap is not None:
        yield _tcap_table(part.tcap)
    elif part.scenario.tolerance is None:  # else a warning of the scenario says why
        off = "TCAP was not computed for this intruder; it comes with CAP."
        yield absent(record, "tcap", "TCAP", off, part.scenario)


def _cap(cap: CapResult, part: ScenarioRisk) -> Iterator[Block]:
    if cap.last > 1:
        yield _cap_chart(cap, part)
        yield from _regression(part.regression)
    else:
        yield Words([_one_dataset(row, cap) for row in cap.synthetic])
        yield _cap_table(cap)
    yield row_table(
        cap.singles,
        caption="Mean CAP of each dataset by itself",
        names=[
            _SUBSET,
            "dataset",
            "matched",
            "zero",
            "chance_zero",
            "undefined",
            "chance_undefined",
        ],
    )


def _one_dataset(row: CapRow, cap: CapResult) -> str:
    return (
        f"{_SUBSETS[row.subset].capitalize()}: with one dataset an intruder reads off the right "
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
        title=_SUBSETS[subset],
        subtitle=RULES[rule],
        series=[
            Series(label="synthetic", style="synthetic", points=points(rule)),
            Series(label="baseline", style="baseline", points=points(f"chance_{rule}")),
        ],
        level=cap.original[subset],
    )


def _first_and_last(cap: CapResult, subset: str) -> str:
    first, last = cap.row(1, subset), cap.row(cap.last, subset)
    return (
        f"{_SUBSETS[subset].capitalize()}: {written(first.zero, 'share')} with 1, "
        f"{written(last.zero, 'share')} with {last.m} datasets where no match counts as 0, "
        f"{written(last.undefined, 'share')} where it is left out; baseline "
        f"{written(last.chance_zero, 'share')}, original {written(cap.original[subset], 'share')}."
    )


def _cap_table(cap: CapResult) -> DataTable:
    return row_table(
        cap.synthetic,
        caption="Mean CAP by number of pooled datasets and subset; baseline: the same matches "
        "with targets guessed; paper's baseline: of all records, by the distribution of the target",
        names=[
            _SUBSET, "m", "size", "matched", "zero", "chance_zero", "undefined",
            "chance_undefined",
            Added("Paper's baseline", "share", lambda row: cap.baseline[row.subset]),
            Added("Original", "share", lambda row: cap.original[row.subset]),
        ],
    )  # fmt: skip


def _line(heading: str, name: str, form: Form = "figure") -> Added:
    return Added(heading, form, lambda row: getattr(row.line, name))


def _regression(regression: Sequence[CapRegression]) -> Iterator[Block]:
    lines = [row for row in regression if row.line is not None]
    if not lines:
        yield Words(["No straight line through the number of datasets: it needs three of them."])
    else:
        yield row_table(
            lines,
            caption="Straight line of mean CAP on the number of datasets; the datasets are nested, "
            "so the p-values describe the line and prove nothing",
            names=[
                _SUBSET,
                Added("Rule", "text", lambda row: RULES[row.rule]),
                _line("Start", "intercept"),
                _line("Its error", "intercept_error"),
                _line("Rise for each", "slope"),
                _line("Its error (rise)", "slope_error"),
                _line("p of the start", "intercept_p", "p"),
                _line("p of the rise", "slope_p", "p"),
                _line("R²", "r2"),
            ],
        )


def _tcap_table(result: TcapResult) -> DataTable:
    return row_table(
        [*result.synthetic, result.original],
        caption="TCAP: the intruder who only believes what the synthetic records of one key agree "
        f"on (share {written(result.tau, 'text')} or more); more datasets agree less often, and "
        "are then believed more",
        names=[
            "matched",
            "attributed",
            "correct",
            "guessed",
            Added("TCAP", "figure", lambda row: row.tcap),
            "chance",
            Added("Guessing", "figure", lambda row: row.guess),
            "baseline",
            Added("Of the matched", "figure", lambda row: row.of_matched),
            Added("Of all", "figure", lambda row: row.of_records),
        ],
        labels=("Datasets", [*(f"first {row.m}" for row in result.synthetic), "original"]),
    )


# Are synthetic records nearer to records that were fitted than to records that were not?

_NEAREST_READS = (
    "0.5 is a coin toss: synthetic records are as near to people the synthesis never saw as to "
    "people it was fitted on. The farther the interval lies above 0.5, the more the synthesis has "
    "copied. The diamond is where the fitted records themselves would stand."
)
_NEAREST = {
    "share": "share nearer to the fitted half (ties counted half)",
    "low": "lower end of its 95 % interval",
    "high": "upper end",
    "original": "the same of the fitted records themselves",
    "excess": "excess over 0.5, as a share of the fitted records' own",
    "excess_low": "lower end of its interval",
    "excess_high": "upper end of its interval",
    "fitted_distance": "median distance to the nearest fitted record (0 to 1)",
    "unseen_distance": "median distance to the nearest unseen record",
    "distance_ratio": "the first over the second; below 1 is nearer to the fitted",
    "fitted_kept": "share of the fitted half that was compared",
    "unseen_kept": "share of the unseen half that was compared",
}


def nearest_section(record: Record) -> Section:
    """Return the share of records nearer to the fitted half."""
    nearest = record.results.risk.nearest
    off = "Nearest records were not compared; they are unless checks.nearest is false."
    return Section(
        anchor="nearest",
        title="Nearest records",
        lead="Whole records: are synthetic ones nearer to people who were in the fit?",
        blocks=[absent(record, "nearest", "Nearest records", off)]
        if nearest is None
        else list(_nearest_blocks(nearest)),
    )


def _nearest_blocks(nearest: NearestResult) -> Iterator[Block]:
    yield _nearest_verdict(nearest.low, nearest.high)
    title = "Share nearer to the fitted half"
    summary = (
        f"A share of {written(nearest.share, 'share')} of the synthetic records is nearer to the "
        f"fitted half, 95 % interval {span(nearest.low, nearest.high)}; the fitted records "
        f"themselves would have {written(nearest.original, 'share')}."
    )
    row = DotRow(
        label="nearer to a fitted record",
        value=nearest.share,
        low=nearest.low,
        high=nearest.high,
        baseline=0.5,
        original=nearest.original,
    )
    marks = {
        "value": "synthetic records",
        "baseline": "coin toss (0.5)",
        "original": "fitted records themselves",
    }
    values = [(meaning, getattr(nearest, name)) for name, meaning in _NEAREST.items()]
    yield Chart(
        title=title,
        svg=dots([row], title=title, description=summary, label="share", whole=True, marks=marks),
        reads=_NEAREST_READS,
        summary=summary,
        table=value_table("Nearest records by Gower's distance", values),
    )
    yield Words(list(_nearest_words(nearest)))
    yield DataTable(
        caption=f"Exact copies among all {nearest.all_synthetic:,} synthetic records: equal in "
        "every variable compared. Copies of unseen records show how many chance makes",
        columns=("Equal to", "Copies", "Out of so many records"),
        forms=("text", "count", "count"),
        rows=[
            ("a fitted record", nearest.fitted_copies, nearest.all_fitted),
            ("an unseen record", nearest.unseen_copies, nearest.all_unseen),
        ],
    )


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
_ATTACKS = {
    "singling out by rare values": "Conditions on single rare values that fit one synthetic "
    "record: do they fit exactly one person?",
    "singling out by combinations": "Conditions on combinations of values that fit one synthetic "
    "record: do they fit exactly one person?",
    "linkability": "Two sources with different variables: does the synthetic data set help to "
    "join the records of one person?",
    "inference": "The target is taken from the nearest synthetic record: is it right?",
}
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


def attacks_section(record: Record) -> Section:
    """Return risk and success of the attacks."""
    attacks = record.results.risk.attacks
    return Section(
        anchor="attacks",
        title="Attacks",
        lead="Attacks on the synthetic data, held against attacks on persons it never saw.",
        blocks=[absent(record, "attacks", "Attacks", _ATTACKS_OFF)]
        if attacks is None
        else list(_attack_blocks(attacks)),
    )


def _attack_blocks(result: AttackResult) -> Iterator[Block]:
    yield Words(list(_attack_words(result)))
    yield _risk_chart(result.attacks)
    yield _success_chart(result.attacks)
    for attack in result.attacks:
        yield from _attack_notes(attack)
    yield DataTable(
        caption="What was tried",
        columns=("Attack", "In words"),
        forms=("text", "text"),
        rows=[(attack.name, _ATTACKS.get(attack.name)) for attack in result.attacks],
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


def _risk_chart(attacks: Sequence[Attack]) -> Chart:
    title = "Risk of each attack"
    rows = [DotRow(label=a.name, value=a.risk, low=a.low, high=a.high) for a in attacks]
    summary = "; ".join(
        f"{row.label}: {written(row.value, 'share')} (interval {span(row.low, row.high)})"
        for row in rows
    )
    return Chart(
        title=title,
        svg=dots(
            rows,
            title=title,
            description=summary,
            label="risk",
            marks={"value": "risk"},
            whole=True,
            zero=True,
        ),
        reads=_RISK_READS,
        summary=summary,
        table=row_table(
            attacks,
            caption="Attacks made on each half, successes, rates, and the risk with its interval",
        ),
    )


def _success_chart(attacks: Sequence[Attack]) -> Chart:
    title = "How often each attack succeeds"
    rows = [
        DotRow(
            label=attack.name,
            value=attack.rate,
            low=attack.rate_low,
            high=attack.rate_high,
            baseline=attack.baseline,
            original=attack.control_rate,
        )
        for attack in attacks
    ]
    summary = "; ".join(
        f"{row.label}: {written(row.value, 'share')} on fitted records, "
        f"{written(row.original, 'share')} on unseen ones, {written(row.baseline, 'share')} by "
        "guessing"
        for row in rows
    )
    marks = {
        "value": "fitted records",
        "original": "unseen records",
        "baseline": "an attacker who guesses",
    }
    return Chart(
        title=title,
        svg=dots(rows, title=title, description=summary, label="success", whole=True, marks=marks),
        reads=_SUCCESS_READS,
        summary=summary,
    )


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


# Measures without a section of their own.


def further_section(record: Record) -> Section | None:
    """Return results that no other section shows, as they say themselves; None without any."""
    risk = record.results.risk
    blocks = [
        block
        for key, result in risk.further.items()
        for block in result_blocks(result, key.replace("_", " "), record.units)
    ]
    for part in risk.scenarios:
        for key, result in part.further.items():
            title = f"{key.replace('_', ' ')}: {in_words(part.scenario)}"
            blocks += result_blocks(result, title, record.units)
    if not blocks:
        return None
    return Section(
        anchor="further",
        title="Further measures of risk",
        lead="Measures without a part of their own.",
        blocks=blocks,
    )
