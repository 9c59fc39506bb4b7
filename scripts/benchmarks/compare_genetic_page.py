"""Tables and figures of Chen, Taub and Elliot (2019) for any file, as sections of a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean

from compare_genetic_study import CART, OWN, PAPER, PARAMETRIC, Comparison
from markupsafe import Markup

from synthesizer.data.errors import plural
from synthesizer.data.evolved import EvolvedDataset
from synthesizer.engine.genetic.genetic_options import GeneticOptions
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
    written,
)
from synthesizer.report.variables import picture

LEVEL = 0.05
"""Tests with p below this are called significant."""
_FIGURES: tuple[Form, ...] = ("figure",) * 4


def tables(comparison: Comparison) -> list[Section]:
    """Return what was compared, tables 1 to 3, and risk beside utility."""
    parts = (_what, _table_1, _table_2, _table_3, _risk)
    return [part(comparison) for part in parts]


def _what(comparison: Comparison) -> Section:
    study = comparison.study
    settings, own = study.settings, GeneticOptions()
    begun = (
        "mutants of the original" if settings.start == "mutants" else "datasets of the CART chain"
    )
    how = {
        PAPER: f"evolved from {begun} for {settings.generations} generations with the paper's "
        f"settings: {settings.population} candidates, crossover 0.1, mutation 0.001 "
        f"({settings.redraw} redraws), moves that are not aimed (aimed 0)",
        OWN: f"the same with the package's defaults: moves aimed at records that carry risk "
        f"(aimed {own.aimed:g}), and a stop after {own.patience} generations without gain",
        CART: f"a chain of trees with leaves of at least {settings.min_leaf} records and "
        "independent draws, as synthpop does it",
        PARAMETRIC: "a chain of logistic and multinomial regressions",
    }
    words = [
        f"{study.table.n_rows:,} records and {plural(len(study.table.names), 'variable')}, all "
        f"taken for categories, in this order: {', '.join(study.table.names)}. An intruder knows "
        f"{', '.join(study.keys)} and seeks {study.target}. Seed {settings.seed}.",
        "One dataset of each method is compared. Another seed gives other numbers, and small "
        "differences mean nothing. What the paper found stands beside each table: it is about "
        "82,851 records of the Scottish census of 1901, so numbers should be alike in kind, not "
        "equal.",
    ]
    table = DataTable(
        caption="What is compared",
        columns=["Dataset", "How it was made"],
        forms=["text", "text"],
        rows=list(how.items()),
    )
    return Section(
        anchor="compared",
        title="What was compared",
        lead="One file, synthesised by a genetic algorithm, by trees and by regressions.",
        blocks=[Words(words), table],
    )


def _table_1(comparison: Comparison) -> Section:
    rows: list[list[Cell]] = []
    ps: list[float] = []
    for (name,), tests in comparison.of_tables(1).items():
        row: list[Cell] = [name, tests[0]["df"]]
        for test in tests:
            p = test["p_chi_square"] if test["df"] else None
            row += [test["chi_square"], p]
            ps += [] if p is None else [p]
        rows.append(row)
    small = sum(p < LEVEL for p in ps)
    forms: list[Form] = ["text", "count"]
    columns = ["Variable", "df"]
    for name in comparison.names:
        columns += [f"{name}: chi-square", "p"]
        forms += ["figure", "p"]
    words = [
        "Pearson's chi-square test asks of every variable alone whether original and synthetic "
        "counts may be two samples of the same people. A small chi-square and a large p are good. "
        f"Here {small} of {plural(len(ps), 'test')} {'has' if small == 1 else 'have'} p below "
        f"{LEVEL:g}; of two independent samples about one in twenty has.",
        "In the paper every p was above 0.23, and those of the genetic file were the largest "
        "(0.81 to 1). Where all are so near 1, the file is nearer to the original than a second "
        "sample would be.",
    ]
    table = DataTable(
        caption="Original against synthetic, one variable at a time (table 1 of the paper)",
        columns=columns,
        forms=forms,
        rows=rows,
        sortable=len(rows) > 5,
    )
    return Section(
        anchor="table-1",
        title="Table 1: single variables",
        lead="Does each variable have the original's distribution?",
        blocks=[Words(words), table],
    )


def _table_2(comparison: Comparison) -> Section:
    words = [
        "A logistic regression with main effects tries to tell synthetic records from original "
        "ones. pMSE is 0 where it learns nothing: lower is better. The standardised pMSE should "
        "be about 0 and the ratio about 1, which is what draws from a right model give; far above "
        "says that single variables are off.",
        "A ratio far below 1 is no better than 1: the file is nearer to the original than an "
        "independent sample of the same people would be. A genetic file that starts from mutants "
        "is the original, perturbed.",
        "In the paper: genetic pMSE 5.44e-06, standardised −3.922, ratio 0.1638; CART 3.40e-05, "
        "0.1106, 1.0236; parametric 3.17e-05, ratio 0.9553 (as standardised value the paper prints "
        "7.077e-06, which is the standard deviation of its null; −0.21 is meant).",
    ]
    return Section(
        anchor="table-2",
        title="Table 2: propensity score",
        lead="Can a model tell synthetic from original records?",
        blocks=[Words(words), _propensity(comparison)],
    )


def _propensity(comparison: Comparison) -> Block:
    found = comparison.propensity
    if isinstance(found, str):
        return Words([f"Not here: {found}"])
    rows: list[list[Cell]] = [
        [name, own.pmse, own.z_pmse, own.s_pmse, own.expected]
        for name, own in zip(comparison.names, found.datasets, strict=True)
    ]
    return DataTable(
        caption=f"Propensity score by a logit of {found.datasets[0].parameters} parameters "
        "(table 2 of the paper)",
        columns=["Dataset", "pMSE", "Standardised pMSE", "pMSE ratio", "pMSE expected"],
        forms=("text", *_FIGURES[:4]),
        rows=rows,
    )


def _table_3(comparison: Comparison) -> Section:
    ratios = {names: [row["ROE"] for row in own] for names, own in comparison.of_tables(2).items()}
    rows: list[list[Cell]] = [[*names, *own] for names, own in ratios.items()]
    rows.append(["Mean", "", *map(fmean, zip(*ratios.values(), strict=True))])
    words = [
        "The ratio of estimates (ROE) divides the smaller of the original and the synthetic share "
        "of a cell by the larger, and is averaged over the cells of a two-way table: 1 is a copy, "
        "0 shares no cell. Higher is better. Rare cells weigh as much as common ones, so that few "
        "mutated records lower it where a table has many empty cells.",
        "Means in the paper: genetic 0.8924, CART 0.9198, parametric 0.9169.",
    ]
    table = DataTable(
        caption="Ratio of estimates of every pair of variables (table 3 of the paper)",
        columns=["Variable 1", "Variable 2", *comparison.names],
        forms=("text", "text", *_FIGURES[: len(comparison.names)]),
        rows=rows,
    )
    return Section(
        anchor="table-3",
        title="Table 3: pairs of variables",
        lead="Do two-way tables have the original's shares?",
        blocks=[Words(words), table],
    )


def _risk(comparison: Comparison) -> Section:
    caps = comparison.caps
    rows: list[list[Cell]] = [
        ["original, released as it is", 0.0, caps.original["uniques"], caps.original["all"], None],
        ["baseline: target guessed", None, caps.baseline["uniques"], caps.baseline["all"], None],
    ]
    for name in comparison.names:
        _, distance, risk = comparison.point(name)
        whole = comparison.single(name, "all").zero
        evolution = comparison.evolutions.get(name)
        unchanged = None if evolution is None else evolution.unchanged
        rows.append([name, distance, risk, whole, unchanged])
    table = DataTable(
        caption=f"CAP-U is about {plural(caps.sizes['uniques'], 'record')} whose key nobody "
        f"shares, CAP about all {caps.n:,}; unchanged: share of records that are the original's "
        "own, at their place",
        columns=["Data", "U", "CAP-U", "CAP of all records", "Unchanged"],
        forms=["text", "figure", "figure", "figure", "share"],
        rows=rows,
    )
    return Section(
        anchor="risk",
        title="Risk and utility",
        lead="What can an intruder learn, and how far is the file from the original?",
        blocks=[Words(list(_risk_words(comparison))), table],
    )


def _risk_words(comparison: Comparison) -> Iterator[str]:
    study, baseline = comparison.study, comparison.caps.baseline["uniques"]
    yield (
        "U is the Jensen-Shannon distance of the full tables of original and synthetic data: 0 is "
        "a copy, 1 shares no combination. Lower is better. CAP is how often an intruder who looks "
        f"up {', '.join(study.keys)} in the file reads off the right {study.target}; a key that is "
        "not there counts as 0. Lower is safer; the baseline is guessing from the distribution of "
        "the target. A file also comes below it by leaving people out: those that are left may "
        "still be told rightly."
    )
    above = [
        name for name in comparison.names if comparison.point(name)[2] > (baseline or 0.0)
    ] or ["none of them"]
    yield f"CAP-U above its baseline of {written(baseline)}: {', '.join(above)}."
    yield (
        "In the paper: genetic CAP-U 0.3964 at U 0.1257; CART 0.4186, parametric 0.3278; baseline "
        "CAP 0.415."
    )
    yield (
        "The genetic files are chosen by U and CAP-U, so that these two flatter them; CAP of all "
        "records and tables 1 to 3 had no say."
    )
    if study.settings.start == "mutants":
        yield (
            "CAP-U protects those whose key nobody shares, and nobody else: the records of all "
            "others are mostly still in a file that starts from mutants, as they are. See the "
            "share of unchanged records before calling such a file synthetic."
        )


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
        blocks=[Words(words), items],
    )


def _item(comparison: Comparison, shape: Shares) -> Markup:
    """Return one variable: a picture for each method, and the counts behind them."""
    charts = Markup("").join(
        fragment(_histogram(shape, place, name)) for place, name in enumerate(comparison.names)
    )
    return Markup(
        '<div><h3>{}</h3><div class="beside">{}</div>'
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
