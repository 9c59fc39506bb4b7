"""One record more or less moves no table by more than 1, and no score by more than 1.

Results are replayed, so that both files get the same questions. Broken controls must be found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from synthesizer.extensions.private.accounting import Accountant
from synthesizer.extensions.private.adaptive import synthesise
from synthesizer.extensions.private.measuring import Confidential
from synthesizer.extensions.private.noise import SCORE_DISTANCE, in_thousandths
from synthesizer.extensions.private.public_domain import Grid, PublicVariable
from tests.extensions.private.small_private import (
    RecordingNoise,
    ReplayedNoise,
    plain_sizes,
    records,
)
from tests.tables import coded, numeric

SIZES = (3, 4, 2, 7, 5)
Movement = tuple[float, float]


def movement(codes: Any, neighbour: Any, seed: int) -> Movement:
    """Return the largest sum of moved counts in a table, and the most that a score moved."""
    recording = RecordingNoise(seed)
    synthesise(codes, plain_sizes(SIZES), Accountant(0.3), recording)
    again = ReplayedNoise(recording.recorded)
    synthesise(neighbour, plain_sizes(SIZES), Accountant(0.3), again)
    assert len(recording.exact) == len(again.exact) > len(SIZES)
    tables = [
        np.abs(np.subtract(a, b)).sum() for a, b in zip(recording.exact, again.exact, strict=True)
    ]
    scores = [np.abs(a - b).max() for a, b in zip(recording.scores, again.scores, strict=True)]
    return float(max(tables)), float(max(scores))


def neighbours(seed: int) -> tuple[Any, Any]:
    """Return a file and the same with one record more, at any place."""
    rng = np.random.default_rng(seed)
    codes = records(seed, 60, SIZES)
    added = [rng.integers(0, size) for size in SIZES]
    return codes, np.insert(codes, rng.integers(0, 61), added, axis=0)


@pytest.mark.parametrize("seed", range(40))
def test_a_record_moves_tables_and_scores_by_at_most_1(seed: int) -> None:
    smaller, larger = neighbours(seed)
    for first, second in ((smaller, larger), (larger, smaller)):
        tables, scores = movement(first, second, seed)
        assert tables <= 1
        assert scores <= SCORE_DISTANCE


def _twice(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, clique: original(self, clique) * (2 if len(clique) == 2 else 1)


def test_the_audit_finds_pairs_that_count_records_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Confidential, "_table", _twice(Confidential._table))
    tables, scores = movement(*neighbours(1), 1)
    assert tables > 1
    assert scores > SCORE_DISTANCE


def test_the_audit_finds_scores_that_are_scaled_by_the_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = "synthesizer.extensions.private.measuring.in_thousandths"
    monkeypatch.setattr(module, lambda scores: in_thousandths(scores * 3))
    assert movement(*neighbours(2), 2)[1] > SCORE_DISTANCE


VALUES: list[PublicVariable] = [
    PublicVariable(name="a", levels=("x", "y"), missing=("",)),
    PublicVariable(name="n", levels=(), missing=("-8",), grid=Grid.of([0, 50], 0, 5)),
]


def encoded(rows: list[tuple[str, float]]) -> list[tuple[int, int]]:
    """Return the codes of records, some of which are beyond the domain."""
    labels = ("x", "y", "rare", "")
    column = coded("a", [labels.index(label) for label, _ in rows], labels[:3], ("",))
    numbers = numeric("n", [number for _, number in rows], missing=("-8", "?"))
    first, second = VALUES[0].encode(column), VALUES[1].encode(numbers)
    return [*zip(first.tolist(), second.tolist(), strict=True)]


def test_a_record_is_encoded_by_itself() -> None:
    rows = [("x", 3.0), ("rare", 900.0), ("", -5.0), ("y", float("nan"))]
    whole = encoded(rows)
    assert whole == [row for one in rows for row in encoded([one])]
    # a level that is not declared counts as the first missing code, numbers move to the range
    assert whole[1:3] == [(2, 4), (2, 0)]
    assert VALUES[1].encode(numeric("n", [1.0])).tolist() == [0]
