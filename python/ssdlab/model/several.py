"""Handles arguments that may be a single value or a list."""

import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def several(given: Iterable[T] | os.PathLike[str]) -> list[T]:
    """Returns the items of a list. A string, a path or any value that is not iterable counts as a single item."""
    if isinstance(given, str | os.PathLike) or not isinstance(given, Iterable):
        return [given]  # type: ignore[list-item]
    return [*given]
