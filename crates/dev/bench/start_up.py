"""Measures processor time (user and system) and memory of whole commands: loading, large drives and reports."""

import tempfile

from whole_process import measured

ROUNDS = 7
TINY = ["device.capacity=16MiB", "nand.pages_per_block=64", "precondition.overwrite=none", "workload.requests=1000"]
LARGE = [
    "device.capacity=512GiB", "precondition.fill=0%", "precondition.overwrite=none", "workload.size=8KiB",
    "host.replay.closed.queue_depth=16",
]  # fmt: skip
"""Settings of an empty large drive."""
STEADY = "`ssdlab run --json`, 1 request to {} in steady state"


def running(*settings: str) -> list[str]:
    """Returns the command line of a run with a generated workload."""
    return [
        "-m",
        "ssdlab",
        "run",
        "--workload",
        "uniform",
        *(word for setting in settings for word in ("--set", setting)),
    ]


def main() -> None:
    """Runs all commands alternately, so that noise affects all, and prints the shortest time of each command."""
    with tempfile.TemporaryDirectory() as directory:
        tiny = running(*TINY)
        commands = {
            "the interpreter alone": ["-c", "pass"],
            "`import ssdlab`": ["-c", "import ssdlab"],
            "`ssdlab --help`": ["-m", "ssdlab", "--help"],
            "`ssdlab run --help`": ["-m", "ssdlab", "run", "--help"],
            "`ssdlab run --json`": [*tiny, "--json"],
            "`ssdlab run`": tiny,
            "`ssdlab run --out`": [*tiny, "--out", directory],
            "`ssdlab run --json`, 1 request to 512 GiB": [*running(*LARGE, "workload.requests=1"), "--json"],
            "`ssdlab run --json`, 1 M requests to 512 GiB": [*running(*LARGE, "workload.requests=1M"), "--json"],
            **{
                STEADY.format(capacity): [*running(f"device.capacity={capacity}", "workload.requests=1"), "--json"]
                for capacity in ("1TB", "3.84TB")
            },
        }
        rounds = [{name: measured(*arguments) for name, arguments in commands.items()} for _ in range(ROUNDS)]
    print("\n### Start-up and reports\n")
    print("| command | processor time | memory |\n|---|---|---|")
    for name in commands:
        seconds = min(measurement[name].seconds for measurement in rounds)
        mebibytes = min(measurement[name].mebibytes for measurement in rounds)
        print(f"| {name} | {seconds:.2f} s | {mebibytes:.0f} MiB |")


if __name__ == "__main__":
    main()
