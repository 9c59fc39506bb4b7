"""Careers and histories of a panel, original beside synthetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from markupsafe import Markup

from synthesizer.measures import figure as judged
from synthesizer.report.charts import (
    Scale,
    axis_bottom,
    axis_left,
    clipped,
    el,
    line,
    svg,
    text,
    text_width,
)
from synthesizer.report.expected import AGAIN
from synthesizer.report.page import (
    Block,
    Cell,
    Chart,
    DataTable,
    Form,
    Gap,
    Note,
    Section,
    Words,
    interval,
    plural,
    stopped,
    written,
)
from synthesizer.report.risk_figures import Rate, part, rates, risk_part
from synthesizer.report.untyped import Record, dig, listed, mappings, number, numbers, words

# Pictures of careers: states by period, paired bars, and single careers line by line.

WIDTH = 720.0
_LEFT = 40.0
_GAP = 48.0
_TALL = 230.0
_TOP = 30.0
_LETTERS = 22
_BARS = 480.0
_ROW = 27.0
_BAR = 9.0
_LINE = 9.0


def state_stacks(
    sides: Sequence[tuple[str, Sequence[Sequence[float]]]],
    *,
    periods: Sequence[str],
    states: Sequence[str],
    colours: Sequence[str],
    title: str,
    description: str,
) -> Markup:
    """Return stacked shares of states by period, one panel beside the other.

    Parameters
    ----------
    sides : sequence of (str, shares)
        Name of each panel, and shares in [0, 1], shape (T, S).
    periods, states, colours : sequence of str
        T labels; S labels and classes of colours, from the bottom to the top.
    title, description : str
        For readers who cannot see it.
    """
    room = (WIDTH - _LEFT - 6 - _GAP * (len(sides) - 1)) / len(sides)
    parts: list[Markup] = []
    for place, (name, shares) in enumerate(sides):
        left = _LEFT + place * (room + _GAP)
        parts += _panel(name, shares, left, room, periods, states, colours)
    bottom = _TOP + _TALL + 40
    marks, bottom = _legend(list(zip(colours, states, strict=True)), bottom + 8)
    return svg(WIDTH, bottom + 8, *parts, marks, title=title, description=description)


def _panel(
    name: str,
    shares: Sequence[Sequence[float]],
    left: float,
    room: float,
    periods: Sequence[str],
    states: Sequence[str],
    colours: Sequence[str],
) -> Iterator[Markup]:
    x = Scale(domain=(0, len(shares)), range=(left, left + room))
    y = Scale(domain=(0, 1), range=(_TOP + _TALL, _TOP))
    yield text(left, _TOP - 10, name, class_="label strong")
    low = [0.0] * len(shares)
    for state, colour in enumerate(colours):
        high = [min(below + row[state], 1.0 + 1e-9) for below, row in zip(low, shares, strict=True)]
        points = [*_steps(high, x, y), *reversed(list(_steps(low, x, y)))]
        yield el(
            "polygon",
            {"points": " ".join(points), "class": colour},
            el("title", None, f"{name}: {states[state]}"),
        )
        low = high
    yield axis_left(y, left, "", count=4)
    yield from _period_labels(periods, x, _TOP + _TALL)


def _steps(values: Sequence[float], x: Scale, y: Scale) -> Iterator[str]:
    """Yield the corners of a line with a level for each period."""
    for place, value in enumerate(values):
        yield f"{x(place):.1f},{y(value):.1f}"
        yield f"{x(place + 1):.1f},{y(value):.1f}"


def _period_labels(periods: Sequence[str], x: Scale, base: float) -> Iterator[Markup]:
    """Yield names of periods below the middle of theirs, as many as there is room for."""
    labels = [clipped(period, 10) for period in periods]
    room = max(text_width(label, 11) for label in labels) + 12
    every = max(1, round(room / (x(1) - x(0)) + 0.499))
    yield line(*x.range[:1], base, x.range[1], base, class_="axis")
    for place in range(0, len(labels), every):
        at = x(place + 0.5)
        yield line(at, base, at, base + 4, class_="axis")
        yield text(at, base + 16, labels[place], class_="tick", text_anchor="middle")


def _legend(entries: Sequence[tuple[str, str]], y: float) -> tuple[Markup, float]:
    """Return marks with their names in as many lines as they need, and where these end."""
    parts, x = [], _LEFT
    for mark, name in entries:
        words = clipped(name, _LETTERS)
        width = 19 + text_width(words, 12) + 16
        if x > _LEFT and x + width > WIDTH:
            x, y = _LEFT, y + 20
        parts.append(el("rect", {"x": x, "y": y - 10, "width": 12, "height": 12, "class": mark}))
        parts.append(text(x + 19, y, words, class_="label"))
        x += width
    return el("g", {"aria-hidden": "true"}, *parts), y


def paired_bars(
    rows: Sequence[tuple[str, float | None, float | None]],
    *,
    label: str,
    title: str,
    description: str,
) -> Markup:
    """Return two bars for each row, original above synthetic.

    Parameters
    ----------
    rows : sequence of (str, float or None, float or None)
        Name, original and synthetic value; no bar for None.
    label : str
        Of the axis, which begins at 0.
    title, description : str
        For readers who cannot see it.
    """
    named = [clipped(row[0], _LETTERS) for row in rows]
    left = 12 + max([text_width(name) for name in named], default=0.0)
    most = max([value for row in rows for value in row[1:] if value is not None], default=0.0)
    scale = Scale(domain=(0, most or 1.0), range=(left, _BARS - 14))
    top = 24.0
    bottom = top + _ROW * len(rows)
    parts = [_sides(), axis_bottom(scale, bottom, label, count=4, grid=bottom - top)]
    for place, (name, row) in enumerate(zip(named, rows, strict=True)):
        y = top + place * _ROW
        full = el("title", None, row[0])
        parts.append(
            el(
                "text",
                {"x": left - 6, "y": y + 17, "text-anchor": "end", "class": "label"},
                full,
                name,
            )
        )
        for own, offset, style in ((row[1], 4, "original"), (row[2], 5 + _BAR, "synthetic")):
            width = scale(max(own or 0.0, 0.0)) - scale(0)
            place_of = {"x": left, "y": y + offset, "width": width, "height": _BAR}
            parts.append(el("rect", {**place_of, "class": f"fill-{style}"}))
    return svg(_BARS, bottom + 44, *parts, title=title, description=description)


def _sides() -> Markup:
    entries = (("fill-original", "original", 2.0), ("fill-synthetic", "synthetic", 92.0))
    parts = [
        part
        for mark, name, x in entries
        for part in (
            el("rect", {"x": x, "y": 2, "width": 12, "height": 12, "class": mark}),
            text(x + 19, 12, name, class_="label"),
        )
    ]
    return el("g", {"aria-hidden": "true"}, *parts)


def career_lines(
    careers: Sequence[Sequence[int]],
    *,
    periods: Sequence[str],
    states: Sequence[str],
    colours: Sequence[str],
    title: str,
    description: str,
) -> Markup:
    """Return careers line by line, a coloured piece for each spell.

    Parameters
    ----------
    careers : sequence of sequence of int
        Positions in ``states``, shape (n, T).
    periods, states, colours : sequence of str
        T labels; S labels and classes of colours.
    title, description : str
        For readers who cannot see it.
    """
    x = Scale(domain=(0, len(periods)), range=(_LEFT, WIDTH - 10))
    parts: list[Markup] = []
    for row, career in enumerate(sorted(map(tuple, careers))):
        start = 0
        for state, spell in groupby(career):
            stop = start + len(list(spell))
            box = {"x": x(start), "y": 6 + row * _LINE, "width": x(stop) - x(start)}
            parts.append(el("rect", {**box, "height": _LINE - 2, "class": colours[state]}))
            start = stop
    base = 8 + len(careers) * _LINE
    parts += _period_labels(periods, x, base)
    seen = sorted({state for career in careers for state in career})
    marks, bottom = _legend([(colours[s], states[s]) for s in seen], base + 44)
    return svg(WIDTH, bottom + 8, *parts, marks, title=title, description=description)


# The part of a checks file about panels, read so that nothing in it can break a page.

MOST = 10
"""States with a colour of their own; of more, one less, and the others together."""
OTHERS, ABSENT = "(other states)", "(absent)"

UNITS = (
    "These are data of persons over periods. Unless something else is said, figures count persons, "
    "also where they are called records: one row a person, with attributes of the career and the "
    "values of the first, the last and chosen periods (of the wide form, of all periods)."
)

Rows = list[list[float]]


def panel_part(record: Record) -> Mapping[str, Any]:
    """Return the part about careers and histories; empty where there is none."""
    found = dig(record.checks, "panel")
    return found if isinstance(found, Mapping) else {}


def is_panel(record: Record) -> bool:
    """Whether the run is of a panel, whose units are persons.

    Examples
    --------
    >>> is_panel(Record({"panel": {"form": "long"}}, {})), is_panel(Record({}, {}))
    (True, False)
    """
    return bool(dig(record.manifest, "panel") or panel_part(record))


def unit_words(record: Record) -> str:
    """Return what the numbers of a run count: persons of a panel, records otherwise."""
    return "persons" if is_panel(record) else "records"


def career_variable(record: Record) -> str:
    """Return the variable of the careers; empty where presence alone is the career."""
    own = words(dig(record.manifest, "panel"), "career")
    return own or words(panel_part(record), "sequences", "career")


def was_matched(record: Record) -> bool:
    """Whether the careers were drawn to match exact joint counts of the original.

    Examples
    --------
    >>> was_matched(Record({"config": {"models": {"career": {"match": True}}}}, {}))
    True
    """
    config = dig(record.manifest, "config", default={})
    steps = mappings(record.manifest, "chain")
    drawn = {words(step, "variable") for step in steps if words(step, "model") == "career"}
    given = [dig(config, "variables", name, "options", "match") for name in sorted(drawn)]
    own = next((value for value in given if value is not None), None)
    return (dig(config, "models", "career", "match") if own is None else own) is True


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One distance of careers: mean and range over the datasets, noise floor and ratio."""

    name: str
    meaning: str
    mean: float | None
    low: float | None
    high: float | None
    floor: float | None
    ratio: float | None


