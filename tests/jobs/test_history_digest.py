"""The digest by which a revision of published periods is seen."""

from __future__ import annotations

import numpy as np
import pytest

from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import Column, Kind, Variable
from synthesizer.jobs.manifest import history_digest

TIMES = np.arange(3.0)
FRAME = Frame(periods=Column(Variable(name="year", kind=Kind.NUMERIC), TIMES), times=TIMES)
CODES = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 1], [1, 1, 0]])
PAY = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, 6.0], [7.0, 8.0, 9.0], [-0.0, 1.0, 2.0]])


def digest(codes: np.ndarray, pay: np.ndarray, levels: tuple[str, ...] = ("a", "b")) -> str:
    """The digest of the first two periods; a missing number has the code gone."""
    index = PanelIndex.of_presence(np.ones_like(codes, dtype=bool), TIMES)
    job = Variable(name="job", kind=Kind.CATEGORICAL, levels=levels)
    amount = Variable(name="pay", kind=Kind.NUMERIC, missing=("gone",))
    values = pay.ravel()
    columns = [
        Column(job, codes.ravel().astype(np.int32)),
        Column(amount, values, np.isnan(values).astype(np.int8)),
    ]
    return history_digest(PanelTable(columns, index), FRAME, 2)


def test_names_and_orders_do_not_matter() -> None:
    same = digest(CODES, PAY)
    order = np.array([2, 0, 3, 1])
    assert digest(CODES[order], PAY[order]) == same
    assert digest(1 - CODES, PAY, ("b", "a")) == same
    later = PAY.copy()
    later[:, 2] += 1
    assert digest(CODES, later) == same
    assert digest(CODES, PAY + 0.0) == same


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(lambda codes, pay: (codes[:3], pay[:3]), id="a person is gone"),
        pytest.param(lambda codes, pay: (codes[:, [1, 0, 2]], pay), id="periods change places"),
        pytest.param(lambda codes, pay: (codes, pay[[1, 0, 2, 3]]), id="persons swap a variable"),
        pytest.param(lambda codes, pay: (codes, np.nan_to_num(pay)), id="a value for a code"),
    ],
)
def test_what_changes_it(changed) -> None:
    assert digest(*changed(CODES, PAY)) != digest(CODES, PAY)
