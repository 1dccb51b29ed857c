"""Measures whole runs of the drive and load that MQSim ships, for comparison with other drive simulators."""

import itertools

from whole_process import measured

ROUNDS = 3
REQUESTS = 1_000_000
DRIVE = [
    "device.capacity=476GiB", "device.op=7.5%", "nand.channels=8", "nand.ways=4", "nand.dies=2", "nand.planes=2",
    "nand.page_size=8KiB", "nand.pages_per_block=256", "nand.read=75us", "nand.program=75us", "nand.erase=3.8ms",
    "nand.transfer_per_kib=3.075us", "drive.buffer=eager", "drive.buffer.eager.size=256MiB", "ftl.page.gc=d_choices",
]  # fmt: skip
"""The drive of MQSim's `ssdconfig.xml`, with 512 GiB of flash and a write buffer of 256 MiB."""
LOAD = [
    "workload.reads=0%", "workload.size=4KiB", "workload.span=238GiB",
    "host.replay.closed.queue_depth=18",
]  # fmt: skip
"""The load of MQSim's `workload.xml`: random writes to half of the drive, with 16 and 2 outstanding."""
EMPTY = ["precondition.fill=0%", "precondition.overwrite=none"]
CACHED = ["ftl.page.map=dftl", "ftl.page.map.dftl.cmt=262144"]
"""A map cache of 2 MiB, as in MQSim's file."""
CASES = {
    "empty drive, map cache of 2 MiB": [*EMPTY, *CACHED],
    "empty drive, map in RAM": EMPTY,
    "drive in steady state, map in RAM": [],
}


def run(*settings: str) -> list[str]:
    """Returns the arguments of a run on preset `tlc-nvme` with these settings."""
    options = itertools.chain.from_iterable(("--set", setting) for setting in [*DRIVE, *LOAD, *settings])
    return ["-m", "ssdlab", "run", "--preset", "tlc-nvme", "--workload", "uniform", "--json", *options]


def main() -> None:
    """Prints processor time and memory of a run of one request, and the rate of the further requests."""
    print("\n### The drive and load that MQSim ships\n")
    print("| drive | a run of one request | memory | further requests per second |\n|---|---|---|---|")
    for name, state in CASES.items():
        first, all = (
            min(
                (measured(*run(*state, f"workload.requests={count}")) for _ in range(ROUNDS)),
                key=lambda one: one.seconds,
            )
            for count in (1, 1 + REQUESTS)
        )
        rate = REQUESTS / (all.seconds - first.seconds)
        print(f"| {name} | {first.seconds:.2f} s | {first.mebibytes:.0f} MiB | {rate / 1e3:.0f} k |")


if __name__ == "__main__":
    main()
