"""The risk part of a checks file, read so that nothing in it can break a page.

Whatever is missing or is not what it should be reads as "not there": None, no rows, no words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from synthesizer.report.expected import lone_variable
from synthesizer.report.page import Block, Form, Gap, Note, Words, interval, written
from synthesizer.report.untyped import Record, dig, listed, mappings, number, words

_HALF_SPLIT = "half split"
"""Under this name the run tells that no half could be synthesised at all."""
_UNREADABLE = (
    "checks.json does not hold it in a form that this version reads; run the checks again with "
    "this version"
)


def count(content: Any, *path: str | int) -> int | None:
    """Return the number at a path as a whole number, None where there is none."""
    found = number(content, *path)
    return None if found is None else round(found)


def names(content: Any, *path: str | int) -> tuple[str, ...]:
    """Return the texts of a list at a path."""
    return tuple(word for entry in listed(content, *path) if (word := words(entry)))


def part(content: Any, *path: str | int) -> Mapping[str, Any]:
    """Return the mapping at a path, an empty one where there is none."""
    found = dig(content, *path)
    return found if isinstance(found, Mapping) else {}


def joined(texts: Sequence[str]) -> str:
    """Join names as one says them.

    Examples
    --------
    >>> joined(["age", "sex", "region"])
    'age, sex and region'
    """
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A figure of the file with what is needed to read it.

    Parameters
    ----------
    name, meaning, direction : str
        What it is, in plain words, and which direction is good.
    value, low, high, baseline, original : float or None
        As in `synthesizer.measures.figure.Figure`.
    n : int or None
        Number of records that it rests on.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    original: float | None = None
    n: int | None = None
    direction: str = "lower is safer"
    meaning: str = ""


def rates(content: Any, *path: str | int) -> tuple[Rate, ...]:
    """Return the figures in a list at a path; those without a name are left out."""
    return tuple(_rate(row) for row in mappings(content, *path) if words(row, "name"))


def rate(found: Sequence[Rate], name: str) -> Rate | None:
    """Return the figure of that name, None if there is none."""
    return next((entry for entry in found if entry.name == name), None)


def _rate(row: Mapping[str, Any]) -> Rate:
    return Rate(
        name=words(row, "name"),
        value=number(row, "value"),
        low=number(row, "low"),
        high=number(row, "high"),
        baseline=number(row, "baseline"),
        original=number(row, "original"),
        n=count(row, "n"),
        direction=words(row, "direction"),
        meaning=words(row, "meaning"),
    )


def risk_part(record: Record) -> Mapping[str, Any]:
    """Return the risk part of a run's checks, or the whole file of the command ``risk``."""
    found = part(record.checks, "risk")
    return found or (record.checks if mappings(record.checks, "scenarios") else {})


def has_control_file(record: Record) -> bool:
    """Whether the unseen records come from a control file: the command ``risk`` splits nothing."""
    return bool(mappings(record.checks, "files"))


@dataclass(frozen=True)
class ScenarioPart:
    """What the file holds about one intruder, with keys and target in words.

    Parameters
    ----------
    content : mapping
        The scenario's part of the file.
    """

    content: Mapping[str, Any]

    @property
    def keys(self) -> tuple[str, ...]:
        """What the intruder knows."""
        return names(self.content, "scenario", "keys")

    @property
    def target(self) -> str:
        """What the intruder seeks."""
        return words(self.content, "scenario", "target")

    @property
    def heading(self) -> str:
        """Keys and target in plain words."""
        known, sought = joined(self.keys) or "unnamed keys", self.target or "an unnamed target"
        how = [*self._groups("{} in {} groups"), *self._near("counts as right")]
        return f"Knowing {known}, seeking {sought}" + (f" ({'; '.join(how)})" if how else "")

    @property
    def label(self) -> str:
        """Keys and target as the file names them where something failed."""
        how = [*self._groups("{} in {} groups"), *self._near("")]
        end = f" ({'; '.join(how)})" if how else ""
        return f"{', '.join(self.keys)} -> {self.target}{end}"

    @property
    def has_tolerance(self) -> bool:
        """Whether a numeric target is right within a distance, which some measures lack."""
        return bool(part(self.content, "scenario", "tolerance"))

    def _groups(self, form: str) -> Iterator[str]:
        for name, wanted in part(self.content, "scenario", "groups").items():
            cuts = len(wanted) + 1 if isinstance(wanted, list) else count(wanted)
            yield form.format(name, "some" if cuts is None else cuts)

    def _near(self, verb: str) -> Iterator[str]:
        near = part(self.content, "scenario", "tolerance")
        if near:
            absolute, relative = number(near, "absolute") or 0.0, number(near, "relative") or 0.0
            if verb:
                shown = [f"{absolute:g}"] if absolute else []
                shown += [f"a share of {relative:.3g} of the true value"] if relative else []
                yield f"{self.target} within {' or '.join(shown) or '0'} {verb}"
            else:
                yield f"{self.target} within {absolute:g}, {relative:.3g} of it"


