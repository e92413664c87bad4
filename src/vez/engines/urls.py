"""URLs of engines: which one is meant, and how to show it without its password."""

from __future__ import annotations

import os
import re

DEFAULT_URL = "file:"
_PASSWORD = re.compile(r"//([^:@/?#]*):.*@", re.DOTALL)  # up to the last @: too much is hidden rather than too little
_SECRET = re.compile(r"([?&][^=&#]*(?:pass|secret|token|key|auth|credential)[^=&#]*=)[^&#]*", re.IGNORECASE)


def which_url(url: str | None) -> str:
    """The URL of the argument, of `VEZ_URL`, or the default engine's."""
    return url or os.environ.get("VEZ_URL") or DEFAULT_URL


def without_password(url: str) -> str:
    """The URL as it may be shown: passwords and secret options are replaced by stars."""
    return _SECRET.sub(r"\1***", _PASSWORD.sub(r"//\1:***@", url))
