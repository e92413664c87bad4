"""Pictures of a trace: text for a terminal, Mermaid for documents, SVG, and an HTML page that plays it.

Every format takes a trace and the verdicts on it; what is broken is drawn in red, with its evidence.
Imports `vez.core` and `vez.properties` only.
"""

from collections.abc import Callable

from vez.draw.trace.html import html
from vez.draw.trace.mermaid import mermaid
from vez.draw.trace.svg import svg
from vez.draw.trace.text import text

FORMATS: dict[str, Callable[..., str]] = {"text": text, "mermaid": mermaid, "svg": svg, "html": html}

__all__ = ["FORMATS", "html", "mermaid", "svg", "text"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
