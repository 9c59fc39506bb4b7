"""May these data be released: the verdict, reasons, missing checks, findings and remedies.

A remedy is named if it follows from the finding: a missing check, files that do not match, keys
that are not informative. Settings of models are tried by `synthesizer advise`.
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
from synthesizer.report.scale import LEGEND, verdict_charts


@section("glance", "May these data be released?", "")
def glance_section(record: Record) -> Iterator[Block]:
    """Yield the verdict: outcome, sentence and picture of each line; folds have the reasons."""
    yield from verdict_charts(record.verdict)
    if alerts := list(_alerts(record)):
        yield Note(f"{'; '.join(alerts)}.", "alert", "Warning:")
    worst = [one for one in worst_things(record.verdict, record) if one.measured]
    tries = [f"{one.remedy[:1].upper()}{one.remedy[1:]}." for one in worst if one.remedy]
    if record.verdict.word == "pass":
        yield Note("read Why, then decide.", start="Next step:")
    yield Fold("Why", [Words([LEGEND]), *_reasons(record)])
    if tries:
        yield Fold("What to change", [Words([*tries, NO_RERUN])])
    if missing := list(_missing(record)):
        yield Fold("What was not measured", missing)


NO_RERUN = (
    "Results vary from run to run. Do not rerun until all tests pass; change a setting instead."
)


def _alerts(record: Record) -> Iterator[str]:
    """Yield short warnings; the folds have the details."""
    columns = sum(name.startswith("column ") for name in record.results.failed)
    tests = {e.key for line in record.verdict.lines for e in line.evidence}
    if record.exceeded:
        yield f"{plural(len(record.exceeded), 'limit')} exceeded"
    if record.changes:
        yield "files changed"
    if columns:
        yield f"{plural(columns, 'column')} not compared"
    if "control" in tests:
        yield "the control is no new sample"
    if record.results.unlike:
        yield "missing codes differ"


def _reasons(record: Record) -> Iterator[Block]:
    """Yield the reasons of the verdict: sentences, limits, bad results, all tests."""
    lines, limits = record.verdict.lines, record.manifest.config.get("limits") or {}
    for line in lines:
        yield Note(with_minus(line.sentence), TONES[line.word], f"{line.title}: {line.word}.")
    yield Note(f"{record.verdict.source} ({record.verdict.terms})")
    for words in (*record.exceeded, *record.results.unlike):
        yield Note(stopped(words), "alert")
    if (n := sum(limits.get(key) is not None for key in LIMITS)) and not record.exceeded:
        yield Note(f"{plural(n, 'limit')} of the configuration: not exceeded.", "good")
    yield from bad_utility(record)
    every = [(line.title, e) for line in lines for e in line.evidence if e.measured]
    if every:
        more = (
            Added("95 % interval", "text", lambda e: interval(e.low, e.high)),
            Added("Limit", "text", _limit),
            Added("Reason", "text", lambda e: with_minus(e.sentence)),
        )
        table = row_table(
            [e for _, e in every],
            "All tests: the interval is compared with the limit (docs/verdict.md)",
            names=("test", "word", "value"),
            more=more,
            highlight=[i for i, (_, e) in enumerate(every) if e.word == "fail"],
            labels=("Line", [title for title, _ in every]),
        )
        yield replace(table, stacks=True, sortable=False)
    if record.units == "persons":
        groups = record.manifest.groups
        yield Note(UNITS_OF_GROUPS.format(groups.unit) if groups else UNITS)


def _limit(e: Evidence) -> str | None:
    """Return the limit of a test with its direction."""
    if e.mark is None:
        return None
    side = "at least" if e.key in AT_LEAST else "at most"
    return f"{side} {written(e.mark) if e.mark >= 1 else f'{e.mark:.3g}'}"


def _missing(record: Record) -> Iterator[Block]:
    """Yield tests that were not made, failed checks, and notes on utility."""
    every = [e for line in record.verdict.lines for e in line.evidence if not e.measured]
    if every:
        yield Words([f"{e.test[:1].upper()}{e.test[1:]}: turn on {e.check}." for e in every])
    yield from (Gap("files of the run", text, alert=True) for text in record.changes)
    for name, why in record.results.failed.items():
        yield Note(stopped(f"Not computed: {name}: {why}"), "alert")
    utility = record.results.utility
    if utility is None:
        yield Gap("figures of utility", "The checks were off or failed.")
        return
    for fit in utility.fits:
        yield from (Note(words, "alert") for words in lost_fits(fit))
    if utility.kept:
        yield Note(copied_in_words(utility.kept))
    yield from (Note(note) for note in utility.notes)


_RIGHT_OVERLAP = 0.796
"""Mean overlap of one dataset of the original's size from a right model."""


