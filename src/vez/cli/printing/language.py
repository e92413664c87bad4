"""The language of texts for people: `VEZ_LANG=pt` for Portuguese. Names of options, files and JSON stay English."""

from __future__ import annotations

import os
import re

from vez.judge.words import Language

VARIABLE = "VEZ_LANG"


def language() -> Language:
    """The language by `VEZ_LANG`: `pt`, `pt_BR.UTF-8` and similar values are Portuguese; any other value, or none, is
    English."""
    value = os.environ.get(VARIABLE, "").lower()
    return "pt" if re.split(r"[_.-]", value)[0] == "pt" else "en"


def in_words(english: str, portuguese: str) -> str:
    """The text in the current language."""
    return portuguese if language() == "pt" else english
