"""Traces as Parquet. Columns: `time_ns` (u64), `op` (operation names), `offset` (u64), `bytes` (u32), `flags` (u8) and
`stream` (u16).

Other columns are read like data-frame columns. The names of the streams are a JSON list under `ssdlab.streams` in the
file's metadata. Files are streamed by row group.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import TraceError
from ssdlab.lazy import np, pa, pq
from ssdlab.model.frame import Frame, Words
from ssdlab.model.requests import BATCH, OPS, comparable, from_columns, ingest_report, moments

STREAMS_KEY = b"ssdlab.streams"
ROW_GROUP = 1 << 20


def _begins(path: Path, *marks: bytes) -> bool:
    """True if a regular file begins with one of these marks; false if it cannot be opened, which its reader reports."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(6).startswith(marks)
    except OSError:
        return False


def are_parquet(named: Sequence[tuple[Path, Path]]) -> bool:
    """True if all files are Parquet, false if none is; rejects mixtures. Messages show the second path of each pair."""
    for path, name in named:
        if _begins(path, b"ARROW1", b"FEA1"):
            shown, made = text.path(name), text.path(name.with_suffix(".parquet"))
            code = f"from pyarrow import feather, parquet; parquet.write_table(feather.read_table('{shown}'), '{made}')"
            raise TraceError(f'{shown}: is a Feather file; save it as Parquet: python -c "{code}"')
    yes, no = ([name for path, name in named if _begins(path, b"PAR1") is whether] for whether in (True, False))
    if yes and no:
        raise TraceError(
            f"{text.path(yes[0])} is Parquet and {text.path(no[0])} is not; convert one of them first, with "
            "'ssdlab trace convert'"
        )
    return bool(yes)


def stream_names(metadata: Mapping[bytes, bytes] | None) -> list[str]:
    """Returns the names of the streams in the metadata of a file or table."""
    text = (metadata or {}).get(STREAMS_KEY)
    try:
        names = json.loads(text) if text else []
    except ValueError:
        names = None
    if not isinstance(names, list):
        raise TraceError(f"the metadata {STREAMS_KEY.decode()!r} is not a JSON list; drop or correct it")
    return [str(name) for name in names]


def _schema() -> "pa.Schema":
    return pa.schema(
        [
            ("time_ns", pa.uint64()),
            ("op", pa.dictionary(pa.int8(), pa.string())),
            ("offset", pa.uint64()),
            ("bytes", pa.uint32()),
            ("flags", pa.uint8()),
            ("stream", pa.uint16()),
        ]
    )


def table_of(requests: _ssdlab.Requests, streams: Sequence[str] = ()) -> "pa.Table":
    """Returns requests as an Arrow table, with the names of the streams in its metadata."""
    columns = requests.columns()
    names = pa.array(OPS, pa.string())
    columns["op"] = pa.DictionaryArray.from_arrays(columns["op"].astype("int8"), names)
    schema = _schema().with_metadata({STREAMS_KEY: json.dumps(list(streams))} if streams else None)
    return pa.table(columns, schema=schema)


def requests_of(table: "pa.Table") -> _ssdlab.Requests:
    """Converts a table made by `table_of` back to requests."""
    return from_columns(**Frame(table.schema, "the table").columns(table))


class ParquetRows:
    """The rows of the Parquet files of a trace, in order."""

    def __init__(self, named: Sequence[tuple[Path, Path]], *, epoch: bool = False) -> None:
        """Opens the Parquet files of a trace. If `epoch` is true, dates count from 1970, so that the times of several
        files have a common origin; otherwise only differences between times matter.
        """
        self._epoch = epoch
        self._names = [name for _, name in named]
        self._opened = [self._open(path, name) for path, name in named]
        self._frames = [
            Frame(file.schema_arrow, text.path(name)) for file, name in zip(self._opened, self._names, strict=True)
        ]
        self._streams = self._frames[0].streams
        for frame in self._frames:
            frame.streams = self._streams
        self._tables = [stream_names(file.metadata.metadata) for file in self._opened]
        if len({tuple(table) for table in self._tables if table}) > 1:
            raise TraceError("the Parquet files number their streams differently; convert them to ssdlab-csv first")
        self._rows = self._iterate()
        self._total = sum(file.metadata.num_rows for file in self._opened)
        self._done = 0
        self._began = 0
        self._pending: pa.RecordBatch | None = None
        self.names_devices = any("device" in frame.held for frame in self._frames)
        """True if a column of at least one file names devices."""
        self.devices: Words | None = None
        """Device of each request in the batch read last; None if the file has no device names."""
        self.file = 0
        """Index of the file from which the latest requests were read."""
        self.place = (text.path(self._names[0]), 0)
        """File name and first row of the requests that were read last."""

    @staticmethod
    def _open(path: Path, name: Path) -> Any:
        if path.exists() and not path.is_file():
            raise TraceError(f"{text.path(name)}: is not a regular file; pass the Parquet files themselves")
        try:
            return pq.ParquetFile(path)
        except (OSError, pa.ArrowException) as error:
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0].rstrip(".")
            raise TraceError(f"{text.path(name)}: cannot be read as Parquet: {reason}; copy the file again") from None

    def _iterate(self) -> "Iterator[pa.RecordBatch]":
        for number, (name, file, frame) in enumerate(zip(self._names, self._opened, self._frames, strict=True)):
            self.file, self._frame = number, frame
            self._began = self._done
            try:
                yield from file.iter_batches(BATCH, columns=[*frame.called.values()])
            except (OSError, pa.ArrowException) as error:
                reason = str(error).splitlines()[0].rstrip(".")
                raise TraceError(f"{text.path(name)}: reading failed: {reason}; copy the file again") from None

    def read(self, max: int) -> _ssdlab.Requests:
        """Returns at most `max` requests from the next rows, with times as in the file; an empty batch at the end."""
        while self._pending is None or self._pending.num_rows == 0:
            self._pending = next(self._rows, None)
            if self._pending is None:
                return _ssdlab.Requests.concatenate([])
        batch, self._pending = self._pending.slice(0, max), self._pending.slice(max)
        name, first = text.path(self._names[self.file]), self._done - self._began
        try:
            columns = self._frame.columns(batch)
            if "time_ns" in columns:
                columns["time_ns"] = self._times(columns["time_ns"])
            requests = from_columns(**columns, called=self._frame.called, in_order=False)
            self.devices = self._frame.devices(batch)
        except TraceError as error:
            # The error numbers rows from the start of the batch, but the message must number them from the start of the
            # file.
            why = re.sub(r"^row (\d+)", lambda row: f"row {first + int(row[1])}", str(error))
            raise TraceError(f"{name}: {why}") from None
        self.place = (name, first)
        self._done += batch.num_rows
        return requests

    def _times(self, values: Any) -> Any:
        """Converts the times of a batch to unsigned integers that sort in the same order."""
        name, _ = self._frame.held["time_ns"]
        times = moments(name, values)
        if not self._epoch or times.dtype.kind not in "mM":
            return comparable(name, times)
        counted = times.astype(f"{times.dtype.kind}8[ns]").view(np.int64)
        wrong = np.flatnonzero(counted < 0)
        if wrong.size:
            raise TraceError(f"row {int(wrong[0])}: {name} {times[wrong[0]]} is before 1970; shift the times")
        return counted.view(np.uint64)

    def rewind(self) -> None:
        """Goes back to the first request."""
        self._rows = self._iterate()
        self._done, self._pending = 0, None

    def progress(self) -> tuple[int, int | None]:
        """Returns the number of rows read so far, and the total number of rows."""
        return self._done, self._total

    def streams(self) -> list[str]:
        """Returns the names of the streams seen so far."""
        return next((table for table in self._tables if table), self._streams.listed)


