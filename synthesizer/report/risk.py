"""Everything about risk, section by section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from synthesizer.report.charts import DotRow, Panel, Series, dots, panels
from synthesizer.report.page import (
    Block,
    Chart,
    DataTable,
    Gap,
    Note,
    Section,
    Words,
    interval,
    written,
)
from synthesizer.report.risk_disclosure import (
    disclosure_section,
    inference_section,
    uniques_section,
)
from synthesizer.report.risk_figures import (
    COUNT,
    FIGURE,
    Rate,
    ScenarioPart,
    absent,
    count,
    has_control_file,
    heading,
    joined,
    names,
    other_rates,
    part,
    rates,
    risk_part,
    said,
    scenarios,
    span,
    unmeasured,
    verdict,
)
from synthesizer.report.risk_halves import differential_section
from synthesizer.report.untyped import Record, listed, mappings, number, words

# Attacks that were carried out: singling out, linkability and inference.

_ATTACKS_OFF = (
    "No attack was carried out. Switch them on with checks: {attacks: true}. Worth it "
    "where exact numbers could be recognised, such as an income to the cent: default CART repeats "
    "numbers that occur."
)
_ATTACKS_OFF_FILES = (
    "No attack was carried out. They need a control file (--control, with --attacks), records of "
    "other people of the same population that were kept out of the fit."
)
_WHAT = {
    "singling out by rare values": "Conditions on single rare values that fit one synthetic "
    "record: do they fit exactly one person?",
    "singling out by combinations": "Conditions on combinations of values that fit one synthetic "
    "record: do they fit exactly one person?",
    "linkability": "Two sources with different variables: does the synthetic data set help to "
    "join the records of one person?",
    "inference": "The target is taken from the nearest synthetic record: is it right?",
}
_ATTACKS_READS = (
    "Risk is what an attack gains on persons who were in the fit beyond persons who were not, as "
    "a share of what could be gained: 0 is none, 1 is always. An interval that covers 0 shows no "
    "risk; one above 0 does."
)


def attacks_section(record: Record) -> Section | None:
    """Return risk and success of the attacks; None without a part about risk.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.
    """
    told = risk_part(record)
    if not told:
        return None
    found = mappings(told, "attacks", "attacks")
    if found:
        blocks = list(_attacks_blocks(part(told, "attacks"), found))
    else:
        off = _ATTACKS_OFF_FILES if has_control_file(record) else _ATTACKS_OFF
        blocks = [absent(record, "attacks", "Attacks", found=told.get("attacks"), off=off)]
    return Section(
        anchor="attacks",
        title="Attacks",
        lead="Attacks on the synthetic data, held against attacks on persons it never saw.",
        blocks=blocks,
    )


def _attacks_blocks(
    attacks: Mapping[str, Any], found: Sequence[Mapping[str, Any]]
) -> Iterator[Block]:
    yield Words(list(_setting(attacks)))
    yield _risks(found)
    yield _success(found)
    yield from _attacks_notes(found)
    yield DataTable(
        caption="What was tried",
        columns=("Attack", "In words"),
        forms=("text", "text"),
        rows=[(words(row, "name"), _WHAT.get(words(row, "name"), "")) for row in found],
    )


def _setting(attacks: Mapping[str, Any]) -> Iterator[str]:
    keys = joined(names(attacks, "keys")) or "unnamed keys"
    yield (
        f"The inference attack knows {keys} and seeks "
        f"{words(attacks, 'target') or 'an unnamed target'}. All attacks use "
        f"{written(count(attacks, 'synthetic'), 'count')} synthetic records; the halves have "
        f"{written(count(attacks, 'all_fitted'), 'count')} fitted and "
        f"{written(count(attacks, 'all_unseen'), 'count')} unseen records, of which "
        f"{written(count(attacks, 'records'), 'count')} of each took part in singling out. "
        f"Intervals have a confidence of {written(number(attacks, 'confidence'), 'share')}."
    )
    sources = [joined(names(source)) for source in listed(attacks, "linked")]
    if len(sources) == 2:
        yield f"Linkability joins a source with {sources[0]} to one with {sources[1]}."


def _risks(found: Sequence[Mapping[str, Any]]) -> Chart:
    title = "Risk of each attack"
    drawn = [
        DotRow(
            label=words(row, "name"),
            value=number(row, "risk"),
            low=number(row, "low"),
            high=number(row, "high"),
        )
        for row in found
    ]
    summary = "; ".join(
        f"{row.label}: {written(row.value, 'share')} (interval {span(row.low, row.high)})"
        for row in drawn
    )
    return Chart(
        title=title,
        svg=dots(
            drawn,
            title=title,
            description=summary,
            label="risk",
            marks={"value": "risk"},
            whole=True,
            zero=True,
        ),
        reads=_ATTACKS_READS,
        summary=summary,
        table=_attacks_table(found),
    )


def _success(found: Sequence[Mapping[str, Any]]) -> Chart:
    title = "How often each attack succeeds"
    drawn = [
        DotRow(
            label=words(row, "name"),
            value=number(row, "rate"),
            low=number(row, "rate_low"),
            high=number(row, "rate_high"),
            baseline=number(row, "baseline"),
            original=number(row, "control_rate"),
        )
        for row in found
    ]
    summary = "; ".join(
        f"{row.label}: {written(row.value, 'share')} on fitted records, "
        f"{written(row.original, 'share')} on unseen ones, {written(row.baseline, 'share')} by "
        "guessing"
        for row in drawn
    )
    marks = {
        "value": "fitted records",
        "original": "unseen records",
        "baseline": "an attacker who guesses",
    }
    return Chart(
        title=title,
        svg=dots(drawn, title=title, description=summary, label="success", whole=True, marks=marks),
        reads=(
            "The dot is the success on records that were fitted, the diamond that on records that "
            "were not, the bar that of somebody who guesses. Only the way from diamond to dot is "
            "due to the release; what reaches the diamond is knowledge of the population."
        ),
        summary=summary,
    )


def _attacks_table(found: Sequence[Mapping[str, Any]]) -> DataTable:
    counts = ("asked", "n", "successes", "control_successes")
    shares = ("rate", "rate_low", "rate_high", "control_rate", "baseline", "risk", "low", "high")
    return DataTable(
        caption="Attacks made on each half, successes, rates, and the risk with its interval",
        columns=(
            "Attack",
            "Asked for",
            "Made",
            "Successes",
            "On unseen records",
            "Success",
            "From",
            "To",
            "Success on unseen",
            "Guessing",
            "Risk",
            "Risk from",
            "Risk to",
        ),
        forms=("text", *[COUNT] * 4, *[FIGURE] * 8),
        rows=[
            (
                words(row, "name"),
                *(count(row, name) for name in counts),
                *(number(row, name) for name in shares),
            )
            for row in found
        ],
    )


def _attacks_notes(found: Sequence[Mapping[str, Any]]) -> Iterator[Note]:
    for row in found:
        name = words(row, "name") or "An attack"
        low, high, kept = (number(row, key) for key in ("low", "high", "fitted_kept"))
        if row.get("is_weak") is True:
            yield Note(
                f"{name}: guessing does better, so the attack proves nothing, not even safety.",
                "alert",
            )
        elif low is not None and low > 0:
            yield Note(
                f"{name}: the interval {interval(low, high, 'share')} lies above 0; persons who "
                "were in the fit are at more risk than others.",
                "alert",
            )
        if (count(row, "n") or 0) == 0:
            yield Note(f"{name}: no attack could be made; nothing can be concluded.")
        if kept is not None and kept < 1:
            yield Note(
                f"{name}: only a share of {written(kept, 'share')} of the fitted records could be "
                "attacked, so rate and risk are too low by about that share."
            )


# CAP by number of datasets: what further datasets add to what an intruder reads off.

_SUBSETS = {
    "all": "all records",
    "uniques": "uniques on the keys",
    "special_uniques": "special uniques",
}
_RULES = {"zero": "no match counts as 0", "undefined": "no match is left out"}
_CAP_READS = (
    "CAP is how often an intruder with the keys reads off the right target. Lower is safer. The "
    "solid line is the synthetic data as datasets are added, dashed below it what the same "
    "matches would give if their targets were anybody's (baseline), dotted above it the original "
    "released as it is. Where no match counts as 0 the line rises with the number of datasets "
    "because matches become likelier; where non-matches are left out it should be flat."
)
_OFF = "CAP was not computed for this intruder; it is unless checks.cap is false."


def cap_section(record: Record) -> Section | None:
    """Return mean CAP for nested numbers of datasets, None without any scenario.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.
    """
    parts = scenarios(record)
    if not parts:
        return None
    return Section(
        anchor="cap",
        title="CAP by number of datasets",
        lead="What an intruder reads off with the keys, as more datasets are released together.",
        blocks=[block for entry in parts for block in _cap_scenario(record, entry)],
    )


def _cap_scenario(record: Record, scenario: ScenarioPart) -> Iterator[Block]:
    yield from heading(scenario)
    cap, found = part(scenario.content, "cap"), mappings(scenario.content, "cap", "synthetic")
    if not found:
        yield absent(
            record,
            "cap",
            "CAP by number of datasets",
            found=scenario.content.get("cap"),
            label=scenario.label,
            off=_OFF,
        )
    else:
        yield from _cap(cap, found, scenario)
    yield from _tcap(record, scenario)


def _cap(
    cap: Mapping[str, Any], found: Sequence[Mapping[str, Any]], scenario: ScenarioPart
) -> Iterator[Block]:
    if max((count(row, "m") or 1 for row in found), default=1) > 1:
        yield _chart(cap, found, scenario)
        yield from _regression(scenario)
    else:
        yield Words([_one_dataset(row, cap) for row in found])
        yield _cap_table(cap, found)
    singles = mappings(cap, "singles")
    if singles:
        yield _singles(singles)


def _one_dataset(row: Mapping[str, Any], cap: Mapping[str, Any]) -> str:
    subset = words(row, "subset")
    return (
        f"{_SUBSETS.get(subset, subset or 'records').capitalize()}: with one dataset an intruder "
        f"reads off the right target at a rate of {written(number(row, 'zero'), 'share')}, where "
        f"guessing those that match achieves {written(number(row, 'chance_zero'), 'share')} and "
        f"the original {written(number(cap, 'original', subset), 'share')}."
    )


def _chart(
    cap: Mapping[str, Any], found: Sequence[Mapping[str, Any]], scenario: ScenarioPart
) -> Chart:
    subsets = list(dict.fromkeys(words(row, "subset") for row in found))
    drawn = [_panel(cap, found, subset, rule) for subset in subsets for rule in _RULES]
    title = "Mean CAP by number of datasets"
    summary = " ".join(_last(cap, found, subset) for subset in subsets)
    return Chart(
        title=title,
        svg=panels(
            drawn,
            title=f"{title}. {scenario.heading}",
            description=summary,
            x_label="datasets",
        ),
        reads=_CAP_READS,
        summary=summary,
        table=_cap_table(cap, found),
    )


def _panel(
    cap: Mapping[str, Any], found: Sequence[Mapping[str, Any]], subset: str, rule: str
) -> Panel:
    own = [row for row in found if words(row, "subset") == subset]
    lines = (("synthetic", "synthetic", rule), ("baseline", "baseline", f"chance_{rule}"))
    return Panel(
        title=_SUBSETS.get(subset, subset),
        subtitle=_RULES[rule],
        series=[
            Series(label=label, style=style, points=_points(own, field))
            for label, style, field in lines
        ],
        level=number(cap, "original", subset),
    )


def _points(found: Sequence[Mapping[str, Any]], field: str) -> list[tuple[float, float]]:
    known = ((number(row, "m"), number(row, field)) for row in found)
    return [(m, value) for m, value in known if m is not None and value is not None]


def _last(cap: Mapping[str, Any], found: Sequence[Mapping[str, Any]], subset: str) -> str:
    own = [row for row in found if words(row, "subset") == subset]
    first, last = own[0], own[-1]
    return (
        f"{_SUBSETS.get(subset, subset).capitalize()}: "
        f"{written(number(first, 'zero'), 'share')} with {count(first, 'm') or 1}, "
        f"{written(number(last, 'zero'), 'share')} with {count(last, 'm') or 1} datasets where "
        f"no match counts as 0, {written(number(last, 'undefined'), 'share')} where it is left "
        f"out; baseline {written(number(last, 'chance_zero'), 'share')}, original "
        f"{written(number(cap, 'original', subset), 'share')}."
    )


def _cap_table(cap: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> DataTable:
    return DataTable(
        caption="Mean CAP by number of pooled datasets and subset; baseline: the same matches "
        "with targets guessed; paper's baseline: of all records, by the distribution of the target",
        columns=(
            "Records",
            "Datasets",
            "Number",
            "Matched",
            "CAP (0)",
            "Baseline (0)",
            "CAP (left out)",
            "Baseline (left out)",
            "Paper's baseline",
            "Original",
        ),
        forms=("text", "count", "count", "count", *[FIGURE] * 6),
        rows=[
            (
                _SUBSETS.get(words(row, "subset"), words(row, "subset")),
                *(count(row, name) for name in ("m", "size", "matched")),
                *(number(row, n) for n in ("zero", "chance_zero", "undefined", "chance_undefined")),
                number(cap, "baseline", words(row, "subset")),
                number(cap, "original", words(row, "subset")),
            )
            for row in found
        ],
        sortable=True,
    )


def _singles(singles: Sequence[Mapping[str, Any]]) -> DataTable:
    return DataTable(
        caption="Mean CAP of each dataset by itself",
        columns=(
            "Records",
            "Dataset",
            "Matched",
            "CAP (0)",
            "Baseline (0)",
            "CAP (left out)",
            "Baseline (left out)",
        ),
        forms=("text", "count", "count", *[FIGURE] * 4),
        rows=[
            (
                _SUBSETS.get(words(row, "subset"), words(row, "subset")),
                count(row, "dataset"),
                count(row, "matched"),
                *(number(row, n) for n in ("zero", "chance_zero", "undefined", "chance_undefined")),
            )
            for row in singles
        ],
        sortable=True,
    )


def _regression(scenario: ScenarioPart) -> Iterator[Block]:
    lines = [row for row in mappings(scenario.content, "regression_on_m") if part(row, "line")]
    if not lines:
        yield Words(["No straight line through the number of datasets: it needs three of them."])
        return
    fields = ("intercept", "intercept_error", "slope", "slope_error")
    yield DataTable(
        caption="Straight line of mean CAP on the number of datasets; the datasets are nested, so "
        "the p-values describe the line and prove nothing",
        columns=(
            "Records",
            "Rule",
            "Start",
            "Its error",
            "Rise for each",
            "Its error (rise)",
            "p of the start",
            "p of the rise",
            "R²",
        ),
        forms=("text", "text", *[FIGURE] * 4, "p", "p", "figure"),
        rows=[
            (
                _SUBSETS.get(words(row, "subset"), words(row, "subset")),
                _RULES.get(words(row, "rule"), words(row, "rule")),
                *(number(row, "line", name) for name in fields),
                number(row, "line", "intercept_p"),
                number(row, "line", "slope_p"),
                number(row, "line", "r2"),
            )
            for row in lines
        ],
    )


def _tcap(record: Record, scenario: ScenarioPart) -> Iterator[Block]:
    found = part(scenario.content, "tcap")
    steps = mappings(found, "synthetic")
    if not steps and scenario.has_tolerance:
        return  # a warning of the scenario says why
    if not steps:
        yield absent(
            record,
            "tcap",
            "TCAP",
            found=scenario.content.get("tcap"),
            label=scenario.label,
            off="TCAP was not computed for this intruder; it comes with CAP.",
        )
        return
    yield _tcap_table(found, steps)


def _tcap_table(found: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> DataTable:
    fields = ("matched", "attributed", "correct", "guessed")
    shares = ("tcap", "chance", "guess", "baseline", "of_matched", "of_records")
    named = [(f"first {count(row, 'm') or 1}", row) for row in steps]
    tau = written(number(found, "tau"), "text")
    return DataTable(
        caption="TCAP: the intruder who only believes what the synthetic records of one key agree "
        f"on (share {tau} or more); more datasets agree less often, and are then believed more",
        columns=(
            "Datasets",
            "Matched",
            "Attributed",
            "Right",
            "Right by guessing",
            "TCAP",
            "Agreement by chance",
            "Guessing",
            "Baseline CAP",
            "Of the matched",
            "Of all",
        ),
        forms=("text", *[COUNT] * 4, *[FIGURE] * 6),
        rows=[
            (name, *(count(row, f) for f in fields), *(number(row, f) for f in shares))
            for name, row in [*named, ("original", part(found, "original"))]
        ],
    )


# Risk at a glance: every rate between guessing and the original, and the verdict in words.

_NO_RISK = frozenset({"UiO", "Dorig", "UiS", "Dsyn", "unique records"})
"""They describe one file by itself; the part about the measure shows them."""
_SAID = frozenset({"differential confidentiality", "CAP", "CAP-U", "TCAP", "repU", "DiSCO"})
_MOST_SAID = 6
_COUNTS = "a count"
_READS = (
    "Each dot is what the synthetic data give away, from 0 to 1, with its 95 % interval where one "
    "is known. The bar across is the baseline: what guessing achieves. The diamond is what "
    "releasing the original itself would give away. A dot near the bar is safe; the nearer it is "
    "to the diamond, the more the release tells."
)


def glance_section(record: Record) -> Section:
    """Return what an intruder could learn, in one picture for each scenario.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.
    """
    parts = scenarios(record)
    blocks: list[Block] = [*unmeasured(record)]
    blocks += [block for entry in parts for block in _scenario(entry)]
    blocks += _others(record)
    if not blocks:
        blocks = [
            Words(
                [
                    "No measure of risk was computed. Write checks: {} in the configuration, or "
                    "leave the key out, and every measure but inference and attacks runs."
                ]
            )
        ]
    return Section(
        anchor="risk",
        title="Risk at a glance",
        lead="How much the synthetic data tell of persons, between guessing and the original.",
        blocks=[*blocks, *_notes(record)],
    )


def _scenario(scenario: ScenarioPart) -> Iterator[Block]:
    yield from heading(scenario)
    reason = scenario.content.get("scenario")
    told = part(reason).get("reason")
    if isinstance(told, str) and told not in ("", "as configured", "as asked for"):
        yield Words([f"Why these: {told}"])
    found = rates(scenario.content, "figures")
    yield from verdict(scenario, found)
    shown = [entry for entry in found if _is_rate(entry)]
    if shown:
        yield rate_chart(shown, "Every rate, between guessing and the original", scenario.heading)
        yield _legend(shown)
    for warning in names(scenario.content, "warnings"):
        yield Note(warning)


def _is_rate(entry: Rate) -> bool:
    marks = (entry.baseline, entry.original, entry.low)
    compared = any(mark is not None for mark in marks)
    return compared and entry.direction != _COUNTS and entry.name not in _NO_RISK


def rate_chart(found: Sequence[Rate], title: str, about: str = "") -> Chart:
    """Return a dot plot of rates with the numbers behind it.

    Parameters
    ----------
    found : sequence of Rate
        At least one.
    title : str
        Of the figure.
    about : str
        What tells it from the other figures of the page, for readers who cannot see it.
    """
    everything = "; ".join(said(entry) for entry in found)
    main = [entry for entry in found if entry.name in _SAID] or found[:_MOST_SAID]
    summary = "; ".join(said(entry) for entry in main)
    rows = [
        DotRow(
            label=entry.name,
            value=entry.value,
            low=entry.low,
            high=entry.high,
            baseline=entry.baseline,
            original=entry.original,
        )
        for entry in found
    ]
    name = f"{title}. {about}" if about else title
    picture = dots(rows, title=name, description=everything, label="rate", whole=True)
    return Chart(
        title=title, svg=picture, reads=_READS, summary=summary, table=_table(found, title)
    )


def _table(found: Sequence[Rate], title: str) -> DataTable:
    columns = ("Figure", "Value", "From", "To", "Baseline", "Original", "Records")
    return DataTable(
        caption=f"{title}; from and to are the ends of the 95 % interval",
        columns=columns,
        forms=("text", *[FIGURE] * 5, "count"),
        rows=[(e.name, e.value, e.low, e.high, e.baseline, e.original, e.n) for e in found],
        sortable=len(found) > 4,
    )


def _legend(found: Sequence[Rate]) -> DataTable:
    return DataTable(
        caption="What each figure says",
        columns=("Figure", "In words", "Good is", "Value"),
        forms=("text", "text", "text", "figure"),
        rows=[(e.name, e.meaning, e.direction, e.value) for e in found],
    )


def _others(record: Record) -> Iterator[Block]:
    found = [entry for entry in other_rates(record) if entry.name not in _NO_RISK]
    if found:
        yield Markup("<h3>Beyond keys and target</h3>")
        yield rate_chart(found, "Whole records, sensitive variables and attacks")
        yield _legend(found)


def _notes(record: Record) -> Iterator[Block]:
    told = risk_part(record)
    for note in names(told, "notes"):
        yield Note(note)
    for name, why in part(told, "failed").items():
        reason = words(why) or "no reason was stored"
        yield Gap(str(name), f"It could not be computed: {reason}")


# Are synthetic records nearer to records that were fitted than to records that were not?

_OFF_RUN = "Nearest records were not compared; they are unless checks.nearest is false."
_OFF_FILES = (
    "Nearest records were not compared: that needs a control file (--control), records of other "
    "people of the same population that were kept out of the fit."
)
_NEAREST_READS = (
    "0.5 is a coin toss: synthetic records are as near to people the synthesis never saw as to "
    "people it was fitted on. The farther the interval lies above 0.5, the more the synthesis has "
    "copied. The diamond is where the fitted records themselves would stand."
)


def nearest_section(record: Record) -> Section | None:
    """Return the share of records nearer to the fitted half; None without a part about risk.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.
    """
    told = risk_part(record)
    if not told:
        return None
    nearest = part(told, "nearest")
    if number(nearest, "share") is None:
        off = _OFF_FILES if has_control_file(record) else _OFF_RUN
        what = "Nearest records"
        blocks: list[Block] = [absent(record, "nearest", what, found=told.get("nearest"), off=off)]
    else:
        blocks = list(_blocks(nearest))
    return Section(
        anchor="nearest",
        title="Nearest records",
        lead="Whole records: are synthetic ones nearer to people who were in the fit?",
        blocks=blocks,
    )


def _blocks(nearest: Mapping[str, Any]) -> Iterator[Block]:
    share, low, high = (number(nearest, name) for name in ("share", "low", "high"))
    yield _verdict(low, high)
    summary = (
        f"A share of {written(share, 'share')} of the synthetic records is nearer to the fitted "
        f"half, 95 % interval {span(low, high)}; the fitted records themselves would have "
        f"{written(number(nearest, 'original'), 'share')}."
    )
    title = "Share nearer to the fitted half"
    row = DotRow(
        label="nearer to a fitted record",
        value=share,
        low=low,
        high=high,
        baseline=0.5,
        original=number(nearest, "original"),
    )
    marks = {
        "value": "synthetic records",
        "baseline": "coin toss (0.5)",
        "original": "fitted records themselves",
    }
    yield Chart(
        title=title,
        svg=dots([row], title=title, description=summary, label="share", whole=True, marks=marks),
        reads=_NEAREST_READS,
        summary=summary,
        table=_nearest_table(nearest),
    )
    yield Words(list(_sentences(nearest)))
    yield _copies(nearest)


def _verdict(low: float | None, high: float | None) -> Note:
    if low is None or high is None:
        return Note("There is no interval for the share: nothing can be concluded.", "alert")
    if low > 0.5:
        return Note(
            f"The interval {interval(low, high, 'share')} lies above 0.5: synthetic records keep "
            "something of the records they were fitted on.",
            "alert",
        )
    if high < 0.5:
        return Note(
            f"The interval {interval(low, high, 'share')} lies below 0.5: synthetic records are "
            "nearer to unseen records. That discloses nothing, but look whether both are alike."
        )
    return Note(
        f"The interval {interval(low, high, 'share')} covers 0.5: no sign that synthetic records "
        "keep the records they were fitted on.",
        "good",
    )


def _nearest_table(nearest: Mapping[str, Any]) -> DataTable:
    figures = {
        "share": "share nearer to the fitted half (ties counted half)",
        "low": "lower end of its 95 % interval",
        "high": "upper end",
        "original": "the same of the fitted records themselves",
        "excess": "excess over 0.5, as a share of the fitted records' own",
        "excess_low": "lower end of its interval",
        "excess_high": "upper end of its interval",
        "fitted_distance": "median distance to the nearest fitted record (0 to 1)",
        "unseen_distance": "median distance to the nearest unseen record",
        "distance_ratio": "the first over the second; below 1 is nearer to the fitted",
        "fitted_kept": "share of the fitted half that was compared",
        "unseen_kept": "share of the unseen half that was compared",
    }
    return DataTable(
        caption="Nearest records by Gower's distance",
        columns=("Figure", "Value"),
        forms=("text", "figure"),
        rows=[(meaning, number(nearest, name)) for name, meaning in figures.items()],
    )


def _sentences(nearest: Mapping[str, Any]) -> Iterator[str]:
    counts = {n: written(count(nearest, n), "count") for n in ("nearer", "unseen_nearer", "ties")}
    compared = names(nearest, "names")
    yield (
        f"Of {written(count(nearest, 'synthetic'), 'count')} synthetic records that were compared, "
        f"{counts['nearer']} are nearer to a fitted record, {counts['unseen_nearer']} to an unseen "
        f"one and {counts['ties']} as near to both; the interval counts as if they were "
        f"{written(count(nearest, 'effective'), 'count')} independent ones."
    )
    if compared:
        yield f"Compared on {len(compared)} variables: {joined(compared)}."
    kept = number(nearest, "fitted_kept")
    if kept is not None and kept < 1:
        yield (
            f"Only a share of {written(kept, 'share')} of the fitted records was compared, since "
            "there are no more unseen ones; copies of the others lose their source, and the share "
            "cannot reach 1. The excess in the table allows for that."
        )


def _copies(nearest: Mapping[str, Any]) -> DataTable:
    total = written(count(nearest, "all_synthetic"), "count")
    return DataTable(
        caption=f"Exact copies among all {total} synthetic records: equal in every variable "
        "compared. Copies of unseen records show how many chance makes",
        columns=("Equal to", "Copies", "Out of so many records"),
        forms=("text", "count", "count"),
        rows=[
            ("a fitted record", count(nearest, "fitted_copies"), count(nearest, "all_fitted")),
            ("an unseen record", count(nearest, "unseen_copies"), count(nearest, "all_unseen")),
        ],
    )


def risk_sections(record: Record) -> tuple[Section, ...]:
    """Return the parts of a report about risk, from the overview to single measures.

    Whatever the checks hold, nothing is raised: what is missing or cannot be read becomes a
    sentence that says why and how to get it.

    Parameters
    ----------
    record : Record
        A run, or the file of the command ``risk`` as its checks.

    Returns
    -------
    tuple of Section
        ``risk``, ``cap``, ``differential``, ``identity``, ``uniques``, ``nearest``,
        ``inference`` and ``attacks``; those without any subject are left out.

    Examples
    --------
    >>> [section.anchor for section in risk_sections(Record(manifest={}, checks={}))]
    ['risk']
    """
    builders = (
        glance_section,
        cap_section,
        differential_section,
        disclosure_section,
        uniques_section,
        nearest_section,
        inference_section,
        attacks_section,
    )
    return tuple(section for build in builders if (section := build(record)) is not None)
