"""Converts columns of a data frame to trace columns. Recognises common column names, units and operation words."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ssdlab import _ssdlab
from ssdlab._ssdlab import TraceError
from ssdlab.lazy import np, npt, pa

_S, _MS, _US = 10**9, 10**6, 10**3
SPELLINGS: dict[str, dict[str, int | None]] = {
    "time_ns": {
        "time_ns": 1, "time_us": _US, "time_ms": _MS, "time_s": _S, "timestamp_ns": 1, "timestamp_us": _US,
        "timestamp_ms": _MS, "timestamp_s": _S, "arrival_ns": 1, "arrival_us": _US, "arrival_ms": _MS, "arrival_s": _S,
        "time": None, "timestamp": None, "datetime": None, "arrival": None, "arrival_time": None, "ts": None,
    },
    "op": dict.fromkeys(("op", "operation", "opcode", "type", "io_type", "iotype", "rw", "is_write"), 1),
    "offset": {
        "offset": 1, "offset_bytes": 1, "byte_offset": 1, "address": 1, "addr": 1,
        "sector": 512, "lba": 512, "lbn": 512, "offset_sectors": 512,
    },
    "bytes": {
        "bytes": 1, "size": 1, "size_bytes": 1, "length": 1, "length_bytes": 1, "len": 1, "nbytes": 1,
        "sectors": 512, "nr_sectors": 512, "size_sectors": 512, "length_sectors": 512,
    },
    "flags": {"flags": 1},
    "stream": dict.fromkeys(("stream", "process", "pid", "comm"), 1),
    "device": dict.fromkeys(("volume", "volume_id", "device", "device_id", "disk", "lun"), 1),
}  # fmt: skip
"""Names of each trace column with their units in ns or bytes; None if the data type implies the unit."""

REQUIRED = ("op", "offset", "bytes")

FLUSH = 3
"""Operation number of a flush, which has no address."""

_MOST = {"time_ns": (1 << 63) - 1, "offset": (1 << 63) - 1, "bytes": (1 << 32) - 1}
"""Maximum allowed value of each column, in nanoseconds or bytes, after conversion from coarser units."""


class Words(NamedTuple):
    """A column of text: its distinct words, and the index of each row's word, or -1 for an empty row."""

    numbers: "npt.NDArray[Any]"
    words: Sequence[str]

    @classmethod
    def of(cls, values: Iterable[object]) -> "Words":
        """Returns the distinct words of an array, with the index of each row's word."""
        numbers: dict[str, int] = {}

        def number(value: object) -> int:
            # pandas uses NaN for missing values.
            if value is None or (isinstance(value, float) and value != value):
                return -1
            text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
            return numbers.setdefault(text, len(numbers))

        rows = np.array([number(value) for value in values], dtype=np.int64)
        return cls(rows, list(numbers))

    def mapped(self, name: str, values: Sequence[int | None], meant: str) -> "npt.NDArray[Any]":
        """Maps each row's word to a value; raises TraceError for the first row with a word that has no value."""
        empty = np.flatnonzero(self.numbers < 0)
        if empty.size:
            raise TraceError(f"row {int(empty[0])}: {name} is empty; fill or drop the row")
        wrong = [number for number, value in enumerate(values) if value is None]
        rows = np.flatnonzero(np.isin(self.numbers, wrong))
        if rows.size:
            row = int(rows[0])
            raise TraceError(f"row {row}: {name} {self.words[self.numbers[row]]!r} is not one of {meant}")
        by_row: npt.NDArray[Any] = np.array([value or 0 for value in values] or [0], dtype=np.int64)[self.numbers]
        return by_row

    def numbered(self, names: dict[str, int]) -> "npt.NDArray[np.uint32]":
        """Returns the index of each row's word in `names`, after adding new words to `names`."""
        values = [names.setdefault(word, len(names)) for word in self.words]
        found: npt.NDArray[np.uint32] = np.array(values, np.uint32)[self.numbers]
        return found


