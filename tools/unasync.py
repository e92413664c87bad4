"""Generate the engines for threads from the engines for tasks.

    python -m tools.unasync            write every file of `FILES`
    python -m tools.unasync --check    print the files that are not current; exit code 1 if there are any

The source waits with `await`. In the generated file, `async` and `await` are removed, names of `NAMES` are replaced,
and so are the words of `WORDS` in comments and docstrings. Any other difference between threads and tasks does not
belong in such a file. It belongs in a pair of files with the same names, such as `locks/engines/task_primitives.py` and
`thread_primitives.py`. `tools/duplicates.py` compares with the same table. ruff sorts the imports of the result and
formats it, because lines without `await` are shorter.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = Path("src/vez/locks")
SOURCES = (
    "engines/network/task_transport.py",
    "engines/network/task_pump.py",
    "engines/network/task_sessions.py",
    "engines/network/task_engine.py",
    "engines/etcd/task_connection.py",
    "engines/etcd/task_transport.py",
    "peers/task_engine.py",
    "turns/task_watched.py",
    "turns/task_periodic.py",
)
FILES = {LOCKS / source: LOCKS / source.replace("task_", "thread_") for source in SOURCES}
"""The files that are written by hand, each with the file that is generated from it."""
NAMES = {
    "AsyncConnection": "Connection",
    "AsyncEngine": "Engine",
    "AsyncEntry": "Entry",
    "AsyncHolding": "Holding",
    "AsyncIterator": "Iterator",
    "AsyncStream": "Stream",
    "AsyncTransport": "Transport",
    "AsyncWatched": "Watched",
    "EtcdAsyncStream": "EtcdStream",
    "EtcdAsyncTransport": "EtcdTransport",
    "NetworkAsyncEngine": "NetworkEngine",
    "PeersAsyncEngine": "PeersEngine",
    "PeersTaskBase": "PeersThreadBase",
    "TaskAgain": "Again",
    "aio": "client",
    "refuse_as_task_body": "refuse_as_thread_body",
    "WatchedAsyncEngine": "WatchedEngine",
}
"""Names in code for tasks, with their replacements in code for threads. Names that begin with `task_` or `Task` begin
with `thread_` or `Thread` there."""
WORDS = {"task": "thread", "tasks": "threads", "task_": "thread_", "Task": "Thread"}
"""Words in comments and docstrings, and first parts of names, with their replacements."""
_OF_TASKS = re.compile(r"^(?:task_(?=\w)|Task(?=[A-Z]))")
ABSENT = {"async", "await"}
HEADER = "# Generated from {source} by python -m tools.unasync: change that file, not this one.\n"
_BEFORE_DOCSTRING = {
    tokenize.NEWLINE,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.COMMENT,
    tokenize.ENCODING,
}


def for_threads(text: str) -> str:
    """The text of a module for tasks, converted for threads; not formatted."""
    lines = text.splitlines(keepends=True)
    for (row, start), (last_row, end), new in reversed(list(_changes(text))):
        lines[row - 1 : last_row] = [lines[row - 1][:start] + new + lines[last_row - 1][end:]]
    return "".join(lines)


def _changes(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int], str]]:
    """The changes of a text: begin, end, and the new text of each."""
    before = tokenize.ENCODING
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.string in ABSENT:
            (row, column), rest = token.end, token.line[token.end[1] :]
            yield token.start, (row, column + len(rest) - len(rest.lstrip(" "))), ""
        elif token.type == tokenize.NAME and (new := _renamed(token.string)) != token.string:
            yield token.start, token.end, new
        elif token.type == tokenize.COMMENT or (token.type == tokenize.STRING and before in _BEFORE_DOCSTRING):
            yield token.start, token.end, _translated(token.string)
        before = token.type


def _renamed(name: str) -> str:
    return NAMES.get(name) or _OF_TASKS.sub(lambda found: WORDS[found[0]], name)


def _translated(words: str) -> str:
    return re.sub(r"\w+", lambda found: WORDS.get(found[0]) or _renamed(found[0]), words)


PAIRED = {
    "StopAsyncIteration": "StopIteration",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "aclose": "close",
    "aiter": "iter",
    "anext": "next",
    "asynccontextmanager": "contextmanager",
    "enter_async_context": "enter_context",
}
"""Further pairs of names that tasks and threads use for the same thing, in files that are written twice."""
_MARK = re.compile(r"^(?:async|aio)_|_async$|(?<![A-Z])Async(?=[A-Z]|$)")
"""Pattern of the parts that mark a name as one for tasks."""


def folded(line: str) -> str:
    """A line of code, converted for threads, so that a copy for tasks can be compared with one for threads."""
    return re.sub(r"\w+", lambda found: _folded(found[0]), re.sub(r"\b(?:async|await) ", "", line))


def _folded(name: str) -> str:
    return PAIRED.get(name) or _MARK.sub("", _renamed(name))


def generated(source: Path) -> str:
    """The content that `FILES[source]` must have."""
    text = for_threads((ROOT / source).read_text(encoding="utf-8"))
    text = HEADER.format(source=source.name) + text
    name = str(ROOT / FILES[source])
    text = _ruff(text, "check", "--select", "I", "--fix", "--quiet", "--stdin-filename", name, "-")
    return _ruff(text, "format", "--quiet", "--stdin-filename", name, "-")


def _ruff(text: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "ruff", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def stale() -> list[str]:
    """The generated files that are not current."""
    return [
        str(to)
        for source, to in FILES.items()
        if not (ROOT / to).exists() or (ROOT / to).read_text(encoding="utf-8") != generated(source)
    ]


def write() -> None:
    """Write every generated file."""
    for source, to in FILES.items():
        (ROOT / to).write_text(generated(source), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Run the command line. Returns 0; with `--check`, 1 if a file is not current; 64 for an unknown argument."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python -m tools.unasync [--check]\n")
        return 64
    if not arguments:
        write()
        return 0
    for name in (found := stale()):
        sys.stderr.write(f"{name} is not current: run python -m tools.unasync\n")
    return int(bool(found))


if __name__ == "__main__":  # pragma: no cover - the tests call `main`
    sys.exit(main(sys.argv[1:]))
