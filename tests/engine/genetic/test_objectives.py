"""Objectives equal the measures of the package, and slow counting, on random files."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.engine.genetic.scores import RISKS, UTILITIES
from synthesizer.measures.risk import attribute, cap, cap_u, identity, replicated_uniques
from synthesizer.measures.utility import jensen_shannon
from tests.engine.genetic.slow_scores import Slow, coding_of, files, names, sought_of, value_of


def varied(table, target):
    return len(np.unique(table[f"v{target}"].data)) > 1


@settings(max_examples=100, deadline=None)
@given(files())
def test_risks_equal_slow_counting(case):
    original, (made,), keys, target = case
    sought, slow = sought_of(original, keys, target), Slow(original, made, keys, target)
    records = sought.coding.encode(made)
    for name in RISKS:
        found = value_of(RISKS[name](sought), records)
        assert found == pytest.approx(getattr(slow, name), abs=1e-12, nan_ok=True), name
        assert not found < 0, name
        assert not found > 1, name


@settings(max_examples=100, deadline=None)
@given(files())
def test_utilities_equal_slow_counting(case):
    original, (made,), keys, target = case
    sought, slow = sought_of(original, keys, target), Slow(original, made, keys, target)
    for name in UTILITIES:
        found = value_of(UTILITIES[name](sought), sought.coding.encode(made))
        # squares: near 0 the root makes rounding of 1e-16 one of 1e-8
        if name == "full_table":
            assert found**2 == pytest.approx(getattr(slow, name) ** 2, abs=1e-13)
        assert found == pytest.approx(getattr(slow, name), abs=1e-7), name
        assert 0 <= found <= 1


@settings(max_examples=80, deadline=None)
@given(files())
def test_objectives_equal_the_measures_of_the_package(case):
    original, (made,), keys, target = case
    sought = sought_of(original, keys, target)
    records, known = sought.coding.encode(made), names(keys)
    (told,) = names([target])
    found = {name: value_of(RISKS[name](sought), records) for name in RISKS}
    unique = replicated_uniques(original, made).datasets[0].replicated
    assert found["replicated_uniques"] == pytest.approx(unique / made.n_rows, abs=1e-12)
    repu = identity(original, made, keys=known).mean.repu
    assert found["repu"] == pytest.approx(repu, abs=1e-12)
    distance = jensen_shannon(original, made).mean
    assert value_of(UTILITIES["full_table"](sought), records) == pytest.approx(distance, abs=1e-7)
    if not varied(original, target):
        return  # the measures of targets refuse a target that everybody knows
    row = cap(original, [made], keys=known, target=told).row(1)
    assert found["cap"] == pytest.approx(row.zero, abs=1e-12)
    disco = attribute(original, made, keys=known, target=told).mean.disco
    assert found["disco"] == pytest.approx(disco, abs=1e-12)
    of_uniques = cap_u(original, made, keys=known, target=told).value
    assert (of_uniques is None) == bool(np.isnan(found["cap_u"]))
    if of_uniques is not None:
        assert found["cap_u"] == pytest.approx(of_uniques, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(files())
def test_baselines_equal_those_of_the_package(case):
    original, (made,), keys, target = case
    sought = sought_of(original, keys, target)
    risks = {name: RISKS[name](sought) for name in RISKS}
    for name in ("disco", "repu", "replicated_uniques"):
        assert risks[name].baseline is None
    if not varied(original, target):
        return
    result = cap(original, [made], keys=names(keys), target=f"v{target}")
    assert risks["cap"].baseline == pytest.approx(result.baseline["all"], abs=1e-12)
    of_uniques = cap_u(original, made, keys=names(keys), target=f"v{target}").baseline
    assert risks["cap_u"].baseline == (
        None if of_uniques is None else pytest.approx(of_uniques, abs=1e-12)
    )


@settings(max_examples=60, deadline=None)
@given(files(), st.sampled_from([*RISKS]))
def test_cells_that_carry_risk_are_those_whose_loss_lowers_it(case, name):
    """A candidate without the records in them has no risk; one without the others as much."""
    original, (made,), keys, target = case
    risk = RISKS[name](sought_of(original, keys, target))
    if risk.undefined:
        return
    records = coding_of(original).encode(made)
    counts = [margin.count(records) for margin in risk.margins]
    carries = np.append(risk.carriers(counts), False)[risk.carrier.of(records)]
    assert (carries.sum() > 0) == (risk.value(counts, len(records)) > 0)
    rest = records[~carries]
    if len(rest):
        left = [margin.count(rest) for margin in risk.margins]
        assert risk.value(left, len(rest)) == 0
