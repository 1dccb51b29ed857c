"""`ssdlab serve`."""

import os
import signal
import sys
import tempfile
import threading
import time as clock
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, redirect_stdout, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Self

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import option
from ssdlab.cli.introduction import introduce, show_clients
from ssdlab.cli.live import facts
from ssdlab.cli.output import deliver, show
from ssdlab.cli.progress import QUIET_SECONDS
from ssdlab.cli.recording import recording
from ssdlab.interrupt import handled
from ssdlab.lazy import room
from ssdlab.leaving import STATUS
from ssdlab.model.service import LEAST_SCALE, DriveServer, Service

if TYPE_CHECKING:
    from ssdlab.view.scrape import Endpoint

app = App()

EXAMPLES = """
ssdlab serve --file disk.drive --record requests.parquet
ssdlab serve --preset small-nvme --set device.capacity=8GiB --time real
ssdlab serve --set ftl=fast --listen 127.0.0.1:10809 --tls certificates
"""

PLACE, DRIVE = "Place", "Drive"
TICK_SECONDS = 0.25
LINE_SECONDS = 1.0


@app.command(examples=EXAMPLES)
def serve(
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    file: Annotated[
        Path | None,
        option("--file FILE", "Keep the bytes there: a drive that is mounted, or created if there is none.", DRIVE),
    ] = None,
    time: Annotated[
        str,
        option(
            "--time none|real|SCALE",
            "When replies leave: at once, as fast as the simulated drive, or so many times slower.",
            DRIVE,
        ),
    ] = "none",
    socket: Annotated[
        Path | None,
        option("--socket PATH", "Unix socket to listen at; one of this user's if left out.", PLACE),
    ] = None,
    listen: Annotated[
        str | None,
        option(
            "--listen ADDRESS:PORT", "Listen there as well; whoever reaches it can read and write the drive.", PLACE
        ),
    ] = None,
    tls: Annotated[
        Path | None,
        option("--tls DIR", "Demand encryption, by server-cert.pem and server-key.pem found there.", PLACE),
    ] = None,
    tls_verify: Annotated[
        bool,
        option("--tls-verify", "Serve only clients whose certificate was signed by ca-cert.pem found there.", PLACE),
    ] = False,
    memory: Annotated[
        str,
        option(
            "--memory SIZE",
            "Memory for requests and replies of all clients together, at least 256MiB.",
            PLACE,
            check=_ssdlab.size,
        ),
    ] = "1GiB",
    record: Annotated[
        Path | None,
        option("--record FILE", "Write all requests as a Parquet trace that 'ssdlab run' replays.", "Output"),
    ] = None,
    metrics: Annotated[
        str | None,
        option(
            "--metrics PLACE",
            "Answer Prometheus there: a path with a slash for a unix socket, or 127.0.0.1:PORT.",
            "Output",
        ),
    ] = None,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(Service)] = None,
) -> int:
    """Ctrl-C, SIGTERM or SIGHUP ends it in good order: requests are finished, everything is made safe, a summary is
    printed. The second one ends it at once, as a loss of power would. SIGUSR1 prints the summary up to then; with
    --json it goes to standard error.
    """
    # A drive that is there needs no settings: it has its own.
    settings = options.configuration(preset, config, set, []) if preset or config or set else None
    path = socket or Path(tempfile.gettempdir()) / f"ssdlab-{os.getuid()}.sock"
    if tls_verify and tls is None:
        raise ConfigError("--tls-verify: clients show certificates only where they encrypt; give --tls DIR")
    scale = _scale(time)
    scrapes = None if metrics is None else Path(metrics)
    _refuse_same({"--file": file, "--record": record, "--out": out, "--socket": path, "--metrics": scrapes})
    # Whatever fails once the drive is served, the other steps are taken, so that nothing is lost that is known.
    first = _FirstError()
    with _signals(json) as asked:
        with ExitStack() as opened:
            # What may fail comes before the drive, which may take long to make, and stays.
            write = opened.enter_context(recording(record))
            scraped = opened.enter_context(_listening(metrics))
            with _opening(file):
                server = opened.enter_context(
                    DriveServer(
                        settings,
                        file=file,
                        socket=path,
                        listen=listen,
                        tls=tls,
                        verify_clients=tls_verify,
                        memory=memory,
                        scale=scale,
                        record=record is not None,
                    )
                )
            if scraped is not None:
                scraped.answer(room("view.metrics").Metrics(server))
            started = opened.pop_all()
        with first, started:
            asked.of(server)
            with first:
                if not json:
                    introduce(server, listen, scraped, file)
                    show_clients(server.uris[0], path, tls, tls_verify)
                with _Line(server) as line:
                    while server.wait(TICK_SECONDS) is None:
                        write(server)
                        asked.report_if_asked()
                        line.tick()
                # Asked for just before the end.
                asked.report_if_asked()
            with first:
                server.close()
            write(server)
    with first:
        deliver(server.service(), json=json, out=out)
    if first.error is not None:
        raise first.error
    if server.ended == "at once":
        lost = ": what clients had not flushed may be lost" if file is None or server.is_volatile else ""
        print(f"ssdlab: ended at once{lost}", file=sys.stderr)
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
            f"--time {text.path(time)}: write none, real, or a number from {LEAST_SCALE:g} on, such as 10 for ten "
            "times slower"
        )
    return scale