def bad_utility(record: Record) -> Iterator[Note]:
    """Yield the worst variable, and each fit that is far off."""
    expected = expected_of(record)
    for row in tables_of(record, 1)[:1]:
        if row.s_pmse is not None and row.s_pmse > table_mark(expected):
            name = record.labels.variable(row.variables[0])
            value = f"{written(row.s_pmse)}: {distance_in_words(row.s_pmse, expected)}"
            yield Note(f"The worst variable is {name}, S_pMSE {value}.", "look")
    utility = record.results.utility
    for fit in () if utility is None else utility.fits:
        if is_bad_fit(fit):
            yield Note(_fit_in_words(fit), "look")


def overlap_marks(expected: float | None) -> tuple[float, float]:
    """Return the limits below which the mean overlap, and that of one coefficient, is low.

    For intervals of equal width, 0.5 is a synthetic estimate at the end of the original's interval.
    Below 0 the intervals do not touch. Both limits fall if fewer records are synthesised, as the
    expected overlap of a correct model does.
    """
    chance = 1.0 if expected is None else max(1.0, (1 - expected) / (1 - _RIGHT_OVERLAP))
    return 1 - chance / 2, 1 - chance


def lowest_overlap(fit: FitComparison) -> tuple[str, float] | None:
    """Return the coefficient with the smallest overlap, and the overlap."""
    overlaps = [(row.name, row.overlap) for row in fit.coefficients if row.overlap is not None]
    return min(overlaps, key=lambda pair: pair[1], default=None)


def is_bad_fit(fit: FitComparison) -> bool:
    """Whether the mean overlap of a fit, or that of one coefficient, is below its limit."""
    mean_mark, single_mark = overlap_marks(fit.expected_overlap)
    mean, lowest = fit.mean_overlap, lowest_overlap(fit)
    mean_is_low = mean is not None and mean < mean_mark
    return mean_is_low or (lowest is not None and lowest[1] < single_mark)


def _fit_in_words(fit: FitComparison) -> str:
    mean, good = written(fit.mean_overlap, "share"), overlap_in_words(fit.expected_overlap)
    parts = [f"Fit {fit.title}: the intervals overlap by {mean} on average ({good})"]
    if lowest := lowest_overlap(fit):
        apart = "; the two intervals do not touch" if lowest[1] < 0 else ""
        parts.append(f"the lowest overlap is {written(lowest[1], 'share')}, of {lowest[0]}{apart}")
    return f"{', '.join(parts)}. A researcher would draw other conclusions."


SUBJECTS, WORDS = tuple(TITLES), get_args(Word)
MAX_DISTANCE_RATIO = 0.5
"""New over present distance to the limit, up to which a figure without interval is better."""
TRY_SETTINGS = "'synthesizer advise CONFIG' tries other settings for the worst finding"


class Advice(NamedTuple):
    """Findings with the same remedy."""

    remedy: str
    """Empty if none is known, as for files of others."""
    findings: tuple[tuple[Subject, Evidence], ...]
    """Tests with the subject of their line, the worst first."""

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
        """Sentence on what to change; empty without a remedy."""
        return f"What to change: {self.remedy}." if self.remedy else ""


