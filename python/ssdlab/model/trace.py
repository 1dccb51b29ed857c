"""Traces in memory, and generated workloads."""

import os
from collections.abc import Sequence
from typing import Any

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import TraceError
from ssdlab.lazy import np, npt, pa, room
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, config_of
from ssdlab.model.conversion import write
from ssdlab.model.devices import chosen, no_devices
from ssdlab.model.frame import Frame, Streams, Words
from ssdlab.model.parquet import order_report, stream_names, table_of
from ssdlab.model.requests import RequestSource, array, batches, comparable, from_columns, since_first, unsigned
from ssdlab.model.source import Source, source_text


class Trace(Source):
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
    stream    uint16 index into `streams`; 0 for no stream
    ========= ====== =========================================================
    """

    def __init__(
        self, requests: _ssdlab.Requests, streams: Sequence[str] = (), ingest: dict[str, Any] | None = None
    ) -> None:
        self._requests = requests
        self.streams = tuple(streams)
        """Names of the streams of the trace."""
        self.ingest = ingest
        """Report on reading the trace: `counts`, `notes` and so on. None unless the trace comes from a file, or from a
        table with devices or unsorted rows.
        """

    @classmethod
    @takes(streams=["log", "data"])
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
        """Creates a trace from columns of equal length.

        Args:
            op: Operations: numbers 0 to 3, booleans (true writes), or words such as `R`, `READ`, `write`, `D`, `trim`
                or `flush`.
            offset: First bytes addressed.
            bytes: Lengths in bytes; only a flush may have 0.
            time_ns: Arrivals, not decreasing and relative to the first: nanoseconds, durations, or dates with time. All
                0 by default.
            flags: Flag bits; none by default.
            stream: Indices into `streams`, or the names themselves; all 0 by default.
            streams: Names of the streams, for indices. Number 0 means no stream: unless the first name is empty, an
                empty name is inserted before it, and numbers are the indices plus 1.

        Raises:
            TraceError: If a value is invalid; the message names the row and column.
        """
        streams, named = [*streams], None if stream is None else array("stream", stream)
        if named is not None and named.dtype.kind in "UOS":
            met = Streams()
            stream = met.numbers("stream", Words.of(named.tolist()))
            streams = met.listed
        elif streams and streams[0]:
            # Stream number 0 means "no stream", so it gets an empty name.
            streams = ["", *streams]
            stream = None if named is None else unsigned("stream", named, "uint16").astype(np.uint32) + 1
        times = None if time_ns is None else since_first("time_ns", time_ns)
        requests = from_columns(time_ns=times, op=op, offset=offset, bytes=bytes, flags=flags, stream=stream)
        return cls(requests, streams)

    @classmethod
    @takes(device="all")
    def from_arrow(cls, data: Any, device: str | None = None) -> "Trace":
        """Creates a trace from Arrow data: anything with `__arrow_c_stream__`, such as a pyarrow Table.

        Columns are named as in this class, or have other common names (`timestamp`, `type`, `lba` in sectors, `size`,
        `process` and so on). Operations are numbers, booleans or words. Times may be dates or durations, relative to
        the first. Streams may be names. Operation, offset and size are required; unknown columns are ignored. Rows are
        sorted by time; `ingest` counts the rows that were out of order.

        Args:
            data: The rows.
            device: Device to select if a column (`device`, `volume` and so on) names devices: a name, `"all"` to place
                all end to end, `"overlay"` to overlay them, or None for the device of the first request; `ingest` lists
                the other devices.

        Raises:
            TraceError: If a value is invalid, or the device does not exist. The message names the row and column, or
                lists the devices.
        """
        try:
            table = data if isinstance(data, pa.Table) else pa.table(data)
        except (TypeError, ValueError) as error:
            reason = " ".join(str(one) for one in error.args)
            raise TraceError(
                f"{type(data).__name__} is not Arrow data: {reason}; pass a table or a data frame"
            ) from None
        frame = Frame(table.schema, "the table")
        columns = frame.columns(table)
        if "time_ns" in columns:
            columns["time_ns"] = comparable(frame.held["time_ns"][0], columns["time_ns"])
        streams = frame.streams.listed or stream_names(table.schema.metadata)
        requests = from_columns(**columns, called=frame.called, in_order=False)
        devices = frame.devices(table)
        if devices is not None:
            return cls(*chosen(requests, devices, streams, device))
        no_devices(device, "the table")
        order = _ssdlab.InOrder()
        order.push(requests)
        order.turn()
        ingest = order_report("table", len(requests), order) if any(order.counts()) else None
        return cls(order.take(len(requests)), streams, ingest)

    @classmethod
    def from_frame(cls, frame: Any, device: str | None = None) -> "Trace":
        """Creates a trace from a Polars or pandas data frame; see `from_arrow`.

        Raises:
            TraceError: If a value is invalid; the message names the row and column.
        """
        return cls.from_arrow(frame, device)

    def columns(self) -> dict[str, "npt.NDArray[Any]"]:
        """Returns all columns by name."""
        return self._requests.columns()

    @property
    def time_ns(self) -> "npt.NDArray[np.uint64]":
        """Arrival time of each request in nanoseconds since the first request."""
        return self._requests.column("time_ns")

    @property
    def op(self) -> "npt.NDArray[np.uint8]":
        """Operation of each request: 0 read, 1 write, 2 trim, 3 flush."""
        return self._requests.column("op")

    @property
    def offset(self) -> "npt.NDArray[np.uint64]":
        """First byte addressed by each request."""
        return self._requests.column("offset")

    @property
    def bytes(self) -> "npt.NDArray[np.uint32]":
        """Length of each request in bytes."""
        return self._requests.column("bytes")

    def __len__(self) -> int:
        return len(self._requests)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.columns(), self.streams, self.ingest)

    def to_arrow(self) -> "pa.Table":
        """Converts the trace to a pyarrow Table; `op` becomes a dictionary-encoded column of operation names."""
        return table_of(self._requests, self.streams)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Exports the trace to any Arrow library: `polars.from_arrow(trace)`, `pyarrow.table(trace)`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @takes(path="t.parquet", format="parquet")
    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Writes the trace to a file in any writable format.

        Args:
            path: File to write; compressed if its name ends in `.gz` or `.zst`.
            format: Name of the format; by default implied by the name of the file.

        Raises:
            TraceError: If the file cannot be written or the format cannot hold the trace.
        """
        write(iter([self._requests]), path, format=format, streams=lambda: list(self.streams), ingest=self.ingest)

    def open(self) -> RequestSource:
        """Starts a pass over the requests."""
        return _InMemory(self)

    def beyond(self, capacity_bytes: int) -> str | None:
        """Describes the first request past the end of its device; None if all fit."""
        return self._requests.beyond(capacity_bytes, source_text(self.about), 0)

    @property
    def about(self) -> dict[str, Any]:
        """Description of the trace in memory, for results."""
        return {"kind": "memory", "requests": len(self)}

    def report_of(self, reader: RequestSource) -> dict[str, Any] | None:
        """Returns the report on reading the trace from a file."""
        return self.ingest

    def __repr__(self) -> str:
        return f"<ssdlab.Trace of {text.counted(len(self), 'requests')}>"

    def _repr_html_(self) -> str:
        return str(room("view.html").in_notebook(room("view.pages.requests").page(self)))


