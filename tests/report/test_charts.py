"""Charts and the pieces that they are made of."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from synthesizer.report.charts import (
    WIDTH,
    Bar,
    DotRow,
    Panel,
    Scale,
    Series,
    axis_bottom,
    axis_left,
    bars,
    clipped,
    domain,
    dots,
    el,
    heat,
    legend,
    line,
    log_points,
    panels,
    roc,
    svg,
    text,
    text_width,
    tick,
    ticks,
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


def test_points_stand_at_their_logarithms() -> None:
    drawn = log_points(
        [(1, 1000), (100, 1)], title=NASTY, description=NASTY, x_label="x", y_label="y"
    )
    first, last = (
        {name: float(e.get(name, "")) for name in ("cx", "cy")}
        for e in _plain(drawn).iter()
        if e.tag == "circle"
    )
    assert (first["cx"], first["cy"]) == (80.0, 34.0)
    assert (last["cx"], last["cy"]) == (460.0, 294.0)
    assert [t for t in ("1", "10", "100", "1,000") if f">{t}</text>" not in drawn] == []


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
    _plain(
        bars([Bar(label=NASTY, value=1, end_text=NASTY)], title=NASTY, description="", label=NASTY)
    )
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
    assert heights[1] - 46 == pytest.approx(2 * (heights[0] - 46))  # a legend of two lines


def test_long_lines_have_no_dots() -> None:
    def drawn(count: int) -> str:
        points = [(float(m), 0.1) for m in range(1, count + 1)]
        series = Series(look="synthetic", points=points)
        panel = Panel(title="t", subtitle="", series=[series])
        return panels([panel], title="t", description="d", x_label="m")

    assert drawn(5).count("<circle") == 5
    assert drawn(41).count("<circle") == 0


def test_bars_have_lengths_in_proportion_and_none_for_what_is_missing() -> None:
    rows = [Bar(label=str(v), value=v, end_text="") for v in (10.0, 5.0, None, -3.0)]
    picture = bars(rows, title="t", description="d", label="n")
    widths = [float(w) for w in re.findall(r'<rect [^>]*width="([\d.]+)"', picture)]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.02)
    assert widths[2:] == [0.0, 0.0]
    assert "<rect" not in bars([], title="t", description="d", label="n")


def test_everything_is_escaped() -> None:
    picture = svg(10, 10, text(0, 0, NASTY), NASTY, title=NASTY, description=NASTY)
    assert "<script" not in picture
    assert picture.count("&lt;script&gt;") == 4
    assert "&#34;" in el("text", {"data-name": NASTY})


def test_markup_is_kept_and_attributes_written() -> None:
    found = el("g", {"x": 1.0, "y": 2.345, "class": None}, Markup("<b/>"))
    assert found == Markup('<g x="1" y="2.35"><b/></g>')
    assert el("rect", {"x": math.nan}) == Markup('<rect x="0"/>')
    assert line(0, 0, 1.5, 1, class_="grid", stroke_width=2).count("stroke-width") == 1


@pytest.mark.parametrize("name", ["style", "onclick", "onload"])
def test_what_the_policy_forbids_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' is forbidden"):
        el("g", {name: "x"})


def test_a_picture_has_a_name_and_a_description() -> None:
    picture = svg(700, 20, title="Ages", description="Shares by age.")
    assert 'role="img"' in picture
    assert "<title>Ages</title><desc>Shares by age.</desc>" in picture
    assert 'class="chart wide"' in picture
    assert 'class="chart"' in svg(480, 20, title="", description="")


def test_scale_and_its_middle() -> None:
    scale = Scale(domain=(0, 10), range=(100, 0))
    assert [scale(v) for v in (0, 5, 10)] == [100, 50, 0]
    assert Scale(domain=(3, 3), range=(0, 10))(3) == 5


@pytest.mark.parametrize(
    ("low", "high", "count", "found"),
    [
        (0, 1, 5, (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (0, 10, 2, (0, 5, 10)),
        (-1, 1, 2, (-1, 0, 1)),
        (1, 0, 2, (0, 0.5, 1)),
        (3, 3, 5, (3,)),
        (0.013, 0.0131, 2, (0.013, 0.01305, 0.0131)),
    ],
)
def test_ticks_are_round(low: float, high: float, count: int, found: tuple[float, ...]) -> None:
    assert ticks(low, high, count=count) == pytest.approx(found)


def test_ticks_of_no_numbers() -> None:
    assert ticks(math.nan, 1) == ()
    assert ticks(0, math.inf) == (0,)


def test_tick_words() -> None:
    assert [tick(v) for v in (0.25, -3.0, 1e6, 1e-6)] == ["0.25", "−3", "1,000,000", "1.0e−6"]


def test_axes_show_ticks_grid_and_label() -> None:
    scale = Scale(domain=(0, 1), range=(0, 100))
    bottom = axis_bottom(scale, 50, "share", count=2, grid=40)
    assert bottom.count('class="grid"') == 3
    assert ">share</text>" in bottom
    left = axis_left(Scale(domain=(0, 1), range=(100, 0)), 20, "share", count=2, grid=40)
    assert left.count('class="grid"') == 3
    assert 'class="grid"' not in axis_bottom(scale, 50) + axis_left(scale, 20)


def test_legend_has_boxes_and_lines() -> None:
    found = legend(0, 10, [("fill-original", "original"), ("line-baseline", "guessing")])
    assert found.count("<rect") == found.count("<line") == 1


def test_words_are_measured_and_clipped() -> None:
    assert text_width("年") > text_width("A") > text_width("a")
    assert clipped("a  b\nc", 10) == "a b c"
    assert clipped("abcdef", 3) == "ab…"


def test_heat_by_bounds() -> None:
    bounds = (1, 2, 3, 4, 5, 6, 7, 8, 9)
    assert [heat(v, bounds) for v in (0.5, 1, 1.1, 100)] == ["h0", "h0", "h1", "h8"]
