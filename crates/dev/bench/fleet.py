"""Measures how much longer partitioning a trace by volume takes than reading it, and time and memory of a fleet.

`--short` uses a hundredth of the requests; `--requests N` replaces the ten million. Memory is shown as the peak of this
process, which partitions the trace, and as the peak of a worker.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ssdlab
from ssdlab.model import volumes
from ssdlab.model.requests import batches

SPEED = 10_000_000
"""Number of requests in the measured trace."""
VOLUMES = 1000
TRIES = 3
"""Number of repetitions of each pass; the fastest counts."""

SPENT = """
import resource, sys
import ssdlab
ssdlab.fleet(sys.argv[1], {"time": "count"}, out=sys.argv[2])
print(*(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
"""


def seconds(trace: Path) -> float:
    """Returns the time in seconds to read the trace without partitioning it."""
    began = time.perf_counter()
    for _ in batches(ssdlab.TraceFile(trace).open()):
        pass
    return time.perf_counter() - began


def parting(trace: Path, folder: Path) -> float:
    """Returns the time in seconds to partition the trace by volume."""
    shutil.rmtree(folder, ignore_errors=True)
    began = time.perf_counter()
    volumes.part(ssdlab.TraceFile(trace), folder)
    return time.perf_counter() - began


def main() -> None:
    """Prints the table of measurements of a fleet."""
    asked = int(sys.argv[sys.argv.index("--requests") + 1]) if "--requests" in sys.argv else SPEED
    requests = asked // (100 if "--short" in sys.argv else 1)
    rows: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        one = ssdlab.generate_fleet(folder / "one.csv", volumes=1, requests=requests).path
        began = time.perf_counter()
        many = ssdlab.generate_fleet(folder / "many.csv", volumes=VOLUMES, requests=requests).path
        rows.append(
            (f"generating {requests:,} requests to {VOLUMES:,} volumes", f"{time.perf_counter() - began:.1f} s")
        )
        plain = min(seconds(one) for _ in range(TRIES))
        one.unlink()
        parted = min(parting(many, folder / "volumes") for _ in range(TRIES))
        rows.append(("plain ingest of the same number of requests to one volume", f"{requests / plain / 1e6:.1f} M/s"))
        rows.append(
            ("partitioning the requests by volume", f"{requests / parted / 1e6:.1f} M/s, {100 * plain / parted:.0f} %")
        )
        shutil.rmtree(folder / "volumes")
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", SPENT, str(many), str(folder / "fleet")],
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
        own, worker = (int(word) * 1024 / 2**20 for word in done.stdout.split())
        rows.append(("the whole fleet, counting", f"{time.perf_counter() - began:.1f} s"))
        rows.append(("peak memory of the partitioning process and of a worker", f"{own:.0f} MiB, {worker:.0f} MiB"))
    print("\n### Fleets\n\n| measurement | result |\n|---|---|")
    for what, figure in rows:
        print(f"| {what} | {figure} |")


if __name__ == "__main__":
    main()
