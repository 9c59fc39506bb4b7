"""Sections on risk: at a glance, nearest records, attacks, and measures that are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from synthesizer.measures.catalogue import CHECKS, MEASURES
from synthesizer.measures.evidence import Word
from synthesizer.measures.figure import in_units
from synthesizer.measures.measure import is_on
from synthesizer.measures.risk.attacks import Attack
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.scenario import Scenario
from synthesizer.measures.settings import CheckSettings
from synthesizer.report.blocks import (
    Block,
    Gap,
    Heading,
    Note,
    Words,
    interval,
    joined,
    row_table,
    section,
    with_minus,
)
from synthesizer.report.charts import DotRow
from synthesizer.report.expected import lone_variable
from synthesizer.report.figures import (
    READS,
    compared,
    dot_chart,
    figure_blocks,
    number_table,
    result_tables,
)
from synthesizer.report.record import Record

_FAILED_HALVES = "train-holdout test"
"""Name of the failed check if no half could be synthesised."""


def by_scenario(
    record: Record, show: Callable[[Record, ScenarioRisk], Iterable[Block]]
) -> Iterator[Block]:
    """Yield the blocks of each scenario under a heading with its keys and target."""
    for risks in record.results.risk.scenarios:
        yield Heading(in_words(risks.scenario))
        named = {name: record.labels.variable(name) for name in risks.scenario.names}
        if labelled := [label for name, label in named.items() if label != name]:
            yield Words([f"Labels: {'; '.join(labelled)}."])
        yield from show(record, risks)


def of_verdict(record: Record, *keys: str) -> Iterator[Note]:
    """Yield the sentences of tests of the verdict, in the colours of their outcomes."""
    for line in record.verdict.lines:
        for e in line.evidence:
            if e.measured and e.key in keys:
                yield Note(with_minus(e.sentence), TONES[e.word])


TONES: Mapping[Word, Literal["good", "look", "alert"]] = {
    "pass": "good", "unclear": "look", "fail": "alert",
}  # fmt: skip
"""Colours of the outcomes."""


def in_words(scenario: Scenario) -> str:
    """Return keys and target in words."""
    how = [
        f"{name} in {cuts if isinstance(cuts, int) else len(cuts) + 1} groups"
        for name, cuts in scenario.groups.items()
    ]
    if tolerance := scenario.tolerance:
        shown = [f"{tolerance.absolute:g}"] if tolerance.absolute else []
        share = tolerance.relative
        shown += [f"a share of {share:.3g} of the true value"] if share else []
        how.append(f"{scenario.target} within {' or '.join(shown) or '0'} counts as right")
    words = f"Keys: {joined(scenario.keys)}; target: {scenario.target}"
    return f"{words} ({'; '.join(how)})" if how else words


def absent(
    record: Record, key: str, scenario: Scenario | None = None, *, off: str = ""
) -> Words | Gap:
    """Return the reason why a measure is missing: it failed, or is turned off.

    ``off`` replaces the sentence for a measure that is turned off.
    """
    measure, failed = MEASURES[key], record.results.risk.failed
    names = [key if scenario is None else f"{key} ({scenario.label})", key]
    names += [_FAILED_HALVES] * ("halves" in measure.needs)
    words = measure.words or key.upper()
    if why := next((failed[name] for name in names if name in failed), None):
        return Gap(words, f"It could not be computed: {why}")
    if record.of_files and "halves" in measure.needs:
        return Gap(words, "It needs holdout records: name a file of them as control.")
    return Words([off or f"Not computed: {words}. Set checks.{measure.check} to true."])


_NAMED = {
    "keys": "checks.keys (variables that an intruder knows)",
    "target": "checks.target (the variable that an intruder wants to learn; a number needs "
    "checks.groups or checks.tolerance)",
}


def unmeasured(record: Record) -> Iterator[Gap]:
    """Yield a gap for measures that need keys, and one for measures that are turned off."""
    settings = CheckSettings.model_validate(record.manifest.config.get("checks", {}))
    usual = {
        check: measure
        for check, measure in CHECKS.items()
        if measure.axis == "risk" and not measure.several
        if "panel" not in measure.needs or record.manifest.panel is not None
        if "weight" not in measure.needs or record.manifest.design is not None
    }
    off = {check for check in usual if not is_on(settings, check)}
    lacking = [
        measure.words
        for check, measure in usual.items()
        if check not in off and "scenario" in measure.needs
    ]
    if lacking and not record.results.risk.scenarios:
        yield Gap(
            "; ".join(lacking),
            f"{keys_advice(record)} Until then, the risk from someone who knows some variables is "
            "unknown.",
            alert=True,
        )
    if off:
        switches = joined([f"checks.{check}" for check in usual if check in off])
        them = "it" if len(off) == 1 else "them"
        yield Gap(
            "; ".join(measure.words for check, measure in usual.items() if check in off),
            f"The configuration turns {them} off: set {switches} to true and run again.",
            alert=True,
        )


def keys_advice(record: Record) -> str:
    """Return why there are no keys, and the settings to add; empty if there are keys."""
    if record.results.risk.scenarios:
        return ""
    if lone := lone_variable(record):
        return f"These measures need two variables, a key and a target; {lone} is the only one."
    checks = record.manifest.config.get("checks")  # it may be true or false
    named = checks if isinstance(checks, Mapping) else {}
    missing = [name for key, name in _NAMED.items() if not named.get(key)]
    if not missing:
        return "The keys and the target that the configuration names were not used. Run again."
    return (
        "These measures need keys and a target. The configuration does not name both, and the "
        f"data suggest none. Set {joined(missing)} and run again."
    )


_CONFIGURED = ("", "as configured", "as asked for")
_NOTHING = "No measure of risk was computed. Remove the key checks to run the default ones."


@section(
    "risk",
    "Risk at a glance",
    "How much the synthetic data reveal about persons: from guessing to releasing the original.",
)
def glance_section(record: Record) -> Iterator[Block]:
    """Yield a picture of the risk of each scenario."""
    risk = record.results.risk
    lacking = list(unmeasured(record))
    yield from lacking
    others = compared([figure for _, figure in risk.other_figures])
    if risk.scenarios or others:
        yield Words([READS])
    yield from by_scenario(record, _scenario)
    if others:
        yield Heading("Risk without keys and target")
        yield from figure_blocks(others, "Whole records, sensitive variables and attacks")
    if not (lacking or risk.scenarios or others):
        yield Words([_NOTHING])
    yield from (Note(note) for note in risk.notes)
    for name, why in risk.failed.items():
        yield Gap(name, f"It could not be computed: {why}")


def _scenario(record: Record, risks: ScenarioRisk) -> Iterator[Block]:
    if risks.scenario.reason not in _CONFIGURED:
        yield Words([f"Reason for these keys: {risks.scenario.reason}"])
    rates = compared([figure.counting(record.units) for figure in risks.figures])
    title = "Each rate, between guessing and releasing the original"
    yield from figure_blocks(rates, title, in_words(risks.scenario))
    yield from (Note(in_units(warning, record.units)) for warning in risks.warnings)


_NEAREST_READS = (
    "The share of synthetic records that are nearer to a training than to a holdout record; ties "
    "count half. 0.5 is no memorisation. An interval above 0.5 shows that training records were "
    "memorised. The diamond is the value of the training records themselves."
)


@section(
    "nearest",
    "Training records against holdout records",
    "Do synthetic records resemble training records more than holdout records?",
)
def nearest_section(record: Record) -> Iterator[Block]:
    """Yield near copies, guesses, and the share of records nearer to the training half."""
    for key in ("near_verbatim", "guesses"):
        result = record.results.risk.further.get(key)
        if result is None:
            yield absent(record, key)
        else:
            yield from of_verdict(record, key, f"{key}_group", f"{key}_repeats")
            yield from result_tables(result, record.units)
    nearest = record.results.risk.nearest
    if nearest is None:
        yield absent(record, "nearest")
        return
    yield Words([_NEAREST_READS])
    figures = [figure.counting(record.units) for figure in nearest.figures]
    yield from figure_blocks(figures, "Share nearer to training records, and exact copies")
    copied = record.results.risk.copied
    same = copied is not None and copied.names == nearest.names
    listed = "those of whole records under Special uniques" if same else joined(nearest.names)
    yield Words([f"Compared on {len(nearest.names)} variables: {listed}."])
    yield number_table(nearest, "Records that were compared, and how many are nearer to each half")


_ATTACKS_OFF = (
    "No attack was made. Turn on attacks with checks: {attacks: true}. They show whether exact "
    "numbers can be recognised, such as an income to the cent."
)
_ATTACKS = (
    "Singling out: a rare value, or a combination of values, fits one synthetic record. Does it "
    "fit exactly one person? Linkability: two sources have different variables. Do the synthetic "
    "data help to join the records of one person? Inference: the target is that of the nearest "
    "synthetic record. Is it right?"
)
_RISK_READS = (
    "Risk is the advantage of an attack on training over holdout persons, as a share of the "
    "largest possible gain: 0 is no advantage, 1 is always right. An interval that contains 0 "
    "shows no risk; one above 0 shows a risk."
)
_SUCCESS_READS = (
    "Dot: success on training records. Diamond: success on holdout records. Bar: success by "
    "guessing. Only the distance from diamond to dot is due to the release. Success up to the "
    "diamond is knowledge of the population."
)
_MARKS = {"value": "training records", "original": "holdout records", "baseline": "guessing"}


@section(
    "attacks", "Attacks", "Success of attacks on training persons, compared with holdout persons."
)
def attacks_section(record: Record) -> Iterator[Block]:
    """Yield risk and success of the attacks."""
    result = record.results.risk.attacks
    if result is None:
        yield absent(record, "attacks", off=_ATTACKS_OFF)
        return
    known = f"Inference: the keys are {joined(result.keys)}, the target is {result.target}."
    if result.linked is not None:
        first, second = map(joined, result.linked)
        known += f" Linkability: one source has {first}, the other {second}."
    yield Words([_ATTACKS, known])
    yield number_table(result, "Records of both halves, attempts, and confidence of the intervals")
    attacks = result.attacks
    yield dot_chart(
        "Risk of each attack",
        [DotRow(label=a.name, value=a.risk, low=a.low, high=a.high) for a in attacks],
        reads=_RISK_READS,
        label="risk",
        marks={"value": "risk"},
        zero=True,
        table=row_table(
            attacks, "Attacks on each half: number, successes, rates, and risk with its interval"
        ),
    )
    yield dot_chart(
        "How often each attack succeeds",
        [_success(attack) for attack in attacks],
        reads=_SUCCESS_READS,
        label="success",
        marks=_MARKS,
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


def _attack_notes(attack: Attack) -> Iterator[Note]:
    name = attack.name
    if attack.is_weak:
        yield Note(f"{name}: guessing is more successful, so the attack shows nothing.", "alert")
    elif attack.low is not None and attack.low > 0:
        yield Note(
            f"{name}: the interval {interval(attack.low, attack.high, 'share')} is above 0; "
            "training persons are at more risk than others.",
            "look",
        )
    if attack.n == 0:
        yield Note(f"{name}: no attack was possible, so nothing can be concluded.")
    if round(attack.fitted_kept, 2) < 1:
        yield Note(
            f"{name}: only {100 * attack.fitted_kept:.3g} % of the training records could be "
            "attacked, so rate and risk are too low by about that factor."
        )
