"""The trace that `ssdlab serve` writes of the requests of clients."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ssdlab import text
from ssdlab._ssdlab import ConfigError, is_drive
from ssdlab.lazy import room
from ssdlab.model.files import naming, replacing
from ssdlab.model.service import DriveServer


@contextmanager
def recording(record: Path | None) -> Iterator[Callable[[DriveServer], None]]:
    """What writes the requests of a server up to now to the trace; that appears whole, at the end."""
    if record is None:
        yield lambda _server: None
        return
    with naming(record):
        _refuse_drive(record)
        with replacing(record) as hidden:
            with room("model.parquet").ParquetWriter(hidden) as writer:

                def write(server: DriveServer) -> None:
                    requests = server.take_record()
                    if len(requests):
                        with naming(record):
                            writer.write(requests)

                yield write
            # One may have come there meanwhile.
            _refuse_drive(record)


def _refuse_drive(record: Path) -> None:
    """A trace would take the place of the file, which another server may even be at."""
    if is_drive(record):
        raise ConfigError(f"--record {text.path(record)}: that is a drive; name another file for the trace")
