"""May these data be released: the verdict, limits, missing checks; what is worst, what helps.

A remedy is named where a finding itself says it: a check that was not made, files that do not go
together, keys that say little. Which setting of a model helps is not guessed: `advise` tries some.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from json import dumps
from math import inf
from typing import NamedTuple, get_args

from synthesizer.data.errors import plural
from synthesizer.measures.catalogue import LIMITS
from synthesizer.measures.evidence import Evidence, Word
from synthesizer.measures.figure import Result, Row, Units, column, plain
from synthesizer.measures.settings import LimitConfig
from synthesizer.measures.utility.coefficients import FitComparison
from synthesizer.measures.utility.unseen import Unseen
from synthesizer.measures.verdict import (
    AT_LEAST,
    HALVES,
    TITLES,
    CheckResults,
    Subject,
    Verdict,
    verdict,
)
from synthesizer.report.blocks import (
    Added,
    Block,
    Fold,
    Gap,
    Note,
    Words,
    interval,
    row_table,
    section,
    stopped,
    with_minus,
    written,
)
from synthesizer.report.expected import (
    UNITS,
    UNITS_OF_GROUPS,
    copied_in_words,
    distance_in_words,
    expected_of,
    lost_fits,
    overlap_in_words,
    table_mark,
    tables_of,
)
from synthesizer.report.record import Record
from synthesizer.report.risk import TONES
from synthesizer.report.scale import verdict_charts


@section("glance", "May these data be released?", "")
def glance_section(record: Record) -> Iterator[Block]:
    """Yield the verdict: a word, a sentence and a picture a line; all else is opened on demand.

    What is seen at once has at most 80 words.
    """
    yield from verdict_charts(record.verdict)
    if alerts := list(_alerts(record)):
        yield Note(f"{'; '.join(alerts)}.", "alert", "Mind:")
    yield Fold("Why", list(_reasons(record)))
    worst = [one for one in worst_things(record.verdict, record) if one.measured]
    if tries := [one.change for one in worst if one.change]:
        yield Fold("What to change", [Words(tries)])
    if missing := list(_missing(record)):
        yield Fold("What was not measured", missing)


def _alerts(record: Record) -> Iterator[str]:
    """Yield in a few words each what no reader may miss; the folds have it in full."""
    columns = sum(name.startswith("column ") for name in record.results.failed)
    tests = {e.key for line in record.verdict.lines for e in line.evidence}
    if record.exceeded:
        yield f"{plural(len(record.exceeded), 'limit')} exceeded"
    if record.changes:
        yield "files have changed"
    if columns:
        yield f"{plural(columns, 'column')} not compared"
    if "control" in tests:
        yield "the control is no new sample"
    if record.results.unlike:
        yield "missing codes differ"


def _reasons(record: Record) -> Iterator[Block]:
    """Yield what is behind the verdict: sentences, limits, bad results, every test."""
    lines, limits = record.verdict.lines, record.manifest.config.get("limits") or {}
    for line in lines:
        yield Note(with_minus(line.sentence), TONES[line.word], f"{line.title}: {line.word}.")
    yield Note(f"{record.verdict.source} ({record.verdict.terms})", start="Limits.")
    for words in (*record.exceeded, *record.results.unlike):
        yield Note(stopped(words), "alert")
    if (n := sum(limits.get(key) is not None for key in LIMITS)) and not record.exceeded:
        yield Note(f"Kept: {plural(n, 'limit')} of the configuration.", "good")
    yield from bad_utility(record)
    every = [(line.title, e) for line in lines for e in line.evidence if e.measured]
    if every:
        more = (
            Added("95 % interval", "text", lambda e: interval(e.low, e.high)),
            Added("Limit", "text", _limit),
            Added("Because", "text", lambda e: with_minus(e.sentence)),
        )
        table = row_table(
            [e for _, e in every],
            "Every test: its interval is compared with the limit (docs/verdict.md)",
            names=("test", "word", "value"),
            more=more,
            highlight=[i for i, (_, e) in enumerate(every) if e.word == "fail"],
            labels=("About", [title for title, _ in every]),
        )
        yield replace(table, stacks=True, sortable=False)
    if record.units == "persons":
        yield Note(UNITS_OF_GROUPS.format(own.unit) if (own := record.manifest.groups) else UNITS)


def _limit(e: Evidence) -> str | None:
    """Return the limit of a test, and on which side of it the test passes."""
    if e.mark is None:
        return None
    side = "at least" if e.key in AT_LEAST else "at most"
    return f"{side} {written(e.mark) if e.mark >= 1 else f'{e.mark:.3g}'}"


def _missing(record: Record) -> Iterator[Block]:
    """Yield tests that were not made, what failed or was left out, and what to know of the rest."""
    every = [e for line in record.verdict.lines for e in line.evidence if not e.measured]
    if every:
        yield Words([f"{e.test[:1].upper()}{e.test[1:]}: turn on {e.sentence}." for e in every])
    yield from (Gap("certainty about the files", text, alert=True) for text in record.changes)
    for name, why in record.results.failed.items():
        yield Note(stopped(f"Not computed: {name}: {why}"), "alert")
    utility = record.results.utility
    if utility is None:
        yield Gap("no figure of utility", "The checks were off or failed.")
        return
    for fit in utility.fits:
        yield from (Note(words, "alert") for words in lost_fits(fit))
    if utility.kept:
        yield Note(copied_in_words(utility.kept))
    yield from (Note(note) for note in utility.notes)


_ONE_DATASET = 0.796
"""Mean overlap of a right synthesis of the original's size with one dataset."""


