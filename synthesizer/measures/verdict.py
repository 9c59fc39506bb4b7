"""May these data be released? Three lines that can be defended, from what the checks found.

1. What the release adds to what an intruder knows about a person who is in the data.
2. What it shows about anybody, beside what a new sample of the same population shows.
3. How useful it is.

Each line is pass, fail or unclear, and has a reason (`synthesizer.measures.evidence`). A test that
was not made is "unclear", too: no line passes by default. These are tests of one release. None of
them proves that an intruder can learn nothing. ``docs/verdict.md`` states where the limits come
from and how the tests do on files of which the truth is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, Literal

from synthesizer.data.errors import listed
from synthesizer.measures.catalogue import LIMITS
from synthesizer.measures.evidence import (
    ORDER,
    Evidence,
    Word,
    judged,
    of_codes,
    of_columns,
    of_sizes,
    unclear,
)
from synthesizer.measures.evidence_of_risk import of_all_rare, of_anybody, of_person
from synthesizer.measures.figure import Result, Row, Units, agreeing, column, in_units
from synthesizer.measures.measure import Measure
from synthesizer.measures.results import CheckFigures, UtilityResult
from synthesizer.measures.settings import LimitConfig, profiles
from synthesizer.measures.utility.equivalent_sample import EquivalentSample
from synthesizer.measures.utility.regressions import Regressions
from synthesizer.measures.utility.unseen import LOOKS, Unseen, kept_share

Subject = Literal["person", "anybody", "use"]

GOOD_MEAN, BAD_MEAN, BAD_TABLE = 3.0, 10.0, 10.0
"""S_pMSE of pairs: their mean should be below the first, and each below the last."""
GOOD_SAMPLE, BAD_SAMPLE = 1 / 2, 1 / 10
"""Of the share of the original that a new sample is as good as."""
GOOD_COEFFICIENTS, BAD_COEFFICIENTS = 2.0, 4.0
"""Times the share of coefficients that a new sample has beyond 1.96 standard errors."""
GOOD_KEPT, BAD_KEPT = 0.7, 0.5
"""Of the associations: independent columns keep nothing, a new sample nearly all."""
UNSEEN: Mapping[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "unseen_pairs": ((0.5, 0.0), (0.25, 0.0)),
    "associations": ((GOOD_KEPT, 0.0), (BAD_KEPT, 0.0)),
    "impossible_records": ((1.0, 0.01), (1.0, 0.05)),
    "tails": ((0.0, 1.0), (0.0, 2.0)),
    "conditional_spread": ((1.5, 0.0), (2.5, 0.0)),
}
"""Beside the holdout: factor of a new sample's value, and what is added; of what is good, and of
what is not bad."""
AT_LEAST = frozenset({"equivalent_sample", "unseen_pairs", "associations"})
"""Tests whose value must reach its mark; others must not exceed it."""

COLOURS: Mapping[Word, str] = {"pass": "green", "unclear": "yellow", "fail": "red"}
TITLES: Mapping[Subject, str] = {
    "person": "A person in the data",
    "anybody": "Anybody",
    "use": "Use",
}
"""What each line is about."""
HALVES = ("near_verbatim", "guesses", "attack_risk", "tails")
"""Tests that need records which the synthesis never saw: a half, or a control file."""
MAIN: Mapping[Subject, str] = {"person": "near_verbatim", "anybody": "guesses_of_anybody"}
"""The test of each line that is shown where all pass."""
_NAMED = 2
"""Findings in the sentence of a line; the others are in its evidence."""
_SHOWN = 8
"""Tests that do not decide and are named."""


class VerdictLine(Row):
    """One of the three lines."""

    subject: Subject
    title: str = column("About", "text")
    word: Word = column("Verdict", "text")
    sentence: str = column("Because", "text")
    evidence: tuple[Evidence, ...]
    """Every test behind it, the gravest first."""

    @property
    def colour(self) -> str:
        """Green, yellow or red."""
        return COLOURS[self.word]

    @property
    def decisive(self) -> Evidence | None:
        """The test that decides; where all pass, the main one. None if nothing was looked at."""
        told = [e for e in self.evidence if e.decides and e.word == self.word]
        main = MAIN.get(self.subject, "") if self.word == "pass" else ""
        return min(told, key=lambda e: (not e.measured, e.key != main), default=None)

    @property
    def missing(self) -> str:
        """Which tests that decide were not made; empty where all were."""
        tests = ", ".join(e.test for e in self.evidence if e.decides and not e.measured)
        return f"Not measured: {tests}." if tests else ""


class Verdict(Result):
    """Verdict on the release: three lines, and the tests of each.

    Examples
    --------
    >>> from synthesizer.measures.results import RiskResult
    >>> nothing = verdict(CheckResults(risk=RiskResult()))
    >>> [(line.title, line.word) for line in nothing.lines]
    [('A person in the data', 'unclear'), ('Anybody', 'unclear'), ('Use', 'unclear')]
    """

    lines: tuple[VerdictLine, ...]
    terms: str = ""
    """Profile, kind of release and purpose."""
    source: str = ""
    """Who states the limits, and what else the profile asks."""

    @property
    def word(self) -> Word:
        """Worst word of the three lines."""
        return _gravest(line.word for line in self.lines)

    @property
    def findings(self) -> tuple[tuple[Subject, Evidence], ...]:
        """Tests that do not pass, the worst first, each with the subject of its line.

        Among equal words, measured tests come first, then the first test of each line. Each figure
        occurs once, with its worst test.
        """
        ranked = [
            (-ORDER.index(e.word), not e.measured, rank, line.subject, e)
            for line in self.lines
            for rank, e in enumerate(line.evidence)
            if e.decides and e.word != "pass"
        ]
        firsts: dict[str, tuple[Subject, Evidence]] = {}
        for *_, subject, e in sorted(ranked, key=lambda item: item[:3]):
            firsts.setdefault(e.key, (subject, e))
        return tuple(firsts.values())

    def __getitem__(self, subject: Subject) -> VerdictLine:
        """Return the line about a subject."""
        return next(line for line in self.lines if line.subject == subject)


def verdict(results: CheckFigures, limits: LimitConfig | None = None) -> Verdict:
    """Return the verdict on what the checks found.

    Parameters
    ----------
    results : CheckResults
        Of a run, or of any files.
    limits : LimitConfig, optional
        Limits of the steward, which take the place of the marks for their figures.
    """
    limits = limits or LimitConfig()
    profile = profiles()[limits.profile]
    limit = partial(profile.limit, release=limits.release)
    sizes = [*of_sizes(results)]
    found: dict[Subject, list[Evidence]] = {
        "person": [*sizes, *of_person(results, limit)],
        "anybody": [*sizes, *of_anybody(results, limit)],
        "use": [*sizes, *_of_use(results)],
    }
    for subject, evidence in found.items():
        deciding = profile.deciding(subject, limits.purpose)
        for key, test in _ASKED.items():
            if key in (deciding or ()) and all(e.key != key for e in evidence):
                evidence += test(results, key, limit(key))
        found[subject] = [
            e.model_copy(update={"decides": deciding is None or e.key in deciding})
            for e in evidence
        ]
    for key, own in limits.chosen.items():
        subject = _subject(LIMITS[key][0])
        others = [e for e in found[subject] if e.key != key]
        found[subject] = others + _of_limit(results, key, own, is_own=True)
    lines = tuple(_line(subject, found[subject], results.risk.units) for subject in TITLES)
    shown = (e for line in lines for e in line.evidence if e.measured and not e.decides)
    words = [e.test if e.word == "pass" else f"{e.test} ({e.word})" for e in shown]
    terms = f"profile {limits.profile}, {limits.release} release, for {limits.purpose}"
    if words:
        terms += f". Shown, does not decide: {listed([*dict.fromkeys(words)], _SHOWN)}"
    source = f"Limits of {profile.source}. {profile.note}".strip()
    return Verdict(lines=lines, terms=terms, source=source)


class CheckResults(CheckFigures):
    """Results of all checks, with the verdict on the release."""

    @property
    def verdict(self) -> Verdict:
        """Verdict on the release: three lines, by named limits or those of the package.

        Examples
        --------
        >>> from synthesizer.measures.results import RiskResult
        >>> CheckResults(risk=RiskResult()).verdict.word
        'unclear'
        """
        return verdict(self, self._limits)


def _line(subject: Subject, evidence: Iterable[Evidence], units: Units) -> VerdictLine:
    every = sorted(
        (
            e.model_copy(
                update={"test": in_units(e.test, units), "sentence": in_units(e.sentence, units)}
            )
            for e in evidence
        ),
        key=lambda e: -ORDER.index(e.word),
    )
    deciding = [e for e in every if e.decides]
    word = _gravest(e.word for e in deciding)
    if word == "pass":
        told = [e.sentence for e in deciding]
    else:
        told = [e.sentence for e in deciding if e.word == word and e.measured][:_NAMED]
        told += _not_measured([e for e in deciding if not e.measured])
    return VerdictLine(
        subject=subject,
        title=TITLES[subject],
        word=word,
        sentence=in_units(" ".join(told), units),
        evidence=tuple(every),
    )


def _not_measured(missing: Sequence[Evidence]) -> Iterator[str]:
    """Say which tests were not made, and what makes them."""
    if missing:
        remedies = dict.fromkeys(e.sentence for e in missing)
        yield f"Not measured: {', '.join(e.test for e in missing)}. Needs {', '.join(remedies)}."
    if any(e.key in HALVES for e in missing):
        yield "Files need a control, too: {records} that the synthesis never saw."


def _gravest(words: Iterable[Word]) -> Word:
    """Return the gravest word; without any nothing was measured."""
    return max(words, key=ORDER.index, default="unclear")


# Use.


def _of_use(results: CheckFigures) -> Iterator[Evidence]:
    utility = results.utility
    yield from of_columns(results)
    if utility is not None and utility.unlike:
        yield of_codes("that utility seems worse")
    further: Mapping[str, Any] = {} if utility is None else utility.further
    beside = further.get("unseen")
    made = _of_unseen(beside) if isinstance(beside, Unseen) else _of_training(results, further)
    yield from made
    regressions = further.get("regressions")
    if isinstance(regressions, Regressions) and regressions.rows:
        fresh = regressions.expected_shares[1]
        yield _between(
            "regressions_beyond",
            "regressions",
            "{value}% of regression coefficients differ by more than 1.96 standard errors from the "
            "original's",
            regressions.beyond or 0.0,
            (GOOD_COEFFICIENTS * fresh, BAD_COEFFICIENTS * fresh),
            fresh,
        )


def _of_unseen(beside: Unseen) -> Iterator[Evidence]:
    """Yield the worst look of each kind; the training records are a new sample of the holdout's."""
    for look in beside.worst:
        good, bad = (times * look.fresh + more for times, more in UNSEEN[look.key])
        test = LOOKS[look.key].title
        yield _between(look.key, test, look.sentence, look.value, (good, bad), look.fresh)


