from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from synthesizer.report.charts import (
    WIDTH,
    Bar,
    DotRow,
    Panel,
    Series,
    bars,
    domain,
    dots,
    panels,
    roc,
)

NASTY = "<script>alert(\"x\")</script> & 'y'"


def _plain(picture: str) -> ElementTree.Element:
    """Return a picture as XML; it must be well formed, and nothing may come out of a label."""
    assert "<script" not in picture
    assert "style=" not in picture
    return ElementTree.fromstring(picture)


def test_marks_are_told_apart_by_shape() -> None:
    row = DotRow(label="a", value=0.5, low=0.4, high=0.6, baseline=0.1, original=1.0, others=[0.3])
    picture = _plain(dots([row], title="t", description="d", label="x", whole=True))
    tags = [element.tag for element in picture.iter()]
    assert tags.count("polygon") == 2  # the row and the legend
    assert tags.count("circle") == 1 + 1 + 1
    assert any(element.text == "0.500 (0.400 to 0.600)" for element in picture.iter())


def test_a_dot_stands_where_its_value_is() -> None:
    picture = dots(
        [DotRow(label="a", value=0.25)], title="t", description="d", label="x", whole=True
    )
    places = re.findall(r'<circle cx="([\d.]+)" cy="[\d.]+" r="5" class="fill-synthetic', picture)
    assert float(places[-1]) == pytest.approx(16 + 0.25 * (WIDTH - 32))


def test_the_axis_holds_every_number() -> None:
    assert domain([0.4, -0.2]) == pytest.approx((-0.23, 0.43))
    assert domain([-0.3]) == pytest.approx((-0.315, 0.0))
    assert domain([1e300]) == (0.0, 1.0)
    assert domain([-7.0], whole=True) == (-1.0, 1.0)
    assert domain([0.1], whole=True) == (0.0, 1.0)


def test_a_value_off_the_axis_is_an_arrow_at_its_end() -> None:
    picture = dots(
        [DotRow(label="a", value=3.0)], title="t", description="d", label="x", whole=True
    )
    assert f'<text x="{WIDTH - 16:.0f}"' in picture
    assert ">▶<" in picture
    assert ">3.000<" in picture


def test_zero_is_marked_where_it_is_hoped_for() -> None:
    row = [DotRow(label="a", value=0.1, low=-0.1, high=0.3)]
    marked = dots(row, title="t", description="d", label="x", zero=True)
    assert marked.count('class="line-ink"') == 1
    assert 'class="line-ink"' not in dots(row, title="t", description="d", label="x")


def test_labels_are_escaped_everywhere() -> None:
    _plain(dots([DotRow(label=NASTY, value=0.1)], title=NASTY, description=NASTY, label=NASTY))
    _plain(bars([Bar(label=NASTY, value=1, said=NASTY)], title=NASTY, description="", label=NASTY))
    panel = Panel(title=NASTY, subtitle=NASTY, series=[], levels=[(0.5, "line-original")])
    _plain(panels([panel], title=NASTY, description=NASTY, x_label=NASTY))
    _plain(roc([(NASTY, [(0.0, 1.0)])], title=NASTY, description=NASTY))


def test_panels_stand_two_a_row() -> None:
    series = Series(look="synthetic", points=[(1.0, 0.2), (2.0, 0.3)])
    panel = Panel(title="all", subtitle="zero", series=[series], levels=[(0.9, "line-original")])
    one, three = (
        _plain(panels([panel] * count, title="t", description="d", x_label="m")) for count in (2, 3)
    )
    heights = [float(picture.attrib["height"]) for picture in (one, three)]
    assert heights[1] - 26 == pytest.approx(2 * (heights[0] - 26))


def test_long_lines_have_no_dots() -> None:
    def drawn(count: int) -> str:
        points = [(float(m), 0.1) for m in range(1, count + 1)]
        series = Series(look="synthetic", points=points)
        panel = Panel(title="t", subtitle="", series=[series])
        return panels([panel], title="t", description="d", x_label="m")

    assert drawn(5).count("<circle") == 5
    assert drawn(41).count("<circle") == 0


def test_bars_have_lengths_in_proportion_and_none_for_what_is_missing() -> None:
    rows = [Bar(label=str(v), value=v, said="") for v in (10.0, 5.0, None, -3.0)]
    picture = bars(rows, title="t", description="d", label="n")
    widths = [float(w) for w in re.findall(r'<rect [^>]*width="([\d.]+)"', picture)]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.02)
    assert widths[2:] == [0.0, 0.0]
    assert "<rect" not in bars([], title="t", description="d", label="n")
