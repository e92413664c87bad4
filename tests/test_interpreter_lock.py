"""The list of code that depends on the interpreter's lock: it names existing files, and every file that uses
threads."""

from __future__ import annotations

import re
from pathlib import Path

import vez

SOURCE = Path(vez.__file__).parent
RECORD = (SOURCE.parent.parent / "docs/decisions/interpreter-lock.md").read_text(encoding="utf-8")
NAMED = {name.removeprefix("vez/") for name in re.findall(r"`((?:\w+/)*\w+(?:\.py|/))`", RECORD)}
CONCERNED = re.compile(
    r"import threading|from threading|ThreadPoolExecutor|lru_cache|cached_property|WeakKeyDictionary|WeakSet|to_thread\("
    r"|setswitchinterval|def __del__|^_\w+ = count\(",
    re.MULTILINE,
)


def test_the_files_that_it_names_exist() -> None:
    known = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py")}
    folders = {f"{path.relative_to(SOURCE)}/" for path in SOURCE.rglob("*") if path.is_dir()}
    assert len(NAMED) > 20
    assert known | folders | {"src/vez"} >= NAMED


def test_every_file_with_threads_shared_caches_or_finalisers_is_listed() -> None:
    concerned = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if CONCERNED.search(path.read_text())}
    missing = {path for path in concerned if not any(path == name or path.startswith(name) for name in NAMED)}
    in_core = {path for path in missing if path.startswith("core/")}  # named together: the caches of `core`
    assert missing - in_core == set()