def _of_training(results: CheckFigures, further: Mapping[str, Any]) -> Iterator[Evidence]:
    """Yield what tables of pairs say beside the training records, where there is no holdout."""
    utility = results.utility
    yield unclear("tails", "tails and impossible {records}", "checks.unseen", measured=False)
    sample = further.get("equivalent_sample")
    if isinstance(sample, EquivalentSample):
        fresh = sample.expected[1]
        yield _between(
            "equivalent_sample",
            LOOKS["unseen_pairs"].title,
            "Pairs of variables are as accurate as in a random {value}% of the original",
            sample.sample,
            (GOOD_SAMPLE * fresh, BAD_SAMPLE * fresh),
            fresh,
        )
    else:
        remedy = "checks.equivalent_sample, a measure of utility"
        yield unclear("equivalent_sample", LOOKS["unseen_pairs"].title, remedy, measured=False)
    if utility is None:
        return
    figures = {figure.key: figure.value for _, figure in utility.figures}
    scale = max(1.0, (utility.fresh or 2.0) / 2)
    mean, worst = figures.get("mean_two_way"), figures.get("worst_two_way")
    if mean is not None:
        yield _between(
            "mean_two_way",
            "tables of pairs",
            "Tables of pairs have a mean S_pMSE of {value}",
            mean,
            (GOOD_MEAN * scale, BAD_MEAN * scale),
            utility.fresh,
        )
    if mean is not None and worst is not None and worst > BAD_TABLE * scale:
        yield unclear(
            "worst_two_way",
            "worst pair",
            f"The worst pair has an S_pMSE of {worst:.1f} ({_worst_pair(results)}).",
            value=worst,
            mark=BAD_TABLE * scale,
            fresh=None,
        )
    yield from _of_associations(utility)


