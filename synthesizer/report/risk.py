"""Sections on risk: at a glance, nearest records, attacks, and measures that are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

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
    written,
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

_HALF_SPLIT = "train-holdout test"
"""Under this name the checks say that no half could be synthesised at all."""


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
    """Yield what tests of the verdict say, in its words and colours."""
    for line in record.verdict.lines:
        for e in line.evidence:
            if e.measured and e.key in keys:
                yield Note(with_minus(e.sentence), TONES[e.word])


TONES: Mapping[Word, Literal["good", "look", "alert"]] = {
    "pass": "good", "unclear": "look", "fail": "alert",
}  # fmt: skip
"""How the words of the verdict look."""


def in_words(scenario: Scenario) -> str:
    """Say keys and target in plain words."""
    how = [
        f"{name} in {cuts if isinstance(cuts, int) else len(cuts) + 1} groups"
        for name, cuts in scenario.groups.items()
    ]
    if near := scenario.tolerance:
        shown = [f"{near.absolute:g}"] if near.absolute else []
        shown += [f"a share of {near.relative:.3g} of the true value"] if near.relative else []
        how.append(f"{scenario.target} within {' or '.join(shown) or '0'} counts as right")
    words = f"Knowing {joined(scenario.keys)}, seeking {scenario.target}"
    return f"{words} ({'; '.join(how)})" if how else words


def absent(
    record: Record, key: str, scenario: Scenario | None = None, *, off: str = ""
) -> Words | Gap:
    """Explain why a measure is not shown: it failed, or is switched off.

    ``off`` replaces the sentence for where it is switched off.
    """
    measure, failed = MEASURES[key], record.results.risk.failed
    names = [key if scenario is None else f"{key} ({scenario.label})", key]
    names += [_HALF_SPLIT] * ("halves" in measure.needs)
    words = measure.words or key.upper()
    if why := next((failed[name] for name in names if name in failed), None):
        return Gap(words, f"It could not be computed: {why}")
    if record.of_files and "halves" in measure.needs:
        return Gap(words, "It needs records that the synthesis never saw: name them as control.")
    return Words([off or f"Not computed: {words}. To have it, set checks.{measure.check} to true."])


_NAMED = {
    "keys": "checks.keys (what an intruder knows)",
    "target": "checks.target (what an intruder seeks; a number needs checks.groups or "
    "checks.tolerance)",
}


def asked_of(record: Record) -> Mapping[str, Any]:
    """Return the checks as the configuration has them; empty for ``true`` or ``false``."""
    asked = record.manifest.config.get("checks", {})
    return asked if isinstance(asked, Mapping) else {}


def unmeasured(record: Record) -> Iterator[Gap]:
    """Yield a gap for the measures of risk that need keys, and one for those switched off."""
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
            f"{keys_advice(record)} Until then the risk from somebody who knows some variables is "
            "unknown, which is no sign of safety.",
            alert=True,
        )
    if off:
        switches = joined([f"checks.{check}" for check in usual if check in off])
        them = "it" if len(off) == 1 else "them"
        yield Gap(
            "; ".join(measure.words for check, measure in usual.items() if check in off),
            f"The configuration switches {them} off: set {switches} to true and run again.",
            alert=True,
        )


def keys_advice(record: Record) -> str:
    """Explain why no intruder was assumed, and which settings to add; empty where one was."""
    if record.results.risk.scenarios:
        return ""
    if lone := lone_variable(record):
        return f"These measures need two variables, a key and a target; {lone} is the only one."
    asked = asked_of(record)
    missing = [name for key, name in _NAMED.items() if not asked.get(key)]
    if not missing:
        return "The keys and the target that the configuration names were not used. Run again."
    return (
        "These measures need keys and a target. The configuration does not name them all, and "
        f"the data suggest none. Name {joined(missing)} and run again."
    )


_CONFIGURED = ("", "as configured", "as asked for")
_NOTHING = "No measure of risk was computed: leave out the key checks, and the usual ones run."


@section(
    "risk",
    "Risk at a glance",
    "How much the synthetic data tell of persons, between guessing and the original.",
)
def glance_section(record: Record) -> Iterator[Block]:
    """Yield one picture of an intruder's gains for each scenario."""
    risk = record.results.risk
    lacking = list(unmeasured(record))
    yield from lacking
    others = compared([figure for _, figure in risk.other_figures])
    if risk.scenarios or others:
        yield Words([READS])
    yield from by_scenario(record, _scenario)
    if others:
        yield Heading("Beyond keys and target")
        yield from figure_blocks(others, "Whole records, sensitive variables and attacks")
    if not (lacking or risk.scenarios or others):
        yield Words([_NOTHING])
    yield from (Note(note) for note in risk.notes)
    for name, why in risk.failed.items():
        yield Gap(name, f"It could not be computed: {why}")


def _scenario(record: Record, risks: ScenarioRisk) -> Iterator[Block]:
    if risks.scenario.reason not in _CONFIGURED:
        yield Words([f"Why these: {risks.scenario.reason}"])
    rates = compared([figure.counting(record.units) for figure in risks.figures])
    title = "Every rate, between guessing and the original"
    yield from figure_blocks(rates, title, in_words(risks.scenario))
    yield from (Note(in_units(warning, record.units)) for warning in risks.warnings)


_NEAREST_READS = (
    "0.5 is a coin toss: synthetic records are as near to people the synthesis never saw as to "
    "people it was fitted on; those as near to both are counted half. The farther the interval "
    "lies above 0.5, the more the synthesis has copied. The diamond is where the fitted records "
    "themselves would stand."
)


@section(
    "nearest",
    "Persons beside the holdout",
    "Whole records: do synthetic ones point to persons in the data more than to persons held out?",
)
def nearest_section(record: Record) -> Iterator[Block]:
    """Yield near-verbatim persons, guesses, and the share of records nearer to the fitted half."""
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
    yield from figure_blocks(figures, "Share nearer to the fitted half, and exact copies")
    copied = record.results.risk.copied
    same = copied is not None and copied.names == nearest.names
    listed = "those of whole records under Special uniques" if same else joined(nearest.names)
    yield Words([f"Compared on {len(nearest.names)} variables: {listed}."])
    yield number_table(nearest, "Records that were compared, and how many are nearer to which half")


_ATTACKS_OFF = (
    "No attack was carried out. Switch them on with checks: {attacks: true}: they show where "
    "exact numbers could be recognised, such as an income to the cent."
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


@section(
    "attacks",
    "Attacks",
    "Attacks on the synthetic data, held against attacks on persons it never saw.",
)
def attacks_section(record: Record) -> Iterator[Block]:
    """Yield risk and success of the attacks."""
    result = record.results.risk.attacks
    if result is None:
        yield absent(record, "attacks", off=_ATTACKS_OFF)
        return
    known = f"The inference attack knows {joined(result.keys)} and seeks {result.target}."
    if result.linked is not None:
        first, second = map(joined, result.linked)
        known += f" Linkability joins a source with {first} to one with {second}."
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
            "look",
        )
    if attack.n == 0:
        yield Note(f"{name}: no attack could be made; nothing can be concluded.")
    if attack.fitted_kept < 1:
        yield Note(
            f"{name}: only a share of {written(attack.fitted_kept, 'share')} of the fitted records "
            "could be attacked, so rate and risk are too low by about that share."
        )
