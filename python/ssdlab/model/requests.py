"""Streams requests in batches, and converts columns to requests."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from ssdlab import _ssdlab
from ssdlab._ssdlab import TraceError
from ssdlab.lazy import futures, np, npt
from ssdlab.model.frame import Words

BATCH = 65_536
"""Number of requests per batch when streaming; a batch takes 1.5 MiB."""

OPS = ("read", "write", "trim", "flush")
"""Names of the operations, in the order of their numbers."""

Monitor = Callable[[str, int, int | None, int], object]
"""Progress callback `monitor(phase, done, total, requests)`; ends the work if it returns a true value.

`phase` is `scan`, `fill`, `overwrite`, `prepare`, `warm-up` or `measure`, possibly with details after a comma, as in
`overwrite, write amplification 2.31`. `done` and `total` (None if unknown) are in units of the phase; `requests` counts
replayed requests.
"""


class Ending:
    """Records whether the wrapped monitor ended the work, to tell its KeyboardInterrupt from Ctrl-C."""

    def __init__(self, monitor: Monitor | None) -> None:
        self._monitor = monitor
        self.stopped = False
        """True once the monitor has ended the work."""

    def __call__(self, phase: str, done: int, total: int | None, requests: int) -> bool:
        """Calls the wrapped monitor."""
        self.stopped = self._monitor is not None and bool(self._monitor(phase, done, total, requests))
        return self.stopped


class RequestSource(Protocol):
    """A pass over requests in replay order."""

    def read(self, max: int) -> _ssdlab.Requests:
        """Returns at most `max` next requests; an empty batch at the end."""

    def progress(self) -> tuple[int, int | None]:
        """Returns the amount read so far, and the total if known, in the source's own unit."""

    def streams(self) -> list[str]:
        """Returns the names of the streams (processes) seen so far."""


