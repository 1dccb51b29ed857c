"""What a misspelt word may have meant."""

from collections.abc import Iterable

from ssdlab import _ssdlab


def suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean that?`, or nothing if no known word is close."""
    meant = _ssdlab.nearest(word, list(known))
    return f"; did you mean {meant}?" if meant else ""
