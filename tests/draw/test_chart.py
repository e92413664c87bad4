"""Charts: places, ticks, and the output as SVG and as text."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal
from xml.etree import ElementTree

import pytest

from vez.draw.chart.chart import Axis, Chart, Mark, Panels, Scale, Series, places
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


def test_zero_has_a_place_of_its_own_where_the_axis_names_one() -> None:
    scale = Scale(Axis("rate", "log", low=0.01, high=100, zero="none"), [0, 3])
    assert scale.place(0) == 0
    assert 0 < (scale.place(0.01) or 0) < (scale.place(3) or 0) < (scale.place(100) or 0) == 1
    assert [tick.label for tick in scale.ticks()] == ["none", "0.01", "0.1", "1", "10", "100"]
    assert Scale(Axis("x", low=0, high=60), [5, 20]).place(60) == 1


def test_whole_numbers_have_whole_ticks() -> None:
    assert [tick.label for tick in Scale(Axis("m"), [3, 5]).ticks()] == ["3", "4", "5"]


def test_panels_share_one_legend_and_keep_their_places() -> None:
    series = (Series("left", ((0, 1), (2, 3)), notes=("first", "second")), Series("right", ((0, 3), (2, 1))))
    charts = tuple(Chart(f"panel {number}", Axis("x"), Axis("y"), series) for number in range(4))
    panels = Panels("All & every", charts)
    root = ElementTree.fromstring(svg(panels))  # noqa: S314 - our own words
    words = [element.text for element in root.iter(f"{SVG}text")]
    assert [words.count(word) for word in ("All & every", "panel 3", "left", "right")] == [1, 1, 1, 1]
    assert sum(element.text == "second" for element in root.iter(f"{SVG}title")) == 4
    frames = {(frame.get("x"), frame.get("y")) for frame in root.iter(f"{SVG}rect") if frame.get("class") == "frame"}
    assert len(frames) == 4
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    for frame in root.iter(f"{SVG}rect"):
        assert float(frame.get("x", 0)) + float(frame.get("width", "")) <= width
        assert float(frame.get("y", 0)) + float(frame.get("height", "")) <= height
    lines = text(panels, columns=50).splitlines()
    assert lines[0] == "All & every"
    assert [line for line in lines if line.startswith("panel")] == [f"panel {number}" for number in range(4)]
    assert max(map(len, lines)) <= 62