def ingest_report(
    format: str, counts: Sequence[tuple[str, str, str, int]], notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Returns a report on reading a trace of one device, without malformed lines."""
    return {
        "format": format, "device": None, "counts": counts, "other_devices": [], "first_bad": None, "notes": [*notes],
    }  # fmt: skip


def batches(
    source: RequestSource, monitor: Monitor | None = None, phase: str = "scan", *, ahead: bool = False
) -> Iterator[_ssdlab.Requests]:
    """Yields the rest of `source` in batches. Raises KeyboardInterrupt if the monitor returns a true value.

    With `ahead`, another thread reads the next batch; nothing else may use the source until the iteration ends.
    """
    requests = 0
    for batch, progress in (_read_ahead if ahead else _read)(source):
        requests += len(batch)
        if monitor is not None and monitor(phase, *progress, requests):
            raise KeyboardInterrupt(f"stopped while reading requests ({phase})")
        yield batch


Part = tuple[_ssdlab.Requests, tuple[int, int | None]]
"""A batch of requests, and the progress of the source after reading this batch."""


def _read(source: RequestSource) -> Iterator[Part]:
    while len(batch := source.read(BATCH)):
        yield batch, source.progress()


def _read_ahead(source: RequestSource) -> Iterator[Part]:
    parts = _read(source)
    for part in parts:
        yield part
        if len(part[0]) == BATCH:
            break
    else:
        # The source is exhausted, so no thread is needed.
        return
    with futures.ThreadPoolExecutor(1, "reader") as reader:
        coming = reader.submit(next, parts, None)
        while (following := coming.result()) is not None:
            coming = reader.submit(next, parts, None)
            yield following


WORDS = "read, write, trim, flush, their initials or 0 to 3"
"""Names of accepted operations, for messages."""


def from_columns(
    *, op: object, called: Mapping[str, str] | None = None, in_order: bool = True, **columns: object
) -> _ssdlab.Requests:
    """Builds requests from columns of equal length, in the form that `Trace.from_columns` accepts; a missing column
    counts as all 0. Messages name columns as in `called`. With `in_order`, rejects times that decrease.
    """
    names = called or {}
    numbers = _op_numbers(names.get("op", "op"), op)
    types = {"time_ns": "uint64", "offset": "uint64", "bytes": "uint32", "flags": "uint8", "stream": "uint16"}
    found = {
        name: np.zeros(len(numbers), dtype)
        if columns.get(name) is None
        else unsigned(names.get(name, name), columns[name], dtype)
        for name, dtype in types.items()
    }
    return _ssdlab.Requests.from_columns(
        found["time_ns"], numbers, found["offset"], found["bytes"], found["flags"], found["stream"], in_order
    )


def array(name: str, values: object) -> "npt.NDArray[Any]":
    """Converts `values` to a one-dimensional array."""
    try:
        column = np.asarray(values)
        if (
            column.dtype.kind == "f"
            and isinstance(values, Sequence)
            and all(isinstance(value, int) for value in values)
        ):
            # NumPy may convert 64-bit integers to floats, which cannot represent all of them exactly.
            with suppress(OverflowError):
                column = np.asarray(values, np.uint64)
    except ValueError:
        raise TraceError(f"{name} is not a one-dimensional array; pass one value per request") from None
    if column.ndim != 1:
        raise TraceError(f"{name} has {column.ndim} dimensions; pass one value per request")
    return column


def moments(name: str, values: object) -> "npt.NDArray[Any]":
    """Converts a column of times in any order (nanoseconds, durations or dates with time) to an array."""
    times = array(name, values)
    if times.dtype.kind not in "mM":
        return unsigned(name, times, "uint64")
    empty = np.flatnonzero(np.isnat(times))
    if empty.size:
        raise TraceError(f"row {int(empty[0])}: {name} is empty; fill or drop the row")
    return times


def comparable(name: str, values: object) -> "npt.NDArray[np.uint64]":
    """Converts times in any order to unsigned nanoseconds that keep order and differences, even before 1970."""
    times = moments(name, values)
    if times.dtype.kind not in "mM":
        return times
    return times.astype(f"{times.dtype.kind}8[ns]").view(np.uint64) ^ np.uint64(1 << 63)


def since_first(name: str, values: object) -> "npt.NDArray[np.uint64]":
    """Returns the times of a whole trace in nanoseconds since its first request."""
    times = moments(name, values)
    back = np.flatnonzero(times[1:] < times[:-1])
    if back.size:
        row = int(back[0]) + 1
        raise TraceError(
            f"row {row}: {name} {times[row]} is earlier than {times[row - 1]} in the previous row; sort the rows by "
            "time (rows count from 0)"
        )
    if not len(times):
        return np.zeros(0, np.uint64)
    passed: npt.NDArray[Any] = times - times[0]
    return passed.astype("timedelta64[ns]").astype(np.uint64) if passed.dtype.kind == "m" else passed


def _op_numbers(name: str, op: object) -> "npt.NDArray[np.uint8]":
    if not isinstance(op, Words):
        values = array(name, op)
        if values.dtype.kind not in "UOS":
            return unsigned(name, values, "uint8")
        op = Words.of(values.tolist())
    return op.mapped(name, [_ssdlab.operation(word) for word in op.words], WORDS).astype(np.uint8)


def unsigned(name: str, values: object, dtype: str) -> "npt.NDArray[Any]":
    """Returns `values` as a contiguous column of an unsigned type; rejects values that do not fit."""
    column = array(name, values)
    if column.dtype == np.dtype(dtype):
        return np.require(column, requirements=["C", "A"])
    if column.dtype.kind not in "iubf":
        raise TraceError(f"column {name} has type {column.dtype}; use whole numbers")
    if column.dtype.kind == "f" and (parts := np.flatnonzero(column != np.floor(column))).size:
        row = int(parts[0])
        raise TraceError(f"row {row}: {name} {column[row]} is not a whole number")
    limit = np.iinfo(dtype).max
    # As a float, 2^64 - 1 becomes 2^64, so floats are compared with >=.
    above = column >= float(limit + 1) if column.dtype.kind == "f" else column > limit
    wrong = np.flatnonzero((column < 0) | above)
    if wrong.size:
        row = int(wrong[0])
        raise TraceError(f"row {row}: {name} {column[row]} is not between 0 and {limit}")
    return column.astype(dtype)
