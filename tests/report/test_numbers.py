"""How numbers are written."""

import math

import pytest

from synthesizer.report.blocks import written


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (None, "figure", "–"),
        (math.nan, "share", "–"),
        (-math.inf, "count", "–"),
        (True, "text", "yes"),
        (False, "figure", "no"),
        ("010", "figure", "010"),
        (0, "figure", "0"),
        (45.0, "figure", "45"),
        (0.12345, "figure", "0.1235"),
        (1.63451, "figure", "1.635"),
        (12.3456, "figure", "12.35"),
        (123.456, "figure", "123.5"),
        (1234.56, "figure", "1,235"),
        (0.00065, "figure", "0.00065"),
        (0.0000065, "figure", "6.5e−6"),
        (-0.25, "figure", "−0.2500"),
        (7634, "count", "7,634"),
        (0.5, "share", "0.500"),
        (0, "share", "0.000"),
        (1, "share", "1.000"),
        (0.000262, "share", "0.00026"),
        (-0.00000001, "share", "−1.0e−8"),
        (0.0009, "p", "<0.001"),
        (0.02, "p", "0.020"),
        (3.0, "text", "3"),
        (2.5, "text", "2.5"),
        (-0.2, "count", "0"),
    ],
)
def test_written(value, form, shown):
    assert written(value, form) == shown