def _associations_kept(utility: UtilityResult) -> float | None:
    """Return the share that is left of what goes together in the original; None without any."""
    rows = () if utility.tables is None else utility.tables.rows
    return kept_share((r.v_original, r.v_synthetic) for r in rows if r.v_original is not None)


def _of_associations(utility: UtilityResult) -> Iterator[Evidence]:
    """Yield how much is left of what goes together in the original."""
    kept = _associations_kept(utility)
    if kept is not None:
        yield _between(
            "associations",
            LOOKS["associations"].title,
            "{value}% of the associations between variables are kept",
            kept,
            (GOOD_KEPT, BAD_KEPT),
        )


def _worst_pair(results: CheckFigures) -> str:
    tables = None if results.utility is None else results.utility.tables
    rows = () if tables is None else tables.worst(2, 1)
    return " with ".join(rows[0].variables) if rows else "see the tables"


def _between(
    key: str,
    test: str,
    sentence: str,
    value: float,
    marks: tuple[float, float],
    fresh: float | None = None,
) -> Evidence:
    """Judge by two marks: within the first it is good, beyond the second bad.

    ``sentence`` has a place for the {value}; what a new sample has and the limit are added.
    """
    good, bad = marks
    sign, least = (-1, "least") if key in AT_LEAST else (1, "most")
    word: Word = (
        "pass" if sign * (value - good) <= 0 else "fail" if sign * (value - bad) > 0 else "unclear"
    )
    unit, percent = (100, "%") if "{value}%" in sentence else (1, "")
    told = [sign * unit * x for x in (value, fresh) if x is not None]
    shown, *beside, mark = (x.removeprefix("-") for x in agreeing(told, sign * unit * good, 1))
    sample = f". A new sample has {beside[0]}{percent}" if beside else ""
    sentence = f"{sentence.replace('{value}', shown)}{sample} (limit: at {least} {mark}{percent})."
    fields: dict[str, Any] = {"value": value, "mark": good, "fresh": fresh}
    return Evidence(key=key, test=test, word=word, sentence=sentence, **fields)


