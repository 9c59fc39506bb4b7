"""What should be known of the files of an assessment before its figures are read."""

from __future__ import annotations

import numpy as np

from synthesizer.assessment_inputs import Files, Request
from synthesizer.data.codes import ColumnCoder, JointCoder
from synthesizer.errors import DataError
from synthesizer.risk.replicated import replicated_uniques
from synthesizer.risk.suite import unfamiliar
from synthesizer.risk.uniques import key_counts

__all__ = ["control_notes", "unit_notes", "unlike_notes"]

SAME_PEOPLE = 0.5
"""Share of the control records found in the original above which there is no control."""


def control_notes(files: Files) -> list[str]:
    """Say that control records seem to be those of the original.

    A fresh record equals a unique one about as often as records have exactly one twin (Good and
    Turing's estimate); far more often is no chance. Where most are there, it is no control.
    """
    if files.control is None or not len(files.original):
        return []
    (counts,) = replicated_uniques(files.original, files.control).datasets
    twins = float((key_counts(files.original, files.original.names) == 2).mean())
    expected = twins * counts.n
    if counts.replicated <= 2 * expected + 5 * (expected + 1) ** 0.5:
        return []
    found = int((JointCoder(files.original, files.original.names).encode(files.control) >= 0).sum())
    told = (
        f"{found:,} of {counts.n:,} control records are in the original too, alike in every "
        "variable: a control must hold other people, or it shows no risk"
    )
    if found > SAME_PEOPLE * counts.n:
        raise DataError(told)
    return [told]


def unit_notes(files: Files, request: Request) -> list[str]:
    """Say that persons are named alike in the original and in the control."""
    name = request.units
    if name is None or files.control is None:
        return []
    coder = ColumnCoder.fit(files.original[name])
    column = files.control[name]
    both = np.unique(coder.encode(column)[column.is_observed])
    count = int((both >= 0).sum())
    if not count:
        return []
    return [
        f"{count:,} values of {name!r} are in the original and in the control: if they are the "
        "same persons, take them out of the control; they count as two"
    ]


def unlike_notes(files: Files) -> list[str]:
    """Say that categories are written differently: whole records then never agree."""
    coded = [column.name for column in files.original.columns if column.is_coded]
    return [
        f"{share:.0%} of the synthetic records have a value of {name!r} that the original lacks: "
        "check that both files write it alike"
        for name, share in unfamiliar(files.original, files.synthetic, coded).items()
    ]
