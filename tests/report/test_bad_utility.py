"""What counts as bad utility."""

import pytest

from synthesizer.report.decision import (
    bad_utility,
    is_bad_fit,
    lowest_overlap,
    overlap_marks,
)
from tests.report.utility_examples import (
    coefficient,
    fit,
    run,
    table,
    tables,
)


def alerts(record):
    notes = list(bad_utility(record))
    assert all(note.tone == "look" for note in notes)
    return [note.text for note in notes]


def test_a_larger_synthesis_is_not_bad_for_its_size():
    off = tables(table("age", s_pmse=25.0))
    assert any("worst variable" in text for text in alerts(run(tables=off)))
    assert alerts(run(tables=off, n_synthetic=(500, 500))) == []


def fitted(*overlaps, **changes):
    terms = [coefficient(f"c{i}", 0.1, overlap=overlap) for i, overlap in enumerate(overlaps)]
    return fit(coefficients=tuple(terms), **changes)


@pytest.mark.parametrize(
    ("overlaps", "bad"),
    [((0.9, 0.1), False), ((0.8, 0.22), False), ((0.7, 0.2), True), ((1.0, 1.0, 1.0, -0.1), True)],
)
def test_a_fit_is_bad_by_its_mean_or_by_one_coefficient(overlaps, bad):
    result = fitted(*overlaps)
    assert lowest_overlap(result) == (f"c{len(overlaps) - 1}", overlaps[-1])
    assert is_bad_fit(result) is bad
    assert any(text.startswith("Fit ") for text in alerts(run(fits=(result,)))) is bad


def test_a_small_synthesis_may_overlap_less():
    result = fitted(0.6, -0.2)
    assert is_bad_fit(result)
    small = [data.model_copy(update={"n": 10}) for data in result.datasets[1:]]
    assert not is_bad_fit(result.model_copy(update={"datasets": (result.datasets[0], *small)}))
    assert overlap_marks(0.5)[0] < 0.2
