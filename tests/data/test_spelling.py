"""A file that another program wrote anew is compared as if it were written like the original."""

import io

import numpy as np
import pandas as pd
import pytest

from synthesizer import check
from synthesizer.data.guessing import Declaration
from synthesizer.data.pairs import as_tables, written_otherwise
from synthesizer.data.sources import read_path
from synthesizer.data.table import Kind
from tests.tables import values_of


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
    ours, theirs = (pd.DataFrame({"x": texts * 6}, dtype=str) for texts in (original, other))
    table, (made,) = as_tables(ours, theirs, ["x"], {"x": Declaration(kind=Kind.CATEGORICAL)})
    assert values_of(made["x"])[: len(read)] == read
    assert written_otherwise(theirs, table) == (("x",) if read != other else ())


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
    asked = {"keys": ["job"], "target": "sick"}
    found, again = check(people, drawn, **asked), check(people, anew, **asked)
    pd.testing.assert_frame_equal(found.risk.to_frame(), again.risk.to_frame())
    pd.testing.assert_frame_equal(found.utility.to_frame(), again.utility.to_frame())
    notes = set(again.risk.notes) - set(found.risk.notes)
    assert any(note.startswith("job, pay, sick:") for note in notes)
