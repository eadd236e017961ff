"""The command line: verbs only, no logic, one function a verb.

*Conventions*: exit code 0 is fine, 1 a finding (a leak, a card that does not
verify), 2 unusable input. Tables go to standard output, progress and errors to
standard error; ``--json`` prints the same content for a machine.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

INTERRUPTED = 130


def main() -> None:
    """Run the command line and turn every error on purpose into one message and a code."""
    from snellen.cli.app import app
    from snellen.cli.show import complain
    from snellen.errors import Leak, SnellenError

    try:
        app()
    except Leak as error:
        complain(str(error))
        sys.exit(1)
    except SnellenError as error:
        complain(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        complain("stopped; what is finished is kept, run the same command to go on")
        sys.exit(INTERRUPTED)
