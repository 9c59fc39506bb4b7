import io

import numpy as np
import pandas as pd
import pytest

from synthesizer import check
from synthesizer.data.errors import DataError
from synthesizer.data.guessing import Declaration
from synthesizer.data.pairs import as_table, as_tables, missing_otherwise, written_otherwise
from synthesizer.data.sources import from_pandas, read_path
from synthesizer.data.table import Kind
from synthesizer.measures.risk.cap import cap
from tests.tables import persons, values_of

FRAME = pd.DataFrame(
    {
        "k": [1, 2, 2, 1],
        "t": ["x", "y", "x", "y"],
        "day": pd.to_datetime(["2020-01-01", "2021-01-01", "2020-01-01", "2020-05-01"]),
        "name": ["a", "b", "c", "d"],
    }
)


@pytest.mark.parametrize("types", ["float", "Int64", "str", {"t": "category", "k": "category"}])
def test_types_of_frames_do_not_matter(types):
    """The same values stored as other types are the same values, whichever file has them."""
    changed = FRAME.astype({"k": types} if isinstance(types, str) else types)
    for one, other in ((FRAME, changed), (changed, FRAME)):
        table, (made,) = as_tables(one, other, ["k", "t", "day", "name"])
        for name in FRAME:
            assert values_of(table[name]) == values_of(made[name])
        assert cap(one, other, keys=["k", "name"], target="t").row(1).zero == 1


def test_any_source_passes_and_only_named_columns_are_looked_at():
    table = persons(20)
    assert as_tables(table, [table, table], ["sex"]) == (table, (table, table))
    assert as_table(from_pandas(FRAME), ["t"]).names == ("t",)
    assert as_table(FRAME.assign(mixed=[1, "x", None, 2.5]), ["k", "nowhere"]).names == ("k",)
    _, (made,) = as_tables(FRAME, FRAME.assign(k=[1, np.nan, 2, 1]), ["k"])
    assert values_of(made["k"]) == ["1", "", "2", "1"]  # which pandas holds as floats
    table, (made,) = as_tables(FRAME, FRAME.iloc[::-1], ["name"])  # identifiers count as values
    assert table["name"].variable.kind is Kind.CATEGORICAL
    assert values_of(made["name"]) == ["d", "c", "b", "a"]
    numbered = pd.DataFrame({"person_id": range(100)})
    assert as_table(numbered, ["person_id"])["person_id"].variable.kind is Kind.NUMERIC
    declared = {"k": Declaration(kind=Kind.NUMERIC, missing=("2",)), "absent": Declaration()}
    assert as_table(FRAME, ["k"], declared)["k"].missing_state().tolist() == [0, 1, 1, 0]


def test_one_row_is_enough_and_none_is_not():
    table, (made,) = as_tables(FRAME, FRAME.iloc[:1], ["k"])
    assert (table.n_rows, made.n_rows) == (4, 1)
    for one, other in ((FRAME, FRAME.iloc[:0]), (FRAME.iloc[:0], FRAME)):
        with pytest.raises(DataError, match="no records"):
            as_tables(one, other, ["k"])


def test_all_problems_are_printed_with_their_dataset():
    numbers = pd.DataFrame({"pay": np.arange(40.0), "age": np.arange(40.0)})
    words = numbers.assign(pay=[f"secret {k}" for k in range(40)])
    words["age"] = words["pay"]
    with pytest.raises(DataError) as caught:
        as_tables(numbers, [numbers, words], ["pay", "age"])
    assert len(caught.value.problems) == 2
    assert all(problem.startswith("synthetic dataset 2") for problem in caught.value.problems)
    assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match="a pandas DataFrame is needed, not list"):
        as_table([1, 2], ["k"])


def test_categories_without_a_common_level_are_noted():
    codes = pd.DataFrame({"town": [f"0{k % 4}" for k in range(40)], "sex": ["f", "m"] * 20})
    other = codes.assign(town=[f"town {k % 4}" for k in range(40)])
    with pytest.raises(DataError, match="dataset 1: column 'town' has no level of the original"):
        as_tables(codes, other, ["town", "sex"])
    as_tables(codes, other.iloc[:5], ["town", "sex"])  # five records may well have other levels


NUMBERS = [*map(str, range(40)), *[""] * 20]
LEVELS = [*["a", "b"] * 20, *[""] * 20]


