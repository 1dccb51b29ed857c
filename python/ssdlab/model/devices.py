"""Selects table rows by device: the first request's device, a named device, or all devices. If all devices are
selected, their address ranges are laid end to end or overlaid.
"""

from collections.abc import Sequence
from typing import Any

from ssdlab import _ssdlab
from ssdlab._ssdlab import TraceError
from ssdlab.lazy import np
from ssdlab.model.frame import Words
from ssdlab.model.parquet import ParquetRows, TableReader, order_report
from ssdlab.model.requests import BATCH


def no_devices(device: str | None, where: str) -> None:
    """Rejects a device name for a table without device names."""
    if device not in (None, "all", "overlay"):
        raise TraceError(
            f"device {device!r} is not in {where}: it has no device column; omit device, or rename a column to device"
        )


def chosen(
    requests: _ssdlab.Requests, devices: Words, streams: Sequence[str], device: str | None
) -> tuple[_ssdlab.Requests, list[str], dict[str, Any]]:
    """Returns the requests of the selected devices by time, the names of their streams, and a report on reading."""
    names: dict[str, int] = {}
    table = _ssdlab.Parted.of(requests, devices.numbered(names), list(names), list(streams))
    choice = _ssdlab.Devices(device)
    if choice.measuring():
        choice.take(table)
        choice.lay_out()
    order = _ssdlab.InOrder()
    order.push(choice.take(table))
    order.turn()
    choice.conclude()
    return order.take(len(requests)), choice.streams(), _with_order(choice.report(), order_report("table", 0, order))


def _with_order(report: dict[str, Any], order: dict[str, Any]) -> dict[str, Any]:
    """Adds to the report how many requests were out of order, and how many came too late to be sorted."""
    ordered = {row[0]: row for row in order["counts"] if row[0] in ("out_of_order", "late")}
    counts = [ordered.get(row[0], row) for row in report["counts"]]
    return {**order, **report, "format": order["format"], "counts": counts}


class DeviceReader(TableReader):
    """A pass over the requests of the selected devices in Parquet files."""

    def __init__(self, rows: ParquetRows, device: str | None, otherwise: str) -> None:
        """Creates a reader. Requests from files without device names belong to the device `otherwise`."""
        self._device, self._otherwise = device, otherwise
        super().__init__(rows)

    def _begin(self) -> None:
        super()._begin()
        self._names: dict[str, int] = {}
        self._devices = _ssdlab.Devices(self._device)
        if self._devices.measuring():
            while (batch := self._part()) is not None:
                self._devices.take(batch)
            self._devices.lay_out()
            self._rows.rewind()

    def _part(self) -> _ssdlab.Parted | None:
        """Returns the next requests of all devices; None at the end."""
        requests = self._rows.read(BATCH)
        if not len(requests):
            return None
        devices = self._rows.devices or Words(np.zeros(len(requests), np.int64), [self._otherwise])
        numbers = devices.numbered(self._names)
        return _ssdlab.Parted.of(requests, numbers, list(self._names), self._rows.streams())

    def _taken(self) -> _ssdlab.Requests | None:
        batch = self._part()
        if batch is None:
            self._devices.conclude()
            return None
        return self._devices.take(batch)

    def beyond(self, capacity_bytes: int) -> str | None:
        """Describes the first request past the end of its device; None if all fit."""
        while (batch := self._part()) is not None:
            if (found := self._devices.beyond(batch, capacity_bytes, *self._rows.place)) is not None:
                return found
        return None

    def streams(self) -> list[str]:
        """Returns the names of the streams seen so far."""
        return self._devices.streams()

    def report(self) -> dict[str, Any]:
        """Returns the report on reading, which is complete only at the end of the pass."""
        return _with_order(self._devices.report(), super().report())
