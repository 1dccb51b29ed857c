"""Tables on narrow terminals are split or folded, never cut off."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from conftest import ROOT
from forked import PATIENCE_SECONDS

OLTP = str(ROOT / "traces" / "oltp.csv.zst")


def on_terminal(columns: int, *arguments: str) -> str:
    """Output of a command on a terminal of this width."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-m", "ssdlab", *arguments],
        stdin=end, stdout=end, stderr=subprocess.DEVNULL, env={**environment, "TERM": "xterm"},
    )  # fmt: skip
    os.close(end)
    shown = b""
    try:
        while more := os.read(terminal, 65536):
            shown += more
    except OSError:
        # Read error of a terminal whose last process has exited.
        pass
    finally:
        os.close(terminal)
    assert process.wait(PATIENCE_SECONDS) == 0
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r\n", "\n")


SIZES = "1%,2%,5%,10%,20%,50%,100%"


@pytest.mark.parametrize("columns", [50, 80, 200])
def test_numbers_are_not_split_on_any_terminal(columns: int) -> None:
    out = on_terminal(columns, "cache", "sim", OLTP, "--policy", "lru,arc", "--size", SIZES)
    assert "…" not in out and "77.67 %" in out and "59.92 %" in out
    tables = out[out.index("miss ratio") :].splitlines()
    assert max(map(len, tables)) <= columns
    heads = [line for line in tables if line.startswith("miss ratio")]
    assert len(heads) == {50: 2, 80: 1, 200: 1}[columns]
    # Each size is above one number per policy, even if the table is split.
    assert sum(line.count("iB") for line in heads) == 7


def test_words_are_folded_between_words() -> None:
    out = on_terminal(80, "experiment", "show", "sbfast")
    assert max(map(len, out.splitlines())) <= 80 and "…" not in out
    assert "exec_time_sbs_by_slen" in out and "sub-streams" in out
