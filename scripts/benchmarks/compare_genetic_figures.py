"""Figures 6 and 7 of Chen, Taub and Elliot (2019) for any file, as sections of a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compare_genetic_study import Comparison
from markupsafe import Markup

from synthesizer.data.evolved import EvolvedDataset
from synthesizer.measures.utility.distributions import Distribution as Shares
from synthesizer.report.charts import clipped
from synthesizer.report.genetic import generations_chart, path_chart
from synthesizer.report.page import (
    Block,
    Cell,
    Chart,
    DataTable,
    Form,
    Section,
    Words,
    fragment,
    plural,
    written,
)
from synthesizer.report.variables import picture


def figures(comparison: Comparison) -> list[Section]:
    """Return the way of both evolutions, and the distribution of every variable."""
    return [_figure_6(comparison), _figure_7(comparison)]


def _figure_6(comparison: Comparison) -> Section:
    rows: list[list[Cell]] = [[name, *_ends(own)] for name, own in comparison.evolutions.items()]
    words = [
        "U and R (CAP-U) of the best candidate of every generation, and where the other methods "
        "lie. The lower left corner would be best. The evolution of the paper had converged after "
        "57 generations at U 0.1257 and R 0.3964."
    ]
    table = DataTable(
        caption="First and last generation of each evolution; lower is better",
        columns=[
            "Dataset",
            "Generations",
            "Ended by",
            "U at first",
            "at last",
            "R at first",
            "at last",
        ],
        forms=["text", "count", "text", "figure", "figure", "figure", "figure"],
        rows=rows,
    )
    blocks: list[Block] = [Words(words), table]
    for name, own in comparison.evolutions.items():
        blocks += _charts(comparison, name, own)
    return Section(
        anchor="figure-6",
        title="Figure 6: the evolution",
        lead="How risk and utility changed from generation to generation.",
        blocks=blocks,
    )


def _ends(evolution: EvolvedDataset) -> list[Cell]:
    first, last = evolution.history[0], evolution.history[-1]
    ends = (first.utility, last.utility, first.risk, last.risk)
    return [evolution.generations, evolution.stopped, *ends]


def _charts(comparison: Comparison, name: str, evolution: EvolvedDataset) -> Iterator[Chart]:
    """Yield both charts of an evolution; the other methods are points of the second."""
    baseline = comparison.caps.baseline["uniques"]
    others = [comparison.point(other) for other in comparison.names if other != name]
    for chart in (
        generations_chart(evolution.history, baseline=baseline),
        path_chart(evolution.history, others=others, baseline=baseline),
    ):
        yield replace(chart, title=f"{name}: {chart.title[0].lower()}{chart.title[1:]}")


def _figure_7(comparison: Comparison) -> Section:
    words = [
        "Bars are shares of the records with a level, original beside synthetic; the counts are "
        "below. Bars of equal length are good."
    ]
    if any(shape.others for shape in comparison.shapes):
        words.append(
            "The rarer levels of a variable share a bar; the option --levels tells more apart."
        )
    items = Markup("").join(_item(comparison, shape) for shape in comparison.shapes)
    return Section(
        anchor="figure-7",
        title="Figure 7: histograms",
        lead="The distribution of every variable, original beside synthetic.",
        blocks=[Words(words), Markup('<div class="picker">{}</div>').format(items)],
    )


def _item(comparison: Comparison, shape: Shares) -> Markup:
    """Return one variable: a picture for each method, and the counts behind them."""
    charts = Markup("").join(
        fragment(_histogram(shape, place, name)) for place, name in enumerate(comparison.names)
    )
    return Markup(
        '<div class="item" data-label="{}"><h3>{}</h3><div class="beside">{}</div>'
        '<details class="numbers"><summary>The numbers behind it</summary>{}</details></div>'
    ).format(shape.variable, shape.variable, charts, fragment(_counts(comparison, shape)))


def _histogram(shape: Shares, place: int, name: str) -> Chart:
    made = shape.synthetic[place]
    gaps = [abs(p - q) for p, q in zip(shape.original, made, strict=True)]
    worst = max(range(len(gaps)), key=gaps.__getitem__)
    # short, so that two pictures find room beside each other
    summary = (
        f"Furthest off: “{clipped(shape.labels[worst], 16)}”, "
        f"{written(shape.original[worst], 'share')} and {written(made[worst], 'share')}."
    )
    drawn = shape.model_copy(update={"edges": None, "synthetic": (made,)})
    return Chart(title=name, svg=picture(drawn, summary), reads="", summary=summary)


def _counts(comparison: Comparison, shape: Shares) -> DataTable:
    sizes = (comparison.distances.n, *comparison.distances.n_synthetic)
    columns = [
        [round(share * n) for share in shares]
        for n, shares in zip(sizes, (shape.original, *shape.synthetic), strict=True)
    ]
    forms: list[Form] = ["text"]
    forms += ["count"] * len(columns)
    rest = f"; the last level stands for {plural(shape.others, 'rarer one')}" * bool(shape.others)
    return DataTable(
        caption=f"{shape.variable}: records of every level{rest}",
        columns=["Level", "original", *comparison.names],
        forms=forms,
        rows=[[label, *counts] for label, *counts in zip(shape.labels, *columns, strict=True)],
    )
