"""What all comparisons have in common: what must not matter to them, and what must."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.figure import Result, collected
from synthesizer.measures.utility.compare_fit import compare_fit
from synthesizer.measures.utility.conditional_tables import ConditionalCounter
from synthesizer.measures.utility.distributions import distributions, pair_tables
from synthesizer.measures.utility.equivalent_sample import SampleScale
from synthesizer.measures.utility.propensity import pmse
from synthesizer.measures.utility.regressions import RegressionCounter
from synthesizer.measures.utility.tables import jensen_shannon, table_utility
from tests.measures.alike import in_other_units, numbers, permuted, relabelled, widened
from tests.tables import coded, numeric

Made = Sequence[Table]
NAMES = ["town", "age", "born", "debt", "ill", "rank"]


def awkward(seed: int, n: int = 400) -> Table:
    """Levels that do not occur, missing codes, numbers on both sides of 0, days before 1970."""
    rng = np.random.default_rng(seed)
    born = Variable(name="born", kind=Kind.DATE, missing=("?",))
    gone = (rng.random(n) < 0.1).astype(np.int8)
    age = rng.integers(-40, 60, n)
    shares = np.array([0.1, 0.2, 0.4, 0.25, 0.05]) if seed % 2 else None
    return Table(
        [
            coded("town", rng.choice([0, 1, 3, 4, 5], n, p=shares), "abcde", ("",)),
            numeric("age", age, rng.random(n) < 0.1, missing=("-9",)),
            Column(born, np.where(gone, np.nan, rng.integers(-900, 900, n)), gone),
            numeric("debt", age // 4 + rng.integers(-9, 9, n) * seed, age % 7 == 0, missing=("x",)),
            coded("ill", rng.random(n) < 0.4 + 0.003 * age, ("no", "yes")),
            coded("rank", np.arange(n) % 3, ("low", "mid", "high"), kind=Kind.ORDERED),
            coded("one", np.zeros(n), ("only",)),
        ]
    )


def conditional(original: Table, made: Made, names: Sequence[str]) -> Result:
    pairs = [("debt", "town"), ("age", "ill"), ("born", "rank")]
    result = collected(ConditionalCounter(original, pairs, names, groups=4), made)
    assert result is not None
    return result


COMPARISONS: dict[str, Callable[[Table, Made, Sequence[str]], Any]] = {
    "tables": lambda o, m, names: table_utility(o, m, names=names, ways=(1, 2, 3)).result(),
    "tables of the original's groups": lambda o, m, names: table_utility(
        o, m, names=names, groups=3, quantiles_of="original"
    ).result(),
    "distance": lambda o, m, names: jensen_shannon(o, m, names=names, groups=3),
    "logit": lambda o, m, names: pmse(o, m, names=names),
    "logit of pairs": lambda o, m, names: pmse(o, m, names=names[:4], interactions=2),
    "tree": lambda o, m, names: pmse(
        o, m, names=names, model="cart", permutations=0, min_leaf=9, seed=1
    ),
    "distributions": lambda o, m, names: distributions(o, m, names=names),
    "pairs": lambda o, m, names: pair_tables(
        o, m, pairs=list(combinations(sorted(names), 2)), groups=3
    ),
    "conditional": conditional,
    "regressions": lambda o, m, names: collected(RegressionCounter(o, names, seed=1), m),
    "equivalent sample": lambda o, m, names: collected(SampleScale(o, names, seed=1), m),
    "fit": lambda o, m, names: compare_fit(o, m, "debt ~ age + town*ill + C(rank)"),
}


def each(change: Callable[[Table], Table]) -> Callable[[Table, Made], tuple[Table, Made]]:
    return lambda original, made: (change(original), [change(table) for table in made])


SAME: dict[str, tuple[Any, list[str], set[str]]] = {
    "records in another order": (each(permuted), NAMES, {"equivalent sample"}),
    "datasets in another order": (lambda o, made: (o, made[::-1]), NAMES, {"tree"}),
    "variables in another order": (each(lambda t: t), NAMES[3::-1] + NAMES[4:], {
        "equivalent sample", "tree"
    }),
    "other units": (each(in_other_units), NAMES, {"distributions", "fit"}),
    "other labels": (each(relabelled), NAMES, {"fit", "tree"}),
    "a variable more": (each(widened), NAMES, set()),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPARISONS)
def test_what_does_not_matter(name: str) -> None:
    """The order of records, datasets and variables, units, labels, and what is not named."""
    original, made = awkward(1), [awkward(2, 300), awkward(3, 500)]
    first = numbers(COMPARISONS[name](original, made, NAMES))
    assert len(first) > 4
    for change, (changed, names, others) in SAME.items():
        if name not in others:
            again = numbers(COMPARISONS[name](*changed(original, made), names))
            assert again == pytest.approx(first, rel=1e-5, abs=1e-7), change


@pytest.mark.parametrize("name", COMPARISONS)
def test_every_dataset_counts(name: str) -> None:
    original, one, other = awkward(1), awkward(2, 300), awkward(3, 300)
    first, second, both = (
        numbers(COMPARISONS[name](original, made, NAMES))
        for made in ([one, one], [other, other], [one, other])
    )
    assert first != both
    assert second != both


@pytest.mark.parametrize(
    "name",
    [
        "distance",
        "logit",
        "logit of pairs",
        "conditional",
        "regressions",
        "equivalent sample",
        "fit",
    ],
)
def test_the_mark_of_a_figure_is_its_value_for_the_original_itself(name: str) -> None:
    result = COMPARISONS[name](awkward(1), [awkward(1)] * 2, NAMES)
    marks = [(figure.value, figure.original) for figure in result.figures]
    assert marks
    for value, original in marks:
        assert original is None or value == pytest.approx(original, abs=1e-12)


OF_FILES: dict[str, Callable[..., Any]] = {
    "tables": lambda *parts, **more: table_utility(*parts, **more).result(),
    "distance": jensen_shannon,
    "logit": pmse,
    "tree": partial(pmse, model="cart", seed=7),
    "distributions": distributions,
}


@pytest.mark.parametrize("name", OF_FILES)
def test_frames_and_tables_give_the_same_and_identifiers_do_not_count(name: str) -> None:
    draw = np.random.default_rng(1)
    frames = [
        pd.DataFrame({"sex": draw.choice(["f", "m"], n), "age": draw.integers(0, 90, n)})
        for n in (200, 150)
    ]
    tables = [
        Table([coded("sex", frame["sex"] == "m", "fm"), numeric("age", frame["age"])])
        for frame in frames
    ]
    who = Variable(name="who", kind=Kind.ID)
    numbered = [table.with_column(Column(who, np.arange(float(table.n_rows)))) for table in tables]
    first = numbers(OF_FILES[name](*frames))
    assert len(first) > 4
    assert numbers(OF_FILES[name](*tables)) == pytest.approx(first)
    assert numbers(OF_FILES[name](*numbered)) == pytest.approx(first)


RIGHT = 2 / 3  # of 400 records and 600: n/k
OFF = (2 / np.pi * RIGHT) ** 0.5
FIGURES: dict[str, dict[str, tuple[float | None, float | None]]] = {
    "distance": {"jensen_shannon_distance": (None, None)},
    "logit": {
        "pmse": (13 * 0.6 * 0.4**2 / 1000, None),  # 13 columns, Snoke et al. 2018
        "pmse_ratio": (1, None), "standardised_pmse": (None, None), "specks": (None, None),
    },
    "conditional": {"conditional_mean": (1, 0), "conditional_worst": (1, 0)},
    "regressions": {
        "regressions_beyond": (2 * norm.sf(1.96 / RIGHT**0.5), 0), "regressions_error": (OFF, 0),
        "regressions_overlap": (1 - OFF / 3.92, 1), "regressions_worst": (None, 0),
    },
    "equivalent sample": {"equivalent_sample": (0.6, 1), "k_marginal": (None, 1)},
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_the_marks_of_figures_are_those_of_theory(name: str) -> None:
    """What a correct model would have, the original itself, and how many records there are."""
    figures = COMPARISONS[name](awkward(1), [awkward(2, 600)], NAMES).figures
    by_key = {figure.key: (figure.chance, figure.original) for figure in figures}
    for key, marks in FIGURES[name].items():
        for mark, expected in zip(by_key.pop(key), marks, strict=True):
            assert mark == (expected if expected is None else pytest.approx(expected)), key
    assert not by_key
    assert {figure.n for figure in figures} == {1000}
