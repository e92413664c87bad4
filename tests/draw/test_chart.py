"""Charts: places, ticks, and what comes out as SVG and as text."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal
from xml.etree import ElementTree

import pytest

from vez.draw.chart.chart import Axis, Chart, Mark, Scale, Series, places
from vez.draw.chart.svg import svg
from vez.draw.chart.text import text
from vez.errors import Misuse

Kind = Literal["linear", "log"]
SVG = "{http://www.w3.org/2000/svg}"


def chart(*series: Series, x: Kind = "linear", y: Kind = "linear", marks: tuple[Mark, ...] = ()) -> Chart:
    return Chart("A <chart> & more", Axis("x & <x>", x), Axis("y", y), series, marks)


def test_a_linear_axis_goes_from_end_to_end_with_round_ticks() -> None:
    scale = Scale(Axis("x"), [0, 10])
    assert (scale.place(0), scale.place(5), scale.place(10)) == (0, 0.5, 1)
    assert [tick.label for tick in scale.ticks()] == ["0", "2", "4", "6", "8", "10"]
    assert [tick.label for tick in Scale(Axis("x"), [0.001, 0.0042]).ticks()][:3] == ["0", "0.001", "0.002"]


def test_a_logarithmic_axis_takes_what_no_float_can_hold() -> None:
    tiny = Fraction(1, 10**500)
    assert float(tiny) == 0
    scale = Scale(Axis("p", "log"), [tiny, Fraction(1)])
    assert scale.place(tiny) == pytest.approx(0)
    assert scale.place(Fraction(1, 10**250)) == pytest.approx(0.5)
    assert scale.place(0) is None
    assert scale.ticks()[0].label == "1e-500"


def test_a_short_logarithmic_axis_has_fine_ticks() -> None:
    assert [tick.label for tick in Scale(Axis("n", "log"), [4, 256]).ticks()] == ["5", "10", "20", "50", "100", "200"]


def test_equal_values_and_no_values() -> None:
    assert Scale(Axis("x"), [3, 3]).place(3) == 0.5
    assert Scale(Axis("x", "log"), [3]).place(3) == 0.5
    with pytest.raises(Misuse, match="nothing to draw"):
        Scale(Axis("x", "log"), [0])
    with pytest.raises(Misuse, match="not finite"):
        Scale(Axis("x"), [float("nan"), 1.0])


def test_steps_keep_the_value_and_holes_break_the_line() -> None:
    x, y = Scale(Axis("x"), [0, 2]), Scale(Axis("y", "log"), [1, 100])
    assert places(Series("s", ((0, 1), (2, 100)), "steps"), x, y) == [[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]]
    assert places(Series("s", ((0, 1), (1, 0), (2, 100))), x, y) == [[(0.0, 0.0)], [(1.0, 1.0)]]


def test_svg_is_xml_with_escaped_words_inside_its_frame() -> None:
    one, other = Series("<script>", ((0, 0), (1, 5))), Series("b", ((0, 3), (1, 2)), "points")
    drawn = svg(chart(one, other, marks=(Mark(0.9, "here & now"),)))
    root = ElementTree.fromstring(drawn)  # noqa: S314 - our own words
    assert "<script>" not in drawn
    words = [element.text for element in root.iter(f"{SVG}text")]
    assert {"A <chart> & more", "x & <x>", "<script>", "b", "here & now"} <= set(words)
    width, height = int(root.get("width", "")), int(root.get("height", ""))
    dots = [(float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in root.iter(f"{SVG}circle")]
    assert len(dots) == 5  # four places and the sign of the legend
    assert all(0 < x < width and 0 < y < height for x, y in dots)
    assert len(list(root.iter(f"{SVG}polyline"))) == 1


def test_text_puts_a_rising_line_from_corner_to_corner() -> None:
    lines = text(chart(Series("a", ((0, 0), (10, 10)))), columns=40, rows=8).splitlines()
    rows = lines[2:10]
    assert rows[0].endswith("●")
    assert rows[-1].split("┤")[1].startswith("●")
    columns = [row.index("●") for row in rows]
    assert columns == sorted(columns, reverse=True)
    assert all(len(line) <= 52 and line == line.rstrip() for line in lines)


def test_text_names_several_series_and_marks() -> None:
    drawn = text(chart(Series("a", ((1, 1), (9, 2))), Series("b", ((1, 2), (9, 1))), marks=(Mark(5, "middle"),)))
    assert "● a   × b" in drawn
    assert "┊ middle" in drawn
