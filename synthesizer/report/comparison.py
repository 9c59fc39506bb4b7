"""The page that compares runs: map, table of runs, settings that differ, every figure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from synthesizer.report.axes import Axis, axes_of
from synthesizer.report.charts import (
    axis_bottom,
    axis_left,
    clipped,
    el,
    line,
    svg,
    text,
)
from synthesizer.report.page import (
    Block,
    Cell,
    Chart,
    DataTable,
    Form,
    Gap,
    Note,
    Section,
    plural,
    render,
    written,
)
from synthesizer.report.plane import Box, place_labels

# Which runs of a frontier are told apart from their neighbours, in words.

NO_TIE = "no tie"
MOST_TOLD = 3
"""Runs of a tie that are named; neighbours on the frontier come first."""


def standings_by_run(pair: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return how each run stands on the frontier of a pair of figures.

    Parameters
    ----------
    pair : mapping
        One of ``frontiers`` of ``Comparison.to_dict``.
    """
    return {one["run"]: one for one in pair["standings"]}


def standing_words(standing: Mapping[str, Any]) -> str:
    """Say which runs a run is a tie with, and where that is unknown.

    Parameters
    ----------
    standing : mapping
        What ``Standing.to_dict`` gives.

    Examples
    --------
    >>> standing_words({"run": "a", "ties": [{"run": "b", "in": ["risk"]}], "unknown": []})
    'tie with b in risk'
    >>> standing_words({"run": "a", "ties": [], "unknown": ["risk", "utility"]})
    'spread unknown in risk and utility'
    >>> standing_words({"run": "a", "ties": [], "unknown": []})
    'no tie'
    """
    ties = standing["ties"]
    told = [f"tie with {tie['run']} in {' and '.join(tie['in'])}" for tie in ties[:MOST_TOLD]]
    if len(ties) > MOST_TOLD:
        told.append(f"and with {plural(len(ties) - MOST_TOLD, 'other run')}")
    unknown = " and ".join(standing["unknown"])
    if unknown:
        told.append(f"spread unknown in {unknown}")
    return "; ".join(told) or NO_TIE


# The part of the comparison page with the figures that decide, one row for each run.

MANY_ROWS = 4
"""Rows beyond which a table can be sorted."""


def runs_section(content: Mapping[str, Any]) -> Section:
    """Return the tables of the figures that decide, limits that are exceeded, and links."""
    runs = content["runs"]
    standings = standings_by_run(content["frontiers"][0]) if content["frontiers"] else {}
    blocks: list[Block] = []
    if runs:
        caption = f"Usefulness; the frontier is that of {_first_pair(content)}"
        axes = [key for axis in ("risk", "utility") for key in content["axes"][axis][:1]]
        use = [_use(run, standings, axes) for run in runs]
        sized = "persons of a dataset" if content["units"] == "persons" else RECORDS
        used = [(sized, form) if name == RECORDS else (name, form) for name, form in _USE]
        risk, risky = [_risk(run) for run in runs], list(_RISK)
        _add(used, use, runs, "sequence_ratio", ("careers over noise", "figure"))
        _add(risky, risk, runs, "replicated_careers", ("careers of one person", "share"))
        blocks = [_table(caption, used, use, runs), _table("Risk", risky, risk, runs)]
    exceeded = [(run["name"], told) for run in runs for told in run["exceeded"]]
    if exceeded:
        caption = "Limits of the configuration that are exceeded"
        blocks.append(
            DataTable(
                caption=caption, columns=["run", "limit"], forms=["text", "text"], rows=exceeded
            )
        )
    if links := content.get("reports"):
        blocks.append(_links(links))
    lead = "The figures that decide; lower is better in all of them."
    return Section(anchor="runs", title="Runs", lead=lead, blocks=blocks)


def _links(links: Mapping[str, str]) -> Markup:
    """Return links to the reports of the runs."""
    items = [el("li", None, el("a", {"href": href}, name)) for name, href in links.items()]
    return el("div", None, el("p", None, "The reports of the runs:"), el("ul", None, *items))


def _first_pair(content: Mapping[str, Any]) -> str:
    titles = {one["key"]: one["title"] for one in content["measures"]}
    keys = [key for axis in ("risk", "utility") for key in content["axes"][axis][:1]]
    return " and ".join(titles[key] for key in keys) if len(keys) == 2 else "no common figures"


