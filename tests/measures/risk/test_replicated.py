import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.errors import DataError
from synthesizer.data.sources import from_pandas
from synthesizer.data.table import Table
from synthesizer.measures.figure import plain
from synthesizer.measures.risk.replicated import replicated_rows, replicated_uniques
from tests.reference_data import REFERENCE, load_reference, needs_reference
from tests.tables import coded, numeric


@st.composite
def two_tables(draw):
    def one(n):
        pick = lambda values: draw(st.lists(values, min_size=n, max_size=n))  # noqa: E731
        states = pick(st.integers(0, 1))
        return Table(
            [
                coded("a", pick(st.integers(0, 2)), "xy", ("N",)),
                numeric("b", pick(st.sampled_from([-1.0, 0.0, 2.5])), states, ("",)),
                numeric("id", np.arange(n, dtype=float)),
            ]
        )

    return one(draw(st.integers(1, 15))), one(draw(st.integers(1, 15)))


def rows(table):
    values = np.where(table["b"].missing_state() > 0, 99.0, table["b"].data)
    return list(zip(table["a"].data.tolist(), values.tolist(), strict=True))


@settings(max_examples=60, deadline=None)
@given(two_tables())
def test_equals_slow_counting(data):
    original, made = data
    ours, theirs = Counter(rows(original)), Counter(rows(made))
    result = replicated_uniques(original, [made, original], exclude=["id"])
    counts = result.datasets[0]
    assert result.keys == ("a", "b")
    assert result.uniques == sum(count == 1 for count in ours.values())
    assert counts.uniques == sum(count == 1 for count in theirs.values())
    present = [theirs[row] == 1 and row in ours for row in rows(made)]
    unique = [theirs[row] == 1 and ours[row] == 1 for row in rows(made)]
    found = replicated_rows(original, made, exclude=["id"])[0]
    assert found.present.tolist() == present
    assert found.replicated.tolist() == unique
    assert (counts.present, counts.replicated) == (sum(present), sum(unique))
    own = result.datasets[1]
    assert own.uniques == own.present == own.replicated == result.uniques


def test_nothing_in_common():
    original, made = (Table([numeric("b", values)]) for values in ([1.0, 2.0], [3.0, 3.0, 4.0]))
    counts = replicated_uniques(original, made).datasets[0]
    assert plain(counts) == {"n": 3, "uniques": 1, "present": 0, "replicated": 0}


def test_frames_tables_and_files_give_the_same():
    frame = pd.DataFrame({"sex": ["f", "m", "m"], "age": [30, 50, 50], "weight": [1.5, 2.5, 3.5]})
    made = pd.DataFrame({"sex": ["m", "f", "f"], "age": [50, 30, 31], "weight": [2.5, 1.5, 1.5]})
    table = Table(
        [
            coded("sex", [0, 1, 1], "fm"),
            numeric("age", [30.0, 50.0, 50.0]),
            numeric("weight", [1.5, 2.5, 3.5]),
        ]
    )
    results = [
        replicated_uniques(frame, made),
        replicated_uniques(from_pandas(frame), made),
        replicated_uniques(table, made),
    ]
    assert [plain(result) for result in results[1:]] == [plain(results[0])] * 2
    assert plain(results[0].datasets[0]) == {"n": 3, "uniques": 3, "present": 2, "replicated": 2}
    less = replicated_uniques(frame, made, keys=["sex", "age"])
    assert plain(less.datasets[0]) == {"n": 3, "uniques": 3, "present": 2, "replicated": 1}
    grouped = replicated_uniques(frame, made, exclude=["weight"], groups={"age": [40.0]})
    assert plain(grouped.datasets[0]) == {"n": 3, "uniques": 1, "present": 1, "replicated": 0}


def test_figures_and_plain_values():
    table = Table([coded("a", [0, 1, 1], "xy")])
    result = replicated_uniques(table, [table, Table([coded("a", [0, 1], "xy")])])
    figure = result.figures[0]
    assert figure.value == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert (figure.original, figure.n) == (1 / 3, 5)
    assert json.loads(json.dumps(plain(result), allow_nan=False))["uniques"] == 1


def test_wrong_variables_are_told():
    table = Table([coded("a", [0, 1], "xy")])
    with pytest.raises(DataError, match="exclude names 'b'"):
        replicated_uniques(table, table, exclude=["b"])
    with pytest.raises(DataError, match="no keys"):
        replicated_uniques(table, table, exclude=["a"])
    with pytest.raises(DataError, match="not in synthetic dataset 1"):
        replicated_uniques(table, Table([coded("c", [0, 1], "xy")]))


@needs_reference
@pytest.mark.parametrize("method", ["cart", "parametric"])
def test_equals_the_reference(method):
    original, made = load_reference("original.csv"), load_reference(f"synthetic_{method}.csv")
    expected = json.loads((REFERENCE / "expected.json").read_text())[method]["repuniq"]
    result = replicated_uniques(original, [made, made])
    rows_of = replicated_rows(original, [made, made])
    for counts, chosen in zip(result.datasets, rows_of, strict=True):
        present, unique = chosen.present, chosen.replicated
        if method == "parametric":
            # R compares rows as printed: incomes up to 6 digits never equal those padded to 7.
            comparable = ~made["PINCP"].is_observed
            assert (counts.present, counts.replicated) == (66, 40)
            present, unique = present & comparable, unique & comparable
        found = [result.uniques, counts.uniques, int(present.sum()), int(unique.sum())]
        assert found == [count for count, _, _ in expected]
        shares = [100 * count / 7634 for count in found]
        assert shares == pytest.approx([share for _, _, share in expected], abs=0.005)


@needs_reference
def test_numbers_of_five_datasets():
    original = load_reference("original.csv")
    made = [load_reference(f"synthetic_cart_{i}.csv") for i in range(1, 6)]
    result = replicated_uniques(original, made)
    for counts, table in zip(result.datasets, made, strict=True):
        assert counts == replicated_uniques(original, table).datasets[0]
    assert result.uniques == 7176