def read_measures(record: Record) -> list[Measure]:
    """Return the distances of careers."""
    found = []
    for entry in mappings(panel_part(record), "sequences", "measures"):
        datasets = numbers(entry, "datasets")
        several = len(datasets) > 1
        found.append(
            Measure(
                name=words(entry, "name"),
                meaning=words(entry, "meaning"),
                mean=number(entry, "mean"),
                low=min(datasets) if several else None,
                high=max(datasets) if several else None,
                floor=number(entry, "floor"),
                ratio=number(entry, "ratio"),
            )
        )
    return found


@dataclass(frozen=True, kw_only=True)
class Careers:
    """Careers as the pictures show them: at most ten states, others, and absence.

    Parameters
    ----------
    periods : tuple of str
        T labels.
    states : tuple of str
        S labels, by frequency; others and absence at the end.
    colours : tuple of str
        Class of each state's colour.
    headcounts : tuple of list of list of float, shapes (T, S)
        Shares of persons in each period: original, synthetic.
    moves : tuple of list of float
        Shares of persons by number of changes: original, synthetic.
    spells : tuple of list of float or None
        Mean spell length by state that the file holds: original, synthetic.
    spell_states : tuple of str
        Whose spells.
    transitions : tuple of list of list of float
        Shares of pairs of periods, of the states that the file holds: original, synthetic.
    sample : list of list of int
        Synthetic careers as positions in ``states``.
    """

    periods: tuple[str, ...]
    states: tuple[str, ...]
    colours: tuple[str, ...]
    headcounts: tuple[Rows, Rows]
    moves: tuple[list[float], list[float]]
    spells: tuple[list[float | None], list[float | None]]
    spell_states: tuple[str, ...]
    transitions: tuple[Rows, Rows]
    sample: list[list[int]]


