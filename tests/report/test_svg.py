"""The pieces of charts."""

import math

import pytest
from markupsafe import Markup

from synthesizer.report.charts import (
    Scale,
    axis_bottom,
    axis_left,
    clipped,
    el,
    heat,
    legend,
    line,
    svg,
    text,
    text_width,
    tick,
    ticks,
)

EVIL = "</svg><script>alert('x')</script>\""


def test_everything_is_escaped():
    picture = svg(10, 10, text(0, 0, EVIL), EVIL, title=EVIL, description=EVIL)
    assert "<script" not in picture
    assert picture.count("&lt;script&gt;") == 4
    assert "&#34;" in el("text", {"data-name": EVIL})


def test_markup_is_kept_and_attributes_written():
    found = el("g", {"x": 1.0, "y": 2.345, "class": None}, Markup("<b/>"))
    assert found == Markup('<g x="1" y="2.35"><b/></g>')
    assert el("rect", {"x": math.nan}) == Markup('<rect x="0"/>')
    assert line(0, 0, 1.5, 1, class_="grid", stroke_width=2).count("stroke-width") == 1


@pytest.mark.parametrize("name", ["style", "onclick", "onload"])
def test_what_the_policy_forbids_is_refused(name):
    with pytest.raises(ValueError, match=f"'{name}' is forbidden"):
        el("g", {name: "x"})


def test_a_picture_has_a_name_and_a_description():
    picture = svg(700, 20, title="Ages", description="Shares by age.")
    assert 'role="img"' in picture
    assert "<title>Ages</title><desc>Shares by age.</desc>" in picture
    assert 'class="chart wide"' in picture
    assert 'class="chart"' in svg(480, 20, title="", description="")


def test_scale_and_its_middle():
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
def test_ticks_are_round(low, high, count, found):
    assert ticks(low, high, count=count) == pytest.approx(found)


def test_ticks_of_no_numbers():
    assert ticks(math.nan, 1) == ()
    assert ticks(0, math.inf) == (0,)


def test_tick_words():
    assert [tick(v) for v in (0.25, -3.0, 1e6, 1e-6)] == ["0.25", "−3", "1,000,000", "1.0e−6"]


def test_axes_show_ticks_grid_and_label():
    scale = Scale(domain=(0, 1), range=(0, 100))
    bottom = axis_bottom(scale, 50, "share", count=2, grid=40)
    assert bottom.count('class="grid"') == 3
    assert ">share</text>" in bottom
    left = axis_left(Scale(domain=(0, 1), range=(100, 0)), 20, "share", count=2, grid=40)
    assert left.count('class="grid"') == 3
    assert 'class="grid"' not in axis_bottom(scale, 50) + axis_left(scale, 20)


def test_legend_has_boxes_and_lines():
    found = legend(0, 10, [("fill-original", "original"), ("line-baseline", "guessing")])
    assert found.count("<rect") == found.count("<line") == 1


def test_words_are_measured_and_clipped():
    assert text_width("年") > text_width("A") > text_width("a")
    assert clipped("a  b\nc", 10) == "a b c"
    assert clipped("abcdef", 3) == "ab…"


def test_heat_by_bounds():
    bounds = (1, 2, 3, 4, 5, 6, 7, 8, 9)
    assert [heat(v, bounds) for v in (0.5, 1, 1.1, 100)] == ["h0", "h0", "h1", "h8"]
