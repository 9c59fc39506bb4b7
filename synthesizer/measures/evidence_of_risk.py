"""Tests of the verdict about a person in the data, and about anybody.

A test of a person compares training records with holdout records. A test of anybody compares the
release with a new sample of the same population. ``docs/verdict.md`` explains the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor, sqrt

from synthesizer.data.errors import listed, plural
from synthesizer.measures.catalogue import FIGURES
from synthesizer.measures.evidence import (
    ORDER,
    Evidence,
    Word,
    judged,
    missing,
    of_codes,
    of_columns,
    points,
    unclear,
)
from synthesizer.measures.figure import Figure, agreeing
from synthesizer.measures.results import CheckFigures, RiskResult
from synthesizer.measures.risk.comparable import wilson
from synthesizer.measures.risk.copied import CopiedUniques
from synthesizer.measures.risk.guesses import GUESSES, Guess, Guesses, best_of
from synthesizer.measures.risk.near_verbatim import NearVerbatim, difference, quantile_of
from synthesizer.measures.risk.rare_values import RareValues
from synthesizer.measures.risk.releases import Together
from synthesizer.measures.risk.scenario_risk import ScenarioRisk

LimitOf = Callable[[str], float]
"""Returns the limit of a test by the profile."""

LIMIT_SHARE = 0.2
"""Limit as a share of what releasing the original would add."""
MIN_LIMIT = 0.02
"""Smallest limit of a difference of shares: two persons of a hundred."""
MIN_GROUP_LIMIT = 5
"""Smallest limit of a group, in persons."""
MIN_ATTACKS = 100
"""Attacks that a test needs."""
MAX_SIZE_RATIO = 1.5
"""Synthetic over original records, up to which CAP decides."""
_MAX_NAMES = 3
"""Keys or variables that a sentence names."""
_NOT_INFORMATIVE = (
    "These keys reveal little about the target even in the original, so this test is not "
    "informative. Choose other keys."
)


# A person who is in the data.


def of_person(results: CheckFigures, limit: LimitOf) -> Iterator[Evidence]:
    """Yield the tests of what a release adds about persons in the data."""
    risk = results.risk
    yield from of_columns(results)
    if risk.unlike:
        yield of_codes("risk seems lower")
    if risk.copied is None:
        check = "checks.copied_uniques"
        yield missing("copied_uniques", "copied {records}", check)
    for copied in (risk.copied, *(part.copied for part in risk.scenarios)):
        if copied is not None:
            yield from _of_copies(copied)
    yield from _of_near(risk, limit)
    guessed = risk.further.get("guesses")
    if isinstance(guessed, Guesses):
        yield _of_guess("guesses", GUESSES.name, guessed, limit("guesses"))
    else:
        yield missing("guesses", GUESSES.name, "checks.guesses")
    rare = risk.further.get("rare_values")
    if isinstance(rare, RareValues):
        yield _of_rare_levels(rare)
        yield from _of_exact_numbers(rare, limit("near_verbatim"))
    yield from _of_rare_conditions(*risk.conditions[1:3])
    for part in risk.scenarios:
        yield from _of_halves(part, limit("guesses"))
    yield from _of_attacks(results, limit)
    yield from _of_kinds(results)
    yield from _of_careers(results)


def _of_copies(copied: CopiedUniques) -> Iterator[Evidence]:
    """Yield the test for unique records that occur in the synthetic data more than by chance."""
    key = copied.kind.key
    alarm, row, control = copied.alarm, copied.worst, copied.control
    if control is not None and control.is_above:
        yield unclear(
            "control",
            "control",
            f"The control is no new sample. {control.present:,} of its {{records}} equal a unique "
            f"{{record}} of the original; by chance there are at most {control.most:,}. So every "
            "risk seems lower than it is.",
        )
    if alarm is None and not copied.uniques:
        return
    unique, test = "unique {records}", "copied unique {records}"
    if key == "copied_keys":
        unique, test = f"{{records}} unique by {', '.join(copied.names)}", "copied unique keys"
    word: Word = "pass"
    sentence = (
        f"{row.present:,} of {copied.uniques:,} {unique} occur in the synthetic data. A new sample "
        f"has up to {row.most:,} by chance."
    )
    if alarm is not None:
        # files of others may keep variables on purpose
        word = "fail" if alarm.startswith("ALARM") else "unclear"
        alarm = alarm.removeprefix("ALARM: ").strip()
        sentence = f"{alarm[:1].upper()}{alarm[1:]}."
    yield Evidence(
        key=key,
        test=test,
        word=word,
        sentence=sentence,
        value=float(row.present),
        mark=float(row.most),
        fresh=None,
        released=float(copied.uniques),
    )


def _of_near(risk: RiskResult, limit: LimitOf) -> Iterator[Evidence]:
    """Yield the tests of near copies: all, the worst group, repeats, releases."""
    result, test = risk.further.get("near_verbatim"), "near copies"
    if not isinstance(result, NearVerbatim):
        yield missing("near_verbatim", test, "checks.near_verbatim")
        return
    has_control = risk.copied is not None and risk.copied.control is not None
    made = "the synthetic data" if has_control else "a test synthesis from half of the {records}"
    yield _near_copies("near_verbatim", "", result, limit("near_verbatim"), made)
    for e in _of_few_persons(result, limit):
        # a group within its limit is shown if chance does not explain it
        if e.word == "fail" or (e.word == "unclear" and e.high is None and (e.low or 0) > 0):
            yield e
    if risk.releases is not None:
        yield _of_releases(risk.releases, result, limit("near_verbatim"))


def _limit_of(most: float) -> str:
    """Return the limit of a difference between training and holdout records in words."""
    return f"Limit: training {{records}} at most {points(most)} above holdout {{records}}."


def _of_few_persons(result: NearVerbatim, limit: LimitOf) -> Iterator[Evidence]:
    """Yield the tests of exact copies, the worst group, nearest records and repeats."""
    exact, most = result.looks[0], limit("near_verbatim_0")
    yield judged(
        "near_verbatim_0",
        "exact copies",
        f"{exact.inside:,} of {result.n:,} training {{records}} and {exact.outside:,} of "
        f"{result.n_outside:,} holdout {{records}} have an exact copy. {_limit_of(most)}",
        (exact.excess, exact.low, exact.high),
        most,
        released=1 - exact.outside / result.n_outside,
    )
    for group in result.groups[:1]:
        most = max(limit("near_verbatim_group"), MIN_GROUP_LIMIT / group.n)
        yield judged(
            "near_verbatim_group",
            f"group {group.variable}: {group.group}",
            f"In the group {group.variable} {group.group}, {group.inside:,} of {group.n:,} "
            f"training {{records}} and {group.outside:,} of {group.n_outside:,} holdout "
            "{records} have a near copy.",
            (group.excess, group.low, None),
            most,
            released=1 - group.outside / max(group.n_outside, 1),
        )
    nearest, most = result.loose, limit("near_verbatim")
    e = judged(
        "near_verbatim_loose",
        "nearest {records}",
        f"{nearest.inside:,} of {result.n:,} training {{records}} and {nearest.outside:,} of "
        f"{result.n_outside:,} holdout {{records}} have a synthetic {{record}} that is nearer to "
        f"them than to any other {{record}}. {_limit_of(most)} This test can be unclear, but never "
        "fails.",
        (nearest.excess, nearest.low, None),
        most,
        released=1 - nearest.outside / result.n_outside,
    )
    # a record that is only a little nearer is no near copy
    yield e.model_copy(update={"word": "unclear"}) if e.word == "fail" else e
    yield judged(
        "near_verbatim_repeats",
        "repeats",
        f"One training {{record}} has {result.repeats:,} near copies. The largest number of a "
        f"holdout {{record}} is {result.repeats_outside:,} (limit {result.repeats_by_chance:,}).",
        (result.repeats, result.repeats, result.repeats),
        result.repeats_by_chance,
        fresh=float(result.repeats_outside),
    )


def _near_copies(key: str, start: str, result: NearVerbatim, limit: float, made: str) -> Evidence:
    """Return the test of near copies by the number of differing variables that decides."""
    shown, (exact, changed) = result.telling(limit), result.looks[:2]
    words = f"{shown.inside:,} of {result.n:,} training {{records}} and {shown.outside:,} of "
    words += f"{result.n_outside:,} holdout {{records}} have a near copy in {made}"
    if result.splits > 1:
        words = f"In each of {result.splits} random splits, each {{record}} was used once and held "
        words += f"out once. Used: {shown.inside:,} of {result.n:,} have a near copy in {made}. "
        words += f"Held out: {shown.outside:,}"
    n = shown.inside - round(shown.outside * result.n / result.n_outside)
    copies = f"{ceil(exact.noticed * result.n):,} exact copies"
    if changed.differing > exact.differing:
        copies += f", or {ceil(changed.noticed * result.n):,} near copies,"
    return judged(
        key,
        "releases together" if start else "near copies",
        f"{start}{words}. A near copy agrees with one real {{record}} clearly more than with all "
        f"others. The difference is {n:,} {{records}} ({{ends}} percentage points), {{result}} of "
        f"{{mark}} ({floor(limit * result.n + 1e-9):,} {{records}}). From {copies} the interval "
        "lies above 0 in 95 of 100 releases; the test may still pass.",
        (shown.excess, shown.low, shown.high),
        limit,
        released=1 - shown.outside / result.n_outside,
    )


def _of_releases(together: Together, result: NearVerbatim, limit: float) -> Evidence:
    """Return the test of all releases together, by their counts or by an upper bound."""
    key, test = "releases", "releases together"
    start = f"With {plural(len(together.others), 'other release')} of this source: "
    if together.counted is not None:
        return _near_copies(key, start, together.counted, limit, "all datasets together")
    bound = together.bound(result.looks)
    if bound is None:
        end = "Near copies of one of them were not counted, so there is no upper bound."
        return unclear(key, test, f"{start}{end}")
    high, most = agreeing([100 * bound[0]], 100 * limit, 1)
    end = (
        f"Together they have near copies of at most {high} percentage points more training than "
        f"holdout {{records}} (limit {most}). This bound is the sum of the upper ends of all "
        "releases. 'synthesizer releases SOURCE' lists them."
    )
    return judged(key, test, f"{start}{end}", (bound[1], None, bound[0]), limit)


def _of_guess(key: str, test: str, guessed: Guesses, limit: float) -> Evidence:
    """Return the test of the best guess, compared with the holdout or with a new sample.

    The largest lower end of all guesses decides fail, the largest value decides pass.
    """
    every: Sequence[Guess] = guessed.guesses
    n, side = guessed.n, "training"
    beside = f"for {{:,}} of {guessed.n_outside:,} holdout {{{{records}}}}"
    if key == "guesses_of_anybody":
        every, n, side = guessed.gains, guessed.n_outside, "holdout"
        beside = "with a new sample for {:,}"
    # a value of nearly all persons is guessed right without a release
    every = [one for one in every if 1 - one.beside / guessed.n_outside > limit] or every
    best, low = best_of(every)
    value, least, most = agreeing([100 * best.excess, 100 * low], 100 * limit, 1)
    return judged(
        key,
        test,
        f"The best of {guessed.n_guesses} guesses of an intruder is {best.target!r} from "
        f"{best.known}. It is right for {best.guessed:,} of {n:,} {side} {{records}}, and "
        f"{beside.format(best.beside)}. The difference is {value} percentage points (limit {most}; "
        f"largest lower end of all guesses {least}).",
        (best.excess, low, None),
        limit,
        released=1 - best.beside / guessed.n_outside,
        about=best.target,
    )


def _of_rare_levels(rare: RareValues) -> Evidence:
    """Return the test of text levels with few persons, compared with the holdout."""
    shown = {row.variable: row.names for row in rare.variables if row.names}
    n, outside = sum(shown.values()), sum(row.names_outside for row in rare.variables)
    # a new sample has as many of the holdout's, apart from chance
    most = outside + 2 * sqrt(n + outside) if rare.has_control else 0.0
    sentence = f"{n:,} text levels of fewer than {rare.fewer_than} {{records}} are in the datasets "
    sentence = f"{sentence}(limit {most:.0f}). Numeric codes are not counted."
    identifying = sum(row.identifying for row in rare.variables)
    low = float(identifying) if identifying > most else None
    if low is not None:
        sentence = f"{sentence} {identifying:,} of them identify single {{records}}."
    if n > most:
        sentence = (
            f"{sentence} Variables: {listed([*shown], _MAX_NAMES)}. Write public: true under a "
            "variable whose levels are a published list; group others with rare."
        )
    return judged("rare_levels", "rare text levels", sentence, (n, low, n), most)


def _of_rare_conditions(few: int = 0, rare: int = 0) -> Iterator[Evidence]:
    """Yield the test of conditions that few persons of the data satisfy, if there are any."""
    if few or rare:
        sentence = (
            f"{few:,} given conditions hold for 1 to 4 {{records}} of the data, and {rare:,} for 5 "
            "to 19. Records drawn for them may disclose these {records}: join rare conditions."
        )
        word: Word = "fail" if few else "unclear"
        key, test = "rare_conditions", "rare conditions"
        yield Evidence(key=key, test=test, word=word, sentence=sentence, value=float(few + rare))


def _of_exact_numbers(rare: RareValues, limit: float) -> Iterator[Evidence]:
    """Yield the test of the variable with the largest excess of exact numbers, if any."""
    rows = [row for row in rare.variables if row.exact and rare.n_outside]
    beside = rare.n_outside, quantile_of(max(len(rows), 1))
    tests = [(difference(row.exact, rare.n, row.exact_outside, *beside), row) for row in rows]
    (excess, low, _), row = max(tests, key=lambda test: test[0][1], default=((0, 0, 0), None))
    if row is not None and low > 0:
        yield judged(
            "exact_numbers",
            f"numbers of {row.variable}",
            f"{row.exact:,} numbers of {row.variable} in the datasets occur in only one training "
            f"{{record}}, {row.exact_outside:,} in only one holdout {{record}}. {_limit_of(limit)}",
            (excess, low, None),
            limit,
            released=1 - row.exact_outside / rare.n_outside,
        )


def of_all_rare(results: CheckFigures, key: str, _: float) -> list[Evidence]:
    """Return the test of levels and codes, or of extremes, of few persons."""
    rare = results.risk.further.get("rare_values")
    if not isinstance(rare, RareValues):
        return [missing(key, "rare values", "checks.rare_values")]
    if key == "rare_codes":
        n = sum(row.levels for row in rare.variables)
        sentence = f"{n:,} levels or codes of fewer than {rare.fewer_than} {{records}} are in the "
        sentence += f"datasets (limit 0).{' Group them with rare.' * (n > 0)}"
    else:
        n = sum(row.rare_extremes for row in rare.variables)
        sentence = f"{n:,} smallest or largest numbers equal those of the original (limit 0)."
    return [judged(key, key.replace("_", " "), sentence, (n, n, n), 0.0)]


def _limit(released: float | None, least: float = MIN_LIMIT) -> float:
    """Return the limit of a difference that is ``released`` if the original is released."""
    return max(LIMIT_SHARE * (released or 0.0), least)


def _of_halves(part: ScenarioRisk, least: float) -> Iterator[Evidence]:
    """Yield the train-holdout test of keys and target."""
    if part.differential is None:
        return
    figures = {figure.key: figure for figure in part.differential.figures}
    figure = figures["differential_confidentiality"]
    limit = _limit(figure.original, least)
    interval = (figure.value, figure.low, figure.high)
    if None in interval and figure.value == 0:  # every score is the same in both halves
        interval = (0.0, 0.0, 0.0)
    target = part.scenario.target
    original = ""
    if figure.original is not None:
        original = f"; releasing the original: {100 * figure.original:.1f}"
    evidence = judged(
        figure.key,
        f"train-holdout test, {target}",
        f"Someone with the keys guesses {target}. The rate of right guesses for training minus "
        f"holdout {{records}} is {{ends}} percentage points (limit {{mark}}{original}).",
        interval,
        limit,
        released=figure.original,
    )
    if figure.original is not None and figure.original <= limit and evidence.word != "fail":
        # the release cannot reveal more than the original
        evidence = _not_informative(evidence.model_copy(update={"word": "pass"}))
    yield evidence
    worst = part.differential.worst_group
    if worst is not None and worst.low is not None and worst.low > limit:
        yield judged(
            "worst_group",
            f"train-holdout test, worst group of {worst.by}",
            f"In group {worst.group} of {worst.by} the difference is {{ends}} percentage points "
            "(limit {mark}).",
            (worst.difference, worst.low, worst.high),
            limit,
            released=figure.original,
        )


def _not_informative(e: Evidence) -> Evidence:
    """Return a test with the remark that its keys are not informative."""
    return e.model_copy(update={"sentence": f"{e.sentence} {_NOT_INFORMATIVE}", "is_weak": True})


def _of_attacks(results: CheckFigures, limit: LimitOf) -> Iterator[Evidence]:
    """Yield the test of the attack that is most successful."""
    attacks = results.risk.attacks
    if attacks is None and "guesses" in results.risk.further and not results.risk.scenarios:
        return  # without keys, each variable is guessed from all others
    if attacks is None:
        yield missing("attack_risk", "attacks", "checks.attacks")
        return
    tests = []
    for attack in attacks.attacks:
        if attack.n < MIN_ATTACKS or attack.risk is None:
            continue
        sentence = (
            f"{attack.name.capitalize()}: the gain on training over holdout {{records}} is "
            "{ends} of the largest possible gain (0: no advantage, 1: always right; limit {mark})."
        )
        # if little can be gained, a share of it is the noise of a few persons
        most = max(limit("attack_risk"), limit("attack_persons") / (1 - (attack.control_rate or 0)))
        interval = (attack.risk, attack.low, attack.high)
        tests.append(judged("attack_risk", attack.name, sentence, interval, most, released=1.0))
    if tests:
        yield max(tests, key=lambda e: (ORDER.index(e.word), -1 if e.high is None else e.high))


def _of_kinds(results: CheckFigures) -> Iterator[Evidence]:
    """Yield the tests that kinds of figures define: shares of what occurs in the synthetic data."""
    for _, figure in results.risk.other_figures:
        kind, value, chance = FIGURES.get(figure.key), figure.value, figure.chance or 0.0
        if kind is not None and kind.test and value is not None:
            sentence = kind.finding.replace("{value}", f"{value:.2f}")
            yield judged(
                figure.key,
                kind.test,
                sentence.replace("{fresh}", f"{chance:.2f}"),
                (value, *wilson(value, max(figure.n, 1))),
                chance + _limit((figure.original or 0.0) - chance),
                fresh=chance,
                released=figure.original,
            )


def _of_careers(results: CheckFigures) -> Iterator[Evidence]:
    """Yield the tests of careers and moves of training persons against holdout persons."""
    figures = {figure.key: figure for _, figure in results.risk.other_figures}
    unicity = figures.get("unicity")
    for beyond in map(figures.get, ("careers_beyond", "moves_beyond")):
        if beyond is not None:
            yield _of_figure(
                beyond,
                beyond.name,
                "A part of a career predicts the rest. The rate for training minus holdout persons "
                "is {ends} (limit {mark}).",
                None if unicity is None else unicity.value,
            )


def _of_figure(
    figure: Figure, test: str, sentence: str, released: float | None, least: float = MIN_LIMIT
) -> Evidence:
    """Return the test of a difference by its share of what releasing the original adds."""
    interval = (figure.value, figure.low, figure.high)
    limit = _limit(released, least)
    return judged(figure.key, test, sentence, interval, limit, released=released)


# Anybody.

_TESTS = {"CAP": "attribution (CAP)", "DiSCO": "disclosure (DiSCO)"}
_SENTENCES = {
    "CAP": "Someone who knows {keys} guesses {target} right in {rate} of cases (correct "
    "attribution probability, CAP; one dataset).",
    "DiSCO": "For {rate} of the original {{records}}, all synthetic {{records}} with the same keys "
    "({keys}) have the same value of {target}, and it is the true value (DiSCO).",
}


def of_anybody(results: CheckFigures, limit: LimitOf) -> Iterator[Evidence]:
    """Yield the tests of what a release reveals about anybody, compared with a new sample."""
    guessed, most = results.risk.further.get("guesses"), limit("guesses_of_anybody")
    if isinstance(guessed, Guesses):
        yield _of_guess("guesses_of_anybody", "guesses beyond a new sample", guessed, most)
    scenarios = [part for part in results.risk.scenarios if part.cap is not None and part.cap.fresh]
    copied = results.risk.copied
    is_larger = copied is not None and max(row.n for row in copied.rows) > MAX_SIZE_RATIO * copied.n
    for part in scenarios:
        # a larger file guesses better in any case; the test above takes a sample of it
        if not (is_larger and isinstance(guessed, Guesses)):
            yield from _beyond_fresh(part, most)
    if not scenarios and not isinstance(guessed, Guesses):
        check = "checks.cap (with keys and a target)"
        yield missing("cap_beyond", "guesses from keys (CAP, DiSCO)", check)


def _beyond_fresh(part: ScenarioRisk, least: float) -> Iterator[Evidence]:
    """Yield the tests of one dataset by the keys, compared with a new sample."""
    keys, target = part.scenario.keys, part.scenario.target
    named = listed(keys, _MAX_NAMES)
    is_marked = False
    for row in () if part.cap is None else part.cap.fresh:
        figure = row.figure
        shares = [f"{100 * x:.1f} %" for x in (row.synthetic, row.fresh, row.released)]
        evidence = _of_figure(
            figure,
            f"{_TESTS[row.name]}, {target}",
            f"{_SENTENCES[row.name].format(keys=named, target=target, rate=shares[0])} A new "
            f"sample: {shares[1]}; the original: {shares[2]}. The difference from a new sample is "
            "{ends} percentage points (limit {mark}).",
            figure.original,
            least,
        )
        # once for the same keys
        weak = figure.original is not None and figure.original <= _limit(figure.original, least)
        if weak and not is_marked:
            evidence, is_marked = _not_informative(evidence), True
        yield evidence
