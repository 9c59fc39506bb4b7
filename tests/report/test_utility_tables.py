"""Reading the measures of tables."""

import pytest

from synthesizer.report.expected import by_ways, no_tables, pair_columns, table_rows
from synthesizer.report.untyped import Record
from tests.report.fixtures import NAMES, first_format, record


def test_rows_are_sorted_by_distance():
    rows = table_rows(record())
    values = [row.standardised for row in rows]
    assert values == sorted(values, reverse=True)
    assert rows[0].names == (NAMES[2], NAMES[3])
    assert len(by_ways(rows, 1)) == 4


def test_rows_without_value_are_last():
    own = record()
    own.checks["utility"]["tables"]["mean"][-1][5] = None
    assert table_rows(own)[-1].standardised is None


def test_first_format_is_read():
    rows = table_rows(first_format())
    assert len(rows) == 10
    assert rows[0].names == (NAMES[2], NAMES[3])
    assert pair_columns(rows) == ["S_pMSE", "SPECKS", "VW", "df"]
    assert "VW" not in pair_columns(table_rows(record()))


@pytest.mark.parametrize(
    "row",
    [["a:b:c", 2, 1.0], [7, 1, 1.0], ["a", 1], [None, 1, 1.0], ["a:b", 3, 1.0], "text", [[], 1, 1]],
)
def test_rows_that_are_not_whole_are_left_out(row):
    tables = {"columns": ["variables", "ways", "S_pMSE"], "mean": [row, ["x:y", 1, 2.0]]}
    (found,) = table_rows(Record({}, {"tables": tables}))
    assert found.names == ("x:y",)


def test_why_there_are_no_tables():
    assert "set checks.one_way to" in no_tables(Record({}, {}), "variables").why
    assert "set checks.two_way to" in no_tables(Record({}, {}), "pairs", pairs=True).why
    assert "no rows" in no_tables(Record({}, {"failed": {"tables": "no rows"}}), "pairs").why
    alone = Record({"chain": [{"variable": "id", "kind": "id"}, {"variable": "sex"}]}, {})
    told = no_tables(alone, "pairs", pairs=True).why
    assert told == "A pair needs two variables, and sex is the only one that is left."
    assert "checks.one_way" in no_tables(alone, "variables").why
    assert "no rows" in no_tables(record(failed={"tables": "no rows"}), "pairs").why