def bad_utility(record: Record) -> Iterator[Note]:
    """Yield what no line of the verdict says: the worst variable and each fit that is far off."""
    expected = expected_of(record)
    for row in tables_of(record, 1)[:1]:
        if row.s_pmse is not None and row.s_pmse > table_mark(expected):
            name = record.labels.variable(row.variables[0])
            said = f"{written(row.s_pmse)}: {distance_in_words(row.s_pmse, expected)}"
            yield Note(f"The worst variable is {name}, S_pMSE {said}.", "look")
    utility = record.results.utility
    for fit in () if utility is None else utility.fits:
        if is_bad_fit(fit):
            yield Note(_fit_in_words(fit), "look")


def overlap_marks(expected: float | None) -> tuple[float, float]:
    """Return the overlap below which a fit's mean, and one coefficient's, is low.

    With equal widths an overlap of 0.5 is a synthetic estimate at the end of the original's
    interval, and below 0 the intervals do not touch. Both distances grow with what chance alone
    does where fewer records are synthesised, which the expected overlap of a right synthesis shows.
    """
    chance = 1.0 if expected is None else max(1.0, (1 - expected) / (1 - _ONE_DATASET))
    return 1 - chance / 2, 1 - chance


def lowest_overlap(fit: FitComparison) -> tuple[str, float] | None:
    """Return the coefficient whose intervals overlap least, and how much."""
    overlaps = [(row.name, row.overlap) for row in fit.coefficients if row.overlap is not None]
    return min(overlaps, key=lambda pair: pair[1], default=None)


def is_bad_fit(fit: FitComparison) -> bool:
    """Whether a fit's intervals overlap less than chance explains: on average, or in one place."""
    mean_mark, single_mark = overlap_marks(fit.expected_overlap)
    mean, lowest = fit.mean_overlap, lowest_overlap(fit)
    mean_is_low = mean is not None and mean < mean_mark
    return mean_is_low or (lowest is not None and lowest[1] < single_mark)


def _fit_in_words(fit: FitComparison) -> str:
    mean, good = written(fit.mean_overlap, "share"), overlap_in_words(fit.expected_overlap)
    told = [f"Fit {fit.title}: the intervals overlap by {mean} on average ({good})"]
    if lowest := lowest_overlap(fit):
        apart = "; the two intervals do not touch" if lowest[1] < 0 else ""
        told.append(f"the lowest overlap is {written(lowest[1], 'share')}, of {lowest[0]}{apart}")
    return f"{', '.join(told)}. A researcher would draw other conclusions."


SUBJECTS, WORDS = tuple(TITLES), get_args(Word)
MUCH_NEARER = 0.5
"""Share of the present distance to the limit, up to which a figure without interval is better."""
TRY_SETTINGS = "'synthesizer advise CONFIG' tries other settings for the worst finding"


class Advice(NamedTuple):
    """What is not as it should be, and what helps; findings with one remedy are together."""

    remedy: str
    """Empty where nothing is known: of files whose models are not known."""
    findings: tuple[tuple[Subject, Evidence], ...]
    """Tests and the lines of the verdict that they belong to, the gravest first."""

    @property
    def tests(self) -> str:
        """Names of the tests, each once."""
        names = dict.fromkeys(e.test for _, e in self.findings)
        return f"{'' if self.measured else 'not measured: '}{'; '.join(names)}"

    @property
    def measured(self) -> bool:
        """Whether the tests were made."""
        return self.findings[0][1].measured

    @property
    def change(self) -> str:
        """What to change, in words; empty where nothing is known."""
        return f"What to change: {self.remedy}." if self.remedy else ""


