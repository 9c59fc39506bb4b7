"""May these data be released? A verdict of three lines, from the results of the checks.

1. Risk that the release adds for a person in the data.
2. Risk for anybody, compared with a new sample of the same population.
3. Use.

Each line is pass, fail or unclear, with a reason (`synthesizer.measures.evidence`). A test that was
not made is "unclear": no line passes by default. The tests are about one release. They do not prove
that an intruder can learn nothing. ``docs/verdict.md`` has the sources of the limits, and results
on files with known truth.
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
    missing,
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
from synthesizer.measures.utility.broken_relations import BROKEN, BrokenRelations
from synthesizer.measures.utility.equivalent_sample import EquivalentSample
from synthesizer.measures.utility.regressions import Regressions
from synthesizer.measures.utility.unseen import LOOKS, Unseen, kept_share

Subject = Literal["person", "anybody", "use"]

GOOD_MEAN, BAD_MEAN, BAD_TABLE = 3.0, 10.0, 10.0
"""Limits of S_pMSE of pairs: the mean passes, the mean fails, a single pair is unclear."""
GOOD_SAMPLE, BAD_SAMPLE = 1 / 2, 1 / 10
"""Limits as shares of what a new sample reaches."""
GOOD_COEFFICIENTS, BAD_COEFFICIENTS = 2.0, 4.0
"""Limits as multiples of what a new sample has beyond 1.96 standard errors."""
GOOD_KEPT, BAD_KEPT = 0.7, 0.5
"""Limits of the share of associations that are preserved."""
UNSEEN: Mapping[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "unseen_pairs": ((0.5, 0.0), (0.25, 0.0)),
    "associations": ((GOOD_KEPT, 0.0), (BAD_KEPT, 0.0)),
    "impossible_records": ((1.0, 0.01), (1.0, 0.05)),
    "tails": ((0.0, 1.0), (0.0, 2.0)),
    "conditional_spread": ((1.5, 0.0), (2.5, 0.0)),
}
"""Limits of comparisons with the holdout: (factor of a new sample's value, constant that is added),
for pass and for fail."""
BROKEN_SHARES = 0.01, 0.05
"""Limits of records that break a relation of all original records."""
AT_LEAST = frozenset({"equivalent_sample", "unseen_pairs", "associations"})
"""Tests whose value must reach the limit; others must not exceed it."""

COLOURS: Mapping[Word, str] = {"pass": "green", "unclear": "yellow", "fail": "red"}
TITLES: Mapping[Subject, str] = {
    "person": "A person in the data",
    "anybody": "Anybody",
    "use": "Use",
}
"""Subject of each line."""
HALVES = ("near_verbatim", "guesses", "attack_risk", "tails")
"""Tests that need holdout records: a half of the data, or a control file."""
MAIN: Mapping[Subject, str] = {"person": "near_verbatim", "anybody": "guesses_of_anybody"}
"""The test that stands for a line in which all pass."""
_MAX_FINDINGS = 2
"""Findings in the sentence of a line."""
_MAX_NAMES = 8
"""Names of tests that do not decide."""


class VerdictLine(Row):
    """One of the three lines."""

    subject: Subject
    title: str = column("About", "text")
    word: Word = column("Verdict", "text")
    sentence: str = column("Reason", "text")
    evidence: tuple[Evidence, ...]
    """All tests, the worst first."""

    @property
    def colour(self) -> str:
        """Green, yellow or red."""
        return COLOURS[self.word]

    @property
    def decisive(self) -> Evidence | None:
        """The test that decides; if all pass, the main one. None without a test."""
        candidates = [e for e in self.evidence if e.decides and e.word == self.word]
        main = MAIN.get(self.subject, "") if self.word == "pass" else ""
        return min(candidates, key=lambda e: (not e.measured, e.key != main), default=None)

    @property
    def missing(self) -> str:
        """Names of decisive tests that were not made; empty if all were made."""
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
    """Sources of the limits, and other requirements of the profile."""

    @property
    def word(self) -> Word:
        """The worst of the three."""
        return _gravest(line.word for line in self.lines)

    @property
    def findings(self) -> tuple[tuple[Subject, Evidence], ...]:
        """Tests that do not pass, the worst first, each with the subject of its line.

        Among equal outcomes, measured tests come first, then the first test of each line. Each
        figure occurs once, with its worst test.
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
    """Return the verdict on results of the checks.

    Parameters
    ----------
    results : CheckResults
        Of a run, or of any files.
    limits : LimitConfig, optional
        Limits of the steward; they replace those of the package for their figures.
    """
    limits = limits or LimitConfig()
    profile = profiles()[limits.profile]
    limit = partial(profile.limit, release=limits.release)
    sizes = [*of_sizes(results)]
    by_subject: dict[Subject, list[Evidence]] = {
        "person": [*sizes, *of_person(results, limit)],
        "anybody": [*sizes, *of_anybody(results, limit)],
        "use": [*sizes, *_of_use(results)],
    }
    for subject, evidence in by_subject.items():
        deciding = profile.deciding(subject, limits.purpose)
        for key, test in _OPTIONAL_TESTS.items():
            if key in (deciding or ()) and all(e.key != key for e in evidence):
                evidence += test(results, key, limit(key))
        by_subject[subject] = [
            e.model_copy(update={"decides": deciding is None or e.key in deciding})
            for e in evidence
        ]
    for key, stated in limits.chosen.items():
        subject = _subject(LIMITS[key][0])
        others = [e for e in by_subject[subject] if e.key != key]
        by_subject[subject] = others + _of_limit(results, key, stated, of_steward=True)
    lines = tuple(_line(subject, by_subject[subject], results.risk.units) for subject in TITLES)
    shown = (e for line in lines for e in line.evidence if e.measured and not e.decides)
    words = [e.test if e.word == "pass" else f"{e.test} ({e.word})" for e in shown]
    terms = f"profile {limits.profile}, {limits.release} release, for {limits.purpose}"
    if words:
        terms += f". Reported, not decisive: {listed([*dict.fromkeys(words)], _MAX_NAMES)}"
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
        reasons = [e.sentence for e in deciding]
    else:
        reasons = [e.sentence for e in deciding if e.word == word and e.measured][:_MAX_FINDINGS]
        reasons += _not_measured([e for e in deciding if not e.measured])
    return VerdictLine(
        subject=subject,
        title=TITLES[subject],
        word=word,
        sentence=in_units(" ".join(reasons), units),
        evidence=tuple(every),
    )


def _not_measured(absent: Sequence[Evidence]) -> Iterator[str]:
    """Yield sentences on the tests that were not made, and how to turn them on."""
    if absent:
        tests, remedies = (
            dict.fromkeys(e.test for e in absent),
            dict.fromkeys(e.check for e in absent),
        )
        yield f"Not measured: {', '.join(tests)}. Turn on {', '.join(remedies)}."
    if any(e.key in HALVES for e in absent):
        yield "Checks of files need --control FILE: holdout {records} to which no model was fitted."


def _gravest(words: Iterable[Word]) -> Word:
    """Return the worst outcome; "unclear" without any."""
    return max(words, key=ORDER.index, default="unclear")


# Use.


def _of_use(results: CheckFigures) -> Iterator[Evidence]:
    utility = results.utility
    yield from of_columns(results)
    if utility is not None and utility.unlike:
        yield of_codes("utility seems worse")
    further: Mapping[str, Any] = {} if utility is None else utility.further
    unseen = further.get("unseen")
    if results.risk.conditions:
        sentence = (
            "The datasets satisfy conditions, so they differ from the data on purpose, and use is "
            "not tested. Compare them with the rows of the data that satisfy these, by check."
        )
        yield unclear("conditions", "given conditions", sentence)
        return
    if isinstance(unseen, Unseen):
        yield from _of_unseen(unseen)
    else:
        yield from _of_training(results, further)
    relations = further.get("broken_relations")
    if isinstance(relations, BrokenRelations) and relations.n_relations:
        finding = BROKEN.key, BROKEN.test, BROKEN.finding
        yield _between(*finding, relations.share, BROKEN_SHARES)
    regressions = further.get("regressions")
    if isinstance(regressions, Regressions) and regressions.rows:
        fresh = regressions.expected_shares[1]
        yield _between(
            "regressions_beyond",
            "regressions",
            "{value}% of regression coefficients differ from the original's by more than 1.96 "
            "standard errors",
            regressions.beyond or 0.0,
            (GOOD_COEFFICIENTS * fresh, BAD_COEFFICIENTS * fresh),
            fresh,
        )


def _of_unseen(unseen: Unseen) -> Iterator[Evidence]:
    """Yield the worst comparison of each kind; training records count as a new sample."""
    for look in unseen.worst:
        good, bad = (times * look.fresh + more for times, more in UNSEEN[look.key])
        test = LOOKS[look.key].title
        yield _between(look.key, test, look.sentence, look.value, (good, bad), look.fresh)


def _of_training(results: CheckFigures, further: Mapping[str, Any]) -> Iterator[Evidence]:
    """Yield the tests of two-way tables against the training records, without a holdout."""
    utility = results.utility
    yield missing("tails", "tails and impossible {records}", "checks.unseen")
    sample = further.get("equivalent_sample")
    if isinstance(sample, EquivalentSample):
        fresh = sample.expected[1]
        yield _between(
            "equivalent_sample",
            LOOKS["unseen_pairs"].title,
            "Two-way tables are as precise as a random {value}% of the original {records}",
            sample.sample,
            (GOOD_SAMPLE * fresh, BAD_SAMPLE * fresh),
            fresh,
        )
    else:
        remedy = "checks.equivalent_sample"
        yield missing("equivalent_sample", LOOKS["unseen_pairs"].title, remedy)
    if utility is None:
        return
    figures = {figure.key: figure.value for _, figure in utility.figures}
    scale = max(1.0, (utility.fresh or 2.0) / 2)
    mean, worst = figures.get("mean_two_way"), figures.get("worst_two_way")
    if mean is not None:
        yield _between(
            "mean_two_way",
            "two-way tables",
            "The mean S_pMSE of two-way tables (distance from the original; 1 is ideal) is {value}",
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


def _associations_preserved(utility: UtilityResult) -> float | None:
    """Return the preserved share of the original's associations; None without any."""
    rows = () if utility.tables is None else utility.tables.rows
    return kept_share((r.v_original, r.v_synthetic) for r in rows if r.v_original is not None)


def _of_associations(utility: UtilityResult) -> Iterator[Evidence]:
    """Yield the test of associations."""
    share = _associations_preserved(utility)
    if share is not None:
        yield _between(
            "associations",
            LOOKS["associations"].title,
            "{value}% of the associations between variables are preserved",
            share,
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
    limits: tuple[float, float],
    fresh: float | None = None,
) -> Evidence:
    """Return the test of a value by two limits: of pass, and of fail.

    ``sentence`` contains {value}; limit and value of a new sample are added.
    """
    good, bad = limits
    sign, least, side = (-1, "least", "below") if key in AT_LEAST else (1, "most", "above")
    word: Word = (
        "pass" if sign * (value - good) <= 0 else "fail" if sign * (value - bad) > 0 else "unclear"
    )
    unit, percent = (100, "%") if "{value}%" in sentence else (1, "")
    marks = [sign * unit * x for x in (value, bad, fresh) if x is not None]
    shown, fails, *sample, limit = (t.lstrip("-") for t in agreeing(marks, sign * unit * good, 1))
    limit = f"limit: at {least} {limit}{percent}; fails {side} {fails}{percent}"
    limit += f"; a new sample: {sample[0]}{percent}" if sample else ""
    sentence = f"{sentence.replace('{value}', shown)} ({limit})."
    fields: dict[str, Any] = {"value": value, "mark": good, "fresh": fresh, "fails": bad}
    return Evidence(key=key, test=test, word=word, sentence=sentence, **fields)


# Tests that a profile, a purpose or the steward requires.


def _of_limit(
    results: CheckFigures, key: str, limit: float, *, of_steward: bool = False
) -> list[Evidence]:
    """Return the test of each figure with this limit, by its interval if there is one.

    A limit of the steward (``of_steward``) fails by the value, like exit code 3.
    """
    measure, kind, stated = LIMITS[key]
    test = f"limits.{key}" if of_steward else kind.name
    evidence = []
    for about, figure in results.limited(key):
        title = f"{kind.title[:1].upper()}{kind.title[1:]}{f' ({about})' if about else ''}"
        value = None if figure is None else getattr(figure, stated.judged)
        if figure is None or value is None:
            words = f"{title} could not be computed."
            failed = Evidence(key=key, test=test, word="fail", sentence=words)
            evidence.append(failed if of_steward else missing(key, test, f"checks.{measure.check}"))
            continue
        if limit == inf:
            words = f"{title}: {value:.3f}. The profile sets no limit."
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
            f"{title}: {text}{ends}, limit {shown}.{new}",
            (value, value if of_steward else low, high),
            limit,
            fresh=figure.new_sample,
            released=figure.original,
        )
        evidence.append(e.model_copy(update={"low": low}))
    return evidence


def _of_structure(results: CheckFigures, key: str, _: float) -> list[Evidence]:
    """Return the test that variables, kinds and missing codes equal the original's."""
    if results.utility is None:
        return [missing(key, "structure", "checks.two_way")]
    faults = [*(e.sentence for e in of_columns(results)), *results.unlike]
    words = "The datasets have the variables of the original, of the same kinds."
    sentence = " ".join(faults) or words
    return [Evidence(key=key, test=key, word="fail" if faults else "pass", sentence=sentence)]


def _of_relations(results: CheckFigures, key: str, limit: float) -> list[Evidence]:
    """Return the test of associations for a purpose that forbids them."""
    share = None if results.utility is None else _associations_preserved(results.utility)
    if share is None:
        return [missing(key, "relations", "checks.two_way")]
    words = f"{share:.0%} of the associations between variables are preserved (limit {limit:.0%})."
    return [judged(key, key, words, (share, share, share), limit)]


_BY_FIGURE = (
    "membership", "identity_disclosure", "replicated_uniques", "disco", "mean_two_way",
    "worst_two_way", "worst_one_way",
)  # fmt: skip
_OPTIONAL_TESTS: Mapping[str, Callable[[CheckFigures, str, float], list[Evidence]]] = {
    **dict.fromkeys(_BY_FIGURE, _of_limit),
    "rare_codes": of_all_rare,
    "rare_extremes": of_all_rare,
    "structure": _of_structure,
    "relations": _of_relations,
}
"""Tests that a profile or a purpose names."""


def _subject(measure: Measure) -> Subject:
    """Return the line of a limit."""
    if measure.axis == "utility":
        return "use"
    is_personal = measure.of_person or measure.family in ("splits", "halves")
    return "person" if is_personal else "anybody"
