"""URLs of engines: selects the URL to use, and hides passwords."""

from __future__ import annotations

import os

from vez.errors import Misuse

DEFAULT_URL = "file:"
_PASSWORD = r"(?s)//([^:@/?#]*):.*@"  # noqa: S105  up to the last @: hides too much rather than too little
_SECRET = r"(?i)([?&][^=&#]*(?:pass|secret|token|key|auth|credential)[^=&#]*=)[^&#]*"  # noqa: S105


def which_url(url: str | None) -> str:
    """The URL of the argument, else of the variable `VEZ_URL`, else of the default engine."""
    if url is not None and not isinstance(url, str):
        raise Misuse(
            f"an engine URL is text, found {url!r:.60}", hint="for example file:, memory: or etcd://localhost:2379"
        )
    return url or os.environ.get("VEZ_URL") or DEFAULT_URL


def without_password(url: str) -> str:
    """The URL as it may be shown: passwords and secret options are replaced by stars."""
    if "@" not in url and "=" not in url:
        return url
    import re

    return re.sub(_SECRET, r"\1***", re.sub(_PASSWORD, r"//\1:***@", url))