def worst_things(
    verdict: Verdict, record: Record | None = None, *, subjects: Collection[Subject] = SUBJECTS
) -> list[Advice]:
    """Return the worst things about datasets with what helps, the gravest first.

    Parameters
    ----------
    verdict : Verdict
        Whose tests do not all pass; of a verdict that does nothing is worst.
    record : Record, optional
        How the datasets were made; None of files that somebody else made.
    subjects : collection of str
        Lines of the verdict that are looked at.
    """
    by_remedy: dict[str, list[tuple[Subject, Evidence]]] = {}
    of_files = record is None or record.of_files
    has_models = record is not None and not of_files and record.manifest.maker is None
    usual = TRY_SETTINGS if has_models else ""
    found = [(subject, e) for subject, e in verdict.findings if subject in subjects]
    for subject, e in found:
        if e.measured:
            remedy = remedy_of(e, of_files=of_files) or ("" if _has_no_limit(e) else usual)
            by_remedy.setdefault(remedy, []).append((subject, e))
    missing = [(subject, e) for subject, e in found if not e.measured]
    no_control = of_files and {"near_verbatim", "attack_risk"} <= {e.key for _, e in missing}
    halves = [(subject, e) for subject, e in missing if no_control and e.key in HALVES]
    if halves:
        by_remedy["name data that the synthesis never saw as control"] = halves
    if others := [item for item in missing if item not in halves]:
        by_remedy[f"turn on {', '.join(e.sentence for _, e in others)}"] = others
    return [Advice(remedy, tuple(findings)) for remedy, findings in by_remedy.items()]


def _has_no_limit(e: Evidence) -> bool:
    """Whether the profile has no limit for a figure, so that no setting mends it."""
    return e.value is not None and e.mark is None


def remedy_of(e: Evidence, *, of_files: bool = False) -> str:
    """Return what helps a test that was made, whatever made the data; empty where nothing does."""
    if e.key in _OF_FILES:
        return _OF_FILES[e.key]
    if e.is_weak:
        return f"name keys that tell more: {'--keys' if of_files else 'checks: {keys: [...]}'}"
    return ""


_OF_FILES = {
    "unlike": "write missing values with the same codes in all files, and compare again",
    "columns": "give columns the same names and codes in all files, and compare again",
    "control": "name a control of other persons",
    "rare_levels": "write public: true where levels are a published list, or rare: to group them",
    "few_records": "look at more records",
    "releases": "say by 'synthesizer releases SOURCE --not-given-out DIR' what nobody got, else "
    "make fewer releases",
}
"""What helps where files do not go together, or are too small."""


# What was tried.


class Trial(Row):
    """Settings that were tried on one half of the data"""

    setting: str = column("Setting", "text")
    value: float | None = column("Worst finding", "share", "its figure", default=None)
    least: float | None = column("At least", "share", "lower end of its interval", default=None)
    limit: float | None = column("Limit", "share", "of the worst finding", default=None)
    word: Word = column("Outcome", "text", "of the worst finding")
    persons: float | None = column("Near-verbatim persons (lower is better)", "share", default=None)
    low: float | None = column("From", "share", "lower end of its 95 % interval", default=None)
    high: float | None = column("To", "share", "upper end", default=None)
    use: float | None = column("S_pMSE of pairs (lower is better)", "number", default=None)
    """Mean beside the other half."""
    distance: float | None = None
    """From passing, in units of the limit; 0 where it passes, None where it is unknown."""
    failing: tuple[str, ...] = ()
    """Keys of the tests that fail."""

    def helps(self, present: Trial) -> bool:
        """Return whether it is clearly better in the finding, and lets no other test fail.

        A figure with an interval is clearly better below the lower end of the present one, so that
        an interval which is only wide is mended by no setting; others by their word, or much
        nearer to it.
        """
        if {*self.failing} - {*present.failing}:
            return False
        if self.value is not None and present.least is not None:
            return self.value < present.least
        word, before = (WORDS.index(each.word) for each in (self, present))
        far, far_before = (inf if t.distance is None else t.distance for t in (self, present))
        is_near = 0 < far_before < inf and far <= MUCH_NEARER * far_before
        return word < before or (word == before and is_near)


