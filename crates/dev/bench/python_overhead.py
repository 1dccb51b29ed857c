"""Measures the overhead of calling the simulator from Python instead of Rust, and the speed of components in Python."""

import subprocess
import sys
import time
import timeit
from pathlib import Path

import numpy as np

import ssdlab
from ssdlab.plugin import Plugin, VictimPolicy, load

SETS = [
    "device.capacity=4GiB",
    "time=count",
    "precondition.overwrite=none",
    "workload.requests=8000000",
    "workload.reads=0%",
]
ROUNDS = 7
SHORT_ROUNDS = 25
"""Rounds of runs that take a fraction of a second."""

CALLS = 10_000
"""Calls of NumPy in a round."""

for file in ("page_mapping.py", "s4_fifo.py"):
    load(Path(__file__).parents[3] / "plugins" / "python" / file)


def from_rust(program: str) -> tuple[float, int]:
    """Simulates from Rust; returns the duration of the call in seconds, and the number of programmed pages."""
    seconds, programs = subprocess.run(
        [program, "simulate", *SETS], check=True, capture_output=True, text=True
    ).stdout.split()
    return float(seconds), int(programs)


def from_python(config: ssdlab.Config) -> tuple[float, int]:
    """Simulates from Python; returns the duration of the call in seconds, and the number of programmed pages."""
    began = time.perf_counter()
    result = ssdlab.simulate(config)
    seconds = time.perf_counter() - began
    return seconds, sum(result.summary["flash"]["programs"].values())


class Greedy(VictimPolicy):
    """The block with the fewest valid pages."""

    def choose(self, valid):  # type: ignore[no-untyped-def]
        """Searches the array."""
        return valid.argmin()


class Told(VictimPolicy):
    """The same block, found by ssdlab."""

    def choose(self, least_valid):  # type: ignore[no-untyped-def]
        """Does nothing: the least time of a call."""
        return least_valid


class Views(VictimPolicy):
    """The same block, beside five arrays."""

    def choose(self, valid, closed_at, invalidated_at, valid_pages, erases, least_valid):  # type: ignore[no-untyped-def]
        """Reads none of the arrays: the time to write their changed elements."""
        return least_valid


DRIVE = {
    "nand.channels": 1,
    "nand.ways": 1,
    "nand.planes": 1,
    "nand.page_size": "4KiB",
    "nand.word_line": 1,
    "nand.pages_per_block": 16,
    "device.op": "20%",
    "time": "count",
    "precondition.fill": "0%",
    "precondition.overwrite": "none",
    "workload.requests": 100_000,
    "workload.reads": "0%",
}
SMALL, LARGE = {**DRIVE, "device.capacity": "4MiB"}, {**DRIVE, "device.capacity": "64MiB"}
CACHED = {**SMALL, "cache.size": "1MiB", "workload.pattern": "zipf"}
GREEDY: dict[str, object] = {"ftl.page.gc": "greedy"}
# Equal to the FTL in Python, operation by operation.
PAGE: dict[str, object] = {"ftl": "page", "ftl.page.gc": "greedy", "ftl.page.survivors": "shared"}
COMPONENTS: list[tuple[str, dict[str, object], type[Plugin] | dict[str, object], dict[str, object]]] = [
    ("victim policy, `valid.argmin()`, calls", SMALL, Greedy, GREEDY),
    ("victim policy, `valid.argmin()`, calls", LARGE, Greedy, GREEDY),
    ("victim policy, empty calls", SMALL, Told, GREEDY),
    ("victim policy, empty calls", LARGE, Told, GREEDY),
    ("victim policy, five arrays, none read, calls", SMALL, Views, GREEDY),
    ("victim policy, five arrays, none read, calls", LARGE, Views, GREEDY),
    ("FTL, page mapping, operations of the flash", SMALL, {"ftl": "python:page_mapping.PageMapping"}, PAGE),
    ("cache policy, S4-FIFO, calls", CACHED, {"cache.policy": "python:s4_fifo.S4Fifo"}, {"cache.policy": "s3-fifo"}),
]
"""Description, drive, component in Python, and settings of the comparable component of ssdlab."""


def overhead() -> None:
    """Simulates alternately from Rust and from Python, so that noise affects both, and prints the best time of each."""
    config = ssdlab.Config("tlc-chip", overrides=SETS)
    rust: list[float] = []
    python: list[float] = []
    for _ in range(ROUNDS):
        seconds, programs = from_rust(sys.argv[1])
        rust.append(seconds)
        seconds, same_programs = from_python(config)
        python.append(seconds)
        if programs != same_programs:
            sys.exit(f"Rust programmed {programs} pages, Python {same_programs}")
    print("## Python overhead: 8,000,000 writes to a 4 GiB drive\n")
    print("| called from | best seconds | against Rust |")
    print("|---|---|---|")
    print(f"| Rust | {min(rust):.3f} | |")
    print(f"| Python | {min(python):.3f} | {min(python) / min(rust) * 100 - 100:+.1f} % |")


def processor_seconds(config: ssdlab.Config, plugins: list[type[Plugin]]) -> tuple[float, ssdlab.Result]:
    """Simulates; returns the processor time of the run in seconds, and the result."""
    began = time.process_time()
    result = ssdlab.simulate(config, plugins=plugins)
    return time.process_time() - began, result


def components() -> None:
    """Runs each component in Python and the comparable one of ssdlab in turns, and prints the least of each."""
    print("\n## Components in Python: 100,000 writes, processor time\n")
    print("| component | blocks | calls or operations | us more than built-in | M/s | run, times the built-in |")
    print("|---|---|---|---|---|---|")
    for described, drive, component, built_in in COMPONENTS:
        mine: list[float] = []
        rust: list[float] = []
        of_rust = ssdlab.Config(overrides={**drive, **built_in})
        settings, plugins = (component, []) if isinstance(component, dict) else ({}, [component])
        of_python = ssdlab.Config(overrides={**drive, **settings})
        for _ in range(SHORT_ROUNDS):
            seconds, result = processor_seconds(of_python, plugins)
            mine.append(seconds)
            rust.append(processor_seconds(of_rust, [])[0])
        flash, done = result.summary["flash"], result.plugins[0].decisions
        if "operations" in described:
            done = sum(flash["programs"].values()) + sum(flash["erases"].values())
        more = min(mine) - min(rust)
        print(
            f"| {described} | {result.erase_counts.size} | {done} | {1e6 * more / done:.2f} | "
            f"**{done / more / 1e6:.2f}** | {min(mine) / min(rust):.1f} |"
        )
    print("\n| NumPy alone | elements | us |")
    print("|---|---|---|")
    for elements in (77, 1229):
        valid = np.arange(elements)
        seconds = min(timeit.repeat(valid.argmin, number=CALLS, repeat=SHORT_ROUNDS, timer=time.process_time))
        print(f"| `valid.argmin()` | {elements} | {1e6 * seconds / CALLS:.2f} |")


if __name__ == "__main__":
    overhead()
    components()