# Tests that a profile, a purpose or the steward asks for.


def _of_limit(
    results: CheckFigures, key: str, limit: float, *, is_own: bool = False
) -> list[Evidence]:
    """Judge every figure with a limit: by its interval, where it has one.

    The steward's own limit (``is_own``) fails by the value, as exit code 3 does.
    """
    measure, kind, stated = LIMITS[key]
    test = f"limits.{key}" if is_own else kind.name
    evidence = []
    for place, figure in results.limited(key):
        where = f"{kind.title[:1].upper()}{kind.title[1:]}{f' ({place})' if place else ''}"
        value = None if figure is None else getattr(figure, stated.judged)
        if figure is None or value is None:
            word: Word = "fail" if is_own else "unclear"
            words = f"{where} could not be computed." if is_own else f"checks.{measure.check}"
            evidence.append(
                Evidence(key=key, test=test, word=word, sentence=words, measured=is_own)
            )
            continue
        if limit == inf:
            words = f"{where}: {value:.3f}. The profile sets no limit."
            evidence.append(unclear(key, test, words, value=value))
            continue
        low, high = figure.low, figure.high
        if low is None or high is None or stated.judged == "low":
            low = high = value
        text, lower, upper, shown = agreeing([value, low, high], limit, 3)
        ends = f" ({lower} to {upper})" if low < high else ""
        new = "" if figure.new_sample is None else f" A new sample has {figure.new_sample:.3f}."
        e = judged(
            key,
            test,
            f"{where}: {text}{ends}, limit {shown}.{new}",
            (value, value if is_own else low, high),
            limit,
            fresh=figure.new_sample,
            released=figure.original,
        )
        evidence.append(e.model_copy(update={"low": low}))
    return evidence


def _of_structure(results: CheckFigures, key: str, _: float) -> list[Evidence]:
    """Judge whether the variables of the original are there, of its kinds and with its codes."""
    if results.utility is None:
        return [unclear(key, "structure", "checks of utility", measured=False)]
    faults = [*(e.sentence for e in of_columns(results)), *results.unlike]
    words = "The datasets have the variables of the original, of the same kinds."
    sentence = " ".join(faults) or words
    return [Evidence(key=key, test=key, word="fail" if faults else "pass", sentence=sentence)]


def _of_relations(results: CheckFigures, key: str, limit: float) -> list[Evidence]:
    """Judge whether associations were kept, where none should be."""
    kept = None if results.utility is None else _associations_kept(results.utility)
    if kept is None:
        return [unclear(key, "relations", "checks.two_way", measured=False)]
    words = f"{kept:.0%} of the associations between variables are kept, limit {limit:.0%}."
    return [judged(key, key, words, (kept, kept, kept), limit)]


_BY_FIGURE = (
    "membership", "identity_disclosure", "replicated_uniques", "disco", "mean_two_way",
    "worst_two_way", "worst_one_way",
)  # fmt: skip
_ASKED: Mapping[str, Callable[[CheckFigures, str, float], list[Evidence]]] = {
    **dict.fromkeys(_BY_FIGURE, _of_limit),
    "rare_codes": of_all_rare,
    "rare_extremes": of_all_rare,
    "structure": _of_structure,
    "relations": _of_relations,
}
"""Tests that are made only where a profile or a purpose names them."""


def _subject(measure: Measure) -> Subject:
    """Return the line that a limit belongs to."""
    if measure.axis == "utility":
        return "use"
    is_personal = measure.of_person or measure.family in ("splits", "halves")
    return "person" if is_personal else "anybody"
