"""Reads loads and their metrics from a file of any supported type."""

from pathlib import Path

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.study.fitting import fio_json, table
from ssdlab.study.fitting.load import Measured

MOST_BYTES = 1 << 28


def read(path: Path, device: str | None = None) -> list[Measured]:
    """Returns the loads and metrics in a fio result (`.json`) or in the rows of a table (`.csv`) for a `device`."""
    if path.suffix not in (".json", ".csv"):
        raise ConfigError(
            f"{text.path(path)}: is neither a fio .json file nor a .csv table; pass a configuration with --config"
        )
    if path.stat().st_size > MOST_BYTES:
        raise ConfigError(f"{text.path(path)}: is larger than {text.size(MOST_BYTES)}; use a fio result or a CSV table")
    try:
        written = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{text.path(path)}: is not UTF-8 text; use a fio result or a CSV table") from None
    return fio_json.read(path, written) if path.suffix == ".json" else table.read(path, written, device)
