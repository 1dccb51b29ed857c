"""Writes traces in any writable format."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import TraceError
from ssdlab.model.files import naming, refuse_drive, replacing
from ssdlab.model.parquet import ParquetWriter


class Format(NamedTuple):
    """A trace format that ssdlab reads."""

    name: str
    """Name of the format, as in `--format`."""
    help: str
    writable: bool
    """True if ssdlab can write the format."""
    objects: bool
    """True if requests in this format access cache objects instead of drive addresses."""


def all_formats() -> list[Format]:
    """Returns all readable formats, plug-ins included."""
    parquet = Format("parquet", "Parquet with named columns; stores all request fields", True, False)
    return [*(Format(*entry) for entry in _ssdlab.formats()), parquet]


CSV = "ssdlab-csv"

OBJECTS = [format.name for format in all_formats() if format.objects]
"""Names of the formats whose requests access cache objects."""

KEEP_OBJECTS = [*OBJECTS, "parquet"]
"""Formats that can store accesses to cache objects."""

Count = tuple[str, str, str, int]
"""A counter as a tuple of name, unit, help text and value."""


def objects_of(ingest: Mapping[str, Any] | None) -> str | None:
    """Returns the format from which cache objects were read; None for drive requests."""
    read: str | None = None if ingest is None else ingest.get("format")
    return read if read in OBJECTS else None


def _to_write(name: str) -> str:
    """Returns the exact name of a writable format; the given name may be in any letter case."""
    formats = {format.name: format for format in all_formats()}
    writable = [format.name for format in formats.values() if format.writable]
    meant = _ssdlab.named(name, [*formats])
    if meant is not None and formats[meant].writable:
        return meant
    why = f"unknown trace format {name!r}" if meant is None else f"{meant} can be read but not written"
    near = text.suggestion(name, writable) if meant is None else ""
    raise TraceError(why + (near or f"; choose one of {', '.join(writable)}"))


def format_of(path: str | os.PathLike[str], option: str) -> str:
    """Returns the format implied by a file name. `option` is the option for the format that messages name."""
    suffixes = [suffix for suffix in Path(path).suffixes if suffix not in (".gz", ".zst")]
    if suffixes and suffixes[-1] == ".parquet":
        return "parquet"
    if suffixes and suffixes[-1] == ".csv":
        return CSV
    raise TraceError(
        f"{text.path(path)}: the file name does not imply a format; use the suffix .csv or .parquet, or set {option}"
    )


def write(
    batches: Iterator[_ssdlab.Requests],
    path: str | os.PathLike[str],
    *,
    format: str | None,
    streams: Callable[[], list[str]],
    option: str = "format=",
    ingest: Mapping[str, Any] | None = None,
) -> list[Count]:
    """Writes batches of requests to a file atomically. Returns counters of the requests, and of details that the format
    could not store.

    The file is compressed if its name ends in `.gz` or `.zst` (Parquet always is). Without a format, its name implies
    one. `streams` is called after each batch, because names may appear late. Messages name the option `option`.
    `ingest` is the report on reading the requests, if they come from a trace.
    """
    refuse_drive(Path(path), text.path(path))
    chosen = _to_write(format) if format else format_of(path, option)
    objects = objects_of(ingest)
    if objects is not None and chosen not in KEEP_OBJECTS:
        raise TraceError(
            f"{text.path(path)}: {chosen} stores drive requests, but {objects} stores cache objects; "
            f"choose one of {', '.join(KEEP_OBJECTS)} with {option}"
        )
    if chosen == "parquet":
        return _write_parquet(batches, Path(path), streams)
    writer = _ssdlab.Writer(Path(path), chosen)
    for batch in batches:
        writer.write(batch, streams())
    return writer.finish()


def _write_parquet(batches: Iterator[_ssdlab.Requests], path: Path, streams: Callable[[], list[str]]) -> list[Count]:
    try:
        with naming(path), replacing(path) as temporary, ParquetWriter(temporary) as writer:
            requests = 0
            for batch in batches:
                writer.write(batch)
                requests += len(batch)
            writer.name_streams(streams())
    except OSError as error:
        reason = error.strerror or str(error)
        raise TraceError(
            f"{text.path(path)}: cannot be written: {reason}; check the directory and its free space"
        ) from None
    return [("requests", "requests", "Requests written.", requests)]
