"""Compares simulated caches with libCacheSim: requests per second from one file, alternating in the same run.

Run this script with the Python that has ssdlab; the first argument is the Python that has libcachesim. Both programs
read the requests from the file and simulate one cache. ssdlab reads on a separate thread, so the table shows wall time
and processor time.
A second table times whole processes, as users start them.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

POLICIES = {
    "lru": "LRU", "fifo": "FIFO", "clock": "Clock", "arc": "ARC", "s3-fifo": "S3FIFO", "sieve": "Sieve", "lirs": "LIRS",
    "w-tinylfu": "WTinyLFU",
}  # fmt: skip
OBJECTS, REQUESTS, THETA = 1_000_000, 20_000_000, 1.0
WHOLE_REQUESTS = 10_000_000
"""Number of requests in the benchmark that times whole processes, from start to end."""
SHARES = (0.1,)
"""Cache sizes as fractions of the number of distinct objects in the trace."""
ROUNDS = 3
HASHPOWER = 20
"""Size of libCacheSim's hash table (log2), for the objects of the trace."""


Timed = tuple[float, float, int]
"""Wall time in seconds, processor time in seconds, and number of misses."""


def timed(simulate: Callable[[], int]) -> Timed:
    """Returns the times and misses of a simulation."""
    passed, processor = time.monotonic(), time.process_time()
    misses = simulate()
    return time.monotonic() - passed, time.process_time() - processor, misses


def peer(path: str, name: str, size: int) -> Timed:
    """Measures one cache of libCacheSim on the requests in a file."""
    import libcachesim

    def simulate() -> int:
        reader = libcachesim.TraceReader(
            path, libcachesim.TraceType.VSCSI_TRACE, libcachesim.ReaderInitParam(ignore_obj_size=True)
        )
        cache = getattr(libcachesim, name)(size, hashpower=HASHPOWER)
        miss_ratio, _ = cache.process_trace(reader)
        return round(miss_ratio * REQUESTS)

    return timed(simulate)


def ours(path: str, name: str, size: int) -> Timed:
    """Measures one cache of ssdlab on the requests in a file."""
    import numpy  # noqa: F401  # loaded on first use otherwise

    from ssdlab import TraceFile, cache

    def simulate() -> int:
        caches = cache.simulate(TraceFile(path, format="vscsi1"), [name], [size], granularity="objects")
        return caches.accesses - int(caches.hits[0, 0])

    return timed(simulate)


SCRIPT = """
import libcachesim
reader = libcachesim.TraceReader(
    {path!r}, libcachesim.TraceType.VSCSI_TRACE, libcachesim.ReaderInitParam(ignore_obj_size=True)
)
print(libcachesim.{name}({size}, hashpower={HASHPOWER}).process_trace(reader))
"""
"""Program that a user of libCacheSim would write."""


def environment() -> dict[str, str]:
    """Returns the environment variables of a timed process. They limit NumPy to one thread, so that idle threads do not
    use processor time.
    """
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


def whole(command: list[str]) -> float:
    """Runs a command; returns the seconds from the start of its process to the end."""
    began = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment())
    return time.monotonic() - began


def processes(theirs: str, path: str, size: int) -> None:
    """Prints a table of whole processes: one process of libCacheSim per policy, and one of ssdlab for all policies."""
    ssdlab = str(Path(sys.executable).with_name("ssdlab"))
    print(f"\n## Whole processes against libCacheSim: {WHOLE_REQUESTS:,} requests, {size:,} objects cached\n")
    print("| policy | libCacheSim, s | `ssdlab cache sim`, s | ratio |")
    print("|---|---|---|---|")

    def row(title: str, policies: list[str]) -> None:
        scripts = [
            SCRIPT.format(path=path, name=POLICIES[policy], size=size, HASHPOWER=HASHPOWER) for policy in policies
        ]
        ours = [ssdlab, "cache", "sim", path, "--format", "vscsi1", "--objects", "--json"]
        ours += ["--policy", ",".join(policies), "--size", str(size)]
        peers, own = [], []
        for _ in range(ROUNDS):
            peers.append(sum(whole([theirs, "-c", script]) for script in scripts))
            own.append(whole(ours))
        print(f"| {title} | {min(peers):.2f} | {min(own):.2f} | **{min(peers) / min(own):.2f}** |", flush=True)

    for policy in POLICIES:
        row(policy, [policy])
    row("all of these", list(POLICIES))


def ask(python: str, *arguments: str) -> Timed:
    """Measures in a separate process, so that memory of one measurement does not affect the next."""
    done = subprocess.run([python, __file__, *arguments], check=True, capture_output=True, text=True, env=environment())
    passed, processor, misses = json.loads(done.stdout)
    return passed, processor, misses


def main(theirs: str) -> None:
    """Prints the tables that compare the speed and the misses of libCacheSim and ssdlab."""
    from ssdlab import Config, Trace, generate

    def generated(requests: int, path: str) -> Trace:
        trace = generate(
            Config(
                overrides={
                    "workload.pattern": "zipf",
                    "workload.pattern.zipf.theta": THETA,
                    "workload.requests": requests,
                    "workload.reads": "100%",
                    "workload.size": "4KiB",
                    "workload.span": f"{OBJECTS * 4}KiB",
                    "device.capacity": "8GiB",
                }
            )
        )
        trace.save(path, format="vscsi1")
        return trace

    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "zipf.vscsi")
        trace = generated(REQUESTS, path)
        touched = trace.profile()["footprint_bytes"] // 4096
        print(f"## Caches against libCacheSim: {REQUESTS:,} requests by Zipf's law ({THETA}) for {touched:,} objects\n")
        print(
            "| policy | objects cached | libCacheSim, M requests/s | ssdlab | ratio | of processor time "
            "| misses, libCacheSim | ssdlab |"
        )
        print("|---|---|---|---|---|---|---|---|")
        for share in SHARES:
            size = int(share * touched)
            for name, their_name in POLICIES.items():
                rounds = [
                    (
                        ask(theirs, "peer", path, their_name, str(size)),
                        ask(sys.executable, "ours", path, name, str(size)),
                    )
                    for _ in range(ROUNDS)
                ]
                passed, processor = (
                    [min(measurement[side][clock] for measurement in rounds) for side in (0, 1)] for clock in (0, 1)
                )
                misses = [rounds[0][side][2] for side in (0, 1)]
                rates = [REQUESTS / seconds / 1e6 for seconds in passed]
                print(
                    f"| {name} | {size:,} | {rates[0]:.2f} | {rates[1]:.2f} | **{rates[1] / rates[0]:.2f}** "
                    f"| {processor[0] / processor[1]:.2f} | {misses[0]:,} | {misses[1]:,} |",
                    flush=True,
                )
        generated(WHOLE_REQUESTS, path)
        processes(theirs, path, int(SHARES[0] * touched))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(sys.argv[1])
    else:
        side, path, name, size = sys.argv[1:]
        print(json.dumps({"peer": peer, "ours": ours}[side](path, name, int(size))))
