"""May these data be released? Three lines that can be defended, from what the checks found.

1. What the release adds to what an intruder knows about a person who is in the data.
2. What it shows about anybody, beside what a fresh sample of the same population shows.
3. How useful it is.

Each line says pass, fail or unclear, and why. The interval of a test decides: all of it above the
limit is "fail", all of it at or below is "pass", and an interval that holds the limit is "unclear",
since too few records tell. What was not measured is "unclear", too: no line passes by default.
These are tests of one release; none of them proves that nobody can learn anything.
``docs/decision.md`` says where the limits come from and what they do on files of which the truth is
known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import Any, Literal

from synthesizer.measures.catalogue import LIMITS
from synthesizer.measures.figure import Figure, Result, Row, Units, agreeing, column, in_units
from synthesizer.measures.measure import Measure
from synthesizer.measures.results import CheckResults
from synthesizer.measures.risk.copied import CopiedUniques
from synthesizer.measures.risk.guesses import Guesses
from synthesizer.measures.risk.intervals import wilson
from synthesizer.measures.risk.near_copies import NearCopies
from synthesizer.measures.risk.near_verbatim import NearVerbatim
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.settings import LimitConfig
from synthesizer.measures.utility.equivalent_sample import EquivalentSample
from synthesizer.measures.utility.regressions import Regressions
from synthesizer.measures.utility.suite import UtilityResult

Word = Literal["pass", "unclear", "fail"]
Subject = Literal["person", "anybody", "use"]

TOLERATED = 0.2
"""Of what the data themselves would give away, released as they are: so much may be added."""
SMALLEST = 0.02
"""A difference of shares that is always tolerated: two persons of a hundred."""
EXCESS: Mapping[str, float] = {"public": 0.05, "contract": 0.09}
"""Share of the persons in the data, beyond that of the holdout, to whom records may point or whose
values may be guessed: in a public release, and under a contract."""
VERBATIM = 0.005
"""The same of verbatim records, whoever gets the data."""
GROUP_EXCESS, FEW_PERSONS = 0.2, 5
"""The same of the persons of one group, of more than 5 of them."""
NEAR_COPIES = 0.1
"""Of what the data themselves have: from here synthetic records stand beside single ones."""
FEW_ATTACKS = 100
"""Conditions that single somebody out; fewer tell nothing."""
GOOD_MEAN, BAD_MEAN, BAD_TABLE = 3.0, 10.0, 10.0
"""S_pMSE of pairs: their mean should be below the first, and each below the last."""
GOOD_SAMPLE, BAD_SAMPLE = 1 / 2, 1 / 10
"""Of the share of the original that a fresh sample is as good as."""
GOOD_COEFFICIENTS, BAD_COEFFICIENTS = 2.0, 4.0
"""Times the share of coefficients that a fresh sample has beyond 1.96 standard errors."""
ASSOCIATED = 0.1
"""Cramer's V from which on two variables go together: a small effect (Cohen 1988)."""
GOOD_KEPT, BAD_KEPT = 0.7, 0.5
"""Of the associations: independent columns keep nothing, a fresh sample nearly all."""
AT_LEAST = frozenset({"equivalent_sample", "associations", "few_records"})
"""Tests whose value must reach its mark; others must not exceed it."""
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
_WEAK = "The data themselves would pass: name keys that tell more."


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
        told = [e for e in self.evidence if e.word == self.word]
        if self.word == "pass" and self.subject != "use":
            told.sort(
                key=lambda e: -((e.value if e.high is None else e.high) or 0.0) / (e.mark or 1)
            )
        return min(told, key=lambda e: not e.measured, default=None)

    @property
    def brief(self) -> str:
        """The test that decides, and which tests were not made; where all pass, the narrowest."""
        first = self.decisive
        missing = ", ".join(e.test for e in self.evidence if not e.measured)
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
            if e.word != "pass"
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
    few = [*_few_records(results)]
    tolerated = EXCESS[(limits or LimitConfig()).release]
    found: dict[Subject, list[Evidence]] = {
        "person": [*few, *_of_person(results, tolerated)],
        "anybody": [*few, *_of_anybody(results, tolerated)],
        "use": [*few, *_of_use(results)],
    }
    for key in () if limits is None else limits.asked:
        own = _limited(key, results, limits)
        subject = _subject(LIMITS[key][0])
        found[subject] = [e for e in found[subject] if e.key != key] + own
    units = results.risk.units
    return Verdict(lines=tuple(_line(subject, found[subject], units) for subject in TITLES))


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
    word = _gravest(e.word for e in every)
    if word == "pass":
        told = [e.sentence for e in every]
    else:
        told = [e.sentence for e in every if e.word == word and e.measured][:_NAMED]
        told += _not_measured([e for e in every if not e.measured])
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

    ``scale`` is what is known of ``fresh`` and ``released``.

    ``around_0`` is the sentence where the interval shows no more than none.
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
    original = synthetic = FEW_RECORDS
    if copied is not None:
        original, synthetic = copied.n, min(row.n for row in copied.rows)
    elif utility is not None:
        original, synthetic = utility.n, min(utility.n_synthetic, default=0)
    for whose, n in (("The original", original), ("A synthetic dataset", synthetic)):
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


