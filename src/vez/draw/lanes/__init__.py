"""Lanes: the stays of requests over time, with a lane for each thread, queue or client.

lanes       the picture as a value
svg, text   the picture as SVG and as text
"""

from vez.draw.lanes.lanes import Arrow, Lanes, Stay, Tone

__all__ = ["Arrow", "Lanes", "Stay", "Tone"]
