"""Section 5 of Barrientos et al. (2018) on simulated careers: synthesise, verify, see the truth.

Usage::

    python scripts/wage_gap.py DIRECTORY [--persons 20000] [--seed 1]

Simulates PERSONS federal employees over 24 years, synthesises them with
``scripts/configs/federal_workforce.yaml``, fits the wage regressions of the paper to the synthetic
data, asks the confidential data by differentially private verification which findings hold (epsilon
1 a question, 50 partitions as in the paper, 20 for trends), and sets the confidential coefficients
and the true ones of the simulator beside the answers. Writes ``wage_gap.html`` and ``wage_gap.md``
to DIRECTORY: tables 2 and 3 and figures 1 and 2 of the paper. Needs the extra ``verification``.

The regressions of single years have effects of the occupational category in place of agency and
occupation: a year of a partition of so few persons has fewer rows than those have levels. The paper
has 3.5 million persons.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from workforce import COEFFICIENTS

from synthesizer import compare_fit_by, run
from synthesizer.cli.commands import errors_told
from synthesizer.data.files import write_texts
from synthesizer.data.samples.workforce import constants as simulated
from synthesizer.data.samples.workforce.simulation import simulate
from synthesizer.measures.utility.coefficients import CoefficientComparison, FitComparison
from synthesizer.report.charts import Panel, Series, panels
from synthesizer.report.page import (
    Cell,
    Chart,
    DataTable,
    Section,
    Words,
    interval,
    render,
    written,
)
from synthesizer.verification.answer import ShareAnswer, Statement
from synthesizer.verification.public_schema import PublicSchema, schema_of_release, yaml_of
from synthesizer.verification.verify import begin_ledger, verify

CONFIG = Path(__file__).parent / "configs" / "federal_workforce.yaml"
RACES = ("AIAN", "Asian", "Black", "Hispanic")
SEXES = {"M": "men", "F": "women"}
FIRST, LAST = 1988, 2011
SPLITS = {
    "M": {"AIAN": 2003, "Asian": 2002, "Black": 1998, "Hispanic": 1997},
    "F": {"AIAN": 1998, "Asian": 2000, "Black": 2000, "Hispanic": 2000},
}
"""Years at which the paper cuts the period in two."""
THRESHOLD = -0.01
"""Of log pay: a gap of one percent."""


AGES = {"75+": 77.0} | {f"{age}-{age + 4}": age + 2.0 for age in range(15, 75, 5)}
"""Age of each range, in years."""


@dataclass(frozen=True)
class Model:
    """The regressions of the paper, over the labels of a public schema."""

    names: Mapping[str, str]
    """Name in the paper of each coefficient."""

    @classmethod
    def of(cls, schema: PublicSchema) -> Model:
        """Return the regressions; a query may name no label that few persons have."""
        years = zip(simulated.EDUCATIONS, simulated.EDUCATION_YEARS, strict=True)
        age = _scores(schema, "age_range", AGES)
        education = _scores(schema, "education", {label: year or 0.0 for label, year in years})
        races = [race for race in RACES if race in schema.variables["race"].levels]
        names = {f"I(race == '{race}')": race for race in races}
        human = {f"I({age})": "age", f"I(({age}) ** 2)": "age squared"}
        return cls(names | human | {f"I({education})": "education"})

    @property
    def races(self) -> tuple[str, ...]:
        """Races that have a coefficient."""
        return tuple(race for race in RACES if race in self.names.values())

    @property
    def overall(self) -> str:
        """Formula of table 2."""
        return f"I(log(basic_pay)) ~ {' + '.join(self.names)} | year + agency + occupation"

    @property
    def yearly(self) -> str:
        """Formula of table 3 and of the figures."""
        return f"I(log(basic_pay)) ~ {' + '.join(self.names)} | occupational_category"

    def coefficients(self, fit: FitComparison) -> Coefficients:
        """Return the coefficients of a fit that was compared, by the names of the paper."""
        return Coefficients({self.names[row.name]: row for row in fit.coefficients})


def _scores(schema: PublicSchema, variable: str, scores: Mapping[str, float]) -> str:
    """Return an expression that puts a number in the place of each label of the schema."""
    levels = schema.variables[variable].levels
    named = {label: score for label, score in scores.items() if score and label in levels}
    return " + ".join(f"{score:g}*({variable} == '{label}')" for label, score in named.items())


@dataclass(frozen=True)
class Coefficients:
    """Coefficients of one model in one group of persons, by the names of the paper."""

    rows: Mapping[str, CoefficientComparison]


@dataclass(frozen=True)
class Fits:
    """The models of the paper, fitted to original and synthetic data."""

    overall: Mapping[str, Coefficients]
    """By sex."""
    yearly: Mapping[tuple[str, int], Coefficients]
    """By sex and year; years whose model has no fit are not there."""

    def series(self, sex: str, race: str, side: str) -> list[tuple[float, float]]:
        """Return year and coefficient of the ``original`` or the ``synthetic`` data."""
        return [
            (float(year), float(getattr(fit.rows[race], side)))
            for (of, year), fit in sorted(self.yearly.items())
            if of == sex and race in fit.rows
        ]

    def slope(self, sex: str, race: str, side: str, years: tuple[int, int]) -> float:
        """Return the slope of the yearly coefficients over a period, both ends in it."""
        points = self.series(sex, race, side)
        at, values = np.array([p for p in points if years[0] <= p[0] <= years[1]]).T
        return float(np.polyfit(at, values, 1)[0])


def fitted(model: Model, original: pd.DataFrame, synthetic: pd.DataFrame) -> Fits:
    """Fit the model of table 2 to each sex, and that of figures 1 and 2 to each sex and year."""
    ours, theirs = usable(original), usable(synthetic)
    overall = compare_fit_by(ours, theirs, model.overall, ["sex"], clusters="person")
    yearly = compare_fit_by(ours, theirs, model.yearly, ["sex", "year"], clusters="person")
    return Fits(
        {
            sex: model.coefficients(f)
            for (sex,), f in overall.items()
            if isinstance(f, FitComparison)
        },
        {
            (sex, int(year)): model.coefficients(f)
            for (sex, year), f in yearly.items()
            if isinstance(f, FitComparison)
        },
    )


def usable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the records with a race, an education and a pay, as the paper does."""
    has_race = frame["race"].astype(str) != "unspecified"
    has_education = frame["education"].astype(str) != simulated.MISSING
    frame = frame[has_race & has_education & (frame["basic_pay"].astype(float) > 0)]
    return frame.assign(basic_pay=frame["basic_pay"].astype(float))


