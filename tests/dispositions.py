"""Signals of the process that runs the tests: restores them to their state in a terminal.

A process inherits the ignored signals of its parent, and so do the commands that tests start. `nohup` ignores SIGHUP, a
shell without job control ignores SIGINT for commands that it starts with `&`, and some CI services ignore or block
more. If Python starts with SIGINT ignored, it never raises `KeyboardInterrupt`, so tests that interrupt a command would
wait for ever. If SIGCHLD is ignored, the kernel discards exit codes, and `subprocess` reports 0.
"""

from __future__ import annotations

import signal

_DEFAULT = (
    "SIGTERM", "SIGQUIT", "SIGALRM", "SIGCHLD", "SIGCONT", "SIGUSR1", "SIGUSR2", "SIGTSTP", "SIGTTIN", "SIGTTOU",
)  # fmt: skip


def restore() -> None:
    """Unblock every signal, and reset those that tests rely on to their default action.

    SIGHUP gets a handler instead. A child still starts with the default action, because exec resets signals that have a
    handler, and a run that was started with `nohup` survives the end of the terminal.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for name in _DEFAULT:
        number = getattr(signal, name)
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, signal.SIG_DFL):
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


def ignoring(names: str, *command: str) -> list[str]:
    """The command, started with these signals ignored, as a shell starts a command with `&` in a script."""
    return ["sh", "-c", f"trap '' {names}; exec \"$@\"", "sh", *command]
