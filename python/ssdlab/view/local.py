"""A local web server for a saved result. It serves the result's page, the files next to the page, and the operations
that the page omits from a Gantt chart.

Operations are read when first requested and kept in memory, where they take at most about 10 MB.
"""

import hmac
import json
import re
import secrets
import socketserver
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ssdlab._ssdlab import ConfigError
from ssdlab.model.result import Result
from ssdlab.view import explore
from ssdlab.view.charts.activity import OPERATIONS as MOST
from ssdlab.view.charts.activity import Recorded, operations, recorded

OPERATIONS = "operations"
"""URL path that returns further operations of a Gantt chart; the query gives the number of the first operation."""
NUMBER = re.compile(r"\d{1,18}")
COLUMNS = "activity_gantt.parquet"
TYPES = {".html": "text/html; charset=utf-8", ".json": "application/json", ".csv": "text/csv", ".toml": "text/plain"}


class LocalServer(ThreadingHTTPServer):
    """Serves the folder of a page read-only on the loopback interface, to clients that know its token."""

    daemon_threads = True

    def __init__(self, page: Path) -> None:
        self.page, self.token = page, secrets.token_urlsafe()
        self._reading = threading.Lock()
        self._files: tuple[object, ...] = ()
        """Identities of the result's files when the operations were read; empty before that."""
        self._recorded: Recorded
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        """Binds the server to the loopback interface."""
        # Bypasses HTTPServer.server_bind, which would look up the host name on the network.
        socketserver.TCPServer.server_bind(self)
        host, self.server_port = self.socket.getsockname()
        self.server_name = str(host)

    @property
    def address(self) -> str:
        """URL of the server, to open in a browser."""
        return f"http://{self.server_name}:{self.server_port}/{self.token}/"

    def operations(self, first: int) -> str:
        """Returns a Gantt chart as JSON; its first operation has the number `first`."""
        with self._reading:
            files = tuple(_state(self.page.parent / name) for name in (Result._json, COLUMNS))
            if self._files != files:
                self._recorded, self._files = recorded(Result.load(self.page.parent)), files
            record = self._recorded
        # If `first` is past the last operation, the last operations are shown.
        first = min(first, max(0, (len(record.order) - 1) // MOST * MOST))
        chart = operations(record, first)
        earlier, later = max(0, first - MOST) if first else None, chart.following or None
        return f'{{"charts":{explore.data([chart])},"earlier":{json.dumps(earlier)},"later":{json.dumps(later)}}}'


def _state(path: Path) -> tuple[int, int, int] | None:
    """Returns inode, modification time and size, one of which changes if a run overwrites the file; None without it."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


class _Handler(BaseHTTPRequestHandler):
    """Handles a GET request without logging it."""

    server: LocalServer
    timeout = 30

    def do_GET(self) -> None:
        if self.path == "/favicon.ico":
            # Browsers request /favicon.ico on their own.
            return self._answer(b"", TYPES[".html"], HTTPStatus.NO_CONTENT)
        asked = urlsplit(self.path)
        token, slash, name = unquote(asked.path).removeprefix("/").partition("/")
        # Rejects requests with another host name, because they come from another site (DNS rebinding).
        host = self.headers.get("Host")
        known = hmac.compare_digest(token.encode(), self.server.token.encode())
        if not known or host != f"{self.server.server_name}:{self.server.server_port}":
            return self._refuse(HTTPStatus.FORBIDDEN, "no token; open the address that ssdlab view --serve printed")
        if not slash:
            # Redirects the client, because the page's relative URLs work only after a trailing slash.
            return self._answer(b"", TYPES[".html"], HTTPStatus.PERMANENT_REDIRECT, Location=self.server.address)
        folder = self.server.page.parent
        if name == OPERATIONS and (folder / COLUMNS).is_file():
            first = parse_qs(asked.query).get("first", ["0"])[-1]
            if not NUMBER.fullmatch(first):
                return self._refuse(HTTPStatus.BAD_REQUEST, f"first={first} is not an operation number; use 0 or more")
            try:
                answer = self.server.operations(int(first))
            except ConfigError as error:
                return self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
            return self._answer(answer.encode(), TYPES[".json"])
        # Serves only files directly in the folder, so that no path can lead out of the folder.
        files = {path.name: path for path in folder.iterdir() if path.is_file() and not path.is_symlink()}
        path = files.get(name or self.server.page.name)
        if path is None:
            return self._refuse(HTTPStatus.NOT_FOUND, "file not found in the folder of the report")
        return self._answer(path.read_bytes(), TYPES.get(path.suffix, "application/octet-stream"))

    def _answer(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK, **more: str) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            **more,
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._answer(f"{why}\n".encode(), "text/plain; charset=utf-8", status)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass
