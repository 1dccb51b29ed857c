"""The Rust sources of ssdlab, with which plug-ins are compiled."""

import os
import tomllib
from pathlib import Path

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError

SOURCE = "SSDLAB_SOURCE"
"""Environment variable for the directory with the Rust sources of ssdlab; not needed in a clone of the repository."""

WHAT = "a clone of ssdlab or its unpacked source distribution"


def root() -> Path:
    """Returns the directory with the Rust sources of this version of ssdlab."""
    named = os.environ.get(SOURCE)
    found = Path(named).absolute() if named else Path(__file__).resolve().parents[4]
    try:
        workspace = tomllib.loads((found / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
        version = workspace["package"]["version"]
        known = library(found).is_dir()
    except (OSError, KeyError, ValueError):
        known = False
    if not known and named:
        raise ConfigError(f"{SOURCE}: {text.path(named)} does not contain the ssdlab sources; set it to {WHAT}")
    if not known:
        raise ConfigError(f"compiling plug-ins needs the ssdlab sources; set {SOURCE} to {WHAT}")
    if version != _ssdlab.__version__:
        raise ConfigError(
            f"{text.path(found / 'Cargo.toml')}: is ssdlab {version}, but {_ssdlab.__version__} is installed; "
            f"set {SOURCE} to the sources of {_ssdlab.__version__}"
        )
    return found


def library(root: Path) -> Path:
    """Returns the directory of the crate `ssdlab`, on which plug-ins depend."""
    return root / "crates" / "ssdlab"
