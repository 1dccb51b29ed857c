"""Writes the trace of `ssdlab serve --record`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ssdlab import text
from ssdlab.lazy import room
from ssdlab.model.files import naming, refuse_drive, replacing
from ssdlab.model.service import DriveServer


@contextmanager
def recording(record: Path | None) -> Iterator[Callable[[DriveServer], None]]:
    """Yields a function that appends a server's new requests to `record`, whose name is temporary until the end."""
    if record is None:
        yield lambda _server: None
        return
    named = f"--record {text.path(record)}"
    with naming(record):
        refuse_drive(record, named)
        with replacing(record) as hidden:
            with room("model.parquet").ParquetWriter(hidden) as writer:

                def write(server: DriveServer) -> None:
                    requests = server.take_record()
                    if len(requests):
                        with naming(record):
                            writer.write(requests)

                yield write
            # A drive file may have been created at the trace's path in the meantime; it must not be overwritten.
            refuse_drive(record, named)
