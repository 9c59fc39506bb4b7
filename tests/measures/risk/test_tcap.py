from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.table import Table
from synthesizer.measures.risk.cap import cap_u
from synthesizer.measures.risk.tcap import tcap
from tests.measures.risk.slow_rows import rows, tables_to_compare
from tests.reference_data import KEYS, expected_values, load_reference, needs_reference
from tests.tables import coded


def slow_row(original, synthetic, keys, target, tau, order):
    """What a row of the result holds, by plain loops."""
    pool = {}
    for table in synthetic:
        for key, (value,) in zip(rows(table, keys), rows(table, [target]), strict=True):
            pool.setdefault(key, []).append(value)
    truth = [value for (value,) in rows(original, [target])]
    mode = max(order, key=lambda value: (truth.count(value), -order.index(value)))
    matched, pairs = 0, []
    for key, value in zip(rows(original, keys), truth, strict=True):
        found = Counter(pool.get(key, []))
        if not found:
            continue
        matched += 1
        top = max(found.values())
        if top / sum(found.values()) >= tau:
            pairs.append((min((v for v in found if found[v] == top), key=order.index), value))
    correct = sum(told == value for told, value in pairs)
    by_chance = [told == value for told, _ in pairs for _, value in pairs]
    return {
        "records": len(truth),
        "matched": matched,
        "attributed": len(pairs),
        "correct": correct,
        "guessed": sum(value == mode for _, value in pairs),
        "baseline": mean([truth.count(value) / len(truth) for _, value in pairs]),
        "chance": mean(by_chance),
        "tcap": correct / len(pairs) if pairs else None,
        "of_matched": correct / matched if matched else None,
        "of_records": correct / len(truth),
        "guess": mean([value == mode for _, value in pairs]),
    }


def mean(values):
    return pytest.approx(np.mean(values), rel=1e-12) if values else None


def assert_row(row, expected):
    assert {name: getattr(row, name) for name in expected} == expected


TARGETS = {"t": ["x", "y", "z", "N", "w", ""], "u": [-2.0, -1.0, 0.0, 0.5, 1.0, 3.0, "N", ""]}


@settings(max_examples=30, deadline=None)
@given(
    tables_to_compare(two_levels=True),
    st.sampled_from([0.3, 0.5, 0.6, 0.75, 1.0]),
    st.sampled_from(["t", "u"]),
)
def test_equals_slow_counting(data, tau, target):
    original, synthetic = data
    result = tcap(original, synthetic, keys=["a", "b"], target=target, tau=tau)
    assert [row.m for row in result.synthetic] == list(range(1, len(synthetic) + 1))
    for m, row in enumerate(result.synthetic, start=1):
        assert_row(row, slow_row(original, synthetic[:m], ["a", "b"], target, tau, TARGETS[target]))
    last, released = result.synthetic[-1], result.original
    assert_row(released, slow_row(original, [original], ["a", "b"], target, tau, TARGETS[target]))
    attributed, matched = result.figures
    assert (attributed.key, attributed.value, attributed.n) == ("tcap", last.tcap, last.attributed)
    assert (attributed.baseline, attributed.chance) == (last.baseline, last.chance)
    assert attributed.original == released.tcap
    assert (matched.key, matched.value, matched.n) == (
        "tcap_of_matched", last.of_matched, last.matched,
    )  # fmt: skip
    # An attacker who guesses attributes no more records than the one who looks them up.
    if last.attributed:
        share = last.attributed / last.matched
        assert matched.chance == pytest.approx(last.chance * share, rel=1e-12)
    else:
        assert matched.chance is None
    assert matched.original == released.of_matched


def test_tau_is_reached_exactly():
    made = Table([coded("k", [0] * 10, "ab"), coded("t", [0] * 7 + [1] * 3, "xy")])
    original = made.take(np.array([0, 9]))
    for tau, attributed in ((0.7, 2), (0.71, 0)):
        row = tcap(original, made, keys=["k"], target="t", tau=tau).synthetic[0]
        assert (row.attributed, row.correct) == (attributed, attributed // 2)


def test_cap_u_counts_uniques_with_non_matches_as_zero():
    original = Table([coded("k", [0, 0, 1, 2], "abc"), coded("t", [0, 1, 1, 0], "xy")])
    first = Table([coded("k", [1, 1], "abc"), coded("t", [1, 0], "xy")])
    second = Table([coded("k", [2], "abc"), coded("t", [0], "xy")])
    result = cap_u(original, [first, second], keys=["k"], target="t")
    assert [row.zero for row in result.synthetic] == [0.25, 0.75]
    assert (result.uniques, result.value, result.baseline) == (2, 0.75, 0.5)
    (figure,) = result.figures
    assert (figure.value, figure.original, figure.n, figure.baseline) == (0.75, 1.0, 2, 0.5)
    assert cap_u(original, original, keys=["k"], target="t").value == 1.0


@needs_reference
@pytest.mark.parametrize("name", ["cart", "parametric"])
def test_equals_the_reference(name):
    original = load_reference("original.csv")
    expected = expected_values()[name]
    made = load_reference(f"synthetic_{name}.csv")
    result = tcap(original, made, keys=KEYS, target="EDU")
    row = result.synthetic[0]
    assert 100 * row.of_matched == pytest.approx(expected["caps"]["TCAP"], abs=1e-6)
    assert 100 * row.of_records == pytest.approx(expected["attrib"]["DiSCO"], abs=1e-6)
    assert 100 * row.attributed / row.records == pytest.approx(expected["attrib"]["DiS"], abs=1e-6)
    assert 100 * row.matched / row.records == pytest.approx(expected["attrib"]["iS"], abs=1e-6)
    assert 100 * result.original.of_records == pytest.approx(expected["attrib"]["Dorig"], abs=1e-6)
