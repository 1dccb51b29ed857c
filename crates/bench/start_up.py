"""Processor time (user and system) of commands that simulate next to nothing: what loading and reports cost."""

import resource
import subprocess
import sys
import tempfile

ROUNDS = 7
TINY = ["device.capacity=16MiB", "nand.pages_per_block=64", "precondition.overwrite=none", "workload.requests=1000"]
RUN = ["-m", "ssdlab", "run", "--workload", "uniform", *(word for one in TINY for word in ("--set", one))]


def seconds(arguments: list[str]) -> float:
    """Processor time of one process, its start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Runs all in turns, so that a noisy neighbour disturbs them alike, and prints the least of each."""
    with tempfile.TemporaryDirectory() as directory:
        commands = {
            "the interpreter alone": ["-c", "pass"],
            "`import ssdlab`": ["-c", "import ssdlab"],
            "`ssdlab --help`": ["-m", "ssdlab", "--help"],
            "`ssdlab run --help`": ["-m", "ssdlab", "run", "--help"],
            "`ssdlab run --json`": [*RUN, "--json"],
            "`ssdlab run`": RUN,
            "`ssdlab run --out`": [*RUN, "--out", directory],
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, arguments in commands.items():
                taken[name].append(seconds(arguments))
    print("\n### Start-up and reports\n")
    print("| command | processor time |\n|---|---|")
    for name, times in taken.items():
        print(f"| {name} | {min(times):.2f} s |")


if __name__ == "__main__":
    main()
