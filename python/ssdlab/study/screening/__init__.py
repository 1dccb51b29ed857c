"""Screenings: under which conditions does one thing differ from others of its kind?

A screening is data: a TOML file with two levels of each factor, the contrast (the thing and the others), and what a
document says of it. A two-level fractional factorial over all factors, run under each of the contrast, tells which
factors have the largest effects; all combinations of these are then run around the point where the thing did best, with
seeds that the first part did not have, so that a lucky point is found out. `definition.py` holds it, `reader.py` reads
it, `plan.py` makes its runs, `running.py` runs them on the executor of sweeps, `contrast.py` and `result.py` say what
came of it.
"""

import os
import tomllib
from pathlib import Path

from ssdlab import _ssdlab, text
from ssdlab.model.arguments import takes
from ssdlab.study.screening.definition import Screening
from ssdlab.study.screening.reader import read

__all__ = ["Screening", "holds", "load", "names"]

_SHIPPED = Path(__file__).parent


def names() -> list[str]:
    """Names of the screenings that ship with ssdlab, sorted."""
    return sorted(path.stem for path in _SHIPPED.glob("*.toml"))


def holds(name: str | os.PathLike[str]) -> bool:
    """Whether that is a screening: the name of one, or a TOML file with factors, faulty or not."""
    if _ssdlab.named(str(name), names()):
        return True
    try:
        return "factor" in tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


@takes()
def load(screening: str | os.PathLike[str]) -> Screening:
    """Reads a screening: one that ships with ssdlab by its name, or a TOML file by its path.

    Raises:
        ConfigError: If the file cannot be read or is wrong; one line with file, key and remedy.
    """
    if shipped := _ssdlab.named(str(screening), names()):
        return read(_SHIPPED / f"{shipped}.toml", f"{shipped}.toml")
    return read(Path(screening), text.path(screening))