def worst_things(
    verdict: Verdict, record: Record | None = None, *, subjects: Collection[Subject] = SUBJECTS
) -> list[Advice]:
    """Return the findings on datasets with their remedies, the worst first.

    Parameters
    ----------
    verdict : Verdict
        A verdict that passes has no findings.
    record : Record, optional
        How the datasets were made; None for files of others.
    subjects : collection of str
        Lines of the verdict that count.
    """
    by_remedy: dict[str, list[tuple[Subject, Evidence]]] = {}
    of_files = record is None or record.of_files
    has_models = record is not None and not of_files and record.manifest.maker is None
    usual = TRY_SETTINGS if has_models else ""
    findings = [(subject, e) for subject, e in verdict.findings if subject in subjects]
    for subject, e in findings:
        if e.measured:
            remedy = remedy_of(e, of_files=of_files) or ("" if _has_no_limit(e) else usual)
            by_remedy.setdefault(remedy, []).append((subject, e))
    missing = [(subject, e) for subject, e in findings if not e.measured]
    no_control = of_files and {"near_verbatim", "attack_risk"} <= {e.key for _, e in missing}
    halves = [(subject, e) for subject, e in missing if no_control and e.key in HALVES]
    if halves:
        by_remedy["name a file of holdout records: --control FILE"] = halves
    if others := [item for item in missing if item not in halves]:
        by_remedy[f"turn on {', '.join(dict.fromkeys(e.check for _, e in others))}"] = others
    return [Advice(remedy, tuple(group)) for remedy, group in by_remedy.items()]


def _has_no_limit(e: Evidence) -> bool:
    """Whether the profile has no limit for a figure."""
    return e.value is not None and e.mark is None


def remedy_of(e: Evidence, *, of_files: bool = False) -> str:
    """Return the remedy that follows from a test itself; empty if there is none."""
    if e.key in _OF_FILES:
        return _OF_FILES[e.key]
    if e.is_weak:
        return f"name other keys: {'--keys' if of_files else 'checks: {keys: [...]}'}"
    return ""


_OF_FILES = {
    "unlike": "use the same missing codes in all files, and compare again",
    "columns": "use the same column names and codes in all files, and compare again",
    "control": "name a control file without training records",
    "rare_levels": "write public: true for published lists of levels, or group levels with rare:",
    "few_records": "check files with more records",
    "releases": "if you did not give out an earlier run, write 'synthesizer releases SOURCE "
    "--not-given-out DIR', then run or check again; else make fewer releases",
}
"""Remedies by key of the test."""


# Trials of settings.


class Trial(Row):
    """A setting that was tried on one half of the data"""

    setting: str = column("Setting", "text")
    value: float | None = column("Worst finding", "share", "its figure", default=None)
    least: float | None = column("At least", "share", "lower end of its interval", default=None)
    limit: float | None = column("Limit", "share", "of the worst finding", default=None)
    word: Word = column("Outcome", "text", "of the worst finding")
    persons: float | None = column("Near copies", "share", "of persons; 0 is best", default=None)
    low: float | None = column("From", "share", "lower end of its 95 % interval", default=None)
    high: float | None = column("To", "share", "upper end", default=None)
    use: float | None = column("S_pMSE of pairs", "number", "lower is better", default=None)
    """Mean, compared with the other half."""
    distance: float | None = None
    """Distance from passing over the limit; 0 if it passes, None if unknown."""
    failing: tuple[str, ...] = ()
    """Keys of the tests that fail."""

    def helps(self, present: Trial) -> bool:
        """Return whether the finding is clearly better, and no other test fails.

        A figure with an interval is clearly better below the lower end of the present interval.
        Other figures are better by their outcome, or by half the distance to it.
        """
        if {*self.failing} - {*present.failing}:
            return False
        if self.value is not None and present.least is not None:
            return self.value < present.least
        word, before = (WORDS.index(each.word) for each in (self, present))
        far, far_before = (inf if t.distance is None else t.distance for t in (self, present))
        is_near = 0 < far_before < inf and far <= MAX_DISTANCE_RATIO * far_before
        return word < before or (word == before and is_near)


