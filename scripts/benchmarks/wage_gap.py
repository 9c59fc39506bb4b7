"""Section 5 of Barrientos et al. (2018) on simulated careers: docs/verification.md.

Federal employees over 24 years are simulated and synthesised with the shipped configuration. The
wage regressions of the paper are fitted to the synthetic data, and differentially private
verification decides which findings hold (epsilon 1 a question). The confidential coefficients and
the true ones of the simulator are printed beside the answers. Needs the extra ``verification``.

Age and education are effects of their levels, in place of age, its square and years of schooling:
written out by level these would be longer than a query may be. The regressions of single years have
effects of the occupational category in place of agency and occupation: a year of a partition of so
few persons has fewer rows than those have levels. The paper has 3.5 million persons.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from measuring import Row, Rows, job, rows_of
from workforce import COEFFICIENTS, CONFIG, RACES

from synthesizer import compare_fit_by, run
from synthesizer.data.samples.workforce import constants as simulated
from synthesizer.data.samples.workforce.simulation import simulate
from synthesizer.extensions.verification.answer import ShareAnswer, Statement
from synthesizer.extensions.verification.public_schema import schema_of_release, yaml_of
from synthesizer.extensions.verification.verify import begin_ledger, verify
from synthesizer.measures.utility.coefficients import CoefficientComparison, FitComparison

SEXES = {"M": "men", "F": "women"}
FIRST, LAST = 1988, 2011
SPLITS = {
    "M": {"AIAN": 2003, "Asian": 2002, "Black": 1998, "Hispanic": 1997},
    "F": {"AIAN": 1998, "Asian": 2000, "Black": 2000, "Hispanic": 2000},
}
"""Years at which the paper cuts the period in two."""
THRESHOLD = -0.01
"""Of log pay: a gap of one percent."""
HUMAN = "age_range + education"
TEXTS = ("agency", "occupation", "education", "occupational_category")
Coefficients = dict[str, CoefficientComparison]
"""Coefficients of one model in one group of persons, by the names of the paper."""


@dataclass(frozen=True)
class Study:
    """What a steward and a researcher have, and the names of the model's terms."""

    folder: Path
    names: Mapping[str, str]
    """Name in the paper of each term; a query names no label that few persons have."""

    @classmethod
    def of(cls, folder: Path, persons: int, seed: int) -> Study:
        """Simulate, synthesise, and write public schema and ledger."""
        data = {"sample": "federal_workforce", "persons": persons}
        output = {"directory": str(folder / "run"), "overwrite": True}
        run(CONFIG, overrides={"data": data, "output": output, "seed": seed, "checks": False})
        confidential, schema = folder / "confidential.csv", folder / "public_schema.yaml"
        simulate(persons, seed=1).to_pandas().to_csv(confidential, index=False)
        public = schema_of_release(folder / "run")
        schema.write_text(yaml_of(public))
        ledger = folder / "ledger.sqlite"
        begin_ledger(ledger, confidential=confidential, schema=schema, cap=100.0)
        levels = public.variables["race"].levels
        return cls(folder, {f"I(race == '{race}')": race for race in RACES if race in levels})

    @property
    def synthetic(self) -> Path:
        """The one synthetic dataset."""
        (path,) = sorted((self.folder / "run").glob("synthetic*.csv"))
        return path

    @property
    def overall(self) -> str:
        """Formula of table 2."""
        return (
            f"I(log(basic_pay)) ~ {' + '.join(self.names)} | {HUMAN} + year + agency + occupation"
        )

    @property
    def yearly(self) -> str:
        """Formula of table 3 and of the figures."""
        return f"I(log(basic_pay)) ~ {' + '.join(self.names)} | {HUMAN} + occupational_category"

    def fits(self, formula: str, by: list[str]) -> dict[tuple[str, ...], Coefficients]:
        """Fit confidential and synthetic data by groups; groups without a fit are left out."""
        frames = []
        for path in (self.folder / "confidential.csv", self.synthetic):
            frame = pd.read_csv(path, dtype=dict.fromkeys(TEXTS, str), keep_default_na=False)
            has_race = frame["race"] != "unspecified"
            has_education = frame["education"] != simulated.MISSING
            frame = frame[has_race & has_education & (frame["basic_pay"].astype(float) > 0)]
            frames.append(frame.assign(basic_pay=frame["basic_pay"].astype(float)))
        real, made = frames
        results = compare_fit_by(real, made, formula, by, clusters="person")
        return {
            tuple(map(str, group)): {self.names[row.name]: row for row in fit.coefficients}
            for group, fit in results.items()
            if isinstance(fit, FitComparison)
        }

    def ask(self, sex: str, **query: Any) -> Statement:
        """Have a query about one sex answered, and return what is known of its statement."""
        subset = f"sex == '{sex}' and race != 'unspecified' and basic_pay > 0"
        path = self.folder / "query.json"
        path.write_text(json.dumps({"subset": subset, "epsilon": 1.0, **query}))
        made = verify(
            path,
            confidential=self.folder / "confidential.csv",
            synthetic=self.synthetic,
            schema=self.folder / "public_schema.yaml",
            ledger=self.folder / "ledger.sqlite",
            user="researcher",
            analysis="wage gap",
        )
        assert isinstance(made.answer, ShareAnswer)  # noqa: S101 - of an interval or a trend
        return made.answer.statements[0]


