"""Every result of utility is written to a file and read back as it was."""

import json

import numpy as np
import pytest

from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.figure import Attempts, Result, plain, typed
from synthesizer.measures.utility.combining import combine
from synthesizer.measures.utility.compare_fit import compare_fit
from synthesizer.measures.utility.distributions import distributions, pair_tables
from synthesizer.measures.utility.longitudinal import PanelCollector
from synthesizer.measures.utility.propensity import pmse
from synthesizer.measures.utility.tables import jensen_shannon, table_utility
from tests.measures.cells import odd_cells
from tests.tables import coded, numeric, persons

ORIGINAL, MADE = persons(90), [persons(80, 1), persons(70, 2)]
CONSTANT = Table([coded("a", [0] * 9, "x"), numeric("b", [0] * 9, [1] * 9, missing=("",))])


def panel(n: int, seed: int) -> PanelTable:
    years = np.arange(2000.0, 2004.0)
    rng = np.random.default_rng(seed)
    index = PanelIndex.of_presence(rng.random((n, 4)) < 0.9, years)
    state = coded("state", rng.integers(0, 3, index.n_rows), "abc")
    return PanelTable([state, numeric("year", years[index.period])], index)


def careers() -> Result:
    year = Variable(name="year", kind=Kind.NUMERIC, decimals=0)
    times = np.arange(2000.0, 2004.0)
    frame = Frame(periods=Column(year, times), times=times, career="state")
    collector = PanelCollector(panel(40, 0), frame, np.random.default_rng(1), attempts=Attempts())
    for seed in (1, 2):
        collector.add(panel(30, seed))
    result = collector.result()
    assert result is not None
    return result


RESULTS = {
    "tables": lambda: table_utility(ORIGINAL, MADE, ways=(1, 2, 3)).result(),
    "tables of constants": lambda: table_utility(CONSTANT, CONSTANT).result(),
    "distribution of levels": lambda: distributions(ORIGINAL, MADE)[0],
    "distribution of numbers": lambda: distributions(ORIGINAL, MADE)[3],
    "distribution of nothing": lambda: distributions(CONSTANT, CONSTANT)[1],
    "pair": lambda: pair_tables(ORIGINAL, MADE, pairs=[("sex", "age")])[0],
    "distance": lambda: jensen_shannon(ORIGINAL, MADE),
    "logit": lambda: pmse(ORIGINAL, MADE, interactions=2),
    "logit of constants": lambda: pmse(CONSTANT, CONSTANT),
    "trees": lambda: pmse(ORIGINAL, MADE, model="cart", permutations=2, seed=1),
    "normal intervals": lambda: combine([1.0], [0.5], n=100, k=100),
    "endless intervals": lambda: combine([1.0, 1.0 + 1e-9], [1e300, 1e300], rule="partially"),
    "adjusted intervals": lambda: combine([1.0, 1.2], [0.5, 0.5], rule="fully", n=1, k=2),
    "fit": lambda: compare_fit(ORIGINAL, MADE, "age ~ sex + marital"),
    "partial fit": lambda: compare_fit(ORIGINAL, [ORIGINAL] * 2, "age ~ sex", rule="partially"),
    "panel": careers,
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_read_as_it_was_written(name: str) -> None:
    if "fit" in name:
        pytest.importorskip("statsmodels")
    result = RESULTS[name]()
    again = typed(type(result), json.loads(json.dumps(plain(result), allow_nan=False)))
    assert again == result
    assert again.model_dump() == result.model_dump()
    assert odd_cells(result) == set()


def test_a_wide_file_holds_names_of_columns_once() -> None:
    tables = table_utility(ORIGINAL, MADE).result()
    content = plain(tables)["rows"]
    assert set(content) == {"columns", "rows"}
    assert content["columns"][:2] == ["variables", "ways"]
    assert [row[0] for row in content["rows"]] == [list(row.variables) for row in tables.rows]
