"""Reads TOML files that users wrote."""

import tomllib
from pathlib import Path
from typing import Any

from ssdlab._ssdlab import ConfigError
from ssdlab.model.files import read_utf8


def read_source(path: Path, file: str) -> str:
    """Returns the text of a TOML file; messages show its path as `file`."""
    try:
        return read_utf8(path, file)
    except OSError as error:
        reason = error.strerror
    except UnicodeDecodeError:
        reason = "is not UTF-8 text"
    except ValueError as error:
        reason = str(error)
    raise ConfigError(f"{file}: {reason}; pass the path of a TOML file") from None


def read_toml(path: Path, file: str) -> tuple[str, dict[str, Any]]:
    """Returns the text and the parsed contents of a TOML file; messages show its path as `file`."""
    source = read_source(path, file)
    try:
        return source, tomllib.loads(source)
    except ValueError as error:
        raise ConfigError(f"{file}: {error}; correct the file") from None
