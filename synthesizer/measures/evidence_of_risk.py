"""The tests behind the lines about a person in the data and about anybody.

A test of a person compares records in the data with those of a holdout; a test of anybody compares
the release with a new sample of the same population. ``docs/verdict.md`` has the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil, floor, sqrt

from synthesizer.data.errors import listed, plural
from synthesizer.measures.catalogue import FIGURES
from synthesizer.measures.evidence import (
    ORDER,
    Evidence,
    Word,
    judged,
    of_codes,
    of_columns,
    percent,
    unclear,
    written,
)
from synthesizer.measures.figure import Figure, agreeing
from synthesizer.measures.results import CheckFigures, RiskResult
from synthesizer.measures.risk.comparable import wilson
from synthesizer.measures.risk.copied import CopiedUniques
from synthesizer.measures.risk.guesses import GUESSES, Guess, Guesses
from synthesizer.measures.risk.near_verbatim import NearVerbatim, difference, quantile_of
from synthesizer.measures.risk.rare_values import RARE_LEVELS, RareValues
from synthesizer.measures.risk.releases import Together
from synthesizer.measures.risk.scenario_risk import ScenarioRisk

LimitOf = Callable[[str], float]
"""Returns the limit of a test by the profile."""

TOLERATED = 0.2
"""Limit as a share of what releasing the original would add."""
SMALLEST = 0.02
"""A difference of shares that is always within the limit: two persons of a hundred."""
FEW_PERSONS = 5
"""Persons of a group to whom records may point beyond the holdout, however small it is."""
MIN_ATTACKS = 100
"""Attacks that a test needs."""
MUCH_LARGER = 1.5
"""Times the records of the original, from which on CAP of a whole dataset is only shown."""
_KEYS = 3
"""Keys that a sentence names; others are counted."""
_WEAK = "Even the original would pass, so this test is not informative: name other keys."


# A person who is in the data.


def of_person(results: CheckFigures, limit: LimitOf) -> Iterator[Evidence]:
    """Yield every test of what a release adds about persons in the data."""
    risk = results.risk
    yield from of_columns(results)
    if risk.unlike:
        yield of_codes("that risk seems lower")
    if risk.copied is None:
        check = "checks.copied_uniques"
        yield unclear("copied_uniques", "verbatim {records}", check, measured=False)
    for copied in (risk.copied, *(part.copied for part in risk.scenarios)):
        if copied is not None:
            yield from _of_copies(copied)
    yield from _of_near(risk, limit)
    guessed = risk.further.get("guesses")
    if isinstance(guessed, Guesses):
        yield _of_guess("guesses", GUESSES.name, guessed, limit("guesses"))
    else:
        yield unclear("guesses", GUESSES.name, "checks.guesses", measured=False)
    rare = risk.further.get("rare_values")
    if isinstance(rare, RareValues):
        yield _of_rare_levels(rare)
        yield from _of_exact_numbers(rare, limit("near_verbatim"))
    for part in risk.scenarios:
        yield from _of_halves(part, limit("guesses"))
    yield from _of_attacks(results, limit)
    yield from _of_kinds(results)
    yield from _of_careers(results)


def _of_copies(copied: CopiedUniques) -> Iterator[Evidence]:
    """Yield whether more unique records occur in the synthetic data than a new sample has."""
    key = copied.kind.key
    alarm, row, control = copied.alarm, copied.worst, copied.control
    if control is not None and control.is_above:
        yield unclear(
            "control",
            "control",
            f"The control is no new sample. {control.present:,} of its {{records}} equal a unique "
            f"{{record}} of the original, and chance explains at most {control.most:,}. So every "
            "risk seems lower than it is.",
        )
    if alarm is None and not copied.uniques:
        return
    unique = "unique {records}"
    if key == "copied_keys":
        unique = f"{{records}} unique by {', '.join(copied.names)}"
    word: Word = "pass"
    sentence = (
        f"{row.present:,} of {copied.uniques:,} {unique} occur in the synthetic data. A new sample "
        f"would have up to {row.most:,} by chance."
    )
    if alarm is not None:
        # variables may be kept on purpose where the configuration is unknown
        word = "fail" if alarm.startswith("ALARM") else "unclear"
        alarm = alarm.removeprefix("ALARM: ").strip()
        sentence = f"{alarm[:1].upper()}{alarm[1:]}."
    yield Evidence(
        key=key,
        test="verbatim unique {records}",
        word=word,
        sentence=sentence,
        value=float(row.present),
        mark=float(row.most),
        fresh=None,
        released=float(copied.uniques),
    )


def _of_near(risk: RiskResult, limit: LimitOf) -> Iterator[Evidence]:
    """Yield the tests of near-verbatim persons: all, the worst group, repeats, releases."""
    near, test = risk.further.get("near_verbatim"), "near-verbatim {records}"
    if not isinstance(near, NearVerbatim):
        yield unclear("near_verbatim", test, "checks.near_verbatim", measured=False)
        return
    yield _pointing("near_verbatim", test, "", near, limit("near_verbatim"))
    for e in _of_worst_persons(near, limit):
        # too few of a group to fail, but more than chance explains in all groups together
        if e.word == "fail" or (e.word == "unclear" and e.high is None and (e.low or 0) > 0):
            yield e
    if risk.releases is not None:
        yield _of_releases(risk.releases, near, limit("near_verbatim"))


def _of_worst_persons(near: NearVerbatim, limit: LimitOf) -> Iterator[Evidence]:
    """Yield tests of verbatim records, the worst group and repeats, which must show something."""
    verbatim, most = near.looks[0], limit("near_verbatim_0")
    yield judged(
        "near_verbatim_0",
        "verbatim {records} beside the holdout",
        f"Verbatim {{records}} point to {verbatim.inside:,} of {near.n:,} {{records}} in the data, "
        f"and to {verbatim.outside:,} of {near.n_outside:,} held out (limit: {percent(most)} "
        "more).",
        (verbatim.excess, verbatim.low, verbatim.high),
        most,
        released=1 - verbatim.outside / near.n_outside,
    )
    for group in near.groups[:1]:
        most = max(limit("near_verbatim_group"), FEW_PERSONS / group.n)
        yield judged(
            "near_verbatim_group",
            f"group {group.variable}: {group.group}",
            f"In the group {group.variable} {group.group}, synthetic {{records}} point to "
            f"{group.inside:,} of {group.n:,} {{records}}. They point to {group.outside:,} of "
            f"{group.n_outside:,} held out.",
            (group.excess, group.low, None),
            most,
            released=1 - group.outside / max(group.n_outside, 1),
        )
    loose, most = near.loose, limit("near_verbatim")
    nearer = judged(
        "near_verbatim_loose",
        "nearest {records}",
        f"Synthetic {{records}} are nearer to {loose.inside:,} of {near.n:,} {{records}} in the "
        f"data than to any other one, and to {loose.outside:,} of {near.n_outside:,} held out "
        f"(limit: {percent(most)} more).",
        (loose.excess, loose.low, None),
        most,
        released=1 - loose.outside / near.n_outside,
    )
    # to be a little nearer to a person than to the next one is not to point to her
    yield nearer.model_copy(update={"word": "unclear"}) if nearer.word == "fail" else nearer
    yield judged(
        "near_verbatim_repeats",
        "repeats",
        f"{near.repeats:,} synthetic {{records}} point to one {{record}} in the data. The largest "
        f"number of one held out is {near.repeats_outside:,} (limit {near.repeats_by_chance:,}).",
        (near.repeats, near.repeats, near.repeats),
        near.repeats_by_chance,
        fresh=float(near.repeats_outside),
    )


def _pointing(key: str, test: str, start: str, near: NearVerbatim, limit: float) -> Evidence:
    """Judge the look that decides about a limit."""
    shown = near.telling(limit)
    several = f" of {near.datasets} datasets" if near.datasets > 1 else ""
    where = f"{shown.inside:,} of {near.n:,} {{records}} in the data, and to {shown.outside:,} of "
    where += f"{near.n_outside:,} held out"
    if near.splits > 1:
        where = f"{shown.inside:,} of {near.n:,} {{records}} when they are in the data, and to "
        where += f"{shown.outside:,} when they are held out (mean of {near.splits} random splits)"
    ends, most = written(100 * shown.low, 100 * shown.high, 100 * limit, 1)
    n = shown.inside - round(shown.outside * near.n / near.n_outside)
    copies, near_copies = (ceil(look * near.n) for look in (near.looks[0].noticed, near.noticed))
    return judged(
        key,
        test,
        f"{start}Synthetic {{records}}{several} point to {where}. "
        f"{'Noticed:' if shown.low > 0 else 'That is'} {abs(n):,} {'fewer' if n < 0 else 'more'} "
        f"than held out ({ends} %), {{result}} of {most} % ({floor(limit * near.n + 1e-9):,} "
        f"{{records}}). Copies are noticed from {copies:,} on, near copies from {near_copies:,} "
        "on.",
        (shown.excess, shown.low, shown.high),
        limit,
        released=1 - shown.outside / near.n_outside,
    )


def _of_releases(together: Together, near: NearVerbatim, limit: float) -> Evidence:
    """Return the test of all releases together, or of the bound for them."""
    key, test = "releases", "releases together"
    start = f"With {plural(len(together.others), 'other release')} of this source: "
    if together.counted is not None:
        return _pointing(key, test, start, together.counted, limit)
    bound = together.bound(near.looks)
    if bound is None:
        end = "For one of them near-verbatim {records} were not counted, so there is no bound."
        return unclear(key, test, f"{start}{end}")
    high, most = agreeing([100 * bound[0]], 100 * limit, 1)
    end = (
        f"Together they point to at most {high} % more {{records}} in the data than held out "
        f"(limit {most} %). This bound is the sum of the upper ends of all releases. "
        "'synthesizer releases SOURCE' lists them; its --not-given-out DIR leaves one out."
    )
    return judged(key, test, f"{start}{end}", (bound[1], None, bound[0]), limit)


def _of_guess(key: str, test: str, guessed: Guesses, limit: float) -> Evidence:
    """Return the test of the target that is guessed most often beside the holdout or a sample."""
    every, n, where = guessed.guesses, guessed.n, "in the data"
    beside = f"Of {guessed.n_outside:,} held out it is guessed right for"
    if key == "guesses_of_anybody":
        every, n, where = guessed.gains, guessed.n_outside, "held out"
        beside = "A new sample guesses it right for"

    def released(guess: Guess) -> float:
        return 1 - guess.beside / guessed.n_outside

    # what nearly everybody has is guessed right by anybody
    guess = next((one for one in every if released(one) > limit), every[0])
    return judged(
        key,
        test,
        f"Of {guessed.n_guesses} guesses the worst: from {guess.known}, {guess.target} is guessed "
        f"right for {guess.guessed:,} of {n:,} {{records}} {where}. {beside} {guess.beside:,} "
        f"(limit: {percent(limit)} more).",
        (guess.excess, guess.low, None),
        limit,
        released=released(guess),
    )


def _of_rare_levels(rare: RareValues) -> Evidence:
    """Return the test of levels of few persons, beside the levels of the holdout."""
    shown = {row.variable: row.names for row in rare.variables if row.names}
    n, outside = sum(shown.values()), sum(row.names_outside for row in rare.variables)
    # a new sample has as many names of the holdout, but for chance
    most = outside + 2 * sqrt(n + outside) if rare.has_control else 0.0
    sentence = f"{n:,} levels that are text, of fewer than {rare.fewer_than} {{records}}, are in "
    sentence = f"{sentence}the datasets (limit {most:.0f}). Codes that are numbers do not count."
    identifying = sum(row.identifying for row in rare.variables)
    low = float(identifying) if identifying > most else None
    if low is not None:
        sentence = f"{sentence} {identifying:,} of them identify single {{records}}."
    if n > most:
        sentence = (
            f"{sentence} Variables: {listed([*shown], _KEYS)}. Write public: true under a variable "
            "whose levels are a published list, or group them by rare."
        )
    return judged("rare_levels", RARE_LEVELS.name, sentence, (n, low, n), most)


def _of_exact_numbers(rare: RareValues, limit: float) -> Iterator[Evidence]:
    """Yield the test of the variable whose exact numbers tell most, if they tell anything."""
    rows = [row for row in rare.variables if row.exact and rare.n_outside]
    beside = rare.n_outside, quantile_of(max(len(rows), 1))
    tests = [(difference(row.exact, rare.n, row.exact_outside, *beside), row) for row in rows]
    (excess, low, _), row = max(tests, key=lambda test: test[0][1], default=((0, 0, 0), None))
    if row is not None and low > 0:
        yield judged(
            "exact_numbers",
            f"numbers of {row.variable}",
            f"The datasets have {row.exact:,} numbers of {row.variable} that only one {{record}} "
            f"in the data has. They have {row.exact_outside:,} that only one {{record}} held out "
            f"has (limit: {percent(limit)} more).",
            (excess, low, None),
            limit,
            released=1 - row.exact_outside / rare.n_outside,
        )


def of_all_rare(results: CheckFigures, key: str, _: float) -> list[Evidence]:
    """Return the test of levels, or of extremes, of few persons, also of codes."""
    rare = results.risk.further.get("rare_values")
    if not isinstance(rare, RareValues):
        return [unclear(key, "rare values", "checks.rare_values", measured=False)]
    if key == "rare_codes":
        n = sum(row.levels for row in rare.variables)
        sentence = f"{n:,} levels or codes of fewer than {rare.fewer_than} {{records}} are in the "
        sentence += "datasets (limit 0). Group them by rare."
    else:
        n = sum(row.rare_extremes for row in rare.variables)
        sentence = f"{n:,} smallest or largest numbers equal those of the original (limit 0)."
    return [judged(key, key.replace("_", " "), sentence, (n, n, n), 0.0)]


def _mark(released: float | None, least: float = SMALLEST) -> float:
    """Return the limit of a difference that is ``released`` if the original is released."""
    return max(TOLERATED * (released or 0.0), least)


def _of_halves(part: ScenarioRisk, least: float) -> Iterator[Evidence]:
    """Yield the train-holdout test of keys and target."""
    if part.differential is None:
        return
    figures = {figure.key: figure for figure in part.differential.figures}
    figure = figures["differential_confidentiality"]
    mark = _mark(figure.original, least)
    interval = (figure.value, figure.low, figure.high)
    if None in interval and figure.value == 0:  # every score is the same in both halves
        interval = (0.0, 0.0, 0.0)
    target = part.scenario.target
    original = "" if figure.original is None else f"; releasing the original: {figure.original:.2f}"
    evidence = judged(
        figure.key,
        f"half split, {target}",
        f"Someone with the keys guesses {target} right. The rate of {{records}} in the data less "
        f"that of others is {{ends}} (limit {{mark}}{original}).",
        interval,
        mark,
        released=figure.original,
    )
    if figure.original is not None and figure.original <= mark and evidence.word != "fail":
        # the release cannot reveal more than the original
        evidence = _weakened(evidence.model_copy(update={"word": "pass"}))
    yield evidence
    worst = part.differential.worst_group
    if worst is not None and worst.low is not None and worst.low > mark:
        yield judged(
            "worst_group",
            f"half split, worst group of {worst.by}",
            f"In group {worst.group} of {worst.by} the difference is {{ends}} (limit {{mark}}).",
            (worst.difference, worst.low, worst.high),
            mark,
            released=figure.original,
        )


def _weakened(e: Evidence) -> Evidence:
    """Add that the keys are not informative."""
    return e.model_copy(update={"sentence": f"{e.sentence} {_WEAK}", "is_weak": True})


def _of_attacks(results: CheckFigures, limit: LimitOf) -> Iterator[Evidence]:
    """Yield the test of the attack that is most successful."""
    attacks = results.risk.attacks
    if attacks is None and "guesses" in results.risk.further and not results.risk.scenarios:
        return  # there are no keys: every variable is guessed from all others
    if attacks is None:
        yield unclear("attack_risk", "attacks", "checks.attacks", measured=False)
        return
    tests = []
    for attack in attacks.attacks:
        if attack.n < MIN_ATTACKS or attack.risk is None:
            continue
        sentence = (
            f"{attack.name.capitalize()}: the success rate of {{records}} in the data less that of "
            "{records} held out is {ends} (limit {mark})."
        )
        # where hardly anything is left to gain, a share of it is the noise of a few persons
        most = max(limit("attack_risk"), limit("attack_persons") / (1 - (attack.control_rate or 0)))
        interval = (attack.risk, attack.low, attack.high)
        tests.append(judged("attack_risk", attack.name, sentence, interval, most, released=1.0))
    if tests:
        yield max(tests, key=lambda e: (ORDER.index(e.word), -1 if e.high is None else e.high))


def _of_kinds(results: CheckFigures) -> Iterator[Evidence]:
    """Yield the tests that kinds of figures bring with them: shares of what is there again."""
    for _, figure in results.risk.other_figures:
        kind, value, chance = FIGURES.get(figure.key), figure.value, figure.chance or 0.0
        if kind is not None and kind.test and value is not None:
            sentence = kind.finding.replace("{value}", f"{value:.2f}")
            yield judged(
                figure.key,
                kind.test,
                sentence.replace("{fresh}", f"{chance:.2f}"),
                (value, *wilson(value, max(figure.n, 1))),
                chance + _mark((figure.original or 0.0) - chance),
                fresh=chance,
                released=figure.original,
            )


def _of_careers(results: CheckFigures) -> Iterator[Evidence]:
    """Yield the tests of careers and of their moves, beside persons that are not in the data."""
    figures = {figure.key: figure for _, figure in results.risk.other_figures}
    unicity = figures.get("unicity")
    for beyond in map(figures.get, ("careers_beyond", "moves_beyond")):
        if beyond is not None:
            yield _of_figure(
                beyond,
                beyond.name,
                "Being in the data adds {ends} to how well a part of a career predicts the rest "
                "(limit {mark}).",
                None if unicity is None else unicity.value,
            )


def _of_figure(
    figure: Figure, test: str, sentence: str, released: float | None, least: float = SMALLEST
) -> Evidence:
    """Judge a difference by its share of what releasing the original would add."""
    interval = (figure.value, figure.low, figure.high)
    mark = _mark(released, least)
    return judged(figure.key, test, sentence, interval, mark, released=released)


# Anybody.

_ONE = {"CAP": "CAP, one dataset", "DiSCO": "DiSCO"}
_SHOWN = {
    "CAP": "Someone who knows {keys} guesses {target} right at a rate of",
    "DiSCO": "The keys {keys} disclose {target} for a share of",
}


def of_anybody(results: CheckFigures, limit: LimitOf) -> Iterator[Evidence]:
    """Yield every test of what a release shows about anybody, beside a new sample."""
    guessed, most = results.risk.further.get("guesses"), limit("guesses_of_anybody")
    if isinstance(guessed, Guesses):
        yield _of_guess("guesses_of_anybody", "guesses beyond a new sample", guessed, most)
    scenarios = [part for part in results.risk.scenarios if part.cap is not None and part.cap.fresh]
    copied = results.risk.copied
    is_larger = copied is not None and max(row.n for row in copied.rows) > MUCH_LARGER * copied.n
    for part in scenarios:
        # a larger file guesses better, whoever made it: a sample of it was looked at above
        if not (is_larger and isinstance(guessed, Guesses)):
            yield from _beyond_fresh(part, most)
    if not scenarios and not isinstance(guessed, Guesses):
        check = "checks.cap (with keys and a target)"
        yield unclear("cap_beyond", "CAP and DiSCO", check, measured=False)


def _beyond_fresh(part: ScenarioRisk, least: float) -> Iterator[Evidence]:
    """Yield the tests of one dataset and the keys, beside a new sample."""
    keys, target = part.scenario.keys, part.scenario.target
    named = listed(keys, _KEYS)
    is_weak = False
    for row in () if part.cap is None else part.cap.fresh:
        figure = row.figure
        evidence = _of_figure(
            figure,
            f"{row.name}, {target}",
            f"{_SHOWN[row.name].format(keys=named, target=target)} {row.synthetic:.2f} "
            f"({_ONE[row.name]}). A new sample has {row.fresh:.2f}, the original "
            f"{row.released:.2f}. The difference to a new sample is {{ends}} (limit {{mark}}).",
            figure.original,
            least,
        )
        # one sentence is enough for the same keys
        weak = figure.original is not None and figure.original <= _mark(figure.original, least)
        if weak and not is_weak:
            evidence, is_weak = _weakened(evidence), True
        yield evidence
