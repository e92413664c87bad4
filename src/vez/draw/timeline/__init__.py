"""Timelines of threads: a lane for each thread, with its actions and printed lines.

timeline          the timeline as a value
text, svg, html   the timeline as text, SVG and an HTML page
"""

from collections.abc import Callable

from vez.draw.timeline.html import html
from vez.draw.timeline.svg import svg
from vez.draw.timeline.text import text
from vez.draw.timeline.timeline import Bar, Timeline

FORMATS: dict[str, Callable[[Timeline], str]] = {"text": text, "svg": svg, "html": html}

__all__ = ["FORMATS", "Bar", "Timeline", "html", "svg", "text"]
