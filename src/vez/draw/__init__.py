"""Pictures of a trace."""

from vez.core.trace import Trace


def text(trace: Trace, verdicts=(), *, width=None, color=False):
    return "\n".join(map(str, trace.events))


FORMATS = {"text": text, "mermaid": text, "svg": text, "html": text}
