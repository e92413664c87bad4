"""The language of what people read: `VEZ_LANG=pt` for Portuguese. Names of options, files and JSON stay English."""

from __future__ import annotations

import os
import re

from vez.words import Language

VARIABLE = "VEZ_LANG"


def language() -> Language:
    """What `VEZ_LANG` says: `pt`, `pt_BR.UTF-8` and the like are Portuguese; anything else, and nothing, is English."""
    value = os.environ.get(VARIABLE, "").lower()
    return "pt" if re.split(r"[_.-]", value)[0] == "pt" else "en"


def in_words(english: str, portuguese: str) -> str:
    """One of two texts, by the language."""
    return portuguese if language() == "pt" else english