class Advised(Result):
    """Settings that were tried against the worst finding of a verdict, and the advised one.

    Confidential like a report.
    """

    finding: Evidence | None = None
    """Worst finding of the present setting; None without one that settings can change."""
    subject: Subject | None = None
    """Line of the finding."""
    trials: tuple[Trial, ...] = ()
    """The present setting first."""
    again: tuple[Trial, ...] = ()
    """Present and best setting on another half; empty without a best one."""
    units: Units
    """What is counted."""
    n: int = 0
    """Records or persons of the file."""
    m: int = 1
    """Datasets of each setting."""

    @property
    def caption(self) -> str:
        """Caption of the table of trials."""
        return f"m = {self.m}, a random half of {self.n:,} {self.units} against the other half"

    @property
    def figure(self) -> str:
        """Name and direction of the figure of the worst finding."""
        e, better = self.finding, ("lower", "higher")
        return f"{e.test} ({better[e.key in AT_LEAST]} is better)" if e else ""

    @property
    def best(self) -> Trial | None:
        """The setting that helps on the first half at the smallest loss; None without one.

        Distance from passing decides first, then loss: of use, or of near copies if use is the
        finding.
        """

        def order(trial: Trial) -> tuple[float, ...]:
            loss = trial.persons if self.subject == "use" else trial.use
            return tuple(inf if number is None else number for number in (trial.distance, loss))

        helping = [trial for trial in self.trials[1:] if trial.helps(self.trials[0])]
        return min(helping, key=order, default=None)

    @property
    def advised(self) -> str | None:
        """The setting that helps on both halves, as ``KEY=VALUE``; None without one."""
        is_sure = len(self.again) > 1 and self.again[1].helps(self.again[0])
        return self.again[1].setting if is_sure else None

    @property
    def text(self) -> str:
        """The content of the JSON file."""
        head = {"confidential": "not for release with the datasets", "format": 1}
        content = head | plain(self) | {"advised": self.advised, "sentence": self.sentence}
        return f"{dumps(content, indent=1, ensure_ascii=False, allow_nan=False)}\n"

    @property
    def sentence(self) -> str:
        """The advice in words."""
        if self.finding is None:
            return (
                "Nothing to try: on a half of the data no test has a finding that a setting can "
                "change. A finding of the run is near its limit, or needs another remedy."
            )
        if self.advised is not None:
            reached = "passes" if self.again[1].word == "pass" else "comes nearer to passing"
            before, after = (written(trial.value, "share") for trial in self.again)
            values = f"{self.finding.test} {after} instead of {before}"
            return f"Advised: {self.advised}. It {reached}. On another half: {values}."
        tried = "; ".join(trial.setting for trial in self.trials[1:])
        none = f"None of these helps: {tried}" if tried else "No other setting is known"
        chance = "" if self.best is None else f" {self.best.setting} helped on one half only."
        is_wide = self.subject != "use" and self.trials[0].word == "unclear"
        more = f" More {self.units} narrow the interval." * is_wide
        return f"{none}.{chance}{more}{_OTHER_REMEDIES if self.subject != 'use' else ''}"


_OTHER_REMEDIES = """ What is left: coarsen or drop variables (docs/lower-the-risk.md), \
write `limits: {release: contract}` for a release under contract, or do not release."""


def finding_of(judged: Verdict) -> tuple[Subject | None, Evidence | None]:
    """Return the worst finding that a setting may change, with its line; None without one.

    The worst outcome comes first, then the line, then the largest distance from the limit.
    """

    def order(finding: tuple[Subject, Evidence]) -> tuple[int, int, float]:
        subject, e = finding
        far = _distance(e)
        return -WORDS.index(e.word), SUBJECTS.index(subject), -inf if far is None else -far

    findings = [
        (s, e) for s, e in judged.findings if e.measured and not (_has_no_limit(e) or remedy_of(e))
    ]
    return min(findings, key=order, default=(None, None))


def trial_of(
    setting: str, results: CheckResults, limits: LimitConfig, subject: Subject, key: str
) -> Trial:
    """Return the row of a setting: figure of the finding, near copies, and use."""
    judged = verdict(results, limits)

    def of(line: Subject, key: str) -> Evidence | None:
        return next((e for e in judged[line].evidence if e.key == key), None)  # the worst

    e, copy = of(subject, key), of("person", "near_verbatim")
    unseen = None if results.utility is None else results.utility.further.get("unseen")
    return Trial(
        setting=setting,
        **{} if e is None else {"value": e.value, "least": e.low, "limit": e.mark},
        word="pass" if e is None else e.word,
        **{} if copy is None else {"persons": copy.value, "low": copy.low, "high": copy.high},
        use=unseen.s_pmse if isinstance(unseen, Unseen) else None,
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
