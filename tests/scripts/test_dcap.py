"""The job that reproduces the tables of the DCAP paper, on a small file."""

import dcap
import numpy as np
import pandas as pd
import pytest
from measuring import JOBS

from synthesizer.data.errors import DataError
from synthesizer.measures.risk.cap import cap_regression

KEYS = ("area", "age", "sex", "tenure")
M = 3


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(5)
    n = 240
    age = rng.integers(16, 60, n)
    area = rng.choice(list("NESW"), n)
    frame = pd.DataFrame(
        {
            "job": np.where(age > 40, rng.choice(["a", "b"], n), rng.choice(["b", "c"], n)),
            "area": area,
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "tenure": np.where(area == "N", "rent", rng.choice(["rent", "own"], n)),
            "unused": rng.random(n),
        }
    )
    path = tmp_path_factory.mktemp("dcap") / "people.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def rows(file):
    made = JOBS["dcap.tables"].run(
        file=file, keys=",".join(KEYS), target="job", groups={"age": 20}, m=M, seed=3
    )
    return {(row.case, row.figure): row.value for row in made}


@pytest.fixture(scope="module")
def results(file):
    groups = {"age": 20}
    table = dcap.read({"path": str(file)}, KEYS, "job", groups)
    assert table.names == (*KEYS, "job")
    return {n: dcap.examine(table, o, groups, M, 1, 3) for n, o in dcap.METHODS.items()}


def test_the_tables_are_those_of_the_measures(rows, results):
    for name, item in results.items():
        for subset in dcap.SUBSETS:
            last = item.whole.row(M, subset)
            assert rows[f"table 1, {name}, m = {M}", f"{subset}, zero"] == last.zero
            assert rows[f"table 1, {name}, m = {M}", f"{subset}, undefined"] == last.undefined
            few = item.caps[3].row(M, subset)
            assert rows[f"table 5, {name}, 3 keys, {subset}", "zero"] == few.zero
        for line in cap_regression(item.whole):
            if line.line is not None:
                case = f"table 2, {name}, {line.subset}, {line.rule}"
                assert rows[case, "slope"] == line.line.slope


def test_table_4_is_consistent(rows):
    for m in range(1, M + 1):
        case = f"table 4, CART, m = {m}"
        assert rows[case, "difference"] == pytest.approx(
            rows[case, "mean_a"] - rows[case, "mean_b"]
        )
        assert rows[case, "mean of splits"] == rows[case, "difference"]
    # The file is noise given age and area: leaves of 5 remember it, parametric models do not.
    last = f"m = {M}"
    assert (
        rows[f"table 4, CART, {last}", "difference"]
        > rows[f"table 4, parametric, {last}", "difference"]
    )


def test_an_unknown_key_is_refused(file):
    with pytest.raises(DataError, match="'nowhere' is not in the data"):
        dcap.read({"path": str(file)}, ["nowhere"], "job", {})
