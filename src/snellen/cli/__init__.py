"""The command line: verbs only, no logic, one function a verb.

*Conventions*: exit code 0 is fine, 1 a finding (a leak, a card that does not
verify), 2 unusable input or a machine that cannot go on, 128 and the signal's
number when stopped. Tables go to standard output, progress and errors to
standard error; ``--json`` prints the same content for a machine.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

__all__ = ["main"]

STOPPED = "stopped; what is finished is kept, run the same command to go on"


class _Stopped(BaseException):
    """Ctrl-C or a request to end; no KeyboardInterrupt, which typer would swallow."""


def main() -> None:
    """Run the command line and turn every error on purpose into one message and a code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    from snellen.cli.show import complain
    from snellen.errors import Leak, SnellenError

    try:
        _run()
    except Leak as error:
        complain(str(error))
        sys.exit(1)
    except SnellenError as error:
        complain(str(error))
        sys.exit(2)
    except _Stopped as stopped:
        complain(STOPPED)
        sys.exit(128 + int(stopped.args[0]))
    # Uncaught, these would exit with 1, which means a finding here.
    except OSError as error:
        at = f"{error.filename}: " if error.filename else ""
        complain(f"{at}{error.strerror or error}")
        sys.exit(2)
    except MemoryError:
        complain("not enough memory for this input; fewer --workers need less")
        sys.exit(2)
    except RecursionError:
        complain("an input is nested too deeply to be read")
        sys.exit(2)


def _run() -> None:
    from snellen.cli.app import app

    try:
        app()
    except SystemExit as end:
        # Typer ends with 1 when the reader of a pipe has gone away.
        if isinstance(end.__context__, OSError):
            raise end.__context__ from None
        _flush()
        raise


def _flush() -> None:
    """Write what is still held back; a full disk must be heard of before the exit code is set."""
    try:
        sys.stdout.flush()
    except OSError:
        # Else the interpreter would try, fail and complain once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _stop(number: int, _: FrameType | None) -> NoReturn:
    raise _Stopped(number)