def read_careers(record: Record) -> Careers | None:
    """Return the shares of careers; None where the file's are not whole."""
    told = dig(panel_part(record), "sequences")
    states = tuple(words(state) for state in listed(told, "states"))
    periods = tuple(words(period) for period in listed(told, "periods"))
    heads = [_rows(told, side, "headcounts") for side in ("original", "synthetic")]
    shape = (len(periods), len(states))
    if not states or not periods or any(_shape(rows) != shape for rows in heads):
        return None
    labels, places = _groups(states)
    sides = [[_folded(row, places, len(labels)) for row in rows] for rows in heads]
    moves = [numbers(told, side, "n_moves") for side in ("original", "synthetic")]
    pairs = [_rows(told, side, "transitions") for side in ("original", "synthetic")]
    square = (len(states), len(states))
    return Careers(
        periods=period_words(record, periods),
        states=labels,
        colours=_colours(labels),
        headcounts=(sides[0], sides[1]),
        moves=(moves[0], moves[1]) if len(moves[0]) == len(moves[1]) else ([], []),
        spells=(_lengths(told, "original", states), _lengths(told, "synthetic", states)),
        spell_states=states,
        transitions=(pairs[0], pairs[1]) if all(_shape(p) == square for p in pairs) else ([], []),
        sample=_sample(told, places, len(periods)),
    )


