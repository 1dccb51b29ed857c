"""What is loaded when it is first used: modules that are slow to import, and rooms above the one that asks.

`from ssdlab.lazy import np` costs nothing until an attribute of `np` is used; type checkers see NumPy itself.
"""

from importlib import import_module

__all__ = ["Counts", "Numbers", "np", "npt", "pa", "pq", "room"]

TYPE_CHECKING = False
"""As `typing` has it, which takes a while to load: this module comes first, before Ctrl-C is the command line's."""

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    import pyarrow.parquet as pq

    Counts = npt.NDArray[np.uint64]
    Numbers = npt.NDArray[np.float64]
else:

    class _Module:
        """Stands for a module until it is used."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> object:
            return getattr(import_module(self._name), attribute)

    np, npt, pa, pq = map(_Module, ("numpy", "numpy.typing", "pyarrow", "pyarrow.parquet"))
    Counts = Numbers = object


def room(module: str) -> "Any":
    """A module of the package by its name below `ssdlab`, for objects that hand work to a room above their own."""
    return import_module(f"ssdlab.{module}")
