"""Measures components of crates outside the workspace, compiled in by `ssdlab build`, against built-in ones that do the
same. Both sides run in turns.
"""

import itertools
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from whole_process import measured

from ssdlab.model.extension.build import EXTENSION, Built, build
from ssdlab.model.extension.new import create

ROUNDS = 5
DRIVE = ("workload.pattern=uniform", "device.capacity=1GiB", "seed=1")
CLOCKS = {
    "counted": ("time=count", "workload.requests=10M"),
    "timed": ("time=event", "workload.requests=1M"),
}
"""Settings of runs whose operations are counted, and of runs whose operations take time."""

WHOLE_MAP = """
//! A map that is in RAM as a whole, so that looking up an entry costs nothing.
use ssdlab::map::{self, Lookup, MapInfo, MapModel, MapRules, PageFtl};
use ssdlab::{Archive, Archived, NameTaken};

pub fn register() -> Result<(), NameTaken> {
    map::register(&WHOLE)
}

static WHOLE: MapInfo = MapInfo {
    name: "my_map",
    help: "map in RAM",
    source: "",
    parameters: &[],
    role: MapRules {
        pages: |_, _, _| 0,
        problems: |_, _| Vec::new(),
        build: Some(|shape, options, seed, _| Ok(Box::new(PageFtl::with_map(shape, options, Whole, seed)?))),
    },
};

struct Whole;

impl MapModel for Whole {
    const CHARGED: bool = false;

    fn pages(&self) -> u32 {
        0
    }

    fn look_up(&mut self, _lpn: u32) -> Lookup {
        Lookup::HIT
    }

    fn changed(&mut self, _lpn: u32) {}

    fn moved(&mut self, _lpn: u32) -> Option<u32> {
        None
    }

    fn written(&mut self, _page: u32) {}

    fn load_bytes(&self) -> u32 {
        0
    }

    fn knows_whole_pages(&self) -> bool {
        true
    }

    fn ram_bytes(&self) -> u64 {
        0
    }

    fn memory_bytes(&self) -> u64 {
        0
    }

    fn archive(&mut self, _archive: &mut Archive<'_>) -> Archived {
        Ok(())
    }
}
"""


def crates() -> list[Path]:
    """Writes a crate for each component into the current directory."""
    greedy, whole, mapping = create("victim", "my_greedy"), create("map", "my_map"), create("ftl", "my_mapping")
    code = (greedy / "src/lib.rs").read_text()
    windowed = "plane.oldest_first().take(self.window).min_by_key(|&block| plane.valid(block))"
    assert windowed in code
    (greedy / "src/lib.rs").write_text(code.replace(windowed, "plane.least_valid()"))
    (whole / "src/lib.rs").write_text(WHOLE_MAP)
    return [greedy, whole, mapping]


CASES = {
    "greedy victims": (("ftl.page.gc=my_greedy",), ("ftl.page.gc=greedy",)),
    "page mapping as a crate, with its map": (("ftl.page.map=my_map",), ("ftl.page.map=ram",)),
    "page mapping that `ssdlab new ftl` writes": (
        ("ftl=my_mapping",),
        ("ftl.page.gc=fifo", "ftl.page.survivors=shared", "ftl.page.allocation=fifo", "ftl.page.trigger=victim"),
    ),
}
"""Settings of the component and of the built-in one."""


def took(built: Built, settings: tuple[str, ...]) -> tuple[float, object]:
    """Runs a simulation in its own process; returns its processor time and the operations of the flash."""
    os.environ[EXTENSION] = str(built.directory)
    options = [f"--set={setting}" for setting in (*DRIVE, *settings)]
    process = measured("-m", "ssdlab", "run", "--json", "--no-cache", "--preset=tlc-chip", *options)
    return process.seconds, json.loads(process.printed)["result"]["flash"]


def main() -> None:
    """Prints a row per component and clock."""
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        built = build(crates())
        print("\n### Components compiled in, against built-in ones\n")
        print("| component | operations | crate | built-in | speed | results |\n|---|---|---|---|---|---|")
        for (name, sides), (clock, drive) in itertools.product(CASES.items(), CLOCKS.items()):
            rounds = [[took(built, (*drive, *settings)) for settings in sides] for _ in range(ROUNDS)]
            if any(mine[1] != theirs[1] for mine, theirs in rounds):
                sys.exit(f"{name}, {clock}: the results differ")
            mine, theirs = (min(side[0] for side in sides) for sides in zip(*rounds, strict=True))
            ratio = statistics.median(theirs[0] / mine[0] for mine, theirs in rounds)
            print(f"| {name} | {clock} | {mine:.2f} s | {theirs:.2f} s | **{ratio:.2f}** | equal |", flush=True)


if __name__ == "__main__":
    main()
