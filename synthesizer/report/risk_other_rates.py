"""Rates that belong to no scenario: whole records, sensitive variables, attacks.

The file holds their results without figures; names and words are those of the package's figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from synthesizer.report.record import Record, mappings, number, words
from synthesizer.report.risk_reading import (
    Rate,
    count,
    names,
    part,
    rates,
    risk_part,
)

__all__ = [
    "attack_rates",
    "auc",
    "auc_of_original",
    "inference_rates",
    "nearest_rates",
    "other_rates",
    "question",
]


def other_rates(record: Record) -> tuple[Rate, ...]:
    """Return every rate that belongs to no scenario, each named with what it is about."""
    told = risk_part(record)
    found = [*nearest_rates(part(told, "nearest")), *rates(told, "replicated_uniques", "figures")]
    found += rates(told, "replicated_careers", "figures")
    several = len(mappings(told, "inference")) > 1
    for entry in mappings(told, "inference"):
        found += inference_rates(entry, question(entry) if several else "")
    found += [
        rate for attack in mappings(told, "attacks", "attacks") for rate in attack_rates(attack)
    ]
    return tuple(found)


def nearest_rates(nearest: Mapping[str, Any]) -> Iterator[Rate]:
    """Yield the share nearer to the fitted half, and the copies of its records."""
    if not nearest:
        return
    yield Rate(
        name="share nearer to the fitted half",
        value=number(nearest, "share"),
        low=number(nearest, "low"),
        high=number(nearest, "high"),
        baseline=0.5,
        original=number(nearest, "original"),
        n=count(nearest, "synthetic"),
        meaning="share of the synthetic records that are nearer to a record the synthesis was "
        "fitted on than to any of equally many records it never saw; 0.5 is a coin toss",
    )


def question(entry: Mapping[str, Any]) -> str:
    """Return what is inferred from what, in words."""
    known = ", ".join(names(entry, "public")) or "unnamed variables"
    return f"{words(entry, 'sensitive') or 'a sensitive variable'} from {known}"


def auc(entry: Mapping[str, Any], name: str = "auc") -> float | None:
    """Return the area under the ROC curve, averaged over the levels by number of persons.

    Of two levels there is one curve, and this is its area; where one class is looked for, only
    its curve counts.

    Source: Provost and Domingos (2003), Tree induction for probability-based ranking.
    """
    positive = words(entry, "positive")
    known = [
        (value, weight)
        for curve in mappings(entry, "roc")
        if not positive or words(curve, "level") == positive
        if (value := number(curve, name)) is not None
        if (weight := number(curve, "positives")) is not None and weight > 0
    ]
    members = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / members if members else None


def auc_of_original(entry: Mapping[str, Any]) -> float | None:
    """Return the area of the original on the same records; see `auc`."""
    return auc(entry, "auc_original_of_present")


def inference_rates(entry: Mapping[str, Any], where: str = "") -> Iterator[Rate]:
    """Yield revealed share, AUC and share guessed right of one sensitive variable."""
    end = f" ({where})" if where else ""
    sought = words(entry, "sensitive") or "the sensitive variable"
    revealed, guesses = part(entry, "classification"), part(entry, "thresholds")
    n, absent = count(guesses, "n"), count(guesses, "absent")
    yield Rate(
        name=f"revealed share{end}",
        value=number(revealed, "revealed"),
        baseline=number(revealed, "chance"),
        original=number(revealed, "original"),
        n=count(revealed, "n"),
        meaning=f"share of the synthetic records that give away a true {sought} when everybody "
        "is taken for the majority of those with the same public values",
    )
    yield Rate(
        name=f"AUC{end}",
        value=auc(entry),
        baseline=0.5,
        original=auc_of_original(entry),
        n=None if n is None or absent is None else n - absent,
        meaning="chance that a person who has the level is shown with a larger share of it than a "
        "person who has not; of several levels the mean by number of persons",
    )
    yield Rate(
        name=f"guessed right{end}",
        value=number(guesses, "right_of_present"),
        baseline=number(guesses, "chance_right_of_present"),
        original=number(guesses, "original_right_of_present"),
        n=None if n is None or absent is None else n - absent,
        meaning=f"persons whose public values the synthetic data have: share whose {sought} is "
        "the most frequent one shown with them",
    )


def attack_rates(attack: Mapping[str, Any]) -> Iterator[Rate]:
    """Yield risk and success of one attack."""
    name = words(attack, "name") or "an attack"
    made = count(attack, "n")
    yield Rate(
        name=f"{name}: risk",
        value=number(attack, "risk"),
        low=number(attack, "low"),
        high=number(attack, "high"),
        baseline=0.0,
        n=made,
        direction="about 0 is good",
        meaning="success on records the synthesis was fitted on beyond that on records it never "
        "saw, as a share of what could be gained",
    )
    yield Rate(
        name=f"{name}: success",
        value=number(attack, "rate"),
        low=number(attack, "rate_low"),
        high=number(attack, "rate_high"),
        baseline=number(attack, "baseline"),
        n=made,
        meaning="share of attacks on fitted records that succeed; the baseline is that of an "
        "attacker who guesses",
    )