def scenarios(record: Record) -> tuple[ScenarioPart, ...]:
    """Return the intruders of the file, the main one first."""
    return tuple(ScenarioPart(entry) for entry in mappings(risk_part(record), "scenarios"))


def failed(record: Record, name: str, label: str = "") -> str | None:
    """Return why a measure could not be computed, None if it did not fail.

    Parameters
    ----------
    record : Record
        A run.
    name : str
        The measure, as in the file.
    label : str
        Of the scenario, or the sensitive variable, where there is one.
    """
    told = part(risk_part(record), "failed")
    asked = [f"{name} ({label})" if label else name]
    if name in ("differential_confidentiality", "nearest", "attacks"):
        asked.append(_HALF_SPLIT)
    found = next((entry for entry in asked if entry in told), None)
    return None if found is None else words(told[found]) or "no reason was stored"


def failed_like(record: Record, name: str) -> list[tuple[str, str]]:
    """Return what a measure failed for, such as a sensitive variable, and why."""
    told = part(risk_part(record), "failed")
    return [
        (str(entry)[len(name) + 2 : -1], words(why) or "no reason was stored")
        for entry, why in told.items()
        if str(entry).startswith(f"{name} (")
    ]


def absent(
    record: Record, name: str, what: str, *, found: Any, label: str = "", off: str = ""
) -> Block:
    """Say why a measure is not shown: it failed, cannot be read, or is switched off.

    Parameters
    ----------
    record : Record
        A run.
    name, label : str
        As in `failed`.
    what : str
        What should be here.
    found : object
        What the file holds in its place.
    off : str
        Sentence for where it was not asked for, with how to ask.
    """
    why = failed(record, name, label)
    if why is not None:
        return Gap(what, f"It could not be computed: {why}")
    return Words([off]) if found is None else Gap(what, _UNREADABLE)


# Rates that belong to no scenario: whole records, sensitive variables, attacks.


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


# Sentences that the parts about risk share.

COUNT: Form = "count"
FIGURE: Form = "figure"
TEXT: Form = "text"


def heading(scenario: ScenarioPart) -> Iterator[Markup]:
    """Yield a heading that names keys and target."""
    yield Markup("<h3>{}</h3>").format(scenario.heading)


def span(low: float | None, high: float | None) -> str:
    """Write the ends of an interval, or that they are not known.

    Examples
    --------
    >>> span(0.003, 0.0172), span(None, 0.1)
    ('0.003 to 0.017', 'not known')
    """
    return "not known" if low is None or high is None else interval(low, high, "share")


def said(rate: Rate) -> str:
    """Say a figure in one line with its interval, baseline and original."""
    value = "not computed" if rate.value is None else written(rate.value, "share")
    marks = (
        [] if rate.low is None or rate.high is None else [f"interval {span(rate.low, rate.high)}"]
    )
    if rate.baseline is not None:
        marks.append(f"baseline {written(rate.baseline, 'share')}")
    if rate.original is not None:
        marks.append(f"original {written(rate.original, 'share')}")
    return f"{rate.name} {value}" + (f" ({', '.join(marks)})" if marks else "")


# What a run did not measure, why, and what to write in the configuration to have it.

_WITH_KEYS = {
    "cap": "CAP and TCAP",
    "identity": "repU",
    "attribute": "DiSCO",
    "suda": "special uniques",
    "differential_confidentiality": "differential confidentiality by the half split (DCAP)",
}
"""What needs keys and a target, by the key of the configuration that switches it off."""
_WITHOUT_KEYS = {
    "replicated_uniques": "replicated uniques",
    "nearest": "the share nearer to the fitted half",
}
_NAMED = {
    "keys": "checks.keys (what an intruder knows)",
    "target": "checks.target (what an intruder seeks; a number needs checks.groups or "
    "checks.tolerance)",
}


