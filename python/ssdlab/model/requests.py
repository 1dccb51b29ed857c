"""Requests as they stream: batches of one pass, and columns as requests."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from ssdlab import _ssdlab
from ssdlab._ssdlab import TraceError
from ssdlab.lazy import futures, np, npt
from ssdlab.model.frame import Words

BATCH = 65_536
"""Requests per batch when streaming: 1.5 MiB."""

OPS = ("read", "write", "trim", "flush")
"""Names of the operations, in the order of their numbers."""

Monitor = Callable[[str, int, int | None, int], object]
"""`monitor(phase, done, total, requests)`: `phase` is `scan`, `fill`, `overwrite`, `warm-up` or `measure`, and a comma
may follow with more, as in `overwrite, write amplification 2.31`; `done` of `total` (None where unknown) is in a unit
of its own; `requests` counts those replayed. Something true ends the run."""


class Ending:
    """A monitor that tells afterwards whether it ended the work: KeyboardInterrupt may be Ctrl-C as well, which nobody
    may keep.
    """

    def __init__(self, monitor: Monitor | None) -> None:
        self._monitor = monitor
        self.stopped = False
        """Whether something true was returned."""

    def __call__(self, phase: str, done: int, total: int | None, requests: int) -> bool:
        """Passes the question on."""
        self.stopped = self._monitor is not None and bool(self._monitor(phase, done, total, requests))
        return self.stopped


class RequestSource(Protocol):
    """One pass over requests in replay order."""

    def read(self, max: int) -> _ssdlab.Requests:
        """The next requests, at most `max`; none at the end."""

    def progress(self) -> tuple[int, int | None]:
        """How much has been read, and how much there is where that is known, in a unit of the source."""

    def streams(self) -> list[str]:
        """Names of the streams (processes) met so far."""


def batches(
    source: RequestSource, monitor: Monitor | None = None, phase: str = "scan", *, ahead: bool = False
) -> Iterator[_ssdlab.Requests]:
    """The rest of `source` in batches.

    Args:
        source: The requests.
        monitor: Told after each batch how far the pass is. If it returns something true, KeyboardInterrupt is raised.
        phase: What the monitor is told that the pass does.
        ahead: Whether a thread reads the next batch while one is used. Nobody else may ask the source until the end.
    """
    requests = 0
    for batch, progress in (_read_ahead if ahead else _read)(source):
        requests += len(batch)
        if monitor is not None and monitor(phase, *progress, requests):
            raise KeyboardInterrupt(f"stopped while reading requests ({phase})")
        yield batch


Part = tuple[_ssdlab.Requests, tuple[int, int | None]]
"""A batch, and the progress of its source with it."""


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
        # What one batch holds needs no thread.
        return
    with futures.ThreadPoolExecutor(1, "reader") as reader:
        coming = reader.submit(next, parts, None)
        while (following := coming.result()) is not None:
            coming = reader.submit(next, parts, None)
            yield following


WORDS = "read, write, trim, flush, their initials or 0 to 3"
"""How operations may be written, for messages."""


def from_columns(
    *, op: object, called: Mapping[str, str] | None = None, in_order: bool = True, **columns: object
) -> _ssdlab.Requests:
    """Requests of columns of equal length, as `Trace.from_columns` takes them; those that are None are 0.

    Args:
        op: The operations.
        called: Names of columns in messages, where they are not their own.
        in_order: Times must not decrease.
        columns: The others.
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
    """`values` as an array of one dimension; TraceError if they are none."""
    try:
        column = np.asarray(values)
        if column.dtype.kind == "f" and isinstance(values, Sequence) and all(isinstance(one, int) for one in values):
            # Where some need all 64 bits they would come to floats, which have no such numbers.
            with suppress(OverflowError):
                column = np.asarray(values, np.uint64)
    except ValueError:
        raise TraceError(f"{name} is not one array; give one value per request") from None
    if column.ndim != 1:
        raise TraceError(f"{name} has {column.ndim} dimensions; give one value per request")
    return column


def moments(name: str, values: object) -> "npt.NDArray[Any]":
    """Times in any order: nanoseconds, durations, or dates with time.

    Args:
        name: What the user calls them.
        values: The times.
    """
    times = array(name, values)
    if times.dtype.kind not in "mM":
        return unsigned(name, times, "uint64")
    empty = np.flatnonzero(np.isnat(times))
    if empty.size:
        raise TraceError(f"row {int(empty[0])}: {name} is empty; fill or drop it")
    return times


def _in_unit(time: Any, unit: int | None) -> Any:
    """A time as the user has it."""
    if unit is None:
        return time
    whole, rest = divmod(int(time), unit)
    return int(time) / unit if rest else whole


def since_first(name: str, values: object, unit: int | None = None) -> "npt.NDArray[np.uint64]":
    """Times of a whole trace as a trace has them: in nanoseconds since its first request.

    Args:
        name: What the user calls them.
        values: The times: nanoseconds, durations, or dates with time.
        unit: Nanoseconds of the unit in which the user has them, for messages; None for the unit of the values.
    """
    times = moments(name, values)
    back = np.flatnonzero(times[1:] < times[:-1])
    if back.size:
        row = int(back[0]) + 1
        shown = None if times.dtype.kind in "mM" else unit
        time, before = (_in_unit(one, shown) for one in (times[row], times[row - 1]))
        raise TraceError(
            f"row {row}: {name} {time} is before the {before} of the row before; sort the rows by time "
            "(rows count from 0)"
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
    """`values` as a contiguous column of an unsigned type; TraceError where a value does not fit."""
    column = array(name, values)
    if column.dtype == np.dtype(dtype):
        return np.require(column, requirements=["C", "A"])
    if column.dtype.kind not in "iub" and not (column.dtype.kind == "f" and bool((column == np.floor(column)).all())):
        raise TraceError(f"{name} holds {column.dtype}; give whole numbers")
    limit = np.iinfo(dtype).max
    # As floats, which have no 2^64 - 1, the limit is the first that does not fit.
    above = column >= float(limit + 1) if column.dtype.kind == "f" else column > limit
    wrong = np.flatnonzero((column < 0) | above)
    if wrong.size:
        row = int(wrong[0])
        raise TraceError(f"row {row}: {name} {column[row]} is not between 0 and {limit}")
    return column.astype(dtype)