@pytest.mark.parametrize(
    ("original", "made_values", "codes"),
    [
        (NUMBERS, ["N" if text == "" else text for text in NUMBERS], ("", "N")),
        (["-8" if text == "" else text for text in NUMBERS], NUMBERS, ("-8", "")),
        (NUMBERS, ["-9" if text == "" else text for text in NUMBERS], ("", "-9")),
        (LEVELS, ["N" if text == "" else text for text in LEVELS], ("", "N")),
        (["N" if text == "" else text for text in LEVELS], LEVELS, ("N", "")),
        # the same codes, of which one file has few or more
        (NUMBERS, NUMBERS, None),
        (NUMBERS, [*NUMBERS[:45], *map(str, range(15))], None),
        # a file without missing values, and a level that is no missing code
        (NUMBERS, [*map(str, range(40))], None),
        (LEVELS, ["c" if text == "" else text for text in LEVELS], None),
        # too few to decide, and far more of one than of the other
        (LEVELS[:45], ["N" if text == "" else text for text in LEVELS[:45]], None),
        (["N" if text == "" else text for text in LEVELS], ["a"] * 10 + [""] * 50, None),
    ],
)
def test_missing_values_written_in_two_ways_are_listed(original, made_values, codes):
    one, other = pd.DataFrame({"pay": original}), pd.DataFrame({"pay": made_values})
    declared = {"pay": Declaration(missing=("-8", ""))} if "-8" in original else None
    table, (made,) = as_tables(one, other, ["pay"], declared)
    differing = missing_otherwise(table, made, ["pay", "absent"])
    assert differing == ({"pay": codes} if codes else {})


@pytest.mark.parametrize(
    ("original", "other", "read"),
    [
        (["1", "2", "3"], ["1.0", "2.", "+3"], ["1", "2", "3"]),
        (["01", "02", "11"], ["1", "2.0", "11"], ["01", "02", "11"]),
        (["true", "false"], ["TRUE", "False"], ["true", "false"]),
        (["-9", "a"], ["-9.0", "a"], ["-9", "a"]),
        (["1", "01", "a"], ["1.0", "1", "a"], ["1.0", "1", "a"]),  # 1.0 may be either
        (["1", "2", "a"], ["1", "3.0", "1.5"], ["1", "3.0", "1.5"]),  # no level has these values
        (["1", "1.0", "a"], ["1.0", "a", "1"], ["1.0", "a", "1"]),  # levels of the original
        (["a", "b", ""], ["b", "a", "NA"], ["b", "a", ""]),
        (["a", "b", "NA"], ["b", "a", ""], ["b", "a", "NA"]),
        (["a", "NA", ""], ["a", "NaN", "a"], ["a", "NaN", "a"]),  # NaN may be either
        (["a", "b", ""], ["", "a", "NA"], ["", "a", "NA"]),  # both files have the empty cell
    ],
)
def test_a_level_is_read_as_the_original_writes_it(original, other, read):
    frame, second = (pd.DataFrame({"x": texts * 6}, dtype=str) for texts in (original, other))
    table, (made,) = as_tables(frame, second, ["x"], {"x": Declaration(kind=Kind.CATEGORICAL)})
    assert values_of(made["x"])[: len(read)] == read
    assert written_otherwise(second, table) == (("x",) if read != other else ())


def test_a_file_that_pandas_wrote_has_the_figures_of_the_file_itself(tmp_path):
    rng = np.random.default_rng(5)
    rows = 300
    job = rng.choice(["01", "02", "03", "11", ""], rows)
    pay = np.where(rng.random(rows) < 0.1, "-8", rng.integers(100, 900, rows).astype(str))
    pay[::9] = ""
    sick = np.where(job == "01", "TRUE", rng.choice(["TRUE", "FALSE"], rows))
    people = pd.DataFrame({"job": job, "pay": pay, "sick": sick})
    drawn = people.sample(rows, replace=True, random_state=1)
    pd.read_csv(io.StringIO(drawn.to_csv(index=False))).to_csv(tmp_path / "anew.csv")
    anew = read_path(tmp_path / "anew.csv")  # its first column, the index, has no name
    assert anew.names == ("row_names", *people)
    assert not anew.texts[1].among(["01"]).any()
    options = {"keys": ["job"], "target": "sick"}
    results, again = check(people, drawn, **options), check(people, anew, **options)
    pd.testing.assert_frame_equal(results.risk.to_frame(), again.risk.to_frame())
    pd.testing.assert_frame_equal(results.utility.to_frame(), again.utility.to_frame())
    notes = set(again.risk.notes) - set(results.risk.notes)
    assert any(note.startswith("job, pay, sick:") for note in notes)
