from itertools import combinations

import numpy as np
import pytest

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.figure import plain
from synthesizer.measures.utility.cells import group_pair
from synthesizer.measures.utility.distributions import (
    distributions,
    pair_tables,
)
from tests.tables import coded, numeric, persons


def one(original, *synthetic, **options):
    """Return the distribution of a single column."""
    tables = [Table([column]) for column in synthetic]
    (distribution,) = distributions(Table([original]), tables, **options)
    return distribution


def share(distribution, label, side="original"):
    shares = distribution.original if side == "original" else distribution.synthetic[side]
    return shares[distribution.labels.index(label)]


def test_shares_of_all_variables_add_up_and_are_plain_values():
    original = persons(300)
    parts = distributions(original, [persons(200, 1), persons(90, 2)])
    assert [part.variable for part in parts] == ["sex", "age", "marital", "income"]
    for part in parts:
        for shares in (part.original, *part.synthetic):
            assert sum(shares) == pytest.approx(1)
            assert len(shares) == len(part.labels) == len(part.missing)
        cells = len(part.missing) - sum(part.missing)
        assert part.edges is None or len(part.edges) == cells + 1
    assert parts[3].labels[-2:] == ("(empty)", "-8")
    assert parts[3].missing[-3:] == (False, True, True)
    assert share(parts[3], "(empty)") == np.mean(original["income"].states == 1)


EMPTY = numeric("x", [0, 0], [1, 1], missing=("",))
BORN = Variable(name="x", kind=Kind.DATE)
# The original's column and those of synthetic datasets; labels, edges, and shares of each dataset.
SHOWN = {
    "new levels before the others, matched by label": (
        coded("x", [0, 0, 1, 2, 3], "abc", missing=("-9",)),
        [coded("x", [0, 1, 2, 3], ["-9", "q"], missing=("c", "?"))],
        ("a", "b", "new levels", "other levels", "-9", "new missing codes"), None,
        [(0.0, 0.0, 0.25, 0.25, 0.25, 0.25)],
    ),
    "new missing codes of numbers": (
        numeric("x", [1, 2, 0], [0, 0, 1], missing=("",)),
        [numeric("x", [1, 0, 0, 0], [0, 1, 2, 2], missing=("", "-8"))],
        ("1", "2", "(empty)", "new missing codes"), (1.0, 2.0, 3.0),
        [(0.25, 0.0, 0.25, 0.5)],
    ),
    "nothing observed": (
        EMPTY, [EMPTY, numeric("x", [4, 5])], ("all values", "(empty)"), None,
        [(0.0, 1.0), (1.0, 0.0)],
    ),
    "a constant": (
        numeric("x", [3.5], decimals=1), [numeric("x", [3.5], decimals=1)], ("3.5",), (3.5, 4.5),
        [(1.0,)],
    ),
    "no common level": (
        coded("x", [0], "a"), [coded("x", [0], "b")], ("a", "new levels"), None, [(0.0, 1.0)]
    ),
    "dates": (
        Column(BORN, np.arange(17000.0, 17003)), [Column(BORN, np.array([17001.0]))],
        ("2016-07-18", "2016-07-19", "2016-07-20"), (17000.0, 17001.0, 17002.0, 17003.0),
        [(0.0, 1.0, 0.0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_labels_edges_and_shares_by_hand(name):
    original, made, labels, edges, synthetic = SHOWN[name]
    part = one(original, *made, cells=2 if "matched" in name else 20)
    assert (part.labels, part.edges, list(part.synthetic)) == (labels, edges, synthetic)
    codes = sum("code" in label or label in ("(empty)", "-9") for label in labels)
    assert part.missing == (False,) * (len(labels) - codes) + (True,) * codes
    assert part.others == (1 if "other levels" in labels else 0)
    assert sum(part.original) == pytest.approx(1)
    nothing = set(plain(part.summary.original).values()) == {None} if part.summary else False
    assert nothing == (name == "nothing observed")


def crossed(pairs, shown):
    """Count a cross table of two grouped variables on both sides, by the labels shown."""
    named = [tuple(label or "(empty)" for label in pair.labels) for pair in pairs]
    at = np.ix_(*([names.index(x) for x in axis] for names, axis in zip(named, shown, strict=True)))
    for side in ("original", "synthetic"):
        counts = np.zeros([pair.size for pair in pairs])
        np.add.at(counts, tuple(getattr(pair, side) for pair in pairs), 1)
        yield counts[at]


def test_counts_equal_those_of_grouped_pairs():
    original, made = persons(500), [persons(300, 1), persons(200, 2)]
    pairs = list(combinations(original.names, 2))
    tables = pair_tables(original, made, pairs=pairs)
    assert [table.variables for table in tables] == pairs
    for table in tables:
        theirs = []
        for data in made:
            grouped = [
                group_pair(original[name], data[name], quantiles_of="original")
                for name in table.variables
            ]
            expected, counts = crossed(grouped, (table.rows, table.columns))
            np.testing.assert_array_equal(np.array(table.original), expected)
            theirs.append(counts)
        np.testing.assert_allclose(np.array(table.synthetic), np.mean(theirs, axis=0))
        assert np.sum(table.original) == 500
        assert np.sum(table.synthetic) == 250


def test_levels_are_capped_and_new_ones_shown_only_where_they_occur():
    letters = "abcdefghijklmnopqrstuvwxyz"
    codes = np.repeat(np.arange(26), np.arange(1, 27))
    sex = np.arange(len(codes)) % 2
    original = Table([coded("x", codes, letters), coded("sex", sex, "fm")])
    plain = pair_tables(original, original, pairs=[("x", "sex")])[0]
    assert plain.rows == (*"zyxwvutsrqpo", "other levels")
    assert set(plain.columns) == {"m", "f"}
    assert sum(plain.original[-1]) == sum(range(1, 15))
    made = Table([coded("x", [0, 1], ["?", "z"]), coded("sex", [0, 1], "mf", missing=("-1",))])
    table = pair_tables(original, made, pairs=[("x", "sex")], most_levels=1)[0]
    assert table.rows == ("z", "new levels", "other levels")
    assert np.sum(table.synthetic, axis=1).tolist() == [1, 1, 0]
