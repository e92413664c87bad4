"""The header of an algorithm: the labelled lines at the top of its file, as text."""

from __future__ import annotations

import inspect
import re
import sys

from vez.core.process import Process

_LABEL = re.compile(r"^(Idea|Source|Assumptions|Guarantees|Messages|Deviations): +", re.MULTILINE)


def header(algorithm: type[Process]) -> dict[str, str]:
    """The labelled lines of the file of an algorithm, each as one line of text. `Summary` is the text above them."""
    text = inspect.getdoc(sys.modules[algorithm.__module__]) or ""
    parts = _LABEL.split(text)
    found = {"Summary": " ".join(parts[0].split())}
    for label, body in zip(parts[1::2], parts[2::2], strict=True):
        found[label] = " ".join(body.split())
    return found
