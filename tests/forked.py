"""Commands in processes that one forks which has the package loaded; run as a script, this is that one.

Most tests are of what a command does. Those of how it starts, and of what it loads, begin a process of their own.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

PATIENCE_SECONDS = 600
"""What a process has before a test gives up: it tells a hang from work, however busy the machine."""


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs `ssdlab` with these arguments in a folder, in the environment of whoever asks, without an input."""
    with tempfile.TemporaryDirectory(prefix="ssdlab-command-") as kept:
        out, err = Path(kept) / "out", Path(kept) / "err"
        asked = {"arguments": arguments, "folder": str(folder), "environment": dict(os.environ)}
        server = _server()
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps({**asked, "out": str(out), "err": str(err)}).encode() + b"\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
        # As text that a process prints is read.
        written = [path.read_bytes().decode().replace("\r\n", "\n") for path in (out, err)]
    return subprocess.CompletedProcess(["ssdlab", *arguments], status, *written)


@cache
def _server() -> subprocess.Popen[bytes]:
    server = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(_end, server)
    return server


def _end(server: subprocess.Popen[bytes]) -> None:
    server.communicate(timeout=PATIENCE_SECONDS)


def _serve() -> None:
    from ssdlab.cli import COMMANDS
    from ssdlab.cli.command import load

    for name in COMMANDS:
        load(name, "")
    # What most commands load when they are called.
    for module in ("numpy", "pyarrow.parquet", "rich.console", "rich.progress", "rich.table", "ssdlab.api"):
        import_module(module)
    for line in sys.stdin.buffer:
        child = os.fork()
        if child == 0:
            _become(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _become(*, arguments: list[str], folder: str, environment: dict[str, str], out: str, err: str) -> NoReturn:
    """Is `ssdlab` from here on."""
    from ssdlab.__main__ import main

    status: Any = 0
    try:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        for number, path, flags in [(0, os.devnull, os.O_RDONLY), (1, out, os.O_WRONLY), (2, err, os.O_WRONLY)]:
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
