"""Serves a simulated drive to other programs over NBD."""

import json
import os
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal, Self

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError, SsdlabError
from ssdlab.lazy import Counts
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides
from ssdlab.model.drive import config_of_drive
from ssdlab.model.finding import Finding
from ssdlab.model.kept import keeping

NAME = "ssdlab"
"""Name of the NBD export, which is also the default export."""

LEAST_SCALE = 0.001
"""Minimum wall-clock seconds per simulated second; the clock's 292 years then take over three months."""

LEAST_MEMORY = 256 << 20
"""Minimum memory for requests and replies; enough for the largest requests of a few clients."""

Ending = Literal["graceful", "at once"]


class Service(Finding):
    """Metrics of a served drive; see `DriveServer.service`."""

    _page = "service"
    _json = "service.json"
    saved = "report.html and service.json"

    def __init__(
        self,
        report: Mapping[str, Any],
        config: Config,
        addresses: list[str],
        file: str | None,
        preconditioned: bool = False,
    ) -> None:
        self.report = report
        """Metrics of the drive, with the keys of the JSON file."""
        self.config = config
        self.preconditioned = preconditioned
        """True if the server has preconditioned the drive."""
        self._where: dict[str, Any] = {"kind": "clients", "addresses": addresses, "drive": file}

    def to_dict(self) -> dict[str, Any]:
        """Returns the metrics of host requests, flash operations, response times, drive health and mount."""
        return dict(self.report)

    def _source(self) -> Mapping[str, Any]:
        return self._where

    def _configuration(self) -> dict[str, Any]:
        return self.config.to_dict()


class DriveServer:
    """A drive that any program can use as a block device.

    Args:
        config: Configuration of the drive; None for the drive in the file. Clients have their own cache and scheduler.
        file: File that stores the bytes; mounted if it exists, otherwise created. None keeps them in memory.
        socket: Path of a unix socket to listen on.
        listen: Address and port to listen on, such as `127.0.0.1:10809`. Anyone who can connect can read and write the
            drive.
        tls: Folder with `server-cert.pem` and `server-key.pem`; clients must then use TLS.
        verify_clients: True to require clients to have a certificate signed by `ca-cert.pem` in that folder.
        memory: Total memory for requests and replies of all clients, at least 256 MiB.
        scale: Wall-clock seconds per second of the simulated drive, at least 0.001; 1 is real time, None replies at
            once.
        record: True to record requests for `take_record`.
        precondition: True to precondition a new drive as a run does, with the settings `precondition` of the
            configuration. The drive is full, and its pages read as zeros. An existing drive stays as it is.
        state: File of a drive that `simulate` saved, from which a new drive continues; its pages read as zeros.

    Raises:
        ConfigError: If the configuration does not suit a served drive, neither `socket` nor `listen` is given, scale or
            memory is too small, `verify_clients` is set without `tls`, or both `precondition` and `state` are given.
        OSError: If file, certificates or socket cannot be used.
    """

    @takes(file="drive.ssd", socket="drive.socket", listen="127.0.0.1:10809", state="aged.drive")
    def __init__(
        self,
        config: Config | Overrides | None = None,
        *,
        file: str | os.PathLike[str] | None = None,
        socket: str | os.PathLike[str] | None = None,
        listen: str | None = None,
        tls: str | os.PathLike[str] | None = None,
        verify_clients: bool = False,
        memory: str | int = "1GiB",
        scale: float | None = None,
        record: bool = False,
        precondition: bool = False,
        state: str | os.PathLike[str] | None = None,
    ) -> None:
        if socket is None and listen is None:
            raise ConfigError("no address to listen on; pass socket or listen")
        if scale is not None and not LEAST_SCALE <= scale < float("inf"):
            raise ConfigError(
                f"scale {scale!r}: must be at least {LEAST_SCALE:g}; use 1 for real time, None for immediate replies"
            )
        if verify_clients and tls is None:
            raise ConfigError("verify_clients needs TLS; pass the folder of certificates as tls")
        if precondition and state is not None:
            raise ConfigError(
                "precondition and state both define the initial state of the drive; pass only one of them"
            )
        memory_bytes = _ssdlab.size(memory) if isinstance(memory, str) else memory
        if memory_bytes < LEAST_MEMORY:
            raise ConfigError(f"memory {memory!r}: too small for the longest requests; pass 256MiB or more")
        where = None if file is None else Path(file)
        self.config = config_of_drive(config, where)
        self._file = None if where is None else str(where)
        self._scale = scale
        with keeping(self.config, None) if precondition else nullcontext() as kept:
            self._rust = _ssdlab.DriveServer(
                self.config._inner,
                NAME,
                file=where,
                socket=None if socket is None else Path(socket),
                listen=listen,
                tls=None if tls is None else Path(tls),
                verify_clients=verify_clients,
                memory=memory_bytes,
                scale=scale,
                record=record,
                precondition=precondition,
                state=None if state is None else Path(state),
                kept=kept,
            )
        created = json.loads(self._rust.report())["mount"] is None
        self.preconditioned = precondition and created
        """True if the server has preconditioned the drive; false for an existing drive."""
        self._is_stopping = False
        self.ended: Ending | None = None
        """How the server ended: `graceful` or `at once`; None while it runs."""

    @property
    def uris(self) -> list[str]:
        """Addresses (URIs) of the drive for clients."""
        return self._rust.addresses()

    @property
    def is_volatile(self) -> bool:
        """True if writes wait in RAM and a power loss would lose them."""
        return self._rust.is_volatile()

    @property
    def connections(self) -> int:
        """Number of connected clients."""
        return self._rust.connections()

    def service(self) -> Service:
        """Returns the metrics of the drive since the server began."""
        report = json.loads(self._rust.report())
        if report["times"] is not None:
            report["times"]["scale"] = self._scale
        report["cut_off"] = self._rust.cut_off()
        return Service(report, self.config, self.uris, self._file, self.preconditioned)

    def latency(self) -> "dict[str, tuple[Counts, ...]] | None":
        """Returns histograms of response times by operation: bounds in ns, counts. None if replies are not delayed."""
        return self._rust.latency()

    def take_record(self) -> _ssdlab.Requests:
        """Returns the requests recorded since the last call; `ssdlab.Trace` turns them into a trace."""
        return self._rust.take_record()

    def wait(self, seconds: float) -> Ending | None:
        """Waits until the server ends. Returns how it ended (see `ended`), or None if it still runs after `seconds`.

        Raises:
            SsdlabError: If writes of clients could not be flushed at the end.
        """
        try:
            self.ended = self.ended or self._rust.wait(seconds)
        except SsdlabError:
            # The server thread ended abnormally.
            self.ended = "at once"
            raise
        return self.ended

    def stop(self) -> None:
        """Asks the server to finish requests, flush and end. A second call ends it at once, like a power loss."""
        self._is_stopping = True
        self._rust.stop()

    def close(self) -> None:
        """Stops the server gracefully, unless it was already stopped, and waits until it has ended."""
        if not self._is_stopping:
            self.stop()
        while self.wait(0.1) is None:
            pass

    def __repr__(self) -> str:
        state = "running" if self.ended is None else f"ended {self.ended}"
        return f"<ssdlab.DriveServer at {', '.join(self.uris)}: {state}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
