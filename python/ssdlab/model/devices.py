"""Chooses devices of a table: the first request's, a named one, or all of them, side by side or over each other."""

from collections.abc import Sequence
from typing import Any

from ssdlab import _ssdlab
from ssdlab._ssdlab import TraceError
from ssdlab.lazy import np
from ssdlab.model.frame import Words
from ssdlab.model.parquet import ParquetReader
from ssdlab.model.requests import BATCH


def no_devices(device: str | None, where: str) -> None:
    """That none is named of what names no devices.

    Raises:
        TraceError: If one is.
    """
    if device not in (None, "all", "overlay"):
        raise TraceError(
            f"device {device!r} is not in {where}: no column names devices; leave it out, or call the column that does "
            "device"
        )


def chosen(
    requests: _ssdlab.Requests, devices: Words, streams: Sequence[str], device: str | None
) -> tuple[_ssdlab.Requests, list[str], dict[str, Any]]:
    """Those of the requests of a table that are of the devices asked for, the names of their streams, and what was met.

    Raises:
        TraceError: If there is no such device.
    """
    names: dict[str, int] = {}
    table = _ssdlab.Parted.of(requests, devices.numbered(names), list(names), list(streams))
    choice = _ssdlab.Devices(device)
    if choice.measuring():
        choice.take(table)
        choice.lay_out()
    found = choice.take(table)
    choice.conclude()
    return found, choice.streams(), {**choice.report(), "format": "table"}


class DeviceReader:
    """One pass over the devices asked for of Parquet files that name devices."""

    def __init__(self, reader: ParquetReader, device: str | None, otherwise: str) -> None:
        """Over a reader at its first request.

        Args:
            reader: Reads all devices.
            device: A name, `"all"`, `"overlay"`, or None for the device of the first request.
            otherwise: The device of requests in files that name none.
        """
        self._reader, self._device, self._otherwise = reader, device, otherwise
        self._begin()

    def _begin(self) -> None:
        self._names: dict[str, int] = {}
        self._devices = _ssdlab.Devices(self._device)
        self._file, self._ended = 0, False
        if self._devices.measuring():
            while (batch := self._part(BATCH)) is not None:
                self._devices.take(batch)
            self._devices.lay_out()
            self._reader.rewind()

    def _part(self, max: int) -> _ssdlab.Parted | None:
        """The next requests of all devices; None at the end."""
        requests = self._reader.read(max)
        if not len(requests):
            return None
        devices = self._reader.devices or Words(np.zeros(len(requests), np.int64), [self._otherwise])
        numbers = devices.numbered(self._names)
        return _ssdlab.Parted.of(requests, numbers, list(self._names), self._reader.streams())

    def read(self, max: int) -> _ssdlab.Requests:
        """The next requests, at most `max`; none at the end.

        Raises:
            TraceError: As that of Parquet; at the end, if the device was not there.
        """
        while (batch := self._part(max)) is not None:
            if self._reader.file != self._file:
                self._file = self._reader.file
                self._devices.turn()
            found = self._devices.take(batch)
            if len(found):
                return found
        if not self._ended:
            self._ended = True
            self._devices.conclude()
        return _ssdlab.Requests.concatenate([])

    def beyond(self, capacity_bytes: int) -> str | None:
        """What is wrong with the first request that ends beyond a device, with its file and row; None if none does."""
        while (batch := self._part(BATCH)) is not None:
            if (found := self._devices.beyond(batch, capacity_bytes, *self._reader.place)) is not None:
                return found
        return None

    def rewind(self) -> None:
        """Goes back to the first request."""
        self._reader.rewind()
        self._begin()

    def progress(self) -> tuple[int, int | None]:
        """`(rows read, rows in all)`."""
        return self._reader.progress()

    def format(self) -> str:
        """Name of the format."""
        return self._reader.format()

    def streams(self) -> list[str]:
        """Names of the streams met so far."""
        return self._devices.streams()

    def report(self) -> dict[str, Any]:
        """What was met on the way; complete at the end."""
        return {**self._devices.report(), "format": self.format()}
