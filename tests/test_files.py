"""Files are written completely or not at all."""

import signal
import subprocess
import sys
from pathlib import Path

from ssdlab.model.files import filling, replacing

KILLED = """
import os, signal, sys
from pathlib import Path
from ssdlab.model.files import filling, replacing
with replacing(Path(sys.argv[1], "a")) as a, filling(Path(sys.argv[1])) as b:
    a.write_text("half")
    (b / "b").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_leftovers_of_a_killed_process_are_removed_by_the_next(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL and len(list(tmp_path.iterdir())) == 2
    # A process that removes leftovers keeps files that are being written.
    with replacing(tmp_path / "a") as a, filling(tmp_path) as folder, replacing(tmp_path / "c") as c:
        assert sorted(tmp_path.iterdir()) == sorted([a.parent.parent, folder.parent, c.parent.parent])
        for file in (a, folder / "b", c):
            file.write_text("whole")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "b", "c"]
    assert all(file.read_text() == "whole" for file in tmp_path.iterdir())