def period_words(record: Record, periods: Sequence[str]) -> tuple[str, ...]:
    """Return names of the periods: of the wide form the columns that hold the careers."""
    career = career_variable(record)
    for step in mappings(record.manifest, "chain"):
        columns = [words(column) for column in listed(step, "columns")]
        if words(step, "variable") == career and len(columns) == len(periods):
            return tuple(columns)
    return tuple(periods)


def _groups(states: Sequence[str]) -> tuple[tuple[str, ...], list[int]]:
    """Return the states that are shown and where each state goes."""
    ends = [label for label in states if label in (OTHERS, ABSENT)]
    named = [label for label in states if label not in ends]
    few = named if len(named) <= MOST and OTHERS not in ends else named[: MOST - 1]
    labels = list(few)
    if len(few) < len(named) or OTHERS in ends:
        labels.append(OTHERS)
    if ABSENT in ends:
        labels.append(ABSENT)
    rest = labels.index(OTHERS) if OTHERS in labels else 0
    return tuple(labels), [labels.index(s) if s in labels else rest for s in states]


def _colours(labels: Sequence[str]) -> tuple[str, ...]:
    """Return a colour for each state: grey ones for others and absence."""
    fixed = {OTHERS: "fill-muted", ABSENT: "fill-grid"}
    order = iter(["s1", "s2", "s3", "s4", "s5", "s7", "s8", "s9", "s10", "s6"])
    return tuple(fixed[label] if label in fixed else f"fill-{next(order)}" for label in labels)


def _rows(told: Any, *path: str) -> Rows:
    return [numbers(row) for row in listed(told, *path)]


def _shape(rows: Rows) -> tuple[int, int] | None:
    widths = {len(row) for row in rows}
    return (len(rows), widths.pop()) if len(widths) == 1 else None


def _folded(row: Sequence[float], places: Sequence[int], size: int) -> list[float]:
    total = [0.0] * size
    for value, place in zip(row, places, strict=True):
        total[place] += max(value, 0.0)
    return total


def _lengths(told: Any, side: str, states: Sequence[str]) -> list[float | None]:
    found = [number(value) for value in listed(told, side, "spell_lengths")]
    return found if len(found) == len(states) else []


def _sample(told: Any, places: Sequence[int], n_periods: int) -> list[list[int]]:
    """Return the sampled careers that are whole."""
    found = []
    for career in listed(told, "sample"):
        codes = [round(code) for code in numbers(career)]
        if len(codes) == n_periods and all(0 <= code < len(places) for code in codes):
            found.append([places[code] for code in codes])
    return found


# Tables of the careers: distances, transitions, histories of variables, careers that come back.

