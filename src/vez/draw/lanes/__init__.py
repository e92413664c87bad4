"""Lanes: where requests are and when, a lane for each thread, queue or client; as SVG or as text."""

from vez.draw.lanes.lanes import Arrow, Lanes, Stay, Tone

__all__ = ["Arrow", "Lanes", "Stay", "Tone"]