def _rebuilt(columns: dict[str, Any], streams: Sequence[str], ingest: dict[str, Any] | None) -> Trace:
    """Restores a pickled or copied trace."""
    return Trace(_ssdlab.Requests.from_columns(**columns), streams, ingest)


class _InMemory:
    """A pass over requests in memory; all requests form a single batch."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._left = trace._requests

    def read(self, max: int) -> _ssdlab.Requests:
        batch, self._left = self._left, _ssdlab.Requests.concatenate([])
        return batch

    def progress(self) -> tuple[int, int | None]:
        return len(self._trace) - len(self._left), len(self._trace)

    def streams(self) -> list[str]:
        return list(self._trace.streams)


class Workload(Source):
    """The generated workload of a configuration."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def open(self) -> RequestSource:
        """Starts a pass that generates the requests."""
        return _ssdlab.Generator(self._config._inner)

    @property
    def about(self) -> dict[str, Any]:
        """Describes the generated workload by its settings."""
        prefix = "workload."
        settings = {key.removeprefix(prefix): value for key, value in self._config.items() if key.startswith(prefix)}
        return {"kind": "workload", **settings}

    def has_times(self) -> bool:
        """True if the workload generates arrival times."""
        timed = self._config["workload.arrival"] != "closed"
        return bool(timed or (self._config.plugins and room("model.plugins").is_timed(self._config)))


def generate(config: Config | Overrides | None = None) -> Trace:
    """Generates the workload of `config` as a trace in memory.

    The same configuration and `seed` give the same requests.

    Raises:
        ConfigError: If the workload cannot be generated.
    """
    generator = _ssdlab.Generator(config_of(config)._inner)
    return Trace(_ssdlab.Requests.concatenate(list(batches(generator))), generator.streams())