class Advised(Result):
    """Which setting mends the worst finding of a verdict, and what was tried for it.

    Confidential like a report.
    """

    finding: Evidence | None = None
    """The worst finding of the present setting; None where no setting can mend what there is."""
    subject: Subject | None = None
    """The line of the verdict that it belongs to."""
    trials: tuple[Trial, ...] = ()
    """The present setting first."""
    again: tuple[Trial, ...] = ()
    """The present and the best setting on another half; empty where none helped on the first."""
    units: Units
    """What is counted."""
    n: int = 0
    """Records, or persons, of the whole file."""
    m: int = 1
    """Datasets that each setting made."""

    @property
    def caption(self) -> str:
        """What the table of trials shows."""
        return f"m = {self.m}, a random half of {self.n:,} {self.units} against the other half"

    @property
    def figure(self) -> str:
        """Name of the figure of the worst finding, and which direction is good."""
        e, better = self.finding, ("lower", "higher")
        return f"{e.test} ({better[e.key in AT_LEAST]} is better)" if e else ""

    @property
    def best(self) -> Trial | None:
        """The setting that helps on the first half at the least loss; None where none does.

        Of settings that pass, the loss decides: of use, or, where use is the finding, of persons;
        of others their distance from passing.
        """

        def order(trial: Trial) -> tuple[float, ...]:
            loss = trial.persons if self.subject == "use" else trial.use
            return tuple(inf if number is None else number for number in (trial.distance, loss))

        helping = [trial for trial in self.trials[1:] if trial.helps(self.trials[0])]
        return min(helping, key=order, default=None)

    @property
    def advised(self) -> str | None:
        """The setting that helps on both halves, as ``KEY=VALUE``; None where none does."""
        is_sure = len(self.again) > 1 and self.again[1].helps(self.again[0])
        return self.again[1].setting if is_sure else None

    @property
    def text(self) -> str:
        """All of it as JSON, for a file."""
        head = {"confidential": "not for release with the datasets", "format": 1}
        content = head | plain(self) | {"advised": self.advised, "sentence": self.sentence}
        return f"{dumps(content, indent=1, ensure_ascii=False, allow_nan=False)}\n"

    @property
    def sentence(self) -> str:
        """The advice in words."""
        if self.finding is None:
            return (
                "Nothing to try: on a half of the data no test has a finding that a setting can "
                "mend. A finding of the run is near its limit, or needs another remedy."
            )
        if self.advised is not None:
            reached = "passes" if self.again[1].word == "pass" else "comes nearer to passing"
            before, after = (written(trial.value, "share") for trial in self.again)
            told = f"On another half: {self.finding.test} {after} instead of {before}"
            return f"Advised: {self.advised}. It {reached}. {told}."
        tried = "; ".join(trial.setting for trial in self.trials[1:])
        none = f"None of these helps: {tried}" if tried else "No other setting is known"
        chance = "" if self.best is None else f" {self.best.setting} helped on one half only."
        is_wide = self.subject != "use" and self.trials[0].word == "unclear"
        return f"{none}.{chance}{f' More {self.units} narrow the interval.' * is_wide}"


def finding_of(judged: Verdict) -> tuple[Subject | None, Evidence | None]:
    """Return the worst finding that a setting may mend, with its line; None where there is none.

    The gravest word comes first, then the line, then what is farthest from its limit.
    """

    def order(found: tuple[Subject, Evidence]) -> tuple[int, int, float]:
        subject, e = found
        far = _distance(e)
        return -WORDS.index(e.word), SUBJECTS.index(subject), -inf if far is None else -far

    found = [
        (s, e) for s, e in judged.findings if e.measured and not (_has_no_limit(e) or remedy_of(e))
    ]
    return min(found, key=order, default=(None, None))


def trial_of(
    setting: str, results: CheckResults, limits: LimitConfig, subject: Subject, key: str
) -> Trial:
    """Return the row of a setting: its figure of a finding, persons and use."""
    judged = verdict(results, limits)

    def of(line: Subject, key: str) -> Evidence | None:
        return next((e for e in judged[line].evidence if e.key == key), None)  # the gravest

    e, near = of(subject, key), of("person", "near_verbatim")
    beside = None if results.utility is None else results.utility.further.get("unseen")
    return Trial(
        setting=setting,
        **{} if e is None else {"value": e.value, "least": e.low, "limit": e.mark},
        word="pass" if e is None else e.word,
        **{} if near is None else {"persons": near.value, "low": near.low, "high": near.high},
        use=beside.s_pmse if isinstance(beside, Unseen) else None,
        distance=0.0 if e is None else _distance(e),
        failing=tuple(
            e.key for one in judged.lines for e in one.evidence if e.decides and e.word == "fail"
        ),
    )


def _distance(e: Evidence) -> float | None:
    end = e.value if e.high is None else e.high
    if e.word == "pass":
        return 0.0
    return None if end is None or e.mark is None else abs(end - e.mark) / (e.mark or 1)
