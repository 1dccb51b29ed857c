"""The one shape of the JSON that commands print and findings save.

`docs/output.schema.json` describes it; a change that a reader could trip over raises `SHAPE`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ssdlab import _ssdlab
from ssdlab.model.source import identified

SHAPE = 1
"""Version of the shape."""


def envelope(
    kind: str,
    result: object,
    *,
    source: Mapping[str, Any] | None = None,
    configuration: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    partial: bool = False,
) -> dict[str, Any]:
    """What was found, with all that a reader needs to know where it came from.

    Args:
        kind: What the result is: `result`, `comparison`, `catalogue` ...
        result: What was found, ready for JSON.
        source: What was read: `kind` is `trace`, `memory`, `workload` ..., with its particulars. Of files, the SHA-256
            is added.
        configuration: The resolved configuration, as `Config.to_dict` gives it; None where none was asked for.
        notes: What a person should know before reading figures.
        partial: Whether it was stopped before its end.
    """
    return {
        "version": {"ssdlab": _ssdlab.__version__, "shape": SHAPE},
        "kind": kind,
        "source": None if source is None else identified(source),
        "configuration": configuration,
        "notes": list(notes),
        "partial": partial,
        "result": result,
    }


def written(envelope: Mapping[str, Any]) -> str:
    """As JSON text: indented, but lists of scalars on one line, so that rows of tables stay rows."""
    return _compact(envelope) + "\n"


def _compact(node: Any, indent: str = "") -> str:
    inner = indent + "  "
    if isinstance(node, Mapping) and node:
        parts = ",\n".join(f"{inner}{json.dumps(key)}: {_compact(value, inner)}" for key, value in node.items())
        return f"{{\n{parts}\n{indent}}}"
    if isinstance(node, list | tuple) and any(isinstance(one, list | tuple | Mapping) for one in node):
        parts = ",\n".join(f"{inner}{_compact(value, inner)}" for value in node)
        return f"[\n{parts}\n{indent}]"
    return json.dumps(node)