FAR = 3.0
POINTS = 5.0
"""Percentage points of persons who ever change from which a variable is to be looked at."""
LAG = 0.1
TRANSITIONS = 10
RARE = 0.002
"""Share of pairs of periods below which a state's transitions are not compared."""


def noise_in_words(ratio: float | None, distance: float | None = None) -> str:
    """Say what a distance over its noise floor means.

    Examples
    --------
    >>> noise_in_words(0.9)
    'as near as chance allows'
    >>> noise_in_words(0.1)
    'nearer than chance, as evenly spread draws or copies are'
    >>> noise_in_words(3.6)
    'far off: more than chance explains'
    """
    if ratio is None:
        if distance is None:
            return "could not be computed, which is no good news"
        return "equal" if not distance else "differs, where bootstraps of the original never do"
    if ratio < 0.5:
        return "nearer than chance, as evenly spread draws or copies are"
    if ratio <= 1.25:
        return "as near as chance allows"
    if ratio <= 2:
        return "a little further off than chance"
    how = "clearly off" if ratio <= FAR else "far off"
    return f"{how}: more than chance explains"


def distance_table(record: Record) -> Iterator[Block]:
    """Yield the distances of careers with their noise floor."""
    found = read_measures(record)
    if not found:
        yield Gap("the distances of careers", "checks.json does not hold them. Run again.")
        return
    several = any(own.low is not None for own in found)
    yield Words(
        [
            "Distances are half the sum of the absolute differences of two distributions: 0 is "
            "equal, 1 has nothing in common, and lower is better. The noise floor is the distance "
            "of the original from random samples of its own persons. A ratio of about 1 is "
            "therefore noise; above it the synthetic careers differ in earnest."
        ]
    )
    head = ["What", "Distance", *(["Datasets"] if several else []), "Noise floor", "Ratio"]
    more: list[Form] = ["text"] if several else []
    forms: list[Form] = ["text", "share", *more, "share", "share", "text"]
    yield DataTable(
        caption="Distance of synthetic from original careers"
        + (", mean over the datasets" if several else ""),
        columns=[*head, "In words"],
        forms=forms,
        rows=[_distance(own, several=several) for own in found],
        highlight=[i for i, own in enumerate(found) if own.ratio is not None and own.ratio > FAR],
        stacks=True,
    )


def _distance(own: Measure, *, several: bool) -> list[Cell]:
    name = own.meaning[:1].upper() + own.meaning[1:] if own.meaning else own.name
    ends = [interval(own.low, own.high, "share")] if several else []
    return [name, own.mean, *ends, own.floor, own.ratio, noise_in_words(own.ratio, own.mean)]


def transition_table(found: Careers) -> Iterator[Block]:
    """Yield the steps from period to period whose chance differs most."""
    ours, theirs = found.transitions
    labels = found.spell_states
    rows: list[tuple[float, list[Cell]]] = []
    for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        totals = sum(one), sum(other)
        if min(totals) < RARE:
            continue
        for j in range(len(labels)):
            shares = one[j] / totals[0], other[j] / totals[1]
            gap = abs(shares[0] - shares[1])
            rows.append((gap, [labels[i], labels[j], totals[0], *shares]))
    rows.sort(key=lambda row: -round(row[0], 9))
    if rows:
        yield DataTable(
            caption="From one period to the next: the steps whose chance differs most. The chance "
            "is the share of those in the state before; a state followed by itself is staying",
            columns=["From", "To", "Share of all in From", "Original", "Synthetic"],
            forms=("text", "text", "share", "share", "share"),
            rows=[row for _, row in rows[:TRANSITIONS]],
        )


