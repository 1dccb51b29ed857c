"""Traces: requests in memory, files that stream, generated workloads."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ssdlab import _ssdlab
from ssdlab._ssdlab import TraceError
from ssdlab.analysis import RANGE, TraceAnalysis
from ssdlab.analysis import measure as measure_analysis
from ssdlab.config import Config
from ssdlab.intervals import LOGS, PAGE, WriteIntervals, measure

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from ssdlab.simulation import Monitor

BATCH = 65_536
"""Requests per batch when streaming: 1.5 MiB."""

OPS = ("read", "write", "trim", "flush")
"""Names of the operations, in the order of their numbers."""


class RequestSource(Protocol):
    """One pass over requests in replay order."""

    def read(self, max: int) -> _ssdlab.Requests:
        """The next requests, at most `max`; none at the end."""

    def progress(self) -> tuple[int, int | None]:
        """How much has been read, and how much there is where that is known, in a unit of the source."""


class TraceSource(RequestSource, Protocol):
    """One pass over a trace file."""

    def format(self) -> str:
        """Name of the format."""

    def streams(self) -> list[str]:
        """Names of the streams (processes) met so far."""

    def report(self) -> dict[str, Any]:
        """What was met on the way; complete at the end."""


def batches(source: RequestSource) -> Iterator[_ssdlab.Requests]:
    """The rest of `source` in batches."""
    while len(batch := source.read(BATCH)):
        yield batch


def _array(name: str, values: object) -> "npt.NDArray[Any]":
    """`values` as an array of one dimension; TraceError if they are none."""
    import numpy as np

    try:
        column = np.asarray(values)
    except ValueError:
        raise TraceError(f"{name} is not one array; give one value per request") from None
    if column.ndim != 1:
        raise TraceError(f"{name} has {column.ndim} dimensions; give one value per request")
    return column


def _op_numbers(op: object) -> "npt.NDArray[np.uint8]":
    import numpy as np

    values = _array("op", op)
    if values.dtype.kind in "UOS":
        names = {name: number for number, name in enumerate(OPS)}
        texts = [one.decode(errors="replace") if isinstance(one, bytes) else str(one) for one in values.tolist()]
        try:
            return np.array([names[text] for text in texts], dtype=np.uint8)
        except KeyError as error:
            raise TraceError(f"op {error} is not one of {', '.join(OPS)}") from None
    return _unsigned("op", values, "uint8")


def _unsigned(name: str, values: object, dtype: str) -> "npt.NDArray[Any]":
    """`values` as a contiguous column of an unsigned type; TraceError where a value does not fit."""
    import numpy as np

    column = _array(name, values)
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


class Trace:
    """Requests in memory, 24 bytes each, in replay order.

    Columns are NumPy arrays with one value per request:

    ========= ====== =========================================================
    column    dtype  meaning
    ========= ====== =========================================================
    time_ns   uint64 arrival in nanoseconds since the first request
    op        uint8  0 read, 1 write, 2 trim, 3 flush
    offset    uint64 first byte addressed; 0 for a flush
    bytes     uint32 length; 0 for a flush only
    flags     uint8  1 sync, 2 metadata, 4 read-ahead, 8 FUA, 16 preflush
    stream    uint16 index into `streams`; 0 where the trace names none
    ========= ====== =========================================================
    """

    def __init__(
        self, requests: _ssdlab.Requests, streams: Sequence[str] = (), ingest: dict[str, Any] | None = None
    ) -> None:
        self._requests = requests
        self.streams = tuple(streams)
        """Names of the streams."""
        self.ingest = ingest
        """What was met while reading it from a file (None without): `counts`, `notes`, `other_devices` ..."""

    @classmethod
    def from_columns(
        cls,
        *,
        op: object,
        offset: object,
        bytes: object,
        time_ns: object = None,
        flags: object = None,
        stream: object = None,
        streams: Sequence[str] = (),
    ) -> "Trace":
        """Builds a trace from columns of equal length.

        Args:
            op: Numbers 0 to 3, or the names `read`, `write`, `trim`, `flush`.
            offset: First bytes addressed.
            bytes: Lengths in bytes; 0 for a flush only.
            time_ns: Arrivals in nanoseconds, not decreasing; all 0 if left out.
            flags: Flag bits; none set if left out.
            stream: Indices into `streams`; all 0 if left out.
            streams: Names of the streams.

        Raises:
            TraceError: Naming the row and column at fault.
        """
        import numpy as np

        numbers = _op_numbers(op)

        def column(name: str, values: object, dtype: str) -> "npt.NDArray[Any]":
            return np.zeros(len(numbers), dtype) if values is None else _unsigned(name, values, dtype)

        requests = _ssdlab.Requests.from_columns(
            column("time_ns", time_ns, "uint64"),
            numbers,
            column("offset", offset, "uint64"),
            column("bytes", bytes, "uint32"),
            column("flags", flags, "uint8"),
            column("stream", stream, "uint16"),
        )
        return cls(requests, streams)

    @classmethod
    def from_arrow(cls, data: Any) -> "Trace":
        """Builds a trace from Arrow data: anything with `__arrow_c_stream__`, such as a pyarrow Table.

        Columns go by the names of this class; `op`, `offset` and `bytes` must be there, others may be left
        out, and further ones are ignored.

        Raises:
            TraceError: Naming the row and column at fault.
        """
        import pyarrow as pa

        from ssdlab.parquet import columns_of, stream_names

        try:
            table = data if isinstance(data, pa.Table) else pa.table(data)
        except (TypeError, ValueError) as error:
            raise TraceError(f"{type(data).__name__} is not Arrow data: {error}; give a table or a frame") from None
        return cls.from_columns(**columns_of(table, "the table"), streams=stream_names(table.schema))

    @classmethod
    def from_frame(cls, frame: Any) -> "Trace":
        """Builds a trace from a Polars or pandas data frame, as `from_arrow`.

        Raises:
            TraceError: Naming the row and column at fault.
        """
        return cls.from_arrow(frame)

    def columns(self) -> dict[str, "npt.NDArray[Any]"]:
        """Every column by its name."""
        return self._requests.columns()

    @property
    def time_ns(self) -> "npt.NDArray[np.uint64]":
        """Arrivals in nanoseconds since the first request."""
        return self._requests.column("time_ns")

    @property
    def op(self) -> "npt.NDArray[np.uint8]":
        """Operations: 0 read, 1 write, 2 trim, 3 flush."""
        return self._requests.column("op")

    @property
    def offset(self) -> "npt.NDArray[np.uint64]":
        """First bytes addressed."""
        return self._requests.column("offset")

    @property
    def bytes(self) -> "npt.NDArray[np.uint32]":
        """Lengths in bytes."""
        return self._requests.column("bytes")

    def __len__(self) -> int:
        return len(self._requests)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.columns(), self.streams, self.ingest)

    def to_arrow(self) -> "pa.Table":
        """The trace as a pyarrow Table; `op` becomes a dictionary of names."""
        from ssdlab.parquet import table_of

        return table_of(self._requests, self.streams)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The trace for any Arrow library: `polars.from_arrow(trace)`, `pyarrow.table(trace)`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Writes the trace to a file.

        Args:
            path: The file; compressed if its name ends in `.gz` or `.zst`.
            format: Name of the format; recognised by the file's name if left out.

        Raises:
            TraceError: If the file cannot be written or the format cannot hold the trace.
        """
        from ssdlab.convert import write

        write(iter([self._requests]), path, format=format, streams=lambda: list(self.streams))

    def profile(self) -> dict[str, Any]:
        """What the trace is like: volumes, sizes, footprint, sequentiality; see `TraceFile.profile`."""
        profile = _ssdlab.Profile()
        profile.add(self._requests)
        return profile.figures()

    def intervals(self, *, page: str = PAGE, logs: Sequence[str] = LOGS) -> WriteIntervals:
        """When written pages are written again; see `TraceFile.intervals`."""
        return measure(
            lambda _: [self._requests],
            page=page,
            logs=logs,
            source={"kind": "memory", "requests": len(self)},
            ingest=lambda: self.ingest,
        )

    def analyze(self, *, range: str = RANGE) -> TraceAnalysis:
        """Where, how far apart, how large, how much at a time, in which order and when; see `TraceFile.analyze`."""
        return measure_analysis(
            [self._requests],
            range=range,
            source={"kind": "memory", "requests": len(self)},
            ingest=lambda: self.ingest,
        )

    def __repr__(self) -> str:
        return f"<ssdlab.Trace of {len(self):,} requests>"


