"""bench-check: finds bundles, reads them as untrusted input, verifies who signed them, and judges
them by the rule book."""

import os
import signal

INTERRUPTED = 128 + signal.SIGINT
"""The exit code of a program that Ctrl-C ended."""


class CheckerError(Exception):
    """The checker cannot work on this machine, for example because ssh-keygen is missing. No bundle
    was judged, so none passed."""


def exit_on_interrupt(program: str) -> None:
    """From now on, end this process with one line and INTERRUPTED on SIGINT.

    For a program that starts and has nothing to clean up. The process ends at once, because an
    exception in an import can become a traceback or be lost.
    """

    def exit_at_once(*_: object) -> None:
        os.write(2, f"{program}: interrupted\n".encode())
        os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, exit_at_once)
