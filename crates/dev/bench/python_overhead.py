"""Measures the overhead of calling the simulator from Python instead of Rust, in the same run."""

import subprocess
import sys
import time

import ssdlab

SETS = [
    "device.capacity=4GiB",
    "time=count",
    "precondition.overwrite=none",
    "workload.requests=8000000",
    "workload.reads=0%",
]
ROUNDS = 7


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


def main() -> None:
    """Simulates alternately from Rust and from Python, so that noise affects both, and prints the best time of each."""
    config = ssdlab.Config(overrides=SETS)
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


if __name__ == "__main__":
    main()
