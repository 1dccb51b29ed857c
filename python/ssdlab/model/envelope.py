"""The envelope: the common format of all JSON that commands print and findings save.

`docs/output.schema.json` describes it; an incompatible change increments `SHAPE`.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.source import identified

SHAPE = 1
"""Version number of the common JSON form (envelope)."""


def envelope(
    kind: str,
    result: object,
    *,
    source: Mapping[str, Any] | None = None,
    configuration: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    partial: bool = False,
) -> dict[str, Any]:
    """Wraps a result, ready for JSON, with its source, configuration and version.

    If `source` names files, their SHA-256 is added. `configuration` comes from `Config.to_dict`. `notes` are caveats to
    read together with the results. `partial` is true if the work was stopped before its end.
    """
    return {
        "version": {"ssdlab": _ssdlab.__version__, "shape": SHAPE},
        **plugins(),
        "kind": kind,
        "source": None if source is None else identified(source),
        "configuration": configuration,
        "notes": list(notes),
        "partial": partial,
        "result": result,
    }


def plugins() -> dict[str, list[dict[str, str]]]:
    """Returns the envelope entry that lists the plug-ins compiled into ssdlab; empty if there are none."""
    rows = [{"name": name, "version": version, "sha256": sha256} for name, version, sha256 in _ssdlab.PLUGINS]
    return {"plugins": rows} if rows else {}


def written(envelope: Mapping[str, Any]) -> str:
    """Returns indented JSON text. A list of scalars stays on one line, so each table row is one line."""
    return _compact(envelope) + "\n"


def read(path: Path) -> dict[str, Any]:
    """Reads an envelope from a file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{text.path(path)}: {error.strerror}; pass the --out directory, or the JSON file in it"
        ) from None
    except (ValueError, RecursionError):
        found = None
    if (
        not isinstance(found, dict)
        or not {"kind", "result"} <= found.keys()
        or not isinstance(found.get("version"), dict)
    ):
        raise ConfigError(
            f"{text.path(path)}: is not a result of ssdlab; pass the --out directory, or the JSON file in it"
        )
    return found


def check_version(path: Path, found: Mapping[str, Any]) -> None:
    """Rejects an envelope whose format version differs from `SHAPE`."""
    version = found["version"]
    if version.get("shape") != SHAPE:
        raise of_another_version(path, version)


def of_another_version(path: Path, version: Mapping[str, Any]) -> ConfigError:
    """Returns the error for a file of an incompatible version."""
    return ConfigError(
        f"{text.path(path)}: was saved by ssdlab {version.get('ssdlab')}, which {_ssdlab.__version__} cannot read; "
        "use that version, or repeat the run"
    )


def _compact(node: Any, indent: str = "") -> str:
    inner = indent + "  "
    if isinstance(node, Mapping) and node:
        parts = ",\n".join(f"{inner}{json.dumps(key)}: {_compact(value, inner)}" for key, value in node.items())
        return f"{{\n{parts}\n{indent}}}"
    if isinstance(node, list | tuple) and any(isinstance(value, list | tuple | Mapping) for value in node):
        parts = ",\n".join(f"{inner}{_compact(value, inner)}" for value in node)
        return f"[\n{parts}\n{indent}]"
    return json.dumps(node)
