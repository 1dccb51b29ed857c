"""Progress on standard error, and Ctrl-C."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from ssdlab import text

QUIET_SECONDS = 1.0
"""Nothing is shown of what takes no longer."""
LINE_SECONDS = 5.0
"""Between lines where there is no terminal."""

UNITS = {"fill": "pages", "overwrite": "pages", "simulate": "simulations", "caches": "caches", "cells": "cells"}
"""What `done` of a phase counts; the rate of others is that of their requests."""


@dataclass
class _Phase:
    """The phase that a run is in, and when it began."""

    name: str
    done: int
    requests: int
    began: float = field(default_factory=time.monotonic)


class Watch:
    """Follows one run; what `simulate` takes as its monitor."""

    def __init__(self, display: "Display", label: str) -> None:
        self._display = display
        self._label = label
        self._phase = _Phase("", 0, 0)
        self._task: TaskID | None = None
        self._next_line = display.began + QUIET_SECONDS

    def __call__(self, phase: str, done: int, total: int | None, requests: int) -> bool:
        """Shows how far the run is; true if it is to end."""
        if phase != self._phase.name:
            self._phase = _Phase(phase, done, requests)
        now = time.monotonic()
        if now - self._display.began >= QUIET_SECONDS:
            self._show(now, done, total, requests)
        return self._display.stopped.is_set()

    def _show(self, now: float, done: int, total: int | None, requests: int) -> None:
        phase = self._phase
        elapsed = max(now - phase.began, 1e-6)
        counted = done - phase.done if phase.name in UNITS else requests - phase.requests
        rate = f"{text.short_count(counted / elapsed)} {UNITS.get(phase.name, 'requests')}/s"
        left = ""
        if total and done > phase.done:
            minutes, seconds = divmod(round((total - done) * elapsed / (done - phase.done)), 60)
            left = f"{minutes}:{seconds:02} left"
        if self._display.bars is not None:
            self._bar(done, total, rate, left)
        elif now >= self._next_line:
            share = f" {100 * done / total:.0f} %" if total else ""
            line = f"{self._label}: {phase.name}{share}, {rate}" + (f", {left}" if left else "")
            print(line, file=sys.stderr, flush=True)
            self._next_line = now + LINE_SECONDS

    def _bar(self, done: int, total: int | None, rate: str, left: str) -> None:
        bars = self._display.bars
        assert bars is not None
        bars.start()
        fields: dict[str, Any] = {"description": f"{self._label}: {self._phase.name}", "rate": rate, "left": left}
        if self._task is None:
            self._task = bars.add_task(total=total, completed=done, **fields)
        else:
            bars.update(self._task, total=total, completed=done, **fields)

    def finish(self) -> None:
        """Takes the run off the display."""
        if self._task is not None and self._display.bars is not None:
            self._display.bars.remove_task(self._task)


class Display:
    """What standard error shows: bars on a terminal, now and then a line elsewhere."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.stopped = threading.Event()
        console = Console(stderr=True)
        self.bars: Progress | None = None
        if console.is_terminal:
            self.bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TaskProgressColumn(),
                TextColumn("{task.fields[rate]}"),
                TextColumn("{task.fields[left]}"),
                console=console,
                transient=True,
            )

    def watch(self, label: str) -> Watch:
        """A monitor for one more run."""
        return Watch(self, label)


@contextmanager
def display() -> Iterator[Display]:
    """Shows progress while it lasts. The first Ctrl-C asks the runs to end, a second one ends the program."""
    shown = Display()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        shown.stopped.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    previous = signal.signal(signal.SIGINT, stop)
    try:
        yield shown
    finally:
        signal.signal(signal.SIGINT, previous)
        if shown.bars is not None:
            shown.bars.stop()


@contextmanager
def watching(label: str) -> Iterator[Watch]:
    """Shows the progress of one run while it lasts."""
    with display() as shown:
        watch = shown.watch(label)
        yield watch
        watch.finish()