def true_slope(sex: str, race: str) -> float:
    """Return the change by year of the gap that the simulator injects."""
    gap = next(gap for gap in simulated.GAPS if (gap.sex, gap.race) == (sex, race))
    return (gap.last - gap.first) / (LAST - FIRST)


def periods(sex: str, race: str) -> tuple[tuple[int, int], ...]:
    """Return the periods of table 3: all years, and the two that the paper cuts them into."""
    cut = SPLITS[sex][race]
    return (FIRST, LAST), (FIRST, cut), (cut, LAST)


@dataclass(frozen=True)
class Files:
    """What a steward and a researcher have."""

    confidential: Path
    synthetic: Path
    schema: Path
    ledger: Path
    queries: Path
    model: Model

    def frames(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return confidential and synthetic data; labels are texts."""
        names = ("agency", "occupation", "education", "occupational_category")
        original, synthetic = (
            pd.read_csv(path, dtype=dict.fromkeys(names, str), keep_default_na=False)
            for path in (self.confidential, self.synthetic)
        )
        return original, synthetic

    def ask(self, name: str, **query: Any) -> Statement:
        """Write a query, have it answered, and return what is known of its statement."""
        path = self.queries / f"{name}.json"
        path.write_text(json.dumps(query))
        made = verify(
            path,
            confidential=self.confidential,
            synthetic=self.synthetic,
            schema=self.schema,
            ledger=self.ledger,
            user="researcher",
            analysis="wage gap",
        )
        if not isinstance(made.answer, ShareAnswer):
            raise TypeError(name)
        return made.answer.statements[0]


def prepared(directory: Path, persons: int, seed: int) -> Files:
    """Simulate, synthesise, and write public schema and ledger."""
    data = {"sample": "federal_workforce", "persons": persons}
    output = {"directory": str(directory / "run"), "overwrite": True}
    run(CONFIG, overrides={"data": data, "output": output, "seed": seed, "checks": False})
    confidential, queries = directory / "confidential.csv", directory / "queries"
    simulate(persons, seed=1).to_pandas().to_csv(confidential, index=False)
    schema, ledger = directory / "public_schema.yaml", directory / "ledger.sqlite"
    public = schema_of_release(directory / "run")
    schema.write_text(yaml_of(public))
    ledger.unlink(missing_ok=True)
    begin_ledger(ledger, confidential=confidential, schema=schema, cap=100.0)
    queries.mkdir(exist_ok=True)
    (synthetic,) = sorted((directory / "run").glob("synthetic*.csv"))
    return Files(confidential, synthetic, schema, ledger, queries, Model.of(public))


@dataclass(frozen=True)
class Answers:
    """What verification says of the findings in the synthetic data."""

    gaps: Mapping[tuple[str, str], Statement]
    """By sex and race: is the coefficient -0.01 or less?"""
    trends: Mapping[tuple[str, str, tuple[int, int]], Statement]
    """By sex, race and period: does it change in the direction of the synthetic data?"""


def asked(files: Files, fits: Fits, partitions: int, trend_partitions: int) -> Answers:
    """Ask all questions of tables 2 and 3; each costs epsilon 1.

    Partitions of which a year has no fit, as where nobody has the race, are told apart.
    """
    gaps, trends = {}, {}
    for sex, race in product(SEXES, files.model.races):
        common: dict[str, Any] = {
            "subset": f"sex == '{sex}' and race != 'unspecified' and basic_pay > 0",
            "epsilon": 1.0,
        }
        all_years = {"formula": files.model.overall, "partitions": partitions, **common}
        by_year = {
            "formula": files.model.yearly,
            "partitions": trend_partitions,
            "errors": "report",
            **common,
        }
        about = {"coefficient": f"I(race == '{race}')"}
        interval = {"measure": "interval", "below": THRESHOLD, **about}
        gaps[sex, race] = files.ask(f"gap_{sex}_{race}", ask=interval, **all_years)
        for years in periods(sex, race):
            slope = "rising" if fits.slope(sex, race, "synthetic", years) >= 0 else "falling"
            period = {"first": years[0], "last": years[1], "slope": slope}
            trend = {"measure": "trend", "over": "year", "periods": [period], **about}
            name = f"trend_{sex}_{race}_{years[0]}_{years[1]}"
            trends[sex, race, years] = files.ask(name, ask=trend, **by_year)
    return Answers(gaps, trends)


def table_2(sex: str, fits: Fits, answers: Answers) -> DataTable:
    """Return table 2: the gaps of one sex, with the answers and the truth."""
    rows: list[list[Cell]] = []
    for name, row in fits.overall[sex].rows.items():
        known = answers.gaps.get((sex, name))
        share: list[Cell] = [None, "", None]
        if known is not None:
            share = [known.mode, interval_of(known), known.unfitted]
        confidential: list[Cell] = [row.original, row.original_error]
        rows.append([name, row.synthetic, *share, *confidential, true_coefficient(sex, name)])
    return DataTable(
        caption=f"Table 2, {SEXES[sex]}: coefficients of log pay, and r of “at most {THRESHOLD}”",
        columns=[
            *("Variable", "Synthetic", "r", "95 % of r", "Synthetic parts without a fit"),
            *("Confidential", "Its error", "Simulator"),
        ],
        forms=["text", "figure", "share", "text", "share", "figure", "figure", "figure"],
        rows=rows,
    )


def interval_of(known: Statement) -> str:
    """Return the shortest interval of r, which always holds its most probable value."""
    return interval(*known.densest, "share")


def true_coefficient(sex: str, name: str) -> float:
    """Return what the regression finds in the limit, see the constants of the simulator."""
    return COEFFICIENTS[sex][{"age squared": "age2"}.get(name, name)]


def table_3(sex: str, fits: Fits, answers: Answers) -> DataTable:
    """Return table 3: the trends of one sex."""
    rows: list[list[Cell]] = []
    for (of, race, years), known in answers.trends.items():
        if of == sex:
            slopes = [fits.slope(sex, race, side, years) for side in ("synthetic", "original")]
            changes: list[Cell] = [1000 * slope for slope in (*slopes, true_slope(sex, race))]
            period = f"{years[0]} to {years[1]}"
            rows.append([race, period, *changes, known.mode, interval_of(known), known.errors])
    return DataTable(
        caption=f"Table 3, {SEXES[sex]}: change of the gap by year, in thousandths of log pay, and "
        "r of its direction in the synthetic data",
        columns=[
            *("Race", "Years", "Synthetic", "Confidential", "Simulator"),
            *("r", "95 % of r", "Without a fit"),
        ],
        forms=["text", "text", "figure", "figure", "figure", "share", "text", "share"],
        rows=rows,
    )


def conclusions(answers: Answers) -> Iterator[str]:
    """Yield what a researcher may conclude, each answer in its words."""
    for (sex, race), known in answers.gaps.items():
        words = " ".join(list(known.words)[1:3])
        yield f"{race}, {SEXES[sex]}, gap of one percent or more: {words}"
    for (sex, race, years), known in answers.trends.items():
        words = " ".join(list(known.words)[1:3])
        yield f"{race}, {SEXES[sex]}, trend {years[0]} to {years[1]}: {words}"


def figure(sex: str, fits: Fits, answers: Answers) -> Chart:
    """Return figure 1 (men) or 2 (women): yearly gaps of original and synthetic data."""
    true = {gap.race: gap for gap in simulated.GAPS if gap.sex == sex}
    drawn = []
    for race in (race for of, race in answers.gaps if of == sex):
        gap = true[race]
        verified = f"r of its trend: {answers.trends[sex, race, (FIRST, LAST)].mode:.2f}"
        drawn.append(
            Panel(
                title=race,
                subtitle=verified,
                series=[
                    Series(look="baseline dashed", points=[(FIRST, gap.first), (LAST, gap.last)]),
                    Series(look="original dotted", points=fits.series(sex, race, "original")),
                    Series(look="synthetic", points=fits.series(sex, race, "synthetic")),
                ],
                levels=[(0.0, "line-ink")],
            )
        )
    number = 1 if sex == "M" else 2
    title = f"Figure {number}: gaps of pay by year, {SEXES[sex]}"
    apart = {race: mean_distance(fits, sex, race) for of, race in answers.gaps if of == sex}
    worst = max(apart, key=apart.__getitem__)
    summary = (
        f"Original and synthetic gaps are furthest apart for {worst}: by {apart[worst]:.3f} of log "
        "pay on average over the years."
    )
    key = [
        ("line-synthetic", "synthetic data"),
        ("line-original dotted", "confidential data"),
        ("line-baseline dashed", "injected by the simulator"),
    ]
    return Chart(
        title=title,
        svg=panels(drawn, title=title, description=summary, x_label="year", key=key),
        reads="Coefficients of race in the regression of log pay of one year; 0 is the pay of "
        "white persons of the same sex. What the simulator injects acts on the pay that a person "
        "is on the way to, so that gaps of a year follow it with delay.",
        summary=summary,
    )


def mean_distance(fits: Fits, sex: str, race: str) -> float:
    """Return the mean absolute distance of synthetic from original yearly coefficients."""
    sides = [dict(fits.series(sex, race, side)) for side in ("original", "synthetic")]
    both = sides[0].keys() & sides[1].keys()
    return float(np.mean([abs(sides[0][year] - sides[1][year]) for year in both]))


def page(fits: Fits, answers: Answers, persons: int) -> str:
    """Return the page."""
    what = (
        f"{persons:,} simulated persons, so that nothing here is confidential. A column the "
        "researcher never sees is that of the confidential coefficients; the simulator's stands "
        "beside them. Each r cost epsilon 1, all together "
        f"{len(answers.gaps) + len(answers.trends)}."
    )
    sections = [
        Section(
            anchor="table-2",
            title="Table 2: gaps of pay",
            lead="Is the gap one percent or more?",
            blocks=[Words([what]), *(table_2(sex, fits, answers) for sex in SEXES)],
        ),
        Section(
            anchor="table-3",
            title="Table 3: trends",
            lead="Does the gap change as the synthetic data say?",
            blocks=[table_3(sex, fits, answers) for sex in SEXES],
        ),
        Section(
            anchor="figures",
            title="Figures 1 and 2: gaps by year",
            lead="Confidential beside synthetic, and what was injected.",
            blocks=[figure(sex, fits, answers) for sex in SEXES],
        ),
        Section(
            anchor="conclusions",
            title="What a researcher may conclude",
            lead="In the words of each answer.",
            blocks=[Words(list(conclusions(answers)))],
        ),
    ]
    return render(
        "Wage gaps: synthesis with verification",
        sections,
        banner="Simulated data: for everybody",
        subtitle="Section 5 of Barrientos et al. (2018)",
        for_release=True,
    )


def markdown(table: DataTable) -> Iterator[str]:
    """Yield a table as Markdown."""
    yield f"\n{table.caption}\n"
    yield "| " + " | ".join(table.columns) + " |"
    yield "| " + " | ".join("---" if form == "text" else "---:" for form in table.forms) + " |"
    for row in table.rows:
        cells = (written(cell, form) for cell, form in zip(row, table.forms, strict=True))
        yield "| " + " | ".join(cells) + " |"


def main(
    directory: Path,
    persons: Annotated[int, typer.Option(min=1000)] = 20_000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    partitions: Annotated[int, typer.Option(min=10, max=500)] = 50,
    trend_partitions: Annotated[int, typer.Option(min=10, max=500)] = 20,
) -> None:
    """Write the page and the tables."""
    with errors_told():
        directory.mkdir(parents=True, exist_ok=True)
        files = prepared(directory, persons, seed)
        fits = fitted(files.model, *files.frames())
        answers = asked(files, fits, partitions, trend_partitions)
        tables = [table(sex, fits, answers) for table in (table_2, table_3) for sex in SEXES]
        text = "\n".join(line for table in tables for line in markdown(table))
        html = page(fits, answers, persons)
        write_texts(
            {directory / "wage_gap.html": html, directory / "wage_gap.md": text + "\n"},
            overwrite=True,
        )
        print(text)


if __name__ == "__main__":
    typer.run(main)
