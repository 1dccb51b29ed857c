"""Handles Ctrl-C in all commands. SIGTERM, and SIGHUP from a closed terminal, have the same effect.

- While modules load before any work begins, the program exits at once.
- A command is interrupted by KeyboardInterrupt, but not during an import, because Python would wrap or lose the
  exception.
- Work that calls a monitor is asked to end through the monitor, so that it can return partial results.
- A second Ctrl-C interrupts at once.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from contextlib import contextmanager, suppress

from ssdlab.lazy import TYPE_CHECKING
from ssdlab.leaving import STATUS, handle, leave, leave_at_once

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator
    from types import FrameType
    from typing import NoReturn

    from ssdlab.leaving import Handler
else:
    # Uses the built-in `_signal`, because importing `signal` would load many other modules.
    import _signal as signal

SILENT_SECONDS = 1.0
"""Seconds without a monitor call after which work is assumed to have no monitor. Work with a monitor calls it about
twenty times a second. Time spent waiting for a processor does not count.
"""
AGAIN_SECONDS = 0.2
"""Interval in seconds at which the watcher checks if the work has reacted to the request to stop."""
LOADED_SECONDS = 0.01
"""Interval in seconds between checks whether the import in progress has ended."""

IMPORT = "<frozen importlib._bootstrap>"
"""File name in the stack frames of Python's import machinery."""


@contextmanager
def handled(handler: Handler) -> Iterator[None]:
    """Makes Ctrl-C, SIGTERM and SIGHUP call `handler`."""
    global _begun
    _begun = True
    before = handle(handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end() -> NoReturn:
    """Ends the program with the exit status of an interrupt.

    Without this call, `python -m` would end with a signal if KeyboardInterrupt passed through `exec`, which dataclasses
    use.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(STATUS)


_begun = False
"""True once the program runs work that handles interrupts itself."""
_waits = False
"""True while an interrupt is waiting for an import to end."""
_was_raised = False
"""True once KeyboardInterrupt was raised; any exception that ends the command afterwards results from the interrupt."""


def was_raised() -> bool:
    """True if a signal handler of this module has raised KeyboardInterrupt."""
    return _was_raised


def _raise(number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt, but only after any import in progress has ended."""
    global _waits, _was_raised
    inner = frame
    while inner is not None:
        if inner.f_code.co_filename == IMPORT:
            if not _begun:
                leave(number, frame)
            _raise_soon()
            return
        inner = inner.f_back
    _waits, _was_raised = False, True
    raise KeyboardInterrupt


def _raise_soon() -> None:
    global _waits
    _waits = True
    signal.signal(signal.SIGALRM, _raise)
    signal.setitimer(signal.ITIMER_REAL, LOADED_SECONDS)


def _on_unraisable(lost: sys.UnraisableHookArgs) -> None:
    """Raises KeyboardInterrupt again if it was raised in a destructor, where Python ignores exceptions."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        _raise_soon()
    else:
        sys.__unraisablehook__(lost)


@contextmanager
def raised() -> Iterator[None]:
    """Makes Ctrl-C raise KeyboardInterrupt inside the block; after the block, Ctrl-C ends the program at once."""
    handle(_raise)
    sys.unraisablehook = _on_unraisable
    try:
        yield
    finally:
        leave_at_once()
        if _waits:
            signal.setitimer(signal.ITIMER_REAL, 0)
    if _waits:
        raise KeyboardInterrupt


def _own_seconds() -> float:
    """Returns the time in seconds, minus the time that the main thread has spent waiting for a processor. If the system
    does not report the waiting time, the result includes it.

    Signal handlers call this function during imports too, so it must not load a module; decoding text would load one.
    """
    try:
        file = os.open("/proc/self/schedstat", os.O_RDONLY)
        try:
            waited_ns = int(os.read(file, 256).split()[1])
        finally:
            os.close(file)
    except (OSError, ValueError, IndexError):
        waited_ns = 0
    return time.monotonic() - waited_ns / 1e9


class Request:
    """A request to end the running work."""

    def __init__(self) -> None:
        self._made = self._heard = False
        self._asked_at = float("-inf")

    def ask(self) -> bool:
        """Returns True if the work should end. Any thread of the work may call this method."""
        self._asked_at = _own_seconds()
        # Reads `_made` only once, because a signal or another thread may change it between two reads.
        made = self._made
        self._heard = self._heard or made
        return made

    def _on_ctrl_c(self, number: int, frame: FrameType | None) -> None:
        if self._made:
            _raise(number, frame)
        else:
            self._unless_heard(number, frame)

    def _unless_heard(self, number: int, frame: FrameType | None) -> None:
        global _waits
        # Ctrl-C may have been pressed before the work began, during an import.
        self._made, _waits = True, False
        if self._heard:
            return
        if _own_seconds() - self._asked_at >= SILENT_SECONDS:
            _raise(number, frame)
        else:
            signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)


@contextmanager
def asked_for() -> Iterator[Request]:
    """Makes Ctrl-C ask the work to end. If the work ends without noticing, the block raises KeyboardInterrupt."""
    request = Request()
    with handled(request._on_ctrl_c):
        on_alarm = signal.signal(signal.SIGALRM, request._unless_heard)
        try:
            yield request
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, on_alarm)
    if request._made and not request._heard:
        raise KeyboardInterrupt
