"""The trace that `ssdlab serve` writes of the requests of clients."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ssdlab import text
from ssdlab.lazy import room
from ssdlab.model.files import naming, refuse_drive, replacing
from ssdlab.model.service import DriveServer


@contextmanager
def recording(record: Path | None) -> Iterator[Callable[[DriveServer], None]]:
    """What writes the requests of a server up to now to the trace; that appears whole, at the end."""
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
            # One may have come there meanwhile.
            refuse_drive(record, named)
