"""Experiments: tables of published documents, simulated and compared cell by cell.

    >>> import ssdlab
    >>> experiment = ssdlab.experiments.load("sbfast")
    >>> result = experiment.run(tables=["exec_time_sbs_by_slen"])  # doctest: +SKIP
    >>> result["exec_time_sbs_by_slen"].difference  # doctest: +SKIP

An experiment is pure data: a folder with `experiment.toml` and the document's tables as CSV files. The experiments that
ship with ssdlab are in this folder; `docs/experiment-files.md` explains the keys.
"""

import os
from pathlib import Path

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.arguments import takes
from ssdlab.study.experiments.definition import Anchor, Axis, Experiment, Given, Replay, Table
from ssdlab.study.experiments.reader import FILE, read
from ssdlab.study.experiments.result import ExperimentResult, TableResult, Winner
from ssdlab.text import suggestion

__all__ = [
    "Anchor",
    "Axis",
    "Experiment",
    "ExperimentResult",
    "Given",
    "Replay",
    "Table",
    "TableResult",
    "Winner",
    "load",
    "names",
]

_SHIPPED = Path(__file__).parent


def names() -> list[str]:
    """Returns the sorted names of the experiments that ship with ssdlab."""
    return sorted(path.parent.name for path in _SHIPPED.glob(f"*/{FILE}"))


@takes()
def load(experiment: str | os.PathLike[str]) -> Experiment:
    """Reads an experiment.

    Args:
        experiment: Name from `names`, or the path of a TOML file or of a folder with `experiment.toml`.

    Raises:
        ConfigError: If the experiment does not exist or its files are invalid. The message is one line with file, key
            and remedy.
    """
    if shipped := _ssdlab.named(str(experiment), names()):
        return read(_SHIPPED / shipped / FILE, shipped, f"{shipped}/{FILE}")
    path = Path(experiment)
    if path.is_dir():
        path /= FILE
    elif not path.exists():
        raise ConfigError(
            f"unknown experiment {text.path(experiment)!r}{suggestion(str(experiment), names())}; "
            "see 'ssdlab experiment list', or use the path of a folder or TOML file"
        )
    name = path.absolute().parent.name if path.name == FILE else path.stem
    return read(path, name, text.path(path))
