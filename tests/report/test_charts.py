"""Charts and the pieces that they are made of."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from synthesizer.report.charts import (
    Bar,
    DotRow,
    Panel,
    bars,
    dots,
    el,
    panels,
    roc,
    ticks,
)

NASTY = "<script>alert(\"x\")</script> & 'y'"


def _plain(picture: str) -> ElementTree.Element:
    """Return a picture as XML; it must be well formed, and nothing may come out of a label."""
    assert "<script" not in picture
    assert "style=" not in picture
    return ElementTree.fromstring(picture)


def test_labels_are_escaped_everywhere() -> None:
    _plain(dots([DotRow(label=NASTY, value=0.1)], title=NASTY, description=NASTY, label=NASTY))
    _plain(
        bars([Bar(label=NASTY, value=1, end_text=NASTY)], title=NASTY, description="", label=NASTY)
    )
    panel = Panel(title=NASTY, subtitle=NASTY, series=[], levels=[(0.5, "line-original")])
    _plain(panels([panel], title=NASTY, description=NASTY, x_label=NASTY))
    _plain(roc([(NASTY, [(0.0, 1.0)])], title=NASTY, description=NASTY))


def test_bars_have_lengths_in_proportion_and_none_for_what_is_missing() -> None:
    rows = [Bar(label=str(v), value=v, end_text="") for v in (10.0, 5.0, None, -3.0)]
    picture = bars(rows, title="t", description="d", label="n")
    widths = [float(w) for w in re.findall(r'<rect [^>]*width="([\d.]+)"', picture)]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.02)
    assert widths[2:] == [0.0, 0.0]
    assert "<rect" not in bars([], title="t", description="d", label="n")


@pytest.mark.parametrize("name", ["style", "onclick", "onload"])
def test_what_the_policy_forbids_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' is forbidden"):
        el("g", {name: "x"})


@pytest.mark.parametrize(
    ("low", "high", "count", "expected"),
    [
        (0, 1, 5, (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (0, 10, 2, (0, 5, 10)),
        (-1, 1, 2, (-1, 0, 1)),
        (1, 0, 2, (0, 0.5, 1)),
        (3, 3, 5, (3,)),
        (0.013, 0.0131, 2, (0.013, 0.01305, 0.0131)),
    ],
)
def test_ticks_are_round(low: float, high: float, count: int, expected: tuple[float, ...]) -> None:
    assert ticks(low, high, count=count) == pytest.approx(expected)
