"""Pictures of careers: states by period, changes, spells, and single careers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from statistics import fmean

from markupsafe import Markup

from synthesizer.data.errors import plural
from synthesizer.data.panel.view import ABSENT, OTHERS
from synthesizer.measures.utility.sequences import SequenceResult
from synthesizer.report.blocks import Block, Cell, Chart, DataTable, Form, written
from synthesizer.report.charts import (
    SIDES,
    WIDTH,
    PairedBar,
    Scale,
    axis_left,
    clipped,
    el,
    legend,
    legends,
    line,
    paired_bars,
    svg,
    text,
    text_width,
)

MAX_STATES = 10
"""States with a separate colour; of more, one less, and the others together."""
MAX_BARS = 13
"""Pairs of bars of one picture; the last one has all larger numbers of moves."""
_WIDE = 720.0
_MARGIN = 40.0
_GAP = 48.0
_TALL = 230.0
_TOP = 30.0
_LETTERS = 22
_LINE = 9.0

Shares = Sequence[Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class ShownStates:
    """Careers over T periods for pictures: at most ten states, others, and absence."""

    periods: tuple[str, ...]
    states: tuple[str, ...]
    """S labels, by frequency; others and absence at the end."""
    colours: tuple[str, ...]
    """Class of each state's colour."""
    original: tuple[tuple[float, ...], ...]
    """Shares of persons in each period, shape (T, S)."""
    synthetic: tuple[tuple[float, ...], ...]
    sample: tuple[tuple[int, ...], ...]
    """Synthetic careers as positions in ``states``."""
    original_lines: tuple[tuple[int, ...], ...] = ()
    """Most frequent state of groups of persons by period, as positions in ``states``."""
    synthetic_lines: tuple[tuple[int, ...], ...] = ()


def shown_states(sequences: SequenceResult, periods: Sequence[str]) -> ShownStates:
    """Return careers with rarer states joined into one."""
    labels, positions = _groups(sequences.states)

    def folded(shares: Shares) -> tuple[tuple[float, ...], ...]:
        return tuple(
            tuple(
                sum(share for share, at in zip(row, positions, strict=True) if at == state)
                for state in range(len(labels))
            )
            for row in shares
        )

    def placed(careers: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(positions[state] for state in career) for career in careers)

    return ShownStates(
        periods=tuple(periods),
        states=labels,
        colours=_colours(labels),
        original=folded(sequences.original.headcounts),
        synthetic=folded(sequences.synthetic.headcounts),
        sample=placed(sequences.sample),
        original_lines=placed(sequences.original_lines),
        synthetic_lines=placed(sequences.synthetic_lines),
    )


def _groups(states: Sequence[str]) -> tuple[tuple[str, ...], list[int]]:
    """Return the shown states, and for each state its position among them."""
    ends = [label for label in states if label in (OTHERS, ABSENT)]
    named = [label for label in states if label not in ends]
    few = named if len(named) <= MAX_STATES and OTHERS not in ends else named[: MAX_STATES - 1]
    labels = list(few)
    if len(few) < len(named) or OTHERS in ends:
        labels.append(OTHERS)
    if ABSENT in ends:
        labels.append(ABSENT)
    others = labels.index(OTHERS) if OTHERS in labels else 0
    return tuple(labels), [labels.index(s) if s in labels else others for s in states]


def _colours(labels: Sequence[str]) -> tuple[str, ...]:
    """Return a colour for each state; others and absence are grey."""
    fixed = {OTHERS: "fill-muted", ABSENT: "fill-grid"}
    order = iter(["s1", "s2", "s3", "s4", "s5", "s7", "s8", "s9", "s10", "s6"])
    return tuple(fixed[label] if label in fixed else f"fill-{next(order)}" for label in labels)