def _rebuilt(columns: "dict[str, npt.NDArray[Any]]", streams: Sequence[str], ingest: dict[str, Any] | None) -> Trace:
    """A pickled or copied trace."""
    trace = Trace.from_columns(**columns, streams=streams)
    trace.ingest = ingest
    return trace


class TraceFile:
    """A trace on disk that is streamed, never loaded as a whole; every pass reads it from the front.

    Args:
        paths: The files of one trace, in order. Compression (gzip, zstd) is recognised by content.
        format: Name of the format; recognised by content if left out.
        device: Which device's requests to take: a name as `report` prints it, `"all"` to lay all devices side
            by side, or None for the device of the first request.
        action: Which event of a request's life to take from blkparse and blktrace traces: `queue` (the
            default), `issue` or `complete`.
        skip_bad: Count malformed lines instead of stopping at the first.

    Raises:
        TraceError: When a pass starts or goes on, never here.
    """

    def __init__(
        self,
        *paths: str | os.PathLike[str],
        format: str | None = None,
        device: str | None = None,
        action: str | None = None,
        skip_bad: bool = False,
    ) -> None:
        if not paths:
            raise TraceError("no trace file given; name at least one")
        self.paths = [Path(path) for path in paths]
        self.format = format
        self.device = device
        self.action = action
        self.skip_bad = skip_bad

    def open(self) -> TraceSource:
        """Starts a pass.

        Raises:
            TraceError: If a file cannot be opened or its format is not known.
        """
        from ssdlab.parquet import ParquetReader, is_parquet

        if self.format == "parquet" or (self.format is None and any(is_parquet(path) for path in self.paths)):
            if self.device not in (None, "all"):
                raise TraceError(f"device {self.device!r} is not in the trace: Parquet names none; leave it out")
            return ParquetReader(self.paths)
        return _ssdlab.Reader(self.paths, self.format, self.device, self.action, self.skip_bad)

    def load(self) -> Trace:
        """Reads the whole trace into memory.

        Raises:
            TraceError: As `open`, or where the content is at fault.
        """
        source = self.open()
        requests = _ssdlab.Requests.concatenate(list(batches(source)))
        return Trace(requests, source.streams(), source.report())

    def profile(self) -> dict[str, Any]:
        """What the trace is like, from one pass in bounded memory.

        Raises:
            TraceError: As `load`.
        """
        profile = _ssdlab.Profile()
        for batch in batches(self.open()):
            profile.add(batch)
        return profile.figures()

    def intervals(
        self, *, page: str = PAGE, logs: Sequence[str] = LOGS, monitor: "Monitor | None" = None
    ) -> WriteIntervals:
        """When written pages are written again, from two passes; memory is 24 bytes for each page written, and as
        much for its neighbours in groups of 64.

        Args:
            page: Size of a page.
            logs: Sizes of a log to count against: a share of the written pages (`"10%"`), a size (`"64MiB"`) or a
                number of pages (`"4096"`).
            monitor: Told how far a pass is, as that of `simulate`, in the phases `scan` and `count`. If it returns
                something true, KeyboardInterrupt is raised.

        Raises:
            TraceError: As `load`, if the trace writes nothing, or if a size cannot be.
        """
        source: TraceSource | None = None

        def one_pass(phase: str) -> Iterator[_ssdlab.Requests]:
            nonlocal source
            source = self.open()
            requests = 0
            for batch in batches(source):
                requests += len(batch)
                if monitor is not None and monitor(phase, *source.progress(), requests):
                    raise KeyboardInterrupt("stopped while counting write intervals")
                yield batch

        return measure(
            one_pass,
            page=page,
            logs=logs,
            source={"kind": "trace", **self.describe()},
            ingest=lambda: source.report() if source else None,
        )

    def analyze(self, *, range: str = RANGE, monitor: "Monitor | None" = None) -> TraceAnalysis:
        """Where, how far apart, how large, how much at a time, in which order and when, from one pass in at most some
        240 MiB however long the trace.

        Args:
            range: Size of the ranges in which addresses are counted, from `"512B"` to `"1TiB"`.
            monitor: Told how far the pass is, as that of `simulate`, in the phase `scan`. If it returns something
                true, KeyboardInterrupt is raised.

        Raises:
            TraceError: As `load`, if no request addresses anything, or if the range cannot be.
        """
        source = self.open()

        def one_pass() -> Iterator[_ssdlab.Requests]:
            requests = 0
            for batch in batches(source):
                requests += len(batch)
                if monitor is not None and monitor("scan", *source.progress(), requests):
                    raise KeyboardInterrupt("stopped while analysing")
                yield batch

        return measure_analysis(
            one_pass(), range=range, source={"kind": "trace", **self.describe()}, ingest=source.report
        )

    def describe(self) -> dict[str, Any]:
        """How the trace was chosen, for a result: paths and options that were given."""
        options = {"format": self.format, "device": self.device, "action": self.action}
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        if self.skip_bad:
            given["skip_bad"] = True
        return {"paths": [str(path) for path in self.paths], **given}

    def __repr__(self) -> str:
        return f"<ssdlab.TraceFile {', '.join(map(str, self.paths))}>"


def read_trace(
    *paths: str | os.PathLike[str],
    format: str | None = None,
    device: str | None = None,
    action: str | None = None,
    skip_bad: bool = False,
) -> Trace:
    """Reads a trace into memory; for traces too large for that, pass a `TraceFile` to `simulate`.

    The arguments are those of `TraceFile`.

    Raises:
        TraceError: File, place, fault and remedy in one line.
    """
    return TraceFile(*paths, format=format, device=device, action=action, skip_bad=skip_bad).load()


def generate(config: Config | None = None) -> Trace:
    """The workload of `config` (its `workload` settings) as a trace in memory.

    The same configuration and `seed` give the same requests.

    Raises:
        ConfigError: If the workload cannot be generated.
    """
    generator = _ssdlab.Generator((config or Config())._inner)
    return Trace(_ssdlab.Requests.concatenate(list(batches(generator))), generator.streams())
