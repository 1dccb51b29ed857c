"""Data that stands in a script of a page."""

import json


def island(data: object) -> str:
    """Data as JSON. A tag or a comment within it would end the script that holds it, or have it never end.

    Raises:
        ValueError: If a number is none, which JSON does not know.
    """
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
