"""The program `vez`: how a command line is run, errors and exit codes.

`vez run` and `vez status` are read without click if they can be (`parameters/declared.py`); all other command lines are
those of click (`app.py`).
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from vez.cli.encoding import print_in_any_encoding
from vez.errors import VezError

QUICK = {"run": ("vez.cli.run", "RUN"), "status": ("vez.cli.status", "STATUS")}
"""The commands that are declared as data, with the module and the name of the declaration."""
EX_IOERR = 74
_OUTPUT_ERRORS = {errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT}
"""Error numbers of a failed write to standard output. Files that a command opens have errors of their own."""
EXIT_INTERRUPTED = 130
"""Exit code after Ctrl-C. The results so far are printed, and nothing in them is broken."""
EXIT_TERMINATED = 143
"""Exit code after SIGTERM."""


class OutputClosed(Exception):
    """Nobody reads standard output any more: `vez ... | head`. Not an error."""


class Outcome:
    """The exit code that a command has settled on before it prints."""

    code = 0


class Terminated(BaseException):
    """SIGTERM came: unwind like an interruption, so that no worker is left behind."""


@contextmanager
def closing_pipes() -> Iterator[None]:
    """Raise `OutputClosed` when a pipe is closed; click and rich would end the program with code 1."""
    try:
        yield
    except BrokenPipeError as error:
        raise OutputClosed from error
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):
            raise OutputClosed from error
        raise


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; every error is one line and a hint, never a traceback."""
    _fill_standard()
    print_in_any_encoding()
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:  # `nohup` and the like
        signal.signal(signal.SIGTERM, _terminate)
    code = run(sys.argv[1:] if arguments is None else arguments)
    if "click" in sys.modules:
        if code not in (EXIT_INTERRUPTED, EXIT_TERMINATED):
            sys.exit(code)
        _end_threads()
    _leave(code)


def _fill_standard() -> None:
    """Open /dev/null in the place of closed standard streams. Otherwise the next file or socket gets such a number, and
    what is written to a stream goes there. Commands that we start still find the streams closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _end_threads() -> None:
    """Wait for threads as the interpreter does at its end."""
    import threading

    threading._shutdown()  # type: ignore[attr-defined]  # no public name


def _leave(code: int) -> NoReturn:
    """End without taking the interpreter apart. For a quick command that takes half as long as starting it. For a
    command that a signal ended in a long run, freeing its data takes seconds. Nothing is left to do: clients are
    closed, and the functions for the end of a program are called here."""
    import atexit

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, full, or not there
            code = code or EX_IOERR if stream is sys.stdout else code
    os._exit(code)


def _terminate(number: int, frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # once is enough: a second one would interrupt the cleaning up
    raise Terminated


def run(arguments: list[str]) -> int:
    """The exit code of a command line."""
    if sys.stdout is None:  # `vez ... >&-`
        return _complain("standard output is closed", "send it to a file, a pipe or /dev/null", EX_IOERR)
    for name in ("COLUMNS", "LINES"):  # rich ends with a ValueError for digits that `int` does not know, such as ²
        if not os.environ.get(name, "").isascii():
            del os.environ[name]
    outcome = Outcome()
    try:
        result = _run_quickly(arguments)
        if result is None:
            from vez.cli.app import app

            result = app.main(args=arguments, prog_name="vez", standalone_mode=False, obj=outcome)
        outcome.code = result if isinstance(result, int) else 0
        with closing_pipes():
            sys.stdout.flush()
        return outcome.code
    except KeyboardInterrupt:
        return _complain("interrupted", "", EXIT_INTERRUPTED)
    except Terminated:
        return _complain("terminated", "", EXIT_TERMINATED)
    except OutputClosed:
        _abandon_output()
        return outcome.code
    except Exception as error:
        return _explain(error)


def _run_quickly(arguments: list[str]) -> Any:
    """The exit code of a plain command line of a quick command; None if click has to read it."""
    if not arguments or arguments[0] not in QUICK or "_VEZ_COMPLETE" in os.environ:
        return None
    from vez.cli.parameters.declared import parse

    module, name = QUICK[arguments[0]]
    command = getattr(__import__(module, fromlist=(name,)), name)
    parsed = parse(command, arguments[1:])
    if parsed is None:
        return None
    with closing_pipes():
        return command.function(parsed.given, **parsed.values)


def _explain(error: Exception) -> int:
    """One line and a hint on what went wrong, and the exit code that goes with it."""
    if os.environ.get("VEZ_DEBUG"):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, VezError):
        return _complain(error.message, error.hint, error.exit_code)
    if "click" in sys.modules:
        from vez.cli.app import said_by_click

        if (said := said_by_click(error)) is not None:
            return _complain(*said)
    if isinstance(error, OSError) and error.filename is None and error.errno in _OUTPUT_ERRORS:
        _abandon_output()
        return _complain(f"cannot write to standard output: {error.strerror}", "", EX_IOERR)
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):  # of the interpreter, for example
        return _complain(f"cannot go on: {error.strerror}", "raise the limit of open files (ulimit -n)", 69)
    if isinstance(error, FileNotFoundError) and error.filename is None and not _has_directory():
        return _complain("the current directory was removed", "change to another one: cd", 66)
    words = " ".join(str(error).split())
    what = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return _complain(f"this is a bug in vez: {what}", "VEZ_DEBUG=1 shows the traceback; please report it", 70)


def _has_directory() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _abandon_output() -> None:
    """Nobody reads on: what is still to be written goes nowhere, and Python says nothing of it at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, hint: str, code: int) -> int:
    if sys.stderr is not None:
        try:
            sys.stderr.write(f"vez: {message}\n" + (f"     {hint}\n" if hint else ""))
            sys.stderr.flush()
        except (OSError, ValueError):  # full, or without a reader: the exit code must still tell what happened
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    return code
