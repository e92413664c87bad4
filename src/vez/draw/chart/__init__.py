"""Charts: curves over two axes, as SVG or as text."""

from vez.draw.chart.chart import Axis, Chart, Mark, Series

__all__ = ["Axis", "Chart", "Mark", "Series"]
