"""The evolution of whole datasets on the page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.extensions.genetic.evolved import (
    Evolution,
    EvolvedDataset,
    FrontierFile,
    Generation,
    Point,
    Risk,
    Utility,
)
from synthesizer.extensions.genetic.genetic_report import (
    MAX_STEPS,
    generations_chart,
    path_chart,
)
from synthesizer.extensions.genetic.refine import refine
from synthesizer.report.blocks import Chart
from tests.report.fixtures import Page
from tests.report.test_notebook import page_of
from tests.report.utility_examples import EVIL


def generation(number: int, **more: Any) -> Generation:
    plain = {
        "generation": number, "utility": 0.2 - number / 100, "risk": 0.8 / (number + 1),
        "fitness": 0.5 / (number + 1), "median_utility": 0.15, "median_risk": 0.9 - number / 50,
        "frontier": 5,
    }  # fmt: skip
    return Generation(**(plain | more))


def history(count: int) -> tuple[Generation, ...]:
    return tuple(generation(number) for number in range(count))


def at(utility: float, risk: float) -> dict[str, Any]:
    return {"utility": utility, "risk": risk, "fitness": 0.1, "unchanged": 0.9}


def dataset(**more: Any) -> EvolvedDataset:
    plain = {
        **at(0.1, 0.3), "reached": None, "stopped": "no gain in 20 generations",
        "generations": 8, "history": history(9),
        "frontier": (Point(**at(0.1, 0.3)), Point(**at(0.05, 0.6))),
    }  # fmt: skip
    return EvolvedDataset(**(plain | more))


def risk(**more: Any) -> Risk:
    plain = {
        "name": "cap_u", "meaning": "mean CAP of unique people", "keys": ("age", EVIL),
        "target": "job", "people": 10, "baseline": 0.36, "random": 0.28,
    }  # fmt: skip
    return Risk(**(plain | more))


def evolved(*datasets: EvolvedDataset, **more: Any) -> Evolution:
    plain = {
        "mode": "single", "start": "mutants", "population": 100, "weight": 0.5,
        "utility": Utility(name="full_table", meaning="distance of the tables"),
        "risk": risk(), "risk_at_most": None, "risk_floor": 0.28,
        "datasets": datasets or (dataset(),),
    }  # fmt: skip
    return Evolution(**(plain | more))


def pareto(files: int = 3, **more: Any) -> Evolution:
    written = tuple(
        FrontierFile(file=f"frontier_{i:02d}.csv", **at(0.1 - i / 5000, 0.3 + i / 1000))
        for i in range(1, files + 1)
    )
    return evolved(mode="pareto", written=written, **more)


def chain(*datasets: EvolvedDataset, **more: Any) -> Evolution:
    """An evolution that did not start from the original."""
    plain = [each.model_copy(update={"unchanged": None}) for each in datasets or (dataset(),)]
    return evolved(*plain, start="chain", **more)


def points_of(chart: Chart, look: str) -> list[tuple[float, float]]:
    (drawn,) = [p for p in Page(chart.svg).all("polyline") if p["class"] == look][-1:]
    pairs = str(drawn["points"]).split()
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in pairs)]


def test_the_way_leads_from_the_start_to_the_result() -> None:
    chart = path_chart(history(3), baseline=0.36)
    start, *_, end = points_of(chart, "line-s1")
    assert end[0] < start[0]  # less risk is further left
    assert end[1] > start[1]  # and less loss of utility further down
    circles = [
        (float(str(dot["cx"])), float(str(dot["cy"]))) for dot in Page(chart.svg).all("circle")
    ]
    assert any(centre == pytest.approx(end, abs=0.1) for centre in circles)
    assert {"start", "result"} <= set(Page(chart.svg).text("text"))


def test_long_histories_are_thinned_out_and_keep_their_ends() -> None:
    chart = generations_chart(history(5003))
    rows = chart.table.rows
    assert len(rows) <= MAX_STEPS + 1
    assert (rows[0][0], rows[-1][0]) == (0, 5002)


def test_refined_and_evolved_data_are_displayed() -> None:
    draws = np.random.default_rng(1)
    people = pd.DataFrame({"a": draws.integers(0, 200, 250), "b": draws.integers(0, 2, 250)})
    refined = refine(people, people.head(225), keys=["a"], target="b", risk_at_most=0.6, codes=True)
    for result in (refined, evolved()):
        assert 0 < len(repr(result).splitlines()) <= 20
        assert "random_key" not in repr(result)
        page_of(result._repr_html_())
        assert len(result.to_frame()) > 0
    risks = refined.to_frame().set_index("name")["value"]
    assert risks["risk before"] == refined.before.risk > 0.6 >= risks["risk after"]