def stacks_chart(shown: ShownStates) -> Chart:
    """Return the shares of the states, period by period."""
    summary, rows = _compared_states(shown)
    return Chart(
        title="Share of persons in each state, period by period",
        svg=_stacks(shown, summary),
        reads="The two pictures should be equal: the same bands with the same widths. The "
        "synthetic one is the mean over the datasets.",
        summary=summary,
        table=DataTable(
            caption="Mean share over all periods, and the period with the largest difference",
            columns=[
                "State", "Original", "Synthetic", "Period", "Original there", "Synthetic there",
            ],
            forms=("text", "share", "share", "text", "share", "share"),
            rows=rows,
        ),
    )  # fmt: skip


def _compared_states(shown: ShownStates) -> tuple[str, list[list[Cell]]]:
    """Return a sentence on the largest difference, and a row for each state."""
    rows: list[list[Cell]] = []
    largest, summary = 0.0, "The shares are equal in every period."
    for state, label in enumerate(shown.states):
        a, b = ([row[state] for row in side] for side in (shown.original, shown.synthetic))
        gaps = [abs(first - second) for first, second in zip(a, b, strict=True)]
        at = gaps.index(max(gaps))
        means = [sum(shares) / len(shares) for shares in (a, b)]
        rows.append([label, *means, shown.periods[at], a[at], b[at]])
        original, synthetic = written(a[at], "share"), written(b[at], "share")
        if gaps[at] > largest and original != synthetic:
            largest = gaps[at]
            summary = (
                f"The largest difference is at “{label}” in {shown.periods[at]}: "
                f"{original} of the original and {synthetic} of the synthetic persons."
            )
    return summary, rows


def _stacks(shown: ShownStates, description: str) -> Markup:
    room = (_WIDE - _MARGIN - 6 - _GAP) / 2
    parts = [*_panel("original", shown.original, shown, _MARGIN, room)]
    parts += _panel("synthetic", shown.synthetic, shown, _MARGIN + room + _GAP, room)
    states = range(len(shown.states))
    return _with_key(parts, shown, states, _TOP + _TALL + 48, "States by period", description)


def _with_key(
    parts: Sequence[Markup],
    shown: ShownStates,
    states: Iterable[int],
    below: float,
    title: str,
    description: str,
) -> Markup:
    """Return a picture with the colours of its states, from ``below`` down."""
    entries = [(shown.colours[s], clipped(shown.states[s], _LETTERS)) for s in states]
    marks, bottom = legends(_MARGIN, below, entries, width=_WIDE)
    return svg(_WIDE, bottom + 8, *parts, marks, title=title, description=description)


def _panel(
    name: str, shares: Shares, shown: ShownStates, x0: float, room: float
) -> Iterator[Markup]:
    """Yield the bands of one side, from the bottom to the top."""
    x = Scale(domain=(0, len(shares)), range=(x0, x0 + room))
    y = Scale(domain=(0, 1), range=(_TOP + _TALL, _TOP))
    yield text(x0, _TOP - 10, f"{name}, share of persons", class_="label strong")
    low = [0.0] * len(shares)
    for state, colour in enumerate(shown.colours):
        high = [min(below + row[state], 1.0 + 1e-9) for below, row in zip(low, shares, strict=True)]
        corners = " ".join([*_steps(high, x, y), *reversed(list(_steps(low, x, y)))])
        yield el(
            "polygon",
            {"points": corners, "class": colour},
            el("title", None, f"{name}: {shown.states[state]}"),
        )
        low = high
    yield axis_left(y, x0, "", count=4)
    yield from _period_labels(shown.periods, x, _TOP + _TALL)


def index_chart(shown: ShownStates) -> Iterator[Chart]:
    """Yield ordered careers, original and synthetic; nothing for fewer than ten persons."""
    sides = shown.original_lines, shown.synthetic_lines
    if not all(sides):
        return
    means = [f"{fmean(map(_changes, side)):.2f}" for side in sides]
    summary = (
        f"A line changes its state {_in_both(*means)} on average. Single careers change more often."
    )
    yield Chart(
        title="Ordered careers, original and synthetic",
        svg=_index(shown, summary),
        reads="Persons are ordered by their careers. A line has the most frequent states of ten or "
        "more persons, so no line is the career of one person. Both sides should have the same "
        "patterns at the same heights.",
        summary=summary,
    )


