"""Shows progress of long calls in notebooks."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any

from ssdlab import text
from ssdlab.model.requests import Monitor

QUIET_SECONDS = 1.0
"""Number of seconds before progress is shown."""
UPDATE_SECONDS = 0.5


class _Shown:
    """A monitor that shows progress in the output of the running notebook cell."""

    def __init__(self, display: Any) -> None:
        self._display, self._handle = display, None
        self._next = time.monotonic() + QUIET_SECONDS

    def __call__(self, phase: str, done: int, total: int | None, requests: int) -> bool:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + UPDATE_SECONDS
            counted = f", {text.short_count(requests)} requests" if requests else ""
            share = f' value="{done}" max="{total}"' if total else ""
            self._show(f"<progress{share}></progress> {escape(phase)}{counted}")
        return False

    def _show(self, html: str) -> None:
        shown = self._display.HTML(html)
        if self._handle is None:
            self._handle = self._display.display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def finish(self) -> None:
        """Removes the progress display from the notebook cell."""
        if self._handle is not None:
            self._show("")


@contextmanager
def following(monitor: Monitor | None) -> Iterator[Monitor | None]:
    """Yields the given monitor or, if None is given, a monitor that shows progress in a notebook."""
    if monitor is not None or not _is_notebook():
        yield monitor
        return
    shown = _Shown(import_module("IPython.display"))
    try:
        yield shown
    finally:
        shown.finish()


def _is_notebook() -> bool:
    """True in the main thread of a notebook; other threads show nothing."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python else None
    return hasattr(shell, "kernel") and threading.current_thread() is threading.main_thread()
