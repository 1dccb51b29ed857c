"""TOML files that a user wrote."""

import tomllib
from pathlib import Path
from typing import Any

from ssdlab._ssdlab import ConfigError
from ssdlab.model.files import read_utf8


def read_toml(path: Path, file: str) -> tuple[str, dict[str, Any]]:
    """What is written in a file, which messages show as `file`, and what that says.

    Raises:
        ConfigError: If it cannot be read, or is no TOML; one line with the file and a remedy.
    """
    try:
        source = read_utf8(path, file)
        return source, tomllib.loads(source)
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}; give the path of a TOML file") from None
    except ValueError as error:
        raise ConfigError(f"{file}: {error}; mend it there") from None