def history_blocks(record: Record) -> Iterator[Block]:
    """Yield the table of variables that change within persons."""
    every = mappings(panel_part(record), "variables")
    changing = [own for own in every if own.get("constant") is not True]
    constant = [words(own, "variable") for own in every if own.get("constant") is True]
    if changing:
        yield Words(
            [
                "The share ever changing is that of the persons whose value is ever another one "
                "than in their first period; the difference is in percentage points, and about 0 "
                "is good. The association of a value with the person's nearest earlier one is "
                "Cramer's V (0 to 1) for categories and Spearman's rank correlation (−1 to 1) for "
                "numbers: the two columns should be alike."
            ]
        )
        yield _histories(record)
    if constant:
        shown = ", ".join(constant[:12]) + (
            f" and {len(constant) - 12} more" * (len(constant) > 12)
        )
        yield Words([f"Nobody changes {shown}, neither in the original nor in the synthetic data."])


def _histories(record: Record) -> DataTable:
    found = [
        own for own in mappings(panel_part(record), "variables") if own.get("constant") is not True
    ]
    found.sort(key=lambda own: -abs(number(own, "changing", "difference_points") or 0.0))
    rows: list[list[Cell]] = []
    marked = []
    for place, own in enumerate(found):
        points = number(own, "changing", "difference_points")
        lags = number(own, "lag", "original"), number(own, "lag", "mean")
        off = abs(lags[0] - lags[1]) if lags[0] is not None and lags[1] is not None else 0.0
        if abs(points or 0.0) > POINTS or off > LAG:
            marked.append(place)
        rows.append(
            [
                words(own, "variable"),
                number(own, "changing", "original"),
                number(own, "changing", "mean"),
                points,
                words(own, "association"),
                *lags,
            ]
        )
    return DataTable(
        caption="Values within persons: share ever changing, and association with the value "
        "before; the synthetic ones are means over the datasets",
        columns=[
            "Variable", "Ever changing, original", "Synthetic", "Difference in points",
            "Association", "Original", "Synthetic ",
        ],
        forms=("text", "share", "share", "share", "text", "share", "share"),
        rows=rows,
        sortable=len(rows) >= 5,
        highlight=marked,
    )  # fmt: skip


def replicated_blocks(record: Record) -> Iterator[Block]:
    """Yield how many careers of the original are there again, and what that means."""
    told = part(risk_part(record), "replicated_careers")
    found = rates(told, "figures")
    if not found:
        if dig(record.checks, "risk"):
            yield Gap(
                "careers that are there again",
                "They were not counted; they are unless checks.replicated_careers is false.",
            )
        return
    uniques, persons = number(told, "uniques"), number(told, "n")
    yield Words(
        [
            f"{written(uniques, 'count')} of {written(persons, 'count')} persons of the original "
            "have a career that nobody shares. Who knows one of them period by period would "
            "recognise it in the synthetic data. Lower is safer; the baseline is what a fresh "
            "person of the same population would show without being in the data."
        ]
    )
    yield DataTable(
        caption="Careers of the original that are there again, period by period",
        columns=["Figure", "Value", "Baseline", "Original released", "Of", "What it is"],
        forms=("text", "share", "share", "share", "count", "text"),
        rows=[[f.name, f.value, f.baseline, f.original, f.n, f.meaning] for f in found],
        highlight=[i for i, own in enumerate(found) if is_above_chance(own)],
        stacks=True,
    )
    yield from _verdict(found[0], round(number(told, "n_periods") or 0))


def _verdict(own: Rate, n_periods: int) -> Iterator[Block]:
    if own.value is None or own.baseline is None:
        return
    where = f" of {plural(n_periods, 'period')}" if n_periods else ""
    shares = f"{written(own.value, 'share')} against {written(own.baseline, 'share')}"
    if is_above_chance(own):
        yield Note(
            f"Synthetic careers{where} repeat careers of single persons more often than fresh "
            f"persons would ({shares}). A smaller theta of the model of careers, fewer or coarser "
            "states, or fewer periods make it less.",
            "alert",
        )
    else:
        yield Note(
            f"Synthetic careers{where} repeat careers of single persons no more often than fresh "
            f"persons would ({shares}).",
            "good",
        )


def is_above_chance(own: Rate) -> bool:
    """Whether a share lies three standard errors above its baseline."""
    return judged.is_above_chance(own.value, own.baseline, own.n)


