"""Runs an installed ssdlab as its users do, away from its sources: `make check-wheel` has a clean environment do so."""

import json
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

PRESET = "tlc-chip"
SMALL = {
    "device.capacity": "16MiB",
    "nand.pages_per_block": "64",
    "workload.requests": "2000",
    "workload.pattern": "zipf",
}
FILES = {"report.html", "result.json", "config.toml", "series.parquet", "latency.parquet"}


def run(*arguments: str) -> str:
    """What the installed command prints."""
    program = Path(sys.executable).with_name("ssdlab")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Ends with an error if anything that a user is promised is not there."""
    import ssdlab

    prefix = Path(sys.prefix)
    assert prefix in Path(ssdlab.__file__).parents, f"{ssdlab.__file__} is not the installed package"
    assert run("--version") == f"ssdlab {version('ssdlab')}\n"
    assert "tlc-nvme" in run("presets", "list")
    assert "compare" in run("--help")
    with tempfile.TemporaryDirectory() as directory:
        settings = (word for key, value in SMALL.items() for word in ("--set", f"{key}={value}"))
        run("run", "--preset", PRESET, *settings, "--out", directory)
        missing = FILES - {path.name for path in Path(directory).iterdir()}
        assert not missing, f"--out wrote no {missing}"
        page = Path(directory) / "page.html"
        run("explain", "bast-locality", "--out", str(page))
        assert "BAST" in page.read_text(encoding="utf-8")
        saved = json.loads((Path(directory) / "result.json").read_text(encoding="utf-8"))
    result = ssdlab.simulate(ssdlab.Config(PRESET, overrides=SMALL))
    assert result.write_amplification == saved["result"]["write_amplification"]
    assert ssdlab.experiments.names(), "the wheel holds no experiments"
    assert (Path(ssdlab.__file__).parent / "py.typed").exists()
    print(f"ssdlab {ssdlab.__version__} runs from {prefix.name}")


if __name__ == "__main__":
    main()
