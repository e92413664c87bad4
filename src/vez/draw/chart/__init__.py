"""Charts: curves over two axes, alone or as panels of one picture, as SVG or as text."""

from vez.draw.chart.chart import Axis, Chart, Mark, Panels, Series

__all__ = ["Axis", "Chart", "Mark", "Panels", "Series"]
