"""How numbers are written."""

import math

import pytest

from synthesizer.report.blocks import written


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (None, "figure", "–"),
        (math.nan, "share", "–"),
        (True, "text", "yes"),
        ("010", "figure", "010"),
        (45.0, "figure", "45"),
        (1.63451, "figure", "1.635"),
        (1234.56, "figure", "1,235"),
        (0.0000065, "figure", "6.5e−6"),
        (-0.25, "figure", "−0.2500"),
        (0, "share", "0.000"),
        (0.000262, "share", "0.00026"),
        (0.0009, "p", "<0.001"),
        (2.5, "text", "2.5"),
        (-0.2, "count", "0"),
    ],
)
def test_written(value, form, shown):
    assert written(value, form) == shown
