"""Charts: curves over two axes, alone or as panels of one picture.

chart       the chart as a value, and the scales of its axes
svg, text   the chart as SVG and as text
"""

from vez.draw.chart.chart import Axis, Chart, Mark, Panels, Series

__all__ = ["Axis", "Chart", "Mark", "Panels", "Series"]
