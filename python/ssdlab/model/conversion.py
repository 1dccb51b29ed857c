"""Writing traces in any format that can be written."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import TraceError
from ssdlab.model.files import naming, refuse_drive, replacing
from ssdlab.model.parquet import ParquetWriter


class Format(NamedTuple):
    """A trace format."""

    name: str
    """What `--format` takes."""
    help: str
    """What it is, in one line."""
    writable: bool
    """Whether it can be written."""
    objects: bool
    """Whether its requests are for objects of a cache, which lie at no address of a drive."""


FORMATS = [
    *(Format(*entry) for entry in _ssdlab.formats()),
    Format("parquet", "Parquet with named columns; keeps every field", True, False),
]
"""Every format that can be read."""

CSV = "ssdlab-csv"

OBJECTS = [one.name for one in FORMATS if one.objects]
"""Those for caches."""

KEEP_OBJECTS = [*OBJECTS, "parquet"]
"""What objects can be written in: the rest address a drive."""

Count = tuple[str, str, str, int]
"""Name, unit, help and value of a counter."""


def objects_of(ingest: Mapping[str, Any] | None) -> str | None:
    """In which format requests for objects of a cache were read; None of all others."""
    read: str | None = None if ingest is None else ingest.get("format")
    return read if read in OBJECTS else None


def _to_write(name: str) -> str:
    """The format of this name, in any case.

    Raises:
        TraceError: If there is none, or it cannot be written.
    """
    formats = {one.name: one for one in FORMATS}
    writable = [one.name for one in FORMATS if one.writable]
    meant = _ssdlab.named(name, [*formats])
    if meant is not None and formats[meant].writable:
        return meant
    why = f"{name!r} is not a trace format" if meant is None else f"{meant} can be read but not written"
    near = text.suggestion(name, writable) if meant is None else ""
    raise TraceError(why + (near or f"; write one of {', '.join(writable)}"))


def format_of(path: str | os.PathLike[str], option: str) -> str:
    """The format that the name of a file to be written asks for; where it does not, `option` names one.

    Raises:
        TraceError: If the name does not tell.
    """
    suffixes = [suffix for suffix in Path(path).suffixes if suffix not in (".gz", ".zst")]
    if suffixes and suffixes[-1] == ".parquet":
        return "parquet"
    if suffixes and suffixes[-1] == ".csv":
        return CSV
    raise TraceError(
        f"{text.path(path)}: the name does not tell a format; end it in .csv or .parquet, or give the format with "
        f"{option}"
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
    """Writes batches of requests to a file, which appears whole or not at all.

    Args:
        batches: The requests.
        path: The file; compressed if its name ends in `.gz` or `.zst` (Parquet always is).
        format: Name of the format; by the name of the file if None.
        streams: Asked for the names of the streams after each batch.
        option: What gives the format, for messages.
        ingest: How the requests were read, if they were.

    Returns:
        What became of the requests: how many were written, and what the format could not keep.

    Raises:
        ConfigError: If the file is a drive.
        TraceError: If the file cannot be written or the format not be written to.
    """
    refuse_drive(Path(path), text.path(path))
    chosen = _to_write(format) if format else format_of(path, option)
    objects = objects_of(ingest)
    if objects is not None and chosen not in KEEP_OBJECTS:
        raise TraceError(
            f"{text.path(path)}: {chosen} is of addresses of a drive, at none of which the objects of {objects} lie; "
            f"write one of {', '.join(KEEP_OBJECTS)} with {option}"
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
        raise TraceError(f"{text.path(path)}: cannot be written: {reason}; check the directory and its room") from None
    return [("requests", "requests", "Requests written.", requests)]
