"""Ranks names, such as the names of settings, by how well they match the words of a query."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ssdlab import _ssdlab, text

MOST_MEANT = 3
"""Maximum number of settings that an error message suggests."""


class Named(NamedTuple):
    """A searchable name with its type and its description."""

    name: str
    kind: str
    help: str


def search(query: str, known: Iterable[Named]) -> list[Named]:
    """Returns the names that match every word of the query, best matches first.

    The order is: names equal to the query, names that end with the query, names that contain the query's words, names
    that contain words beginning with the query's words, and names with such words in the description. Among equal
    matches, shorter names come first.
    """
    return [one for _, one in _ranked(query, known)]


def corrected(query: str, known: Iterable[Named]) -> str:
    """Returns the query with each word replaced by the most similar word that occurs in a name."""
    parts = sorted({word for one in known for word in _words(one.name)})
    return " ".join(_ssdlab.nearest(word, parts) or word for word in _words(query))


def unknown_setting(key: str, known: Sequence[str]) -> str:
    """Returns the error for an unknown setting or table of settings, with its new name or similar names."""
    renamed = _ssdlab.renamed(key)
    if renamed:
        return f"{text.path(key)}: {renamed}"
    nearest = _ssdlab.nearest_key(key, known)
    settings = [Named(name, "setting", help_text) for name, help_text, *_ in _ssdlab.options() if name in known]
    ranked = _ranked(key, settings)
    meant = [nearest] if nearest else [one.name for rank, one in ranked if rank == ranked[0][0]][:MOST_MEANT]
    question = f"; did you mean {' or '.join(meant)}?" if meant else ""
    return f"{text.path(key)}: unknown setting{question}; 'ssdlab list settings' lists the tables of settings"


def _ranked(query: str, known: Iterable[Named]) -> list[tuple[int, Named]]:
    words = _words(query)
    matches = [(rank, one) for one in known if (rank := _rank(words, one)) is not None]
    return sorted(matches, key=lambda match: (match[0], len(_words(match[1].name))))


def _words(words: str) -> list[str]:
    return re.findall(r"[^\W_]+", words.lower())


def _rank(words: Sequence[str], one: Named) -> int | None:
    """Returns the rank of a match: 0 if the name equals the query, higher if weaker; None if a word has no match."""
    parts = _words(one.name)
    if not words:
        return None
    if parts[-len(words) :] == words:
        return int(parts != words)
    meaning = [*_words(one.help), *_words(one.help.replace("-", ""))]
    return max((_word_rank(word, parts, meaning) for word in words), key=lambda rank: (rank is None, rank or 0))


def _word_rank(word: str, parts: Sequence[str], meaning: Sequence[str]) -> int | None:
    if word in parts:
        return 2
    for rank, among in (3, parts), (4, meaning):
        if any(part.startswith(word) for part in among):
            return rank
    return None