def _of_person(results: CheckResults, tolerated: float) -> Iterator[Evidence]:
    risk = results.risk
    yield from _left_out(results)
    if risk.unlike:
        yield _unlike("that risk seems lower")
    if risk.copied is None:
        yield _missing("copied_uniques", "verbatim {records}", "checks.copied_uniques")
    for copied in (risk.copied, *(part.copied for part in risk.scenarios)):
        if copied is not None:
            yield from _of_copies(copied)
    near = risk.further.get("near_verbatim")
    if isinstance(near, NearVerbatim):
        yield from _of_near_verbatim(near, tolerated)
    else:
        yield _missing("near_verbatim", "near-verbatim {records}", "checks.near_verbatim")
        copies = risk.further.get("near_copies")
        if isinstance(copies, NearCopies):
            mark = NEAR_COPIES if risk.units == "records" else TOLERATED
            yield from _of_near_copies(copies, mark)
    guessed = risk.further.get("guesses")
    if isinstance(guessed, Guesses):
        yield _of_guesses(guessed, tolerated)
    else:
        yield _missing("guesses", "guessed attributes", "checks.guesses")
    for part in risk.scenarios:
        yield from _of_halves(part)
    yield from _of_singling_out(results)
    yield from _of_careers(results)


def _of_copies(copied: CopiedUniques) -> Iterator[Evidence]:
    """Yield whether more records are there verbatim than a fresh sample has."""
    key = "copied_uniques" if copied.title == "copied uniques" else "copied_keys"
    alarm, row, control = copied.alarm, copied.worst, copied.control
    if control is not None and control.is_above:
        yield _unclear(
            "control",
            "control",
            f"The control is no fresh sample: {control.present:,} of its {{records}} are "
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


def _of_near_verbatim(near: NearVerbatim, tolerated: float) -> Iterator[Evidence]:
    """Yield what near-verbatim persons, the worst group and repeats say."""
    shown, widest = near.worst, near.widest
    if shown.low <= tolerated < widest.high:
        shown = widest
    found = near.noticed * near.n
    yield _judged(
        "near_verbatim",
        "near-verbatim {records}",
        f"A synthetic {{record}} points to {shown.inside:,} of {near.n:,} {{records}} in the data, "
        f"and to {shown.outside:,} of {near.n_outside:,} held out: {{ends}} more ({{mark}} is "
        f"tolerated). {ceil(found):,} near copies would have been noticed.",
        (shown.excess, shown.low, shown.high),
        tolerated,
        released=1 - shown.outside / near.n_outside,
    )
    verbatim = near.looks[0]
    if verbatim.low > VERBATIM:
        yield Evidence(
            key="near_verbatim_0",
            test="verbatim {records} beside the holdout",
            word="fail",
            sentence=f"Verbatim {{records}} point to {verbatim.inside:,} of {near.n:,} {{records}} "
            f"in the data, and to {verbatim.outside:,} of {near.n_outside:,} held out.",
            value=verbatim.excess,
            low=verbatim.low,
            high=verbatim.high,
            mark=VERBATIM,
            released=1 - verbatim.outside / near.n_outside,
        )
    for group in near.groups[:1]:
        least = max(GROUP_EXCESS, FEW_PERSONS / group.n)
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


def _of_guesses(guessed: Guesses, tolerated: float) -> Evidence:
    """Return what the target says that is guessed most beyond the holdout."""
    worst = guessed.guesses[0]
    return _most_certain(
        "guesses",
        "guessed attributes",
        f"From {worst.known}, {worst.target} is guessed right of {worst.inside:,} of "
        f"{guessed.n:,} {{records}} in the data, and of {worst.outside:,} of "
        f"{guessed.n_outside:,} held out.",
        worst.excess,
        worst.low,
        tolerated,
        1 - worst.outside / guessed.n_outside,
    )


def _most_certain(
    key: str, test: str, sentence: str, value: float, low: float, mark: float, released: float
) -> Evidence:
    """Judge the largest of many excesses: its lower end fails, its value leaves open."""
    word: Word = "fail" if low > mark else "unclear" if value > mark else "pass"
    fields = {"value": value, "low": low, "mark": mark, "released": released}
    return Evidence(key=key, test=test, word=word, sentence=sentence, **fields)


def _of_near_copies(near: NearCopies, mark: float) -> Iterator[Evidence]:
    """Yield "fail" where records are nearer to one person than a fresh sample's.

    The mark of persons of panels and households is that of the other tests: theirs was not tried on
    files of which the truth is known. That they are no nearer is no proof that nobody is
    remembered: then nothing is said.
    """
    excess = near.excess
    if excess is not None and excess[1] > mark:
        yield Evidence(
            key="near_copies",
            test="near copies",
            word="fail",
            sentence="Synthetic {records} stand beside single {records} of the original, "
            f"{excess[0]:.2f} of the way from a fresh sample (0) to a copy (1), interval "
            f"{_ends(*excess[1:], mark)[0]}.",
            value=excess[0],
            low=excess[1],
            high=excess[2],
            mark=mark,
            released=1.0,
        )


def _mark(released: float | None) -> float:
    """Return the mark of a difference that is ``released`` if the data are."""
    return max(TOLERATED * (released or 0.0), SMALLEST)


def _of_halves(part: ScenarioRisk) -> Iterator[Evidence]:
    """Yield what the half split says about keys and target."""
    if part.differential is None:
        return
    figures = {figure.key: figure for figure in part.differential.figures}
    figure = figures["differential_confidentiality"]
    mark = _mark(figure.original)
    interval = (figure.value, figure.low, figure.high)
    if None in interval and figure.value == 0:  # every score is the same in both halves
        interval = (0.0, 0.0, 0.0)
    target = part.scenario.target
    as_are = "" if figure.original is None else f"; the data themselves: {figure.original:.2f}"
    tolerated = f"({{mark}} is tolerated{as_are})."
    evidence = _judged(
        figure.key,
        f"half split, {target}",
        f"The right {target} is read off more often for {{records}} in the data than for others, "
        f"by {{ends}} {tolerated}",
        interval,
        mark,
        f"How often the right {target} is read off differs by {{ends}} between {{records}} in the "
        f"data and others {tolerated}",
        released=figure.original,
    )
    if figure.original is not None and figure.original <= mark and evidence.word != "fail":
        words = _WEAK
        if evidence.word == "unclear":
            words = (
                f"These keys tell hardly anything about {target} even from the data themselves, "
                "so that the half split cannot tell: name keys that tell more."
            )
        evidence = _weakened(evidence, words)
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


def _of_singling_out(results: CheckResults) -> Iterator[Evidence]:
    attacks = results.risk.attacks
    if attacks is None and "guesses" in results.risk.further and not results.risk.scenarios:
        return  # nobody names keys: every variable is guessed from all others
    if attacks is None:
        yield _missing("attack_risk", "singling out", "checks.attacks")
        return
    told = [a for a in attacks.attacks if a.name.startswith("singling") and a.n >= FEW_ATTACKS]
    if not told:
        yield _unclear(
            "attack_risk",
            "singling out",
            f"Fewer than {FEW_ATTACKS} conditions single a synthetic {{record}} out, too "
            "few for the attack to tell.",
        )
        return
    worst = max(told, key=lambda attack: -1.0 if attack.low is None else attack.low)
    yield _judged(
        "attack_risk",
        worst.name,
        "Conditions that single out one {record} are right more often for {records} in the data, "
        "by {ends} ({mark} is tolerated).",
        (worst.risk, worst.low, worst.high),
        TOLERATED,
        "How often conditions that single out one {record} are right differs by {ends} between "
        "{records} in the data and others ({mark} is tolerated).",
        released=1.0,
    )


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
            f"fresh persons would have {chance:.2f} ({{mark}} is tolerated).",
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
                "Being in the data adds {ends} to what parts of a career tell of the rest ({mark} "
                "is tolerated).",
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
            "the original, with all members ({mark} is tolerated).",
            (households.value, low, high),
            mark,
            released=households.original,
        )


