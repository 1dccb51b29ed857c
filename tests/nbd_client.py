"""A minimal NBD client for tests, with one request at a time."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

OPTION_MAGIC = b"IHAVEOPT"
EXPORT_NAME = 1
NO_ZEROES = 1 << 1
READ, WRITE, DISCONNECT, FLUSH, TRIM, WRITE_ZEROES = 0, 1, 2, 3, 4, 6
FUA, NO_HOLE = 1, 2


class NbdError(Exception):
    """Error number in a reply."""


class Client:
    """A connection that has chosen the nameless export."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(20)
        self._socket.connect(str(path))
        assert self._receive(16) == b"NBDMAGIC" + OPTION_MAGIC
        self._receive(2)
        self._socket.sendall(struct.pack(">I", 1 | NO_ZEROES) + OPTION_MAGIC + struct.pack(">II", EXPORT_NAME, 0))
        self.size, self.flags = struct.unpack(">QH", self._receive(10))
        self._cookie = 0

    def _receive(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = self._socket.recv(count - len(parts))
            if not part:
                raise ConnectionError("the server hung up")
            parts += part
        return bytes(parts)

    def _send(self, command: int, offset: int, count: int, payload: bytes = b"", flags: int = 0) -> None:
        self._cookie += 1
        header = struct.pack(">IHHQQI", 0x25609513, flags, command, self._cookie, offset, count)
        self._socket.sendall(header + payload)

    def _ask(self, command: int, offset: int, count: int, payload: bytes = b"", flags: int = 0) -> None:
        self._send(command, offset, count, payload, flags)
        magic, error, cookie = struct.unpack(">IIQ", self._receive(16))
        assert (magic, cookie) == (0x67446698, self._cookie)
        if error:
            raise NbdError(error)

    def read(self, offset: int, count: int) -> bytes:
        """Reads bytes."""
        self._ask(READ, offset, count)
        return self._receive(count)

    def ask_and_leave(self, offset: int, count: int, times: int) -> None:
        """Requests bytes without reading the reply."""
        for _ in range(times):
            self._send(READ, offset, count)

    def write(self, offset: int, data: bytes, flags: int = 0) -> None:
        """Writes bytes."""
        self._ask(WRITE, offset, len(data), data, flags)

    def trim(self, offset: int, count: int) -> None:
        """Trims bytes."""
        self._ask(TRIM, offset, count)

    def zero(self, offset: int, count: int, flags: int = 0) -> None:
        """Zeroes bytes."""
        self._ask(WRITE_ZEROES, offset, count, flags=flags)

    def flush(self) -> None:
        """Flushes the drive."""
        self._ask(FLUSH, 0, 0)

    def close(self) -> None:
        """Ends the connection, unless the server has ended it."""
        with suppress(OSError):
            self._socket.sendall(struct.pack(">IHHQQI", 0x25609513, 0, DISCONNECT, 0, 0, 0))
        self._socket.close()


@contextmanager
def connected(path: Path) -> Iterator[Client]:
    """A connected client, which is closed at the end."""
    client = Client(path)
    try:
        yield client
    finally:
        client.close()
