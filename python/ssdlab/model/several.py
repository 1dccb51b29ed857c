"""Arguments that are lists."""

import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def several(given: Iterable[T]) -> list[T]:
    """What a list holds; a single text or path is one item of it, and not its letters."""
    return [given] if isinstance(given, str | os.PathLike) else [*given]  # type: ignore[list-item]