def _in_both(original: str, synthetic: str) -> str:
    if original == synthetic:
        return f"{original} times in both files (equal)"
    return f"{original} times in the original and {synthetic} times in the synthetic data"


def _changes(career: Sequence[int]) -> int:
    return sum(a != b for a, b in pairwise(career))


def _index(shown: ShownStates, description: str) -> Markup:
    room = (_WIDE - _MARGIN - 6 - _GAP) / 2
    seen = sorted({*chain(*shown.original_lines, *shown.synthetic_lines)})
    parts: list[Markup] = []
    for number, (name, lines) in enumerate(
        (("original", shown.original_lines), ("synthetic", shown.synthetic_lines))
    ):
        x0 = _MARGIN + number * (room + _GAP)
        x = Scale(domain=(0, len(shown.periods)), range=(x0, x0 + room))
        parts.append(text(x0, _TOP - 10, f"{name}, persons in order", class_="label strong"))
        tall = _TALL / len(lines)
        for row, career in enumerate(lines):
            parts += _spells(career, shown.colours, x, _TOP + row * tall, tall + 0.3)
        parts += _period_labels(shown.periods, x, _TOP + _TALL)
    return _with_key(parts, shown, seen, _TOP + _TALL + 48, "Careers in order", description)


def _spells(
    career: Sequence[int], colours: Sequence[str], x: Scale, top: float, tall: float
) -> Iterator[Markup]:
    """Yield a career as a line with a coloured part for each spell."""
    start = 0
    for state, spell in groupby(career):
        stop = start + len(list(spell))
        box = {"x": x(start), "y": top, "width": x(stop) - x(start), "height": tall}
        yield el("rect", {**box, "class": colours[state]})
        start = stop


def _steps(values: Sequence[float], x: Scale, y: Scale) -> Iterator[str]:
    """Yield the corners of a line with a level for each period."""
    for period, value in enumerate(values):
        yield f"{x(period):.1f},{y(value):.1f}"
        yield f"{x(period + 1):.1f},{y(value):.1f}"


def _period_labels(periods: Sequence[str], x: Scale, base: float) -> Iterator[Markup]:
    """Yield as many names of periods as fit, each below the middle of its period."""
    labels = [clipped(period, 10) for period in periods]
    room = max(text_width(label, 11) for label in labels) + 12
    every = max(1, round(room / (x(1) - x(0)) + 0.499))
    yield line(x.range[0], base, x.range[1], base, class_="axis")
    for period in range(0, len(labels), every):
        at = x(period + 0.5)
        yield line(at, base, at, base + 4, class_="axis")
        yield text(at, base + 16, labels[period], class_="tick", text_anchor="middle")


Row = tuple[str, float | None, float | None]


def moves_chart(sequences: SequenceResult) -> Iterator[Block]:
    """Yield the picture of changes of state per person; nothing for a single period."""
    sides = sequences.original.n_moves, sequences.synthetic.n_moves
    if len(sides[0]) == 1:
        return
    original, synthetic = (_capped(side) for side in sides)
    labels = [str(k) for k in range(len(original))]
    if len(sides[0]) > len(original):
        labels[-1] += " or more"
    used = max(k for k in range(len(original)) if original[k] or synthetic[k])
    means = [sum(k * share for k, share in enumerate(side)) for side in sides]
    yield _bars_chart(
        "Changes of state of a person",
        list(zip(labels, original, synthetic, strict=True))[: used + 1],
        axis="share of persons",
        reads="Both bars of a pair should be equal. Absence counts as a state.",
        summary=f"On average a person changes state {_in_both(*map(written, means))}.",
        caption="Changes of state of a person: shares of persons",
        first="Changes",
        form="share",
    )


