"""Ends the program on Ctrl-C before any work begins; SIGTERM, and SIGHUP from a closed terminal, have the same effect.

The command line loads this module first. Until the module sets its handler, Ctrl-C prints a traceback, so the module
imports only modules that the interpreter has already loaded.
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
    # Imports the built-in module `_signal`, because importing `signal` also imports `enum`, which takes time.
    import _signal as signal

STATUS = 130
"""Exit status after Ctrl-C."""


def handle(handler: "Handler") -> "dict[int, Any]":
    """Makes Ctrl-C, SIGTERM and SIGHUP (unless ignored, as under `nohup`) call `handler`; returns the old handlers."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    # `_signal` uses plain numbers instead of enum members such as `signal.SIG_IGN`.
    plain = int(handler) if isinstance(handler, int) else handler
    return {number: signal.signal(number, plain) for number in numbers}


def leave_at_once() -> None:
    """Makes Ctrl-C print one line and end the program."""
    handle(leave)


def leave(_signal: int, _frame: "FrameType | None") -> None:
    """Ends the program."""
    try:
        os.write(2, b"ssdlab: interrupted\n")
    finally:
        # Writing to standard error fails if it is closed.
        os._exit(STATUS)
