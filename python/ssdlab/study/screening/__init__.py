"""Screenings, which find the conditions under which one scheduler differs from others.

A screening is a TOML file with factors at two levels, the tested scheduler, other schedulers, and a paper's claims. A
two-level fractional factorial over all factors finds the strongest factors. Then all combinations of the strongest
factors run with fresh seeds, around the point with the largest gain of the tested scheduler. `definition.py` defines a
screening, `reader.py` reads it, `plan.py` and `running.py` run it, `contrast.py` and `result.py` evaluate it.
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
    """Returns the sorted names of the screenings that ship with ssdlab."""
    return sorted(path.stem for path in _SHIPPED.glob("*.toml"))


def holds(name: str | os.PathLike[str]) -> bool:
    """True if the text is the name of a screening, or the path of a (possibly invalid) TOML file with factors."""
    if _ssdlab.named(str(name), names()):
        return True
    try:
        return "factor" in tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


@takes()
def load(screening: str | os.PathLike[str]) -> Screening:
    """Reads a screening, given its name or the path of a TOML file.

    Raises:
        ConfigError: If the file is invalid or cannot be read. The message is one line with file, key and remedy.
    """
    if shipped := _ssdlab.named(str(screening), names()):
        return read(_SHIPPED / f"{shipped}.toml", f"{shipped}.toml")
    return read(Path(screening), text.path(screening))