def unmeasured(record: Record) -> Iterator[Gap]:
    """Yield a gap for the measures of risk that need keys, and one for those switched off.

    Parameters
    ----------
    record : Record
        A run; nothing is said of files whose checks cannot be read.

    Examples
    --------
    >>> checks = {"risk": {"scenarios": []}}
    >>> [gap.what[:18] for gap in unmeasured(Record({}, checks))]
    ['CAP and TCAP, repU']
    """
    if "scenarios" not in risk_part(record) or has_control_file(record):
        return
    off = {key for key in (*_WITH_KEYS, *_WITHOUT_KEYS) if _is_off(record, key)}
    wanted = [name for key, name in _WITH_KEYS.items() if key not in off]
    if wanted and not scenarios(record):
        why = (
            f"{keys_advice(record)} Until then nothing is known of what the data tell of a person "
            "to somebody who knows some variables: that this page shows no such figure is no sign "
            "of safety."
        )
        yield Gap(joined(wanted), why, alert=True)
    if off:
        names = [name for key, name in (_WITH_KEYS | _WITHOUT_KEYS).items() if key in off]
        switches = joined([f"checks.{key}" for key in (*_WITH_KEYS, *_WITHOUT_KEYS) if key in off])
        why = f"The configuration switches them off: set {switches} to true and run again."
        if len(off) == 1:
            why = f"The configuration switches it off: set {switches} to true and run again."
        yield Gap(joined(names), why, alert=True)


def keys_advice(record: Record) -> str:
    """Say why no intruder was assumed and what to name; empty where one was.

    Examples
    --------
    >>> keys_advice(Record({"chain": [{"variable": "sex"}]}, {}))
    'These measures need a key and a target, two variables, and sex is the only one here.'
    """
    if scenarios(record):
        return ""
    if lone := lone_variable(record):
        return (
            f"These measures need a key and a target, two variables, and {lone} is the only one "
            "here."
        )
    given = _checks(record)
    missing = [name for key, name in _NAMED.items() if not given.get(key)]
    if not missing:
        return "The keys and the target that the configuration names were not used. Run again."
    return (
        "These measures need keys and a target. The configuration does not name them all, and "
        f"the data suggest none. Name {joined(missing)} and run again."
    )


def _is_off(record: Record, key: str) -> bool:
    value = _checks(record).get(key)
    return value is False or dig(value, "enabled") is False


def _checks(record: Record) -> Mapping[str, Any]:
    return part(record.manifest, "config", "checks")


# What the comparison of fitted and unseen records says about a release, in words.


def verdict(scenario: ScenarioPart, found: Sequence[Rate]) -> Iterator[Note]:
    """Yield what the half split says of the scenario, as the summary of a run says it.

    Parameters
    ----------
    scenario : ScenarioPart
        For the wording only.
    found : sequence of Rate
        Its figures.
    """
    compared = rate(found, "differential confidentiality")
    if compared is None:
        yield Note(
            "What the release adds is not known: fitted records were not compared with unseen "
            "ones. The part about differential confidentiality says why."
        )
    else:
        yield _added(compared)
    worst = rate(found, "worst group")
    if worst is not None:
        yield _worst(worst, scenario)


def _added(compared: Rate) -> Note:
    if compared.low is None or compared.high is None:
        return Note(
            "What the release adds could not be told: there is no interval for the difference "
            "between fitted and unseen records. That is no good news.",
            "alert",
        )
    where = f"the 95 % interval of the difference, {span(compared.low, compared.high)},"
    if compared.low > 0:
        return Note(
            f"Not differentially confidential: {where} does not cover 0. Records are read off "
            "more often because they were in the data.",
            "alert",
        )
    if compared.high < 0:
        return Note(
            f"Not differentially confidential by the letter: {where} lies below 0. Unseen records "
            "are read off more often than fitted ones; that discloses nothing, but look whether "
            "the two parts of the data are alike.",
            "alert",
        )
    return Note(
        f"Differentially confidential by this test: {where} covers 0. A difference of up to "
        f"{written(compared.high, 'share')} is not excluded.",
        "good",
    )


def _worst(worst: Rate, scenario: ScenarioPart) -> Note:
    group = part(scenario.content, "differential_confidentiality", "worst_group")
    named = " = ".join(str(group[key]) for key in ("by", "group") if key in group)
    told = f"Worst group{f' ({named})' if named else ''}: the difference is "
    told += written(worst.value, "share")
    if worst.low is None or worst.high is None:
        return Note(f"{told}, without an interval: nothing can be concluded.", "alert")
    told += f", its interval for all groups together {span(worst.low, worst.high)}"
    if worst.low > 0:
        return Note(f"{told} does not cover 0: this group is told apart.", "alert")
    return Note(f"{told} does not lie above 0; the largest of many groups is never 0 by chance.")
