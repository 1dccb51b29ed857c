"""Shared fixtures: a small device that runs in milliseconds, and the command line as a process."""

import atexit
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

import forked
import ssdlab
from tiers import TIER

# No test writes to the user's home or uses cached drives of another session. Workers share one cache directory.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["SSDLAB_CACHE_DIR"] = _DRIVES = tempfile.mkdtemp(prefix="ssdlab-drives-")
    # Otherwise the first test that caches 100 MB of drives would print the directory of the cache.
    Path(_DRIVES, ".told").touch()
    atexit.register(shutil.rmtree, _DRIVES, ignore_errors=True)

# All processes wrap lines at the same width.
os.environ["COLUMNS"] = "100"

# Tests send SIGHUP and SIGINT to programs. Programs would inherit that `nohup` ignores SIGHUP, and that a script
# ignores SIGINT in background jobs.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

# Hypothesis tries the same examples every time, except in tier `deep`, which prints how to replay a failure.
hypothesis.settings.register_profile("tier", derandomize=TIER != "deep", print_blob=TIER == "deep")
hypothesis.settings.load_profile("tier")

ROOT = Path(__file__).parent.parent
SMALL = {
    "device.capacity": "16MiB",
    "device.op": "20%",
    "nand.pages_per_block": 64,
    "workload.requests": 20_000,
}
"""A device of 4,096 pages in 77 blocks, and a workload that overwrites it three times."""

PROGRESS = re.compile(r"[^:]+: [\w-]+( \d+ %)?, .*(\d:\d\d left|for \d+:\d\d)$")
"""A line of progress on standard error."""

Cli = Callable[..., subprocess.CompletedProcess[str]]


def without_progress(said: str) -> str:
    """Standard error without progress, which depends on the machine because it appears after a second."""
    return "".join(line for line in said.splitlines(keepends=True) if not PROGRESS.match(line))


def notes(printed: str) -> list[str]:
    """Notes at the start of a printed page, each joined to one line."""
    return [" ".join(note.split()) for note in printed.partition("\n\n")[0].split("\nnote: ")[1:]]


@pytest.fixture
def small() -> ssdlab.Config:
    """The small device."""
    return ssdlab.Config("tlc-chip", overrides=SMALL)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Runs `ssdlab` in an empty directory, without input or with a pipe that holds `data`."""

    def run(*arguments: object, check: bool = True, data: bytes | None = None) -> subprocess.CompletedProcess[str]:
        done = forked.run([*map(str, arguments)], tmp_path, data=data)
        done.stderr = without_progress(done.stderr)
        assert not check or done.returncode == 0, done.stderr
        return done

    return run


SMALL_SETS = [
    "--preset",
    "tlc-chip",
    *(argument for key, value in SMALL.items() for argument in ("--set", f"{key}={value}")),
]
"""The small device on the command line."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips slow tests in tier `quick`. In other tiers slow tests start first, so that the last tests are short."""
    if TIER == "quick":
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow; SSDLAB_TESTS=ci runs it"))
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
