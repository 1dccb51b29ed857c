"""The command `ssdlab serve`."""

import os
import signal
import sys
import tempfile
import threading
import time as clock
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout, suppress
from pathlib import Path
from types import FrameType
from typing import Self

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import group, option
from ssdlab.cli.introduction import introduce, show_clients
from ssdlab.cli.live import facts
from ssdlab.cli.options import Settings
from ssdlab.cli.output import deliver, show
from ssdlab.cli.progress import QUIET_SECONDS
from ssdlab.interrupt import handled
from ssdlab.lazy import room
from ssdlab.leaving import STATUS
from ssdlab.model.files import naming, refuse_drive, replacing
from ssdlab.model.service import LEAST_SCALE, DriveServer, Service

app = App()

EXAMPLES = """
ssdlab serve --file disk.drive --record requests.parquet
ssdlab serve --preset small-tlc --set device.capacity=8GiB --precondition
ssdlab serve --set ftl=fast --listen 127.0.0.1:10809 --tls certificates
"""

PLACE, DRIVE = "Network", "Drive"
TICK_SECONDS = 0.25
LINE_SECONDS = 1.0


@app.command(examples=EXAMPLES)
def serve(
    settings: Settings = group(),
    file: Path | None = option("--file FILE", "File that stores the drive: mounted if it exists, else created.", DRIVE),
    precondition: bool = option(
        "--precondition",
        "Precondition a new drive, by default to steady state; its pages read as zeros.",
        DRIVE,
    ),
    state: Path | None = option(
        "--state FILE",
        "Start a new drive from a state saved by 'ssdlab run --save-state'; its pages read as zeros.",
        DRIVE,
    ),
    time: str = option(
        "--time none|real|SCALE",
        "Delay of replies: none, real (as long as the simulated drive takes), or SCALE times the real delay.",
        DRIVE,
        default="none",
    ),
    socket: Path | None = option("--socket PATH", "Unix socket to listen on; by default one socket per user.", PLACE),
    listen: str | None = option(
        "--listen ADDRESS:PORT",
        "Also listen at this address; anyone who can connect can read and write the drive.",
        PLACE,
    ),
    tls: Path | None = option(
        "--tls DIR", "Require TLS encryption, with server-cert.pem and server-key.pem from this folder.", PLACE
    ),
    tls_verify: bool = option(
        "--tls-verify", "Serve only clients with a certificate signed by ca-cert.pem in the --tls folder.", PLACE
    ),
    memory: str = option(
        "--memory SIZE",
        "Total memory for requests and replies of all clients; at least 256MiB.",
        PLACE,
        default="1GiB",
        check=_ssdlab.size,
    ),
    record: Path | None = option(
        "--record FILE", "Write all requests as a Parquet trace that 'ssdlab run' replays.", options.OUTPUT
    ),
    metrics: str | None = option(
        "--metrics PLACE",
        "Serve Prometheus metrics at this unix socket (a path with a slash) or at 127.0.0.1:PORT.",
        options.OUTPUT,
    ),
    json: bool = options.JSON,
    out: Path | None = options.saving(Service)["out"],
) -> int:
    """Ctrl-C, SIGTERM or SIGHUP shuts the drive down: it completes requests, flushes all data and prints a summary. A
    second signal stops the drive at once, like a loss of power. SIGUSR1 prints the current summary; with --json, to
    standard error.
    """
    # If no settings are given, an existing drive keeps its own.
    config = settings.resolved() if settings.are_given else None
    if precondition and state is not None:
        raise ConfigError("--state: a saved drive cannot be preconditioned again; omit --precondition")
    path = socket or Path(tempfile.gettempdir()) / f"ssdlab-{os.getuid()}.sock"
    if tls_verify and tls is None:
        raise ConfigError("--tls-verify: client certificates need TLS; add --tls DIR")
    scale = _scale(time)
    scrapes = None if metrics is None else Path(metrics)
    _refuse_same(
        {"--file": file, "--state": state, "--record": record, "--out": out, "--socket": path, "--metrics": scrapes}
    )
    # If a step fails while the drive is served, the remaining steps still run, because skipping them could lose data.
    first = _FirstError()
    with _signals(json) as asked:
        with ExitStack() as opened:
            # Opens the trace file and the endpoint first, because opening them may fail and creating the drive may take
            # long.
            write = opened.enter_context(recording(record))
            # Prometheus reads metrics from this endpoint.
            endpoint = nullcontext() if metrics is None else room("view.scrape").Endpoint(metrics)
            scraped = opened.enter_context(endpoint)
            with _opening(file):
                server = opened.enter_context(
                    DriveServer(
                        config,
                        file=file,
                        socket=path,
                        listen=listen,
                        tls=tls,
                        verify_clients=tls_verify,
                        memory=memory,
                        scale=scale,
                        record=record is not None,
                        precondition=precondition,
                        state=state,
                    )
                )
            if scraped is not None:
                scraped.answer(room("view.metrics").Metrics(server))
            started = opened.pop_all()
        with first, started:
            asked.of(server)
            with first:
                if not json:
                    start = "--precondition" if precondition else "--state" if state is not None else None
                    introduce(server, listen, scraped, file, start)
                    show_clients(server.uris[0], path, tls, tls_verify)
                with _Line(server) as line:
                    while server.wait(TICK_SECONDS) is None:
                        write(server)
                        asked.report_if_asked()
                        line.tick()
                # Prints the report if it was requested shortly before the server ended.
                asked.report_if_asked()
            with first:
                server.close()
            write(server)
    with first:
        deliver(server.service(), json=json, out=out)
    if first.error is not None:
        raise first.error
    if server.ended == "at once":
        lost = ": data that clients had not flushed may be lost" if file is None or server.is_volatile else ""
        print(f"ssdlab: stopped immediately{lost}", file=sys.stderr)
        return STATUS
    return 0


