"""The endpoint that Prometheus scrapes: a loopback port or a unix socket."""

import errno
import os
import socket
import socketserver
import stat
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.registry import Collector

from ssdlab import text
from ssdlab._ssdlab import ConfigError

if TYPE_CHECKING:
    # `_typeshed` exists only in type stubs, so it cannot be imported at run time.
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

PATH = "/metrics"
"""URL path of the metrics, by Prometheus's convention."""


class Endpoint:
    """HTTP endpoint for Prometheus. Once `answer` is called, it answers scrapes until it is closed.

    Args:
        place: A loopback address with a port, such as `127.0.0.1:9090`, or the path of a unix socket. A path must
            contain a slash, so that a mistyped port is not taken for a path.
    """

    def __init__(self, place: str) -> None:
        self._path = Path(place) if "/" in place else None
        self._server = _bound(place, self._path)
        self._thread = Thread(target=self._server.serve_forever, name="metrics", daemon=True)

    @property
    def address(self) -> str:
        """URL for a scraper, or path of the socket for `curl --unix-socket`."""
        if self._path is not None:
            return str(self._path)
        host, port = self._server.socket.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"

    def answer(self, collector: Collector) -> None:
        """Starts an HTTP server that returns the metrics of a collector."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(collector)
        self._server.set_app(_at_path(make_wsgi_app(registry)))
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _at_path(metrics: "WSGIApplication") -> "WSGIApplication":
    """Restricts an application to requests for the URL path `PATH`."""

    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        if environ["PATH_INFO"] == PATH:
            return metrics(environ, start_response)
        start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"the metrics are at {PATH}\n".encode()]

    return answer


def _bound(place: str, path: Path | None) -> "_Server":
    if path is not None:
        _remove_stale(path)
    address = _loopback(place) if path is None else place
    try:
        return (_Server if path is None else _UnixServer)(address, _Handler)
    except OSError as error:
        # The error for a socket path that is too long has no errno.
        words = error.strerror or str(error)
        if path is None:
            words += "; choose another address or port"
        raise OSError(error.errno or errno.ENAMETOOLONG, words, place) from None


def _loopback(place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    try:
        address = ip_address(host.removeprefix("[").removesuffix("]"))
        if address.is_loopback and int(port) < 1 << 16:
            return str(address), int(port)
    except ValueError:
        pass
    raise ConfigError(
        f"--metrics {text.path(place)}: not a loopback address; use 127.0.0.1:9090, or a socket path with a slash, "
        "such as ./metrics.sock"
    )


def _remove_stale(path: Path) -> None:
    """Removes the socket that an earlier server left behind; raises an error for any other file."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise _taken(path, "exists and is not a socket; choose another path")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as attempt:
        try:
            attempt.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise _taken(path, "another server listens there; choose another path")


def _taken(path: Path, why: str) -> OSError:
    return FileExistsError(errno.EEXIST, why, str(path))


class _Handler(WSGIRequestHandler):
    """Handles one scrape; does not log it."""

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    """A server with one thread per scraper, so that no scraper blocks another."""

    daemon_threads = True

    def __init__(self, address: Any, handler: type[_Handler]) -> None:
        if isinstance(address, tuple) and ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, handler)

    def server_bind(self) -> None:
        # Bypasses HTTPServer.server_bind, which would look up the host name on the network.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", 0
        self.setup_environ()


class _UnixServer(_Server):
    address_family = socket.AF_UNIX

    def server_bind(self) -> None:
        # Sets the mode of the socket file.
        os.fchmod(self.socket.fileno(), 0o600)
        super().server_bind()

    def get_request(self) -> tuple[socket.socket, Any]:
        accepted, _ = self.socket.accept()
        return accepted, ("local", 0)
