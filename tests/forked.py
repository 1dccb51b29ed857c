"""Runs commands in forks of a server process that has loaded the package; as a script, this is the server.

Most tests examine what a command does. Tests of start-up and of loaded modules start a process of their own.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

PATIENCE_SECONDS = 600
"""Time limit of a process: long enough that only a hang exceeds it, however busy the machine."""

MODULES = (
    "numpy", "pandas", "pyarrow.parquet", "rich.console", "rich.progress", "rich.table",
    "ssdlab.api", "ssdlab.view.html", "ssdlab.view.pages.result",
)  # fmt: skip
"""Modules that many commands load, or that load slowly."""


def run(
    arguments: Sequence[str], folder: Path, *, environment: Mapping[str, str] | None = None, data: bytes | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs `ssdlab` with these arguments in a folder, in the caller's or another environment, without input or with a
    pipe that holds `data`.
    """
    with tempfile.TemporaryDirectory(prefix="ssdlab-command-") as kept, ExitStack() as after:
        given, out, err = Path(kept) / "in", Path(kept) / "out", Path(kept) / "err"
        if data is None:
            given = Path(os.devnull)
        else:
            os.mkfifo(given)
            writer = threading.Thread(target=_write, args=(given, data), daemon=True)
            writer.start()
            after.callback(writer.join, PATIENCE_SECONDS)
        asked = {
            "arguments": arguments,
            "folder": str(folder),
            "environment": dict(os.environ if environment is None else environment),
        }
        server = _server()
        assert server.stdin is not None and server.stdout is not None
        files = {"given": str(given), "out": str(out), "err": str(err)}
        server.stdin.write(json.dumps({**asked, **files}).encode() + b"\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
        # Decoded like text printed by a process.
        written = [path.read_bytes().decode().replace("\r\n", "\n") for path in (out, err)]
    return subprocess.CompletedProcess(["ssdlab", *arguments], status, *written)


def _write(pipe: Path, data: bytes) -> None:
    # The reader may have closed early.
    with suppress(BrokenPipeError):
        pipe.write_bytes(data)


@cache
def _server() -> subprocess.Popen[bytes]:
    server = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(_end, server)
    # If the server ended because modules are missing, its client would wait forever.
    assert server.stdout is not None and server.stdout.readline() == b"ready\n", "the server of commands has ended"
    return server


def _end(server: subprocess.Popen[bytes]) -> None:
    server.communicate(timeout=PATIENCE_SECONDS)


def _serve() -> None:
    from ssdlab.analyse import corpus
    from ssdlab.cli import app
    from ssdlab.cli.command import Group, Later

    def load(command: object) -> None:
        loaded = command.loaded if isinstance(command, Later) else command
        if isinstance(loaded, Group):
            for below in loaded.commands.values():
                load(below)

    load(app)
    for module in MODULES:
        import_module(module)
    corpus.default()
    print("ready", flush=True)
    for line in sys.stdin.buffer:
        child = os.fork()
        if child == 0:
            _become(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _become(
    *, arguments: list[str], folder: str, environment: dict[str, str], given: str, out: str, err: str
) -> NoReturn:
    """Replaces this process by `ssdlab` with the given arguments."""
    from ssdlab.__main__ import main

    status: Any = 0
    try:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        for number, path, flags in [(0, given, os.O_RDONLY), (1, out, os.O_WRONLY), (2, err, os.O_WRONLY)]:
            os.dup2(os.open(path, flags | os.O_CREAT, 0o600), number)
        signal.alarm(PATIENCE_SECONDS)
        sys.argv = ["ssdlab", *arguments]
        main()
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status or 0)


if __name__ == "__main__":
    _serve()