def slope(
    fits: Mapping[tuple[str, ...], Coefficients], sex: str, race: str, side: str, years: range
) -> float:
    """Return the slope of the yearly coefficients of one side over a period."""
    points = [
        (int(year), getattr(fit[race], side))
        for (of, year), fit in fits.items()
        if of == sex and race in fit and int(year) in years
    ]
    at, values = np.array(sorted(points)).T
    return float(np.polyfit(at, values, 1)[0])


def of_answer(known: Statement) -> dict[str, Any]:
    """Return the share r of groups for which the statement holds, and what has no fit."""
    low, high = known.densest
    figures = {"r": known.mode, "95 % of r, low": low, "high": high}
    return figures | {"groups without a fit": known.errors}


@job(persons=1_000, partitions=10, trend_partitions=10)
def section_5(
    persons: int = 20_000,
    seed: int = 1,
    partitions: int = 50,
    trend_partitions: int = 20,
    folder: Path = Path(),
) -> Rows:
    """Ask about gaps (table 2), trends (table 3) and yearly gaps (figures 1 and 2) of the paper.

    ``folder``, if it is a new directory, keeps the files.
    """
    if folder == Path():
        with TemporaryDirectory() as name:
            yield from answered(Study.of(Path(name), persons, seed), partitions, trend_partitions)
        return
    folder.mkdir(parents=True)
    yield from answered(Study.of(folder, persons, seed), partitions, trend_partitions)


def answered(study: Study, partitions: int, trend_partitions: int) -> Rows:
    """Yield coefficients of both sides, the answers and the truth."""
    overall, yearly = study.fits(study.overall, ["sex"]), study.fits(study.yearly, ["sex", "year"])
    gaps = {(gap.sex, gap.race): gap for gap in simulated.GAPS}
    for (sex,), fit in overall.items():
        for name, row in fit.items():
            figures = {"synthetic": row.synthetic, "confidential": row.original}
            figures |= {"its error": row.original_error, "simulator": COEFFICIENTS[sex][name]}
            yield from rows_of(f"table 2, {SEXES[sex]}, {name}", figures)
    races = list(study.names.values())
    for sex, race in product(SEXES, races):
        about = {"coefficient": f"I(race == '{race}')"}
        ask = {"measure": "interval", "below": THRESHOLD, **about}
        known = study.ask(sex, ask=ask, formula=study.overall, partitions=partitions)
        yield from rows_of(f"table 2, {SEXES[sex]}, {race}, at most {THRESHOLD}", of_answer(known))
        cut, gap = SPLITS[sex][race], gaps[sex, race]
        for first, last in ((FIRST, LAST), (FIRST, cut), (cut, LAST)):
            period = range(first, last + 1)
            made, real = (slope(yearly, sex, race, s, period) for s in ("synthetic", "original"))
            direction = {
                "first": first,
                "last": last,
                "slope": "rising" if made >= 0 else "falling",
            }
            ask = {"measure": "trend", "over": "year", "periods": [direction], **about}
            known = study.ask(
                sex, ask=ask, formula=study.yearly, partitions=trend_partitions, errors="report"
            )
            slopes = {"synthetic": made, "confidential": real}
            slopes["simulator"] = (gap.last - gap.first) / (LAST - FIRST)
            thousandths = {f"{side} in 1/1000": 1000 * value for side, value in slopes.items()}
            case = f"table 3, {SEXES[sex]}, {race}, {first} to {last}"
            yield from rows_of(case, thousandths | of_answer(known))
    for (sex, year), fit in sorted(yearly.items()):
        for race in (race for race in races if race in fit):
            case = f"figure, {SEXES[sex]}, {race}, {year}"
            yield Row(case, "synthetic", fit[race].synthetic)
            yield Row(case, "confidential", fit[race].original)