MOST_MOVES = 12
"""Numbers of moves with bars of their own; larger ones are one bar together."""
MATCHED = (
    "Exact counts were used: the option match of the careers was on. The synthetic careers were "
    "chosen so that first period, first state, last period and last state occur together as often "
    "as in the confidential data. These counts are therefore disclosed, rare ones as well, and "
    "being near the original in entry, exit, first and last state is no finding."
)


def careers_section(record: Record) -> Section | None:
    """Return what became of careers and of the histories of the variables.

    Parameters
    ----------
    record : Record
        A run; manifest and checks are read.

    Returns
    -------
    Section or None
        None where the run is not of a panel.
    """
    if not is_panel(record):
        return None
    return Section(
        anchor="careers",
        title="Careers",
        lead="Who is there when and in which state, and how values follow each other in time.",
        blocks=list(_blocks(record)),
    )


def _blocks(record: Record) -> Iterator[Block]:
    if was_matched(record):
        yield Note(MATCHED, "alert")
    told = panel_part(record)
    if told:
        yield Words(list(_sizes(record)))
        yield from _failures(record)
        found = read_careers(record)
        if found is not None and len(found.states) > 1:
            yield from _pictures(record, found)
        elif found is not None:
            yield Words(["Everybody is there in every period: there are no careers to compare."])
        elif dig(told, "sequences"):
            yield Gap("the careers", f"What checks.json holds is not whole. {AGAIN}")
        yield from history_blocks(record)
    else:
        why = "The configuration switches them off: set checks.sequences to true and run again."
        yield Gap("careers and histories, original beside synthetic", why)
    yield from replicated_blocks(record)


def _sizes(record: Record) -> Iterator[str]:
    told = panel_part(record)
    career = career_variable(record)
    persons, rows = number(told, "original", "persons"), number(told, "original", "rows_per_person")
    drawn = [number(own, "rows_per_person") for own in mappings(told, "synthetic")]
    known = [value for value in drawn if value is not None]
    count = number(told, "synthetic", 0, "persons")
    mean = sum(known) / len(known) if known else None
    what = f"the states of {career}" if career else "being there or not"
    yield (
        f"A career is the sequence of {what} over the periods. The original has "
        f"{written(persons, 'count')} persons, who are there in {written(rows)} periods on "
        f"average; each synthetic dataset has {written(count, 'count')} persons, who are there in "
        f"{written(mean)}."
    )


def _failures(record: Record) -> Iterator[Block]:
    failed = dig(panel_part(record), "failed", default={})
    for name in failed if isinstance(failed, dict) else ():
        yield Note(stopped(f"Could not be computed: {name}: {words(failed, name)}"), "alert")


def _pictures(record: Record, found: Careers) -> Iterator[Block]:
    yield _stacks(found)
    yield from distance_table(record)
    yield from transition_table(found)
    yield from _moves(found)
    yield from _spells(found)
    yield from _lines(found)


def _stacks(found: Careers) -> Chart:
    summary, rows = _states(found)
    return Chart(
        title="Share of persons in each state, period by period",
        svg=state_stacks(
            [("original", found.headcounts[0]), ("synthetic", found.headcounts[1])],
            periods=found.periods,
            states=found.states,
            colours=found.colours,
            title="States by period",
            description=summary,
        ),
        reads="The two pictures should look alike: the same bands, as wide at the same time. The "
        "synthetic one is the mean over the datasets.",
        summary=summary,
        table=DataTable(
            caption="Mean share over all periods, and the period where the two differ most",
            columns=[
                "State",
                "Original",
                "Synthetic",
                "Period",
                "Original there",
                "Synthetic there",
            ],
            forms=("text", "share", "share", "text", "share", "share"),
            rows=rows,
        ),
    )


