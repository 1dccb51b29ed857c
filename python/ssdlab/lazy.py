"""Lazy imports of modules that load slowly, and of packages in a higher layer than the importing package.

After `from ssdlab.lazy import np`, NumPy is loaded only when an attribute of `np` is first used; type checkers see
NumPy itself.
"""

from importlib import import_module

__all__ = [
    "Counts", "Numbers", "distributed", "duckdb", "fsspec", "futures", "np", "npt", "optuna", "pa",
    "pd", "pl", "pq", "qmc", "room", "saltelli", "sobol_analysis", "special", "sqlalchemy_pool",
]  # fmt: skip

TYPE_CHECKING = False
"""Replaces `typing.TYPE_CHECKING`: `typing` is slow to import, and this module loads before Ctrl-C is handled."""

if TYPE_CHECKING:
    from concurrent import futures
    from typing import Any

    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq
    from scipy import special
    from scipy.stats import qmc

    distributed: Any
    duckdb: Any
    fsspec: Any
    optuna: Any
    saltelli: Any
    sobol_analysis: Any
    sqlalchemy_pool: Any

    Counts = npt.NDArray[np.uint64]
    Numbers = npt.NDArray[np.float64]
else:

    class _Module:
        """A module loaded on first use. `extra` is the extra that installs it; empty if it is required."""

        def __init__(self, name: str, extra: str = "") -> None:
            self._name, self._extra = name, extra

        def __getattr__(self, attribute: str) -> object:
            try:
                module = import_module(self._name)
            except ModuleNotFoundError as error:
                if not self._extra or error.name != self._name.partition(".")[0]:
                    raise
                raise _not_installed(error.name, self._extra) from None
            return getattr(module, attribute)

    np, npt, pa, pq = map(_Module, ("numpy", "numpy.typing", "pyarrow", "pyarrow.parquet"))
    futures = _Module("concurrent.futures")
    pd, pl, duckdb = _Module("pandas", "pandas"), _Module("polars", "polars"), _Module("duckdb", "duckdb")
    special, qmc = _Module("scipy.special", "study"), _Module("scipy.stats.qmc", "study")
    saltelli, sobol_analysis = _Module("SALib.sample.sobol", "study"), _Module("SALib.analyze.sobol", "study")
    distributed, fsspec = _Module("distributed", "cluster"), _Module("fsspec", "storage")
    optuna, sqlalchemy_pool = _Module("optuna", "tune"), _Module("sqlalchemy.pool", "tune")
    Counts = Numbers = object


def room(module: str) -> "Any":
    """Imports the module `ssdlab.{module}` on demand and returns it, so that a package can call a package in a higher
    layer. If the module needs matplotlib, the error shows how to install it.
    """
    try:
        return import_module(f"ssdlab.{module}")
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise _not_installed(error.name) from None


def _not_installed(name: str, extra: str = "") -> Exception:
    """Returns an error for a missing module. Its message shows a command that installs the module and all other
    requirements of its extra.

    The command lists each requirement, because `ssdlab[extra]` does not work for a clone or under pipx. The command
    uses uv if pip is missing.
    """
    metadata, util, sys, shlex = map(import_module, ("importlib.metadata", "importlib.util", "sys", "shlex"))
    wanted = f"extra == '{extra}'" if extra else ""
    requirements = [requirement.partition(";") for requirement in metadata.requires("ssdlab")]
    needed = [
        package.strip()
        for package, _, marker in requirements
        if marker.strip() == wanted and (extra or package.startswith(name))
    ]
    pip = ["-m", "pip", "install"]
    command = [sys.executable, *pip] if util.find_spec("pip") else ["uv", *pip[1:], "--python", sys.executable]
    fault: type[Exception] = import_module("ssdlab._ssdlab").ConfigError
    return fault(f"{name} is not installed; {shlex.join([*command, *needed])}")