def _capped(shares: Sequence[float]) -> list[float]:
    if len(shares) <= MAX_BARS:
        return list(shares)
    return [*shares[: MAX_BARS - 1], sum(shares[MAX_BARS - 1 :])]


def spells_chart(sequences: SequenceResult) -> Iterator[Block]:
    """Yield the picture of lengths of spells; nothing without spells."""
    lengths = sequences.original.spell_lengths, sequences.synthetic.spell_lengths
    every = zip(sequences.states, *lengths, strict=True)
    rows: list[Row] = [row for row in every if row[1:] != (None, None)]
    if not rows:
        return
    less = f" The {MAX_BARS} most frequent states are drawn." if len(rows) > MAX_BARS else ""
    yield _bars_chart(
        "Length of spells",
        rows,
        axis="mean length in periods",
        reads="A spell is an uninterrupted time in one state. Both bars of a pair should be equal."
        + less,
        summary=_spells_in_words(rows),
        caption="Mean length of the spells, in periods",
        first="State",
        form="figure",
    )


def _spells_in_words(rows: Sequence[Row]) -> str:
    both = [
        (abs(original - synthetic), label, original, synthetic)
        for label, original, synthetic in rows
        if original is not None and synthetic is not None
    ]
    if not both:
        return "No state has spells in both."
    _, label, original, synthetic = max(both, key=lambda row: row[0])
    if written(original) == written(synthetic):
        return "The mean lengths are equal."
    return (
        f"The largest difference is at “{label}”: {written(original)} periods in the original and "
        f"{written(synthetic)} in the synthetic data."
    )


def _bars_chart(
    title: str,
    rows: Sequence[Row],
    *,
    axis: str,
    reads: str,
    summary: str,
    caption: str,
    first: str,
    form: Form,
) -> Chart:
    """Return the first rows as pairs of bars, and all rows as a table."""
    bars, bottom = paired_bars(
        [PairedBar(label=name, original=original, synthetic=synthetic)
         for name, original, synthetic in rows[:MAX_BARS]],
        label=axis,
    )  # fmt: skip
    drawn = svg(WIDTH, bottom, legend(2, 12, SIDES), *bars, title=title, description=summary)
    return Chart(
        title=title,
        svg=drawn,
        reads=reads,
        summary=summary,
        table=DataTable(
            caption=caption,
            columns=[first, "Original", "Synthetic"],
            forms=("text", form, form),
            rows=rows,
        ),
    )


def lines_chart(shown: ShownStates) -> Iterator[Block]:
    """Yield synthetic careers, one person per line; nothing without a sample."""
    if not shown.sample:
        return
    changes = [*map(_changes, shown.sample)]
    summary = (
        f"{plural(len(changes), 'synthetic person')}, chosen at random from the first dataset, "
        f"with {min(changes)} to {max(changes)} changes of state."
    )
    yield Chart(
        title="Synthetic careers, one person per line",
        svg=_lines(shown, summary),
        reads="Are these careers plausible? Careers of single original persons are not shown.",
        summary=summary,
    )


def _lines(shown: ShownStates, description: str) -> Markup:
    """Return careers line by line, with a coloured part for each spell."""
    x = Scale(domain=(0, len(shown.periods)), range=(_MARGIN, _WIDE - 10))
    parts: list[Markup] = []
    for row, career in enumerate(sorted(shown.sample)):
        parts += _spells(career, shown.colours, x, 6 + row * _LINE, _LINE - 2)
    base = 8 + len(shown.sample) * _LINE
    parts += _period_labels(shown.periods, x, base)
    seen = sorted({*chain(*shown.sample)})
    return _with_key(parts, shown, seen, base + 44, "Synthetic careers", description)
