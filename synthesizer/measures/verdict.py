"""May these data be released? Three lines that can be defended, from what the checks found.

1. What the release adds to what an intruder knows about a person who is in the data.
2. What it shows about anybody, beside what a new sample of the same population shows.
3. How useful it is.

Each line says pass, fail or unclear, and why. The interval of a test decides: all of it above the
limit is "fail", all of it at or below is "pass", and an interval that holds the limit is "unclear",
since too few records tell. What was not measured is "unclear", too: no line passes by default.
These are tests of one release; none of them proves that nobody can learn anything.
``docs/decision.md`` says where the limits come from and what they do on files of which the truth is
known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import ceil, inf, sqrt
from typing import Any, Literal

from synthesizer.data.errors import plural
from synthesizer.measures.catalogue import LIMITS
from synthesizer.measures.figure import Figure, Result, Row, Units, agreeing, column, in_units
from synthesizer.measures.measure import Measure
from synthesizer.measures.profiles import profiles
from synthesizer.measures.results import CheckResults, RiskResult
from synthesizer.measures.risk.copied import CopiedUniques
from synthesizer.measures.risk.guesses import Guesses
from synthesizer.measures.risk.intervals import wilson
from synthesizer.measures.risk.near_verbatim import NearVerbatim
from synthesizer.measures.risk.rare_values import RareValues
from synthesizer.measures.risk.releases import Together
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.settings import LimitConfig
from synthesizer.measures.utility.equivalent_sample import EquivalentSample
from synthesizer.measures.utility.regressions import Regressions
from synthesizer.measures.utility.suite import UtilityResult
from synthesizer.measures.utility.unseen import LOOK_TITLES, Unseen, kept_share

Word = Literal["pass", "unclear", "fail"]
Subject = Literal["person", "anybody", "use"]
LimitOf = Callable[[str], float]
"""Returns the limit of a test by the profile."""

TOLERATED = 0.2
"""Of what the data themselves would give away, released as they are: so much may be added."""
SMALLEST = 0.02
"""A difference of shares that is always tolerated: two persons of a hundred."""
FEW_PERSONS = 5
"""Persons of one group to whom records may point beyond the holdout, however small it is."""
FEW_ATTACKS = 100
"""Conditions that single somebody out; fewer tell nothing."""
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
AT_LEAST = frozenset({"equivalent_sample", "unseen_pairs", "associations", "few_records"})
"""Tests whose value must reach its mark; others must not exceed it."""
MUCH_LARGER = 1.5
"""Times the records of the original, from which on CAP of a whole dataset is only shown."""
FEW_RECORDS = 100
"""Fewer tell nothing about tables and rates."""

COLOURS: Mapping[Word, str] = {"pass": "green", "unclear": "yellow", "fail": "red"}
TITLES: Mapping[Subject, str] = {
    "person": "A person in the data",
    "anybody": "Anybody",
    "use": "Use",
}
"""What each line is about."""
_ORDER: tuple[Word, ...] = ("pass", "unclear", "fail")
HALVES = ("near_verbatim", "attack_risk")
"""Tests that need records which the synthesis never saw: a half, or a control file."""
_COLUMN = "column "
"""How what failed begins where it is a column of compared files."""
_NAMED = 2
"""Findings that the sentence of a line tells; the others are in its evidence."""
_KEYS = 3
"""Keys that a sentence names; others are counted."""
_WEAK = "Even the original would pass, so this test is not informative: name other keys."


class Evidence(Row):
    """What one test says."""

    key: str
    """Of its figure, or of the check that was not made."""
    test: str = column("Test", "text")
    word: Word = column("Says", "text")
    sentence: str = column("Because", "text")
    value: float | None = column("Value", "share", default=None)
    low: float | None = column("From", "share", "lower end of its 95 % interval", default=None)
    high: float | None = column("To", "share", "upper end", default=None)
    mark: float | None = column("Mark", "share", "what the interval is held against", default=None)
    fresh: float | None = 0.0
    """Value of a new sample of the same population: one end of its scale. None if not known."""
    released: float | None = None
    """Value of releasing the original: the other end. None if not known."""
    measured: bool = True
    """Whether the test was made."""
    is_weak: bool = False
    """Whether the data themselves would pass, too: its keys tell next to nothing."""
    decides: bool = True
    """Whether the word of its line depends on it, by profile and purpose."""


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
        """The test that decides; where all pass, the narrowest. None if nothing was looked at."""
        told = [e for e in self.evidence if e.decides and e.word == self.word]
        if self.word == "pass" and self.subject != "use":
            told.sort(
                key=lambda e: -((e.value if e.high is None else e.high) or 0.0) / (e.mark or 1)
            )
        return min(told, key=lambda e: not e.measured, default=None)

    @property
    def brief(self) -> str:
        """The test that decides, and which tests were not made; where all pass, the narrowest."""
        first = self.decisive
        missing = ", ".join(e.test for e in self.evidence if e.decides and not e.measured)
        told = [first.sentence] if first is not None and first.measured else []
        return " ".join([*told, *([f"Not measured: {missing}."] if missing else [])])


class Verdict(Result):
    """May these data be released? Three lines, and the tests behind them.

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
        """The gravest of the three."""
        return _gravest(line.word for line in self.lines)

    @property
    def findings(self) -> tuple[tuple[Subject, Evidence], ...]:
        """What does not pass, the gravest first, with the line that it is about.

        Of findings with one word those that were measured come first, then the first of each line.
        A figure is there once, with what is gravest of it.
        """
        ranked = [
            (-_ORDER.index(e.word), not e.measured, rank, line.subject, e)
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


def verdict(results: CheckResults, limits: LimitConfig | None = None) -> Verdict:
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
    few = [*_few_records(results)]
    found: dict[Subject, list[Evidence]] = {
        "person": [*few, *_of_person(results, limit)],
        "anybody": [*few, *_of_anybody(results, limit)],
        "use": [*few, *_of_use(results)],
    }
    units = results.risk.units
    for subject, evidence in found.items():
        deciding = profile.deciding(subject, limits.purpose)
        for key in {*(deciding or ())} & {*_ASKED} - {e.key for e in evidence}:
            evidence += _ASKED[key](results, key, limit(key))
        found[subject] = [
            e.model_copy(update={"decides": deciding is None or e.key in deciding})
            for e in evidence
        ]
    for key in limits.asked:
        own = _limited(key, results, limits)
        subject = _subject(LIMITS[key][0])
        found[subject] = [e for e in found[subject] if e.key != key] + own
    return Verdict(
        lines=tuple(_line(subject, found[subject], units) for subject in TITLES),
        terms=f"profile {limits.profile}, {limits.release} release, for {limits.purpose}",
        source=f"Limits of {profile.source}. {profile.note}".strip(),
    )


def _line(subject: Subject, evidence: Iterable[Evidence], units: Units) -> VerdictLine:
    every = sorted(
        (
            e.model_copy(
                update={"test": in_units(e.test, units), "sentence": in_units(e.sentence, units)}
            )
            for e in evidence
        ),
        key=lambda e: -_ORDER.index(e.word),
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
        yield f"Not measured: {', '.join(e.test for e in missing)}. Turn on {', '.join(remedies)}."
    if any(e.key in HALVES for e in missing):
        yield "Of files, name a control: {records} that the synthesis never saw."


def _gravest(words: Iterable[Word]) -> Word:
    """Return the gravest word; without any nothing was measured."""
    return max(words, key=_ORDER.index, default="unclear")


def _judged(
    key: str,
    test: str,
    sentence: str,
    interval: tuple[float | None, float | None, float | None],
    mark: float,
    around_0: str = "",
    **scale: float | None,
) -> Evidence:
    """Hold an interval (value, low, high) against a mark; the sentence has {ends} and {mark}.

    ``around_0`` is the sentence where the interval shows no more than none, ``scale`` what is known
    of ``fresh`` and ``released``.
    """
    value, low, high = interval
    if around_0 and low is not None and low <= 0:
        sentence = around_0
    ends, shown = _ends(low, high, mark)
    word: Word = "unclear"
    if low is not None and low > mark:
        word = "fail"
    elif high is not None and high <= mark:
        word = "pass"
    sentence = sentence.replace("{ends}", ends).replace("{mark}", shown)
    fields: dict[str, Any] = {"value": value, "low": low, "high": high, "mark": mark, **scale}
    return Evidence(key=key, test=test, word=word, sentence=sentence, **fields)


def _unclear(key: str, test: str, sentence: str, **fields: Any) -> Evidence:
    return Evidence(key=key, test=test, word="unclear", sentence=sentence, **fields)


def _missing(key: str, test: str, remedy: str) -> Evidence:
    return _unclear(key, test, remedy, measured=False)


def _unlike(what: str) -> Evidence:
    sentence = f"Two files write missing values in different ways, so {what} than it is."
    return _unclear("unlike", "codes", sentence)


def _left_out(results: CheckResults) -> Iterator[Evidence]:
    """Yield "unclear" where columns were not compared, which may be the worst ones."""
    failed = {**results.failed, **results.risk.failed}
    if results.utility is not None:
        failed |= results.utility.failed
    names = [name.removeprefix(_COLUMN) for name in failed if name.startswith(_COLUMN)]
    if names:
        left_out = f"Columns that cannot be compared are left out: {', '.join(names)}."
        yield _unclear("columns", "columns", left_out)


def _few_records(results: CheckResults) -> Iterator[Evidence]:
    """Yield "unclear" where a file has too few records for whatever is said of it."""
    copied, utility = results.risk.copied, results.utility
    original = synthetic = control = FEW_RECORDS
    if copied is not None:
        original, synthetic = copied.n, min(row.n for row in copied.rows)
        control = control if copied.control is None else copied.control.n
    elif utility is not None:
        original, synthetic = utility.n, min(utility.n_synthetic, default=0)
    names = ("The original", "A synthetic dataset", "The control")
    for whose, n in zip(names, (original, synthetic, control), strict=True):
        if n < FEW_RECORDS:
            what = "{record}" if n == 1 else "{records}"
            sentence = f"{whose} has {n:,} {what}, too few to tell."
            yield _unclear(
                "few_records", "{records}", sentence, value=float(n), mark=FEW_RECORDS, fresh=None
            )


def _ends(low: float | None, high: float | None, mark: float) -> tuple[str, str]:
    """Write an interval and its mark, in hundredths where these lie as the numbers do.

    Examples
    --------
    >>> _ends(-0.001, 0.1, 0.2), _ends(0.1, 0.2004, 0.2)
    (('0.00 to 0.10', '0.20'), ('0.1000 to 0.2004', '0.2000'))
    """
    if low is None or high is None:
        return "no interval", f"{mark:.2f}"
    lower, upper, shown = agreeing([low, high], mark, 2)
    return f"{lower} to {upper}", shown


# A person who is in the data.


def _of_person(results: CheckResults, limit: LimitOf) -> Iterator[Evidence]:
    risk = results.risk
    yield from _left_out(results)
    if risk.unlike:
        yield _unlike("that risk seems lower")
    if risk.copied is None:
        yield _missing("copied_uniques", "verbatim {records}", "checks.copied_uniques")
    for copied in (risk.copied, *(part.copied for part in risk.scenarios)):
        if copied is not None:
            yield from _of_copies(copied)
    yield from _of_near(risk, limit)
    guessed = risk.further.get("guesses")
    if isinstance(guessed, Guesses):
        yield _of_guesses(guessed, limit)
    else:
        yield _missing("guesses", "guessed attributes", "checks.guesses")
    rare = risk.further.get("rare_values")
    if isinstance(rare, RareValues):
        yield _of_rare_levels(rare)
    for part in risk.scenarios:
        yield from _of_halves(part, limit("guesses"))
    yield from _of_attacks(results, limit)
    yield from _of_careers(results)


def _of_near(risk: RiskResult, limit: LimitOf) -> Iterator[Evidence]:
    """Yield what is said of persons to whom synthetic records point."""
    near = risk.further.get("near_verbatim")
    if isinstance(near, NearVerbatim):
        yield from _of_near_verbatim(near, limit)
        if risk.releases is not None:
            yield _of_releases(risk.releases, near, limit("near_verbatim"))
    else:
        yield _missing("near_verbatim", "near-verbatim {records}", "checks.near_verbatim")


def _of_copies(copied: CopiedUniques) -> Iterator[Evidence]:
    """Yield whether more records are there verbatim than a new sample has."""
    key = "copied_uniques" if copied.title == "copied uniques" else "copied_keys"
    alarm, row, control = copied.alarm, copied.worst, copied.control
    if control is not None and control.is_above:
        yield _unclear(
            "control",
            "control",
            f"The control is no new sample: {control.present:,} of its {{records}} are "
            f"{{records}} of the original that nobody else shares (at most {control.most:,} by "
            "chance), so that what is held against it seems less than it is.",
        )
    fields = {
        "key": key,
        "test": "verbatim {records}",
        "value": float(row.present),
        "mark": float(row.most),
        "fresh": None,
        "released": float(copied.uniques),
    }
    if alarm is not None:
        # variables may be kept on purpose where nobody says how the data were made
        word: Word = "fail" if alarm.startswith("ALARM") else "unclear"
        sentence = alarm.removeprefix("ALARM: ").strip()
        yield Evidence(word=word, sentence=f"{sentence[:1].upper()}{sentence[1:]}.", **fields)
    elif copied.uniques:
        unique = "unique {records}"
        if key == "copied_keys":
            unique = f"{{records}} unique by {', '.join(copied.names)}"
        yield Evidence(
            word="pass",
            sentence=f"{row.present:,} of {copied.uniques:,} {unique} are there again; a fresh "
            f"sample could have {row.most:,}.",
            **fields,
        )


def _of_near_verbatim(near: NearVerbatim, limit: LimitOf) -> Iterator[Evidence]:
    """Yield what near-verbatim persons, the worst group and repeats say."""
    verbatim_limit = limit("near_verbatim_0")
    yield _pointing("near_verbatim", "near-verbatim {records}", "A", near, limit("near_verbatim"))
    verbatim = near.looks[0]
    if verbatim.low > verbatim_limit:
        yield Evidence(
            key="near_verbatim_0",
            test="verbatim {records} beside the holdout",
            word="fail",
            sentence=f"Verbatim {{records}} point to {verbatim.inside:,} of {near.n:,} {{records}} "
            f"in the data, and to {verbatim.outside:,} of {near.n_outside:,} held out.",
            value=verbatim.excess,
            low=verbatim.low,
            high=verbatim.high,
            mark=verbatim_limit,
            released=1 - verbatim.outside / near.n_outside,
        )
    for group in near.groups[:1]:
        least = max(limit("near_verbatim_group"), FEW_PERSONS / group.n)
        if group.low > least:
            yield Evidence(
                key="near_verbatim_group",
                test=f"group {group.variable}: {group.group}",
                word="fail",
                sentence=f"Of {group.n:,} {{records}} with {group.variable} {group.group}, "
                f"{group.inside:,} have a synthetic {{record}} that points to them, and "
                f"{group.outside:,} of {group.n_outside:,} held out.",
                value=group.excess,
                low=group.low,
                mark=least,
                released=1 - group.outside / max(group.n_outside, 1),
            )
    if near.repeats > near.repeats_by_chance:
        yield Evidence(
            key="near_verbatim_repeats",
            test="repeats",
            word="fail",
            sentence=f"{near.repeats:,} synthetic {{records}} point to one {{record}} in the data; "
            f"the most of a {{record}} held out is {near.repeats_outside:,}.",
            value=float(near.repeats),
            mark=float(near.repeats_by_chance),
            fresh=float(near.repeats_outside),
        )


def _pointing(key: str, test: str, start: str, near: NearVerbatim, tolerated: float) -> Evidence:
    """Judge the look that decides about a limit."""
    shown = near.telling(tolerated)
    several = f" of {near.datasets} datasets together" if near.datasets > 1 else ""
    return _judged(
        key,
        test,
        f"{start} synthetic {{record}}{several} points to {shown.inside:,} of {near.n:,} "
        f"{{records}} in the data, and to {shown.outside:,} of {near.n_outside:,} held out: "
        f"{{ends}} more (limit {{mark}}). {ceil(near.looks[0].noticed * near.n):,} copies, "
        f"or {ceil(near.noticed * near.n):,} near copies, would have been noticed.",
        (shown.excess, shown.low, shown.high),
        tolerated,
        released=1 - shown.outside / near.n_outside,
    )


def _of_releases(together: Together, near: NearVerbatim, tolerated: float) -> Evidence:
    """Return what all releases of the source give together, or the bound of it."""
    key, test = "releases", "releases together"
    start = f"With {plural(len(together.others), 'other release')} of this source,"
    if together.counted is not None:
        return _pointing(key, test, f"{start} a", together.counted, tolerated)
    bound = together.bound(near.looks)
    if bound is None:
        end = "nothing can be added up: checks of one did not count near-verbatim {records}."
        return _unclear(key, test, f"{start} {end}")
    high = agreeing([bound[0]], tolerated, 2)[0]
    end = (
        f"synthetic {{records}} point to at most {high} more of the {{records}} in the data than "
        "held out (limit {mark}). This is a bound, the sum of the upper ends of all "
        "releases. Set given_out: false in the .releases.json of the source for those nobody got."
    )
    return _judged(key, test, f"{start} {end}", (bound[1], None, bound[0]), tolerated)


def _of_guesses(guessed: Guesses, limit: LimitOf) -> Evidence:
    """Return what the target says that is guessed most beyond the holdout."""
    worst = guessed.guesses[0]
    return _most_certain(
        "guesses",
        "guessed attributes",
        f"From {worst.known}, {worst.target} is guessed right for {worst.inside:,} of "
        f"{guessed.n:,} {{records}} in the data, and for {worst.outside:,} of "
        f"{guessed.n_outside:,} held out.",
        worst.excess,
        worst.low,
        limit("guesses"),
        1 - worst.outside / guessed.n_outside,
    )


def _most_certain(
    key: str, test: str, sentence: str, value: float, low: float, mark: float, released: float
) -> Evidence:
    """Judge the largest of many excesses: its lower end fails, its value leaves open."""
    word: Word = "fail" if low > mark else "unclear" if value > mark else "pass"
    fields = {"value": value, "low": low, "mark": mark, "released": released}
    return Evidence(key=key, test=test, word=word, sentence=sentence, **fields)


def _of_rare_levels(rare: RareValues) -> Evidence:
    """Say how many levels of few persons the datasets name, beside those of code lists."""
    shown = {row.variable: row.names for row in rare.variables if row.names}
    n, outside = sum(shown.values()), sum(row.names_outside for row in rare.variables)
    # a new sample has as many names of the holdout, but for chance
    most = outside + 2 * sqrt(n + outside) if rare.has_control else 0.0
    is_open = n > most
    words = (
        f"{n:,} levels of fewer than {rare.fewer_than} {{records}} are in the datasets and in the "
        f"codebook (variables: {', '.join([*shown][:_KEYS])}{', ...' if len(shown) > _KEYS else ''}"
        "). Write public: true under a variable whose levels are a published list, or group them "
        "by rare."
    )
    return Evidence(
        key="rare_levels",
        test="rare levels",
        word="unclear" if is_open else "pass",
        sentence=words
        if is_open
        else f"{n:,} levels of fewer than {rare.fewer_than} {{records}} are named (limit {most:.0f}"
        ").",
        value=float(n),
        mark=most,
    )


def _of_rare_extremes(rare: RareValues) -> Evidence:
    """Say how many extremes of few persons the datasets have exactly."""
    n = sum(row.rare_extremes for row in rare.variables)
    return Evidence(
        key="rare_extremes",
        test="rare extremes",
        word="fail" if n else "pass",
        sentence=f"{n:,} smallest or largest numbers are exactly those of the original.",
        value=float(n),
        mark=0.0,
    )


def _mark(released: float | None, least: float = SMALLEST) -> float:
    """Return the mark of a difference that is ``released`` if the data are."""
    return max(TOLERATED * (released or 0.0), least)


def _of_halves(part: ScenarioRisk, least: float) -> Iterator[Evidence]:
    """Yield what the half split says about keys and target."""
    if part.differential is None:
        return
    figures = {figure.key: figure for figure in part.differential.figures}
    figure = figures["differential_confidentiality"]
    mark = _mark(figure.original, least)
    interval = (figure.value, figure.low, figure.high)
    if None in interval and figure.value == 0:  # every score is the same in both halves
        interval = (0.0, 0.0, 0.0)
    target = part.scenario.target
    as_are = "" if figure.original is None else f"; releasing the original: {figure.original:.2f}"
    tolerated = f"(limit {{mark}}{as_are})."
    evidence = _judged(
        figure.key,
        f"half split, {target}",
        f"Someone who knows the keys guesses {target} right more often for {{records}} in the data "
        f"than for others, by {{ends}} {tolerated}",
        interval,
        mark,
        f"How often the keys give the right {target} differs by {{ends}} between {{records}} in "
        f"the data and others {tolerated}",
        released=figure.original,
    )
    if figure.original is not None and figure.original <= mark and evidence.word != "fail":
        # the release cannot reveal more than the original
        evidence = _weakened(evidence.model_copy(update={"word": "pass"}), _WEAK)
    yield evidence
    worst = part.differential.worst_group
    if worst is not None and worst.low is not None and worst.low > mark:
        yield _judged(
            "worst_group",
            f"half split, worst group of {worst.by}",
            f"In group {worst.group} of {worst.by} it adds {{ends}}.",
            (worst.difference, worst.low, worst.high),
            mark,
            released=figure.original,
        )


def _weakened(e: Evidence, words: str) -> Evidence:
    """Add that the keys are weak."""
    return e.model_copy(update={"sentence": f"{e.sentence} {words}", "is_weak": True})


def _of_attacks(results: CheckResults, limit: LimitOf) -> Iterator[Evidence]:
    attacks = results.risk.attacks
    if attacks is None and "guesses" in results.risk.further and not results.risk.scenarios:
        return  # nobody names keys: every variable is guessed from all others
    if attacks is None:
        yield _missing("attack_risk", "attacks", "checks.attacks")
        return
    judged = [
        _judged(
            "attack_risk",
            attack.name,
            f"{attack.name[:1].upper()}{attack.name[1:]} succeeds more often for {{records}} in "
            "the data than for {records} held out, by {ends} (limit {mark}).",
            (attack.risk, attack.low, attack.high),
            # where hardly anything is left to gain, a share of it is the noise of a few persons
            max(limit("attack_risk"), limit("attack_persons") / (1 - (attack.control_rate or 0))),
            f"{attack.name[:1].upper()}{attack.name[1:]}: success differs by {{ends}} between "
            "{records} in the data and {records} held out (limit {mark}).",
            released=1.0,
        )
        for attack in attacks.attacks
        if attack.n >= FEW_ATTACKS and attack.risk is not None
    ]
    if judged:
        yield max(judged, key=lambda e: (_ORDER.index(e.word), -1 if e.high is None else e.high))


def _of_careers(results: CheckResults) -> Iterator[Evidence]:
    """Yield what panels and households give away: careers, households of several persons."""
    careers = results.risk.careers
    if careers is not None:
        figure = careers.figures[0]
        chance, value = figure.chance or 0.0, figure.value or 0.0
        mark = chance + _mark((figure.original or 0.0) - chance)
        interval = (value, *wilson(value, max(figure.n, 1)))
        yield _judged(
            figure.key,
            "verbatim careers",
            f"A share of {value:.2f} ({{ends}}) of the synthetic careers are those of one person; "
            f"new persons would have {chance:.2f} (limit {{mark}}).",
            interval,
            mark,
            fresh=chance,
            released=figure.original,
        )
    figures = {figure.key: figure for _, figure in results.risk.other_figures}
    unicity = figures.get("unicity")
    for key in ("careers_beyond", "moves_beyond"):
        figure_of_halves = figures.get(key)
        if figure_of_halves is not None:
            released = None if unicity is None else unicity.value
            yield _of_figure(
                figure_of_halves,
                figure_of_halves.name,
                "Being in the data adds {ends} to what parts of a career tell of the rest (limit "
                "{mark}).",
                released,
            )
    households = figures.get("repeated_households")
    if households is not None and households.value is not None:
        mark = _mark(households.original)
        low, high = wilson(households.value, max(households.n, 1))
        yield _judged(
            households.key,
            "verbatim households",
            f"A share of {households.value:.2f} ({{ends}}) of the synthetic households are one of "
            "the original, with all members (limit {mark}).",
            (households.value, low, high),
            mark,
            released=households.original,
        )


def _of_figure(
    figure: Figure, test: str, sentence: str, released: float | None, least: float = SMALLEST
) -> Evidence:
    """Hold a difference against the mark of what releasing the original would give."""
    interval = (figure.value, figure.low, figure.high)
    mark = _mark(released, least)
    return _judged(figure.key, test, sentence, interval, mark, released=released)


# Anybody.

_ONE = {"CAP": "CAP, one dataset", "DiSCO": "DiSCO"}
_SHOWN = {
    "CAP": "Someone who knows {keys} guesses {target} right at a rate of",
    "DiSCO": "The keys disclose {target} for a share of",
}


def _of_anybody(results: CheckResults, limit: LimitOf) -> Iterator[Evidence]:
    guessed = results.risk.further.get("guesses")
    if isinstance(guessed, Guesses):
        yield _of_gains(guessed, limit)
    scenarios = [part for part in results.risk.scenarios if part.cap is not None and part.cap.fresh]
    copied = results.risk.copied
    is_larger = copied is not None and max(row.n for row in copied.rows) > MUCH_LARGER * copied.n
    for part in scenarios:
        # a larger file guesses better, whoever made it: a sample of it was looked at above
        if not (is_larger and isinstance(guessed, Guesses)):
            yield from _beyond_fresh(part, limit("guesses_of_anybody"))
    if not scenarios and not isinstance(guessed, Guesses):
        yield _missing("cap_beyond", "CAP and DiSCO", "checks.cap (with keys and a target)")


def _of_gains(guessed: Guesses, limit: LimitOf) -> Evidence:
    """Return what the target says that is guessed most beyond a new sample."""
    worst = guessed.gains[0]
    return _most_certain(
        "guesses_of_anybody",
        "guesses beyond a new sample",
        f"From {worst.known}, {worst.target} is guessed right for {worst.synthetic:,} of "
        f"{guessed.n_outside:,} {{records}} held out, and for {worst.fresh:,} from a new sample.",
        worst.gain,
        worst.low,
        limit("guesses_of_anybody"),
        1 - worst.fresh / guessed.n_outside,
    )


def _beyond_fresh(part: ScenarioRisk, least: float) -> Iterator[Evidence]:
    """Yield what one dataset gives away with the keys beyond a new sample."""
    keys, target = part.scenario.keys, part.scenario.target
    named = ", ".join(keys)
    if len(keys) > _KEYS + 1:
        named = f"{', '.join(keys[:_KEYS])} and {len(keys) - _KEYS} others"
    is_weak = False
    for row in () if part.cap is None else part.cap.fresh:
        figure = row.figure
        evidence = _of_figure(
            figure,
            f"{row.name}, {target}",
            f"{_SHOWN[row.name].format(keys=named, target=target)} {row.synthetic:.2f} "
            f"({_ONE[row.name]}), a new sample {row.fresh:.2f}, the original "
            f"{row.released:.2f}: beyond the new sample {{ends}} (limit {{mark}}).",
            figure.original,
            least,
        )
        # said once of the same keys
        weak = figure.original is not None and figure.original <= _mark(figure.original, least)
        if weak and not is_weak:
            evidence, is_weak = _weakened(evidence, _WEAK), True
        yield evidence


# Use.


def _of_use(results: CheckResults) -> Iterator[Evidence]:
    utility = results.utility
    yield from _left_out(results)
    if utility is not None and utility.unlike:
        yield _unlike("that utility seems worse")
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
        test = LOOK_TITLES[look.key]
        yield _between(look.key, test, look.sentence, look.value, (good, bad), look.fresh)


def _of_training(results: CheckResults, further: Mapping[str, Any]) -> Iterator[Evidence]:
    """Yield what tables of pairs say beside the training records, where there is no holdout."""
    utility = results.utility
    sample = further.get("equivalent_sample")
    if isinstance(sample, EquivalentSample):
        fresh = sample.expected[1]
        yield _between(
            "equivalent_sample",
            "accuracy of pairs",
            "Pairs of variables are as accurate as in a random {value}% of the original",
            sample.sample,
            (GOOD_SAMPLE * fresh, BAD_SAMPLE * fresh),
            fresh,
        )
    else:
        remedy = "checks.equivalent_sample, a measure of utility"
        yield _missing("equivalent_sample", "accuracy of pairs", remedy)
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
        yield _unclear(
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
            LOOK_TITLES["associations"],
            "{value}% of the associations between variables are kept",
            kept,
            (GOOD_KEPT, BAD_KEPT),
        )


def _worst_pair(results: CheckResults) -> str:
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


# Tests that a profile or a purpose asks for, and no other.


def _asked_figure(results: CheckResults, key: str, limit: float) -> list[Evidence]:
    """Judge every figure with a key; without a limit it is shown, and decides nothing."""
    measure, kind, _ = LIMITS[key]
    figures = [f for _, f in results.figures if f.key == key and f.value is not None]
    if not figures:
        return [_missing(key, kind.name, f"checks.{measure.check}")]
    name = f"{kind.name[:1].upper()}{kind.name[1:]}"
    if limit == inf:
        words = f"{name}: {figures[0].value:.3f}. The profile sets no limit."
        return [_unclear(key, kind.name, words, value=figures[0].value)]
    return [
        _judged(
            key,
            kind.name,
            f"{name}: {f.value:.3f} ({{ends}}), limit {{mark}}.",
            (f.value, *((f.value, f.value) if f.low is None else (f.low, f.high))),
            limit,
        )
        for f in figures
    ]


def _of_rare(results: CheckResults, key: str, _: float) -> list[Evidence]:
    rare = results.risk.further.get("rare_values")
    if not isinstance(rare, RareValues):
        return [_missing(key, "rare values", "checks.rare_values")]
    return [_of_rare_extremes(rare)]


def _of_structure(results: CheckResults, key: str, _: float) -> list[Evidence]:
    """Say whether the variables of the original are there, of its kind and with its codes."""
    if results.utility is None:
        return [_missing(key, "structure", "checks of utility")]
    faults = [e.sentence for e in _left_out(results)]
    faults += results.unlike
    words = "The datasets have the variables of the original, of the same kinds."
    sentence = " ".join(faults) or words
    return [Evidence(key=key, test=key, word="fail" if faults else "pass", sentence=sentence)]


def _of_relations(results: CheckResults, key: str, limit: float) -> list[Evidence]:
    """Say whether relations were kept, where none should be."""
    kept = None if results.utility is None else _associations_kept(results.utility)
    if kept is None:
        return [_missing(key, "relations", "checks.two_way")]
    words = f"{kept:.0%} of the associations between variables are kept, limit {limit:.0%}."
    word: Word = "pass" if kept <= limit else "fail"
    return [Evidence(key=key, test=key, word=word, sentence=words, value=kept, mark=limit)]


_ASKED: Mapping[str, Callable[[CheckResults, str, float], list[Evidence]]] = {
    "membership": _asked_figure,
    "identity_disclosure": _asked_figure,
    "replicated_uniques": _asked_figure,
    "disco": _asked_figure,
    "mean_two_way": _asked_figure,
    "worst_two_way": _asked_figure,
    "worst_one_way": _asked_figure,
    "rare_extremes": _of_rare,
    "structure": _of_structure,
    "relations": _of_relations,
}


# Limits of the steward.


def _subject(measure: Measure) -> Subject:
    """Return the line that a limit belongs to."""
    if measure.axis == "utility":
        return "use"
    of_person = measure.family in ("splits", "halves") or measure.place in _OF_PERSON
    return "person" if of_person else "anybody"


_OF_PERSON = (
    "copied", "replicated", "careers", "repeated_households", "trajectories",
)  # fmt: skip
"""Places of measures that look for persons who are there again."""


def _limited(key: str, results: CheckResults, limits: LimitConfig | None) -> list[Evidence]:
    """Return what a limit says in place of the mark of its figure."""
    limit = getattr(limits, key)
    name = LIMITS[key][1].title
    evidence = []
    for place, value in results.limited(key):
        where = f"{name} ({place})" if place else name
        above = value is None or value > limit
        found = "could not be computed"
        if value is not None:
            found = f"is {agreeing([value], limit, 3)[0]}"
        evidence.append(
            Evidence(
                key=key,
                test=f"limits.{key}",
                word="fail" if above else "pass",
                sentence=f"{where[:1].upper()}{where[1:]} {found}, the limit is {limit:g}.",
                value=value,
                mark=limit,
                fresh=None,
            )
        )
    return evidence
