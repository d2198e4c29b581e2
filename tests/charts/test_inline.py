"""Charts inside a page: scales, ticks, marks at per cents."""

import math
import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from noisewise.charts.svg import HEIGHT, SHAPES, Plane, Point, Scale, bar_row, interval_row, scale_of

LIST = st.lists(st.floats(-1e9, 1e9).map(lambda value: round(value, 6)), min_size=1, max_size=8)


def as_number(text):
    return float(text.replace("−", "-").replace(",", ""))


@given(LIST, st.integers(3, 8))
def test_linear_ticks_are_few_round_inside_and_say_where_they_are(values, most):
    scale = scale_of(values)
    ticks = scale.ticks(most)
    assert 1 <= len(ticks) <= most + 1
    assert len({tick.text for tick in ticks}) == len(ticks)
    for tick in ticks:
        value = as_number(tick.text)
        assert scale.low - 1e-9 * abs(scale.low) <= value <= scale.high + 1e-9 * abs(scale.high)
        assert math.isclose(scale.place(value), tick.place, abs_tol=0.02)
    for value in values:
        assert 0.0 < scale.place(value) < 100.0


def test_a_row_stands_at_per_cents_of_its_cell():
    scale = Scale(0.0, 10.0)
    row = ET.fromstring(interval_row(scale, scale.ticks(), "may", (2.0, 5.0, 9.0), 7.0))
    bar = next(part for part in row.iter("line") if part.get("class") == "bar may")
    assert (bar.get("x1"), bar.get("x2")) == ("20.0%", "90.0%")
    assert row.find("svg").get("x") == "50.0%"
    assert [part.get("x1") for part in row.iter("line") if part.get("class") == "edge"] == ["70.0%"]
    assert set(SHAPES) == {"recommended", "enough", "may", "out", "uncertain"}
    assert ET.fromstring(bar_row(scale, [], "may", 2.5)).find("rect").get("width") == "25.0%"


def test_what_lies_outside_of_a_plane_stands_at_its_edge():
    plane = Plane(Scale(0.0, 4.0), Scale(-8.0, 8.0), 'says "so"', ("x", "y"))
    plane.points([Point(1.0, 900.0, "odd", "far <out>"), Point(2.0, 0.0, "")])
    drawn = ET.fromstring(plane.drawn())
    (title,) = drawn.iter("title")
    assert title.text == "far <out>"
    (circle,) = drawn.iter("circle")
    assert (circle.get("cx"), float(circle.get("cy"))) == ("50.0%", HEIGHT / 2)
    assert drawn.get("aria-label") == 'says "so"'


def test_steps_keep_a_value_until_the_next_comes():
    plane = Plane(Scale(0.0, 10.0), Scale(0.0, 1.0), "steps", ("x", "y"))
    plane.steps([(0.0, 1.0), (5.0, 0.5), (10.0, 0.0)])
    (path,) = (part for part in ET.fromstring(plane.drawn()).iter("path") if part.get("class") == "line")
    assert path.get("d") == "M0 0H500V120H1000V240"
