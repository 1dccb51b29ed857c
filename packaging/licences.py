"""Writes the licences of everything that the extension contains, for THIRD-PARTY.txt.

Usage: python packaging/licences.py > THIRD-PARTY.txt
"""

import json
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
EXTENSION = "ssdlab-py"
LINE = "-" * 80
PLATFORM = "x86_64-unknown-linux-gnu"
"""Other platforms use some of the same crates."""
HEAD = """Licences of third parties, written by `make licences`

The extension module of ssdlab contains the crates below and the Rust standard library (MIT or Apache-2.0, copyright
The Rust Project Contributors). Where a crate offers several licences, ssdlab chooses MIT. Pages of results contain
Apache ECharts; its licence is in echarts.LICENSE.

"""


def crates() -> list[dict[str, Any]]:
    """Returns the packages from crates.io that are linked into the extension, by name."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM]
    described = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    packages = {package["id"]: package for package in described["packages"]}
    nodes = {node["id"]: node for node in described["resolve"]["nodes"]}
    waiting = [key for key, package in packages.items() if package["name"] == EXTENSION]
    linked: dict[str, dict[str, Any]] = {}
    while waiting:
        key = waiting.pop()
        # Macros run in the compiler.
        if key in linked or any("proc-macro" in target["kind"] for target in packages[key]["targets"]):
            continue
        linked[key] = packages[key]
        dependencies = nodes[key]["deps"]
        waiting += [one["pkg"] for one in dependencies if any(kind["kind"] is None for kind in one["dep_kinds"])]
    return sorted((one for one in linked.values() if one["source"]), key=lambda one: (one["name"], one["version"]))


def texts(folder: Path) -> list[str]:
    """Returns the licence texts in the folder of a crate and in those of the C libraries that it contains."""
    files = defaultdict(list)
    for path in sorted(folder.rglob("*")):
        if path.name.upper().startswith(("LICENSE", "COPYING")) and path.is_file():
            files[path.parent].append(path)
    # zstd offers the GPL (COPYING) or BSD (LICENSE).
    choices = [
        [path for path in paths if "MIT" in path.name]
        or [path for path in paths if path.name.startswith("LICENSE")]
        or paths
        for paths in files.values()
    ]
    return [path.read_text(encoding="utf-8").strip() for paths in choices for path in paths]


def document() -> str:
    """Returns the document: a list of crates, and each licence text once."""
    rows, users = [], defaultdict(list)
    for crate in crates():
        rows.append(f"{crate['name']} {crate['version']}: {crate['license']}\n")
        for text in texts(Path(crate["manifest_path"]).parent):
            users[text].append(crate["name"])
    parts = [f"\n{LINE}\n{', '.join(dict.fromkeys(names))}\n{LINE}\n\n{text}\n" for text, names in users.items()]
    return HEAD + "".join(rows) + "".join(parts)


if __name__ == "__main__":
    print(document(), end="")