@contextmanager
def _opening(file: Path | None) -> Iterator[None]:
    """Says what is done while a large drive is made or mounted, once that takes longer than a moment."""
    doing = "making the drive" if file is None or not file.exists() else "opening the drive"
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
    """What signals ask of a server, which may not be there yet."""

    def __init__(self, json: bool) -> None:
        self._json = json
        self._server: DriveServer | None = None
        self._stops = 0
        self._to_report = False

    def stop(self, _signal: int, _frame: FrameType | None) -> None:
        """Stops it, as soon as it is there: in good order, or at once. A third one does not wait for it."""
        if self._server is not None:
            self._server.stop()
        elif self._stops == 2:
            raise KeyboardInterrupt
        else:
            self._stops += 1

    def report(self, _signal: int, _frame: FrameType | None) -> None:
        """Has what it has done printed, as soon as it is there; not here, amid whatever the signal interrupts."""
        self._to_report = True

    def report_if_asked(self) -> None:
        """Prints what it has done. Clients have nothing to do with whether anybody reads that."""
        if not self._to_report or self._server is None:
            return
        self._to_report = False
        # Rich exits where a pipe is closed.
        with suppress(OSError, SystemExit), redirect_stdout(sys.stderr) if self._json else nullcontext():
            show(self._server.service().page())
            sys.stdout.flush()

    def of(self, server: DriveServer) -> None:
        """Asks it of this server."""
        self._server = server
        for _ in range(self._stops):
            server.stop()


@contextmanager
def _signals(json: bool) -> Iterator[_Asked]:
    """What ends other commands stops a server while this lasts; SIGUSR1 prints what it has done. From then on it is
    ignored: it must not end who writes the summary.
    """
    asked = _Asked(json)
    signal.signal(signal.SIGUSR1, asked.report)
    try:
        with handled(asked.stop):
            yield asked
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)


class _FirstError:
    """Keeps the first error of several steps that are all to be taken."""

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
    """What is written to would take the place of something else that is.

    Raises:
        ConfigError: If two options name the same file.
    """
    by_path: dict[Path, str] = {}
    for name, path in named.items():
        if path is None:
            continue
        # Of links in a circle as well.
        before = by_path.setdefault(Path(os.path.realpath(path)), name)
        if before != name:
            raise ConfigError(f"{name} {text.path(path)}: that is what {before} names too; give another path")


def _listening(place: str | None) -> "AbstractContextManager[Endpoint | None]":
    """Where Prometheus will find metrics."""
    return nullcontext() if place is None else room("view.scrape").Endpoint(place)


class _Line:
    """A line on the terminal that says what the drive does; nothing where there is none."""

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
        """Writes the line anew, once a second."""
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