def _scale(time: str) -> float | None:
    if time in ("none", "real"):
        return None if time == "none" else 1.0
    try:
        scale = float(time)
    except ValueError:
        scale = 0.0
    if not LEAST_SCALE <= scale < float("inf"):
        raise ConfigError(
            f"--time {text.path(time)}: must be none, real, or a number of at least {LEAST_SCALE:g}, such as 10 for "
            "ten times slower"
        )
    return scale


@contextmanager
def _opening(file: Path | None) -> Iterator[None]:
    """Tells the user that the drive is being created or mounted if this takes more than a second."""
    doing = "creating the drive" if file is None or not file.exists() else "opening the drive"
    words = doing if file is None else f"{doing} in {text.path(file)}"
    line = room("cli.bars").status() if sys.stderr.isatty() else None

    def tell() -> None:
        if line is None:
            print(f"{words} ...", file=sys.stderr, flush=True)
        else:
            line.update(words)
            line.start()

    late = threading.Timer(QUIET_SECONDS, tell)
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()
        late.join()
        if line is not None:
            line.stop()


class _Asked:
    """Receives signals that ask a server to stop or to report, even before the server exists."""

    def __init__(self, json: bool) -> None:
        self._json = json
        self._server: DriveServer | None = None
        self._stops = 0
        self._to_report = False

    def stop(self, _signal: int, _frame: FrameType | None) -> None:
        """Stops the server: gracefully on the first signal, at once on the second. If the server has not started yet,
        it stops right after its start; a third signal before then ends the program.
        """
        if self._server is not None:
            self._server.stop()
        elif self._stops == 2:
            raise KeyboardInterrupt
        else:
            self._stops += 1

    def report(self, _signal: int, _frame: FrameType | None) -> None:
        """Records the request for a report, which `report_if_asked` prints at a safe point."""
        self._to_report = True

    def report_if_asked(self) -> None:
        """Prints the report if a signal requested it; a failure to print does not affect clients."""
        if not self._to_report or self._server is None:
            return
        self._to_report = False
        # Rich raises SystemExit if the output is a closed pipe.
        with suppress(OSError, SystemExit), redirect_stdout(sys.stderr) if self._json else nullcontext():
            show(self._server.service().page())
            sys.stdout.flush()

    def of(self, server: DriveServer) -> None:
        """Makes signals stop the given server or print its report."""
        self._server = server
        for _ in range(self._stops):
            server.stop()


@contextmanager
def _signals(json: bool) -> Iterator[_Asked]:
    """Makes signals stop a server or print a report; afterwards ignores SIGUSR1, which would end the program."""
    asked = _Asked(json)
    signal.signal(signal.SIGUSR1, asked.report)
    try:
        with handled(asked.stop):
            yield asked
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)


class _FirstError:
    """Runs several steps even if some fail, and keeps the first error."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception):
            return False
        self.error = self.error or error
        return True


def _refuse_same(named: Mapping[str, Path | None]) -> None:
    """Rejects two options with the same path, because one file would overwrite the other."""
    by_path: dict[Path, str] = {}
    for name, path in named.items():
        if path is None:
            continue
        # Unlike Path.resolve, os.path.realpath also handles circular links.
        before = by_path.setdefault(Path(os.path.realpath(path)), name)
        if before != name:
            raise ConfigError(f"{name} {text.path(path)}: {before} has the same path; choose another path")


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


class _Line:
    """Status line of a served drive on the terminal; without a terminal, nothing is shown."""

    def __init__(self, server: DriveServer) -> None:
        self._server = server
        self._status = room("cli.bars").status() if sys.stderr.isatty() else None
        self._at = clock.monotonic()
        self._before = 0

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._status:
            self._status.stop()

    def tick(self) -> None:
        """Updates the status line once a second."""
        now = clock.monotonic()
        if self._status is None or now - self._at < LINE_SECONDS:
            return
        report = self._server.service().report
        requests = sum(count for name, count in report["host"].items() if name.endswith("_requests"))
        latency = report["times"] and report["times"]["latency"]["all"]
        parts = facts((requests - self._before) / (now - self._at), report["write_amplification"], latency)
        parts.append(f"free blocks: {text.count(report['health']['free_blocks'])}")
        parts.append(f"clients: {self._server.connections}")
        self._status.update(", ".join(parts))
        self._at, self._before = now, requests
