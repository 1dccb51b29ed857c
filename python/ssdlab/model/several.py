"""Arguments that are lists."""

import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def several(given: Iterable[T] | os.PathLike[str]) -> list[T]:
    """What a list holds; a single text, or what is no list, is one item of it."""
    if isinstance(given, str | os.PathLike) or not isinstance(given, Iterable):
        return [given]  # type: ignore[list-item]
    return [*given]
