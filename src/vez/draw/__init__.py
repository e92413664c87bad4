"""Pictures: of traces, of threads and requests over time, and charts.

    trace      pictures of a trace: text, Mermaid, SVG, and an HTML page that plays it
    timeline   what threads did over time
    lanes      requests in threads, queues and clients over time
    chart      curves over two axes
    report     an HTML page with sentences, tables and pictures

Every picture of a trace takes the trace and the verdicts on it; broken properties are drawn in red, with their
evidence. Imports `vez.core` and `vez.judge`. May be imported by: study, servers, cli.
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
