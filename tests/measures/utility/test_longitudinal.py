"""Careers, histories and new periods, against counting by hand."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import spearmanr
from scipy.stats.contingency import association

from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import Column, Kind, Variable
from synthesizer.measures.figure import Attempts
from synthesizer.measures.utility import sequences
from synthesizer.measures.utility.longitudinal import (
    CHANGING,
    SEQUENCE_RATIO,
    NewPeriods,
    NewPeriodsCounter,
    PanelCollector,
    changing_share,
    lag_association,
)
from synthesizer.measures.utility.sequences import (
    LINES,
    MEASURES,
    PERSONS_OF_A_LINE,
    career_lines,
    sequence_distances,
    sequence_distributions,
)
from tests.careers_by_hand import cells, distance
from tests.tables import coded, numeric, values_of

YEARS = np.arange(1990.0, 1995.0)
STATES = ("w", "x", "y", "z")


def frame(career: str | None = "state") -> Frame:
    year = Variable(name="year", kind=Kind.NUMERIC, decimals=0)
    return Frame(periods=Column(year, YEARS), times=YEARS, career=career)


def panel(n: int = 60, seed: int = 0, *, absent: bool = True) -> PanelTable:
    """States that stay mostly, a wage with a missing code, a constant."""
    rng = np.random.default_rng(seed)
    seen = rng.random((n, len(YEARS))) < (0.8 if absent else 2)
    seen[~seen.any(axis=1), 0] = True
    index = PanelIndex.of_presence(seen, YEARS)
    r = index.n_rows
    fresh = index.is_first | (rng.random(r) < 0.3)
    start = np.maximum.accumulate(np.where(fresh, np.arange(r), 0))
    wage = np.round(rng.normal(20, 5, n)[index.person] + rng.normal(0, 1, r))
    return PanelTable(
        [
            coded("state", rng.integers(0, 3, r)[start], STATES),
            numeric("wage", wage, (rng.random(r) < 0.1).astype(np.int8), missing=("-1",)),
            coded("sex", rng.integers(0, 2, n)[index.person], ("f", "m")),
            numeric("year", YEARS[index.period]),
        ],
        index,
    )


def collected(original: PanelTable, *datasets: PanelTable, career: str | None = "state"):
    attempts = Attempts()
    collector = PanelCollector(original, frame(career), 1, attempts=attempts)
    for drawn in datasets:
        collector.add(drawn)
    return collector.result()


def histories(table: PanelTable, name: str) -> list[list[str | None]]:
    """Return the labels of every person by period, None for absence."""
    careers: list[list[str | None]] = [[None] * len(YEARS) for _ in range(table.n_units)]
    entries = zip(table.index.person, table.index.period, values_of(table[name]), strict=True)
    for person, period, label in entries:
        careers[int(person)][int(period)] = label
    return careers


@pytest.mark.parametrize("measure", MEASURES)
def test_distances_are_those_counted_by_hand(measure: str) -> None:
    original, one, other = panel(), panel(50, 1), panel(70, 2)
    sequences = collected(original, one, other).sequences
    real = cells(measure, histories(original, "state"))
    expected = [distance(real, cells(measure, histories(s, "state"))) for s in (one, other)]
    assert [getattr(d, measure) for d in sequences.distances] == pytest.approx(expected)
    assert getattr(sequences.mean, measure) == pytest.approx(np.mean(expected))


def test_without_a_career_the_states_are_present_and_absent() -> None:
    original, drawn = panel(), panel(50, 1)
    sequences = collected(original, drawn, career=None).sequences
    assert set(sequences.states) == {"present", "(absent)"}
    careers = [
        [[None if s is None else "there" for s in career] for career in histories(t, "state")]
        for t in (original, drawn)
    ]
    for measure in ("headcounts", "spells", "entry"):
        expected = distance(*(cells(measure, side) for side in careers))
        assert getattr(sequences.mean, measure) == pytest.approx(expected)


def test_where_everybody_is_there_entry_and_exit_say_nothing() -> None:
    result = collected(panel(absent=False), panel(40, 1, absent=False)).sequences
    assert result.measures == MEASURES[:-2]
    assert (result.mean.entry, result.floor.exit, result.original.entry) == (None, None, None)
    assert "(absent)" not in result.states
    assert np.shape(result.original.headcounts) == (5, len(result.states))


def test_shares_of_the_shown_states() -> None:
    original, drawn = panel(), panel(50, 1)
    sequences = collected(original, drawn).sequences
    careers = histories(original, "state")
    labels = [None if state == "(absent)" else state for state in sequences.states]
    for t in range(len(YEARS)):
        here = Counter(career[t] for career in careers)
        expected = [here[label] / len(careers) for label in labels]
        assert sequences.original.headcounts[t] == pytest.approx(expected)
    lengths = sequences.original.spell_lengths
    for label, length in zip(labels, lengths, strict=True):
        spells = [n for state, n in cells("spells", careers) if state == label]
        assert length == pytest.approx(np.mean(spells))
    for share in (sequences.original, sequences.synthetic):
        for array in (share.transitions, share.n_moves, share.spells, share.first_last):
            assert np.sum(array) == pytest.approx(1)
        assert sum(share.entry) == pytest.approx(1)
    there = [[t for t, state in enumerate(career) if state is not None] for career in careers]
    for end, shares in ((0, sequences.original.entry), (-1, sequences.original.exit)):
        counts = Counter(periods[end] for periods in there)
        assert shares[:-1] == pytest.approx([counts[t] / 60 for t in range(5)])
    assert sequences.states[0] == Counter(s for c in careers for s in c if s).most_common(1)[0][0]


def test_a_bootstrap_of_the_persons_is_noise() -> None:
    original = panel(3_000)
    rng = np.random.default_rng(5)
    drawn = [original.take_units(rng.integers(3_000, size=3_000)) for _ in range(4)]
    sequences = collected(original, *drawn).sequences
    for measure in sequences.measures:
        assert 0.5 < sequences.ratio(measure) < 1.8, measure
    far = collected(original, panel(3_000, 9, absent=False)).sequences
    assert far.worst_ratio > 10
    same = collected(original, original).sequences
    assert same.worst_ratio == 0


def test_the_floor_of_few_bootstrapped_persons_has_the_right_size(monkeypatch) -> None:
    original = panel(4_000)
    whole = collected(original, original).sequences.floor
    small = collected(original, original.take_units(np.arange(1_000))).sequences.floor
    monkeypatch.setattr(sequences, "FLOOR_PERSONS", 1_000)
    part = collected(original, original).sequences
    assert part.floor_persons == 1_000
    for measure in ("headcounts", "transitions", "n_moves", "spells"):
        assert getattr(part.floor, measure) == pytest.approx(getattr(whole, measure), rel=0.35)
        assert getattr(small, measure) == pytest.approx(2 * getattr(whole, measure), rel=0.35)


def test_share_ever_changing_and_association_by_hand() -> None:
    table = panel(80, 3)
    for name in ("state", "wage", "sex"):
        column = table[name]
        values: dict[int, list[float]] = {}
        for row in range(table.n_rows):
            value = float(column.data[row])
            values.setdefault(int(table.index.person[row]), []).append(value)
        changes = []
        for series in values.values():
            keys = ["missing" if np.isnan(v) else v for v in series]
            changes.append(any(key != keys[0] for key in keys))
        assert changing_share(table.index, column) == pytest.approx(np.mean(changes))
        pairs = [p for series in values.values() for p in pairwise(series)]
        known = [pair for pair in pairs if not np.isnan(pair).any()]
        one, other = zip(*known, strict=True)
        if column.is_coded:
            counts = np.zeros((4, 4), dtype=int)
            for a, b in known:
                counts[int(a), int(b)] += 1
            counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
            expected = association(counts, method="cramer")
        else:
            expected = spearmanr(one, other).statistic
        assert lag_association(table.index, column) == pytest.approx(expected)


def test_no_association_where_no_person_has_two_rows_or_nothing_varies() -> None:
    once = PanelIndex.of_presence(np.eye(3, dtype=bool), YEARS[:3])
    for column in (coded("a", [0, 1, 0], STATES), numeric("b", [1, 2, 3])):
        assert lag_association(once, column) is None
        assert changing_share(once, column) == 0
    twice = PanelIndex.of_presence(np.ones((2, 2), dtype=bool), YEARS[:2])
    assert lag_association(twice, numeric("b", [1, 1, 1, 1])) is None
    assert lag_association(twice, coded("a", [0, 0, 0, 0], STATES)) is None


def test_figures_and_the_sample() -> None:
    result = collected(panel(), panel(50, 1))
    figures = {figure.name: figure for _, figure in result.figures}
    assert figures[SEQUENCE_RATIO.name].value == pytest.approx(result.sequences.worst_ratio)
    assert figures[CHANGING.name].value == pytest.approx(abs(result.worst[0].difference) / 100)
    assert (figures[SEQUENCE_RATIO.name].chance, figures[SEQUENCE_RATIO.name].n) == (1.0, 110)
    for row in result.sequences.rows:
        figure = figures[f"careers: {row.name.replace('_', ' ')}"]
        assert (figure.key, figure.value) == (f"careers_{row.name}", row.mean)
        assert figure.chance == row.floor == getattr(result.sequences.floor, row.name)
    assert {history.name for history in result.worst} == {"state", "wage"}
    sample, states = result.sequences.sample, result.sequences.states
    assert len(sample) == 40
    assert {code for career in sample for code in career} <= set(range(len(states)))


def test_what_fails_loses_nothing_else() -> None:
    original, drawn = panel(), panel(50, 1)
    other = coded("state", drawn["state"].data, "abcd")
    result = collected(original, drawn.with_column(other))
    assert result.sequences is None
    assert "other levels" in result.failed["careers"]
    assert len(result.variables) == 3
    assert collected(original) is None


def test_steps_that_no_original_person_makes_are_counted() -> None:
    index = PanelIndex.of_presence(np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 0]], dtype=bool), YEARS)
    one = PanelTable([coded("state", [0, 1, 1, 2, 2, 0], STATES)], index)  # w-x, y-w
    two = PanelTable([coded("state", [1, 0, 0, 2, 0, 3], STATES)], index)  # x-w, y-w, w-z
    result = collected(one, one, two)
    (row,) = result.variables
    assert row.new_synthetic == (0.0, pytest.approx(2 / 3))
    assert row.mean_new == pytest.approx(1 / 3)
    wage = next(row for row in collected(panel(), panel(seed=1)).variables if row.name == "wage")
    assert wage.mean_new is None


def test_careers_with_nothing_in_common_and_of_one_period() -> None:
    result = sequence_distances([[0, 0]], [[1, 2]], 3)
    assert result.headcounts == result.spells == result.first_last == result.n_moves == 1
    assert (result.changes, result.entry) == (1, None)
    result = sequence_distances([[0], [1]], [[0]], 2)
    assert (result.headcounts, result.transitions, result.changes) == (0.5, 0.0, 0.0)
    for wrong in (np.empty((0, 2), int), [[0, 3]], [[-1, 0]], [0, 1]):
        with pytest.raises(ValueError, match="sequences"):
            sequence_distributions(wrong, 3)


def test_a_line_of_careers_is_that_of_ten_persons_or_more() -> None:
    rng = np.random.default_rng(1)
    usual = np.repeat([[0, 0, 1], [1, 1, 1]], 50, axis=0)
    lone = np.array([[2, 3, 2]])  # a career that one person has
    lines = career_lines(rng.permutation(np.concatenate([usual, lone])))
    assert len(lines) == 101 // PERSONS_OF_A_LINE
    assert {tuple(line) for line in lines.tolist()} == {(0, 0, 1), (1, 1, 1)}
    assert career_lines(usual[:9]).shape == (0, 3)
    assert len(career_lines(np.repeat(usual, 100, axis=0))) == LINES


SINCE, ABSENT = 3, 3


def moving(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (n, 5))
    for t in range(1, 5):
        codes[:, t] = np.where(rng.random(n) < 0.3, rng.integers(0, 4, n), codes[:, t - 1])
    return codes


def panel_of(codes: np.ndarray) -> PanelTable:
    index = PanelIndex.of_presence(codes != ABSENT, YEARS)
    return PanelTable([coded("state", codes[index.person, index.period], STATES[:3])], index)


def new_periods(original: np.ndarray, *datasets: np.ndarray) -> NewPeriods:
    counter = NewPeriodsCounter(panel_of(original), frame(), SINCE, 1)
    for codes in datasets:
        counter.add(panel_of(codes))
    return counter.result()


def means_of(periods: NewPeriods) -> dict[str, float]:
    return {row.name: row.mean for row in periods.rows}


def slow_new_periods(original: np.ndarray, drawn: np.ndarray) -> dict[str, float]:
    real, synthetic = (
        [list(zip(codes[:, t - 1].tolist(), codes[:, t].tolist(), strict=True)) for t in (3, 4)]
        for codes in (original, drawn)
    )
    steps = 0.0
    for one, other in zip(real, synthetic, strict=True):
        for state, count in Counter(a for a, _ in other).items():
            first, second = ([b for a, b in pairs if a == state] for pairs in (one, other))
            steps += count / len(drawn) * (distance(first, second) if first else 1.0) / 2
    every = [[*pairs[0], *pairs[1]] for pairs in (real, synthetic)]
    return {
        "headcounts": np.mean(
            [distance(original[:, t].tolist(), drawn[:, t].tolist()) for t in (3, 4)]
        ),
        "transitions": distance(*every),
        "changes": distance(*([pair for pair in pairs if pair[0] != pair[1]] for pairs in every)),
        "steps": steps,
    }


def test_distances_of_new_periods_equal_slow_code() -> None:
    original, drawn = moving(60, 1), moving(50, 2)
    drawn[0] = [0, 0, 3, 3, 2]
    expected = slow_new_periods(original, drawn)
    assert means_of(new_periods(original, drawn)) == pytest.approx(expected)


def test_new_periods_at_both_ends() -> None:
    original = moving(1_500, 4)
    assert set(means_of(new_periods(original, original)).values()) == {0}
    never, apart = np.zeros_like(original), np.zeros_like(original)
    apart[:, SINCE:] = 1
    # of two new periods one is entered by a move, which no original person makes
    assert set(means_of(new_periods(never, apart)).values()) == {1.0}


def test_resampled_persons_are_at_the_noise_floor_and_periods_before_do_not_count() -> None:
    ratios, rng = [], np.random.default_rng(5)
    for seed in range(5):
        original = moving(1_500, seed)
        drawn = [original[rng.integers(1_500, size=1_500)] for _ in range(10)]
        for codes in drawn:
            codes[:, : SINCE - 1] = 0
        result = new_periods(original, *drawn)
        ratios.append([row.ratio for row in result.rows if row.ratio is not None])
    assert np.mean(ratios, axis=0) == pytest.approx(np.ones(len(ratios[0])), abs=0.12)
    assert [figure.key for figure in result.figures] == ["new_transitions", "new_steps"]
    assert (result.first, result.periods) == ("1993", 2)