RECORDS = "records of a dataset"
_USE: Sequence[tuple[str, Form]] = (
    ("run", "text"),
    ("on the frontier", "text"),
    ("tie", "text"),
    ("limits exceeded", "count"),
    (RECORDS, "count"),
    ("mean two-way S_pMSE", "figure"),
    ("its spread over datasets", "figure"),
    ("largest", "figure"),
    ("of the pair", "text"),
    ("pMSE ratio", "figure"),
)
_RISK: Sequence[tuple[str, Form]] = (
    ("run", "text"),
    ("CAP", "share"),
    ("spread over single datasets", "share"),
    ("CAP by chance", "share"),
    ("differential confi\u00addentiality", "share"),
    ("its 95 % interval from", "share"),
    ("to", "share"),
    ("DiSCO", "share"),
    ("repU", "share"),
    ("nearer share", "share"),
)


def _table(
    caption: str,
    columns: Sequence[tuple[str, Form]],
    rows: Sequence[Sequence[Cell]],
    runs: Sequence[Mapping[str, Any]],
) -> DataTable:
    """Return a table with a row for each run; those above a limit stand out."""
    return DataTable(
        caption=caption,
        columns=[name for name, _ in columns],
        forms=[form for _, form in columns],
        rows=rows,
        sortable=len(rows) > MANY_ROWS,
        highlight=[i for i, run in enumerate(runs) if run["exceeded"]],
    )


def _use(
    run: Mapping[str, Any], standings: Mapping[str, Mapping[str, Any]], axes: Sequence[str]
) -> list[Cell]:
    name = run["name"]
    on = "yes" if name in standings else "no"
    is_known = bool(standings) and all(value_of(run, key) is not None for key in axes)
    return [
        name,
        on if is_known else None,
        standing_words(standings[name]) if name in standings else None,
        len(run["exceeded"]) if run["has_limits"] else None,
        run["rows"],
        value_of(run, "mean_two_way"),
        run["figures"]["mean_two_way"]["range_of_datasets"],
        value_of(run, "worst_two_way"),
        " and ".join(run["worst_pair"]) or None,
        _ratio(run),
    ]


def _risk(run: Mapping[str, Any]) -> list[Cell]:
    half = run["figures"]["differential_confidentiality"]
    return [
        run["name"],
        value_of(run, "cap"),
        run["figures"]["cap"]["range_of_datasets"],
        run["figures"]["cap"]["baseline"],
        half["value"],
        half["low"],
        half["high"],
        value_of(run, "disco"),
        value_of(run, "repu"),
        value_of(run, "nearer_share"),
    ]


def value_of(run: Mapping[str, Any], key: str) -> float | None:
    """Return a run's value of a figure."""
    value: float | None = run["figures"][key]["value"]
    return value


def _add(
    columns: list[tuple[str, Form]],
    rows: Sequence[list[Cell]],
    runs: Sequence[Mapping[str, Any]],
    key: str,
    column: tuple[str, Form],
) -> None:
    """Add a column with a figure that only panels have, where any run has it."""
    values = [value_of(run, key) for run in runs]
    if any(value is not None for value in values):
        columns.append(column)
        for row, value in zip(rows, values, strict=True):
            row.append(value)


def _ratio(run: Mapping[str, Any]) -> float | None:
    """Return the pMSE ratio by a tree, which sees more, else that by a logit."""
    tree = value_of(run, "pmse_ratio_cart")
    return value_of(run, "pmse_ratio_logit") if tree is None else tree


# Where everything on the risk-utility map stands, for every pair of figures.

WIDTH, HEIGHT = 660, 470
LEFT, RIGHT, TOP, BOTTOM = 58, 640, 44, 410
"""The picture and, inside it, the frame of the map."""
MAX_DOTS = 3000
"""Dots of single datasets, over all runs; more hide each other."""
MOST_NAMED = 12
"""Runs up to which all are named on the map; beyond, those on the frontier where there is room."""
PLACES_MOST_TOLD = 8


