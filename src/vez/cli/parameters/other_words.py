"""Words of other commands and of the Python API, with the word that the commands of locks have for each. Loaded when a
command or an option is not known."""

from __future__ import annotations

from collections.abc import Collection

_COMMANDS = {
    "lock": "run", "acquire": "run", "flock": "run", "semaphore": "run", "exec": "run", "cron": "run", "every": "run",
    "inspect": "status", "locks": "status", "list": "status", "ls": "status", "ps": "status", "who": "status",
    "unlock": "break", "release": "break", "kill": "break",
    "election": "elect", "lead": "elect", "leader": "elect", "campaign": "elect",
    "watch": "observe", "clean": "prune", "gc": "prune",
}  # fmt: skip
_OPTIONS = {
    "--nonblock": "--no-wait", "--nb": "--no-wait", "--non-blocking": "--no-wait", "--try": "--no-wait",
    "--conflict-exit-code": "--busy-code", "--read": "--shared", "--limit": "--semaphore", "--max": "--semaphore",
    "--period": "--every", "--ttl": "--lease", "--expire": "--lease", "--grace": "--kill-after",
    "--election": "--leader", "--priority": "--weight", "--identifier": "--label", "--endpoint": "--url",
    "--endpoints": "--url", "--host": "--url", "--directory": "--url", "--message": "--reason",
}  # fmt: skip


def command(word: str) -> str:
    """What to write instead of an unknown command, or nothing."""
    known = _COMMANDS.get(word)
    return f"did you mean `vez {known}`? see `vez {known} --help`" if known else ""


def option(word: str, known: Collection[str]) -> str:
    """The option to write instead of an unknown one, if the command has it; or nothing."""
    found = _OPTIONS.get(word, "")
    return found if found in known else ""
