"""Ctrl-C, for all commands. SIGTERM, and the SIGHUP of a terminal that is closed, are the same to them.

While modules load before any work begins there is nothing to lose, and the program leaves at once. A command is
interrupted as Python does it, but not in the middle of an import, where Python would wrap the exception, or lose it:
that ends first. Work that asks a monitor now and then is told through that to end, so that it can hand over what is
finished; work that does not ask is interrupted like the rest. A second Ctrl-C waits for nobody.
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
    # `signal` loads much for its names.
    import _signal as signal

SILENT_SECONDS = 1.0
"""Work that has not asked for so long does not ask; that which does asks some twenty times in that time. What it waited
for a processor is not its own silence: on a busy machine that takes seconds."""
AGAIN_SECONDS = 0.2
"""Between two looks at whether work that was told to end has heard it."""
LOADED_SECONDS = 0.01
"""Between two looks at whether an import is over."""

IMPORT = "<frozen importlib._bootstrap>"
"""What Python calls the file of its own code that imports."""


@contextmanager
def handled(handler: Handler) -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP call this while it lasts."""
    global _begun
    _begun = True
    before = handle(handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end() -> NoReturn:
    """Ends the program with the status of an interrupt, once nothing is left to do.

    `python -m` would instead end by the signal if KeyboardInterrupt ever went through an `exec` of text, by which
    dataclasses are made.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(STATUS)


_begun = False
"""Whether work has begun that has its own way to end."""
_waits = False
"""Whether an interrupt waits for the end of an import."""
_was_raised = False
"""Whether one was raised: what ends the command then, whoever wrapped it, is that."""


def was_raised() -> bool:
    """Whether KeyboardInterrupt was raised for a signal."""
    return _was_raised


def _raise(number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt: now, or once no module is being loaded."""
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
    """Raises once more what came while Python took an object apart, where it loses what is raised."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        _raise_soon()
    else:
        sys.__unraisablehook__(lost)


@contextmanager
def raised() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt while this lasts, and leaves at once after it."""
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
    """A clock that stands while the main thread is ready and others have the processors, where the system tells.

    A signal calls this wherever the main thread is, in the middle of an import too: it must load no module, which text
    with an encoding does.
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
    """Whether work is asked to end."""

    def __init__(self) -> None:
        self._made = self._heard = False
        self._asked_at = float("-inf")

    def ask(self) -> bool:
        """Asked by work, on any thread: whether to end."""
        self._asked_at = _own_seconds()
        # Read once: a signal may come between two looks, and other threads may be asking.
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
        # Ctrl-C may have come before the work, in the middle of an import.
        self._made, _waits = True, False
        if self._heard:
            return
        if _own_seconds() - self._asked_at >= SILENT_SECONDS:
            _raise(number, frame)
        else:
            signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)


@contextmanager
def asked_for() -> Iterator[Request]:
    """Ctrl-C makes the request while this lasts.

    Raises:
        KeyboardInterrupt: At the end, if work was over before it heard a request.
    """
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