@dataclass(frozen=True, kw_only=True)
class MapData:
    """Everything that the map needs, for every pair of figures.

    Parameters
    ----------
    names : tuple of str
        The runs.
    across, up : mapping of str to Axis
        By key of a figure; the first is shown first.
    pairs : mapping of str to mapping
        By ``risk|utility``: ``path`` of the frontier, ``on`` (positions of the runs on it),
        ``labels`` (run, x, y, anchor) and ``words``.
    """

    names: tuple[str, ...]
    across: Mapping[str, Axis]
    up: Mapping[str, Axis]
    pairs: Mapping[str, Mapping[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return what the script needs."""
        return {
            "across": [axis.to_dict() for axis in self.across.values()],
            "up": [axis.to_dict() for axis in self.up.values()],
            "pairs": dict(self.pairs),
        }


def map_data(content: Mapping[str, Any]) -> MapData | None:
    """Return the places of everything on the map; None where no figures share the axes.

    Parameters
    ----------
    content : mapping
        What ``Comparison.to_dict`` gives.
    """
    runs = content["runs"]
    titles = {one["key"]: one for one in content["measures"]}
    most = max(1, MAX_DOTS // max(len(runs), 1))
    across = axes_of(runs, titles, content["axes"]["risk"], (LEFT, RIGHT), most)
    up = axes_of(runs, titles, content["axes"]["utility"], (BOTTOM, TOP), most)
    if not across or not up:
        return None
    names = tuple(run["name"] for run in runs)
    pairs = {
        f"{pair['risk']}|{pair['utility']}": _pair(pair, names, across, up)
        for pair in content["frontiers"]
        if pair["risk"] in across and pair["utility"] in up
    }
    return MapData(names=names, across=across, up=up, pairs=pairs) if pairs else None


def _pair(
    pair: Mapping[str, Any],
    names: Sequence[str],
    across: Mapping[str, Axis],
    up: Mapping[str, Axis],
) -> dict[str, Any]:
    x, y = across[pair["risk"]], up[pair["utility"]]
    shown = [i for i in range(len(names)) if x.places[i] is not None and y.places[i] is not None]
    best = set(pair["runs"])
    on = [i for i in shown if names[i] in best]
    on.sort(key=lambda i: (x.places[i], -(y.places[i] or 0)))
    dots = [(i, float(x.places[i] or 0), float(y.places[i] or 0)) for i in shown]
    crowded = len(shown) > MOST_NAMED
    # the ends of the frontier are what a reader looks for first
    named = [*on[:1], *on[:0:-1]][:: max(1, len(on) // MOST_NAMED)] if crowded else shown
    labels = place_labels(
        dots,
        [
            *_in_the_way(dots, x, y),
            *_line_boxes([(x.places[i] or 0, y.places[i] or 0) for i in on]),
        ],
        {i: clipped(names[i], 30) for i in named},
        (LEFT, TOP, RIGHT, BOTTOM),
        crowded=crowded,
    )
    return {
        "path": frontier_path([(x.places[i] or 0, y.places[i] or 0) for i in on]),
        "on": on,
        "labels": labels,
        "words": _words(names, on, shown, _ties(pair), x, y),
    }


def _in_the_way(dots: Sequence[tuple[int, float, float]], x: Axis, y: Axis) -> list[Box]:
    """Return the boxes of small dots and of intervals, which names should not hide."""
    boxes: list[Box] = [(LEFT, TOP, RIGHT, TOP + 15)]  # words of lines of reference
    for i, _, place in dots:
        for px, py in zip(x.dots[i], y.dots[i], strict=False):
            if px is not None and py is not None:
                boxes.append((px - 3, py - 3, px + 3, py + 3))
        low, high = x.ends[i]
        if low is not None and high is not None:
            boxes.append((low, place - 1, high, place + 1))
    return boxes


def frontier_path(points: Sequence[tuple[float, float]]) -> str:
    """Return the step line that bounds what some run attains, from the top to the right edge.

    Parameters
    ----------
    points : sequence of (x, y)
        Places of the runs on the frontier, from left to right.

    Examples
    --------
    >>> frontier_path([(100, 300), (200, 400)])
    'M100 44V300H200V400H640'
    """
    if not points:
        return ""
    steps = [f"M{points[0][0]:g} {TOP}V{points[0][1]:g}"]
    steps += [f"H{x:g}V{y:g}" for x, y in points[1:]]
    return "".join([*steps, f"H{RIGHT}"])


def _line_boxes(points: Sequence[tuple[float, float]]) -> list[Box]:
    """Return thin boxes around the steps of `frontier_path`."""
    boxes: list[Box] = []
    above: float = TOP
    for n, (x, y) in enumerate(points):
        right = points[n + 1][0] if n + 1 < len(points) else RIGHT
        boxes += [(x - 1, above, x + 1, y), (x, y - 1, right, y + 1)]
        above = y
    return boxes


def _ties(pair: Mapping[str, Any]) -> dict[str, str]:
    """Return what to add to the run's name, where it is a tie or that is unknown."""
    found = {name: standing_words(one) for name, one in standings_by_run(pair).items()}
    return {name: f"; {told}" for name, told in found.items() if told != NO_TIE}


def _words(
    names: Sequence[str],
    on: Sequence[int],
    shown: Sequence[int],
    ties: Mapping[str, str],
    x: Axis,
    y: Axis,
) -> str:
    """Say what the map shows of a pair of figures."""
    told = [
        f"{names[i]} (risk {written(x.values[i], 'share')}, loss {written(y.values[i])}"
        f"{ties.get(names[i], '')})"
        for i in on[:PLACES_MOST_TOLD]
    ]
    rest = len(on) - len(told)
    more = f" and {plural(rest, 'other run')}" if rest > 0 else ""
    beaten = len(shown) - len(on)
    missing = len(names) - len(shown)
    parts = [
        f"Risk: {x.title}, {x.meaning}.",
        f"Utility loss: {y.title}, {y.meaning}.",
        f"On the frontier, by rising risk: {'; '.join(told)}{more}.",
        f"{plural(beaten, 'run')} beaten by others." if beaten else "No run is beaten.",
    ]
    if missing:
        parts.append(f"{plural(missing, 'run')} without these figures: not on the map.")
    for mark in (*x.marks, *x.far):
        parts.append(f"For comparison: {mark.words}.")
    return " ".join(parts)


# The risk-utility map of several runs: where each of them stands, and which no other one beats.

Value = str | float | int | None

READS = (
    "Each large dot is a run, each small one a dataset of it. To the left is safer, further down "
    "is closer to the original: the lower left corner would be best. No other run beats the "
    "filled dots on the line (the frontier) on both; a hollow dot is beaten by some run. Choose "
    "among the filled ones how much risk the better utility is worth; those that are a tie with "
    "another run (said below) differ from it by no more than their spread, which the small dots or "
    "the line through a dot (its 95 % interval) show: there the order may be luck. Where the risk "
    "is that of all datasets pooled, a run lies right of its datasets: who has them all learns "
    "more."
)


def map_section(content: Mapping[str, Any], data: MapData | None) -> Section:
    """Return the map, or why there is none.

    Parameters
    ----------
    content : mapping
        What ``Comparison.to_dict`` gives.
    data : MapData or None
        From `map_data`.
    """
    title, lead = "Risk and utility", "What each run gives away, and how useful its data are."
    if data is None:
        gap = Gap("the map of risk and utility", _why_no_map(content))
        return Section(anchor="map", title=title, lead=lead, blocks=[gap])
    # the script puts its select boxes here; without a script the first pair is all there is
    controls = Markup('<div class="controls" id="map-controls"></div>')
    first = data.pairs[_first(data)]
    chart = Chart(
        title=f"Risk-utility map of {plural(len(data.names), 'run')}",
        svg=_picture(data),
        reads=READS,
        summary=str(first["words"]),
    )
    return Section(anchor="map", title=title, lead=lead, blocks=[controls, chart])


def _first(data: MapData) -> str:
    return next(iter(data.pairs))


def _why_no_map(content: Mapping[str, Any]) -> str:
    missing = [axis for axis in ("risk", "utility") if not content["axes"][axis]]
    return (
        f"The runs have no figure of {' and '.join(missing) or 'risk and utility'} that means the "
        "same in all of them; the notes say why. The tables show what there is."
    )


def _picture(data: MapData) -> Markup:
    risk, utility = _first(data).split("|")
    x, y = data.across[risk], data.up[utility]
    first = data.pairs[_first(data)]
    on = set(first["on"])
    parts = [
        *(_across(axis, shown=axis is x) for axis in data.across.values()),
        *(_up(axis, shown=axis is y) for axis in data.up.values()),
        text(LEFT + 6, BOTTOM - 8, "best corner", class_="small muted"),
        el("path", {"class": "line-s1", "id": "map-frontier", "d": str(first["path"])}),
        el("g", {"aria-hidden": "true"}, *_small_dots(data, x, y)),
    ]
    labels = {label[0]: label for label in first["labels"]}
    for i, name in enumerate(data.names):
        parts.append(_run(i, name, x, y, on=i in on))
        parts.append(_label(i, name, labels.get(i)))
    return svg(
        WIDTH,
        HEIGHT,
        el("g", {"id": "map-drawing"}, *parts),
        title="Risk-utility map",
        description=str(first["words"]),
    )


def _hidden(shown: bool) -> str | None:
    return None if shown else "none"


def _across(axis: Axis, *, shown: bool) -> Markup:
    label = f"risk: {clipped(axis.title, 60)} (left is safer)"
    parts = [axis_bottom(axis.scale, BOTTOM, label, grid=BOTTOM - TOP)]
    for mark in axis.marks:
        x = axis.scale(mark.value)
        parts.append(line(x, TOP, x, BOTTOM, class_=f"line-{mark.look} dashed"))
        parts.append(_mark_words(x, mark.words, right=x < (LEFT + RIGHT) / 2))
    for mark in axis.far:
        below = mark.value < axis.scale.domain[0]
        told = f"← {mark.words}" if below else f"{mark.words} →"
        parts.append(_mark_words(LEFT if below else RIGHT, told, right=below))
    return el("g", {"data-across": axis.key, "display": _hidden(shown)}, *parts)


def _mark_words(x: float, told: str, *, right: bool) -> Markup:
    """Write what a line of reference is, beside it at the top."""
    anchor, aside = ("start", 5) if right else ("end", -5)
    return text(x + aside, TOP + 12, told, class_="small muted", text_anchor=anchor)


def _up(axis: Axis, *, shown: bool) -> Markup:
    label = f"utility loss: {clipped(axis.title, 60)} (lower is better)"
    drawn = axis_left(axis.scale, LEFT, label, grid=RIGHT - LEFT)
    return el("g", {"data-up": axis.key, "display": _hidden(shown)}, drawn)


def _small_dots(data: MapData, x: Axis, y: Axis) -> list[Markup]:
    """Return one dot for each dataset, tied to its run; those without a place are hidden."""
    axes = [*data.across.values(), *data.up.values()]
    counts = [max(len(axis.dots[i]) for axis in axes) for i in range(len(data.names))]
    return [_small_dot(i, d, x, y) for i, count in enumerate(counts) for d in range(count)]


def _small_dot(i: int, d: int, x: Axis, y: Axis) -> Markup:
    cx, cy, run_x, run_y = x.dot(i, d), y.dot(i, d), x.places[i], y.places[i]
    known = None not in (cx, cy, run_x, run_y)
    tie: dict[str, Value] = {"x1": cx, "y1": cy, "x2": run_x, "y2": run_y}
    attrs: dict[str, Value] = {"data-dot": f"{i}|{d}", "display": _hidden(known)}
    return el(
        "g",
        attrs,
        el("line", {"class": "grid", **tie}),
        el("circle", {"class": "fill-s1 faint", "r": 2.6, "cx": cx, "cy": cy}),
    )


def _run(i: int, name: str, x: Axis, y: Axis, *, on: bool) -> Markup:
    cx, cy = x.places[i], y.places[i]
    known = cx is not None and cy is not None
    low, high = x.ends[i]
    whisker: dict[str, Value] = {
        "class": "line-s1 faint",
        "x1": low,
        "x2": high,
        "y1": cy or 0,
        "y2": cy or 0,
        "display": _hidden(known and low is not None),
    }
    look: dict[str, Value] = {
        "class": "fill-s1" if on else "line-s1",
        "r": 6.5,
        "cx": cx or 0,
        "cy": cy or 0,
    }
    return el(
        "g",
        {"data-run": i, "display": _hidden(known)},
        el("title", None, name),
        el("line", whisker),
        el("circle", look),
    )


def _label(i: int, name: str, label: Sequence[Any] | None) -> Markup:
    _, x, y, anchor = label or (i, 0, 0, "start")
    attrs: dict[str, Value] = {
        "x": x,
        "y": y,
        "text-anchor": anchor,
        "class": "label",
        "data-label": i,
        "display": _hidden(label is not None),
        "aria-hidden": "true",
    }
    return el("text", attrs, clipped(name, 30))


BANNER = (
    "Confidential: computed from the confidential data. For the data steward; not for release "
    "with the datasets."
)
UNSET = "not set"
MOST_COLUMNS = 4
"""Runs up to which they are the columns of the table of all figures."""


def comparison_page(content: Mapping[str, Any], *, title: str = "Comparison of runs") -> str:
    """Return the page of a comparison as HTML.

    Parameters
    ----------
    content : mapping
        What ``Comparison.to_dict`` gives; with ``reports`` (name of a run: relative link) where
        there are reports, and ``failed`` (name of a setting: why) where some settings of a grid
        could not be run.
    title : str
        Heading of the page.
    """
    data = map_data(content)
    sections = [
        map_section(content, data),
        _notes(content),
        runs_section(content),
        _settings(content),
        _figures(content),
        _meanings(content),
    ]
    return render(
        title,
        [section for section in sections if section.blocks],
        banner=BANNER,
        subtitle=plural(len(content["runs"]), "run"),
        data=None if data is None else {"map": data.to_dict()},
        scripts=("map.js",),
    )


def setting_text(value: Any) -> str:
    """Write a value of a configuration.

    Examples
    --------
    >>> setting_text(True), setting_text("cart"), setting_text([1, 2]), setting_text(None)
    ('true', 'cart', '[1, 2]', 'not set')
    """
    if value is None:
        return UNSET
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _notes(content: Mapping[str, Any]) -> Section:
    blocks: list[Block] = [Note(note) for note in content["notes"]]
    for name, why in content.get("failed", {}).items():
        told = "; ".join(why)
        blocks.append(Note(f"The setting {name} failed and is not compared: {told}", "alert"))
    return Section(anchor="notes", title="Before you choose", lead="", blocks=blocks)


def _settings(content: Mapping[str, Any]) -> Section:
    runs, keys = content["runs"], content["differing"]
    not_shared = {*keys, *content["left_out"]}
    same = {
        key: setting_text(value)
        for key, value in runs[0]["settings"].items()
        if key not in not_shared
    }
    blocks: list[Block] = []
    if keys:
        blocks.append(
            DataTable(
                caption="Settings that are not the same in all runs",
                columns=["run", *keys, "seed"],
                forms=["text"] * (len(keys) + 2),
                rows=[
                    [
                        run["name"],
                        *(_setting_cell(run["differing"][key]) for key in keys),
                        str(run["seed"]),
                    ]
                    for run in runs
                ],
                sortable=len(runs) > MANY_ROWS,
            )
        )
    else:
        rest = " but what is declared of single variables" if not_shared else ""
        blocks.append(Note(f"The settings of all runs are the same{rest}."))
    if same:
        caption = "Settings that all runs share; the rest are defaults"
        rows = list(same.items())
        blocks.append(
            DataTable(
                caption=caption, columns=["setting", "value"], forms=["text", "text"], rows=rows
            )
        )
    return Section(anchor="settings", title="Settings", lead="What was set.", blocks=blocks)


def _setting_cell(value: Any) -> Cell:
    """Return numbers as they are, so that they are sorted as numbers."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else setting_text(value)


def _figures(content: Mapping[str, Any]) -> Section:
    runs = content["runs"]
    blocks: list[Block] = []
    for axis, what in (("risk", "Risk"), ("utility", "Loss of utility")):
        found = [
            (one["key"], one["title"])
            for one in content["measures"]
            if one["axis"] == axis and any(value_of(run, one["key"]) is not None for run in runs)
        ]
        if found:
            blocks.append(_matrix(f"{what}, every figure", runs, found))
    return Section(
        anchor="figures",
        title="Every figure",
        lead="Lower is better in all of them.",
        blocks=blocks,
    )


def _matrix(
    caption: str, runs: Sequence[Mapping[str, Any]], found: Sequence[tuple[str, str]]
) -> DataTable:
    """Return runs as columns where they are few, else as rows."""
    names = [run["name"] for run in runs]
    by_run: list[list[Cell]] = [[value_of(run, key) for key, _ in found] for run in runs]
    titles = [title for _, title in found]
    if len(runs) <= MOST_COLUMNS:
        cells, heads, sides, corner = [*zip(*by_run, strict=True)], names, titles, "figure"
    else:
        cells, heads, sides, corner = [*map(tuple, by_run)], titles, names, "run"
    figures: list[Form] = ["figure"] * len(heads)
    return DataTable(
        caption=caption,
        columns=[corner, *heads],
        forms=["text", *figures],
        rows=[[side, *row] for side, row in zip(sides, cells, strict=True)],
        sortable=len(cells) > MANY_ROWS and corner == "run",
    )


def _meanings(content: Mapping[str, Any]) -> Section:
    runs = content["runs"]
    rows = [
        (
            one["title"],
            one["meaning"],
            "yes" if not one["same_rows"] else "no",
        )
        for one in content["measures"]
        if any(value_of(run, one["key"]) is not None for run in runs)
    ]
    table = DataTable(
        caption="Figures in words",
        columns=["figure", "what it says", "comparable between datasets of different sizes"],
        forms=["text", "text", "text"],
        rows=rows,
    )
    return Section(
        anchor="meanings",
        title="What the figures mean",
        lead="",
        blocks=[table] if rows else [],
    )