def order_report(format: str, requests: int, order: _ssdlab.InOrder) -> dict[str, Any]:
    """Returns the report on reading a table, with the numbers of rows that `order` found out of order."""
    out_of_order, late = order.counts()
    counts = {"requests": requests, "out_of_order": out_of_order, "late": late}
    return ingest_report(format, [(*counter, counts.get(counter[0], 0)) for counter in _ssdlab.ingest_counters()])


class TableReader(ABC):
    """A pass over table rows that sorts them by time. The times of a file continue from the end of the previous one."""

    def __init__(self, rows: ParquetRows) -> None:
        """Creates a reader that starts at the first row."""
        self._rows = rows
        self._begin()

    def _begin(self) -> None:
        self._order, self._file, self._ended = _ssdlab.InOrder(), 0, False

    @abstractmethod
    def _taken(self) -> _ssdlab.Requests | None:
        """Returns the next requests of the selected devices in file order; None at the end."""

    def read(self, max: int) -> _ssdlab.Requests:
        """Returns at most `max` next requests; an empty batch at the end."""
        while not len(batch := self._order.take(max)) and not self._ended:
            taken = self._taken()
            if taken is None or self._rows.file != self._file:
                self._order.turn()
                self._file = self._rows.file
            if taken is None:
                self._ended = True
                if not self.progress()[1]:
                    raise TraceError(f"{self._rows.place[0]}: contains no requests; use a trace with reads or writes")
            else:
                self._order.push(taken)
        return batch

    def rewind(self) -> None:
        """Goes back to the first request."""
        self._rows.rewind()
        self._begin()

    def progress(self) -> tuple[int, int | None]:
        """Returns the number of rows read so far, and the total number of rows."""
        return self._rows.progress()

    def format(self) -> str:
        """Returns the name of the format."""
        return "parquet"

    @abstractmethod
    def streams(self) -> list[str]:
        """Returns the names of the streams seen so far."""

    def report(self) -> dict[str, Any]:
        """Returns the report on reading the trace, which is complete only at the end of the trace."""
        return order_report(self.format(), self.progress()[0], self._order)


class ParquetReader(TableReader):
    """A pass over all rows of the Parquet files of a trace."""

    def _taken(self) -> _ssdlab.Requests | None:
        requests = self._rows.read(BATCH)
        return requests if len(requests) else None

    def beyond(self, capacity_bytes: int) -> str | None:
        """Describes the first request past the end of the device; None if all fit."""
        while len(batch := self._rows.read(BATCH)):
            if (fault := batch.beyond(capacity_bytes, *self._rows.place)) is not None:
                return fault
        return None

    def streams(self) -> list[str]:
        """Returns the names of the streams seen so far."""
        return self._rows.streams()


class ParquetWriter:
    """Writes a trace as Parquet, compressed with zstd."""

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetWriter(path, _schema(), compression="zstd")
        self._waiting: list[_ssdlab.Requests] = []

    def write(self, requests: _ssdlab.Requests) -> None:
        """Appends requests to the file; writes full row groups."""
        self._waiting.append(requests)
        if sum(map(len, self._waiting)) >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._file.write_table(table_of(_ssdlab.Requests.concatenate(self._waiting)), row_group_size=ROW_GROUP)
        self._waiting = []

    def name_streams(self, streams: Sequence[str]) -> None:
        """Writes the names of the streams, which may be known only at the end."""
        if streams:
            self._file.add_key_value_metadata({STREAMS_KEY: json.dumps(list(streams))})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._flush()
        self._file.close()
