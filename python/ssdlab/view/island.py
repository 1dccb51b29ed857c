"""Data in a script of a page."""

import json


def island(data: object) -> str:
    """Data as JSON, with `<` escaped: a tag or comment in it would end the script.

    Raises:
        ValueError: If a number is not finite.
    """
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