class Streams:
    """Numbers streams by name, in order of appearance; number 0 means no stream."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {"": 0}

    @property
    def listed(self) -> list[str]:
        """Returns the names of the streams in the order of their numbers; empty if no row has a stream."""
        return list(self.names) if len(self.names) > 1 else []

    def numbers(self, name: str, column: Words) -> "npt.NDArray[Any]":
        """Returns the stream number of each row."""
        values = [self.names.setdefault(word, len(self.names)) for word in column.words]
        if len(self.names) > 1 << 16:
            raise TraceError(f"column {name} has more than 65,535 different names; merge some of them")
        # An empty row has the index -1, which selects the last value of the array: 0, for no stream.
        found: npt.NDArray[Any] = np.array([*values, 0], dtype=np.int64)[column.numbers]
        return found


class Frame:
    """Extracts the trace columns from a table that is read batch by batch."""

    def __init__(self, schema: "pa.Schema", where: str) -> None:
        self.held: dict[str, tuple[str, int | None]] = {}
        """Name of the table's column, and its unit, for each trace column that the table has."""
        self.streams = Streams()
        names = [str(name) for name in schema.names]
        for column, spellings in SPELLINGS.items():
            meant = {name: _ssdlab.named(name.strip().replace(" ", "_"), list(spellings)) for name in names}
            found = [name for name in names if meant[name]]
            if len(found) > 1:
                either = " and ".join(map(repr, found)) + " match the same trace column"
                both = either if len({*found}) > 1 else f"several columns are named {found[0]!r}"
                raise TraceError(f"{where}: {column}: {both}; keep only one of them")
            if found:
                self.held[column] = (found[0], spellings[meant[found[0]] or column])
            elif column in REQUIRED:
                known = ", ".join(list(spellings)[1:4])
                raise TraceError(
                    f"{where}: no column {column!r} (also accepted: {known}); rename one of "
                    f"{', '.join(names) or 'its columns'}"
                )

    @property
    def called(self) -> dict[str, str]:
        """Maps each trace column to the table's name for it."""
        return {column: name for column, (name, _) in self.held.items()}

    def columns(self, table: "pa.Table | pa.RecordBatch") -> dict[str, Any]:
        """Returns the columns of a batch as arguments of `from_columns`."""
        return {column: self._column(column, table) for column in self.held if column != "device"}

    def devices(self, table: "pa.Table | pa.RecordBatch") -> Words | None:
        """Returns the device of each row of a batch; None if there are no device names."""
        if "device" not in self.held or not table.num_rows:
            return None
        return _words(self._values("device", table))

    def _values(self, column: str, table: "pa.Table | pa.RecordBatch") -> "pa.Array":
        """Returns a column, where only stream names, and offset and size of flushes, may be empty."""
        name, _ = self.held[column]
        values = table.column(name)
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if not values.null_count or (column == "stream" and _is_text(values.type)):
            return values
        empty = values.is_null().to_numpy(zero_copy_only=False)
        if column in ("offset", "bytes") and not _is_text(values.type):
            empty &= ~self._flushes(table)
        if empty.any():
            raise TraceError(f"row {int(empty.argmax())}: {name} is empty; fill or drop the row")
        return values.cast(pa.uint64() if pa.types.is_null(values.type) else values.type).fill_null(0)

    def _flushes(self, table: "pa.Table | pa.RecordBatch") -> "npt.NDArray[np.bool_]":
        """Returns a boolean for each row: True if the row is a flush."""
        op = self._column("op", table)
        if isinstance(op, Words):
            numbers = [number for number, word in enumerate(op.words) if _ssdlab.operation(word) == FLUSH]
            return np.isin(op.numbers, numbers)
        flushes: npt.NDArray[np.bool_] = op == FLUSH
        return flushes

    def _column(self, column: str, table: "pa.Table | pa.RecordBatch") -> "Words | npt.NDArray[Any]":
        if not table.num_rows:
            # Arrow may give any type to a column without values.
            return np.zeros(0, np.uint64)
        name, unit = self.held[column]
        values = self._values(column, table)
        is_text = _is_text(values.type)
        if column == "time_ns":
            return self._times(name, unit, values)
        if column == "stream" and (is_text or name in ("pid", "process")):
            return self.streams.numbers(name, _words(values))
        if column == "op" and is_text:
            return _words(values)
        if is_text or pa.types.is_nested(values.type) or pa.types.is_temporal(values.type):
            raise TraceError(
                f"column {name} has type {values.type}; use numbers" + (" or words" if column == "op" else "")
            )
        return _scaled(column, name, values.to_numpy(zero_copy_only=False), unit or 1)

    def _times(self, name: str, unit: int | None, values: "pa.Array") -> "npt.NDArray[Any]":
        if pa.types.is_date(values.type):
            values = values.cast(pa.timestamp("ms"))
        kind = values.type
        if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
            to = pa.timestamp("ns", kind.tz) if pa.types.is_timestamp(kind) else pa.duration("ns")
            try:
                found: npt.NDArray[Any] = values.cast(to).to_numpy(zero_copy_only=False)
            except pa.ArrowException:
                raise TraceError(
                    f"column {name} has times that do not fit in 64-bit nanoseconds; shift the times"
                ) from None
            return found
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise TraceError(f"column {name} has type {kind}; use numbers, dates or durations")
        if unit is None:
            raise TraceError(f"column {name} has no unit; rename it to time_ns, time_us, time_ms or time_s")
        return _scaled("time_ns", name, values.to_numpy(zero_copy_only=False), unit)


def _is_text(kind: "pa.DataType") -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(is_kind(kind) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _words(values: "pa.Array") -> Words:
    if not pa.types.is_dictionary(values.type):
        values = values.cast(pa.string()).dictionary_encode()
    return Words(
        values.indices.fill_null(-1).to_numpy(zero_copy_only=False),
        [str(word) for word in values.dictionary.to_pylist()],
    )


def _scaled(column: str, name: str, values: "npt.NDArray[Any]", unit: int) -> "npt.NDArray[Any]":
    """Converts a column to nanoseconds or bytes, rounding floats. Error messages quote the table's unit."""
    if unit == 1:
        return values
    # A float may be rounded up when it is converted to the base unit, so the maximum for floats is lower by one. NaN
    # also fails this range check.
    most = _MOST[column] // unit - (values.dtype.kind == "f")
    wrong = np.flatnonzero(~((values >= 0) & (values <= most)))
    if wrong.size:
        row = int(wrong[0])
        is_nan = values[row] != values[row]
        each = f"{unit:,} {'ns' if column == 'time_ns' else 'bytes'}"
        why = "is not a number; fill or drop the row" if is_nan else f"is not between 0 and {most}, in units of {each}"
        raise TraceError(f"row {row}: {name} {values[row]} {why}")
    if values.dtype.kind == "f":
        # A float has too few digits for a date in nanoseconds. The whole and the fractional part are therefore
        # converted separately.
        whole = np.floor(values)
        part = np.round((values - whole).astype(np.float64) * unit)
        scaled: npt.NDArray[Any] = whole.astype(np.int64) * unit + part.astype(np.int64)
        return scaled
    return values.astype(np.int64) * unit
