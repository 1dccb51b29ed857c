"""Builds a wheel of ssdlab that includes plug-ins, for computers without the source code."""

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from ssdlab.model.extension.build import FILE, Built

PACKAGE = Path(__file__).parents[2]


def write(built: Built, directory: Path) -> Path:
    """Writes the wheel into a directory. Its version ends with the names of the plug-ins, such as `0.1.0+mine`."""
    installed = distribution("ssdlab")
    version = f"{installed.version}+{'.'.join(plugin.library.replace('_', '.') for plugin in built.plugins)}"
    label = installed.read_text("WHEEL") or ""
    tag = re.findall(r"^Tag: (.*)$", label, re.MULTILINE)[0]
    metadata = re.sub(
        r"^Version: .*$", f"Version: {version}", installed.read_text("METADATA") or "", flags=re.MULTILINE
    )
    info = f"ssdlab-{version}.dist-info"
    texts = {"METADATA": metadata, "WHEEL": label, "entry_points.txt": installed.read_text("entry_points.txt") or ""}
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"ssdlab-{version}-{tag}.whl"
    rows = []
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, contents in [
            *((f"ssdlab/{file.relative_to(PACKAGE)}", file.read_bytes()) for file in _package()),
            (f"ssdlab/{FILE}", (built.directory / FILE).read_bytes()),
            *((f"{info}/{name}", contents.encode()) for name, contents in texts.items()),
        ]:
            archive.writestr(name, contents)
            digest = urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={digest},{len(contents)}\n")
        archive.writestr(f"{info}/RECORD", "".join(rows) + f"{info}/RECORD,,\n")
    return path


def _package() -> Iterator[Path]:
    """Yields the files of the package, except compiled files."""
    for path in sorted(PACKAGE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so":
            yield path