def _states(found: Careers) -> tuple[str, list[list[Cell]]]:
    """Return a sentence on the largest difference, and a row for each state."""
    rows: list[list[Cell]] = []
    worst = (0.0, "")
    ours, theirs = found.headcounts
    for state, label in enumerate(found.states):
        pairs = [(a[state], b[state]) for a, b in zip(ours, theirs, strict=True)]
        at = max(range(len(pairs)), key=lambda t: abs(pairs[t][0] - pairs[t][1]))
        one, other = pairs[at]
        means = [sum(pair[side] for pair in pairs) / len(pairs) for side in (0, 1)]
        rows.append([label, *means, found.periods[at], one, other])
        told = (
            f"The largest difference is at “{label}” in {found.periods[at]}: "
            f"{written(one, 'share')} of the original and {written(other, 'share')} of the "
            "synthetic persons."
        )
        worst = max(worst, (abs(one - other), told))
    return worst[1] or "The shares are equal in every period.", rows


def _moves(found: Careers) -> Iterator[Block]:
    ours, theirs = (_capped(side) for side in found.moves)
    if not ours or len(ours) == 1:
        return
    labels = [str(k) for k in range(len(ours))]
    if len(found.moves[0]) > len(ours):
        labels[-1] += " or more"
    used = max(k for k in range(len(ours)) if ours[k] or theirs[k])
    rows = list(zip(labels, ours, theirs, strict=True))[: used + 1]
    means = [sum(k * share for k, share in enumerate(side)) for side in found.moves]
    summary = (
        f"On average a person changes state {written(means[0])} times in the original and "
        f"{written(means[1])} times in the synthetic data."
    )
    yield Chart(
        title="How often persons change state",
        svg=paired_bars(
            rows, label="share of persons", title="Changes of state", description=summary
        ),
        reads="Pairs of bars should be equally long. Absence counts as a state.",
        summary=summary,
        table=_pairs("Changes of state of a person: shares of persons", "Changes", rows, "share"),
    )


def _capped(shares: list[float]) -> list[float]:
    if len(shares) <= MOST_MOVES + 1:
        return shares
    return [*shares[:MOST_MOVES], sum(shares[MOST_MOVES:])]


def _spells(found: Careers) -> Iterator[Block]:
    ours, theirs = found.spells
    if not ours or not theirs:
        return
    every = list(zip(found.spell_states, ours, theirs, strict=True))
    rows = [row for row in every if row[1] is not None or row[2] is not None]
    if not rows:
        return
    shown = rows[:MOST_MOVES]
    gaps = [row for row in rows if row[1] is not None and row[2] is not None]
    summary = "No state has spells in both."
    if gaps:
        label, one, other = max(gaps, key=lambda row: abs((row[1] or 0) - (row[2] or 0)))
        summary = (
            f"The largest difference is at “{label}”: {written(one)} periods in the original and "
            f"{written(other)} in the synthetic data."
        )
    less = f" The {MOST_MOVES} most frequent states are drawn." if len(shown) < len(rows) else ""
    yield Chart(
        title="How long spells last",
        svg=paired_bars(
            shown, label="mean length in periods", title="Spell lengths", description=summary
        ),
        reads="A spell is an unbroken time in one state. Pairs of bars should be equally long."
        + less,
        summary=summary,
        table=_pairs("Mean length of the spells, in periods", "State", rows, "figure"),
    )


def _pairs(
    caption: str, what: str, rows: Sequence[tuple[str, float | None, float | None]], form: Form
) -> DataTable:
    return DataTable(
        caption=caption,
        columns=[what, "Original", "Synthetic"],
        forms=("text", form, form),
        rows=[list(row) for row in rows],
    )


def _lines(found: Careers) -> Iterator[Block]:
    if not found.sample:
        return
    changes = [sum(a != b for a, b in pairwise(c)) for c in found.sample]
    summary = (
        f"{plural(len(changes), 'synthetic person')}, chosen at random from the first dataset, "
        f"with {min(changes)} to {max(changes)} changes of state."
    )
    yield Chart(
        title="Synthetic careers, one person a line",
        svg=career_lines(
            found.sample,
            periods=found.periods,
            states=found.states,
            colours=found.colours,
            title="Synthetic careers",
            description=summary,
        ),
        reads="Do these look like careers that persons could have? The original's are confidential "
        "and not shown.",
        summary=summary,
    )
