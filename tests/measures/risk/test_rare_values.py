import numpy as np
import pytest

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import Table
from synthesizer.measures.risk.rare_values import MIN_HOLDERS, RareValuesSeen, rare_values
from tests.tables import coded, numeric


def row(result, name):
    return next((row for row in result.variables if row.variable == name), None)


@pytest.mark.parametrize(("holders", "rare"), [(MIN_HOLDERS - 1, 1), (MIN_HOLDERS, 0)])
def test_a_level_of_few_that_occurs(holders, rare):
    original = Table([coded("job", [1] * holders + [0] * 20, "ab")])
    made = Table([coded("job", [0, 1], "ab")])
    variable = row(rare_values(original, made, keys=["job"]), "job")
    assert (0 if variable is None else variable.levels) == rare
    without = Table([coded("job", [0, 0], "ab")])
    assert rare_values(original, without, keys=["job"]).variables == ()
    # the level of the second dataset has another place among its labels
    other = Table([coded("job", [0, 1], "ba")])
    variable = row(rare_values(original, [without, other], keys=["job"]), "job")
    assert (0 if variable is None else variable.levels) == rare


@pytest.mark.parametrize(("holders", "rare"), [(MIN_HOLDERS - 1, 1), (MIN_HOLDERS, 0)])
def test_a_missing_code_of_few_that_occurs(holders, rare):
    states = np.repeat([0, 1, 2, 3], [20, holders, 20, 1])
    codes = ("-8", "-9", "")  # a blank gives no reason
    level = coded("job", np.where(states, states + 1, 0), "ab", codes)
    pay = numeric("pay", np.arange(len(states)), states, codes)
    original = Table([level, pay])
    made = Table([column.take(np.flatnonzero(states != 2)) for column in (level, pay)])
    result = rare_values(original, made, keys=["job", "pay"])
    assert result.figures[0].value == 2 * rare
    without = Table([column.take(states != 1) for column in (level, pay)])
    assert rare_values(original, without, keys=["job", "pay"]).figures[0].value == 0


def test_extremes_that_are_exactly_those_of_the_original():
    values = np.array([1.0] * 9 + [3, 5, 99])
    states = np.arange(12) == 10  # 5 is missing
    original = Table([numeric("pay", values, states, missing=("",))])
    expected = {
        (1.0, 50.0): (1, 0),
        (2.0, 99.0): (1, 1),
        (1.0, 99.0): (2, 1),
        (2.0, 98.0): None,
        (0.0, 100.0): None,
    }
    for ends, counts in expected.items():
        made = [Table([numeric("pay", [end, 10.0])]) for end in ends]
        result = rare_values(original, made, keys=["pay"])
        variable = row(result, "pay")
        assert (variable and (variable.extremes, variable.rare_extremes)) == counts
        assert variable is None or not (variable.levels or variable.names or variable.identifying)
    assert [figure.value for figure in result.figures] == [0, 0]
    assert "'" not in result.model_dump_json()


def test_of_a_panel_persons_count_each_once_for_a_level():
    """A level and a highest value of few persons in many rows are rare; of many in one row not."""
    jobs = np.zeros((12, MIN_HOLDERS), dtype=int)  # persons by periods
    jobs[: MIN_HOLDERS - 1] = 1
    jobs[-MIN_HOLDERS:, 0] = 2
    pay = np.where(np.arange(12) == 3, 9.0, np.where(np.arange(12) < 3, 5.0, 1.0)).repeat(
        MIN_HOLDERS
    )
    index = PanelIndex.of_presence(jobs >= 0, np.arange(float(MIN_HOLDERS)))
    original = PanelTable([coded("job", jobs.ravel(), "abc"), numeric("pay", pay)], index)
    made = Table([coded("job", [0, 1, 2], "abc"), numeric("pay", [1.0, 9.0, 9.0])])
    result = rare_values(original, made, keys=["job", "pay"])
    assert result.n == 12
    assert [(r.levels, r.extremes, r.rare_extremes) for r in result.variables] == [
        (1, 0, 0),
        (0, 2, 1),
    ]


def test_rare_levels_that_are_names_count_unless_they_are_public():
    towns = coded("town", [0] * 9 + [1, 2, 3], ["Rome", "Ely", "Bray", "Cork"])
    codes = coded("code", [0] * 11 + [1], ["1", "2"])
    original = Table([towns, codes])
    control = Table([coded("town", [0, 1, 1], ["Rome", "Cork"])])

    def names(**options):
        seen = RareValuesSeen(original, ["town", "code"], **options)
        seen.add(original)
        return {row.variable: (row.levels, row.names) for row in seen.result().variables}

    assert names() == {"town": (3, 3), "code": (1, 0)}
    assert names(public=["town"]) == {"town": (3, 0), "code": (1, 0)}
    assert names(control=control) == {"town": (3, 2), "code": (1, 0)}