def _of_figure(figure: Figure, test: str, sentence: str, released: float | None) -> Evidence:
    """Hold a difference against the mark of what releasing the original would give."""
    interval = (figure.value, figure.low, figure.high)
    return _judged(figure.key, test, sentence, interval, _mark(released), released=released)


# Anybody.

_ONE = {"CAP": "CAP, one dataset", "DiSCO": "DiSCO"}
_SHOWN = {
    "CAP": "The keys ({keys}) tell the right {target} at a rate of",
    "DiSCO": "The keys disclose {target} for a share of",
}


def _of_anybody(results: CheckResults, tolerated: float) -> Iterator[Evidence]:
    guessed = results.risk.further.get("guesses")
    if isinstance(guessed, Guesses):
        yield _of_gains(guessed, tolerated)
    scenarios = [part for part in results.risk.scenarios if part.cap is not None and part.cap.fresh]
    for part in scenarios:
        yield from _beyond_fresh(part)
    if not scenarios and not isinstance(guessed, Guesses):
        yield _missing("cap_beyond", "CAP and DiSCO", "checks.cap (with keys and a target)")


def _of_gains(guessed: Guesses, tolerated: float) -> Evidence:
    """Return what the target says that is guessed most beyond a fresh sample."""
    worst = guessed.gains[0]
    return _most_certain(
        "guesses_of_anybody",
        "guesses beyond a fresh sample",
        f"From {worst.known}, {worst.target} of {worst.synthetic:,} of {guessed.n_outside:,} "
        f"{{records}} held out is guessed right, and of {worst.fresh:,} from a fresh sample.",
        worst.gain,
        worst.low,
        tolerated,
        1 - worst.fresh / guessed.n_outside,
    )


