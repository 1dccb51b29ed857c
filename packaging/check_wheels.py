"""Checks wheels before a release: size, platform of the extension, licences and parts. `make wheels` calls it.

Usage: python packaging/check_wheels.py WHEEL...
"""

import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parent.parent
MOST_BYTES = 10_000_000
MACHINES = {"x86_64": 62, "aarch64": 183}
"""Machine numbers of the ELF standard."""
PARTS = (
    "ssdlab/py.typed",
    "ssdlab/_ssdlab.pyi",
    "ssdlab/view/stepper/simulator.wasm",
    "ssdlab/view/explore/echarts.min.js.gz",
)


def faults(wheel: Path) -> list[str]:
    """Returns what is wrong with a wheel, a line each."""
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        header = archive.read("ssdlab/_ssdlab.abi3.so")[:20]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    licences = [name for name in names if ".dist-info/licenses/" in name]
    found = [f"no {part}" for part in PARTS if part not in names]
    found += [f"no {file}" for file in project["license-files"] if not any(one.endswith(file) for one in licences)]
    machine = next((name for name in MACHINES if wheel.stem.endswith(name)), None)
    if machine is None or int.from_bytes(header[18:20], "little") != MACHINES[machine]:
        found.append("the extension is for another machine than the name says")
    if wheel.stat().st_size > MOST_BYTES:
        found.append(f"larger than {MOST_BYTES / 1e6:.0f} MB")
    return found


def main(wheels: list[Path]) -> None:
    """Prints the size of each wheel; ends with an error if one has a fault."""
    bad = False
    for wheel in wheels:
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")
        for fault in faults(wheel):
            bad = True
            print(f"  {fault}")
    sys.exit(bad)


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
