"""The end of the program by Ctrl-C while nothing is lost by it. SIGTERM, and SIGHUP of a closed terminal, do the same.

The command line loads this first: it imports only what the interpreter has loaded already, as Ctrl-C shows a traceback
until its handler is set.
"""

import os

from ssdlab.lazy import TYPE_CHECKING

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    Handler = Callable[[int, FrameType | None], object] | signal.Handlers
else:
    # A part of the interpreter; `signal` loads much for its names.
    import _signal as signal

STATUS = 130
"""Exit status of a command that Ctrl-C ended."""


def handle(handler: "Handler") -> "dict[int, Any]":
    """Has Ctrl-C, SIGTERM and SIGHUP call this from now on; returns what they called before. `nohup` ignores SIGHUP."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    # `_signal` does not know the enumeration of `signal`, such as `signal.SIG_IGN`.
    plain = int(handler) if isinstance(handler, int) else handler
    return {number: signal.signal(number, plain) for number in numbers}


def leave_at_once() -> None:
    """Has Ctrl-C end the program from now on, with one line."""
    handle(leave)


def leave(_signal: int, _frame: "FrameType | None") -> None:
    """Ends the program."""
    try:
        os.write(2, b"ssdlab: interrupted\n")
    finally:
        # Standard error may be closed.
        os._exit(STATUS)