def _beyond_fresh(part: ScenarioRisk) -> Iterator[Evidence]:
    """Yield what one dataset gives away with the keys beyond a fresh sample."""
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
            f"({_ONE[row.name]}), a fresh sample {row.fresh:.2f}, the original "
            f"{row.released:.2f}: beyond the fresh sample {{ends}} ({{mark}} is tolerated).",
            figure.original,
        )
        # said once of the same keys
        weak = figure.original is not None and figure.original <= _mark(figure.original)
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
    sample = further.get("equivalent_sample")
    if isinstance(sample, EquivalentSample):
        fresh = sample.expected[1]
        yield _between(
            "equivalent_sample",
            "as good as a sample",
            f"As good as a random sample of {sample.sample:.0%} of the original for pairs of "
            f"variables (a fresh sample of the population: {fresh:.0%}).",
            -sample.sample,
            (-GOOD_SAMPLE * fresh, -BAD_SAMPLE * fresh),
            shown=sample.sample,
            fresh=fresh,
            released=1.0,
        )
    else:
        remedy = "checks.equivalent_sample, a measure of utility"
        yield _missing("equivalent_sample", "as good as a sample of the original", remedy)
    if utility is None:
        return
    figures = {figure.key: figure.value for _, figure in utility.figures}
    scale = max(1.0, (utility.fresh or 2.0) / 2)
    mean, worst = figures.get("mean_two_way"), figures.get("worst_two_way")
    if mean is not None:
        marks = (GOOD_MEAN * scale, BAD_MEAN * scale)
        text, _ = agreeing([mean], min(marks, key=lambda mark: abs(mark - mean)), 1)
        yield _between(
            "mean_two_way",
            "tables of pairs",
            f"Tables of pairs have a mean S_pMSE of {text} (up to {marks[0]:g} is good, above "
            f"{marks[1]:g} bad).",
            mean,
            marks,
            fresh=utility.fresh,
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
    regressions = further.get("regressions")
    if isinstance(regressions, Regressions) and regressions.rows:
        fresh = regressions.expected_shares[1]
        beyond = regressions.beyond or 0.0
        yield _between(
            "regressions_beyond",
            "regressions",
            f"{beyond:.0%} of the coefficients of regressions are clearly off (a fresh sample: "
            f"{fresh:.0%}).",
            beyond,
            (GOOD_COEFFICIENTS * fresh, BAD_COEFFICIENTS * fresh),
            fresh=fresh,
        )


def _of_associations(utility: UtilityResult) -> Iterator[Evidence]:
    """Yield how much is left of what goes together in the original."""
    rows = () if utility.tables is None else utility.tables.rows
    pairs = [
        (row.v_original, row.v_synthetic or 0.0)  # None: one of the two is constant there
        for row in rows
        if row.v_original is not None and row.v_original >= ASSOCIATED
    ]
    if pairs:
        kept = sum(map(min, pairs)) / sum(ours for ours, _ in pairs)
        yield _between(
            "associations",
            "associations",
            f"{kept:.0%} of the associations between variables are kept (independent columns: 0%).",
            -kept,
            (-GOOD_KEPT, -BAD_KEPT),
            shown=kept,
            fresh=None,
            released=1.0,
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
    shown: float | None = None,
    **scale: float | None,
) -> Evidence:
    """Judge a loss by two marks: up to the first it is good, above the second bad.

    ``scale`` is what is known of ``fresh`` and ``released``.
    """
    good, bad = marks
    word: Word = "pass" if value <= good else "fail" if value > bad else "unclear"
    fields: dict[str, Any] = {"value": value if shown is None else shown, **scale}
    return Evidence(key=key, test=test, word=word, sentence=sentence, mark=abs(good), **fields)


# Limits of the steward.


def _subject(measure: Measure) -> Subject:
    """Return the line that a limit belongs to."""
    if measure.axis == "utility":
        return "use"
    of_person = measure.family in ("splits", "halves") or measure.place in _OF_PERSON
    return "person" if of_person else "anybody"


_OF_PERSON = (
    "copied", "near_copies", "replicated", "careers", "repeated_households", "trajectories",
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
